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

/// A revocation that was not told yet is told as a loss, in its place: an assignment behind it leaves out what
/// it is of. Gives the partitions.
pub(super) fn lose_untold(events: &mut VecDeque<Action>) -> BTreeSet<TopicPartition> {
    let mut lost = BTreeSet::new();
    for event in events {
        if let Action::Revoke { partitions, .. } = event {
            lost.extend(partitions.iter().cloned());
            *event = Action::Lost { partitions: std::mem::take(partitions) };
        }
    }
    lost
}

/// Partitions as an event holds them.
pub(super) fn listed<'a>(
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> Vec<TopicPartition> {
    partitions.into_iter().cloned().collect()
}
