//! Partitions for tests.

use super::*;
use crate::node::Node;

/// Settings of a topic that asks for so many in-sync replicas.
fn settings(min_insync_replicas: i32) -> Arc<ArcSwap<TopicSettings>> {
    let settings =
        TopicSettings { min_insync_replicas, ..crate::replicas::topic_settings::defaults() };
    Arc::new(ArcSwap::from_pointee(settings))
}

/// What the metadata says of a partition that broker 1 leads.
pub(crate) fn assignment(
    leader_epoch: i32,
    partition_epoch: i32,
    replicas: &[i32],
    isr: &[i32],
) -> Assignment {
    Assignment {
        replicas: replicas.to_vec(),
        directories: Vec::new(),
        isr: isr.to_vec(),
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        elr: Vec::new(),
        last_known_elr: Vec::new(),
        leader: 1,
        is_recovering: false,
        leader_epoch,
        partition_epoch,
    }
}

impl Partition {
    /// A partition of broker 1 that asks for so many in-sync replicas.
    pub(crate) fn of_broker_1(topic: &str, log: Arc<Log>, min_insync_replicas: i32) -> Partition {
        let node = Node::of_broker_1();
        let shared = Arc::new(Shared::new(node));
        Partition::new(topic.into(), 0, log, shared, settings(min_insync_replicas))
    }

    /// The metadata says this.
    pub(crate) fn assign(&self, assignment: &Assignment) {
        let change = self.apply(assignment, &self.shared.node.load_image());
        assert_eq!(change, RoleChange::Done);
    }

    /// What [`Partition::go_offline`] did is undone, which does not happen to a broker.
    pub(crate) fn go_online(&self) {
        let replica = self.replica.lock();
        self.is_alone.store(replica.is_alone(), Ordering::Release);
        self.led_epoch.store(replica.leader_epoch(), Ordering::Release);
    }

    /// Broker 1 leads, without other replicas.
    pub(crate) fn lead_alone(&self, epoch: i32) {
        self.assign(&assignment(epoch, epoch, &[1], &[1]));
    }
}
