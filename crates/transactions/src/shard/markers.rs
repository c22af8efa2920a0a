//! From the decision to the end of a transaction: its markers are written, then its completion.

use std::sync::Arc;

use thalweg_coordinator::Now;

use super::{Out, TransactionShard, TransactionTimer, write_markers};
use crate::Partitions;
use crate::ids::Known;
use crate::transaction::Producer;

/// How long it takes until a completion that could not be written is written again.
const RETRY_MS: u64 = 100;

impl TransactionShard {
    /// Markers are written to these partitions.
    pub(super) fn markers_written(
        &mut self,
        id: &str,
        producer: Producer,
        partitions: &Partitions,
        now: Now,
        out: &mut Out,
    ) {
        let Some(transaction) = self.ids.committed(id) else { return };
        // Of an earlier transaction, of which somebody heard twice.
        if !transaction.state.is_prepared() || transaction.producer() != producer {
            return;
        }
        let id: Arc<str> = id.into();
        self.marked.entry(Arc::clone(&id)).or_default().extend(partitions);
        self.complete_if_marked(&id, now, out);
    }

    /// Has the completion written if all markers are.
    pub(super) fn complete_if_marked(&mut self, id: &Arc<str>, now: Now, out: &mut Out) {
        let is_due = self.marked.get(id).is_some_and(|marked| self.lacks_completion(id, marked));
        if let (true, Known::Is(transaction)) = (is_due, self.ids.get(id)) {
            let completed = transaction.complete(now.wall_ms);
            self.write(id, completed, out);
        }
    }

    /// Transactions whose completion could not be written, and is written again.
    pub fn completions_to_retry(&self) -> usize {
        self.marked.iter().filter(|(id, marked)| self.lacks_completion(id, marked)).count()
    }

    /// Whether all markers of an id are written, and its completion is not on its way.
    fn lacks_completion(&self, id: &str, marked: &Partitions) -> bool {
        let Known::Is(transaction) = self.ids.get(id) else { return false };
        transaction.state.is_prepared() && marked.contains_all(&transaction.partitions)
    }

    /// What was written of an id was taken back: if that was its completion, it is written again.
    pub(super) fn completion_reverted(&mut self, id: &Arc<str>, out: &mut Out) {
        let is_prepared = self.ids.committed(id).is_some_and(|it| it.state.is_prepared());
        if is_prepared && self.marked.contains_key(id) {
            out.schedule(TransactionTimer::Complete(Arc::clone(id)), RETRY_MS);
        }
    }

    /// Whoever had the partition before may not have written all markers of what was decided.
    pub(super) fn resume_markers(&self, out: &mut Out) {
        for (id, transaction) in self.ids.latest() {
            if transaction.state.is_prepared() {
                out.effect(write_markers(id, transaction));
            }
        }
    }
}
