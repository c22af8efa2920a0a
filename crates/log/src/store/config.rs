//! What a manager is opened with, what a start found, and the configs of topics.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use thalweg_wire::Uuid;

use crate::fs::disk::Disk;
use crate::partition::config::LogConfig;
use crate::partition::dir::{DirFailureListener, Executor};
use crate::partition::error::StorageError;
use crate::store::load::LoadStats;

/// The config of a topic, where it differs from the defaults.
pub type TopicConfigs = Arc<dyn Fn(&str) -> Option<Arc<LogConfig>> + Send + Sync>;

/// What a [`crate::LogManager`] is opened with.
pub struct ManagerConfig {
    /// `log.dirs`
    pub dirs: Vec<PathBuf>,
    /// `metadata.log.dir`; the first of `log.dirs` without it.
    pub metadata_dir: Option<PathBuf>,
    /// `node.id`
    pub node_id: i32,
    /// The cluster's id, if it is known. Directories without `meta.properties` are formatted with
    /// it; without it, it is read from the directories.
    pub cluster_id: Option<String>,
    /// Configs of topics that have none of their own.
    pub defaults: Arc<LogConfig>,
    /// Configs of topics that have.
    pub topic_configs: Option<TopicConfigs>,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// `num.recovery.threads.per.data.dir`: for loading at the start and for closing at the end.
    pub recovery_threads_per_dir: usize,
    /// Log files that may be held open for later, per directory. Readers hold as many at most that
    /// are not among them.
    pub max_open_files_per_dir: usize,
    /// How many threads may write what [`crate::Log::submit`] gets, over all directories: one less than
    /// serve requests, so that one is left while disks stall. The rest goes to writer threads.
    pub max_inline_appends: usize,
    /// `producer.id.expiration.ms`
    pub producer_expiration_ms: i64,
    /// Runs rolls and flushes in the background. Without one they run in place.
    pub executor: Option<Arc<dyn Executor>>,
    /// Hears of directories that fail.
    pub listener: Option<Arc<dyn DirFailureListener>>,
    /// Access to files; tests inject faults here.
    pub disk: Disk,
}

impl ManagerConfig {
    /// Kafka's defaults for the rest.
    pub fn new(
        dirs: Vec<PathBuf>,
        node_id: i32,
        defaults: LogConfig,
        now_ms: i64,
    ) -> ManagerConfig {
        ManagerConfig {
            dirs,
            metadata_dir: None,
            node_id,
            cluster_id: None,
            defaults: Arc::new(defaults),
            topic_configs: None,
            now_ms,
            recovery_threads_per_dir: 2,
            max_open_files_per_dir: 1024,
            max_inline_appends: usize::MAX,
            producer_expiration_ms: 86_400_000,
            executor: None,
            listener: None,
            disk: Disk::default(),
        }
    }
}

/// What was found in one log directory.
#[derive(Debug)]
pub struct DirReport {
    /// As configured.
    pub path: PathBuf,
    /// `directory.id`
    pub id: Uuid,
    /// It was closed cleanly, so nothing had to be checked.
    pub clean: bool,
    /// The broker epoch in the clean-shutdown marker.
    pub broker_epoch: Option<i64>,
    /// Partitions that were loaded.
    pub partitions: usize,
    /// What recovery did.
    pub stats: LoadStats,
    /// Directories of partitions that cannot be served, and why. They are left as they are.
    pub refused: Vec<(PathBuf, String)>,
    /// `-stray` directories, which are left alone.
    pub set_aside: Vec<PathBuf>,
    /// Directories that are none of Kafka's.
    pub ignored: Vec<PathBuf>,
    /// Why the directory is offline, if it is.
    pub failure: Option<StorageError>,
}

/// What [`crate::LogManager::open`] found.
#[derive(Debug)]
pub struct OpenReport {
    /// Of each directory, in the order of the config.
    pub dirs: Vec<DirReport>,
    /// The cluster that the directories belong to.
    pub cluster_id: String,
    /// What to tell the controller as previous broker epoch: the one in the clean-shutdown
    /// markers, if every directory has one and all agree; -1 otherwise.
    pub previous_broker_epoch: i64,
}

/// The configs of topics, and the defaults of those that have none.
pub(crate) struct Configs {
    defaults: RwLock<Arc<LogConfig>>,
    of_topics: Option<TopicConfigs>,
}

impl Configs {
    pub(crate) fn new(config: &ManagerConfig) -> Configs {
        Configs {
            defaults: RwLock::new(config.defaults.clone()),
            of_topics: config.topic_configs.clone(),
        }
    }

    /// The config that a log of this topic is opened with.
    pub(crate) fn of(&self, topic: &str) -> Arc<LogConfig> {
        self.of_topics
            .as_ref()
            .and_then(|configs| configs(topic))
            .unwrap_or_else(|| self.defaults.read().clone())
    }

    pub(crate) fn set_defaults(&self, defaults: Arc<LogConfig>) {
        *self.defaults.write() = defaults;
    }
}
