//! Offsets that are kept elsewhere than in Kafka.

use std::error::Error as StdError;
use std::pin::Pin;

use crate::core::partition::{Position, TopicPartition};

/// What a callback may fail with.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Where to begin reading partitions; one that is left out begins where the group committed.
pub type Offsets = Vec<(TopicPartition, Position)>;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What is asked when partitions come, and told when they go.
pub(in crate::stream) trait ManualOffsets: Send + Sync {
    fn assigned(&self, partitions: &[TopicPartition]) -> BoxFuture<Result<Offsets, BoxError>>;
    fn revoked(&self, partitions: &[TopicPartition]) -> BoxFuture<()>;
}

/// Two callbacks.
pub(in crate::stream) struct Callbacks<A, R> {
    pub assigned: A,
    pub revoked: R,
}

impl<A, R, AF, RF, E> ManualOffsets for Callbacks<A, R>
where
    A: Fn(Vec<TopicPartition>) -> AF + Send + Sync,
    AF: Future<Output = Result<Offsets, E>> + Send + 'static,
    R: Fn(Vec<TopicPartition>) -> RF + Send + Sync,
    RF: Future<Output = ()> + Send + 'static,
    E: Into<BoxError>,
{
    fn assigned(&self, partitions: &[TopicPartition]) -> BoxFuture<Result<Offsets, BoxError>> {
        let asked = (self.assigned)(partitions.to_vec());
        Box::pin(async move { asked.await.map_err(Into::into) })
    }

    fn revoked(&self, partitions: &[TopicPartition]) -> BoxFuture<()> {
        Box::pin((self.revoked)(partitions.to_vec()))
    }
}
