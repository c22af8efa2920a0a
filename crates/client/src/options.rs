//! How connections behave.

use std::sync::Arc;
use std::time::Duration;

/// Settings of every connection. Defaults are those of Kafka's Java clients where they have one.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name that the broker shows in logs, metrics and quotas (`client.id`).
    pub client_id: Arc<str>,
    /// Time for connecting and negotiating (`socket.connection.setup.timeout.ms`); 10 s.
    pub connect_timeout: Duration,
    /// Time for one request, from being sent to being answered (`request.timeout.ms`); 30 s.
    pub request_timeout: Duration,
    /// Requests in flight on one connection (`max.in.flight.requests.per.connection`); 5.
    pub max_in_flight: usize,
    /// Largest response in bytes; a longer one ends the connection. 256 MiB.
    pub max_response_bytes: usize,
    /// Software name that the broker counts clients by (KIP-511).
    pub software_name: Arc<str>,
    /// Version that goes with it.
    pub software_version: Arc<str>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            client_id: "thalweg".into(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            max_in_flight: 5,
            max_response_bytes: 256 << 20,
            software_name: "thalweg".into(),
            software_version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}
