//! Buffers that go from connection to connection, so that an idle one holds none.

use std::cell::RefCell;

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
