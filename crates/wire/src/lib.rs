//! Kafka's wire protocol: primitives, error codes, and every message and record of Kafka 4.3.
//!
//! Pure: no I/O, no clock, no randomness.

pub mod error_code;
pub mod uuid;
pub mod varint;

pub use error_code::ErrorCode;
pub use uuid::Uuid;
