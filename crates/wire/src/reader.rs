//! Reads primitives from the front of a buffer.
//!
//! Invariants: no length is believed before it is compared with the bytes that remain; memory for
//! arrays is charged to an allowance before it is taken, so that a small frame cannot ask for a
//! large decoded form.

use std::borrow::Cow;

use bytes::Bytes;

use crate::error::{DecodeError, Decoded};
use crate::raw_tags::RawTags;
use crate::text;
use crate::uuid::Uuid;
use crate::varint;
use crate::view::{ArrayView, ViewElement};

/// Decoded bytes allowed for any input, on top of what its length allows.
const ALLOWANCE_MIN: usize = 4096;
/// Decoded bytes allowed per byte of input: an element's fixed part may be some tens of times its
/// shortest form on the wire (an empty string is one byte there and 24 here).
const ALLOWANCE_PER_BYTE: usize = 64;
/// Upper bound of the allowance, unless the input alone is larger than a quarter of it.
const ALLOWANCE_MAX: usize = 512 << 20;

/// Most elements of one array, as in the classes of Kafka 4.4.
const ARRAY_ELEMENTS_MAX: usize = 1_000_000;
/// Most fields of one tagged section, as in the classes of Kafka 4.4.
const TAGGED_FIELDS_MAX: usize = 10_000;

/// A cursor over bytes that were received.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    buf: &'a [u8],
    backing: Option<&'a Bytes>,
    allowance: usize,
    len: usize,
}

impl<'a> Reader<'a> {
    /// Over plain bytes; fields of type bytes are copied out.
    pub fn new(buf: &'a [u8]) -> Reader<'a> {
        let allowance =
            buf.len().saturating_mul(ALLOWANCE_PER_BYTE).min(ALLOWANCE_MAX.max(buf.len() * 4));
        Reader { buf, backing: None, allowance: allowance + ALLOWANCE_MIN, len: buf.len() }
    }

    /// Over bytes that only views are read from, which take no memory.
    #[inline]
    pub(crate) fn in_place(buf: &'a [u8]) -> Reader<'a> {
        Reader { buf, backing: None, allowance: 0, len: 0 }
    }

    /// Over shared bytes; fields of type bytes share them.
    pub fn shared(buf: &'a Bytes) -> Reader<'a> {
        Reader { backing: Some(buf), ..Reader::new(buf) }
    }

    /// Memory that decoding may still take, in bytes: [`DecodeError::OverBudget`] before it does.
    pub fn allowance(&self) -> usize {
        self.allowance
    }

    /// Lowers the allowance to `bytes` if it is above.
    pub fn limit_allowance(&mut self, bytes: usize) {
        self.allowance = self.allowance.min(bytes);
    }

    /// Bytes left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.buf.len()
    }

    /// The bytes left, unread.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.buf
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Decoded<&'a [u8]> {
        match self.buf.split_at_checked(n) {
            Some((head, tail)) => {
                self.buf = tail;
                Ok(head)
            }
            None => Err(DecodeError::Truncated { need: n, have: self.buf.len() }),
        }
    }

    /// Goes past `n` bytes.
    #[inline]
    pub fn skip(&mut self, n: usize) -> Decoded<()> {
        self.take(n).map(|_| ())
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        match self.buf.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.buf = tail;
                Ok(*head)
            }
            None => Err(DecodeError::Truncated { need: N, have: self.buf.len() }),
        }
    }

    /// A byte that is false when zero.
    #[inline]
    pub fn bool(&mut self) -> Decoded<bool> {
        Ok(self.fixed::<1>()?[0] != 0)
    }
    /// A signed byte.
    #[inline]
    pub fn i8(&mut self) -> Decoded<i8> {
        Ok(self.fixed::<1>()?[0] as i8)
    }
    /// A big-endian integer.
    #[inline]
    pub fn i16(&mut self) -> Decoded<i16> {
        Ok(i16::from_be_bytes(self.fixed()?))
    }
    /// A big-endian integer.
    #[inline]
    pub fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_be_bytes(self.fixed()?))
    }
    /// A big-endian integer.
    #[inline]
    pub fn i32(&mut self) -> Decoded<i32> {
        Ok(i32::from_be_bytes(self.fixed()?))
    }
    /// A big-endian integer.
    #[inline]
    pub fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_be_bytes(self.fixed()?))
    }
    /// A big-endian integer.
    #[inline]
    pub fn i64(&mut self) -> Decoded<i64> {
        Ok(i64::from_be_bytes(self.fixed()?))
    }
    /// A big-endian IEEE 754 number.
    #[inline]
    pub fn f64(&mut self) -> Decoded<f64> {
        Ok(f64::from_be_bytes(self.fixed()?))
    }
    /// Sixteen bytes.
    #[inline]
    pub fn uuid(&mut self) -> Decoded<Uuid> {
        Ok(Uuid(self.fixed()?))
    }

    /// An unsigned variable-length integer.
    #[inline]
    pub fn uvarint(&mut self) -> Decoded<u32> {
        // Lengths of batches take up to three bytes. Only values go into the slow path: were the
        // reader itself passed on, it could not live in registers.
        let (value, rest) = match *self.buf {
            [a, ref rest @ ..] if a < 0x80 => (u32::from(a), rest),
            [a, b, ref rest @ ..] if b < 0x80 => (u32::from(a & 0x7f) | (u32::from(b) << 7), rest),
            [a, b, c, ref rest @ ..] if c < 0x80 => {
                let low = u32::from(a & 0x7f) | (u32::from(b & 0x7f) << 7);
                (low | (u32::from(c) << 14), rest)
            }
            _ => Self::long_uvarint(self.buf)?,
        };
        self.buf = rest;
        Ok(value)
    }

    #[cold]
    #[inline(never)]
    fn long_uvarint(buf: &[u8]) -> Decoded<(u32, &[u8])> {
        match varint::read_u32(buf) {
            Some((value, n)) => Ok((value, buf.get(n..).unwrap_or_default())),
            None if buf.len() < varint::MAX_LEN_32 => {
                Err(DecodeError::Truncated { need: buf.len() + 1, have: buf.len() })
            }
            None => Err(DecodeError::BadVarint),
        }
    }

    /// Length in front of a string (16 bits, or a varint of length + 1); `None` is null.
    #[inline]
    fn string_len(&mut self, flex: bool) -> Decoded<Option<usize>> {
        let len = if flex { i64::from(self.uvarint()?) - 1 } else { i64::from(self.i16()?) };
        match len {
            0..=0x7fff => Ok(Some(len as usize)),
            len if len < 0 => Ok(None),
            len => Err(DecodeError::BadLength(len)),
        }
    }

    /// Length in front of bytes or an array (32 bits, or a varint of length + 1); `None` is null.
    #[inline]
    fn wide_len(&mut self, flex: bool) -> Decoded<Option<usize>> {
        // The varint is taken as Java takes it: values past i32 wrap to a negative length, null.
        let len = if flex { (self.uvarint()? as i32).wrapping_sub(1) } else { self.i32()? };
        Ok(usize::try_from(len).ok())
    }

    /// Text, borrowed; bytes that are not UTF-8 read as one replacement character, which no
    /// resource can be named.
    #[inline]
    pub fn nullable_str(&mut self, flex: bool) -> Decoded<Option<&'a str>> {
        let Some(len) = self.string_len(flex)? else { return Ok(None) };
        let bytes = self.take(len)?;
        Ok(Some(std::str::from_utf8(bytes).unwrap_or("\u{fffd}")))
    }
    /// Text that cannot be null.
    #[inline]
    pub fn str(&mut self, flex: bool) -> Decoded<&'a str> {
        self.nullable_str(flex)?.ok_or(DecodeError::BadLength(-1))
    }
    /// Text, owned; what is not UTF-8 is replaced as Java does.
    pub fn nullable_string(&mut self, flex: bool) -> Decoded<Option<String>> {
        let Some(len) = self.string_len(flex)? else { return Ok(None) };
        let text = text::lossy(self.take(len)?);
        // Repaired text may have outgrown its room once.
        self.charge(if matches!(text, Cow::Borrowed(_)) { len } else { 6 * len })?;
        Ok(Some(text.into_owned()))
    }
    /// Text that cannot be null, owned.
    pub fn string(&mut self, flex: bool) -> Decoded<String> {
        self.nullable_string(flex)?.ok_or(DecodeError::BadLength(-1))
    }

    /// Bytes, borrowed.
    #[inline]
    pub fn nullable_slice(&mut self, flex: bool) -> Decoded<Option<&'a [u8]>> {
        match self.wide_len(flex)? {
            Some(len) => self.take(len).map(Some),
            None => Ok(None),
        }
    }
    /// Bytes that cannot be null, borrowed.
    #[inline]
    pub fn slice(&mut self, flex: bool) -> Decoded<&'a [u8]> {
        self.nullable_slice(flex)?.ok_or(DecodeError::BadLength(-1))
    }
    /// Bytes; shared with the buffer where it is shared.
    pub fn nullable_bytes(&mut self, flex: bool) -> Decoded<Option<Bytes>> {
        match self.nullable_slice(flex)? {
            Some(slice) => self.share(slice).map(Some),
            None => Ok(None),
        }
    }
    /// Bytes that cannot be null.
    pub fn bytes(&mut self, flex: bool) -> Decoded<Bytes> {
        self.nullable_bytes(flex)?.ok_or(DecodeError::BadLength(-1))
    }

    fn share(&mut self, slice: &'a [u8]) -> Decoded<Bytes> {
        match self.backing {
            Some(backing) => Ok(backing.slice_ref(slice)),
            None => {
                self.charge(slice.len())?;
                Ok(Bytes::copy_from_slice(slice))
            }
        }
    }

    /// Element count of an array; `None` is null. An element takes at least one byte, so a count
    /// above the bytes that remain is refused.
    #[inline]
    pub fn array_len(&mut self, flex: bool) -> Decoded<Option<usize>> {
        match self.wide_len(flex)? {
            Some(count) if count > self.buf.len() => {
                Err(DecodeError::TooManyElements { count, have: self.buf.len() })
            }
            Some(count) if count > ARRAY_ELEMENTS_MAX => {
                Err(DecodeError::AboveLimit { count, max: ARRAY_ELEMENTS_MAX })
            }
            other => Ok(other),
        }
    }

    fn charge(&mut self, bytes: usize) -> Decoded<()> {
        self.allowance =
            self.allowance.checked_sub(bytes).ok_or(DecodeError::OverBudget(self.len))?;
        Ok(())
    }

    /// An array, owned.
    pub fn nullable_vec<T>(
        &mut self,
        flex: bool,
        element: impl FnMut(&mut Self) -> Decoded<T>,
    ) -> Decoded<Option<Vec<T>>> {
        match self.charged_len(flex, size_of::<T>())? {
            Some(count) => self.elements(count, element).map(Some),
            None => Ok(None),
        }
    }
    /// An array that cannot be null, owned.
    pub fn vec<T>(
        &mut self,
        flex: bool,
        element: impl FnMut(&mut Self) -> Decoded<T>,
    ) -> Decoded<Vec<T>> {
        match self.charged_len(flex, size_of::<T>())? {
            Some(count) => self.elements(count, element),
            None => Err(DecodeError::BadLength(-1)),
        }
    }

    // Hundreds of types have arrays: what does not depend on the type is compiled once.
    #[inline(never)]
    fn charged_len(&mut self, flex: bool, size: usize) -> Decoded<Option<usize>> {
        let Some(count) = self.array_len(flex)? else { return Ok(None) };
        self.charge(count.saturating_mul(size))?;
        Ok(Some(count))
    }

    fn elements<T>(
        &mut self,
        count: usize,
        mut element: impl FnMut(&mut Self) -> Decoded<T>,
    ) -> Decoded<Vec<T>> {
        let mut out = Vec::with_capacity(count);
        while out.len() < count {
            out.push(element(self)?);
        }
        Ok(out)
    }

    /// An array read in place: every element is checked now, and decoded again when iterated.
    #[inline]
    pub fn nullable_array_view<T: ViewElement<'a>>(
        &mut self,
        flex: bool,
        version: i16,
    ) -> Decoded<Option<ArrayView<'a, T>>> {
        let Some(count) = self.array_len(flex)? else { return Ok(None) };
        let start = self.buf;
        for _ in 0..count {
            T::skip(self, version)?;
        }
        let used = start.len() - self.buf.len();
        Ok(Some(ArrayView::new(&start[..used], count, version)))
    }
    /// An array that cannot be null, read in place; `each` is given every element on the way.
    #[inline]
    pub fn array_view_each<T: ViewElement<'a>>(
        &mut self,
        flex: bool,
        version: i16,
        mut each: impl FnMut(&mut Self) -> Decoded<()>,
    ) -> Decoded<ArrayView<'a, T>> {
        let count = self.array_len(flex)?.ok_or(DecodeError::BadLength(-1))?;
        let start = self.buf;
        for _ in 0..count {
            each(self)?;
        }
        let used = start.len() - self.buf.len();
        Ok(ArrayView::new(&start[..used], count, version))
    }

    /// An array that cannot be null, read in place.
    #[inline]
    pub fn array_view<T: ViewElement<'a>>(
        &mut self,
        flex: bool,
        version: i16,
    ) -> Decoded<ArrayView<'a, T>> {
        self.nullable_array_view(flex, version)?.ok_or(DecodeError::BadLength(-1))
    }

    /// Goes past text.
    #[inline]
    pub fn skip_str(&mut self, flex: bool, nullable: bool) -> Decoded<()> {
        match self.string_len(flex)? {
            Some(len) => self.skip(len),
            None if nullable => Ok(()),
            None => Err(DecodeError::BadLength(-1)),
        }
    }

    /// Goes past an array and checks every element.
    #[inline]
    pub fn skip_array<T: ViewElement<'a>>(
        &mut self,
        flex: bool,
        version: i16,
        nullable: bool,
    ) -> Decoded<()> {
        match self.array_len(flex)? {
            Some(count) => (0..count).try_for_each(|_| T::skip(self, version)),
            None if nullable => Ok(()),
            None => Err(DecodeError::BadLength(-1)),
        }
    }

    /// Goes past a tagged section of which no field is known.
    #[inline]
    pub fn skip_tags(&mut self) -> Decoded<()> {
        // Nearly always there are none.
        self.buf = match *self.buf {
            [0, ref rest @ ..] => rest,
            _ => Reader::in_place(self.buf).rest_after_tags()?,
        };
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn rest_after_tags(mut self) -> Decoded<&'a [u8]> {
        let count = self.tag_count()?;
        for _ in 0..count {
            self.uvarint()?;
            let size = self.uvarint()?;
            self.skip(size as usize)?;
        }
        Ok(self.buf)
    }

    /// Fields of a tagged section, of which each takes two bytes at least.
    #[inline]
    fn tag_count(&mut self) -> Decoded<usize> {
        let count = self.uvarint()? as usize;
        if count > self.buf.len() {
            return Err(DecodeError::TooManyElements { count, have: self.buf.len() });
        }
        if count > TAGGED_FIELDS_MAX {
            return Err(DecodeError::AboveLimit { count, max: TAGGED_FIELDS_MAX });
        }
        Ok(count)
    }

    /// The tagged section of which no field is known: all are kept.
    pub fn unknown_tags(&mut self) -> Decoded<RawTags> {
        let mut unknown = RawTags::default();
        match *self.buf {
            // Nearly always there are none.
            [0, ref rest @ ..] => self.buf = rest,
            _ => self.tags(Some(&mut unknown), |_, _| Ok(false))?,
        }
        Ok(unknown)
    }

    /// The tagged section: `known` reads a tag it knows and says so; others are kept or skipped.
    #[inline]
    pub fn tags(
        &mut self,
        mut unknown: Option<&mut RawTags>,
        mut known: impl FnMut(&mut Self, u32) -> Decoded<bool>,
    ) -> Decoded<()> {
        let count = self.tag_count()?;
        for _ in 0..count {
            let tag = self.uvarint()?;
            let size = self.uvarint()? as usize;
            let body = self.take(size)?;
            let rest = std::mem::replace(&mut self.buf, body);
            if known(self, tag)? {
                if !self.buf.is_empty() {
                    return Err(DecodeError::BadLength(size as i64));
                }
            } else if let Some(raw) = unknown.as_deref_mut() {
                self.charge(raw.cost())?;
                let value = self.share(body)?;
                raw.push(tag, value);
            }
            self.buf = rest;
        }
        Ok(())
    }
}
