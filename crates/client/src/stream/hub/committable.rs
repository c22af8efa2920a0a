//! Offsets that an application acknowledges.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::Hub;
use super::assigned::AssignedPartition;
use crate::cluster::coordinator::CommittedOffset;
use crate::core::fetch::{Records, SharedRecord};
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;

/// Says that a record, and all before it in its partition, are done with. Nothing is committed
/// unless this is given to a [`Committer`](crate::stream::Committer), or [`Self::commit`] is called; but once
/// everything that a partition handed out is, so are offsets behind it that no application sees, such
/// as those of markers of transactions, every
/// [`ConsumerConfig::auto_commit_interval`](crate::ConsumerConfig::auto_commit_interval).
///
/// A partition that is to be given up waits until each of these was acknowledged or dropped: keep
/// them no longer than the record is being worked on. Dropping one says that the record is not
/// acknowledged by it; what is acknowledged behind it includes it all the same.
pub struct CommittableOffset {
    assignment: Arc<AssignedPartition>,
    position: Position,
    /// The assignment's when the record was handed out.
    lap: u32,
    metadata: Option<Box<str>>,
}

impl CommittableOffset {
    /// The assignment counts this already.
    pub(in crate::stream) fn of(
        assignment: &Arc<AssignedPartition>,
        position: Position,
    ) -> CommittableOffset {
        let (lap, assignment) = (assignment.lap(), Arc::clone(assignment));
        CommittableOffset { assignment, position, lap, metadata: None }
    }

    /// Whether the log still has the record at this offset, as far as is known.
    pub(in crate::stream) fn is_of_now(&self) -> bool {
        self.lap == self.assignment.lap()
    }

    pub(in crate::stream) fn assignment(&self) -> &Arc<AssignedPartition> {
        &self.assignment
    }

    /// The partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.assignment.partition
    }

    /// What is committed: the next record to read, behind this one.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Commits a position further on, before which nothing else was handed out.
    pub(in crate::stream) fn pass_to(&mut self, position: Position) {
        self.position = position;
    }

    /// The text that is committed beside it.
    pub fn metadata(&self) -> Option<&str> {
        self.metadata.as_deref()
    }

    /// Has a text committed beside it.
    pub fn with_metadata(mut self, metadata: impl Into<Box<str>>) -> CommittableOffset {
        self.metadata = Some(metadata.into());
        self
    }

    /// Commits it, and waits until the coordinator has it. That costs a request unless others
    /// commit at the same time; a [`Committer`](crate::stream::Committer) does it for many at once. If the
    /// future is dropped it is committed soon, without anybody waiting.
    ///
    /// # Errors
    /// [`Error::Revoked`] when the partition was given up before; others when the coordinator
    /// refuses, or cannot be asked in time.
    pub async fn commit(self) -> Result<(), Error> {
        let assignment = Arc::clone(&self.assignment);
        let offset = self.position.offset;
        let revoked = || Error::Revoked(Box::new(assignment.partition.clone()));
        let hub = assignment.hub().ok_or_else(revoked)?;
        if !self.acknowledge() {
            return Err(revoked());
        }
        let flushed = hub.flush().await;
        if assignment.is_committed(offset) { Ok(()) } else { flushed.and_then(|()| Err(revoked())) }
    }

    /// Says whether the partition is still held.
    pub(in crate::stream) fn acknowledge(mut self) -> bool {
        if !self.is_of_now() {
            return self.assignment.is_held();
        }
        let metadata = self.metadata.take().map(String::from);
        self.assignment.acknowledge(CommittedOffset { position: self.position, metadata })
    }
}

impl Clone for CommittableOffset {
    fn clone(&self) -> CommittableOffset {
        self.assignment.retain();
        CommittableOffset {
            assignment: Arc::clone(&self.assignment),
            position: self.position,
            lap: self.lap,
            metadata: self.metadata.clone(),
        }
    }
}

impl Drop for CommittableOffset {
    fn drop(&mut self) {
        self.assignment.release();
    }
}

impl fmt::Debug for CommittableOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}", self.topic_partition(), self.position.offset)
    }
}

/// The highest offset of each partition among those that were added: one commit for many records.
#[derive(Clone, Default, Debug)]
pub struct CommittableOffsetBatch {
    /// By the assignment's address.
    offsets: HashMap<usize, CommittableOffset>,
    count: usize,
}

impl CommittableOffsetBatch {
    /// Without any offset.
    pub fn empty() -> CommittableOffsetBatch {
        CommittableOffsetBatch::default()
    }

    /// Adds an offset.
    pub fn update(&mut self, offset: CommittableOffset) {
        self.count += 1;
        self.keep(offset);
    }

    fn keep(&mut self, offset: CommittableOffset) {
        let key = Arc::as_ptr(offset.assignment()) as usize;
        match self.offsets.get_mut(&key) {
            Some(known) if known.position.offset > offset.position.offset => {}
            Some(known) => *known = offset,
            None => drop(self.offsets.insert(key, offset)),
        }
    }

    /// Adds what another batch has.
    pub fn merge(&mut self, other: CommittableOffsetBatch) {
        self.count += other.count;
        other.offsets.into_values().for_each(|offset| self.keep(offset));
    }

    /// How many offsets were added.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The highest offset of each partition, in no order.
    pub fn offsets(&self) -> impl Iterator<Item = &CommittableOffset> {
        self.offsets.values()
    }

    /// Commits it, and waits until the coordinators have it.
    ///
    /// # Errors
    /// As for [`CommittableOffset::commit`]; the other partitions' offsets are committed then, or
    /// will be soon.
    pub async fn commit(self) -> Result<(), Error> {
        let offsets: Vec<_> = self.offsets.into_values().collect();
        let mut revoked = None;
        let mut hubs = Hubs::default();
        for offset in offsets {
            let partition = offset.topic_partition().clone();
            if offset.hand_to(&mut hubs) == 0 {
                revoked = Some(Error::Revoked(Box::new(partition)));
            }
        }
        hubs.flush().await?;
        revoked.map_or(Ok(()), Err)
    }
}

impl From<CommittableOffset> for CommittableOffsetBatch {
    fn from(offset: CommittableOffset) -> CommittableOffsetBatch {
        let mut batch = CommittableOffsetBatch::empty();
        batch.update(offset);
        batch
    }
}

impl Extend<CommittableOffset> for CommittableOffsetBatch {
    fn extend<I: IntoIterator<Item = CommittableOffset>>(&mut self, offsets: I) {
        offsets.into_iter().for_each(|offset| self.update(offset));
    }
}

impl FromIterator<CommittableOffset> for CommittableOffsetBatch {
    fn from_iter<I: IntoIterator<Item = CommittableOffset>>(offsets: I) -> CommittableOffsetBatch {
        let mut batch = CommittableOffsetBatch::empty();
        batch.extend(offsets);
        batch
    }
}

/// The consumers that something was acknowledged to.
#[derive(Default)]
pub struct Hubs {
    hubs: Vec<Arc<Hub>>,
}

impl fmt::Debug for Hubs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hubs({})", self.hubs.len())
    }
}

impl Hubs {
    fn add(&mut self, assignment: &AssignedPartition) {
        let Some(hub) = assignment.hub() else { return };
        if !self.hubs.iter().any(|known| Arc::ptr_eq(known, &hub)) {
            self.hubs.push(hub);
        }
    }

    pub(in crate::stream) fn iter(&self) -> impl Iterator<Item = &Arc<Hub>> {
        self.hubs.iter()
    }

    /// Commits at all of them; the first error counts.
    pub(in crate::stream) async fn flush(&self) -> Result<(), Error> {
        let mut result = Ok(());
        for hub in &self.hubs {
            let flushed = hub.flush().await;
            result = result.and(flushed);
        }
        result
    }
}

/// What can be committed: an offset, or a batch of them.
pub trait Committable: sealed::Sealed + Send {
    /// How many offsets it stands for.
    fn count(&self) -> usize;

    /// Acknowledges it; says how many partitions of it are still held.
    #[doc(hidden)]
    fn hand_to(self, hubs: &mut Hubs) -> usize;
}

impl Committable for CommittableOffset {
    fn count(&self) -> usize {
        1
    }

    fn hand_to(self, hubs: &mut Hubs) -> usize {
        hubs.add(&self.assignment);
        usize::from(self.acknowledge())
    }
}

impl Committable for CommittableOffsetBatch {
    fn count(&self) -> usize {
        self.count
    }

    fn hand_to(self, hubs: &mut Hubs) -> usize {
        self.offsets.into_values().map(|offset| offset.hand_to(hubs)).sum()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::CommittableOffset {}
    impl Sealed for super::CommittableOffsetBatch {}
}

/// A record with the offset that acknowledges it.
#[derive(Clone, Debug)]
pub struct CommittableMessage {
    /// The record.
    pub record: SharedRecord,
    /// What to commit once it is done with.
    pub offset: CommittableOffset,
}

/// Records of one partition with the offset that acknowledges them all.
#[derive(Clone, Debug)]
pub struct CommittableRecords {
    /// The records, in order.
    pub records: Records,
    /// What to commit once all of them are done with.
    pub offset: CommittableOffset,
}
