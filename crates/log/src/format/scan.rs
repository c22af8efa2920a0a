//! Reading a segment from a position on, batch by batch with their records: recovery, the rebuilding of
//! producer state, compaction. One buffer, which grows only for a batch that is really there.

use std::io;

use thalweg_records::BatchView;
use thalweg_records::batch::{BatchError, frame_len};

use crate::fs::disk::OpenFile;

const CHUNK: usize = 1 << 20;

/// Why a scan stopped before the end.
#[derive(Debug)]
pub(crate) enum ScanError {
    Io(io::Error),
    /// What is at the position is no batch.
    Bad(String),
    /// A batch of Kafka before 0.11, whole and valid: not damage, but not ours to read either.
    Legacy(i8),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> ScanError {
        ScanError::Io(error)
    }
}

pub(crate) struct Scan<'a> {
    file: &'a OpenFile,
    /// Where the next batch begins.
    position: u64,
    end: u64,
    /// Read at once.
    chunk: usize,
    buf: Vec<u8>,
    /// What of `buf` is valid, and where in the file it begins.
    held: std::ops::Range<usize>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(file: &'a OpenFile, position: u32, end: u32) -> Scan<'a> {
        Scan::with_buffer(file, position, end, CHUNK, Vec::new())
    }

    /// The same with another one's buffer, in pieces of `chunk` bytes.
    pub(crate) fn with_buffer(
        file: &'a OpenFile,
        position: u32,
        end: u32,
        chunk: usize,
        buf: Vec<u8>,
    ) -> Scan<'a> {
        let (position, end) = (position.into(), end.into());
        Scan { file, position, end, chunk, buf, held: 0..0 }
    }

    /// The buffer, for another scan.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buf
    }

    pub(crate) fn position(&self) -> u32 {
        self.position as u32
    }

    /// What was read last; places in it hold until the next batch that [`Self::is_held`] denies.
    pub(crate) fn buffer(&self) -> &[u8] {
        &self.buf
    }

    /// Whether the next batch is in the buffer, where it stays.
    pub(crate) fn is_held(&self) -> bool {
        let held = &self.buf[self.held.clone()];
        frame_len(held).is_ok_and(|len| len <= held.len())
    }

    /// The next batch; `None` at the end. After an error the scan stands where the bad one begins.
    pub(crate) fn next(&mut self) -> Result<Option<BatchView<'_>>, ScanError> {
        Ok(self.next_with_place()?.map(|(batch, _)| batch))
    }

    /// The same, and where in the buffer it begins.
    pub(crate) fn next_with_place(&mut self) -> Result<Option<(BatchView<'_>, usize)>, ScanError> {
        let left = (self.end - self.position) as usize;
        if left == 0 {
            return Ok(None);
        }
        self.hold(12.min(left))?;
        let len = match frame_len(&self.buf[self.held.clone()]) {
            Ok(len) if len <= left => len,
            Ok(len) => {
                return Err(ScanError::Bad(format!("batch of {len} bytes is cut after {left}")));
            }
            Err(error) => return Err(ScanError::Bad(error.to_string())),
        };
        self.hold(len)?;
        let bytes = &self.buf[self.held.start..self.held.start + len];
        match BatchView::parse(bytes) {
            Ok(_) => {}
            Err(BatchError::BadMagic(magic @ 0..=1)) if legacy_is_valid(bytes) => {
                return Err(ScanError::Legacy(magic));
            }
            Err(error) => return Err(ScanError::Bad(error.to_string())),
        }
        self.position += len as u64;
        self.held.start += len;
        // Parsed again because the borrow checker cannot see that nothing has moved.
        let start = self.held.start - len;
        BatchView::parse(&self.buf[start..start + len])
            .map(|batch| Some((batch, start)))
            .map_err(|error| ScanError::Bad(error.to_string()))
    }

    /// Makes sure that `want` bytes from the position on are in the buffer.
    fn hold(&mut self, want: usize) -> io::Result<()> {
        if self.held.len() >= want {
            return Ok(());
        }
        self.buf.copy_within(self.held.clone(), 0);
        self.held = 0..self.held.len();
        let left = (self.end - self.position) as usize;
        let size = want.max(self.chunk).min(left);
        if self.buf.len() < size {
            self.buf.resize(size, 0);
        }
        while self.held.end < size {
            let at = self.position + self.held.end as u64;
            match self.file.read_at(&mut self.buf[self.held.end..size], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => self.held.end += n,
            }
        }
        Ok(())
    }
}

/// CRC-32 (IEEE) of a message of magic 0 or 1.
fn legacy_is_valid(bytes: &[u8]) -> bool {
    let Some((header, body)) = bytes.split_at_checked(16) else { return false };
    let [.., a, b, c, d] = *header else { return false };
    let mut crc = !0u32;
    for byte in body {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 != 0 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc == u32::from_be_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_message_of_old_is_told_from_garbage() {
        let body = [1u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 1, b'x'];
        // The catalogue's check value proves the polynomial.
        let mut check = vec![0; 12];
        check.extend(0xcbf4_3926u32.to_be_bytes());
        check.extend(b"123456789");
        assert!(legacy_is_valid(&check));
        let mut wrong = vec![0; 16];
        wrong.extend(body);
        assert!(!legacy_is_valid(&wrong));
        assert!(!legacy_is_valid(&wrong[..10]));
    }
}
