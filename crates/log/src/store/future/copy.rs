//! Bringing a future replica up to its log, batch for batch, byte for byte.

use std::sync::Arc;

use thalweg_records::BatchView;

use super::MoveError;
use crate::fs::wait::Wait;
use crate::partition::error::ReadError;
use crate::partition::log::Log;
use crate::partition::read::{Isolation, ReadRequest};
use crate::partition::request::AppendContext;
use crate::store::manager::LogManager;

/// What one step has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyStep {
    /// Bytes that were copied.
    pub bytes: u64,
    /// The future replica has what the log had when the step began.
    pub is_caught_up: bool,
}

impl LogManager {
    /// Copies what a future replica lacks of its log next: `max_bytes`, or one batch. `buffer` is for the bytes in
    /// between. Waits for both disks.
    ///
    /// For one caller at a time.
    pub fn copy_to_future(
        &self,
        log: &Log,
        future: &Arc<Log>,
        buffer: &mut Vec<u8>,
        max_bytes: u32,
        now_ms: i64,
    ) -> Result<CopyStep, MoveError> {
        if log.is_closed() || future.is_closed() {
            return Err(MoveError::Closed);
        }
        future.dir().check()?;
        let config = log.config();
        if !Arc::ptr_eq(&config, &future.config()) {
            future.update_config(config.clone());
        }
        let generation = log.writer().generation;
        self.follow_cut(log, future, now_ms)?;
        let log_end = log.log_end_offset();
        let begin = match future.log_end_offset() {
            end if end < log.log_start_offset() => {
                // Nothing of what it has is left, or it has nothing.
                let start = log.log_start_offset();
                self.truncate_fully_and_start_at(future, start, None, now_ms)?;
                start
            }
            end => end,
        };
        let none = CopyStep { bytes: 0, is_caught_up: false };
        let request = ReadRequest {
            offset: begin,
            max_bytes: max_bytes.min(config.segment_limit()),
            min_one: true,
            isolation: Isolation::LogEnd,
            wait: Wait::Allowed,
        };
        let found = match log.read(&request) {
            Ok(found) => found,
            // It was cut, or its start has moved: the next step begins there.
            Err(ReadError::OffsetOutOfRange { .. }) => return Ok(none),
            Err(error) => return Err(error.into()),
        };
        buffer.clear();
        buffer.resize(found.len as usize, 0);
        let read = found.copy(0, buffer);
        if log.writer().generation != generation {
            // What was read may be of before a cut, of after it, or of both.
            return Ok(none);
        }
        match read {
            // The file was cut meanwhile: nothing is wrong with the disk.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(none),
            Err(error) => {
                log.dir().read_failed(&error);
                log.dir().check()?;
            }
            Ok(_) => {}
        }
        let first = check(log, buffer)?;
        if let Some(first) = first.filter(|first| *first < begin) {
            // Where records were deleted, the log begins in the middle of a batch, of which there is only the whole.
            if future.log_end_offset() > future.log_start_offset() {
                let reason = format!("a batch begins at {first}, before {begin}");
                return Err(MoveError::Refused(reason));
            }
            self.truncate_fully_and_start_at(future, first, None, now_ms)?;
        }
        if !buffer.is_empty() {
            // Of every epoch there is: the log has them in order.
            let context = AppendContext {
                expected_end: None,
                ..AppendContext::replication(i32::MAX, begin, now_ms)
            };
            future.append_with_offsets(buffer, &context)?;
        } else if begin < log_end {
            // The log ends where compaction has left nothing: a follower that has the same ends there, too.
            let turn = future.wait_turn();
            let rolled = future.roll_in(&turn, log_end, now_ms);
            turn.pass_on();
            rolled?;
        }
        self.follow_start(log, future, now_ms)?;
        let is_caught_up = future.log_end_offset() >= log_end;
        Ok(CopyStep { bytes: buffer.len() as u64, is_caught_up })
    }

    /// Cuts a future replica off where its log was since the last time.
    pub(super) fn follow_cut(&self, log: &Log, future: &Log, now_ms: i64) -> Result<(), MoveError> {
        // The end of a log that was cut and has grown again says nothing.
        let cut = log.cuts.take().min(log.log_end_offset());
        if cut >= future.log_end_offset() {
            return Ok(());
        }
        self.truncate_future(future, cut, now_ms).map_err(|error| {
            log.cuts.note(cut);
            error.into()
        })
    }

    /// High watermark and start follow those of the log.
    pub(super) fn follow_start(
        &self,
        log: &Log,
        future: &Log,
        now_ms: i64,
    ) -> Result<(), MoveError> {
        let start = log.log_start_offset();
        future.advance_high_watermark(log.high_watermark().max(start));
        if start > future.log_start_offset() && start <= future.high_watermark() {
            future.delete_records(start)?;
            future.delete_segments_before_start(now_ms)?;
        }
        Ok(())
    }
}

/// Whether these are whole batches without damage, which must not be taken over; says where the first one begins.
fn check(log: &Log, bytes: &[u8]) -> Result<Option<i64>, MoveError> {
    let mut first = None;
    let mut rest = bytes;
    while !rest.is_empty() {
        let damaged = |reason: String| {
            let named = format!("{}-{}", log.topic, log.partition);
            MoveError::Refused(format!("{named} cannot be read to be moved: {reason}"))
        };
        let batch = BatchView::parse(rest).map_err(|error| damaged(error.to_string()))?;
        if !batch.crc_is_valid() {
            return Err(damaged(format!("wrong checksum at offset {}", batch.base_offset())));
        }
        first.get_or_insert(batch.base_offset());
        rest = &rest[batch.total_len()..];
    }
    Ok(first)
}
