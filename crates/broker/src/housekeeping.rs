//! What a broker does while nobody asks: retention, flushes, checkpoints, expiry, and the
//! consequences of a disk that fails.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::{DirFailureListener, DirLogs, Executor, LogDir, StorageError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::broker::Broker;

/// Rolls and flushes of one log directory that run at a time.
const JOBS_PER_DIR: usize = 4;

/// Runs the log's rolls and flushes on the pool for blocking work, a few at a time. What waits is
/// bounded by the logs, which ask for one roll and one flush at a time.
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

impl Jobs {
    /// The next job, or the runner's place given back: in one step, so that none is left behind.
    fn next(&mut self) -> Option<Box<dyn FnOnce() + Send>> {
        let next = self.waiting.pop_front();
        self.running -= usize::from(next.is_none());
        next
    }
}

impl Executor for BlockingExecutor {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        let mut jobs = self.jobs.lock();
        if jobs.running >= JOBS_PER_DIR {
            jobs.waiting.push_back(job);
            return;
        }
        jobs.running += 1;
        drop(jobs);
        let jobs = Arc::clone(&self.jobs);
        self.runtime.spawn_blocking(move || {
            let mut next = Some(job);
            while let Some(job) = next {
                // A job that panics must not take those that wait with it.
                if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
                    tracing::error!("a roll or flush panicked");
                }
                next = jobs.lock().next();
            }
        });
    }

    fn for_dir(&self) -> Option<Arc<dyn Executor>> {
        Some(Arc::new(BlockingExecutor { runtime: self.runtime.clone(), jobs: Arc::default() }))
    }
}

/// Hears of log directories that fail.
#[derive(Debug, Default)]
pub(crate) struct DirFailures {
    broker: OnceLock<Weak<Broker>>,
}

impl DirFailures {
    pub(crate) fn attach(&self, broker: &Arc<Broker>) {
        let _ = self.broker.set(Arc::downgrade(broker));
    }
}

impl DirFailureListener for DirFailures {
    fn failed(&self, dir: &LogDir, error: &StorageError) {
        tracing::error!(dir = %dir.path().display(), %error, "a log directory is offline");
        let Some(broker) = self.broker.get().and_then(Weak::upgrade) else { return };
        if dir.id() == broker.metadata_directory {
            broker.fail("the directory of the metadata log is offline");
        } else if broker.logs.dirs().iter().all(|dir| dir.check().is_err()) {
            broker.fail("all log directories are offline");
        }
        // On the thread that met the error, which may hold locks of a log or the controller: only
        // what takes none of these is done here, the rest in `directories`.
        for topic in broker.topics().iter() {
            for partition in topic.partitions() {
                if partition.log.dir().id() == dir.id() {
                    partition.go_offline();
                    // Whoever waits for its data is told.
                    partition.fetchers.wake_all();
                }
            }
        }
        broker.directories.wake();
    }
}

/// Does `work` again and again, one after the other with all that has the same `turn`: first after
/// `delay`, then after `interval` each time.
fn every_after(
    delay: i64,
    broker: &Arc<Broker>,
    turn: Arc<Turn>,
    interval: impl Fn(&Broker) -> i64 + Send + 'static,
    work: impl Fn(&Broker) + Send + Sync + 'static,
) -> JoinHandle<()> {
    let broker = Arc::downgrade(broker);
    let work = Arc::new(work);
    tokio::spawn(async move {
        let mut delay = Some(delay);
        loop {
            let pause = match broker.upgrade() {
                Some(broker) => delay.take().unwrap_or_else(|| interval(&broker)),
                None => return,
            };
            tokio::time::sleep(Duration::from_millis(u64::try_from(pause).unwrap_or(1).max(1)))
                .await;
            let _turn = turn.lock().await;
            let Some(broker) = broker.upgrade() else { return };
            let work = Arc::clone(&work);
            if tokio::task::spawn_blocking(move || work(&broker)).await.is_err() {
                tracing::error!("housekeeping panicked; it goes on with the next turn");
            }
        }
    })
}

/// Held by what is done for a log directory: its disk may hang, and then one thread does, not one
/// for each thing there is to do.
type Turn = tokio::sync::Mutex<()>;

/// What is done for each of some log directories, without any waiting for another one's disk.
struct Dirs<'a> {
    broker: &'a Arc<Broker>,
    dirs: Vec<(Arc<LogDir>, Arc<Turn>)>,
    tasks: Vec<JoinHandle<()>>,
}

impl Dirs<'_> {
    fn every_after(
        &mut self,
        delay: i64,
        interval: impl Fn(&Broker) -> i64 + Copy + Send + 'static,
        work: impl Fn(&Broker, DirLogs<'_>) + Copy + Send + Sync + 'static,
    ) {
        for (dir, turn) in &self.dirs {
            let dir = Arc::clone(dir);
            let work = move |b: &Broker| work(b, b.logs.in_dir(&dir));
            self.tasks.push(every_after(delay, self.broker, Arc::clone(turn), interval, work));
        }
    }

    /// The same without a delay of its own.
    fn every(
        &mut self,
        interval: impl Fn(&Broker) -> i64 + Copy + Send + 'static,
        work: impl Fn(&Broker, DirLogs<'_>) + Copy + Send + Sync + 'static,
    ) {
        self.every_after(interval(self.broker), interval, work);
    }
}

/// Checkpoints of the metadata are looked at this often.
const METADATA_TIDY_MS: i64 = 60_000;

/// Partitions that could not be opened are tried again after this.
const OPEN_AGAIN: Duration = Duration::from_secs(1);
/// How often whoever opens them sees whether the broker is still there.
const LOOK_AROUND: Duration = Duration::from_secs(60);

/// Flushes are looked for at least this often, whatever the scheduler's interval says.
const FLUSH_MS_MAX: i64 = 2_000;

/// Opens what could not be opened for lack of descriptors or memory, until the broker is gone.
async fn open_again(broker: Weak<Broker>) {
    let Some(added) = broker.upgrade().map(|b| Arc::clone(&b.unopened_added)) else { return };
    loop {
        // The broker itself is not held while nothing happens, so that it can go.
        let is_added = tokio::time::timeout(LOOK_AROUND, added.notified()).await.is_ok();
        if is_added {
            tokio::time::sleep(OPEN_AGAIN).await;
        }
        let Some(broker) = broker.upgrade() else { return };
        if is_added && tokio::task::spawn_blocking(move || broker.open_missing()).await.is_err() {
            tracing::error!("opening partitions panicked");
        }
    }
}

/// Starts everything that runs by the clock.
pub(crate) fn spawn(broker: &Arc<Broker>) -> Vec<JoinHandle<()>> {
    // `log.initial.task.delay.ms`: a start has better things to do.
    let delay = broker.settings().initial_task_delay_ms();
    let tidy_interval = |b: &Broker| match b.settings().metadata_snapshot_interval_ms() {
        0 => METADATA_TIDY_MS,
        interval => interval.min(METADATA_TIDY_MS),
    };
    let tidy = |b: &Broker| b.controller.tidy(b);
    let tasks = vec![
        tokio::spawn(crate::directories::report(Arc::downgrade(broker))),
        every_after(tidy_interval(broker), broker, Arc::default(), tidy_interval, tidy),
        tokio::spawn(open_again(Arc::downgrade(broker))),
    ];
    let dirs = broker.logs.all_dirs().map(|dir| (Arc::clone(dir), Arc::default())).collect();
    let mut all = Dirs { broker, dirs, tasks };
    all.every_after(
        delay,
        |b| b.settings().retention_check_interval_ms(),
        |b, dir| {
            dir.clean_up(b.clock.wall_ms());
        },
    );
    all.every_after(
        delay,
        |b| b.settings().flush_scheduler_interval_ms().min(FLUSH_MS_MAX),
        |b, dir| {
            let now = b.clock.wall_ms();
            dir.flush_due(now);
            dir.delete_due(now);
        },
    );
    all.every_after(
        delay,
        |b| i64::from(b.settings().flush_offset_checkpoint_interval_ms()),
        |_, dir| dir.checkpoint_recovery_points(),
    );
    all.every_after(
        delay,
        |b| i64::from(b.settings().flush_start_offset_checkpoint_interval_ms()),
        |_, dir| dir.checkpoint_log_starts(),
    );
    all.every(
        |b| b.settings().high_watermark_checkpoint_interval_ms(),
        |_, dir| {
            dir.checkpoint_high_watermarks();
            dir.close_idle_files();
        },
    );
    all.every(
        |b| i64::from(b.settings().producer_id_expiration_check_interval_ms()),
        |b, dir| {
            dir.expire_producers(b.clock.wall_ms());
        },
    );
    all.tasks
}
