//! Taking partitions out of service: deleted ones, and those that the metadata does not know.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::fs::names;
use crate::fs::random::random_u128;
use crate::partition::dir::{DeleteDelay, LogDir, retry_exhausted};
use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::store::changes::PartitionChange;
use crate::store::error::OpenError;
use crate::store::manager::LogManager;

/// Partitions that are out of service, and whose files are still to be removed.
#[derive(Debug, Default)]
pub struct Deletion {
    changes: Vec<PartitionChange>,
    logs: Vec<Arc<Log>>,
    dir: Option<Arc<LogDir>>,
    has_to_wait: bool,
}

impl Deletion {
    /// The directory that they are in: their future replicas', where there are no logs of them.
    pub fn dir(&self) -> Option<&Arc<LogDir>> {
        self.dir.as_ref()
    }

    /// Whether another directory may have to be waited for: a partition moves, or something else changes it.
    pub fn has_to_wait(&self) -> bool {
        self.has_to_wait
    }
}

impl LogManager {
    /// Deletes partitions: they are gone at once, their files when `file.delete.delay.ms` has
    /// passed. Says which were there; the first failure of a directory is returned once all have
    /// been tried.
    pub fn delete<'a>(
        &self,
        partitions: impl IntoIterator<Item = (&'a str, i32)>,
        now_ms: i64,
    ) -> Result<Vec<Arc<Log>>, StorageError> {
        self.finish_delete(
            Deletion { changes: self.changes.ask(partitions), ..Deletion::default() },
            now_ms,
        )
    }

    /// Takes partitions out of service, without waiting for a disk: no lookup finds them from here on.
    /// [`Self::finish_delete`] does the rest, and a partition that is made again meanwhile waits for it. Partitions of one
    /// directory are in one deletion, but for those that move or whose other changes have to be waited for.
    pub fn begin_delete<'a>(
        &self,
        partitions: impl IntoIterator<Item = (&'a str, i32)>,
    ) -> Vec<Deletion> {
        let mut deletions: BTreeMap<_, Deletion> = BTreeMap::new();
        let mut apart = Vec::new();
        // Asked for first, so that one that is made again comes after it.
        for change in self.changes.ask(partitions) {
            let future = self.future(change.topic(), change.partition());
            let log = self.logs.remove(change.topic(), change.partition());
            let Some(dir) = log.as_ref().or(future.as_ref()).map(|log| log.dir().clone()) else {
                continue;
            };
            let has_to_wait = future.is_some() || !change.is_first();
            if has_to_wait {
                let (changes, logs) = (vec![change], log.into_iter().collect());
                apart.push(Deletion { changes, logs, dir: Some(dir), has_to_wait });
                continue;
            }
            let deletion = deletions.entry(dir.id()).or_default();
            deletion.dir = Some(dir);
            deletion.changes.push(change);
            deletion.logs.extend(log);
        }
        deletions.into_values().chain(apart).collect()
    }

    /// Deletes what a deletion has taken out of service. Waits for disks, and for other changes of the same partitions.
    pub fn finish_delete(
        &self,
        deletion: Deletion,
        now_ms: i64,
    ) -> Result<Vec<Arc<Log>>, StorageError> {
        let Deletion { changes, logs: mut removed, .. } = deletion;
        changes.iter().for_each(PartitionChange::wait);
        // Those that other changes have made meanwhile, too.
        let all = changes.iter().map(|change| (change.topic(), change.partition()));
        removed.extend(
            all.clone().filter_map(|(topic, partition)| self.logs.remove(topic, partition)),
        );
        let mut failure = None;
        for log in &removed {
            if let Err(error) = self.rename_away(log, now_ms, false) {
                failure.get_or_insert(error);
            }
        }
        // Afterwards: nothing moves to them any more. Also where the log is in a directory that is offline, or a topic
        // of the same name would get it.
        let futures: Vec<_> =
            all.filter_map(|(topic, partition)| self.future(topic, partition)).collect();
        for future in &futures {
            if let Err(error) = self.discard_future(future, now_ms, false) {
                failure.get_or_insert(error);
            }
        }
        for dir in self.dirs.iter() {
            let mut touched = removed.iter().chain(&futures);
            if !touched.any(|log| Arc::ptr_eq(log.dir(), dir)) || dir.check().is_err() {
                continue;
            }
            // All new names at once. What the checkpoints say of a deleted partition must not reach
            // one made anew.
            let settled = retry_exhausted(|| {
                dir.guard("flush", dir.path(), dir.disk.sync_dir(dir.path()))
                    .and_then(|()| self.checkpoint_dir(dir))
            });
            if let Err(error) = settled {
                failure.get_or_insert(error);
            }
        }
        match failure {
            None => Ok(removed),
            Some(error) => Err(error),
        }
    }

    /// Begins a change of a partition, unless another one is under way.
    pub fn try_change(&self, topic: &str, partition: i32) -> Option<PartitionChange> {
        self.changes.try_begin(topic, partition)
    }

    /// Deletes a partition in a change of it that is under way.
    pub fn delete_in(&self, change: PartitionChange, now_ms: i64) -> Result<(), StorageError> {
        let deletion = Deletion { changes: vec![change], ..Deletion::default() };
        self.finish_delete(deletion, now_ms).map(|_| ())
    }

    /// Sets every log aside that the metadata does not know: renamed to `-stray`, not served, not
    /// deleted. Once, before anything is served. Says where they were.
    ///
    /// Of a partition that is in two directories the copy with a topic id counts: one without is
    /// what is left of an attempt to make the partition there, as Kafka sees it, too.
    pub fn set_strays_aside(
        &self,
        is_known: impl Fn(&Log) -> bool,
        now_ms: i64,
    ) -> Result<Vec<PathBuf>, OpenError> {
        let _stopped = self.changes.stop();
        let mut set_aside = Vec::new();
        let mut logs = self.logs.lock();
        let mut all = logs.drain();
        all.append(&mut self.rivals.lock());
        all.sort_by_key(|log| Reverse(claim(log)));
        let mut failure = None;
        let mut touched: Vec<Arc<LogDir>> = Vec::new();
        for log in all {
            let mut is_stray = !is_known(&log);
            if !is_stray {
                match logs.insert(&log) {
                    None => {}
                    Some(other) if is_leftover(&log, other) => is_stray = true,
                    Some(other) => failure = Some(twice(other, &log)),
                }
            }
            if is_stray {
                set_aside.push(log.path().to_path_buf());
                // A failure takes the directory offline, which is found out when it is used.
                let _ = self.rename_away(&log, now_ms, true);
                touched.push(log.dir().clone());
            }
        }
        drop(logs);
        for future in self.futures.all() {
            let log = self.get(&future.topic, future.partition);
            let is_of_log = log.is_none_or(|log| log.topic_id() == future.topic_id());
            if !is_known(&future) || !is_of_log {
                set_aside.push(future.path().to_path_buf());
                let _ = self.discard_future(&future, now_ms, true);
                touched.push(future.dir().clone());
            }
        }
        for dir in self.dirs.iter() {
            if touched.iter().any(|touched| Arc::ptr_eq(touched, dir)) {
                self.forget_in_checkpoints(dir);
            }
        }
        failure.map_or(Ok(set_aside), Err)
    }

    pub(crate) fn rename_away(
        &self,
        log: &Arc<Log>,
        now_ms: i64,
        stray: bool,
    ) -> Result<(), StorageError> {
        let _change = log.lock_change();
        // Appends need the turn, which is ours; readers and flushes find the log closed when its files are not where they
        // were.
        let turn = log.wait_turn();
        log.close();
        let renamed = self.rename_closed(log, now_ms, stray);
        turn.pass_on();
        renamed
    }

    pub(crate) fn rename_closed(
        &self,
        log: &Arc<Log>,
        now_ms: i64,
        stray: bool,
    ) -> Result<(), StorageError> {
        let dir = log.dir();
        dir.check()?;
        let suffix = if stray { "-stray" } else { "-delete" };
        let name = names::marked_dir(&log.topic, log.partition, random_u128(), suffix);
        let to = dir.path().join(name);
        log.home().rename(&to)?;
        if !stray {
            let delay = DeleteDelay::new(now_ms, log.config().file_delete_delay_ms);
            dir.throw_away(to, true, delay);
        }
        Ok(())
    }
}

/// How good a copy's claim is to be the partition, where there are two: with a topic id before
/// without, with records before without.
pub(crate) fn claim(log: &Log) -> (bool, bool) {
    (log.topic_id().is_some(), log.log_end_offset() > 0)
}

/// Whether nothing is lost with `log`, whose claim is the weaker one: it never got its topic's id,
/// and the other one did or `log` never got a record.
fn is_leftover(log: &Log, other: &Log) -> bool {
    let (has_id, has_records) = claim(log);
    !has_id && (other.topic_id().is_some() || !has_records)
}

pub(crate) fn twice(first: &Log, second: &Log) -> OpenError {
    OpenError::PartitionTwice {
        topic: first.topic.to_string(),
        partition: first.partition,
        first: first.path().to_path_buf(),
        second: second.path().to_path_buf(),
    }
}
