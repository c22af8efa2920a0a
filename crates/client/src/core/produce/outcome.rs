//! What becomes of a batch, shared by all who wait for one of its records: one allocation per
//! batch, however many records.
//!
//! Invariant: an outcome is settled once. Who waits is woken by whoever settled it, after the
//! producer's lock was let go.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::error::{ProduceError, ProduceErrorKind};
use crate::core::partition::TopicPartition;

/// Where a record came to lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordMetadata {
    /// The partition's index.
    pub partition: i32,
    /// The record's offset; -1 where the broker did not tell (`acks` 0, or a repetition that it
    /// has seen too long ago).
    pub offset: i64,
    /// The record's timestamp: the append time where the topic says so, else its own.
    pub timestamp: i64,
}

/// What became of a batch.
#[derive(Debug)]
pub(super) enum Settled {
    /// It was acknowledged.
    Acknowledged {
        partition: i32,
        /// -1 where that is not known.
        base_offset: i64,
        /// The append time, where the topic uses it.
        append_time: Option<i64>,
    },
    /// It was not.
    Failed(Failure),
    /// It was too large and is two batches now; the number is the second one's first record.
    Split { second_at: u32, halves: [Arc<Outcome>; 2] },
}

/// Why a batch was not acknowledged.
#[derive(Debug)]
pub(super) struct Failure {
    pub partition: Arc<TopicPartition>,
    pub kind: ProduceErrorKind,
    /// What the broker says of single records, by index.
    pub records: Vec<(u32, Arc<str>)>,
}

/// The outcome of a batch.
#[derive(Debug, Default)]
pub struct Outcome {
    settled: OnceLock<Settled>,
    waiting: Mutex<Vec<Waker>>,
}

impl Outcome {
    /// Settles it; those who are to be woken go to `wakers`.
    pub(super) fn settle(&self, settled: Settled, wakers: &mut Vec<Waker>) {
        if self.settled.set(settled).is_ok() {
            // Whoever looks from here on sees it settled.
            wakers.append(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Whether it is settled, but for halves it may have.
    pub fn is_settled(&self) -> bool {
        self.settled.get().is_some()
    }

    /// Waits until it is settled. `place` remembers where this caller waits.
    fn poll_settled(&self, cx: &Context<'_>, place: &mut Option<usize>) -> Poll<&Settled> {
        if let Some(settled) = self.settled.get() {
            return Poll::Ready(settled);
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(settled) = self.settled.get() {
            return Poll::Ready(settled);
        }
        let waits_at = |at: usize| waiting.get(at).is_some_and(|waker| waker.will_wake(cx.waker()));
        if !place.is_some_and(waits_at) {
            // A task that waits for one record after the other is there already.
            let last = waiting.len().wrapping_sub(1);
            if waits_at(last) {
                *place = Some(last);
            } else {
                *place = Some(waiting.len());
                waiting.push(cx.waker().clone());
            }
        }
        Poll::Pending
    }
}

/// A record of a batch, to be waited for.
#[derive(Debug)]
pub struct Ticket {
    outcome: Arc<Outcome>,
    index: u32,
    timestamp: i64,
    place: Option<usize>,
}

impl Ticket {
    pub(super) fn new(outcome: Arc<Outcome>, index: u32, timestamp: i64) -> Ticket {
        Ticket { outcome, index, timestamp, place: None }
    }

    /// What became of the record. May be asked again.
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<Result<RecordMetadata, ProduceError>> {
        loop {
            let next = match self.outcome.poll_settled(cx, &mut self.place) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Settled::Acknowledged { partition, base_offset, append_time }) => {
                    let offset = match base_offset {
                        ..0 => -1,
                        base => base.saturating_add(i64::from(self.index)),
                    };
                    let timestamp = append_time.unwrap_or(self.timestamp);
                    return Poll::Ready(Ok(RecordMetadata {
                        partition: *partition,
                        offset,
                        timestamp,
                    }));
                }
                Poll::Ready(Settled::Failed(failure)) => {
                    return Poll::Ready(Err(failure.of(self.index)));
                }
                Poll::Ready(Settled::Split { second_at, halves: [first, second] }) => {
                    if self.index < *second_at {
                        Arc::clone(first)
                    } else {
                        self.index -= second_at;
                        Arc::clone(second)
                    }
                }
            };
            self.outcome = next;
            self.place = None;
        }
    }
}

impl Failure {
    /// What it means for the whole batch.
    pub(super) fn error(&self) -> ProduceError {
        let topic = Arc::clone(&self.partition.topic);
        let partition = Some(self.partition.partition);
        ProduceError { topic, partition, kind: self.kind.clone() }
    }

    fn of(&self, index: u32) -> ProduceError {
        let mut kind = self.kind.clone();
        if let ProduceErrorKind::Broker { message, .. } = &mut kind
            && let Some((_, of_record)) = self.records.iter().find(|(at, _)| *at == index)
        {
            *message = Some(Arc::clone(of_record));
        }
        let topic = Arc::clone(&self.partition.topic);
        ProduceError { topic, partition: Some(self.partition.partition), kind }
    }
}

/// All batches that were under way at one moment, to be waited for.
#[derive(Debug, Default)]
pub struct Flushing {
    open: Vec<Arc<Outcome>>,
    place: Option<usize>,
}

impl Flushing {
    pub(super) fn new(open: Vec<Arc<Outcome>>) -> Flushing {
        Flushing { open, place: None }
    }

    /// Ready when all of them are settled, well or not.
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        while let Some(last) = self.open.last() {
            let halves = match last.poll_settled(cx, &mut self.place) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Settled::Split { halves, .. }) => Some(halves.clone()),
                Poll::Ready(_) => None,
            };
            self.open.pop();
            self.open.extend(halves.into_iter().flatten());
            self.place = None;
        }
        Poll::Ready(())
    }
}
