//! What is logged of a transactional id, and how it goes from one state to the next.
//!
//! Each transition computes the next value from this one and changes nothing. Who calls it has seen to it that it is
//! allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_wire::ErrorCode;

use crate::{TransactionState, TransactionVersion};

/// "No producer id", "no previous one", "no next one".
pub const NO_PRODUCER_ID: i64 = -1;
/// "No producer epoch".
pub const NO_PRODUCER_EPOCH: i16 = -1;

/// A producer as it identifies itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Its id.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
}

impl Producer {
    /// Nobody.
    pub const NONE: Producer = Producer { id: NO_PRODUCER_ID, epoch: NO_PRODUCER_EPOCH };
}

/// Partitions by topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitions(BTreeMap<Arc<str>, BTreeSet<i32>>);

impl Partitions {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    /// By topic, in order.
    pub fn topics(&self) -> impl Iterator<Item = (&Arc<str>, &BTreeSet<i32>)> {
        self.0.iter()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i32)> {
        self.0.iter().flat_map(|(topic, indices)| indices.iter().map(|index| (&**topic, *index)))
    }

    /// Whether a partition is one of them.
    pub fn contains(&self, topic: &str, index: i32) -> bool {
        self.0.get(topic).is_some_and(|indices| indices.contains(&index))
    }

    /// Whether all of `others` are.
    pub fn contains_all(&self, others: &Partitions) -> bool {
        others
            .topics()
            .all(|(topic, indices)| self.0.get(topic).is_some_and(|own| own.is_superset(indices)))
    }

    /// Adds one.
    pub fn insert(&mut self, topic: &str, index: i32) {
        if let Some(indices) = self.0.get_mut(topic) {
            indices.insert(index);
        } else {
            self.0.insert(topic.into(), BTreeSet::from([index]));
        }
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: &Partitions) {
        for (topic, indices) in others.topics() {
            self.0.entry(Arc::clone(topic)).or_default().extend(indices);
        }
    }

    /// Takes all of `others` away.
    pub fn remove_all(&mut self, others: &Partitions) {
        for (topic, indices) in others.topics() {
            if let Some(own) = self.0.get_mut(topic) {
                own.retain(|index| !indices.contains(index));
                if own.is_empty() {
                    self.0.remove(topic);
                }
            }
        }
    }
}

impl<'a> FromIterator<(&'a str, i32)> for Partitions {
    fn from_iter<I: IntoIterator<Item = (&'a str, i32)>>(partitions: I) -> Partitions {
        let mut all = Partitions::default();
        for (topic, index) in partitions {
            all.insert(topic, index);
        }
        all
    }
}

/// What is logged of a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The producer that may use the id.
    pub producer_id: i64,
    /// The producer id before the last transition.
    pub previous_producer_id: i64,
    /// The producer id that takes over when the transaction is complete, because the epochs of this one are used up.
    pub next_producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The epoch before it. It is not in the records: whoever takes the id over does not know it.
    pub last_producer_epoch: i16,
    /// How long a transaction may be open, in milliseconds; `i32::MAX` is for ever (two-phase commit).
    pub timeout_ms: i32,
    /// What the id is at.
    pub state: TransactionState,
    /// What has been added to the transaction.
    pub partitions: Partitions,
    /// When it began, in milliseconds since the epoch; -1 if there is none.
    pub start_ms: i64,
    /// When the last transition was, in milliseconds since the epoch.
    pub last_update_ms: i64,
    /// How the client spoke that made the last transition.
    pub client_version: TransactionVersion,
}

/// Whether an epoch is the last one that clients are given: one more is kept for fencing them.
pub(crate) fn is_exhausted(epoch: i16) -> bool {
    epoch >= i16::MAX - 1
}

impl Transaction {
    /// Of an id that nobody has used before. Its first transition gives it an epoch.
    pub(crate) fn new(producer_id: i64, timeout_ms: i32, now_ms: i64) -> Transaction {
        Transaction {
            producer_id,
            previous_producer_id: NO_PRODUCER_ID,
            next_producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            last_producer_epoch: NO_PRODUCER_EPOCH,
            timeout_ms,
            state: TransactionState::Empty,
            partitions: Partitions::default(),
            start_ms: -1,
            last_update_ms: now_ms,
            client_version: TransactionVersion::V0,
        }
    }

    /// The producer that may use it.
    pub fn producer(&self) -> Producer {
        Producer { id: self.producer_id, epoch: self.producer_epoch }
    }

    /// Whether it has no epoch left to give out.
    pub(crate) fn is_exhausted(&self) -> bool {
        is_exhausted(self.producer_epoch)
    }

    /// Whether it is never aborted for its age.
    pub(crate) fn has_no_timeout(&self) -> bool {
        self.timeout_ms == i32::MAX
    }

    fn next(&self, state: TransactionState, now_ms: i64) -> Transaction {
        Transaction {
            previous_producer_id: self.producer_id,
            state,
            last_update_ms: now_ms,
            ..self.clone()
        }
    }

    fn initialized(&self, timeout_ms: i32, now_ms: i64) -> Transaction {
        Transaction {
            timeout_ms,
            partitions: Partitions::default(),
            start_ms: -1,
            ..self.next(TransactionState::Empty, now_ms)
        }
    }

    /// A producer is initialized: it gets the next epoch. `expected` is the epoch that it says it has (KIP-360); who asks
    /// again with the one before gets the same answer.
    ///
    /// # Errors
    /// PRODUCER_FENCED for any other epoch; UNKNOWN_SERVER_ERROR, as in Kafka, where there is no next one.
    pub(crate) fn increment_epoch(
        &self,
        timeout_ms: i32,
        expected: Option<i16>,
        now_ms: i64,
    ) -> Result<Transaction, ErrorCode> {
        if self.is_exhausted() {
            return Err(ErrorCode::UNKNOWN_SERVER_ERROR);
        }
        let bumped = self.producer_epoch + 1;
        let (producer_epoch, last_producer_epoch) = match expected {
            None => (bumped, NO_PRODUCER_EPOCH),
            Some(epoch)
                if self.producer_epoch == NO_PRODUCER_EPOCH || epoch == self.producer_epoch =>
            {
                (bumped, self.producer_epoch)
            }
            Some(epoch) if epoch == self.last_producer_epoch => {
                (self.producer_epoch, self.last_producer_epoch)
            }
            Some(_) => return Err(ErrorCode::PRODUCER_FENCED),
        };
        let initialized = self.initialized(timeout_ms, now_ms);
        Ok(Transaction { producer_epoch, last_producer_epoch, ..initialized })
    }

    /// A producer is initialized with another id, because the epochs of this one are used up.
    pub(crate) fn rotate(
        &self,
        producer_id: i64,
        timeout_ms: i32,
        is_expected: bool,
        now_ms: i64,
    ) -> Transaction {
        Transaction {
            producer_id,
            producer_epoch: 0,
            last_producer_epoch: if is_expected { self.producer_epoch } else { NO_PRODUCER_EPOCH },
            ..self.initialized(timeout_ms, now_ms)
        }
    }

    /// Partitions are added.
    pub(crate) fn add(
        &self,
        partitions: &Partitions,
        client_version: TransactionVersion,
        now_ms: i64,
    ) -> Transaction {
        let is_first = self.state != TransactionState::Ongoing;
        let mut next = self.next(TransactionState::Ongoing, now_ms);
        next.partitions.extend(partitions);
        next.client_version = client_version;
        if is_first {
            next.start_ms = now_ms;
        }
        next
    }

    /// The outcome is decided, in the epoch that there is.
    pub(crate) fn prepare(&self, commit: bool, now_ms: i64) -> Transaction {
        Transaction {
            next_producer_id: NO_PRODUCER_ID,
            client_version: TransactionVersion::V0,
            ..self.next(prepared(commit), now_ms)
        }
    }

    /// It is aborted in the epoch behind that of its producer, who is fenced by that.
    pub(crate) fn prepare_fence(&self, now_ms: i64) -> Transaction {
        Transaction {
            producer_epoch: self.producer_epoch.saturating_add(1),
            last_producer_epoch: NO_PRODUCER_EPOCH,
            ..self.prepare(false, now_ms)
        }
    }

    /// The outcome is decided, and the epoch bumped with it (KIP-890). `begins_now` is for what is aborted though nothing
    /// was added.
    pub(crate) fn prepare_and_bump(
        &self,
        commit: bool,
        client_version: TransactionVersion,
        next_producer_id: i64,
        begins_now: bool,
        now_ms: i64,
    ) -> Transaction {
        Transaction {
            // At the last one an abort goes through all the same: no producer was ever given it.
            producer_epoch: self.producer_epoch.saturating_add(1),
            last_producer_epoch: self.producer_epoch,
            next_producer_id,
            client_version,
            start_ms: if begins_now { now_ms } else { self.start_ms },
            ..self.next(prepared(commit), now_ms)
        }
    }

    /// All markers are written.
    pub(crate) fn complete(&self, now_ms: i64) -> Transaction {
        let state = match self.state {
            TransactionState::PrepareCommit => TransactionState::CompleteCommit,
            _ => TransactionState::CompleteAbort,
        };
        let after = self.after_completion();
        Transaction {
            producer_id: after.id,
            producer_epoch: after.epoch,
            next_producer_id: NO_PRODUCER_ID,
            partitions: Partitions::default(),
            ..self.next(state, now_ms)
        }
    }

    /// The producer that goes on when it is complete.
    pub(crate) fn after_completion(&self) -> Producer {
        if self.client_version.bumps_epochs() && self.next_producer_id != NO_PRODUCER_ID {
            return Producer { id: self.next_producer_id, epoch: 0 };
        }
        self.producer()
    }
}

fn prepared(commit: bool) -> TransactionState {
    if commit { TransactionState::PrepareCommit } else { TransactionState::PrepareAbort }
}
