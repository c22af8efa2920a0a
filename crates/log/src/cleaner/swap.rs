//! A segment that compaction has written takes the place of those it was made of, so that after a
//! crash at any point either the old ones are there or the new one.
//!
//! The names and their order are Kafka's, whose start finishes what ours has begun, and the other way
//! round: the new files are `.cleaned` until all of them are on the disk, then `.swap`; from there on
//! there is no way back, and a start goes on: the old ones become `.deleted`, the new ones get the
//! log's names. Kafka relies on the file system to keep the order of renames; here the directory is
//! flushed between the steps, because a power cut may keep a later one and lose an earlier.
//!
//! Readers have the old segments until the new one is in place, under their new names.

use std::sync::Arc;

use super::ticket::Ticket;
use crate::fs::names;
use crate::fs::stage::Stage;
use crate::partition::dir::{DeleteDelay, retry_exhausted};
use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::partition::segment::Segment;

/// Puts `new`, whose files are flushed, in the place of `old`. False if the pass does not count any
/// more, or another one than it knows is among the segments; then nothing was changed.
pub(super) fn replace_segments(
    log: &Log,
    ticket: &Ticket,
    new: &Arc<Segment>,
    old: &[Arc<Segment>],
    now_ms: i64,
) -> Result<bool, StorageError> {
    // From here on nobody takes segments away.
    let _change = log.lock_change();
    let dir = &log.home().dir;
    dir.check()?;
    let segments = log.segments();
    let begin = segments.partition_point(|segment| segment.base_offset < new.base_offset);
    let is_same = segments
        .get(begin..begin + old.len())
        .is_some_and(|part| part.iter().zip(old).all(|(one, other)| Arc::ptr_eq(one, other)));
    if !ticket.is_current() || !is_same {
        return Ok(false);
    }
    let path = log.path();
    let sync_dir = || retry_exhausted(|| dir.guard("flush", &path, dir.disk.sync_dir(&path)));
    // The names of the new files, so that none of them can be missing among the `.swap` ones.
    sync_dir()?;
    let swapped = (|| {
        let log_path = new.file_path(names::LOG);
        dir.guard("rename", &log_path, new.rename(Stage::Swap))?;
        sync_dir()?;
        for segment in old {
            let renamed = segment.rename(Stage::Deleted);
            dir.guard("rename", &segment.file_path(names::LOG), renamed)?;
        }
        sync_dir()?;
        // A start that finds a `.swap` log removes the other files of its name. Offset and time
        // index can be built anew, the index of aborted transactions cannot.
        if new.has_txn_index() {
            dir.guard("rename", &log_path, new.rename_log(Stage::Live))?;
            sync_dir()?;
        }
        dir.guard("rename", &log_path, new.rename(Stage::Live))?;
        sync_dir()
    })();
    dir.no_way_back(swapped)?;
    log.segments.change(|list| {
        let begin = list.partition_point(|segment| segment.base_offset < new.base_offset);
        list.splice(begin..begin + old.len(), [Arc::clone(new)]);
    });
    // Whoever looks at the new list must not go by positions in the old files.
    log.hints.void();
    let delay = DeleteDelay::new(now_ms, log.config().file_delete_delay_ms);
    for segment in old {
        segment.throw_away(delay);
        if segment.base_offset != new.base_offset {
            log.delete_snapshot(segment.base_offset, delay)?;
        }
    }
    Ok(true)
}
