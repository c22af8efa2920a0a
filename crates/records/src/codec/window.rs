//! The reused buffer between a codec and whoever reads the decompressed bytes.
//!
//! Bytes `start..end` are decompressed and not yet consumed. Making room moves them to the front
//! and grows the buffer only if that is not enough, so the size is that of the largest unconsumed
//! rest plus the largest piece a codec delivers at once.

/// Size that a window keeps between batches. Larger ones are given back after [`KEPT_FOR`] batches
/// that did not need the excess: a producer of large blocks stays free of allocations, and one
/// odd batch does not hold memory for ever.
pub(super) const KEEP: usize = 1 << 20;
/// See [`KEEP`].
pub(super) const KEPT_FOR: u32 = 128;

#[derive(Default)]
pub(super) struct Window {
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// Largest `end` of the stream at hand.
    peak: usize,
    unneeded_for: u32,
}

impl Window {
    /// Forgets all bytes; called at the beginning of a stream.
    pub fn clear(&mut self) {
        if self.buf.len() > KEEP {
            self.unneeded_for = if self.peak > KEEP { 0 } else { self.unneeded_for + 1 };
            if self.unneeded_for > KEPT_FOR {
                self.buf.truncate(KEEP);
                self.buf.shrink_to(KEEP);
                self.unneeded_for = 0;
            }
        }
        self.start = 0;
        self.end = 0;
        self.peak = 0;
    }

    #[inline]
    pub fn available(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    #[inline]
    pub fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
    }

    /// Room for at least `n` more bytes, initialised; what is written to it is added with
    /// [`Self::advance`].
    pub fn room(&mut self, n: usize) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else if self.start > 0 && self.buf.len() - self.end < n {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let need = self.end + n;
        if self.buf.len() < need {
            // Doubling keeps a record that spans many pieces from being copied once per piece.
            let grown = if self.end > 0 { need.max(self.buf.len() * 2) } else { need };
            self.buf.resize(grown, 0);
        }
        &mut self.buf[self.end..]
    }

    /// Adds `n` bytes that were written to [`Self::room`].
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.end = (self.end + n).min(self.buf.len());
        self.peak = self.peak.max(self.end);
    }
}
