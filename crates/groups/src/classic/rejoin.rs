//! What follows the record of a static member that came back to a stable group.

use thalweg_wire::ErrorCode;

use super::group::{ClassicGroup, Env};
use super::state::ClassicGroupState;
use crate::model::StaticRejoin;

/// First version in which a leader can be told that it is leader and need not assign.
const FIRST_VERSION_WITH_SKIP_ASSIGNMENT: i16 = 9;

impl ClassicGroup {
    /// The new id is written: answer without a rebalance. Or it is not: the old member is back.
    pub(crate) fn finish_static_rejoin(
        &mut self,
        rejoin: &StaticRejoin,
        result: Result<(), ErrorCode>,
        env: &mut Env<'_>,
    ) {
        let waits =
            self.members.get(&rejoin.new_id).is_some_and(|m| m.awaiting_join == Some(rejoin.token));
        if !waits {
            return; // Answered already: it left, or was replaced itself.
        }
        if let Err(error) = result {
            return self.undo_static_rejoin(rejoin, error, env);
        }
        if self.is(ClassicGroupState::PreparingRebalance) {
            return; // Somebody else began a rebalance meanwhile; its end is the answer.
        }
        let leads = self.is_leader(&rejoin.new_id);
        let mut response;
        if rejoin.api_version >= FIRST_VERSION_WITH_SKIP_ASSIGNMENT {
            response = self.join_response(&rejoin.new_id, leads);
            response.skip_assignment = leads;
        } else {
            // Older clients are given the leader's old id, so that none of them starts to assign:
            // a stable group would not listen.
            response = self.join_response(&rejoin.new_id, false);
            response.leader = rejoin.leader_before.clone();
        }
        self.answer_join(&rejoin.new_id, response, env);
    }

    fn undo_static_rejoin(&mut self, rejoin: &StaticRejoin, error: ErrorCode, env: &mut Env<'_>) {
        let mut response = self.join_response("", false);
        response.leader = rejoin.leader_before.clone();
        response.error_code = thalweg_coordinator::append_error(error);
        self.answer_join(&rejoin.new_id, response, env);
        let old = &rejoin.old;
        self.update_member(
            &rejoin.new_id,
            old.protocols.clone(),
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            None,
            env,
        );
        self.replace_static_member(&rejoin.instance_id, &rejoin.new_id, old.id.clone(), env);
        self.reschedule_session(&old.id, env);
        if !self.has_protocol_in_common() {
            // Others have joined meanwhile that go with what it offered now, not with what it offered
            // before. It has been refused and will join again.
            self.remove(&old.id, env);
            self.rebalance_or_complete_join(env);
        }
    }
}
