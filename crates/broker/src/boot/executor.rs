//! Threads for the log's rolls and flushes.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_log::Executor;
use tokio::runtime::Handle;

/// Rolls and flushes of one log directory that run at a time.
const JOBS_PER_DIR: usize = 4;

/// Runs the log's rolls and flushes on the pool for blocking work, a few at a time. Logs bound the queue: each asks for one
/// roll and one flush at a time.
#[derive(Debug)]
pub(crate) struct BlockingExecutor {
    runtime: Handle,
    jobs: Arc<Mutex<Jobs>>,
}

#[derive(Default)]
struct Jobs {
    running: usize,
    waiting: VecDeque<Box<dyn FnOnce() + Send>>,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs")
            .field("running", &self.running)
            .field("waiting", &self.waiting.len())
            .finish()
    }
}

impl BlockingExecutor {
    pub(crate) fn new() -> BlockingExecutor {
        BlockingExecutor { runtime: Handle::current(), jobs: Arc::default() }
    }
}

/// One of the threads that run jobs, from when it is asked for.
struct Runner {
    jobs: Arc<Mutex<Jobs>>,
    /// Its place is given back.
    is_done: bool,
}

impl Runner {
    /// The next job, or the runner's place given back: in one step, so that none is left behind.
    fn next(&mut self) -> Option<Box<dyn FnOnce() + Send>> {
        let mut jobs = self.jobs.lock();
        let next = jobs.waiting.pop_front();
        if next.is_none() {
            jobs.running -= 1;
            self.is_done = true;
        }
        next
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // There was no thread for it, or it ended in the middle of a job.
        if !self.is_done {
            self.jobs.lock().running -= 1;
        }
    }
}

impl Executor for BlockingExecutor {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        let mut jobs = self.jobs.lock();
        // Where there is no thread for a runner, the next one does it.
        jobs.waiting.push_back(job);
        if jobs.running >= JOBS_PER_DIR {
            return;
        }
        jobs.running += 1;
        drop(jobs);
        let mut runner = Runner { jobs: Arc::clone(&self.jobs), is_done: false };
        self.runtime.spawn_blocking(move || {
            while let Some(job) = runner.next() {
                // A job that panics must not take those that wait with it.
                if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
                    tracing::error!("a roll or flush panicked");
                }
            }
        });
    }

    fn for_dir(&self) -> Option<Arc<dyn Executor>> {
        Some(Arc::new(BlockingExecutor { runtime: self.runtime.clone(), jobs: Arc::default() }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// However many jobs panic, those behind them run, and as many at a time as before.
    #[tokio::test]
    async fn jobs_that_panic_take_no_place_with_them() {
        let executor = BlockingExecutor::new();
        for _ in 0..2 * JOBS_PER_DIR {
            executor.run(Box::new(|| panic!("as the test wants it")));
        }
        let (done, is_done) = mpsc::channel();
        let together = Arc::new(std::sync::Barrier::new(JOBS_PER_DIR));
        for _ in 0..JOBS_PER_DIR {
            let (done, together) = (done.clone(), Arc::clone(&together));
            executor.run(Box::new(move || {
                // Each waits for the others.
                together.wait();
                let _ = done.send(());
            }));
        }
        for _ in 0..JOBS_PER_DIR {
            is_done.recv_timeout(TIMEOUT).expect("a job that is run");
        }
    }

    /// A runner that never gets its thread gives its place back, and leaves its job to the next one.
    #[test]
    fn a_runner_without_a_thread_loses_nothing() {
        let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (gone, there) = (runtime(), runtime());
        let jobs: Arc<Mutex<Jobs>> = Arc::default();
        let executor =
            |runtime: &Handle| BlockingExecutor { runtime: runtime.clone(), jobs: jobs.clone() };
        let (lost, works) = (executor(gone.handle()), executor(there.handle()));
        gone.shutdown_background();
        let count = Arc::new(AtomicUsize::new(0));
        let (done, is_done) = mpsc::channel();
        let job = || {
            let (count, done) = (Arc::clone(&count), done.clone());
            Box::new(move || {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = done.send(());
            })
        };
        for _ in 0..JOBS_PER_DIR {
            lost.run(job());
        }
        let left = jobs.lock().waiting.len();
        assert_eq!((jobs.lock().running, left), (0, JOBS_PER_DIR));
        works.run(job());
        for _ in 0..=JOBS_PER_DIR {
            is_done.recv_timeout(TIMEOUT).expect("a job that is run");
        }
        assert_eq!(count.load(Ordering::SeqCst), JOBS_PER_DIR + 1);
    }
}
