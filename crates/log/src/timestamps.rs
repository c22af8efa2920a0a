//! From timestamps to offsets (ListOffsets).
//!
//! These read batches as a whole and wait for the disk: not for threads that must not wait.

use thalweg_records::BatchView;

use crate::disk::OpenFile;
use crate::error::ReadError;
use crate::log::Log;
use crate::read::floor_segment;
use crate::segment::{Segment, is_of};
use crate::walk::{BatchHead, Wait, Walk, WalkError};

/// Looks at the records of a batch; decompresses it if need be.
pub trait RecordScan {
    /// Calls `visit` with every record's offset and timestamp, in order, until it says `false`.
    /// For a batch under LogAppendTime the timestamp is the batch's. Says what is wrong with a
    /// batch that cannot be read.
    fn scan(
        &self,
        batch: BatchView<'_>,
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
        self.home().dir.check()?;
        if self.is_closed() {
            return Err(self.read_closed());
        }
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

    /// The record with the largest timestamp; the first of them if there are several.
    pub fn offset_of_max_timestamp(
        &self,
        records: &dyn RecordScan,
    ) -> Result<Option<TimestampOffset>, ReadError> {
        self.home().dir.check()?;
        if self.is_closed() {
            return Err(self.read_closed());
        }
        let (segments, end) = self.segments_and_end();
        let mut latest = None;
        for segment in &segments[floor_segment(&segments, self.log_start_offset())..] {
            let max = segment.max_timestamp();
            let max = max.map_err(|error| self.walk_error(segment, WalkError::Io(error)))?;
            if latest.as_ref().is_none_or(|(_, best): &(_, crate::index::MaxTimestamp)| {
                max.timestamp > best.timestamp
            }) {
                latest = Some((segment.clone(), max));
            }
        }
        let Some((segment, max)) = latest else { return Ok(None) };
        let io = |error| self.walk_error(&segment, WalkError::Io(error));
        let walk = |error| self.walk_error(&segment, error);
        let size = if segment.base_offset == end.segment { end.position } else { segment.size() };
        let file = segment.open().map_err(io)?;
        let found = segment.find(&file, max.offset, size, Wait::Allowed).map_err(walk)?;
        let from = found.map_or(0, |head| head.position);
        let mut batches = Walk::new(&file, from, size, Wait::Allowed);
        while let Some(head) = batches.next().map_err(walk)? {
            if head.max_timestamp != max.timestamp {
                continue;
            }
            let mut found = None;
            self.visit_batch(&segment, &file, &head, records, &mut |offset, at| {
                if at == max.timestamp {
                    found = Some(offset);
                }
                found.is_none()
            })?;
            return Ok(found.map(|offset| of(&head, offset, max.timestamp)));
        }
        Ok(None)
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
        records.scan(batch, visit).map_err(corrupt)
    }
}

fn of(head: &BatchHead, offset: i64, timestamp: i64) -> TimestampOffset {
    let leader_epoch = (head.leader_epoch >= 0).then_some(head.leader_epoch);
    TimestampOffset { timestamp, offset, leader_epoch }
}
