//! Which partitions are being made, deleted or moved.
//!
//! Invariants: a partition is changed by one thread at a time, in the order in which the changes were asked for. A change
//! waits for changes of the same partition only: a disk that hangs under one holds up no other. [`PartitionChanges::stop`] waits for
//! all that were asked for before it, and those that come later wait for it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// Topic and partition.
type Key = (Arc<str>, i32);

/// The changes of partitions that are under way.
#[derive(Clone, Default)]
pub(crate) struct PartitionChanges(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A change has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// The changes of each partition by their numbers; the first one is made, the others wait.
    queues: HashMap<Key, VecDeque<u64>>,
    next: u64,
    /// Changes from this number on wait until all logs are closed.
    stopped_at: Option<u64>,
}

impl State {
    fn add(&mut self, key: &Key) -> u64 {
        let number = self.next;
        self.next += 1;
        self.queues.entry(key.clone()).or_default().push_back(number);
        number
    }

    fn is_turn(&self, key: &Key, number: u64) -> bool {
        let is_first = self.queues.get(key).and_then(|queue| queue.front()) == Some(&number);
        is_first && self.stopped_at.is_none_or(|stopped| number < stopped)
    }
}

impl PartitionChanges {
    /// Asks for a change of each of these partitions. All at once, so that of two threads that ask for the same partitions
    /// one gets all of them first.
    pub(crate) fn ask<'a>(
        &self,
        partitions: impl IntoIterator<Item = (&'a str, i32)>,
    ) -> Vec<PartitionChange> {
        // Each once: the second change would wait for the first.
        let keys: BTreeSet<Key> = partitions
            .into_iter()
            .map(|(topic, partition)| (Arc::from(topic), partition))
            .collect();
        let mut state = self.0.state.lock();
        let ask =
            |key| PartitionChange { number: state.add(&key), key, shared: Arc::clone(&self.0) };
        keys.into_iter().map(ask).collect()
    }

    /// Waits until nothing else changes the partition.
    pub(crate) fn begin(&self, topic: &str, partition: i32) -> PartitionChange {
        let key = (Arc::from(topic), partition);
        let number = self.0.state.lock().add(&key);
        let change = PartitionChange { number, key, shared: Arc::clone(&self.0) };
        change.wait();
        change
    }

    /// `None` while something else changes the partition.
    pub(crate) fn try_begin(&self, topic: &str, partition: i32) -> Option<PartitionChange> {
        let mut state = self.0.state.lock();
        let key: Key = (Arc::from(topic), partition);
        if state.queues.contains_key(&key) || state.stopped_at.is_some() {
            return None;
        }
        Some(PartitionChange { number: state.add(&key), key, shared: Arc::clone(&self.0) })
    }

    /// Waits until no change is under way, and lets none begin until the guard is dropped.
    pub(crate) fn stop(&self) -> NoChanges<'_> {
        let mut state = self.0.state.lock();
        self.0.ended.wait_while(&mut state, |state| state.stopped_at.is_some());
        let stopped = state.next;
        state.stopped_at = Some(stopped);
        let is_before =
            |state: &mut State| state.queues.values().flatten().any(|number| *number < stopped);
        self.0.ended.wait_while(&mut state, is_before);
        NoChanges(&self.0)
    }
}

/// The right to make, delete or move a partition, for as long as it is held.
pub struct PartitionChange {
    number: u64,
    key: Key,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for PartitionChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (topic, partition) = &self.key;
        f.debug_struct("PartitionChange")
            .field("topic", topic)
            .field("partition", partition)
            .finish()
    }
}

impl PartitionChange {
    /// Waits until the changes that were asked for before have ended.
    pub(crate) fn wait(&self) {
        let mut state = self.shared.state.lock();
        let is_not_yet = |state: &mut State| !state.is_turn(&self.key, self.number);
        self.shared.ended.wait_while(&mut state, is_not_yet);
    }

    /// Whether nothing else has to be waited for.
    pub(crate) fn is_first(&self) -> bool {
        self.shared.state.lock().is_turn(&self.key, self.number)
    }

    pub(crate) fn topic(&self) -> &str {
        &self.key.0
    }

    pub(crate) fn partition(&self) -> i32 {
        self.key.1
    }
}

impl Drop for PartitionChange {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        if let Some(queue) = state.queues.get_mut(&self.key) {
            queue.retain(|number| *number != self.number);
            if queue.is_empty() {
                state.queues.remove(&self.key);
            }
        }
        drop(state);
        self.shared.ended.notify_all();
    }
}

/// No change begins for as long as it is held.
pub(crate) struct NoChanges<'a>(&'a Shared);

impl Drop for NoChanges<'_> {
    fn drop(&mut self) {
        self.0.state.lock().stopped_at = None;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// A thread that waits for its change, and says that it has it.
    fn wait_for(change: PartitionChange) -> mpsc::Receiver<PartitionChange> {
        let (said, had) = mpsc::channel();
        std::thread::spawn(move || {
            change.wait();
            said.send(change)
        });
        had
    }

    fn get(had: &mpsc::Receiver<PartitionChange>) -> PartitionChange {
        had.recv_timeout(Duration::from_secs(60)).expect("its turn comes")
    }

    fn ask(changes: &PartitionChanges, partition: i32) -> PartitionChange {
        changes.ask([("t", partition)]).remove(0)
    }

    #[test]
    fn partition_is_changed_in_the_order_asked_for() {
        let changes = PartitionChanges::default();
        let first = changes.begin("t", 0);
        let second = ask(&changes, 0);
        let third = wait_for(ask(&changes, 0));
        assert!(changes.try_begin("t", 0).is_none());
        drop(first);
        let second = get(&wait_for(second));
        assert!(third.try_recv().is_err(), "the second is not over");
        drop(second);
        drop(get(&third));
        assert!(changes.try_begin("t", 0).is_some());
    }

    #[test]
    fn other_partitions_are_not_waited_for() {
        let changes = PartitionChanges::default();
        let _held = changes.begin("t", 0);
        drop(changes.begin("t", 1));
        drop(changes.begin("u", 0));
        let both = changes.ask([("t", 1), ("t", 0), ("t", 1)]);
        assert_eq!(both.len(), 2);
        let one = both.iter().find(|change| change.partition() == 1);
        one.expect("it was asked for").wait();
    }

    #[test]
    fn change_given_up_lets_the_next_one_go_on() {
        let changes = PartitionChanges::default();
        let first = changes.begin("t", 0);
        let second = ask(&changes, 0);
        let third = wait_for(ask(&changes, 0));
        drop(second);
        drop(first);
        drop(get(&third));
    }

    #[test]
    fn stop_waits_for_earlier_changes_and_holds_up_later_ones() {
        let changes = PartitionChanges::default();
        let (first, queued) = (changes.begin("t", 0), ask(&changes, 0));
        let (said, stopped) = mpsc::channel();
        let (go_on, told) = mpsc::channel();
        let stopping = {
            let changes = changes.clone();
            std::thread::spawn(move || {
                let stop = changes.stop();
                said.send(()).unwrap();
                told.recv_timeout(Duration::from_secs(60)).unwrap();
                drop(stop);
            })
        };
        while changes.0.state.lock().stopped_at.is_none() {
            std::thread::yield_now();
        }
        let later = wait_for(ask(&changes, 1));
        assert!(changes.try_begin("t", 2).is_none());
        drop(first);
        drop(get(&wait_for(queued)));
        stopped.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(later.try_recv().is_err(), "nothing changes meanwhile");
        go_on.send(()).unwrap();
        drop(get(&later));
        stopping.join().unwrap();
    }
}
