//! What can become of a transaction instead of being committed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::{ApiKey, ErrorCode};

use crate::core::code_name::code_name;
use crate::core::partition::TopicPartition;
use crate::core::produce::error::{ProduceError, ProduceErrorKind};

/// Why a transaction, or a step of it, did not come about (KIP-1050). Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// The transaction is aborted, or can only be aborted: nothing of it will be read by those who
    /// read what is committed. The same producer may do the work again, in another transaction.
    #[error("the transaction is aborted: {0}")]
    Aborted(AbortReason),
    /// The producer cannot go on; another one has to be made. A commit that ends so may have been
    /// carried out: whoever has to know looks at what the transaction wrote.
    #[error("the producer cannot go on: {0}")]
    Fatal(ProduceErrorKind),
    /// The coordinator does not let this client use the transactional id. The same producer may
    /// ask again.
    #[error("{api} was answered with {}", code_name(*.code))]
    Refused {
        /// What was asked.
        api: ApiKey,
        /// The code.
        code: ErrorCode,
    },
    /// It is not over within `max.block.ms`, and goes on without anybody waiting for it.
    /// [`Producer::begin`](crate::Producer::begin) waits until it is over.
    #[error("{operation} is not over after {} ms, and goes on{}", after.as_millis(), last_answer(.last))]
    Timeout {
        /// What was waited for.
        operation: &'static str,
        /// How long.
        after: Duration,
        /// What the coordinator answered last, or why it could not be asked.
        last: Option<Arc<str>>,
    },
    /// A transaction of this producer is open: it has one at a time.
    #[error("a transaction of this producer is open")]
    Open,
    /// The producer has no `transactional.id`.
    #[error("the producer has no transactional.id")]
    NotTransactional,
}

impl TransactionError {
    /// Whether the transaction is aborted, and the same producer may do the work again.
    pub fn is_aborted(&self) -> bool {
        matches!(self, TransactionError::Aborted(_))
    }

    /// Whether the same may work later without anybody changing anything: in another transaction, or by
    /// waiting on. A record that is too large is so the next time, too, and who was fenced stays it. A commit that
    /// took too long may still come about: who does its work again looks first at what is committed, as a
    /// stream does that is begun again.
    pub fn is_retriable(&self) -> bool {
        match self {
            TransactionError::Aborted(reason) => reason.is_retriable(),
            TransactionError::Timeout { .. } => true,
            TransactionError::Refused { code, .. } => code.is_retriable(),
            TransactionError::Fatal(_)
            | TransactionError::Open
            | TransactionError::NotTransactional => false,
        }
    }

    /// Whether the producer cannot go on.
    pub fn is_fatal(&self) -> bool {
        matches!(self, TransactionError::Fatal(_))
    }

    /// Whether the transaction took longer than `transaction.timeout.ms`, or another producer with the same
    /// `transactional.id` has taken over. The codes do not tell one from the other: for the former brokers answer
    /// PRODUCER_FENCED, and with `transaction.version` 2 INVALID_TXN_STATE.
    pub fn is_fenced(&self) -> bool {
        matches!(self, TransactionError::Fatal(kind) if kind.is_fenced())
    }
}

/// Why a transaction can only be aborted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AbortReason {
    /// A record of it was not acknowledged.
    Record(ProduceError),
    /// A broker refused a step of it.
    Broker {
        /// What was asked.
        api: ApiKey,
        /// The partition or the group that it was about.
        about: Arc<str>,
        /// The code.
        code: ErrorCode,
    },
    /// The producer was closed while it was open.
    Closed,
    /// A partition that it has an offset of was given up: its records are another member's to work on.
    Revoked(TopicPartition),
    /// Something that was read of this partition before is in no transaction that was committed: a stream has to
    /// read it again before it goes on.
    Skipped(TopicPartition),
    /// A stream's envelopes were out of order: this one's offset came after later ones of its partition were
    /// committed.
    Order {
        /// The partition.
        partition: TopicPartition,
        /// The offset.
        offset: i64,
    },
}

impl AbortReason {
    fn is_retriable(&self) -> bool {
        match self {
            AbortReason::Record(error) => match &error.kind {
                ProduceErrorKind::Broker { code, .. } => is_settled_by_another(*code),
                _ => error.is_retriable(),
            },
            AbortReason::Broker { code, .. } => is_settled_by_another(*code),
            AbortReason::Revoked(_) | AbortReason::Skipped(_) => true,
            AbortReason::Closed | AbortReason::Order { .. } => false,
        }
    }
}

/// Whether another transaction, with another epoch or as another generation, may do better.
fn is_settled_by_another(code: ErrorCode) -> bool {
    code.is_retriable()
        || matches!(
            code,
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
                | ErrorCode::UNKNOWN_PRODUCER_ID
                | ErrorCode::INVALID_PRODUCER_EPOCH
                | ErrorCode::TRANSACTION_ABORTABLE
                | ErrorCode::INVALID_TXN_STATE
                | ErrorCode::OPERATION_NOT_ATTEMPTED
                | ErrorCode::ILLEGAL_GENERATION
                | ErrorCode::UNKNOWN_MEMBER_ID
                | ErrorCode::STALE_MEMBER_EPOCH
                | ErrorCode::GROUP_ID_NOT_FOUND
                | ErrorCode::REBALANCE_IN_PROGRESS
        )
}

impl fmt::Display for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AbortReason::Record(error) => write!(f, "{error}"),
            AbortReason::Closed => f.write_str("the producer was closed"),
            AbortReason::Revoked(partition) => {
                write!(f, "{partition} was given up before it was committed")
            }
            AbortReason::Skipped(partition) => {
                write!(f, "what was read of {partition} before was not committed")
            }
            AbortReason::Order { partition, offset } => {
                write!(f, "offset {offset} of {partition} came after later ones were committed")
            }
            AbortReason::Broker { api, about, code } => {
                write!(f, "{api} for {about} was answered with {}", code_name(*code))
            }
        }
    }
}

fn last_answer(last: &Option<Arc<str>>) -> String {
    last.as_ref().map_or_else(String::new, |last| format!("; the last answer: {last}"))
}
