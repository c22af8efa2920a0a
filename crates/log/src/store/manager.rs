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

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};
use thalweg_wire::Uuid;

use crate::cleaner::Cleaner;
use crate::format::checkpoint;
use crate::fs::disk::Disk;
use crate::fs::names::{self, CLUSTER_METADATA_TOPIC, DirName};
use crate::metrics::Metrics;
use crate::partition::config::LogConfig;
use crate::partition::dir::{DeleteDelay, DirFailureListener, Executor, LogDir, retry_exhausted};
use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::stalls::Stalls;
use crate::stalls::pace::Gate;
use crate::store::dir::{identify, take as take_dir};
use crate::store::error::OpenError;
use crate::store::future::Futures;
use crate::store::housekeeping::read_offsets;
use crate::store::load::{LoadError, LoadInput, LoadStats, load};
use crate::store::logs::Logs;
use crate::store::removal::{claim, twice};

/// The config of a topic, where it differs from the defaults.
pub type TopicConfigs = Arc<dyn Fn(&str) -> Option<Arc<LogConfig>> + Send + Sync>;

/// What a [`LogManager`] is opened with.
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
    /// How many threads may write what [`Log::submit`] gets, over all directories: one less than
    /// serve requests, so that one is left while disks stall. The rest goes to writer threads.
    pub max_inline_appends: usize,
    /// `producer.id.expiration.ms`
    pub producer_expiration_ms: i64,
    /// Where rolls and flushes run that nobody waits for. Without one, whoever causes them does
    /// them.
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

/// What [`LogManager::open`] found.
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

/// The logs of a node, in one or more log directories. See the module for how to use it.
pub struct LogManager {
    pub(crate) dirs: Vec<Arc<LogDir>>,
    /// The metadata log's, one of `dirs` or another.
    pub(crate) metadata_dir: Arc<LogDir>,
    pub(crate) cordoned: RwLock<Vec<Uuid>>,
    defaults: RwLock<Arc<LogConfig>>,
    topic_configs: Option<TopicConfigs>,
    pub(crate) logs: Arc<Logs>,
    pub(crate) cleaner: Cleaner,
    /// Second copies of partitions that are in two directories: only the metadata tells which one
    /// is in use. See [`LogManager::set_strays_aside`].
    pub(crate) rivals: Mutex<Vec<Arc<Log>>>,
    /// Logs that partitions are moving to.
    pub(crate) futures: Futures,
    /// Held while partitions are made or deleted.
    pub(crate) creation: Mutex<()>,
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

#[derive(Default)]
struct Checkpoints {
    recovery_points: HashMap<(String, i32), i64>,
    log_starts: HashMap<(String, i32), i64>,
    high_watermarks: HashMap<(String, i32), i64>,
    cleaned: HashMap<(String, i32), i64>,
}

impl Checkpoints {
    /// The partitions that any of them names.
    fn all(&self) -> impl Iterator<Item = &(String, i32)> {
        let maps = [&self.recovery_points, &self.log_starts, &self.high_watermarks, &self.cleaned];
        maps.into_iter().flat_map(HashMap::keys)
    }
}

impl LogManager {
    /// Takes the directories into use: makes and locks them, checks whose they are, loads their
    /// partitions and recovers those that were not closed cleanly.
    pub fn open(config: ManagerConfig) -> Result<(LogManager, OpenReport), OpenError> {
        let metrics = Arc::new(Metrics::default());
        let gate = Arc::new(Gate::new(config.max_inline_appends));
        let same = |one: &Path, other: &Path| {
            let canonical = |path: &Path| {
                std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok()
            };
            one == other || canonical(one).is_some_and(|path| canonical(other) == Some(path))
        };
        let take = |path: &Path| {
            let dir = LogDir::new(
                path.to_path_buf(),
                config.disk.clone(),
                config.max_open_files_per_dir,
                gate.clone(),
                metrics.clone(),
                config.executor.as_ref().map(|all| all.for_dir().unwrap_or_else(|| all.clone())),
                config.listener.clone(),
            );
            dir.set_producer_expiration_ms(config.producer_expiration_ms);
            take_dir(&dir)?;
            Ok::<_, OpenError>(Arc::new(dir))
        };
        let mut dirs: Vec<Arc<LogDir>> = Vec::with_capacity(config.dirs.len());
        for path in &config.dirs {
            // Seen before the lock is tried: a second look at it would lose the first.
            if dirs.iter().any(|other| same(other.path(), path)) {
                return Err(OpenError::Duplicate(path.clone()));
            }
            dirs.push(take(path)?);
        }
        let metadata_dir = match &config.metadata_dir {
            Some(path) => match dirs.iter().find(|dir| same(dir.path(), path)) {
                Some(dir) => Arc::clone(dir),
                None => take(path)?,
            },
            None => match dirs.first() {
                Some(dir) => Arc::clone(dir),
                None => return Err(OpenError::NoUsableDirectory("log.dirs is empty".into())),
            },
        };
        // The metadata's first: a start that dies in between must not leave it looking like the only
        // directory that was never used.
        let mut all = vec![Arc::clone(&metadata_dir)];
        all.extend(dirs.iter().filter(|dir| !Arc::ptr_eq(dir, &metadata_dir)).cloned());
        let cluster_id = identify_all(&all, &config)?;

        let logs: Arc<Logs> = Arc::default();
        let logs_of = {
            let logs = Arc::clone(&logs);
            Box::new(move |dir: &Arc<LogDir>| logs.in_dir(dir))
        };
        let mut manager = LogManager {
            metadata_dir,
            cordoned: RwLock::new(Vec::new()),
            defaults: RwLock::new(config.defaults.clone()),
            topic_configs: config.topic_configs.clone(),
            cleaner: Cleaner::new(logs_of, dirs.clone()),
            dirs,
            logs,
            rivals: Mutex::new(Vec::new()),
            futures: Futures::default(),
            creation: Mutex::new(()),
            threads_per_dir: config.recovery_threads_per_dir.max(1),
            metrics,
            stalls: Arc::clone(&gate.stalls),
        };
        let mut reports = Vec::with_capacity(manager.dirs.len());
        for dir in manager.dirs.clone() {
            reports.push(manager.load_dir(&dir, &config)?);
        }
        manager.remove_old_markers();
        manager.settle_futures(config.now_ms);
        if manager.dirs.iter().all(|dir| dir.check().is_err()) {
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

    fn load_dir(
        &mut self,
        dir: &Arc<LogDir>,
        config: &ManagerConfig,
    ) -> Result<DirReport, OpenError> {
        let mut report = DirReport {
            path: dir.path().to_path_buf(),
            id: dir.id(),
            clean: false,
            broker_epoch: None,
            partitions: 0,
            stats: LoadStats::default(),
            refused: Vec::new(),
            set_aside: Vec::new(),
            ignored: Vec::new(),
            failure: None,
        };
        if dir.check().is_ok()
            && let Err(error) = self.load_partitions(dir, config, &mut report)?
        {
            let failure = dir.failure_of("load", dir.path(), &error);
            if failure.is_retriable {
                return Err(OpenError::exhausted(&failure));
            }
        }
        report.failure = dir.failure();
        Ok(report)
    }

    fn load_partitions(
        &self,
        dir: &Arc<LogDir>,
        config: &ManagerConfig,
        report: &mut DirReport,
    ) -> Result<std::io::Result<()>, OpenError> {
        macro_rules! try_io {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(error) => return Ok(Err(error)),
                }
            };
        }
        let marker = dir.path().join(names::CLEAN_SHUTDOWN);
        if let Some(bytes) = try_io!(dir.disk.read_small(&marker)) {
            report.clean = true;
            report.broker_epoch = checkpoint::parse_clean_shutdown(&bytes);
            try_io!(dir.disk.remove_file(&marker));
            // The marker must be gone for good before anything is appended.
            try_io!(dir.disk.sync_dir(dir.path()));
        }
        let checkpoints = Checkpoints {
            recovery_points: try_io!(read_offsets(dir, names::RECOVERY_POINTS)),
            log_starts: try_io!(read_offsets(dir, names::LOG_STARTS)),
            high_watermarks: try_io!(read_offsets(dir, names::HIGH_WATERMARKS)),
            cleaned: try_io!(read_offsets(dir, names::CLEANED_OFFSETS)),
        };
        let mut partitions = Vec::new();
        for entry in try_io!(dir.disk.list(dir.path())) {
            let path = dir.path().join(&entry.name);
            let name = names::parse_dir(&entry.name);
            let is_partition = match &name {
                DirName::Partition(..) | DirName::Future(..) => try_io!(entry.is_partition()),
                // The name alone is left of it, if so.
                DirName::Delete => entry.is_dir || entry.broken.is_some(),
                DirName::Stray | DirName::Other => entry.is_dir,
            };
            if !is_partition {
                continue;
            }
            match name {
                DirName::Partition(topic, _) if topic == CLUSTER_METADATA_TOPIC => {}
                DirName::Partition(topic, partition) => {
                    partitions.push((topic, partition, false, path));
                }
                DirName::Future(topic, partition) => {
                    partitions.push((topic, partition, true, path));
                }
                DirName::Delete => {
                    let delay =
                        DeleteDelay::new(config.now_ms, config.defaults.file_delete_delay_ms);
                    dir.throw_away(path, true, delay);
                }
                DirName::Stray => report.set_aside.push(path),
                DirName::Other => report.ignored.push(path),
            }
        }
        partitions.sort_unstable();
        // One copy of each topic's name, however many partitions it has.
        let mut topics: HashMap<String, Arc<str>> = HashMap::new();
        let work: Vec<(Arc<str>, i32, bool, PathBuf)> = partitions
            .into_iter()
            .map(|(topic, partition, is_future, path)| {
                let name = self.logs.topic(&topic).unwrap_or_else(|| {
                    topics
                        .entry(topic)
                        .or_insert_with_key(|topic| Arc::from(topic.as_str()))
                        .clone()
                });
                (name, partition, is_future, path)
            })
            .collect();
        let is_there = |key: &(String, i32)| {
            work.binary_search_by(|(topic, partition, ..)| {
                (&**topic, *partition).cmp(&(&*key.0, key.1))
            })
            .is_ok()
        };
        let is_stale = checkpoints.all().any(|key| !is_there(key));
        let next = AtomicUsize::new(0);
        let loaded = Mutex::new((Vec::with_capacity(work.len()), LoadStats::default(), Vec::new()));
        let exhausted = Mutex::new(None);
        let threads = config.recovery_threads_per_dir.clamp(1, work.len().max(1));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some((topic, partition, is_future, path)) =
                        work.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let key = (topic.to_string(), *partition);
                        let offset = |map: &HashMap<(String, i32), i64>| {
                            map.get(&key).copied().unwrap_or(0).max(0)
                        };
                        let input = LoadInput {
                            topic: topic.clone(),
                            partition: *partition,
                            config: self.config_of(topic),
                            log_start_offset: offset(&checkpoints.log_starts),
                            recovery_point: offset(&checkpoints.recovery_points),
                            high_watermark: offset(&checkpoints.high_watermarks),
                            cleaned_offset: checkpoints.cleaned.get(&key).copied(),
                            clean: report.clean,
                            is_unmanaged: false,
                            now_ms: config.now_ms,
                        };
                        match load_retrying(dir, path, &input) {
                            Ok((log, stats)) => {
                                let mut loaded = loaded.lock();
                                loaded.0.push((log, *is_future));
                                loaded.1.add(&stats);
                            }
                            Err(LoadError::Refused(reason)) => {
                                loaded.lock().2.push((path.clone(), reason));
                            }
                            // The directory is offline, or the start comes to nothing; the others
                            // need not be tried.
                            Err(LoadError::Storage(failure)) => {
                                if failure.is_retriable {
                                    *exhausted.lock() = Some(failure);
                                }
                                return;
                            }
                        }
                    }
                });
            }
        });
        if let Some(failure) = exhausted.into_inner() {
            return Err(OpenError::exhausted(&failure));
        }
        let (logs, stats, refused) = loaded.into_inner();
        let (futures, logs): (Vec<_>, Vec<_>) = logs.into_iter().partition(|(_, it)| *it);
        report.partitions = logs.len();
        report.stats = stats;
        report.refused = refused;
        for (path, reason) in &report.refused {
            tracing::error!(path = %path.display(), reason, "partition cannot be served");
        }
        let mut superseded = Vec::new();
        let mut all = self.logs.lock();
        for (log, _) in logs {
            let Some(other) = all.insert(&log) else { continue };
            if log.topic_id().is_some() && log.topic_id() == other.topic_id() {
                // It was moving from one to the other when the process ended.
                let Some(goes) = Self::replaced_copy(other, &log) else {
                    return Err(twice(other, &log));
                };
                let stays = if Arc::ptr_eq(&goes, &log) { other.clone() } else { log };
                // That it was to be the partition is a reason to keep it.
                let is_stray = goes.homes.replaces() == Some(stays.dir().id());
                *other = stays;
                superseded.push((goes, is_stray));
            } else {
                // A topic was deleted and made again while one of the directories was offline, or
                // the partition was to be made in one of them and was made in the other.
                let mut rival = log;
                if claim(&rival) > claim(other) {
                    std::mem::swap(other, &mut rival);
                }
                self.rivals.lock().push(rival);
            }
        }
        drop(all);
        for (log, is_stray) in superseded {
            tracing::warn!(path = %log.path().display(), is_stray,
                "a partition was moving between log directories when the process ended; this copy goes");
            // A failure takes the directory offline.
            let _ = self.rename_away(&log, config.now_ms, is_stray);
            self.forget_in_checkpoints(log.dir());
        }
        for (future, _) in futures {
            self.found_future(future, config.now_ms);
        }
        if is_stale {
            self.forget_in_checkpoints(dir);
        }
        Ok(Ok(()))
    }

    pub(crate) fn config_of(&self, topic: &str) -> Arc<LogConfig> {
        self.topic_configs
            .as_ref()
            .and_then(|configs| configs(topic))
            .unwrap_or_else(|| self.defaults.read().clone())
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
        &self.dirs
    }

    /// The directory of the metadata log: one of [`Self::dirs`], or one that holds nothing else.
    pub fn metadata_dir(&self) -> &Arc<LogDir> {
        &self.metadata_dir
    }

    /// The log directories, and the metadata log's if it is none of them.
    pub fn all_dirs(&self) -> impl Iterator<Item = &Arc<LogDir>> {
        let is_extra = !self.dirs.iter().any(|dir| Arc::ptr_eq(dir, &self.metadata_dir));
        self.dirs.iter().chain(is_extra.then_some(&self.metadata_dir))
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
        *self.cordoned.write() = dirs;
    }

    /// Whether a directory gets no new partitions.
    pub fn is_cordoned(&self, dir: Uuid) -> bool {
        self.cordoned.read().contains(&dir)
    }

    /// `producer.id.expiration.ms`, from now on.
    pub fn set_producer_expiration_ms(&self, expiration_ms: i64) {
        for dir in &self.dirs {
            dir.set_producer_expiration_ms(expiration_ms);
        }
    }

    /// New defaults, for logs made from now on. Logs that exist are told one by one
    /// ([`Log::update_config`]).
    pub fn set_defaults(&self, defaults: Arc<LogConfig>) {
        *self.defaults.write() = defaults;
    }
}

/// Loads a partition; waits for descriptors and memory if they are lacking.
fn load_retrying(
    dir: &Arc<LogDir>,
    path: &Path,
    input: &LoadInput,
) -> Result<(Arc<Log>, LoadStats), LoadError> {
    let loaded = retry_exhausted(|| match load(dir, path, input.clone()) {
        Err(LoadError::Storage(failure)) => Err(failure),
        Err(LoadError::Refused(reason)) => Ok(Err(reason)),
        Ok(loaded) => Ok(Ok(loaded)),
    });
    loaded.map_err(LoadError::Storage)?.map_err(LoadError::Refused)
}

/// Reads or writes every `meta.properties`; returns the cluster's id.
fn identify_all(dirs: &[Arc<LogDir>], config: &ManagerConfig) -> Result<String, OpenError> {
    let mut cluster_id = config.cluster_id.clone();
    if cluster_id.is_none() {
        // A directory that has the file tells those that do not.
        for dir in dirs {
            let path = dir.path().join(names::META_PROPERTIES);
            if let Ok(Some(bytes)) = dir.disk.read_small(&path)
                && let Ok(meta) = crate::format::meta_properties::MetaProperties::parse(&bytes)
            {
                cluster_id = Some(meta.cluster_id);
                break;
            }
        }
    }
    for (at, dir) in dirs.iter().enumerate() {
        if dir.check().is_err() {
            continue;
        }
        identify(dir, config.node_id, cluster_id.as_deref())?;
        if dir.check().is_ok() && dirs[..at].iter().any(|other| other.id() == dir.id()) {
            return Err(OpenError::MetaProperties {
                path: dir.path().join(names::META_PROPERTIES),
                reason: format!("directory.id {} is also that of another log directory", dir.id()),
            });
        }
    }
    Ok(cluster_id.unwrap_or_default())
}
