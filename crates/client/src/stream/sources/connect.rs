//! Sources are made here: each on a consumer of its own.

use std::sync::Arc;
use std::time::Duration;

use super::at_most_once::AtMostOnceSource;
use super::partitioned::PartitionedSource;
use super::shape::{InContext, Plain, Shape, WithOffset};
use super::source::Source;
use crate::cluster::Cluster;
use crate::consumer::{Consumer, ConsumerConfig};
use crate::core::fetch::{ReadMode, SharedRecord};
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::options;
use crate::stream::hub::manual::{BoxError, Callbacks, ManualOffsets, Offsets};
use crate::stream::hub::{Hub, PositionCommits};
use crate::stream::settings::{ConsumerSettings, Subscription, positions};

/// Records, without a way to acknowledge them: for those whose offsets are kept elsewhere, or are
/// committed by [`ConsumerConfig::auto_commit`] - a record is done with when the next one is asked
/// for, so those who work on several at once should take a [`committable_source`].
///
/// Like all of these it must be called within a tokio runtime.
///
/// # Errors
/// [`Error::Config`] when settings make no sense; for a subscription to topics that includes that
/// there is no group.
pub fn plain_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
) -> Result<Source<Plain>, Error> {
    source(cluster, settings.into(), subscription, Plain)
}

/// Records with the offset that acknowledges them: give that to a [`Committer`](crate::stream::Committer)
/// once the record is done with, and it is read again after a failure, but not otherwise (at least
/// once).
///
/// # Errors
/// As [`plain_source`], and without a group.
pub fn committable_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
) -> Result<Source<WithOffset>, Error> {
    source(cluster, settings.into(), subscription, WithOffset::default())
}

/// As [`committable_source`], with a text that is committed beside each offset.
///
/// # Errors
/// As [`committable_source`].
pub fn commit_with_metadata_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
    metadata_from_record: impl Fn(&SharedRecord) -> String + Send + Sync + 'static,
) -> Result<Source<WithOffset>, Error> {
    let shape = WithOffset::with_metadata(metadata_from_record);
    source(cluster, settings.into(), subscription, shape)
}

/// As [`committable_source`], as pairs: work on the first half, pass the second one along.
///
/// # Errors
/// As [`committable_source`].
pub fn source_with_offset_context(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
) -> Result<Source<InContext>, Error> {
    source(cluster, settings.into(), subscription, InContext)
}

/// Records that are committed before they are handed out: none comes twice (at most once).
///
/// # Errors
/// As [`committable_source`].
pub fn at_most_once_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
) -> Result<AtMostOnceSource, Error> {
    committable_source(cluster, settings, subscription).map(AtMostOnceSource::new)
}

/// As [`plain_source`], with one stream for each partition.
///
/// # Errors
/// As [`plain_source`].
pub fn plain_partitioned_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
) -> Result<PartitionedSource<Plain>, Error> {
    partitioned(cluster, settings.into(), subscription, Plain, None)
}

/// As [`committable_source`], with one stream for each partition.
///
/// # Errors
/// As [`committable_source`].
pub fn committable_partitioned_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
) -> Result<PartitionedSource<WithOffset>, Error> {
    partitioned(cluster, settings.into(), subscription, WithOffset::default(), None)
}

/// As [`commit_with_metadata_source`], with one stream for each partition.
///
/// # Errors
/// As [`committable_source`].
pub fn commit_with_metadata_partitioned_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
    metadata_from_record: impl Fn(&SharedRecord) -> String + Send + Sync + 'static,
) -> Result<PartitionedSource<WithOffset>, Error> {
    let shape = WithOffset::with_metadata(metadata_from_record);
    partitioned(cluster, settings.into(), subscription, shape, None)
}

/// As [`plain_partitioned_source`], for offsets that are kept elsewhere: whenever partitions are
/// assigned `get_offsets` is asked where to begin, and nothing of them is read before it has
/// answered; when they are given up, and nothing of them is handed out any more, `on_revoke` hears
/// of it and is waited for within the group's deadline. Nothing is committed to Kafka.
///
/// When `get_offsets` fails the source ends with [`Error::Callback`].
///
/// # Errors
/// As [`plain_partitioned_source`], and for a subscription that assigns by hand.
pub fn plain_partitioned_manual_offset_source<A, AF, R, RF, E>(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
    get_offsets: A,
    on_revoke: R,
) -> Result<PartitionedSource<Plain>, Error>
where
    A: Fn(Vec<TopicPartition>) -> AF + Send + Sync + 'static,
    AF: Future<Output = Result<Offsets, E>> + Send + 'static,
    R: Fn(Vec<TopicPartition>) -> RF + Send + Sync + 'static,
    RF: Future<Output = ()> + Send + 'static,
    E: Into<BoxError> + 'static,
{
    let mut settings = settings.into();
    settings.consumer.auto_commit = false;
    let callbacks = Arc::new(Callbacks { assigned: get_offsets, revoked: on_revoke });
    partitioned(cluster, settings, subscription, Plain, Some(callbacks))
}

/// The same with offsets that can be committed to Kafka as well.
///
/// # Errors
/// As [`plain_partitioned_manual_offset_source`].
pub fn committable_partitioned_manual_offset_source<A, AF, R, RF, E>(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
    get_offsets: A,
    on_revoke: R,
) -> Result<PartitionedSource<WithOffset>, Error>
where
    A: Fn(Vec<TopicPartition>) -> AF + Send + Sync + 'static,
    AF: Future<Output = Result<Offsets, E>> + Send + 'static,
    R: Fn(Vec<TopicPartition>) -> RF + Send + Sync + 'static,
    RF: Future<Output = ()> + Send + 'static,
    E: Into<BoxError> + 'static,
{
    let callbacks = Arc::new(Callbacks { assigned: get_offsets, revoked: on_revoke });
    partitioned(cluster, settings.into(), subscription, WithOffset::default(), Some(callbacks))
}

pub(in crate::stream) fn source<S: Shape>(
    cluster: &Cluster,
    settings: ConsumerSettings,
    subscription: Subscription,
    shape: S,
) -> Result<Source<S>, Error> {
    let hub = connect::<S>(cluster, settings, subscription, ReadMode::Stream, None)?;
    Ok(Source::new(hub, shape))
}

pub(in crate::stream) fn partitioned<S: Shape>(
    cluster: &Cluster,
    settings: ConsumerSettings,
    subscription: Subscription,
    shape: S,
    offsets: Option<Arc<dyn ManualOffsets>>,
) -> Result<PartitionedSource<S>, Error> {
    let hub = connect::<S>(cluster, settings, subscription, ReadMode::Partitions, offsets)?;
    Ok(PartitionedSource::new(hub, shape))
}

/// A consumer that its sources' hub looks after.
pub(in crate::stream) fn connect<S: Shape>(
    cluster: &Cluster,
    mut settings: ConsumerSettings,
    subscription: Subscription,
    reading: ReadMode,
    offsets: Option<Arc<dyn ManualOffsets>>,
) -> Result<Arc<Hub>, Error> {
    let ConsumerConfig { group_id, auto_commit, auto_commit_interval, .. } = &settings.consumer;
    let wrong =
        |reason: &str| Err(Error::Config { name: "group.id".into(), reason: reason.to_owned() });
    if S::HAS_OFFSET && group_id.is_none() {
        return wrong("is needed to commit");
    }
    let has_callbacks = offsets.is_some();
    if has_callbacks && matches!(subscription, Subscription::Assignment(_)) {
        return wrong("assigns what offsets are asked for; here partitions are assigned by hand");
    }
    let is_automatic = *auto_commit && !S::HAS_OFFSET && group_id.is_some();
    let auto_commit = is_automatic.then_some(*auto_commit_interval);
    let commits = PositionCommits {
        interval: options::bounded(*auto_commit_interval).max(Duration::from_millis(1)),
        may_begin: !has_callbacks && (is_automatic || S::HAS_OFFSET),
        in_transactions: S::IN_TRANSACTIONS,
    };
    let commits = group_id.is_some().then_some(commits);
    // What is committed is decided here, by what the application acknowledges.
    settings.consumer.auto_commit = false;
    let mut consumer = Consumer::new(cluster.clone(), settings.consumer.clone())?;
    consumer.set_reading(reading);
    let hub = Hub::new(&mut consumer, &settings, auto_commit, commits, offsets)?;
    match subscription {
        Subscription::Topics(topics) => consumer.subscribe(topics)?,
        Subscription::TopicPattern(pattern) => consumer.subscribe_pattern(&pattern)?,
        Subscription::Assignment(partitions) => {
            let partitions = positions(partitions);
            hub.open(partitions.keys().cloned());
            consumer.assign(partitions)?;
        }
    }
    tokio::spawn(Arc::clone(&hub).run(consumer));
    Ok(hub)
}
