//! Power cuts at any point of a log directory's life, also while it recovers from another one: see
//! `thalweg_log::testing::crash` for what they leave. Whatever that is, Kafka's promises hold.
//!
//! `THALWEG_CRASH_SEEDS`, `THALWEG_SEED_BASE` and `THALWEG_SEED` say which seeds run. With
//! `THALWEG_CRASH_TRACE` a seed that fails shows what was done, and what the crash has left.

#![allow(clippy::print_stderr)]

use crate::common;

use std::path::Path;
use std::sync::Arc;

use common::model::{Entry, Model};
use common::*;
use thalweg_log::testing::crash::{CrashDisk, with_seeds};
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{AppendContext, CreateRequest, Disk, Log, LogConfig, LogManager};
use thalweg_random::Random;
use thalweg_records::BatchView;
use thalweg_wire::Uuid;

const PARTITIONS: i32 = 3;

fn is_traced() -> bool {
    std::env::var_os("THALWEG_CRASH_TRACE").is_some()
}

/// One partition from its creation to its deletion.
#[derive(Clone, Default)]
struct Part {
    index: i32,
    id: Uuid,
    model: Model,
    /// The newest leader epoch there ever was.
    epoch: i32,
    /// When each of the model's entries began to be appended.
    begun: Vec<usize>,
    /// When the log said that everything before an offset is flushed.
    flushed: Vec<(usize, i64)>,
    /// When the log's start was asked to be there; when it was promised to stay there.
    start_asked: Vec<(usize, i64)>,
    start_kept: Vec<(usize, i64)>,
    created: usize,
    /// When its deletion began and ended.
    deleted: Option<(usize, usize)>,
}

/// The largest of what was so before a crash.
fn max_until(list: &[(usize, i64)], at: usize) -> i64 {
    list.iter().filter(|(when, _)| *when <= at).map(|(_, offset)| *offset).max().unwrap_or(0)
}

impl Part {
    fn new(index: i32, random: &mut Random, at: usize) -> Part {
        let id = Uuid::from_u128(0x4000_8000_0000_0000_0000 << 48 | u128::from(random.next_u64()));
        Part { index, id, created: at, ..Part::default() }
    }

    fn is_live(&self) -> bool {
        self.deleted.is_none()
    }

    /// What a log says for itself goes for a crash from here on.
    fn note(&mut self, log: &Log, at: usize) {
        if log.recovery_point() > max_until(&self.flushed, at) {
            self.flushed.push((at, log.recovery_point()));
        }
    }

    /// Compares what a crash has left of the partition with what had to stay; gives the partition as
    /// it goes on from there.
    fn recovered(&self, log: &Log, at: usize, random: &mut Random) -> Part {
        let offsets = log.offsets();
        let (start, end) = (offsets.log_start_offset, offsets.log_end_offset);
        let (kept, asked) = (max_until(&self.start_kept, at), {
            let begun: Vec<_> =
                self.start_asked.iter().filter(|(when, _)| *when < at).copied().collect();
            max_until(&begun, at)
        });
        assert!(
            (kept..=asked).contains(&start),
            "the log starts at {start}, not in {kept}..={asked}"
        );
        let flushed = max_until(&self.flushed, at);
        if is_traced() {
            eprintln!(
                "t-{}: {offsets:?}, flushed {flushed}, start {kept}..={asked}, segments {:?}",
                self.index,
                log.segment_base_offsets()
            );
        }
        assert!(end >= flushed, "the log ends at {end}, and up to {flushed} all was flushed");

        let possible: Vec<&Entry> = self
            .model
            .entries
            .iter()
            .zip(&self.begun)
            .filter(|(_, begun)| **begun < at)
            .map(|(e, _)| e)
            .collect();
        let result = read(log, start, 1 << 20);
        let mut bytes = result.to_vec().unwrap();
        // All that one can come to: there may be gaps, which are looked at below.
        while let Some(&(_, last)) = batches(&bytes).last()
            && last + 1 < end
        {
            let more = read(log, last + 1, 1 << 20).to_vec().unwrap();
            if more.is_empty() {
                break;
            }
            bytes.extend(more);
        }
        let mut found: Vec<Entry> = Vec::new();
        let mut rest = &bytes[..];
        let bases = log.segment_base_offsets();
        while !rest.is_empty() {
            let batch = BatchView::parse(rest).unwrap();
            assert!(batch.crc_is_valid(), "offset {}", batch.base_offset());
            let base = batch.base_offset();
            let entry = possible.iter().find(|entry| entry.base == base);
            let entry = entry.unwrap_or_else(|| panic!("nothing was appended at {base}"));
            assert!(entry.bytes == rest[..batch.total_len()], "other bytes at {base}");
            if let Some(before) = found.last() {
                assert!(
                    before.epoch <= entry.epoch,
                    "epoch {} after {}",
                    entry.epoch,
                    before.epoch
                );
                // Kafka, too, goes on behind a segment that has lost its end, where that was not
                // flushed. A gap that an earlier crash has left may lie before the flushed end.
                let lost =
                    possible.iter().map(|e| e.base).find(|b| (before.last + 1..base).contains(b));
                // What lies before the newest start may be gone in any part.
                let is_allowed = |lost| base <= asked || lost >= flushed && bases.contains(&base);
                assert!(lost.is_none_or(is_allowed), "no batch between {} and {base}", before.last);
            }
            found.push((*entry).clone());
            rest = &rest[batch.total_len()..];
        }
        for entry in &possible {
            let must = entry.last >= start.max(asked) && entry.base < flushed;
            assert!(
                !must || found.iter().any(|other| other.base == entry.base),
                "{} is gone, and up to {flushed} all was flushed",
                entry.base
            );
        }
        let epoch = self.model.entries.iter().map(|entry| entry.epoch).fold(self.epoch, i32::max);
        // What lies before the start may come back with an older start.
        let before = possible.iter().filter(|entry| entry.last < start).copied().cloned();
        let entries: Vec<Entry> = before.chain(found).collect();
        let model = Model {
            start,
            end,
            epoch: epoch + 1,
            clock: self.model.clock,
            forgotten: asked,
            entries,
        };
        model.check(log, random);
        Part {
            begun: vec![0; model.entries.len()],
            model,
            epoch,
            flushed: vec![(0, flushed)],
            start_asked: vec![(0, asked)],
            start_kept: vec![(0, kept)],
            created: 0,
            ..self.clone()
        }
    }
}

struct Settings {
    log: LogConfig,
    keep_start: bool,
}

fn open_at(path: &Path, settings: &Settings, disk: Disk) -> LogManager {
    let mut config = config(&[path], settings.log.clone());
    config.producer_expiration_ms = i64::MAX;
    config.recovery_threads_per_dir = 1;
    config.disk = disk;
    let (logs, report) = LogManager::open(config).expect("the directory opens");
    let dir = &report.dirs[0];
    assert!(dir.failure.is_none(), "{:?}", dir.failure);
    assert!(dir.refused.is_empty(), "{:?}", dir.refused);
    assert!(dir.set_aside.is_empty() && dir.ignored.is_empty(), "{dir:?}");
    logs
}

/// Looks at what a crash has left; gives the partitions as they go on.
fn look(logs: &LogManager, parts: &[Part], at: usize, random: &mut Random) -> Vec<Part> {
    let mut left = Vec::new();
    for index in 0..PARTITIONS {
        let of_index = || parts.iter().filter(|part| part.index == index);
        let may_be_there = |part: &&Part| {
            part.created < at && part.deleted.is_none_or(|(_, deleted)| deleted > at)
        };
        let Some(log) = logs.get("t", index) else {
            for part in of_index().filter(may_be_there) {
                let flushed = max_until(&part.flushed, at);
                let deletion_begun = part.deleted.is_some_and(|(begun, _)| begun < at);
                assert!(
                    flushed == 0 || deletion_begun,
                    "t-{index} is gone, {flushed} were flushed"
                );
                // The metadata would have it made again.
                if !deletion_begun {
                    let epoch =
                        part.model.entries.iter().map(|e| e.epoch).fold(part.epoch, i32::max);
                    let model = Model { epoch: epoch + 1, ..Model::default() };
                    left.push(Part { index, id: part.id, epoch, model, ..Part::default() });
                }
            }
            continue;
        };
        let mut possible: Vec<&Part> = of_index().filter(may_be_there).collect();
        if let Some(id) = log.topic_id() {
            possible.retain(|part| part.id == id);
        } else {
            possible.retain(|part| max_until(&part.flushed, at) == 0);
        }
        let part = possible.pop().unwrap_or_else(|| {
            let known: Vec<_> = of_index()
                .map(|part| (part.id, part.created, part.deleted, part.flushed.clone()))
                .collect();
            panic!("t-{index} with topic id {:?} should not be there: {known:?}", log.topic_id())
        });
        assert!(possible.is_empty(), "one at a time");
        let part = part.recovered(&log, at, random);
        // A deletion that was begun is done again.
        left.push(Part { deleted: None, ..part });
    }
    left
}

struct Life<'a> {
    disk: Arc<CrashDisk>,
    path: &'a Path,
    settings: &'a Settings,
    logs: LogManager,
    parts: Vec<Part>,
}

impl Life<'_> {
    /// Changes are counted from 1: 0 is what was there before.
    fn at(&self) -> usize {
        self.disk.position() + 1
    }

    /// A live partition by chance, made if there is none.
    fn part(&mut self, random: &mut Random) -> usize {
        let index = random.below(PARTITIONS as u64) as i32;
        let live = self.parts.iter().position(|part| part.index == index && part.is_live());
        let found = live.unwrap_or_else(|| {
            self.parts.push(Part::new(index, random, self.at()));
            self.parts.len() - 1
        });
        self.create(found);
        found
    }

    fn create(&mut self, which: usize) -> Arc<Log> {
        let part = &self.parts[which];
        self.logs.create(&CreateRequest::new("t", part.index, part.id), 1_000).unwrap()
    }

    fn step(&mut self, random: &mut Random) {
        let which = self.part(random);
        let log = self.create(which);
        let begin = self.at();
        match random.below(100) {
            0..58 => {
                let part = &mut self.parts[which];
                let before = part.model.entries.len();
                part.model.append(&log, random);
                log.advance_high_watermark(i64::MAX);
                part.begun.resize(part.model.entries.len(), begin);
                assert!(part.model.entries.len() <= before + 1);
            }
            58..66 => {
                log.flush(1_000).unwrap();
                assert_eq!(log.recovery_point(), log.log_end_offset());
            }
            66..70 => self.logs.checkpoint(),
            70..73 => {
                let dir = self.logs.in_dir(&self.logs.dirs()[0]);
                match random.below(3) {
                    0 => dir.checkpoint_recovery_points(),
                    1 => dir.checkpoint_log_starts(),
                    _ => dir.checkpoint_high_watermarks(),
                }
            }
            73..77 => {
                log.roll(1_000).unwrap();
            }
            77..81 => {
                self.logs.flush_due(1_000);
            }
            81..84 if !self.settings.keep_start => {
                let part = &mut self.parts[which];
                let to = part.model.start
                    + random.below((part.model.end - part.model.start) as u64 + 1) as i64;
                part.start_asked.push((begin, to));
                log.advance_high_watermark(i64::MAX);
                log.delete_records(to).unwrap();
                part.model.start = to;
                part.model.forgotten = part.model.forgotten.max(to);
                if random.one_in(2) {
                    self.logs.checkpoint();
                    let at = self.at();
                    self.parts[which].start_kept.push((at, to));
                }
            }
            84..88 if !self.settings.keep_start => {
                self.logs.clean_up(1_000);
                for part in self.parts.iter_mut().filter(|part| part.is_live()) {
                    if let Some(log) = self.logs.get("t", part.index) {
                        part.model.start = log.log_start_offset();
                        part.start_asked.push((begin, part.model.start));
                        part.model.forgotten = part.model.forgotten.max(part.model.start);
                    }
                }
            }
            88..91 => {
                self.logs.delete_due(i64::MAX);
            }
            91..93 => {
                self.logs.delete([("t", self.parts[which].index)], 1_000).unwrap();
                let end = self.at();
                self.parts[which].deleted = Some((begin, end));
            }
            93..96 => {
                drop(log);
                self.logs.shut_down(7, 2_000);
                let end = self.at();
                for part in self.parts.iter_mut().filter(|part| part.is_live()) {
                    if self.logs.get("t", part.index).is_some() {
                        part.flushed.push((end, part.model.end));
                        part.start_kept.push((end, part.model.start));
                    }
                }
                self.reopen(random);
            }
            // The process dies, the machine does not.
            96..98 => {
                drop(log);
                self.reopen(random);
            }
            _ => self.logs.close_idle_files(),
        }
        let at = self.at();
        for part in self.parts.iter_mut().filter(|part| part.is_live()) {
            if let Some(log) = self.logs.get("t", part.index) {
                part.note(&log, at);
            }
        }
    }

    fn reopen(&mut self, random: &mut Random) {
        let disk = Disk::with_hook(self.disk.clone());
        // The old ones hold the lock until they are gone.
        let nothing = TempDir::in_memory();
        self.logs = open_at(nothing.path(), self.settings, Disk::default());
        self.logs = open_at(self.path, self.settings, disk);
        for part in self.parts.iter_mut().filter(|part| part.is_live()) {
            let log = self.logs.get("t", part.index).expect("the partition is there");
            // After a death what was not in a checkpoint may be older.
            part.model.start = log.log_start_offset();
            part.model.check(&log, random);
        }
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let settings = Settings {
        log: LogConfig {
            segment_bytes: 600 + random.below(8_000) as u32,
            index_interval_bytes: random.below(400) as u32,
            segment_index_bytes: 80 + random.below(300) as u32,
            flush_messages: if random.one_in(3) { 1 + random.below(7) as i64 } else { i64::MAX },
            preallocate: random.one_in(4),
            retention_bytes: if random.one_in(2) { 1_500 } else { -1 },
            retention_ms: -1,
            file_delete_delay_ms: 0,
            ..LogConfig::default()
        },
        keep_start: random.one_in(2),
    };
    let mut place = TempDir::in_memory();
    let mut parts: Vec<Part> = Vec::new();
    let mut when = 0;
    if is_traced() {
        eprintln!("{:?} {}", settings.log, settings.keep_start);
    }
    for life in 0..4 {
        let disk = Arc::new(CrashDisk::new(place.path()));
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let logs = open_at(place.path(), &settings, Disk::with_hook(disk.clone()));
            let parts = look(&logs, &parts, when, &mut random);
            let recovered = disk.position();
            let (disk, path) = (disk.clone(), place.path());
            let mut it = Life { disk, path, settings: &settings, logs, parts };
            for which in 0..it.parts.len() {
                it.create(which);
            }
            for _ in 0..random.below(60) {
                it.step(&mut random);
            }
            (recovered, it.parts)
        }));
        let (recovered, after) =
            lived.unwrap_or_else(|panic| fail(&format!("life {life}"), &disk, place.path(), panic));
        // Crashes that somebody only looks at, and one to go on from.
        for last in [false, false, true] {
            let all = disk.position();
            let at = match random.below(4) {
                0 => random.below(recovered as u64 + 1) as usize,
                1 => all,
                _ => random.below(all as u64 + 1) as usize,
            };
            let left = TempDir::in_memory();
            disk.crash(at, random.next_u64(), left.path());
            if last {
                (place, parts, when) = (left, after, at + 1);
                break;
            }
            let mut random = Random::new(random.next_u64());
            let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let logs = open_at(left.path(), &settings, Disk::default());
                look(&logs, &after, at + 1, &mut random);
            }));
            if let Err(panic) = looked {
                fail(&format!("life {life}, a crash at {at}"), &disk, left.path(), panic);
            }
        }
    }
}

/// Says where to look.
fn fail(what: &str, disk: &CrashDisk, left: &Path, panic: Box<dyn std::any::Any + Send>) -> ! {
    eprintln!("{what}");
    if is_traced() {
        let kept = std::env::temp_dir().join("thalweg-crash");
        let _ = std::fs::remove_dir_all(&kept);
        copy_dir(left, &kept);
        eprintln!("{}it is in {}", disk.trace(disk.position()), kept.display());
    }
    std::panic::resume_unwind(panic)
}

#[test]
fn what_is_flushed_survives_every_crash() {
    with_seeds(300, run);
}

/// Lets `work` use a log directory, and looks at what crashes after it leave.
fn after_crashes(
    settings: &LogConfig,
    work: impl Fn(&dyn Fn() -> LogManager),
    look: impl Fn(&LogManager),
) {
    let settings = Settings { log: settings.clone(), keep_start: true };
    let place = TempDir::in_memory();
    let disk = Arc::new(CrashDisk::new(place.path()));
    work(&|| open_at(place.path(), &settings, Disk::with_hook(disk.clone())));
    for seed in 0..60 {
        let left = TempDir::in_memory();
        disk.crash(disk.position(), seed, left.path());
        look(&open_at(left.path(), &settings, Disk::default()));
    }
}

#[test]
fn a_clean_stop_keeps_the_producers() {
    let look = |logs: &LogManager| {
        let log = logs.get("t", 0).expect("the partition is there");
        let known: Vec<_> = log.active_producers().iter().map(|p| p.last_sequence).collect();
        assert_eq!(known, [1]);
    };
    let begin = |logs: &LogManager| {
        let log = create(logs, "t");
        append(&log, BatchSpec::new(0, 2).producer(5, 0, 0));
        log
    };
    let settings = LogConfig::default();
    after_crashes(
        &settings,
        |open| {
            let logs = open();
            begin(&logs);
            logs.shut_down(1, 2_000);
        },
        look,
    );
    // By a snapshot that was written before, of a process that died, or by a roll.
    after_crashes(
        &settings,
        |open| {
            let logs = open();
            begin(&logs);
            drop(logs);
            open().shut_down(1, 2_000);
        },
        look,
    );
    after_crashes(
        &settings,
        |open| {
            let logs = open();
            begin(&logs).roll(1_000).unwrap();
            logs.shut_down(1, 2_000);
        },
        look,
    );
    // Of batches that are gone nobody else knows.
    after_crashes(
        &settings,
        |open| {
            let logs = open();
            let log = begin(&logs);
            log.roll(1_000).unwrap();
            append(&log, BatchSpec::new(0, 2));
            log.delete_records(2).unwrap();
            assert_eq!(log.delete_old_segments(1_000).unwrap(), 1);
            logs.shut_down(1, 2_000);
        },
        look,
    );
}

#[test]
fn what_a_process_that_died_has_left_is_flushed_with_the_rest() {
    after_crashes(
        &LogConfig::default(),
        |open| {
            let logs = open();
            append(&create(&logs, "t"), BatchSpec::new(0, 2));
            drop(logs);
            let logs = open();
            logs.get("t", 0).unwrap().flush(1_000).unwrap();
        },
        |logs| {
            let log = logs.get("t", 0).expect("the partition is there");
            assert_eq!((log.topic_id(), log.log_end_offset()), (Some(TOPIC_ID), 2));
        },
    );
    // Nor does a clean stop sync a partition without records.
    after_crashes(
        &LogConfig::default(),
        |open| {
            let logs = open();
            create(&logs, "t");
            logs.shut_down(1, 2_000);
            drop(logs);
            let logs = open();
            let log = logs.get("t", 0).unwrap();
            append(&log, BatchSpec::new(0, 2));
            log.flush(1_000).unwrap();
        },
        |logs| {
            let log = logs.get("t", 0).expect("the partition is there");
            assert_eq!((log.topic_id(), log.log_end_offset()), (Some(TOPIC_ID), 2));
        },
    );
}

#[test]
fn aborted_transactions_are_known_of_flushed_segments() {
    let look = |logs: &LogManager| {
        let log = logs.get("t", 0).expect("the partition is there");
        let aborted = log.aborted_transactions(0, 4).unwrap();
        assert_eq!(aborted.iter().map(|txn| txn.producer_id).collect::<Vec<_>>(), [5]);
    };
    let begin = |logs: &LogManager| {
        let log = create(logs, "t");
        append(&log, BatchSpec::new(0, 1));
        log.flush(1_000).unwrap();
        // The index is made only now.
        append(&log, BatchSpec::new(0, 1).producer(5, 0, 0).transactional());
        let mut marker = BatchSpec::marker(0, 5, 0, 1, false).build();
        log.append_as_leader(&mut marker, &AppendContext::coordinator(0, 1_000)).unwrap();
        log.flush(1_000).unwrap();
        log
    };
    after_crashes(
        &LogConfig::default(),
        |open| {
            let logs = open();
            let log = begin(&logs);
            log.roll(1_000).unwrap();
            append(&log, BatchSpec::new(0, 1));
            log.flush(1_000).unwrap();
            logs.checkpoint();
        },
        look,
    );
    // Recovery makes it anew, of batches that nobody flushes again.
    after_crashes(
        &LogConfig::default(),
        |open| {
            let logs = open();
            begin(&logs);
            logs.checkpoint();
            drop(logs);
            open().shut_down(1, 2_000);
        },
        look,
    );
}

#[test]
fn a_preallocated_segment_ends_with_its_last_batch() {
    after_crashes(
        &LogConfig { preallocate: true, segment_bytes: 4_000, ..LogConfig::default() },
        |open| {
            let logs = open();
            let log = create(&logs, "t");
            append(&log, BatchSpec::new(0, 2));
            log.flush(1_000).unwrap();
            log.roll(1_000).unwrap();
            append(&log, BatchSpec::new(0, 2));
            log.flush(1_000).unwrap();
            logs.checkpoint();
        },
        |logs| {
            let log = logs.get("t", 0).expect("the partition is there");
            assert_eq!(batches(&read_all(&log, 0, 1 << 20)), [(0, 1), (2, 3)]);
        },
    );
    // Where all was flushed before a clean stop, nothing is to be recovered.
    after_crashes(
        &LogConfig { preallocate: true, segment_bytes: 4_000, ..LogConfig::default() },
        |open| {
            let logs = open();
            let log = create(&logs, "t");
            append(&log, BatchSpec::new(0, 2));
            log.flush(1_000).unwrap();
            logs.shut_down(1, 2_000);
        },
        |logs| {
            let log = logs.get("t", 0).expect("the partition is there");
            assert_eq!(batches(&read_all(&log, 0, 1 << 20)), [(0, 1)]);
            assert_eq!(logs.metrics().recovered_bytes.get(), 0);
        },
    );
}

/// Also where no leader epoch is to be forgotten, which syncs the directory.
#[test]
fn what_is_thrown_away_to_begin_elsewhere_does_not_come_back() {
    after_crashes(
        &LogConfig { preallocate: true, segment_bytes: 4_000, ..LogConfig::default() },
        |open| {
            let logs = open();
            let log = create(&logs, "t");
            logs.truncate_fully_and_start_at(&log, 5, None, 1_000).unwrap();
        },
        |logs| {
            let log = logs.get("t", 0).expect("the partition is there");
            assert_eq!((log.log_start_offset(), log.log_end_offset()), (5, 5));
            assert_eq!(log.segment_base_offsets(), [5]);
        },
    );
}

#[test]
fn what_recovery_has_cut_off_does_not_come_back() {
    let settings = Settings { log: LogConfig::default(), keep_start: true };
    let place = TempDir::in_memory();
    let logs = open_at(place.path(), &settings, Disk::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 1));
    log.flush(1_000).unwrap();
    logs.checkpoint();
    // Of two more that were not flushed the second one is whole.
    append(&log, BatchSpec::new(0, 1));
    append(&log, BatchSpec::new(0, 1));
    let file = log.path().join("00000000000000000000.log");
    drop((logs, log));
    let mut bytes = std::fs::read(&file).unwrap();
    let damaged = bytes.len() * 2 / 3 - 1;
    bytes[damaged] ^= 1;
    std::fs::write(&file, bytes).unwrap();

    let disk = Arc::new(CrashDisk::new(place.path()));
    let logs = open_at(place.path(), &settings, Disk::with_hook(disk.clone()));
    // As long as the one that is damaged.
    assert_eq!(append(&logs.get("t", 0).unwrap(), BatchSpec::new(0, 1)).first_offset, 1);
    for seed in 0..60 {
        let left = TempDir::in_memory();
        disk.crash(disk.position(), seed, left.path());
        let logs = open_at(left.path(), &settings, Disk::default());
        let end = logs.get("t", 0).expect("the partition is there").log_end_offset();
        assert!((1..=2).contains(&end), "seed {seed}: it ends at {end}");
    }
}

#[test]
fn a_partition_made_anew_does_not_get_checkpoints_of_the_one_before() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 20));
    log.flush(1_000).unwrap();
    log.delete_records(15).unwrap();
    logs.checkpoint();
    let path = log.path();
    drop((logs, log));
    // A deletion that a crash has cut off before the checkpoints were written.
    std::fs::remove_dir_all(path).unwrap();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 3));
    log.flush(1_000).unwrap();
    drop((logs, log));
    let (logs, _) = open(&dir, LogConfig::default());
    let log = logs.get("t", 0).unwrap();
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (0, 3));
    assert_eq!(batches(&read_all(&log, 0, 1 << 20)), [(0, 2)]);
}

/// Two segments, both flushed; the log begins with the second one, and its checkpoint says so.
fn begins_with_its_second_segment(logs: &LogManager) -> Arc<Log> {
    let log = create(logs, "t");
    append(&log, BatchSpec::new(0, 2));
    log.roll(1_000).unwrap();
    append(&log, BatchSpec::new(0, 2));
    log.flush(1_000).unwrap();
    log.delete_records(2).unwrap();
    logs.checkpoint();
    log
}

#[test]
fn a_log_start_that_is_left_to_the_files_stays() {
    let look = |logs: &LogManager| {
        let log = logs.get("t", 0).expect("the partition is there");
        assert_eq!((log.log_start_offset(), log.log_end_offset()), (2, 4));
    };
    after_crashes(
        &LogConfig::default(),
        |open| {
            let logs = open();
            let log = begins_with_its_second_segment(&logs);
            assert_eq!(log.delete_old_segments(1_000).unwrap(), 1);
            logs.checkpoint();
        },
        look,
    );
    // By a process that died before it could sync the removal.
    after_crashes(
        &LogConfig::default(),
        |open| {
            let logs = open();
            let log = begins_with_its_second_segment(&logs);
            for suffix in ["log", "index", "timeindex"] {
                let file = log.path().join(format!("00000000000000000000.{suffix}"));
                assert!(log.dir().disk().remove_file(&file).unwrap());
            }
            drop((logs, log));
            open().checkpoint();
        },
        look,
    );
}

#[test]
fn a_log_of_which_all_is_deleted_keeps_its_end() {
    let log = LogConfig { retention_bytes: 0, ..LogConfig::default() };
    let settings = Settings { log, keep_start: true };
    let place = TempDir::in_memory();
    let disk = Arc::new(CrashDisk::new(place.path()));
    let logs = open_at(place.path(), &settings, Disk::with_hook(disk.clone()));
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 2));
    log.flush(1_000).unwrap();
    log.roll(1_000).unwrap();
    let before = disk.position();
    assert_eq!(log.delete_old_segments(1_000).unwrap(), 1);
    for at in before..=disk.position() {
        for seed in 0..20 {
            let left = TempDir::in_memory();
            disk.crash(at, seed, left.path());
            let logs = open_at(left.path(), &settings, Disk::default());
            let end = logs.get("t", 0).expect("the partition is there").log_end_offset();
            assert_eq!(end, 2, "seed {seed} of change {at}");
        }
    }
}
