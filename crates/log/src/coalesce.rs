//! Appends that do not wait: what finds the partition busy is copied onto its pending list and
//! written by whoever has the lock, several appends with one system call.
//!
//! While the directory stalls only its writer thread writes the lists ([`crate::pace`]), one list
//! per turn of a log, so that one that never runs dry keeps no other one waiting.
//!
//! Nothing is forgotten: who lets go of the lock, or of the right to change the segments, looks at
//! the list afterwards ([`Log::settle`]); who puts something on the list looks at the lock
//! afterwards. One of the two finds it. `pending_count` counts what has no answer yet.

use std::io::IoSlice;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::append::{AppendContext, AppendInfo, Plan, Records};
use crate::error::{AppendError, StorageError};
use crate::log::{Log, Writer};
use crate::pending::{KEPT_APPENDS, Pending};

/// Hears the result of an append that had to wait. Called without any of the log's locks, on the
/// thread that wrote the append.
pub trait AppendWaiter: Send + Sync {
    /// `token` is what was passed to [`Log::submit`].
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>);
}

/// What [`Log::submit`] did.
#[derive(Debug)]
pub enum Submitted {
    /// The append is through, one way or the other; the waiter will not be called.
    Done(Result<AppendInfo, AppendError>),
    /// The bytes were taken; the waiter will be called.
    Queued,
    /// Too much is waiting; nothing was taken. Stop reading from the producers, try again later.
    Full,
}

/// A result to be handed out.
pub(crate) struct Done {
    waiter: Arc<dyn AppendWaiter>,
    token: u64,
    result: Result<AppendInfo, AppendError>,
}

impl std::fmt::Debug for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Done").field("token", &self.token).field("result", &self.result).finish()
    }
}

impl Log {
    /// Appends as [`Log::append_as_leader`] does, without waiting. If the partition is busy the
    /// bytes are copied and `waiter` hears the result later. Rolls and flushes go to the manager's
    /// executor; without one they are done here and now.
    pub fn submit(
        &self,
        records: &mut [u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Submitted {
        // Goes last: what the lock's release brings about is written under it too.
        let Some(_entry) = self.home.dir.pace.enter() else {
            return self.submit_to_writer(records, context, waiter, token);
        };
        if let Some(mut writer) = self.try_lock_writer()
            && !writer.busy
            && !writer.roll_queued
        {
            if self.pending_count.load(Ordering::Relaxed) > 0 {
                self.drain(&mut writer, usize::MAX);
            }
            let is_first = writer.taken_next >= writer.taken.appends.len();
            if !writer.roll_queued && is_first {
                match self.append_now(&mut writer, &mut Records::Assign(records), context) {
                    Err(error) => return Submitted::Done(Err(error)),
                    Ok(Plan::Write(info, ..)) => {
                        let due = self.flush_by_messages_due(&writer);
                        drop(writer);
                        return if due {
                            self.flush_then_tell(info, context.now_ms, waiter, token)
                        } else {
                            Submitted::Done(Ok(info))
                        };
                    }
                    Ok(Plan::Answer(info)) => return Submitted::Done(Ok(info)),
                    Ok(Plan::Roll) => {
                        if self.home.dir.executor.is_none() {
                            drop(writer);
                            return Submitted::Done(self.append_as_leader(records, context));
                        }
                        writer.roll_queued = true;
                        let queued = self.enqueue(records, context, waiter, token);
                        drop(writer);
                        self.start_roll(context.now_ms);
                        return if queued { Submitted::Queued } else { Submitted::Full };
                    }
                }
            }
            let roll = writer.roll_queued;
            let queued = self.enqueue(records, context, waiter, token);
            drop(writer);
            if roll {
                self.start_roll(context.now_ms);
            }
            return if queued { Submitted::Queued } else { Submitted::Full };
        }
        if !self.enqueue(records, context, waiter, token) {
            return Submitted::Full;
        }
        self.settle();
        Submitted::Queued
    }

    /// Leaves an append to the directory's writer thread.
    fn submit_to_writer(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Submitted {
        if !self.home.dir.pace.has_room(records.len())
            || !self.enqueue(records, context, waiter, token)
        {
            return Submitted::Full;
        }
        self.schedule();
        Submitted::Queued
    }

    /// Has the directory's writer thread look at the pending appends.
    fn schedule(&self) {
        // Without it the log is being dropped, and nobody waits for it.
        if let Some(log) = self.me.upgrade() {
            self.home.dir.pace.schedule(log);
        }
    }

    /// What the writer thread does for a log: writes what waits by now, as much as a list holds.
    /// What comes meanwhile gets another turn, behind the other logs.
    pub(crate) fn take_turn(&self) {
        // First, so that what comes from here on is scheduled again.
        self.scheduled.store(false, Ordering::SeqCst);
        self.settle();
    }

    fn enqueue(
        &self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> bool {
        let mut pending = self.pending.lock();
        let taken = pending.push(records, context, waiter, token);
        if taken {
            self.pending_count.fetch_add(1, Ordering::SeqCst);
            self.home.dir.pace.waiting(records.len());
        }
        taken
    }

    /// Has the roll done that `roll_queued` announces: by the executor, or by whoever may change
    /// the segments here.
    pub(crate) fn start_roll(&self, now_ms: i64) {
        match (&self.home.dir.executor, self.me.upgrade()) {
            (Some(executor), Some(log)) => {
                executor.run(Box::new(move || {
                    let change = log.lock_change();
                    if log.lock_plain().roll_queued {
                        let rolled = log.roll_held(&change, 0, now_ms);
                        log.note_roll(rolled.err());
                    }
                }));
            }
            _ => {
                self.roll_wanted_ms.store(now_ms.max(0), Ordering::SeqCst);
                self.settle();
            }
        }
    }

    /// Tells the pending appends why the roll that they wait for came to nothing. That their
    /// directory is offline they hear by themselves.
    fn note_roll(&self, failure: Option<StorageError>) {
        if let Some(failure) = failure.filter(|failure| failure.is_retriable) {
            self.lock_plain().roll_failed = Some(failure);
        }
    }

    /// What is to be done by whoever has let go of a lock: rolls that were asked for, appends that
    /// wait. Called without any lock.
    pub(crate) fn settle(&self) {
        let mut had_turn = false;
        loop {
            // Pairs with the locks' release on one side and with the list's growth on the other.
            fence(Ordering::SeqCst);
            if self.roll_wanted_ms.load(Ordering::SeqCst) >= 0 {
                // Who has the right to change the segments comes here when done.
                let Some(change) = self.try_lock_change_plain() else { return };
                let now_ms = self.roll_wanted_ms.swap(-1, Ordering::SeqCst);
                if now_ms >= 0 && self.lock_plain().roll_queued {
                    let rolled = self.roll_held_plain(&change, 0, now_ms);
                    self.note_roll(rolled.err());
                }
                drop(change);
                continue;
            }
            if self.pending_count.load(Ordering::SeqCst) == 0 {
                return;
            }
            if self.home.dir.pace.must_leave() || had_turn {
                self.schedule();
                return;
            }
            let Some(mut writer) = self.try_lock_plain() else { return };
            // Whoever is busy, or rolls, comes here afterwards.
            if writer.busy || writer.roll_queued {
                return;
            }
            had_turn = crate::pace::is_writer();
            self.drain(&mut writer, if had_turn { 1 } else { usize::MAX });
            let roll = writer.roll_queued;
            let now_ms = writer
                .taken
                .appends
                .get(writer.taken_next)
                .map_or(0, |append| append.context.now_ms);
            let done = std::mem::take(&mut writer.done);
            drop(writer);
            self.hand_out(done);
            if roll {
                if self.home.dir.executor.is_some() {
                    self.start_roll(now_ms);
                    return;
                }
                self.roll_wanted_ms.store(now_ms.max(0), Ordering::SeqCst);
            }
        }
    }

    /// Writes what waits on the pending list, several appends with one system call. Leaves the
    /// rest where it is when a roll is needed, and says so in `roll_queued`; and when so many lists
    /// have been taken.
    fn drain(&self, writer: &mut Writer, lists_max: usize) {
        let mut taken = std::mem::take(&mut writer.taken);
        let mut lists = 0;
        let roll_failed = writer.roll_failed.take();
        loop {
            if writer.taken_next >= taken.appends.len() {
                taken.clear();
                writer.taken_next = 0;
                let mut pending = self.pending.lock();
                if pending.appends.is_empty() || lists == lists_max {
                    break;
                }
                lists += 1;
                if writer.done.capacity() == 0 {
                    writer.done = std::mem::take(&mut pending.spare_done);
                }
                let spare = std::mem::take(&mut pending.spare_done);
                std::mem::swap(&mut *pending, &mut taken);
                pending.spare_done = spare;
            }
            if self.home.dir.pace.must_leave() {
                // The rest is the writer thread's, which is told when the lock is let go of.
                break;
            }
            let before = writer.taken_next;
            let answered = writer.done.len();
            let failed = roll_failed.as_ref();
            let group = AssertUnwindSafe(|| self.write_group(writer, &mut taken, failed));
            let roll = std::panic::catch_unwind(group).unwrap_or_else(|_| {
                self.give_up(writer, &taken, before, answered);
                false
            });
            let bytes = taken.appends[before..writer.taken_next].iter().map(|a| a.len).sum();
            self.home.dir.pace.no_longer_waiting(bytes);
            self.pending_count.fetch_sub(writer.taken_next - before, Ordering::SeqCst);
            if roll {
                writer.roll_queued = true;
                break;
            }
        }
        writer.taken = taken;
    }

    /// A group of appends met a bug: none of them is left without an answer, which would stop the
    /// partition for good, and those behind them are written. How far the group came is not known.
    fn give_up(&self, writer: &mut Writer, taken: &Pending, before: usize, answered: usize) {
        self.home.dir.metrics.panics.add(1);
        tracing::error!(topic = %self.topic, partition = self.partition, "an append panicked");
        // At least the first, or it would be tried again for ever.
        writer.taken_next = writer.taken_next.max(before + 1).min(taken.appends.len());
        writer.done.truncate(answered);
        writer.done.extend(taken.appends[before..writer.taken_next].iter().map(|append| {
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
        taken: &mut Pending,
        roll_failed: Option<&StorageError>,
    ) -> bool {
        const SLICES: usize = 32;
        let mut slices = [(0usize, 0usize); SLICES];
        let mut used = 0;
        let mut roll = false;
        let start = writer.end_position;
        let mut at = (writer.end_offset, writer.end_position);
        let mut accepted = std::mem::take(&mut writer.accepted);
        let mut active = None;
        while let Some(append) = taken.appends.get(writer.taken_next) {
            let (begin, end) = (append.start, append.start + append.len);
            let touches = used > 0 && slices[used - 1].1 == begin;
            if used == SLICES && !touches {
                break;
            }
            let mut records = Records::Assign(&mut taken.bytes[begin..end]);
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
                    accepted.push((writer.taken_next, info));
                    None
                }
                Ok(Plan::Answer(info)) => Some(Ok(info)),
                Err(error) => Some(Err(error)),
            };
            if let Some(result) = result {
                let (waiter, token) = (append.waiter.clone(), append.token);
                writer.done.push(Done { waiter, token, result });
            }
            writer.taken_next += 1;
        }
        if let Some(file) = active {
            let mut bufs: [IoSlice<'_>; SLICES] = std::array::from_fn(|_| IoSlice::new(&[]));
            for (buf, &(begin, end)) in bufs.iter_mut().zip(&slices[..used]) {
                *buf = IoSlice::new(&taken.bytes[begin..end]);
            }
            let mark = self.home.dir.pace.mark();
            let written = file.write_vectored_at(&bufs[..used], u64::from(start));
            let mut failure = match written {
                Ok(()) => None,
                Err(error) => {
                    let path = self.active_path(writer);
                    Some(AppendError::from(self.home.dir.fail("append to", &path, &error)))
                }
            };
            let metrics = &self.home.dir.metrics;
            metrics.log_writes.add(1);
            metrics.coalesced_appends.add(accepted.len() as u64);
            for &(which, info) in &accepted {
                let append = &taken.appends[which];
                if failure.is_none() {
                    let bytes = &taken.bytes[append.start..append.start + append.len];
                    failure = self.publish(writer, bytes).err();
                }
                let result = failure.clone().map_or(Ok(info), Err);
                let (waiter, token) = (append.waiter.clone(), append.token);
                writer.done.push(Done { waiter, token, result });
            }
            drop(mark);
        }
        accepted.clear();
        accepted.shrink_to(KEPT_APPENDS);
        writer.accepted = accepted;
        roll
    }

    /// Tells the waiters, after a flush where `flush.messages` asks for one.
    pub(crate) fn hand_out(&self, mut done: Vec<Done>) {
        if done.is_empty() {
            return;
        }
        if self.unflushed_messages_due() {
            if let (Some(executor), Some(log)) = (&self.home.dir.executor, self.me.upgrade()) {
                executor.run(Box::new(move || {
                    let flushed = log.flush(log.last_flush_ms.load(Ordering::Relaxed));
                    tell(&mut done, flushed);
                }));
                return;
            }
            let now_ms = self.last_flush_ms.load(Ordering::Relaxed);
            let flushed = self.flush_inner(self.log_end_offset(), now_ms);
            tell(&mut done, flushed);
        } else {
            tell(&mut done, Ok(()));
        }
        done.shrink_to(KEPT_APPENDS);
        self.pending.lock().spare_done = done;
    }

    fn flush_then_tell(
        &self,
        info: AppendInfo,
        now_ms: i64,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Submitted {
        if let (Some(executor), Some(log)) = (&self.home.dir.executor, self.me.upgrade()) {
            let waiter = waiter.clone();
            executor.run(Box::new(move || {
                let result = log.flush(now_ms).map(|()| info).map_err(AppendError::from);
                waiter.done(token, result);
            }));
            return Submitted::Queued;
        }
        Submitted::Done(self.flush(now_ms).map(|()| info).map_err(AppendError::from))
    }

    fn unflushed_messages_due(&self) -> bool {
        let unflushed = self.log_end_offset() - self.recovery_point.load(Ordering::Acquire);
        unflushed > 0 && unflushed >= self.config_ref().flush_messages
    }
}

fn tell(done: &mut Vec<Done>, flushed: Result<(), StorageError>) {
    for done in done.drain(..) {
        let result = match (&flushed, done.result) {
            (Err(error), Ok(_)) => Err(AppendError::Storage(error.clone())),
            (_, result) => result,
        };
        done.waiter.done(done.token, result);
    }
}
