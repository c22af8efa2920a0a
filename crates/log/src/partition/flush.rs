//! Flushing a log.
//!
//! The recovery point follows a flush that succeeded; a flush that fails takes the directory
//! offline and is never repeated. An append waits for a flush only with `flush.messages`
//! (`append`, `answer`).

use std::sync::Arc;
use std::time::Instant;

use crate::format::checkpoint;
use crate::fs::disk::{Disk, Mode};
use crate::fs::names;
use crate::partition::error::StorageError;
use crate::partition::leader_epochs::FileChange;
use crate::partition::log::Log;
use crate::partition::segments::floor_segment;

impl Log {
    /// Flushes everything up to the log's end as it is now.
    pub fn flush(&self, now_ms: i64) -> Result<(), StorageError> {
        self.flush_upto(self.log_end_offset(), now_ms)
    }

    /// Flushes what lies before `offset`.
    pub fn flush_upto(&self, offset: i64, now_ms: i64) -> Result<(), StorageError> {
        let home = self.home();
        let mut flushed = self.flush_inner(offset, now_ms);
        if !Arc::ptr_eq(home, self.home()) {
            // It has moved meanwhile, after a flush.
            flushed = self.flush_inner(offset, now_ms);
        }
        // A log that was deleted meanwhile has nothing to flush.
        if self.is_closed() && self.home().dir.check().is_ok() { Ok(()) } else { flushed }
    }

    fn flush_inner(&self, offset: i64, now_ms: i64) -> Result<(), StorageError> {
        self.home().dir.check()?;
        if self.is_closed() {
            return Ok(());
        }
        let recovery_point = self.recovery_point();
        if offset <= recovery_point {
            return Ok(());
        }
        let (generation, offset) = {
            let writer = self.writer();
            // What a truncation has taken since is not what is appended there now.
            (writer.generation, offset.min(writer.end_offset))
        };
        if offset <= recovery_point {
            return Ok(());
        }
        // What the epochs' file lacks must be behind the recovery point.
        self.write_epochs()?;
        let segments = self.segments();
        let dir = &self.home().dir;
        let began = Instant::now();
        let first = floor_segment(&segments, recovery_point);
        let mut new_files = Vec::new();
        for (at, segment) in segments.iter().enumerate().skip(first) {
            if at > first && segment.base_offset >= offset {
                break;
            }
            // The last segment's indexes are built again after a crash as long as the recovery
            // point lies in it.
            let closed = at + 1 < segments.len();
            let result = segment.flush(closed);
            if segment.is_deleted() {
                continue;
            }
            if let Some(made) = self.guard("flush", &segment.file_path(names::LOG), result)? {
                new_files.push((segment, made));
            }
            dir.metrics.flushes.add(1);
        }
        // What is noted as done is done: an open that fails for lack of descriptors is tried again.
        let metadata_unsynced = self.flushed.is_metadata_unsynced();
        if metadata_unsynced {
            self.flush_metadata()?;
        }
        if metadata_unsynced || !new_files.is_empty() {
            let path = self.path();
            self.guard("flush", &path, dir.disk.sync_dir(&path))?;
            new_files.iter().for_each(|(segment, made)| segment.names_synced(*made));
            if metadata_unsynced {
                self.flushed.set_metadata_unsynced(false);
            }
        }
        dir.metrics.flush_nanos.add(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let writer = self.writer();
        // After a truncation the offsets stand for other bytes.
        if writer.generation == generation {
            // A segment that is being closed, or was meanwhile, is flushed without its indexes so far:
            // the recovery point stays in it until it is flushed with them.
            let reached = match segments.last() {
                Some(last) if last.base_offset != writer.active.base_offset => {
                    offset.min(last.base_offset)
                }
                _ if writer.rolling => offset.min(writer.end_offset - 1),
                _ => offset.min(writer.end_offset),
            };
            self.flushed.reached(reached);
            self.flushed.flushed_at(now_ms);
        }
        Ok(())
    }

    /// Flushes `partition.metadata`, and the directory that it is in.
    pub(crate) fn flush_metadata(&self) -> Result<(), StorageError> {
        let dir = &self.home().dir;
        let path = self.path().join(names::PARTITION_METADATA);
        let synced = dir.disk.open(&path, Mode::Write).and_then(|file| file.sync());
        self.guard("flush", &path, synced)?;
        // The partition's own directory is as new as the file.
        dir.guard("flush", dir.path(), dir.disk.sync_dir(dir.path()))
    }

    /// Whether `flush.messages` asks for a flush of a log that ends at `end`.
    pub(crate) fn is_flush_due(&self, end: i64) -> bool {
        let unflushed = end - self.flushed.recovery_point();
        unflushed > 0 && unflushed >= self.config_ref().flush_messages
    }

    /// Flushes if `flush.ms` has passed, or if closed segments wait for it. Says whether it did.
    pub fn flush_if_due(&self, now_ms: i64) -> Result<bool, StorageError> {
        let unflushed = self.log_end_offset() > self.recovery_point();
        let since = now_ms.saturating_sub(self.flushed.last_flush_ms());
        let is_due = unflushed && since >= self.config().flush_ms;
        let request = self.flushed.take_request();
        if !is_due && request.upto() <= self.recovery_point() {
            request.done();
            self.note_epochs()?;
            return Ok(false);
        }
        let upto = if is_due { self.log_end_offset() } else { request.upto() };
        self.flush_upto(upto, now_ms)?;
        request.done();
        Ok(true)
    }

    /// Writes `leader-epoch-checkpoint` if it lacks an epoch that has records. A new epoch without
    /// any is not worth it: after a restart every partition has one, and its leader will say so
    /// again.
    fn note_epochs(&self) -> Result<(), StorageError> {
        let end = self.log_end_offset();
        if self.epochs.file_covers(end) { Ok(()) } else { self.write_epochs() }
    }

    /// Writes `leader-epoch-checkpoint` if it lags, for good.
    pub(crate) fn write_epochs(&self) -> Result<(), StorageError> {
        // One at a time, so that an older list never replaces a newer one, and who finds nothing
        // to do knows that it is done.
        let file = self.epochs.lock_file();
        let dir = &self.home().dir;
        match file.change() {
            FileChange::Write(entries) => {
                let content = checkpoint::format_epochs(&entries);
                // The log is not renamed away meanwhile: its temporary file would be in the directory of the
                // partition that is made under its name next, which has one of the same name.
                let home = self.home().lock_path();
                if self.is_closed() {
                    return Ok(());
                }
                let path = home.join(names::LEADER_EPOCHS);
                let written = dir.disk.write_atomic(&path, &content);
                drop(home);
                self.guard("write", &path, written)?;
                file.written(entries);
            }
            FileChange::Sync if !self.is_closed() => {
                let path = self.path().join(names::LEADER_EPOCHS);
                let synced = dir.disk.open(&path, Mode::Write).and_then(|file| file.sync());
                self.guard("flush", &path, synced)?;
                // It may have its name since the same start.
                let home = self.path();
                self.guard("flush", &home, dir.disk.sync_dir(&home))?;
                file.synced();
            }
            FileChange::Sync | FileChange::Nothing => {}
        }
        Ok(())
    }

    /// The end of a clean shutdown: all on disk, indexes complete, producers in a snapshot. The
    /// log takes no more appends.
    ///
    /// [`crate::LogManager::shut_down`] does it for its logs; for one opened with
    /// [`crate::LogManager::open_unmanaged`] it is the owner's to call.
    pub fn close_cleanly(&self, now_ms: i64) -> Result<(), StorageError> {
        let dir = &self.home().dir;
        dir.check()?;
        let _change = self.lock_change();
        let turn = self.wait_turn();
        if self.is_closed() {
            // A future replica that its log has moved to meanwhile: its files are the log's.
            turn.pass_on();
            return Ok(());
        }
        let closed = self.write_everything(now_ms);
        self.set_closed(closed.is_ok());
        turn.pass_on();
        closed
    }

    fn write_everything(&self, now_ms: i64) -> Result<(), StorageError> {
        let dir = &self.home().dir;
        let (snapshot, end) = {
            let writer = self.writer();
            let new = writer.producers.map_end_offset > writer.producers.last_snapshot_offset;
            // One that says nothing is not missed.
            let unsynced = self.snapshots.is_unsynced() && writer.producers.len() > 0;
            ((new || unsynced).then(|| writer.producers.snapshot()), writer.end_offset)
        };
        self.flush_inner(end, now_ms)?;
        if end > 0 && self.flushed.is_metadata_unsynced() {
            // Made anew after a crash, of records that are flushed: nothing else flushes it.
            self.flush_metadata()?;
            let path = self.path();
            self.guard("flush", &path, dir.disk.sync_dir(&path))?;
            self.flushed.set_metadata_unsynced(false);
        }
        self.note_epochs()?;
        // Where there was nothing to flush. After a clean stop nobody looks at the batches.
        if self.epochs.is_file_unsynced() {
            self.write_epochs()?;
        }
        if let Some(bytes) = snapshot {
            let path = names::segment_file(&self.path(), end, names::SNAPSHOT);
            // With its name: after a clean stop nobody collects the producers from the batches.
            let written = write_snapshot(&dir.disk, &path, &bytes, true)
                .and_then(|()| dir.disk.sync_dir(&self.path()));
            dir.guard("write", &path, written)?;
            self.snapshots.set_synced();
        }
        let segments = self.segments();
        if let Some(active) = segments.last()
            && (end > active.base_offset || self.config().preallocate)
        {
            let trimmed = active.trim().and_then(|is_shorter| match is_shorter {
                // All else is flushed: at the next start nobody does that again.
                true => active.open_briefly()?.sync(),
                false => Ok(()),
            });
            dir.guard("trim", &active.file_path(names::LOG), trimmed)?;
        }
        for segment in segments.iter() {
            let result = segment.close_index();
            dir.guard("close", &segment.file_path(names::LOG), result)?;
        }
        Ok(())
    }

    /// Takes no more appends and reads.
    pub(crate) fn close(&self) {
        self.set_closed(true);
    }
}

pub(crate) fn write_snapshot(
    disk: &Disk,
    path: &std::path::Path,
    bytes: &[u8],
    sync: bool,
) -> std::io::Result<()> {
    let file = disk.open(path, Mode::Create)?;
    file.write_all_at(bytes, 0)?;
    // Afterwards: a file that is emptied and written again makes ext4 wait for the disk.
    if file.len()? != bytes.len() as u64 {
        file.set_len(bytes.len() as u64)?;
    }
    if sync { file.sync() } else { Ok(()) }
}
