//! Metadata image, config registry and the embedded controller's decisions.
//!
//! Pure: no I/O, no clock, no randomness. Time and random ids are passed in.

mod api_error;
pub mod config;

pub use api_error::ApiError;
