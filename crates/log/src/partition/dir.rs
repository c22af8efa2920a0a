//! One of `log.dirs`: access to its files, whether it works, its checkpoints and what is to be deleted.
//!
//! The first I/O error takes the directory offline for good: its partitions answer
//! `KAFKA_STORAGE_ERROR`, those of other directories go on. Nothing is retried, but for opens that
//! fail because the system has no descriptor or no memory: these are answered as a retriable error.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use thalweg_wire::Uuid;

use crate::format::checkpoint;
use crate::fs::dir_lock::DirLock;
use crate::fs::disk::{Disk, is_exhausted, is_kept};
use crate::fs::file_pool::FilePool;
use crate::metrics::Metrics;
use crate::partition::error::StorageError;
use crate::stalls::pace::{Gate, Pace};

/// That files cannot be opened is said at most this often.
const EXHAUSTION_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Runs work that may wait for the disk, on a bounded pool of threads.
pub trait Executor: Send + Sync {
    /// Runs `job` soon, elsewhere.
    fn run(&self, job: Box<dyn FnOnce() + Send>);

    /// One for a single log directory, so that its jobs do not stand in the way of the others'
    /// when its disk stalls; `None` for this one.
    fn for_dir(&self) -> Option<Arc<dyn Executor>> {
        None
    }
}

/// Hears that a log directory failed; called once per directory, on the thread that met the error.
pub trait DirFailureListener: Send + Sync {
    /// `dir` is offline from now on.
    fn failed(&self, dir: &LogDir, error: &StorageError);
}

/// Does `work` again as long as it fails for lack of descriptors or memory, for five seconds at
/// most: for what nobody else would repeat. On a thread that may wait.
pub fn retry_exhausted<T>(
    mut work: impl FnMut() -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    const ATTEMPTS: usize = 250;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 1..ATTEMPTS {
        match work() {
            Err(failure) if failure.is_retriable => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    work()
}

/// A log directory in use.
pub struct LogDir {
    path: PathBuf,
    id: OnceLock<Uuid>,
    pub(crate) disk: Disk,
    pub(crate) pool: FilePool,
    pub(crate) pace: Arc<Pace>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) executor: Option<Arc<dyn Executor>>,
    producer_expiration_ms: AtomicI64,
    listener: Option<Arc<dyn DirFailureListener>>,
    failed: OnceLock<Arc<str>>,
    /// When it was last said that opens fail for lack of descriptors or memory.
    exhaustion_logged: Mutex<Option<Instant>>,
    lock: Mutex<Option<DirLock>>,
    trash: Mutex<Vec<Trash>>,
    /// Held while checkpoints are written: of this directory only, whose disk may hang.
    pub(crate) checkpoints: Mutex<Written>,
}

/// How long something is left before it is deleted, by the wall clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeleteDelay {
    from_ms: i64,
    delay_ms: i64,
}

impl DeleteDelay {
    pub(crate) fn new(now_ms: i64, delay_ms: i64) -> DeleteDelay {
        DeleteDelay { from_ms: now_ms, delay_ms }
    }

    fn end_ms(self) -> i64 {
        self.from_ms.saturating_add(self.delay_ms)
    }
}

/// What this process wrote last to each checkpoint of a directory, as hashes: a broker that has
/// nothing to do leaves its disk alone.
#[derive(Debug, Default)]
pub(crate) struct Written {
    hasher: RandomState,
    contents: HashMap<&'static str, u64>,
}

struct Trash {
    delay: DeleteDelay,
    path: PathBuf,
    is_dir: bool,
}

impl std::fmt::Debug for LogDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogDir")
            .field("path", &self.path)
            .field("id", &self.id.get())
            .field("failed", &self.failed.get())
            .finish()
    }
}

impl LogDir {
    pub(crate) fn new(
        path: PathBuf,
        disk: Disk,
        max_open_files: usize,
        gate: Arc<Gate>,
        metrics: Arc<Metrics>,
        executor: Option<Arc<dyn Executor>>,
        listener: Option<Arc<dyn DirFailureListener>>,
    ) -> LogDir {
        LogDir {
            pace: Pace::new(path.clone(), gate, metrics.clone()),
            path,
            id: OnceLock::new(),
            disk,
            pool: FilePool::new(max_open_files),
            metrics,
            executor,
            producer_expiration_ms: AtomicI64::new(86_400_000),
            listener,
            failed: OnceLock::new(),
            exhaustion_logged: Mutex::new(None),
            lock: Mutex::new(None),
            trash: Mutex::new(Vec::new()),
            checkpoints: Mutex::default(),
        }
    }

    /// As configured.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Access to its files, for those that others than this crate keep there.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// `directory.id`; zero only for a directory that failed before its id could be read.
    pub fn id(&self) -> Uuid {
        self.id.get().copied().unwrap_or(Uuid::ZERO)
    }

    /// Why the directory is offline, if it is.
    pub fn failure(&self) -> Option<StorageError> {
        let reason = self.failed.get()?.clone();
        Some(StorageError { dir: self.path.clone(), reason, is_retriable: false })
    }

    /// Whether appends stall: they are written by a thread of the directory's own meanwhile.
    pub fn is_slow(&self) -> bool {
        self.pace.is_slow()
    }

    /// `producer.id.expiration.ms`
    pub(crate) fn producer_expiration_ms(&self) -> i64 {
        self.producer_expiration_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn set_producer_expiration_ms(&self, expiration_ms: i64) {
        self.producer_expiration_ms.store(expiration_ms, Ordering::Relaxed);
    }

    /// `Ok` while the directory works.
    #[inline]
    pub fn check(&self) -> Result<(), StorageError> {
        match self.failed.get() {
            None => Ok(()),
            Some(reason) => {
                let reason = reason.clone();
                Err(StorageError { dir: self.path.clone(), reason, is_retriable: false })
            }
        }
    }

    /// Whether it can be used.
    #[inline]
    pub(crate) fn is_online(&self) -> bool {
        self.failed.get().is_none()
    }

    /// Bytes of one of its files, which a reader was given the place of, could not be read: takes
    /// the directory offline, as a read of the log's own does.
    pub fn read_failed(&self, error: &io::Error) {
        self.fail("read", &self.path, error);
    }

    /// Takes the directory offline.
    pub(crate) fn fail(&self, action: &str, path: &Path, error: &io::Error) -> StorageError {
        self.fail_for(StorageError::reason_of(action, path, error))
    }

    fn fail_for(&self, reason: Arc<str>) -> StorageError {
        let first = self.failed.set(reason.clone()).is_ok();
        let reason = self.failed.get().cloned().unwrap_or(reason);
        let failure = StorageError { dir: self.path.clone(), reason, is_retriable: false };
        if first {
            tracing::error!(dir = %self.path.display(), reason = %failure.reason,
                "log directory is offline");
            if let Some(listener) = &self.listener {
                listener.failed(self, &failure);
            }
        }
        failure
    }

    /// An I/O result becomes a storage result; an error takes the directory offline, unless it is a
    /// retriable one. Whoever calls this has changed nothing yet, or can go on from where it stands.
    pub(crate) fn guard<T>(
        &self,
        action: &str,
        path: &Path,
        result: io::Result<T>,
    ) -> Result<T, StorageError> {
        result.map_err(|error| self.failure_of(action, path, &error))
    }

    /// What an error means: the end of the directory, or another attempt later.
    pub(crate) fn failure_of(&self, action: &str, path: &Path, error: &io::Error) -> StorageError {
        if !is_exhausted(error) {
            return self.fail(action, path, error);
        }
        let reason = StorageError::reason_of(action, path, error);
        if is_kept(error) {
            return StorageError::retriable(&self.path, reason);
        }
        self.metrics.opens_exhausted.add(1);
        let mut logged = self.exhaustion_logged.lock();
        if logged.is_none_or(|at| at.elapsed() >= EXHAUSTION_LOG_INTERVAL) {
            *logged = Some(Instant::now());
            tracing::warn!(dir = %self.path.display(), %reason,
                "files cannot be opened for now; what needs them is answered with a retriable error");
        }
        StorageError::retriable(&self.path, reason)
    }

    /// The same for what cannot be left half done: a retriable error takes the directory offline too.
    pub(crate) fn no_way_back<T>(
        &self,
        result: Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        result.map_err(|failure| match failure.is_retriable {
            true => self.fail_for(failure.reason),
            false => failure,
        })
    }

    /// Writes an offset checkpoint, unless the file holds the same already.
    pub(crate) fn write_checkpoint(
        &self,
        written: &mut Written,
        name: &'static str,
        entries: &[(&str, i32, i64)],
    ) -> Result<(), StorageError> {
        let path = self.path.join(name);
        let content = checkpoint::format_offsets(entries.iter().copied());
        let hash = written.hasher.hash_one(&content);
        if written.contents.get(name) == Some(&hash) {
            return Ok(());
        }
        self.guard("write", &path, self.disk.write_atomic(&path, &content))?;
        written.contents.insert(name, hash);
        Ok(())
    }

    /// Deletes `path` once the time is over.
    pub(crate) fn throw_away(&self, path: PathBuf, is_dir: bool, delay: DeleteDelay) {
        self.trash.lock().push(Trash { delay, path, is_dir });
    }

    /// Deletes what is due; says how many things.
    pub(crate) fn empty_trash(&self, now_ms: i64) -> Result<usize, StorageError> {
        self.check()?;
        let due: Vec<Trash> = {
            let mut trash = self.trash.lock();
            for item in trash.iter_mut() {
                // The clock was set back: what was to wait a minute must not wait for hours.
                item.delay.from_ms = item.delay.from_ms.min(now_ms);
            }
            let (due, rest) = std::mem::take(&mut *trash)
                .into_iter()
                .partition(|item: &Trash| item.delay.end_ms() <= now_ms);
            *trash = rest;
            due
        };
        for item in &due {
            let result = if item.is_dir {
                self.disk.remove_dir_all(&item.path)
            } else {
                self.disk.remove_file(&item.path).map(|_| ())
            };
            match result {
                // Somebody who had begun before the partition was deleted has just made a file.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    self.throw_away(item.path.clone(), true, DeleteDelay::new(now_ms, 1_000));
                }
                result => match self.guard("delete", &item.path, result) {
                    Err(error) if error.is_retriable => {
                        let delay = DeleteDelay::new(now_ms, 1_000);
                        self.throw_away(item.path.clone(), item.is_dir, delay);
                    }
                    result => result?,
                },
            }
        }
        Ok(due.len())
    }

    /// When the next deletion is due.
    pub(crate) fn next_deletion_ms(&self) -> Option<i64> {
        self.trash.lock().iter().map(|item| item.delay.end_ms()).min()
    }

    /// Locks the directory, which is there; false if another process has the lock.
    pub(crate) fn lock(&self) -> io::Result<bool> {
        let lock = DirLock::take(&self.disk, &self.path)?;
        let is_taken = lock.is_some();
        *self.lock.lock() = lock;
        Ok(is_taken)
    }

    /// Notes `directory.id`, once.
    pub(crate) fn set_id(&self, id: Uuid) {
        let _ = self.id.set(id);
    }

    /// Lets another process have the directory.
    pub(crate) fn release(&self) {
        self.lock.lock().take();
    }
}
