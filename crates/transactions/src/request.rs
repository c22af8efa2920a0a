//! What is asked of the coordinator of a transactional id, and what it answers.
//!
//! A transactional id that is missing or empty, and a topic that does not exist, are refused before a request comes
//! here, because such a request has no coordinator.

use thalweg_wire::ErrorCode;

use crate::transaction::Producer;
use crate::{Partitions, TransactionState, TransactionVersion};

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionRequest {
    /// InitProducerId of a transactional id.
    Init(InitProducerId),
    /// AddPartitionsToTxn and AddOffsetsToTxn.
    Add(AddPartitions),
    /// AddPartitionsToTxn that only asks whether partitions have been added.
    Verify(VerifyPartitions),
    /// EndTxn.
    End(EndTransaction),
    /// DescribeTransactions of one transactional id.
    Describe {
        /// It.
        transactional_id: String,
    },
    /// ListTransactions.
    List(ListFilter),
}

/// A producer is initialized.
#[derive(Clone, Debug, PartialEq)]
pub struct InitProducerId {
    /// Its transactional id.
    pub transactional_id: String,
    /// How long its transactions may be open, in milliseconds.
    pub timeout_ms: i32,
    /// Whether its transactions are parts of ones that somebody else decides (KIP-939), which have no timeout.
    pub enable_2pc: bool,
    /// Whether a transaction that is prepared stays so (KIP-939), which Kafka 4.4 does not do yet.
    pub keep_prepared: bool,
    /// Who it says it is, if it was initialized before (KIP-360).
    pub expected: Option<Producer>,
}

/// Partitions are added to a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct AddPartitions {
    /// Whose.
    pub transactional_id: String,
    /// Its producer.
    pub producer: Producer,
    /// Which.
    pub partitions: Partitions,
    /// How the client speaks.
    pub client_version: TransactionVersion,
    /// A broker asks, with other transactions in the same request that wait for the answer to this one.
    pub is_of_broker: bool,
}

/// Whether partitions are in a transaction is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyPartitions {
    /// Whose.
    pub transactional_id: String,
    /// Its producer.
    pub producer: Producer,
    /// Which.
    pub partitions: Partitions,
}

/// A transaction is committed or aborted.
#[derive(Clone, Debug, PartialEq)]
pub struct EndTransaction {
    /// Whose.
    pub transactional_id: String,
    /// Its producer.
    pub producer: Producer,
    /// Which of both.
    pub commit: bool,
    /// How the client speaks.
    pub client_version: TransactionVersion,
}

/// Which transactions are listed: those that pass all of the filters.
#[derive(Clone, Debug, PartialEq)]
pub struct ListFilter {
    /// Producer ids; none filters nothing out.
    pub producer_ids: Vec<i64>,
    /// States; `None` filters nothing out, and no state everything.
    pub states: Option<Vec<TransactionState>>,
    /// Those that have been open for longer, in milliseconds; below 0 filters nothing out.
    pub duration_ms: i64,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionResponse {
    /// To [`TransactionRequest::Init`].
    Init(Result<Producer, ErrorCode>),
    /// To [`TransactionRequest::Add`].
    Add(Result<(), ErrorCode>),
    /// To [`TransactionRequest::Verify`]: of each partition, or one error for all of them.
    Verify(Result<Vec<(String, i32, ErrorCode)>, ErrorCode>),
    /// To [`TransactionRequest::End`]: who the producer is from here on, if it speaks a version in which it may be
    /// another one.
    End(Result<Producer, ErrorCode>),
    /// To [`TransactionRequest::Describe`].
    Describe(Result<Description, ErrorCode>),
    /// To [`TransactionRequest::List`].
    List(Result<Vec<Listed>, ErrorCode>),
}

/// A transactional id, described.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// What it is at.
    pub state: TransactionState,
    /// How long its transactions may be open, in milliseconds.
    pub timeout_ms: i32,
    /// When the transaction began, in milliseconds since the epoch; -1 if there is none.
    pub start_ms: i64,
    /// Its producer.
    pub producer: Producer,
    /// What has been added, or, once the outcome is decided, what has no marker yet.
    pub partitions: Partitions,
}

/// A transactional id in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// It.
    pub transactional_id: String,
    /// Its producer's id.
    pub producer_id: i64,
    /// What it is at.
    pub state: TransactionState,
}

/// What has to happen outside once the outcome of a transaction is committed.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteMarkers {
    /// Whose transaction.
    pub transactional_id: String,
    /// The producer of the markers.
    pub producer: Producer,
    /// Whether they are COMMIT markers.
    pub commit: bool,
    /// Where they go; there may be none.
    pub partitions: Partitions,
    /// How the client spoke that decided it.
    pub client_version: TransactionVersion,
}

/// What the coordinator is told.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionEvent {
    /// Markers of [`WriteMarkers`] are written to these partitions, or need not be any more, because the partitions are
    /// gone.
    MarkersWritten {
        /// Whose transaction.
        transactional_id: String,
        /// The producer of the markers.
        producer: Producer,
        /// The partitions.
        partitions: Partitions,
    },
    /// The settings are these from now on.
    Configured(crate::TransactionConfig),
}
