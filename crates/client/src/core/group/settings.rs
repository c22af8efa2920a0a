//! How to be a member, and of what.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::assignor::Assignor;

/// Which protocol a group is joined with (`group.protocol`).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroupProtocol {
    /// The leader assigns; every member is asked to join again for every change.
    Classic {
        /// What the member offers, best first (`partition.assignment.strategy`).
        assignors: Vec<Assignor>,
    },
    /// The coordinator assigns (KIP-848).
    Consumer {
        /// `group.remote.assignor`; the coordinator chooses without.
        server_assignor: Option<String>,
    },
}

impl Default for GroupProtocol {
    fn default() -> GroupProtocol {
        let assignors = vec![Assignor::Range, Assignor::CooperativeSticky];
        GroupProtocol::Classic { assignors }
    }
}

/// How to be a member.
#[derive(Clone, Debug)]
pub struct GroupSettings {
    /// `group.id`
    pub group_id: String,
    /// `group.instance.id`, which makes the member static (KIP-345).
    pub instance_id: Option<String>,
    /// `group.protocol` and what belongs to it.
    pub protocol: GroupProtocol,
    /// `session.timeout.ms`; classic only, with KIP-848 the coordinator decides.
    pub session_timeout_ms: u32,
    /// `heartbeat.interval.ms`, likewise.
    pub heartbeat_interval_ms: u32,
    /// `max.poll.interval.ms`, which is the rebalance timeout too.
    pub rebalance_timeout_ms: u32,
    /// `client.rack`
    pub rack: Option<String>,
    /// `retry.backoff.ms`
    pub retry_backoff_ms: u32,
    /// `retry.backoff.max.ms`
    pub retry_backoff_max_ms: u32,
    /// `request.timeout.ms`. Requests that the coordinator holds back get longer.
    pub request_timeout_ms: u32,
}

impl GroupSettings {
    /// Kafka's defaults, for a group.
    pub fn new(group_id: impl Into<String>) -> GroupSettings {
        GroupSettings {
            group_id: group_id.into(),
            instance_id: None,
            protocol: GroupProtocol::default(),
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 3_000,
            rebalance_timeout_ms: 300_000,
            rack: None,
            retry_backoff_ms: 100,
            retry_backoff_max_ms: 1_000,
            request_timeout_ms: 30_000,
        }
    }
}

/// What a member that goes tells its group (KIP-1092).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum OnLeave {
    /// A dynamic member leaves; a static one (`group.instance.id`) keeps its place for its session
    /// timeout.
    #[default]
    Default,
    /// It leaves for good, also a static one: its partitions go to others at once.
    LeaveGroup,
    /// It says nothing: the group waits for it until its session timeout is over.
    RemainInGroup,
}

/// What a member subscribes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SubscribedTopics {
    /// Topics by name.
    Topics(BTreeSet<Arc<str>>),
    /// Topics that match a pattern. With KIP-848 it is RE2's syntax and the coordinator's to match;
    /// in a classic group the driver matches it.
    Pattern(String),
}
