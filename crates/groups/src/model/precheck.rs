//! Requests that are wrong by themselves, whatever broker coordinates the group.
//!
//! Invariant: a check reads the request and the settings, and no group.
//!
//! As in Kafka the check belongs to the service in front of the shards, which has the newest settings. A
//! shard does not repeat it: its settings may be older, and one request has one verdict.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::ConsumerGroupHeartbeatRequest;

use super::config::GroupConfig;
use super::consumer_member::{LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH};
use super::refused::{Refused, heartbeat_error};
use super::request::{GroupRequest, GroupResponse, Submission, join_error};

/// First version in which members choose their ids.
const FIRST_VERSION_WITH_MEMBER_ID: i16 = 1;

impl Submission {
    /// The answer to requests that are wrong by themselves; `None` for others. The owner of the shards asks
    /// once for each request, with its newest settings, before it looks up the coordinator. Shards do not ask.
    pub fn precheck(&self, config: &GroupConfig) -> Option<GroupResponse> {
        if let GroupRequest::ConsumerGroupHeartbeat(request) = &self.request {
            let refused = precheck_heartbeat(request, self.context.api_version, config).err()?;
            return Some(GroupResponse::ConsumerGroupHeartbeat(heartbeat_error(refused)));
        }
        let nameless = match &self.request {
            GroupRequest::JoinGroup(r) => r.group_id.is_empty(),
            GroupRequest::SyncGroup(r) => {
                // Mandatory from version 5 on.
                if self.context.api_version >= 5
                    && (r.protocol_type.is_none() || r.protocol_name.is_none())
                {
                    return Some(self.refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
                }
                r.group_id.is_empty()
            }
            GroupRequest::Heartbeat(r) => r.group_id.is_empty(),
            GroupRequest::LeaveGroup(r) => r.group_id.is_empty(),
            GroupRequest::OffsetDelete(r) => r.group_id.is_empty(),
            GroupRequest::TxnOffsetCommit(r) => r.group_id.is_empty(),
            // The others take the empty group id, as ever.
            _ => false,
        };
        let error = match &self.request {
            _ if nameless => ErrorCode::INVALID_GROUP_ID,
            GroupRequest::JoinGroup(r)
                if !(config.min_session_timeout_ms..=config.max_session_timeout_ms)
                    .contains(&r.session_timeout_ms) =>
            {
                ErrorCode::INVALID_SESSION_TIMEOUT
            }
            _ => return None,
        };
        if let GroupRequest::JoinGroup(r) = &self.request {
            return Some(GroupResponse::JoinGroup(join_error(&r.member_id, error)));
        }
        Some(self.refused(error))
    }
}

/// Refuses heartbeats that are wrong by themselves.
fn precheck_heartbeat(
    request: &ConsumerGroupHeartbeatRequest,
    api_version: i16,
    config: &GroupConfig,
) -> Result<(), Refused> {
    let invalid = |message: &str| Err(Refused::new(ErrorCode::INVALID_REQUEST, message));
    let is_blank = |text: &str| text.chars().all(|c| c <= ' ');
    let epoch = request.member_epoch;
    if (api_version >= FIRST_VERSION_WITH_MEMBER_ID
        || epoch > 0
        || epoch == LEAVE_GROUP_MEMBER_EPOCH)
        && is_blank(&request.member_id)
    {
        return invalid("MemberId can't be empty.");
    }
    if is_blank(&request.group_id) {
        return invalid("GroupId can't be empty.");
    }
    if request.instance_id.as_deref().is_some_and(is_blank) {
        return invalid("InstanceId can't be empty.");
    }
    if request.rack_id.as_deref().is_some_and(is_blank) {
        return invalid("RackId can't be empty.");
    }
    if epoch == 0 {
        if request.rebalance_timeout_ms == -1 {
            return invalid("RebalanceTimeoutMs must be provided in first request.");
        }
        if request.topic_partitions.as_ref().is_none_or(|owned| !owned.is_empty()) {
            return invalid("TopicPartitions must be empty when (re-)joining.");
        }
        if request.subscribed_topic_names.is_none() && request.subscribed_topic_regex.is_none() {
            return invalid(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when \
                 (re-)joining.",
            );
        }
    } else if epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH && request.instance_id.is_none() {
        return invalid("InstanceId can't be null.");
    } else if epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH {
        return invalid("MemberEpoch is invalid.");
    }
    let assignors = &config.consumer_assignors.0;
    if let Some(name) = &request.server_assignor
        && !assignors.iter().any(|assignor| assignor.name() == name)
    {
        let supported: Vec<&str> = assignors.iter().map(|assignor| assignor.name()).collect();
        let message = format!(
            "ServerAssignor {name} is not supported. Supported assignors: {}.",
            supported.join(", ")
        );
        return Err(Refused::new(ErrorCode::UNSUPPORTED_ASSIGNOR, message));
    }
    Ok(())
}
