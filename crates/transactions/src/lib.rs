//! The transaction coordinator's state machine: transactional ids and their transactions (KIP-98, KIP-360, KIP-890).
//!
//! [`TransactionShard`] is the state machine of one partition of `__transaction_state`, to be driven by
//! [`thalweg_coordinator::Runner`]. It takes a [`TransactionRequest`] and answers with a [`TransactionResponse`]; what has
//! to be done outside once the outcome of a transaction is committed is a [`WriteMarkers`], and
//! [`TransactionEvent::MarkersWritten`] says that it is.
//!
//! The logged state is one [`Transaction`] for each transactional id. A transition is computed from what is committed, never
//! from what is only written: whoever asks meanwhile waits, or is answered CONCURRENT_TRANSACTIONS.
//!
//! Pure: no I/O, no clock, no randomness. Producer ids come from a [`ProducerIds`].

mod config;
mod ids;
mod record;
mod request;
mod shard;
mod state;
mod transaction;

pub use config::{ProducerIdSource, ProducerIds, TransactionConfig};
pub use record::{RecordError, TransactionRecord};
pub use request::{
    AddPartitions, Description, EndTransaction, InitProducerId, ListFilter, Listed,
    TransactionEvent, TransactionRequest, TransactionResponse, VerifyPartitions, WriteMarkers,
};
pub use shard::{TransactionShard, TransactionTimer};
pub use state::{TransactionState, TransactionVersion};
pub use transaction::{NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Partitions, Producer, Transaction};
