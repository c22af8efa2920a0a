//! Why an operation on a log failed, and which Kafka error code says so.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_wire::ErrorCode;

use crate::partition::role::Role;

/// A file operation failed, or its log directory had failed before.
///
/// The directory is offline and stays so until the process is started again, unless the error is
/// retriable: then the system had no descriptor or no memory for an open, which says nothing about
/// the disk. Nothing was changed, and the same operation may succeed later.
#[derive(Clone, Debug, thiserror::Error)]
#[error("log directory {dir}{}: {reason}", if *.is_retriable { "" } else { " is offline" })]
pub struct StorageError {
    /// The log directory (one of `log.dirs`).
    pub dir: PathBuf,
    /// The first failure of the directory, or why the open did not succeed.
    pub reason: Arc<str>,
    /// The directory is online, and the operation may be repeated.
    pub is_retriable: bool,
}

impl StorageError {
    /// Of an open that did not succeed for lack of descriptors or memory.
    pub(crate) fn retriable(dir: &Path, reason: Arc<str>) -> StorageError {
        StorageError { dir: dir.to_path_buf(), reason, is_retriable: true }
    }

    pub(crate) fn reason_of(action: &str, path: &Path, error: &io::Error) -> Arc<str> {
        format!("cannot {action} {}: {error}", path.display()).into()
    }
}

/// Why nothing was appended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The log was deleted or closed.
    #[error("the log of {topic}-{partition} is closed")]
    Closed {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
    },
    /// The bytes are not whole batches.
    #[error("append to {topic}-{partition}: {reason}")]
    Corrupt {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// What is wrong.
        reason: String,
    },
    /// A batch is larger than `max.message.bytes`.
    #[error("append to {topic}-{partition}: batch of {size} bytes exceeds max.message.bytes {max}")]
    RecordTooLarge {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The batch's bytes.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// The append as a whole is larger than `segment.bytes`.
    #[error("append to {topic}-{partition}: {size} bytes exceed segment.bytes {max}")]
    RecordListTooLarge {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The bytes.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// A producer's sequence does not follow its last one.
    #[error(
        "append to {topic}-{partition}: producer {producer_id} epoch {producer_epoch} sent \
         sequence {sequence}, expected {expected}"
    )]
    OutOfOrderSequence {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The producer.
        producer_id: i64,
        /// Its epoch in the batch.
        producer_epoch: i16,
        /// The batch's first sequence.
        sequence: i32,
        /// What would have been in order.
        expected: i32,
    },
    /// A producer's epoch is older than one the log has seen.
    #[error(
        "append to {topic}-{partition}: producer {producer_id} has epoch {producer_epoch}, the log \
         knows {current}"
    )]
    InvalidProducerEpoch {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The producer.
        producer_id: i64,
        /// Its epoch in the batch.
        producer_epoch: i16,
        /// The newest epoch seen.
        current: i16,
    },
    /// A transactional batch without a transaction, or the other way round.
    #[error("append to {topic}-{partition}: producer {producer_id}: {reason}")]
    InvalidTxnState {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The producer.
        producer_id: i64,
        /// What is wrong.
        reason: &'static str,
    },
    /// A transaction marker from a coordinator that has been replaced.
    #[error(
        "append to {topic}-{partition}: marker for producer {producer_id} from coordinator epoch \
         {coordinator_epoch}, the log knows {current}"
    )]
    CoordinatorFenced {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The producer.
        producer_id: i64,
        /// The marker's coordinator epoch.
        coordinator_epoch: i32,
        /// The newest one seen.
        current: i32,
    },
    /// Batches that keep their offsets begin before the log's end, or were asked for when it ended elsewhere.
    #[error(
        "append to {topic}-{partition}: batches from {first} on do not belong at the log's end {log_end_offset}"
    )]
    UnexpectedOffset {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The first batch's base offset.
        first: i64,
        /// Where the log ends.
        log_end_offset: i64,
    },
    /// Batches that keep their offsets are not in order.
    #[error("append to {topic}-{partition}: offset {offset} does not come after {previous}")]
    OffsetsOutOfOrder {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The offending batch's base offset.
        offset: i64,
        /// The last offset before it.
        previous: i64,
    },
    /// The append is for another leader epoch, or another role, than the log has by now.
    #[error("append to {topic}-{partition} for leader epoch {leader_epoch}, the log is {role:?}")]
    NotLeaderOrFollower {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The append's.
        leader_epoch: i32,
        /// What this broker is to the partition.
        role: Role,
    },
    /// It met a bug here. Whether it was written is not known.
    #[error("append to {topic}-{partition} panicked")]
    Panicked {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
    },
}

impl AppendError {
    /// The code Kafka answers with. Of what is retriable too it is `KAFKA_STORAGE_ERROR`: the one
    /// that clients retry after producing, fetching and listing offsets alike.
    pub fn code(&self) -> ErrorCode {
        match self {
            AppendError::Storage(_) => ErrorCode::KAFKA_STORAGE_ERROR,
            AppendError::Closed { .. } | AppendError::NotLeaderOrFollower { .. } => {
                ErrorCode::NOT_LEADER_OR_FOLLOWER
            }
            AppendError::Corrupt { .. } => ErrorCode::CORRUPT_MESSAGE,
            AppendError::RecordTooLarge { .. } => ErrorCode::MESSAGE_TOO_LARGE,
            AppendError::RecordListTooLarge { .. } => ErrorCode::RECORD_LIST_TOO_LARGE,
            AppendError::OutOfOrderSequence { .. } => ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
            AppendError::InvalidProducerEpoch { .. } => ErrorCode::INVALID_PRODUCER_EPOCH,
            AppendError::InvalidTxnState { .. } => ErrorCode::INVALID_TXN_STATE,
            AppendError::CoordinatorFenced { .. } => ErrorCode::TRANSACTION_COORDINATOR_FENCED,
            AppendError::UnexpectedOffset { .. }
            | AppendError::OffsetsOutOfOrder { .. }
            | AppendError::Panicked { .. } => ErrorCode::UNKNOWN_SERVER_ERROR,
        }
    }
}

/// Why nothing was read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// The offset is before the log's start or after its end.
    #[error(
        "offset {offset} of {topic}-{partition} is outside of {log_start_offset}..={log_end_offset}"
    )]
    OffsetOutOfRange {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// What was asked for.
        offset: i64,
        /// The log's first offset.
        log_start_offset: i64,
        /// The offset after the log's last.
        log_end_offset: i64,
    },
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// What is needed to answer is not in the page cache, and waiting was not allowed. Ask again
    /// with waiting allowed, from a thread that may wait.
    #[error("not in the page cache")]
    WouldBlock,
    /// A batch on disk is damaged.
    #[error(
        "{topic}-{partition}: damaged batch at byte {position} of the segment {segment}: {reason}"
    )]
    Corrupt {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
        /// The segment's base offset.
        segment: i64,
        /// Where in the segment's file.
        position: u64,
        /// What is wrong.
        reason: String,
    },
    /// The log was deleted or closed.
    #[error("the log of {topic}-{partition} is closed")]
    Closed {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: i32,
    },
}

impl ReadError {
    /// The code Kafka answers with. [`ReadError::WouldBlock`] never reaches a client.
    pub fn code(&self) -> ErrorCode {
        match self {
            ReadError::OffsetOutOfRange { .. } => ErrorCode::OFFSET_OUT_OF_RANGE,
            ReadError::Storage(_) => ErrorCode::KAFKA_STORAGE_ERROR,
            ReadError::WouldBlock => ErrorCode::UNKNOWN_SERVER_ERROR,
            ReadError::Corrupt { .. } => ErrorCode::CORRUPT_MESSAGE,
            ReadError::Closed { .. } => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        }
    }
}
