//! Disks that fail, tear writes and take their time.

use crate::common;
#[path = "exhausted/mod.rs"]
mod exhausted;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::*;
use parking_lot::Mutex;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, AppendError, AppendInfo, AppendWaiter, CreateRequest, DirFailureListener, Disk,
    DiskOp, Executor, FaultHook, Injected, Log, LogConfig, LogDir, LogManager, ReadError,
    StorageError, Submitted,
};
use thalweg_wire::ErrorCode;

type Rule = Box<dyn Fn(DiskOp, &Path, usize) -> Injected + Send + Sync>;

/// A hook whose rule can be changed.
#[derive(Default)]
struct Faults(Mutex<Option<Arc<Rule>>>);

impl Faults {
    fn set(&self, rule: impl Fn(DiskOp, &Path, usize) -> Injected + Send + Sync + 'static) {
        *self.0.lock() = Some(Arc::new(Box::new(rule)));
    }
    fn clear(&self) {
        *self.0.lock() = None;
    }
}

impl FaultHook for Faults {
    fn before(&self, op: DiskOp, path: &Path, len: usize) -> Injected {
        let rule = self.0.lock().clone();
        rule.map_or(Injected::Nothing, |rule| rule(op, path, len))
    }
}

fn eio() -> io::Error {
    io::Error::from_raw_os_error(5)
}

fn open_with(
    dirs: &[&Path],
    settings: LogConfig,
    faults: &Arc<Faults>,
    listener: Option<Arc<dyn DirFailureListener>>,
) -> LogManager {
    let mut config = config(dirs, settings);
    config.disk = Disk::with_hook(faults.clone());
    config.listener = listener;
    LogManager::open(config).unwrap().0
}

#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl DirFailureListener for Failures {
    fn failed(&self, dir: &LogDir, error: &StorageError) {
        assert_eq!(dir.path(), error.dir);
        self.0.lock().push(error.reason.to_string());
    }
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "log")
}

#[test]
fn an_io_error_takes_its_directory_offline_and_no_other() {
    const ENOSPC: i32 = 28;
    const EROFS: i32 = 30;
    const EIO: i32 = 5;
    for errno in [ENOSPC, EROFS, EIO] {
        a_directory_goes_offline(errno);
    }
}

fn a_directory_goes_offline(errno: i32) {
    let (bad, good) = (TempDir::new(), TempDir::new());
    let faults = Arc::new(Faults::default());
    let failures = Arc::new(Failures::default());
    let logs = open_with(
        &[bad.path(), good.path()],
        LogConfig::default(),
        &faults,
        Some(failures.clone()),
    );
    let ids: Vec<_> = logs.dirs().iter().map(|dir| dir.id()).collect();
    let make = |topic, at: usize| {
        let request =
            CreateRequest { dir: Some(ids[at]), ..CreateRequest::new(topic, 0, TOPIC_ID) };
        logs.create(&request, 1_000).unwrap()
    };
    let (first, second, fine) = (make("a", 0), make("b", 0), make("c", 1));
    for log in [&first, &second, &fine] {
        append(log, BatchSpec::new(0, 2));
    }
    let root = bad.path().to_path_buf();
    faults.set(move |op, path, _| {
        if op == DiskOp::Write && is_log(path) && path.starts_with(&root) {
            Injected::Fail(io::Error::from_raw_os_error(errno))
        } else {
            Injected::Nothing
        }
    });
    let batch = || BatchSpec::new(0, 1).build();
    let error = first.append_as_leader(&mut batch(), &client()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::KAFKA_STORAGE_ERROR);
    assert!(error.to_string().contains("a-0"), "{error}");
    faults.clear();
    // All partitions of the directory, for good, though the disk works again.
    for log in [&first, &second] {
        let error = log.append_as_leader(&mut batch(), &client()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::KAFKA_STORAGE_ERROR);
        let error = log.read(&request(0, 100)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::KAFKA_STORAGE_ERROR);
        assert_eq!(log.log_end_offset(), 2);
    }
    append(&fine, BatchSpec::new(0, 1));
    assert_eq!(failures.0.lock().len(), 1);
    assert!(logs.dirs()[0].failure().is_some() && logs.dirs()[1].failure().is_none());
    // New partitions go elsewhere; one that might be on the dead disk is not made anew.
    let anywhere = CreateRequest::new("d", 0, TOPIC_ID);
    assert_eq!(logs.create(&anywhere, 1_000).unwrap().dir().path(), good.path());
    let known = CreateRequest { is_new: false, ..CreateRequest::new("e", 0, TOPIC_ID) };
    assert!(logs.create(&known, 1_000).is_err());
    // Housekeeping and stopping get by; only the good directory is marked clean.
    logs.clean_up(9_000);
    logs.flush_due(9_000);
    logs.checkpoint();
    logs.shut_down(1, 9_000);
    assert!(good.path().join(".kafka_cleanshutdown").exists());
    assert!(!bad.path().join(".kafka_cleanshutdown").exists());
    drop((logs, first, second, fine));
    let (logs, report) =
        LogManager::open(config(&[bad.path(), good.path()], LogConfig::default())).unwrap();
    assert_eq!(report.previous_broker_epoch, -1);
    assert_eq!(logs.get("a", 0).unwrap().log_end_offset(), 2);
}

#[test]
fn a_failed_fsync_is_not_repeated() {
    let dir = TempDir::new();
    let faults = Arc::new(Faults::default());
    let logs = open_with(&[dir.path()], LogConfig::default(), &faults, None);
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 2));
    logs.checkpoint();
    let syncs = Arc::new(AtomicUsize::new(0));
    let count = syncs.clone();
    faults.set(move |op, path, _| {
        if op == DiskOp::Sync && is_log(path) {
            count.fetch_add(1, Ordering::SeqCst);
            return Injected::Fail(eio());
        }
        Injected::Nothing
    });
    assert!(log.flush(1_000).is_err());
    assert_eq!(log.recovery_point(), 0, "nothing is known to be on the disk");
    assert!(log.flush(1_000).is_err());
    logs.flush_due(99_000);
    logs.shut_down(1, 1_000);
    assert_eq!(syncs.load(Ordering::SeqCst), 1);
    assert!(!dir.path().join(".kafka_cleanshutdown").exists());
    let text = std::fs::read_to_string(dir.path().join("recovery-point-offset-checkpoint"));
    assert_eq!(text.unwrap(), "0\n1\nt 0 0\n", "as it was before");
}

#[test]
fn a_flush_before_the_answer_that_fails_is_an_error() {
    let dir = TempDir::new();
    let faults = Arc::new(Faults::default());
    let settings = LogConfig { flush_messages: 1, ..LogConfig::default() };
    let logs = open_with(&[dir.path()], settings, &faults, None);
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 1));
    assert_eq!(log.recovery_point(), 1);
    faults.set(|op, _, _| match op {
        DiskOp::Sync => Injected::Fail(eio()),
        _ => Injected::Nothing,
    });
    let error = log.append_as_leader(&mut BatchSpec::new(0, 1).build(), &client()).unwrap_err();
    assert!(matches!(error, AppendError::Storage(_)), "{error}");
}

#[test]
fn a_torn_write_is_cut_off_at_the_next_start() {
    for torn in [0, 1, 60, 61, 100, 150] {
        let dir = TempDir::new();
        let faults = Arc::new(Faults::default());
        let logs = open_with(&[dir.path()], LogConfig::default(), &faults, None);
        let log = create(&logs, "t");
        append(&log, BatchSpec::new(0, 2));
        let expected = read_all(&log, 0, 1000);
        faults.set(move |op, path, _| {
            if op == DiskOp::Write && is_log(path) {
                Injected::Torn(torn, eio())
            } else {
                Injected::Nothing
            }
        });
        let mut batch = BatchSpec::new(0, 2).value_len(100).build();
        assert!(log.append_as_leader(&mut batch, &client()).is_err());
        drop((log, logs));
        let (logs, report) = open(&dir, LogConfig::default());
        let log = logs.get("t", 0).unwrap();
        let stats = report.dirs[0].stats;
        // The first byte of a batch is a zero.
        assert_eq!(stats.truncated_bytes + stats.zeroed_bytes, torn as u64);
        assert!(read_all(&log, 0, 1000) == expected);
        assert_eq!(append(&log, BatchSpec::new(0, 1)).first_offset, 2);
    }
}

#[test]
fn short_writes_are_completed() {
    let dir = TempDir::new();
    let faults = Arc::new(Faults::default());
    let logs = open_with(&[dir.path()], LogConfig::default(), &faults, None);
    let log = create(&logs, "t");
    faults.set(|op, path, len| {
        if op == DiskOp::Write && is_log(path) {
            Injected::Short(len.min(13))
        } else {
            Injected::Nothing
        }
    });
    let mut expected = Vec::new();
    for i in 0..5 {
        let mut bytes = BatchSpec::new(0, 2).value_len(i * 20).build();
        log.append_as_leader(&mut bytes, &client()).unwrap();
        expected.extend(bytes);
    }
    assert!(read_all(&log, 0, 1 << 20) == expected);
}

#[test]
fn every_operation_may_fail_anywhere_and_acknowledged_records_stay() {
    // The n-th operation fails, for every n, in a run that does a bit of everything.
    let settings = LogConfig {
        segment_bytes: 600,
        index_interval_bytes: 100,
        retention_bytes: 1_500,
        file_delete_delay_ms: 0,
        ..LogConfig::default()
    };
    let mut n = 0;
    loop {
        let dir = TempDir::new();
        let faults = Arc::new(Faults::default());
        let seen = Arc::new(AtomicUsize::new(0));
        let count = seen.clone();
        faults.set(move |_, _, _| {
            if count.fetch_add(1, Ordering::SeqCst) == n {
                Injected::Fail(eio())
            } else {
                Injected::Nothing
            }
        });
        let mut acknowledged = Vec::new();
        let mut config = config(&[dir.path()], settings.clone());
        config.disk = Disk::with_hook(faults.clone());
        if let Ok((logs, _)) = LogManager::open(config) {
            let work = || -> Result<(), Box<dyn std::error::Error>> {
                let log = logs.create(&CreateRequest::new("t", 0, TOPIC_ID), 1_000)?;
                log.make_leader(0);
                for i in 0..12 {
                    let mut batch = BatchSpec::new(0, 1).producer(5, 0, i).value_len(120).build();
                    let info = log.append_as_leader(&mut batch, &client())?;
                    log.advance_high_watermark(info.last_offset + 1);
                    acknowledged.push(batch);
                    if i == 6 {
                        log.flush(1_000)?;
                        logs.checkpoint();
                        log.delete_old_segments(1_000)?;
                        logs.delete_due(1_000);
                        log.delete_records(3).map_err(|error| error.to_string())?;
                    }
                    log.read(&request(log.log_start_offset(), 1 << 20))?;
                }
                Ok(())
            };
            let mut work = work;
            let failed = work().is_err();
            logs.shut_down(1, 2_000);
            let is_hit = seen.load(Ordering::SeqCst) > n;
            assert!(is_hit || !failed, "operation {n} is not there, and something failed");
            let is_offline = logs.dirs()[0].failure().is_some();
            assert_eq!(is_offline, is_hit, "operation {n} failed, and nobody noticed");
            let is_clean = dir.path().join(".kafka_cleanshutdown").exists();
            assert!(!is_hit || !is_clean || acknowledged.len() == 12, "operation {n}");
        }
        let done = seen.load(Ordering::SeqCst) <= n;
        let (logs, _) = open(&dir, settings.clone());
        match logs.get("t", 0) {
            None => assert!(acknowledged.is_empty(), "operation {n}"),
            Some(log) => {
                let start = log.log_start_offset();
                let bytes = read_all(&log, start, 1 << 20);
                let last = acknowledged.len() as i64;
                assert!(log.log_end_offset() >= last, "operation {n}");
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let len = thalweg_records::batch::frame_len(rest).unwrap();
                    let base = i64::from_be_bytes(rest[..8].try_into().unwrap());
                    if base < last {
                        assert!(acknowledged[base as usize] == rest[..len], "operation {n}");
                    }
                    rest = &rest[len..];
                }
                // Idempotence goes on.
                if last > 0 {
                    let again = BatchSpec::new(0, 1).producer(5, 0, last as i32 - 1);
                    let info = log.append_as_leader(&mut again.build(), &client()).unwrap();
                    assert!(info.duplicate, "operation {n}: {info:?}");
                    assert_eq!(info.first_offset, last - 1, "operation {n}: {info:?}");
                }
            }
        }
        if done {
            break;
        }
        n += 1;
    }
    assert!(n > 100, "only {n} operations");
}

/// Runs jobs on threads of its own.
struct Threads;

impl Executor for Threads {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        std::thread::spawn(job);
    }
}

struct Answers(Mutex<mpsc::Sender<(u64, Result<AppendInfo, AppendError>)>>);

impl AppendWaiter for Answers {
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>) {
        self.0.lock().send((token, result)).unwrap();
    }
}

fn submit(log: &Log, waiter: &Arc<dyn AppendWaiter>, token: u64) -> Option<AppendInfo> {
    let mut batch = BatchSpec::new(0, 1).value_len(100).timestamp(token as i64).build();
    match log.submit(&mut batch, &client(), waiter, token) {
        Submitted::Done(result) => Some(result.unwrap()),
        Submitted::Queued => None,
        Submitted::Full => panic!("full"),
    }
}

#[test]
fn nobody_who_submits_waits_for_a_slow_disk_but_the_writer() {
    let dir = TempDir::new();
    let faults = Arc::new(Faults::default());
    let mut config =
        config(&[dir.path()], LogConfig { segment_bytes: 1_000, ..LogConfig::default() });
    config.disk = Disk::with_hook(faults.clone());
    config.executor = Some(Arc::new(Threads));
    let (logs, _) = LogManager::open(config).unwrap();
    let log = create(&logs, "t");
    let (sender, answers) = mpsc::channel();
    let waiter: Arc<dyn AppendWaiter> = Arc::new(Answers(Mutex::new(sender)));
    let slow = Duration::from_millis(300);

    // A slow roll: appends queue up behind it, readers and offsets do not.
    let mut token = 0;
    while log.size() + 200 < 1_000 {
        assert!(submit(&log, &waiter, token).is_some());
        token += 1;
    }
    faults.set(move |op, path, _| {
        if op == DiskOp::Open && is_log(path) {
            std::thread::sleep(slow);
        }
        Injected::Nothing
    });
    let began = Instant::now();
    let end = log.log_end_offset();
    let mut queued = Vec::new();
    for _ in 0..4 {
        if submit(&log, &waiter, token).is_none() {
            queued.push(token);
        }
        token += 1;
    }
    assert_eq!(queued.len(), 4, "they wait for the roll");
    assert!(log.active_producers().is_empty());
    assert_eq!(log.log_end_offset(), end);
    assert!(began.elapsed() < slow, "{:?}", began.elapsed());
    let first: Vec<(u64, _)> = (0..4).map(|_| answers.recv_timeout(slow * 20).unwrap()).collect();
    assert!(began.elapsed() >= slow);
    for (at, (token, result)) in first.iter().enumerate() {
        assert_eq!(*token, queued[at], "in the order they came");
        assert_eq!(result.as_ref().unwrap().first_offset, end + at as i64);
    }
    assert_eq!(log.segment_count(), 2);

    // A slow write: who comes meanwhile is written together, with one call.
    faults.set(move |op, path, _| {
        if op == DiskOp::Write && is_log(path) {
            std::thread::sleep(slow);
        }
        Injected::Nothing
    });
    log.update_config(LogConfig::default().into());
    let writes = logs.metrics().log_writes.get();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            log.append_as_leader(&mut BatchSpec::new(0, 1).build(), &client()).unwrap();
        });
        std::thread::sleep(slow / 3);
        let began = Instant::now();
        for _ in 0..20 {
            assert!(submit(&log, &waiter, token).is_none());
            token += 1;
        }
        assert!(began.elapsed() < slow / 3, "{:?}", began.elapsed());
    });
    for _ in 0..20 {
        answers.recv_timeout(slow * 20).unwrap().1.unwrap();
    }
    assert_eq!(logs.metrics().log_writes.get() - writes, 2);
    assert_eq!(logs.metrics().coalesced_appends.get(), 20 + 4);

    // Without stalls appends are written by those who bring them again, after a while.
    assert!(log.dir().is_slow());
    faults.clear();
    until("the directory is no longer slow", || !log.dir().is_slow());

    // A slow flush holds nobody up.
    faults.set(move |op, _, _| {
        if op == DiskOp::Sync {
            std::thread::sleep(slow);
        }
        Injected::Nothing
    });
    std::thread::scope(|scope| {
        scope.spawn(|| log.flush(1_000).unwrap());
        std::thread::sleep(slow / 3);
        let began = Instant::now();
        for _ in 0..20 {
            assert!(submit(&log, &waiter, token).is_some());
            token += 1;
        }
        read_all(&log, 0, 1 << 20);
        assert!(began.elapsed() < slow / 3, "{:?}", began.elapsed());
    });
}

#[test]
fn a_directory_that_stalls_keeps_one_thread_and_no_other_directory() {
    let (bad, good) = (TempDir::new(), TempDir::new());
    let faults = Arc::new(Faults::default());
    let mut config = config(&[bad.path(), good.path()], LogConfig::default());
    config.disk = Disk::with_hook(faults.clone());
    config.executor = Some(Arc::new(Threads));
    config.max_inline_appends = 3;
    let (logs, _) = LogManager::open(config).unwrap();
    let make = |at: usize, partition| {
        let dir = Some(logs.dirs()[at].id());
        let request = CreateRequest { dir, ..CreateRequest::new("t", partition, TOPIC_ID) };
        logs.create(&request, 1_000).unwrap()
    };
    let slow: Vec<Arc<Log>> = (0..8).map(|partition| make(0, partition)).collect();
    let fast = make(1, 8);
    let (sender, answers) = mpsc::channel();
    let waiter: Arc<dyn AppendWaiter> = Arc::new(Answers(Mutex::new(sender)));

    // Whoever writes to the bad directory is held until the end of the test's first half.
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let held = Arc::new(AtomicUsize::new(0));
    let (inside, path_of_bad) = (held.clone(), bad.path().to_path_buf());
    faults.set(move |op, path, _| {
        if op == DiskOp::Write && path.starts_with(&path_of_bad) {
            inside.fetch_add(1, Ordering::SeqCst);
            // Until the other end is dropped; a test that fails before that ends, too.
            let _ = gate.lock().recv_timeout(Duration::from_secs(60));
        }
        Injected::Nothing
    });
    std::thread::scope(|scope| {
        // All come at once, before anybody can know that the disk stalls.
        let (answers_of, waiter_of) = (&answers, &waiter);
        let threads: Vec<_> = slow
            .iter()
            .enumerate()
            .map(|(at, log)| scope.spawn(move || submit(log, waiter_of, at as u64)))
            .collect();
        // Three at most are held; the others have come back.
        let back = |n: usize| threads.iter().filter(|t| t.is_finished()).count() >= n;
        until("five have come back", || back(5));
        until("the directory is slow", || slow[0].dir().is_slow());
        // Nobody else is held, many more can come, and the other directory takes no notice.
        let mut queued = 0;
        for round in 0..100 {
            for log in &slow {
                assert!(submit(log, waiter_of, 100 + round).is_none());
                queued += 1;
            }
            // By its own writer thread, as long as nobody else is free to.
            queued += usize::from(submit(&fast, waiter_of, 0).is_none());
        }
        until("the other directory has its records", || fast.log_end_offset() >= 100);
        // Three threads that brought appends, and the directory's own.
        assert!(held.load(Ordering::SeqCst) <= 4);
        drop(release);
        let answered = threads.into_iter().filter_map(|t| t.join().unwrap()).count();
        for _ in 0..(8 - answered) + queued {
            answers_of.recv_timeout(Duration::from_secs(20)).unwrap().1.unwrap();
        }
    });
    for log in &slow {
        assert_eq!(log.log_end_offset(), 101);
    }
}

#[test]
fn an_append_that_must_be_flushed_is_answered_afterwards() {
    let dir = TempDir::new();
    let faults = Arc::new(Faults::default());
    let mut config = config(&[dir.path()], LogConfig { flush_messages: 1, ..LogConfig::default() });
    config.disk = Disk::with_hook(faults.clone());
    config.executor = Some(Arc::new(Threads));
    let (logs, _) = LogManager::open(config).unwrap();
    let log = create(&logs, "t");
    let (sender, answers) = mpsc::channel();
    let waiter: Arc<dyn AppendWaiter> = Arc::new(Answers(Mutex::new(sender)));
    assert!(submit(&log, &waiter, 7).is_none());
    let (token, result) = answers.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!((token, result.unwrap().first_offset), (7, 0));
    assert_eq!(log.recovery_point(), 1);
    faults.set(|op, _, _| match op {
        DiskOp::Sync => Injected::Fail(eio()),
        _ => Injected::Nothing,
    });
    assert!(submit(&log, &waiter, 8).is_none());
    let (_, result) = answers.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(result.unwrap_err().code(), ErrorCode::KAFKA_STORAGE_ERROR);
}

#[test]
fn a_reader_that_must_not_wait_is_told_so() {
    let dir = TempDir::new();
    let faults = Arc::new(Faults::default());
    let logs = open_with(&[dir.path()], LogConfig::default(), &faults, None);
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 2));
    append(&log, BatchSpec::new(0, 2));
    faults.set(|op, path, _| {
        if op == DiskOp::ReadCached && is_log(path) {
            Injected::Fail(io::ErrorKind::WouldBlock.into())
        } else {
            Injected::Nothing
        }
    });
    let request = thalweg_log::ReadRequest { wait: thalweg_log::Wait::Never, ..request(2, 70) };
    assert!(matches!(log.read(&request), Err(ReadError::WouldBlock)));
    faults.clear();
    assert!(log.read(&request).is_ok());
    assert!(logs.dirs()[0].failure().is_none());
}

/// The transactions that a reader of committed records has to skip are looked up without waiting,
/// too, where it must not wait.
#[test]
fn a_reader_of_committed_records_that_must_not_wait_is_told_so() {
    let dir = TempDir::new();
    let faults = Arc::new(Faults::default());
    let logs = open_with(&[dir.path()], LogConfig::default(), &faults, None);
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 2).producer(1, 0, 0).transactional());
    let marker = &mut BatchSpec::marker(0, 1, 0, 1, false).build();
    log.append_as_leader(marker, &AppendContext::coordinator(0, 1_000)).unwrap();
    log.advance_high_watermark(3);
    let waited = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&waited);
    let of_txns = |path: &Path| path.to_string_lossy().ends_with(".txnindex");
    faults.set(move |op, path, _| {
        if of_txns(path) && op == DiskOp::ReadCached {
            return Injected::Fail(io::ErrorKind::WouldBlock.into());
        }
        if of_txns(path) && op == DiskOp::Read {
            count.fetch_add(1, Ordering::SeqCst);
        }
        Injected::Nothing
    });
    let allowed = thalweg_log::ReadRequest {
        isolation: thalweg_log::Isolation::LastStable,
        ..request(0, 1 << 20)
    };
    let never = thalweg_log::ReadRequest { wait: thalweg_log::Wait::Never, ..allowed };
    assert!(matches!(log.read(&never), Err(ReadError::WouldBlock)));
    assert_eq!(waited.load(Ordering::SeqCst), 0, "reads that wait");
    assert_eq!(log.read(&allowed).unwrap().aborted.len(), 1);
    assert_eq!(waited.load(Ordering::SeqCst), 1);
    faults.clear();
    assert_eq!(log.read(&never).unwrap().aborted.len(), 1);
    assert!(logs.dirs()[0].failure().is_none());
}
