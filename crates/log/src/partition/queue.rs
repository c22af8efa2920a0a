//! Whose turn it is with a log, and the appends that wait for one.
//!
//! Whoever appends, rolls, truncates or closes a log has its [`Turn`]; there is one at a time. All
//! others either wait for theirs ([`Log::wait_turn`], where the disk may be waited for) or leave
//! their append on the queue ([`Log::submit`]). A turn ends with [`Turn::end`], which writes what
//! was queued meanwhile.
//!
//! Who has the turn and what is queued are under one lock, held for a few instructions. So nothing
//! is queued unseen: while somebody has the turn, they see it at the end of it; while nobody has,
//! whoever queues it takes the turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::partition::pending::Pending;
use crate::partition::request::{AppendContext, AppendInfo, AppendWaiter, Done};
use crate::partition::submit::Step;
use crate::stalls::pace::{self, QueuedWrites};

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
    /// Here while nobody has the turn: to have the turn is to have this.
    work: Option<Box<Work>>,
    /// Threads that wait for the turn. They go first.
    waiting: usize,
    /// What is queued needs a roll, which the executor was asked for. Whoever may wait for the disk
    /// may have the turn before it, and does the roll.
    roll_due: bool,
    pending: Pending,
}

/// What whoever has the turn works on.
#[derive(Default, Debug)]
pub(crate) struct Work {
    /// Appends taken off the queue, and how many of them are done.
    pub(crate) taken: Pending,
    pub(crate) next: usize,
    /// Of these: planned and not written yet.
    pub(crate) accepted: Vec<(usize, AppendInfo)>,
    /// To be told their result once the turn is over.
    pub(crate) done: Vec<Done>,
}

impl Work {
    fn has_taken(&self) -> bool {
        self.next < self.taken.appends.len()
    }
}

impl State {
    /// Nobody who may wait is first.
    fn is_free(&self) -> bool {
        self.waiting == 0 && !self.roll_due
    }

    /// Nobody has the turn, and nothing waits for it.
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

/// The right to append to a log and to change what it is made of.
pub(crate) struct Turn<'a> {
    log: &'a Log,
    /// There until the turn is over.
    work: Option<Box<Work>>,
    /// On a thread that may wait for the disk.
    may_wait: bool,
}

/// What became of an append that does not wait.
pub(crate) enum Entry<'a> {
    /// Nothing is before it: it is to be written at once.
    First(Turn<'a>),
    /// It is queued behind others, and nobody else has the turn.
    Behind(Turn<'a>),
    /// It is queued, and seen to by somebody else.
    Queued,
    /// There is no room.
    Full,
}

/// How far a turn came with what was queued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Everything that was taken is done.
    Done,
    /// The rest needs a roll, which is not for this thread.
    RollDue,
    /// The rest is the writer thread's.
    Left,
}

impl Log {
    /// The turn, once it is free. Only on threads that may wait for the disk.
    pub(crate) fn wait_turn(&self) -> Turn<'_> {
        let mut state = self.queue.state.lock();
        let mut work = state.work.take();
        if work.is_none() {
            state.waiting += 1;
            while work.is_none() {
                self.queue.free.wait(&mut state);
                work = state.work.take();
            }
            state.waiting -= 1;
        }
        Turn { log: self, work, may_wait: true }
    }

    /// The turn, if it is free and nobody waits for it.
    fn try_turn(&self, may_wait: bool) -> Option<Turn<'_>> {
        let mut state = self.queue.state.lock();
        if state.waiting > 0 || state.roll_due && !may_wait {
            return None;
        }
        let work = state.work.take()?;
        Some(Turn { log: self, work: Some(work), may_wait })
    }

    /// The turn for an append, or its place on the queue.
    pub(crate) fn enter(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Entry<'_> {
        let mut state = self.queue.state.lock();
        if state.is_idle() {
            return Entry::First(Turn { log: self, work: state.work.take(), may_wait: false });
        }
        if !self.push(&mut state, records, context, waiter, token) {
            return Entry::Full;
        }
        let is_free = state.is_free();
        match state.work.take_if(|_| is_free) {
            Some(work) => Entry::Behind(Turn { log: self, work: Some(work), may_wait: false }),
            None => Entry::Queued,
        }
    }

    /// The turn for an append that leaves nothing on the queue; `None` where something is before it.
    pub(crate) fn enter_if_idle(&self) -> Option<Turn<'_>> {
        let mut state = self.queue.state.lock();
        let work = if state.is_idle() { state.work.take() } else { None };
        Some(Turn { log: self, work: Some(work?), may_wait: false })
    }

    /// Queues an append whoever has the turn; false when there is no room. The caller sees to it that
    /// somebody takes the turn afterwards.
    pub(crate) fn enqueue(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> bool {
        self.push(&mut self.queue.state.lock(), records, context, waiter, token)
    }

    fn push(
        &self,
        state: &mut State,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> bool {
        let taken = state.pending.push(records, context, waiter, token);
        if taken {
            self.home().dir.pace.waiting(records.len());
        }
        taken
    }

    /// Has the directory's writer thread take a turn.
    pub(crate) fn schedule(&self) {
        // Without it the log is being dropped, and nobody waits for it.
        if let Some(log) = self.to_arc()
            && !self.queue.is_scheduled.swap(true, Ordering::SeqCst)
        {
            self.home().dir.pace.schedule(log);
        }
    }

    /// Has the executor do the roll that what is queued needs: by taking a turn that may.
    fn ask_for_roll(&self) {
        self.run_on_executor(|log| log.wait_turn().end());
    }
}

impl QueuedWrites for Log {
    /// What the directory's writer thread does for a log: writes what waits by now, as much as a list
    /// holds. What comes meanwhile gets another turn, behind the other logs.
    fn take_turn(&self) {
        // First, so that what comes from here on is scheduled again.
        self.queue.is_scheduled.store(false, Ordering::SeqCst);
        // Whoever has the turn sees what is queued.
        if let Some(turn) = self.try_turn(true) {
            turn.end();
        }
    }

    fn panicked(&self) {
        self.home().dir.metrics.panics.add(1);
        tracing::error!(topic = %self.topic, partition = self.partition,
            "whoever heard of an append panicked");
    }
}

impl Turn<'_> {
    /// Whether a roll may be done here and now: where the disk may be waited for, and where there is
    /// nobody else to do it.
    pub(crate) fn may_roll(&self) -> bool {
        self.may_wait || self.log.home().dir.executor.is_none()
    }

    /// Ends the turn: writes what was queued meanwhile, and tells those whose appends they are.
    ///
    /// A roll that this needs is left to the executor where [`Self::may_roll`] says no. While the
    /// directory stalls everything is left to its writer thread.
    pub(crate) fn end(self) {
        let (log, may_wait) = (self.log, self.may_wait);
        // A log with ever more to write must not keep the writer thread from the others.
        let mut lists_left = if pace::is_writer() { 1 } else { usize::MAX };
        let mut turn = self;
        loop {
            let mut progress = Progress::Left;
            if lists_left > 0 && !log.home().dir.pace.must_leave() {
                lists_left -= 1;
                progress = turn.write_list();
            }
            let mut done =
                turn.work.as_mut().map_or_else(Vec::new, |w| std::mem::take(&mut w.done));
            let is_left = turn.release(progress);
            log.hand_out(&mut done);
            if !is_left {
                return;
            }
            match progress {
                Progress::RollDue => return log.ask_for_roll(),
                Progress::Left => return log.schedule(),
                Progress::Done => {}
            }
            // Whoever else has the turn now ends it like this one.
            let Some(next) = log.try_turn(may_wait) else { return };
            turn = next;
            if let Some(work) = turn.work.as_mut().filter(|work| work.done.capacity() == 0) {
                work.done = done;
            }
        }
    }

    /// Ends the turn of somebody who holds other locks: what was queued meanwhile is the writer
    /// thread's, and nobody is told anything here.
    pub(crate) fn pass_on(mut self) {
        if self.release(Progress::Left) {
            self.log.schedule();
        }
    }

    /// What waits for the log's turn waits for another directory from when `move_log` has moved the log there; nothing
    /// is queued meanwhile.
    pub(crate) fn move_queue(&self, move_log: impl FnOnce()) {
        let queue = self.log.queue.state.lock();
        let taken = self.work.as_ref().map_or(&[][..], |work| &work.taken.appends[work.next..]);
        let bytes = queue.pending.appends.iter().chain(taken).map(|append| append.len).sum();
        let before = self.log.home();
        move_log();
        before.dir.pace.no_longer_waiting(bytes);
        self.log.home().dir.pace.waiting(bytes);
    }

    /// Writes one list of appends, or the rest of it.
    fn write_list(&mut self) -> Progress {
        let (log, may_roll) = (self.log, self.may_roll());
        let mut roll_failed: Option<StorageError> = None;
        loop {
            let Some(work) = self.work.as_deref_mut() else { return Progress::Done };
            if !work.has_taken() {
                std::mem::swap(&mut log.queue.state.lock().pending, &mut work.taken);
            }
            match log.write_taken(work, roll_failed.as_ref()) {
                Step::Done => {
                    // Now, and not with the next list, which may be long in coming.
                    work.taken.clear();
                    work.next = 0;
                    return Progress::Done;
                }
                Step::Leave => return Progress::Left,
                Step::Roll { .. } if !may_roll => return Progress::RollDue,
                Step::Roll { now_ms } => {
                    // Those that need it are told why it came to nothing, and the next one tries again.
                    // That the directory is offline they hear by themselves.
                    let roll = AssertUnwindSafe(|| log.roll_in(self, 0, now_ms));
                    let rolled = catch_unwind(roll).unwrap_or_else(|_| Err(log.roll_panicked()));
                    roll_failed = rolled.err().filter(|failure| failure.is_retriable);
                }
            }
        }
    }

    /// Gives the turn back; says whether something is left on the queue that nobody sees to.
    fn release(&mut self, progress: Progress) -> bool {
        let Some(work) = self.work.take() else { return false };
        let queue = &self.log.queue;
        let mut state = queue.state.lock();
        let is_left = work.has_taken() || !state.pending.appends.is_empty();
        state.work = Some(work);
        state.roll_due = match progress {
            Progress::RollDue => true,
            Progress::Done => false,
            Progress::Left => state.roll_due && is_left,
        };
        if state.waiting > 0 {
            drop(state);
            queue.free.notify_one();
            return false;
        }
        is_left
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // There is something to give back only where a panic ends it: nothing is written on the way out.
        if self.release(Progress::Left) {
            self.log.schedule();
        }
    }
}
