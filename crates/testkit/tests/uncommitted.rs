//! What is appended is committed when all in-sync replicas have it. The metadata of these brokers names a second
//! one, which is not there.

use crate::support;

use std::path::Path;
use std::time::Duration;

use thalweg::{Connection, Options};
use thalweg_metadata::features::MetadataVersion;
use thalweg_metadata::records;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::Compressor;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use thalweg_wire::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{
    AlterPartitionReassignmentsRequest, FeatureLevelRecord, ProduceRequest, RegisterBrokerRecord,
};
use thalweg_wire::{ErrorCode, Uuid};

/// Level of the metadata, in which the records are written.
const LEVEL: i16 = 25;

/// A new directory of a cluster that has broker 2, too, which lives or is fenced.
fn format(data: &Path, fenced: bool) {
    let records = [
        MetadataRecord::FeatureLevel(FeatureLevelRecord {
            name: "metadata.version".into(),
            feature_level: LEVEL,
            ..Default::default()
        }),
        MetadataRecord::RegisterBroker(RegisterBrokerRecord {
            broker_id: 2,
            incarnation_id: Uuid([2; 16]),
            broker_epoch: 1,
            fenced,
            log_dirs: vec![Uuid([3; 16])],
            ..Default::default()
        }),
    ];
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for record in &records {
        let value = records::encode(record, MetadataVersion::from_level(LEVEL).unwrap()).unwrap();
        builder.append(1_000, None, Some(&value), &[]);
    }
    let batch = builder.finish(&mut Compressor::new()).unwrap();
    std::fs::write(data.join("bootstrap.checkpoint"), batch).unwrap();
}

/// Sends a record; gives what became of it, and its offset.
async fn produce(
    connection: &Connection,
    topic_id: Uuid,
    acks: i16,
    timeout_ms: i32,
) -> (ErrorCode, i64) {
    let records = requests::batch(BatchOptions::default(), &["value"]);
    let request =
        ProduceRequest { acks, timeout_ms, ..requests::produce(topic_id, [(0, records)]) };
    let response = connection.send(&request).await.unwrap();
    assert_eq!(response.responses[0].topic_id, topic_id);
    let part = &response.responses[0].partition_responses[0];
    (part.error_code, part.base_offset)
}

/// A broker with such a directory and a topic with a replica on both, and a connection for each that may wait.
struct BrokerWithoutPeer {
    data: support::Data,
    broker: TestBroker,
    topic: Uuid,
    producer: Connection,
    admin: Connection,
    client: support::Client,
}

impl BrokerWithoutPeer {
    async fn new(fenced: bool, min_insync_replicas: &str) -> BrokerWithoutPeer {
        let data = support::Data::new();
        let builder = || TestBroker::builder().data(data.0.clone()).config("node.id", 1);
        builder().start().await.shut_down().await;
        std::fs::remove_dir_all(data.0.join("__cluster_metadata-0")).unwrap();
        format(&data.0, fenced);
        let broker = builder().start().await;
        let producer = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
        let admin = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
        let client = support::connect(&broker).await;
        let both = CreatableReplicaAssignment { broker_ids: vec![1, 2], ..Default::default() };
        let topic = CreatableTopic {
            replication_factor: -1,
            assignments: vec![both],
            ..requests::topic("t", -1, &[("min.insync.replicas", min_insync_replicas)])
        };
        let topic = support::create(&admin, topic).await;
        BrokerWithoutPeer { data, broker, topic, producer, admin, client }
    }

    async fn produce(&self, acks: i16, timeout_ms: i32) -> (ErrorCode, i64) {
        produce(&self.producer, self.topic, acks, timeout_ms).await
    }

    /// Waits until one more waits than there were.
    async fn until_more_wait(&self, metric: &str, before: u64) {
        let what = format!("something that counts in {metric}");
        support::until(&what, || support::metric(&self.broker, metric) > before).await;
    }

    /// The partition has this replica alone from here on.
    async fn shrink_to(&self, broker: i32) {
        let request = AlterPartitionReassignmentsRequest {
            timeout_ms: 10_000,
            topics: vec![ReassignableTopic {
                name: "t".into(),
                partitions: vec![ReassignablePartition {
                    partition_index: 0,
                    replicas: Some(vec![broker]),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = self.admin.send(&request).await.unwrap();
        assert_eq!(response.responses[0].partitions[0].error_code, ErrorCode::NONE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acks_all_waits_for_all_that_are_in_sync() {
    let world = BrokerWithoutPeer::new(false, "1").await;
    assert_eq!(world.produce(1, 10_000).await, (ErrorCode::NONE, 0));
    assert_eq!(world.produce(-1, 50).await, (ErrorCode::REQUEST_TIMED_OUT, 1));
    // Both are in the log, and nobody sees them.
    assert_eq!(world.client.fetch(world.topic, 0).await.unwrap(), [""; 0]);
    assert_eq!(world.client.end("t", 0).await, Ok(0));

    let before = support::metric(&world.broker, "thalweg_produces_parked_total");
    assert_eq!(before, 1);
    let (produced, ()) = tokio::join!(world.produce(-1, 30_000), async {
        world.until_more_wait("thalweg_produces_parked_total", before).await;
        world.shrink_to(1).await;
    });
    assert_eq!(produced, (ErrorCode::NONE, 2));
    assert_eq!(world.client.fetch(world.topic, 0).await.unwrap(), ["value"; 3]);
    // Alone it waits for nobody.
    assert_eq!(world.produce(-1, 50).await, (ErrorCode::NONE, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_waits_hears_when_records_are_committed() {
    let world = BrokerWithoutPeer::new(false, "1").await;
    assert_eq!(world.produce(1, 10_000).await, (ErrorCode::NONE, 0));
    let (seen, ()) = tokio::join!(world.client.fetch_waiting(world.topic, 0, 0, 20_000), async {
        world.until_more_wait("thalweg_fetches_parked_total", 0).await;
        // What is only appended ends no wait.
        assert_eq!(world.produce(1, 10_000).await, (ErrorCode::NONE, 1));
        tokio::time::sleep(Duration::from_millis(50)).await;
        world.shrink_to(1).await;
    });
    assert_eq!(seen.unwrap(), ["value"; 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_few_in_sync_replicas_commit_nothing() {
    let world = BrokerWithoutPeer::new(true, "2").await;
    assert_eq!(world.produce(-1, 10_000).await, (ErrorCode::NOT_ENOUGH_REPLICAS, -1));
    assert_eq!(world.produce(1, 10_000).await, (ErrorCode::NONE, 0));
    assert_eq!(world.client.fetch(world.topic, 0).await.unwrap(), [""; 0]);
    // No more are asked for than there are.
    world.shrink_to(1).await;
    assert_eq!(world.client.fetch(world.topic, 0).await.unwrap(), ["value"]);
    assert_eq!(world.produce(-1, 10_000).await, (ErrorCode::NONE, 1));
}

/// KIP-207: an offset behind all that an earlier leader committed would go back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_leader_does_not_tell_an_end_that_it_does_not_know() {
    let world = BrokerWithoutPeer::new(true, "2").await;
    assert_eq!(world.produce(1, 10_000).await, (ErrorCode::NONE, 0));
    assert_eq!(world.client.end("t", 0).await, Ok(0), "nobody led before");
    let BrokerWithoutPeer { data, broker, .. } = world;
    broker.shut_down().await;
    let broker = TestBroker::builder().data(data.0.clone()).config("node.id", 1).start().await;
    let client = support::connect(&broker).await;
    assert_eq!(client.end("t", 0).await, Err(ErrorCode::OFFSET_NOT_AVAILABLE));
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_hears_when_the_partition_moves_to_others() {
    let world = BrokerWithoutPeer::new(false, "1").await;
    let (produced, fetched, ()) = tokio::join!(
        world.produce(-1, 30_000),
        world.client.fetch_waiting(world.topic, 0, 0, 20_000),
        async {
            world.until_more_wait("thalweg_produces_parked_total", 0).await;
            world.until_more_wait("thalweg_fetches_parked_total", 0).await;
            world.shrink_to(2).await;
        }
    );
    assert_eq!(produced.0, ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert!(fetched.is_err(), "{fetched:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_answers_who_waits() {
    let world = BrokerWithoutPeer::new(false, "1").await;
    let BrokerWithoutPeer { data: _data, broker, topic, producer, .. } = world;
    let waiting = tokio::spawn(async move { produce(&producer, topic, -1, 600_000).await });
    support::until("a produce request that waits", || {
        support::metric(&broker, "thalweg_produces_parked_total") > 0
    })
    .await;
    broker.shut_down().await;
    assert_eq!(waiting.await.unwrap(), (ErrorCode::NOT_LEADER_OR_FOLLOWER, 0));
}
