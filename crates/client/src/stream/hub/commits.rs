//! Commits, one after the other.
//!
//! They are made by a task of their own, so that it does not matter whether those who wait for one
//! go on waiting. What is acknowledged while one is under way goes with the next one, whoever
//! asked for it: there is one task at most.
//!
//! What is committed is a position, as with [`Consumer`](crate::Consumer): behind the last record that
//! was acknowledged there may be markers of transactions, aborted records and gaps that compaction
//! left. An application is done with these once it is done with the record before them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Hub;
use super::assigned::AssignedPartition;
use super::committable::CommittableOffset;
use crate::cluster::coordinator::CommittedOffset;
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::options;

/// Longest pause before a commit that failed is tried again without being asked for.
const RETRY_MAX: Duration = Duration::from_secs(10);

/// How positions are committed that no acknowledgement leads to.
#[derive(Clone, Copy, Debug)]
pub(in crate::stream) struct PositionCommits {
    /// How often it is looked whether there are such.
    pub interval: Duration,
    /// Also of partitions of which nothing was handed out yet.
    pub may_begin: bool,
    /// Transactions commit them.
    pub in_transactions: bool,
}

/// Which commits are wanted, begun, and over. They are numbered from 1.
#[derive(Default)]
pub(super) struct Commits {
    wanted: u64,
    begun: u64,
    is_running: bool,
    /// Failures in a row.
    failures: u32,
}

/// The last commit that is over: its number, and why it failed.
pub(super) type Outcome = (u64, Option<Error>);

impl Hub {
    pub fn note_dirty(&self, assignment: &Arc<AssignedPartition>) {
        self.lock().dirty.push(Arc::clone(assignment));
    }

    /// Has what is acknowledged committed within `time`, without anybody waiting.
    pub fn commit_within(&self, time: Duration) {
        let at = Instant::now() + options::bounded(time);
        let mut state = self.lock();
        if state.commit_at.is_none_or(|known| at < known) {
            state.commit_at = Some(at);
            drop(state);
            self.commit_due.notify_one();
        }
    }

    /// Commits what was acknowledged up to now, and waits until the coordinator has it. What a
    /// rebalance is in the way of is tried again; what belongs to partitions that are gone is left
    /// to those who have them now. Goes on when this is dropped.
    pub async fn flush(self: &Arc<Self>) -> Result<(), Error> {
        let mut outcomes = self.committed.subscribe();
        let number = {
            let mut state = self.lock();
            let commits = &mut state.commits;
            // One that has begun may have left out what was acknowledged since.
            let number = commits.begun + 1;
            commits.wanted = number;
            if !std::mem::replace(&mut commits.is_running, true) {
                self.runtime.spawn(Arc::clone(self).commit_what_is_wanted());
            }
            number
        };
        // The sender is part of this.
        match outcomes.wait_for(|(over, _)| *over >= number).await {
            Ok(outcome) => outcome.1.clone().map_or(Ok(()), Err),
            Err(_) => Ok(()),
        }
    }

    /// Until nobody wants another one.
    async fn commit_what_is_wanted(self: Arc<Self>) {
        loop {
            let number = {
                let commits = &mut self.lock().commits;
                if commits.wanted <= commits.begun {
                    commits.is_running = false;
                    return;
                }
                commits.begun += 1;
                commits.begun
            };
            let failed = self.commit_with_retries().await.err();
            let failures = {
                let commits = &mut self.lock().commits;
                commits.failures = if failed.is_some() { commits.failures + 1 } else { 0 };
                commits.failures
            };
            if failures > 0 {
                self.commit_within(self.handle.backoff_up_to(RETRY_MAX, failures));
            }
            self.committed.send_replace((number, failed));
        }
    }

    async fn commit_with_retries(&self) -> Result<(), Error> {
        let deadline = Instant::now() + options::bounded(self.handle.api_timeout());
        let mut failures = 0;
        loop {
            let result = self.commit_once().await;
            failures += 1;
            let pause = self.handle.backoff(failures);
            match result {
                Err(error)
                    if error.is_between_generations() && Instant::now() + pause < deadline =>
                {
                    tracing::debug!(%error, "a commit is tried again");
                    tokio::time::sleep(pause).await;
                }
                result => return result,
            }
        }
    }

    async fn commit_once(&self) -> Result<(), Error> {
        let mut assignments = std::mem::take(&mut self.lock().dirty);
        assignments.retain(|assignment| !self.forgets_former_topic(assignment));
        for assignment in &assignments {
            self.pass(assignment);
        }
        let mut dirty = Dirty { hub: self, assignments };
        let offsets: Vec<_> =
            dirty.assignments.iter().map(|assignment| assignment.to_commit()).collect();
        let wanted: Vec<(TopicPartition, CommittedOffset)> = dirty
            .assignments
            .iter()
            .zip(&offsets)
            .filter_map(|(assignment, offset)| {
                Some((assignment.partition.clone(), offset.clone()?))
            })
            .collect();
        let topic_ids = dirty.assignments.iter().filter_map(|assignment| {
            let id = assignment.topic_id().filter(|id| !id.is_zero())?;
            Some((Arc::clone(&assignment.partition.topic), id))
        });
        let topic_ids = topic_ids.collect();
        let mut refusals = match wanted.is_empty() {
            true => BTreeMap::new(),
            false => self.handle.commit_each(wanted, topic_ids).await?,
        };
        let mut offsets = offsets.into_iter();
        dirty.assignments.retain(|assignment| {
            let offset = offsets.next().flatten();
            if refusals.contains_key(&assignment.partition) && self.forgets_former_topic(assignment)
            {
                refusals.remove(&assignment.partition);
                return false;
            }
            // What was refused is tried again with the next; the others do not suffer from it.
            refusals.contains_key(&assignment.partition)
                || assignment.note_committed(offset.as_ref())
        });
        refusals.into_values().next().map_or(Ok(()), Err)
    }

    /// Acknowledges what a partition has passed since the last acknowledgement, if the application is
    /// done with everything before; says whether there is something to commit by this.
    pub(super) fn pass(&self, assignment: &Arc<AssignedPartition>) -> bool {
        let Some(positions) = self.positions.filter(|how| !how.in_transactions) else {
            return false;
        };
        let passed = self.handle.passed(&assignment.partition);
        passed.is_some_and(|passed| assignment.pass(passed, positions.may_begin))
    }

    /// As [`Self::pass`], for all partitions.
    pub(super) fn pass_all(&self) -> bool {
        let assignments = self.all_assignments();
        // Each of them is to be looked at.
        assignments.iter().filter(|assignment| self.pass(assignment)).count() > 0
    }

    /// How often transactions look for positions to commit.
    pub fn position_interval(&self) -> Option<Duration> {
        self.positions.filter(|how| how.in_transactions).map(|how| how.interval)
    }

    /// The positions of partitions that have passed something since all that was handed out of them
    /// was committed: for a transaction.
    pub fn passed_offsets(&self) -> Vec<CommittableOffset> {
        let offset = |assignment: &Arc<AssignedPartition>| {
            let done = assignment.all_committed()?;
            let passed = self.handle.passed(&assignment.partition)?;
            let position = assignment.passed_in_transaction(passed, done)?;
            assignment.retain();
            Some(CommittableOffset::of(assignment, position))
        };
        self.all_assignments().iter().filter_map(offset).collect()
    }

    /// Commits from time to time what was passed.
    async fn commit_what_is_passed(self: &Arc<Self>) {
        let positions = self.positions.filter(|how| !how.in_transactions);
        let Some(PositionCommits { interval, .. }) = positions else {
            return std::future::pending().await;
        };
        let mut seen = None;
        loop {
            tokio::time::sleep(interval).await;
            let moves = self.handle.moves();
            // Where nothing moved, thousands are not looked at.
            if seen.replace(moves) == Some(moves) || !self.pass_all() {
                continue;
            }
            // An acknowledgement may have come since that leads further.
            seen = None;
            if let Err(error) = self.flush().await {
                tracing::warn!(%error, "positions could not be committed yet");
            }
        }
    }

    /// Whether what was acknowledged of a partition is of a topic that was created again since, and
    /// is forgotten by this.
    fn forgets_former_topic(&self, assignment: &AssignedPartition) -> bool {
        let now = self.handle.topic_id(&assignment.partition.topic);
        let is_former = assignment.is_of_former_topic(now);
        if is_former {
            assignment.forget_former_topic();
        }
        is_former
    }

    /// Commits whatever is due, forever.
    pub(super) async fn commit_what_is_due(self: &Arc<Self>) {
        tokio::select! {
            () = self.commit_what_is_passed() => {}
            () = self.commit_what_is_acknowledged() => {}
        }
    }

    async fn commit_what_is_acknowledged(self: &Arc<Self>) {
        loop {
            let at = self.lock().commit_at;
            match at {
                None => self.commit_due.notified().await,
                Some(at) if at > Instant::now() => {
                    tokio::select! {
                        () = sleep_until(at) => {}
                        () = self.commit_due.notified() => {}
                    }
                }
                Some(_) => {
                    self.lock().commit_at = None;
                    if let Err(error) = self.flush().await {
                        tracing::warn!(%error, "offsets could not be committed yet");
                    }
                }
            }
        }
    }
}

/// Assignments with something to commit, which go back where they were.
struct Dirty<'a> {
    hub: &'a Hub,
    assignments: Vec<Arc<AssignedPartition>>,
}

impl Drop for Dirty<'_> {
    fn drop(&mut self) {
        if !self.assignments.is_empty() {
            self.hub.lock().dirty.append(&mut self.assignments);
        }
    }
}
