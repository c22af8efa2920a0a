//! What DescribeConfigs answers: every config with its value, where the value comes from, and the
//! other places it could come from.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_wire::secret;

use super::broker::BrokerConfig;
use super::error::ConfigError;
use super::properties::Properties;
use super::synonyms::{broker_synonyms, group_synonym, topic_synonyms};
use super::table::{BROKER, CLIENT_METRICS, ConfigKey, GROUP, TOPIC, Update, broker_key};
use super::topic::TopicConfig;
use super::value::{ConfigType, Value};

/// Where a value comes from, by DescribeConfigs' numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum ConfigSource {
    /// Set for the topic.
    Topic = 1,
    /// Set dynamically for this broker.
    DynamicBroker = 2,
    /// Set dynamically for all brokers.
    DynamicDefaultBroker = 3,
    /// From the broker's file.
    StaticBroker = 4,
    /// Set by nobody.
    Default = 5,
    /// Set for the client metrics subscription.
    ClientMetrics = 7,
    /// Set for the group.
    Group = 8,
}

/// One name and value under which a config could be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synonym {
    /// Name at that place.
    pub name: String,
    /// Value at that place; `None` when sensitive.
    pub value: Option<String>,
    /// The place.
    pub source: ConfigSource,
}

/// One config of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The config.
    pub name: String,
    /// Its value as Kafka prints it; `None` when unset or sensitive.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether the value is hidden.
    pub is_sensitive: bool,
    /// Whether it cannot change while the broker runs.
    pub read_only: bool,
    /// All places in order of precedence, the one in force first.
    pub synonyms: Vec<Synonym>,
    /// Its type; `None` for a config Kafka does not know.
    pub config_type: Option<ConfigType>,
    /// What it does; `None` for a config Kafka does not know.
    pub documentation: Option<String>,
}

/// Which configs are asked for; `None` for all.
pub type Wanted<'a> = Option<&'a [&'a str]>;

fn wanted(names: Wanted<'_>, name: &str) -> bool {
    // An empty list asks for everything, as no list does.
    names.is_none_or(|names| names.is_empty() || names.contains(&name))
}

/// The configs of a topic that sets `overrides`.
pub fn topic(
    broker: &BrokerConfig,
    overrides: &Properties,
    names: Wanted<'_>,
) -> Result<Vec<Described>, ConfigError> {
    let config = TopicConfig::new(broker, overrides)?;
    let mut out = Vec::new();
    for name in listed(&TOPIC, overrides) {
        if !wanted(names, name) {
            continue;
        }
        let key = TOPIC.get(name);
        let mut described = shell(name, key, false, true);
        let text = match (key, overrides.get(name)) {
            // An internal config is listed only when it is set, and then as it was set.
            (Some(key), Some(text)) if key.internal => Some(text.clone()),
            (Some(_), _) => config.value(name).map(Value::to_text),
            (None, text) => text.cloned(),
        };
        described.value = text.filter(|_| !described.is_sensitive);
        if overrides.contains_key(name) {
            described.synonyms.push(Synonym {
                name: name.to_owned(),
                value: described.value.clone(),
                source: ConfigSource::Topic,
            });
        }
        if let Some((first, _)) = topic_synonyms(name).first() {
            described.synonyms.extend(places(broker, first, described.is_sensitive));
        }
        out.push(sourced(described));
    }
    Ok(out)
}

/// The configs of a group that sets `configs`.
pub fn group(
    broker: &BrokerConfig,
    configs: &Properties,
    names: Wanted<'_>,
) -> Result<Vec<Described>, ConfigError> {
    let mut out = Vec::new();
    let is_set_on_broker = |key: &ConfigKey| {
        group_synonym(key.name).is_some_and(|synonym| broker.props().contains_key(synonym))
    };
    let internal = GROUP.keys().iter().filter(|key| key.internal && is_set_on_broker(key));
    let mut all: BTreeSet<&str> = listed(&GROUP, configs).collect();
    all.extend(internal.map(|key| key.name));
    for name in all {
        if !wanted(names, name) {
            continue;
        }
        let key = GROUP.get(name);
        let mut described = shell(name, key, false, true);
        described.value = match (key, configs.get(name)) {
            // An internal config that the group sets is shown as it was set.
            (Some(key), Some(text)) if key.internal => Some(text.clone()),
            (Some(_), _) => {
                super::group::value(broker, configs, name)?.as_ref().map(Value::to_text)
            }
            (None, _) => None,
        };
        if configs.contains_key(name) {
            described.synonyms.push(Synonym {
                name: name.to_owned(),
                value: described.value.clone(),
                source: ConfigSource::Group,
            });
        }
        match group_synonym(name) {
            Some(synonym) => {
                described.synonyms.extend(places(broker, synonym, described.is_sensitive));
            }
            None => {
                described.synonyms.extend(key.and_then(ConfigKey::default_value).map(|value| {
                    Synonym {
                        name: name.to_owned(),
                        value: Some(value.to_text()),
                        source: ConfigSource::Default,
                    }
                }))
            }
        }
        out.push(sourced(described));
    }
    Ok(out)
}

/// The configs of a client metrics subscription that sets `configs`.
pub fn client_metrics(
    configs: &Properties,
    names: Wanted<'_>,
) -> Result<Vec<Described>, ConfigError> {
    let mut out = Vec::new();
    for name in listed(&CLIENT_METRICS, configs) {
        if !wanted(names, name) {
            continue;
        }
        let key = CLIENT_METRICS.get(name);
        let mut described = shell(name, key, false, true);
        described.is_sensitive = false;
        described.value = match (key, configs.get(name)) {
            (Some(key), Some(text)) => Some(key.parse(text)?.to_text()),
            (Some(key), None) => key.default_value().map(Value::to_text),
            (None, text) => text.cloned(),
        };
        if configs.contains_key(name) {
            described.synonyms.push(Synonym {
                name: name.to_owned(),
                value: described.value.clone(),
                source: ConfigSource::ClientMetrics,
            });
        }
        out.push(sourced(described));
    }
    Ok(out)
}

/// The configs of this broker.
pub fn broker(broker: &BrokerConfig, names: Wanted<'_>) -> Vec<Described> {
    let mut out = Vec::new();
    for name in listed(&BROKER, broker.props()) {
        if !wanted(names, name) {
            continue;
        }
        let key = described_key(name);
        let mut described = shell(name, key, is_read_only(name), broker.roles().controller);
        let text = match BROKER.get(name) {
            Some(key) if !key.internal => broker.value(name).map(Value::to_text),
            _ => broker.props().get(name).cloned(),
        };
        described.value = text.filter(|_| !described.is_sensitive);
        described.synonyms = places(broker, name, described.is_sensitive);
        out.push(sourced(described));
    }
    out
}

/// The dynamic defaults of all brokers.
pub fn broker_defaults(broker: &BrokerConfig, names: Wanted<'_>) -> Vec<Described> {
    let mut out = Vec::new();
    for (name, text) in broker.dynamic_default() {
        if !wanted(names, name) {
            continue;
        }
        let mut described =
            shell(name, described_key(name), is_read_only(name), broker.roles().controller);
        described.value = Some(text.clone()).filter(|_| !described.is_sensitive);
        described.synonyms = places(broker, name, described.is_sensitive)
            .into_iter()
            .filter(|place| place.source == ConfigSource::DynamicDefaultBroker)
            .collect();
        out.push(sourced(described));
    }
    out
}

/// Every config to list: those that are not internal, and whatever is set.
fn listed<'a>(
    registry: &'a super::table::Registry,
    set: &'a Properties,
) -> impl Iterator<Item = &'a str> {
    let mut names: BTreeMap<&str, ()> = BTreeMap::new();
    names.extend(registry.keys().iter().filter(|key| !key.internal).map(|key| (key.name, ())));
    // A line of a key, in a PEM whose lines do not end in backslashes, is no name to list.
    let set = set.keys().filter(|name| secret::shown_name(name) != secret::HIDDEN);
    names.extend(set.map(|name| (name.as_str(), ())));
    names.into_keys()
}

fn shell(name: &str, key: Option<&ConfigKey>, read_only: bool, has_controller: bool) -> Described {
    Described {
        name: name.to_owned(),
        value: None,
        source: ConfigSource::Default,
        // What is not known may be a secret.
        is_sensitive: key.is_none_or(ConfigKey::is_sensitive),
        read_only,
        synonyms: Vec::new(),
        config_type: key.map(|key| key.config_type),
        documentation: key.map(|key| key.documentation(has_controller)),
    }
}

fn sourced(mut described: Described) -> Described {
    if let Some(first) = described.synonyms.first() {
        described.source = first.source;
    }
    described
}

fn is_read_only(name: &str) -> bool {
    broker_key(name).is_none_or(|key| key.update == Update::ReadOnly)
}

/// The definition of a broker config, which a listener's prefix does not change.
fn described_key(name: &str) -> Option<&'static ConfigKey> {
    broker_key(name).or_else(|| broker_synonyms(name, true).into_iter().find_map(broker_key))
}

/// The places a broker config is set in, in order of precedence.
fn places(broker: &BrokerConfig, name: &str, sensitive: bool) -> Vec<Synonym> {
    let synonyms = broker_synonyms(name, true);
    let mut places = Vec::new();
    for (set, source) in [
        (broker.dynamic_broker(), ConfigSource::DynamicBroker),
        (broker.dynamic_default(), ConfigSource::DynamicDefaultBroker),
        (broker.static_props(), ConfigSource::StaticBroker),
    ] {
        for synonym in &synonyms {
            if let Some(text) = set.get(*synonym) {
                places.push(Synonym {
                    name: (*synonym).to_owned(),
                    value: Some(text.clone()).filter(|_| !sensitive),
                    source,
                });
            }
        }
    }
    for synonym in &synonyms {
        let default = |key: &'static ConfigKey| key.default_on(broker.roles().controller);
        if let Some(value) = BROKER.get(synonym).and_then(default) {
            places.push(Synonym {
                name: (*synonym).to_owned(),
                value: Some(value.to_text()).filter(|_| !sensitive),
                source: ConfigSource::Default,
            });
        }
    }
    // A variant in another unit counts only behind the config itself.
    let from = places.iter().position(|place| place.name == name);
    from.map_or_else(Vec::new, |from| places.split_off(from))
}

#[cfg(test)]
mod tests {
    use super::super::broker::Mode;
    use super::*;

    fn props(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn find<'a>(all: &'a [Described], name: &str) -> &'a Described {
        all.iter().find(|described| described.name == name).expect("the config is listed")
    }

    #[test]
    fn topics() {
        let config = BrokerConfig::new(props(&[("log.retention.hours", "2")]), Mode::Embedded)
            .expect("a config")
            .with_dynamic(props(&[("log.retention.ms", "77")]), props(&[]))
            .expect("a config");
        let all = topic(&config, &props(&[("segment.bytes", " 1048577 ")]), None).expect("configs");
        let listed = TOPIC.keys().iter().filter(|key| !key.internal).count();
        assert_eq!(all.len(), listed);
        let segment = find(&all, "segment.bytes");
        assert_eq!(segment.value.as_deref(), Some("1048577"));
        assert_eq!(segment.source, ConfigSource::Topic);
        let places: Vec<_> = segment.synonyms.iter().map(|s| (s.name.as_str(), s.source)).collect();
        assert_eq!(
            places,
            [("segment.bytes", ConfigSource::Topic), ("log.segment.bytes", ConfigSource::Default)]
        );
        let retention = find(&all, "retention.ms");
        assert_eq!(retention.value.as_deref(), Some("77"));
        let places: Vec<_> =
            retention.synonyms.iter().map(|s| (s.name.as_str(), s.value.as_deref())).collect();
        assert_eq!(
            places,
            [
                ("log.retention.ms", Some("77")),
                ("log.retention.hours", Some("2")),
                ("log.retention.hours", Some("168")),
            ]
        );
        let only = topic(&config, &props(&[]), Some(&["cleanup.policy"])).expect("configs");
        assert_eq!(only.len(), 1);
        assert_eq!(only[0].source, ConfigSource::Default);
    }

    #[test]
    fn brokers_hide_secrets() {
        let config = BrokerConfig::new(
            props(&[("ssl.key.password", "secret"), ("plugin.token", "secret")]),
            Mode::Embedded,
        )
        .expect("a config");
        let all = broker(&config, None);
        for described in &all {
            assert_ne!(described.value.as_deref(), Some("secret"));
            assert!(described.synonyms.iter().all(|s| s.value.as_deref() != Some("secret")));
        }
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let with_key = BrokerConfig::new(props(&[(line, "")]), Mode::Embedded).expect("a config");
        assert!(broker(&with_key, None).iter().all(|described| described.name != line));
        assert!(find(&all, "plugin.token").is_sensitive);
        assert!(find(&all, "node.id").read_only);
        assert!(!find(&all, "log.retention.ms").read_only);
        assert!(all.iter().all(|described| described.name != "unstable.api.versions.enable"));
    }

    /// A broker of its own assigns groups of classic consumers, one that has joined Kafka's controllers only if it is told
    /// to; brokers and groups are described with what is in force.
    #[test]
    fn rebalance_mode_is_barrier_by_default_when_joined() {
        const MODE: &str = "thalweg.group.classic.rebalance.mode";
        let joined = [
            ("process.roles", "broker"),
            ("node.id", "3"),
            ("controller.listener.names", "CONTROLLER"),
            ("controller.quorum.bootstrap.servers", "a:1"),
        ];
        let told = |pairs: &[(&str, &str)]| {
            let config = BrokerConfig::new(props(pairs), Mode::Embedded).expect("a config");
            let of_broker = broker(&config, Some(&[MODE])).remove(0);
            let of_group = group(&config, &props(&[]), Some(&[MODE])).expect("configs").remove(0);
            let shown = |described: Described| {
                let last = described.synonyms.last().and_then(|place| place.value.clone());
                (described.value.unwrap_or_default(), described.source, last.unwrap_or_default())
            };
            assert_eq!(config.group_classic_rebalance_mode(), of_group.value.clone().unwrap());
            let of_broker = shown(of_broker);
            assert_eq!(shown(of_group), of_broker);
            of_broker
        };
        let shown = |value: &str, source, default: &str| (value.into(), source, default.into());
        assert_eq!(told(&[]), shown("server", ConfigSource::Default, "server"));
        assert_eq!(told(&joined), shown("barrier", ConfigSource::Default, "barrier"));
        let set = [&joined[..], &[(MODE, "server")]].concat();
        assert_eq!(told(&set), shown("server", ConfigSource::StaticBroker, "barrier"));
    }

    #[test]
    fn groups_and_subscriptions() {
        let config = BrokerConfig::new(props(&[]), Mode::Embedded).expect("a config");
        let all = group(&config, &props(&[("consumer.session.timeout.ms", "46000")]), None)
            .expect("configs");
        assert_eq!(all.len(), 24);
        assert_eq!(find(&all, "consumer.session.timeout.ms").source, ConfigSource::Group);
        let reset = find(&all, "share.auto.offset.reset");
        assert_eq!((reset.value.as_deref(), reset.synonyms.len()), (Some("latest"), 1));
        let assignor = find(&all, "streams.assignor.name");
        assert_eq!(assignor.value.as_deref(), Some("sticky"));
        assert_eq!(assignor.synonyms[0].name, "group.streams.assignors");
        let all = client_metrics(&props(&[("metrics", "*")]), None).expect("configs");
        assert_eq!(find(&all, "metrics").source, ConfigSource::ClientMetrics);
        assert_eq!(find(&all, "interval.ms").value.as_deref(), Some("300000"));
    }

    /// Internal configs of a group are listed where the group or the broker sets them (Kafka 4.4).
    #[test]
    fn internal_group_config_is_listed_only_where_set() {
        const WARMUPS: &str = "streams.num.warmup.replicas";
        let shown = |of_broker: &[(&str, &str)], of_group: &[(&str, &str)]| {
            let config = BrokerConfig::new(props(of_broker), Mode::Embedded).expect("a config");
            let all = group(&config, &props(of_group), None).expect("configs");
            let described = all.into_iter().find(|described| described.name == WARMUPS)?;
            Some((described.value.expect("a value"), described.source))
        };
        assert_eq!(shown(&[], &[]), None);
        let of_group = shown(&[], &[(WARMUPS, " 3")]);
        assert_eq!(of_group, Some((" 3".into(), ConfigSource::Group)));
        let of_broker = shown(&[("group.streams.num.warmup.replicas", "04")], &[]);
        assert_eq!(of_broker, Some(("4".into(), ConfigSource::StaticBroker)));
    }
}
