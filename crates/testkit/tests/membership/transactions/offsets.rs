//! Offsets in transactions whose coordinator is Java's, of a group whose coordinator is this broker.

use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use thalweg_wire::messages::{OffsetFetchRequest, TxnOffsetCommitRequest};

use super::*;

const GROUPS: &str = "__consumer_offsets";

/// The group's offset of `t-0`, as a reader of committed records asks for it.
async fn stable(bootstrap: &str) -> Result<i64, ErrorCode> {
    let connection = Connection::open(bootstrap, &Options::default()).await.unwrap();
    let request =
        OffsetFetchRequest { require_stable: true, ..requests::fetch_offset("g", "t", 0) };
    let answer = send(&connection, &request, 8).await;
    let group = &answer.groups[0];
    if group.error_code.is_err() {
        return Err(group.error_code);
    }
    let partition = &group.topics[0].partitions[0];
    match partition.error_code {
        ErrorCode::NONE => Ok(partition.committed_offset),
        code => Err(code),
    }
}

/// What the group's coordinator says to producers that there are not: case, version and error.
async fn refusals(bootstrap: &str) -> Vec<(usize, i16, ErrorCode)> {
    let connection = Connection::open(bootstrap, &Options::default()).await.unwrap();
    let begin = requests::init_producer("refused", 60_000);
    let find = requests::find_transaction_coordinator("refused");
    let found = connection.send(&find).await.unwrap().coordinators.remove(0);
    let address = format!("{}:{}", found.host, found.port);
    let coordinator = Connection::open(&address, &Options::default()).await.unwrap();
    let known = send(&coordinator, &begin, 5).await;
    assert_eq!(known.error_code, ErrorCode::NONE);
    let mut said = Vec::new();
    let other = known.producer_id + 1_000_000;
    let producers = [
        ("refused", -1, -1),
        ("refused", -1, 0),
        ("refused", i64::MIN, 0),
        ("refused", known.producer_id, -1),
        ("refused", known.producer_id, i16::MIN),
        ("refused", other, 0),
        ("refused", other, -1),
        ("unknown", known.producer_id, 0),
        ("unknown", known.producer_id, -1),
        ("unknown", other, i16::MIN),
        ("", known.producer_id, -1),
    ];
    for (case, (id, producer_id, producer_epoch)) in producers.into_iter().enumerate() {
        for version in 0..=5 {
            let partition =
                TxnOffsetCommitRequestPartition { committed_offset: 99, ..Default::default() };
            let topic = TxnOffsetCommitRequestTopic {
                name: "t".into(),
                partitions: vec![partition],
                ..Default::default()
            };
            let request = TxnOffsetCommitRequest {
                transactional_id: id.into(),
                group_id: "g".into(),
                producer_id,
                producer_epoch,
                generation_id_or_member_epoch: -1,
                topics: vec![topic],
                ..Default::default()
            };
            let answer = send(&connection, &request, version).await;
            let code = answer.topics[0].partitions[0].error_code;
            said.push((case, version, code));
        }
    }
    said
}

impl MixedCluster {
    /// Waits until a broker that coordinates the group says this of its offset.
    async fn says(&self, bootstrap: &str, expected: Result<i64, ErrorCode>) {
        eventually(&format!("{expected:?}"), async || stable(bootstrap).await == expected).await;
    }
}

async fn offsets_end(transaction_version: i16) {
    let Some(mut world) = MixedCluster::new(transaction_version).await else { return };
    let java = world.kafka.bootstrap(Kafka::INTERNAL);
    let own = world.broker.bootstrap();
    let compact = ["--config", "cleanup.policy=compact"];
    let create = ["--create", "--topic", GROUPS, "--replica-assignment", "10:1"];
    topic_tool(&own, &[&create[..], &compact[..]].concat());
    eventually("all in sync", async || in_sync(&world.admin, GROUPS, 2).await).await;
    let unstable = Err(ErrorCode::UNSTABLE_OFFSET_COMMIT);

    let clients = &mut world.clients;
    clients.open("one");
    clients.all(&["begin one", "offset one g t 0 5", "send one t 0 a"]);
    world.says(&own, unstable).await;
    world.clients.all(&["commit one"]);
    world.says(&own, Ok(5)).await;
    world.clients.all(&["begin one", "offset one g t 0 7", "abort one"]);
    world.says(&own, Ok(5)).await;
    // One after the other, without a pause.
    for offset in 10..30 {
        let offset = format!("offset one g t 0 {offset}");
        world.clients.all(&["begin one", &offset, "commit one"]);
    }
    world.says(&own, Ok(29)).await;

    // A transaction is open while the group moves to a coordinator of the other make, and ends there; and back.
    world.clients.all(&["begin one", "offset one g t 0 40"]);
    world.says(&own, unstable).await;
    world.lead_of(GROUPS, 0, JAVA).await;
    world.says(&java, unstable).await;
    world.clients.all(&["commit one"]);
    world.says(&java, Ok(40)).await;
    let theirs = refusals(&java).await;
    world.clients.all(&["begin one", "offset one g t 0 50"]);
    world.says(&java, unstable).await;
    world.lead_of(GROUPS, 0, OWN).await;
    world.says(&own, unstable).await;
    world.clients.all(&["commit one"]);
    world.says(&own, Ok(50)).await;
    assert_eq!(refusals(&own).await, theirs);
    world.says(&own, Ok(50)).await;

    // Nor does a restart lose what is open.
    world.clients.all(&["begin one", "offset one g t 0 60"]);
    world.says(&own, unstable).await;
    world.broker.shut_down().await;
    world.broker = joining(&world.kafka).data(&world.data.0).start().await;
    let own = world.broker.bootstrap();
    world.clients.bootstrap = format!("{java},{own}");
    world.in_sync().await;
    world.lead_of(GROUPS, 0, OWN).await;
    world.says(&own, unstable).await;
    world.clients.all(&["commit one"]);
    world.says(&own, Ok(60)).await;

    // Somebody takes the name of a producer that is gone: what that one left is forgotten, and it is fenced.
    world.clients.all(&["begin one", "offset one g t 0 70", "leave one"]);
    world.clients.open("one");
    world.says(&own, Ok(60)).await;
    world.clients.all(&["begin one", "offset one g t 0 80", "commit one"]);
    world.says(&own, Ok(80)).await;
    eventually("the same bytes", async || {
        let ours = bytes_of(&world.data.0, "__consumer_offsets-0");
        !ours.is_empty()
            && bytes_of(&world.kafka.data().join("node-1"), "__consumer_offsets-0") == ours
    })
    .await;
    world.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_in_transactions_of_version_2_count_where_this_broker_coordinates_the_group() {
    offsets_end(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_in_transactions_of_version_0_count_where_this_broker_coordinates_the_group() {
    offsets_end(0).await;
}
