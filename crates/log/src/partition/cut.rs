//! Truncation: a follower's log has something else than its leader's, and loses it.
//!
//! It belongs to nearly every change of a leader under load: what was not replicated yet goes, and producers that want
//! all in-sync replicas wait for the follower meanwhile. So the usual case, the last batches of idempotent producers or of
//! none in one segment, neither waits for the disk nor reads more than what goes: no file but the segment's is written,
//! because nothing that lies behind the recovery point is believed after a crash; and the producers are what they were
//! before those batches. Kafka reads the log again from its last snapshot on, up to a whole segment; so does this where
//! markers go, a producer has just begun, or a transaction has and each has its own epoch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thalweg_records::BatchView;

use crate::format::lookup::Floor;
use crate::format::walk::Walk;
use crate::fs::disk::OpenFile;
use crate::fs::names;
use crate::fs::wait::Wait;
use crate::partition::dir::DeleteDelay;
use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::partition::producers::{Producer, ProducerState};
use crate::partition::replay::rebuild_producers;
use crate::partition::segment::Segment;
use crate::partition::turn::Turn;

/// Bytes before the cut in which batches are looked for of producers that have none left otherwise: those that were in
/// flight are five for each of them, and all that is remembered.
const LOOK_BACK: u32 = 1 << 20;

/// What was cut off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Truncated {
    Nothing,
    /// Only what lies behind the recovery point, the high watermark and the log's start.
    Tail,
    /// Something that one of the directory's checkpoints may call flushed, committed or deleted.
    Checkpointed,
}

/// The producers as of where a log is cut off.
enum Producers {
    /// These differ from what they are now.
    Changed(Vec<(i64, Producer)>),
    Reloaded(ProducerState),
}

impl Log {
    /// Cuts off everything from `offset` on: a follower that diverged from its leader. Says
    /// whether there was anything.
    ///
    /// For logs of a manager use [`crate::LogManager::truncate`]: the checkpoint must not go on
    /// calling flushed what is appended again.
    pub fn truncate_to(&self, offset: i64, now_ms: i64) -> Result<bool, StorageError> {
        Ok(self.truncate(offset, now_ms)? != Truncated::Nothing)
    }

    pub(crate) fn truncate(&self, offset: i64, now_ms: i64) -> Result<Truncated, StorageError> {
        let _change = self.lock_change();
        let turn = self.wait_turn();
        let truncated = self.truncate_in(&turn, offset.max(0), now_ms);
        turn.pass_on();
        truncated
    }

    /// The same for a follower in a leader epoch; `None`, and nothing is done, if this broker is that no more: what was
    /// decided for one leader must not take what another one, or this broker, has appended since.
    ///
    /// For logs of a manager use [`crate::LogManager::truncate_follower`].
    pub fn truncate_as_follower(
        &self,
        offset: i64,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<Option<bool>, StorageError> {
        let truncated = self.truncate_in_epoch(offset, leader_epoch, now_ms)?;
        Ok(truncated.map(|it| it != Truncated::Nothing))
    }

    pub(crate) fn truncate_in_epoch(
        &self,
        offset: i64,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<Option<Truncated>, StorageError> {
        let _change = self.lock_change();
        let turn = self.wait_turn();
        let truncated = match self.cut_as_follower(leader_epoch) {
            Some(_cut) => self.truncate_in(&turn, offset.max(0), now_ms).map(Some),
            None => Ok(None),
        };
        turn.pass_on();
        truncated
    }

    fn truncate_in(
        &self,
        turn: &Turn<'_>,
        offset: i64,
        now_ms: i64,
    ) -> Result<Truncated, StorageError> {
        let dir = &self.home().dir;
        dir.check()?;
        if self.is_closed() {
            return Ok(Truncated::Nothing);
        }
        if offset >= self.log_end_offset() {
            let mut writer = self.writer();
            // They have no records. The file may say what it likes of such.
            self.epochs.truncate_from_end(self.log_end_offset());
            writer.latest_epoch = self.latest_epoch().map_or(-1, |(epoch, _)| epoch);
            return Ok(Truncated::Nothing);
        }
        let segments = self.segments();
        if segments.first().is_some_and(|first| first.base_offset > offset) {
            self.replace_all(turn, offset, None, now_ms)?;
            return Ok(Truncated::Checkpointed);
        }
        let config = self.config();
        let keep = segments.partition_point(|segment| segment.base_offset <= offset).max(1);
        let kept = segments[..keep].to_vec();
        let Some(active) = kept.last().cloned() else { return Ok(Truncated::Nothing) };
        let role = self.announce();
        let path = active.file_path(names::LOG);
        let worked = (|| {
            let cut = active.cut_position(offset);
            let cut = dir.guard("truncate", &path, cut)?;
            let is_usual = keep == segments.len() && offset >= self.high_watermark();
            let changed = if is_usual { self.producers_before(&active, offset, cut) } else { None };
            let truncated = self.show_shorter(&kept, &active, offset, cut);
            dir.no_way_back((|| {
                dir.guard("truncate", &path, active.truncate(offset, cut, now_ms))?;
                let delay = DeleteDelay::new(now_ms, config.file_delete_delay_ms);
                for segment in &segments[keep..] {
                    segment.delete(delay)?;
                    self.delete_snapshot(segment.base_offset, delay)?;
                }
                if keep < segments.len() {
                    // A segment that comes back would hide what is appended here from now on.
                    self.guard("flush", &self.path(), dir.disk.sync_dir(&self.path()))?;
                }
                self.epochs.truncate_from_end(offset);
                // What the file lacks, or has too much, behind the recovery point is found in the batches there.
                if truncated == Truncated::Checkpointed {
                    self.write_epochs()?;
                }
                Ok((
                    truncated,
                    match changed {
                        Some(changed) => Producers::Changed(changed),
                        None => Producers::Reloaded(self.reload_producers(&kept, offset, now_ms)?),
                    },
                ))
            })())
        })();
        let mut writer = self.writer();
        let result = worked.map(|(truncated, producers)| {
            match producers {
                Producers::Changed(changed) => writer.producers.cut_off(offset, changed),
                Producers::Reloaded(producers) => writer.producers = producers,
            }
            writer.producers.on_high_watermark(self.high_watermark());
            self.published.publish_producers(&writer.producers);
            self.published.publish_transactions(&writer.producers);
            truncated
        });
        self.note_epochs_cut(&mut writer, role);
        result
    }

    /// Readers first see the end where it is going to be; then the bytes may go. Says what goes.
    fn show_shorter(
        &self,
        kept: &[Arc<Segment>],
        active: &Arc<Segment>,
        offset: i64,
        cut: u32,
    ) -> Truncated {
        let mut writer = self.writer();
        // Once more: what was found since the first time lies where the bytes go now.
        writer.generation = writer.generation.wrapping_add(1);
        self.cuts.note(offset);
        let flushed = self.flushed.cut(offset);
        let (high_watermark, log_start) = (self.high_watermark(), self.log_start_offset());
        if high_watermark > offset {
            tracing::warn!(topic = %self.topic, partition = self.partition, offset,
                high_watermark, "log is truncated below its high watermark");
            self.published.set_high_watermark(offset);
        }
        self.published.set_log_start_offset(log_start.min(offset));
        writer.end_offset = offset;
        writer.end_position = cut;
        writer.active = active.clone();
        if self.segment_count() > kept.len() {
            // What is read to be compacted may be what goes; and the segment that gets the next
            // records is new again as a whole.
            self.cleaning.lower(active.base_offset);
        }
        self.segments.change(|list| *list = kept.to_vec());
        self.publish_end(&writer);
        self.hints.void();
        if flushed.max(high_watermark).max(log_start) <= offset {
            Truncated::Tail
        } else {
            Truncated::Checkpointed
        }
    }

    /// The producers that have batches from `offset` on, at `cut` in the last segment, as they were before; `None` where that
    /// is not to be told by what is remembered of them and by the batches shortly before.
    fn producers_before(
        &self,
        active: &Segment,
        offset: i64,
        cut: u32,
    ) -> Option<Vec<(i64, Producer)>> {
        if self.snapshots.latest().is_some_and(|at| at > offset) {
            return None;
        }
        let file = active.open().ok()?;
        let mut ids = HashSet::new();
        let mut walk = Walk::new(&file, cut, active.size(), Wait::Allowed);
        let what = |batch: &BatchView<'_>| (batch.is_control(), producer_of(batch));
        while let Some((head, (is_control, id))) = walk.next_with(what).ok()? {
            // Of a batch that begins before the offset all goes, with the transaction that it may have begun.
            if is_control || head.base_offset < offset {
                return None;
            }
            ids.extend(id);
        }
        if walk.position() != active.size() {
            return None;
        }
        let (mut changed, mut without_batches) = (Vec::new(), HashMap::new());
        {
            let writer = self.writer();
            for id in ids {
                let Some(producer) = writer.producers.get(id) else { continue };
                let before = producer.before(offset);
                if before.last_batch().is_some() {
                    changed.push((id, before));
                } else {
                    without_batches.insert(id, before);
                }
            }
        }
        if !without_batches.is_empty() {
            look_back(&mut without_batches, active, &file, cut)?;
            changed.extend(without_batches);
        }
        Some(changed)
    }

    /// The producers as of `offset`, from the newest snapshot and the log behind it.
    fn reload_producers(
        &self,
        segments: &[Arc<Segment>],
        offset: i64,
        now_ms: i64,
    ) -> Result<ProducerState, StorageError> {
        let dir = &self.home().dir;
        let mut snapshots = self.snapshots.all();
        let expiration = dir.producer_expiration_ms();
        let producers = dir.guard(
            "rebuild producers of",
            &self.path(),
            rebuild_producers(
                self.home(),
                segments,
                &mut snapshots,
                self.log_start_offset(),
                offset,
                now_ms,
                expiration,
            ),
        )?;
        self.snapshots.replace(snapshots);
        Ok(producers)
    }
}

fn producer_of(batch: &BatchView<'_>) -> Option<i64> {
    batch.has_producer_id().then(|| batch.producer_id())
}

/// Gives producers the batches that they have shortly before the cut; `None` unless each has some, or if markers are among
/// them.
fn look_back(
    producers: &mut HashMap<i64, Producer>,
    active: &Segment,
    file: &OpenFile,
    cut: u32,
) -> Option<()> {
    let floor = Floor::Position(cut.saturating_sub(LOOK_BACK));
    let first = active.indexed_batch(file, Wait::Allowed, floor).ok()?;
    let from = first.map_or(0, |first| first.position);
    let mut walk = Walk::new(file, from.min(cut), cut, Wait::Allowed);
    let mut take = |batch: &BatchView<'_>| {
        if let Some(producer) = producer_of(batch).and_then(|id| producers.get_mut(&id)) {
            if batch.is_control() {
                return false;
            }
            producer.take(batch);
        }
        true
    };
    while let Some((_, is_taken)) = walk.next_with(&mut take).ok()? {
        if !is_taken {
            return None;
        }
    }
    producers.values().all(|producer| producer.last_batch().is_some()).then_some(())
}
