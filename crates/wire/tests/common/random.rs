//! A small generator of reproducible random numbers (splitmix64). Tests of other crates include this
//! file; those that may use `thalweg-log` or `thalweg-testkit` have `crash::Random`.

// Each test binary uses its own part of this.
#![allow(dead_code)]

/// Its state is its seed. Any seeds do, also those that follow each other; but not multiples of the
/// step, which are places in the same sequence.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// True in so many cases of a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    /// Damages `bytes` in one to four places: bits, numbers at their extremes, cuts, repeats.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let len = bytes.len();
            if len == 0 {
                bytes.push(self.next() as u8);
                continue;
            }
            let at = self.below(len);
            match self.below(7) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next() as u8,
                2 => {
                    // A length field that claims much.
                    let extremes =
                        [u32::MAX, i32::MAX as u32, 1 << 31, 1 << 28, 1 << 20, len as u32, 0];
                    let value = extremes[self.below(extremes.len())].to_be_bytes();
                    let n = value.len().min(len - at);
                    bytes[at..at + n].copy_from_slice(&value[..n]);
                }
                3 => {
                    // The same as a varint.
                    let value = [0xff, 0xff, 0xff, 0xff, [0x07, 0x0f, 0x7f, 0xff][self.below(4)]];
                    let n = value.len().min(len - at);
                    bytes[at..at + n].copy_from_slice(&value[..n]);
                }
                4 => bytes.truncate(at),
                5 => {
                    let piece = bytes[at..len.min(at + 1 + self.below(40))].to_vec();
                    let to = self.below(len);
                    bytes.splice(to..to, piece);
                }
                _ => {
                    let end = len.min(at + 1 + self.below(8));
                    bytes.drain(at..end);
                }
            }
        }
    }
}
