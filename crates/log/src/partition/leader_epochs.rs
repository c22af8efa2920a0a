//! The leader epochs of a log, and the right to write their file.
//!
//! Invariant: the file is written by one thread at a time ([`EpochsFile`]), so an older list never
//! replaces a newer one. The list may change while the file is written.
//!
//! Not here: the list itself and its bytes (`format`), and when the file is written (`flush`).

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::format::epochs::Epochs;

/// The part of a log that knows its leader epochs. The list's lock is a leaf.
#[derive(Debug)]
pub(crate) struct LeaderEpochs {
    list: RwLock<Epochs>,
    /// Held while the file is written; where both are needed, taken before the writer's lock.
    file: Mutex<()>,
}

/// What has to be done with the file.
pub(crate) enum FileChange {
    Nothing,
    /// It is to hold these entries.
    Write(Vec<(i32, i64)>),
    /// It holds the right entries and is to be synced.
    Sync,
}

/// The right to write the file.
pub(crate) struct EpochsFile<'a> {
    epochs: &'a LeaderEpochs,
    _file: MutexGuard<'a, ()>,
}

impl LeaderEpochs {
    pub(crate) fn new(list: Epochs) -> LeaderEpochs {
        LeaderEpochs { list: RwLock::new(list), file: Mutex::new(()) }
    }

    pub(crate) fn latest(&self) -> Option<(i32, i64)> {
        self.list.read().latest()
    }

    pub(crate) fn earliest(&self) -> Option<(i32, i64)> {
        self.list.read().earliest()
    }

    pub(crate) fn entries(&self) -> Vec<(i32, i64)> {
        self.list.read().entries().to_vec()
    }

    pub(crate) fn epoch_of(&self, offset: i64) -> Option<i32> {
        self.list.read().epoch_of(offset)
    }

    /// See [`Epochs::end_offset_for`].
    pub(crate) fn end_offset_for(&self, epoch: i32, log_end_offset: i64) -> (i32, i64) {
        self.list.read().end_offset_for(epoch, log_end_offset)
    }

    /// Notes that `epoch` begins at `offset`; gives the latest epoch then.
    pub(crate) fn assign(&self, epoch: i32, offset: i64) -> i32 {
        let mut list = self.list.write();
        list.assign(epoch, offset);
        list.latest().map_or(-1, |(epoch, _)| epoch)
    }

    pub(crate) fn truncate_from_end(&self, end_offset: i64) {
        self.list.write().truncate_from_end(end_offset);
    }

    pub(crate) fn truncate_from_start(&self, start_offset: i64) {
        self.list.write().truncate_from_start(start_offset);
    }

    pub(crate) fn clear(&self) {
        self.list.write().clear();
    }

    /// Takes the list of another log of the same batches; the file follows.
    pub(crate) fn take(&self, other: &LeaderEpochs) {
        self.list.write().take(&other.list.read());
    }

    /// Whether the file says all that matters of a log that ends at `end_offset`.
    pub(crate) fn file_covers(&self, end_offset: i64) -> bool {
        self.list.read().file_covers(end_offset)
    }

    /// Whether the file may not be on the disk as it was written or found.
    pub(crate) fn is_file_unsynced(&self) -> bool {
        self.list.read().is_unsynced()
    }

    /// The right to write the file, once no other thread has it.
    pub(crate) fn lock_file(&self) -> EpochsFile<'_> {
        EpochsFile { epochs: self, _file: self.file.lock() }
    }
}

impl EpochsFile<'_> {
    /// What has to be done with the file.
    pub(crate) fn change(&self) -> FileChange {
        let list = self.epochs.list.read();
        if list.is_dirty() {
            FileChange::Write(list.entries().to_vec())
        } else if list.needs_sync() {
            FileChange::Sync
        } else {
            FileChange::Nothing
        }
    }

    /// The file holds these entries, and is synced.
    pub(crate) fn written(&self, entries: Vec<(i32, i64)>) {
        self.epochs.list.write().written(entries, true);
    }

    /// The file was synced.
    pub(crate) fn synced(&self) {
        self.epochs.list.write().synced();
    }

    /// The file is that of `other` from here on.
    pub(crate) fn move_to(&self, other: &LeaderEpochs) {
        self.epochs.list.write().move_to(&other.list.read());
    }
}
