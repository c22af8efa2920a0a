//! Group coordinator state machines: classic groups, consumer groups (KIP-848) and committed offsets.
//!
//! [`GroupShard`] is the state machine of one partition of `__consumer_offsets`, to be driven by
//! [`thalweg_coordinator::Runner`]. It takes a [`Submission`] and answers with a [`GroupResponse`]; it
//! is told of metadata and settings by [`GroupEvent`]s, and has what takes long computed elsewhere as a
//! [`GroupJob`].
//!
//! The rooms, each of which knows those before it:
//! - `formats`: bytes, hashes and votes that must be Kafka's ([`topic_hash`], [`group_hash`], [`TopicRegex`]);
//! - [`assignor`]: the server-side assignors;
//! - `push`: heartbeats that are held; `jobs`: computations outside the lock;
//! - `model`: settings, requests, records, members, and the outcome of a handler;
//! - [`consumer`], `logged`, `rebalances`, `classic`, `offsets`: the state of groups;
//! - `step`: the handlers of consumer groups;
//! - `hosted`: groups of classic members that the coordinator assigns;
//! - `shard`: routes requests, timers and records to the kind of the group.
//!
//! Pure: no I/O, no clock, no randomness. It does not know users: which partition a group lives in is
//! [`partition_for`]; that a client may use a group, and the topics whose offsets it asks for, is
//! settled before a request comes here. So are requests that are wrong by themselves
//! ([`Submission::precheck`]): the owner of the shards refuses them with its newest settings.

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

pub use classic::{ClassicGroup, ClassicGroupState};
pub use formats::{
    CONSUMER_PROTOCOL_TYPE, InvalidRegex, InvalidRegexKind, TopicMatcher, TopicRegex, group_hash,
    java_string_hash, partition_for, subscribed_topics, topic_hash,
};
pub use jobs::{GroupJob, GroupJobDone};
pub use logged::{CommittedOffset, GroupEntry, GroupOffsets, Logged};
pub use model::{
    Assignors, BatchLimit, ClassicRebalanceMode, ConnectionId, ConsumerGroupConfig,
    ConsumerMigrationPolicy, DurationHistogram, GroupConfig, GroupCounters, GroupCounts,
    GroupEvent, GroupRecord, GroupRequest, GroupResponse, GroupTimer, Member, Protocol,
    RebalanceCounters, RecordError, RequestContext, ReservedRecord, ReservedType, StaticRejoin,
    StoredAssignment, Submission, Then, TriggerKind, offset_commit_error, offset_fetch_error,
    txn_offset_commit_error,
};
pub use push::{Due, HeldHeartbeat, HoldLimits};
pub use rebalances::{RebalanceObserver, WaitStep, unowned_ms};
pub use shard::GroupShard;
