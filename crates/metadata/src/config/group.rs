//! A group's configuration, and the broker's bounds on it.

use super::broker::BrokerConfig;
use super::error::ConfigError;
use super::properties::Properties;
use super::synonyms::group_synonym;
use super::table::GROUP;
use super::value::Value;

/// The value a group runs under: its own, or the broker's default.
pub fn value(
    broker: &BrokerConfig,
    configs: &Properties,
    name: &str,
) -> Result<Option<Value>, ConfigError> {
    let key = GROUP.require(name)?;
    match configs.get(name) {
        Some(text) => key.parse(text).map(Some),
        None => Ok(group_synonym(name)
            .and_then(|synonym| broker.value(synonym))
            .or_else(|| key.default_value())
            .cloned()),
    }
}

/// The number that a group has of its own, put within the broker's bounds: they may have changed since
/// it was set. `None` if it has none.
pub fn own_within_bounds(
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

/// Checks what a group is to be configured with: names, values, and the broker's bounds.
pub fn validate(broker: &BrokerConfig, configs: &Properties) -> Result<(), ConfigError> {
    for name in configs.keys() {
        GROUP.require(name)?;
    }
    for key in GROUP.keys() {
        if let Some(text) = configs.get(key.name) {
            key.parse(text)?;
        }
    }
    let int = |name: &str| -> Result<i32, ConfigError> {
        match value(broker, configs, name)? {
            Some(Value::Int(value)) => Ok(value),
            _ => Err(ConfigError::conflict(format!("group config {name} is not a number"))),
        }
    };
    for kind in ["consumer", "share", "streams"] {
        for setting in ["heartbeat.interval.ms", "session.timeout.ms"] {
            within(broker, kind, setting, int(&format!("{kind}.{setting}"))?)?;
        }
        // The default may change under the group's feet, so only a value of its own is bound.
        let interval = format!("{kind}.assignment.interval.ms");
        if configs.contains_key(&interval) {
            within(broker, kind, "assignment.interval.ms", int(&interval)?)?;
        }
    }
    for setting in ["record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"]
    {
        within(broker, "share", setting, int(&format!("share.{setting}"))?)?;
    }
    let standbys = int("streams.num.standby.replicas")?;
    let max = broker.int("group.streams.max.standby.replicas");
    if standbys > max {
        return Err(ConfigError::conflict(format!(
            "streams.num.standby.replicas={standbys} must be at most \
             group.streams.max.standby.replicas={max}"
        )));
    }
    for kind in ["consumer", "share", "streams"] {
        let session = int(&format!("{kind}.session.timeout.ms"))?;
        let heartbeat = int(&format!("{kind}.heartbeat.interval.ms"))?;
        if session <= heartbeat {
            return Err(ConfigError::conflict(format!(
                "{kind}.session.timeout.ms={session} must be greater than \
                 {kind}.heartbeat.interval.ms={heartbeat}"
            )));
        }
    }
    Ok(())
}

fn within(broker: &BrokerConfig, kind: &str, setting: &str, value: i32) -> Result<(), ConfigError> {
    let (min_name, max_name) =
        (format!("group.{kind}.min.{setting}"), format!("group.{kind}.max.{setting}"));
    let (min, max) = (broker.int(&min_name), broker.int(&max_name));
    if value < min {
        return Err(ConfigError::conflict(format!(
            "{kind}.{setting}={value} must be at least {min_name}={min}"
        )));
    }
    if value > max {
        return Err(ConfigError::conflict(format!(
            "{kind}.{setting}={value} must be at most {max_name}={max}"
        )));
    }
    Ok(())
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
            ("unknown", "1"),
        ] {
            assert!(check(&[bad]).is_err(), "{bad:?}");
        }
    }
}
