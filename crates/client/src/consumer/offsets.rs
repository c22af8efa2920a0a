//! Offsets that are to be committed, with what they rest on.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_wire::Uuid;

use super::group::Group;
use super::shared::Shared;
use crate::cluster::coordinator::CommittedOffset;
use crate::core::fetch::Fetcher;
use crate::core::partition::{Position, TopicPartition};

/// Offsets to commit.
#[derive(Default)]
pub(super) struct Offsets {
    pub offsets: Vec<(TopicPartition, CommittedOffset)>,
    /// The last loss that whoever names these offsets knows of: what was lost by a later one is
    /// somebody else's, or was, though the member may have come back and may have it again.
    pub known_losses: u64,
    /// The topics' ids when these offsets were read. An offset of a topic that was created again
    /// says nothing of the topic that has its name now.
    pub topic_ids: TopicIds,
}

/// Ids of topics by name, as far as they are known.
pub(super) type TopicIds = BTreeMap<Arc<str>, Uuid>;

/// The ids by which the partitions are read here.
pub(super) fn topic_ids<'a>(
    fetcher: &Fetcher,
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> TopicIds {
    let mut ids = TopicIds::new();
    for partition in partitions {
        if !ids.contains_key(&partition.topic)
            && let Some(id) = fetcher.topic_id(partition)
        {
            ids.insert(Arc::clone(&partition.topic), id);
        }
    }
    ids
}

impl Offsets {
    /// Offsets that the application names.
    pub fn named(
        shared: &Arc<Shared>,
        offsets: impl IntoIterator<Item = (TopicPartition, CommittedOffset)>,
    ) -> Offsets {
        let offsets: Vec<_> = offsets.into_iter().collect();
        let (known_losses, topic_ids) = shared.with(|state| {
            let known_losses = state.group.as_ref().map_or(0, Group::heard_losses);
            let partitions = offsets.iter().map(|(partition, _)| partition);
            (known_losses, topic_ids(&state.fetcher, partitions))
        });
        Offsets { offsets, known_losses, topic_ids }
    }

    /// As [`Self::named`], without texts beside them.
    pub fn at(
        shared: &Arc<Shared>,
        positions: impl IntoIterator<Item = (TopicPartition, Position)>,
    ) -> Offsets {
        let without_metadata =
            |(partition, position)| (partition, CommittedOffset { position, metadata: None });
        Offsets::named(shared, positions.into_iter().map(without_metadata))
    }
}
