//! The topics that are produced to: their partitions, and who leads them.

use std::collections::VecDeque;
use std::sync::Arc;

use thalweg_records::Compression;
use thalweg_wire::Uuid;

use super::Sender;
use crate::core::leadership::Leadership;
use crate::core::metadata::{self, Leader, Metadata};
use crate::core::partition::TopicPartition;
use crate::core::produce::batch::headroom;
use crate::core::produce::broker_queue::{Place, Slot};
use crate::core::produce::error::ProduceErrorKind;
use crate::core::produce::membership::Membership;
use crate::core::produce::partition::{Partition, Sequencing};
use crate::core::produce::partitioner::{Load, Sticky};
use crate::core::produce::topic::Topic;

impl Sender {
    /// The topics that were produced to since `since_ms`, and those with records to be sent.
    pub fn topic_names(&self, since_ms: u64) -> impl Iterator<Item = &Arc<str>> {
        let in_use = move |topic: &&Topic| {
            topic.used_ms >= since_ms
                || topic.partitions.iter().any(|&slot| {
                    let partition = &self.partitions[slot as usize];
                    !partition.queue.is_empty() || !partition.in_flight.is_empty()
                })
        };
        self.topics.iter().filter(in_use).map(|topic| &topic.name)
    }

    /// Whether a topic's partitions are known.
    pub fn knows(&self, topic: &str) -> bool {
        self.by_name.contains_key(topic)
    }

    /// Takes over what is known of the topics that are produced to, and of `also`.
    pub fn update_metadata<'a>(
        &mut self,
        metadata: &Metadata,
        also: impl IntoIterator<Item = &'a str>,
        now_ms: u64,
    ) {
        for name in also {
            if !self.by_name.contains_key(name) && metadata.topics.contains_key(name) {
                let name: Arc<str> = name.into();
                self.by_name.insert(Arc::clone(&name), self.topics.len());
                self.topics.push(Topic {
                    name,
                    id: Uuid::ZERO,
                    partitions: Vec::new(),
                    sticky: Sticky::default(),
                    ratio: 1.0,
                    used_ms: now_ms,
                    gone: Vec::new(),
                });
            }
        }
        self.cause = None;
        // Replicas may have moved.
        self.uses_changed = true;
        // What is gone and has nothing to be sent is looked up again by the next record for it.
        self.forget_topics(|topic| !metadata.topics.contains_key(&*topic.name));
        for at in 0..self.topics.len() {
            let known = metadata.topics.get(&*self.topics[at].name);
            match known {
                Some(known) => self.update_topic(at, (metadata, known), now_ms),
                // It may be gone, or come back: what is queued waits for its time to be over.
                None => {
                    for slot in self.topics[at].partitions.clone() {
                        self.set_leader(slot, None, now_ms);
                    }
                }
            }
        }
    }

    /// Forgets topics that nothing was produced to since `since_ms` (`metadata.max.idle.ms`), and
    /// partitions that are gone. What is to be sent or in flight keeps its place.
    pub fn forget(&mut self, since_ms: u64) {
        self.forget_topics(|topic| topic.used_ms < since_ms);
    }

    fn forget_topics(&mut self, is_needless: impl Fn(&Topic) -> bool) {
        let mut at = 0;
        while at < self.topics.len() {
            let gone = std::mem::take(&mut self.topics[at].gone);
            let (idle, busy) = gone.into_iter().partition(|&slot| self.is_idle(slot));
            self.topics[at].gone = busy;
            self.free(idle);
            let topic = &self.topics[at];
            let is_idle =
                topic.gone.is_empty() && topic.partitions.iter().all(|&slot| self.is_idle(slot));
            if is_idle && is_needless(topic) {
                self.remove_topic(at);
            } else {
                at += 1;
            }
        }
    }

    fn is_idle(&self, slot: Slot) -> bool {
        let partition = &self.partitions[slot as usize];
        // Transactions that share an epoch count on where the ones before left the sequences.
        let is_counted = self.transactions.is_some()
            && partition
                .sequencing
                .next
                .is_some_and(|next| self.producer_id == Some((next.producer_id, next.epoch)));
        // A transaction that is open knows its partitions by their places.
        let is_member =
            self.transactions.as_ref().is_some_and(|known| known.has_member(partition.membership));
        partition.queue.is_empty() && partition.in_flight.is_empty() && !is_counted && !is_member
    }

    fn remove_topic(&mut self, at: usize) {
        let topic = self.topics.swap_remove(at);
        self.by_name.remove(&topic.name);
        self.free(topic.partitions);
        // Another has taken its place in the table.
        if let Some(moved) = self.topics.get(at) {
            self.by_name.insert(Arc::clone(&moved.name), at);
            for &slot in moved.partitions.iter().chain(&moved.gone) {
                self.partitions[slot as usize].topic = at;
            }
        }
        self.last_topic = 0;
    }

    fn free(&mut self, slots: Vec<Slot>) {
        for &slot in &slots {
            let partition = &mut self.partitions[slot as usize];
            partition.leader = None;
            partition.is_used = false;
            // Should it come back, its sequences begin anew, and its log may remember the old ones:
            // whatever partition begins from now on does so under an epoch that no log has seen.
            if let Some(used) = std::mem::take(&mut partition.sequencing).next
                && self.transactions.is_none()
                && let Some((id, epoch)) = self.producer_id
                && used.producer_id == id
            {
                self.producer_id =
                    (used.epoch < i16::MAX - 1).then(|| (id, epoch.max(used.epoch + 1)));
            }
            // Nothing is to be sent, so it stands nowhere from now on.
            self.reschedule(slot, 0);
        }
        self.free.extend(slots);
    }

    fn update_topic(
        &mut self,
        at: usize,
        (metadata, known): (&Metadata, &metadata::Topic),
        now_ms: u64,
    ) {
        let topic = &mut self.topics[at];
        let is_another = topic.id != known.id && topic.id != Uuid::ZERO;
        topic.id = known.id;
        for (&index, of) in &known.partitions {
            // One that does not follow the one before it cannot be counted with.
            if index as usize > self.topics[at].partitions.len() {
                break;
            }
            let slot = match self.topics[at].partitions.get(index as usize) {
                Some(&slot) => slot,
                None => self.add_partition(at, index),
            };
            if is_another && self.transactions.is_none() {
                // The new topic's logs know nothing of the old one's sequences.
                self.partitions[slot as usize].sequencing.bump = true;
            }
            let before = self.partitions[slot as usize].leader.filter(|_| !is_another);
            // A hint may be newer than what was asked for meanwhile (KIP-951).
            let is_older = match (before, of.leader) {
                (Some(before), Some(now)) => now.epoch >= 0 && now.epoch < before.epoch,
                _ => false,
            };
            let partition = &mut self.partitions[slot as usize];
            let lowered_by = metadata.lowered_by(&partition.name);
            let is_lowered = partition.lowered_by < lowered_by;
            partition.lowered_by = lowered_by;
            if !is_older || is_lowered {
                self.set_leader(slot, of.leader, now_ms);
            }
        }
        if is_another {
            self.shrink(at, known.partitions.len(), now_ms);
        }
    }

    /// A topic that was created again may have fewer partitions: what was meant for the others has
    /// nowhere to go.
    fn shrink(&mut self, at: usize, count: usize, now_ms: u64) {
        let topic = &mut self.topics[at];
        topic.sticky = Sticky::default();
        if topic.partitions.len() <= count {
            return;
        }
        for slot in topic.partitions.split_off(count) {
            self.topics[at].gone.push(slot);
            for batch in std::mem::take(&mut self.partitions[slot as usize].queue) {
                self.fail(slot, batch, ProduceErrorKind::NoSuchPartition { count }, Vec::new());
            }
            self.set_leader(slot, None, now_ms);
        }
    }

    fn add_partition(&mut self, at: usize, index: i32) -> Slot {
        let free = self.free.pop();
        let slot = free.unwrap_or(self.partitions.len() as Slot);
        let topic = &mut self.topics[at];
        topic.partitions.push(slot);
        let partition = Partition {
            name: Arc::new(TopicPartition::new(Arc::clone(&topic.name), index)),
            topic: at,
            leader: None,
            leadership: Leadership::default(),
            lowered_by: 0,
            is_used: false,
            queue: VecDeque::new(),
            in_flight: VecDeque::new(),
            sent_to: -1,
            sequencing: Sequencing::default(),
            membership: Membership::default(),
            retry_at_ms: 0,
            place: Place::Nowhere,
        };
        match free {
            Some(_) => self.partitions[slot as usize] = partition,
            None => self.partitions.push(partition),
        }
        slot
    }

    /// Takes over who leads a partition.
    pub(super) fn set_leader(&mut self, slot: Slot, leader: Option<Leader>, now_ms: u64) {
        let partition = &mut self.partitions[slot as usize];
        if partition.leader == leader {
            return;
        }
        // A new leader has not refused yet (KIP-951).
        if leader.is_some() {
            partition.retry_at_ms = 0;
        }
        partition.leader = leader;
        partition.leadership = Leadership::default();
        if partition.is_used {
            self.note_used();
        }
        self.reschedule(slot, now_ms);
    }

    /// Which partitions are in use, or who leads them, has changed.
    pub(super) fn note_used(&mut self) {
        self.uses_changed = true;
        self.lookup = true;
    }

    /// Takes whether [`Self::in_use`] may have changed.
    pub fn take_uses_changed(&mut self) -> bool {
        std::mem::take(&mut self.uses_changed)
    }

    /// The partitions of which something was acknowledged, and who leads them.
    pub fn in_use(&self) -> impl Iterator<Item = (&TopicPartition, Option<Leader>)> {
        let used = self.partitions.iter().filter(|partition| partition.is_used);
        used.map(|partition| (&*partition.name, partition.leader))
    }

    /// Chooses the next partition for records without keys.
    pub(super) fn choose_sticky(&mut self, at: usize) -> Option<u32> {
        let partitions = &self.partitions;
        let topic = &mut self.topics[at];
        let loads = topic.partitions.iter().map(|&slot| {
            let partition = &partitions[slot as usize];
            let has_leader = partition.leader.is_some();
            Load { queued: partition.queue.len() as u32, has_leader }
        });
        topic.sticky.choose(loads, self.settings.is_adaptive, self.random.next_u64())
    }

    /// Bytes at which a batch of a topic is full, and those of its buffer.
    pub(super) fn batch_sizes(&self, at: usize) -> (usize, usize) {
        let settings = &self.settings;
        let codec = settings.compression.codec();
        let memory = self.memory.limit();
        let limit = match codec {
            Compression::None => settings.batch_size,
            _ => {
                let most = settings.max_request_size.min(memory / 4);
                self.topics[at].batch_limit(settings.batch_size, most)
            }
        };
        // A batch that never fits would be waited for in vain.
        let limit = limit.min(memory - headroom(memory, codec).min(memory));
        (limit, limit + headroom(limit, codec))
    }

    /// Where a topic stands in the table.
    #[inline]
    pub(super) fn topic_of(&mut self, name: &str) -> Option<usize> {
        // Most records go where the one before them went.
        if self.topics.get(self.last_topic).is_some_and(|topic| *topic.name == *name) {
            return Some(self.last_topic);
        }
        self.last_topic = *self.by_name.get(name)?;
        Some(self.last_topic)
    }
}
