//! One Kafka connection from the side that asks, without I/O: bytes and events in, bytes and decisions out.
//!
//! * [`FrameBuffer`]: what was received, cut into frames.
//! * [`Pipeline`]: requests in flight, and which of them a frame answers. [`pipeline`] has what writes
//!   the frames of requests.
//! * [`Negotiation`]: finds out which versions the other side speaks (KIP-511); [`ApiVersions`] is what came of
//!   it, and picks the version of each request.
//! * [`Login`]: the requests that carry SASL, and when to log in again (KIP-368); [`sasl`] has the mechanisms.
//!
//! Whoever drives them brings the socket, the clock and the randomness: a client that talks to brokers as well as a
//! broker that talks to others. A connection is negotiated first, then logged in on, then used: each of these
//! sends its frames with the next correlation id of the one `Pipeline`, and takes the bodies that it gives out.
//!
//! *Invariants*: memory follows the bytes received, not the length that they announce; an answer belongs to the
//! oldest request in flight, or is an error that ends the connection; a negotiation and a login end after a
//! bounded number of requests, whatever the other side answers; a server's nonce is believed only as a
//! continuation of ours, and with SCRAM a login succeeds only if the server has shown that it knows the
//! password; what is computed for a server that asks for it is bounded; a password leaves only as PLAIN's message,
//! and is in no `Debug`.
//!
//! Pure: no I/O, no clock, no randomness, no threads.

pub mod frame;
pub mod login;
pub mod pipeline;
pub mod sasl;
pub mod versions;

pub use frame::{FrameBuffer, FrameError};
pub use login::{Login, LoginError};
pub use pipeline::{Pipeline, PipelineError};
pub use sasl::{Mechanism, SaslError, ServerError};
pub use versions::{ApiVersions, Negotiation, NegotiationError, VersionError};
