//! One partition's groups: routes requests, timers and records by the kind of the group ([`GroupKind`]), and
//! keeps the live groups in step with the log.
//!
//! Invariant: a live classic group exists exactly if the log says so, but for the moment between a
//! handler that creates one and the replay of its record.

mod admin;
mod classic;
mod connections;
mod consumer;
mod event;
mod held;
mod hosted;
mod newcomers;
mod offsets;
mod rebalances;
mod route;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_coordinator::{
    Account, Now, Outcome, Position, Reply, Shard, Token, UndoLog, append_error,
};
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::ErrorCode;

use connections::Connections;
use newcomers::Newcomers;

use crate::classic::ClassicGroup;
use crate::consumer::{LiveGroups, RETRY_MS, TopicHashes};
use crate::jobs::{GroupJob, GroupJobDone};
use crate::logged::{Existence, GroupEntry, GroupKind, Logged};
use crate::model::{
    GroupConfig, GroupCounters, GroupCounts, GroupEvent, GroupOutcome, GroupRecord, GroupResponse,
    GroupTimer, Submission, Then,
};
use crate::push::HeldHeartbeats;
use crate::rebalances::{RebalanceObserver, Rebalances};

type Out = GroupOutcome;

/// The groups of one partition of `__consumer_offsets`.
pub struct GroupShard {
    config: Arc<GroupConfig>,
    /// Holds what members leave behind.
    account: Arc<Account>,
    logged: Logged,
    classic_groups: BTreeMap<Arc<str>, ClassicGroup>,
    /// Groups whose end is written and not committed.
    ending: UndoLog<Arc<str>, ClassicGroup>,
    /// What is not in the log of consumer groups.
    consumer_state: LiveGroups,
    /// Heartbeats whose answers are kept back.
    held: HeldHeartbeats,
    /// The connections that members have.
    connections: Connections,
    /// JoinGroups that wait for partitions.
    newcomers: Newcomers,
    /// Why groups rebalanced.
    rebalances: Rebalances,
    /// The metadata of now.
    image: Arc<MetadataImage>,
    hashes: TopicHashes,
    counters: GroupCounters,
    loading: bool,
}

impl GroupShard {
    /// A shard whose log has not been replayed, and whose members may hold any amount of memory.
    pub fn new(config: Arc<GroupConfig>) -> GroupShard {
        GroupShard::with_account(config, Account::new(usize::MAX))
    }

    /// The same, with an account for the memory that members leave behind: what they say when they
    /// join, and their assignments. Requests for which it has no room are refused with
    /// COORDINATOR_NOT_AVAILABLE.
    pub fn with_account(config: Arc<GroupConfig>, account: Arc<Account>) -> GroupShard {
        GroupShard {
            config,
            logged: Logged::new(Arc::clone(&account)),
            account,
            classic_groups: BTreeMap::new(),
            ending: UndoLog::default(),
            consumer_state: LiveGroups::default(),
            held: HeldHeartbeats::default(),
            connections: Connections::default(),
            newcomers: Newcomers::default(),
            rebalances: Rebalances::default(),
            image: Arc::new(MetadataImage::empty()),
            hashes: TopicHashes::default(),
            counters: GroupCounters::default(),
            loading: true,
        }
    }

    /// With an observer of completed rebalances.
    pub fn with_rebalance_observer(mut self, observer: Arc<dyn RebalanceObserver>) -> GroupShard {
        self.rebalances.observe(observer);
        self
    }

    /// What the log holds.
    pub fn logged(&self) -> &Logged {
        &self.logged
    }

    /// A classic group as it is now.
    pub fn group(&self, group_id: &str) -> Option<&ClassicGroup> {
        self.classic_groups.get(group_id)
    }

    /// The classic groups as they are now.
    pub fn groups(&self) -> impl Iterator<Item = &ClassicGroup> {
        self.classic_groups.values()
    }

    /// Tokens of the requests that wait in the shard.
    pub fn awaiting(&self) -> impl Iterator<Item = Token> {
        self.classic_groups.values().flat_map(ClassicGroup::awaiting).chain(self.newcomers.tokens())
    }

    /// Groups by state, members, offsets; counted now.
    pub fn counts(&self) -> GroupCounts {
        self.counts_after(None, usize::MAX).0
    }

    /// The same of at most `limit` groups, by their names those behind `after`, and the last of them if
    /// others follow: a shard of many groups is counted without it being held all the time. Offsets are
    /// counted with the first.
    pub fn counts_after(
        &self,
        after: Option<&Arc<str>>,
        limit: usize,
    ) -> (GroupCounts, Option<Arc<str>>) {
        let mut counts = GroupCounts::default();
        if after.is_none() {
            counts.offsets = self.logged.offset_count();
        }
        let mut last = None;
        for id in self.logged.names_after(after).take(limit) {
            self.count(id, &mut counts);
            last = Some(id);
        }
        let rest = last.filter(|&last| self.logged.names_after(Some(last)).next().is_some());
        (counts, rest.cloned())
    }

    /// The kind of a group as everything written says.
    fn kind(&self, id: &str) -> GroupKind {
        GroupKind::of(&self.logged, &self.config, id)
    }

    /// The kind of a group as of the last commit.
    fn committed_kind(&self, id: &str) -> GroupKind {
        GroupKind::committed(&self.logged, &self.config, id)
    }

    /// What happened since the shard was made.
    pub fn counters(&self) -> GroupCounters {
        GroupCounters { rebalances: self.rebalances.counters(), ..self.counters }
    }

    fn check_counts(&self) -> Result<(), String> {
        let mut counts = GroupCounts::default();
        let mut after = None;
        loop {
            let (some, last) = self.counts_after(after.as_ref(), 2);
            counts += some;
            let Some(last) = last else { break };
            after = Some(last);
        }
        let groups = self.classic_groups.len() + self.logged.consumer_groups().count();
        if counts != self.counts() || counts.groups() != groups {
            return Err(format!("{groups} groups are counted as {counts:?}, {:?}", self.counts()));
        }
        Ok(())
    }

    /// The invariants of the groups and of the module's header; says which one does not hold.
    pub fn check(&self) -> Result<(), String> {
        self.check_counts()?;
        for group in self.classic_groups.values() {
            group.check()?;
            if !self.logged.group(group.id()).is_some_and(GroupEntry::is_classic) {
                return Err(format!("group {} lives and is not in the log", group.id()));
            }
        }
        for (id, entry) in self.logged.groups() {
            if entry.is_classic() && !self.classic_groups.contains_key(id) {
                return Err(format!("group {id} is in the log and does not live"));
            }
        }
        if let Some(group) =
            self.consumer_state.ids().find(|id| self.logged.consumer_group(id).is_none())
        {
            return Err(format!("group {group} is no consumer group and has live state"));
        }
        self.connections.check()?;
        self.logged.check()
    }
}

impl Shard for GroupShard {
    type Request = Submission;
    type Response = GroupResponse;
    type Record = GroupRecord;
    type TimerKey = GroupTimer;
    type Then = Then;
    type Event = GroupEvent;
    type Job = GroupJob;
    type Effect = std::convert::Infallible;

    fn handle(
        &mut self,
        token: Token,
        submission: Submission,
        now: Now,
        out: &mut Outcome<Self>,
    ) -> Reply<GroupResponse> {
        GroupOutcome::lend(out, |out| {
            self.rebalances.begin_step();
            let reply = self.answer(token, &submission, now, out);
            self.look_after_newcomers(out);
            reply
        })
    }

    fn event(&mut self, event: GroupEvent, now: Now, out: &mut Outcome<Self>) {
        GroupOutcome::lend(out, |out| {
            self.rebalances.begin_step();
            match event {
                GroupEvent::Metadata { image, changes } => {
                    self.metadata_changed(image, changes.as_deref(), now, out);
                }
                GroupEvent::Config(config) => {
                    let before = std::mem::replace(&mut self.config, config);
                    if before.batch_limit != self.config.batch_limit
                        || before.max_size != self.config.max_size
                    {
                        self.consumer_state.limits_changed();
                        self.classic_groups.values_mut().for_each(|group| group.unhostable = None);
                    }
                    self.release_for_config(&before);
                }
                GroupEvent::Disconnected { group, member, connection } => {
                    self.disconnected(&group, &member, connection, now, out);
                }
            }
            self.look_after_newcomers(out);
        })
    }

    fn job_done(&mut self, done: GroupJobDone, now: Now, out: &mut Outcome<Self>) {
        GroupOutcome::lend(out, |out| {
            self.rebalances.begin_step();
            self.take_result(done, now, out);
            self.look_after_newcomers(out);
        })
    }

    fn timer_fired(&mut self, key: GroupTimer, now: Now, out: &mut Outcome<Self>) {
        GroupOutcome::lend(out, |out| {
            self.rebalances.begin_step();
            self.note_timer(&key);
            match key {
                GroupTimer::Expiration => self.expire(now, out),
                GroupTimer::Join(id) => {
                    self.with_group(&id, now, out, ClassicGroup::join_timer_fired);
                }
                GroupTimer::Sync(id) => {
                    self.with_group(&id, now, out, ClassicGroup::sync_timer_fired);
                }
                GroupTimer::Session(id, member) => {
                    self.with_group(&id, now, out, |group, env| group.session_ended(&member, env));
                }
                GroupTimer::Disconnected(id, member) => {
                    self.fail_disconnected(&id, &member, now, out);
                }
                GroupTimer::Newcomers(id) => self.admit_newcomers(&id, now, out),
                GroupTimer::Assign(id) => {
                    self.with_consumer_group(&id, now, out, |step| {
                        step.hosted_assign();
                        Ok(((), None))
                    });
                    self.assign_by_heartbeat(&id);
                }
                timer => self.consumer_timer(&timer, now, out),
            }
            self.look_after_newcomers(out);
        })
    }

    fn replay(&mut self, at: Position, now: Now, record: &GroupRecord) {
        // Records that may end a consumer group: its own last one, or the first of a classic group.
        let may_end = match record {
            GroupRecord::ConsumerGroup(record) if record.is_tombstone() => Some(record.group_id()),
            GroupRecord::GroupMetadata { key, .. } => Some(key.group.as_str()),
            _ => None,
        };
        let consumer_group = may_end.filter(|group| self.logged.consumer_group(group).is_some());
        let held_before = self.held_before(record);
        let before_rebalance = self.before_rebalance(record);
        match self.logged.replay(at, record) {
            Some(Existence::Appeared(id)) if !self.loading => self.appear(id, now),
            Some(Existence::Vanished(id)) => {
                // Sessions of members that were to come back with an id end without effect.
                if let Some(mut group) = self.classic_groups.remove(&id) {
                    group.note_vanished(now.wall_ms);
                    self.ending.push(at.offset, id, group);
                }
            }
            _ => {}
        }
        if let Some(group) = consumer_group
            && self.logged.consumer_group(group).is_none()
        {
            self.consumer_state.forget(group);
        }
        self.release_held(record, held_before);
        if let Some(before) = before_rebalance {
            self.note_rebalance(record, before, now);
        }
    }

    fn replay_marker(&mut self, offset: i64, producer_id: i64, commit: bool) {
        self.logged.replay_marker(offset, producer_id, commit);
    }

    fn resume(
        &mut self,
        then: Then,
        result: Result<(), ErrorCode>,
        now: Now,
        out: &mut Outcome<Self>,
    ) {
        GroupOutcome::lend(out, |out| {
            self.rebalances.begin_step();
            match then {
                Then::StoredAssignment(stored) => {
                    let id = stored.group.clone();
                    self.with_group(&id, now, out, |group, env| {
                        group.finish_assignment(stored, result, env);
                    });
                }
                Then::HostedRound(id) => {
                    if let Err(error) = result {
                        // Taken back, it is the classic group again, whose members have no assignment.
                        self.with_group(&id, now, out, |group, env| {
                            group.assignment_failed(error, env);
                        });
                    }
                }
                Then::StaticRejoin(rejoin) => {
                    self.with_group(&rejoin.group, now, out, |group, env| {
                        group.finish_static_rejoin(&rejoin, result, env);
                    });
                }
                Then::ClassicJoins(joined) => {
                    for joined in joined.iter().filter(|_| result.is_ok()) {
                        self.with_consumer_group(&joined.group, now, out, |step| {
                            step.classic_joined(joined);
                            Ok(((), None))
                        });
                    }
                }
            }
            self.look_after_newcomers(out);
        })
    }

    fn loaded(&mut self, now: Now, out: &mut Outcome<Self>) {
        GroupOutcome::lend(out, |out| {
            self.loading = false;
            self.logged.start_recording();
            self.ending.start();
            let ids: Vec<Arc<str>> = self.logged.groups().map(|(id, _)| id.clone()).collect();
            for id in ids {
                self.appear(id.clone(), now);
                let max_size = self.config.max_size;
                self.with_group(&id, now, out, |group, env| {
                    group.start_sessions(env);
                    // The limit may have been lowered: let them come back, as many as may.
                    if group.members().len() > max_size {
                        group.note_coordinator("the group has more members than it may have");
                        group.prepare_rebalance(env);
                    }
                });
            }
            self.start_consumer_sessions(now, out);
            out.schedule(GroupTimer::Expiration, self.config.offsets_retention_check_interval_ms);
        })
    }

    fn unloaded(&mut self, error: ErrorCode, out: &mut Outcome<Self>) {
        GroupOutcome::lend(out, |out| {
            // First: it cannot fail, and nobody else would release them.
            self.held.release_all_groups();
            self.connections = Connections::default();
            self.newcomers.fail_all(error, out);
            for group in self.classic_groups.values_mut() {
                group.dissolve(error, false, out);
            }
            self.classic_groups.clear();
        })
    }

    fn commit(&mut self, offset: i64, _: Now, _: &mut Outcome<Self>) {
        self.logged.commit(offset);
        let rebalances = &mut self.rebalances;
        self.ending.take_below(offset, |id, group| {
            if let Some((rebalance, now_ms)) = group.rebalance_left() {
                rebalances.ended(&id, rebalance, now_ms);
            }
        });
    }

    fn revert(&mut self, offset: i64, error: ErrorCode, now: Now, out: &mut Outcome<Self>) {
        GroupOutcome::lend(out, |out| {
            let (existences, reverted) = self.logged.revert(offset);
            let mut restored = BTreeSet::new();
            for existence in existences {
                match existence {
                    Existence::Appeared(id) => {
                        restored.insert(id.clone());
                        // Both are taken back newest first, so it is the group of that name.
                        match self.ending.pop_from(offset) {
                            Some((ended, group)) => {
                                debug_assert_eq!(ended, id);
                                self.classic_groups.insert(ended, group);
                                // There already, but for a fault in the log or here.
                                self.appear(id, now);
                            }
                            None => self.appear(id, now),
                        }
                    }
                    Existence::Vanished(id) => {
                        self.held.release_all(&id);
                        if let Some(mut group) = self.classic_groups.remove(&id) {
                            group.dissolve(append_error(error), true, out);
                        }
                    }
                }
            }
            for id in restored {
                self.with_group(&id, now, out, |group, env| group.restore_timers(env));
            }
            let logged = &self.logged;
            let unwritten = self
                .consumer_state
                .reverted(&reverted, now, |group| Some(*logged.consumer_group(group)?.epochs()));
            for group in unwritten {
                out.schedule_if_absent(GroupTimer::Assign(group), RETRY_MS);
            }
            for group in &reverted.groups {
                self.held.release_all(group);
                match (self.logged.consumer_group(group), self.classic_groups.get(&**group)) {
                    (None, Some(classic)) => self.rebalances.close(group, classic.generation()),
                    (logged, _) => {
                        self.rebalances.reverted(group, logged.map(|logged| logged.epochs().group));
                    }
                }
            }
            self.rearm(&reverted, now, out);
            self.revert_newcomers(error, out);
        })
    }

    fn refuse(request: &Submission, error: ErrorCode) -> GroupResponse {
        request.refused(error)
    }

    fn fail(response: GroupResponse, error: ErrorCode) -> GroupResponse {
        response.failed(error)
    }
}
