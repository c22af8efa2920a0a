//! What can be wrong with one partition.

use thalweg_wire::ErrorCode;

use super::buffer::Fault;
use crate::core::code_name::code_name;
use crate::core::partition::TopicPartition;

/// A partition that cannot be read, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{partition} at offset {offset}: {kind}")]
pub struct PartitionError {
    /// The partition.
    pub partition: TopicPartition,
    /// Where the consumer stands in it; -1 where that is not known.
    pub offset: i64,
    /// What is wrong.
    pub kind: PartitionErrorKind,
}

/// Why a partition cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionErrorKind {
    /// What was fetched is broken. Seek behind it to go on.
    #[error(transparent)]
    Fault(Fault),
    /// The log does not have the offset, and where to begin instead is not set.
    #[error("the log has no such offset, and auto.offset.reset is none")]
    OffsetOutOfRange,
    /// There is no offset to begin at, and where to begin instead is not set.
    #[error("there is no committed offset, and auto.offset.reset is none")]
    NoOffset,
    /// Records that were read are no longer part of the log (KIP-320), and where to begin instead
    /// is not set.
    #[error("the log was truncated; it agrees with what was read up to offset {agrees_to}")]
    Truncated {
        /// First offset at which the log differs.
        agrees_to: i64,
    },
    /// The topic was deleted and created again, and where to begin instead is not set.
    #[error("the topic was deleted and created again, and auto.offset.reset is none")]
    TopicRecreated,
    /// The broker refuses.
    #[error("the broker answers {}", code_name(*.0))]
    Broker(ErrorCode),
}

impl PartitionErrorKind {
    /// Whether the same may work later without anybody doing something.
    pub fn is_retriable(&self) -> bool {
        match self {
            PartitionErrorKind::Broker(code) => code.is_retriable(),
            _ => false,
        }
    }
}
