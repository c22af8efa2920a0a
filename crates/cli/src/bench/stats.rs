//! What a run counts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Longest latency that is told apart, in microseconds.
const LATENCY_MAX_US: u64 = 600_000_000;

/// What one broker did in a run.
pub struct BrokerStats {
    /// Requests answered.
    pub requests: u64,
    /// Records acknowledged or received.
    pub records: u64,
    /// Bytes of their values, before compression.
    pub bytes: u64,
    /// By name.
    pub errors: BTreeMap<String, u64>,
    /// In microseconds.
    pub latency: Histogram<u64>,
    /// In microseconds.
    pub end_to_end: Histogram<u64>,
}

impl Default for BrokerStats {
    fn default() -> BrokerStats {
        BrokerStats {
            requests: 0,
            records: 0,
            bytes: 0,
            errors: BTreeMap::new(),
            latency: histogram(),
            end_to_end: histogram(),
        }
    }
}

impl BrokerStats {
    /// Adds the counts of another.
    fn merge(&mut self, other: &BrokerStats) {
        self.requests += other.requests;
        self.records += other.records;
        self.bytes += other.bytes;
        for (name, count) in &other.errors {
            *self.errors.entry(name.clone()).or_default() += count;
        }
        self.latency += &other.latency;
        self.end_to_end += &other.end_to_end;
    }
}

/// Counts of one connection, of a thread, of the run.
pub struct Stats {
    /// Records acknowledged or received.
    pub records: u64,
    /// Bytes of their values, before compression.
    pub bytes: u64,
    /// Bytes of the requests or responses that carried them.
    pub wire_bytes: u64,
    /// Requests answered.
    pub requests: u64,
    /// Batches acknowledged or received.
    pub batches: u64,
    /// Batches that a response cut off.
    pub partial_batches: u64,
    /// By name: Kafka's for its codes.
    pub errors: BTreeMap<String, u64>,
    /// In microseconds.
    pub latency: Histogram<u64>,
    /// From a record's intended sending to its arrival at a consumer, in microseconds.
    pub end_to_end: Histogram<u64>,
    /// When the last counted thing happened.
    pub last: Option<Instant>,
    /// CPU time of the thread.
    pub cpu: Duration,
    /// The same by broker.
    pub by_broker: BTreeMap<i32, BrokerStats>,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            records: 0,
            bytes: 0,
            wire_bytes: 0,
            requests: 0,
            batches: 0,
            partial_batches: 0,
            errors: BTreeMap::new(),
            latency: histogram(),
            end_to_end: histogram(),
            last: None,
            cpu: Duration::ZERO,
            by_broker: BTreeMap::new(),
        }
    }
}

/// For times in microseconds.
pub fn histogram() -> Histogram<u64> {
    // The bounds are constants within the library's own.
    Histogram::new_with_bounds(1, LATENCY_MAX_US, 3).expect("bounds of a histogram")
}

/// Microseconds for a histogram.
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).clamp(1, LATENCY_MAX_US)
}

impl Stats {
    /// Adds one to an error.
    pub fn error(&mut self, name: impl Into<String>) {
        *self.errors.entry(name.into()).or_default() += 1;
    }

    /// All of this is what one broker did.
    pub fn of_broker(mut self, broker: i32) -> Stats {
        let all = BrokerStats {
            requests: self.requests,
            records: self.records,
            bytes: self.bytes,
            errors: self.errors.clone(),
            latency: self.latency.clone(),
            end_to_end: self.end_to_end.clone(),
        };
        self.by_broker = BTreeMap::from([(broker, all)]);
        self
    }

    /// Errors of all kinds.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Stats) {
        self.records += other.records;
        self.bytes += other.bytes;
        self.wire_bytes += other.wire_bytes;
        self.requests += other.requests;
        self.batches += other.batches;
        self.partial_batches += other.partial_batches;
        for (name, count) in &other.errors {
            *self.errors.entry(name.clone()).or_default() += count;
        }
        self.latency += &other.latency;
        self.end_to_end += &other.end_to_end;
        self.last = self.last.max(other.last);
        self.cpu += other.cpu;
        for (broker, stats) in &other.by_broker {
            self.by_broker.entry(*broker).or_default().merge(stats);
        }
    }
}

/// What all threads of a run see.
#[derive(Default)]
pub struct Shared {
    /// Records so far, warm-up included.
    pub records: AtomicU64,
    /// Payload bytes so far (wire bytes where the payload is not known).
    pub bytes: AtomicU64,
    /// Errors so far.
    pub errors: AtomicU64,
    /// Records that may still be sent, where that is limited.
    pub quota: Option<AtomicU64>,
    stop: AtomicBool,
    interrupted: AtomicBool,
}

impl Shared {
    /// For a run of at most so many records.
    pub fn new(records: Option<u64>) -> Shared {
        Shared { quota: records.map(AtomicU64::new), ..Shared::default() }
    }

    /// Ends the run.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the run because the user said so.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Whether the run is over.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the user ended it.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Takes leave to send `records`; false when the run has had all it may.
    pub fn claim(&self, records: u64) -> bool {
        let Some(quota) = &self.quota else { return true };
        let take = |left: u64| (left > 0).then(|| left.saturating_sub(records));
        quota.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Counts progress.
    pub fn count(&self, records: u64, bytes: u64, errors: u64) {
        self.records.fetch_add(records, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if errors > 0 {
            self.errors.fetch_add(errors, Ordering::Relaxed);
        }
    }
}
