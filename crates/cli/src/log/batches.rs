//! The batches of a segment or a snapshot, one after the other: what is held is one batch.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::{Value, json};
use thalweg_records::batch::{HEADER_LEN, LOG_OVERHEAD, frame_len};
use thalweg_records::{BatchView, Decompressor, RecordReader, TimestampType};

use super::decode::{Decoder, control, plain};

/// Most bytes that one batch may decompress to.
const DECOMPRESSED_MAX: u64 = 1 << 30;

/// A file of batches, and where it is read.
pub(super) struct BatchReader {
    file: File,
    len: u64,
    at: u64,
    buffer: Vec<u8>,
}

/// What is at a place in a file.
pub(super) enum Found<'a> {
    /// A batch.
    Batch(u64, BatchView<'a>),
    /// Something that is no batch; nothing behind it can be read.
    Broken(u64, String),
    /// Zeros up to the end, which were set aside for more; so many.
    Reserved(u64),
}

impl BatchReader {
    pub(super) fn open(path: &Path) -> io::Result<BatchReader> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(BatchReader { file, len, at: 0, buffer: Vec::new() })
    }

    /// What comes next; nothing at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Found<'_>>> {
        let (at, left) = (self.at, self.len.saturating_sub(self.at));
        if left == 0 {
            return Ok(None);
        }
        let broken = |why: String| Ok(Some(Found::Broken(at, why)));
        let mut head = [0; LOG_OVERHEAD];
        if left < LOG_OVERHEAD as u64 {
            self.at = self.len;
            return broken(format!("{left} bytes are too few for a batch"));
        }
        self.file.read_exact_at(&mut head, at)?;
        let total = match frame_len(&head) {
            Ok(total) => total,
            Err(_) if head == [0; LOG_OVERHEAD] && self.is_zero_from(at)? => {
                self.at = self.len;
                return Ok(Some(Found::Reserved(left)));
            }
            Err(error) => {
                self.at = self.len;
                return broken(error.to_string());
            }
        };
        if total as u64 > left {
            self.at = self.len;
            return broken(format!("a batch of {total} bytes has {left} bytes left"));
        }
        self.buffer.resize(total, 0);
        self.file.read_exact_at(&mut self.buffer, at)?;
        match BatchView::parse(&self.buffer) {
            Ok(batch) => {
                self.at = at + total as u64;
                Ok(Some(Found::Batch(at, batch)))
            }
            Err(error) => {
                self.at = self.len;
                broken(error.to_string())
            }
        }
    }

    fn is_zero_from(&self, mut at: u64) -> io::Result<bool> {
        let mut chunk = vec![0; 64 << 10];
        while at < self.len {
            let n = usize::try_from(self.len - at).unwrap_or(usize::MAX).min(chunk.len());
            let piece = chunk.get_mut(..n).unwrap_or_default();
            self.file.read_exact_at(piece, at)?;
            if piece.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += n as u64;
        }
        Ok(true)
    }
}

/// Last offset of the batch whose header is at a position of a segment.
pub(super) fn last_offset_at(file: &File, position: u32) -> Result<i64, String> {
    let mut header = [0; HEADER_LEN];
    file.read_exact_at(&mut header, u64::from(position))
        .map_err(|error| format!("no batch can be read at {position}: {error}"))?;
    let batch = BatchView::parse_header(&header)
        .map_err(|error| format!("there is no batch at {position}: {error}"))?;
    Ok(batch.last_offset())
}

/// A batch's header.
pub(super) fn batch_json(position: u64, batch: &BatchView<'_>) -> Value {
    let codec = match batch.compression() {
        Some(codec) => json!(codec.name()),
        None => json!(batch.attributes() & 7),
    };
    let time = match batch.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    };
    json!({
        "position": position,
        "size": batch.total_len(),
        "base_offset": batch.base_offset(),
        "last_offset": batch.last_offset(),
        "count": batch.record_count(),
        "leader_epoch": batch.partition_leader_epoch(),
        "compression": codec,
        "timestamp_type": time,
        "base_timestamp": batch.base_timestamp(),
        "max_timestamp": batch.max_timestamp(),
        "producer_id": batch.producer_id(),
        "producer_epoch": batch.producer_epoch(),
        "base_sequence": batch.base_sequence(),
        "last_sequence": batch.last_sequence(),
        "transactional": batch.is_transactional(),
        "control": batch.is_control(),
        "delete_horizon": batch.has_delete_horizon(),
        "crc": batch.crc(),
        "crc_valid": batch.crc_is_valid(),
    })
}

/// The records of a batch, each given to `visit`. The error says what is wrong with them.
pub(super) fn records(
    batch: &BatchView<'_>,
    decompressor: &mut Decompressor,
    with_data: bool,
    decoder: Decoder,
    mut visit: impl FnMut(Value) -> Result<(), crate::client::CliError>,
) -> Result<Result<(), String>, crate::client::CliError> {
    let mut reader = match RecordReader::new(batch, decompressor, DECOMPRESSED_MAX) {
        Ok(reader) => reader,
        Err(error) => return Ok(Err(error.to_string())),
    };
    loop {
        let record = match reader.next(batch, decompressor) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error.to_string())),
        };
        let mut value = json!({
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key_size": record.key.map_or(-1, |key| key.len() as i64),
            "value_size": record.value.map_or(-1, |value| value.len() as i64),
        });
        if batch.is_control() {
            let (key, body) = (record.key.unwrap_or_default(), record.value.unwrap_or_default());
            value["control"] = control(key, body);
        } else if with_data {
            let headers = record.headers.map(|header| {
                json!({
                    "key": String::from_utf8_lossy(header.key),
                    "value": plain(header.value),
                })
            });
            value["headers"] = Value::Array(headers.collect());
            let (key, body) = decoder.record(record.key, record.value);
            value["key"] = key;
            value["value"] = body;
        }
        visit(value)?;
    }
}
