//! From the first JoinGroup of a round to the start of its generation.

use std::collections::BTreeMap;

use bytes::Bytes;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{JoinGroupResponse, SyncGroupResponse};

use super::group::{ClassicGroup, Env, InitialDelay};
use super::state::ClassicGroupState;
use crate::model::{GroupRecord, GroupResponse, GroupTimer, Member};

/// How long to wait at least when nobody came back and nobody may be put out.
const SHORTEST_WAIT_FOR_STATIC_MEMBERS_MS: u64 = 1000;

impl ClassicGroup {
    /// Starts a rebalance, or goes on with the one that is under way.
    pub(super) fn rebalance_or_complete_join(&mut self, env: &mut Env<'_>) {
        if self.state.may_become(ClassicGroupState::PreparingRebalance) {
            self.prepare_rebalance(env);
        } else {
            self.complete_join_if_all_joined(env);
        }
    }

    /// Starts a rebalance: members are told to join again.
    pub(crate) fn prepare_rebalance(&mut self, env: &mut Env<'_>) {
        if self.is(ClassicGroupState::CompletingRebalance) {
            self.reset_assignments(ErrorCode::REBALANCE_IN_PROGRESS, env);
        }
        self.note_begin(env);
        self.pending_sync.clear();
        env.out.cancel(GroupTimer::Sync(self.id.clone()));
        if self.is(ClassicGroupState::Empty) {
            // The first member of a group: others are probably being started right now.
            let delay_ms = u64::from(env.config.initial_rebalance_delay_ms);
            let remaining_ms = self.rebalance_timeout_ms().saturating_sub(delay_ms);
            self.initial_delay = Some(InitialDelay { delay_ms, remaining_ms });
            env.out.schedule(GroupTimer::Join(self.id.clone()), delay_ms);
            self.transition(ClassicGroupState::PreparingRebalance, env.now);
            return;
        }
        self.transition(ClassicGroupState::PreparingRebalance, env.now);
        if self.has_all_members_joined() {
            self.complete_join(env);
        } else {
            self.schedule_join(env);
        }
    }

    fn schedule_join(&mut self, env: &mut Env<'_>) {
        self.initial_delay = None;
        env.out.schedule(GroupTimer::Join(self.id.clone()), self.rebalance_timeout_ms());
    }

    fn schedule_join_again(&mut self, env: &mut Env<'_>) {
        // Kafka waits for the rebalance timeout again, and if that is zero spins until a session ends.
        let delay_ms = self.rebalance_timeout_ms().max(SHORTEST_WAIT_FOR_STATIC_MEMBERS_MS);
        env.out.schedule(GroupTimer::Join(self.id.clone()), delay_ms);
    }

    /// Ends the join phase early if nobody is missing. The delay of a first rebalance is kept.
    pub(super) fn complete_join_if_all_joined(&mut self, env: &mut Env<'_>) {
        if self.is(ClassicGroupState::PreparingRebalance)
            && self.previous_state != ClassicGroupState::Empty
            && self.has_all_members_joined()
        {
            self.complete_join(env);
        }
    }

    /// The join timer is due.
    pub(crate) fn join_timer_fired(&mut self, env: &mut Env<'_>) {
        match self.initial_delay {
            Some(delay) if self.new_member_added && delay.remaining_ms != 0 => {
                // Somebody came: wait once more, as long as the slowest member allows.
                self.new_member_added = false;
                let initial_ms = u64::from(env.config.initial_rebalance_delay_ms);
                let delay_ms = initial_ms.min(delay.remaining_ms);
                let remaining_ms = delay.remaining_ms.saturating_sub(delay.delay_ms);
                self.initial_delay = Some(InitialDelay { delay_ms, remaining_ms });
                env.out.schedule(GroupTimer::Join(self.id.clone()), delay_ms);
            }
            _ => self.complete_join(env),
        }
    }

    /// Ends the join phase: dynamic members that did not come back are out, the next generation
    /// starts.
    pub(super) fn complete_join(&mut self, env: &mut Env<'_>) {
        env.out.cancel(GroupTimer::Join(self.id.clone()));
        self.initial_delay = None;
        if !self.is(ClassicGroupState::PreparingRebalance) {
            return;
        }
        let missing: Vec<_> = self
            .members
            .values()
            .filter(|m| !m.is_awaiting_join() && !m.is_static())
            .map(|m| m.id.clone())
            .collect();
        for member_id in missing {
            self.remove(&member_id, env);
        }
        if !self.elect_joined_leader() && !self.members.is_empty() {
            // Only static members, and none came back: wait until their sessions end.
            return self.schedule_join_again(env);
        }
        self.start_next_generation(env.now);
        self.note_joined_all(env);
        if self.is(ClassicGroupState::Empty) {
            let record = self.to_record(&BTreeMap::new());
            env.out.record(GroupRecord::group_metadata(&self.id, Some(record)));
            return;
        }
        for member_id in self.member_ids() {
            let response = self.join_response(&member_id, self.is_leader(&member_id));
            self.answer_join(&member_id, response, env);
            self.reschedule_session(&member_id, env);
            if let Some(member) = self.members.get_mut(&member_id) {
                member.is_new = false;
            }
            self.pending_sync.insert(member_id);
        }
        env.out.schedule(GroupTimer::Sync(self.id.clone()), self.rebalance_timeout_ms());
    }

    /// Answers a member's JoinGroup if it waits for one.
    pub(super) fn answer_join(
        &mut self,
        member_id: &str,
        response: JoinGroupResponse,
        env: &mut Env<'_>,
    ) {
        let Some(member) = self.members.get_mut(member_id) else { return };
        if let Some(token) = member.awaiting_join.take() {
            self.awaiting_join -= 1;
            env.out.complete(token, GroupResponse::JoinGroup(response));
        }
    }

    /// Nobody has an assignment any more; those who wait for one get `error`.
    pub(super) fn reset_assignments(&mut self, error: ErrorCode, env: &mut Env<'_>) {
        for member in self.members.values_mut() {
            member.assignment = Bytes::new();
        }
        self.answer_syncs(error, env);
    }

    /// Answers everyone who waits for an assignment, with theirs or with `error`.
    pub(super) fn answer_syncs(&mut self, error: ErrorCode, env: &mut Env<'_>) {
        let succeeded = error == ErrorCode::NONE;
        for member_id in self.member_ids() {
            let waiting = self.members.get_mut(&member_id);
            let Some((token, assignment)) = waiting.and_then(|member: &mut Member| {
                member.awaiting_sync.take().map(|token| (token, member.assignment.clone()))
            }) else {
                continue;
            };
            let response = SyncGroupResponse {
                error_code: error,
                protocol_type: self.protocol_type.clone().filter(|_| succeeded),
                protocol_name: self.protocol_name.clone().filter(|_| succeeded),
                assignment,
                ..Default::default()
            };
            env.out.complete(token, GroupResponse::SyncGroup(response));
            // While it waited, the end of its session was not looked at.
            self.reschedule_session(&member_id, env);
        }
    }
}
