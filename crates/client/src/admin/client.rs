//! The client for administrators: its settings, and the shape of its answers.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use super::error::AdminError;
use crate::cluster::Cluster;
use crate::options;
use crate::options::backoff;
use crate::options::setters::setters;

/// What became of each thing that something was asked of.
pub type Results<K, T> = BTreeMap<K, Result<T, AdminError>>;

/// What a call of [`Admin`] returns: nothing happens until it is awaited.
///
/// It is boxed, so that the code of a call is compiled once, here, and not again in every program that
/// uses it; beside a request to a broker the allocation is nothing.
pub type AdminFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whether to do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Do it.
    #[default]
    Apply,
    /// Only say whether it could be done.
    ValidateOnly,
}

impl Mode {
    pub(super) fn is_validation(self) -> bool {
        self == Mode::ValidateOnly
    }
}

/// Settings of an [`Admin`]. Defaults are those of Kafka's admin client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdminConfig {
    /// How long one call tries (`default.api.timeout.ms`); 1 minute.
    pub timeout: Duration,
    /// First pause before something is tried again (`retry.backoff.ms`); 100 ms.
    pub retry_backoff: Duration,
    /// Longest such pause (`retry.backoff.max.ms`); 1 s.
    pub retry_backoff_max: Duration,
}

setters! {
    AdminConfig {
        timeout: Duration => with_timeout,
        retry_backoff: Duration => with_retry_backoff,
        retry_backoff_max: Duration => with_retry_backoff_max,
    }
}

impl Default for AdminConfig {
    fn default() -> AdminConfig {
        AdminConfig {
            timeout: Duration::from_secs(60),
            retry_backoff: backoff::RETRY_BACKOFF,
            retry_backoff_max: backoff::RETRY_BACKOFF_MAX,
        }
    }
}

/// Administers a cluster; clones are handles to the same connections.
#[derive(Clone, Debug)]
pub struct Admin {
    pub(super) cluster: Cluster,
    pub(super) config: AdminConfig,
}

impl Admin {
    /// For a cluster that is connected.
    pub fn new(cluster: Cluster, mut config: AdminConfig) -> Admin {
        config.timeout = options::bounded(config.timeout);
        Admin { cluster, config }
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}
