//! Classic groups that the coordinator takes over, and how they look.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_coordinator::{Now, Reply, Token};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_groups_response::DescribedGroup;
use thalweg_wire::messages::{HeartbeatRequest, HeartbeatResponse, JoinGroupRequest};

use super::consumer::{Stepped, cx, note_conversion, start_classic_sessions};
use super::{GroupShard, Out};
use crate::classic::{ClassicGroup, ClassicGroupState, FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP};
use crate::consumer::{
    ConsumerGroup, LiveGroups, is_built_in, is_hostable, is_server_mode, leaves_out,
    stored_assignor,
};
use crate::hosted::{self, NeedsBarrier};
use crate::model::{
    GroupConfig, GroupRecord, GroupResponse, GroupTimer, Refused, RequestContext, StoredAssignment,
    Then,
};
use crate::step::{Step, upgraded};

/// A group that the coordinator assigns, made of a classic one.
struct Hosting {
    group: ConsumerGroup,
    records: Vec<GroupRecord>,
    /// Members that have not asked for their assignment.
    unsynced: Vec<Arc<str>>,
}

/// The classic group is to answer.
fn not_here() -> Refused {
    Refused::new(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, String::new())
}

impl GroupShard {
    /// Handles the JoinGroup with which a classic group becomes one that the coordinator assigns; `None` if it
    /// does not. The first round of a group is Kafka's, and so is all of a group that never had two members.
    pub(super) fn host_joining(
        &mut self,
        token: Token,
        context: &RequestContext,
        request: &JoinGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> Option<Reply<GroupResponse>> {
        let group_id = request.group_id.as_str();
        if !is_server_mode(&self.config, group_id) {
            return None;
        }
        let classic = self.classic_groups.get(group_id)?;
        let has_two = classic.members().len() > 1 || is_new_to(classic, context, request);
        if !has_two {
            return None;
        }
        let join = |step: &mut Step<'_, '_>| match hosted::join(step, context, request, false)? {
            Err(NeedsBarrier) => Err(not_here()),
            Ok(admitted) => Ok((admitted, None)),
        };
        let admitted = self.host(group_id, now, out, join)?;
        Some(self.admitted(token, group_id, admitted, out))
    }

    /// Handles a heartbeat with which a stable classic group becomes one that the coordinator assigns;
    /// `None` if it does not. No member is to do anything for it.
    pub(super) fn host_stable(
        &mut self,
        request: &HeartbeatRequest,
        now: Now,
        out: &mut Out,
    ) -> Option<Reply<GroupResponse>> {
        if !is_server_mode(&self.config, &request.group_id)
            || self.classic_groups.get(request.group_id.as_str())?.members().len() < 2
        {
            return None;
        }
        let heartbeat = |step: &mut Step<'_, '_>| Ok((hosted::heartbeat(step, request)?, None));
        let error_code = self.host(&request.group_id, now, out, heartbeat)?;
        let response = HeartbeatResponse { error_code, ..Default::default() };
        Some(Reply::AfterCommit(GroupResponse::Heartbeat(response)))
    }

    /// Runs `run` on the consumer group that a stable classic group becomes; `None`, and it stays what
    /// it is, if it cannot be one or `run` refuses.
    fn host<R>(
        &mut self,
        group_id: &str,
        now: Now,
        out: &mut Out,
        run: impl FnOnce(&mut Step<'_, '_>) -> Stepped<R>,
    ) -> Option<R> {
        let classic = self.classic_groups.get(group_id)?;
        let protocol = classic.protocol_name().filter(|protocol| is_built_in(protocol))?;
        let generation = classic.generation();
        if !classic.is(ClassicGroupState::Stable)
            || classic.unhostable().is_some()
            // A request waits for an answer of the classic group.
            || classic.awaiting().next().is_some()
        {
            return None;
        }
        let id: Arc<str> = classic.id().clone();
        let assignor = stored_assignor(protocol);
        let max_size = self.config.max_size;
        let unsynced: Vec<Arc<str>> = classic.unsynced_members().cloned().collect();
        let became = upgraded(classic, max_size, Some(assignor), &mut cx!(self, now, out));
        let became = became.map_err(|refused| refused.message.into()).and_then(|became| {
            let (group, records) = &became;
            let reason = if !is_hostable(group) {
                "its members vote for no assignor that the coordinator has"
            } else if !self.config.batch_limit.fits(records) {
                "it has too many members for a batch of max.message.bytes"
            } else {
                return Ok(became);
            };
            Err(reason.into())
        });
        let (group, records) = match became {
            Ok(became) => became,
            Err(reason) => {
                self.classic_groups.get_mut(group_id)?.unhostable = Some((generation, reason));
                return None;
            }
        };
        self.become_hosted(&id, Hosting { group, records, unsynced }, now, out, run)
    }

    /// Replaces the classic group with a group that the coordinator assigns, and runs `run` on it; `None` if that
    /// refuses.
    fn become_hosted<R>(
        &mut self,
        id: &Arc<str>,
        hosting: Hosting,
        now: Now,
        out: &mut Out,
        run: impl FnOnce(&mut Step<'_, '_>) -> Stepped<R>,
    ) -> Option<R> {
        let Hosting { group, records, unsynced } = hosting;
        let classic = self.classic_groups.get(id)?;
        expect(&mut self.consumer_state, classic, &self.config, out);
        note_conversion(&mut self.rebalances, classic);
        let left_out = leaves_out(&group, &self.image);
        let left_out = left_out.then(|| (group.epochs().group, classic.leader().cloned()));
        let state = self.consumer_state.of(id);
        (state.left_out, state.knows_left_out) = (left_out, true);
        let result = self.with_new_consumer_group(id, &group, records, now, out, run).ok()?;
        start_classic_sessions(id, &group, out);
        await_syncs(id, &group, &unsynced, out);
        Some(result)
    }

    /// Has a round's assignment written: as the classic group's record, or, where the group is to be one that the
    /// coordinator assigns and is too large to become one in a batch later, as the records of that. No member has
    /// been told of the assignment yet, so these may be written in parts.
    pub(super) fn host_large_round(
        &mut self,
        stored: StoredAssignment,
        now: Now,
        out: &mut Out,
    ) -> Then {
        match self.try_host_large_round(&stored, now, out) {
            Some(id) => Then::HostedRound(id),
            None => Then::StoredAssignment(stored),
        }
    }

    fn try_host_large_round(
        &mut self,
        stored: &StoredAssignment,
        now: Now,
        out: &mut Out,
    ) -> Option<Arc<str>> {
        let limit = self.config.batch_limit.bytes;
        let classic = self.classic_groups.get_mut(&stored.group)?;
        let id = classic.id().clone();
        if !is_server_mode(&self.config, &id)
            || classic.members().len() < 2
            || classic.upgraded_bytes(&stored.assignments) < limit
        {
            return None;
        }
        let assignor = stored_assignor(classic.protocol_name().filter(|name| is_built_in(name))?);
        classic.take_assignments(stored.assignments.clone());
        let classic = self.classic_groups.get(&id)?;
        let max_size = self.config.max_size;
        let became = upgraded(classic, max_size, Some(assignor), &mut cx!(self, now, out));
        let became = became.ok().filter(|(group, records)| {
            is_hostable(group) && !self.config.batch_limit.fits(records)
        });
        let Some((group, records)) = became else {
            self.classic_groups.get_mut(&id)?.take_assignments(BTreeMap::new());
            return None;
        };
        // The classic group's record.
        out.records.clear();
        let unsynced: Vec<Arc<str>> = classic.unsynced_members().cloned().collect();
        self.with_group(&id, now, out, |group, env| group.assigned(env));
        let hosting = Hosting { group, records, unsynced };
        self.become_hosted(&id, hosting, now, out, |_| Ok(((), None)))?;
        out.split();
        Some(id)
    }

    /// The description of a group that the coordinator assigns, as of the last commit.
    pub(super) fn describe_hosted(&self, id: &str) -> Option<DescribedGroup> {
        let group = self.logged.committed_consumer_group(id)?;
        Some(hosted::describe(id, &group, &self.image))
    }
}

/// Members that have not asked for their assignment have as long for it as in the classic group.
fn await_syncs(id: &Arc<str>, group: &ConsumerGroup, unsynced: &[Arc<str>], out: &mut Out) {
    for member in unsynced.iter().filter_map(|member| group.member(member)) {
        let timeout_ms = u64::try_from(member.metadata.rebalance_timeout_ms).unwrap_or(0);
        out.schedule(GroupTimer::ClassicSync(id.clone(), member.id.clone()), timeout_ms);
    }
}

/// The ids that were given out go on to be known, for a while.
fn expect(consumers: &mut LiveGroups, group: &ClassicGroup, config: &GroupConfig, out: &mut Out) {
    consumers.expect(group.id(), group.pending());
    for id in group.pending() {
        let timer = GroupTimer::ConsumerSession(group.id().clone(), id.clone());
        out.schedule(timer, config.new_member_join_timeout_ms);
    }
}

/// Whether a JoinGroup adds a member to a group.
fn is_new_to(group: &ClassicGroup, context: &RequestContext, request: &JoinGroupRequest) -> bool {
    if !request.member_id.is_empty() {
        return group.pending().any(|pending| **pending == *request.member_id);
    }
    match &request.group_instance_id {
        Some(instance_id) => group.member_of_instance(instance_id).is_none(),
        None => context.api_version < FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP,
    }
}
