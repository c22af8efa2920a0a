//! One connection to a broker: TCP or TLS, the negotiation of versions, the login, requests and their
//! answers. It knows an address, not the cluster behind it.

pub(crate) mod auth;
pub mod connection;
mod frames;
pub mod raw;
pub(crate) mod transport;
