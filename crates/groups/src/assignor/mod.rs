//! The server-side assignors of KIP-848 groups: pure functions from who is in a group and which
//! topics there are to who gets what.
//!
//! Invariants, whatever a group looks like:
//! - Every partition of a topic that somebody subscribes to goes to one member that does.
//! - The same group gives the same assignment, in whatever order its members come.
//! - A member whose assignment does not change gets back the [`Arc`](std::sync::Arc) it came with.
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

mod assignment;
mod flow;
mod plan;
mod racks;
mod range;
mod range_racks;
mod spec;
mod sticky_range;
mod subscriptions;
mod uniform;

pub use assignment::MemberAssignment;
pub use racks::PartitionRacks;
pub use range::RangeAssignor;
pub use spec::{Assignor, GroupSpec, MemberSpec, SubscriptionType};
pub use sticky_range::StickyRangeAssignor;
pub use uniform::{StickyAssignor, UniformAssignor};

/// All of them; the first is the default, as in Kafka.
pub const ASSIGNORS: [&dyn Assignor; 2] = [&UniformAssignor, &RangeAssignor];

/// The assignor called `name`.
pub fn assignor(name: &str) -> Option<&'static dyn Assignor> {
    ASSIGNORS.into_iter().find(|assignor| assignor.name() == name)
}
