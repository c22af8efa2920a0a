//! Names of a segment's files while they are made, replaced and deleted.
//!
//! Invariant: the stage is locked while a file is opened. Otherwise a rename in between could give the
//! file's name to another segment.

use std::io;
use std::path::{Path, PathBuf};

use parking_lot::{RwLock, RwLockReadGuard};

use crate::fs::names;
use crate::fs::wait::Wait;

/// A segment's files.
pub(crate) const FILES: [&str; 4] = [names::LOG, names::INDEX, names::TIME_INDEX, names::TXN_INDEX];

/// What a segment's files are called, behind their offset and kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Compaction is writing them.
    Cleaned,
    /// They are to replace the segments they were made of.
    Swap,
    /// The log's.
    Live,
    /// They go when `file.delete.delay.ms` has passed.
    Deleted,
}

impl Stage {
    fn suffix(self) -> &'static str {
        match self {
            Stage::Cleaned => names::CLEANED,
            Stage::Swap => names::SWAP,
            Stage::Live => "",
            Stage::Deleted => names::DELETED,
        }
    }
}

/// The stage, kept from changing; [`io::ErrorKind::WouldBlock`] under [`Wait::Never`] while the files are
/// being renamed, which may wait for the disk.
pub(crate) fn lock_stage(
    stage: &RwLock<Stage>,
    wait: Wait,
) -> io::Result<RwLockReadGuard<'_, Stage>> {
    match wait {
        Wait::Allowed => Ok(stage.read()),
        Wait::Never => stage.try_read().ok_or_else(|| io::ErrorKind::WouldBlock.into()),
    }
}

/// The path of one of a segment's files.
pub(crate) fn staged_path(dir: &Path, base_offset: i64, suffix: &str, stage: Stage) -> PathBuf {
    let mut path = names::segment_file(dir, base_offset, suffix);
    path.as_mut_os_string().push(stage.suffix());
    path
}
