//! When a fetch has enough (`fetch.min.bytes`), on Thalweg and, where its jars are, on Apache Kafka: a reader that lags is
//! answered at once, also where whole batches never add up to the minimum.

use crate::support;

use std::time::{Duration, Instant};

use support::{Client, connect, connect_to, metric};
use thalweg_records::BatchView;
use thalweg_testkit::kafka::Kafka;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::FetchRequest;
use thalweg_wire::messages::fetch_request::FetchPartition;
use thalweg_wire::{ErrorCode, Uuid};

const KIB: i32 = 1 << 10;
const MIB: i32 = 1 << 20;
/// `fetch.max.bytes` of the brokers.
const BROKER_MAX: i32 = 2 * MIB;
/// An answer that leaves at once does not take so long, and one that waits takes longer.
const WAIT_MS: i32 = 3_000;
const EXPIRED: &str = "kafka_server_delayedfetchmetrics_expires_total{fetcherType=\"consumer\"}";
const PARKED: &str = "thalweg_fetches_parked_total";

/// A topic of which every partition has batches of so many KiB.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    batch_kib: usize,
    /// Batches in each partition.
    batches: &'static [usize],
    segment_bytes: i32,
}

const LOADS: [Load; 4] = [
    Load { name: "many", batch_kib: 100, batches: &[30], segment_bytes: 64 * MIB },
    Load { name: "large", batch_kib: 700, batches: &[6], segment_bytes: 64 * MIB },
    Load { name: "several", batch_kib: 100, batches: &[25, 25, 25, 0], segment_bytes: 64 * MIB },
    // Ten batches and a bit fit into a segment.
    Load { name: "rolled", batch_kib: 100, batches: &[12], segment_bytes: MIB },
];

/// A fetch, and whether there is enough for it.
struct Shape {
    name: &'static str,
    load: usize,
    partitions: i32,
    offset: i64,
    min: i32,
    max: i32,
    partition_max: i32,
    is_enough: bool,
}

const SHAPE: Shape = Shape {
    name: "",
    load: 0,
    partitions: 1,
    offset: 0,
    min: MIB,
    max: 50 * MIB,
    partition_max: MIB,
    is_enough: true,
};

const SHAPES: [Shape; 15] = [
    Shape { name: "the partition's limit", ..SHAPE },
    Shape { name: "the request's limit", max: MIB, partition_max: 10 * MIB, ..SHAPE },
    Shape { name: "both limits", max: MIB, ..SHAPE },
    Shape { name: "within a batch of the limit", min: MIB - 20 * KIB, ..SHAPE },
    Shape { name: "batches of more than half of it", load: 1, ..SHAPE },
    Shape {
        name: "batches larger than the limits",
        load: 1,
        max: MIB / 2,
        partition_max: MIB / 2,
        min: MIB / 2,
        ..SHAPE
    },
    Shape {
        name: "a batch of more than the partition's limit",
        load: 1,
        partition_max: 256 * KIB,
        min: 512 * KIB,
        ..SHAPE
    },
    Shape {
        name: "several partitions",
        load: 2,
        partitions: 3,
        min: 2 * MIB,
        max: 2 * MIB,
        ..SHAPE
    },
    Shape {
        name: "several small limits",
        load: 2,
        partitions: 3,
        min: 3 * 250 * KIB,
        partition_max: 250 * KIB,
        ..SHAPE
    },
    Shape { name: "the broker's limit", load: 2, partitions: 4, min: 40 * MIB, ..SHAPE },
    Shape { name: "the end of an old segment", load: 3, offset: 9, ..SHAPE },
    // What is not there is waited for, as Kafka does.
    Shape { name: "less in the active segment", load: 3, offset: 11, is_enough: false, ..SHAPE },
    Shape { name: "above the partition's limit", min: MIB + 1, is_enough: false, ..SHAPE },
    Shape {
        name: "above all partitions' limits",
        load: 2,
        partitions: 4,
        min: 3 * 250 * KIB + 1,
        partition_max: 250 * KIB,
        is_enough: false,
        ..SHAPE
    },
    Shape { name: "less than the minimum", offset: 20, is_enough: false, ..SHAPE },
];

fn request(shape: &Shape, topic_id: Uuid, isolation_level: i8) -> FetchRequest {
    let partition = |index| FetchPartition {
        partition_max_bytes: shape.partition_max,
        ..requests::partition(index, shape.offset)
    };
    FetchRequest {
        max_wait_ms: WAIT_MS,
        min_bytes: shape.min,
        max_bytes: shape.max,
        isolation_level,
        ..requests::fetch(topic_id, (0..shape.partitions).map(partition))
    }
}

async fn load(client: &Client) -> Vec<Uuid> {
    let mut topics = Vec::new();
    for Load { name, batch_kib, batches, segment_bytes } in LOADS {
        let configs = [("segment.bytes", &*segment_bytes.to_string())];
        let topic = client.create(name, batches.len() as i32, &configs).await;
        let value = "x".repeat((batch_kib << 10) - 100);
        for (partition, batches) in (0..).zip(batches) {
            for offset in 0..*batches as i64 {
                // The leader may not be there yet.
                loop {
                    match client.produce(topic, partition, &value).await {
                        Ok(at) => break assert_eq!(at, offset),
                        Err(ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::UNKNOWN_TOPIC_ID) => {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                        Err(code) => panic!("{code}"),
                    }
                }
            }
        }
        topics.push(topic);
    }
    topics
}

/// The whole batches of an answer; what is behind them.
fn batches(mut records: &[u8]) -> (i64, &[u8]) {
    let mut count = 0;
    while let Ok(batch) = BatchView::parse(records)
        && let Some(rest) = records.get(batch.total_len()..)
    {
        (count, records) = (count + 1, rest);
    }
    (count, records)
}

/// Whether the answer waited. There are whole batches in it, and nothing else where `is_whole`.
async fn waits(client: &Client, request: &FetchRequest, is_whole: bool) -> bool {
    let begun = Instant::now();
    let answer = client.connection.send(request).await.unwrap();
    let waited = begun.elapsed() >= Duration::from_millis(WAIT_MS as u64);
    let mut count = 0;
    for partition in &answer.responses[0].partitions {
        assert_eq!(partition.error_code, ErrorCode::NONE);
        let (whole, rest) = batches(partition.records.as_deref().unwrap_or_default());
        assert!(!is_whole || rest.is_empty(), "{} bytes of a batch", rest.len());
        count += whole;
    }
    assert!(count > 0, "an answer has at least one batch");
    waited
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetch_of_a_lagging_reader_does_not_wait_for_bytes() {
    let broker = TestBroker::builder()
        .config("fetch.max.bytes", BROKER_MAX)
        // Its records are of 1970.
        .config("log.retention.ms", -1)
        .start()
        .await;
    let client = connect(&broker).await;
    let topics = load(&client).await;
    for shape in &SHAPES {
        for isolation in [0, 1] {
            let before = [PARKED, EXPIRED].map(|name| metric(&broker, name));
            waits(&client, &request(shape, topics[shape.load], isolation), true).await;
            let after = [PARKED, EXPIRED].map(|name| metric(&broker, name));
            let counted = [after[0] - before[0], after[1] - before[1]];
            let expected = if shape.is_enough { [0, 0] } else { [1, 1] };
            assert_eq!(counted, expected, "{}, isolation {isolation}", shape.name);
        }
    }
    // All of it, read in turn: no fetch of a partition waits before its last MiB.
    let before = metric(&broker, PARKED);
    let mut fetches = 0;
    for (load, count) in [(0, 30), (1, 6), (3, 12)] {
        let mut offset = 0;
        while (count - offset) * LOADS[load].batch_kib as i64 > 1024 {
            let shape = Shape { load, offset, ..SHAPE };
            let answer = client.connection.send(&request(&shape, topics[load], 0)).await.unwrap();
            let partition = &answer.responses[0].partitions[0];
            assert_eq!(partition.error_code, ErrorCode::NONE, "load {load}, offset {offset}");
            let read = batches(partition.records.as_deref().unwrap_or_default()).0;
            assert!(read > 0, "load {load}, offset {offset}: nothing was read");
            offset += read;
            fetches += 1;
        }
    }
    assert_eq!(metric(&broker, PARKED), before, "{fetches} fetches");
    broker.shut_down().await;
}

/// A batch that would be cut counts before and behind the wait in the same way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetch_that_waits_ends_when_the_minimum_is_there() {
    let broker = TestBroker::start().await;
    let client = connect(&broker).await;
    let topic = client.create("t", 1, &[]).await;
    let value = "x".repeat((300 << 10) - 100);
    for _ in 0..3 {
        client.produce(topic, 0, &value).await.unwrap();
    }
    let names = [PARKED, EXPIRED];
    let before = names.map(|name| metric(&broker, name));
    let asked = FetchRequest { max_wait_ms: 300_000, ..request(&SHAPE, topic, 0) };
    let reader = connect(&broker).await;
    let fetch = tokio::spawn(async move { reader.connection.send(&asked).await.unwrap() });
    support::until("a fetch that waits", || metric(&broker, PARKED) > before[0]).await;
    client.produce(topic, 0, &value).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(60), fetch).await.unwrap().unwrap();
    // Three fit, and the fourth is what was waited for.
    let records = answer.responses[0].partitions[0].records.as_deref().unwrap();
    assert_eq!(batches(records), (3, &[][..]));
    assert_eq!(names.map(|name| metric(&broker, name)), [before[0] + 1, before[1]]);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafka_waits_for_the_same_fetches() {
    let Some(kafka) = Kafka::builder() else { return };
    let kafka = kafka.config("fetch.max.bytes", BROKER_MAX).config("log.retention.ms", -1).start();
    let client = connect_to(&kafka.bootstrap(Kafka::INTERNAL)).await;
    let topics = load(&client).await;
    for shape in &SHAPES {
        let asked = request(shape, topics[shape.load], 0);
        let waited = waits(&client, &asked, false).await;
        assert_eq!(waited, !shape.is_enough, "{}", shape.name);
    }
}
