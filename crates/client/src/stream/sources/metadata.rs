//! Questions about topics and offsets.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use thalweg_wire::ApiKey;
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::cluster::coordinator::CommittedOffset;
use crate::cluster::offsets::FoundOffset;
use crate::consumer::{Consumer, ConsumerHandle};
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::options;

use crate::stream::settings::ConsumerSettings;

/// Asks a cluster about topics, partitions and offsets.
#[derive(Clone)]
pub struct MetadataClient {
    handle: ConsumerHandle,
    /// Where it is not a source's: kept alive.
    _consumer: Option<Arc<Consumer>>,
}

impl MetadataClient {
    /// With a consumer of its own, which reads nothing. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Config`] when settings make no sense.
    pub fn create(
        cluster: Cluster,
        settings: impl Into<ConsumerSettings>,
    ) -> Result<MetadataClient, Error> {
        let consumer = Consumer::new(cluster, settings.into().consumer)?;
        let handle = consumer.handle();
        Ok(MetadataClient { handle, _consumer: Some(Arc::new(consumer)) })
    }

    pub(in crate::stream) fn new(handle: ConsumerHandle) -> MetadataClient {
        MetadataClient { handle, _consumer: None }
    }

    /// All topics that this client may see, each with its partitions in order.
    ///
    /// # Errors
    /// When no broker answers in time
    /// ([`ConsumerConfig::default_api_timeout`](crate::ConsumerConfig::default_api_timeout)).
    pub async fn list_topics(&self) -> Result<BTreeMap<String, Vec<i32>>, Error> {
        let (metadata, _) = self.within(self.handle.cluster().refresh_all()).await?;
        let partitions = metadata.topics.iter().map(|(name, topic)| {
            let mut partitions: Vec<i32> = topic.partitions.keys().copied().collect();
            partitions.sort_unstable();
            (name.clone(), partitions)
        });
        Ok(partitions.collect())
    }

    /// A topic's partitions, in order.
    ///
    /// # Errors
    /// [`Error::Topic`] when it is not there; others as for [`Self::list_topics`].
    pub async fn partitions_for(&self, topic: &str) -> Result<Vec<i32>, Error> {
        let topics = [topic];
        let (metadata, failed) = self.within(self.handle.cluster().refresh(&topics)).await?;
        if let Some((topic, code)) = failed.into_iter().next() {
            return Err(Error::Topic { topic: topic.into(), code });
        }
        let topic = metadata.topics.get(topic);
        let mut partitions: Vec<i32> =
            topic.map(|topic| topic.partitions.keys().copied().collect()).unwrap_or_default();
        partitions.sort_unstable();
        Ok(partitions)
    }

    /// What is asked for, if it comes in time.
    async fn within<T>(&self, asking: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let after = options::bounded(self.handle.api_timeout());
        let late = |_| Error::Timeout {
            addr: "the cluster's brokers".into(),
            what: ApiKey::METADATA.to_string(),
            after,
        };
        timeout(after, asking).await.map_err(late)?
    }

    /// The first offset of each partition.
    ///
    /// # Errors
    /// As [`Consumer::offsets_for_times`].
    pub async fn beginning_offsets<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        self.handle.beginning_offsets(partitions).await
    }

    /// The offset behind the last record of each partition that this client may read.
    ///
    /// # Errors
    /// As [`Consumer::offsets_for_times`].
    pub async fn end_offsets<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        self.handle.end_offsets(partitions).await
    }

    /// For each partition the first record that is not older than a time, in milliseconds since
    /// 1970; `None` where there is none.
    ///
    /// # Errors
    /// As [`Consumer::offsets_for_times`].
    pub async fn offsets_for_times(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, i64)>,
    ) -> Result<Vec<(TopicPartition, Option<FoundOffset>)>, Error> {
        let wanted: Vec<_> = wanted.into_iter().collect();
        self.handle.offsets_for_times(wanted).await
    }

    /// What the group has committed for partitions.
    ///
    /// # Errors
    /// [`Error::Group`] when the coordinator refuses; [`Error::Config`] without a group.
    pub async fn committed<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, Option<CommittedOffset>)>, Error> {
        self.handle.committed(partitions).await
    }
}

impl fmt::Debug for MetadataClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetadataClient").finish_non_exhaustive()
    }
}
