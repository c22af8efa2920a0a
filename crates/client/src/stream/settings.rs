//! How sources behave, and what they read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::consumer::ConsumerConfig;
use crate::core::partition::{Position, TopicPartition};
use crate::options::setters::setters;

/// Settings of a source: its consumer's, and what concerns the stream. Made of a [`ConsumerConfig`]
/// where the rest may be as it is by default.
///
/// ```
/// use std::time::Duration;
/// use thalweg::ConsumerConfig;
/// use thalweg::stream::ConsumerSettings;
///
/// let config = ConsumerConfig::default().with_group_id("billing");
/// let settings = ConsumerSettings::from(config).with_stop_timeout(Duration::from_secs(5));
/// # drop(settings);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerSettings {
    /// The consumer. [`ConsumerConfig::auto_commit`] counts for plain sources, where a record is
    /// done with when the next one is asked for; the others commit what the application
    /// acknowledges and nothing else.
    pub consumer: ConsumerConfig,
    /// How long a partition that is to be given up waits for what is in the application's hands,
    /// within the time that the group lets it; 30 s. The other partitions go on meanwhile, as far
    /// as the group's protocol lets them.
    pub revocation_timeout: Duration,
    /// The same when the source was dropped (Alpakka's `stop-timeout`), and for leaving the group;
    /// 30 s.
    pub stop_timeout: Duration,
}

setters! {
    ConsumerSettings {
        consumer: ConsumerConfig => with_consumer,
        revocation_timeout: Duration => with_revocation_timeout,
        stop_timeout: Duration => with_stop_timeout,
    }
}

impl Default for ConsumerSettings {
    fn default() -> ConsumerSettings {
        ConsumerConfig::default().into()
    }
}

impl From<ConsumerConfig> for ConsumerSettings {
    fn from(consumer: ConsumerConfig) -> ConsumerSettings {
        ConsumerSettings {
            consumer,
            revocation_timeout: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(30),
        }
    }
}

/// What a source reads.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Subscription {
    /// Topics, as a member of a group.
    Topics(Vec<Arc<str>>),
    /// Topics whose whole name matches a pattern, likewise; see
    /// [`Consumer::subscribe_pattern`](crate::Consumer::subscribe_pattern).
    TopicPattern(String),
    /// These partitions, each from where the group committed or, without a position and a group,
    /// where [`ConsumerConfig::auto_offset_reset`] says.
    Assignment(Vec<(TopicPartition, Option<Offset>)>),
}

/// An offset to begin at.
pub type Offset = i64;

impl Subscription {
    /// Topics by name.
    pub fn topics<T: Into<Arc<str>>>(topics: impl IntoIterator<Item = T>) -> Subscription {
        Subscription::Topics(topics.into_iter().map(Into::into).collect())
    }

    /// Topics by pattern.
    pub fn topic_pattern(pattern: impl Into<String>) -> Subscription {
        Subscription::TopicPattern(pattern.into())
    }

    /// Partitions, from where the group committed.
    pub fn assignment(partitions: impl IntoIterator<Item = TopicPartition>) -> Subscription {
        Subscription::Assignment(partitions.into_iter().map(|p| (p, None)).collect())
    }

    /// Partitions, from these offsets.
    pub fn assignment_with_offset(
        partitions: impl IntoIterator<Item = (TopicPartition, Offset)>,
    ) -> Subscription {
        Subscription::Assignment(partitions.into_iter().map(|(p, at)| (p, Some(at))).collect())
    }
}

/// Each partition once, with where to begin.
pub(super) fn positions(
    partitions: Vec<(TopicPartition, Option<Offset>)>,
) -> BTreeMap<TopicPartition, Option<Position>> {
    partitions.into_iter().map(|(partition, at)| (partition, at.map(Position::at))).collect()
}
