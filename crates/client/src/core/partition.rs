//! Names of partitions, and places in them.

use std::fmt;
use std::sync::Arc;

/// A partition of a topic. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's index.
    pub partition: i32,
}

impl TopicPartition {
    /// The partition `partition` of `topic`.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> TopicPartition {
        TopicPartition { topic: topic.into(), partition }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Where a consumer stands in a partition: the next record it wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Offset of the next record.
    pub offset: i64,
    /// Leader epoch of the record before it, -1 where that is not known. With it a log that was
    /// truncated is noticed (KIP-320).
    pub leader_epoch: i32,
}

impl Position {
    /// A position whose epoch is not known.
    pub fn at(offset: i64) -> Position {
        Position { offset, leader_epoch: -1 }
    }
}
