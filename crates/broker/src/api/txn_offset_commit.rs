//! TxnOffsetCommit: offsets of a group that count when a producer's transaction ends with a commit (KIP-98, KIP-447).
//!
//! The group's coordinator is the leader of a partition like any other to the transaction's coordinator, which is
//! asked first (KIP-890).

use std::time::Duration;

use thalweg_coordinator::append_error;
use thalweg_groups::{GroupRequest, GroupResponse, txn_offset_commit_error};
use thalweg_log::TransactionCheck;
use thalweg_wire::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use thalweg_wire::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};
use thalweg_wire::{ErrorCode, Uuid};

use super::groups;
use crate::api::context::Context;
use crate::coordination::transactions::{Operation, Question};
use crate::net::budget::Charge;
use crate::replicas::partition::Transactional;

pub(super) async fn handle(
    context: Context,
    mut request: TxnOffsetCommitRequest,
    held: Charge,
) -> TxnOffsetCommitResponse {
    let by_id = context.version >= 6;
    let refused = groups::take_unknown(
        &context.services.replicas.topics(),
        by_id,
        &mut request.topics,
        |topic| (&mut topic.name, &mut topic.topic_id, &mut topic.partitions),
        |partition| partition.partition_index,
        |topic, unknown, error_code| TxnOffsetCommitResponseTopic {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partitions: unknown
                .map(|partition_index| TxnOffsetCommitResponsePartition {
                    partition_index,
                    error_code,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        },
    );
    let mut response = if request.topics.is_empty() {
        TxnOffsetCommitResponse::default()
    } else {
        commit(&context, request, held).await
    };
    let key = |topic: &TxnOffsetCommitResponseTopic| {
        if by_id { (topic.topic_id, String::new()) } else { (Uuid::ZERO, topic.name.clone()) }
    };
    groups::merge(&mut response.topics, refused, key, |there, topic| {
        there.partitions.extend(topic.partitions);
    });
    response
}

/// Asks the transaction's coordinator, and then the group's.
async fn commit(
    context: &Context,
    request: TxnOffsetCommitRequest,
    held: Charge,
) -> TxnOffsetCommitResponse {
    let partition = groups::partition_of(context, &request.group_id);
    let gone = txn_offset_commit_error(&request, ErrorCode::NOT_COORDINATOR);
    let proof = match verify(context, partition, &request).await {
        Ok(proof) => proof,
        Err(error) => {
            let refused = txn_offset_commit_error(&request, append_error(error));
            return for_version(GroupResponse::TxnOffsetCommit(refused), context);
        }
    };
    let submission = groups::submission(context, GroupRequest::TxnOffsetCommit(request));
    let submitted =
        context.services.coordination.groups().submit(partition, submission, Some(proof));
    // The coordinator has consumed the request.
    drop(held);
    let answer = submitted.wait().await.unwrap_or(GroupResponse::TxnOffsetCommit(gone));
    for_version(answer, context)
}

fn for_version(answer: GroupResponse, context: &Context) -> TxnOffsetCommitResponse {
    match answer.for_version(context.version) {
        GroupResponse::TxnOffsetCommit(response) => response,
        _ => TxnOffsetCommitResponse::default(),
    }
}

/// Has the transaction's coordinator say that the group's partition may take offsets of it; gives what the
/// partition's log is shown of that.
async fn verify(
    context: &Context,
    partition: Option<i32>,
    request: &TxnOffsetCommitRequest,
) -> Result<TransactionCheck, ErrorCode> {
    // What is wrong with the request whoever coordinates the group.
    if request.group_id.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    if request.producer_id < 0 {
        return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    }
    let services = &context.services;
    let is_enabled = services.node.settings().transaction_partition_verification_enable();
    let operation = operation_of(context.version);
    let is_asked = is_enabled || operation == Operation::Add;
    // No transaction is in such an epoch. Where its coordinator is asked, that one says what is wrong, as in Kafka: it may
    // not know the transactional id either.
    if request.producer_epoch < 0 && !is_asked {
        return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
    }
    if !is_asked {
        return Ok(TransactionCheck::Waived);
    }
    let partition = partition.and_then(|index| services.coordination.groups().partition(index));
    let partition = partition.ok_or(ErrorCode::NOT_COORDINATOR)?;
    let TxnOffsetCommitRequest { producer_id, producer_epoch, .. } = *request;
    let asked = Transactional {
        producer_id,
        producer_epoch,
        // Offsets have no sequence numbers.
        sequence: -1,
        bumps_epoch: operation.bumps_epoch(),
    };
    let timeout_ms =
        u64::try_from(services.node.settings().offsets_commit_timeout_ms()).unwrap_or(0);
    let timeout = Duration::from_millis(timeout_ms);
    let begun = services
        .coordination
        .transaction_writes()
        .begin(&services.node, &partition, asked, timeout)
        .await;
    let guard = begun.map_err(|failure| failure.code())?;
    if guard.is_some() {
        let question = Question {
            transactional_id: request.transactional_id.clone(),
            producer_id,
            producer_epoch,
            operation,
            topics: [(partition.topic.to_string(), vec![partition.index])].into(),
        };
        let verdict = services
            .coordination
            .transaction_writes()
            .verify(&services.coordination, question)
            .await;
        let code = verdict.of(&partition.topic, partition.index);
        if code.is_err() {
            return Err(code);
        }
    }
    if producer_epoch < 0 {
        return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
    }
    Ok(if is_enabled { TransactionCheck::Guarded(guard) } else { TransactionCheck::Waived })
}

/// What a request of this version asks of the transaction's coordinator.
fn operation_of(version: i16) -> Operation {
    match version {
        ..=3 => Operation::Verify,
        4 => Operation::VerifyAbortable,
        5.. => Operation::Add,
    }
}
