//! A partition's part in transactions, and whether its batches may be sent.

/// What has to be known of transactions to tell whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransactionRules {
    /// The transaction that is open, or is being committed; 0 for none.
    pub number: u64,
    /// The coordinator has to know of a partition first.
    pub needs_adding: bool,
}

/// A partition's part in transactions.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Membership {
    /// The last transaction that something was taken in for.
    pub joined: u64,
    /// The last one that the coordinator knows it to be in, where it has to be told.
    pub added: u64,
}

impl TransactionRules {
    /// Whether a partition's batches may be sent.
    pub fn allow(self, of: Membership) -> bool {
        self.number != 0 && (!self.needs_adding || of.added == self.number)
    }
}
