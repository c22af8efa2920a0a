//! What a poll hands out: views on fetched bytes, decoded when they are looked at.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;
use thalweg_records::record::{Record, RecordContext};
use thalweg_wire::Uuid;

use crate::core::headers::Headers;
use crate::core::partition::{Position, TopicPartition};
use crate::core::record::ProducerRecord;

/// A batch that records are cut from.
pub(crate) struct Batch {
    pub partition: Arc<TopicPartition>,
    /// Its records, decompressed, behind each other.
    pub bytes: Bytes,
    pub context: RecordContext,
    pub leader_epoch: i32,
    /// The topic's id, which tells it from a later one of the same name; zero where it is not known.
    pub topic_id: Uuid,
    /// These are only some of the batch's records: see [`Chunk::moved_to`].
    pub is_part: bool,
}

/// Records of one batch, in order. All of them were read once when they were cut out, so reading
/// them again cannot fail. Small, and one reference count: this is what a poll costs.
#[derive(Clone)]
pub(crate) struct Chunk {
    pub batch: Arc<Batch>,
    /// Where in the batch the first of them begins.
    pub start: usize,
    /// Where the last of them ends.
    pub end: usize,
    pub count: usize,
    /// Where the next record after these may be.
    pub next_offset: i64,
}

impl Chunk {
    pub fn partition(&self) -> &Arc<TopicPartition> {
        &self.batch.partition
    }

    /// The id of its topic; zero where it is not known.
    pub fn topic_id(&self) -> Uuid {
        self.batch.topic_id
    }

    pub fn bytes(&self) -> &[u8] {
        self.batch.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// The offset of the first of them.
    pub fn first_offset(&self) -> i64 {
        let first = self.batch.context.step(self.bytes());
        first.map_or(self.batch.context.base_offset, |(offset, _)| offset)
    }

    /// The same records with bytes of their own.
    pub fn moved_to(&self, bytes: Bytes) -> Chunk {
        let Batch { partition, context, leader_epoch, topic_id, .. } = &*self.batch;
        let (partition, context) = (Arc::clone(partition), *context);
        let end = bytes.len();
        let (leader_epoch, topic_id) = (*leader_epoch, *topic_id);
        let batch = Batch { partition, bytes, context, leader_epoch, topic_id, is_part: true };
        Chunk { batch: Arc::new(batch), start: 0, end, ..*self }
    }
}

/// Records that a consumer was given: views that keep the fetched bytes alive, and in the
/// consumer's budget, until this is dropped. For records that are kept for long there is
/// [`ConsumerRecord::to_owned`].
///
/// By reference they are iterated over as [`ConsumerRecord`], by value as [`SharedRecord`], which can
/// be kept apart from the others.
#[derive(Clone, Default)]
pub struct Records {
    chunks: SmallVec<[Chunk; 1]>,
    count: usize,
}

impl Records {
    pub(crate) fn of(chunk: Chunk) -> Records {
        let count = chunk.count;
        Records { chunks: SmallVec::from_buf([chunk]), count }
    }

    pub(crate) fn push(&mut self, chunk: Chunk) {
        self.count += chunk.count;
        self.chunks.push(chunk);
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The records: in offset order within each partition.
    pub fn iter(&self) -> Iter<'_> {
        Iter { chunks: self.chunks.iter(), now: None }
    }

    /// The same by partition; a partition may come up several times, with later records.
    pub fn by_partition(&self) -> impl Iterator<Item = (&TopicPartition, Iter<'_>)> {
        self.chunks.iter().map(|chunk| {
            let now = Some(ChunkIter::new(chunk));
            (&**chunk.partition(), Iter { chunks: [].iter(), now })
        })
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for &'a Records {
    type Item = ConsumerRecord<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Records that can be kept and passed on, one by one. Takes no memory for each.
impl IntoIterator for Records {
    type Item = SharedRecord;
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        IntoIter { chunks: self.chunks.into_iter(), now: None, left: self.count }
    }
}

/// Iterator over the records of [`Records`] that gives each as a [`SharedRecord`].
pub struct IntoIter {
    chunks: smallvec::IntoIter<[Chunk; 1]>,
    now: Option<Chunk>,
    left: usize,
}

impl Iterator for IntoIter {
    type Item = SharedRecord;

    #[inline]
    fn next(&mut self) -> Option<SharedRecord> {
        loop {
            if let Some(now) = &mut self.now
                && let Some((record, _)) = now.next()
            {
                self.left -= 1;
                return Some(record);
            }
            self.now = Some(self.chunks.next()?);
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for IntoIter {}

impl fmt::Debug for IntoIter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").field("left", &self.left).finish_non_exhaustive()
    }
}

/// Iterator over [`Records`].
#[derive(Clone)]
pub struct Iter<'a> {
    chunks: std::slice::Iter<'a, Chunk>,
    now: Option<ChunkIter<'a>>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = ConsumerRecord<'a>;

    #[inline]
    fn next(&mut self) -> Option<ConsumerRecord<'a>> {
        loop {
            if let Some(now) = &mut self.now
                && let Some(record) = now.next()
            {
                return Some(record);
            }
            self.now = Some(ChunkIter::new(self.chunks.next()?));
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let now = self.now.as_ref().map_or(0, |now| now.left);
        let left = now + self.chunks.clone().map(|chunk| chunk.count).sum::<usize>();
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

#[derive(Clone)]
struct ChunkIter<'a> {
    batch: &'a Batch,
    bytes: &'a [u8],
    left: usize,
}

impl<'a> ChunkIter<'a> {
    #[inline]
    fn new(chunk: &'a Chunk) -> ChunkIter<'a> {
        ChunkIter { batch: &chunk.batch, bytes: chunk.bytes(), left: chunk.count }
    }

    #[inline]
    fn next(&mut self) -> Option<ConsumerRecord<'a>> {
        self.left = self.left.checked_sub(1)?;
        let Batch { partition, context, leader_epoch, .. } = self.batch;
        let (record, len) = context.read(self.bytes).ok()?;
        self.bytes = &self.bytes[len..];
        Some(ConsumerRecord { partition, leader_epoch: *leader_epoch, record })
    }
}

/// A record as a consumer gets it, borrowed from [`Records`].
#[derive(Clone, Copy)]
pub struct ConsumerRecord<'a> {
    partition: &'a Arc<TopicPartition>,
    leader_epoch: i32,
    record: Record<'a>,
}

impl<'a> ConsumerRecord<'a> {
    /// Its topic.
    pub fn topic(&self) -> &'a str {
        &self.partition.topic
    }

    /// Its partition's index.
    pub fn partition(&self) -> i32 {
        self.partition.partition
    }

    /// Its topic and partition.
    pub fn topic_partition(&self) -> &'a TopicPartition {
        self.partition
    }

    /// Its offset.
    pub fn offset(&self) -> i64 {
        self.record.offset
    }

    /// Milliseconds since 1970; -1 for none.
    pub fn timestamp(&self) -> i64 {
        self.record.timestamp
    }

    /// Its key; `None` is null.
    pub fn key(&self) -> Option<&'a [u8]> {
        self.record.key
    }

    /// Its value; `None` is null, a tombstone on compacted topics.
    pub fn value(&self) -> Option<&'a [u8]> {
        self.record.value
    }

    /// Its headers, in the producer's order.
    pub fn headers(&self) -> Headers<'a> {
        self.record.headers.into()
    }

    /// The same record for a topic, with its key, value, headers and time: what a dead-letter topic
    /// takes.
    pub fn to_topic(&self, topic: &'a str) -> ProducerRecord<'a> {
        ProducerRecord {
            topic,
            partition: None,
            key: self.key(),
            value: self.value(),
            headers: self.headers(),
            timestamp: Some(self.timestamp()).filter(|timestamp| *timestamp >= 0),
        }
    }

    /// Leader epoch of its batch; -1 where the broker does not keep it.
    pub fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    /// A copy that keeps nothing else in memory.
    pub fn to_owned(&self) -> OwnedRecord {
        let copy = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
        OwnedRecord {
            partition: Arc::clone(self.partition),
            offset: self.offset(),
            timestamp: self.timestamp(),
            leader_epoch: self.leader_epoch,
            key: self.key().map(copy),
            value: self.value().map(copy),
            headers: self
                .headers()
                .map(|header| (copy(header.key), header.value.map(copy)))
                .collect(),
        }
    }
}

impl fmt::Debug for ConsumerRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.partition, self.offset())
    }
}

/// A record that can be kept and passed on: a cheap view like [`ConsumerRecord`] that shares the
/// fetched bytes, which count against the consumer's budget until the last such record of a batch
/// is gone. Making one takes no memory: there is one allocation for each batch.
#[derive(Clone)]
pub struct SharedRecord {
    batch: Arc<Batch>,
    /// Where it begins.
    at: usize,
}

impl SharedRecord {
    /// The record, decoded: whoever looks at several parts of it does so once.
    #[inline]
    pub fn view(&self) -> ConsumerRecord<'_> {
        let Batch { partition, bytes, context, leader_epoch, .. } = &*self.batch;
        let rest = bytes.get(self.at..).unwrap_or_default();
        // It was read before it was handed out.
        let record = context.read(rest).map_or_else(|_| nothing(), |(record, _)| record);
        ConsumerRecord { partition, leader_epoch: *leader_epoch, record }
    }

    /// Its topic.
    pub fn topic(&self) -> &str {
        &self.batch.partition.topic
    }

    /// Its partition's index.
    pub fn partition(&self) -> i32 {
        self.batch.partition.partition
    }

    /// Its topic and partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.batch.partition
    }

    /// Its offset.
    pub fn offset(&self) -> i64 {
        self.view().offset()
    }

    /// Milliseconds since 1970; -1 for none.
    pub fn timestamp(&self) -> i64 {
        self.view().timestamp()
    }

    /// Its key; `None` is null.
    pub fn key(&self) -> Option<&[u8]> {
        self.view().key()
    }

    /// Its value; `None` is null, a tombstone on compacted topics.
    pub fn value(&self) -> Option<&[u8]> {
        self.view().value()
    }

    /// Its headers, in the producer's order.
    pub fn headers(&self) -> Headers<'_> {
        self.view().headers()
    }

    /// The same record for a topic; see [`ConsumerRecord::to_topic`].
    pub fn to_topic<'a>(&'a self, topic: &'a str) -> ProducerRecord<'a> {
        self.view().to_topic(topic)
    }

    /// Leader epoch of its batch; -1 where the broker does not keep it.
    pub fn leader_epoch(&self) -> i32 {
        self.batch.leader_epoch
    }

    /// Its value without a copy: it shares the fetched bytes as the record does.
    pub fn value_bytes(&self) -> Option<Bytes> {
        self.value().map(|value| self.batch.bytes.slice_ref(value))
    }

    /// Its key, likewise.
    pub fn key_bytes(&self) -> Option<Bytes> {
        self.key().map(|key| self.batch.bytes.slice_ref(key))
    }

    /// A copy that keeps nothing else in memory, nor counts against the budget.
    pub fn to_owned(&self) -> OwnedRecord {
        self.view().to_owned()
    }
}

impl fmt::Debug for SharedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

fn nothing<'a>() -> Record<'a> {
    Record {
        offset: -1,
        timestamp: -1,
        key: None,
        value: None,
        headers: thalweg_records::record::Headers::default(),
        size: 0,
    }
}

impl Chunk {
    /// Up to `max` of the records that are left, and where the one behind them would be; `None`
    /// when nothing is left.
    pub fn take(&mut self, max: usize) -> Option<(Chunk, Position)> {
        let count = self.count.min(max);
        if count == 0 {
            return None;
        }
        let mut taken = Chunk { count, ..self.clone() };
        if count < self.count {
            taken.end = self.start;
            for _ in 0..count {
                let rest = self.batch.bytes.get(taken.end..)?;
                let (found, len) = self.batch.context.step(rest).ok()?;
                taken.next_offset = found.saturating_add(1);
                taken.end += len;
            }
        }
        self.start = taken.end;
        self.count -= count;
        let behind = taken.behind(taken.next_offset);
        Some((taken, behind))
    }

    /// The next record, and where the one behind it would be.
    #[inline]
    pub fn next(&mut self) -> Option<(SharedRecord, Position)> {
        self.count = self.count.checked_sub(1)?;
        let (found, len) = self.batch.context.step(self.batch.bytes.get(self.start..)?).ok()?;
        // Behind the last one there may be a gap, where the log was compacted.
        let is_last = self.count == 0;
        let next = if is_last { self.next_offset } else { found.saturating_add(1) };
        let shared = SharedRecord { batch: Arc::clone(&self.batch), at: self.start };
        self.start += len;
        Some((shared, self.behind(next)))
    }

    fn behind(&self, offset: i64) -> Position {
        Position { offset, leader_epoch: self.batch.leader_epoch }
    }
}

impl Records {
    /// The last record, as one that can be kept.
    pub(crate) fn last(&self) -> Option<SharedRecord> {
        let mut last = self.chunks.last()?.clone();
        let before = last.count.checked_sub(1)?;
        if before > 0 {
            last.take(before)?;
        }
        last.next().map(|(record, _)| record)
    }

    pub(crate) fn into_chunks(self) -> impl Iterator<Item = Chunk> {
        self.chunks.into_iter()
    }
}

/// A record with bytes of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedRecord {
    /// Its topic and partition.
    pub partition: Arc<TopicPartition>,
    /// Its offset.
    pub offset: i64,
    /// Milliseconds since 1970; -1 for none.
    pub timestamp: i64,
    /// Leader epoch of its batch; -1 where the broker does not keep it.
    pub leader_epoch: i32,
    /// Its key; `None` is null.
    pub key: Option<Bytes>,
    /// Its value; `None` is null.
    pub value: Option<Bytes>,
    /// Its headers, in the producer's order.
    pub headers: Vec<(Bytes, Option<Bytes>)>,
}
