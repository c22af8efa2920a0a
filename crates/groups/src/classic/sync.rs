//! SyncGroup: the leader hands in the assignment, everyone takes theirs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::{Token, append_error};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{SyncGroupRequest, SyncGroupResponse};

use super::group::{ClassicGroup, Env};
use super::state::ClassicGroupState;
use crate::model::{GroupRecord, GroupResponse, GroupTimer, StoredAssignment, Then, sync_error};

impl ClassicGroup {
    /// Handles SyncGroup. The answer is among the outcome's completions, or the member waits for it.
    pub(crate) fn sync(&mut self, token: Token, request: &SyncGroupRequest, env: &mut Env<'_>) {
        if let Err(error) = self.validate_sync(request) {
            env.out.complete(token, GroupResponse::SyncGroup(sync_error(error)));
            return;
        }
        let member_id = request.member_id.as_str();
        match self.state {
            ClassicGroupState::CompletingRebalance if self.is_leader(member_id) => {
                let Some(assignments) = self.assignments(request, env) else {
                    // The leader joins again, after a while.
                    let response = sync_error(ErrorCode::COORDINATOR_NOT_AVAILABLE);
                    env.out.complete(token, GroupResponse::SyncGroup(response));
                    return;
                };
                self.await_sync(member_id, token, env);
                self.synced(member_id, env);
                self.store_assignment(assignments, env);
            }
            ClassicGroupState::CompletingRebalance => {
                self.await_sync(member_id, token, env);
                self.synced(member_id, env);
            }
            ClassicGroupState::Stable => {
                self.synced(member_id, env);
                self.note_synced(member_id, env);
                let assignment = self.members.get(member_id).map(|m| m.assignment.clone());
                let response = SyncGroupResponse {
                    protocol_type: self.protocol_type.clone(),
                    protocol_name: self.protocol_name.clone(),
                    assignment: assignment.unwrap_or_default(),
                    ..Default::default()
                };
                env.out.complete(token, GroupResponse::SyncGroup(response));
            }
            // An empty group has no member that could have been validated.
            ClassicGroupState::PreparingRebalance
            | ClassicGroupState::Empty
            | ClassicGroupState::Dead => {
                let response = sync_error(ErrorCode::REBALANCE_IN_PROGRESS);
                env.out.complete(token, GroupResponse::SyncGroup(response));
            }
        }
    }

    fn validate_sync(&self, request: &SyncGroupRequest) -> Result<(), ErrorCode> {
        if self.is(ClassicGroupState::Empty) {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        }
        self.validate_member(&request.member_id, request.group_instance_id.as_deref())?;
        if request.generation_id != self.generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        // Clients before version 5 do not say what they think they agreed on.
        let differs = |theirs: &Option<String>, ours: &Option<String>| matches!((theirs, ours), (Some(theirs), Some(ours)) if theirs != ours);
        if differs(&request.protocol_type, &self.protocol_type)
            || differs(&request.protocol_name, &self.protocol_name)
        {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        Ok(())
    }

    /// Parks the request. One that the member sent before is answered with REBALANCE_IN_PROGRESS;
    /// Kafka forgets it.
    fn await_sync(&mut self, member_id: &str, token: Token, env: &mut Env<'_>) {
        let Some(member) = self.members.get_mut(member_id) else { return };
        if let Some(earlier) = member.awaiting_sync.replace(token) {
            let response = sync_error(ErrorCode::REBALANCE_IN_PROGRESS);
            env.out.complete(earlier, GroupResponse::SyncGroup(response));
        }
    }

    fn synced(&mut self, member_id: &str, env: &mut Env<'_>) {
        self.pending_sync.remove(member_id);
        if self.pending_sync.is_empty() {
            env.out.cancel(GroupTimer::Sync(self.id.clone()));
        }
    }

    /// What the leader computed for the members there are, copied to stay for the same reason as
    /// their metadata; `None` if the account has no room for it.
    fn assignments(
        &self,
        request: &SyncGroupRequest,
        env: &Env<'_>,
    ) -> Option<BTreeMap<Arc<str>, Bytes>> {
        let mut assignments = BTreeMap::new();
        for given in &request.assignments {
            if let Some((id, _)) = self.members.get_key_value(given.member_id.as_str()) {
                assignments.insert(id.clone(), env.account.try_keep(&given.assignment, 0)?);
            }
        }
        Some(assignments)
    }

    /// Writes what the leader computed. Members it forgot get nothing.
    fn store_assignment(&mut self, assignments: BTreeMap<Arc<str>, Bytes>, env: &mut Env<'_>) {
        let record = self.to_record(&assignments);
        env.out.record(GroupRecord::group_metadata(&self.id, Some(record)));
        env.out.then = Some(Then::StoredAssignment(StoredAssignment {
            group: self.id.clone(),
            generation: self.generation,
            assignments,
        }));
    }

    /// The assignment is written, or not.
    pub(crate) fn finish_assignment(
        &mut self,
        stored: StoredAssignment,
        result: Result<(), ErrorCode>,
        env: &mut Env<'_>,
    ) {
        // Somebody may have started another rebalance in between.
        if !self.is(ClassicGroupState::CompletingRebalance) || stored.generation != self.generation
        {
            return;
        }
        match result {
            Ok(()) => {
                self.take_assignments(stored.assignments);
                self.assigned(env);
            }
            Err(error) => self.assignment_failed(error, env),
        }
    }

    /// Members have what the leader computed for them.
    pub(crate) fn take_assignments(&mut self, mut assignments: BTreeMap<Arc<str>, Bytes>) {
        for member in self.members.values_mut() {
            member.assignment = assignments.remove(&member.id).unwrap_or_default();
        }
    }

    /// The round is over: members have their assignments, and those that wait for theirs are answered.
    pub(crate) fn assigned(&mut self, env: &mut Env<'_>) {
        self.note_assigned(env);
        self.answer_syncs(ErrorCode::NONE, env);
        self.transition(ClassicGroupState::Stable, env.now);
        *env.completed_rebalances += 1;
    }

    /// What the leader computed could not be written.
    pub(crate) fn assignment_failed(&mut self, error: ErrorCode, env: &mut Env<'_>) {
        self.note_coordinator(&format!("the assignment was not written: {error}"));
        self.reset_assignments(append_error(error), env);
        self.rebalance_or_complete_join(env);
    }

    /// The sync timer is due: members that never asked for their assignment are out.
    pub(crate) fn sync_timer_fired(&mut self, env: &mut Env<'_>) {
        let active = matches!(
            self.state,
            ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable
        );
        if !active || self.pending_sync.is_empty() {
            return;
        }
        for member_id in std::mem::take(&mut self.pending_sync) {
            self.remove(&member_id, env);
        }
        self.prepare_rebalance(env);
    }
}
