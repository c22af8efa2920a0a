//! How coordinators learn of leadership.

use std::sync::Arc;

use crate::node::internal_topics::InternalTopic;
use crate::replicas::partition::Partition;

/// Learns which partitions of internal topics this node leads: their coordinators.
pub(crate) trait LeadershipListener: Send + Sync {
    /// This node leads a partition of the topic.
    fn elected(&self, topic: InternalTopic, partition: &Arc<Partition>);

    /// This node does not lead a partition of the topic any more: since the given leader epoch, or in any.
    fn resigned(&self, topic: InternalTopic, index: i32, leader_epoch: Option<i32>);
}
