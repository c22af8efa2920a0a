//! What an assignor works on, and what it gives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::partition::TopicPartition;

/// The partitions of each member, sorted.
pub type Assignment = BTreeMap<Arc<str>, Vec<TopicPartition>>;

/// A member, as an assignor sees it.
#[derive(Clone, Debug, Default)]
pub struct MemberSpec {
    /// Topics that it subscribed to.
    pub topics: BTreeSet<Arc<str>>,
    /// `group.instance.id` of a static member.
    pub instance_id: Option<Arc<str>>,
    /// What it says it owns.
    pub owned: Vec<TopicPartition>,
    /// The generation in which it says so, -1 where it does not say.
    pub generation: i32,
}

/// What an assignor works on.
#[derive(Clone, Debug, Default)]
pub struct AssignorSpec {
    /// Members by id.
    pub members: BTreeMap<Arc<str>, MemberSpec>,
    /// Partitions by topic; topics that do not exist are left out.
    pub partitions: BTreeMap<Arc<str>, i32>,
}

impl AssignorSpec {
    /// How many partitions somebody subscribed to.
    pub fn subscribed_partitions(&self) -> usize {
        let topics: BTreeSet<_> = self.members.values().flat_map(|member| &member.topics).collect();
        let count = |topic: &Arc<str>| self.partitions.get(topic).copied().unwrap_or(0);
        topics.into_iter().map(|topic| usize::try_from(count(topic)).unwrap_or(0)).sum()
    }
}

/// The members in Kafka's order: static ones by instance id, so that restarts change nothing, then
/// the others by member id.
pub(super) fn in_order(spec: &AssignorSpec) -> Vec<(&Arc<str>, &MemberSpec)> {
    let mut members: Vec<_> = spec.members.iter().collect();
    members.sort_by_key(|(id, member)| {
        (member.instance_id.is_none(), member.instance_id.clone(), Arc::clone(id))
    });
    members
}

pub(super) fn nothing_for_anyone(spec: &AssignorSpec) -> Assignment {
    spec.members.keys().map(|id| (Arc::clone(id), Vec::new())).collect()
}
