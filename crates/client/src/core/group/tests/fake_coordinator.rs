//! As much of a KIP-848 coordinator as a member can tell from a real one: epochs, a target for
//! everybody, and partitions that go to nobody else before their owner said that it let go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_wire::messages::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use thalweg_wire::{ErrorCode, Uuid};

use super::topic_id;

type Partitions = BTreeMap<Uuid, BTreeSet<i32>>;

pub(super) const HEARTBEAT_INTERVAL_MS: i32 = 2_000;
const SESSION_TIMEOUT_MS: u64 = 10_000;

#[derive(Debug, Default)]
struct FakeMember {
    epoch: i32,
    previous_epoch: i32,
    instance_id: Option<String>,
    topics: BTreeSet<String>,
    rebalance_timeout_ms: u64,
    /// What it has, as far as the coordinator lets it.
    assigned: Partitions,
    /// What it was told to give up and has not said that it did.
    revoking: Partitions,
    /// What it was told last.
    told: Option<Partitions>,
    session_ends_ms: u64,
    revoking_ends_ms: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct FakeCoordinator {
    now_ms: u64,
    epoch: i32,
    members: BTreeMap<String, FakeMember>,
    topics: BTreeMap<Uuid, (Arc<str>, i32)>,
    targets: BTreeMap<String, Partitions>,
}

impl FakeCoordinator {
    pub fn set_topics(&mut self, topics: &BTreeMap<Arc<str>, i32>) {
        let with_id = |(name, &count): (&Arc<str>, &i32)| (topic_id(name), (name.clone(), count));
        self.topics = topics.iter().map(with_id).collect();
        self.assign();
    }

    /// Whether the coordinator has that member.
    pub fn knows(&self, member_id: &str) -> bool {
        self.members.contains_key(member_id)
    }

    pub fn wake_at_ms(&self) -> Option<u64> {
        let ends = |member: &FakeMember| {
            member.revoking_ends_ms.unwrap_or(u64::MAX).min(member.session_ends_ms)
        };
        self.members.values().map(ends).min()
    }

    /// Members that were not heard of, or do not let go, are out.
    pub fn advance(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        let before = self.members.len();
        self.members.retain(|_, member| {
            let is_late = member.revoking_ends_ms.is_some_and(|ends_ms| now_ms >= ends_ms);
            now_ms < member.session_ends_ms && !is_late
        });
        if self.members.len() < before {
            self.assign();
        }
    }

    pub fn heartbeat(
        &mut self,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse {
        match self.handle(request) {
            Ok(response) => response,
            Err(error_code) => ConsumerGroupHeartbeatResponse { error_code, ..Default::default() },
        }
    }

    fn handle(
        &mut self,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<ConsumerGroupHeartbeatResponse, ErrorCode> {
        let id = request.member_id.as_str();
        match request.member_epoch {
            -1 => {
                self.members.remove(id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
                self.assign();
                return Ok(left(-1));
            }
            // Its place is kept for as long as its session lasts.
            -2 => {
                let member = self.members.get_mut(id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
                member.epoch = -2;
                return Ok(left(-2));
            }
            0 => self.join(request)?,
            epoch => self.check_epoch(id, epoch, request)?,
        }
        let now_ms = self.now_ms;
        let Some(member) = self.members.get_mut(id) else {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        };
        member.session_ends_ms = now_ms + SESSION_TIMEOUT_MS;
        let mut is_new = false;
        if let Some(names) = &request.subscribed_topic_names {
            let names: BTreeSet<String> = names.iter().cloned().collect();
            is_new = names != member.topics || request.member_epoch == 0;
            member.topics = names;
        }
        if is_new {
            self.assign();
        }
        self.reconcile(id, request);
        let Some(member) = self.members.get_mut(id) else {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        };
        let is_full = request.member_epoch == 0 || request.rebalance_timeout_ms > 0;
        let is_told = member.told.as_ref() == Some(&member.assigned) && !is_full;
        member.told = Some(member.assigned.clone());
        let assignment = (!is_told).then(|| Assignment {
            topic_partitions: listed(&member.assigned),
            ..Assignment::default()
        });
        Ok(ConsumerGroupHeartbeatResponse {
            member_id: Some(id.to_owned()),
            member_epoch: member.epoch,
            heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
            assignment,
            ..ConsumerGroupHeartbeatResponse::default()
        })
    }

    fn join(&mut self, request: &ConsumerGroupHeartbeatRequest) -> Result<(), ErrorCode> {
        // Kafka refuses joins that do not say all there is to say.
        let owns_nothing = request.topic_partitions.as_ref().is_some_and(Vec::is_empty);
        if !owns_nothing
            || request.rebalance_timeout_ms <= 0
            || request.subscribed_topic_names.is_none()
        {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        let mut member = FakeMember {
            instance_id: request.instance_id.clone(),
            rebalance_timeout_ms: request.rebalance_timeout_ms as u64,
            ..FakeMember::default()
        };
        let is_same = |(id, other): (&String, &FakeMember)| {
            let is_same = other.instance_id.is_some() && other.instance_id == member.instance_id;
            (is_same && *id != request.member_id).then(|| id.clone())
        };
        if let Some(other) = self.members.iter().find_map(is_same) {
            if self.members[&other].epoch != -2 {
                return Err(ErrorCode::UNRELEASED_INSTANCE_ID);
            }
            // It takes the place, with what the other had.
            let before = self.members.remove(&other).unwrap_or_default();
            member.assigned = before.assigned;
            if let Some(target) = self.targets.remove(&other) {
                self.targets.insert(request.member_id.clone(), target);
            }
        }
        self.members.insert(request.member_id.clone(), member);
        Ok(())
    }

    fn check_epoch(
        &self,
        id: &str,
        epoch: i32,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<(), ErrorCode> {
        let member = self.members.get(id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        // The answer that raised the epoch may not have arrived.
        let owns_no_more = request.topic_partitions.as_ref().is_some_and(|owned| {
            owned.iter().all(|topic| {
                let assigned = member.assigned.get(&topic.topic_id);
                let has = |index| assigned.is_some_and(|assigned| assigned.contains(index));
                topic.partitions.iter().all(has)
            })
        });
        if epoch == member.epoch || (epoch == member.previous_epoch && owns_no_more) {
            Ok(())
        } else {
            Err(ErrorCode::FENCED_MEMBER_EPOCH)
        }
    }

    /// A new target for everybody, which need not look like the last.
    fn assign(&mut self) {
        self.epoch += 1;
        self.targets = self.members.keys().map(|id| (id.clone(), Partitions::new())).collect();
        for (id, (name, count)) in &self.topics {
            let subscribed = |(member_id, member): (&String, &FakeMember)| {
                member.topics.contains(&**name).then(|| member_id.clone())
            };
            let subscribers: Vec<String> = self.members.iter().filter_map(subscribed).collect();
            for index in 0..*count {
                let turn = (index + self.epoch) as usize % subscribers.len().max(1);
                let target = subscribers.get(turn).and_then(|id| self.targets.get_mut(id));
                if let Some(target) = target {
                    target.entry(*id).or_default().insert(index);
                }
            }
        }
    }

    fn reconcile(&mut self, id: &str, request: &ConsumerGroupHeartbeatRequest) {
        let target = self.targets.get(id).cloned().unwrap_or_default();
        let taken: BTreeSet<(Uuid, i32)> = self
            .members
            .iter()
            .filter(|(other, _)| *other != id)
            .flat_map(|(_, other)| flat(&other.assigned).chain(flat(&other.revoking)))
            .collect();
        let Some(member) = self.members.get_mut(id) else { return };
        if !member.revoking.is_empty() {
            let Some(owned) = &request.topic_partitions else { return };
            let still = |(topic, index): (Uuid, i32)| {
                owned.iter().any(|t| t.topic_id == topic && t.partitions.contains(&index))
            };
            if flat(&member.revoking).any(still) {
                return;
            }
            member.revoking.clear();
            member.revoking_ends_ms = None;
        }
        let (stays, goes): (Vec<_>, Vec<_>) = flat(&member.assigned)
            .partition(|(id, index)| target.get(id).is_some_and(|t| t.contains(index)));
        member.assigned = collected(stays);
        if !goes.is_empty() && request.member_epoch != 0 {
            member.revoking = collected(goes);
            member.revoking_ends_ms = Some(self.now_ms + member.rebalance_timeout_ms);
            return;
        }
        let free = flat(&target).filter(|partition| !taken.contains(partition));
        for (id, index) in free.collect::<Vec<_>>() {
            member.assigned.entry(id).or_default().insert(index);
        }
        if member.epoch != self.epoch {
            member.previous_epoch = member.epoch;
            member.epoch = self.epoch;
        }
    }
}

fn left(member_epoch: i32) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse { member_epoch, ..Default::default() }
}

fn flat(partitions: &Partitions) -> impl Iterator<Item = (Uuid, i32)> {
    partitions.iter().flat_map(|(&id, indexes)| indexes.iter().map(move |&index| (id, index)))
}

fn collected(partitions: Vec<(Uuid, i32)>) -> Partitions {
    let mut all = Partitions::new();
    for (id, index) in partitions {
        all.entry(id).or_default().insert(index);
    }
    all
}

fn listed(partitions: &Partitions) -> Vec<TopicPartitions> {
    let topic = |(&topic_id, indexes): (&Uuid, &BTreeSet<i32>)| TopicPartitions {
        topic_id,
        partitions: indexes.iter().copied().collect(),
        ..TopicPartitions::default()
    };
    partitions.iter().map(topic).collect()
}
