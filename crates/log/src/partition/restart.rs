//! A log is thrown away as a whole and begins again at another offset.
//!
//! Invariants:
//! - Readers see the log as it was until the new segment is there.
//! - What was thrown away does not come back after a power cut.

use crate::fs::names;
use crate::partition::dir::DeleteDelay;
use crate::partition::error::StorageError;
use crate::partition::log::{Log, Writer};
use crate::partition::producers::ProducerState;
use crate::partition::role::Role;
use crate::partition::segment::{Segment, SegmentConfig};
use crate::partition::turn::Turn;

impl Log {
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
        // Not earlier: a flush of the old segments that began with the new generation would count for the new one.
        writer.generation = writer.generation.wrapping_add(1);
        self.cuts.note(offset);
        if worked.is_ok() {
            self.segments.change(|list| *list = vec![new.clone()]);
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
            self.published.set_log_start_offset(start);
            self.published.set_high_watermark(offset);
            self.flushed.begin_at(offset);
            self.published.publish_producers(&writer.producers);
            self.published.publish_transactions(&writer.producers);
            self.publish_end(&writer);
        }
        self.hints.void();
        worked
    }
}
