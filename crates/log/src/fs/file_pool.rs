//! The log files held open: a bounded number, those used lately.
//!
//! A segment opens its file when it is read or written and gives it up when the pool is full and
//! the file was not used since the pool last came by (the clock algorithm). Whoever holds the
//! `Arc` of an open file keeps it, so nothing in flight is cut off. A file given up while it is
//! dirty is no loss: Linux reports a failed write-back to the next one who opens and syncs it.
//!
//! Answers on their way to slow readers hold files that the pool has given up long ago. These are
//! counted as well: with as many of them as the pool may hold, no more files are opened to be read,
//! and what is left is there for appends.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// A file of the pool.
pub(crate) trait PooledFile: Send + Sync {
    /// Closes the file if it was not used since the last call; true if it is closed now.
    fn close_unless_used(&self) -> bool;
}

/// Files that readers may hold however small the pool is.
const READ_MIN: usize = 16;

pub(crate) struct FilePool {
    capacity: usize,
    /// Log files that are open, whoever holds them.
    held: Arc<AtomicUsize>,
    ring: Mutex<VecDeque<Weak<dyn PooledFile>>>,
}

impl FilePool {
    pub(crate) fn new(capacity: usize) -> FilePool {
        let ring = Mutex::new(VecDeque::new());
        FilePool { capacity: capacity.max(1), held: Arc::default(), ring }
    }

    /// Counts a log file for as long as the value lives.
    pub(crate) fn hold(&self) -> Held {
        self.held.fetch_add(1, Ordering::Relaxed);
        Held(Arc::clone(&self.held))
    }

    /// Whether another file may be opened to be read.
    pub(crate) fn has_room_to_read(&self) -> bool {
        self.held.load(Ordering::Relaxed) < self.capacity + self.capacity.max(READ_MIN)
    }

    /// Takes in a file that was just opened; others may have to be closed.
    pub(crate) fn opened(&self, file: Weak<dyn PooledFile>) {
        let mut ring = self.ring.lock();
        ring.push_back(file);
        // Every round clears a mark or removes an entry, so two rounds are enough.
        let mut rounds = ring.len() * 2;
        while ring.len() > self.capacity && rounds > 0 {
            rounds -= 1;
            let Some(oldest) = ring.pop_front() else { break };
            if let Some(file) = oldest.upgrade()
                && !file.close_unless_used()
            {
                ring.push_back(oldest);
            }
        }
    }

    /// Closes every file not used since the last call.
    pub(crate) fn close_idle(&self) {
        self.ring
            .lock()
            .retain(|entry| entry.upgrade().is_some_and(|file| !file.close_unless_used()));
    }

    /// Log files that are open, whoever holds them.
    pub(crate) fn held_files(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Files held open by segments.
    pub(crate) fn open_files(&self) -> usize {
        self.ring.lock().len()
    }
}

/// An open log file, as the pool counts it.
#[derive(Debug)]
pub(crate) struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
