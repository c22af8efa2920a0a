//! A segment's files by name: opening, renaming from stage to stage, deleting.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Segment, SegmentConfig};
use crate::fs::disk::{Mode, OpenFile, mtime_ms};
use crate::fs::names;
use crate::fs::stage::{FILES, Stage, lock_stage, staged_path};
use crate::fs::wait::Wait;
use crate::partition::dir::DeleteDelay;
use crate::partition::error::StorageError;
use crate::partition::home::Home;

impl Segment {
    /// Opens one of the files under the name that it has.
    pub(super) fn open_file(&self, suffix: &str, mode: Mode, wait: Wait) -> io::Result<OpenFile> {
        self.open_staged(suffix, mode, *lock_stage(&self.stage, wait)?)
    }

    /// For who holds the stage.
    pub(super) fn open_staged(
        &self,
        suffix: &str,
        mode: Mode,
        stage: Stage,
    ) -> io::Result<OpenFile> {
        let path = staged_path(&self.home.path(), self.base_offset, suffix, stage);
        self.dir().disk.open(&path, mode)
    }

    /// When the file was last changed.
    pub(crate) fn last_modified(&self) -> io::Result<i64> {
        let stage = self.stage.read();
        let path = staged_path(&self.home.path(), self.base_offset, names::LOG, *stage);
        Ok(mtime_ms(&std::fs::metadata(path)?))
    }

    /// Makes the files look as if they had last been changed then.
    pub(crate) fn set_last_modified(&self, at_ms: i64) -> io::Result<()> {
        for suffix in [names::LOG, names::INDEX, names::TIME_INDEX] {
            self.open_file(suffix, Mode::Write, Wait::Allowed)?.set_modified(at_ms)?;
        }
        Ok(())
    }

    /// Renames the files to `.deleted` and leaves them to the directory's trash. What holds the
    /// file open can go on reading it.
    pub(crate) fn delete(&self, delay: DeleteDelay) -> Result<(), StorageError> {
        let renamed = self.rename(Stage::Deleted);
        self.dir().guard("rename", &self.file_path(names::LOG), renamed)?;
        self.throw_away(delay);
        Ok(())
    }

    /// Leaves the files, which have been renamed to `.deleted`, to the directory's trash.
    pub(crate) fn throw_away(&self, delay: DeleteDelay) {
        let has_txn_index = self.has_txn_index();
        for suffix in FILES.into_iter().filter(|&file| has_txn_index || file != names::TXN_INDEX) {
            let path = staged_path(&self.home.path(), self.base_offset, suffix, Stage::Deleted);
            self.dir().throw_away(path, false, delay);
        }
        self.dir().metrics.segments_deleted.add(1);
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    /// The log has moved to another directory: a reader that fails to open the file looks again.
    pub(crate) fn was_left(&self) {
        self.is_deleted.store(true, Ordering::Release);
    }

    /// Gives the files their next name.
    pub(crate) fn rename(&self, to: Stage) -> io::Result<()> {
        let mut stage = self.stage.write();
        self.is_deleted.store(to == Stage::Deleted, Ordering::Release);
        FILES.iter().try_for_each(|suffix| self.rename_file(suffix, *stage, to))?;
        *stage = to;
        Ok(())
    }

    /// Gives the log file its next name, and leaves the others to [`Self::rename`]. Of a segment that
    /// nobody else knows yet.
    pub(crate) fn rename_log(&self, to: Stage) -> io::Result<()> {
        let stage = self.stage.write();
        self.rename_file(names::LOG, *stage, to)
    }

    fn rename_file(&self, suffix: &str, from: Stage, to: Stage) -> io::Result<()> {
        let dir = self.home.path();
        let path = |stage| staged_path(&dir, self.base_offset, suffix, stage);
        self.dir().disk.rename_if_exists(&path(from), &path(to)).map(drop)
    }

    /// Removes files under the names of a stage; what is missing is none.
    pub(crate) fn remove_staged(&self, stage: Stage) -> io::Result<()> {
        for suffix in FILES {
            let path = staged_path(&self.home.path(), self.base_offset, suffix, stage);
            self.dir().disk.remove_file(&path)?;
        }
        Ok(())
    }

    /// A segment that compaction writes, with its files.
    pub(crate) fn begin_cleaned(
        home: &Arc<Home>,
        base_offset: i64,
        config: &SegmentConfig,
    ) -> io::Result<Arc<Segment>> {
        let segment = Segment::new(home, base_offset, config);
        segment.remove_staged(Stage::Cleaned)?;
        *segment.stage.write() = Stage::Cleaned;
        for suffix in [names::LOG, names::INDEX, names::TIME_INDEX] {
            segment.open_file(suffix, Mode::Create, Wait::Allowed)?;
        }
        Ok(segment)
    }
}
