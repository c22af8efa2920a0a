//! Compaction in a broker: the topic of committed offsets stays small and forgets nothing, and the
//! cleaner's settings act while it runs.

use std::path::Path;
use std::time::Duration;

use thalweg_testkit::TestBroker;
use thalweg_testkit::requests::Resource;
use thalweg_wire::ErrorCode;
use thalweg_wire::Uuid;
use thalweg_wire::messages::OffsetFetchRequest;
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};

use crate::support::{Client, Data, connect, metric, until};

const GROUP: &str = "group";

/// Bytes of a partition's segments.
fn bytes(partition: &Path) -> u64 {
    let entries = std::fs::read_dir(partition).map(|dir| dir.filter_map(Result::ok));
    let logs = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "log"));
    logs.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

async fn start(data: &Data, rest_ms: u64) -> (TestBroker, Client) {
    let builder = TestBroker::builder()
        .data(&data.0)
        .config("offsets.topic.num.partitions", 1)
        .config("offsets.topic.segment.bytes", 1 << 20)
        .config("log.segment.delete.delay.ms", 0)
        .config("log.cleaner.backoff.ms", rest_ms);
    let broker = builder.start().await;
    let client = connect(&broker).await;
    (broker, client)
}

async fn committed(client: &Client, topic: Uuid) -> i64 {
    let request = OffsetFetchRequest {
        groups: vec![OffsetFetchRequestGroup {
            group_id: GROUP.into(),
            topics: Some(vec![OffsetFetchRequestTopics {
                topic_id: topic,
                partition_indexes: vec![0],
                ..Default::default()
            }]),
            ..Default::default()
        }],
        ..Default::default()
    };
    let answer = client.connection.send(&request).await.unwrap();
    let partition = &answer.groups[0].topics[0].partitions[0];
    assert_eq!(partition.error_code, ErrorCode::NONE);
    partition.committed_offset
}

/// Waits until the coordinator takes commits of a group.
async fn until_served(client: &Client, group: &str, topic: Uuid) {
    let served = async {
        loop {
            // Which makes the topic where there is none.
            client.coordinator(group).await;
            match client.commit(group, topic, 0).await {
                ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::NOT_COORDINATOR => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                code => break code,
            }
        }
    };
    let code = tokio::time::timeout(Duration::from_secs(60), served).await;
    assert_eq!(code.expect("a coordinator in time"), ErrorCode::NONE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_offsets_topic_stays_small_and_forgets_nothing() {
    let data = Data::new();
    let (broker, client) = start(&data, 20).await;
    let topic = client.create("t", 1, &[]).await;
    until_served(&client, GROUP, topic).await;
    let partition = data.0.join("__consumer_offsets-0");
    const COMMITS: i64 = 16_000;
    for offset in 1..=COMMITS {
        assert_eq!(client.commit(GROUP, topic, offset).await, ErrorCode::NONE);
    }
    // Of three segments and more the one that is written to is left, and next to nothing.
    until("a small offsets topic", || bytes(&partition) < (1 << 20) + 4_096).await;
    assert_eq!(committed(&client, topic).await, COMMITS);
    assert!(metric(&broker, "kafka_log_logcleaner_cleaner_recopy_percent") < 5);
    assert_eq!(metric(&broker, "kafka_log_logcleaner_deadthreadcount"), 0);
    drop(client);
    broker.shut_down().await;
    let checkpoint = std::fs::read_to_string(data.0.join("cleaner-offset-checkpoint")).unwrap();
    assert!(checkpoint.contains("__consumer_offsets 0 "), "{checkpoint}");

    let (broker, client) = start(&data, 20).await;
    until_served(&client, "another", topic).await;
    assert_eq!(committed(&client, topic).await, COMMITS);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cleaners_settings_act_while_it_runs() {
    let data = Data::new();
    // It rests for an hour from its first look on.
    let (broker, client) = start(&data, 3_600_000).await;
    let compacted =
        [("cleanup.policy", "compact"), ("min.cleanable.dirty.ratio", "0"), ("segment.ms", "1")];
    let topic = client.create("t", 1, &compacted).await;
    for _ in 0..3 {
        client.produce_keyed(topic, "key", &"v".repeat(1_000)).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let partition = data.0.join("t-0");
    assert!(bytes(&partition) > 3_000);
    let set = client.set(Resource::AllBrokers, "log.cleaner.backoff.ms", "20").await;
    assert_eq!(set, ErrorCode::NONE);
    until("compaction", || bytes(&partition) < 2_400).await;
    assert!(metric(&broker, "kafka_log_logcleanermanager_time_since_last_run_ms") < 60_000);
    broker.shut_down().await;
}
