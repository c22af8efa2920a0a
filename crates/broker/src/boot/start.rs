//! The start of a broker, step by step, and its stop.
//!
//! *Invariants*: addresses in use and clusters that do not suit are found before anything is written. A broker listens
//! before it is unfenced by other nodes' controllers, because a client that learns of it must not be refused. A start that
//! fails before it serves leaves the directories as it found them.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::{OpenError, OpenReport};
use thalweg_metadata::config::{BrokerConfig, ConfigError};
use tokio::task::JoinHandle;

use crate::Hooks;
use crate::api::services::Services;
use crate::boot::applier::Serving;
use crate::boot::listen::{self, Bound};
use crate::boot::side::{Found, Side};
use crate::boot::spare_worker::SpareWorker;
use crate::boot::{housekeeping, joined};
use crate::control::kraft::{Controller, MetadataLogError};
use crate::net::listener::Listener;

/// How long a stop may take before it is cut short.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(300);

/// Why a broker did not start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Logs(#[from] OpenError),
    #[error("{0}")]
    Metadata(String),
    #[error("listener {listener} cannot listen on {address}: {error}")]
    Listen { listener: String, address: String, error: std::io::Error },
    #[error("{0}")]
    Other(String),
}

impl From<MetadataLogError> for StartError {
    fn from(error: MetadataLogError) -> StartError {
        StartError::Metadata(error.to_string())
    }
}

/// A broker that accepts connections.
pub struct RunningBroker {
    pub(crate) services: Arc<Services>,
    listeners: Vec<Arc<Listener>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    spare_worker: Mutex<Option<SpareWorker>>,
}

/// Starts a broker; when this returns it accepts connections.
pub(crate) async fn start(config: BrokerConfig, hooks: Hooks) -> Result<RunningBroker, StartError> {
    let bound = listen::bind_all(&config)?;
    let listeners: Vec<Arc<Listener>> =
        bound.iter().map(|(listener, _)| Arc::clone(listener)).collect();
    let found = Found::find(&config).await?;
    let named = listeners.clone();
    let mut start = blocking(move || found.open(&config, &named, hooks)).await?;
    let ended = match start.side.deadline() {
        None => start.run(bound).await,
        Some(deadline) => {
            let ended = tokio::time::timeout_at(deadline, start.run(bound)).await;
            ended.unwrap_or_else(|_| Err(start.late()))
        }
    };
    match ended {
        Ok(()) => Ok(start.finish(listeners)),
        Err(error) => {
            start.give_up().await;
            Err(error)
        }
    }
}

/// Does work that waits for disks, on a thread that may wait.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StartError> + Send + 'static,
) -> Result<T, StartError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StartError::Other(format!("start failed: {error}")))?
}

/// A start whose directories are open. Dropped before its end, it stops its tasks.
pub(super) struct Start {
    services: Arc<Services>,
    report: Arc<OpenReport>,
    side: Arc<Side>,
    tasks: Vec<JoinHandle<()>>,
    is_finished: bool,
}

impl Drop for Start {
    fn drop(&mut self) {
        if !self.is_finished {
            self.services.node.stop();
        }
    }
}

impl Start {
    pub(super) fn new(services: Arc<Services>, report: Arc<OpenReport>, side: Side) -> Start {
        Start { services, report, side: Arc::new(side), tasks: Vec::new(), is_finished: false }
    }

    /// The steps, from open directories to clients.
    async fn run(&mut self, bound: Bound) -> Result<(), StartError> {
        let (services, side) = (Arc::clone(&self.services), Arc::clone(&self.side));
        side.register(&services, &mut self.tasks).await?;
        self.on_side(|side, _| side.serve()).await?;
        let tasks = self.on_side(Side::enter).await?;
        self.tasks.extend(tasks);
        self.tasks.extend(listen::accept_all(bound, &services)?);
        side.unfence(&services).await
    }

    /// A step of the controller's side that waits for disks.
    async fn on_side<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Side, &Arc<Services>) -> Result<T, StartError> + Send + 'static,
    ) -> Result<T, StartError> {
        let (services, side) = (Arc::clone(&self.services), Arc::clone(&self.side));
        blocking(move || step(&side, &services)).await
    }

    /// The start took too long.
    fn late(&self) -> StartError {
        let time_max = self.services.node.settings().config.startup_time_max_ms();
        let reason = format!("not started within server.max.startup.time.ms={time_max}");
        StartError::Metadata(reason)
    }

    /// The broker serves: what runs by the clock begins.
    fn finish(mut self, listeners: Vec<Arc<Listener>>) -> RunningBroker {
        self.is_finished = true;
        let services = Arc::clone(&self.services);
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.extend(housekeeping::spawn(&services));
        start_cleaner(&services);
        let (tasks, spare_worker) = (Mutex::new(tasks), Mutex::new(None));
        RunningBroker { services, listeners, tasks, spare_worker }
    }

    /// The one way out of a start that fails: nothing of it goes on, and the directories are given back.
    async fn give_up(mut self) {
        let tasks = std::mem::take(&mut self.tasks);
        let (side, report) = (Arc::clone(&self.side), Arc::clone(&self.report));
        end(Arc::clone(&self.services), tasks, move |services| match side.serving() {
            Serving::Done => close(services),
            // As after a crash: the next start looks at all of it.
            Serving::Begun => {}
            // As they were found, for the next start.
            Serving::NotBegun => services.replicas.logs().hand_back(&report),
        })
        .await;
    }
}

/// Ends the tasks, answers what waits, and has the logs closed on a thread that may wait.
async fn end(
    services: Arc<Services>,
    tasks: Vec<JoinHandle<()>>,
    close: impl FnOnce(&Services) + Send + 'static,
) {
    services.node.stop();
    for task in tasks {
        let _ = task.await;
    }
    services.answer_all().await;
    if tokio::task::spawn_blocking(move || close(&services)).await.is_err() {
        tracing::error!("the shutdown was not clean");
    }
}

/// Flushes everything, and marks the shutdown as clean. Waits for disks.
fn close(services: &Services) {
    let now = services.node.clock().wall_ms();
    let epoch = services.node.broker_epoch();
    if let Controller::Embedded(controller) = services.control.controller() {
        // A start that failed before the registration has nothing to leave.
        if epoch >= 0
            && let Err(error) = controller.leave()
        {
            tracing::warn!(%error, "the broker could not sign off");
        }
        controller.close(now);
    }
    services.replicas.logs().shut_down(epoch, now);
}

impl RunningBroker {
    /// Listener names and the addresses they listen on.
    pub fn addresses(&self) -> Vec<(String, SocketAddr)> {
        self.listeners.iter().map(|l| (l.name.clone(), l.local)).collect()
    }

    /// The cluster's id.
    pub fn cluster_id(&self) -> &str {
        self.services.node.cluster_id()
    }

    /// Lets one worker of this runtime sleep until a disk stalls, so that there is somebody to
    /// serve what has nothing to do with that disk. For a runtime of the broker's own, with a
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
        if let Some(remote) = self.services.control.controller().remote() {
            joined::leave(&self.services, remote).await;
        }
        // Before the tasks are waited for: the spare worker serves while disks stall.
        self.services.node.stop();
        self.spare_worker.lock().take();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        end(Arc::clone(&self.services), tasks, close).await;
    }
}

/// Starts compaction, with what the image says of topics and brokers.
fn start_cleaner(services: &Services) {
    if !services.node.settings().cleaner_enabled() {
        tracing::warn!("log.cleaner.enable is false: compacted topics keep every record");
        return;
    }
    let clock = services.node.clock().clone();
    services.replicas.logs().start_cleaner(Arc::new(move || clock.wall_ms()));
}
