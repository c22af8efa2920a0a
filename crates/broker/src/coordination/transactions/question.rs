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

#[cfg(test)]
mod tests {
    use thalweg_wire::messages::add_partitions_to_txn_response::{
        AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
    };

    use super::*;

    fn verdict(operation: Operation, codes: &[ErrorCode]) -> Verdict {
        let partition = |(index, code): (usize, &ErrorCode)| AddPartitionsToTxnPartitionResult {
            partition_index: i32::try_from(index).unwrap(),
            partition_error_code: code.0,
            ..Default::default()
        };
        let topic = AddPartitionsToTxnTopicResult {
            name: "t".into(),
            results_by_partition: codes.iter().enumerate().map(partition).collect(),
            ..Default::default()
        };
        let result = AddPartitionsToTxnResult { topic_results: vec![topic], ..Default::default() };
        Verdict::of_result(operation, result)
    }

    #[test]
    fn errors_are_those_that_the_clients_version_knows() {
        let codes = [
            ErrorCode::NONE,
            ErrorCode::PRODUCER_FENCED,
            ErrorCode::TRANSACTION_ABORTABLE,
            ErrorCode::CONCURRENT_TRANSACTIONS,
        ];
        for (operation, abortable) in [
            (Operation::Verify, ErrorCode::INVALID_TXN_STATE),
            (Operation::VerifyAbortable, ErrorCode::TRANSACTION_ABORTABLE),
            (Operation::Add, ErrorCode::TRANSACTION_ABORTABLE),
        ] {
            let said = verdict(operation, &codes);
            let expected = [
                ErrorCode::NONE,
                ErrorCode::INVALID_PRODUCER_EPOCH,
                abortable,
                ErrorCode::CONCURRENT_TRANSACTIONS,
                // Not named, and so not refused.
                ErrorCode::NONE,
            ];
            for (partition, expected) in (0..).zip(expected) {
                assert_eq!(said.of("t", partition), expected, "{operation:?} {partition}");
                assert_eq!(said.of("other", partition), ErrorCode::NONE);
            }
            assert!(said.has(ErrorCode::CONCURRENT_TRANSACTIONS));
            assert_eq!(said.failures(9), 3);
        }
        assert!(!verdict(Operation::Add, &codes[..3]).has(ErrorCode::CONCURRENT_TRANSACTIONS));
        let all = Verdict::All(ErrorCode::NETWORK_EXCEPTION);
        assert_eq!((all.of("t", 7), all.failures(9)), (ErrorCode::NETWORK_EXCEPTION, 9));
    }

    #[test]
    fn who_leaves_adding_partitions_to_the_broker_has_them_added() {
        let expected = [(10, true, false), (11, true, false), (12, false, true), (13, false, true)];
        for (version, verify_only, bumps_epoch) in expected {
            let operation = Operation::of_produce(version);
            assert_eq!(operation.bumps_epoch(), bumps_epoch);
            let question = Question {
                transactional_id: "id".into(),
                producer_id: 7,
                producer_epoch: 1,
                operation,
                topics: BTreeMap::from([("t".into(), vec![3, 4]), ("u".into(), vec![0])]),
            };
            assert_eq!(question.partitions(), 3);
            let transaction = question.to_transaction();
            assert_eq!(transaction.verify_only, verify_only);
            assert_eq!(transaction.topics.len(), 2);
            assert_eq!(transaction.topics[0].partitions, [3, 4]);
        }
    }
}
