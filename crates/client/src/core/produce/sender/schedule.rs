//! Whose turn it is at which broker, and when.
//!
//! A partition stands in one place: nowhere, ready, which is in a queue by turns, or among those
//! that wait for a time (`linger.ms`, `retry.backoff.ms`). Whatever changes a partition ends with
//! [`Sender::reschedule`].

use super::Sender;
use crate::core::metadata::{Leader, Metadata};
use crate::core::produce::broker_queue::{Place, Slot};
use crate::core::produce::partition::{Rules, Turn};

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
