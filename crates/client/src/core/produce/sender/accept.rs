//! What a broker answered, and what becomes of batches when it does not.

use std::sync::Arc;

use thalweg_wire::messages::produce_response::{PartitionProduceResponseView, ProduceResponseView};
use thalweg_wire::{DecodeError, ErrorCode, Reader};

use super::Sender;
use crate::core::backoff::backoff_ms;
use crate::core::metadata::{Broker, Leader};
use crate::core::partition::TopicPartition;
use crate::core::produce::batch::{Batch, BatchKey};
use crate::core::produce::broker_queue::Slot;
use crate::core::produce::error::ProduceErrorKind;
use crate::core::produce::outcome::{Failure, Settled};

/// The longest pause before a broker is asked again that says CONCURRENT_TRANSACTIONS.
const CONCURRENT_PAUSE_MS: u64 = 20;
/// First version with topic ids instead of names (KIP-516).
const FIRST_WITH_IDS: i16 = 13;

/// What follows from an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accepted {
    /// Leaders that the answer named (KIP-951), already taken over here.
    pub leaders: Vec<(TopicPartition, Leader)>,
    /// Where they listen.
    pub brokers: Vec<Broker>,
    /// Throttle time of the response.
    pub throttle_ms: u64,
}

impl Sender {
    /// Takes in the answer to a broker's oldest request: the frame's body, in the same version.
    pub fn accept(
        &mut self,
        broker: i32,
        body: &[u8],
        version: i16,
        now_ms: u64,
    ) -> Result<Accepted, DecodeError> {
        // In two walks: nothing of an answer that breaks off is used.
        let response = ProduceResponseView::parse(&mut Reader::new(body), version)?;
        let mut accepted = Accepted::default();
        let Some(broker_queue) = self.broker_queues.get_mut(&broker) else { return Ok(accepted) };
        let mut request = broker_queue.requests.pop_front().unwrap_or_default();
        broker_queue.cause = None;
        let throttle_ms = u64::try_from(response.throttle_time_ms).unwrap_or(0);
        broker_queue.throttled_until_ms = broker_queue.throttled_until_ms.max(now_ms + throttle_ms);
        accepted.throttle_ms = throttle_ms;
        for node in response.node_endpoints {
            let Ok(port) = u16::try_from(node.port) else { continue };
            let (host, rack) = (node.host.to_owned(), node.rack.map(str::to_owned));
            accepted.brokers.push(Broker { id: node.node_id, host, port, rack });
        }
        // Answers come in the order of the request, though nobody promises it.
        let mut next = 0;
        for topic in response.responses {
            for data in topic.partition_responses {
                let answers = |entry: &(Slot, BatchKey)| {
                    let partition = &self.partitions[entry.0 as usize];
                    let known = self.topics.get(partition.topic);
                    partition.name.partition == data.index
                        && known.is_some_and(|known| match version >= FIRST_WITH_IDS {
                            true => known.id == topic.topic_id,
                            false => *known.name == *topic.name,
                        })
                };
                let at = match request.get(next) {
                    Some(entry) if answers(entry) => Some(next),
                    _ => request.iter().position(answers),
                };
                let Some(at) = at else { continue };
                next = at + 1;
                let (slot, key) = request[at];
                self.accept_partition(slot, key, &data, now_ms, &mut accepted);
                // What is answered once is out of the request; its place stays for the others.
                request[at].1 = BatchKey { id: u64::MAX, part: u32::MAX };
            }
        }
        for (slot, key) in request {
            // What is not answered may be in the log or not, as if the connection had broken.
            if let Some(batch) = self.partitions[slot as usize].landed(key) {
                self.retry(slot, batch, ErrorCode::NETWORK_EXCEPTION, now_ms);
                self.reschedule(slot, now_ms);
            }
        }
        Ok(accepted)
    }

    /// A request was sent whose answer nobody waits for (`acks` 0).
    pub fn written(&mut self, broker: i32, now_ms: u64) {
        let Some(broker_queue) = self.broker_queues.get_mut(&broker) else { return };
        for (slot, key) in broker_queue.requests.pop_front().unwrap_or_default() {
            if let Some(batch) = self.partitions[slot as usize].landed(key) {
                self.acknowledge(slot, batch, -1, -1);
                self.reschedule(slot, now_ms);
            }
        }
    }

    /// There is a connection to a broker.
    pub fn connected(&mut self, broker: i32) {
        if let Some(broker_queue) = self.broker_queues.get_mut(&broker) {
            broker_queue.is_lost = false;
        }
    }

    /// The connection to a broker is gone, or never came about.
    /// `cause` says why.
    pub fn disconnected(&mut self, broker: i32, cause: Arc<str>, now_ms: u64) {
        self.wants_metadata = true;
        self.lookup = true;
        let Some(broker_queue) = self.broker_queues.get_mut(&broker) else { return };
        broker_queue.cause = Some(cause);
        broker_queue.is_lost = true;
        for (slot, key) in std::mem::take(&mut broker_queue.requests).into_iter().flatten() {
            if let Some(batch) = self.partitions[slot as usize].landed(key) {
                self.retry(slot, batch, ErrorCode::NETWORK_EXCEPTION, now_ms);
                self.reschedule(slot, now_ms);
            }
        }
    }

    fn accept_partition(
        &mut self,
        slot: Slot,
        key: BatchKey,
        data: &PartitionProduceResponseView<'_>,
        now_ms: u64,
        accepted: &mut Accepted,
    ) {
        let Some(batch) = self.partitions[slot as usize].landed(key) else { return };
        let leader =
            Leader { id: data.current_leader.leader_id, epoch: data.current_leader.leader_epoch };
        let known = self.partitions[slot as usize].leader;
        // One with an older epoch says of a broker only that it is behind.
        let is_news = leader.id >= 0 && known.is_none_or(|known| known.epoch < leader.epoch);
        match data.error_code {
            ErrorCode::NONE => {
                self.acknowledge(slot, batch, data.base_offset, data.log_append_time_ms);
            }
            // It is in the log, so long since that the broker does not know where.
            ErrorCode::DUPLICATE_SEQUENCE_NUMBER => self.acknowledge(slot, batch, -1, -1),
            ErrorCode::MESSAGE_TOO_LARGE if batch.count > 1 => self.split(slot, batch, now_ms),
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER | ErrorCode::UNKNOWN_PRODUCER_ID
                if batch.sequence.is_some() =>
            {
                let partition = &mut self.partitions[slot as usize];
                if partition.is_first(key) && self.transactions.is_some() {
                    // Only another epoch helps, and that comes between transactions.
                    let message = data.error_message.map(Arc::from);
                    let kind = ProduceErrorKind::Broker { code: data.error_code, message };
                    self.abandon(slot, batch, kind, Vec::new());
                } else if partition.is_first(key) {
                    // It is not in the log, and neither is anything behind it: the log does not
                    // fit this sequence, be it that the batch before was given up, or that the
                    // log lost something.
                    partition.sequencing.bump = true;
                    self.retry(slot, batch, data.error_code, now_ms);
                } else {
                    // Behind one that is still to come this says nothing, and that one's pause is
                    // enough.
                    let retry_at_ms = partition.retry_at_ms;
                    self.retry(slot, batch, data.error_code, now_ms);
                    self.partitions[slot as usize].retry_at_ms = retry_at_ms;
                }
            }
            code if concerns_leader(code) => {
                self.refused_as_leader(slot, batch, (code, leader), is_news, now_ms);
            }
            ErrorCode::CONCURRENT_TRANSACTIONS => {
                // The transaction before is being completed, which takes moments.
                self.counts.concurrent_transactions += 1;
                self.retry(slot, batch, data.error_code, now_ms);
                let partition = &mut self.partitions[slot as usize];
                partition.retry_at_ms = partition.retry_at_ms.min(now_ms + CONCURRENT_PAUSE_MS);
            }
            code if code.is_retriable() => self.retry(slot, batch, code, now_ms),
            code if self.settings.is_idempotent && concerns_producer(code) => {
                let message = data.error_message.map(Arc::from);
                let kind = ProduceErrorKind::Fatal { code, message };
                self.abandon(slot, batch, kind.clone(), Vec::new());
                return self.give_up(kind);
            }
            code => {
                let message = data.error_message.map(Arc::from);
                let records = data.record_errors.into_iter().filter_map(|record| {
                    let index = u32::try_from(record.batch_index).ok()?;
                    Some((index, record.batch_index_error_message?.into()))
                });
                let records = records.collect();
                let kind = ProduceErrorKind::Broker { code, message };
                self.abandon(slot, batch, kind, records);
            }
        }
        if is_news {
            let name = (*self.partitions[slot as usize].name).clone();
            accepted.leaders.push((name, leader));
            self.set_leader(slot, Some(leader), now_ms);
        }
        self.reschedule(slot, now_ms);
    }

    /// A broker says that it does not lead the partition, but the one it names, if any; with `is_news` that is not known
    /// yet.
    fn refused_as_leader(
        &mut self,
        slot: Slot,
        mut batch: Batch,
        (code, named): (ErrorCode, Leader),
        is_news: bool,
        now_ms: u64,
    ) {
        let partition = &mut self.partitions[slot as usize];
        let is_leader = partition.leader.is_none_or(|leader| leader.id == partition.sent_to);
        if is_news || !is_leader {
            // Whoever knows of another leader, by this answer or another, need not ask (KIP-951).
            batch.redirects += 1;
            return self.retry(slot, batch, code, now_ms);
        }
        let waits_until = Some(partition.retry_at_ms).filter(|at| *at > now_ms);
        // What was in flight beside the one that was refused first says nothing more.
        let retry_at_ms = waits_until
            .filter(|_| !partition.leadership.is_confirmed())
            .or_else(|| partition.leadership.refuse(code, named).map(|pause_ms| now_ms + pause_ms));
        if retry_at_ms.is_some() {
            batch.redirects += 1;
        } else {
            self.wants_metadata = true;
            self.lookup = true;
        }
        self.retry(slot, batch, code, now_ms);
        if let Some(retry_at_ms) = retry_at_ms {
            self.partitions[slot as usize].retry_at_ms = retry_at_ms;
        }
    }

    fn acknowledge(&mut self, slot: Slot, batch: Batch, base_offset: i64, append_time: i64) {
        if !std::mem::replace(&mut self.partitions[slot as usize].is_used, true) {
            self.note_used();
        }
        let partition = &mut self.partitions[slot as usize];
        // What an earlier leader had in hand says nothing of this one.
        if partition.leader.is_some_and(|leader| leader.id == partition.sent_to) {
            partition.leadership.confirm();
        }
        let sequencing = &mut partition.sequencing;
        let is_current = match (batch.sequence, sequencing.next) {
            (Some(of), Some(next)) => (of.producer_id, of.epoch) == (next.producer_id, next.epoch),
            _ => false,
        };
        if is_current {
            sequencing.is_proven = true;
            // The sequence fitted: what was given up before it is in the log.
            sequencing.is_unresolved = false;
        }
        let settled = Settled::Acknowledged {
            partition: partition.name.partition,
            base_offset,
            append_time: (append_time >= 0).then_some(append_time),
        };
        batch.outcome.settle(settled, &mut self.wakers);
        self.let_go(slot, batch);
    }

    /// Sends a batch again later, or gives it up when it was tried for too long.
    fn retry(&mut self, slot: Slot, mut batch: Batch, code: ErrorCode, now_ms: u64) {
        batch.last_error = Some(code);
        let given_up = self.transactions.as_ref().filter(|known| known.is_given_up());
        if let Some(kind) = given_up.and_then(|known| known.refuses()) {
            // Nobody will read it, wherever it is.
            return self.abandon(slot, batch, kind, Vec::new());
        }
        // Who was sent on was not refused for good.
        let counted = batch.attempts.saturating_sub(batch.redirects);
        let is_over = counted > self.settings.retries || batch.outcome.is_settled();
        if is_over {
            let cause = self.cause_of(slot);
            let kind = expired(&batch, cause, now_ms);
            return self.abandon(slot, batch, kind, Vec::new());
        }
        let pause_ms = self.backoff_ms(counted);
        let partition = &mut self.partitions[slot as usize];
        // Another leader has not refused yet: it is asked at once (KIP-951).
        if partition.leader.is_none_or(|leader| leader.id == partition.sent_to) {
            partition.retry_at_ms = now_ms + pause_ms;
        }
        partition.requeue(batch);
    }

    fn backoff_ms(&mut self, attempts: u32) -> u64 {
        let settings = &self.settings;
        let [first, longest] = [settings.retry_backoff_ms, settings.retry_backoff_max_ms];
        backoff_ms(first, longest, attempts, self.random.next_u64())
    }

    /// Gives up a batch that was sent.
    fn abandon(
        &mut self,
        slot: Slot,
        batch: Batch,
        kind: ProduceErrorKind,
        records: Vec<(u32, Arc<str>)>,
    ) {
        // Even of a batch that was refused an earlier copy may be in the log. The batch behind it
        // shows whether its sequence was used.
        let is_unresolved = batch.sequence.is_some() && self.transactions.is_none();
        self.partitions[slot as usize].sequencing.is_unresolved |= is_unresolved;
        self.fail(slot, batch, kind, records);
    }

    /// Makes two batches of one that is too large for the broker.
    fn split(&mut self, slot: Slot, batch: Batch, now_ms: u64) {
        let given_up = self.transactions.as_ref().filter(|known| known.is_given_up());
        if let Some(kind) = given_up.and_then(|known| known.refuses()) {
            return self.abandon(slot, batch, kind, Vec::new());
        }
        let split = match batch.outcome.is_settled() {
            true => None,
            false => batch.split(&self.memory, &mut self.decompressor),
        };
        let Some((second_at, halves)) = split else {
            let kind =
                ProduceErrorKind::Broker { code: ErrorCode::MESSAGE_TOO_LARGE, message: None };
            return self.abandon(slot, batch, kind, Vec::new());
        };
        self.counts.splits += 1;
        self.outstanding += 2;
        let topic = self.partitions[slot as usize].topic;
        // Compression did not keep its promise.
        self.topics[topic].ratio = 1.0;
        let outcomes = [Arc::clone(&halves[0].outcome), Arc::clone(&halves[1].outcome)];
        batch.outcome.settle(Settled::Split { second_at, halves: outcomes }, &mut self.wakers);
        self.let_go(slot, batch);
        for half in halves {
            self.partitions[slot as usize].requeue(half);
        }
        self.reschedule(slot, now_ms);
    }

    /// Gives up batches whose time is over (`delivery.timeout.ms`). To be called now and then
    /// while there are any; says whether there are, and asks for a lookup when there are again.
    pub fn expire(&mut self, now_ms: u64) -> bool {
        for slot in 0..self.partitions.len() as Slot {
            let after_ms = self.settings.delivery_timeout_ms;
            let cause = self.cause_of(slot);
            let is_old = |batch: &Batch| now_ms.saturating_sub(batch.created_ms) >= after_ms;
            // What is under way stays until its fate is known, but nobody waits any longer.
            for at in 0..self.partitions[slot as usize].in_flight.len() {
                let partition = &self.partitions[slot as usize];
                let Some(batch) = partition.in_flight.get(at) else { break };
                if !is_old(batch) || batch.outcome.is_settled() {
                    continue;
                }
                let outcome = Arc::clone(&batch.outcome);
                let failure = Failure {
                    partition: Arc::clone(&partition.name),
                    kind: expired(batch, cause.clone(), now_ms),
                    records: Vec::new(),
                };
                self.note_failure(&failure, true);
                outcome.settle(Settled::Failed(failure), &mut self.wakers);
            }
            let mut has_expired = false;
            while let Some(batch) = self.partitions[slot as usize].queue.pop_front_if(|b| is_old(b))
            {
                has_expired = true;
                let kind = expired(&batch, cause.clone(), now_ms);
                self.abandon(slot, batch, kind, Vec::new());
            }
            if has_expired {
                self.reschedule(slot, now_ms);
            }
        }
        self.is_unwatched = self.outstanding == 0;
        !self.is_unwatched
    }

    /// What keeps a partition's batches from being acknowledged, as far as is known.
    fn cause_of(&self, slot: Slot) -> Option<Arc<str>> {
        match self.partitions[slot as usize].leader {
            Some(leader) => self.broker_queues.get(&leader.id)?.cause.clone(),
            None => self.cause.clone(),
        }
    }
}

fn expired(batch: &Batch, cause: Option<Arc<str>>, now_ms: u64) -> ProduceErrorKind {
    ProduceErrorKind::Expired {
        after_ms: now_ms.saturating_sub(batch.created_ms),
        attempts: batch.attempts,
        last: batch.last_error,
        cause,
    }
}

/// Whether the answer means that an idempotent producer cannot go on, as Kafka's own does not
/// (`TransactionManager`).
fn concerns_producer(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED
            | ErrorCode::PRODUCER_FENCED
            | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            | ErrorCode::UNSUPPORTED_VERSION
            | ErrorCode::INVALID_PRODUCER_ID_MAPPING
    )
}

/// Whether the answer means that somebody else may lead the partition.
fn concerns_leader(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::LEADER_NOT_AVAILABLE
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode::UNKNOWN_TOPIC_ID
            | ErrorCode::KAFKA_STORAGE_ERROR
            | ErrorCode::FENCED_LEADER_EPOCH
            | ErrorCode::UNKNOWN_LEADER_EPOCH
            | ErrorCode::REPLICA_NOT_AVAILABLE
    )
}
