//! What a classic member sends, and when.

use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::leave_group_request::MemberIdentity as LeavingMember;
use thalweg_wire::messages::{
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest,
};

use super::{ClassicMember, State};
use crate::core::group::action::{Action, GroupRequest, RequestId};
use crate::core::group::assignor::Assignor;
use crate::core::group::protocol::{MemberSubscription, PROTOCOL_TYPE, ProtocolError};
use crate::core::group::revocation::listed;
use crate::core::group::status::GroupError;

/// Added to the time the coordinator may hold a request back before it is given up.
const HELD_BACK_LAPSE_MS: u64 = 5_000;

impl ClassicMember {
    /// The request that is due.
    pub(super) fn request(&mut self, now_ms: u64) -> Option<Action> {
        if !self.requests.is_ready(now_ms) {
            return None;
        }
        if self.is_about_to_join() {
            return self.join();
        }
        if matches!(self.state, State::Syncing { request: None, .. }) {
            return self.sync();
        }
        let due = self.heartbeats()
            && self.heartbeat.in_flight.is_none()
            && now_ms >= self.heartbeat.due_ms;
        if due { self.send_heartbeat(now_ms) } else { None }
    }

    fn join(&mut self) -> Option<Action> {
        let protocols = match self.offers() {
            Ok(protocols) => protocols,
            Err(error) => {
                self.fail(GroupError::Unwritable(error));
                return self.events.pop_front();
            }
        };
        let request = JoinGroupRequest {
            group_id: self.settings.group_id.clone(),
            session_timeout_ms: millis(self.settings.session_timeout_ms),
            rebalance_timeout_ms: millis(self.settings.rebalance_timeout_ms),
            member_id: self.member_id.clone(),
            group_instance_id: self.settings.instance_id.clone(),
            protocol_type: PROTOCOL_TYPE.to_owned(),
            protocols,
            reason: Some(self.reason.to_string()),
            ..JoinGroupRequest::default()
        };
        let (id, action) = self.requests.send(GroupRequest::Join(request), self.held_back_ms())?;
        self.joined_topics = self.topics.clone().unwrap_or_default();
        self.heartbeat.in_flight = None;
        self.state = State::Joining(id);
        Some(action)
    }

    /// What it joins with, for each assignor.
    fn offers(&self) -> Result<Vec<JoinGroupRequestProtocol>, ProtocolError> {
        let mut subscription = MemberSubscription {
            topics: self.topics.iter().flatten().cloned().collect(),
            user_data: None,
            owned: listed(&self.owned),
            generation: self.generation,
            rack: self.settings.rack.clone(),
        };
        let mut offer = |assignor: &Assignor| {
            subscription.user_data = assignor.user_data(self.previous.get(assignor));
            Ok(JoinGroupRequestProtocol {
                name: assignor.name().to_owned(),
                metadata: subscription.encode()?,
                ..JoinGroupRequestProtocol::default()
            })
        };
        self.assignors.iter().map(&mut offer).collect()
    }

    fn sync(&mut self) -> Option<Action> {
        let State::Syncing { assignments, .. } = &self.state else { return None };
        let request = SyncGroupRequest {
            group_id: self.settings.group_id.clone(),
            generation_id: self.generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.settings.instance_id.clone(),
            protocol_type: Some(PROTOCOL_TYPE.to_owned()),
            protocol_name: self.assignor.map(|assignor| assignor.name().to_owned()),
            assignments: assignments.clone(),
            ..SyncGroupRequest::default()
        };
        let (id, action) = self.requests.send(GroupRequest::Sync(request), self.held_back_ms())?;
        if let State::Syncing { request, .. } = &mut self.state {
            *request = Some(id);
        }
        Some(action)
    }

    fn send_heartbeat(&mut self, now_ms: u64) -> Option<Action> {
        let request = HeartbeatRequest {
            group_id: self.settings.group_id.clone(),
            generation_id: self.generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.settings.instance_id.clone(),
            ..HeartbeatRequest::default()
        };
        let timeout_ms = u64::from(self.settings.request_timeout_ms);
        let (id, action) = self.requests.send(GroupRequest::Heartbeat(request), timeout_ms)?;
        self.heartbeat.in_flight = Some(id);
        self.heartbeat.sent_ms = now_ms;
        self.heartbeat.due_ms = now_ms + u64::from(self.settings.heartbeat_interval_ms);
        Some(action)
    }

    pub(super) fn leave_request(&mut self) -> Option<(RequestId, Action)> {
        if !self.sends_leave() || self.member_id.is_empty() {
            return None;
        }
        let reason = match self.is_leaving {
            true => "the consumer is being closed",
            false => "consumer poll timeout has expired",
        };
        let member = LeavingMember {
            member_id: self.member_id.clone(),
            reason: Some(reason.to_owned()),
            ..LeavingMember::default()
        };
        let request = LeaveGroupRequest {
            group_id: self.settings.group_id.clone(),
            members: vec![member],
            ..LeaveGroupRequest::default()
        };
        let timeout_ms = u64::from(self.settings.request_timeout_ms);
        self.requests.send(GroupRequest::Leave(request), timeout_ms)
    }

    /// How long a request may take that waits for other members.
    fn held_back_ms(&self) -> u64 {
        let held_back = u64::from(self.settings.rebalance_timeout_ms) + HELD_BACK_LAPSE_MS;
        held_back.max(u64::from(self.settings.request_timeout_ms))
    }
}

/// Milliseconds as the wire has them.
fn millis(ms: u32) -> i32 {
    i32::try_from(ms).unwrap_or(i32::MAX)
}
