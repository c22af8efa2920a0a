//! What a runner wants to be written, and what can go wrong with it.

use std::fmt;

/// A producer whose transaction something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Its id.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
}

/// The end of a producer's transaction, as the transaction's coordinator wants it to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionEnd {
    /// Whose transaction ends, and the epoch that the marker has.
    pub producer: Producer,
    /// Epoch of the transaction's coordinator.
    pub coordinator_epoch: i32,
    /// `transaction.version` of the sender; from 2 on the marker's epoch is one above the transaction's.
    pub transaction_version: i16,
    /// Whether what the transaction wrote counts.
    pub commit: bool,
}

/// What records of one outcome are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendKind {
    /// The coordinator's own.
    Own {
        /// Whether they must stand in one batch. Handlers say no when each record is right by
        /// itself (expiry), so that any number of them fits.
        atomic: bool,
    },
    /// One batch of a producer's transaction.
    Transactional(Producer),
    /// A control batch with a marker, which has one offset. There are no records.
    Marker(TransactionEnd),
}

impl AppendKind {
    /// Whether the log may refuse it for what a producer or another coordinator did.
    pub(crate) fn is_of_producer(self) -> bool {
        !matches!(self, AppendKind::Own { .. })
    }

    /// The producer of its records.
    pub(crate) fn producer_id(self) -> Option<i64> {
        match self {
            AppendKind::Transactional(producer) => Some(producer.id),
            AppendKind::Own { .. } | AppendKind::Marker(_) => None,
        }
    }
}

/// What to write: records as one batch, or several if they are not atomic, or a marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Append<R, P = ()> {
    /// To be given back with the result.
    pub id: u64,
    /// Where the first record must come to stand.
    pub base_offset: i64,
    /// What it is.
    pub kind: AppendKind,
    /// The records, in order; empty only for a marker.
    pub records: Vec<R>,
    /// What was handed in with the request that a transactional batch comes from
    /// ([`Runner::submit_with_proof`](crate::Runner::submit_with_proof)).
    pub proof: Option<P>,
    /// The records' timestamp: wall time in milliseconds.
    pub timestamp_ms: i64,
}

impl<R, P> Append<R, P> {
    /// Whether all of it must stand in one batch.
    pub fn is_atomic(&self) -> bool {
        self.kind != AppendKind::Own { atomic: false }
    }

    /// How many offsets it takes.
    pub fn offsets(&self) -> i64 {
        match self.kind {
            AppendKind::Marker(_) => 1,
            _ => i64::try_from(self.records.len()).unwrap_or(i64::MAX),
        }
    }
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
