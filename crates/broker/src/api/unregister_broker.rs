//! UnregisterBroker: the controller forgets a broker that is gone for good.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{UnregisterBrokerRequest, UnregisterBrokerResponse};

use crate::api::context::Context;
use crate::api::forward;

pub(super) async fn handle(
    context: Context,
    request: UnregisterBrokerRequest,
) -> Result<UnregisterBrokerResponse, String> {
    let services = &context.services;
    // A node of Kafka's that is asked for this goes on without leading anything until it is started again.
    if !services.control.is_joined() && request.broker_id == services.node.id() {
        let reason = format!("node {} is its own controller", request.broker_id);
        return Ok(UnregisterBrokerResponse {
            error_code: ErrorCode::INVALID_REQUEST,
            error_message: Some(reason),
            ..Default::default()
        });
    }
    forward::handle(context, request).await
}
