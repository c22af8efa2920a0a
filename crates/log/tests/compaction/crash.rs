//! Power cuts at any point of a compacted log's life, also while a start finishes what another one has cut
//! off: see `thalweg_log::testing::crash` for what they leave.
//!
//! What has to hold: every key's last record that was flushed is there, or a newer one; what is not yet
//! compacted is there as a whole; what a pass has removed does not come back once the pass is over; a
//! reader of committed records gets what was committed and nothing else; producers go on where they were.

#![allow(clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use thalweg_log::testing::TempDir;
use thalweg_log::testing::crash::{CrashDisk, with_seeds};
use thalweg_log::{Disk, LogManager};
use thalweg_random::Random;

use super::*;

/// What happened, and when: positions in the disk's record, from 1 on.
#[derive(Default)]
struct Past {
    appended: Vec<(usize, Batch)>,
    /// The log said that everything before an offset is flushed.
    flushed: Vec<(usize, i64)>,
    /// A pass began that may touch everything before an offset.
    begun: Vec<(usize, i64)>,
    /// Offsets of records that were gone when a pass was over.
    gone: Vec<(usize, BTreeSet<i64>)>,
}

fn until_then<T: Copy + Ord + Default>(list: &[(usize, T)], at: usize) -> T {
    list.iter().filter(|(when, _)| *when <= at).map(|(_, value)| *value).max().unwrap_or_default()
}

fn settings(random: &mut Random) -> LogConfig {
    LogConfig {
        segment_bytes: 8_000 + random.below(8_000) as u32,
        index_interval_bytes: random.below(600) as u32,
        delete_retention_ms: random.below(4_000) as i64,
        flush_messages: if random.one_in(3) { 1 } else { i64::MAX },
        file_delete_delay_ms: 0,
        ..compacted()
    }
}

fn open_at(path: &Path, log: &LogConfig, disk: Disk) -> LogManager {
    let mut config = config(&[path], log.clone());
    config.producer_expiration_ms = i64::MAX;
    config.recovery_threads_per_dir = 1;
    config.disk = disk;
    let (logs, report) = LogManager::open(config).expect("the directory opens");
    assert!(report.dirs[0].failure.is_none() && report.dirs[0].refused.is_empty(), "{report:?}");
    logs
}

/// Compares what a crash at `at` has left with what had to stay.
fn look(logs: &LogManager, past: &Past, at: usize) {
    let flushed = until_then(&past.flushed, at);
    let Some(log) = logs.get("t", 0) else {
        assert_eq!(flushed, 0, "the partition is gone, {flushed} were flushed");
        return;
    };
    log.advance_high_watermark(i64::MAX);
    let end = log.log_end_offset();
    assert!(end >= flushed, "the log ends at {end}, and up to {flushed} all was flushed");
    let possible: Vec<&Batch> =
        past.appended.iter().filter(|(when, _)| *when < at).map(|(_, batch)| batch).collect();
    let known: BTreeMap<i64, &Found> =
        possible.iter().flat_map(|b| &b.records).map(|record| (record.offset, record)).collect();

    // Nothing that was not appended, and nothing that was gone for good.
    let found = all_batches(&log);
    let offsets: BTreeSet<i64> =
        found.iter().flat_map(|batch| &batch.records).map(|record| record.offset).collect();
    for record in found.iter().flat_map(|batch| &batch.records) {
        assert_eq!(Some(&record), known.get(&record.offset), "another record");
    }
    for (when, gone) in &past.gone {
        let back: Vec<_> = gone.intersection(&offsets).collect();
        assert!(*when > at || back.is_empty(), "{back:?} came back");
    }
    // What no pass may have touched.
    let touched = past.begun.iter().filter(|(when, _)| *when < at).map(|(_, end)| *end).max();
    let untouched = touched.unwrap_or(0)..flushed;
    for offset in known.keys().filter(|offset| untouched.contains(offset)) {
        assert!(offsets.contains(offset), "{offset} is gone, {touched:?} was touched");
    }

    // The last flushed record of each key, as readers of committed records see it. Transactions count
    // whose end was flushed.
    let solid: Vec<Batch> =
        possible.iter().filter(|b| b.last_offset < flushed).map(|b| (*b).clone()).collect();
    let seen = read_visible(&log, log.last_stable_offset());
    let seen_offsets: BTreeSet<i64> = seen.iter().map(|record| record.offset).collect();
    let is_committed: BTreeSet<i64> =
        committed(&solid, flushed).iter().map(|record| record.offset).collect();
    let last_seen = last_of_each_key(&seen);
    for (key, record) in last_of_each_key(committed(&solid, log.last_stable_offset())) {
        let text = String::from_utf8_lossy(key);
        match last_seen.get(key) {
            Some(other) => assert!(
                other.offset >= record.offset,
                "{text}: {} instead of {}",
                other.offset,
                record.offset
            ),
            None => assert!(record.value.is_none(), "{text} at {} is gone", record.offset),
        }
    }
    let is_solid = |offset: i64| {
        solid.iter().any(|batch| (batch.base_offset..=batch.last_offset).contains(&offset))
    };
    // Of a transaction that was open when all of this was flushed the end may be there by luck.
    let open: BTreeSet<i64> = open_at_the_end(&solid);
    for record in &seen {
        let may = !is_solid(record.offset)
            || is_committed.contains(&record.offset)
            || open.contains(&record.offset);
        assert!(may, "{} was aborted", record.offset);
    }
    for record in found.iter().flat_map(|batch| &batch.records) {
        if is_committed.contains(&record.offset) && record.offset < log.last_stable_offset() {
            assert!(seen_offsets.contains(&record.offset), "{} is hidden", record.offset);
        }
    }

    // Producers of whom nothing came after the flush go on where they were.
    let mut last: BTreeMap<i64, (i64, i32)> = BTreeMap::new();
    for batch in &possible {
        let (id, _, sequence) = batch.producer;
        if id >= 0 && batch.attributes & 0x20 == 0 {
            let delta = (batch.last_offset - batch.base_offset) as i32;
            last.insert(id, (batch.last_offset, sequence + delta));
        }
    }
    let producers = log.active_producers();
    for (id, (offset, sequence)) in last {
        let known = producers.iter().find(|producer| producer.producer_id == id);
        let known = known.map(|producer| producer.last_sequence);
        assert!(offset >= flushed || known == Some(sequence), "{id}: {known:?}, not {sequence}");
    }
}

/// Records of transactions without an end.
fn open_at_the_end(batches: &[Batch]) -> BTreeSet<i64> {
    let mut open: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for batch in batches {
        let (id, ..) = batch.producer;
        if batch.attributes & 0x20 != 0 {
            open.remove(&id);
        } else if batch.attributes & 0x10 != 0 {
            let offsets = batch.records.iter().map(|record| record.offset);
            open.entry(id).or_default().extend(offsets);
        }
    }
    open.into_values().flatten().collect()
}

fn offsets_of(log: &Log) -> BTreeSet<i64> {
    all_batches(log).iter().flat_map(|b| &b.records).map(|record| record.offset).collect()
}

fn run(seed: u64, seen: &mut (usize, usize)) {
    let mut random = Random::new(seed);
    let settings = settings(&mut random);
    let place = TempDir::in_memory();
    let disk = Arc::new(CrashDisk::new(place.path()));
    let mut past = Past::default();
    let kind = Kind { keys: 5 + random.below(40), ..everything() };
    let mut writer = Writer::new(random.next_u64(), kind, 1_000_000);
    let mut logs = open_at(place.path(), &settings, Disk::with_hook(disk.clone()));
    create(&logs, "t");
    for _ in 0..40 {
        let log = logs.get("t", 0).expect("the partition is there");
        let begin = disk.position() + 1;
        match random.below(20) {
            0..11 => {
                writer.append(&log, 1 + random.below(8));
                past.appended.extend(writer.appended.drain(..).map(|batch| (begin, batch)));
            }
            11..17 => {
                let before = offsets_of(&log);
                past.begun.push((begin, *log.segment_base_offsets().last().unwrap()));
                let pass = logs.clean_once(writer.now);
                seen.0 += usize::from(pass.is_some());
                assert!(pass.is_none_or(|pass| pass.end_offset.is_some()));
                let gone = before.difference(&offsets_of(&log)).copied().collect();
                past.gone.push((disk.position() + 1, gone));
                logs.delete_due(i64::MAX);
            }
            17 => log.flush(writer.now).unwrap(),
            18 => logs.checkpoint(),
            _ => {
                drop(log);
                if random.one_in(2) {
                    logs.shut_down(7, writer.now);
                }
                // The old ones hold the lock until they are gone.
                let nothing = TempDir::in_memory();
                drop(std::mem::replace(
                    &mut logs,
                    open_at(nothing.path(), &settings, Disk::default()),
                ));
                logs = open_at(place.path(), &settings, Disk::with_hook(disk.clone()));
                logs.get("t", 0).unwrap().advance_high_watermark(i64::MAX);
            }
        }
        let log = logs.get("t", 0).expect("the partition is there");
        past.flushed.push((disk.position() + 1, log.recovery_point()));
        writer.now += random.below(1_000) as i64;
    }
    // At any point, but most of them within a pass.
    let all = disk.position() as u64;
    for _ in 0..12 {
        let at = match random.below(3) {
            0 => random.below(all + 1) as usize,
            _ => {
                let which = random.below(past.begun.len().max(1) as u64) as usize;
                let from = past.begun.get(which).map_or(0, |(when, _)| *when);
                let upto = past.gone.get(which).map_or(from, |(when, _)| *when);
                from + random.below((upto - from) as u64 + 1) as usize
            }
        };
        let at = at.min(all as usize);
        let left = TempDir::in_memory();
        disk.crash(at, random.next_u64(), left.path());
        // The start after it, which another power cut may interrupt.
        let next = Arc::new(CrashDisk::new(left.path()));
        let logs = open_at(left.path(), &settings, Disk::with_hook(next.clone()));
        look(&logs, &past, at + 1);
        let again = TempDir::in_memory();
        next.crash(
            random.below(next.position() as u64 + 1) as usize,
            random.next_u64(),
            again.path(),
        );
        let logs = open_at(again.path(), &settings, Disk::default());
        look(&logs, &past, at + 1);
        // And compaction goes on.
        if logs.get("t", 0).is_some() {
            let before = values_of(&logs);
            while let Some(pass) = logs.clean_once(writer.now + 10_000) {
                assert!(pass.end_offset.is_some());
            }
            assert_eq!(values_of(&logs), before);
            seen.1 += 1;
        }
    }
}

fn values_of(logs: &LogManager) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let log = logs.get("t", 0).unwrap();
    let found = read_visible(&log, log.last_stable_offset());
    values(&found).into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

#[test]
fn no_power_cut_takes_a_keys_last_value_or_brings_another_back() {
    let mut seen = (0, 0);
    with_seeds(60, |seed| run(seed, &mut seen));
    let (passes, looks) = seen;
    assert!(passes > 30 && looks > 300, "{passes} passes, {looks} looks");
}

/// Everything in its place: segments of a few records each, of which a pass makes one.
#[test]
fn every_step_of_a_replacement_can_be_the_last() {
    let settings = compacted();
    let place = TempDir::in_memory();
    let disk = Arc::new(CrashDisk::new(place.path()));
    let logs = open_at(place.path(), &settings, Disk::with_hook(disk.clone()));
    let log = create(&logs, "t");
    for round in 0..4 {
        for key in 0..3 {
            put(&log, &key.to_string(), Some(&round.to_string()), 10);
        }
        log.roll(10).unwrap();
    }
    log.advance_high_watermark(i64::MAX);
    log.flush(10).unwrap();
    logs.checkpoint();
    let begin = disk.position();
    assert!(logs.clean_once(10).unwrap().end_offset.is_some());
    assert_eq!(log.segment_base_offsets(), [0, 12]);
    for at in begin..=disk.position() {
        for seed in 0..24 {
            let left = TempDir::in_memory();
            disk.crash(at, seed, left.path());
            let logs = open_at(left.path(), &settings, Disk::default());
            let log = logs.get("t", 0).expect("the partition is there");
            // The segments that there were, or the one that was made of them; not some of each.
            let is_old = log.segment_base_offsets().starts_with(&[0, 3, 6, 9]);
            let is_new = !log.segment_base_offsets().iter().any(|base| (1..12).contains(base));
            assert!(is_old || is_new, "seed {seed} of change {at}");
            let expected: Vec<i64> = (if is_old { 0 } else { 9 }..12).collect();
            let found: Vec<i64> =
                all_batches(&log).iter().flat_map(|b| &b.records).map(|r| r.offset).collect();
            assert_eq!(found, expected, "seed {seed} of change {at}");
        }
    }
}

/// Kills the process at a call to the disk: nothing that comes after it is done.
struct Dies {
    at: usize,
    calls: std::sync::atomic::AtomicUsize,
}

impl thalweg_log::FaultHook for Dies {
    fn before(&self, _: thalweg_log::DiskOp, _: &Path, _: usize) -> thalweg_log::Injected {
        match self.calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) >= self.at {
            true => thalweg_log::Injected::Fail(std::io::Error::from_raw_os_error(5)),
            false => thalweg_log::Injected::Nothing,
        }
    }
}

/// As Kafka leaves a segment that it splits: one of the parts has its next name already.
#[test]
fn a_start_that_dies_does_not_make_a_whole_of_a_half() {
    let settings = compacted();
    let begun = TempDir::in_memory();
    let (logs, _) = open(&begun, settings.clone());
    let log = create(&logs, "t");
    for key in 0..10 {
        put(&log, &key.to_string(), Some("value"), 10);
    }
    log.roll(10).unwrap();
    log.advance_high_watermark(i64::MAX);
    let partition = log.path();
    logs.shut_down(1, 10);
    drop((logs, log));
    for name in ["00000000000000000000.log.cleaned", "00000000000000000000.index.cleaned"] {
        std::fs::write(partition.join(name), b"").unwrap();
    }
    for name in ["00000000000000000005.log.swap", "00000000000000000000.log.swap"] {
        std::fs::write(partition.join(name), b"").unwrap();
    }
    let mut died = 0;
    for at in 0.. {
        let left = TempDir::in_memory();
        copy_dir(begun.path(), left.path());
        let mut config = config(&[left.path()], settings.clone());
        config.recovery_threads_per_dir = 1;
        let hook = Dies { at, calls: Default::default() };
        config.disk = Disk::with_hook(Arc::new(hook));
        let lives =
            LogManager::open(config).is_ok_and(|(_, report)| report.dirs[0].failure.is_none());
        let (logs, _) = open(&left, settings.clone());
        let log = logs.get("t", 0).expect("the partition is there");
        let keys = all_batches(&log).iter().map(|batch| batch.records.len()).sum::<usize>();
        assert_eq!(keys, 10, "it died at call {at}");
        died += usize::from(!lives);
        if lives {
            break;
        }
    }
    assert!(died > 10, "{died}");
}
