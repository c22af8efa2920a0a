//! The broker as a client sees it, in process.

use std::time::Duration;

use bytes::Bytes;
use thalweg::raw::begin_request;
use thalweg::{Connection, Options};
use thalweg_records::BatchView;
use thalweg_records::batch::Compression;
use thalweg_records::builder::BatchOptions;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::fetch_request::FetchPartition;
use thalweg_wire::messages::metadata_request::MetadataRequestTopic;
use thalweg_wire::messages::produce_request::PartitionProduceData;
use thalweg_wire::messages::*;
use thalweg_wire::{ApiKey, ErrorCode, Message, Uuid, Writer};

use crate::support::{self, metric};

struct Session {
    broker: TestBroker,
    connection: Connection,
}

async fn begin(broker: TestBroker) -> Session {
    let connection = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
    Session { broker, connection }
}

async fn create(connection: &Connection, name: &str, partitions: i32) -> Uuid {
    support::create(connection, requests::topic(name, partitions, &[])).await
}

async fn topic_id(connection: &Connection, name: &str) -> Uuid {
    let topic = MetadataRequestTopic { name: Some(name.into()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    connection.send(&request).await.unwrap().topics[0].topic_id
}

fn batch(values: &[&str], producer: Option<(i64, i16, i32)>) -> Bytes {
    let (producer_id, producer_epoch, base_sequence) = producer.unwrap_or((-1, -1, -1));
    let options =
        BatchOptions { producer_id, producer_epoch, base_sequence, ..BatchOptions::default() };
    requests::batch(options, values)
}

fn produce(topic: Uuid, partition: i32, acks: i16, records: Bytes) -> ProduceRequest {
    ProduceRequest { acks, ..requests::produce(topic, [(partition, records)]) }
}

fn fetch(topic: Uuid, partitions: &[(i32, i64)], min_bytes: i32, max_wait_ms: i32) -> FetchRequest {
    let partitions = partitions.iter().map(|&(index, offset)| requests::partition(index, offset));
    FetchRequest { max_wait_ms, min_bytes, ..requests::fetch(topic, partitions) }
}

async fn append(session: &Session, topic: Uuid, partition: i32, values: &[&str]) -> i64 {
    let request = produce(topic, partition, -1, batch(values, None));
    let response = session.connection.send(&request).await.unwrap();
    let result = &response.responses[0].partition_responses[0];
    assert_eq!(result.error_code, ErrorCode::NONE, "{result:?}");
    result.base_offset
}

async fn send_without_answer(connection: &Connection, request: &ProduceRequest) {
    let version = connection.version_of::<ProduceRequest>().unwrap();
    let mut frame = Writer::new();
    begin_request(&mut frame, ApiKey::PRODUCE, version, "test").unwrap();
    request.encode(&mut frame, version).unwrap();
    frame.end_frame().unwrap();
    connection.send_unanswered(frame, ApiKey::PRODUCE, version).await.unwrap();
}

/// Waits until a text is among the metrics.
async fn until_shown(broker: &TestBroker, text: &str) {
    let shown = async {
        while !broker.metrics_text().contains(text) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let shown = tokio::time::timeout(Duration::from_secs(60), shown).await;
    shown.unwrap_or_else(|_| panic!("{text} is not shown"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_producer_sent_is_what_a_consumer_gets() {
    let session = begin(TestBroker::start().await).await;
    let topic = create(&session.connection, "t", 2).await;
    let sent = batch(&["a", "b", "c"], None);
    let response = session.connection.send(&produce(topic, 1, -1, sent.clone())).await.unwrap();
    assert_eq!(response.responses[0].partition_responses[0].base_offset, 0);
    assert_eq!(append(&session, topic, 1, &["d"]).await, 3);

    let answer = session.connection.send(&fetch(topic, &[(1, 0)], 1, 1_000)).await.unwrap();
    let part = &answer.responses[0].partitions[0];
    assert_eq!((part.error_code, part.high_watermark), (ErrorCode::NONE, 4));
    let records = part.records.as_ref().unwrap();
    let first = BatchView::parse(records).unwrap();
    // All but base offset and leader epoch are the producer's bytes.
    assert_eq!(first.bytes()[16..], sent[16..]);
    assert!(first.crc_is_valid());
    let second = BatchView::parse(&records[first.total_len()..]).unwrap();
    assert_eq!(second.base_offset(), 3);
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_ends_with_the_data_it_waits_for() {
    let session = begin(TestBroker::start().await).await;
    let topic = create(&session.connection, "t", 3).await;
    let other = Connection::open(&session.broker.bootstrap(), &Options::default()).await.unwrap();
    let wanted = fetch(topic, &[(0, 0), (1, 0), (2, 0)], 1, 60_000);
    let poll = tokio::spawn(async move { other.send(&wanted).await.unwrap() });
    // Not before there is data ...
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!poll.is_finished());
    append(&session, topic, 2, &["x"]).await;
    // ... and then long before the minute is over.
    let answer = tokio::time::timeout(Duration::from_secs(20), poll).await.unwrap().unwrap();
    let with_data: Vec<i32> = answer.responses[0]
        .partitions
        .iter()
        .filter(|p| p.records.as_ref().is_some_and(|r| !r.is_empty()))
        .map(|p| p.partition_index)
        .collect();
    assert_eq!(with_data, [2]);
    assert!(session.broker.metrics_text().contains("thalweg_fetches_parked_total 1"));
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_while_its_fetch_waits_is_noticed() {
    const CLOSED: &str = "kafka_server_socketservermetrics_connection_close_total ";
    let session = begin(TestBroker::start().await).await;
    let topic = create(&session.connection, "t", 1).await;
    let closed = |broker: &TestBroker| {
        let page = broker.metrics_text();
        let line = page.lines().find_map(|l| l.strip_prefix(CLOSED));
        line.and_then(|count| count.parse::<f64>().ok()).expect("a metric") as u64
    };
    for ahead in [false, true] {
        let before = closed(&session.broker);
        let other =
            Connection::open(&session.broker.bootstrap(), &Options::default()).await.unwrap();
        let wanted = fetch(topic, &[(0, 0)], 1, i32::MAX);
        let poll = {
            let other = other.clone();
            tokio::spawn(async move { other.send(&wanted).await })
        };
        let parked = if ahead { 2 } else { 1 };
        let parked = format!("thalweg_fetches_parked_total {parked}");
        until_shown(&session.broker, &parked).await;
        if ahead {
            // Another request behind the one that waits.
            let next = other.clone();
            tokio::spawn(async move { next.send(&MetadataRequest::default()).await });
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        other.close();
        drop(poll.await);
        drop(other);
        let begun = std::time::Instant::now();
        while closed(&session.broker) == before {
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody noticed; ahead: {ahead}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_poll_is_answered_with_all_that_one_request_brought() {
    const PARTITIONS: i32 = 64;
    let session = begin(TestBroker::start().await).await;
    let topic = create(&session.connection, "t", PARTITIONS).await;
    let other = Connection::open(&session.broker.bootstrap(), &Options::default()).await.unwrap();
    let all: Vec<(i32, i64)> = (0..PARTITIONS).map(|partition| (partition, 0)).collect();
    let wanted = fetch(topic, &all, 1, 60_000);
    let poll = tokio::spawn(async move { other.send(&wanted).await.unwrap() });
    let parked = "thalweg_fetches_parked_total 1";
    until_shown(&session.broker, parked).await;
    let mut request = produce(topic, 0, -1, batch(&["x"], None));
    let parts = &mut request.topic_data[0].partition_data;
    for partition in 1..PARTITIONS {
        parts.push(PartitionProduceData { index: partition, ..parts[0].clone() });
    }
    session.connection.send(&request).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(20), poll).await.unwrap().unwrap();
    let parts = &answer.responses[0].partitions;
    let with_data = parts.iter().filter(|p| p.records.as_ref().is_some_and(|r| !r.is_empty()));
    assert_eq!(with_data.count(), PARTITIONS as usize);
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_session_names_only_what_is_new() {
    let session = begin(TestBroker::start().await).await;
    let topic = create(&session.connection, "t", 3).await;
    append(&session, topic, 0, &["a"]).await;
    let full =
        FetchRequest { session_epoch: 0, ..fetch(topic, &[(0, 0), (1, 0), (2, 0)], 1, 1_000) };
    let first = session.connection.send(&full).await.unwrap();
    assert_ne!(first.session_id, 0);
    assert_eq!(first.responses[0].partitions.len(), 3);

    let next = |epoch: i32, moved: &[(i32, i64)]| {
        let mut request = FetchRequest {
            session_id: first.session_id,
            session_epoch: epoch,
            ..fetch(topic, moved, 0, 0)
        };
        if moved.is_empty() {
            request.topics.clear();
        }
        request
    };
    let second = session.connection.send(&next(1, &[(0, 1)])).await.unwrap();
    assert_eq!(second.error_code, ErrorCode::NONE);
    assert!(second.responses.is_empty(), "{second:?}");
    append(&session, topic, 2, &["b"]).await;
    let third = session.connection.send(&next(2, &[])).await.unwrap();
    let named: Vec<i32> = third.responses[0].partitions.iter().map(|p| p.partition_index).collect();
    assert_eq!(named, [2]);
    let wrong = session.connection.send(&next(9, &[])).await.unwrap();
    assert_eq!(wrong.error_code, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_batch_is_answered_with_its_first_offset() {
    let session = begin(TestBroker::start().await).await;
    let topic = create(&session.connection, "t", 1).await;
    let id = session
        .connection
        .send(&InitProducerIdRequest { transactional_id: None, ..Default::default() })
        .await
        .unwrap();
    assert_eq!((id.error_code, id.producer_epoch), (ErrorCode::NONE, 0));
    let send = |sequence: i32| {
        let records = batch(&["a", "b"], Some((id.producer_id, 0, sequence)));
        let request = produce(topic, 0, -1, records);
        let connection = session.connection.clone();
        async move {
            let response = connection.send(&request).await.unwrap();
            let result = &response.responses[0].partition_responses[0];
            (result.error_code, result.base_offset)
        }
    };
    assert_eq!(send(0).await, (ErrorCode::NONE, 0));
    assert_eq!(send(2).await, (ErrorCode::NONE, 2));
    assert_eq!(send(0).await, (ErrorCode::NONE, 0));
    assert_eq!(send(8).await.0, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_produce_without_acks_closes_the_connection() {
    let session = begin(TestBroker::start().await).await;
    let topic = create(&session.connection, "t", 1).await;
    let fine = produce(topic, 0, 0, batch(&["a"], None));
    send_without_answer(&session.connection, &fine).await;
    // The connection lives on, and the record is there.
    append(&session, topic, 0, &["b"]).await;
    let mut broken = batch(&["a"], None).to_vec();
    let last = broken.len() - 1;
    broken[last] ^= 1;
    send_without_answer(&session.connection, &produce(topic, 0, 0, broken.into())).await;
    let after = session.connection.send(&MetadataRequest::default()).await;
    assert!(after.is_err(), "{after:?}");
    let again = Connection::open(&session.broker.bootstrap(), &Options::default()).await.unwrap();
    let answer = again.send(&fetch(topic, &[(0, 0)], 1, 1_000)).await.unwrap();
    assert_eq!(answer.responses[0].partitions[0].high_watermark, 2);
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_there_after_a_restart() {
    let dir = std::env::temp_dir().join(format!("thalweg-restart-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let session = begin(TestBroker::builder().data(&dir).start().await).await;
    let topic = create(&session.connection, "t", 2).await;
    append(&session, topic, 0, &["a", "b"]).await;
    session.broker.shut_down().await;

    let session = begin(TestBroker::builder().data(&dir).start().await).await;
    let wanted = MetadataRequest {
        topics: Some(vec![MetadataRequestTopic { name: Some("t".into()), ..Default::default() }]),
        ..Default::default()
    };
    let metadata = session.connection.send(&wanted).await.unwrap();
    assert_eq!(metadata.topics[0].topic_id, topic);
    assert_eq!(metadata.topics[0].partitions.len(), 2);
    let answer = session.connection.send(&fetch(topic, &[(0, 0)], 1, 1_000)).await.unwrap();
    assert_eq!(answer.responses[0].partitions[0].high_watermark, 2);
    assert_eq!(append(&session, topic, 0, &["c"]).await, 2);
    // A second broker on the same directory is refused while the first one runs.
    let second = TestBroker::builder().data(&dir).try_start().await;
    let reason = second.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(reason.contains("in use"), "{reason}");
    session.broker.shut_down().await;
    std::fs::remove_dir_all(&dir).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_above_the_limit_of_an_address_are_closed() {
    let broker = TestBroker::builder().config("max.connections.per.ip", 1).start().await;
    let first = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
    assert!(Connection::open(&broker.bootstrap(), &Options::default()).await.is_err());
    first.send(&MetadataRequest::default()).await.unwrap();
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_honoured_stops_the_start() {
    for (name, value) in [
        ("listeners", "SSL://127.0.0.1:0"),
        ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        ("log.segment.bytes", "many"),
    ] {
        let started = TestBroker::builder().config(name, value).try_start().await;
        let reason = started.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(reason.contains(name) || reason.contains("SSL"), "{name}: {reason:?}");
    }
}

/// Commits an offset as a consumer without a group membership does.
async fn commit(connection: &Connection, topic: Uuid, offset: i64) -> ErrorCode {
    use thalweg_wire::messages::offset_commit_request::{
        OffsetCommitRequestPartition, OffsetCommitRequestTopic,
    };
    let found = connection.send(&requests::find_group_coordinator("g")).await.unwrap();
    assert_eq!(found.coordinators[0].error_code, ErrorCode::NONE);
    let request = OffsetCommitRequest {
        group_id: "g".into(),
        generation_id_or_member_epoch: -1,
        topics: vec![OffsetCommitRequestTopic {
            topic_id: topic,
            partitions: vec![OffsetCommitRequestPartition {
                committed_offset: offset,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let response = connection.send(&request).await.unwrap();
    response.topics[0].partitions[0].error_code
}

/// A topic that a client names is made meanwhile, and found when the client asks again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_is_made_while_its_first_client_is_told_to_ask_again() {
    let session = begin(TestBroker::start().await).await;
    let ask = async |names: &[&str]| {
        let topics = names.iter().map(|name| MetadataRequestTopic {
            name: Some((*name).to_owned()),
            ..Default::default()
        });
        let request = MetadataRequest {
            topics: Some(topics.collect()),
            allow_auto_topic_creation: true,
            ..Default::default()
        };
        let answer = session.connection.send(&request).await.unwrap();
        let said = answer.topics.into_iter().map(|t| (t.error_code, t.partitions.len()));
        said.collect::<Vec<_>>()
    };
    let unknown = (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, 0);
    assert_eq!(ask(&["new"]).await, [unknown]);
    let illegal = (ErrorCode::INVALID_TOPIC_EXCEPTION, 0);
    assert_eq!(ask(&["a b", "other"]).await, [illegal, unknown]);
    for (name, partitions) in
        [("new", 1), ("other", 1), ("__consumer_offsets", 50), ("__transaction_state", 50)]
    {
        let mut said = ask(&[name]).await;
        for _ in 0..3_000 {
            if said != [unknown] {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            said = ask(&[name]).await;
        }
        assert_eq!(said, [(ErrorCode::NONE, partitions)], "{name}");
    }
    session.broker.shut_down().await;
}

/// `offsets.topic.compression.codec` acts, and what it wrote is read again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_are_compressed_as_configured() {
    let dir = std::env::temp_dir().join(format!("thalweg-offsets-codec-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    for (codec, offset) in [(4, 3), (0, 4)] {
        let builder = TestBroker::builder().data(&dir).config("offsets.topic.num.partitions", 1);
        let broker = builder.config("offsets.topic.compression.codec", codec).start().await;
        let session = begin(broker).await;
        let topic = match offset {
            3 => create(&session.connection, "t", 1).await,
            _ => topic_id(&session.connection, "t").await,
        };
        let mut committed = commit(&session.connection, topic, offset).await;
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while committed == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
            assert!(std::time::Instant::now() < deadline, "the coordinator does not load");
            tokio::task::yield_now().await;
            committed = commit(&session.connection, topic, offset).await;
        }
        assert_eq!(committed, ErrorCode::NONE);
        session.broker.shut_down().await;
    }
    let log = std::fs::read(dir.join("__consumer_offsets-0/00000000000000000000.log")).unwrap();
    let mut rest = &log[..];
    let mut codecs = Vec::new();
    while !rest.is_empty() {
        let batch = BatchView::parse(rest).unwrap();
        codecs.push(batch.compression().unwrap());
        rest = &rest[batch.total_len()..];
    }
    assert_eq!(codecs, [Compression::Zstd, Compression::None]);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// After an unclean stop the partitions get new leader epochs while their groups are loaded already;
/// commits must go on under the new ones.
#[test]
fn groups_go_on_after_an_unclean_stop() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    };
    let dir = std::env::temp_dir().join(format!("thalweg-unclean-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let start = || TestBroker::builder().data(&dir).start();
    let first = runtime();
    let topic = first.block_on(async {
        let session = begin(start().await).await;
        let topic = create(&session.connection, "t", 1).await;
        assert_eq!(commit(&session.connection, topic, 5).await, ErrorCode::NONE);
        topic
    });
    // Everything stops where it is: nothing is flushed, no marker is written.
    first.shutdown_timeout(Duration::from_secs(5));
    assert!(!dir.join(".kafka_cleanshutdown").exists());

    runtime().block_on(async {
        let session = begin(start().await).await;
        // The group may still be loading.
        let mut code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
        for _ in 0..200 {
            code = commit(&session.connection, topic, 6).await;
            if code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(code, ErrorCode::NONE);
        session.broker.shut_down().await;
    });
    std::fs::remove_dir_all(&dir).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_in_a_leader_epoch_that_is_not_known_yet_waits_for_it_shortly() {
    let s = begin(TestBroker::start().await).await;
    let topic = create(&s.connection, "t", 1).await;
    let fetch = async |current_leader_epoch, max_wait_ms| {
        let partition = FetchPartition { current_leader_epoch, ..requests::partition(0, 0) };
        let request =
            FetchRequest { max_wait_ms, min_bytes: 1, ..requests::fetch(topic, [partition]) };
        let answer = s.connection.send(&request).await.unwrap();
        answer.responses[0].partitions[0].error_code
    };
    let parked = || metric(&s.broker, "thalweg_fetches_parked_total");
    // Whoever does not want to wait does not, and nobody waits for as long as for records.
    let before = parked();
    assert_eq!(fetch(0, 0).await, ErrorCode::NONE);
    assert_eq!(fetch(1, 0).await, ErrorCode::UNKNOWN_LEADER_EPOCH);
    assert_eq!(fetch(-2, 300_000).await, ErrorCode::FENCED_LEADER_EPOCH);
    assert_eq!(parked(), before);
    assert_eq!(fetch(1, 300_000).await, ErrorCode::UNKNOWN_LEADER_EPOCH);
    assert_eq!(parked(), before + 1);
    s.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_answers_what_waits() {
    // A group that waits for more members, and a fetch that waits for data.
    let builder = TestBroker::builder().config("group.initial.rebalance.delay.ms", 300_000);
    let s = begin(builder.start().await).await;
    let topic = create(&s.connection, "quiet", 1).await;
    let fetch = fetch(topic, &[(0, 0)], 1, 300_000);
    let mut join = JoinGroupRequest {
        group_id: "group".into(),
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 300_000,
        protocol_type: "consumer".into(),
        protocols: vec![join_group_request::JoinGroupRequestProtocol {
            name: "range".into(),
            ..Default::default()
        }],
        ..Default::default()
    };
    // Named by the coordinator, once it has loaded its groups.
    let find = requests::find_group_coordinator("group");
    loop {
        s.connection.send(&find).await.unwrap();
        let named = s.connection.send(&join).await.unwrap();
        if named.error_code == ErrorCode::MEMBER_ID_REQUIRED {
            join.member_id = named.member_id;
            break;
        }
        tokio::task::yield_now().await;
    }
    let count = |name: &str| {
        let text = s.broker.metrics_text();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse::<u64>().unwrap())
    };
    let joins = "kafka_network_requestmetrics_requests_total{request=\"JoinGroup\"}";
    let before = count(joins);
    let fetching = Connection::open(&s.broker.bootstrap(), &Options::default()).await.unwrap();
    let joining = Connection::open(&s.broker.bootstrap(), &Options::default()).await.unwrap();
    let fetched = tokio::spawn(async move { fetching.send(&fetch).await });
    let joined = tokio::spawn(async move { joining.send(&join).await });
    let parked = async {
        while count("thalweg_fetches_parked_total") == 0 || count(joins) == before {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), parked).await.expect("both wait");
    s.broker.shut_down().await;
    let fetched = fetched.await.unwrap().expect("an answer before the end");
    let part = &fetched.responses[0].partitions[0];
    assert_eq!(part.error_code, ErrorCode::NONE);
    assert!(part.records.as_ref().is_none_or(|records| records.is_empty()));
    let joined = joined.await.unwrap().expect("an answer before the end");
    assert_eq!(joined.error_code, ErrorCode::NOT_COORDINATOR);
    assert!(s.connection.send(&find).await.is_err(), "the connection is closed");
}
