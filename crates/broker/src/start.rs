//! Starting and stopping: directories, metadata, registration, listeners, housekeeping.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::{LoadStats, LogManager, ManagerConfig, OpenError};
use thalweg_metadata::config::{BrokerConfig, ConfigError, Properties, TopicConfig};
use thalweg_records::Compression;
use thalweg_records::codec::CompressionSpec;
use thalweg_wire::Uuid;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::Hooks;
use crate::allowed::Connections;
use crate::api::request::ConnectionRequests;
use crate::broker::{Broker, Parts};
use crate::clock::Clock;
use crate::coordinators::groups::Groups;
use crate::coordinators::runtime::RuntimeConfig;
use crate::descriptors::Shares;
use crate::kraft::{
    Controller, EmbeddedController, MetadataLog, MetadataLogError, Owner, Retention,
};
use crate::net::listener::{self, Listener, SocketOptions};
use crate::random::Random;
use crate::registration;
use crate::spare_worker::SpareWorker;
use crate::topic_settings;

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
    pub(crate) broker: Arc<Broker>,
    listeners: Vec<Arc<Listener>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    spare_worker: Mutex<Option<SpareWorker>>,
}

/// Starts a broker; when this returns it accepts connections.
pub(crate) async fn start(config: BrokerConfig, hooks: Hooks) -> Result<RunningBroker, StartError> {
    // Sockets first: an address in use is found before anything is written.
    let bound = bind_all(&config)?;
    let listeners: Vec<Arc<Listener>> =
        bound.iter().map(|(listener, _)| Arc::clone(listener)).collect();
    let broker = {
        let listeners = listeners.clone();
        // Opens, recovers and formats directories: waits for disks.
        tokio::task::spawn_blocking(move || open(config, &listeners, hooks))
            .await
            .map_err(|e| StartError::Other(format!("start failed: {e}")))??
    };
    let mut tasks = Vec::new();
    for (listener, socket) in bound {
        tasks.push(broker.spawn_until_stopped(listener::accept(
            Arc::clone(&broker),
            listener,
            socket,
            Arc::clone(broker.connections.limits()),
            ConnectionRequests::new,
        )));
    }
    tasks.extend(crate::housekeeping::spawn(&broker));
    start_cleaner(&broker);
    let (tasks, spare_worker) = (Mutex::new(tasks), Mutex::new(None));
    Ok(RunningBroker { broker, listeners, tasks, spare_worker })
}

impl RunningBroker {
    /// Listener names and the addresses they listen on.
    pub fn addresses(&self) -> Vec<(String, SocketAddr)> {
        self.listeners.iter().map(|l| (l.name.clone(), l.local)).collect()
    }

    /// The cluster's id.
    pub fn cluster_id(&self) -> &str {
        &self.broker.cluster_id
    }

    /// Lets one worker of this runtime sleep until a disk stalls, so that there is somebody to
    /// serve what has nothing to do with that disk. For a runtime of the broker's own, with a
    /// worker more than there are processors.
    pub fn keep_spare_worker(&self) {
        let stalls = Arc::clone(self.broker.logs.stalls());
        self.spare_worker.lock().get_or_insert_with(|| SpareWorker::keep(stalls));
    }

    /// Waits until the broker stops by itself; gives the reason.
    pub async fn failed(&self) -> String {
        let mut shutdown = self.broker.shutdown.subscribe();
        let _ = shutdown.wait_for(|stop| *stop).await;
        self.broker.fatal().unwrap_or_else(|| "the broker was stopped".into())
    }

    /// What `/metrics` shows, in Prometheus' text format.
    pub fn metrics_text(&self) -> String {
        crate::exposition::text(&self.broker)
    }

    /// Stops accepting, answers what waits, flushes everything, marks the shutdown as
    /// clean.
    pub fn shut_down(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.stop())
    }

    async fn stop(&self) {
        let broker = Arc::clone(&self.broker);
        broker.shutdown.send_replace(true);
        self.spare_worker.lock().take();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        for task in tasks {
            let _ = task.await;
        }
        broker.answer_all().await;
        let closing = tokio::task::spawn_blocking(move || {
            let now = broker.clock.wall_ms();
            let epoch = broker.epoch();
            let Controller::Embedded(controller) = &broker.controller;
            if let Err(error) = controller.leave(&broker) {
                tracing::warn!(%error, "the broker could not sign off");
            }
            controller.close(now);
            broker.logs.shut_down(epoch, now);
        });
        if closing.await.is_err() {
            tracing::error!("the shutdown was not clean");
        }
    }
}

/// Starts compaction, with what the image says of topics and brokers.
fn start_cleaner(broker: &Broker) {
    if !broker.settings().cleaner_enabled() {
        tracing::warn!("log.cleaner.enable is false: compacted topics keep every record");
        return;
    }
    let clock = broker.clock;
    broker.logs.start_cleaner(Arc::new(move || clock.wall_ms()));
}

fn open(
    config: BrokerConfig,
    listeners: &[Arc<Listener>],
    hooks: Hooks,
) -> Result<Arc<Broker>, StartError> {
    let clock = Clock::new();
    let random = Random::new();
    let now = clock.wall_ms();
    let defaults = TopicConfig::new(&config, &Properties::new())?;
    let dirs: Vec<PathBuf> = config.log_dirs().iter().map(PathBuf::from).collect();
    let metadata_dir = PathBuf::from(config.metadata_log_dir());
    let shares = shares(&dirs, &metadata_dir)?;
    crate::metadata_place::check(&dirs, &metadata_dir).map_err(StartError::Metadata)?;
    let cluster_id = existing_cluster_id(dirs.iter().chain([&metadata_dir]))
        .unwrap_or_else(|| random.uuid().to_string());

    let mut manager =
        ManagerConfig::new(dirs, config.node_id(), topic_settings::of(&defaults).log, now);
    manager.cluster_id = Some(cluster_id);
    manager.metadata_dir = Some(metadata_dir);
    manager.disk = hooks.disk;
    manager.max_open_files_per_dir = shares.files_per_dir;
    // One worker is left for everybody else while disks stall.
    let workers = tokio::runtime::Handle::current().metrics().num_workers();
    manager.max_inline_appends = workers.saturating_sub(1).max(1);
    manager.recovery_threads_per_dir =
        usize::try_from(config.recovery_threads_per_dir()).unwrap_or(1).max(1);
    manager.producer_expiration_ms = i64::from(config.producer_id_expiration_ms());
    let executor = Arc::new(crate::housekeeping::BlockingExecutor::new());
    manager.executor = Some(executor);
    let failures = Arc::new(crate::housekeeping::DirFailures::default());
    manager.listener = Some(Arc::clone(&failures) as Arc<dyn thalweg_log::DirFailureListener>);
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

    let dir = logs.metadata_dir();
    dir.check().map_err(|e| StartError::Metadata(e.to_string()))?;
    let owner = Owner {
        node_id: config.node_id(),
        directory_id: dir.id(),
        listener: controller_listener(&config, listeners),
        static_voters: config.voters().iter().map(|voter| voter.id).collect(),
    };
    let segment_bytes =
        config.internal_metadata_segment_bytes().unwrap_or(config.metadata_segment_bytes());
    let metadata_config = thalweg_log::LogConfig {
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
    let opened = MetadataLog::open(&logs, dir, &owner, metadata_config, retention, now)
        .inspect_err(|_| logs.hand_back(&report))?;
    warn_of_open_transactions(&logs);
    let metadata_directory = dir.id();
    let directories: Vec<Uuid> =
        logs.dirs().iter().filter(|dir| dir.check().is_ok()).map(|dir| dir.id()).collect();

    let open: Vec<String> = listeners.iter().map(|listener| listener.name.clone()).collect();
    let quotas = &opened.loader.image().quotas;
    let connections = Connections::new(&config, quotas, open, shares.connections);
    let image = Arc::new(opened.loader.image().clone());
    let groups = Groups::new(
        crate::group_settings::of(&config, &image),
        Arc::clone(&image),
        crate::settings::group_memory(&config),
        RuntimeConfig {
            runner: thalweg_coordinator::RunnerConfig {
                write_timeout_ms: u64::try_from(config.offsets_commit_timeout_ms()).unwrap_or(0),
            },
            compression: offsets_compression(&config),
            jobs: usize::try_from(config.group_background_threads()).unwrap_or(1).max(1),
        },
        clock,
    );
    let kraft_version = opened.log.kraft_version();
    let controller = EmbeddedController::new(opened.log, opened.loader);
    let broker = Broker::new(Parts {
        cluster_id: report.cluster_id,
        metadata_directory,
        clock,
        random,
        logs,
        groups,
        kraft_version,
        controller: Controller::Embedded(controller.clone()),
        connections,
        config: config.clone(),
        image,
        fetch_memory: hooks.fetch_memory.unwrap_or_else(crate::settings::fetch_memory),
        log_levels: hooks.log_levels,
    });
    failures.attach(&broker);
    broker.serve_image()?;
    if let Some(bootstrap) = opened.bootstrap {
        let records = thalweg_metadata::bootstrap::activation_records(
            &config,
            &bootstrap.levels,
            bootstrap.unfinished,
        );
        let begun = controller.bootstrap(&broker, records);
        begun.map_err(|e| StartError::Metadata(e.to_string()))?;
    }
    let incarnation = broker.random.uuid();
    let endpoints: Vec<_> = listeners
        .iter()
        .map(|l| (l.name.clone(), l.advertised_host.clone(), l.advertised_port))
        .collect();
    let joining = registration::Joining {
        node_id: config.node_id(),
        incarnation,
        endpoints,
        controller: owner.listener.clone(),
        rack: config.rack().map(str::to_owned),
        directories,
        previous_broker_epoch: report.previous_broker_epoch,
        cluster_id: broker.cluster_id.clone(),
    };
    registration::join(&broker, &controller, &joining).map_err(StartError::Metadata)?;
    // What failed, or was found elsewhere than the metadata says, before anybody listened.
    broker.directories.wake();
    let settled = controller.settle(clock.wall_ms());
    settled.map_err(|e| StartError::Metadata(e.to_string()))?;
    Ok(broker)
}

/// Says which partitions have transactions that nobody here can end.
fn warn_of_open_transactions(logs: &LogManager) {
    const NAMED_MAX: usize = 20;
    let mut open: Vec<(String, i64)> = logs
        .all()
        .iter()
        .filter_map(|log| {
            Some((format!("{}-{}", log.topic(), log.partition()), log.open_transaction()?))
        })
        .collect();
    open.sort_unstable();
    for (partition, offset) in open.iter().take(NAMED_MAX) {
        tracing::warn!(
            partition,
            offset,
            "an open transaction begins here: transactions are not served yet, so whoever reads with \
             isolation.level=read_committed gets nothing from here on until Apache Kafka has ended it"
        );
    }
    if open.len() > NAMED_MAX {
        tracing::warn!(partitions = open.len(), "more partitions have open transactions");
    }
}

/// How the descriptors are shared between these directories and connections.
fn shares(dirs: &[PathBuf], metadata_dir: &PathBuf) -> Result<Shares, StartError> {
    let count = dirs.len() + usize::from(!dirs.contains(metadata_dir));
    let limit = crate::descriptors::limit();
    Shares::of(limit, count).map_err(|needed| {
        StartError::Other(format!(
            "the limit of open files is {}; {count} log directories and a few connections take \
             {needed}: raise `ulimit -n`",
            limit.unwrap_or_default()
        ))
    })
}

/// The cluster that directories already belong to.
fn existing_cluster_id<'a>(mut dirs: impl Iterator<Item = &'a PathBuf>) -> Option<String> {
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
fn controller_listener(
    config: &BrokerConfig,
    listeners: &[Arc<Listener>],
) -> (String, String, u16) {
    if let Some(endpoint) = config.advertised_controller_listeners().first() {
        let host = endpoint.host.clone().unwrap_or_else(|| "localhost".into());
        return (endpoint.listener.clone(), host, endpoint.port);
    }
    let name =
        config.controller_listener_names().first().cloned().unwrap_or_else(|| "CONTROLLER".into());
    let host = listeners.first().map_or("localhost", |l| &l.advertised_host).to_owned();
    (name, host, 9093)
}

type Bound = Vec<(Arc<Listener>, TcpListener)>;

fn bind_all(config: &BrokerConfig) -> Result<Bound, StartError> {
    let buffer = |bytes: i32| u32::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    let options = SocketOptions {
        send_buffer: buffer(config.socket_send_buffer_bytes()),
        receive_buffer: buffer(config.socket_receive_buffer_bytes()),
        backlog: u32::try_from(config.socket_listen_backlog()).unwrap_or(50),
    };
    let mut bound = Vec::new();
    for endpoint in config.broker_listeners() {
        let host = endpoint.host.as_deref().unwrap_or("0.0.0.0");
        let failed = |error| StartError::Listen {
            listener: endpoint.listener.clone(),
            address: format!("{host}:{}", endpoint.port),
            error,
        };
        let address = (host, endpoint.port)
            .to_socket_addrs()
            .map_err(failed)?
            .next()
            .ok_or_else(|| failed(std::io::ErrorKind::AddrNotAvailable.into()))?;
        let socket = listener::bind(address, options).map_err(failed)?;
        let local = socket.local_addr().map_err(failed)?;
        let advertised =
            config.advertised_listeners().iter().find(|a| a.listener == endpoint.listener);
        let advertised_host = advertised
            .and_then(|a| a.host.clone())
            .or_else(|| endpoint.host.clone())
            .unwrap_or_else(host_name);
        // Port 0 lets the system choose; clients are told what it chose.
        let advertised_port =
            advertised.map(|a| a.port).filter(|port| *port != 0).unwrap_or(local.port());
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

fn host_name() -> String {
    rustix::system::uname().nodename().to_str().unwrap_or("localhost").to_owned()
}

/// How long a stop may take before it is cut short.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(300);
