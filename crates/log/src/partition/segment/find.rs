//! Finding batches of a segment by offset and position, through its index.
//!
//! Under [`Wait::Never`] nothing here waits: neither for the disk nor for somebody who does.

use parking_lot::MutexGuard;

use crate::format::index::SegmentIndex;
use crate::format::index_files::{IndexPaths, MaxTimestamp};
use crate::format::lookup::{Floor, OnFile};
use crate::format::walk::{BatchHead, Walk, WalkError};
use crate::fs::disk::OpenFile;
use crate::fs::names;
use crate::fs::wait::Wait;
use crate::partition::segment::Segment;

impl Segment {
    /// The first batch that ends at or after `offset`, up to the byte `limit`.
    pub(crate) fn find(
        &self,
        file: &OpenFile,
        offset: i64,
        limit: u32,
        wait: Wait,
    ) -> Result<Option<BatchHead>, WalkError> {
        let indexed = self.indexed_batch(file, wait, Floor::Offset(offset))?;
        let from = match indexed {
            Some(head) if head.end() > limit => return Ok(None),
            Some(head) if head.last_offset >= offset => return Ok(Some(head)),
            Some(head) => head.end(),
            None => 0,
        };
        let mut walk = Walk::new(file, from, limit, wait);
        while let Some(head) = walk.next()? {
            if head.last_offset >= offset {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// Where the last whole batch ends that begins at or after `first` and ends at or before
    /// `position`, with the offset that follows; the end of `first` if no other does.
    pub(crate) fn whole_batches_end(
        &self,
        file: &OpenFile,
        first: &BatchHead,
        position: u32,
        wait: Wait,
    ) -> Result<(u32, i64), WalkError> {
        let mut last = (first.end(), first.last_offset + 1);
        if position <= first.end() {
            return Ok(last);
        }
        let indexed = self.indexed_batch(file, wait, Floor::Position(position))?;
        if let Some(head) = indexed
            && head.position > first.position
        {
            // The batch before this one ends in time, where this one begins.
            last = (head.position, head.base_offset);
            if head.end() > position {
                return Ok(last);
            }
            last = (head.end(), head.last_offset + 1);
        }
        let mut walk = Walk::new(file, last.0, position, wait);
        while let Some(head) = walk.next()? {
            last = (head.end(), head.last_offset + 1);
        }
        Ok(last)
    }

    /// The batch that an index entry speaks of. An entry that speaks of none is not trusted: the
    /// index is built again.
    pub(crate) fn indexed_batch(
        &self,
        file: &OpenFile,
        wait: Wait,
        floor: Floor,
    ) -> Result<Option<BatchHead>, WalkError> {
        self.prepare_index(wait)?;
        let mut rebuilt = false;
        loop {
            let entry = self.look_up(
                wait,
                |index| index.entry_in_memory(floor),
                |files, paths| files.entry(floor, paths, wait),
            )?;
            let Some((offset, position)) = entry else { return Ok(None) };
            match Walk::new(file, position, self.size(), wait).next() {
                Ok(Some(head)) if head.last_offset == offset => return Ok(Some(head)),
                Err(error @ (WalkError::Io(_) | WalkError::WouldBlock)) => return Err(error),
                // An append has told its entry and not yet its size: the batch cannot be meant.
                Ok(None) if position >= self.size() => return Ok(None),
                found if rebuilt => {
                    let reason = format!("no batch ends with offset {offset}: {found:?}");
                    return Err(WalkError::Corrupt { position, reason });
                }
                _ => {}
            }
            self.replace_wrong_index(file, wait)?;
            rebuilt = true;
        }
    }

    /// The last time entry at or before `timestamp`; waits for the disk.
    pub(crate) fn floor_time_entry(
        &self,
        timestamp: i64,
    ) -> Result<Option<MaxTimestamp>, WalkError> {
        self.look_up(
            Wait::Allowed,
            |index| index.time_entry_in_memory(timestamp),
            |files, paths| files.time_entry(timestamp, paths, Wait::Allowed),
        )
    }

    /// Looks an entry up: in memory with the index in hand, on file without it.
    fn look_up<T>(
        &self,
        wait: Wait,
        in_memory: impl Fn(&SegmentIndex) -> Option<T>,
        on_file: impl Fn(&OnFile, &IndexPaths<'_>) -> Result<Option<T>, WalkError>,
    ) -> Result<Option<T>, WalkError> {
        loop {
            let files = {
                let index = self.lock_index(wait)?;
                if let Some(entry) = in_memory(&index) {
                    return Ok(Some(entry));
                }
                index.on_file()
            };
            let found = on_file(&files, &self.index_paths());
            if self.lock_index(wait)?.on_file().edition == files.edition {
                return found;
            }
        }
    }

    /// Builds an index again that was found to be wrong.
    pub(crate) fn replace_wrong_index(&self, file: &OpenFile, wait: Wait) -> Result<(), WalkError> {
        if wait == Wait::Never {
            return Err(WalkError::WouldBlock);
        }
        tracing::warn!(path = %self.file_path(names::LOG).display(),
            "index does not fit its log and is built again");
        Ok(self.rebuild_index(file)?)
    }

    fn prepare_index(&self, wait: Wait) -> Result<(), WalkError> {
        if self.lock_index(wait)?.loaded {
            return Ok(());
        }
        match wait {
            Wait::Never => Err(WalkError::WouldBlock),
            Wait::Allowed => Ok(self.ensure_index()?),
        }
    }

    /// The index; [`WalkError::WouldBlock`] under [`Wait::Never`] if somebody else keeps it, who may
    /// be waiting for the disk with it.
    fn lock_index(&self, wait: Wait) -> Result<MutexGuard<'_, SegmentIndex>, WalkError> {
        if wait == Wait::Allowed {
            return Ok(self.index.lock());
        }
        // An append has it for an instant only, which is shorter than the way to another thread.
        const TRIES: usize = 64;
        for _ in 0..TRIES {
            if let Some(index) = self.index.try_lock() {
                return Ok(index);
            }
            std::hint::spin_loop();
        }
        Err(WalkError::WouldBlock)
    }
}
