//! How a producer behaves.

use std::time::Duration;

use thalweg_records::CompressionSpec;

use crate::core::produce::{Acks, ProduceSettings, Sealer};
use crate::error::Error;
use crate::options::backoff;
use crate::options::setters::setters;
use crate::options::{Options, bounded};

/// Requests under way to one broker beyond which brokers lose track of what is a repetition.
const IN_FLIGHT_IDEMPOTENT_MAX: usize = 5;

/// Settings of a [`Producer`](super::Producer). Names and defaults are those of Kafka's Java
/// producer; each field names its Java config. Names of clients and the time for one request
/// (`request.timeout.ms`) are the connection's: [`Options`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProducerConfig {
    /// Who has to have a record before it is acknowledged (`acks`); all replicas in sync.
    pub acks: Acks,
    /// Whether no record is in the log twice, or out of order, whatever has to be repeated
    /// (`enable.idempotence`); yes. Needs `acks` to be [`Acks::All`].
    pub enable_idempotence: bool,
    /// Bytes of a batch (`batch.size`); 16 KiB. A record that is larger is a batch of its own. With
    /// compression a batch begins with up to eight times as much, as far as earlier batches let
    /// expect that it becomes as small as this.
    pub batch_size: usize,
    /// How long a batch waits for more records (`linger.ms`); 5 ms. One that is full does not wait.
    pub linger: Duration,
    /// Bytes of records that are not acknowledged yet (`buffer.memory`); 32 MiB. With that much
    /// under way, sending waits.
    pub buffer_memory: usize,
    /// Bytes of one request (`max.request.size`), and of one record; 1 MiB.
    pub max_request_size: usize,
    /// Codec and level (`compression.type`, `compression.<codec>.level`); none.
    pub compression: CompressionSpec,
    /// Requests under way to one broker (`max.in.flight.requests.per.connection`); 5, which is the
    /// most with idempotence. More than one without idempotence means that a repetition may come
    /// to lie behind what was sent later.
    pub max_in_flight: usize,
    /// How long a record may take until it is acknowledged (`delivery.timeout.ms`); 2 minutes. At
    /// least linger and request timeout together.
    pub delivery_timeout: Duration,
    /// How often a batch is sent again (`retries`); as often as `delivery.timeout.ms` lets it. That it is sent on
    /// because its partition's leader moves does not count.
    pub retries: u32,
    /// First pause before something that failed is tried again (`retry.backoff.ms`); 100 ms.
    pub retry_backoff: Duration,
    /// Longest such pause (`retry.backoff.max.ms`); 1 s.
    pub retry_backoff_max: Duration,
    /// How long sending waits for room or for what is to be known of a topic (`max.block.ms`);
    /// 1 minute.
    pub max_block: Duration,
    /// Age at which metadata is asked for again (`metadata.max.age.ms`); 5 minutes.
    pub metadata_max_age: Duration,
    /// How long metadata of a topic are kept up to date after the last record for it
    /// (`metadata.max.idle.ms`); 5 minutes.
    pub metadata_max_idle: Duration,
    /// Whether records without a key go rather to partitions whose brokers keep up
    /// (`partitioner.adaptive.partitioning.enable`); yes.
    pub adaptive_partitioning: bool,
    /// Whether keys have no say in the partition (`partitioner.ignore.keys`); no.
    pub ignore_keys: bool,
    /// Whether brokers may create a topic that is not there, should their
    /// `auto.create.topics.enable` say so; yes. The Java producer always lets them.
    pub auto_create_topics: bool,
    /// The name under which this producer's transactions are known (`transactional.id`); none. With it records
    /// are taken only in transactions ([`Producer::begin`](super::Producer::begin)), and one producer
    /// of that name is alive: the next one fences it.
    pub transactional_id: Option<String>,
    /// How long a transaction may take before its coordinator aborts it (`transaction.timeout.ms`); 1
    /// minute. Brokers allow `transaction.max.timeout.ms` at most.
    pub transaction_timeout: Duration,
}

setters! {
    ProducerConfig {
        acks: Acks => with_acks,
        enable_idempotence: bool => with_enable_idempotence,
        batch_size: usize => with_batch_size,
        linger: Duration => with_linger,
        buffer_memory: usize => with_buffer_memory,
        max_request_size: usize => with_max_request_size,
        compression: CompressionSpec => with_compression,
        max_in_flight: usize => with_max_in_flight,
        delivery_timeout: Duration => with_delivery_timeout,
        retries: u32 => with_retries,
        retry_backoff: Duration => with_retry_backoff,
        retry_backoff_max: Duration => with_retry_backoff_max,
        max_block: Duration => with_max_block,
        metadata_max_age: Duration => with_metadata_max_age,
        metadata_max_idle: Duration => with_metadata_max_idle,
        adaptive_partitioning: bool => with_adaptive_partitioning,
        ignore_keys: bool => with_ignore_keys,
        auto_create_topics: bool => with_auto_create_topics,
        transaction_timeout: Duration => with_transaction_timeout,
    }
}

impl Default for ProducerConfig {
    fn default() -> ProducerConfig {
        ProducerConfig {
            acks: Acks::All,
            enable_idempotence: true,
            batch_size: 16 << 10,
            linger: Duration::from_millis(5),
            buffer_memory: 32 << 20,
            max_request_size: 1 << 20,
            compression: CompressionSpec::NONE,
            max_in_flight: 5,
            delivery_timeout: Duration::from_secs(120),
            retries: i32::MAX as u32,
            retry_backoff: backoff::RETRY_BACKOFF,
            retry_backoff_max: backoff::RETRY_BACKOFF_MAX,
            max_block: Duration::from_secs(60),
            metadata_max_age: Duration::from_secs(300),
            metadata_max_idle: Duration::from_secs(300),
            adaptive_partitioning: true,
            ignore_keys: false,
            auto_create_topics: true,
            transactional_id: None,
            transaction_timeout: Duration::from_secs(60),
        }
    }
}

impl ProducerConfig {
    /// Sets [`Self::transactional_id`].
    #[must_use]
    pub fn with_transactional_id(mut self, id: impl Into<String>) -> ProducerConfig {
        self.transactional_id = Some(id.into());
        self
    }

    /// Whether a [`Producer`](super::Producer) could be made of this, on a cluster with such
    /// options: it would refuse what this refuses, but it needs the cluster.
    ///
    /// # Errors
    /// [`Error::Config`] names a value that makes no sense, or not with the others.
    pub fn check(&self, options: &Options) -> Result<(), Error> {
        self.clone().bounded().settings(options).map(drop)
    }

    /// The same with times that can be added to a moment.
    pub(super) fn bounded(mut self) -> ProducerConfig {
        for time in [
            &mut self.linger,
            &mut self.delivery_timeout,
            &mut self.retry_backoff,
            &mut self.retry_backoff_max,
            &mut self.max_block,
            &mut self.metadata_max_age,
            &mut self.metadata_max_idle,
            &mut self.transaction_timeout,
        ] {
            *time = bounded(*time);
        }
        self
    }

    /// The pause after so many failures in a row.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        backoff::pause(self.retry_backoff, self.retry_backoff_max, failures)
    }

    /// What of this concerns producing; an error names a value that makes no sense.
    pub(super) fn settings(&self, options: &Options) -> Result<ProduceSettings, Error> {
        let wrong = |name: &str, reason: String| Error::Config { name: name.into(), reason };
        if self.max_in_flight == 0 {
            let name = "max.in.flight.requests.per.connection";
            return Err(wrong(name, "is zero".to_owned()));
        }
        if self.enable_idempotence {
            if self.acks != Acks::All {
                let reason = "must be all, or enable.idempotence must be false".to_owned();
                return Err(wrong("acks", reason));
            }
            if self.max_in_flight > IN_FLIGHT_IDEMPOTENT_MAX {
                let name = "max.in.flight.requests.per.connection";
                let reason = "must be at most 5, or enable.idempotence must be false".to_owned();
                return Err(wrong(name, reason));
            }
            if self.retries == 0 {
                let reason = "must not be 0, or enable.idempotence must be false".to_owned();
                return Err(wrong("retries", reason));
            }
        }
        if let Some(id) = &self.transactional_id {
            if !self.enable_idempotence {
                let reason = "must be true with a transactional.id".to_owned();
                return Err(wrong("enable.idempotence", reason));
            }
            if id.is_empty() || i16::try_from(id.len()).is_err() {
                let reason = "must have 1 to 32767 bytes".to_owned();
                return Err(wrong("transactional.id", reason));
            }
            if self.transaction_timeout.as_millis() == 0 {
                return Err(wrong("transaction.timeout.ms", "is zero".to_owned()));
            }
        }
        if self.buffer_memory < self.batch_size {
            return Err(wrong("buffer.memory", "has no room for one batch.size".to_owned()));
        }
        if i32::try_from(self.max_request_size).is_err() {
            return Err(wrong("max.request.size", "is larger than any request".to_owned()));
        }
        let least = self.linger.saturating_add(options.request_timeout);
        if self.delivery_timeout < least {
            let reason = format!(
                "is less than linger.ms and request.timeout.ms together, {} ms",
                least.as_millis()
            );
            return Err(wrong("delivery.timeout.ms", reason));
        }
        Sealer::default()
            .check(self.compression)
            .map_err(|error| wrong("compression.type", format!("cannot be used: {error}")))?;
        Ok(ProduceSettings {
            acks: self.acks,
            is_idempotent: self.enable_idempotence,
            batch_size: self.batch_size,
            linger_ms: ms(self.linger),
            max_request_size: self.max_request_size,
            compression: self.compression,
            max_in_flight: self.max_in_flight,
            delivery_timeout_ms: ms(self.delivery_timeout),
            retries: self.retries,
            retry_backoff_ms: ms(self.retry_backoff).max(1),
            retry_backoff_max_ms: ms(self.retry_backoff_max),
            is_adaptive: self.adaptive_partitioning,
            ignores_keys: self.ignore_keys,
            transactional_id: self.transactional_id.as_deref().map(Into::into),
        })
    }
}

/// In milliseconds.
pub(super) fn ms(time: Duration) -> u64 {
    u64::try_from(bounded(time).as_millis()).unwrap_or(u64::MAX / 4)
}
