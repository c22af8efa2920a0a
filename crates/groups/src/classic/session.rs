//! Heartbeat, LeaveGroup, and what happens when a session ends.

use std::sync::Arc;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::leave_group_response::MemberResponse;
use thalweg_wire::messages::{HeartbeatRequest, LeaveGroupRequest, LeaveGroupResponse};

use super::group::{ClassicGroup, Env};
use super::state::ClassicGroupState;
use crate::model::left_member;

impl ClassicGroup {
    /// Handles Heartbeat.
    pub(crate) fn heartbeat(&mut self, request: &HeartbeatRequest, env: &mut Env<'_>) -> ErrorCode {
        if let Err(error) =
            self.validate_member(&request.member_id, request.group_instance_id.as_deref())
        {
            return error;
        }
        if !self.is_generation_of(&request.member_id, request.generation_id) {
            return ErrorCode::ILLEGAL_GENERATION;
        }
        match self.state {
            ClassicGroupState::Empty | ClassicGroupState::Dead => ErrorCode::UNKNOWN_MEMBER_ID,
            ClassicGroupState::PreparingRebalance => {
                self.reschedule_session(&request.member_id, env);
                self.why.told(&request.member_id, env.now.wall_ms);
                ErrorCode::REBALANCE_IN_PROGRESS
            }
            ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => {
                self.reschedule_session(&request.member_id, env);
                ErrorCode::NONE
            }
        }
    }

    /// Handles LeaveGroup.
    pub(crate) fn leave(
        &mut self,
        request: &LeaveGroupRequest,
        api_version: i16,
        env: &mut Env<'_>,
    ) -> LeaveGroupResponse {
        let mut members = Vec::new();
        let default_reason = "left the group";
        env.rebalances.reason(default_reason);
        if api_version < 3 {
            members.push(self.leave_one(&request.member_id, None, env));
        } else {
            for member in &request.members {
                let instance_id = member.group_instance_id.as_deref();
                env.rebalances.reason(member.reason.as_deref().unwrap_or(default_reason));
                members.push(self.leave_one(&member.member_id, instance_id, env));
            }
        }
        if members.iter().any(|m| m.error_code == ErrorCode::NONE) {
            match self.state {
                ClassicGroupState::Stable | ClassicGroupState::CompletingRebalance => {
                    self.rebalance_or_complete_join(env);
                }
                ClassicGroupState::PreparingRebalance => self.complete_join_if_all_joined(env),
                ClassicGroupState::Empty | ClassicGroupState::Dead => {}
            }
        }
        LeaveGroupResponse { members, ..Default::default() }
    }

    fn leave_one(
        &mut self,
        member_id: &str,
        instance_id: Option<&str>,
        env: &mut Env<'_>,
    ) -> MemberResponse {
        let leaving: Result<Arc<str>, ErrorCode> = if member_id.is_empty() {
            // Administrators take static members out by their instance id alone.
            instance_id
                .and_then(|instance_id| self.static_members.get(instance_id).cloned())
                .ok_or(ErrorCode::UNKNOWN_MEMBER_ID)
        } else if self.pending_join.contains(member_id) {
            Ok(member_id.into())
        } else {
            self.validate_member(member_id, instance_id).map(|()| member_id.into())
        };
        let error_code = match leaving {
            Ok(leaving) => {
                self.remove(&leaving, env);
                ErrorCode::NONE
            }
            Err(error) => error,
        };
        left_member(member_id, instance_id, error_code)
    }

    /// The answer to LeaveGroup when there is no such group.
    pub(crate) fn leave_unknown(
        request: &LeaveGroupRequest,
        api_version: i16,
    ) -> LeaveGroupResponse {
        let error = ErrorCode::UNKNOWN_MEMBER_ID;
        let members = if api_version < 3 {
            vec![left_member(&request.member_id, None, error)]
        } else {
            let unknown = |m: &thalweg_wire::messages::leave_group_request::MemberIdentity| {
                left_member(&m.member_id, m.group_instance_id.as_deref(), error)
            };
            request.members.iter().map(unknown).collect()
        };
        LeaveGroupResponse { members, ..Default::default() }
    }

    /// A session timer is due.
    pub(crate) fn session_ended(&mut self, member_id: &str, env: &mut Env<'_>) {
        if self.pending_join.contains(member_id) {
            self.remove(member_id, env);
            if self.is(ClassicGroupState::PreparingRebalance) && self.has_all_members_joined() {
                self.complete_join(env);
            }
            return;
        }
        let expired =
            self.members.get(member_id).is_some_and(|member| !member.has_satisfied_heartbeat());
        if expired {
            self.fail(member_id, env);
        }
    }

    /// Takes a member out that counts as failed.
    pub(crate) fn fail(&mut self, member_id: &str, env: &mut Env<'_>) {
        self.remove(member_id, env);
        match self.state {
            ClassicGroupState::Stable | ClassicGroupState::CompletingRebalance => {
                self.rebalance_or_complete_join(env);
            }
            ClassicGroupState::PreparingRebalance if self.has_all_members_joined() => {
                self.complete_join(env);
            }
            _ => {}
        }
    }
}
