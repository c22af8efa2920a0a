//! Reading: which bytes of which file answer a fetch.
//!
//! [`Log::read`] finds them and opens the file; copying or sending is the caller's. The answer is
//! whole batches only, never a cut one, and stays readable when the segment is deleted meanwhile,
//! because it holds the file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::format::txn_index::AbortedTxn;
use crate::format::walk::{BatchHead, Walk, WalkError};
use crate::fs::disk::OpenFile;
use crate::fs::names;
use crate::fs::wait::Wait;
use crate::partition::dir::LogDir;
use crate::partition::error::{ReadError, StorageError};
use crate::partition::log::{Log, LogOffsets};
use crate::partition::segment::Segment;
use crate::partition::segments::{End, Segments, floor_segment};

/// How far a read may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    /// To the end: followers.
    LogEnd,
    /// To the high watermark: consumers.
    HighWatermark,
    /// To the last stable offset, with the aborted transactions: `read_committed` consumers.
    LastStable,
}

/// One partition's part of a fetch.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest {
    /// Where to begin.
    pub offset: i64,
    /// Bytes at most.
    pub max_bytes: u32,
    /// At least one batch, however large, if there is any.
    pub min_one: bool,
    /// How far to see.
    pub isolation: Isolation,
    /// Whether finding the place may wait for the disk. [`Wait::Never`] answers
    /// [`ReadError::WouldBlock`] instead.
    pub wait: Wait,
}

/// Bytes of one segment file: whole batches, the first of which holds the asked offset or the
/// first one after it.
#[derive(Clone, Debug)]
pub struct ReadResult {
    file: Option<Arc<OpenFile>>,
    /// Where in the file.
    pub position: u64,
    /// How many bytes; 0 when there is nothing to read yet.
    pub len: u32,
    /// Bytes that may be seen of the segment from there on, whether or not they are in the answer: also those of a batch
    /// that does not fit.
    pub readable: u32,
    /// Whether the place is in another segment than the end of what may be seen.
    pub is_in_older_segment: bool,
    /// No record of these bytes has this offset or a larger one.
    pub upper_bound_offset: i64,
    /// The log's offsets when the place was found.
    pub offsets: LogOffsets,
    /// Aborted transactions that concern these bytes, under [`Isolation::LastStable`].
    pub aborted: Vec<AbortedTxn>,
}

impl ReadResult {
    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The file, for `sendfile` from [`Self::position`] on; none when there are no bytes.
    pub fn file(&self) -> Option<&Arc<OpenFile>> {
        self.file.as_ref()
    }

    /// The file's descriptor.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(|file| file.as_fd())
    }

    /// Copies bytes from `from` (relative to the result) on until `buf` is full or there are no
    /// more; waits for the disk.
    pub fn copy(&self, from: u32, buf: &mut [u8]) -> io::Result<usize> {
        let (Some(file), Some(left)) = (&self.file, self.len.checked_sub(from)) else {
            return Ok(0);
        };
        let len = buf.len().min(left as usize);
        file.read_exact_at(&mut buf[..len], self.position + u64::from(from))?;
        Ok(len)
    }

    /// The bytes in memory of their own; waits for the disk. For tests and small reads.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.len as usize];
        self.copy(0, &mut bytes)?;
        Ok(bytes)
    }
}

impl Log {
    /// The log's offsets if a reader at `offset` has all that it may see, which is so for nearly
    /// every partition that a long poll asks for. Takes no lock; `None` when it has to be read.
    #[inline]
    pub fn nothing_at(&self, offset: i64, isolation: Isolation) -> Option<LogOffsets> {
        let offsets = self.offsets();
        let bound = match isolation {
            Isolation::LogEnd => offsets.log_end_offset,
            Isolation::HighWatermark => offsets.high_watermark,
            Isolation::LastStable => offsets.last_stable_offset,
        };
        let in_range = offset >= offsets.log_start_offset && offset <= offsets.log_end_offset;
        let usable = !self.is_closed() && self.home().dir.is_online();
        (offset == bound && in_range && usable).then_some(offsets)
    }

    /// Finds the bytes that answer `request`. An offset before the log's start or after its end is
    /// [`ReadError::OffsetOutOfRange`]; one between what may be seen and the end is an empty answer.
    pub fn read(&self, request: &ReadRequest) -> Result<ReadResult, ReadError> {
        // A segment can be deleted or cut between being found and being read; then the next look
        // finds the log without it.
        let mut attempts = 0;
        loop {
            self.check_readable()?;
            let generation = self.hints.generation();
            let mut looked_at = None;
            match self.try_read(request, generation, &mut looked_at) {
                Ok(result) => return Ok(result),
                Err(Trouble::Known(error)) => return Err(error),
                Err(Trouble::Walk(error)) => {
                    let gone = looked_at.as_ref().is_some_and(|it: &Arc<Segment>| it.is_deleted());
                    let cut = self.hints.generation() != generation;
                    attempts += 1;
                    if (gone || cut) && attempts < 4 && !matches!(error, WalkError::WouldBlock) {
                        continue;
                    }
                    return Err(match looked_at {
                        Some(segment) => self.walk_error(&segment, error),
                        None => self.walk_error_at(self.dir(), 0, &self.path(), error),
                    });
                }
            }
        }
    }

    /// What an error means that was met in a segment, of whichever directory that is.
    pub(crate) fn walk_error(&self, segment: &Segment, error: WalkError) -> ReadError {
        let path = segment.file_path(names::LOG);
        self.walk_error_at(segment.dir(), segment.base_offset, &path, error)
    }

    fn walk_error_at(
        &self,
        dir: &LogDir,
        segment: i64,
        path: &std::path::Path,
        error: WalkError,
    ) -> ReadError {
        match error {
            WalkError::WouldBlock => ReadError::WouldBlock,
            WalkError::Io(error) if self.is_closed() && error.kind() == io::ErrorKind::NotFound => {
                self.read_closed()
            }
            WalkError::Io(error) => dir.failure_of("read", path, &error).into(),
            WalkError::Corrupt { position, reason } => ReadError::Corrupt {
                topic: self.topic.clone(),
                partition: self.partition,
                segment,
                position: u64::from(position),
                reason,
            },
        }
    }

    fn try_read(
        &self,
        request: &ReadRequest,
        generation: u64,
        looked_at: &mut Option<Arc<Segment>>,
    ) -> Result<ReadResult, Trouble> {
        let offset = request.offset;
        let mut offsets = self.offsets();
        let end = self.end();
        offsets.log_end_offset = end.offset;
        if offset < offsets.log_start_offset || offset > end.offset {
            return Err(Trouble::Known(ReadError::OffsetOutOfRange {
                topic: self.topic.clone(),
                partition: self.partition,
                offset,
                log_start_offset: offsets.log_start_offset,
                log_end_offset: end.offset,
            }));
        }
        let bound = match request.isolation {
            Isolation::LogEnd => end.offset,
            Isolation::HighWatermark => offsets.high_watermark,
            Isolation::LastStable => offsets.last_stable_offset,
        }
        .min(end.offset);
        let mut result = ReadResult {
            file: None,
            position: 0,
            len: 0,
            readable: 0,
            is_in_older_segment: false,
            upper_bound_offset: offset,
            offsets,
            aborted: Vec::new(),
        };
        if offset >= bound || (request.max_bytes == 0 && !request.min_one) {
            return Ok(result);
        }
        let (segments, end) = self.segments_and_end();
        let bound =
            self.locate_bound(&segments, bound, end, generation, request.wait, looked_at)?;
        let mut at = floor_segment(&segments, offset);
        while let Some(segment) = segments.get(at) {
            if segment.base_offset > bound.segment {
                break;
            }
            *looked_at = Some(segment.clone());
            let is_last = segment.base_offset == bound.segment;
            let limit = if is_last { bound.position } else { segment.size() };
            let file = segment.open_to_read(request.wait).map_err(WalkError::from)?;
            if let Some((begin, first)) =
                self.locate_begin(segment, &file, offset, limit, generation, request.wait)?
            {
                // Past the segment, up to the bound.
                let mut upper = match segments.get(at + 1) {
                    Some(next) if !is_last => next.base_offset,
                    _ => bound.offset,
                };
                let mut len = limit - begin;
                if len > request.max_bytes {
                    let first = match first {
                        Some(first) => first,
                        None => match Walk::new(&file, begin, limit, request.wait).next()? {
                            Some(first) => first,
                            None => return Ok(result),
                        },
                    };
                    if first.len > request.max_bytes {
                        if !request.min_one {
                            (result.readable, result.is_in_older_segment) =
                                (limit - begin, !is_last);
                            return Ok(result);
                        }
                        (len, upper) = (first.len, first.last_offset + 1);
                    } else {
                        let (stop, next) = segment.whole_batches_end(
                            &file,
                            &first,
                            begin + request.max_bytes,
                            request.wait,
                        )?;
                        (len, upper) = (stop - begin, next);
                    }
                }
                self.hints.put(generation, upper, segment.base_offset, begin + len);
                if request.isolation == Isolation::LastStable {
                    let segments = &segments[at..];
                    collect_aborted(segments, offset, upper, request.wait, &mut result.aborted)
                        .map_err(WalkError::from)?;
                }
                (result.position, result.len) = (u64::from(begin), len);
                (result.readable, result.is_in_older_segment) = (limit - begin, !is_last);
                result.upper_bound_offset = upper;
                result.file = Some(file);
                return Ok(result);
            }
            at += 1;
        }
        Ok(result)
    }

    /// Where the batch is that holds `offset` or comes first after it, if it ends within `limit`;
    /// with its header if that was read.
    fn locate_begin(
        &self,
        segment: &Segment,
        file: &OpenFile,
        offset: i64,
        limit: u32,
        generation: u64,
        wait: Wait,
    ) -> Result<Option<(u32, Option<BatchHead>)>, WalkError> {
        if limit == 0 {
            return Ok(None);
        }
        if offset <= segment.base_offset {
            return Ok(Some((0, None)));
        }
        if let Some((base, position)) = self.hints.get(generation, offset)
            && base == segment.base_offset
            && position <= limit
        {
            return Ok((position < limit).then_some((position, None)));
        }
        let found = segment.find(file, offset, limit, wait)?;
        Ok(found.map(|head| (head.position, Some(head))))
    }

    /// Where `bound` is: what lies before it may be read.
    fn locate_bound(
        &self,
        segments: &Segments,
        bound: i64,
        end: End,
        generation: u64,
        wait: Wait,
        looked_at: &mut Option<Arc<Segment>>,
    ) -> Result<End, WalkError> {
        if bound >= end.offset {
            return Ok(end);
        }
        if let Some((segment, position)) = self.hints.get(generation, bound) {
            return Ok(End { offset: bound, segment, position });
        }
        let at = floor_segment(segments, bound);
        let Some(segment) = segments.get(at) else { return Ok(end) };
        *looked_at = Some(segment.clone());
        let limit = if segment.base_offset == end.segment { end.position } else { segment.size() };
        let file = segment.open_to_read(wait)?;
        let position = match segment.find(&file, bound, limit, wait)? {
            Some(head) => head.position,
            None => limit,
        };
        self.hints.put(generation, bound, segment.base_offset, position);
        Ok(End { offset: bound, segment: segment.base_offset, position })
    }

    /// Aborted transactions that overlap the offsets `from..upto`.
    pub fn aborted_transactions(
        &self,
        from: i64,
        upto: i64,
    ) -> Result<Vec<AbortedTxn>, StorageError> {
        self.home().dir.check()?;
        let segments = self.segments();
        let mut aborted = Vec::new();
        let at = floor_segment(&segments, from);
        let result = collect_aborted(&segments[at..], from, upto, Wait::Allowed, &mut aborted);
        self.guard("read transaction index of", &self.path(), result)?;
        Ok(aborted)
    }
}

enum Trouble {
    Known(ReadError),
    Walk(WalkError),
}

impl From<WalkError> for Trouble {
    fn from(error: WalkError) -> Trouble {
        Trouble::Walk(error)
    }
}

pub(crate) fn collect_aborted(
    segments: &[Arc<Segment>],
    from: i64,
    upto: i64,
    wait: Wait,
    out: &mut Vec<AbortedTxn>,
) -> io::Result<()> {
    for segment in segments {
        if segment.collect_aborted(from, upto, wait, out)? {
            break;
        }
    }
    Ok(())
}
