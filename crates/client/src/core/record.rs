//! Records as an application gives them to be sent.

use crate::core::headers::Headers;

/// A record to be sent, borrowed: it is copied into the batch that is sent, once.
///
/// ```
/// use thalweg::ProducerRecord;
///
/// let record = ProducerRecord::new("orders").with_key(b"4711").with_value(b"two of them");
/// assert_eq!((record.topic, record.partition), ("orders", None));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProducerRecord<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The partition; without one the key decides, or, without a key, the producer.
    pub partition: Option<i32>,
    /// The key; `None` is null, which is not the same as empty.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null, a tombstone on compacted topics.
    pub value: Option<&'a [u8]>,
    /// Headers, in order.
    pub headers: Headers<'a>,
    /// Milliseconds since 1970; without one the time at which the record is sent.
    pub timestamp: Option<i64>,
}

impl<'a> ProducerRecord<'a> {
    /// A record without key, value and headers.
    pub fn new(topic: &'a str) -> ProducerRecord<'a> {
        ProducerRecord { topic, ..ProducerRecord::default() }
    }

    /// The same for a partition.
    #[must_use]
    pub fn with_partition(mut self, partition: i32) -> ProducerRecord<'a> {
        self.partition = Some(partition);
        self
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(mut self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> ProducerRecord<'a> {
        self.key = Some(key.as_ref());
        self
    }

    /// The same with a value.
    #[must_use]
    pub fn with_value(mut self, value: &'a (impl AsRef<[u8]> + ?Sized)) -> ProducerRecord<'a> {
        self.value = Some(value.as_ref());
        self
    }

    /// The same with headers: a list of [`Header`](crate::Header)s, or those of another record.
    #[must_use]
    pub fn with_headers(mut self, headers: impl Into<Headers<'a>>) -> ProducerRecord<'a> {
        self.headers = headers.into();
        self
    }

    /// The same with a time, in milliseconds since 1970.
    #[must_use]
    pub fn with_timestamp(mut self, timestamp: i64) -> ProducerRecord<'a> {
        self.timestamp = Some(timestamp);
        self
    }
}

/// What can be sent: [`ProducerRecord`], which borrows, and what is owned, by itself or borrowed.
pub trait AsProducerRecord {
    /// A view of it. Asked for once for each record that is sent.
    fn as_producer_record(&self) -> ProducerRecord<'_>;
}

impl AsProducerRecord for ProducerRecord<'_> {
    fn as_producer_record(&self) -> ProducerRecord<'_> {
        *self
    }
}

impl<R: AsProducerRecord + ?Sized> AsProducerRecord for &R {
    fn as_producer_record(&self) -> ProducerRecord<'_> {
        (**self).as_producer_record()
    }
}
