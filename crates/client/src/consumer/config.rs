//! How a consumer behaves.

use std::time::Duration;

use super::errands;
use crate::backoff;
use crate::core::fetch::{FetchSettings, IsolationLevel, OffsetReset};
use crate::core::group::{GroupProtocol, GroupSettings};
use crate::error::Error;
use crate::options;

/// Settings of a [`Consumer`](super::Consumer). Names and defaults are those of Kafka's Java
/// consumer where it has them; each field names its Java config.
#[derive(Clone, Debug)]
pub struct ConsumerConfig {
    /// The group to commit to, and to be a member of when subscribing (`group.id`); none.
    pub group_id: Option<String>,
    /// Makes the member static (`group.instance.id`, KIP-345): it keeps its partitions while it is
    /// away for less than the session timeout. None.
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
    /// classic groups only); 45 s.
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

impl ConsumerConfig {
    /// Whether a [`Consumer`](super::Consumer) could be made of this: it would refuse what this
    /// refuses, but it needs a cluster.
    ///
    /// # Errors
    /// [`Error::Config`] names a value that makes no sense.
    pub fn check(&self) -> Result<(), Error> {
        self.clone().bounded().fetch_settings().map(drop)
    }

    /// Whether [`Consumer::subscribe_pattern`](super::Consumer::subscribe_pattern) could take a
    /// pattern. In a group of KIP-848 only the brokers know.
    ///
    /// # Errors
    /// [`Error::Config`] says what is wrong with the pattern.
    pub fn check_pattern(&self, pattern: &str) -> Result<(), Error> {
        match self.group_protocol {
            GroupProtocol::Classic { .. } => errands::matcher(pattern).map(drop),
            GroupProtocol::Consumer { .. } => Ok(()),
        }
    }

    /// The same with times that can be added to a moment.
    pub(super) fn bounded(mut self) -> ConsumerConfig {
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
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        backoff::pause(self.retry_backoff, self.retry_backoff_max, failures)
    }

    /// What of this concerns membership in group `id`.
    pub(super) fn group_settings(&self, id: &str, request_timeout: Duration) -> GroupSettings {
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
    pub(super) fn fetch_settings(&self) -> Result<FetchSettings, Error> {
        let wrong = |name: &'static str, reason: &str| Error::Config {
            name: name.into(),
            reason: reason.to_owned(),
        };
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
            replica_lease_ms: ms(self.metadata_max_age),
        })
    }
}
