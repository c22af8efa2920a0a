//! What is handed out of what is buffered.

use std::task::Waker;

use super::Fetcher;
use crate::core::fetch::buffer::Next;
use crate::core::fetch::cursor::Slot;
use crate::core::fetch::error::{PartitionError, PartitionErrorKind};
use crate::core::fetch::records::{Chunk, Records};
use crate::core::fetch::settings::ReadMode;
use crate::core::partition::TopicPartition;

impl Fetcher {
    /// Hands out up to `max` records. An error comes alone, and again until the partition is moved
    /// or given up, but not twice in a row while others have records: they are not held up by it.
    pub fn take(&mut self, max: usize, out: &mut Records) -> Result<(), PartitionError> {
        self.acknowledge();
        let has_failed = std::mem::take(&mut self.has_failed);
        if out.is_empty() && !self.failed.is_empty() && !(has_failed && self.has_deliverable()) {
            self.report_failure()?;
        }
        while out.len() < max {
            let Some(&slot) = self.ready.front() else { break };
            let Some(cursor) = self.cursors[slot as usize].as_mut().filter(|c| c.queued) else {
                // A partition that is gone; its slot may be another's by now.
                self.ready.pop_front();
                continue;
            };
            if !cursor.is_deliverable() {
                self.ready.pop_front();
                cursor.queued = false;
                continue;
            }
            let left = max - out.len();
            let before = cursor.position();
            let next = cursor.next_records(self.takes, left, &mut self.decoding);
            // Also over what is not handed out, such as markers of transactions.
            self.has_handed |= cursor.position() != before;
            match next {
                Ok(Next::Chunk { chunk, .. }) => {
                    self.counts.records += chunk.count as u64;
                    out.push(self.lightened(chunk));
                }
                Ok(Next::Turn) => self.ready.rotate_left(1),
                Ok(Next::Empty) => {
                    self.ready.pop_front();
                    cursor.queued = false;
                }
                Err(fault) => {
                    self.ready.pop_front();
                    cursor.queued = false;
                    cursor.fail(PartitionErrorKind::Fault(fault));
                    self.note_failed(slot);
                    if out.is_empty() {
                        return self.report_failure();
                    }
                }
            }
            self.touch_if_hungry(slot);
        }
        Ok(())
    }

    /// Hands out up to `max` records of one partition, all of one batch. `None` when there is
    /// nothing, or nothing may be handed out: then `waker` is told when that changes. Needs
    /// [`ReadMode::Partitions`].
    pub(crate) fn take_from(
        &mut self,
        partition: &TopicPartition,
        max: usize,
        waker: &Waker,
    ) -> Result<Option<Chunk>, PartitionError> {
        let Some(&slot) = self.by_name.get(partition) else { return Ok(None) };
        let Some(cursor) = self.cursors[slot as usize].as_mut() else { return Ok(None) };
        let mut taken = None;
        let before = cursor.position();
        while cursor.is_deliverable() && taken.is_none() && max > 0 {
            if let Some(error) = cursor.error() {
                if std::mem::replace(&mut cursor.is_reported, true) {
                    break;
                }
                return Err(error);
            }
            match cursor.next_records(self.takes, max, &mut self.decoding) {
                Ok(Next::Chunk { chunk, .. }) => taken = Some(chunk),
                Ok(Next::Turn) => {}
                Ok(Next::Empty) => break,
                Err(fault) => cursor.fail(PartitionErrorKind::Fault(fault)),
            }
        }
        self.has_handed |= cursor.position() != before;
        if taken.is_none() {
            cursor.wait(waker);
        }
        self.touch_if_hungry(slot);
        self.counts.records += taken.as_ref().map_or(0, |chunk| chunk.count as u64);
        Ok(taken.map(|chunk| self.lightened(chunk)))
    }

    /// Records of a stream may be held for long. Once memory is scarce they are handed out with
    /// bytes of their own: else a few of them could keep whole answers, and so what others need.
    #[inline]
    fn lightened(&self, chunk: Chunk) -> Chunk {
        let scarce = match self.reading {
            ReadMode::Polls => return chunk,
            ReadMode::Stream => self.budget.limit() / 4,
            ReadMode::Partitions => self.budget.limit() / 2,
        };
        if self.budget.room() >= scarce {
            return chunk;
        }
        chunk.moved_to(self.budget.share(chunk.bytes().to_vec()))
    }

    /// Whether a partition has something to hand out.
    fn has_deliverable(&self) -> bool {
        let cursor = |slot: &Slot| self.cursors[*slot as usize].as_ref();
        self.ready.iter().filter_map(cursor).any(|cursor| cursor.queued && cursor.is_deliverable())
    }
}
