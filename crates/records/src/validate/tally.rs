//! What is checked of each well-formed record, and what is kept of all of them.
//!
//! A batch is first summed up: a handful of registers per record, enough to accept it. Only when
//! something in the sum calls for it are the records walked a second time, one check after the other,
//! to find out which of them are to blame.

use super::ValidationConfig;
use super::failure::{
    Failure, InvalidRecords, MAX_RECORD_ERRORS, Reason, RecordError, RecordErrorKind,
};
use super::head::Head;
use crate::batch::{NONE, TimestampType};

/// The sum of the records so far.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    base_timestamp: i64,
    base_offset: i64,
    count: i32,
    max_timestamp: i64,
    min_timestamp: i64,
    /// Not 0 once an offset was not the next.
    gaps: i64,
    null_keys: bool,
}

impl Sum {
    fn new(head: &Head) -> Sum {
        Sum {
            base_timestamp: head.base_timestamp,
            base_offset: head.base_offset,
            count: 0,
            max_timestamp: NONE,
            min_timestamp: i64::MAX,
            gaps: 0,
            null_keys: false,
        }
    }

    #[inline(always)]
    pub fn record(&mut self, timestamp_delta: i64, offset_delta: i32, has_key: bool) {
        let timestamp = self.base_timestamp.wrapping_add(timestamp_delta);
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.min_timestamp = self.min_timestamp.min(timestamp);
        let offset = self.base_offset.wrapping_add(i64::from(offset_delta));
        self.gaps |= offset ^ i64::from(self.count);
        self.null_keys |= !has_key;
        self.count += 1;
    }
}

pub(super) struct Tally {
    sum: Sum,
    /// In the second walk.
    blame: Option<Blame>,
    /// Replaces all timestamps when the producer claims append time.
    append_time: Option<i64>,
    /// Whether a record's own timestamp is what counts.
    create_time: bool,
    compact: bool,
    now: i64,
    before_max: i64,
    after_max: i64,
}

#[derive(Default)]
struct Blame {
    first_gap: Option<i32>,
    errors: Vec<RecordError>,
    total_errors: u64,
    timestamp_errors: bool,
}

impl Tally {
    pub fn new(head: &Head, config: &ValidationConfig, now: i64) -> Tally {
        Tally {
            sum: Sum::new(head),
            blame: None,
            append_time: (head.timestamp_type == TimestampType::LogAppendTime)
                .then_some(head.max_timestamp),
            create_time: config.timestamp_type == TimestampType::CreateTime,
            compact: config.compact,
            now,
            before_max: config.timestamp_before_max_ms,
            after_max: config.timestamp_after_max_ms,
        }
    }

    /// The sum, while nobody is to be blamed: who walks quickly keeps a copy in registers and puts
    /// it back.
    #[inline]
    pub fn sum(&mut self) -> Option<&mut Sum> {
        if self.blame.is_none() { Some(&mut self.sum) } else { None }
    }

    /// The next record, as its deltas say.
    pub fn record(&mut self, timestamp_delta: i64, offset_delta: i32, has_key: bool) {
        if self.blame.is_some() {
            self.examine(timestamp_delta, offset_delta, has_key);
        }
        self.sum.record(timestamp_delta, offset_delta, has_key);
    }

    fn examine(&mut self, timestamp_delta: i64, offset_delta: i32, has_key: bool) {
        let timestamp = self
            .append_time
            .unwrap_or_else(|| self.sum.base_timestamp.wrapping_add(timestamp_delta));
        let index = self.sum.count;
        let in_range = self.in_range(timestamp);
        let Some(blame) = &mut self.blame else { return };
        if self.sum.base_offset.wrapping_add(i64::from(offset_delta)) != i64::from(index) {
            blame.first_gap.get_or_insert(index);
        }
        let ranged = self.create_time && timestamp != NONE;
        let kind = if self.compact && !has_key {
            RecordErrorKind::NullKey
        } else if ranged && !in_range {
            RecordErrorKind::TimestampOutOfRange {
                timestamp,
                earliest: self.now.wrapping_sub(self.before_max),
                latest: self.now.wrapping_add(self.after_max),
            }
        } else if !ranged && self.append_time.is_some() {
            RecordErrorKind::LogAppendTime
        } else {
            return;
        };
        blame.timestamp_errors |= kind != RecordErrorKind::NullKey;
        blame.total_errors += 1;
        if blame.errors.len() < MAX_RECORD_ERRORS {
            blame.errors.push(RecordError { batch_index: index, kind });
        }
    }

    /// Whether a timestamp is accepted; with Kafka's arithmetic, which wraps around.
    fn in_range(&self, timestamp: i64) -> bool {
        let age = self.now.wrapping_sub(timestamp);
        age <= self.before_max && age.wrapping_neg() <= self.after_max
    }

    /// Whether all is well with the records summed up. If not they are to be walked again, from
    /// the first, by [`Self::blame`].
    pub fn is_clean(&self, offsets_matter: bool) -> bool {
        if self.blame.is_some() || self.sum.count == 0 {
            return true;
        }
        let timestamps = if let Some(append_time) = self.append_time {
            self.create_time && append_time != NONE && self.in_range(append_time)
        } else {
            // The range check holds for all when it holds for both ends, unless it wraps around
            // in between.
            let ends = [self.sum.min_timestamp, self.sum.max_timestamp];
            !self.create_time
                || ends.iter().all(|&timestamp| {
                    self.now.checked_sub(timestamp).is_some() && self.in_range(timestamp)
                })
        };
        timestamps
            && !(self.compact && self.sum.null_keys)
            && !(offsets_matter && self.sum.gaps != 0)
    }

    /// Begins again, to find out which records are to blame for what.
    pub fn blame(&mut self, head: &Head) {
        self.sum = Sum::new(head);
        self.blame = Some(Blame::default());
    }

    /// Whether all records were acceptable; the errors if not.
    pub fn verdict(&mut self, offsets_matter: bool) -> Result<(), Failure> {
        let Some(blame) = &mut self.blame else { return Ok(()) };
        if blame.total_errors > 0 {
            return Err(Failure {
                reason: Reason::Records(InvalidRecords {
                    timestamps: blame.timestamp_errors,
                    total: blame.total_errors,
                }),
                record_errors: std::mem::take(&mut blame.errors),
            });
        }
        match blame.first_gap {
            Some(index) if offsets_matter => Err(Reason::OffsetGap { index }.into()),
            _ => Ok(()),
        }
    }

    /// Whether a record was refused.
    pub fn has_errors(&self) -> bool {
        self.blame.as_ref().is_some_and(|blame| blame.total_errors > 0)
    }

    /// Records so far.
    pub fn count(&self) -> i32 {
        self.sum.count
    }

    /// Largest timestamp so far; -1 without any.
    pub fn max_timestamp(&self) -> i64 {
        match self.append_time {
            Some(append_time) if self.sum.count > 0 => append_time.max(NONE),
            _ => self.sum.max_timestamp,
        }
    }
}
