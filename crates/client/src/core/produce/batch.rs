//! A batch on its way: open for records, closed, sealed, sent.
//!
//! Records are written once, behind the room that the header takes, in the buffer that is sent.
//! Only compression moves them, and back into the same buffer: what a batch counts for against
//! `buffer.memory` does not change.

use std::sync::Arc;

use bytes::Bytes;
use thalweg_records::batch::{self, BatchHeader, HEADER_LEN, TimestampType};
use thalweg_records::builder::put_record;
use thalweg_records::codec::CodecError;
use thalweg_records::{
    BatchView, Compression, CompressionSpec, Compressor, Decompressor, RecordContext,
};
use thalweg_wire::ErrorCode;

use super::memory::{Charge, Memory};
use super::outcome::Outcome;
use crate::core::headers::Header;
use crate::core::record::ProducerRecord;

/// Most bytes of a record besides key, value and headers: length, attributes, two deltas, two
/// lengths, count of headers.
const RECORD_OVERHEAD: usize = 5 + 1 + 10 + 5 + 5 + 5 + 5;
/// Most bytes of a header besides its key and value.
const HEADER_OVERHEAD: usize = 5 + 5;
/// Bytes that a batch may decompress to when it has to be split; it was put together here.
const SPLIT_MAX: u64 = 1 << 31;

impl ProducerRecord<'_> {
    /// The most bytes that the record can take in a batch.
    pub(super) fn bytes_max(&self) -> usize {
        let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
        let of_header = |header: Header<'_>| HEADER_OVERHEAD + header.key.len() + len(header.value);
        let headers: usize = self.headers.map(of_header).sum();
        RECORD_OVERHEAD + len(self.key) + len(self.value) + headers
    }
}

/// The order of a partition's batches: by when they were begun, and for those that were one once,
/// by the first record's place in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct BatchKey {
    pub id: u64,
    pub part: u32,
}

/// Producer id, epoch and sequence of a batch's first record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sequence {
    pub producer_id: i64,
    pub epoch: i16,
    pub base: i32,
}

/// Where the bytes of a batch are.
#[derive(Debug)]
enum Body {
    /// Room for the header, then records as they are.
    Open(Vec<u8>),
    /// With whoever seals it.
    Lent,
    /// As it is sent.
    Sealed(Bytes),
}

/// A batch of one partition.
#[derive(Debug)]
pub(super) struct Batch {
    pub key: BatchKey,
    pub outcome: Arc<Outcome>,
    pub count: u32,
    pub created_ms: u64,
    /// How often it was sent.
    pub attempts: u32,
    /// Those of them that were refused because another broker led, or was about to: they do not count as `retries`.
    pub redirects: u32,
    pub sequence: Option<Sequence>,
    /// What a broker said of it last.
    pub last_error: Option<ErrorCode>,
    /// No record is added any more.
    pub is_closed: bool,
    body: Body,
    charge: Charge,
    /// Bytes at which it is full.
    limit: usize,
    base_timestamp: i64,
    max_timestamp: i64,
    is_transactional: bool,
}

/// What has to be known to begin a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    pub key: BatchKey,
    /// Bytes at which it is full, header included.
    pub limit: usize,
    pub now_ms: u64,
    pub is_transactional: bool,
}

fn attributes(codec: Compression, is_transactional: bool) -> i16 {
    batch::attributes(codec, TimestampType::CreateTime, is_transactional, false)
}

/// Bytes that a buffer needs beside `limit` so that what cannot be compressed still fits.
pub(super) fn headroom(limit: usize, codec: Compression) -> usize {
    if codec == Compression::None { 0 } else { limit / 64 + 128 }
}

impl Batch {
    pub fn new(begin: Begin, charge: Charge, mut buffer: Vec<u8>) -> Batch {
        buffer.clear();
        buffer.resize(HEADER_LEN, 0);
        Batch {
            key: begin.key,
            outcome: Arc::default(),
            count: 0,
            created_ms: begin.now_ms,
            attempts: 0,
            redirects: 0,
            sequence: None,
            last_error: None,
            is_closed: false,
            body: Body::Open(buffer),
            charge,
            limit: begin.limit,
            base_timestamp: batch::NONE,
            max_timestamp: batch::NONE,
            is_transactional: begin.is_transactional,
        }
    }

    /// Whether a record of at most `bytes` bytes goes in.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        match &self.body {
            Body::Open(buffer) => !self.is_closed && buffer.len() + bytes <= self.limit,
            _ => false,
        }
    }

    /// Whether not even an empty record goes in.
    pub fn is_full(&self) -> bool {
        !self.has_room(RECORD_OVERHEAD)
    }

    /// Adds a record for which [`Self::has_room`]; gives its index.
    #[inline]
    pub fn push(&mut self, record: &ProducerRecord<'_>, timestamp: i64) -> u32 {
        let Body::Open(buffer) = &mut self.body else { return self.count };
        if self.count == 0 {
            self.base_timestamp = timestamp;
        }
        put_record(
            buffer,
            self.count as i32,
            timestamp.wrapping_sub(self.base_timestamp),
            record.key,
            record.value,
            record.headers.map(|header| (header.key, header.value)),
        );
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.count += 1;
        self.count - 1
    }

    /// Bytes of it as they stand now.
    pub fn len(&self) -> usize {
        match &self.body {
            Body::Open(buffer) => buffer.len(),
            Body::Lent => 0,
            Body::Sealed(bytes) => bytes.len(),
        }
    }

    /// Whether it was sealed before: its size is known.
    pub fn is_sealed(&self) -> bool {
        matches!(self.body, Body::Sealed(_))
    }

    /// Takes the bytes to be sent, or to be sealed first.
    pub fn lend(&mut self, compression: CompressionSpec) -> Contents {
        self.is_closed = true;
        match std::mem::replace(&mut self.body, Body::Lent) {
            Body::Open(buffer) => {
                let header = self.header(Compression::None);
                let is_transactional = self.is_transactional;
                Contents::Raw(Raw { header, is_transactional, compression, buffer })
            }
            Body::Sealed(bytes) => {
                self.body = Body::Sealed(bytes.clone());
                Contents::Sealed { bytes, raw_len: 0 }
            }
            Body::Lent => Contents::Sealed { bytes: Bytes::new(), raw_len: 0 },
        }
    }

    /// Keeps what was sealed, in case that it has to be sent again.
    pub fn keep(&mut self, bytes: Bytes) {
        if matches!(self.body, Body::Lent) {
            self.body = Body::Sealed(bytes);
        }
    }

    fn header(&self, codec: Compression) -> BatchHeader {
        BatchHeader {
            base_offset: 0,
            partition_leader_epoch: -1,
            attributes: attributes(codec, self.is_transactional),
            last_offset_delta: self.count.saturating_sub(1) as i32,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: self.sequence.map_or(batch::NONE, |sequence| sequence.producer_id),
            producer_epoch: self.sequence.map_or(-1, |sequence| sequence.epoch),
            base_sequence: self.sequence.map_or(-1, |sequence| sequence.base),
            record_count: self.count as i32,
        }
    }

    /// Gives it another producer epoch and sequence, in the header as well where that was written.
    pub fn set_sequence(&mut self, sequence: Sequence) {
        self.sequence = Some(sequence);
        let Body::Sealed(bytes) = &mut self.body else { return };
        let codec = BatchView::parse(bytes).ok().and_then(|view| view.compression());
        // No copy, but for what a connection that broke off still holds.
        let mut buffer = Vec::from(std::mem::take(bytes));
        self.header(codec.unwrap_or(Compression::None)).write(&mut buffer);
        self.body = Body::Sealed(buffer.into());
    }

    /// Lets go of its memory; buffers of the usual size come back.
    pub fn release(self, usual: usize) {
        match self.body {
            Body::Open(buffer) => self.charge.give_back(buffer, usual),
            Body::Sealed(mut bytes) if bytes.is_unique() => {
                // What is in it would be moved, if only to where it is.
                bytes.truncate(0);
                self.charge.give_back(Vec::from(bytes), usual);
            }
            Body::Sealed(_) | Body::Lent => {}
        }
    }

    /// Makes two of it, the second's first record at about the middle. `None`, and it stays whole,
    /// when it has one record only or cannot be read.
    pub fn split(
        &self,
        memory: &Arc<Memory>,
        decompressor: &mut Decompressor,
    ) -> Option<(u32, [Batch; 2])> {
        if self.count < 2 {
            return None;
        }
        let Body::Sealed(bytes) = &self.body else { return None };
        let view = BatchView::parse(bytes).ok()?;
        let mut records = Vec::new();
        thalweg_records::record::decompress(&view, decompressor, SPLIT_MAX, &mut records).ok()?;
        let middle = records.len() / 2;
        let context = RecordContext::of(&view);
        let mut second_at = 0;
        let mut at = 0;
        for record in context.iter(&records) {
            let size = record.ok()?.size;
            // Neither half is empty.
            if second_at > 0 && (at + size > middle || second_at + 1 == self.count) {
                break;
            }
            at += size;
            second_at += 1;
        }
        let half = |from: u32, to: u32, size: usize| -> Option<Batch> {
            // Deltas of timestamps may take more bytes from another base.
            let limit = HEADER_LEN + size + 10 * (to - from) as usize;
            let (charge, buffer) = memory.force(limit);
            let key = BatchKey { id: self.key.id, part: self.key.part + from };
            let (now_ms, is_transactional) = (self.created_ms, self.is_transactional);
            let begin = Begin { key, limit, now_ms, is_transactional };
            let mut half = Batch::new(begin, charge, buffer);
            for record in context.iter(&records).skip(from as usize).take((to - from) as usize) {
                let record = record.ok()?;
                half.push_again(&record);
            }
            half.fit();
            half.is_closed = true;
            half.attempts = self.attempts;
            half.redirects = self.redirects;
            half.last_error = self.last_error;
            half.sequence = self.sequence.map(|sequence| Sequence {
                base: batch::add_sequence(sequence.base, from as i32),
                ..sequence
            });
            Some(half)
        };
        let halves = [half(0, second_at, at)?, half(second_at, self.count, records.len() - at)?];
        Some((second_at, halves))
    }

    /// Takes no more than what is in it. What does not get smaller by compression goes as it is, so
    /// that there need be no room for that.
    fn fit(&mut self) {
        if let Body::Open(buffer) = &mut self.body {
            buffer.shrink_to_fit();
            self.charge.shrink(buffer.capacity());
        }
    }

    fn push_again(&mut self, record: &thalweg_records::Record<'_>) {
        let Body::Open(buffer) = &mut self.body else { return };
        if self.count == 0 {
            self.base_timestamp = record.timestamp;
        }
        let delta = record.timestamp.wrapping_sub(self.base_timestamp);
        let headers = record.headers.map(|header| (header.key, header.value));
        put_record(buffer, self.count as i32, delta, record.key, record.value, headers);
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
        self.count += 1;
    }
}

/// A batch's bytes on the way out.
#[derive(Debug)]
pub(super) enum Contents {
    Raw(Raw),
    /// `raw_len` is what the batch took before compression, 0 when it was sealed long ago.
    Sealed {
        bytes: Bytes,
        raw_len: usize,
    },
}

/// A batch to be sealed: compressed, and given its header and checksum.
#[derive(Debug)]
pub(super) struct Raw {
    header: BatchHeader,
    is_transactional: bool,
    compression: CompressionSpec,
    buffer: Vec<u8>,
}

/// What sealing needs, kept per task.
#[derive(Default)]
pub struct Sealer {
    compressor: Compressor,
    out: Vec<u8>,
}

impl Raw {
    /// Bytes before compression.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }
}

impl Sealer {
    /// Whether this build has the codec.
    pub fn check(&mut self, compression: CompressionSpec) -> Result<(), CodecError> {
        self.out.clear();
        self.compressor.compress(compression, b"", &mut self.out)
    }

    pub(super) fn seal(&mut self, raw: Raw) -> Bytes {
        let Raw { mut header, is_transactional, compression, mut buffer } = raw;
        if compression.codec() != Compression::None {
            self.out.clear();
            let records = &buffer[HEADER_LEN..];
            let compressed = self.compressor.compress(compression, records, &mut self.out);
            // What is larger than its buffer afterwards goes as it is: each batch names its codec.
            if compressed.is_ok() && HEADER_LEN + self.out.len() <= buffer.capacity() {
                buffer.truncate(HEADER_LEN);
                buffer.extend_from_slice(&self.out);
                header.attributes = attributes(compression.codec(), is_transactional);
            }
        }
        header.write(&mut buffer);
        Bytes::from(buffer)
    }
}
