//! A coordinator's records as batches for its log.

use thalweg_coordinator::{Append, CoordinatorRecord};
use thalweg_records::builder::{BatchBuilder, BatchOptions};

use super::RuntimeConfig;
use crate::workspace;

/// The batches of an append with how many records each holds: one, or as few as fit when the records
/// stand for themselves. Says what stands in the way.
pub(super) fn build<R: CoordinatorRecord>(
    append: &Append<R>,
    config: RuntimeConfig,
    max: usize,
) -> Result<Vec<(Vec<u8>, usize)>, String> {
    let mut out = Vec::new();
    let mut scratch = workspace::validation();
    let options = BatchOptions { compression: config.compression, ..BatchOptions::default() };
    let mut builder = BatchBuilder::new(options);
    let mut finish = |builder: &BatchBuilder| -> Result<(), String> {
        let batch = builder
            .finish(&mut scratch.compressor)
            .map_err(|error| format!("they cannot be compressed: {error}"))?;
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
        if !append.atomic && builder.record_count() > 0 && builder.records_len() + len > max / 2 {
            finish(&builder)?;
            builder = BatchBuilder::new(options);
        }
        builder.append(append.timestamp_ms, Some(&encoded.key), encoded.value.as_deref(), &[]);
    }
    finish(&builder)?;
    Ok(out)
}
