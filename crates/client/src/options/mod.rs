//! How connections behave, and how they are protected.

pub(crate) mod backoff;
pub(crate) mod setters;
#[cfg(feature = "tls")]
pub(crate) mod tls;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use thalweg_connection::Mechanism;
#[cfg(feature = "tls")]
pub use tls::{Identity, Pem, Roots, TlsOptions};

use setters::setters;

/// As long as anybody means by "forever": what is longer does not fit a clock.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A time that was set, so that it can be added to a moment: [`Duration::MAX`] is a usual way to say
/// that something has no limit.
pub(crate) fn bounded(time: Duration) -> Duration {
    time.min(FOREVER)
}

/// Settings of every connection. Defaults are those of Kafka's Java clients where they have one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Name that the broker shows in logs, metrics and quotas (`client.id`).
    pub client_id: Arc<str>,
    /// Time for connecting, TLS, negotiating and logging in, all together
    /// (`socket.connection.setup.timeout.ms`); 10 s.
    pub connect_timeout: Duration,
    /// Time for one request, from being sent to being answered (`request.timeout.ms`); 30 s.
    pub request_timeout: Duration,
    /// How long a connection stays open on which nothing is asked (`connections.max.idle.ms`);
    /// 9 minutes, less than the 10 after which brokers close it.
    pub connections_max_idle: Duration,
    /// Brokers to which each producer and each consumer keeps a connection open, logged in, before it needs one; 8. As
    /// a property it is `thalweg.connect.ahead.brokers`. They are those that have replicas of the partitions in use and
    /// may lead them next, the likeliest first, so that a leader that moves is not waited for. The connections are
    /// opened in the background once something was acknowledged or fetched; brokers that lead already do not count.
    /// With 0 a connection is opened when it is first needed.
    pub connect_ahead: usize,
    /// Requests in flight on one connection (`max.in.flight.requests.per.connection`); 5.
    pub max_in_flight: usize,
    /// Largest response in bytes; a longer one ends the connection. 256 MiB.
    pub max_response_bytes: usize,
    /// What is done about brokers that cannot be reached, or send clients away (`metadata.recovery.strategy`);
    /// [`MetadataRecoveryStrategy::Rebootstrap`].
    pub metadata_recovery_strategy: MetadataRecoveryStrategy,
    /// Whether ApiVersions names the cluster and the broker (`metadata.cluster.check.enable`, KIP-1242); yes.
    /// A broker of another cluster, or with another id, refuses the connection then, and the bootstrap addresses are
    /// asked. Brokers before 4.4 do not check it. [`MetadataRecoveryStrategy::None`] turns it off, too.
    pub metadata_cluster_check: bool,
    /// Software name that the broker counts clients by (KIP-511).
    pub software_name: Arc<str>,
    /// Version that goes with it.
    pub software_version: Arc<str>,
    /// What connections are made of (`security.protocol`, together with [`Self::sasl`]); plaintext.
    pub security: Security,
    /// How this client proves who it is; not at all.
    pub sasl: Option<SaslOptions>,
}

/// When the bootstrap addresses are asked again (`metadata.recovery.strategy`, KIP-899, KIP-1102).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum MetadataRecoveryStrategy {
    /// When none of the brokers that are known answers, or one answers REBOOTSTRAP_REQUIRED. All connections of
    /// the cluster are closed in the latter case.
    #[default]
    Rebootstrap,
    /// Never, once brokers are known.
    None,
}

/// What connections are made of. Kafka's `security.protocol` says this and whether there is SASL in
/// one word:
///
/// |                       | without [`Options::sasl`] | with it          |
/// |-----------------------|---------------------------|------------------|
/// | [`Self::Plaintext`]   | `PLAINTEXT`               | `SASL_PLAINTEXT` |
/// | `Self::Tls`           | `SSL`                     | `SASL_SSL`       |
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Security {
    /// TCP as it is: everybody on the way can read and change everything.
    #[default]
    Plaintext,
    /// TLS 1.2 or 1.3. Needs the feature `tls`, which is on by default.
    #[cfg(feature = "tls")]
    Tls(TlsOptions),
}

/// How this client proves who it is (`sasl.mechanism`, and `sasl.jaas.config` with its `username`
/// and `password`). A broker that limits a session's life (`connections.max.reauth.ms`, KIP-368) is
/// told again in time.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaslOptions {
    /// The mechanism (`sasl.mechanism`); Kafka's default is GSSAPI, which there is not here.
    pub mechanism: Mechanism,
    /// The user's name, as it is: no SASLprep, as in Kafka's client. No default.
    pub username: Arc<str>,
    /// The password, likewise. Never shown by `Debug`. No default.
    pub password: Arc<str>,
}

impl SaslOptions {
    /// A mechanism with its user.
    pub fn new(
        mechanism: Mechanism,
        username: impl Into<Arc<str>>,
        password: impl Into<Arc<str>>,
    ) -> SaslOptions {
        SaslOptions { mechanism, username: username.into(), password: password.into() }
    }
}

impl fmt::Debug for SaslOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaslOptions")
            .field("mechanism", &self.mechanism)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

setters! {
    Options {
        connect_timeout: Duration => with_connect_timeout,
        request_timeout: Duration => with_request_timeout,
        connections_max_idle: Duration => with_connections_max_idle,
        connect_ahead: usize => with_connect_ahead,
        max_in_flight: usize => with_max_in_flight,
        max_response_bytes: usize => with_max_response_bytes,
        metadata_recovery_strategy: MetadataRecoveryStrategy => with_metadata_recovery_strategy,
        metadata_cluster_check: bool => with_metadata_cluster_check,
        security: Security => with_security,
    }
}

impl Options {
    /// Sets [`Self::client_id`].
    #[must_use]
    pub fn with_client_id(mut self, client_id: impl Into<Arc<str>>) -> Options {
        self.client_id = client_id.into();
        self
    }

    /// Sets [`Self::software_name`].
    #[must_use]
    pub fn with_software_name(mut self, software_name: impl Into<Arc<str>>) -> Options {
        self.software_name = software_name.into();
        self
    }

    /// Sets [`Self::software_version`].
    #[must_use]
    pub fn with_software_version(mut self, software_version: impl Into<Arc<str>>) -> Options {
        self.software_version = software_version.into();
        self
    }

    /// Sets [`Self::sasl`].
    #[must_use]
    pub fn with_sasl(mut self, sasl: SaslOptions) -> Options {
        self.sasl = Some(sasl);
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            client_id: "thalweg".into(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            connections_max_idle: Duration::from_secs(9 * 60),
            connect_ahead: 8,
            max_in_flight: 5,
            max_response_bytes: 256 << 20,
            metadata_recovery_strategy: MetadataRecoveryStrategy::Rebootstrap,
            metadata_cluster_check: true,
            software_name: "thalweg".into(),
            software_version: env!("CARGO_PKG_VERSION").into(),
            security: Security::Plaintext,
            sasl: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let sasl = Some(SaslOptions::new(Mechanism::Plain, "alice", "pencil"));
        let shown = format!("{:?}", Options { sasl, ..Options::default() });
        assert!(shown.contains("alice") && !shown.contains("pencil"), "{shown}");
    }
}
