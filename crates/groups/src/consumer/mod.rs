//! Consumer groups (KIP-848): membership and assignment that the coordinator runs.
//!
//! A member says in its heartbeats what it subscribes to and what it owns. Whatever changes who is to
//! own what raises the group's *epoch*; a *target assignment* is computed for that epoch; each member
//! is reconciled with its part of it, in its own heartbeats and at its own pace. A partition
//! waits for its owner, not for the group.
//!
//! Everything but timers, the moment of the next look at the metadata and what is being computed is
//! in the log, as Kafka 4.4 writes it. Members of the classic protocol may be in such a group beside
//! others, and a group changes its type with its members.
//!
//! This is the state: the group as its records say, what is known beside the log, and rules that are pure
//! functions of both. Not here: requests. `step` has their handlers.

mod commit;
mod describe;
mod group;
mod hashes;
mod hosting;
mod live;
mod logged;
mod reconcile;

pub(crate) use commit::{CommitCheck, check_fetch};
pub(crate) use describe::{describe_unknown, list};
pub use group::{ConsumerGroup, ConsumerGroupState, Epochs, Subscribers};
pub(crate) use group::{INITIAL_EPOCH, NO_ASSIGNMENT_EPOCH};
pub(crate) use hashes::TopicHashes;
pub(crate) use hosting::{
    assignor_of, committed_vote, is_built_in, is_hostable, is_hosted, is_server_mode, leaves_out,
    stored_assignor,
};
pub(crate) use live::{Live, LiveGroups, RETRY_MS};
pub(crate) use logged::{CommittedGroup, ConsumerGroups, Reverted};
pub(crate) use reconcile::Reconciliation;

pub use crate::jobs::{RegexJob, RegexesResolved, ResolvedRegex, TargetComputed, TargetJob};
pub use crate::model::{
    ClassicJoin, ClassicMetadata, ConsumerGroupRecord, ConsumerMember, MemberMetadata, MemberState,
    OwnedPartition, OwnedPartitions,
};
