//! Offsets that are to be committed, with what they rest on.

use std::sync::Arc;

use crate::cluster::coordinator::CommittedOffset;
use crate::consumer::state::group::Group;
use crate::consumer::state::pending::TopicIds;
use crate::consumer::state::shared::Shared;
use crate::core::fetch::Fetcher;
use crate::core::partition::{Position, TopicPartition};

/// Offsets to commit.
#[derive(Default)]
pub(in crate::consumer) struct Offsets {
    pub offsets: Vec<(TopicPartition, CommittedOffset)>,
    /// The last loss that whoever names these offsets knows of: what was lost by a later one is
    /// somebody else's, or was, though the member may have come back and may have it again.
    pub known_losses: u64,
    /// The topics' ids when these offsets were read. An offset of a topic that was created again
    /// says nothing of the topic that has its name now.
    pub topic_ids: TopicIds,
}

/// The ids by which the partitions are read here.
pub(in crate::consumer) fn topic_ids<'a>(
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

/// What polls have given so far of what is read now.
pub(in crate::consumer) fn handed_out(shared: &Arc<Shared>) -> Offsets {
    shared.with(|state| {
        let known_losses = state.group.as_ref().map_or(0, Group::losses);
        let fetcher = &state.fetcher;
        let offsets = fetcher.partitions().filter_map(|partition| {
            let position = fetcher.position(partition)?;
            Some(((**partition).clone(), CommittedOffset { position, metadata: None }))
        });
        let offsets: Vec<_> = offsets.collect();
        let topic_ids = topic_ids(fetcher, offsets.iter().map(|(partition, _)| partition));
        Offsets { offsets, known_losses, topic_ids }
    })
}
