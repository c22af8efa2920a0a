//! InitProducerId: ids for idempotent producers, and epochs for transactional ones (KIP-98, KIP-360).

use std::time::Duration;

use thalweg_transactions::{InitProducerId, Producer, TransactionRequest, TransactionResponse};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{InitProducerIdRequest, InitProducerIdResponse};

use crate::api::context::Context;
use crate::coordination::transactions::topic_partitions;

/// The first version whose clients know PRODUCER_FENCED.
const FIRST_WITH_FENCED: i16 = 4;
/// How long a request waits for a block of producer ids; whoever asks again finds it then.
const RESERVE_WAIT_MAX: Duration = Duration::from_secs(1);

pub(super) async fn handle(
    context: Context,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse {
    let refuse = |error_code: ErrorCode| InitProducerIdResponse {
        error_code,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    if (request.producer_id == -1) != (request.producer_epoch == -1) {
        return refuse(ErrorCode::INVALID_REQUEST);
    }
    if let Some(transactional_id) = request.transactional_id.clone() {
        return match of_transactional_id(&context, transactional_id, &request).await {
            Ok(producer) => InitProducerIdResponse {
                producer_id: producer.id,
                producer_epoch: producer.epoch,
                ..Default::default()
            },
            Err(ErrorCode::PRODUCER_FENCED) if context.version < FIRST_WITH_FENCED => {
                refuse(ErrorCode::INVALID_PRODUCER_EPOCH)
            }
            Err(code) => refuse(code),
        };
    }
    match context.services.control.next_producer_id().await {
        // A new id every time, so the epoch begins anew; an id given to ask for a bump is dropped,
        // as Kafka does for producers without a transactional id.
        Ok(producer_id) => {
            InitProducerIdResponse { producer_id, producer_epoch: 0, ..Default::default() }
        }
        Err(error) => {
            tracing::warn!(%error, "no block of producer ids could be allocated");
            refuse(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
        }
    }
}

async fn of_transactional_id(
    context: &Context,
    transactional_id: String,
    request: &InitProducerIdRequest,
) -> Result<Producer, ErrorCode> {
    if transactional_id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let services = &context.services;
    let expected = Producer { id: request.producer_id, epoch: request.producer_epoch };
    let init = TransactionRequest::Init(InitProducerId {
        transactional_id: transactional_id.clone(),
        timeout_ms: request.transaction_timeout_ms,
        enable_2pc: request.enable2_pc,
        keep_prepared: request.keep_prepared_txn,
        expected: (expected != Producer::NONE).then_some(expected),
    });
    // The coordinator takes a producer id without waiting, where it needs one: of the first block after a start is none here.
    let mut is_first = true;
    loop {
        let asked = services.coordination.transaction_coordinator().ask(
            topic_partitions(&services.node),
            &transactional_id,
            init.clone(),
        );
        match asked.await {
            TransactionResponse::Init(Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS))
                if std::mem::take(&mut is_first) && services.control.producer_ids().is_empty() =>
            {
                let reserved = services.control.producer_ids().reserve(&services.control);
                match tokio::time::timeout(RESERVE_WAIT_MAX, reserved).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        tracing::warn!(%error, "no block of producer ids could be allocated");
                        return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
                    }
                    Err(_) => return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
                }
            }
            TransactionResponse::Init(initialized) => return initialized,
            _ => return Err(ErrorCode::UNKNOWN_SERVER_ERROR),
        }
    }
}
