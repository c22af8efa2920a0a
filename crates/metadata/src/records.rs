//! Records of the metadata log as bytes: their frame, their versions, control records, and batches
//! of them.
//!
//! A data record's value is a frame version (1), the record's type and version, each as an unsigned
//! varint, and the record in its compact form. Its key is null. A control record has its type in
//! the key and a message in the value.

use bytes::Bytes;
use thalweg_records::record;
use thalweg_records::{
    BatchBuilder, BatchOptions, BatchView, Compression, Compressor, Decompressor, RecordContext,
};
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{
    KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord, SnapshotHeaderRecord,
    VotersRecord,
};
use thalweg_wire::{DecodeError, EncodeError, Message, Reader, Writer, varint};

use crate::features::MetadataVersion;

/// The one frame version there is.
const FRAME_VERSION: u32 = 1;

/// Largest batch the metadata log takes, as in Kafka.
pub const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Largest batch that is read once it is decompressed. Controllers write uncompressed batches;
/// the limit only keeps a damaged one from taking memory.
const MAX_DECOMPRESSED_BYTES: u64 = 8 * MAX_BATCH_BYTES as u64;

/// Why bytes of the metadata log cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// A record without value.
    #[error("a metadata record has no value")]
    NoValue,
    /// The frame version is not 1.
    #[error("metadata record has frame version {0}, not 1")]
    FrameVersion(u32),
    /// Type or version do not fit their field.
    #[error("metadata record has type {key} version {version}, which do not exist")]
    Range {
        /// The record's type.
        key: u32,
        /// The record's version.
        version: u32,
    },
    /// The body is malformed, or of a type or version this release does not know.
    #[error("metadata record of type {key} version {version}: {error}")]
    Body {
        /// The record's type.
        key: i16,
        /// The record's version.
        version: i16,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// Bytes are left over behind the body.
    #[error("metadata record of type {key} version {version} is followed by {left} bytes")]
    Trailing {
        /// The record's type.
        key: i16,
        /// The record's version.
        version: i16,
        /// How many bytes.
        left: usize,
    },
    /// The frame itself is cut short.
    #[error("metadata record is cut short in its frame: {0}")]
    Frame(DecodeError),
    /// A control record is malformed.
    #[error("control record: {0}")]
    Control(String),
    /// A batch is malformed.
    #[error("batch at offset {offset}: {reason}")]
    Batch {
        /// Offset of the batch.
        offset: i64,
        /// What is wrong with it.
        reason: String,
    },
    /// A record is too large for a batch.
    #[error("metadata record of {bytes} bytes does not fit a batch of {MAX_BATCH_BYTES}")]
    TooLarge {
        /// Size of the record.
        bytes: usize,
    },
    /// A record cannot be written, which a record made of checked parts always can.
    #[error("metadata record cannot be written: {0}")]
    Encode(EncodeError),
}

/// The version in which a record is written while the cluster is at `metadata_version`.
pub fn record_version(record: &MetadataRecord, metadata_version: MetadataVersion) -> i16 {
    let level = metadata_version.level();
    match record {
        MetadataRecord::RegisterBroker(_) => match level {
            30.. => 4,
            17.. => 3,
            8.. => 2,
            _ => 1,
        },
        MetadataRecord::Partition(_) | MetadataRecord::PartitionChange(_) => match level {
            23.. => 2,
            17.. => 1,
            _ => 0,
        },
        // The lowest version that carries what changed.
        MetadataRecord::BrokerRegistrationChange(change) => {
            if change.cordoned_log_dirs.is_some() {
                3
            } else if !change.log_dirs.is_empty() {
                2
            } else if change.in_controlled_shutdown != 0 {
                1
            } else {
                0
            }
        }
        _ => 0,
    }
}

/// The value of a data record.
pub fn encode(
    record: &MetadataRecord,
    metadata_version: MetadataVersion,
) -> Result<Vec<u8>, RecordError> {
    let version = record_version(record, metadata_version);
    let mut w = Writer::new();
    w.uvarint(FRAME_VERSION);
    // Types and versions are small non-negative constants.
    w.uvarint(u32::from(record.key().unsigned_abs()));
    w.uvarint(u32::from(version.unsigned_abs()));
    record.encode(&mut w, version).map_err(RecordError::Encode)?;
    Ok(w.to_vec())
}

/// Reads the value of a data record.
pub fn decode(value: &[u8]) -> Result<MetadataRecord, RecordError> {
    let mut r = Reader::new(value);
    let frame = r.uvarint().map_err(RecordError::Frame)?;
    if frame != FRAME_VERSION {
        return Err(RecordError::FrameVersion(frame));
    }
    let key = r.uvarint().map_err(RecordError::Frame)?;
    let version = r.uvarint().map_err(RecordError::Frame)?;
    let (Ok(key), Ok(version)) = (i16::try_from(key), i16::try_from(version)) else {
        return Err(RecordError::Range { key, version });
    };
    let record = MetadataRecord::decode(&mut r, key, version)
        .map_err(|error| RecordError::Body { key, version, error })?;
    match r.remaining() {
        0 => Ok(record),
        left => Err(RecordError::Trailing { key, version, left }),
    }
}

/// A control record of the metadata log or of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub enum ControlRecord {
    /// A new leader; the first record of its epoch.
    LeaderChange(LeaderChangeMessage),
    /// The first record of a snapshot.
    SnapshotHeader(SnapshotHeaderRecord),
    /// The last record of a snapshot.
    SnapshotFooter(SnapshotFooterRecord),
    /// The finalized `kraft.version`.
    KRaftVersion(KRaftVersionRecord),
    /// The voters of the quorum.
    Voters(VotersRecord),
    /// A type this release does not know, or a transaction marker, which has no place here.
    Other(i16),
}

impl ControlRecord {
    fn type_id(&self) -> i16 {
        match self {
            ControlRecord::LeaderChange(_) => 2,
            ControlRecord::SnapshotHeader(_) => 3,
            ControlRecord::SnapshotFooter(_) => 4,
            ControlRecord::KRaftVersion(_) => 5,
            ControlRecord::Voters(_) => 6,
            ControlRecord::Other(id) => *id,
        }
    }

    /// Key and value.
    pub fn encode(&self) -> Result<(Vec<u8>, Vec<u8>), RecordError> {
        let mut key = Writer::new();
        key.i16(0);
        key.i16(self.type_id());
        let mut value = Writer::new();
        match self {
            ControlRecord::LeaderChange(m) => m.encode(&mut value, m.version),
            ControlRecord::SnapshotHeader(m) => m.encode(&mut value, m.version),
            ControlRecord::SnapshotFooter(m) => m.encode(&mut value, m.version),
            ControlRecord::KRaftVersion(m) => m.encode(&mut value, m.version),
            ControlRecord::Voters(m) => m.encode(&mut value, m.version),
            ControlRecord::Other(id) => {
                return Err(RecordError::Control(format!("type {id} cannot be written")));
            }
        }
        .map_err(RecordError::Encode)?;
        Ok((key.to_vec(), value.to_vec()))
    }

    /// Reads a control record.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<ControlRecord, RecordError> {
        let malformed = |error: DecodeError| RecordError::Control(error.to_string());
        let mut r = Reader::new(key);
        r.i16().map_err(malformed)?;
        let id = r.i16().map_err(malformed)?;
        // The message's first field is its version, and tells how to read it.
        let version = Reader::new(value).i16();
        fn message<M: Message>(
            value: &[u8],
            version: Result<i16, DecodeError>,
        ) -> Result<M, RecordError> {
            let malformed = |error: DecodeError| RecordError::Control(error.to_string());
            let mut r = Reader::new(value);
            M::decode(&mut r, version.map_err(malformed)?).map_err(malformed)
        }
        Ok(match id {
            2 => ControlRecord::LeaderChange(message(value, version)?),
            3 => ControlRecord::SnapshotHeader(message(value, version)?),
            4 => ControlRecord::SnapshotFooter(message(value, version)?),
            5 => ControlRecord::KRaftVersion(message(value, version)?),
            6 => ControlRecord::Voters(message(value, version)?),
            id => ControlRecord::Other(id),
        })
    }
}

/// What a batch of the metadata log holds.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchContents {
    /// Records of the state.
    Data(Vec<MetadataRecord>),
    /// Records of the quorum.
    Control(Vec<ControlRecord>),
}

/// A batch of the metadata log, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Offset of the first record.
    pub base_offset: i64,
    /// Offset of the last record.
    pub last_offset: i64,
    /// Epoch of the leader that wrote it.
    pub epoch: i32,
    /// When it was appended, in milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// Its records.
    pub contents: BatchContents,
}

impl Batch {
    /// Reads one whole batch.
    pub fn read(bytes: &[u8], decompressor: &mut Decompressor) -> Result<Batch, RecordError> {
        let view = BatchView::parse(bytes)
            .map_err(|error| RecordError::Batch { offset: -1, reason: error.to_string() })?;
        let offset = view.base_offset();
        let broken = |reason: String| RecordError::Batch { offset, reason };
        if !view.crc_is_valid() {
            return Err(broken("the checksum is wrong".into()));
        }
        let mut decompressed = Vec::new();
        let records = if view.compression() == Some(Compression::None) {
            view.payload()
        } else {
            record::decompress(&view, decompressor, MAX_DECOMPRESSED_BYTES, &mut decompressed)
                .map_err(|error| broken(error.to_string()))?;
            &decompressed
        };
        let mut data = Vec::new();
        let mut control = Vec::new();
        for record in RecordContext::of(&view).iter(records) {
            let record = record.map_err(|error| broken(error.to_string()))?;
            let value = record.value.ok_or(RecordError::NoValue)?;
            if view.is_control() {
                let key = record.key.ok_or_else(|| RecordError::Control("no key".into()))?;
                control.push(ControlRecord::decode(key, value)?);
            } else {
                data.push(decode(value)?);
            }
        }
        Ok(Batch {
            base_offset: offset,
            last_offset: view.last_offset(),
            epoch: view.partition_leader_epoch(),
            timestamp_ms: view.max_timestamp(),
            contents: match view.is_control() {
                true => BatchContents::Control(control),
                false => BatchContents::Data(data),
            },
        })
    }
}

/// Writes batches of the metadata log: uncompressed, with the epoch in them.
#[derive(Debug, Clone, Copy)]
pub struct BatchWriter {
    /// Epoch of the leader.
    pub epoch: i32,
    /// Append time of all that is written.
    pub timestamp_ms: i64,
    /// The cluster's level, which decides about the records' versions.
    pub metadata_version: MetadataVersion,
}

impl BatchWriter {
    /// One batch of control records.
    pub fn control(
        &self,
        base_offset: i64,
        records: &[ControlRecord],
    ) -> Result<Bytes, RecordError> {
        let mut builder = self.builder(base_offset, true);
        for record in records {
            let (key, value) = record.encode()?;
            builder.append(self.timestamp_ms, Some(&key), Some(&value), &[]);
        }
        finish(&builder, base_offset)
    }

    /// One batch of data records. The caller keeps within [`MAX_BATCH_BYTES`], or uses
    /// [`Self::data_batches`].
    pub fn data(&self, base_offset: i64, records: &[MetadataRecord]) -> Result<Bytes, RecordError> {
        let mut builder = self.builder(base_offset, false);
        for record in records {
            builder.append(self.timestamp_ms, None, Some(&self.frame(record)?), &[]);
        }
        if builder.records_len() > MAX_BATCH_BYTES {
            return Err(RecordError::TooLarge { bytes: builder.records_len() });
        }
        finish(&builder, base_offset)
    }

    /// As many batches as the records need, none larger than [`MAX_BATCH_BYTES`].
    pub fn data_batches(
        &self,
        base_offset: i64,
        records: impl IntoIterator<Item = MetadataRecord>,
    ) -> Result<Vec<Bytes>, RecordError> {
        let mut batches = Vec::new();
        let mut offset = base_offset;
        let mut builder = self.builder(offset, false);
        for record in records {
            let frame = self.frame(&record)?;
            if builder.records_len() + frame.len() + RECORD_OVERHEAD > MAX_BATCH_BYTES {
                batches.push(finish(&builder, offset)?);
                offset += i64::from(builder.record_count());
                builder = self.builder(offset, false);
            }
            builder.append(self.timestamp_ms, None, Some(&frame), &[]);
        }
        if builder.record_count() > 0 {
            batches.push(finish(&builder, offset)?);
        }
        Ok(batches)
    }

    fn frame(&self, record: &MetadataRecord) -> Result<Vec<u8>, RecordError> {
        let frame = encode(record, self.metadata_version)?;
        if frame.len() + RECORD_OVERHEAD > MAX_BATCH_BYTES {
            return Err(RecordError::TooLarge { bytes: frame.len() });
        }
        Ok(frame)
    }

    fn builder(&self, base_offset: i64, control: bool) -> BatchBuilder {
        BatchBuilder::new(BatchOptions {
            base_offset,
            partition_leader_epoch: self.epoch,
            control,
            ..BatchOptions::default()
        })
    }
}

/// What a record takes in a batch beyond its value, at most.
const RECORD_OVERHEAD: usize = 1 + 3 * varint::MAX_LEN_32 + varint::MAX_LEN_64 + 2;

fn finish(builder: &BatchBuilder, offset: i64) -> Result<Bytes, RecordError> {
    builder
        .finish(&mut Compressor::default())
        .map(Bytes::from)
        .map_err(|error| RecordError::Batch { offset, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use thalweg_wire::Uuid;
    use thalweg_wire::messages::{
        BrokerRegistrationChangeRecord, NoOpRecord, PartitionRecord, TopicRecord,
    };

    use super::*;

    fn topic() -> MetadataRecord {
        TopicRecord { name: "a".into(), topic_id: Uuid::TWO, ..Default::default() }.into()
    }

    #[test]
    fn frames() {
        let bytes = encode(&topic(), MetadataVersion::LATEST).expect("a frame");
        assert_eq!(bytes[..5], [1, 2, 0, 2, b'a']);
        assert_eq!(decode(&bytes), Ok(topic()));
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(decode(&longer), Err(RecordError::Trailing { key: 2, version: 0, left: 1 }));
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        assert_eq!(decode(&[0, 2, 0]), Err(RecordError::FrameVersion(0)));
        assert!(matches!(decode(&[1, 6, 0]), Err(RecordError::Body { key: 6, .. })));
        assert!(matches!(decode(&[1, 2, 9]), Err(RecordError::Body { version: 9, .. })));
        assert!(matches!(
            decode(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]),
            Err(RecordError::Range { .. })
        ));
    }

    #[test]
    fn versions_follow_the_level() {
        let level = |level| MetadataVersion::from_level(level).expect("a level");
        let change = |fenced, shutdown, dirs: Vec<Uuid>, cordoned| {
            MetadataRecord::from(BrokerRegistrationChangeRecord {
                fenced,
                in_controlled_shutdown: shutdown,
                log_dirs: dirs,
                cordoned_log_dirs: cordoned,
                ..Default::default()
            })
        };
        let partition = MetadataRecord::Partition(Default::default());
        assert_eq!(record_version(&partition, level(7)), 0);
        assert_eq!(record_version(&partition, level(17)), 1);
        assert_eq!(record_version(&partition, level(30)), 2);
        assert_eq!(record_version(&change(1, 0, vec![], None), level(30)), 0);
        assert_eq!(record_version(&change(1, 1, vec![], None), level(30)), 1);
        assert_eq!(record_version(&change(1, 1, vec![Uuid::TWO], None), level(30)), 2);
        assert_eq!(record_version(&change(0, 0, vec![], Some(vec![])), level(30)), 3);
    }

    #[test]
    fn batches() {
        let writer =
            BatchWriter { epoch: 3, timestamp_ms: 77, metadata_version: MetadataVersion::LATEST };
        let bytes = writer.data(5, &[topic(), NoOpRecord::default().into()]).expect("a batch");
        let batch = Batch::read(&bytes, &mut Decompressor::new()).expect("a batch");
        assert_eq!((batch.base_offset, batch.last_offset), (5, 6));
        assert_eq!((batch.epoch, batch.timestamp_ms), (3, 77));
        let BatchContents::Data(records) = batch.contents else { panic!("not data") };
        assert_eq!(records, [topic(), NoOpRecord::default().into()]);

        let control = [
            ControlRecord::KRaftVersion(KRaftVersionRecord {
                k_raft_version: 1,
                ..Default::default()
            }),
            ControlRecord::SnapshotFooter(SnapshotFooterRecord::default()),
        ];
        let bytes = writer.control(0, &control).expect("a batch");
        let batch = Batch::read(&bytes, &mut Decompressor::new()).expect("a batch");
        assert_eq!(batch.contents, BatchContents::Control(control.to_vec()));
        for cut in 0..bytes.len() {
            assert!(Batch::read(&bytes[..cut], &mut Decompressor::new()).is_err());
        }
        let mut flipped = bytes.to_vec();
        flipped[70] ^= 1;
        assert!(Batch::read(&flipped, &mut Decompressor::new()).is_err());
    }

    #[test]
    fn many_records_take_many_batches() {
        let writer =
            BatchWriter { epoch: 0, timestamp_ms: 0, metadata_version: MetadataVersion::LATEST };
        let large = |n: usize| {
            MetadataRecord::from(PartitionRecord { replicas: vec![0; n / 4], ..Default::default() })
        };
        let records = (0..9).map(|_| large(3 << 20));
        let batches = writer.data_batches(0, records).expect("batches");
        assert_eq!(batches.len(), 5);
        let mut next = 0;
        for bytes in &batches {
            assert!(bytes.len() <= MAX_BATCH_BYTES + 61);
            let batch = Batch::read(bytes, &mut Decompressor::new()).expect("a batch");
            assert_eq!(batch.base_offset, next);
            next = batch.last_offset + 1;
        }
        assert_eq!(next, 9);
        assert!(writer.data_batches(0, [large(9 << 20)]).is_err());
    }
}
