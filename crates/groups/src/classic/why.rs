//! Why a classic group rebalances, and whom it waits for: what is known of the rebalance that is under way.
//! When it is over it goes to those that [`Rebalances`](crate::rebalances::Rebalances) keeps.
//!
//! Nothing decides by what is kept here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use thalweg_wire::messages::ConsumerProtocolAssignment;
use thalweg_wire::messages::group_rebalances::{GroupRebalance, PartitionMove, RebalanceTrigger};

use super::group::{ClassicGroup, Env};
use super::join::Join;
use super::member::Member;
use super::state::ClassicGroupState;
use crate::consumer::{read_assignment, subscription_of};
use crate::rebalances::{
    RebalanceCounters, TRIGGERS_KEPT, TriggerKind, WaitStep, keep, text, trigger, unowned_ms,
};
use crate::subscription::subscribed_topics;

/// Members that are told of that a rebalance waits for.
const WAITS_TOLD: usize = 16;

/// What a member had before a rebalance.
#[derive(Debug)]
struct Had {
    assignment: Bytes,
    /// When it heard that it has to join again; -1 if it did so by itself.
    told_ms: i64,
    /// When it joined again, or was taken out; -1 if it has not.
    came_ms: i64,
    /// It joined again and goes on owning partitions, as cooperative members do.
    keeps: bool,
}

/// What a cooperative member is to give up since its last assignment.
#[derive(Debug)]
struct Revoking {
    told_ms: i64,
    freed_ms: i64,
    partitions: Vec<(Box<str>, i32)>,
}

/// A rebalance that is not over.
#[derive(Debug)]
struct Open {
    /// Without its end.
    rebalance: GroupRebalance,
    had: BTreeMap<Arc<str>, Had>,
    /// Who joined last.
    last_joined: Arc<str>,
    /// Since when partitions have no owner that members have not asked for.
    unsynced: BTreeMap<Arc<str>, Vec<i64>>,
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
}

impl RebalanceAccount {
    /// The member of an instance has another id.
    pub(super) fn renamed(&mut self, before: &str, member: &Arc<str>) {
        if let Some(open) = &mut self.open {
            if let Some(had) = open.had.remove(before) {
                open.had.insert(member.clone(), had);
            }
            if let Some(since) = open.unsynced.remove(before) {
                open.unsynced.insert(member.clone(), since);
            }
            for moved in &mut open.rebalance.moves {
                for end in [&mut moved.from, &mut moved.to] {
                    if end.as_deref() == Some(before) {
                        *end = Some(text(member));
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
            triggers.push(trigger(TriggerKind::Coordinator, "", "", ""));
            trigger_count = 1;
        }
        env.rebalances.count_trigger(&triggers);
        let mut had = BTreeMap::new();
        if let Some(open) = self.why.open.take() {
            let Open { mut rebalance, had: before, .. } = *open;
            if self.is(ClassicGroupState::CompletingRebalance) {
                had = before;
            }
            rebalance.superseded_by = epoch;
            env.rebalances.ended(&self.id, rebalance, now_ms);
        }
        if self.is(ClassicGroupState::Stable) {
            let members = self.members.values().map(|member| (member.id.clone(), Had::of(member)));
            had.extend(members);
            had.extend(self.why.gone.drain(..));
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
        for since in open.unsynced.remove(member_id).unwrap_or_default() {
            env.rebalances.counters_mut().unowned.add(now_ms.saturating_sub(since).max(0));
        }
        for moved in &mut open.rebalance.moves {
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
            env.rebalances.ended(&self.id, open.rebalance, env.now.wall_ms);
        }
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
        // Whose each partition was, when that was told to give it up, and when it did.
        let mut owners: HashMap<(&str, i32), Owner<'_>> = HashMap::new();
        for (member, revoking) in &revoking {
            let (told_ms, freed_ms) = (revoking.told_ms, revoking.freed_ms);
            for (topic, partition) in &revoking.partitions {
                let owner = Owner { member, told_ms, freed_ms, keeps: false };
                owners.insert((topic, *partition), owner);
            }
        }
        for (member, had, assignment) in &read {
            let keeps = had.keeps && self.members.contains_key(&***member);
            let freed_ms = if keeps { -1 } else { had.came_ms };
            for topic in &assignment.assigned_partitions {
                for partition in &topic.partitions {
                    let owner = Owner { member, told_ms: had.told_ms, freed_ms, keeps };
                    owners.insert((&topic.topic, *partition), owner);
                }
            }
        }
        let counters = env.rebalances.counters_mut();
        let rebalance = &mut open.rebalance;
        for (member, assignment) in &has {
            let is_taken = !self.pending_sync.contains(&member.id);
            for topic in &assignment.assigned_partitions {
                for &partition in &topic.partitions {
                    let owner = owners.remove(&(topic.topic.as_str(), partition));
                    if owner.as_ref().is_some_and(|owner| **owner.member == *member.id) {
                        continue;
                    }
                    let moved = PartitionMove {
                        topic: text(&topic.topic),
                        partition,
                        from: owner.as_ref().map(|owner| text(owner.member)),
                        to: Some(text(&member.id)),
                        told_ms: owner.as_ref().map_or(-1, |owner| owner.told_ms),
                        freed_ms: owner.map_or(rebalance.began_ms, |owner| owner.freed_ms),
                        taken_ms: if is_taken { now_ms } else { -1 },
                        ..Default::default()
                    };
                    if is_taken {
                        counters.unowned.add(unowned_ms(&moved));
                    } else if moved.freed_ms >= 0 {
                        let since = open.unsynced.entry(member.id.clone()).or_default();
                        since.push(moved.freed_ms);
                    }
                    note_move(rebalance, counters, moved);
                }
            }
        }
        for ((topic, partition), owner) in owners {
            if owner.keeps {
                // The next rebalance, which its member begins when it has given it up, tells where it goes.
                let member = owner.member.clone();
                let revoking = self.why.revoking.entry(member).or_insert_with(|| Revoking {
                    told_ms: now_ms,
                    freed_ms: -1,
                    partitions: Vec::new(),
                });
                revoking.partitions.push((topic.into(), partition));
                continue;
            }
            let moved = PartitionMove {
                topic: text(topic),
                partition,
                from: Some(text(owner.member)),
                to: None,
                told_ms: owner.told_ms,
                freed_ms: owner.freed_ms,
                ..Default::default()
            };
            note_move(rebalance, counters, moved);
        }
    }

    /// The rebalance that is under way, with those it waits for.
    pub(crate) fn rebalance_under_way(&self) -> Option<GroupRebalance> {
        let mut rebalance = self.why.open.as_ref()?.rebalance.clone();
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

/// Who had a partition.
struct Owner<'a> {
    member: &'a Arc<str>,
    told_ms: i64,
    freed_ms: i64,
    /// It has it still.
    keeps: bool,
}

fn note_move(
    rebalance: &mut GroupRebalance,
    counters: &mut RebalanceCounters,
    moved: PartitionMove,
) {
    counters.moves += 1;
    if moved.told_ms >= 0 && moved.freed_ms >= 0 {
        counters.revocation.add(moved.freed_ms.saturating_sub(moved.told_ms).max(0));
    }
    rebalance.move_count = rebalance.move_count.saturating_add(1);
    keep(rebalance, moved);
}
