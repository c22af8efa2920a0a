//! Work that waits for a disk or computes for long, kept off the worker threads; a bounded number at a
//! time.

use std::sync::Arc;

use thalweg_log::LogDir;
use thalweg_wire::Uuid;
use tokio::sync::Semaphore;

/// The broker stops; the work was not done, or its result is lost.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the broker is stopping")]
pub(crate) struct Stopped;

/// A bounded number of threads that may wait, or take long.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    slots: Arc<Semaphore>,
}

impl Pool {
    /// At most `slots` pieces of work at once; more wait their turn.
    pub(crate) fn new(slots: usize) -> Pool {
        Pool { slots: Arc::new(Semaphore::new(slots)) }
    }

    /// Does `work` on a thread that may wait.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(|_| Stopped)?;
        tokio::task::spawn_blocking(move || {
            let result = work();
            drop(slot);
            result
        })
        .await
        .map_err(|_| Stopped)
    }
}

/// Reads of one directory that may wait for its disk at a time.
pub(crate) const READS_PER_DIR: usize = 8;
/// Changes of one directory that are asked for by requests and wait for its disk at a time: their
/// flushes are one behind the other in any case.
pub(crate) const CHANGES_PER_DIR: usize = 2;

/// Changes of one directory that the metadata asks for and that wait for its disk at a time.
pub(crate) const METADATA_PER_DIR: usize = 2;

/// A pool for each log directory: who waits for one disk takes no thread from another's.
#[derive(Debug)]
pub(crate) struct DirPools {
    dirs: Vec<(Uuid, Pool)>,
    rest: Pool,
}

impl DirPools {
    pub(crate) fn new<'a>(
        dirs: impl IntoIterator<Item = &'a Arc<LogDir>>,
        slots: usize,
    ) -> DirPools {
        let dirs = dirs.into_iter().map(|dir| (dir.id(), Pool::new(slots))).collect();
        DirPools { dirs, rest: Pool::new(slots) }
    }

    /// For a single directory.
    pub(crate) fn of(&self, dir: &LogDir) -> &Pool {
        self.of_id(dir.id())
    }

    /// For the directory of this id.
    pub(crate) fn of_id(&self, id: Uuid) -> &Pool {
        self.dirs.iter().find(|(known, _)| *known == id).map_or(&self.rest, |(_, pool)| pool)
    }

    /// For what belongs to no directory, or to all.
    pub(crate) fn of_all(&self) -> &Pool {
        &self.rest
    }
}
