//! Records that are handed out without anybody looking at the fetcher.
//!
//! A poll for one record of a batch of hundreds would spend most of its time on a lock and on
//! finding that the next record is where the last one ended. So what is left of the batch that is
//! being handed out is lent to whoever polls, who goes on in it alone. Whoever looks at the fetcher
//! calls it back first, and finds everything as if those polls had been [`Fetcher::take`]s.
//!
//! Invariants:
//! - A poll of a loan that was called back hands nothing out: there is one number, which the
//!   borrower counts up poll by poll, and which is taken away from it.
//! - A batch's last record is never lent: its end, and whatever is wrong with the batch, is found
//!   where everything else is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use super::buffer::Lendable;
use super::records::{Batch, Chunk, Records};
use super::{Fetcher, ReadMode, Slot};

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
    fn forget(&mut self) {
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

impl Fetcher {
    /// A loan of nothing, for [`Self::lend`]. There is one borrower at most.
    pub(crate) fn loan(&self) -> Loan {
        let progress = Arc::clone(&self.lent.progress);
        Loan { progress, polls: 0, batch: None, at: 0, next: 0, records: 0, left: 0 }
    }

    /// Lends what is left of the batch that is handed out next, if that is enough for polls of
    /// `max` records to come.
    pub(crate) fn lend(&mut self, loan: &mut Loan, max: usize) {
        self.recall();
        loan.forget();
        if self.reading != ReadMode::Polls || !self.failed.is_empty() {
            return;
        }
        let Some(&slot) = self.ready.front() else { return };
        let cursor = self.cursors[slot as usize].as_mut();
        let Some(cursor) = cursor.filter(|cursor| cursor.queued && cursor.is_deliverable()) else {
            return;
        };
        let Some(position) = cursor.position() else { return };
        let Some(Lendable { batch, at, left }) = cursor.buffer.lendable() else { return };
        // Records before the position were sought over, and the epoch is not known yet.
        if left / 2 <= max || position.leader_epoch != batch.leader_epoch {
            return;
        }
        let progress = Arc::clone(&self.lent.progress);
        // The same thread goes on with it, or one that was handed the whole consumer.
        progress.polls.store(0, Ordering::Relaxed);
        self.lent.slot = Some(slot);
        let next = position.offset;
        *loan = Loan { progress, polls: 0, batch: Some(batch), at, next, records: 0, left };
    }

    /// Calls back what was lent. To be called before anything else is done here; costs nothing
    /// when there is no loan.
    #[inline]
    pub(crate) fn recall(&mut self) {
        if let Some(slot) = self.lent.slot.take() {
            self.settle_loan(slot);
        }
    }

    fn settle_loan(&mut self, slot: Slot) {
        let polls = self.lent.progress.polls.swap(RECALLED, Ordering::AcqRel);
        let Some(cursor) = self.cursors[slot as usize].as_mut().filter(|_| polls > 0) else {
            return;
        };
        let place = self.lent.progress.place(polls);
        let [before, next] = [&place.before, &place.next].map(|at| at.load(Ordering::Relaxed));
        let records = place.records.load(Ordering::Relaxed);
        self.counts.records += records as u64;
        // What was handed out by any poll before the last one is done with.
        self.takes += 1;
        self.moves += 1;
        self.has_handed = true;
        cursor.advance_to(next, (self.takes, before));
        cursor.buffer.advance_open(place.at.load(Ordering::Relaxed), records);
    }
}
