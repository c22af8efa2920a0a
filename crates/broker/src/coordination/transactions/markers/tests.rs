//! Leaders that do not do what they should with markers of transactions that are coordinated here.

use thalweg_wire::Uuid;
use thalweg_wire::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use thalweg_wire::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use thalweg_wire::messages::{
    AddPartitionsToTxnRequest, DescribeTransactionsRequest, EndTxnRequest, WriteTxnMarkersRequest,
};

use super::*;
use crate::net::outgoing::Outgoing;
use crate::testing::{self, Conversation, Node, Peer, soon, until};

const TOPIC: Uuid = Uuid([6; 16]);
const ID: &str = "transaction";

/// A broker that coordinates a transaction over partitions of `t`, and two others that lead those.
struct CoordinatingBroker {
    node: Node,
    first: Peer,
    second: Peer,
    client: Outgoing,
    producer: Producer,
}

impl CoordinatingBroker {
    /// `partitions` of `t` are led by the first one.
    async fn new(partitions: i32) -> CoordinatingBroker {
        let (first, second) = (Peer::new(2).await, Peer::new(3).await);
        let configs = [
            ("transaction.state.log.num.partitions", "1"),
            ("transaction.state.log.replication.factor", "1"),
            ("transaction.state.log.min.isr", "1"),
            // No request times out here: who hangs is not waited for, or for ever.
            ("request.timeout.ms", "3600000"),
        ];
        let node = Node::start(&configs).await;
        let mut client = node.connect().await;
        let (id, epoch) = testing::init_producer(&mut client, ID).await;
        let producer = Producer { id, epoch };
        // From here on the controller, which does not know of these, has nothing to say.
        let mut records = vec![first.record(), second.record(), testing::topic("t", TOPIC)];
        let led = |index| testing::partition(TOPIC, index, 2, 0, &[2, 3]).into();
        records.extend((0..partitions).map(led));
        node.publish(records).await;
        CoordinatingBroker { node, first, second, client, producer }
    }

    /// Has a transaction of all partitions committed.
    async fn commit(&mut self, partitions: i32) {
        let topic = AddPartitionsToTxnTopic {
            name: "t".into(),
            partitions: (0..partitions).collect(),
            ..Default::default()
        };
        let transaction = AddPartitionsToTxnTransaction {
            transactional_id: ID.into(),
            producer_id: self.producer.id,
            producer_epoch: self.producer.epoch,
            topics: vec![topic],
            ..Default::default()
        };
        let request =
            AddPartitionsToTxnRequest { transactions: vec![transaction], ..Default::default() };
        let added = soon("an answer", self.client.call(&request)).await.unwrap();
        for added in &added.results_by_transaction[0].topic_results[0].results_by_partition {
            assert_eq!(added.partition_error_code, ErrorCode::NONE.0);
        }
        let request = EndTxnRequest {
            transactional_id: ID.into(),
            producer_id: self.producer.id,
            producer_epoch: self.producer.epoch,
            committed: true,
            ..Default::default()
        };
        let ended = soon("an answer", self.client.call(&request)).await.unwrap();
        assert_eq!(ended.error_code, ErrorCode::NONE);
    }

    async fn lead(&self, index: i32, leader: i32, epoch: i32) {
        let partition = testing::partition(TOPIC, index, leader, epoch, &[2, 3]);
        self.node.publish([partition.into()]).await;
    }

    async fn until_complete(&mut self) {
        let request = DescribeTransactionsRequest {
            transactional_ids: vec![ID.into()],
            ..Default::default()
        };
        let complete = async {
            loop {
                let described = self.client.call(&request).await.unwrap();
                if described.transaction_states[0].transaction_state == "CompleteCommit" {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        soon("the end of the transaction", complete).await;
    }

    /// An answer of a leader: what became of each partition.
    fn answer(&self, codes: &[(i32, ErrorCode)]) -> WriteTxnMarkersResponse {
        let partitions = codes.iter().map(|&(partition_index, error_code)| {
            WritableTxnMarkerPartitionResult { partition_index, error_code, ..Default::default() }
        });
        let topic = WritableTxnMarkerTopicResult {
            name: "t".into(),
            partitions: partitions.collect(),
            ..Default::default()
        };
        let marker = WritableTxnMarkerResult {
            producer_id: self.producer.id,
            topics: vec![topic],
            ..Default::default()
        };
        WriteTxnMarkersResponse { markers: vec![marker], ..Default::default() }
    }
}

/// The partitions of the next request.
async fn asked(conversation: &mut Conversation) -> Vec<i32> {
    let request: WriteTxnMarkersRequest = conversation.request().await;
    let [marker] = &request.markers[..] else { panic!("{request:?}") };
    let mut partitions = marker.topics[0].partition_indexes.clone();
    partitions.sort_unstable();
    partitions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_hangs_is_not_waited_for_once_there_is_another_one() {
    let mut world = CoordinatingBroker::new(1).await;
    world.commit(1).await;
    let mut hangs = world.first.accept().await;
    assert_eq!(asked(&mut hangs).await, [0]);
    world.lead(0, 3, 1).await;
    let mut leads = world.second.accept().await;
    assert_eq!(asked(&mut leads).await, [0]);
    // The one that hung is not asked again, nor heard.
    hangs.answer(&world.answer(&[(0, ErrorCode::NOT_LEADER_OR_FOLLOWER)])).await;
    hangs.closed().await;
    leads.answer(&world.answer(&[(0, ErrorCode::NONE)])).await;
    world.until_complete().await;
    let channels = &world.node.services().coordination.transaction_writes().markers.channels;
    assert_eq!((channels.requests.get(), channels.responses.get()), (2, 1));
    assert_eq!((channels.connections_opened.get(), channels.connections_closed.get()), (2, 1));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_leader_is_still_asked_of_is_waited_for_and_nothing_else() {
    let mut world = CoordinatingBroker::new(2).await;
    world.commit(2).await;
    let mut first = world.first.accept().await;
    assert_eq!(asked(&mut first).await, [0, 1]);
    world.lead(1, 3, 1).await;
    let mut second = world.second.accept().await;
    assert_eq!(asked(&mut second).await, [1]);
    // What it says of the one that it leads no more does not count: neither that there is nothing to do, nor that there is.
    let answer = world.answer(&[(0, ErrorCode::NONE), (1, ErrorCode::NONE)]);
    first.answer(&answer).await;
    let services = std::sync::Arc::clone(world.node.services());
    until("the answer", || {
        services.coordination.transaction_writes().markers.channels.responses.get() == 1
    })
    .await;
    second.answer(&world.answer(&[(1, ErrorCode::REQUEST_TIMED_OUT)])).await;
    assert_eq!(asked(&mut second).await, [1]);
    second.answer(&world.answer(&[(1, ErrorCode::NONE)])).await;
    world.until_complete().await;
    assert_eq!(services.coordination.transaction_writes().markers.channels.requests.get(), 3);
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markers_wait_for_a_leader_where_there_is_none() {
    let mut world = CoordinatingBroker::new(1).await;
    world.lead(0, -1, 1).await;
    world.commit(1).await;
    let services = std::sync::Arc::clone(world.node.services());
    until("a transaction that waits", || {
        services.coordination.transaction_writes().markers.leaderless() == 1
    })
    .await;
    world.lead(0, 3, 2).await;
    let mut leads = world.second.accept().await;
    assert_eq!(asked(&mut leads).await, [0]);
    until("that it waits no more", || {
        services.coordination.transaction_writes().markers.leaderless() == 0
    })
    .await;
    leads.answer(&world.answer(&[(0, ErrorCode::NONE)])).await;
    world.until_complete().await;
    world.node.shut_down().await;
}

#[test]
fn markers_are_sent_again_until_they_are_there_or_another_coordinator_is() {
    for (code, fate) in [
        (Some(ErrorCode::NONE), Fate::Written),
        (Some(ErrorCode::INVALID_PRODUCER_EPOCH), Fate::Written),
        (Some(ErrorCode::TRANSACTION_COORDINATOR_FENCED), Fate::Fenced),
        (Some(ErrorCode::NOT_LEADER_OR_FOLLOWER), Fate::Again),
        (Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), Fate::Again),
        (Some(ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND), Fate::Again),
        (Some(ErrorCode::REQUEST_TIMED_OUT), Fate::Again),
        (Some(ErrorCode::KAFKA_STORAGE_ERROR), Fate::Again),
        (Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED), Fate::Again),
        (None, Fate::Again),
    ] {
        assert_eq!(Fate::of(code), fate, "{code:?}");
    }
}
