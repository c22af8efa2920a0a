//! AddPartitionsToTxn and AddOffsetsToTxn: what a producer's transaction is about (KIP-98, KIP-890).
//!
//! Clients send versions up to 3, about one transaction; leaders of partitions send the later ones, about several, for
//! clients that leave it to them, or only to ask.

use thalweg_metadata::controller::OFFSETS_TOPIC;
use thalweg_transactions::{
    AddPartitions, Producer, TransactionRequest, TransactionResponse, TransactionVersion,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
};

use crate::api::context::Context;
use crate::api::groups;
use crate::coordination::transactions::add_partitions::{self, Asked};
use crate::coordination::transactions::topic_partitions;

/// The first version that brokers send.
const FIRST_OF_BROKERS: i16 = 4;
/// The first version whose clients know PRODUCER_FENCED.
const FIRST_WITH_FENCED: i16 = 2;

pub(super) async fn partitions(
    context: Context,
    request: AddPartitionsToTxnRequest,
) -> AddPartitionsToTxnResponse {
    let services = &context.services;
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
        let mut result = add_partitions::ask(&services.coordination, asked).await;
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
    let asked = request
        .transactions
        .into_iter()
        .map(|it| add_partitions::begin(&services.coordination, add_partitions::of_broker(it)));
    let all: Vec<add_partitions::Begun> = asked.collect();
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
    let services = &context.services;
    let partition = match groups::partition_of(context, &request.group_id) {
        Some(partition) => partition,
        // Nobody has used a group yet, and a producer would ask for the coordinator of its transaction for ever.
        None => {
            if let Err(error) = services.create_internal_topic(OFFSETS_TOPIC).await {
                tracing::warn!(%error, "the topic of group coordinators could not be created");
                return ErrorCode::COORDINATOR_NOT_AVAILABLE;
            }
            match groups::partition_of(context, &request.group_id) {
                Some(partition) => partition,
                None => return ErrorCode::COORDINATOR_NOT_AVAILABLE,
            }
        }
    };
    let count = topic_partitions(&context.services.node);
    let id = request.transactional_id.clone();
    let add = TransactionRequest::Add(AddPartitions {
        transactional_id: request.transactional_id,
        producer: Producer { id: request.producer_id, epoch: request.producer_epoch },
        partitions: [(OFFSETS_TOPIC, partition)].into_iter().collect(),
        client_version: TransactionVersion::V0,
        is_of_broker: false,
    });
    match context.services.coordination.transaction_coordinator().ask(count, &id, add).await {
        TransactionResponse::Add(Ok(())) => ErrorCode::NONE,
        TransactionResponse::Add(Err(code)) => code,
        _ => ErrorCode::UNKNOWN_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests;
