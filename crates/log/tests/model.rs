//! A log against a model of it: random operations, stops, crashes and power cuts.
//!
//! `THALWEG_LOG_SEEDS=from..to` runs other seeds; a failure names its own.

use crate::common;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use common::*;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{AppendContext, AppendError, Isolation, Log, LogConfig, LogManager, ReadRequest};
use thalweg_records::BatchView;

/// xorshift64*
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[derive(Clone, Debug)]
struct Entry {
    base: i64,
    last: i64,
    bytes: Vec<u8>,
    epoch: i32,
}

#[derive(Clone, Default, Debug)]
struct ProducerModel {
    next_sequence: i32,
    open_since: Option<i64>,
}

#[derive(Default)]
struct Model {
    entries: Vec<Entry>,
    start: i64,
    end: i64,
    epoch: i32,
    clock: i64,
}

impl Model {
    /// Producers as of the log's end.
    fn producers(&self) -> HashMap<i64, ProducerModel> {
        let mut producers: HashMap<i64, ProducerModel> = HashMap::new();
        for entry in &self.entries {
            let batch = BatchView::parse(&entry.bytes).unwrap();
            if !batch.has_producer_id() {
                continue;
            }
            let producer = producers.entry(batch.producer_id()).or_default();
            if batch.is_control() {
                producer.open_since = None;
            } else {
                producer.next_sequence = batch.last_sequence() + 1;
                if batch.is_transactional() {
                    producer.open_since.get_or_insert(entry.base);
                }
            }
        }
        producers
    }

    /// (producer, first, last) of aborted transactions.
    fn aborted(&self) -> Vec<(i64, i64, i64)> {
        let mut open: HashMap<i64, i64> = HashMap::new();
        let mut aborted = Vec::new();
        for entry in &self.entries {
            let batch = BatchView::parse(&entry.bytes).unwrap();
            if batch.is_control() {
                // The marker's type is the last byte of the record's key.
                let abort = entry.bytes[61 + 8] == 0;
                if let Some(first) = open.remove(&batch.producer_id())
                    && abort
                {
                    aborted.push((batch.producer_id(), first, entry.base));
                }
            } else if batch.is_transactional() {
                open.entry(batch.producer_id()).or_insert(entry.base);
            }
        }
        aborted
    }

    fn epochs(&self) -> BTreeMap<i32, i64> {
        let mut epochs = BTreeMap::new();
        for entry in &self.entries {
            epochs.entry(entry.epoch).or_insert(entry.base);
        }
        epochs
    }

    fn check(&self, log: &Log, random: &mut Random) {
        let offsets = log.offsets();
        assert_eq!((offsets.log_start_offset, offsets.log_end_offset), (self.start, self.end));
        // All bytes, in reads of any size.
        let max = [1, 90, 300, 1_000, 1 << 20][random.below(5) as usize];
        let from = self.start;
        let expected: Vec<u8> = self
            .entries
            .iter()
            .filter(|entry| entry.last >= from)
            .flat_map(|entry| entry.bytes.clone())
            .collect();
        assert!(read_all(log, from, max) == expected, "bytes from {from} on");
        if self.end > self.start {
            let offset = self.start + random.below((self.end - self.start) as u64) as i64;
            let entry = self.entries.iter().find(|entry| entry.last >= offset).unwrap();
            let found = read(log, offset, 0).to_vec().unwrap();
            assert_eq!(batches(&found), [(entry.base, entry.last)], "offset {offset}");
            let at = BatchView::parse(&entry.bytes).unwrap().max_timestamp();
            let found = log.offset_for_timestamp(at, &PlainRecords).unwrap().unwrap();
            let expected = self
                .entries
                .iter()
                .find(|entry| {
                    entry.last >= self.start
                        && BatchView::parse(&entry.bytes).unwrap().max_timestamp() >= at
                })
                .unwrap();
            assert_eq!(found.offset, expected.base.max(self.start), "timestamp {at}");
        }
        log.advance_high_watermark(i64::MAX);
        let producers = self.producers();
        let unstable = producers.values().filter_map(|producer| producer.open_since).min();
        // Only what is still in the log can be known of producers.
        if self.start == 0 {
            assert_eq!(log.last_stable_offset(), unstable.unwrap_or(self.end));
            let mut known: Vec<(i64, i32)> = log
                .active_producers()
                .iter()
                .filter(|producer| producer.last_sequence >= 0)
                .map(|producer| (producer.producer_id, producer.last_sequence + 1))
                .collect();
            known.sort_unstable();
            let mut expected: Vec<(i64, i32)> = producers
                .iter()
                .filter(|(_, producer)| producer.next_sequence > 0)
                .map(|(&id, producer)| (id, producer.next_sequence))
                .collect();
            expected.sort_unstable();
            assert_eq!(known, expected);
            let mut aborted: Vec<_> = log
                .aborted_transactions(0, self.end)
                .unwrap()
                .iter()
                .map(|txn| (txn.producer_id, txn.first_offset, txn.last_offset))
                .collect();
            aborted.sort_unstable();
            let mut expected = self.aborted();
            expected.sort_unstable();
            assert_eq!(aborted, expected);
            let epochs: BTreeMap<i32, i64> = log.leader_epochs().into_iter().collect();
            assert_eq!(epochs, self.epochs());
        }
        let committed =
            ReadRequest { isolation: Isolation::LastStable, ..request(self.start, 1 << 20) };
        if let Ok(result) = log.read(&committed)
            && !result.is_empty()
        {
            let (_, last) = *batches(&result.to_vec().unwrap()).last().unwrap();
            assert!(last < log.last_stable_offset());
        }
    }

    fn append(&mut self, log: &Log, random: &mut Random) {
        if random.one_in(15) {
            self.epoch += 1;
        }
        self.clock += random.below(5) as i64;
        let count = 1 + random.below(4) as i32;
        let mut spec =
            BatchSpec::new(0, count).value_len(random.below(120) as usize).timestamp(self.clock);
        let mut context = AppendContext::client(self.epoch, 1_000);
        let producers = self.producers();
        if random.one_in(2) {
            let id = random.below(4) as i64;
            let producer = producers.get(&id).cloned().unwrap_or_default();
            // Producers 2 and 3 are transactional.
            if producer.open_since.is_some() && random.one_in(3) {
                spec = BatchSpec::marker(0, id, 0, 1, random.one_in(2)).timestamp(self.clock);
                context = AppendContext::coordinator(self.epoch, 1_000);
            } else {
                spec = spec.producer(id, 0, producer.next_sequence);
                if id >= 2 {
                    spec = spec.transactional();
                }
            }
            // Kafka's answers, in whatever state.
            if self.start == 0 && producer.next_sequence > 0 && random.one_in(4) {
                let mut gap = BatchSpec::new(0, 1).producer(id, 0, producer.next_sequence + 1);
                if id >= 2 {
                    gap = gap.transactional();
                }
                let error = log
                    .append_as_leader(&mut gap.build(), &AppendContext::client(self.epoch, 1_000))
                    .unwrap_err();
                assert!(matches!(error, AppendError::OutOfOrderSequence { .. }), "{error}");
            }
        }
        let mut bytes = spec.build();
        let info = match log.append_as_leader(&mut bytes, &context) {
            // Of a producer whose batches are gone with the log's start a marker may be left, and
            // then Kafka, too, expects it to begin again.
            Err(AppendError::OutOfOrderSequence { expected: 0, .. }) if self.start > 0 => return,
            result => result.unwrap(),
        };
        assert!(!info.duplicate);
        assert_eq!(info.first_offset, self.end);
        self.end = info.last_offset + 1;
        self.entries.push(Entry {
            base: info.first_offset,
            last: info.last_offset,
            bytes: bytes.clone(),
            epoch: self.epoch,
        });
        let batch = BatchView::parse(&bytes).unwrap();
        if batch.has_producer_id() && !batch.is_control() && random.one_in(3) {
            let mut again = bytes.clone();
            let info =
                log.append_as_leader(&mut again, &AppendContext::client(self.epoch, 0)).unwrap();
            assert!(info.duplicate);
            assert_eq!(
                (info.first_offset, info.last_offset),
                (batch.base_offset(), batch.last_offset())
            );
        }
    }

    fn cut(&mut self, end: i64) {
        self.entries.retain(|entry| entry.last < end);
        self.end = end;
        self.start = self.start.min(end);
        self.epoch = self.entries.last().map_or(0, |entry| entry.epoch);
    }
}

fn run(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let dir = TempDir::new();
    let settings = LogConfig {
        segment_bytes: 600 + random.below(2_000) as u32,
        index_interval_bytes: random.below(400) as u32,
        segment_index_bytes: 80 + random.below(300) as u32,
        flush_messages: if random.one_in(3) { 7 } else { i64::MAX },
        preallocate: random.one_in(4),
        file_delete_delay_ms: 0,
        ..LogConfig::default()
    };
    let keep_start = random.one_in(2);
    let reopen = || -> (LogManager, Arc<Log>) {
        let mut config = config(&[dir.path()], settings.clone());
        config.producer_expiration_ms = i64::MAX;
        let (logs, _) = LogManager::open(config).unwrap();
        let log = create(&logs, "t");
        (logs, log)
    };
    let (mut logs, mut log) = reopen();
    let mut model = Model::default();
    for _ in 0..120 {
        match random.below(100) {
            0..70 => model.append(&log, &mut random),
            70..74 => log.flush(1_000).unwrap(),
            74..77 => logs.checkpoint(),
            77..79 => {
                log.roll(1_000).unwrap();
            }
            79..82 if !model.entries.is_empty() && model.start == 0 => {
                let at = model.entries.len()
                    - 1
                    - random.below(model.entries.len().min(12) as u64) as usize;
                let target = model.entries[at].base;
                logs.truncate([("t", 0, target)], 1_000).unwrap();
                model.cut(target);
            }
            82..85 if !keep_start && model.end > model.start => {
                log.advance_high_watermark(i64::MAX);
                let to = model.start + random.below((model.end - model.start) as u64 + 1) as i64;
                log.delete_records(to).unwrap();
                model.start = to;
                // Otherwise a crash may bring the older start back, as it does with Kafka.
                logs.checkpoint();
                log.delete_old_segments(1_000).unwrap();
                logs.delete_due(1_000);
            }
            85..89 => {
                logs.shut_down(1, 2_000);
                drop((log, logs));
                (logs, log) = reopen();
            }
            89..94 => {
                drop((log, logs));
                (logs, log) = reopen();
            }
            94..97 => {
                // The power goes: of what was not flushed any part may be missing.
                let safe = log.recovery_point();
                let active = *log.segment_base_offsets().last().unwrap();
                let begin = safe.max(active);
                let position =
                    if begin < model.end { read(&log, begin, 0).position } else { u64::MAX };
                let path = log.path().join(format!("{active:020}.log"));
                drop((log, logs));
                let mut kept = model.end;
                if position != u64::MAX {
                    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
                    let all: Vec<&Entry> =
                        model.entries.iter().filter(|entry| entry.last >= begin).collect();
                    let bytes: u64 = all.iter().map(|entry| entry.bytes.len() as u64).sum();
                    let cut = random.below(bytes + 1);
                    file.set_len(position + cut).unwrap();
                    let mut at = 0;
                    kept = all.first().map_or(begin, |entry| entry.base);
                    for entry in all {
                        at += entry.bytes.len() as u64;
                        if at <= cut {
                            kept = entry.last + 1;
                        }
                    }
                    // A log that ends before its start begins anew there.
                    kept = kept.max(model.start);
                }
                (logs, log) = reopen();
                assert!(kept >= safe, "what was flushed is there");
                if kept < model.end {
                    model.cut(kept);
                }
            }
            _ => {
                logs.flush_due(1_000);
                logs.close_idle_files();
            }
        }
        model.check(&log, &mut random);
    }
}

#[test]
fn random_operations_and_crashes() {
    let base = std::env::var("THALWEG_SEED_BASE").map_or(0, |text| text.parse::<u64>().unwrap());
    let usual = || format!("{base}..{}", base + 12);
    let seeds = std::env::var("THALWEG_LOG_SEEDS").unwrap_or_else(|_| usual());
    println!("THALWEG_LOG_SEEDS={seeds} repeats this run");
    let (from, to) = seeds.split_once("..").expect("from..to");
    for seed in from.parse().unwrap()..to.parse().unwrap() {
        let result = std::panic::catch_unwind(|| run(seed));
        if let Err(panic) = result {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
