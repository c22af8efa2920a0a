//! A coordinator's records as batches for its log.

use thalweg_coordinator::{Append, AppendKind, CoordinatorRecord, TransactionEnd};
use thalweg_records::batch::Compression;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::CompressionSpec;
use thalweg_records::control::{EndTxnMarker, end_txn_marker};

use super::RuntimeConfig;
use crate::node::workspace;

/// What a batch that is too long is compressed with, whatever `offsets.topic.compression.codec` says: all
/// members of a large group are alike, and every Kafka can read it.
const LARGE: CompressionSpec = CompressionSpec::new(Compression::Gzip);

/// The length of bytes after the compression of a batch that is too long without.
pub(crate) fn compressed_len(bytes: &[u8]) -> usize {
    let mut out = Vec::new();
    match workspace::validation().compressor.compress(LARGE, bytes, &mut out) {
        Ok(()) => out.len(),
        Err(_) => usize::MAX,
    }
}

/// The batches of an append with how many records each holds: one, or as few as fit when the records
/// stand for themselves. One that is too long is compressed, if all records of the append may be. Says what stands in
/// the way.
pub(super) fn build<R: CoordinatorRecord, P>(
    append: &Append<R, P>,
    config: RuntimeConfig,
    max: usize,
) -> Result<Vec<(Vec<u8>, usize)>, String> {
    let mut out = Vec::new();
    let mut scratch = workspace::validation();
    let mut options = BatchOptions { compression: config.compression, ..BatchOptions::default() };
    match append.kind {
        AppendKind::Own { .. } => {}
        AppendKind::Transactional(producer) => {
            options.producer_id = producer.id;
            options.producer_epoch = producer.epoch;
            // Nobody checks the sequences of a coordinator's batches. Kafka has 0 in all of them.
            options.base_sequence = 0;
            options.transactional = true;
        }
        AppendKind::Marker(end) => return Ok(vec![(marker(&end, append.timestamp_ms), 1)]),
    }
    let mut builder = BatchBuilder::new(options);
    let may_be_compressed = append.records.iter().all(CoordinatorRecord::may_be_compressed);
    let mut finish = |builder: &mut BatchBuilder| -> Result<(), String> {
        let mut finish = |builder: &BatchBuilder| {
            let finished = builder.finish(&mut scratch.compressor);
            finished.map_err(|error| format!("they cannot be compressed: {error}"))
        };
        let mut batch = finish(builder)?;
        if batch.len() > max && may_be_compressed {
            builder.set_compression(LARGE);
            batch = finish(builder)?;
        }
        if batch.len() > max {
            return Err(format!("{} bytes are more than max.message.bytes, {max}", batch.len()));
        }
        out.push((batch, usize::try_from(builder.record_count()).unwrap_or(0)));
        Ok(())
    };
    for record in &append.records {
        let encoded =
            record.encode().map_err(|error| format!("a record cannot be encoded: {error}"))?;
        let len = encoded.key.len() + encoded.value.as_ref().map_or(0, |v| v.len()) + 32;
        if !append.is_atomic()
            && builder.record_count() > 0
            && builder.records_len() + len > max / 2
        {
            finish(&mut builder)?;
            builder = BatchBuilder::new(options);
        }
        builder.append(append.timestamp_ms, Some(&encoded.key), encoded.value.as_deref(), &[]);
    }
    finish(&mut builder)?;
    Ok(out)
}

/// The control batch that ends a transaction.
fn marker(end: &TransactionEnd, timestamp_ms: i64) -> Vec<u8> {
    let marker = EndTxnMarker { commit: end.commit, coordinator_epoch: end.coordinator_epoch };
    end_txn_marker(end.producer.id, end.producer.epoch, marker, timestamp_ms)
}
