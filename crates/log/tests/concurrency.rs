//! Many threads on one log.

use crate::common;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::*;
use parking_lot::{Condvar, Mutex};
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendError, AppendInfo, AppendWaiter, Disk, DiskOp, Executor, FaultHook, Injected, Isolation,
    LogConfig, LogManager, OpenError, ReadError, ReadRequest, Submitted, Wait,
};
use thalweg_records::BatchView;

struct Threads;

impl Executor for Threads {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        std::thread::spawn(job);
    }
}

#[derive(Default)]
struct Results {
    done: Mutex<HashMap<u64, AppendInfo>>,
    changed: Condvar,
}

impl AppendWaiter for Results {
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>) {
        assert!(self.done.lock().insert(token, result.unwrap()).is_none(), "answered twice");
        self.changed.notify_all();
    }
}

/// Producers with sequences of their own, one request at a time each, through `submit`; readers,
/// retention, flushes and checkpoints beside them. Every record is there once, in its producer's
/// order, and readers only ever see whole batches in order.
#[test]
fn producers_readers_and_housekeeping_at_once() {
    const PRODUCERS: u64 = 6;
    const BATCHES: i32 = 400;
    for with_executor in [true, false] {
        let dir = TempDir::new();
        let settings = LogConfig {
            segment_bytes: 8_000,
            index_interval_bytes: 500,
            file_delete_delay_ms: 0,
            ..LogConfig::default()
        };
        let mut config = config(&[dir.path()], settings.clone());
        config.max_open_files_per_dir = 2;
        if with_executor {
            config.executor = Some(Arc::new(Threads));
        }
        let (logs, _) = LogManager::open(config).unwrap();
        let log = create(&logs, "t");
        let results = Arc::new(Results::default());
        let stop = AtomicBool::new(false);
        let reads = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let producers: Vec<_> = (0..PRODUCERS)
                .map(|id| {
                    let (log, results) = (log.clone(), results.clone());
                    scope.spawn(move || {
                        let waiter: Arc<dyn AppendWaiter> = results.clone();
                        for i in 0..BATCHES {
                            let token = id << 32 | i as u64;
                            let mut batch = BatchSpec::new(0, 2)
                                .producer(id as i64, 0, i * 2)
                                .value_len(20 + (i as usize * 7) % 50)
                                .build();
                            if i % 10 == 9 {
                                let info = log.append_as_leader(&mut batch, &client()).unwrap();
                                results.done(token, Ok(info));
                            } else {
                                loop {
                                    match log.submit(&mut batch, &client(), &waiter, token) {
                                        Submitted::Done(result) => results.done(token, result),
                                        Submitted::Queued => {}
                                        Submitted::Full => {
                                            std::thread::yield_now();
                                            continue;
                                        }
                                    }
                                    break;
                                }
                            }
                            let mut done = results.done.lock();
                            while !done.contains_key(&token) {
                                let waited = results
                                    .changed
                                    .wait_for(&mut done, std::time::Duration::from_secs(30));
                                assert!(!waited.timed_out(), "an append was forgotten");
                            }
                            let end = done[&token].last_offset + 1;
                            drop(done);
                            log.advance_high_watermark(end);
                        }
                    })
                })
                .collect();
            for reader in 0..2 {
                let (log, stop, reads) = (log.clone(), &stop, &reads);
                scope.spawn(move || {
                    let mut offset = 0;
                    loop {
                        let finished = stop.load(Ordering::SeqCst);
                        let result = log.read(&ReadRequest {
                            offset,
                            max_bytes: 300 + reader * 3_000,
                            min_one: true,
                            isolation: Isolation::HighWatermark,
                            wait: if offset % 3 == 0 { Wait::Never } else { Wait::Allowed },
                        });
                        let bytes = match result {
                            Ok(result) => result.to_vec().unwrap(),
                            Err(ReadError::WouldBlock) => {
                                let all = ReadRequest { wait: Wait::Allowed, ..request(offset, 9) };
                                log.read(&all).unwrap().to_vec().unwrap()
                            }
                            Err(error) => panic!("{error}"),
                        };
                        for (base, last) in batches(&bytes) {
                            assert_eq!(base, offset);
                            offset = last + 1;
                            reads.fetch_add(1, Ordering::Relaxed);
                        }
                        if bytes.is_empty() && finished {
                            break;
                        }
                    }
                    assert_eq!(offset, log.log_end_offset());
                });
            }
            let (logs, stop_here) = (&logs, &stop);
            scope.spawn(move || {
                let mut now = 1_000;
                while !stop_here.load(Ordering::SeqCst) {
                    now += 10;
                    logs.clean_up(now);
                    logs.flush_due(now);
                    logs.checkpoint();
                    logs.delete_due(now);
                    logs.close_idle_files();
                    logs.expire_producers(now);
                }
            });
            for producer in producers {
                producer.join().unwrap();
            }
            stop.store(true, Ordering::SeqCst);
        });
        let total = PRODUCERS as i64 * i64::from(BATCHES) * 2;
        assert_eq!(log.log_end_offset(), total);
        assert!(log.segment_count() > 10);
        assert!(logs.open_files() <= 2);
        let bytes = read_all(&log, 0, 1 << 20);
        let mut next: HashMap<i64, i32> = HashMap::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let batch = BatchView::parse(rest).unwrap();
            let sequence = next.entry(batch.producer_id()).or_default();
            assert_eq!(batch.base_sequence(), *sequence);
            let token = (batch.producer_id() as u64) << 32 | (*sequence / 2) as u64;
            assert_eq!(results.done.lock()[&token].first_offset, batch.base_offset());
            *sequence += 2;
            rest = &rest[batch.total_len()..];
        }
        assert_eq!(next.len() as u64, PRODUCERS);
        drop((log, logs));
        // A flush may still be under way on another thread, which has the directory's lock until it ends.
        let reopened = OnceCell::new();
        until("the directory is free", || {
            match LogManager::open(self::config(&[dir.path()], settings.clone())) {
                Ok((logs, _)) => reopened.set(logs).is_ok(),
                Err(OpenError::Locked(_)) => false,
                Err(error) => panic!("{error}"),
            }
        });
        let logs = reopened.into_inner().expect("it was opened");
        assert!(read_all(&logs.get("t", 0).unwrap(), 0, 1 << 20) == bytes);
    }
}

/// The pending list is bounded.
#[test]
fn too_much_waiting_is_refused() {
    struct Never;
    impl Executor for Never {
        fn run(&self, job: Box<dyn FnOnce() + Send>) {
            std::mem::forget(job);
        }
    }
    let dir = TempDir::new();
    let settings = LogConfig { segment_bytes: 90_000, ..LogConfig::default() };
    let mut config = config(&[dir.path()], settings);
    config.executor = Some(Arc::new(Never));
    let (logs, _) = LogManager::open(config).unwrap();
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 1).value_len(89_900));
    let waiter: Arc<dyn AppendWaiter> = Arc::new(Results::default());
    let mut queued = 0;
    loop {
        match log.submit(&mut BatchSpec::new(0, 1).build(), &client(), &waiter, queued) {
            Submitted::Queued => queued += 1,
            Submitted::Full => break,
            Submitted::Done(result) => panic!("{result:?}"),
        }
    }
    // One is off the queue, to be the first after the roll.
    assert_eq!(queued, 1 + 1024);
    // Somebody who can wait does the roll, and with it all that waited.
    append(&log, BatchSpec::new(0, 1));
    assert_eq!(log.log_end_offset(), 2 + 1 + 1024);
}

/// Truncation while others append and read.
#[test]
fn truncation_beside_appends_and_reads() {
    let dir = TempDir::new();
    let settings =
        LogConfig { segment_bytes: 2_000, file_delete_delay_ms: 0, ..LogConfig::default() };
    let (logs, _) = open(&dir, settings.clone());
    let log = create(&logs, "t");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    log.append_as_leader(&mut BatchSpec::new(0, 3).build(), &client()).unwrap();
                }
            });
        }
        scope.spawn(|| {
            let mut offset = 0;
            while !stop.load(Ordering::SeqCst) {
                match log.read(&request(offset, 1_000)) {
                    Ok(result) => {
                        let mut buf = vec![0; result.len as usize];
                        // What is cut off while it is read is an early end of the file.
                        if result.copy(0, &mut buf).is_ok()
                            && let Ok(batch) = BatchView::parse(&buf)
                        {
                            offset = batch.next_offset();
                        }
                    }
                    Err(ReadError::OffsetOutOfRange { log_end_offset, .. }) => {
                        offset = log_end_offset.max(0) / 2;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
        for _ in 0..100 {
            let end = log.log_end_offset();
            log.truncate_to(end - end % 30 - (end % 7) * 3, 1_000).unwrap();
            logs.delete_due(2_000);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        stop.store(true, Ordering::SeqCst);
    });
    assert!(logs.dirs()[0].failure().is_none());
    let mut expected = 0;
    for (base, last) in batches(&read_all(&log, 0, 1 << 20)) {
        assert_eq!(base, expected);
        expected = last + 1;
    }
    let bytes = read_all(&log, 0, 1 << 20);
    drop((log, logs));
    let (logs, _) = open(&dir, settings);
    assert!(read_all(&logs.get("t", 0).unwrap(), 0, 1 << 20) == bytes);
}

/// Partitions that are deleted and made anew while they are written, read, flushed and listed.
#[test]
fn deletion_beside_everything_else() {
    let dir = TempDir::new();
    let settings =
        LogConfig { segment_bytes: 1_000, file_delete_delay_ms: 0, ..LogConfig::default() };
    let (logs, _) = open(&dir, settings);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let Some(log) = logs.get("t", 0) else { continue };
                    match log.append_as_leader(&mut BatchSpec::new(0, 3).build(), &client()) {
                        Ok(_) | Err(AppendError::Closed { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                let Some(log) = logs.get("t", 0) else { continue };
                let offset = log.log_end_offset() / 2;
                match log.read(&request(offset, 500)) {
                    Ok(_) | Err(ReadError::Closed { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                match log.offset_for_timestamp(0, &PlainRecords) {
                    Ok(_) | Err(ReadError::Closed { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                log.flush(1_000).unwrap();
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                logs.close_idle_files();
                logs.close_idle_files();
                logs.checkpoint();
                logs.delete_due(2_000);
                logs.clean_up(1_000);
            }
        });
        for _ in 0..60 {
            create(&logs, "t");
            std::thread::sleep(std::time::Duration::from_millis(10));
            logs.delete([("t", 0)], 1_000).unwrap();
        }
        stop.store(true, Ordering::SeqCst);
    });
    assert!(logs.dirs()[0].failure().is_none(), "{:?}", logs.dirs()[0].failure());
}

/// Holds the first write to a log back for a while, once it is told to, and says that it has come.
#[derive(Default)]
struct SlowWrite {
    is_slow: AtomicBool,
    has_come: AtomicBool,
}

impl FaultHook for SlowWrite {
    fn before(&self, op: DiskOp, path: &std::path::Path, _: usize) -> Injected {
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        if op == DiskOp::Write && is_log && self.is_slow.swap(false, Ordering::SeqCst) {
            self.has_come.store(true, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        Injected::Nothing
    }
}

/// Retention finds that everything is too old while something new is being written to the active
/// segment: that stays.
#[test]
fn retention_leaves_what_is_appended_after_it_has_judged() {
    let dir = TempDir::new();
    let hook = Arc::new(SlowWrite::default());
    let mut config =
        config(&[dir.path()], LogConfig { retention_ms: 10_000, ..LogConfig::default() });
    config.disk = Disk::with_hook(hook.clone());
    let (logs, _) = LogManager::open(config).unwrap();
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 1).timestamp(1_000));
    hook.is_slow.store(true, Ordering::SeqCst);
    let now = 100_000;
    std::thread::scope(|scope| {
        let appended = scope.spawn(|| {
            let mut batch = BatchSpec::new(0, 1).timestamp(now).build();
            log.append_as_leader(&mut batch, &client()).unwrap()
        });
        until("the write has begun", || hook.has_come.load(Ordering::SeqCst));
        logs.clean_up(now);
        assert_eq!(appended.join().unwrap().first_offset, 1);
    });
    assert_eq!(batches(&read_all(&log, log.log_start_offset(), 1 << 20)).last(), Some(&(1, 1)));
    // Once it is too old, too, everything goes.
    log.advance_high_watermark(2);
    logs.clean_up(now + 20_000);
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (2, 2));
}
