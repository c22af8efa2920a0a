//! The topics this node serves, by name and by id: what the metadata image says, joined with the
//! logs that are open here. Read on every request, replaced as a whole when metadata changes.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use thalweg_wire::{ErrorCode, Uuid};

use crate::replicas::partition::Partition;
use crate::replicas::topic_settings::TopicSettings;

/// A topic with the partitions that live here.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Arc<str>,
    pub(crate) id: Uuid,
    /// Whether only the broker itself may write to it.
    pub(crate) internal: bool,
    /// By partition index; `None` where the partition lives elsewhere.
    partitions: Vec<Option<Arc<Partition>>>,
    /// Partitions that belong here and whose log could not be opened, because a directory is
    /// offline.
    offline: Vec<i32>,
    settings: Arc<ArcSwap<TopicSettings>>,
}

impl Topic {
    pub(crate) fn new(
        name: Arc<str>,
        id: Uuid,
        internal: bool,
        partitions: Vec<Option<Arc<Partition>>>,
        offline: Vec<i32>,
        settings: Arc<ArcSwap<TopicSettings>>,
    ) -> Topic {
        Topic { name, id, internal, partitions, offline, settings }
    }

    /// A partition that lives here.
    #[inline]
    pub(crate) fn partition(&self, index: i32) -> Option<&Arc<Partition>> {
        self.partitions.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// A partition that lives here, or the code that Kafka answers without it. What lives elsewhere now may have been led
    /// here when a client heard of its leader.
    #[inline]
    pub(crate) fn hosted(&self, index: i32) -> Result<&Arc<Partition>, ErrorCode> {
        self.partition(index).ok_or_else(|| {
            let exists = usize::try_from(index).is_ok_and(|at| at < self.partitions.len());
            if self.is_offline(index) {
                ErrorCode::KAFKA_STORAGE_ERROR
            } else if exists {
                ErrorCode::NOT_LEADER_OR_FOLLOWER
            } else {
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            }
        })
    }

    /// Whether its log could not be opened.
    pub(crate) fn is_offline(&self, index: i32) -> bool {
        self.offline.contains(&index)
    }

    /// Every partition that lives here.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &Arc<Partition>> {
        self.partitions.iter().flatten()
    }

    /// Slots by index, `None` where a partition lives elsewhere.
    pub(crate) fn slots(&self) -> &[Option<Arc<Partition>>] {
        &self.partitions
    }

    /// The configuration as it is now.
    #[inline]
    pub(crate) fn settings(&self) -> Arc<TopicSettings> {
        self.settings.load_full()
    }

    /// Where the configuration is kept, shared with the topic's next version.
    pub(crate) fn settings_cell(&self) -> &Arc<ArcSwap<TopicSettings>> {
        &self.settings
    }
}

/// All topics at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopicTable {
    by_name: HashMap<Arc<str>, Arc<Topic>>,
    by_id: HashMap<Uuid, Arc<Topic>>,
}

/// A reader's hold on the table.
pub(crate) type TopicsGuard = Guard<Arc<TopicTable>>;

impl TopicTable {
    #[inline]
    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_name.get(name)
    }

    #[inline]
    pub(crate) fn by_id(&self, id: Uuid) -> Option<&Arc<Topic>> {
        self.by_id.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.by_name.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Adds a topic, or replaces the one of the same id.
    pub(crate) fn insert(&mut self, topic: Arc<Topic>) {
        self.by_id.insert(topic.id, Arc::clone(&topic));
        if let Some(old) = self.by_name.insert(Arc::clone(&topic.name), Arc::clone(&topic))
            && old.id != topic.id
        {
            self.by_id.remove(&old.id);
        }
    }

    /// Takes a topic out.
    pub(crate) fn remove(&mut self, id: Uuid) -> Option<Arc<Topic>> {
        let topic = self.by_id.remove(&id)?;
        // A topic of the same name with another id may have come since.
        if self.by_name.get(&topic.name).is_some_and(|current| current.id == id) {
            self.by_name.remove(&topic.name);
        }
        Some(topic)
    }
}
