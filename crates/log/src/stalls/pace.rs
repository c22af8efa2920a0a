//! How a log directory takes appends: written on the thread that brings them, or, while they stall,
//! by a writer thread of its own.
//!
//! Two things keep a stalled disk from stopping everybody. A thread that is about to write *enters*
//! first ([`Pace::enter`]): not while the directory is slow, and never as the last free one of those
//! that serve requests, so that somebody is left to serve the rest before anything is known of the
//! stall. And every write is *marked* ([`Pace::mark`]), with two stores and no clock, so that the
//! watch (`stalls::watch`) sees a write that does not come back and declares the directory slow.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::metrics::Metrics;
use crate::stalls::Stalls;
use crate::stalls::watch;

/// Bytes that may wait for the writer thread of a directory, unless a single append is larger.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// A writer thread without work ends after this.
const WRITER_IDLE: Duration = Duration::from_secs(10);

thread_local! {
    static IS_WRITER: Cell<bool> = const { Cell::new(false) };
}

/// A log whose queued appends the writer thread of its directory writes.
pub(crate) trait QueuedWrites: Send + Sync {
    /// Writes what is queued by now.
    fn take_turn(&self);

    /// [`Self::take_turn`] panicked.
    fn panicked(&self);
}

/// How many threads may write inline at a time, over all directories of a manager.
#[derive(Debug)]
pub(crate) struct Gate {
    inside: AtomicUsize,
    max: usize,
    /// How many of the directories are slow.
    pub(crate) stalls: Arc<Stalls>,
}

impl Gate {
    pub(crate) fn new(max: usize) -> Gate {
        Gate { inside: AtomicUsize::new(0), max, stalls: Arc::default() }
    }
}

/// The pace of one directory.
#[derive(Debug)]
pub(crate) struct Pace {
    id: u64,
    /// The directory's.
    path: PathBuf,
    metrics: Arc<Metrics>,
    slow: AtomicBool,
    /// The watch's tick at which a stalled write was last seen.
    last_stall: AtomicU64,
    /// Bytes that are queued for the directory's logs.
    waiting_bytes: AtomicUsize,
    gate: Arc<Gate>,
    writer: Arc<WriterThread>,
}

/// The right to write inline.
pub(crate) struct Entry<'a>(&'a Gate);

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pace {
    pub(crate) fn new(path: PathBuf, gate: Arc<Gate>, metrics: Arc<Metrics>) -> Arc<Pace> {
        let pace = Arc::new(Pace {
            id: watch::next_id(),
            path,
            metrics,
            slow: AtomicBool::new(false),
            last_stall: AtomicU64::new(0),
            waiting_bytes: AtomicUsize::new(0),
            gate,
            writer: Arc::default(),
        });
        watch::add(&pace);
        pace
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether appends stall.
    #[inline]
    pub(crate) fn is_slow(&self) -> bool {
        self.slow.load(Ordering::Relaxed)
    }

    /// Whether this thread must leave the directory's writes to another one.
    #[inline]
    pub(crate) fn must_leave(&self) -> bool {
        self.is_slow() && !is_writer()
    }

    /// The right to write here and now; `None` where the append has to go to the writer thread.
    #[inline]
    pub(crate) fn enter(&self) -> Option<Entry<'_>> {
        if self.is_slow() {
            return None;
        }
        let entry = Entry(&self.gate);
        let before = self.gate.inside.fetch_add(1, Ordering::Relaxed);
        (before < self.gate.max).then_some(entry)
    }

    /// Marks a write for as long as the guard lives.
    #[inline]
    pub(crate) fn mark(&self) -> watch::Mark {
        watch::mark(self.id)
    }

    /// A stalled write was seen.
    pub(crate) fn stalled(&self, tick: u64) {
        self.last_stall.store(tick, Ordering::Relaxed);
        if !self.slow.swap(true, Ordering::Relaxed) {
            self.metrics.append_stalls.add(1);
            self.gate.stalls.begin();
            tracing::warn!(dir = %self.path.display(),
                "appends to this log directory stall; they wait for a thread of their own");
        }
        self.gate.stalls.seen();
    }

    /// No stall was seen for `quiet` ticks: appends are written inline again.
    pub(crate) fn recover(&self, tick: u64, quiet: u64) {
        let last = self.last_stall.load(Ordering::Relaxed);
        if self.is_slow() && tick.saturating_sub(last) >= quiet {
            self.slow.store(false, Ordering::Relaxed);
            self.gate.stalls.end();
            tracing::info!(dir = %self.path.display(), "this log directory is quick again");
        }
    }

    /// Whether `len` more bytes may wait for the writer thread.
    pub(crate) fn has_room(&self, len: usize) -> bool {
        let waiting = self.waiting_bytes.load(Ordering::Relaxed);
        waiting == 0 || waiting + len <= MAX_WAITING_BYTES
    }

    pub(crate) fn waiting(&self, len: usize) {
        self.waiting_bytes.fetch_add(len, Ordering::Relaxed);
    }

    pub(crate) fn no_longer_waiting(&self, len: usize) {
        self.waiting_bytes.fetch_sub(len, Ordering::Relaxed);
    }

    /// Has the writer thread look at a log's pending appends.
    ///
    /// The log is on the list once at most: its caller sees to that.
    pub(crate) fn schedule(&self, log: Arc<dyn QueuedWrites>) {
        WriterThread::schedule(&self.writer, log);
    }
}

/// One thread at most, made when there is something to write and gone when there is not.
#[derive(Default)]
struct WriterThread {
    state: Mutex<WriterState>,
    work: Condvar,
}

#[derive(Default)]
struct WriterState {
    /// Logs with pending appends, each once.
    logs: VecDeque<Arc<dyn QueuedWrites>>,
    is_running: bool,
}

impl std::fmt::Debug for WriterThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterThread").finish_non_exhaustive()
    }
}

impl WriterThread {
    fn schedule(this: &Arc<WriterThread>, log: Arc<dyn QueuedWrites>) {
        let mut state = this.state.lock();
        state.logs.push_back(log);
        if state.is_running {
            drop(state);
            this.work.notify_one();
            return;
        }
        state.is_running = true;
        let writer = Arc::clone(this);
        let spawned = std::thread::Builder::new()
            .name("thalweg-append".into())
            .spawn(move || writer.run(WRITER_IDLE));
        if let Err(error) = spawned {
            tracing::warn!(%error, "no thread for a slow log directory");
            drop(state);
            // Then whoever brought the append is the writer thread, until nothing waits.
            this.run(Duration::ZERO);
        }
    }

    fn run(&self, idle: Duration) {
        as_writer(|| {
            let mut state = self.state.lock();
            loop {
                if let Some(log) = state.logs.pop_front() {
                    drop(state);
                    // A waiter that panics must not take the others' thread with it.
                    if catch_unwind(AssertUnwindSafe(|| log.take_turn())).is_err() {
                        log.panicked();
                    }
                    drop(log);
                    state = self.state.lock();
                } else if self.work.wait_for(&mut state, idle).timed_out() && state.logs.is_empty()
                {
                    state.is_running = false;
                    return;
                }
            }
        });
    }
}

/// Whether this thread writes for others.
pub(crate) fn is_writer() -> bool {
    IS_WRITER.get()
}

/// Runs `work` as the writer thread. It does not panic.
fn as_writer(work: impl FnOnce()) {
    let before = IS_WRITER.replace(true);
    work();
    IS_WRITER.set(before);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(gate: &Arc<Gate>) -> Arc<Pace> {
        Pace::new(PathBuf::from("dir"), gate.clone(), Arc::default())
    }

    #[test]
    fn the_last_free_thread_does_not_enter() {
        let gate = Arc::new(Gate::new(2));
        let (one, other) = (pace(&gate), pace(&gate));
        let first = one.enter();
        let second = other.enter();
        assert!(first.is_some() && second.is_some());
        assert!(one.enter().is_none());
        assert!(other.enter().is_none());
        drop(second);
        assert!(one.enter().is_some());
        drop(first);
        assert_eq!(one.gate.inside.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_slow_directory_is_entered_again_once_it_was_quiet() {
        let gate = Arc::new(Gate::new(8));
        let (slow, fast) = (pace(&gate), pace(&gate));
        slow.stalled(100);
        slow.stalled(101);
        assert_eq!(slow.metrics.append_stalls.get(), 1);
        assert!(slow.enter().is_none() && fast.enter().is_some());
        slow.recover(110, 10);
        assert!(slow.enter().is_none());
        slow.recover(111, 10);
        assert!(slow.enter().is_some());
    }

    #[test]
    fn waiting_bytes_are_bounded_but_one_append_always_fits() {
        let pace = pace(&Arc::new(Gate::new(1)));
        assert!(pace.has_room(MAX_WAITING_BYTES * 2));
        pace.waiting(MAX_WAITING_BYTES - 1);
        assert!(pace.has_room(1));
        assert!(!pace.has_room(2));
        pace.no_longer_waiting(MAX_WAITING_BYTES - 1);
        assert!(pace.has_room(MAX_WAITING_BYTES * 2));
    }
}
