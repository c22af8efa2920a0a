//! Why a classic group rebalances, and whom it waits for: what is known of the rebalance that is under way.
//! When it is over it goes to those that [`Rebalances`](crate::rebalances::Rebalances) keeps.
//!
//! Nothing decides by what is kept here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use thalweg_wire::messages::ConsumerProtocolAssignment;
use thalweg_wire::messages::group_rebalances::{GroupRebalance, PartitionMove, RebalanceTrigger};

use super::group::{ClassicGroup, Env};
use super::join::Join;
use super::state::ClassicGroupState;
use crate::formats::{read_assignment, subscribed_topics, subscription_of};
use crate::model::{Member, RebalanceCounters, TriggerKind};
use crate::rebalances::{MOVES_KEPT, TRIGGERS_KEPT, WaitStep, text, trigger, unowned_between};

/// Members that are told of that a rebalance waits for.
const WAITS_TOLD: usize = 16;

/// What a member had before a rebalance.
#[derive(Debug)]
struct Had {
    assignment: Bytes,
    /// When it heard that it has to join again; -1 if it did so by itself.
    told_ms: i64,
    /// Since when it has given its partitions up, by joining again or by being taken out; -1 if it has not.
    came_ms: i64,
    /// It joined again and goes on owning partitions, as cooperative members do.
    keeps: bool,
}

/// What a cooperative member is to give up since its last assignment.
#[derive(Debug)]
struct Revoking {
    told_ms: i64,
    freed_ms: i64,
    /// What it had before that.
    assignment: Bytes,
}

/// A rebalance that is not over.
#[derive(Debug)]
struct Open {
    /// Without its end.
    rebalance: GroupRebalance,
    had: BTreeMap<Arc<str>, Had>,
    /// Who joined last.
    last_joined: Arc<str>,
    /// Since when partitions have no owner that members have not asked for, and how many.
    unsynced: BTreeMap<Arc<str>, BTreeMap<i64, u64>>,
    /// With the names of their topics.
    moves: Vec<(String, Moved)>,
}

impl Open {
    /// What is told of it.
    fn tell(&self) -> GroupRebalance {
        let moves = self.moves.iter().map(|(topic, moved)| moved.describe(topic)).collect();
        GroupRebalance { moves, ..self.rebalance.clone() }
    }
}

/// What is known of a group's rebalance, if there is one.
#[derive(Debug, Default)]
pub(super) struct RebalanceAccount {
    /// What was seen in the step of now that begins one, if one begins.
    triggers: Vec<RebalanceTrigger>,
    trigger_count: i32,
    /// What members had that were taken out in it.
    gone: Vec<(Arc<str>, Had)>,
    open: Option<Box<Open>>,
    revoking: BTreeMap<Arc<str>, Revoking>,
    /// When the group ended, or became one of another type.
    vanished_ms: i64,
}

impl RebalanceAccount {
    /// The member of an instance has another id.
    pub(super) fn renamed(&mut self, before: &str, member: &Arc<str>) {
        if let Some(open) = &mut self.open {
            if let Some(had) = open.had.remove(before) {
                // The process that joined before, if it did, is not the one that does now.
                open.had.insert(member.clone(), Had { came_ms: -1, keeps: false, ..had });
            }
            if let Some(since) = open.unsynced.remove(before) {
                open.unsynced.insert(member.clone(), since);
            }
            for (_, moved) in &mut open.moves {
                for end in [&mut moved.from, &mut moved.to] {
                    if end.as_deref() == Some(before) {
                        *end = Some(member.clone());
                    }
                }
            }
        }
        if let Some(revoking) = self.revoking.remove(before) {
            self.revoking.insert(member.clone(), revoking);
        }
    }

    /// A member that owns partitions hears that it has to join again.
    pub(super) fn told(&mut self, member_id: &str, now_ms: i64) {
        if let Some(open) = &mut self.open
            && let Some(had) = open.had.get_mut(member_id)
            && had.told_ms < 0
            && had.came_ms < 0
        {
            had.told_ms = now_ms;
        }
    }
}

impl Had {
    fn of(member: &Member) -> Had {
        Had { assignment: member.assignment.clone(), told_ms: -1, came_ms: -1, keeps: false }
    }
}

fn owns_partitions(member: &Member) -> bool {
    let first = member.protocols.first().and_then(|first| subscription_of(&first.metadata));
    first.is_some_and(|said| said.owned_partitions.iter().any(|topic| !topic.partitions.is_empty()))
}

impl ClassicGroup {
    /// A request, a timer or an event is handled: what was seen in the last one has begun a rebalance, or is
    /// no reason for one.
    pub(crate) fn begin_step(&mut self) {
        self.why.triggers.clear();
        self.why.trigger_count = 0;
        self.why.gone.clear();
    }

    /// Takes note of what may begin a rebalance, or of what has happened while members join.
    pub(super) fn note(&mut self, kind: TriggerKind, member_id: &str, client_id: &str, why: &str) {
        let open = self.why.open.as_mut();
        let joining = open.filter(|_| self.state == ClassicGroupState::PreparingRebalance);
        let (triggers, count) = match joining {
            Some(open) => (&mut open.rebalance.triggers, &mut open.rebalance.trigger_count),
            None => (&mut self.why.triggers, &mut self.why.trigger_count),
        };
        *count = count.saturating_add(1);
        if triggers.len() < TRIGGERS_KEPT {
            triggers.push(trigger(kind, member_id, client_id, why));
        }
    }

    /// Takes note of somebody who was given an id and does not come back with it.
    pub(super) fn note_pending_removed(&mut self, member_id: &str, env: &Env<'_>) {
        self.note(TriggerKind::Left, member_id, "", env.rebalances.reason_given());
    }

    /// Takes note of a rebalance that the coordinator itself begins.
    pub(crate) fn note_coordinator(&mut self, why: &str) {
        self.note(TriggerKind::Coordinator, "", "", why);
    }

    /// Takes note of a member that comes back to a group that does not rebalance, before it is changed by
    /// what it says.
    pub(super) fn note_rejoin(&mut self, join: &Join<'_>) {
        let request = join.request;
        if self.is(ClassicGroupState::PreparingRebalance) {
            return;
        }
        let protocol = self.protocol_name.as_deref().unwrap_or_default();
        let before = self.members.get(&*request.member_id).map(|member| member.metadata(protocol));
        let now = request.protocols.iter().find(|offered| offered.name == protocol);
        let topics = |metadata: &Bytes| subscribed_topics(metadata).ok();
        let kind =
            match (before.as_ref().and_then(topics), now.and_then(|now| topics(&now.metadata))) {
                (Some(before), Some(now)) if self.uses_consumer_protocol() && before != now => {
                    TriggerKind::Subscription
                }
                _ => TriggerKind::Rejoined,
            };
        let reason = request.reason.as_deref().unwrap_or_default();
        self.note(kind, &request.member_id, &join.context.client_id, reason);
    }

    /// Takes note of a member that is taken out.
    pub(super) fn note_removed(&mut self, member: &Member, env: &Env<'_>) {
        self.note(TriggerKind::Left, &member.id, &member.client_id, env.rebalances.reason_given());
        let now_ms = env.now.wall_ms;
        if let Some(revoking) = self.why.revoking.get_mut(&member.id)
            && revoking.freed_ms < 0
        {
            revoking.freed_ms = now_ms;
        }
        if self.is(ClassicGroupState::Stable) {
            let gone = Had { came_ms: now_ms, ..Had::of(member) };
            self.why.gone.push((member.id.clone(), gone));
        } else if let Some(open) = &mut self.why.open
            && let Some(had) = open.had.get_mut(&member.id)
            && (had.came_ms < 0 || had.keeps)
        {
            had.came_ms = now_ms;
            had.keeps = false;
        }
    }

    /// A rebalance begins: members are to join again. The state is still the one before.
    pub(super) fn note_begin(&mut self, env: &mut Env<'_>) {
        let now_ms = env.now.wall_ms;
        let epoch = self.generation.wrapping_add(1);
        let mut triggers = std::mem::take(&mut self.why.triggers);
        let mut trigger_count = std::mem::take(&mut self.why.trigger_count);
        if triggers.is_empty() {
            triggers.push(trigger(TriggerKind::Coordinator, "", "", "of no reason that is known"));
            trigger_count = 1;
        }
        env.rebalances.count_trigger(&triggers);
        let mut had = BTreeMap::new();
        let mut unsynced = BTreeMap::new();
        if let Some(mut open) = self.why.open.take() {
            open.rebalance.superseded_by = epoch;
            env.rebalances.ended(&self.id, open.tell(), now_ms);
            if self.is(ClassicGroupState::CompletingRebalance) {
                had = open.had;
            }
            unsynced = open.unsynced;
        }
        if self.is(ClassicGroupState::Stable) {
            let members = self.members.values().map(|member| (member.id.clone(), Had::of(member)));
            had.extend(members);
            had.extend(self.why.gone.drain(..));
        }
        for (member, since) in unsynced {
            // It never had what it was assigned.
            if let Some((had, (since, _))) = had.get_mut(&member).zip(since.first_key_value()) {
                had.came_ms = *since;
                had.keeps = false;
            }
        }
        // Those who have joined again already keep their time only if they need not do so once more.
        for had in had.values_mut().filter(|had| had.keeps) {
            had.came_ms = -1;
        }
        self.why.open = Some(Box::new(Open {
            rebalance: GroupRebalance {
                epoch,
                began_ms: now_ms,
                members: i32::try_from(self.members.len()).unwrap_or(i32::MAX),
                triggers,
                trigger_count,
                ..Default::default()
            },
            had,
            last_joined: "".into(),
            unsynced: BTreeMap::new(),
            moves: Vec::new(),
        }));
        let joined = self.members.values().filter(|member| member.is_awaiting_join());
        let joined: Vec<Arc<str>> = joined.map(|member| member.id.clone()).collect();
        for member_id in joined {
            self.note_joined(&member_id, now_ms);
        }
    }

    /// A member has joined, or joined again.
    pub(super) fn note_joined(&mut self, member_id: &str, now_ms: i64) {
        let Some(member) = self.members.get(member_id) else { return };
        if let Some(revoking) = self.why.revoking.get_mut(member_id)
            && revoking.freed_ms < 0
        {
            revoking.freed_ms = now_ms;
        }
        let Some(open) = &mut self.why.open else { return };
        open.last_joined = member.id.clone();
        if let Some(had) = open.had.get_mut(member_id).filter(|had| had.came_ms < 0) {
            had.came_ms = now_ms;
            had.keeps = !had.assignment.is_empty() && owns_partitions(member);
        }
    }

    /// All members have joined again: the group is in its next generation.
    pub(super) fn note_joined_all(&mut self, env: &mut Env<'_>) {
        let now_ms = env.now.wall_ms;
        let is_empty = self.is(ClassicGroupState::Empty);
        let Some(open) = &mut self.why.open else { return };
        open.rebalance.epoch = self.generation;
        open.rebalance.members = i32::try_from(self.members.len()).unwrap_or(i32::MAX);
        if is_empty {
            self.note_moves(env);
            self.note_end(env);
        } else {
            open.rebalance.waits.push(WaitStep::Join.wait(&open.last_joined, now_ms));
        }
    }

    /// The generation's assignment is written, and not handed out yet.
    pub(super) fn note_assigned(&mut self, env: &mut Env<'_>) {
        let Some(open) = &mut self.why.open else { return };
        let now_ms = env.now.wall_ms;
        let leader = self.leader.as_deref().unwrap_or_default();
        open.rebalance.waits.push(WaitStep::Assignment.wait(leader, now_ms));
        open.rebalance.assigned_ms = now_ms;
        self.note_moves(env);
        if self.pending_sync.is_empty() {
            self.note_end(env);
        }
    }

    /// A member has its assignment.
    pub(super) fn note_synced(&mut self, member_id: &str, env: &mut Env<'_>) {
        let Some(open) = &mut self.why.open else { return };
        let now_ms = env.now.wall_ms;
        for (since, count) in open.unsynced.remove(member_id).unwrap_or_default() {
            for _ in 0..count {
                env.rebalances.counters_mut().unowned.add(now_ms.saturating_sub(since).max(0));
            }
        }
        for (_, moved) in &mut open.moves {
            if moved.taken_ms < 0 && moved.to.as_deref() == Some(member_id) {
                moved.taken_ms = now_ms;
            }
        }
        if self.pending_sync.is_empty() {
            open.rebalance.waits.push(WaitStep::Sync.wait(member_id, now_ms));
            self.note_end(env);
        }
    }

    fn note_end(&mut self, env: &mut Env<'_>) {
        if let Some(open) = self.why.open.take() {
            env.rebalances.ended(&self.id, open.tell(), env.now.wall_ms);
        }
    }

    /// The group ends, or becomes one of another type, if the log takes that.
    pub(crate) fn note_vanished(&mut self, now_ms: i64) {
        self.why.vanished_ms = now_ms;
    }

    /// What was under way when the group became one of another type, and when that was.
    pub(crate) fn rebalance_left(&self) -> Option<(GroupRebalance, i64)> {
        let mut rebalance = self.why.open.as_ref()?.tell();
        rebalance.superseded_by = self.generation.max(rebalance.epoch).saturating_add(1);
        Some((rebalance, self.why.vanished_ms))
    }

    /// Compares what members had with what they have: their new assignments, if they are consumers'.
    fn note_moves(&mut self, env: &mut Env<'_>) {
        let is_read = self.uses_consumer_protocol();
        let Some(open) = &mut self.why.open else { return };
        let had = std::mem::take(&mut open.had);
        let revoking = std::mem::take(&mut self.why.revoking);
        if !is_read {
            return;
        }
        let now_ms = env.now.wall_ms;
        let read: Vec<(&Arc<str>, &Had, ConsumerProtocolAssignment)> = had
            .iter()
            .filter_map(|(id, had)| Some((id, had, read_assignment(&had.assignment)?)))
            .collect();
        let has: Vec<(&Member, ConsumerProtocolAssignment)> = self
            .members
            .values()
            .filter_map(|member| Some((member, read_assignment(&member.assignment)?)))
            .collect();
        let revoked: Vec<(&Arc<str>, &Revoking, ConsumerProtocolAssignment)> = revoking
            .iter()
            .filter_map(|(id, of)| Some((id, of, read_assignment(&of.assignment)?)))
            .collect();
        let mut topics = Topics::default();
        let mut owners: HashMap<(u32, i32), Owner<'_>> = HashMap::new();
        for (member, revoking, assignment) in &revoked {
            let Revoking { told_ms, freed_ms, .. } = **revoking;
            for topic in &assignment.assigned_partitions {
                let number = topics.number(&topic.topic);
                for partition in &topic.partitions {
                    let owner = Owner { member, told_ms, freed_ms, keeps: false, is_old: true };
                    owners.insert((number, *partition), owner);
                }
            }
        }
        for (member, had, assignment) in &read {
            let keeps = had.keeps && self.members.contains_key(&***member);
            let freed_ms = if keeps { -1 } else { had.came_ms };
            for topic in &assignment.assigned_partitions {
                let number = topics.number(&topic.topic);
                for partition in &topic.partitions {
                    let told_ms = had.told_ms;
                    let owner = Owner { member, told_ms, freed_ms, keeps, is_old: false };
                    owners.insert((number, *partition), owner);
                }
            }
        }
        let began_ms = open.rebalance.began_ms;
        let mut moves = Vec::new();
        for (member, assignment) in &has {
            let is_taken = !self.pending_sync.contains(&member.id);
            for topic in &assignment.assigned_partitions {
                let number = topics.number(&topic.topic);
                for &partition in &topic.partitions {
                    let owner = owners.remove(&(number, partition));
                    if owner.as_ref().is_some_and(|owner| **owner.member == *member.id) {
                        continue;
                    }
                    let moved = Moved {
                        partition: (number, partition),
                        from: owner.as_ref().map(|owner| owner.member.clone()),
                        to: Some(member.id.clone()),
                        told_ms: owner.as_ref().map_or(-1, |owner| owner.told_ms),
                        freed_ms: owner.map_or(began_ms, |owner| owner.freed_ms),
                        taken_ms: if is_taken { now_ms } else { -1 },
                    };
                    if !is_taken && moved.freed_ms >= 0 {
                        let since = open.unsynced.entry(member.id.clone()).or_default();
                        *since.entry(moved.freed_ms).or_default() += 1;
                    }
                    moves.push(moved);
                }
            }
        }
        for (partition, owner) in owners {
            if owner.is_old {
                // Nobody has it since the rebalance before, which told so.
                continue;
            }
            if owner.keeps {
                // The next rebalance, which its member begins when it has given it up, tells where it goes.
                if let Some(had) = had.get(owner.member) {
                    self.why.revoking.entry(owner.member.clone()).or_insert_with(|| Revoking {
                        told_ms: now_ms,
                        freed_ms: -1,
                        assignment: had.assignment.clone(),
                    });
                }
                continue;
            }
            let Owner { told_ms, freed_ms, .. } = owner;
            let (from, taken_ms) = (Some(owner.member.clone()), -1);
            moves.push(Moved { partition, from, to: None, told_ms, freed_ms, taken_ms });
        }
        let counters = env.rebalances.counters_mut();
        for moved in &moves {
            moved.count(counters);
        }
        open.rebalance.move_count = i32::try_from(moves.len()).unwrap_or(i32::MAX);
        // What nobody has yet will have stood still for longest.
        moves.sort_by_key(|moved| {
            (Reverse((moved.is_on_its_way(), moved.unowned_ms())), moved.partition)
        });
        moves.truncate(MOVES_KEPT);
        let name = |moved: &Moved| text(topics.name(moved.partition.0));
        open.moves = moves.into_iter().map(|moved| (name(&moved), moved)).collect();
    }

    /// The rebalance that is under way, with those it waits for.
    pub(crate) fn rebalance_under_way(&self) -> Option<GroupRebalance> {
        let mut rebalance = self.why.open.as_ref()?.tell();
        let (step, members): (WaitStep, Vec<&Arc<str>>) = match self.state {
            ClassicGroupState::PreparingRebalance => {
                let missing = self.members.values().filter(|member| !member.is_awaiting_join());
                let missing = missing.map(|member| &member.id).chain(&self.pending_join);
                (WaitStep::Join, missing.take(WAITS_TOLD).collect())
            }
            ClassicGroupState::CompletingRebalance => {
                (WaitStep::Assignment, self.leader.iter().collect())
            }
            _ => (WaitStep::Sync, self.pending_sync.iter().take(WAITS_TOLD).collect()),
        };
        rebalance.waits.extend(members.into_iter().map(|member| step.wait(member, -1)));
        Some(rebalance)
    }
}

/// Names of topics, which clients chose, by numbers: they may be long, and are in many assignments.
#[derive(Default)]
struct Topics<'a> {
    numbers: HashMap<&'a str, u32>,
    names: Vec<&'a str>,
}

impl<'a> Topics<'a> {
    fn number(&mut self, name: &'a str) -> u32 {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX)
        })
    }

    fn name(&self, number: u32) -> &'a str {
        self.names.get(number as usize).copied().unwrap_or_default()
    }
}

/// Who had a partition, when that was told to give it up, and when it did.
struct Owner<'a> {
    member: &'a Arc<str>,
    told_ms: i64,
    freed_ms: i64,
    /// It has it still.
    keeps: bool,
    /// It was to give it up in the rebalance before.
    is_old: bool,
}

/// A partition that goes from one member to another.
#[derive(Debug)]
struct Moved {
    /// The number of its topic, and its own.
    partition: (u32, i32),
    from: Option<Arc<str>>,
    to: Option<Arc<str>>,
    told_ms: i64,
    freed_ms: i64,
    taken_ms: i64,
}

impl Moved {
    fn is_on_its_way(&self) -> bool {
        self.to.is_some() && self.taken_ms < 0
    }

    fn unowned_ms(&self) -> i64 {
        unowned_between(self.freed_ms, self.taken_ms)
    }

    fn count(&self, counters: &mut RebalanceCounters) {
        counters.moves += 1;
        if self.taken_ms >= 0 {
            counters.unowned.add(self.unowned_ms());
        }
        if self.told_ms >= 0 && self.freed_ms >= 0 {
            counters.revocation.add(self.freed_ms.saturating_sub(self.told_ms).max(0));
        }
    }

    fn describe(&self, topic: &str) -> PartitionMove {
        PartitionMove {
            topic: topic.to_owned(),
            partition: self.partition.1,
            from: self.from.as_deref().map(text),
            to: self.to.as_deref().map(text),
            told_ms: self.told_ms,
            freed_ms: self.freed_ms,
            taken_ms: self.taken_ms,
            ..Default::default()
        }
    }
}
