//! Partitions whose logs are opened after the image that names them has taken effect.
//!
//! Making thousands of directories takes seconds. An image that names many new partitions takes effect without their
//! logs, and a task opens them (`Replicas::open_waiting`); the next image waits for none of that. Until a partition's log
//! is open its requests are answered with NOT_LEADER_OR_FOLLOWER, as by a broker that has not seen the image yet. The
//! request that made the partitions is answered when they are open ([`Openings::wait`]).
//!
//! *Invariants*: a log is opened without `Replicas::begin_publishing`, and enters the topic table under it, with what the image
//! says then. A partition that the metadata takes away waits no more, and once [`Openings::cancel`] has returned no log of
//! it is made: what was made before is deleted with the others.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use thalweg_wire::Uuid;
use tokio::sync::Notify;

/// Partitions that an image opens while it takes effect; more are left to the task.
pub(crate) const AT_ONCE_MAX: usize = 8;
/// Logs that are opened before the topic table is replaced.
const STEP: usize = 64;

/// Partitions of topics, each with whether it has never been on this node: such a one is made, others have to be found.
pub(crate) type Indexes = BTreeMap<Uuid, BTreeMap<i32, bool>>;

/// The partitions that wait for their logs.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    pub(super) waiting: Mutex<Indexes>,
    /// Held while a log is opened.
    pub(super) opening: Mutex<()>,
    pub(super) added: Notify,
    /// Some do not wait any more.
    changed: Notify,
}

impl Openings {
    pub(crate) fn note(&self, topic: Uuid, index: i32, is_new: bool) {
        self.waiting.lock().entry(topic).or_default().insert(index, is_new);
        self.added.notify_one();
    }

    pub(crate) fn is_waiting(&self, topic: Uuid, index: i32) -> bool {
        self.waiting.lock().get(&topic).is_some_and(|indexes| indexes.contains_key(&index))
    }

    /// These partitions are not here any more. Returns when no log of theirs is being made.
    pub(crate) fn cancel(&self, partitions: impl IntoIterator<Item = (Uuid, i32)>) {
        if self.remove(partitions) {
            drop(self.opening.lock());
        }
    }

    /// Waits until no partition of these topics waits.
    pub(crate) async fn wait(&self, topics: &BTreeSet<Uuid>) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if !topics.iter().any(|topic| self.waiting.lock().contains_key(topic)) {
                return;
            }
            changed.await;
        }
    }

    /// Returns when no log is being made; the broker stops, so that none is made after it.
    pub(crate) fn stop(&self) {
        drop(self.opening.lock());
    }

    /// Some that wait.
    pub(super) fn next(&self) -> Indexes {
        let waiting = self.waiting.lock();
        // Of each topic some: a small one does not wait for a large one.
        let share = (STEP / waiting.len().max(1)).max(1);
        let mut next = Indexes::new();
        for (topic, indexes) in waiting.iter().take(STEP) {
            let some = indexes.iter().take(share).map(|(index, is_new)| (*index, *is_new));
            next.insert(*topic, some.collect());
        }
        next
    }

    /// Whether any of them waited.
    pub(super) fn remove(&self, partitions: impl IntoIterator<Item = (Uuid, i32)>) -> bool {
        let mut waiting = self.waiting.lock();
        let mut has_removed = false;
        for (topic, index) in partitions {
            let Some(indexes) = waiting.get_mut(&topic) else { continue };
            has_removed |= indexes.remove(&index).is_some();
            if indexes.is_empty() {
                waiting.remove(&topic);
            }
        }
        drop(waiting);
        self.changed.notify_waiters();
        has_removed
    }
}
