//! Who leads what is fetched.

use std::sync::Arc;

use super::cursor::Cursor;
use super::{Fetcher, Slot};
use crate::core::metadata::{Leader, Metadata};
use crate::core::partition::TopicPartition;

impl Fetcher {
    /// Takes over who leads what.
    pub fn update_leaders(&mut self, metadata: &Metadata) {
        // Replicas may have moved.
        self.uses_changed = true;
        for slot in 0..self.cursors.len() {
            let Some(cursor) = &mut self.cursors[slot] else { continue };
            let name = Arc::clone(&cursor.partition);
            let TopicPartition { topic, partition } = &*name;
            let Some(known) = metadata.topics.get(&**topic) else {
                // It was deleted: asking for it again and again would bring it back no sooner.
                if cursor.leader.is_some() {
                    cursor.lead_by(None);
                    self.touch(slot as Slot);
                }
                continue;
            };
            let before = (cursor.topic_id, cursor.leader);
            if cursor.topic_id != known.id {
                self.by_id.remove(&(cursor.topic_id, *partition));
                self.by_id.insert((known.id, *partition), slot as Slot);
                if !cursor.topic_id.is_zero() {
                    // Made again: its epochs begin anew, and what was said of the old one is void.
                    cursor.lead_by(None);
                }
                cursor.topic_id = known.id;
            }
            let leader = known.partitions.get(partition).and_then(|partition| partition.leader);
            cursor.lead_by(leader);
            if before != (cursor.topic_id, cursor.leader) {
                self.touch(slot as Slot);
            }
        }
    }

    /// Partitions whose leader is not known.
    pub fn without_leader(&self) -> impl Iterator<Item = &Arc<TopicPartition>> {
        let without = |cursor: &&Cursor| cursor.leader.is_none() && !cursor.parked;
        self.cursors.iter().flatten().filter(without).map(|cursor| &cursor.partition)
    }

    /// Partitions that nobody can be asked for: nobody is known to lead them, or the leader's connection was lost and
    /// has not come back.
    pub fn without_reachable_leader(&self) -> impl Iterator<Item = &Arc<TopicPartition>> {
        let is_lost =
            |leader: Leader| self.sources.get(&leader.id).is_some_and(|source| source.is_lost);
        let without = move |cursor: &&Cursor| !cursor.parked && cursor.leader.is_none_or(is_lost);
        self.cursors.iter().flatten().filter(without).map(|cursor| &cursor.partition)
    }

    /// Takes whether [`Self::in_use`] may have changed.
    pub fn take_uses_changed(&mut self) -> bool {
        std::mem::take(&mut self.uses_changed)
    }

    /// The partitions of which something was answered, and who leads them.
    pub fn in_use(&self) -> impl Iterator<Item = (&TopicPartition, Option<Leader>)> {
        let used = self.cursors.iter().flatten().filter(|cursor| cursor.is_used && !cursor.parked);
        used.map(|cursor| (&*cursor.partition, cursor.leader))
    }
}
