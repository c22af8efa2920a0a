//! Whether a call may wait for the disk: readers on threads that serve requests may not.

/// Whether a read may wait for the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Answer only from the page cache.
    Never,
    /// Wait for the disk.
    Allowed,
}
