//! How consumers and producers behave, from properties.

use thalweg_records::{Compression, CompressionSpec};

use super::{Properties, refuse, wrong};
use crate::admin::AdminConfig;
use crate::consumer::ConsumerConfig;
use crate::core::fetch::{IsolationLevel, OffsetReset};
use crate::core::group::{Assignor, GroupProtocol};
use crate::core::produce::Acks;
use crate::error::Error;
use crate::producer::ProducerConfig;

/// Puts what was given in place of what was there.
fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *field = given;
    }
}

impl ConsumerConfig {
    /// Settings by Kafka's names; what is not given has its default. What nobody takes says
    /// [`Properties::unused`].
    ///
    /// # Errors
    /// [`Error::Config`] names a value that makes no sense.
    pub fn from_properties(properties: &Properties) -> Result<ConsumerConfig, Error> {
        consumer_config(properties)
    }
}

impl ProducerConfig {
    /// Settings by Kafka's names; what is not given has its default. As in Kafka's producer,
    /// settings that go against idempotence turn it off where it was not asked for. What nobody
    /// takes says [`Properties::unused`].
    ///
    /// # Errors
    /// [`Error::Config`] names a value that makes no sense.
    pub fn from_properties(properties: &Properties) -> Result<ProducerConfig, Error> {
        producer_config(properties)
    }
}

impl AdminConfig {
    /// Settings by Kafka's names; what is not given has its default. What nobody takes says
    /// [`Properties::unused`].
    ///
    /// # Errors
    /// [`Error::Config`] names a value that makes no sense.
    pub fn from_properties(properties: &Properties) -> Result<AdminConfig, Error> {
        let mut config = AdminConfig::default();
        for (field, name) in [
            (&mut config.timeout, "default.api.timeout.ms"),
            (&mut config.retry_backoff, "retry.backoff.ms"),
            (&mut config.retry_backoff_max, "retry.backoff.max.ms"),
        ] {
            set(field, properties.millis(name)?);
        }
        Ok(config)
    }
}

fn consumer_config(p: &Properties) -> Result<ConsumerConfig, Error> {
    let mut config = ConsumerConfig::default();
    let owned = |name: &str| p.filled(name).map(str::to_owned);
    set(&mut config.group_id, owned("group.id").map(Some));
    set(&mut config.group_instance_id, owned("group.instance.id").map(Some));
    set(&mut config.client_rack, owned("client.rack"));
    set(&mut config.auto_commit, p.boolean("enable.auto.commit")?);
    set(&mut config.check_crcs, p.boolean("check.crcs")?);
    for (field, name) in [
        (&mut config.auto_commit_interval, "auto.commit.interval.ms"),
        (&mut config.session_timeout, "session.timeout.ms"),
        (&mut config.heartbeat_interval, "heartbeat.interval.ms"),
        (&mut config.max_poll_interval, "max.poll.interval.ms"),
        (&mut config.default_api_timeout, "default.api.timeout.ms"),
        (&mut config.fetch_max_wait, "fetch.max.wait.ms"),
        (&mut config.metadata_max_age, "metadata.max.age.ms"),
        (&mut config.retry_backoff, "retry.backoff.ms"),
        (&mut config.retry_backoff_max, "retry.backoff.max.ms"),
    ] {
        set(field, p.millis(name)?);
    }
    for (field, name) in [
        (&mut config.fetch_min_bytes, "fetch.min.bytes"),
        (&mut config.fetch_max_bytes, "fetch.max.bytes"),
        (&mut config.max_partition_fetch_bytes, "max.partition.fetch.bytes"),
    ] {
        set(field, p.number(name)?);
    }
    if let Some(reset) = p.filled("auto.offset.reset") {
        config.auto_offset_reset = match reset.to_ascii_lowercase().as_str() {
            "earliest" => OffsetReset::Earliest,
            "latest" => OffsetReset::Latest,
            "none" => OffsetReset::None,
            _ => return Err(refuse("auto.offset.reset", reset, "earliest, latest or none")),
        };
    }
    if let Some(level) = p.filled("isolation.level") {
        config.isolation_level = match level.to_ascii_lowercase().as_str() {
            "read_uncommitted" => IsolationLevel::ReadUncommitted,
            "read_committed" => IsolationLevel::ReadCommitted,
            _ => {
                let wanted = "read_uncommitted or read_committed";
                return Err(refuse("isolation.level", level, wanted));
            }
        };
    }
    set(&mut config.group_protocol, group_protocol(p)?);
    Ok(config)
}

fn group_protocol(p: &Properties) -> Result<Option<GroupProtocol>, Error> {
    let protocol = p.filled("group.protocol").map(str::to_ascii_lowercase);
    let assignors = match p.filled("partition.assignment.strategy") {
        Some(list) => Some(list.split(',').map(assignor).collect::<Result<Vec<_>, _>>()?),
        None => None,
    };
    let server_assignor = p.filled("group.remote.assignor").map(str::to_owned);
    if server_assignor.is_some() && protocol.as_deref() != Some("consumer") {
        // Kafka's consumer refuses it, too.
        return Err(wrong("group.remote.assignor", "is for group.protocol=consumer"));
    }
    match (protocol.as_deref(), assignors) {
        (None, None) => Ok(None),
        (None | Some("classic"), Some(assignors)) => Ok(Some(GroupProtocol::Classic { assignors })),
        (Some("classic"), None) => Ok(Some(GroupProtocol::default())),
        (Some("consumer"), None) => Ok(Some(GroupProtocol::Consumer { server_assignor })),
        (Some("consumer"), Some(_)) => {
            Err(wrong("partition.assignment.strategy", "is for group.protocol=classic"))
        }
        (Some(other), _) => Err(refuse("group.protocol", other, "classic or consumer")),
    }
}

/// An assignor by its name, or by the name of Kafka's class.
fn assignor(name: &str) -> Result<Assignor, Error> {
    const PACKAGE: &str = "org.apache.kafka.clients.consumer.";
    let name = name.trim();
    match name.strip_prefix(PACKAGE).unwrap_or(name) {
        "range" | "RangeAssignor" => Ok(Assignor::Range),
        "roundrobin" | "RoundRobinAssignor" => Ok(Assignor::RoundRobin),
        "sticky" | "StickyAssignor" => Ok(Assignor::Sticky),
        "cooperative-sticky" | "CooperativeStickyAssignor" => Ok(Assignor::CooperativeSticky),
        _ => {
            let wanted = "range, roundrobin, sticky or cooperative-sticky";
            Err(refuse("partition.assignment.strategy", name, wanted))
        }
    }
}

fn producer_config(p: &Properties) -> Result<ProducerConfig, Error> {
    let mut config = ProducerConfig::default();
    if let Some(acks) = p.filled("acks") {
        config.acks = match acks {
            "0" => Acks::None,
            "1" => Acks::Leader,
            "all" | "-1" => Acks::All,
            _ => return Err(refuse("acks", acks, "0, 1 or all")),
        };
    }
    match p.boolean("enable.idempotence")? {
        Some(idempotent) => config.enable_idempotence = idempotent,
        // As in Kafka's producer: who asks for fewer acknowledgements alone does not mean both.
        None if config.acks != Acks::All => config.enable_idempotence = false,
        None => {}
    }
    config.transactional_id = p.filled("transactional.id").map(str::to_owned);
    let says_idempotence = p.filled("enable.idempotence").is_some();
    set(&mut config.batch_size, p.number("batch.size")?);
    set(&mut config.buffer_memory, p.number("buffer.memory")?);
    set(&mut config.max_request_size, p.number("max.request.size")?);
    set(&mut config.max_in_flight, p.number("max.in.flight.requests.per.connection")?);
    set(&mut config.retries, p.number("retries")?);
    for (field, name) in [
        (&mut config.linger, "linger.ms"),
        (&mut config.delivery_timeout, "delivery.timeout.ms"),
        (&mut config.retry_backoff, "retry.backoff.ms"),
        (&mut config.retry_backoff_max, "retry.backoff.max.ms"),
        (&mut config.max_block, "max.block.ms"),
        (&mut config.metadata_max_age, "metadata.max.age.ms"),
        (&mut config.metadata_max_idle, "metadata.max.idle.ms"),
        (&mut config.transaction_timeout, "transaction.timeout.ms"),
    ] {
        set(field, p.millis(name)?);
    }
    // Neither does who asks for no retries, or for more under way than goes with it.
    if !says_idempotence && (config.retries == 0 || config.max_in_flight > 5) {
        config.enable_idempotence = false;
    }
    // What was not said gives way to what was.
    let request = p.millis("request.timeout.ms")?.unwrap_or_default();
    if p.filled("delivery.timeout.ms").is_none() {
        let least = config.linger.saturating_add(request);
        config.delivery_timeout = config.delivery_timeout.max(least);
    }
    let adaptive = p.boolean("partitioner.adaptive.partitioning.enable")?;
    set(&mut config.adaptive_partitioning, adaptive);
    set(&mut config.ignore_keys, p.boolean("partitioner.ignore.keys")?);
    set(&mut config.auto_create_topics, p.boolean("allow.auto.create.topics")?);
    set(&mut config.compression, compression(p)?);
    Ok(config)
}

fn compression(p: &Properties) -> Result<Option<CompressionSpec>, Error> {
    let Some(name) = p.filled("compression.type") else { return Ok(None) };
    let codec = Compression::from_name(name)
        .ok_or_else(|| refuse("compression.type", name, "none, gzip, snappy, lz4 or zstd"))?;
    let level = format!("compression.{name}.level");
    let spec = match p.number(&level)? {
        None => CompressionSpec::new(codec),
        Some(number) => CompressionSpec::with_level(codec, number)
            .map_err(|error| wrong(&level, format!("cannot be used: {error}")))?,
    };
    Ok(Some(spec))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().copied().collect()
    }

    #[test]
    fn consumers() {
        let given = properties(&[
            ("group.id", "g"),
            ("auto.offset.reset", "EARLIEST"),
            ("isolation.level", "read_committed"),
            ("fetch.max.wait.ms", "20"),
            ("partition.assignment.strategy", "org.apache.kafka.clients.consumer.StickyAssignor"),
        ]);
        let config = consumer_config(&given).unwrap();
        assert_eq!(config.group_id.as_deref(), Some("g"));
        assert_eq!(config.auto_offset_reset, OffsetReset::Earliest);
        assert_eq!(config.isolation_level, IsolationLevel::ReadCommitted);
        assert_eq!(config.fetch_max_wait, Duration::from_millis(20));
        let GroupProtocol::Classic { assignors } = config.group_protocol else { panic!() };
        assert_eq!(assignors, [Assignor::Sticky]);
        for bad in [
            ("auto.offset.reset", "begin"),
            ("group.protocol", "share"),
            ("group.remote.assignor", "uniform"),
            ("partition.assignment.strategy", "mine"),
            ("fetch.min.bytes", "99999999999"),
        ] {
            assert!(consumer_config(&properties(&[bad])).is_err());
        }
    }

    #[test]
    fn producers() {
        let given = properties(&[
            ("acks", "1"),
            ("compression.type", "zstd"),
            ("compression.zstd.level", "9"),
            ("compression.gzip.level", "1"),
        ]);
        let config = producer_config(&given).unwrap();
        assert!(config.acks == Acks::Leader && !config.enable_idempotence);
        assert_eq!(config.compression.level(), 9);
        let given = properties(&[("retries", "0"), ("request.timeout.ms", "200000")]);
        let config = producer_config(&given).unwrap();
        assert!(!config.enable_idempotence);
        assert_eq!(config.delivery_timeout, Duration::from_millis(200_005));
        assert_eq!(config.transactional_id, None);
        let given = properties(&[("transactional.id", "pay"), ("transaction.timeout.ms", "2500")]);
        let config = producer_config(&given).unwrap();
        assert_eq!(config.transactional_id.as_deref(), Some("pay"));
        assert_eq!(config.transaction_timeout, Duration::from_millis(2500));
        let bad_timeout = ("transaction.timeout.ms", "soon");
        for bad in [("acks", "2"), ("compression.type", "brotli"), ("retries", "-1"), bad_timeout] {
            assert!(producer_config(&properties(&[bad])).is_err());
        }
    }
}
