//! `range`: of each topic, contiguous ranges in the order of the subscribers.
//!
//! Topics with equally many partitions and the same subscribers are co-partitioned: who gets
//! partition 5 of one gets partition 5 of the other. The order is what stays the same from one
//! assignment to the next, so static members come first, by their instance ids: they come back
//! under them.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::subscriptions::Subscriptions;
use super::{Assignor, GroupSpec, MemberAssignment, MemberSpec};
use crate::formats::java_string_cmp;

/// The assignor `range`.
#[derive(Clone, Copy, Debug)]
pub struct RangeAssignor;

/// How far a topic has been given out.
struct Progress {
    /// What each subscriber gets at least.
    quota: u32,
    /// Subscribers that still get one more: the first ones, if it does not come out even.
    extra: u32,
    next: u32,
}

impl Progress {
    /// The range of the next subscriber.
    fn next_range(&mut self) -> Range<u32> {
        let begin = self.next;
        let extra = self.extra.min(1);
        self.extra -= extra;
        self.next += self.quota + extra;
        begin..self.next
    }
}

impl Assignor for RangeAssignor {
    fn name(&self) -> &'static str {
        "range"
    }

    fn assign(&self, group: &GroupSpec<'_>) -> Vec<Arc<MemberAssignment>> {
        let order = in_order(group);
        let subscriptions = Subscriptions::new(group, &order);
        let subscribers = subscriptions.subscribers();
        let mut progress: Vec<Progress> = subscriptions
            .topics
            .iter()
            .zip(subscribers)
            .map(|(topic, subscribers)| Progress {
                quota: topic.partitions / subscribers,
                extra: topic.partitions % subscribers,
                next: 0,
            })
            .collect();
        let mut assignments: Vec<Arc<MemberAssignment>> =
            group.members.iter().map(|member| Arc::clone(member.assignment)).collect();
        // Filled for each member anew, so that nothing is allocated for who keeps what it has.
        let mut assignment = MemberAssignment::default();
        for (&member, &subscription) in order.iter().zip(&subscriptions.of_member) {
            let member = member as usize;
            assignment.topics.clear();
            assignment.partitions.clear();
            for &topic in &subscriptions.distinct[subscription as usize] {
                let range = progress[topic as usize].next_range();
                if !range.is_empty() {
                    assignment.partitions.extend(range.start as i32..range.end as i32);
                    let end = assignment.partitions.len() as u32;
                    assignment.topics.push((subscriptions.topics[topic as usize].id, end));
                }
            }
            if *assignments[member] != assignment {
                assignments[member] = Arc::new(assignment.clone());
            }
        }
        assignments
    }
}

/// The members, by their places in the group, in the order in which ranges are given out.
pub(super) fn in_order(group: &GroupSpec<'_>) -> Vec<u32> {
    let mut order: Vec<u32> = (0..group.members.len() as u32).collect();
    order.sort_by(|&a, &b| compare(&group.members[a as usize], &group.members[b as usize]));
    order
}

/// Static members by instance id, then the others by member id.
fn compare(a: &MemberSpec<'_>, b: &MemberSpec<'_>) -> Ordering {
    let by_id = || java_string_cmp(a.id, b.id);
    match (a.instance_id, b.instance_id) {
        (Some(one), Some(other)) => java_string_cmp(one, other).then_with(by_id),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => by_id(),
    }
}
