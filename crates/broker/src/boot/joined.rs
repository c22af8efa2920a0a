//! A broker of a cluster whose controllers run on other nodes: its side of the start, and how it leaves.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::lifecycle::BrokerState;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::Hooks;
use crate::api::services::Services;
use crate::boot::applier::{JoinedApplier, Serving};
use crate::boot::rooms::Rooms;
use crate::boot::side::Side;
use crate::boot::start::{Start, StartError};
use crate::boot::{housekeeping, open};
use crate::control::kraft::{
    Controller, ObserverLog, ObserverTask, QuorumConfig, RemoteController,
};
use crate::control::membership::{self, Cluster, Life};
use crate::net::listener::Listener;
use crate::node::catch_panic::CatchPanic;
use crate::node::metadata_listener::MetadataListener;

/// How long a broker waits for the controllers to let it go: less than a stop may take in all, so that it is a clean
/// one.
const CONTROLLED_SHUTDOWN: Duration = Duration::from_secs(240);
/// How long a broker that has handed its leaderships over still says who leads, and how long nobody must have asked.
const NAME_LEADERS_MAX: Duration = Duration::from_secs(1);
const NAME_LEADERS_QUIET: Duration = Duration::from_millis(200);
/// Without a word of them for so long, it does not wait for them.
const UNHEARD_MAX: Duration = Duration::from_secs(15);

/// A clock does not reach further than that.
const FOREVER_MS: u64 = 30 * 365 * 24 * 3_600_000;

/// A cluster to which this broker may belong.
pub(super) struct FoundCluster {
    cluster: Cluster,
    quorum: QuorumConfig,
    /// The start is given up then (`server.max.startup.time.ms`).
    deadline: Instant,
}

/// The controllers of other nodes, and what the start has still to do with them.
pub(super) struct JoinedSide {
    applier: Arc<JoinedApplier>,
    /// Taken when it runs.
    observer: Mutex<Option<ObserverTask>>,
    deadline: Instant,
}

/// Asks the controllers what cluster theirs is, and whether this broker can be part of it.
pub(super) async fn find(config: &BrokerConfig) -> Result<FoundCluster, StartError> {
    let (dirs, metadata_dir) = open::directories(config);
    let own_cluster = open::existing_cluster_id(dirs.iter().chain([&metadata_dir]));
    let quorum = membership::quorum_config(config);
    let begun = Instant::now();
    let time_max = u64::try_from(config.startup_time_max_ms()).unwrap_or(0);
    let within = u64::try_from(config.registration_timeout_ms()).unwrap_or(0).min(time_max);
    let client_id = format!("{}-probe", config.node_id()).into();
    let cluster = membership::describe(
        &quorum.bootstrap,
        &client_id,
        membership::timeouts(config),
        Duration::from_millis(within),
    );
    let cluster = cluster.await.map_err(StartError::Metadata)?;
    cluster.check(config, own_cluster.as_deref()).map_err(StartError::Metadata)?;
    tracing::info!(
        cluster_id = cluster.id,
        metadata_version = cluster.metadata_version(),
        controllers = cluster.controllers.len(),
        "joining the controllers of a cluster"
    );
    let deadline = begun + Duration::from_millis(time_max.min(FOREVER_MS));
    Ok(FoundCluster { cluster, quorum, deadline })
}

/// Opens the directories, the copy of the metadata log among them. Nothing is asked of the controllers yet. Waits for
/// disks.
pub(super) fn open(
    found: FoundCluster,
    config: &BrokerConfig,
    listeners: &[Arc<Listener>],
    hooks: Hooks,
) -> Result<Start, StartError> {
    let FoundCluster { cluster, quorum, deadline } = found;
    let opened = open::open_logs(config, cluster.id.clone(), hooks)?;
    let dir = opened.logs.metadata_dir();
    let (log_config, retention) = open::metadata_log_config(config);
    let now = opened.node.clock().wall_ms();
    let log = ObserverLog::open(&opened.logs, dir, log_config, retention, now)
        .inspect_err(|_| opened.logs.hand_back(&opened.report))?;
    let image = log.image().clone();
    let joining = open::registration_of(config, &opened, listeners);
    let report = Arc::clone(&opened.report);
    let settings = membership::lifecycle_settings(config, joining.registration());
    let cordoned = membership::cordoned(opened.logs.dirs(), config, &image);
    let life = Arc::new(Life::new(settings, cordoned, Arc::clone(&opened.node)));
    let directory_id = dir.id();
    let rooms = Rooms::new(opened, image, listeners);
    let applier = JoinedApplier::new(rooms.applier.clone(), Arc::clone(&life), rooms.dirs.clone());
    let observer = ObserverTask::new(
        membership::observer_settings(config, &cluster.id, directory_id),
        quorum,
        log,
        Arc::clone(&applier) as Arc<dyn MetadataListener>,
        rooms.applier.node.clock().clone(),
    );
    let timeouts = membership::timeouts(config);
    let (status, versions) = (observer.status(), &cluster.versions);
    let remote = RemoteController::new(status, life, config.node_id(), timeouts, versions);
    let services = rooms.with_controller(Controller::Remote(Box::new(remote)));
    let side = JoinedSide { applier, observer: Mutex::new(Some(observer)), deadline };
    Ok(Start::new(services, report, Side::Joined(Box::new(side))))
}

impl JoinedSide {
    /// The start is given up then.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// How far serving has come.
    pub(super) fn serving(&self) -> Serving {
        self.applier.serving()
    }

    /// Registers the broker, and catches up with the metadata as far as its registration.
    pub(super) async fn register(
        &self,
        services: &Arc<Services>,
        tasks: &mut Vec<JoinHandle<()>>,
    ) -> Result<(), StartError> {
        let observer = self.observer.lock().take();
        tasks.extend(observer.map(|observer| follow(services, observer)));
        tasks.extend([live(services), report_lost(services)]);
        reach(services, BrokerState::Recovery).await
    }

    /// Serves what the metadata says is here. Waits for disks.
    pub(super) fn serve(&self) -> Result<(), StartError> {
        self.applier.serve().map_err(StartError::Metadata)
    }

    /// Reports what was found elsewhere than the metadata says, and what failed since.
    pub(super) fn enter(&self, services: &Arc<Services>) -> JoinHandle<()> {
        services.control.news().wake();
        housekeeping::report_directories(services)
    }

    /// Lets the controllers unfence the broker, and waits until they have.
    pub(super) async fn unfence(&self, services: &Arc<Services>) -> Result<(), StartError> {
        if let Some(remote) = services.control.controller().remote() {
            remote.life.ready();
        }
        reach(services, BrokerState::Running).await
    }
}

/// Waits until the broker has come so far; the reason if it stops instead.
async fn reach(services: &Services, wanted: BrokerState) -> Result<(), StartError> {
    let Some(remote) = services.control.controller().remote() else { return Ok(()) };
    let mut state = remote.life.state();
    let mut shutdown = services.node.subscribe_shutdown();
    tokio::select! {
        _ = state.wait_for(|state| *state >= wanted) => Ok(()),
        _ = shutdown.wait_for(|stop| *stop) => {
            let reason = services.node.fatal();
            Err(StartError::Metadata(reason.unwrap_or_else(|| "the broker was stopped".into())))
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
        // Directories that failed while they were opened are reported once the broker serves.
        let known = lost.borrow_and_update().len();
        while lost.changed().await.is_ok() {
            let ids = lost.borrow_and_update()[known..].to_vec();
            remote.life.directories_lost(ids);
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
    let left = reach(services, BrokerState::ShuttingDown);
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
