//! What goes to one broker, and where a partition stands in that.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::batch::BatchKey;

/// A place in the table of partitions.
pub(super) type Slot = u32;

/// Where a partition stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Nowhere,
    /// Ready to be sent to a broker. An entry there that this does not point to is void.
    Ready(i32),
    /// Among those that wait, until then.
    Waiting(i32, u64),
}

/// What goes to one broker.
#[derive(Debug)]
pub(super) struct BrokerQueue {
    /// Partitions whose turn it is, the one that waited longest first.
    pub ready: VecDeque<Slot>,
    pub waiting: BTreeSet<(u64, Slot)>,
    /// Requests sent and not answered, in order, with what each contains.
    pub requests: VecDeque<Vec<(Slot, BatchKey)>>,
    /// The broker asked to be left alone until then (KIP-219).
    pub throttled_until_ms: u64,
    /// Until when the broker's task sleeps, should nobody wake it; 0 while it does not.
    pub sleeps_until_ms: u64,
    /// Why the last connection ended, while no other has brought an answer.
    pub cause: Option<Arc<str>>,
    /// The last connection was lost, and there is no other yet.
    pub is_lost: bool,
}

impl Default for BrokerQueue {
    fn default() -> BrokerQueue {
        BrokerQueue {
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            requests: VecDeque::new(),
            throttled_until_ms: 0,
            // Nobody is there yet: the first wake-up makes somebody.
            sleeps_until_ms: u64::MAX,
            cause: None,
            is_lost: false,
        }
    }
}
