//! JoinGroup: who may enter, who gets an id first, who takes a static member's place.

use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::Token;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{JoinGroupRequest, JoinGroupResponse};

use super::group::{ClassicGroup, Env};
use super::state::ClassicGroupState;
use crate::model::{
    GroupRecord, GroupResponse, GroupTimer, Member, Protocol, RequestContext, StaticRejoin, Then,
    TriggerKind, join_error,
};

/// First version in which a new member is sent back for its id.
pub(crate) const FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP: i16 = 4;

/// A JoinGroup request with what belongs to it.
pub(crate) struct Join<'r> {
    pub token: Token,
    pub context: &'r RequestContext,
    pub request: &'r JoinGroupRequest,
}

impl Join<'_> {
    fn refuse(&self, member_id: &str, error: ErrorCode, env: &mut Env<'_>) {
        let response = join_error(member_id, error);
        env.out.complete(self.token, GroupResponse::JoinGroup(response));
    }

    /// What the member says, copied to stay. Without room for it the request is refused with
    /// COORDINATOR_NOT_AVAILABLE, which clients try again after a while.
    fn protocols(&self, before: Option<&Member>, env: &mut Env<'_>) -> Option<Vec<Protocol>> {
        let kept = Protocol::from_request(self.context, self.request, before, env.account);
        if kept.is_none() {
            self.refuse(&self.request.member_id, ErrorCode::COORDINATOR_NOT_AVAILABLE, env);
        }
        kept
    }

    /// Version 0 has no rebalance timeout; the session's is meant.
    fn rebalance_timeout_ms(&self) -> i32 {
        if self.context.api_version == 0 {
            self.request.session_timeout_ms
        } else {
            self.request.rebalance_timeout_ms
        }
    }
}

impl ClassicGroup {
    /// Handles JoinGroup. The answer is among the outcome's completions, or the member waits for it.
    pub(crate) fn join(&mut self, join: &Join<'_>, env: &mut Env<'_>) {
        let request = join.request;
        if !self.accepts_joining(&request.member_id, env) {
            env.rebalances.reason("the group is full");
            self.remove(&request.member_id, env);
            join.refuse("", ErrorCode::GROUP_MAX_SIZE_REACHED, env);
        } else if !self.supports_protocols(&request.protocol_type, &request.protocols) {
            join.refuse(&request.member_id, ErrorCode::INCONSISTENT_GROUP_PROTOCOL, env);
        } else if request.member_id.is_empty() {
            self.join_new(join, env);
        } else {
            self.join_existing(join, env);
        }
    }

    fn accepts_joining(&self, member_id: &str, env: &Env<'_>) -> bool {
        let member = self.members.get(member_id);
        match self.state {
            ClassicGroupState::Empty | ClassicGroupState::Dead => true,
            // Those who wait are counted, not the members: the limit may have been lowered, and then
            // it is the last to come back that are left out.
            ClassicGroupState::PreparingRebalance => {
                member.is_some_and(Member::is_awaiting_join)
                    || self.awaiting_join < env.config.max_size
            }
            ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => {
                member.is_some() || self.members.len() < env.config.max_size
            }
        }
    }

    fn join_new(&mut self, join: &Join<'_>, env: &mut Env<'_>) {
        let instance_id = join.request.group_instance_id.as_deref();
        let member_id = new_member_id(join.context, instance_id);
        if let Some(instance_id) = instance_id {
            match self.static_members.get(instance_id).cloned() {
                Some(existing) => self.rejoin_static(join, instance_id, &existing, member_id, env),
                None => self.add_member(join, member_id, env),
            }
        } else if join.context.api_version >= FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP {
            if self.pending_join.len() >= env.config.max_pending_members {
                return join.refuse("", ErrorCode::GROUP_MAX_SIZE_REACHED, env);
            }
            let timeout = u64::try_from(join.request.session_timeout_ms).unwrap_or(0);
            env.out.schedule(GroupTimer::Session(self.id.clone(), member_id.clone()), timeout);
            join.refuse(&member_id, ErrorCode::MEMBER_ID_REQUIRED, env);
            self.pending_join.insert(member_id);
        } else {
            self.add_member(join, member_id, env);
        }
    }

    fn join_existing(&mut self, join: &Join<'_>, env: &mut Env<'_>) {
        let request = join.request;
        let member_id = request.member_id.as_str();
        if let Some(pending) = self.pending_join.get(member_id).cloned() {
            if request.group_instance_id.is_some() {
                // Ids are handed out ahead to dynamic members only. Kafka has no answer of its own.
                return join.refuse("", ErrorCode::UNKNOWN_SERVER_ERROR, env);
            }
            return self.add_member(join, pending, env);
        }
        if let Err(error) = self.validate_member(member_id, request.group_instance_id.as_deref()) {
            return join.refuse(member_id, error, env);
        }
        let matches = self.members.get(member_id).is_some_and(|m| m.matches(&request.protocols));
        let is_leader = self.is_leader(member_id);
        match self.state {
            ClassicGroupState::PreparingRebalance => self.update_and_rebalance(join, env),
            // It may not have got the answer: the generation's, once more.
            ClassicGroupState::CompletingRebalance if matches => {
                let response = self.join_response(member_id, is_leader);
                env.out.complete(join.token, GroupResponse::JoinGroup(response));
            }
            ClassicGroupState::CompletingRebalance => self.update_and_rebalance(join, env),
            // The leader rejoins when it saw something that changes the assignment and that no
            // member's metadata shows: new partitions.
            ClassicGroupState::Stable if is_leader || !matches => {
                self.update_and_rebalance(join, env);
            }
            ClassicGroupState::Stable => {
                let response = self.join_response(member_id, false);
                env.out.complete(join.token, GroupResponse::JoinGroup(response));
            }
            ClassicGroupState::Empty | ClassicGroupState::Dead => {
                join.refuse(member_id, ErrorCode::UNKNOWN_MEMBER_ID, env);
            }
        }
    }

    fn add_member(&mut self, join: &Join<'_>, member_id: Arc<str>, env: &mut Env<'_>) {
        let request = join.request;
        let Some(protocols) = join.protocols(None, env) else { return };
        if self.is(ClassicGroupState::PreparingRebalance)
            && self.previous_state == ClassicGroupState::Empty
        {
            self.new_member_added = true;
        }
        if self.members.is_empty() {
            self.protocol_type = Some(request.protocol_type.clone());
        }
        self.insert(Member {
            id: member_id.clone(),
            instance_id: request.group_instance_id.as_deref().map(Into::into),
            client_id: join.context.client_id.clone(),
            client_host: join.context.client_host.clone(),
            rebalance_timeout_ms: join.rebalance_timeout_ms(),
            session_timeout_ms: request.session_timeout_ms,
            protocols,
            assignment: Bytes::new(),
            awaiting_join: Some(join.token),
            awaiting_sync: None,
            is_new: true,
            sequence: 0,
            spread_hash: 0,
        });
        // It cannot send heartbeats before it is answered, and a client that went away is not seen
        // while its request is parked. So its wait is bounded, and it retries if it is still there.
        self.note(TriggerKind::Joined, &member_id, &join.context.client_id, "");
        self.note_joined(&member_id, env.now.wall_ms);
        let session = GroupTimer::Session(self.id.clone(), member_id);
        env.out.schedule(session, env.config.new_member_join_timeout_ms);
        self.rebalance_or_complete_join(env);
    }

    fn update_and_rebalance(&mut self, join: &Join<'_>, env: &mut Env<'_>) {
        let member_id = join.request.member_id.as_str();
        let Some(protocols) = join.protocols(self.members.get(member_id), env) else { return };
        self.note_rejoin(join);
        self.update_member_from(join, member_id, protocols, env);
        self.note_joined(member_id, env.now.wall_ms);
        self.rebalance_or_complete_join(env);
    }

    fn update_member_from(
        &mut self,
        join: &Join<'_>,
        member_id: &str,
        protocols: Vec<Protocol>,
        env: &mut Env<'_>,
    ) {
        self.update_member(
            member_id,
            protocols,
            join.rebalance_timeout_ms(),
            join.request.session_timeout_ms,
            Some(join.token),
            env,
        );
    }

    /// The answer to a member of this generation.
    pub(super) fn join_response(&self, member_id: &str, with_members: bool) -> JoinGroupResponse {
        JoinGroupResponse {
            members: if with_members { self.members_for_leader() } else { Vec::new() },
            member_id: member_id.to_owned(),
            generation_id: self.generation,
            protocol_name: self.protocol_name.clone(),
            protocol_type: self.protocol_type.clone(),
            leader: self.leader_id(),
            ..Default::default()
        }
    }

    /// A static member comes back without its id: it takes the place of the one that was there.
    fn rejoin_static(
        &mut self,
        join: &Join<'_>,
        instance_id: &str,
        old_id: &str,
        new_id: Arc<str>,
        env: &mut Env<'_>,
    ) {
        let Some(old) = self.members.get(old_id).cloned() else { return };
        let Some(protocols) = join.protocols(Some(&old), env) else { return };
        let leader_before = self.leader_id();
        self.replace_static_member(instance_id, old_id, new_id.clone(), env);
        // Scheduled with the session timeout it had; the new one counts from its next heartbeat.
        self.reschedule_session(&new_id, env);
        self.update_member_from(join, &new_id, protocols, env);
        self.note(TriggerKind::Joined, &new_id, &join.context.client_id, "");
        self.note_joined(&new_id, env.now.wall_ms);
        match self.state {
            ClassicGroupState::Stable => {
                let selected = self.selected_protocol();
                if self.protocol_name.as_deref().unwrap_or_default() != selected {
                    return self.rebalance_or_complete_join(env);
                }
                // Nothing changes for the others: the new id is written and the generation goes on.
                let assignments =
                    self.members.values().map(|m| (m.id.clone(), m.assignment.clone())).collect();
                let record = self.to_record(&assignments);
                env.out.record(GroupRecord::group_metadata(&self.id, Some(record)));
                env.out.then = Some(Then::StaticRejoin(Box::new(StaticRejoin {
                    group: self.id.clone(),
                    token: join.token,
                    api_version: join.context.api_version,
                    instance_id: instance_id.into(),
                    new_id,
                    leader_before,
                    old,
                })));
            }
            // The leader may be at work on an assignment that names the old id.
            ClassicGroupState::CompletingRebalance => self.prepare_rebalance(env),
            _ => self.complete_join_if_all_joined(env),
        }
    }
}

/// The id of a member that comes without one.
pub(crate) fn new_member_id(context: &RequestContext, instance_id: Option<&str>) -> Arc<str> {
    let prefix = instance_id.unwrap_or(&context.client_id);
    format!("{prefix}-{}", random_uuid_text(context.random)).into()
}

/// A random UUID (version 4) as Java prints it.
fn random_uuid_text(random: u128) -> String {
    let bits = (random & !(0xf << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
    let text = format!("{bits:032x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::random_uuid_text;

    #[test]
    fn member_ids_end_with_a_version_4_uuid() {
        assert_eq!(random_uuid_text(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(random_uuid_text(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(
            random_uuid_text(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
            "01234567-89ab-4def-8123-456789abcdef"
        );
    }
}
