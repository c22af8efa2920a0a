//! What the writer thread of a slow directory does for its logs, in turn and whatever happens.

use crate::common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use common::*;
use parking_lot::Mutex;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendError, AppendInfo, AppendWaiter, CreateRequest, Disk, DiskOp, FaultHook, Injected, Log,
    LogConfig, LogManager, Submitted,
};
use thalweg_wire::ErrorCode;

const TIMEOUT: Duration = Duration::from_secs(20);

/// Writes take long enough to be a stall. One of partition 0 panics where that is asked for.
#[derive(Default)]
struct Slow {
    panics: AtomicBool,
}

impl FaultHook for Slow {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        if op == DiskOp::Write && path.extension().is_some_and(|extension| extension == "log") {
            let is_first = path.parent().is_some_and(|dir| dir.ends_with("t-0"));
            assert!(
                !is_first || !self.panics.swap(false, Ordering::SeqCst),
                "as the test wants it"
            );
            std::thread::sleep(Duration::from_millis(40));
        }
        Injected::Nothing
    }
}

/// Two logs of a directory that is slow already.
fn two_slow_logs(dir: &TempDir, hook: &Arc<Slow>) -> (LogManager, Arc<Log>, Arc<Log>) {
    let mut config = config(&[dir.path()], LogConfig::default());
    config.disk = Disk::with_hook(Arc::clone(hook) as Arc<dyn FaultHook>);
    let (logs, _) = LogManager::open(config).unwrap();
    let log = |partition| logs.create(&CreateRequest::new("t", partition, TOPIC_ID), 0).unwrap();
    let (first, second) = (log(0), log(1));
    until("the directory is slow", || {
        append(&first, BatchSpec::new(0, 1));
        first.dir().is_slow()
    });
    (logs, first, second)
}

fn submit(log: &Log, waiter: &Arc<dyn AppendWaiter>) {
    let submitted = log.submit(&mut BatchSpec::new(0, 1).build(), &client(), waiter, 0);
    assert!(matches!(submitted, Submitted::Queued), "{submitted:?}");
}

/// Passes results on.
struct Answers(Mutex<mpsc::Sender<Result<AppendInfo, AppendError>>>);

impl AppendWaiter for Answers {
    fn done(&self, _: u64, result: Result<AppendInfo, AppendError>) {
        let _ = self.0.lock().send(result);
    }
}

fn answers() -> (Arc<dyn AppendWaiter>, mpsc::Receiver<Result<AppendInfo, AppendError>>) {
    let (sender, answers) = mpsc::channel();
    (Arc::new(Answers(Mutex::new(sender))), answers)
}

/// Brings the next append as soon as the last one is answered, until it is told to stop.
struct Insatiable {
    log: Arc<Log>,
    me: OnceLock<std::sync::Weak<Insatiable>>,
    answers: AtomicUsize,
    enough: AtomicBool,
}

impl AppendWaiter for Insatiable {
    fn done(&self, _: u64, result: Result<AppendInfo, AppendError>) {
        result.unwrap();
        self.answers.fetch_add(1, Ordering::SeqCst);
        if !self.enough.load(Ordering::SeqCst)
            && let Some(me) = self.me.get().and_then(std::sync::Weak::upgrade)
        {
            let waiter: Arc<dyn AppendWaiter> = me;
            submit(&self.log, &waiter);
        }
    }
}

#[test]
fn a_log_that_always_has_more_keeps_no_other_one_waiting() {
    let dir = TempDir::new();
    let (_logs, first, second) = two_slow_logs(&dir, &Arc::default());
    let busy = Arc::new(Insatiable {
        log: first.clone(),
        me: OnceLock::new(),
        answers: AtomicUsize::new(0),
        enough: AtomicBool::new(false),
    });
    let _ = busy.me.set(Arc::downgrade(&busy));
    let insatiable: Arc<dyn AppendWaiter> = busy.clone();
    submit(&first, &insatiable);
    until("there is an answer", || busy.answers.load(Ordering::SeqCst) > 0);
    let (waiter, answers) = answers();
    for _ in 0..3 {
        let before = busy.answers.load(Ordering::SeqCst);
        submit(&second, &waiter);
        let answer = answers.recv_timeout(TIMEOUT);
        let turns = busy.answers.load(Ordering::SeqCst) - before;
        if answer.is_err() || turns > 4 {
            busy.enough.store(true, Ordering::SeqCst);
            panic!("the other log had {turns} turns meanwhile: {answer:?}");
        }
    }
    busy.enough.store(true, Ordering::SeqCst);
}

/// Panics when it hears of its append.
struct Panics;

impl AppendWaiter for Panics {
    fn done(&self, _: u64, _: Result<AppendInfo, AppendError>) {
        panic!("as the test wants it");
    }
}

#[test]
fn a_panic_on_the_writer_thread_stops_nobody_else() {
    let dir = TempDir::new();
    let hook = Arc::new(Slow::default());
    let (logs, first, second) = two_slow_logs(&dir, &hook);
    let (waiter, answers) = answers();

    let panics: Arc<dyn AppendWaiter> = Arc::new(Panics);
    submit(&first, &panics);
    submit(&second, &waiter);
    answers.recv_timeout(TIMEOUT).unwrap().unwrap();
    submit(&first, &waiter);
    answers.recv_timeout(TIMEOUT).unwrap().unwrap();
    assert_eq!(logs.metrics().panics.get(), 1);

    // In the middle of an append: it is answered, too, and the partition goes on.
    hook.panics.store(true, Ordering::SeqCst);
    submit(&first, &waiter);
    let error = answers.recv_timeout(TIMEOUT).unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::UNKNOWN_SERVER_ERROR, "{error}");
    let end = first.log_end_offset();
    submit(&first, &waiter);
    assert_eq!(answers.recv_timeout(TIMEOUT).unwrap().unwrap().first_offset, end);
    submit(&second, &waiter);
    answers.recv_timeout(TIMEOUT).unwrap().unwrap();
    assert_eq!(logs.metrics().panics.get(), 2);
    assert_eq!(batches(&read_all(&first, 0, 1 << 20)).len() as i64, end + 1);
}
