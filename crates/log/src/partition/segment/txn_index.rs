//! The index of aborted transactions of a segment; its file exists only if there are any.

use std::io;
use std::sync::atomic::Ordering;

use super::Segment;
use crate::format::txn_index::{AbortedTxn, ENTRY_LEN, append_entry, for_each};
use crate::fs::disk::{Mode, OpenFile};
use crate::fs::names;
use crate::fs::wait::Wait;

impl Segment {
    fn open_txn_index(&self, mode: Mode, wait: Wait) -> io::Result<Option<OpenFile>> {
        if !self.has_txn_index() {
            return Ok(None);
        }
        match self.open_file(names::TXN_INDEX, mode, wait) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether there is an index.
    pub(crate) fn has_txn_index(&self) -> bool {
        self.has_txn_index.load(Ordering::Acquire)
    }

    /// Notes whether there is an index, of a segment that was found on disk.
    pub(crate) fn found_txn_index(&self, is_there: bool) {
        self.has_txn_index.store(is_there, Ordering::Relaxed);
    }

    /// Opens the index for [`append_entry`]; makes it if there is none.
    pub(crate) fn create_txn_index(&self) -> io::Result<OpenFile> {
        let file = self.open_file(names::TXN_INDEX, Mode::Create, Wait::Allowed)?;
        if !self.has_txn_index.swap(true, Ordering::AcqRel) {
            self.note_new_file();
        }
        Ok(file)
    }

    /// Adds a transaction that was aborted in this segment.
    pub(crate) fn append_aborted(&self, txn: &AbortedTxn) -> io::Result<()> {
        append_entry(&self.create_txn_index()?, txn)
    }

    /// Visits the entries as [`for_each`] does.
    fn for_each_aborted(
        &self,
        wait: Wait,
        visit: impl FnMut(u64, AbortedTxn) -> bool,
    ) -> io::Result<()> {
        let Some(file) = self.open_txn_index(Mode::Read, wait)? else { return Ok(()) };
        for_each(&file, wait, visit)
    }

    /// Aborted transactions that overlap `from..upto`; true when later segments have none.
    pub(crate) fn collect_aborted(
        &self,
        from: i64,
        upto: i64,
        wait: Wait,
        out: &mut Vec<AbortedTxn>,
    ) -> io::Result<bool> {
        let mut complete = false;
        self.for_each_aborted(wait, |_, txn| {
            if txn.overlaps(from, upto) {
                out.push(txn);
            }
            complete = txn.is_last_for(upto);
            !complete
        })?;
        Ok(complete)
    }

    /// Drops transactions that end at or after `offset`.
    pub(super) fn truncate_txn_index(&self, offset: i64) -> io::Result<()> {
        let mut keep = None;
        self.for_each_aborted(Wait::Allowed, |at, txn| {
            if txn.last_offset >= offset {
                keep = Some(at);
            }
            keep.is_none()
        })?;
        if let (Some(keep), Some(file)) = (keep, self.open_txn_index(Mode::Write, Wait::Allowed)?) {
            file.set_len(keep * ENTRY_LEN)?;
        }
        Ok(())
    }

    /// Drops everything: the segment is scanned again.
    pub(crate) fn reset_txn_index(&self) -> io::Result<()> {
        match self.open_txn_index(Mode::Write, Wait::Allowed)? {
            Some(file) => file.set_len(0),
            None => Ok(()),
        }
    }

    /// Whether the index's entries belong to this segment.
    pub(crate) fn txn_index_is_sane(&self) -> io::Result<bool> {
        let mut sane = true;
        match self.for_each_aborted(Wait::Allowed, |_, txn| {
            sane = txn.last_offset >= self.base_offset;
            sane
        }) {
            Ok(()) => Ok(sane),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
            Err(error) => Err(error),
        }
    }
}
