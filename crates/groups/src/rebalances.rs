//! Why groups rebalanced: one account of each rebalance, kept in memory for the last few.
//!
//! Of groups that the coordinator assigns everything is seen where records are replayed, so an account has what is in the log, whoever decided it:
//! what began a new epoch of the group, when its target assignment was computed, and of each partition that
//! moves when its owner was told, when that gave it up, and when the next one took it. What no record says,
//! why a member was taken out, is left here before its records are made. Rebalances at the barrier come here when
//! they are over (`classic/why.rs`).
//!
//! Nothing decides by what is kept here. After a restart it is empty.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;
use thalweg_wire::messages::group_rebalances::{
    GroupRebalance, PartitionMove, RebalanceTrigger, RebalanceWait,
};

use crate::assignor::MemberAssignment;
use crate::consumer::ConsumerGroup;
use crate::model::{ConsumerMember, RebalanceCounters, TriggerKind};

/// Rebalances that are kept of a group.
const PER_GROUP: usize = 10;
/// Moves that are kept of a rebalance that is over: those whose partition had no owner for longest.
pub(crate) const MOVES_KEPT: usize = 32;
/// Triggers that are kept of a rebalance.
pub(crate) const TRIGGERS_KEPT: usize = 16;
/// Rebalances that are kept of all groups of a partition of `__consumer_offsets`.
const PER_SHARD: usize = 500;
/// Bytes that are kept of a name or a reason, all of which clients choose. Java's cuts its reasons at 255.
const TEXT_MAX: usize = 255;

/// What a rebalance at the barrier waits for, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStep {
    /// All members to join again.
    Join,
    /// The leader's assignment.
    Assignment,
    /// All members to ask for theirs.
    Sync,
}

impl WaitStep {
    /// What is known of a step: the member that ended it, and when; or one that it waits for, and -1.
    pub(crate) fn wait(self, member: &str, ended_ms: i64) -> RebalanceWait {
        let member = text(member);
        RebalanceWait { step: self as i8, member, ended_ms, ..Default::default() }
    }
}

/// Hears of rebalances that are over, under the lock of their shard: it must not wait.
pub trait RebalanceObserver: Send + Sync {
    /// A rebalance of a group is over.
    fn is_over(&self, group: &str, rebalance: &GroupRebalance);
}

/// Whoever hears of rebalances that are over, if anybody does.
#[derive(Clone, Default)]
struct Observer(Option<Arc<dyn RebalanceObserver>>);

impl Observer {
    fn is_over(&self, group: &str, rebalance: &GroupRebalance) {
        if let Some(observer) = &self.0 {
            observer.is_over(group, rebalance);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}

type Partition = (Uuid, i32);

/// A partition on its way.
#[derive(Debug)]
struct Move {
    /// The rebalance that it belongs to.
    epoch: i32,
    from: Option<Arc<str>>,
    to: Option<Arc<str>>,
    told_ms: i64,
    freed_ms: i64,
}

/// What is known of a partition that is no more, or newly, in somebody's target assignment.
#[derive(Debug, Default)]
struct Change {
    from: Option<Arc<str>>,
    to: Option<Arc<str>>,
    /// When its owner was taken out; -1 if it was not.
    freed_ms: i64,
}

/// A classic group that becomes a consumer group.
#[derive(Debug)]
struct Converted {
    group: Arc<str>,
    generation: i32,
    members: BTreeSet<Arc<str>>,
}

/// The rebalances of one group.
#[derive(Debug, Default)]
struct History {
    /// Oldest first.
    all: VecDeque<GroupRebalance>,
    /// Changes of target assignments since the last one that counts.
    changes: BTreeMap<Partition, Change>,
    /// Partitions on their way.
    moving: BTreeMap<Partition, Move>,
    /// How many of them belong to each rebalance, by its epoch.
    open: BTreeMap<i32, usize>,
}

/// Something that may begin a rebalance.
#[derive(Debug)]
struct Seen {
    group: Arc<str>,
    /// Of a static member.
    instance_id: Option<Arc<str>>,
    trigger: RebalanceTrigger,
}

/// The rebalances of a shard's consumer groups.
#[derive(Debug, Default)]
pub(crate) struct Rebalances {
    groups: BTreeMap<Arc<str>, History>,
    /// Groups in the order in which their rebalances began, to forget the oldest.
    order: VecDeque<Arc<str>>,
    counters: RebalanceCounters,
    /// What was seen in the step of now: triggers, if it begins an epoch.
    seen: Vec<Seen>,
    /// Partitions that were given up in it.
    freed: Vec<Partition>,
    /// Why the members that the step of now takes out have to go.
    reason: String,
    /// The classic group that the step of now makes a consumer group.
    converted: Option<Converted>,
    observer: Observer,
}

pub(crate) fn text(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_MAX)].to_owned()
}

pub(crate) fn trigger(
    kind: TriggerKind,
    subject: &str,
    client_id: &str,
    reason: &str,
) -> RebalanceTrigger {
    RebalanceTrigger {
        kind: kind.number(),
        subject: text(subject),
        client_id: text(client_id),
        reason: text(reason),
        ..Default::default()
    }
}

impl History {
    fn change(&mut self, partition: Partition) -> &mut Change {
        self.changes
            .entry(partition)
            .or_insert_with(|| Change { freed_ms: -1, ..Default::default() })
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty() && self.changes.is_empty() && self.moving.is_empty()
    }

    fn begin_move(&mut self, partition: Partition, moved: Move) {
        *self.open.entry(moved.epoch).or_default() += 1;
        self.moving.insert(partition, moved);
    }

    fn end_move(&mut self, partition: Partition) -> Option<Move> {
        let moved = self.moving.remove(&partition)?;
        if let Some(open) = self.open.get_mut(&moved.epoch) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&moved.epoch);
            }
        }
        Some(moved)
    }

    fn find(&mut self, epoch: i32) -> Option<&mut GroupRebalance> {
        self.all.iter_mut().rev().find(|rebalance| rebalance.epoch == epoch)
    }
}

/// A move as it is told: the topic by its name, or by its id if it is gone.
fn describe(
    moved: &Move,
    (topic_id, partition): Partition,
    taken_ms: i64,
    image: &MetadataImage,
) -> PartitionMove {
    let name = image.topics.by_id(topic_id).map(|topic| topic.name.to_string());
    PartitionMove {
        topic: name.unwrap_or_else(|| topic_id.to_string()),
        partition,
        from: moved.from.as_deref().map(text),
        to: moved.to.as_deref().map(text),
        told_ms: moved.told_ms,
        freed_ms: moved.freed_ms,
        taken_ms,
        ..Default::default()
    }
}

/// How long a partition had no owner, in milliseconds.
pub fn unowned_ms(moved: &PartitionMove) -> i64 {
    unowned_between(moved.freed_ms, moved.taken_ms)
}

pub(crate) fn unowned_between(freed_ms: i64, taken_ms: i64) -> i64 {
    if freed_ms < 0 || taken_ms < 0 { 0 } else { taken_ms.saturating_sub(freed_ms).max(0) }
}

/// Keeps a move that is over with its rebalance.
fn keep(rebalance: &mut GroupRebalance, moved: PartitionMove) {
    rebalance.moves.push(moved);
    // Not one by one: each time looks at all of them.
    if rebalance.moves.len() > 4 * MOVES_KEPT {
        keep_longest(rebalance);
    }
}

fn keep_longest(rebalance: &mut GroupRebalance) {
    rebalance.moves.sort_by_key(|moved| std::cmp::Reverse(unowned_ms(moved)));
    rebalance.moves.truncate(MOVES_KEPT);
}

impl Rebalances {
    /// Somebody wants to hear of those that are over.
    pub fn observe(&mut self, observer: Arc<dyn RebalanceObserver>) {
        self.observer = Observer(Some(observer));
    }

    /// What all of them came to.
    pub fn counters(&self) -> RebalanceCounters {
        self.counters
    }

    /// The same, to count what is not seen in records.
    pub fn counters_mut(&mut self) -> &mut RebalanceCounters {
        &mut self.counters
    }

    /// Counts a rebalance by what began it first.
    pub fn count_trigger(&mut self, triggers: &[RebalanceTrigger]) {
        if let Some(first) = triggers.first().and_then(|first| TriggerKind::of(first.kind)) {
            self.counters.triggered[first as usize] += 1;
        }
    }

    /// A request, a timer or an event is handled. What was seen in the last one has begun an epoch, or is
    /// no reason for one.
    pub fn begin_step(&mut self) {
        self.seen.clear();
        self.freed.clear();
        self.reason.clear();
        self.converted = None;
    }

    /// A classic group becomes a consumer group: its members have not joined, and what they have has not moved.
    pub fn converts(&mut self, group: Arc<str>, generation: i32, members: BTreeSet<Arc<str>>) {
        self.converted = Some(Converted { group, generation, members });
    }

    /// The classic group of which the group is made in the step of now.
    fn made_of(&self, group: &str) -> Option<&Converted> {
        self.converted.as_ref().filter(|converted| *converted.group == *group)
    }

    /// Says why the members that are taken out next have to go.
    pub fn reason(&mut self, reason: &str) {
        self.reason = text(reason);
    }

    /// Why the members that are taken out now have to go.
    pub fn reason_given(&self) -> &str {
        &self.reason
    }

    /// A member is in the log as `member`, or not any more.
    pub fn member(
        &mut self,
        group: &Arc<str>,
        before: Option<&ConsumerMember>,
        member: Option<&ConsumerMember>,
    ) {
        let (kind, subject, reason) = match (before, member) {
            (None, Some(member))
                if self.made_of(group).is_some_and(|of| of.members.contains(&member.id)) =>
            {
                return;
            }
            (None, Some(member)) => (TriggerKind::Joined, member, ""),
            (Some(member), None) => (TriggerKind::Left, member, self.reason.as_str()),
            (Some(before), Some(member)) => {
                let (was, is) = (&before.metadata, &member.metadata);
                if was.topics == is.topics
                    && was.regex() == is.regex()
                    && (was.server_assignor == is.server_assignor)
                {
                    return;
                }
                (TriggerKind::Subscription, member, "")
            }
            (None, None) => return,
        };
        let instance_id = subject.metadata.instance_id.clone();
        if kind == TriggerKind::Joined && instance_id.is_some() {
            let is_before = |seen: &Seen| {
                seen.group == *group
                    && seen.instance_id == instance_id
                    && seen.trigger.kind == TriggerKind::Left.number()
            };
            if let Some(at) = self.seen.iter().position(is_before) {
                let before = self.seen.swap_remove(at);
                return self.renamed(group, &before.trigger.subject, &subject.id);
            }
        }
        let trigger = trigger(kind, &subject.id, &subject.metadata.client_id, reason);
        self.seen.push(Seen { group: group.clone(), instance_id, trigger });
    }

    /// A static member has come back under another id.
    fn renamed(&mut self, group: &Arc<str>, before: &str, member: &Arc<str>) {
        let Some(history) = self.groups.get_mut(group) else { return };
        let is_before = |id: &Option<Arc<str>>| id.as_deref() == Some(before);
        for change in history.changes.values_mut().filter(|change| is_before(&change.from)) {
            change.from = Some(member.clone());
            change.freed_ms = -1;
        }
        for change in history.changes.values_mut().filter(|change| is_before(&change.to)) {
            change.to = Some(member.clone());
        }
        for (partition, moved) in &mut history.moving {
            if is_before(&moved.from) {
                moved.from = Some(member.clone());
                if self.freed.contains(partition) {
                    moved.freed_ms = -1;
                }
            }
            if is_before(&moved.to) {
                moved.to = Some(member.clone());
            }
        }
    }

    /// A regular expression stands for other topics.
    pub fn regex(&mut self, group: &Arc<str>, regex: &str) {
        let trigger = trigger(TriggerKind::Regex, regex, "", "");
        self.seen.push(Seen { group: group.clone(), instance_id: None, trigger });
    }

    /// The group is in a new epoch.
    pub fn begins(&mut self, group: &Arc<str>, epoch: i32, members: usize, now_ms: i64) {
        if self.made_of(group).is_some_and(|of| of.generation == epoch) {
            // What it was before, as a consumer group's.
            return;
        }
        let its_own = |seen: &mut Seen| seen.group == *group;
        let seen = self.seen.extract_if(.., its_own).map(|seen| seen.trigger);
        let mut triggers: Vec<RebalanceTrigger> = seen.collect();
        if triggers.is_empty() {
            let why = "the coordinator assigns the group from here on";
            triggers.push(match self.made_of(group) {
                None => trigger(TriggerKind::Topics, "", "", ""),
                Some(_) => trigger(TriggerKind::Coordinator, "", "", why),
            });
        }
        let trigger_count = i32::try_from(triggers.len()).unwrap_or(i32::MAX);
        triggers.truncate(TRIGGERS_KEPT);
        self.count_trigger(&triggers);
        let rebalance = GroupRebalance {
            epoch,
            began_ms: now_ms,
            members: i32::try_from(members).unwrap_or(i32::MAX),
            triggers,
            trigger_count,
            ..Default::default()
        };
        self.push(group, rebalance);
    }

    /// A rebalance at the barrier is over, or has gone on as another.
    pub fn ended(&mut self, group: &Arc<str>, mut rebalance: GroupRebalance, now_ms: i64) {
        rebalance.over_ms = now_ms;
        keep_longest(&mut rebalance);
        rebalance.moves.shrink_to_fit();
        if rebalance.superseded_by < 0 {
            self.counters.took.add(now_ms.saturating_sub(rebalance.began_ms));
        }
        self.observer.is_over(group, &rebalance);
        self.push(group, rebalance);
    }

    fn push(&mut self, group: &Arc<str>, rebalance: GroupRebalance) {
        let history = self.groups.entry(group.clone()).or_default();
        let began_ms = rebalance.began_ms;
        let later = history.all.iter().rev().take_while(|other| other.began_ms > began_ms).count();
        history.all.insert(history.all.len() - later, rebalance);
        if history.all.len() > PER_GROUP {
            history.all.pop_front();
        } else {
            self.order.push_back(group.clone());
        }
        if self.order.len() > PER_SHARD
            && let Some(oldest) = self.order.pop_front()
            && let Some(history) = self.groups.get_mut(&oldest)
        {
            history.all.pop_front();
            if history.is_empty() {
                self.groups.remove(&oldest);
            }
        }
    }

    /// What a member is to own is something else, or the member is gone.
    pub fn retargeted(
        &mut self,
        group: &Arc<str>,
        member: &str,
        before: Option<&MemberAssignment>,
        target: Option<&MemberAssignment>,
        now_ms: i64,
    ) {
        let history = self.groups.entry(group.clone()).or_default();
        let member: Arc<str> = member.into();
        let each = |assignment: &MemberAssignment| -> Vec<Partition> {
            let each = assignment.iter().flat_map(|(id, all)| all.iter().map(move |p| (id, *p)));
            each.collect()
        };
        let has = |assignment: Option<&MemberAssignment>, (id, p): Partition| {
            assignment.is_some_and(|assignment| assignment.contains(id, p))
        };
        for partition in before.map(each).unwrap_or_default() {
            if !has(target, partition) {
                // More than one target assignment can come before all of one is written: who was to own it
                // first has it, and whom only one in between meant it for never has.
                let change = history.change(partition);
                if change.to.as_ref() == Some(&member) {
                    change.to = None;
                } else if change.from.is_none() {
                    change.from = Some(member.clone());
                }
                if target.is_none() && change.from.as_ref() == Some(&member) {
                    change.freed_ms = now_ms;
                }
            }
        }
        for partition in target.map(each).unwrap_or_default() {
            if !has(before, partition) {
                history.change(partition).to = Some(member.clone());
            }
        }
    }

    /// The target assignments that were written are the group's, of the epoch.
    pub fn assigned(
        &mut self,
        group: &Arc<str>,
        state: &ConsumerGroup,
        epoch: i32,
        image: &MetadataImage,
        now_ms: i64,
    ) {
        let is_made = self.made_of(group).is_some_and(|of| of.generation == epoch);
        let Some(history) = self.groups.get_mut(group) else { return };
        if is_made {
            history.changes.clear();
            return;
        }
        let is_open = |one: &&mut GroupRebalance| one.assigned_ms < 0 && one.over_ms < 0;
        for rebalance in history.all.iter_mut().filter(is_open) {
            rebalance.assigned_ms = now_ms;
            if rebalance.epoch != epoch {
                // One target assignment for both.
                rebalance.superseded_by = epoch;
                rebalance.over_ms = now_ms;
                self.observer.is_over(group, rebalance);
            }
        }
        for (partition, change) in std::mem::take(&mut history.changes) {
            let is_there = change.to.as_ref().is_some_and(|member| {
                let member = state.member(member);
                member.is_some_and(|member| member.assigned.contains(partition.0, partition.1))
            });
            let before = history.end_move(partition);
            if let Some(before) = &before
                && let Some(rebalance) = history.find(before.epoch)
            {
                // It goes elsewhere before it has come, or stays where it was.
                rebalance.superseded_by = epoch;
                keep(rebalance, describe(before, partition, -1, image));
            }
            // A static member that comes back under another id has what it had, and there are members whose
            // target assignment went back before anybody heard of it.
            if is_there || before.is_none() && change.from == change.to && change.freed_ms < 0 {
                continue;
            }
            let mut moved = Move {
                epoch,
                from: change.from,
                to: change.to,
                told_ms: -1,
                freed_ms: change.freed_ms,
            };
            if let Some(before) = before {
                // Whom it was meant for has never had it.
                moved.from = before.from;
                moved.told_ms = before.told_ms;
                moved.freed_ms = before.freed_ms;
            }
            if moved.freed_ms < 0 && !state.is_owned(partition.0, partition.1) {
                moved.freed_ms = now_ms;
            }
            self.counters.moves += 1;
            if let Some(rebalance) = history.find(epoch) {
                rebalance.move_count = rebalance.move_count.saturating_add(1);
            }
            if moved.to.is_none() && moved.freed_ms >= 0 {
                let closed = describe(&moved, partition, -1, image);
                if let Some(rebalance) = history.find(epoch) {
                    keep(rebalance, closed);
                }
                continue;
            }
            history.begin_move(partition, moved);
        }
        self.look_over(group, now_ms);
    }

    /// Whether partitions of the group are on their way: what members own needs to be told then.
    pub fn is_moving(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|history| !history.moving.is_empty())
    }

    /// A member owns something else, or is to give something up.
    pub fn reconciled(
        &mut self,
        group: &Arc<str>,
        before: Option<&ConsumerMember>,
        member: Option<&ConsumerMember>,
        image: &MetadataImage,
        now_ms: i64,
    ) {
        let Some(history) = self.groups.get_mut(group) else { return };
        let owned = |member: &ConsumerMember| -> Vec<Partition> {
            let each = member.assigned.iter().chain(member.pending_revocation.iter());
            each.map(|owned| (owned.topic_id, owned.partition)).collect()
        };
        let has = |member: Option<&ConsumerMember>, (id, p): Partition| {
            member
                .is_some_and(|m| m.assigned.contains(id, p) || m.pending_revocation.contains(id, p))
        };
        for partition in before.map(owned).unwrap_or_default() {
            let Some(moved) = history.moving.get_mut(&partition) else { continue };
            if !has(member, partition) {
                if moved.freed_ms < 0 {
                    moved.freed_ms = now_ms;
                    self.freed.push(partition);
                    if moved.told_ms >= 0 {
                        self.counters.revocation.add(now_ms.saturating_sub(moved.told_ms));
                    }
                }
                if moved.to.is_none()
                    && let Some(moved) = history.end_move(partition)
                    && let Some(rebalance) = history.find(moved.epoch)
                {
                    keep(rebalance, describe(&moved, partition, -1, image));
                }
            }
        }
        let Some(member) = member else { return self.look_over(group, now_ms) };
        for owned in member.pending_revocation.iter() {
            if let Some(moved) = history.moving.get_mut(&(owned.topic_id, owned.partition))
                && moved.told_ms < 0
            {
                moved.told_ms = now_ms;
            }
        }
        for owned in member.assigned.iter() {
            let partition = (owned.topic_id, owned.partition);
            let is_taken = history
                .moving
                .get(&partition)
                .is_some_and(|moved| moved.to.as_deref() == Some(&*member.id));
            if is_taken && let Some(moved) = history.end_move(partition) {
                let taken = describe(&moved, partition, now_ms, image);
                self.counters.unowned.add(unowned_ms(&taken));
                if let Some(rebalance) = history.find(moved.epoch) {
                    keep(rebalance, taken);
                }
            }
        }
        self.look_over(group, now_ms);
    }

    /// A classic member hears that it has to join again.
    pub fn told(&mut self, group: &str, member: &ConsumerMember, now_ms: i64) {
        let Some(history) = self.groups.get_mut(group) else { return };
        for owned in member.assigned.iter() {
            if let Some(moved) = history.moving.get_mut(&(owned.topic_id, owned.partition))
                && moved.told_ms < 0
                && moved.from.as_deref() == Some(&*member.id)
            {
                moved.told_ms = now_ms;
            }
        }
    }

    /// Rebalances none of whose partitions is on its way any more are over.
    fn look_over(&mut self, group: &Arc<str>, now_ms: i64) {
        let Some(history) = self.groups.get_mut(group) else { return };
        let open: Vec<i32> = history
            .all
            .iter()
            .filter(|rebalance| rebalance.assigned_ms >= 0 && rebalance.over_ms < 0)
            .map(|rebalance| rebalance.epoch)
            .filter(|epoch| !history.open.contains_key(epoch))
            .collect();
        for epoch in open {
            let Some(rebalance) = history.find(epoch) else { continue };
            rebalance.over_ms = now_ms;
            keep_longest(rebalance);
            rebalance.moves.shrink_to_fit();
            self.counters.took.add(now_ms.saturating_sub(rebalance.began_ms));
            self.observer.is_over(group, rebalance);
        }
    }

    /// Records of the group were taken back, and it is in this epoch, if there is one: what was seen of them
    /// is not so.
    pub fn reverted(&mut self, group: &str, epoch: Option<i32>) {
        let Some(epoch) = epoch else { return self.forget(group) };
        self.close(group, epoch);
    }

    /// The group goes on as a classic one, which knows itself what is under way in it, or is gone.
    pub fn becomes_classic(&mut self, group: &str) {
        self.close(group, i32::MAX);
    }

    /// Only what is over is kept, up to an epoch.
    pub fn close(&mut self, group: &str, epoch: i32) {
        if let Some(history) = self.groups.get_mut(group) {
            history.changes.clear();
            history.moving.clear();
            history.open.clear();
            history.all.retain(|one| one.over_ms >= 0 && one.epoch <= epoch);
            if history.all.is_empty() {
                self.groups.remove(group);
            }
        }
    }

    /// The group is gone.
    pub fn forget(&mut self, group: &str) {
        self.groups.remove(group);
        self.order.retain(|other| **other != *group);
    }

    /// The rebalances of a group, the newest first, with what is on its way.
    pub fn of(&self, group: &str, image: &MetadataImage) -> Vec<GroupRebalance> {
        let Some(history) = self.groups.get(group) else { return Vec::new() };
        let with_open = |rebalance: &GroupRebalance| {
            let mut rebalance = rebalance.clone();
            if rebalance.over_ms < 0 {
                let open =
                    history.moving.iter().filter(|(_, moved)| moved.epoch == rebalance.epoch);
                let room = MOVES_KEPT.saturating_sub(rebalance.moves.len());
                let open = open.map(|(partition, moved)| describe(moved, *partition, -1, image));
                rebalance.moves.extend(open.take(room));
            }
            rebalance
        };
        history.all.iter().rev().map(with_open).collect()
    }
}
