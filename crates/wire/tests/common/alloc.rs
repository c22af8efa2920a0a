//! An allocator that counts what the calling thread takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator with counters per thread.
pub struct Counting;

impl Counting {
    fn took(bytes: usize) {
        CALLS.set(CALLS.get() + 1);
        LIVE.set(LIVE.get() + bytes as isize);
        PEAK.set(PEAK.get().max(LIVE.get()));
    }

    fn gave(bytes: usize) {
        LIVE.set(LIVE.get() - bytes as isize);
    }
}

// SAFETY: every call goes to the system's allocator unchanged; the counters are plain cells without
// destructors, so they neither allocate nor outlive their thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counting::took(layout.size());
        // SAFETY: the caller's promise is the callee's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Counting::took(layout.size());
        // SAFETY: the caller's promise is the callee's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        Counting::gave(layout.size());
        // SAFETY: the caller's promise is the callee's.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new may stand side by side while bytes are moved.
        Counting::took(new_size);
        Counting::gave(layout.size());
        // SAFETY: the caller's promise is the callee's.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

/// What `f` took: bytes held at most at once, and calls.
pub struct Taken {
    pub peak: usize,
    pub calls: usize,
}

/// Runs `f` and counts. Works where [`Counting`] is the global allocator.
pub fn count<T>(f: impl FnOnce() -> T) -> (T, Taken) {
    let (live, calls) = (LIVE.get(), CALLS.get());
    PEAK.set(live);
    let result = f();
    let peak = usize::try_from(PEAK.get() - live).unwrap_or(0);
    (result, Taken { peak, calls: CALLS.get() - calls })
}
