//! Writes primitives into a frame that is a list of segments: bytes written here, bytes shared from
//! elsewhere, and ranges that only the shell can reach (files). Record bytes are never copied.

use bytes::Bytes;

use crate::error::{EncodeError, Encoded};
use crate::raw_tags::RawTags;
use crate::uuid::Uuid;
use crate::varint;

/// Shared bytes shorter than this are copied: a segment of their own would cost more.
const SHARE_FROM: usize = 1024;

/// What stands between the bytes written in place.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment {
    /// Bytes held elsewhere.
    Bytes(Bytes),
    /// `len` bytes that the shell knows under `id` (a range of a file).
    External {
        /// The shell's name for the range.
        id: u32,
        /// Its length in bytes.
        len: u32,
    },
}

impl Segment {
    /// Bytes of the segment.
    pub fn len(&self) -> usize {
        match self {
            Segment::Bytes(bytes) => bytes.len(),
            Segment::External { len, .. } => *len as usize,
        }
    }

    /// Whether the segment has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A field of type records that is written without being copied.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RecordsRef<'a> {
    /// Null.
    #[default]
    Null,
    /// Copied into the frame: for small pieces.
    Inline(&'a [u8]),
    /// Shared with the frame.
    Shared(Bytes),
    /// Several shared pieces, one after the other.
    Pieces(&'a [Bytes]),
    /// A range that the shell puts in place.
    External {
        /// The shell's name for the range.
        id: u32,
        /// Its length in bytes.
        len: u32,
    },
}

impl RecordsRef<'_> {
    /// Whether the field is null.
    pub fn is_null(&self) -> bool {
        matches!(self, RecordsRef::Null)
    }

    /// Bytes of the field; 0 for null.
    pub fn len(&self) -> usize {
        match self {
            RecordsRef::Null => 0,
            RecordsRef::Inline(bytes) => bytes.len(),
            RecordsRef::Shared(bytes) => bytes.len(),
            RecordsRef::Pieces(pieces) => pieces.iter().map(Bytes::len).sum(),
            RecordsRef::External { len, .. } => *len as usize,
        }
    }

    /// Whether the field has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Builds one frame; reusable, so that a connection allocates once.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    buf: Vec<u8>,
    /// Segments with the position in `buf` that they stand before.
    segments: Vec<(usize, Segment)>,
    segment_bytes: usize,
}

/// Where a tagged field began, for [`Writer::end_tag`].
#[derive(Debug)]
pub struct TagMark(usize);

impl Writer {
    /// An empty frame.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// An empty frame with room for `capacity` inline bytes.
    pub fn with_capacity(capacity: usize) -> Writer {
        Writer { buf: Vec::with_capacity(capacity), ..Writer::default() }
    }

    /// Empties the frame; keeps its memory.
    pub fn clear(&mut self) {
        self.buf.clear();
        self.segments.clear();
        self.segment_bytes = 0;
    }

    /// Inline bytes the frame has room for without growing.
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    /// Bytes of the frame, segments included.
    pub fn len(&self) -> usize {
        self.buf.len() + self.segment_bytes
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes written in place.
    pub fn inline(&self) -> &[u8] {
        &self.buf
    }

    /// The bytes written in place, to be patched.
    pub fn inline_mut(&mut self) -> &mut [u8] {
        &mut self.buf
    }

    /// Segments and the inline positions they stand before, in order.
    pub fn segments(&self) -> &[(usize, Segment)] {
        &self.segments
    }

    /// The frame taken apart: inline bytes and segments.
    pub fn into_parts(self) -> (Vec<u8>, Vec<(usize, Segment)>) {
        (self.buf, self.segments)
    }

    /// The whole frame in one piece; external ranges, which only the shell can read, are left out.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len());
        let mut at = 0;
        for (position, segment) in &self.segments {
            out.extend_from_slice(&self.buf[at..*position]);
            at = *position;
            if let Segment::Bytes(bytes) = segment {
                out.extend_from_slice(bytes);
            }
        }
        out.extend_from_slice(&self.buf[at..]);
        out
    }

    /// Keeps room for the 4-byte frame length.
    pub fn begin_frame(&mut self) {
        self.clear();
        self.buf.extend_from_slice(&[0; 4]);
    }

    /// Sets the frame length that [`Self::begin_frame`] left room for.
    pub fn end_frame(&mut self) -> Encoded {
        let len = self.len() - 4;
        let value = i32::try_from(len).map_err(|_| EncodeError::TooLong(len))?;
        self.buf[..4].copy_from_slice(&value.to_be_bytes());
        Ok(())
    }

    /// Bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
    }
    /// One byte, 0 or 1.
    #[inline]
    pub fn bool(&mut self, v: bool) {
        self.buf.push(u8::from(v));
    }
    /// One byte.
    #[inline]
    pub fn i8(&mut self, v: i8) {
        self.buf.push(v as u8);
    }
    /// A big-endian integer.
    #[inline]
    pub fn i16(&mut self, v: i16) {
        self.raw(&v.to_be_bytes());
    }
    /// A big-endian integer.
    #[inline]
    pub fn u16(&mut self, v: u16) {
        self.raw(&v.to_be_bytes());
    }
    /// A big-endian integer.
    #[inline]
    pub fn i32(&mut self, v: i32) {
        self.raw(&v.to_be_bytes());
    }
    /// A big-endian integer.
    #[inline]
    pub fn u32(&mut self, v: u32) {
        self.raw(&v.to_be_bytes());
    }
    /// A big-endian integer.
    #[inline]
    pub fn i64(&mut self, v: i64) {
        self.raw(&v.to_be_bytes());
    }
    /// A big-endian IEEE 754 number.
    #[inline]
    pub fn f64(&mut self, v: f64) {
        self.raw(&v.to_be_bytes());
    }
    /// Sixteen bytes.
    #[inline]
    pub fn uuid(&mut self, v: Uuid) {
        self.raw(&v.0);
    }
    /// An unsigned variable-length integer.
    #[inline]
    pub fn uvarint(&mut self, v: u32) {
        // Pieces of fixed size are plain stores; lengths of batches take up to three bytes.
        const MORE: u8 = 0x80;
        match v {
            0..0x80 => self.buf.push(v as u8),
            0x80..0x4000 => self.raw(&[v as u8 | MORE, (v >> 7) as u8]),
            0x4000..0x20_0000 => {
                self.raw(&[v as u8 | MORE, (v >> 7) as u8 | MORE, (v >> 14) as u8]);
            }
            _ => self.long_uvarint(v),
        }
    }

    #[cold]
    #[inline(never)]
    fn long_uvarint(&mut self, v: u32) {
        varint::put_u32(&mut self.buf, v);
    }

    /// Text.
    #[inline]
    pub fn string(&mut self, flex: bool, v: &str) -> Encoded {
        if v.len() > 0x7fff {
            return Err(EncodeError::TooLong(v.len()));
        }
        if flex {
            self.uvarint(v.len() as u32 + 1)
        } else {
            self.i16(v.len() as i16)
        }
        self.raw(v.as_bytes());
        Ok(())
    }
    /// Text or null.
    #[inline]
    pub fn nullable_string(&mut self, flex: bool, v: Option<&str>) -> Encoded {
        match v {
            Some(v) => self.string(flex, v),
            None => {
                if flex {
                    self.uvarint(0)
                } else {
                    self.i16(-1)
                }
                Ok(())
            }
        }
    }

    /// Length of bytes or an array, or null.
    #[inline(always)]
    fn wide_len(&mut self, flex: bool, len: Option<usize>) -> Encoded {
        let Some(len) = len else {
            if flex {
                self.uvarint(0)
            } else {
                self.i32(-1)
            }
            return Ok(());
        };
        if len >= i32::MAX as usize {
            return Err(EncodeError::TooLong(len));
        }
        if flex {
            self.uvarint(len as u32 + 1)
        } else {
            self.i32(len as i32)
        }
        Ok(())
    }

    /// Bytes, copied into the frame.
    pub fn bytes(&mut self, flex: bool, v: &[u8]) -> Encoded {
        self.nullable_bytes(flex, Some(v))
    }
    /// Bytes or null, copied into the frame.
    pub fn nullable_bytes(&mut self, flex: bool, v: Option<&[u8]>) -> Encoded {
        self.wide_len(flex, v.map(<[u8]>::len))?;
        self.raw(v.unwrap_or_default());
        Ok(())
    }
    /// Bytes or null, shared with the frame when they are many.
    pub fn shared_bytes(&mut self, flex: bool, v: Option<&Bytes>) -> Encoded {
        self.wide_len(flex, v.map(Bytes::len))?;
        if let Some(v) = v {
            self.share(v);
        }
        Ok(())
    }
    /// A field of type records.
    #[inline]
    pub fn records(&mut self, flex: bool, v: &RecordsRef<'_>) -> Encoded {
        match v {
            RecordsRef::Null => self.wide_len(flex, None),
            RecordsRef::External { id, len } => {
                self.wide_len(flex, Some(*len as usize))?;
                if *len > 0 {
                    self.segment(Segment::External { id: *id, len: *len });
                }
                Ok(())
            }
            RecordsRef::Inline(bytes) => self.nullable_bytes(flex, Some(bytes)),
            RecordsRef::Shared(bytes) => self.shared_bytes(flex, Some(bytes)),
            RecordsRef::Pieces(pieces) => {
                self.wide_len(flex, Some(v.len()))?;
                pieces.iter().for_each(|bytes| self.share(bytes));
                Ok(())
            }
        }
    }

    #[inline]
    fn share(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARE_FROM {
            self.raw(bytes);
        } else {
            self.segment(Segment::Bytes(bytes.clone()));
        }
    }

    #[inline]
    fn segment(&mut self, segment: Segment) {
        self.segment_bytes += segment.len();
        self.segments.push((self.buf.len(), segment));
    }

    /// An array or null.
    #[inline]
    pub fn array<T>(
        &mut self,
        flex: bool,
        v: Option<&[T]>,
        mut element: impl FnMut(&mut Self, &T) -> Encoded,
    ) -> Encoded {
        self.array_len(flex, v.map(<[T]>::len))?;
        for item in v.unwrap_or_default() {
            element(self, item)?;
        }
        Ok(())
    }

    // Hundreds of types have arrays: what does not depend on the type is compiled once.
    #[inline(never)]
    fn array_len(&mut self, flex: bool, len: Option<usize>) -> Encoded {
        self.wide_len(flex, len)
    }

    /// Starts a tagged field.
    pub fn begin_tag(&mut self, tag: u32) -> TagMark {
        self.uvarint(tag);
        // Room for a one-byte size, which nearly every tagged field has.
        self.buf.push(0);
        TagMark(self.buf.len())
    }

    /// Ends a tagged field: its size goes in front of it.
    pub fn end_tag(&mut self, mark: TagMark) {
        debug_assert!(self.segments.last().is_none_or(|(at, _)| *at < mark.0));
        let size = (self.buf.len() - mark.0) as u32;
        let (bytes, n) = varint::encode_u32(size);
        self.buf.splice(mark.0 - 1..mark.0, bytes[..n].iter().copied());
    }

    /// The whole tagged section, all of it unknown fields.
    #[inline]
    pub fn raw_tags(&mut self, tags: &RawTags) -> Encoded {
        self.uvarint(tags.len() as u32);
        self.raw_tags_below(None, &mut tags.as_slice())
    }

    /// The tagged section of a version that may have none, all of it unknown fields of a message or a part
    /// of one.
    pub(crate) fn unknown_tags(
        &mut self,
        flex: bool,
        tags: &RawTags,
        message: &'static str,
        version: i16,
    ) -> Encoded {
        if flex {
            self.raw_tags(tags)
        } else if tags.is_empty() {
            Ok(())
        } else {
            Err(EncodeError::NotInVersion { message, field: "unknown_tags", version })
        }
    }

    /// Unknown fields whose tags come before `below`, or all that are left.
    #[inline]
    pub fn raw_tags_below(&mut self, below: Option<u32>, tags: &mut &[(u32, Bytes)]) -> Encoded {
        while let [(tag, value), rest @ ..] = *tags {
            match below {
                Some(below) if *tag > below => break,
                Some(below) if *tag == below => return Err(EncodeError::BadTag(*tag)),
                _ => {}
            }
            if let Some((next, _)) = rest.first()
                && next <= tag
            {
                return Err(EncodeError::BadTag(*next));
            }
            let len = i32::try_from(value.len()).map_err(|_| EncodeError::TooLong(value.len()))?;
            self.uvarint(*tag);
            self.uvarint(len as u32);
            self.raw(value);
            *tags = rest;
        }
        Ok(())
    }
}
