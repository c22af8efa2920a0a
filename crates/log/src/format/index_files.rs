//! The files of a segment's indexes: where they are, and their entries.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::fs::disk::{Disk, Mode, OpenFile};
use crate::fs::names;
use crate::fs::stage::{Stage, lock_stage, staged_path};
use crate::fs::wait::Wait;

pub(crate) const OFFSET_ENTRY: usize = 8;
pub(crate) const TIME_ENTRY: usize = 12;
/// Entries that are read at once, and gathered before they are written.
pub(crate) const PAGE_ENTRIES: usize = 512;

/// Largest timestamp of a segment, and the last offset of the batch it is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MaxTimestamp {
    pub(crate) timestamp: i64,
    pub(crate) offset: i64,
}

/// Where the files of a segment's indexes are.
pub(crate) struct IndexPaths<'a> {
    pub(crate) disk: &'a Disk,
    pub(crate) partition: Arc<Path>,
    pub(crate) base_offset: i64,
    pub(crate) stage: &'a RwLock<Stage>,
}

impl IndexPaths<'_> {
    fn open(&self, suffix: &str, mode: Mode, wait: Wait) -> io::Result<OpenFile> {
        let stage = lock_stage(self.stage, wait)?;
        self.disk.open(&staged_path(&self.partition, self.base_offset, suffix, *stage), mode)
    }

    pub(crate) fn open_offsets(&self, mode: Mode, wait: Wait) -> io::Result<OpenFile> {
        self.open(names::INDEX, mode, wait)
    }

    pub(crate) fn open_times(&self, mode: Mode, wait: Wait) -> io::Result<OpenFile> {
        self.open(names::TIME_INDEX, mode, wait)
    }
}

pub(crate) fn decode_offset(entry: &[u8; OFFSET_ENTRY]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = *entry;
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

pub(crate) fn encode_offset((relative, position): (u32, u32)) -> [u8; OFFSET_ENTRY] {
    let mut entry = [0; OFFSET_ENTRY];
    entry[..4].copy_from_slice(&relative.to_be_bytes());
    entry[4..].copy_from_slice(&position.to_be_bytes());
    entry
}

pub(crate) fn decode_time(entry: &[u8; TIME_ENTRY]) -> (i64, u32) {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *entry;
    (i64::from_be_bytes([a, b, c, d, e, f, g, h]), u32::from_be_bytes([i, j, k, l]))
}

pub(crate) fn encode_time((timestamp, relative): (i64, u32)) -> [u8; TIME_ENTRY] {
    let mut entry = [0; TIME_ENTRY];
    entry[..8].copy_from_slice(&timestamp.to_be_bytes());
    entry[8..].copy_from_slice(&relative.to_be_bytes());
    entry
}
