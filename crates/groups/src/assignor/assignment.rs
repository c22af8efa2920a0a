//! The partitions that one member is to own.

use std::fmt::Debug;

use thalweg_wire::Uuid;

/// The partitions of one member.
///
/// Sorted by topic id and then by partition, each once; two allocations, however many topics.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct MemberAssignment {
    /// Each topic, and where its part of `partitions` ends.
    pub(super) topics: Vec<(Uuid, u32)>,
    pub(super) partitions: Vec<i32>,
}

impl MemberAssignment {
    /// An assignment of these partitions, which come in any order.
    pub fn new<P>(topics: impl IntoIterator<Item = (Uuid, P)>) -> MemberAssignment
    where
        P: IntoIterator<Item = i32>,
    {
        let mut all: Vec<(Uuid, i32)> = topics
            .into_iter()
            .flat_map(|(topic, partitions)| partitions.into_iter().map(move |p| (topic, p)))
            .collect();
        all.sort_unstable();
        all.dedup();
        let mut assignment = MemberAssignment::default();
        for (topic, partition) in all {
            assignment.push(topic, partition);
        }
        assignment
    }

    /// Each topic with its partitions, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = (Uuid, &[i32])> {
        let mut begin = 0;
        self.topics.iter().map(move |&(topic, end)| {
            let partitions = &self.partitions[begin..end as usize];
            begin = end as usize;
            (topic, partitions)
        })
    }

    /// Whether a partition is among them.
    pub fn contains(&self, topic_id: Uuid, partition: i32) -> bool {
        let Ok(at) = self.topics.binary_search_by_key(&topic_id, |(topic, _)| *topic) else {
            return false;
        };
        let end_of = |at: usize| self.topics.get(at).map_or(0, |(_, end)| *end as usize);
        let begin = at.checked_sub(1).map_or(0, end_of);
        let partitions = self.partitions.get(begin..end_of(at));
        partitions.is_some_and(|partitions| partitions.binary_search(&partition).is_ok())
    }

    /// Number of partitions.
    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    /// Whether it has no partition.
    pub fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Appends a partition that comes after all there are.
    pub(super) fn push(&mut self, topic: Uuid, partition: i32) {
        self.partitions.push(partition);
        let end = self.partitions.len() as u32;
        match self.topics.last_mut() {
            Some((last, last_end)) if *last == topic => *last_end = end,
            last => {
                debug_assert!(last.is_none_or(|(last, _)| *last < topic), "sorted by topic id");
                self.topics.push((topic, end));
            }
        }
    }
}

impl Debug for MemberAssignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
