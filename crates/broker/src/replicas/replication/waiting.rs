//! What a follower has to do with its logs that may wait for a disk: done on a thread of its own for each log directory and fetcher, one
//! behind the other, so that a disk that stalls holds up neither the fetches nor what goes to another one. A partition is
//! not fetched meanwhile.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use thalweg_wire::Uuid;

use super::answer::{self, Batches, LeaderOffsets};
use super::fetcher::{Fetcher, Key};
use crate::replicas::Replicas;
use crate::replicas::partition::Partition;

/// Bytes of one fetcher that may wait for a directory, unless there is a single append: as for producers' (`thalweg_log::stalls`).
const BYTES_MAX: usize = 64 << 20;

/// What is to be done with a follower's log, in the leader epoch in which it was found to be due.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) key: Key,
    pub(super) leader_epoch: i32,
    pub(super) partition: Arc<Partition>,
    pub(super) what: What,
}

/// A change that waits, and whether it is done soon in all likelihood.
type Waits = (Change, bool);

#[derive(Debug)]
pub(super) enum What {
    /// Batches are appended; then the log follows the leader's offsets.
    Append(Batches, LeaderOffsets),
    /// The log is cut off at an offset.
    Truncate(i64),
    /// The log is emptied, and starts at an offset.
    StartAt(i64),
    /// Records below an offset are deleted, as the leader's are.
    DeleteBelow(i64),
}

impl What {
    fn bytes(&self) -> usize {
        match self {
            What::Append(batches, _) => batches.len(),
            _ => 0,
        }
    }
}

/// What waits for the disks, by directory; one that is not here has no thread at work.
#[derive(Debug)]
pub(super) struct WaitingChanges<T = Waits> {
    queues: Mutex<BTreeMap<Uuid, Queue<T>>>,
    /// How much of it is done soon in all likelihood.
    soon: AtomicUsize,
}

#[derive(Debug)]
struct Queue<T> {
    /// With how many bytes each has.
    items: VecDeque<(T, usize)>,
    /// All that are here, and the one that is worked on.
    bytes: usize,
}

/// What became of something that is to wait.
#[derive(Debug, PartialEq, Eq)]
enum Pushed {
    /// It is the first one, and a thread has to be started for it.
    First,
    Behind,
    /// There is no room.
    Refused,
}

impl<T> Default for WaitingChanges<T> {
    fn default() -> WaitingChanges<T> {
        WaitingChanges { queues: Mutex::default(), soon: AtomicUsize::new(0) }
    }
}

impl<T> WaitingChanges<T> {
    /// Whether something is done soon in all likelihood.
    pub(super) fn has_soon(&self) -> bool {
        self.soon.load(Ordering::Acquire) > 0
    }

    /// What was likely to be done soon is not.
    pub(super) fn give_up(&self) {
        self.soon.store(0, Ordering::Release);
    }

    fn end_change(&self, is_soon: bool) {
        if is_soon {
            let less = |soon: usize| Some(soon.saturating_sub(1));
            let _ = self.soon.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        }
    }

    fn push(&self, dir: Uuid, item: T, bytes: usize) -> Pushed {
        let mut queues = self.queues.lock();
        let Some(queue) = queues.get_mut(&dir) else {
            queues.insert(dir, Queue { items: VecDeque::from([(item, bytes)]), bytes });
            return Pushed::First;
        };
        if queue.bytes > 0 && queue.bytes.saturating_add(bytes) > BYTES_MAX {
            return Pushed::Refused;
        }
        queue.bytes += bytes;
        queue.items.push_back((item, bytes));
        Pushed::Behind
    }

    /// The next one, after one that had so many bytes is done; where there is none the work is over.
    fn next(&self, dir: Uuid, done: usize) -> Option<(T, usize)> {
        let mut queues = self.queues.lock();
        let queue = queues.get_mut(&dir)?;
        queue.bytes = queue.bytes.saturating_sub(done);
        let next = queue.items.pop_front();
        if next.is_none() {
            queues.remove(&dir);
        }
        next
    }
}

/// Has a change done on a thread that may wait. The partition is fetched again when it is done.
pub(super) fn leave(replicas: &Arc<Replicas>, fetcher: &Arc<Fetcher>, change: Change) {
    let dir = change.partition.log.dir().id();
    let (key, leader_epoch) = (change.key, change.leader_epoch);
    fetcher.with(key, leader_epoch, |it| it.is_waiting = true);
    let bytes = change.what.bytes();
    let is_soon = !change.partition.log.dir().is_slow();
    fetcher.waiting.soon.fetch_add(usize::from(is_soon), Ordering::AcqRel);
    match fetcher.waiting.push(dir, (change, is_soon), bytes) {
        Pushed::Behind => {}
        Pushed::First => {
            let (replicas, fetcher) = (Arc::clone(replicas), Arc::clone(fetcher));
            tokio::task::spawn_blocking(move || work(&replicas, &fetcher, dir));
        }
        Pushed::Refused => {
            tracing::debug!(topic_id = %key.0, partition = key.1, "too much waits for its log directory; it is fetched again");
            fetcher.waiting.end_change(is_soon);
            answer::give_up(replicas, fetcher, key, leader_epoch);
        }
    }
}

/// Does what waits for a directory.
fn work(replicas: &Arc<Replicas>, fetcher: &Arc<Fetcher>, dir: Uuid) {
    let mut done = 0;
    while let Some(((change, is_soon), bytes)) = fetcher.waiting.next(dir, done) {
        done = bytes;
        let (key, leader_epoch) = (change.key, change.leader_epoch);
        if catch_unwind(AssertUnwindSafe(|| answer::carry_out(replicas, fetcher, change))).is_err()
        {
            answer::panicked(replicas, fetcher, key, leader_epoch);
        }
        fetcher.waiting.end_change(is_soon);
        fetcher.fetch_again();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);

    #[test]
    fn one_thread_works_for_a_directory() {
        let waiting = WaitingChanges::default();
        assert_eq!(waiting.push(A, 1, 10), Pushed::First);
        assert_eq!(waiting.push(A, 2, 20), Pushed::Behind);
        assert_eq!(waiting.push(B, 3, 30), Pushed::First);
        assert_eq!(waiting.next(A, 0), Some((1, 10)));
        // Also while the only one is worked on.
        assert_eq!(waiting.next(A, 10), Some((2, 20)));
        assert_eq!(waiting.push(A, 4, 0), Pushed::Behind);
        assert_eq!(waiting.next(A, 20), Some((4, 0)));
        assert_eq!(waiting.next(A, 0), None);
        assert_eq!(waiting.push(A, 5, 0), Pushed::First);
        assert_eq!(waiting.next(B, 0), Some((3, 30)));
    }

    #[test]
    fn what_waits_is_bounded_for_each_directory() {
        let waiting = WaitingChanges::default();
        // A single one may be larger.
        assert_eq!(waiting.push(A, 1, BYTES_MAX + 1), Pushed::First);
        assert_eq!(waiting.push(A, 2, 1), Pushed::Refused);
        assert_eq!(waiting.push(B, 3, BYTES_MAX - 1), Pushed::First);
        assert_eq!(waiting.push(B, 4, 1), Pushed::Behind);
        assert_eq!(waiting.push(B, 5, 1), Pushed::Refused);
        // What is worked on counts until it is done.
        assert_eq!(waiting.next(A, 0), Some((1, BYTES_MAX + 1)));
        assert_eq!(waiting.push(A, 6, 1), Pushed::Refused);
        assert_eq!(waiting.next(A, BYTES_MAX + 1), None);
        assert_eq!(waiting.push(A, 7, 1), Pushed::First);
    }
}
