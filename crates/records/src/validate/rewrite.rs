//! Compressing a batch anew, because the topic's `compression.type` names another codec than the
//! producer used (or none).
//!
//! Records are read strictly and written in canonical form with consecutive offsets, as Kafka does:
//! over-long varints and record attributes do not survive, header names that are not UTF-8 get
//! replacement characters. Only one record at a time is held decompressed.

use std::borrow::Cow;

use super::failure::{Failure, Reason};
use super::head::Head;
use super::tally::Tally;
use super::{STEP_BYTES, Scratch, ValidationConfig};
use crate::batch::{self, BatchHeader, BatchView, Compression, HEADER_LEN, TimestampType};
use crate::builder::put_record;
use crate::codec::CompressionSpec;
use crate::record::{Headers, RecordContext, RecordReader};

pub(super) struct Rewrite {
    target: CompressionSpec,
    reader: RecordReader,
    context: RecordContext,
    compressed: bool,
    /// The new batch, with room for its header.
    out: Vec<u8>,
    /// Above this there is no use in writing on.
    out_max: usize,
    base_timestamp: i64,
    negative_timestamp: Option<i64>,
    uncompressed: u64,
}

impl Rewrite {
    pub fn begin(
        batch: &BatchView<'_>,
        target: CompressionSpec,
        scratch: &mut Scratch,
        config: &ValidationConfig,
    ) -> Result<Rewrite, Failure> {
        let compressed = batch.compression() != Some(Compression::None);
        let limit = config.max_decompressed_bytes;
        let record_limit = config.max_decompressed_message_bytes;
        let reader = RecordReader::bounded(batch, &mut scratch.decompressor, limit, record_limit)
            .map_err(|error| Failure::read(error, 0, compressed))?;
        let mut out = vec![0; HEADER_LEN];
        scratch.compressor.begin(target, &mut out).map_err(Reason::Codec)?;
        Ok(Rewrite {
            target,
            reader,
            context: RecordContext::of(batch),
            compressed,
            out,
            out_max: usize::try_from(config.max_message_bytes).unwrap_or(0),
            base_timestamp: batch::NONE,
            negative_timestamp: None,
            uncompressed: 0,
        })
    }

    /// Reads and writes on; true at the end of the records.
    pub fn step(
        &mut self,
        batch: &[u8],
        scratch: &mut Scratch,
        tally: &mut Tally,
    ) -> Result<bool, Failure> {
        let batch = BatchView::parse(batch).map_err(|_| Reason::NoBatch)?;
        let Scratch { decompressor, compressor, record: canonical } = scratch;
        let pause_at = self.uncompressed.saturating_add(STEP_BYTES as u64);
        while self.uncompressed < pause_at {
            let index = tally.count();
            let Some(record) = self
                .reader
                .next(&batch, decompressor)
                .map_err(|error| Failure::read(error, index, self.compressed))?
            else {
                return Ok(true);
            };
            self.uncompressed += record.size as u64;
            if index == 0 {
                self.base_timestamp = record.timestamp;
            }
            tally.record(
                record.timestamp.wrapping_sub(self.context.base_timestamp),
                record.offset.wrapping_sub(self.context.base_offset) as i32,
                record.key.is_some(),
            );
            if record.timestamp < batch::NONE {
                self.negative_timestamp.get_or_insert(record.timestamp);
            }
            if tally.has_errors() || self.out.len() > self.out_max {
                continue;
            }
            canonical.clear();
            let timestamp_delta = record.timestamp.wrapping_sub(self.base_timestamp);
            let headers = record.headers;
            let (key, value) = (record.key, record.value);
            match replaced_names(headers) {
                None => {
                    let headers = headers.map(|h| (h.key, h.value));
                    put_record(canonical, index, timestamp_delta, key, value, headers);
                }
                Some(names) => {
                    let headers = names.iter().zip(headers).map(|(n, h)| (n.as_bytes(), h.value));
                    put_record(canonical, index, timestamp_delta, key, value, headers);
                }
            }
            compressor.write(canonical, &mut self.out).map_err(Reason::Codec)?;
        }
        Ok(false)
    }

    /// The new batch and the bytes of its records before compression.
    pub fn finish(
        mut self,
        head: &Head,
        tally: &Tally,
        scratch: &mut Scratch,
        config: &ValidationConfig,
        now: i64,
    ) -> Result<(Vec<u8>, u64), Failure> {
        if let Some(timestamp) = self.negative_timestamp {
            return Err(Reason::NegativeTimestamp(timestamp).into());
        }
        if tally.count() == 0 {
            return Err(Reason::Count(0).into());
        }
        if head.transactional && head.producer_id == batch::NONE {
            return Err(Reason::ProducerState("a transaction without a producer id").into());
        }
        if head.producer_id != batch::NONE {
            if head.producer_epoch == -1 {
                return Err(Reason::ProducerState("a producer id without an epoch").into());
            }
            if head.base_sequence < 0 {
                return Err(Reason::ProducerState("a producer id without a sequence").into());
            }
        }
        scratch.compressor.finish(&mut self.out).map_err(Reason::Codec)?;
        if self.out.len() > self.out_max {
            let (size, max) = (self.out.len() as u64, config.max_message_bytes);
            return Err(Reason::TooLarge { size, max }.into());
        }
        let kind = config.timestamp_type;
        BatchHeader {
            base_offset: 0,
            partition_leader_epoch: -1,
            attributes: batch::attributes(self.target.codec(), kind, head.transactional, false),
            last_offset_delta: tally.count() - 1,
            base_timestamp: self.base_timestamp,
            max_timestamp: match kind {
                TimestampType::CreateTime => tally.max_timestamp(),
                TimestampType::LogAppendTime => now,
            },
            producer_id: head.producer_id,
            producer_epoch: head.producer_epoch,
            base_sequence: head.base_sequence,
            record_count: tally.count(),
        }
        .write(&mut self.out);
        Ok((self.out, self.uncompressed))
    }
}

/// The headers' names with replacement characters, if any needs one.
fn replaced_names(headers: Headers<'_>) -> Option<Vec<Cow<'_, str>>> {
    let mut all = headers;
    if all.all(|header| std::str::from_utf8(header.key).is_ok()) {
        return None;
    }
    Some(headers.map(|header| String::from_utf8_lossy(header.key)).collect())
}
