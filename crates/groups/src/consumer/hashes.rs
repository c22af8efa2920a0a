//! Hashes of the topics that groups subscribe to.
//!
//! Invariant: a hash that is kept is that of the topic in the current metadata.

use std::collections::HashMap;
use std::sync::Arc;

use thalweg_metadata::image::{MetadataImage, TopicImage};

use crate::formats::{group_hash, topic_hash};

/// Hashes of topics, kept until the topics change.
#[derive(Debug, Default)]
pub(crate) struct TopicHashes {
    hashes: HashMap<Arc<str>, i64>,
    /// Offset of the last metadata image that brought a topic, or of the first one there was.
    pub(crate) last_new_topics: Option<i64>,
}

impl TopicHashes {
    /// Hash of the topics in `names` that exist.
    pub(crate) fn group_hash<'n>(
        &mut self,
        names: impl IntoIterator<Item = &'n Arc<str>>,
        image: &MetadataImage,
    ) -> i64 {
        let mut topics: Vec<(&str, i64)> = Vec::new();
        for name in names {
            if let Some(topic) = image.topics.by_name(name) {
                topics.push((name, self.topic_hash(topic, image)));
            }
        }
        group_hash(topics)
    }

    fn topic_hash(&mut self, topic: &TopicImage, image: &MetadataImage) -> i64 {
        if let Some(hash) = self.hashes.get(&topic.name) {
            return *hash;
        }
        let racks = topic.partitions.values().map(|partition| {
            let brokers = partition.replicas.iter().filter_map(|id| image.cluster.broker(*id));
            brokers.filter_map(|broker| broker.rack.as_deref())
        });
        let hash = topic_hash(topic.id, &topic.name, racks);
        self.hashes.insert(topic.name.clone(), hash);
        hash
    }

    /// The topic has changed, or is gone.
    pub(crate) fn forget(&mut self, name: &str) {
        self.hashes.remove(name);
    }

    /// Everything may have changed.
    pub(crate) fn forget_all(&mut self) {
        self.hashes.clear();
    }
}
