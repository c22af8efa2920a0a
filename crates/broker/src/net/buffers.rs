//! Buffers that go from connection to connection, so that an idle one holds none.

use std::cell::RefCell;

use thalweg_wire::Writer;

/// What a worker thread keeps at most.
const KEEP_BYTES_MAX: usize = 16 << 20;
/// A buffer larger than this goes back to the allocator.
const KEEP_ONE_MAX: usize = 4 << 20;
/// After so many that were given back, half of those that nobody took meanwhile go to the allocator. A burst, as
/// when thousands of connections ask at once, would be kept for ever.
const TRIM_EVERY: u32 = 1024;

/// Buffers of one worker thread. What was given last is taken first.
#[derive(Default)]
struct Kept {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
    /// The fewest that there were since the last trim.
    fewest: usize,
    given: u32,
}

thread_local! {
    static KEPT: RefCell<Kept> = const {
        RefCell::new(Kept { buffers: Vec::new(), bytes: 0, fewest: 0, given: 0 })
    };
}

impl Kept {
    fn take(&mut self) -> Vec<u8> {
        let Some(buffer) = self.buffers.pop() else { return Vec::new() };
        self.bytes -= buffer.capacity();
        self.fewest = self.fewest.min(self.buffers.len());
        buffer
    }

    fn give(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        if capacity == 0 || capacity > KEEP_ONE_MAX {
            return;
        }
        buffer.clear();
        if self.bytes + capacity <= KEEP_BYTES_MAX {
            self.bytes += capacity;
            self.buffers.push(buffer);
        }
        self.given += 1;
        if self.given == TRIM_EVERY {
            self.trim();
        }
    }

    fn trim(&mut self) {
        for buffer in self.buffers.drain(..self.fewest.div_ceil(2)) {
            self.bytes -= buffer.capacity();
        }
        self.fewest = self.buffers.len();
        self.given = 0;
    }
}

/// An empty buffer; it may have capacity from earlier use.
pub(crate) fn take() -> Vec<u8> {
    KEPT.with_borrow_mut(Kept::take)
}

/// Gives a buffer back for reuse.
pub(crate) fn give(buffer: Vec<u8>) {
    KEPT.with_borrow_mut(|kept| kept.give(buffer));
}

/// Frames for answers that a worker thread keeps at most, and the largest that is kept.
const KEEP_FRAMES: usize = 32;
const KEEP_FRAME_MAX: usize = 256 << 10;

thread_local! {
    static FRAMES: RefCell<Vec<Writer>> = const { RefCell::new(Vec::new()) };
}

/// An empty frame for an answer.
pub(crate) fn take_frame() -> Writer {
    FRAMES.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Gives a frame back for reuse.
pub(crate) fn give_frame(mut frame: Writer) {
    if (1..=KEEP_FRAME_MAX).contains(&frame.capacity()) {
        frame.clear();
        FRAMES.with_borrow_mut(|kept| {
            if kept.len() < KEEP_FRAMES {
                kept.push(frame);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_burst_leaves_goes_and_what_is_used_stays() {
        let mut kept = Kept::default();
        (0..40).for_each(|_| kept.give(Vec::with_capacity(1000)));
        assert_eq!((kept.buffers.len(), kept.bytes), (40, 40_000));
        let mut allocated = 0;
        for _ in 0..20 * TRIM_EVERY {
            let used: Vec<Vec<u8>> = (0..3).map(|_| kept.take()).collect();
            for mut buffer in used {
                if buffer.capacity() == 0 {
                    allocated += 1;
                    buffer.reserve_exact(1000);
                }
                kept.give(buffer);
            }
        }
        assert_eq!((kept.buffers.len(), kept.bytes, allocated), (3, 3000, 0));
        kept.give(Vec::with_capacity(KEEP_ONE_MAX + 1));
        kept.give(Vec::new());
        assert_eq!(kept.buffers.len(), 3);
    }
}
