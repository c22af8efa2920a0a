//! Values that all parts of a shard share: settings, requests, answers, records, members, counters.
//!
//! Invariant: nothing here holds the state of a group, and nothing decides about one.

mod classic_member;
mod config;
mod consumer_member;
mod consumer_record;
mod metrics;
mod record;
mod request;
mod reserved;

pub use classic_member::{Member, Protocol};
pub use config::{
    Assignors, BatchLimit, ClassicRebalanceMode, ConsumerGroupConfig, ConsumerMigrationPolicy,
    GroupConfig,
};
pub use consumer_member::{
    ClassicMetadata, ConsumerMember, MemberMetadata, MemberState, OwnedPartition, OwnedPartitions,
};
pub(crate) use consumer_member::{
    LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH, Offer, topic_set,
};
pub use consumer_record::ConsumerGroupRecord;
pub use metrics::{DurationHistogram, GroupCounters, GroupCounts};
pub use record::{GroupRecord, RecordError};
pub use request::{
    ConnectionId, GroupRequest, GroupResponse, RequestContext, Submission, offset_commit_error,
    offset_fetch_error, txn_offset_commit_error,
};
pub(crate) use request::{deleted_group, join_error, left_member, no_offset, sync_error};
pub(crate) use reserved::list as list_reserved;
pub use reserved::{ReservedRecord, ReservedType};
