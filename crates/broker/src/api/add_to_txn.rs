//! AddPartitionsToTxn and AddOffsetsToTxn: what a producer's transaction is about (KIP-98, KIP-890).
//!
//! Clients send versions up to 3, about one transaction; leaders of partitions send the later ones, about several, for
//! clients that leave it to them, or only to ask.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_metadata::controller::{OFFSETS_TOPIC, is_internal_topic};
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
use thalweg_wire::messages::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
};

use crate::api::groups;
use crate::api::request::Context;
use crate::broker::Broker;
use crate::coordination::transaction_coordinator::Begun as Asking;
use crate::coordination::transactions::topic_partitions;

/// The first version that brokers send.
const FIRST_OF_BROKERS: i16 = 4;
/// The first version whose clients know PRODUCER_FENCED.
const FIRST_WITH_FENCED: i16 = 2;

/// What is asked about one transaction.
pub(crate) struct Asked {
    transactional_id: String,
    producer: Producer,
    topics: Vec<AddPartitionsToTxnTopic>,
    verify_only: bool,
    client_version: TransactionVersion,
    is_of_client: bool,
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

pub(super) async fn partitions(
    context: Context,
    request: AddPartitionsToTxnRequest,
) -> AddPartitionsToTxnResponse {
    let broker = &context.broker;
    if context.version < FIRST_OF_BROKERS {
        let asked = Asked {
            transactional_id: request.v3_and_below_transactional_id,
            producer: Producer {
                id: request.v3_and_below_producer_id,
                epoch: request.v3_and_below_producer_epoch,
            },
            topics: request.v3_and_below_topics,
            verify_only: false,
            client_version: TransactionVersion::V0,
            is_of_client: true,
        };
        let mut result = ask(broker, asked).await;
        let results = result.topic_results.iter_mut().flat_map(|it| &mut it.results_by_partition);
        for result in results {
            let code = for_version(ErrorCode(result.partition_error_code), context.version);
            result.partition_error_code = code.0;
        }
        return AddPartitionsToTxnResponse {
            results_by_topic_v3_and_below: result.topic_results,
            ..Default::default()
        };
    }
    // Each goes to its own shard, and waits for its own append; none is waited for before all are on their way.
    let asked = request.transactions.into_iter().map(|it| begin(broker, of_broker(it)));
    let all: Vec<Begun> = asked.collect();
    let mut results_by_transaction = Vec::with_capacity(all.len());
    for begun in all {
        results_by_transaction.push(begun.result().await);
    }
    AddPartitionsToTxnResponse { results_by_transaction, ..Default::default() }
}

/// What clients of that version know.
fn for_version(code: ErrorCode, version: i16) -> ErrorCode {
    match code {
        ErrorCode::PRODUCER_FENCED if version < FIRST_WITH_FENCED => {
            ErrorCode::INVALID_PRODUCER_EPOCH
        }
        code => code,
    }
}

/// Adds partitions to a transaction, or asks whether they are part of it.
pub(crate) async fn ask(broker: &Arc<Broker>, asked: Asked) -> AddPartitionsToTxnResult {
    begin(broker, asked).result().await
}

/// What became of a question at once.
enum Begun {
    Answered(AddPartitionsToTxnResult),
    /// The coordinator has it.
    Asking {
        transactional_id: String,
        topics: Vec<AddPartitionsToTxnTopic>,
        asking: Asking,
    },
}

/// Begins with [`ask`].
fn begin(broker: &Arc<Broker>, asked: Asked) -> Begun {
    let Asked { transactional_id, producer, topics, verify_only, client_version, is_of_client } =
        asked;
    let refusals = refusals(broker, &topics, is_of_client);
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
    let count = topic_partitions(broker);
    let asking = broker.coordination.coordinated().begin(count, &transactional_id, request);
    Begun::Asking { transactional_id, topics, asking }
}

impl Begun {
    /// Waits for the coordinator.
    async fn result(self) -> AddPartitionsToTxnResult {
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
    broker: &Broker,
    topics: &'a [AddPartitionsToTxnTopic],
    is_of_client: bool,
) -> BTreeMap<(&'a str, i32), ErrorCode> {
    let image = broker.node.image();
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

pub(super) async fn offsets(
    context: Context,
    request: AddOffsetsToTxnRequest,
) -> AddOffsetsToTxnResponse {
    let error_code = for_version(add_offsets(&context, request).await, context.version);
    AddOffsetsToTxnResponse { error_code, ..Default::default() }
}

async fn add_offsets(context: &Context, request: AddOffsetsToTxnRequest) -> ErrorCode {
    if request.transactional_id.is_empty() {
        return ErrorCode::INVALID_REQUEST;
    }
    let broker = &context.broker;
    let partition = match groups::partition_of(context, &request.group_id) {
        Some(partition) => partition,
        // Nobody has used a group yet, and a producer would ask for the coordinator of its transaction for ever.
        None => {
            if let Err(error) = broker.create_internal_topic(OFFSETS_TOPIC).await {
                tracing::warn!(%error, "the topic of group coordinators could not be created");
                return ErrorCode::COORDINATOR_NOT_AVAILABLE;
            }
            match groups::partition_of(context, &request.group_id) {
                Some(partition) => partition,
                None => return ErrorCode::COORDINATOR_NOT_AVAILABLE,
            }
        }
    };
    let count = topic_partitions(&context.broker);
    let id = request.transactional_id.clone();
    let add = TransactionRequest::Add(AddPartitions {
        transactional_id: request.transactional_id,
        producer: Producer { id: request.producer_id, epoch: request.producer_epoch },
        partitions: [(OFFSETS_TOPIC, partition)].into_iter().collect(),
        client_version: TransactionVersion::V0,
        is_of_broker: false,
    });
    match context.broker.coordination.coordinated().ask(count, &id, add).await {
        TransactionResponse::Add(Ok(())) => ErrorCode::NONE,
        TransactionResponse::Add(Err(code)) => code,
        _ => ErrorCode::UNKNOWN_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests;
