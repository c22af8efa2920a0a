//! Commits that a consumer makes by itself (`enable.auto.commit`).

use std::sync::Arc;

use super::commit;
use super::offsets::{self, Offsets};
use crate::cluster::coordinator::CommittedOffset;
use crate::consumer::state::shared::Shared;
use crate::core::partition::TopicPartition;

/// As [`commit_acknowledged`], of all partitions, from time to time. Where nothing moved since the
/// last time there is nothing to commit, and thousands are not looked at.
pub(in crate::consumer) async fn commit_news(shared: &Arc<Shared>) {
    let news = {
        let state = shared.lock();
        let moves = state.fetcher.moves();
        let is_known = state.group.as_ref().is_some_and(|g| g.committed_at == Some(moves));
        let all = || state.fetcher.partitions().map(|p| (**p).clone()).collect::<Vec<_>>();
        (!is_known).then(|| (moves, all()))
    };
    let Some((moves, partitions)) = news else { return };
    if commit_acknowledged(shared, &partitions).await {
        shared.with_group(|group, _| group.committed_at = Some(moves));
    }
}

/// Commits what the application is done with, if that is set. A commit that fails costs nothing but
/// records that are read again. Says whether it was committed.
pub(in crate::consumer) async fn commit_acknowledged(
    shared: &Arc<Shared>,
    partitions: &[TopicPartition],
) -> bool {
    if !shared.config.auto_commit {
        return true;
    }
    let offsets = shared.with_group(|group, fetcher| {
        let positions = group.to_commit(fetcher, partitions).into_iter();
        let offsets: Vec<_> = positions
            .map(|(partition, position)| (partition, CommittedOffset { position, metadata: None }))
            .collect();
        let partitions = offsets.iter().map(|(partition, _)| partition);
        let topic_ids = offsets::topic_ids(fetcher, partitions);
        // These are of now, whatever the application has heard of.
        Offsets { offsets, known_losses: group.losses(), topic_ids }
    });
    let Some(offsets) = offsets.filter(|offsets| !offsets.offsets.is_empty()) else { return true };
    let topic_ids = offsets.topic_ids.clone();
    let failed = match commit::commit_each(shared, offsets).await {
        Ok(mut refusals) => {
            // Positions in a topic that was created again are worth nothing to anybody.
            let metadata = shared.cluster.metadata();
            refusals.retain(|partition, _| {
                let id = topic_ids.get(&partition.topic);
                !id.is_some_and(|id| metadata.is_recreated(&partition.topic, *id))
            });
            refusals.into_values().next()
        }
        Err(error) => Some(error),
    };
    if let Some(error) = &failed {
        tracing::warn!(%error, "offsets could not be committed");
    }
    let is_committed = failed.is_none();
    shared.with_group(|group, _| group.commit_error = failed);
    is_committed
}
