//! All logs of a node.
//!
//! ```text
//! let (logs, report) = LogManager::open(ManagerConfig::new(dirs, node_id, defaults, now_ms))?;
//! let log = logs.create(&CreateRequest::new("topic", 0, topic_id), now_ms)?;
//! log.make_leader(leader_epoch);
//! let info = log.append_as_leader(&mut batches, &AppendContext::client(leader_epoch, now_ms))?;
//! log.advance_high_watermark(info.last_offset + 1);
//! // now and then, on threads that may wait:
//! logs.flush_due(now_ms); logs.clean_up(now_ms); logs.checkpoint(); logs.delete_due(now_ms);
//! // at the end:
//! logs.shut_down(broker_epoch, now_ms);
//! ```

use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_wire::Uuid;

use crate::cleaner::Cleaner;
use crate::metrics::Metrics;
use crate::partition::config::LogConfig;
use crate::partition::dir::LogDir;
use crate::partition::log::Log;
use crate::stalls::Stalls;
use crate::stalls::pace::Gate;
use crate::store::changes::PartitionChanges;
use crate::store::config::{Configs, ManagerConfig, OpenReport};
use crate::store::dirs::LogDirs;
use crate::store::error::OpenError;
use crate::store::futures::Futures;
use crate::store::logs::Logs;

/// The logs of a node, in one or more log directories. See the module for how to use it.
pub struct LogManager {
    pub(crate) dirs: LogDirs,
    pub(crate) configs: Configs,
    pub(crate) logs: Arc<Logs>,
    pub(crate) cleaner: Cleaner,
    /// Second copies of partitions that are in two directories: only the metadata tells which one
    /// is in use. See [`LogManager::set_strays_aside`].
    pub(crate) rivals: Mutex<Vec<Arc<Log>>>,
    /// Logs that partitions are moving to.
    pub(crate) futures: Futures,
    /// Which partitions are being made, deleted or moved.
    pub(crate) changes: PartitionChanges,
    /// `num.recovery.threads.per.data.dir`
    pub(crate) threads_per_dir: usize,
    metrics: Arc<Metrics>,
    stalls: Arc<Stalls>,
}

impl std::fmt::Debug for LogManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogManager").field("dirs", &self.dirs).finish_non_exhaustive()
    }
}

impl LogManager {
    /// Takes the directories into use: makes and locks them, checks whose they are, loads their
    /// partitions and recovers those that were not closed cleanly.
    pub fn open(config: ManagerConfig) -> Result<(LogManager, OpenReport), OpenError> {
        let metrics = Arc::new(Metrics::default());
        let gate = Arc::new(Gate::new(config.max_inline_appends));
        let (dirs, cluster_id) = LogDirs::open(&config, &gate, &metrics)?;
        let logs: Arc<Logs> = Arc::default();
        let logs_of = {
            let logs = Arc::clone(&logs);
            Box::new(move |dir: &Arc<LogDir>| logs.in_dir(dir))
        };
        let manager = LogManager {
            configs: Configs::new(&config),
            cleaner: Cleaner::new(logs_of, dirs.all().to_vec()),
            dirs,
            logs,
            rivals: Mutex::new(Vec::new()),
            futures: Futures::default(),
            changes: PartitionChanges::default(),
            threads_per_dir: config.recovery_threads_per_dir.max(1),
            metrics,
            stalls: Arc::clone(&gate.stalls),
        };
        let mut reports = Vec::with_capacity(manager.dirs.all().len());
        for dir in manager.dirs.iter() {
            reports.push(manager.load_dir(dir, &config)?);
        }
        manager.remove_old_markers();
        manager.settle_futures(config.now_ms);
        if !manager.dirs.any_online() {
            let reasons: Vec<String> = manager
                .dirs
                .iter()
                .filter_map(|dir| dir.failure().map(|failure| failure.to_string()))
                .collect();
            return Err(OpenError::NoUsableDirectory(reasons.join("; ")));
        }
        let epoch = reports.first().and_then(|report| report.broker_epoch);
        let previous_broker_epoch = match epoch {
            Some(epoch) if reports.iter().all(|report| report.broker_epoch == Some(epoch)) => epoch,
            _ => -1,
        };
        Ok((manager, OpenReport { dirs: reports, cluster_id, previous_broker_epoch }))
    }

    /// The partition's log, if it is on this node.
    pub fn get(&self, topic: &str, partition: i32) -> Option<Arc<Log>> {
        self.logs.get(topic, partition)
    }

    /// All logs, as they are now.
    pub fn all(&self) -> Vec<Arc<Log>> {
        self.logs.all()
    }

    /// Whether directories stall, for whoever sleeps until one does.
    pub fn stalls(&self) -> &Arc<Stalls> {
        &self.stalls
    }

    /// The log directories, in the order of the config, offline ones too.
    pub fn dirs(&self) -> &[Arc<LogDir>] {
        self.dirs.all()
    }

    /// The directory of the metadata log: one of [`Self::dirs`], or one that holds nothing else.
    pub fn metadata_dir(&self) -> &Arc<LogDir> {
        self.dirs.metadata()
    }

    /// The log directories, and the metadata log's if it is none of them.
    pub fn all_dirs(&self) -> impl Iterator<Item = &Arc<LogDir>> {
        self.dirs.with_metadata()
    }

    /// Counters of all logs.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Log files held open.
    pub fn open_files(&self) -> usize {
        self.all_dirs().map(|dir| dir.pool.open_files()).sum()
    }

    /// Log files that are open, those included that only answers to readers hold.
    pub fn held_files(&self) -> usize {
        self.all_dirs().map(|dir| dir.pool.held_files()).sum()
    }

    /// `cordoned.log.dirs`: directories that get no new partitions.
    pub fn set_cordoned(&self, dirs: Vec<Uuid>) {
        self.dirs.set_cordoned(dirs);
    }

    /// Whether a directory gets no new partitions.
    pub fn is_cordoned(&self, dir: Uuid) -> bool {
        self.dirs.is_cordoned(dir)
    }

    /// `producer.id.expiration.ms`, from now on.
    pub fn set_producer_expiration_ms(&self, expiration_ms: i64) {
        for dir in self.dirs.iter() {
            dir.set_producer_expiration_ms(expiration_ms);
        }
    }

    /// New defaults, for logs made from now on. Logs that exist are told one by one
    /// ([`Log::update_config`]).
    pub fn set_defaults(&self, defaults: Arc<LogConfig>) {
        self.configs.set_defaults(defaults);
    }
}
