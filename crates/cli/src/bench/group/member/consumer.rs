//! A member of a group of KIP-848.
//!
//! Heartbeats follow Java's `AbstractHeartbeatRequestManager`: one in flight, the timer starts again
//! when one is sent, the coordinator sets the interval. What the coordinator waits for - joining,
//! what is owned after a change - is sent at once, but not beside a heartbeat that is in flight;
//! leaving is.

use thalweg_wire::ErrorCode;

use super::super::ledger::Micros;
use super::{
    Answer, Api, Core, Effects, GroupSpec, HeartbeatAnswer, Note, RETRY_BACKOFF, Request, Say,
    is_not_ready,
};

const JOIN_EPOCH: i32 = 0;
const LEAVE_EPOCH: i32 = -1;
const LEAVE_STATIC_EPOCH: i32 = -2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It joins with its next heartbeat, or has sent that.
    Joining,
    Member,
    Leaving,
    Over,
}

/// See the module.
#[derive(Debug)]
pub struct ConsumerMember {
    pub core: Core,
    state: State,
    interval: Micros,
    heartbeat_due: Micros,
    /// When the last heartbeat was sent.
    sent_at: Micros,
    /// Nothing is sent before, whatever is owed.
    retry_at: Micros,
    is_in_flight: bool,
    /// What it owns has changed and the coordinator has not been told.
    owes_answer: bool,
    /// It has been given an assignment since it joined.
    has_assignment: bool,
    /// It does not acknowledge a first assignment that is empty.
    pub is_like_librdkafka: bool,
    /// That it will settle has not been noted.
    is_settling: bool,
}

impl ConsumerMember {
    pub fn new(core: Core, id: String, is_like_librdkafka: bool) -> ConsumerMember {
        ConsumerMember {
            core: Core { id, epoch: JOIN_EPOCH, ..core },
            state: State::Joining,
            interval: 0,
            heartbeat_due: 0,
            sent_at: 0,
            retry_at: 0,
            is_in_flight: false,
            owes_answer: false,
            has_assignment: false,
            is_like_librdkafka,
            is_settling: true,
        }
    }

    /// The interval that the coordinator gave; 0 before it did.
    pub fn interval(&self) -> Micros {
        self.interval
    }

    pub fn connected(&mut self, now: Micros, spec: &GroupSpec, fx: &mut Effects) {
        match self.state {
            State::Leaving | State::Over => fx.notes.push(Note::Left),
            State::Joining | State::Member => {
                // What the coordinator took in is not certain.
                self.heartbeat_due = now;
                self.owes_answer |= self.state == State::Member;
                self.tick(now, spec, fx);
            }
        }
    }

    pub fn disconnected(&mut self) {
        self.is_in_flight = false;
    }

    pub fn answered(
        &mut self,
        answer: Answer,
        _epoch: i32,
        now: Micros,
        spec: &GroupSpec,
        fx: &mut Effects,
    ) {
        match answer {
            Answer::ConsumerHeartbeat(answer) => {
                if self.state == State::Leaving {
                    // Of two, the second answers the farewell.
                    if !std::mem::take(&mut self.is_in_flight) {
                        self.state = State::Over;
                        fx.notes.push(Note::Left);
                    }
                    return;
                }
                self.is_in_flight = false;
                self.heard(answer, now, spec, fx);
                self.tick(now, spec, fx);
            }
            Answer::Commit(code) if code != ErrorCode::NONE => {
                fx.notes.push(Note::Refused(Api::Commit, code));
            }
            _ => {}
        }
    }

    fn heard(&mut self, answer: HeartbeatAnswer, now: Micros, spec: &GroupSpec, fx: &mut Effects) {
        let api = Api::ConsumerHeartbeat;
        match answer.code {
            ErrorCode::NONE => self.on_success(answer, now, spec, fx),
            ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID => {
                fx.notes.push(Note::Refused(api, answer.code));
                fx.notes.push(Note::Told);
                self.core.lose_all(fx);
                fx.notes.push(Note::Rejoins);
                self.core.epoch = JOIN_EPOCH;
                self.state = State::Joining;
                self.heartbeat_due = now;
            }
            // The one before it is not expired yet. A process that is started again until it runs
            // meets this, too.
            ErrorCode::UNRELEASED_INSTANCE_ID => {
                fx.notes.push(Note::Refused(api, answer.code));
                self.heartbeat_due = now;
                self.retry_at = now + RETRY_BACKOFF;
            }
            code if is_not_ready(code) => {
                fx.notes.push(Note::Refused(api, code));
                self.owes_answer |= self.state == State::Member;
                self.heartbeat_due = now;
                self.retry_at = now + RETRY_BACKOFF;
            }
            code => {
                // The coordinator may come back, and knows the member as it was then.
                if code != ErrorCode::NOT_COORDINATOR {
                    self.state = State::Over;
                }
                fx.notes.push(Note::Failed(api, code, answer.message.unwrap_or_default()));
            }
        }
    }

    fn on_success(
        &mut self,
        answer: HeartbeatAnswer,
        now: Micros,
        spec: &GroupSpec,
        fx: &mut Effects,
    ) {
        if self.state == State::Joining {
            self.state = State::Member;
            self.has_assignment = false;
            self.is_settling = true;
        }
        self.core.epoch = answer.epoch;
        if answer.interval > 0 && answer.interval != self.interval {
            // Java's client counts another interval from the answer, librdkafka from the heartbeat.
            let from = if self.is_like_librdkafka { self.sent_at } else { now };
            self.interval = answer.interval;
            self.heartbeat_due = from + self.interval;
        }
        if let Some(target) = answer.assignment {
            let target: Vec<i32> =
                target.into_iter().filter(|p| (0..spec.partitions).contains(p)).collect();
            // Java's client answers the first one also when it is empty, and a later one when it is another.
            let answers_empty = !self.has_assignment && !self.is_like_librdkafka;
            if target != self.core.owned || answers_empty {
                self.has_assignment = true;
                self.is_settling = true;
                self.owes_answer = true;
                fx.notes.push(Note::Told);
                self.core.give_up_all_but(&target, spec, fx);
                self.core.take_over(&target, fx);
            }
        }
        if self.is_settling && !self.owes_answer {
            self.is_settling = false;
            fx.notes.push(Note::Settled);
        }
    }

    pub fn tick(&mut self, now: Micros, spec: &GroupSpec, fx: &mut Effects) {
        if matches!(self.state, State::Leaving | State::Over) {
            return;
        }
        if !self.is_in_flight && now >= self.heartbeat_at() {
            let owes_answer = self.owes_answer && self.state == State::Member;
            let say = match self.state {
                State::Joining => Say::All,
                _ if owes_answer => Say::Owned,
                _ => Say::Alive,
            };
            self.owes_answer = false;
            self.is_in_flight = true;
            self.sent_at = now;
            self.heartbeat_due = now + self.interval;
            fx.requests.push(Request::ConsumerHeartbeat(say));
            // Like the Java client it takes for acknowledged what it has sent: there may be nothing to answer for
            // as long as a heartbeat may be held.
            if owes_answer && std::mem::take(&mut self.is_settling) {
                fx.notes.push(Note::Settled);
            }
        }
        if self.state == State::Member {
            self.core.commit_if_due(now, spec, fx);
        }
    }

    fn heartbeat_at(&self) -> Micros {
        let is_urgent = self.owes_answer && self.state == State::Member;
        let due = if is_urgent { 0 } else { self.heartbeat_due };
        due.max(self.retry_at)
    }

    pub fn next_due(&self) -> Option<Micros> {
        if matches!(self.state, State::Leaving | State::Over) {
            return None;
        }
        let heartbeat = if self.is_in_flight { Micros::MAX } else { self.heartbeat_at() };
        let commit = self.core.commit_due.filter(|_| self.state == State::Member);
        Some(heartbeat.min(commit.unwrap_or(Micros::MAX))).filter(|&due| due < Micros::MAX)
    }

    /// A static member that will be back says -2. The farewell does not wait for a heartbeat that is
    /// in flight.
    pub fn leave(&mut self, returns: bool, fx: &mut Effects) {
        if self.state == State::Joining && !self.is_in_flight {
            // The coordinator never heard of it.
            self.state = State::Over;
            fx.notes.push(Note::Left);
            return;
        }
        let stays = returns && self.core.instance.is_some();
        let epoch = if stays { LEAVE_STATIC_EPOCH } else { LEAVE_EPOCH };
        self.state = State::Leaving;
        fx.requests.push(Request::ConsumerHeartbeat(Say::Leave(epoch)));
    }
}
