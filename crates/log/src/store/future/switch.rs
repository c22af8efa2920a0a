//! A log moves to its future replica.
//!
//! Nothing is appended meanwhile: whoever moves the log has its turn, copies the rest, and what is appended in between
//! is queued and goes to the new files. After a crash at any point there is one log with everything that was
//! acknowledged, because each of these is on the disk before the next:
//!
//! 1. All that the future replica has, its producers, epochs, checkpoints, and a marker in it, `replaces.directory`,
//!    which names the directory that the log is in. Until here the log is where it was, and the future replica is one.
//! 2. The future replica's directory has the partition's name. From here on the partition is in two directories, with
//!    the same records; a start that finds that goes by the marker ([`LogManager::replaced_copy`]).
//! 3. The old directory is renamed to `-delete`.
//! 4. The marker is gone.
//!
//! Kafka's order is the same, without the marker: its start ends with an error between 2 and 3. In the other order it
//! would delete the one and copy to the other from an empty log.

use std::sync::Arc;

use super::MoveError;
use crate::format::checkpoint;
use crate::fs::disk::Disk;
use crate::fs::names;
use crate::fs::random::random_u128;
use crate::partition::dir::{DeleteDelay, LogDir};
use crate::partition::error::StorageError;
use crate::partition::flush::write_snapshot;
use crate::partition::log::Log;
use crate::partition::turn::Turn;
use crate::store::manager::LogManager;

/// Steps that are copied while nothing can be appended; what takes more is copied before the next attempt.
const LAST_STEPS: usize = 2;

impl LogManager {
    /// Has a log move to its future replica, once that has all it has. False if it lacks more than a step or two, of
    /// `max_bytes` each. Waits for both disks; appends wait for the last of it.
    pub fn replace_with_future(
        &self,
        log: &Arc<Log>,
        future: &Arc<Log>,
        buffer: &mut Vec<u8>,
        max_bytes: u32,
        now_ms: i64,
    ) -> Result<bool, MoveError> {
        // Nearly all of it, while appends go on.
        future.flush(now_ms)?;
        let from = log.dir().clone();
        let moved = {
            let _change = log.lock_change();
            let turn = log.wait_turn();
            let moved = self.switch(log, future, &turn, buffer, max_bytes, now_ms);
            turn.pass_on();
            moved?
        };
        if moved {
            tracing::info!(topic = %log.topic, partition = log.partition,
                path = %log.path().display(), log_end_offset = log.log_end_offset(),
                "the partition has moved");
            // A failure takes the directory offline.
            let _ = self.checkpoint_dir(&from);
            let _ = self.checkpoint_dir(log.dir());
        }
        Ok(moved)
    }

    fn switch(
        &self,
        log: &Arc<Log>,
        future: &Arc<Log>,
        turn: &Turn<'_>,
        buffer: &mut Vec<u8>,
        max_bytes: u32,
        now_ms: i64,
    ) -> Result<bool, MoveError> {
        log.dir().check()?;
        if log.cleaning.is_busy() {
            return Ok(false);
        }
        let mut steps = 0;
        // Both stand still, but for what is copied here.
        while !self.copy_to_future(log, future, buffer, max_bytes, now_ms)?.is_caught_up {
            steps += 1;
            if steps > LAST_STEPS {
                return Ok(false);
            }
        }
        if future.log_start_offset() != log.log_start_offset() {
            // Of another one it cannot be taken: it is begun anew.
            let start = log.log_start_offset();
            self.truncate_fully_and_start_at(future, start, None, now_ms)?;
            return Ok(false);
        }
        let _change = future.lock_change();
        let others_turn = future.wait_turn();
        let moved = self.prepare(log, future, &others_turn, now_ms).and_then(|()| {
            let from = log.dir().clone();
            self.take_name(log, future, turn, now_ms)?;
            self.leave(log, &from, now_ms);
            Ok(true)
        });
        others_turn.pass_on();
        moved
    }

    /// Everything that the log is to find in the future replica is on the disk.
    fn prepare(
        &self,
        log: &Log,
        future: &Log,
        turn: &Turn<'_>,
        now_ms: i64,
    ) -> Result<(), MoveError> {
        if future.is_closed() || log.is_closed() {
            return Err(MoveError::Closed);
        }
        let dir = future.dir();
        let path = future.path();
        let end = log.log_end_offset();
        if future.log_end_offset() != end {
            let ends = format!("it ends at {}, its log at {end}", future.log_end_offset());
            return Err(MoveError::Refused(ends));
        }
        // A segment that begins where the producers' snapshot is: a later crash finds them there, also those whose
        // batches retention has taken.
        future.roll_in(turn, 0, now_ms)?;
        let (active, snapshot) = {
            let producers = &log.writer().producers;
            let bytes = (end > 0).then(|| producers.snapshot());
            (future.writer().active.clone(), bytes)
        };
        if let Some(bytes) = snapshot {
            let file = names::segment_file(&path, end, names::SNAPSHOT);
            let written = write_snapshot(&dir.disk, &file, &bytes, true);
            dir.guard("write", &file, written)?;
            future.snapshots.add(end);
        }
        future.epochs.take(&log.epochs);
        future.write_epochs()?;
        let made = active.files_made();
        future.flush_upto(end, now_ms)?;
        future.flush_metadata()?;
        future.published.set_high_watermark(log.high_watermark());
        future.cleaning.take_over(&log.cleaning);
        if log.homes.replaces().is_some() {
            remove_marker(log)?;
        }
        let marker = path.join(names::REPLACES);
        let content = checkpoint::format_replaces(log.dir().id());
        dir.guard("write", &marker, dir.disk.create_synced(&marker, &content))?;
        dir.guard("flush", &path, dir.disk.sync_dir(&path))?;
        active.names_synced(made);
        Ok(())
    }

    /// The future replica's directory gets the partition's name, and the log its files.
    fn take_name(
        &self,
        log: &Log,
        future: &Arc<Log>,
        turn: &Turn<'_>,
        now_ms: i64,
    ) -> Result<(), MoveError> {
        let dir = future.dir();
        let live = dir.path().join(names::partition_dir(&log.topic, log.partition));
        if dir.guard("look at", &live, dir.disk.len(&live))?.is_some() {
            let reason = format!("there is something already at {}", live.display());
            return Err(MoveError::Refused(reason));
        }
        // No other checkpoint comes in between, which would not have the log, or have it twice.
        let mut written = dir.checkpoints.lock();
        self.write_all_checkpoints(&mut written, dir)?;
        future.home().rename(&live)?;
        dir.no_way_back(dir.guard("flush", dir.path(), dir.disk.sync_dir(dir.path())))?;

        let old = log.segments();
        let from = log.dir().id();
        let epochs_file = log.epochs.lock_file();
        let mut writer = log.writer();
        let others = future.writer();
        // Before and after: who looks meanwhile may have the old segments.
        log.hints.void();
        turn.move_queue(|| log.move_to(&mut writer, future, &others));
        log.hints.void();
        let end = writer.end_offset;
        writer.producers.last_snapshot_offset = end;
        epochs_file.move_to(&future.epochs);
        log.snapshots.move_to(&future.snapshots);
        log.flushed.moved(end, now_ms);
        log.homes.set_replaces(Some(from));
        for segment in old.iter() {
            segment.unpin();
            segment.was_left();
        }
        future.close();
        self.futures.remove(future);
        log.cleaning.resume();
        Ok(())
    }

    /// The directory that the log has left. What fails here is that directory's affair, and the next start finishes it.
    fn leave(&self, log: &Log, from: &Arc<LogDir>, now_ms: i64) {
        let left = (|| {
            from.check()?;
            let home = log.homes.before();
            let name = names::marked_dir(&log.topic, log.partition, random_u128(), "-delete");
            let to = from.path().join(name);
            home.rename(&to)?;
            let delay = DeleteDelay::new(now_ms, log.config().file_delete_delay_ms);
            from.throw_away(to, true, delay);
            from.guard("flush", from.path(), from.disk.sync_dir(from.path()))
        })();
        let left = left.and_then(|()| remove_marker(log));
        if let Err(error) = left {
            tracing::warn!(topic = %log.topic, partition = log.partition, %error,
                "what the partition has left behind is removed at the next start");
        }
    }

    /// Which of two copies of a partition with the same topic id is to go, because the log was moving from one to the
    /// other when the process ended: the one that the other's marker names. Unless that one has gone on since, because
    /// the other's directory had failed. `None` where no marker says anything.
    pub(crate) fn replaced_copy(one: &Arc<Log>, other: &Arc<Log>) -> Option<Arc<Log>> {
        let newest =
            |log: &Log| (log.latest_epoch().map_or(-1, |(epoch, _)| epoch), log.log_end_offset());
        let goes_for = |from: &Arc<Log>, to: &Arc<Log>| {
            (to.homes.replaces() == Some(from.dir().id()))
                .then(|| if newest(from) > newest(to) { to.clone() } else { from.clone() })
        };
        goes_for(one, other).or_else(|| goes_for(other, one))
    }

    /// Markers of moves that are over are removed; one that names a directory that is offline stays.
    pub(crate) fn remove_old_markers(&self) {
        for log in self.all() {
            let Some(from) = log.homes.replaces() else { continue };
            if self.dirs.is_online(from) {
                // A failure takes the directory offline.
                let _ = remove_marker(&log);
            }
        }
    }
}

/// Removes the marker of a move that is over.
fn remove_marker(log: &Log) -> Result<(), StorageError> {
    let path = log.path().join(names::REPLACES);
    let disk: &Disk = &log.dir().disk;
    log.dir().guard("delete", &path, disk.remove_file(&path))?;
    log.dir().guard("flush", &log.path(), disk.sync_dir(&log.path()))?;
    log.homes.set_replaces(None);
    Ok(())
}
