//! What the names of Kafka's client properties (4.4) mean here.

/// What a name does here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// Connections or some client take it.
    Taken,
    /// Kafka's clients have it; nothing here needs it.
    Idle,
    /// To do without would change who is trusted or what is written.
    Refused(&'static str),
    /// The same, except with this value, which is Kafka's default.
    RefusedUnless { default: &'static str, why: &'static str },
}

/// Names that connections or some client take, or that programs do which use one.
const TAKEN: [&str; 65] = [
    "acks",
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "batch.size",
    "bootstrap.servers",
    "buffer.memory",
    "check.crcs",
    "client.id",
    "client.rack",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "connections.max.idle.ms",
    "default.api.timeout.ms",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.idempotence",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "isolation.level",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "max.poll.records",
    "max.request.size",
    "metadata.cluster.check.enable",
    "metadata.max.age.ms",
    "metadata.max.idle.ms",
    "metadata.recovery.strategy",
    "partition.assignment.strategy",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.ignore.keys",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.jaas.config",
    "sasl.mechanism",
    "security.protocol",
    "session.timeout.ms",
    "socket.connection.setup.timeout.ms",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
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
    "transaction.timeout.ms",
    "transactional.id",
];

/// Names that Kafka's clients do not have and some client here takes.
const OWN: [&str; 1] = ["thalweg.connect.ahead.brokers"];

/// Names of Kafka's clients that nothing here needs.
const IDLE: [&str; 30] = [
    "bootstrap.resolve.timeout.ms",
    "buffer.memory.allocation.strategy",
    "client.dns.lookup",
    "enable.metrics.push",
    "exclude.internal.topics",
    "interceptor.classes",
    "key.deserializer",
    "key.serializer",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "partitioner.availability.timeout.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "send.buffer.bytes",
    "share.acknowledgement.mode",
    "share.acquire.mode",
    "socket.connection.setup.timeout.max.ms",
    "ssl.keymanager.algorithm",
    "ssl.protocol",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
    "value.deserializer",
    "value.serializer",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "internal.throw.on.fetch.stable.offset.unsupported",
];

const JAVA: &str = "there is no Java here to load a class of";

/// Names whose absence would be noticed too late.
const REFUSED: [(&str, &str); 11] = [
    ("bootstrap.controllers", "give brokers, with bootstrap.servers"),
    ("config.providers", JAVA),
    ("partitioner.class", JAVA),
    ("sasl.client.callback.handler.class", JAVA),
    ("sasl.login.callback.handler.class", JAVA),
    ("sasl.login.class", JAVA),
    ("security.providers", JAVA),
    ("ssl.cipher.suites", "TLS takes the suites that rustls offers"),
    ("ssl.engine.factory.class", JAVA),
    ("ssl.provider", JAVA),
    ("transaction.two.phase.commit.enable", "there is no two-phase commit yet (KIP-939)"),
];

/// Names, Kafka's default, which is followed here, and why other values are refused.
const REFUSED_UNLESS: [(&str, &str, &str); 1] =
    [("partitioner.rack.aware", "false", "the partitioner does not know racks yet (KIP-1123)")];

/// Names with these beginnings belong to mechanisms that are refused by `sasl.mechanism`.
const IDLE_PREFIXES: [&str; 3] = ["sasl.kerberos.", "sasl.oauthbearer.", "sasl.login."];

/// What a name does here; nothing for one that neither Kafka's clients nor these have.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    if TAKEN.contains(&name) || OWN.contains(&name) {
        return Some(Meaning::Taken);
    }
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Some(Meaning::Refused(why));
    }
    if let Some((_, default, why)) = REFUSED_UNLESS.iter().find(|(refused, ..)| *refused == name) {
        return Some(Meaning::RefusedUnless { default, why });
    }
    let is_idle = IDLE.contains(&name) || IDLE_PREFIXES.iter().any(|p| name.starts_with(p));
    is_idle.then_some(Meaning::Idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_meaning() {
        for name in TAKEN {
            assert!(!IDLE.contains(&name), "{name}");
            assert!(!REFUSED.iter().any(|(refused, _)| *refused == name), "{name}");
        }
        for (name, ..) in REFUSED_UNLESS {
            assert!(!TAKEN.contains(&name) && !IDLE.contains(&name), "{name}");
        }
        assert_eq!(meaning("sasl.login.class"), Some(Meaning::Refused(JAVA)));
        assert_eq!(meaning("sasl.login.refresh.window.factor"), Some(Meaning::Idle));
        assert_eq!(meaning("linger"), None);
        assert!(OWN.iter().all(|name| name.starts_with("thalweg.")));
    }

    /// The table for readers says of each name what it is; the two must not disagree.
    #[test]
    fn the_table_agrees() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/CONFIGS.md");
        let text = std::fs::read_to_string(path).unwrap();
        let mut listed = Vec::new();
        for line in text.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, _, _, here, _, _] = cells[..] else { continue };
            let name = name.trim_matches('`');
            let found = meaning(name).unwrap_or_else(|| panic!("{name} is not known here"));
            // What has a field there is taken here; what is idle or refused here has none.
            if here.contains("::") {
                assert_eq!(found, Meaning::Taken, "{name} is {here}");
            }
            listed.push(name.to_owned());
        }
        let refused = REFUSED.iter().map(|(name, _)| name);
        let refused = refused.chain(REFUSED_UNLESS.iter().map(|(name, ..)| name));
        for name in TAKEN.iter().chain(&IDLE).chain(refused) {
            assert!(listed.iter().any(|listed| listed == name), "{name} is not in the table");
        }
    }
}
