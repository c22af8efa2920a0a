//! Which partitions are fetched from which broker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_wire::Uuid;
use tokio::sync::Notify;

use super::fetcher::{Fetcher, run};
#[cfg(test)]
use super::fetcher::{Followed, Key};
use crate::broker::Broker;
use crate::catch_panic::CatchPanic;
use crate::partition::Partition;

/// One fetcher for each broker that leads something of which this one has a replica.
#[derive(Debug, Default)]
pub(crate) struct Fetchers {
    by_leader: Mutex<BTreeMap<i32, Arc<Fetcher>>>,
}

impl Fetchers {
    /// The metadata says something new of a partition that is here: it is fetched from its leader, or from nobody.
    /// In the epoch in which it is fetched already nothing changes. [`Self::begin`] comes after all of an update.
    pub(crate) fn update(&self, topic: Uuid, partition: &Arc<Partition>) {
        let followed = partition.followed();
        let mut by_leader = self.by_leader.lock();
        for (id, fetcher) in by_leader.iter() {
            if followed.is_none_or(|(leader, _)| leader != *id) {
                fetcher.remove(topic, partition.index);
            }
        }
        let Some((leader, epoch)) = followed else { return };
        let fetcher = by_leader.entry(leader).or_insert_with(|| Arc::new(Fetcher::new(leader)));
        fetcher.add(topic, partition, epoch);
    }

    /// Begins to fetch what was added: all of an update at once, or the first partition's fetch would be given up for the
    /// second one.
    pub(crate) fn begin(&self, broker: &Arc<Broker>) {
        for fetcher in self.by_leader.lock().values() {
            if fetcher.begin() {
                broker.spawn_until_stopped(supervise(Arc::clone(broker), Arc::clone(fetcher)));
            }
        }
    }

    /// Looks at what is fetched of a partition.
    #[cfg(test)]
    pub(super) fn look<T>(&self, key: Key, look: impl Fn(&Followed) -> T) -> Option<T> {
        self.by_leader.lock().values().find_map(|fetcher| fetcher.look(key, &look))
    }

    /// A partition is not here any more.
    pub(crate) fn remove(&self, topic: Uuid, index: i32) {
        for fetcher in self.by_leader.lock().values() {
            fetcher.remove(topic, index);
        }
    }
}

/// How long a fetcher that panicked is not started again.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Fetches for as long as it is polled. What panics here goes by what the leader sends: that stops neither the broker
/// nor what is fetched from others.
async fn supervise(broker: Arc<Broker>, fetcher: Arc<Fetcher>) {
    loop {
        let fetching = run(Arc::clone(&broker), Arc::clone(&fetcher));
        if CatchPanic(fetching).await.is_ok() {
            // Somebody else fetches.
            return;
        }
        broker.metrics.panics.add(1);
        fetcher.say(&"the fetcher panicked; it is started again");
        tokio::time::sleep(RESTART_PAUSE).await;
    }
}

/// Has others fetch what those would who are stuck in a write to a log, for as long as it is polled.
pub(crate) async fn take_over_stuck(broker: Arc<Broker>) {
    let stalled = Arc::new(Notify::new());
    let heard = Arc::clone(&stalled);
    broker.logs.stalls().on_stalled_write(move || heard.notify_one());
    loop {
        stalled.notified().await;
        let stuck: Vec<Arc<Fetcher>> = {
            let by_leader = broker.fetchers.by_leader.lock();
            by_leader.values().filter(|fetcher| fetcher.take_over()).cloned().collect()
        };
        for fetcher in stuck {
            broker.spawn_until_stopped(supervise(Arc::clone(&broker), fetcher));
        }
    }
}
