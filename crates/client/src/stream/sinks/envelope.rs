//! What is produced, with what travels along.

use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::core::fetch::OwnedRecord;
use crate::core::produce::{AsProducerRecord, ProducerRecord, RecordMetadata};

/// A record to be sent, with bytes of its own or shared ones: those of a record that was read can
/// be passed on without a copy ([`SharedRecord::value_bytes`](crate::SharedRecord::value_bytes)).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnedProducerRecord {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition; without one the key decides, or, without a key, the producer.
    pub partition: Option<i32>,
    /// The key; `None` is null.
    pub key: Option<Bytes>,
    /// The value; `None` is null, a tombstone on compacted topics.
    pub value: Option<Bytes>,
    /// Headers, in order.
    pub headers: Vec<(Bytes, Option<Bytes>)>,
    /// Milliseconds since 1970; without one the time at which the record is sent.
    pub timestamp: Option<i64>,
}

impl OwnedProducerRecord {
    /// A record without key, value and headers.
    pub fn new(topic: impl Into<Arc<str>>) -> OwnedProducerRecord {
        OwnedProducerRecord { topic: topic.into(), ..OwnedProducerRecord::default() }
    }

    /// The same for a partition.
    #[must_use]
    pub fn with_partition(mut self, partition: i32) -> OwnedProducerRecord {
        self.partition = Some(partition);
        self
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Bytes>) -> OwnedProducerRecord {
        self.key = Some(key.into());
        self
    }

    /// The same with a value.
    #[must_use]
    pub fn with_value(mut self, value: impl Into<Bytes>) -> OwnedProducerRecord {
        self.value = Some(value.into());
        self
    }

    /// The same with headers, in order.
    #[must_use]
    pub fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (Bytes, Option<Bytes>)>,
    ) -> OwnedProducerRecord {
        self.headers = headers.into_iter().collect();
        self
    }

    /// The same with a time, in milliseconds since 1970.
    #[must_use]
    pub fn with_timestamp(mut self, timestamp: i64) -> OwnedProducerRecord {
        self.timestamp = Some(timestamp);
        self
    }
}

/// A copy of the record's bytes.
impl From<ProducerRecord<'_>> for OwnedProducerRecord {
    fn from(record: ProducerRecord<'_>) -> OwnedProducerRecord {
        let copied = |bytes: Option<&[u8]>| bytes.map(Bytes::copy_from_slice);
        let headers =
            record.headers.map(|header| (Bytes::copy_from_slice(header.key), copied(header.value)));
        OwnedProducerRecord {
            topic: record.topic.into(),
            partition: record.partition,
            key: copied(record.key),
            value: copied(record.value),
            headers: headers.collect(),
            timestamp: record.timestamp,
        }
    }
}

impl AsProducerRecord for OwnedProducerRecord {
    fn as_producer_record(&self) -> ProducerRecord<'_> {
        ProducerRecord {
            topic: &self.topic,
            partition: self.partition,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: self.headers[..].into(),
            timestamp: self.timestamp,
        }
    }
}

impl OwnedRecord {
    /// The same record, for a topic: with its key, value, headers and time.
    pub fn to_topic(self, topic: impl Into<Arc<str>>) -> OwnedProducerRecord {
        OwnedProducerRecord {
            topic: topic.into(),
            partition: None,
            key: self.key,
            value: self.value,
            headers: self.headers,
            timestamp: u64::try_from(self.timestamp).ok().map(|_| self.timestamp),
        }
    }
}

/// Records to be produced for one thing that came in, and that thing, or what is left of it, which
/// comes out when all of them are acknowledged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope<P> {
    pub(in crate::stream) records: SmallVec<[OwnedProducerRecord; 1]>,
    pub(in crate::stream) pass_through: P,
}

impl<P> Envelope<P> {
    /// One record.
    pub fn single(record: OwnedProducerRecord, pass_through: P) -> Envelope<P> {
        Envelope { records: SmallVec::from_buf([record]), pass_through }
    }

    /// Any number of records, to whichever topics.
    pub fn multi(
        records: impl IntoIterator<Item = OwnedProducerRecord>,
        pass_through: P,
    ) -> Envelope<P> {
        Envelope { records: records.into_iter().collect(), pass_through }
    }

    /// No record: keeps its place in the order, and that is all.
    pub fn pass_through(pass_through: P) -> Envelope<P> {
        Envelope { records: SmallVec::new(), pass_through }
    }
}

/// What became of an [`Envelope`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Results<P> {
    /// Where each of its records lies, in their order.
    pub metadata: SmallVec<[RecordMetadata; 1]>,
    /// What came with them.
    pub pass_through: P,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::headers::Header;

    #[test]
    fn owned_and_borrowed_records_are_built_alike() {
        let headers = [Header::from(("h", "1"))];
        let borrowed = ProducerRecord::new("t")
            .with_partition(3)
            .with_key("k")
            .with_value("v")
            .with_headers(&headers)
            .with_timestamp(7);
        let owned = OwnedProducerRecord::new("t")
            .with_partition(3)
            .with_key("k")
            .with_value("v")
            .with_headers([("h".into(), Some("1".into()))])
            .with_timestamp(7);
        assert_eq!(owned.as_producer_record(), borrowed);
        assert_eq!(OwnedProducerRecord::from(borrowed), owned);
        let empty = OwnedProducerRecord::new("t");
        assert_eq!(empty.as_producer_record(), ProducerRecord::new("t"));
        assert_eq!(OwnedProducerRecord::from(ProducerRecord::new("t")), empty);
    }
}
