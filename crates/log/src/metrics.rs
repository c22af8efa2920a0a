//! What the logs count. Plain atomics; whoever exports them gives them names.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Default, Debug)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The count now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
}

/// Counters of all logs of one manager.
#[derive(Default, Debug)]
pub struct Metrics {
    /// Appends that were written.
    pub appends: Counter,
    /// Their bytes.
    pub append_bytes: Counter,
    /// Appends that found the partition busy and were written by another's thread.
    pub coalesced_appends: Counter,
    /// System calls that wrote batches.
    pub log_writes: Counter,
    /// Appends that were duplicates.
    pub duplicates: Counter,
    /// Flushes (fsync) of segments.
    pub flushes: Counter,
    /// Nanoseconds spent in them.
    pub flush_nanos: Counter,
    /// New segments.
    pub rolls: Counter,
    /// Segments removed by retention, DeleteRecords or truncation.
    pub segments_deleted: Counter,
    /// Index files that were missing or damaged and built again.
    pub indexes_rebuilt: Counter,
    /// Bytes looked at by recovery.
    pub recovered_bytes: Counter,
    /// Bytes that recovery cut off.
    pub truncated_bytes: Counter,
    /// Log files opened.
    pub files_opened: Counter,
    /// Opens that failed because the system had no descriptor or no memory for them.
    pub opens_exhausted: Counter,
    /// How often appends to a directory began to stall.
    pub append_stalls: Counter,
    /// Appends of others that panicked, on the thread that wrote them.
    pub panics: Counter,
}
