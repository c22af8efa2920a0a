//! Whose turn it is at which broker, and when.
//!
//! A partition stands in one place: nowhere, ready, which is in a queue by turns, or among those
//! that wait for a time (`linger.ms`, `retry.backoff.ms`). Whatever changes a partition ends with
//! [`Sender::reschedule`].

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::batch::BatchKey;
use super::partition::{Rules, Turn};
use super::{Sender, Slot};
use crate::core::metadata::{Leader, Metadata};

/// Where a partition stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Nowhere,
    /// Ready to be sent to a broker. An entry there that this does not point to is void.
    Ready(i32),
    /// Among those that wait, until then.
    Waiting(i32, u64),
}

/// What goes to one broker.
#[derive(Debug)]
pub(super) struct BrokerQueue {
    /// Partitions whose turn it is, the one that waited longest first.
    pub ready: VecDeque<Slot>,
    pub waiting: BTreeSet<(u64, Slot)>,
    /// Requests sent and not answered, in order, with what each contains.
    pub requests: VecDeque<Vec<(Slot, BatchKey)>>,
    /// The broker asked to be left alone until then (KIP-219).
    pub throttled_until_ms: u64,
    /// Until when the broker's task sleeps, should nobody wake it; 0 while it does not.
    pub sleeps_until_ms: u64,
    /// Why the last connection ended, while no other has brought an answer.
    pub cause: Option<Arc<str>>,
    /// The last connection was lost, and there is no other yet.
    pub is_lost: bool,
}

impl Sender {
    pub(super) fn rules(&self) -> Rules {
        Rules {
            linger_ms: self.settings.linger_ms,
            max_in_flight: self.settings.max_in_flight,
            is_idempotent: self.settings.is_idempotent,
            has_producer_id: self.producer_id.is_some(),
            transactions: self.transactions.as_ref().map(|transactions| transactions.rules()),
        }
    }

    /// Puts a partition in its place.
    pub(super) fn reschedule(&mut self, slot: Slot, now_ms: u64) {
        let rules = self.rules();
        let partition = &mut self.partitions[slot as usize];
        let turn = partition.turn(&rules, now_ms);
        let place = match (partition.leader, turn) {
            (Some(leader), Turn::Now) => Place::Ready(leader.id),
            (Some(leader), Turn::At(due)) => Place::Waiting(leader.id, due),
            _ => Place::Nowhere,
        };
        if rules.is_idempotent
            && !rules.has_producer_id
            && rules.transactions.is_none()
            && !self.wants_producer_id
            && !partition.queue.is_empty()
        {
            self.wants_producer_id = true;
            self.lookup = true;
        }
        if partition.leader.is_none() && !partition.queue.is_empty() {
            self.wants_metadata = true;
            self.lookup = true;
        }
        let before = std::mem::replace(&mut partition.place, place);
        if before == place {
            return;
        }
        if let Place::Waiting(broker, due) = before
            && let Some(broker_queue) = self.broker_queues.get_mut(&broker)
        {
            broker_queue.waiting.remove(&(due, slot));
        }
        match place {
            Place::Nowhere => {}
            Place::Ready(broker) => {
                self.broker_queues.entry(broker).or_default().ready.push_back(slot);
                self.wake(broker, now_ms);
            }
            Place::Waiting(broker, due) => {
                self.broker_queues.entry(broker).or_default().waiting.insert((due, slot));
                self.wake(broker, due);
            }
        }
    }

    pub(super) fn reschedule_all(&mut self, now_ms: u64) {
        for slot in 0..self.partitions.len() {
            self.reschedule(slot as Slot, now_ms);
        }
    }

    /// Wakes a broker's task, should it sleep beyond `due`.
    fn wake(&mut self, broker: i32, due_ms: u64) {
        let max_in_flight = self.settings.max_in_flight;
        let broker_queue = self.broker_queues.entry(broker).or_default();
        // With as many requests under way as may be, the next answer comes first.
        if broker_queue.sleeps_until_ms > due_ms && broker_queue.requests.len() < max_in_flight {
            broker_queue.sleeps_until_ms = 0;
            self.brokers_to_wake.push(broker);
        }
    }

    /// Whether something waits of which nobody is known to lead the partition.
    pub fn lacks_leader(&self) -> bool {
        self.partitions.iter().any(|known| known.leader.is_none() && !known.queue.is_empty())
    }

    /// Whether something waits of which nobody is known to lead the partition, although it is there, or whose leader's connection was lost and has not come back.
    pub fn seeks_leader(&self, metadata: &Metadata) -> bool {
        let is_lost = |leader: Leader| {
            self.broker_queues.get(&leader.id).is_some_and(|broker| broker.is_lost)
        };
        self.partitions
            .iter()
            .filter(|known| !known.queue.is_empty())
            .any(|known| known.leader.map_or_else(|| metadata.has(&known.name), is_lost))
    }

    /// Makes those ready whose time has come.
    pub(super) fn wake_due(&mut self, broker: i32, now_ms: u64) {
        loop {
            let Some(broker_queue) = self.broker_queues.get_mut(&broker) else { return };
            let Some(&(due, slot)) = broker_queue.waiting.first() else { return };
            if due > now_ms {
                return;
            }
            broker_queue.waiting.pop_first();
            self.partitions[slot as usize].place = Place::Nowhere;
            self.reschedule(slot, now_ms);
        }
    }

    /// The next partition that is ready for a broker.
    pub(super) fn next_ready(&mut self, broker: i32) -> Option<Slot> {
        let ready = &mut self.broker_queues.get_mut(&broker)?.ready;
        while let Some(slot) = ready.pop_front() {
            let place = &mut self.partitions[slot as usize].place;
            if *place == Place::Ready(broker) {
                *place = Place::Nowhere;
                return Some(slot);
            }
        }
        None
    }

    /// Gives back what [`Self::next_ready`] gave: it goes first next time.
    pub(super) fn put_back_ready(&mut self, broker: i32, slot: Slot) {
        self.partitions[slot as usize].place = Place::Ready(broker);
        if let Some(broker_queue) = self.broker_queues.get_mut(&broker) {
            broker_queue.ready.push_front(slot);
        }
    }

    /// When a broker's task should come back if nobody wakes it; it may sleep until then. `None`
    /// when there is nothing to wait for.
    pub fn sleep(&mut self, broker: i32, now_ms: u64) -> Option<u64> {
        let max_in_flight = self.settings.max_in_flight;
        let broker_queue = self.broker_queues.entry(broker).or_default();
        broker_queue.sleeps_until_ms = u64::MAX;
        if broker_queue.requests.len() >= max_in_flight {
            return None;
        }
        let due = match (broker_queue.ready.is_empty(), broker_queue.waiting.first()) {
            // Entries may be void; then the next look removes them.
            (false, _) => now_ms,
            (true, Some(&(due, _))) => due,
            (true, None) => return None,
        };
        let due = due.max(broker_queue.throttled_until_ms);
        broker_queue.sleeps_until_ms = due.max(1);
        Some(due)
    }

    /// Whether there is anything that goes to a broker, now or later.
    pub fn has_work(&self, broker: i32) -> bool {
        self.broker_queues.get(&broker).is_some_and(|broker_queue| {
            !broker_queue.ready.is_empty()
                || !broker_queue.waiting.is_empty()
                || !broker_queue.requests.is_empty()
        })
    }
}

impl Default for BrokerQueue {
    fn default() -> BrokerQueue {
        BrokerQueue {
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            requests: VecDeque::new(),
            throttled_until_ms: 0,
            // Nobody is there yet: the first wake-up makes somebody.
            sleeps_until_ms: u64::MAX,
            cause: None,
            is_lost: false,
        }
    }
}
