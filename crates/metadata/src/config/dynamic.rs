//! Dynamic broker configs: which may change while the broker runs, and to what.

use thalweg_wire::ErrorCode;

use super::broker::{BrokerConfig, Mode};
use super::error::ConfigError;
use super::listeners::{self, Endpoint};
use super::properties::Properties;
use super::synonyms::listener_config;
use super::table::{BROKER, ConfigKey, Update, broker_key};
use super::topic::copy_lag_within_retention;
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
            format!("{:?}", shown(name, value)),
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
            format!("{:?}", shown(name, value)),
            "can only be set for a broker, not as the default of all",
        ));
    }
    None
}

const LISTENERS: &str = "listeners";
const PROTOCOL_MAP: &str = "listener.security.protocol.map";

/// Why a dynamic config cannot act yet, unless it says what is in force anyway: Kafka opens and
/// closes ports for these two.
fn cannot_act_yet(current: &BrokerConfig, name: &str, value: &str) -> Option<ConfigError> {
    if current.mode() != Mode::Embedded {
        return None;
    }
    let is_in_force = match name {
        LISTENERS => {
            let entries = super::broker::list_members(value);
            let parsed =
                listeners::parse_endpoints(LISTENERS, &entries, current.protocols(), false);
            let open = current.listeners();
            parsed.is_ok_and(|next| {
                next.len() == open.len() && next.iter().all(|endpoint| open.contains(endpoint))
            })
        }
        PROTOCOL_MAP => {
            let now = listeners::parse_protocol_map(current.text(PROTOCOL_MAP));
            listeners::parse_protocol_map(value)
                .is_ok_and(|next| now.is_ok_and(|now| now == next) || next == *current.protocols())
        }
        _ => return None,
    };
    if is_in_force {
        return None;
    }
    Some(ConfigError::CannotHonour {
        name: name.to_owned(),
        value: value.to_owned(),
        reason: "listeners do not open, close or change yet while the broker runs; set it in the \
                 configuration file and start the broker again"
            .to_owned(),
    })
}

/// A stored dynamic config that is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// Whether it is the broker's own, not a default of all.
    pub for_one_broker: bool,
    /// The config.
    pub name: String,
    /// Its value as it is stored; hidden where it may be a secret.
    pub value: String,
    /// Why it is not in force.
    pub reason: ConfigError,
}

impl Unused {
    fn new(for_one_broker: bool, name: &str, value: &str, reason: ConfigError) -> Unused {
        let value = shown(name, value).to_owned();
        Unused { for_one_broker, name: name.to_owned(), value, reason }
    }
}

/// The value of a config, unless it may be a secret.
fn shown<'a>(name: &str, value: &'a str) -> &'a str {
    let key = broker_key(listener_config(name).unwrap_or(name));
    if key.is_none_or(ConfigKey::is_sensitive) { super::HIDDEN } else { value }
}

/// Splits stored dynamic configs into those that can be used and those that cannot, whatever the
/// others are.
///
/// What stands in the metadata may have been written under other rules; it is left out, never
/// fatal.
pub fn usable(stored: &Properties, for_one_broker: bool) -> (Properties, Vec<Unused>) {
    let mut usable = Properties::new();
    let mut refused = Vec::new();
    for (name, value) in stored {
        match refusal(name, value, for_one_broker) {
            None => {
                usable.insert(name.clone(), value.clone());
            }
            Some(error) => refused.push(Unused::new(for_one_broker, name, value, error)),
        }
    }
    (usable, refused)
}

/// The configuration of a file under the dynamic configs stored for all brokers and for this one,
/// as far as they fit it and each other.
///
/// One that does not fit, such as a cordoned directory that is no log directory any more, must not
/// take the others with it: without its stored retention a broker would delete what it should keep.
pub fn apply(
    file: &BrokerConfig,
    default: &Properties,
    broker: &Properties,
) -> (BrokerConfig, Vec<Unused>) {
    let (default, mut unused) = usable(default, false);
    let (mut broker, more) = usable(broker, true);
    unused.extend(more);
    // Neither stands among the defaults of all.
    for name in [LISTENERS, PROTOCOL_MAP] {
        if let Some(value) = broker.get(name)
            && let Some(error) = cannot_act_yet(file, name, value)
        {
            unused.push(Unused::new(true, name, value, error));
            broker.remove(name);
        }
    }
    if let Ok(config) = file.with_dynamic(default.clone(), broker.clone()) {
        return (config, unused);
    }
    let (config, misfits) = as_far_as_they_fit(file, &default, &broker);
    unused.extend(misfits);
    (config, unused)
}

fn as_far_as_they_fit(
    file: &BrokerConfig,
    default: &Properties,
    broker: &Properties,
) -> (BrokerConfig, Vec<Unused>) {
    // Names that nobody knows here fit always, and there may be thousands of them.
    let is_inert = |name: &str| listener_config(name).is_none() && broker_key(name).is_none();
    let inert = |configs: &Properties| -> Properties {
        let inert = configs.iter().filter(|(name, _)| is_inert(name));
        inert.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    // The defaults as a whole first, as Kafka does: mostly it is a broker's own that does not fit.
    let whole = file.with_dynamic(default.clone(), inert(broker)).ok();
    let mut rest: Vec<(bool, &String, &String)> = Vec::new();
    if whole.is_none() {
        rest.extend(default.iter().map(|(name, value)| (false, name, value)));
    }
    rest.extend(broker.iter().map(|(name, value)| (true, name, value)));
    rest.retain(|(_, name, _)| !is_inert(name));
    let mut config = whole
        .or_else(|| file.with_dynamic(inert(default), inert(broker)).ok())
        .unwrap_or_else(|| file.clone());
    loop {
        let tried = rest.len();
        let mut refused = Vec::new();
        for (for_one_broker, name, value) in rest {
            let mut default = config.dynamic_default().clone();
            let mut broker = config.dynamic_broker().clone();
            let place = if for_one_broker { &mut broker } else { &mut default };
            place.insert(name.clone(), value.clone());
            match file.with_dynamic(default, broker) {
                Ok(next) => config = next,
                Err(reason) => refused.push((for_one_broker, name, value, reason)),
            }
        }
        // Again as long as it helps: a lower bound may fit only once the upper one is in force.
        if refused.is_empty() || refused.len() == tried {
            let unused = refused
                .into_iter()
                .map(|(for_one, name, value, reason)| Unused::new(for_one, name, value, reason));
            return (config, unused.collect());
        }
        rest =
            refused.into_iter().map(|(for_one, name, value, _)| (for_one, name, value)).collect();
    }
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
        let error =
            refusal(name, value, for_one_broker).or_else(|| cannot_act_yet(current, name, value));
        if let Some(error) = error {
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
    for (local_name, limit_name, lag_name, limit, unlimited) in [
        (
            "log.local.retention.ms",
            "log.retention.ms",
            "log.remote.copy.lag.ms",
            next.log_retention_ms(),
            next.log_retention_ms() == -1,
        ),
        (
            "log.local.retention.bytes",
            "log.retention.bytes",
            "log.remote.copy.lag.bytes",
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
        copy_lag_within_retention(lag_name, next.long(lag_name), local_name, local, limit)?;
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
            ("log.remote.copy.lag.ms", "604800001"),
            ("leader.replication.throttled.rate", "-1"),
            ("listeners", "OTHER://:9092"),
            ("listeners", "PLAINTEXT://:9093"),
            ("listeners", "PLAINTEXT://:9092,EXTERNAL://:9094"),
            ("listener.security.protocol.map", "PLAINTEXT:SSL"),
            ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT"),
        ] {
            let code = check(true, &[bad]).map_err(|error| error.code);
            assert_eq!(code, Err(ErrorCode::INVALID_REQUEST), "{bad:?}");
        }
        // What says the same as before needs nothing opened.
        let map = "SSL:SSL,SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT";
        assert_eq!(check(true, &[("listeners", "PLAINTEXT://:9092")]), Ok(()));
        assert_eq!(check(true, &[("listener.security.protocol.map", map)]), Ok(()));
        let message = check(true, &[("listeners", "PLAINTEXT://:9093")]).unwrap_err().message;
        assert!(message.is_some_and(|text| text.contains("do not open, close or change yet")));

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
    }

    fn props(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    /// Names of those not in force.
    fn unused(default: &[(&str, &str)], broker: &[(&str, &str)]) -> (BrokerConfig, Vec<String>) {
        let file = BrokerConfig::new(Properties::new(), Mode::Embedded).expect("a config");
        let (config, unused) = apply(&file, &props(default), &props(broker));
        // What is in force is a configuration that could have been written down.
        let again =
            file.with_dynamic(config.dynamic_default().clone(), config.dynamic_broker().clone());
        assert_eq!(again.expect("a config").props(), config.props());
        (config, unused.into_iter().map(|unused| unused.name).collect())
    }

    #[test]
    fn one_that_does_not_fit_leaves_the_others_in_force() {
        let (config, left_out) = unused(
            &[("log.retention.ms", "-1"), ("some.plugin", "x")],
            &[("cordoned.log.dirs", "/gone"), ("message.max.bytes", "7"), ("other.plugin", "y")],
        );
        assert_eq!(left_out, ["cordoned.log.dirs"]);
        assert_eq!((config.log_retention_ms(), config.message_max_bytes()), (-1, 7));
        assert_eq!((config.dynamic_default().len(), config.dynamic_broker().len()), (2, 2));

        // Among the defaults, too; and a config of a listener that asks for what is not served.
        let (config, left_out) = unused(
            &[("log.retention.ms", "-1"), ("max.connections.per.ip", "0"), ("some.plugin", "x")],
            &[("listeners", "SSL://:9092"), ("message.max.bytes", "7")],
        );
        assert_eq!(left_out, ["listeners", "max.connections.per.ip"]);
        assert_eq!((config.log_retention_ms(), config.message_max_bytes()), (-1, 7));

        // One that fits only with another, in whatever order they come.
        let (config, left_out) = unused(
            &[("max.connections.per.ip", "0")],
            &[("cordoned.log.dirs", "/gone"), ("max.connections.per.ip.overrides", "::1:5")],
        );
        assert_eq!(left_out, ["cordoned.log.dirs"]);
        assert_eq!((config.max_connections_per_ip(), config.per_ip_overrides().len()), (0, 1));
    }

    #[test]
    fn stored_listeners_that_nobody_opened_are_not_in_force() {
        let added = "PLAINTEXT://:9092,EXTERNAL://:9094";
        let map = "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT";
        let (config, left_out) = unused(
            &[],
            &[("listeners", added), ("listener.security.protocol.map", map), ("a.plugin", "x")],
        );
        assert_eq!(left_out, ["listeners", "listener.security.protocol.map"]);
        assert_eq!((config.listeners().len(), config.dynamic_broker().len()), (1, 1));
        let (config, left_out) = unused(&[], &[("listeners", "PLAINTEXT://:9092")]);
        assert!(left_out.is_empty() && config.dynamic_broker().len() == 1);
    }

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        let file = BrokerConfig::new(Properties::new(), Mode::Embedded).expect("a config");
        let stored = props(&[
            ("listener.name.a.ssl.key.password", "secret"),
            ("num.partitions", "3"),
            ("ssl.key.password", "secret"),
        ]);
        let (_, unused) = apply(&file, &stored, &Properties::new());
        let shown: Vec<&str> = unused.iter().map(|unused| unused.value.as_str()).collect();
        assert_eq!(shown, [super::super::HIDDEN, "3", super::super::HIDDEN]);
        assert!(!format!("{unused:?}").contains("secret"));
    }
}
