//! What a broker does by the clock, which the test moves: nothing here waits for it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use thalweg::{Connection, Options};
use thalweg_records::BatchView;
use thalweg_testkit::oracle::jars;
use thalweg_testkit::{TestBroker, TestClock};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use thalweg_wire::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use thalweg_wire::messages::produce_request::{PartitionProduceData, TopicProduceData};
use thalweg_wire::messages::*;

use crate::support::transactions::{Clients, TIMEOUT_MS};
use crate::support::{self, Data, producer_batch, segments_of, send};

/// What must come comes within that.
const WAIT: Duration = Duration::from_secs(60);
/// `transactional.id.expiration.ms`
const ID_EXPIRATION: Duration = Duration::from_secs(7 * 86_400);
/// The longest that a transaction may have by default: what this test takes in real time is nothing beside it.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);
const ID: &str = "transaction";

/// A producer of one transactional id, on the wire, and who looks at what becomes of it.
struct Producer {
    connection: Connection,
    id: i64,
    epoch: i16,
}

async fn until<T: PartialEq + std::fmt::Debug>(expected: T, mut look: impl AsyncFnMut() -> T) {
    let deadline = Instant::now() + WAIT;
    loop {
        let seen = look().await;
        if seen == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{seen:?} instead of {expected:?}");
        tokio::task::yield_now().await;
    }
}

impl Producer {
    async fn new(broker: &TestBroker) -> Producer {
        let connection = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
        let find = FindCoordinatorRequest {
            key_type: 1,
            coordinator_keys: vec![ID.into()],
            ..Default::default()
        };
        until(ErrorCode::NONE, async || {
            connection.send(&find).await.unwrap().coordinators[0].error_code
        })
        .await;
        let mut producer = Producer { connection, id: -1, epoch: -1 };
        until(ErrorCode::NONE, async || producer.init().await).await;
        producer
    }

    async fn init(&mut self) -> ErrorCode {
        let request = InitProducerIdRequest {
            transactional_id: Some(ID.into()),
            transaction_timeout_ms: i32::try_from(TIMEOUT.as_millis()).unwrap(),
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        let answer = self.connection.send(&request).await.unwrap();
        (self.id, self.epoch) = (answer.producer_id, answer.producer_epoch);
        answer.error_code
    }

    /// Sends a record to `t-0` in a transaction.
    async fn produce(&self) {
        let topic =
            AddPartitionsToTxnTopic { name: "t".into(), partitions: vec![0], ..Default::default() };
        let add = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: ID.into(),
            v3_and_below_producer_id: self.id,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![topic],
            ..Default::default()
        };
        let added = send(&self.connection, &add, 3).await;
        let added = &added.results_by_topic_v3_and_below[0].results_by_partition[0];
        assert_eq!(added.partition_error_code, ErrorCode::NONE.0);
        let records = producer_batch(self.id, self.epoch, 0, true);
        let partition =
            PartitionProduceData { records: Some(records.into()), ..Default::default() };
        let topic = TopicProduceData {
            name: "t".into(),
            partition_data: vec![partition],
            ..Default::default()
        };
        let request = ProduceRequest {
            transactional_id: Some(ID.into()),
            acks: -1,
            timeout_ms: 10_000,
            topic_data: vec![topic],
            ..Default::default()
        };
        let answer = send(&self.connection, &request, 11).await;
        assert_eq!(answer.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    }

    async fn commit(&self, version: i16) -> ErrorCode {
        let request = EndTxnRequest {
            transactional_id: ID.into(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            committed: true,
            ..Default::default()
        };
        send(&self.connection, &request, version).await.error_code
    }

    /// Where readers of committed records end, and where the partition does.
    async fn ends(&self) -> [i64; 2] {
        let mut ends = [0; 2];
        for (isolation_level, end) in [1, 0].into_iter().zip(&mut ends) {
            let partition = ListOffsetsPartition { timestamp: -1, ..Default::default() };
            let topic = ListOffsetsTopic {
                name: "t".into(),
                partitions: vec![partition],
                ..Default::default()
            };
            let request = ListOffsetsRequest {
                replica_id: -1,
                isolation_level,
                topics: vec![topic],
                ..Default::default()
            };
            let answer = self.connection.send(&request).await.unwrap();
            *end = answer.topics[0].partitions[0].offset;
        }
        ends
    }

    /// What the coordinator says of the transaction: its state, or why there is none.
    async fn state(&self) -> Result<String, ErrorCode> {
        let request = DescribeTransactionsRequest {
            transactional_ids: vec![ID.into()],
            ..Default::default()
        };
        let mut answer = self.connection.send(&request).await.unwrap();
        let state = answer.transaction_states.remove(0);
        if state.error_code.is_err() { Err(state.error_code) } else { Ok(state.transaction_state) }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_open_for_too_long_is_aborted_and_its_id_expires() {
    let (clock, data) = (TestClock::new(), Data::new());
    let start = || {
        // The records are old.
        let builder = TestBroker::builder().data(&data.0).config("log.retention.ms", -1);
        builder.clock(&clock).start()
    };
    let broker = start().await;
    support::connect(&broker).await.create("t", 1, &[]).await;
    let mut producer = Producer::new(&broker).await;
    producer.produce().await;
    assert_eq!(producer.ends().await, [0, 1]);
    // The sweeps that this brings leave it alone.
    clock.advance(TIMEOUT / 3);
    assert_eq!((producer.ends().await, producer.state().await), ([0, 1], Ok("Ongoing".into())));

    clock.advance(TIMEOUT);
    until([2, 2], async || producer.ends().await).await;
    assert_eq!(producer.commit(4).await, ErrorCode::PRODUCER_FENCED);
    assert_eq!(producer.commit(1).await, ErrorCode::INVALID_PRODUCER_EPOCH);
    until(Ok("CompleteAbort".into()), async || producer.state().await).await;

    // Whoever takes the name goes on.
    assert_eq!(producer.init().await, ErrorCode::NONE);
    producer.produce().await;
    assert_eq!(producer.commit(4).await, ErrorCode::NONE);
    until([4, 4], async || producer.ends().await).await;
    until(Ok("CompleteCommit".into()), async || producer.state().await).await;

    clock.advance(ID_EXPIRATION);
    until(Err(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND), async || producer.state().await).await;
    broker.shut_down().await;

    // What is in the log is of the moved clock's time; the next broker has the same one.
    let bytes = segments_of(&data.0, "t-0");
    let sent = BatchView::parse(&bytes).unwrap();
    let marker = BatchView::parse(&bytes[sent.total_len()..]).unwrap();
    assert!(marker.is_control() && marker.crc_is_valid());
    let machine = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    assert!(marker.max_timestamp() > i64::try_from(machine.as_millis()).unwrap());
    assert_eq!(clock.advanced(), TIMEOUT / 3 + TIMEOUT + ID_EXPIRATION);
    let broker = start().await;
    let producer = Producer::new(&broker).await;
    assert_eq!(producer.epoch, 0, "the id is unknown");
    producer.produce().await;
    clock.advance(TIMEOUT + Duration::from_millis(1));
    until([6, 6], async || producer.ends().await).await;
    broker.shut_down().await;
}

/// The same as an application meets it: with Kafka's own clients.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_of_kafkas_is_fenced_when_the_clock_has_passed_its_timeout() {
    if jars().is_none() {
        return;
    }
    let clock = TestClock::new();
    let broker = TestBroker::builder().clock(&clock).start().await;
    support::connect(&broker).await.create("t", 1, &[]).await;
    let mut clients = Clients::start(&broker.bootstrap());
    clients.open("one");
    clients.all(&["begin one", "send one t 0 a", "commit one"]);
    clients.all(&["begin one", "send one t 0 b", "flush one"]);
    clients.until_committed(0, "a").await;
    clock.advance(Duration::from_millis(TIMEOUT_MS + 1));
    // Nobody waits for its end any more.
    clients.open("other");
    clients.all(&["begin other", "send other t 0 c", "commit other"]);
    clients.until_committed(0, "a,c").await;
    // The abort has bumped the epoch once, so that EndTxn 5 takes this for a commit that is sent again, as in Kafka.
    let refused = clients.ask("commit one");
    assert!(refused.contains("InvalidTxnStateException"), "{refused}");
    clients.open("one");
    clients.all(&["begin one", "send one t 0 d", "commit one"]);
    clients.until_committed(0, "a,c,d").await;
    assert_eq!(clients.read("read_uncommitted", 0), "a,b,c,d");
    broker.shut_down().await;
}
