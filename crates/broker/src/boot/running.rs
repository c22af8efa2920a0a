//! A broker that runs, and its stop.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::api::services::Services;
use crate::boot::side::Side;
use crate::boot::spare_worker::SpareWorker;
use crate::boot::stop;
use crate::net::listener::Listener;

/// A broker that accepts connections.
pub struct RunningBroker {
    pub(crate) services: Arc<Services>,
    side: Arc<Side>,
    listeners: Vec<Arc<Listener>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    spare_worker: Mutex<Option<SpareWorker>>,
}

impl RunningBroker {
    pub(super) fn new(
        services: Arc<Services>,
        side: Arc<Side>,
        listeners: Vec<Arc<Listener>>,
        tasks: Vec<JoinHandle<()>>,
    ) -> RunningBroker {
        let (tasks, spare_worker) = (Mutex::new(tasks), Mutex::new(None));
        RunningBroker { services, side, listeners, tasks, spare_worker }
    }

    /// Listener names and the addresses they listen on.
    pub fn addresses(&self) -> Vec<(String, SocketAddr)> {
        self.listeners.iter().map(|l| (l.name.clone(), l.local)).collect()
    }

    /// The cluster's id.
    pub fn cluster_id(&self) -> &str {
        self.services.node.cluster_id()
    }

    /// Lets one worker of this runtime sleep until a disk stalls. It then serves requests that do not need that
    /// disk. For a runtime of the broker's own, with a
    /// worker more than there are processors.
    pub fn keep_spare_worker(&self) {
        let stalls = Arc::clone(self.services.replicas.logs().stalls());
        self.spare_worker.lock().get_or_insert_with(|| SpareWorker::keep(stalls));
    }

    /// Waits until the broker stops by itself; gives the reason.
    pub async fn failed(&self) -> String {
        let mut shutdown = self.services.node.subscribe_shutdown();
        let _ = shutdown.wait_for(|stop| *stop).await;
        self.services.node.fatal().unwrap_or_else(|| "the broker was stopped".into())
    }

    /// What `/metrics` shows, in Prometheus' text format.
    pub fn metrics_text(&self) -> String {
        crate::api::exposition::text(&self.services)
    }

    /// Stops accepting, answers what waits, flushes everything, marks the shutdown as
    /// clean.
    pub fn shut_down(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.stop())
    }

    async fn stop(&self) {
        self.side.before_stop(&self.services).await;
        // Before the tasks are waited for: the spare worker serves while disks stall.
        self.services.node.stop();
        self.spare_worker.lock().take();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        stop::end(Arc::clone(&self.services), tasks, stop::close).await;
    }
}
