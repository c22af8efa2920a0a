//! The checkpoints of a log directory: an offset of each of its logs, in a file of Kafka's.

use std::sync::Arc;

use crate::fs::names;
use crate::partition::dir::{LogDir, Written};
use crate::partition::error::StorageError;
use crate::partition::log::Log;

/// A checkpoint: its file, and which offset of a log stands in it, if one does.
#[derive(Clone, Copy)]
pub(crate) struct OffsetCheckpoint {
    name: &'static str,
    offset: fn(&Log) -> Option<i64>,
    /// Most directories have no such offset, and no such file.
    is_rare: bool,
}

/// What a start has to read again of each log begins there.
pub(crate) const RECOVERY_POINTS: OffsetCheckpoint = OffsetCheckpoint {
    name: names::RECOVERY_POINTS,
    offset: |log| Some(log.recovery_point()),
    is_rare: false,
};

/// Only of logs that start within a segment: the others start where their files do, once these are
/// there for good.
pub(crate) const LOG_STARTS: OffsetCheckpoint = OffsetCheckpoint {
    name: names::LOG_STARTS,
    offset: |log| {
        let start = log.log_start_offset();
        let segments = log.segments();
        let starts_with_file = segments
            .first()
            .is_some_and(|first| first.base_offset >= start && first.begins_for_good());
        (start > 0 && !starts_with_file).then_some(start)
    },
    is_rare: false,
};

/// High watermarks.
pub(crate) const HIGH_WATERMARKS: OffsetCheckpoint = OffsetCheckpoint {
    name: names::HIGH_WATERMARKS,
    offset: |log| Some(log.high_watermark()),
    is_rare: false,
};

/// Up to where each log is compacted, of those that were compacted once.
pub(crate) const CLEANED_OFFSETS: OffsetCheckpoint =
    OffsetCheckpoint { name: names::CLEANED_OFFSETS, offset: Log::cleaned_offset, is_rare: true };

impl OffsetCheckpoint {
    /// All of them, in the order in which they are written.
    pub(crate) const ALL: [OffsetCheckpoint; 4] =
        [RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANED_OFFSETS];

    /// Writes the file, of these logs of the directory.
    pub(crate) fn write(
        &self,
        written: &mut Written,
        dir: &LogDir,
        logs: &[Arc<Log>],
    ) -> Result<(), StorageError> {
        let of = |log| (self.offset)(log);
        let entries: Vec<(&str, i32, i64)> = logs
            .iter()
            .filter_map(|log| of(log).map(|offset| (&*log.topic, log.partition, offset)))
            .collect();
        if self.is_rare && entries.is_empty() {
            let path = dir.path().join(self.name);
            if dir.guard("look at", &path, dir.disk.len(&path))?.is_none() {
                return Ok(());
            }
        }
        dir.write_checkpoint(written, self.name, &entries)
    }
}
