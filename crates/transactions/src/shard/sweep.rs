//! What is looked for from time to time: transactions that are open for too long, and ids that nobody uses any more.

use std::sync::Arc;

use thalweg_coordinator::Now;

use super::{Out, TransactionShard, TransactionTimer};
use crate::{Transaction, TransactionState};

impl TransactionShard {
    pub(super) fn schedule_sweeps(&self, out: &mut Out) {
        out.schedule(TransactionTimer::AbortTimedOut, self.config.abort_interval_ms);
        out.schedule(TransactionTimer::Expire, self.config.expire_interval_ms);
    }

    /// Begins them where there is the first id.
    pub(super) fn begin_sweeps(&mut self, out: &mut Out) {
        if !std::mem::replace(&mut self.is_swept, true) {
            self.schedule_sweeps(out);
        }
    }

    /// Aborts what is open for too long, and fences its producers.
    pub(super) fn abort_timed_out(&mut self, now: Now, out: &mut Out) {
        self.is_swept &= !self.is_empty();
        if !self.is_swept {
            return;
        }
        out.schedule(TransactionTimer::AbortTimedOut, self.config.abort_interval_ms);
        let is_over = |transaction: &Transaction| {
            let ends_ms = transaction.start_ms.saturating_add(transaction.timeout_ms.into());
            transaction.state == TransactionState::Ongoing
                && !transaction.has_no_timeout()
                && ends_ms < now.wall_ms
        };
        let over = self.ids.iter().filter(|(_, it, in_transit)| !in_transit && is_over(it));
        let mut over: Vec<(&Arc<str>, &Transaction)> = over.map(|(id, it, _)| (id, it)).collect();
        // Not in the order of a map with a secret: what is written follows from what there is.
        over.sort_unstable_by_key(|(id, _)| *id);
        let fenced: Vec<(Arc<str>, Transaction)> = over
            .into_iter()
            // Without a producer id for whoever comes next it is left for the next time.
            .filter_map(|(id, it)| Some((Arc::clone(id), self.fence(it, now).ok()?)))
            .collect();
        out.split();
        for (id, next) in fenced {
            self.write(&id, next, out);
        }
    }

    /// Removes ids that were not used for long and have no transaction.
    pub(super) fn expire(&mut self, now: Now, out: &mut Out) {
        if !self.is_swept {
            return;
        }
        out.schedule(TransactionTimer::Expire, self.config.expire_interval_ms);
        let before_ms = now.wall_ms.saturating_sub(self.config.id_expiration_ms);
        let expired = self.ids.iter().filter(|(_, transaction, in_transit)| {
            !in_transit && transaction.state.may_expire() && transaction.last_update_ms <= before_ms
        });
        let mut expired: Vec<&Arc<str>> = expired.map(|(id, ..)| id).collect();
        expired.sort_unstable();
        out.split();
        out.records.extend(expired.into_iter().map(|id| self.record(id, None)));
    }
}
