//! Appends are for a role and a leader epoch: what comes, or waits, for another one is refused.

use crate::common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use common::*;
use parking_lot::Mutex;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, AppendError, AppendInfo, AppendOrigin, AppendWaiter, Disk, DiskOp, Executor,
    FaultHook, Injected, Log, LogConfig, LogManager, Role, Submitted,
};
use thalweg_wire::ErrorCode;

type Job = Box<dyn FnOnce() + Send>;

/// Keeps jobs until it is told to run them.
#[derive(Default)]
struct Later(Mutex<Vec<Job>>);

impl Executor for Later {
    fn run(&self, job: Job) {
        self.0.lock().push(job);
    }
}

impl Later {
    fn count(&self) -> usize {
        self.0.lock().len()
    }

    fn run_all(&self) {
        let jobs = std::mem::take(&mut *self.0.lock());
        jobs.into_iter().for_each(|job| job());
    }
}

/// Results in the order in which they came. One of token 13 panics.
#[derive(Default)]
struct Results(Mutex<Vec<(u64, Result<AppendInfo, AppendError>)>>);

impl AppendWaiter for Results {
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>) {
        self.0.lock().push((token, result));
        assert!(token != 13, "as the test wants it");
    }
}

impl Results {
    fn tokens(&self) -> Vec<u64> {
        self.0.lock().iter().map(|(token, _)| *token).collect()
    }
}

/// A log whose next append needs a roll, with an executor that does it later.
fn full_log(dir: &TempDir, hook: Option<Arc<dyn FaultHook>>) -> (LogManager, Arc<Later>) {
    let settings = LogConfig { segment_bytes: 90_000, ..LogConfig::default() };
    let (logs, executor) = with_jobs_later(dir, settings, hook);
    append(&create(&logs, "t"), BatchSpec::new(0, 1).value_len(89_900));
    (logs, executor)
}

fn with_jobs_later(
    dir: &TempDir,
    settings: LogConfig,
    hook: Option<Arc<dyn FaultHook>>,
) -> (LogManager, Arc<Later>) {
    let executor = Arc::new(Later::default());
    let mut config = config(&[dir.path()], settings);
    config.executor = Some(executor.clone());
    if let Some(hook) = hook {
        config.disk = Disk::with_hook(hook);
    }
    let (logs, _) = LogManager::open(config).unwrap();
    (logs, executor)
}

fn submitted(result: Submitted) -> Result<AppendInfo, AppendError> {
    match result {
        Submitted::Done(result) => result,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_append_is_for_the_role_that_the_log_has() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    let waiter: Arc<dyn AppendWaiter> = Arc::new(Results::default());
    let as_leader = |epoch| {
        let context = AppendContext::client(epoch, 1_000);
        submitted(log.submit(&mut BatchSpec::new(0, 1).build(), &context, &waiter, 0))
    };
    let as_follower = |epoch| {
        let context = AppendContext {
            origin: AppendOrigin::Replication,
            ..AppendContext::client(epoch, 1_000)
        };
        let bytes = BatchSpec::new(log.log_end_offset(), 1).build();
        log.append_with_offsets(&bytes, &context)
    };
    let refused = |result: Result<AppendInfo, AppendError>, asked: i32, is: Role| {
        let error = result.unwrap_err();
        assert_eq!(error.code(), ErrorCode::NOT_LEADER_OR_FOLLOWER);
        assert!(
            matches!(error, AppendError::NotLeaderOrFollower { leader_epoch, role, .. }
                if leader_epoch == asked && role == is),
            "{error}"
        );
    };
    assert_eq!(log.role(), Role::Unassigned);
    as_leader(0).unwrap();

    log.make_leader(4);
    refused(as_leader(3), 3, Role::Leader { epoch: 4 });
    refused(as_leader(5), 5, Role::Leader { epoch: 4 });
    refused(as_follower(4), 4, Role::Leader { epoch: 4 });
    as_leader(4).unwrap();

    log.make_follower(6);
    refused(as_leader(4), 4, Role::Follower { epoch: 6 });
    refused(as_leader(6), 6, Role::Follower { epoch: 6 });
    refused(as_follower(5), 5, Role::Follower { epoch: 6 });
    as_follower(6).unwrap();
    assert_eq!(log.log_end_offset(), 3);
    assert_eq!(log.leader_epochs(), [(0, 0), (4, 1)], "a follower learns epochs from batches");
}

#[test]
fn what_was_queued_for_an_older_leadership_is_refused() {
    let dir = TempDir::new();
    let (logs, executor) = full_log(&dir, None);
    let log = logs.get("t", 0).unwrap();
    log.make_leader(1);
    let results = Arc::new(Results::default());
    let waiter: Arc<dyn AppendWaiter> = results.clone();
    let submit = |epoch, token| {
        let context = AppendContext::client(epoch, 1_000);
        log.submit(&mut BatchSpec::new(0, 1).build(), &context, &waiter, token)
    };
    assert!(matches!(submit(1, 0), Submitted::Queued));
    assert!(matches!(submit(1, 1), Submitted::Queued));
    log.make_follower(2);
    log.make_leader(3);
    assert!(matches!(submit(3, 2), Submitted::Queued));
    assert!(results.tokens().is_empty());
    executor.run_all();
    assert_eq!(results.tokens(), [0, 1, 2]);
    for (token, result) in &*results.0.lock() {
        match result {
            Ok(info) => assert_eq!((*token, info.first_offset, info.leader_epoch), (2, 1, 3)),
            Err(error) => {
                assert!(*token < 2);
                assert_eq!(error.code(), ErrorCode::NOT_LEADER_OR_FOLLOWER, "{error}");
            }
        }
    }
    assert_eq!(log.log_end_offset(), 2);
}

/// A waiter that panics keeps nobody from hearing of their append, and the log goes on.
#[test]
fn a_waiter_that_panics_silences_no_other() {
    let dir = TempDir::new();
    let (logs, executor) = full_log(&dir, None);
    let log = logs.get("t", 0).unwrap();
    let results = Arc::new(Results::default());
    let waiter: Arc<dyn AppendWaiter> = results.clone();
    for token in 12..15 {
        let queued = log.submit(&mut BatchSpec::new(0, 1).build(), &client(), &waiter, token);
        assert!(matches!(queued, Submitted::Queued));
    }
    executor.run_all();
    assert_eq!(results.tokens(), [12, 13, 14]);
    assert_eq!(logs.metrics().panics.get(), 1);
    append(&log, BatchSpec::new(0, 1));
    assert_eq!(log.log_end_offset(), 5);
}

/// Fails writes of so many bytes to a log.
#[derive(Default)]
struct FailsWrites {
    len: AtomicUsize,
    writes: AtomicUsize,
}

impl FaultHook for FailsWrites {
    fn before(&self, op: DiskOp, path: &Path, len: usize) -> Injected {
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        if op == DiskOp::Write && is_log && self.len.load(Ordering::SeqCst) == len {
            self.writes.fetch_add(1, Ordering::SeqCst);
            return Injected::Fail(std::io::ErrorKind::Other.into());
        }
        Injected::Nothing
    }
}

/// A retry that is in one group with the append it repeats is a duplicate of something that is not
/// written yet: if it never is, neither of the two is acknowledged.
#[test]
fn a_duplicate_of_what_could_not_be_written_is_not_acknowledged() {
    let dir = TempDir::new();
    let hook = Arc::new(FailsWrites::default());
    let (logs, executor) = full_log(&dir, Some(hook.clone()));
    let log = logs.get("t", 0).unwrap();
    let results = Arc::new(Results::default());
    let waiter: Arc<dyn AppendWaiter> = results.clone();
    let submit = |batch: BatchSpec, token| {
        let mut batch = batch.build();
        let queued = log.submit(&mut batch, &client(), &waiter, token);
        assert!(matches!(queued, Submitted::Queued));
        batch.len()
    };
    // Whoever finds that a roll is needed has taken the first one off the queue, by itself.
    submit(BatchSpec::new(0, 2), 0);
    for token in 1..3 {
        let len = submit(BatchSpec::new(0, 1).producer(7, 0, 0), token);
        hook.len.store(len, Ordering::SeqCst);
    }
    executor.run_all();
    assert_eq!(hook.writes.load(Ordering::SeqCst), 1, "one write for both");
    assert_eq!(logs.metrics().duplicates.get(), 1);
    let mut tokens = results.tokens();
    tokens.sort_unstable();
    assert_eq!(tokens, [0, 1, 2]);
    for (token, result) in &*results.0.lock() {
        if *token == 0 {
            assert!(result.is_ok(), "{result:?}");
            continue;
        }
        let error = result.as_ref().unwrap_err();
        assert_eq!(error.code(), ErrorCode::KAFKA_STORAGE_ERROR, "{token}: {error}");
    }
}

/// Panics when the file of a second segment is made, once.
#[derive(Default)]
struct PanicsInRoll {
    has_panicked: AtomicBool,
}

impl FaultHook for PanicsInRoll {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        let is_new = path.ends_with("t-0/00000000000000000001.log") && op == DiskOp::Open;
        assert!(!is_new || self.has_panicked.swap(true, Ordering::SeqCst), "as the test wants it");
        Injected::Nothing
    }
}

/// A bug in a roll: what needs the roll is answered, and the next append tries again.
#[test]
fn a_roll_that_panics_is_answered_and_tried_again() {
    let dir = TempDir::new();
    let hook = Arc::new(PanicsInRoll::default());
    let (logs, executor) = full_log(&dir, Some(hook.clone()));
    let log = logs.get("t", 0).unwrap();
    let results = Arc::new(Results::default());
    let waiter: Arc<dyn AppendWaiter> = results.clone();
    let submit = |token| log.submit(&mut BatchSpec::new(0, 1).build(), &client(), &waiter, token);
    assert!(matches!(submit(0), Submitted::Queued));
    executor.run_all();
    assert!(hook.has_panicked.load(Ordering::SeqCst));
    let error = results.0.lock()[0].1.clone().unwrap_err();
    assert_eq!(error.code(), ErrorCode::KAFKA_STORAGE_ERROR, "{error}");
    assert_eq!((logs.metrics().panics.get(), log.dir().failure().is_none()), (1, true));
    assert!(matches!(submit(1), Submitted::Queued));
    executor.run_all();
    assert_eq!(results.tokens(), [0, 1]);
    assert_eq!(results.0.lock()[1].1.as_ref().unwrap().first_offset, 1);
    // Flushes reach the end again.
    log.flush(1_000).unwrap();
    assert_eq!(log.recovery_point(), 2);
}

/// Whoever it is that rolls, a bug in it does not keep the recovery point from the log's end for good.
#[test]
fn flushes_reach_the_end_after_any_roll_that_panics() {
    let rolls: [fn(&Log); 2] = [
        |log| drop(log.roll(1_000)),
        |log| drop(log.append_as_leader(&mut BatchSpec::new(0, 1).build(), &client())),
    ];
    for roll in rolls {
        let dir = TempDir::new();
        let hook = Arc::new(PanicsInRoll::default());
        let (logs, _executor) = full_log(&dir, Some(hook.clone()));
        let log = logs.get("t", 0).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| roll(&log))).is_err());
        assert!(hook.has_panicked.load(Ordering::SeqCst));
        log.flush(1_000).unwrap();
        assert_eq!(log.recovery_point(), 1);
        assert_eq!(log.roll(1_000).unwrap(), 1);
    }
}

/// Counts syncs of a log's file; one of them panics where that is asked for.
#[derive(Default)]
struct Flushes {
    count: AtomicUsize,
    panics: AtomicBool,
}

impl FaultHook for Flushes {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        if op == DiskOp::Sync && path.ends_with("t-0/00000000000000000000.log") {
            self.count.fetch_add(1, Ordering::SeqCst);
            assert!(!self.panics.swap(false, Ordering::SeqCst), "as the test wants it");
        }
        Injected::Nothing
    }
}

/// However many appends wait for a flush, the log has one job, and they share its flush.
#[test]
fn appends_that_wait_for_a_flush_share_one() {
    let dir = TempDir::new();
    let hook = Arc::new(Flushes::default());
    let settings = LogConfig { flush_messages: 1, ..LogConfig::default() };
    let (logs, executor) = with_jobs_later(&dir, settings, Some(hook.clone()));
    let log = create(&logs, "t");
    let results = Arc::new(Results::default());
    let waiter: Arc<dyn AppendWaiter> = results.clone();
    let submit = |token| log.submit(&mut BatchSpec::new(0, 1).build(), &client(), &waiter, token);
    for token in 0..10 {
        assert!(matches!(submit(token), Submitted::Queued));
    }
    assert_eq!((executor.count(), results.tokens().len()), (1, 0));
    executor.run_all();
    assert_eq!(results.tokens(), (0..10).collect::<Vec<u64>>());
    assert_eq!((hook.count.load(Ordering::SeqCst), log.recovery_point()), (1, 10));

    // A bug in it leaves nobody without an answer, and the next one gets a job again.
    hook.panics.store(true, Ordering::SeqCst);
    for token in 20..22 {
        assert!(matches!(submit(token), Submitted::Queued));
    }
    executor.run_all();
    assert_eq!(results.tokens()[10..], [20, 21]);
    assert!(results.0.lock()[10..].iter().all(|(_, result)| result.is_err()));
    assert!(matches!(submit(22), Submitted::Queued));
    executor.run_all();
    assert_eq!((results.tokens()[12..].to_vec(), log.recovery_point()), (vec![22], 13));
}

/// Brings another append when it hears of one, three in all.
struct Again {
    log: Arc<Log>,
    me: Weak<Again>,
    results: Results,
}

impl AppendWaiter for Again {
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>) {
        self.results.done(token, result);
        if let Some(me) = self.me.upgrade().filter(|_| token < 2) {
            let waiter: Arc<dyn AppendWaiter> = me;
            let mut batch = BatchSpec::new(0, 1).build();
            let submitted = self.log.submit(&mut batch, &client(), &waiter, token + 1);
            assert!(matches!(submitted, Submitted::Queued));
        }
    }
}

/// What comes while the job is at work may not be covered by its flush, and gets another one.
#[test]
fn what_comes_during_a_flush_waits_for_the_next_one() {
    let dir = TempDir::new();
    let settings = LogConfig { flush_messages: 1, ..LogConfig::default() };
    let (logs, executor) = with_jobs_later(&dir, settings, None);
    let log = create(&logs, "t");
    let heard = Arc::new_cyclic(|me| Again {
        log: log.clone(),
        me: me.clone(),
        results: Results::default(),
    });
    let waiter: Arc<dyn AppendWaiter> = heard.clone();
    let submitted = log.submit(&mut BatchSpec::new(0, 1).build(), &client(), &waiter, 0);
    assert!(matches!(submitted, Submitted::Queued));
    for answered in 1..4 {
        assert_eq!(executor.count(), 1);
        executor.run_all();
        assert_eq!(heard.results.tokens(), (0..answered).collect::<Vec<u64>>());
    }
    assert_eq!((log.recovery_point(), log.log_end_offset(), executor.count()), (3, 3, 0));
}

/// A roll asks for the flush of what it closed, unless one that does that is asked for already.
#[test]
fn rolls_ask_for_one_flush() {
    let dir = TempDir::new();
    let (logs, executor) = with_jobs_later(&dir, LogConfig::default(), None);
    let log = create(&logs, "t");
    for _ in 0..5 {
        append(&log, BatchSpec::new(0, 1));
        log.roll(1_000).unwrap();
    }
    assert_eq!(executor.count(), 1);
    executor.run_all();
    assert_eq!(log.recovery_point(), 5);
    append(&log, BatchSpec::new(0, 1));
    log.roll(1_000).unwrap();
    assert_eq!(executor.count(), 1);
    executor.run_all();
    assert_eq!(log.recovery_point(), 6);
}

#[test]
fn what_was_decided_for_an_earlier_leader_cuts_nothing_off() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    log.make_follower(3);
    let replicate = |epoch: i32, offset: i64, expected_end: i64| {
        let batch = BatchSpec::new(offset, 5).leader_epoch(epoch).build();
        let context = AppendContext::replication(epoch, expected_end, 1_000);
        log.append_with_offsets(&batch, &context)
    };
    replicate(3, 0, 0).unwrap();
    // What was asked for when the log ended elsewhere would leave a hole, or be there twice.
    for expected in [0, 4, 6] {
        let refused = replicate(3, 5, expected);
        assert!(matches!(refused, Err(AppendError::UnexpectedOffset { .. })), "{refused:?}");
    }
    replicate(3, 5, 5).unwrap();
    assert_eq!(log.log_end_offset(), 10);

    log.make_follower(4);
    assert_eq!(log.truncate_as_follower(5, 3, 1_000).unwrap(), None);
    assert!(!log.begin_as_follower_at(50, 3, 1_000).unwrap());
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (0, 10));
    assert_eq!(log.truncate_as_follower(5, 4, 1_000).unwrap(), Some(true));
    assert_eq!(log.log_end_offset(), 5);
    // It leads: nobody cuts off what it appends, nor its epoch.
    log.make_leader(6);
    logs.truncate_follower(&log, 2, 4, 1_000).unwrap();
    logs.truncate_follower(&log, 5, 4, 1_000).unwrap();
    logs.begin_follower_at(&log, 50, 4, 1_000).unwrap();
    assert_eq!((log.log_end_offset(), log.latest_epoch()), (5, Some((6, 5))));
    log.make_follower(7);
    logs.begin_follower_at(&log, 50, 7, 1_000).unwrap();
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (50, 50));
}
