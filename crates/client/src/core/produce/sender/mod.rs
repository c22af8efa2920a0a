//! The sender: topics, partitions and brokers, and what has to be told to whom.

pub(super) mod accept;
pub(super) mod accumulator;
pub(super) mod request;
mod schedule;
mod topics;
pub mod transaction;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;

use thalweg_records::Decompressor;

use super::broker_queue::{BrokerQueue, Slot};
use super::error::ProduceErrorKind;
use super::memory::Memory;
use super::partition::Partition;
use super::settings::{ProduceCounts, ProduceSettings};
use super::topic::Topic;
use thalweg_random::Random;
use transaction::Transactions;

/// Produces for one producer.
pub struct Sender {
    pub(super) settings: ProduceSettings,
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
