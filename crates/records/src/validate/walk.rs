//! Walking the records of a batch that is not compressed, in place.
//!
//! As strict as Kafka's reader: fields must fill the record's length, header keys must not be
//! null. Key, value and headers are stepped over; nothing is built from them.

use super::STEP_BYTES;
use super::failure::{Failure, Reason};
use super::tally::Tally;
use crate::record::{ReadError, RecordContext, RecordFault};

/// A varint of at most 5 bytes in the first 8 of `bytes`, and its length. `None` if it is longer
/// or `bytes` shorter; a slower reader then decides what is wrong, if anything.
#[inline(always)]
pub(super) fn quick_u32(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?);
    if word & 0x80 == 0 {
        return Some(((word & 0x7f) as u32, 1));
    }
    let ends = !word & 0x0000_0080_8080_8080;
    if ends == 0 {
        return None;
    }
    let bits = ends.trailing_zeros() + 1;
    let word = word & (u64::MAX >> (64 - bits));
    let value = (word & 0x7f)
        | ((word >> 1) & (0x7f << 7))
        | ((word >> 2) & (0x7f << 14))
        | ((word >> 3) & (0x7f << 21))
        | ((word >> 4) & (0x7f << 28));
    Some((value as u32, (bits / 8) as usize))
}

#[inline(always)]
pub(super) fn quick_i32(bytes: &[u8], at: &mut usize) -> Option<i32> {
    let (value, n) = quick_u32(bytes, *at)?;
    *at += n;
    Some((value >> 1) as i32 ^ -((value & 1) as i32))
}

/// As [`quick_i32`] for 64 bits; values that take more than 5 bytes are left to the slower reader.
#[inline(always)]
pub(super) fn quick_i64(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let word = u64::from_le_bytes(*bytes.get(*at..)?.first_chunk::<8>()?);
    if word & 0x80 == 0 {
        *at += 1;
        let value = word & 0x7f;
        return Some((value >> 1) as i64 ^ -((value & 1) as i64));
    }
    let ends = !word & 0x0000_0080_8080_8080;
    if ends == 0 {
        return None;
    }
    let bits = ends.trailing_zeros() + 1;
    let word = word & (u64::MAX >> (64 - bits));
    let value = (word & 0x7f)
        | ((word >> 1) & (0x7f << 7))
        | ((word >> 2) & (0x7f << 14))
        | ((word >> 3) & (0x7f << 21))
        | ((word >> 4) & (0x7f << 28));
    *at += (bits / 8) as usize;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

/// Steps over bytes behind a varint length; the length, negative for null.
#[inline(always)]
pub(super) fn quick_skip(bytes: &[u8], at: &mut usize) -> Option<i32> {
    let len = quick_i32(bytes, at)?;
    let to = *at + len.max(0) as usize;
    if to > bytes.len() {
        return None;
    }
    *at = to;
    Some(len)
}

pub(super) struct PlainWalk {
    at: usize,
    left: i32,
    /// Whether the batch is refused for offsets that are not consecutive: Kafka looks at them only
    /// where the topic's codec is another one.
    pub offsets_matter: bool,
}

impl PlainWalk {
    pub fn new(count: i32, offsets_matter: bool) -> Result<PlainWalk, Failure> {
        if count < 0 {
            return Err(Failure::read(RecordFault::NegativeCount(count).into(), 0, false));
        }
        Ok(PlainWalk { at: 0, left: count, offsets_matter })
    }

    /// Walks on in `payload`; true at the end of the records.
    pub fn step(&mut self, payload: &[u8], tally: &mut Tally) -> Result<bool, Failure> {
        let pause_at = self.at.saturating_add(STEP_BYTES);
        let any = self.left > 0 || tally.count() > 0;
        while self.left > 0 {
            if self.at >= pause_at {
                return Ok(false);
            }
            self.at = match quick_record(payload, self.at, tally) {
                Some(next) => next,
                None => slow_record(payload, self.at, tally)?,
            };
            self.left -= 1;
        }
        if any && self.at != payload.len() {
            return Err(Reason::Record {
                index: tally.count() - 1,
                fault: RecordFault::Trailing,
                internal: false,
            }
            .into());
        }
        Ok(true)
    }
}

/// The usual record, followed by at least as many bytes as a varint is read with; `None` for all
/// others and whatever may be wrong.
#[inline(always)]
fn quick_record(payload: &[u8], mut at: usize, tally: &mut Tally) -> Option<usize> {
    let len = quick_i32(payload, &mut at)?;
    let end = at.checked_add(usize::try_from(len).ok()?)?;
    if end > payload.len() {
        return None;
    }
    at += 1;
    let timestamp_delta = quick_i64(payload, &mut at)?;
    let offset_delta = quick_i32(payload, &mut at)?;
    let key = quick_skip(payload, &mut at)?;
    quick_skip(payload, &mut at)?;
    // The last field is one byte without headers, and may be the last of the batch.
    let count = *payload.get(at)?;
    at += 1;
    if count & 0x81 != 0 {
        return None;
    }
    for _ in 0..count >> 1 {
        if quick_skip(payload, &mut at)? < 0 {
            return None;
        }
        quick_skip(payload, &mut at)?;
    }
    if at != end {
        return None;
    }
    tally.record(timestamp_delta, offset_delta, key >= 0);
    Some(end)
}

#[cold]
#[inline(never)]
fn slow_record(payload: &[u8], at: usize, tally: &mut Tally) -> Result<usize, Failure> {
    // Deltas are what the tally wants, so the bases are left out.
    let context =
        RecordContext { base_offset: 0, base_timestamp: 0, log_append_time: None, count: 0 };
    let rest = payload.get(at..).unwrap_or_default();
    let (record, len) = context
        .read(rest)
        .map_err(|fault| Failure::read(ReadError::Record(fault), tally.count(), false))?;
    tally.record(record.timestamp, record.offset as i32, record.key.is_some());
    Ok(at + len)
}
