//! Appends that do not wait: written here and now where nobody has the log's turn, else queued and
//! written by whoever has it, several appends with one system call.
//!
//! While the directory stalls only its writer thread writes what is queued ([`crate::stalls::pace`]), one
//! list per turn of a log, so that one that never runs dry keeps no other one waiting.

use std::io::IoSlice;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::partition::append::{Plan, Records};
use crate::partition::error::{AppendError, StorageError};
use crate::partition::log::{Log, Writer};
use crate::partition::pending::KEPT_APPENDS;
use crate::partition::queue::{Entry, Turn, Work};
use crate::partition::request::{AppendContext, AppendInfo, AppendWaiter, Done, Submitted};

/// Appends that are answered once they are flushed (`flush.messages`), and the job that does both.
///
/// Invariant: an append here has a job that will answer it, and the executor has one such job at a time.
#[derive(Default, Debug)]
pub(crate) struct Unflushed(Mutex<UnflushedAppends>);

#[derive(Default, Debug)]
struct UnflushedAppends {
    done: Vec<Done>,
    now_ms: i64,
    has_job: bool,
}

impl Unflushed {
    /// Takes these. Says whether a job will answer them; otherwise the caller starts one.
    fn add(&self, done: &mut Vec<Done>, now_ms: i64) -> bool {
        let mut appends = self.0.lock();
        appends.done.append(done);
        appends.now_ms = appends.now_ms.max(now_ms);
        std::mem::replace(&mut appends.has_job, true)
    }

    /// What a job answers, and the time of the newest.
    fn take(&self) -> (Vec<Done>, i64) {
        let mut appends = self.0.lock();
        (std::mem::take(&mut appends.done), appends.now_ms)
    }

    /// A job is done. Says whether there are appends for another one, which the caller starts.
    fn end_job(&self) -> bool {
        let mut appends = self.0.lock();
        appends.has_job = !appends.done.is_empty();
        appends.has_job
    }
}

/// How far the appends that were taken off the queue are written.
pub(crate) enum Step {
    /// All of them.
    Done,
    /// The next one needs a roll.
    Roll { now_ms: i64 },
    /// The rest is the writer thread's: the directory stalls.
    Leave,
}

impl Log {
    /// Appends as [`Log::append_as_leader`] does, without waiting. If somebody else has the log's turn
    /// the bytes are copied and `waiter` hears the result later. Rolls and flushes go to the manager's
    /// executor; without one they are done here and now.
    pub fn submit(
        &self,
        records: &mut [u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Submitted {
        // Goes last: what is written at the end of the turn is written under it too.
        let Some(_inside) = self.home().dir.pace.enter() else {
            return self.submit_to_writer(records, context, waiter, token);
        };
        match self.enter(records, context, waiter, token) {
            Entry::First(turn) => self.submit_first(turn, records, context, waiter, token),
            Entry::Behind(turn) => {
                turn.end();
                Submitted::Queued
            }
            Entry::Queued => Submitted::Queued,
            Entry::Full => Submitted::Full,
        }
    }

    /// Appends as [`Log::append_with_offsets`] does, unless something has to be waited for; then nothing is done, and
    /// that is what is left to do, on a thread that may wait. So it is where the log's turn is taken, a roll is due, the
    /// directory stalls, too many threads write already, or `flush.messages` may ask for a flush.
    pub fn try_append_with_offsets(
        &self,
        records: &[u8],
        context: &AppendContext,
    ) -> Option<Result<AppendInfo, AppendError>> {
        if self.config_ref().flush_messages != i64::MAX {
            return None;
        }
        // Goes last, as in `submit`.
        let _inside = self.home().dir.pace.enter()?;
        let turn = self.enter_if_idle()?;
        let planned = self.append_now(&mut self.writer(), &mut Records::Keep(records), context);
        turn.end();
        match planned {
            Ok(Plan::Roll) => None,
            Ok(Plan::Write(info, ..) | Plan::Answer(info)) => Some(Ok(info)),
            Err(error) => Some(Err(error)),
        }
    }

    fn submit_first(
        &self,
        turn: Turn<'_>,
        records: &mut [u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Submitted {
        let (planned, flush_due) = {
            let mut writer = self.writer();
            let planned = self.append_now(&mut writer, &mut Records::Assign(records), context);
            (planned, self.flush_by_messages_due(&writer))
        };
        match planned {
            Ok(Plan::Roll) if turn.may_roll() => {
                let appended = self.append_in(&turn, &mut Records::Assign(records), context);
                turn.end();
                Submitted::Done(self.flush_appended(appended, context))
            }
            Ok(Plan::Roll) => {
                let queued = self.enqueue(records, context, waiter, token);
                turn.end();
                if queued { Submitted::Queued } else { Submitted::Full }
            }
            Ok(Plan::Write(info, ..)) => {
                turn.end();
                if flush_due {
                    self.flush_then_tell(info, context.now_ms, waiter, token)
                } else {
                    Submitted::Done(Ok(info))
                }
            }
            Ok(Plan::Answer(info)) => {
                turn.end();
                Submitted::Done(Ok(info))
            }
            Err(error) => {
                turn.end();
                Submitted::Done(Err(error))
            }
        }
    }

    /// Leaves an append to the directory's writer thread.
    fn submit_to_writer(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Submitted {
        if !self.home().dir.pace.has_room(records.len())
            || !self.enqueue(records, context, waiter, token)
        {
            return Submitted::Full;
        }
        self.schedule();
        Submitted::Queued
    }

    /// Writes what was taken off the queue, several appends with one system call. What would need a
    /// roll that has just failed is answered with that failure.
    pub(crate) fn write_taken(&self, work: &mut Work, roll_failed: Option<&StorageError>) -> Step {
        let pace = &self.home().dir.pace;
        while work.next < work.taken.appends.len() {
            if pace.must_leave() {
                return Step::Leave;
            }
            let (before, answered) = (work.next, work.done.len());
            let group =
                AssertUnwindSafe(|| self.write_group(&mut self.writer(), work, roll_failed));
            let needs_roll = std::panic::catch_unwind(group).unwrap_or_else(|_| {
                self.give_up(work, before, answered);
                false
            });
            pace.no_longer_waiting(
                work.taken.appends[before..work.next].iter().map(|a| a.len).sum(),
            );
            if needs_roll {
                return Step::Roll { now_ms: work.taken.appends[work.next].context.now_ms };
            }
        }
        Step::Done
    }

    /// A group of appends met a bug: none of them is left without an answer, which would stop the
    /// partition for good, and those behind them are written. How far the group came is not known.
    fn give_up(&self, work: &mut Work, before: usize, answered: usize) {
        self.home().dir.metrics.panics.add(1);
        tracing::error!(topic = %self.topic, partition = self.partition, "an append panicked");
        // At least the first, or it would be tried again for ever.
        work.next = work.next.max(before + 1).min(work.taken.appends.len());
        work.accepted.clear();
        work.done.truncate(answered);
        work.done.extend(work.taken.appends[before..work.next].iter().map(|append| {
            let (topic, partition) = (self.topic.clone(), self.partition);
            let result = Err(AppendError::Panicked { topic, partition });
            Done { waiter: append.waiter.clone(), token: append.token, result }
        }));
    }

    /// Plans and writes some of the taken appends; true when a roll has to come first. What would
    /// need a roll that has just failed is answered with that failure.
    fn write_group(
        &self,
        writer: &mut Writer,
        work: &mut Work,
        roll_failed: Option<&StorageError>,
    ) -> bool {
        const SLICES: usize = 32;
        let mut slices = [(0usize, 0usize); SLICES];
        let mut used = 0;
        let mut roll = false;
        let start = writer.end_position;
        let mut at = (writer.end_offset, writer.end_position);
        let answered = work.done.len();
        let mut active = None;
        while let Some(append) = work.taken.appends.get(work.next) {
            let (begin, end) = (append.start, append.start + append.len);
            let touches = used > 0 && slices[used - 1].1 == begin;
            if used == SLICES && !touches {
                break;
            }
            let mut records = Records::Assign(&mut work.taken.bytes[begin..end]);
            let result = match self.plan(writer, at, &mut records, &append.context) {
                Ok(Plan::Roll) => match roll_failed {
                    Some(failure) => Some(Err(failure.clone().into())),
                    None => {
                        roll = true;
                        break;
                    }
                },
                Ok(Plan::Write(info, len, file)) => {
                    active.get_or_insert(file);
                    at = (info.last_offset + 1, at.1 + len as u32);
                    if touches {
                        slices[used - 1].1 = end;
                    } else {
                        slices[used] = (begin, end);
                        used += 1;
                    }
                    work.accepted.push((work.next, info));
                    None
                }
                Ok(Plan::Answer(info)) => Some(Ok(info)),
                Err(error) => Some(Err(error)),
            };
            if let Some(result) = result {
                let (waiter, token) = (append.waiter.clone(), append.token);
                work.done.push(Done { waiter, token, result });
            }
            work.next += 1;
        }
        if let Some(file) = active {
            let mut bufs: [IoSlice<'_>; SLICES] = std::array::from_fn(|_| IoSlice::new(&[]));
            for (buf, &(begin, end)) in bufs.iter_mut().zip(&slices[..used]) {
                *buf = IoSlice::new(&work.taken.bytes[begin..end]);
            }
            let mark = self.home().dir.pace.mark();
            let written = file.write_vectored_at(&bufs[..used], u64::from(start));
            let mut failure = match written {
                Ok(()) => None,
                Err(error) => {
                    let path = self.active_path(writer);
                    Some(AppendError::from(self.home().dir.fail("append to", &path, &error)))
                }
            };
            let metrics = &self.home().dir.metrics;
            metrics.log_writes.add(1);
            metrics.coalesced_appends.add(work.accepted.len() as u64);
            for &(which, info) in &work.accepted {
                let append = &work.taken.appends[which];
                if failure.is_none() {
                    let bytes = &work.taken.bytes[append.start..append.start + append.len];
                    failure = self.publish(writer, bytes).err();
                }
                let result = failure.clone().map_or(Ok(info), Err);
                let (waiter, token) = (append.waiter.clone(), append.token);
                work.done.push(Done { waiter, token, result });
            }
            drop(mark);
            if let Some(failure) = failure {
                // A duplicate of what was not written is not there either.
                for done in work.done[answered..].iter_mut().filter(|done| done.result.is_ok()) {
                    done.result = Err(failure.clone());
                }
            }
        }
        work.accepted.clear();
        work.accepted.shrink_to(KEPT_APPENDS);
        roll
    }

    /// Tells the waiters, after a flush where `flush.messages` asks for one.
    pub(crate) fn hand_out(&self, done: &mut Vec<Done>) {
        if done.is_empty() {
            return;
        }
        if self.unflushed_messages_due() {
            let now_ms = self.flushed.last_flush_ms();
            if !self.tell_when_flushed(done, now_ms) {
                let flushed = self.flush(now_ms);
                self.tell(done, flushed);
            }
        } else {
            self.tell(done, Ok(()));
        }
        done.shrink_to(KEPT_APPENDS);
    }

    fn flush_then_tell(
        &self,
        info: AppendInfo,
        now_ms: i64,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Submitted {
        let mut done = vec![Done { waiter: waiter.clone(), token, result: Ok(info) }];
        if self.tell_when_flushed(&mut done, now_ms) {
            return Submitted::Queued;
        }
        Submitted::Done(self.flush(now_ms).map(|()| info).map_err(AppendError::from))
    }

    /// Has the executor flush the log and tell these; false where there is none. A flush covers all that
    /// was appended before it began, so whatever comes while one waits goes with it.
    fn tell_when_flushed(&self, done: &mut Vec<Done>, now_ms: i64) -> bool {
        if self.home().dir.executor.is_none() {
            return false;
        }
        let has_job = self.unflushed.add(done, now_ms);
        if !has_job {
            self.ask_for_flush();
        }
        true
    }

    fn ask_for_flush(&self) {
        self.run_on_executor(Log::flush_and_tell);
    }

    /// The job of [`Self::tell_when_flushed`]. What came meanwhile gets another one, behind the jobs of
    /// other logs.
    fn flush_and_tell(&self) {
        let (mut done, now_ms) = self.unflushed.take();
        let flush = AssertUnwindSafe(|| self.flush(now_ms));
        let flushed = std::panic::catch_unwind(flush).unwrap_or_else(|_| {
            self.home().dir.metrics.panics.add(1);
            tracing::error!(topic = %self.topic, partition = self.partition, "a flush panicked");
            Err(StorageError::retriable(self.home().dir.path(), "a flush panicked".into()))
        });
        self.tell(&mut done, flushed);
        let is_more = self.unflushed.end_job();
        if is_more {
            self.ask_for_flush();
        }
    }

    fn unflushed_messages_due(&self) -> bool {
        let unflushed = self.log_end_offset() - self.flushed.recovery_point();
        unflushed > 0 && unflushed >= self.config_ref().flush_messages
    }

    /// A waiter that panics keeps nobody else from hearing their result.
    fn tell(&self, done: &mut Vec<Done>, flushed: Result<(), StorageError>) {
        for done in done.drain(..) {
            let result = match (&flushed, done.result) {
                (Err(error), Ok(_)) => Err(AppendError::Storage(error.clone())),
                (_, result) => result,
            };
            let told = AssertUnwindSafe(|| done.waiter.done(done.token, result));
            if std::panic::catch_unwind(told).is_err() {
                self.home().dir.metrics.panics.add(1);
                tracing::error!(topic = %self.topic, partition = self.partition,
                    "whoever heard of an append panicked");
            }
        }
    }
}
