//! Produce requests, built before the run as the bytes that go onto the wire. Only the correlation
//! id changes from one sending to the next, and for idempotent producers the batches' numbers.

use thalweg::raw;
use thalweg_records::checksum::crc32c;
use thalweg_wire::messages::produce_request::{
    PartitionProduceDataRef, ProduceRequestRef, TopicProduceDataRef,
};
use thalweg_wire::{ApiKey, EncodeError, RecordsRef, Uuid, Writer};

use super::data::Batch;

const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const PRODUCER_AT: usize = 43;

/// Which topic, in which version, with which acks.
pub struct FrameSpec<'a> {
    pub topic: &'a str,
    pub topic_id: Uuid,
    pub version: i16,
    pub acks: i16,
    pub timeout_ms: i32,
    pub client_id: &'a str,
}

/// One request.
pub struct Frame {
    bytes: Vec<u8>,
    /// Partition of each batch, and where it lies in the bytes.
    batches: Vec<(i32, std::ops::Range<usize>)>,
    /// Records in it.
    pub records: u64,
    /// Bytes of their values.
    pub payload: u64,
}

/// The numbers of an idempotent producer.
pub struct Producer {
    pub id: i64,
    pub epoch: i16,
    /// Next sequence, by partition.
    pub sequences: Vec<i32>,
}

impl Frame {
    /// Builds a request with one batch for each partition.
    pub fn build(spec: &FrameSpec<'_>, parts: &[(i32, &Batch)]) -> Result<Frame, EncodeError> {
        let partition_data: Vec<_> = parts
            .iter()
            .map(|(index, batch)| PartitionProduceDataRef {
                index: *index,
                records: RecordsRef::Inline(&batch.bytes),
            })
            .collect();
        let request = ProduceRequestRef {
            transactional_id: None,
            acks: spec.acks,
            timeout_ms: spec.timeout_ms,
            topic_data: &[TopicProduceDataRef {
                name: spec.topic,
                topic_id: spec.topic_id,
                partition_data: &partition_data,
            }],
        };
        let mut w = Writer::new();
        raw::begin_request(&mut w, ApiKey::PRODUCE, spec.version, spec.client_id)?;
        request.encode(&mut w, spec.version)?;
        w.end_frame()?;
        let bytes = w.to_vec();
        // Batches stand in the frame in order, each unlike anything between them.
        let mut batches = Vec::with_capacity(parts.len());
        let mut at = 0;
        for (index, batch) in parts {
            let found = bytes[at..].windows(batch.bytes.len()).position(|w| w == batch.bytes);
            let from = at + found.unwrap_or_default();
            at = from + batch.bytes.len();
            batches.push((*index, from..at));
        }
        Ok(Frame {
            bytes,
            batches,
            records: parts.iter().map(|(_, batch)| u64::from(batch.records)).sum(),
            payload: parts.iter().map(|(_, batch)| batch.payload as u64).sum(),
        })
    }

    /// The request under a correlation id.
    pub fn numbered(&mut self, correlation_id: i32) -> &[u8] {
        raw::set_correlation_id(&mut self.bytes, correlation_id);
        &self.bytes
    }

    /// Bytes on the wire.
    pub fn wire_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Partitions it has batches for.
    pub fn partitions(&self) -> impl Iterator<Item = i32> + '_ {
        self.batches.iter().map(|(index, _)| *index)
    }

    /// Gives the batches their producer's next numbers.
    pub fn sequence(&mut self, producer: &mut Producer) {
        let records = self.records / self.batches.len().max(1) as u64;
        for (index, range) in &self.batches {
            let batch = &mut self.bytes[range.clone()];
            let Some(sequence) = producer.sequences.get_mut(*index as usize) else { continue };
            let numbers = &mut batch[PRODUCER_AT..];
            numbers[..8].copy_from_slice(&producer.id.to_be_bytes());
            numbers[8..10].copy_from_slice(&producer.epoch.to_be_bytes());
            numbers[10..14].copy_from_slice(&sequence.to_be_bytes());
            let crc = crc32c(&batch[ATTRIBUTES_AT..]);
            batch[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
            *sequence = thalweg_records::batch::add_sequence(*sequence, records as i32);
        }
    }
}

#[cfg(test)]
mod tests {
    use thalweg_records::{BatchView, Compression};
    use thalweg_wire::Reader;
    use thalweg_wire::messages::produce_request::ProduceRequestView;

    use super::super::args::{BatchOf, Load};
    use super::super::data;
    use super::*;

    #[test]
    fn frames_are_produce_requests_with_the_batches_in_them() {
        let load = Load {
            record_size: 100,
            batch_bytes: 4096,
            batch_of: BatchOf::Wire,
            compression: Compression::None,
            compress_ratio: 4.0,
            pool: 3,
        };
        let pool = data::build_pool(&load, 1).unwrap();
        let parts: Vec<_> = (0..3).map(|i| (i + 5, &pool.batches[i as usize])).collect();
        for version in [3, 8, 9, 12, 13] {
            let spec = FrameSpec {
                topic: "t",
                topic_id: Uuid::ONE,
                version,
                acks: 1,
                timeout_ms: 5,
                client_id: "bench",
            };
            let mut frame = Frame::build(&spec, &parts).unwrap();
            let mut producer = Producer { id: 77, epoch: 3, sequences: vec![i32::MAX; 8] };
            frame.sequence(&mut producer);
            assert_eq!(frame.partitions().collect::<Vec<_>>(), [5, 6, 7]);
            let n = pool.batches[0].records as i32;
            assert_eq!(producer.sequences[5..], [n - 1; 3], "sequences wrap to 0");
            let bytes = frame.numbered(9).to_vec();
            assert_eq!(bytes[8..12], 9i32.to_be_bytes());
            let header = 4 + 8 + 2 + 5 + usize::from(version >= 9);
            let mut r = Reader::new(&bytes[header..]);
            let view = ProduceRequestView::parse(&mut r, version).unwrap();
            assert_eq!((view.acks, view.timeout_ms), (1, 5));
            let topic = view.topic_data.iter().next().unwrap();
            for (part, index) in topic.partition_data.iter().zip(5..) {
                assert_eq!(part.index, index);
                let batch = BatchView::parse(part.records.unwrap()).unwrap();
                assert!(batch.crc_is_valid());
                assert_eq!((batch.producer_id(), batch.producer_epoch()), (77, 3));
                assert_eq!(batch.base_sequence(), i32::MAX);
                assert_eq!(batch.record_count(), n);
            }
        }
    }
}
