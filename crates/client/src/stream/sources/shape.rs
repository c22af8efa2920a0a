//! What sources hand out for a record.

use std::fmt;
use std::sync::Arc;

use crate::core::fetch::{Records, SharedRecord};
use crate::core::partition::Position;
use crate::stream::hub::assigned::AssignedPartition;
use crate::stream::hub::committable::{CommittableMessage, CommittableOffset, CommittableRecords};
use crate::stream::hub::transactional::{
    TransactionalMessage, TransactionalOffset, TransactionalRecords,
};

/// What a source makes of records.
pub trait Shape: sealed::Sealed + Clone + Unpin {
    /// What it hands out for a record.
    type Item;
    /// What it hands out for several records of one partition.
    type Batch;

    /// Whether what is handed out can be acknowledged.
    #[doc(hidden)]
    const HAS_OFFSET: bool;

    /// Whether offsets are committed by transactions alone.
    #[doc(hidden)]
    const IN_TRANSACTIONS: bool = false;

    #[doc(hidden)]
    fn item(
        &self,
        record: SharedRecord,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> Self::Item;

    #[doc(hidden)]
    fn batch(
        &self,
        records: Records,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> Self::Batch;
}

/// Records, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// Records with the offset that acknowledges them.
#[derive(Clone, Default)]
pub struct WithOffset {
    metadata: Option<Metadata>,
}

type Metadata = Arc<dyn Fn(&SharedRecord) -> String + Send + Sync>;

impl WithOffset {
    pub(in crate::stream) fn with_metadata(
        metadata: impl Fn(&SharedRecord) -> String + Send + Sync + 'static,
    ) -> WithOffset {
        WithOffset { metadata: Some(Arc::new(metadata)) }
    }
}

impl fmt::Debug for WithOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WithOffset(metadata: {})", self.metadata.is_some())
    }
}

/// The same as a pair, whose second half travels along as context.
#[derive(Clone, Copy, Debug)]
pub struct InContext;

/// Records with the offset that goes into the transaction of what is made of them.
#[derive(Clone, Copy, Debug)]
pub struct InTransaction;

impl Shape for InTransaction {
    type Item = TransactionalMessage;
    type Batch = TransactionalRecords;
    const HAS_OFFSET: bool = true;
    const IN_TRANSACTIONS: bool = true;

    fn item(
        &self,
        record: SharedRecord,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> TransactionalMessage {
        TransactionalMessage { record, offset: TransactionalOffset::of(assignment, behind) }
    }

    fn batch(
        &self,
        records: Records,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> TransactionalRecords {
        TransactionalRecords { records, offset: TransactionalOffset::of(assignment, behind) }
    }
}

impl Shape for Plain {
    type Item = SharedRecord;
    type Batch = Records;
    const HAS_OFFSET: bool = false;

    fn item(&self, record: SharedRecord, _: Position, _: &Arc<AssignedPartition>) -> SharedRecord {
        record
    }

    fn batch(&self, records: Records, _: Position, _: &Arc<AssignedPartition>) -> Records {
        records
    }
}

impl Shape for WithOffset {
    type Item = CommittableMessage;
    type Batch = CommittableRecords;
    const HAS_OFFSET: bool = true;

    fn item(
        &self,
        record: SharedRecord,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> CommittableMessage {
        let mut offset = CommittableOffset::of(assignment, behind);
        if let Some(metadata) = &self.metadata {
            offset = offset.with_metadata(metadata(&record));
        }
        CommittableMessage { record, offset }
    }

    fn batch(
        &self,
        records: Records,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> CommittableRecords {
        let mut offset = CommittableOffset::of(assignment, behind);
        if let Some(metadata) = &self.metadata
            && let Some(last) = records.last()
        {
            offset = offset.with_metadata(metadata(&last));
        }
        CommittableRecords { records, offset }
    }
}

impl Shape for InContext {
    type Item = (SharedRecord, CommittableOffset);
    type Batch = (Records, CommittableOffset);
    const HAS_OFFSET: bool = true;

    fn item(
        &self,
        record: SharedRecord,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> Self::Item {
        (record, CommittableOffset::of(assignment, behind))
    }

    fn batch(
        &self,
        records: Records,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> Self::Batch {
        (records, CommittableOffset::of(assignment, behind))
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Plain {}
    impl Sealed for super::WithOffset {}
    impl Sealed for super::InContext {}
    impl Sealed for super::InTransaction {}
}
