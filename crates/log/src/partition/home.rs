//! The directory of a partition, which changes its name and moves between log directories.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;

use crate::partition::dir::LogDir;

/// Where a partition lives. The path changes when the partition is renamed for deletion.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) dir: Arc<LogDir>,
    /// Its owner looks after the log (`LogManager::open_unmanaged`): the file that is appended to stays open, and a segment
    /// is flushed before the next one begins.
    pub(crate) is_unmanaged: bool,
    pub(crate) path: RwLock<Arc<Path>>,
    /// Where the log has moved from here. Its segments that are here stay what they were.
    pub(crate) next: OnceLock<Arc<Home>>,
}

impl Home {
    pub(crate) fn new(dir: &Arc<LogDir>, path: &Path, is_unmanaged: bool) -> Home {
        Home {
            dir: dir.clone(),
            is_unmanaged,
            path: RwLock::new(path.into()),
            next: OnceLock::new(),
        }
    }

    pub(crate) fn path(&self) -> Arc<Path> {
        self.path.read().clone()
    }
}
