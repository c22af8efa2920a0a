//! `.lock` of a log directory, held in three ways: against this process (a table), against other
//! processes of Thalweg (`flock`), and against Java, whose `FileChannel.tryLock` is an `fcntl` lock.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use parking_lot::Mutex;
use rustix::fs::FlockOperation;

use crate::fs::disk::{Disk, Mode, OpenFile};
use crate::fs::names;

/// A lock on a log directory, given back when it is dropped.
pub(crate) struct DirLock {
    _file: OpenFile,
    key: (u64, u64),
}

// An fcntl lock belongs to the process and goes with the first descriptor of the file that is
// closed, so a second attempt of this process must not even open the file.
static HELD: Mutex<Option<HashSet<(u64, u64)>>> = Mutex::new(None);

/// Whether this process has locked the file of this device and number.
pub(crate) fn is_held_here(key: (u64, u64)) -> bool {
    HELD.lock().as_ref().is_some_and(|held| held.contains(&key))
}

impl DirLock {
    /// `None` when somebody else has the lock.
    pub(crate) fn take(disk: &Disk, dir: &Path) -> io::Result<Option<DirLock>> {
        let path = dir.join(names::LOCK);
        let mut held = HELD.lock();
        let held = held.get_or_insert_with(HashSet::new);
        if let Ok(metadata) = std::fs::metadata(&path)
            && held.contains(&(metadata.dev(), metadata.ino()))
        {
            return Ok(None);
        }
        let file = disk.open(&path, Mode::Create)?;
        let metadata = std::fs::metadata(&path)?;
        let key = (metadata.dev(), metadata.ino());
        let free = |result: rustix::io::Result<()>| match result {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(false),
            Err(errno) => Err(io::Error::from(errno)),
        };
        let operation = FlockOperation::NonBlockingLockExclusive;
        if !free(rustix::fs::flock(&file, operation))?
            || !free(rustix::fs::fcntl_lock(&file, operation))?
        {
            return Ok(None);
        }
        held.insert(key);
        Ok(Some(DirLock { _file: file, key }))
    }
}

impl Drop for DirLock {
    fn drop(&mut self) {
        if let Some(held) = HELD.lock().as_mut() {
            held.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn a_directory_has_one_owner() {
        let dir = TempDir::new();
        let first = DirLock::take(&Disk::default(), dir.path()).unwrap();
        assert!(first.is_some());
        assert!(DirLock::take(&Disk::default(), dir.path()).unwrap().is_none());
        drop(first);
        assert!(DirLock::take(&Disk::default(), dir.path()).unwrap().is_some());
    }
}
