//! Refusals of requests for consumer groups: a code, and a message for the client's log.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::ConsumerGroupHeartbeatResponse;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Refused {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Refused {
        Refused { code, message: message.into() }
    }
}

/// The refusal of a request for a group that is none of this type.
pub(crate) fn not_a_consumer_group(group: &str) -> Refused {
    Refused::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {group} is not a consumer group."))
}

/// The answer with an error.
pub(crate) fn heartbeat_error(refused: Refused) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse {
        error_code: refused.code,
        error_message: Some(refused.message),
        ..Default::default()
    }
}
