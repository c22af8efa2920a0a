//! Requests that the controller decides about: they are passed on as they are.

use std::sync::Arc;

use thalweg_metadata::controller::ControllerRequest;
use thalweg_wire::{ApiKey, ErrorCode};

use crate::api::request::Context;
use crate::kraft::ControllerError;

/// What goes to the controllers: a client is told no version of these that they do not speak.
pub(super) const FORWARDED: [ApiKey; 12] = [
    ApiKey::CREATE_TOPICS,
    ApiKey::DELETE_TOPICS,
    ApiKey::ALTER_CONFIGS,
    ApiKey::CREATE_PARTITIONS,
    ApiKey::ELECT_LEADERS,
    ApiKey::INCREMENTAL_ALTER_CONFIGS,
    ApiKey::ALTER_PARTITION_REASSIGNMENTS,
    ApiKey::LIST_PARTITION_REASSIGNMENTS,
    ApiKey::ALTER_CLIENT_QUOTAS,
    ApiKey::DESCRIBE_QUORUM,
    ApiKey::UPDATE_FEATURES,
    ApiKey::UNREGISTER_BROKER,
];

pub(super) async fn handle<R: ControllerRequest>(context: Context, request: R) -> R::Response {
    let (broker, client) = (&context.broker, context.client());
    let request = Arc::new(request);
    let forwarded = Arc::clone(&request);
    let answer = broker.controller.forward(broker, forwarded, context.version, &client).await;
    answer.unwrap_or_else(|error| request.refused(code(&error)))
}

/// What a client is told whose request the controller has not answered, as the Java broker does.
pub(super) fn code(error: &ControllerError) -> ErrorCode {
    match error {
        ControllerError::TimedOut => ErrorCode::REQUEST_TIMED_OUT,
        // Of the envelope, which is nothing that the client has sent.
        ControllerError::Refused(_) => ErrorCode::UNKNOWN_SERVER_ERROR,
        // The client asks again, and by then perhaps another controller.
        _ => ErrorCode::NOT_CONTROLLER,
    }
}
