//! InitProducerId: ids for idempotent producers. A transactional id belongs to a coordinator elsewhere, or to nobody.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{InitProducerIdRequest, InitProducerIdResponse};

use crate::api::request::Context;

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
    if let Some(transactional_id) = request.transactional_id {
        // An empty id is a mistake in Kafka too; any other belongs to a coordinator elsewhere.
        let code = if transactional_id.is_empty() {
            ErrorCode::INVALID_REQUEST
        } else {
            ErrorCode::NOT_COORDINATOR
        };
        tracing::debug!(peer = %context.peer.address, transactional_id,
            "a transactional id was refused: transactions are not coordinated here");
        return refuse(code);
    }
    match context.broker.next_producer_id().await {
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
