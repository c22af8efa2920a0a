//! What is checked of each well-formed record, and what is kept of all of them.
//!
//! A batch is first summed up: a handful of registers per record, enough to accept it. Only when
//! something in the sum calls for it are the records walked a second time, one check after the other,
//! to find out which of them are to blame.

use thalweg_wire::varint;

use super::ValidationConfig;
use super::failure::{
    Failure, InvalidRecords, MAX_RECORD_ERRORS, Reason, RecordError, RecordErrorKind,
};
use super::head::Head;
use crate::batch::{NONE, TimestampType};

/// The sum of the records so far.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    /// Records, times two: what the next offset delta looks like when zig-zag encoded.
    twice: u32,
    min_delta: i64,
    max_delta: i64,
    /// Lowest bit: a key was null. Others: an offset delta was not the next. One field, because the
    /// walk is short of registers.
    odd: u64,
}

impl Sum {
    const EMPTY: Sum = Sum { twice: 0, min_delta: i64::MAX, max_delta: i64::MIN, odd: 0 };

    /// A record with the offset delta and the key's length as they are encoded.
    #[inline(always)]
    pub fn encoded(&mut self, timestamp_delta: i64, offset_delta: u32, key_len: u32) {
        self.min_delta = self.min_delta.min(timestamp_delta);
        self.max_delta = self.max_delta.max(timestamp_delta);
        self.odd |= (u64::from(offset_delta ^ self.twice) << 1) | u64::from(key_len & 1);
        self.twice = self.twice.wrapping_add(2);
    }

    fn count(&self) -> i32 {
        (self.twice >> 1) as i32
    }
}

pub(super) struct Tally {
    sum: Sum,
    base_offset: i64,
    base_timestamp: i64,
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

struct Blame {
    max_timestamp: i64,
    first_gap: Option<i32>,
    errors: Vec<RecordError>,
    total_errors: u64,
    timestamp_errors: bool,
}

impl Tally {
    pub fn new(head: &Head, config: &ValidationConfig, now: i64) -> Tally {
        Tally {
            sum: Sum::EMPTY,
            base_offset: head.base_offset,
            base_timestamp: head.base_timestamp,
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
        let offset_delta = varint::zigzag_32(offset_delta);
        self.sum.encoded(timestamp_delta, offset_delta, u32::from(!has_key));
    }

    fn examine(&mut self, timestamp_delta: i64, offset_delta: i32, has_key: bool) {
        let own = self.base_timestamp.wrapping_add(timestamp_delta);
        let timestamp = self.append_time.unwrap_or(own);
        let index = self.sum.count();
        let in_range = self.in_range(timestamp);
        let Some(blame) = &mut self.blame else { return };
        blame.max_timestamp = blame.max_timestamp.max(own);
        if self.base_offset.wrapping_add(i64::from(offset_delta)) != i64::from(index) {
            blame.first_gap.get_or_insert(index);
        }
        let ranged = self.create_time && timestamp != NONE;
        let kind = if self.compact && !has_key {
            RecordErrorKind::NullKey
        } else if ranged && !in_range {
            RecordErrorKind::TimestampOutOfRange {
                offset: self.base_offset.wrapping_add(i64::from(offset_delta)),
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
        if self.blame.is_some() || self.sum.twice == 0 {
            return true;
        }
        let timestamps = match self.append_time {
            Some(append_time) => {
                self.create_time && append_time != NONE && self.in_range(append_time)
            }
            // What holds for both ends holds for all in between, unless something wraps around.
            None => [self.sum.min_delta, self.sum.max_delta].into_iter().all(|delta| {
                self.base_timestamp.checked_add(delta).is_some_and(|timestamp| {
                    !self.create_time
                        || (self.now.checked_sub(timestamp).is_some() && self.in_range(timestamp))
                })
            }),
        };
        let offsets = !offsets_matter || (self.sum.odd >> 1 == 0 && self.base_offset == 0);
        timestamps && offsets && !(self.compact && self.sum.odd & 1 != 0)
    }

    /// Begins again, to find out which records are to blame for what.
    pub fn blame(&mut self) {
        self.sum = Sum::EMPTY;
        self.blame = Some(Blame {
            max_timestamp: NONE,
            first_gap: None,
            errors: Vec::new(),
            total_errors: 0,
            timestamp_errors: false,
        });
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
        self.sum.count()
    }

    /// Largest timestamp so far; -1 without any.
    pub fn max_timestamp(&self) -> i64 {
        if self.sum.twice == 0 {
            return NONE;
        }
        let own = match &self.blame {
            Some(blame) => blame.max_timestamp,
            None => self.base_timestamp.wrapping_add(self.sum.max_delta),
        };
        self.append_time.unwrap_or(own).max(NONE)
    }
}
