//! A consumer that makes no progress says why.

use std::fmt;

use crate::core::fetch::PartitionStatus;
use crate::core::group::GroupStatus;
use crate::core::partition::TopicPartition;

/// Partitions that are listed one by one; of more only the first are.
const LISTED_MAX: usize = 20;

/// What a consumer is doing, or waiting for: see [`Consumer::why`](super::Consumer::why).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Why {
    /// Its membership, for one that subscribes.
    pub group: Option<GroupStatus>,
    /// Each partition, in order.
    pub partitions: Vec<(TopicPartition, PartitionStatus)>,
    /// Bytes that count against the budget, and the budget.
    pub budget: (usize, usize),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(group) = &self.group {
            writeln!(f, "group: {group}")?;
        }
        let (used, limit) = self.budget;
        if used >= limit {
            writeln!(
                f,
                "the budget of {limit} bytes is used up, by what is buffered and by records that \
                 the application still holds"
            )?;
        }
        if self.partitions.is_empty() {
            writeln!(f, "no partition is assigned")?;
        }
        for (partition, status) in self.partitions.iter().take(LISTED_MAX) {
            writeln!(f, "{partition}: {status}")?;
        }
        match self.partitions.len().checked_sub(LISTED_MAX) {
            None | Some(0) => Ok(()),
            Some(more) => writeln!(f, "and {more} more"),
        }
    }
}
