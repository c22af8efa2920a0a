//! Segments and records that go from the beginning of a log: retention, DeleteRecords.
//!
//! Invariants:
//! - `change` is held from beginning to end; the turn only where nothing may be appended in between.
//! - The log's start is raised before a file goes, and files are gone for good before the checkpoint of log
//!   starts relies on them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::fs::names;
use crate::partition::config::LogConfig;
use crate::partition::dir::DeleteDelay;
use crate::partition::error::{ReadError, StorageError};
use crate::partition::log::Log;
use crate::partition::segment::Segment;

impl Log {
    /// Removes segments that retention no longer keeps, or that DeleteRecords has passed. Says
    /// how many.
    pub fn delete_old_segments(&self, now_ms: i64) -> Result<usize, StorageError> {
        self.home().dir.check()?;
        // What is being compacted goes afterwards, or it would be compacted in vain.
        if self.is_closed() || self.cleaning.is_busy() {
            return Ok(0);
        }
        let config = self.config();
        let mut deleted = self.delete_segments_before_start(now_ms)?;
        if !config.delete {
            return Ok(deleted);
        }
        if config.retention_bytes >= 0 {
            let mut excess = i128::from(self.size()) - i128::from(config.retention_bytes);
            deleted += self.delete_while(now_ms, &config, |segment, _, _| {
                let size = i128::from(segment.size());
                let delete = excess >= size && excess > 0;
                if delete {
                    excess -= size;
                }
                Ok(delete)
            })?;
        }
        if config.retention_ms >= 0 {
            deleted += self.delete_while(now_ms, &config, |segment, _, _| {
                let newest = segment.largest_timestamp()?;
                Ok(now_ms.saturating_sub(newest) > config.retention_ms)
            })?;
        }
        Ok(deleted)
    }

    /// Removes segments that lie before the log's start, and no others. Says how many.
    pub(crate) fn delete_segments_before_start(&self, now_ms: i64) -> Result<usize, StorageError> {
        self.home().dir.check()?;
        self.delete_while(now_ms, &self.config(), |_, next, log_start| {
            Ok(next.is_some_and(|next| next.base_offset <= log_start))
        })
    }

    /// Deletes segments from the start on for which `goes` holds, as far as the high watermark has
    /// passed them.
    fn delete_while(
        &self,
        now_ms: i64,
        config: &LogConfig,
        mut goes: impl FnMut(&Segment, Option<&Arc<Segment>>, i64) -> std::io::Result<bool>,
    ) -> Result<usize, StorageError> {
        let _change = self.lock_change();
        // It was closed while the right to change it was waited for.
        if self.is_closed() {
            return Ok(0);
        }
        let dir = &self.home().dir;
        let segments = self.segments();
        let (high_watermark, log_start) = (self.high_watermark(), self.log_start_offset());
        let mut count = 0;
        let end = self.log_end_offset();
        for (at, segment) in segments.iter().enumerate() {
            let next = segments.get(at + 1);
            let upper = next.map_or(end, |next| next.base_offset);
            let last_and_empty = next.is_none() && segment.size() == 0;
            if last_and_empty || high_watermark < upper {
                break;
            }
            let verdict = goes(segment, next, log_start);
            if !dir.guard("read", &segment.file_path(names::LOG), verdict)? {
                break;
            }
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        if count == segments.len() {
            // Also the active one, if nothing was appended to it since it was judged.
            let turn = self.wait_turn();
            let rolled = match self.log_end_offset() == end {
                true => self.roll_in(&turn, 0, now_ms).map(drop),
                false => {
                    count -= 1;
                    Ok(())
                }
            };
            turn.pass_on();
            rolled?;
            if count == 0 {
                return Ok(0);
            }
        }
        let segments = self.segments();
        let (gone, kept) = segments.split_at(count.min(segments.len() - 1));
        if let Some(first) = kept.first() {
            if first.has_new_files() {
                // Without any segment the log would begin at 0 again.
                let path = self.path();
                self.guard("flush", &path, dir.disk.sync_dir(&path))?;
            }
            // Until the sync below: so long the checkpoint of log starts must not rely on the files. A
            // flush that syncs the directory meanwhile may have done so before the renames.
            first.set_removals_unsynced(true);
            self.raise_log_start(first.base_offset);
        }
        self.segments.change(|list| {
            list.retain(|segment| gone.iter().all(|gone| gone.base_offset != segment.base_offset));
        });
        let delay = DeleteDelay::new(now_ms, config.file_delete_delay_ms);
        for segment in gone {
            segment.delete(delay)?;
            self.delete_snapshot(segment.base_offset, delay)?;
        }
        // The checkpoint of log starts says nothing of a log that starts with a file: the older ones
        // must be gone for good.
        let path = self.path();
        // Nothing else may come to sync the names of a segment that nothing is written to.
        let made = kept.first().map(|first| first.files_made());
        self.guard("flush", &path, dir.disk.sync_dir(&path))?;
        if let (Some(first), Some(made)) = (kept.first(), made) {
            first.names_synced(made);
            first.set_removals_unsynced(false);
        }
        tracing::info!(topic = %self.topic, partition = self.partition, segments = gone.len(),
            log_start_offset = self.log_start_offset(), "deleted old segments");
        Ok(gone.len())
    }

    /// DeleteRecords: nothing before `offset` can be read any more. -1 is the high watermark;
    /// beyond that it is out of range. Returns where the log begins now.
    pub fn delete_records(&self, offset: i64) -> Result<i64, ReadError> {
        // First, so that no truncation takes what the offset is compared with.
        let _change = self.lock_change();
        self.check_readable()?;
        let high_watermark = self.high_watermark();
        let offset = if offset == -1 { high_watermark } else { offset };
        if offset < 0 || offset > high_watermark {
            return Err(ReadError::OffsetOutOfRange {
                topic: self.topic.clone(),
                partition: self.partition,
                offset,
                log_start_offset: self.log_start_offset(),
                log_end_offset: high_watermark,
            });
        }
        self.raise_log_start(offset);
        self.write_epochs()?;
        Ok(self.log_start_offset())
    }

    /// Raises the log's start, if that is a raise. For those who hold `change`.
    fn raise_log_start(&self, offset: i64) {
        if offset <= self.log_start_offset() {
            return;
        }
        // No roll may be between its snapshot of the producers and the note of it.
        let turn = self.wait_turn();
        self.set_log_start(offset);
        turn.pass_on();
    }

    fn set_log_start(&self, offset: i64) {
        let mut writer = self.writer();
        self.published.set_log_start_offset(offset);
        self.published.raise_high_watermark(offset);
        // The recovery point stays what is flushed, where Kafka raises it, too: after a kill the start may
        // be the older one again, and then nobody would check what lies between.
        self.epochs.truncate_from_start(offset);
        let latest = self.snapshots.latest();
        writer.producers.on_log_start_offset(offset, latest);
        self.published.publish_transactions(&writer.producers);
    }

    pub(crate) fn delete_snapshot(
        &self,
        offset: i64,
        delay: DeleteDelay,
    ) -> Result<(), StorageError> {
        if !self.snapshots.remove(offset) {
            return Ok(());
        }
        let dir = &self.home().dir;
        let from = names::segment_file(&self.path(), offset, names::SNAPSHOT);
        let mut to = from.clone().into_os_string();
        to.push(names::DELETED);
        let to = PathBuf::from(to);
        if dir.guard("rename", &from, dir.disk.rename_if_exists(&from, &to))? {
            dir.throw_away(to, false, delay);
        }
        Ok(())
    }
}
