//! A group, as an assignor reads it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use thalweg_wire::Uuid;

use super::assignment::MemberAssignment;
use super::racks::PartitionRacks;

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
    /// The partitions of each member before it came to this group, for
    /// [`StickyAssignor`](super::StickyAssignor). Of the partitions that move anyway it gets those first. The
    /// racks come after.
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
