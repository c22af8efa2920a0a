//! The small files of a partition, for tools that only read them. Nothing is believed of what they
//! say: what does not add up is an error, and what is left over is told.

use thalweg_wire::Uuid;

use crate::format::checkpoint;
use crate::format::index_files::{OFFSET_ENTRY, TIME_ENTRY};
use crate::format::producer_snapshot::{self, ProducerEntry};
use crate::format::txn_index::{self, AbortedTxn};

/// An entry of an offset index (`.index`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OffsetEntry {
    /// Last offset of a batch.
    pub offset: i64,
    /// Where in the segment the batch begins.
    pub position: u32,
}

/// An entry of a time index (`.timeindex`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeEntry {
    /// The largest timestamp so far.
    pub timestamp: i64,
    /// Last offset of the batch that has it.
    pub offset: i64,
}

/// A producer in a snapshot (`.snapshot`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapshotEntry {
    /// The producer's id.
    pub producer_id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// Epoch of the coordinator that ended its last transaction; -1 without.
    pub coordinator_epoch: i32,
    /// Timestamp of its last batch.
    pub last_timestamp: i64,
    /// Sequence number of its last record; -1 without.
    pub last_sequence: i32,
    /// Offset of its last record, where it has batches.
    pub last_offset: Option<i64>,
    /// Where its transaction under way begins.
    pub txn_first_offset: Option<i64>,
}

/// Entries of `N` bytes. What follows the last one that is not zero was set aside for more; what is
/// not a whole entry is given as a number of bytes.
fn entries<const N: usize>(bytes: &[u8]) -> (&[[u8; N]], usize) {
    let (all, rest) = bytes.as_chunks::<N>();
    let used = all.iter().rposition(|entry| entry.iter().any(|byte| *byte != 0));
    // One entry of zeros alone is possible: the first batch has one record, at the beginning.
    (all.get(..used.map_or(0, |at| at + 1)).unwrap_or_default(), rest.len())
}

fn be_u32(bytes: &[u8], at: usize) -> u32 {
    let mut field = [0; 4];
    if let Some(found) = bytes.get(at..at + 4) {
        field.copy_from_slice(found);
    }
    u32::from_be_bytes(field)
}

/// Reads an offset index; also how many bytes are no entry.
pub fn offset_index(bytes: &[u8], base_offset: i64) -> (Vec<OffsetEntry>, usize) {
    let (entries, rest) = entries::<OFFSET_ENTRY>(bytes);
    let entry = |entry: &[u8; OFFSET_ENTRY]| OffsetEntry {
        offset: base_offset.saturating_add(i64::from(be_u32(entry, 0))),
        position: be_u32(entry, 4),
    };
    (entries.iter().map(entry).collect(), rest)
}

/// Reads a time index; also how many bytes are no entry.
pub fn time_index(bytes: &[u8], base_offset: i64) -> (Vec<TimeEntry>, usize) {
    let (entries, rest) = entries::<TIME_ENTRY>(bytes);
    let entry = |entry: &[u8; TIME_ENTRY]| {
        let high = u64::from(be_u32(entry, 0)) << 32;
        let timestamp = (high | u64::from(be_u32(entry, 4))).cast_signed();
        let offset = base_offset.saturating_add(i64::from(be_u32(entry, 8)));
        TimeEntry { timestamp, offset }
    };
    (entries.iter().map(entry).collect(), rest)
}

/// Reads a transaction index; also how many bytes are no entry.
pub fn txn_index(bytes: &[u8]) -> Result<(Vec<AbortedTxn>, usize), String> {
    txn_index::decode_all(bytes)
}

/// Reads a producer snapshot, by id.
pub fn producer_snapshot(bytes: &[u8]) -> Result<Vec<SnapshotEntry>, String> {
    let entry = |producer: ProducerEntry| SnapshotEntry {
        producer_id: producer.producer_id,
        epoch: producer.epoch,
        coordinator_epoch: producer.coordinator_epoch,
        last_timestamp: producer.last_timestamp,
        last_sequence: producer.last_batch.map_or(-1, |batch| batch.last_sequence),
        last_offset: producer.last_batch.map(|batch| batch.last_offset),
        txn_first_offset: Some(producer.txn_first_offset).filter(|offset| *offset >= 0),
    };
    let mut all: Vec<_> = producer_snapshot::decode(bytes)?.into_iter().map(entry).collect();
    all.sort_by_key(|entry| entry.producer_id);
    Ok(all)
}

/// Reads `leader-epoch-checkpoint`: epochs and where they begin.
pub fn leader_epochs(bytes: &[u8]) -> Result<Vec<(i32, i64)>, String> {
    checkpoint::parse_epochs(bytes)
}

/// Reads an offset checkpoint of a log directory: topic, partition, offset.
pub fn offset_checkpoint(bytes: &[u8]) -> Result<Vec<(String, i32, i64)>, String> {
    let entries = checkpoint::parse_offsets(bytes)?.into_iter();
    Ok(entries.map(|entry| (entry.topic, entry.partition, entry.offset)).collect())
}

/// Reads `partition.metadata`: the topic's id.
pub fn partition_metadata(bytes: &[u8]) -> Result<Uuid, String> {
    checkpoint::parse_partition_metadata(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_aside_is_no_entry() {
        let mut bytes = Vec::new();
        for (offset, position) in [(4u32, 0u32), (9, 512)] {
            bytes.extend(offset.to_be_bytes());
            bytes.extend(position.to_be_bytes());
        }
        bytes.extend([0; 8 * 3 + 5]);
        let expected =
            [OffsetEntry { offset: 104, position: 0 }, OffsetEntry { offset: 109, position: 512 }];
        assert_eq!(offset_index(&bytes, 100), (expected.to_vec(), 5));
        assert_eq!(offset_index(&[], 7), (Vec::new(), 0));
    }

    #[test]
    fn times() {
        let mut bytes = 5_000_000_000i64.to_be_bytes().to_vec();
        bytes.extend(3u32.to_be_bytes());
        let entry = TimeEntry { timestamp: 5_000_000_000, offset: i64::MAX };
        assert_eq!(time_index(&bytes, i64::MAX), (vec![entry], 0));
    }
}
