//! Groups and transactions that this node coordinates.
//!
//! `runtime` is the shell around coordinator state machines: one runner per partition of an internal topic that this
//! node leads, fed from and appending to that partition's log.

pub(crate) mod group_settings;
pub(crate) mod groups;
mod rebalance_log;
pub(crate) mod runtime;
pub(crate) mod transaction_coordinator;
pub(crate) mod transactions;

pub(crate) use runtime::compressed_len;
