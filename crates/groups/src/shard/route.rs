//! The route of each request: the kind of its group says which state machine answers it.
//!
//! Invariant: a match on [`GroupKind`] names every kind. A group of a type that this release does not run
//! refuses each request that would change it, as Kafka refuses members of other types.

use thalweg_coordinator::{AppendKind, Now, Reply, Token};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    OffsetDeleteRequest, SyncGroupRequest,
};

use super::{GroupShard, Out};
use crate::logged::GroupKind;
use crate::model::{
    GroupRequest, GroupResponse, Submission, heartbeat_error, not_a_consumer_group,
};

impl GroupShard {
    /// Answers a request.
    pub(super) fn answer(
        &mut self,
        token: Token,
        submission: &Submission,
        now: Now,
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        self.note_connection(submission, now, out);
        let context = &submission.context;
        let response = match &submission.request {
            GroupRequest::JoinGroup(request) => {
                return self.route_join(token, submission, request, now, out);
            }
            GroupRequest::SyncGroup(request) => {
                return self.route_sync(token, submission, request, now, out);
            }
            GroupRequest::Heartbeat(request) => {
                return self.route_heartbeat(submission, request, now, out);
            }
            GroupRequest::OffsetFetch { group, require_stable } => {
                return self.fetch_offsets(group, *require_stable, context.api_version);
            }
            GroupRequest::DescribeGroups { groups, rebalances } => {
                return Reply::Now(self.describe(context, groups, *rebalances));
            }
            GroupRequest::ConsumerGroupDescribe(ids) => {
                return Reply::Now(self.describe_consumer_groups(ids));
            }
            GroupRequest::ListGroups(request) => return Reply::Now(self.list(request)),
            GroupRequest::LeaveGroup(request) => self.route_leave(submission, request, now, out),
            GroupRequest::DeleteGroups(ids) => self.delete_groups(ids, now, out),
            GroupRequest::OffsetCommit(request) => {
                self.route_commit(submission, &request.group_id, |shard, kind| {
                    shard.commit_offsets(kind, context, request, now, out)
                })
            }
            GroupRequest::TxnOffsetCommit(request) => {
                self.route_commit(submission, &request.group_id, |shard, kind| {
                    shard.commit_transactional_offsets(kind, context, request, now, out)
                })
            }
            GroupRequest::OffsetDelete(request) => {
                self.route_offset_delete(submission, request, out)
            }
            GroupRequest::ConsumerGroupHeartbeat(request) => {
                self.route_consumer_heartbeat(submission, request, now, out)
            }
            GroupRequest::CompleteTransaction(end) => {
                out.kind = AppendKind::Marker(*end);
                GroupResponse::CompleteTransaction(ErrorCode::NONE)
            }
        };
        Reply::AfterCommit(response)
    }

    /// A consumer group with members takes the member in. Every other name may become a classic group.
    fn route_join(
        &mut self,
        token: Token,
        submission: &Submission,
        request: &JoinGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        let context = &submission.context;
        match self.kind(&request.group_id) {
            GroupKind::Reserved(_) => {
                Reply::AfterCommit(submission.refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL))
            }
            GroupKind::Consumer | GroupKind::Hosted => {
                self.join_consumer_group(token, context, request, now, out)
            }
            GroupKind::Absent | GroupKind::Classic | GroupKind::EmptyConsumer => {
                if let Some(reply) = self.host_joining(token, context, request, now, out) {
                    return reply;
                }
                self.join(token, context, request, now, out);
                Reply::Deferred
            }
        }
    }

    fn route_sync(
        &mut self,
        token: Token,
        submission: &Submission,
        request: &SyncGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        match self.kind(&request.group_id) {
            GroupKind::Reserved(_) => {
                Reply::AfterCommit(submission.refused(ErrorCode::UNKNOWN_MEMBER_ID))
            }
            GroupKind::EmptyConsumer | GroupKind::Consumer | GroupKind::Hosted => {
                self.sync_consumer_group(&submission.context, request, now, out)
            }
            GroupKind::Absent | GroupKind::Classic => {
                self.sync(token, request, now, out);
                Reply::Deferred
            }
        }
    }

    fn route_heartbeat(
        &mut self,
        submission: &Submission,
        request: &HeartbeatRequest,
        now: Now,
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        let response = match self.kind(&request.group_id) {
            GroupKind::Reserved(_) => {
                return Reply::AfterCommit(submission.refused(ErrorCode::UNKNOWN_MEMBER_ID));
            }
            GroupKind::EmptyConsumer | GroupKind::Consumer | GroupKind::Hosted => {
                self.heartbeat_consumer_group(request, now, out)
            }
            GroupKind::Absent | GroupKind::Classic => {
                if let Some(reply) = self.host_stable(request, now, out) {
                    return reply;
                }
                self.heartbeat(request, now, out)
            }
        };
        self.hold_classic(&submission.context, request, &response, out);
        Reply::AfterCommit(response)
    }

    fn route_leave(
        &mut self,
        submission: &Submission,
        request: &LeaveGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        match self.kind(&request.group_id) {
            GroupKind::Reserved(_) => submission.refused(ErrorCode::UNKNOWN_MEMBER_ID),
            GroupKind::EmptyConsumer | GroupKind::Consumer | GroupKind::Hosted => {
                self.leave_consumer_group(&submission.context, request, now, out)
            }
            GroupKind::Absent | GroupKind::Classic => {
                self.leave(&submission.context, request, now, out)
            }
        }
    }

    /// Commits offsets with `commit`, in a transaction or without one.
    fn route_commit(
        &mut self,
        submission: &Submission,
        group_id: &str,
        commit: impl FnOnce(&mut GroupShard, GroupKind) -> GroupResponse,
    ) -> GroupResponse {
        match self.kind(group_id) {
            GroupKind::Reserved(_) => submission.refused(ErrorCode::GROUP_ID_NOT_FOUND),
            kind @ (GroupKind::Absent
            | GroupKind::Classic
            | GroupKind::EmptyConsumer
            | GroupKind::Consumer
            | GroupKind::Hosted) => commit(self, kind),
        }
    }

    fn route_offset_delete(
        &mut self,
        submission: &Submission,
        request: &OffsetDeleteRequest,
        out: &mut Out,
    ) -> GroupResponse {
        match self.kind(&request.group_id) {
            GroupKind::Absent | GroupKind::Reserved(_) => {
                submission.refused(ErrorCode::GROUP_ID_NOT_FOUND)
            }
            GroupKind::Classic => self.delete_offsets_of_classic(request, out),
            GroupKind::EmptyConsumer | GroupKind::Consumer | GroupKind::Hosted => {
                self.delete_offsets_of_consumer(request, out)
            }
        }
    }

    fn route_consumer_heartbeat(
        &mut self,
        submission: &Submission,
        request: &ConsumerGroupHeartbeatRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        match self.kind(&request.group_id) {
            GroupKind::Reserved(_) => GroupResponse::ConsumerGroupHeartbeat(heartbeat_error(
                not_a_consumer_group(&request.group_id),
            )),
            // A member may found the group, or change the type of it.
            GroupKind::Absent
            | GroupKind::Classic
            | GroupKind::EmptyConsumer
            | GroupKind::Consumer
            | GroupKind::Hosted => self.consumer_heartbeat(&submission.context, request, now, out),
        }
    }
}
