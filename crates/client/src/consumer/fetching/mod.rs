//! Fetching: a task per broker, each with a connection of its own.

mod connection;
mod receiver;
mod sessionless;
pub(super) mod source;
