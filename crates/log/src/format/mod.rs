//! Kafka's bytes on disk: batches in a segment, indexes, checkpoints, producer snapshots.
//!
//! Invariants:
//! - What is written is what Kafka 4.4 writes, to the byte.
//! - A file from disk is not trusted: bytes that do not fit are an error, never a panic.
//!
//! Not here: locks (an index file is opened under the stage of its segment, which is `fs`), and when a
//! file is written or synced.

pub(crate) mod checkpoint;
pub(crate) mod control;
pub(crate) mod epochs;
pub mod files;
pub(crate) mod index;
pub(crate) mod index_files;
pub(crate) mod lookup;
pub(crate) mod meta_properties;
pub(crate) mod producer_snapshot;
pub(crate) mod scan;
pub(crate) mod txn_index;
pub(crate) mod walk;
