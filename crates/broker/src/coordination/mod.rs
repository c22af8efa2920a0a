//! Groups and transactions that this node coordinates.
//!
//! `runtime` is the shell around coordinator state machines: one runner per partition of an internal topic that this
//! node leads, fed from and appending to that partition's log.

pub(crate) mod group_settings;
pub(crate) mod groups;
mod rebalance_log;
pub(crate) mod runtime;
pub(crate) mod transaction_coordinator;
pub(crate) mod transactions;

pub(crate) use runtime::compressed_len;

use std::sync::Arc;

use groups::Groups;
use transaction_coordinator::TransactionCoordinator;
use transactions::Transactions;

/// Coordinators of groups and transactions.
pub(crate) struct Coordination {
    groups: Groups,
    /// Transactions that this broker coordinates.
    coordinated: TransactionCoordinator,
    /// Transactions that write to partitions of this broker.
    transactions: Transactions,
}

impl Coordination {
    pub(crate) fn new(groups: Groups, coordinated: TransactionCoordinator) -> Arc<Coordination> {
        Arc::new(Coordination { groups, coordinated, transactions: Transactions::default() })
    }

    #[inline]
    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Transactions that this broker coordinates.
    pub(crate) fn coordinated(&self) -> &TransactionCoordinator {
        &self.coordinated
    }

    /// Transactions that write to partitions of this broker.
    pub(crate) fn transactions(&self) -> &Transactions {
        &self.transactions
    }
}
