//! The assignors of classic groups: pure functions from who is there and what there is to who gets
//! what.
//!
//! Invariants, whatever members claim:
//! - A partition goes to at most one member, and only to one that subscribed to its topic.
//! - Every partition of a subscribed topic goes to somebody, except those that cooperative-sticky
//!   holds back until their owner has let go of them.
//! - The same spec gives the same assignment.
//!
//! Racks (KIP-881) are not looked at: they are sent along for leaders that do.

mod cooperative_sticky;
mod range;
mod round_robin;
mod spec;
mod sticky;

use std::sync::Arc;

use bytes::Bytes;

use super::protocol::{MemberSubscription, StickyUserData, cooperative_user_data};
use crate::core::partition::TopicPartition;

pub use spec::{Assignment, AssignorSpec, MemberSpec};
/// Who owned what before, as far as members' claims can be believed.
pub use sticky::Ownership;

/// How partitions move from member to member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RebalanceProtocol {
    /// Everybody gives up everything before joining.
    Eager,
    /// Members keep what they have and give up only what goes to others (KIP-429).
    Cooperative,
}

/// One of Kafka's assignors (`partition.assignment.strategy`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Assignor {
    /// Per topic, contiguous ranges in the order of the members; topics with equally many
    /// partitions are co-partitioned.
    Range,
    /// Partition by partition around the members.
    RoundRobin,
    /// Balanced with the fewest moves; eager.
    Sticky,
    /// As [`Assignor::Sticky`], but members keep what does not move.
    CooperativeSticky,
}

impl MemberSpec {
    /// What `assignor` has to know of a member's subscription. Sticky, being eager, finds what the
    /// member had in its user data; the others in the fields (KIP-341, KIP-792).
    pub fn new(
        assignor: Assignor,
        subscription: &MemberSubscription,
        instance_id: Option<Arc<str>>,
    ) -> MemberSpec {
        let topics = subscription.topics.iter().cloned().collect();
        let user_data = subscription.user_data.as_ref();
        let (owned, generation) = match assignor {
            Assignor::Sticky => {
                let before = user_data.map(StickyUserData::decode).unwrap_or_default();
                (before.partitions, before.generation)
            }
            // Members older than version 2 have the generation in their user data.
            Assignor::CooperativeSticky if subscription.generation < 0 => {
                let generation = user_data.and_then(cooperative_user_data).unwrap_or(-1);
                (subscription.owned.clone(), generation)
            }
            _ => (subscription.owned.clone(), subscription.generation),
        };
        MemberSpec { topics, instance_id, owned, generation }
    }
}

impl Assignor {
    /// Kafka's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Range => "range",
            Assignor::RoundRobin => "roundrobin",
            Assignor::Sticky => "sticky",
            Assignor::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// The assignor of that name.
    pub fn from_name(name: &str) -> Option<Assignor> {
        let all =
            [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky, Assignor::CooperativeSticky];
        all.into_iter().find(|assignor| assignor.name() == name)
    }

    /// The best protocol it supports. All support eager.
    pub(crate) fn rebalance_protocol(self) -> RebalanceProtocol {
        match self {
            Assignor::CooperativeSticky => RebalanceProtocol::Cooperative,
            _ => RebalanceProtocol::Eager,
        }
    }

    /// The best protocol that all of `assignors` support, as Kafka chooses it.
    pub(crate) fn common_protocol(assignors: &[Assignor]) -> RebalanceProtocol {
        let best = assignors.iter().map(|assignor| assignor.rebalance_protocol()).min();
        best.unwrap_or(RebalanceProtocol::Eager)
    }

    /// Who gets what.
    pub(crate) fn assign(self, spec: &AssignorSpec) -> Assignment {
        let mut assignment = match self {
            Assignor::Range => range::assign(spec),
            Assignor::RoundRobin => round_robin::assign(spec),
            Assignor::Sticky => sticky::assign(spec, &Ownership::new(spec)),
            Assignor::CooperativeSticky => cooperative_sticky::assign(spec),
        };
        for partitions in assignment.values_mut() {
            partitions.sort_unstable();
        }
        assignment
    }

    /// What a member sends along for this assignor. `previous` is what it got when this assignor
    /// was last used, and the generation of that.
    pub(super) fn user_data(self, previous: Option<&(Vec<TopicPartition>, i32)>) -> Option<Bytes> {
        match self {
            Assignor::Range | Assignor::RoundRobin => None,
            Assignor::Sticky => previous.map(|(partitions, generation)| {
                StickyUserData { partitions: partitions.clone(), generation: *generation }.encode()
            }),
            Assignor::CooperativeSticky => {
                let generation = previous.map_or(-1, |(_, generation)| *generation);
                Some(Bytes::copy_from_slice(&generation.to_be_bytes()))
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
