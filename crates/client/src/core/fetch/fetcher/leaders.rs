//! Who leads what is fetched.

use std::sync::Arc;

use thalweg_wire::Uuid;

use super::Fetcher;
use crate::core::fetch::cursor::{Cursor, Slot};
use crate::core::metadata::{Leader, Metadata};
use crate::core::partition::TopicPartition;

impl Fetcher {
    /// Takes over who leads what. A partition whose topic has another id than before begins where
    /// [`FetchSettings::reset`](crate::core::fetch::FetchSettings::reset) says.
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
            let mut is_failed = false;
            if cursor.topic_id != known.id {
                self.by_id.remove(&(cursor.topic_id, *partition));
                self.by_id.insert((known.id, *partition), slot as Slot);
                // A broker without topic ids says nothing of whether the topic is the same.
                if cursor.topic_id.is_zero() || known.id.is_zero() {
                    cursor.topic_id = known.id;
                } else {
                    if let Some(at) = cursor.retry_at {
                        self.delayed.remove(&(at, slot as Slot));
                    }
                    cursor.recreate(known.id, self.settings.reset);
                    is_failed = cursor.error().is_some() && !cursor.parked;
                    self.recreated.push(Arc::clone(&name));
                }
            }
            let leader = known.partitions.get(partition).and_then(|partition| partition.leader);
            let lowered_by = metadata.lowered_by(&name);
            if cursor.lowered_by < lowered_by {
                cursor.lowered_by = lowered_by;
                cursor.lead_by(None);
            }
            cursor.lead_by(leader);
            if before != (cursor.topic_id, cursor.leader) {
                self.touch(slot as Slot);
            }
            if is_failed {
                self.note_failure(&name);
            }
        }
    }

    /// Takes the partitions whose topics were created again under another id: what is known of
    /// their positions elsewhere is void, too.
    pub fn take_recreated(&mut self) -> Vec<Arc<TopicPartition>> {
        std::mem::take(&mut self.recreated)
    }

    /// The id of a partition's topic, as it is read here; `None` where it is not known.
    pub fn topic_id(&self, partition: &TopicPartition) -> Option<Uuid> {
        Some(self.cursor(partition)?.topic_id).filter(|id| !id.is_zero())
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
