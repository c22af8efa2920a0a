//! What a poll hands out: views on fetched bytes, decoded when they are looked at.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;
use thalweg_records::record::{Headers, Record, RecordContext};

use crate::core::partition::TopicPartition;

/// Records of one batch, in order, behind each other in `bytes`. All of them were read once when
/// they were cut out, so reading them again cannot fail.
#[derive(Clone)]
pub(crate) struct Chunk {
    pub partition: Arc<TopicPartition>,
    pub bytes: Bytes,
    pub context: RecordContext,
    pub count: usize,
    pub leader_epoch: i32,
}

/// Records that a consumer was given: views that keep the fetched bytes alive, and in the
/// consumer's budget, until this is dropped. For records that are kept for long there is
/// [`ConsumerRecord::to_owned`].
#[derive(Clone, Default)]
pub struct Records {
    chunks: SmallVec<[Chunk; 1]>,
    count: usize,
}

impl Records {
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
            (&*chunk.partition, Iter { chunks: [].iter(), now })
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

#[derive(Clone)]
struct ChunkIter<'a> {
    chunk: &'a Chunk,
    bytes: &'a [u8],
    left: usize,
}

impl<'a> ChunkIter<'a> {
    fn new(chunk: &'a Chunk) -> ChunkIter<'a> {
        ChunkIter { chunk, bytes: &chunk.bytes, left: chunk.count }
    }

    #[inline]
    fn next(&mut self) -> Option<ConsumerRecord<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (record, len) = self.chunk.context.read(self.bytes).ok()?;
        self.bytes = &self.bytes[len..];
        let Chunk { partition, leader_epoch, .. } = self.chunk;
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
        self.record.headers
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
