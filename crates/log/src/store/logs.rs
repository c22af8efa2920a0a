//! Logs by topic and partition.
//!
//! Invariants: a topic's logs ascend by partition, each once. A topic without logs is not there.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{RwLock, RwLockWriteGuard};

use crate::partition::dir::LogDir;
use crate::partition::log::Log;

/// A table of logs.
#[derive(Default)]
pub(crate) struct LogTable(HashMap<Arc<str>, Vec<Arc<Log>>>);

impl LogTable {
    fn get(&self, topic: &str, partition: i32) -> Option<&Arc<Log>> {
        let list = self.0.get(topic)?;
        list.get(place(list, partition).ok()?)
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Log>> {
        self.0.values().flatten()
    }

    /// Takes a log in; if the partition has one already, gives that one instead.
    pub(crate) fn insert(&mut self, log: &Arc<Log>) -> Option<&mut Arc<Log>> {
        let list = self.0.entry(log.topic.clone()).or_default();
        match place(list, log.partition) {
            Ok(at) => list.get_mut(at),
            Err(at) => {
                list.insert(at, log.clone());
                None
            }
        }
    }

    fn remove(&mut self, topic: &str, partition: i32) -> Option<Arc<Log>> {
        let list = self.0.get_mut(topic)?;
        let log = list.remove(place(list, partition).ok()?);
        if list.is_empty() {
            self.0.remove(topic);
        }
        Some(log)
    }

    /// Empties the table.
    pub(crate) fn drain(&mut self) -> Vec<Arc<Log>> {
        self.0.drain().flat_map(|(_, list)| list).collect()
    }
}

fn place(list: &[Arc<Log>], partition: i32) -> Result<usize, usize> {
    list.binary_search_by_key(&partition, |log| log.partition)
}

/// A table of logs that threads share.
#[derive(Default)]
pub(crate) struct Logs(RwLock<LogTable>);

impl Logs {
    pub(crate) fn get(&self, topic: &str, partition: i32) -> Option<Arc<Log>> {
        self.0.read().get(topic, partition).cloned()
    }

    /// The name of a topic that has logs: one copy is enough.
    pub(crate) fn topic(&self, topic: &str) -> Option<Arc<str>> {
        self.0.read().0.get_key_value(topic).map(|(name, _)| name.clone())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Log>> {
        self.0.read().iter().cloned().collect()
    }

    pub(crate) fn in_dir(&self, dir: &Arc<LogDir>) -> Vec<Arc<Log>> {
        self.0.read().iter().filter(|log| Arc::ptr_eq(log.dir(), dir)).cloned().collect()
    }

    pub(crate) fn count_in(&self, dir: &Arc<LogDir>) -> usize {
        self.0.read().iter().filter(|log| Arc::ptr_eq(log.dir(), dir)).count()
    }

    /// Takes a log in, unless the partition has one.
    pub(crate) fn insert(&self, log: &Arc<Log>) {
        self.0.write().insert(log);
    }

    /// Takes a log in, in the place of the one that the partition has.
    pub(crate) fn replace(&self, log: Arc<Log>) {
        if let Some(other) = self.0.write().insert(&log) {
            *other = log;
        }
    }

    pub(crate) fn remove(&self, topic: &str, partition: i32) -> Option<Arc<Log>> {
        self.0.write().remove(topic, partition)
    }

    /// Removes this log, and no other one of the partition.
    pub(crate) fn remove_log(&self, log: &Arc<Log>) {
        let mut table = self.0.write();
        if table.get(&log.topic, log.partition).is_some_and(|other| Arc::ptr_eq(other, log)) {
            table.remove(&log.topic, log.partition);
        }
    }

    /// The table, which no other thread sees until the guard is dropped.
    pub(crate) fn lock(&self) -> RwLockWriteGuard<'_, LogTable> {
        self.0.write()
    }
}
