//! The one request of KIP-848: what goes into it, and what its answer means.

use std::collections::BTreeSet;
use std::sync::Arc;

use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use thalweg_wire::{ApiKey, ErrorCode};

use super::{
    ConsumerMember, JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH, Partitions, State,
    SubscribedTopics,
};
use crate::core::group::OnLeave;
use crate::core::group::action::{Action, GroupRequest, GroupResponse, RequestFailure, RequestId};
use crate::core::group::coordinator_requests::has_moved;
use crate::core::group::status::GroupError;

/// What the coordinator has been told; it is not told again. After an error nothing is certain and
/// everything is said once more.
#[derive(Debug, Default)]
pub(super) struct Sent {
    names: Option<BTreeSet<Arc<str>>>,
    regex: Option<String>,
    has_settings: bool,
    has_owned: bool,
    took_regex_away: bool,
}

/// An answer that takes longer is probably kept back.
const HELD_AFTER_MS: u64 = 50;

impl ConsumerMember {
    /// When the next heartbeat is to go out: at once where the coordinator waits for it.
    pub(super) fn heartbeat_at(&self) -> u64 {
        let is_urgent = match self.state {
            State::Joining => true,
            State::Member => self.is_settled && self.owes_answer,
            _ => return u64::MAX,
        };
        if is_urgent { 0 } else { self.due_ms }
    }

    pub(super) fn heartbeat(&mut self, now_ms: u64) -> Option<Action> {
        let due = self.in_flight.is_none()
            && now_ms >= self.heartbeat_at()
            && self.requests.is_ready(now_ms);
        if !due {
            return None;
        }
        let request = self.request();
        let timeout_ms = u64::from(self.settings.request_timeout_ms);
        let (id, action) =
            self.requests.send(GroupRequest::ConsumerHeartbeat(request), timeout_ms)?;
        self.in_flight = Some(id);
        self.has_news = false;
        self.sent_ms = now_ms;
        self.due_ms = now_ms.saturating_add(self.interval_ms);
        Some(action)
    }

    /// When a heartbeat in flight counts as one whose answer is kept back.
    pub(super) fn held_from(&self) -> u64 {
        self.sent_ms.saturating_add(HELD_AFTER_MS)
    }

    /// Has the answer to a heartbeat that the coordinator keeps back, if there is something to say to it.
    pub(super) fn end_held_heartbeat(&mut self, now_ms: u64) -> Option<Action> {
        let is_held = self.has_news && self.in_flight.is_some() && now_ms >= self.held_from();
        is_held.then(|| {
            self.has_news = false;
            Action::EndHeldHeartbeat
        })
    }

    fn request(&mut self) -> ConsumerGroupHeartbeatRequest {
        let joins = self.epoch == JOIN_EPOCH;
        if joins {
            self.sent = Sent::default();
        }
        let mut request = self.bare_request(self.epoch);
        if !self.sent.has_settings {
            let timeout_ms = self.settings.rebalance_timeout_ms;
            request.rebalance_timeout_ms = i32::try_from(timeout_ms).unwrap_or(i32::MAX);
            request.server_assignor.clone_from(&self.server_assignor);
            request.rack_id = self.settings.rack.clone().filter(|_| joins);
            self.sent.has_settings = true;
        }
        let (names, regex) = match &self.subscription {
            SubscribedTopics::Topics(topics) => (topics.clone(), None),
            SubscribedTopics::Pattern(regex) => (BTreeSet::new(), Some(regex.clone())),
        };
        if self.sent.names.as_ref() != Some(&names) {
            let listed = names.iter().map(|name| name.to_string()).collect();
            request.subscribed_topic_names = Some(listed);
            self.sent.names = Some(names);
        }
        if regex.is_some() && self.sent.regex != regex {
            request.subscribed_topic_regex.clone_from(&regex);
            self.may_have_regex = true;
        } else if regex.is_none() && self.may_have_regex {
            // Empty takes an earlier one away.
            request.subscribed_topic_regex = Some(String::new());
            self.sent.took_regex_away = true;
        }
        self.sent.regex = regex;
        if !self.sent.has_owned || (self.owes_answer && self.is_settled) {
            let listed = self.owned.iter().map(|(&topic_id, partitions)| TopicPartitions {
                topic_id,
                partitions: partitions.iter().copied().collect(),
                ..TopicPartitions::default()
            });
            request.topic_partitions = Some(listed.collect());
            self.sent.has_owned = true;
            self.owes_answer &= !self.is_settled;
        }
        request
    }

    fn bare_request(&self, epoch: i32) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest {
            group_id: self.settings.group_id.clone(),
            member_id: self.member_id.clone(),
            member_epoch: epoch,
            instance_id: self.settings.instance_id.clone(),
            ..ConsumerGroupHeartbeatRequest::default()
        }
    }

    /// The heartbeat that leaves; `None` when the coordinator never heard of this member, or is not
    /// known.
    pub(super) fn leave_heartbeat(&mut self) -> Option<(RequestId, Action)> {
        if self.epoch == JOIN_EPOCH && self.in_flight.is_none() {
            return None;
        }
        let is_static = self.settings.instance_id.is_some();
        let epoch = match self.on_leave {
            // The coordinator has no word for a static member that leaves for good: as a dynamic
            // one it is removed.
            OnLeave::LeaveGroup => LEAVE_EPOCH,
            _ if is_static => LEAVE_STATIC_EPOCH,
            OnLeave::RemainInGroup if self.is_leaving => return None,
            _ => LEAVE_EPOCH,
        };
        let request = self.bare_request(epoch);
        let timeout_ms = u64::from(self.settings.request_timeout_ms);
        self.requests.send(GroupRequest::ConsumerHeartbeat(request), timeout_ms)
    }

    /// See [`Member::on_response`](crate::core::group::Member::on_response).
    pub fn on_response(
        &mut self,
        id: RequestId,
        result: Result<GroupResponse, RequestFailure>,
        now_ms: u64,
    ) {
        if self.in_flight != Some(id) {
            return;
        }
        self.in_flight = None;
        if matches!(self.state, State::Leaving) {
            // Kafka's client does not try again either: the session would end soon.
            self.state = State::Left;
            return;
        }
        match result {
            Ok(GroupResponse::ConsumerHeartbeat(response)) => self.on_heartbeat(response, now_ms),
            Err(RequestFailure::Unsupported(what)) => self.fail(GroupError::Unsupported(what)),
            // An answer to something else is as good as none.
            Ok(_) | Err(RequestFailure::Connection) => {
                self.requests.lose_coordinator();
                let api = ApiKey::CONSUMER_GROUP_HEARTBEAT;
                self.last_error = Some(GroupError::Connection { api });
                self.try_again(now_ms);
            }
        }
    }

    /// What the coordinator took in is not certain: the next heartbeat says everything again.
    fn try_again(&mut self, now_ms: u64) {
        self.requests.failed(now_ms);
        self.sent = Sent::default();
        self.due_ms = now_ms;
    }

    fn on_heartbeat(&mut self, response: ConsumerGroupHeartbeatResponse, now_ms: u64) {
        let code = response.error_code;
        if code == ErrorCode::NONE {
            return self.on_success(response);
        }
        let error = GroupError::Broker {
            api: ApiKey::CONSUMER_GROUP_HEARTBEAT,
            code,
            message: response.error_message,
        };
        match code {
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID => {
                self.last_error = Some(error);
                self.requests.failed_once(now_ms);
                self.lose();
            }
            // It can be allowed any time; until then the application should know.
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                self.warn(error);
                self.try_again(now_ms);
            }
            code if has_moved(code) || code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => {
                self.last_error = Some(error);
                if has_moved(code) {
                    self.requests.lose_coordinator();
                }
                self.try_again(now_ms);
            }
            code if code.is_retriable() => {
                self.last_error = Some(error);
                self.try_again(now_ms);
            }
            _ => self.fail(error),
        }
    }

    /// See [`Member::on_refused`](crate::core::group::Member::on_refused).
    pub fn on_refused(&mut self, api: ApiKey, code: ErrorCode, now_ms: u64) {
        let error = GroupError::Broker { api, code, message: None };
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_MEMBER_EPOCH => {
                self.last_error = Some(error);
                self.requests.failed_once(now_ms);
                self.lose();
            }
            ErrorCode::FENCED_INSTANCE_ID => self.fail(error),
            _ => {}
        }
    }

    fn on_success(&mut self, response: ConsumerGroupHeartbeatResponse) {
        self.requests.succeeded();
        self.last_error = None;
        if let Ok(interval_ms @ 1..) = u64::try_from(response.heartbeat_interval_ms)
            && self.interval_ms != interval_ms
        {
            // From the heartbeat that was sent, as always: the answer may have been kept back for an interval.
            // One that is due for a reason of its own, another subscription, stays so.
            if self.due_ms == self.sent_ms.saturating_add(self.interval_ms) {
                self.due_ms = self.sent_ms.saturating_add(interval_ms);
            }
            self.interval_ms = interval_ms;
        }
        if response.member_epoch <= 0 {
            // No member has such an epoch: as good as no answer.
            return;
        }
        if self.sent.took_regex_away {
            self.may_have_regex = false;
        }
        self.epoch = response.member_epoch;
        self.state = State::Member;
        // Topics that are still not known are asked for again.
        self.is_dirty |= !self.asked_for.is_empty();
        self.asked_for.clear();
        if let Some(assignment) = response.assignment {
            let mut target = Partitions::new();
            for topic in assignment.topic_partitions {
                let partitions = topic.partitions.into_iter().filter(|&partition| partition >= 0);
                target.entry(topic.topic_id).or_default().extend(partitions);
            }
            target.retain(|_, partitions| !partitions.is_empty());
            self.aim_for(target);
        }
    }
}
