//! The values to write.

use std::path::Path;

use crate::{Failure, failure};

/// A file of values of one length, one after the other.
pub struct Payload {
    /// The file.
    pub bytes: Vec<u8>,
    /// Bytes of a value.
    pub size: usize,
}

impl Payload {
    /// Reads the file, which must hold at least one value.
    pub fn read(path: &Path, size: usize) -> Result<Payload, Failure> {
        let mut bytes =
            std::fs::read(path).map_err(|error| failure(format!("{}: {error}", path.display())))?;
        let whole = bytes.len().checked_div(size).unwrap_or(0) * size;
        if whole == 0 {
            return Err(failure(format!("{}: no value of {size} bytes", path.display())));
        }
        bytes.truncate(whole);
        Ok(Payload { bytes, size })
    }

    /// The values, round and round.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.size).cycle()
    }
}
