//! Classic groups that the coordinator takes over, and how they look.

use std::sync::Arc;

use thalweg_coordinator::{Now, Reply};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_groups_response::DescribedGroup;
use thalweg_wire::messages::{HeartbeatRequest, HeartbeatResponse, JoinGroupRequest};

use super::consumer::{Stepped, cx, start_classic_sessions};
use super::{GroupShard, Out, Then};
use crate::classic::{ClassicGroupState, FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP};
use crate::consumer::{ConsumerGroup, Joined, LiveGroups, Refused, Step, upgraded};
use crate::hosted::{
    Entry, describe, founds_hosted_group, is_built_in, is_hostable, is_server_mode, protocol,
    stored_assignor,
};
use crate::{ClassicGroup, GroupConfig, GroupRecord, GroupResponse, GroupTimer, RequestContext};

/// The classic group is to answer.
fn not_here() -> Refused {
    Refused::new(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, String::new())
}

impl GroupShard {
    /// Handles the JoinGroup with which a classic group, or none, becomes one that the coordinator
    /// assigns; `None` if it does not.
    pub(super) fn host_joining(
        &mut self,
        context: &RequestContext,
        request: &JoinGroupRequest,
        now: Now,
        out: &mut Out,
    ) -> Option<Reply<GroupResponse>> {
        let group_id = request.group_id.as_str();
        if !is_server_mode(&self.config, group_id) {
            return None;
        }
        let is_stable = |group: &ClassicGroup| group.is(ClassicGroupState::Stable);
        let join = |step: &mut Step<'_, '_>| match step.hosted_join(context, request)? {
            Entry::Joined(joined) => Ok((*joined, None)),
            Entry::NeedsBarrier => Err(not_here()),
        };
        let joined = match self.live.get(group_id) {
            Some(group) if is_stable(group) => self.host(group_id, now, out, join)?,
            Some(group) if group.is(ClassicGroupState::Empty) => {
                let id = group.id().clone();
                let comes_back = group.pending().any(|pending| **pending == *request.member_id);
                if !comes_back && !enters_at_once(context, request) || !founds_hosted_group(request)
                {
                    return None;
                }
                let records = vec![GroupRecord::group_metadata(&id, None)];
                expect(&mut self.consumers, group, &self.config, out);
                let blank = ConsumerGroup::default();
                self.with_new_consumer_group(&id, &blank, records, now, out, join).ok()?
            }
            Some(_) => return None,
            None if !enters_at_once(context, request) || !founds_hosted_group(request) => {
                return None;
            }
            // A consumer group that nobody is in any more.
            None if self.is_consumer_group(group_id) => {
                self.with_consumer_group(group_id, now, out, join)?.ok()?
            }
            None => {
                let blank = ConsumerGroup::default();
                let id = group_id.into();
                self.with_new_consumer_group(&id, &blank, Vec::new(), now, out, join).ok()?
            }
        };
        let Joined { response, then, .. } = joined;
        out.then = then.map(Then::HostedJoin);
        Some(Reply::AfterCommit(GroupResponse::JoinGroup(response)))
    }

    /// Handles a heartbeat with which a stable classic group becomes one that the coordinator assigns;
    /// `None` if it does not. No member is to do anything for it.
    pub(super) fn host_stable(
        &mut self,
        request: &HeartbeatRequest,
        now: Now,
        out: &mut Out,
    ) -> Option<Reply<GroupResponse>> {
        if !is_server_mode(&self.config, &request.group_id) {
            return None;
        }
        let heartbeat = |step: &mut Step<'_, '_>| Ok((step.hosted_heartbeat(request)?, None));
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
        let classic = self.live.get(group_id)?;
        let protocol = classic.protocol_name().filter(|protocol| is_built_in(protocol))?;
        let generation = classic.generation();
        if !classic.is(ClassicGroupState::Stable)
            || classic.unhostable().is_some()
            // Somebody waits for an answer of the classic group.
            || classic.awaiting().next().is_some()
        {
            return None;
        }
        let id: Arc<str> = classic.id().clone();
        let assignor = stored_assignor(protocol);
        let max_size = self.config.max_size;
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
                self.live.get_mut(group_id)?.unhostable = Some((generation, reason));
                return None;
            }
        };
        expect(&mut self.consumers, classic, &self.config, out);
        self.rebalances.converts(classic);
        let result = self.with_new_consumer_group(&id, &group, records, now, out, run).ok()?;
        start_classic_sessions(&id, &group, out);
        Some(result)
    }

    pub(super) fn is_hosted_committed(&self, id: &str) -> bool {
        if !is_server_mode(&self.config, id) {
            return false;
        }
        if let Some(group) = self.logged.unchanged_consumer_group(id) {
            return is_hostable(group);
        }
        let group = self.logged.committed_consumer_group(id);
        group.and_then(|group| protocol(&group)).is_some_and(|name| is_built_in(&name))
    }

    /// The description of a group that the coordinator assigns; `None` for others.
    pub(super) fn describe_hosted(&self, id: &str) -> Option<DescribedGroup> {
        let is_hosted = self.is_hosted_committed(id);
        let group = is_hosted.then(|| self.logged.committed_consumer_group(id))??;
        Some(describe(id, &group, &self.image))
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

/// Whether a member without an id is let in as it comes.
fn enters_at_once(context: &RequestContext, request: &JoinGroupRequest) -> bool {
    request.member_id.is_empty()
        && (request.group_instance_id.is_some()
            || context.api_version < FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP)
}
