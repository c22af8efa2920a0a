//! Going from batch header to batch header in a segment file, without reading the records.

use std::io;

use thalweg_records::BatchView;
use thalweg_records::batch::{BatchError, HEADER_LEN};

use crate::fs::disk::OpenFile;
use crate::fs::wait::Wait;

/// What a batch's header says, and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchHead {
    pub(crate) position: u32,
    pub(crate) len: u32,
    pub(crate) base_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) leader_epoch: i32,
}

impl BatchHead {
    pub(crate) fn end(&self) -> u32 {
        self.position + self.len
    }
}

#[derive(Debug)]
pub(crate) enum WalkError {
    Io(io::Error),
    WouldBlock,
    Corrupt { position: u32, reason: String },
}

impl From<io::Error> for WalkError {
    fn from(error: io::Error) -> WalkError {
        if error.kind() == io::ErrorKind::WouldBlock {
            WalkError::WouldBlock
        } else {
            WalkError::Io(error)
        }
    }
}

/// Fills `buf`; under [`Wait::Never`] only from the page cache.
pub(crate) fn read_exact(
    file: &OpenFile,
    buf: &mut [u8],
    at: u64,
    wait: Wait,
) -> Result<(), WalkError> {
    match wait {
        Wait::Allowed => Ok(file.read_exact_at(buf, at)?),
        Wait::Never => Ok(file.read_exact_nowait(buf, at)?),
    }
}

// Small batches come several to a read, large ones cost one read each.
const WINDOW: usize = 2048;

/// Iterates over the batches of `file` from a batch's beginning to `end`.
pub(crate) struct Walk<'a> {
    file: &'a OpenFile,
    position: u32,
    end: u32,
    wait: Wait,
    window: [u8; WINDOW],
    window_at: u32,
    window_len: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(file: &'a OpenFile, position: u32, end: u32, wait: Wait) -> Walk<'a> {
        Walk { file, position, end, wait, window: [0; WINDOW], window_at: 0, window_len: 0 }
    }

    /// Where the next batch begins; the end, or the remainder that is no whole batch, once
    /// [`Self::next`] has said `None`.
    pub(crate) fn position(&self) -> u32 {
        self.position
    }

    /// The next whole batch before the end.
    pub(crate) fn next(&mut self) -> Result<Option<BatchHead>, WalkError> {
        Ok(self.next_with(|_| ())?.map(|(head, ())| head))
    }

    /// The same with what `what` takes of its header.
    pub(crate) fn next_with<T>(
        &mut self,
        what: impl FnOnce(&BatchView<'_>) -> T,
    ) -> Result<Option<(BatchHead, T)>, WalkError> {
        let left = self.end.saturating_sub(self.position);
        if (left as usize) < HEADER_LEN {
            return Ok(None);
        }
        let mut from = (self.position.wrapping_sub(self.window_at)) as usize;
        let held = self.position >= self.window_at && from + HEADER_LEN <= self.window_len;
        if !held {
            let want = WINDOW.min(left as usize);
            self.window_len = 0;
            read_exact(self.file, &mut self.window[..want], u64::from(self.position), self.wait)?;
            (self.window_at, self.window_len, from) = (self.position, want, 0);
        }
        let header = &self.window[from..from + HEADER_LEN];
        let corrupt = |reason: String| WalkError::Corrupt { position: self.position, reason };
        let batch = match BatchView::parse_header(header) {
            Ok(batch) => batch,
            Err(BatchError::Truncated { .. }) => return Ok(None),
            Err(error) => return Err(corrupt(error.to_string())),
        };
        let len = batch.total_len();
        if len > left as usize {
            return Ok(None);
        }
        let head = BatchHead {
            position: self.position,
            len: len as u32,
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            max_timestamp: batch.max_timestamp(),
            leader_epoch: batch.partition_leader_epoch(),
        };
        if head.base_offset < 0 || head.last_offset < head.base_offset {
            return Err(corrupt(format!(
                "offsets {}..={} are not in order",
                head.base_offset, head.last_offset
            )));
        }
        let taken = what(&batch);
        self.position += head.len;
        Ok(Some((head, taken)))
    }
}
