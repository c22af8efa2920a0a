//! The contract between a coordinator's state machine and whatever runs it.

use std::fmt;
use std::hash::Hash;

use bytes::Bytes;
use thalweg_wire::ErrorCode;

use crate::Now;
use crate::append::AppendKind;

/// Stands for one request that waits for its answer. Unique in the life of a [`Runner`].
///
/// [`Runner`]: crate::Runner
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Where a replayed record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Offset of the record in the coordinator's partition.
    pub offset: i64,
    /// Producer of a transactional batch; `None` for the coordinator's own records.
    pub producer_id: Option<i64>,
}

/// A record's key and value as they stand in a batch; no value is a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// Record type and key fields.
    pub key: Bytes,
    /// Value version and value fields.
    pub value: Option<Bytes>,
}

/// A record of a coordinator's partition.
pub trait CoordinatorRecord: Sized {
    /// Why bytes are no record.
    type Error: fmt::Display;

    /// About how much memory the record takes, in bytes.
    fn size(&self) -> usize;

    /// Whether a batch with this record may be compressed when it is too long for the log. Where it may not, what
    /// the record belongs to fails.
    fn may_be_compressed(&self) -> bool {
        true
    }

    /// The record's bytes.
    fn encode(&self) -> Result<KeyValue, Self::Error>;

    /// Reads a record. `Ok(None)` for a type that this version does not know: such records are
    /// skipped and never removed. A value version that is not known, or bytes that do not parse,
    /// fail the load of the whole partition, as they do in Kafka.
    fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<Self>, Self::Error>;
}

/// How a request is answered.
#[derive(Debug)]
pub enum Reply<R> {
    /// From committed state, at once.
    Now(R),
    /// When everything written so far, this request's records included, is committed.
    AfterCommit(R),
    /// The shard keeps the token and completes it later, in this outcome or another one.
    Deferred,
}

/// A timer to set or to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimerChange<K> {
    /// Fire `key` after `delay_ms`, replacing an earlier deadline of the same key.
    Schedule(K, u64),
    /// Fire `key` after `delay_ms`, unless it is set already.
    ScheduleIfAbsent(K, u64),
    /// Forget `key`.
    Cancel(K),
}

/// What a handler computed.
#[derive(Debug)]
pub struct Outcome<S: Shard + ?Sized> {
    /// To be appended to the log, in this order, and replayed.
    pub records: Vec<S::Record>,
    /// What they are in the log: the coordinator's own, or a producer's. A marker is written without records.
    pub kind: AppendKind,
    /// Answers to parked requests. They leave when the records are committed.
    pub completions: Vec<(Token, S::Response)>,
    /// Timers, applied in order.
    pub timers: Vec<TimerChange<S::TimerKey>>,
    /// Handed back through [`Shard::resume`] when the records are committed, or when they failed.
    pub then: Option<S::Then>,
    /// Computations that take long, to be run elsewhere, whatever becomes of the records. Their
    /// results come back through [`Shard::job_done`].
    pub jobs: Vec<S::Job>,
    /// What has to be done outside once so many of the records are committed, and all that were written before them. If
    /// these fail it is dropped.
    pub effects: Vec<(usize, S::Effect)>,
}

impl<S: Shard + ?Sized> Default for Outcome<S> {
    fn default() -> Self {
        Outcome {
            records: Vec::new(),
            kind: AppendKind::Own { atomic: true },
            completions: Vec::new(),
            timers: Vec::new(),
            then: None,
            jobs: Vec::new(),
            effects: Vec::new(),
        }
    }
}

impl<S: Shard + ?Sized> Outcome<S> {
    /// Appends a record.
    pub fn record(&mut self, record: S::Record) {
        self.records.push(record);
    }

    /// Lets the records stand in any number of batches, because each is right by itself.
    pub fn split(&mut self) {
        self.kind = AppendKind::Own { atomic: false };
    }

    /// Has something done outside once the records that are here by now are committed.
    pub fn effect(&mut self, effect: S::Effect) {
        self.effects.push((self.records.len(), effect));
    }

    /// Answers a parked request.
    pub fn complete(&mut self, token: Token, response: S::Response) {
        self.completions.push((token, response));
    }

    /// Has a computation run elsewhere.
    pub fn start(&mut self, job: S::Job) {
        self.jobs.push(job);
    }

    /// Sets a timer.
    pub fn schedule(&mut self, key: S::TimerKey, delay_ms: u64) {
        self.timers.push(TimerChange::Schedule(key, delay_ms));
    }

    /// Sets a timer, unless it is set already.
    pub fn schedule_if_absent(&mut self, key: S::TimerKey, delay_ms: u64) {
        self.timers.push(TimerChange::ScheduleIfAbsent(key, delay_ms));
    }

    /// Forgets a timer.
    pub fn cancel(&mut self, key: S::TimerKey) {
        self.timers.push(TimerChange::Cancel(key));
    }
}

/// A computation that takes too long for the lock of a partition and for a worker thread.
///
/// It owns a snapshot of what it reads. What it read may have changed when its result comes: the
/// shard decides by an epoch whether the result still counts.
pub trait Job: Send + 'static {
    /// What comes of it.
    type Done: Send + 'static;

    /// Computes.
    fn run(&self) -> Self::Done;

    /// What is reported instead if [`run`](Job::run) panicked.
    fn failed(&self) -> Self::Done;
}

/// For shards that compute everything in place.
impl Job for std::convert::Infallible {
    type Done = std::convert::Infallible;

    fn run(&self) -> Self::Done {
        *self
    }

    fn failed(&self) -> Self::Done {
        *self
    }
}

/// The state machine of one coordinator partition.
///
/// Its state has two parts. The *logged* part is a function of the partition's records: only
/// [`replay`] and [`replay_marker`] change it, in the leader and in recovery alike, and [`revert`]
/// takes back what was not committed. The *live* part is what Kafka's records have no place for: who
/// waits for an answer, who has asked for a member id, how far a rebalance has come. Handlers move
/// the live part and leave the logged one alone; implementations keep the logged part in a type of
/// its own so that the compiler sees to it.
///
/// [`replay`]: Shard::replay
/// [`replay_marker`]: Shard::replay_marker
/// [`revert`]: Shard::revert
pub trait Shard {
    /// What is asked of it.
    type Request;
    /// What it answers.
    type Response;
    /// What it writes.
    type Record: CoordinatorRecord;
    /// What tells its timers apart.
    type TimerKey: Hash + Eq + Clone;
    /// What it goes on with after an append.
    type Then;
    /// What it is told of the world outside its log: metadata that changed.
    type Event;
    /// What it has computed elsewhere.
    type Job: Job;
    /// What it has done outside, upon records that are committed. What becomes of it comes back as an event.
    type Effect;

    /// Computes the answer to a request.
    fn handle(
        &mut self,
        token: Token,
        request: Self::Request,
        now: Now,
        out: &mut Outcome<Self>,
    ) -> Reply<Self::Response>;

    /// Something outside the log changed. Comes to active shards only, and once, with everything that
    /// is so, when a shard becomes active.
    fn event(&mut self, event: Self::Event, now: Now, out: &mut Outcome<Self>);

    /// A computation has ended.
    fn job_done(&mut self, done: <Self::Job as Job>::Done, now: Now, out: &mut Outcome<Self>);

    /// A timer that was not cancelled or set again is due.
    fn timer_fired(&mut self, key: Self::TimerKey, now: Now, out: &mut Outcome<Self>);

    /// Applies a record to the logged state. `now` is for the live state of what the record brings
    /// into being; the logged state never depends on it.
    fn replay(&mut self, at: Position, now: Now, record: &Self::Record);

    /// Applies the end of a transaction to the logged state.
    fn replay_marker(&mut self, offset: i64, producer_id: i64, commit: bool);

    /// The records of an outcome with `then` are committed, or failed with the log's error.
    fn resume(
        &mut self,
        then: Self::Then,
        result: Result<(), ErrorCode>,
        now: Now,
        out: &mut Outcome<Self>,
    );

    /// The whole log has been replayed: set up the live state and the timers.
    fn loaded(&mut self, now: Now, out: &mut Outcome<Self>);

    /// The partition moves away: answer everything that is parked with `error`.
    fn unloaded(&mut self, error: ErrorCode, out: &mut Outcome<Self>);

    /// Everything below `offset` is committed. Who waits for what a load has brought, of which nobody hears by
    /// [`resume`](Shard::resume), goes on.
    fn commit(&mut self, offset: i64, now: Now, out: &mut Outcome<Self>);

    /// Records at and above `offset` never made it: take them back, and answer what was parked on
    /// state that they had created with `error`, the log's own.
    fn revert(&mut self, offset: i64, error: ErrorCode, now: Now, out: &mut Outcome<Self>);

    /// The answer to a request that cannot be handled, with the log's or the runner's error.
    fn refuse(request: &Self::Request, error: ErrorCode) -> Self::Response;

    /// What a computed answer becomes when its records were not committed, with the log's error.
    fn fail(response: Self::Response, error: ErrorCode) -> Self::Response;
}

/// What clients are told when a coordinator's append fails with `error`.
pub fn append_error(error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::NETWORK_EXCEPTION => ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        | ErrorCode::NOT_ENOUGH_REPLICAS
        | ErrorCode::REQUEST_TIMED_OUT => ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::KAFKA_STORAGE_ERROR => {
            ErrorCode::NOT_COORDINATOR
        }
        ErrorCode::MESSAGE_TOO_LARGE
        | ErrorCode::RECORD_LIST_TOO_LARGE
        | ErrorCode::INVALID_FETCH_SIZE => ErrorCode::UNKNOWN_SERVER_ERROR,
        other => other,
    }
}
