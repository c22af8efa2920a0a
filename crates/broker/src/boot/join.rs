//! How a broker joins the controllers of other nodes, follows their metadata, and leaves.

use std::sync::Arc;
use std::time::Duration;

use thalweg_metadata::lifecycle::BrokerState;
use tokio::task::JoinHandle;

use super::applier::JoinedApplier;
use super::housekeeping;
use crate::api::services::Services;
use crate::control::kraft::{ObserverTask, RemoteController};
use crate::node::catch_panic::CatchPanic;

/// How long a broker waits for the controllers to let it go: less than a stop may take in all, so that it is a clean
/// one.
const CONTROLLED_SHUTDOWN: Duration = Duration::from_secs(240);
/// How long a broker that has handed its leaderships over still says who leads, and how long nobody must have asked.
const NAME_LEADERS_MAX: Duration = Duration::from_secs(1);
const NAME_LEADERS_QUIET: Duration = Duration::from_millis(200);
/// Without a word of them for so long, it does not wait for them.
const UNHEARD_MAX: Duration = Duration::from_secs(15);

/// A start that is not at its end yet: if it is given up, its tasks end.
struct Starting(Arc<Services>, bool);

impl Drop for Starting {
    fn drop(&mut self) {
        if !self.1 {
            self.0.node.stop();
        }
    }
}

/// Registers the broker, catches up with the metadata, opens what it says is here, and waits until the controllers
/// let clients come, until `deadline` at most; `accept` has them come. Gives the tasks that go on until the broker stops.
pub(super) async fn join(
    services: &Arc<Services>,
    applier: &Arc<JoinedApplier>,
    observer: ObserverTask,
    deadline: tokio::time::Instant,
    accept: impl FnOnce(&Arc<Services>) -> Result<Vec<JoinHandle<()>>, String>,
) -> Result<Vec<JoinHandle<()>>, String> {
    let mut starting = Starting(Arc::clone(services), false);
    let mut tasks = vec![follow(services, observer), live(services), report_lost(services)];
    let joined = tokio::time::timeout_at(deadline, joined(services, applier, &mut tasks, accept));
    let joined = joined.await.unwrap_or_else(|_| {
        let time_max = services.node.settings().config.startup_time_max_ms();
        Err(format!("not started within server.max.startup.time.ms={time_max}"))
    });
    if joined.is_err() {
        // Nothing of it goes on, so that the directories can be given back.
        services.node.stop();
        for task in tasks.drain(..) {
            let _ = task.await;
        }
    }
    starting.1 = true;
    joined.map(|()| tasks)
}

async fn joined(
    services: &Arc<Services>,
    applier: &Arc<JoinedApplier>,
    tasks: &mut Vec<JoinHandle<()>>,
    accept: impl FnOnce(&Arc<Services>) -> Result<Vec<JoinHandle<()>>, String>,
) -> Result<(), String> {
    let Some(remote) = services.control.controller().remote() else { return Ok(()) };
    let mut state = remote.life.state();
    reach(services, &mut state, BrokerState::Recovery).await?;
    {
        let applier = Arc::clone(applier);
        let served = tokio::task::spawn_blocking(move || applier.serve()).await;
        served.map_err(|error| error.to_string())??;
    }
    // What was found elsewhere than the metadata says, and what failed meanwhile.
    tasks.push(housekeeping::report_directories(services));
    services.control.news().wake();
    // Before the controllers tell of it: who has heard must not be refused.
    tasks.extend(accept(services)?);
    remote.life.ready();
    reach(services, &mut state, BrokerState::Running).await
}

/// Waits until the broker has come so far; the reason if it stops instead.
async fn reach(
    services: &Arc<Services>,
    state: &mut tokio::sync::watch::Receiver<BrokerState>,
    wanted: BrokerState,
) -> Result<(), String> {
    let mut shutdown = services.node.subscribe_shutdown();
    tokio::select! {
        _ = state.wait_for(|state| *state >= wanted) => Ok(()),
        _ = shutdown.wait_for(|stop| *stop) => {
            Err(services.node.fatal().unwrap_or_else(|| "the broker was stopped".into()))
        }
    }
}

/// Follows the metadata log.
fn follow(services: &Arc<Services>, observer: ObserverTask) -> JoinHandle<()> {
    let services = Arc::clone(services);
    tokio::spawn(async move {
        let mut shutdown = services.node.subscribe_shutdown();
        let stopped = async move {
            let _ = shutdown.wait_for(|stop| *stop).await;
        };
        let failure = match CatchPanic(observer.run(stopped)).await {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(()) => {
                services.node.metrics().panics.add(1);
                return services
                    .node
                    .fail("what follows the metadata log panicked; see the message above");
            }
        };
        tracing::error!(%failure, "this broker knows nothing new from here on");
        match services.control.controller().remote() {
            // Others go on without it. What it has is still there for who repairs it.
            Some(remote)
                if !failure.is_fatal && *remote.life.state().borrow() >= BrokerState::Running =>
            {
                remote.life.faulty();
            }
            _ => services.node.fail(&failure.to_string()),
        }
    })
}

/// Talks to the controllers.
fn live(services: &Arc<Services>) -> JoinHandle<()> {
    let served = Arc::clone(services);
    services.node.spawn_until_stopped(async move {
        let Some(remote) = served.control.controller().remote() else { return };
        let metadata = || (remote.status().applied, served.node.image().0);
        if let Err(error) = remote.life.run(&remote.heartbeats, metadata).await {
            tracing::error!(%error, "this broker stops");
            served.node.fail(&error.to_string());
        }
    })
}

/// Tells the broker's life in the cluster of directories that went offline.
fn report_lost(services: &Arc<Services>) -> JoinHandle<()> {
    let served = Arc::clone(services);
    services.node.spawn_until_stopped(async move {
        let Some(remote) = served.control.controller().remote() else { return };
        let mut lost = served.control.news().lost();
        loop {
            let ids = lost.borrow_and_update().clone();
            if !ids.is_empty() {
                remote.life.directories_lost(ids);
            }
            if lost.changed().await.is_err() {
                return;
            }
        }
    })
}

/// Waits until what this broker leads has moved to others.
pub(super) async fn leave(services: &Arc<Services>, remote: &RemoteController) {
    if services.node.is_stopping() || !services.node.settings().config.controlled_shutdown() {
        return;
    }
    if remote.life.shut_down() {
        return;
    }
    let mut state = remote.life.state();
    let left = reach(services, &mut state, BrokerState::ShuttingDown);
    let silence = async {
        while remote.life.unheard() < UNHEARD_MAX {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::select! {
        left = left => {
            if left.is_ok() {
                name_leaders(services).await;
            }
            return;
        }
        () = tokio::time::sleep(CONTROLLED_SHUTDOWN) => {}
        () = silence => {}
    }
    tracing::warn!("the controllers have not let this broker go: it stops nevertheless");
}

/// Serves on for a moment: clients that have not heard who leads now are told with the next request that they send
/// here, where a connection that breaks would have them ask for metadata. It ends when nobody has asked for a while.
async fn name_leaders(services: &Arc<Services>) {
    let deadline = tokio::time::Instant::now() + NAME_LEADERS_MAX;
    let mut named = services.node.metrics().leader_hints.get();
    let mut shutdown = services.node.subscribe_shutdown();
    while tokio::time::Instant::now() < deadline {
        tokio::select! {
            () = tokio::time::sleep(NAME_LEADERS_QUIET) => {}
            _ = shutdown.wait_for(|stop| *stop) => return,
        }
        let now = services.node.metrics().leader_hints.get();
        if now == named {
            return;
        }
        named = now;
    }
}
