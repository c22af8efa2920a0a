//! Where partitions stand, who moves, pauses and looks them up, and positions that change although the
//! application moved nothing.

use std::sync::Arc;

use thalweg_wire::Uuid;

use super::Fetcher;
use crate::core::fetch::cursor::{Cursor, Passed, Phase, Slot};
use crate::core::fetch::error::PartitionErrorKind;
use crate::core::fetch::resets::{PositionReset, ResetCause};
use crate::core::fetch::settings::{IsolationLevel, OffsetReset};
use crate::core::partition::{Position, TopicPartition};

/// A partition whose offset has to be looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unresolved {
    /// Which partition.
    pub partition: Arc<TopicPartition>,
    /// What to look for.
    pub reset: OffsetReset,
    /// The topic's id; zero where it is not known.
    pub topic_id: Uuid,
}

impl Fetcher {
    /// As [`Passed`]; `None` where every offset before the position was handed out.
    pub(crate) fn passed(&self, partition: &TopicPartition) -> Option<Passed> {
        self.cursor(partition)?.passed()
    }

    /// Where a partition stands: the next record that is handed out. `None` until that is known.
    pub fn position(&self, partition: &TopicPartition) -> Option<Position> {
        self.cursor(partition)?.position()
    }

    /// Where a partition stood when the last take began: what was handed out before is done with
    /// when the application takes again.
    pub fn acknowledged(&self, partition: &TopicPartition) -> Option<Position> {
        self.cursor(partition)?.acknowledged(self.takes)
    }

    /// Everything that was handed out is done with.
    pub fn acknowledge(&mut self) {
        self.takes += 1;
        self.moves += u64::from(std::mem::take(&mut self.has_handed));
    }

    /// Something changed that [`Self::moves`] has to tell of.
    pub fn moved(&mut self) {
        self.moves += 1;
    }

    /// A number that is another one once any partition's [`Self::acknowledged`] may be.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Moves a partition. What is buffered there is used, and nothing of it fetched again.
    pub fn seek(&mut self, partition: &TopicPartition, to: Position) -> bool {
        self.change(partition, |cursor| {
            cursor.forget_reset();
            cursor.seek(to);
        })
    }

    /// Moves a partition to its beginning or end, which is asked of the broker first.
    pub fn seek_to(&mut self, partition: &TopicPartition, to: OffsetReset) -> bool {
        let changed = self.change(partition, |cursor| {
            cursor.forget_reset();
            cursor.reset(to);
        });
        self.note_failure(partition);
        changed
    }

    /// Hands nothing of a partition out, and asks for no more of it, until it is resumed. What is
    /// buffered stays.
    pub fn pause(&mut self, partition: &TopicPartition) -> bool {
        self.change(partition, |cursor| cursor.paused = true)
    }

    /// Ends a pause.
    pub fn resume(&mut self, partition: &TopicPartition) -> bool {
        self.change(partition, |cursor| {
            cursor.is_stale |= cursor.paused;
            cursor.paused = false;
        })
    }

    /// Whether a partition is paused.
    pub fn is_paused(&self, partition: &TopicPartition) -> bool {
        self.cursor(partition).is_some_and(|cursor| cursor.paused)
    }

    /// Like a pause, for a partition that is being given up: only [`Self::remove`] or
    /// [`Self::unhold`] end it.
    pub fn hold(&mut self, partition: &TopicPartition) -> bool {
        self.change(partition, |cursor| cursor.held = true)
    }

    /// The partition stays after all.
    pub fn unhold(&mut self, partition: &TopicPartition) -> bool {
        self.change(partition, |cursor| cursor.held = false)
    }

    /// Records behind which a partition's end is, by what the last answer said.
    pub fn lag(&self, partition: &TopicPartition) -> Option<i64> {
        let cursor = self.cursor(partition)?;
        let end = match self.settings.isolation {
            IsolationLevel::ReadUncommitted => cursor.high_watermark,
            IsolationLevel::ReadCommitted => cursor.last_stable_offset,
        };
        let position = cursor.position()?;
        (end >= 0).then(|| (end - position.offset).max(0))
    }

    /// Partitions whose offset has to be looked up, and what to look for. The answer goes to
    /// [`Self::resolve`].
    pub fn unresolved(&self) -> Vec<Unresolved> {
        let mut unresolved: Vec<_> = self
            .cursors
            .iter()
            .flatten()
            .filter_map(|cursor| match cursor.phase {
                Phase::Reset(to) if to != OffsetReset::None => Some(Unresolved {
                    partition: Arc::clone(&cursor.partition),
                    reset: to,
                    topic_id: cursor.topic_id,
                }),
                _ => None,
            })
            .collect();
        unresolved.sort_unstable_by(|one, other| one.partition.cmp(&other.partition));
        unresolved
    }

    /// An offset that was looked up. It is ignored if the partition has moved since, or if its topic
    /// was created again.
    pub fn resolve(&mut self, asked: &Unresolved, found: Position) {
        let mut is_found = false;
        self.change(&asked.partition, |cursor| {
            let is_same_topic = asked.topic_id.is_zero() || asked.topic_id == cursor.topic_id;
            if cursor.phase == Phase::Reset(asked.reset) && is_same_topic {
                cursor.seek(found);
                is_found = true;
            }
        });
        let slot = self.by_name.get(&asked.partition).filter(|_| is_found);
        if let Some(&slot) = slot {
            self.end_reset(slot, found);
        }
    }

    /// Partitions of which it is not known what their group committed.
    pub fn without_committed(&self) -> Vec<TopicPartition> {
        let waiting = |cursor: &&Cursor| cursor.phase == Phase::Committed && !cursor.parked;
        let waiting = self.cursors.iter().flatten().filter(waiting);
        waiting.map(|cursor| (*cursor.partition).clone()).collect()
    }

    /// What a partition's group committed; without that it begins where
    /// [`FetchSettings::reset`] says. Ignored when the partition has moved meanwhile.
    pub fn resolve_committed(&mut self, partition: &TopicPartition, found: Option<Position>) {
        let reset = self.settings.reset;
        self.change(partition, |cursor| match (&cursor.phase, found) {
            (Phase::Committed, Some(position)) => cursor.seek(position),
            (Phase::Committed, None) => cursor.look_up(reset),
            _ => {}
        });
        self.note_failure(partition);
    }

    /// A partition's lookup failed for good.
    pub fn fail(&mut self, partition: &TopicPartition, kind: PartitionErrorKind) {
        self.change(partition, |cursor| cursor.fail(kind));
        self.note_failure(partition);
    }

    /// A partition's position was looked up.
    pub(super) fn end_reset(&mut self, slot: Slot, found: Position) {
        let cursor = self.cursors[slot as usize].as_mut();
        let Some((from, cause)) = cursor.and_then(|cursor| cursor.resetting.take()) else { return };
        self.note_reset(slot, (from, found.offset), cause);
    }

    /// A partition's position changed, unless it stands where it stood.
    pub(super) fn note_reset(&mut self, slot: Slot, (from, to): (i64, i64), cause: ResetCause) {
        let Some(cursor) = self.cursors[slot as usize].as_mut() else { return };
        // Of a topic that was created again the same offset is another record's.
        if from == to && cause != ResetCause::TopicRecreated {
            return;
        }
        let partition = (*cursor.partition).clone();
        let reset = PositionReset { partition, from, to, cause };
        cursor.last_reset = Some(Arc::new(reset.clone()));
        self.counts.position_resets += 1;
        self.resets.push(reset);
    }

    /// Takes the positions that changed since this was called last.
    pub fn take_resets(&mut self) -> Vec<PositionReset> {
        std::mem::take(&mut self.resets)
    }

    /// How the position of each partition changed last since it was assigned or moved, in order.
    pub fn last_resets(&self) -> Vec<PositionReset> {
        let here = self.cursors.iter().flatten().filter(|cursor| !cursor.parked);
        let mut resets: Vec<PositionReset> =
            here.filter_map(|cursor| cursor.last_reset.as_deref().cloned()).collect();
        resets.sort_unstable_by(|one, other| one.partition.cmp(&other.partition));
        resets
    }
}
