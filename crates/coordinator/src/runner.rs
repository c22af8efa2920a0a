//! Everything between a shard and its partition's log, without I/O.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use thalweg_wire::ErrorCode;

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

/// Records to write as one batch, or several if they are not atomic.
#[derive(Clone, Debug, PartialEq)]
pub struct Append<R> {
    /// To be given back with the result.
    pub id: u64,
    /// Where the first record must come to stand.
    pub base_offset: i64,
    /// The records, in order; never empty.
    pub records: Vec<R>,
    /// Whether they must stand in one batch.
    pub atomic: bool,
    /// The records' timestamp: wall time in milliseconds.
    pub timestamp_ms: i64,
}

/// The log gave records other offsets than the shard had applied them under. The runner is closed;
/// a new one must be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSync {
    /// Offset the records were applied under.
    pub expected: i64,
    /// Offset the log gave them.
    pub actual: i64,
}

impl fmt::Display for OutOfSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "coordinator expected offset {}, the log appended at {}",
            self.expected, self.actual
        )
    }
}

impl std::error::Error for OutOfSync {}

enum What<S: Shard> {
    Answer(Token, S::Response),
    Resume(S::Then),
}

struct Waiting<S: Shard> {
    /// Leaves when everything below this offset is committed.
    needs: i64,
    deadline_ms: u64,
    /// `None` once it was answered because of the deadline.
    what: Option<What<S>>,
}

/// Drives one shard: replays what it writes, holds answers until it is committed, takes back what
/// failed, keeps its timers.
///
/// It performs nothing itself. The shell calls it with events and then empties it: [`poll_append`],
/// [`poll_answer`], [`poll_job`], [`wake_at_ms`].
///
/// Invariants: every token is answered exactly once; an answer leaves only when all records written
/// up to the moment it was computed are committed, but for [`Reply::Now`]; waiting entries stand in
/// the order of the offsets they need.
///
/// [`poll_append`]: Runner::poll_append
/// [`poll_answer`]: Runner::poll_answer
/// [`poll_job`]: Runner::poll_job
/// [`wake_at_ms`]: Runner::wake_at_ms
pub struct Runner<S: Shard> {
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
    outbox: VecDeque<Append<S::Record>>,
    /// Memory of the records in `outbox`.
    queued_bytes: usize,
    /// Id, base and end of the append the shell is working on.
    in_flight: Option<(u64, i64, i64)>,
    waiting: VecDeque<Waiting<S>>,
    /// Entries at the front of `waiting` that were answered because of their deadline.
    given_up: usize,
    answers: VecDeque<(Token, S::Response)>,
    /// Computations that [`poll_job`](Runner::poll_job) has not given out yet.
    jobs: VecDeque<S::Job>,
}

impl<S: Shard> Runner<S> {
    /// A runner whose log has not been replayed yet.
    pub fn new(shard: S, config: RunnerConfig) -> Self {
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
        self.absorb(out, None, now);
        self.release(now);
    }

    /// Handles a request; the answer comes out of [`poll_answer`](Runner::poll_answer).
    pub fn submit(&mut self, request: S::Request, now: Now) -> Token {
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
                self.absorb(out, Some((token, reply)), now);
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
            self.absorb(out, None, now);
            self.release(now);
        }
    }

    /// The next computation to run elsewhere, without any lock. Its result is wanted by
    /// [`job_done`](Runner::job_done) of this runner, however late.
    pub fn poll_job(&mut self) -> Option<S::Job> {
        self.jobs.pop_front()
    }

    /// Takes the result of a computation.
    pub fn job_done(&mut self, done: <S::Job as Job>::Done, now: Now) {
        if self.state == RunnerState::Active {
            let mut out = Outcome::default();
            self.shard.job_done(done, now, &mut out);
            self.absorb(out, None, now);
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
            self.absorb(out, None, now);
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
                Some(What::Answer(token, response)) => {
                    let failed = S::fail(response, ErrorCode::REQUEST_TIMED_OUT);
                    self.answers.push_back((token, failed));
                }
                Some(What::Resume(then)) => {
                    let mut out = Outcome::default();
                    self.shard.resume(then, Err(ErrorCode::REQUEST_TIMED_OUT), now, &mut out);
                    self.absorb(out, None, now);
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

    /// The next records to write. One append is out at a time: report it with
    /// [`appended`](Runner::appended), [`append_failed`](Runner::append_failed) or
    /// [`appended_in_part`](Runner::appended_in_part) before asking again.
    pub fn poll_append(&mut self) -> Option<Append<S::Record>> {
        if self.in_flight.is_some() {
            return None;
        }
        let append = self.outbox.pop_front()?;
        self.queued_bytes -= size(&append.records);
        let end = append.base_offset.saturating_add(len_i64(&append.records));
        self.in_flight = Some((append.id, append.base_offset, end));
        Some(append)
    }

    /// The log wrote append `id`, its first record at `base_offset`.
    pub fn appended(&mut self, id: u64, base_offset: i64) -> Result<(), OutOfSync> {
        if let Some((_, end)) = self.take_in_flight(id, base_offset)? {
            self.written = end;
        }
        Ok(())
    }

    /// The log refused append `id`, or lost it. Everything computed on top of it is taken back too.
    pub fn append_failed(&mut self, id: u64, error: ErrorCode, now: Now) {
        if let Some((in_flight, base, end)) = self.in_flight
            && in_flight == id
        {
            self.in_flight = None;
            self.take_back(base, end, error, now);
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
        if let Some((base, end)) = self.take_in_flight(id, base_offset)? {
            let records = i64::try_from(records).unwrap_or(i64::MAX);
            self.written = base.saturating_add(records).min(end);
            if self.written < end {
                self.take_back(self.written, end, error, now);
            }
        }
        Ok(())
    }

    /// Base and end of append `id`; `None` if it is of no interest any more.
    fn take_in_flight(
        &mut self,
        id: u64,
        base_offset: i64,
    ) -> Result<Option<(i64, i64)>, OutOfSync> {
        let Some((in_flight, base, end)) = self.in_flight else { return Ok(None) };
        if in_flight != id {
            return Ok(None);
        }
        if base_offset != base {
            self.close(ErrorCode::NOT_COORDINATOR);
            return Err(OutOfSync { expected: base, actual: base_offset });
        }
        self.in_flight = None;
        Ok(Some((base, end)))
    }

    /// Takes back what was applied from `offset` on. The append that failed ends at `end`; what was
    /// computed after it has done nothing wrong.
    fn take_back(&mut self, offset: i64, end: i64, error: ErrorCode, now: Now) {
        let later = if is_of_its_records(error) { ErrorCode::NOT_ENOUGH_REPLICAS } else { error };
        self.outbox.clear();
        self.queued_bytes = 0;
        self.next_offset = offset;
        let split = self.waiting.partition_point(|w| w.needs <= offset);
        let failed = self.waiting.split_off(split);
        self.given_up = self.given_up.min(split);
        let mut out = Outcome::default();
        self.shard.revert(offset, error, now, &mut out);
        self.absorb(out, None, now);
        for Waiting { needs, what, .. } in failed {
            let Some(what) = what else { continue };
            let error = if needs > end { later } else { error };
            match what {
                What::Answer(token, response) => {
                    self.answers.push_back((token, S::fail(response, error)));
                }
                What::Resume(then) => {
                    let mut out = Outcome::default();
                    self.shard.resume(then, Err(error), now, &mut out);
                    self.absorb(out, None, now);
                }
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
    fn absorb(&mut self, out: Outcome<S>, reply: Option<(Token, Reply<S::Response>)>, now: Now) {
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
        if !out.records.is_empty() {
            let base_offset = self.next_offset;
            self.queued_bytes += size(&out.records);
            for record in &out.records {
                let at = Position { offset: self.next_offset, producer_id: None };
                self.shard.replay(at, now, record);
                self.next_offset += 1;
            }
            self.outbox.push_back(Append {
                id: self.next_append,
                base_offset,
                records: out.records,
                atomic: out.atomic,
                timestamp_ms: now.wall_ms,
            });
            self.next_append += 1;
        }
        let deadline_ms = now.monotonic_ms.saturating_add(self.config.write_timeout_ms);
        let needs = self.next_offset;
        let wait = |what| Waiting { needs, deadline_ms, what: Some(what) };
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

    /// Lets out what is committed.
    fn release(&mut self, now: Now) {
        self.shard.commit(self.committed);
        while self.waiting.front().is_some_and(|w| w.needs <= self.committed) {
            let Some(entry) = self.waiting.pop_front() else { return };
            self.given_up = self.given_up.saturating_sub(1);
            match entry.what {
                None => {}
                Some(What::Answer(token, response)) => self.answers.push_back((token, response)),
                Some(What::Resume(then)) => {
                    let mut out = Outcome::default();
                    self.shard.resume(then, Ok(()), now, &mut out);
                    self.absorb(out, None, now);
                }
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
    )
}

fn size<R: CoordinatorRecord>(records: &[R]) -> usize {
    records.iter().map(CoordinatorRecord::size).sum()
}

fn len_i64<T>(items: &[T]) -> i64 {
    i64::try_from(items.len()).unwrap_or(i64::MAX)
}
