//! Producing without I/O: which partition a record goes to, which batches to send to which broker,
//! what to do with the answers, and what becomes of each record.
//!
//! | File | What |
//! |---|---|
//! | [`murmur2`], [`partitioner`] | where a record goes |
//! | `batch`, [`memory`] | the bytes it becomes, and the limit on them |
//! | `partition`, `topic`, `broker_queue`, `membership` | what a sender has of each |
//! | [`outcome`] | what becomes of a batch, for whoever waits |
//! | `sender` | all of it: |
//! | `sender/accumulator` | taking records in: a queue of batches per partition |
//! | `sender/schedule` | whose turn it is at which broker, and when |
//! | `sender/request` | taking batches out: requests, producer ids and sequences |
//! | `sender/accept` | answers, lost connections, batches whose time is over |
//! | [`transaction`] | the transaction that is open, and what coordinators are asked |
//!
//! Invariants:
//! - Batches of a partition are sent in the order they were begun; one that has to be sent again
//!   goes before all behind it. With idempotence that is also the order in the log, whatever
//!   fails in between.
//! - With idempotence a record is never in the log twice: what may be there already is sent again
//!   under its old sequence only, and gets another one only when a broker's answer proves that it
//!   is not there.
//! - A partition's batches are under way to one broker at a time.
//! - Memory is counted before it is taken, and given back once.
//! - Work follows what changed: no loop over all partitions for a record, a batch or an answer.
//!
//! Time is passed in, as milliseconds of any monotonic clock; chance is a seed.

mod batch;
mod broker_queue;
mod error;
mod membership;
pub mod memory;
pub mod murmur2;
pub mod outcome;
mod partition;
pub mod partitioner;
mod sender;
mod settings;
#[cfg(test)]
mod tests;
mod topic;

pub use batch::Sealer;
pub use error::{ProduceError, ProduceErrorKind};
pub use memory::Memory;
pub use outcome::{RecordMetadata, Ticket};
pub use sender::accumulator::Refused;
pub use sender::request::OutgoingRequest;
pub use sender::transaction::{self, AbortReason, TransactionError};
pub use sender::{Sender, Signals};
pub use settings::{Acks, ProduceCounts, ProduceSettings};

pub use crate::core::record::{AsProducerRecord, ProducerRecord};
