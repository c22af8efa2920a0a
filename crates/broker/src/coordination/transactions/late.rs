//! Transactions that are open in a partition for longer than any may be: nobody will end them, it seems, and readers of
//! committed records wait for them (KIP-664).
//!
//! Which ones, Kafka's rule says: of each partition the open transaction that began first, by the time of its
//! producer's last batch. Nothing is done about them: `thalweg transactions find-hanging` asks the coordinators, too.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_wire::Uuid;

use crate::node::Node;
use crate::node::metrics::Counter;
use crate::replicas::Replicas;
use crate::replicas::partition::Partition;

/// So much longer than `transaction.max.timeout.ms` a transaction is open before it counts, as in Kafka: its coordinator
/// is given time to abort it.
const BUFFER_MS: i64 = 5 * 60 * 1_000;

/// They are looked for this often.
pub(crate) const CHECK_MS: i64 = 60_000;

/// Those that the log has a line of.
#[derive(Debug, Default)]
pub(crate) struct LateTransactions {
    /// The one of each partition that has one, by its producer and where it begins.
    told: Mutex<HashMap<(Uuid, i32), (i64, i64)>>,
    found: Counter,
}

/// Partitions led here that have one.
fn late(node: &Node, replicas: &Replicas) -> Vec<Arc<Partition>> {
    let now_ms = node.clock().wall_ms();
    let max_ms = i64::from(node.settings().config.transaction_max_timeout_ms()) + BUFFER_MS;
    let mut late = Vec::new();
    for topic in replicas.topics().iter() {
        late.extend(topic.partitions().filter(|it| is_late(it, now_ms, max_ms)).cloned());
    }
    late
}

fn is_late(partition: &Partition, now_ms: i64, max_ms: i64) -> bool {
    let last_ms = partition.log.open_transaction_timestamp();
    last_ms > 0 && now_ms.saturating_sub(last_ms) > max_ms && partition.led_epoch().is_ok()
}

impl LateTransactions {
    /// How many partitions led here have one.
    pub(crate) fn partitions(node: &Node, replicas: &Replicas) -> usize {
        late(node, replicas).len()
    }

    /// How many were found since the broker started.
    pub(crate) fn found(&self) -> u64 {
        self.found.get()
    }

    /// Logs those that it has not logged before.
    pub(crate) fn report(&self, node: &Node, replicas: &Replicas) {
        let mut told = self.told.lock();
        let before = std::mem::take(&mut *told);
        for partition in late(node, replicas) {
            let (topic, index) = (&partition.topic, partition.index);
            let key = (partition.log.topic_id().unwrap_or(Uuid::ZERO), index);
            let known = before.get(&key).copied();
            // While a write to the disk hangs nobody knows: it is looked at again.
            let Some(open) = partition.log.open_transaction() else {
                told.extend(known.map(|known| (key, known)));
                continue;
            };
            let this = (open.producer_id, open.first_offset);
            told.insert(key, this);
            if known == Some(this) {
                continue;
            }
            self.found.add(1);
            let idle_ms = node.clock().wall_ms().saturating_sub(open.last_timestamp);
            tracing::warn!(
                %topic, partition = index, producer_id = open.producer_id,
                producer_epoch = open.producer_epoch, coordinator_epoch = open.coordinator_epoch,
                first_offset = open.first_offset, idle_ms,
                "a transaction is open for longer than any may be, and readers of committed records wait for it; \
                 whether it hangs, and what aborts it, says: thalweg transactions find-hanging --topic {topic} \
                 --partition {index}"
            );
        }
    }
}
