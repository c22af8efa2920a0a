//! What is asked of a group coordinator's shard, and what it answers.
//!
//! Requests that concern several groups are cut by partition before they come here, and their
//! answers are put together afterwards; both is done by whoever routes them.

use std::sync::Arc;

use thalweg_coordinator::{TransactionEnd, append_error};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::consumer_group_describe_response;
use thalweg_wire::messages::delete_groups_response::DeletableGroupResult;
use thalweg_wire::messages::describe_groups_response::DescribedGroup;
use thalweg_wire::messages::leave_group_response::MemberResponse;
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use thalweg_wire::messages::offset_fetch_request::OffsetFetchRequestGroup;
use thalweg_wire::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use thalweg_wire::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatRequest,
    HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse,
    ListGroupsRequest, ListGroupsResponse, OffsetCommitRequest, OffsetCommitResponse,
    OffsetDeleteRequest, OffsetDeleteResponse, SyncGroupRequest, SyncGroupResponse,
    TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};

use crate::push::HeldHeartbeat;

/// Who asks.
#[derive(Clone, Debug, Default)]
pub struct RequestContext {
    /// Version of the API the request came in.
    pub api_version: i16,
    /// Client id of the request's header; empty if there was none.
    pub client_id: Arc<str>,
    /// The peer's address as Kafka writes it: `/127.0.0.1`.
    pub client_host: Arc<str>,
    /// Random bits, for a member id.
    pub random: u128,
    /// Of a heartbeat whose answer may be kept back while there is nothing to say.
    pub hold: Option<Arc<HeldHeartbeat>>,
    /// The connection that the request came on, if its end will be told: whoever hands the request in sends
    /// [`GroupEvent::Disconnected`](crate::GroupEvent::Disconnected) then.
    pub connection: Option<ConnectionId>,
    /// The request is a held one that is handled once more: its member has not sent it now.
    pub is_repeat: bool,
}

/// Tells a broker's connections apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// A request to one shard.
#[derive(Clone, Debug)]
pub enum GroupRequest {
    /// Enter a group, or start the next round of one.
    JoinGroup(JoinGroupRequest),
    /// Hand in or fetch the assignment.
    SyncGroup(SyncGroupRequest),
    /// Keep a member alive.
    Heartbeat(HeartbeatRequest),
    /// Take members out of a group.
    LeaveGroup(LeaveGroupRequest),
    /// Describe groups of this shard.
    DescribeGroups {
        /// Their ids.
        groups: Vec<String>,
        /// Whether their last rebalances are to be told, in the tagged field
        /// [`GROUP_REBALANCES_TAG`](thalweg_wire::GROUP_REBALANCES_TAG).
        rebalances: bool,
    },
    /// List the groups of this shard.
    ListGroups(ListGroupsRequest),
    /// Delete groups of this shard.
    DeleteGroups(Vec<String>),
    /// Commit offsets. Topics have both name and id set; what does not exist was taken out.
    OffsetCommit(OffsetCommitRequest),
    /// Commit offsets in a transaction. Its coordinator has verified it, the broker has filled in each topic's name and
    /// id, and has taken out topics and partitions that do not exist.
    TxnOffsetCommit(TxnOffsetCommitRequest),
    /// End a producer's transaction in this shard's partition.
    CompleteTransaction(TransactionEnd),
    /// Fetch a group's offsets. Topics have their names set.
    OffsetFetch {
        /// The group, and its topics or all.
        group: OffsetFetchRequestGroup,
        /// Whether to wait for offsets that are being written.
        require_stable: bool,
    },
    /// Delete committed offsets.
    OffsetDelete(OffsetDeleteRequest),
    /// Join or leave a consumer group, keep a member of it alive, reconcile it.
    ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest),
    /// Describe consumer groups of this shard.
    ConsumerGroupDescribe(Vec<String>),
}

impl GroupRequest {
    /// The group and the id of the member that sends this; `None` for requests that are no member's, or of one
    /// that has no id yet.
    pub fn member(&self) -> Option<(&str, &str)> {
        let (group, member) = match self {
            GroupRequest::JoinGroup(r) => (&r.group_id, &r.member_id),
            GroupRequest::SyncGroup(r) => (&r.group_id, &r.member_id),
            GroupRequest::Heartbeat(r) => (&r.group_id, &r.member_id),
            GroupRequest::OffsetCommit(r) => (&r.group_id, &r.member_id),
            GroupRequest::ConsumerGroupHeartbeat(r) => (&r.group_id, &r.member_id),
            _ => return None,
        };
        (!member.is_empty()).then_some((group, member))
    }
}

/// A request with its origin.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Who asks.
    pub context: RequestContext,
    /// What.
    pub request: GroupRequest,
}

/// A shard's answer, of the same name as the request's.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum GroupResponse {
    JoinGroup(JoinGroupResponse),
    SyncGroup(SyncGroupResponse),
    Heartbeat(HeartbeatResponse),
    LeaveGroup(LeaveGroupResponse),
    DescribeGroups(Vec<DescribedGroup>),
    ListGroups(ListGroupsResponse),
    DeleteGroups(Vec<DeletableGroupResult>),
    OffsetCommit(OffsetCommitResponse),
    TxnOffsetCommit(TxnOffsetCommitResponse),
    /// What the transaction's coordinator is told.
    CompleteTransaction(ErrorCode),
    OffsetFetch(OffsetFetchResponseGroup),
    OffsetDelete(OffsetDeleteResponse),
    ConsumerGroupHeartbeat(ConsumerGroupHeartbeatResponse),
    ConsumerGroupDescribe(Vec<consumer_group_describe_response::DescribedGroup>),
}

impl Submission {
    /// The answer with `error` for the whole request: no coordinator here, still loading.
    pub fn refused(&self, error: ErrorCode) -> GroupResponse {
        let code = append_error(error);
        match &self.request {
            GroupRequest::JoinGroup(_) => GroupResponse::JoinGroup(join_error("", code)),
            GroupRequest::SyncGroup(_) => GroupResponse::SyncGroup(sync_error(code)),
            GroupRequest::Heartbeat(_) => {
                // A group that is still loading may well have this member: let it live.
                let error_code = match code {
                    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => ErrorCode::NONE,
                    other => other,
                };
                GroupResponse::Heartbeat(HeartbeatResponse { error_code, ..Default::default() })
            }
            GroupRequest::LeaveGroup(_) => GroupResponse::LeaveGroup(LeaveGroupResponse {
                error_code: code,
                ..Default::default()
            }),
            GroupRequest::DescribeGroups { groups, .. } => GroupResponse::DescribeGroups(
                groups
                    .iter()
                    .map(|group_id| DescribedGroup {
                        group_id: group_id.clone(),
                        error_code: code,
                        ..Default::default()
                    })
                    .collect(),
            ),
            GroupRequest::ListGroups(_) => {
                // Listing asks every partition; those that moved away meanwhile are left out.
                let error_code = match code {
                    ErrorCode::NOT_COORDINATOR => ErrorCode::NONE,
                    other => other,
                };
                GroupResponse::ListGroups(ListGroupsResponse { error_code, ..Default::default() })
            }
            GroupRequest::DeleteGroups(groups) => GroupResponse::DeleteGroups(
                groups.iter().map(|group_id| deleted_group(group_id, code)).collect(),
            ),
            GroupRequest::OffsetCommit(r) => {
                GroupResponse::OffsetCommit(offset_commit_error(r, code))
            }
            GroupRequest::TxnOffsetCommit(r) => {
                GroupResponse::TxnOffsetCommit(txn_offset_commit_error(r, code))
            }
            // Not a client of the group asks: it is told what the log says.
            GroupRequest::CompleteTransaction(_) => GroupResponse::CompleteTransaction(error),
            GroupRequest::OffsetFetch { group, .. } => GroupResponse::OffsetFetch(
                offset_fetch_error(group, offset_fetch_code(error), self.context.api_version),
            ),
            GroupRequest::OffsetDelete(_) => GroupResponse::OffsetDelete(OffsetDeleteResponse {
                error_code: code,
                ..Default::default()
            }),
            GroupRequest::ConsumerGroupHeartbeat(_) => {
                GroupResponse::ConsumerGroupHeartbeat(ConsumerGroupHeartbeatResponse {
                    error_code: code,
                    ..Default::default()
                })
            }
            GroupRequest::ConsumerGroupDescribe(groups) => {
                let failed = |id: &String| failed_description(id.clone(), code);
                GroupResponse::ConsumerGroupDescribe(groups.iter().map(failed).collect())
            }
        }
    }
}

fn failed_description(
    group_id: String,
    error_code: ErrorCode,
) -> consumer_group_describe_response::DescribedGroup {
    consumer_group_describe_response::DescribedGroup { group_id, error_code, ..Default::default() }
}

impl GroupResponse {
    /// What a computed answer becomes when its records were not committed.
    pub(crate) fn failed(self, error: ErrorCode) -> GroupResponse {
        let code = append_error(error);
        let gone = ErrorCode::UNKNOWN_MEMBER_ID;
        match self {
            // A member that waits is told that another request removed it, whatever becomes of the
            // records of that request: live members do not come back.
            GroupResponse::JoinGroup(response) if response.error_code == gone => {
                GroupResponse::JoinGroup(response)
            }
            GroupResponse::SyncGroup(response) if response.error_code == gone => {
                GroupResponse::SyncGroup(response)
            }
            GroupResponse::JoinGroup(_) => GroupResponse::JoinGroup(join_error("", code)),
            GroupResponse::SyncGroup(_) => GroupResponse::SyncGroup(sync_error(code)),
            GroupResponse::Heartbeat(_) => GroupResponse::Heartbeat(HeartbeatResponse {
                error_code: code,
                ..Default::default()
            }),
            GroupResponse::LeaveGroup(_) => GroupResponse::LeaveGroup(LeaveGroupResponse {
                error_code: code,
                ..Default::default()
            }),
            GroupResponse::DescribeGroups(groups) => GroupResponse::DescribeGroups(
                groups
                    .into_iter()
                    .map(|group| DescribedGroup {
                        group_id: group.group_id,
                        error_code: code,
                        ..Default::default()
                    })
                    .collect(),
            ),
            GroupResponse::ListGroups(_) => GroupResponse::ListGroups(ListGroupsResponse {
                error_code: code,
                ..Default::default()
            }),
            GroupResponse::DeleteGroups(mut results) => {
                results.iter_mut().for_each(|result| result.error_code = code);
                GroupResponse::DeleteGroups(results)
            }
            GroupResponse::OffsetCommit(mut response) => {
                for topic in &mut response.topics {
                    topic.partitions.iter_mut().for_each(|p| p.error_code = code);
                }
                GroupResponse::OffsetCommit(response)
            }
            GroupResponse::TxnOffsetCommit(mut response) => {
                for topic in &mut response.topics {
                    topic.partitions.iter_mut().for_each(|p| p.error_code = code);
                }
                GroupResponse::TxnOffsetCommit(response)
            }
            GroupResponse::CompleteTransaction(_) => GroupResponse::CompleteTransaction(error),
            // Only stable fetches wait for a commit, and they have a group's error code.
            GroupResponse::OffsetFetch(group) => {
                GroupResponse::OffsetFetch(OffsetFetchResponseGroup {
                    group_id: group.group_id,
                    error_code: offset_fetch_code(error),
                    ..Default::default()
                })
            }
            GroupResponse::OffsetDelete(_) => GroupResponse::OffsetDelete(OffsetDeleteResponse {
                error_code: code,
                ..Default::default()
            }),
            GroupResponse::ConsumerGroupHeartbeat(_) => {
                GroupResponse::ConsumerGroupHeartbeat(ConsumerGroupHeartbeatResponse {
                    error_code: code,
                    ..Default::default()
                })
            }
            GroupResponse::ConsumerGroupDescribe(groups) => GroupResponse::ConsumerGroupDescribe(
                groups.into_iter().map(|group| failed_description(group.group_id, code)).collect(),
            ),
        }
    }

    /// The answer as a client of `version` gets it. To be called right before it is encoded.
    pub fn for_version(self, version: i16) -> GroupResponse {
        match self {
            GroupResponse::JoinGroup(mut r) => {
                // No protocol is an empty name below version 7 and null from there on.
                r.protocol_name = match r.protocol_name {
                    None if version < 7 => Some(String::new()),
                    Some(name) if version >= 7 && name.is_empty() => None,
                    other => other,
                };
                GroupResponse::JoinGroup(r)
            }
            GroupResponse::LeaveGroup(r) if version < 3 => {
                // One member per request: its error is the request's.
                let member = r.members.first().map_or(ErrorCode::NONE, |m| m.error_code);
                let error_code =
                    if r.error_code == ErrorCode::NONE { member } else { r.error_code };
                GroupResponse::LeaveGroup(LeaveGroupResponse { error_code, ..Default::default() })
            }
            GroupResponse::TxnOffsetCommit(mut r) if version < 2 => {
                // Producers of before Kafka 2.0 fall over the other one (KAFKA-7296).
                let partitions = r.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
                for partition in partitions {
                    if partition.error_code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
                        partition.error_code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
                    }
                }
                GroupResponse::TxnOffsetCommit(r)
            }
            other => other,
        }
    }
}

pub(crate) fn join_error(member_id: &str, error_code: ErrorCode) -> JoinGroupResponse {
    JoinGroupResponse { member_id: member_id.to_owned(), error_code, ..Default::default() }
}

pub(crate) fn sync_error(error_code: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse { error_code, ..Default::default() }
}

pub(crate) fn deleted_group(group_id: &str, error_code: ErrorCode) -> DeletableGroupResult {
    DeletableGroupResult { group_id: group_id.to_owned(), error_code, ..Default::default() }
}

pub(crate) fn left_member(
    member_id: &str,
    group_instance_id: Option<&str>,
    error_code: ErrorCode,
) -> MemberResponse {
    MemberResponse {
        member_id: member_id.to_owned(),
        group_instance_id: group_instance_id.map(str::to_owned),
        error_code,
        ..Default::default()
    }
}

/// Answers to requests for commits. OffsetCommit and TxnOffsetCommit have the same parts, each as types of its own.
macro_rules! commit_answers {
    (
        $(#[$each_doc:meta])* $each:ident, $(#[$all_doc:meta])* $all:ident, $Request:ident,
        $Asked:ty, $AskedPartition:ty => $Response:ident, $Topic:ident, $Partition:ident
    ) => {
        $(#[$each_doc])*
        pub(crate) fn $each(
            request: &$Request,
            mut error_of: impl FnMut(&$Asked, &$AskedPartition) -> ErrorCode,
        ) -> $Response {
            let topics = request.topics.iter().map(|topic| $Topic {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                partitions: topic
                    .partitions
                    .iter()
                    .map(|partition| $Partition {
                        partition_index: partition.partition_index,
                        error_code: error_of(topic, partition),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            });
            $Response { topics: topics.collect(), ..Default::default() }
        }

        $(#[$all_doc])*
        pub fn $all(request: &$Request, error: ErrorCode) -> $Response {
            $each(request, |_, _| error)
        }
    };
}

commit_answers!(
    /// Every partition of an OffsetCommit request with its own error.
    offset_commit_answer,
    /// Every partition of an OffsetCommit request with one error.
    offset_commit_error,
    OffsetCommitRequest, OffsetCommitRequestTopic, OffsetCommitRequestPartition =>
    OffsetCommitResponse, OffsetCommitResponseTopic, OffsetCommitResponsePartition
);
commit_answers!(
    /// Every partition of a TxnOffsetCommit request with its own error.
    txn_offset_commit_answer,
    /// Every partition of a TxnOffsetCommit request with one error.
    txn_offset_commit_error,
    TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic, TxnOffsetCommitRequestPartition =>
    TxnOffsetCommitResponse, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition
);

/// A group of an OffsetFetch request with one error. Below version 2 there is no place for it but
/// the partitions.
pub fn offset_fetch_error(
    group: &OffsetFetchRequestGroup,
    error: ErrorCode,
    version: i16,
) -> OffsetFetchResponseGroup {
    let mut response =
        OffsetFetchResponseGroup { group_id: group.group_id.clone(), ..Default::default() };
    if version >= 2 {
        response.error_code = error;
        return response;
    }
    for topic in group.topics.iter().flatten() {
        let partitions =
            topic.partition_indexes.iter().map(|&index| no_offset(index, error)).collect();
        response.topics.push(OffsetFetchResponseTopics {
            name: topic.name.clone(),
            partitions,
            ..Default::default()
        });
    }
    response
}

/// A partition without a committed offset.
pub(crate) fn no_offset(
    partition_index: i32,
    error_code: ErrorCode,
) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(String::new()),
        error_code,
        ..Default::default()
    }
}

/// Old consumers give up on COORDINATOR_NOT_AVAILABLE and REQUEST_TIMED_OUT in OffsetFetch, so what
/// maps to the one elsewhere is NOT_COORDINATOR here.
fn offset_fetch_code(error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        | ErrorCode::NOT_ENOUGH_REPLICAS
        | ErrorCode::REQUEST_TIMED_OUT => ErrorCode::NOT_COORDINATOR,
        other => append_error(other),
    }
}
