//! Records that are handed out without anybody looking at the fetcher.
//!
//! A poll for one record of a batch of hundreds would spend most of its time on a lock and on
//! finding that the next record is where the last one ended. So what is left of the batch that is
//! being handed out is lent to whoever polls, who goes on in it alone. Whoever looks at the fetcher
//! calls it back first, and finds everything as if those polls had been `Fetcher::take`s.
//!
//! Invariants:
//! - A poll of a loan that was called back hands nothing out: there is one number, which the
//!   borrower counts up poll by poll, and which is taken away from it.
//! - A batch's last record is never lent: its end, and whatever is wrong with the batch, is found
//!   where everything else is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use super::buffer::Lendable;
use super::cursor::Slot;
use super::records::{Batch, Chunk, Records};

/// Nothing is lent.
const RECALLED: u64 = u64::MAX;

/// How far a borrower has come.
#[derive(Debug)]
pub(super) struct Progress {
    /// Polls since it was lent.
    polls: AtomicU64,
    /// Where the last poll left it: by turns, so that a poll that fails spoils nothing.
    places: [Place; 2],
}

#[derive(Debug, Default)]
struct Place {
    /// Offset before this poll.
    before: AtomicI64,
    /// Offset after it.
    next: AtomicI64,
    /// Where in the batch the next record begins.
    at: AtomicUsize,
    /// Records handed out of the loan.
    records: AtomicUsize,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress { polls: AtomicU64::new(RECALLED), places: Default::default() }
    }
}

impl Progress {
    fn place(&self, polls: u64) -> &Place {
        let [even, odd] = &self.places;
        if polls & 1 == 0 { even } else { odd }
    }
}

/// What a fetcher lent, from its side.
#[derive(Debug, Default)]
pub(super) struct Lent {
    progress: Arc<Progress>,
    slot: Option<Slot>,
}

/// What was taken of a loan that was called back.
pub(super) struct Taken {
    /// Where the last poll began, as an offset.
    pub before: i64,
    /// Where it ended.
    pub next: i64,
    /// The same as a place in the batch.
    pub at: usize,
    /// Records of all polls.
    pub records: usize,
}

impl Lent {
    /// A loan of nothing. There is one borrower at most.
    pub fn loan(&self) -> Loan {
        let progress = Arc::clone(&self.progress);
        Loan { progress, polls: 0, batch: None, at: 0, next: 0, records: 0, left: 0 }
    }

    /// Lends what is left of a partition's batch, whose next record has the offset `next`. Nothing may
    /// be lent.
    pub fn lend(&mut self, loan: &mut Loan, slot: Slot, next: i64, lendable: Lendable) {
        let Lendable { batch, at, left } = lendable;
        let progress = Arc::clone(&self.progress);
        // The same thread goes on with it, or one that was handed the whole consumer.
        progress.polls.store(0, Ordering::Relaxed);
        self.slot = Some(slot);
        *loan = Loan { progress, polls: 0, batch: Some(batch), at, next, records: 0, left };
    }

    /// The partition of which something is lent, which [`Self::settle`] is to follow.
    #[inline]
    pub fn take_slot(&mut self) -> Option<Slot> {
        self.slot.take()
    }

    /// Takes the loan from its borrower; gives what was taken of it, if anything was.
    pub fn settle(&self) -> Option<Taken> {
        let polls = self.progress.polls.swap(RECALLED, Ordering::AcqRel);
        if polls == 0 {
            return None;
        }
        let place = self.progress.place(polls);
        Some(Taken {
            before: place.before.load(Ordering::Relaxed),
            next: place.next.load(Ordering::Relaxed),
            at: place.at.load(Ordering::Relaxed),
            records: place.records.load(Ordering::Relaxed),
        })
    }
}

/// What is left of a batch, to be taken without the fetcher.
pub(crate) struct Loan {
    progress: Arc<Progress>,
    polls: u64,
    batch: Option<Arc<Batch>>,
    at: usize,
    next: i64,
    records: usize,
    /// Records that may be taken, but for one.
    left: usize,
}

impl Loan {
    /// Up to `max` records, exactly so many; `None` when they are to be had elsewhere.
    #[inline]
    pub fn take(&mut self, max: usize) -> Option<Records> {
        if max == 0 || max >= self.left {
            return None;
        }
        let taken = self.cut(max);
        if taken.is_none() {
            self.forget();
        }
        taken
    }

    /// Whoever took it back has it: it is not to be kept in memory by this.
    pub(super) fn forget(&mut self) {
        (self.batch, self.left) = (None, 0);
    }

    #[inline]
    fn cut(&mut self, max: usize) -> Option<Records> {
        let batch = self.batch.as_ref()?;
        let (mut end, mut next) = (self.at, self.next);
        for _ in 0..max {
            let (offset, len) = batch.context.step(batch.bytes.get(end..)?).ok()?;
            if offset < next {
                return None;
            }
            next = offset.saturating_add(1);
            end += len;
        }
        let polls = self.polls + 1;
        let place = self.progress.place(polls);
        place.before.store(self.next, Ordering::Relaxed);
        place.next.store(next, Ordering::Relaxed);
        place.at.store(end, Ordering::Relaxed);
        place.records.store(self.records + max, Ordering::Relaxed);
        // Whoever takes the number away sees the place that goes with it.
        let counted = self.progress.polls.compare_exchange(
            self.polls,
            polls,
            Ordering::Release,
            Ordering::Relaxed,
        );
        counted.ok()?;
        let batch = Arc::clone(batch);
        let chunk = Chunk { batch, start: self.at, end, count: max, next_offset: next };
        (self.polls, self.at, self.next) = (polls, end, next);
        self.records += max;
        self.left -= max;
        Some(Records::of(chunk))
    }
}
