//! What a transactional producer asks of coordinators, and what their answers mean.
//!
//! Errors are told apart as Kafka 4.4's own producer does (`TransactionManager`), with one exception:
//! a code that nobody expects in an answer about partitions or offsets is the producer's end there, and
//! here the transaction's. Aborting is always safe, and where it does not work the producer cannot go on.

use std::sync::Arc;

use thalweg_wire::{ApiKey, ErrorCode};

use crate::core::partition::{Position, TopicPartition};

/// Offsets of a group, to be committed with the transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionOffsets {
    /// The group's id.
    pub group: Arc<str>,
    /// The member's generation or epoch, -1 for who is no member.
    pub generation: i32,
    /// The member's id, empty for who is no member.
    pub member: String,
    /// `group.instance.id` of a static member.
    pub instance: Option<String>,
    /// The next records to read, with a text each.
    pub offsets: Vec<(TopicPartition, Position, Option<String>)>,
}

/// How far brokers take part in a transaction (KIP-890).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Protocol {
    /// Partitions and groups are added by the client, and transactions share an epoch.
    #[default]
    V1,
    /// Brokers add partitions and groups, and every transaction has an epoch of its own
    /// (`transaction.version` 2).
    V2,
}

/// What is to be asked of a coordinator next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionRequest {
    /// InitProducerId, of the transaction's coordinator. -1 twice but for another epoch.
    Initialize {
        /// The producer id so far.
        producer_id: i64,
        /// The epoch so far.
        epoch: i16,
    },
    /// AddPartitionsToTxn.
    AddPartitions {
        /// The producer's id and epoch.
        producer: (i64, i16),
        /// The partitions.
        partitions: Vec<Arc<TopicPartition>>,
    },
    /// AddOffsetsToTxn.
    AddOffsets {
        /// The producer's id and epoch.
        producer: (i64, i16),
        /// The group.
        group: Arc<str>,
    },
    /// TxnOffsetCommit, of the group's coordinator.
    CommitOffsets {
        /// The producer's id and epoch.
        producer: (i64, i16),
        /// The offsets.
        offsets: Arc<TransactionOffsets>,
        /// How far brokers take part.
        protocol: Protocol,
    },
    /// EndTxn.
    End {
        /// The producer's id and epoch.
        producer: (i64, i16),
        /// Whether it is committed, else it is aborted.
        is_commit: bool,
        /// How far brokers take part.
        protocol: Protocol,
    },
}

impl TransactionRequest {
    /// The API.
    pub fn api(&self) -> ApiKey {
        match self {
            TransactionRequest::Initialize { .. } => ApiKey::INIT_PRODUCER_ID,
            TransactionRequest::AddPartitions { .. } => ApiKey::ADD_PARTITIONS_TO_TXN,
            TransactionRequest::AddOffsets { .. } => ApiKey::ADD_OFFSETS_TO_TXN,
            TransactionRequest::CommitOffsets { .. } => ApiKey::TXN_OFFSET_COMMIT,
            TransactionRequest::End { .. } => ApiKey::END_TXN,
        }
    }

    /// The group whose coordinator is to be asked, where it is not the transaction's.
    pub fn group(&self) -> Option<&Arc<str>> {
        match self {
            TransactionRequest::CommitOffsets { offsets, .. } => Some(&offsets.group),
            _ => None,
        }
    }

    /// What a code means.
    pub(super) fn verdict(&self, code: ErrorCode) -> Verdict {
        use TransactionRequest::{AddOffsets, AddPartitions, CommitOffsets, End, Initialize};
        match (self, code) {
            (_, ErrorCode::NONE) => Verdict::Done,
            (_, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE)
            | (CommitOffsets { .. }, ErrorCode::REQUEST_TIMED_OUT) => Verdict::FindCoordinator,
            (_, code) if code.is_retriable() => Verdict::Retry,
            (_, ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED) => {
                Verdict::Fatal(ErrorCode::PRODUCER_FENCED)
            }
            (
                Initialize { .. },
                ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
                | ErrorCode::TRANSACTION_ABORTABLE,
            ) => Verdict::Refused,
            (Initialize { .. }, code) => Verdict::Fatal(code),
            (
                _,
                ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                | ErrorCode::INVALID_TXN_STATE
                | ErrorCode::INVALID_PRODUCER_ID_MAPPING
                | ErrorCode::UNSUPPORTED_VERSION
                | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT,
            ) => Verdict::Fatal(code),
            // Aborting again would end in the same way.
            (End { is_commit: false, .. }, code) => Verdict::Fatal(code),
            (_, ErrorCode::UNKNOWN_PRODUCER_ID) => Verdict::Abort { needs_epoch: true },
            (AddPartitions { .. } | AddOffsets { .. } | CommitOffsets { .. }, _)
            | (End { .. }, ErrorCode::TRANSACTION_ABORTABLE) => {
                Verdict::Abort { needs_epoch: false }
            }
            (End { .. }, code) => Verdict::Fatal(code),
        }
    }
}

/// What follows from a coordinator's code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Done,
    /// The same is asked again.
    Retry,
    /// Somebody else is to be asked.
    FindCoordinator,
    /// It is as if it had not been asked, and the application has to hear of it.
    Refused,
    /// The transaction can only be aborted; where the client counts epochs it takes another one.
    Abort {
        needs_epoch: bool,
    },
    /// The producer cannot go on.
    Fatal(ErrorCode),
}

/// What came of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionAnswer {
    /// One code for all of it.
    Code(ErrorCode),
    /// It was done, and the producer's next transaction has this id and epoch.
    Producer(i64, i16),
    /// One code for each partition.
    Partitions(Vec<(TopicPartition, ErrorCode)>),
    /// The coordinator cannot be reached, and has seen nothing of it.
    Unasked(Arc<str>),
    /// Nobody knows: the coordinator did not answer. It may come to read the request, be it much later.
    Lost(Arc<str>),
}

/// When to ask on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AskNext {
    /// What comes next, at once.
    Now,
    /// The same again after a moment: the transaction before is being completed.
    Soon,
    /// The same again after a pause.
    Later,
    /// The same again after a pause, of whoever coordinates then.
    OfAnother,
}
