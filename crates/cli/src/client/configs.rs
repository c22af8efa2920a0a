//! How consumers and producers behave, from properties.

use thalweg::{
    Acks, Assignor, ConsumerConfig, GroupProtocol, IsolationLevel, OffsetReset, ProducerConfig,
};
use thalweg_records::{Compression, CompressionSpec};

use super::error::CliError;
use super::properties::{Properties, refuse};

/// Puts what was given in place of what was there.
fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *field = given;
    }
}

/// A consumer's settings: those of `base`, and what the properties say otherwise.
pub fn consumer_config(
    properties: &Properties,
    base: ConsumerConfig,
) -> Result<ConsumerConfig, CliError> {
    let p = properties;
    let mut config = base;
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

fn group_protocol(p: &Properties) -> Result<Option<GroupProtocol>, CliError> {
    let protocol = p.filled("group.protocol").map(str::to_ascii_lowercase);
    let assignors = match p.filled("partition.assignment.strategy") {
        Some(list) => Some(list.split(',').map(assignor).collect::<Result<Vec<_>, _>>()?),
        None => None,
    };
    let server_assignor = p.filled("group.remote.assignor").map(str::to_owned);
    if server_assignor.is_some() && protocol.as_deref() != Some("consumer") {
        // Kafka's consumer refuses it, too.
        let why = "property group.remote.assignor is for group.protocol=consumer";
        return Err(CliError::Usage(why.into()));
    }
    match (protocol.as_deref(), assignors) {
        (None, None) => Ok(None),
        (None | Some("classic"), Some(assignors)) => Ok(Some(GroupProtocol::Classic { assignors })),
        (Some("classic"), None) => Ok(Some(GroupProtocol::default())),
        (Some("consumer"), None) => Ok(Some(GroupProtocol::Consumer { server_assignor })),
        (Some("consumer"), Some(_)) => Err(CliError::Usage(
            "property partition.assignment.strategy is for group.protocol=classic".into(),
        )),
        (Some(other), _) => Err(refuse("group.protocol", other, "classic or consumer")),
    }
}

/// An assignor by its name, or by the name of Kafka's class.
fn assignor(name: &str) -> Result<Assignor, CliError> {
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

/// A producer's settings: those of `base`, and what the properties say otherwise.
pub fn producer_config(
    properties: &Properties,
    base: ProducerConfig,
) -> Result<ProducerConfig, CliError> {
    let p = properties;
    let mut config = base;
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

fn compression(p: &Properties) -> Result<Option<CompressionSpec>, CliError> {
    let Some(name) = p.filled("compression.type") else { return Ok(None) };
    let codec = Compression::from_name(name)
        .ok_or_else(|| refuse("compression.type", name, "none, gzip, snappy, lz4 or zstd"))?;
    let level = format!("compression.{name}.level");
    let spec = match p.number(&level)? {
        None => CompressionSpec::new(codec),
        Some(number) => CompressionSpec::with_level(codec, number)
            .map_err(|error| CliError::Usage(format!("property {level}: {error}")))?,
    };
    Ok(Some(spec))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        let mut properties = Properties::default();
        for (name, value) in pairs {
            properties.set(name, value);
        }
        properties
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
        let config = consumer_config(&given, ConsumerConfig::default()).unwrap();
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
            assert!(consumer_config(&properties(&[bad]), ConsumerConfig::default()).is_err());
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
        let config = producer_config(&given, ProducerConfig::default()).unwrap();
        assert!(config.acks == Acks::Leader && !config.enable_idempotence);
        assert_eq!(config.compression.level(), 9);
        let given = properties(&[("retries", "0"), ("request.timeout.ms", "200000")]);
        let config = producer_config(&given, ProducerConfig::default()).unwrap();
        assert!(!config.enable_idempotence);
        assert_eq!(config.delivery_timeout, Duration::from_millis(200_005));
        for bad in [("acks", "2"), ("compression.type", "brotli"), ("retries", "-1")] {
            assert!(producer_config(&properties(&[bad]), ProducerConfig::default()).is_err());
        }
    }
}
