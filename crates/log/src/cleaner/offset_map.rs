//! The newest offset of each key of a log's dirty section, in a bounded piece of memory.
//!
//! Keys are not kept, but 128 bits of a keyed hash (SipHash-1-3, the key drawn anew for every pass).
//! Two keys that have the same hash would lose the older one's last value, so it must not happen by
//! chance, nor be made to happen: among a thousand million keys the chance is below 2^-68, and
//! producers cannot build a collision for a hash whose key they do not know. Kafka takes MD5, of
//! which anybody can build collisions, at ten times the cost.
//!
//! An entry takes 24 bytes as in Kafka, so the same memory holds as many keys and a pass ends at the
//! same offset. What the map sees replaced while it is filled it leaves in its [`Marks`], which have
//! their place in the same memory. Pure: no file, no clock; the hash's key comes from the caller.

use std::hint::black_box;

use siphasher::sip128::SipHasher13;

use super::marks::Marks;

/// Bytes of an entry: 16 of the hash, 8 of the offset.
pub(crate) const ENTRY_LEN: u64 = 24;

/// A key, as the map knows it.
pub(crate) type Hash = [u64; 2];

/// Keys that are looked for one behind the other, without anything in between: a large table is in no
/// cache, and the processor waits for all of them at once.
pub(crate) const AT_ONCE: usize = 64;

/// A table of hashes with linear probing.
#[derive(Debug)]
pub(crate) struct OffsetMap {
    /// What the table and the marks may take.
    bytes: u64,
    /// The most entries that the memory has room for.
    slots_max: usize,
    /// Entries from which on the map counts as full.
    full_at: usize,
    hasher: SipHasher13,
    table: Vec<Slot>,
    len: usize,
    latest_offset: i64,
    marks: Marks,
}

/// An entry; one without an offset is free.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: Hash,
    /// The offset plus one, so that zeroed memory is an empty table.
    next_offset: u64,
}

const FREE: Slot = Slot { hash: [0; 2], next_offset: 0 };

impl OffsetMap {
    /// A map of `bytes` of memory that takes keys up to a share of `load_factor`. No memory is
    /// taken before [`Self::begin`].
    pub(crate) fn new(bytes: u64, load_factor: f64) -> OffsetMap {
        let slots_max = usize::try_from(bytes / ENTRY_LEN).unwrap_or(usize::MAX).max(1);
        // One key at least, or no pass would come on. A factor that is not a number counts as 0.
        let full_at = ((slots_max as f64 * load_factor) as usize).clamp(1, slots_max);
        OffsetMap {
            bytes,
            slots_max,
            full_at,
            hasher: SipHasher13::new(),
            table: Vec::new(),
            len: 0,
            latest_offset: -1,
            marks: Marks::default(),
        }
    }

    /// Empties the map for a section of at most `keys` offsets from `start` on. Small sections take
    /// little memory, and what a large one took is given back.
    pub(crate) fn begin(&mut self, start: i64, keys: u64, hash_key: u128) {
        self.hasher = SipHasher13::new_with_key(&hash_key.to_le_bytes());
        self.len = 0;
        self.latest_offset = -1;
        // The marks take nothing that the keys need, and a sixty-fourth at most: a table that is
        // nearly full is slow.
        let spare = self.bytes.saturating_sub(self.full_at as u64 * ENTRY_LEN);
        let for_marks = Marks::bytes_for(keys).min(self.bytes / 64).min(spare);
        self.marks.begin(start, for_marks);
        let marks = self.marks.memory() as u64;
        let wanted = usize::try_from(keys).unwrap_or(usize::MAX).min(self.full_at);
        let room = usize::try_from(self.bytes.saturating_sub(marks) / ENTRY_LEN);
        let slots_max = room.unwrap_or(usize::MAX).clamp(1, self.slots_max);
        // Half as many slots again, so that looking for a key that is not there stays short.
        let slots = wanted.saturating_add(wanted / 2).saturating_add(1).min(slots_max);
        if self.table.len() >= slots
            && self.table.len() / 4 <= slots
            && self.table.len() <= slots_max
        {
            self.table.fill(FREE);
        } else {
            self.table = Vec::new();
            self.table.resize(slots, FREE);
        }
    }

    /// Gives the memory back.
    pub(crate) fn release(&mut self) {
        self.table = Vec::new();
        self.marks.release();
        self.len = 0;
    }

    /// Whether so many keys more will not make the map full.
    pub(crate) fn has_room_for(&self, keys: usize) -> bool {
        self.len.saturating_add(keys) <= self.full_at
    }

    /// [`Self::put`] for all of `keys`, which are taken out; false if the map was full before the last.
    pub(crate) fn put_all(&mut self, keys: &mut Vec<(Hash, i64)>) -> bool {
        self.touch(keys.iter().map(|(hash, _)| *hash));
        keys.drain(..).all(|(hash, offset)| self.put(hash, offset))
    }

    /// Brings the slots of keys that are about to be looked for into the processor's cache, all at once:
    /// nothing here depends on what one of them holds.
    #[inline]
    pub(crate) fn touch(&self, hashes: impl Iterator<Item = Hash>) {
        // An entry may lie in two of the cache's lines.
        let first = |hash| {
            let slot = self.table.get(self.slot(hash));
            slot.map_or(0, |slot| slot.hash[0] | slot.next_offset)
        };
        black_box(hashes.fold(0, |all, hash| all | first(hash)));
    }

    /// Notes a key at an offset larger than all before; false if the map is full, also for a key that
    /// is there, as in Kafka: a pass ends where it says so first.
    pub(crate) fn put(&mut self, hash: Hash, offset: i64) -> bool {
        if self.len >= self.full_at {
            return false;
        }
        let at = self.position(hash);
        let Some(slot) = self.table.get_mut(at) else { return false };
        let replaced = slot.next_offset;
        *slot = Slot { hash, next_offset: next(offset) };
        if replaced == 0 {
            self.len += 1;
        } else {
            self.marks.replace(replaced as i64 - 1);
        }
        self.latest_offset = self.latest_offset.max(offset);
        true
    }

    /// The newest offset of a key; -1 if it is not in the section.
    #[inline]
    pub(crate) fn get(&self, hash: Hash) -> i64 {
        let at = self.position(hash);
        self.table.get(at).map_or(-1, |slot| slot.next_offset as i64 - 1)
    }

    /// What is known of the section's own records.
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The same, to note a batch.
    pub(crate) fn marks_mut(&mut self) -> &mut Marks {
        &mut self.marks
    }

    /// The section reaches up to this offset, whether or not its last record has a key.
    pub(crate) fn set_latest_offset(&mut self, offset: i64) {
        self.latest_offset = offset;
    }

    /// The last offset that the map speaks of; -1 for none.
    pub(crate) fn latest_offset(&self) -> i64 {
        self.latest_offset
    }

    /// Share of the memory that was used.
    pub(crate) fn utilization(&self) -> f64 {
        self.len as f64 / self.slots_max as f64
    }

    /// Bytes that are taken now.
    pub(crate) fn memory(&self) -> usize {
        self.table.capacity() * size_of::<Slot>() + self.marks.memory()
    }

    /// A key's hash, in this pass.
    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> Hash {
        let hash = self.hasher.hash(key);
        [hash.h1, hash.h2]
    }

    /// Where the search for a hash begins.
    #[inline]
    fn slot(&self, hash: Hash) -> usize {
        ((u128::from(hash[0]) * self.table.len() as u128) >> 64) as usize
    }

    /// Where a hash is, or the free slot where it belongs; past the end if the table is full of others.
    #[inline]
    fn position(&self, hash: Hash) -> usize {
        let slots = self.table.len();
        let begin = self.slot(hash);
        let fits = |slot: &Slot| slot.next_offset == 0 || slot.hash == hash;
        if self.table.get(begin).is_some_and(fits) {
            return begin;
        }
        let (before, behind) = self.table.split_at(begin.min(slots));
        if let Some(at) = behind.iter().position(fits) {
            return begin + at;
        }
        before.iter().position(fits).unwrap_or(slots)
    }
}

fn next(offset: i64) -> u64 {
    u64::try_from(offset).unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use thalweg_random::Random;

    use super::*;

    fn map(entries: u64, load_factor: f64, keys: u64) -> OffsetMap {
        let mut map = OffsetMap::new(entries * ENTRY_LEN, load_factor);
        map.begin(0, keys, 0x1234_5678_9abc_def0_0fed_cba9_8765_4321);
        map
    }

    fn put(map: &mut OffsetMap, key: &[u8], offset: i64) -> bool {
        map.put(map.hash(key), offset)
    }

    fn get(map: &OffsetMap, key: &[u8]) -> i64 {
        map.get(map.hash(key))
    }

    #[test]
    fn the_newest_offset_of_each_key_is_found() {
        let mut random = Random::new(1);
        for load_factor in [0.2, 0.9, 1.0] {
            let mut map = map(4_000, load_factor, u64::MAX);
            let mut known: HashMap<Vec<u8>, i64> = HashMap::new();
            for offset in 0.. {
                let len = random.below(40) as usize;
                let text = random.below(5_000).to_string();
                let key: Vec<u8> = text.bytes().cycle().take(len).collect();
                if !put(&mut map, &key, offset) {
                    break;
                }
                known.insert(key, offset);
                assert_eq!(map.latest_offset(), offset);
            }
            assert_eq!(known.len(), ((4_000.0 * load_factor) as usize).min(4_000));
            for (key, offset) in &known {
                assert_eq!(get(&map, key), *offset);
            }
            for other in 0..1_000u32 {
                assert_eq!(get(&map, format!("another {other}").as_bytes()), -1);
            }
            assert!((map.utilization() - known.len() as f64 / 4_000.0).abs() < 1e-9);
            assert!(map.memory() <= 4_000 * ENTRY_LEN as usize);
        }
    }

    #[test]
    fn a_full_map_takes_no_key_and_says_so() {
        let mut map = map(3, 0.7, u64::MAX);
        assert!(put(&mut map, b"a", 5));
        assert!(put(&mut map, b"b", 6));
        // Two of three slots are 0.7 of them: also a key that is there is not taken any more.
        assert!(!put(&mut map, b"a", 7));
        assert_eq!((get(&map, b"a"), get(&map, b"b"), map.latest_offset()), (5, 6, 6));
    }

    #[test]
    fn memory_is_taken_for_what_there_is() {
        let mut map = OffsetMap::new(1 << 30, 0.9);
        assert_eq!(map.memory(), 0);
        map.begin(0, 100, 1);
        assert!(map.memory() < 8 << 10, "{}", map.memory());
        map.begin(0, 100_000, 2);
        let large = map.memory();
        assert!((100_000 * 24..8 << 20).contains(&large), "{large}");
        map.begin(0, 100, 3);
        assert!(map.memory() < 8 << 10, "{}", map.memory());
        // What does not fit is never taken, whatever is asked for.
        let mut small = OffsetMap::new(2_400, 0.9);
        small.begin(0, u64::MAX, 4);
        assert!(small.memory() <= 2_400, "{}", small.memory());
    }

    #[test]
    fn settings_out_of_range_leave_a_map_that_comes_on() {
        for factor in [f64::NAN, -1.0, 0.0, 2.0, f64::INFINITY] {
            for bytes in [0, 23, 24, 100] {
                let mut map = OffsetMap::new(bytes, factor);
                map.begin(0, 10, 0);
                assert!(put(&mut map, b"k", 3));
                assert_eq!(get(&map, b"k"), 3);
                assert_eq!(get(&map, b"l"), -1);
            }
        }
    }

    #[test]
    fn the_hash_depends_on_its_key() {
        let mut one = map(10, 0.9, 10);
        let before = one.hash(b"k");
        one.begin(0, 10, 7);
        assert_ne!(one.hash(b"k"), before);
        assert_ne!(one.hash(b""), one.hash(b"\0"));
    }
}
