//! Rolls: the active segment is closed and a new one begins.
//!
//! Invariants:
//! - A roll has the log's turn. The writer's lock is held only to announce it and to install what was
//!   prepared, not while the disk is waited for.
//! - A roll that fails, or panics, leaves the active segment as it was.

use crate::fs::disk::is_exhausted;
use crate::fs::names;
use crate::partition::error::StorageError;
use crate::partition::flush::write_snapshot;
use crate::partition::log::Log;
use crate::partition::segment::{Segment, SegmentConfig};
use crate::partition::turn::Turn;

/// A roll that has been announced (`Writer::rolling`); it is over when this is dropped, also by a
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

    /// The roll proper, of the thread that has the turn. The new segment begins at `base` or at the log's end,
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
            self.segments.change(|segments| segments.push(new.clone()));
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
}
