//! How often a start, a stop, a creation and a deletion of many partitions wait for the disk: never
//! once per partition that has no new records.

use crate::common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::*;
use parking_lot::Mutex;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, CLUSTER_METADATA_TOPIC, CreateRequest, Disk, DiskOp, FaultHook, Injected, Log,
    LogConfig, LogManager, ManagerConfig, ReadError,
};
use thalweg_wire::Uuid;

const PARTITIONS: i32 = 40;

/// Counts what waits for the disk, and writes.
#[derive(Default)]
struct Counts {
    syncs: AtomicUsize,
    writes: AtomicUsize,
}

impl FaultHook for Counts {
    fn before(&self, op: DiskOp, _: &Path, _: usize) -> Injected {
        match op {
            DiskOp::Sync | DiskOp::SyncDir => {
                self.syncs.fetch_add(1, Ordering::Relaxed);
            }
            DiskOp::Write => {
                self.writes.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        Injected::Nothing
    }
}

impl Counts {
    /// Syncs and writes since the last call.
    fn take(&self) -> (usize, usize) {
        (self.syncs.swap(0, Ordering::Relaxed), self.writes.swap(0, Ordering::Relaxed))
    }
}

fn counted(dir: &TempDir) -> (Arc<Counts>, ManagerConfig) {
    let counts = Arc::new(Counts::default());
    let mut config = config(&[dir.path()], LogConfig::default());
    config.disk = Disk::with_hook(Arc::clone(&counts) as Arc<dyn FaultHook>);
    (counts, config)
}

fn lead_all(logs: &LogManager, epoch: i32) {
    for log in logs.all() {
        log.make_leader(epoch);
    }
}

#[test]
fn idle_partitions_cost_no_sync_of_their_own() {
    let dir = TempDir::new();
    let (counts, config) = counted(&dir);
    let (logs, _) = LogManager::open(config).unwrap();
    counts.take();
    for partition in 0..PARTITIONS {
        logs.create(&CreateRequest::new("topic", partition, TOPIC_ID), 1_000).unwrap();
    }
    lead_all(&logs, 0);
    logs.flush_due(1_000);
    assert_eq!(counts.take().0, 0, "syncs of a creation");
    for partition in 0..PARTITIONS / 2 {
        append(&logs.get("topic", partition).unwrap(), BatchSpec::new(0, 3));
    }
    logs.shut_down(1, 2_000);
    drop(logs);

    // Each start begins a new leader epoch for every partition, with records and without.
    for epoch in 1..4 {
        let (counts, config) = counted(&dir);
        let (logs, report) = LogManager::open(config).unwrap();
        assert_eq!(report.dirs[0].partitions, PARTITIONS as usize);
        lead_all(&logs, epoch);
        logs.flush_due(1_000);
        for partition in 0..PARTITIONS {
            let log = logs.get("topic", partition).unwrap();
            assert_eq!(log.latest_epoch(), Some((epoch, log.log_end_offset())));
        }
        let (syncs, writes) = counts.take();
        assert!(syncs <= 2 && writes == 0, "a start: {syncs} syncs, {writes} writes");
        logs.shut_down(1, 2_000);
        let (syncs, writes) = counts.take();
        assert!(syncs <= 8 && writes <= 4, "a stop: {syncs} syncs, {writes} writes");
    }

    let (counts, config) = counted(&dir);
    let (logs, _) = LogManager::open(config).unwrap();
    counts.take();
    let all: Vec<(&str, i32)> = (0..PARTITIONS).map(|partition| ("topic", partition)).collect();
    assert_eq!(logs.delete(all, 1_000).unwrap().len(), PARTITIONS as usize);
    let (syncs, _) = counts.take();
    assert!(syncs <= 8, "a deletion: {syncs} syncs");
}

#[test]
fn an_epoch_with_records_is_in_its_file() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    let file = log.path().join("leader-epoch-checkpoint");
    let content = || std::fs::read_to_string(&file).unwrap();
    log.make_leader(3);
    logs.flush_due(1_000);
    assert_eq!(content(), "", "without records the next leader says it again");
    let write = |log: &Log, epoch: i32| {
        let mut batch = BatchSpec::new(0, 3).build();
        log.append_as_leader(&mut batch, &AppendContext::client(epoch, 1_000)).unwrap();
    };
    write(&log, 3);
    logs.flush_due(1_000);
    assert_eq!(content(), "0\n1\n3 0\n");
    log.make_leader(5);
    logs.shut_down(1, 2_000);
    drop((log, logs));
    assert_eq!(content(), "0\n2\n3 0\n5 3\n", "a flush writes all there is");

    // After a crash with a file that is older than the log, the batches say what is right.
    let (logs, _) = open(&dir, LogConfig::default());
    let log = logs.get("t", 0).unwrap();
    log.make_leader(7);
    write(&log, 7);
    drop((log, logs));
    let (logs, _) = open(&dir, LogConfig::default());
    let log = logs.get("t", 0).unwrap();
    assert_eq!(log.leader_epochs(), [(3, 0), (7, 3)]);
    assert_eq!(content(), "0\n2\n3 0\n7 3\n");
}

/// Which files are synced, in order.
#[derive(Default)]
struct Synced(Mutex<Vec<String>>);

impl FaultHook for Synced {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        if op == DiskOp::Sync
            && let Some(name) = path.file_name()
        {
            self.0.lock().push(name.to_string_lossy().into_owned());
        }
        Injected::Nothing
    }
}

#[test]
fn a_clean_stop_flushes_epochs_that_the_start_has_written() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    log.make_leader(3);
    append(&log, BatchSpec::new(0, 3));
    logs.shut_down(1, 2_000);
    std::fs::write(log.path().join("leader-epoch-checkpoint"), "").unwrap();
    drop((log, logs));

    let synced = Arc::new(Synced::default());
    let mut config = config(&[dir.path()], LogConfig::default());
    config.disk = Disk::with_hook(synced.clone());
    let (logs, _) = LogManager::open(config).unwrap();
    logs.shut_down(1, 2_000);
    let synced = synced.0.lock();
    let place = |name: &str| synced.iter().position(|synced| synced.starts_with(name));
    let (epochs, marker) = (place("leader-epoch-checkpoint"), place(".kafka_cleanshutdown"));
    assert!(epochs.is_some() && epochs < marker, "{synced:?}");
}

#[test]
fn checkpoints_that_would_say_the_same_are_not_written() {
    let dir = TempDir::new();
    let (counts, config) = counted(&dir);
    let (logs, _) = LogManager::open(config).unwrap();
    let log = create(&logs, "t");
    let housekeeping = || {
        counts.take();
        logs.checkpoint();
        for dir in logs.dirs() {
            logs.in_dir(dir).checkpoint_recovery_points();
            logs.in_dir(dir).checkpoint_log_starts();
            logs.in_dir(dir).checkpoint_high_watermarks();
        }
        counts.take()
    };
    assert_eq!(housekeeping(), (6, 3), "the first time");
    assert_eq!(housekeeping(), (0, 0));
    append(&log, BatchSpec::new(0, 3));
    assert_eq!(housekeeping(), (2, 1), "the high watermark");
    log.flush(1_000).unwrap();
    log.delete_records(1).unwrap();
    assert_eq!(housekeeping(), (4, 2), "recovery point and log start");
    assert_eq!(housekeeping(), (0, 0));
}

type Act = Box<dyn FnOnce() + Send>;
/// At what, of a file of which name.
type Due = (DiskOp, &'static str, Act);

/// Which files are synced; and what is done in the middle of something else: once, when a file is
/// opened, synced, cut or renamed.
#[derive(Default)]
struct Meanwhile {
    synced: Synced,
    due: Mutex<Option<Due>>,
}

impl Meanwhile {
    fn set(&self, op: DiskOp, name: &'static str, act: impl FnOnce() + Send + 'static) {
        *self.due.lock() = Some((op, name, Box::new(act)));
    }
}

impl FaultHook for Meanwhile {
    fn before(&self, op: DiskOp, path: &Path, len: usize) -> Injected {
        let due = self.due.lock().take_if(|(at, name, _)| *at == op && path.ends_with(*name));
        if let Some((_, _, act)) = due {
            act();
        }
        self.synced.before(op, path, len)
    }
}

fn with_meanwhile(dir: &TempDir) -> (Arc<Meanwhile>, Arc<LogManager>, Arc<Log>) {
    let hook = Arc::new(Meanwhile::default());
    let mut config = config(&[dir.path()], LogConfig::default());
    config.disk = Disk::with_hook(hook.clone());
    let (logs, _) = LogManager::open(config).unwrap();
    let log = create(&logs, "t");
    (hook, Arc::new(logs), log)
}

#[test]
fn a_segment_that_is_closed_during_a_flush_is_flushed_with_its_indexes() {
    let roll: fn(&Log) = |log| assert_eq!(log.roll(1_000).unwrap(), 3);
    let flush: fn(&Log) = |log| log.flush(1_000).unwrap();
    for (op, file, meanwhile, act) in [
        (DiskOp::Sync, "00000000000000000000.log", roll, flush),
        (DiskOp::Open, "00000000000000000003.log", flush, roll),
    ] {
        let dir = TempDir::new();
        let (hook, _logs, log) = with_meanwhile(&dir);
        append(&log, BatchSpec::new(0, 3));
        let other = log.clone();
        hook.set(op, file, move || meanwhile(&other));
        act(&log);
        assert!(hook.due.lock().is_none(), "{file}");
        // Recovery looks at no segment before the one that the recovery point is in.
        log.flush(1_000).unwrap();
        assert_eq!(log.recovery_point(), 3, "{file}");
        let synced = hook.synced.0.lock();
        assert!(synced.iter().any(|name| name == "00000000000000000000.index"), "{synced:?}");
    }
}

/// A flush syncs the directory before retention has renamed what it removes: a power cut may bring that
/// back, so the log's start is not left to the files yet.
#[test]
fn a_flush_during_a_removal_says_nothing_of_what_is_removed() {
    let dir = TempDir::new();
    let (hook, logs, log) = with_meanwhile(&dir);
    append(&log, BatchSpec::new(0, 2));
    log.roll(1_000).unwrap();
    log.flush(1_000).unwrap();
    append(&log, BatchSpec::new(0, 2));
    log.delete_records(2).unwrap();
    logs.checkpoint();
    let file = dir.path().join("log-start-offset-checkpoint");
    let content = move || std::fs::read_to_string(&file).unwrap();
    assert_eq!(content(), "0\n1\nt 0 2\n");
    let seen = Arc::new(Mutex::new(String::new()));
    let (others, during) = ((logs.clone(), log.clone()), seen.clone());
    let look = content.clone();
    hook.set(DiskOp::Rename, "00000000000000000000.log", move || {
        others.1.flush(1_000).unwrap();
        others.0.checkpoint();
        *during.lock() = look();
    });
    assert_eq!(log.delete_old_segments(1_000).unwrap(), 1);
    assert_eq!(*seen.lock(), "0\n1\nt 0 2\n", "while it may come back");
    logs.checkpoint();
    assert_eq!(content(), "0\n0\n", "once it cannot");
}

/// Whoever becomes the leader while a log is truncated has its epoch noted where the log ends then.
#[test]
fn a_leader_epoch_that_begins_during_a_truncation_is_not_cut_off() {
    for everything in [false, true] {
        let dir = TempDir::new();
        let (hook, _logs, log) = with_meanwhile(&dir);
        log.make_leader(3);
        append(&log, BatchSpec::new(0, 2));
        append(&log, BatchSpec::new(0, 2));
        log.flush(1_000).unwrap();
        log.make_follower(4);
        let other = log.clone();
        let (op, name) = match everything {
            // The empty list of epochs is on its way to the disk.
            true => (DiskOp::Sync, "leader-epoch-checkpoint.tmp"),
            false => (DiskOp::Truncate, "00000000000000000000.log"),
        };
        hook.set(op, name, move || other.make_leader(7));
        match everything {
            true => log.truncate_fully_and_start_at(1, None, 1_000).unwrap(),
            false => assert!(log.truncate_to(2, 1_000).unwrap()),
        }
        assert!(hook.due.lock().is_none());
        let end = log.log_end_offset();
        let before = (!everything).then_some((3, 0));
        let expected: Vec<(i32, i64)> = before.into_iter().chain([(7, end)]).collect();
        assert_eq!(log.leader_epochs(), expected);
        append(&log, BatchSpec::new(0, 1));
        assert_eq!(log.leader_epochs(), expected);
    }
}

/// The offset of a DeleteRecords is compared with a log that nobody truncates meanwhile.
#[test]
fn records_are_deleted_after_a_truncation_or_before_it() {
    let dir = TempDir::new();
    let (hook, _logs, log) = with_meanwhile(&dir);
    append(&log, BatchSpec::new(0, 2));
    append(&log, BatchSpec::new(0, 2));
    log.flush(1_000).unwrap();
    let deletion = Arc::new(Mutex::new(None));
    let (other, begun) = (log.clone(), deletion.clone());
    hook.set(DiskOp::Read, "00000000000000000000.log", move || {
        let is_asked = Arc::new(AtomicBool::new(false));
        let asked = is_asked.clone();
        *begun.lock() = Some(std::thread::spawn(move || {
            asked.store(true, Ordering::SeqCst);
            other.delete_records(4)
        }));
        until("the deletion is asked for", || is_asked.load(Ordering::SeqCst));
        // Long enough to have come to where it has to wait.
        std::thread::sleep(std::time::Duration::from_millis(100));
    });
    assert!(log.truncate_to(2, 1_000).unwrap());
    let deletion = deletion.lock().take().expect("the truncation reads the file");
    let error = deletion.join().unwrap().unwrap_err();
    assert!(matches!(error, ReadError::OffsetOutOfRange { .. }), "{error}");
    let offsets = log.offsets();
    assert_eq!((offsets.log_start_offset, offsets.high_watermark), (0, 2));
    assert_eq!(log.log_end_offset(), 2);
}

/// A log that was closed has told its start to the checkpoint: a deletion after that would be
/// acknowledged and lost.
#[test]
fn a_closed_log_deletes_no_records() {
    let dir = TempDir::new();
    let (_hook, logs, log) = with_meanwhile(&dir);
    append(&log, BatchSpec::new(0, 2));
    logs.shut_down(1, 1_000);
    assert!(matches!(log.delete_records(1), Err(ReadError::Closed { .. })));
    assert_eq!(log.log_start_offset(), 0);
}

/// What a clean stop has written down is not changed by whoever still waited to do so.
#[test]
fn retention_that_waited_for_the_close_removes_nothing() {
    let dir = TempDir::new();
    let (hook, _logs, log) = with_meanwhile(&dir);
    append(&log, BatchSpec::new(0, 2));
    log.roll(1_000).unwrap();
    append(&log, BatchSpec::new(0, 2));
    log.delete_records(2).unwrap();
    let retention = Arc::new(Mutex::new(None));
    let (other, begun) = (log.clone(), retention.clone());
    hook.set(DiskOp::Sync, "00000000000000000002.log", move || {
        *begun.lock() = Some(std::thread::spawn(move || other.delete_old_segments(1_000)));
        // Long enough to have come to where it has to wait.
        std::thread::sleep(std::time::Duration::from_millis(100));
    });
    log.close_cleanly(1_000).unwrap();
    let retention = retention.lock().take().expect("the close flushes the file");
    assert_eq!(retention.join().unwrap().unwrap(), 0);
    assert_eq!(log.segment_base_offsets(), [0, 2]);
}

/// Segments that have what is not flushed, by the writes and flushes of their files.
#[derive(Default)]
struct Unflushed {
    segments: Mutex<BTreeSet<PathBuf>>,
    /// Writes to one while there was another.
    out_of_order: AtomicUsize,
}

impl FaultHook for Unflushed {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        if path.extension().is_some_and(|it| it == "log") {
            let mut segments = self.segments.lock();
            match op {
                DiskOp::Write => {
                    segments.insert(path.to_owned());
                    let is_only_one = segments.len() == 1;
                    self.out_of_order.fetch_add(usize::from(!is_only_one), Ordering::Relaxed);
                }
                DiskOp::Sync => {
                    segments.remove(path);
                }
                _ => {}
            }
        }
        Injected::Nothing
    }
}

/// Whoever reads the metadata log refuses one with a gap, which a power cut would leave.
#[test]
fn a_segment_of_the_metadata_log_is_flushed_before_the_next_one_is_written() {
    let dir = TempDir::new();
    let hook = Arc::new(Unflushed::default());
    let mut config = config(&[dir.path()], LogConfig::default());
    config.disk = Disk::with_hook(Arc::clone(&hook) as Arc<dyn FaultHook>);
    let (logs, _) = LogManager::open(config).unwrap();
    let request = CreateRequest::new(CLUSTER_METADATA_TOPIC, 0, Uuid::ONE);
    let small = LogConfig { segment_bytes: 250, ..LogConfig::default() };
    let log = logs.open_unmanaged(&logs.dirs()[0].clone(), &request, small.into(), 0).unwrap();
    for _ in 0..10 {
        append(&log, BatchSpec::new(0, 1).value_len(130));
    }
    assert_eq!(log.segment_count(), 10);
    assert_eq!(hook.out_of_order.load(Ordering::Relaxed), 0);
}
