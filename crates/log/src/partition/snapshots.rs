//! The producer snapshots of a log that are on disk.
//!
//! Invariant: offsets ascend, each once. An offset stands here as long as its file may be there.
//!
//! Not here: the files. What a snapshot holds is in `format::producer_snapshot`.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// The part of a log that knows its snapshots. Its lock is a leaf.
#[derive(Debug)]
pub(crate) struct Snapshots {
    offsets: Mutex<Vec<i64>>,
    /// The newest one was not synced, as far as is known.
    unsynced: AtomicBool,
}

impl Snapshots {
    /// The snapshots of a log that was found on disk.
    pub(crate) fn found(offsets: Vec<i64>, unsynced: bool) -> Snapshots {
        Snapshots { offsets: Mutex::new(offsets), unsynced: AtomicBool::new(unsynced) }
    }

    pub(crate) fn latest(&self) -> Option<i64> {
        self.offsets.lock().last().copied()
    }

    pub(crate) fn all(&self) -> Vec<i64> {
        self.offsets.lock().clone()
    }

    /// Notes a snapshot that was written and synced.
    pub(crate) fn add(&self, offset: i64) {
        note_snapshot(&mut self.offsets.lock(), offset);
    }

    /// Notes a snapshot that was written and not synced.
    pub(crate) fn add_unsynced(&self, offset: i64) {
        self.unsynced.store(true, Ordering::Release);
        self.add(offset);
    }

    /// Forgets a snapshot; says whether it was known.
    pub(crate) fn remove(&self, offset: i64) -> bool {
        let mut offsets = self.offsets.lock();
        let before = offsets.len();
        offsets.retain(|&at| at != offset);
        before != offsets.len()
    }

    /// Forgets all snapshots; gives their offsets.
    pub(crate) fn take(&self) -> Vec<i64> {
        std::mem::take(&mut *self.offsets.lock())
    }

    /// The snapshots on disk are these.
    pub(crate) fn replace(&self, offsets: Vec<i64>) {
        *self.offsets.lock() = offsets;
    }

    /// The log has the files of `other`, which are synced.
    pub(crate) fn move_to(&self, other: &Snapshots) {
        self.replace(other.all());
        self.set_synced();
    }

    pub(crate) fn is_unsynced(&self) -> bool {
        self.unsynced.load(Ordering::Acquire)
    }

    pub(crate) fn set_synced(&self) {
        self.unsynced.store(false, Ordering::Release);
    }
}

/// Notes an offset in a list that ascends.
pub(crate) fn note_snapshot(snapshots: &mut Vec<i64>, offset: i64) {
    if let Err(at) = snapshots.binary_search(&offset) {
        snapshots.insert(at, offset);
    }
}
