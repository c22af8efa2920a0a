//! What a record costs in allocations, once a producer is warm: everything that the client does
//! from sending to the acknowledgement, on all its threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use thalweg::{Cluster, Options, Producer, ProducerConfig, ProducerRecord};
use thalweg_records::{Compression, CompressionSpec};
use thalweg_testkit::{TestBroker, requests};

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Threads that are no part of the client.
    static IS_FOREIGN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn count() {
    if !IS_FOREIGN.try_with(std::cell::Cell::get).unwrap_or(true) {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A broker whose own threads do not count.
fn broker() -> (String, std::sync::mpsc::Sender<()>, std::thread::JoinHandle<()>) {
    let (told, bootstrap) = std::sync::mpsc::channel();
    let (stop, stopped) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_start(|| IS_FOREIGN.set(true))
            .enable_all()
            .build()
            .unwrap();
        IS_FOREIGN.set(true);
        runtime.block_on(async {
            let broker = TestBroker::start().await;
            told.send(broker.bootstrap()).unwrap();
            tokio::task::spawn_blocking(move || stopped.recv()).await.unwrap().unwrap();
            broker.shut_down().await;
        });
    });
    (bootstrap.recv().unwrap(), stop, thread)
}

async fn measure(cluster: &Cluster, compression: Compression, size: usize) -> f64 {
    const RECORDS: u32 = 20_000;
    let config = ProducerConfig::default().with_compression(CompressionSpec::new(compression));
    let producer = Producer::new(cluster.clone(), config).unwrap();
    let value = vec![b'x'; size];
    let mut deliveries = Vec::with_capacity(RECORDS as usize);
    let mut counts = Vec::new();
    for _ in 0..3 {
        let before = COUNT.load(Ordering::Relaxed);
        for i in 0..RECORDS {
            let record = ProducerRecord {
                topic: "t",
                key: Some(&i.to_be_bytes()),
                value: Some(&value),
                headers: (&[thalweg::Header { key: b"h", value: Some(b"v") }]).into(),
                ..ProducerRecord::default()
            };
            deliveries.push(producer.send(record).await.unwrap());
        }
        for delivery in deliveries.drain(..) {
            delivery.await.unwrap();
        }
        counts.push(COUNT.load(Ordering::Relaxed) - before);
    }
    assert!(producer.close(Duration::from_secs(5)).await);
    // The first round warms up.
    counts[1..].iter().sum::<u64>() as f64 / f64::from(2 * RECORDS)
}

#[test]
fn less_than_one_per_record() {
    let (bootstrap, stop, thread) = broker();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let cluster = Cluster::connect(&bootstrap, Options::default()).await.unwrap();
        let request = requests::create(requests::topic("t", 6, &[]));
        cluster.send_any(&request).await.unwrap();
        for (compression, size) in [
            (Compression::None, 100),
            (Compression::None, 1_000),
            (Compression::Lz4, 100),
            (Compression::Lz4, 1_000),
        ] {
            let each = measure(&cluster, compression, size).await;
            eprintln!("{compression:?}, {size} bytes: {each:.3} allocations per record");
            assert!(each <= 1.0, "{compression:?}, {size} bytes: {each} allocations per record");
        }
    });
    stop.send(()).unwrap();
    thread.join().unwrap();
}

#[test]
fn the_counter_counts() {
    let before = COUNT.load(Ordering::Relaxed);
    drop(std::hint::black_box(Box::new(5)));
    assert!(COUNT.load(Ordering::Relaxed) > before);
}
