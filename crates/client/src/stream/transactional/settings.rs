//! When transactions end.

use std::time::Duration;

use crate::options;
use crate::options::setters::setters;

/// When the transactions of a stream are committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TransactionSettings {
    /// Longest time from the first envelope of a transaction to its commit (Alpakka's
    /// `eos-commit-interval`); 100 ms. It is what readers of what is committed wait for at most, besides
    /// the commit itself; and each commit costs requests. Must be well below `transaction.timeout.ms`.
    pub commit_interval: Duration,
    /// Records that a transaction has at most, but for the rest of the envelope that reaches it; 10 000.
    pub max_records: usize,
}

setters! {
    TransactionSettings {
        commit_interval: Duration => with_commit_interval,
        max_records: usize => with_max_records,
    }
}

impl Default for TransactionSettings {
    fn default() -> TransactionSettings {
        TransactionSettings { commit_interval: Duration::from_millis(100), max_records: 10_000 }
    }
}

impl TransactionSettings {
    pub(super) fn bounded(mut self) -> TransactionSettings {
        self.commit_interval = options::bounded(self.commit_interval);
        self.max_records = self.max_records.max(1);
        self
    }
}
