//! Random numbers that a seed repeats: for tests, simulations, and decisions of the client that only have
//! to spread out. They are no secret, so nothing that must not be guessed is made of them.
//!
//! A sequence never changes: seeds in tests and results stand for the histories that they gave.

pub mod seeds;

/// A generator of random numbers (SplitMix64). Any seeds do, also those that follow each other, but not
/// multiples of the step: these are places in the same sequence.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if there is none. The type of the bound does not change the number.
    pub fn below<T: Integer>(&mut self, bound: T) -> T {
        T::from_u64(self.next_u64() % bound.to_u64().max(1))
    }

    /// From one number to another, which is one of them.
    pub fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to.saturating_sub(from) + 1)
    }

    /// One of `from`.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// True one time in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next_u64() as u8).collect()
    }

    /// Damages `bytes` in one to four places: bits, numbers at their extremes, cuts, repeats.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let len = bytes.len();
            if len == 0 {
                bytes.push(self.next_u64() as u8);
                continue;
            }
            let at = self.below(len);
            match self.below(7) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next_u64() as u8,
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

/// What [`Random::below`] gives.
pub trait Integer: Copy {
    /// The number itself, or 0 if it is negative.
    fn to_u64(self) -> u64;

    /// A number that is below one of this type.
    fn from_u64(number: u64) -> Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Integer for $integer {
            fn to_u64(self) -> u64 {
                u64::try_from(self).unwrap_or(0)
            }

            fn from_u64(number: u64) -> Self {
                number as $integer
            }
        }
    )*};
}

integers! { i32 i64 u64 usize }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_never_change() {
        // The first numbers of java.util.SplittableRandom with this seed.
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn bounds_of_all_types_give_one_number() {
        let random = Random::new(7);
        let numbers = |bound: i32| {
            (
                random.clone().below(bound),
                random.clone().below(i64::from(bound)),
                random.clone().below(bound as u64),
                random.clone().below(bound as usize),
            )
        };
        let (number, long, unsigned, size) = numbers(1_000);
        assert!((0..1_000).contains(&number));
        assert_eq!((long, unsigned, size), (number.into(), number as u64, number as usize));
        assert_eq!(numbers(0), (0, 0, 0, 0));
        assert_eq!(random.clone().below(-5), 0);
    }
}
