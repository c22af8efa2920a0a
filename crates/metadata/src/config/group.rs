//! A group's configuration, and the broker's bounds on it.

use std::collections::{BTreeMap, BTreeSet};

use super::broker::BrokerConfig;
use super::error::ConfigError;
use super::properties::Properties;
use super::synonyms::group_synonym;
use super::table::GROUP;
use super::value::{Value, java_trim, split_list};

/// The value a group runs under: its own, or the broker's default.
pub fn value(
    broker: &BrokerConfig,
    configs: &Properties,
    name: &str,
) -> Result<Option<Value>, ConfigError> {
    let key = GROUP.require(name)?;
    match configs.get(name) {
        Some(text) => key.parse(text).map(Some),
        None if name == STREAMS_ASSIGNOR => {
            Ok(streams_assignors(broker).next().map(|name| Value::String(name.to_owned())))
        }
        None => Ok(group_synonym(name)
            .and_then(|synonym| broker.value(synonym))
            .or_else(|| key.default_value())
            .cloned()),
    }
}

/// The number that a group has of its own, put within the broker's bounds: they may have changed since
/// it was set. `None` if it has none.
fn own_within_bounds(
    broker: &BrokerConfig,
    configs: &Properties,
    name: &str,
) -> Result<Option<i32>, ConfigError> {
    let key = GROUP.require(name)?;
    let Some(text) = configs.get(name) else { return Ok(None) };
    let (kind, setting) = name.split_once('.').unwrap_or((name, ""));
    let bound = |which: &str| broker.int_or_none(&format!("group.{kind}.{which}.{setting}"));
    match (key.parse(text)?, bound("min"), bound("max")) {
        // Not `clamp`, which panics when the bounds contradict each other.
        (Value::Int(value), Some(min), _) if value < min => Ok(Some(min)),
        (Value::Int(value), _, Some(max)) => Ok(Some(value.min(max))),
        (Value::Int(value), _, None) => Ok(Some(value)),
        _ => Err(ConfigError::conflict(format!("group config {name} is not a number"))),
    }
}

/// The values that a group runs under: its own within the broker's bounds, or else the broker's. A value of its own that
/// an older release accepted, or another release's record, is left out.
#[derive(Debug)]
pub struct GroupValues<'a> {
    broker: &'a BrokerConfig,
    configs: &'a Properties,
    errors: Vec<ConfigError>,
}

impl<'a> GroupValues<'a> {
    /// Of a group that sets `configs`.
    pub fn new(broker: &'a BrokerConfig, configs: &'a Properties) -> GroupValues<'a> {
        GroupValues { broker, configs, errors: Vec::new() }
    }

    /// A config of type int.
    pub fn int(&mut self, name: &str) -> i32 {
        let own = own_within_bounds(self.broker, self.configs, name).unwrap_or_else(|error| {
            self.errors.push(error);
            None
        });
        match own.map(Value::Int).or_else(|| self.default(name)) {
            Some(Value::Int(value)) => value,
            other => unreachable!("{name} is not an int config: {other:?}"),
        }
    }

    /// A config of type boolean.
    pub fn boolean(&self, name: &str) -> bool {
        match own_value(self.configs, name).or_else(|| self.default(name)) {
            Some(Value::Boolean(value)) => value,
            other => unreachable!("{name} is not a boolean config: {other:?}"),
        }
    }

    /// A config of type string.
    pub fn text(&self, name: &str) -> String {
        match own_value(self.configs, name).or_else(|| self.default(name)) {
            Some(Value::String(value)) => value,
            other => unreachable!("{name} is not a string config: {other:?}"),
        }
    }

    fn default(&self, name: &str) -> Option<Value> {
        value(self.broker, &Properties::new(), name).ok()?
    }

    /// What was wrong with numbers of its own.
    pub fn into_errors(self) -> Vec<ConfigError> {
        self.errors
    }
}

/// The value that a group has of its own, if it can be read.
fn own_value(configs: &Properties, name: &str) -> Option<Value> {
    GROUP.get(name)?.parse(configs.get(name)?).ok()
}

/// Checks what a group is to be configured with: names, values, and the broker's bounds on the values that are set.
pub fn validate(broker: &BrokerConfig, configs: &Properties) -> Result<(), ConfigError> {
    for name in configs.keys() {
        GROUP.require(name)?;
    }
    if configs.get(TAGS).is_some_and(|tags| names_a_tag_twice(tags)) {
        return Err(ConfigError::conflict(format!("{TAGS} must not contain duplicate tag keys.")));
    }
    let mut set = BTreeMap::new();
    for key in GROUP.keys() {
        if let Some(text) = configs.get(key.name) {
            set.insert(key.name, key.parse(text)?);
        }
    }
    let int = |name: &str| match set.get(name) {
        Some(Value::Int(value)) => Some(*value),
        _ => None,
    };
    for (kind, setting) in BOUNDED {
        let name = format!("{kind}.{setting}");
        let min = broker.int(&format!("group.{kind}.min.{setting}"));
        let max = broker.int(&format!("group.{kind}.max.{setting}"));
        if int(&name).is_some_and(|value| value < min || value > max) {
            return Err(ConfigError::conflict(format!(
                "{name} must be in the range {min} to {max} inclusive."
            )));
        }
    }
    for (name, bound) in [
        ("streams.num.standby.replicas", "group.streams.max.standby.replicas"),
        ("streams.num.warmup.replicas", "group.streams.max.warmup.replicas"),
    ] {
        let max = broker.int(bound);
        if int(name).is_some_and(|value| value > max) {
            return Err(ConfigError::conflict(format!(
                "{name} must be less than or equal to {max}"
            )));
        }
    }
    let min = broker.int("group.streams.min.task.offset.interval.ms");
    if int("streams.task.offset.interval.ms").is_some_and(|value| value < min) {
        return Err(ConfigError::conflict(format!(
            "streams.task.offset.interval.ms must be greater than or equal to {min}"
        )));
    }
    if let Some(Value::String(assignor)) = set.get(STREAMS_ASSIGNOR)
        && !streams_assignors(broker).any(|name| name == assignor)
    {
        let names: Vec<&str> = streams_assignors(broker).collect();
        return Err(ConfigError::conflict(format!(
            "{STREAMS_ASSIGNOR}={assignor} is none of the broker's assignors: {}",
            names.join(", ")
        )));
    }
    for kind in ["consumer", "share", "streams"] {
        let (session, heartbeat) =
            (format!("{kind}.session.timeout.ms"), format!("{kind}.heartbeat.interval.ms"));
        let effective =
            |name: &str| int(name).unwrap_or_else(|| broker.int(&format!("group.{name}")));
        let is_set = int(&session).is_some() || int(&heartbeat).is_some();
        if is_set && effective(&session) <= effective(&heartbeat) {
            return Err(ConfigError::conflict(format!(
                "{session} must be greater than {heartbeat}"
            )));
        }
    }
    if let Some(Value::String(topic)) = set.get(DEAD_LETTER_TOPIC)
        && topic.starts_with("__")
    {
        return Err(ConfigError::conflict(format!("{DEAD_LETTER_TOPIC} must not start with __")));
    }
    Ok(())
}

const DEAD_LETTER_TOPIC: &str = "errors.deadletterqueue.topic.name";
const STREAMS_ASSIGNOR: &str = "streams.assignor.name";
const TAGS: &str = "streams.rack.aware.assignment.tags";

/// Group configs that a broker bounds by `group.<kind>.min.<setting>` and `group.<kind>.max.<setting>`, in the order in
/// which Kafka checks them.
const BOUNDED: [(&str, &str); 12] = [
    ("consumer", "heartbeat.interval.ms"),
    ("consumer", "session.timeout.ms"),
    ("consumer", "assignment.interval.ms"),
    ("share", "heartbeat.interval.ms"),
    ("share", "session.timeout.ms"),
    ("share", "record.lock.duration.ms"),
    ("share", "delivery.count.limit"),
    ("share", "partition.max.record.locks"),
    ("share", "assignment.interval.ms"),
    ("streams", "heartbeat.interval.ms"),
    ("streams", "session.timeout.ms"),
    ("streams", "assignment.interval.ms"),
];

/// Names of the broker's assignors for streams groups; the first is the default.
fn streams_assignors(broker: &BrokerConfig) -> impl Iterator<Item = &str> {
    const STICKY_CLASS: &str =
        "org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor";
    let written = broker.list("group.streams.assignors").iter();
    written.map(|name| if name == STICKY_CLASS { "sticky" } else { name.as_str() })
}

/// Whether a list of tags, as it is written, names one of them twice. The parsed list does not tell: it has each once.
pub(super) fn names_a_tag_twice(text: &str) -> bool {
    let mut seen = BTreeSet::new();
    split_list(java_trim(text)).into_iter().any(|tag| !seen.insert(tag))
}

#[cfg(test)]
mod tests {
    use super::super::broker::Mode;
    use super::*;

    #[test]
    fn bounds_are_the_brokers() {
        let broker = BrokerConfig::new(Properties::new(), Mode::Embedded).expect("a broker config");
        let check = |pairs: &[(&str, &str)]| {
            let configs =
                pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            validate(&broker, &configs)
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[("consumer.session.timeout.ms", "50000")]), Ok(()));
        assert_eq!(check(&[("share.auto.offset.reset", "by_duration:PT1H")]), Ok(()));
        for bad in [
            ("consumer.session.timeout.ms", "44999"),
            ("consumer.heartbeat.interval.ms", "15001"),
            ("consumer.assignment.interval.ms", "15001"),
            ("share.record.lock.duration.ms", "60001"),
            ("streams.num.standby.replicas", "3"),
            ("share.auto.offset.reset", "none"),
            ("streams.num.warmup.replicas", "21"),
            ("streams.task.offset.interval.ms", "14999"),
            ("streams.assignor.name", "mock"),
            ("streams.rack.aware.assignment.tags", "zone, rack,zone"),
            ("errors.deadletterqueue.topic.name", "__letters"),
            ("unknown", "1"),
        ] {
            assert!(check(&[bad]).is_err(), "{bad:?}");
        }
        for fine in [
            ("streams.num.warmup.replicas", "20"),
            ("streams.assignor.name", "sticky"),
            ("streams.rack.aware.assignment.tags", "zone, rack"),
            ("errors.deadletterqueue.topic.name", "_letters"),
        ] {
            assert_eq!(check(&[fine]), Ok(()), "{fine:?}");
        }
        let message = check(&[("consumer.session.timeout.ms", "44999")]).unwrap_err().to_string();
        assert_eq!(
            message,
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."
        );
    }
}
