//! The front: what requests of all connections share, and the bounds of their memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use thalweg_metadata::config::BrokerConfig;
use tokio::sync::watch;

use crate::api::ApiTable;
use crate::api::fetch_session::{self, SessionCache};
use crate::net::allowed::Connections;
use crate::net::budget::Budget;
use crate::node::settings;

/// What requests of all connections share.
pub(crate) struct Front {
    apis: ApiTable,
    request_budget: Arc<Budget>,
    fetch_budget: Arc<Budget>,
    answer_budget: Arc<Budget>,
    sessions: Mutex<SessionCache>,
    connections: Arc<Connections>,
    connection_ids: AtomicU64,
    /// Set when connections that are still there are closed, whatever they wait for. Each of them holds a receiver until
    /// it is closed.
    cut_off: watch::Sender<bool>,
}

impl Front {
    pub(crate) fn new(
        config: &BrokerConfig,
        connections: Arc<Connections>,
        fetch_memory: usize,
    ) -> Arc<Front> {
        Arc::new(Front {
            apis: ApiTable::new(),
            request_budget: Budget::with_reserve(
                settings::request_memory(config),
                settings::request_reserve(config),
            ),
            fetch_budget: Budget::new(fetch_memory),
            answer_budget: Budget::new(fetch_memory),
            sessions: Mutex::new(SessionCache::new(fetch_session::Limits {
                slots: usize::try_from(config.fetch_session_slots()).unwrap_or(0),
                bytes: settings::fetch_session_memory(),
            })),
            connections,
            connection_ids: AtomicU64::new(0),
            cut_off: watch::Sender::new(false),
        })
    }

    pub(crate) fn apis(&self) -> &ApiTable {
        &self.apis
    }

    /// Memory for requests.
    pub(crate) fn request_budget(&self) -> &Arc<Budget> {
        &self.request_budget
    }

    /// Memory for copies of records in answers to fetches.
    pub(crate) fn fetch_budget(&self) -> &Arc<Budget> {
        &self.fetch_budget
    }

    /// Memory for answers to fetches of many partitions, beside their records. It is a budget of its own: a fetch that
    /// waits must not hold what another one needs to be answered.
    pub(crate) fn answer_budget(&self) -> &Arc<Budget> {
        &self.answer_budget
    }

    /// Fetch sessions (KIP-227).
    pub(crate) fn sessions(&self) -> MutexGuard<'_, SessionCache> {
        self.sessions.lock()
    }

    /// Limits and quotas of connections.
    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    pub(crate) fn next_connection_id(&self) -> u64 {
        self.connection_ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Becomes true when the connection must close. A connection holds this for as long as it is open.
    pub(crate) fn subscribe_cut_off(&self) -> watch::Receiver<bool> {
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
