//! Changes of in-sync replicas that leaders ask the controller for (AlterPartition).

use std::collections::BTreeMap;

use parking_lot::Mutex;
use thalweg_replication::{AlterPartition, Altered, IsrChange};
use thalweg_wire::{ErrorCode, Uuid};
use tokio::sync::Notify;

use crate::node::metrics::Counter;

/// Partitions in one request.
pub(crate) const PARTITIONS_MAX: usize = 1_000;

/// Topic and partition, and the change that is wanted.
pub(crate) type Changes = BTreeMap<(Uuid, i32), AlterPartition>;

/// What is to be asked for: one change of a partition at a time.
#[derive(Debug, Default)]
pub(crate) struct IsrChanges {
    wanted: Mutex<Changes>,
    pub(crate) added: Notify,
    expands: Counter,
    shrinks: Counter,
    refused: Counter,
}

impl IsrChanges {
    /// The controller is to be asked for this; the partition gets the answer.
    pub(crate) fn ask(&self, topic: Uuid, index: i32, change: AlterPartition) {
        let mut wanted = self.wanted.lock();
        let is_newer = |known: &AlterPartition| {
            (change.leader_epoch, change.partition_epoch)
                >= (known.leader_epoch, known.partition_epoch)
        };
        // Partitions ask without a lock: what was decided first may come last.
        if wanted.get(&(topic, index)).is_none_or(is_newer) {
            wanted.insert((topic, index), change);
        }
        drop(wanted);
        self.added.notify_one();
    }

    /// Followers that have joined.
    pub(crate) fn expands(&self) -> u64 {
        self.expands.get()
    }

    /// Times that followers have left.
    pub(crate) fn shrinks(&self) -> u64 {
        self.shrinks.get()
    }

    /// Changes that the controller has refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Counts an answer.
    pub(crate) fn count(&self, change: &IsrChange, answer: &Result<Altered, ErrorCode>) {
        match (answer, change) {
            (Err(_), _) => self.refused.add(1),
            (Ok(_), IsrChange::Expand(_)) => self.expands.add(1),
            (Ok(_), IsrChange::Shrink(_)) => self.shrinks.add(1),
        }
    }

    /// Changes for one request, which are not noted any more.
    pub(crate) fn take(&self) -> Changes {
        let mut wanted = self.wanted.lock();
        match wanted.keys().nth(PARTITIONS_MAX).copied() {
            None => std::mem::take(&mut *wanted),
            Some(rest) => {
                let rest = wanted.split_off(&rest);
                std::mem::replace(&mut *wanted, rest)
            }
        }
    }
}
