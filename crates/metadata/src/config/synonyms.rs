//! Names under which one setting can stand: topic configs and their broker defaults, the broker's
//! own variants in other units, group configs and their broker defaults, and listener prefixes.

use super::table::BROKER;

/// How the value of a broker config becomes the value of a topic config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The same unit.
    Same,
    /// Minutes, where the topic config has milliseconds.
    Minutes,
    /// Hours, where the topic config has milliseconds.
    Hours,
}

impl Unit {
    /// Milliseconds of one unit.
    pub fn millis(self) -> i64 {
        match self {
            Unit::Same => 1,
            Unit::Minutes => 60_000,
            Unit::Hours => 3_600_000,
        }
    }
}

/// A topic config and the broker configs its default comes from, the first that is set winning.
pub const TOPIC_SYNONYMS: &[(&str, &[(&str, Unit)])] = &[
    ("cleanup.policy", &[("log.cleanup.policy", Unit::Same)]),
    ("compression.gzip.level", &[("compression.gzip.level", Unit::Same)]),
    ("compression.lz4.level", &[("compression.lz4.level", Unit::Same)]),
    ("compression.type", &[("compression.type", Unit::Same)]),
    ("compression.zstd.level", &[("compression.zstd.level", Unit::Same)]),
    ("delete.retention.ms", &[("log.cleaner.delete.retention.ms", Unit::Same)]),
    ("file.delete.delay.ms", &[("log.segment.delete.delay.ms", Unit::Same)]),
    ("flush.messages", &[("log.flush.interval.messages", Unit::Same)]),
    (
        "flush.ms",
        &[("log.flush.interval.ms", Unit::Same), ("log.flush.scheduler.interval.ms", Unit::Same)],
    ),
    ("index.interval.bytes", &[("log.index.interval.bytes", Unit::Same)]),
    ("local.retention.bytes", &[("log.local.retention.bytes", Unit::Same)]),
    ("local.retention.ms", &[("log.local.retention.ms", Unit::Same)]),
    ("max.compaction.lag.ms", &[("log.cleaner.max.compaction.lag.ms", Unit::Same)]),
    ("max.decompressed.message.bytes", &[("max.decompressed.message.bytes", Unit::Same)]),
    ("max.message.bytes", &[("message.max.bytes", Unit::Same)]),
    ("message.timestamp.after.max.ms", &[("log.message.timestamp.after.max.ms", Unit::Same)]),
    ("message.timestamp.before.max.ms", &[("log.message.timestamp.before.max.ms", Unit::Same)]),
    ("message.timestamp.type", &[("log.message.timestamp.type", Unit::Same)]),
    ("min.cleanable.dirty.ratio", &[("log.cleaner.min.cleanable.ratio", Unit::Same)]),
    ("min.compaction.lag.ms", &[("log.cleaner.min.compaction.lag.ms", Unit::Same)]),
    ("min.insync.replicas", &[("min.insync.replicas", Unit::Same)]),
    ("preallocate", &[("log.preallocate", Unit::Same)]),
    ("remote.copy.lag.bytes", &[("log.remote.copy.lag.bytes", Unit::Same)]),
    ("remote.copy.lag.ms", &[("log.remote.copy.lag.ms", Unit::Same)]),
    ("retention.bytes", &[("log.retention.bytes", Unit::Same)]),
    (
        "retention.ms",
        &[
            ("log.retention.ms", Unit::Same),
            ("log.retention.minutes", Unit::Minutes),
            ("log.retention.hours", Unit::Hours),
        ],
    ),
    ("segment.bytes", &[("log.segment.bytes", Unit::Same)]),
    ("segment.index.bytes", &[("log.index.size.max.bytes", Unit::Same)]),
    (
        "segment.jitter.ms",
        &[("log.roll.jitter.ms", Unit::Same), ("log.roll.jitter.hours", Unit::Hours)],
    ),
    ("segment.ms", &[("log.roll.ms", Unit::Same), ("log.roll.hours", Unit::Hours)]),
    ("unclean.leader.election.enable", &[("unclean.leader.election.enable", Unit::Same)]),
];

/// The broker configs behind a topic config; empty where there is none.
pub fn topic_synonyms(topic_config: &str) -> &'static [(&'static str, Unit)] {
    TOPIC_SYNONYMS
        .iter()
        .find(|(name, _)| *name == topic_config)
        .map_or(&[], |(_, synonyms)| synonyms)
}

/// The broker config behind a group config: the one of that name behind `group.`, or of the same name.
pub fn group_synonym(group_config: &str) -> Option<&'static str> {
    if group_config == "streams.assignor.name" {
        // A list: the group's value is the first member's name.
        return Some("group.streams.assignors");
    }
    let of_groups = BROKER.get(&format!("group.{group_config}"));
    of_groups.or_else(|| BROKER.get(group_config)).map(|key| key.name)
}

/// SASL configs that stand behind a mechanism's name in a listener's configs.
const MECHANISM_CONFIGS: [&str; 5] = [
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
];

/// The names under which a broker config can be set, in order of precedence.
///
/// With `match_listener`, `listener.name.<listener>.<config>` has the plain config as its fallback.
pub fn broker_synonyms(name: &str, match_listener: bool) -> Vec<&str> {
    match name {
        "log.roll.ms" | "log.roll.hours" => vec!["log.roll.ms", "log.roll.hours"],
        "log.roll.jitter.ms" | "log.roll.jitter.hours" => {
            vec!["log.roll.jitter.ms", "log.roll.jitter.hours"]
        }
        // One way only: the scheduler's interval is a default, not a variant.
        "log.flush.interval.ms" => {
            vec!["log.flush.interval.ms", "log.flush.scheduler.interval.ms"]
        }
        "log.retention.ms" | "log.retention.minutes" | "log.retention.hours" => {
            vec!["log.retention.ms", "log.retention.minutes", "log.retention.hours"]
        }
        _ => match listener_config(name) {
            Some(base) if match_listener => {
                let mechanism = MECHANISM_CONFIGS.iter().find(|config| base.ends_with(**config));
                vec![name, mechanism.copied().unwrap_or(base)]
            }
            _ => vec![name],
        },
    }
}

/// The part of `listener.name.<listener>.<config>` behind the listener's name.
pub fn listener_config(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("listener.name.")?;
    let (_, base) = rest.split_once('.')?;
    Some(base)
}

#[cfg(test)]
mod tests {
    use super::super::table::{GROUP, TOPIC};
    use super::*;

    #[test]
    fn synonyms_exist() {
        for (topic, synonyms) in TOPIC_SYNONYMS {
            assert!(TOPIC.get(topic).is_some(), "{topic}");
            for (broker, _) in *synonyms {
                assert!(BROKER.get(broker).is_some(), "{broker}");
            }
        }
        assert!(GROUP.get("streams.assignor.name").is_some());
        let mut own: Vec<&str> = Vec::new();
        for key in GROUP.keys() {
            match group_synonym(key.name) {
                Some(broker) => assert!(BROKER.get(broker).is_some(), "{broker}"),
                None => own.push(key.name),
            }
        }
        let without_default_of_brokers = [
            "errors.deadletterqueue.copy.record.enable",
            "errors.deadletterqueue.topic.name",
            "share.auto.offset.reset",
            "share.isolation.level",
            "share.renew.acknowledge.enable",
        ];
        assert_eq!(own, without_default_of_brokers);
    }

    #[test]
    fn listener_prefixes() {
        let synonyms = broker_synonyms("listener.name.a.ssl.key.password", true);
        assert_eq!(synonyms, ["listener.name.a.ssl.key.password", "ssl.key.password"]);
        let synonyms = broker_synonyms("listener.name.a.plain.sasl.jaas.config", true);
        assert_eq!(synonyms[1], "sasl.jaas.config");
        assert_eq!(broker_synonyms("listener.name.a.x", false), ["listener.name.a.x"]);
    }
}
