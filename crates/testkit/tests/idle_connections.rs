//! What a connection costs that does nothing, or is gone: bytes on the heap, counted by the allocator.

#![allow(clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicIsize, Ordering};

use thalweg::raw::begin_request;
use thalweg_records::builder::BatchOptions;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::fetch_request::{FetchPartition, FetchTopic};
use thalweg_wire::messages::{ApiVersionsRequest, FetchRequest, ProduceRequest};
use thalweg_wire::{ApiKey, Message, Uuid, Writer};

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call goes to the system's allocator as it came; only sizes are added up.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size as isize - layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Of each test while it counts: all allocate in one process.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A connection may cost this much while nothing happens on it.
const BYTES_MAX: isize = 16 << 10;
const CONNECTIONS: usize = 500;

fn frame<M: Message>(key: ApiKey, version: i16, request: &M) -> Vec<u8> {
    let mut frame = Writer::new();
    begin_request(&mut frame, key, version, "idle").unwrap();
    request.encode(&mut frame, version).unwrap();
    frame.end_frame().unwrap();
    frame.to_vec()
}

/// Sends a request and reads its answer; the client's side of it leaves nothing on the heap.
fn call(stream: &mut TcpStream, frame: &[u8]) {
    stream.write_all(frame).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut left = usize::try_from(i32::from_be_bytes(length)).unwrap();
    let mut piece = [0; 1024];
    while left > 0 {
        let part = left.min(piece.len());
        stream.read_exact(&mut piece[..part]).unwrap();
        left -= part;
    }
}

fn produce(topic: Uuid) -> ProduceRequest {
    requests::produce(topic, [(0, requests::batch(BatchOptions::default(), &[[7; 1_000]]))])
}

/// Makes a topic over a connection that is closed then.
async fn create(bootstrap: &str, name: &str, partitions: i32) -> Uuid {
    let admin = thalweg::Connection::open(bootstrap, &thalweg::Options::default()).await.unwrap();
    let request = requests::create(requests::topic(name, partitions, &[]));
    admin.send(&request).await.unwrap().topics[0].topic_id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_costs_little() {
    let _alone = ALONE.lock().await;
    let broker = TestBroker::start().await;
    let address = broker.bootstrap();
    let topic = create(&address, "t", 1).await;
    let versions = frame(
        ApiKey::API_VERSIONS,
        3,
        &ApiVersionsRequest {
            client_software_name: "idle".into(),
            client_software_version: "1".into(),
            ..Default::default()
        },
    );
    let produce = frame(ApiKey::PRODUCE, 13, &produce(topic));
    let each = tokio::task::spawn_blocking(move || {
        let open = |count: usize| -> Vec<TcpStream> {
            let mut streams = Vec::with_capacity(count);
            for _ in 0..count {
                let mut stream = TcpStream::connect(&address).unwrap();
                call(&mut stream, &versions);
                call(&mut stream, &produce);
                streams.push(stream);
            }
            streams
        };
        // What is made once: threads, their pools, tables that grow.
        let _kept = open(50);
        let before = LIVE.load(Ordering::Relaxed);
        let streams = open(CONNECTIONS);
        let after = LIVE.load(Ordering::Relaxed);
        drop(streams);
        (after - before) / CONNECTIONS as isize
    })
    .await
    .unwrap();
    assert!(each <= BYTES_MAX, "an idle connection holds {each} bytes on the heap");
    println!("an idle connection holds {each} bytes");
    broker.shut_down().await;
}

/// Clients that wait for quiet partitions and go away.
const ABANDONED: usize = 2_000;
const QUIET: i32 = 100;

/// Asks until a counter of `/metrics` has grown by `count` from `before`.
fn wait_for(broker: &TestBroker, name: &str, before: u64, count: usize) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while metric(broker, name) < before + count as u64 {
        assert!(std::time::Instant::now() < deadline, "{name} is {}", metric(broker, name));
        std::thread::yield_now();
    }
}

fn metric(broker: &TestBroker, name: &str) -> u64 {
    let text = broker.metrics_text();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_polls_of_clients_that_went_away_leave_nothing() {
    let _alone = ALONE.lock().await;
    let broker = TestBroker::start().await;
    let address = broker.bootstrap();
    let topic = create(&address, "quiet", QUIET).await;
    let partitions = (0..QUIET).map(|index| requests::partition(index, 0));
    let fetch = FetchRequest {
        max_wait_ms: 300_000,
        min_bytes: 1,
        max_bytes: 1 << 20,
        ..requests::fetch(topic, partitions)
    };
    let fetch = frame(ApiKey::FETCH, 13, &fetch);
    let left = tokio::task::block_in_place(|| {
        let come_and_go = |count: usize| {
            let names = [
                "thalweg_fetches_parked_total",
                "kafka_server_socketservermetrics_connection_close_total",
            ];
            let [parked, closed] = names.map(|name| metric(&broker, name));
            let streams: Vec<TcpStream> = (0..count)
                .map(|_| {
                    let mut stream = TcpStream::connect(&address).unwrap();
                    stream.write_all(&fetch).unwrap();
                    stream
                })
                .collect();
            wait_for(&broker, names[0], parked, count);
            drop(streams);
            wait_for(&broker, names[1], closed, count);
        };
        // What is made once: threads, their pools, tables that grow.
        come_and_go(100);
        let before = LIVE.load(Ordering::Relaxed);
        for _ in 0..ABANDONED / 100 {
            come_and_go(100);
        }
        LIVE.load(Ordering::Relaxed) - before
    });
    assert!(left < 200 << 10, "{ABANDONED} clients left {left} bytes on the heap");
    println!("{ABANDONED} clients left {left} bytes");
    broker.shut_down().await;
}

/// Fetches of one client that name very many partitions of topics that do not exist leave fetch sessions behind, which
/// take what they are charged for, and no more than sessions may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_made_up_partitions_leave_at_most_128_mib() {
    const CLIENTS: usize = 60;
    /// A session of so many is not too large for itself on a machine of 16 GiB.
    const PARTITIONS: i32 = 100_000;
    const HELD: &str = "thalweg_fetch_session_memory_bytes";
    let _alone = ALONE.lock().await;
    let broker = TestBroker::start().await;
    let address = broker.bootstrap();
    tokio::task::block_in_place(|| {
        let ask = |topic: String, partitions: i32| {
            let partition = |partition| FetchPartition {
                partition,
                partition_max_bytes: 1 << 20,
                ..Default::default()
            };
            let topics = vec![FetchTopic {
                topic,
                partitions: (0..partitions).map(partition).collect(),
                ..Default::default()
            }];
            let fetch =
                FetchRequest { max_bytes: 1 << 20, session_epoch: 0, topics, ..Default::default() };
            let fetch = frame(ApiKey::FETCH, 11, &fetch);
            let mut stream = TcpStream::connect(&address).unwrap();
            call(&mut stream, &fetch);
        };
        // What is made once, and the buffers that threads keep.
        (0..8).for_each(|n| ask(format!("warm-{n}"), 1_000));
        let (before, held) = (LIVE.load(Ordering::Relaxed), metric(&broker, HELD));
        (0..4).for_each(|n| ask(format!("counted-{n}"), 25_000));
        let taken = LIVE.load(Ordering::Relaxed) - before;
        let charged = (metric(&broker, HELD) - held) as isize;
        // A thread may keep the buffer of such a request.
        let difference = (charged - taken).abs();
        assert!(difference < charged / 4, "{charged} bytes charged, {taken} taken");
        (0..CLIENTS).for_each(|n| ask(format!("made-up-topic-{n}"), PARTITIONS));
        let left = LIVE.load(Ordering::Relaxed) - before;
        assert!(left < 128 << 20, "{CLIENTS} clients left {left} bytes on the heap");
        let (held, limit) =
            (metric(&broker, HELD), metric(&broker, "thalweg_fetch_session_memory_limit_bytes"));
        assert!(held <= limit, "{held} bytes of {limit}");
        println!("{CLIENTS} clients left {left} bytes, {held} of them in sessions");
    });
    broker.shut_down().await;
}

/// Reads an answer in pieces, with a pause after each.
fn read_slowly(stream: &mut TcpStream, piece: usize, pause: std::time::Duration) -> usize {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let whole = usize::try_from(i32::from_be_bytes(length)).unwrap();
    let mut left = whole;
    let mut buffer = vec![0; piece];
    while left > 0 {
        let part = left.min(piece);
        stream.read_exact(&mut buffer[..part]).unwrap();
        left -= part;
        std::thread::sleep(pause);
    }
    whole
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_slow_is_not_idle() {
    const RECORDS: usize = 32;
    let _alone = ALONE.lock().await;
    let broker = TestBroker::builder().config("connections.max.idle.ms", 2_000).start().await;
    let address = broker.bootstrap();
    let pause = std::time::Duration::from_millis(300);
    let topic = create(&address, "slow", 1).await;
    let records = requests::batch(BatchOptions::default(), &[vec![7; 1_000_000]]);
    let large = requests::produce(topic, [(0, records)]);
    let large = frame(ApiKey::PRODUCE, 13, &large);
    let all = FetchPartition { partition_max_bytes: 100 << 20, ..requests::partition(0, 0) };
    let wanted = FetchRequest { max_bytes: 100 << 20, ..requests::fetch(topic, [all]) };
    let parked = FetchRequest { max_wait_ms: 5_000, min_bytes: 100 << 20, ..wanted.clone() };
    let (fetch, parked) = (frame(ApiKey::FETCH, 13, &wanted), frame(ApiKey::FETCH, 13, &parked));
    tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(&address).unwrap();
        for _ in 0..RECORDS {
            call(&mut stream, &large);
        }
        // A request that arrives slowly.
        for piece in large.chunks(large.len() / 14) {
            stream.write_all(piece).unwrap();
            std::thread::sleep(pause);
        }
        call(&mut stream, &[]);
        // One that waits.
        call(&mut stream, &parked);
        // An answer that is read slowly: most of it does not fit into the sockets' buffers.
        stream.write_all(&fetch).unwrap();
        let whole = read_slowly(&mut stream, 2 << 20, pause);
        assert!(whole > RECORDS * 1_000_000, "{whole}");
        // Nothing at all.
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "an idle connection is closed");
    })
    .await
    .unwrap();
    broker.shut_down().await;
}
