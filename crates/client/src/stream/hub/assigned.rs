//! One assignment of one partition: what was taken of it, handed out, acknowledged and committed.
//!
//! Invariants:
//! - Once an assignment was ended no record of it is handed out: both happen under its lock.
//! - What is committed was acknowledged, and it never goes back.
//! - An assignment that is closed takes no acknowledgement: the partition may be another member's.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use thalweg_wire::Uuid;
use tokio::sync::Notify;

use super::Hub;
use crate::cluster::coordinator::CommittedOffset;
use crate::consumer::ConsumerHandle;
use crate::core::fetch::{Chunk, Passed, Records, SharedRecord};
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;

/// Records taken of a partition at a time, of one batch.
pub(in crate::stream) const TAKE_MAX: usize = 500;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Records are handed out.
    Open,
    /// None are any more; what was can be acknowledged.
    Ended,
    /// The partition is given up.
    Closed,
}

/// See the module.
pub struct AssignedPartition {
    pub(in crate::stream) partition: TopicPartition,
    hub: Weak<Hub>,
    state: Mutex<State>,
    /// Times that the log went back, or its reader was sent back.
    lap: AtomicU32,
    /// What the application was handed and has neither acknowledged nor dropped.
    outstanding: AtomicUsize,
    /// Somebody waits for that to be zero.
    is_awaited: AtomicBool,
    settled: Notify,
}

impl fmt::Debug for AssignedPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AssignedPartition({})", self.partition)
    }
}

struct State {
    phase: Phase,
    /// Taken, and not handed out.
    stash: VecDeque<Chunk>,
    /// To be reported, behind records that came before.
    error: Option<Error>,
    handed: Option<Position>,
    /// The id of the topic that `handed` is of; zero where it is not known.
    topic_id: Uuid,
    acknowledged: Option<CommittedOffset>,
    committed: i64,
    /// The text beside what is committed.
    metadata: Option<String>,
    /// The hub knows that there is something to commit.
    is_dirty: bool,
    /// Something that was handed out is in a transaction that was not committed.
    has_skipped: bool,
    waker: Option<Waker>,
}

impl AssignedPartition {
    pub(in crate::stream) fn new(partition: TopicPartition, hub: Weak<Hub>) -> AssignedPartition {
        AssignedPartition {
            partition,
            hub,
            state: Mutex::new(State {
                phase: Phase::Open,
                stash: VecDeque::new(),
                error: None,
                handed: None,
                topic_id: Uuid::ZERO,
                acknowledged: None,
                committed: -1,
                metadata: None,
                is_dirty: false,
                has_skipped: false,
                waker: None,
            }),
            lap: AtomicU32::new(0),
            outstanding: AtomicUsize::new(0),
            is_awaited: AtomicBool::new(false),
            settled: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::stream) fn hub(&self) -> Option<Arc<Hub>> {
        self.hub.upgrade()
    }

    /// The next record for the one stream of this partition; `None` once it ended. With `tracks` it
    /// is the application's until [`Self::release`].
    pub(in crate::stream) fn poll_record(
        &self,
        handle: &ConsumerHandle,
        tracks: bool,
        cx: &Context<'_>,
    ) -> Poll<Option<Result<(SharedRecord, Position), Error>>> {
        let mut state = self.lock();
        loop {
            if state.phase != Phase::Open {
                return Poll::Ready(None);
            }
            if let Some(stash) = state.stash.front_mut() {
                let topic_id = stash.topic_id();
                if let Some((record, behind)) = stash.next() {
                    self.hand(&mut state, (behind, topic_id), tracks);
                    return Poll::Ready(Some(Ok((record, behind))));
                }
                state.stash.pop_front();
                continue;
            }
            match self.poll_stash(&mut state, handle, TAKE_MAX, cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// As [`Self::poll_record`], for up to `max` records at once; never none.
    pub(in crate::stream) fn poll_records(
        &self,
        handle: &ConsumerHandle,
        max: usize,
        tracks: bool,
        cx: &Context<'_>,
    ) -> Poll<Option<Result<(Records, Position), Error>>> {
        let mut state = self.lock();
        let mut records = Records::default();
        let mut end = None;
        while state.phase == Phase::Open && records.len() < max {
            let wanted = max - records.len();
            if let Some(stash) = state.stash.front_mut() {
                let topic_id = stash.topic_id();
                match stash.take(wanted) {
                    Some((chunk, behind)) => {
                        records.push(chunk);
                        end = Some((behind, topic_id));
                    }
                    None => drop(state.stash.pop_front()),
                }
                continue;
            }
            match self.poll_stash(&mut state, handle, max - records.len(), cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) if end.is_none() => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Err(error)) => {
                    state.error = Some(error);
                    break;
                }
                Poll::Pending => break,
            }
        }
        match end {
            Some(end) => {
                self.hand(&mut state, end, tracks);
                Poll::Ready(Some(Ok((records, end.0))))
            }
            None if state.phase == Phase::Open => Poll::Pending,
            None => Poll::Ready(None),
        }
    }

    fn poll_stash(
        &self,
        state: &mut State,
        handle: &ConsumerHandle,
        max: usize,
        cx: &Context<'_>,
    ) -> Poll<Result<(), Error>> {
        if let Some(error) = state.error.take() {
            return Poll::Ready(Err(error));
        }
        match handle.poll_take_from(&self.partition, max, cx) {
            Poll::Ready(Ok(chunk)) => {
                state.stash.push_back(chunk);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                match &mut state.waker {
                    Some(known) => known.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    /// Keeps what was taken of it by a source of several partitions: all of it, or nothing when it has
    /// ended meanwhile.
    pub(in crate::stream) fn keep(&self, chunks: Vec<Chunk>) -> bool {
        let mut state = self.lock();
        let is_open = state.phase == Phase::Open;
        if is_open {
            state.stash.extend(chunks);
        }
        is_open
    }

    /// The next record of the first chunk that it keeps; `None` when that is used up, and gone then,
    /// or when none is handed out any more.
    pub(in crate::stream) fn next_kept(&self, tracks: bool) -> Option<(SharedRecord, Position)> {
        let mut state = self.lock();
        let stash = state.stash.front_mut()?;
        let topic_id = stash.topic_id();
        match stash.next() {
            Some((record, behind)) => {
                self.hand(&mut state, (behind, topic_id), tracks);
                Some((record, behind))
            }
            None => {
                state.stash.pop_front();
                None
            }
        }
    }

    /// Up to `max` records of so many chunks that it keeps; and how many chunks are used up. Without
    /// records all of them are.
    pub(in crate::stream) fn take_kept(
        &self,
        max: usize,
        chunks: usize,
        tracks: bool,
    ) -> (Option<(Records, Position)>, usize) {
        let mut state = self.lock();
        let (mut records, mut end, mut used) = (Records::default(), None, 0);
        while records.len() < max && used < chunks {
            match state.stash.front_mut().map(|chunk| chunk.take(max - records.len())) {
                Some(Some((chunk, behind))) => {
                    end = Some((behind, chunk.topic_id()));
                    records.push(chunk);
                }
                Some(None) => {
                    state.stash.pop_front();
                    used += 1;
                }
                // It has ended.
                None => used = chunks,
            }
        }
        if let Some(end) = end {
            self.hand(&mut state, end, tracks);
        }
        (end.map(|(behind, _)| (records, behind)), used)
    }

    fn hand(&self, state: &mut State, (behind, topic_id): (Position, Uuid), tracks: bool) {
        let goes_back = |handed: Position| {
            behind.offset <= handed.offset || is_other_topic(state.topic_id, topic_id)
        };
        if state.handed.is_some_and(goes_back) {
            // The log went back (KIP-320), its reader was sent back, or the topic was created again:
            // what was done with the records that stood there before says nothing of those that
            // stand there now.
            self.begin_lap(state);
        }
        (state.handed, state.topic_id) = (Some(behind), topic_id);
        if tracks {
            self.outstanding.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// What was acknowledged and committed up to here is void.
    fn begin_lap(&self, state: &mut State) {
        state.acknowledged = None;
        state.committed = -1;
        state.metadata = None;
        self.lap.fetch_add(1, Ordering::SeqCst);
    }

    /// The id of the topic that was handed out last; `None` before anything was.
    pub(in crate::stream) fn topic_id(&self) -> Option<Uuid> {
        let state = self.lock();
        state.handed.map(|_| state.topic_id)
    }

    /// Whether what was handed out last is of a topic with another id than this one, which its name
    /// has now.
    pub(in crate::stream) fn is_of_former_topic(&self, now: Option<Uuid>) -> bool {
        now.is_some_and(|now| is_other_topic(self.lock().topic_id, now))
    }

    /// What was handed out last is of a topic that was created again since: nothing of it is
    /// committed.
    pub(in crate::stream) fn forget_former_topic(&self) {
        let mut state = self.lock();
        self.begin_lap(&mut state);
        state.handed = None;
        state.is_dirty = false;
    }

    /// The application has one thing more in its hands: a copy of what it was handed.
    pub(in crate::stream) fn retain(&self) {
        self.outstanding.fetch_add(1, Ordering::SeqCst);
    }

    /// The application is done with something, one way or the other.
    pub(in crate::stream) fn release(&self) {
        if self.outstanding.fetch_sub(1, Ordering::SeqCst) == 1
            && self.is_awaited.load(Ordering::SeqCst)
        {
            self.settled.notify_waiters();
        }
    }

    /// Everything up to an offset is done with, and may be committed; the highest counts. Says
    /// whether the partition is still held.
    pub(in crate::stream) fn acknowledge(self: &Arc<Self>, offset: CommittedOffset) -> bool {
        let at = offset.position.offset;
        let mut state = self.lock();
        if state.phase == Phase::Closed {
            return false;
        }
        if state.handed.is_some_and(|handed| at > handed.offset) {
            // Of a record that the log does not have any more.
            return true;
        }
        let known = state.acknowledged.as_ref().map_or(-1, |known| known.position.offset);
        let known = known.max(state.committed);
        let is_news = at > known || (at == known && offset.metadata.is_some());
        if is_news {
            state.acknowledged = Some(offset);
        }
        let is_newly_dirty = is_news && !std::mem::replace(&mut state.is_dirty, true);
        drop(state);
        if is_newly_dirty && let Some(hub) = self.hub() {
            hub.note_dirty(self);
        }
        if self.is_awaited.load(Ordering::SeqCst) {
            self.settled.notify_waiters();
        }
        true
    }

    /// As [`Self::acknowledge`], without a text.
    pub(in crate::stream) fn acknowledge_at(self: &Arc<Self>, position: Position) -> bool {
        self.acknowledge(CommittedOffset { position, metadata: None })
    }

    /// The partition stands behind offsets that no application sees. If the application is done with
    /// everything before them, that position is acknowledged; where nothing was handed out yet, only
    /// with `may_begin`. Says whether there is something to commit by this.
    pub(in crate::stream) fn pass(self: &Arc<Self>, passed: Passed, may_begin: bool) -> bool {
        let mut state = self.lock();
        let known = state.acknowledged.as_ref();
        let done = known.map_or(-1, |known| known.position.offset).max(state.committed);
        let Some(position) = state.passed(passed, done, may_begin) else { return false };
        let metadata = known.map_or(&state.metadata, |known| &known.metadata).clone();
        state.acknowledged = Some(CommittedOffset { position, metadata });
        let is_newly_dirty = !std::mem::replace(&mut state.is_dirty, true);
        drop(state);
        if is_newly_dirty && let Some(hub) = self.hub() {
            hub.note_dirty(self);
        }
        true
    }

    /// As [`Self::pass`], for positions that a transaction commits: the position to commit with, or
    /// instead of, everything up to `done`.
    pub(in crate::stream) fn passed_in_transaction(
        &self,
        passed: Passed,
        done: i64,
    ) -> Option<Position> {
        let state = self.lock();
        let done = done.max(state.committed);
        state.passed(passed, done, false).filter(|_| !state.has_skipped)
    }

    /// Everything up to here is committed, and nothing is in the application's hands: the offset.
    pub(in crate::stream) fn all_committed(&self) -> Option<i64> {
        let state = self.lock();
        let handed = state.handed?.offset;
        (state.committed >= handed).then_some(state.committed)
    }

    /// What is to be committed.
    pub(in crate::stream) fn to_commit(&self) -> Option<CommittedOffset> {
        let state = self.lock();
        state.acknowledged.clone().filter(|_| state.phase != Phase::Closed)
    }

    /// What [`Self::to_commit`] gave is committed. Says whether there is more to commit.
    pub(in crate::stream) fn note_committed(&self, offset: Option<&CommittedOffset>) -> bool {
        let mut state = self.lock();
        if let Some(offset) = offset {
            state.committed = state.committed.max(offset.position.offset);
            state.metadata.clone_from(&offset.metadata);
            if state.acknowledged.as_ref() == Some(offset) {
                state.acknowledged = None;
            }
        }
        state.is_dirty = state.acknowledged.is_some() && state.phase != Phase::Closed;
        state.is_dirty
    }

    /// Everything up to a position is committed with a transaction.
    pub(in crate::stream) fn note_committed_with_transaction(&self, position: Position) {
        let mut state = self.lock();
        state.committed = state.committed.max(position.offset);
        drop(state);
        if self.is_awaited.load(Ordering::SeqCst) {
            self.settled.notify_waiters();
        }
    }

    /// Whether more than everything up to `offset` is committed.
    pub(in crate::stream) fn has_committed_behind(&self, offset: i64) -> bool {
        self.lock().committed > offset
    }

    /// Something that was handed out is not committed, and is not handed out again: nothing behind it may be
    /// committed with a transaction.
    pub(in crate::stream) fn note_skipped(&self) {
        self.lock().has_skipped = true;
    }

    pub(in crate::stream) fn has_skipped(&self) -> bool {
        self.lock().has_skipped
    }

    /// Changes when the log goes back: offsets of before say nothing of what is handed out then.
    pub(in crate::stream) fn lap(&self) -> u32 {
        self.lap.load(Ordering::SeqCst)
    }

    /// Whether the partition is held, be it that nothing more of it is handed out.
    pub(in crate::stream) fn is_held(&self) -> bool {
        self.lock().phase != Phase::Closed
    }

    /// Whether everything up to `offset` is committed.
    pub(in crate::stream) fn is_committed(&self, offset: i64) -> bool {
        self.lock().committed >= offset
    }

    /// Hands nothing more out. Gives what was taken and not handed out: it was not acknowledged, and
    /// whoever has the partition next reads it.
    pub(in crate::stream) fn end(&self) -> VecDeque<Chunk> {
        let mut state = self.lock();
        if state.phase == Phase::Open {
            state.phase = Phase::Ended;
        }
        let stash = std::mem::take(&mut state.stash);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        stash
    }

    /// The partition is given up.
    pub(in crate::stream) fn close(&self) {
        drop(self.end());
        self.lock().phase = Phase::Closed;
        self.settled.notify_waiters();
    }

    pub(in crate::stream) fn is_open(&self) -> bool {
        self.lock().phase == Phase::Open
    }

    fn is_settled(&self) -> bool {
        if self.outstanding.load(Ordering::SeqCst) == 0 {
            return true;
        }
        let state = self.lock();
        let done = state.acknowledged.as_ref().map_or(-1, |known| known.position.offset);
        let done = done.max(state.committed);
        state.phase == Phase::Closed || state.handed.is_none_or(|handed| done >= handed.offset)
    }

    /// Waits until the application is done with everything that it was handed.
    pub(in crate::stream) async fn settled(&self) {
        self.is_awaited.store(true, Ordering::SeqCst);
        loop {
            let mut notified = std::pin::pin!(self.settled.notified());
            notified.as_mut().enable();
            if self.is_settled() {
                return;
            }
            notified.await;
        }
    }
}

impl State {
    /// The position that was passed, if the application is done with everything before it and it is
    /// news. `done` is what is acknowledged or committed.
    fn passed(&self, passed: Passed, done: i64, may_begin: bool) -> Option<Position> {
        let is_done = match (self.handed, passed.handed_out) {
            // What was taken may wait to be handed out.
            (Some(handed), Some(taken)) => handed.offset >= taken && done >= handed.offset,
            (None, None) => may_begin,
            _ => false,
        };
        let is_news = passed.position.offset > done && self.stash.is_empty();
        (is_done && is_news && self.phase != Phase::Closed).then_some(passed.position)
    }
}

/// Whether two ids are of different topics, as far as both are known.
fn is_other_topic(one: Uuid, other: Uuid) -> bool {
    !one.is_zero() && !other.is_zero() && one != other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::hub::committable::CommittableOffset;

    fn at(offset: i64, leader_epoch: i32) -> Position {
        Position { offset, leader_epoch }
    }

    impl AssignedPartition {
        fn hand_out(&self, behind: Position) {
            self.hand_out_of(Uuid::ZERO, behind);
        }

        fn hand_out_of(&self, topic_id: Uuid, behind: Position) {
            self.hand(&mut self.lock(), (behind, topic_id), false);
        }
    }

    #[test]
    fn a_log_that_goes_back_begins_anew() {
        let assignment = Arc::new(AssignedPartition::new(TopicPartition::new("t", 0), Weak::new()));
        let commit = |assignment: &Arc<AssignedPartition>| {
            let offset = assignment.to_commit();
            assignment.note_committed(offset.as_ref());
            offset.map(|offset| offset.position.offset)
        };
        assignment.hand_out(at(100, 1));
        assignment.acknowledge_at(at(90, 1));
        assert_eq!(commit(&assignment), Some(90));
        assert!(assignment.is_committed(90));
        // Ten records are left, of another leader.
        assignment.hand_out(at(11, 2));
        assert!(!assignment.is_committed(11));
        // What stood in the log before must not take the place of what comes now.
        assignment.acknowledge_at(at(95, 1));
        assert_eq!(commit(&assignment), None);
        assignment.acknowledge_at(at(11, 2));
        assert_eq!(commit(&assignment), Some(11));
    }

    #[test]
    fn a_topic_created_again_voids_what_was_acknowledged() {
        let assignment = Arc::new(AssignedPartition::new(TopicPartition::new("t", 0), Weak::new()));
        let [old, new] = [1, 2].map(Uuid::from_u128);
        assignment.hand_out_of(old, at(10, 0));
        let offset = CommittableOffset::of(&assignment, at(10, 0));
        assignment.retain();
        assignment.acknowledge_at(at(10, 0));
        assert!(!assignment.is_of_former_topic(Some(old)));
        assert!(assignment.is_of_former_topic(Some(new)));
        // The new topic is longer than the old one was.
        assignment.hand_out_of(new, at(20, 0));
        assert_eq!(assignment.to_commit(), None);
        // An acknowledgement that comes late is of the old topic.
        assert!(offset.acknowledge());
        assert_eq!(assignment.to_commit(), None);
        assignment.acknowledge_at(at(20, 0));
        assert_eq!(assignment.to_commit().map(|offset| offset.position), Some(at(20, 0)));
    }
}
