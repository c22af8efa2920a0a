//! Requests that the controller decides about: they are passed on as they are.

use std::sync::Arc;

use thalweg_metadata::controller::ControllerRequest;
use thalweg_wire::ErrorCode;

use crate::api::request::Context;

pub(super) async fn handle<R: ControllerRequest>(context: Context, request: R) -> R::Response {
    let (broker, client) = (&context.broker, context.client());
    let request = Arc::new(request);
    let forwarded = Arc::clone(&request);
    let answer = broker.controller.forward(broker, forwarded, context.version, &client).await;
    // The client asks again, and by then perhaps another controller.
    answer.unwrap_or_else(|_| request.refused(ErrorCode::NOT_CONTROLLER))
}
