//! The log files held open: a bounded number, those used lately.
//!
//! A segment opens its file when it is read or written and gives it up when the pool is full and
//! the file was not used since the pool last came by (the clock algorithm). Whoever holds the
//! `Arc` of an open file keeps it, so nothing in flight is cut off. A file given up while it is
//! dirty is no loss: Linux reports a failed write-back to the next one who opens and syncs it.

use std::collections::VecDeque;
use std::sync::Weak;

use parking_lot::Mutex;

use crate::segment::Segment;

pub(crate) struct FilePool {
    capacity: usize,
    ring: Mutex<VecDeque<Weak<Segment>>>,
}

impl FilePool {
    pub(crate) fn new(capacity: usize) -> FilePool {
        FilePool { capacity: capacity.max(1), ring: Mutex::new(VecDeque::new()) }
    }

    /// Takes in a segment that has just opened its file; others may have to close theirs.
    pub(crate) fn opened(&self, segment: Weak<Segment>) {
        let mut ring = self.ring.lock();
        ring.push_back(segment);
        // Every round clears a mark or removes an entry, so two rounds are enough.
        let mut rounds = ring.len() * 2;
        while ring.len() > self.capacity && rounds > 0 {
            rounds -= 1;
            let Some(oldest) = ring.pop_front() else { break };
            if let Some(segment) = oldest.upgrade()
                && !segment.close_unless_used()
            {
                ring.push_back(oldest);
            }
        }
    }

    /// Closes every file not used since the last call.
    pub(crate) fn close_idle(&self) {
        self.ring
            .lock()
            .retain(|entry| entry.upgrade().is_some_and(|segment| !segment.close_unless_used()));
    }

    /// Files held open by segments.
    pub(crate) fn open_files(&self) -> usize {
        self.ring.lock().len()
    }
}
