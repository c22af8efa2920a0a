//! Starting and stopping a broker, and looking into its directories before a start.

pub(crate) mod applier;
mod descriptors;
mod embedded;
pub(crate) mod housekeeping;
pub mod inspect;
mod joined;
mod listen;
mod metadata_place;
mod open;
mod rooms;
mod side;
mod spare_worker;
pub(crate) mod start;
