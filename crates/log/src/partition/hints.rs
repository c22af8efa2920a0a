//! Where readers will go on: offsets of batches whose position is known without the index.
//!
//! A consumer asks next for the offset after what it got; the high watermark is where the log
//! ended a moment ago. A handful of such pairs saves nearly all index lookups. They are only
//! hints: a truncation, or a segment that compaction replaces, voids all of them by raising the
//! generation. Who takes one says which generation it began with: it may have the segments of before.

const SLOTS: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Hint {
    offset: i64,
    segment: i64,
    position: u32,
}

#[derive(Debug)]
pub(crate) struct Hints {
    generation: u64,
    slots: [Hint; SLOTS],
    next: usize,
}

impl Default for Hints {
    fn default() -> Hints {
        let none = Hint { offset: -1, segment: -1, position: 0 };
        Hints { generation: 0, slots: [none; SLOTS], next: 0 }
    }
}

impl Hints {
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Segment and position of the batch that begins with `offset`.
    pub(crate) fn get(&self, generation: u64, offset: i64) -> Option<(i64, u32)> {
        if generation != self.generation {
            return None;
        }
        self.slots
            .iter()
            .find(|hint| hint.offset == offset)
            .map(|hint| (hint.segment, hint.position))
    }

    /// Notes a position found while `generation` was the current one.
    pub(crate) fn put(&mut self, generation: u64, offset: i64, segment: i64, position: u32) {
        if generation != self.generation {
            return;
        }
        let hint = Hint { offset, segment, position };
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.offset == offset) {
            *slot = hint;
        } else {
            self.slots[self.next] = hint;
            self.next = (self.next + 1) % SLOTS;
        }
    }

    /// Voids everything, also what is being found now.
    pub(crate) fn void(&mut self) {
        *self = Hints { generation: self.generation.wrapping_add(1), ..Hints::default() };
    }
}
