//! Random numbers for ids. From the kernel, in blocks, so that an id costs no system call.

use parking_lot::Mutex;
use thalweg_wire::Uuid;

const BLOCK: usize = 512;

/// A source of random bits.
#[derive(Debug)]
pub(crate) struct Random(Mutex<(Vec<u8>, usize)>);

impl Random {
    pub(crate) fn new() -> Random {
        Random(Mutex::new((Vec::new(), 0)))
    }

    fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut state = self.0.lock();
        let (block, used) = &mut *state;
        if *used + N > block.len() {
            block.resize(BLOCK, 0);
            fill(block);
            *used = 0;
        }
        let mut out = [0; N];
        out.copy_from_slice(&block[*used..*used + N]);
        *used += N;
        out
    }

    pub(crate) fn i32(&self) -> i32 {
        i32::from_be_bytes(self.bytes())
    }

    pub(crate) fn u64(&self) -> u64 {
        u64::from_be_bytes(self.bytes())
    }

    pub(crate) fn u128(&self) -> u128 {
        u128::from_be_bytes(self.bytes())
    }

    /// A fresh id for a topic, a directory or an incarnation.
    pub(crate) fn uuid(&self) -> Uuid {
        loop {
            if let Some(id) = Uuid::from_random(self.bytes()) {
                return id;
            }
        }
    }
}

fn fill(buffer: &mut [u8]) {
    // Without randomness ids would collide: nothing may go on.
    getrandom::fill(buffer).unwrap_or_else(|error| panic!("no random numbers: {error}"));
}
