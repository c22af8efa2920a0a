//! Numbers for the metrics page. Names map to Kafka's `group-coordinator-metrics`.

use std::ops::AddAssign;

use crate::rebalances::RebalanceCounters;

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

/// How often something took how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationHistogram {
    /// How often it took no longer than each of [`Self::BOUNDS_MS`], and longer than the one before.
    counts: [u64; DurationHistogram::BOUNDS_MS.len()],
    longer: u64,
    sum_ms: u64,
}

impl DurationHistogram {
    /// Upper bounds, in milliseconds.
    pub const BOUNDS_MS: [u64; 14] =
        [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000];

    /// It took so many milliseconds; none if that is negative, as it is when the clock was set back.
    pub fn add(&mut self, ms: i64) {
        let ms = u64::try_from(ms).unwrap_or(0);
        match Self::BOUNDS_MS.iter().position(|bound| ms <= *bound) {
            Some(at) => self.counts[at] += 1,
            None => self.longer += 1,
        }
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }

    /// For each bound how often it took no longer.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = Self::BOUNDS_MS.into_iter().zip(self.counts);
        counts.scan(0, |sum, (bound_ms, count)| {
            *sum += count;
            Some((bound_ms, *sum))
        })
    }

    /// How often it was.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.longer
    }

    /// How long all of them took, in milliseconds.
    pub fn sum_ms(&self) -> u64 {
        self.sum_ms
    }
}

impl AddAssign for DurationHistogram {
    fn add_assign(&mut self, other: DurationHistogram) {
        for (sum, count) in self.counts.iter_mut().zip(other.counts) {
            *sum += count;
        }
        self.longer += other.longer;
        self.sum_ms = self.sum_ms.saturating_add(other.sum_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_with_those_that_took_no_longer() {
        let mut histogram = DurationHistogram::default();
        for ms in [-7, 0, 1, 2, 60_000, 60_001] {
            histogram.add(ms);
        }
        let mut sum = histogram;
        sum += histogram;
        let cumulative: Vec<(u64, u64)> = sum.cumulative().collect();
        assert_eq!(cumulative[..2], [(1, 6), (5, 8)]);
        assert_eq!(cumulative[12..], [(30_000, 8), (60_000, 10)]);
        assert_eq!((sum.count(), sum.sum_ms()), (12, 240_008));
    }
}
