//! What a group coordinator can be configured to.

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
        }
    }
}
