//! Reading records of the usual shape quickly. Whatever is not of that shape, or may be wrong, is
//! left to the reader in [`record`](crate::record), which says what is wrong with it.
//!
//! Lengths are found by branching on how many bytes they take instead of computing it: they repeat
//! from record to record, so the processor runs ahead, where a computed length would make every
//! field wait for the one before.

use std::ops::Range;

use thalweg_wire::varint::{unzigzag_32, unzigzag_64};

/// A varint of at most three bytes at the low end of `word`, which is shifted down; its bytes are
/// added to `at`.
#[inline(always)]
pub(crate) fn next_u32(word: &mut u64, at: &mut usize) -> Option<u32> {
    let bits = *word as u32;
    if bits & 0x80 == 0 {
        *word >>= 8;
        *at += 1;
        Some(bits & 0x7f)
    } else if bits & 0x8000 == 0 {
        *word >>= 16;
        *at += 2;
        Some((bits & 0x7f) | ((bits >> 1) & 0x3f80))
    } else if bits & 0x80_0000 == 0 {
        *word >>= 24;
        *at += 3;
        Some((bits & 0x7f) | ((bits >> 1) & 0x3f80) | ((bits >> 2) & 0x1f_c000))
    } else {
        None
    }
}

/// Bytes that a zig-zag length stands for; none for null.
#[inline(always)]
pub(crate) fn span(zigzag: u32) -> usize {
    if zigzag & 1 == 0 { (zigzag >> 1) as usize } else { 0 }
}

/// Where the parts of a record without headers lie.
pub(crate) struct Parts {
    pub timestamp_delta: i64,
    pub offset_delta: i32,
    pub key: Range<usize>,
    pub key_is_null: bool,
    pub value: Range<usize>,
    pub value_is_null: bool,
    /// Bytes of all of it.
    pub size: usize,
}

/// The record at the beginning of `bytes`, if it is sound, has no headers, and none of its numbers
/// takes more than three bytes.
#[inline(always)]
pub(crate) fn parts(bytes: &[u8]) -> Option<Parts> {
    let mut at = 0;
    let mut fields = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
    let len = next_u32(&mut fields, &mut at)?;
    if len & 1 != 0 {
        return None;
    }
    let size = at + (len >> 1) as usize;
    // One byte of attributes, of which none is defined.
    fields >>= 8;
    at += 1;
    let timestamp_delta = next_u32(&mut fields, &mut at)?;
    let mut fields = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?);
    let offset_delta = next_u32(&mut fields, &mut at)?;
    let key_len = next_u32(&mut fields, &mut at)?;
    let key = at..at + span(key_len);
    at = key.end;
    let mut fields = u64::from(u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?));
    let value_len = next_u32(&mut fields, &mut at)?;
    let value = at..at + span(value_len);
    at = value.end;
    // The number of headers comes last, and there is none.
    if bytes.get(at) != Some(&0) || at + 1 != size {
        return None;
    }
    Some(Parts {
        timestamp_delta: unzigzag_64(u64::from(timestamp_delta)),
        offset_delta: unzigzag_32(offset_delta),
        key,
        key_is_null: key_len & 1 != 0,
        value,
        value_is_null: value_len & 1 != 0,
        size,
    })
}
