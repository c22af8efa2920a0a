//! Several transactions in one request, as brokers ask about them.

use thalweg_metadata::controller::TRANSACTIONS_TOPIC;
use thalweg_wire::Uuid;

use thalweg_wire::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};

use super::*;
use crate::testing::{self, NODE, Node, Peer, is_ready, soon, until};

const TOPIC: Uuid = Uuid([6; 16]);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_transactions_of_a_request_are_on_their_way_before_one_is_waited_for() {
    const TRANSACTIONS: i64 = 20;
    let peer = Peer::new(2).await;
    let configs = [
        ("transaction.state.log.num.partitions", "1"),
        ("transaction.state.log.replication.factor", "1"),
        ("transaction.state.log.min.isr", "1"),
    ];
    let node = Node::start(&configs).await;
    let mut client = node.connect().await;
    let mut transactions = Vec::new();
    for number in 0..TRANSACTIONS {
        let transactional_id = format!("id-{number}");
        let (producer_id, producer_epoch) =
            testing::init_producer(&mut client, &transactional_id).await;
        let topic = AddPartitionsToTxnTopic {
            name: "t".into(),
            // The last one has a partition that does not exist.
            partitions: vec![i32::from(number == TRANSACTIONS - 1)],
            ..Default::default()
        };
        transactions.push(AddPartitionsToTxnTransaction {
            transactional_id,
            producer_id,
            producer_epoch,
            topics: vec![topic],
            ..Default::default()
        });
    }
    // A replica in sync that is not there: nothing is committed.
    let image = node.services().node.image();
    let id = image.topics.by_name(TRANSACTIONS_TOPIC).unwrap().id;
    node.publish([
        peer.record(),
        testing::topic("t", TOPIC),
        testing::partition(TOPIC, 0, NODE, 0, &[NODE]).into(),
        testing::partition(id, 0, NODE, 1, &[NODE, 2]).into(),
    ])
    .await;
    let log = std::sync::Arc::clone(&node.partition(TRANSACTIONS_TOPIC, 0).log);
    let before = log.log_end_offset();

    let request = AddPartitionsToTxnRequest { transactions, ..Default::default() };
    let mut answer = std::pin::pin!(client.call(&request));
    assert!(!is_ready(answer.as_mut()).await);
    let written = || log.log_end_offset() - before == TRANSACTIONS - 1;
    let all = async {
        tokio::select! {
            answer = &mut answer => panic!("{answer:?} before anything is committed"),
            () = until("all records", written) => {}
        }
    };
    all.await;
    node.publish([testing::partition(id, 0, NODE, 2, &[NODE]).into()]).await;
    let answer = soon("an answer", answer).await.unwrap();
    for (number, result) in (0..).zip(&answer.results_by_transaction) {
        assert_eq!(result.transactional_id, format!("id-{number}"), "in their order");
        let code = result.topic_results[0].results_by_partition[0].partition_error_code;
        let expected = match number == TRANSACTIONS - 1 {
            true => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            false => ErrorCode::NONE,
        };
        assert_eq!(ErrorCode(code), expected, "{number}");
    }
    assert_eq!(answer.results_by_transaction.len() as i64, TRANSACTIONS);
    node.shut_down().await;
}
