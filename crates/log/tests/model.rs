//! A log against a model of it: random operations, stops, crashes and power cuts.
//!
//! `THALWEG_LOG_SEEDS=from..to` runs other seeds; a failure names its own.

use crate::common;

use std::sync::Arc;

use common::model::{Entry, Model};
use common::*;
use thalweg_log::testing::TempDir;
use thalweg_log::{Log, LogConfig, LogManager};
use thalweg_random::{Random, seeds};

fn run(seed: u64) {
    let mut random = Random::new(seed);
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
                // Where the batch at `begin` is in the file, also when the log's start is after it.
                let position: u64 = model
                    .entries
                    .iter()
                    .filter(|entry| (active..begin).contains(&entry.base))
                    .map(|entry| entry.bytes.len() as u64)
                    .sum();
                let path = log.path().join(format!("{active:020}.log"));
                drop((log, logs));
                let mut kept = model.end;
                if begin < model.end {
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
    let base = seeds::base(0);
    let usual = || format!("{base}..{}", base + 12);
    let seeds = std::env::var("THALWEG_LOG_SEEDS").unwrap_or_else(|_| usual());
    eprintln!("THALWEG_LOG_SEEDS={seeds} repeats this run");
    let (from, to) = seeds.split_once("..").expect("from..to");
    for seed in from.parse().unwrap()..to.parse().unwrap() {
        let result = std::panic::catch_unwind(|| run(seed));
        if let Err(panic) = result {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
