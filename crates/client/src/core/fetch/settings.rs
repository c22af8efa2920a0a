//! How a consumer fetches.

/// Where to begin when there is no offset, or one that the log does not have
/// (`auto.offset.reset`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[non_exhaustive]
pub enum OffsetReset {
    /// At the first record.
    Earliest,
    /// Behind the last record; Kafka's default.
    #[default]
    Latest,
    /// Nowhere: it is an error.
    None,
}

/// What of transactions is read (`isolation.level`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum IsolationLevel {
    /// Everything; Kafka's default.
    #[default]
    ReadUncommitted,
    /// What was committed, up to the last stable offset.
    ReadCommitted,
}

/// How what was fetched is handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadMode {
    /// By [`Fetcher::take`](super::Fetcher::take), whose caller hears of a failed partition again and again.
    #[default]
    Polls,
    /// By [`Fetcher::take`](super::Fetcher::take), and a failure is reported once.
    Stream,
    /// By `Fetcher::take_from`, each partition on its own, and likewise.
    Partitions,
}

/// How to fetch.
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// Bytes that an answer waits for (`fetch.min.bytes`).
    pub min_bytes: i32,
    /// Milliseconds that it waits at most (`fetch.max.wait.ms`).
    pub max_wait_ms: i32,
    /// Bytes of one answer (`fetch.max.bytes`); a first batch that is larger comes whole.
    pub max_bytes: i32,
    /// Bytes of one partition in one answer (`max.partition.fetch.bytes`), likewise.
    pub partition_max_bytes: i32,
    /// What of transactions is read.
    pub isolation: IsolationLevel,
    /// Where to begin without an offset.
    pub reset: OffsetReset,
    /// This client's rack, for reading from the nearest replica (KIP-392); empty for none.
    pub rack: String,
    /// Whether batches' checksums are checked (`check.crcs`).
    pub check_crcs: bool,
    /// Most bytes that one batch may decompress to; a larger one is an error.
    pub batch_max: u64,
    /// Milliseconds until a partition is asked for again after a first error (`retry.backoff.ms`).
    pub retry_backoff_ms: u64,
    /// The longest such pause, after errors in a row (`retry.backoff.max.ms`).
    pub retry_backoff_max_ms: u64,
    /// What the chance in these pauses begins with.
    pub seed: u64,
    /// Milliseconds for which a read replica that a leader named is used (`metadata.max.age.ms`).
    pub replica_lease_ms: u64,
}

impl Default for FetchSettings {
    fn default() -> FetchSettings {
        FetchSettings {
            min_bytes: 1,
            max_wait_ms: 500,
            max_bytes: 50 << 20,
            partition_max_bytes: 1 << 20,
            isolation: IsolationLevel::default(),
            reset: OffsetReset::default(),
            rack: String::new(),
            check_crcs: true,
            batch_max: 1 << 30,
            retry_backoff_ms: 100,
            retry_backoff_max_ms: 1_000,
            seed: 0,
            replica_lease_ms: 300_000,
        }
    }
}
