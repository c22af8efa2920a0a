//! Fetch sessions (KIP-227) over the wire, on Thalweg and, where its jars are, on Apache Kafka.

use crate::support;

use std::time::Duration;

use support::{Client, connect, connect_to, metric, send, until};
use thalweg_testkit::kafka::Shared;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::fetch_request::FetchTopic;
use thalweg_wire::messages::{FetchRequest, FetchResponse};
use thalweg_wire::{ErrorCode, Message as _};

/// The last version that names topics.
const BY_NAME: i16 = 12;
const WAIT: Duration = Duration::from_secs(60);

/// The first request of a session, by topic names.
fn first(topics: &[(&str, i32)]) -> FetchRequest {
    let partition = |index| requests::partition(index, 0);
    FetchRequest {
        max_bytes: 1 << 20,
        session_epoch: 0,
        topics: topics
            .iter()
            .map(|(topic, partitions)| FetchTopic {
                topic: (*topic).into(),
                partitions: (0..*partitions).map(partition).collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

/// A later request of a session, which names nothing.
fn next(session_id: i32, session_epoch: i32) -> FetchRequest {
    FetchRequest { max_bytes: 1 << 20, session_id, session_epoch, ..Default::default() }
}

fn records(answer: &FetchResponse) -> usize {
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.filter_map(|partition| partition.records.as_ref()).map(|records| records.len()).sum()
}

/// A partition that the broker does not know stays in the session, because clients do not name it again: its records
/// arrive when it exists.
async fn check_session_keeps_unknown_partitions(client: &Client, name: &str) {
    let connection = &client.connection;
    let answer = send(connection, &first(&[(name, 1)]), BY_NAME).await;
    let code = answer.responses[0].partitions[0].error_code;
    assert_eq!((answer.error_code, code), (ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    let id = answer.session_id;
    assert_ne!(id, 0);
    let topic = client.create(name, 1, &[]).await;
    let written = async {
        while client.produce(topic, 0, "x").await != Ok(0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for epoch in 1.. {
            let answer = send(connection, &next(id, epoch), BY_NAME).await;
            assert_eq!((answer.error_code, answer.session_id), (ErrorCode::NONE, id));
            if records(&answer) > 0 {
                return;
            }
        }
    };
    tokio::time::timeout(WAIT, written).await.expect("the record arrives in the session");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_serves_topics_that_are_created_later() {
    let broker = TestBroker::start().await;
    check_session_keeps_unknown_partitions(&connect(&broker).await, "later").await;
    broker.shut_down().await;
    if let Some(kafka) = Shared::get() {
        let name = format!("later-{}-{}", std::process::id(), line!());
        check_session_keeps_unknown_partitions(&connect_to(kafka.bootstrap()).await, &name).await;
    }
}

/// Partitions that incremental requests add are charged like the first ones. A session that there is no room for ends,
/// and the full request that follows is answered without one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_without_room_to_grow_ends() {
    let broker = TestBroker::start().await;
    let client = connect(&broker).await;
    let limit = metric(&broker, "thalweg_fetch_session_memory_limit_bytes");
    let held = || metric(&broker, "thalweg_fetch_session_memory_bytes");
    let name = "n".repeat(200);
    let answer = send(&client.connection, &first(&[(&name, 1)]), BY_NAME).await;
    let id = answer.session_id;
    let mut code = ErrorCode::NONE;
    let mut epoch = 0;
    while code.is_ok() {
        epoch += 1;
        let before = held();
        let names: Vec<String> = (0..20_000).map(|n| format!("{name}-{epoch}-{n}")).collect();
        let topics: Vec<(&str, i32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let request = FetchRequest { session_id: id, session_epoch: epoch, ..first(&topics) };
        code = send(&client.connection, &request, BY_NAME).await.error_code;
        assert!(held() <= limit && epoch < 50, "{} of {limit} bytes", held());
        assert!(code.is_err() || held() > before + 20_000 * 250, "{before}, then {}", held());
    }
    assert_eq!((code, held()), (ErrorCode::FETCH_SESSION_ID_NOT_FOUND, 0));
    let answer = send(&client.connection, &next(id, epoch + 1), BY_NAME).await;
    assert_eq!(answer.error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
    let large = send(&client.connection, &first(&[("made-up", 300_000)]), BY_NAME).await;
    assert_eq!((large.error_code, large.session_id, held()), (ErrorCode::NONE, 0, 0));
    broker.shut_down().await;
}

/// Answers of very many partitions are counted until they are sent. Where clients do not take them, others of that size
/// are refused, and small ones are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_not_taken_are_bounded() {
    const CLIENTS: usize = 8;
    const ANSWERS: &str = "thalweg_fetch_answer_memory_bytes";
    let broker = TestBroker::builder().fetch_memory(1 << 20).start().await;
    let client = connect(&broker).await;
    let topic = client.create("t", 1, &[]).await;
    let request = first(&[("made-up", 200_000)]);
    let mut frame = thalweg_wire::Writer::new();
    thalweg::raw::begin_request(&mut frame, thalweg_wire::ApiKey::FETCH, BY_NAME, "slow").unwrap();
    request.encode(&mut frame, BY_NAME).unwrap();
    frame.end_frame().unwrap();
    let frame = frame.to_vec();
    let closed = "kafka_server_socketservermetrics_connection_close_total";
    let before = metric(&broker, closed);
    let mut streams = Vec::new();
    for _ in 0..CLIENTS {
        let mut stream = tokio::net::TcpStream::connect(broker.bootstrap()).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, &frame).await.unwrap();
        streams.push(stream);
    }
    // The first goes past the limit, because nothing else is held, and one more may.
    let refused = before + CLIENTS as u64 - 2;
    until("connections that are closed", || metric(&broker, closed) == refused).await;
    let held = metric(&broker, ANSWERS);
    assert!((1..64 << 20).contains(&held), "{held}");
    assert_eq!(client.produce(topic, 0, "x").await, Ok(0));
    assert_eq!(client.fetch(topic, 0).await, Ok(vec!["x".to_owned()]));
    drop(streams);
    until("the end of the answers", || metric(&broker, ANSWERS) == 0).await;
    let answer = send(&client.connection, &request, BY_NAME).await;
    assert_eq!(answer.responses[0].partitions.len(), 200_000);
    broker.shut_down().await;
}

/// A replica that no broker of the cluster has takes no consumer's place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_of_an_unknown_replica_takes_nobodys_place() {
    let broker =
        TestBroker::builder().config("max.incremental.fetch.session.cache.slots", 1).start().await;
    let client = connect(&broker).await;
    let consumer = send(&client.connection, &first(&[("t", 1)]), BY_NAME).await.session_id;
    assert_ne!(consumer, 0);
    for (replica_id, is_taken) in [(77, false), (1, true)] {
        let request = FetchRequest { replica_id, ..first(&[("t", 1)]) };
        let answer = send(&client.connection, &request, BY_NAME).await;
        assert_eq!(answer.session_id != 0, is_taken, "replica {replica_id}");
    }
    broker.shut_down().await;
}
