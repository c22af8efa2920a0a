//! Every `malloc` of the process, and what else takes memory, counted at its source: in Rust and
//! in C. An executable's own definitions take the place of the C library's for everything that is
//! linked into it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static HERE: Cell<u64> = const { Cell::new(0) };
}

static EVERYWHERE: AtomicU64 = AtomicU64::new(0);

fn count() {
    HERE.with(|count| count.set(count.get() + 1));
    EVERYWHERE.fetch_add(1, Ordering::Relaxed);
}

/// Allocations of this thread so far.
pub fn here() -> u64 {
    HERE.get()
}

/// Allocations of all threads so far.
#[allow(dead_code)]
pub fn everywhere() -> u64 {
    EVERYWHERE.load(Ordering::Relaxed)
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(n: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

// SAFETY: the signatures are those of the C library, and each definition only counts and hands
// on to the library's own.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    count();
    // SAFETY: as the caller promised to malloc.
    unsafe { __libc_malloc(size) }
}

// SAFETY: see malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(n: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: as the caller promised to calloc.
    unsafe { __libc_calloc(n, size) }
}

// SAFETY: see malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    count();
    // SAFETY: as the caller promised to realloc.
    unsafe { __libc_realloc(old, size) }
}

// SAFETY: see malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: as the caller promised to aligned_alloc.
    unsafe { __libc_memalign(align, size) }
}

// SAFETY: see malloc.
#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: as the caller promised to memalign.
    unsafe { __libc_memalign(align, size) }
}

// SAFETY: see malloc; `out` is written as the function promises.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    count();
    // SAFETY: `out` is the caller's to be written to, the rest goes on as it came.
    unsafe {
        let memory = __libc_memalign(align, size);
        if memory.is_null() {
            return 12;
        }
        *out = memory;
    }
    0
}
