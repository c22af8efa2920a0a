//! What a shard knows of consumer groups beside the log.
//!
//! Invariant: nothing here survives a load, and nothing here is needed to read the log again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_coordinator::Now;

use super::group::Epochs;
use super::logged::Reverted;
use crate::jobs::JobId;

/// When a member is fenced again whose removal could not be written, or a target assignment computed that
/// could not be, in milliseconds. The former is fixed in Kafka.
pub(crate) const RETRY_MS: u64 = 500;

/// What a shard knows of a consumer group beside the log.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Time of the next look at the metadata, on the monotonic clock, and the group epoch it was decided in. A
    /// group that has fallen behind that epoch, because a write failed, looks again.
    pub(crate) refresh_at_ms: u64,
    pub(crate) refresh_epoch: i32,
    /// The job that resolves its regular expressions.
    pub(crate) resolving: Option<JobId>,
    /// The job that computes its target assignment.
    pub(crate) assigning: Option<JobId>,
    /// What that job reads was taken back, or holds no more in the same epoch: its result does not count.
    pub(crate) is_assignment_stale: bool,
    /// The epoch of the target assignment of a job that was written last.
    pub(crate) written_by_job: Option<i32>,
    /// Time of the next target assignment at the earliest, on the monotonic clock, after one that could not be
    /// written: what the log refuses it may refuse again, for good if it is too large.
    pub(crate) assign_again_ms: u64,
    /// The coordinator has assigned it since its partition was loaded. Members that came when it was under Kafka's
    /// rules are not stored with an assignor that says so before they join again.
    pub(crate) was_hosted: bool,
    /// It was too large to become a classic group, with so many members.
    pub(crate) too_large_for_barrier: Option<usize>,
    /// Ids given out to classic members that have not come back with them.
    pub(crate) pending: BTreeSet<Arc<str>>,
    /// The group's assignment leaves partitions out: the epoch, and the leader that assigned so, if it is known.
    pub(crate) left_out: Option<(i32, Option<Arc<str>>)>,
    /// Whether that is so has been looked at since the group was loaded.
    pub(crate) knows_left_out: bool,
}

/// What a shard knows of all consumer groups beside the log. A group without an entry is one that
/// nothing has happened to.
#[derive(Debug, Default)]
pub(crate) struct LiveGroups {
    groups: BTreeMap<Arc<str>, Live>,
    next_job: JobId,
}

impl LiveGroups {
    pub(crate) fn of(&mut self, group: &Arc<str>) -> &mut Live {
        self.groups.entry(group.clone()).or_default()
    }

    /// Whether the coordinator has assigned a group since its partition was loaded.
    pub(crate) fn was_hosted(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|live| live.was_hosted)
    }

    /// Whether a group may fit the record of a classic one with so many members, as far as is known. To find that
    /// out costs a look at all of them, so it is tried again when an eighth of them have gone.
    pub(crate) fn may_fit_barrier(&self, group: &str, members: usize) -> bool {
        let too_large = self.groups.get(group).and_then(|live| live.too_large_for_barrier);
        too_large.is_none_or(|at| members <= at - at / 8)
    }

    /// Other limits hold: what was too large may not be.
    pub(crate) fn limits_changed(&mut self) {
        for live in self.groups.values_mut() {
            live.too_large_for_barrier = None;
        }
    }

    /// When a group may have another target assignment after one that could not be written, on the monotonic
    /// clock.
    fn assign_again_ms(&self, group: &str) -> u64 {
        self.groups.get(group).map_or(0, |live| live.assign_again_ms)
    }

    /// How long it takes until a group may have another target assignment, if it had the last one at `last_ms`.
    ///
    /// That time is in the log, and is believed as long as it has passed. The clock that said it may have been
    /// set back since, and Kafka's coordinator assigns nothing until it is there again.
    pub(crate) fn assignment_delay_ms(
        &self,
        group: &str,
        last_ms: i64,
        interval_ms: i32,
        now: Now,
    ) -> u64 {
        let passed_ms = u64::try_from(now.wall_ms.saturating_sub(last_ms));
        let interval_ms = u64::try_from(interval_ms).unwrap_or(0);
        let by_interval = passed_ms.map_or(0, |passed_ms| interval_ms.saturating_sub(passed_ms));
        by_interval.max(self.assign_again_ms(group).saturating_sub(now.monotonic_ms))
    }

    /// Ids that were given out to classic members of a group.
    pub(crate) fn pending(&self, group: &str) -> impl Iterator<Item = &Arc<str>> {
        self.groups.get(group).into_iter().flat_map(|live| &live.pending)
    }

    /// Whether an id was given out to a classic member that has not come back with it.
    pub(crate) fn is_pending(&self, group: &str, member: &str) -> bool {
        self.groups.get(group).is_some_and(|live| live.pending.contains(member))
    }

    /// Ids were given out to classic members of a group.
    pub(crate) fn expect<'i>(&mut self, group: &Arc<str>, ids: impl Iterator<Item = &'i Arc<str>>) {
        self.of(group).pending.extend(ids.cloned());
    }

    /// The jobs of a group.
    pub(crate) fn jobs(&self, group: &str) -> (Option<JobId>, Option<JobId>) {
        self.groups.get(group).map_or((None, None), |live| (live.resolving, live.assigning))
    }

    /// The jobs that were begun since are not.
    pub(crate) fn restore_jobs(&mut self, group: &str, jobs: (Option<JobId>, Option<JobId>)) {
        if let Some(live) = self.groups.get_mut(group) {
            (live.resolving, live.assigning) = jobs;
        }
    }

    pub(crate) fn job_id(&mut self) -> JobId {
        self.next_job += 1;
        self.next_job
    }

    /// The group's topics have changed: its next heartbeat looks at the metadata.
    pub(crate) fn refresh(&mut self, group: &str) {
        if let Some(live) = self.groups.get_mut(group) {
            live.refresh_at_ms = 0;
            live.refresh_epoch = 0;
        }
    }

    /// The same for all groups.
    pub(crate) fn refresh_all(&mut self) {
        for live in self.groups.values_mut() {
            live.refresh_at_ms = 0;
            live.refresh_epoch = 0;
        }
    }

    /// The groups that something is known of.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.groups.keys()
    }

    /// The group is gone.
    pub(crate) fn forget(&mut self, group: &str) {
        self.groups.remove(group);
    }

    /// Changes of groups were taken back: an assignment that is being computed from them does not count
    /// any more, though the group may come to the same epoch again, and groups without `epochs` are gone.
    /// What a regular expression stands for does not depend on the group. Topics that changed meanwhile may
    /// be the group's again: it looks at the metadata.
    ///
    /// Gives the groups of which a target assignment of a job was taken back. They compute none before
    /// [`RETRY_MS`] are over.
    pub(crate) fn reverted(
        &mut self,
        reverted: &Reverted,
        now: Now,
        epochs: impl Fn(&str) -> Option<Epochs>,
    ) -> Vec<Arc<str>> {
        let mut unwritten = Vec::new();
        self.groups.retain(|group, live| {
            let Some(epochs) = epochs(group) else { return false };
            if reverted.groups.contains(group) {
                live.is_assignment_stale |= live.assigning.is_some();
                if live.written_by_job.is_some_and(|written| written > epochs.assignment) {
                    live.written_by_job = None;
                    live.assign_again_ms = now.monotonic_ms.saturating_add(RETRY_MS);
                    unwritten.push(group.clone());
                }
            }
            true
        });
        for group in &reverted.groups {
            self.refresh(group);
        }
        unwritten
    }
}
