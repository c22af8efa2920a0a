//! Building batches: records one by one, then the header over them.

use thalweg_wire::varint;

use crate::batch::{self, BatchHeader, HEADER_LEN, NONE, TimestampType};
use crate::codec::{CodecError, CompressionSpec, Compressor};

/// A header of a record to be written.
pub type HeaderRef<'a> = (&'a [u8], Option<&'a [u8]>);

/// Everything about a batch but its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// Codec and level.
    pub compression: CompressionSpec,
    /// Offset of the first record; 0 in what producers send.
    pub base_offset: i64,
    /// Epoch of the leader; -1 in what producers send.
    pub partition_leader_epoch: i32,
    /// Producer id, -1 without.
    pub producer_id: i64,
    /// Producer epoch, -1 without.
    pub producer_epoch: i16,
    /// Sequence of the first record, -1 without.
    pub base_sequence: i32,
    /// Whether the batch belongs to a transaction.
    pub transactional: bool,
    /// Whether the records are control records, whose keys say which.
    pub control: bool,
    /// Append time: the batch then has timestamp type `LogAppendTime`.
    pub log_append_time: Option<i64>,
}

impl Default for BatchOptions {
    fn default() -> BatchOptions {
        BatchOptions {
            compression: CompressionSpec::NONE,
            base_offset: 0,
            partition_leader_epoch: -1,
            producer_id: NONE,
            producer_epoch: -1,
            base_sequence: -1,
            transactional: false,
            control: false,
            log_append_time: None,
        }
    }
}

/// Builds one batch. Offsets are consecutive from the base offset.
///
/// Nothing is checked beyond what the format can express, so that tests can build what no producer
/// would send; [`BatchHeader`] goes further still.
pub struct BatchBuilder {
    options: BatchOptions,
    records: Vec<u8>,
    count: i32,
    base_timestamp: i64,
    max_timestamp: i64,
}

impl BatchBuilder {
    /// An empty batch.
    pub fn new(options: BatchOptions) -> BatchBuilder {
        BatchBuilder::with_buffer(options, Vec::new())
    }

    /// An empty batch that collects its records in `buffer`, which is emptied first.
    pub fn with_buffer(options: BatchOptions, mut buffer: Vec<u8>) -> BatchBuilder {
        buffer.clear();
        BatchBuilder {
            options,
            records: buffer,
            count: 0,
            base_timestamp: NONE,
            max_timestamp: NONE,
        }
    }

    /// Adds a record.
    pub fn append(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[HeaderRef<'_>],
    ) -> &mut BatchBuilder {
        if self.count == 0 {
            self.base_timestamp = timestamp;
        }
        put_record(
            &mut self.records,
            self.count,
            timestamp.wrapping_sub(self.base_timestamp),
            key,
            value,
            headers.iter().copied(),
        );
        self.count += 1;
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self
    }

    /// Has what was added so far, and comes, compressed in another way.
    pub fn set_compression(&mut self, compression: CompressionSpec) {
        self.options.compression = compression;
    }

    /// Records added so far.
    pub fn record_count(&self) -> i32 {
        self.count
    }

    /// Bytes of the records so far, before compression.
    pub fn records_len(&self) -> usize {
        self.records.len()
    }

    /// The header that [`Self::finish`] would write.
    pub fn header(&self) -> BatchHeader {
        let options = &self.options;
        BatchHeader {
            base_offset: options.base_offset,
            partition_leader_epoch: options.partition_leader_epoch,
            attributes: batch::attributes(
                options.compression.codec(),
                match options.log_append_time {
                    Some(_) => TimestampType::LogAppendTime,
                    None => TimestampType::CreateTime,
                },
                options.transactional,
                options.control,
            ),
            last_offset_delta: self.count.saturating_sub(1).max(0),
            base_timestamp: self.base_timestamp,
            max_timestamp: options.log_append_time.unwrap_or(self.max_timestamp),
            producer_id: options.producer_id,
            producer_epoch: options.producer_epoch,
            base_sequence: options.base_sequence,
            record_count: self.count,
        }
    }

    /// The records' bytes so far, before compression.
    pub fn records(&self) -> &[u8] {
        &self.records
    }

    /// The finished batch.
    pub fn finish(&self, compressor: &mut Compressor) -> Result<Vec<u8>, CodecError> {
        let mut out = Vec::new();
        self.finish_into(compressor, &mut out)?;
        Ok(out)
    }

    /// The finished batch, onto the end of `out`.
    pub fn finish_into(
        &self,
        compressor: &mut Compressor,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let at = out.len();
        out.resize(at + HEADER_LEN, 0);
        compressor.compress(self.options.compression, &self.records, out)?;
        self.header().write(&mut out[at..]);
        Ok(())
    }
}

/// Appends one record in its canonical form.
pub fn put_record<'a>(
    out: &mut Vec<u8>,
    offset_delta: i32,
    timestamp_delta: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl Iterator<Item = HeaderRef<'a>> + Clone,
) {
    let mut count = 0i32;
    let mut of_headers = 0;
    for (key, value) in headers.clone() {
        count += 1;
        of_headers += field_len(Some(key)) + field_len(value);
    }
    let len = 1
        + varint::len_i64(timestamp_delta)
        + varint::len_i32(offset_delta)
        + field_len(key)
        + field_len(value)
        + varint::len_i32(count)
        + of_headers;
    // What stands before the key goes in at once.
    let mut head = Head::default();
    head.put_i32(i32::try_from(len).unwrap_or(i32::MAX));
    // Attributes, of which none is defined.
    head.put(0);
    head.put(varint::zigzag_64(timestamp_delta));
    head.put_i32(offset_delta);
    head.put_i32(length_field(key));
    out.extend_from_slice(head.bytes());
    if let Some(key) = key {
        out.extend_from_slice(key);
    }
    put_bytes(out, value);
    varint::put_i32(out, count);
    for (key, value) in headers {
        put_bytes(out, Some(key));
        put_bytes(out, value);
    }
}

/// The beginning of a record: three numbers of 32 bits at most, one of 64, and a byte.
#[derive(Default)]
struct Head {
    bytes: [u8; 3 * varint::MAX_LEN_32 + varint::MAX_LEN_64 + 1],
    len: usize,
}

impl Head {
    /// Adds an unsigned varint. Most of them take one byte.
    #[inline]
    fn put(&mut self, mut value: u64) {
        loop {
            let more = value >= 0x80;
            // There is room for the longest.
            if let Some(place) = self.bytes.get_mut(self.len) {
                *place = (value as u8 & 0x7f) | (u8::from(more) << 7);
                self.len += 1;
            }
            if !more {
                return;
            }
            value >>= 7;
        }
    }

    #[inline]
    fn put_i32(&mut self, value: i32) {
        self.put(u64::from(varint::zigzag_32(value)));
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[inline]
fn field_len(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(0, <[u8]>::len) + varint::len_i32(length_field(bytes))
}

#[inline]
fn length_field(bytes: Option<&[u8]>) -> i32 {
    bytes.map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap_or(i32::MAX))
}

#[inline]
fn put_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    varint::put_i32(out, length_field(bytes));
    out.extend_from_slice(bytes.unwrap_or_default());
}
