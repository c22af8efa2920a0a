//! Numbers for the metrics page. Names map to Kafka's `group-coordinator-metrics`.

use std::ops::AddAssign;

use super::rebalance::RebalanceCounters;

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
    /// Consumer groups without members.
    pub consumer_empty: usize,
    /// Consumer groups that a new target assignment is due for.
    pub consumer_assigning: usize,
    /// Consumer groups with members that have not come to their target assignment.
    pub consumer_reconciling: usize,
    /// Consumer groups whose members own what they are to own.
    pub consumer_stable: usize,
    /// Members of all groups.
    pub members: usize,
    /// Committed offsets.
    pub offsets: usize,
}

impl GroupCounts {
    /// Classic groups in any state.
    pub fn classic_groups(&self) -> usize {
        self.empty + self.preparing_rebalance + self.completing_rebalance + self.stable + self.dead
    }

    /// Consumer groups in any state.
    pub fn consumer_groups(&self) -> usize {
        self.consumer_empty
            + self.consumer_assigning
            + self.consumer_reconciling
            + self.consumer_stable
    }

    /// Groups of any type in any state.
    pub fn groups(&self) -> usize {
        self.classic_groups() + self.consumer_groups()
    }
}

impl AddAssign for GroupCounts {
    fn add_assign(&mut self, other: GroupCounts) {
        self.empty += other.empty;
        self.preparing_rebalance += other.preparing_rebalance;
        self.completing_rebalance += other.completing_rebalance;
        self.stable += other.stable;
        self.dead += other.dead;
        self.consumer_empty += other.consumer_empty;
        self.consumer_assigning += other.consumer_assigning;
        self.consumer_reconciling += other.consumer_reconciling;
        self.consumer_stable += other.consumer_stable;
        self.members += other.members;
        self.offsets += other.offsets;
    }
}

/// What a shard has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// Rebalances that reached Stable (`group-completed-rebalance-count`).
    pub completed_rebalances: u64,
    /// What rebalances of consumer groups came to.
    pub rebalances: RebalanceCounters,
    /// Epochs that consumer groups began (`consumer-group-rebalance-count`). As in Kafka those that a
    /// member's end begins are not among them.
    pub consumer_rebalances: u64,
    /// Members removed because their connections were gone, and their heartbeats overdue.
    pub disconnected_members: u64,
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
        self.consumer_rebalances += other.consumer_rebalances;
        self.rebalances += other.rebalances;
        self.disconnected_members += other.disconnected_members;
        self.offset_commits += other.offset_commits;
        self.offset_expirations += other.offset_expirations;
        self.offset_deletions += other.offset_deletions;
    }
}
