//! Record batches (magic 2): view, iterate, validate, build; compression codecs.
//!
//! | To | use |
//! |---|---|
//! | look at a batch's header, set offset and epoch | [`batch`] |
//! | decide about the records of a Produce request | [`validate::Validation`] with a [`validate::Scratch`] per worker |
//! | read records | [`record`]: [`RecordContext::iter`] over bytes in memory, [`RecordReader`] through a window |
//! | build batches, control batches too | [`builder::BatchBuilder`] |
//! | end a transaction in a partition | [`control::end_txn_marker`] |
//! | compress and decompress | [`codec`] |
//!
//! Invariants: no input makes any of it panic; no length is believed before the bytes behind it are
//! there; once warm, validating a batch that is stored as it came allocates nothing, in Rust or C.
//!
//! Pure: no I/O, no clock, no randomness.

pub mod batch;
pub mod builder;
pub mod checksum;
pub mod codec;
pub mod control;
mod quick;
pub mod record;
pub mod validate;

pub use batch::{BatchView, Compression, TimestampType};
pub use builder::{BatchBuilder, BatchOptions};
pub use codec::{CompressionSpec, Compressor, Decompressor};
pub use record::{Record, RecordContext, RecordReader};
