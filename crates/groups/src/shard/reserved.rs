//! Requests for groups of types that this release does not run.

use thalweg_wire::ErrorCode;

use super::GroupShard;
use crate::step::{heartbeat_error, not_a_consumer_group};
use crate::logged::GroupEntry;
use crate::model::ReservedType;
use crate::{GroupRequest, GroupResponse, Submission};

impl GroupShard {
    pub(super) fn is_reserved(&self, group: &str) -> bool {
        matches!(self.logged.group(group), Some(GroupEntry::Reserved(_)))
    }

    pub(super) fn committed_reserved(&self, group: &str) -> Option<ReservedType> {
        match self.logged.committed_group(group) {
            Some(GroupEntry::Reserved(group_type)) => Some(*group_type),
            _ => None,
        }
    }

    /// The answer to a request that would change such a group, as Kafka refuses members of other types.
    /// Requests that only look, or that concern several groups, go their way.
    pub(super) fn refuse_reserved(&self, submission: &Submission) -> Option<GroupResponse> {
        let (group, error) = match &submission.request {
            GroupRequest::JoinGroup(r) => (&r.group_id, ErrorCode::INCONSISTENT_GROUP_PROTOCOL),
            GroupRequest::SyncGroup(r) => (&r.group_id, ErrorCode::UNKNOWN_MEMBER_ID),
            GroupRequest::Heartbeat(r) => (&r.group_id, ErrorCode::UNKNOWN_MEMBER_ID),
            GroupRequest::LeaveGroup(r) => (&r.group_id, ErrorCode::UNKNOWN_MEMBER_ID),
            GroupRequest::OffsetCommit(r) => (&r.group_id, ErrorCode::GROUP_ID_NOT_FOUND),
            GroupRequest::TxnOffsetCommit(r) => (&r.group_id, ErrorCode::GROUP_ID_NOT_FOUND),
            GroupRequest::OffsetDelete(r) => (&r.group_id, ErrorCode::GROUP_ID_NOT_FOUND),
            GroupRequest::ConsumerGroupHeartbeat(r) => (&r.group_id, ErrorCode::GROUP_ID_NOT_FOUND),
            GroupRequest::DescribeGroups { .. }
            | GroupRequest::ListGroups(_)
            | GroupRequest::DeleteGroups(_)
            | GroupRequest::OffsetFetch { .. }
            | GroupRequest::CompleteTransaction(_)
            | GroupRequest::ConsumerGroupDescribe(_) => return None,
        };
        if !self.is_reserved(group) {
            return None;
        }
        Some(match &submission.request {
            GroupRequest::ConsumerGroupHeartbeat(_) => {
                GroupResponse::ConsumerGroupHeartbeat(heartbeat_error(not_a_consumer_group(group)))
            }
            _ => submission.refused(error),
        })
    }
}
