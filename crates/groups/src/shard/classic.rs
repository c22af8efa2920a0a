//! Requests and timers of classic groups: runs the live group, and keeps what follows from its state.

use std::collections::btree_map::Entry;
use std::sync::Arc;

use thalweg_coordinator::{Now, Token};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest,
};

use super::{GroupShard, Out};
use crate::classic::{ClassicGroup, ClassicGroupState, Env, Join};
use crate::logged::GroupEntry;
use crate::model::{GroupRecord, GroupResponse, RequestContext, Then, join_error, sync_error};

/// What a step of a classic group has beside it. No function: the group stays borrowed from the same shard.
macro_rules! env {
    ($shard:ident, $now:ident, $out:ident) => {
        $crate::classic::Env {
            config: &$shard.config,
            account: &$shard.account,
            now: $now,
            out: $out,
            completed_rebalances: &mut $shard.counters.completed_rebalances,
            rebalances: &mut $shard.rebalances,
        }
    };
}

pub(super) use env;

impl GroupShard {
    /// Runs `run` on a live group; `None` if there is none.
    pub(super) fn with_group<R>(
        &mut self,
        group_id: &str,
        now: Now,
        out: &mut Out,
        run: impl FnOnce(&mut ClassicGroup, &mut Env<'_>) -> R,
    ) -> Option<R> {
        let group = self.classic_groups.get_mut(group_id)?;
        let mut env = env!(self, now, out);
        group.begin_step();
        let result = run(group, &mut env);
        if !group.is(ClassicGroupState::Stable) {
            self.held.release_all(group_id);
        }
        Some(result)
    }

    pub(super) fn join(
        &mut self,
        token: Token,
        context: &RequestContext,
        request: &JoinGroupRequest,
        now: Now,
        out: &mut Out,
    ) {
        let is_new = !self.classic_groups.contains_key(request.group_id.as_str());
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
            self.classic_groups.insert(id.clone(), ClassicGroup::new(id, now));
        }
        let instance_id = request.group_instance_id.as_deref();
        let of_instance = |shard: &GroupShard| {
            let group = shard.classic_groups.get(request.group_id.as_str())?;
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

    pub(super) fn sync(
        &mut self,
        token: Token,
        request: &SyncGroupRequest,
        now: Now,
        out: &mut Out,
    ) {
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

    pub(super) fn heartbeat(
        &mut self,
        request: &HeartbeatRequest,
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        let error_code = self
            .with_group(&request.group_id, now, out, |group, env| group.heartbeat(request, env))
            .unwrap_or(ErrorCode::UNKNOWN_MEMBER_ID);
        GroupResponse::Heartbeat(HeartbeatResponse { error_code, ..Default::default() })
    }

    pub(super) fn leave(
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
    pub(super) fn committed_group(&self, group_id: &str) -> Option<&ClassicGroup> {
        self.logged.committed_group(group_id).filter(|entry| entry.is_classic())?;
        self.classic_groups.get(group_id).or_else(|| self.ending.committed(&group_id.into()))
    }

    /// A live group for one that the log brought into being.
    pub(super) fn appear(&mut self, id: Arc<str>, now: Now) {
        let Some(entry) = self.logged.group(&id) else { return };
        if let Entry::Vacant(vacant) = self.classic_groups.entry(id.clone()) {
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
