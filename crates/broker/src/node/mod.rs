//! What every part of a node may know: its clock, its settings, the metadata that is in force, its counters.
//!
//! Nothing here imports another room of the broker.

pub(crate) mod catch_panic;
pub(crate) mod clock;
pub(crate) mod internal_topics;
pub(crate) mod loggers;
pub(crate) mod metrics;
pub(crate) mod pool;
pub(crate) mod random;
pub(crate) mod record_scan;
pub(crate) mod settings;
pub(crate) mod view;
pub(crate) mod workspace;
