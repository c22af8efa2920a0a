//! Walking the records of a batch that is not compressed, in place.
//!
//! As strict as Kafka's reader: fields must fill the record's length, header keys must not be
//! null. Key, value and headers are stepped over; nothing is built from them.

use thalweg_wire::varint;

use super::STEP_BYTES;
use super::failure::{Failure, Reason};
use super::tally::{Sum, Tally};
use crate::quick::{next_u32, span};
use crate::record::{ReadError, RecordContext, RecordFault};

/// A zig-zag varint at `at`, which is moved behind it; `None` when it is broken, or so close to the
/// end of `bytes` that a slower reader should look at it.
///
/// Branches on the length instead of computing it: lengths repeat from record to record, so the
/// processor runs ahead, where a computed length would make every field wait for the one before.
#[inline(always)]
fn quick_i32(bytes: &[u8], at: &mut usize) -> Option<i32> {
    let word = u32::from_le_bytes(*bytes.get(*at..)?.first_chunk::<4>()?);
    let value = if word & 0x80 == 0 {
        *at += 1;
        word & 0x7f
    } else if word & 0x8000 == 0 {
        *at += 2;
        (word & 0x7f) | ((word >> 1) & 0x3f80)
    } else if word & 0x80_0000 == 0 {
        *at += 3;
        (word & 0x7f) | ((word >> 1) & 0x3f80) | ((word >> 2) & 0x1f_c000)
    } else {
        return longer_i32(bytes, at);
    };
    Some(varint::unzigzag_32(value))
}

#[inline(never)]
fn longer_i32(bytes: &[u8], at: &mut usize) -> Option<i32> {
    let (value, n) = varint::read_i32(bytes.get(*at..)?)?;
    *at += n;
    Some(value)
}

/// Steps over bytes behind a varint length; the length, negative for null.
#[inline(always)]
fn quick_skip(bytes: &[u8], at: &mut usize) -> Option<i32> {
    let len = quick_i32(bytes, at)?;
    let to = *at + len.max(0) as usize;
    if to > bytes.len() {
        return None;
    }
    *at = to;
    Some(len)
}

/// The usual record at the beginning of `rest`, added to `sum`; what follows it. `None` for all others:
/// fields of more than three bytes, the last few bytes, and whatever may be wrong.
///
/// `STRICT` compares the length with the fields and takes the end from it, which lets the
/// processor go on to the next record before it is done with the fields of this one. Without it the
/// length is at most `max_len`, which `STRICT` does not look at.
#[inline(always)]
pub(super) fn quick_record<'a, const STRICT: bool>(
    rest: &'a [u8],
    max_len: u32,
    sum: &mut Sum,
) -> Option<&'a [u8]> {
    let mut at = 0;
    let mut fields = u64::from_le_bytes(*rest.first_chunk::<8>()?);
    let len = next_u32(&mut fields, &mut at)?;
    let next = if STRICT {
        if len & 1 != 0 {
            return None;
        }
        rest.get(at + (len >> 1) as usize..)?
    } else {
        if len & 1 != 0 || len >> 1 > max_len {
            return None;
        }
        rest
    };
    fields >>= 8;
    at += 1;
    let timestamp_delta = next_u32(&mut fields, &mut at)?;
    let body = &rest[at..];
    let mut at = 0;
    let mut fields = u64::from_le_bytes(*body.first_chunk::<8>()?);
    let offset_delta = next_u32(&mut fields, &mut at)?;
    let key = next_u32(&mut fields, &mut at)?;
    let body = body.get(at + span(key)..)?;
    let mut at = 0;
    let mut fields = u64::from(u32::from_le_bytes(*body.first_chunk::<4>()?));
    let value = next_u32(&mut fields, &mut at)?;
    let (&count, mut body) = body.get(at + span(value)..)?.split_first()?;
    if count != 0 {
        let at = quick_headers(body, 0, count)?;
        body = &body[at..];
    }
    if STRICT && body.len() != next.len() {
        return None;
    }
    sum.encoded(varint::unzigzag_64(u64::from(timestamp_delta)), offset_delta, key);
    Some(if STRICT { next } else { body })
}

/// Steps over up to 63 headers.
#[inline]
fn quick_headers(bytes: &[u8], mut at: usize, count: u8) -> Option<usize> {
    if count & 0x81 != 0 {
        return None;
    }
    for _ in 0..count >> 1 {
        if quick_skip(bytes, &mut at)? < 0 {
            return None;
        }
        quick_skip(bytes, &mut at)?;
    }
    Some(at)
}

/// Records between two looks at how much is done.
const RECORDS_AT_ONCE: i32 = 512;

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
            if let Some(kept) = tally.sum() {
                let (mut sum, mut rest) = (*kept, &payload[self.at..]);
                let most = self.left.min(RECORDS_AT_ONCE);
                let mut left = most;
                while left > 0
                    && let Some(next) = quick_record::<true>(rest, u32::MAX, &mut sum)
                {
                    rest = next;
                    left -= 1;
                }
                (*kept, self.at) = (sum, payload.len() - rest.len());
                self.left -= most - left;
                if left == 0 && self.left > 0 {
                    if self.at >= pause_at {
                        return Ok(false);
                    }
                    continue;
                }
                if self.left == 0 {
                    break;
                }
            }
            if self.at >= pause_at {
                return Ok(false);
            }
            self.at = slow_record(payload, self.at, tally)?;
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
