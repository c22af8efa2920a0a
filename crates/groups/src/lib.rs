//! Group coordinator state machines: classic groups and committed offsets.
//!
//! [`GroupShard`] is the state machine of one partition of `__consumer_offsets`, to be driven by
//! [`thalweg_coordinator::Runner`]. It takes a [`Submission`] and answers with a [`GroupResponse`].
//!
//! [`assignor`] has the server-side assignors of KIP-848, and [`topic_hash`] and [`group_hash`] say
//! when one has to be asked again. [`TopicRegex`] is what a group may subscribe with instead of names.
//! No group uses them yet.
//!
//! Pure: no I/O, no clock, no randomness. It does not know topics, brokers or users: which partition
//! a group lives in is [`partition_for`]; that topics exist, that a client may use them, and what
//! their ids are is settled before a request comes here.

pub mod assignor;
mod classic;
mod config;
mod java_string;
mod logged;
mod metadata_hash;
mod metrics;
mod offsets;
mod partition;
mod record;
mod request;
mod shard;
mod subscription;
mod topic_regex;

pub use classic::{
    ClassicGroup, ClassicGroupState, Member, Protocol, StaticRejoin, StoredAssignment,
};
pub use config::GroupConfig;
pub use logged::{CommittedOffset, GroupEntry, GroupOffsets, Logged};
pub use metadata_hash::{group_hash, topic_hash};
pub use metrics::{GroupCounters, GroupCounts};
pub use partition::{java_string_hash, partition_for};
pub use record::{GroupRecord, RecordError};
pub use request::{
    GroupRequest, GroupResponse, RequestContext, Submission, offset_commit_error,
    offset_fetch_error,
};
pub use shard::{GroupShard, GroupTimer, Then};
pub use subscription::{CONSUMER_PROTOCOL_TYPE, subscribed_topics};
pub use topic_regex::{InvalidRegex, InvalidRegexKind, TopicMatcher, TopicRegex};
