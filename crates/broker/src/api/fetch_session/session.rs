//! The partitions of one fetch session, and the bytes that they take.

use std::collections::HashMap;
use std::sync::Arc;

use super::{TopicKey, Wanted};

/// Bytes of a session without partitions: the session, its place in the cache, and in both orders of eviction.
const FIXED_BYTES: usize = 512;
/// Bytes of a shared text beside its characters: two counts.
const TEXT_BYTES: usize = 2 * size_of::<usize>();

/// One fetcher's partitions.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: i32,
    slots: Vec<Option<Wanted>>,
    index: Table<(TopicKey, i32), usize>,
    /// Names of topics with the number of partitions that share each; empty where topics have ids.
    names: Table<Arc<str>, usize>,
    name_bytes: usize,
    /// Where the next answer begins: after the last partition that had data, so that none starves.
    pub(crate) next: usize,
    /// Whether the cache has dropped the session. A fetch in flight may still refer to it.
    is_ended: bool,
}

/// A map whose memory is known.
#[derive(Debug)]
struct Table<K, V> {
    map: HashMap<K, V>,
    /// The largest capacity that the map has shown. Removed entries lower the capacity, not the memory.
    capacity_max: usize,
}

impl<K: std::hash::Hash + Eq, V> Table<K, V> {
    fn new() -> Table<K, V> {
        Table { map: HashMap::new(), capacity_max: 0 }
    }

    fn with_capacity(entries: usize) -> Table<K, V> {
        let map = HashMap::with_capacity(entries);
        Table { capacity_max: map.capacity(), map }
    }

    fn insert(&mut self, key: K, value: V) {
        self.map.insert(key, value);
        self.capacity_max = self.capacity_max.max(self.map.capacity());
    }

    /// Bytes of the allocation: the standard library's table has a power of two of buckets, seven eighths of which it
    /// fills, and a byte of control for each.
    fn bytes(&self) -> usize {
        if self.capacity_max == 0 {
            return 0;
        }
        let buckets = (self.capacity_max * 8 / 7).next_power_of_two();
        buckets * (size_of::<(K, V)>() + 1) + 16
    }
}

impl Session {
    /// A session of these partitions; the last mention of one counts.
    pub(super) fn new(id: i32, wanted: impl ExactSizeIterator<Item = Wanted>) -> Session {
        let mut session = Session {
            id,
            slots: Vec::with_capacity(wanted.len()),
            index: Table::with_capacity(wanted.len()),
            names: Table::new(),
            name_bytes: 0,
            next: 0,
            is_ended: false,
        };
        wanted.for_each(|wanted| session.update(wanted));
        if session.len() < session.slots.capacity() / 2 {
            session.compact();
        }
        session
    }

    /// The least that a session of so many partitions takes, in bytes.
    pub(super) fn bytes_min(partitions: usize) -> usize {
        FIXED_BYTES.saturating_add(partitions.saturating_mul(size_of::<Option<Wanted>>()))
    }

    /// Bytes that the session takes. A topic's name counts even while the table of topics has the same text, because
    /// the session keeps it when the topic is deleted.
    pub(super) fn bytes(&self) -> usize {
        FIXED_BYTES
            + self.slots.capacity() * size_of::<Option<Wanted>>()
            + self.index.bytes()
            + self.names.bytes()
            + self.name_bytes
    }

    /// Partitions in the session.
    pub(crate) fn len(&self) -> usize {
        self.index.map.len()
    }

    /// Whether the cache has dropped the session; it has no partitions then.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Gives all memory back, also where a fetch in flight still refers to the session.
    pub(super) fn end(&mut self) {
        self.slots = Vec::new();
        self.index = Table::new();
        self.names = Table::new();
        (self.name_bytes, self.next, self.is_ended) = (0, 0, true);
    }

    /// Adds a partition, or changes what is wanted of it; what it was told stays. A session that has ended stays
    /// empty, because its memory is not charged any more.
    pub(crate) fn update(&mut self, mut wanted: Wanted) {
        if self.is_ended {
            return;
        }
        let key = (wanted.topic, wanted.partition);
        match self.index.map.get(&key) {
            Some(&slot) => {
                wanted.topic = key.0;
                if let Some(old) = &self.slots[slot] {
                    // One text for all partitions of a topic.
                    wanted.topic = old.topic.clone();
                    // In another epoch the leader's answer may have been for one that is over.
                    if old.current_leader_epoch == wanted.current_leader_epoch {
                        wanted.told_high_watermark = old.told_high_watermark;
                        wanted.told_log_start = old.told_log_start;
                    }
                }
                self.slots[slot] = Some(wanted);
            }
            None => {
                wanted.topic = self.shared(key.0);
                self.index.insert((wanted.topic.clone(), wanted.partition), self.slots.len());
                self.slots.push(Some(wanted));
            }
        }
    }

    /// The topic of one more partition, in the text that the session has of it.
    fn shared(&mut self, topic: TopicKey) -> TopicKey {
        let TopicKey::Name(name) = topic else { return topic };
        if let Some((known, _)) = self.names.map.get_key_value(&name) {
            let known = Arc::clone(known);
            *self.names.map.entry(Arc::clone(&known)).or_default() += 1;
            return TopicKey::Name(known);
        }
        self.name_bytes += name.len() + TEXT_BYTES;
        self.names.insert(Arc::clone(&name), 1);
        TopicKey::Name(name)
    }

    /// Drops a partition.
    pub(crate) fn forget(&mut self, topic: TopicKey, partition: i32) {
        let key = (topic, partition);
        if let Some(slot) = self.index.map.remove(&key) {
            self.slots[slot] = None;
            if let TopicKey::Name(name) = &key.0
                && let Some(partitions) = self.names.map.get_mut(name)
            {
                *partitions -= 1;
                if *partitions == 0 {
                    self.names.map.remove(name);
                    self.name_bytes -= name.len() + TEXT_BYTES;
                }
            }
        }
        if self.slots.len() > 2 * self.len() + 16 {
            self.compact();
        }
    }

    fn compact(&mut self) {
        self.slots.retain(Option::is_some);
        self.slots.shrink_to_fit();
        self.next = 0;
        self.index = Table::with_capacity(self.slots.len());
        for (slot, wanted) in self.slots.iter().enumerate() {
            if let Some(wanted) = wanted {
                self.index.insert((wanted.topic.clone(), wanted.partition), slot);
            }
        }
        let names = std::mem::replace(&mut self.names, Table::new());
        if !names.map.is_empty() {
            self.names = Table::with_capacity(names.map.len());
            names.map.into_iter().for_each(|(name, count)| self.names.insert(name, count));
        }
    }

    /// Every partition with its slot, beginning where the last answer left off.
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = (usize, &Wanted)> {
        let start = if self.next < self.slots.len() { self.next } else { 0 };
        let (before, after) = self.slots.split_at(start);
        let after = after.iter().enumerate().map(move |(i, s)| (i + start, s));
        after
            .chain(before.iter().enumerate())
            .filter_map(|(slot, wanted)| wanted.as_ref().map(|w| (slot, w)))
    }

    /// What stands in a slot.
    pub(crate) fn slot(&self, slot: usize) -> Option<&Wanted> {
        self.slots.get(slot).and_then(Option::as_ref)
    }

    /// What stands in a slot, to be changed.
    pub(crate) fn slot_mut(&mut self, slot: usize) -> Option<&mut Wanted> {
        self.slots.get_mut(slot).and_then(Option::as_mut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted_of(topic: &str, partition: i32) -> Wanted {
        Wanted {
            topic: TopicKey::Name(topic.into()),
            partition,
            fetch_offset: 0,
            max_bytes: 1,
            current_leader_epoch: -1,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            told_high_watermark: -1,
            told_log_start: -1,
        }
    }

    fn wanted(partition: i32) -> Wanted {
        wanted_of("t", partition)
    }

    #[test]
    fn forgotten_partitions_leave_no_trace() {
        let mut session = Session::new(1, std::iter::empty());
        for p in 0..100 {
            session.update(wanted(p));
        }
        for p in 0..95 {
            session.forget(TopicKey::Name("t".into()), p);
        }
        let left: Vec<i32> = session.in_turn().map(|(_, w)| w.partition).collect();
        assert_eq!(left, [95, 96, 97, 98, 99]);
        assert!(session.slots.len() < 50);
        session.next = 2;
        let turn: Vec<i32> = session.in_turn().map(|(_, w)| w.partition).collect();
        assert_eq!(turn.len(), 5);
    }

    #[test]
    fn names_are_kept_once_and_charged() {
        let name = "n".repeat(200);
        let mut session = Session::new(1, (0..100).map(|p| wanted_of(&name, p)));
        assert_eq!(session.name_bytes, 200 + TEXT_BYTES);
        let same = |session: &Session| {
            let mut topics = session.in_turn().map(|(_, wanted)| match &wanted.topic {
                TopicKey::Name(name) => Arc::as_ptr(name),
                TopicKey::Id(id) => panic!("{id}"),
            });
            let first = topics.next().unwrap();
            topics.all(|name| std::ptr::addr_eq(name, first))
        };
        // Also a partition that is named again, and one that is added later.
        session.update(wanted_of(&name, 7));
        session.update(wanted_of(&name, 100));
        assert!(same(&session));
        let before = session.bytes();
        (0..50).for_each(|n| session.update(wanted_of(&format!("{name}-{n}"), 0)));
        assert!(session.bytes() >= before + 50 * (200 + size_of::<Wanted>()));
        (0..50).for_each(|n| session.forget(TopicKey::Name(format!("{name}-{n}").into()), 0));
        (0..=100).for_each(|p| session.forget(TopicKey::Name(name.as_str().into()), p));
        assert_eq!((session.name_bytes, session.len()), (0, 0));
        assert!(session.bytes() < 8 << 10, "{}", session.bytes());
    }

    #[test]
    fn named_twice_takes_no_more_than_once() {
        let twice = Session::new(1, (0..10_000).map(|_| wanted(0)));
        assert!(twice.bytes() < 2 << 10, "{}", twice.bytes());
    }
}
