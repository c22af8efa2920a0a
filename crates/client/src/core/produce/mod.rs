//! Producing without I/O: which partition a record goes to, which batches to send to which broker,
//! what to do with the answers, and what becomes of each record.
//!
//! | File | What |
//! |---|---|
//! | [`murmur2`], [`partitioner`] | where a record goes |
//! | `batch`, [`memory`] | the bytes it becomes, and the limit on them |
//! | `accumulator` | taking records in: a queue of batches per partition |
//! | `schedule` | whose turn it is at which broker, and when |
//! | `sender` | taking batches out: requests, producer ids and sequences |
//! | `accept` | answers, lost connections, batches whose time is over |
//! | [`outcome`] | what becomes of a batch, for whoever waits |
//! | [`transaction`] | the transaction that is open, and what coordinators are asked |
//!
//! Invariants:
//! - Batches of a partition are sent in the order they were begun; one that has to be sent again
//!   goes before all behind it. With idempotence that is also the order in the log, whatever
//!   fails in between.
//! - With idempotence a record is never in the log twice: what may be there already is sent again
//!   under its old sequence only, and gets another one only when a broker's answer proves that it
//!   is not there.
//! - A partition's batches are under way to one broker at a time.
//! - Memory is counted before it is taken, and given back once.
//! - Work follows what changed: no loop over all partitions for a record, a batch or an answer.
//!
//! Time is passed in, as milliseconds of any monotonic clock; chance is a seed.

mod accept;
mod accumulator;
mod batch;
mod error;
pub mod memory;
pub mod murmur2;
pub mod outcome;
mod partition;
pub mod partitioner;
mod schedule;
mod sender;
#[cfg(test)]
mod tests;
mod topics;
pub mod transaction;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;

use thalweg_random::Random;
use thalweg_records::{CompressionSpec, Decompressor};

pub use accumulator::Refused;
pub use batch::{AsProducerRecord, ProducerRecord, Sealer};
pub use error::{ProduceError, ProduceErrorKind};
pub use memory::Memory;
pub use outcome::{RecordMetadata, Ticket};
pub use sender::OutgoingRequest;
pub use transaction::{AbortReason, TransactionError};

use partition::Partition;
use schedule::BrokerQueue;
use topics::Topic;
use transaction::Transactions;

/// Who has to have a record before it is acknowledged (`acks`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Acks {
    /// Nobody: it counts as acknowledged when it was sent (`0`).
    None,
    /// The leader (`1`).
    Leader,
    /// All replicas in sync (`all`); Kafka's default.
    #[default]
    All,
}

impl Acks {
    /// As it stands in a request.
    pub fn code(self) -> i16 {
        match self {
            Acks::None => 0,
            Acks::Leader => 1,
            Acks::All => -1,
        }
    }
}

/// How to produce. Kafka's names and defaults stand at `ProducerConfig`.
#[derive(Clone, Debug)]
pub struct ProduceSettings {
    /// `acks`.
    pub acks: Acks,
    /// `enable.idempotence`.
    pub is_idempotent: bool,
    /// `batch.size`.
    pub batch_size: usize,
    /// `linger.ms`.
    pub linger_ms: u64,
    /// `max.request.size`.
    pub max_request_size: usize,
    /// `compression.type` with its level.
    pub compression: CompressionSpec,
    /// `max.in.flight.requests.per.connection`.
    pub max_in_flight: usize,
    /// `delivery.timeout.ms`.
    pub delivery_timeout_ms: u64,
    /// `retries`.
    pub retries: u32,
    /// `retry.backoff.ms`.
    pub retry_backoff_ms: u64,
    /// `retry.backoff.max.ms`.
    pub retry_backoff_max_ms: u64,
    /// `partitioner.adaptive.partitioning.enable`.
    pub is_adaptive: bool,
    /// `partitioner.ignore.keys`.
    pub ignores_keys: bool,
    /// `transactional.id`; needs `is_idempotent`.
    pub transactional_id: Option<Arc<str>>,
}

impl Default for ProduceSettings {
    fn default() -> ProduceSettings {
        ProduceSettings {
            acks: Acks::All,
            is_idempotent: true,
            batch_size: 16 << 10,
            linger_ms: 5,
            max_request_size: 1 << 20,
            compression: CompressionSpec::NONE,
            max_in_flight: 5,
            delivery_timeout_ms: 120_000,
            retries: i32::MAX as u32,
            retry_backoff_ms: 100,
            retry_backoff_max_ms: 1_000,
            is_adaptive: true,
            ignores_keys: false,
            transactional_id: None,
        }
    }
}

/// Counts since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ProduceCounts {
    /// Requests sent.
    pub requests: u64,
    /// Batches sent, repetitions included.
    pub batches: u64,
    /// Bytes of those batches.
    pub batch_bytes: u64,
    /// Records taken in.
    pub records: u64,
    /// Batches that had to be sent again.
    pub retries: u64,
    /// Batches that a broker found too large.
    pub splits: u64,
    /// Producer epochs begun because the fate of a batch could not be found out otherwise.
    pub epoch_bumps: u64,
    /// Transactions that were committed, those without a record included.
    pub transactions_committed: u64,
    /// Transactions that were aborted, for whatever reason.
    pub transactions_aborted: u64,
    /// Requests to the coordinators of transactions and of groups whose offsets are committed in them, repetitions
    /// included.
    pub coordinator_requests: u64,
    /// Answers that the transaction before is being completed, of coordinators to requests, and of leaders to
    /// batches.
    pub concurrent_transactions: u64,
}

/// A place in the table of partitions.
type Slot = u32;

/// Produces for one producer.
pub struct Sender {
    settings: ProduceSettings,
    memory: Arc<Memory>,
    decompressor: Decompressor,
    topics: Vec<Topic>,
    by_name: HashMap<Arc<str>, usize>,
    last_topic: usize,
    partitions: Vec<Partition>,
    /// Places in `partitions` that nobody has.
    free: Vec<Slot>,
    broker_queues: HashMap<i32, BrokerQueue>,
    next_batch: u64,
    random: Random,
    /// Id and first epoch that partitions begin with.
    producer_id: Option<(i64, i16)>,
    /// Its transactions, with a `transactional.id`.
    transactions: Option<Box<Transactions>>,
    /// A coordinator may have to be asked something.
    wants_coordinator: bool,
    /// Where transactions stand has changed.
    transactions_changed: bool,
    /// Why nothing is taken in any more.
    over: Option<ProduceErrorKind>,
    /// Why metadata could not be asked for the last time.
    cause: Option<Arc<str>>,
    /// Batches taken in and not settled.
    outstanding: usize,
    /// Brokers for which there may be something to do.
    brokers_to_wake: Vec<i32>,
    /// Who is to be told of settled batches.
    wakers: Vec<Waker>,
    /// Whoever looks after metadata, producer id and time is to be woken.
    lookup: bool,
    wants_metadata: bool,
    wants_producer_id: bool,
    /// See [`Self::take_uses_changed`].
    uses_changed: bool,
    /// Nobody calls [`Self::expire`] until `lookup`.
    is_unwatched: bool,
    counts: ProduceCounts,
}

impl Sender {
    /// Produces nothing yet. `seed` is where chance begins.
    pub fn new(settings: ProduceSettings, memory: Arc<Memory>, seed: u64) -> Sender {
        let id = settings.transactional_id.clone();
        Sender {
            transactions: id.map(|id| Box::new(Transactions::new(id))),
            wants_coordinator: false,
            transactions_changed: false,
            settings,
            memory,
            decompressor: Decompressor::new(),
            topics: Vec::new(),
            by_name: HashMap::new(),
            last_topic: 0,
            partitions: Vec::new(),
            free: Vec::new(),
            broker_queues: HashMap::new(),
            next_batch: 0,
            random: Random::new(seed),
            producer_id: None,
            over: None,
            outstanding: 0,
            brokers_to_wake: Vec::new(),
            wakers: Vec::new(),
            lookup: false,
            wants_metadata: false,
            wants_producer_id: false,
            uses_changed: false,
            is_unwatched: true,
            cause: None,
            counts: ProduceCounts::default(),
        }
    }

    /// The limit on what waits to be acknowledged.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Why nothing more is taken in; `None` while something is.
    pub fn over(&self) -> Option<&ProduceErrorKind> {
        self.over.as_ref()
    }

    /// Counts since the beginning.
    pub fn counts(&self) -> ProduceCounts {
        self.counts
    }

    #[cfg(test)]
    /// Topics and partitions that are kept up now.
    pub fn known(&self) -> (usize, usize) {
        (self.topics.len(), self.partitions.len() - self.free.len())
    }

    /// Batches begun so far.
    #[inline]
    pub fn batches_begun(&self) -> u64 {
        self.next_batch
    }

    /// Batches taken in and not settled.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Whether somebody has to hear of something; see [`Self::take_signals`].
    pub fn has_signals(&self) -> bool {
        self.lookup
            || self.wants_coordinator
            || self.transactions_changed
            || !self.brokers_to_wake.is_empty()
            || !self.wakers.is_empty()
    }

    /// Takes whom to wake: brokers' tasks, those who wait for batches, and whether there is
    /// something to look after.
    pub fn take_signals(&mut self) -> Signals {
        Signals {
            brokers_to_wake: std::mem::take(&mut self.brokers_to_wake),
            wakers: std::mem::take(&mut self.wakers),
            lookup: std::mem::take(&mut self.lookup),
            wants_coordinator: std::mem::take(&mut self.wants_coordinator),
            transactions_changed: std::mem::take(&mut self.transactions_changed),
        }
    }

    /// Takes whether metadata are to be asked for.
    pub fn take_wants_metadata(&mut self) -> bool {
        std::mem::take(&mut self.wants_metadata)
    }

    /// Asks for metadata, for a topic that is not known here.
    pub fn want_metadata(&mut self) {
        self.wants_metadata = true;
        self.lookup = true;
    }

    /// Takes over that nobody could be asked for metadata.
    pub fn metadata_failed(&mut self, cause: Arc<str>) {
        self.cause = Some(cause);
        self.wants_metadata = true;
        self.lookup = true;
    }

    /// Whether a producer id is to be asked for.
    pub fn wants_producer_id(&self) -> bool {
        self.wants_producer_id && self.over.is_none()
    }

    /// Takes a producer id that the cluster gave.
    pub fn set_producer_id(&mut self, id: i64, epoch: i16, now_ms: u64) {
        self.producer_id = Some((id, epoch));
        self.wants_producer_id = false;
        self.reschedule_all(now_ms);
    }
}

/// Whom to wake, once the lock on a [`Sender`] was let go.
#[derive(Debug, Default)]
pub struct Signals {
    /// Brokers for which there may be something to do.
    pub brokers_to_wake: Vec<i32>,
    /// Those who wait for batches that are settled now.
    pub wakers: Vec<Waker>,
    /// There is something to look after: metadata, a producer id, or time.
    pub lookup: bool,
    /// A coordinator may have to be asked something for a transaction.
    pub wants_coordinator: bool,
    /// Those who wait for a transaction should look again.
    pub transactions_changed: bool,
}
