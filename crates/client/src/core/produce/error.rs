//! What can become of a record instead of being acknowledged.

use std::fmt;
use std::sync::Arc;

use thalweg_wire::ErrorCode;

use crate::core::code_name::code_name;

/// A record that was not acknowledged, and why. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ProduceError {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition; `None` while none was chosen.
    pub partition: Option<i32>,
    /// What is wrong.
    pub kind: ProduceErrorKind,
}

impl ProduceError {
    /// Whether the same may work later without anybody doing something. A record of which this
    /// says yes may be in the log nevertheless: an answer that was lost tells nothing.
    pub fn is_retriable(&self) -> bool {
        self.kind.is_retriable()
    }
}

impl fmt::Display for ProduceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.topic)?;
        if let Some(partition) = self.partition {
            write!(f, "-{partition}")?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl std::error::Error for ProduceError {}

/// Why a record was not acknowledged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProduceErrorKind {
    /// The record alone is larger than a limit of this producer.
    #[error("the record takes up to {bytes} bytes, and {config} is {limit}")]
    TooLarge {
        /// Bytes that it may take, batch header included.
        bytes: usize,
        /// The limit.
        limit: usize,
        /// Kafka's name of the limit.
        config: &'static str,
    },
    /// A timestamp that no record can have.
    #[error("timestamp {0} is negative")]
    Timestamp(i64),
    /// The topic does not have the partition that was asked for.
    #[error("the topic has {count} partitions")]
    NoSuchPartition {
        /// How many it has.
        count: usize,
    },
    /// Nothing is known of the topic: it does not exist, or nobody could be asked in time.
    #[error("nothing is known of the topic{}{}", because(*.code), saying(.cause))]
    UnknownTopic {
        /// What the broker says of it.
        code: Option<ErrorCode>,
        /// Why nobody could be asked.
        cause: Option<Arc<str>>,
    },
    /// As much as fits `buffer.memory` waits to be acknowledged, and did so for `max.block.ms`.
    #[error("no room in buffer.memory within {waited_ms} ms")]
    Full {
        /// How long there was no room.
        waited_ms: u64,
    },
    /// The record was not acknowledged within `delivery.timeout.ms`, or not after `retries`.
    #[error(
        "not acknowledged within {after_ms} ms, sent {attempts} times{}{}",
        because(*.last),
        saying(.cause)
    )]
    Expired {
        /// Milliseconds since its batch was begun.
        after_ms: u64,
        /// How often it was sent.
        attempts: u32,
        /// What a broker said last.
        last: Option<ErrorCode>,
        /// Why its broker, or any, cannot be reached.
        cause: Option<Arc<str>>,
    },
    /// The broker refuses.
    #[error("the broker answers {}{}", code_name(*.code), saying(.message))]
    Broker {
        /// The code.
        code: ErrorCode,
        /// What the broker says of it, or of this very record.
        message: Option<Arc<str>>,
    },
    /// The producer cannot go on: the cluster gives it no producer id.
    #[error("no producer id: {}", code_name(*.0))]
    NoProducerId(ErrorCode),
    /// The producer cannot go on: a broker's answer to one of its batches rules out all others.
    #[error("{}", fatal(*.code, .message))]
    Fatal {
        /// The code.
        code: ErrorCode,
        /// What the broker, or the client, says of it.
        message: Option<Arc<str>>,
    },
    /// A transactional producer takes records only while a transaction is open.
    #[error("no transaction is open")]
    NoTransaction,
    /// The transaction that the record was for is aborted.
    #[error("its transaction is aborted{}", saying(.reason))]
    Aborted {
        /// Why, where it was not the application's own decision.
        reason: Option<Arc<str>>,
    },
    /// A task of the producer broke down, which is a fault in this client.
    #[error("the producer broke down; what it was doing is in the log of the program")]
    Broken,
    /// The producer was closed first.
    #[error("the producer was closed")]
    Closed,
}

impl ProduceErrorKind {
    /// Whether a transaction took longer than `transaction.timeout.ms`, or another producer with the same
    /// `transactional.id` has taken over. The codes do not tell one from the other: for the former brokers answer
    /// PRODUCER_FENCED, and with `transaction.version` 2 INVALID_TXN_STATE.
    pub fn is_fenced(&self) -> bool {
        matches!(self, ProduceErrorKind::Fatal { code, .. } if ends_transactions(*code))
    }

    /// See [`ProduceError::is_retriable`].
    pub fn is_retriable(&self) -> bool {
        match self {
            ProduceErrorKind::Full { .. } | ProduceErrorKind::Expired { .. } => true,
            ProduceErrorKind::UnknownTopic { code, .. } => code.is_none_or(ErrorCode::is_retriable),
            ProduceErrorKind::Broker { code, .. } => code.is_retriable(),
            _ => false,
        }
    }
}

/// Whether a code means that the coordinator has ended the producer's transaction by itself.
fn ends_transactions(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_TXN_STATE)
}

fn fatal(code: ErrorCode, message: &Option<Arc<str>>) -> String {
    let answer = format!("{}{}", code_name(code), saying(message));
    match ends_transactions(code) {
        true => format!(
            "its transaction took longer than transaction.timeout.ms, or it was fenced by another producer of its \
             transactional.id ({answer})"
        ),
        false => format!("the broker answers {answer}, which concerns the whole producer"),
    }
}

fn because(code: Option<ErrorCode>) -> String {
    code.map_or_else(String::new, |code| format!(": {}", code_name(code)))
}

fn saying(message: &Option<Arc<str>>) -> String {
    message.as_ref().map_or_else(String::new, |message| format!(": {message}"))
}
