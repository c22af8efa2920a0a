//! What appends, reads and idle partitions cost: allocations, descriptors, memory.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::*;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{CreateRequest, Isolation, LogConfig, ReadRequest, Wait};

/// Counts allocations of each thread, and the bytes that are allocated in all.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}
static BYTES: AtomicUsize = AtomicUsize::new(0);

fn count() {
    // A thread that is ending has no counter any more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: everything is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        BYTES.fetch_add(size, Ordering::Relaxed);
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

/// Bytes are counted of the whole process: one test at a time.
static ALONE: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

#[test]
fn appends_and_reads_at_the_end_do_not_allocate() {
    let _alone = ALONE.lock();
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    let mut sequence = 0;
    let mut timestamp = 0;
    let mut next = || {
        let spec = BatchSpec::new(0, 4).value_len(3_000).producer(3, 0, sequence);
        sequence = spec.next_sequence();
        timestamp += 1;
        spec.timestamp(timestamp).build()
    };
    let mut offset = 0;
    let mut step = |batch: &mut [u8]| {
        let info = log.append_as_leader(batch, &client()).unwrap();
        log.advance_high_watermark(info.last_offset + 1);
        let result = log
            .read(&ReadRequest {
                offset,
                max_bytes: 1 << 20,
                min_one: true,
                isolation: Isolation::HighWatermark,
                wait: Wait::Never,
            })
            .unwrap();
        assert_eq!(result.len as usize, batch.len());
        offset = info.last_offset + 1;
    };
    // One page of index entries fills, so that the next one has its memory.
    for _ in 0..600 {
        step(&mut next());
    }
    let mut batches: Vec<Vec<u8>> = (0..400).map(|_| next()).collect();
    let steady = allocations(|| batches.iter_mut().for_each(|batch| step(batch)));
    assert_eq!(steady, 0, "in 400 appends and reads");
    let mut batches: Vec<Vec<u8>> = (0..2_000).map(|_| next()).collect();
    let total = allocations(|| batches.iter_mut().for_each(|batch| step(batch)));
    assert!(total <= 100, "{total} in 2000, for writing four pages of index entries");
}

#[test]
fn idle_partitions_hold_no_descriptor_and_little_memory() {
    const PARTITIONS: i32 = 300;
    let _alone = ALONE.lock();
    let dir = TempDir::new();
    let mut config = config(&[dir.path()], LogConfig::default());
    config.max_open_files_per_dir = 16;
    let (logs, _) = thalweg_log::LogManager::open(config).unwrap();
    let mut batch = BatchSpec::new(0, 1).build();
    for partition in 0..PARTITIONS {
        let log = logs.create(&CreateRequest::new("topic", partition, TOPIC_ID), 1_000).unwrap();
        log.append_as_leader(&mut batch, &client()).unwrap();
    }
    assert!(logs.open_files() <= 16, "the pool is bounded");
    for partition in 0..PARTITIONS {
        assert_eq!(read(&logs.get("topic", partition).unwrap(), 0, 100).len as usize, batch.len());
    }
    assert!(logs.open_files() <= 16);
    logs.close_idle_files();
    logs.close_idle_files();
    assert_eq!(logs.open_files(), 0);
    logs.shut_down(1, 2_000);
    drop(logs);
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (before, bytes) = (descriptors(), BYTES.load(Ordering::Relaxed));
    let (logs, report) = open(&dir, LogConfig::default());
    assert_eq!(report.dirs[0].partitions, PARTITIONS as usize);
    let each = (BYTES.load(Ordering::Relaxed) - bytes) / PARTITIONS as usize;
    assert!(each < 4_000, "{each} bytes per idle partition");
    // The lock file, and what other tests of this process have open meanwhile.
    assert!(descriptors() <= before + 8, "{before} descriptors became {}", descriptors());
    assert_eq!(logs.open_files(), 0);
}
