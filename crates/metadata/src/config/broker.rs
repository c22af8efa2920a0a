//! The configuration of one broker: what its file says, what dynamic configs change, what follows.
//!
//! A [`BrokerConfig`] is immutable and whole: every value is read and checked, listeners are
//! parsed, and the rules between values hold. A dynamic change makes a new one. Precedence is
//! Kafka's: dynamic for this broker, dynamic default of all brokers, file, default.

pub(in crate::config) mod getters;

use std::fmt;
use std::net::IpAddr;

use super::broker_check;
use super::error::ConfigError;
use super::listeners::{self, Endpoint, ProtocolMap, SecurityProtocol};
use super::properties::Properties;
use super::synonyms::{broker_synonyms, listener_config};
use super::table::{BROKER, Default};
use super::validator::Voter;
use super::value::{ConfigType, Value, split_list};

/// Whose rules a configuration must meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Kafka's, to the letter.
    Kafka,
    /// Those of a node whose controller runs in the same process: Kafka's, but roles, node id and
    /// the controller's listener need not be named, the quorum need not be configured - and what
    /// cannot be honoured yet is refused.
    Embedded,
}

/// What this node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// It serves clients.
    pub broker: bool,
    /// It is a controller.
    pub controller: bool,
}

/// The whole configuration of one broker.
#[derive(Clone)]
pub struct BrokerConfig {
    mode: Mode,
    static_props: Properties,
    dynamic_default: Properties,
    dynamic_broker: Properties,
    /// The texts in force: file and dynamic configs, without defaults.
    props: Properties,
    /// Values in the order of the registry.
    values: Vec<Option<Value>>,
    roles: Roles,
    protocols: ProtocolMap,
    listeners: Vec<Endpoint>,
    advertised: Vec<Endpoint>,
    advertised_controller: Vec<Endpoint>,
    inter_broker: (String, SecurityProtocol),
    per_ip_overrides: Vec<(IpOrName, i32)>,
}

impl fmt::Debug for BrokerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // There are passwords among the values, and lines of keys among the names.
        f.debug_struct("BrokerConfig")
            .field("mode", &self.mode)
            .field("roles", &self.roles)
            .field("listeners", &self.listeners)
            .field("advertised", &self.advertised)
            .finish_non_exhaustive()
    }
}

/// An entry of `max.connections.per.ip.overrides`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IpOrName {
    /// An address.
    Ip(IpAddr),
    /// A host name, to be looked up by the broker.
    Name(String),
}

/// Configs that act for single listeners, as `listener.name.<listener>.<name>`.
pub(super) const OF_LISTENERS: [&str; 2] = ["max.connections", "max.connection.creation.rate"];

/// Server-side assignors of a kind of group: their names, and Kafka's classes of them.
pub(super) type Assignors = &'static [(&'static str, &'static str)];

/// Those that `group.consumer.assignors` can name.
const CONSUMER_ASSIGNORS: Assignors = &[
    ("uniform", "org.apache.kafka.coordinator.group.assignor.UniformAssignor"),
    ("range", "org.apache.kafka.coordinator.group.assignor.RangeAssignor"),
];

/// Configs that name assignors, and what they can name.
pub(super) const ASSIGNORS: [(&str, Assignors); 2] = [
    ("group.consumer.assignors", CONSUMER_ASSIGNORS),
    (
        "group.streams.assignors",
        &[("sticky", "org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor")],
    ),
];

/// The name of an assignor that is written by its name, or by Kafka's class; `None` for one that there is not.
pub(super) fn assignor_among(assignors: Assignors, written: &str) -> Option<&'static str> {
    let known = assignors.iter().find(|(name, class)| written == *name || written == *class);
    known.map(|(name, _)| *name)
}

/// The same of what `group.consumer.assignors` names.
pub fn assignor_name(written: &str) -> Option<&'static str> {
    assignor_among(CONSUMER_ASSIGNORS, written)
}

/// Names and values a node needs when nobody configured it: both roles, one replica of everything.
///
/// These stand where `server.properties` would; what a user sets goes before them.
pub fn embedded_defaults() -> Properties {
    [
        ("process.roles", "broker,controller"),
        ("node.id", "1"),
        ("controller.listener.names", "CONTROLLER"),
        ("offsets.topic.replication.factor", "1"),
        ("transaction.state.log.replication.factor", "1"),
        ("transaction.state.log.min.isr", "1"),
        ("share.coordinator.state.topic.replication.factor", "1"),
        ("share.coordinator.state.topic.min.isr", "1"),
        // Kafka's 100 KiB make the kernel announce a new window every few segments: measured, a
        // fifth of the CPU of receiving. The system's own tuning does better.
        ("socket.receive.buffer.bytes", "-1"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

/// What stands where `server.properties` would, for a node with these configs. One that joins the controllers of
/// other nodes makes internal topics for all of them, and so goes by Kafka's defaults.
pub(super) fn added_defaults(props: &Properties) -> Properties {
    let mut added = embedded_defaults();
    if props.get("process.roles").is_some_and(|roles| !has_controller(roles)) {
        added.retain(|name, _| name == "socket.receive.buffer.bytes");
    }
    added
}

/// Whether a node with this `process.roles` is a controller.
fn has_controller(roles: &str) -> bool {
    roles.split(',').any(|role| role.trim() == "controller")
}

/// A configuration with what stands where `server.properties` would.
fn with_added_defaults(props: Properties) -> Properties {
    let mut whole = added_defaults(&props);
    if props.contains_key("broker.id") {
        whole.remove("node.id");
    }
    whole.extend(props);
    whole
}

impl BrokerConfig {
    /// The configuration that a start would have, by Kafka's rules alone: what it then cannot honour can be asked for
    /// as a whole ([`Self::cannot_honour`]), where [`Self::new`] ends with the first.
    pub fn unrefused(props: Properties) -> Result<BrokerConfig, ConfigError> {
        Self::new(with_added_defaults(props), Mode::Kafka)
    }

    /// Reads and checks a configuration.
    pub fn new(props: Properties, mode: Mode) -> Result<BrokerConfig, ConfigError> {
        let mut static_props = match mode {
            Mode::Embedded => with_added_defaults(props),
            Mode::Kafka => props,
        };
        for (from, to) in [("broker.id", "node.id"), ("node.id", "broker.id")] {
            if !static_props.contains_key(to)
                && let Some(id) = static_props.get(from).cloned()
            {
                static_props.insert(to.to_owned(), id);
            }
        }
        let props = static_props.clone();
        Self::build(mode, static_props, Properties::new(), Properties::new(), props)
    }

    /// The same configuration under other dynamic configs.
    ///
    /// `default` are those of all brokers, `broker` those of this one. Names that cannot be dynamic
    /// must have been taken out ([`super::dynamic::usable`]).
    ///
    /// Assignment intervals outside their bounds are put within them: the bounds are static and
    /// may have changed since.
    pub fn with_dynamic(
        &self,
        default: Properties,
        broker: Properties,
    ) -> Result<BrokerConfig, ConfigError> {
        let mut props = self.overlay(&default, &broker);
        clamp_assignment_intervals(&mut props)?;
        Self::build(self.mode, self.static_props.clone(), default, broker, props)
    }

    /// The same configuration under dynamic configs that somebody proposes: nothing is put right.
    pub(super) fn with_proposed(
        &self,
        default: Properties,
        broker: Properties,
    ) -> Result<BrokerConfig, ConfigError> {
        let props = self.overlay(&default, &broker);
        Self::build(self.mode, self.static_props.clone(), default, broker, props)
    }

    fn overlay(&self, default: &Properties, broker: &Properties) -> Properties {
        let mut props = self.static_props.clone();
        for overrides in [default, broker] {
            for (name, value) in overrides {
                // A dynamic value in one unit goes before a static one in any other.
                for synonym in broker_synonyms(name, false) {
                    props.remove(synonym);
                }
                props.insert(name.clone(), value.clone());
            }
        }
        props
    }

    fn build(
        mode: Mode,
        static_props: Properties,
        dynamic_default: Properties,
        dynamic_broker: Properties,
        props: Properties,
    ) -> Result<BrokerConfig, ConfigError> {
        let mut values = Vec::with_capacity(BROKER.keys().len());
        let has_controller = props.get("process.roles").is_some_and(|roles| has_controller(roles));
        for key in BROKER.keys() {
            values.push(match (props.get(key.name), &key.default) {
                (Some(text), _) => Some(key.parse(text)?),
                (None, Default::Value(_) | Default::Null) => {
                    key.default_on(has_controller).cloned()
                }
                (None, Default::Required) => return Err(ConfigError::Missing { name: key.name }),
            });
        }
        let mut config = BrokerConfig {
            mode,
            static_props,
            dynamic_default,
            dynamic_broker,
            props,
            values,
            roles: Roles { broker: false, controller: false },
            protocols: ProtocolMap::new(),
            listeners: Vec::new(),
            advertised: Vec::new(),
            advertised_controller: Vec::new(),
            inter_broker: (String::new(), SecurityProtocol::Plaintext),
            per_ip_overrides: Vec::new(),
        };
        let roles = config.list("process.roles");
        config.roles = Roles {
            broker: roles.iter().any(|role| role == "broker"),
            controller: roles.iter().any(|role| role == "controller"),
        };
        config.protocols = config.read_protocols()?;
        if mode == Mode::Embedded {
            // Kafka's configuration takes any text here; its socket server then does not start.
            config.check_configs_of_listeners()?;
        }
        config.listeners = listeners::parse_endpoints(
            "listeners",
            config.list("listeners"),
            &config.protocols,
            false,
        )?;
        let advertised = match config.value("advertised.listeners") {
            Some(Value::List(entries)) => listeners::parse_endpoints(
                "advertised.listeners",
                entries,
                &config.protocols,
                true,
            )?,
            _ => config.listeners.clone(),
        };
        let controllers = config.controller_listener_names().to_vec();
        let is_controller = |endpoint: &Endpoint| controllers.contains(&endpoint.listener);
        config.advertised =
            advertised.iter().filter(|endpoint| !is_controller(endpoint)).cloned().collect();
        config.advertised_controller = config.read_advertised_controller(&advertised)?;
        config.inter_broker = config.read_inter_broker()?;
        config.per_ip_overrides = config.read_per_ip_overrides()?;
        if mode == Mode::Embedded {
            // First: what is missing in Thalweg says more than a rule that is broken besides.
            broker_check::check_honourable(&config)?;
        }
        broker_check::check(&config)?;
        Ok(config)
    }

    /// Whose rules this configuration met.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The configs of the file, with what was added to them.
    pub fn static_props(&self) -> &Properties {
        &self.static_props
    }

    /// The dynamic configs of all brokers.
    pub fn dynamic_default(&self) -> &Properties {
        &self.dynamic_default
    }

    /// The dynamic configs of this broker.
    pub fn dynamic_broker(&self) -> &Properties {
        &self.dynamic_broker
    }

    /// The texts in force: file and dynamic configs, without defaults.
    pub fn props(&self) -> &Properties {
        &self.props
    }

    /// The value of a config; `None` if it is unset or unknown.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let at = BROKER.keys().binary_search_by(|key| key.name.cmp(name)).ok()?;
        self.values.get(at)?.as_ref()
    }

    /// A config of type long that exists only as a dynamic one: what is set, or its default.
    pub fn dynamic_long(&self, name: &str) -> i64 {
        let key = super::table::BROKER_DYNAMIC_ONLY.get(name);
        let set = key.zip(self.props().get(name)).and_then(|(key, text)| key.parse(text).ok());
        match set.as_ref().or_else(|| key?.default_value()) {
            Some(Value::Long(value)) => *value,
            other => unreachable!("{name} is not such a config: {other:?}"),
        }
    }

    /// `replica.alter.log.dirs.io.max.bytes.per.second`.
    pub fn alter_log_dirs_bytes_per_second(&self) -> u64 {
        let rate = self.dynamic_long("replica.alter.log.dirs.io.max.bytes.per.second");
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    fn check_configs_of_listeners(&self) -> Result<(), ConfigError> {
        for (name, text) in &self.props {
            let base = listener_config(name).filter(|base| OF_LISTENERS.contains(base));
            let Some(key) = base.and_then(|base| BROKER.get(base)) else { continue };
            if let Err(ConfigError::InvalidValue { value, reason, .. }) = key.parse(text) {
                return Err(ConfigError::invalid(name.as_str(), value, reason));
            }
        }
        Ok(())
    }

    /// A number that is set for one listener, as `listener.name.<listener>.<name>`.
    pub fn listener_int(&self, listener: &str, name: &str) -> Option<i32> {
        let full = format!("listener.name.{}.{name}", listener.to_lowercase());
        match BROKER.get(name)?.parse(self.props.get(&full)?).ok()? {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }

    /// What this node is.
    pub fn roles(&self) -> Roles {
        self.roles
    }

    /// All listeners, those of the controller included.
    pub fn listeners(&self) -> &[Endpoint] {
        &self.listeners
    }

    /// The listeners for clients and brokers.
    pub fn broker_listeners(&self) -> Vec<&Endpoint> {
        let controllers = self.controller_listener_names();
        self.listeners.iter().filter(|endpoint| !controllers.contains(&endpoint.listener)).collect()
    }

    /// The addresses clients and brokers are given.
    pub fn advertised_listeners(&self) -> &[Endpoint] {
        &self.advertised
    }

    /// The addresses of the controller in the quorum's voter set.
    pub fn advertised_controller_listeners(&self) -> &[Endpoint] {
        &self.advertised_controller
    }

    /// The protocol of each listener name.
    pub fn protocols(&self) -> &ProtocolMap {
        &self.protocols
    }

    /// The listener that brokers use among themselves, and its protocol.
    pub fn inter_broker_listener(&self) -> (&str, SecurityProtocol) {
        (&self.inter_broker.0, self.inter_broker.1)
    }

    /// Limits on connections for single addresses.
    pub fn per_ip_overrides(&self) -> &[(IpOrName, i32)] {
        &self.per_ip_overrides
    }

    /// The log directories: `log.dirs`, or else `log.dir`.
    pub fn log_dirs(&self) -> &[String] {
        match self.value("log.dirs") {
            Some(Value::List(dirs)) => dirs,
            _ => self.list("log.dir"),
        }
    }

    /// The log directories that get no new replicas.
    pub fn cordoned_log_dirs(&self) -> &[String] {
        let cordoned = self.list("cordoned.log.dirs");
        if cordoned.iter().any(|dir| dir == "*") { self.log_dirs() } else { cordoned }
    }

    /// The directory of the metadata log.
    pub fn metadata_log_dir(&self) -> &str {
        match self.text_or_none("metadata.log.dir") {
            Some(dir) => dir,
            None => self.log_dirs().first().map_or("", String::as_str),
        }
    }

    /// The addresses at which a controller of the quorum is looked for: host and port of each.
    pub fn quorum_addresses(&self) -> Vec<(String, u16)> {
        // The entries were checked when they were read.
        let bootstrap = self.controller_quorum_bootstrap_servers().iter();
        let bootstrap = bootstrap.filter_map(|entry| super::validator::host_port(entry).ok());
        let voters = self.voters().into_iter().map(|voter| (voter.host, voter.port));
        let mut all: Vec<(String, u16)> = Vec::new();
        for address in bootstrap.chain(voters) {
            if !all.contains(&address) {
                all.push(address);
            }
        }
        all
    }

    /// The voters of a static quorum.
    pub fn voters(&self) -> Vec<Voter> {
        // The entries were checked when they were read.
        self.list("controller.quorum.voters")
            .iter()
            .filter_map(|entry| Voter::parse(entry).ok())
            .collect()
    }

    /// `log.roll.ms`, or `log.roll.hours`.
    pub fn log_roll_ms(&self) -> i64 {
        self.long_or_none("log.roll.ms")
            .unwrap_or_else(|| i64::from(self.int("log.roll.hours")) * 3_600_000)
    }

    /// `log.roll.jitter.ms`, or `log.roll.jitter.hours`.
    pub fn log_roll_jitter_ms(&self) -> i64 {
        self.long_or_none("log.roll.jitter.ms")
            .unwrap_or_else(|| i64::from(self.int("log.roll.jitter.hours")) * 3_600_000)
    }

    /// `log.retention.ms`, or the minutes, or the hours; -1 for no limit.
    pub fn log_retention_ms(&self) -> i64 {
        let millis = self.long_or_none("log.retention.ms").unwrap_or_else(|| {
            match self.int_or_none("log.retention.minutes") {
                Some(minutes) => i64::from(minutes) * 60_000,
                None => i64::from(self.int("log.retention.hours")) * 3_600_000,
            }
        });
        if millis < 0 { -1 } else { millis }
    }

    /// `log.flush.interval.ms`, or the scheduler's interval.
    pub fn log_flush_interval_ms(&self) -> i64 {
        self.long_or_none("log.flush.interval.ms")
            .unwrap_or_else(|| self.log_flush_scheduler_interval_ms())
    }

    fn read_protocols(&self) -> Result<ProtocolMap, ConfigError> {
        let mut map = listeners::parse_protocol_map(self.text("listener.security.protocol.map"))?;
        if self.props.contains_key("listener.security.protocol.map") {
            return Ok(map);
        }
        let secure = |name: &str| matches!(name, "SSL" | "SASL_SSL" | "SASL_PLAINTEXT");
        let mut names = Vec::new();
        for entry in self.list("listeners") {
            let (name, _) = entry.split_once(':').ok_or_else(|| {
                let reason = "an entry is not of the form NAME://host:port";
                ConfigError::invalid("listeners", format!("{entry:?}"), reason)
            })?;
            names.push(name.to_uppercase());
        }
        let controllers = self.controller_listener_names();
        if controllers.iter().any(|name| secure(name)) || names.iter().any(|name| secure(name)) {
            return Ok(map);
        }
        for name in controllers.iter().filter(|name| *name != "PLAINTEXT") {
            map.insert(name.clone(), SecurityProtocol::Plaintext);
        }
        Ok(map)
    }

    fn read_advertised_controller(
        &self,
        advertised: &[Endpoint],
    ) -> Result<Vec<Endpoint>, ConfigError> {
        let explicit = self.value("advertised.listeners").is_some();
        let controllers = self.controller_listener_names();
        let mut out = Vec::new();
        for (at, name) in controllers.iter().enumerate() {
            let upper = listeners::listener_name("controller.listener.names", name)?;
            let named = |endpoint: &&Endpoint| {
                endpoint.listener == upper && controllers.contains(&endpoint.listener)
            };
            if let Some(endpoint) = advertised.iter().find(named).filter(|_| explicit) {
                out.push(endpoint.clone());
                continue;
            }
            let Some(endpoint) = self.listeners.iter().find(named) else { continue };
            let mut endpoint = endpoint.clone();
            let anywhere = matches!(endpoint.host.as_deref(), None | Some("0.0.0.0"));
            let voter = self.voters().into_iter().find(|voter| voter.id == self.node_id());
            match voter {
                Some(voter) if at == 0 && anywhere => {
                    endpoint.host = Some(voter.host);
                    endpoint.port = voter.port;
                }
                _ if anywhere => endpoint.host = None,
                _ => {}
            }
            out.push(endpoint);
        }
        Ok(out)
    }

    fn read_inter_broker(&self) -> Result<(String, SecurityProtocol), ConfigError> {
        const NAME: &str = "inter.broker.listener.name";
        let Some(name) = self.text_or_none(NAME) else {
            let protocol = self.text("security.inter.broker.protocol");
            let protocol = SecurityProtocol::from_name(protocol).ok_or_else(|| {
                ConfigError::invalid("security.inter.broker.protocol", protocol, "no such protocol")
            })?;
            return Ok((protocol.name().to_owned(), protocol));
        };
        if self.props.contains_key("security.inter.broker.protocol") {
            return Err(ConfigError::conflict(
                "inter.broker.listener.name and security.inter.broker.protocol must not both be set",
            ));
        }
        let listener = listeners::listener_name(NAME, name)?;
        let protocol = self.protocols.get(&listener).copied().ok_or_else(|| {
            let reason = "listener.security.protocol.map has no such listener";
            ConfigError::invalid(NAME, format!("{name:?}"), reason)
        })?;
        Ok((listener, protocol))
    }

    fn read_per_ip_overrides(&self) -> Result<Vec<(IpOrName, i32)>, ConfigError> {
        const NAME: &str = "max.connections.per.ip.overrides";
        let text = self.text(NAME);
        let refuse = |reason| ConfigError::invalid(NAME, format!("{text:?}"), reason);
        let mut overrides = Vec::new();
        for (host, count) in listeners::parse_pairs(NAME, text)? {
            let count = count.parse().map_err(|_| refuse(format!("{count:?} is not a count")))?;
            if !super::validator::is_host(&host) {
                return Err(refuse(format!("{host:?} is neither an address nor a host name")));
            }
            let host = match host.parse() {
                Ok(address) => IpOrName::Ip(address),
                Err(_) => IpOrName::Name(host),
            };
            overrides.push((host, count));
        }
        Ok(overrides)
    }
}

/// Puts assignment intervals that were set dynamically within their static bounds.
fn clamp_assignment_intervals(props: &mut Properties) -> Result<(), ConfigError> {
    for kind in ["consumer", "share", "streams"] {
        let name = format!("group.{kind}.assignment.interval.ms");
        let Some(text) = props.get(&name) else { continue };
        let bound = |which: &str| -> Result<i32, ConfigError> {
            let name = format!("group.{kind}.{which}.assignment.interval.ms");
            let key = BROKER.require(&name)?;
            let value = match props.get(&name) {
                Some(text) => Some(key.parse(text)?),
                None => key.default_value().cloned(),
            };
            match value {
                Some(Value::Int(bound)) => Ok(bound),
                _ => Err(ConfigError::Missing { name: key.name }),
            }
        };
        let (min, max) = (bound("min")?, bound("max")?);
        if let Value::Int(value) = BROKER.require(&name)?.parse(text)? {
            // Not `clamp`, which panics when the bounds contradict each other.
            let clamped = if value < min { min } else { value.min(max.max(min)) };
            if clamped != value {
                props.insert(name, clamped.to_string());
            }
        }
    }
    Ok(())
}

/// Reads the text of a list config, such as a value from the metadata.
pub fn list_members(text: &str) -> Vec<String> {
    match ConfigType::List.parse(text) {
        Ok(Value::List(members)) => members,
        _ => split_list(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn props(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn embedded(pairs: &[(&str, &str)]) -> Result<BrokerConfig, ConfigError> {
        BrokerConfig::new(props(pairs), Mode::Embedded)
    }

    #[test]
    fn nothing_configured_is_enough() {
        let config = embedded(&[]).expect("a config");
        super::super::r#gen::broker::call_every_getter(&config);
        assert_eq!(config.node_id(), 1);
        assert_eq!(config.log_retention_ms(), 604_800_000);
        assert_eq!(config.advertised_listeners().len(), 1);
        assert_eq!(config.reports(), []);
        let config = embedded(&[("broker.id", "7")]).expect("a config");
        assert_eq!(config.node_id(), 7);
    }

    #[test]
    fn kafkas_rules_need_roles() {
        let refused = BrokerConfig::new(Properties::new(), Mode::Kafka);
        assert!(matches!(refused, Err(ConfigError::Missing { .. })), "{refused:?}");
        BrokerConfig::new(
            props(&[
                ("process.roles", "broker,controller"),
                ("node.id", "1"),
                ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
                ("controller.listener.names", "CONTROLLER"),
                ("controller.quorum.bootstrap.servers", "localhost:9093"),
            ]),
            Mode::Kafka,
        )
        .expect("Kafka's own example");
    }

    #[test]
    fn units_and_precedence() {
        let config = embedded(&[("log.retention.hours", "1"), ("log.retention.minutes", "3")])
            .expect("a config");
        assert_eq!(config.log_retention_ms(), 180_000);
        let dynamic = config
            .with_dynamic(props(&[("log.retention.ms", "9")]), Properties::new())
            .expect("a config");
        assert_eq!(dynamic.log_retention_ms(), 9);
        let dynamic = config
            .with_dynamic(props(&[("log.retention.ms", "9")]), props(&[("log.retention.ms", "8")]))
            .expect("a config");
        assert_eq!(dynamic.log_retention_ms(), 8);
        let back = dynamic.with_dynamic(Properties::new(), Properties::new()).expect("a config");
        assert_eq!(back.log_retention_ms(), 180_000);
    }

    #[test]
    fn what_cannot_be_honoured_stops_the_start() {
        for (name, value) in [
            ("listeners", "SSL://:9092"),
            ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
            ("process.roles", "controller"),
            ("create.topic.policy.class.name", "a.Policy"),
            ("controller.quorum.voters", "1@a:1,2@b:1"),
            ("remote.log.storage.system.enable", "true"),
            ("group.consumer.assignors", "uniform,a.Assignor"),
        ] {
            let refused = embedded(&[(name, value)]);
            let Err(ConfigError::CannotHonour { .. }) = refused else {
                panic!("{name}={value}: {refused:?}");
            };
        }
        let refused = embedded(&[
            ("listeners", "CLIENTS://:9092"),
            ("listener.security.protocol.map", "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"),
            ("inter.broker.listener.name", "CLIENTS"),
            ("sasl.mechanism.inter.broker.protocol", "PLAIN"),
            ("sasl.enabled.mechanisms", "PLAIN"),
        ]);
        assert!(matches!(refused, Err(ConfigError::CannotHonour { .. })), "{refused:?}");
    }

    #[test]
    fn who_joins_other_nodes_controllers_goes_by_kafkas_rules() {
        let joined = |more: &[(&str, &str)]| {
            let mut all = vec![
                ("process.roles", "broker"),
                ("node.id", "3"),
                ("controller.listener.names", "CONTROLLER"),
                ("controller.quorum.bootstrap.servers", "a:1,[::1]:2"),
                ("broker.heartbeat.interval.ms", "1000"),
            ];
            all.extend(more);
            embedded(&all)
        };
        let config = joined(&[("controller.quorum.voters", "1@a:1,2@b:3")]).expect("a config");
        assert_eq!(config.roles(), Roles { broker: true, controller: false });
        // Kafka's default, not the one of a node that is alone.
        assert_eq!(config.offsets_topic_replication_factor(), 3);
        let addresses = [("a".to_owned(), 1), ("::1".to_owned(), 2), ("b".to_owned(), 3)];
        assert_eq!(config.quorum_addresses(), addresses);
        assert!(config.reports().is_empty(), "{:?}", config.reports());
        let told = |config: BrokerConfig| {
            let reports = config.reports().into_iter();
            reports.map(|report| report.to_string()).collect::<Vec<_>>().join("\n")
        };
        let alone = embedded(&[("broker.heartbeat.interval.ms", "1000")]).expect("a config");
        assert!(told(alone).contains("broker.heartbeat.interval.ms"));
        assert!(joined(&[("controller.quorum.bootstrap.servers", "")]).is_err());
        assert!(joined(&[("controller.quorum.voters", "3@a:1")]).is_err(), "it is a controller");
        let tls = ("listener.security.protocol.map", "CONTROLLER:SSL,PLAINTEXT:PLAINTEXT");
        let refused = joined(&[tls]);
        assert!(matches!(refused, Err(ConfigError::CannotHonour { .. })), "{refused:?}");
    }

    #[test]
    fn assignor_named_by_name_and_class_is_refused() {
        let sticky = "org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor";
        embedded(&[("group.streams.assignors", sticky)]).expect("a config");
        let range = "org.apache.kafka.coordinator.group.assignor.RangeAssignor";
        let consumers = ("group.consumer.assignors", format!("range,{range}"));
        let streams = ("group.streams.assignors", format!("{sticky},sticky"));
        for (name, value) in [consumers, streams] {
            let refused = embedded(&[(name, &value)]).expect_err("an assignor twice").to_string();
            assert!(refused.contains(name) && refused.contains("twice"), "{refused}");
        }
    }

    #[test]
    fn a_wrong_limit_of_a_listener_is_refused_by_its_name() {
        let name = "listener.name.plaintext.max.connections";
        assert_eq!(
            embedded(&[(name, "7")]).unwrap().listener_int("PLAINTEXT", "max.connections"),
            Some(7)
        );
        for wrong in ["1OO", "-1", ""] {
            let refused = embedded(&[(name, wrong)]);
            let Err(ConfigError::InvalidValue { name: of, .. }) = &refused else {
                panic!("{wrong}: {refused:?}");
            };
            assert_eq!(of, name);
        }
    }

    #[test]
    fn overrides_per_address() {
        let config =
            embedded(&[("max.connections.per.ip.overrides", "::1:5, host:6")]).expect("a config");
        assert_eq!(config.per_ip_overrides().len(), 2);
        assert_eq!(config.per_ip_overrides()[0].1, 5);
        for bad in ["a", "a:b", "a b:1", "a:99999999999"] {
            assert!(embedded(&[("max.connections.per.ip.overrides", bad)]).is_err(), "{bad}");
        }
    }
}
