//! Runs the members: one thread, one epoll, one clock. What arrives goes to the member that it is
//! for, what the member wants sent is sent, what it notes goes into the ledger.
//!
//! How late timers fired and how long what had arrived waited are measured, because everything else
//! that is measured is read off this thread's clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::{Timespec, epoll};
use thalweg::error::code_name;
use thalweg_wire::ErrorCode;

use super::codec::Codec;
use super::failure::explain;
use super::ledger::{Ledger, MemberNo, Micros};
use super::link::Link;
use super::member::{Answer, Api, Effects, GroupSpec, Member, Note, Protocol, Request};
use crate::bench::BenchError;
use crate::bench::random::Random;
use crate::bench::stats;

/// Connections that are being made at a time: more would overflow the broker's backlog (Kafka's
/// `socket.listen.backlog.size` is 50), and what overflows is tried again a second later.
const CONNECTING_MAX: usize = 32;
/// How long a member that leaves is waited for.
const FAREWELL_MAX: Micros = 10_000_000;
const RECONNECT_AFTER: Micros = 100_000;
/// How long a connection has until it is made and its first request is answered.
const CONNECT_TIMEOUT: Micros = 30_000_000;
/// So that an interrupt is seen.
const SLEEP_MAX: Micros = 50_000;
const EVENTS: usize = 256;
const SCRATCH: usize = 64 << 10;

/// A member and its connection.
struct Slot {
    member: Member,
    link: Option<Link>,
    is_ready: bool,
    is_leaving: bool,
    /// When to connect again, or to give up waiting for its connection, or for its farewell to be answered.
    due: Option<Micros>,
    /// When it lost the connection that it does not have again yet.
    lost_at: Option<Micros>,
    /// The timer that is in the heap; others of this member are old.
    timer: Option<Micros>,
}

/// What is counted beside the ledger, from the begin of the run.
pub struct Counts {
    /// Heartbeats answered.
    pub heartbeats: u64,
    /// Commits answered.
    pub commits: u64,
    /// Answers with an error that members survive, by API and name.
    pub refused: BTreeMap<String, u64>,
    /// What should not happen, by name.
    pub errors: BTreeMap<String, u64>,
    /// How long members that lost their connection had none, in microseconds.
    pub disconnected: Histogram<u64>,
    /// How late timers fired, in microseconds.
    pub late: Histogram<u64>,
    /// How long what had arrived waited for the thread, in microseconds.
    pub waited: Histogram<u64>,
}

/// See the module.
pub struct Engine {
    pub spec: GroupSpec,
    pub ledger: Ledger,
    pub counts: Counts,
    addr: SocketAddr,
    codec: Codec,
    epoll: OwnedFd,
    begun: Instant,
    slots: Vec<Option<Slot>>,
    to_connect: VecDeque<MemberNo>,
    connecting: usize,
    serial: u32,
    timers: BinaryHeap<Reverse<(Micros, MemberNo)>>,
    random: Random,
    effects: Effects,
    scratch: Vec<u8>,
    interval: Micros,
    failure: Option<BenchError>,
    interrupted: Arc<AtomicBool>,
    /// Members that have lost their connection and have none again.
    disconnected: usize,
    expects_losses: bool,
}

impl Engine {
    /// For members of `spec`'s group, whose coordinator listens at `addr`.
    pub fn new(
        spec: GroupSpec,
        codec: Codec,
        addr: SocketAddr,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Engine, BenchError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| BenchError::Io { what: "epoll".into(), source: error.into() })?;
        Ok(Engine {
            ledger: Ledger::new(usize::try_from(spec.partitions).unwrap_or(0)),
            counts: Counts {
                heartbeats: 0,
                commits: 0,
                refused: BTreeMap::new(),
                errors: BTreeMap::new(),
                disconnected: stats::histogram(),
                late: stats::histogram(),
                waited: stats::histogram(),
            },
            addr,
            codec,
            epoll,
            begun: Instant::now(),
            slots: Vec::new(),
            to_connect: VecDeque::new(),
            connecting: 0,
            serial: 0,
            timers: BinaryHeap::new(),
            random: Random::fresh(),
            effects: Effects::default(),
            scratch: vec![0; SCRATCH],
            interval: match spec.protocol {
                Protocol::Classic(_) => spec.heartbeat,
                // The coordinator's, once it has told it.
                Protocol::Consumer(_) => 0,
            },
            failure: None,
            interrupted,
            disconnected: 0,
            expects_losses: false,
            spec,
        })
    }

    /// Time since the engine was made.
    pub fn now(&self) -> Micros {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(Micros::MAX)
    }

    /// Whether the user ended the run.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// A new member begins to connect and to join. `instance` makes it a static one.
    pub fn spawn(&mut self, instance: Option<String>) -> MemberNo {
        let no = self.slots.len();
        self.slots.push(None);
        self.start(no, instance);
        no
    }

    /// A static member that was stopped comes back, in a process of its own.
    pub fn revive(&mut self, no: MemberNo, instance: String) {
        self.start(no, Some(instance));
    }

    fn start(&mut self, no: MemberNo, instance: Option<String>) {
        let now = self.now();
        // Members started at the same time would all commit at the same time.
        let spread = self.spec.commit.unwrap_or(1);
        let first_commit = now + self.random.next() % spread.max(1);
        let member = Member::new(&self.spec, no, self.random.uuid(), instance, first_commit);
        self.slots[no] = Some(Slot {
            member,
            link: None,
            is_ready: false,
            is_leaving: false,
            due: None,
            lost_at: None,
            timer: None,
        });
        self.ledger.join(no, now);
        self.to_connect.push_back(no);
    }

    /// Whether connections may be lost from now on: the coordinator is made to go away.
    pub fn expect_losses(&mut self, expects: bool) {
        self.expects_losses = expects;
    }

    /// Whether every member has a connection, or has begun to make its first one.
    pub fn is_connected(&self) -> bool {
        self.disconnected == 0
    }

    /// Whether nothing is left of a member.
    pub fn is_gone(&self, no: MemberNo) -> bool {
        self.slots.get(no).is_none_or(Option::is_none)
    }

    /// Heartbeat interval in force: the longest of any member so far.
    pub fn interval(&self) -> Micros {
        self.interval
    }

    /// A member's process is killed: its connection closes without a word.
    pub fn crash(&mut self, no: MemberNo) {
        let now = self.now();
        if let Some(slot) = self.slots[no].take() {
            self.ledger.stop(no, &slot.member.core().owned, now);
            self.forget(&slot);
        }
    }

    /// A member leaves; a static one that will be back (`returns`) leaves as Java's `close` does.
    pub fn leave(&mut self, no: MemberNo, returns: bool) {
        let now = self.now();
        let Some(slot) = self.slots[no].as_mut() else { return };
        self.ledger.stop(no, &slot.member.core().owned, now);
        slot.is_leaving = true;
        if !slot.is_ready {
            if let Some(slot) = self.slots[no].take() {
                self.forget(&slot);
            }
            return;
        }
        slot.member.leave(returns, &self.spec, &mut self.effects);
        slot.due = Some(now + FAREWELL_MAX);
        self.apply(no, now);
    }

    /// A slot is about to be dropped, and its socket closed with it.
    fn forget(&mut self, slot: &Slot) {
        if slot.link.is_some() && !slot.is_ready {
            self.connecting -= 1;
        }
        self.disconnected -= usize::from(slot.lost_at.is_some());
    }

    /// Runs until `is_done` says so, which is asked after every round; false when `until` came
    /// first or the user interrupted.
    pub fn run(
        &mut self,
        until: Micros,
        is_done: impl FnMut(&Engine) -> bool,
    ) -> Result<bool, BenchError> {
        self.run_while(until, is_done, |engine| !engine.is_interrupted())
    }

    /// As [`Engine::run`], also after an interrupt: what is to be put in order at the end.
    pub fn run_out(
        &mut self,
        until: Micros,
        is_done: impl FnMut(&Engine) -> bool,
    ) -> Result<bool, BenchError> {
        self.run_while(until, is_done, |_| true)
    }

    fn run_while(
        &mut self,
        until: Micros,
        mut is_done: impl FnMut(&Engine) -> bool,
        goes_on: impl Fn(&Engine) -> bool,
    ) -> Result<bool, BenchError> {
        loop {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if is_done(self) {
                return Ok(true);
            }
            if self.now() >= until || !goes_on(self) {
                return Ok(false);
            }
            self.round(until)?;
        }
    }

    fn round(&mut self, until: Micros) -> Result<(), BenchError> {
        self.connect_some()?;
        let now = self.now();
        let due = self.timers.peek().map_or(Micros::MAX, |Reverse((due, _))| *due);
        let sleep = due.min(until).saturating_sub(now).min(SLEEP_MAX);
        let sleep = Duration::from_micros(sleep);
        let timeout =
            Timespec { tv_sec: sleep.as_secs() as _, tv_nsec: sleep.subsec_nanos().into() };
        let mut events = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout))
        {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(BenchError::Io { what: "epoll".into(), source: error.into() });
            }
        }
        let woke = self.now();
        for event in events {
            let now = self.now();
            self.counts.waited.saturating_record(now - woke);
            let token = { event.data }.u64();
            self.on_ready(token, event.flags)?;
        }
        self.fire_timers();
        Ok(())
    }

    fn connect_some(&mut self) -> Result<(), BenchError> {
        while self.connecting < CONNECTING_MAX
            && let Some(no) = self.to_connect.pop_front()
        {
            let Some(slot) = self.slots[no].as_mut().filter(|slot| slot.link.is_none()) else {
                continue;
            };
            self.serial = self.serial.wrapping_add(1);
            let token = no as u64 | u64::from(self.serial) << 32;
            let link = match Link::connect(self.addr, self.epoll.as_fd(), token) {
                Ok(link) => link,
                // The coordinator has not come back yet, nor has the way to it.
                Err(_) if slot.lost_at.is_some() => {
                    let now = self.now();
                    if let Some(slot) = self.slots[no].as_mut() {
                        slot.due = Some(now + RECONNECT_AFTER);
                    }
                    self.set_timer(no, now);
                    continue;
                }
                Err(source) => return Err(connecting(self.addr, source)),
            };
            slot.link = Some(link);
            self.connecting += 1;
            let now = self.now();
            if let Some(slot) = self.slots[no].as_mut() {
                slot.due = Some(now + CONNECT_TIMEOUT);
            }
            self.set_timer(no, now);
        }
        Ok(())
    }

    fn on_ready(&mut self, token: u64, flags: epoll::EventFlags) -> Result<(), BenchError> {
        let no = (token & u64::from(u32::MAX)) as MemberNo;
        let Some(Some(slot)) = self.slots.get_mut(no) else { return Ok(()) };
        let Some(link) = slot.link.as_mut().filter(|link| link.token() == token) else {
            return Ok(());
        };
        if !link.is_connected() {
            match link.finish_connecting() {
                Ok(()) => {}
                // The coordinator has not come back yet.
                Err(_) if slot.lost_at.is_some() => {
                    self.lose(no, "");
                    return Ok(());
                }
                Err(source) => return Err(connecting(self.addr, source)),
            }
            let correlation = link.enter(Api::Versions, 0);
            self.codec
                .write_versions(slot.member.is_like_librdkafka(), correlation, link.queue())
                .map_err(|error| unwritable(Api::Versions, &error))?;
        }
        let readable = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        let mut is_closed = link.flush(self.epoll.as_fd()).is_err();
        if flags.intersects(readable) {
            is_closed |= link.fill(&mut self.scratch).unwrap_or(true);
        }
        self.read_answers(no)?;
        if is_closed {
            self.lose(no, "CONNECTION_CLOSED");
        }
        Ok(())
    }

    fn read_answers(&mut self, no: MemberNo) -> Result<(), BenchError> {
        loop {
            let Some(slot) = self.slots[no].as_mut() else { return Ok(()) };
            let Some(link) = slot.link.as_mut() else { return Ok(()) };
            let (request, body) = match link.next_answer() {
                Ok(Some(answer)) => answer,
                Ok(None) => return Ok(()),
                Err(what) => return Err(broken(&self.spec.group, &what)),
            };
            let answer = self.codec.read(request.api, &body).map_err(|error| {
                broken(&self.spec.group, &format!("answer to {}: {error}", request.api.name()))
            })?;
            let now = self.now();
            let Some(slot) = self.slots[no].as_mut() else { return Ok(()) };
            match answer {
                None => {
                    (slot.is_ready, slot.due) = (true, None);
                    self.connecting -= 1;
                    if let Some(lost_at) = slot.lost_at.take() {
                        self.disconnected -= 1;
                        self.counts.disconnected.saturating_record(now - lost_at);
                    }
                    slot.member.connected(now, &self.spec, &mut self.effects);
                }
                Some(answer) => {
                    match &answer {
                        Answer::Heartbeat(_) | Answer::ConsumerHeartbeat(_) => {
                            self.counts.heartbeats += 1;
                        }
                        Answer::Commit(_) => self.counts.commits += 1,
                        _ => {}
                    }
                    let epoch = request.epoch;
                    slot.member.answered(answer, epoch, now, &self.spec, &mut self.effects);
                    self.interval = self.interval.max(slot.member.interval(&self.spec));
                }
            }
            self.apply(no, now);
        }
    }

    /// Carries out what a member wants, and sets its timer.
    fn apply(&mut self, no: MemberNo, now: Micros) {
        let mut effects = std::mem::take(&mut self.effects);
        let is_leaving = self.slots[no].as_ref().is_none_or(|slot| slot.is_leaving);
        let (mut has_left, mut is_lost) = (false, false);
        for note in effects.notes.drain(..) {
            match note {
                Note::Left => has_left = true,
                // It stops, or has not taken its groups over yet.
                Note::Failed(api, ErrorCode::NOT_COORDINATOR, _) if self.expects_losses => {
                    self.refused(api, ErrorCode::NOT_COORDINATOR);
                    is_lost = true;
                }
                Note::Refused(api, code) => self.refused(api, code),
                Note::Failed(api, code, message) => {
                    let failure = explain(api, code, &message, &self.spec);
                    self.failure.get_or_insert(failure);
                }
                // The ledger heard of its end when it was told to leave.
                _ if is_leaving => {}
                Note::Told => self.ledger.tell(no, now),
                Note::Rejoins => self.ledger.rejoin(no, now),
                Note::Settled => self.ledger.settle(no, now),
                Note::Acquired(partition) => self.ledger.acquire(no, partition as usize, now),
                Note::Released(partition) => self.ledger.release(no, partition as usize, now),
            }
        }
        if is_lost {
            effects.requests.clear();
            self.effects = effects;
            return self.lose(no, "");
        }
        self.send(no, &mut effects.requests);
        self.effects = effects;
        if has_left && let Some(slot) = self.slots[no].take() {
            self.forget(&slot);
            if !slot.is_leaving {
                self.ledger.stop(no, &slot.member.core().owned, now);
            }
        }
        self.set_timer(no, now);
    }

    fn refused(&mut self, api: Api, code: ErrorCode) {
        let name = format!("{} {}", api.name(), code_name(code));
        *self.counts.refused.entry(name).or_default() += 1;
    }

    fn send(&mut self, no: MemberNo, requests: &mut Vec<Request>) {
        let Some(Slot { member, link: Some(link), .. }) = self.slots[no].as_mut() else {
            requests.clear();
            return;
        };
        if requests.is_empty() {
            return;
        }
        for request in requests.drain(..) {
            let correlation = link.enter(request.api(), member.core().epoch);
            let written = self.codec.write(&request, member, &self.spec, correlation, link.queue());
            if let Err(error) = written {
                self.failure.get_or_insert(unwritable(request.api(), &error));
            }
        }
        if link.flush(self.epoll.as_fd()).is_err() {
            self.lose(no, "CONNECTION_CLOSED");
        }
    }

    /// A connection ended that should not have.
    fn lose(&mut self, no: MemberNo, error: &str) {
        let now = self.now();
        let Some(slot) = self.slots[no].as_mut().filter(|slot| slot.link.is_some()) else { return };
        slot.link = None;
        if !std::mem::take(&mut slot.is_ready) {
            self.connecting -= 1;
        }
        if slot.is_leaving {
            // The broker closed before it answered; the member is gone either way.
            self.disconnected -= usize::from(slot.lost_at.is_some());
            self.slots[no] = None;
            return;
        }
        if slot.lost_at.is_none() {
            slot.lost_at = Some(now);
            self.disconnected += 1;
            if !self.expects_losses {
                *self.counts.errors.entry(error.to_owned()).or_default() += 1;
            }
        }
        slot.member.disconnected();
        slot.due = Some(now + RECONNECT_AFTER);
        self.set_timer(no, now);
    }

    fn set_timer(&mut self, no: MemberNo, now: Micros) {
        let Some(slot) = self.slots[no].as_mut() else { return };
        let member = slot.member.next_due().filter(|_| slot.is_ready && !slot.is_leaving);
        let due = match (member, slot.due) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        // What was due before it could be done is due now, and not late.
        let due = match slot.timer {
            Some(timer) if timer <= now && due.is_some_and(|due| due <= timer) => Some(timer),
            _ => due.map(|due| due.max(now)),
        };
        if due != slot.timer {
            slot.timer = due;
            self.timers.extend(due.map(|due| Reverse((due, no))));
        }
    }

    fn fire_timers(&mut self) {
        loop {
            let now = self.now();
            let Some(&Reverse((due, no))) = self.timers.peek() else { return };
            if due > now {
                return;
            }
            self.timers.pop();
            let Some(slot) = self.slots[no].as_mut().filter(|slot| slot.timer == Some(due)) else {
                continue;
            };
            slot.timer = None;
            self.counts.late.saturating_record(now - due);
            if slot.due.is_some_and(|due| now >= due) {
                slot.due = None;
                if slot.is_leaving {
                    *self.counts.errors.entry("LEAVE_NOT_ANSWERED".into()).or_default() += 1;
                    self.disconnected -= usize::from(slot.lost_at.is_some());
                    self.slots[no] = None;
                    continue;
                }
                if slot.link.is_some() {
                    if slot.lost_at.is_none() {
                        let source = std::io::ErrorKind::TimedOut.into();
                        self.failure.get_or_insert(connecting(self.addr, source));
                    }
                    self.lose(no, "");
                    continue;
                }
                self.to_connect.push_back(no);
            } else if slot.is_ready && !slot.is_leaving {
                slot.member.tick(now, &self.spec, &mut self.effects);
            }
            self.apply(no, now);
        }
    }

    /// Members that have not been stopped.
    pub fn living(&self) -> Vec<MemberNo> {
        let is_living = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| !slot.is_leaving);
        (0..self.slots.len()).filter(|&no| is_living(&self.slots[no])).collect()
    }

    /// `group.instance.id` of a member.
    pub fn instance(&self, no: MemberNo) -> Option<String> {
        self.slots[no].as_ref()?.member.core().instance.clone()
    }
}

fn connecting(addr: SocketAddr, source: std::io::Error) -> BenchError {
    BenchError::Io { what: format!("connecting to the coordinator {addr}"), source }
}

fn unwritable(api: Api, error: &thalweg_wire::EncodeError) -> BenchError {
    BenchError::Usage(format!("{} cannot be written: {error}", api.name()))
}

fn broken(group: &str, what: &str) -> BenchError {
    BenchError::Group { group: group.to_owned(), what: format!("the coordinator sent an {what}") }
}
