//! How a producer sends, and what it counts.

use std::sync::Arc;

use thalweg_records::CompressionSpec;

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
