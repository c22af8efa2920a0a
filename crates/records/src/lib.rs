//! Record batches (magic 2): view, iterate, validate, build; compression codecs.
//!
//! Pure: no I/O, no clock, no randomness.

pub mod batch;
pub mod checksum;

pub use batch::{BatchView, Compression, TimestampType};
