//! Taking batches out: one request with many partitions per broker.
//!
//! A request goes through three hands. [`Sender::drain`] decides what is in it, under the lock;
//! [`Shipment::seal_next`] compresses and computes checksums, and [`Shipment::encode`] writes the
//! frame, without it; [`Sender::lodge`] keeps what was sealed for the case that it has to be sent
//! again.

use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_wire::error::EncodeError;
use thalweg_wire::messages::ProduceRequest;
use thalweg_wire::messages::produce_request::{
    PartitionProduceDataRef, ProduceRequestRef, TopicProduceDataRef,
};
use thalweg_wire::{RecordsRef, Request, Uuid, Writer};

use super::batch::{BatchKey, Contents, Sealer};
use super::partition::Turn;
use super::{Acks, Sender, Slot};
use crate::core::partition::TopicPartition;
use crate::core::pipeline;

/// Bytes of a request besides its batches, roughly: header, and what stands before each batch.
const REQUEST_OVERHEAD: usize = 100;

/// A request to be sent to one broker.
#[derive(Debug)]
pub struct Shipment {
    acks: Acks,
    parcels: Vec<Parcel>,
    /// Parcels in front of this one are sealed.
    sealed: usize,
}

/// One partition's part of a request: one batch, as Kafka's brokers demand.
#[derive(Debug)]
struct Parcel {
    slot: Slot,
    key: BatchKey,
    topic_id: Uuid,
    partition: Arc<TopicPartition>,
    contents: Contents,
}

impl Sender {
    /// Takes what is to be sent to a broker now; `None` when there is nothing, or as many requests
    /// as may be are under way.
    pub fn drain(&mut self, broker: i32, now_ms: u64) -> Option<Shipment> {
        let outbox = self.outboxes.get_mut(&broker)?;
        outbox.sleeps_until_ms = 0;
        let is_full = outbox.requests.len() >= self.settings.max_in_flight;
        if is_full || now_ms < outbox.throttled_until_ms {
            return None;
        }
        self.wake_due(broker, now_ms);
        let rules = self.rules();
        let mut parcels: Vec<Parcel> = Vec::new();
        let mut size = REQUEST_OVERHEAD;
        while let Some(slot) = self.next_in_row(broker) {
            let partition = &self.partitions[slot as usize];
            let leads = partition.leader.is_some_and(|leader| leader.id == broker);
            if !leads || partition.turn(&rules, now_ms) != Turn::Now {
                self.reschedule(slot, now_ms);
                continue;
            }
            let len = self.expected_len(slot);
            if !parcels.is_empty() && size + len > self.settings.max_request_size {
                self.back_in_row(broker, slot);
                break;
            }
            size += len;
            parcels.extend(self.dispatch(slot, broker));
        }
        if parcels.is_empty() {
            return None;
        }
        for parcel in &parcels {
            // Its next batch goes with the next request.
            self.reschedule(parcel.slot, now_ms);
        }
        // Topics stand together in a request.
        parcels.sort_unstable_by(|a, b| a.partition.cmp(&b.partition));
        let request = parcels.iter().map(|parcel| (parcel.slot, parcel.key)).collect();
        self.outboxes.get_mut(&broker)?.requests.push_back(request);
        self.counts.requests += 1;
        self.counts.batches += parcels.len() as u64;
        Some(Shipment { acks: self.settings.acks, parcels, sealed: 0 })
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
    fn dispatch(&mut self, slot: Slot, broker: i32) -> Option<Parcel> {
        let compression = self.settings.compression;
        let partition = &mut self.partitions[slot as usize];
        if self.settings.is_idempotent {
            let assigned = partition.assign_sequence(self.producer_id?);
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
        let parcel = Parcel {
            slot,
            key: batch.key,
            topic_id: self.topics[partition.topic].id,
            partition: Arc::clone(&partition.name),
            contents: batch.lend(compression),
        };
        partition.sent_to = broker;
        partition.in_flight.push_back(batch);
        Some(parcel)
    }

    /// Keeps what was sealed.
    pub fn lodge(&mut self, shipment: &Shipment) {
        for parcel in &shipment.parcels {
            let Contents::Sealed { bytes, raw_len } = &parcel.contents else { continue };
            self.counts.batch_bytes += bytes.len() as u64;
            let partition = &mut self.partitions[parcel.slot as usize];
            if let Some(batch) = partition.in_flight_mut(parcel.key) {
                batch.keep(bytes.clone());
            }
            self.topics[partition.topic].learn_ratio(*raw_len, bytes.len());
        }
    }
}

impl Shipment {
    #[cfg(test)]
    /// Partitions in it.
    pub fn partitions(&self) -> usize {
        self.parcels.len()
    }

    /// Whether the broker answers it.
    pub fn is_answered(&self) -> bool {
        self.acks != Acks::None
    }

    /// Seals one batch; gives its bytes before compression, and `None` when all are sealed.
    pub fn seal_next(&mut self, sealer: &mut Sealer) -> Option<usize> {
        let parcel = self.parcels.get_mut(self.sealed)?;
        self.sealed += 1;
        let lent = Contents::Sealed { bytes: Bytes::new(), raw_len: 0 };
        let mut len = 0;
        parcel.contents = match mem::replace(&mut parcel.contents, lent) {
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
        debug_assert_eq!(self.sealed, self.parcels.len());
        let data_of = |parcel: &Parcel| {
            let records = match &parcel.contents {
                Contents::Sealed { bytes, .. } => RecordsRef::Shared(bytes.clone()),
                Contents::Raw(_) => RecordsRef::Null,
            };
            PartitionProduceDataRef { index: parcel.partition.partition, records }
        };
        let data: Vec<PartitionProduceDataRef<'_>> = self.parcels.iter().map(data_of).collect();
        let mut left = &data[..];
        let mut topic_data: Vec<TopicProduceDataRef<'_>> = Vec::new();
        for parcels in self.parcels.chunk_by(|a, b| a.partition.topic == b.partition.topic) {
            let (partition_data, others) = left.split_at(parcels.len().min(left.len()));
            left = others;
            let Some(first) = parcels.first() else { continue };
            topic_data.push(TopicProduceDataRef {
                name: &first.partition.topic,
                topic_id: first.topic_id,
                partition_data,
            });
        }
        let request = ProduceRequestRef {
            transactional_id: None,
            acks: self.acks.code(),
            timeout_ms,
            topic_data: &topic_data,
        };
        pipeline::begin_request(w, ProduceRequest::API_KEY, version, client_id)?;
        request.encode(w, version)?;
        w.end_frame()
    }
}
