//! What the controller must learn of this node's log directories: which partition came to lie in which (KIP-858), and
//! that a directory went offline.
//!
//! Both are found where the controller cannot be asked: while an image takes effect, or under a log's locks. So they are
//! noted here, and a task reports them. It reports assignments first, because the controller looks for the partitions of
//! a lost directory by their assignment.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use thalweg_wire::Uuid;
use tokio::sync::{Notify, watch};

/// Partitions per request, as Kafka's brokers send them.
pub(crate) const ASSIGNMENTS_PER_REQUEST: usize = 2_250;

/// Topic and partition, and the directory it lies in.
pub(crate) type Assignments = BTreeMap<(Uuid, i32), Uuid>;

/// News of log directories that are to be reported.
#[derive(Debug, Default)]
pub(crate) struct DirectoryNews {
    assignments: Mutex<Assignments>,
    changed: Notify,
    /// Ids of directories that went offline, in that order.
    lost: watch::Sender<Vec<Uuid>>,
    /// Other directories are cordoned than were reported.
    is_cordon_news: AtomicBool,
}

impl DirectoryNews {
    /// Partitions of a topic lie in other directories than the metadata says.
    pub(crate) fn assign(&self, topic: Uuid, partitions: Vec<(i32, Uuid)>) {
        let mut assignments = self.assignments.lock();
        assignments.extend(partitions.into_iter().map(|(index, dir)| ((topic, index), dir)));
        drop(assignments);
        self.changed.notify_one();
    }

    /// A directory went offline.
    pub(crate) fn lose(&self, dir: Uuid) {
        // A directory that was never read has no id.
        if !dir.is_zero() {
            self.lost.send_modify(|lost| lost.push(dir));
        }
        self.wake();
    }

    /// Ids of directories that went offline, now and later.
    pub(crate) fn lost(&self) -> watch::Receiver<Vec<Uuid>> {
        self.lost.subscribe()
    }

    /// Other directories than before are cordoned.
    pub(crate) fn cordon(&self) {
        self.is_cordon_news.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether other directories are cordoned than were reported; they count as reported then.
    pub(crate) fn take_cordoned(&self) -> bool {
        self.is_cordon_news.swap(false, Ordering::AcqRel)
    }

    /// Has the task look at the directories; takes no lock that is held for long.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits for news.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Assignments of one request, which are not noted any more.
    pub(crate) fn take(&self) -> Assignments {
        let mut assignments = self.assignments.lock();
        match assignments.keys().nth(ASSIGNMENTS_PER_REQUEST).copied() {
            None => std::mem::take(&mut *assignments),
            Some(rest) => {
                let rest = assignments.split_off(&rest);
                std::mem::replace(&mut *assignments, rest)
            }
        }
    }

    /// Assignments that could not be reported are noted again, where no newer ones are.
    pub(crate) fn note_again(&self, assignments: &Assignments) {
        let mut noted = self.assignments.lock();
        for (partition, dir) in assignments {
            noted.entry(*partition).or_insert(*dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> Uuid {
        Uuid::from_u128(u128::from(n) << 64)
    }

    #[test]
    fn many_assignments_go_in_several_requests() {
        let noted = DirectoryNews::default();
        let count = i32::try_from(ASSIGNMENTS_PER_REQUEST).unwrap() * 2 + 1;
        noted.assign(id(1), (0..count).map(|index| (index, id(9))).collect());
        assert_eq!(noted.take().len(), ASSIGNMENTS_PER_REQUEST);
        assert_eq!(noted.take().len(), ASSIGNMENTS_PER_REQUEST);
        assert_eq!(noted.take().len(), 1);
        assert!(noted.take().is_empty());
    }
}
