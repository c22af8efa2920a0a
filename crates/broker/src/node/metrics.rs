//! Counters that requests bump; what `/metrics` shows is made from them when it is asked for.

use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_wire::ApiKey;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicU64);

impl Gauge {
    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Highest API number that is counted by itself.
const APIS_MAX: usize = 96;

/// Everything that is counted in the broker.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) connections_opened: Counter,
    pub(crate) connections_closed: Counter,
    pub(crate) connections_refused_input: Counter,
    pub(crate) panics: Counter,
    pub(crate) invalid_batches: Counter,
    pub(crate) bytes_in: Counter,
    pub(crate) messages_in: Counter,
    pub(crate) bytes_out: Counter,
    pub(crate) replication_bytes_in: Counter,
    pub(crate) replication_bytes_out: Counter,
    pub(crate) fetches_parked: Counter,
    /// Fetches that found too little until their time was over.
    pub(crate) consumer_fetches_expired: Counter,
    pub(crate) follower_fetches_expired: Counter,
    pub(crate) produces_parked: Counter,
    /// Requests that came for a partition which this broker followed in sync.
    pub(crate) produces_early: Counter,
    /// Transaction markers that were appended here.
    pub(crate) transaction_markers: Counter,
    /// Answers that named leaders.
    pub(crate) leader_hints: Counter,
    /// Heartbeats whose answers are kept back now, and those that were answered because there was
    /// something to say.
    pub(crate) heartbeats_held: Gauge,
    pub(crate) heartbeats_pushed: Counter,
    requests: [Counter; APIS_MAX],
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        Metrics {
            connections_opened: Counter::default(),
            connections_closed: Counter::default(),
            connections_refused_input: Counter::default(),
            panics: Counter::default(),
            invalid_batches: Counter::default(),
            bytes_in: Counter::default(),
            messages_in: Counter::default(),
            bytes_out: Counter::default(),
            replication_bytes_in: Counter::default(),
            replication_bytes_out: Counter::default(),
            fetches_parked: Counter::default(),
            consumer_fetches_expired: Counter::default(),
            follower_fetches_expired: Counter::default(),
            produces_parked: Counter::default(),
            produces_early: Counter::default(),
            transaction_markers: Counter::default(),
            leader_hints: Counter::default(),
            heartbeats_held: Gauge::default(),
            heartbeats_pushed: Counter::default(),
            requests: std::array::from_fn(|_| Counter::default()),
        }
    }

    #[inline]
    pub(crate) fn request(&self, key: ApiKey) {
        if let Some(counter) = usize::try_from(key.0).ok().and_then(|at| self.requests.get(at)) {
            counter.add(1);
        }
    }

    #[inline]
    pub(crate) fn appended(&self, bytes: u64, records: i32) {
        self.bytes_in.add(bytes);
        self.messages_in.add(u64::try_from(records).unwrap_or(0));
    }

    /// Requests by API, of those that came at all.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (ApiKey, u64)> + '_ {
        self.requests
            .iter()
            .enumerate()
            .map(|(key, counter)| (ApiKey(key as i16), counter.get()))
            .filter(|(_, count)| *count > 0)
    }
}
