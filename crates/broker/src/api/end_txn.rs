//! EndTxn: a producer commits or aborts its transaction (KIP-98, KIP-890).

use thalweg_transactions::{
    EndTransaction, Producer, TransactionRequest, TransactionResponse, TransactionVersion,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{EndTxnRequest, EndTxnResponse};

use crate::api::context::Context;
use crate::coordination::transactions::topic_partitions;

/// The first version in which each transaction ends in another epoch.
const FIRST_WITH_EPOCHS: i16 = 5;
/// The first version whose clients know PRODUCER_FENCED.
const FIRST_WITH_FENCED: i16 = 2;

pub(super) async fn handle(context: Context, request: EndTxnRequest) -> EndTxnResponse {
    let (error_code, producer) = match end(&context, request).await {
        Ok(producer) => (ErrorCode::NONE, producer),
        Err(ErrorCode::PRODUCER_FENCED) if context.version < FIRST_WITH_FENCED => {
            (ErrorCode::INVALID_PRODUCER_EPOCH, Producer::NONE)
        }
        Err(code) => (code, Producer::NONE),
    };
    EndTxnResponse {
        error_code,
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        ..Default::default()
    }
}

async fn end(context: &Context, request: EndTxnRequest) -> Result<Producer, ErrorCode> {
    if request.transactional_id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let id = request.transactional_id.clone();
    let end = TransactionRequest::End(EndTransaction {
        transactional_id: request.transactional_id,
        producer: Producer { id: request.producer_id, epoch: request.producer_epoch },
        commit: request.committed,
        client_version: match context.version {
            FIRST_WITH_EPOCHS.. => TransactionVersion::V2,
            _ => TransactionVersion::V0,
        },
    });
    let count = topic_partitions(&context.services.node);
    match context.services.coordination.transaction_coordinator().ask(count, &id, end).await {
        TransactionResponse::End(ended) => ended,
        _ => Err(ErrorCode::UNKNOWN_SERVER_ERROR),
    }
}
