//! Numbers that look random: what records have in them, which member is stopped next, and in tests
//! everything else. Not `thalweg-random`, because the records of `bench produce` stay what they were, in
//! bytes.

use std::hash::{BuildHasher, RandomState};

use thalweg_wire::Uuid;

/// xorshift64*.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The same numbers in every run.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The same numbers in every run, from a state that is not 0.
    pub fn with_state(state: u64) -> Random {
        Random(state)
    }

    /// Other numbers in every process.
    pub fn fresh() -> Random {
        Random::new(RandomState::new().hash_one(std::process::id()))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`; 0 when there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }

    /// A member id as the Java client makes it.
    pub fn uuid(&mut self) -> Uuid {
        loop {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&self.next().to_be_bytes());
            bytes[8..].copy_from_slice(&self.next().to_be_bytes());
            // A few values mean something else to Kafka.
            if let Some(id) = Uuid::from_random(bytes) {
                return id;
            }
        }
    }
}
