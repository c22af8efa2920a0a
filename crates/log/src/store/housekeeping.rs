//! What a manager does now and then: retention, flushes, checkpoints, deletions; and stopping.
//!
//! All of it may wait for the disk. A failure takes its directory offline, which is all there is
//! to do about it, so most of these return nothing but counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::format::checkpoint;
use crate::fs::disk::Mode;
use crate::fs::names;
use crate::partition::cut::Truncated;
use crate::partition::dir::{LogDir, Written, retry_exhausted};
use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::partition::offset_checkpoint::{
    HIGH_WATERMARKS, LOG_STARTS, OffsetCheckpoint, RECOVERY_POINTS,
};
use crate::store::config::OpenReport;
use crate::store::manager::LogManager;

/// Periodic tasks of one log directory. A hanging disk blocks only its own directory's tasks.
#[derive(Clone, Copy, Debug)]
pub struct DirLogs<'a> {
    manager: &'a LogManager,
    dir: &'a Arc<LogDir>,
}

impl DirLogs<'_> {
    /// As [`LogManager::clean_up`].
    pub fn clean_up(&self, now_ms: i64) -> usize {
        // A future replica's begins where that of its log does.
        let logs = self.manager.logs.in_dir(self.dir);
        self.of(&logs, |log| log.delete_old_segments(now_ms).unwrap_or(0))
    }

    /// As [`LogManager::flush_due`].
    pub fn flush_due(&self, now_ms: i64) -> usize {
        self.each(|log| usize::from(log.flush_if_due(now_ms).unwrap_or(false)))
    }

    /// As [`LogManager::expire_producers`].
    pub fn expire_producers(&self, now_ms: i64) -> usize {
        self.each(|log| log.expire_producers(now_ms))
    }

    /// As [`LogManager::delete_due`].
    pub fn delete_due(&self, now_ms: i64) -> Option<i64> {
        // A failure takes the directory offline, and its files stay.
        let _ = self.dir.empty_trash(now_ms);
        self.dir.next_deletion_ms()
    }

    /// Closes files that were not used since the last call.
    pub fn close_idle_files(&self) {
        self.dir.pool.close_idle();
    }

    /// Writes the checkpoint of recovery points (`log.flush.offset.checkpoint.interval.ms`).
    pub fn checkpoint_recovery_points(&self) {
        self.checkpoint(&[RECOVERY_POINTS]);
    }

    /// Writes the checkpoint of log starts
    /// (`log.flush.start.offset.checkpoint.interval.ms`).
    pub fn checkpoint_log_starts(&self) {
        self.checkpoint(&[LOG_STARTS]);
    }

    /// Writes the checkpoint of high watermarks
    /// (`replica.high.watermark.checkpoint.interval.ms`).
    pub fn checkpoint_high_watermarks(&self) {
        self.checkpoint(&[HIGH_WATERMARKS]);
    }

    fn checkpoint(&self, which: &[OffsetCheckpoint]) {
        // The metadata log's owner looks after it, and there is nothing else in that directory.
        if !self.manager.dirs.contains(self.dir) {
            return;
        }
        // A failure takes the directory offline.
        let _ = self.manager.write_checkpoints(self.dir, which);
    }

    fn each(&self, work: impl FnMut(&Log) -> usize) -> usize {
        self.of(&self.manager.logs_in(self.dir), work)
    }

    fn of(&self, logs: &[Arc<Log>], mut work: impl FnMut(&Log) -> usize) -> usize {
        logs.iter().take_while(|_| self.dir.is_online()).map(|log| work(log)).sum()
    }
}

impl LogManager {
    /// What is done now and then, for one of [`Self::all_dirs`].
    pub fn in_dir<'a>(&'a self, dir: &'a Arc<LogDir>) -> DirLogs<'a> {
        DirLogs { manager: self, dir }
    }

    fn in_each_dir(&self) -> impl Iterator<Item = DirLogs<'_>> {
        self.all_dirs().map(|dir| self.in_dir(dir))
    }

    /// Retention (`log.retention.check.interval.ms`): says how many segments went. Directories
    /// that fail meanwhile are offline afterwards; that is all there is to do about it.
    pub fn clean_up(&self, now_ms: i64) -> usize {
        self.in_each_dir().map(|dir| dir.clean_up(now_ms)).sum()
    }

    /// Flushes logs that have waited for `flush.ms`, and segments that were closed
    /// (`log.flush.scheduler.interval.ms`; every few seconds is right).
    pub fn flush_due(&self, now_ms: i64) -> usize {
        self.in_each_dir().map(|dir| dir.flush_due(now_ms)).sum()
    }

    /// Forgets silent producers (`producer.id.expiration.check.interval.ms`).
    pub fn expire_producers(&self, now_ms: i64) -> usize {
        self.in_each_dir().map(|dir| dir.expire_producers(now_ms)).sum()
    }

    /// Deletes files that are due; says when the next ones are.
    pub fn delete_due(&self, now_ms: i64) -> Option<i64> {
        // All of them, not only up to the first that has something left.
        self.in_each_dir()
            .map(|dir| dir.delete_due(now_ms))
            .fold(None, |next, due| next.into_iter().chain(due).min())
    }

    /// Closes files that were not used since the last call.
    pub fn close_idle_files(&self) {
        for dir in self.all_dirs() {
            dir.pool.close_idle();
        }
    }

    /// Writes the checkpoints of recovery points, log starts and high watermarks.
    pub fn checkpoint(&self) {
        for dir in self.dirs.iter() {
            // A failure takes the directory offline.
            let _ = self.checkpoint_dir(dir);
        }
    }

    /// Writes the checkpoints after a partition has left the directory: what they say of it must not reach one made in
    /// its place. A lack of descriptors is waited out; then the directory is offline.
    pub(crate) fn forget_in_checkpoints(&self, dir: &Arc<LogDir>) {
        let written = retry_exhausted(|| {
            dir.guard("flush", dir.path(), dir.disk.sync_dir(dir.path()))
                .and_then(|()| self.checkpoint_dir(dir))
        });
        // Whoever uses the directory finds that it is offline.
        let _ = dir.no_way_back(written);
    }

    pub(crate) fn checkpoint_dir(&self, dir: &Arc<LogDir>) -> Result<(), StorageError> {
        self.write_checkpoints(dir, &OffsetCheckpoint::ALL)
    }

    /// The same for who holds the directory's checkpoints.
    pub(crate) fn write_all_checkpoints(
        &self,
        written: &mut Written,
        dir: &Arc<LogDir>,
    ) -> Result<(), StorageError> {
        let logs = self.logs_in(dir);
        OffsetCheckpoint::ALL.iter().try_for_each(|one| one.write(written, dir, &logs))
    }

    /// Flushes where the logs of a directory start: after the death of the process, or of the
    /// machine, nothing before them comes back. A failure takes the directory offline.
    pub fn flush_log_starts(&self, dir: &Arc<LogDir>) -> Result<(), StorageError> {
        self.write_checkpoints(dir, &[LOG_STARTS])
    }

    fn write_checkpoints(
        &self,
        dir: &Arc<LogDir>,
        which: &[OffsetCheckpoint],
    ) -> Result<(), StorageError> {
        dir.check()?;
        // Before the offsets are looked at, so that an older state never replaces a newer one.
        let mut written = dir.checkpoints.lock();
        let logs = self.logs_in(dir);
        which.iter().try_for_each(|one| one.write(&mut written, dir, &logs))
    }

    /// The logs of one directory, with future replicas.
    fn logs_in(&self, dir: &Arc<LogDir>) -> Vec<Arc<Log>> {
        let mut logs = self.logs.in_dir(dir);
        logs.extend(self.futures.in_dir(dir));
        logs
    }

    /// Truncates logs ([`Log::truncate_to`]) and lowers what the checkpoints say of them, so that a later crash does not
    /// take what is appended from here on for flushed.
    pub fn truncate<'a>(
        &self,
        offsets: impl IntoIterator<Item = (&'a str, i32, i64)>,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        let mut failure = None;
        let mut dirs: Vec<Arc<LogDir>> = Vec::new();
        for (topic, partition, offset) in offsets {
            let Some(log) = self.get(topic, partition) else { continue };
            match log.truncate(offset, now_ms) {
                Ok(Truncated::Checkpointed)
                    if !dirs.iter().any(|dir| Arc::ptr_eq(dir, log.dir())) =>
                {
                    dirs.push(log.dir().clone());
                }
                Ok(_) => {}
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        for dir in dirs {
            if let Err(error) = self.checkpoint_dir(&dir) {
                failure.get_or_insert(error);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Cuts a follower's log off ([`Log::truncate_as_follower`]), with its checkpoints if they say something of what goes.
    pub fn truncate_follower(
        &self,
        log: &Log,
        offset: i64,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        match log.truncate_in_epoch(offset, leader_epoch, now_ms)? {
            Some(Truncated::Checkpointed) => self.checkpoint_dir(log.dir()),
            Some(Truncated::Tail | Truncated::Nothing) | None => Ok(()),
        }
    }

    /// Begins a follower's log again elsewhere ([`Log::begin_as_follower_at`]), with its checkpoints.
    pub fn begin_follower_at(
        &self,
        log: &Log,
        offset: i64,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        let has_begun = log.begin_as_follower_at(offset, leader_epoch, now_ms)?;
        if has_begun { self.checkpoint_dir(log.dir()) } else { Ok(()) }
    }

    /// Begins a log again elsewhere ([`Log::truncate_fully_and_start_at`]), with its checkpoints.
    pub fn truncate_fully_and_start_at(
        &self,
        log: &Log,
        offset: i64,
        log_start_offset: Option<i64>,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        log.truncate_fully_and_start_at(offset, log_start_offset, now_ms)?;
        self.checkpoint_dir(log.dir())
    }

    /// Closes everything: flushes, writes the checkpoints, and last the marker that makes the next
    /// start a quick one. A directory where any of that fails gets no marker. The logs take no
    /// more appends and reads.
    pub fn shut_down(&self, broker_epoch: i64, now_ms: i64) {
        self.stop_cleaner();
        let _stopped = self.changes.stop();
        for dir in self.dirs.iter() {
            if dir.check().is_ok() {
                let logs = self.logs_in(dir);
                let next = AtomicUsize::new(0);
                let all_closed = AtomicBool::new(true);
                std::thread::scope(|scope| {
                    for _ in 0..logs.len().clamp(1, self.threads_per_dir) {
                        scope.spawn(|| {
                            while all_closed.load(Ordering::Relaxed)
                                && let Some(log) = logs.get(next.fetch_add(1, Ordering::Relaxed))
                            {
                                if retry_exhausted(|| log.close_cleanly(now_ms)).is_err() {
                                    all_closed.store(false, Ordering::Relaxed);
                                }
                            }
                        });
                    }
                });
                if all_closed.into_inner() && retry_exhausted(|| self.checkpoint_dir(dir)).is_ok() {
                    let marker = dir.path().join(names::CLEAN_SHUTDOWN);
                    // A failure leaves no marker, and the next start checks the logs.
                    let _ =
                        retry_exhausted(|| dir.guard("write", &marker, mark(dir, broker_epoch)));
                }
            }
            for log in self.logs_in(dir) {
                log.close();
            }
            dir.release();
        }
        self.dirs.metadata().release();
    }

    /// Ends a start that came to nothing before anything was written to a partition: directories that
    /// were marked as cleanly closed are marked again, for whoever starts next.
    pub fn hand_back(&self, report: &OpenReport) {
        for (dir, found) in self.dirs.iter().zip(&report.dirs) {
            if found.clean && dir.check().is_ok() {
                let epoch = found.broker_epoch.unwrap_or(-1);
                if let Err(error) = mark(dir, epoch) {
                    tracing::warn!(dir = %dir.path().display(), %error,
                        "the marker of a clean stop could not be written; the next start checks the logs");
                }
            }
            dir.release();
        }
        self.dirs.metadata().release();
    }
}

/// Writes the marker of a clean stop.
fn mark(dir: &LogDir, broker_epoch: i64) -> std::io::Result<()> {
    let file = dir.disk.open(&dir.path().join(names::CLEAN_SHUTDOWN), Mode::Create)?;
    file.write_all_at(&checkpoint::format_clean_shutdown(broker_epoch), 0)?;
    file.sync()?;
    dir.disk.sync_dir(dir.path())
}

pub(crate) fn read_offsets(
    dir: &LogDir,
    name: &str,
) -> std::io::Result<HashMap<(String, i32), i64>> {
    let path = dir.path().join(name);
    let Some(bytes) = dir.disk.read_small(&path)? else { return Ok(HashMap::new()) };
    match checkpoint::parse_offsets(&bytes) {
        Ok(entries) => Ok(entries
            .into_iter()
            .map(|entry| ((entry.topic, entry.partition), entry.offset))
            .collect()),
        Err(reason) => {
            tracing::warn!(path = %path.display(), reason, "checkpoint is not used");
            Ok(HashMap::new())
        }
    }
}
