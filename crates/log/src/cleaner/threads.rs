//! The threads that compact logs, and what they are asked and told: settings that change while they
//! run, the stop, figures.
//!
//! A thread has its share of the memory. It takes the log that needs it most, goes through it, deletes
//! old segments of compacted logs, and rests for `log.cleaner.backoff.ms` when nothing was due. New
//! settings end the passes that are under way, as in Kafka, and the threads go on with theirs; nobody
//! waits for them but the stop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::figures::{CleanerMetrics, Figures};
use super::pass::{self, Done, Pace, PassError, Worker};
use super::plan::Plan;
use super::throttle::Throttle;
use super::ticket::Ticket;
use crate::partition::dir::LogDir;
use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::partition::offset_checkpoint::CLEANED_OFFSETS;

/// The logs of a directory, as they are now.
pub(crate) type LogsOf = dyn Fn(&Arc<LogDir>) -> Vec<Arc<Log>> + Send + Sync;

/// Milliseconds since 1970, now.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// How long a stop waits for passes, which look at it before each piece of work.
const STOP_MAX: Duration = Duration::from_secs(30);

/// The shortest rest of a thread that found nothing to do, whatever `log.cleaner.backoff.ms` says.
const REST_MIN: Duration = Duration::from_millis(1);

/// Settings of the cleaner, Kafka's names without `log.cleaner.`.
#[derive(Clone, PartialEq, Debug)]
pub struct CleanerConfig {
    /// `threads`
    pub threads: usize,
    /// `dedupe.buffer.size`: of all threads together.
    pub dedupe_buffer_bytes: u64,
    /// `io.buffer.load.factor`: how full the dedupe buffer may become.
    pub load_factor: f64,
    /// `io.buffer.size`: of all threads together, half of it for reading.
    pub io_buffer_bytes: usize,
    /// `io.max.bytes.per.second`: of all threads together, read and written.
    pub io_max_bytes_per_second: f64,
    /// `backoff.ms`
    pub backoff: Duration,
}

impl Default for CleanerConfig {
    fn default() -> CleanerConfig {
        CleanerConfig {
            threads: 1,
            dedupe_buffer_bytes: 128 << 20,
            load_factor: 0.9,
            io_buffer_bytes: 512 << 10,
            io_max_bytes_per_second: f64::MAX,
            backoff: Duration::from_secs(15),
        }
    }
}

impl CleanerConfig {
    fn worker(&self) -> Worker {
        let threads = self.threads.max(1);
        // Kafka's arrays are not larger, and passes are to end where Kafka's do.
        let map_bytes = (self.dedupe_buffer_bytes / threads as u64).min(i32::MAX as u64);
        Worker::new(map_bytes, self.load_factor, self.io_buffer_bytes / threads / 2)
    }
}

/// One pass that was begun.
#[derive(Clone, PartialEq, Debug)]
pub struct CleanedLog {
    /// Whose log it is.
    pub topic: Arc<str>,
    /// Which of its logs.
    pub partition: i32,
    /// Where what was new began.
    pub first_dirty_offset: i64,
    /// Everything before it is compacted; none if the pass did not come to its end.
    pub end_offset: Option<i64>,
    /// Bytes of the segments that were written anew, before.
    pub bytes_read: u64,
    /// The same, afterwards.
    pub bytes_written: u64,
    /// Records that were looked at.
    pub records_read: u64,
    /// Records that stayed.
    pub records_written: u64,
    /// Bytes that the offset map took.
    pub map_memory: usize,
}

/// The cleaner of a node; its threads end with it.
pub(crate) struct Cleaner(Arc<Shared>);

impl Drop for Cleaner {
    fn drop(&mut self) {
        // They hold the log directories, and so the locks on them.
        self.0.stop();
    }
}

/// How many threads there are, for who waits until there is none.
#[derive(Default)]
struct Alive {
    count: Mutex<usize>,
    changed: Condvar,
}

/// Counts a thread for as long as it lives.
struct IsAlive(Arc<Alive>);

impl IsAlive {
    fn new(alive: &Arc<Alive>) -> IsAlive {
        *alive.count.lock() += 1;
        IsAlive(Arc::clone(alive))
    }
}

impl Drop for IsAlive {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.changed.notify_all();
    }
}

struct Shared {
    logs_of: Box<LogsOf>,
    dirs: Vec<Arc<LogDir>>,
    /// Held while a log is chosen.
    choice: Mutex<()>,
    state: Mutex<State>,
    changed: Condvar,
    alive: Arc<Alive>,
    /// Raised with every change of the settings, and by the stop.
    edition: AtomicU64,
    throttle: Throttle,
    figures: Mutex<Figures>,
}

struct State {
    config: CleanerConfig,
    /// There while the threads are to run.
    clock: Option<Clock>,
    /// By number, whether there is such a thread.
    threads: Vec<bool>,
}

impl Cleaner {
    pub(crate) fn new(logs_of: Box<LogsOf>, dirs: Vec<Arc<LogDir>>) -> Cleaner {
        let config = CleanerConfig::default();
        let figures = Figures::new(dirs.len());
        Cleaner(Arc::new(Shared {
            logs_of,
            dirs,
            choice: Mutex::new(()),
            throttle: Throttle::new(config.io_max_bytes_per_second),
            state: Mutex::new(State { config, clock: None, threads: Vec::new() }),
            changed: Condvar::new(),
            alive: Arc::default(),
            edition: AtomicU64::new(0),
            figures: Mutex::new(figures),
        }))
    }

    /// Settings of the cleaner, from now on. Does not wait.
    pub(crate) fn configure(&self, config: CleanerConfig) {
        let shared = &self.0;
        let mut state = shared.state.lock();
        if state.config == config {
            return;
        }
        shared.throttle.set_rate(config.io_max_bytes_per_second);
        state.config = config;
        shared.next_edition();
        shared.spawn_missing(&mut state);
    }

    /// Starts the threads of the cleaner, with the settings of [`Self::configure`].
    pub(crate) fn start(&self, clock: Clock) {
        let shared = &self.0;
        let mut state = shared.state.lock();
        if state.config.threads == 0 {
            tracing::warn!("log.cleaner.threads is 0: compacted topics keep every record");
        }
        state.clock = Some(clock);
        shared.spawn_missing(&mut state);
    }

    /// Stops the threads of the cleaner; waits until they have left the logs alone.
    pub(crate) fn stop(&self) {
        self.0.stop();
    }

    /// Goes through the log that needs it most, on this thread; none if there is none that does.
    pub(crate) fn clean_once(&self, now_ms: i64) -> Option<CleanedLog> {
        let shared = &self.0;
        let mut worker = shared.state.lock().config.worker();
        shared.clean_filthiest(&mut worker, 0, shared.edition(), now_ms)
    }

    /// What the cleaner says of itself.
    pub(crate) fn metrics(&self) -> CleanerMetrics {
        let shared = &self.0;
        let uncleanable = |dir: &Arc<LogDir>| {
            (shared.logs_of)(dir).iter().filter(|log| log.is_uncleanable()).count() as u64
        };
        let counts: Vec<u64> = shared.dirs.iter().map(uncleanable).collect();
        shared.figures.lock().metrics(&shared.dirs, &counts)
    }
}

impl Shared {
    fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// Threads look up from what they do, under the lock of the state.
    fn next_edition(&self) {
        self.edition.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_all();
    }

    fn stop(&self) {
        {
            let mut state = self.state.lock();
            state.clock = None;
            self.next_edition();
        }
        let deadline = Instant::now() + STOP_MAX;
        let mut count = self.alive.count.lock();
        while *count > 0 {
            if self.alive.changed.wait_until(&mut count, deadline).timed_out() {
                // It is in a call to a disk. A log that is closed is nothing that it changes.
                tracing::warn!("a thread of the log cleaner does not stop");
                return;
            }
        }
    }

    fn spawn_missing(self: &Arc<Self>, state: &mut State) {
        if state.clock.is_none() {
            return;
        }
        let wanted = state.config.threads;
        let count = state.threads.len().max(wanted);
        state.threads.resize(count, false);
        for (number, is_there) in state.threads.iter_mut().enumerate().take(wanted) {
            if *is_there {
                continue;
            }
            let shared = Arc::clone(self);
            let name = format!("log-cleaner-{number}");
            let alive = IsAlive::new(&self.alive);
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                // Which gives up what it holds of the logs.
                shared.serve(number);
                drop(alive);
            });
            match thread {
                Ok(_) => *is_there = true,
                Err(error) => {
                    tracing::error!(%error, "a thread of the log cleaner cannot be started");
                    self.figures.lock().dead_threads += 1;
                }
            }
        }
    }

    /// The life of a thread.
    fn serve(self: Arc<Self>, number: usize) {
        let lived = catch_unwind(AssertUnwindSafe(|| self.work(number)));
        if lived.is_err() {
            tracing::error!(number, "a thread of the log cleaner panicked and is gone");
            self.figures.lock().dead_threads += 1;
            if let Some(is_there) = self.state.lock().threads.get_mut(number) {
                *is_there = false;
            }
        }
    }

    fn work(&self, number: usize) {
        loop {
            let (config, clock, edition) = {
                let mut state = self.state.lock();
                let clock = state.clock.clone().filter(|_| number < state.config.threads);
                let Some(clock) = clock else {
                    if let Some(is_there) = state.threads.get_mut(number) {
                        *is_there = false;
                    }
                    return;
                };
                (state.config.clone(), clock, self.edition())
            };
            let mut worker = config.worker();
            while self.edition() == edition {
                let cleaned = self.clean_filthiest(&mut worker, number, edition, clock());
                self.delete_old_segments(edition, clock());
                if cleaned.is_none_or(|cleaned| cleaned.end_offset.is_none()) {
                    worker.rest();
                    self.rest(edition, config.backoff.max(REST_MIN));
                }
            }
        }
    }

    /// Waits for so long, or until there is something new to hear.
    fn rest(&self, edition: u64, pause: Duration) {
        let deadline = Instant::now().checked_add(pause);
        let mut state = self.state.lock();
        while self.edition() == edition {
            match deadline {
                Some(deadline) => {
                    if self.changed.wait_until(&mut state, deadline).timed_out() {
                        return;
                    }
                }
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// Goes through the log that needs it most.
    fn clean_filthiest(
        &self,
        worker: &mut Worker,
        number: usize,
        edition: u64,
        now_ms: i64,
    ) -> Option<CleanedLog> {
        let chosen = self.choose(now_ms)?;
        let Chosen { ticket, plan, max_delay_ms } = &chosen;
        let log = &ticket.log;
        let pace = Work { shared: self, edition };
        let began = Instant::now();
        let ran = catch_unwind(AssertUnwindSafe(|| pass::run(ticket, plan, worker, &pace, now_ms)));
        let mut cleaned = CleanedLog {
            topic: Arc::clone(log.topic()),
            partition: log.partition(),
            first_dirty_offset: plan.first_dirty,
            end_offset: None,
            bytes_read: 0,
            bytes_written: 0,
            records_read: 0,
            records_written: 0,
            map_memory: worker.map_memory(),
        };
        match ran {
            Ok(Ok(done)) => {
                let took = began.elapsed();
                self.figures.lock().note(number, &done, took, *max_delay_ms);
                report(log, plan, &done, took);
                cleaned.bytes_read = done.tally.bytes_read;
                cleaned.bytes_written = done.tally.bytes_written;
                cleaned.records_read = done.tally.records_read;
                cleaned.records_written = done.tally.records_written;
                if ticket.finish(done.end_offset) {
                    cleaned.end_offset = Some(done.end_offset);
                    // A failure takes the directory offline.
                    let _ = self.write_checkpoint(log.dir());
                }
            }
            Ok(Err(PassError::Aborted)) => {
                tracing::info!(topic = %log.topic, partition = log.partition,
                    "compaction was interrupted and will begin again");
            }
            // It was said, and has taken the directory offline; or it comes again.
            Ok(Err(PassError::Storage(failure))) => {
                tracing::debug!(topic = %log.topic, partition = log.partition, %failure,
                    "compaction was interrupted");
            }
            Ok(Err(PassError::Uncleanable { segment, reason })) => {
                give_up(log, segment, &reason);
            }
            Err(_) => {
                log.dir().metrics.panics.add(1);
                give_up(log, plan.first_dirty, "compaction panicked");
            }
        }
        Some(cleaned)
    }

    /// The log that needs compaction most, of those that may have it.
    fn choose(&self, now_ms: i64) -> Option<Chosen> {
        let _choice = self.choice.lock();
        self.figures.lock().last_run = Instant::now();
        let mut dirtiest: f64 = 0.0;
        let mut max_delay_ms = 0;
        let mut chosen: Option<(Arc<Log>, Plan)> = None;
        let mut uncleanable_bytes = vec![0; self.dirs.len()];
        for (dir, uncleanable_bytes) in self.dirs.iter().zip(&mut uncleanable_bytes) {
            let mut is_reset = false;
            for log in (self.logs_of)(dir) {
                let config = log.config();
                let may_have_it = config.compact
                    && !log.is_closed()
                    && !log.cleaning.is_busy()
                    && !log.cleaning.is_paused();
                if !may_have_it || !dir.is_online() {
                    continue;
                }
                // An error takes the directory offline, or the next round tries again.
                let Ok(plan) = log.guard("compact", &log.path(), Plan::of(&log, now_ms)) else {
                    continue;
                };
                if log.is_uncleanable() {
                    *uncleanable_bytes += plan.cleanable_bytes;
                    continue;
                }
                if plan.resets_checkpoint {
                    if !config.delete {
                        tracing::warn!(topic = %log.topic, partition = log.partition,
                            checkpoint = log.cleaned_offset(), offset = plan.first_dirty,
                            "the log does not have the offset that it was compacted up to; \
                             compaction begins where the log does");
                    }
                    log.cleaning.reset(plan.first_dirty);
                    is_reset = true;
                }
                max_delay_ms = max_delay_ms.max(plan.delay_ms);
                if !plan.has_bytes() {
                    continue;
                }
                dirtiest = dirtiest.max(plan.ratio());
                let is_more = chosen.as_ref().is_none_or(|(_, best)| plan.ratio() > best.ratio());
                if is_more && plan.is_due(&log) {
                    chosen = Some((log, plan));
                }
            }
            if is_reset {
                let _ = self.write_checkpoint(dir);
            }
        }
        {
            let mut figures = self.figures.lock();
            figures.dirtiest_ratio = dirtiest;
            figures.uncleanable_bytes = uncleanable_bytes;
        }
        let (log, plan) = chosen?;
        Some(Chosen { ticket: Ticket::take(&log)?, plan, max_delay_ms })
    }

    /// Deletes segments of compacted logs that retention does not keep: those of
    /// `cleanup.policy=compact,delete`, and what lies before a log's start.
    fn delete_old_segments(&self, edition: u64, now_ms: i64) {
        for dir in &self.dirs {
            for log in (self.logs_of)(dir) {
                if self.edition() != edition || !dir.is_online() {
                    break;
                }
                if log.config().compact && !log.is_uncleanable() {
                    // A failure takes the directory offline.
                    let _ = log.delete_old_segments(now_ms);
                }
            }
        }
    }

    fn write_checkpoint(&self, dir: &Arc<LogDir>) -> Result<(), StorageError> {
        dir.check()?;
        // Before the offsets are looked at, so that an older state never replaces a newer one.
        let mut written = dir.checkpoints.lock();
        CLEANED_OFFSETS.write(&mut written, dir, &(self.logs_of)(dir))
    }
}

struct Chosen {
    ticket: Ticket,
    plan: Plan,
    /// Of all logs.
    max_delay_ms: i64,
}

/// A pass under the settings it was begun with.
struct Work<'a> {
    shared: &'a Shared,
    edition: u64,
}

impl Pace for Work<'_> {
    fn go_on(&self, bytes: u64) -> bool {
        let shared = self.shared;
        shared.throttle.count(bytes, Instant::now());
        while shared.edition() == self.edition {
            let Some(pause) = shared.throttle.pause(Instant::now()) else { return true };
            shared.rest(self.edition, pause);
        }
        false
    }
}

fn give_up(log: &Log, segment: i64, reason: &str) {
    log.cleaning.set_uncleanable();
    tracing::error!(topic = %log.topic, partition = log.partition, segment, reason,
        dir = %log.dir().path().display(),
        "the log cannot be compacted and is left as it is until the next start");
}

fn report(log: &Log, plan: &Plan, done: &Done, took: Duration) {
    let tally = &done.tally;
    tracing::info!(topic = %log.topic, partition = log.partition,
        from = plan.first_dirty, to = done.end_offset, seconds = took.as_secs_f64(),
        map_bytes_read = done.map_bytes_read, bytes_read = tally.bytes_read,
        bytes_written = tally.bytes_written, records_read = tally.records_read,
        records_written = tally.records_written, batches_rebuilt = tally.batches_rebuilt,
        "compacted a log");
    if tally.invalid_records > 0 {
        tracing::warn!(topic = %log.topic, partition = log.partition,
            records = tally.invalid_records, "records without a key were removed");
    }
}
