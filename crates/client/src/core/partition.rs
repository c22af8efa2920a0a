//! Names of partitions, and places in them.

use std::fmt;
use std::sync::Arc;

use thalweg_wire::grouped;

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

/// Partitions by topic, as requests have them: what `topic` makes of each topic's name and the indexes of its
/// partitions.
pub(crate) fn by_topic<'a, T>(
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
    mut topic: impl FnMut(String, Vec<i32>) -> T,
) -> Vec<T> {
    let partitions = partitions.into_iter().map(|p| (&*p.topic, p.partition));
    grouped::by_topic(partitions, |name, indexes| topic(name.to_owned(), indexes))
}

/// What `of` makes of each partition of an answer, with the partition's name. It gives its index, too.
pub(crate) fn by_partition<P, T>(
    topics: impl IntoIterator<Item = (String, Vec<P>)>,
    of: impl Fn(P) -> (i32, T),
) -> Vec<(TopicPartition, T)> {
    let mut all = Vec::new();
    for (name, partitions) in topics {
        let name: Arc<str> = name.into();
        all.extend(partitions.into_iter().map(|partition| {
            let (index, made) = of(partition);
            (TopicPartition::new(Arc::clone(&name), index), made)
        }));
    }
    all
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
