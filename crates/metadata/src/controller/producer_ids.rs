//! AllocateProducerIds.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::ProducerIdsRecord;
use thalweg_wire::messages::allocate_producer_ids_request::AllocateProducerIdsRequest;
use thalweg_wire::messages::allocate_producer_ids_response::AllocateProducerIdsResponse;

use super::{Context, ControllerRequest, Decision, RequestContext};

/// Producer ids in a block.
pub const PRODUCER_ID_BLOCK: i32 = 1000;

impl ControllerRequest for AllocateProducerIdsRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<AllocateProducerIdsResponse> {
        allocate_producer_ids(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> AllocateProducerIdsResponse {
        AllocateProducerIdsResponse { error_code, ..Default::default() }
    }
}

/// Decides about the next block of producer ids. A block is never handed out twice.
fn allocate_producer_ids(
    context: &Context<'_>,
    request: &AllocateProducerIdsRequest,
) -> Decision<AllocateProducerIdsResponse> {
    let refuse = |error_code| {
        Decision::answer(AllocateProducerIdsResponse { error_code, ..Default::default() })
    };
    if let Err(error) = context.check_broker_epoch(request.broker_id, request.broker_epoch) {
        return refuse(error.code);
    }
    let first = context.image.next_producer_id.max(0);
    let Some(next) = first.checked_add(i64::from(PRODUCER_ID_BLOCK)) else {
        return refuse(ErrorCode::UNKNOWN_SERVER_ERROR);
    };
    let record = ProducerIdsRecord {
        broker_id: request.broker_id,
        broker_epoch: request.broker_epoch,
        next_producer_id: next,
        ..ProducerIdsRecord::default()
    };
    Decision {
        records: vec![record.into()],
        response: AllocateProducerIdsResponse {
            producer_id_start: first,
            producer_id_len: PRODUCER_ID_BLOCK,
            ..AllocateProducerIdsResponse::default()
        },
    }
}
