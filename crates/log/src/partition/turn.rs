//! The turn of a log: the right to append to it and to change it, for one thread at a time.
//!
//! A thread that appends, rolls, truncates or closes a log has its [`Turn`]. All others either wait for
//! theirs ([`Log::wait_turn`], where the disk may be waited for) or leave their append on the queue
//! ([`Log::submit`]). A turn ends with [`Turn::end`], which writes what was queued in its course.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::partition::queue::{Entry, Progress, Work};
use crate::partition::request::{AppendContext, AppendWaiter};
use crate::stalls::pace::{self, QueuedWrites};

/// The right to append to a log and to change what it is made of.
pub(crate) struct Turn<'a> {
    log: &'a Log,
    /// There until the turn is over.
    work: Option<Box<Work>>,
    /// On a thread that may wait for the disk.
    may_wait: bool,
}

impl Log {
    /// The turn, once it is free. Only on threads that may wait for the disk.
    pub(crate) fn wait_turn(&self) -> Turn<'_> {
        Turn { log: self, work: Some(self.queue.wait()), may_wait: true }
    }

    /// The turn, if it is free and no thread waits for it.
    fn try_turn(&self, may_wait: bool) -> Option<Turn<'_>> {
        let work = self.queue.try_take(may_wait)?;
        Some(Turn { log: self, work: Some(work), may_wait })
    }

    /// The turn for an append, or its place on the queue.
    pub(crate) fn enter(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Entry<Turn<'_>> {
        let queued = || self.home().dir.pace.waiting(records.len());
        let turn = |work| Turn { log: self, work: Some(work), may_wait: false };
        self.queue.enter(records, context, waiter, token, queued, turn)
    }

    /// The turn for an append that leaves nothing on the queue; `None` where something is before it.
    pub(crate) fn enter_if_idle(&self) -> Option<Turn<'_>> {
        Some(Turn { log: self, work: Some(self.queue.take_if_idle()?), may_wait: false })
    }

    /// Queues an append, whether or not the turn is free; false when there is no room. The caller sees to it
    /// that the turn is taken afterwards.
    pub(crate) fn enqueue(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> bool {
        let queued = || self.home().dir.pace.waiting(records.len());
        self.queue.push(records, context, waiter, token, queued)
    }

    /// Has the directory's writer thread take a turn.
    pub(crate) fn schedule(&self) {
        // Without it the log is being dropped, and no append waits for it.
        if let Some(log) = self.to_arc()
            && self.queue.begin_schedule()
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
        self.queue.end_schedule();
        // The thread that has the turn sees what is queued.
        if let Some(turn) = self.try_turn(true) {
            turn.end();
        }
    }

    fn panicked(&self) {
        self.home().dir.metrics.panics.add(1);
        tracing::error!(topic = %self.topic, partition = self.partition,
            "a turn on the log directory's writer thread panicked");
    }
}

impl Turn<'_> {
    /// Whether a roll may be done here and now: where the disk may be waited for, or no executor can
    /// do it.
    pub(crate) fn may_roll(&self) -> bool {
        self.may_wait || self.log.home().dir.executor.is_none()
    }

    /// Ends the turn: writes what was queued in its course, and answers these appends.
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
                Progress::RollDue { .. } => return log.ask_for_roll(),
                Progress::Left => return log.schedule(),
                Progress::Done => {}
            }
            // Another thread's turn ends the same way.
            let Some(next) = log.try_turn(may_wait) else { return };
            turn = next;
            if let Some(work) = turn.work.as_mut().filter(|work| work.done.capacity() == 0) {
                work.done = done;
            }
        }
    }

    /// Ends the turn of a thread that holds other locks: what was queued is left to the writer thread,
    /// and no waiter is called here.
    pub(crate) fn pass_on(mut self) {
        if self.release(Progress::Left) {
            self.log.schedule();
        }
    }

    /// What waits for the log's turn waits for another directory from when `move_log` has moved the log there; nothing
    /// is queued meanwhile.
    pub(crate) fn move_queue(&self, move_log: impl FnOnce()) {
        self.log.queue.with_waiting_bytes(self.work.as_deref(), |bytes| {
            let before = self.log.home();
            move_log();
            before.dir.pace.no_longer_waiting(bytes);
            self.log.home().dir.pace.waiting(bytes);
        });
    }

    /// Writes one list of appends, or the rest of it.
    fn write_list(&mut self) -> Progress {
        let (log, may_roll) = (self.log, self.may_roll());
        let mut roll_failed: Option<StorageError> = None;
        loop {
            let Some(work) = self.work.as_deref_mut() else { return Progress::Done };
            if !work.has_taken() {
                log.queue.swap_pending(&mut work.taken);
            }
            let progress = log.write_taken(work, roll_failed.as_ref());
            match progress {
                Progress::Done => {
                    // Now, and not with the next list, which may be long in coming.
                    work.taken.clear();
                    work.next = 0;
                    return progress;
                }
                Progress::RollDue { now_ms } if may_roll => {
                    // If the failure is retriable, appends that need the roll fail with its error, and the next one tries
                    // again. Otherwise the directory is offline, which they find by themselves.
                    let roll = AssertUnwindSafe(|| log.roll_in(self, 0, now_ms));
                    let rolled = catch_unwind(roll).unwrap_or_else(|_| Err(log.roll_panicked()));
                    roll_failed = rolled.err().filter(|failure| failure.is_retriable);
                }
                Progress::RollDue { .. } | Progress::Left => return progress,
            }
        }
    }

    /// Gives the turn back; says whether something is left on the queue that no thread sees to.
    fn release(&mut self, progress: Progress) -> bool {
        match self.work.take() {
            Some(work) => self.log.queue.give_back(work, progress),
            None => false,
        }
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
