//! The verdicts of Apache Kafka's own classes on the same bytes: each case is appended to a fresh
//! log of Kafka's (request check, log analysis, validator, write) and validated here; error code,
//! failing record indexes, stored bytes, timestamps and offsets must agree.
//!
//! Needs Java 17 and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable the test says that it was skipped; with it, whatever goes wrong fails it.

pub mod cases;
mod kafka;
mod streams;

use std::fmt::Write as _;

use cases::Case;
use kafka::Verdict;
use thalweg_records::batch::{self, BatchView};
use thalweg_records::codec::Decompressor;
use thalweg_records::record;
use thalweg_records::validate::{Change, Scratch, validate};

/// Cases in which we mean to differ: words of their names, with the reason.
const DIFFERENCES: &[(&[&str], &str)] = &[
    (
        &["length of record", "is off by 2147483547"],
        "Kafka takes memory for the claimed length first and has not that much: its answer depends on its heap",
    ),
    (
        &["lz4 stream: an empty block at the beginning"],
        "Kafka's reader takes a block of zero bytes for the end of the stream, once",
    ),
    (
        &["match at offset 0"],
        "the reference decoder takes it for zeros; the format does not allow it and others refuse it",
    ),
];

/// What the harness appends to: its log begins here, and its leader has this epoch.
const START_OFFSET: i64 = 1000;
const LEADER_EPOCH: i32 = 7;

#[test]
fn verdicts_are_those_of_kafka() {
    let Some(jars) = std::env::var_os("THALWEG_KAFKA_JARS") else {
        eprintln!("skipped: THALWEG_KAFKA_JARS is not set");
        return;
    };
    let mut cases = cases::all();
    cases.extend(streams::all());
    let verdicts = kafka::judge(jars.as_ref(), &cases);
    assert_eq!(verdicts.len(), cases.len(), "one verdict per case");
    let mut scratch = Scratch::new();
    let (mut report, mut differing, mut accepted) = (String::new(), 0, 0);
    let mut used = vec![0; DIFFERENCES.len()];
    for (case, verdict) in cases.iter().zip(&verdicts) {
        accepted += usize::from(matches!(verdict, Verdict::Stored { .. }));
        let result = compare(case, verdict, &mut scratch);
        let known = DIFFERENCES
            .iter()
            .position(|(words, _)| words.iter().all(|word| case.name.contains(word)));
        if let Some(known) = known {
            used[known] += usize::from(result.is_err());
        } else if let Err(what) = result {
            differing += 1;
            if differing <= 60 {
                writeln!(report, "{}: {what}", case.name).expect("writes");
            }
        }
    }
    assert_eq!(differing, 0, "{differing} of {} cases differ from Kafka:\n{report}", cases.len());
    for ((words, reason), used) in DIFFERENCES.iter().zip(used) {
        assert!(used > 0, "{words:?} no longer differs ({reason})");
    }
    let refused = cases.len() - accepted;
    eprintln!("{} cases agree: {accepted} accepted, {refused} refused", cases.len());
    assert!(accepted > 200 && refused > 1000, "the generator has gone narrow");
}

fn compare(case: &Case, verdict: &Verdict, scratch: &mut Scratch) -> Result<(), String> {
    let mut bytes = case.bytes.clone();
    let ours = validate(&mut bytes, scratch, &case.config, case.origin, case.now);
    match (ours, verdict) {
        (Err(failure), Verdict::Refused { code, indexes, said }) => {
            if failure.error_code().0 != *code {
                let ours = failure.error_code();
                return Err(format!("we answer {ours} ({failure}), Kafka {code} ({said})"));
            }
            let mine: Vec<i32> = failure.record_errors.iter().map(|e| e.batch_index).collect();
            if mine != *indexes {
                return Err(format!("we blame records {mine:?}, Kafka {indexes:?}"));
            }
            Ok(())
        }
        (
            Ok(mut validated),
            Verdict::Stored {
                stored,
                max_timestamp,
                log_append_time,
                first_offset,
                last_offset,
                time_index,
            },
        ) => {
            let base = validated.base_offset(START_OFFSET);
            let last = START_OFFSET + i64::from(validated.record_count) - 1;
            let rewritten = matches!(validated.change, Change::Rewritten(_));
            let (max, append) = (validated.max_timestamp, validated.log_append_time.unwrap_or(-1));
            let batch = validated.batch_mut(&mut bytes);
            batch::set_base_offset(batch, base);
            batch::set_partition_leader_epoch(batch, LEADER_EPOCH);
            let facts = [
                ("max timestamp", max, *max_timestamp),
                ("log append time", append, *log_append_time),
                ("first offset", START_OFFSET, *first_offset),
                ("last offset", last, *last_offset),
                ("timestamp in the time index", max, time_index.0),
                (
                    "offset in the time index",
                    if max < 0 { START_OFFSET } else { last },
                    time_index.1,
                ),
            ];
            for (what, ours, theirs) in facts {
                if ours != theirs {
                    return Err(format!("{what} is {ours} here, {theirs} in Kafka"));
                }
            }
            if rewritten { same_content(batch, stored) } else { same_bytes(batch, stored) }
        }
        (Ok(_), Verdict::Refused { code, said, .. }) => {
            Err(format!("accepted here, {code} in Kafka ({said})"))
        }
        (Err(failure), Verdict::Stored { .. }) => {
            Err(format!("{} here ({failure}), accepted by Kafka", failure.error_code()))
        }
    }
}

fn same_bytes(ours: &[u8], theirs: &[u8]) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b);
    Err(format!("stored bytes differ at {at:?} of {} and {}", ours.len(), theirs.len()))
}

/// Equal but for what a codec makes of the same records.
fn same_content(ours: &[u8], theirs: &[u8]) -> Result<(), String> {
    let plain = |batch: &[u8]| -> Result<(Vec<u8>, Vec<u8>), String> {
        let view = BatchView::parse(batch).map_err(|e| e.to_string())?;
        if !view.crc_is_valid() {
            return Err("crc is wrong".into());
        }
        let mut records = Vec::new();
        record::decompress(&view, &mut Decompressor::new(), u64::MAX, &mut records)
            .map_err(|e| e.to_string())?;
        let mut header = batch[..batch::HEADER_LEN].to_vec();
        if view.compression() != Some(thalweg_records::Compression::None) {
            header[8..12].fill(0);
            header[17..21].fill(0);
        }
        Ok((header, records))
    };
    let (ours, theirs) = (plain(ours)?, plain(theirs)?);
    same_bytes(&ours.0, &theirs.0).map_err(|e| format!("headers: {e}"))?;
    same_bytes(&ours.1, &theirs.1).map_err(|e| format!("decompressed records: {e}"))
}
