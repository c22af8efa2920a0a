//! Changes of role that wait, because a write to the partition's directory hangs.
//!
//! An image takes effect without them, so that other partitions, topics and configs do not wait for that disk. Until its
//! change is done a partition neither leads nor follows: requests are answered with NOT_LEADER_OR_FOLLOWER, and its log
//! takes no append. A thread of the directory's pool changes the role when the write is done, and serves the partition as
//! the image of then says.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_wire::Uuid;
use tokio::sync::Notify;

use crate::node::internal_topics::InternalTopic;
use crate::replicas::Replicas;
use crate::replicas::partition::{Partition, RoleChange};

/// Partitions whose roles wait and that no thread looks after yet.
#[derive(Default)]
pub(crate) struct WaitingRoles {
    partitions: Mutex<Vec<(Uuid, Arc<Partition>)>>,
    added: Notify,
}

impl WaitingRoles {
    /// A partition of a topic begins to wait.
    pub(super) fn add(&self, topic: Uuid, partition: &Arc<Partition>) {
        tracing::warn!(
            topic = %partition.topic, partition = partition.index,
            dir = %partition.log.dir().path().display(),
            "a leader change of this partition waits for its log directory"
        );
        self.partitions.lock().push((topic, Arc::clone(partition)));
        self.added.notify_one();
    }
}

/// Has roles changed that wait, for as long as it is polled.
pub(crate) async fn run(replicas: Arc<Replicas>) {
    loop {
        replicas.roles().added.notified().await;
        for (topic, partition) in std::mem::take(&mut *replicas.roles().partitions.lock()) {
            let (settling, dir) = (Arc::clone(&replicas), partition.log.dir().id());
            let settle = move || settling.settle_role(topic, &partition);
            let what = "a leader change that waited";
            // Not waited for: another directory's partition may be next.
            tokio::spawn(replicas.change_for_metadata(dir, what, settle));
        }
    }
}

impl Replicas {
    /// Waits until the partition's log can change its role, and serves the partition. On a thread that may wait.
    fn settle_role(self: &Arc<Self>, topic: Uuid, partition: &Arc<Partition>) {
        loop {
            // Nothing is changed without the turn to publish: the image may bring another role before it is had.
            partition.log.wait_for_changes();
            let _publishing = self.begin_publishing();
            let image = self.node.image().0;
            let table = self.topics();
            let is_served = table.by_id(topic).and_then(|topic| topic.partition(partition.index));
            let assignment = image.topics.partition(topic, partition.index);
            let Some(assignment) = assignment.filter(|assignment| {
                assignment.replicas.contains(&self.node.id())
                    && is_served.is_some_and(|served| Arc::ptr_eq(served, partition))
            }) else {
                return;
            };
            if partition.apply(assignment, &image) != RoleChange::Done {
                continue;
            }
            tracing::info!(
                topic = %partition.topic, partition = partition.index,
                "the leader change that waited for a log directory is done"
            );
            let internal = InternalTopic::named(&partition.topic);
            if let Some(internal) = internal.filter(|_| assignment.leader != self.node.id()) {
                let epoch = Some(assignment.leader_epoch);
                self.leadership.resigned(internal, partition.index, epoch);
            }
            let served = BTreeMap::from([(partition.index, false)]);
            self.begin_opened(&image, &BTreeMap::from([(topic, served)]));
            return;
        }
    }
}
