//! `<offset>.snapshot`: the producers of a partition as of an offset.
//!
//! Version 1: version i16, CRC-32C (u32) of what follows, count i32, then per producer 46 bytes.
//! A file that does not add up is refused as a whole.

use thalweg_records::checksum::crc32c;

/// One batch of a producer. A snapshot holds the last one of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct BatchMeta {
    pub(crate) last_sequence: i32,
    pub(crate) offset_delta: i32,
    pub(crate) last_offset: i64,
    pub(crate) timestamp: i64,
}

/// A producer as a snapshot holds it; -1 stands for "none".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProducerEntry {
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
    pub(crate) coordinator_epoch: i32,
    pub(crate) last_timestamp: i64,
    /// First offset of the open transaction.
    pub(crate) txn_first_offset: i64,
    pub(crate) last_batch: Option<BatchMeta>,
}

const VERSION: i16 = 1;
const ENTRIES_AT: usize = 6;
const ENTRY_LEN: usize = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8;

pub(crate) fn encode(producers: impl ExactSizeIterator<Item = ProducerEntry>) -> Vec<u8> {
    let mut out = Vec::with_capacity(ENTRIES_AT + 4 + producers.len() * ENTRY_LEN);
    out.extend(VERSION.to_be_bytes());
    out.extend([0; 4]);
    out.extend((producers.len() as i32).to_be_bytes());
    for producer in producers {
        let batch = producer.last_batch;
        out.extend(producer.producer_id.to_be_bytes());
        out.extend(producer.epoch.to_be_bytes());
        out.extend(batch.map_or(-1, |b| b.last_sequence).to_be_bytes());
        out.extend(batch.map_or(-1, |b| b.last_offset).to_be_bytes());
        out.extend(batch.map_or(0, |b| b.offset_delta).to_be_bytes());
        out.extend(producer.last_timestamp.to_be_bytes());
        out.extend(producer.coordinator_epoch.to_be_bytes());
        out.extend(producer.txn_first_offset.to_be_bytes());
    }
    let crc = crc32c(&out[ENTRIES_AT..]);
    out[2..ENTRIES_AT].copy_from_slice(&crc.to_be_bytes());
    out
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<ProducerEntry>, String> {
    let mut at = 0;
    let version = i16::from_be_bytes(take(bytes, &mut at)?);
    if version != VERSION {
        return Err(format!("unknown version {version}"));
    }
    let stored = u32::from_be_bytes(take(bytes, &mut at)?);
    let computed = crc32c(&bytes[ENTRIES_AT..]);
    if stored != computed {
        return Err(format!("CRC is {computed:#010x}, stored is {stored:#010x}"));
    }
    let count = i32::from_be_bytes(take(bytes, &mut at)?);
    let count = usize::try_from(count).map_err(|_| format!("count {count} is negative"))?;
    let room = (bytes.len() - at) / ENTRY_LEN;
    if count > room {
        return Err(format!("count {count}, but there are bytes for {room}"));
    }
    let mut producers = Vec::with_capacity(count);
    for _ in 0..count {
        let producer_id = i64::from_be_bytes(take(bytes, &mut at)?);
        let epoch = i16::from_be_bytes(take(bytes, &mut at)?);
        let last_sequence = i32::from_be_bytes(take(bytes, &mut at)?);
        let last_offset = i64::from_be_bytes(take(bytes, &mut at)?);
        let offset_delta = i32::from_be_bytes(take(bytes, &mut at)?);
        let last_timestamp = i64::from_be_bytes(take(bytes, &mut at)?);
        let coordinator_epoch = i32::from_be_bytes(take(bytes, &mut at)?);
        let txn_first_offset = i64::from_be_bytes(take(bytes, &mut at)?);
        let last_batch = (last_offset >= 0).then_some(BatchMeta {
            last_sequence,
            offset_delta,
            last_offset,
            timestamp: last_timestamp,
        });
        producers.push(ProducerEntry {
            producer_id,
            epoch,
            coordinator_epoch,
            last_timestamp,
            txn_first_offset,
            last_batch,
        });
    }
    Ok(producers)
}

fn take<const N: usize>(bytes: &[u8], at: &mut usize) -> Result<[u8; N], String> {
    let end = *at + N;
    let field = bytes.get(*at..end).and_then(|s| s.try_into().ok());
    *at = end;
    field.ok_or_else(|| format!("ends after {} bytes", bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn producers() -> [ProducerEntry; 2] {
        let batch =
            BatchMeta { last_sequence: 9, offset_delta: 3, last_offset: 100, timestamp: 5000 };
        let first = ProducerEntry {
            producer_id: 1,
            epoch: 2,
            coordinator_epoch: 3,
            last_timestamp: 5000,
            txn_first_offset: -1,
            last_batch: Some(batch),
        };
        let second = ProducerEntry {
            producer_id: i64::MAX,
            epoch: 0,
            coordinator_epoch: -1,
            last_timestamp: 6000,
            txn_first_offset: 90,
            last_batch: None,
        };
        [first, second]
    }

    #[test]
    fn round_trip() {
        let bytes = encode(producers().into_iter());
        assert_eq!(bytes.len(), 10 + 2 * 46);
        assert_eq!(decode(&bytes).unwrap(), producers());
        assert_eq!(decode(&encode([].into_iter())).unwrap().len(), 0);
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_noticed() {
        let bytes = encode(producers().into_iter());
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut broken = bytes.clone();
                broken[at] ^= 1 << bit;
                assert!(decode(&broken).is_err(), "byte {at} bit {bit}");
            }
        }
        let mut huge = vec![0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff];
        let crc = crc32c(&huge[6..]);
        huge[2..6].copy_from_slice(&crc.to_be_bytes());
        assert!(decode(&huge).unwrap_err().contains("count"));
    }
}
