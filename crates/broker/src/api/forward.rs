//! Requests that the controller decides about: they are passed on as they are.

use std::sync::Arc;

use thalweg_metadata::controller::ControllerRequest;
use thalweg_wire::ErrorCode;

use crate::api::context::Context;
use crate::control::kraft::ControllerError;

/// The controller's answer; or why the client's connection has to end.
pub(super) async fn handle<R: ControllerRequest>(
    context: Context,
    request: R,
) -> Result<R::Response, String> {
    let (services, client) = (&context.services, context.client());
    let request = Arc::new(request);
    let forwarded = Arc::clone(&request);
    let answer = services.control.forward(forwarded, context.version, &client).await;
    answer.or_else(|error| Ok(request.refused(code(&error)?)))
}

/// The error code for a request without an answer of the controller, as in the Java broker; or why the client's connection
/// has to end. Then the client asks again which versions there are.
pub(super) fn code(error: &ControllerError) -> Result<ErrorCode, String> {
    let code = match error {
        ControllerError::Refused(ErrorCode::UNSUPPORTED_VERSION) => {
            return Err("the active controller does not know this version of the request".into());
        }
        // As when the connection had broken: the client asks another broker.
        ControllerError::Stopped | ControllerError::Panicked => return Err(error.to_string()),
        ControllerError::TimedOut => ErrorCode::REQUEST_TIMED_OUT,
        // Of the envelope, which is nothing that the client has sent.
        ControllerError::Refused(_) => ErrorCode::UNKNOWN_SERVER_ERROR,
        // The client asks again, and by then perhaps another controller.
        _ => ErrorCode::NOT_CONTROLLER,
    };
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_asks_anew_for_versions_when_the_controller_does_not_know_its_own() {
        assert!(code(&ControllerError::Refused(ErrorCode::UNSUPPORTED_VERSION)).is_err());
        let refused = ControllerError::Refused(ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
        assert_eq!(code(&refused), Ok(ErrorCode::UNKNOWN_SERVER_ERROR));
        assert!(code(&ControllerError::Stopped).is_err());
    }

    #[test]
    fn decision_that_panics_closes_the_connection_and_is_no_stop() {
        let reason = code(&ControllerError::Panicked).unwrap_err();
        assert!(reason.contains("panicked") && !reason.contains("stopping"), "{reason}");
    }
}
