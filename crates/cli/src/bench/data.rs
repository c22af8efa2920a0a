//! Batches for a run, built before it: distinct, of the size and compressibility asked for, each
//! record with a checksum of its own.
//!
//! A record's value: CRC-32C (4 bytes, big-endian) of what follows, the record's number in the
//! pool (4 bytes), then text. The text alternates between bytes that compress badly and runs
//! through a fixed vocabulary that compress well; their shares are what sets the ratio.

use thalweg_records::checksum::crc32c;
use thalweg_records::{BatchBuilder, BatchOptions, Compression, CompressionSpec, Compressor};

use super::args::{BatchOf, Load};
use super::random::Random;

/// Bytes of a value in front of its text.
pub const STAMP_LEN: usize = 8;
/// Most bytes of the vocabulary.
const VOCABULARY_MAX: usize = 4096;
/// Codecs look back this far at least: snappy and lz4 cut their input into blocks.
const BLOCK_LEN: f64 = 32768.0;
/// The vocabulary is in every block once, so this share of what the block is to be compressed to.
const VOCABULARY_SHARE: f64 = 0.25;
/// Bytes of a piece that compresses badly: as long as an id or a timestamp in a log line.
const FRESH_LEN: usize = 12;
/// Batches that the compressibility is measured on.
const SAMPLE: u32 = 4;
/// How far the ratio may be from what was asked.
const RATIO_TOLERANCE: f64 = 0.05;

/// Why the data asked for cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// No room for the checksum.
    #[error("--record-size {0} is below {STAMP_LEN}, which a record's checksum and number take")]
    RecordTooSmall(usize),
    /// The codec does not reach the ratio.
    #[error(
        "--compress-ratio {wanted} is out of reach of {codec}: between {least:.1} and {most:.1}"
    )]
    Ratio { codec: &'static str, wanted: f64, least: f64, most: f64 },
    /// The codec failed or is not built in.
    #[error(transparent)]
    Codec(#[from] thalweg_records::codec::CodecError),
}

/// One batch, ready to be sent.
pub struct Batch {
    /// The batch as a producer sends it: base offset 0, leader epoch -1, no producer id.
    pub bytes: Vec<u8>,
    /// Records in it.
    pub records: u32,
    /// Bytes of their values.
    pub payload: usize,
}

/// The batches of a run.
pub struct Pool {
    /// All with the same number of records.
    pub batches: Vec<Batch>,
    /// Payload to compressed bytes, over all of them.
    pub ratio: f64,
}

/// Builds the pool; `timestamp` is that of all records, in ms.
pub fn build_pool(load: &Load, timestamp: i64) -> Result<Pool, DataError> {
    if load.record_size < STAMP_LEN {
        return Err(DataError::RecordTooSmall(load.record_size));
    }
    let ratio = if load.compression == Compression::None { 1.0 } else { load.compress_ratio };
    let wire = match load.batch_of {
        BatchOf::Wire => load.batch_bytes as f64 * ratio,
        BatchOf::Payload => load.batch_bytes as f64,
    };
    let mut records = ((wire / load.record_size as f64) as u32).max(1);
    let target = (f64::from(records) * load.record_size as f64).min(BLOCK_LEN) / ratio;
    let vocabulary = (target * VOCABULARY_SHARE) as usize;
    let mut maker = Maker::new(load, timestamp, vocabulary.clamp(16, VOCABULARY_MAX));
    let fresh = match load.compression {
        Compression::None => 0.2,
        _ => maker.fresh_share_for(ratio, records)?,
    };
    if load.batch_of == BatchOf::Wire {
        records = maker.records_within(load.batch_bytes, records, fresh)?;
    }
    maker.number = 0;
    let batches = (0..load.pool)
        .map(|_| maker.batch(records, fresh))
        .collect::<Result<Vec<Batch>, DataError>>()?;
    let payload: usize = batches.iter().map(|batch| batch.payload).sum();
    let wire: usize = batches.iter().map(|batch| batch.bytes.len()).sum();
    Ok(Pool { batches, ratio: payload as f64 / wire as f64 })
}

struct Maker {
    record_size: usize,
    options: BatchOptions,
    compressor: Compressor,
    timestamp: i64,
    vocabulary: Vec<u8>,
    random: Random,
    number: u32,
    value: Vec<u8>,
}

impl Maker {
    fn new(load: &Load, timestamp: i64, vocabulary_len: usize) -> Maker {
        let mut random = Random::with_state(0x7468_616c_7765_6721);
        let vocabulary = (0..vocabulary_len).map(|_| letter(&mut random)).collect();
        let compression = CompressionSpec::new(load.compression);
        Maker {
            record_size: load.record_size,
            options: BatchOptions { compression, ..BatchOptions::default() },
            compressor: Compressor::new(),
            timestamp,
            vocabulary,
            random,
            number: 0,
            value: Vec::new(),
        }
    }

    fn batch(&mut self, records: u32, fresh: f64) -> Result<Batch, DataError> {
        let mut builder = BatchBuilder::new(self.options);
        for _ in 0..records {
            self.next_value(fresh);
            builder.append(self.timestamp, None, Some(&self.value), &[]);
        }
        let bytes = builder.finish(&mut self.compressor)?;
        Ok(Batch { bytes, records, payload: records as usize * self.record_size })
    }

    /// Writes the next value; `fresh` is the share of its text that compresses badly.
    fn next_value(&mut self, fresh: f64) {
        let known_len = (FRESH_LEN as f64 * (1.0 - fresh) / fresh.max(1e-9)).min(1e9) as usize;
        self.value.clear();
        self.value.extend_from_slice(&[0; 4]);
        self.value.extend_from_slice(&self.number.to_be_bytes());
        self.number = self.number.wrapping_add(1);
        while self.value.len() < self.record_size {
            // Lengths vary by half, so that records do not line up.
            let mut known = around(&mut self.random, known_len);
            let mut from = self.random.below(self.vocabulary.len() / 16) * 16;
            while known > 0 && self.value.len() < self.record_size {
                let piece = known.min(self.vocabulary.len() - from);
                self.value.extend_from_slice(&self.vocabulary[from..from + piece]);
                known -= piece;
                from = 0;
            }
            for _ in 0..if fresh > 0.0 { around(&mut self.random, FRESH_LEN) } else { 0 } {
                let letter = letter(&mut self.random);
                self.value.push(letter);
            }
        }
        self.value.truncate(self.record_size);
        let crc = crc32c(&self.value[4..]);
        self.value[..4].copy_from_slice(&crc.to_be_bytes());
    }

    fn ratio(&mut self, records: u32, fresh: f64) -> Result<f64, DataError> {
        let (mut payload, mut wire) = (0, 0);
        for _ in 0..SAMPLE {
            let batch = self.batch(records, fresh)?;
            payload += batch.payload;
            wire += batch.bytes.len();
        }
        Ok(payload as f64 / wire as f64)
    }

    /// The share of badly compressing text that gives the ratio.
    fn fresh_share_for(&mut self, wanted: f64, records: u32) -> Result<f64, DataError> {
        let (mut most_fresh, mut least_fresh) = (1.0, 0.0005);
        for _ in 0..16 {
            let middle = f64::sqrt(most_fresh * least_fresh);
            if self.ratio(records, middle)? < wanted {
                most_fresh = middle;
            } else {
                least_fresh = middle;
            }
        }
        let fresh = f64::sqrt(most_fresh * least_fresh);
        let got = self.ratio(records, fresh)?;
        if (got / wanted - 1.0).abs() > RATIO_TOLERANCE {
            return Err(DataError::Ratio {
                codec: self.options.compression.codec().name(),
                wanted,
                least: self.ratio(records, 1.0)?,
                most: self.ratio(records, 0.0005)?,
            });
        }
        Ok(fresh)
    }

    /// As many records as fit into `bytes` on the wire, at least one.
    fn records_within(&mut self, bytes: usize, guess: u32, fresh: f64) -> Result<u32, DataError> {
        let mut records = guess;
        while records > 1 {
            let mut largest = 0;
            for _ in 0..SAMPLE {
                largest = largest.max(self.batch(records, fresh)?.bytes.len());
            }
            if largest <= bytes {
                break;
            }
            let excess = (u64::from(records) * (largest - bytes) as u64 / largest as u64) as u32;
            records -= excess.clamp(1, records - 1);
        }
        Ok(records)
    }
}

/// Whether a value is one of ours and whole.
pub fn value_is_whole(value: &[u8]) -> bool {
    match value.split_first_chunk::<4>() {
        Some((stamp, rest)) if rest.len() >= STAMP_LEN - 4 => {
            crc32c(rest) == u32::from_be_bytes(*stamp)
        }
        _ => false,
    }
}

/// A number between half and one and a half times `middle`.
fn around(random: &mut Random, middle: usize) -> usize {
    middle / 2 + random.below(middle + 1)
}

fn letter(random: &mut Random) -> u8 {
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -"[random.below(64)]
}

#[cfg(test)]
mod tests {
    use thalweg_records::{BatchView, Decompressor, RecordContext};

    use super::*;

    fn load(compression: Compression, ratio: f64, batch_of: BatchOf) -> Load {
        Load {
            record_size: 1024,
            batch_bytes: 16384,
            batch_of,
            compression,
            compress_ratio: ratio,
            pool: 4,
        }
    }

    #[test]
    fn batches_are_of_the_size_and_ratio_asked_for() {
        for (compression, ratio) in [
            (Compression::None, 1.0),
            (Compression::Lz4, 4.0),
            (Compression::Lz4, 40.0),
            (Compression::Snappy, 4.0),
            (Compression::Zstd, 20.0),
        ] {
            let pool = build_pool(&load(compression, ratio, BatchOf::Wire), 1).unwrap();
            assert!((pool.ratio / ratio - 1.0).abs() < 0.15, "{compression:?}: {}", pool.ratio);
            let mean = pool.batches.iter().map(|b| b.bytes.len()).sum::<usize>() / 4;
            assert!((14_000..=16_600).contains(&mean), "{compression:?}: {mean} bytes");
        }
    }

    #[test]
    fn every_record_is_whole_and_no_batch_is_like_another() {
        let pool = build_pool(&load(Compression::Lz4, 5.0, BatchOf::Payload), 1).unwrap();
        let mut values = std::collections::HashSet::new();
        for batch in &pool.batches {
            let view = BatchView::parse(&batch.bytes).unwrap();
            assert!(view.crc_is_valid());
            assert_eq!(view.record_count(), 16);
            let mut out = Vec::new();
            thalweg_records::record::decompress(&view, &mut Decompressor::new(), 1 << 20, &mut out)
                .unwrap();
            for record in RecordContext::of(&view).iter(&out) {
                let value = record.unwrap().value.unwrap();
                assert_eq!(value.len(), 1024);
                assert!(value_is_whole(value));
                let mut broken = value.to_vec();
                broken[500] ^= 1;
                assert!(!value_is_whole(&broken));
                assert!(values.insert(value.to_vec()));
            }
        }
        assert_eq!(values.len(), 4 * 16);
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        let impossible = load(Compression::Snappy, 1000.0, BatchOf::Wire);
        assert!(matches!(build_pool(&impossible, 1), Err(DataError::Ratio { .. })));
        let small = Load { record_size: 7, ..load(Compression::None, 1.0, BatchOf::Wire) };
        assert!(matches!(build_pool(&small, 1), Err(DataError::RecordTooSmall(7))));
    }
}
