//! Records that were found: bytes of one file.

use std::io;
use std::sync::Arc;

use thalweg_log::OpenFile;

/// Whole batches in one file.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) position: u64,
    pub(crate) len: u32,
}

impl Piece {
    /// Copies the bytes onto the end of `out`; `WouldBlock` when some have to come from the disk
    /// and waiting is not allowed.
    pub(crate) fn copy_into(&self, out: &mut Vec<u8>, may_wait: bool) -> io::Result<()> {
        let start = out.len();
        let len = self.len as usize;
        out.resize(start + len, 0);
        if may_wait {
            return self.file.read_exact_at(&mut out[start..], self.position);
        }
        let mut done = 0;
        while done < len {
            let at = self.position + done as u64;
            match self.file.read_nowait(&mut out[start + done..], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => done += n,
            }
        }
        Ok(())
    }

    /// Sees to it that the bytes are in the page cache; `WouldBlock` when they are not and waiting
    /// is not allowed. Looks at every 128 KiB and at the last byte, because the kernel reads ahead
    /// and drops pages in runs.
    pub(crate) fn warm(&self, may_wait: bool) -> io::Result<()> {
        const STEP: u64 = 128 << 10;
        let end = self.position + u64::from(self.len);
        let mut byte = [0u8; 1];
        if !may_wait {
            let mut at = self.position;
            while at < end {
                self.file.read_nowait(&mut byte, at)?;
                at += STEP;
            }
            return self.file.read_nowait(&mut byte, end - 1).map(|_| ());
        }
        let mut buffer = vec![0u8; STEP as usize];
        let mut at = self.position;
        while at < end {
            let want = (end - at).min(STEP) as usize;
            match self.file.read_at(&mut buffer[..want], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => at += n as u64,
            }
        }
        Ok(())
    }
}
