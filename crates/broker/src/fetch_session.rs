//! Incremental fetch sessions (KIP-227): the broker remembers which partitions a fetcher follows
//! and from where, so that a request names only what changed and an answer holds only what is new.
//!
//! Pure: time and session ids are passed in.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_wire::{ErrorCode, Uuid};

/// Session id and epoch that stand for "no session".
pub(crate) const NO_SESSION: i32 = 0;
/// Epoch of a request that wants a new session.
pub(crate) const INITIAL_EPOCH: i32 = 0;
/// Epoch of a request that wants no session, and closes the one it names.
pub(crate) const FINAL_EPOCH: i32 = -1;

/// The epoch after `epoch`; skips the two special ones.
pub(crate) fn next_epoch(epoch: i32) -> i32 {
    if epoch < 0 {
        FINAL_EPOCH
    } else if epoch == i32::MAX {
        1
    } else {
        epoch + 1
    }
}

/// A partition as requests name it: by id from version 13 on, by name before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TopicKey {
    Name(Arc<str>),
    Id(Uuid),
}

/// What a fetcher wants of one partition, and what it was last told.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) topic: TopicKey,
    pub(crate) partition: i32,
    pub(crate) fetch_offset: i64,
    pub(crate) max_bytes: i32,
    pub(crate) current_leader_epoch: i32,
    pub(crate) last_fetched_epoch: i32,
    /// Where a replica's log starts; -1 of a consumer.
    pub(crate) log_start_offset: i64,
    /// High watermark of the last answer; -1 before the first.
    pub(crate) told_high_watermark: i64,
    /// Log start offset of the last answer; -1 before the first.
    pub(crate) told_log_start: i64,
}

/// One fetcher's partitions.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: i32,
    /// Epoch that the next request must carry.
    pub(crate) epoch: i32,
    pub(crate) uses_topic_ids: bool,
    slots: Vec<Option<Wanted>>,
    index: HashMap<(TopicKey, i32), usize>,
    /// Where the next answer begins: after the last partition that had data, so that none starves.
    pub(crate) next: usize,
}

impl Session {
    fn new(id: i32, uses_topic_ids: bool) -> Session {
        Session {
            id,
            epoch: next_epoch(INITIAL_EPOCH),
            uses_topic_ids,
            slots: Vec::new(),
            index: HashMap::new(),
            next: 0,
        }
    }

    /// Partitions in the session.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Adds a partition, or changes what is wanted of it; what it was told stays.
    pub(crate) fn update(&mut self, mut wanted: Wanted) {
        let key = (wanted.topic.clone(), wanted.partition);
        match self.index.get(&key) {
            Some(&slot) => {
                // In another epoch the leader's answer may have been for one that is over.
                if let Some(old) = &self.slots[slot]
                    && old.current_leader_epoch == wanted.current_leader_epoch
                {
                    wanted.told_high_watermark = old.told_high_watermark;
                    wanted.told_log_start = old.told_log_start;
                }
                self.slots[slot] = Some(wanted);
            }
            None => {
                self.index.insert(key, self.slots.len());
                self.slots.push(Some(wanted));
            }
        }
    }

    /// Drops a partition.
    pub(crate) fn forget(&mut self, topic: TopicKey, partition: i32) {
        if let Some(slot) = self.index.remove(&(topic, partition)) {
            self.slots[slot] = None;
        }
        if self.slots.len() > 2 * self.index.len() + 16 {
            self.compact();
        }
    }

    fn compact(&mut self) {
        self.slots.retain(Option::is_some);
        self.next = 0;
        self.index.clear();
        for (slot, wanted) in self.slots.iter().enumerate() {
            if let Some(wanted) = wanted {
                self.index.insert((wanted.topic.clone(), wanted.partition), slot);
            }
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

/// How a request is to be answered.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    /// No session: the answer holds every partition asked for.
    Sessionless,
    /// A new session where there is room for one; the answer holds every partition asked for.
    Full,
    /// The answer holds what changed since the last one.
    Incremental(Arc<Mutex<Session>>),
    /// The request does not fit the sessions there are.
    Error(ErrorCode),
}

#[derive(Debug)]
struct Held {
    session: Arc<Mutex<Session>>,
    is_privileged: bool,
    size: usize,
    created_ms: u64,
    used_ms: u64,
}

impl Held {
    fn value(&self, id: i32) -> Value {
        (self.is_privileged, self.size, self.created_ms, id)
    }
}

/// What a session is worth, least first: whether a replica has it, its partitions; then when it was made, and its id.
type Value = (bool, usize, u64, i32);

/// The sessions of a broker: `max.incremental.fetch.session.cache.slots` at most.
#[derive(Debug)]
pub(crate) struct SessionCache {
    slots: usize,
    evict_after_ms: u64,
    held: HashMap<i32, Held>,
    by_use: BTreeSet<(u64, i32)>,
    by_value: BTreeSet<Value>,
    pub(crate) evictions: u64,
}

/// A session unused for that long may be replaced by any other (Kafka's fixed two minutes).
const EVICT_AFTER_MS: u64 = 120_000;

impl SessionCache {
    pub(crate) fn new(slots: usize) -> SessionCache {
        SessionCache {
            slots,
            evict_after_ms: EVICT_AFTER_MS,
            held: HashMap::new(),
            by_use: BTreeSet::new(),
            by_value: BTreeSet::new(),
            evictions: 0,
        }
    }

    /// Sessions and the partitions in them.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.held.len(), self.held.values().map(|h| h.size).sum())
    }

    /// What a request with this session id and epoch is.
    pub(crate) fn mode(&mut self, id: i32, epoch: i32, uses_topic_ids: bool, now_ms: u64) -> Mode {
        if epoch == INITIAL_EPOCH || epoch == FINAL_EPOCH {
            if id != NO_SESSION {
                self.remove(id);
            }
            return if epoch == FINAL_EPOCH { Mode::Sessionless } else { Mode::Full };
        }
        let Some(held) = self.held.get(&id) else {
            return Mode::Error(ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
        };
        let session = Arc::clone(&held.session);
        {
            let mut state = session.lock();
            if state.epoch != epoch {
                return Mode::Error(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
            }
            if state.uses_topic_ids != uses_topic_ids {
                return Mode::Error(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
            }
            state.epoch = next_epoch(epoch);
        }
        self.touch(id, now_ms);
        Mode::Incremental(session)
    }

    fn touch(&mut self, id: i32, now_ms: u64) {
        if let Some(held) = self.held.get_mut(&id) {
            self.by_use.remove(&(held.used_ms, id));
            held.used_ms = now_ms;
            self.by_use.insert((now_ms, id));
        }
    }

    /// A request changed how many partitions its session has; an empty session is dropped.
    pub(crate) fn resized(&mut self, id: i32) {
        let Some(held) = self.held.get_mut(&id) else { return };
        let size = held.session.lock().len();
        self.by_value.remove(&held.value(id));
        held.size = size;
        self.by_value.insert(held.value(id));
        if size == 0 {
            self.remove(id);
        }
    }

    /// Drops a session.
    pub(crate) fn remove(&mut self, id: i32) {
        if let Some(held) = self.held.remove(&id) {
            self.by_use.remove(&(held.used_ms, id));
            self.by_value.remove(&held.value(id));
        }
    }

    /// Makes a session of `wanted` if there is room, or if another has to give way: one unused for
    /// two minutes, or one that is worth less. A replica's is worth more than a consumer's, one of more partitions more
    /// than one of fewer; replicas take the place of any consumer's, all others only of one that has existed for two
    /// minutes. 0 when there is none.
    pub(crate) fn create(
        &mut self,
        random_id: i32,
        wanted: Vec<Wanted>,
        uses_topic_ids: bool,
        is_replica: bool,
        now_ms: u64,
    ) -> i32 {
        if wanted.is_empty() || self.slots == 0 {
            return NO_SESSION;
        }
        if self.held.len() >= self.slots && !self.make_room(is_replica, wanted.len(), now_ms) {
            return NO_SESSION;
        }
        // An id in use is not handed out twice; ids are positive.
        let mut id = (random_id & i32::MAX).max(1);
        while self.held.contains_key(&id) {
            id = if id == i32::MAX { 1 } else { id + 1 };
        }
        let mut session = Session::new(id, uses_topic_ids);
        wanted.into_iter().for_each(|w| session.update(w));
        let held = Held {
            is_privileged: is_replica,
            size: session.len(),
            session: Arc::new(Mutex::new(session)),
            created_ms: now_ms,
            used_ms: now_ms,
        };
        self.by_use.insert((now_ms, id));
        self.by_value.insert(held.value(id));
        self.held.insert(id, held);
        id
    }

    fn make_room(&mut self, is_replica: bool, size: usize, now_ms: u64) -> bool {
        let old = now_ms.saturating_sub(self.evict_after_ms);
        let stale = self.by_use.first().filter(|(used, _)| *used < old).map(|(_, id)| *id);
        let may_go = |&&(is_privileged, _, created, _): &&Value| {
            created < old || (is_replica && !is_privileged)
        };
        let least = || self.by_value.iter().find(may_go);
        let worth_less =
            || least().filter(|least| (least.0, least.1) < (is_replica, size)).map(|least| least.3);
        let Some(id) = stale.or_else(worth_less) else { return false };
        self.remove(id);
        self.evictions += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(partition: i32) -> Wanted {
        Wanted {
            topic: TopicKey::Name("t".into()),
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

    #[test]
    fn epochs_must_follow_each_other() {
        let mut cache = SessionCache::new(10);
        let id = cache.create(7, vec![wanted(0), wanted(1)], false, false, 0);
        assert_eq!(id, 7);
        assert!(matches!(cache.mode(7, 1, false, 0), Mode::Incremental(_)));
        assert!(
            matches!(cache.mode(7, 1, false, 0), Mode::Error(e) if e == ErrorCode::INVALID_FETCH_SESSION_EPOCH)
        );
        assert!(
            matches!(cache.mode(7, 2, true, 0), Mode::Error(e) if e == ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR)
        );
        assert!(
            matches!(cache.mode(8, 2, false, 0), Mode::Error(e) if e == ErrorCode::FETCH_SESSION_ID_NOT_FOUND)
        );
        assert!(matches!(cache.mode(7, FINAL_EPOCH, false, 0), Mode::Sessionless));
        assert_eq!(cache.counts(), (0, 0));
    }

    #[test]
    fn a_full_cache_gives_way_only_to_larger_or_after_two_minutes() {
        let mut cache = SessionCache::new(1);
        assert_eq!(cache.create(1, vec![wanted(0)], false, false, 0), 1);
        assert_eq!(cache.create(2, vec![wanted(0), wanted(1)], false, false, 1_000), NO_SESSION);
        assert!(matches!(cache.mode(1, 1, false, 120_000), Mode::Incremental(_)));
        // Used lately, but small and old enough to give way to a larger one.
        assert_eq!(cache.create(2, vec![wanted(0)], false, false, 121_000), NO_SESSION);
        assert_eq!(cache.create(2, vec![wanted(0), wanted(1)], false, false, 121_000), 2);
        assert_eq!(cache.evictions, 1);
    }

    #[test]
    fn a_replica_takes_a_consumers_place_and_no_consumer_a_replicas() {
        let mut cache = SessionCache::new(2);
        assert_eq!(cache.create(1, vec![wanted(0), wanted(1)], false, false, 0), 1);
        assert_eq!(cache.create(2, vec![wanted(0)], false, true, 0), 2);
        assert_eq!(cache.create(3, vec![wanted(0)], false, true, 1), 3);
        assert!(matches!(cache.mode(1, 1, false, 1), Mode::Error(_)), "the consumer's is gone");
        // Among replicas it is as among consumers.
        let large = || vec![wanted(0), wanted(1)];
        assert_eq!(cache.create(4, large(), false, true, 2), NO_SESSION);
        for (id, epoch) in [(2, 1), (3, 1)] {
            assert!(matches!(cache.mode(id, epoch, false, 120_002), Mode::Incremental(_)));
        }
        assert_eq!(cache.create(5, large(), false, false, 120_002), NO_SESSION);
        assert_eq!(cache.create(6, large(), false, true, 120_002), 6);
        assert_eq!((cache.evictions, cache.counts()), (2, (2, 3)));
    }

    #[test]
    fn a_session_that_may_not_go_yet_hides_none_that_may() {
        let mut cache = SessionCache::new(2);
        assert_eq!(cache.create(1, vec![wanted(0), wanted(1)], false, false, 0), 1);
        assert!(matches!(cache.mode(1, 1, false, 119_000), Mode::Incremental(_)));
        assert_eq!(cache.create(2, vec![wanted(0)], false, false, 119_000), 2);
        let larger = (0..3).map(wanted).collect();
        assert_eq!(cache.create(3, larger, false, false, 121_000), 3);
        assert!(matches!(cache.mode(2, 1, false, 121_000), Mode::Incremental(_)));
    }

    #[test]
    fn forgotten_partitions_leave_no_trace() {
        let mut session = Session::new(1, false);
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
    fn epochs_skip_the_special_ones() {
        assert_eq!(next_epoch(i32::MAX), 1);
        assert_eq!(next_epoch(INITIAL_EPOCH), 1);
        assert_eq!(next_epoch(FINAL_EPOCH), FINAL_EPOCH);
    }
}
