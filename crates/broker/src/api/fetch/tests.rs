//! What fetches of sessions find when the metadata changes between two of them.

use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::Compressor;
use thalweg_wire::messages::fetch_request::{FetchPartition, FetchTopic};
use thalweg_wire::messages::produce_request::{PartitionProduceData, TopicProduceData};
use thalweg_wire::messages::{FetchRequest, FetchResponse, ProduceRequest};
use thalweg_wire::{ErrorCode, Uuid};

use crate::net::outgoing::Outgoing;
use crate::testing::{self, NODE, Node, soon};

const TOPIC: Uuid = Uuid([5; 16]);

async fn fetch(client: &mut Outgoing, request: FetchRequest) -> FetchResponse {
    soon("an answer", client.call(&FetchRequest { max_bytes: 1 << 20, ..request })).await.unwrap()
}

/// The broker may learn of a topic later than its clients, which do not name it again in a session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_serves_a_topic_id_that_comes_later() {
    let node = Node::start(&[]).await;
    let mut client = node.connect().await;
    let partition = FetchPartition {
        current_leader_epoch: -1,
        last_fetched_epoch: -1,
        partition_max_bytes: 1 << 20,
        ..Default::default()
    };
    let topics =
        vec![FetchTopic { topic_id: TOPIC, partitions: vec![partition], ..Default::default() }];
    let answer =
        fetch(&mut client, FetchRequest { topics, session_epoch: 0, ..Default::default() }).await;
    let session_id = answer.session_id;
    assert_ne!(session_id, 0);
    assert_eq!(answer.responses[0].partitions[0].error_code, ErrorCode::UNKNOWN_TOPIC_ID);

    let partition = testing::partition(TOPIC, 0, NODE, 0, &[NODE]);
    node.publish([testing::topic("t", TOPIC), partition.into()]).await;
    let next = FetchRequest { session_id, session_epoch: 1, ..Default::default() };
    let answer = fetch(&mut client, next).await;
    assert_eq!((answer.error_code, answer.session_id), (ErrorCode::NONE, session_id));
    assert_eq!(answer.responses[0].partitions[0].error_code, ErrorCode::NONE);

    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.append(1, None, Some(b"value"), &[]);
    let batch = builder.finish(&mut Compressor::new()).unwrap();
    let produce = ProduceRequest {
        acks: -1,
        timeout_ms: 60_000,
        topic_data: vec![TopicProduceData {
            topic_id: TOPIC,
            partition_data: vec![PartitionProduceData {
                records: Some(batch.clone().into()),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let produced = soon("an answer", node.connect().await.call(&produce)).await.unwrap();
    assert_eq!(produced.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    let next = FetchRequest { session_id, session_epoch: 2, ..Default::default() };
    let answer = fetch(&mut client, next).await;
    assert_eq!((answer.error_code, answer.session_id), (ErrorCode::NONE, session_id));
    let records = answer.responses[0].partitions[0].records.as_deref().unwrap();
    // The broker has set the leader epoch, which comes before the format.
    assert_eq!(records[16..], batch[16..]);
    node.shut_down().await;
}
