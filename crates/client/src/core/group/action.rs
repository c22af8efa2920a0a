//! What a member wants done, what it asks of the coordinator, and what comes back.

use std::sync::Arc;

use thalweg_wire::Uuid;
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatRequest,
    HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse,
    SyncGroupRequest, SyncGroupResponse,
};

use super::status::GroupError;
use crate::core::partition::TopicPartition;

/// Tells requests of one member apart.
pub type RequestId = u64;

/// What the driver has to do next.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Look up the group's coordinator. To be answered with
    /// [`on_coordinator`](super::Member::on_coordinator) or
    /// [`on_coordinator_error`](super::Member::on_coordinator_error).
    FindCoordinator,
    /// Send a request to the coordinator. To be answered with
    /// [`on_response`](super::Member::on_response), once.
    Request {
        /// To be given back with the answer.
        id: RequestId,
        /// The coordinator's broker id.
        coordinator: i32,
        /// What to send.
        request: Box<GroupRequest>,
        /// How long to wait for the answer; after that it is a
        /// [`RequestFailure::Connection`].
        timeout_ms: u64,
    },
    /// Send any request on the connection that the last one was sent on, if it is open. A coordinator that
    /// keeps the answer to a heartbeat back gives it then; there is something to say in the next one.
    EndHeldHeartbeat,
    /// Fetch metadata that covers these topics, and hand it to
    /// [`update_metadata`](super::Member::update_metadata).
    RefreshMetadata {
        /// By name.
        topics: Vec<Arc<str>>,
        /// By id.
        ids: Vec<Uuid>,
    },
    /// Partitions are to be given up. Nothing of them may be delivered from now on; commit what was
    /// acknowledged, then call [`revoked`](super::Member::revoked).
    Revoke {
        /// Which.
        partitions: Vec<TopicPartition>,
        /// When the group will not wait any longer; they are [`Action::Lost`] then.
        deadline_ms: u64,
    },
    /// A rebalance has come to its end for this member.
    Assign {
        /// Partitions it did not have before.
        added: Vec<TopicPartition>,
        /// All that it has now, without those that are being revoked.
        all: Vec<TopicPartition>,
    },
    /// Partitions that others may have already: nothing of them may be delivered or committed. Ends
    /// a revocation of them.
    Lost {
        /// Which; also those that are being revoked.
        partitions: Vec<TopicPartition>,
    },
    /// Something went wrong that the member survives and tries again.
    Warn(GroupError),
    /// The member is out of the group for good. What it had came before as [`Action::Lost`].
    Fatal(GroupError),
}

/// A request to a coordinator. LeaveGroup is in the form of version 3 and later.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum GroupRequest {
    Join(JoinGroupRequest),
    Sync(SyncGroupRequest),
    Heartbeat(HeartbeatRequest),
    Leave(LeaveGroupRequest),
    ConsumerHeartbeat(ConsumerGroupHeartbeatRequest),
}

/// The answer, of the same name as the request.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum GroupResponse {
    Join(JoinGroupResponse),
    Sync(SyncGroupResponse),
    Heartbeat(HeartbeatResponse),
    Leave(LeaveGroupResponse),
    ConsumerHeartbeat(ConsumerGroupHeartbeatResponse),
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestFailure {
    /// The connection failed, or the answer took too long. The coordinator is looked up again.
    Connection,
    /// The coordinator does not speak the API in a version that can carry the request.
    Unsupported(String),
}

/// Who a commit comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberIdentity {
    /// `member_id`
    pub member_id: String,
    /// `generation_id_or_member_epoch`
    pub generation_or_epoch: i32,
    /// `group_instance_id`
    pub instance_id: Option<String>,
}
