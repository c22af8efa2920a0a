//! The client for administrators, and the shape of its answers.

use std::collections::BTreeMap;
use std::pin::Pin;

use super::config::AdminConfig;
use super::error::AdminError;
use crate::cluster::Cluster;
use crate::options;

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
