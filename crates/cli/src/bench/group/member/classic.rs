//! A member of a classic group.
//!
//! Heartbeats follow Java's `AbstractCoordinator`: the timer starts again when one is sent, and when
//! it ends the next one is sent whether or not the last was answered. They begin with the answer to
//! JoinGroup; REBALANCE_IN_PROGRESS counts only while the member has its assignment.

use bytes::Bytes;
use thalweg_wire::ErrorCode;

use super::super::assignor::{Assignor, Candidate};
use super::super::ledger::Micros;
use super::super::protocol;
use super::{
    Answer, Api, Core, Effects, GroupSpec, JoinAnswer, Note, RETRY_BACKOFF, Request, has_moved,
    is_not_ready,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It has not joined, or tries again at a certain time.
    Unjoined,
    Joining,
    Syncing,
    Stable,
    Leaving,
    Over,
}

/// See the module.
#[derive(Debug)]
pub struct ClassicMember {
    pub core: Core,
    assignor: Assignor,
    state: State,
    retry_at: Option<Micros>,
    heartbeat_due: Micros,
    /// What `sticky` gave it last, and in which generation.
    last: Option<(Vec<i32>, i32)>,
}

impl ClassicMember {
    pub fn new(core: Core, assignor: Assignor) -> ClassicMember {
        ClassicMember {
            core: Core { epoch: -1, ..core },
            assignor,
            state: State::Unjoined,
            retry_at: None,
            heartbeat_due: 0,
            last: None,
        }
    }

    /// The subscription that it joins with: what it owned and the generation of that.
    pub fn claim(&self) -> (&[i32], i32) {
        match (&self.last, self.assignor) {
            (Some((owned, generation)), Assignor::Sticky) => (owned, *generation),
            (None, Assignor::Sticky) => (&[], -1),
            _ => (&self.core.owned, self.core.epoch),
        }
    }

    pub fn connected(&mut self, now: Micros, _spec: &GroupSpec, fx: &mut Effects) {
        match self.state {
            State::Stable => self.heartbeat_due = now,
            State::Leaving | State::Over => fx.notes.push(Note::Left),
            State::Unjoined | State::Joining | State::Syncing => self.join(fx),
        }
    }

    pub fn disconnected(&mut self) {
        self.retry_at = None;
    }

    fn join(&mut self, fx: &mut Effects) {
        self.state = State::Joining;
        self.retry_at = None;
        fx.requests.push(Request::Join);
    }

    /// The group rebalances: eager members give up everything before they join, and all that commit
    /// do so before.
    fn rejoin(&mut self, spec: &GroupSpec, fx: &mut Effects) {
        if self.assignor.is_cooperative() {
            self.core.commit(self.core.owned.clone(), spec, fx);
        } else {
            self.core.give_up_all_but(&[], spec, fx);
        }
        fx.notes.push(Note::Rejoins);
        self.join(fx);
    }

    /// The coordinator does not know the member or its generation: others may have its partitions.
    fn start_over(&mut self, keeps_id: bool, fx: &mut Effects) {
        fx.notes.push(Note::Told);
        self.core.lose_all(fx);
        self.core.epoch = -1;
        if !keeps_id {
            self.core.id.clear();
        }
        fx.notes.push(Note::Rejoins);
        self.join(fx);
    }

    pub fn answered(
        &mut self,
        answer: Answer,
        epoch: i32,
        now: Micros,
        spec: &GroupSpec,
        fx: &mut Effects,
    ) {
        match answer {
            Answer::Join(answer) if self.state == State::Joining => {
                self.joined(answer, now, spec, fx);
            }
            Answer::Sync { code, assignment }
                if self.state == State::Syncing && epoch == self.core.epoch =>
            {
                self.synced(code, &assignment, now, spec, fx);
            }
            Answer::Heartbeat(code) if epoch == self.core.epoch => {
                self.heard(Api::Heartbeat, code, now, spec, fx);
            }
            Answer::Commit(code) if epoch == self.core.epoch => {
                self.heard(Api::Commit, code, now, spec, fx);
            }
            Answer::Commit(code) if code != ErrorCode::NONE => {
                fx.notes.push(Note::Refused(Api::Commit, code));
            }
            Answer::Leave(code) if self.state == State::Leaving => {
                self.state = State::Over;
                if code != ErrorCode::NONE {
                    fx.notes.push(Note::Refused(Api::Leave, code));
                }
                fx.notes.push(Note::Left);
            }
            // What answers an earlier generation, or a member that leaves, is of no interest.
            _ => {}
        }
    }

    fn joined(&mut self, answer: JoinAnswer, now: Micros, spec: &GroupSpec, fx: &mut Effects) {
        match answer.code {
            ErrorCode::NONE => {
                self.core.id = answer.member_id;
                self.core.epoch = answer.generation;
                self.state = State::Syncing;
                self.heartbeat_due = now + spec.heartbeat;
                let leads = answer.leader == self.core.id && !answer.skip_assignment;
                let assignments = match leads {
                    true => self.assign(answer.members, spec, fx),
                    false => Vec::new(),
                };
                fx.requests.push(Request::Sync(assignments));
            }
            ErrorCode::MEMBER_ID_REQUIRED => {
                self.core.id = answer.member_id;
                self.join(fx);
            }
            code => self.try_again(Api::Join, code, now, fx),
        }
    }

    /// What the coordinator said to JoinGroup or SyncGroup.
    fn try_again(&mut self, api: Api, code: ErrorCode, now: Micros, fx: &mut Effects) {
        fx.notes.push(Note::Refused(api, code));
        match code {
            ErrorCode::REBALANCE_IN_PROGRESS => {
                fx.notes.push(Note::Rejoins);
                self.join(fx);
            }
            ErrorCode::UNKNOWN_MEMBER_ID => self.start_over(false, fx),
            ErrorCode::ILLEGAL_GENERATION => self.start_over(true, fx),
            code if is_not_ready(code) => {
                self.state = State::Unjoined;
                self.retry_at = Some(now + RETRY_BACKOFF);
            }
            code => self.fail(api, code, fx),
        }
    }

    fn fail(&mut self, api: Api, code: ErrorCode, fx: &mut Effects) {
        // The coordinator may come back, and knows the member as it was then.
        if code != ErrorCode::NOT_COORDINATOR {
            self.state = State::Over;
        }
        fx.notes.push(Note::Failed(api, code, String::new()));
    }

    fn assign(
        &self,
        members: Vec<(String, Option<String>, Bytes)>,
        spec: &GroupSpec,
        fx: &mut Effects,
    ) -> Vec<(String, Vec<i32>)> {
        let mut candidates = Vec::with_capacity(members.len());
        for (id, instance, metadata) in members {
            match protocol::candidate(self.assignor, id, instance, &metadata) {
                Ok(candidate) => candidates.push(candidate),
                Err(_) => {
                    // Somebody else is in the group; it gets nothing.
                    fx.notes.push(Note::Refused(Api::Join, ErrorCode::CORRUPT_MESSAGE));
                }
            }
        }
        let assignments = self.assignor.assign(&candidates, spec.partitions);
        let ids = candidates.into_iter().map(|Candidate { id, .. }| id);
        ids.zip(assignments).collect()
    }

    fn synced(
        &mut self,
        code: ErrorCode,
        assignment: &Bytes,
        now: Micros,
        spec: &GroupSpec,
        fx: &mut Effects,
    ) {
        if code != ErrorCode::NONE {
            return self.try_again(Api::Sync, code, now, fx);
        }
        let Ok(target) = protocol::assigned(assignment, spec.partitions) else {
            return self.fail(Api::Sync, ErrorCode::CORRUPT_MESSAGE, fx);
        };
        self.state = State::Stable;
        if self.assignor == Assignor::Sticky {
            self.last = Some((target.clone(), self.core.epoch));
        }
        let has_revoked = self.core.give_up_all_but(&target, spec, fx);
        self.core.take_over(&target, fx);
        if has_revoked {
            // So that what was given up can go to somebody (KIP-429).
            fx.notes.push(Note::Told);
            fx.notes.push(Note::Rejoins);
            self.join(fx);
        } else {
            fx.notes.push(Note::Settled);
        }
    }

    /// An answer to a heartbeat or a commit of this generation.
    fn heard(
        &mut self,
        api: Api,
        code: ErrorCode,
        now: Micros,
        spec: &GroupSpec,
        fx: &mut Effects,
    ) {
        let is_member = matches!(self.state, State::Syncing | State::Stable);
        if code == ErrorCode::NONE || !is_member {
            return;
        }
        match code {
            ErrorCode::REBALANCE_IN_PROGRESS if self.state == State::Stable => {
                if api == Api::Commit {
                    fx.notes.push(Note::Refused(api, code));
                }
                fx.notes.push(Note::Told);
                self.rejoin(spec, fx);
            }
            // The answer to SyncGroup will say so, or has made it old.
            ErrorCode::REBALANCE_IN_PROGRESS => {}
            ErrorCode::ILLEGAL_GENERATION | ErrorCode::UNKNOWN_MEMBER_ID => {
                fx.notes.push(Note::Refused(api, code));
                self.start_over(code == ErrorCode::ILLEGAL_GENERATION, fx);
            }
            code if is_not_ready(code) => {
                fx.notes.push(Note::Refused(api, code));
                if api == Api::Heartbeat {
                    self.heartbeat_due = now + RETRY_BACKOFF;
                }
            }
            code if api == Api::Commit && !has_moved(code) => {
                fx.notes.push(Note::Refused(api, code));
            }
            code => self.fail(api, code, fx),
        }
    }

    pub fn tick(&mut self, now: Micros, spec: &GroupSpec, fx: &mut Effects) {
        match self.state {
            State::Unjoined if self.retry_at.is_some_and(|at| now >= at) => self.join(fx),
            State::Syncing | State::Stable if now >= self.heartbeat_due => {
                self.heartbeat_due = now + spec.heartbeat;
                fx.requests.push(Request::Heartbeat);
            }
            _ => {}
        }
        if self.state == State::Stable {
            self.core.commit_if_due(now, spec, fx);
        }
    }

    pub fn next_due(&self) -> Option<Micros> {
        match self.state {
            State::Unjoined => self.retry_at,
            State::Syncing => Some(self.heartbeat_due),
            State::Stable => {
                let commit = self.core.commit_due.unwrap_or(Micros::MAX);
                Some(self.heartbeat_due.min(commit))
            }
            State::Joining | State::Leaving | State::Over => None,
        }
    }

    /// A classic static member that will be back says nothing.
    pub fn leave(&mut self, returns: bool, fx: &mut Effects) {
        if (returns && self.core.instance.is_some()) || self.core.id.is_empty() {
            self.state = State::Over;
            fx.notes.push(Note::Left);
        } else {
            self.state = State::Leaving;
            fx.requests.push(Request::Leave);
        }
    }
}
