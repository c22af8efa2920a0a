//! Values that all parts of a shard share: settings, requests, answers, records, members, counters.
//!
//! Invariant: nothing here holds the state of a group, and nothing decides about one. The exception is the
//! check of requests that are wrong by themselves (`precheck`), which reads no group.

mod classic_member;
mod config;
mod consumer_member;
mod consumer_record;
mod encoding;
mod event;
mod histogram;
mod metrics;
mod outcome;
mod precheck;
mod rebalance;
mod record;
mod refused;
mod request;
mod reserved;
mod then;
mod timer;

pub use classic_member::{Member, Protocol};
pub use config::{
    Assignors, BatchLimit, ClassicRebalanceMode, ConsumerGroupConfig, ConsumerMigrationPolicy,
    GroupConfig,
};
pub use consumer_member::{
    ClassicMetadata, ConsumerMember, MemberMetadata, MemberState, OwnedPartition, OwnedPartitions,
};
pub(crate) use consumer_member::{LEAVE_GROUP_STATIC_MEMBER_EPOCH, topic_set};
pub use consumer_record::ConsumerGroupRecord;
pub use event::GroupEvent;
pub use histogram::DurationHistogram;
pub use metrics::{GroupCounters, GroupCounts};
pub(crate) use outcome::GroupOutcome;
pub use rebalance::{RebalanceCounters, TriggerKind};
pub use record::{GroupRecord, RecordError};
pub(crate) use refused::{Refused, heartbeat_error, not_a_consumer_group};
pub use request::{
    ConnectionId, GroupRequest, GroupResponse, RequestContext, Submission, offset_commit_error,
    offset_fetch_error, txn_offset_commit_error,
};
pub(crate) use request::{
    deleted_group, join_error, left_member, no_offset, offset_commit_answer, sync_error,
    txn_offset_commit_answer,
};
pub(crate) use reserved::list as list_reserved;
pub use reserved::{ReservedRecord, ReservedType};
pub use then::{ClassicJoin, StaticRejoin, StoredAssignment, Then};
pub use timer::GroupTimer;
