//! What a broker does with the records of a Produce request before it writes them: the verdict of
//! Kafka 4.4 on one partition's bytes, with its error code and failing record indexes.
//!
//! ```
//! # use thalweg_records::{codec::*, builder::*, validate::*};
//! # let mut builder = BatchBuilder::new(BatchOptions::default());
//! # builder.append(1, None, Some(b"value"), &[]);
//! # let mut bytes = builder.finish(&mut Compressor::new())?;
//! let mut scratch = Scratch::new(); // one per worker, reused
//! let config = ValidationConfig::default(); // one per topic
//! let origin = Origin::Client { produce_version: 13 };
//! let mut validation = Validation::new(&mut bytes, &mut scratch, &config, origin, 1_000);
//! let mut validated = loop {
//!     match validation.step()? {
//!         Progress::More => { /* let others run, then go on */ }
//!         Progress::Done(validated) => break validated,
//!     }
//! };
//! drop(validation);
//! let batch = validated.batch_mut(&mut bytes); // offset and epoch are set in here by the log
//! # assert_eq!(batch.len(), 61 + 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Order of the checks, which decides between error codes, is Kafka's: framing and magic (its
//! `ProduceRequest.validateRecords`), base offset, size and CRC (its log's analysis), header
//! against count, then every record (its `LogValidator`).
//!
//! The bytes stay as they are, except as Kafka changes them: timestamp type, max timestamp and CRC
//! for `LogAppendTime` or when the max timestamp is wrong; a new batch when the topic's
//! `compression.type` names another codec than the producer's.
//!
//! Deviations, all of them on purpose: a limit for the decompressed size of a batch
//! ([`ValidationConfig::max_decompressed_bytes`]; Kafka bounds single records alone), at most
//! [`MAX_RECORD_ERRORS`] errors listed per batch (Kafka lists all), and formats before magic 2 are
//! refused from coordinators as well, which never write them.
//!
//! Not done here: anything that needs the log's state (offsets, epochs, producer state, segment size).

mod analyze;
mod failure;
mod head;
mod rewrite;
mod stream;
mod tally;
mod walk;

use crate::batch::{self, BatchView, Compression, TimestampType};
use crate::codec::{CompressionSpec, Compressor, Decompressor};
use crate::record::MAX_DECOMPRESSED_RECORD_BYTES;

pub use analyze::{Analyzed, AssignedOrigin, analyze};
pub use failure::{
    Failure, InvalidRecords, MAX_RECORD_ERRORS, Reason, RecordError, RecordErrorKind,
};

use head::Head;
use rewrite::Rewrite;
use stream::StreamWalk;
use tally::Tally;
use walk::PlainWalk;

/// Decompressed (or walked) bytes after which [`Validation::step`] returns to let others run. What a
/// codec delivers in one piece is not interrupted: one block of lz4 (4 MiB at most) or snappy (a
/// raw one is the whole batch), a zstd frame of up to 1 MiB.
pub const STEP_BYTES: usize = 256 * 1024;

/// A topic's `compression.type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BrokerCompression {
    /// `producer`: batches keep the codec they came with.
    Producer,
    /// A codec (`uncompressed` is [`CompressionSpec::NONE`]): batches that came with another one
    /// are recompressed.
    Fixed(CompressionSpec),
}

/// What a topic's configuration says about incoming records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValidationConfig {
    /// `compression.type` and the level of its codec.
    pub compression: BrokerCompression,
    /// Whether `cleanup.policy` includes `compact`: records must then have keys.
    pub compact: bool,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `max.message.bytes`: largest batch, compressed as it is, overhead included.
    pub max_message_bytes: i32,
    /// `max.decompressed.message.bytes`: largest record of a compressed batch when it is decompressed, its length field
    /// not included. A batch with a larger one is answered with INVALID_RECORD.
    pub max_decompressed_message_bytes: i32,
    /// Largest decompressed size of a batch's records; a batch above it is answered with
    /// MESSAGE_TOO_LARGE. Not a config of Kafka, which bounds single records and no batch. The default
    /// is 2 GiB - 1, more than its own clients can put into a batch.
    pub max_decompressed_bytes: u64,
}

impl Default for ValidationConfig {
    /// Kafka's defaults.
    fn default() -> ValidationConfig {
        ValidationConfig {
            compression: BrokerCompression::Producer,
            compact: false,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            max_message_bytes: 1_048_588,
            max_decompressed_message_bytes: MAX_DECOMPRESSED_RECORD_BYTES,
            max_decompressed_bytes: i32::MAX as u64,
        }
    }
}

/// Who wants to append, which decides what is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A Produce request of this version.
    Client {
        /// Version of the request: zstd is only allowed from 7 on.
        produce_version: i16,
    },
    /// A coordinator of this broker: control batches are allowed, counts are trusted.
    Coordinator,
}

/// Contexts and buffers that validation reuses: keep as many as validations run at the same time
/// on a worker (one that awaits between two steps holds its own), and use them again and again.
#[derive(Default)]
pub struct Scratch {
    /// Shared with other readers of compressed batches on the same worker.
    pub decompressor: Decompressor,
    /// Shared with other writers of compressed batches on the same worker.
    pub compressor: Compressor,
    /// One record on its way into a recompressed batch.
    record: Vec<u8>,
}

impl Scratch {
    /// Empty; contexts are made when they are first needed.
    pub fn new() -> Scratch {
        Scratch::default()
    }
}

/// A batch's producer, as its header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Producer {
    /// Producer id, >= 0.
    pub id: i64,
    /// Producer epoch.
    pub epoch: i16,
    /// Sequence of the first record; -1 in control batches.
    pub first_sequence: i32,
    /// Sequence of the last record; -1 in control batches.
    pub last_sequence: i32,
}

/// What validation did to the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Nothing: they are the producer's.
    None,
    /// Timestamp type or max timestamp, and with them the CRC, were set in place.
    Timestamps,
    /// The records were compressed anew (or not at all); this is the whole batch.
    Rewritten(Vec<u8>),
}

/// An accepted batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Validated {
    /// Bytes of the batch in the input, overhead included; an incomplete batch behind it is
    /// dropped, as Kafka does.
    pub len: usize,
    /// What was changed.
    pub change: Change,
    /// Codec of the batch to be stored.
    pub compression: Compression,
    /// Records, which is how far the batch advances the log's end.
    pub record_count: i32,
    /// As in the header to be stored: `record_count - 1` in whatever a client sent.
    pub last_offset_delta: i32,
    /// Largest timestamp, -1 without any; the append time under `LogAppendTime`. For the time index
    /// it belongs to the batch's last offset, whichever record it came from (Kafka does not
    /// look closer either).
    pub max_timestamp: i64,
    /// The append time, where the topic asks for it.
    pub log_append_time: Option<i64>,
    /// The producer, if it has an id.
    pub producer: Option<Producer>,
    /// Whether the batch belongs to a transaction.
    pub transactional: bool,
    /// Whether the records are control records.
    pub control: bool,
    /// Bytes of the records before compression, headers of the batch not included.
    pub uncompressed_bytes: u64,
}

impl Validated {
    /// The batch to be stored: in `input`, which went into the validation, or the rewritten one.
    pub fn batch<'b>(&'b self, input: &'b [u8]) -> &'b [u8] {
        match &self.change {
            Change::Rewritten(batch) => batch,
            _ => input.get(..self.len).unwrap_or_default(),
        }
    }

    /// As [`Self::batch`], for setting base offset and leader epoch.
    pub fn batch_mut<'b>(&'b mut self, input: &'b mut [u8]) -> &'b mut [u8] {
        match &mut self.change {
            Change::Rewritten(batch) => batch,
            _ => input.get_mut(..self.len).unwrap_or_default(),
        }
    }

    /// Base offset to set so that the first record gets the log's end offset. This is that offset
    /// itself, unless a coordinator's last offset delta does not go with its count.
    pub fn base_offset(&self, log_end_offset: i64) -> i64 {
        log_end_offset
            .wrapping_add(i64::from(self.record_count) - 1)
            .wrapping_sub(i64::from(self.last_offset_delta))
    }
}

/// What a step led to.
#[derive(Debug)]
#[must_use]
pub enum Progress {
    /// [`STEP_BYTES`] were looked at and there is more: yield, then step again.
    More,
    /// Accepted.
    Done(Validated),
}

/// The validation of one partition's `records`.
pub struct Validation<'a> {
    bytes: &'a mut [u8],
    scratch: &'a mut Scratch,
    config: &'a ValidationConfig,
    origin: Origin,
    now: i64,
    phase: Phase,
}

/// A validation between two steps.
pub struct Paused {
    origin: Origin,
    now: i64,
    phase: Phase,
}

impl Paused {
    /// Goes on with the same bytes, contexts and configuration: with others the verdict means nothing.
    pub fn resume<'a>(
        self,
        bytes: &'a mut [u8],
        scratch: &'a mut Scratch,
        config: &'a ValidationConfig,
    ) -> Validation<'a> {
        let Paused { origin, now, phase } = self;
        Validation { bytes, scratch, config, origin, now, phase }
    }
}

enum Phase {
    Begin,
    Plain(Head, Tally, PlainWalk),
    Stream(Head, Tally, StreamWalk),
    Rewrite(Head, Tally, Box<Rewrite>),
    Over,
}

/// Validates in one go, however long it takes: for callers that need not yield.
pub fn validate(
    bytes: &mut [u8],
    scratch: &mut Scratch,
    config: &ValidationConfig,
    origin: Origin,
    now: i64,
) -> Result<Validated, Failure> {
    let mut validation = Validation::new(bytes, scratch, config, origin, now);
    loop {
        if let Progress::Done(validated) = validation.step()? {
            return Ok(validated);
        }
    }
}

impl<'a> Validation<'a> {
    /// Begins on `bytes`, the `records` field as received. `now` is the broker's clock, ms.
    pub fn new(
        bytes: &'a mut [u8],
        scratch: &'a mut Scratch,
        config: &'a ValidationConfig,
        origin: Origin,
        now: i64,
    ) -> Validation<'a> {
        Validation { bytes, scratch, config, origin, now, phase: Phase::Begin }
    }

    /// Lets go of what it works with, to go on later: for callers that keep little while others run.
    pub fn pause(self) -> Paused {
        Paused { origin: self.origin, now: self.now, phase: self.phase }
    }

    /// Works on until the verdict or for [`STEP_BYTES`]. Not to be called after the verdict; it
    /// then answers that there is no batch.
    pub fn step(&mut self) -> Result<Progress, Failure> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Over => Err(Reason::NoBatch.into()),
            Phase::Begin => {
                let head = head::check(self.bytes, self.config, self.origin)?;
                let tally = Tally::new(&head, self.config, self.now);
                self.phase = self.first_phase(head, tally)?;
                // Small batches, nearly all, are done in their first step.
                self.step()
            }
            Phase::Plain(head, mut tally, mut walk) => {
                let payload = &self.bytes[batch::HEADER_LEN..head.len];
                if !walk.step(payload, &mut tally)? {
                    self.phase = Phase::Plain(head, tally, walk);
                    return Ok(Progress::More);
                }
                if !tally.is_clean(walk.offsets_matter) {
                    return self.walk_again(head, tally);
                }
                tally.verdict(walk.offsets_matter)?;
                let uncompressed = payload.len() as u64;
                self.finish_in_place(head, tally, uncompressed)
            }
            Phase::Stream(head, mut tally, mut walk) => {
                let payload = &self.bytes[batch::HEADER_LEN..head.len];
                if !walk.step(payload, &mut self.scratch.decompressor, &mut tally)? {
                    self.phase = Phase::Stream(head, tally, walk);
                    return Ok(Progress::More);
                }
                if !tally.is_clean(true) {
                    return self.walk_again(head, tally);
                }
                tally.verdict(true)?;
                let uncompressed = self.scratch.decompressor.produced();
                self.finish_in_place(head, tally, uncompressed)
            }
            Phase::Rewrite(head, mut tally, mut rewrite) => {
                let batch = &self.bytes[..head.len];
                if rewrite.step(batch, self.scratch, &mut tally)? {
                    tally.verdict(false)?;
                    let (batch, uncompressed) =
                        rewrite.finish(&head, &tally, self.scratch, self.config, self.now)?;
                    Ok(Progress::Done(self.validated(
                        &head,
                        &tally,
                        Change::Rewritten(batch),
                        uncompressed,
                    )))
                } else {
                    self.phase = Phase::Rewrite(head, tally, rewrite);
                    Ok(Progress::More)
                }
            }
        }
    }

    /// The records are in order but not all acceptable: finds out which.
    fn walk_again(&mut self, head: Head, mut tally: Tally) -> Result<Progress, Failure> {
        tally.blame();
        self.phase = self.first_phase(head, tally)?;
        Ok(Progress::More)
    }

    fn first_phase(&mut self, head: Head, mut tally: Tally) -> Result<Phase, Failure> {
        let source = head.compression;
        let target = match self.config.compression {
            BrokerCompression::Producer => CompressionSpec::new(source),
            BrokerCompression::Fixed(spec) => spec,
        };
        // Control records are not compressed unless they come compressed.
        let in_place = source == target.codec() || (source == Compression::None && head.control);
        if !in_place {
            let view = BatchView::parse(&self.bytes[..head.len]).map_err(|_| Reason::NoBatch)?;
            // Compressing costs so much more than walking that one walk with all checks will do.
            tally.blame();
            let rewrite = Rewrite::begin(&view, target, self.scratch, self.config)?;
            return Ok(Phase::Rewrite(head, tally, Box::new(rewrite)));
        }
        if source == Compression::None {
            let walk = PlainWalk::new(head.record_count, target.codec() != Compression::None)?;
            return Ok(Phase::Plain(head, tally, walk));
        }
        let payload = &self.bytes[batch::HEADER_LEN..head.len];
        let walk = StreamWalk::begin(
            payload,
            source,
            head.record_count,
            &mut self.scratch.decompressor,
            self.config,
        )?;
        Ok(Phase::Stream(head, tally, walk))
    }

    fn finish_in_place(
        &mut self,
        head: Head,
        tally: Tally,
        uncompressed: u64,
    ) -> Result<Progress, Failure> {
        let kind = self.config.timestamp_type;
        let max = match kind {
            TimestampType::CreateTime => tally.max_timestamp(),
            TimestampType::LogAppendTime => self.now,
        };
        let change = if head.timestamp_type == kind && head.max_timestamp == max {
            Change::None
        } else {
            batch::set_max_timestamp(&mut self.bytes[..head.len], kind, max);
            Change::Timestamps
        };
        Ok(Progress::Done(self.validated(&head, &tally, change, uncompressed)))
    }

    fn validated(
        &self,
        head: &Head,
        tally: &Tally,
        change: Change,
        uncompressed: u64,
    ) -> Validated {
        let rewritten = match &change {
            Change::Rewritten(batch) => BatchView::parse(batch).ok(),
            _ => None,
        };
        let append_time =
            (self.config.timestamp_type == TimestampType::LogAppendTime).then_some(self.now);
        Validated {
            len: head.len,
            compression: rewritten.and_then(|b| b.compression()).unwrap_or(head.compression),
            record_count: tally.count(),
            last_offset_delta: rewritten.map_or(head.last_offset_delta, |b| b.last_offset_delta()),
            max_timestamp: append_time.unwrap_or_else(|| tally.max_timestamp()),
            log_append_time: append_time,
            producer: (head.producer_id >= 0).then_some(Producer {
                id: head.producer_id,
                epoch: head.producer_epoch,
                first_sequence: head.base_sequence,
                last_sequence: head.last_sequence,
            }),
            transactional: head.transactional,
            control: rewritten.map_or(head.control, |b| b.is_control()),
            uncompressed_bytes: uncompressed,
            change,
        }
    }
}
