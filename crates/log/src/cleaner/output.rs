//! The segment that a pass writes: a batch that stays as it is goes there from where it was read, one
//! that was built anew from a buffer of its own; the indexes grow with them.

use std::io::{self, IoSlice};
use std::ops::Range;

use thalweg_records::BatchView;

use super::filter::Unreadable;
use crate::format::txn_index::{AbortedTxn, append_entries};
use crate::format::walk::BatchHead;
use crate::fs::disk::OpenFile;
use crate::partition::segment::Segment;

/// Pieces that one system call writes.
const PIECES_AT_ONCE: usize = 128;

/// All writes but the last end at a multiple of this in the file. Where a page is written in two parts,
/// and where no large folio can begin, the kernel works longer than copying the rest takes.
const WRITE_ALIGNMENT: usize = 64 << 10;

/// What is copied at once of a file that was the same so far.
const COPY_BYTES: usize = 2 * WRITE_ALIGNMENT;

/// Buffers of an [`Output`], for the next one.
#[derive(Default)]
pub(crate) struct Buffers {
    /// The rest of what was added, and batches that were built anew.
    own: Vec<u8>,
    spare: Vec<u8>,
}

pub(crate) struct Output<'a> {
    segment: &'a Segment,
    file: &'a OpenFile,
    alignment: usize,
    /// A buffer that is larger is not kept.
    buffer_max: usize,
    buffers: Buffers,
    /// How much of our own buffer is among the pieces.
    taken: usize,
    /// What is to be written, in order.
    pieces: Vec<Piece>,
    /// The file that everything came from so far, byte for byte from its beginning on: nothing is written
    /// before something is different.
    same_as: Option<&'a OpenFile>,
    /// Bytes in the file.
    written: u64,
    /// The same with what is to be written.
    position: u64,
    aborted: Vec<AbortedTxn>,
}

/// Where bytes are that are to be written.
enum Piece {
    /// In the buffer that the segments are read into.
    Read(Range<usize>),
    /// In [`Buffers::own`].
    Own(Range<usize>),
}

impl<'a> Output<'a> {
    pub(crate) fn new(
        segment: &'a Segment,
        file: &'a OpenFile,
        io_bytes: usize,
        mut buffers: Buffers,
    ) -> Output<'a> {
        buffers.own.clear();
        let alignment = WRITE_ALIGNMENT.min(io_bytes).max(1);
        Output {
            segment,
            file,
            alignment,
            buffer_max: 2 * io_bytes + alignment,
            buffers,
            taken: 0,
            pieces: Vec::new(),
            same_as: None,
            written: 0,
            position: 0,
            aborted: Vec::new(),
        }
    }

    /// Begins as a copy of `source`, whose batches are added next, from the first one on. If all of them
    /// stay, the copy is never made.
    pub(crate) fn begin_same_as(&mut self, source: &'a OpenFile) {
        self.same_as = Some(source);
    }

    /// Whether everything that was added is the beginning of the file given to
    /// [`Self::begin_same_as`], and nothing is written.
    pub(crate) fn is_same(&self) -> bool {
        self.same_as.is_some()
    }

    /// Something is different from here on: writes a piece of what was the same. Gives the bytes, 0 when
    /// all of it is written, and batches can be added.
    pub(crate) fn write_same(&mut self) -> io::Result<u64> {
        let Some(source) = self.same_as else { return Ok(0) };
        let left = self.position - self.written;
        if left == 0 {
            self.same_as = None;
            return Ok(0);
        }
        let Buffers { spare, .. } = &mut self.buffers;
        let len = usize::try_from(left).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        spare.resize(len, 0);
        source.read_exact_at(spare, self.written)?;
        self.file.write_all_at(spare, self.written)?;
        self.written += len as u64;
        Ok(len as u64)
    }

    /// Where a batch is built; [`Self::add_built`] adds it.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffers.own
    }

    /// Adds the batch that was put at the end of the buffer, if one was, instead of `replaced`.
    pub(crate) fn add_built(&mut self, replaced: &BatchView<'_>) -> Result<(), Unreadable> {
        let new = self.taken..self.buffers.own.len();
        if new.is_empty() {
            return Ok(());
        }
        let batch = BatchView::parse(&self.buffers.own[new.clone()]).map_err(|error| {
            Unreadable::new(replaced, format!("what was built instead is no batch: {error}"))
        })?;
        let head = self.head(&batch)?;
        self.note(&head);
        self.taken = new.end;
        match self.pieces.last_mut() {
            Some(Piece::Own(last)) => last.end = new.end,
            _ => self.pieces.push(Piece::Own(new)),
        }
        Ok(())
    }

    /// Adds a batch that lies at a place in the buffer that segments are read into, which must not be
    /// changed before [`Self::write`].
    pub(crate) fn add_read(
        &mut self,
        batch: &BatchView<'_>,
        place: usize,
    ) -> Result<(), Unreadable> {
        let head = self.head(batch)?;
        self.note(&head);
        if self.is_same() {
            return Ok(());
        }
        let new = place..place + batch.total_len();
        match self.pieces.last_mut() {
            Some(Piece::Read(last)) if last.end == new.start => last.end = new.end,
            _ => self.pieces.push(Piece::Read(new)),
        }
        Ok(())
    }

    /// What the indexes need to know of the next batch.
    fn head(&self, batch: &BatchView<'_>) -> Result<BatchHead, Unreadable> {
        let end = self.position + batch.total_len() as u64;
        let relative = batch.last_offset().wrapping_sub(self.segment.base_offset);
        if end > i32::MAX as u64 {
            return Err(Unreadable::new(batch, "the segment becomes larger than 2 GiB"));
        }
        if !(0..=i64::from(i32::MAX)).contains(&relative) {
            let reason = "its offset is too far from the segment's first";
            return Err(Unreadable::new(batch, reason));
        }
        Ok(BatchHead {
            position: self.position as u32,
            len: batch.total_len() as u32,
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            max_timestamp: batch.max_timestamp(),
            leader_epoch: batch.partition_leader_epoch(),
        })
    }

    fn note(&mut self, head: &BatchHead) {
        self.segment.note_batch(head);
        self.position += u64::from(head.len);
    }

    /// Names an aborted transaction in the index.
    pub(crate) fn end_transaction(&mut self, txn: Option<AbortedTxn>) {
        self.aborted.extend(txn);
    }

    /// Writes what was added, but for a rest, which is copied: `read`, the buffer that segments are read
    /// into, may change from here on. Gives the bytes.
    pub(crate) fn write(&mut self, read: &[u8]) -> io::Result<u64> {
        self.write_upto(self.position - self.position % self.alignment as u64, read)
    }

    fn write_upto(&mut self, end: u64, read: &[u8]) -> io::Result<u64> {
        if self.is_same() {
            return Ok(0);
        }
        let before = self.written;
        let Output { buffers: Buffers { own, spare }, pieces, file, .. } = self;
        let mut left = usize::try_from(end.saturating_sub(before)).unwrap_or(0);
        spare.clear();
        let mut slices = [IoSlice::new(&[]); PIECES_AT_ONCE];
        let mut count = 0;
        for piece in &*pieces {
            let bytes = match piece {
                Piece::Read(range) => &read[range.clone()],
                Piece::Own(range) => &own[range.clone()],
            };
            let (now, later) = bytes.split_at(left.min(bytes.len()));
            left -= now.len();
            spare.extend_from_slice(later);
            if now.is_empty() {
                continue;
            }
            if count == slices.len() {
                self.written += write(file, &slices, self.written)?;
                count = 0;
            }
            slices[count] = IoSlice::new(now);
            count += 1;
        }
        if count > 0 {
            self.written += write(file, &slices[..count], self.written)?;
        }
        if own.capacity() > self.buffer_max {
            // A batch that was larger than the rest must not keep its memory.
            *own = Vec::new();
        }
        std::mem::swap(own, spare);
        pieces.clear();
        self.taken = own.len();
        if !own.is_empty() {
            pieces.push(Piece::Own(0..own.len()));
        }
        self.segment.write_full_index_page()?;
        Ok(self.written - before)
    }

    /// The buffers, of an output that is not to be finished.
    pub(crate) fn into_buffers(self) -> Buffers {
        self.buffers
    }

    /// Writes the rest, completes the indexes and flushes all files. Gives the bytes of the rest, and
    /// the buffers.
    pub(crate) fn finish(mut self) -> io::Result<(u64, Buffers)> {
        // All that was read was taken over before its buffer changed.
        let bytes = self.write_upto(self.position, &[])?;
        debug_assert_eq!(self.written, self.position);
        // It was seen to when batches were added that this fits.
        self.segment.set_size(self.position as u32);
        if !self.aborted.is_empty() {
            append_entries(&self.segment.create_txn_index()?, &self.aborted)?;
        }
        self.segment.finish()?;
        if let Some(made) = self.segment.flush(true)? {
            // The directory is flushed before the segment takes its place.
            self.segment.names_synced(made);
        }
        Ok((bytes, self.buffers))
    }
}

fn write(file: &OpenFile, slices: &[IoSlice<'_>], at: u64) -> io::Result<u64> {
    match slices {
        [one] => file.write_all_at(one, at)?,
        several => file.write_vectored_at(several, at)?,
    }
    Ok(slices.iter().map(|slice| slice.len() as u64).sum())
}
