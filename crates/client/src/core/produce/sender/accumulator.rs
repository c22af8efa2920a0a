//! Taking records in.

use std::sync::Arc;

use thalweg_records::batch::HEADER_LEN;

use super::Sender;
use crate::core::produce::batch::{Batch, BatchKey, Begin, headroom};
use crate::core::produce::broker_queue::Slot;
use crate::core::produce::error::{ProduceError, ProduceErrorKind};
use crate::core::produce::murmur2;
use crate::core::produce::outcome::{Failure, Flushing, Settled, Ticket};
use crate::core::record::ProducerRecord;

/// Why a record was not taken in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is no room. [`Memory`](crate::core::produce::Memory) tells when there is again.
    Full,
    /// Nothing is known of the topic.
    UnknownTopic,
    /// The topic has no such partition, as far as is known; so many it has.
    NoSuchPartition(usize),
    /// It never will be.
    For(ProduceErrorKind),
}

impl Sender {
    /// Takes a record in. `timestamp` is the record's own or the time of day, `now_ms` is asked
    /// only when a batch is begun.
    pub fn append(
        &mut self,
        record: &ProducerRecord<'_>,
        timestamp: i64,
        now_ms: impl Fn() -> u64,
    ) -> Result<Ticket, Refused> {
        let bytes = record.bytes_max();
        self.check(bytes, timestamp)?;
        let topic = self.topic_of(record.topic).ok_or(Refused::UnknownTopic)?;
        let before = self.topics[topic].sticky.current();
        let (slot, is_sticky) = self.place_of(topic, record, bytes)?;
        if is_sticky && before != self.topics[topic].sticky.current() {
            // What was left is as full as it gets.
            let left = before.and_then(|at| self.topics[topic].partitions.get(at as usize));
            if let Some(&left) = left {
                self.close_last(left, now_ms());
            }
        }
        let mut began_ms = None;
        let last = self.partitions[slot as usize].queue.back_mut();
        let batch = match last {
            Some(batch) if batch.has_room(bytes) => batch,
            _ => {
                let now_ms = now_ms();
                self.begin(topic, slot, bytes, now_ms)?;
                began_ms = Some(now_ms);
                // It was put there a moment ago.
                self.partitions[slot as usize].queue.back_mut().ok_or(Refused::Full)?
            }
        };
        let index = batch.push(record, timestamp);
        let outcome = Arc::clone(&batch.outcome);
        if let Some(now_ms) = began_ms
            && batch.is_full()
        {
            // A record as large as a batch does not wait for company.
            self.close_last(slot, now_ms);
        }
        if is_sticky {
            self.topics[topic].sticky.count(bytes);
        }
        self.counts.records += 1;
        Ok(Ticket::new(outcome, index, timestamp))
    }

    /// Refuses what no broker would ever get.
    #[inline]
    fn check(&self, bytes: usize, timestamp: i64) -> Result<(), Refused> {
        if let Some(kind) = &self.over {
            return Err(Refused::For(kind.clone()));
        }
        if let Some(kind) = self.transactions.as_ref().and_then(|known| known.refuses()) {
            return Err(Refused::For(kind));
        }
        let bytes = HEADER_LEN + bytes;
        let too_large =
            |limit, config| Err(Refused::For(ProduceErrorKind::TooLarge { bytes, limit, config }));
        if bytes > self.settings.max_request_size {
            return too_large(self.settings.max_request_size, "max.request.size");
        }
        let codec = self.settings.compression.codec();
        if bytes + headroom(bytes, codec) > self.memory.limit() {
            return too_large(self.memory.limit(), "buffer.memory");
        }
        if timestamp < 0 {
            return Err(Refused::For(ProduceErrorKind::Timestamp(timestamp)));
        }
        Ok(())
    }

    /// The partition of a record, and whether it was chosen for want of a key.
    #[inline]
    fn place_of(
        &mut self,
        at: usize,
        record: &ProducerRecord<'_>,
        bytes: usize,
    ) -> Result<(Slot, bool), Refused> {
        let topic = &self.topics[at];
        let count = topic.partitions.len();
        let slot_of =
            |index: Option<usize>| index.and_then(|index| topic.partitions.get(index)).copied();
        if let Some(partition) = record.partition {
            let slot = slot_of(usize::try_from(partition).ok());
            return Ok((slot.ok_or(Refused::NoSuchPartition(count))?, false));
        }
        if let Some(key) = record.key
            && !self.settings.ignores_keys
        {
            let slot = slot_of(Some(murmur2::partition_of(key, count as u32) as usize));
            return Ok((slot.ok_or(Refused::UnknownTopic)?, false));
        }
        let current = topic.sticky.current().map(|index| index as usize);
        if let Some(slot) = slot_of(current) {
            let last = self.partitions[slot as usize].queue.back();
            // While a batch has room it is the place to be.
            if last.is_some_and(|batch| batch.has_room(bytes))
                || !topic.sticky.is_done(bytes, self.batch_sizes(at).0)
            {
                return Ok((slot, true));
            }
        }
        let chosen = self.choose_sticky(at).ok_or(Refused::UnknownTopic)?;
        let slot = self.topics[at].partitions.get(chosen as usize).copied();
        Ok((slot.ok_or(Refused::UnknownTopic)?, true))
    }

    /// Begins a batch at the end of a partition's queue; what was the last is full.
    fn begin(
        &mut self,
        topic: usize,
        slot: Slot,
        bytes: usize,
        now_ms: u64,
    ) -> Result<(), Refused> {
        let (limit, capacity) = self.batch_sizes(topic);
        let alone = HEADER_LEN + bytes;
        let (limit, capacity) = if alone > limit {
            let codec = self.settings.compression.codec();
            (alone, alone + headroom(alone, codec))
        } else {
            (limit, capacity)
        };
        let Some((charge, buffer)) = self.memory.lease(capacity) else {
            self.hurry(now_ms);
            return Err(Refused::Full);
        };
        self.topics[topic].used_ms = now_ms;
        let key = BatchKey { id: self.next_batch, part: 0 };
        self.next_batch += 1;
        self.outstanding += 1;
        if self.is_unwatched {
            self.is_unwatched = false;
            self.lookup = true;
        }
        let is_transactional = self.transactions.is_some();
        let begin = Begin { key, limit, now_ms, is_transactional };
        let batch = Batch::new(begin, charge, buffer);
        let queue = &mut self.partitions[slot as usize].queue;
        if let Some(last) = queue.back_mut() {
            last.is_closed = true;
        }
        queue.push_back(batch);
        self.join_transaction(slot);
        self.reschedule(slot, now_ms);
        Ok(())
    }

    /// Sends what lingers: somebody waits for room, and nothing else makes any.
    fn hurry(&mut self, now_ms: u64) {
        // What a coordinator is to be told of first does not wait yet, and would then.
        let members = self.transactions.as_ref().map(|known| known.members().to_vec());
        for slot in members.into_iter().flatten() {
            self.close_last(slot, now_ms);
        }
        let brokers: Vec<i32> = self.broker_queues.keys().copied().collect();
        for broker in brokers {
            let waiting = self.broker_queues.get(&broker).map(|broker_queue| &broker_queue.waiting);
            let slots: Vec<Slot> = waiting.into_iter().flatten().map(|&(_, slot)| slot).collect();
            for slot in slots {
                self.close_last(slot, now_ms);
            }
        }
    }

    pub(super) fn close_last(&mut self, slot: Slot, now_ms: u64) {
        if let Some(last) = self.partitions[slot as usize].queue.back_mut()
            && !last.is_closed
        {
            last.is_closed = true;
            self.reschedule(slot, now_ms);
        }
    }

    /// Sends all that was taken in so far without waiting for more; gives what to wait for.
    pub fn flush(&mut self, now_ms: u64) -> Flushing {
        let mut open = Vec::with_capacity(self.outstanding);
        for slot in 0..self.partitions.len() {
            self.close_last(slot as Slot, now_ms);
            let partition = &self.partitions[slot];
            let batches = partition.in_flight.iter().chain(&partition.queue);
            open.extend(
                batches.map(|batch| &batch.outcome).filter(|o| !o.is_settled()).map(Arc::clone),
            );
        }
        Flushing::new(open)
    }

    /// Gives up all that was not acknowledged, and takes nothing in any more.
    pub fn give_up(&mut self, kind: ProduceErrorKind) {
        // What was fatal remains the reason, also once the producer is closed.
        self.over.get_or_insert_with(|| kind.clone());
        self.transactions_changed = self.transactions.is_some();
        for slot in 0..self.partitions.len() {
            let partition = &mut self.partitions[slot];
            let queue = std::mem::take(&mut partition.queue);
            let in_flight = std::mem::take(&mut partition.in_flight);
            for batch in in_flight.into_iter().chain(queue) {
                self.fail(slot as Slot, batch, kind.clone(), Vec::new());
            }
        }
        for broker_queue in self.broker_queues.values_mut() {
            for request in &mut broker_queue.requests {
                request.clear();
            }
        }
    }

    /// Settles a batch that was not acknowledged.
    pub(super) fn fail(
        &mut self,
        slot: Slot,
        batch: Batch,
        kind: ProduceErrorKind,
        records: Vec<(u32, Arc<str>)>,
    ) {
        let partition = Arc::clone(&self.partitions[slot as usize].name);
        let failure = Failure { partition, kind, records };
        self.note_failure(&failure, batch.sequence.is_some());
        batch.outcome.settle(Settled::Failed(failure), &mut self.wakers);
        self.let_go(slot, batch);
    }

    /// Gives a settled batch's memory back.
    pub(super) fn let_go(&mut self, slot: Slot, batch: Batch) {
        self.outstanding = self.outstanding.saturating_sub(1);
        if self.outstanding == 0 && self.is_ending_transaction() {
            self.wants_coordinator = true;
        }
        let (_, usual) = self.batch_sizes(self.partitions[slot as usize].topic);
        batch.release(usual);
    }

    /// The error that a refusal is, for whoever does not want to wait.
    pub fn error_of(&self, record: &ProducerRecord<'_>, refused: Refused) -> ProduceError {
        let kind = match refused {
            Refused::Full => ProduceErrorKind::Full { waited_ms: 0 },
            Refused::UnknownTopic => {
                ProduceErrorKind::UnknownTopic { code: None, cause: self.cause.clone() }
            }
            Refused::NoSuchPartition(count) => ProduceErrorKind::NoSuchPartition { count },
            Refused::For(kind) => kind,
        };
        ProduceError { topic: record.topic.into(), partition: record.partition, kind }
    }
}
