//! Offsets that are committed with a transaction, and in no other way.

use std::fmt;
use std::sync::Arc;

use super::assigned::AssignedPartition;
use super::committable::{CommittableOffset, CommittableOffsetBatch};
use crate::core::fetch::{Records, SharedRecord};
use crate::core::partition::{Position, TopicPartition};

/// Says that a record, and all before it in its partition, are in a transaction. It is committed with
/// that by a [`transactional_sink`](crate::stream::transactional_sink) or a
/// [`transactional_flow`](crate::stream::transactional_flow), and by nothing else.
///
/// A partition that is to be given up waits until each of these was committed or dropped.
#[derive(Clone)]
pub struct TransactionalOffset {
    inner: CommittableOffset,
}

impl TransactionalOffset {
    /// The assignment counts this already.
    pub(in crate::stream) fn of(
        assignment: &Arc<AssignedPartition>,
        behind: Position,
    ) -> TransactionalOffset {
        TransactionalOffset { inner: CommittableOffset::of(assignment, behind) }
    }

    /// The partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        self.inner.topic_partition()
    }

    /// What is committed: the next record to read, behind this one.
    pub fn position(&self) -> Position {
        self.inner.position()
    }

    /// The text that is committed beside it.
    pub fn metadata(&self) -> Option<&str> {
        self.inner.metadata()
    }

    /// Has a text committed beside it.
    #[must_use]
    pub fn with_metadata(self, metadata: impl Into<Box<str>>) -> TransactionalOffset {
        TransactionalOffset { inner: self.inner.with_metadata(metadata) }
    }
}

impl fmt::Debug for TransactionalOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// The highest offset of each partition among those that were added: for what is made of many records.
#[derive(Clone, Default, Debug)]
pub struct TransactionalOffsetBatch {
    inner: CommittableOffsetBatch,
}

impl TransactionalOffsetBatch {
    /// Without any offset.
    pub fn empty() -> TransactionalOffsetBatch {
        TransactionalOffsetBatch::default()
    }

    /// Adds an offset.
    pub fn update(&mut self, offset: TransactionalOffset) {
        self.inner.update(offset.inner);
    }

    /// Adds what another batch has.
    pub fn merge(&mut self, other: TransactionalOffsetBatch) {
        self.inner.merge(other.inner);
    }

    /// The highest offset of each partition, in no order.
    pub fn offsets(&self) -> impl Iterator<Item = TransactionalOffset> {
        self.inner.offsets().map(|offset| TransactionalOffset { inner: offset.clone() })
    }

    /// How many offsets were added.
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
}

impl From<TransactionalOffset> for TransactionalOffsetBatch {
    fn from(offset: TransactionalOffset) -> TransactionalOffsetBatch {
        TransactionalOffsetBatch { inner: offset.inner.into() }
    }
}

impl Extend<TransactionalOffset> for TransactionalOffsetBatch {
    fn extend<I: IntoIterator<Item = TransactionalOffset>>(&mut self, offsets: I) {
        offsets.into_iter().for_each(|offset| self.update(offset));
    }
}

impl FromIterator<TransactionalOffset> for TransactionalOffsetBatch {
    fn from_iter<I: IntoIterator<Item = TransactionalOffset>>(
        offsets: I,
    ) -> TransactionalOffsetBatch {
        let mut batch = TransactionalOffsetBatch::empty();
        batch.extend(offsets);
        batch
    }
}

/// What can be committed with a transaction: an offset, or a batch of them.
pub trait Transactional: sealed::Sealed + Clone + Send + 'static {
    /// The partitions that it has something of.
    #[doc(hidden)]
    fn each(&self, of: &mut dyn FnMut(&CommittableOffset));
}

impl Transactional for TransactionalOffset {
    fn each(&self, of: &mut dyn FnMut(&CommittableOffset)) {
        of(&self.inner);
    }
}

impl Transactional for TransactionalOffsetBatch {
    fn each(&self, of: &mut dyn FnMut(&CommittableOffset)) {
        self.inner.offsets().for_each(of);
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::TransactionalOffset {}
    impl Sealed for super::TransactionalOffsetBatch {}
}

/// A record with the offset that goes into the transaction of what is made of it.
#[derive(Clone, Debug)]
pub struct TransactionalMessage {
    /// The record.
    pub record: SharedRecord,
    /// What is committed with the transaction.
    pub offset: TransactionalOffset,
}

/// Records of one partition with the offset that stands for all of them.
#[derive(Clone, Debug)]
pub struct TransactionalRecords {
    /// The records, in order.
    pub records: Records,
    /// What is committed with the transaction.
    pub offset: TransactionalOffset,
}
