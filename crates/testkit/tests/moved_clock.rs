//! What a broker does by the clock, which the test moves: nothing here waits for it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use thalweg::{Connection, Options};
use thalweg_records::BatchView;
use thalweg_testkit::oracle::jars;
use thalweg_testkit::{TestBroker, TestClock, requests};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::*;

use crate::support::transactions::{Clients, TIMEOUT_MS};
use crate::support::{self, Data, metric, producer_batch, producer_batch_at, segments_of, send};

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
        let find = requests::find_transaction_coordinator(ID);
        until(ErrorCode::NONE, async || {
            connection.send(&find).await.unwrap().coordinators[0].error_code
        })
        .await;
        let mut producer = Producer { connection, id: -1, epoch: -1 };
        until(ErrorCode::NONE, async || producer.init().await).await;
        producer
    }

    async fn init(&mut self) -> ErrorCode {
        let timeout_ms = i32::try_from(TIMEOUT.as_millis()).unwrap();
        let request = requests::init_producer(ID, timeout_ms);
        let answer = self.connection.send(&request).await.unwrap();
        (self.id, self.epoch) = (answer.producer_id, answer.producer_epoch);
        answer.error_code
    }

    /// Sends a record to `t-0` in a transaction.
    async fn produce(&self) {
        let add = requests::add_partition(ID, (self.id, self.epoch), "t", 0);
        let added = send(&self.connection, &add, 3).await;
        let added = &added.results_by_topic_v3_and_below[0].results_by_partition[0];
        assert_eq!(added.partition_error_code, ErrorCode::NONE.0);
        let records = producer_batch(self.id, self.epoch, 0, true);
        let request = ProduceRequest {
            transactional_id: Some(ID.into()),
            ..requests::produce_by_name("t", [(0, records)])
        };
        let answer = send(&self.connection, &request, 11).await;
        assert_eq!(answer.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    }

    async fn commit(&self, version: i16) -> ErrorCode {
        let request = requests::commit_transaction(ID, (self.id, self.epoch));
        send(&self.connection, &request, version).await.error_code
    }

    /// Where readers of committed records end, and where the partition does.
    async fn ends(&self) -> [i64; 2] {
        let mut ends = [0; 2];
        for (isolation_level, end) in [1, 0].into_iter().zip(&mut ends) {
            let request =
                ListOffsetsRequest { isolation_level, ..requests::list_offsets("t", 0, -1) };
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
    assert_eq!(metric(&broker, "kafka_server_replicamanager_produceridcount"), 1);
    let verified = "kafka_server_addpartitionstotxnmanager_verificationtimems_count";
    assert_eq!(metric(&broker, verified), 1);
    // A partition was loaded a moment ago.
    let loads = "kafka_server_transactioncoordinatormetrics_partition_load_time";
    let page = broker.metrics_text();
    for name in ["max", "avg"] {
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("{loads}_{name} ")));
        assert!(line.unwrap().parse::<f64>().unwrap() >= 0.0, "{name}");
    }
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
    // All went well, and nothing to another broker.
    for name in [
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize",
        "kafka_server_replicamanager_partitionswithlatetransactionscount",
        "kafka_server_txnmarkerchannelmetrics_connection_count",
        "kafka_server_txnmarkerchannelmetrics_connection_creation_total",
        "kafka_server_txnmarkerchannelmetrics_connection_close_total",
        "kafka_server_txnmarkerchannelmetrics_request_total",
        "kafka_server_txnmarkerchannelmetrics_response_total",
    ] {
        assert_eq!(metric(&broker, name), 0, "{name}");
    }

    clock.advance(ID_EXPIRATION);
    // producer.id.expiration.ms is over, too.
    until(0, async || metric(&broker, "kafka_server_replicamanager_produceridcount")).await;
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

/// What nobody coordinates is open until an operator ends it: it is counted, and logged once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_that_are_open_for_longer_than_any_may_be_are_counted_and_found_once() {
    const PARTITIONS: &str = "kafka_server_replicamanager_partitionswithlatetransactionscount";
    const FOUND: &str = "thalweg_late_transactions_found_total";
    let clock = TestClock::new();
    let builder = TestBroker::builder().config("transaction.partition.verification.enable", false);
    let broker = builder.clock(&clock).start().await;
    let client = support::connect(&broker).await;
    client.create("t", 2, &[]).await;
    let connection = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
    let machine_ms = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        i64::try_from((since + clock.advanced()).as_millis()).unwrap()
    };
    let send_to = async |index: i32, producer_id: i64, timestamp: i64| {
        let records = producer_batch_at(timestamp, producer_id, 0, 0, true);
        let request = ProduceRequest {
            transactional_id: Some("gone".into()),
            ..requests::produce_by_name("t", [(index, records)])
        };
        let answer = send(&connection, &request, 11).await;
        assert_eq!(answer.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    };
    let end = async |producer_id: i64| {
        let request = requests::write_marker((producer_id, 0), 1, false, &["t"]);
        let answer = send(&connection, &request, 1).await;
        assert_eq!(answer.markers[0].topics[0].partitions[0].error_code, ErrorCode::NONE);
    };
    let counts = async || (metric(&broker, PARTITIONS), metric(&broker, FOUND));

    send_to(0, 7, machine_ms()).await;
    send_to(0, 8, machine_ms()).await;
    send_to(1, 9, machine_ms()).await;
    // Five minutes more than the longest timeout, less what this test may take, and then more than that.
    clock.advance(TIMEOUT + Duration::from_secs(60));
    assert_eq!(counts().await, (0, 0));
    clock.advance(Duration::from_secs(5 * 60));
    until((2, 2), &counts).await;
    // However often it is looked for them. With the oldest one gone the next one is.
    for producer_id in [7, 8] {
        clock.advance(Duration::from_secs(60));
        end(producer_id).await;
        clock.advance(Duration::from_secs(60));
        let left = if producer_id == 7 { (2, 3) } else { (1, 3) };
        until(left, &counts).await;
    }
    // Another one that begins, and is as late, is another one.
    send_to(0, 10, machine_ms()).await;
    assert_eq!(counts().await, (1, 3));
    clock.advance(TIMEOUT * 2);
    until((2, 4), &counts).await;
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
