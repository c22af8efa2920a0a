//! A world of members that come, go, crash and get stuck, over a network that loses messages. What
//! happens follows from a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_random::Random;
use thalweg_wire::ErrorCode;

use super::super::assignor::Assignor;
use super::super::{
    Action, GroupError, GroupRequest, GroupResponse, GroupSettings, GroupStatus, Member, OnLeave,
    RequestFailure, RequestId, SubscribedTopics,
};
use super::application::Application;
use super::metadata;

const CHAOS_MS: u64 = 80_000;
const SETTLING_MS: u64 = 60_000;
const REBALANCE_TIMEOUT_MS: u32 = 15_000;

pub(super) type ClientId = usize;

/// Whose request it is, and whether its answer will be lost.
pub(super) type Origin = (ClientId, RequestId, bool);

/// A coordinator for one group.
pub(super) trait Coordinator {
    fn settings(&self, assignors: Vec<Assignor>) -> GroupSettings;
    fn submit(&mut self, origin: Origin, request: GroupRequest, random: u64);
    fn take_answers(&mut self) -> Vec<(Origin, GroupResponse)>;
    fn wake_at_ms(&self) -> Option<u64>;
    fn advance(&mut self, now_ms: u64);
    fn topics_changed(&mut self, topics: &BTreeMap<Arc<str>, i32>);
    /// Starts over from what is written.
    fn fail_over(&mut self);
    /// Whether nobody else may have what the member has.
    fn counts_on(&self, member: &Member, is_static: bool) -> bool;
}

enum Event {
    Arrives(ClientId, RequestId, GroupRequest, bool),
    Answered(ClientId, RequestId, Result<GroupResponse, RequestFailure>),
    Found(ClientId, bool),
    Revoked(ClientId, u64),
    Metadata(ClientId),
}

struct Client {
    member: Member,
    application: Application,
    instance_id: Option<String>,
    subscription: BTreeSet<Arc<str>>,
    /// Messages arrive in the order in which they were sent.
    last_arrival_ms: u64,
    /// Polls again only then.
    stuck_until_ms: u64,
    revocations: u64,
}

pub(super) struct GroupSimulation<C> {
    random: Random,
    now_ms: u64,
    coordinator: C,
    clients: BTreeMap<ClientId, Box<Client>>,
    next_client: ClientId,
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
    topics: BTreeMap<Arc<str>, i32>,
    assignor: Assignor,
    is_calm: bool,
    has_moved: bool,
    /// Who owns what may have changed.
    is_changed: bool,
    is_shown: bool,
}

impl<C: Coordinator> GroupSimulation<C> {
    pub(super) fn new(mut coordinator: C, seed: u64, is_shown: bool) -> GroupSimulation<C> {
        let mut random = Random::new(seed);
        let assignor = match seed % 4 {
            0 => Assignor::Range,
            1 => Assignor::RoundRobin,
            2 => Assignor::Sticky,
            _ => Assignor::CooperativeSticky,
        };
        let topics: BTreeMap<Arc<str>, i32> = (0..1 + random.below(3))
            .map(|topic| (format!("t{topic}").into(), 1 + random.below(6)))
            .collect();
        coordinator.topics_changed(&topics);
        GroupSimulation {
            random,
            now_ms: 0,
            coordinator,
            clients: BTreeMap::new(),
            next_client: 0,
            events: BTreeMap::new(),
            next_event: 0,
            topics,
            assignor,
            is_calm: false,
            has_moved: false,
            is_changed: false,
            is_shown,
        }
    }

    fn note(&self, text: impl FnOnce() -> String) {
        if self.is_shown {
            eprintln!("{:>7} {}", self.now_ms, text());
        }
    }

    fn schedule(&mut self, at_ms: u64, event: Event) {
        self.events.insert((at_ms, self.next_event), event);
        self.next_event += 1;
    }

    fn subscription(&mut self) -> BTreeSet<Arc<str>> {
        let alike = !self.random.one_in(3);
        let names: Vec<Arc<str>> = self.topics.keys().cloned().collect();
        let first = Arc::clone(&names[0]);
        let mut some: BTreeSet<_> =
            names.into_iter().filter(|_| alike || self.random.one_in(2)).collect();
        some.insert(first);
        some
    }

    /// Offers that have the group's assignor in common; cooperative members among eager ones. It
    /// comes first, because a coordinator that moved knows only the one in use.
    fn assignors(&mut self) -> Vec<Assignor> {
        let with = |others: &[Assignor]| {
            let mut all = vec![self.assignor];
            all.extend(others);
            all
        };
        match self.assignor {
            Assignor::CooperativeSticky if self.random.one_in(3) => with(&[Assignor::Range]),
            Assignor::Range if self.random.one_in(3) => with(&[Assignor::Sticky]),
            _ => with(&[]),
        }
    }

    fn join(&mut self, instance_id: Option<String>) {
        let assignors = self.assignors();
        let subscription = self.subscription();
        let settings = GroupSettings {
            instance_id: instance_id.clone(),
            rebalance_timeout_ms: REBALANCE_TIMEOUT_MS,
            request_timeout_ms: 8_000,
            ..self.coordinator.settings(assignors.clone())
        };
        let id = self.next_client;
        self.note(|| format!("{id} joins: {instance_id:?} {assignors:?} {subscription:?}"));
        self.next_client += 1;
        let bytes = (u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64()))
            .to_be_bytes();
        let topics = SubscribedTopics::Topics(subscription.clone());
        let client = Client {
            member: Member::new(settings, topics, bytes, self.now_ms),
            subscription,
            application: Application::default(),
            instance_id,
            last_arrival_ms: 0,
            stuck_until_ms: 0,
            revocations: 0,
        };
        self.clients.insert(id, Box::new(client));
        if self.random.one_in(2) {
            self.schedule(self.now_ms, Event::Metadata(id));
        }
    }

    /// Lets members say what they want until they are quiet.
    fn drive(&mut self, id: ClientId) {
        let now_ms = self.now_ms;
        let Some(mut client) = self.clients.remove(&id) else { return };
        if now_ms >= client.stuck_until_ms {
            client.member.polled(now_ms);
        }
        for _ in 0..100 {
            let Some(action) = client.member.next(now_ms) else { break };
            client.application.see(&action, &client.member);
            self.perform(id, &mut client, action);
        }
        client.application.check(&client.member);
        if let Some(deadline) = client.member.next_deadline(now_ms) {
            let is_stuck = now_ms < client.stuck_until_ms;
            assert!(deadline > now_ms, "{id} is busy: {:?} {is_stuck}", client.member.why());
        }
        if !client.member.is_done() {
            self.clients.insert(id, client);
        } else {
            self.note(|| format!("{id} is out: {}", client.member.why()));
            assert!(client.application.owned.is_empty());
        }
    }

    fn perform(&mut self, id: ClientId, client: &mut Client, action: Action) {
        let delay_ms = 1 + self.random.below(40);
        match action {
            Action::FindCoordinator => {
                let found = self.is_calm || !self.random.one_in(10);
                self.schedule(self.now_ms + delay_ms, Event::Found(id, found));
            }
            Action::Request { id: request_id, request, timeout_ms, .. } => {
                self.note(|| format!("{id} > {}", show(&request)));
                let fate = if self.is_calm { 99 } else { self.random.below(40) };
                let at_ms = (self.now_ms + delay_ms).max(client.last_arrival_ms);
                client.last_arrival_ms = at_ms;
                if fate < 2 {
                    // The request, or its answer, is lost; noticed at once or by the timeout.
                    let noticed_ms = if self.random.one_in(3) { timeout_ms } else { delay_ms };
                    let failed = Event::Answered(id, request_id, Err(RequestFailure::Connection));
                    self.schedule(at_ms + noticed_ms, failed);
                }
                if fate > 0 {
                    let is_lost = fate == 1;
                    self.schedule(at_ms, Event::Arrives(id, request_id, *request, is_lost));
                }
            }
            // Nobody holds heartbeats here.
            Action::EndHeldHeartbeat => {}
            Action::RefreshMetadata { .. } => {
                self.schedule(self.now_ms + delay_ms, Event::Metadata(id));
            }
            Action::Revoke { partitions, deadline_ms } => {
                self.note(|| format!("{id} revokes {partitions:?} until {deadline_ms}"));
                client.revocations += 1;
                let long_ms = 2 * u64::from(REBALANCE_TIMEOUT_MS);
                let slow = !self.is_calm && self.random.one_in(12);
                let takes_ms = self.random.below(if slow { long_ms } else { 500 });
                let done = Event::Revoked(id, client.revocations);
                self.schedule(self.now_ms + takes_ms, done);
            }
            Action::Assign { all, .. } => {
                self.is_changed = true;
                self.note(|| format!("{id} has {all:?}"));
            }
            Action::Lost { partitions } => {
                self.note(|| format!("{id} lost {partitions:?}"));
                if client.application.revoking.is_empty() {
                    client.revocations += 1; // What was under way is over.
                }
            }
            Action::Warn(error) => self.note(|| format!("{id} warns: {error}")),
            // A new member id of a static member is written with the next assignment only: a
            // coordinator that moves before takes the member for a stranger, as Kafka's does.
            Action::Fatal(GroupError::Broker { code: ErrorCode::FENCED_INSTANCE_ID, .. })
                if self.has_moved && client.instance_id.is_some() =>
            {
                self.note(|| format!("{id} is fenced"));
            }
            // Nor can a new one take the place of one that crashed before its session ends.
            Action::Fatal(GroupError::Broker {
                code: ErrorCode::UNRELEASED_INSTANCE_ID, ..
            }) if client.instance_id.is_some() => {
                self.note(|| format!("{id}: its instance id is not released"));
            }
            Action::Fatal(error) => panic!("{id} failed: {error}"),
        }
    }

    fn handle(&mut self, event: Event) -> Option<ClientId> {
        let now_ms = self.now_ms;
        match event {
            Event::Arrives(id, request_id, request, is_lost) => {
                let random = self.random.next_u64();
                self.coordinator.submit((id, request_id, is_lost), request, random);
                None
            }
            Event::Answered(id, request_id, result) => {
                self.is_changed |= matches!(result, Ok(GroupResponse::Join(_)));
                self.clients.get_mut(&id)?.member.on_response(request_id, result, now_ms);
                Some(id)
            }
            Event::Found(id, found) => {
                let member = &mut self.clients.get_mut(&id)?.member;
                if found {
                    member.on_coordinator(1, now_ms);
                } else {
                    let code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
                    member.on_coordinator_error(Some(code), now_ms);
                }
                Some(id)
            }
            Event::Revoked(id, number) => {
                let client = self.clients.get_mut(&id)?;
                if client.revocations == number && !client.application.revoking.is_empty() {
                    client.application.revoke();
                    client.member.revoked(now_ms);
                }
                Some(id)
            }
            Event::Metadata(id) => {
                let metadata = metadata(&self.topics);
                self.clients.get_mut(&id)?.member.update_metadata(&metadata, now_ms);
                Some(id)
            }
        }
    }

    fn take_answers(&mut self) {
        for ((id, request_id, is_lost), response) in self.coordinator.take_answers() {
            if !is_lost {
                let delay_ms = 1 + self.random.below(40);
                let answered = Event::Answered(id, request_id, Ok(response));
                self.schedule(self.now_ms + delay_ms, answered);
            }
        }
    }

    /// Runs until `end_ms`, from one thing that happens to the next.
    fn run(&mut self, end_ms: u64) {
        loop {
            let now_ms = self.now_ms;
            let mut due = Vec::new();
            for (&id, client) in &self.clients {
                let at_ms = client.member.next_deadline(now_ms).unwrap_or(u64::MAX);
                if at_ms <= now_ms || client.stuck_until_ms == now_ms {
                    due.push(id);
                }
            }
            for id in due {
                self.drive(id);
            }
            self.take_answers();
            self.check();
            let mut next_ms = end_ms;
            if let Some(((at_ms, _), _)) = self.events.first_key_value() {
                next_ms = next_ms.min(*at_ms);
            }
            for client in self.clients.values() {
                let deadline = client.member.next_deadline(self.now_ms);
                next_ms = next_ms.min(deadline.unwrap_or(end_ms));
                if client.stuck_until_ms > self.now_ms {
                    next_ms = next_ms.min(client.stuck_until_ms);
                }
            }
            let coordinator_at = self.coordinator.wake_at_ms().unwrap_or(end_ms);
            next_ms = next_ms.min(coordinator_at).max(self.now_ms);
            self.coordinator.advance(next_ms);
            self.now_ms = next_ms;
            self.take_answers();
            while let Some(entry) = self.events.first_entry() {
                if entry.key().0 > self.now_ms {
                    break;
                }
                let event = entry.remove();
                if let Some(id) = self.handle(event) {
                    self.drive(id);
                }
                self.take_answers();
                self.check();
            }
            if self.now_ms >= end_ms {
                return;
            }
        }
    }

    /// No two members that the coordinator counts on have the same partition.
    fn check(&mut self) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let mut owners = BTreeMap::new();
        for (id, client) in &self.clients {
            if !self.coordinator.counts_on(&client.member, client.instance_id.is_some()) {
                continue;
            }
            for partition in &client.application.owned {
                let other = owners.insert(partition, id);
                assert!(other.is_none(), "{partition} is owned by {id} and {other:?}");
            }
        }
    }

    fn chaos(&mut self) {
        let ids: Vec<ClientId> = self.clients.keys().copied().collect();
        let any = |random: &mut Random| ids.get(random.below(ids.len() as u64) as usize).copied();
        match self.random.below(12) {
            0..=3 if self.clients.len() < 6 => {
                let instance = format!("i{}", self.random.below(3));
                let taken =
                    self.clients.values().any(|c| c.instance_id.as_ref() == Some(&instance));
                let is_static = !taken && self.random.one_in(3);
                self.join(is_static.then_some(instance));
            }
            4 => {
                if let Some(id) = any(&mut self.random) {
                    self.note(|| format!("{id} crashes"));
                    self.clients.remove(&id);
                }
            }
            5 => {
                if let Some(id) = any(&mut self.random) {
                    self.note(|| format!("{id} leaves"));
                    self.with(id, |client, now_ms| client.member.leave(OnLeave::Default, now_ms));
                }
            }
            6 => {
                if let Some(id) = any(&mut self.random) {
                    self.note(|| format!("{id} is stuck"));
                    let until = self.now_ms + self.random.below(40_000);
                    self.with(id, |client, _| client.stuck_until_ms = until);
                }
            }
            7 => {
                let topic = format!("t{}", self.random.below(self.topics.len() as u64));
                *self.topics.entry(topic.into()).or_default() += 1;
                self.coordinator.topics_changed(&self.topics);
                self.note(|| format!("topics are {:?}", self.topics));
                for id in ids {
                    let at_ms = self.now_ms + self.random.below(5_000);
                    self.schedule(at_ms, Event::Metadata(id));
                }
            }
            8 => {
                let subscription = self.subscription();
                if let Some(id) = any(&mut self.random) {
                    self.note(|| format!("{id} subscribes to {subscription:?}"));
                    let at_ms = self.now_ms + self.random.below(1_000);
                    self.with(id, |client, now_ms| {
                        client.subscription.clone_from(&subscription);
                        let subscription = SubscribedTopics::Topics(subscription);
                        client.member.set_subscription(subscription, now_ms);
                    });
                    self.schedule(at_ms, Event::Metadata(id));
                }
            }
            9 => {
                self.note(|| "the coordinator moves".into());
                self.has_moved = true;
                self.coordinator.fail_over();
            }
            _ => {}
        }
    }

    fn with(&mut self, id: ClientId, change: impl FnOnce(&mut Client, u64)) {
        if let Some(client) = self.clients.get_mut(&id) {
            change(client, self.now_ms);
            self.drive(id);
        }
    }

    /// Every partition that somebody subscribed to has one owner, and all are content.
    fn check_settled(&self) {
        let mut owned = BTreeSet::new();
        let mut subscribed = BTreeSet::new();
        for (id, client) in &self.clients {
            let why = client.member.why();
            let count = client.application.owned.len();
            assert_eq!(why, GroupStatus::Stable { partitions: count }, "{id}");
            owned.extend(&client.application.owned);
            subscribed.extend(&client.subscription);
        }
        let expected: i32 = subscribed.into_iter().map(|topic| self.topics[topic]).sum();
        assert_eq!(owned.len(), expected as usize, "partitions without an owner");
    }
}

/// The whole of it, to an end at which all is well.
pub(super) fn simulate<C: Coordinator>(world: &mut GroupSimulation<C>) {
    for _ in 0..1 + world.random.below(3) {
        world.join(None);
    }
    while world.now_ms < CHAOS_MS {
        let pause_ms = world.random.below(6_000);
        world.run(world.now_ms + pause_ms);
        world.chaos();
    }
    world.is_calm = true;
    world.note(|| "calm".into());
    world.join(None);
    world.run(world.now_ms + SETTLING_MS);
    world.check_settled();
}

/// Runs the seeds; one that fails is run once more and shown.
pub(super) fn run_seeds<C: Coordinator>(family: &str, usual: u64, coordinator: impl Fn() -> C) {
    let _ran = crate::core::seeds::run(family, usual, 15, |seed| {
        let run = || simulate(&mut GroupSimulation::new(coordinator(), seed, false));
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            eprintln!("seed {seed}:");
            simulate(&mut GroupSimulation::new(coordinator(), seed, true));
            panic!("seed {seed} failed the first time only");
        }
    });
}

fn show(request: &GroupRequest) -> String {
    match request {
        GroupRequest::Join(r) => {
            format!("join {} ({})", r.member_id, r.reason.as_deref().unwrap_or_default())
        }
        GroupRequest::Sync(r) => format!("sync {} {}", r.generation_id, r.assignments.len()),
        GroupRequest::Heartbeat(r) => format!("heartbeat {}", r.generation_id),
        GroupRequest::Leave(_) => "leave".into(),
        GroupRequest::ConsumerHeartbeat(r) => {
            format!("heartbeat {} {:?}", r.member_epoch, r.topic_partitions)
        }
    }
}
