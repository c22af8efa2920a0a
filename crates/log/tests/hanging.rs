//! A disk that hangs: what is done to another directory does not wait for it, and who waits for it
//! holds nothing that others need.

use crate::common;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use common::*;
use parking_lot::{Condvar, Mutex};
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, BeginVerification, CreateRequest, Disk, DiskOp, FaultHook, Injected, Log,
    LogConfig, LogManager, Role,
};

const TIMEOUT: Duration = Duration::from_secs(20);

type Rule = Box<dyn Fn(DiskOp, &Path) -> bool + Send>;

/// Operations that a rule names hang for as long as it is set.
#[derive(Default)]
struct Hanging {
    rule: Mutex<Option<Rule>>,
    changed: Condvar,
    hung: Mutex<Option<mpsc::Sender<()>>>,
}

impl Hanging {
    /// Sets the rule; what comes back hears of the first operation that hangs.
    fn begin(&self, rule: impl Fn(DiskOp, &Path) -> bool + Send + 'static) -> mpsc::Receiver<()> {
        let (sender, hung) = mpsc::channel();
        *self.hung.lock() = Some(sender);
        *self.rule.lock() = Some(Box::new(rule));
        hung
    }

    fn end(&self) {
        *self.rule.lock() = None;
        self.changed.notify_all();
    }
}

impl FaultHook for Hanging {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        let mut rule = self.rule.lock();
        let hangs = |rule: &mut Option<Rule>| rule.as_ref().is_some_and(|rule| rule(op, path));
        if hangs(&mut rule) {
            if let Some(hung) = self.hung.lock().take() {
                let _ = hung.send(());
            }
            self.changed.wait_while(&mut rule, hangs);
        }
        Injected::Nothing
    }
}

/// Logs in directories whose disks hang as a test says.
fn open_hanging(dirs: &[&Path], settings: LogConfig) -> (Arc<Hanging>, LogManager) {
    let hook = Arc::new(Hanging::default());
    let mut config = config(dirs, settings);
    config.disk = Disk::with_hook(hook.clone());
    (hook, LogManager::open(config).unwrap().0)
}

/// What `act` gives while the write of an append hangs, for which it must not wait.
fn during_a_write<T: Send>(hook: &Hanging, log: &Log, act: impl FnOnce() -> T + Send) -> T {
    let hung = hook.begin(|op, _| op == DiskOp::Write);
    let (sender, done) = mpsc::channel();
    std::thread::scope(|scope| {
        let appending = scope.spawn(|| {
            log.append_as_leader(&mut BatchSpec::new(0, 1).build(), &client()).unwrap();
        });
        hung.recv_timeout(TIMEOUT).unwrap();
        scope.spawn(move || {
            let _ = sender.send(act());
        });
        let done = done.recv_timeout(TIMEOUT);
        hook.end();
        appending.join().unwrap();
        done.expect("it waits for the write")
    })
}

#[test]
fn a_checkpoint_that_hangs_holds_up_no_deletion_elsewhere() {
    let (first, second) = (TempDir::new(), TempDir::new());
    let (hook, logs) = open_hanging(&[first.path(), second.path()], LogConfig::default());
    for partition in 0..4 {
        let log = logs.create(&CreateRequest::new("t", partition, TOPIC_ID), 0).unwrap();
        append(&log, BatchSpec::new(0, 1));
    }
    let slow = second.path().to_path_buf();
    let hung = hook.begin(move |op, path| op == DiskOp::Sync && path.starts_with(&slow));
    let (sender, done) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| logs.checkpoint());
        hung.recv_timeout(TIMEOUT).unwrap();
        scope.spawn(|| {
            let in_first = logs.all().into_iter().filter(|log| log.dir().path() == first.path());
            let partitions: Vec<i32> = in_first.map(|log| log.partition()).collect();
            assert_eq!(partitions.len(), 2);
            let removed = logs.delete(partitions.into_iter().map(|at| ("t", at)), 1_000).unwrap();
            logs.in_dir(&logs.dirs()[0]).flush_due(1_000);
            let _ = sender.send(removed.len());
        });
        let removed = done.recv_timeout(TIMEOUT);
        hook.end();
        assert_eq!(removed, Ok(2));
    });
    logs.shut_down(1, 1_000);
}

#[test]
fn who_waits_for_an_index_holds_up_no_append() {
    /// Beyond a page of the index, which is on file then; every batch but the first has an entry.
    const BATCHES: i64 = 600;
    let dir = TempDir::new();
    let settings = LogConfig { index_interval_bytes: 0, ..LogConfig::default() };
    let (hook, logs) = open_hanging(&[dir.path()], settings);
    let log = create(&logs, "t");
    for at in 0..BATCHES {
        append(&log, BatchSpec::new(0, 1).timestamp(at));
    }
    for (suffix, reads_by_time) in [("index", false), ("timeindex", true)] {
        let hung = hook.begin(move |op, path| {
            op == DiskOp::Read && path.extension().is_some_and(|extension| extension == suffix)
        });
        let (sender, appended) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if reads_by_time {
                    let found = log.offset_for_timestamp(100, &PlainRecords).unwrap();
                    assert_eq!(found.unwrap().offset, 100);
                } else {
                    let found = read(&log, 100, 1).to_vec().unwrap();
                    assert_eq!(batches(&found), [(100, 100)]);
                }
            });
            hung.recv_timeout(TIMEOUT).unwrap();
            scope.spawn(|| {
                append(&log, BatchSpec::new(0, 1));
                let _ = sender.send(());
            });
            let appended = appended.recv_timeout(TIMEOUT);
            hook.end();
            assert_eq!(appended, Ok(()), "{suffix}");
        });
    }
}

/// A replica's fetch raises the high watermark, on a thread that serves others, too.
#[test]
fn a_high_watermark_and_a_verification_wait_for_no_write() {
    let dir = TempDir::new();
    let (hook, logs) = open_hanging(&[dir.path()], LogConfig::default());
    let log = create(&logs, "t");
    log.make_leader(0);
    let coordinator = AppendContext::coordinator(0, 1_000);
    let mut data = BatchSpec::new(0, 1).producer(7, 0, 0).transactional().build();
    log.append_as_leader(&mut data, &client()).unwrap();
    log.append_as_leader(&mut BatchSpec::marker(0, 7, 0, 1, true).build(), &coordinator).unwrap();
    let begin = BeginVerification {
        leader_epoch: 0,
        producer_id: 8,
        producer_epoch: 0,
        sequence: 0,
        bumps_epoch: true,
        now_ms: 1_000,
    };
    assert!(matches!(log.try_begin_verification(&begin), Some(Ok(Some(_)))));
    assert_eq!(log.offsets().last_stable_offset, 0, "nothing is committed");

    let (raised, begun) = during_a_write(&hook, &log, || {
        (log.advance_high_watermark(2), log.try_begin_verification(&begin).is_some())
    });
    assert!(raised && !begun);
    // Who was writing has done what had to be left.
    assert_eq!(log.offsets().last_stable_offset, 2);
    // What was asked about and never appended is forgotten, also where there are no other producers.
    let begun = || log.try_begin_verification(&begin).unwrap().unwrap();
    let guard = begun();
    assert_eq!(begun(), guard);
    log.expire_producers(i64::MAX);
    assert_ne!(begun(), guard);
    // A follower's log says nothing of producers.
    log.make_follower(1);
    let refused = log.try_begin_verification(&begin).unwrap().unwrap_err();
    assert_eq!(refused.code(), thalweg_wire::ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

/// A leader change does not wait for a write that hangs, and nothing is done in the old role after it.
#[test]
fn role_changes_once_a_hung_write_is_done() {
    let dir = TempDir::new();
    let (hook, logs) = open_hanging(&[dir.path()], LogConfig::default());
    let log = create(&logs, "t");
    log.make_leader(0);
    let follower = Role::Follower { epoch: 1 };

    assert!(!during_a_write(&hook, &log, || log.try_set_role(follower)));
    // The write is done. The role is the old one, and nothing goes by it.
    assert_eq!((log.role(), log.log_end_offset()), (Role::Leader { epoch: 0 }, 1));
    let refused = log.append_as_leader(&mut BatchSpec::new(0, 1).build(), &client()).unwrap_err();
    assert_eq!(refused.code(), thalweg_wire::ErrorCode::NOT_LEADER_OR_FOLLOWER);
    log.wait_for_changes();
    assert_eq!(log.role(), Role::Leader { epoch: 0 });
    assert!(log.try_set_role(follower));
    assert_eq!(log.role(), follower);
    log.make_leader(2);
    let client = AppendContext::client(2, 1_000);
    log.append_as_leader(&mut BatchSpec::new(0, 1).build(), &client).unwrap();
}
