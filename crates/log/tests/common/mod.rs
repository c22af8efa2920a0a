//! What the tests of this crate share.
#![allow(dead_code, clippy::print_stdout)]

pub mod model;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, AppendInfo, CreateRequest, Isolation, Log, LogConfig, LogManager, ManagerConfig,
    OpenReport, ReadRequest, ReadResult, RecordScan, Role, Wait,
};
use thalweg_records::BatchView;
use thalweg_wire::{Uuid, varint};

pub const TOPIC_ID: Uuid = Uuid::from_u128(0x4000_0000_0000_4000_8000_0000_0000_0001);

pub fn config(dirs: &[&Path], log: LogConfig) -> ManagerConfig {
    let dirs: Vec<PathBuf> = dirs.iter().map(|dir| dir.to_path_buf()).collect();
    let mut config = ManagerConfig::new(dirs, 1, log, 1_000);
    config.cluster_id = Some("test-cluster".into());
    config
}

pub fn open(dir: &TempDir, log: LogConfig) -> (LogManager, OpenReport) {
    LogManager::open(config(&[dir.path()], log)).unwrap()
}

pub fn create(logs: &LogManager, topic: &str) -> Arc<Log> {
    logs.create(&CreateRequest::new(topic, 0, TOPIC_ID), 1_000).unwrap()
}

pub fn client() -> AppendContext {
    AppendContext::client(0, 1_000)
}

pub fn append(log: &Log, spec: BatchSpec) -> AppendInfo {
    let context = match log.role() {
        Role::Leader { epoch } => AppendContext::client(epoch, 1_000),
        _ => client(),
    };
    let info = log.append_as_leader(&mut spec.build(), &context).unwrap();
    log.advance_high_watermark(info.last_offset + 1);
    info
}

/// Waits until something is so, for a minute at most.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "waited for a minute until {what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

pub fn request(offset: i64, max_bytes: u32) -> ReadRequest {
    ReadRequest {
        offset,
        max_bytes,
        min_one: true,
        isolation: Isolation::LogEnd,
        wait: Wait::Allowed,
    }
}

pub fn read(log: &Log, offset: i64, max_bytes: u32) -> ReadResult {
    log.read(&request(offset, max_bytes)).unwrap()
}

/// Base and last offset of every batch in `bytes`, which must be whole batches.
pub fn batches(bytes: &[u8]) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let batch = BatchView::parse(rest).expect("a whole batch");
        assert!(batch.crc_is_valid());
        found.push((batch.base_offset(), batch.last_offset()));
        rest = &rest[batch.total_len()..];
    }
    found
}

/// All bytes from `from` on, in reads of `max_bytes`.
pub fn read_all(log: &Log, from: i64, max_bytes: u32) -> Vec<u8> {
    read_upto(log, from, max_bytes, log.log_end_offset())
}

/// The same of a log whose last batch ends at `end`.
pub fn read_upto(log: &Log, from: i64, max_bytes: u32, end: i64) -> Vec<u8> {
    let mut all = Vec::new();
    let mut offset = from;
    loop {
        let result = read(log, offset, max_bytes);
        if result.is_empty() {
            assert_eq!(offset, end.max(from), "a read came to nothing before the end");
            return all;
        }
        let bytes = result.to_vec().unwrap();
        let (_, last) = *batches(&bytes).last().unwrap();
        assert!(last >= offset);
        offset = last + 1;
        assert!(result.upper_bound_offset >= offset);
        all.extend(bytes);
    }
}

/// Records of uncompressed batches.
pub struct PlainRecords;

impl RecordScan for PlainRecords {
    fn scan(
        &self,
        batch: BatchView<'_>,
        _: i32,
        visit: &mut dyn FnMut(i64, i64) -> bool,
    ) -> Result<(), String> {
        let mut rest = batch.payload();
        for _ in 0..batch.record_count() {
            let (len, n) = varint::read_i32(rest).ok_or("cut")?;
            let record = rest.get(n..n + len as usize).ok_or("cut")?;
            rest = &rest[n + len as usize..];
            let (timestamp, n) = varint::read_i64(&record[1..]).ok_or("cut")?;
            let (offset, _) = varint::read_i32(&record[1 + n..]).ok_or("cut")?;
            if !visit(batch.base_offset() + i64::from(offset), batch.base_timestamp() + timestamp) {
                break;
            }
        }
        Ok(())
    }
}

/// Copies a directory as a crash would leave it.
pub fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
