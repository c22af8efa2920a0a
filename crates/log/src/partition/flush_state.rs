//! How far a log is on the disk, and which flushes are asked for.
//!
//! Invariants:
//! - Everything before the recovery point is on the disk. Only a flush that succeeded raises it.
//! - A request is taken by one flush, and comes back if that flush fails.
//!
//! Not here: the flush itself (`flush`).

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// No flush is asked for.
const NO_REQUEST: i64 = -1;

/// The part of a log that says what is flushed.
#[derive(Debug)]
pub(crate) struct FlushState {
    recovery_point: AtomicI64,
    last_flush_ms: AtomicI64,
    /// Segments below this offset are closed and wait for their flush.
    requested: AtomicI64,
    /// `partition.metadata` was written and not synced, as far as is known.
    metadata_unsynced: AtomicBool,
}

impl FlushState {
    pub(crate) fn new(recovery_point: i64, now_ms: i64, metadata_unsynced: bool) -> FlushState {
        FlushState {
            recovery_point: AtomicI64::new(recovery_point),
            last_flush_ms: AtomicI64::new(now_ms),
            requested: AtomicI64::new(NO_REQUEST),
            metadata_unsynced: AtomicBool::new(metadata_unsynced),
        }
    }

    /// Everything before it is on the disk.
    #[inline]
    pub(crate) fn recovery_point(&self) -> i64 {
        self.recovery_point.load(Ordering::Acquire)
    }

    /// When the last flush was, in milliseconds since 1970.
    pub(crate) fn last_flush_ms(&self) -> i64 {
        self.last_flush_ms.load(Ordering::Acquire)
    }

    /// A flush has reached `offset`.
    pub(crate) fn reached(&self, offset: i64) {
        self.recovery_point.fetch_max(offset, Ordering::AcqRel);
    }

    /// Notes when a flush was.
    pub(crate) fn flushed_at(&self, now_ms: i64) {
        self.last_flush_ms.store(now_ms, Ordering::Release);
    }

    /// The log is cut off at `offset`. Gives the recovery point before the cut.
    pub(crate) fn cut(&self, offset: i64) -> i64 {
        let before = self.recovery_point.fetch_min(offset, Ordering::AcqRel);
        self.requested.fetch_min(offset, Ordering::AcqRel);
        before
    }

    /// The log is empty and begins at `offset`.
    pub(crate) fn begin_at(&self, offset: i64) {
        self.recovery_point.store(offset, Ordering::Release);
    }

    /// The log has other files, all of them flushed up to `end`.
    pub(crate) fn moved(&self, end: i64, now_ms: i64) {
        self.metadata_unsynced.store(false, Ordering::Release);
        self.recovery_point.store(end, Ordering::Release);
        self.requested.store(NO_REQUEST, Ordering::Release);
        self.last_flush_ms.store(now_ms, Ordering::Release);
    }

    /// Asks for a flush of the segments below `upto`; true if an earlier request has not been taken.
    pub(crate) fn request(&self, upto: i64) -> bool {
        self.requested.fetch_max(upto, Ordering::AcqRel) >= 0
    }

    /// Takes what is asked for; it is asked for again unless the request is [`Request::done`].
    pub(crate) fn take_request(&self) -> Request<'_> {
        Request { state: self, upto: self.requested.swap(NO_REQUEST, Ordering::AcqRel) }
    }

    pub(crate) fn is_metadata_unsynced(&self) -> bool {
        self.metadata_unsynced.load(Ordering::Acquire)
    }

    pub(crate) fn set_metadata_unsynced(&self, is_unsynced: bool) {
        self.metadata_unsynced.store(is_unsynced, Ordering::Release);
    }
}

/// A flush that was asked for; asked for again if the flush fails or panics.
pub(crate) struct Request<'a> {
    state: &'a FlushState,
    upto: i64,
}

impl Request<'_> {
    /// Segments below this offset; negative if no flush is asked for.
    pub(crate) fn upto(&self) -> i64 {
        self.upto
    }

    pub(crate) fn done(mut self) {
        self.upto = NO_REQUEST;
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.state.requested.fetch_max(self.upto, Ordering::AcqRel);
    }
}
