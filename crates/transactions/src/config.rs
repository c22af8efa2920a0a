//! Settings of the transaction coordinator, and where it gets producer ids from.

use std::fmt;
use std::sync::Arc;

use thalweg_wire::ErrorCode;

use crate::TransactionVersion;

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionConfig {
    /// The finalized `transaction.version`.
    pub version: TransactionVersion,
    /// `transaction.max.timeout.ms`.
    pub max_timeout_ms: i32,
    /// `transactional.id.expiration.ms`.
    pub id_expiration_ms: i64,
    /// `transaction.two.phase.commit.enable`.
    pub two_phase_commit: bool,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
    pub abort_interval_ms: u64,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub expire_interval_ms: u64,
    /// How long a request waits for a transition of its transactional id that is under way, before it is answered
    /// CONCURRENT_TRANSACTIONS; 0, as in Kafka, answers at once.
    pub wait_ms: u64,
}

impl Default for TransactionConfig {
    fn default() -> TransactionConfig {
        TransactionConfig {
            version: TransactionVersion::V2,
            max_timeout_ms: 900_000,
            id_expiration_ms: 604_800_000,
            two_phase_commit: false,
            abort_interval_ms: 10_000,
            expire_interval_ms: 3_600_000,
            wait_ms: 1_000,
        }
    }
}

/// Gives out producer ids. It must not wait.
pub trait ProducerIds: Send + Sync {
    /// The next one, which nobody else gets.
    ///
    /// # Errors
    /// COORDINATOR_LOAD_IN_PROGRESS where none is here yet.
    fn next(&self) -> Result<i64, ErrorCode>;
}

/// A shared [`ProducerIds`].
#[derive(Clone)]
pub struct ProducerIdSource(pub Arc<dyn ProducerIds>);

impl ProducerIdSource {
    pub(crate) fn next(&self) -> Result<i64, ErrorCode> {
        self.0.next()
    }
}

impl fmt::Debug for ProducerIdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProducerIdSource").finish_non_exhaustive()
    }
}
