//! Compaction: what stays, what it may not do to others, and what others may do to it.

mod crash;
mod generate;
mod kafka;
mod races;
mod stays;

use generate::*;
use thalweg_log::{AppendContext, Isolation, Log, LogConfig};
use thalweg_records::batch::{HEADER_LEN, seal};
use thalweg_records::builder::put_record;
use thalweg_records::{BatchBuilder, BatchOptions, Compression, CompressionSpec, Compressor};

use crate::common::*;

/// A compacted log of small segments, which is compacted whenever something is new.
fn compacted() -> LogConfig {
    LogConfig {
        compact: true,
        delete: false,
        segment_bytes: 16 << 20,
        min_cleanable_dirty_ratio: 0.0,
        ..LogConfig::default()
    }
}

/// Everything there is.
fn everything() -> Kind {
    Kind {
        codecs: vec![Compression::None, Compression::Lz4, Compression::Gzip],
        keys: 40,
        transactions: true,
        keyless: false,
    }
}

fn put(log: &Log, key: &str, value: Option<&str>, at: i64) {
    let mut batch = BatchBuilder::new(BatchOptions::default());
    batch.append(at, Some(key.as_bytes()), value.map(str::as_bytes), &[]);
    let mut bytes = batch.finish(&mut Compressor::new()).unwrap();
    log.append_as_leader(&mut bytes, &AppendContext::client(0, at)).unwrap();
}

fn put_many(log: &Log, codec: Compression, records: &[(&str, &str)]) {
    let compression = CompressionSpec::new(codec);
    let mut batch = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
    for (key, value) in records {
        batch.append(10, Some(key.as_bytes()), Some(value.as_bytes()), &[]);
    }
    let mut bytes = batch.finish(&mut Compressor::new()).unwrap();
    log.append_as_leader(&mut bytes, &AppendContext::client(0, 10)).unwrap();
}

/// Records whose numbers in their batch begin at `first`, which is 0 as it should be.
fn put_numbered(log: &Log, records: &[(&str, &str)], first: i32) {
    let mut batch = BatchBuilder::new(BatchOptions::default());
    let mut body = Vec::new();
    for (delta, (key, value)) in (first..).zip(records) {
        let (key, value) = (Some(key.as_bytes()), Some(value.as_bytes()));
        batch.append(10, key, value, &[]);
        put_record(&mut body, delta, 0, key, value, std::iter::empty());
    }
    let mut bytes = batch.finish(&mut Compressor::new()).unwrap();
    bytes.truncate(HEADER_LEN);
    bytes.extend(body);
    let len = i32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&len.to_be_bytes());
    seal(&mut bytes);
    log.append_as_leader(&mut bytes, &AppendContext::client(0, 10)).unwrap();
}

/// All batches of a log, from wherever it begins.
fn all_batches(log: &Log) -> Vec<Batch> {
    let mut found: Vec<Batch> = Vec::new();
    let mut offset = log.log_start_offset();
    while offset < log.log_end_offset() {
        let result = read(log, offset, 1 << 20);
        let part = parsed(&result.to_vec().unwrap());
        let Some(last) = part.last() else { break };
        assert!(part.first().unwrap().last_offset >= offset);
        offset = last.last_offset + 1;
        found.extend(part);
    }
    let ordered = found.windows(2).all(|pair| pair[0].last_offset < pair[1].base_offset);
    assert!(ordered, "offsets keep their order");
    found
}

/// The records that a consumer of committed transactions gets.
fn read_visible(log: &Log, upto: i64) -> Vec<Found> {
    let start = log.log_start_offset();
    let aborted = log.aborted_transactions(start, upto).unwrap();
    let mut found = visible(&all_batches(log), &aborted, upto);
    found.retain(|record| record.offset >= start);
    found
}

/// As consumers ask.
fn committed_request(offset: i64) -> thalweg_log::ReadRequest {
    thalweg_log::ReadRequest { isolation: Isolation::LastStable, ..request(offset, 1 << 20) }
}
