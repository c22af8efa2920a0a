//! A member of a classic group.
//!
//! It joins, which ends when everybody has joined; the leader makes the assignment and everybody
//! fetches it with SyncGroup; heartbeats say when it is time to join again. Eager members give up
//! everything before they join. Cooperative ones (KIP-429) keep it, learn what they have to give up
//! from the new assignment, and join once more when they have.
//!
//! Invariant: a partition is in `owned` from the assignment on until the application has handed it
//! over, and what is said to be owned when joining is exactly that.

mod answers;
mod leader;
mod requests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use thalweg_wire::messages::sync_group_request::SyncGroupRequestAssignment;
use thalweg_wire::{ApiKey, ErrorCode};

use super::action::{Action, MemberIdentity, RequestId};
use super::assignor::{Assignor, RebalanceProtocol};
use super::coordinator_requests::{CoordinatorRequests, PollTimer};
use super::revocation::{Revocation, listed, lose_untold};
use super::status::{GroupError, GroupStatus};
use super::{GroupProtocol, GroupSettings, OnLeave, SubscribedTopics};
use crate::core::metadata::Metadata;
use crate::core::partition::TopicPartition;
use leader::{Candidate, Leader};

/// Where a member stands.
#[derive(Debug)]
enum State {
    /// To join, once partitions are revoked and the coordinator is known.
    Unjoined,
    /// JoinGroup is under way.
    Joining(RequestId),
    /// It leads, and topics have to be looked up before it can assign.
    Assigning {
        candidates: Vec<Candidate>,
        skip_assignment: bool,
    },
    /// SyncGroup is to be sent or under way.
    Syncing {
        request: Option<RequestId>,
        assignments: Vec<SyncGroupRequestAssignment>,
    },
    /// It has its assignment.
    Stable,
    /// It left because nobody polled.
    PollIntervalExceeded,
    /// LeaveGroup is under way.
    Leaving(RequestId),
    Left,
    Failed(GroupError),
}

#[derive(Debug, Default)]
struct Heartbeat {
    due_ms: u64,
    in_flight: Option<RequestId>,
    sent_ms: u64,
    /// When it was last certain that no rebalance was waiting for this member.
    settled_ms: u64,
    session_ends_ms: u64,
}

/// A member of a classic group; see the module.
#[derive(Debug)]
pub struct ClassicMember {
    settings: GroupSettings,
    assignors: Vec<Assignor>,
    rebalance_protocol: RebalanceProtocol,
    requests: CoordinatorRequests,
    poll: PollTimer,
    /// `None` until a pattern has been matched.
    topics: Option<BTreeSet<Arc<str>>>,
    is_pattern: bool,
    /// The topics it joined with.
    joined_topics: BTreeSet<Arc<str>>,
    member_id: String,
    generation: i32,
    assignor: Option<Assignor>,
    state: State,
    reason: Cow<'static, str>,
    owned: BTreeSet<TopicPartition>,
    revocation: Option<Revocation>,
    is_leaving: bool,
    on_leave: OnLeave,
    heartbeat: Heartbeat,
    leader: Leader,
    /// What it got from each assignor last, and in which generation.
    previous: BTreeMap<Assignor, (Vec<TopicPartition>, i32)>,
    events: VecDeque<Action>,
    last_error: Option<GroupError>,
}

impl ClassicMember {
    /// A member that will join.
    pub fn new(
        settings: GroupSettings,
        subscription: SubscribedTopics,
        random: [u8; 16],
        now_ms: u64,
    ) -> ClassicMember {
        let assignors = match &settings.protocol {
            GroupProtocol::Classic { assignors } => assignors.clone(),
            GroupProtocol::Consumer { .. } => Vec::new(),
        };
        let [a, b, c, d, e, f, g, h, ..] = random;
        let mut member = ClassicMember {
            requests: CoordinatorRequests::new(
                &settings,
                u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            ),
            poll: PollTimer::new(u64::from(settings.rebalance_timeout_ms), now_ms),
            rebalance_protocol: Assignor::common_protocol(&assignors),
            topics: None,
            is_pattern: false,
            joined_topics: BTreeSet::new(),
            member_id: String::new(),
            generation: -1,
            assignor: None,
            state: State::Unjoined,
            reason: Cow::Borrowed(""),
            owned: BTreeSet::new(),
            revocation: None,
            is_leaving: false,
            on_leave: OnLeave::default(),
            heartbeat: Heartbeat::default(),
            leader: Leader::default(),
            previous: BTreeMap::new(),
            events: VecDeque::new(),
            last_error: None,
            settings,
            assignors,
        };
        member.set_subscription(subscription, now_ms);
        member.reason = Cow::Borrowed("");
        if member.assignors.is_empty() {
            member.fail(GroupError::NoAssignor);
        }
        member
    }

    /// See [`Member::next`](super::Member::next).
    pub fn next(&mut self, now_ms: u64) -> Option<Action> {
        self.look_at_clock(now_ms);
        if self.events.is_empty() && self.is_idle() {
            return None;
        }
        if self.events.is_empty() && self.is_leaving {
            self.go_on_leaving(now_ms);
        }
        if self.events.is_empty() && self.is_about_to_join() {
            self.give_up_before_joining(now_ms);
        }
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        if self.is_idle() {
            return None;
        }
        self.requests.find(now_ms).or_else(|| self.request(now_ms))
    }

    /// See [`Member::next_deadline`](super::Member::next_deadline).
    pub fn next_deadline(&self, now_ms: u64) -> Option<u64> {
        if !self.events.is_empty() {
            return Some(now_ms);
        }
        if self.is_idle() {
            return None;
        }
        let mut deadline = u64::MAX;
        if self.minds_polling() {
            deadline = self.poll.ends_at().saturating_add(1);
        }
        if let Some(revocation) = &self.revocation {
            deadline = deadline.min(revocation.deadline_ms);
        }
        if let (State::Stable, false, Some(by_ms)) =
            (&self.state, self.is_leaving, self.leader.complete_by_ms)
        {
            deadline = deadline.min(by_ms);
        }
        let wants_request = self.requests.coordinator().is_none() || self.is_about_to_send();
        if let Some(retry_at) = self.requests.retry_at().filter(|_| wants_request) {
            deadline = deadline.min(retry_at.max(now_ms));
        }
        if self.heartbeats() && self.requests.coordinator().is_some() {
            deadline = deadline.min(self.heartbeat.session_ends_ms);
            if self.heartbeat.in_flight.is_none() {
                let retry_at = self.requests.retry_at().unwrap_or(0);
                deadline = deadline.min(self.heartbeat.due_ms.max(retry_at));
            }
        }
        (deadline < u64::MAX).then_some(deadline)
    }

    /// See [`Member::on_coordinator`](super::Member::on_coordinator).
    pub fn on_coordinator(&mut self, id: i32, now_ms: u64) {
        self.requests.found(id);
        self.last_error.take_if(|error| error.is_of_lookup());
        self.heartbeat.session_ends_ms = now_ms + u64::from(self.settings.session_timeout_ms);
    }

    /// See [`Member::on_coordinator_error`](super::Member::on_coordinator_error).
    pub fn on_coordinator_error(&mut self, code: Option<ErrorCode>, now_ms: u64) {
        self.requests.not_found(now_ms);
        let api = ApiKey::FIND_COORDINATOR;
        match code {
            Some(code) if !code.is_retriable() && !self.is_idle() => {
                self.fail(GroupError::Broker { api, code, message: None });
            }
            Some(code) => self.last_error = Some(GroupError::Broker { api, code, message: None }),
            None => self.last_error = Some(GroupError::Connection { api }),
        }
    }

    /// See [`Member::revoked`](super::Member::revoked).
    pub fn revoked(&mut self, _now_ms: u64) {
        // One that the application has not been told of cannot be meant.
        if self.events.iter().any(|event| matches!(event, Action::Revoke { .. })) {
            return;
        }
        if let Some(revocation) = self.revocation.take() {
            self.owned.retain(|partition| !revocation.partitions.contains(partition));
        }
    }

    /// See [`Member::polled`](super::Member::polled).
    pub fn polled(&mut self, now_ms: u64) {
        self.poll.polled(now_ms);
        if matches!(self.state, State::PollIntervalExceeded) {
            self.state = State::Unjoined;
            self.reason = Cow::Borrowed("poll after max.poll.interval.ms was exceeded");
        }
    }

    /// See [`Member::set_subscription`](super::Member::set_subscription).
    pub fn set_subscription(&mut self, subscription: SubscribedTopics, now_ms: u64) {
        match subscription {
            SubscribedTopics::Topics(topics) => {
                self.is_pattern = false;
                self.set_topics(topics, now_ms);
            }
            // What it had stays until the new pattern is matched.
            SubscribedTopics::Pattern(_) => self.is_pattern = true,
        }
    }

    /// See [`Member::set_topics`](super::Member::set_topics).
    pub fn set_topics(&mut self, topics: BTreeSet<Arc<str>>, _now_ms: u64) {
        self.leader.watch(&topics);
        self.topics = Some(topics);
        if self.subscription_changed() {
            self.request_rejoin("subscription has changed");
        }
    }

    /// See [`Member::update_metadata`](super::Member::update_metadata).
    pub fn update_metadata(&mut self, metadata: &Metadata, _now_ms: u64) {
        self.leader.update(metadata);
        match std::mem::replace(&mut self.state, State::Unjoined) {
            State::Assigning { candidates, skip_assignment } => {
                self.assign(&candidates, skip_assignment);
            }
            state => self.state = state,
        }
        if matches!(self.state, State::Stable) && self.leader.has_changed() {
            self.request_rejoin("cached metadata has changed");
        }
    }

    /// See [`Member::leave`](super::Member::leave).
    pub fn leave(&mut self, on_leave: OnLeave, _now_ms: u64) {
        self.on_leave = on_leave;
        if matches!(self.state, State::PollIntervalExceeded) {
            self.state = State::Left;
        }
        self.is_leaving = true;
    }

    /// See [`Member::enforce_rebalance`](super::Member::enforce_rebalance).
    pub fn enforce_rebalance(&mut self, reason: String) {
        self.request_rejoin(reason);
    }

    /// See [`Member::may_get_back`](super::Member::may_get_back).
    pub fn may_get_back(&self) -> bool {
        self.rebalance_protocol == RebalanceProtocol::Eager
            && !self.is_leaving
            && matches!(self.state, State::Unjoined)
    }

    /// See [`Member::identity`](super::Member::identity).
    pub fn identity(&self) -> Option<MemberIdentity> {
        (self.generation >= 0).then(|| MemberIdentity {
            member_id: self.member_id.clone(),
            generation_or_epoch: self.generation,
            instance_id: self.settings.instance_id.clone(),
        })
    }

    /// See [`Member::member_id`](super::Member::member_id).
    pub fn member_id(&self) -> &str {
        &self.member_id
    }

    #[cfg(test)]
    /// See [`Member::generation`](super::Member::generation).
    pub fn generation(&self) -> i32 {
        self.generation
    }

    /// See [`Member::last_error`](super::Member::last_error).
    pub fn last_error(&self) -> Option<&GroupError> {
        self.last_error.as_ref()
    }

    /// See [`Member::heartbeat_interval_ms`](super::Member::heartbeat_interval_ms).
    pub fn heartbeat_interval_ms(&self) -> u64 {
        u64::from(self.settings.heartbeat_interval_ms)
    }

    /// See [`Member::is_leaving`](super::Member::is_leaving).
    pub fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// See [`Member::why`](super::Member::why).
    pub fn why(&self) -> GroupStatus {
        match &self.state {
            State::Failed(error) => return GroupStatus::Failed(error.clone()),
            State::Left => return GroupStatus::Left,
            State::PollIntervalExceeded => return GroupStatus::PollIntervalExceeded,
            _ => {}
        }
        if let Some(revocation) = &self.revocation {
            let (partitions, deadline_ms) = (revocation.partitions.len(), revocation.deadline_ms);
            return GroupStatus::Revoking { partitions, deadline_ms };
        }
        match &self.state {
            _ if self.is_leaving => GroupStatus::Leaving,
            State::Stable => GroupStatus::Stable { partitions: self.owned.len() },
            _ if self.topics.is_none() => GroupStatus::WaitingForTopics,
            State::Assigning { .. } => {
                GroupStatus::WaitingForMetadata { topics: self.leader.unknown().count() }
            }
            _ if self.requests.coordinator().is_none() => GroupStatus::WaitingForCoordinator,
            State::Syncing { .. } => GroupStatus::Syncing,
            _ => GroupStatus::Joining,
        }
    }

    /// See [`Member::is_poll_interval_exceeded`](super::Member::is_poll_interval_exceeded).
    pub fn is_poll_interval_exceeded(&self) -> bool {
        matches!(self.state, State::PollIntervalExceeded)
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, State::Left | State::Failed(_) | State::PollIntervalExceeded)
    }

    /// Whether the group is to be told that this member goes.
    fn sends_leave(&self) -> bool {
        let is_static = self.settings.instance_id.is_some();
        match self.on_leave {
            // Not its own choice: the application does not poll.
            _ if !self.is_leaving => !is_static,
            OnLeave::Default => !is_static,
            OnLeave::LeaveGroup => true,
            OnLeave::RemainInGroup => false,
        }
    }

    fn is_about_to_join(&self) -> bool {
        matches!(self.state, State::Unjoined)
            && self.topics.is_some()
            && self.revocation.is_none()
            && !self.is_leaving
    }

    fn is_about_to_send(&self) -> bool {
        self.is_about_to_join() || matches!(self.state, State::Syncing { request: None, .. })
    }

    /// Whether heartbeats go out: as long as it is part of a generation, but for the time in which
    /// JoinGroup says that it is alive.
    fn heartbeats(&self) -> bool {
        let is_member = matches!(
            self.state,
            State::Unjoined | State::Assigning { .. } | State::Syncing { .. } | State::Stable
        );
        self.generation >= 0 && is_member
    }

    /// While JoinGroup is under way it could not leave: its id may be about to change.
    fn minds_polling(&self) -> bool {
        !self.is_leaving && !matches!(self.state, State::Joining(_) | State::Leaving(_))
    }

    fn subscription_changed(&self) -> bool {
        self.topics.as_ref().is_some_and(|topics| *topics != self.joined_topics)
    }

    fn look_at_clock(&mut self, now_ms: u64) {
        if self.is_idle() {
            return;
        }
        if let Some(late) = self.revocation.take_if(|revocation| now_ms >= revocation.deadline_ms) {
            self.owned.retain(|partition| !late.partitions.contains(partition));
            let partitions = late.partitions.len();
            if lose_untold(&mut self.events).is_empty() {
                self.events.push_back(Action::Lost { partitions: listed(&late.partitions) });
            }
            self.warn(GroupError::RevocationTimeout { partitions });
        }
        if self.poll.is_over(now_ms) && self.minds_polling() {
            self.give_up_polling();
        }
        let is_stable = matches!(self.state, State::Stable) && !self.is_leaving;
        if is_stable && self.leader.complete_by_ms.take_if(|by_ms| now_ms >= *by_ms).is_some() {
            self.request_rejoin("partitions were left without an owner");
        }
        let has_coordinator = self.requests.coordinator().is_some();
        if self.heartbeats() && has_coordinator && now_ms >= self.heartbeat.session_ends_ms {
            // Nothing was heard for a session's time: it may be somebody else by now.
            self.requests.lose_coordinator();
            self.heartbeat.in_flight = None;
        }
    }

    /// The application is stuck: others shall have its partitions.
    fn give_up_polling(&mut self) {
        let leave = (self.generation >= 0).then(|| self.leave_request()).flatten();
        self.lose(true);
        if let Some((_, action)) = leave {
            self.events.push_back(action);
        }
        self.state = State::PollIntervalExceeded;
    }

    fn go_on_leaving(&mut self, now_ms: u64) {
        if self.revocation.is_some() || matches!(self.state, State::Leaving(_)) {
            return;
        }
        if !self.owned.is_empty() {
            let partitions = self.owned.clone();
            return self.ask_to_revoke(partitions, now_ms);
        }
        self.state = match self.leave_request() {
            Some((id, action)) => {
                self.events.push_back(action);
                State::Leaving(id)
            }
            // Nobody to tell: the session ends by itself.
            None => State::Left,
        };
        self.generation = -1;
    }

    fn ask_to_revoke(&mut self, partitions: BTreeSet<TopicPartition>, now_ms: u64) {
        let timeout_ms = u64::from(self.settings.rebalance_timeout_ms);
        // A rebalance that waits for this member began after it was last settled. When it leaves
        // nobody waits.
        let since_ms = if self.is_leaving { now_ms } else { self.heartbeat.settled_ms };
        let revocation =
            Revocation { partitions, deadline_ms: since_ms.saturating_add(timeout_ms) };
        self.events.push_back(revocation.ask());
        self.revocation = Some(revocation);
    }

    /// Eager members give up everything before they join, cooperative ones what they do not
    /// subscribe to any more.
    fn give_up_before_joining(&mut self, now_ms: u64) {
        let topics = self.topics.as_ref();
        let goes = |partition: &&TopicPartition| match self.rebalance_protocol {
            RebalanceProtocol::Eager => true,
            RebalanceProtocol::Cooperative => {
                !topics.is_some_and(|topics| topics.contains(&partition.topic))
            }
        };
        let going: BTreeSet<_> = self.owned.iter().filter(goes).cloned().collect();
        if !going.is_empty() {
            self.ask_to_revoke(going, now_ms);
        }
    }

    fn request_rejoin(&mut self, reason: impl Into<Cow<'static, str>>) {
        if matches!(self.state, State::Stable | State::Unjoined) {
            self.state = State::Unjoined;
            self.reason = reason.into();
        }
    }

    /// It is no longer part of its generation: whatever it had may be somebody else's.
    fn lose(&mut self, member_id_too: bool) {
        self.generation = -1;
        if member_id_too {
            self.member_id.clear();
        }
        self.revocation = None;
        let lost = lose_untold(&mut self.events);
        self.owned.retain(|partition| !lost.contains(partition));
        if !self.owned.is_empty() {
            self.events.push_back(Action::Lost { partitions: listed(&self.owned) });
            self.owned.clear();
        }
        self.heartbeat.in_flight = None;
        self.leader.resign();
        self.state = State::Unjoined;
    }

    fn fail(&mut self, error: GroupError) {
        self.lose(false);
        self.last_error = Some(error.clone());
        self.events.push_back(Action::Fatal(error.clone()));
        self.state = State::Failed(error);
    }

    fn warn(&mut self, error: GroupError) {
        self.last_error = Some(error.clone());
        self.events.push_back(Action::Warn(error));
    }
}
