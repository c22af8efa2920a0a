//! Incremental fetch sessions (KIP-227): the broker remembers which partitions a fetcher follows
//! and from where, so that a request names only what changed and an answer holds only what is new.
//!
//! Pure: time and session ids are passed in.

mod session;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_wire::{ErrorCode, Uuid};

pub(crate) use session::Session;

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

impl Wanted {
    /// An answer has this high watermark and log start offset of the partition. With `None` the next answer mentions the
    /// partition again.
    pub(crate) fn note_told(&mut self, told: Option<(i64, i64)>) {
        (self.told_high_watermark, self.told_log_start) = told.unwrap_or((-1, -1));
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
    uses_topic_ids: bool,
    is_privileged: bool,
    /// Epoch that the next request must carry.
    epoch: i32,
    size: usize,
    bytes: usize,
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

/// How many sessions there may be, and how much memory they may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// `max.incremental.fetch.session.cache.slots`.
    pub(crate) slots: usize,
    /// Of all sessions together.
    pub(crate) bytes: usize,
}

/// The most that one session may take of the bytes for all: a look at a session's partitions takes memory beside it.
const SHARE_MAX: usize = 4;

/// The sessions of a broker.
///
/// Each session is charged for its memory until it is dropped, and a session that is dropped gives its memory back even
/// while a fetch of it waits. The lock on the cache comes before the one on a session.
#[derive(Debug)]
pub(crate) struct SessionCache {
    limits: Limits,
    evict_after_ms: u64,
    held: HashMap<i32, Held>,
    /// Bytes of all sessions.
    bytes: usize,
    by_use: BTreeSet<(u64, i32)>,
    by_value: BTreeSet<Value>,
    pub(crate) evictions: u64,
}

/// All slots are taken, and none of the sessions in them has to give way.
struct NoSlot;

/// A session unused for that long may be replaced by any other (Kafka's fixed two minutes).
const EVICT_AFTER_MS: u64 = 120_000;

impl SessionCache {
    pub(crate) fn new(limits: Limits) -> SessionCache {
        SessionCache {
            limits,
            evict_after_ms: EVICT_AFTER_MS,
            held: HashMap::new(),
            bytes: 0,
            by_use: BTreeSet::new(),
            by_value: BTreeSet::new(),
            evictions: 0,
        }
    }

    /// Sessions and the partitions in them.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.held.len(), self.held.values().map(|h| h.size).sum())
    }

    /// Bytes that sessions take, and those that they may take.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        (self.bytes, self.limits.bytes)
    }

    /// What a request with this session id and epoch is.
    pub(crate) fn mode(&mut self, id: i32, epoch: i32, uses_topic_ids: bool, now_ms: u64) -> Mode {
        if epoch == INITIAL_EPOCH || epoch == FINAL_EPOCH {
            if id != NO_SESSION {
                self.remove(id);
            }
            return if epoch == FINAL_EPOCH { Mode::Sessionless } else { Mode::Full };
        }
        let Some(held) = self.held.get_mut(&id) else {
            return Mode::Error(ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
        };
        if held.epoch != epoch {
            return Mode::Error(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        }
        if held.uses_topic_ids != uses_topic_ids {
            return Mode::Error(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
        }
        held.epoch = next_epoch(epoch);
        let session = Arc::clone(&held.session);
        self.by_use.remove(&(held.used_ms, id));
        held.used_ms = now_ms;
        self.by_use.insert((now_ms, id));
        Mode::Incremental(session)
    }

    /// A request changed which partitions its session has. An empty session is dropped, and one that there is no room
    /// for: then its client sends a full request.
    pub(crate) fn resized(
        &mut self,
        session: &Arc<Mutex<Session>>,
        now_ms: u64,
    ) -> Result<(), ErrorCode> {
        let (id, size, bytes) = {
            let state = session.lock();
            (state.id, state.len(), state.bytes())
        };
        let held = self.held.get_mut(&id).filter(|held| Arc::ptr_eq(&held.session, session));
        let Some(held) = held else { return Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND) };
        let is_privileged = held.is_privileged;
        self.by_value.remove(&held.value(id));
        self.bytes = self.bytes - held.bytes + bytes;
        (held.size, held.bytes) = (size, bytes);
        self.by_value.insert(held.value(id));
        if size == 0 {
            self.remove(id);
            return Ok(());
        }
        let is_too_large = bytes > self.limits.bytes / SHARE_MAX;
        if is_too_large || !self.make_room_for(0, None, is_privileged, now_ms) {
            self.remove(id);
            return Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
        }
        Ok(())
    }

    /// Drops a session, whose memory is free then.
    fn remove(&mut self, id: i32) {
        if let Some(held) = self.held.remove(&id) {
            self.by_use.remove(&(held.used_ms, id));
            self.by_value.remove(&held.value(id));
            self.bytes -= held.bytes;
            held.session.lock().end();
        }
    }

    fn evict(&mut self, id: i32) {
        self.remove(id);
        self.evictions += 1;
    }

    /// Makes a session of `wanted` if there is room, or if another has to give way: one unused for
    /// two minutes, or one that is worth less. A replica's is worth more than a consumer's, one of more partitions more
    /// than one of fewer; replicas take the place of any consumer's, all others only of one that has existed for two
    /// minutes. For want of bytes only sessions unused for two minutes give way, and consumers' for a replica. 0 when there
    /// is no room.
    pub(crate) fn create(
        &mut self,
        random_id: i32,
        wanted: impl ExactSizeIterator<Item = Wanted>,
        uses_topic_ids: bool,
        is_replica: bool,
        now_ms: u64,
    ) -> i32 {
        let partitions = wanted.len();
        let bytes_max = self.limits.bytes / SHARE_MAX;
        // Looked at first, so that nothing is built in vain.
        let least = Session::bytes_min(partitions);
        if partitions == 0 || self.limits.slots == 0 || least > bytes_max {
            return NO_SESSION;
        }
        let Ok(leaving) = self.leaving(is_replica, partitions, now_ms) else { return NO_SESSION };
        if !self.has_room_for(least, leaving, is_replica, now_ms) {
            return NO_SESSION;
        }
        // An id in use is not handed out twice; ids are positive.
        let mut id = (random_id & i32::MAX).max(1);
        while self.held.contains_key(&id) {
            id = if id == i32::MAX { 1 } else { id + 1 };
        }
        let session = Session::new(id, wanted);
        let (size, bytes) = (session.len(), session.bytes());
        if bytes > bytes_max || !self.make_room(is_replica, size, bytes, now_ms) {
            return NO_SESSION;
        }
        let held = Held {
            is_privileged: is_replica,
            uses_topic_ids,
            epoch: next_epoch(INITIAL_EPOCH),
            size,
            bytes,
            session: Arc::new(Mutex::new(session)),
            created_ms: now_ms,
            used_ms: now_ms,
        };
        self.bytes += bytes;
        self.by_use.insert((now_ms, id));
        self.by_value.insert(held.value(id));
        self.held.insert(id, held);
        id
    }

    /// Room for one more session, in slots and in bytes. Nothing gives way in vain.
    fn make_room(&mut self, is_replica: bool, size: usize, bytes: usize, now_ms: u64) -> bool {
        match self.leaving(is_replica, size, now_ms) {
            Ok(leaving) => self.make_room_for(bytes, leaving, is_replica, now_ms),
            Err(NoSlot) => false,
        }
    }

    /// The session that has to give way so that there is a slot, if one has to.
    fn leaving(&self, is_replica: bool, size: usize, now_ms: u64) -> Result<Option<i32>, NoSlot> {
        if self.held.len() < self.limits.slots {
            return Ok(None);
        }
        let old = self.old_before(now_ms);
        let stale = self.by_use.first().filter(|(used, _)| *used < old).map(|(_, id)| *id);
        let may_go = |&&(is_privileged, _, created, _): &&Value| {
            created < old || (is_replica && !is_privileged)
        };
        let least = || self.by_value.iter().find(may_go);
        let worth_less =
            || least().filter(|least| (least.0, least.1) < (is_replica, size)).map(|least| least.3);
        stale.or_else(worth_less).map(Some).ok_or(NoSlot)
    }

    /// Sessions last used before this are stale.
    fn old_before(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.evict_after_ms)
    }

    /// Whether so many bytes more fit when `leaving` is gone, and others that may go.
    fn has_room_for(
        &self,
        bytes: usize,
        leaving: Option<i32>,
        is_replica: bool,
        now_ms: u64,
    ) -> bool {
        let wanted = self.bytes.saturating_add(bytes);
        if wanted <= self.limits.bytes {
            return true;
        }
        let old = self.old_before(now_ms);
        let may_go = |(id, held): &(&i32, &Held)| {
            leaving == Some(**id) || held.used_ms < old || (is_replica && !held.is_privileged)
        };
        let free: usize = self.held.iter().filter(may_go).map(|(_, held)| held.bytes).sum();
        wanted - free <= self.limits.bytes
    }

    /// Drops `leaving`, and others until so many bytes more fit: stale sessions, the one unused for longest first. A
    /// replica then takes the place of consumers' sessions, of those with most bytes first, so that few have to go.
    fn make_room_for(
        &mut self,
        bytes: usize,
        leaving: Option<i32>,
        is_replica: bool,
        now_ms: u64,
    ) -> bool {
        if !self.has_room_for(bytes, leaving, is_replica, now_ms) {
            return false;
        }
        if let Some(id) = leaving {
            self.evict(id);
        }
        let old = self.old_before(now_ms);
        while self.bytes + bytes > self.limits.bytes {
            let stale = self.by_use.first().filter(|(used, _)| *used < old).map(|(_, id)| *id);
            let largest = || {
                let consumers = self.held.iter().filter(|(_, held)| !held.is_privileged);
                consumers.max_by_key(|(_, held)| held.bytes).map(|(id, _)| *id)
            };
            let Some(id) = stale.or_else(|| is_replica.then(largest).flatten()) else {
                return false;
            };
            self.evict(id);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// A cache whose bytes are enough.
    fn cache_of(slots: usize) -> SessionCache {
        SessionCache::new(Limits { slots, bytes: MIB })
    }

    /// A cache whose slots are enough.
    fn cache_of_bytes(bytes: usize) -> SessionCache {
        SessionCache::new(Limits { slots: 1000, bytes })
    }

    fn one() -> impl ExactSizeIterator<Item = Wanted> {
        (0..1).map(wanted)
    }

    fn two() -> impl ExactSizeIterator<Item = Wanted> {
        (0..2).map(wanted)
    }

    /// The session with this id.
    fn session(cache: &mut SessionCache, id: i32, epoch: i32, now_ms: u64) -> Arc<Mutex<Session>> {
        match cache.mode(id, epoch, false, now_ms) {
            Mode::Incremental(session) => session,
            other => panic!("{other:?}"),
        }
    }

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
        let mut cache = cache_of(10);
        let id = cache.create(7, two(), false, false, 0);
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
        let mut cache = cache_of(1);
        assert_eq!(cache.create(1, one(), false, false, 0), 1);
        assert_eq!(cache.create(2, two(), false, false, 1_000), NO_SESSION);
        assert!(matches!(cache.mode(1, 1, false, 120_000), Mode::Incremental(_)));
        // Used lately, but small and old enough to give way to a larger one.
        assert_eq!(cache.create(2, one(), false, false, 121_000), NO_SESSION);
        assert_eq!(cache.create(2, two(), false, false, 121_000), 2);
        assert_eq!(cache.evictions, 1);
    }

    #[test]
    fn a_replica_takes_a_consumers_place_and_no_consumer_a_replicas() {
        let mut cache = cache_of(2);
        assert_eq!(cache.create(1, two(), false, false, 0), 1);
        assert_eq!(cache.create(2, one(), false, true, 0), 2);
        assert_eq!(cache.create(3, one(), false, true, 1), 3);
        assert!(matches!(cache.mode(1, 1, false, 1), Mode::Error(_)), "the consumer's is gone");
        // Among replicas it is as among consumers.
        assert_eq!(cache.create(4, two(), false, true, 2), NO_SESSION);
        for (id, epoch) in [(2, 1), (3, 1)] {
            assert!(matches!(cache.mode(id, epoch, false, 120_002), Mode::Incremental(_)));
        }
        assert_eq!(cache.create(5, two(), false, false, 120_002), NO_SESSION);
        assert_eq!(cache.create(6, two(), false, true, 120_002), 6);
        assert_eq!((cache.evictions, cache.counts()), (2, (2, 3)));
    }

    #[test]
    fn a_session_that_may_not_go_yet_hides_none_that_may() {
        let mut cache = cache_of(2);
        assert_eq!(cache.create(1, two(), false, false, 0), 1);
        assert!(matches!(cache.mode(1, 1, false, 119_000), Mode::Incremental(_)));
        assert_eq!(cache.create(2, one(), false, false, 119_000), 2);
        let larger = (0..3).map(wanted);
        assert_eq!(cache.create(3, larger, false, false, 121_000), 3);
        assert!(matches!(cache.mode(2, 1, false, 121_000), Mode::Incremental(_)));
    }

    #[test]
    fn cache_without_bytes_makes_no_session() {
        let mut cache = cache_of_bytes(64 << 10);
        let of = |partitions: i32| (0..partitions).map(wanted);
        // A quarter of it for each: 72 bytes of a partition at the least.
        assert_eq!(cache.create(1, of(230), false, false, 0), NO_SESSION);
        let mut made = 0;
        for id in 1..=40 {
            made += i32::from(cache.create(id, of(50), false, false, 0) != NO_SESSION);
            let (bytes, bytes_max) = cache.bytes();
            assert!(bytes <= bytes_max, "{bytes} of {bytes_max}");
        }
        assert!((4..20).contains(&made), "{made}");
        assert_eq!((cache.evictions, cache.counts().0), (0, made as usize));
        // Sessions that nobody has used for two minutes give way, and only so many as have to.
        let _ = session(&mut cache, 2, 1, 120_000);
        assert_eq!(cache.create(50, of(50), false, false, 120_001), 50);
        assert_eq!(cache.evictions, 1);
        let _ = session(&mut cache, 2, 2, 120_001);
        for id in 1..=50 {
            assert!(matches!(cache.mode(id, FINAL_EPOCH, false, 0), Mode::Sessionless));
        }
        assert_eq!((cache.bytes().0, cache.counts()), (0, (0, 0)));
    }

    #[test]
    fn replica_takes_bytes_from_the_largest_consumer() {
        let mut cache = cache_of_bytes(16 << 10);
        let of = |partitions: i32| (0..partitions).map(wanted);
        let mut ids = 1..;
        let mut fill = |cache: &mut SessionCache, partitions, is_replica| {
            let mut made = Vec::new();
            loop {
                let id = cache.create(ids.next().unwrap(), of(partitions), false, is_replica, 0);
                if id == NO_SESSION {
                    return made;
                }
                made.push(id);
            }
        };
        let large = fill(&mut cache, 24, false);
        let small = fill(&mut cache, 1, false);
        assert!(!large.is_empty());
        let replica = cache.create(10_000, of(20), false, true, 0);
        assert_eq!((replica, cache.evictions), (10_000, 1));
        for id in small {
            let _ = session(&mut cache, id, 1, 0);
        }
        // Replicas take all of it, and nothing of each other's.
        assert!(!fill(&mut cache, 20, true).is_empty());
        let _ = session(&mut cache, replica, 1, 0);
        assert!(matches!(cache.mode(large[0], 1, false, 0), Mode::Error(_)));
        assert!(cache.bytes().0 <= 16 << 10);
    }

    #[test]
    fn session_that_grows_past_the_bytes_ends() {
        let mut cache = cache_of_bytes(64 << 10);
        assert_eq!(cache.create(1, one(), false, false, 0), 1);
        let growing = session(&mut cache, 1, 1, 0);
        let before = cache.bytes().0;
        let grow = |partitions: std::ops::Range<i32>| {
            partitions.for_each(|partition| growing.lock().update(wanted(partition)));
        };
        grow(1..40);
        assert_eq!(cache.resized(&growing, 0), Ok(()));
        assert_eq!(cache.bytes().0, growing.lock().bytes());
        assert!(cache.bytes().0 > before + 39 * size_of::<Wanted>());
        grow(40..1000);
        assert_eq!(cache.resized(&growing, 0), Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND));
        assert!(matches!(cache.mode(1, 2, false, 0), Mode::Error(_)));
        assert_eq!((cache.bytes().0, cache.counts()), (0, (0, 0)));
        // A fetch in flight keeps nothing alive, and adds nothing that is not charged.
        grow(0..1000);
        assert!(growing.lock().is_ended());
        assert!(growing.lock().bytes() < 1000);
        assert_eq!(cache.resized(&growing, 0), Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND));
    }

    #[test]
    fn session_without_partitions_is_dropped() {
        let mut cache = cache_of(10);
        assert_eq!(cache.create(1, two(), false, false, 0), 1);
        let emptied = session(&mut cache, 1, 1, 0);
        (0..2).for_each(|p| emptied.lock().forget(TopicKey::Name("t".into()), p));
        assert_eq!(cache.resized(&emptied, 0), Ok(()));
        assert!(emptied.lock().is_ended());
        assert_eq!((cache.bytes().0, cache.counts()), (0, (0, 0)));
    }

    #[test]
    fn epochs_skip_the_special_ones() {
        assert_eq!(next_epoch(i32::MAX), 1);
        assert_eq!(next_epoch(INITIAL_EPOCH), 1);
        assert_eq!(next_epoch(FINAL_EPOCH), FINAL_EPOCH);
    }
}
