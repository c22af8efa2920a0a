//! The node's log directories are opened, before anything of them is served.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use thalweg_log::{
    DirFailureListener, LoadStats, LogConfig, LogDir, LogManager, ManagerConfig, OpenReport,
};
use thalweg_metadata::config::{BrokerConfig, Properties, TopicConfig};
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;

use crate::Hooks;
use crate::api::services::Services;
use crate::boot::descriptors::Shares;
use crate::boot::dir_failures::DirFailures;
use crate::boot::error::StartError;
use crate::boot::executor::BlockingExecutor;
use crate::control::kraft::{MetadataLogError, Retention};
use crate::control::registration;
use crate::net::listener::Listener;
use crate::node::Node;
use crate::node::clock::Clock;
use crate::node::directory_news::DirectoryNews;
use crate::node::random::Random;
use crate::replicas::topic_settings;
use crate::replicas::topics::TopicTable;

/// A node with its log directories open, before anything is served.
pub(super) struct Opened {
    pub(super) node: Arc<Node>,
    pub(super) logs: LogManager,
    pub(super) report: Arc<OpenReport>,
    pub(super) shares: Shares,
    pub(super) topics: Arc<ArcSwap<TopicTable>>,
    pub(super) news: Arc<DirectoryNews>,
    /// Bytes that fetches may hold, where a test sets them.
    pub(super) fetch_memory: Option<usize>,
}

/// Opens the log directories; those that are new belong to `cluster_id`.
pub(super) fn open_logs(
    config: &BrokerConfig,
    cluster_id: String,
    hooks: Hooks,
) -> Result<Opened, StartError> {
    let Hooks { disk, fetch_memory, clock, log_levels } = hooks;
    let clock = Clock::new(clock);
    let now = clock.wall_ms();
    let defaults = TopicConfig::new(config, &Properties::new())?;
    let (dirs, metadata_dir) = directories(config);
    let shares = shares(&dirs, &metadata_dir)?;
    let image = Arc::new(MetadataImage::empty());
    let node =
        Node::new(cluster_id.clone(), clock, Random::new(), log_levels, config.clone(), image);
    let topics: Arc<ArcSwap<TopicTable>> = Arc::default();
    let news = Arc::default();
    let failures =
        Arc::new(DirFailures::new(Arc::clone(&node), &topics, Arc::clone(&news), dirs.clone()));
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
        usize::try_from(config.num_recovery_threads_per_data_dir()).unwrap_or(1).max(1);
    manager.producer_expiration_ms = i64::from(config.producer_id_expiration_ms());
    let executor = Arc::new(BlockingExecutor::new());
    manager.executor = Some(executor);
    manager.listener = Some(Arc::clone(&failures) as Arc<dyn DirFailureListener>);
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
    failures.opened(logs.metadata_dir().id());
    Ok(Opened { node, logs, report: Arc::new(report), shares, topics, news, fetch_memory })
}

impl Opened {
    /// Opens the metadata log. If that fails, the directories are given back as cleanly closed, those that were.
    pub(super) fn open_metadata<T>(
        &self,
        config: &BrokerConfig,
        open: impl FnOnce(
            &LogManager,
            &Arc<LogDir>,
            LogConfig,
            Retention,
            i64,
        ) -> Result<T, MetadataLogError>,
    ) -> Result<T, StartError> {
        let dir = self.logs.metadata_dir();
        let (log_config, retention) = metadata_log_config(config);
        let now = self.node.clock().wall_ms();
        let checked = dir.check().map_err(|error| StartError::Metadata(error.to_string()));
        let metadata =
            checked.and_then(|()| Ok(open(&self.logs, dir, log_config, retention, now)?));
        metadata.inspect_err(|_| self.logs.hand_back(&self.report))
    }
}

/// A broker with its metadata log open, and its controller's side, before anything is served.
pub(super) struct OpenedSide<T> {
    pub(super) services: Arc<Services>,
    pub(super) report: Arc<OpenReport>,
    pub(super) side: T,
}

impl<T> OpenedSide<T> {
    pub(super) fn map<U>(self, side: impl FnOnce(T) -> U) -> OpenedSide<U> {
        OpenedSide { services: self.services, report: self.report, side: side(self.side) }
    }
}

/// The log directories, and that of the metadata log.
pub(crate) fn directories(config: &BrokerConfig) -> (Vec<PathBuf>, PathBuf) {
    let dirs = config.log_dirs().iter().map(PathBuf::from).collect();
    (dirs, PathBuf::from(config.metadata_log_dir()))
}

/// How the metadata log is kept.
pub(crate) fn metadata_log_config(config: &BrokerConfig) -> (LogConfig, Retention) {
    let segment_bytes =
        config.internal_metadata_log_segment_bytes().unwrap_or(config.metadata_log_segment_bytes());
    let log = LogConfig {
        segment_bytes: u32::try_from(segment_bytes).unwrap_or(u32::MAX),
        segment_ms: config.metadata_log_segment_ms(),
        max_message_bytes: u32::MAX,
        // Checkpoints decide what may go.
        retention_bytes: -1,
        retention_ms: -1,
        ..LogConfig::default()
    };
    let retention = Retention {
        snapshot_after_bytes: u64::try_from(
            config.metadata_log_max_record_bytes_between_snapshots(),
        )
        .unwrap_or(u64::MAX),
        snapshot_interval_ms: config.metadata_log_max_snapshot_interval_ms(),
        bytes: config.metadata_max_retention_bytes(),
        ms: config.metadata_max_retention_ms(),
    };
    (log, retention)
}

/// What this broker registers with. It tells processes apart, and so is made once.
pub(super) fn registration_of(
    config: &BrokerConfig,
    opened: &Opened,
    listeners: &[Arc<Listener>],
) -> registration::Registration {
    let online = opened.logs.dirs().iter().filter(|dir| dir.check().is_ok());
    let mut directories: Vec<Uuid> = online.map(|dir| dir.id()).collect();
    directories.sort_unstable();
    registration::Registration {
        node_id: config.node_id(),
        incarnation: opened.node.random().uuid(),
        endpoints: listeners
            .iter()
            .map(|l| (l.name.clone(), l.advertised_host.clone(), l.advertised_port))
            .collect(),
        rack: config.broker_rack().map(str::to_owned),
        directories,
        previous_broker_epoch: opened.report.previous_broker_epoch,
        cluster_id: opened.report.cluster_id.clone(),
    }
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
