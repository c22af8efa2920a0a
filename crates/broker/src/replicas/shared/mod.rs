//! What all partitions of a broker and its fetchers share. It knows no partition: what leaders ask the controller for
//! (`isr_changes`), whose fetches a new leader answers soon (`short_polls`), and how fast replicas that are not in sync
//! may catch up (`throttle`).

mod isr_changes;
mod short_polls;
mod throttle;

use std::sync::Arc;

pub(super) use isr_changes::Changes;
pub(crate) use isr_changes::IsrChanges;
#[cfg(test)]
pub(super) use isr_changes::PARTITIONS_MAX;
pub(crate) use short_polls::ShortPolls;
pub(crate) use throttle::{Throttle, ThrottledReplicas, Throttles, throttled_replicas};

use crate::node::Node;

/// What the partitions of a broker go by.
pub(crate) struct Shared {
    pub(crate) node: Arc<Node>,
    /// `replica.lag.time.max.ms`
    pub(crate) lag_time_max_ms: u64,
    /// What the controller is to be asked for.
    pub(crate) isr_changes: IsrChanges,
    /// Replicas whose fetches do not wait for long.
    pub(crate) short_polls: ShortPolls,
    /// How fast replicas that are not in sync may catch up.
    pub(crate) throttles: Throttles,
}

impl Shared {
    pub(crate) fn new(node: Arc<Node>) -> Shared {
        let config = node.static_config();
        Shared {
            lag_time_max_ms: u64::try_from(config.replica_lag_time_max_ms()).unwrap_or(0),
            isr_changes: IsrChanges::default(),
            short_polls: ShortPolls::default(),
            throttles: Throttles::new(config),
            node,
        }
    }
}
