//! The simulated members: what each knows and does, as pure state machines. Time goes in, requests
//! and notes for the ledger come out; sockets and clocks are the engine's.
//!
//! They do what Kafka's Java client does on the wire, but fetch nothing, and giving up or taking
//! over a partition takes them no time. They are not this project's own client: one topic, whose
//! partitions are plain numbers, makes a member small enough for ten thousand, and the client's
//! mistakes, if it has any, would not be seen by themselves.
//!
//! Invariants: `owned` is sorted, and every change of it is a note; an answer to an earlier
//! generation or epoch changes nothing; no request waits for the answer to a heartbeat, which a
//! coordinator may hold back.

mod classic;
mod consumer;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use clap::ValueEnum;
use thalweg_wire::{ErrorCode, Uuid};

pub use classic::ClassicMember;
pub use consumer::ConsumerMember;

use super::assignor::Assignor;
use super::ledger::{MemberNo, Micros};

/// Java's `retry.backoff.ms`.
const RETRY_BACKOFF: Micros = 100_000;

/// How the group works, the same for all members.
#[derive(Clone, Debug)]
pub struct GroupSpec {
    pub group: String,
    pub topic: String,
    pub topic_id: Uuid,
    pub partitions: i32,
    pub protocol: Protocol,
    /// What members of the consumer protocol do with an assignment that is empty.
    pub clients: Clients,
    /// Of classic members; with KIP-848 the coordinator's.
    pub heartbeat: Micros,
    pub session_ms: i32,
    pub rebalance_ms: i32,
    /// How often members commit, if they do.
    pub commit: Option<Micros>,
}

/// Which protocol, with its assignor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Protocol {
    Classic(Assignor),
    /// `None` leaves the assignor to the coordinator.
    Consumer(Option<String>),
}

/// Which clients members of the consumer protocol are like. Those differ where a new member's first assignment is
/// empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Clients {
    /// The first assignment is acknowledged at once, also when it is empty.
    Java,
    /// One that is empty is not acknowledged: nothing is sent before the next heartbeat is due.
    Librdkafka,
    /// Every other member is like librdkafka's.
    Both,
}

/// What a member sends. What else belongs into the request is in its [`Core`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    Join,
    /// With the assignments of all members, by id, where it leads.
    Sync(Vec<(String, Vec<i32>)>),
    Heartbeat,
    Leave,
    ConsumerHeartbeat(Say),
    /// Offsets of these partitions.
    Commit(Vec<i32>),
}

/// What a heartbeat of KIP-848 says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Say {
    /// Everything: the member joins.
    All,
    /// That it is there.
    Alive,
    /// What it owns.
    Owned,
    /// That it goes, with an epoch that says how.
    Leave(i32),
}

/// Which request an answer is to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Api {
    Versions,
    Join,
    Sync,
    Heartbeat,
    Leave,
    ConsumerHeartbeat,
    Commit,
}

impl Api {
    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            Api::Versions => "ApiVersions",
            Api::Join => "JoinGroup",
            Api::Sync => "SyncGroup",
            Api::Heartbeat => "Heartbeat",
            Api::Leave => "LeaveGroup",
            Api::ConsumerHeartbeat => "ConsumerGroupHeartbeat",
            Api::Commit => "OffsetCommit",
        }
    }
}

impl Request {
    /// The API it goes to.
    pub fn api(&self) -> Api {
        match self {
            Request::Join => Api::Join,
            Request::Sync(_) => Api::Sync,
            Request::Heartbeat => Api::Heartbeat,
            Request::Leave => Api::Leave,
            Request::ConsumerHeartbeat(_) => Api::ConsumerHeartbeat,
            Request::Commit(_) => Api::Commit,
        }
    }
}

/// What comes back.
#[derive(Clone, Debug)]
pub enum Answer {
    Join(JoinAnswer),
    Sync { code: ErrorCode, assignment: Bytes },
    Heartbeat(ErrorCode),
    Leave(ErrorCode),
    ConsumerHeartbeat(HeartbeatAnswer),
    Commit(ErrorCode),
}

#[derive(Clone, Debug, Default)]
pub struct JoinAnswer {
    pub code: ErrorCode,
    pub generation: i32,
    pub member_id: String,
    pub leader: String,
    pub skip_assignment: bool,
    /// Of the leader alone: id, instance id and subscription of every member.
    pub members: Vec<(String, Option<String>, Bytes)>,
}

#[derive(Clone, Debug, Default)]
pub struct HeartbeatAnswer {
    pub code: ErrorCode,
    pub message: Option<String>,
    pub epoch: i32,
    pub interval: Micros,
    /// Sorted; `None` where it has not changed.
    pub assignment: Option<Vec<i32>>,
}

/// What an input leads to.
#[derive(Debug, Default)]
pub struct Effects {
    /// To be sent in this order, at once.
    pub requests: Vec<Request>,
    pub notes: Vec<Note>,
}

/// What the ledger has to know, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The coordinator told the member of a change.
    Told,
    /// It joins again.
    Rejoins,
    Acquired(i32),
    Released(i32),
    Settled,
    /// It left, and its connection can be closed.
    Left,
    /// The coordinator said something that a member survives.
    Refused(Api, ErrorCode),
    /// The coordinator said something that no retry cures.
    Failed(Api, ErrorCode, String),
}

/// What members of both protocols have.
#[derive(Debug, Default)]
pub struct Core {
    /// `member.id`; empty until a classic group has given one.
    pub id: String,
    /// `group.instance.id` of a static member.
    pub instance: Option<String>,
    /// Generation or member epoch.
    pub epoch: i32,
    pub owned: Vec<i32>,
    commit_due: Option<Micros>,
    is_committing: bool,
    is_leaving: bool,
}

impl Core {
    fn new(instance: Option<String>, first_commit: Option<Micros>) -> Core {
        Core { instance, commit_due: first_commit, ..Core::default() }
    }

    /// Lets go of everything without a word.
    fn lose_all(&mut self, fx: &mut Effects) {
        fx.notes.extend(self.owned.drain(..).map(Note::Released));
    }

    /// Gives up what is not in `target`, committing before; says whether there was something.
    fn give_up_all_but(&mut self, target: &[i32], spec: &GroupSpec, fx: &mut Effects) -> bool {
        let is_kept = |partition: &i32| target.binary_search(partition).is_ok();
        let gone: Vec<i32> = self.owned.iter().copied().filter(|p| !is_kept(p)).collect();
        if gone.is_empty() {
            return false;
        }
        self.owned.retain(is_kept);
        self.commit(gone.clone(), spec, fx);
        fx.notes.extend(gone.into_iter().map(Note::Released));
        true
    }

    /// Commits these if members commit at all. It is handled before whatever follows on this
    /// connection.
    fn commit(&mut self, partitions: Vec<i32>, spec: &GroupSpec, fx: &mut Effects) {
        if spec.commit.is_some() && !partitions.is_empty() {
            fx.requests.push(Request::Commit(partitions));
            self.is_committing = true;
        }
    }

    /// Takes what is in `target`.
    fn take_over(&mut self, target: &[i32], fx: &mut Effects) {
        for partition in target {
            if let Err(at) = self.owned.binary_search(partition) {
                self.owned.insert(at, *partition);
                fx.notes.push(Note::Acquired(*partition));
            }
        }
    }

    /// Commits if it is time to.
    fn commit_if_due(&mut self, now: Micros, spec: &GroupSpec, fx: &mut Effects) {
        let (Some(due), Some(every)) = (self.commit_due, spec.commit) else { return };
        if now < due || self.is_leaving {
            return;
        }
        self.commit_due = Some(now + every);
        if !self.is_committing {
            self.commit(self.owned.clone(), spec, fx);
        }
    }
}

/// A member of either kind.
#[derive(Debug)]
pub enum Member {
    Classic(ClassicMember),
    Consumer(ConsumerMember),
}

macro_rules! either {
    ($self:ident, $member:ident => $call:expr) => {
        match $self {
            Member::Classic($member) => $call,
            Member::Consumer($member) => $call,
        }
    };
}

impl Member {
    /// One that has not joined. `id` is its own choice where members choose their ids; commits begin
    /// at `first_commit`.
    pub fn new(
        spec: &GroupSpec,
        no: MemberNo,
        id: Uuid,
        instance: Option<String>,
        first_commit: Micros,
    ) -> Member {
        let core = Core::new(instance, spec.commit.map(|_| first_commit));
        match spec.protocol {
            Protocol::Classic(assignor) => Member::Classic(ClassicMember::new(core, assignor)),
            Protocol::Consumer(_) => {
                let is_like_librdkafka = match spec.clients {
                    Clients::Java => false,
                    Clients::Librdkafka => true,
                    Clients::Both => no % 2 == 1,
                };
                Member::Consumer(ConsumerMember::new(core, id.to_string(), is_like_librdkafka))
            }
        }
    }

    /// Its connection is there: it joins, or goes on where it was.
    pub fn connected(&mut self, now: Micros, spec: &GroupSpec, fx: &mut Effects) {
        either!(self, member => member.connected(now, spec, fx));
    }

    /// Its connection is gone, and with it what was not answered.
    pub fn disconnected(&mut self) {
        self.core_mut().is_committing = false;
        either!(self, member => member.disconnected());
    }

    /// An answer to a request that was sent at `epoch`.
    pub fn answered(
        &mut self,
        answer: Answer,
        epoch: i32,
        now: Micros,
        spec: &GroupSpec,
        fx: &mut Effects,
    ) {
        if matches!(answer, Answer::Commit(_)) {
            self.core_mut().is_committing = false;
        }
        either!(self, member => member.answered(answer, epoch, now, spec, fx));
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Micros, spec: &GroupSpec, fx: &mut Effects) {
        either!(self, member => member.tick(now, spec, fx));
    }

    /// When [`Member::tick`] has something to do.
    pub fn next_due(&self) -> Option<Micros> {
        either!(self, member => member.next_due())
    }

    /// It goes. A static member that will be back (`returns`) keeps its partitions in the
    /// coordinator's eyes. Without a request there is nothing to wait for.
    pub fn leave(&mut self, returns: bool, spec: &GroupSpec, fx: &mut Effects) {
        let core = self.core_mut();
        core.commit(core.owned.clone(), spec, fx);
        core.is_leaving = true;
        either!(self, member => member.leave(returns, fx));
    }

    /// Whether it is like librdkafka's, and not like Java's.
    pub fn is_like_librdkafka(&self) -> bool {
        matches!(self, Member::Consumer(member) if member.is_like_librdkafka)
    }

    pub fn core(&self) -> &Core {
        either!(self, member => &member.core)
    }

    fn core_mut(&mut self) -> &mut Core {
        either!(self, member => &mut member.core)
    }

    /// The interval of its heartbeats that is in force.
    pub fn interval(&self, spec: &GroupSpec) -> Micros {
        match self {
            Member::Classic(_) => spec.heartbeat,
            Member::Consumer(member) => member.interval(),
        }
    }
}

/// Whether another broker is the coordinator now: the run cannot go on, its figures would be of a
/// fail-over.
fn has_moved(code: ErrorCode) -> bool {
    code == ErrorCode::NOT_COORDINATOR
}

/// Whether the coordinator may do it a little later.
fn is_not_ready(code: ErrorCode) -> bool {
    [
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::REQUEST_TIMED_OUT,
    ]
    .contains(&code)
}
