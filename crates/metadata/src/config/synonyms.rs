//! Names under which one setting can stand: topic configs and their broker defaults, the broker's
//! own variants in other units, group configs and their broker defaults, and listener prefixes.

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

/// Group configs and the broker config their default comes from.
pub const GROUP_SYNONYMS: &[(&str, &str)] = &[
    ("consumer.assignment.interval.ms", "group.consumer.assignment.interval.ms"),
    ("consumer.assignor.offload.enable", "group.consumer.assignor.offload.enable"),
    ("consumer.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("consumer.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("share.assignment.interval.ms", "group.share.assignment.interval.ms"),
    ("share.assignor.offload.enable", "group.share.assignor.offload.enable"),
    ("share.delivery.count.limit", "group.share.delivery.count.limit"),
    ("share.heartbeat.interval.ms", "group.share.heartbeat.interval.ms"),
    ("share.partition.max.record.locks", "group.share.partition.max.record.locks"),
    ("share.record.lock.duration.ms", "group.share.record.lock.duration.ms"),
    ("share.session.timeout.ms", "group.share.session.timeout.ms"),
    ("streams.acceptable.recovery.lag", "group.streams.acceptable.recovery.lag"),
    ("streams.assignment.interval.ms", "group.streams.assignment.interval.ms"),
    // A list: the group's value is the first member's name.
    ("streams.assignor.name", "group.streams.assignors"),
    ("streams.assignor.offload.enable", "group.streams.assignor.offload.enable"),
    ("streams.heartbeat.interval.ms", "group.streams.heartbeat.interval.ms"),
    ("streams.initial.rebalance.delay.ms", "group.streams.initial.rebalance.delay.ms"),
    ("streams.num.standby.replicas", "group.streams.num.standby.replicas"),
    ("streams.num.warmup.replicas", "group.streams.num.warmup.replicas"),
    ("streams.rack.aware.assignment.tags", "group.streams.rack.aware.assignment.tags"),
    ("streams.session.timeout.ms", "group.streams.session.timeout.ms"),
    ("streams.task.offset.interval.ms", "group.streams.task.offset.interval.ms"),
    ("thalweg.group.classic.rebalance.mode", "thalweg.group.classic.rebalance.mode"),
    ("thalweg.group.disconnect.grace.ms", "thalweg.group.disconnect.grace.ms"),
    ("thalweg.group.heartbeat.push", "thalweg.group.heartbeat.push"),
];

/// The broker config behind a group config.
pub fn group_synonym(group_config: &str) -> Option<&'static str> {
    GROUP_SYNONYMS.iter().find(|(name, _)| *name == group_config).map(|(_, synonym)| *synonym)
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
    use super::super::table::{BROKER, GROUP, TOPIC};
    use super::*;

    #[test]
    fn synonyms_exist() {
        for (topic, synonyms) in TOPIC_SYNONYMS {
            assert!(TOPIC.get(topic).is_some(), "{topic}");
            for (broker, _) in *synonyms {
                assert!(BROKER.get(broker).is_some(), "{broker}");
            }
        }
        for (group, broker) in GROUP_SYNONYMS {
            assert!(GROUP.get(group).is_some() && BROKER.get(broker).is_some(), "{group}");
        }
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
