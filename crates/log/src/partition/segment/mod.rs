//! One segment: a log file, its indexes, and what is known about them.

mod files;
mod find;
mod txn_index;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use thalweg_records::batch::HEADER_LEN;

use crate::format::index::{IndexError, SegmentIndex};
use crate::format::index_files::{IndexPaths, MaxTimestamp};
use crate::format::lookup::Floor;
use crate::format::walk::{BatchHead, Walk, WalkError};
use crate::fs::disk::{Mode, OpenFile, kept};
use crate::fs::file_pool::PooledFile;
use crate::fs::names;
use crate::fs::random::random_u128;
use crate::fs::stage::{FILES, Stage, lock_stage};
use crate::fs::wait::Wait;
use crate::partition::config::LogConfig;
use crate::partition::dir::LogDir;
use crate::partition::home::Home;

const UNKNOWN: i64 = i64::MIN;

/// A segment of a log. Its bytes up to [`Segment::size`] are whole batches.
#[derive(Debug)]
pub(crate) struct Segment {
    me: Weak<Segment>,
    pub(crate) base_offset: i64,
    pub(crate) home: Arc<Home>,
    size: AtomicU32,
    file: Mutex<Option<Arc<OpenFile>>>,
    used: AtomicBool,
    /// The file stays open: of a log that must not depend on a descriptor being free.
    pinned: AtomicBool,
    /// Who opens one of the files holds it, so that they are not renamed in between: another segment
    /// may get their names.
    stage: RwLock<Stage>,
    /// The stage is [`Stage::Deleted`], for those who may not wait.
    is_deleted: AtomicBool,
    /// There is a transaction index.
    has_txn_index: AtomicBool,
    /// Building the indexes anew failed half-way, and is to be done from the beginning.
    index_is_unfinished: AtomicBool,
    /// Files of it that were made here; one counts for those of a process before.
    files_made: AtomicU32,
    /// So many of them are in a directory that was synced since.
    names_synced: AtomicU32,
    /// Segments before it were removed, and a power cut may bring them back.
    removals_unsynced: AtomicBool,
    index: Mutex<SegmentIndex>,
    index_interval: AtomicU32,
    created_ms: AtomicI64,
    first_batch_timestamp: AtomicI64,
    jitter_ms: AtomicI64,
}

/// What a segment is made with.
pub(crate) struct SegmentConfig {
    pub(crate) max_index_bytes: u32,
    pub(crate) index_interval: u32,
    pub(crate) jitter_ms: i64,
    pub(crate) created_ms: i64,
}

impl SegmentConfig {
    /// For a segment that is made now.
    pub(crate) fn of(config: &LogConfig, now_ms: i64) -> SegmentConfig {
        SegmentConfig {
            max_index_bytes: config.segment_index_bytes,
            index_interval: config.index_interval_bytes,
            jitter_ms: config.jitter(random_u128() as u64),
            created_ms: now_ms,
        }
    }
}

impl Segment {
    /// Without batches; the file is made by [`Self::create_file`].
    pub(crate) fn new(home: &Arc<Home>, base_offset: i64, config: &SegmentConfig) -> Arc<Segment> {
        let index = SegmentIndex::empty(base_offset, config.max_index_bytes);
        Self::with(home, base_offset, 0, config, index)
    }

    /// Found on disk with `size` bytes.
    pub(crate) fn found(
        home: &Arc<Home>,
        base_offset: i64,
        size: u32,
        config: &SegmentConfig,
    ) -> Arc<Segment> {
        let index = SegmentIndex::unloaded(base_offset, config.max_index_bytes);
        Self::with(home, base_offset, size, config, index)
    }

    fn with(
        home: &Arc<Home>,
        base_offset: i64,
        size: u32,
        config: &SegmentConfig,
        index: SegmentIndex,
    ) -> Arc<Segment> {
        Arc::new_cyclic(|me| Segment {
            me: me.clone(),
            base_offset,
            home: home.clone(),
            size: AtomicU32::new(size),
            file: Mutex::new(None),
            used: AtomicBool::new(false),
            pinned: AtomicBool::new(false),
            stage: RwLock::new(Stage::Live),
            is_deleted: AtomicBool::new(false),
            has_txn_index: AtomicBool::new(false),
            index_is_unfinished: AtomicBool::new(false),
            files_made: AtomicU32::new(0),
            names_synced: AtomicU32::new(0),
            removals_unsynced: AtomicBool::new(false),
            index: Mutex::new(index),
            index_interval: AtomicU32::new(config.index_interval),
            created_ms: AtomicI64::new(config.created_ms),
            first_batch_timestamp: AtomicI64::new(UNKNOWN),
            jitter_ms: AtomicI64::new(config.jitter_ms),
        })
    }

    /// Goes on as if it had been made with this.
    pub(crate) fn configure(&self, config: &SegmentConfig) {
        self.index_interval.store(config.index_interval, Ordering::Relaxed);
        self.jitter_ms.store(config.jitter_ms, Ordering::Relaxed);
        self.index.lock().set_max_bytes(config.max_index_bytes);
    }

    fn index_interval(&self) -> u32 {
        self.index_interval.load(Ordering::Relaxed)
    }

    pub(crate) fn size(&self) -> u32 {
        self.size.load(Ordering::Acquire)
    }

    pub(crate) fn set_size(&self, size: u32) {
        self.size.store(size, Ordering::Release);
    }

    pub(crate) fn dir(&self) -> &LogDir {
        &self.home.dir
    }

    pub(crate) fn file_path(&self, suffix: &str) -> PathBuf {
        names::segment_file(&self.home.path(), self.base_offset, suffix)
    }

    /// The open log file, for a reader: not opened when those that are read hold too many.
    pub(crate) fn open_to_read(&self, wait: Wait) -> io::Result<Arc<OpenFile>> {
        if !self.dir().pool.has_room_to_read() && self.file.lock().is_none() {
            return Err(kept("answers to readers hold all the files that they may"));
        }
        self.open_unless_renamed(wait)
    }

    /// The open log file; opened if need be. `NotFound` when the segment is gone for good.
    pub(crate) fn open(&self) -> io::Result<Arc<OpenFile>> {
        self.open_unless_renamed(Wait::Allowed)
    }

    fn open_unless_renamed(&self, wait: Wait) -> io::Result<Arc<OpenFile>> {
        self.used.store(true, Ordering::Relaxed);
        if let Some(file) = self.file.lock().clone() {
            return Ok(file);
        }
        // Before the slot: who waits for a rename must not keep the slot from those who may not.
        let stage = lock_stage(&self.stage, wait)?;
        let mut slot = self.file.lock();
        if let Some(file) = &*slot {
            return Ok(file.clone());
        }
        let open = || self.open_staged(names::LOG, Mode::Write, *stage);
        let file = match open() {
            // The partition was renamed between making the path and opening it: the second is right.
            Err(error) if error.kind() == io::ErrorKind::NotFound => open()?,
            other => other?,
        };
        let file = Arc::new(file.counted(self.dir().pool.hold()));
        *slot = Some(file.clone());
        drop(slot);
        self.dir().metrics.files_opened.add(1);
        self.dir().pool.opened(self.me.clone());
        Ok(file)
    }

    /// The open log file, for somebody who passes by: the pool hears nothing of it.
    pub(crate) fn open_briefly(&self) -> io::Result<Arc<OpenFile>> {
        if let Some(file) = &*self.file.lock() {
            return Ok(file.clone());
        }
        self.open_file(names::LOG, Mode::Write, Wait::Allowed).map(Arc::new)
    }

    /// Keeps the file open from when it is opened until the segment gets no more batches, where the
    /// log asks for that.
    pub(crate) fn pin_if_wanted(&self) {
        self.pinned.store(self.home.is_unmanaged, Ordering::Relaxed);
    }

    /// The segment gets no more batches.
    pub(crate) fn unpin(&self) {
        self.pinned.store(false, Ordering::Relaxed);
    }

    /// Makes the file of a new segment; what an earlier crash left under its names goes first.
    pub(crate) fn create_file(&self, preallocate: Option<u32>) -> io::Result<()> {
        let disk = &self.dir().disk;
        self.note_new_file();
        for suffix in FILES {
            let path = self.file_path(suffix);
            if disk.remove_file(&path)? {
                tracing::warn!(path = %path.display(), "file of a new segment was there already");
            }
        }
        // A segment without index files makes Kafka scan it, even after a clean stop.
        for suffix in [names::INDEX, names::TIME_INDEX] {
            disk.open(&self.file_path(suffix), Mode::Create)?;
        }
        let file = disk.open(&self.file_path(names::LOG), Mode::Create)?;
        if let Some(bytes) = preallocate {
            file.allocate(u64::from(bytes))?;
        }
        Ok(())
    }

    /// Removes what [`Self::create_file`] made, as far as it came, and the snapshot that goes with
    /// it.
    pub(crate) fn remove_files(&self, with_snapshot: bool) -> io::Result<()> {
        for suffix in [names::LOG, names::INDEX, names::TIME_INDEX, names::SNAPSHOT] {
            if suffix != names::SNAPSHOT || with_snapshot {
                self.dir().disk.remove_file(&self.file_path(suffix))?;
            }
        }
        Ok(())
    }

    /// Runs `work` with the index and its paths.
    pub(crate) fn with_index<T>(
        &self,
        work: impl FnOnce(&mut SegmentIndex, &IndexPaths<'_>) -> T,
    ) -> T {
        let paths = self.index_paths();
        work(&mut self.index.lock(), &paths)
    }

    fn index_paths(&self) -> IndexPaths<'_> {
        IndexPaths {
            disk: &self.dir().disk,
            partition: self.home.path(),
            base_offset: self.base_offset,
            stage: &self.stage,
        }
    }

    /// Notes a batch in the indexes, in memory.
    pub(crate) fn note_batch(&self, batch: &BatchHead) {
        self.index.lock().on_append(batch, self.index_interval());
    }

    /// Writes the gathered entries of the indexes if they fill a page.
    pub(crate) fn write_full_index_page(&self) -> io::Result<()> {
        self.with_index(|index, paths| index.write_full_page(paths))
    }

    /// Notes an appended batch in the indexes.
    pub(crate) fn on_append(&self, batch: &BatchHead) -> io::Result<()> {
        let full = {
            let mut index = self.index.lock();
            index.on_append(batch, self.index_interval());
            index.page_is_full()
        };
        if full { self.with_index(|index, paths| index.write_full_page(paths)) } else { Ok(()) }
    }

    /// Whether an index has no room for another entry.
    pub(crate) fn index_is_full(&self) -> bool {
        self.index.lock().is_full()
    }

    /// Empties the index, in memory: the batches of the segment are noted again, or there are none.
    pub(crate) fn reset_index(&self) {
        self.index.lock().reset();
    }

    /// The index files on disk are complete and synced, of a segment without batches.
    pub(crate) fn note_index_synced(&self) {
        self.index.lock().mark_synced();
    }

    /// Makes sure that the index files have been looked at. Damaged ones are built again, which
    /// reads the headers of the whole segment.
    pub(crate) fn ensure_index(&self) -> io::Result<()> {
        if self.index.lock().loaded {
            return Ok(());
        }
        let size = self.size();
        let file = self.open_briefly()?;
        let head_at = |position| match Walk::new(&file, position, size, Wait::Allowed).next() {
            Ok(head) => Ok(head),
            Err(WalkError::Io(error)) => Err(error),
            Err(_) => Ok(None),
        };
        if self.index_is_unfinished.load(Ordering::Acquire) {
            return self.rebuild_index(&file);
        }
        let outcome = self.with_index(|index, paths| {
            if index.loaded {
                return Ok(());
            }
            let checked = index
                .load(paths, size, head_at)
                .and_then(|()| self.check_last_time(index, paths, &file))
                .and_then(|()| self.check_largest_time(index, paths, &file));
            // What was not checked to its end, for want of a descriptor perhaps, is not used.
            index.loaded &= checked.is_ok();
            checked
        });
        match outcome {
            Ok(()) => Ok(()),
            Err(IndexError::Io(error)) => Err(error),
            Err(IndexError::Corrupt(reason)) => {
                tracing::warn!(
                    path = %self.file_path(names::LOG).display(), reason,
                    "index does not fit its log and is built again"
                );
                self.rebuild_index(&file)
            }
        }
    }

    /// Whether the last time entry speaks of a batch that is there.
    fn check_last_time(
        &self,
        index: &mut SegmentIndex,
        paths: &IndexPaths<'_>,
        file: &OpenFile,
    ) -> Result<(), IndexError> {
        let max = index.max_timestamp();
        if max.timestamp < 0 {
            return Ok(());
        }
        let entry =
            index.floor_entry(Floor::Offset(max.offset), paths, Wait::Allowed).map_err(io_error)?;
        let from = entry.map_or(0, |(_, position)| position);
        let mut walk = Walk::new(file, from, self.size(), Wait::Allowed);
        while let Ok(Some(head)) = walk.next() {
            if head.last_offset >= max.offset {
                if is_of(&head, max) {
                    return Ok(());
                }
                break;
            }
        }
        index.loaded = false;
        Err(IndexError::Corrupt(format!(
            "no batch with offset {} has timestamp {}",
            max.offset, max.timestamp
        )))
    }

    /// Whether the last time entry has the segment's largest timestamp, which it gets when the segment or the log is
    /// closed. Otherwise a look-up by time passes over the records that are later. (Kafka believes such an index.)
    ///
    /// Looked at are the batches behind the last offset entry; all batches where there is no time entry.
    fn check_largest_time(
        &self,
        index: &mut SegmentIndex,
        paths: &IndexPaths<'_>,
        file: &OpenFile,
    ) -> Result<(), IndexError> {
        let largest = index.max_timestamp().timestamp;
        let entry = match largest {
            0.. => {
                let last = Floor::Position(self.size());
                index.floor_entry(last, paths, Wait::Allowed).map_err(io_error)?
            }
            _ => None,
        };
        let from = entry.map_or(0, |(_, position)| position);
        let mut walk = Walk::new(file, from, self.size(), Wait::Allowed);
        loop {
            match walk.next() {
                Ok(Some(head)) if head.max_timestamp > largest => {
                    index.loaded = false;
                    return Err(IndexError::Corrupt(format!(
                        "the batch that ends with offset {} has timestamp {}, the largest one of the index is {largest}",
                        head.last_offset, head.max_timestamp
                    )));
                }
                Ok(Some(_)) => {}
                Err(WalkError::Io(error)) => return Err(error.into()),
                // What is wrong with a batch is found when it is read.
                Ok(None) | Err(_) => return Ok(()),
            }
        }
    }

    /// Builds the indexes from the batches' headers.
    pub(crate) fn rebuild_index(&self, file: &OpenFile) -> io::Result<()> {
        self.dir().metrics.indexes_rebuilt.add(1);
        self.with_index(|index, paths| {
            let built = self.build_index(index, paths, file);
            // Half of one would be believed: that the largest timestamp lies in it, for one.
            index.loaded &= built.is_ok();
            self.index_is_unfinished.store(built.is_err(), Ordering::Release);
            built
        })
    }

    fn build_index(
        &self,
        index: &mut SegmentIndex,
        paths: &IndexPaths<'_>,
        file: &OpenFile,
    ) -> io::Result<()> {
        let size = self.size();
        let known = index.max_timestamp();
        index.reset();
        let mut walk = Walk::new(file, 0, size, Wait::Allowed);
        loop {
            match walk.next() {
                Ok(Some(head)) => {
                    index.on_append(&head, self.index_interval());
                    index.write_full_page(paths)?;
                }
                Ok(None) => break,
                Err(WalkError::Io(error)) => return Err(error),
                // What lies behind a damaged batch is found from the last entry before it,
                // and so is the damage.
                Err(_) => break,
            }
        }
        // An append may have told its timestamp and not yet its size.
        if known.offset > index.max_timestamp().offset && index.loaded {
            let last = walk.position() == size;
            if last {
                index.note_timestamp(known);
            }
        }
        index.on_close();
        index.write_out(paths)
    }

    /// The largest timestamp and where; -1 when the segment has none.
    pub(crate) fn max_timestamp(&self) -> io::Result<MaxTimestamp> {
        self.ensure_index()?;
        Ok(self.index.lock().max_timestamp())
    }

    /// What retention goes by: the largest timestamp, or when the file was last changed.
    pub(crate) fn largest_timestamp(&self) -> io::Result<i64> {
        let max = self.max_timestamp()?;
        if max.timestamp >= 0 {
            return Ok(max.timestamp);
        }
        self.last_modified()
    }

    /// How long the segment has been collecting: by the batches' time if they have one, else by
    /// the clock.
    pub(crate) fn age_for_roll(&self, now_ms: i64, timestamp: i64) -> i64 {
        let first = self.first_batch_timestamp.load(Ordering::Relaxed);
        if first >= 0 {
            timestamp.saturating_sub(first)
        } else {
            now_ms.saturating_sub(self.created_ms.load(Ordering::Relaxed))
        }
    }

    pub(crate) fn jitter_ms(&self) -> i64 {
        self.jitter_ms.load(Ordering::Relaxed)
    }

    /// Notes the first batch's largest timestamp, which the segment's age counts from.
    pub(crate) fn note_first_timestamp(&self, timestamp: i64) {
        let _ = self.first_batch_timestamp.compare_exchange(
            UNKNOWN,
            timestamp,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// Reads the first batch's timestamp of a segment found on disk.
    pub(crate) fn load_first_timestamp(&self) -> io::Result<()> {
        if self.size() as usize >= HEADER_LEN {
            let file = self.open_briefly()?;
            if let Ok(Some(head)) = Walk::new(&file, 0, self.size(), Wait::Allowed).next() {
                self.note_first_timestamp(head.max_timestamp);
            }
        }
        Ok(())
    }

    /// The segment gets no more batches: index complete, file at its true length.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.trim()?;
        self.write_index()?;
        self.index.lock().shrink();
        Ok(())
    }

    /// Cuts off what was preallocated and not used; says whether there was anything.
    pub(crate) fn trim(&self) -> io::Result<bool> {
        let file = self.open_briefly()?;
        let size = u64::from(self.size());
        let is_longer = file.len()? != size;
        if is_longer {
            file.set_len(size)?;
        }
        Ok(is_longer)
    }

    /// Completes the index files on disk (not synced), with the entry for the largest timestamp.
    pub(crate) fn write_index(&self) -> io::Result<()> {
        self.with_index(|index, paths| {
            if !index.loaded {
                return Ok(());
            }
            index.on_close();
            if index.is_unsynced() { index.write_out(paths) } else { Ok(()) }
        })
    }

    /// The end of a clean shutdown: index files complete, there, and on disk.
    pub(crate) fn close_index(&self) -> io::Result<()> {
        if !self.index.lock().loaded {
            return Ok(());
        }
        self.index.lock().on_close();
        if self.index.lock().is_unsynced() {
            self.with_index(|index, paths| index.write_out(paths))?;
            self.sync_index()?;
        }
        Ok(())
    }

    fn sync_index(&self) -> io::Result<()> {
        for suffix in [names::INDEX, names::TIME_INDEX] {
            match self.open_file(suffix, Mode::Write, Wait::Allowed) {
                Ok(file) => file.sync()?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.index.lock().mark_synced();
        Ok(())
    }

    /// Flushes the segment; of a segment that gets no more batches the indexes too. Says
    /// how many files of it were made, if some have names that the directory's sync is to bring there.
    /// Who makes that notes it ([`Segment::names_synced`]), and only once it is done: an open that failed
    /// for lack of descriptors is tried again, and somebody else may flush meanwhile.
    pub(crate) fn flush(&self, with_indexes: bool) -> io::Result<Option<u32>> {
        self.open_briefly()?.sync()?;
        if with_indexes && self.index.lock().is_unsynced() {
            self.write_index()?;
            self.sync_index()?;
        }
        self.sync_txn_index()?;
        let made = self.files_made();
        Ok((made != self.names_synced.load(Ordering::Acquire)).then_some(made))
    }

    /// Flushes the index of aborted transactions, if there is one; says whether there is.
    pub(crate) fn sync_txn_index(&self) -> io::Result<bool> {
        let is_there = self.has_txn_index();
        if is_there {
            self.open_file(names::TXN_INDEX, Mode::Write, Wait::Allowed)?.sync()?;
        }
        Ok(is_there)
    }

    /// A file was made whose name may not be on the disk.
    pub(crate) fn note_new_file(&self) {
        self.files_made.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether segments before it were removed and a power cut may bring them back. Only who removes
    /// them knows when that is over.
    pub(crate) fn set_removals_unsynced(&self, unsynced: bool) {
        self.removals_unsynced.store(unsynced, Ordering::Release);
    }

    /// Whether a log may be left to begin with this segment: its names are on the disk, and what was
    /// before it is gone for good.
    pub(crate) fn begins_for_good(&self) -> bool {
        !self.has_new_files() && !self.removals_unsynced.load(Ordering::Acquire)
    }

    /// Whether there are files whose names may not be on the disk.
    pub(crate) fn has_new_files(&self) -> bool {
        self.files_made.load(Ordering::Acquire) != self.names_synced.load(Ordering::Acquire)
    }

    /// How many files were made so far.
    pub(crate) fn files_made(&self) -> u32 {
        self.files_made.load(Ordering::Acquire)
    }

    /// The directory was synced after so many files were made. One that was made meanwhile is not meant.
    pub(crate) fn names_synced(&self, made: u32) {
        self.names_synced.fetch_max(made, Ordering::AcqRel);
    }

    /// Where the first batch begins that ends at or after `offset`: what is to be cut off.
    pub(crate) fn cut_position(&self, offset: i64) -> io::Result<u32> {
        self.ensure_index()?;
        let file = self.open()?;
        let size = self.size();
        let cut = self.find(&file, offset, size, Wait::Allowed).map_err(io_error)?;
        Ok(cut.map_or(size, |head| head.position))
    }

    /// Cuts the segment at `end`, which is [`Self::cut_position`] of `offset`, the file and its indexes. It is not
    /// looked for here: where readers see the segment end already, it would be found by a walk from its beginning.
    pub(crate) fn truncate(&self, offset: i64, end: u32, now_ms: i64) -> io::Result<()> {
        let file = self.open()?;
        self.with_index(|index, paths| index.truncate(offset, paths))?;
        self.truncate_txn_index(offset)?;
        self.set_size(end);
        file.set_len(u64::from(end))?;
        // The timestamps between the last index entry and the cut.
        let entry = self
            .with_index(|index, paths| {
                index.floor_entry(Floor::Offset(i64::MAX), paths, Wait::Allowed)
            })
            .map_err(io_error)?;
        let from = entry.map_or(0, |(_, position)| position);
        let mut walk = Walk::new(&file, from.min(end), end, Wait::Allowed);
        while let Some(head) = walk.next().map_err(io_error)? {
            let (timestamp, offset) = (head.max_timestamp, head.last_offset);
            self.index.lock().note_timestamp(MaxTimestamp { timestamp, offset });
        }
        if end == 0 {
            self.created_ms.store(now_ms, Ordering::Relaxed);
            self.first_batch_timestamp.store(UNKNOWN, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Bytes of the offset index and of the time index, as they are once the segment is closed.
    pub(crate) fn index_bytes(&self) -> io::Result<(u64, u64)> {
        self.ensure_index()?;
        Ok(self.index.lock().bytes())
    }

    /// Largest timestamp of the first batch; `None` if there is no batch.
    pub(crate) fn first_timestamp(&self) -> io::Result<Option<i64>> {
        if self.first_batch_timestamp.load(Ordering::Relaxed) == UNKNOWN {
            self.load_first_timestamp()?;
        }
        let known = self.first_batch_timestamp.load(Ordering::Relaxed);
        Ok((known != UNKNOWN).then_some(known))
    }
}

impl PooledFile for Segment {
    fn close_unless_used(&self) -> bool {
        if self.used.swap(false, Ordering::Relaxed) || self.pinned.load(Ordering::Relaxed) {
            return false;
        }
        self.file.lock().take();
        true
    }
}

fn io_error(error: WalkError) -> io::Error {
    match error {
        WalkError::Io(error) => error,
        WalkError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        WalkError::Corrupt { position, reason } => io::Error::new(
            io::ErrorKind::InvalidData,
            format!("damaged batch at byte {position}: {reason}"),
        ),
    }
}

/// Whether a time entry speaks of this batch. Kafka before 3.0 named the record, not the batch's
/// last one.
pub(crate) fn is_of(head: &BatchHead, entry: MaxTimestamp) -> bool {
    (head.base_offset..=head.last_offset).contains(&entry.offset)
        && head.max_timestamp == entry.timestamp
}
