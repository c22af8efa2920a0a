//! Unsigned and zig-zag variable-length integers, as the protocol's flexible versions and record
//! batches use them.
//!
//! Reading returns the value and the bytes it took, or `None` for input that ends early or runs
//! past the widest legal encoding (5 bytes for 32 bits, 10 for 64). Kafka accepts over-long
//! encodings such as `80 00` for zero, so these do too; like Kafka's reader, bits of the last byte
//! that do not fit are dropped.

/// Longest encoding of a 32-bit value.
pub const MAX_LEN_32: usize = 5;
/// Longest encoding of a 64-bit value.
pub const MAX_LEN_64: usize = 10;

/// Reads an unsigned 32-bit varint from the front of `buf`.
#[inline]
pub fn read_u32(buf: &[u8]) -> Option<(u32, usize)> {
    // Nearly every length and tag count is one byte long.
    let first = *buf.first()?;
    if first < 0x80 {
        return Some((u32::from(first), 1));
    }
    let mut value = u32::from(first & 0x7f);
    let mut shift = 7;
    for (i, &byte) in buf.iter().enumerate().take(MAX_LEN_32).skip(1) {
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((value, i + 1));
        }
        shift += 7;
    }
    None
}

/// Reads an unsigned 64-bit varint from the front of `buf`.
#[inline]
pub fn read_u64(buf: &[u8]) -> Option<(u64, usize)> {
    let first = *buf.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7;
    for (i, &byte) in buf.iter().enumerate().take(MAX_LEN_64).skip(1) {
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((value, i + 1));
        }
        shift += 7;
    }
    None
}

/// Reads a zig-zag 32-bit varint from the front of `buf`.
#[inline]
pub fn read_i32(buf: &[u8]) -> Option<(i32, usize)> {
    read_u32(buf).map(|(v, n)| (unzigzag_32(v), n))
}

/// Reads a zig-zag 64-bit varint from the front of `buf`.
#[inline]
pub fn read_i64(buf: &[u8]) -> Option<(i64, usize)> {
    read_u64(buf).map(|(v, n)| (unzigzag_64(v), n))
}

/// Encodes an unsigned 32-bit varint; the second value is the bytes used.
#[inline]
pub fn encode_u32(mut value: u32) -> ([u8; MAX_LEN_32], usize) {
    let mut out = [0; MAX_LEN_32];
    let mut n = 0;
    while value >= 0x80 {
        out[n] = (value as u8) | 0x80;
        value >>= 7;
        n += 1;
    }
    out[n] = value as u8;
    (out, n + 1)
}

/// Encodes an unsigned 64-bit varint; the second value is the bytes used.
#[inline]
pub fn encode_u64(mut value: u64) -> ([u8; MAX_LEN_64], usize) {
    let mut out = [0; MAX_LEN_64];
    let mut n = 0;
    while value >= 0x80 {
        out[n] = (value as u8) | 0x80;
        value >>= 7;
        n += 1;
    }
    out[n] = value as u8;
    (out, n + 1)
}

/// Appends an unsigned 32-bit varint to `out`.
#[inline]
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    let (bytes, n) = encode_u32(value);
    out.extend_from_slice(&bytes[..n]);
}

/// Appends a zig-zag 32-bit varint to `out`.
#[inline]
pub fn put_i32(out: &mut Vec<u8>, value: i32) {
    put_u32(out, zigzag_32(value));
}

/// Appends a zig-zag 64-bit varint to `out`.
#[inline]
pub fn put_i64(out: &mut Vec<u8>, value: i64) {
    let (bytes, n) = encode_u64(zigzag_64(value));
    out.extend_from_slice(&bytes[..n]);
}

/// Bytes an unsigned 32-bit varint takes.
#[inline]
pub const fn len_u32(value: u32) -> usize {
    (38 - value.leading_zeros() as usize) / 7 + (value == 0) as usize
}

/// Bytes an unsigned 64-bit varint takes.
#[inline]
pub const fn len_u64(value: u64) -> usize {
    (70 - value.leading_zeros() as usize) / 7 + (value == 0) as usize
}

/// Bytes a zig-zag 32-bit varint takes.
#[inline]
pub const fn len_i32(value: i32) -> usize {
    len_u32(zigzag_32(value))
}

/// Bytes a zig-zag 64-bit varint takes.
#[inline]
pub const fn len_i64(value: i64) -> usize {
    len_u64(zigzag_64(value))
}

/// Maps a signed value to its zig-zag form.
#[inline]
pub const fn zigzag_32(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

/// Maps a signed value to its zig-zag form.
#[inline]
pub const fn zigzag_64(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Maps a zig-zag value back.
#[inline]
pub const fn unzigzag_32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// Maps a zig-zag value back.
#[inline]
pub const fn unzigzag_64(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_agree_with_encodings() {
        for shift in 0..64 {
            for delta in [-1i64, 0, 1] {
                let v = (1u64 << shift).wrapping_add(delta as u64);
                let (bytes, n) = encode_u64(v);
                assert_eq!(n, len_u64(v), "{v}");
                assert_eq!(read_u64(&bytes[..n]), Some((v, n)));
                assert_eq!(read_u64(&bytes[..n - 1]), None);
                let v = v as u32;
                let (bytes, n) = encode_u32(v);
                assert_eq!(n, len_u32(v), "{v}");
                assert_eq!(read_u32(&bytes[..n]), Some((v, n)));
            }
        }
    }

    #[test]
    fn zigzag_round_trips() {
        for v in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag_64(zigzag_64(v)), v);
            let v = v as i32;
            assert_eq!(unzigzag_32(zigzag_32(v)), v);
        }
    }

    #[test]
    fn encodings_past_the_widest_are_refused() {
        assert_eq!(read_u32(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x01]), None);
        assert_eq!(read_u64(&[0x80; 11]), None);
        assert_eq!(read_u32(&[]), None);
        assert_eq!(read_u32(&[0x80, 0x00]), Some((0, 2)));
    }
}
