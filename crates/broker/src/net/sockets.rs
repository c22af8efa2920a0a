//! What the connections of all listeners share: the memory of requests, the limits, and their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_metadata::config::BrokerConfig;
use tokio::sync::watch;

use super::allowed::Connections;
use super::budget::Budget;
use crate::node::{Node, settings};

/// The connections of all listeners.
pub(crate) struct Sockets {
    pub(super) node: Arc<Node>,
    request_budget: Arc<Budget>,
    connections: Arc<Connections>,
    connection_ids: AtomicU64,
    /// Set when connections that are still there are closed, whatever they wait for. Each of them holds a receiver until
    /// it is closed.
    cut_off: watch::Sender<bool>,
}

impl Sockets {
    pub(crate) fn new(
        node: Arc<Node>,
        config: &BrokerConfig,
        connections: Arc<Connections>,
    ) -> Arc<Sockets> {
        let request_budget = Budget::with_reserve(
            settings::request_memory(config),
            settings::request_reserve(config),
        );
        Arc::new(Sockets {
            node,
            request_budget,
            connections,
            connection_ids: AtomicU64::new(0),
            cut_off: watch::Sender::new(false),
        })
    }

    /// Memory for requests.
    pub(crate) fn request_budget(&self) -> &Arc<Budget> {
        &self.request_budget
    }

    /// Limits and quotas of connections.
    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    pub(crate) fn next_connection_id(&self) -> u64 {
        self.connection_ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Becomes true when the connection must close. A connection holds this for as long as it is open.
    pub(super) fn subscribe_cut_off(&self) -> watch::Receiver<bool> {
        self.cut_off.subscribe()
    }

    /// Closes connections that are still there, whatever they wait for.
    pub(crate) fn cut_off(&self) {
        self.cut_off.send_replace(true);
    }

    /// Waits until no connection is left.
    pub(crate) async fn closed(&self) {
        self.cut_off.closed().await;
    }

    /// Connections that are open.
    pub(crate) fn connection_count(&self) -> usize {
        self.cut_off.receiver_count()
    }
}
