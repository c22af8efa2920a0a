//! What it takes to get back to the last committed state, and to read it.
//!
//! `replay` applies records when they are handed to the log, before the log has confirmed them. For
//! each change it leaves here the value that was there before, under the offset of the record and
//! the key of what changed. Kafka keeps snapshots of persistent maps for the same purpose; an undo
//! log costs nothing while nothing is in flight, and in flight is only what the high watermark has
//! not passed yet.
//!
//! Two uses: *reverting* takes entries newest first; the *committed* value of a key is the oldest
//! one kept for it, found without looking at what else is in flight.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeBounds;

/// Previous values by key, oldest first, each under the offset of the record that replaced it.
///
/// Values that are large are best kept behind an `Arc` and changed as copies, so that keeping one
/// costs a reference.
#[derive(Debug)]
pub struct UndoLog<K, V> {
    /// Offset and key of each change, oldest first.
    changes: VecDeque<(i64, K)>,
    /// What each key had before its changes, oldest first. No list is empty, and together they have
    /// one value for each entry of `changes`.
    previous: BTreeMap<K, VecDeque<V>>,
    recording: bool,
}

impl<K, V> Default for UndoLog<K, V> {
    fn default() -> Self {
        UndoLog { changes: VecDeque::new(), previous: BTreeMap::new(), recording: false }
    }
}

impl<K: Ord + Clone, V> UndoLog<K, V> {
    /// While loading nothing is recorded: what stands in the log is never reverted.
    pub fn start(&mut self) {
        self.recording = true;
    }

    /// Notes the value that the record at `offset` replaced.
    pub fn push(&mut self, offset: i64, key: K, value: V) {
        if self.recording {
            debug_assert!(self.changes.back().is_none_or(|(last, _)| *last <= offset));
            self.changes.push_back((offset, key.clone()));
            self.previous.entry(key).or_default().push_back(value);
        }
    }

    /// Everything below `offset` is committed and can no longer be reverted.
    pub fn forget_below(&mut self, offset: i64) {
        self.take_below(offset, |_, _| {});
    }

    /// The same, and hands each key over with the value from before its change, the oldest first.
    pub fn take_below(&mut self, offset: i64, mut take: impl FnMut(K, V)) {
        while self.changes.front().is_some_and(|(at, _)| *at < offset) {
            let Some((_, key)) = self.changes.pop_front() else { return };
            if let Some(value) = self.take(&key, VecDeque::pop_front) {
                take(key, value);
            }
        }
    }

    /// Takes the newest change at or above `offset`: its key, and the value from before.
    pub fn pop_from(&mut self, offset: i64) -> Option<(K, V)> {
        if self.changes.back().is_none_or(|(at, _)| *at < offset) {
            return None;
        }
        let (_, key) = self.changes.pop_back()?;
        let value = self.take(&key, VecDeque::pop_back)?;
        Some((key, value))
    }

    fn take(&mut self, key: &K, end: fn(&mut VecDeque<V>) -> Option<V>) -> Option<V> {
        let values = self.previous.get_mut(key)?;
        let value = end(values);
        if values.is_empty() {
            self.previous.remove(key);
        }
        value
    }

    /// Whether nothing is in flight: what there is, is committed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// What `key` has as of the last commit; `None` if that is what it has now.
    pub fn committed(&self, key: &K) -> Option<&V> {
        self.previous.get(key)?.front()
    }

    /// The same for every key of a range that has changed since the last commit.
    pub fn committed_in(&self, keys: impl RangeBounds<K>) -> impl Iterator<Item = (&K, &V)> {
        self.previous.range(keys).filter_map(|(key, values)| Some((key, values.front()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reverts_newest_first_and_only_what_is_not_committed() {
        let mut undo = UndoLog::default();
        undo.push(1, 'x', "while loading");
        assert!(undo.is_empty());
        undo.start();
        for (offset, key, value) in [(5, 'x', "a"), (6, 'y', "b"), (6, 'x', "c"), (9, 'x', "d")] {
            undo.push(offset, key, value);
        }
        undo.forget_below(6);
        assert_eq!(undo.pop_from(9), Some(('x', "d")));
        assert_eq!(undo.pop_from(9), None);
        assert_eq!(undo.pop_from(0), Some(('x', "c")));
        assert_eq!(undo.pop_from(0), Some(('y', "b")));
        assert_eq!(undo.pop_from(0), None);
        assert!(undo.is_empty());
    }

    #[test]
    fn the_committed_value_is_the_oldest_in_flight() {
        let mut undo = UndoLog::default();
        undo.start();
        for (offset, key, value) in [(5, 'x', 1), (6, 'y', 2), (7, 'x', 3), (8, 'z', 4)] {
            undo.push(offset, key, value);
        }
        assert_eq!(undo.committed(&'x'), Some(&1));
        assert_eq!(undo.committed(&'q'), None);
        assert_eq!(undo.committed_in('y'..).collect::<Vec<_>>(), [(&'y', &2), (&'z', &4)]);
        undo.forget_below(7);
        assert_eq!(undo.committed(&'x'), Some(&3));
        assert_eq!(undo.committed(&'y'), None);
        assert_eq!(undo.pop_from(8), Some(('z', 4)));
        assert_eq!(undo.committed_in(..).collect::<Vec<_>>(), [(&'x', &3)]);
        undo.forget_below(100);
        assert!(undo.is_empty() && undo.committed_in(..).next().is_none());
    }
}
