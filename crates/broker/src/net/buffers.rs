//! Buffers that go from connection to connection, so that an idle one holds none.

use std::cell::RefCell;

use thalweg_wire::Writer;

/// What a worker thread keeps at most.
const KEEP_BYTES_MAX: usize = 16 << 20;
/// A buffer larger than this goes back to the allocator.
const KEEP_ONE_MAX: usize = 4 << 20;

thread_local! {
    static KEPT: RefCell<(Vec<Vec<u8>>, usize)> = const { RefCell::new((Vec::new(), 0)) };
}

/// An empty buffer; it may have capacity from earlier use.
pub(crate) fn take() -> Vec<u8> {
    KEPT.with_borrow_mut(|(kept, bytes)| match kept.pop() {
        Some(buffer) => {
            *bytes -= buffer.capacity();
            buffer
        }
        None => Vec::new(),
    })
}

/// Gives a buffer back for reuse.
pub(crate) fn give(mut buffer: Vec<u8>) {
    let capacity = buffer.capacity();
    if capacity == 0 || capacity > KEEP_ONE_MAX {
        return;
    }
    buffer.clear();
    KEPT.with_borrow_mut(|(kept, bytes)| {
        if *bytes + capacity <= KEEP_BYTES_MAX {
            *bytes += capacity;
            kept.push(buffer);
        }
    });
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
