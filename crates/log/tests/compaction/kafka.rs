//! Against Kafka's own cleaner: from the same log directory and settings both have to leave the same.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use thalweg_log::testing::TempDir;
use thalweg_log::testing::crash::with_seeds;
use thalweg_log::{CleanerConfig, LogConfig, LogManager};
use thalweg_records::Compression;

use super::generate::{Kind, Writer, parsed};
use crate::common::*;
use crate::oracle::{self, Input, Output, Program};

struct Oracle {
    input: Input,
    output: BufReader<Output>,
}

impl Oracle {
    fn start() -> Oracle {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/CleanerOracle.java");
        let (input, output) = Program::source(source, "CleanerOracle").start();
        Oracle { input, output: BufReader::new(output) }
    }

    fn ask(&mut self, question: &str) -> String {
        writeln!(self.input, "{question}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer.trim().to_owned()
    }
}

/// Settings of one log's life.
#[derive(Clone, Debug)]
struct Settings {
    log: LogConfig,
    cleaner: CleanerConfig,
}

impl Settings {
    fn words(&self) -> String {
        let (log, cleaner) = (&self.log, &self.cleaner);
        format!(
            "{} {} {} cleanup.policy=compact internal.segment.bytes={} segment.index.bytes={} \
             index.interval.bytes={} min.cleanable.dirty.ratio={} min.compaction.lag.ms={} \
             max.compaction.lag.ms={} delete.retention.ms={}",
            cleaner.dedupe_buffer_bytes,
            cleaner.load_factor,
            cleaner.io_buffer_bytes / 2,
            log.segment_bytes,
            log.segment_index_bytes,
            log.index_interval_bytes,
            log.min_cleanable_dirty_ratio,
            log.min_compaction_lag_ms,
            log.max_compaction_lag_ms,
            log.delete_retention_ms,
        )
    }

    fn open(&self, dir: &Path, now: i64) -> LogManager {
        let mut config = config(&[dir], self.log.clone());
        // As the oracle's. Some producers' batches have no timestamp and are older than any.
        (config.producer_expiration_ms, config.now_ms) = (i32::MAX.into(), now);
        let (logs, _) = LogManager::open(config).unwrap();
        logs.configure_cleaner(self.cleaner.clone());
        logs
    }
}

/// Files of the segments that are closed, but for what waits to be deleted.
fn files(dir: &Path, active: i64) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir.join("t-0")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        assert!(!name.ends_with(".cleaned") && !name.ends_with(".swap"), "{name} was left");
        let offset = name.split('.').next().and_then(|digits| digits.parse::<i64>().ok());
        let is_closed = offset.is_some_and(|offset| offset < active);
        if is_closed && !name.ends_with(".deleted") && !name.ends_with(".snapshot") {
            files.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    files
}

/// What a seed's log went through.
#[derive(Default)]
struct Seen {
    passes: usize,
    rests: usize,
    given_up: usize,
}

fn run(seed: u64, oracle: &mut Oracle, only_plain: bool, small_map: bool, seen: &mut Seen) {
    let start = 1_700_000_000_000;
    let mut draw = thalweg_random::Random::new(seed);
    let codecs = match only_plain {
        true => vec![Compression::None],
        false => vec![
            Compression::None,
            Compression::Gzip,
            Compression::Snappy,
            Compression::Lz4,
            Compression::Zstd,
        ],
    };
    let kind = Kind {
        codecs,
        keys: 3 + draw.below(150),
        // A pass that ends within a segment begins there again, and Kafka then takes transactions that
        // were aborted before for open ones: it keeps records of later ones that it need not.
        transactions: !small_map && !draw.one_in(3),
        keyless: draw.one_in(3),
    };
    let has_transactions = kind.transactions;
    let settings = Settings {
        log: LogConfig {
            compact: true,
            delete: false,
            segment_bytes: 8_000 + draw.below(12_000) as u32,
            segment_index_bytes: 300 + 8 * draw.below(200) as u32,
            index_interval_bytes: draw.below(900) as u32,
            min_cleanable_dirty_ratio: [0.0, 0.1, 0.5][draw.below(3) as usize],
            min_compaction_lag_ms: if draw.one_in(3) { draw.below(3_000) as i64 } else { 0 },
            max_compaction_lag_ms: if draw.one_in(3) { 3_000 } else { i64::MAX },
            delete_retention_ms: draw.below(6_000) as i64,
            ..LogConfig::default()
        },
        cleaner: CleanerConfig {
            dedupe_buffer_bytes: if small_map { 24 * (5 + draw.below(120)) } else { 24 << 10 },
            load_factor: 0.3 + draw.below(7) as f64 / 10.0,
            io_buffer_bytes: 2 * (1_024 + draw.below(30_000) as usize),
            ..CleanerConfig::default()
        },
    };
    let ours = TempDir::in_memory();
    let mut writer = Writer::new(draw.next_u64(), kind, start);
    for round in 0..6 {
        let logs = settings.open(ours.path(), writer.now);
        let log = create(&logs, "t");
        writer.append(&log, 20 + draw.below(150));
        // Of transactions that ended before the log's start Kafka does not look which were aborted. Nobody
        // reads them, unless a start after a crash finds the log's start where it was before.
        if !has_transactions && draw.one_in(3) {
            log.delete_records(
                log.log_start_offset()
                    + draw.below((log.log_end_offset() - log.log_start_offset()) as u64 / 4 + 1)
                        as i64,
            )
            .unwrap();
        }
        let (log_start, high_watermark) = (log.log_start_offset(), log.high_watermark());
        logs.shut_down(1, writer.now);
        drop((log, logs));
        let theirs = TempDir::in_memory();
        copy_dir(ours.path(), theirs.path());
        // As far apart as the horizons of tombstones.
        writer.now += draw.below(8_000) as i64;

        let question = format!(
            "{} {} {log_start} {high_watermark} {}",
            theirs.path().display(),
            writer.now,
            settings.words()
        );
        let theirs_said = oracle.ask(&question);
        if theirs_said.contains("Attempt to append to a full time index") {
            // Kafka gives a log up whose new segment has more index entries than fit; ours has none for
            // the last batches then.
            seen.given_up += 1;
            return;
        }
        let logs = settings.open(ours.path(), writer.now);
        let log = logs.get("t", 0).unwrap();
        log.advance_high_watermark(high_watermark);
        let what = format!("round {round}, {:?}: {theirs_said}", settings.log);
        let ours_said = match logs.clean_once(writer.now) {
            None => "none".to_owned(),
            Some(cleaned) => format!(
                "cleaned {} {} {} {}",
                cleaned.first_dirty_offset,
                cleaned.end_offset.expect("a pass that comes to its end"),
                cleaned.bytes_read,
                if only_plain { cleaned.bytes_written } else { 0 },
            ),
        };
        // Compared with what passes before have left.
        let theirs_said = match only_plain || theirs_said == "none" {
            true => theirs_said,
            // The codecs are others.
            false => format!("{} 0", theirs_said.rsplit_once(' ').unwrap().0),
        };
        assert_eq!(theirs_said, ours_said, "{what}");
        let active = *log.segment_base_offsets().last().unwrap();
        let (left, right) = (files(theirs.path(), active), files(ours.path(), active));
        let names = |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
            files
                .iter()
                .map(|(name, bytes)| match name.ends_with(".log") {
                    true => format!("{name} {}", parsed(bytes).len()),
                    false => name.clone(),
                })
                .collect()
        };
        assert_eq!(names(&left), names(&right), "{what}");
        for (name, bytes) in &left {
            let is_log = name.ends_with(".log");
            if is_log {
                for (one, other) in parsed(bytes).iter().zip(&parsed(&right[name])) {
                    assert_eq!(one, other, "{what}: {name}, Kafka's on the left");
                }
            }
            if only_plain || name.ends_with(".txnindex") {
                assert!(bytes == &right[name], "{what}: {name} has other bytes");
            }
        }
        let checkpoint = |dir: &Path| {
            std::fs::read_to_string(dir.join("cleaner-offset-checkpoint")).unwrap_or_default()
        };
        if ours_said == "none" {
            seen.rests += 1;
        } else {
            seen.passes += 1;
            assert_eq!(checkpoint(theirs.path()), checkpoint(ours.path()), "{what}");
        }
        logs.shut_down(1, writer.now);
    }
}

fn against_kafka(seeds: u64, only_plain: bool, small_map: bool) {
    if oracle::jars().is_none() {
        return;
    }
    let mut oracle = Oracle::start();
    let mut seen = Seen::default();
    with_seeds(seeds, |seed| run(seed, &mut oracle, only_plain, small_map, &mut seen));
    let Oracle { input, output } = oracle;
    drop(input);
    assert_eq!(output.into_inner().finish().status, 0);
    assert!(seen.passes > 2 * seeds as usize, "{} passes", seen.passes);
    assert!(seen.given_up <= seeds as usize / 5, "Kafka gave up {} logs", seen.given_up);
    assert!(seen.rests > 0, "every log was due every time");
}

#[test]
fn the_same_bytes_stay_of_what_is_not_compressed() {
    against_kafka(40, true, false);
}

#[test]
fn the_same_records_stay_of_every_codec() {
    against_kafka(25, false, false);
}

#[test]
fn passes_end_where_kafkas_do_when_the_map_is_full() {
    against_kafka(30, true, true);
}
