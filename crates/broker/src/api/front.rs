//! The front: what requests of all connections share, and the bounds of their memory.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use thalweg_metadata::config::BrokerConfig;

use crate::api::fetch_session::{self, SessionCache};
use crate::net::budget::Budget;
use crate::net::sockets::Sockets;
use crate::node::settings;

/// What requests of all connections share.
pub(crate) struct Front {
    sockets: Arc<Sockets>,
    fetch_budget: Arc<Budget>,
    answer_budget: Arc<Budget>,
    sessions: Mutex<SessionCache>,
}

impl Front {
    pub(crate) fn new(
        config: &BrokerConfig,
        sockets: Arc<Sockets>,
        fetch_budget: Arc<Budget>,
    ) -> Arc<Front> {
        Arc::new(Front {
            sockets,
            answer_budget: Budget::new(fetch_budget.limit()),
            fetch_budget,
            sessions: Mutex::new(SessionCache::new(fetch_session::Limits {
                slots: usize::try_from(config.max_incremental_fetch_session_cache_slots())
                    .unwrap_or(0),
                bytes: settings::fetch_session_memory(),
            })),
        })
    }

    /// Connections of all listeners.
    pub(crate) fn sockets(&self) -> &Arc<Sockets> {
        &self.sockets
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
}
