//! Which clients stand it that a heartbeat is held, and how they go about heartbeats.

use thalweg_wire::ApiKey;

/// How a client goes about heartbeats, of those that stand it that one is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// The next heartbeat is sent when it is due, whether or not the last one has been answered.
    Pipelined,
    /// One heartbeat is in flight at a time.
    OneInFlight,
    /// The same, and every answer says how long after the heartbeat the next one is sent.
    AdoptsInterval,
    /// One is in flight at a time. The interval counts from the heartbeat that was sent; an answer with another
    /// interval restarts it. A client whose next heartbeat is due while the last one is in flight waits for the
    /// answer in a loop that takes a whole core (the Java client up to 4.4).
    WaitsAtInterval,
    /// One is in flight at a time, whose request times out, as if the coordinator were gone, after the interval
    /// that the last answer said, or one second if that is longer.
    TimesOutAfterInterval,
    /// It is not known what the client does. No heartbeat of it is held but the first of the consumer protocol.
    Unknown,
}

impl Client {
    /// Whether a member that joins may be answered with a part of what it is to get: what it sends next can be held for
    /// the rest.
    pub(super) fn goes_on_with_a_part(self) -> bool {
        matches!(self, Client::AdoptsInterval | Client::WaitsAtInterval)
    }

    /// How a client goes about what is held of such a request; `None` if it is not known to stand that.
    pub(super) fn of(software: &Software, key: ApiKey) -> Option<Client> {
        let (since, client) = match key {
            ApiKey::HEARTBEAT => software.known.classic,
            ApiKey::SYNC_GROUP => (software.known.classic.0, Client::OneInFlight),
            ApiKey::CONSUMER_GROUP_HEARTBEAT => software.known.consumer,
            _ => return None,
        };
        (software.release >= since).then_some(client)
    }
}

/// The major and the minor number of a release.
type Release = (u32, u32);

/// A client that stands it that a heartbeat is held: from which release on, and how it goes about heartbeats.
#[derive(Debug)]
struct Known {
    software: &'static str,
    classic: (Release, Client),
    consumer: (Release, Client),
}

/// What `held_heartbeats.py` has found out of each, with the oldest release that it was run with.
static KNOWN: [Known; 6] = [
    Known {
        software: "apache-kafka-java",
        classic: ((2, 8), Client::Pipelined),
        consumer: ((3, 9), Client::WaitsAtInterval),
    },
    LIBRDKAFKA,
    // It has librdkafka's numbers.
    Known { software: "confluent-kafka-python", ..LIBRDKAFKA },
    Known {
        software: "thalweg",
        classic: ((0, 0), Client::OneInFlight),
        consumer: ((0, 0), Client::AdoptsInterval),
    },
    // As Java's.
    Known {
        software: "thalweg-bench",
        classic: ((0, 0), Client::Pipelined),
        consumer: ((0, 0), Client::WaitsAtInterval),
    },
    // As librdkafka's: it acknowledges no empty assignment.
    Known {
        software: "thalweg-bench-librdkafka",
        classic: ((0, 0), Client::OneInFlight),
        consumer: ((0, 0), Client::TimesOutAfterInterval),
    },
];

const LIBRDKAFKA: Known = Known {
    software: "librdkafka",
    classic: ((2, 0), Client::OneInFlight),
    consumer: ((2, 12), Client::TimesOutAfterInterval),
};

/// How versions of the Java client end that bear the numbers of the Confluent Platform, 7.9.0-ccs for 3.9.0.
const PLATFORM: &str = "-ccs";
const ENTERPRISE: &str = "-ce";

/// The release of Apache Kafka in one of the Confluent Platform, as far as it may be one that is known.
fn kafka_release(platform: Release) -> Option<Release> {
    match platform {
        (major @ 7.., minor) => Some((major - 4, minor)),
        (6, minor) => Some((2, minor.checked_add(6)?)),
        _ => None,
    }
}

/// What a client says that it is.
#[derive(Debug)]
pub(super) struct Software {
    known: &'static Known,
    release: Release,
}

impl Software {
    /// A client that is in [`KNOWN`].
    pub(super) fn known(name: &str, version: &str) -> Option<Software> {
        let known = KNOWN.iter().find(|known| known.software == name)?;
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        // A version that is none may be any.
        let release = numbers.next().zip(numbers.next()).and_then(|(a, b)| a.ok().zip(b.ok()))?;
        let is_platform = [PLATFORM, ENTERPRISE].iter().any(|suffix| version.ends_with(suffix));
        let release = if is_platform { kafka_release(release)? } else { release };
        Some(Software { known, release })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_clients_are_held_and_only_their_known_releases() {
        let of = |name, version, key| Client::of(&Software::known(name, version)?, key);
        assert_eq!(of("kafkajs", "2.2.4", ApiKey::HEARTBEAT), None);
        let java = |version, key| of("apache-kafka-java", version, key);
        assert_eq!(java("4.3.0", ApiKey::FETCH), None);
        assert_eq!(java("4.3.0", ApiKey::HEARTBEAT), Some(Client::Pipelined));
        assert_eq!(java("2.8.2", ApiKey::SYNC_GROUP), Some(Client::OneInFlight));
        for version in ["2.7.2", "2", "", "unknown", "4294967296.0", "a.b"] {
            assert_eq!(java(version, ApiKey::HEARTBEAT), None, "{version}");
        }
        let consumer = ApiKey::CONSUMER_GROUP_HEARTBEAT;
        assert_eq!(java("3.8.1", consumer), None);
        assert_eq!(java("4.4.0", consumer), Some(Client::WaitsAtInterval));
        assert_eq!(java("10.0.0-SNAPSHOT", consumer), Some(Client::WaitsAtInterval));
        // The Confluent Platform's numbers.
        let pipelined = Some(Client::Pipelined);
        for (version, held) in [
            ("5.5.0-ccs", None),
            ("6.1.9-ccs", None),
            ("6.2.0-ccs", pipelined),
            ("6.4294967295.0-ccs", None),
            ("7.9.1-ce", pipelined),
        ] {
            assert_eq!(java(version, ApiKey::HEARTBEAT), held, "{version}");
        }
        assert_eq!(java("7.8.1-ccs", consumer), None);
        assert_eq!(java("8.0.0-ccs", consumer), Some(Client::WaitsAtInterval));
        let python = of("confluent-kafka-python", "2.16.1-rdkafka-2.16.1", ApiKey::HEARTBEAT);
        assert_eq!(python, Some(Client::OneInFlight));
        assert_eq!(of("librdkafka", "1.9.2", ApiKey::HEARTBEAT), None);
        assert_eq!(of("thalweg", "0.1.0", consumer), Some(Client::AdoptsInterval));
    }
}
