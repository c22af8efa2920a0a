//! The rules between the values of a broker's configuration.

use std::collections::HashSet;

use super::broker::{ASSIGNORS, BrokerConfig, Mode, assignor_among};
use super::error::ConfigError;
use super::listeners::SecurityProtocol;
use super::table::TOPIC;
use super::value::Value;

fn require(holds: bool, message: impl FnOnce() -> String) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::conflict(message())) }
}

/// Kafka's rules.
pub(super) fn check(config: &BrokerConfig) -> Result<(), ConfigError> {
    let node_id = config.node_id();
    let broker_id = config.int("broker.id");
    require(node_id == broker_id, || {
        format!("node.id={node_id} and broker.id={broker_id} must be the same")
    })?;
    check_logs(config)?;
    check_groups(config)?;
    check_fetcher(config)?;
    check_quorum(config)?;
    check_listeners(config)?;
    check_sockets(config)
}

fn check_logs(config: &BrokerConfig) -> Result<(), ConfigError> {
    let roll = config.log_roll_ms();
    require(roll >= 1, || format!("log.roll.ms={roll} must be at least 1"))?;
    let jitter = config.log_roll_jitter_ms();
    require(jitter >= 0, || format!("log.roll.jitter.ms={jitter} must be at least 0"))?;
    let retention = config.log_retention_ms();
    require(retention >= 1 || retention == -1, || {
        format!("log.retention.ms={retention} must be at least 1, or -1 for no limit")
    })?;
    require(!config.log_dirs().is_empty(), || "log.dirs or log.dir must be set".into())?;
    let buffer = config.long("log.cleaner.dedupe.buffer.size");
    let threads = i64::from(config.int("log.cleaner.threads"));
    // Kafka divides by the number of threads; 0 threads end in an exception there.
    let per_thread = buffer.checked_div(threads).unwrap_or(0);
    require(per_thread > 1024 * 1024, || {
        format!(
            "log.cleaner.dedupe.buffer.size={buffer} must be more than 1 MiB for each of \
             log.cleaner.threads={threads}"
        )
    })?;
    if config.mode() == Mode::Embedded {
        check_offsets_topic(config)?;
    }
    let protocols = config.list("group.coordinator.rebalance.protocols");
    require(protocols.iter().any(|protocol| protocol == "classic"), || {
        "group.coordinator.rebalance.protocols must contain classic".into()
    })
}

/// A topic cannot be made with smaller segments, and without the offsets topic no group works. Kafka
/// starts all the same.
fn check_offsets_topic(config: &BrokerConfig) -> Result<(), ConfigError> {
    let bytes = config.offsets_topic_segment_bytes();
    let refused = TOPIC.get("segment.bytes").and_then(|key| key.parse(&bytes.to_string()).err());
    require(refused.is_none(), || {
        format!(
            "offsets.topic.segment.bytes={bytes} would be the segment.bytes of the offsets topic, \
             which cannot be made with it, and then no group works: {}",
            refused.map_or(String::new(), |refused| refused.to_string())
        )
    })
}

/// Bounds that group settings must keep among themselves.
fn check_groups(config: &BrokerConfig) -> Result<(), ConfigError> {
    let at_most = |smaller: &str, larger: &str| {
        let (low, high) = (config.int(smaller), config.int(larger));
        require(low <= high, || {
            format!("{smaller}={low} must be less than or equal to {larger}={high}")
        })
    };
    for kind in ["consumer", "share", "streams"] {
        for setting in ["heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"] {
            let plain = format!("group.{kind}.{setting}");
            let min = format!("group.{kind}.min.{setting}");
            let max = format!("group.{kind}.max.{setting}");
            at_most(&min, &max)?;
            at_most(&min, &plain)?;
            at_most(&plain, &max)?;
        }
        let heartbeat = config.int(&format!("group.{kind}.heartbeat.interval.ms"));
        let session = config.int(&format!("group.{kind}.session.timeout.ms"));
        require(heartbeat < session, || {
            format!(
                "group.{kind}.heartbeat.interval.ms={heartbeat} must be less than \
                 group.{kind}.session.timeout.ms={session}"
            )
        })?;
    }
    at_most("group.streams.num.standby.replicas", "group.streams.max.standby.replicas")?;
    at_most("group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms")?;
    at_most("group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas")?;
    let tags = "group.streams.rack.aware.assignment.tags";
    let named = config.props().get(tags).map_or("", String::as_str);
    require(!super::group::names_a_tag_twice(named), || {
        format!("{tags} must not name a tag twice")
    })?;
    for (name, known) in ASSIGNORS {
        let mut seen = HashSet::new();
        for written in config.list(name) {
            let assignor = assignor_among(known, written).unwrap_or(written);
            require(seen.insert(assignor), || format!("{name} must not name {assignor} twice"))?;
        }
    }
    let assignors = config.list("group.share.assignors");
    require(assignors.len() == 1, || "group.share.assignors must name exactly one".into())?;
    for setting in ["delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms"]
    {
        let plain = format!("group.share.{setting}");
        at_most(&plain, &format!("group.share.max.{setting}"))?;
        at_most(&format!("group.share.min.{setting}"), &plain)?;
    }
    at_most("group.share.max.size", "group.share.max.share.sessions")
}

fn check_fetcher(config: &BrokerConfig) -> Result<(), ConfigError> {
    let wait = config.int("replica.fetch.wait.max.ms");
    let timeout = config.int("replica.socket.timeout.ms");
    require(wait <= timeout, || {
        format!(
            "replica.fetch.wait.max.ms={wait} must not exceed replica.socket.timeout.ms={timeout}"
        )
    })?;
    let lag = config.replica_lag_time_max_ms();
    require(i64::from(wait) <= lag, || {
        format!("replica.fetch.wait.max.ms={wait} must not exceed replica.lag.time.max.ms={lag}")
    })
}

fn check_quorum(config: &BrokerConfig) -> Result<(), ConfigError> {
    let roles = config.roles();
    let node_id = config.node_id();
    let voters: Vec<i32> = config.voters().iter().map(|voter| voter.id).collect();
    let controllers = config.controller_listener_names();
    let listens = |name: &String| config.listeners().iter().any(|l| l.listener == *name);
    if config.mode() == Mode::Kafka || !roles.controller {
        require(
            !voters.is_empty() || !config.controller_quorum_bootstrap_servers().is_empty(),
            || "controller.quorum.bootstrap.servers or controller.quorum.voters must be set".into(),
        )?;
    }
    if roles.controller {
        require(voters.is_empty() || voters.contains(&node_id), || {
            format!("node.id={node_id} is a controller and must stand in controller.quorum.voters")
        })?;
        // The embedded controller is asked in process and needs no listener of its own.
        if config.mode() == Mode::Kafka {
            require(!config.advertised_controller_listeners().is_empty(), || {
                "listeners must have a listener named in controller.listener.names".into()
            })?;
            require(controllers.iter().all(listens), || {
                format!(
                    "controller.listener.names={} must all stand in listeners",
                    controllers.join(",")
                )
            })?;
        }
    }
    if roles.broker && !roles.controller {
        require(!voters.contains(&node_id), || {
            format!(
                "node.id={node_id} is no controller and must not stand in controller.quorum.voters"
            )
        })?;
        require(!controllers.iter().any(listens), || {
            format!(
                "controller.listener.names={} must not stand in listeners of a broker",
                controllers.join(",")
            )
        })?;
        for name in controllers {
            let name = name.to_uppercase();
            require(config.protocols().contains_key(&name), || {
                format!(
                    "listener.security.protocol.map has no entry for controller listener {name}"
                )
            })?;
        }
        require(!config.boolean("controller.quorum.auto.join.enable"), || {
            "controller.quorum.auto.join.enable is only for controllers".into()
        })?;
    }
    if roles.controller && !roles.broker {
        require(
            config.advertised_controller_listeners().len() == config.listeners().len(),
            || "listeners of a controller must all stand in controller.listener.names".into(),
        )?;
        let explicit = config.text_or_none("inter.broker.listener.name").is_some();
        let name = config.inter_broker_listener().0.to_owned();
        require(!explicit || !controllers.contains(&name), || {
            format!("inter.broker.listener.name={name} must not stand in controller.listener.names")
        })?;
    }
    Ok(())
}

fn check_listeners(config: &BrokerConfig) -> Result<(), ConfigError> {
    let names = |endpoints: &[super::listeners::Endpoint]| -> Vec<String> {
        endpoints.iter().map(|endpoint| endpoint.listener.clone()).collect()
    };
    if let Some(Value::List(early)) = config.value("early.start.listeners") {
        for name in early {
            let known = config.listeners().iter().any(|endpoint| endpoint.listener == *name);
            require(known, || {
                format!(
                    "early.start.listeners: {name} stands neither in listeners nor in controller.listener.names"
                )
            })?;
        }
    }
    if config.roles().broker {
        let advertised = names(config.advertised_listeners());
        require(!advertised.is_empty(), || {
            "there is no listener for clients: all stand in controller.listener.names".into()
        })?;
        let (inter_broker, _) = config.inter_broker_listener();
        // One node alone has no other broker to talk to, but clients of the listener exist.
        require(advertised.iter().any(|name| name == inter_broker), || {
            format!(
                "inter-broker listener {inter_broker} must be one of the advertised listeners {}",
                advertised.join(",")
            )
        })?;
        let all = names(config.listeners());
        if let Some(stranger) = advertised.iter().find(|name| !all.contains(name)) {
            return Err(ConfigError::conflict(format!(
                "advertised.listeners: {stranger} is none of the listeners {}",
                all.join(",")
            )));
        }
        let cordoned = config.list("cordoned.log.dirs");
        if cordoned.iter().any(|dir| dir == "*") {
            require(cordoned.len() == 1, || {
                "cordoned.log.dirs must not name directories beside *".into()
            })?;
        } else if let Some(stranger) = cordoned.iter().find(|dir| !config.log_dirs().contains(dir))
        {
            return Err(ConfigError::conflict(format!(
                "cordoned.log.dirs: {stranger} is none of the log directories"
            )));
        }
    }
    let nowhere =
        |endpoint: &super::listeners::Endpoint| endpoint.host.as_deref() == Some("0.0.0.0");
    let advertised = config.advertised_listeners().iter();
    if let Some(endpoint) =
        advertised.chain(config.advertised_controller_listeners()).find(|e| nowhere(e))
    {
        return Err(ConfigError::conflict(format!(
            "{endpoint} cannot be advertised: 0.0.0.0 is no address to connect to; set \
             advertised.listeners"
        )));
    }
    let (listener, protocol) = config.inter_broker_listener();
    if matches!(protocol, SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl) {
        let mechanism = config.text("sasl.mechanism.inter.broker.protocol");
        let prefixed = format!("listener.name.{}.sasl.enabled.mechanisms", listener.to_lowercase());
        let enabled = match config.props().get(&prefixed) {
            Some(text) => super::broker::list_members(text),
            None => config.list("sasl.enabled.mechanisms").to_vec(),
        };
        require(enabled.iter().any(|name| name == mechanism), || {
            format!(
                "sasl.mechanism.inter.broker.protocol={mechanism} must stand in \
                 sasl.enabled.mechanisms={}",
                enabled.join(",")
            )
        })?;
    }
    Ok(())
}

fn check_sockets(config: &BrokerConfig) -> Result<(), ConfigError> {
    let queued = config.queued_max_request_bytes();
    let request = config.socket_request_max_bytes();
    require(queued <= 0 || queued >= i64::from(request), || {
        format!(
            "queued.max.request.bytes={queued} must not be less than \
             socket.request.max.bytes={request}"
        )
    })?;
    require(config.max_connections_per_ip() != 0 || !config.per_ip_overrides().is_empty(), || {
        "max.connections.per.ip=0 needs max.connections.per.ip.overrides".into()
    })?;
    let delay = config.int("connection.failed.authentication.delay.ms");
    let idle = config.connections_max_idle_ms();
    require(idle < 0 || i64::from(delay) < idle, || {
        format!(
            "connection.failed.authentication.delay.ms={delay} must be less than \
             connections.max.idle.ms={idle}"
        )
    })
}

/// The first of what Thalweg refuses because ignoring it would be dangerous.
pub(super) fn check_honourable(config: &BrokerConfig) -> Result<(), ConfigError> {
    config.cannot_honour().into_iter().next().map_or(Ok(()), Err)
}

impl BrokerConfig {
    /// All that Thalweg refuses because ignoring it would be dangerous: of a configuration that meets Kafka's rules
    /// alone ([`Mode::Kafka`]), what a start would refuse.
    pub fn cannot_honour(&self) -> Vec<ConfigError> {
        let mut refused = Vec::new();
        let mut refuse = |name: &str, value: &str, reason: &str| {
            refused.push(ConfigError::CannotHonour {
                name: name.to_owned(),
                value: value.to_owned(),
                reason: reason.to_owned(),
            });
        };
        let roles = self.roles();
        if !roles.broker {
            refuse("process.roles", "controller", "Thalweg is not a controller on its own");
        }
        for endpoint in self.listeners() {
            if endpoint.protocol != SecurityProtocol::Plaintext {
                refuse(
                    "listeners",
                    &endpoint.to_string(),
                    &format!(
                        "the listener's protocol is {}, and TLS and SASL are not served yet",
                        endpoint.protocol
                    ),
                );
            }
        }
        let authorizer = self.text("authorizer.class.name");
        if !authorizer.is_empty() {
            let reason = "authorization is not served yet, everybody would be let in";
            refuse("authorizer.class.name", authorizer, reason);
        }
        for name in ["create.topic.policy.class.name", "alter.config.policy.class.name"] {
            if let Some(class) = self.text_or_none(name) {
                refuse(name, class, "Java classes cannot be loaded, nothing would be vetoed");
            }
        }
        // Those of streams and share groups are not asked yet.
        let consumers = "group.consumer.assignors";
        for written in self.list(consumers) {
            if super::broker::assignor_name(written).is_none() {
                let reason = "Java classes cannot be loaded; supported are uniform and range, also by the \
                              names of Kafka's classes";
                refuse(consumers, written, reason);
            }
        }
        let providers = self.list("config.providers");
        if !providers.is_empty() {
            let reason = "Java classes cannot be loaded, values would be taken literally";
            refuse("config.providers", &providers.join(","), reason);
        }
        if self.boolean("remote.log.storage.system.enable") {
            let reason = "tiered storage is not built yet, remote segments could not be read";
            refuse("remote.log.storage.system.enable", "true", reason);
        }
        if !roles.controller {
            for name in self.controller_listener_names() {
                let protocol = self.protocols().get(&name.to_uppercase());
                if let Some(protocol) = protocol.filter(|it| **it != SecurityProtocol::Plaintext) {
                    let reason = format!(
                        "the controllers' listener has protocol {protocol}, and TLS and SASL are not spoken yet"
                    );
                    refuse("controller.listener.names", name, &reason);
                }
            }
        } else if self.voters().iter().any(|voter| voter.id != self.node_id()) {
            refuse(
                "controller.quorum.voters",
                &self.list("controller.quorum.voters").join(","),
                "an embedded controller must be the only voter, or the cluster's metadata would fork",
            );
        }
        refused
    }
}
