//! Taking batches out: one request with many partitions per broker.
//!
//! A request is made in three steps. [`Sender::drain`] decides what is in it, under the lock;
//! [`OutgoingRequest::seal_next`] compresses and computes checksums, and [`OutgoingRequest::encode`]
//! writes the frame, without it; [`Sender::keep_sealed`] keeps what was sealed for the case that it has
//! to be sent again.

use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_connection::pipeline;
use thalweg_wire::error::EncodeError;
use thalweg_wire::messages::ProduceRequest;
use thalweg_wire::messages::produce_request::{
    PartitionProduceDataRef, ProduceRequestRef, TopicProduceDataRef,
};
use thalweg_wire::{RecordsRef, Request, Uuid, Writer};

use super::Sender;
use super::transaction::Protocol;
use crate::core::partition::TopicPartition;
use crate::core::produce::batch::{BatchKey, Contents, Sealer};
use crate::core::produce::broker_queue::Slot;
use crate::core::produce::partition::Turn;
use crate::core::produce::settings::Acks;

/// Bytes of a request besides its batches, roughly: header, and what stands before each batch.
const REQUEST_OVERHEAD: usize = 100;
/// Last version of Produce with which a leader adds no partition to a transaction.
const LAST_WITHOUT_ADDING: i16 = 11;

/// A request to be sent to one broker.
#[derive(Debug)]
pub struct OutgoingRequest {
    acks: Acks,
    /// Of the transaction that all of it is for.
    transactional_id: Option<Arc<str>>,
    protocol: Protocol,
    parts: Vec<RequestPart>,
    /// Parts in front of this one are sealed.
    sealed: usize,
}

/// One partition's part of a request: one batch, as Kafka's brokers demand.
#[derive(Debug)]
struct RequestPart {
    slot: Slot,
    key: BatchKey,
    topic_id: Uuid,
    partition: Arc<TopicPartition>,
    contents: Contents,
}

impl Sender {
    /// Takes what is to be sent to a broker now; `None` when there is nothing, or as many requests
    /// as may be are under way.
    pub fn drain(&mut self, broker: i32, now_ms: u64) -> Option<OutgoingRequest> {
        let broker_queue = self.broker_queues.get_mut(&broker)?;
        broker_queue.sleeps_until_ms = 0;
        let is_full = broker_queue.requests.len() >= self.settings.max_in_flight;
        if is_full || now_ms < broker_queue.throttled_until_ms {
            return None;
        }
        self.wake_due(broker, now_ms);
        let rules = self.rules();
        let mut parts: Vec<RequestPart> = Vec::new();
        let mut size = REQUEST_OVERHEAD;
        while let Some(slot) = self.next_ready(broker) {
            let partition = &self.partitions[slot as usize];
            let leads = partition.leader.is_some_and(|leader| leader.id == broker);
            if !leads || partition.turn(&rules, now_ms) != Turn::Now {
                self.reschedule(slot, now_ms);
                continue;
            }
            let len = self.expected_len(slot);
            if !parts.is_empty() && size + len > self.settings.max_request_size {
                self.put_back_ready(broker, slot);
                break;
            }
            size += len;
            parts.extend(self.dispatch(slot, broker));
        }
        if parts.is_empty() {
            return None;
        }
        for part in &parts {
            // Its next batch goes with the next request.
            self.reschedule(part.slot, now_ms);
        }
        // Topics stand together in a request.
        parts.sort_unstable_by(|a, b| a.partition.cmp(&b.partition));
        let request = parts.iter().map(|part| (part.slot, part.key)).collect();
        self.broker_queues.get_mut(&broker)?.requests.push_back(request);
        self.counts.requests += 1;
        self.counts.batches += parts.len() as u64;
        let mut protocol = Protocol::V2;
        if let Some(transactions) = &mut self.transactions {
            transactions.note_sent();
            protocol = transactions.protocol();
        }
        let transactional_id = self.settings.transactional_id.clone();
        Some(OutgoingRequest {
            acks: self.settings.acks,
            transactional_id,
            protocol,
            parts,
            sealed: 0,
        })
    }

    /// Bytes that the first batch of a partition's queue will take in a request.
    fn expected_len(&self, slot: Slot) -> usize {
        let partition = &self.partitions[slot as usize];
        let Some(front) = partition.queue.front() else { return 0 };
        let overhead = REQUEST_OVERHEAD;
        if front.is_sealed() {
            return front.len() + overhead;
        }
        (front.len() as f32 * self.topics[partition.topic].ratio) as usize + overhead
    }

    /// Takes the first batch of a partition's queue out.
    fn dispatch(&mut self, slot: Slot, broker: i32) -> Option<RequestPart> {
        let compression = self.settings.compression;
        let partition = &mut self.partitions[slot as usize];
        if self.settings.is_idempotent {
            let is_transactional = self.transactions.is_some();
            let assigned = partition.assign_sequence(self.producer_id?, is_transactional);
            self.counts.epoch_bumps += u64::from(assigned.bumped);
            if assigned.needs_id {
                // The id has no epoch left for the next time.
                self.producer_id = None;
                self.wants_producer_id = true;
                self.lookup = true;
            }
        }
        let mut batch = partition.queue.pop_front()?;
        batch.attempts += 1;
        self.counts.retries += u64::from(batch.attempts > 1);
        let part = RequestPart {
            slot,
            key: batch.key,
            topic_id: self.topics[partition.topic].id,
            partition: Arc::clone(&partition.name),
            contents: batch.lend(compression),
        };
        partition.sent_to = broker;
        partition.in_flight.push_back(batch);
        Some(part)
    }

    /// Keeps what was sealed.
    pub fn keep_sealed(&mut self, outgoing: &OutgoingRequest) {
        for part in &outgoing.parts {
            let Contents::Sealed { bytes, raw_len } = &part.contents else { continue };
            self.counts.batch_bytes += bytes.len() as u64;
            let partition = &mut self.partitions[part.slot as usize];
            if let Some(batch) = partition.in_flight_mut(part.key) {
                batch.keep(bytes.clone());
            }
            self.topics[partition.topic].learn_ratio(*raw_len, bytes.len());
        }
    }
}

impl OutgoingRequest {
    #[cfg(test)]
    /// Partitions in it.
    pub fn partitions(&self) -> usize {
        self.parts.len()
    }

    /// Whether the broker answers it.
    pub fn is_answered(&self) -> bool {
        self.acks != Acks::None
    }

    /// The highest version that it may be sent in: from the next one on the leader adds its partition to
    /// the transaction (KIP-890).
    pub fn version_max(&self) -> i16 {
        match self.protocol {
            Protocol::V1 => LAST_WITHOUT_ADDING,
            Protocol::V2 => i16::MAX,
        }
    }

    /// Seals one batch; gives its bytes before compression, and `None` when all are sealed.
    pub fn seal_next(&mut self, sealer: &mut Sealer) -> Option<usize> {
        let part = self.parts.get_mut(self.sealed)?;
        self.sealed += 1;
        let lent = Contents::Sealed { bytes: Bytes::new(), raw_len: 0 };
        let mut len = 0;
        part.contents = match mem::replace(&mut part.contents, lent) {
            Contents::Raw(raw) => {
                len = raw.len();
                Contents::Sealed { bytes: sealer.seal(raw), raw_len: len }
            }
            sealed @ Contents::Sealed { .. } => sealed,
        };
        Some(len)
    }

    /// Writes the request frame, the batches as segments; the correlation id is still 0.
    pub fn encode(
        &self,
        w: &mut Writer,
        version: i16,
        client_id: &str,
        timeout_ms: i32,
    ) -> Result<(), EncodeError> {
        debug_assert_eq!(self.sealed, self.parts.len());
        let data_of = |part: &RequestPart| {
            let records = match &part.contents {
                Contents::Sealed { bytes, .. } => RecordsRef::Shared(bytes.clone()),
                Contents::Raw(_) => RecordsRef::Null,
            };
            PartitionProduceDataRef { index: part.partition.partition, records }
        };
        let data: Vec<PartitionProduceDataRef<'_>> = self.parts.iter().map(data_of).collect();
        let mut left = &data[..];
        let mut topic_data: Vec<TopicProduceDataRef<'_>> = Vec::new();
        for parts in self.parts.chunk_by(|a, b| a.partition.topic == b.partition.topic) {
            let (partition_data, others) = left.split_at(parts.len().min(left.len()));
            left = others;
            let Some(first) = parts.first() else { continue };
            topic_data.push(TopicProduceDataRef {
                name: &first.partition.topic,
                topic_id: first.topic_id,
                partition_data,
            });
        }
        let request = ProduceRequestRef {
            transactional_id: self.transactional_id.as_deref(),
            acks: self.acks.code(),
            timeout_ms,
            topic_data: &topic_data,
        };
        pipeline::begin_request(w, ProduceRequest::API_KEY, version, client_id)?;
        request.encode(w, version)?;
        w.end_frame()
    }
}
