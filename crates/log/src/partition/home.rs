//! Where a partition lives: its directory, which is renamed and moves between log directories.
//!
//! Invariants:
//! - A path is read and the directory renamed under one lock, so no file is opened between the rename and
//!   the new path.
//! - A home that the log has left points to the next one. A reference to it stays good.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use thalweg_wire::Uuid;

use crate::partition::dir::LogDir;
use crate::partition::error::StorageError;

/// One directory of a partition.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) dir: Arc<LogDir>,
    /// Its owner looks after the log (`LogManager::open_unmanaged`): the file that is appended to stays open, and a segment
    /// is flushed before the next one begins.
    pub(crate) is_unmanaged: bool,
    path: RwLock<Arc<Path>>,
    /// Where the log has moved from here. Its segments that are here stay what they were.
    next: OnceLock<Arc<Home>>,
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

    /// The path, which stays what it is until the guard is dropped.
    pub(crate) fn lock_path(&self) -> RwLockReadGuard<'_, Arc<Path>> {
        self.path.read()
    }

    /// Gives the directory another name in the same log directory.
    pub(crate) fn rename(&self, to: &Path) -> Result<(), StorageError> {
        let mut path = self.path.write();
        self.dir.guard("rename", &path, self.dir.disk.rename(&path, to))?;
        *path = to.into();
        Ok(())
    }
}

/// The homes of a log, one after the other.
#[derive(Debug)]
pub(crate) struct Homes {
    first: Arc<Home>,
    /// The directory whose copy of the partition this one replaces, while its marker is there.
    replaces: Mutex<Option<Uuid>>,
}

impl Homes {
    pub(crate) fn new(first: Arc<Home>, replaces: Option<Uuid>) -> Homes {
        Homes { first, replaces: Mutex::new(replaces) }
    }

    /// Where the log is.
    #[inline]
    pub(crate) fn current(&self) -> &Arc<Home> {
        let mut home = &self.first;
        while let Some(next) = home.next.get() {
            home = next;
        }
        home
    }

    /// Where the log was before it moved to where it is; where it is, if it never has.
    pub(crate) fn before(&self) -> &Arc<Home> {
        let mut home = &self.first;
        while let Some(next) = home.next.get().filter(|next| next.next.get().is_some()) {
            home = next;
        }
        home
    }

    /// The log is there from here on. One thread at a time moves a log.
    pub(crate) fn move_to(&self, home: &Arc<Home>) {
        let _ = self.current().next.set(home.clone());
    }

    pub(crate) fn replaces(&self) -> Option<Uuid> {
        *self.replaces.lock()
    }

    pub(crate) fn set_replaces(&self, dir: Option<Uuid>) {
        *self.replaces.lock() = dir;
    }
}
