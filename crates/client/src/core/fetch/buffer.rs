//! What was fetched of one partition and not handed out: whole batches, opened one at a time.
//!
//! Invariants:
//! - Only the batch that is being handed out is decompressed.
//! - A batch is checked (CRC, then each record's structure) before any record of it, or of the
//!   piece cut from it, leaves.
//! - After a fault nothing has moved: the next look finds the same fault.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use thalweg_records::batch::BatchError;
use thalweg_records::codec::Decompressor;
use thalweg_records::record::{ReadError, RecordContext, RecordFault, decompress};
use thalweg_records::{BatchView, Compression};
use thalweg_wire::Uuid;

use super::budget::Budget;
use super::records::{Batch, Chunk};
use crate::core::partition::{Position, TopicPartition};

/// Why fetched bytes cannot be handed out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes are not a batch.
    #[error("what was fetched is not a record batch: {0}")]
    Batch(#[from] BatchError),
    /// The checksum does not match.
    #[error("batch at offset {offset} is corrupt: its CRC is {stored:08x}, its bytes give another")]
    Crc {
        /// Base offset of the batch.
        offset: i64,
        /// The CRC in the batch.
        stored: u32,
    },
    /// The records cannot be read.
    #[error("batch at offset {offset} cannot be read: {source}")]
    Read {
        /// Base offset of the batch.
        offset: i64,
        /// Why.
        source: ReadError,
    },
}

/// What reading batches takes, shared by all partitions of a consumer.
pub struct Decoding {
    pub decompressor: Decompressor,
    pub check_crcs: bool,
    pub read_committed: bool,
    /// Most bytes that one batch may decompress to.
    pub batch_max: u64,
    pub budget: Arc<Budget>,
}

/// A response's frame, for telling how much of it is still wanted.
#[derive(Debug)]
pub(super) struct Frame {
    pub len: usize,
    /// Bytes of it in buffers.
    pub buffered: AtomicUsize,
}

/// The batches that one response brought.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Whole batches only.
    bytes: Bytes,
    frame: Arc<Frame>,
    /// Aborted transactions by the offset they begin at; empty unless reading what is committed.
    aborted: VecDeque<(i64, i64)>,
    /// Producers whose transaction is being skipped.
    skipping: HashSet<i64>,
}

impl Fetched {
    pub fn new(bytes: Bytes, frame: &Arc<Frame>, mut aborted: Vec<(i64, i64)>) -> Fetched {
        aborted.sort_unstable();
        frame.buffered.fetch_add(bytes.len(), Ordering::Relaxed);
        let frame = Arc::clone(frame);
        Fetched { bytes, frame, aborted: aborted.into(), skipping: HashSet::new() }
    }

    /// Whether `batch` belongs to a transaction that was aborted. Each batch must be asked about
    /// once, in order.
    fn is_aborted(&mut self, batch: &BatchView<'_>) -> bool {
        if !batch.has_producer_id() {
            return false;
        }
        while let Some(&(first_offset, producer_id)) = self.aborted.front()
            && first_offset <= batch.last_offset()
        {
            self.skipping.insert(producer_id);
            self.aborted.pop_front();
        }
        if batch.is_control() {
            // A marker ends the transaction, whichever way.
            self.skipping.remove(&batch.producer_id());
            return false;
        }
        batch.is_transactional() && self.skipping.contains(&batch.producer_id())
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        self.frame.buffered.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// The batch that is being handed out.
struct Open {
    batch: Arc<Batch>,
    /// Where the first record that was not handed out begins, and which one it is.
    at: usize,
    taken: i32,
    next_offset: i64,
}

impl Open {
    fn new(
        (partition, topic_id): (&Arc<TopicPartition>, Uuid),
        batch: &Bytes,
        decoding: &mut Decoding,
    ) -> Result<Open, Fault> {
        let view = BatchView::parse(batch)?;
        let offset = view.base_offset();
        let fault = |source| Fault::Read { offset, source };
        let bytes = if view.compression() == Some(Compression::None) {
            let start = view.total_len() - view.payload().len();
            batch.slice(start..view.total_len())
        } else {
            // Logs compress about four times.
            let mut buffer = decoding.budget.buffer(4 * batch.len());
            decompress(&view, &mut decoding.decompressor, decoding.batch_max, &mut buffer)
                .map_err(fault)?;
            decoding.budget.share(buffer)
        };
        let context = RecordContext::of(&view);
        if context.count < 0 {
            return Err(fault(RecordFault::NegativeCount(context.count).into()));
        }
        let (partition, leader_epoch) = (Arc::clone(partition), view.partition_leader_epoch());
        let is_part = false;
        let batch = Batch { partition, bytes, context, leader_epoch, topic_id, is_part };
        let batch = Arc::new(batch);
        Ok(Open { batch, at: 0, taken: 0, next_offset: view.next_offset() })
    }

    /// Cuts out the next records at or behind `offset`, `max` at most; `None` when no such record
    /// is left. With them the offset behind the last one.
    #[inline]
    fn cut(&mut self, offset: i64, max: usize) -> Result<Option<(Chunk, i64)>, Fault> {
        let Batch { bytes, context, .. } = &*self.batch;
        let fault = |source| Fault::Read { offset: context.base_offset, source };
        let (mut at, mut taken) = (self.at, self.taken);
        let mut start = at;
        let mut count = 0;
        let mut end = offset;
        while taken < context.count && count < max {
            let (found, len) = context.step(&bytes[at..]).map_err(|broken| fault(broken.into()))?;
            at += len;
            taken += 1;
            if found < offset {
                start = at;
                continue;
            }
            count += 1;
            end = found.saturating_add(1);
        }
        let mut next_offset = end;
        if taken == context.count {
            if at != bytes.len() {
                return Err(fault(RecordFault::Trailing.into()));
            }
            next_offset = self.next_offset;
        }
        (self.at, self.taken) = (at, taken);
        let batch = || Arc::clone(&self.batch);
        let chunk = || Chunk { batch: batch(), start, end: at, count, next_offset };
        Ok((count > 0).then(|| (chunk(), end)))
    }

    /// Whether all of its records were handed out.
    fn is_used_up(&self) -> bool {
        self.taken == self.batch.context.count
    }
}

/// What is left of the batch that is being handed out.
pub(super) struct Lendable {
    pub batch: Arc<Batch>,
    /// Where its next record begins.
    pub at: usize,
    /// Records that are left.
    pub left: usize,
}

/// What [`Buffer::next`] found.
pub(super) enum Next {
    /// Records, and the offset behind the last of them.
    Chunk { chunk: Chunk, end: i64 },
    /// The end of what one response brought; more is buffered. Others may have their turn.
    Turn,
    /// Nothing is left.
    Empty,
}

/// Batches of one partition.
#[derive(Default)]
pub(super) struct Buffer {
    fetched: VecDeque<Fetched>,
    open: Option<Open>,
    /// Batches that were handed out, or begun, and given back: they come after `open`.
    returned: VecDeque<Open>,
    /// Bytes in `fetched`.
    bytes: usize,
}

impl Buffer {
    /// Bytes fetched and not opened.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that are still to be handed out, also of the batch that is open, as far as that is
    /// known without opening the others.
    pub fn left(&self) -> usize {
        let opened = self.open.iter().chain(&self.returned);
        self.bytes + opened.map(|open| open.batch.bytes.len() - open.at).sum::<usize>()
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_none() && self.returned.is_empty() && self.fetched.is_empty()
    }

    pub fn push(&mut self, fetched: Fetched) {
        self.bytes += fetched.bytes.len();
        self.fetched.push_back(fetched);
    }

    /// First offset that can be had without fetching: where the open batch, or the first one,
    /// begins.
    pub fn first_offset(&self) -> Option<i64> {
        let opened = self.open.iter().chain(&self.returned).next();
        let open = opened.map(|open| open.batch.context.base_offset);
        open.or_else(|| {
            let first = self.fetched.iter().find(|fetched| !fetched.bytes.is_empty())?;
            BatchView::parse_header(&first.bytes).ok().map(|batch| batch.base_offset())
        })
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        *self = Buffer::default();
    }

    /// Goes back to the beginning of the open batch, for a seek into it.
    pub fn rewind_open(&mut self) {
        if let Some(open) = &mut self.open {
            (open.at, open.taken) = (0, 0);
        }
    }

    /// Takes back what was handed out of it last, in order, so that a seek there finds it. Says
    /// whether it could.
    pub fn give_back(&mut self, chunks: impl IntoIterator<Item = Chunk>) -> bool {
        let mut returned: VecDeque<Open> = VecDeque::new();
        for Chunk { batch, next_offset, .. } in chunks {
            if batch.is_part {
                return false;
            }
            match returned.back_mut().filter(|last| Arc::ptr_eq(&last.batch, &batch)) {
                Some(last) => last.next_offset = next_offset,
                None => returned.push_back(Open { batch, at: 0, taken: 0, next_offset }),
            }
        }
        if let Some(mut open) = self.open.take() {
            // It may be the one of which the last of them were.
            returned.pop_back_if(|last| Arc::ptr_eq(&last.batch, &open.batch));
            (open.at, open.taken) = (0, 0);
            returned.push_back(open);
        }
        returned.append(&mut self.returned);
        self.returned = returned;
        self.open = self.returned.pop_front();
        true
    }

    /// What is left of the open batch.
    pub fn lendable(&self) -> Option<Lendable> {
        let open = self.open.as_ref()?;
        let left = usize::try_from(open.batch.context.count - open.taken).ok()?;
        Some(Lendable { batch: Arc::clone(&open.batch), at: open.at, left })
    }

    /// So many more records of the open batch were handed out; the next one begins at `at`.
    pub fn advance_open(&mut self, at: usize, records: usize) {
        if let Some(open) = &mut self.open {
            open.at = at;
            // No more than there were.
            open.taken += records as i32;
        }
    }

    /// The next records at or behind the position, `max` at most; moves the position behind them,
    /// and over what is not for an application to see.
    pub fn next(
        &mut self,
        of: (&Arc<TopicPartition>, Uuid),
        position: &mut Position,
        max: usize,
        decoding: &mut Decoding,
    ) -> Result<Next, Fault> {
        loop {
            if let Some(open) = &mut self.open {
                let leader_epoch = open.batch.leader_epoch;
                if let Some((chunk, end)) = open.cut(position.offset, max)? {
                    *position = Position { offset: chunk.next_offset, leader_epoch };
                    if open.is_used_up() {
                        self.open = None;
                    }
                    return Ok(Next::Chunk { chunk, end });
                }
                pass(position, open.next_offset, leader_epoch);
                self.open = None;
            }
            self.open = self.returned.pop_front();
            if self.open.is_some() {
                continue;
            }
            let Some(fetched) = self.fetched.front_mut() else { return Ok(Next::Empty) };
            if fetched.bytes.is_empty() {
                self.fetched.pop_front();
                let is_last = self.fetched.is_empty();
                return Ok(if is_last { Next::Empty } else { Next::Turn });
            }
            let batch = BatchView::parse(&fetched.bytes)?;
            let (len, epoch) = (batch.total_len(), batch.partition_leader_epoch());
            let behind = batch.last_offset() < position.offset;
            if !behind && decoding.check_crcs && !batch.crc_is_valid() {
                return Err(Fault::Crc { offset: batch.base_offset(), stored: batch.crc() });
            }
            let next_offset = batch.next_offset();
            let is_control = batch.is_control();
            let whole = fetched.bytes.slice(..len);
            let batch = BatchView::parse(&whole)?;
            // Opened before it is taken, so that a fault leaves everything as it is.
            let aborted = decoding.read_committed && fetched.is_aborted(&batch);
            let open = if behind || is_control || aborted {
                None
            } else {
                Some(Open::new(of, &whole, decoding)?)
            };
            drop(fetched.bytes.split_to(len));
            fetched.frame.buffered.fetch_sub(len, Ordering::Relaxed);
            self.bytes -= len;
            if open.is_none() {
                pass(position, next_offset, epoch);
            }
            self.open = open;
        }
    }

    /// Copies what is left of frames that are mostly used up, so that a little that nobody reads
    /// does not keep a lot of memory. Returns the bytes copied.
    pub fn compact(&mut self, budget: &Arc<Budget>) -> usize {
        let mut copied = 0;
        for fetched in &mut self.fetched {
            let len = fetched.bytes.len();
            let live = fetched.frame.buffered.load(Ordering::Relaxed);
            if len == 0 || 2 * live >= fetched.frame.len {
                continue;
            }
            let copy = fetched.bytes.to_vec();
            fetched.frame.buffered.fetch_sub(len, Ordering::Relaxed);
            let frame = Frame { len: copy.len(), buffered: AtomicUsize::new(copy.len()) };
            fetched.frame = Arc::new(frame);
            fetched.bytes = budget.share(copy);
            copied += len;
        }
        copied
    }
}

fn pass(position: &mut Position, next_offset: i64, leader_epoch: i32) {
    if next_offset > position.offset {
        *position = Position { offset: next_offset, leader_epoch };
    }
}
