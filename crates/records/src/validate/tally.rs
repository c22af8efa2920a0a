//! What is checked of each well-formed record, and what is kept of all of them.

use super::ValidationConfig;
use super::failure::{
    Failure, InvalidRecords, MAX_RECORD_ERRORS, Reason, RecordError, RecordErrorKind,
};
use super::head::Head;
use crate::batch::{NONE, TimestampType};

pub(super) struct Tally {
    base_offset: i64,
    base_timestamp: i64,
    /// Replaces all timestamps when the producer claims append time.
    append_time: Option<i64>,
    /// Whether a record's own timestamp is what counts.
    create_time: bool,
    compact: bool,
    now: i64,
    before_max: i64,
    after_max: i64,

    count: i32,
    max_timestamp: i64,
    first_gap: Option<i32>,
    errors: Vec<RecordError>,
    total_errors: u64,
    timestamp_errors: bool,
}

impl Tally {
    pub fn new(head: &Head, config: &ValidationConfig, now: i64) -> Tally {
        Tally {
            base_offset: head.base_offset,
            base_timestamp: head.base_timestamp,
            append_time: (head.timestamp_type == TimestampType::LogAppendTime)
                .then_some(head.max_timestamp),
            create_time: config.timestamp_type == TimestampType::CreateTime,
            compact: config.compact,
            now,
            before_max: config.timestamp_before_max_ms,
            after_max: config.timestamp_after_max_ms,
            count: 0,
            max_timestamp: NONE,
            first_gap: None,
            errors: Vec::new(),
            total_errors: 0,
            timestamp_errors: false,
        }
    }

    /// The next record, as its deltas say.
    #[inline(always)]
    pub fn record(&mut self, timestamp_delta: i64, offset_delta: i32, has_key: bool) {
        let timestamp = match self.append_time {
            Some(append_time) => append_time,
            None => self.base_timestamp.wrapping_add(timestamp_delta),
        };
        let offset = self.base_offset.wrapping_add(i64::from(offset_delta));
        if offset != i64::from(self.count) {
            self.first_gap.get_or_insert(self.count);
        }
        let age = self.now.wrapping_sub(timestamp);
        let ranged = self.create_time & (timestamp != NONE);
        let refused = (ranged & ((age > self.before_max) | (age.wrapping_neg() > self.after_max)))
            | (!ranged & self.append_time.is_some())
            | (self.compact & !has_key);
        if refused {
            self.refuse(timestamp, ranged, has_key);
        }
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.count += 1;
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, timestamp: i64, ranged: bool, has_key: bool) {
        let kind = if self.compact && !has_key {
            RecordErrorKind::NullKey
        } else if ranged {
            self.timestamp_errors = true;
            RecordErrorKind::TimestampOutOfRange {
                timestamp,
                earliest: self.now.wrapping_sub(self.before_max),
                latest: self.now.wrapping_add(self.after_max),
            }
        } else {
            self.timestamp_errors = true;
            RecordErrorKind::LogAppendTime
        };
        self.total_errors += 1;
        if self.errors.len() < MAX_RECORD_ERRORS {
            self.errors.push(RecordError { batch_index: self.count, kind });
        }
    }

    /// Whether all records so far are acceptable; the error if not.
    pub fn verdict(&mut self) -> Result<(), Failure> {
        if self.total_errors == 0 {
            return Ok(());
        }
        Err(Failure {
            reason: Reason::Records(InvalidRecords {
                timestamps: self.timestamp_errors,
                total: self.total_errors,
            }),
            record_errors: std::mem::take(&mut self.errors),
        })
    }

    /// Whether a record was refused.
    pub fn has_errors(&self) -> bool {
        self.total_errors > 0
    }

    /// Records so far.
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Largest timestamp so far; -1 without any.
    pub fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// Index of the first record whose offset is not the one expected.
    pub fn first_gap(&self) -> Option<i32> {
        self.first_gap
    }
}
