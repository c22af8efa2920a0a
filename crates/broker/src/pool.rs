//! Work that waits for a disk, kept off the worker threads; a bounded number at a time.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// The broker stops; the work was not done, or its result is lost.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the broker is stopping")]
pub(crate) struct Stopped;

/// A bounded number of threads that may wait.
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
