//! The throttle of replication (KIP-73): `leader.replication.throttled.rate` and `follower.replication.throttled.rate`,
//! for the replicas that `leader.replication.throttled.replicas` and `follower.replication.throttled.replicas` of their
//! topics name. Replicas that are in sync are never held up, or they would not stay so.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use thalweg_metadata::config::{BrokerConfig, TopicConfig, Value};
use thalweg_replication::RateQuota;

const LEADER_RATE: &str = "leader.replication.throttled.rate";
const FOLLOWER_RATE: &str = "follower.replication.throttled.rate";
const LEADER_REPLICAS: &str = "leader.replication.throttled.replicas";
const FOLLOWER_REPLICAS: &str = "follower.replication.throttled.replicas";

/// One side's throttle.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// Bytes per second.
    limit: AtomicU64,
    quota: Mutex<RateQuota>,
}

impl Throttle {
    fn new(config: &BrokerConfig) -> Throttle {
        let count = usize::try_from(config.replication_quota_window_num()).unwrap_or(1);
        let seconds = u64::try_from(config.replication_quota_window_size_seconds()).unwrap_or(1);
        let quota = RateQuota::new(count, seconds.saturating_mul(1_000));
        Throttle { limit: AtomicU64::new(u64::MAX), quota: Mutex::new(quota) }
    }

    /// Whether more went through than may.
    pub(crate) fn is_exceeded(&self, now_ms: u64) -> bool {
        self.quota.lock().bytes_per_second(now_ms) > self.limit.load(Ordering::Relaxed)
    }

    /// So many bytes of throttled replicas went through, whether they might or not.
    pub(crate) fn record(&self, bytes: u64, now_ms: u64) {
        if bytes > 0 {
            self.quota.lock().record(bytes, now_ms);
        }
    }

    /// What went through, in bytes per second.
    pub(crate) fn bytes_per_second(&self, now_ms: u64) -> u64 {
        self.quota.lock().bytes_per_second(now_ms)
    }
}

/// Both sides' throttles.
#[derive(Debug)]
pub(crate) struct Throttles {
    pub(crate) leader: Throttle,
    pub(crate) follower: Throttle,
}

impl Throttles {
    pub(crate) fn new(config: &BrokerConfig) -> Throttles {
        let throttles =
            Throttles { leader: Throttle::new(config), follower: Throttle::new(config) };
        throttles.configure(config);
        throttles
    }

    /// The rates of a configuration hold from now on.
    pub(crate) fn configure(&self, config: &BrokerConfig) {
        for (throttle, name) in [(&self.leader, LEADER_RATE), (&self.follower, FOLLOWER_RATE)] {
            let limit = u64::try_from(config.dynamic_long(name)).unwrap_or(u64::MAX);
            throttle.limit.store(limit, Ordering::Relaxed);
        }
    }
}

/// Replicas of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThrottledReplicas {
    #[default]
    None,
    All,
    /// Partition and broker, in order.
    These(Box<[(i32, i32)]>),
}

impl ThrottledReplicas {
    fn of(config: &TopicConfig, name: &str) -> ThrottledReplicas {
        let Some(Value::List(members)) = config.value(name) else { return ThrottledReplicas::None };
        if members.iter().any(|member| member == "*") {
            return ThrottledReplicas::All;
        }
        // What is no such pair was refused when the config was set.
        let pair = |member: &String| {
            let (partition, broker) = member.trim().split_once(':')?;
            Some((partition.parse().ok()?, broker.parse().ok()?))
        };
        let mut pairs: Vec<(i32, i32)> = members.iter().filter_map(pair).collect();
        pairs.sort_unstable();
        match pairs.is_empty() {
            true => ThrottledReplicas::None,
            false => ThrottledReplicas::These(pairs.into()),
        }
    }

    /// Whether the partition's replica on that broker is one of them.
    pub(crate) fn contains(&self, partition: i32, broker: i32) -> bool {
        match self {
            ThrottledReplicas::None => false,
            ThrottledReplicas::All => true,
            ThrottledReplicas::These(pairs) => pairs.binary_search(&(partition, broker)).is_ok(),
        }
    }
}

/// The replicas of a topic whose leaders, and those whose followers are throttled.
pub(crate) fn throttled_replicas(config: &TopicConfig) -> (ThrottledReplicas, ThrottledReplicas) {
    let of = |name| ThrottledReplicas::of(config, name);
    (of(LEADER_REPLICAS), of(FOLLOWER_REPLICAS))
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::config::Properties;
    use thalweg_metadata::config::broker::Mode;

    use super::*;

    fn broker(pairs: &[(&str, &str)]) -> BrokerConfig {
        let props = |pairs: &[(&str, &str)]| -> Properties {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let file = BrokerConfig::new(Properties::new(), Mode::Embedded).unwrap();
        file.with_dynamic(Properties::new(), props(pairs)).unwrap()
    }

    #[test]
    fn a_rate_holds_from_when_it_is_set() {
        let throttles = Throttles::new(&broker(&[]));
        throttles.leader.record(5_000, 1_000);
        throttles.follower.record(5_000, 1_000);
        assert!(!throttles.leader.is_exceeded(1_000));
        throttles.configure(&broker(&[(LEADER_RATE, "4999"), (FOLLOWER_RATE, "5000")]));
        assert!(throttles.leader.is_exceeded(1_000));
        assert!(!throttles.follower.is_exceeded(1_000));
        assert!(!throttles.leader.is_exceeded(3_000), "it is long ago");
        throttles.configure(&broker(&[]));
        assert!(!throttles.leader.is_exceeded(1_000));
    }

    #[test]
    fn replicas_are_named_by_partition_and_broker() {
        let contains = |text: &str| {
            let set = [(LEADER_REPLICAS.to_owned(), text.to_owned())].into();
            let config = TopicConfig::new(&broker(&[]), &set).unwrap();
            let (leader, follower) = throttled_replicas(&config);
            assert_eq!(follower, ThrottledReplicas::None);
            [(0, 1), (0, 2), (1, 1)].map(|(partition, broker)| leader.contains(partition, broker))
        };
        assert_eq!(contains(""), [false; 3]);
        assert_eq!(contains("*"), [true; 3]);
        assert_eq!(contains("1:1,0:2"), [false, true, true]);
    }
}
