//! The client without I/O: bytes and events in, bytes and decisions out. No sockets, no clock, no
//! randomness.

pub mod backoff;
pub mod fetch;
pub mod frame;
pub mod group;
pub mod headers;
pub mod login;
pub mod metadata;
pub mod partition;
pub mod pipeline;
pub mod produce;
mod random;
pub mod sasl;
#[cfg(test)]
mod seeds;
pub mod versions;

pub use frame::{FrameBuffer, FrameError};
pub use metadata::Metadata;
pub use pipeline::PipelineError;
pub use versions::{ApiVersions, Negotiation, VersionError};
