//! Groups and offsets on the page of metrics, under the names of Kafka 4.4's `group-coordinator-metrics`.

use thalweg_testkit::TestBroker;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::{JoinGroupRequest, SyncGroupRequest};

use crate::support::{connect, metric};

const STATES: [&str; 5] = ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"];
const OFFSETS: &str = "kafka_coordinator_group_offset_count";

/// How many classic groups are in each of [`STATES`]; the deprecated metric has the same.
fn classic_groups(broker: &TestBroker) -> [u64; 5] {
    STATES.map(|state| {
        let of =
            |name| metric(broker, &format!("kafka_coordinator_group_{name}{{state=\"{state}\"}}"));
        let count = of("classic_group_count");
        assert_eq!(of("groupmetadatamanager_numgroups"), count);
        count
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn classic_groups_and_offsets_are_counted() {
    let broker = TestBroker::builder().config("group.initial.rebalance.delay.ms", 0).start().await;
    let client = connect(&broker).await;
    let topic = client.create("t", 1, &[]).await;
    for group in ["without-members", "other"] {
        assert_eq!(client.coordinator(group).await, ErrorCode::NONE);
    }
    assert_eq!((classic_groups(&broker), metric(&broker, OFFSETS)), ([0; 5], 0));

    for offset in [1, 2] {
        assert_eq!(client.until_loaded("without-members", topic, offset).await, ErrorCode::NONE);
    }
    assert_eq!(client.until_loaded("other", topic, 1).await, ErrorCode::NONE);
    assert_eq!((classic_groups(&broker), metric(&broker, OFFSETS)), ([2, 0, 0, 0, 0], 2));
    let deprecated = "kafka_coordinator_group_groupmetadatamanager_numoffsets";
    assert_eq!(metric(&broker, deprecated), 2);

    // No built-in assignor: the members assign.
    let join = JoinGroupRequest {
        group_id: "other".into(),
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 30_000,
        group_instance_id: Some("instance".into()),
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol { name: "own".into(), ..Default::default() }],
        ..Default::default()
    };
    let joined = client.connection.send(&join).await.unwrap();
    assert_eq!(joined.error_code, ErrorCode::NONE);
    assert_eq!(classic_groups(&broker), [1, 0, 1, 0, 0]);
    let sync = SyncGroupRequest {
        group_id: "other".into(),
        generation_id: joined.generation_id,
        member_id: joined.member_id,
        group_instance_id: Some("instance".into()),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("own".into()),
        ..Default::default()
    };
    let synced = client.connection.send(&sync).await.unwrap();
    assert_eq!(synced.error_code, ErrorCode::NONE);
    assert_eq!(classic_groups(&broker), [1, 0, 0, 1, 0]);
    broker.shut_down().await;
}
