//! Work that waits for a disk or computes for long, kept off the worker threads; a bounded number at a
//! time.

use std::sync::Arc;

use thalweg_log::LogDir;
use thalweg_wire::Uuid;
use tokio::sync::Semaphore;

use crate::node::metrics::Counter;

/// Why work has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PoolError {
    /// The work was not done, or its result is lost.
    #[error("the broker is stopping")]
    Stopped,
    /// The panic hook has logged the panic.
    #[error("the work for the request panicked; see the message above")]
    Panicked,
}

/// A bounded number of threads that may wait, or take long.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    slots: Arc<Semaphore>,
    /// Work that panicked.
    panics: Arc<Counter>,
}

impl Pool {
    /// At most `slots` pieces of work at once; more wait their turn.
    pub(crate) fn new(slots: usize) -> Pool {
        Pool { slots: Arc::new(Semaphore::new(slots)), panics: Arc::default() }
    }

    /// Does `work` on a thread that may wait.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        let slot = slot.map_err(|_| PoolError::Stopped)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(slot);
            result
        });
        done.await.map_err(|error| {
            if !error.is_panic() {
                return PoolError::Stopped;
            }
            self.panics.add(1);
            PoolError::Panicked
        })
    }
}

/// Reads of one directory that may wait for its disk at a time.
pub(crate) const READS_PER_DIR: usize = 8;
/// Changes of one directory that are asked for by requests and wait for its disk at a time: their
/// flushes are one behind the other in any case.
pub(crate) const CHANGES_PER_DIR: usize = 2;

/// Changes of one directory that the metadata asks for and that wait for its disk at a time.
pub(crate) const METADATA_PER_DIR: usize = 2;

/// A pool for each log directory: work that waits for one disk takes no thread from another's.
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
        let rest = Pool::new(slots);
        let of_dir = || Pool { panics: Arc::clone(&rest.panics), ..Pool::new(slots) };
        let dirs = dirs.into_iter().map(|dir| (dir.id(), of_dir())).collect();
        DirPools { dirs, rest }
    }

    /// For a single directory.
    pub(crate) fn of(&self, dir: &LogDir) -> &Pool {
        self.of_id(dir.id())
    }

    /// For the directory of this id.
    pub(crate) fn of_id(&self, id: Uuid) -> &Pool {
        self.dirs.iter().find(|(known, _)| *known == id).map_or(&self.rest, |(_, pool)| pool)
    }

    /// Work that panicked, of all directories.
    pub(crate) fn panics(&self) -> u64 {
        self.rest.panics.get()
    }

    /// For what belongs to no directory, or to all.
    pub(crate) fn of_all(&self) -> &Pool {
        &self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_is_counted_and_is_no_stop() {
        let pools = DirPools::new([], 1);
        let panicked = pools.of_all().run(|| panic!("as the test wants it")).await;
        let panicked: Result<(), PoolError> = panicked;
        assert_eq!(panicked, Err(PoolError::Panicked));
        assert!(!PoolError::Panicked.to_string().contains("stopping"));
        // Its place is free again.
        assert_eq!(pools.of_all().run(|| 1).await, Ok(1));
        assert_eq!(pools.panics(), 1);
    }
}
