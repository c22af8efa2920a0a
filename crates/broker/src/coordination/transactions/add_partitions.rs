//! Adds partitions to a transaction that this broker coordinates, or says whether they are part of it.

use std::collections::BTreeMap;

use thalweg_metadata::controller::is_internal_topic;
use thalweg_transactions::{
    AddPartitions, Partitions, Producer, TransactionRequest, TransactionResponse,
    TransactionVersion, VerifyPartitions,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use thalweg_wire::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult,
};

use crate::coordination::Coordination;
use crate::coordination::transaction_coordinator::Begun as Asking;
use crate::coordination::transactions::topic_partitions;

/// A question about one transaction.
pub(crate) struct Asked {
    pub(crate) transactional_id: String,
    pub(crate) producer: Producer,
    pub(crate) topics: Vec<AddPartitionsToTxnTopic>,
    pub(crate) verify_only: bool,
    pub(crate) client_version: TransactionVersion,
    pub(crate) is_of_client: bool,
}

/// What a broker asks.
pub(crate) fn of_broker(transaction: AddPartitionsToTxnTransaction) -> Asked {
    Asked {
        transactional_id: transaction.transactional_id,
        producer: Producer { id: transaction.producer_id, epoch: transaction.producer_epoch },
        topics: transaction.topics,
        verify_only: transaction.verify_only,
        client_version: TransactionVersion::V2,
        is_of_client: false,
    }
}

/// Adds partitions to a transaction, or asks whether they are part of it.
pub(crate) async fn ask(coordination: &Coordination, asked: Asked) -> AddPartitionsToTxnResult {
    begin(coordination, asked).result().await
}

/// What became of a question at once.
pub(crate) enum Begun {
    Answered(AddPartitionsToTxnResult),
    /// The coordinator has it.
    Asking {
        transactional_id: String,
        topics: Vec<AddPartitionsToTxnTopic>,
        asking: Asking,
    },
}

/// Begins with [`ask`].
pub(crate) fn begin(coordination: &Coordination, asked: Asked) -> Begun {
    let Asked { transactional_id, producer, topics, verify_only, client_version, is_of_client } =
        asked;
    let refusals = refusals(coordination, &topics, is_of_client);
    if !refusals.is_empty() {
        // Nothing is done for the others.
        let code = |topic: &str, index| {
            let refused = refusals.get(&(topic, index)).copied();
            refused.unwrap_or(ErrorCode::OPERATION_NOT_ATTEMPTED)
        };
        return Begun::Answered(result(transactional_id, &topics, code));
    }
    if transactional_id.is_empty() {
        let refused = result(transactional_id, &topics, |_, _| ErrorCode::INVALID_REQUEST);
        return Begun::Answered(refused);
    }
    let named = topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|index| (topic.name.as_str(), *index)));
    let partitions: Partitions = named.collect();
    let id = transactional_id.clone();
    let request = match verify_only {
        true => TransactionRequest::Verify(VerifyPartitions {
            transactional_id: id,
            producer,
            partitions,
        }),
        false => TransactionRequest::Add(AddPartitions {
            transactional_id: id,
            producer,
            partitions,
            client_version,
            is_of_broker: !is_of_client,
        }),
    };
    let count = topic_partitions(&coordination.node);
    let asking = coordination.transaction_coordinator().begin(count, &transactional_id, request);
    Begun::Asking { transactional_id, topics, asking }
}

impl Begun {
    /// Waits for the coordinator.
    pub(crate) async fn result(self) -> AddPartitionsToTxnResult {
        let (transactional_id, topics, answer) = match self {
            Begun::Answered(result) => return result,
            Begun::Asking { transactional_id, topics, asking } => {
                (transactional_id, topics, asking.answer().await)
            }
        };
        let code = match answer {
            TransactionResponse::Verify(Ok(codes)) => {
                let codes: BTreeMap<(&str, i32), ErrorCode> = codes
                    .iter()
                    .map(|(topic, index, code)| ((topic.as_str(), *index), *code))
                    .collect();
                return result(transactional_id, &topics, |topic, index| {
                    let code = codes.get(&(topic, index)).copied();
                    code.unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR)
                });
            }
            TransactionResponse::Add(Ok(())) => ErrorCode::NONE,
            TransactionResponse::Verify(Err(code)) | TransactionResponse::Add(Err(code)) => code,
            _ => ErrorCode::UNKNOWN_SERVER_ERROR,
        };
        result(transactional_id, &topics, |_, _| code)
    }
}

/// Partitions that cannot be added, and why. Clients have no business in topics that only brokers write to.
fn refusals<'a>(
    coordination: &Coordination,
    topics: &'a [AddPartitionsToTxnTopic],
    is_of_client: bool,
) -> BTreeMap<(&'a str, i32), ErrorCode> {
    let image = coordination.node.image();
    let mut refused = BTreeMap::new();
    for named in topics {
        let topic = image.topics.by_name(&named.name);
        for &index in &named.partitions {
            let code = if is_of_client && is_internal_topic(&named.name) {
                ErrorCode::TOPIC_AUTHORIZATION_FAILED
            } else if topic.is_none_or(|topic| !topic.partitions.contains_key(&index)) {
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            } else {
                continue;
            };
            refused.insert((named.name.as_str(), index), code);
        }
    }
    refused
}

fn result(
    transactional_id: String,
    topics: &[AddPartitionsToTxnTopic],
    code: impl Fn(&str, i32) -> ErrorCode,
) -> AddPartitionsToTxnResult {
    let of_topic = |topic: &AddPartitionsToTxnTopic| AddPartitionsToTxnTopicResult {
        name: topic.name.clone(),
        results_by_partition: topic
            .partitions
            .iter()
            .map(|index| AddPartitionsToTxnPartitionResult {
                partition_index: *index,
                partition_error_code: code(&topic.name, *index).0,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    AddPartitionsToTxnResult {
        transactional_id,
        topic_results: topics.iter().map(of_topic).collect(),
        ..Default::default()
    }
}
