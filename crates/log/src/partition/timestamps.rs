//! From timestamps to offsets (ListOffsets).
//!
//! These read batches as a whole and wait for the disk: not for threads that must not wait.

use thalweg_records::BatchView;

use crate::format::index_files::MaxTimestamp;
use crate::format::walk::{BatchHead, Walk, WalkError};
use crate::fs::disk::OpenFile;
use crate::fs::wait::Wait;
use crate::partition::error::ReadError;
use crate::partition::log::Log;
use crate::partition::segment::{Segment, is_of};
use crate::partition::segments::floor_segment;

/// Looks at the records of a batch; decompresses it if need be.
pub trait RecordScan {
    /// Calls `visit` with every record's offset and timestamp, in order, until it says `false`.
    /// For a batch under LogAppendTime the timestamp is the batch's. Says what is wrong with a
    /// batch that cannot be read, such as a compressed one with a record above `max_record_bytes`.
    fn scan(
        &self,
        batch: BatchView<'_>,
        max_record_bytes: i32,
        visit: &mut dyn FnMut(i64, i64) -> bool,
    ) -> Result<(), String>;
}

/// A record found by its timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimestampOffset {
    /// Its timestamp.
    pub timestamp: i64,
    /// Its offset.
    pub offset: i64,
    /// The epoch of its batch, if it has one.
    pub leader_epoch: Option<i32>,
}

impl Log {
    /// The first record at or after `timestamp`, by offset, not before the log's start.
    pub fn offset_for_timestamp(
        &self,
        timestamp: i64,
        records: &dyn RecordScan,
    ) -> Result<Option<TimestampOffset>, ReadError> {
        self.check_readable()?;
        let start = self.log_start_offset();
        let (segments, end) = self.segments_and_end();
        // Retention removes those before, and nothing in them counts.
        for segment in &segments[floor_segment(&segments, start)..] {
            let io = |error| self.walk_error(segment, WalkError::Io(error));
            let walk = |error| self.walk_error(segment, error);
            let size =
                if segment.base_offset == end.segment { end.position } else { segment.size() };
            // Kafka goes by the file's age where a segment has no timestamps.
            if size == 0 || segment.largest_timestamp().map_err(io)? < timestamp {
                continue;
            }
            let file = segment.open().map_err(io)?;
            let from = self.seek_time(segment, &file, timestamp, start, size).map_err(walk)?;
            let mut batches = Walk::new(&file, from, size, Wait::Allowed);
            while let Some(head) = batches.next().map_err(walk)? {
                if head.max_timestamp < timestamp || head.last_offset < start {
                    continue;
                }
                let mut found = None;
                self.visit_batch(segment, &file, &head, records, &mut |offset, at| {
                    if at >= timestamp && offset >= start {
                        found = Some((offset, at));
                    }
                    found.is_none()
                })?;
                if let Some((offset, timestamp)) = found {
                    return Ok(Some(of(&head, offset, timestamp)));
                }
            }
            // Its newest records are before the log's start: on to the next. (Kafka stops here,
            // until retention has removed the segment.)
        }
        Ok(None)
    }

    /// The record with the largest timestamp, not before the log's start; the first of them if there are several.
    ///
    /// Kafka answers with a record that was deleted, which no consumer can read, until retention removes its segment.
    pub fn offset_of_max_timestamp(
        &self,
        records: &dyn RecordScan,
    ) -> Result<Option<TimestampOffset>, ReadError> {
        self.check_readable()?;
        let start = self.log_start_offset();
        let (segments, end) = self.segments_and_end();
        let mut latest: Option<(&Segment, u32, MaxTimestamp)> = None;
        for segment in &segments[floor_segment(&segments, start)..] {
            let size =
                if segment.base_offset == end.segment { end.position } else { segment.size() };
            let Some(max) = self.max_from(segment, start, size, records)? else { continue };
            if latest.is_none_or(|(.., best)| max.timestamp > best.timestamp) {
                latest = Some((segment, size, max));
            }
        }
        let Some((segment, size, max)) = latest else { return Ok(None) };
        let io = |error| self.walk_error(segment, WalkError::Io(error));
        let walk = |error| self.walk_error(segment, error);
        let file = segment.open().map_err(io)?;
        let found = segment.find(&file, max.offset, size, Wait::Allowed).map_err(walk)?;
        let from = found.map_or(0, |head| head.position);
        let mut batches = Walk::new(&file, from, size, Wait::Allowed);
        while let Some(head) = batches.next().map_err(walk)? {
            if head.max_timestamp < max.timestamp {
                continue;
            }
            let mut found = None;
            self.visit_batch(segment, &file, &head, records, &mut |offset, at| {
                if at == max.timestamp && offset >= start {
                    found = Some(offset);
                }
                found.is_none()
            })?;
            if let Some(offset) = found {
                return Ok(Some(of(&head, offset, max.timestamp)));
            }
        }
        Ok(None)
    }

    /// The largest timestamp of a segment's records from `start` on, and the last offset of the first batch that has it;
    /// `None` if there are no such records.
    fn max_from(
        &self,
        segment: &Segment,
        start: i64,
        size: u32,
        records: &dyn RecordScan,
    ) -> Result<Option<MaxTimestamp>, ReadError> {
        let io = |error| self.walk_error(segment, WalkError::Io(error));
        let walk = |error| self.walk_error(segment, error);
        let max = segment.max_timestamp().map_err(io)?;
        if segment.base_offset >= start {
            return Ok(Some(max));
        }
        let file = segment.open().map_err(io)?;
        let find = |offset| segment.find(&file, offset, size, Wait::Allowed).map_err(walk);
        if find(max.offset)?.is_some_and(|head| head.base_offset >= start) {
            return Ok(Some(max));
        }
        // What the index says is of a record that was deleted: the batches say it of the others.
        let Some(first) = find(start)? else { return Ok(None) };
        let mut latest: Option<MaxTimestamp> = None;
        let mut batches = Walk::new(&file, first.position, size, Wait::Allowed);
        while let Some(head) = batches.next().map_err(walk)? {
            let is_later = |at: i64| latest.is_none_or(|latest| at > latest.timestamp);
            if !is_later(head.max_timestamp) {
                continue;
            }
            let mut timestamp = Some(head.max_timestamp);
            if head.base_offset < start {
                timestamp = None;
                self.visit_batch(segment, &file, &head, records, &mut |offset, at| {
                    if offset >= start {
                        timestamp = timestamp.max(Some(at));
                    }
                    true
                })?;
            }
            if let Some(timestamp) = timestamp.filter(|at| is_later(*at)) {
                latest = Some(MaxTimestamp { timestamp, offset: head.last_offset });
            }
        }
        Ok(latest)
    }

    /// Where to begin when looking for records at or after `timestamp` and `start`.
    fn seek_time(
        &self,
        segment: &Segment,
        file: &OpenFile,
        timestamp: i64,
        start: i64,
        size: u32,
    ) -> Result<u32, WalkError> {
        let mut begin = 0;
        if let Some(entry) = segment.floor_time_entry(timestamp)? {
            match segment.find(file, entry.offset, size, Wait::Allowed)? {
                Some(head) if is_of(&head, entry) => begin = head.position,
                _ => {
                    segment.replace_wrong_index(file, Wait::Allowed)?;
                    if let Some(entry) = segment.floor_time_entry(timestamp)?
                        && let Some(head) = segment.find(file, entry.offset, size, Wait::Allowed)?
                    {
                        begin = head.position;
                    }
                }
            }
        }
        if start > segment.base_offset
            && let Some(head) = segment.find(file, start, size, Wait::Allowed)?
        {
            begin = begin.max(head.position);
        }
        Ok(begin)
    }

    fn visit_batch(
        &self,
        segment: &Segment,
        file: &OpenFile,
        head: &BatchHead,
        records: &dyn RecordScan,
        visit: &mut dyn FnMut(i64, i64) -> bool,
    ) -> Result<(), ReadError> {
        let mut bytes = vec![0; head.len as usize];
        file.read_exact_at(&mut bytes, u64::from(head.position))
            .map_err(|error| self.walk_error(segment, WalkError::Io(error)))?;
        let corrupt = |reason: String| ReadError::Corrupt {
            topic: self.topic.clone(),
            partition: self.partition,
            segment: segment.base_offset,
            position: u64::from(head.position),
            reason,
        };
        let batch = BatchView::parse(&bytes).map_err(|error| corrupt(error.to_string()))?;
        let max_record_bytes = self.config().max_decompressed_message_bytes;
        records.scan(batch, max_record_bytes, visit).map_err(corrupt)
    }
}

fn of(head: &BatchHead, offset: i64, timestamp: i64) -> TimestampOffset {
    let leader_epoch = (head.leader_epoch >= 0).then_some(head.leader_epoch);
    TimestampOffset { timestamp, offset, leader_epoch }
}
