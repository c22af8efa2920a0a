//! Numbers for the metrics page. Names map to Kafka's `group-coordinator-metrics`.

use std::ops::AddAssign;

/// What a shard holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounts {
    /// Groups without members.
    pub empty: usize,
    /// Groups that wait for members to join.
    pub preparing_rebalance: usize,
    /// Groups that wait for an assignment.
    pub completing_rebalance: usize,
    /// Groups with an assignment.
    pub stable: usize,
    /// Always 0: groups that are gone are not held.
    pub dead: usize,
    /// Members of all groups.
    pub members: usize,
    /// Committed offsets.
    pub offsets: usize,
}

impl GroupCounts {
    /// Groups in any state.
    pub fn groups(&self) -> usize {
        self.empty + self.preparing_rebalance + self.completing_rebalance + self.stable + self.dead
    }
}

impl AddAssign for GroupCounts {
    fn add_assign(&mut self, other: GroupCounts) {
        self.empty += other.empty;
        self.preparing_rebalance += other.preparing_rebalance;
        self.completing_rebalance += other.completing_rebalance;
        self.stable += other.stable;
        self.dead += other.dead;
        self.members += other.members;
        self.offsets += other.offsets;
    }
}

/// What a shard has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// Rebalances that reached Stable (`group-completed-rebalance-count`).
    pub completed_rebalances: u64,
    /// Offsets committed (`offset-commit-count`).
    pub offset_commits: u64,
    /// Offsets that expired (`offset-expiration-count`).
    pub offset_expirations: u64,
    /// Offsets deleted on request (`offset-deletion-count`).
    pub offset_deletions: u64,
}

impl AddAssign for GroupCounters {
    fn add_assign(&mut self, other: GroupCounters) {
        self.completed_rebalances += other.completed_rebalances;
        self.offset_commits += other.offset_commits;
        self.offset_expirations += other.offset_expirations;
        self.offset_deletions += other.offset_deletions;
    }
}
