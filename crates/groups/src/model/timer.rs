//! The timers of a shard.

use std::sync::Arc;

/// What tells a shard's timers apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupTimer {
    /// Look for expired offsets.
    Expiration,
    /// A group's join phase has lasted long enough.
    Join(Arc<str>),
    /// A group's members had time enough to send SyncGroup.
    Sync(Arc<str>),
    /// A member (group, member) has not been heard of.
    Session(Arc<str>, Arc<str>),
    /// A member (group, member) of a consumer group has not been heard of.
    ConsumerSession(Arc<str>, Arc<str>),
    /// A member (group, member) of a consumer group had time enough to give partitions up.
    Rebalance(Arc<str>, Arc<str>),
    /// A group's next target assignment may be computed.
    Assign(Arc<str>),
    /// A classic member (group, member) of a consumer group had time enough to join again.
    ClassicJoin(Arc<str>, Arc<str>),
    /// A classic member (group, member) of a consumer group had time enough to send SyncGroup.
    ClassicSync(Arc<str>, Arc<str>),
    /// A member (group, member) has no connection, and its heartbeat is overdue by the disconnect grace.
    Disconnected(Arc<str>, Arc<str>),
    /// The newcomers of a group that the coordinator assigns are to be looked at.
    Newcomers(Arc<str>),
}
