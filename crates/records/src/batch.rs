//! A record batch (magic 2) as it lies in a request, a file or a response: header fields are read
//! in place, nothing is decoded and nothing allocated.
//!
//! Layout: base offset i64, batch length i32 (bytes after this field), partition leader epoch i32,
//! magic i8, CRC-32C u32 (of everything after it), attributes i16, last offset delta i32, base
//! timestamp i64, max timestamp i64, producer id i64, producer epoch i16, base sequence i32,
//! record count i32, records. Base offset and leader epoch are outside the CRC: a leader sets them
//! without touching it.

use std::fmt;

use crate::checksum::crc32c;

/// Base offset and batch length: what precedes the counted bytes of a batch.
pub const LOG_OVERHEAD: usize = 12;
/// Bytes from the base offset up to the first record.
pub const HEADER_LEN: usize = 61;
/// The smallest batch of any format that may stand in a log (a magic 0 record), after the overhead.
pub const MIN_LEGACY_LEN: usize = 14;
/// The only batch format of Kafka 4.
pub const MAGIC: i8 = 2;
/// Producer id, base sequence of batches without a producer; also "no timestamp".
pub const NONE: i64 = -1;

const LEADER_EPOCH_AT: usize = 12;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
/// Where the bytes that the CRC covers begin.
pub const ATTRIBUTES_AT: usize = 21;
const LAST_OFFSET_DELTA_AT: usize = 23;
const BASE_TIMESTAMP_AT: usize = 27;
const MAX_TIMESTAMP_AT: usize = 35;
const PRODUCER_ID_AT: usize = 43;
const PRODUCER_EPOCH_AT: usize = 51;
const BASE_SEQUENCE_AT: usize = 53;
const RECORD_COUNT_AT: usize = 57;

const COMPRESSION_MASK: i16 = 0x07;
const LOG_APPEND_TIME_BIT: i16 = 0x08;
const TRANSACTIONAL_BIT: i16 = 0x10;
const CONTROL_BIT: i16 = 0x20;
/// Set when the base timestamp is a delete horizon; see [`BatchView::has_delete_horizon`].
pub const DELETE_HORIZON_BIT: i16 = 0x40;
const DEFINED_BITS: i16 = 0x7f;

/// Which codec a batch's records are compressed with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Compression {
    None = 0,
    Gzip = 1,
    Snappy = 2,
    Lz4 = 3,
    Zstd = 4,
}

impl Compression {
    /// From the low three bits of a batch's attributes; 5 to 7 are not defined.
    pub const fn from_id(id: u8) -> Option<Compression> {
        Some(match id {
            0 => Compression::None,
            1 => Compression::Gzip,
            2 => Compression::Snappy,
            3 => Compression::Lz4,
            4 => Compression::Zstd,
            _ => return None,
        })
    }

    /// Kafka's name, as in `compression.type`.
    pub const fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Snappy => "snappy",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        }
    }

    /// From Kafka's name.
    pub fn from_name(name: &str) -> Option<Compression> {
        Some(match name {
            "none" | "uncompressed" => Compression::None,
            "gzip" => Compression::Gzip,
            "snappy" => Compression::Snappy,
            "lz4" => Compression::Lz4,
            "zstd" => Compression::Zstd,
            _ => return None,
        })
    }
}

/// Who set a batch's timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TimestampType {
    /// The producer.
    CreateTime,
    /// The broker, when it appended the batch.
    LogAppendTime,
}

/// Why bytes are not a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BatchError {
    /// The buffer ends before the batch does: `have` bytes of `need`.
    #[error("batch of {need} bytes is cut after {have}")]
    Truncated {
        /// Bytes the batch needs; the overhead alone while its length is not readable.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// The length field is smaller than any batch, or negative.
    #[error("batch length {0} is smaller than a batch header")]
    BadLength(i32),
    /// A format other than magic 2.
    #[error("magic {0} is not supported")]
    BadMagic(i8),
}

/// One whole batch, borrowed.
#[derive(Clone, Copy)]
pub struct BatchView<'a> {
    bytes: &'a [u8],
}

macro_rules! field {
    ($ty:ty, $bytes:expr, $at:expr) => {{
        const N: usize = size_of::<$ty>();
        let mut raw = [0u8; N];
        raw.copy_from_slice(&$bytes[$at..$at + N]);
        <$ty>::from_be_bytes(raw)
    }};
}

/// Total length of the batch that begins `bytes` (overhead included), when its length field is
/// readable and not smaller than the smallest batch of any format. Says nothing of the rest.
pub fn frame_len(bytes: &[u8]) -> Result<usize, BatchError> {
    if bytes.len() < LOG_OVERHEAD {
        return Err(BatchError::Truncated { need: LOG_OVERHEAD, have: bytes.len() });
    }
    let length = field!(i32, bytes, 8);
    if length < MIN_LEGACY_LEN as i32 {
        return Err(BatchError::BadLength(length));
    }
    Ok(LOG_OVERHEAD + length as usize)
}

impl<'a> BatchView<'a> {
    /// The batch that begins `bytes`; what follows it is left alone. Checks that all of it is
    /// there and that it is magic 2; neither CRC nor records are looked at.
    pub fn parse(bytes: &'a [u8]) -> Result<BatchView<'a>, BatchError> {
        let total = frame_len(bytes)?;
        if bytes.len() > MAGIC_AT {
            let magic = bytes[MAGIC_AT] as i8;
            if magic != MAGIC {
                return Err(BatchError::BadMagic(magic));
            }
        }
        if total < HEADER_LEN {
            return Err(BatchError::BadLength((total - LOG_OVERHEAD) as i32));
        }
        if bytes.len() < total {
            return Err(BatchError::Truncated { need: total, have: bytes.len() });
        }
        Ok(BatchView { bytes: &bytes[..total] })
    }

    /// The header alone, when only the first [`HEADER_LEN`] bytes are at hand (an index or
    /// recovery scan). `records()` and the CRC must not be asked of the result.
    pub fn parse_header(bytes: &'a [u8]) -> Result<BatchView<'a>, BatchError> {
        let total = frame_len(bytes)?;
        if bytes.len() < HEADER_LEN {
            return Err(BatchError::Truncated { need: HEADER_LEN, have: bytes.len() });
        }
        let magic = bytes[MAGIC_AT] as i8;
        if magic != MAGIC {
            return Err(BatchError::BadMagic(magic));
        }
        if total < HEADER_LEN {
            return Err(BatchError::BadLength((total - LOG_OVERHEAD) as i32));
        }
        Ok(BatchView { bytes: &bytes[..bytes.len().min(total)] })
    }

    /// The whole batch.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
    /// Offset of the first record.
    pub fn base_offset(&self) -> i64 {
        field!(i64, self.bytes, 0)
    }
    /// Bytes of the batch, overhead included, as the length field says.
    pub fn total_len(&self) -> usize {
        LOG_OVERHEAD + field!(i32, self.bytes, 8) as usize
    }
    /// Epoch of the leader that appended the batch; -1 in what producers send.
    pub fn partition_leader_epoch(&self) -> i32 {
        field!(i32, self.bytes, LEADER_EPOCH_AT)
    }
    /// CRC-32C as stored.
    pub fn crc(&self) -> u32 {
        field!(u32, self.bytes, CRC_AT)
    }
    /// Codec, timestamp type and flags.
    pub fn attributes(&self) -> i16 {
        field!(i16, self.bytes, ATTRIBUTES_AT)
    }
    /// Offset of the last record, relative to the base offset.
    pub fn last_offset_delta(&self) -> i32 {
        field!(i32, self.bytes, LAST_OFFSET_DELTA_AT)
    }
    /// Offset of the last record (of a compacted batch: as it once was).
    pub fn last_offset(&self) -> i64 {
        self.base_offset().wrapping_add(i64::from(self.last_offset_delta()))
    }
    /// Offset after the last record.
    pub fn next_offset(&self) -> i64 {
        self.last_offset().wrapping_add(1)
    }
    /// Timestamp that the records' deltas refer to, ms; the delete horizon when
    /// [`Self::has_delete_horizon`].
    pub fn base_timestamp(&self) -> i64 {
        field!(i64, self.bytes, BASE_TIMESTAMP_AT)
    }
    /// Largest timestamp of the records (append time under `LogAppendTime`), ms.
    pub fn max_timestamp(&self) -> i64 {
        field!(i64, self.bytes, MAX_TIMESTAMP_AT)
    }
    /// Producer id, -1 without.
    pub fn producer_id(&self) -> i64 {
        field!(i64, self.bytes, PRODUCER_ID_AT)
    }
    /// Producer epoch, -1 without.
    pub fn producer_epoch(&self) -> i16 {
        field!(i16, self.bytes, PRODUCER_EPOCH_AT)
    }
    /// Sequence of the first record, -1 without.
    pub fn base_sequence(&self) -> i32 {
        field!(i32, self.bytes, BASE_SEQUENCE_AT)
    }
    /// Sequence of the last record; sequences wrap to 0 after `i32::MAX`.
    pub fn last_sequence(&self) -> i32 {
        let base = self.base_sequence();
        if base < 0 { base } else { add_sequence(base, self.last_offset_delta()) }
    }
    /// Records, as the header says.
    pub fn record_count(&self) -> i32 {
        field!(i32, self.bytes, RECORD_COUNT_AT)
    }
    /// Codec; `None` for an id that is not defined.
    pub fn compression(&self) -> Option<Compression> {
        Compression::from_id((self.attributes() & COMPRESSION_MASK) as u8)
    }
    /// Who set the timestamps.
    pub fn timestamp_type(&self) -> TimestampType {
        if self.attributes() & LOG_APPEND_TIME_BIT != 0 {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }
    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.attributes() & TRANSACTIONAL_BIT != 0
    }
    /// Whether the records are control records.
    pub fn is_control(&self) -> bool {
        self.attributes() & CONTROL_BIT != 0
    }
    /// Whether the base timestamp is a delete horizon (KIP-534).
    pub fn has_delete_horizon(&self) -> bool {
        self.attributes() & DELETE_HORIZON_BIT != 0
    }
    /// Whether a producer id is set.
    pub fn has_producer_id(&self) -> bool {
        self.producer_id() > NONE
    }
    /// The records' bytes, compressed as they are.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }
    /// Computes the CRC of the bytes and compares.
    pub fn crc_is_valid(&self) -> bool {
        crc32c(&self.bytes[ATTRIBUTES_AT..]) == self.crc()
    }
}

impl fmt::Debug for BatchView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchView")
            .field("base_offset", &self.base_offset())
            .field("last_offset", &self.last_offset())
            .field("len", &self.total_len())
            .field("leader_epoch", &self.partition_leader_epoch())
            .field("attributes", &self.attributes())
            .field("producer_id", &self.producer_id())
            .field("producer_epoch", &self.producer_epoch())
            .field("base_sequence", &self.base_sequence())
            .field("records", &self.record_count())
            .finish()
    }
}

/// `sequence + delta`, wrapping to 0 after `i32::MAX` as Kafka's producers do.
pub const fn add_sequence(sequence: i32, delta: i32) -> i32 {
    let sum = sequence as i64 + delta as i64;
    (if sum > i32::MAX as i64 { sum - i32::MAX as i64 - 1 } else { sum }) as i32
}

/// Sets the base offset; the CRC does not cover it.
pub fn set_base_offset(batch: &mut [u8], base_offset: i64) {
    batch[..8].copy_from_slice(&base_offset.to_be_bytes());
}

/// Sets the partition leader epoch; the CRC does not cover it.
pub fn set_partition_leader_epoch(batch: &mut [u8], epoch: i32) {
    batch[LEADER_EPOCH_AT..LEADER_EPOCH_AT + 4].copy_from_slice(&epoch.to_be_bytes());
}

/// Sets timestamp type and max timestamp, and the CRC over the result. `batch` is exactly one batch.
pub fn set_max_timestamp(batch: &mut [u8], kind: TimestampType, max_timestamp: i64) {
    let mut attributes = field!(i16, batch, ATTRIBUTES_AT);
    // As Kafka does it: bits without a meaning do not outlive a change.
    attributes &= DEFINED_BITS & !LOG_APPEND_TIME_BIT;
    if kind == TimestampType::LogAppendTime {
        attributes |= LOG_APPEND_TIME_BIT;
    }
    batch[ATTRIBUTES_AT..ATTRIBUTES_AT + 2].copy_from_slice(&attributes.to_be_bytes());
    batch[MAX_TIMESTAMP_AT..MAX_TIMESTAMP_AT + 8].copy_from_slice(&max_timestamp.to_be_bytes());
    seal(batch);
}

/// Computes and sets the CRC of exactly one batch.
pub fn seal(batch: &mut [u8]) {
    let crc = crc32c(&batch[ATTRIBUTES_AT..]);
    batch[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
}

/// The attributes field for these properties.
pub const fn attributes(
    compression: Compression,
    timestamp_type: TimestampType,
    transactional: bool,
    control: bool,
) -> i16 {
    let mut bits = compression as i16;
    if matches!(timestamp_type, TimestampType::LogAppendTime) {
        bits |= LOG_APPEND_TIME_BIT;
    }
    if transactional {
        bits |= TRANSACTIONAL_BIT;
    }
    if control {
        bits |= CONTROL_BIT;
    }
    bits
}

/// The fields of a header, to be written in front of records. Nothing is checked: tests write
/// broken batches with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchHeader {
    /// See [`BatchView::base_offset`].
    pub base_offset: i64,
    /// See [`BatchView::partition_leader_epoch`].
    pub partition_leader_epoch: i32,
    /// See [`BatchView::attributes`] and [`attributes`].
    pub attributes: i16,
    /// See [`BatchView::last_offset_delta`].
    pub last_offset_delta: i32,
    /// See [`BatchView::base_timestamp`].
    pub base_timestamp: i64,
    /// See [`BatchView::max_timestamp`].
    pub max_timestamp: i64,
    /// See [`BatchView::producer_id`].
    pub producer_id: i64,
    /// See [`BatchView::producer_epoch`].
    pub producer_epoch: i16,
    /// See [`BatchView::base_sequence`].
    pub base_sequence: i32,
    /// See [`BatchView::record_count`].
    pub record_count: i32,
}

impl BatchHeader {
    /// Writes header, length and CRC into `batch`, whose first [`HEADER_LEN`] bytes are room for
    /// them and whose others are the records.
    pub fn write(&self, batch: &mut [u8]) {
        let length = i32::try_from(batch.len() - LOG_OVERHEAD).unwrap_or(i32::MAX);
        let mut put = |at: usize, bytes: &[u8]| batch[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.base_offset.to_be_bytes());
        put(8, &length.to_be_bytes());
        put(LEADER_EPOCH_AT, &self.partition_leader_epoch.to_be_bytes());
        put(MAGIC_AT, &MAGIC.to_be_bytes());
        put(ATTRIBUTES_AT, &self.attributes.to_be_bytes());
        put(LAST_OFFSET_DELTA_AT, &self.last_offset_delta.to_be_bytes());
        put(BASE_TIMESTAMP_AT, &self.base_timestamp.to_be_bytes());
        put(MAX_TIMESTAMP_AT, &self.max_timestamp.to_be_bytes());
        put(PRODUCER_ID_AT, &self.producer_id.to_be_bytes());
        put(PRODUCER_EPOCH_AT, &self.producer_epoch.to_be_bytes());
        put(BASE_SEQUENCE_AT, &self.base_sequence.to_be_bytes());
        put(RECORD_COUNT_AT, &self.record_count.to_be_bytes());
        seal(batch);
    }

    /// A whole batch: this header and `records` behind it.
    pub fn assemble(&self, records: &[u8]) -> Vec<u8> {
        let mut batch = vec![0; HEADER_LEN];
        batch.extend_from_slice(records);
        self.write(&mut batch);
        batch
    }
}
