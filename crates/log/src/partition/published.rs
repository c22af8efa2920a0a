//! What a log says of itself without the writer's lock: offsets, open transactions, producers.
//!
//! Invariants:
//! - A thread with the writer's lock publishes what it changed before it gives the lock back. Only the
//!   high watermark is raised without the lock.
//! - The last stable offset is never above the high watermark, and not above the beginning of a
//!   transaction that is open or undecided.
//!
//! Not here: where the log ends (`segments`).

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::partition::producers::ProducerState;

/// The part of a log that can be read without its locks.
#[derive(Debug)]
pub(crate) struct Published {
    log_start_offset: AtomicI64,
    high_watermark: AtomicI64,
    /// `i64::MAX` while no transaction is open or undecided.
    first_unstable_offset: AtomicI64,
    has_transactions: AtomicBool,
    /// The last batch of the producer whose open transaction began first has it; -1 while none is open.
    open_txn_timestamp: AtomicI64,
    /// How many producers the log remembers.
    producer_count: AtomicUsize,
}

fn open_txn_timestamp(producers: &ProducerState) -> i64 {
    producers.oldest_open().map_or(-1, |(_, _, producer)| producer.last_timestamp)
}

impl Published {
    pub(crate) fn new(
        log_start_offset: i64,
        high_watermark: i64,
        producers: &ProducerState,
    ) -> Published {
        let published = Published {
            log_start_offset: AtomicI64::new(log_start_offset),
            high_watermark: AtomicI64::new(high_watermark),
            first_unstable_offset: AtomicI64::new(i64::MAX),
            has_transactions: AtomicBool::new(false),
            open_txn_timestamp: AtomicI64::new(-1),
            producer_count: AtomicUsize::new(0),
        };
        published.publish_transactions(producers);
        published.publish_producers(producers);
        published
    }

    #[inline]
    pub(crate) fn log_start_offset(&self) -> i64 {
        self.log_start_offset.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn high_watermark(&self) -> i64 {
        self.high_watermark.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn first_unstable_offset(&self) -> i64 {
        self.first_unstable_offset.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn has_transactions(&self) -> bool {
        self.has_transactions.load(Ordering::Acquire)
    }

    pub(crate) fn open_txn_timestamp(&self) -> i64 {
        self.open_txn_timestamp.load(Ordering::Acquire)
    }

    pub(crate) fn producer_count(&self) -> usize {
        self.producer_count.load(Ordering::Relaxed)
    }

    /// Raises the high watermark, never lowers it; gives what it was.
    #[inline]
    pub(crate) fn raise_high_watermark(&self, offset: i64) -> i64 {
        self.high_watermark.fetch_max(offset, Ordering::AcqRel)
    }

    pub(crate) fn set_high_watermark(&self, offset: i64) {
        self.high_watermark.store(offset, Ordering::Release);
    }

    pub(crate) fn set_log_start_offset(&self, offset: i64) {
        self.log_start_offset.store(offset, Ordering::Release);
    }

    /// Publishes the transactions of these producers.
    pub(crate) fn publish_transactions(&self, producers: &ProducerState) {
        let unstable = producers
            .first_unstable_offset()
            .map_or(i64::MAX, |offset| offset.max(self.log_start_offset()));
        self.has_transactions.store(producers.has_transactions(), Ordering::Release);
        self.first_unstable_offset.store(unstable, Ordering::Release);
        let timestamp = open_txn_timestamp(producers);
        self.open_txn_timestamp.store(timestamp, Ordering::Release);
    }

    /// Publishes how many producers there are.
    #[inline]
    pub(crate) fn publish_producers(&self, producers: &ProducerState) {
        self.producer_count.store(producers.len(), Ordering::Relaxed);
    }
}

/// Receives that readers of committed records may have more, because of a high watermark that rose
/// while an append was being written. Called where the log's locks may be held: it may take none.
pub trait DecidedListener: Send + Sync {
    /// The last stable offset may have risen.
    fn transactions_decided(&self);
}

/// Transactions that ended below the high watermark and are still called open.
///
/// A rise of the high watermark marks them. The next thread that has the writer's lock decides them.
#[derive(Default)]
pub(crate) struct Undecided {
    is_marked: AtomicBool,
    listener: Mutex<Option<Weak<dyn DecidedListener>>>,
}

impl Undecided {
    pub(crate) fn set_listener(&self, listener: Weak<dyn DecidedListener>) {
        *self.listener.lock() = Some(listener);
    }

    /// The high watermark has risen, and the transactions below it have not been looked at.
    pub(crate) fn mark(&self) {
        self.is_marked.store(true, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        self.is_marked.load(Ordering::SeqCst)
    }

    /// Takes the mark; says whether there was one.
    pub(crate) fn take(&self) -> bool {
        self.is_marked.swap(false, Ordering::SeqCst)
    }

    /// Calls the listener, for transactions that were decided after the high watermark rose: readers that it
    /// woke have seen nothing.
    pub(crate) fn notify(&self) {
        let listener = self.listener.lock().as_ref().and_then(Weak::upgrade);
        if let Some(listener) = listener {
            listener.transactions_decided();
        }
    }
}
