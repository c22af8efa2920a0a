//! What a configuration asks for that Thalweg does not do.

use thalweg_metadata::config::broker::Mode;
use thalweg_metadata::config::{BrokerConfig, ConfigError, NOT_YET, Properties, Report};

use super::{Area, Finding, Findings};
use crate::boot::{listen, open};

/// Reasons for which a config does nothing, without anything being lost by it.
const HARMLESS: [&str; 4] = ["coord", "metrics", "quorum", "threads"];

/// Reads the configuration, and says what of it is refused and what does nothing. `None` where it makes no sense.
pub(super) fn read(props: Properties, findings: &mut Vec<Finding>) -> Option<BrokerConfig> {
    let mut found = Findings { area: Area::Config, all: findings };
    if !props.contains_key("log.dirs") && !props.contains_key("log.dir") {
        found.not_honoured(
            "log.dirs is not set: Kafka takes /tmp/kafka-logs, thalweg serve ./thalweg-data",
            "set log.dirs to where the data is",
        );
    }
    if !props.contains_key("listeners") {
        found.not_honoured(
            "listeners is not set: Kafka listens on all interfaces, thalweg serve on 127.0.0.1 alone",
            "set listeners, for instance to PLAINTEXT://:9092",
        );
    }
    let started = BrokerConfig::new(props.clone(), Mode::Embedded);
    // What the start would say first is not all that it has to say.
    let config = match (BrokerConfig::unrefused(props), &started) {
        (Ok(config), _) => config,
        (Err(_), Ok(config)) => config.clone(),
        (Err(kafkas), Err(error)) => {
            refuse(&mut found, error);
            if kafkas != *error {
                refuse(&mut found, &kafkas);
            }
            return None;
        }
    };
    let refusals = config.cannot_honour();
    for error in &refusals {
        refuse(&mut found, error);
    }
    if let Err(error) = &started
        && !refusals.contains(error)
    {
        refuse(&mut found, error);
    }
    reports(&config, &mut found);
    Some(started.unwrap_or(config))
}

fn refuse(found: &mut Findings<'_>, error: &ConfigError) {
    let action = match error {
        ConfigError::CannotHonour { name, .. } => refused_action(name),
        _ => "put it right, and check again",
    };
    found.refused(error.to_string(), action);
}

/// What to do about a config that stops the start.
fn refused_action(name: &str) -> &'static str {
    match name {
        "process.roles" => {
            "leave the controllers to Apache Kafka, and take the place of nodes with process.roles=broker only"
        }
        "controller.quorum.voters" => {
            "give the node up as a controller first (another controller in its place), and set process.roles=broker"
        }
        "listeners" => {
            "have clients and brokers come over a PLAINTEXT listener, and take this one out of listeners"
        }
        "controller.listener.names" => {
            "give the controllers a PLAINTEXT listener, or leave this broker to Apache Kafka"
        }
        "authorizer.class.name" => {
            "leave this broker to Apache Kafka, or do without authorization on all nodes, and remove it"
        }
        "remote.log.storage.system.enable" => {
            "leave this broker to Apache Kafka as long as topics have remote.storage.enable=true; without any, remove it"
        }
        "config.providers" => "write the values themselves into the file, and remove it",
        _ => "remove it, if what the class does can be done without",
    }
}

/// Says which configs do nothing.
pub(super) fn reports_of(config: &BrokerConfig, findings: &mut Vec<Finding>) {
    reports(config, &mut Findings { area: Area::Config, all: findings });
}

fn reports(config: &BrokerConfig, found: &mut Findings<'_>) {
    let refusals = config.cannot_honour();
    let is_refused = |name: &str| {
        let mut refusals = refusals.iter();
        refusals.any(
            |it| matches!(it, ConfigError::CannotHonour { name: refused, .. } if refused == name),
        )
    };
    for report in config.reports() {
        match &report {
            Report::Unknown { .. } => found.not_honoured(
                report.to_string(),
                "remove it; if a plug-in of Java's goes by it, that plug-in does not run here",
            ),
            Report::NotYet { name, .. } if is_refused(name) => {}
            Report::NotYet { reason, .. } if is_harmless(reason) => {
                found.note(report.to_string(), "nothing has to be done; it can be removed");
            }
            Report::NotYet { reason, .. } => {
                found.not_honoured(report.to_string(), inactive_action(reason));
            }
            Report::Doubtful { .. } => found.note(report.to_string(), "choose other values"),
        }
    }
}

fn tag_of(reason: &str) -> Option<&'static str> {
    NOT_YET.iter().find(|(_, known)| *known == reason).map(|(tag, _)| *tag)
}

fn is_harmless(reason: &str) -> bool {
    tag_of(reason).is_some_and(|tag| HARMLESS.contains(&tag))
}

fn inactive_action(reason: &str) -> &'static str {
    match tag_of(reason) {
        Some("java") => "remove it, if what the class does can be done without",
        Some("sec") => "remove it: every listener is PLAINTEXT",
        Some("controllers") => "set it on the controllers",
        Some("quota") => "limit clients by other means, or leave this broker to Apache Kafka",
        _ => "remove it, if it can be done without",
    }
}

/// What the process and its ports allow: a start tries the same.
pub(super) fn sockets(config: &BrokerConfig, findings: &mut Vec<Finding>) {
    let mut found = Findings { area: Area::Config, all: findings };
    // They are closed at once.
    if let Err(error) = listen::bind_all(config) {
        found.refused(error.to_string(), "free the address, or choose another one");
    }
    let (dirs, metadata_dir) = open::directories(config);
    if let Err(error) = open::shares(&dirs, &metadata_dir) {
        found.refused(error.to_string(), "raise the limit");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::inspect::Severity;

    fn found(pairs: &[(&str, &str)]) -> (Option<BrokerConfig>, Vec<Finding>) {
        let joining = [
            ("process.roles", "broker"),
            ("node.id", "4"),
            ("controller.quorum.bootstrap.servers", "c:9093"),
            ("controller.listener.names", "CONTROLLER"),
            ("listeners", "PLAINTEXT://:9092"),
            ("log.dirs", "/data"),
        ];
        let all = joining.iter().chain(pairs);
        let props = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut findings = Vec::new();
        let config = read(props, &mut findings);
        (config, findings)
    }

    fn named<'a>(findings: &'a [Finding], severity: Severity, part: &str) -> &'a Finding {
        let mut those = findings.iter().filter(|it| it.severity == severity);
        those.find(|it| it.what.contains(part)).unwrap_or_else(|| panic!("{part} in {findings:#?}"))
    }

    #[test]
    fn a_file_that_says_nothing_special_is_fine() {
        let (config, findings) = found(&[("broker.rack", "a"), ("num.partitions", "3")]);
        assert_eq!(findings, []);
        assert_eq!(config.unwrap().node_id(), 4);
    }

    #[test]
    fn all_that_is_refused_is_named_at_once() {
        let (config, findings) = found(&[
            ("listeners", "PLAINTEXT://:9092,SSL://:9094,SASL_SSL://:9095"),
            ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
            ("create.topic.policy.class.name", "com.example.Policy"),
            ("alter.config.policy.class.name", "com.example.Policy"),
            ("remote.log.storage.system.enable", "true"),
            ("group.consumer.assignors", "uniform,com.example.Assignor"),
            ("config.providers", "file"),
            ("controller.listener.names", "CTRL"),
            (
                "listener.security.protocol.map",
                "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL,CTRL:SASL_PLAINTEXT",
            ),
        ]);
        for part in [
            "SSL://:9094",
            "SASL_SSL://:9095",
            "authorizer.class.name=",
            "create.topic.policy.class.name=",
            "alter.config.policy.class.name=",
            "remote.log.storage.system.enable=",
            "com.example.Assignor",
            "config.providers=file",
            "controller.listener.names=CTRL",
        ] {
            let finding = named(&findings, Severity::Refused, part);
            assert!(!finding.action.is_empty(), "{finding:?}");
        }
        let refused = findings.iter().filter(|it| it.severity == Severity::Refused).count();
        assert_eq!(refused, 9, "{findings:#?}");
        // Said once, not again as a config that does nothing.
        let twice = findings.iter().filter(|it| it.what.contains("authorizer.class.name")).count();
        assert_eq!(twice, 1);
        assert!(config.is_some(), "the directories can be looked at all the same");
    }

    #[test]
    fn what_does_nothing_is_told_by_what_is_lost() {
        let (_, findings) = found(&[
            ("metric.reporters", "com.example.Reporter"),
            ("client.quota.callback.class", "com.example.Quota"),
            ("principal.builder.class", "com.example.Principal"),
            ("confluent.telemetry", "on"),
            ("num.io.threads", "16"),
        ]);
        for part in [
            "metric.reporters=",
            "client.quota.callback.class=",
            "principal.builder.class=",
            "confluent.telemetry",
        ] {
            named(&findings, Severity::NotHonoured, part);
        }
        named(&findings, Severity::Note, "num.io.threads=16");
        assert!(!findings.iter().any(|it| it.severity == Severity::Refused), "{findings:#?}");
    }

    #[test]
    fn a_controller_is_not_taken_over() {
        let (_, findings) = found(&[
            ("process.roles", "controller"),
            ("listeners", "CONTROLLER://:9093"),
            ("controller.quorum.voters", "4@c:9093"),
        ]);
        named(&findings, Severity::Refused, "process.roles");
        let (_, findings) = found(&[
            ("process.roles", "broker,controller"),
            ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
            ("controller.quorum.voters", "4@c:9093,5@d:9093"),
        ]);
        named(&findings, Severity::Refused, "controller.quorum.voters");
    }

    #[test]
    fn a_value_that_makes_no_sense_ends_the_reading() {
        let (config, findings) = found(&[("num.partitions", "many")]);
        assert!(config.is_none());
        named(&findings, Severity::Refused, "num.partitions");
    }

    #[test]
    fn what_serve_takes_otherwise_than_kafka_is_told() {
        let mut findings = Vec::new();
        read(Properties::new(), &mut findings);
        named(&findings, Severity::NotHonoured, "log.dirs is not set");
        named(&findings, Severity::NotHonoured, "listeners is not set");
    }
}
