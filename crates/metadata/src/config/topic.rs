//! A topic's configuration: what the topic sets itself, and the broker's defaults for the rest.

use std::collections::BTreeMap;

use super::broker::BrokerConfig;
use super::describe::ConfigSource;
use super::error::ConfigError;
pub use super::r#gen::topic::TopicScalars;
use super::properties::Properties;
use super::synonyms::Unit;
use super::table::TOPIC;
use super::value::Value;

/// Codec in which a topic's batches are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicCompression {
    /// As the producer sent them.
    Producer,
    /// Not compressed.
    Uncompressed,
    /// gzip.
    Gzip,
    /// Snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl TopicCompression {
    fn from_name(name: &str) -> TopicCompression {
        match name {
            "uncompressed" => TopicCompression::Uncompressed,
            "gzip" => TopicCompression::Gzip,
            "snappy" => TopicCompression::Snappy,
            "lz4" => TopicCompression::Lz4,
            "zstd" => TopicCompression::Zstd,
            // The registry lets no other name through.
            _ => TopicCompression::Producer,
        }
    }
}

/// The configuration a topic runs under.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicConfig {
    /// Values in the order of the registry.
    values: Vec<Option<Value>>,
    /// `cleanup.policy` contains `delete`.
    pub delete: bool,
    /// `cleanup.policy` contains `compact`.
    pub compact: bool,
    /// `compression.type`.
    pub compression: TopicCompression,
    /// `message.timestamp.type` is `LogAppendTime`.
    pub log_append_time: bool,
    /// The configs that are numbers or booleans. `segment_bytes` is `internal.segment.bytes` where that is set.
    pub scalars: TopicScalars,
}

/// The values that the broker's configuration gives topics, by the topic configs' names.
pub fn broker_values(broker: &BrokerConfig) -> BTreeMap<&'static str, Value> {
    super::synonyms::TOPIC_SYNONYMS
        .iter()
        .filter_map(|(topic, synonyms)| Some((*topic, broker_value(broker, topic, synonyms)?)))
        .collect()
}

/// The value that the broker's configuration gives topics for one topic config.
fn broker_value(broker: &BrokerConfig, name: &str, synonyms: &[(&str, Unit)]) -> Option<Value> {
    Some(match name {
        "segment.ms" => Value::Long(broker.log_roll_ms()),
        "segment.jitter.ms" => Value::Long(broker.log_roll_jitter_ms()),
        "flush.ms" => Value::Long(broker.log_flush_interval_ms()),
        "retention.ms" => Value::Long(broker.log_retention_ms()),
        _ => {
            let (synonym, _) = synonyms.first()?;
            broker.value(synonym)?.clone()
        }
    })
}

/// The value of one config of a topic that sets `overrides`; `None` if there is none, or what the topic sets is not
/// valid.
pub fn value(broker: &BrokerConfig, overrides: &Properties, name: &str) -> Option<Value> {
    let key = TOPIC.get(name)?;
    match overrides.get(name) {
        Some(text) => key.parse(text).ok(),
        None => {
            let synonyms = super::synonyms::topic_synonyms(name);
            broker_value(broker, name, synonyms).or_else(|| key.default_value().cloned())
        }
    }
}

impl TopicConfig {
    /// The configuration of a topic that sets `overrides`.
    ///
    /// Names that no topic config has are left alone, values that are not valid are an error.
    pub fn new(broker: &BrokerConfig, overrides: &Properties) -> Result<TopicConfig, ConfigError> {
        let mut defaults = broker_values(broker);
        let mut values = Vec::with_capacity(TOPIC.keys().len());
        for key in TOPIC.keys() {
            values.push(match overrides.get(key.name) {
                Some(text) => Some(key.parse(text)?),
                None => defaults.remove(key.name).or_else(|| key.default_value().cloned()),
            });
        }
        let read = Values { values: &values };
        let mut scalars = TopicScalars::read(read);
        scalars.segment_bytes = scalars.internal_segment_bytes.unwrap_or(scalars.segment_bytes);
        let policy = read.list("cleanup.policy");
        let config = TopicConfig {
            delete: policy.iter().any(|policy| policy == "delete"),
            compact: policy.iter().any(|policy| policy == "compact"),
            compression: TopicCompression::from_name(read.text("compression.type")),
            log_append_time: read.text("message.timestamp.type") == "LogAppendTime",
            scalars,
            values,
        };
        Ok(config)
    }

    /// The value of a config; `None` if it is unset or unknown.
    pub fn value(&self, name: &str) -> Option<&Value> {
        Values { values: &self.values }.get(name)
    }
}

/// The configs that are numbers or booleans, which `gen/topic.rs` lists: name and type of each, and Kafka's default.
macro_rules! scalars {
    ($($field:ident: $kind:ident = $name:literal, $default:expr;)*) => {
        /// The configs of a topic that are numbers or booleans.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct TopicScalars {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub $field: scalars!(@type $kind),
            )*
        }

        impl TopicScalars {
            pub(in crate::config) fn read(values: Values<'_>) -> TopicScalars {
                TopicScalars { $($field: values.$kind($name),)* }
            }
        }

        impl Default for TopicScalars {
            fn default() -> TopicScalars {
                TopicScalars { $($field: $default,)* }
            }
        }
    };
    (@type int) => { i32 };
    (@type int_or_none) => { Option<i32> };
    (@type long) => { i64 };
    (@type double) => { f64 };
    (@type boolean) => { bool };
}

pub(in crate::config) use scalars;

/// Values by their names, in the order of the registry. A type that the registry does not agree with is an error of the
/// program.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    values: &'a [Option<Value>],
}

impl<'a> Values<'a> {
    fn get(self, name: &str) -> Option<&'a Value> {
        let at = TOPIC.keys().binary_search_by(|key| key.name.cmp(name)).ok()?;
        self.values.get(at)?.as_ref()
    }

    pub(super) fn int(self, name: &str) -> i32 {
        self.int_or_none(name).unwrap_or_else(|| unreachable!("{name} is not an int config"))
    }

    pub(super) fn int_or_none(self, name: &str) -> Option<i32> {
        match self.get(name) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn long(self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Long(value)) => *value,
            other => unreachable!("{name} is not a long config: {other:?}"),
        }
    }

    pub(super) fn double(self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Double(value)) => *value,
            other => unreachable!("{name} is not a double config: {other:?}"),
        }
    }

    pub(super) fn boolean(self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Boolean(value)) => *value,
            other => unreachable!("{name} is not a boolean config: {other:?}"),
        }
    }

    fn text(self, name: &str) -> &'a str {
        match self.get(name) {
            Some(Value::String(value)) => value,
            other => unreachable!("{name} is not a string config: {other:?}"),
        }
    }

    fn list(self, name: &str) -> &'a [String] {
        match self.get(name) {
            Some(Value::List(values)) => values,
            other => unreachable!("{name} is not a list config: {other:?}"),
        }
    }
}

/// A topic's config as the controller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveConfig {
    /// The config.
    pub name: &'static str,
    /// Its text where it is set, in the topic config's unit.
    pub value: Option<String>,
    /// Where it is set.
    pub source: ConfigSource,
    /// Whether the value must be hidden.
    pub is_sensitive: bool,
}

/// One config of a topic that sets `overrides`, from where it is set first: the topic, this broker,
/// all brokers, the file. What nobody sets has the topic config's own default.
pub fn effective(
    broker: &BrokerConfig,
    overrides: &Properties,
    name: &str,
) -> Option<EffectiveConfig> {
    let key = TOPIC.get(name)?;
    let found = |value: Option<String>, source| {
        Some(EffectiveConfig { name: key.name, value, source, is_sensitive: key.is_sensitive() })
    };
    if let Some(text) = overrides.get(name) {
        return found(Some(text.clone()), ConfigSource::Topic);
    }
    for (set, source) in [
        (broker.dynamic_broker(), ConfigSource::DynamicBroker),
        (broker.dynamic_default(), ConfigSource::DynamicDefaultBroker),
        (broker.static_props(), ConfigSource::StaticBroker),
    ] {
        for (synonym, unit) in super::synonyms::topic_synonyms(name) {
            if let Some(text) = set.get(*synonym) {
                let text = match unit {
                    Unit::Same => text.clone(),
                    _ => match super::value::java_trim(text).parse::<i32>() {
                        Ok(count) => (i64::from(count) * unit.millis()).to_string(),
                        Err(_) => "0".to_owned(),
                    },
                };
                return found(Some(text), source);
            }
        }
    }
    found(key.default_value().map(Value::to_text), ConfigSource::Default)
}

/// All configs of a topic that sets `overrides`, by name; internal ones only where they are set.
pub fn all_effective(broker: &BrokerConfig, overrides: &Properties) -> Vec<EffectiveConfig> {
    TOPIC
        .keys()
        .iter()
        .filter(|key| !key.internal || overrides.contains_key(key.name))
        .filter_map(|key| effective(broker, overrides, key.name))
        .collect()
}

/// Checks what a topic is to be configured with: names, values, and the rules between them.
///
/// `existing` is what it is configured with now.
pub fn validate(
    broker: &BrokerConfig,
    existing: &Properties,
    configs: &Properties,
) -> Result<(), ConfigError> {
    for name in configs.keys() {
        TOPIC.require(name)?;
    }
    let config = TopicConfig::new(broker, configs)?;
    let read = Values { values: &config.values };
    let min = read.long("min.compaction.lag.ms");
    let max = read.long("max.compaction.lag.ms");
    if min > max {
        return Err(ConfigError::conflict(format!(
            "min.compaction.lag.ms={min} must not exceed max.compaction.lag.ms={max}"
        )));
    }
    if read.boolean("remote.storage.enable") {
        return validate_remote(broker, &config, read);
    }
    let was_remote =
        existing.get("remote.storage.enable").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    if was_remote && !read.boolean("remote.log.delete.on.disable") {
        return Err(ConfigError::conflict(
            "remote.storage.enable=false needs remote.log.delete.on.disable=true, which deletes \
             the remote data; remote.log.copy.disable=true keeps it readable",
        ));
    }
    Ok(())
}

fn validate_remote(
    broker: &BrokerConfig,
    config: &TopicConfig,
    read: Values<'_>,
) -> Result<(), ConfigError> {
    if !broker.boolean("remote.log.storage.system.enable") {
        return Err(ConfigError::conflict(
            "remote.storage.enable=true needs remote.log.storage.system.enable=true on the broker",
        ));
    }
    let policy = read.list("cleanup.policy");
    if !policy.is_empty() && policy != ["delete"] {
        return Err(ConfigError::conflict(format!(
            "remote.storage.enable=true needs cleanup.policy=delete, not {}",
            policy.join(",")
        )));
    }
    for (name, local_name, lag_name, limit) in [
        (
            "retention.bytes",
            "local.retention.bytes",
            "remote.copy.lag.bytes",
            config.scalars.retention_bytes,
        ),
        ("retention.ms", "local.retention.ms", "remote.copy.lag.ms", config.scalars.retention_ms),
    ] {
        let local = read.long(local_name);
        let unlimited = if name == "retention.ms" { limit == -1 } else { limit < 0 };
        if !unlimited && local != -2 && (local == -1 || local > limit) {
            return Err(ConfigError::conflict(format!(
                "{local_name}={local} must not exceed {name}={limit}"
            )));
        }
        copy_lag_within_retention(lag_name, read.long(lag_name), local_name, local, limit)?;
        if read.boolean("remote.log.copy.disable") && local != -2 && local != limit {
            return Err(ConfigError::conflict(format!(
                "remote.log.copy.disable=true needs {local_name}={local} to equal {name}={limit}"
            )));
        }
    }
    Ok(())
}

/// A segment that waits to be copied must not be due for deletion before (KIP-1241). `limit` is the retention that a
/// `local` of -2 stands for; a negative one is no limit.
pub(super) fn copy_lag_within_retention(
    lag_name: &str,
    lag: i64,
    local_name: &str,
    local: i64,
    limit: i64,
) -> Result<(), ConfigError> {
    let effective = if local == -2 { limit } else { local };
    if lag > 0 && effective >= 0 && lag > effective {
        let reason = format!("must not exceed {local_name}, which is {effective}");
        return Err(ConfigError::invalid(lag_name, lag, reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::broker::Mode;
    use super::*;

    fn props(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn defaults_come_from_the_broker() {
        let broker = BrokerConfig::new(
            props(&[("log.retention.hours", "1"), ("message.max.bytes", "77")]),
            Mode::Embedded,
        )
        .expect("a broker config");
        let config = TopicConfig::new(&broker, &Properties::new()).expect("a topic config");
        assert_eq!(config.scalars.retention_ms, 3_600_000);
        assert_eq!(config.scalars.max_message_bytes, 77);
        assert_eq!(config.scalars.segment_bytes, 1 << 30);
        assert!(config.delete && !config.compact);
        let config = TopicConfig::new(
            &broker,
            &props(&[("retention.ms", "5"), ("internal.segment.bytes", "9"), ("strange", "x")]),
        )
        .expect("a topic config");
        assert_eq!((config.scalars.retention_ms, config.scalars.segment_bytes), (5, 9));
    }

    #[test]
    fn verdicts() {
        let broker = BrokerConfig::new(Properties::new(), Mode::Embedded).expect("a broker config");
        let check = |pairs: &[(&str, &str)]| validate(&broker, &Properties::new(), &props(pairs));
        assert_eq!(check(&[("cleanup.policy", "compact,delete,compact")]), Ok(()));
        assert_eq!(check(&[("cleanup.policy", "")]), Ok(()));
        for bad in [
            ("cleanup.policy", "keep"),
            ("cleanup.policy", "delete,"),
            ("segment.bytes", "1"),
            ("retention.ms", "-2"),
            ("compression.gzip.level", "0"),
            ("compression.type", "none"),
            ("unknown.config", "1"),
            ("remote.storage.enable", "true"),
            ("min.compaction.lag.ms", "x"),
        ] {
            assert!(check(&[bad]).is_err(), "{bad:?}");
        }
        assert!(check(&[("min.compaction.lag.ms", "2"), ("max.compaction.lag.ms", "1")]).is_err());
    }

    #[test]
    fn remote_copy_lag_is_within_local_retention() {
        let base = props(&[
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
            ("controller.listener.names", "CONTROLLER"),
            ("controller.quorum.bootstrap.servers", "localhost:9093"),
            ("remote.log.storage.system.enable", "true"),
        ]);
        let broker = BrokerConfig::new(base, Mode::Kafka).expect("a broker config");
        let check = |lag_ms: &str, local_ms: &str, ms: &str| {
            let configs = [
                ("remote.storage.enable", "true"),
                ("remote.copy.lag.ms", lag_ms),
                ("local.retention.ms", local_ms),
                ("retention.ms", ms),
            ];
            validate(&broker, &Properties::new(), &props(&configs)).is_ok()
        };
        assert!(check("0", "0", "9") && check("-1", "0", "9"));
        assert!(check("5", "5", "9") && !check("6", "5", "9"));
        // -2 is the whole retention, which may have no limit.
        assert!(check("9", "-2", "9") && !check("10", "-2", "9"));
        assert!(check("10", "-2", "-1") && check("10", "-1", "-1"));
        let lag_bytes = [
            ("remote.storage.enable", "true"),
            ("remote.copy.lag.bytes", "6"),
            ("local.retention.bytes", "5"),
        ];
        assert!(validate(&broker, &Properties::new(), &props(&lag_bytes)).is_err());
    }
}
