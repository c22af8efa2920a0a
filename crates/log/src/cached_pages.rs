//! Asks the system how many pages of a range of a file it has in the page cache: one call of
//! `cachestat` (Linux 6.5) costs half a microsecond for a mebibyte, reading a byte here and there
//! twenty times as much.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of the system call; the same on all architectures that Rust's tier 1 has.
const CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct Range {
    offset: u64,
    len: u64,
}

#[repr(C)]
#[derive(Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Whether all pages with bytes of the range are in the page cache; `None` where the system does
/// not say (an older kernel, a file system without a page cache, a sandbox).
pub(crate) fn all(file: &File, at: u64, len: u64) -> Option<bool> {
    static MISSING: AtomicBool = AtomicBool::new(false);
    let end = at.checked_add(len)?;
    if len == 0 {
        return Some(true);
    }
    if MISSING.load(Ordering::Relaxed) {
        return None;
    }
    let range = Range { offset: at, len };
    let mut counts = Counts::default();
    let (range_at, counts_at, flags) = (&raw const range, &raw mut counts, 0);
    // SAFETY: the descriptor is open as long as `file` is borrowed. Both pointers are to values of
    // the layout that the call is defined with (two, and five, u64 fields), alive until it returns;
    // it reads the first and writes the second.
    let result = unsafe {
        libc::syscall(CACHESTAT, libc::c_long::from(file.as_raw_fd()), range_at, counts_at, flags)
    };
    if result != 0 {
        let error = std::io::Error::last_os_error().raw_os_error();
        if matches!(error, Some(libc::ENOSYS | libc::EPERM)) {
            MISSING.store(true, Ordering::Relaxed);
        }
        return None;
    }
    let page = rustix::param::page_size() as u64;
    let pages = (end - 1) / page - at / page + 1;
    Some(counts.cached >= pages)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::IoSliceMut;
    use std::num::NonZeroU64;

    use rustix::fs::{Advice, fadvise};
    use rustix::io::ReadWriteFlags;

    use super::all;
    use crate::testing::TempDir;

    #[test]
    fn says_what_a_read_that_does_not_wait_says() {
        const LEN: u64 = 4 << 20;
        let dir = TempDir::new();
        let path = dir.path().join("pages");
        std::fs::write(&path, vec![7; LEN as usize]).unwrap();
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        let page = rustix::param::page_size() as u64;
        if all(&file, 0, page).is_none() {
            return; // An older kernel: every caller reads bytes instead.
        }
        assert_eq!(all(&file, 100, LEN - 100), Some(true), "what was just written");
        assert_eq!(all(&file, 0, 0), Some(true));
        assert_eq!(all(&file, u64::MAX, 2), None, "no such range");
        assert_eq!(all(&file, LEN - page, 2 * page), Some(false), "nothing is beyond the end");

        // Some file systems drop nothing, or more than they are told.
        let (from, len) = (LEN / 4, LEN / 4);
        fadvise(&file, from, NonZeroU64::new(len), Advice::DontNeed).unwrap();
        let pages = || (0..LEN).step_by(page as usize);
        let every = pages().all(|at| all(&file, at + page - 1, 1) == Some(true));
        assert_eq!(all(&file, 0, LEN), Some(every), "a hole is noticed wherever it is");
        for at in pages() {
            // First, because the read may have the page read ahead.
            let said = all(&file, at, page);
            let mut byte = [0];
            let mut bytes = [IoSliceMut::new(&mut byte)];
            let read = rustix::io::preadv2(&file, &mut bytes, at, ReadWriteFlags::NOWAIT);
            assert!(said == Some(true) || read.is_err(), "page at {at}: {said:?}, {read:?}");
        }
    }
}
