//! A member of a group of KIP-848.
//!
//! There is one request, the heartbeat. It says what the member subscribes to and has; its answer
//! says what the member should have. The member goes there by itself: it gives up what it should
//! not have, takes what it should, and says so with the next heartbeat. The coordinator gives a
//! partition to another member only after that.
//!
//! Invariant: what a heartbeat says the member has is what the application has; a partition is
//! left out only after it was revoked or lost.

mod heartbeat;
mod reconcile;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use thalweg_wire::{ApiKey, ErrorCode, Uuid};

use super::action::{Action, MemberIdentity, RequestId};
use super::coordinator_requests::{CoordinatorRequests, PollTimer};
use super::revocation::{Revocation, listed, lose_untold};
use super::status::{GroupError, GroupStatus};
use super::{GroupProtocol, GroupSettings, OnLeave, SubscribedTopics};
use crate::core::metadata::Metadata;
use crate::core::partition::TopicPartition;
use heartbeat::Sent;

/// Epoch to join with.
const JOIN_EPOCH: i32 = 0;
/// Epoch to leave with.
const LEAVE_EPOCH: i32 = -1;
/// Epoch with which a static member leaves that will be back.
const LEAVE_STATIC_EPOCH: i32 = -2;

/// Partitions by topic id.
type Partitions = BTreeMap<Uuid, BTreeSet<i32>>;

/// Where a member stands.
#[derive(Debug)]
enum State {
    /// To join, or waiting for the answer to that.
    Joining,
    /// It has what it should have, or knows that it has not.
    Member,
    /// It left because nobody polled.
    PollIntervalExceeded,
    /// The heartbeat that leaves is under way.
    Leaving,
    Left,
    Failed(GroupError),
}

/// A member of a group of KIP-848; see the module.
#[derive(Debug)]
pub struct ConsumerMember {
    settings: GroupSettings,
    server_assignor: Option<String>,
    requests: CoordinatorRequests,
    poll: PollTimer,
    subscription: SubscribedTopics,
    member_id: String,
    epoch: i32,
    state: State,
    /// What the coordinator wants it to have; `None` before it said so.
    target: Option<Partitions>,
    /// What it has, also while it is being revoked.
    owned: Partitions,
    /// Something happened that reconciling has to look at.
    is_dirty: bool,
    /// It has what it should have, as far as the topics are known.
    is_settled: bool,
    /// The coordinator is to hear what the member has, once it is settled.
    owes_answer: bool,
    /// The application has heard of the target.
    is_announced: bool,
    /// The coordinator may have a pattern of this member's.
    may_have_regex: bool,
    revocation: Option<Revocation>,
    is_leaving: bool,
    on_leave: OnLeave,
    /// Names of topics by id: of all topics in the last metadata, and of those it has.
    names: HashMap<Uuid, Arc<str>>,
    /// Topics for which metadata was asked.
    asked_for: BTreeSet<Uuid>,
    sent: Sent,
    in_flight: Option<RequestId>,
    /// The subscription is another one since the heartbeat in flight was sent.
    has_news: bool,
    sent_ms: u64,
    due_ms: u64,
    interval_ms: u64,
    events: VecDeque<Action>,
    last_error: Option<GroupError>,
}

impl ConsumerMember {
    /// A member that will join, with `random` as its id.
    pub fn new(
        settings: GroupSettings,
        subscription: SubscribedTopics,
        random: [u8; 16],
        now_ms: u64,
    ) -> ConsumerMember {
        let server_assignor = match &settings.protocol {
            GroupProtocol::Consumer { server_assignor } => server_assignor.clone(),
            GroupProtocol::Classic { .. } => None,
        };
        let [.., a, b, c, d, e, f, g, h] = random;
        ConsumerMember {
            requests: CoordinatorRequests::new(
                &settings,
                u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            ),
            poll: PollTimer::new(u64::from(settings.rebalance_timeout_ms), now_ms),
            interval_ms: u64::from(settings.heartbeat_interval_ms),
            server_assignor,
            subscription,
            member_id: member_id(random),
            epoch: JOIN_EPOCH,
            state: State::Joining,
            target: None,
            owned: Partitions::new(),
            is_dirty: false,
            is_settled: true,
            owes_answer: false,
            is_announced: false,
            may_have_regex: false,
            revocation: None,
            is_leaving: false,
            on_leave: OnLeave::default(),
            names: HashMap::new(),
            asked_for: BTreeSet::new(),
            sent: Sent::default(),
            in_flight: None,
            has_news: false,
            sent_ms: now_ms,
            due_ms: now_ms,
            events: VecDeque::new(),
            last_error: None,
            settings,
        }
    }

    /// See [`Member::next`](super::Member::next).
    pub fn next(&mut self, now_ms: u64) -> Option<Action> {
        self.look_at_clock(now_ms);
        if self.events.is_empty() && !self.is_idle() {
            if self.is_leaving {
                self.go_on_leaving(now_ms);
            } else {
                self.reconcile();
            }
        }
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        if self.is_idle() {
            return None;
        }
        let action = self.requests.find(now_ms).or_else(|| self.heartbeat(now_ms));
        action.or_else(|| self.end_held_heartbeat(now_ms))
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
        if let Some(retry_at) = self.requests.retry_at() {
            if self.requests.coordinator().is_none() {
                deadline = deadline.min(retry_at.max(now_ms));
            } else if self.in_flight.is_none() {
                deadline = deadline.min(self.heartbeat_at().max(retry_at));
            } else if self.has_news {
                deadline = deadline.min(self.held_from());
            }
        }
        (deadline < u64::MAX).then_some(deadline)
    }

    /// See [`Member::on_coordinator`](super::Member::on_coordinator).
    pub fn on_coordinator(&mut self, id: i32, _now_ms: u64) {
        self.requests.found(id);
        self.last_error.take_if(|error| error.is_of_lookup());
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

    /// See [`Member::polled`](super::Member::polled).
    pub fn polled(&mut self, now_ms: u64) {
        self.poll.polled(now_ms);
        if matches!(self.state, State::PollIntervalExceeded) {
            self.state = State::Joining;
            self.due_ms = now_ms;
        }
    }

    /// See [`Member::set_subscription`](super::Member::set_subscription).
    pub fn set_subscription(&mut self, subscription: SubscribedTopics, now_ms: u64) {
        self.subscription = subscription;
        self.due_ms = now_ms;
        self.has_news = self.in_flight.is_some();
    }

    /// See [`Member::update_metadata`](super::Member::update_metadata).
    pub fn update_metadata(&mut self, metadata: &Metadata, _now_ms: u64) {
        // A topic that it has keeps its name, also when it is deleted: it is to be given up by it.
        let owned = &self.owned;
        self.names.retain(|id, _| owned.contains_key(id));
        for (name, topic) in &metadata.topics {
            if !topic.id.is_zero() {
                self.names.entry(topic.id).or_insert_with(|| name.as_str().into());
            }
        }
        self.is_dirty = true;
    }

    /// See [`Member::leave`](super::Member::leave).
    pub fn leave(&mut self, on_leave: OnLeave, _now_ms: u64) {
        self.on_leave = on_leave;
        if matches!(self.state, State::PollIntervalExceeded) {
            self.state = State::Left;
        }
        self.is_leaving = true;
    }

    /// See [`Member::identity`](super::Member::identity).
    pub fn identity(&self) -> Option<MemberIdentity> {
        (self.epoch > 0).then(|| MemberIdentity {
            member_id: self.member_id.clone(),
            generation_or_epoch: self.epoch,
            instance_id: self.settings.instance_id.clone(),
        })
    }

    /// See [`Member::member_id`](super::Member::member_id).
    pub fn member_id(&self) -> &str {
        &self.member_id
    }

    #[cfg(test)]
    /// See [`Member::epoch`](super::Member::epoch).
    pub fn epoch(&self) -> i32 {
        self.epoch.max(0)
    }

    /// See [`Member::last_error`](super::Member::last_error).
    pub fn last_error(&self) -> Option<&GroupError> {
        self.last_error.as_ref()
    }

    /// See [`Member::heartbeat_interval_ms`](super::Member::heartbeat_interval_ms).
    pub fn heartbeat_interval_ms(&self) -> u64 {
        self.interval_ms
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
        if self.is_leaving {
            return GroupStatus::Leaving;
        }
        match self.unresolved().count() {
            0 if matches!(self.state, State::Joining) => match self.requests.coordinator() {
                Some(_) => GroupStatus::Joining,
                None => GroupStatus::WaitingForCoordinator,
            },
            0 if self.target.as_ref().is_some_and(|target| *target != self.owned) => {
                GroupStatus::Reconciling
            }
            0 => GroupStatus::Stable { partitions: self.owned.values().map(BTreeSet::len).sum() },
            topics => GroupStatus::WaitingForMetadata { topics },
        }
    }

    /// See [`Member::is_poll_interval_exceeded`](super::Member::is_poll_interval_exceeded).
    pub fn is_poll_interval_exceeded(&self) -> bool {
        matches!(self.state, State::PollIntervalExceeded)
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, State::Left | State::Failed(_) | State::PollIntervalExceeded)
    }

    fn minds_polling(&self) -> bool {
        !self.is_leaving && !matches!(self.state, State::Leaving)
    }

    fn look_at_clock(&mut self, now_ms: u64) {
        if self.is_idle() {
            return;
        }
        if let Some(late) = self.revocation.take_if(|revocation| now_ms >= revocation.deadline_ms) {
            let partitions = late.partitions.len();
            if lose_untold(&mut self.events).is_empty() {
                self.events.push_back(Action::Lost { partitions: listed(&late.partitions) });
            }
            self.let_go(&late.partitions);
            self.warn(GroupError::RevocationTimeout { partitions });
        }
        if self.poll.is_over(now_ms) && self.minds_polling() {
            // The application is stuck: others shall have its partitions.
            let leave = self.leave_heartbeat().map(|(_, action)| action);
            self.lose();
            self.events.extend(leave);
            self.state = State::PollIntervalExceeded;
        }
    }

    fn go_on_leaving(&mut self, now_ms: u64) {
        if self.revocation.is_some() || matches!(self.state, State::Leaving) {
            return;
        }
        let owned = self.named(&self.owned);
        if !owned.is_empty() {
            return self.ask_to_revoke(owned, now_ms);
        }
        match self.leave_heartbeat() {
            Some((id, action)) => {
                self.in_flight = Some(id);
                self.events.push_back(action);
                self.state = State::Leaving;
            }
            // Nobody to tell: the session ends by itself.
            None => self.state = State::Left,
        }
        self.epoch = JOIN_EPOCH;
    }

    /// It is no longer part of the group: whatever it had may be somebody else's.
    fn lose(&mut self) {
        self.epoch = JOIN_EPOCH;
        self.revocation = None;
        let lost = lose_untold(&mut self.events);
        let mut partitions = self.named(&self.owned);
        partitions.retain(|partition| !lost.contains(partition));
        if !partitions.is_empty() {
            self.events.push_back(Action::Lost { partitions: listed(&partitions) });
        }
        self.owned.clear();
        self.target = None;
        self.is_dirty = false;
        self.is_settled = true;
        self.owes_answer = false;
        self.asked_for.clear();
        self.sent = Sent::default();
        self.in_flight = None;
        self.state = State::Joining;
    }

    fn fail(&mut self, error: GroupError) {
        self.lose();
        self.last_error = Some(error.clone());
        self.events.push_back(Action::Fatal(error.clone()));
        self.state = State::Failed(error);
    }

    fn warn(&mut self, error: GroupError) {
        self.last_error = Some(error.clone());
        self.events.push_back(Action::Warn(error));
    }

    /// The names of partitions whose topics are known.
    fn named(&self, partitions: &Partitions) -> BTreeSet<TopicPartition> {
        let named = |(id, indexes): (&Uuid, &BTreeSet<i32>)| {
            let name = self.names.get(id)?;
            let named = |&index: &i32| TopicPartition::new(Arc::clone(name), index);
            Some(indexes.iter().map(named).collect::<Vec<_>>())
        };
        partitions.iter().filter_map(named).flatten().collect()
    }
}

/// A version 4 UUID as Kafka writes it. The values that Kafka does not use are met by one bit.
fn member_id(mut random: [u8; 16]) -> String {
    let id = Uuid::from_random(random).or_else(|| {
        random[0] ^= 0x80;
        Uuid::from_random(random)
    });
    id.unwrap_or_default().to_string()
}
