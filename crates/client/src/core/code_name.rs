//! Names of error codes in messages.

use thalweg_wire::ErrorCode;

/// Kafka's name of a code, or its number.
pub fn code_name(code: ErrorCode) -> String {
    code.name().map_or_else(|| format!("error code {}", code.0), str::to_owned)
}
