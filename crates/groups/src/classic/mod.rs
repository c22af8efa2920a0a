//! Classic groups: membership that the clients' own leader assigns (consumers before KIP-848, Kafka
//! Connect, Schema Registry and others).
//!
//! A round goes JoinGroup (all members, parked) -> generation -> SyncGroup (all members, parked until
//! the leader's assignment is written) -> Stable. Only what the last round wrote survives a restart;
//! everything before that is live state (see [`Shard`](thalweg_coordinator::Shard)).

mod convert;
mod describe;
mod group;
mod join;
mod protocol;
mod rebalance;
mod rejoin;
mod session;
mod state;
mod sync;
mod why;

pub use group::ClassicGroup;
pub use state::ClassicGroupState;

pub(crate) use convert::JoinedMember;
pub(crate) use describe::{CLASSIC, ListFilter};
pub(crate) use group::Env;
pub(crate) use join::{FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP, Join, new_member_id};
