//! Future replicas: moving a partition to another log directory of the node (KIP-113).
//!
//! A future replica is a log of its own, `<topic>-<n>.<unique>-future` in the directory where the partition is to go,
//! and in that directory's checkpoints under the partition's name. It is brought up to the log step by step
//! ([`LogManager::copy_to_future`]), and then the log moves to it ([`LogManager::replace_with_future`]): the [`Log`]
//! stays what it is for everybody who holds it, its files are others.
//!
//! Invariants:
//! - A future replica has the same batches as its log from some offset on, up to its own end: what the log cuts off,
//!   it cuts off before it gets anything else.
//! - Its log is not compacted meanwhile, or a tombstone could be gone before it is copied, behind a record that was.
//! - A partition has one future replica at most, in another directory than its log.

mod copy;
mod prefix;
mod switch;

use std::sync::Arc;

use thalweg_wire::Uuid;

pub use copy::CopyStep;
use prefix::common_end;

use crate::fs::names;
use crate::fs::random::random_u128;
use crate::partition::cut::Truncated;
use crate::partition::dir::LogDir;
use crate::partition::error::{AppendError, ReadError, StorageError};
use crate::partition::log::Log;
use crate::store::create::Opening;
use crate::store::error::CreateError;
use crate::store::manager::LogManager;

/// Why a log does not go on moving.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The log or its future replica is closed: deleted, or the node stops.
    #[error("the log or its future replica is closed")]
    Closed,
    /// One of the directories failed, or has no descriptor free.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(ReadError),
    /// The future replica does not take what was read.
    #[error(transparent)]
    Append(AppendError),
    /// The log has something that is not copied, or there is something where it is to go.
    #[error("{0}")]
    Refused(String),
}

impl MoveError {
    /// Whether the same may succeed later: descriptors or memory were lacking.
    pub fn is_retriable(&self) -> bool {
        match self {
            MoveError::Storage(error)
            | MoveError::Read(ReadError::Storage(error))
            | MoveError::Append(AppendError::Storage(error)) => error.is_retriable,
            _ => false,
        }
    }
}

impl From<ReadError> for MoveError {
    fn from(error: ReadError) -> MoveError {
        match error {
            ReadError::Closed { .. } => MoveError::Closed,
            error => MoveError::Read(error),
        }
    }
}

impl From<AppendError> for MoveError {
    fn from(error: AppendError) -> MoveError {
        match error {
            AppendError::Closed { .. } => MoveError::Closed,
            error => MoveError::Append(error),
        }
    }
}

/// Whether the name of a partition's topic leaves room for what a future replica's directory is called besides.
pub fn can_be_future(topic: &str, partition: i32) -> bool {
    names::future_dir(topic, partition, 0).is_some()
}

impl LogManager {
    /// The future replica of a partition.
    pub fn future(&self, topic: &str, partition: i32) -> Option<Arc<Log>> {
        self.futures.get(topic, partition)
    }

    /// A partition that is not here is to be made in this directory, unless the metadata names another one.
    pub fn prefer_dir(&self, topic: &str, partition: i32, dir: &LogDir) {
        self.futures.prefer(topic, partition, dir.id());
    }

    /// The directory that [`Self::prefer_dir`] has named for a partition.
    pub fn preferred_dir(&self, topic: &str, partition: i32) -> Option<Uuid> {
        self.futures.preferred(topic, partition)
    }

    /// Makes a future replica of a log in another directory. If there is one there already, it is that.
    ///
    /// Not while a directory is offline: it might hold another one.
    pub fn create_future(
        &self,
        log: &Arc<Log>,
        dir: &Arc<LogDir>,
        now_ms: i64,
    ) -> Result<Arc<Log>, CreateError> {
        let _change = self.changes.begin(&log.topic, log.partition);
        self.dirs.check_all()?;
        let there = self.get(&log.topic, log.partition);
        let is_here = there.is_some_and(|there| Arc::ptr_eq(&there, log)) && !log.is_closed();
        let Some(topic_id) = log.topic_id().filter(|_| is_here) else {
            return Err(CreateError::Load {
                path: log.path().to_path_buf(),
                reason: "it is being deleted".into(),
            });
        };
        if let Some(future) = self.future(&log.topic, log.partition) {
            let is_it = future.topic_id() == Some(topic_id) && Arc::ptr_eq(future.dir(), dir);
            return match is_it {
                true => Ok(future),
                false => Err(CreateError::Load {
                    path: future.path().to_path_buf(),
                    reason: "the partition is moving there".into(),
                }),
            };
        }
        let name = names::future_dir(&log.topic, log.partition, random_u128())
            .ok_or_else(|| CreateError::InvalidTopic(log.topic.to_string()))?;
        let opening = Opening::new(log.topic.clone(), log.partition, log.config(), now_ms);
        let future = self.open_in(dir, &name, opening, topic_id)?;
        log.cuts.forget();
        log.cleaning.pause();
        self.futures.insert(future.clone());
        tracing::info!(topic = %log.topic, partition = log.partition,
            from = %log.path().display(), to = %future.path().display(), "the partition moves");
        Ok(future)
    }

    /// Gives up a move. Says whether there was one: not if the log has moved already.
    pub fn remove_future(&self, future: &Arc<Log>, now_ms: i64) -> Result<bool, StorageError> {
        // Work on it may wait for a disk that hangs. Until that is over a stop does not wait for this.
        {
            let _change = future.lock_change();
            future.wait_turn().pass_on();
        }
        let _change = self.changes.begin(&future.topic, future.partition);
        let removed = self.discard_future(future, now_ms, false);
        if matches!(removed, Ok(true)) {
            let dir = future.dir();
            dir.guard("flush", dir.path(), dir.disk.sync_dir(dir.path()))?;
            self.checkpoint_dir(dir)?;
        }
        removed
    }

    /// A move has failed: its log is compacted again.
    pub fn suspend_move(&self, log: &Log) {
        log.cleaning.resume();
    }

    /// A move that has failed begins anew: its log may have been compacted meanwhile.
    pub fn resume_move(
        &self,
        log: &Log,
        future: &Arc<Log>,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        let _change = self.changes.begin(&log.topic, log.partition);
        if log.is_closed() || future.is_closed() {
            return Ok(());
        }
        log.cleaning.pause();
        self.truncate_fully_and_start_at(future, log.log_start_offset(), None, now_ms)
    }

    /// Takes a future replica out of service. For the one that changes the partition, or is alone.
    pub(crate) fn discard_future(
        &self,
        future: &Arc<Log>,
        now_ms: i64,
        is_stray: bool,
    ) -> Result<bool, StorageError> {
        let _change = future.lock_change();
        if future.is_closed() {
            return Ok(false);
        }
        let turn = future.wait_turn();
        future.close();
        self.futures.remove(future);
        if let Some(log) = self.get(&future.topic, future.partition) {
            log.cleaning.resume();
        }
        // What of it is in a directory that failed is found by a later start.
        let renamed = match future.dir().check() {
            Ok(()) => self.rename_closed(future, now_ms, is_stray),
            Err(_) => Ok(()),
        };
        turn.pass_on();
        renamed.map(|()| true)
    }

    /// A future replica that was found in a directory.
    pub(crate) fn found_future(&self, future: Arc<Log>, now_ms: i64) {
        let Some(other) = self.future(&future.topic, future.partition) else {
            return self.futures.insert(future);
        };
        // Two are never made; one is as good as the other, and the longer one needs less.
        let (kept, given_up) = match future.log_end_offset() > other.log_end_offset() {
            true => (future, other),
            false => (other, future),
        };
        tracing::warn!(kept = %kept.path().display(), given_up = %given_up.path().display(),
            "a partition has two future replicas");
        // A failure takes the directory offline.
        let _ = self.discard_future(&given_up, now_ms, false);
        self.futures.insert(kept);
    }

    /// Looks at what was found of moves before anything is appended: what of a future replica its log does not have
    /// goes.
    pub(crate) fn settle_futures(&self, now_ms: i64) {
        for future in self.futures.all() {
            let Some(log) = self.get(&future.topic, future.partition) else { continue };
            let is_same_dir = Arc::ptr_eq(log.dir(), future.dir());
            if is_same_dir || future.topic_id().is_none() {
                tracing::warn!(path = %future.path().display(), is_same_dir,
                    "a future replica that is none is removed");
                let _ = self.discard_future(&future, now_ms, false);
                continue;
            }
            if log.topic_id() != future.topic_id() {
                if log.topic_id().is_some() {
                    tracing::warn!(path = %future.path().display(),
                        "a future replica of an earlier topic of that name is set aside");
                    let _ = self.discard_future(&future, now_ms, true);
                }
                continue;
            }
            log.cleaning.pause();
            // While it was away, as with a directory that was offline, records may have been compacted out of the log which
            // it still has, and with them what deleted others.
            if log.cleaned_offset().is_some() && future.log_end_offset() > future.log_start_offset()
            {
                let start = log.log_start_offset();
                tracing::info!(path = %future.path().display(), start,
                    "the future replica of a compacted log is copied from the start");
                let begun = self.truncate_fully_and_start_at(&future, start, None, now_ms);
                if let Err(error) = begun {
                    tracing::warn!(path = %future.path().display(), %error, "the future replica cannot be emptied");
                }
                continue;
            }
            // Behind what is flushed a power cut may have taken something from the middle, which the log has.
            let end = future.recovery_point().min(common_end(
                (&log.leader_epochs(), log.log_end_offset()),
                (&future.leader_epochs(), future.log_end_offset()),
            ));
            if end < future.log_end_offset() {
                tracing::info!(path = %future.path().display(), end,
                    log_end_offset = future.log_end_offset(),
                    "the future replica is cut off where it may not be as its log is");
                let cut = self.truncate_future(&future, end, now_ms);
                if let Err(error) = cut {
                    tracing::warn!(path = %future.path().display(), %error, "it is not cut off");
                }
            }
        }
    }

    pub(crate) fn truncate_future(
        &self,
        future: &Log,
        offset: i64,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        match future.truncate(offset, now_ms)? {
            Truncated::Checkpointed => self.checkpoint_dir(future.dir()),
            Truncated::Tail | Truncated::Nothing => Ok(()),
        }
    }

    /// Makes the future replica of a partition the partition, whose log is in none of the directories, all of which
    /// are online: where the metadata says that the partition is there, its log was about to move and is lost.
    /// Elsewhere it is set aside. For the one that changes the partition.
    pub(crate) fn adopt_future(
        &self,
        topic: &str,
        partition: i32,
        topic_id: Uuid,
        wanted: Option<Uuid>,
        now_ms: i64,
    ) -> Result<Option<Arc<Log>>, StorageError> {
        let Some(future) = self.future(topic, partition) else { return Ok(None) };
        let is_it = future.topic_id() == Some(topic_id) && wanted == Some(future.dir().id());
        if !is_it {
            tracing::warn!(path = %future.path().display(),
                "a future replica whose log is gone is set aside");
            self.discard_future(&future, now_ms, true)?;
            return Ok(None);
        }
        tracing::warn!(path = %future.path().display(), log_end_offset = future.log_end_offset(),
            "the log that was moving here is gone; its future replica takes its place");
        let dir = future.dir();
        let live = dir.path().join(names::partition_dir(topic, partition));
        future.home().rename(&live)?;
        dir.no_way_back(dir.guard("flush", dir.path(), dir.disk.sync_dir(dir.path())))?;
        self.futures.remove(&future);
        Ok(Some(future))
    }
}
