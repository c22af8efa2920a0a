//! Appending.
//!
//! A leader's append sets base offsets and the leader epoch in place, checks the producers, and
//! writes the bytes as they are with one system call. When the partition's lock is taken, the
//! append goes onto the pending list ([`Log::submit`]) and is written by whoever has the lock.
//! In steady state an append allocates nothing.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use thalweg_records::BatchView;
use thalweg_records::batch::{frame_len, set_base_offset, set_partition_leader_epoch};

use crate::error::{AppendError, StorageError};
use crate::log::{Log, Writer};
use crate::names;
use crate::pending::Pending;
use crate::producers::{AppendOrigin, Judgement, ProducerError, Verdict};
use crate::walk::BatchHead;

/// What an append needs besides the bytes.
#[derive(Clone, Copy, Debug)]
pub struct AppendContext {
    /// The leader's epoch, stamped on the batches.
    pub leader_epoch: i32,
    /// Who appends.
    pub origin: AppendOrigin,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// The append time that validation stamped (LogAppendTime), or -1; comes back in the result.
    pub log_append_time: i64,
    /// The transaction of a transactional batch is confirmed, or none has to be. A batch that
    /// begins a transaction in this partition is refused otherwise.
    pub transaction_verified: bool,
    /// `transaction.version` of a marker's sender; 0 for data.
    pub transaction_version: i16,
}

impl AppendContext {
    /// For a producer's batches.
    pub fn client(leader_epoch: i32, now_ms: i64) -> AppendContext {
        AppendContext {
            leader_epoch,
            origin: AppendOrigin::Client,
            now_ms,
            log_append_time: -1,
            transaction_verified: true,
            transaction_version: 0,
        }
    }

    /// For a coordinator's own records and its markers.
    pub fn coordinator(leader_epoch: i32, now_ms: i64) -> AppendContext {
        AppendContext { origin: AppendOrigin::Coordinator, ..Self::client(leader_epoch, now_ms) }
    }

    fn judgement(&self) -> Judgement {
        Judgement {
            origin: self.origin,
            transaction_verified: self.transaction_verified,
            transaction_version: self.transaction_version,
        }
    }
}

/// What became of an append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppendInfo {
    /// Offset of the first record; of a duplicate: what it was the first time.
    pub first_offset: i64,
    /// Offset of the last record.
    pub last_offset: i64,
    /// The append time stamped on the records, or -1; of a duplicate the batch's timestamp, as
    /// Kafka answers it.
    pub log_append_time: i64,
    /// Where the log begins.
    pub log_start_offset: i64,
    /// The epoch stamped on the batches.
    pub leader_epoch: i32,
    /// Nothing was written, because it was before.
    pub duplicate: bool,
}

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

/// The batches of one append: to be given offsets, or to keep theirs.
enum Records<'a> {
    Assign(&'a mut [u8]),
    Keep(&'a [u8]),
}

impl Records<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Records::Assign(bytes) => bytes,
            Records::Keep(bytes) => bytes,
        }
    }
}

/// What the headers of an append say.
struct Shape {
    len: usize,
    first_offset: i64,
    last_offset: i64,
    max_timestamp: i64,
}

enum Plan {
    /// Ready to be written.
    Write(AppendInfo, usize),
    /// Nothing to write.
    Answer(AppendInfo),
    /// The active segment must be closed first.
    Roll,
}

impl Log {
    /// Appends batches as leader: `records` get their offsets and the leader epoch, in place, and
    /// are written as they are then. They must have been validated; here only their framing, their
    /// size and their producers are checked.
    ///
    /// May wait: for the lock, for a roll, and where `flush.messages` asks for it for the disk. Use
    /// [`Log::submit`] on threads that must not.
    pub fn append_as_leader(
        &self,
        records: &mut [u8],
        context: &AppendContext,
    ) -> Result<AppendInfo, AppendError> {
        self.append_waiting(&mut Records::Assign(records), context)
    }

    /// Appends batches that have their offsets already, as a follower does and the metadata log.
    /// Their offsets rise and begin at or after the log's end. Batches from a leader epoch above
    /// the context's are left out with all after them when the origin is replication.
    pub fn append_with_offsets(
        &self,
        records: &[u8],
        context: &AppendContext,
    ) -> Result<AppendInfo, AppendError> {
        self.append_waiting(&mut Records::Keep(records), context)
    }

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
        if let Some(mut writer) = self.try_lock_writer()
            && !writer.busy
            && !writer.roll_queued
        {
            if self.pending_count.load(Ordering::Relaxed) > 0 {
                self.drain(&mut writer);
            }
            if !writer.roll_queued {
                match self.append_now(&mut writer, &mut Records::Assign(records), context) {
                    Err(error) => return Submitted::Done(Err(error)),
                    Ok(Plan::Write(info, _)) => {
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
        self.drain_if_free();
        Submitted::Queued
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
        }
        taken
    }

    fn append_waiting(
        &self,
        records: &mut Records<'_>,
        context: &AppendContext,
    ) -> Result<AppendInfo, AppendError> {
        loop {
            let mut writer = self.lock_idle_writer();
            let info = match self.append_now(&mut writer, records, context)? {
                Plan::Write(info, _) => {
                    let due = self.flush_by_messages_due(&writer);
                    drop(writer);
                    if due {
                        self.flush(context.now_ms)?;
                    }
                    info
                }
                Plan::Answer(info) => info,
                Plan::Roll => {
                    drop(writer);
                    self.roll_for(records, context)?;
                    continue;
                }
            };
            return Ok(info);
        }
    }

    /// Makes room for `records`, unless somebody else has done it meanwhile.
    fn roll_for(
        &self,
        records: &mut Records<'_>,
        context: &AppendContext,
    ) -> Result<(), AppendError> {
        let change = self.change.lock();
        let base = {
            let mut writer = self.lock_writer();
            let at = (writer.end_offset, writer.end_position);
            let shape = self.shape(records, at.0, context)?;
            match self.must_roll(&mut writer, at.1, &shape, context.now_ms)? {
                true => shape.first_offset,
                false => return Ok(()),
            }
        };
        self.roll_held(&change, base, context.now_ms)?;
        Ok(())
    }

    /// Runs a roll that `roll_queued` announces.
    pub(crate) fn start_roll(&self, now_ms: i64) {
        match (&self.home.dir.executor, self.me.upgrade()) {
            (Some(executor), Some(log)) => {
                executor.run(Box::new(move || log.run_queued_roll(now_ms)));
            }
            _ => self.run_queued_roll(now_ms),
        }
    }

    fn run_queued_roll(&self, now_ms: i64) {
        {
            let change = self.change.lock();
            // A failure takes the directory offline, which the pending appends will hear.
            let _ = self.roll_held(&change, 0, now_ms);
        }
        // The guard hands on to the pending appends when it goes.
        self.lock_writer().roll_queued = false;
    }

    /// One append under the lock.
    fn append_now(
        &self,
        writer: &mut Writer,
        records: &mut Records<'_>,
        context: &AppendContext,
    ) -> Result<Plan, AppendError> {
        let at = (writer.end_offset, writer.end_position);
        let plan = self.plan(writer, at, records, context)?;
        if let Plan::Write(_, len) = plan {
            let bytes = &records.bytes()[..len];
            let dir = &self.home.dir;
            let result =
                writer.active.open().and_then(|file| file.write_all_at(bytes, u64::from(at.1)));
            if let Err(error) = result {
                return Err(dir.fail("append to", &self.active_path(writer), &error).into());
            }
            dir.metrics.log_writes.add(1);
            self.publish(writer, bytes)?;
        }
        Ok(plan)
    }

    /// Checks an append at a given end of the log and makes it ready: offsets set, producers
    /// updated. After this it is written, or the log directory is lost.
    fn plan(
        &self,
        writer: &mut Writer,
        at: (i64, u32),
        records: &mut Records<'_>,
        context: &AppendContext,
    ) -> Result<Plan, AppendError> {
        self.home.dir.check()?;
        if self.is_closed() {
            return Err(self.closed_error());
        }
        let shape = self.shape(records, at.0, context)?;
        let log_start_offset = self.log_start_offset();
        let mut info = AppendInfo {
            first_offset: shape.first_offset,
            last_offset: shape.last_offset,
            log_append_time: context.log_append_time,
            log_start_offset,
            leader_epoch: context.leader_epoch,
            duplicate: false,
        };
        if shape.len == 0 {
            info.first_offset = at.0;
            info.last_offset = at.0 - 1;
            return Ok(Plan::Answer(info));
        }
        if self.must_roll(writer, at.1, &shape, context.now_ms)? {
            return Ok(Plan::Roll);
        }
        if let Records::Assign(bytes) = records {
            let mut next = at.0;
            let mut rest = &mut bytes[..shape.len];
            while let Ok(len) = frame_len(rest) {
                let (batch, after) = rest.split_at_mut(len);
                set_base_offset(batch, next);
                set_partition_leader_epoch(batch, context.leader_epoch);
                if let Ok(view) = BatchView::parse(batch) {
                    next = view.next_offset();
                }
                rest = after;
            }
        }
        let judgement = context.judgement();
        let mut updates = std::mem::take(&mut writer.updates);
        updates.clear();
        let mut duplicate = None;
        let mut rest = &records.bytes()[..shape.len];
        let mut outcome = Ok(());
        while let Ok(batch) = BatchView::parse(rest) {
            match writer.producers.analyze(&batch, &judgement, &mut updates) {
                Ok(Verdict::Append) => {}
                Ok(Verdict::Duplicate(known)) => {
                    duplicate = Some(known);
                    break;
                }
                Err(error) => {
                    outcome = Err(self.refusal(error));
                    break;
                }
            }
            rest = &rest[batch.total_len()..];
        }
        if outcome.is_ok() && duplicate.is_none() {
            writer.producers.apply(&updates);
            for completed in &updates.completed {
                if completed.aborted {
                    let txn = crate::txn_index::AbortedTxn {
                        producer_id: completed.producer_id,
                        first_offset: completed.first_offset,
                        last_offset: completed.last_offset,
                        last_stable_offset: writer.producers.last_stable_offset_after(completed),
                    };
                    if let Err(error) = writer.active.append_aborted(&txn) {
                        let path = writer.active.file_path(names::TXN_INDEX);
                        outcome = Err(self.home.dir.fail("append to", &path, &error).into());
                    }
                }
                writer.producers.complete(completed);
            }
        }
        writer.updates = updates;
        outcome?;
        Ok(match duplicate {
            None => Plan::Write(info, shape.len),
            Some(known) => {
                self.home.dir.metrics.duplicates.add(1);
                Plan::Answer(AppendInfo {
                    first_offset: known.first_offset(),
                    last_offset: known.last_offset,
                    log_append_time: known.timestamp,
                    duplicate: true,
                    ..info
                })
            }
        })
    }

    /// Checks the framing; says which offsets the batches will have and how many bytes count.
    fn shape(
        &self,
        records: &Records<'_>,
        end_offset: i64,
        context: &AppendContext,
    ) -> Result<Shape, AppendError> {
        let corrupt = |reason: String| AppendError::Corrupt {
            topic: self.topic.clone(),
            partition: self.partition,
            reason,
        };
        let config = self.config_ref();
        let mut shape = Shape {
            len: 0,
            first_offset: end_offset,
            last_offset: end_offset - 1,
            max_timestamp: -1,
        };
        let bytes = records.bytes();
        let assign = matches!(records, Records::Assign(_));
        while shape.len < bytes.len() {
            let batch = BatchView::parse(&bytes[shape.len..])
                .map_err(|error| corrupt(error.to_string()))?;
            let delta = i64::from(batch.last_offset_delta());
            if delta < 0 {
                return Err(corrupt(format!("last offset delta {delta} is negative")));
            }
            if assign {
                let max = config.max_message_bytes as usize;
                if batch.total_len() > max {
                    return Err(AppendError::RecordTooLarge {
                        topic: self.topic.clone(),
                        partition: self.partition,
                        size: batch.total_len(),
                        max,
                    });
                }
                shape.last_offset = shape.last_offset.saturating_add(1 + delta);
            } else {
                if context.origin == AppendOrigin::Replication
                    && batch.partition_leader_epoch() > context.leader_epoch
                {
                    tracing::info!(topic = %self.topic, partition = self.partition,
                        epoch = batch.partition_leader_epoch(), known = context.leader_epoch,
                        "batches of a newer leader epoch are left out");
                    break;
                }
                let base = batch.base_offset();
                if shape.len == 0 {
                    if base < end_offset {
                        return Err(AppendError::UnexpectedOffset {
                            topic: self.topic.clone(),
                            partition: self.partition,
                            first: base,
                            log_end_offset: end_offset,
                        });
                    }
                    shape.first_offset = base;
                } else if base <= shape.last_offset {
                    return Err(AppendError::OffsetsOutOfOrder {
                        topic: self.topic.clone(),
                        partition: self.partition,
                        offset: base,
                        previous: shape.last_offset,
                    });
                }
                shape.last_offset = base.saturating_add(delta);
            }
            shape.max_timestamp = shape.max_timestamp.max(batch.max_timestamp());
            shape.len += batch.total_len();
        }
        if shape.last_offset == i64::MAX
            || shape.last_offset - shape.first_offset > i64::from(i32::MAX)
        {
            return Err(corrupt(format!(
                "offsets {}..={} do not fit into one segment",
                shape.first_offset, shape.last_offset
            )));
        }
        let max = config.segment_limit() as usize;
        if shape.len > max {
            return Err(AppendError::RecordListTooLarge {
                topic: self.topic.clone(),
                partition: self.partition,
                size: shape.len,
                max,
            });
        }
        Ok(shape)
    }

    /// Kafka's `shouldRoll`: size, age, full index, offsets too far from the base. A segment
    /// without batches is only left for the last reason.
    fn must_roll(
        &self,
        writer: &mut Writer,
        position: u32,
        shape: &Shape,
        now_ms: i64,
    ) -> Result<bool, StorageError> {
        let active = &writer.active;
        if shape.last_offset - active.base_offset > i64::from(i32::MAX) {
            return Ok(true);
        }
        if position == 0 || shape.len == 0 {
            return Ok(false);
        }
        let config = self.config_ref();
        if u64::from(position) + shape.len as u64 > u64::from(config.segment_limit()) {
            return Ok(true);
        }
        let age = active.age_for_roll(now_ms, shape.max_timestamp);
        if age > config.max_segment_ms().saturating_sub(active.jitter_ms()) {
            return Ok(true);
        }
        Ok(active.index.lock().is_full())
    }

    /// Makes written batches visible.
    fn publish(&self, writer: &mut Writer, written: &[u8]) -> Result<(), AppendError> {
        let mut rest = written;
        while let Ok(batch) = BatchView::parse(rest) {
            let head = BatchHead {
                position: writer.end_position,
                len: batch.total_len() as u32,
                base_offset: batch.base_offset(),
                last_offset: batch.last_offset(),
                max_timestamp: batch.max_timestamp(),
                leader_epoch: batch.partition_leader_epoch(),
            };
            if head.position == 0 {
                writer.active.note_first_timestamp(head.max_timestamp);
            }
            self.note_epoch(writer, head.leader_epoch, head.base_offset);
            if let Err(error) = writer.active.on_append(&head) {
                let path = writer.active.file_path(names::INDEX);
                return Err(self.home.dir.fail("append to", &path, &error).into());
            }
            writer.end_position = head.end();
            writer.end_offset = head.last_offset + 1;
            rest = &rest[batch.total_len()..];
        }
        writer.producers.map_end_offset = writer.end_offset;
        if writer.producers.has_transactions() {
            self.publish_transactions(writer);
        }
        self.publish_end(writer);
        let metrics = &self.home.dir.metrics;
        metrics.appends.add(1);
        metrics.append_bytes.add(written.len() as u64);
        Ok(())
    }

    /// Writes what waits on the pending list, several appends with one system call. Leaves the
    /// rest where it is when a roll is needed, and says so in `roll_queued`.
    pub(crate) fn drain(&self, writer: &mut Writer) {
        let mut taken = std::mem::take(&mut writer.taken);
        loop {
            if writer.taken_next >= taken.appends.len() {
                taken.clear();
                writer.taken_next = 0;
                let mut pending = self.pending.lock();
                if pending.appends.is_empty() {
                    break;
                }
                if writer.done.capacity() == 0 {
                    writer.done = std::mem::take(&mut pending.spare_done);
                }
                let spare = std::mem::take(&mut pending.spare_done);
                std::mem::swap(&mut *pending, &mut taken);
                pending.spare_done = spare;
                self.pending_count.fetch_sub(taken.appends.len(), Ordering::SeqCst);
            }
            if self.write_group(writer, &mut taken) {
                writer.roll_queued = true;
                break;
            }
        }
        writer.taken = taken;
    }

    /// Plans and writes some of the taken appends; true when a roll has to come first.
    fn write_group(&self, writer: &mut Writer, taken: &mut Pending) -> bool {
        const SLICES: usize = 32;
        let mut slices = [(0usize, 0usize); SLICES];
        let mut used = 0;
        let mut roll = false;
        let start = writer.end_position;
        let mut at = (writer.end_offset, writer.end_position);
        let mut accepted = std::mem::take(&mut writer.accepted);
        accepted.clear();
        while let Some(append) = taken.appends.get(writer.taken_next) {
            let (begin, end) = (append.start, append.start + append.len);
            let touches = used > 0 && slices[used - 1].1 == begin;
            if used == SLICES && !touches {
                break;
            }
            let mut records = Records::Assign(&mut taken.bytes[begin..end]);
            let result = match self.plan(writer, at, &mut records, &append.context) {
                Ok(Plan::Roll) => {
                    roll = true;
                    break;
                }
                Ok(Plan::Write(info, len)) => {
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
        if used > 0 {
            let mut bufs: [IoSlice<'_>; SLICES] = std::array::from_fn(|_| IoSlice::new(&[]));
            for (buf, &(begin, end)) in bufs.iter_mut().zip(&slices[..used]) {
                *buf = IoSlice::new(&taken.bytes[begin..end]);
            }
            let written = writer
                .active
                .open()
                .and_then(|file| file.write_vectored_at(&bufs[..used], u64::from(start)));
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
        }
        writer.accepted = accepted;
        roll
    }

    /// Writes pending appends if nobody has the lock; who has it will do it on leaving.
    pub(crate) fn drain_if_free(&self) {
        loop {
            // Pairs with the same fence of a thread that has queued an append and finds the lock
            // taken: one of the two sees what the other did.
            fence(Ordering::SeqCst);
            if self.pending_count.load(Ordering::SeqCst) == 0 {
                return;
            }
            let Some(mut writer) = self.try_lock_plain() else { return };
            // Whoever is busy, or rolls, comes back here afterwards.
            if writer.busy || writer.roll_queued {
                return;
            }
            self.drain(&mut writer);
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
                self.start_roll(now_ms);
                return;
            }
        }
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
            let flushed = self.flush(self.last_flush_ms.load(Ordering::Relaxed));
            tell(&mut done, flushed);
        } else {
            tell(&mut done, Ok(()));
        }
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

    fn flush_by_messages_due(&self, writer: &Writer) -> bool {
        let unflushed = writer.end_offset - self.recovery_point.load(Ordering::Acquire);
        unflushed >= self.config_ref().flush_messages
    }

    fn unflushed_messages_due(&self) -> bool {
        let unflushed = self.log_end_offset() - self.recovery_point.load(Ordering::Acquire);
        unflushed > 0 && unflushed >= self.config_ref().flush_messages
    }

    fn active_path(&self, writer: &Writer) -> std::path::PathBuf {
        writer.active.file_path(names::LOG)
    }

    fn refusal(&self, error: ProducerError) -> AppendError {
        let (topic, partition) = (self.topic.clone(), self.partition);
        match error {
            ProducerError::OutOfOrderSequence { producer_id, epoch, sequence, expected } => {
                AppendError::OutOfOrderSequence {
                    topic,
                    partition,
                    producer_id,
                    producer_epoch: epoch,
                    sequence,
                    expected,
                }
            }
            ProducerError::InvalidEpoch { producer_id, epoch, current } => {
                AppendError::InvalidProducerEpoch {
                    topic,
                    partition,
                    producer_id,
                    producer_epoch: epoch,
                    current,
                }
            }
            ProducerError::InvalidTxnState { producer_id, reason } => {
                AppendError::InvalidTxnState { topic, partition, producer_id, reason }
            }
            ProducerError::CoordinatorFenced { producer_id, coordinator_epoch, current } => {
                AppendError::CoordinatorFenced {
                    topic,
                    partition,
                    producer_id,
                    coordinator_epoch,
                    current,
                }
            }
            ProducerError::Malformed(reason) => {
                AppendError::Corrupt { topic, partition, reason: reason.to_owned() }
            }
        }
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
