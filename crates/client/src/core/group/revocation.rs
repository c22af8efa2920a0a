//! Partitions that are being revoked.

use std::collections::{BTreeSet, VecDeque};

use super::action::Action;
use crate::core::partition::TopicPartition;

/// A revocation under way.
#[derive(Debug)]
pub(super) struct Revocation {
    pub(super) partitions: BTreeSet<TopicPartition>,
    pub(super) deadline_ms: u64,
}

impl Revocation {
    pub(super) fn ask(&self) -> Action {
        Action::Revoke {
            partitions: self.partitions.iter().cloned().collect(),
            deadline_ms: self.deadline_ms,
        }
    }
}

/// Takes back what was not told yet and makes no sense once everything is lost.
pub(super) fn forget_untold(events: &mut VecDeque<Action>) {
    events.retain(|event| !matches!(event, Action::Revoke { .. }));
}

/// Partitions as an event holds them.
pub(super) fn listed<'a>(
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> Vec<TopicPartition> {
    partitions.into_iter().cloned().collect()
}
