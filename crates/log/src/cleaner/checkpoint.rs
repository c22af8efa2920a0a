//! `cleaner-offset-checkpoint`: up to where each log of a directory is compacted.

use std::sync::Arc;

use crate::fs::names;
use crate::partition::dir::{LogDir, Written};
use crate::partition::error::StorageError;
use crate::partition::log::Log;

/// Writes the checkpoint, of those logs that were compacted once.
pub(crate) fn write_cleaned_offsets(
    written: &mut Written,
    dir: &LogDir,
    logs: &[Arc<Log>],
) -> Result<(), StorageError> {
    let path = dir.path().join(names::CLEANED_OFFSETS);
    // Most directories have no such log, and no such file.
    if logs.iter().all(|log| log.cleaned_offset().is_none())
        && dir.guard("look at", &path, dir.disk.len(&path))?.is_none()
    {
        return Ok(());
    }
    let entries: Vec<(&str, i32, i64)> = logs
        .iter()
        .filter_map(|log| log.cleaned_offset().map(|offset| (&*log.topic, log.partition, offset)))
        .collect();
    dir.write_checkpoint(written, names::CLEANED_OFFSETS, &entries)
}
