//! Against Apache Kafka's own classes: its log reads ours, we read its log, its tools find nothing
//! wrong. Needs Java and, in THALWEG_KAFKA_JARS, a directory with the jars of a Kafka
//! distribution; without that variable the tests say "skipped".
#![allow(clippy::print_stdout)]

use crate::common;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::oracle::{self, Program};
use common::*;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{AppendContext, Isolation, Log, LogConfig, LogManager, ReadRequest, RecordScan};
use thalweg_records::{BatchView, Decompressor, RecordReader};

fn log_oracle(args: &[&str]) -> Program {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/LogOracle.java");
    Program::source(source, "LogOracle").args(args).arg(start_ms())
}

/// Around which the records' timestamps lie. Kafka forgets producers by the clock.
fn start_ms() -> i64 {
    static START: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    *START.get_or_init(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_millis() as i64 - 60_000
    })
}

struct Records;

impl RecordScan for Records {
    fn scan(
        &self,
        batch: BatchView<'_>,
        max_record_bytes: i32,
        visit: &mut dyn FnMut(i64, i64) -> bool,
    ) -> Result<(), String> {
        let mut decompressor = Decompressor::new();
        let mut reader =
            RecordReader::bounded(&batch, &mut decompressor, 1 << 20, max_record_bytes)
                .map_err(|error| error.to_string())?;
        while let Some(record) =
            reader.next(&batch, &mut decompressor).map_err(|error| error.to_string())?
        {
            if !visit(record.offset, record.timestamp) {
                break;
            }
        }
        Ok(())
    }
}

/// The same text as the oracle's `describe`.
fn describe(log: &Log) -> String {
    let mut out = String::new();
    let offsets = log.offsets();
    let _ = writeln!(
        out,
        "offsets {} {} {}",
        offsets.log_start_offset, offsets.log_end_offset, offsets.last_stable_offset
    );
    let bytes = read_all(log, offsets.log_start_offset, 3_000);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let batch = BatchView::parse(rest).unwrap();
        let _ = writeln!(
            out,
            "batch {} {} {} {} {} {} {} {} {}",
            batch.base_offset(),
            batch.last_offset(),
            batch.max_timestamp(),
            batch.partition_leader_epoch(),
            batch.producer_id(),
            batch.producer_epoch(),
            batch.base_sequence(),
            batch.crc(),
            batch.total_len()
        );
        rest = &rest[batch.total_len()..];
    }
    for base in log.segment_base_offsets() {
        let _ = writeln!(out, "segment {base}");
    }
    let mut producers = log.active_producers();
    producers.sort_by_key(|producer| producer.producer_id);
    for p in producers {
        let _ = writeln!(
            out,
            "producer {} {} {} {} {} {}",
            p.producer_id,
            p.producer_epoch,
            p.last_sequence,
            p.last_timestamp,
            p.coordinator_epoch,
            p.txn_start_offset
        );
    }
    for from in (offsets.log_start_offset..offsets.log_end_offset).step_by(37) {
        let _ = write!(out, "aborted {from}");
        // Kafka looks from the log's start on, whatever it is asked; what ended before is dropped.
        for a in log.aborted_transactions(from, offsets.log_end_offset).unwrap() {
            let _ = write!(
                out,
                " {}:{}:{}:{}",
                a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset
            );
        }
        out.push('\n');
    }
    for (epoch, start) in log.leader_epochs() {
        let _ = writeln!(out, "epoch {epoch} {start}");
    }
    for epoch in -1..9 {
        let end = log.end_offset_for_epoch(epoch);
        let end = end.map_or("none".to_owned(), |(epoch, offset)| format!("{epoch} {offset}"));
        let _ = writeln!(out, "end {epoch} {end}");
    }
    for target in (start_ms() - 200..start_ms() + 1_400).step_by(7) {
        let found = log.offset_for_timestamp(target, &Records).unwrap();
        let found = found.map_or("none".to_owned(), |f| format!("{} {}", f.offset, f.timestamp));
        let _ = writeln!(out, "time {target} {found}");
    }
    let max = log.offset_of_max_timestamp(&Records).unwrap();
    let max = max.map_or("none".to_owned(), |f| format!("{} {}", f.offset, f.timestamp));
    let _ = writeln!(out, "max {max}");
    out
}

fn assert_same(kafka: &str, ours: &str) {
    // Kafka names transactions that ended before the offset asked for; consumers ignore them.
    let clean = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| {
                let Some(rest) = line.strip_prefix("aborted ") else { return line.to_owned() };
                let mut parts = rest.split(' ');
                let from: i64 = parts.next().unwrap().parse().unwrap();
                let kept: Vec<&str> = parts
                    .filter(|txn| txn.split(':').nth(2).unwrap().parse::<i64>().unwrap() >= from)
                    .collect();
                format!("aborted {from} {}", kept.join(" "))
            })
            .collect()
    };
    let (kafka, ours) = (clean(kafka), clean(ours));
    for (line, (theirs, ours)) in kafka.iter().zip(&ours).enumerate() {
        assert_eq!(theirs, ours, "line {line}: Kafka's on the left");
    }
    assert_eq!(kafka.len(), ours.len());
    assert!(kafka.len() > 100, "the description is too short to say anything");
}

/// Every file of a partition through DumpLogSegments.
fn dump(partition: &Path) {
    let mut names: Vec<String> = std::fs::read_dir(partition)
        .unwrap()
        .map(|entry| entry.unwrap().path().to_string_lossy().into_owned())
        .filter(|name| {
            [".log", ".index", ".timeindex", ".txnindex", ".snapshot"]
                .iter()
                .any(|suffix| name.ends_with(suffix))
        })
        .collect();
    names.sort();
    assert!(names.len() > 5, "{names:?}");
    for mode in [&["--deep-iteration"][..], &["--verify-index-only"], &["--index-sanity-check"]] {
        let dump = Program::class("org.apache.kafka.tools.DumpLogSegments").args(mode);
        let done = dump.args(["--files", &names.join(",")]).run();
        let out = done.output;
        let err: String = done
            .errors
            .lines()
            .filter(|line| !line.contains("SLF4J") && !line.contains("StatusLogger"))
            // A file that begins above 0 has a first offset that "does not follow" -1.
            .filter(|line| !line.contains("Non-consecutive") && !line.contains("-1 is followed by"))
            .collect::<Vec<_>>()
            .join("\n");
        assert!(done.status == 0 && err.is_empty(), "{mode:?}: {err}");
        for complaint in ["invalid bytes", "isvalid: false", "Mismatch", "Corrupt"] {
            assert!(!out.contains(complaint), "{mode:?}: {complaint} in {out}");
        }
    }
}

/// A log with everything: several segments, producers, transactions, epochs.
fn fill(logs: &LogManager) {
    let log = create(logs, "t");
    let mut sequence = 0;
    for i in 0..150i64 {
        let epoch = (i / 60) as i32;
        if i % 60 == 0 {
            log.make_leader(epoch);
        }
        let count = 1 + (i % 5) as i32;
        let at = start_ms() + i * 9 - (i % 7) * 12;
        let times: Vec<i64> = (0..i64::from(count)).map(|k| at + (k * 7) % 5).collect();
        let mut spec = BatchSpec::new(0, count).timestamps(&times).value_len(20 + i as usize % 40);
        if i % 4 == 0 {
            spec = spec.producer(77, 2, sequence);
            sequence += count;
        }
        let context = AppendContext::client(epoch, 1_000);
        log.append_as_leader(&mut spec.build(), &context).unwrap();
        if i % 50 == 20 {
            let id = 1_000 + i;
            let part = BatchSpec::new(0, 2).timestamp(at).producer(id, 0, 0).transactional();
            log.append_as_leader(&mut part.build(), &context).unwrap();
            log.append_as_leader(&mut BatchSpec::new(0, 1).timestamp(at).build(), &context)
                .unwrap();
            let marker = BatchSpec::marker(0, id, 0, 4, i == 70).timestamp(at);
            let coordinator = AppendContext::coordinator(epoch, 1_000);
            log.append_as_leader(&mut marker.build(), &coordinator).unwrap();
        }
    }
    let open =
        BatchSpec::new(0, 2).timestamp(start_ms() + 2_000).producer(5_000, 0, 0).transactional();
    log.append_as_leader(&mut open.build(), &AppendContext::client(2, 1_000)).unwrap();
    log.advance_high_watermark(i64::MAX);
}

fn settings() -> LogConfig {
    LogConfig { segment_bytes: 6_000, index_interval_bytes: 300, ..LogConfig::default() }
}

fn open_forever(dir: &Path) -> LogManager {
    let mut config = config(&[dir], settings());
    config.producer_expiration_ms = i64::MAX;
    LogManager::open(config).unwrap().0
}

#[test]
fn kafka_finds_nothing_wrong_with_ours_and_reads_the_same() {
    if oracle::jars().is_none() {
        return;
    }
    for clean in [true, false] {
        let dir = TempDir::new();
        let logs = open_forever(dir.path());
        fill(&logs);
        let log = logs.get("t", 0).unwrap();
        assert!(log.segment_count() > 3);
        let ours = describe(&log);
        let end = log.log_end_offset();
        let mode = if clean { "clean" } else { "crash" };
        let partition = dir.path().join("t-0");
        if clean {
            logs.shut_down(5, 2_000);
            dump(&partition);
        }
        drop((log, logs));
        let kafka = log_oracle(&["describe", partition.to_str().unwrap(), mode]).succeed();
        assert_same(&kafka, &ours);
        // Kafka has appended and closed; back to us.
        std::fs::remove_file(dir.path().join(".kafka_cleanshutdown")).ok();
        for marker in [true, false] {
            if marker {
                std::fs::write(dir.path().join(".kafka_cleanshutdown"), "{}").unwrap();
            }
            let logs = open_forever(dir.path());
            let log = logs.get("t", 0).unwrap();
            assert_eq!(log.log_end_offset(), end + 3);
            assert_eq!(logs.metrics().truncated_bytes.get(), 0);
            log.advance_high_watermark(i64::MAX);
            let again = describe(&log);
            for line in ours.lines().filter(|line| line.starts_with("batch")) {
                assert!(again.contains(line), "{line}");
            }
            dump(&partition);
        }
    }
}

#[test]
fn kafkas_directories_are_served_and_recovered() {
    if oracle::jars().is_none() {
        return;
    }
    for mode in ["clean", "crash"] {
        let dir = TempDir::new();
        let partition = dir.path().join("t-0");
        let kafka = log_oracle(&["write", partition.to_str().unwrap(), mode]).succeed();
        if mode == "clean" {
            std::fs::write(dir.path().join(".kafka_cleanshutdown"), "{}").unwrap();
        }
        let logs = open_forever(dir.path());
        let log = logs.get("t", 0).unwrap();
        assert!(log.segment_count() > 2, "{}", log.segment_count());
        log.advance_high_watermark(i64::MAX);
        assert_same(&kafka, &describe(&log));
        assert_eq!(logs.metrics().truncated_bytes.get(), 0);
        if mode == "clean" {
            assert_eq!(logs.metrics().recovered_bytes.get(), 0);
            assert_eq!(
                logs.metrics().indexes_rebuilt.get(),
                0,
                "Kafka's indexes are taken as they are"
            );
        }
        let committed = ReadRequest { isolation: Isolation::LastStable, ..request(0, 1 << 20) };
        assert!(log.last_stable_offset() < log.log_end_offset(), "a transaction is open");
        assert!(log.read(&committed).unwrap().aborted.len() <= 2);
        // On and back.
        let more = &mut BatchSpec::new(0, 2).timestamp(start_ms() + 100_000).build();
        log.append_as_leader(more, &AppendContext::client(4, 1_000)).unwrap();
        log.advance_high_watermark(i64::MAX);
        let ours = describe(&log);
        logs.shut_down(1, 2_000);
        dump(&partition);
        drop((log, logs));
        let kafka = log_oracle(&["describe", partition.to_str().unwrap(), "clean"]).succeed();
        assert_same(&kafka, &ours);
    }
}

#[test]
fn java_and_we_keep_each_other_out() {
    if oracle::jars().is_none() {
        return;
    }
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let lock = dir.path().join(".lock");
    let lock = lock.to_str().unwrap();
    assert_eq!(log_oracle(&["lock", lock]).succeed().trim(), "taken");
    drop(logs);
    assert_eq!(log_oracle(&["lock", lock]).succeed().trim(), "free");
    let (input, output) = log_oracle(&["hold", lock]).start();
    let mut output = BufReader::new(output);
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "held");
    let error = LogManager::open(config(&[dir.path()], LogConfig::default())).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(input);
    assert_eq!(output.into_inner().finish().status, 0);
    open(&dir, LogConfig::default());
}
