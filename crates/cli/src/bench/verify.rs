//! Checks what a fetch response brings: offsets, CRCs, counts, contents.

use thalweg_records::batch::BatchError;
use thalweg_records::{BatchView, Compression, Decompressor, RecordContext, record};

use super::args::Verify;
use super::data;
use super::stats::Stats;

/// Largest batch that is decompressed.
const DECOMPRESSED_MAX: u64 = 256 << 20;

/// Buffers that checking needs, kept from batch to batch.
pub struct Verifier {
    level: Verify,
    /// Bytes of a record's value, when records are not looked at.
    record_size: Option<usize>,
    decompressor: Decompressor,
    records: Vec<u8>,
}

impl Verifier {
    /// Checks at a level.
    pub fn new(level: Verify, record_size: Option<usize>) -> Verifier {
        Verifier { level, record_size, decompressor: Decompressor::new(), records: Vec::new() }
    }

    /// Goes through the batches of one partition in one response. `offset` is where the fetch
    /// began and becomes where the next one does. `on_batch` sees each batch that is whole.
    pub fn batches(
        &mut self,
        mut bytes: &[u8],
        offset: &mut i64,
        stats: &mut Stats,
        mut on_batch: impl FnMut(&BatchView<'_>),
    ) {
        let mut first = true;
        while !bytes.is_empty() {
            let batch = match BatchView::parse(bytes) {
                Ok(batch) => batch,
                Err(BatchError::Truncated { .. }) => {
                    stats.partial_batches += 1;
                    return;
                }
                Err(_) => return stats.error("BROKEN_BATCH"),
            };
            bytes = &bytes[batch.total_len()..];
            // A fetch from the middle of a batch brings all of it.
            let follows = if first {
                batch.base_offset() <= *offset && batch.next_offset() > *offset
            } else {
                batch.base_offset() == *offset
            };
            if !follows {
                stats.error("OFFSET_GAP");
            }
            first = false;
            if batch.next_offset() <= *offset {
                // Going on would fetch the same again and again.
                return;
            }
            *offset = batch.next_offset();
            if batch.is_control() {
                continue;
            }
            self.batch(&batch, stats);
            on_batch(&batch);
        }
    }

    fn batch(&mut self, batch: &BatchView<'_>, stats: &mut Stats) {
        let records = u64::try_from(batch.record_count()).unwrap_or(0);
        stats.batches += 1;
        stats.records += records;
        if self.level >= Verify::Crc && !batch.crc_is_valid() {
            stats.error("CRC_MISMATCH");
        }
        if self.level < Verify::Records {
            stats.bytes += match self.record_size {
                Some(size) => records * size as u64,
                None => batch.payload().len() as u64,
            };
            return;
        }
        let bytes = if batch.compression() == Some(Compression::None) {
            batch.payload()
        } else {
            self.records.clear();
            let into = &mut self.records;
            match record::decompress(batch, &mut self.decompressor, DECOMPRESSED_MAX, into) {
                Ok(_) => &self.records,
                Err(_) => return stats.error("BROKEN_COMPRESSION"),
            }
        };
        let mut seen = 0;
        for record in RecordContext::of(batch).iter(bytes) {
            let Ok(record) = record else { return stats.error("BROKEN_RECORD") };
            let value = record.value.unwrap_or_default();
            if !data::value_is_whole(value) {
                stats.error("PAYLOAD_MISMATCH");
            }
            if record.offset != batch.base_offset() + seen {
                stats.error("OFFSET_GAP");
            }
            stats.bytes += value.len() as u64;
            seen += 1;
        }
        if seen != i64::from(batch.record_count()) {
            stats.error("COUNT_MISMATCH");
        }
    }
}

#[cfg(test)]
mod tests {
    use thalweg_records::batch;

    use super::super::args::{BatchOf, Load};
    use super::*;

    fn stream(compression: Compression) -> Vec<u8> {
        let load = Load {
            record_size: 400,
            batch_bytes: 4000,
            batch_of: BatchOf::Payload,
            compression,
            compress_ratio: 1.3,
            pool: 5,
        };
        let mut offset = 1000;
        let mut out = Vec::new();
        for mut one in data::build_pool(&load, 1).unwrap().batches {
            batch::set_base_offset(&mut one.bytes, offset);
            offset += i64::from(one.records);
            out.extend(one.bytes);
        }
        out
    }

    fn check(bytes: &[u8], from: i64) -> (Stats, i64, u32) {
        let mut stats = Stats::default();
        let (mut offset, mut seen) = (from, 0);
        Verifier::new(Verify::Records, None).batches(bytes, &mut offset, &mut stats, |_| seen += 1);
        (stats, offset, seen)
    }

    #[test]
    fn whole_streams_pass() {
        for compression in [Compression::None, Compression::Lz4] {
            let bytes = stream(compression);
            let (stats, offset, seen) = check(&bytes, 1000);
            assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
            assert_eq!((stats.records, stats.bytes, offset, seen), (50, 20_000, 1050, 5));
            // From the middle of the first batch.
            assert_eq!(check(&bytes, 1003).0.error_count(), 0);
            // Cut in the last batch.
            let (stats, offset, _) = check(&bytes[..bytes.len() - 1], 1000);
            assert_eq!((stats.error_count(), stats.partial_batches, offset), (0, 1, 1040));
        }
    }

    #[test]
    fn what_is_broken_is_found() {
        let bytes = stream(Compression::None);
        for (from, error) in [(999, "OFFSET_GAP"), (1010, "OFFSET_GAP")] {
            assert_eq!(check(&bytes, from).0.errors.get(error), Some(&1), "from {from}");
        }
        let mut broken = bytes.clone();
        broken[batch::HEADER_LEN + 50] ^= 1;
        let (stats, ..) = check(&broken, 1000);
        assert_eq!(stats.errors["CRC_MISMATCH"], 1);
        assert_eq!(stats.errors["PAYLOAD_MISMATCH"], 1);
        let len = batch::frame_len(&bytes).unwrap();
        let (stats, ..) = check(&[&bytes[..len], &bytes[2 * len..]].concat(), 1000);
        assert!(stats.errors["OFFSET_GAP"] >= 1);
        let mut other_magic = bytes.clone();
        other_magic[16] = 1;
        assert_eq!(check(&other_magic, 1000).0.errors["BROKEN_BATCH"], 1);
    }
}
