//! The server-side assignors of KIP-848 groups: pure functions from who is in a group and which
//! topics there are to who gets what.
//!
//! Invariants, whatever a group looks like:
//! - Every partition of a topic that somebody subscribes to goes to one member that does.
//! - The same group gives the same assignment, in whatever order its members come.
//! - A member whose assignment does not change gets back the [`Arc`] it came with.
//!
//! An assignment can be anything that was once read from a log: partitions that are not there any
//! more, topics that nobody subscribes to, the same partition twice. Nothing of it is believed; of
//! two members with the same partition the first by its id had it.
//!
//! Kafka 4.4's server-side assignors do not look at racks, those of its consumers do (KIP-881). So do
//! the two that stand in for the latter: [`StickyAssignor`] and [`StickyRangeAssignor`], to whom racks are
//! a preference among assignments that are equally balanced and move as little.
//!
//! Which topics there are is the caller's to say: one that is not in [`GroupSpec::topics`] is not
//! assigned.

mod flow;
mod plan;
mod racks;
mod range;
mod range_racks;
mod sticky_range;
mod subscriptions;
mod uniform;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use thalweg_wire::Uuid;

pub use racks::PartitionRacks;
pub use range::RangeAssignor;
pub use sticky_range::StickyRangeAssignor;
pub use uniform::{StickyAssignor, UniformAssignor};

/// One of the assignors that a group can choose.
pub trait Assignor: Debug + Send + Sync {
    /// Its name in `group.consumer.assignors` and in heartbeats.
    fn name(&self) -> &'static str;

    /// Whether it reads [`GroupSpec::racks`].
    fn looks_at_racks(&self) -> bool {
        false
    }

    /// The assignment of each member, in the order of [`GroupSpec::members`].
    fn assign(&self, group: &GroupSpec<'_>) -> Vec<Arc<MemberAssignment>>;
}

/// All of them; the first is the default, as in Kafka.
pub const ASSIGNORS: [&dyn Assignor; 2] = [&UniformAssignor, &RangeAssignor];

/// The assignor called `name`.
pub fn assignor(name: &str) -> Option<&'static dyn Assignor> {
    ASSIGNORS.into_iter().find(|assignor| assignor.name() == name)
}

/// A group, as an assignor sees it.
#[derive(Clone, Debug)]
pub struct GroupSpec<'a> {
    /// Its members, in any order, no two with the same id.
    pub members: &'a [MemberSpec<'a>],
    /// Number of partitions of the topics that exist. All of a group's topics together have fewer
    /// than 2^31.
    pub topics: &'a BTreeMap<Uuid, i32>,
    /// The racks of their partitions, for an assignor that looks at them.
    pub racks: Option<&'a PartitionRacks>,
    /// What each member had before it came to this group, for [`StickyAssignor`]. Of what moves anyway it gets
    /// that first; where its rack is comes after.
    pub remembered: Option<&'a [MemberAssignment]>,
    /// Whether the members subscribe to the same topics.
    pub subscription_type: SubscriptionType,
}

/// Whether all members of a group subscribe to the same topics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubscriptionType {
    /// They do: only the first one's subscription is read.
    Homogeneous,
    /// They may not.
    Heterogeneous,
}

/// A member, as an assignor sees it.
#[derive(Clone, Copy, Debug)]
pub struct MemberSpec<'a> {
    /// Member id.
    pub id: &'a str,
    /// `group.instance.id` of a static member.
    pub instance_id: Option<&'a str>,
    /// `client.rack`.
    pub rack_id: Option<&'a str>,
    /// Ids of the topics that it subscribes to, in any order. Members that share one slice are
    /// cheaper than members with equal ones.
    pub topic_ids: &'a [Uuid],
    /// Its target assignment until now.
    pub assignment: &'a Arc<MemberAssignment>,
}

/// The partitions of one member.
///
/// Sorted by topic id and then by partition, each once; two allocations, however many topics.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct MemberAssignment {
    /// Each topic, and where its part of `partitions` ends.
    topics: Vec<(Uuid, u32)>,
    partitions: Vec<i32>,
}

impl MemberAssignment {
    /// An assignment of these partitions, which come in any order.
    pub fn new<P>(topics: impl IntoIterator<Item = (Uuid, P)>) -> MemberAssignment
    where
        P: IntoIterator<Item = i32>,
    {
        let mut all: Vec<(Uuid, i32)> = topics
            .into_iter()
            .flat_map(|(topic, partitions)| partitions.into_iter().map(move |p| (topic, p)))
            .collect();
        all.sort_unstable();
        all.dedup();
        let mut assignment = MemberAssignment::default();
        for (topic, partition) in all {
            assignment.push(topic, partition);
        }
        assignment
    }

    /// Each topic with its partitions, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = (Uuid, &[i32])> {
        let mut begin = 0;
        self.topics.iter().map(move |&(topic, end)| {
            let partitions = &self.partitions[begin..end as usize];
            begin = end as usize;
            (topic, partitions)
        })
    }

    /// Whether a partition is among them.
    pub fn contains(&self, topic_id: Uuid, partition: i32) -> bool {
        let Ok(at) = self.topics.binary_search_by_key(&topic_id, |(topic, _)| *topic) else {
            return false;
        };
        let end_of = |at: usize| self.topics.get(at).map_or(0, |(_, end)| *end as usize);
        let begin = at.checked_sub(1).map_or(0, end_of);
        let partitions = self.partitions.get(begin..end_of(at));
        partitions.is_some_and(|partitions| partitions.binary_search(&partition).is_ok())
    }

    /// Number of partitions.
    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    /// Whether it has no partition.
    pub fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Appends a partition that comes after all there are.
    fn push(&mut self, topic: Uuid, partition: i32) {
        self.partitions.push(partition);
        let end = self.partitions.len() as u32;
        match self.topics.last_mut() {
            Some((last, last_end)) if *last == topic => *last_end = end,
            last => {
                debug_assert!(last.is_none_or(|(last, _)| *last < topic), "sorted by topic id");
                self.topics.push((topic, end));
            }
        }
    }
}

impl Debug for MemberAssignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
