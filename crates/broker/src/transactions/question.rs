//! What a transaction's coordinator is asked, and what it says.

use std::collections::BTreeMap;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use thalweg_wire::messages::add_partitions_to_txn_response::AddPartitionsToTxnResult;

/// What a client's request, by its version, asks of the coordinator, and which errors the client knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    /// Whether the partitions are part of the transaction. The client does not know TRANSACTION_ABORTABLE.
    Verify,
    /// The same for a client that knows it (KIP-1050).
    VerifyAbortable,
    /// To make them part of it: the client does not do so itself (`transaction.version` 2, KIP-890).
    Add,
}

impl Operation {
    /// Of a Produce request.
    pub(crate) fn of_produce(version: i16) -> Operation {
        match version {
            ..=10 => Operation::Verify,
            11 => Operation::VerifyAbortable,
            12.. => Operation::Add,
        }
    }

    /// Whether each transaction of the client has an epoch of its own.
    pub(crate) fn bumps_epoch(self) -> bool {
        self == Operation::Add
    }

    /// A partition's error as the client is to hear of it.
    fn translated(self, code: ErrorCode) -> ErrorCode {
        match code {
            ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
            ErrorCode::TRANSACTION_ABORTABLE if self == Operation::Verify => {
                ErrorCode::INVALID_TXN_STATE
            }
            code => code,
        }
    }
}

/// What is asked about one transaction.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) transactional_id: String,
    pub(crate) producer_id: i64,
    pub(crate) producer_epoch: i16,
    pub(crate) operation: Operation,
    /// Partitions by topic.
    pub(crate) topics: BTreeMap<String, Vec<i32>>,
}

impl Question {
    /// So many partitions are asked about.
    pub(super) fn partitions(&self) -> usize {
        self.topics.values().map(Vec::len).sum()
    }

    /// As it stands in the request.
    pub(super) fn to_transaction(&self) -> AddPartitionsToTxnTransaction {
        let topic = |(name, partitions): (&String, &Vec<i32>)| AddPartitionsToTxnTopic {
            name: name.clone(),
            partitions: partitions.clone(),
            ..Default::default()
        };
        AddPartitionsToTxnTransaction {
            transactional_id: self.transactional_id.clone(),
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            verify_only: self.operation != Operation::Add,
            topics: self.topics.iter().map(topic).collect(),
            ..Default::default()
        }
    }
}

/// What the coordinator says of the partitions of a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The same of all.
    All(ErrorCode),
    /// Of those that failed, by topic.
    Failed(BTreeMap<String, BTreeMap<i32, ErrorCode>>),
}

impl Verdict {
    /// What came for a transaction.
    pub(super) fn of_result(operation: Operation, result: AddPartitionsToTxnResult) -> Verdict {
        let mut failed: BTreeMap<String, BTreeMap<i32, ErrorCode>> = BTreeMap::new();
        for topic in result.topic_results {
            let codes = topic.results_by_partition.into_iter().filter_map(|partition| {
                let code = ErrorCode(partition.partition_error_code);
                code.is_err().then(|| (partition.partition_index, operation.translated(code)))
            });
            failed.entry(topic.name).or_default().extend(codes);
        }
        Verdict::Failed(failed)
    }

    /// What it says of one partition.
    pub(crate) fn of(&self, topic: &str, partition: i32) -> ErrorCode {
        match self {
            Verdict::All(code) => *code,
            Verdict::Failed(failed) => failed
                .get(topic)
                .and_then(|partitions| partitions.get(&partition))
                .copied()
                .unwrap_or(ErrorCode::NONE),
        }
    }

    /// Whether it says so of any partition.
    pub(crate) fn has(&self, code: ErrorCode) -> bool {
        match self {
            Verdict::All(all) => *all == code,
            Verdict::Failed(failed) => {
                failed.values().flat_map(BTreeMap::values).any(|one| *one == code)
            }
        }
    }

    /// Partitions that failed, of so many.
    pub(super) fn failures(&self, asked: usize) -> usize {
        match self {
            Verdict::All(code) if code.is_ok() => 0,
            Verdict::All(_) => asked,
            Verdict::Failed(failed) => failed.values().map(BTreeMap::len).sum(),
        }
    }
}
