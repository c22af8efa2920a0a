//! What a start does in one log directory: its partitions are loaded, and recovered where the stop was
//! not clean.
//!
//! A partition that is there twice, or that cannot be served, is decided here as far as the disk tells.
//! The metadata decides the rest later ([`LogManager::set_strays_aside`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::format::checkpoint;
use crate::fs::names::{self, CLUSTER_METADATA_TOPIC, DirName};
use crate::partition::dir::{DeleteDelay, LogDir, retry_exhausted};
use crate::partition::log::Log;
use crate::store::config::{DirReport, ManagerConfig};
use crate::store::error::OpenError;
use crate::store::housekeeping::read_offsets;
use crate::store::load::{LoadError, LoadInput, LoadStats, load};
use crate::store::manager::LogManager;
use crate::store::removal::{claim, twice};

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
    /// Loads the partitions of a directory.
    pub(crate) fn load_dir(
        &self,
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
                            config: self.configs.of(topic),
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
