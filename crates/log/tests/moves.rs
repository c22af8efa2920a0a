//! A partition moves to another log directory: what it has moves with it, whatever happens meanwhile, and wherever the
//! process or the machine dies.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use thalweg_log::testing::crash::{CrashDisk, with_seeds};
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, AppendError, AppendInfo, AppendWaiter, CreateError, CreateRequest, Disk, DiskOp,
    FaultHook, Injected, Log, LogConfig, LogManager, MoveError, Submitted,
};
use thalweg_random::Random;
use thalweg_records::{BatchBuilder, BatchOptions, Compressor};
use thalweg_wire::Uuid;

use crate::common::model::{Entry, Model};
use crate::common::*;

const STEP: u32 = 400;

fn open_two(root: &Path, log: LogConfig, disk: Disk) -> LogManager {
    let (a, b) = (root.join("a"), root.join("b"));
    let mut config = config(&[&a, &b], log);
    config.producer_expiration_ms = i64::MAX;
    config.disk = disk;
    let (logs, report) = LogManager::open(config).expect("the directories open");
    for dir in &report.dirs {
        assert!(dir.refused.is_empty() && dir.failure.is_none(), "{dir:?}");
    }
    logs
}

fn create_in(logs: &LogManager, dir: usize) -> Arc<Log> {
    let dir = Some(logs.dirs()[dir].id());
    logs.create(&CreateRequest { dir, ..CreateRequest::new("t", 0, TOPIC_ID) }, 1_000).unwrap()
}

/// The other of two directories.
fn other_dir(logs: &LogManager, log: &Log) -> usize {
    usize::from(log.dir().id() == logs.dirs()[0].id())
}

fn begin(logs: &LogManager, log: &Arc<Log>) -> Arc<Log> {
    logs.create_future(log, &logs.dirs()[other_dir(logs, log)].clone(), 1_000).unwrap()
}

fn copy(logs: &LogManager, log: &Log, future: &Arc<Log>) -> bool {
    logs.copy_to_future(log, future, &mut Vec::new(), STEP, 1_000).unwrap().is_caught_up
}

fn switch(logs: &LogManager, log: &Arc<Log>, future: &Arc<Log>) -> bool {
    logs.replace_with_future(log, future, &mut Vec::new(), STEP, 1_000).unwrap()
}

/// Moves a log as a broker does.
fn finish(logs: &LogManager, log: &Arc<Log>, future: &Arc<Log>) {
    while !switch(logs, log, future) {
        while !copy(logs, log, future) {}
    }
}

/// What the directories of a node hold besides files.
fn partitions_in(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for dir in ["a", "b"] {
        for entry in std::fs::read_dir(root.join(dir)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                names.push(format!("{dir}/{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    names.sort();
    names
}

fn small(random: &mut Random) -> LogConfig {
    LogConfig {
        segment_bytes: 600 + random.below(3_000) as u32,
        index_interval_bytes: random.below(400) as u32,
        segment_index_bytes: 80 + random.below(300) as u32,
        flush_messages: if random.one_in(3) { 1 + random.below(7) as i64 } else { i64::MAX },
        preallocate: random.one_in(4),
        retention_bytes: -1,
        retention_ms: -1,
        file_delete_delay_ms: 0,
        ..LogConfig::default()
    }
}

/// One thing that happens to a log while it moves.
fn disturb(log: &Log, logs: &LogManager, model: &mut Model, random: &mut Random) {
    match random.below(10) {
        0..6 => model.append(log, random),
        6 => {
            log.roll(1_000).unwrap();
        }
        7 => {
            let to = model.start + random.below((model.end - model.start) as u64 + 1) as i64;
            log.advance_high_watermark(i64::MAX);
            model.start = log.delete_records(to).unwrap();
            model.forgotten = model.forgotten.max(model.start);
            log.delete_old_segments(1_000).unwrap();
            model.start = log.log_start_offset();
        }
        8 => {
            logs.flush_due(1_000);
            logs.checkpoint();
            log.flush(1_000).unwrap();
        }
        _ => {
            let entries = &model.entries;
            if let Some(at) = entries.len().checked_sub(1 + random.below(4) as usize)
                && entries[at].base >= model.start
            {
                let to = entries[at].base;
                log.truncate_to(to, 1_000).unwrap();
                model.cut(to);
            }
        }
    }
    log.advance_high_watermark(i64::MAX);
}

#[test]
fn whatever_happens_meanwhile_the_log_is_the_same() {
    with_seeds(60, |seed| {
        let mut random = Random::new(seed);
        let root = TempDir::in_memory();
        let settings = small(&mut random);
        let logs = open_two(root.path(), settings.clone(), Disk::default());
        let log = create_in(&logs, 0);
        let mut model = Model::default();
        for _ in 0..random.below(40) {
            disturb(&log, &logs, &mut model, &mut random);
        }
        for round in 0..3 {
            let from = log.path();
            let future = begin(&logs, &log);
            for _ in 0..random.below(30) {
                disturb(&log, &logs, &mut model, &mut random);
                if random.one_in(2) {
                    copy(&logs, &log, &future);
                }
            }
            let in_flight = log.read(&request(log.log_start_offset(), 1 << 20)).unwrap();
            let before = in_flight.to_vec().unwrap();
            finish(&logs, &log, &future);
            assert_ne!(log.path(), from, "round {round}");
            assert!(logs.future("t", 0).is_none() && Arc::ptr_eq(&logs.get("t", 0).unwrap(), &log));
            assert_eq!(log.recovery_point(), log.log_end_offset());
            model.check(&log, &mut random);
            assert!(in_flight.to_vec().unwrap() == before, "a reader goes on with what it has");
            logs.delete_due(i64::MAX);
            assert_eq!(partitions_in(root.path()).len(), 1);
            for _ in 0..random.below(10) {
                disturb(&log, &logs, &mut model, &mut random);
            }
            model.check(&log, &mut random);
        }
        let clean = random.one_in(2);
        if clean {
            logs.shut_down(1, 1_000);
        } else {
            logs.checkpoint();
        }
        drop((log, logs));
        let logs = open_two(root.path(), settings, Disk::default());
        model.check(&logs.get("t", 0).unwrap(), &mut random);
    });
}

#[test]
fn a_start_goes_on_with_a_move() {
    with_seeds(60, |seed| {
        let mut random = Random::new(seed);
        let root = TempDir::in_memory();
        let settings = small(&mut random);
        let mut logs = open_two(root.path(), settings.clone(), Disk::default());
        let log = create_in(&logs, 1);
        let mut model = Model::default();
        for _ in 0..random.below(30) {
            model.append(&log, &mut random);
        }
        let future = begin(&logs, &log);
        for _ in 0..random.below(10) {
            copy(&logs, &log, &future);
        }
        let had = future.log_end_offset();
        // What the future replica has and the log not any more, which has something else there.
        let is_cut = random.one_in(2) && model.entries.len() > 2;
        let kept = match is_cut {
            true => {
                let at = random.below(model.entries.len() as u64) as usize;
                let to = model.entries[at].base;
                log.truncate_to(to, 1_000).unwrap();
                model.cut(to);
                model.epoch += 100;
                for _ in 0..random.below(8) {
                    model.append(&log, &mut random);
                }
                had.min(to)
            }
            false => had,
        };
        log.advance_high_watermark(i64::MAX);
        let kept = match random.one_in(2) {
            true => {
                logs.shut_down(1, 1_000);
                kept
            }
            false => {
                // Behind what is flushed there may be gaps.
                logs.checkpoint();
                kept.min(future.recovery_point())
            }
        };
        drop((log, future, logs));
        logs = open_two(root.path(), settings, Disk::default());
        let (log, future) = (logs.get("t", 0).unwrap(), logs.future("t", 0).unwrap());
        assert_eq!(future.log_end_offset(), kept, "cut off where they differ, and no earlier");
        finish(&logs, &log, &future);
        model.check(&log, &mut random);
        logs.delete_due(i64::MAX);
        assert_eq!(partitions_in(root.path()), ["a/t-0"]);
    });
}

/// Copies the directories before each change, as the death of the process leaves them.
struct Kills {
    root: PathBuf,
    into: PathBuf,
    is_on: AtomicBool,
    count: AtomicUsize,
    /// Where the log ended, as far as anybody was told, at each of them.
    ends: Mutex<Vec<i64>>,
    end: AtomicI64,
}

impl FaultHook for Kills {
    fn before(&self, op: DiskOp, _: &Path, _: usize) -> Injected {
        let changes = !matches!(op, DiskOp::Read | DiskOp::ReadCached | DiskOp::List);
        if changes && self.is_on.load(Ordering::SeqCst) {
            let at = self.count.fetch_add(1, Ordering::SeqCst);
            copy_dir(&self.root, &self.into.join(at.to_string()));
            self.ends.lock().push(self.end.load(Ordering::SeqCst));
        }
        Injected::Nothing
    }
}

/// What the death of the process or of the machine has left of a log that was moving has everything up to `end`, once.
fn check_left(root: &Path, settings: &LogConfig, model: &Model, end: i64, random: &mut Random) {
    let logs = open_two(root, settings.clone(), Disk::default());
    let log = logs.get("t", 0).expect("the partition is there");
    let named: Vec<String> =
        partitions_in(root).into_iter().filter(|name| name.ends_with("/t-0")).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(log.log_end_offset() >= end, "ends at {}, not {end}", log.log_end_offset());
    let mut model = model.clone();
    model.entries.retain(|entry| entry.last < log.log_end_offset());
    model.end = log.log_end_offset();
    // What was not flushed may be gone although a segment begins behind it.
    let is_gone = |entry: &Entry| entry.base >= end && read(&log, entry.base, 1).is_empty();
    if model.entries.last().is_some_and(is_gone) {
        model.entries.pop();
    } else {
        assert_eq!(model.entries.last().map_or(0, |entry| entry.last + 1), model.end);
    }
    // Where it starts is in the checkpoint, with either of them.
    assert_eq!(log.log_start_offset(), model.start);
    model.check(&log, random);
    // It goes on from there.
    if let Some(future) = logs.future("t", 0) {
        finish(&logs, &log, &future);
        model.check(&log, random);
    }
    for _ in 0..3 {
        model.append(&log, random);
    }
    log.advance_high_watermark(i64::MAX);
    logs.delete_due(i64::MAX);
    assert_eq!(partitions_in(root).len(), 1, "{:?}", partitions_in(root));
    // And back, after all.
    let future = begin(&logs, &log);
    finish(&logs, &log, &future);
    model.check(&log, random);
    logs.shut_down(1, 1_000);
    drop((log, logs));
    let logs = open_two(root, settings.clone(), Disk::default());
    model.check(&logs.get("t", 0).unwrap(), random);
}

/// A log with a start within a segment, as far as that is in the checkpoint.
fn a_log(logs: &LogManager, random: &mut Random) -> (Arc<Log>, Model) {
    let log = create_in(logs, 0);
    let mut model = Model::default();
    for _ in 0..8 + random.below(20) {
        model.append(&log, random);
    }
    log.advance_high_watermark(i64::MAX);
    if random.one_in(2) {
        model.start = log.delete_records(random.below(model.end as u64) as i64).unwrap();
        model.forgotten = model.start;
    }
    logs.checkpoint();
    (log, model)
}

#[test]
fn wherever_the_process_dies_there_is_one_log_with_everything() {
    with_seeds(4, |seed| {
        let mut random = Random::new(seed);
        let (root, into) = (TempDir::in_memory(), TempDir::in_memory());
        let kills = Arc::new(Kills {
            root: root.path().to_path_buf(),
            into: into.path().to_path_buf(),
            is_on: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            ends: Mutex::default(),
            end: AtomicI64::new(0),
        });
        let settings = small(&mut random);
        let logs = open_two(root.path(), settings.clone(), Disk::with_hook(kills.clone()));
        let (log, mut model) = a_log(&logs, &mut random);
        kills.end.store(model.end, Ordering::SeqCst);
        kills.is_on.store(true, Ordering::SeqCst);
        let future = begin(&logs, &log);
        copy(&logs, &log, &future);
        model.append(&log, &mut random);
        kills.end.store(model.end, Ordering::SeqCst);
        finish(&logs, &log, &future);
        logs.delete_due(i64::MAX);
        kills.is_on.store(false, Ordering::SeqCst);
        drop((log, future, logs));
        let ends = kills.ends.lock().clone();
        assert!(ends.len() > 40, "{} changes", ends.len());
        for (at, end) in ends.into_iter().enumerate() {
            check_left(&into.path().join(at.to_string()), &settings, &model, end, &mut random);
        }
    });
}

#[test]
fn wherever_the_power_goes_everything_flushed_is_there() {
    with_seeds(12, |seed| {
        let mut random = Random::new(seed);
        let root = TempDir::in_memory();
        let settings = small(&mut random);
        let logs = open_two(root.path(), settings.clone(), Disk::default());
        let (log, mut model) = a_log(&logs, &mut random);
        // Everything so far is on the disk for good.
        logs.shut_down(1, 1_000);
        drop((log, logs));
        let disk = Arc::new(CrashDisk::new(root.path()));
        let logs = open_two(root.path(), settings.clone(), Disk::with_hook(disk.clone()));
        let log = logs.get("t", 0).unwrap();
        let flushed = log.log_end_offset();
        let begun = disk.position();
        let future = begin(&logs, &log);
        copy(&logs, &log, &future);
        model.append(&log, &mut random);
        log.advance_high_watermark(i64::MAX);
        log.flush(1_000).unwrap();
        let flushed_at = disk.position();
        finish(&logs, &log, &future);
        logs.delete_due(i64::MAX);
        let all = disk.position();
        drop((log, future, logs));
        for at in begun..=all {
            let into = TempDir::in_memory();
            disk.crash(at, seed.wrapping_mul(1_000) + at as u64, into.path());
            let end = if at >= flushed_at { model.end } else { flushed };
            check_left(into.path(), &settings, &model, end, &mut random);
        }
    });
}

#[derive(Default)]
struct Told(Mutex<Vec<Result<AppendInfo, AppendError>>>);

impl AppendWaiter for Told {
    fn done(&self, _: u64, result: Result<AppendInfo, AppendError>) {
        self.0.lock().push(result);
    }
}

#[test]
fn appends_and_reads_go_on_while_the_log_moves_to_and_fro() {
    let root = TempDir::in_memory();
    let settings = LogConfig { segment_bytes: 20_000, ..LogConfig::default() };
    let logs = open_two(root.path(), settings.clone(), Disk::default());
    let log = create_in(&logs, 0);
    let (stop, told) = (AtomicBool::new(false), Arc::new(Told::default()));
    // So many records at a time, or a slow machine copies what grows faster than that.
    let (allowed, mut appended) = (AtomicI64::new(0), 0);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let waiter: Arc<dyn AppendWaiter> = told.clone();
            let mut count = 0;
            while !stop.load(Ordering::SeqCst) {
                if log.log_end_offset() >= allowed.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                    continue;
                }
                let mut batch = BatchSpec::new(0, 1).value_len(100).build();
                let context = AppendContext::client(0, 1_000);
                match log.submit(&mut batch, &context, &waiter, 0) {
                    Submitted::Done(result) => {
                        result.unwrap();
                        count += 1;
                    }
                    Submitted::Queued => count += 1,
                    Submitted::Full => std::thread::yield_now(),
                }
                log.advance_high_watermark(i64::MAX);
            }
            count
        });
        scope.spawn(|| {
            let mut random = Random::new(1);
            while !stop.load(Ordering::SeqCst) {
                let end = log.log_end_offset();
                if end > 0 {
                    let at = random.below(end as u64) as i64;
                    let bytes = read(&log, at, 1_000).to_vec().unwrap();
                    assert_eq!(batches(&bytes)[0], (at, at));
                }
            }
        });
        let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..12 {
                allowed.fetch_add(2_000, Ordering::SeqCst);
                let future = begin(&logs, &log);
                let mut buffer = Vec::new();
                let mut go = || {
                    logs.replace_with_future(&log, &future, &mut buffer, 1 << 20, 1_000).unwrap()
                };
                while !go() {}
            }
        }));
        stop.store(true, Ordering::SeqCst);
        appended = writing.join().unwrap();
        moved.unwrap();
    });
    until("all queued appends are written", || log.log_end_offset() == appended);
    assert!(told.0.lock().iter().all(Result::is_ok));
    let found = batches(&read_all(&log, 0, 1 << 20));
    assert_eq!(found, (0..appended).map(|at| (at, at)).collect::<Vec<_>>());
    assert_eq!(partitions_in(root.path()).iter().filter(|name| name.ends_with("/t-0")).count(), 1);
    drop(log);
    drop(logs);
    let logs = open_two(root.path(), settings, Disk::default());
    assert_eq!(logs.get("t", 0).unwrap().log_end_offset(), appended);
}

#[test]
fn a_move_that_is_given_up_leaves_nothing() {
    let root = TempDir::in_memory();
    let settings = LogConfig { file_delete_delay_ms: 0, ..LogConfig::default() };
    let logs = open_two(root.path(), settings, Disk::default());
    let log = create_in(&logs, 0);
    append(&log, BatchSpec::new(0, 3));
    let future = begin(&logs, &log);
    assert!(Arc::ptr_eq(&future, &begin(&logs, &log)), "the same one is asked for again");
    assert!(copy(&logs, &log, &future));
    assert!(matches!(
        logs.create_future(&log, &logs.dirs()[0].clone(), 0),
        Err(CreateError::Load { .. })
    ));
    assert!(logs.remove_future(&future, 1_000).unwrap());
    assert!(!logs.remove_future(&future, 1_000).unwrap());
    let step = logs.copy_to_future(&log, &future, &mut Vec::new(), STEP, 1_000);
    assert!(matches!(step, Err(MoveError::Closed)));
    let moved = logs.replace_with_future(&log, &future, &mut Vec::new(), STEP, 1_000);
    assert!(matches!(moved, Err(MoveError::Closed)), "{moved:?}");
    append(&log, BatchSpec::new(0, 2));
    logs.delete_due(i64::MAX);
    assert_eq!(partitions_in(root.path()), ["a/t-0"]);
    // A deleted partition takes its future replica with it.
    begin(&logs, &log);
    logs.delete([("t", 0)], 1_000).unwrap();
    logs.delete_due(i64::MAX);
    assert!(partitions_in(root.path()).is_empty() && logs.future("t", 0).is_none());
    let gone = logs.create_future(&log, &logs.dirs()[1].clone(), 0);
    assert!(matches!(gone, Err(CreateError::Load { .. })), "{gone:?}");
}

#[test]
fn damaged_batches_are_not_taken_over() {
    let root = TempDir::in_memory();
    let logs = open_two(root.path(), LogConfig::default(), Disk::default());
    let log = create_in(&logs, 0);
    append(&log, BatchSpec::new(0, 3).value_len(50));
    let file = log.path().join("00000000000000000000.log");
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let future = begin(&logs, &log);
    let step = logs.copy_to_future(&log, &future, &mut Vec::new(), STEP, 1_000);
    let error = step.unwrap_err();
    assert!(error.to_string().contains("wrong checksum at offset 0"), "{error}");
    assert!(logs.dirs().iter().all(|dir| dir.check().is_ok()) && !error.is_retriable());
}

#[test]
fn a_future_replica_without_its_log_is_the_partition_where_the_metadata_says_so() {
    for (named, expected) in [(1, 5), (0, 0)] {
        let root = TempDir::in_memory();
        let logs = open_two(root.path(), LogConfig::default(), Disk::default());
        let log = create_in(&logs, 0);
        append(&log, BatchSpec::new(0, 5));
        let future = begin(&logs, &log);
        assert!(copy(&logs, &log, &future));
        logs.shut_down(1, 1_000);
        let lost = log.path();
        drop((log, future, logs));
        // The disk was replaced.
        std::fs::remove_dir_all(&lost).unwrap();
        let logs = open_two(root.path(), LogConfig::default(), Disk::default());
        assert!(logs.get("t", 0).is_none());
        let dir = Some(logs.dirs()[named].id());
        let request = CreateRequest { dir, is_new: false, ..CreateRequest::new("t", 0, TOPIC_ID) };
        let log = logs.create(&request, 1_000).unwrap();
        assert_eq!((log.log_end_offset(), log.dir().id()), (expected, logs.dirs()[named].id()));
        let names = partitions_in(root.path());
        assert_eq!(names.len(), 2 - named, "{names:?}");
        assert!(named == 1 || names[1].ends_with("-stray"), "{names:?}");
    }
}

#[test]
fn a_future_replica_of_another_topic_is_set_aside() {
    let root = TempDir::in_memory();
    let logs = open_two(root.path(), LogConfig::default(), Disk::default());
    let log = create_in(&logs, 0);
    let future = begin(&logs, &log);
    drop((log, future, logs));
    let logs = open_two(root.path(), LogConfig::default(), Disk::default());
    assert!(logs.future("t", 0).is_some());
    let aside = logs.set_strays_aside(|_| false, 1_000).unwrap();
    assert_eq!(aside.len(), 2);
    assert!(logs.future("t", 0).is_none());
    assert!(partitions_in(root.path()).iter().all(|name| name.ends_with("-stray")));
}

#[test]
fn partitions_that_are_not_here_yet_are_made_where_they_were_asked_to_go() {
    let root = TempDir::in_memory();
    let logs = open_two(root.path(), LogConfig::default(), Disk::default());
    for (partition, dir) in [(0, 1), (1, 1), (2, 0)] {
        logs.prefer_dir("t", partition, &logs.dirs()[dir].clone());
    }
    for (partition, dir) in [(0, 1), (1, 1), (2, 0)] {
        let log = logs.create(&CreateRequest::new("t", partition, TOPIC_ID), 0).unwrap();
        assert_eq!(log.dir().id(), logs.dirs()[dir].id(), "partition {partition}");
    }
}

/// A record of a key, in a batch of its own.
fn put(log: &Log, key: &str, value: Option<&str>) {
    let mut batch = BatchBuilder::new(BatchOptions::default());
    batch.append(10, Some(key.as_bytes()), value.map(str::as_bytes), &[]);
    let mut bytes = batch.finish(&mut Compressor::new()).unwrap();
    log.append_as_leader(&mut bytes, &AppendContext::client(0, 10)).unwrap();
}

fn compacted() -> LogConfig {
    LogConfig {
        compact: true,
        delete: false,
        segment_bytes: 300,
        min_cleanable_dirty_ratio: 0.0,
        delete_retention_ms: 0,
        file_delete_delay_ms: 0,
        ..LogConfig::default()
    }
}

fn copied_whole(logs: &LogManager, log: &Arc<Log>) -> Arc<Log> {
    let future = begin(logs, log);
    while !copy(logs, log, &future) {}
    future
}

#[test]
fn a_log_is_not_compacted_while_it_moves_and_is_when_the_move_has_failed() {
    let root = TempDir::in_memory();
    let logs = open_two(root.path(), compacted(), Disk::default());
    let log = create_in(&logs, 0);
    for at in 0..20 {
        put(&log, "k", Some(&at.to_string()));
    }
    log.advance_high_watermark(i64::MAX);
    let future = copied_whole(&logs, &log);
    assert!(logs.clean_once(1_000_000).is_none(), "what was copied would be compacted away");
    logs.suspend_move(&log);
    assert!(logs.clean_once(1_000_000).is_some());
    logs.delete_due(i64::MAX);
    // Anew, with what is left.
    logs.resume_move(&log, &future, 1_000).unwrap();
    assert!(future.log_end_offset() == log.log_start_offset());
    let before = read_all(&log, 0, 1 << 20);
    finish(&logs, &log, &future);
    assert!(read_all(&log, 0, 1 << 20) == before, "the same batches");
}

/// The future replica's directory is away while the log is compacted: what it still has must not come back.
#[test]
fn what_was_compacted_while_the_future_replica_was_away_stays_away() {
    let root = TempDir::in_memory();
    let logs = open_two(root.path(), compacted(), Disk::default());
    let log = create_in(&logs, 0);
    for at in 0..10 {
        put(&log, &at.to_string(), Some("there"));
    }
    log.advance_high_watermark(i64::MAX);
    drop(copied_whole(&logs, &log));
    logs.shut_down(1, 1_000);
    drop((log, logs));

    let (logs, _) = LogManager::open(config(&[&root.path().join("a")], compacted())).unwrap();
    let log = logs.get("t", 0).unwrap();
    for at in 0..10 {
        put(&log, &at.to_string(), None);
    }
    // So that they are in no active segment.
    put(&log, "last", Some("there"));
    log.advance_high_watermark(i64::MAX);
    for pass in 1..4 {
        logs.clean_once(pass * 1_000_000_000);
        logs.delete_due(i64::MAX);
    }
    let left = read_all(&log, 0, 1 << 20);
    logs.shut_down(1, 1_000);
    drop((log, logs));

    let logs = open_two(root.path(), compacted(), Disk::default());
    let (log, future) = (logs.get("t", 0).unwrap(), logs.future("t", 0).unwrap());
    log.advance_high_watermark(i64::MAX);
    finish(&logs, &log, &future);
    assert!(read_all(&log, 0, 1 << 20) == left, "deleted keys are back");
}

/// Where compaction left nothing behind the last batch, the log may end in the gap.
#[test]
fn a_log_that_ends_where_there_are_no_records_moves() {
    let root = TempDir::in_memory();
    let logs = open_two(root.path(), LogConfig::default(), Disk::default());
    let log = create_in(&logs, 0);
    log.make_follower(0);
    let with_gap = [BatchSpec::new(0, 3).build(), BatchSpec::new(20, 2).build()].concat();
    let context = AppendContext { expected_end: None, ..AppendContext::replication(0, 0, 1_000) };
    log.append_with_offsets(&with_gap, &context).unwrap();
    log.truncate_to(10, 1_000).unwrap();
    assert_eq!(log.log_end_offset(), 10);
    let future = begin(&logs, &log);
    let mut steps = 0;
    while !copy(&logs, &log, &future) {
        steps += 1;
        assert!(steps < 10, "it does not come to an end");
    }
    finish(&logs, &log, &future);
    assert_eq!(log.log_end_offset(), 10);
    assert_eq!(batches(&read_upto(&log, 0, 1 << 20, 3)), [(0, 2)]);
    assert!(log.dir().id() == logs.dirs()[1].id());
}

/// The log of a move is in a directory that is away when its topic is deleted, and another one gets the topic's name.
#[test]
fn a_topic_that_is_made_anew_gets_no_earlier_ones_future_replica() {
    for is_deleted in [true, false] {
        let root = TempDir::in_memory();
        let logs = open_two(root.path(), LogConfig::default(), Disk::default());
        let log = create_in(&logs, 0);
        append(&log, BatchSpec::new(0, 5));
        drop(copied_whole(&logs, &log));
        logs.shut_down(1, 1_000);
        drop((log, logs));
        std::fs::rename(root.path().join("a/t-0"), root.path().join("away")).unwrap();

        let logs = open_two(root.path(), LogConfig::default(), Disk::default());
        assert!(logs.get("t", 0).is_none() && logs.future("t", 0).is_some());
        if is_deleted {
            assert!(logs.delete([("t", 0)], 1_000).unwrap().is_empty());
            assert!(logs.future("t", 0).is_none());
        }
        let request = CreateRequest { is_new: true, ..CreateRequest::new("t", 0, Uuid([9; 16])) };
        let log = logs.create(&request, 1_000).unwrap();
        assert!(logs.future("t", 0).is_none());
        assert_eq!((log.topic_id(), log.log_end_offset()), (Some(Uuid([9; 16])), 0));
    }
}
