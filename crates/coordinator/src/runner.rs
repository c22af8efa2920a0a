//! Everything between a shard and its partition's log, without I/O.

use std::collections::{BTreeSet, VecDeque};

use thalweg_wire::ErrorCode;

use crate::append::{Append, AppendKind, OutOfSync};
use crate::shard::{CoordinatorRecord, Job, Outcome, Position, Reply, Shard, TimerChange, Token};
use crate::{Now, Timers};

/// How many timers one call of [`Runner::advance`] fires at most, so that the lock is not held long.
const TIMERS_PER_CALL: usize = 256;

/// Answers that wait for the log at most; requests above that are refused. A log that keeps up has
/// a handful, one that has stalled collects them until clients stop asking.
const WAITING_MAX: usize = 16 << 10;

/// Memory of records that wait to be written at most, in bytes; requests above that are refused. A
/// few requests may hold as much as very many.
const QUEUED_BYTES_MAX: usize = 4 << 20;

/// Settings of a [`Runner`].
#[derive(Clone, Copy, Debug)]
pub struct RunnerConfig {
    /// How long an answer waits for the commit of its records (`offsets.commit.timeout.ms`).
    pub write_timeout_ms: u64,
}

impl Default for RunnerConfig {
    fn default() -> Self {
        RunnerConfig { write_timeout_ms: 5_000 }
    }
}

/// Whether a runner takes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerState {
    /// The log is being replayed; requests get COORDINATOR_LOAD_IN_PROGRESS.
    Loading,
    /// Requests are handled.
    Active,
    /// Unloaded, or failed; requests get NOT_COORDINATOR.
    Closed,
}

enum What<S: Shard> {
    Answer(Token, S::Response),
    Resume(S::Then),
    /// It has no deadline.
    Effect(S::Effect),
}

#[derive(Clone, Copy)]
struct InFlight {
    id: u64,
    /// Its first offset, and the one after its last.
    base: i64,
    end: i64,
    kind: AppendKind,
}

struct Waiting<S: Shard> {
    /// Leaves when everything below this offset is committed.
    needs: i64,
    /// The append of what it was computed with; `None` where nothing was written for it.
    append: Option<u64>,
    deadline_ms: u64,
    /// `None` once it was answered because of the deadline; an effect stays.
    what: Option<What<S>>,
}

/// Drives one shard: replays what it writes, holds answers until it is committed, takes back what
/// failed, keeps its timers.
///
/// It performs nothing itself. The shell calls it with events and then empties it: [`poll_append`],
/// [`poll_answer`], [`poll_job`], [`poll_effect`], [`wake_at_ms`].
///
/// Invariants: every token is answered exactly once; an answer leaves only when all records written
/// up to the moment it was computed are committed, but for [`Reply::Now`]; waiting entries stand in
/// the order of the offsets they need.
///
/// `P` is what the log has to be shown with a batch of a producer's transaction; it passes from the request to the
/// append.
///
/// [`poll_append`]: Runner::poll_append
/// [`poll_answer`]: Runner::poll_answer
/// [`poll_job`]: Runner::poll_job
/// [`poll_effect`]: Runner::poll_effect
/// [`wake_at_ms`]: Runner::wake_at_ms
pub struct Runner<S: Shard, P = ()> {
    shard: S,
    config: RunnerConfig,
    state: RunnerState,
    timers: Timers<S::TimerKey>,
    parked: BTreeSet<Token>,
    next_token: u64,
    next_append: u64,
    /// Offset after the last record applied.
    next_offset: i64,
    /// Offset after the last record the log has confirmed.
    written: i64,
    committed: i64,
    outbox: VecDeque<Append<S::Record, P>>,
    /// Memory of the records in `outbox`.
    queued_bytes: usize,
    /// The append the shell is working on.
    in_flight: Option<InFlight>,
    waiting: VecDeque<Waiting<S>>,
    /// Entries at the front of `waiting` whose deadline is over.
    given_up: usize,
    answers: VecDeque<(Token, S::Response)>,
    /// Computations that [`poll_job`](Runner::poll_job) has not given out yet.
    jobs: VecDeque<S::Job>,
    /// What is to be done outside that [`poll_effect`](Runner::poll_effect) has not given out yet.
    effects: VecDeque<S::Effect>,
}

impl<S: Shard> Runner<S> {
    /// A runner whose log has not been replayed yet, and asks for no proofs.
    pub fn new(shard: S, config: RunnerConfig) -> Self {
        Runner::with_proofs(shard, config)
    }
}

impl<S: Shard, P> Runner<S, P> {
    /// A runner whose log has not been replayed yet.
    pub fn with_proofs(shard: S, config: RunnerConfig) -> Self {
        Runner {
            shard,
            config,
            state: RunnerState::Loading,
            timers: Timers::default(),
            parked: BTreeSet::new(),
            next_token: 0,
            next_append: 0,
            next_offset: 0,
            written: 0,
            committed: 0,
            outbox: VecDeque::new(),
            queued_bytes: 0,
            in_flight: None,
            waiting: VecDeque::new(),
            given_up: 0,
            answers: VecDeque::new(),
            jobs: VecDeque::new(),
            effects: VecDeque::new(),
        }
    }

    /// Whether it takes requests.
    pub fn state(&self) -> RunnerState {
        self.state
    }

    /// The state machine, to be read.
    pub fn shard(&self) -> &S {
        &self.shard
    }

    /// Offset the next record will get.
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Appends that [`poll_append`](Runner::poll_append) has not given out yet.
    pub fn queued_appends(&self) -> usize {
        self.outbox.len()
    }

    /// Memory of the records in those appends, in bytes.
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Requests that the shard holds back.
    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// Replays one record of the log. Only while loading.
    pub fn load_record(&mut self, at: Position, now: Now, record: &S::Record) {
        debug_assert_eq!(self.state, RunnerState::Loading);
        if self.state == RunnerState::Loading {
            self.shard.replay(at, now, record);
        }
    }

    /// Replays one transaction marker of the log. Only while loading.
    pub fn load_marker(&mut self, offset: i64, producer_id: i64, commit: bool) {
        debug_assert_eq!(self.state, RunnerState::Loading);
        if self.state == RunnerState::Loading {
            self.shard.replay_marker(offset, producer_id, commit);
        }
    }

    /// The log has been replayed up to `log_end_offset`. Does nothing if the runner was closed
    /// meanwhile.
    pub fn load_finished(&mut self, log_end_offset: i64, high_watermark: i64, now: Now) {
        if self.state != RunnerState::Loading {
            return;
        }
        self.state = RunnerState::Active;
        self.next_offset = log_end_offset;
        self.written = log_end_offset;
        self.committed = high_watermark.min(log_end_offset);
        let mut out = Outcome::default();
        self.shard.loaded(now, &mut out);
        self.absorb(out, None, None, now);
        self.release(now);
    }

    /// Handles a request; the answer comes out of [`poll_answer`](Runner::poll_answer).
    pub fn submit(&mut self, request: S::Request, now: Now) -> Token {
        self.submit_with_proof(request, None, now)
    }

    /// The same, for a request of a producer's transaction: `proof` comes back with the append of its records, if
    /// there are any.
    pub fn submit_with_proof(&mut self, request: S::Request, proof: Option<P>, now: Now) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        match self.state {
            RunnerState::Loading => {
                let refusal = S::refuse(&request, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
                self.answers.push_back((token, refusal));
            }
            RunnerState::Closed => {
                let refusal = S::refuse(&request, ErrorCode::NOT_COORDINATOR);
                self.answers.push_back((token, refusal));
            }
            RunnerState::Active
                if self.waiting.len() >= WAITING_MAX || self.queued_bytes >= QUEUED_BYTES_MAX =>
            {
                // The log has stalled. Clients find the coordinator again, which takes them a
                // while, and come back.
                let refusal = S::refuse(&request, ErrorCode::COORDINATOR_NOT_AVAILABLE);
                self.answers.push_back((token, refusal));
            }
            RunnerState::Active => {
                let mut out = Outcome::default();
                let reply = self.shard.handle(token, request, now, &mut out);
                self.absorb(out, Some((token, reply)), proof, now);
                self.release(now);
            }
        }
        token
    }

    /// Tells the shard of something outside its log. Nobody is told while loading: give a runner that
    /// has become active everything that is so then.
    pub fn event(&mut self, event: S::Event, now: Now) {
        if self.state == RunnerState::Active {
            let mut out = Outcome::default();
            self.shard.event(event, now, &mut out);
            self.absorb(out, None, None, now);
            self.release(now);
        }
    }

    /// The next computation to run elsewhere, without any lock. Its result is wanted by
    /// [`job_done`](Runner::job_done) of this runner, however late.
    pub fn poll_job(&mut self) -> Option<S::Job> {
        self.jobs.pop_front()
    }

    /// The next thing to do outside. It stays to be done until it is, whatever fails, as long as this runner is active:
    /// nothing else sees to it.
    pub fn poll_effect(&mut self) -> Option<S::Effect> {
        self.effects.pop_front()
    }

    /// Takes the result of a computation.
    pub fn job_done(&mut self, done: <S::Job as Job>::Done, now: Now) {
        if self.state == RunnerState::Active {
            let mut out = Outcome::default();
            self.shard.job_done(done, now, &mut out);
            self.absorb(out, None, None, now);
            self.release(now);
        }
    }

    /// Fires timers that are due and gives up answers that waited too long for their commit. Call it
    /// again when [`wake_at_ms`](Runner::wake_at_ms) is still not after `now`.
    pub fn advance(&mut self, now: Now) {
        if self.state != RunnerState::Active {
            return;
        }
        for _ in 0..TIMERS_PER_CALL {
            // A failed append takes back all that was computed after it. So nothing more is, as long
            // as the shell can write what there is first.
            if !self.outbox.is_empty() && self.in_flight.is_none() {
                break;
            }
            let Some(key) = self.timers.pop_due(now.monotonic_ms) else { break };
            let mut out = Outcome::default();
            self.shard.timer_fired(key, now, &mut out);
            self.absorb(out, None, None, now);
        }
        self.give_up_overdue(now);
        self.release(now);
    }

    fn give_up_overdue(&mut self, now: Now) {
        // The timeout is the same for all, so the overdue ones are in front.
        while let Some(entry) = self.waiting.get_mut(self.given_up)
            && entry.deadline_ms <= now.monotonic_ms
        {
            self.given_up += 1;
            match entry.what.take() {
                None => {}
                effect @ Some(What::Effect(_)) => entry.what = effect,
                Some(What::Answer(token, response)) => {
                    let failed = S::fail(response, ErrorCode::REQUEST_TIMED_OUT);
                    self.answers.push_back((token, failed));
                }
                Some(What::Resume(then)) => {
                    let mut out = Outcome::default();
                    self.shard.resume(then, Err(ErrorCode::REQUEST_TIMED_OUT), now, &mut out);
                    self.absorb(out, None, None, now);
                }
            }
        }
    }

    /// When [`advance`](Runner::advance) has to be called next, on the monotonic clock.
    pub fn wake_at_ms(&self) -> Option<u64> {
        if self.state != RunnerState::Active {
            return None;
        }
        let overdue = self.waiting.get(self.given_up).map(|w| w.deadline_ms);
        match (self.timers.wake_at_ms(), overdue) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The next thing to write. One append is out at a time: report it with
    /// [`appended`](Runner::appended), [`append_failed`](Runner::append_failed) or
    /// [`appended_in_part`](Runner::appended_in_part) before asking again.
    pub fn poll_append(&mut self) -> Option<Append<S::Record, P>> {
        if self.in_flight.is_some() {
            return None;
        }
        let append = self.outbox.pop_front()?;
        self.queued_bytes -= size(&append.records);
        let Append { id, base_offset: base, kind, .. } = append;
        let end = base.saturating_add(append.offsets());
        self.in_flight = Some(InFlight { id, base, end, kind });
        Some(append)
    }

    /// The log wrote append `id`, its first record at `base_offset`.
    pub fn appended(&mut self, id: u64, base_offset: i64) -> Result<(), OutOfSync> {
        if let Some(append) = self.take_in_flight(id, base_offset)? {
            self.written = append.end;
        }
        Ok(())
    }

    /// The log refused append `id`, or lost it. Everything computed on top of it is taken back too.
    pub fn append_failed(&mut self, id: u64, error: ErrorCode, now: Now) {
        if let Some(append) = self.in_flight
            && append.id == id
        {
            self.in_flight = None;
            self.take_back(append.base, append, error, now);
        }
    }

    /// The log wrote the first `records` of append `id`, which is not atomic, from `base_offset` on,
    /// and then refused the rest.
    pub fn appended_in_part(
        &mut self,
        id: u64,
        base_offset: i64,
        records: usize,
        error: ErrorCode,
        now: Now,
    ) -> Result<(), OutOfSync> {
        if let Some(append) = self.take_in_flight(id, base_offset)? {
            let records = i64::try_from(records).unwrap_or(i64::MAX);
            self.written = append.base.saturating_add(records).min(append.end);
            if self.written < append.end {
                self.take_back(self.written, append, error, now);
            }
        }
        Ok(())
    }

    /// The append of that id; `None` if it is of no interest any more.
    fn take_in_flight(&mut self, id: u64, base_offset: i64) -> Result<Option<InFlight>, OutOfSync> {
        let Some(append) = self.in_flight.filter(|append| append.id == id) else {
            return Ok(None);
        };
        if base_offset != append.base {
            self.close(ErrorCode::NOT_COORDINATOR);
            return Err(OutOfSync { expected: append.base, actual: base_offset });
        }
        self.in_flight = None;
        Ok(Some(append))
    }

    /// Takes back what was applied from `offset` on, of the append that failed and of what was computed after it,
    /// which has done nothing wrong.
    fn take_back(&mut self, offset: i64, append: InFlight, error: ErrorCode, now: Now) {
        let later = if is_of_its_records(error) { ErrorCode::NOT_ENOUGH_REPLICAS } else { error };
        self.outbox.clear();
        self.queued_bytes = 0;
        self.next_offset = offset;
        let split = self.waiting.partition_point(|w| w.needs <= offset);
        let failed = self.waiting.split_off(split);
        self.given_up = self.given_up.min(split);
        let mut out = Outcome::default();
        // What a producer asks for is never parked, so that it is others who are parked upon it.
        let parked = if append.kind.is_of_producer() { later } else { error };
        self.shard.revert(offset, parked, now, &mut out);
        self.absorb(out, None, None, now);
        for Waiting { append: of, what, .. } in failed {
            let Some(what) = what else { continue };
            let error = if of == Some(append.id) { error } else { later };
            match what {
                What::Answer(token, response) => {
                    self.answers.push_back((token, S::fail(response, error)));
                }
                What::Resume(then) => {
                    let mut out = Outcome::default();
                    self.shard.resume(then, Err(error), now, &mut out);
                    self.absorb(out, None, None, now);
                }
                What::Effect(_) => {}
            }
        }
        self.release(now);
    }

    /// The partition's high watermark.
    pub fn high_watermark(&mut self, offset: i64, now: Now) {
        if self.state != RunnerState::Active {
            return;
        }
        let committed = offset.min(self.written);
        if committed > self.committed {
            self.committed = committed;
            self.release(now);
        }
    }

    /// The next answer to send.
    pub fn poll_answer(&mut self) -> Option<(Token, S::Response)> {
        self.answers.pop_front()
    }

    /// Unloads: everything open is answered, nothing is handled any more.
    pub fn close(&mut self, error: ErrorCode) {
        if self.state == RunnerState::Closed {
            return;
        }
        self.state = RunnerState::Closed;
        self.timers.clear();
        self.outbox.clear();
        self.queued_bytes = 0;
        self.in_flight = None;
        self.jobs.clear();
        self.effects.clear();
        let mut out = Outcome::default();
        self.shard.unloaded(error, &mut out);
        self.given_up = 0;
        for what in self.waiting.drain(..).filter_map(|w| w.what) {
            if let What::Answer(token, response) = what {
                self.answers.push_back((token, S::fail(response, error)));
            }
        }
        for (token, response) in out.completions {
            if self.unpark(token) {
                self.answers.push_back((token, response));
            }
        }
        debug_assert!(self.parked.is_empty(), "tokens left after unload: {:?}", self.parked);
    }

    fn unpark(&mut self, token: Token) -> bool {
        let parked = self.parked.remove(&token);
        debug_assert!(parked, "{token:?} completed twice or never parked");
        parked
    }

    /// Applies what a handler computed.
    fn absorb(
        &mut self,
        out: Outcome<S>,
        reply: Option<(Token, Reply<S::Response>)>,
        proof: Option<P>,
        now: Now,
    ) {
        for change in out.timers {
            match change {
                TimerChange::Schedule(key, delay_ms) => {
                    self.timers.schedule(key, now.monotonic_ms.saturating_add(delay_ms));
                }
                TimerChange::ScheduleIfAbsent(key, delay_ms) => {
                    if !self.timers.is_set(&key) {
                        self.timers.schedule(key, now.monotonic_ms.saturating_add(delay_ms));
                    }
                }
                TimerChange::Cancel(key) => self.timers.cancel(&key),
            }
        }
        self.jobs.extend(out.jobs);
        let records = out.records.len();
        let append = self.write(out.kind, out.records, proof, now);
        let deadline_ms = now.monotonic_ms.saturating_add(self.config.write_timeout_ms);
        let needs = self.next_offset;
        let wait = |what| Waiting { needs, append, deadline_ms, what: Some(what) };
        // Before what goes on with the shard, which may want more of them.
        for (count, effect) in out.effects {
            let behind = i64::try_from(records.saturating_sub(count)).unwrap_or(i64::MAX);
            let needs = needs.saturating_sub(behind);
            self.waiting.push_back(Waiting { needs, ..wait(What::Effect(effect)) });
        }
        if let Some(then) = out.then {
            self.waiting.push_back(wait(What::Resume(then)));
        }
        let mut answer = None;
        match reply {
            None => {}
            Some((token, Reply::Now(response))) => self.answers.push_back((token, response)),
            Some((token, Reply::AfterCommit(response))) => {
                answer = Some(What::Answer(token, response));
            }
            Some((token, Reply::Deferred)) => {
                self.parked.insert(token);
            }
        }
        for (token, response) in out.completions {
            if self.unpark(token) {
                self.waiting.push_back(wait(What::Answer(token, response)));
            }
        }
        if let Some(what) = answer {
            self.waiting.push_back(wait(what));
        }
    }

    /// Applies records or a marker to the shard and has them written; gives the append, if there is anything to write.
    fn write(
        &mut self,
        kind: AppendKind,
        records: Vec<S::Record>,
        proof: Option<P>,
        now: Now,
    ) -> Option<u64> {
        let base_offset = self.next_offset;
        match kind {
            AppendKind::Marker(end) => {
                debug_assert!(records.is_empty(), "a marker stands for itself");
                self.shard.replay_marker(base_offset, end.producer.id, end.commit);
                self.next_offset += 1;
            }
            _ if records.is_empty() => return None,
            AppendKind::Own { .. } | AppendKind::Transactional(_) => {
                self.queued_bytes += size(&records);
                for record in &records {
                    let at = Position { offset: self.next_offset, producer_id: kind.producer_id() };
                    self.shard.replay(at, now, record);
                    self.next_offset += 1;
                }
            }
        }
        let id = self.next_append;
        self.outbox.push_back(Append {
            id,
            base_offset,
            kind,
            records,
            proof: proof.filter(|_| kind.is_of_producer()),
            timestamp_ms: now.wall_ms,
        });
        self.next_append += 1;
        Some(id)
    }

    /// Lets out what is committed.
    fn release(&mut self, now: Now) {
        let mut out = Outcome::default();
        self.shard.commit(self.committed, now, &mut out);
        self.absorb(out, None, None, now);
        while self.waiting.front().is_some_and(|w| w.needs <= self.committed) {
            let Some(entry) = self.waiting.pop_front() else { return };
            self.given_up = self.given_up.saturating_sub(1);
            match entry.what {
                None => {}
                Some(What::Answer(token, response)) => self.answers.push_back((token, response)),
                Some(What::Resume(then)) => {
                    let mut out = Outcome::default();
                    self.shard.resume(then, Ok(()), now, &mut out);
                    self.absorb(out, None, None, now);
                }
                Some(What::Effect(effect)) => self.effects.push_back(effect),
            }
        }
    }
}

/// Whether an append failed for what was to be written, and another one would not.
fn is_of_its_records(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::MESSAGE_TOO_LARGE
            | ErrorCode::RECORD_LIST_TOO_LARGE
            | ErrorCode::UNKNOWN_SERVER_ERROR
            | ErrorCode::INVALID_PRODUCER_EPOCH
            | ErrorCode::INVALID_PRODUCER_ID_MAPPING
            | ErrorCode::UNKNOWN_PRODUCER_ID
            | ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
            | ErrorCode::INVALID_TXN_STATE
            | ErrorCode::TRANSACTION_COORDINATOR_FENCED
    )
}

fn size<R: CoordinatorRecord>(records: &[R]) -> usize {
    records.iter().map(CoordinatorRecord::size).sum()
}
