//! The start of a broker, step by step ([`Start::run`]).
//!
//! *Invariants*: addresses in use and clusters that do not suit are found before anything is written. A broker listens
//! before it is unfenced by other nodes' controllers. Otherwise a client that learns of it is refused.
//!
//! A start that fails before it serves partitions gives its directories back: they are released, and those that were marked
//! as cleanly closed are marked so again. [`Opened`](crate::boot::open::Opened) does that until the metadata log is open, and
//! [`Start::give_up`] from then on. Nothing else is undone: a new directory keeps its `meta.properties`, and a log that
//! recovery has cut stays cut. If the log manager itself does not open, directories that it has read lose their mark.

use std::sync::Arc;

use thalweg_log::OpenReport;
use thalweg_metadata::config::BrokerConfig;
use tokio::task::JoinHandle;

use crate::Hooks;
use crate::api::services::Services;
use crate::boot::applier::Serving;
use crate::boot::error::StartError;
use crate::boot::listen::{self, Bound};
use crate::boot::open::OpenedSide;
use crate::boot::running::RunningBroker;
use crate::boot::side::{Found, Side, blocking};
use crate::boot::{housekeeping, stop};
use crate::net::listener::Listener;

/// Starts a broker; when this returns it accepts connections.
pub(crate) async fn start(config: BrokerConfig, hooks: Hooks) -> Result<RunningBroker, StartError> {
    let bound = listen::bind_all(&config)?;
    let listeners: Vec<Arc<Listener>> =
        bound.iter().map(|(listener, _)| Arc::clone(listener)).collect();
    let found = Found::find(&config).await?;
    let named = listeners.clone();
    let opened = blocking(move || found.open(&config, &named, hooks)).await?;
    let mut start = Start::new(opened);
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

/// A start whose directories are open. Dropped before its end, it stops its tasks.
struct Start {
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
    fn new(opened: OpenedSide<Side>) -> Start {
        let OpenedSide { services, report, side } = opened;
        Start { services, report, side: Arc::new(side), tasks: Vec::new(), is_finished: false }
    }

    /// The steps, from open directories to clients. The controller's side takes part in each:
    ///
    /// | Step | Embedded controller | Controllers of other nodes |
    /// |---|---|---|
    /// | `before_serving` | nothing | follows the metadata log; registers, and waits until the metadata has its registration |
    /// | `serve` | serves the partitions of the metadata | the same |
    /// | `after_serving` | writes the first records of a new log; registers and unfences the broker | reports directories |
    /// | accept | connections are accepted | the same |
    /// | `after_listening` | nothing | is ready to be unfenced, and waits until it is |
    async fn run(&mut self, bound: Bound) -> Result<(), StartError> {
        let (services, side) = (Arc::clone(&self.services), Arc::clone(&self.side));
        side.before_serving(&services, &mut self.tasks).await?;
        self.on_side(|side, _| side.serve()).await?;
        let tasks = self.on_side(Side::after_serving).await?;
        self.tasks.extend(tasks);
        self.tasks.extend(listen::accept_all(bound, &services)?);
        side.after_listening(&services).await
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
        let time_max = self.services.node.settings().config.server_max_startup_time_ms();
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
        RunningBroker::new(services, Arc::clone(&self.side), listeners, tasks)
    }

    /// Ends a start that fails: its tasks end, and the directories are closed or given back.
    async fn give_up(mut self) {
        let tasks = std::mem::take(&mut self.tasks);
        let (side, report) = (Arc::clone(&self.side), Arc::clone(&self.report));
        stop::end(Arc::clone(&self.services), tasks, move |services| match side.serving() {
            Serving::Done => stop::close(services),
            // As after a crash: the next start checks all logs.
            Serving::Begun => {}
            Serving::NotBegun => services.replicas.logs().hand_back(&report),
        })
        .await;
    }
}

/// Starts compaction, with what the image says of topics and brokers.
fn start_cleaner(services: &Services) {
    if !services.node.settings().log_cleaner_enable() {
        tracing::warn!("log.cleaner.enable is false: compacted topics keep every record");
        return;
    }
    let clock = services.node.clock().clone();
    services.replicas.logs().start_cleaner(Arc::new(move || clock.wall_ms()));
}
