//! Appends that do not wait: written here and now where nobody has the log's turn, else queued and
//! written by whoever has it, several appends with one system call.
//!
//! While the directory stalls only its writer thread writes what is queued ([`crate::stalls::pace`]), one
//! list per turn of a log, so that one that never runs dry keeps no other one waiting.

use std::io::IoSlice;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::partition::append::{AppendStep, Plan, Records};
use crate::partition::error::{AppendError, StorageError};
use crate::partition::log::{Log, Writer};
use crate::partition::pending::KEPT_APPENDS;
use crate::partition::queue::{Entry, Progress, Work};
use crate::partition::request::{AppendContext, AppendInfo, AppendWaiter, Done, Submitted};
use crate::partition::turn::Turn;

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
        let step = self.append_now(&mut self.writer(), &mut Records::Keep(records), context);
        turn.end();
        match step {
            Ok(AppendStep::RollDue) => None,
            Ok(AppendStep::Written(info) | AppendStep::Nothing(info)) => Some(Ok(info)),
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
        let (step, flush_due) = {
            let mut writer = self.writer();
            let step = self.append_now(&mut writer, &mut Records::Assign(records), context);
            (step, self.is_flush_due(writer.end_offset))
        };
        match step {
            Ok(AppendStep::RollDue) if turn.may_roll() => {
                let appended = self.append_in(&turn, &mut Records::Assign(records), context);
                turn.end();
                Submitted::Done(self.flush_appended(appended, context))
            }
            Ok(AppendStep::RollDue) => {
                let queued = self.enqueue(records, context, waiter, token);
                turn.end();
                if queued { Submitted::Queued } else { Submitted::Full }
            }
            Ok(AppendStep::Written(info)) => {
                turn.end();
                if flush_due {
                    self.flush_then_tell(info, context.now_ms, waiter, token)
                } else {
                    Submitted::Done(Ok(info))
                }
            }
            Ok(AppendStep::Nothing(info)) => {
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
    pub(crate) fn write_taken(
        &self,
        work: &mut Work,
        roll_failed: Option<&StorageError>,
    ) -> Progress {
        let pace = &self.home().dir.pace;
        while work.next < work.taken.appends.len() {
            if pace.must_leave() {
                return Progress::Left;
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
                return Progress::RollDue { now_ms: work.taken.appends[work.next].context.now_ms };
            }
        }
        Progress::Done
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
}
