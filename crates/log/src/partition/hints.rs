//! Where readers will go on: offsets of batches whose position is known without the index.
//!
//! A consumer asks next for the offset after what it got; the high watermark is where the log
//! ended a moment ago. A handful of such pairs saves nearly all index lookups. They are only
//! hints: a truncation, or a segment that compaction replaces, voids all of them by raising the
//! generation. Who takes one says which generation it began with: it may have the segments of before.

use parking_lot::Mutex;

const SLOTS: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Hint {
    offset: i64,
    segment: i64,
    position: u32,
}

/// The hints of a log. Their lock is a leaf.
#[derive(Default, Debug)]
pub(crate) struct Hints(Mutex<Slots>);

#[derive(Debug)]
struct Slots {
    generation: u64,
    slots: [Hint; SLOTS],
    next: usize,
}

impl Default for Slots {
    fn default() -> Slots {
        let none = Hint { offset: -1, segment: -1, position: 0 };
        Slots { generation: 0, slots: [none; SLOTS], next: 0 }
    }
}

impl Hints {
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.0.lock().generation
    }

    /// Segment and position of the batch that begins with `offset`.
    #[inline]
    pub(crate) fn get(&self, generation: u64, offset: i64) -> Option<(i64, u32)> {
        let hints = self.0.lock();
        if generation != hints.generation {
            return None;
        }
        let found = hints.slots.iter().find(|hint| hint.offset == offset)?;
        Some((found.segment, found.position))
    }

    /// Notes a position found while `generation` was the current one.
    #[inline]
    pub(crate) fn put(&self, generation: u64, offset: i64, segment: i64, position: u32) {
        let mut hints = self.0.lock();
        if generation != hints.generation {
            return;
        }
        let hint = Hint { offset, segment, position };
        if let Some(slot) = hints.slots.iter_mut().find(|slot| slot.offset == offset) {
            *slot = hint;
        } else {
            let next = hints.next;
            hints.slots[next] = hint;
            hints.next = (next + 1) % SLOTS;
        }
    }

    /// Voids everything, also what is being found now.
    pub(crate) fn void(&self) {
        let mut hints = self.0.lock();
        *hints = Slots { generation: hints.generation.wrapping_add(1), ..Slots::default() };
    }
}
