//! Files: every operation on the disk, the open files, the names of files and directories.
//!
//! Invariants:
//! - Nothing else in this crate opens, writes, renames or removes a file.
//! - Nothing here knows what a file holds.

pub(crate) mod dir_lock;
pub(crate) mod disk;
pub(crate) mod file_pool;
pub(crate) mod names;
pub(crate) mod random;
pub(crate) mod stage;
pub(crate) mod wait;
