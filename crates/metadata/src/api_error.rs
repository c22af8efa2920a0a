//! An error as it goes into a response: Kafka's code and a text of ours.

use thalweg_wire::ErrorCode;

use crate::config::ConfigError;

/// An error code with a message, the outcome of a request or of one of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// Kafka's code.
    pub code: ErrorCode,
    /// What is wrong, with the names and values it is about. `None` goes with `NONE`, and with
    /// codes whose meaning is all there is to say.
    pub message: Option<String>,
}

impl ApiError {
    /// No error.
    pub const NONE: ApiError = ApiError { code: ErrorCode::NONE, message: None };

    /// An error with a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> ApiError {
        ApiError { code, message: Some(message.into()) }
    }

    /// An error that says nothing beyond its code.
    pub fn bare(code: ErrorCode) -> ApiError {
        ApiError { code, message: None }
    }
}

impl From<ConfigError> for ApiError {
    fn from(error: ConfigError) -> ApiError {
        ApiError::new(ErrorCode::INVALID_CONFIG, error.to_string())
    }
}
