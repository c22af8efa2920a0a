//! Keyed timers: scheduling a key again replaces its earlier deadline.
//!
//! Sessions push their deadline back with every heartbeat and almost never fire. Moving a deadline
//! later therefore touches only the key's entry; the queue keeps the earlier moment and is corrected
//! when that moment comes.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Deadlines by key, on the monotonic clock.
///
/// Invariant: every key has exactly one place in the queue, at or before its due time.
#[derive(Debug)]
pub struct Timers<K> {
    by_key: HashMap<K, Entry>,
    queue: BTreeMap<(u64, u64), K>,
    next_sequence: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Deadline, and the order in which it was set.
    due: (u64, u64),
    queued: (u64, u64),
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Timers { by_key: HashMap::new(), queue: BTreeMap::new(), next_sequence: 0 }
    }
}

impl<K: Hash + Eq + Clone> Timers<K> {
    /// Sets `key` to fire at `due_ms`, whatever it was set to before. Keys with the same deadline fire
    /// in the order in which they were set.
    pub fn schedule(&mut self, key: K, due_ms: u64) {
        let due = (due_ms, self.next_sequence);
        self.next_sequence += 1;
        if let Some(entry) = self.by_key.get_mut(&key) {
            if entry.queued <= due {
                entry.due = due;
                return;
            }
            self.queue.remove(&entry.queued);
        }
        self.enqueue(key, due);
    }

    fn enqueue(&mut self, key: K, due: (u64, u64)) {
        self.by_key.insert(key.clone(), Entry { due, queued: due });
        self.queue.insert(due, key);
    }

    /// Forgets `key`.
    pub fn cancel(&mut self, key: &K) {
        if let Some(entry) = self.by_key.remove(key) {
            self.queue.remove(&entry.queued);
        }
    }

    /// Whether `key` is set.
    pub fn is_set(&self, key: &K) -> bool {
        self.by_key.contains_key(key)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.by_key.clear();
        self.queue.clear();
    }

    /// Takes one key that is due at `now_ms`, in the order of the deadlines.
    pub fn pop_due(&mut self, now_ms: u64) -> Option<K> {
        loop {
            let (&queued, _) = self.queue.first_key_value()?;
            if queued.0 > now_ms {
                return None;
            }
            let key = self.queue.remove(&queued)?;
            let due = self.by_key.get(&key).map_or(queued, |entry| entry.due);
            if due <= queued {
                self.by_key.remove(&key);
                return Some(key);
            }
            self.enqueue(key, due);
        }
    }

    /// When to look again. May be earlier than the next real deadline, never later.
    pub fn wake_at_ms(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((due_ms, _), _)| *due_ms)
    }

    /// When `key` will fire, if it is set.
    #[cfg(test)]
    fn due_ms(&self, key: &K) -> Option<u64> {
        self.by_key.get(key).map(|entry| entry.due.0)
    }

    /// Number of keys that are set.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.by_key.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(timers: &mut Timers<&'static str>, now_ms: u64) -> Vec<&'static str> {
        std::iter::from_fn(|| timers.pop_due(now_ms)).collect()
    }

    #[test]
    fn fires_in_the_order_of_deadlines_and_once() {
        let mut timers = Timers::default();
        timers.schedule("late", 30);
        timers.schedule("early", 10);
        timers.schedule("middle", 20);
        assert_eq!(timers.wake_at_ms(), Some(10));
        assert_eq!(drain(&mut timers, 9), Vec::<&str>::new());
        assert_eq!(drain(&mut timers, 20), ["early", "middle"]);
        assert_eq!(drain(&mut timers, 20), Vec::<&str>::new());
        assert_eq!(drain(&mut timers, 1000), ["late"]);
        assert_eq!(timers.len(), 0);
        assert_eq!(timers.wake_at_ms(), None);
    }

    #[test]
    fn a_later_deadline_replaces_an_earlier_one() {
        let mut timers = Timers::default();
        timers.schedule("session", 10);
        timers.schedule("session", 50);
        assert_eq!(timers.due_ms(&"session"), Some(50));
        assert_eq!(drain(&mut timers, 49), Vec::<&str>::new());
        assert_eq!(timers.len(), 1);
        assert_eq!(drain(&mut timers, 50), ["session"]);
    }

    #[test]
    fn an_earlier_deadline_replaces_a_later_one() {
        let mut timers = Timers::default();
        timers.schedule("session", 50);
        timers.schedule("session", 10);
        assert_eq!(drain(&mut timers, 10), ["session"]);
        assert_eq!(drain(&mut timers, 100), Vec::<&str>::new());
        // Back and forth: the queue's place may be earlier than the due time, never later.
        timers.schedule("session", 10);
        timers.schedule("session", 50);
        timers.schedule("session", 20);
        assert_eq!(timers.due_ms(&"session"), Some(20));
        assert_eq!(drain(&mut timers, 19), Vec::<&str>::new());
        assert_eq!(drain(&mut timers, 20), ["session"]);
    }

    #[test]
    fn a_cancelled_key_never_fires() {
        let mut timers = Timers::default();
        timers.schedule("a", 10);
        timers.schedule("a", 40);
        timers.cancel(&"a");
        timers.cancel(&"never set");
        assert_eq!(drain(&mut timers, 100), Vec::<&str>::new());
        assert_eq!(timers.wake_at_ms(), None);
    }
}
