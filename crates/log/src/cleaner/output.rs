//! The segment that a pass writes: batches are gathered and written a piece at a time, the indexes grow
//! with them.

use std::io;

use thalweg_records::BatchView;

use super::filter::Unreadable;
use crate::disk::OpenFile;
use crate::segment::Segment;
use crate::txn_index::{AbortedTxn, append_entries};
use crate::walk::BatchHead;

pub(crate) struct Output<'a> {
    segment: &'a Segment,
    file: &'a OpenFile,
    /// Written at once.
    io_bytes: usize,
    /// Not written yet.
    pending: Vec<u8>,
    /// Bytes in the file.
    position: u64,
    aborted: Vec<AbortedTxn>,
}

impl<'a> Output<'a> {
    pub(crate) fn new(
        segment: &'a Segment,
        file: &'a OpenFile,
        io_bytes: usize,
        mut buffer: Vec<u8>,
    ) -> Output<'a> {
        buffer.clear();
        Output { segment, file, io_bytes, pending: buffer, position: 0, aborted: Vec::new() }
    }

    /// Lets `put` add a batch, or none, and enters it in the indexes.
    pub(crate) fn put<T>(
        &mut self,
        put: impl FnOnce(&mut Vec<u8>) -> Result<T, Unreadable>,
    ) -> Result<T, Unreadable> {
        let before = self.pending.len();
        let result = put(&mut self.pending)?;
        let Ok(batch) = BatchView::parse(&self.pending[before..]) else { return Ok(result) };
        let position = self.position + before as u64;
        let end = position + batch.total_len() as u64;
        let relative = batch.last_offset().wrapping_sub(self.segment.base_offset);
        if end > i32::MAX as u64 {
            return Err(Unreadable::new(&batch, "the segment becomes larger than 2 GiB"));
        }
        if !(0..=i64::from(i32::MAX)).contains(&relative) {
            let reason = "its offset is too far from the segment's first";
            return Err(Unreadable::new(&batch, reason));
        }
        let head = BatchHead {
            position: position as u32,
            len: batch.total_len() as u32,
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            max_timestamp: batch.max_timestamp(),
            leader_epoch: batch.partition_leader_epoch(),
        };
        self.segment.note_batch(&head);
        Ok(result)
    }

    /// Names an aborted transaction in the index.
    pub(crate) fn end_transaction(&mut self, txn: Option<AbortedTxn>) {
        self.aborted.extend(txn);
    }

    /// Writes what was gathered, if that is a piece; gives the bytes.
    pub(crate) fn write_full(&mut self) -> io::Result<u64> {
        if self.pending.len() < self.io_bytes { Ok(0) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<u64> {
        self.file.write_all_at(&self.pending, self.position)?;
        self.segment.write_full_index_page()?;
        let bytes = self.pending.len() as u64;
        self.position += bytes;
        if self.pending.capacity() > 2 * self.io_bytes {
            // A batch that was larger than the rest must not keep its memory.
            self.pending = Vec::new();
        }
        self.pending.clear();
        Ok(bytes)
    }

    /// Writes the rest, completes the indexes and flushes all files. Gives the bytes of the last piece,
    /// and the buffer.
    pub(crate) fn finish(mut self) -> io::Result<(u64, Vec<u8>)> {
        let bytes = self.write()?;
        // `put` has seen to it that this fits.
        self.segment.set_size(self.position as u32);
        if !self.aborted.is_empty() {
            append_entries(&self.segment.create_txn_index()?, &self.aborted)?;
        }
        self.segment.finish()?;
        if let Some(made) = self.segment.flush(true)? {
            // The directory is flushed before the segment takes its place.
            self.segment.names_synced(made);
        }
        Ok((bytes, self.pending))
    }
}
