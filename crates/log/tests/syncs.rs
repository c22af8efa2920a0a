//! How often a start, a stop, a creation and a deletion of many partitions wait for the disk: never
//! once per partition that has no new records.

use crate::common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::*;
use parking_lot::Mutex;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, CreateRequest, Disk, DiskOp, FaultHook, Injected, Log, LogConfig, LogManager,
    ManagerConfig,
};

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

type Act = fn(&Log);
/// At what, of a file of which name, and with which log.
type Due = (DiskOp, &'static str, Act, Arc<Log>);

/// Which files are synced; and what is done in the middle of something else: once, when a file is
/// opened or synced.
#[derive(Default)]
struct Meanwhile {
    synced: Synced,
    due: Mutex<Option<Due>>,
}

impl FaultHook for Meanwhile {
    fn before(&self, op: DiskOp, path: &Path, len: usize) -> Injected {
        let due = self.due.lock().take_if(|(at, name, ..)| *at == op && path.ends_with(*name));
        if let Some((_, _, act, log)) = due {
            act(&log);
        }
        self.synced.before(op, path, len)
    }
}

#[test]
fn a_segment_that_is_closed_during_a_flush_is_flushed_with_its_indexes() {
    let roll: Act = |log| assert_eq!(log.roll(1_000).unwrap(), 3);
    let flush: Act = |log| log.flush(1_000).unwrap();
    for (op, file, meanwhile, act) in [
        (DiskOp::Sync, "00000000000000000000.log", roll, flush),
        (DiskOp::Open, "00000000000000000003.log", flush, roll),
    ] {
        let dir = TempDir::new();
        let hook = Arc::new(Meanwhile::default());
        let mut config = config(&[dir.path()], LogConfig::default());
        config.disk = Disk::with_hook(hook.clone());
        let (logs, _) = LogManager::open(config).unwrap();
        let log = create(&logs, "t");
        append(&log, BatchSpec::new(0, 3));
        *hook.due.lock() = Some((op, file, meanwhile, log.clone()));
        act(&log);
        assert!(hook.due.lock().is_none(), "{file}");
        // Recovery looks at no segment before the one that the recovery point is in.
        log.flush(1_000).unwrap();
        assert_eq!(log.recovery_point(), 3, "{file}");
        let synced = hook.synced.0.lock();
        assert!(synced.iter().any(|name| name == "00000000000000000000.index"), "{synced:?}");
    }
}
