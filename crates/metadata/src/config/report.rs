//! What the owner of a configuration should know: names that nobody knows, configs that do not act.

use std::fmt;

use thalweg_wire::secret;

use super::broker::{BrokerConfig, Mode, OF_LISTENERS, added_defaults};
use super::error::HIDDEN;
use super::properties::Properties;
use super::synonyms::{broker_synonyms, listener_config};
use super::table::broker_key;

/// Something about a configuration that its owner should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Kafka 4.4 has no such config.
    Unknown {
        /// The name; hidden if it does not look like one.
        name: String,
    },
    /// The config is set to something else than its default, and does not act yet.
    NotYet {
        /// The config.
        name: String,
        /// Its value; hidden for sensitive configs.
        value: String,
        /// Why it does not act.
        reason: &'static str,
    },
    /// A value is allowed, but not what anybody would want.
    Doubtful {
        /// What is wrong with it.
        message: String,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Unknown { name } if name == HIDDEN => f.write_str(
                "a line that is no config is ignored: does a line before it lack a backslash at its end?",
            ),
            Report::Unknown { name } => write!(f, "unknown config {name} is ignored"),
            Report::NotYet { name, value, reason } => {
                write!(f, "config {name}={value} does not act yet: {reason}")
            }
            Report::Doubtful { message } => f.write_str(message),
        }
    }
}

/// Selects a replica in the consumer's rack.
const RACK_AWARE_SELECTOR: &str = "org.apache.kafka.common.replica.RackAwareReplicaSelector";
/// The values of `replica.selector.class` that act.
const REPLICA_SELECTORS: [&str; 3] =
    ["", RACK_AWARE_SELECTOR, "org.apache.kafka.common.replica.LeaderSelector"];

impl BrokerConfig {
    /// Whether consumers are sent to replicas in their rack (KIP-392).
    pub fn selects_replicas_by_rack(&self) -> bool {
        self.replica_selector_class() == Some(RACK_AWARE_SELECTOR)
    }

    /// What the owner of this configuration should know.
    pub fn reports(&self) -> Vec<Report> {
        let mut reports = Vec::new();
        let added = match self.mode() {
            Mode::Embedded => added_defaults(self.static_props()),
            Mode::Kafka => Properties::new(),
        };
        for (name, text) in self.props() {
            if added.get(name) == Some(text) {
                continue;
            }
            let base = listener_config(name).filter(|_| broker_key(name).is_none());
            let key = broker_key(name).or_else(|| {
                // Behind a listener's name may stand a mechanism's name.
                let base = base?;
                broker_key(base).or_else(|| {
                    let synonym = broker_synonyms(name, true).get(1).copied()?;
                    broker_key(synonym)
                })
            });
            let Some(key) = key else {
                // Lines of a key, in a PEM whose lines do not end in backslashes, are reported once.
                let unknown = Report::Unknown { name: secret::shown_name(name).to_owned() };
                if !reports.contains(&unknown) {
                    reports.push(unknown);
                }
                continue;
            };
            let reason = match key.inactive_because(self.roles().controller) {
                Some(reason) => reason,
                None if base.is_some_and(|base| OF_LISTENERS.contains(&base)) => continue,
                None if base.is_some() => "settings of single listeners are not served yet",
                None => continue,
            };
            let default = key.default_on(self.roles().controller);
            let is_default = key.parse(text).ok().as_ref() == default;
            if !is_default || base.is_some() {
                let value = if key.is_sensitive() { HIDDEN.to_owned() } else { text.clone() };
                reports.push(Report::NotYet { name: name.clone(), value, reason });
            }
        }
        const PROTOCOLS: &str = "group.coordinator.rebalance.protocols";
        if self.list(PROTOCOLS).iter().any(|protocol| protocol == "share") {
            reports.push(Report::NotYet {
                name: PROTOCOLS.into(),
                value: self.list(PROTOCOLS).join(","),
                reason: "share groups are not served yet",
            });
        }
        if let Some(selector) =
            self.replica_selector_class().filter(|it| !REPLICA_SELECTORS.contains(it))
        {
            reports.push(Report::NotYet {
                name: "replica.selector.class".into(),
                value: selector.to_owned(),
                reason: "of Java classes only Kafka's own selectors are served; consumers read from leaders",
            });
        }
        for endpoint in self.listeners() {
            if self.mode() == Mode::Embedded
                && self.controller_listener_names().contains(&endpoint.listener)
            {
                reports.push(Report::NotYet {
                    name: "listeners".into(),
                    value: endpoint.to_string(),
                    reason: "the embedded controller is asked in process and opens no port",
                });
            }
        }
        let heartbeat = i64::from(self.int("broker.heartbeat.interval.ms"));
        let session = i64::from(self.int("broker.session.timeout.ms"));
        if heartbeat * 2 > session {
            reports.push(Report::Doubtful {
                message: format!(
                    "broker.heartbeat.interval.ms={heartbeat} is more than half of \
                     broker.session.timeout.ms={session}"
                ),
            });
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedded(pairs: &[(&str, &str)]) -> BrokerConfig {
        let props = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        BrokerConfig::new(props, Mode::Embedded).expect("a configuration")
    }

    #[test]
    fn reports() {
        let config = embedded(&[
            ("num.network.threads", "3"),
            ("num.io.threads", "4"),
            ("foo.bar", "x"),
            ("replica.selector.class", "com.example.Nearest"),
            ("listener.name.plaintext.ssl.key.password", "secret"),
            // Acts.
            ("listener.name.plaintext.max.connections", "5"),
        ]);
        let reports: Vec<String> = config.reports().iter().map(Report::to_string).collect();
        assert_eq!(
            reports,
            [
                "unknown config foo.bar is ignored",
                "config listener.name.plaintext.ssl.key.password=[hidden] does not act yet: TLS, \
                 SASL and authorization are not served yet",
                "config num.io.threads=4 does not act yet: there is no such thread pool, queue or \
                 sweep",
                "config replica.selector.class=com.example.Nearest does not act yet: of Java classes \
                 only Kafka's own selectors are served; consumers read from leaders",
            ]
        );
        assert!(!config.selects_replicas_by_rack());
    }

    /// A PEM whose lines do not end in backslashes: each line of the key is read as a config.
    #[test]
    fn lines_of_keys_are_not_shown() {
        let lines = [
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
            "c2VjcmV0MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTU",
        ];
        let mut config = embedded(&[
            ("listener.name.plaintext.ssl.keystore.key", "-----BEGIN PRIVATE KEY-----"),
            (lines[0], ""),
            (lines[1], ""),
            ("ssl.key.password", lines[0]),
        ]);
        let dynamic = |name: &str| Properties::from([(name.to_owned(), lines[1].to_owned())]);
        config = config
            .with_dynamic(Properties::new(), dynamic("listener.name.plaintext.ssl.key.password"))
            .expect("a configuration");
        let reports = config.reports();
        let unknown = reports.iter().filter(|report| matches!(report, Report::Unknown { .. }));
        assert_eq!(unknown.count(), 1);
        let shown: Vec<String> = reports.iter().map(Report::to_string).collect();
        let shown =
            format!("{shown:?} {reports:?} {config:?} {:?}", config.value("ssl.key.password"));
        for secret in lines.into_iter().chain(["BEGIN"]) {
            assert!(!shown.contains(secret), "{shown}");
        }
        let error = super::super::TOPIC.require(lines[0]).expect_err("no config");
        assert!(!format!("{error} {error:?}").contains(lines[0]), "{error}");
    }

    #[test]
    fn kafkas_own_replica_selectors_act() {
        for (selector, by_rack) in [("RackAwareReplicaSelector", true), ("LeaderSelector", false)] {
            let class = format!("org.apache.kafka.common.replica.{selector}");
            let config = embedded(&[("replica.selector.class", &class)]);
            assert_eq!((config.selects_replicas_by_rack(), config.reports()), (by_rack, vec![]));
        }
    }
}
