//! Starting and stopping a broker, and looking into its directories before a start.

pub(crate) mod applier;
mod descriptors;
mod dir_failures;
mod embedded;
pub(crate) mod error;
mod executor;
pub(crate) mod housekeeping;
pub mod inspect;
mod joined;
mod listen;
mod metadata_place;
mod open;
mod rooms;
pub(crate) mod running;
mod side;
mod spare_worker;
pub(crate) mod start;
pub(crate) mod stop;
