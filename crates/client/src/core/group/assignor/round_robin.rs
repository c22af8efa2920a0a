//! Round robin: all partitions of all topics, one by one around the members.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::spec::{Assignment, AssignorSpec, in_order, nothing_for_anyone};
use crate::core::partition::TopicPartition;

/// Members that did not subscribe to a topic are passed over, and the round goes on from there.
pub(super) fn assign(spec: &AssignorSpec) -> Assignment {
    let members = in_order(spec);
    // By topic, the places of its subscribers, ascending.
    let mut subscribers: BTreeMap<&Arc<str>, Vec<usize>> = BTreeMap::new();
    for (place, (_, member)) in members.iter().enumerate() {
        for topic in &member.topics {
            subscribers.entry(topic).or_default().push(place);
        }
    }
    let mut assigned: Vec<Vec<TopicPartition>> = vec![Vec::new(); members.len()];
    let mut turn = 0;
    for (topic, places) in subscribers {
        for partition in 0..spec.partitions.get(topic).copied().unwrap_or(0) {
            let next = places.partition_point(|&place| place < turn);
            let Some(&place) = places.get(next).or(places.first()) else { continue };
            assigned[place].push(TopicPartition::new(Arc::clone(topic), partition));
            turn = (place + 1) % members.len();
        }
    }
    let mut assignment = nothing_for_anyone(spec);
    for ((id, _), partitions) in members.into_iter().zip(assigned) {
        assignment.insert(Arc::clone(id), partitions);
    }
    assignment
}
