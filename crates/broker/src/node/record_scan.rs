//! Lets the log look at the records of a batch when it searches for a timestamp.

use thalweg_log::RecordScan;
use thalweg_records::BatchView;
use thalweg_records::record::RecordReader;

use crate::node::workspace;

/// Largest batch that is decompressed for a search.
const MAX_DECOMPRESSED: u64 = i32::MAX as u64;

/// Reads records with a worker's own contexts.
#[derive(Debug)]
pub(crate) struct Scan;

impl RecordScan for Scan {
    fn scan(
        &self,
        batch: BatchView<'_>,
        max_record_bytes: i32,
        visit: &mut dyn FnMut(i64, i64) -> bool,
    ) -> Result<(), String> {
        let mut scratch = workspace::validation();
        let decompressor = &mut scratch.decompressor;
        let mut reader =
            RecordReader::bounded(&batch, decompressor, MAX_DECOMPRESSED, max_record_bytes)
                .map_err(|error| error.to_string())?;
        while let Some(record) =
            reader.next(&batch, decompressor).map_err(|error| error.to_string())?
        {
            if !visit(record.offset, record.timestamp) {
                break;
            }
        }
        Ok(())
    }
}
