//! Changes to the list of segments: rolling, retention, DeleteRecords, truncation.
//!
//! A roll has the log's turn. What takes segments or records away holds `change` from beginning to
//! end, and takes the turn besides where nothing may be appended meanwhile. `writer` is held only to
//! announce and to install what was prepared.

use std::path::PathBuf;
use std::sync::Arc;

use crate::fs::disk::is_exhausted;
use crate::fs::names;
use crate::fs::random::random_u128;
use crate::partition::config::LogConfig;
use crate::partition::dir::DeleteDelay;
use crate::partition::error::{ReadError, StorageError};
use crate::partition::flush::write_snapshot;
use crate::partition::log::{Log, Writer};
use crate::partition::producers::ProducerState;
use crate::partition::role::Role;
use crate::partition::segment::{Segment, SegmentConfig};
use crate::partition::turn::Turn;

impl SegmentConfig {
    pub(crate) fn of(config: &LogConfig, now_ms: i64) -> SegmentConfig {
        SegmentConfig {
            max_index_bytes: config.segment_index_bytes,
            index_interval: config.index_interval_bytes,
            jitter_ms: config.jitter(random_u128() as u64),
            created_ms: now_ms,
        }
    }
}

/// A roll that has been announced ([`Writer::rolling`]); it is over when this is dropped, also by a
/// panic: the recovery point would never reach the log's end again.
struct Rolling<'a>(&'a Log);

impl Drop for Rolling<'_> {
    fn drop(&mut self) {
        self.0.writer().rolling = false;
    }
}

impl Log {
    /// Closes the active segment and begins a new one, unless the active one is empty. Returns the
    /// active segment's base offset.
    pub fn roll(&self, now_ms: i64) -> Result<i64, StorageError> {
        let turn = self.wait_turn();
        let rolled = self.roll_in(&turn, 0, now_ms);
        turn.end();
        rolled
    }

    /// A roll met a bug: the active segment is the one it was, as far as is known.
    pub(crate) fn roll_panicked(&self) -> StorageError {
        self.home().dir.metrics.panics.add(1);
        tracing::error!(topic = %self.topic, partition = self.partition, "a roll panicked");
        StorageError::retriable(self.home().dir.path(), "a roll panicked".into())
    }

    /// The roll proper, of whoever has the turn. The new segment begins at `base` or at the log's end,
    /// whichever is later.
    pub(crate) fn roll_in(
        &self,
        _turn: &Turn<'_>,
        base: i64,
        now_ms: i64,
    ) -> Result<i64, StorageError> {
        let dir = &self.home().dir;
        dir.check()?;
        if self.is_closed() {
            return Ok(self.end().segment);
        }
        let config = self.config();
        self.write_epochs()?;
        let (old, base, snapshot) = {
            let mut writer = self.writer();
            let base = base.max(writer.end_offset);
            if base == writer.active.base_offset {
                return Ok(base);
            }
            writer.rolling = true;
            let snapshot =
                (base > writer.producers.last_snapshot_offset).then(|| writer.producers.snapshot());
            (writer.active.clone(), base, snapshot)
        };
        let rolling = Rolling(self);
        let new = Segment::new(self.home(), base, &SegmentConfig::of(&config, now_ms));
        let prepared = (|| {
            old.finish()?;
            // Flushed up to its end: recovery will not look at it again once there is a next one. In a log that its owner
            // looks after every offset is there: a power cut must not take the end of a segment and leave the next one.
            if (self.recovery_point() >= base || self.home().is_unmanaged)
                && let Some(made) = old.flush(true)?
            {
                dir.disk.sync_dir(&self.path())?;
                old.names_synced(made);
            }
            new.create_file(config.preallocate.then(|| config.segment_limit()))?;
            if let Some(bytes) = &snapshot {
                let path = new.file_path(names::SNAPSHOT);
                write_snapshot(&dir.disk, &path, bytes, false)?;
            }
            Ok(())
        })();
        let prepared = match prepared {
            // What is there of it would be taken for a segment, or for the leftovers of one.
            Err(error) if is_exhausted(&error) => {
                new.remove_files(snapshot.is_some()).and(Err(error))
            }
            prepared => prepared,
        };
        let prepared = dir.guard("roll", &new.file_path(names::LOG), prepared);
        let mut is_asked_for = false;
        let mut writer = self.writer();
        if prepared.is_ok() {
            writer.producers.map_end_offset = base;
            if snapshot.is_some() {
                writer.producers.last_snapshot_offset = base;
                self.snapshots.add_unsynced(base);
            }
            self.change_segments(|segments| segments.push(new.clone()));
            old.unpin();
            new.pin_if_wanted();
            writer.active = new;
            writer.end_position = 0;
            writer.end_offset = base;
            self.publish_end(&writer);
            dir.metrics.rolls.add(1);
            is_asked_for = self.flushed.request(base);
        }
        drop(writer);
        // Before the flush below, which is to reach the end.
        drop(rolling);
        prepared?;
        // One that is asked for, or tried again by the clock, does it for all segments closed by then.
        if is_asked_for {
            return Ok(base);
        }
        self.run_on_executor(move |log| {
            // A failure has taken the directory offline; no caller waits for this flush.
            let _ = log.flush_if_due(now_ms);
        });
        Ok(base)
    }

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
        self.change_segments(|list| {
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
        self.home().dir.check()?;
        if self.is_closed() {
            return Err(self.read_closed());
        }
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
        self.store_log_start(offset);
        self.raise_high_watermark(offset);
        // The recovery point stays what is flushed, where Kafka raises it, too: after a kill the start may
        // be the older one again, and then nobody would check what lies between.
        self.epochs.truncate_from_start(offset);
        let latest = self.snapshots.latest();
        writer.producers.on_log_start_offset(offset, latest);
        self.publish_transactions(&writer);
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

    /// The epochs were cut: the newest that is left is the one that appends are compared with. If this
    /// broker became the leader meanwhile, its epoch begins where the log ends now.
    pub(crate) fn note_epochs_cut(&self, writer: &mut Writer, before: Role) {
        writer.latest_epoch = self.latest_epoch().map_or(-1, |(epoch, _)| epoch);
        if let Role::Leader { epoch } = writer.role
            && writer.role != before
        {
            let end = writer.end_offset;
            self.note_epoch(writer, epoch, end);
        }
    }

    /// What is known of positions is void from here on. Gives the role at this time.
    pub(crate) fn announce(&self) -> Role {
        let mut writer = self.writer();
        writer.generation = writer.generation.wrapping_add(1);
        self.hints.void();
        writer.role
    }

    /// Throws everything away and begins again at `offset`; the log's start may be set to
    /// something else. For logs of a manager use
    /// [`crate::LogManager::truncate_fully_and_start_at`].
    pub fn truncate_fully_and_start_at(
        &self,
        offset: i64,
        log_start_offset: Option<i64>,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        let _change = self.lock_change();
        let turn = self.wait_turn();
        let replaced = self.replace_all(&turn, offset.max(0), log_start_offset, now_ms);
        turn.pass_on();
        replaced
    }

    /// The same for a follower in a leader epoch; says whether this broker still was that.
    ///
    /// For logs of a manager use [`crate::LogManager::begin_follower_at`].
    pub fn begin_as_follower_at(
        &self,
        offset: i64,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<bool, StorageError> {
        let _change = self.lock_change();
        let turn = self.wait_turn();
        let replaced = match self.cut_as_follower(leader_epoch) {
            Some(_cut) => {
                self.replace_all(&turn, offset.max(0), Some(offset.max(0)), now_ms).map(|()| true)
            }
            None => Ok(false),
        };
        turn.pass_on();
        replaced
    }

    pub(crate) fn replace_all(
        &self,
        _turn: &Turn<'_>,
        offset: i64,
        log_start_offset: Option<i64>,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        let dir = &self.home().dir;
        dir.check()?;
        if self.is_closed() {
            return Ok(());
        }
        let config = self.config();
        let segments = self.segments();
        let role = self.announce();
        self.cleaning.lower(offset);
        let new = Segment::new(self.home(), offset, &SegmentConfig::of(&config, now_ms));
        let worked = dir.no_way_back((|| {
            let delay = DeleteDelay::new(now_ms, config.file_delete_delay_ms);
            for segment in segments.iter() {
                segment.delete(delay)?;
            }
            for at in self.snapshots.take() {
                let path = names::segment_file(&self.path(), at, names::SNAPSHOT);
                dir.guard("delete", &path, dir.disk.remove_file(&path))?;
            }
            let preallocate = config.preallocate.then(|| config.segment_limit());
            dir.guard("create", &new.file_path(names::LOG), new.create_file(preallocate))?;
            self.epochs.clear();
            self.write_epochs()?;
            // Before a checkpoint says where the log begins now: what lies below a recovery point is not checked, and what
            // was thrown away must not be there again.
            self.guard("flush", &self.path(), dir.disk.sync_dir(&self.path()))
        })());
        let mut writer = self.writer();
        // Now it is so: whoever heard of it earlier would have taken it for what the log was until now.
        writer.generation = writer.generation.wrapping_add(1);
        self.cuts.note(offset);
        if worked.is_ok() {
            self.change_segments(|list| *list = vec![new.clone()]);
            writer.active = new;
            writer.end_offset = offset;
            writer.end_position = 0;
            // Also what this broker noted meanwhile, where the log ended then.
            self.epochs.clear();
            self.note_epochs_cut(&mut writer, role);
            writer.producers = ProducerState::default();
            writer.producers.map_end_offset = offset;
            writer.producers.last_snapshot_offset = offset;
            let start = log_start_offset.unwrap_or(offset).min(offset);
            self.store_log_start(start);
            self.store_high_watermark(offset);
            self.flushed.begin_at(offset);
            self.publish_producer_count(&writer);
            self.publish_transactions(&writer);
            self.publish_end(&writer);
        }
        self.hints.void();
        worked
    }

    /// Forgets producers that were silent for `producer.id.expiration.ms`, and verifications that began before that.
    pub fn expire_producers(&self, now_ms: i64) -> usize {
        let expiration = self.home().dir.producer_expiration_ms();
        let mut writer = self.writer();
        let expired = writer.producers.expire(now_ms, expiration);
        self.publish_producer_count(&writer);
        expired
    }
}
