//! For how long requests of members may be held, as far as closed connections have shown it.
//!
//! A client whose `request.timeout.ms` is shorter than a hold closes its connection to the coordinator, looks for it
//! anew, and is held as long as before. So a connection that closes while a request of a member is held teaches the
//! shard to hold that member's requests for half of that time.

use std::collections::BTreeMap;
use std::sync::Arc;

/// So many bytes of names, and what a lesson takes beside them, are kept. Then all lessons are forgotten: what
/// follows is one more closed connection of each member.
const BYTES_MAX: usize = 1 << 20;
const LESSON_BYTES: usize = 64;

/// A connection that closes sooner is more likely to be lost than given up. It is believed the second time.
const DOUBTED_MS: u32 = 1_000;

#[derive(Debug, Default)]
struct Lesson {
    /// A connection has closed early.
    is_doubted: bool,
    /// For how long requests may be held. 0: not at all.
    longest_ms: Option<u32>,
}

/// The lessons of a shard by group and member.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    members: BTreeMap<(Arc<str>, Arc<str>), Lesson>,
    bytes: usize,
}

impl Lessons {
    /// A connection has closed when a request of the member had been held for so long.
    pub(super) fn learn(&mut self, group: &Arc<str>, member: &Arc<str>, held_ms: u32) {
        let key = (group.clone(), member.clone());
        if !self.members.contains_key(&key) {
            let bytes = group.len() + member.len() + LESSON_BYTES;
            if self.bytes + bytes > BYTES_MAX {
                self.members.clear();
                self.bytes = 0;
            }
            self.bytes += bytes;
        }
        let lesson = self.members.entry(key).or_default();
        let longest_ms = if held_ms >= DOUBTED_MS {
            held_ms / 2
        } else if std::mem::replace(&mut lesson.is_doubted, true) {
            0
        } else {
            return;
        };
        lesson.longest_ms = Some(lesson.longest_ms.map_or(longest_ms, |ms| ms.min(longest_ms)));
    }

    /// For how long requests of the member may be held, if anything is known.
    pub(super) fn longest_ms(&self, group: &Arc<str>, member: &Arc<str>) -> Option<u32> {
        if self.members.is_empty() {
            return None;
        }
        self.members.get(&(group.clone(), member.clone()))?.longest_ms
    }

    /// The group is gone, or another coordinator has it.
    pub(super) fn forget_all(&mut self) {
        *self = Lessons::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn closed_connection_halves_the_hold() {
        let mut lessons = Lessons::default();
        assert_eq!(lessons.longest_ms(&id("g"), &id("m")), None);
        lessons.learn(&id("g"), &id("m"), 3_000);
        assert_eq!(lessons.longest_ms(&id("g"), &id("m")), Some(1_500));
        lessons.learn(&id("g"), &id("m"), 1_400);
        assert_eq!(lessons.longest_ms(&id("g"), &id("m")), Some(700));
        // Longer than it knows to be too long: nothing new.
        lessons.learn(&id("g"), &id("m"), 5_000);
        assert_eq!(lessons.longest_ms(&id("g"), &id("m")), Some(700));
        assert_eq!(lessons.longest_ms(&id("g"), &id("other")), None);
    }

    #[test]
    fn connection_that_closes_early_is_believed_the_second_time() {
        let mut lessons = Lessons::default();
        lessons.learn(&id("g"), &id("m"), 20);
        assert_eq!(lessons.longest_ms(&id("g"), &id("m")), None);
        lessons.learn(&id("g"), &id("m"), 30);
        assert_eq!(lessons.longest_ms(&id("g"), &id("m")), Some(0));
    }

    #[test]
    fn lessons_have_a_bound_in_bytes() {
        let mut lessons = Lessons::default();
        let group = id(&"g".repeat(1_000));
        for number in 0..10_000 {
            lessons.learn(&group, &id(&number.to_string()), 2_000);
            assert!(lessons.bytes <= BYTES_MAX);
            assert!(lessons.members.len() * 1_000 <= BYTES_MAX);
        }
        assert_eq!(lessons.longest_ms(&group, &id("9999")), Some(1_000));
    }
}
