//! The log directories of a node, and where a new partition goes.
//!
//! Invariant: no directory is there twice, under whatever path, nor two with one `directory.id`.

use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use thalweg_wire::Uuid;

use crate::format::meta_properties::MetaProperties;
use crate::fs::names;
use crate::metrics::Metrics;
use crate::partition::dir::LogDir;
use crate::partition::error::StorageError;
use crate::stalls::pace::Gate;
use crate::store::config::ManagerConfig;
use crate::store::dir::{identify, take as take_dir};
use crate::store::error::{CreateError, OpenError};

/// The log directories that are in use, offline ones too.
#[derive(Debug)]
pub(crate) struct LogDirs {
    /// In the order of the config.
    dirs: Vec<Arc<LogDir>>,
    /// The metadata log's, one of `dirs` or another.
    metadata: Arc<LogDir>,
    cordoned: RwLock<Vec<Uuid>>,
}

impl LogDirs {
    /// Makes and locks the directories, and checks whose they are. Gives the cluster's id, too.
    pub(crate) fn open(
        config: &ManagerConfig,
        gate: &Arc<Gate>,
        metrics: &Arc<Metrics>,
    ) -> Result<(LogDirs, String), OpenError> {
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
        let cluster_id = identify_all(&all, config)?;
        Ok((LogDirs { dirs, metadata: metadata_dir, cordoned: RwLock::default() }, cluster_id))
    }

    /// All but a directory that has only the metadata log.
    pub(crate) fn all(&self) -> &[Arc<LogDir>] {
        &self.dirs
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Arc<LogDir>> {
        self.dirs.iter()
    }

    pub(crate) fn metadata(&self) -> &Arc<LogDir> {
        &self.metadata
    }

    /// All, and the metadata log's if it is none of them.
    pub(crate) fn with_metadata(&self) -> impl Iterator<Item = &Arc<LogDir>> {
        let is_extra = !self.contains(&self.metadata);
        self.dirs.iter().chain(is_extra.then_some(&self.metadata))
    }

    pub(crate) fn contains(&self, dir: &Arc<LogDir>) -> bool {
        self.dirs.iter().any(|other| Arc::ptr_eq(other, dir))
    }

    /// `Ok` while all of them work.
    pub(crate) fn check_all(&self) -> Result<(), StorageError> {
        self.dirs.iter().try_for_each(|dir| dir.check())
    }

    /// Whether one of them works.
    pub(crate) fn any_online(&self) -> bool {
        self.dirs.iter().any(|dir| dir.check().is_ok())
    }

    /// Whether a directory of this id is there and works.
    pub(crate) fn is_online(&self, id: Uuid) -> bool {
        self.dirs.iter().any(|dir| dir.id() == id && dir.check().is_ok())
    }

    pub(crate) fn set_cordoned(&self, dirs: Vec<Uuid>) {
        *self.cordoned.write() = dirs;
    }

    pub(crate) fn is_cordoned(&self, dir: Uuid) -> bool {
        self.cordoned.read().contains(&dir)
    }

    /// The directory asked for. If it is not of this node, or none was asked for, the online one with
    /// the fewest partitions, as `count` counts them.
    pub(crate) fn choose(
        &self,
        wanted: Option<Uuid>,
        count: impl Fn(&Arc<LogDir>) -> usize,
    ) -> Result<Arc<LogDir>, CreateError> {
        if let Some(id) = wanted.filter(|id| !id.is_reserved()) {
            if let Some(dir) = self.dirs.iter().find(|dir| dir.id() == id) {
                dir.check()?;
                return Ok(dir.clone());
            }
            // Replaced, or taken out of the configuration: elsewhere, as in Kafka. But an offline
            // one may be it, whose id was never read.
            self.check_all()?;
        }
        let mut online = self.dirs.iter().filter(|dir| dir.check().is_ok());
        if let Some(dir) = self.emptiest(|_| true, count).or_else(|| online.next()) {
            return Ok(dir.clone());
        }
        match self.dirs.iter().find_map(|dir| dir.failure()) {
            Some(failure) => Err(failure.into()),
            None => Err(CreateError::UnknownDirectory(Uuid::ZERO)),
        }
    }
}

impl LogDirs {
    /// Of the directories that are online, not cordoned and allowed, the one with the fewest partitions, as `count` counts
    /// them.
    pub(crate) fn emptiest(
        &self,
        is_allowed: impl Fn(&LogDir) -> bool,
        count: impl Fn(&Arc<LogDir>) -> usize,
    ) -> Option<&Arc<LogDir>> {
        let cordoned = self.cordoned.read();
        let is_usable = |dir: &&Arc<LogDir>| dir.check().is_ok() && !cordoned.contains(&dir.id());
        let usable = self.dirs.iter().filter(|dir| is_usable(dir) && is_allowed(dir));
        match self.dirs.as_slice() {
            // Counting takes long where there are many partitions.
            [_] => { usable }.next(),
            _ => usable.min_by_key(|dir| count(dir)),
        }
    }
}

/// Reads or writes every `meta.properties`; returns the cluster's id.
fn identify_all(dirs: &[Arc<LogDir>], config: &ManagerConfig) -> Result<String, OpenError> {
    let mut cluster_id = config.cluster_id.clone();
    if cluster_id.is_none() {
        // A directory that has the file tells those that do not.
        for dir in dirs {
            let path = dir.path().join(names::META_PROPERTIES);
            if let Ok(Some(bytes)) = dir.disk.read_small(&path)
                && let Ok(meta) = MetaProperties::parse(&bytes)
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
