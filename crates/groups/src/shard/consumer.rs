//! Requests for consumer groups, and the groups that change their type.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_coordinator::{Now, Reply, Token};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    LeaveGroupRequest, LeaveGroupResponse, SyncGroupRequest,
};

use super::{GroupShard, Out};
use crate::classic::{ClassicGroup, ClassicGroupState};
use crate::consumer::{ConsumerGroup, Reverted, describe_unknown};
use crate::hosted::{self, Admitted, NeedsBarrier};
use crate::logged::{GroupEntry, GroupKind};
use crate::model::{
    GroupRecord, GroupResponse, GroupTimer, Refused, RequestContext, Then, heartbeat_error,
    join_error, not_a_consumer_group, sync_error,
};
use crate::rebalances::Rebalances;
use crate::step::{Downgrade, Heard, Joined, Step, may_upgrade, upgraded};

/// What a step came to, and the classic group it may have left.
pub(super) type Stepped<R> = Result<(R, Option<Downgrade>), Refused>;

const LEAVING: [i32; 2] = [-1, -2];

/// What a step has beside its group. No function: the group stays borrowed from the same shard.
macro_rules! cx {
    ($shard:ident, $now:ident, $out:ident) => {
        $crate::step::Cx {
            config: &$shard.config,
            account: &$shard.account,
            image: &$shard.image,
            hashes: &mut $shard.hashes,
            consumer_state: &mut $shard.consumer_state,
            counters: &mut $shard.counters,
            now: $now,
            out: $out,
        }
    };
}

pub(super) use cx;

/// The sessions of members of a classic group that has become a consumer group.
pub(super) fn start_classic_sessions(id: &Arc<str>, group: &ConsumerGroup, out: &mut Out) {
    for member in group.members().values() {
        let session_ms = member.metadata.classic.as_ref().map_or(0, |c| c.session_timeout_ms);
        let timer = GroupTimer::ConsumerSession(id.clone(), member.id.clone());
        out.schedule(timer, u64::try_from(session_ms).unwrap_or(0));
    }
}

/// Notes that a classic group becomes a consumer group in this step.
pub(super) fn note_conversion(rebalances: &mut Rebalances, classic: &ClassicGroup) {
    let members = classic.members().map(|member| member.id.clone()).collect();
    rebalances.converts(classic.id().clone(), classic.generation(), members);
}

impl GroupShard {
    /// Runs `run` on a consumer group and hands on what it decided; `None` if there is no such group.
    pub(super) fn with_consumer_group<R>(
        &mut self,
        group_id: &str,
        now: Now,
        out: &mut Out,
        run: impl FnOnce(&mut Step<'_, '_>) -> Stepped<R>,
    ) -> Option<Result<R, Refused>> {
        let (id, entry) = self.logged.group_with_id(group_id)?;
        if !matches!(entry, GroupEntry::Consumer) {
            return None;
        }
        let id = id.clone();
        let group = self.logged.consumer_group(&id)?;
        let mut cx = cx!(self, now, out);
        let (started, jobs) = (cx.out.jobs.len(), cx.consumer_state.jobs(&id));
        let mut step = Step { cx: &mut cx, id: &id, group, records: Vec::new() };
        let stepped = run(&mut step);
        let records = step.records;
        if stepped.is_err() {
            // What was to be computed rests on records that are not written.
            out.jobs.truncate(started);
            self.consumer_state.restore_jobs(&id, jobs);
        }
        Some(stepped.map(|(result, downgrade)| {
            out.records.extend(records);
            if let Some(downgrade) = downgrade {
                self.downgraded(downgrade, now, out);
            }
            result
        }))
    }

    /// Runs `run` on a group that is not in the log yet, or not as a consumer group.
    pub(super) fn with_new_consumer_group<R>(
        &mut self,
        id: &Arc<str>,
        group: &ConsumerGroup,
        records: Vec<GroupRecord>,
        now: Now,
        out: &mut Out,
        run: impl FnOnce(&mut Step<'_, '_>) -> Stepped<R>,
    ) -> Result<R, Refused> {
        let mut cx = cx!(self, now, out);
        let started = cx.out.jobs.len();
        let mut step = Step { cx: &mut cx, id, group, records };
        let stepped = run(&mut step);
        let records = step.records;
        match stepped {
            Ok((result, _)) => {
                out.records.extend(records);
                Ok(result)
            }
            Err(refused) => {
                out.jobs.truncate(started);
                self.consumer_state.forget(id);
                Err(refused)
            }
        }
    }

    pub(super) fn consumer_heartbeat(
        &mut self,
        context: &RequestContext,
        request: &ConsumerGroupHeartbeatRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        if !context.is_repeat {
            self.held.supersede_newcomer(&request.group_id, &request.member_id);
        }
        let heard = self.try_consumer_heartbeat(context, request, now, out);
        let heard = heard.unwrap_or_else(|refused| Heard {
            response: heartbeat_error(refused),
            has_less: false,
        });
        self.hold_consumer(context, request, &heard, now, out);
        GroupResponse::ConsumerGroupHeartbeat(heard.response)
    }

    fn try_consumer_heartbeat(
        &mut self,
        context: &RequestContext,
        request: &ConsumerGroupHeartbeatRequest,
        now: Now,
        out: &mut Out,
    ) -> Result<Heard, Refused> {
        let group_id = request.group_id.as_str();
        if LEAVING.contains(&request.member_epoch) {
            self.rebalances.reason("left the group");
            let left = self.with_consumer_group(group_id, now, out, |step| {
                let (response, downgrade) = step.leave(request)?;
                Ok((Heard { response, has_less: false }, downgrade))
            });
            return left.unwrap_or_else(|| Err(self.no_consumer_group(group_id)));
        }
        let known = self.with_consumer_group(group_id, now, out, |step| {
            if step.is_hosted() {
                may_upgrade(step.id, step.cx.config)?;
            }
            step.heartbeat(context, request).map(|heard| (heard, None))
        });
        if let Some(known) = known {
            return known;
        }
        if request.member_epoch != 0 {
            return Err(self.no_consumer_group(group_id));
        }
        let join =
            |step: &mut Step<'_, '_>| step.heartbeat(context, request).map(|heard| (heard, None));
        let Some(classic) = self.classic_groups.get(group_id) else {
            let blank = ConsumerGroup::default();
            return self.with_new_consumer_group(
                &group_id.into(),
                &blank,
                Vec::new(),
                now,
                out,
                join,
            );
        };
        let id = classic.id().clone();
        if classic.is(ClassicGroupState::Empty) {
            let records = vec![GroupRecord::group_metadata(&id, None)];
            let blank = ConsumerGroup::default();
            return self.with_new_consumer_group(&id, &blank, records, now, out, join);
        }
        may_upgrade(&id, &self.config)?;
        let max_size = self.config.consumer_max_size;
        let (group, records) = upgraded(classic, max_size, None, &mut cx!(self, now, out))?;
        note_conversion(&mut self.rebalances, classic);
        start_classic_sessions(&id, &group, out);
        let heard = self.with_new_consumer_group(&id, &group, records, now, out, join)?;
        if let Some(classic) = self.classic_groups.get_mut(&id) {
            classic.interrupt(out);
        }
        Ok(heard)
    }

    /// Why a request for a consumer group is refused when there is none.
    fn no_consumer_group(&self, group_id: &str) -> Refused {
        match self.logged.group(group_id) {
            Some(_) => not_a_consumer_group(group_id),
            None => Refused::new(
                ErrorCode::GROUP_ID_NOT_FOUND,
                format!("Consumer group {group_id} not found."),
            ),
        }
    }

    /// A consumer group has become a classic one, as the records of this outcome say.
    fn downgraded(&mut self, downgrade: Downgrade, now: Now, out: &mut Out) {
        let Downgrade { group, rebalances } = downgrade;
        let id = group.id().clone();
        let members: HashSet<&Arc<str>> = group.members().map(|member| &member.id).collect();
        let pending = self.consumer_state.pending(&id).filter(|pending| !members.contains(pending));
        let pending: Vec<Arc<str>> = pending.cloned().collect();
        self.newcomers.fail_group(&id, ErrorCode::REBALANCE_IN_PROGRESS, out);
        self.classic_groups.insert(id.clone(), group);
        self.with_group(&id, now, out, |group, env| {
            for id in pending {
                group.expect(id, env);
            }
            group.start_sessions(env);
            if rebalances {
                group.note_coordinator("its members assign it from here on");
                group.prepare_rebalance(env);
            }
        });
    }

    /// JoinGroup for a consumer group that has members.
    pub(super) fn join_consumer_group(
        &mut self,
        token: Token,
        context: &RequestContext,
        request: &JoinGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        let instance_id = request.group_instance_id.as_deref();
        let is_waiting =
            self.is_waiting_newcomer(&request.group_id, &request.member_id, instance_id);
        let admitted = self.with_consumer_group(&request.group_id, now, out, |step| {
            let admitted = if step.leaves_server() {
                Err(NeedsBarrier)
            } else if step.is_hosted() {
                hosted::join(step, context, request, is_waiting)?
            } else {
                let mut joined = step.classic_join(context, request)?;
                let downgrade = joined.downgrade.take();
                return Ok((Ok(Admitted::Joined(Box::new(joined))), downgrade));
            };
            let downgrade = match admitted {
                Ok(_) => None,
                Err(NeedsBarrier) => Some(step.return_to_barrier()?),
            };
            Ok((admitted, downgrade))
        });
        let response = match admitted {
            Some(Ok(Err(NeedsBarrier))) => {
                // It is a classic group now, and answers when it has come together.
                self.join(token, context, request, now, out);
                return Reply::Deferred;
            }
            Some(Ok(Ok(admitted))) => {
                return self.admitted(token, &request.group_id, admitted, out);
            }
            Some(Err(refused)) => join_error("", refused.code),
            None => join_error("", ErrorCode::UNKNOWN_MEMBER_ID),
        };
        Reply::AfterCommit(GroupResponse::JoinGroup(response))
    }

    /// Answers a member that is in the group, or lets it wait.
    pub(super) fn admitted(
        &mut self,
        token: Token,
        group_id: &str,
        admitted: Admitted,
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        match admitted {
            Admitted::Waits(newcomer) => {
                let known = self.logged.group_with_id(group_id).map(|(id, _)| id.clone());
                let id = known.unwrap_or_else(|| group_id.into());
                self.wait_as_newcomer(&id, token, newcomer, out);
                Reply::Deferred
            }
            Admitted::Joined(joined) => {
                let Joined { response, then, .. } = *joined;
                if then.is_some() {
                    self.waits_no_more(group_id, &response.member_id, out);
                }
                out.then = then.map(|then| Then::ClassicJoins(vec![then]));
                Reply::AfterCommit(GroupResponse::JoinGroup(response))
            }
        }
    }

    /// SyncGroup for a consumer group.
    pub(super) fn sync_consumer_group(
        &mut self,
        context: &RequestContext,
        request: &SyncGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> Reply<GroupResponse> {
        let synced = self.with_consumer_group(&request.group_id, now, out, |step| {
            if step.group.members().is_empty() {
                return Err(step.unknown_member(&request.member_id));
            }
            let synced = if step.is_hosted() {
                hosted::sync(step, request, context.hold.is_some())
            } else {
                step.classic_sync(request)
            };
            synced.map(|response| (response, None))
        });
        let response = match synced {
            Some(Ok(response)) => response,
            Some(Err(refused)) => sync_error(refused.code),
            None => sync_error(ErrorCode::UNKNOWN_MEMBER_ID),
        };
        self.note_told(&request.group_id, &request.member_id, response.error_code, now);
        if response.error_code.is_ok() {
            self.hold_sync(context, request, now, out);
        }
        Reply::AfterCommit(GroupResponse::SyncGroup(response))
    }

    /// Heartbeat for a consumer group.
    pub(super) fn heartbeat_consumer_group(
        &mut self,
        request: &HeartbeatRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        let answer = self.with_consumer_group(&request.group_id, now, out, |step| {
            if step.leaves_server() {
                return step.heartbeat_to_barrier(request);
            }
            let code = if step.is_hosted() {
                hosted::heartbeat(step, request)
            } else {
                step.classic_heartbeat(request)
            };
            code.map(|code| (code, None))
        });
        let error_code = match answer {
            Some(Ok(code)) => code,
            Some(Err(refused)) => refused.code,
            None => ErrorCode::UNKNOWN_MEMBER_ID,
        };
        self.note_told(&request.group_id, &request.member_id, error_code, now);
        GroupResponse::Heartbeat(HeartbeatResponse { error_code, ..Default::default() })
    }

    /// Takes note of a member that is told to join again.
    fn note_told(&mut self, group_id: &str, member_id: &str, code: ErrorCode, now: Now) {
        if code == ErrorCode::REBALANCE_IN_PROGRESS
            && let Some(group) = self.logged.consumer_group(group_id)
            && let Some(member) = group.member(member_id)
        {
            self.rebalances.told(group_id, member, now.wall_ms);
        }
    }

    /// LeaveGroup for a consumer group.
    pub(super) fn leave_consumer_group(
        &mut self,
        context: &RequestContext,
        request: &LeaveGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        let version = context.api_version;
        let reason = request.members.first().and_then(|member| member.reason.as_deref());
        self.rebalances.reason(reason.unwrap_or("left the group"));
        let left = self.with_consumer_group(&request.group_id, now, out, |step| {
            step.leave_group(request, version)
        });
        let response = match left {
            Some(Ok(response)) => response,
            Some(Err(refused)) => {
                LeaveGroupResponse { error_code: refused.code, ..Default::default() }
            }
            None => LeaveGroupResponse {
                error_code: ErrorCode::UNKNOWN_MEMBER_ID,
                ..Default::default()
            },
        };
        GroupResponse::LeaveGroup(response)
    }

    /// Records that end a consumer group; the caller has seen that it has no members.
    pub(super) fn end_consumer_group(&mut self, group_id: &str, now: Now, out: &mut Out) {
        self.with_consumer_group(group_id, now, out, |step| {
            step.end_group(None);
            Ok(((), None))
        });
    }

    pub(super) fn consumer_timer(&mut self, timer: &GroupTimer, now: Now, out: &mut Out) {
        let (group, member, is_rebalance) = match timer {
            GroupTimer::Rebalance(group, member) => (group, member, true),
            GroupTimer::ConsumerSession(group, member)
            | GroupTimer::ClassicJoin(group, member)
            | GroupTimer::ClassicSync(group, member) => (group, member, false),
            _ => return,
        };
        self.with_consumer_group(group, now, out, |step| {
            let downgrade = if is_rebalance {
                step.rebalance_overdue(member)
            } else {
                step.fence_overdue(member)
            };
            downgrade.map(|downgrade| ((), downgrade))
        });
    }

    /// Members that are as they were before have the timers again that went with what was taken back. A
    /// session that ended, or a leave, whose records were not written is tried again soon, as in Kafka.
    pub(super) fn rearm(&mut self, reverted: &Reverted, now: Now, out: &mut Out) {
        for (group, member) in &reverted.members {
            self.with_consumer_group(group, now, out, |step| {
                step.rearm(member);
                Ok(((), None))
            });
        }
    }

    pub(super) fn describe_consumer_groups(&self, group_ids: &[String]) -> GroupResponse {
        let assignor = self.config.consumer_assignor(None).name();
        let unknown =
            |id: &str| describe_unknown(id, format!("Group {id} is not a consumer group."));
        let describe = |id: &String| match self.committed_kind(id) {
            GroupKind::Absent => describe_unknown(id, format!("Group {id} not found.")),
            GroupKind::EmptyConsumer | GroupKind::Consumer => {
                match self.logged.committed_consumer_group(id) {
                    Some(group) => group.describe(id, assignor, &self.image),
                    None => unknown(id),
                }
            }
            GroupKind::Classic | GroupKind::Hosted | GroupKind::Reserved(_) => unknown(id),
        };
        GroupResponse::ConsumerGroupDescribe(group_ids.iter().map(describe).collect())
    }

    /// Sessions of members that were in the log.
    pub(super) fn start_consumer_sessions(&mut self, now: Now, out: &mut Out) {
        let ids: Vec<Arc<str>> = self.logged.consumer_groups().map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.with_consumer_group(&id, now, out, |step| {
                step.start_sessions();
                Ok(((), None))
            });
        }
    }
}
