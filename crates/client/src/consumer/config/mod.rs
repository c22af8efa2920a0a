//! How a consumer behaves.

pub(super) mod close;
pub(super) mod pattern;

use std::time::Duration;

use crate::core::fetch::{FetchSettings, IsolationLevel, OffsetReset};
use crate::core::group::{GroupProtocol, GroupSettings};
use crate::error::Error;
use crate::options;
use crate::options::backoff;
use crate::options::setters::setters;

/// Longest `group.instance.id`.
const ID_MAX: usize = 249;

/// Settings of a [`Consumer`](super::Consumer). Names and defaults are those of Kafka's Java
/// consumer where it has them; each field names its Java config.
///
/// More settings may come, so it cannot be written out: begin with the default, and use the setters
/// or assign to the fields.
///
/// ```
/// use thalweg::{ConsumerConfig, OffsetReset};
///
/// let mut config = ConsumerConfig::default()
///     .with_group_id("billing")
///     .with_auto_offset_reset(OffsetReset::Earliest);
/// config.auto_commit = false;
/// config.check()?;
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerConfig {
    /// The group to commit to, and to be a member of when subscribing (`group.id`); none.
    pub group_id: Option<String>,
    /// Makes the member static (`group.instance.id`, KIP-345): it keeps its partitions while it is
    /// away for less than the session timeout. None.
    ///
    /// After a crash (`kill -9`) the protocols differ. A classic group lets the next process with this id in at once, in
    /// place of the one before. With KIP-848 the coordinator refuses it with UNRELEASED_INSTANCE_ID, which is an
    /// [`Error::Membership`](crate::Error::Membership), until the session of the process before is over,
    /// which takes the broker's `group.consumer.session.timeout.ms`, 45 s: start it again until then. A member that was closed
    /// has released its id, and its successor is let in at once.
    pub group_instance_id: Option<String>,
    /// With which protocol the group is joined (`group.protocol`,
    /// `partition.assignment.strategy`, `group.remote.assignor`); classic, as range or
    /// cooperative-sticky.
    pub group_protocol: GroupProtocol,
    /// Whether what the application is done with is committed without being asked
    /// (`enable.auto.commit`): every [`Self::auto_commit_interval`], and when partitions are given
    /// up. What a poll gave is done with when the next one is called. Yes.
    pub auto_commit: bool,
    /// How often (`auto.commit.interval.ms`); 5 s.
    pub auto_commit_interval: Duration,
    /// Time without heartbeats after which the group gives the member up (`session.timeout.ms`,
    /// classic groups only, and longer than [`Self::heartbeat_interval`]); 45 s.
    pub session_timeout: Duration,
    /// Time between heartbeats (`heartbeat.interval.ms`, classic groups only); 3 s.
    pub heartbeat_interval: Duration,
    /// Longest time between polls before the member leaves (`max.poll.interval.ms`), and for
    /// handing partitions over; 5 minutes.
    pub max_poll_interval: Duration,
    /// How long a call tries before it gives up (`default.api.timeout.ms`); 1 minute.
    pub default_api_timeout: Duration,
    /// Bytes that an answer waits for (`fetch.min.bytes`); 1.
    pub fetch_min_bytes: i32,
    /// How long it waits at most (`fetch.max.wait.ms`); 500 ms.
    pub fetch_max_wait: Duration,
    /// Bytes of one answer (`fetch.max.bytes`); 50 MiB. A first batch that is larger comes whole.
    pub fetch_max_bytes: i32,
    /// Bytes of one partition in one answer (`max.partition.fetch.bytes`); 1 MiB, likewise.
    pub max_partition_fetch_bytes: i32,
    /// Bytes that this consumer may have asked for, fetched, and in records that the application
    /// still holds: one limit over all partitions on what is asked for. 64 MiB. What was asked for
    /// may unfold to more: of each partition that is being read one compressed batch is open at a
    /// time, and the first batch of an answer comes whole however large it is, from each broker.
    /// Both count, and nothing more is asked for until there is room again. The Java consumer has
    /// no such limit.
    pub fetch_budget: usize,
    /// Where to begin without an offset (`auto.offset.reset`); at the end.
    pub auto_offset_reset: OffsetReset,
    /// What of transactions is read (`isolation.level`); everything.
    pub isolation_level: IsolationLevel,
    /// Whether checksums are checked (`check.crcs`); yes.
    pub check_crcs: bool,
    /// Most bytes that one batch may decompress to; 1 GiB. The Java consumer has no such limit.
    pub decompressed_batch_max_bytes: u64,
    /// Where this client is, for reading from the nearest replica (`client.rack`, KIP-392).
    pub client_rack: String,
    /// Age at which metadata is asked for again (`metadata.max.age.ms`); 5 minutes.
    pub metadata_max_age: Duration,
    /// First pause before something that failed is tried again (`retry.backoff.ms`); 100 ms.
    pub retry_backoff: Duration,
    /// Longest such pause (`retry.backoff.max.ms`); 1 s.
    pub retry_backoff_max: Duration,
}

impl Default for ConsumerConfig {
    fn default() -> ConsumerConfig {
        ConsumerConfig {
            group_id: None,
            group_instance_id: None,
            group_protocol: GroupProtocol::default(),
            auto_commit: true,
            auto_commit_interval: Duration::from_secs(5),
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: Duration::from_secs(3),
            max_poll_interval: Duration::from_secs(300),
            default_api_timeout: Duration::from_secs(60),
            fetch_min_bytes: 1,
            fetch_max_wait: Duration::from_millis(500),
            fetch_max_bytes: 50 << 20,
            max_partition_fetch_bytes: 1 << 20,
            fetch_budget: 64 << 20,
            auto_offset_reset: OffsetReset::Latest,
            isolation_level: IsolationLevel::ReadUncommitted,
            check_crcs: true,
            decompressed_batch_max_bytes: 1 << 30,
            client_rack: String::new(),
            metadata_max_age: Duration::from_secs(300),
            retry_backoff: backoff::RETRY_BACKOFF,
            retry_backoff_max: backoff::RETRY_BACKOFF_MAX,
        }
    }
}

setters! {
    ConsumerConfig {
        group_protocol: GroupProtocol => with_group_protocol,
        auto_commit: bool => with_auto_commit,
        auto_commit_interval: Duration => with_auto_commit_interval,
        session_timeout: Duration => with_session_timeout,
        heartbeat_interval: Duration => with_heartbeat_interval,
        max_poll_interval: Duration => with_max_poll_interval,
        default_api_timeout: Duration => with_default_api_timeout,
        fetch_min_bytes: i32 => with_fetch_min_bytes,
        fetch_max_wait: Duration => with_fetch_max_wait,
        fetch_max_bytes: i32 => with_fetch_max_bytes,
        max_partition_fetch_bytes: i32 => with_max_partition_fetch_bytes,
        fetch_budget: usize => with_fetch_budget,
        auto_offset_reset: OffsetReset => with_auto_offset_reset,
        isolation_level: IsolationLevel => with_isolation_level,
        check_crcs: bool => with_check_crcs,
        decompressed_batch_max_bytes: u64 => with_decompressed_batch_max_bytes,
        metadata_max_age: Duration => with_metadata_max_age,
        retry_backoff: Duration => with_retry_backoff,
        retry_backoff_max: Duration => with_retry_backoff_max,
    }
}

impl ConsumerConfig {
    /// Sets [`Self::group_id`].
    pub fn with_group_id(mut self, group_id: impl Into<String>) -> ConsumerConfig {
        self.group_id = Some(group_id.into());
        self
    }

    /// Sets [`Self::group_instance_id`].
    pub fn with_group_instance_id(mut self, id: impl Into<String>) -> ConsumerConfig {
        self.group_instance_id = Some(id.into());
        self
    }

    /// Sets [`Self::client_rack`].
    pub fn with_client_rack(mut self, rack: impl Into<String>) -> ConsumerConfig {
        self.client_rack = rack.into();
        self
    }

    /// Whether a [`Consumer`](super::Consumer) could be made of this: it would refuse what this
    /// refuses, but it needs a cluster.
    ///
    /// # Errors
    /// [`Error::Config`] names a value that makes no sense.
    pub fn check(&self) -> Result<(), Error> {
        self.check_group()?;
        self.clone().bounded().fetch_settings().map(drop)
    }

    /// What concerns the group.
    pub(in crate::consumer) fn check_group(&self) -> Result<(), Error> {
        if self.group_id.as_deref() == Some("") {
            return Err(wrong("group.id", "is empty"));
        }
        if let Some(id) = &self.group_instance_id {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            if self.group_id.is_none() {
                return Err(wrong("group.instance.id", "is of no use without group.id"));
            }
            if matches!(&**id, "" | "." | "..") || id.len() > ID_MAX || !id.chars().all(is_plain) {
                let reason = "is not made of 1 to 249 letters, digits, '.', '_' and '-'";
                return Err(wrong("group.instance.id", reason));
            }
        }
        if self.max_poll_interval.is_zero() {
            return Err(wrong("max.poll.interval.ms", "leaves no time between two polls"));
        }
        match &self.group_protocol {
            GroupProtocol::Classic { assignors } => {
                if assignors.is_empty() {
                    return Err(wrong("partition.assignment.strategy", "names no assignor"));
                }
                if self.heartbeat_interval.is_zero() {
                    return Err(wrong(
                        "heartbeat.interval.ms",
                        "leaves no pause between heartbeats",
                    ));
                }
                if self.heartbeat_interval >= self.session_timeout {
                    let reason = "is not shorter than session.timeout.ms";
                    return Err(wrong("heartbeat.interval.ms", reason));
                }
            }
            GroupProtocol::Consumer { server_assignor } => {
                let usual = ConsumerConfig::default();
                if self.session_timeout != usual.session_timeout {
                    let reason = "cannot be set with group.protocol=consumer: the group's \
                                  consumer.session.timeout.ms counts, at the brokers";
                    return Err(wrong("session.timeout.ms", reason));
                }
                if self.heartbeat_interval != usual.heartbeat_interval {
                    let reason = "cannot be set with group.protocol=consumer: the group's \
                                  consumer.heartbeat.interval.ms counts, at the brokers";
                    return Err(wrong("heartbeat.interval.ms", reason));
                }
                if server_assignor.as_deref() == Some("") {
                    return Err(wrong("group.remote.assignor", "is empty"));
                }
            }
        }
        Ok(())
    }

    /// Whether [`Consumer::subscribe_pattern`](super::Consumer::subscribe_pattern) could take a
    /// pattern. In a group of KIP-848 only the brokers know.
    ///
    /// # Errors
    /// [`Error::Config`] says what is wrong with the pattern.
    pub fn check_pattern(&self, pattern: &str) -> Result<(), Error> {
        match self.group_protocol {
            GroupProtocol::Classic { .. } => pattern::matcher(pattern).map(drop),
            GroupProtocol::Consumer { .. } => Ok(()),
        }
    }

    /// The same with times that can be added to a moment.
    pub(in crate::consumer) fn bounded(mut self) -> ConsumerConfig {
        for time in [
            &mut self.fetch_max_wait,
            &mut self.auto_commit_interval,
            &mut self.session_timeout,
            &mut self.heartbeat_interval,
            &mut self.max_poll_interval,
            &mut self.default_api_timeout,
            &mut self.metadata_max_age,
            &mut self.retry_backoff,
            &mut self.retry_backoff_max,
        ] {
            *time = options::bounded(*time);
        }
        self
    }

    /// The pause after so many failures in a row.
    pub(in crate::consumer) fn backoff(&self, failures: u32) -> Duration {
        backoff::pause(self.retry_backoff, self.retry_backoff_max, failures)
    }

    /// What of this concerns membership in group `id`.
    pub(in crate::consumer) fn group_settings(
        &self,
        id: &str,
        request_timeout: Duration,
    ) -> GroupSettings {
        let ms = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        GroupSettings {
            instance_id: self.group_instance_id.clone(),
            protocol: self.group_protocol.clone(),
            session_timeout_ms: ms(self.session_timeout),
            heartbeat_interval_ms: ms(self.heartbeat_interval),
            rebalance_timeout_ms: ms(self.max_poll_interval),
            rack: Some(self.client_rack.clone()).filter(|rack| !rack.is_empty()),
            retry_backoff_ms: ms(self.retry_backoff),
            retry_backoff_max_ms: ms(self.retry_backoff_max),
            request_timeout_ms: ms(request_timeout),
            ..GroupSettings::new(id)
        }
    }

    /// What of this concerns fetching; an error names a value that makes no sense.
    pub(in crate::consumer) fn fetch_settings(&self) -> Result<FetchSettings, Error> {
        if self.fetch_min_bytes < 0 {
            return Err(wrong("fetch.min.bytes", "is negative"));
        }
        if self.fetch_max_bytes <= 0 {
            return Err(wrong("fetch.max.bytes", "is not positive"));
        }
        if self.max_partition_fetch_bytes <= 0 {
            return Err(wrong("max.partition.fetch.bytes", "is not positive"));
        }
        if self.fetch_budget == 0 {
            return Err(wrong("fetch_budget", "leaves no room for anything"));
        }
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Ok(FetchSettings {
            min_bytes: self.fetch_min_bytes,
            max_wait_ms: i32::try_from(self.fetch_max_wait.as_millis())
                .map_err(|_| wrong("fetch.max.wait.ms", "is longer than 24 days"))?,
            max_bytes: self.fetch_max_bytes,
            partition_max_bytes: self.max_partition_fetch_bytes,
            isolation: self.isolation_level,
            reset: self.auto_offset_reset,
            rack: self.client_rack.clone(),
            check_crcs: self.check_crcs,
            batch_max: self.decompressed_batch_max_bytes,
            retry_backoff_ms: ms(self.retry_backoff).max(1),
            retry_backoff_max_ms: ms(self.retry_backoff_max),
            seed: backoff::random(),
            replica_lease_ms: ms(self.metadata_max_age),
        })
    }
}

fn wrong(name: &'static str, reason: &str) -> Error {
    Error::Config { name: name.into(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::group::Assignor;

    #[test]
    fn what_makes_no_sense_in_a_group_is_refused_by_name() {
        let ms = Duration::from_millis;
        let modern = || GroupProtocol::Consumer { server_assignor: None };
        let config = || ConsumerConfig::default().with_group_id("g");
        let refused = [
            (ConsumerConfig::default().with_group_id(""), "group.id"),
            (config().with_group_instance_id(""), "group.instance.id"),
            (config().with_group_instance_id("a b"), "group.instance.id"),
            (config().with_group_instance_id("a".repeat(250)), "group.instance.id"),
            (ConsumerConfig::default().with_group_instance_id("a"), "group.instance.id"),
            (config().with_max_poll_interval(ms(0)), "max.poll.interval.ms"),
            (config().with_heartbeat_interval(ms(0)), "heartbeat.interval.ms"),
            (config().with_heartbeat_interval(ms(45_000)), "heartbeat.interval.ms"),
            (config().with_session_timeout(ms(3_000)), "heartbeat.interval.ms"),
            (config().with_session_timeout(ms(0)), "heartbeat.interval.ms"),
            (
                config().with_group_protocol(GroupProtocol::Classic { assignors: vec![] }),
                "partition.assignment.strategy",
            ),
            (
                config().with_group_protocol(modern()).with_session_timeout(ms(6_000)),
                "session.timeout.ms",
            ),
            (
                config().with_group_protocol(modern()).with_heartbeat_interval(ms(100)),
                "heartbeat.interval.ms",
            ),
        ];
        for (config, wanted) in refused {
            let Err(Error::Config { name, reason }) = config.check() else {
                panic!("{wanted} is not refused: {config:?}")
            };
            assert_eq!(&*name, wanted, "{reason}");
        }
        let one = GroupProtocol::Classic { assignors: vec![Assignor::Range] };
        for config in [
            config(),
            config().with_group_instance_id("a.b_c-1"),
            config().with_group_protocol(modern()),
            config().with_group_protocol(one).with_session_timeout(ms(3_001)),
        ] {
            config.check().unwrap();
        }
    }
}
