//! The future replicas of a node, and directories that partitions are to be made in.
//!
//! Not here: what is done with them (`future`).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_wire::Uuid;

use crate::partition::dir::LogDir;
use crate::partition::log::Log;
use crate::store::logs::Logs;

/// Directories that partitions are to be made in that are not here yet: more are not remembered.
const PREFERRED_MAX: usize = 10_000;

/// What a manager knows of moves.
#[derive(Default)]
pub(crate) struct Futures {
    logs: Logs,
    /// Where partitions are to be made that were asked to be moved before they were here.
    preferred: Mutex<HashMap<(String, i32), Uuid>>,
}

impl Futures {
    pub(crate) fn get(&self, topic: &str, partition: i32) -> Option<Arc<Log>> {
        self.logs.get(topic, partition)
    }

    pub(crate) fn insert(&self, log: Arc<Log>) {
        self.logs.replace(log);
    }

    pub(crate) fn remove(&self, log: &Arc<Log>) {
        self.logs.remove_log(log);
    }

    pub(crate) fn all(&self) -> Vec<Arc<Log>> {
        self.logs.all()
    }

    pub(crate) fn in_dir(&self, dir: &Arc<LogDir>) -> Vec<Arc<Log>> {
        self.logs.in_dir(dir)
    }

    pub(crate) fn count_in(&self, dir: &Arc<LogDir>) -> usize {
        self.logs.count_in(dir)
    }

    pub(crate) fn prefer(&self, topic: &str, partition: i32, dir: Uuid) {
        let mut preferred = self.preferred.lock();
        let key = (topic.to_owned(), partition);
        if preferred.len() < PREFERRED_MAX || preferred.contains_key(&key) {
            preferred.insert(key, dir);
        } else {
            tracing::warn!(
                topic,
                partition,
                "too many partitions that are not here are to go to \
                some directory; where this one is to be made is not remembered"
            );
        }
    }

    /// Where a partition is to be made.
    pub(crate) fn preferred(&self, topic: &str, partition: i32) -> Option<Uuid> {
        let preferred = self.preferred.lock();
        if preferred.is_empty() {
            return None;
        }
        preferred.get(&(topic.to_owned(), partition)).copied()
    }

    /// Where a partition is to be made, which is being made.
    pub(crate) fn take_preferred(&self, topic: &str, partition: i32) -> Option<Uuid> {
        let mut preferred = self.preferred.lock();
        if preferred.is_empty() { None } else { preferred.remove(&(topic.to_owned(), partition)) }
    }
}
