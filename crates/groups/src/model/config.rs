//! What a group coordinator can be configured to.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_coordinator::CoordinatorRecord as _;

use super::record::GroupRecord;
use crate::assignor::{ASSIGNORS, Assignor};

/// Which changes of type a group may make while it lives (`group.consumer.migration.policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerMigrationPolicy {
    /// Both.
    Bidirectional,
    /// From classic to consumer.
    Upgrade,
    /// From consumer to classic.
    Downgrade,
    /// None.
    Disabled,
}

impl ConsumerMigrationPolicy {
    /// The policy of that name, in any case.
    pub fn named(name: &str) -> Option<ConsumerMigrationPolicy> {
        Some(match name.to_ascii_lowercase().as_str() {
            "bidirectional" => ConsumerMigrationPolicy::Bidirectional,
            "upgrade" => ConsumerMigrationPolicy::Upgrade,
            "downgrade" => ConsumerMigrationPolicy::Downgrade,
            "disabled" => ConsumerMigrationPolicy::Disabled,
            _ => return None,
        })
    }

    /// Whether classic members may join a consumer group.
    pub(crate) fn lets_classic_members_join(self) -> bool {
        self != ConsumerMigrationPolicy::Disabled
    }

    pub(crate) fn may_upgrade(self) -> bool {
        matches!(self, ConsumerMigrationPolicy::Bidirectional | ConsumerMigrationPolicy::Upgrade)
    }

    pub(crate) fn may_downgrade(self) -> bool {
        matches!(self, ConsumerMigrationPolicy::Bidirectional | ConsumerMigrationPolicy::Downgrade)
    }
}

/// Who assigns a group of classic consumers (`thalweg.group.classic.rebalance.mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassicRebalanceMode {
    /// One of the members, after all of them have joined: Kafka's way.
    Barrier,
    /// The coordinator, if all members offer assignors that it has (see `hosted`).
    Server,
}

impl ClassicRebalanceMode {
    /// The names of the modes.
    pub const NAMES: [&str; 2] = ["barrier", "server"];

    /// The mode of that name, in any case.
    pub fn named(name: &str) -> Option<ClassicRebalanceMode> {
        Some(match name.to_ascii_lowercase().as_str() {
            "barrier" => ClassicRebalanceMode::Barrier,
            "server" => ClassicRebalanceMode::Server,
            _ => return None,
        })
    }
}

/// What a group may have of its own (the config resource GROUP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerGroupConfig {
    /// `consumer.session.timeout.ms`
    pub session_timeout_ms: i32,
    /// `consumer.heartbeat.interval.ms`
    pub heartbeat_interval_ms: i32,
    /// `consumer.assignment.interval.ms`
    pub assignment_interval_ms: i32,
    /// `thalweg.group.classic.rebalance.mode`
    pub classic_rebalance_mode: ClassicRebalanceMode,
    /// `thalweg.group.heartbeat.push`
    pub heartbeat_push: bool,
    /// `thalweg.group.disconnect.grace.ms`: a dynamic member is removed when it has no connection to the coordinator, and
    /// its next heartbeat is overdue by so long. It is due two intervals after the connection ended; the interval is
    /// the time between the last two heartbeats, or what the consumer protocol tells the member. A member whose
    /// connection has not carried two heartbeats has its session, and so has a static one. 0 for never.
    pub disconnect_grace_ms: i32,
}

/// Assignors, compared by their names.
#[derive(Clone, Debug)]
pub struct Assignors(pub Vec<&'static dyn Assignor>);

impl PartialEq for Assignors {
    fn eq(&self, other: &Assignors) -> bool {
        self.0.iter().map(|a| a.name()).eq(other.0.iter().map(|a| a.name()))
    }
}

impl Eq for Assignors {}

/// What one batch of the coordinator's log may hold.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimit {
    /// `max.message.bytes` of the groups' topic, or `message.max.bytes`.
    pub bytes: usize,
    /// The length of bytes after the compression that the log gives to a batch that is too long without.
    pub compressed: fn(&[u8]) -> usize,
}

/// No two logs compress in different ways.
impl PartialEq for BatchLimit {
    fn eq(&self, other: &BatchLimit) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for BatchLimit {}

impl Default for BatchLimit {
    fn default() -> BatchLimit {
        BatchLimit { bytes: 1_048_588, compressed: <[u8]>::len }
    }
}

impl BatchLimit {
    /// What a record has beside its key and value in a batch, at most, in bytes.
    const RECORD_BYTES: usize = 32;
    /// The header of a batch, and something more.
    const HEADER_BYTES: usize = 128;

    /// Whether one batch can hold all of these records.
    pub(crate) fn fits(&self, records: &[GroupRecord]) -> bool {
        let mut all = Vec::new();
        let mut bytes = Self::HEADER_BYTES;
        for (index, record) in (0u32..).zip(records) {
            let Ok(encoded) = record.encode() else { return false };
            let value = encoded.value.as_deref().unwrap_or_default();
            bytes += encoded.key.len() + value.len() + Self::RECORD_BYTES;
            // As much as a record has beside them, and as different from one to the next: codecs look back
            // for so many bytes.
            all.extend_from_slice(&((encoded.key.len() + value.len()) as u32).to_be_bytes());
            all.extend_from_slice(&index.to_be_bytes());
            all.extend_from_slice(&encoded.key);
            all.extend_from_slice(&(value.len() as u32).to_be_bytes());
            all.extend_from_slice(value);
        }
        if bytes < self.bytes {
            return true;
        }
        let compressed = (self.compressed)(&all);
        compressed + compressed / 32 + records.len() * 2 + Self::HEADER_BYTES < self.bytes
    }
}

/// Settings of the group coordinator, with Kafka's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// `group.min.session.timeout.ms`
    pub min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`
    pub max_session_timeout_ms: i32,
    /// `group.initial.rebalance.delay.ms`
    pub initial_rebalance_delay_ms: u32,
    /// `group.max.size`
    pub max_size: usize,
    /// How long a new member's JoinGroup may stay parked. Fixed in Kafka.
    pub new_member_join_timeout_ms: u64,
    /// Members that were given an id and have not come back with it, per group. Kafka has no limit;
    /// one is needed because each costs memory for a session timeout that the client chooses.
    pub max_pending_members: usize,
    /// `offset.metadata.max.bytes`, compared with the length in UTF-16 code units as Kafka does.
    pub offset_metadata_max_bytes: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub offsets_retention_ms: i64,
    /// `offsets.retention.check.interval.ms`
    pub offsets_retention_check_interval_ms: u64,
    /// Of consumer groups that have nothing of their own: `group.consumer.session.timeout.ms`,
    /// `group.consumer.heartbeat.interval.ms`, `group.consumer.assignment.interval.ms`,
    /// `thalweg.group.classic.rebalance.mode`, `thalweg.group.heartbeat.push` and
    /// `thalweg.group.disconnect.grace.ms`.
    pub consumer: ConsumerGroupConfig,
    /// Of consumer groups that have something of their own.
    pub consumer_groups: Arc<BTreeMap<String, ConsumerGroupConfig>>,
    /// `group.consumer.max.size`
    pub consumer_max_size: usize,
    /// `group.consumer.assignors`, the default first; never empty.
    pub consumer_assignors: Assignors,
    /// `group.consumer.migration.policy`
    pub consumer_migration_policy: ConsumerMigrationPolicy,
    /// `group.consumer.regex.refresh.interval.ms`
    pub consumer_regex_refresh_interval_ms: i64,
    /// Whether the cluster knows the records of consumer groups: its `group.version` is 1 or more. Else no
    /// classic group is assigned by the coordinator, because its state is in such records.
    pub has_consumer_records: bool,
    /// What is to be in one batch must fit this.
    pub batch_limit: BatchLimit,
    /// Members and partitions of a group whose target assignment is computed in its heartbeat; those of
    /// larger groups are computed elsewhere.
    pub assign_in_place_max: usize,
}

impl GroupConfig {
    /// What a consumer group is configured to.
    pub fn of_group(&self, group: &str) -> &ConsumerGroupConfig {
        self.consumer_groups.get(group).unwrap_or(&self.consumer)
    }

    /// The assignor called `name`, or the default.
    pub(crate) fn consumer_assignor(&self, name: Option<&str>) -> &'static dyn Assignor {
        let assignors = &self.consumer_assignors.0;
        let named = assignors.iter().find(|assignor| Some(assignor.name()) == name);
        named.or_else(|| assignors.first()).copied().unwrap_or(ASSIGNORS[0])
    }
}

impl Default for GroupConfig {
    fn default() -> Self {
        GroupConfig {
            min_session_timeout_ms: 6_000,
            max_session_timeout_ms: 1_800_000,
            initial_rebalance_delay_ms: 3_000,
            max_size: i32::MAX as usize,
            new_member_join_timeout_ms: 5 * 60 * 1000,
            max_pending_members: 65_536,
            offset_metadata_max_bytes: 4096,
            offsets_retention_ms: 7 * 24 * 60 * 60 * 1000,
            offsets_retention_check_interval_ms: 600_000,
            consumer: ConsumerGroupConfig {
                session_timeout_ms: 45_000,
                heartbeat_interval_ms: 5_000,
                assignment_interval_ms: 1_000,
                classic_rebalance_mode: ClassicRebalanceMode::Barrier,
                heartbeat_push: false,
                disconnect_grace_ms: 0,
            },
            consumer_groups: Arc::default(),
            consumer_max_size: i32::MAX as usize,
            consumer_assignors: Assignors(ASSIGNORS.to_vec()),
            consumer_migration_policy: ConsumerMigrationPolicy::Bidirectional,
            consumer_regex_refresh_interval_ms: 600_000,
            has_consumer_records: true,
            batch_limit: BatchLimit::default(),
            assign_in_place_max: 1_024,
        }
    }
}
