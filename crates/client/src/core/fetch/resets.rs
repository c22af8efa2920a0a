//! Positions that change although the application moved nothing.

use std::fmt;
use std::sync::Arc;

use super::cursor::Cursor;
use super::{Fetcher, Slot};
use crate::core::partition::{Position, TopicPartition};

/// A position that changed although the application did not move it: records were left out, or come
/// again.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PositionReset {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset where it stood.
    pub from: i64,
    /// The offset where it stands since.
    pub to: i64,
    /// Why.
    pub cause: ResetCause,
}

impl fmt::Display for PositionReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PositionReset { partition, from, to, cause } = self;
        write!(f, "{partition}: position reset from {from} to {to}: {cause}")
    }
}

/// Why a position changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ResetCause {
    /// The log does not have the offset (`OFFSET_OUT_OF_RANGE`): `auto.offset.reset` decided.
    OffsetOutOfRange,
    /// Records that were read are no longer part of the log (KIP-320).
    Truncated,
    /// The topic was deleted and created again: `auto.offset.reset` decided.
    TopicRecreated,
}

impl fmt::Display for ResetCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ResetCause::OffsetOutOfRange => "the log does not have the offset",
            ResetCause::Truncated => "the log was truncated",
            ResetCause::TopicRecreated => "the topic was deleted and created again",
        })
    }
}

impl Cursor {
    /// Its position is about to be looked up because of this. The first cause counts until then.
    pub fn begin_reset(&mut self, cause: ResetCause) {
        if let Some(position) = self.position() {
            self.resetting = Some((position.offset, cause));
        }
    }

    /// The application moves it.
    pub fn forget_reset(&mut self) {
        (self.resetting, self.last_reset) = (None, None);
    }
}

impl Fetcher {
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
