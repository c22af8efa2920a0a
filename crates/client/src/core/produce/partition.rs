//! One partition: what waits, what is under way, and the sequences that keep it in order.

use std::collections::VecDeque;
use std::sync::Arc;

use thalweg_records::batch::add_sequence;

use super::batch::{Batch, BatchKey, Sequence};
use super::broker_queue::Place;
use super::membership::{Membership, TransactionRules};
use crate::core::leadership::Leadership;
use crate::core::metadata::Leader;
use crate::core::partition::TopicPartition;

/// A partition.
#[derive(Debug)]
pub(super) struct Partition {
    pub name: Arc<TopicPartition>,
    /// Where its topic stands in the table of topics.
    pub topic: usize,
    pub leader: Option<Leader>,
    pub leadership: Leadership,
    /// See [`Metadata::lowered_by`](crate::core::metadata::Metadata::lowered_by).
    pub lowered_by: u64,
    /// Something of it was acknowledged.
    pub is_used: bool,
    /// What is to be sent, in order: first what has to be sent again. Records go to the last.
    pub queue: VecDeque<Batch>,
    /// What was sent to `sent_to` and not answered, in order.
    pub in_flight: VecDeque<Batch>,
    pub sent_to: i32,
    pub sequencing: Sequencing,
    pub membership: Membership,
    /// Nothing is sent before.
    pub retry_at_ms: u64,
    pub place: Place,
}

/// Producer id, epoch and sequence of a partition.
///
/// A partition's leader knows only what came to this partition, so every partition has an epoch of
/// its own: a gap in one does not hold up the others. Kafka's own producer has one epoch for all.
#[derive(Debug, Default)]
pub(super) struct Sequencing {
    /// Id, epoch, and the sequence of the next record that gets one.
    pub next: Option<Sequence>,
    /// The leader has acknowledged a batch of this epoch. Until then it would take any sequence
    /// for the first, so one batch has to go alone.
    pub is_proven: bool,
    /// A batch was given up without anybody knowing whether it is in the log. The one behind it
    /// finds out: its sequence fits, or not.
    pub is_unresolved: bool,
    /// What waits is known not to be in the log, and does not fit what is there: it gets a new
    /// epoch, once nothing is under way.
    pub bump: bool,
}

/// Whether it is a partition's turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Not until something happens.
    Never,
    /// At this time.
    At(u64),
    Now,
}

/// What has to be known to tell whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub linger_ms: u64,
    pub max_in_flight: usize,
    pub is_idempotent: bool,
    pub has_producer_id: bool,
    /// With a `transactional.id`.
    pub transactions: Option<TransactionRules>,
}

impl Partition {
    /// The batch of this key that is under way.
    pub fn in_flight_mut(&mut self, key: BatchKey) -> Option<&mut Batch> {
        self.in_flight.iter_mut().find(|batch| batch.key == key)
    }

    /// Takes a batch that is under way no more.
    pub fn landed(&mut self, key: BatchKey) -> Option<Batch> {
        let at = self.in_flight.iter().position(|batch| batch.key == key)?;
        self.in_flight.remove(at)
    }

    /// Puts a batch where it belongs in the queue.
    pub fn requeue(&mut self, batch: Batch) {
        let at = self.queue.partition_point(|other| other.key < batch.key);
        self.queue.insert(at, batch);
    }

    /// Whether nothing that waits or is under way comes before `key` and has a sequence.
    pub fn is_first(&self, key: BatchKey) -> bool {
        let mut both = self.in_flight.iter().chain(&self.queue);
        !both.any(|batch| batch.key < key && batch.sequence.is_some())
    }

    /// Whether it is the partition's turn to send the first of its queue.
    pub fn turn(&self, rules: &Rules, now_ms: u64) -> Turn {
        let (Some(front), Some(leader)) = (self.queue.front(), self.leader) else {
            return Turn::Never;
        };
        let is_quiet = self.in_flight.is_empty();
        if !is_quiet {
            let sequencing = &self.sequencing;
            // What is sent again goes alone: a broker knows repetitions of the last five batches
            // only, so none may get past one whose fate is not known.
            let repeats = self.in_flight.front().is_some_and(|batch| batch.attempts > 1);
            // Sequences would arrive out of order, or nothing could be told from the answers.
            let waits = rules.is_idempotent
                && (repeats
                    || front.sequence.is_some()
                    || sequencing.bump
                    || sequencing.is_unresolved
                    || !sequencing.is_proven);
            if waits || self.sent_to != leader.id || self.in_flight.len() >= rules.max_in_flight {
                return Turn::Never;
            }
        }
        if rules.is_idempotent && !rules.has_producer_id {
            return Turn::Never;
        }
        if rules.transactions.is_some_and(|transactions| !transactions.allow(self.membership)) {
            return Turn::Never;
        }
        let is_full = front.is_closed || self.queue.len() > 1;
        let due = if is_full { 0 } else { front.created_ms + rules.linger_ms };
        match due.max(self.retry_at_ms) {
            due if due <= now_ms => Turn::Now,
            due => Turn::At(due),
        }
    }

    /// Gives the first of the queue its sequence, where it has none. `from` is the producer id
    /// that partitions begin with now. Says whether an epoch was begun, and whether the epochs of
    /// this id are used up.
    ///
    /// With `is_transactional` that id and epoch are the ones to be used: only a coordinator gives
    /// others, between transactions.
    pub fn assign_sequence(&mut self, from: (i64, i16), is_transactional: bool) -> Assigned {
        let sequencing = &mut self.sequencing;
        let mut assigned = Assigned::default();
        if is_transactional
            && sequencing.next.is_some_and(|next| (next.producer_id, next.epoch) != from)
        {
            *sequencing = Sequencing::default();
        }
        let is_fresh = self.queue.front().is_some_and(|front| front.sequence.is_none());
        if sequencing.bump || (sequencing.is_unresolved && is_fresh) {
            debug_assert!(self.in_flight.is_empty());
            assigned.bumped = sequencing.begin_epoch(from);
            assigned.needs_id = sequencing.next.is_some_and(|next| next.epoch == i16::MAX);
            for batch in &mut self.queue {
                if batch.sequence.is_some()
                    && let Some(sequence) = sequencing.take(batch.count)
                {
                    batch.set_sequence(sequence);
                }
            }
        }
        if sequencing.next.is_none() {
            sequencing.begin_epoch(from);
        }
        if let Some(front) = self.queue.front_mut()
            && front.sequence.is_none()
            && let Some(sequence) = sequencing.take(front.count)
        {
            front.set_sequence(sequence);
        }
        assigned
    }
}

/// What giving out a sequence brought about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Assigned {
    pub bumped: bool,
    pub needs_id: bool,
}

impl Sequencing {
    /// Begins a new epoch, or another producer id where that has changed or has no more epochs.
    fn begin_epoch(&mut self, from: (i64, i16)) -> bool {
        let next = match self.next {
            Some(at) if at.producer_id == from.0 && at.epoch < i16::MAX => {
                Sequence { epoch: at.epoch + 1, base: 0, ..at }
            }
            _ => Sequence { producer_id: from.0, epoch: from.1, base: 0 },
        };
        let bumped = self.next.is_some();
        *self = Sequencing { next: Some(next), ..Sequencing::default() };
        bumped
    }

    /// Takes the sequences of `count` records.
    fn take(&mut self, count: u32) -> Option<Sequence> {
        let next = self.next.as_mut()?;
        let taken = *next;
        next.base = add_sequence(next.base, count as i32);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_follow_each_other_until_another_id_is_given() {
        let mut sequencing = Sequencing::default();
        assert!(!sequencing.begin_epoch((7, 0)));
        assert_eq!(sequencing.take(5), Some(Sequence { producer_id: 7, epoch: 0, base: 0 }));
        assert_eq!(sequencing.take(5), Some(Sequence { producer_id: 7, epoch: 0, base: 5 }));
        sequencing.is_unresolved = true;
        assert!(sequencing.begin_epoch((7, 0)));
        assert!(!sequencing.is_unresolved);
        assert_eq!(sequencing.take(1), Some(Sequence { producer_id: 7, epoch: 1, base: 0 }));
        sequencing.begin_epoch((8, 0));
        assert_eq!(sequencing.take(1), Some(Sequence { producer_id: 8, epoch: 0, base: 0 }));
    }

    #[test]
    fn sequences_wrap_to_zero() {
        let base = i32::MAX - 1;
        let next = Some(Sequence { producer_id: 7, epoch: 0, base });
        let mut sequencing = Sequencing { next, ..Sequencing::default() };
        assert_eq!(sequencing.take(3).map(|taken| taken.base), Some(base));
        assert_eq!(sequencing.take(3).map(|taken| taken.base), Some(1));
    }
}
