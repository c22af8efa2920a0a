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
pub mod consumer;
mod formats;
mod hosted;
mod jobs;
mod logged;
mod model;
mod offsets;
mod push;
mod rebalances;
mod shard;
mod step;

pub use classic::{ClassicGroup, ClassicGroupState, StaticRejoin, StoredAssignment};
pub use formats::{
    CONSUMER_PROTOCOL_TYPE, InvalidRegex, InvalidRegexKind, TopicMatcher, TopicRegex, group_hash,
    java_string_hash, partition_for, subscribed_topics, topic_hash,
};
pub use logged::{CommittedOffset, GroupEntry, GroupOffsets, Logged};
pub use model::{
    Assignors, BatchLimit, ClassicRebalanceMode, ConnectionId, ConsumerGroupConfig,
    ConsumerMigrationPolicy, DurationHistogram, GroupConfig, GroupCounters, GroupCounts,
    GroupRecord, GroupRequest, GroupResponse, Member, Protocol, RecordError, RequestContext,
    ReservedRecord, ReservedType, Submission, offset_commit_error, offset_fetch_error,
    txn_offset_commit_error,
};
pub use push::{Due, HeldHeartbeat, HoldLimits};
pub use rebalances::{RebalanceCounters, RebalanceObserver, TriggerKind, WaitStep, unowned_ms};
pub use shard::{GroupEvent, GroupJob, GroupJobDone, GroupShard, GroupTimer, Then};
