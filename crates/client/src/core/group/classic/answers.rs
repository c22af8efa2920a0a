//! What a classic member makes of the coordinator's answers.

use std::collections::BTreeSet;

use thalweg_wire::messages::{JoinGroupResponse, SyncGroupResponse};
use thalweg_wire::{ApiKey, ErrorCode};

use super::{ClassicMember, Heartbeat, State};
use crate::core::group::action::{Action, GroupResponse, RequestFailure, RequestId};
use crate::core::group::assignor::Assignor;
use crate::core::group::coordinator_requests::has_moved;
use crate::core::group::protocol::{PROTOCOL_TYPE, decode_assignment};
use crate::core::group::revocation::listed;
use crate::core::group::status::GroupError;
use crate::core::partition::TopicPartition;

/// A request under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    Join,
    Sync,
    Heartbeat,
    Leave,
}

impl RequestKind {
    fn api(self) -> ApiKey {
        match self {
            RequestKind::Join => ApiKey::JOIN_GROUP,
            RequestKind::Sync => ApiKey::SYNC_GROUP,
            RequestKind::Heartbeat => ApiKey::HEARTBEAT,
            RequestKind::Leave => ApiKey::LEAVE_GROUP,
        }
    }
}

impl ClassicMember {
    /// See [`Member::on_response`](crate::core::group::Member::on_response).
    pub fn on_response(
        &mut self,
        id: RequestId,
        result: Result<GroupResponse, RequestFailure>,
        now_ms: u64,
    ) {
        let Some(asked) = self.asked(id) else { return };
        let response = match result {
            Ok(response) => response,
            Err(failure) => return self.on_failure(asked, failure, now_ms),
        };
        match (asked, response) {
            (RequestKind::Join, GroupResponse::Join(response)) => self.on_join(response, now_ms),
            (RequestKind::Sync, GroupResponse::Sync(response)) => self.on_sync(&response, now_ms),
            (RequestKind::Heartbeat, GroupResponse::Heartbeat(response)) => {
                self.heartbeat.in_flight = None;
                self.on_heartbeat(response.error_code, now_ms);
            }
            // Kafka's client does not try again either: the session would end soon.
            (RequestKind::Leave, _) => self.state = State::Left,
            // An answer to something else is as good as none.
            (asked, _) => self.on_failure(asked, RequestFailure::Connection, now_ms),
        }
    }

    fn asked(&self, id: RequestId) -> Option<RequestKind> {
        match &self.state {
            State::Joining(request) if *request == id => Some(RequestKind::Join),
            State::Syncing { request: Some(request), .. } if *request == id => {
                Some(RequestKind::Sync)
            }
            State::Leaving(request) if *request == id => Some(RequestKind::Leave),
            _ => (self.heartbeat.in_flight == Some(id)).then_some(RequestKind::Heartbeat),
        }
    }

    fn on_failure(&mut self, asked: RequestKind, failure: RequestFailure, now_ms: u64) {
        if asked == RequestKind::Leave {
            self.state = State::Left;
            return;
        }
        if let RequestFailure::Unsupported(what) = failure {
            return self.fail(GroupError::Unsupported(what));
        }
        self.requests.lose_coordinator();
        self.last_error = Some(GroupError::Connection { api: asked.api() });
        self.try_again(asked, now_ms);
    }

    /// After a failure that another try may cure.
    fn try_again(&mut self, asked: RequestKind, now_ms: u64) {
        self.requests.failed(now_ms);
        match asked {
            // Whether the coordinator took it in is not known. Joining again is always right.
            RequestKind::Join | RequestKind::Sync => self.state = State::Unjoined,
            RequestKind::Heartbeat => {
                self.heartbeat.in_flight = None;
                self.heartbeat.due_ms = now_ms;
            }
            RequestKind::Leave => {}
        }
    }

    fn on_error(&mut self, asked: RequestKind, code: ErrorCode, now_ms: u64) {
        if has_moved(code) {
            self.requests.lose_coordinator();
        } else if !code.is_retriable() {
            return self.fail(GroupError::Broker { api: asked.api(), code, message: None });
        }
        self.note(asked, code);
        self.try_again(asked, now_ms);
    }

    fn on_join(&mut self, response: JoinGroupResponse, now_ms: u64) {
        match response.error_code {
            ErrorCode::NONE => self.enter_generation(response, now_ms),
            ErrorCode::MEMBER_ID_REQUIRED => {
                if !self.member_id.is_empty() {
                    // Once is enough. A coordinator that wants it again gets it, but not at once.
                    self.requests.failed(now_ms);
                }
                self.member_id = response.member_id;
                self.state = State::Unjoined;
                self.reason = "need to re-join with the given member-id".into();
            }
            ErrorCode::UNKNOWN_MEMBER_ID => self.start_over(RequestKind::Join, true, now_ms),
            ErrorCode::ILLEGAL_GENERATION => self.start_over(RequestKind::Join, false, now_ms),
            // The coordinator could not write the group's state; nothing is wrong with the member.
            code @ (ErrorCode::REBALANCE_IN_PROGRESS | ErrorCode::UNKNOWN_SERVER_ERROR) => {
                self.note(RequestKind::Join, code);
                self.try_again(RequestKind::Join, now_ms);
            }
            code => self.on_error(RequestKind::Join, code, now_ms),
        }
    }

    fn enter_generation(&mut self, response: JoinGroupResponse, now_ms: u64) {
        if let Some(protocol_type) = response.protocol_type
            && protocol_type != PROTOCOL_TYPE
        {
            return self.fail(GroupError::ProtocolType(protocol_type));
        }
        let name = response.protocol_name.unwrap_or_default();
        let offered = |assignor: &Assignor| self.assignors.contains(assignor);
        let Some(assignor) = Assignor::from_name(&name).filter(offered) else {
            return self.fail(GroupError::UnknownAssignor(name));
        };
        self.requests.succeeded();
        self.assignor = Some(assignor);
        self.generation = response.generation_id;
        self.member_id = response.member_id;
        self.heartbeat = Heartbeat {
            due_ms: now_ms + u64::from(self.settings.heartbeat_interval_ms),
            in_flight: None,
            sent_ms: now_ms,
            settled_ms: now_ms,
            session_ends_ms: now_ms + u64::from(self.settings.session_timeout_ms),
        };
        if response.leader == self.member_id {
            self.lead(response.members, response.skip_assignment);
        } else {
            self.leader.resign();
            self.leader.watch(self.topics.iter().flatten());
            self.state = State::Syncing { request: None, assignments: Vec::new() };
        }
    }

    fn on_sync(&mut self, response: &SyncGroupResponse, now_ms: u64) {
        match response.error_code {
            ErrorCode::NONE => {}
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.state = State::Unjoined;
                self.reason = "the group began another rebalance".into();
                return;
            }
            code @ ErrorCode::UNKNOWN_SERVER_ERROR => {
                self.note(RequestKind::Sync, code);
                return self.try_again(RequestKind::Sync, now_ms);
            }
            ErrorCode::UNKNOWN_MEMBER_ID => {
                return self.start_over(RequestKind::Sync, true, now_ms);
            }
            ErrorCode::ILLEGAL_GENERATION => {
                return self.start_over(RequestKind::Sync, false, now_ms);
            }
            code => return self.on_error(RequestKind::Sync, code, now_ms),
        }
        let expected = self.assignor.map(Assignor::name);
        if response.protocol_name.as_deref().is_some_and(|name| Some(name) != expected) {
            let code = ErrorCode::INCONSISTENT_GROUP_PROTOCOL;
            return self.on_error(RequestKind::Sync, code, now_ms);
        }
        match decode_assignment(&response.assignment) {
            Ok(assigned) => self.take_over(assigned.into_iter().collect(), now_ms),
            Err(error) => {
                // Whatever it was that this member should have had, it has what it had.
                self.warn(GroupError::MalformedAssignment(error));
                self.try_again(RequestKind::Sync, now_ms);
                self.reason = "the assignment cannot be read".into();
            }
        }
    }

    fn take_over(&mut self, assigned: BTreeSet<TopicPartition>, now_ms: u64) {
        self.requests.succeeded();
        self.last_error = None;
        self.heartbeat.settled_ms = now_ms;
        self.state = State::Stable;
        self.reason = "".into();
        let timeout_ms = u64::from(self.settings.rebalance_timeout_ms);
        self.leader.expect_completion(now_ms.saturating_add(timeout_ms));
        if self.is_leaving {
            return;
        }
        let is_subscribed = |partition: &TopicPartition| {
            self.topics.as_ref().is_some_and(|topics| topics.contains(&partition.topic))
        };
        if self.is_pattern {
            // The leader may have seen topics before this member has: it is followed.
            let topics = assigned.iter().map(|partition| partition.topic.clone());
            let new: BTreeSet<_> =
                topics.filter(|topic| !self.joined_topics.contains(topic)).collect();
            self.topics.get_or_insert_default().extend(new.iter().cloned());
            self.joined_topics.extend(new);
            self.leader.watch(self.topics.iter().flatten());
        } else if !assigned.iter().all(is_subscribed) {
            return self
                .request_rejoin("received assignment does not match the current subscription");
        }
        let revoked: BTreeSet<_> = self.owned.difference(&assigned).cloned().collect();
        let added: Vec<_> = assigned.difference(&self.owned).cloned().collect();
        self.owned.extend(added.iter().cloned());
        if let Some(assignor) = self.assignor {
            self.previous.insert(assignor, (listed(&assigned), self.generation));
        }
        let rejoins = !revoked.is_empty();
        if rejoins {
            self.ask_to_revoke(revoked, now_ms);
        }
        self.events.push_back(Action::Assign { added, all: listed(&assigned) });
        if rejoins {
            self.request_rejoin("need to revoke partitions and re-join");
        } else if self.subscription_changed() {
            self.request_rejoin("subscription has changed");
        } else if self.leader.has_changed() {
            self.request_rejoin("cached metadata has changed");
        }
    }

    fn on_heartbeat(&mut self, code: ErrorCode, now_ms: u64) {
        match code {
            ErrorCode::NONE => {
                self.requests.succeeded();
                self.forget_answered_error();
                self.heartbeat.settled_ms = self.heartbeat.settled_ms.max(self.heartbeat.sent_ms);
                self.extend_session();
            }
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.requests.succeeded();
                self.forget_answered_error();
                self.extend_session();
                // While it is joining already it knows.
                if matches!(self.state, State::Stable) {
                    self.request_rejoin("group is already rebalancing");
                }
            }
            ErrorCode::UNKNOWN_MEMBER_ID => self.start_over(RequestKind::Heartbeat, true, now_ms),
            ErrorCode::ILLEGAL_GENERATION => self.start_over(RequestKind::Heartbeat, false, now_ms),
            code @ (ErrorCode::FENCED_INSTANCE_ID | ErrorCode::GROUP_AUTHORIZATION_FAILED) => {
                self.on_error(RequestKind::Heartbeat, code, now_ms);
            }
            code if has_moved(code) => self.on_error(RequestKind::Heartbeat, code, now_ms),
            // If it is serious, joining will show it.
            code => {
                self.note(RequestKind::Heartbeat, code);
                self.try_again(RequestKind::Heartbeat, now_ms);
            }
        }
    }

    /// The coordinator takes the member for one: what it, or the connection to it, refused before is
    /// over. What is wrong with a subscription or an assignment is not.
    fn forget_answered_error(&mut self) {
        if self.last_error.as_ref().is_some_and(GroupError::is_of_requests) {
            self.last_error = None;
        }
    }

    fn note(&mut self, asked: RequestKind, code: ErrorCode) {
        self.last_error = Some(GroupError::Broker { api: asked.api(), code, message: None });
    }

    fn extend_session(&mut self) {
        let session_ms = u64::from(self.settings.session_timeout_ms);
        self.heartbeat.session_ends_ms = self.heartbeat.sent_ms.saturating_add(session_ms);
    }

    /// See [`Member::on_refused`](crate::core::group::Member::on_refused).
    pub fn on_refused(&mut self, api: ApiKey, code: ErrorCode, now_ms: u64) {
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID => {
                self.start_over_after(
                    api,
                    code,
                    "the member was not known when committing",
                    now_ms,
                );
            }
            // The next heartbeat says for certain.
            ErrorCode::ILLEGAL_GENERATION => self.heartbeat.due_ms = now_ms,
            ErrorCode::FENCED_INSTANCE_ID => {
                self.fail(GroupError::Broker { api, code, message: None });
            }
            _ => {}
        }
    }

    /// The group went on without it: it joins as somebody new, or, where only the generation is
    /// over, with the id it has.
    fn start_over(&mut self, asked: RequestKind, member_id_too: bool, now_ms: u64) {
        let code = match member_id_too {
            true => ErrorCode::UNKNOWN_MEMBER_ID,
            false => ErrorCode::ILLEGAL_GENERATION,
        };
        let reason = match asked {
            RequestKind::Heartbeat => "the generation ended while heartbeating",
            RequestKind::Join => "the member was not known when joining",
            RequestKind::Sync | RequestKind::Leave => "the generation ended while syncing",
        };
        self.start_over_after(asked.api(), code, reason, now_ms);
    }

    fn start_over_after(
        &mut self,
        api: ApiKey,
        code: ErrorCode,
        reason: &'static str,
        now_ms: u64,
    ) {
        self.last_error = Some(GroupError::Broker { api, code, message: None });
        self.requests.failed_once(now_ms);
        self.lose(code == ErrorCode::UNKNOWN_MEMBER_ID);
        self.reason = reason.into();
    }
}
