//! Transactions that nobody coordinates, on one node: they are described, and end when somebody asks for it.

use thalweg::{Connection, Options};
use thalweg_records::{BatchView, TimestampType};
use thalweg_testkit::oracle::{Program, jars};
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_producers_request::TopicRequest;
use thalweg_wire::messages::*;

use crate::support::{Data, create, producer_batch, segments_of, send};

const READ_COMMITTED: i8 = 1;
const LATEST: i64 = -1;
const PRODUCER: i64 = 7;

struct Session {
    broker: TestBroker,
    connection: Connection,
}

impl Session {
    /// Nobody is asked about transactions, because nobody is there.
    async fn start(data: &Data) -> Session {
        let broker = TestBroker::builder()
            .data(&data.0)
            .config("transaction.partition.verification.enable", false)
            .start()
            .await;
        let connection = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
        Session { broker, connection }
    }

    async fn create(&self, name: &str, configs: &[(&str, &str)]) {
        create(&self.connection, requests::topic(name, 1, configs)).await;
    }

    async fn produce(&self, topic: &str, epoch: i16, sequence: i32) -> ErrorCode {
        let records = producer_batch(PRODUCER, epoch, sequence, true);
        let request = ProduceRequest {
            transactional_id: Some("gone".into()),
            ..requests::produce_by_name(topic, [(0, records)])
        };
        let answer = send(&self.connection, &request, 11).await;
        answer.responses[0].partition_responses[0].error_code
    }

    /// Ends transactions; gives what is answered for each partition.
    async fn end(&self, epoch: i16, coordinator_epoch: i32, topics: &[&str]) -> Vec<ErrorCode> {
        let request = requests::write_marker((PRODUCER, epoch), coordinator_epoch, false, topics);
        let answer = send(&self.connection, &request, 1).await;
        let topics = answer.markers.into_iter().flat_map(|marker| marker.topics);
        topics.flat_map(|topic| topic.partitions).map(|it| it.error_code).collect()
    }

    /// Where readers of committed records end, and where the partition does.
    async fn ends(&self, topic: &str) -> (i64, i64) {
        let mut ends = [0; 2];
        for (isolation_level, end) in [READ_COMMITTED, 0].into_iter().zip(&mut ends) {
            let request =
                ListOffsetsRequest { isolation_level, ..requests::list_offsets(topic, 0, LATEST) };
            let answer = self.connection.send(&request).await.unwrap();
            *end = answer.topics[0].partitions[0].offset;
        }
        (ends[0], ends[1])
    }

    /// Waits for it: a marker is answered a moment before readers may see what is behind it.
    async fn until_ends(&self, topic: &str, expected: (i64, i64)) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let ends = self.ends(topic).await;
            if ends == expected {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "{ends:?} instead of {expected:?}");
            tokio::task::yield_now().await;
        }
    }

    /// Where the producer's transaction begins, and the epoch of the coordinator that ended its last one.
    async fn described(&self, topic: &str) -> (i64, i32) {
        let topic =
            TopicRequest { name: topic.into(), partition_indexes: vec![0], ..Default::default() };
        let request = DescribeProducersRequest { topics: vec![topic], ..Default::default() };
        let answer = self.connection.send(&request).await.unwrap();
        let producers = &answer.topics[0].partitions[0].active_producers;
        assert_eq!(producers.len(), 1, "{producers:?}");
        (producers[0].current_txn_start_offset, producers[0].coordinator_epoch)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_without_a_coordinator_are_ended_by_who_asks_for_it() {
    let data = Data::new();
    let session = Session::start(&data).await;
    session.create("t", &[]).await;
    assert_eq!(session.produce("t", 3, 0).await, ErrorCode::NONE);
    assert_eq!(session.produce("t", 3, 1).await, ErrorCode::NONE);
    assert_eq!((session.ends("t").await, session.described("t").await), ((0, 2), (0, -1)));
    session.broker.shut_down().await;
    let session = Session::start(&data).await;
    assert_eq!(session.ends("t").await, (0, 2), "it is open still");

    // A marker of an earlier epoch of its producer is not its end, nor one for what is not here.
    assert_eq!(session.end(2, 5, &["t"]).await, [ErrorCode::INVALID_PRODUCER_EPOCH]);
    assert_eq!(session.end(-1, 5, &["t"]).await, [ErrorCode::INVALID_REQUEST]);
    assert_eq!(session.end(3, 5, &["none"]).await, [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]);
    assert_eq!(session.ends("t").await, (0, 2));
    // Named twice, it ends once.
    let both = session.end(3, 5, &["t", "none", "t"]).await;
    assert_eq!(both.len(), 2);
    assert!(both.contains(&ErrorCode::NONE), "{both:?}");
    assert!(both.contains(&ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), "{both:?}");
    session.until_ends("t", (3, 3)).await;
    assert_eq!(session.described("t").await, (-1, 5));
    // Nor is one of an earlier coordinator.
    assert_eq!(session.produce("t", 3, 2).await, ErrorCode::NONE);
    assert_eq!(session.end(3, 4, &["t"]).await, [ErrorCode::TRANSACTION_COORDINATOR_FENCED]);
    assert_eq!((session.ends("t").await, session.described("t").await), ((3, 4), (3, 5)));

    if jars().is_some() {
        Program::class("org.apache.kafka.tools.TransactionsCommand")
            .args(["--bootstrap-server", &session.broker.bootstrap(), "abort"])
            .args(["--topic", "t", "--partition", "0", "--start-offset", "3"])
            .succeed();
        session.until_ends("t", (5, 5)).await;
        assert_eq!(session.described("t").await, (-1, 5));
    }
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markers_have_the_time_of_their_topic() {
    let data = Data::new();
    let session = Session::start(&data).await;
    for (topic, kind) in [("created", "CreateTime"), ("appended", "LogAppendTime")] {
        session.create(topic, &[("message.timestamp.type", kind)]).await;
        assert_eq!(session.produce(topic, 0, 0).await, ErrorCode::NONE);
        assert_eq!(session.end(0, 0, &[topic]).await, [ErrorCode::NONE]);
    }
    session.broker.shut_down().await;
    for (topic, kind) in
        [("created", TimestampType::CreateTime), ("appended", TimestampType::LogAppendTime)]
    {
        // The record is old, so that the marker begins a segment.
        let bytes = segments_of(&data.0, &format!("{topic}-0"));
        let first = BatchView::parse(&bytes).unwrap();
        let marker = BatchView::parse(&bytes[first.total_len()..]).unwrap();
        assert!(marker.is_control() && marker.crc_is_valid());
        assert_eq!((first.timestamp_type(), marker.timestamp_type()), (kind, kind), "{topic}");
    }
}
