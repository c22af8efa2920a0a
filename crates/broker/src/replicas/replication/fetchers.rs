//! Which partitions are fetched from which broker, and by which of its fetchers (`num.replica.fetchers`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_groups::java_string_hash;
use thalweg_wire::Uuid;
use tokio::sync::Notify;

use super::fetcher::{Fetcher, Followed, Key, run};
use crate::node::catch_panic::CatchPanic;
use crate::replicas::Replicas;
use crate::replicas::partition::Partition;

/// A new segment is made sooner than that.
const WAIT_FOR_DISKS_MS: u64 = 200;

/// The leader, and the number of the fetcher among those that fetch from it.
type FetcherId = (i32, usize);

/// The fetchers for each broker that leads something of which this one has a replica: one, or as many as
/// `num.replica.fetchers` says, each with a connection and a share of the partitions.
#[derive(Debug)]
pub(crate) struct Fetchers {
    by_id: Mutex<BTreeMap<FetcherId, Arc<Fetcher>>>,
    /// How many fetch from one broker.
    per_leader: AtomicUsize,
    /// How long the next fetch is not sent while something waits for a disk that does not stall.
    wait_for_disks_ms: AtomicU64,
}

impl Default for Fetchers {
    fn default() -> Fetchers {
        Fetchers {
            by_id: Mutex::default(),
            per_leader: AtomicUsize::new(1),
            wait_for_disks_ms: AtomicU64::new(WAIT_FOR_DISKS_MS),
        }
    }
}

impl Fetchers {
    /// The metadata says something new of a partition that is here: it is fetched from its leader, or not at all.
    /// In the epoch in which it is fetched already nothing changes. [`Self::begin`] comes after all of an update.
    pub(crate) fn update(&self, topic: Uuid, partition: &Arc<Partition>) {
        let followed = partition.followed();
        let mut by_id = self.by_id.lock();
        let mut is_fetched = false;
        for ((id, _), fetcher) in by_id.iter() {
            // Where that is another one than it should be, it hands the partition over itself.
            match followed {
                Some(leader) if leader.id == *id && fetcher.has(topic, partition, leader.epoch) => {
                    is_fetched = true;
                }
                _ => fetcher.remove(topic, partition.index),
            }
        }
        let Some(leader) = followed.filter(|_| !is_fetched) else { return };
        let number = number_of(partition, self.per_leader.load(Ordering::Acquire));
        get(&mut by_id, (leader.id, number)).add(topic, partition, leader.epoch);
    }

    /// Begins to fetch what was added: all of an update at once, or the first partition's fetch would be given up for the
    /// second one.
    pub(crate) fn begin(&self, replicas: &Arc<Replicas>) {
        for fetcher in self.by_id.lock().values() {
            begin(replicas, fetcher);
        }
    }

    /// So many fetch from each broker from now on. Each hands over what others are to fetch between two of its requests,
    /// so that no two are ever busy with a partition.
    pub(crate) fn resize(&self, per_leader: usize) {
        let by_id = self.by_id.lock();
        if self.per_leader.swap(per_leader.max(1), Ordering::AcqRel) != per_leader.max(1) {
            by_id.values().for_each(|fetcher| fetcher.something_added());
        }
    }

    /// Hands over what other fetchers are to fetch, but for what waits for a disk; says whether the fetcher has ended,
    /// because nothing is left for it.
    pub(super) fn hand_over(&self, replicas: &Arc<Replicas>, fetcher: &Fetcher) -> bool {
        if fetcher.is_sized_for(self.per_leader.load(Ordering::Acquire)) {
            return false;
        }
        let mut by_id = self.by_id.lock();
        // Which does not change under the lock.
        let per_leader = self.per_leader.load(Ordering::Acquire);
        let (leader, number) = fetcher.id();
        let others = |partition: &Partition| number_of(partition, per_leader) != number;
        let (taken_out, is_all) = fetcher.take_out(others);
        let mut handed: BTreeMap<usize, Vec<(Key, Followed)>> = BTreeMap::new();
        for (key, followed) in taken_out {
            let number = number_of(&followed.partition, per_leader);
            handed.entry(number).or_default().push((key, followed));
        }
        for (number, all) in handed {
            let other = get(&mut by_id, (leader, number));
            other.put(all);
            begin(replicas, other);
        }
        if !is_all {
            return false;
        }
        fetcher.set_sized_for(per_leader);
        // Under the lock under which partitions are added, and none is to one of that number.
        let has_ended = number >= per_leader;
        if has_ended {
            by_id.remove(&(leader, number));
        }
        has_ended
    }

    /// How long the next fetch is not sent while something waits for a disk that does not stall.
    pub(super) fn wait_for_disks(&self) -> Duration {
        Duration::from_millis(self.wait_for_disks_ms.load(Ordering::Relaxed))
    }

    /// Another time than it is.
    #[cfg(test)]
    pub(super) fn set_wait_for_disks_ms(&self, ms: u64) {
        self.wait_for_disks_ms.store(ms, Ordering::Relaxed);
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.by_id.lock().len()
    }

    /// Looks at what is fetched of a partition.
    #[cfg(test)]
    pub(super) fn look<T>(&self, key: Key, look: impl Fn(&Followed) -> T) -> Option<T> {
        self.by_id.lock().values().find_map(|fetcher| fetcher.look(key, &look))
    }

    /// A partition is not here any more.
    pub(crate) fn remove(&self, topic: Uuid, index: i32) {
        for fetcher in self.by_id.lock().values() {
            fetcher.remove(topic, index);
        }
    }
}

/// A fetcher, which is made if it is not there.
fn get(by_id: &mut BTreeMap<FetcherId, Arc<Fetcher>>, id: FetcherId) -> &Arc<Fetcher> {
    by_id.entry(id).or_insert_with(|| Arc::new(Fetcher::new(id)))
}

/// Has what was added to a fetcher fetched.
fn begin(replicas: &Arc<Replicas>, fetcher: &Arc<Fetcher>) {
    if fetcher.begin() {
        replicas.node.spawn_until_stopped(supervise(Arc::clone(replicas), Arc::clone(fetcher), 0));
    }
}

/// Which of so many fetchers a partition is for, as in Kafka.
fn number_of(partition: &Partition, per_leader: usize) -> usize {
    number(&partition.topic, partition.index, per_leader)
}

fn number(topic: &str, index: i32, per_leader: usize) -> usize {
    let hash = java_string_hash(topic).wrapping_mul(31).wrapping_add(index);
    // Kafka's absolute value maps i32::MIN, which has none, to 0.
    let hash = usize::try_from(hash.checked_abs().unwrap_or(0)).unwrap_or(0);
    hash.checked_rem(per_leader).unwrap_or(0)
}

/// How long a fetcher that panicked is not started again.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Fetches for as long as it is polled. What panics here goes by what the leader sends: that stops neither the broker
/// nor what is fetched from others.
async fn supervise(replicas: Arc<Replicas>, fetcher: Arc<Fetcher>, generation: u64) {
    loop {
        let fetching = run(Arc::clone(&replicas), Arc::clone(&fetcher), generation);
        if CatchPanic(fetching).await.is_ok() {
            // Another loop fetches, or nothing is left to be fetched.
            return;
        }
        replicas.node.metrics().panics.add(1);
        fetcher.say(&"the fetcher panicked; it is started again");
        tokio::time::sleep(RESTART_PAUSE).await;
    }
}

/// Starts another loop for each fetcher whose loop is stuck in a write to a log, for as long as it is polled.
pub(crate) async fn take_over_stuck(replicas: Arc<Replicas>) {
    let stalled = Arc::new(Notify::new());
    let notify = Arc::clone(&stalled);
    if !replicas.logs().stalls().on_stalled_write(move || notify.notify_one()) {
        tracing::error!(
            "the stall watch has another listener: fetchers that are stuck in a write are not replaced"
        );
    }
    loop {
        stalled.notified().await;
        for fetcher in replicas.fetchers().by_id.lock().values() {
            if let Some(generation) = fetcher.take_over() {
                let next = supervise(Arc::clone(&replicas), Arc::clone(fetcher), generation);
                replicas.node.spawn_until_stopped(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Kafka's AbstractFetcherManager says of the same.
    #[test]
    fn partitions_are_shared_out_as_in_kafka() {
        let of = |topic: &str, per_leader| -> Vec<usize> {
            (0..6).map(|index| number(topic, index, per_leader)).collect()
        };
        assert_eq!(of("t", 1), [0; 6]);
        // "t".hashCode() is 116.
        assert_eq!(of("t", 2), [0, 1, 0, 1, 0, 1]);
        assert_eq!(of("t", 3), [(116 * 31) % 3, 0, 1, 2, 0, 1]);
        assert_eq!(of("t", 0), [0; 6]);
        // "polygenelubricants".hashCode() is Integer.MIN_VALUE, and so is 31 times that.
        assert_eq!(number("polygenelubricants", 0, 7), 0);
        assert_eq!(number("polygenelubricants", 1, 1 << 31), (1 << 31) - 1);
    }
}
