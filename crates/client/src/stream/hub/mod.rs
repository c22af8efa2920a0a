//! What the streams of one consumer have in common, and the task that looks after it.
//!
//! Invariants:
//! - Commits go out one after the other, so that what is committed never goes back; those who wait
//!   for their turn are committed together.
//! - A partition is given up when the application is done with what it was handed of it, or at the
//!   deadline; what was acknowledged until then is committed first.

pub(super) mod assigned;
mod commits;
pub(super) mod committable;
pub(super) mod manual;
mod rebalance;
pub(super) mod transactional;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::settings::ConsumerSettings;
use crate::consumer::{Consumer, ConsumerHandle};
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::options;
use assigned::AssignedPartition;
pub(super) use commits::PositionCommits;
use commits::{Commits, Outcome};
use manual::ManualOffsets;
use rebalance::Listener;

/// Of the time for a revocation what is kept for the commit at its end.
const COMMIT_SHARE: u32 = 5;

pub(super) struct Hub {
    pub handle: ConsumerHandle,
    pub has_group: bool,
    /// How often what plain sources handed out is committed.
    pub auto_commit: Option<Duration>,
    /// How positions are committed that no acknowledgement leads to.
    positions: Option<PositionCommits>,
    revocation_timeout: Duration,
    stop_timeout: Duration,
    offsets: Option<Arc<dyn ManualOffsets>>,
    state: Mutex<State>,
    is_stopped: AtomicBool,
    committed: watch::Sender<Outcome>,
    commit_due: Notify,
    runtime: Handle,
    end: watch::Sender<Option<End>>,
    is_done: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    assignments: HashMap<TopicPartition, Arc<AssignedPartition>>,
    /// Those of which a stream is to be handed out.
    fresh: VecDeque<Arc<AssignedPartition>>,
    /// Whoever holds offsets in transactions is told here when partitions are to be given up.
    told: Vec<Weak<Notify>>,
    /// Those with something to commit.
    dirty: Vec<Arc<AssignedPartition>>,
    commit_at: Option<Instant>,
    commits: Commits,
    /// Why the sources end.
    error: Option<Error>,
}

/// How this is to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct End {
    deadline: Instant,
    /// Nobody waits for what is in the application's hands.
    is_quick: bool,
}

impl Hub {
    /// Begins to look after a consumer, which has neither a subscription nor partitions yet. The
    /// caller gives it such before it lets go of it.
    pub fn new(
        consumer: &mut Consumer,
        settings: &ConsumerSettings,
        auto_commit: Option<Duration>,
        positions: Option<PositionCommits>,
        offsets: Option<Arc<dyn ManualOffsets>>,
    ) -> Result<Arc<Hub>, Error> {
        let hub = Arc::new(Hub {
            handle: consumer.handle(),
            has_group: settings.consumer.group_id.is_some(),
            auto_commit,
            positions,
            revocation_timeout: options::bounded(settings.revocation_timeout),
            stop_timeout: options::bounded(settings.stop_timeout),
            offsets,
            state: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            committed: watch::Sender::new((0, None)),
            commit_due: Notify::new(),
            runtime: Handle::current(),
            end: watch::Sender::new(None),
            is_done: watch::Sender::new(false),
        });
        if hub.has_group {
            consumer.set_listener(Listener::new(&hub))?;
        }
        Ok(hub)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an assignment for each of these partitions.
    pub fn open(self: &Arc<Self>, partitions: impl IntoIterator<Item = TopicPartition>) {
        let mut state = self.lock();
        if self.is_stopped() {
            drop(state);
            let partitions: Vec<_> = partitions.into_iter().collect();
            // What is not assigned any more hands nothing out either.
            drop(self.handle.pause(&partitions));
            return;
        }
        let mut ended = Vec::new();
        for partition in partitions {
            let assignment =
                Arc::new(AssignedPartition::new(partition.clone(), Arc::downgrade(self)));
            state.fresh.push_back(Arc::clone(&assignment));
            ended.extend(state.assignments.insert(partition, assignment));
        }
        drop(state);
        for assignment in ended {
            assignment.close();
        }
        self.handle.wake();
    }

    /// Begins an assignment for a source of its own, unless there is one already.
    pub fn open_apart(
        self: &Arc<Self>,
        partition: &TopicPartition,
    ) -> Option<Arc<AssignedPartition>> {
        let mut state = self.lock();
        if self.is_stopped() || state.assignments.contains_key(partition) {
            return None;
        }
        let assignment = Arc::new(AssignedPartition::new(partition.clone(), Arc::downgrade(self)));
        state.assignments.insert(partition.clone(), Arc::clone(&assignment));
        Some(assignment)
    }

    pub fn assignment(&self, partition: &TopicPartition) -> Option<Arc<AssignedPartition>> {
        self.lock().assignments.get(partition).cloned()
    }

    /// A partition whose stream is to be handed out.
    pub fn next_fresh(&self) -> Option<Arc<AssignedPartition>> {
        self.lock().fresh.pop_front()
    }

    /// A partition whose stream was dropped is handed out again, from where that one stopped.
    pub fn give_back(&self, assignment: &Arc<AssignedPartition>) {
        let mut state = self.lock();
        if assignment.is_open() && !self.is_stopped() {
            state.fresh.push_back(Arc::clone(assignment));
            drop(state);
            self.handle.wake();
        }
    }

    /// Ends the assignments of partitions, which remain here until they are closed.
    fn end_assignments(&self, partitions: &[TopicPartition]) -> Vec<Arc<AssignedPartition>> {
        let mut state = self.lock();
        let found = partitions.iter().filter_map(|partition| state.assignments.get(partition));
        let found: Vec<_> = found.cloned().collect();
        let gone = addresses(&found);
        state.fresh.retain(|fresh| !gone.contains(&Arc::as_ptr(fresh)));
        drop(state);
        for assignment in &found {
            // It may come back to this member, and is not fetched again then.
            let stash = assignment.end();
            if !stash.is_empty() {
                self.handle.give_back(&assignment.partition, stash);
            }
        }
        self.tell_of_revocation();
        found
    }

    fn close_assignments(&self, assignments: &[Arc<AssignedPartition>]) {
        for assignment in assignments {
            assignment.close();
        }
        let mut state = self.lock();
        for assignment in assignments {
            let is_this = |known: &Arc<AssignedPartition>| Arc::ptr_eq(known, assignment);
            if state.assignments.get(&assignment.partition).is_some_and(is_this) {
                state.assignments.remove(&assignment.partition);
            }
        }
        let gone = addresses(assignments);
        state.dirty.retain(|dirty| !gone.contains(&Arc::as_ptr(dirty)));
    }

    /// Lets go of the partitions that a source had for itself. What it handed out can still be
    /// acknowledged.
    pub fn let_go(&self, assignments: &[Arc<AssignedPartition>]) {
        for assignment in assignments {
            drop(assignment.end());
            self.handle.remove(&assignment.partition);
        }
        // Last: until then nobody else can have them, and lose them by this.
        let mut state = self.lock();
        for assignment in assignments {
            state.assignments.remove(&assignment.partition);
        }
    }

    /// Has somebody told when partitions are to be given up, from now on.
    pub fn tell_of_revocations(&self, notify: &Arc<Notify>) {
        let mut state = self.lock();
        if !state.told.iter().any(|known| known.as_ptr() == Arc::as_ptr(notify)) {
            state.told.retain(|known| known.strong_count() > 0);
            state.told.push(Arc::downgrade(notify));
        }
    }

    fn tell_of_revocation(&self) {
        let told: Vec<_> = self.lock().told.iter().filter_map(Weak::upgrade).collect();
        told.iter().for_each(|notify| notify.notify_one());
    }

    fn all_assignments(&self) -> Vec<Arc<AssignedPartition>> {
        self.lock().assignments.values().cloned().collect()
    }

    /// Hands nothing more out: every stream ends.
    pub fn stop(&self) {
        let state = self.lock();
        if self.is_stopped.swap(true, Ordering::SeqCst) {
            return;
        }
        drop(state);
        let partitions = self.handle.partitions();
        drop(self.handle.pause(&partitions));
        for assignment in self.all_assignments() {
            drop(assignment.end());
        }
        self.tell_of_revocation();
        self.handle.wake();
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    fn fail(&self, error: Error) {
        self.lock().error = Some(error);
        self.stop();
    }

    /// Whether the sources are over: then with an error or without.
    pub fn poll_over(&self) -> Poll<Option<Error>> {
        match self.is_stopped() {
            true => Poll::Ready(self.lock().error.take()),
            false => Poll::Pending,
        }
    }

    /// Waits for an error that concerns no single partition, or for the end.
    pub fn poll_error(&self, cx: &Context<'_>) -> Poll<Option<Error>> {
        match self.handle.poll_error(cx) {
            Poll::Ready(error) => {
                if matches!(error, Error::Membership(_)) {
                    self.stop();
                }
                Poll::Ready(Some(error))
            }
            Poll::Pending => self.poll_over(),
        }
    }

    async fn all_settled(&self) {
        for assignment in self.all_assignments() {
            assignment.settled().await;
        }
    }

    /// Ends everything; what was asked for first counts, unless this is sooner.
    pub fn end(&self, limit: Duration, is_quick: bool) {
        let deadline = Instant::now() + options::bounded(limit);
        self.end.send_modify(|end| match end {
            Some(known) => {
                known.deadline = known.deadline.min(deadline);
                known.is_quick |= is_quick;
            }
            none => *none = Some(End { deadline, is_quick }),
        });
    }

    /// As [`Self::end`], when the application has dropped its source.
    pub fn end_dropped(&self) {
        self.stop();
        self.end(self.stop_timeout, false);
    }

    /// Waits until the consumer is gone.
    pub async fn done(&self) {
        // The sender is part of this.
        drop(self.is_done.subscribe().wait_for(|is_done| *is_done).await);
    }

    pub fn is_done(&self) -> bool {
        *self.is_done.borrow()
    }

    /// Waits until the time for ending is over but for a share of it (`1 / share`; 0 for all of it). An end that is
    /// asked for later counts if it is sooner.
    async fn until_over(&self, share: u32) {
        let mut ends = self.end.subscribe();
        loop {
            let Some(end) = *ends.borrow_and_update() else { return };
            let left = end.deadline.saturating_duration_since(Instant::now());
            let kept = left.checked_div(share).unwrap_or_default();
            tokio::select! {
                () = sleep_until(end.deadline - kept) => return,
                // The sender is part of this.
                _ = ends.changed() => {}
            }
        }
    }

    fn is_quick(&self) -> bool {
        self.end.borrow().is_some_and(|end| end.is_quick)
    }

    async fn until_quick(&self) {
        let quick = |end: &Option<End>| end.is_some_and(|end| end.is_quick);
        drop(self.end.subscribe().wait_for(quick).await);
    }

    /// Looks after the consumer until it is to end.
    pub async fn run(self: Arc<Self>, mut consumer: Consumer) {
        let _finish = Finish(&self);
        let mut ends = self.end.subscribe();
        tokio::select! {
            () = consumer.attend() => {}
            () = self.commit_what_is_due() => {}
            _ = ends.wait_for(Option::is_some) => {}
        }
        self.stop();
        // It is still a member: what is in the application's hands can be committed.
        loop {
            let Some(end) = *ends.borrow_and_update() else { break };
            let left = end.deadline.saturating_duration_since(Instant::now());
            let settle_by = end.deadline - left / COMMIT_SHARE;
            tokio::select! {
                () = consumer.attend() => {}
                () = self.commit_what_is_due() => {}
                () = self.all_settled() => break,
                () = self.until_quick() => break,
                () = sleep_until(settle_by) => break,
                _ = ends.changed() => {}
            }
        }
        self.pass_all();
        // What was waited for up to here is not waited for again when the group is left.
        self.end(Duration::MAX, true);
        let flushed = tokio::select! {
            biased;
            flushed = self.flush() => Some(flushed),
            () = consumer.attend() => Some(Ok(())),
            () = self.until_over(COMMIT_SHARE) => None,
        };
        match flushed {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::warn!(%error, "what was acknowledged is not committed"),
            None => tracing::warn!("what was acknowledged was not committed in time"),
        }
        let deadline = self.end.borrow().map_or_else(Instant::now, |end| end.deadline);
        let left = deadline.saturating_duration_since(Instant::now());
        let closed = tokio::select! {
            biased;
            closed = consumer.close(left) => closed,
            // Sooner than it was when this began.
            () = self.until_over(0) => {
                tracing::warn!("the group was not left in time");
                Ok(())
            }
        };
        if let Err(error) = closed {
            tracing::warn!(%error, "the source's consumer did not end as it should");
        }
    }
}

/// Tells assignments from each other.
fn addresses(assignments: &[Arc<AssignedPartition>]) -> HashSet<*const AssignedPartition> {
    assignments.iter().map(Arc::as_ptr).collect()
}

/// Whatever ends the task: nothing more is handed out, and nobody waits for it.
struct Finish<'a>(&'a Arc<Hub>);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.stop();
        let assignments = self.0.all_assignments();
        self.0.close_assignments(&assignments);
        self.0.lock().fresh.clear();
        self.0.is_done.send_replace(true);
    }
}
