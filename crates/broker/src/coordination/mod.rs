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

use crate::net::budget::Budget;
use crate::node::Node;
use crate::node::internal_topics::InternalTopic;
use crate::replicas::Replicas;
use crate::replicas::leadership::LeadershipListener;
use crate::replicas::partition::Partition;
use groups::Groups;
use transaction_coordinator::TransactionCoordinator;
use transactions::{LateTransactions, Markers, Transactions};

/// Coordinators on the partitions of internal topics that this node leads.
pub(crate) struct Coordinators {
    groups: Groups,
    transactions: TransactionCoordinator,
}

impl Coordinators {
    pub(crate) fn new(groups: Groups, transactions: TransactionCoordinator) -> Arc<Coordinators> {
        Arc::new(Coordinators { groups, transactions })
    }
}

impl LeadershipListener for Coordinators {
    fn elected(&self, topic: InternalTopic, partition: &Arc<Partition>) {
        let epoch = partition.leader().epoch;
        match topic {
            InternalTopic::Offsets => self.groups.elected(Arc::clone(partition), epoch),
            InternalTopic::Transactions => self.transactions.elected(Arc::clone(partition), epoch),
            // There are no coordinators of these yet.
            InternalTopic::ShareState => {}
        }
    }

    fn resigned(&self, topic: InternalTopic, index: i32, leader_epoch: Option<i32>) {
        match topic {
            InternalTopic::Offsets => self.groups.resigned(index, leader_epoch),
            InternalTopic::Transactions => self.transactions.resigned(index, leader_epoch),
            InternalTopic::ShareState => {}
        }
    }
}

/// Groups and transactions, and their requests to other brokers.
pub(crate) struct Coordination {
    node: Arc<Node>,
    replicas: Arc<Replicas>,
    coordinators: Arc<Coordinators>,
    /// Transactions that write to partitions of this broker.
    transactions: Transactions,
    /// Memory for markers that wait for followers.
    wait_budget: Arc<Budget>,
}

impl Coordination {
    pub(crate) fn new(
        node: Arc<Node>,
        replicas: Arc<Replicas>,
        coordinators: Arc<Coordinators>,
        markers: Arc<Markers>,
        wait_budget: Arc<Budget>,
    ) -> Arc<Coordination> {
        let transactions = Transactions::new(markers);
        Arc::new(Coordination { node, replicas, coordinators, transactions, wait_budget })
    }

    #[inline]
    pub(crate) fn groups(&self) -> &Groups {
        &self.coordinators.groups
    }

    /// The coordinator of transactions on the partitions of `__transaction_state` that this broker leads.
    pub(crate) fn transaction_coordinator(&self) -> &TransactionCoordinator {
        &self.coordinators.transactions
    }

    /// Transactions that write to partitions of this broker, whichever broker coordinates them.
    pub(crate) fn transaction_writes(&self) -> &Transactions {
        &self.transactions
    }

    /// Partitions led here with a transaction that is open for longer than any may be.
    pub(crate) fn late_partitions(&self) -> usize {
        LateTransactions::partitions(&self.node, &self.replicas)
    }

    /// Logs transactions that are open for longer than any may be.
    pub(crate) fn report_late_transactions(&self) {
        self.transactions.late.report(&self.node, &self.replicas);
    }

    /// Answers everything that waits, because the broker stops.
    pub(crate) fn close(&self) {
        self.groups().close();
        self.transaction_coordinator().close();
    }
}
