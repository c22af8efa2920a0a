//! The appends of a log that wait for its turn, and the turn while it is free.
//!
//! The turn and the queued appends are under one lock, held for a few instructions. So no append
//! waits unseen: the thread that has the turn sees it at the end of the turn; while no thread has it,
//! the one that queues an append takes the turn.
//!
//! Not here: what is done with the turn (`turn`, `submit`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::partition::pending::Pending;
use crate::partition::request::{AppendContext, AppendInfo, AppendWaiter, Done};

/// The queue of a log.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// The turn is free, and a thread waits for it.
    free: Condvar,
    /// The log is on the list of the directory's writer thread.
    is_scheduled: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Here while no thread has the turn: to have the turn is to have this.
    work: Option<Box<Work>>,
    /// Threads that wait for the turn. They go first.
    waiting: usize,
    /// What is queued needs a roll, which the executor was asked for. A thread that may wait for the disk
    /// may have the turn before it, and does the roll.
    roll_due: bool,
    pending: Pending,
}

/// What the thread that has the turn works on.
#[derive(Default, Debug)]
pub(crate) struct Work {
    /// Appends taken off the queue, and how many of them are done.
    pub(crate) taken: Pending,
    pub(crate) next: usize,
    /// Of these: planned and not written yet.
    pub(crate) accepted: Vec<(usize, AppendInfo)>,
    /// Results that are handed out once the turn is over.
    pub(crate) done: Vec<Done>,
}

impl Work {
    pub(crate) fn has_taken(&self) -> bool {
        self.next < self.taken.appends.len()
    }
}

/// What became of an append that does not wait; `T` is the turn.
pub(crate) enum Entry<T> {
    /// No append is before it, and the turn is the caller's: it is to be written at once.
    First(T),
    /// It is queued behind others, and the turn is the caller's.
    Behind(T),
    /// It is queued; the thread that has the turn, or will have it, writes it.
    Queued,
    /// There is no room.
    Full,
}

/// How far a turn came with what was queued.
#[derive(Clone, Copy)]
pub(crate) enum Progress {
    /// Everything that was taken is written.
    Done,
    /// The next one needs a roll.
    RollDue { now_ms: i64 },
    /// The rest is the writer thread's: the directory stalls.
    Left,
}

impl State {
    /// No thread that may wait is first.
    fn is_free(&self) -> bool {
        self.waiting == 0 && !self.roll_due
    }

    /// The turn is free, and nothing waits for it.
    fn is_idle(&self) -> bool {
        self.is_free()
            && self.pending.appends.is_empty()
            && self.work.as_ref().is_some_and(|work| !work.has_taken())
    }
}

impl Default for Queue {
    fn default() -> Queue {
        let state = State {
            work: Some(Box::default()),
            waiting: 0,
            roll_due: false,
            pending: Pending::default(),
        };
        Queue {
            state: Mutex::new(state),
            free: Condvar::new(),
            is_scheduled: AtomicBool::new(false),
        }
    }
}

impl Queue {
    /// Takes the turn, once it is free.
    pub(crate) fn wait(&self) -> Box<Work> {
        let mut state = self.state.lock();
        if let Some(work) = state.work.take() {
            return work;
        }
        state.waiting += 1;
        loop {
            self.free.wait(&mut state);
            if let Some(work) = state.work.take() {
                state.waiting -= 1;
                return work;
            }
        }
    }

    /// Takes the turn, if it is free and no thread waits for it.
    pub(crate) fn try_take(&self, may_wait: bool) -> Option<Box<Work>> {
        let mut state = self.state.lock();
        if state.waiting > 0 || state.roll_due && !may_wait {
            return None;
        }
        state.work.take()
    }

    /// Takes the turn, if nothing is queued before it.
    #[inline]
    pub(crate) fn take_if_idle(&self) -> Option<Box<Work>> {
        let mut state = self.state.lock();
        if state.is_idle() { state.work.take() } else { None }
    }

    /// The turn for an append, of which `turn` is made, or its place on the queue. `queued` is called, under
    /// the lock, if it is queued.
    #[inline]
    pub(crate) fn enter<T>(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
        queued: impl FnOnce(),
        turn: impl FnOnce(Box<Work>) -> T,
    ) -> Entry<T> {
        let mut state = self.state.lock();
        if state.is_idle()
            && let Some(work) = state.work.take()
        {
            return Entry::First(turn(work));
        }
        if !state.pending.push(records, context, waiter, token) {
            return Entry::Full;
        }
        queued();
        let is_free = state.is_free();
        match state.work.take_if(|_| is_free) {
            Some(work) => Entry::Behind(turn(work)),
            None => Entry::Queued,
        }
    }

    /// Queues an append, whether or not the turn is free; false when there is no room. The caller sees to it
    /// that the turn is taken afterwards. `queued` as in [`Self::enter`].
    pub(crate) fn push(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
        queued: impl FnOnce(),
    ) -> bool {
        let mut state = self.state.lock();
        let is_queued = state.pending.push(records, context, waiter, token);
        if is_queued {
            queued();
        }
        is_queued
    }

    /// Exchanges the list of those that wait for an empty one.
    pub(crate) fn swap_pending(&self, list: &mut Pending) {
        std::mem::swap(&mut self.state.lock().pending, list);
    }

    /// Calls `change` with the bytes that wait, among them those that were taken and are not done; nothing is
    /// queued until it returns.
    pub(crate) fn with_waiting_bytes(&self, work: Option<&Work>, change: impl FnOnce(usize)) {
        let state = self.state.lock();
        let taken = work.map_or(&[][..], |work| &work.taken.appends[work.next..]);
        change(state.pending.appends.iter().chain(taken).map(|append| append.len).sum());
    }

    /// Gives the turn back; says whether something is left on the queue that no thread sees to.
    pub(crate) fn give_back(&self, work: Box<Work>, progress: Progress) -> bool {
        let mut state = self.state.lock();
        let is_left = work.has_taken() || !state.pending.appends.is_empty();
        state.work = Some(work);
        state.roll_due = match progress {
            Progress::RollDue { .. } => true,
            Progress::Done => false,
            Progress::Left => state.roll_due && is_left,
        };
        if state.waiting > 0 {
            drop(state);
            self.free.notify_one();
            return false;
        }
        is_left
    }

    /// The log is to be put on the list of the writer thread; false if it is there already.
    pub(crate) fn begin_schedule(&self) -> bool {
        !self.is_scheduled.swap(true, Ordering::SeqCst)
    }

    /// The writer thread has taken the log off its list.
    pub(crate) fn end_schedule(&self) {
        self.is_scheduled.store(false, Ordering::SeqCst);
    }
}
