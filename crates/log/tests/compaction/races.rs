//! Others at work while a log is compacted, at every point of a pass: in the pass's own thread, from
//! within its calls to the disk, so that nothing is left to chance.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use thalweg_log::testing::TempDir;
use thalweg_log::{
    CleanerConfig, Disk, DiskOp, FaultHook, Injected, LogManager, ReadError, ReadRequest, Wait,
};

use super::*;

type Rule = Box<dyn Fn(DiskOp, &Path) -> Injected + Send + Sync>;

/// Does something before each call to the disk, but not within what it does.
#[derive(Default)]
struct Within {
    rule: Mutex<Option<Arc<Rule>>>,
    is_busy: Mutex<bool>,
}

impl Within {
    fn set(&self, rule: impl Fn(DiskOp, &Path) -> Injected + Send + Sync + 'static) {
        *self.rule.lock() = Some(Arc::new(Box::new(rule)));
    }

    fn clear(&self) {
        *self.rule.lock() = None;
    }
}

impl FaultHook for Within {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        let Some(rule) = self.rule.lock().clone() else { return Injected::Nothing };
        if std::mem::replace(&mut *self.is_busy.lock(), true) {
            return Injected::Nothing;
        }
        let injected = rule(op, path);
        *self.is_busy.lock() = false;
        injected
    }
}

/// A compacted log, and what it is watched by.
struct Stage {
    dir: TempDir,
    within: Arc<Within>,
    logs: Arc<LogManager>,
    log: Arc<Log>,
    writer: Writer,
}

impl Stage {
    fn new(seed: u64) -> Stage {
        Stage::of(seed, everything())
    }

    fn of(seed: u64, kind: Kind) -> Stage {
        Stage::with_files(seed, kind, 1024)
    }

    /// Of log files no more than so many are held open.
    fn with_files(seed: u64, kind: Kind, open_files_max: usize) -> Stage {
        let dir = TempDir::in_memory();
        let within = Arc::new(Within::default());
        let settings = LogConfig { segment_bytes: 12_000, ..compacted() };
        let mut config = config(&[dir.path()], settings);
        config.disk = Disk::with_hook(within.clone());
        config.max_open_files_per_dir = open_files_max;
        let logs = Arc::new(LogManager::open(config).unwrap().0);
        let log = create(&logs, "t");
        let mut writer = Writer::new(seed, kind, 1_000_000);
        writer.append(&log, 250);
        writer.settle(&log);
        assert!(log.segment_count() > 4);
        Stage { dir, within, logs, log, writer }
    }

    /// How many calls to the disk a pass makes.
    fn calls(&self) -> usize {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        self.within.set(move |_, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            Injected::Nothing
        });
        assert!(self.logs.clean_once(self.writer.now).unwrap().end_offset.is_some());
        self.within.clear();
        count.load(Ordering::SeqCst)
    }

    /// Has `work` done before the call of that number, and not from within those that hold locks which
    /// `work` takes. Says whether it was done.
    fn at_call(&self, number: usize, work: impl Fn() + Send + Sync + 'static) -> Arc<AtomicUsize> {
        let (count, done) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let is_done = done.clone();
        self.within.set(move |op, path| {
            let at = count.fetch_add(1, Ordering::SeqCst);
            // While the pass replaces segments others wait for it, in other threads.
            let is_new = path.to_string_lossy().ends_with(".cleaned");
            let may = matches!(op, DiskOp::Read | DiskOp::Write | DiskOp::Sync) && is_new
                || op == DiskOp::Read && path.extension().is_some_and(|suffix| suffix == "log");
            if at >= number && may && is_done.load(Ordering::SeqCst) == 0 {
                is_done.store(1, Ordering::SeqCst);
                work();
            }
            Injected::Nothing
        });
        done
    }

    fn no_leftovers(&self) {
        for entry in std::fs::read_dir(self.log.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.ends_with(".cleaned") && !name.ends_with(".swap"), "{name}");
        }
    }

    fn check_values(&self) {
        let stable = self.log.last_stable_offset();
        let known = committed(&self.writer.appended, stable);
        assert_eq!(values(&read_visible(&self.log, stable)), values(known));
    }
}

#[test]
fn readers_find_everything_at_every_point_of_a_pass() {
    let stage = Stage::new(1);
    let log = stage.log.clone();
    let known = committed(&stage.writer.appended, log.last_stable_offset());
    let expected: Vec<(Vec<u8>, Vec<u8>)> =
        values(known).into_iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
    let (reads, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (all, some) = (reads.clone(), refused.clone());
    // One that goes on all the time: from batch to batch, round and round.
    let next = Mutex::new(0);
    stage.within.set(move |op, _| {
        // A rename is made with the name in hand, which who may wait for the disk waits for.
        let wait = if op == DiskOp::SyncDir { Wait::Allowed } else { Wait::Never };
        let mut at = next.lock();
        let asked = ReadRequest { wait, max_bytes: 700, ..committed_request(*at) };
        match log.read(&asked) {
            Ok(result) => {
                let found = parsed(&result.to_vec().unwrap());
                assert!(found.first().is_none_or(|first| first.last_offset >= *at));
                let end = log.last_stable_offset();
                *at = found.last().map_or(end, |last| last.last_offset + 1);
                *at = if *at >= end { 0 } else { *at };
                all.fetch_add(1, Ordering::SeqCst);
            }
            Err(ReadError::WouldBlock) if wait == Wait::Never => {
                some.fetch_add(1, Ordering::SeqCst);
            }
            Err(error) => panic!("{error}"),
        }
        if op == DiskOp::SyncDir {
            // And one that reads everything, by positions in files that have other names now.
            let found = read_visible(&log, log.last_stable_offset());
            let found: Vec<_> =
                values(&found).into_iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
            assert_eq!(found, expected);
        }
        Injected::Nothing
    });
    let pass = stage.logs.clean_once(stage.writer.now).unwrap();
    stage.within.clear();
    assert!(pass.end_offset.is_some());
    assert!(pass.bytes_written < pass.bytes_read / 2);
    let (reads, refused) = (reads.load(Ordering::SeqCst), refused.load(Ordering::SeqCst));
    assert!(reads > 100, "{reads} reads, {refused} that would have waited");
    stage.check_values();
}

#[test]
fn a_reader_that_may_not_wait_takes_no_directory_offline_while_files_are_renamed() {
    // What is read has to be opened, by a name that may just be changed.
    let stage = Stage::with_files(4, everything(), 1);
    let (log, refused) = (stage.log.clone(), Arc::new(AtomicUsize::new(0)));
    let starts = log.segment_base_offsets();
    let count = refused.clone();
    stage.within.set(move |op, _| {
        for offset in starts.iter().filter(|_| op == DiskOp::Rename) {
            match log.read(&ReadRequest { wait: Wait::Never, ..committed_request(*offset) }) {
                Ok(_) => {}
                Err(ReadError::WouldBlock) => _ = count.fetch_add(1, Ordering::SeqCst),
                Err(error) => panic!("{error}"),
            }
        }
        Injected::Nothing
    });
    assert!(stage.logs.clean_once(stage.writer.now).unwrap().end_offset.is_some());
    stage.within.clear();
    assert!(refused.load(Ordering::SeqCst) > 0, "nobody was refused");
    stage.check_values();
}

#[test]
fn a_reader_keeps_the_files_that_it_was_given() {
    let stage = Stage::new(2);
    let before = stage.log.read(&committed_request(0)).unwrap();
    let bytes = before.to_vec().unwrap();
    assert!(stage.logs.clean_once(stage.writer.now).unwrap().end_offset.is_some());
    stage.logs.delete_due(i64::MAX);
    assert!(before.to_vec().unwrap() == bytes);
    stage.check_values();
}

#[test]
fn a_truncation_ends_the_pass() {
    // An open transaction would keep what comes after it from being compacted.
    let plain = || Stage::of(3, Kind { transactions: false, ..everything() });
    let calls = plain().calls();
    let mut interrupted = 0;
    for number in (0..calls).step_by(calls / 12) {
        let stage = plain();
        let cut = stage.log.segment_base_offsets()[2] + 3;
        let (logs, now) = (Arc::downgrade(&stage.logs), stage.writer.now);
        let done = stage.at_call(number, move || {
            logs.upgrade().unwrap().truncate([("t", 0, cut)], now).unwrap();
        });
        let pass = stage.logs.clean_once(now).unwrap();
        stage.within.clear();
        if done.load(Ordering::SeqCst) == 0 {
            continue;
        }
        interrupted += 1;
        assert_eq!(pass.end_offset, None, "call {number}");
        stage.no_leftovers();
        assert!(stage.log.dir().check().is_ok());
        // A batch that reaches over the cut goes as a whole.
        assert_eq!(stage.log.log_end_offset(), cut);
        let found = all_batches(&stage.log);
        assert!(found.iter().all(|batch| batch.last_offset < cut));
        // What comes instead is new, whatever was compacted before.
        for at in 0..200 {
            put(&stage.log, &format!("after {}", at % 7), Some("value"), now);
        }
        stage.log.roll(now).unwrap();
        stage.log.advance_high_watermark(i64::MAX);
        assert!(stage.log.cleaned_offset().is_none_or(|offset| offset <= cut));
        while let Some(pass) = stage.logs.clean_once(now) {
            assert!(pass.end_offset.is_some());
        }
        let mut after = read_visible(&stage.log, stage.log.last_stable_offset());
        after.retain(|record| record.offset >= cut);
        assert_eq!(after.len(), 7);
    }
    assert!(interrupted > 5, "{interrupted}");
}

#[test]
fn whoever_deletes_or_closes_the_log_ends_the_pass() {
    let calls = Stage::new(4).calls();
    let mut interrupted = 0;
    for number in (0..calls).step_by(calls / 12) {
        for kind in 0..4 {
            let stage = Stage::new(4);
            let (logs, now) = (Arc::downgrade(&stage.logs), stage.writer.now);
            let log = stage.log.clone();
            let done = stage.at_call(number, move || match kind {
                0 => drop(logs.upgrade().unwrap().delete([("t", 0)], now).unwrap()),
                1 => log.close_cleanly(now).unwrap(),
                2 => log.update_config(LogConfig::default().into()),
                _ => logs
                    .upgrade()
                    .unwrap()
                    .configure_cleaner(CleanerConfig { threads: 2, ..CleanerConfig::default() }),
            });
            let pass = stage.logs.clean_once(now).unwrap();
            stage.within.clear();
            if done.load(Ordering::SeqCst) == 0 {
                continue;
            }
            interrupted += 1;
            assert_eq!(pass.end_offset, None, "call {number}, {kind}");
            assert!(stage.log.dir().check().is_ok(), "call {number}, {kind}");
            assert!(!stage.log.is_uncleanable());
            stage.no_leftovers();
            match kind {
                0 => {
                    // The partition is made anew, and its records are its own.
                    assert!(stage.logs.get("t", 0).is_none());
                    stage.logs.delete_due(i64::MAX);
                    let log = create(&stage.logs, "t");
                    assert_eq!((log.log_end_offset(), log.cleaned_offset()), (0, None));
                }
                1 => assert_eq!(stage.logs.clean_once(now), None),
                2 => {
                    assert_eq!(stage.logs.clean_once(now), None);
                    stage.check_values();
                }
                _ => {
                    assert!(stage.logs.clean_once(now).unwrap().end_offset.is_some());
                    stage.check_values();
                }
            }
        }
    }
    assert!(interrupted > 20, "{interrupted}");
}

#[test]
fn appends_rolls_and_retention_go_on() {
    let calls = Stage::new(5).calls();
    for number in (0..calls).step_by(calls / 12) {
        let stage = Stage::new(5);
        let (logs, now) = (Arc::downgrade(&stage.logs), stage.writer.now);
        let log = stage.log.clone();
        let before = log.segment_base_offsets();
        let done = stage.at_call(number, move || {
            put(&log, "new", Some("value"), now);
            log.roll(now).unwrap();
            log.advance_high_watermark(i64::MAX);
            log.flush(now).unwrap();
            log.delete_records(before[2]).unwrap();
            // What is being compacted is not deleted meanwhile.
            let logs = logs.upgrade().unwrap();
            assert_eq!(logs.clean_up(now), 0);
            logs.checkpoint();
            logs.flush_due(now);
        });
        let pass = stage.logs.clean_once(now).unwrap();
        stage.within.clear();
        assert!(pass.end_offset.is_some(), "call {number}");
        if done.load(Ordering::SeqCst) == 1 {
            let found = read_visible(&stage.log, stage.log.last_stable_offset());
            assert_eq!(found.last().unwrap().key.as_deref(), Some(&b"new"[..]));
            assert!(found.iter().all(|record| record.offset >= stage.log.log_start_offset()));
            let count = stage.log.segment_count();
            stage.logs.clean_up(now);
            assert!(stage.log.segment_count() <= count);
        }
    }
}

#[test]
fn a_full_table_of_descriptors_puts_a_pass_off() {
    const EMFILE: i32 = 24;
    let calls = Stage::new(6).calls();
    for number in (0..calls).step_by(calls / 20) {
        let stage = Stage::new(6);
        let count = AtomicUsize::new(0);
        stage.within.set(move |op, path| {
            let at = count.fetch_add(1, Ordering::SeqCst);
            // Once the new segment is to take its place there is no way back.
            let may = op == DiskOp::Open && path.is_file();
            match at >= number && may {
                true => Injected::Fail(io::Error::from_raw_os_error(EMFILE)),
                false => Injected::Nothing,
            }
        });
        let pass = stage.logs.clean_once(stage.writer.now);
        stage.within.clear();
        let came_through = pass.is_some_and(|pass| pass.end_offset.is_some());
        assert!(stage.log.dir().check().is_ok(), "call {number}");
        assert!(!stage.log.is_uncleanable());
        stage.no_leftovers();
        stage.check_values();
        if !came_through {
            assert!(stage.logs.clean_once(stage.writer.now).unwrap().end_offset.is_some());
        }
        stage.check_values();
    }
}

#[test]
fn a_disk_that_fails_takes_the_directory_offline_and_a_start_finds_everything() {
    const EIO: i32 = 5;
    let calls = Stage::new(7).calls();
    for number in 0..calls {
        let stage = Stage::new(7);
        let count = AtomicUsize::new(0);
        stage.within.set(move |_, _| match count.fetch_add(1, Ordering::SeqCst) >= number {
            true => Injected::Fail(io::Error::from_raw_os_error(EIO)),
            false => Injected::Nothing,
        });
        stage.logs.clean_once(stage.writer.now);
        stage.within.clear();
        assert!(stage.log.dir().check().is_err(), "call {number}");
        assert_eq!(stage.logs.clean_once(stage.writer.now), None);
        let Stage { dir, logs, log, writer, .. } = stage;
        logs.shut_down(1, writer.now);
        drop((logs, log));
        let (logs, _) = open(&dir, LogConfig { segment_bytes: 12_000, ..compacted() });
        let log = logs.get("t", 0).unwrap();
        log.advance_high_watermark(i64::MAX);
        let stable = log.last_stable_offset();
        let known = committed(&writer.appended, stable);
        assert_eq!(values(&read_visible(&log, stable)), values(known), "call {number}");
    }
}

#[test]
fn what_cannot_be_read_is_given_up_alone_and_told() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, compacted());
    for topic in ["damaged", "sound"] {
        let log = create(&logs, topic);
        for _ in 0..10 {
            put(&log, "key", Some("value"), 10);
        }
        log.roll(10).unwrap();
        log.advance_high_watermark(i64::MAX);
    }
    let damaged = logs.get("damaged", 0).unwrap();
    let file = damaged.path().join("00000000000000000000.log");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2 + 70 - bytes.len() / 2 % (bytes.len() / 10);
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let passes: Vec<_> = std::iter::from_fn(|| logs.clean_once(10)).collect();
    assert_eq!(passes.len(), 2, "{passes:?}");
    for pass in passes {
        assert_eq!(pass.end_offset.is_some(), &*pass.topic == "sound");
    }
    assert!(damaged.is_uncleanable() && !logs.get("sound", 0).unwrap().is_uncleanable());
    let metrics = logs.cleaner_metrics();
    assert_eq!(metrics.dirs[0].uncleanable_partitions, 1);
    assert_eq!(metrics.dirs[0].uncleanable_bytes, damaged.size());
    assert_eq!(metrics.dirs[0].path, dir.path());
    // It is served as before, and one that is deleted is none of them.
    assert_eq!(read(&damaged, 0, 1 << 20).upper_bound_offset, 10);
    logs.delete([("damaged", 0)], 10).unwrap();
    assert_eq!(logs.cleaner_metrics().dirs[0].uncleanable_partitions, 0);
}

#[test]
fn a_key_that_a_disk_has_damaged_takes_no_others_place() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, compacted());
    let log = create(&logs, "t");
    put(&log, "right", Some("first"), 10);
    log.roll(10).unwrap();
    put(&log, "sight", Some("second"), 10);
    log.roll(10).unwrap();
    log.advance_high_watermark(i64::MAX);
    let file = log.path().join("00000000000000000001.log");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(5).position(|part| part == b"sight").unwrap();
    bytes[at] = b'r';
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(logs.clean_once(10).unwrap().end_offset, None);
    assert!(log.is_uncleanable());
    assert_eq!(parsed(&read(&log, 0, 1 << 20).to_vec().unwrap())[0].records.len(), 1);
    assert_eq!(read(&log, 0, 1 << 20).upper_bound_offset, 1);
}

#[test]
fn threads_do_it_by_the_clock_and_stop() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, compacted());
    logs.configure_cleaner(CleanerConfig {
        threads: 2,
        backoff: std::time::Duration::from_millis(1),
        ..CleanerConfig::default()
    });
    logs.start_cleaner(Arc::new(|| 10));
    let all: Vec<_> = (0..6).map(|topic| create(&logs, &format!("t{topic}"))).collect();
    let fill = || {
        for log in &all {
            for _ in 0..20 {
                put(log, "key", Some("value"), 10);
            }
            log.roll(10).unwrap();
            log.advance_high_watermark(i64::MAX);
        }
    };
    let is_clean = |end: i64| all.iter().all(|log| log.cleaned_offset() == Some(end));
    fill();
    until("all logs are compacted", || is_clean(20));
    // Other settings, while they run: fewer threads, more, none.
    for threads in [1, 3, 0, 2] {
        logs.configure_cleaner(CleanerConfig {
            threads,
            backoff: std::time::Duration::from_millis(1),
            ..CleanerConfig::default()
        });
        if threads > 0 {
            let end = all[0].log_end_offset() + 20;
            fill();
            until("all logs are compacted again", || is_clean(end));
        }
    }
    assert_eq!(logs.cleaner_metrics().dead_threads, 0);
    logs.stop_cleaner();
    let end = all[0].log_end_offset();
    fill();
    assert!(is_clean(end), "nobody is there to do it");
    // Threads end with the manager, also without a stop: another one gets the directory at once.
    logs.start_cleaner(Arc::new(|| 10));
    drop((all, logs));
    open(&dir, compacted());
}
