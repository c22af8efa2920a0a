//! The client without I/O: bytes and events in, bytes and decisions out. No sockets, no clock, no
//! randomness.

pub mod backoff;
pub mod code_name;
pub mod connect_ahead;
pub mod exclusive;
pub mod fetch;
pub mod group;
pub mod headers;
pub mod leadership;
pub mod metadata;
pub mod partition;
pub mod produce;
pub mod record;
#[cfg(test)]
mod seeds;

pub use metadata::Metadata;
