//! Why a batch is refused: our words, Kafka's codes.

use std::fmt;

use thalweg_wire::ErrorCode;

use crate::codec::CodecError;
use crate::record::{ReadError, RecordFault};

/// Errors of single records that are kept, per batch. Kafka keeps one for each record; a request of
/// a megabyte can hold millions.
pub const MAX_RECORD_ERRORS: usize = 65_536;

/// A refused batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Why.
    pub reason: Reason,
    /// For [`Reason::Records`]: which records, by index in the batch, and what is wrong with them.
    /// Kafka sends them along from Produce version 8 on.
    pub record_errors: Vec<RecordError>,
}

/// Why a whole batch is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// No complete batch.
    #[error("there is no complete record batch")]
    NoBatch,
    /// A length field smaller than any batch.
    #[error("batch length {0} is smaller than any batch")]
    BadLength(i32),
    /// A length field so large that Kafka's own arithmetic fails.
    #[error("batch length {0} is out of range")]
    LengthOverflow(i32),
    /// A magic that never existed.
    #[error("magic {0} is not defined")]
    UndefinedMagic(i8),
    /// A format that Kafka 4 has dropped.
    #[error("magic {0} is no longer supported, only 2 is")]
    LegacyMagic(i8),
    /// More than one batch.
    #[error("there is more than one record batch")]
    SeveralBatches,
    /// zstd in a Produce request before version 7.
    #[error("zstd is not allowed in produce requests of version {0}")]
    ZstdTooEarly(i16),
    /// A codec id that does not exist.
    #[error("compression codec {0} is not defined")]
    UndefinedCodec(u8),
    /// A base offset in what a client sends.
    #[error("base offset is {0} instead of 0")]
    BaseOffset(i64),
    /// Too short for the fields that are looked at before the CRC.
    #[error("batch of {0} bytes is too short for a header")]
    HeaderCut(usize),
    /// Larger than `max.message.bytes`.
    #[error("batch of {size} bytes is larger than max.message.bytes, {max}")]
    TooLarge {
        /// Bytes of the batch.
        size: u64,
        /// `max.message.bytes`.
        max: i32,
    },
    /// The CRC is wrong.
    #[error("stored crc {stored:#010x} is not the computed {computed:#010x}")]
    Crc {
        /// What the batch says.
        stored: u32,
        /// What it is.
        computed: u32,
    },
    /// A last offset before the first one.
    #[error("last offset delta {0} is negative")]
    OffsetRange(i32),
    /// No records, or fewer.
    #[error("record count {0} is not positive")]
    Count(i32),
    /// Offsets for another number of records.
    #[error("last offset delta {last_offset_delta} does not go with {count} records")]
    CountMismatch {
        /// From the header.
        last_offset_delta: i32,
        /// From the header.
        count: i32,
    },
    /// Control records from a client.
    #[error("clients must not write control records")]
    Control,
    /// A producer id without a sequence.
    #[error("sequence {sequence} of producer {producer_id} is negative")]
    Sequence {
        /// From the header.
        producer_id: i64,
        /// From the header.
        sequence: i32,
    },
    /// A record is broken, or the records are not those of the header.
    #[error("record {index}: {fault}")]
    Record {
        /// Index of the record in the batch.
        index: i32,
        /// What is wrong.
        fault: RecordFault,
        /// Whether Kafka answers with an internal error instead of naming the record invalid.
        internal: bool,
    },
    /// The records cannot be decompressed (or compressed).
    #[error("records: {0}")]
    Codec(CodecError),
    /// The records of a compressed batch do not have consecutive offsets.
    #[error("offset of record {index} in a compressed batch does not follow the one before")]
    OffsetGap {
        /// Index of the first such record.
        index: i32,
    },
    /// A negative timestamp in a batch that is to be recompressed.
    #[error("timestamp {0} is negative in a batch that is to be compressed anew")]
    NegativeTimestamp(i64),
    /// Producer fields that contradict each other, in a batch that is to be recompressed.
    #[error("{0} in a batch that is to be compressed anew")]
    ProducerState(&'static str),
    /// Records that are well formed but not acceptable: see [`Failure::record_errors`].
    #[error("{} of the records {}", .0.total, if .0.timestamps { "have timestamps that are not acceptable" } else { "are not acceptable" })]
    Records(InvalidRecords),
    /// From a Raft leader: the epoch in the batch is not the leader's.
    #[error("leader epoch {found} in the batch is not {expected}")]
    LeaderEpoch {
        /// In the batch.
        found: i32,
        /// The leader's.
        expected: i32,
    },
    /// Batches with assigned offsets that do not ascend.
    #[error("last offset {last} follows {before}")]
    OutOfOrder {
        /// Last offset of a batch.
        last: i64,
        /// Last offset of the batch before.
        before: i64,
    },
}

/// Summary of what is wrong with single records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidRecords {
    /// Whether a timestamp is among it, which decides about the code.
    pub timestamps: bool,
    /// Records concerned; [`Failure::record_errors`] may hold fewer.
    pub total: u64,
}

impl Reason {
    /// What Kafka 4.4 answers.
    pub fn error_code(&self) -> ErrorCode {
        match self {
            Reason::BadLength(_) | Reason::UndefinedMagic(_) | Reason::Crc { .. } => {
                ErrorCode::CORRUPT_MESSAGE
            }
            Reason::NoBatch
            | Reason::LegacyMagic(_)
            | Reason::SeveralBatches
            | Reason::BaseOffset(_)
            | Reason::OffsetRange(_)
            | Reason::Count(_)
            | Reason::CountMismatch { .. }
            | Reason::Control
            | Reason::LeaderEpoch { .. }
            | Reason::Sequence { .. } => ErrorCode::INVALID_RECORD,
            Reason::HeaderCut(len) => {
                // The last offset delta is read before the size is checked.
                if *len < 27 { ErrorCode::UNKNOWN_SERVER_ERROR } else { ErrorCode::CORRUPT_MESSAGE }
            }
            Reason::ZstdTooEarly(_) => ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
            Reason::TooLarge { .. } | Reason::Codec(CodecError::TooLarge { .. }) => {
                ErrorCode::MESSAGE_TOO_LARGE
            }
            Reason::Codec(CodecError::Unsupported { .. }) => {
                ErrorCode::UNSUPPORTED_COMPRESSION_TYPE
            }
            Reason::Record { internal: false, .. } => ErrorCode::INVALID_RECORD,
            // Exceptions that Kafka does not map to a code.
            Reason::Record { internal: true, .. }
            | Reason::LengthOverflow(_)
            | Reason::UndefinedCodec(_)
            | Reason::Codec(_)
            | Reason::OffsetGap { .. }
            | Reason::NegativeTimestamp(_)
            | Reason::ProducerState(_)
            | Reason::OutOfOrder { .. } => ErrorCode::UNKNOWN_SERVER_ERROR,
            Reason::Records(InvalidRecords { timestamps: true, .. }) => {
                ErrorCode::INVALID_TIMESTAMP
            }
            Reason::Records(InvalidRecords { timestamps: false, .. }) => ErrorCode::INVALID_RECORD,
        }
    }
}

impl Failure {
    /// What Kafka 4.4 answers.
    pub fn error_code(&self) -> ErrorCode {
        self.reason.error_code()
    }

    /// The partition's `ErrorMessage` in the response: Kafka sends one only when single records are
    /// to blame. Logs get the [`fmt::Display`] form.
    pub fn response_message(&self) -> Option<String> {
        match self.reason {
            Reason::Records(InvalidRecords { timestamps: true, .. }) => {
                Some("One or more records have been rejected due to invalid timestamp".into())
            }
            Reason::Records(_) => Some(self.to_string()),
            _ => None,
        }
    }

    /// A failure to read a record of a batch that was or was not compressed.
    pub(super) fn read(error: ReadError, index: i32, compressed: bool) -> Failure {
        match error {
            ReadError::Codec(error) => Reason::Codec(error),
            ReadError::UndefinedCodec(id) => Reason::UndefinedCodec(id),
            ReadError::Record(fault) => Reason::Record {
                index,
                fault,
                internal: fault == RecordFault::LengthVarint && !compressed,
            },
        }
        .into()
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Failure {
        Failure { reason, record_errors: Vec::new() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)?;
        for error in self.record_errors.iter().take(3) {
            write!(f, "; record {}: {}", error.batch_index, error.kind)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// What is wrong with one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordError {
    /// Index of the record in the batch.
    pub batch_index: i32,
    /// What is wrong; its `Display` form is the response's `BatchIndexErrorMessage`.
    pub kind: RecordErrorKind,
}

/// What is wrong with one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordErrorKind {
    /// A null key on a compacted topic.
    #[error("a compacted topic takes no record without a key")]
    NullKey,
    /// Too far in the past or in the future.
    #[error(
        "Timestamp {timestamp} of message with offset {offset} is out of range. The timestamp should \
         be within [{earliest}, {latest}]"
    )]
    TimestampOutOfRange {
        /// The record's offset, as its producer sent it.
        offset: i64,
        /// The record's.
        timestamp: i64,
        /// Earliest that is accepted.
        earliest: i64,
        /// Latest that is accepted.
        latest: i64,
    },
    /// The producer says that the broker set the timestamps.
    #[error("the timestamp type LogAppendTime is the broker's to set")]
    LogAppendTime,
}
