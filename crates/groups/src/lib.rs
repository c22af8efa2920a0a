//! Group coordinator state machines: classic groups, consumer groups (KIP-848) and committed offsets.
//!
//! [`GroupShard`] is the state machine of one partition of `__consumer_offsets`, to be driven by
//! [`thalweg_coordinator::Runner`]. It takes a [`Submission`] and answers with a [`GroupResponse`]; it
//! is told of metadata and settings by [`GroupEvent`]s, and has what takes long computed elsewhere as a
//! [`GroupJob`].
//!
//! One module for each type of group, with its records beside it: `classic`, [`consumer`]; `hosted`
//! for groups of classic members that the coordinator assigns, which have the records of the latter. A
//! group's offsets are in `offsets`, whatever its type. [`assignor`] has the server-side assignors,
//! [`topic_hash`] and [`group_hash`] say when one has to be asked again, and [`TopicRegex`] is what a
//! member may subscribe with instead of names.
//!
//! Pure: no I/O, no clock, no randomness. It does not know users: which partition a group lives in is
//! [`partition_for`]; that a client may use a group, and the topics whose offsets it asks for, is
//! settled before a request comes here.

pub mod assignor;
mod classic;
mod config;
pub mod consumer;
mod hosted;
mod java_string;
mod logged;
mod metadata_hash;
mod metrics;
mod offsets;
mod partition;
mod push;
mod rebalances;
mod record;
mod request;
mod reserved;
mod shard;
mod subscription;
mod topic_regex;

pub use classic::{
    ClassicGroup, ClassicGroupState, Member, Protocol, StaticRejoin, StoredAssignment,
};
pub use config::{
    Assignors, BatchLimit, ClassicRebalanceMode, ConsumerGroupConfig, ConsumerMigrationPolicy,
    GroupConfig,
};
pub use logged::{CommittedOffset, GroupEntry, GroupOffsets, Logged};
pub use metadata_hash::{group_hash, topic_hash};
pub use metrics::{DurationHistogram, GroupCounters, GroupCounts};
pub use partition::{java_string_hash, partition_for};
pub use push::{Due, HeldHeartbeat, HoldLimits};
pub use rebalances::{RebalanceCounters, RebalanceObserver, TriggerKind, WaitStep, unowned_ms};
pub use record::{GroupRecord, RecordError};
pub use request::{
    ConnectionId, GroupRequest, GroupResponse, RequestContext, Submission, offset_commit_error,
    offset_fetch_error, txn_offset_commit_error,
};
pub use reserved::{ReservedRecord, ReservedType};
pub use shard::{GroupEvent, GroupJob, GroupJobDone, GroupShard, GroupTimer, Then};
pub use subscription::{CONSUMER_PROTOCOL_TYPE, subscribed_topics};
pub use topic_regex::{InvalidRegex, InvalidRegexKind, TopicMatcher, TopicRegex};
