//! A broker of a cluster whose controllers run on other nodes: its side of the start, and how it leaves.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::lifecycle::BrokerState;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::Hooks;
use crate::api::services::Services;
use crate::boot::applier::{JoinedApplier, Serving};
use crate::boot::error::StartError;
use crate::boot::housekeeping;
use crate::boot::open::{self, OpenedSide};
use crate::boot::rooms::Rooms;
use crate::control::kraft::{
    Channel, Controller, ObserverLog, ObserverTask, QuorumConfig, QuorumStatus, RemoteController,
};
use crate::control::membership::{self, Cluster, Life};
use crate::net::listener::Listener;
use crate::node::catch_panic::CatchPanic;
use crate::node::metadata_listener::MetadataListener;

/// How long a broker waits for the controllers to let it go: less than a stop may take in all, so that it is a clean
/// one.
const CONTROLLED_SHUTDOWN: Duration = Duration::from_secs(240);
/// How long a broker that has handed its leaderships over still names the new leaders: the longest, and without a request
/// for one.
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
    /// The broker's registration and heartbeats, and the connection for them.
    life: Arc<Life>,
    heartbeats: Arc<Channel>,
    quorum: watch::Receiver<QuorumStatus>,
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
    let time_max = u64::try_from(config.server_max_startup_time_ms()).unwrap_or(0);
    let within =
        u64::try_from(config.initial_broker_registration_timeout_ms()).unwrap_or(0).min(time_max);
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
) -> Result<OpenedSide<JoinedSide>, StartError> {
    let FoundCluster { cluster, quorum, deadline } = found;
    let opened = open::open_logs(config, cluster.id.clone(), hooks)?;
    let log = opened.open_metadata(config, ObserverLog::open)?;
    let image = log.image().clone();
    let registration = open::registration_of(config, &opened, listeners);
    let report = Arc::clone(&opened.report);
    let settings = membership::lifecycle_settings(config, registration.request());
    let cordoned = membership::cordoned(opened.logs.dirs(), config, &image);
    let life = Arc::new(Life::new(settings, cordoned, Arc::clone(&opened.node)));
    let directory_id = opened.logs.metadata_dir().id();
    let rooms = Rooms::new(opened, image, listeners);
    let applier = JoinedApplier::new(rooms.applier.clone(), Arc::clone(&life), rooms.dirs.clone());
    let observer = ObserverTask::new(
        membership::observer_settings(config, &cluster.id, directory_id),
        quorum,
        log,
        Arc::clone(&applier) as Arc<dyn MetadataListener>,
        rooms.applier.node.clock().clone(),
    );
    let quorum = observer.status();
    let timeouts = membership::timeouts(config);
    let channel = |what: &str| {
        let client_id = format!("{}-{what}", config.node_id());
        Channel::new(quorum.clone(), &client_id, timeouts, &cluster.versions)
    };
    let remote = Box::new(RemoteController::new(quorum.clone(), channel));
    let services = rooms.with_controller(Controller::Remote(remote), Some(Arc::clone(&life)));
    let heartbeats = Arc::new(channel("heartbeats"));
    let observer = Mutex::new(Some(observer));
    let side = JoinedSide { applier, life, heartbeats, quorum, observer, deadline };
    Ok(OpenedSide { services, report, side })
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
    pub(super) async fn before_serving(
        &self,
        services: &Arc<Services>,
        tasks: &mut Vec<JoinHandle<()>>,
    ) -> Result<(), StartError> {
        let observer = self.observer.lock().take();
        tasks.extend(observer.map(|observer| self.follow(services, observer)));
        tasks.extend([self.live(services), self.report_lost(services)]);
        self.reach(services, BrokerState::Recovery).await
    }

    /// Serves what the metadata says is here. Waits for disks.
    pub(super) fn serve(&self) -> Result<(), StartError> {
        self.applier.serve().map_err(StartError::Metadata)
    }

    /// Reports what was found elsewhere than the metadata says, and what failed since.
    pub(super) fn after_serving(&self, services: &Arc<Services>) -> JoinHandle<()> {
        services.control.news().wake();
        housekeeping::report_directories(services)
    }

    /// Lets the controllers unfence the broker, and waits until they have.
    pub(super) async fn after_listening(&self, services: &Services) -> Result<(), StartError> {
        self.life.ready();
        self.reach(services, BrokerState::Running).await
    }

    /// Waits until the broker has come so far; the reason if it stops instead.
    async fn reach(&self, services: &Services, wanted: BrokerState) -> Result<(), StartError> {
        let mut state = self.life.state();
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
    fn follow(&self, services: &Arc<Services>, observer: ObserverTask) -> JoinHandle<()> {
        let (services, life) = (Arc::clone(services), Arc::clone(&self.life));
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
            if failure.is_fatal || *life.state().borrow() < BrokerState::Running {
                return services.node.fail(&failure.to_string());
            }
            // Other brokers take its leaderships over. Its logs stay readable, for a repair.
            life.faulty();
        })
    }

    /// Sends the registration and heartbeats.
    fn live(&self, services: &Arc<Services>) -> JoinHandle<()> {
        let (life, channel) = (Arc::clone(&self.life), Arc::clone(&self.heartbeats));
        let (node, quorum) = (Arc::clone(&services.node), self.quorum.clone());
        services.node.spawn_until_stopped(async move {
            let metadata = || (quorum.borrow().applied, node.image().0);
            if let Err(error) = life.run(&channel, metadata).await {
                tracing::error!(%error, "this broker stops");
                node.fail(&error.to_string());
            }
        })
    }

    /// Passes directories that go offline on to the broker's life in the cluster.
    fn report_lost(&self, services: &Arc<Services>) -> JoinHandle<()> {
        let life = Arc::clone(&self.life);
        let mut lost = services.control.news().lost();
        services.node.spawn_until_stopped(async move {
            // Directories that failed while they were opened are reported once the broker serves.
            let known = lost.borrow_and_update().len();
            while lost.changed().await.is_ok() {
                let ids = lost.borrow_and_update()[known..].to_vec();
                life.directories_lost(ids);
            }
        })
    }

    /// Waits until the broker's leaderships have moved to other brokers.
    pub(super) async fn leave(&self, services: &Services) {
        if services.node.is_stopping()
            || !services.node.settings().config.controlled_shutdown_enable()
        {
            return;
        }
        if self.life.shut_down() {
            return;
        }
        let left = self.reach(services, BrokerState::ShuttingDown);
        let silence = async {
            while self.life.unheard() < UNHEARD_MAX {
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
}

/// Serves for a moment longer: the next request of a client is answered with the new leader. If its connection broke, the
/// client would have to ask for metadata. Ends when no client was answered so for a while.
async fn name_leaders(services: &Services) {
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
