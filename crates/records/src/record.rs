//! Records inside a batch: lazy views over the bytes, nothing copied.
//!
//! A record: length (varint), attributes i8, timestamp delta (varlong), offset delta (varint), key
//! and value (varint length, -1 for null, bytes), headers (varint count; key and value each with
//! a varint length). Deltas refer to the batch's base offset and base timestamp.
//!
//! The views read as strictly as Kafka's own reader: fields must fill the record's length exactly.

use thalweg_wire::varint;

use crate::batch::{BatchView, Compression, TimestampType};
use crate::codec::{CodecError, Decompressor};
use crate::quick;

/// Why bytes are not a record, or not the records their batch claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordFault {
    /// A record's length is not a varint. Apart from the rest because Kafka reports it as an
    /// internal error when the batch is not compressed.
    #[error("length of a record is not a valid varint")]
    LengthVarint,
    /// The bytes end before the record does.
    #[error("records end before the last one is complete")]
    Truncated,
    /// A field has no legal value or does not fit.
    #[error("a record's {0}")]
    Structure(&'static str),
    /// The batch's record count is negative.
    #[error("record count {0} is negative")]
    NegativeCount(i32),
    /// Bytes are left behind the last record.
    #[error("bytes are left behind the last record")]
    Trailing,
    /// A record of a compressed batch is larger than `max.decompressed.message.bytes`.
    #[error("a record's size of {size} bytes is larger than max.decompressed.message.bytes, {max}")]
    TooLarge {
        /// Bytes of the record without its length field.
        size: i32,
        /// `max.decompressed.message.bytes`.
        max: i32,
    },
}

/// Default and largest value of `max.decompressed.message.bytes`.
pub const MAX_DECOMPRESSED_RECORD_BYTES: i32 = i32::MAX - 8;

/// Checks the length field of a record that comes out of a codec, as Kafka 4.4 does before it reads the rest.
#[inline]
pub(crate) fn check_size(size: i32, max: i32) -> Result<usize, RecordFault> {
    match usize::try_from(size) {
        Ok(_) if size > max => Err(RecordFault::TooLarge { size, max }),
        Ok(size) => Ok(size),
        Err(_) => Err(RecordFault::Structure("length is negative")),
    }
}

/// Why the records of a compressed batch cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// Decompression failed.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A record is broken.
    #[error(transparent)]
    Record(#[from] RecordFault),
    /// The attributes name a codec that does not exist.
    #[error("compression codec {0} is not defined")]
    UndefinedCodec(u8),
}

/// One record, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since the epoch; the append time under `LogAppendTime`; -1 for none.
    pub timestamp: i64,
    /// Key; `None` is null, which is not the same as empty.
    pub key: Option<&'a [u8]>,
    /// Value; `None` is null, a tombstone on compacted topics.
    pub value: Option<&'a [u8]>,
    /// Headers, in the producer's order.
    pub headers: Headers<'a>,
    /// Bytes the record takes in the (decompressed) batch, its length field included.
    pub size: usize,
}

/// The headers of a record; iterate a copy to read them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Headers<'a> {
    left: u32,
    bytes: &'a [u8],
}

/// One header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Name; UTF-8 unless the producer is broken.
    pub key: &'a [u8],
    /// Value; `None` is null.
    pub value: Option<&'a [u8]>,
}

/// From a name and a value; `Option` for a value that may be null.
impl<'a, K, V> From<(&'a K, &'a V)> for Header<'a>
where
    K: AsRef<[u8]> + ?Sized,
    V: AsRef<[u8]> + ?Sized,
{
    fn from((key, value): (&'a K, &'a V)) -> Header<'a> {
        Header { key: key.as_ref(), value: Some(value.as_ref()) }
    }
}

impl<'a, K, V> From<(&'a K, Option<&'a V>)> for Header<'a>
where
    K: AsRef<[u8]> + ?Sized,
    V: AsRef<[u8]> + ?Sized,
{
    fn from((key, value): (&'a K, Option<&'a V>)) -> Header<'a> {
        Header { key: key.as_ref(), value: value.map(AsRef::as_ref) }
    }
}

impl Headers<'_> {
    /// Number of headers left.
    pub fn len(&self) -> usize {
        self.left as usize
    }

    /// Whether there are none left.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        if self.left == 0 {
            return None;
        }
        // Checked when the record was read, so nothing is missing here.
        let mut at = 0;
        let key = take(self.bytes, &mut at, "header key").ok()??;
        let value = take(self.bytes, &mut at, "header value").ok()?;
        self.left -= 1;
        self.bytes = self.bytes.get(at..).unwrap_or_default();
        Some(Header { key, value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

/// What a batch's header says about its records' offsets and timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordContext {
    /// Offset that the deltas refer to.
    pub base_offset: i64,
    /// Timestamp that the deltas refer to.
    pub base_timestamp: i64,
    /// Append time, which replaces all timestamps.
    pub log_append_time: Option<i64>,
    /// Records, as the header says.
    pub count: i32,
}

impl RecordContext {
    /// From a batch's header.
    pub fn of(batch: &BatchView<'_>) -> RecordContext {
        RecordContext {
            base_offset: batch.base_offset(),
            base_timestamp: batch.base_timestamp(),
            log_append_time: (batch.timestamp_type() == TimestampType::LogAppendTime)
                .then(|| batch.max_timestamp()),
            count: batch.record_count(),
        }
    }

    /// Reads the record that begins `bytes`; also returns its length.
    #[inline]
    pub fn read<'a>(&self, bytes: &'a [u8]) -> Result<(Record<'a>, usize), RecordFault> {
        let Some(parts) = quick::parts(bytes) else { return self.read_any(bytes) };
        let record = Record {
            offset: self.base_offset.wrapping_add(i64::from(parts.offset_delta)),
            timestamp: self
                .log_append_time
                .unwrap_or_else(|| self.base_timestamp.wrapping_add(parts.timestamp_delta)),
            key: (!parts.key_is_null).then(|| &bytes[parts.key]),
            value: (!parts.value_is_null).then(|| &bytes[parts.value]),
            headers: Headers::default(),
            size: parts.size,
        };
        Ok((record, parts.size))
    }

    /// As [`Self::read`], for whoever wants to know no more than that there is a sound record, its
    /// offset, and where the next one begins.
    #[inline]
    pub fn step(&self, bytes: &[u8]) -> Result<(i64, usize), RecordFault> {
        match quick::parts(bytes) {
            Some(parts) => {
                Ok((self.base_offset.wrapping_add(i64::from(parts.offset_delta)), parts.size))
            }
            None => self.read_any(bytes).map(|(record, len)| (record.offset, len)),
        }
    }

    #[inline(never)]
    fn read_any<'a>(&self, bytes: &'a [u8]) -> Result<(Record<'a>, usize), RecordFault> {
        let (len, at) = read_length(bytes)?;
        let len = usize::try_from(len).map_err(|_| RecordFault::Structure("length is negative"))?;
        let body = bytes[at..].get(..len).ok_or(RecordFault::Truncated)?;
        Ok((self.read_body(body, at + len)?, at + len))
    }

    fn read_body<'a>(&self, body: &'a [u8], size: usize) -> Result<Record<'a>, RecordFault> {
        const SHORT: RecordFault = RecordFault::Structure("fields do not fit its length");
        const BAD_DELTA: RecordFault = RecordFault::Structure("delta is not a valid varint");
        // One byte of attributes, of which none is defined.
        let mut at = 1;
        let (timestamp_delta, n) =
            varint::read_i64(body.get(at..).ok_or(SHORT)?).ok_or(BAD_DELTA)?;
        at += n;
        let (offset_delta, n) = varint::read_i32(&body[at..]).ok_or(BAD_DELTA)?;
        at += n;
        let key = take(body, &mut at, "key does not fit its length")?;
        let value = take(body, &mut at, "value does not fit its length")?;
        let (count, n) = varint::read_i32(&body[at..])
            .ok_or(RecordFault::Structure("header count is not a valid varint"))?;
        at += n;
        let headers = &body[at..];
        let count = u32::try_from(count)
            .ok()
            .filter(|&count| count as usize <= headers.len())
            .ok_or(RecordFault::Structure("header count is out of range"))?;
        for _ in 0..count {
            if take(body, &mut at, "header key does not fit its length")?.is_none() {
                return Err(RecordFault::Structure("header key has a negative length"));
            }
            take(body, &mut at, "header value does not fit its length")?;
        }
        if at != body.len() {
            return Err(SHORT);
        }
        Ok(Record {
            offset: self.base_offset.wrapping_add(i64::from(offset_delta)),
            timestamp: self
                .log_append_time
                .unwrap_or_else(|| self.base_timestamp.wrapping_add(timestamp_delta)),
            key,
            value,
            headers: Headers { left: count, bytes: headers },
            size,
        })
    }

    /// Iterates the records in `bytes`, which are not (or no longer) compressed.
    pub fn iter(self, bytes: &[u8]) -> RecordIter<'_> {
        RecordIter { context: self, left: i64::from(self.count), bytes }
    }
}

/// A length field and the bytes it takes.
pub(crate) fn read_length(bytes: &[u8]) -> Result<(i32, usize), RecordFault> {
    varint::read_i32(bytes).ok_or(if bytes.len() < varint::MAX_LEN_32 {
        RecordFault::Truncated
    } else {
        RecordFault::LengthVarint
    })
}

/// Bytes behind a varint length, of which negative ones mean null.
#[inline]
fn take<'a>(
    body: &'a [u8],
    at: &mut usize,
    what: &'static str,
) -> Result<Option<&'a [u8]>, RecordFault> {
    let fault = RecordFault::Structure(what);
    let (len, n) = varint::read_i32(body.get(*at..).ok_or(fault)?).ok_or(fault)?;
    *at += n;
    let Ok(len) = usize::try_from(len) else { return Ok(None) };
    let bytes = body[*at..].get(..len).ok_or(fault)?;
    *at += len;
    Ok(Some(bytes))
}

/// Iterator over the records of a batch that is not compressed. Ends after the first error; bytes
/// left behind the last record are one.
#[derive(Clone, Debug)]
pub struct RecordIter<'a> {
    context: RecordContext,
    left: i64,
    bytes: &'a [u8],
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = Result<Record<'a>, RecordFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left <= 0 {
            let fault = if self.left < 0 {
                RecordFault::NegativeCount(self.context.count)
            } else if !self.bytes.is_empty() && self.context.count > 0 {
                RecordFault::Trailing
            } else {
                return None;
            };
            self.left = 0;
            self.bytes = &[];
            return Some(Err(fault));
        }
        match self.context.read(self.bytes) {
            Ok((record, len)) => {
                self.left -= 1;
                self.bytes = &self.bytes[len..];
                Some(Ok(record))
            }
            Err(fault) => {
                self.left = 0;
                self.bytes = &[];
                Some(Err(fault))
            }
        }
    }
}

/// The codec of a batch, or the error its undefined id is.
fn codec_of(batch: &BatchView<'_>) -> Result<Compression, ReadError> {
    batch.compression().ok_or(ReadError::UndefinedCodec((batch.attributes() & 0x07) as u8))
}

/// The decompressed records of `batch`, onto the end of `out`; at most `limit` bytes. Iterate them
/// with [`RecordContext::iter`]. For a batch that is not compressed [`BatchView::payload`] needs no copy.
pub fn decompress(
    batch: &BatchView<'_>,
    decompressor: &mut Decompressor,
    limit: u64,
    out: &mut Vec<u8>,
) -> Result<usize, ReadError> {
    Ok(decompressor.decompress_into(codec_of(batch)?, batch.payload(), limit, out)?)
}

/// Reads the records of one batch, compressed or not, through a window that never holds more than
/// one record and one piece of the stream: for whoever needs keys and values of batches of any
/// size (loading, compaction, recompression).
pub struct RecordReader {
    context: RecordContext,
    left: i64,
    /// Bytes of the record handed out last.
    taken: usize,
    /// Largest record, its length field not included.
    max_record_bytes: i32,
}

impl RecordReader {
    /// Begins on `batch`; at most `limit` bytes may come out of its stream. The same batch and
    /// decompressor must go to each [`Self::next`].
    pub fn new(
        batch: &BatchView<'_>,
        decompressor: &mut Decompressor,
        limit: u64,
    ) -> Result<RecordReader, ReadError> {
        RecordReader::bounded(batch, decompressor, limit, MAX_DECOMPRESSED_RECORD_BYTES)
    }

    /// As [`Self::new`]; a record of a compressed batch may have at most `max_record_bytes`
    /// (`max.decompressed.message.bytes`). Records of other batches have the batch's own bound.
    pub fn bounded(
        batch: &BatchView<'_>,
        decompressor: &mut Decompressor,
        limit: u64,
        max_record_bytes: i32,
    ) -> Result<RecordReader, ReadError> {
        let context = RecordContext::of(batch);
        // As Kafka does, a batch without records is not opened at all.
        if context.count != 0 {
            decompressor.begin(codec_of(batch)?, batch.payload(), limit)?;
            if context.count < 0 {
                return Err(RecordFault::NegativeCount(context.count).into());
            }
        }
        let is_compressed = batch.compression() != Some(Compression::None);
        let max_record_bytes = if is_compressed { max_record_bytes } else { i32::MAX };
        Ok(RecordReader { context, left: i64::from(context.count), taken: 0, max_record_bytes })
    }

    /// The next record; `None` after the last, once it is known that nothing follows it.
    pub fn next<'d>(
        &mut self,
        batch: &BatchView<'_>,
        decompressor: &'d mut Decompressor,
    ) -> Result<Option<Record<'d>>, ReadError> {
        decompressor.consume(self.taken);
        self.taken = 0;
        if self.context.count == 0 {
            return Ok(None);
        }
        let input = batch.payload();
        if self.left <= 0 {
            let more = !decompressor.available().is_empty() || decompressor.fill(input)? != 0;
            return if more { Err(RecordFault::Trailing.into()) } else { Ok(None) };
        }
        let mut broken = None;
        let len = loop {
            let bytes = decompressor.available();
            match read_length(bytes) {
                Ok((len, at)) => {
                    let len = check_size(len, self.max_record_bytes)?;
                    if bytes.len() - at >= len {
                        break at + len;
                    }
                }
                Err(RecordFault::Truncated) => {}
                Err(fault) => return Err(fault.into()),
            }
            if let Some(error) = broken {
                return Err(error);
            }
            match decompressor.fill(input) {
                Ok(0) => broken = Some(RecordFault::Truncated.into()),
                Ok(_) => {}
                Err(error) => broken = Some(error.into()),
            }
        };
        self.left -= 1;
        self.taken = len;
        let (record, _) = self.context.read(&decompressor.available()[..len])?;
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use thalweg_random::Random;

    use super::*;
    use crate::builder::put_record;

    #[test]
    fn the_quick_reader_says_what_the_other_one_says_or_nothing() {
        let context = RecordContext {
            base_offset: 7,
            base_timestamp: 1_000,
            log_append_time: None,
            count: 1,
        };
        let text = vec![b'x'; 40_000];
        let mut random = Random::new(1);
        let mut quick = 0;
        for _ in 0..40_000 {
            let some = |random: &mut Random| {
                let len = match random.below(8) {
                    0 => 0,
                    1 => random.below(40_000),
                    _ => random.below(90),
                };
                (!random.one_in(5)).then(|| &text[..len])
            };
            let (key, value) = (some(&mut random), some(&mut random));
            let count = usize::from(random.one_in(6));
            let headers = [(&b"h"[..], Some(&b"v"[..]))].into_iter().take(count);
            let offset_delta = (random.next_u64() >> (random.below(32) + 32)) as i32;
            let timestamp_delta = (random.next_u64() >> random.below(64)) as i64;
            let mut bytes = Vec::new();
            put_record(&mut bytes, offset_delta, timestamp_delta, key, value, headers);
            bytes.extend(&text[..random.below(9)]);
            for _ in 0..2 {
                let slow = context.read_any(&bytes);
                quick += u32::from(quick::parts(&bytes).is_some());
                assert_eq!(context.read(&bytes), slow);
                assert_eq!(context.step(&bytes), slow.map(|(record, len)| (record.offset, len)));
                // The same with a byte that is wrong, or a bit.
                let at = random.below(bytes.len().min(24));
                bytes[at] ^= random.next_u64() as u8;
                if random.one_in(9) {
                    bytes.truncate(random.below(bytes.len()));
                }
                if bytes.is_empty() {
                    break;
                }
            }
        }
        assert!(quick > 10_000, "{quick} of 80 000 were read quickly");
    }
}
