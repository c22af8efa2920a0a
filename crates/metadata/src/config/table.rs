//! The registry: every config of Kafka 4.4, read once from the tables beside this file.
//!
//! A line of a table has eight columns, separated by ` | `:
//!
//! | column | meaning |
//! |---|---|
//! | name | as in Kafka |
//! | type | see [`ConfigType`] |
//! | default | `none` (must be set), `null` (unset), or `=` and the value; `, joined =` and another one where brokers that have joined other nodes' controllers have that |
//! | valid values | see [`Valid`]: `-`, `0..`, `1..17`, `{a,b}`, `{~a,b}` (any case), `list{a,b}+empty+null`, or a named rule |
//! | importance | `high`, `medium`, `low`; ` internal` marks what DescribeConfigs does not list |
//! | update | `read-only`, `per-broker`, `cluster-wide` for brokers; `dynamic` for everything else |
//! | acts | `yes`, or why it does not act in Thalweg yet, as a key of [`NOT_YET`] |
//! | documentation | one or two sentences of our own |
//!
//! From these lines come validation, DescribeConfigs, the console and the CLI, and by `cargo xtask codegen` the names in
//! code (`gen/`). A test compares them with Kafka's own definitions.

use std::sync::LazyLock;

use thalweg_wire::secret;

use super::error::{ConfigError, HIDDEN};
use super::validator::Valid;
use super::value::{ConfigType, Value};

/// How much a config matters to most users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Importance {
    High,
    Medium,
    Low,
}

/// When a config may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// Only with a restart.
    ReadOnly,
    /// While running, for one broker at a time.
    PerBroker,
    /// While running, for one broker or as the default of all.
    ClusterWide,
    /// Always: configs of topics, groups and client metrics have no static form.
    Dynamic,
}

/// Whether a config changes what Thalweg does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acts {
    /// It acts as it does in Kafka.
    Yes,
    /// It is checked, stored and shown, and changes nothing yet; the reason.
    NotYet(&'static str),
}

/// What a config is when nobody sets it.
#[derive(Debug, Clone, PartialEq)]
pub enum Default {
    /// It must be set.
    Required,
    /// Unset.
    Null,
    /// This value.
    Value(Value),
}

/// One config of Kafka.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigKey {
    /// Its name.
    pub name: &'static str,
    /// The type of its value.
    pub config_type: ConfigType,
    /// The value that an unset config has on a node with a controller of its own.
    pub default: Default,
    /// The default of a broker that has joined other nodes' controllers, where it is another one.
    joined_default: Option<Value>,
    /// The values it takes.
    pub valid: Valid,
    /// How much it matters.
    pub importance: Importance,
    /// Whether it is kept out of listings unless it is set.
    pub internal: bool,
    /// When it may change.
    pub update: Update,
    /// Whether it acts.
    pub acts: Acts,
    documentation: &'static str,
}

impl ConfigKey {
    /// Whether its value must not be shown.
    pub fn is_sensitive(&self) -> bool {
        self.config_type == ConfigType::Password
    }

    /// The default value, if there is one.
    pub fn default_value(&self) -> Option<&Value> {
        match &self.default {
            Default::Value(value) => Some(value),
            Default::Required | Default::Null => None,
        }
    }

    /// The value that an unset config has on a node with a controller of its own (`has_controller`), or on a broker
    /// that has joined other nodes' controllers.
    pub fn default_on(&self, has_controller: bool) -> Option<&Value> {
        self.joined_default.as_ref().filter(|_| !has_controller).or_else(|| self.default_value())
    }

    /// Why it does not act on a node that has a controller of its own, or on one that has joined other nodes'.
    pub fn inactive_because(&self, has_controller: bool) -> Option<&'static str> {
        match self.acts {
            Acts::NotYet(reason) if has_controller && reason == tagged(OWN_CONTROLLER) => None,
            Acts::NotYet(reason) if !has_controller && reason == tagged(JOINED) => None,
            Acts::NotYet(reason) => Some(reason),
            Acts::Yes => None,
        }
    }

    /// What it does, and whether it does so on such a node ([`ConfigKey::inactive_because`]).
    pub fn documentation(&self, has_controller: bool) -> String {
        match self.inactive_because(has_controller) {
            None => self.documentation.to_owned(),
            Some(reason) => {
                format!("{} Does not act in Thalweg yet: {reason}.", self.documentation)
            }
        }
    }

    /// Reads and checks a value.
    ///
    /// As in Kafka, members that stand twice in a list are dropped where the list is checked.
    pub fn parse(&self, text: &str) -> Result<Value, ConfigError> {
        let refuse = |reason| {
            let shown = if self.is_sensitive() { HIDDEN } else { text };
            ConfigError::invalid(self.name, format!("{shown:?}"), reason)
        };
        let mut value = self.config_type.parse(text).map_err(refuse)?;
        if let (Valid::List { .. }, Value::List(members)) = (&self.valid, &mut value) {
            let mut seen = std::collections::HashSet::new();
            members.retain(|member| seen.insert(member.clone()));
        }
        self.valid.check(Some(&value)).map_err(refuse)?;
        Ok(value)
    }

    fn from_line(line: &'static str) -> Option<ConfigKey> {
        let mut columns = line.splitn(8, " | ");
        let name = columns.next()?;
        let config_type = ConfigType::from_name(columns.next()?)?;
        let default = columns.next()?;
        let (default, joined_default) = match default.split_once(JOINED_DEFAULT) {
            Some((default, joined)) => (default, Some(config_type.parse(joined).ok()?)),
            None => (default, None),
        };
        let default = match default {
            "none" => Default::Required,
            "null" => Default::Null,
            text => Default::Value(config_type.parse(text.strip_prefix('=')?).ok()?),
        };
        let valid = Valid::from_column(columns.next()?)?;
        let importance = columns.next()?;
        let (importance, internal) = match importance.strip_suffix(" internal") {
            Some(importance) => (importance, true),
            None => (importance, false),
        };
        let importance = match importance {
            "high" => Importance::High,
            "medium" => Importance::Medium,
            "low" => Importance::Low,
            _ => return None,
        };
        let update = match columns.next()? {
            "read-only" => Update::ReadOnly,
            "per-broker" => Update::PerBroker,
            "cluster-wide" => Update::ClusterWide,
            "dynamic" => Update::Dynamic,
            _ => return None,
        };
        let acts = match columns.next()? {
            "yes" => Acts::Yes,
            key => Acts::NotYet(NOT_YET.iter().find(|(name, _)| *name == key)?.1),
        };
        let documentation = columns.next()?;
        let key = ConfigKey {
            name,
            config_type,
            default,
            joined_default,
            valid,
            importance,
            internal,
            update,
            acts,
            documentation,
        };
        match &key.default {
            Default::Value(value) => key.valid.check(Some(value)).ok()?,
            Default::Null => key.valid.check(None).ok()?,
            Default::Required => {}
        }
        if let Some(joined) = &key.joined_default {
            key.valid.check(Some(joined)).ok()?;
        }
        Some(key)
    }
}

/// What stands in a table between a default and that of brokers that have joined other nodes' controllers.
const JOINED_DEFAULT: &str = ", joined =";

/// Tag of configs that act where the controllers are other nodes.
const JOINED: &str = "joined";

/// Tag of configs that act where the node has a controller of its own.
const OWN_CONTROLLER: &str = "own-controller";

/// Why configs with this tag do not act where they do not.
fn tagged(tag: &str) -> &'static str {
    let known = NOT_YET.iter().find(|(known, _)| *known == tag);
    known.map(|(_, reason)| *reason).unwrap_or_else(|| panic!("{tag} is no reason"))
}

/// Why configs do not act yet.
pub const NOT_YET: &[(&str, &str)] = &[
    ("controllers", "the controllers decide this, and the embedded one does not do it yet"),
    ("coord", "coordinators choose this by themselves"),
    ("java", "Java classes cannot be loaded"),
    (
        "jbod",
        "moves between log directories are throttled from one step to the next, without samples",
    ),
    (OWN_CONTROLLER, "the levels of the features are the controllers' to choose"),
    (JOINED, "the controller runs inside this process, and no other broker has joined it"),
    ("metrics", "metrics are served in Prometheus form, without this setting"),
    ("quorum", "it is for the members of a controllers' quorum"),
    ("quota", "quotas other than connection_creation_rate are stored and not enforced yet"),
    ("repl", "this part of replication is not built yet"),
    ("sec", "TLS, SASL and authorization are not served yet"),
    ("share", "share groups are not served yet"),
    ("streams", "streams groups are not served yet"),
    ("tele", "client telemetry is not served yet"),
    ("threads", "there is no such thread pool, queue or sweep"),
    ("tier", "tiered storage is not built yet"),
];

/// All configs of one kind of resource.
#[derive(Debug)]
pub struct Registry {
    /// What the configs belong to: `topic`, `broker`, `group`, `client metrics`.
    pub scope: &'static str,
    keys: Vec<ConfigKey>,
}

impl Registry {
    fn read(scope: &'static str, tables: &[&'static str]) -> Registry {
        let lines = tables.iter().flat_map(|table| table.lines());
        let mut keys: Vec<ConfigKey> = lines
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                // The tables are part of the program: a test reads them all.
                ConfigKey::from_line(line).unwrap_or_else(|| panic!("config table: {line}"))
            })
            .collect();
        keys.sort_by_key(|key| key.name);
        Registry { scope, keys }
    }

    /// The config of that name.
    pub fn get(&self, name: &str) -> Option<&ConfigKey> {
        let at = self.keys.binary_search_by(|key| key.name.cmp(name)).ok()?;
        self.keys.get(at)
    }

    /// All configs, sorted by name.
    pub fn keys(&self) -> &[ConfigKey] {
        &self.keys
    }

    /// The config of that name, or the error for an unknown one.
    pub fn require(&self, name: &str) -> Result<&ConfigKey, ConfigError> {
        self.get(name).ok_or_else(|| {
            let name = secret::shown_name(name).to_owned();
            ConfigError::UnknownName { scope: self.scope, name }
        })
    }
}

/// The configs of topics.
pub static TOPIC: LazyLock<Registry> =
    LazyLock::new(|| Registry::read("topic", &[include_str!("tables/topic.txt")]));

/// The configs of brokers and controllers that can stand in `server.properties`.
pub static BROKER: LazyLock<Registry> =
    LazyLock::new(|| Registry::read("broker", &[include_str!("tables/broker.txt")]));

/// The configs of brokers that exist only as dynamic configs.
pub static BROKER_DYNAMIC_ONLY: LazyLock<Registry> =
    LazyLock::new(|| Registry::read("broker", &[include_str!("tables/broker_dynamic.txt")]));

/// The configs of groups.
pub static GROUP: LazyLock<Registry> =
    LazyLock::new(|| Registry::read("group", &[include_str!("tables/group.txt")]));

/// The configs of client metrics subscriptions.
pub static CLIENT_METRICS: LazyLock<Registry> = LazyLock::new(|| {
    Registry::read("client metrics", &[include_str!("tables/client_metrics.txt")])
});

/// A broker config by its plain name, static or dynamic only.
pub fn broker_key(name: &str) -> Option<&'static ConfigKey> {
    BROKER.get(name).or_else(|| BROKER_DYNAMIC_ONLY.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole() {
        let all: [(&Registry, usize); 5] = [
            (&TOPIC, 38),
            (&BROKER, 379),
            (&BROKER_DYNAMIC_ONLY, 3),
            (&GROUP, 27),
            (&CLIENT_METRICS, 3),
        ];
        for (registry, count) in all {
            // How many configs of our own there are is not counted.
            let kafkas = registry.keys().iter().filter(|key| !key.name.starts_with("thalweg."));
            assert_eq!(kafkas.count(), count, "{}", registry.scope);
            for pair in registry.keys().windows(2) {
                assert!(pair[0].name < pair[1].name, "{} stands twice", pair[0].name);
            }
            for key in registry.keys() {
                assert!(key.documentation.len() > 10, "{} says nothing", key.name);
                let ends = key.documentation.ends_with(['.', '?']);
                assert!(ends, "documentation of {} ends without a stop", key.name);
                if let Some(value) = key.default_value() {
                    assert_eq!(key.parse(&value.to_text()).as_ref(), Ok(value), "{}", key.name);
                }
            }
        }
        for (key, _) in NOT_YET {
            let used = [&*TOPIC, &*BROKER, &*BROKER_DYNAMIC_ONLY, &*GROUP, &*CLIENT_METRICS]
                .iter()
                .any(|registry| {
                    registry.keys().iter().any(|config| {
                        config.acts
                            == Acts::NotYet(
                                NOT_YET.iter().find(|(name, _)| name == key).map_or("", |e| e.1),
                            )
                    })
                });
            assert!(used, "no config uses the reason {key}");
        }
    }

    #[test]
    fn configs_for_some_nodes_act_on_those_only() {
        let inactive = |name, has_controller| {
            let key = BROKER.get(name).expect("a config");
            key.inactive_because(has_controller)
        };
        assert_eq!(inactive("thalweg.format.release.version", true), None);
        assert_eq!(inactive("broker.heartbeat.interval.ms", false), None);
        for (name, has_controller, tag) in [
            ("thalweg.format.release.version", false, OWN_CONTROLLER),
            ("broker.heartbeat.interval.ms", true, JOINED),
        ] {
            assert_eq!(inactive(name, has_controller), Some(tagged(tag)), "{name}");
        }
    }

    #[test]
    fn a_refusal_names_config_value_and_reason() {
        let error = TOPIC.get("segment.bytes").and_then(|key| key.parse("12").err());
        let message = error.map(|error| error.to_string());
        assert_eq!(
            message.as_deref(),
            Some("invalid value \"12\" for config segment.bytes: must be at least 1048576")
        );
        let key = BROKER.get("broker.id").expect("a config");
        assert!(key.parse("x").is_err());
    }

    #[test]
    fn what_does_not_act_says_so() {
        let key = TOPIC.get("local.retention.ms").expect("a config");
        assert!(key.documentation(true).contains("Does not act in Thalweg yet"));
        let joined = BROKER.get("replica.fetch.wait.max.ms").expect("a config");
        assert!(joined.documentation(true).contains("Does not act in Thalweg yet"));
        assert!(!joined.documentation(false).contains("Does not act"));
    }
}
