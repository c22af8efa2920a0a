//! Range: per topic, each member gets a contiguous range of partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::spec::{Assignment, AssignorSpec, in_order, nothing_for_anyone};
use crate::core::partition::TopicPartition;

/// The first members get one partition more where it does not come out even. Topics with the same
/// members and equally many partitions are divided alike, so that a member gets the same indexes
/// of each of them: joins rely on it.
pub(super) fn assign(spec: &AssignorSpec) -> Assignment {
    let mut subscribers: BTreeMap<&Arc<str>, Vec<&Arc<str>>> = BTreeMap::new();
    for (id, member) in in_order(spec) {
        for topic in &member.topics {
            subscribers.entry(topic).or_default().push(id);
        }
    }
    let mut assignment = nothing_for_anyone(spec);
    for (topic, members) in subscribers {
        let count = spec.partitions.get(topic).map_or(0, |&count| count.max(0) as usize);
        let (each, extra) = (count / members.len(), count % members.len());
        let mut next = 0;
        for (at, &id) in members.iter().enumerate() {
            let end = next + each + usize::from(at < extra);
            if let Some(partitions) = assignment.get_mut(id) {
                let range = next as i32..end as i32;
                partitions.extend(range.map(|p| TopicPartition::new(Arc::clone(topic), p)));
            }
            next = end;
        }
    }
    assignment
}
