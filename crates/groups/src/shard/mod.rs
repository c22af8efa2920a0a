//! One partition's groups: routes requests to the group they concern and keeps the live groups in
//! step with the log.
//!
//! Invariant: a live classic group exists exactly if the log says so, but for the moment between a
//! handler that creates one and the replay of its record.

mod connections;
mod consumer;
mod event;
mod held;
mod hosted;
mod newcomers;
mod offsets;
mod rebalances;
mod reserved;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use thalweg_coordinator::{
    Account, AppendKind, Now, Outcome, Position, Reply, Shard, Token, UndoLog, append_error,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_groups_response::DescribedGroup;
use thalweg_wire::messages::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest,
    ListGroupsResponse, SyncGroupRequest,
};

use crate::classic::{
    ClassicGroup, ClassicGroupState, Env, Join, ListFilter, StaticRejoin, StoredAssignment,
};
use thalweg_metadata::image::MetadataImage;

use crate::consumer::{ConsumerGroupState, LiveGroups, list as list_consumer_group};
use crate::step::{HostedJoin, RETRY_MS, TopicHashes};
use crate::hosted::{is_hosted, list as list_hosted};
use crate::logged::{Existence, GroupEntry, Logged};
use crate::model::{GroupCounters, GroupCounts};
use crate::offsets::delete_all_offsets;
use crate::push::HeldHeartbeats;
use crate::rebalances::{RebalanceObserver, Rebalances};
use crate::model::{deleted_group, join_error, sync_error};
use crate::model::list_reserved;
use crate::{GroupConfig, GroupRecord, GroupRequest, GroupResponse, RequestContext, Submission};

use connections::Connections;
pub use event::{GroupEvent, GroupJob, GroupJobDone};
use newcomers::Newcomers;

/// What tells a shard's timers apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupTimer {
    /// Look for expired offsets.
    Expiration,
    /// A group's join phase has lasted long enough.
    Join(Arc<str>),
    /// A group's members had time enough to send SyncGroup.
    Sync(Arc<str>),
    /// A member (group, member) has not been heard of.
    Session(Arc<str>, Arc<str>),
    /// A member (group, member) of a consumer group has not been heard of.
    ConsumerSession(Arc<str>, Arc<str>),
    /// A member (group, member) of a consumer group had time enough to give partitions up.
    Rebalance(Arc<str>, Arc<str>),
    /// A group's next target assignment may be computed.
    Assign(Arc<str>),
    /// A classic member (group, member) of a consumer group had time enough to join again.
    ClassicJoin(Arc<str>, Arc<str>),
    /// A classic member (group, member) of a consumer group had time enough to send SyncGroup.
    ClassicSync(Arc<str>, Arc<str>),
    /// A member (group, member) has no connection, and its heartbeat is overdue by the disconnect grace.
    Disconnected(Arc<str>, Arc<str>),
    /// The newcomers of a group that the coordinator assigns are to be looked at.
    Newcomers(Arc<str>),
}

/// What a shard goes on with when its records are committed.
#[derive(Debug)]
pub enum Then {
    /// Hand out a generation's assignment.
    StoredAssignment(StoredAssignment),
    /// A round's assignment, written as that of a group that the coordinator assigns.
    HostedRound(Arc<str>),
    /// Answer a static member that came back.
    StaticRejoin(Box<StaticRejoin>),
    /// Go on with classic members that joined a consumer group.
    HostedJoins(Vec<HostedJoin>),
}

type Out = Outcome<GroupShard>;

/// The groups of one partition of `__consumer_offsets`.
pub struct GroupShard {
    config: Arc<GroupConfig>,
    /// Holds what members leave behind.
    account: Arc<Account>,
    logged: Logged,
    live: BTreeMap<Arc<str>, ClassicGroup>,
    /// Groups whose end is written and not committed.
    ending: UndoLog<Arc<str>, ClassicGroup>,
    /// What is not in the log of consumer groups.
    consumers: LiveGroups,
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
            live: BTreeMap::new(),
            ending: UndoLog::default(),
            consumers: LiveGroups::default(),
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

    /// The same, with somebody who hears of rebalances that are over.
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
        self.live.get(group_id)
    }

    /// The classic groups as they are now.
    pub fn groups(&self) -> impl Iterator<Item = &ClassicGroup> {
        self.live.values()
    }

    /// Tokens of the requests that wait in the shard.
    pub fn awaiting(&self) -> impl Iterator<Item = Token> {
        self.live.values().flat_map(ClassicGroup::awaiting).chain(self.newcomers.tokens())
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

    fn count(&self, id: &Arc<str>, counts: &mut GroupCounts) {
        if let Some(group) = self.live.get(id) {
            counts.members += group.members().len();
            match group.state() {
                ClassicGroupState::Empty => counts.empty += 1,
                ClassicGroupState::PreparingRebalance => counts.preparing_rebalance += 1,
                ClassicGroupState::CompletingRebalance => counts.completing_rebalance += 1,
                ClassicGroupState::Stable => counts.stable += 1,
                ClassicGroupState::Dead => counts.dead += 1,
            }
        }
        let Some(group) = self.logged.consumer_group(id) else { return };
        counts.members += group.members().len();
        if is_hosted(group, &self.config, id) {
            counts.stable += 1;
            return;
        }
        match group.state() {
            ConsumerGroupState::Empty => counts.consumer_empty += 1,
            ConsumerGroupState::Assigning => counts.consumer_assigning += 1,
            ConsumerGroupState::Reconciling => counts.consumer_reconciling += 1,
            ConsumerGroupState::Stable => counts.consumer_stable += 1,
        }
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
        let groups = self.live.len() + self.logged.consumer_groups().count();
        if counts != self.counts() || counts.groups() != groups {
            return Err(format!("{groups} groups are counted as {counts:?}, {:?}", self.counts()));
        }
        Ok(())
    }

    /// The invariants of the groups and of the module's header; says which one does not hold.
    pub fn check(&self) -> Result<(), String> {
        self.check_counts()?;
        for group in self.live.values() {
            group.check()?;
            if !self.logged.group(group.id()).is_some_and(GroupEntry::is_classic) {
                return Err(format!("group {} lives and is not in the log", group.id()));
            }
        }
        for (id, entry) in self.logged.groups() {
            if entry.is_classic() && !self.live.contains_key(id) {
                return Err(format!("group {id} is in the log and does not live"));
            }
        }
        if let Some(group) = self.consumers.ids().find(|id| !self.is_consumer_group(id)) {
            return Err(format!("group {group} is no consumer group and has live state"));
        }
        self.connections.check()?;
        self.logged.check()
    }

    /// Runs `run` on a live group; `None` if there is none.
    fn with_group<R>(
        &mut self,
        group_id: &str,
        now: Now,
        out: &mut Out,
        run: impl FnOnce(&mut ClassicGroup, &mut Env<'_>) -> R,
    ) -> Option<R> {
        let group = self.live.get_mut(group_id)?;
        let mut env = Env {
            config: &self.config,
            account: &self.account,
            now,
            out,
            completed_rebalances: &mut self.counters.completed_rebalances,
            rebalances: &mut self.rebalances,
        };
        group.begin_step();
        let result = run(group, &mut env);
        if !group.is(ClassicGroupState::Stable) {
            self.held.release_all(group_id);
        }
        Some(result)
    }

    fn join(
        &mut self,
        token: Token,
        context: &RequestContext,
        request: &JoinGroupRequest,
        now: Now,
        out: &mut Out,
    ) {
        let is_new = !self.live.contains_key(request.group_id.as_str());
        let mut before = out.records.len();
        if is_new {
            if !request.member_id.is_empty() {
                // Only somebody without an id can found a group.
                let response = join_error(&request.member_id, ErrorCode::UNKNOWN_MEMBER_ID);
                return out.complete(token, GroupResponse::JoinGroup(response));
            }
            // A consumer group that nobody is in any more.
            self.end_consumer_group(&request.group_id, now, out);
            before = out.records.len();
            let id: Arc<str> = request.group_id.as_str().into();
            self.live.insert(id.clone(), ClassicGroup::new(id, now));
        }
        let instance_id = request.group_instance_id.as_deref();
        let of_instance = |shard: &GroupShard| {
            let group = shard.live.get(request.group_id.as_str())?;
            group.member_of_instance(instance_id?).cloned()
        };
        let replaced = of_instance(self);
        let record = self.with_group(&request.group_id, now, out, |group, env| {
            group.join(&Join { token, context, request }, env);
            group.empty_record()
        });
        if let Some(replaced) = replaced
            && of_instance(self).is_none_or(|member| member != replaced)
        {
            // It is told so if it asks again.
            self.held.release(&request.group_id, &replaced);
        }
        // A group comes into being with a record, whatever became of the request that founded it.
        if let Some(record) = record
            && is_new
            && out.records.len() == before
        {
            out.record(GroupRecord::group_metadata(&request.group_id, Some(record)));
        }
    }

    fn sync(&mut self, token: Token, request: &SyncGroupRequest, now: Now, out: &mut Out) {
        let known = self.with_group(&request.group_id, now, out, |group, env| {
            group.sync(token, request, env);
        });
        if known.is_none() {
            let response = sync_error(ErrorCode::UNKNOWN_MEMBER_ID);
            out.complete(token, GroupResponse::SyncGroup(response));
        }
        if let Some(Then::StoredAssignment(stored)) = out.then.take() {
            out.then = Some(self.host_large_round(stored, now, out));
        }
    }

    fn heartbeat(&mut self, request: &HeartbeatRequest, now: Now, out: &mut Out) -> GroupResponse {
        let error_code = self
            .with_group(&request.group_id, now, out, |group, env| group.heartbeat(request, env))
            .unwrap_or(ErrorCode::UNKNOWN_MEMBER_ID);
        GroupResponse::Heartbeat(HeartbeatResponse { error_code, ..Default::default() })
    }

    fn leave(
        &mut self,
        context: &RequestContext,
        request: &LeaveGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        let version = context.api_version;
        let left = self.with_group(&request.group_id, now, out, |group, env| {
            group.leave(request, version, env)
        });
        let response = left.unwrap_or_else(|| ClassicGroup::leave_unknown(request, version));
        GroupResponse::LeaveGroup(response)
    }

    /// A group that exists as of the last commit. Its state is the live one, as in Kafka.
    fn committed_group(&self, group_id: &str) -> Option<&ClassicGroup> {
        self.logged.committed_group(group_id).filter(|entry| entry.is_classic())?;
        self.live.get(group_id).or_else(|| self.ending.committed(&group_id.into()))
    }

    fn describe(
        &self,
        context: &RequestContext,
        group_ids: &[String],
        rebalances: bool,
    ) -> GroupResponse {
        let describe = |id: &String| -> DescribedGroup {
            if let Some(described) = self.describe_hosted(id) {
                return described;
            }
            match self.committed_group(id) {
                Some(group) => group.describe(),
                None => {
                    let message = match self.logged.committed_group(id) {
                        Some(_) => format!("Group {id} is not a classic group."),
                        None => format!("Group {id} not found."),
                    };
                    ClassicGroup::describe_unknown(id, context.api_version, message)
                }
            }
        };
        let mut groups: Vec<DescribedGroup> = group_ids.iter().map(describe).collect();
        if rebalances {
            for group in &mut groups {
                group.unknown_tags = self.rebalances_field(&group.group_id);
            }
        }
        GroupResponse::DescribeGroups(groups)
    }

    fn list(&self, request: &ListGroupsRequest) -> GroupResponse {
        let filter = ListFilter::new(request);
        let mut groups = Vec::new();
        for id in self.logged.committed_groups() {
            let listed = match self.logged.committed_consumer_state(&id) {
                Some(_) if self.is_hosted_committed(&id) => Some(list_hosted(&id)),
                Some(state) => Some(list_consumer_group(&id, state)),
                None if self.committed_reserved(&id).is_some() => {
                    self.committed_reserved(&id).map(|group_type| list_reserved(&id, group_type))
                }
                None => self.committed_group(&id).map(ClassicGroup::list),
            };
            groups.extend(listed.filter(|group| filter.lets_through(group)));
        }
        GroupResponse::ListGroups(ListGroupsResponse { groups, ..Default::default() })
    }

    fn delete_groups(&mut self, group_ids: &[String], now: Now, out: &mut Out) -> GroupResponse {
        let mut results = Vec::with_capacity(group_ids.len());
        let mut named = HashSet::new();
        for id in group_ids {
            if !named.insert(id) {
                continue; // Kafka answers a group once, however often it is named.
            }
            let error = match self.live.get(id.as_str()) {
                None if self.is_empty_consumer_group(id) => {
                    self.rebalances.forget(id);
                    self.counters.offset_deletions +=
                        delete_all_offsets(&self.logged, id, &mut out.records) as u64;
                    self.end_consumer_group(id, now, out);
                    ErrorCode::NONE
                }
                None if self.is_consumer_group(id) => ErrorCode::NON_EMPTY_GROUP,
                // Its state is not known here; so it may have members.
                None if self.is_reserved(id) => ErrorCode::NON_EMPTY_GROUP,
                None => ErrorCode::GROUP_ID_NOT_FOUND,
                Some(group) if !group.is(ClassicGroupState::Empty) => ErrorCode::NON_EMPTY_GROUP,
                Some(_) => {
                    self.counters.offset_deletions +=
                        delete_all_offsets(&self.logged, id, &mut out.records) as u64;
                    out.record(GroupRecord::group_metadata(id, None));
                    self.rebalances.forget(id);
                    ErrorCode::NONE
                }
            };
            results.push(deleted_group(id, error));
        }
        GroupResponse::DeleteGroups(results)
    }

    /// Answers a request that may be one.
    fn answer(
        &mut self,
        token: Token,
        submission: &Submission,
        now: Now,
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        if let Some(refused) = self.refuse_reserved(submission) {
            return Reply::AfterCommit(refused);
        }
        self.note_connection(submission, now, out);
        let context = &submission.context;
        match &submission.request {
            GroupRequest::JoinGroup(request)
                if self.is_consumer_group(&request.group_id)
                    && !self.is_empty_consumer_group(&request.group_id) =>
            {
                self.join_consumer_group(token, context, request, now, out)
            }
            GroupRequest::SyncGroup(request) if self.is_consumer_group(&request.group_id) => {
                self.sync_consumer_group(context, request, now, out)
            }
            GroupRequest::Heartbeat(request) if self.is_consumer_group(&request.group_id) => {
                let response = self.heartbeat_consumer_group(request, now, out);
                self.hold_classic(context, request, &response, out);
                Reply::AfterCommit(response)
            }
            GroupRequest::LeaveGroup(request) if self.is_consumer_group(&request.group_id) => {
                Reply::AfterCommit(self.leave_consumer_group(context, request, now, out))
            }
            GroupRequest::JoinGroup(request) => {
                if let Some(reply) = self.host_joining(token, context, request, now, out) {
                    return reply;
                }
                self.join(token, context, request, now, out);
                Reply::Deferred
            }
            GroupRequest::SyncGroup(request) => {
                self.sync(token, request, now, out);
                Reply::Deferred
            }
            GroupRequest::Heartbeat(request) => {
                if let Some(reply) = self.host_stable(request, now, out) {
                    return reply;
                }
                let response = self.heartbeat(request, now, out);
                self.hold_classic(context, request, &response, out);
                Reply::AfterCommit(response)
            }
            GroupRequest::LeaveGroup(request) => {
                Reply::AfterCommit(self.leave(context, request, now, out))
            }
            GroupRequest::DescribeGroups { groups, rebalances } => {
                Reply::Now(self.describe(context, groups, *rebalances))
            }
            GroupRequest::ListGroups(request) => Reply::Now(self.list(request)),
            GroupRequest::DeleteGroups(ids) => {
                Reply::AfterCommit(self.delete_groups(ids, now, out))
            }
            GroupRequest::OffsetCommit(request) => {
                Reply::AfterCommit(self.commit_offsets(context, request, now, out))
            }
            GroupRequest::TxnOffsetCommit(request) => {
                Reply::AfterCommit(self.commit_transactional_offsets(context, request, now, out))
            }
            GroupRequest::CompleteTransaction(end) => {
                out.kind = AppendKind::Marker(*end);
                Reply::AfterCommit(GroupResponse::CompleteTransaction(ErrorCode::NONE))
            }
            GroupRequest::OffsetFetch { group, require_stable } => {
                self.fetch_offsets(group, *require_stable, context.api_version)
            }
            GroupRequest::OffsetDelete(request) => {
                Reply::AfterCommit(self.delete_offsets(request, out))
            }
            GroupRequest::ConsumerGroupHeartbeat(request) => {
                Reply::AfterCommit(self.consumer_heartbeat(context, request, now, out))
            }
            GroupRequest::ConsumerGroupDescribe(ids) => {
                Reply::Now(self.describe_consumer_groups(ids))
            }
        }
    }

    /// A live group for one that the log brought into being.
    fn appear(&mut self, id: Arc<str>, now: Now) {
        let Some(entry) = self.logged.group(&id) else { return };
        if let Entry::Vacant(vacant) = self.live.entry(id.clone()) {
            match entry {
                GroupEntry::Offsets => vacant.insert(ClassicGroup::new(id, now)),
                GroupEntry::Classic(value) => {
                    vacant.insert(ClassicGroup::from_record(id, value, &self.account, now))
                }
                GroupEntry::Consumer | GroupEntry::Reserved(_) => return,
            };
        }
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
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        self.rebalances.begin_step();
        if let Some(response) = submission.precheck(&self.config) {
            return Reply::Now(response);
        }
        let reply = self.answer(token, &submission, now, out);
        self.look_after_newcomers(out);
        reply
    }

    fn event(&mut self, event: GroupEvent, now: Now, out: &mut Out) {
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
                    self.consumers.limits_changed();
                    self.live.values_mut().for_each(|group| group.unhostable = None);
                }
                self.release_for_config(&before);
            }
            GroupEvent::Disconnected { group, member, connection } => {
                self.disconnected(&group, &member, connection, now, out);
            }
        }
        self.look_after_newcomers(out);
    }

    fn job_done(&mut self, done: GroupJobDone, now: Now, out: &mut Out) {
        self.rebalances.begin_step();
        self.take_result(done, now, out);
        self.look_after_newcomers(out);
    }

    fn timer_fired(&mut self, key: GroupTimer, now: Now, out: &mut Out) {
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
            GroupTimer::Disconnected(id, member) => self.fail_disconnected(&id, &member, now, out),
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
    }

    fn replay(&mut self, at: Position, now: Now, record: &GroupRecord) {
        // Records that may end a consumer group: its own last one, or the first of a classic group.
        let may_end = match record {
            GroupRecord::ConsumerGroup(record) if record.is_tombstone() => Some(record.group_id()),
            GroupRecord::GroupMetadata { key, .. } => Some(key.group.as_str()),
            _ => None,
        };
        let consumer_group = may_end.filter(|group| self.is_consumer_group(group));
        let held_before = self.held_before(record);
        let before_rebalance = self.before_rebalance(record);
        match self.logged.replay(at, record) {
            Some(Existence::Appeared(id)) if !self.loading => self.appear(id, now),
            Some(Existence::Vanished(id)) => {
                // Sessions of members that were to come back with an id end without effect.
                if let Some(mut group) = self.live.remove(&id) {
                    group.note_vanished(now.wall_ms);
                    self.ending.push(at.offset, id, group);
                }
            }
            _ => {}
        }
        if let Some(group) = consumer_group
            && !self.is_consumer_group(group)
        {
            self.consumers.forget(group);
        }
        self.release_held(record, held_before);
        if let Some(before) = before_rebalance {
            self.note_rebalance(record, before, now);
        }
    }

    fn replay_marker(&mut self, offset: i64, producer_id: i64, commit: bool) {
        self.logged.replay_marker(offset, producer_id, commit);
    }

    fn resume(&mut self, then: Then, result: Result<(), ErrorCode>, now: Now, out: &mut Out) {
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
            Then::HostedJoins(joined) => {
                for joined in joined.iter().filter(|_| result.is_ok()) {
                    self.with_consumer_group(&joined.group, now, out, |step| {
                        step.classic_joined(joined);
                        Ok(((), None))
                    });
                }
            }
        }
        self.look_after_newcomers(out);
    }

    fn loaded(&mut self, now: Now, out: &mut Out) {
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
    }

    fn unloaded(&mut self, error: ErrorCode, out: &mut Out) {
        // First: it cannot fail, and nobody else would release them.
        self.held.release_all_groups();
        self.connections = Connections::default();
        self.newcomers.fail_all(error, out);
        for group in self.live.values_mut() {
            group.dissolve(error, false, out);
        }
        self.live.clear();
    }

    fn commit(&mut self, offset: i64, _: Now, _: &mut Out) {
        self.logged.commit(offset);
        let rebalances = &mut self.rebalances;
        self.ending.take_below(offset, |id, group| {
            if let Some((rebalance, now_ms)) = group.rebalance_left() {
                rebalances.ended(&id, rebalance, now_ms);
            }
        });
    }

    fn revert(&mut self, offset: i64, error: ErrorCode, now: Now, out: &mut Out) {
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
                            self.live.insert(ended, group);
                            // There already, but for a fault in the log or here.
                            self.appear(id, now);
                        }
                        None => self.appear(id, now),
                    }
                }
                Existence::Vanished(id) => {
                    self.held.release_all(&id);
                    if let Some(mut group) = self.live.remove(&id) {
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
            .consumers
            .reverted(&reverted, now, |group| Some(*logged.consumer_group(group)?.epochs()));
        for group in unwritten {
            out.schedule_if_absent(GroupTimer::Assign(group), RETRY_MS);
        }
        for group in &reverted.groups {
            self.held.release_all(group);
            match (self.logged.consumer_group(group), self.live.get(&**group)) {
                (None, Some(classic)) => self.rebalances.close(group, classic.generation()),
                (logged, _) => {
                    self.rebalances.reverted(group, logged.map(|logged| logged.epochs().group));
                }
            }
        }
        self.rearm(&reverted, now, out);
        self.revert_newcomers(error, out);
    }

    fn refuse(request: &Submission, error: ErrorCode) -> GroupResponse {
        request.refused(error)
    }

    fn fail(response: GroupResponse, error: ErrorCode) -> GroupResponse {
        response.failed(error)
    }
}
