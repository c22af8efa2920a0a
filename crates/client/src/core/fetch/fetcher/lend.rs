//! What is lent to whoever polls: see `core::fetch::loan`.

use super::Fetcher;
use crate::core::fetch::cursor::Slot;
use crate::core::fetch::loan::{Loan, Taken};
use crate::core::fetch::settings::ReadMode;

impl Fetcher {
    /// A loan of nothing, for [`Self::lend`]. There is one borrower at most.
    pub(crate) fn loan(&self) -> Loan {
        self.lent.loan()
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
        let Some(lendable) = cursor.buffer.lendable() else { return };
        // Records before the position were sought over, and the epoch is not known yet.
        if lendable.left / 2 <= max || position.leader_epoch != lendable.batch.leader_epoch {
            return;
        }
        self.lent.lend(loan, slot, position.offset, lendable);
    }

    /// Calls back what was lent. To be called before anything else is done here; costs nothing
    /// when there is no loan.
    #[inline]
    pub(crate) fn recall(&mut self) {
        if let Some(slot) = self.lent.take_slot() {
            self.settle_loan(slot);
        }
    }

    fn settle_loan(&mut self, slot: Slot) {
        let Some(Taken { before, next, at, records }) = self.lent.settle() else { return };
        let Some(cursor) = self.cursors[slot as usize].as_mut() else { return };
        self.counts.records += records as u64;
        // What was handed out by any poll before the last one is done with.
        self.takes += 1;
        self.moves += 1;
        self.has_handed = true;
        cursor.advance_to(next, (self.takes, before));
        cursor.buffer.advance_open(at, records);
    }
}
