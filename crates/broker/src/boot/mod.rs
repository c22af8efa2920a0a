//! Starting and stopping a broker, and looking into its directories before a start.

pub(crate) mod applier;
mod descriptors;
pub(crate) mod housekeeping;
pub mod inspect;
mod join;
mod metadata_place;
mod spare_worker;
pub(crate) mod start;
