//! Starting and stopping: directories, metadata, registration, listeners, housekeeping.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use thalweg_log::{LoadStats, LogDir, LogManager, ManagerConfig, OpenError, OpenReport};
use thalweg_metadata::config::listeners::Endpoint;
use thalweg_metadata::config::{BrokerConfig, ConfigError, Properties, TopicConfig};
use thalweg_metadata::features::MetadataVersion;
use thalweg_metadata::image::MetadataImage;
use thalweg_records::Compression;
use thalweg_records::codec::CompressionSpec;
use thalweg_wire::Uuid;
use tokio::task::JoinHandle;

use crate::Hooks;
use crate::api::connection::ConnectionRequests;
use crate::api::front::Front;
use crate::api::services::Services;
use crate::boot::applier::{Applier, JoinedApplier};
use crate::boot::descriptors::Shares;
use crate::boot::housekeeping::DirFailures;
use crate::boot::join;
use crate::boot::spare_worker::SpareWorker;
use crate::control::kraft::{
    Controller, EmbeddedController, MetadataLog, MetadataLogError, ObserverLog, ObserverTask,
    Owner, QuorumConfig, RemoteController, Retention,
};
use crate::control::membership::{self, Cluster, Life};
use crate::control::producer_ids::ProducerIds;
use crate::control::{Control, registration};
use crate::coordination::groups::Groups;
use crate::coordination::runtime::RuntimeConfig;
use crate::coordination::transaction_coordinator::TransactionCoordinator;
use crate::coordination::transactions::Markers;
use crate::coordination::{Coordination, Coordinators, group_settings};
use crate::net::allowed::Connections;
use crate::net::budget::Budget;
use crate::net::hosts;
use crate::net::listener::{self, BoundSocket, Listener, SocketOptions};
use crate::net::sockets::Sockets;
use crate::node::clock::Clock;
use crate::node::directory_news::DirectoryNews;
use crate::node::loggers::LogLevels;
use crate::node::metadata_listener::MetadataListener;
use crate::node::random::Random;
use crate::node::{Node, settings};
use crate::replicas::images::LeadershipListener;
use crate::replicas::topics::TopicTable;
use crate::replicas::{Replicas, topic_settings};

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
    // Sockets first: an address in use is found before anything is written. They listen when the broker can serve.
    let bound = bind_all(&config)?;
    let listeners: Vec<Arc<Listener>> =
        bound.iter().map(|(listener, _)| Arc::clone(listener)).collect();
    let (services, mut tasks) = match config.roles().controller {
        true => {
            let served = listeners.clone();
            // Opens, recovers and formats directories: waits for disks.
            let opened = tokio::task::spawn_blocking(move || embedded(config, &served, hooks));
            let services =
                opened.await.map_err(|e| StartError::Other(format!("start failed: {e}")))??;
            match accept_all(bound, &services) {
                Ok(tasks) => (services, tasks),
                Err(error) => {
                    // Closed as after a stop.
                    let (tasks, spare_worker) = (Mutex::default(), Mutex::new(None));
                    RunningBroker { services, listeners, tasks, spare_worker }.stop().await;
                    return Err(error);
                }
            }
        }
        false => joined(config, listeners.clone(), hooks, bound).await?,
    };
    tasks.extend(crate::boot::housekeeping::spawn(&services));
    start_cleaner(&services);
    let (tasks, spare_worker) = (Mutex::new(tasks), Mutex::new(None));
    Ok(RunningBroker { services, listeners, tasks, spare_worker })
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
        let services = Arc::clone(&self.services);
        if let Some(remote) = services.control.controller().remote() {
            join::leave(&services, remote).await;
        }
        services.node.stop();
        self.spare_worker.lock().take();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        for task in tasks {
            let _ = task.await;
        }
        services.answer_all().await;
        let closing = tokio::task::spawn_blocking(move || {
            // No log is opened any more.
            services.replicas.openings().stop();
            let now = services.node.clock().wall_ms();
            let epoch = services.node.broker_epoch();
            if let Controller::Embedded(controller) = services.control.controller() {
                if let Err(error) = controller.leave() {
                    tracing::warn!(%error, "the broker could not sign off");
                }
                controller.close(now);
            }
            services.replicas.logs().shut_down(epoch, now);
        });
        if closing.await.is_err() {
            tracing::error!("the shutdown was not clean");
        }
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

/// A node with its log directories open, before anything is served.
struct Opened {
    node: Arc<Node>,
    logs: LogManager,
    report: Arc<OpenReport>,
    shares: Shares,
    topics: Arc<ArcSwap<TopicTable>>,
    news: Arc<DirectoryNews>,
}

/// Opens the log directories; those that are new belong to `cluster_id`.
fn open_logs(
    config: &BrokerConfig,
    cluster_id: String,
    clock: Clock,
    disk: thalweg_log::Disk,
    log_levels: Option<Arc<dyn LogLevels>>,
) -> Result<Opened, StartError> {
    let now = clock.wall_ms();
    let defaults = TopicConfig::new(config, &Properties::new())?;
    let (dirs, metadata_dir) = directories(config);
    let shares = shares(&dirs, &metadata_dir)?;
    let image = Arc::new(MetadataImage::empty());
    let node =
        Node::new(cluster_id.clone(), clock, Random::new(), log_levels, config.clone(), image);
    let (topics, news) = (Arc::default(), Arc::default());
    let failures = DirFailures::new(
        Arc::clone(&node),
        Arc::clone(&topics),
        Arc::clone(&news),
        metadata_dir.clone(),
        dirs.clone(),
    );
    let mut manager =
        ManagerConfig::new(dirs, config.node_id(), topic_settings::of(&defaults).log, now);
    manager.cluster_id = Some(cluster_id);
    manager.metadata_dir = Some(metadata_dir);
    manager.disk = disk;
    manager.max_open_files_per_dir = shares.files_per_dir;
    // One worker is left for everybody else while disks stall.
    let workers = tokio::runtime::Handle::current().metrics().num_workers();
    manager.max_inline_appends = workers.saturating_sub(1).max(1);
    manager.recovery_threads_per_dir =
        usize::try_from(config.recovery_threads_per_dir()).unwrap_or(1).max(1);
    manager.producer_expiration_ms = i64::from(config.producer_id_expiration_ms());
    let executor = Arc::new(crate::boot::housekeeping::BlockingExecutor::new());
    manager.executor = Some(executor);
    manager.listener = Some(Arc::new(failures));
    let (logs, report) = LogManager::open(manager)?;
    // What is wrong with single partitions was said when it was found.
    for dir in report.dirs.iter().filter(|dir| !dir.clean && dir.stats != LoadStats::default()) {
        tracing::info!(
            dir = %dir.path.display(), partitions = dir.partitions,
            segments = dir.stats.recovered_segments, bytes = dir.stats.recovered_bytes,
            zeros_cut_off = dir.stats.zeroed_bytes, epochs_collected = dir.stats.epochs_collected,
            "the last stop was not clean: what may not have been on the disk was checked"
        );
    }
    for dir in report.dirs.iter().filter(|dir| dir.stats.truncated_bytes > 0) {
        tracing::warn!(
            dir = %dir.path.display(), bytes = dir.stats.truncated_bytes,
            "bytes behind the last whole batch were cut off"
        );
    }
    let metadata_dir = logs.metadata_dir();
    metadata_dir.check().map_err(|e| StartError::Metadata(e.to_string()))?;
    Ok(Opened { node, logs, report: Arc::new(report), shares, topics, news })
}

/// The log directories, and that of the metadata log.
pub(crate) fn directories(config: &BrokerConfig) -> (Vec<PathBuf>, PathBuf) {
    let dirs = config.log_dirs().iter().map(PathBuf::from).collect();
    (dirs, PathBuf::from(config.metadata_log_dir()))
}

/// How the metadata log is kept.
pub(crate) fn metadata_log_config(config: &BrokerConfig) -> (thalweg_log::LogConfig, Retention) {
    let segment_bytes =
        config.internal_metadata_segment_bytes().unwrap_or(config.metadata_segment_bytes());
    let log = thalweg_log::LogConfig {
        segment_bytes: u32::try_from(segment_bytes).unwrap_or(u32::MAX),
        segment_ms: config.metadata_segment_ms(),
        max_message_bytes: u32::MAX,
        // Checkpoints decide what may go.
        retention_bytes: -1,
        retention_ms: -1,
        ..thalweg_log::LogConfig::default()
    };
    let retention = Retention {
        snapshot_after_bytes: u64::try_from(config.metadata_snapshot_record_bytes())
            .unwrap_or(u64::MAX),
        snapshot_interval_ms: config.metadata_snapshot_interval_ms(),
        bytes: config.metadata_retention_bytes(),
        ms: config.metadata_retention_ms(),
    };
    (log, retention)
}

/// What this broker registers with. It tells processes apart, and so is made once.
fn registration_of(
    config: &BrokerConfig,
    opened: &Opened,
    listeners: &[Arc<Listener>],
) -> registration::Joining {
    let online = opened.logs.dirs().iter().filter(|dir| dir.check().is_ok());
    let mut directories: Vec<Uuid> = online.map(|dir| dir.id()).collect();
    directories.sort_unstable();
    registration::Joining {
        node_id: config.node_id(),
        incarnation: opened.node.random().uuid(),
        endpoints: listeners
            .iter()
            .map(|l| (l.name.clone(), l.advertised_host.clone(), l.advertised_port))
            .collect(),
        rack: config.rack().map(str::to_owned),
        directories,
        previous_broker_epoch: opened.report.previous_broker_epoch,
        cluster_id: opened.report.cluster_id.clone(),
    }
}

/// The rooms of a broker, but for the way to its controller.
struct Rooms {
    applier: Applier,
    producer_ids: Arc<ProducerIds>,
    dirs: Vec<Arc<LogDir>>,
    fetch_budget: Arc<Budget>,
}

impl Rooms {
    /// Begins with `image`, of which nothing has taken effect.
    fn new(
        opened: Opened,
        image: MetadataImage,
        listeners: &[Arc<Listener>],
        fetch_memory: Option<usize>,
    ) -> Rooms {
        let Opened { node, logs, shares, topics, news, .. } = opened;
        let image = Arc::new(image);
        node.set_image(Arc::clone(&image));
        let config = node.static_config();
        let open: Vec<String> = listeners.iter().map(|listener| listener.name.clone()).collect();
        let connections = Connections::new(config, &image.quotas, open, shares.connections);
        let producer_ids = Arc::default();
        let markers: Arc<Markers> = Arc::default();
        let coordinators = Coordinators::new(
            groups(config, Arc::clone(&image), node.clock().clone()),
            TransactionCoordinator::new(
                config,
                &image,
                &producer_ids,
                Arc::clone(&markers),
                node.clock().clone(),
            ),
        );
        let dirs = logs.dirs().to_vec();
        let replicas = Replicas::new(
            Arc::clone(&node),
            logs,
            topics,
            Arc::clone(&news),
            Arc::clone(&coordinators) as Arc<dyn LeadershipListener>,
        );
        let fetch_budget = Budget::new(fetch_memory.unwrap_or_else(settings::fetch_memory));
        let coordination = Coordination::new(
            Arc::clone(&node),
            Arc::clone(&replicas),
            coordinators,
            markers,
            Arc::clone(&fetch_budget),
        );
        let sockets = Sockets::new(Arc::clone(&node), node.static_config(), connections);
        let applier = Applier { node, replicas, coordination, sockets, news };
        Rooms { applier, producer_ids, dirs, fetch_budget }
    }

    /// The broker with its controller.
    fn with_controller(self, controller: Controller) -> Arc<Services> {
        let Rooms { applier, producer_ids, dirs, fetch_budget } = self;
        let Applier { node, replicas, coordination, sockets, news } = applier;
        Arc::new(Services {
            control: Control::new(Arc::clone(&node), controller, producer_ids, dirs, news),
            front: Front::new(node.static_config(), sockets, fetch_budget),
            node,
            replicas,
            coordination,
        })
    }
}

fn groups(config: &BrokerConfig, image: Arc<MetadataImage>, clock: Clock) -> Groups {
    Groups::new(
        group_settings::of(config, &image),
        image,
        settings::group_memory(config),
        RuntimeConfig {
            runner: thalweg_coordinator::RunnerConfig {
                write_timeout_ms: u64::try_from(config.offsets_commit_timeout_ms()).unwrap_or(0),
            },
            compression: offsets_compression(config),
            jobs: usize::try_from(config.group_background_threads()).unwrap_or(1).max(1),
            serves_partial_loads: false,
        },
        clock,
    )
}

/// A broker that is its own controller.
fn embedded(
    config: BrokerConfig,
    listeners: &[Arc<Listener>],
    hooks: Hooks,
) -> Result<Arc<Services>, StartError> {
    let (dirs, metadata_dir) = directories(&config);
    crate::boot::metadata_place::check(&dirs, &metadata_dir).map_err(StartError::Metadata)?;
    let cluster_id = existing_cluster_id(dirs.iter().chain([&metadata_dir]))
        .unwrap_or_else(|| Random::new().uuid().to_string());
    let clock = Clock::new(hooks.clock);
    let opened = open_logs(&config, cluster_id, clock.clone(), hooks.disk, hooks.log_levels)?;
    let dir = opened.logs.metadata_dir();
    let owner = Owner {
        node_id: config.node_id(),
        directory_id: dir.id(),
        listener: controller_listener(&config, listeners),
        static_voters: config.voters().iter().map(|voter| voter.id).collect(),
        release: MetadataVersion::named(config.format_release_version())
            .unwrap_or(MetadataVersion::LATEST),
    };
    let (log_config, retention) = metadata_log_config(&config);
    let now = clock.wall_ms();
    let metadata = MetadataLog::open(&opened.logs, dir, &owner, log_config, retention, now)
        .inspect_err(|_| opened.logs.hand_back(&opened.report))?;
    let joining = registration_of(&config, &opened, listeners);
    let image = metadata.loader.image().clone();
    let rooms = Rooms::new(opened, image, listeners, hooks.fetch_memory);
    let applier = rooms.applier.clone();
    let controller = EmbeddedController::new(
        Arc::clone(&applier.node),
        Arc::new(applier.clone()),
        metadata.log,
        metadata.loader,
    );
    let services = rooms.with_controller(Controller::Embedded(controller.clone()));
    applier.serve()?;
    if let Some(bootstrap) = metadata.bootstrap {
        let records = thalweg_metadata::bootstrap::activation_records(
            &config,
            &bootstrap.levels,
            bootstrap.unfinished,
        );
        let begun = controller.bootstrap(records);
        begun.map_err(|e| StartError::Metadata(e.to_string()))?;
    }
    if let Some(found) = other_level(&config, services.node.image().features.metadata_version) {
        tracing::warn!(
            "{FORMAT_RELEASE}={} changes nothing: the directory has metadata.version {found}; remove the config, or \
             change the level with kafka-features",
            config.format_release_version()
        );
    }
    let joined = registration::join(&services.control, &controller, &joining, owner.listener);
    joined.map_err(StartError::Metadata)?;
    // What failed, or was found elsewhere than the metadata says, before anybody listened.
    services.control.news().wake();
    let settled = controller.settle(clock.wall_ms());
    settled.map_err(|e| StartError::Metadata(e.to_string()))?;
    Ok(services)
}

/// Says which levels a new directory begins with.
const FORMAT_RELEASE: &str = "thalweg.format.release.version";

/// The level that a directory has instead of the one that is configured for a new one.
fn other_level(config: &BrokerConfig, found: Option<MetadataVersion>) -> Option<MetadataVersion> {
    let wanted = config.static_props().get(FORMAT_RELEASE)?;
    found.filter(|found| MetadataVersion::named(wanted) != Some(*found))
}

/// A clock does not reach further than that.
const FOREVER_MS: u64 = 30 * 365 * 24 * 3_600_000;

/// A broker of a cluster whose controllers run on other nodes, and the tasks that make it one.
async fn joined(
    config: BrokerConfig,
    listeners: Vec<Arc<Listener>>,
    hooks: Hooks,
    bound: Bound,
) -> Result<(Arc<Services>, Vec<JoinHandle<()>>), StartError> {
    let (dirs, metadata_dir) = directories(&config);
    let own_cluster = existing_cluster_id(dirs.iter().chain([&metadata_dir]));
    let quorum = membership::quorum_config(&config);
    let begun = tokio::time::Instant::now();
    let time_max = u64::try_from(config.startup_time_max_ms()).unwrap_or(0);
    let within = u64::try_from(config.registration_timeout_ms()).unwrap_or(0).min(time_max);
    let client_id = format!("{}-probe", config.node_id()).into();
    let cluster = membership::describe(
        &quorum.bootstrap,
        &client_id,
        membership::timeouts(&config),
        Duration::from_millis(within),
    );
    let cluster = cluster.await.map_err(StartError::Metadata)?;
    cluster.check(&config, own_cluster.as_deref()).map_err(StartError::Metadata)?;
    tracing::info!(
        cluster_id = cluster.id,
        metadata_version = cluster.metadata_version(),
        controllers = cluster.controllers.len(),
        "joining the controllers of a cluster"
    );

    let opening = {
        let listeners = listeners.clone();
        tokio::task::spawn_blocking(move || {
            open_joined(config, &listeners, hooks, quorum, &cluster)
        })
    };
    let opened = opening.await.map_err(|e| StartError::Other(format!("start failed: {e}")))??;
    let (services, applier, observer, report) = opened;
    let deadline = begun + Duration::from_millis(time_max.min(FOREVER_MS));
    let accept =
        |services: &Arc<Services>| accept_all(bound, services).map_err(|error| error.to_string());
    let reason = match join::join(&services, &applier, observer, deadline, accept).await {
        Ok(tasks) => return Ok((services, tasks)),
        Err(reason) => reason,
    };
    // It may have begun to accept.
    services.answer_all().await;
    let closing = tokio::task::spawn_blocking(move || match applier.is_serving() {
        true => services
            .replicas
            .logs()
            .shut_down(services.node.broker_epoch(), services.node.clock().wall_ms()),
        // As they were found, for whoever starts next.
        false => services.replicas.logs().hand_back(&report),
    });
    let _ = closing.await;
    Err(StartError::Metadata(reason))
}

/// What a broker that joins is made of.
type Joining = (Arc<Services>, Arc<JoinedApplier>, ObserverTask, Arc<OpenReport>);

/// Opens the logs of such a broker. Nothing is asked yet.
fn open_joined(
    config: BrokerConfig,
    listeners: &[Arc<Listener>],
    hooks: Hooks,
    quorum: QuorumConfig,
    cluster: &Cluster,
) -> Result<Joining, StartError> {
    let clock = Clock::new(hooks.clock);
    let opened = open_logs(&config, cluster.id.clone(), clock, hooks.disk, hooks.log_levels)?;
    let dir = opened.logs.metadata_dir();
    let (log_config, retention) = metadata_log_config(&config);
    let now = opened.node.clock().wall_ms();
    let log = ObserverLog::open(&opened.logs, dir, log_config, retention, now)
        .inspect_err(|_| opened.logs.hand_back(&opened.report))?;
    let image = log.image().clone();
    let joining = registration_of(&config, &opened, listeners);
    let report = Arc::clone(&opened.report);
    let settings = membership::lifecycle_settings(&config, joining.registration());
    let cordoned = membership::cordoned(opened.logs.dirs(), &config, &image);
    let life = Arc::new(Life::new(settings, cordoned, Arc::clone(&opened.node)));
    let directory_id = dir.id();
    let rooms = Rooms::new(opened, image, listeners, hooks.fetch_memory);
    let applier = JoinedApplier::new(rooms.applier.clone(), Arc::clone(&life), rooms.dirs.clone());
    let observer = ObserverTask::new(
        membership::observer_settings(&config, &cluster.id, directory_id),
        quorum,
        log,
        Arc::clone(&applier) as Arc<dyn MetadataListener>,
        rooms.applier.node.clock().clone(),
    );
    let timeouts = membership::timeouts(&config);
    let (status, versions) = (observer.status(), &cluster.versions);
    let remote = RemoteController::new(status, life, config.node_id(), timeouts, versions);
    let services = rooms.with_controller(Controller::Remote(Box::new(remote)));
    Ok((services, applier, observer, report))
}

/// How the descriptors are shared between these directories and connections.
pub(crate) fn shares(dirs: &[PathBuf], metadata_dir: &PathBuf) -> Result<Shares, StartError> {
    let count = dirs.len() + usize::from(!dirs.contains(metadata_dir));
    let limit = crate::boot::descriptors::limit();
    Shares::of(limit, count).map_err(|needed| {
        StartError::Other(format!(
            "the limit of open files is {}; {count} log directories and a few connections take \
             {needed}: raise `ulimit -n`",
            limit.unwrap_or_default()
        ))
    })
}

/// The cluster that directories already belong to.
pub(crate) fn existing_cluster_id<'a>(
    mut dirs: impl Iterator<Item = &'a PathBuf>,
) -> Option<String> {
    dirs.find_map(|dir| {
        let bytes = std::fs::read(dir.join("meta.properties")).ok()?;
        Some(thalweg_log::MetaProperties::parse(&bytes).ok()?.cluster_id)
    })
}

fn offsets_compression(config: &BrokerConfig) -> CompressionSpec {
    let codec = config
        .value("offsets.topic.compression.codec")
        .and_then(|value| value.to_text().parse::<u8>().ok())
        .and_then(Compression::from_id);
    CompressionSpec::new(codec.unwrap_or(Compression::None))
}

/// Where the controller would be reached: nobody has to, but its address is in the voters' record.
pub(crate) fn controller_listener(
    config: &BrokerConfig,
    listeners: &[Arc<Listener>],
) -> (String, String, u16) {
    if let Some(endpoint) = config.advertised_controller_listeners().first() {
        let host = endpoint.host.clone().filter(|host| !hosts::is_wildcard(host));
        let host = host.unwrap_or_else(hosts::canonical_name);
        return (endpoint.listener.clone(), host, endpoint.port);
    }
    let name =
        config.controller_listener_names().first().cloned().unwrap_or_else(|| "CONTROLLER".into());
    let host = listeners.first().map_or("localhost", |l| &l.advertised_host).to_owned();
    (name, host, 9093)
}

pub(crate) type Bound = Vec<(Arc<Listener>, BoundSocket)>;

/// Listens, and accepts until the broker stops.
fn accept_all(bound: Bound, services: &Arc<Services>) -> Result<Vec<JoinHandle<()>>, StartError> {
    let listen = |(listener, socket): (Arc<Listener>, BoundSocket)| match socket.listen() {
        Ok(listening) => Ok((listener, listening)),
        Err(error) => Err(StartError::Listen {
            listener: listener.name.clone(),
            address: listener.local.to_string(),
            error,
        }),
    };
    let listening: Vec<_> = bound.into_iter().map(listen).collect::<Result<_, _>>()?;
    let mut tasks = Vec::new();
    for (listener, listening) in listening {
        let served = Arc::clone(services);
        let requests = move |listener: &_, peer| ConnectionRequests::new(&served, listener, peer);
        let sockets = Arc::clone(services.front.sockets());
        let accepting = listener::accept(sockets, listener, listening, requests);
        tasks.push(services.node.spawn_until_stopped(accepting));
    }
    Ok(tasks)
}

pub(crate) fn bind_all(config: &BrokerConfig) -> Result<Bound, StartError> {
    let buffer = |bytes: i32| u32::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    let options = SocketOptions {
        send_buffer: buffer(config.socket_send_buffer_bytes()),
        receive_buffer: buffer(config.socket_receive_buffer_bytes()),
        backlog: u32::try_from(config.socket_listen_backlog()).unwrap_or(50),
    };
    let mut bound = Vec::new();
    for endpoint in config.broker_listeners() {
        let host = endpoint.host.as_deref().unwrap_or_default();
        let failed = |error| StartError::Listen {
            listener: endpoint.listener.clone(),
            address: format!("{host}:{}", endpoint.port),
            error,
        };
        let socket = listener::bind(host, endpoint.port, options).map_err(failed)?;
        let local = socket.local_addr().map_err(failed)?;
        let (advertised_host, advertised_port) = advertised(config, endpoint, local.port());
        bound.push((
            Arc::new(Listener {
                name: endpoint.listener.clone(),
                advertised_host,
                advertised_port,
                local,
            }),
            socket,
        ));
    }
    if bound.is_empty() {
        return Err(StartError::Other("listeners names no listener for clients".into()));
    }
    Ok(bound)
}

/// Where clients are told to come for a listener. Port 0 lets the system choose; clients are told what it chose. A host
/// that is empty, or no address to connect to, becomes this machine's canonical name, as in Kafka.
pub(crate) fn advertised(config: &BrokerConfig, endpoint: &Endpoint, chosen: u16) -> (String, u16) {
    let advertised = config.advertised_listeners().iter().find(|a| a.listener == endpoint.listener);
    let host = advertised.map_or(&endpoint.host, |a| &a.host).as_deref().unwrap_or_default();
    let host = match hosts::is_wildcard(host) {
        true => hosts::canonical_name(),
        false => host.to_owned(),
    };
    let port = advertised.map(|a| a.port).filter(|port| *port != 0).unwrap_or(chosen);
    (host, port)
}

/// How long a stop may take before it is cut short.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use thalweg_metadata::config::broker::Mode;

    use super::*;

    #[test]
    fn other_level_is_of_a_set_config_and_an_older_directory() {
        let of = |configs: &[(&str, &str)], found| {
            let props = configs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let config = BrokerConfig::new(props, Mode::Embedded).unwrap();
            other_level(&config, found)
        };
        let (older, latest) = (MetadataVersion::named("4.3"), Some(MetadataVersion::LATEST));
        let set = [(FORMAT_RELEASE, "4.3")];
        assert_eq!(of(&[], older), None);
        assert_eq!(of(&set, older), None);
        assert_eq!(of(&set, None), None);
        assert_eq!(of(&set, latest), latest);
    }

    /// The host that clients are sent for a configuration's only listener.
    fn advertised_host(configs: &[(&str, &str)]) -> String {
        let props =
            configs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = BrokerConfig::new(props, Mode::Embedded).unwrap();
        let listeners = config.broker_listeners();
        advertised(&config, listeners[0], 9092).0
    }

    #[test]
    fn an_advertised_host_that_is_missing_is_the_canonical_name() {
        let canonical = hosts::canonical_name();
        for (listeners, advertised) in [
            ("PLAINTEXT://:9092", None),
            ("PLAINTEXT://:9092", Some("PLAINTEXT://:9093")),
            ("PLAINTEXT://0.0.0.0:9092", Some("PLAINTEXT://:9093")),
            ("PLAINTEXT://10.0.0.7:9092", Some("PLAINTEXT://:9093")),
            ("PLAINTEXT://[::]:9092", None),
        ] {
            let mut configs = vec![("listeners", listeners)];
            configs.extend(advertised.map(|value| ("advertised.listeners", value)));
            assert_eq!(advertised_host(&configs), canonical, "{configs:?}");
        }
        let named = [
            ("listeners", "PLAINTEXT://0.0.0.0:9092"),
            ("advertised.listeners", "PLAINTEXT://broker.example:9092"),
        ];
        assert_eq!(advertised_host(&named), "broker.example");
        assert_eq!(advertised_host(&[("listeners", "PLAINTEXT://localhost:9092")]), "localhost");
    }

    #[test]
    fn a_controller_without_a_host_has_the_canonical_name() {
        let configs = [
            ("listeners", "PLAINTEXT://localhost:9092,CONTROLLER://:9093"),
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.listener.names", "CONTROLLER"),
            ("controller.quorum.bootstrap.servers", "localhost:9093"),
        ];
        let props = configs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = BrokerConfig::new(props.into_iter().collect(), Mode::Embedded).unwrap();
        let (_, host, port) = controller_listener(&config, &[]);
        assert_eq!((host, port), (hosts::canonical_name(), 9093));
    }
}
