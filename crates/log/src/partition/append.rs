//! Appending.
//!
//! A leader's append sets base offsets and the leader epoch in place, checks the producers, and
//! writes the bytes as they are with one system call. In steady state it allocates nothing.
//! Appends that find the log's turn taken: `queue` and `submit`.

use std::sync::Arc;

use thalweg_records::BatchView;
use thalweg_records::batch::{frame_len, set_base_offset, set_partition_leader_epoch};

use crate::format::producer_snapshot::BatchMeta;
use crate::format::txn_index::{AbortedTxn, append_entry};
use crate::format::walk::BatchHead;
use crate::fs::disk::OpenFile;
use crate::fs::names;
use crate::partition::error::{AppendError, StorageError};
use crate::partition::log::{Log, Writer};
use crate::partition::producers::{AppendOrigin, ProducerError, Updates, Verdict};
use crate::partition::refusal::refusal;
use crate::partition::request::{AppendContext, AppendInfo};
use crate::partition::turn::Turn;

/// The batches of one append: to be given offsets, or to keep theirs.
pub(crate) enum Records<'a> {
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

/// What has to be done for an append.
pub(crate) enum Plan {
    /// So many bytes are ready to be written to the file.
    Write(AppendInfo, usize, Arc<OpenFile>),
    /// Nothing to write.
    Answer(AppendInfo),
    /// The active segment must be closed first.
    Roll,
}

/// What was done for an append.
pub(crate) enum AppendStep {
    Written(AppendInfo),
    /// There is nothing to write: no batches, or duplicates.
    Nothing(AppendInfo),
    /// The active segment must be closed first: nothing was done.
    RollDue,
}

impl Log {
    /// Appends batches as leader: `records` get their offsets and the leader epoch, in place, and
    /// are written as they are then. They must have been validated; here only their framing, their
    /// size and their producers are checked.
    ///
    /// May wait: for the log's turn, for a roll, and where `flush.messages` asks for it for the disk. Use
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

    fn append_waiting(
        &self,
        records: &mut Records<'_>,
        context: &AppendContext,
    ) -> Result<AppendInfo, AppendError> {
        let turn = self.wait_turn();
        let appended = self.append_in(&turn, records, context);
        turn.end();
        self.flush_appended(appended, context)
    }

    /// What `flush.messages` asks for after an append, without the turn.
    pub(crate) fn flush_appended(
        &self,
        appended: Result<(AppendInfo, bool), AppendError>,
        context: &AppendContext,
    ) -> Result<AppendInfo, AppendError> {
        let (info, is_flush_due) = appended?;
        if is_flush_due {
            self.flush(context.now_ms)?;
        }
        Ok(info)
    }

    /// An append of whoever has the turn and may roll; says, too, whether a flush is due.
    pub(crate) fn append_in(
        &self,
        turn: &Turn<'_>,
        records: &mut Records<'_>,
        context: &AppendContext,
    ) -> Result<(AppendInfo, bool), AppendError> {
        let mut context = *context;
        loop {
            let mut writer = self.writer();
            match self.append_now(&mut writer, records, &context)? {
                AppendStep::Nothing(info) => return Ok((info, false)),
                AppendStep::Written(info) => {
                    return Ok((info, self.is_flush_due(writer.end_offset)));
                }
                AppendStep::RollDue => {
                    let base = self.shape(records, writer.end_offset, &context)?.first_offset;
                    drop(writer);
                    let base = self.roll_in(turn, base, context.now_ms)?;
                    // Where the batches begin behind the log's end, as those of a compacted log may, it ends there now.
                    context.expected_end = context.expected_end.map(|_| base);
                }
            }
        }
    }

    /// Appends what needs no roll.
    pub(crate) fn append_now(
        &self,
        writer: &mut Writer,
        records: &mut Records<'_>,
        context: &AppendContext,
    ) -> Result<AppendStep, AppendError> {
        let at = (writer.end_offset, writer.end_position);
        let (info, len, file) = match self.plan(writer, at, records, context)? {
            Plan::Write(info, len, file) => (info, len, file),
            Plan::Answer(info) => return Ok(AppendStep::Nothing(info)),
            Plan::Roll => return Ok(AppendStep::RollDue),
        };
        let bytes = &records.bytes()[..len];
        let dir = &self.home().dir;
        let mark = dir.pace.mark();
        if let Err(error) = file.write_all_at(bytes, u64::from(at.1)) {
            return Err(dir.fail("append to", &self.active_path(writer), &error).into());
        }
        dir.metrics.log_writes.add(1);
        self.publish(writer, bytes)?;
        drop(mark);
        Ok(AppendStep::Written(info))
    }

    /// Checks an append at a given end of the log and makes it ready: files opened, offsets set,
    /// producers updated. After this it is written, or the log directory is lost. Nothing is changed
    /// before everything is open.
    pub(crate) fn plan(
        &self,
        writer: &mut Writer,
        at: (i64, u32),
        records: &mut Records<'_>,
        context: &AppendContext,
    ) -> Result<Plan, AppendError> {
        self.home().dir.check()?;
        if self.is_closed() {
            return Err(self.closed_error());
        }
        self.check_role(writer.role, context)?;
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
        let mut updates = std::mem::take(&mut writer.updates);
        updates.clear();
        let bytes = &records.bytes()[..shape.len];
        let plan = match self.analyze(writer, bytes, context, &mut updates) {
            Err(error) => Err(error),
            Ok(None) => {
                self.take_in(writer, &updates).map(|file| Plan::Write(info, shape.len, file))
            }
            Ok(Some(known)) => {
                self.home().dir.metrics.duplicates.add(1);
                Ok(Plan::Answer(AppendInfo {
                    first_offset: known.first_offset(),
                    last_offset: known.last_offset,
                    log_append_time: known.timestamp,
                    duplicate: true,
                    ..info
                }))
            }
        };
        writer.updates = updates;
        plan
    }

    /// Holds the batches against their producers; gives what is known of them already if they are
    /// duplicates.
    fn analyze(
        &self,
        writer: &Writer,
        bytes: &[u8],
        context: &AppendContext,
        updates: &mut Updates,
    ) -> Result<Option<BatchMeta>, AppendError> {
        let judgement = context.judgement();
        let mut rest = bytes;
        while let Ok(batch) = BatchView::parse(rest) {
            match writer.producers.analyze(&batch, &judgement, updates) {
                Ok(Verdict::Append) => {}
                Ok(Verdict::Duplicate(known)) => return Ok(Some(known)),
                Err(error) => return Err(self.refusal(error)),
            }
            rest = &rest[batch.total_len()..];
        }
        Ok(None)
    }

    /// Opens what is going to be written and updates the producers; gives the active segment's file.
    fn take_in(
        &self,
        writer: &mut Writer,
        updates: &Updates,
    ) -> Result<Arc<OpenFile>, AppendError> {
        let dir = &self.home().dir;
        let active = &writer.active;
        let failed = |suffix, error| dir.failure_of("append to", &active.file_path(suffix), &error);
        let _mark = dir.pace.mark();
        let file = active.open().map_err(|error| failed(names::LOG, error))?;
        let has_aborted = updates.completed.iter().any(|completed| completed.aborted);
        let index = has_aborted.then(|| active.create_txn_index()).transpose();
        let index = index.map_err(|error| failed(names::TXN_INDEX, error))?;
        let add =
            |txn: AbortedTxn| index.as_ref().map_or(Ok(()), |index| append_entry(index, &txn));
        writer.producers.apply(updates, add).map_err(|error| {
            let path = writer.active.file_path(names::TXN_INDEX);
            AppendError::from(dir.fail("append to", &path, &error))
        })?;
        Ok(file)
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
                    if base < end_offset
                        || context.expected_end.is_some_and(|end| end != end_offset)
                    {
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
        Ok(active.index_is_full())
    }

    /// Makes written batches visible.
    pub(crate) fn publish(&self, writer: &mut Writer, written: &[u8]) -> Result<(), AppendError> {
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
                let failure = self.home().dir.failure_of("append to", &path, &error);
                // The entries stay in memory, and are written with the next one.
                if !failure.is_retriable {
                    return Err(failure.into());
                }
            }
            writer.end_position = head.end();
            writer.end_offset = head.last_offset + 1;
            rest = &rest[batch.total_len()..];
        }
        writer.producers.map_end_offset = writer.end_offset;
        self.published.publish_producers(&writer.producers);
        if writer.producers.has_transactions() {
            self.published.publish_transactions(&writer.producers);
        }
        self.publish_end(writer);
        let metrics = &self.home().dir.metrics;
        metrics.appends.add(1);
        metrics.append_bytes.add(written.len() as u64);
        Ok(())
    }

    pub(crate) fn active_path(&self, writer: &Writer) -> std::path::PathBuf {
        writer.active.file_path(names::LOG)
    }

    pub(crate) fn refusal(&self, error: ProducerError) -> AppendError {
        refusal(error, &self.topic, self.partition)
    }
}
