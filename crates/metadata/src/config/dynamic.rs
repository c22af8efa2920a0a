//! Dynamic broker configs: which may change while the broker runs, and to what.

use thalweg_wire::ErrorCode;

use super::broker::BrokerConfig;
use super::error::ConfigError;
use super::listeners::Endpoint;
use super::properties::Properties;
use super::synonyms::listener_config;
use super::table::{BROKER, BROKER_DYNAMIC_ONLY, Update, broker_key};
use super::value::Value;
use crate::ApiError;

/// TLS configs that can change only for a listener, never for all at once.
const ONLY_PER_LISTENER: [&str; 10] = [
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
];

/// Listener configs that may also stand among the defaults of all brokers.
const CLUSTER_WIDE_PER_LISTENER: [&str; 3] =
    ["max.connections", "max.connection.creation.rate", "num.network.threads"];

/// Thread counts, which may at most double or halve in one step.
const THREAD_COUNTS: [&str; 9] = [
    "num.io.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "log.cleaner.threads",
    "num.network.threads",
    "remote.log.reader.threads",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
];

/// Whether a config of that name can change while the broker runs. Unknown names can: they are
/// kept for those who know them.
pub fn is_dynamic(name: &str) -> bool {
    match BROKER.get(name) {
        Some(key) => key.update != Update::ReadOnly,
        None => true,
    }
}

/// Why a single dynamic config cannot be used, whatever the others are.
fn refusal(name: &str, value: &str, for_one_broker: bool) -> Option<ConfigError> {
    if !is_dynamic(name) {
        return Some(ConfigError::invalid(
            name,
            format!("{value:?}"),
            "cannot change while the broker runs",
        ));
    }
    if ONLY_PER_LISTENER.contains(&name) {
        return Some(ConfigError::invalid(
            name,
            super::HIDDEN,
            "can change only for a listener, as listener.name.<listener>.<config>",
        ));
    }
    let base = listener_config(name);
    let known = base.unwrap_or(name);
    if let Some(key) = broker_key(known).filter(|key| key.update != Update::ReadOnly)
        && let Err(error) = key.parse(value)
    {
        return Some(error);
    }
    let only_one = match base {
        Some(base) => !CLUSTER_WIDE_PER_LISTENER.contains(&base),
        None => BROKER.get(name).is_some_and(|key| key.update == Update::PerBroker),
    };
    if only_one && !for_one_broker {
        return Some(ConfigError::invalid(
            name,
            format!("{value:?}"),
            "can only be set for a broker, not as the default of all",
        ));
    }
    None
}

/// Splits stored dynamic configs into those that can be used and the reasons against the others.
///
/// What stands in the metadata may have been written under other rules; it is left out, never
/// fatal.
pub fn usable(stored: &Properties, for_one_broker: bool) -> (Properties, Vec<ConfigError>) {
    let mut usable = Properties::new();
    let mut refused = Vec::new();
    for (name, value) in stored {
        match refusal(name, value, for_one_broker) {
            None => {
                usable.insert(name.clone(), value.clone());
            }
            Some(error) => refused.push(error),
        }
    }
    (usable, refused)
}

/// Checks what the dynamic configs of this broker, or the defaults of all, are to be.
///
/// `configs` is everything that is to be set there, not only what changes.
pub fn validate(
    current: &BrokerConfig,
    configs: &Properties,
    for_one_broker: bool,
) -> Result<(), ApiError> {
    let request = |error: ConfigError| ApiError::new(ErrorCode::INVALID_REQUEST, error.to_string());
    for (name, value) in configs {
        if let Some(error) = refusal(name, value, for_one_broker) {
            return Err(request(error));
        }
    }
    let (default, broker) = if for_one_broker {
        (current.dynamic_default().clone(), configs.clone())
    } else {
        (configs.clone(), current.dynamic_broker().clone())
    };
    let next = current.with_proposed(default, broker).map_err(request)?;
    check_change(current, &next).map_err(request)
}

/// The rules between the configuration in force and the next one.
fn check_change(current: &BrokerConfig, next: &BrokerConfig) -> Result<(), ConfigError> {
    for name in THREAD_COUNTS {
        let (Some(Value::Int(old)), Some(Value::Int(new))) =
            (current.value(name), next.value(name))
        else {
            continue;
        };
        let (old, new) = (i64::from(*old), i64::from(*new));
        if new != old && (new < 1 || new < old / 2 || new > old * 2) {
            return Err(ConfigError::invalid(
                name,
                new,
                format!("may at most halve or double from {old} in one step"),
            ));
        }
    }
    for (local_name, limit_name, limit, unlimited) in [
        (
            "log.local.retention.ms",
            "log.retention.ms",
            next.log_retention_ms(),
            next.log_retention_ms() == -1,
        ),
        (
            "log.local.retention.bytes",
            "log.retention.bytes",
            next.long("log.retention.bytes"),
            next.long("log.retention.bytes") <= -1,
        ),
    ] {
        let local = next.long(local_name);
        if !unlimited && local != -2 && (local == -1 || local > limit) {
            return Err(ConfigError::invalid(
                local_name,
                local,
                format!("must not exceed {limit_name}={limit}"),
            ));
        }
    }
    check_listener_change(current, next)
}

fn check_listener_change(current: &BrokerConfig, next: &BrokerConfig) -> Result<(), ConfigError> {
    let listens = |config: &BrokerConfig, listener: &str| {
        config.listeners().iter().any(|endpoint: &Endpoint| endpoint.listener == listener)
    };
    if let Some(endpoint) =
        current.advertised_listeners().iter().find(|e| !listens(next, &e.listener))
    {
        return Err(ConfigError::conflict(format!(
            "listeners must still contain {}, which is advertised",
            endpoint.listener
        )));
    }
    for endpoint in next.listeners().iter().filter(|e| listens(current, &e.listener)) {
        let listener = &endpoint.listener;
        if current.protocols().get(listener) != next.protocols().get(listener) {
            return Err(ConfigError::conflict(format!(
                "the security protocol of listener {listener} cannot change while it is open"
            )));
        }
        let prefix = format!("listener.name.{}.", listener.to_lowercase());
        let fixed = |config: &BrokerConfig| -> Vec<(String, String)> {
            let props = config.props().iter();
            props
                .filter(|(name, _)| {
                    name.strip_prefix(&prefix).is_some_and(|base| {
                        !ONLY_PER_LISTENER.contains(&base)
                            && !CLUSTER_WIDE_PER_LISTENER.contains(&base)
                    })
                })
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        };
        if fixed(current) != fixed(next) {
            return Err(ConfigError::conflict(format!(
                "settings of listener {listener} cannot change while it is open"
            )));
        }
    }
    Ok(())
}

/// Names of all configs that can change while the broker runs.
pub fn dynamic_names() -> impl Iterator<Item = &'static str> {
    let both = BROKER.keys().iter().chain(BROKER_DYNAMIC_ONLY.keys());
    both.filter(|key| key.update != Update::ReadOnly).map(|key| key.name)
}

#[cfg(test)]
mod tests {
    use super::super::broker::Mode;
    use super::*;

    fn check(for_one_broker: bool, pairs: &[(&str, &str)]) -> Result<(), ApiError> {
        let current = BrokerConfig::new(Properties::new(), Mode::Embedded).expect("a config");
        let configs =
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        validate(&current, &configs, for_one_broker)
    }

    #[test]
    fn what_may_change() {
        for fine in [
            ("log.retention.ms", "1000"),
            ("message.max.bytes", "0"),
            ("num.io.threads", "16"),
            ("some.plugin.config", "x"),
            ("leader.replication.throttled.rate", "0"),
            ("listener.name.plaintext.max.connections", "5"),
        ] {
            assert_eq!(check(true, &[fine]), Ok(()), "{fine:?}");
            assert_eq!(check(false, &[fine]), Ok(()), "{fine:?}");
        }
        for bad in [
            ("num.partitions", "2"),
            ("log.retention.hours", "2"),
            ("log.retention.ms", "x"),
            ("num.io.threads", "17"),
            ("num.io.threads", "3"),
            ("ssl.keystore.location", "/a"),
            ("log.cleaner.threads", "0"),
            ("log.local.retention.ms", "604800001"),
            ("leader.replication.throttled.rate", "-1"),
            ("listeners", "OTHER://:9092"),
        ] {
            let code = check(true, &[bad]).map_err(|error| error.code);
            assert_eq!(code, Err(ErrorCode::INVALID_REQUEST), "{bad:?}");
        }
        assert!(check(false, &[("listener.name.a.ssl.keystore.type", "JKS")]).is_err());
        assert!(check(false, &[("cordoned.log.dirs", "/tmp/kafka-logs")]).is_err());
        assert_eq!(check(true, &[("cordoned.log.dirs", "/tmp/kafka-logs")]), Ok(()));
    }

    #[test]
    fn stored_configs_that_cannot_be_used_are_left_out() {
        let stored = [("num.partitions", "5"), ("log.retention.ms", "7"), ("num.io.threads", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect();
        let (usable, refused) = usable(&stored, true);
        assert_eq!(usable.len(), 1);
        assert_eq!(refused.len(), 2);
        assert!(dynamic_names().count() > 90);
    }
}
