//! Control batches that end a producer's transaction in one partition.

use crate::batch::HEADER_LEN;
use crate::builder::{BatchBuilder, BatchOptions};

/// What a transaction marker says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndTxnMarker {
    /// Whether the transaction was committed; else it was aborted.
    pub commit: bool,
    /// Leader epoch of the transaction coordinator's partition: markers of an earlier one are refused.
    pub coordinator_epoch: i32,
}

const VERSION: [u8; 2] = 0i16.to_be_bytes();
const ABORT: [u8; 2] = 0i16.to_be_bytes();
const COMMIT: [u8; 2] = 1i16.to_be_bytes();

/// A control batch with one marker, as the leader of a partition appends it when the coordinator asks for it
/// (WriteTxnMarkers, KIP-98).
pub fn end_txn_marker(
    producer_id: i64,
    producer_epoch: i16,
    marker: EndTxnMarker,
    timestamp_ms: i64,
) -> Vec<u8> {
    let kind = if marker.commit { COMMIT } else { ABORT };
    let key = [VERSION, kind].concat();
    let value = [&VERSION[..], &marker.coordinator_epoch.to_be_bytes()].concat();
    let options = BatchOptions {
        producer_id,
        producer_epoch,
        transactional: true,
        control: true,
        ..BatchOptions::default()
    };
    let mut batch = BatchBuilder::new(options);
    batch.append(timestamp_ms, Some(&key), Some(&value), &[]);
    let mut bytes = vec![0; HEADER_LEN];
    bytes.extend_from_slice(batch.records());
    batch.header().write(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BatchView;

    #[test]
    fn a_marker_is_as_kafka_writes_it() {
        let marker = EndTxnMarker { commit: true, coordinator_epoch: 0x0102_0304 };
        let bytes = end_txn_marker(7, 3, marker, 1_000);
        let batch = BatchView::parse(&bytes).unwrap();
        assert!(batch.is_control() && batch.is_transactional() && batch.crc_is_valid());
        assert_eq!((batch.producer_id(), batch.producer_epoch()), (7, 3));
        assert_eq!((batch.base_sequence(), batch.record_count()), (-1, 1));
        assert_eq!((batch.base_timestamp(), batch.max_timestamp()), (1_000, 1_000));
        // Length, attributes, deltas; key and value with their lengths; no headers.
        let expected = [32, 0, 0, 0, 8, 0, 0, 0, 1, 12, 0, 0, 1, 2, 3, 4, 0];
        assert_eq!(batch.payload(), expected);
        let aborted = EndTxnMarker { commit: false, ..marker };
        assert_eq!(BatchView::parse(&end_txn_marker(7, 3, aborted, 0)).unwrap().payload()[8], 0);
    }
}
