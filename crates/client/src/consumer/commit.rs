//! Committing, and what is committed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::{ApiKey, ErrorCode};

use super::shared::Shared;
use crate::coordinator::{self, CommittedOffset, Identity, PerPartition};
use crate::core::partition::TopicPartition;
use crate::error::Error;

/// Commits offsets and waits until the coordinator has them.
pub(super) async fn commit(
    shared: &Arc<Shared>,
    offsets: Vec<(TopicPartition, CommittedOffset)>,
) -> Result<(), Error> {
    if offsets.is_empty() {
        return Ok(());
    }
    let mut tries = Tries::new(shared);
    loop {
        let identity = identity(shared)?;
        let failed = match attempt(shared, &identity, &offsets).await {
            Ok(results) => {
                let failed = results.iter().find_map(|(_, result)| result.err());
                note(shared, &offsets, &results);
                match failed {
                    None => return Ok(()),
                    Some(code) => {
                        Error::Group { group: identity.group, api: ApiKey::OFFSET_COMMIT, code }
                    }
                }
            }
            Err(error) => error,
        };
        tries.again(shared, failed).await?;
    }
}

async fn attempt(
    shared: &Arc<Shared>,
    identity: &Identity,
    offsets: &[(TopicPartition, CommittedOffset)],
) -> Result<PerPartition<()>, Error> {
    know(shared, offsets.iter().map(|(partition, _)| partition)).await?;
    let coordinator = shared.coordinator(&identity.group).await?;
    coordinator::commit(&shared.cluster, coordinator, identity, offsets).await
}

/// What the group committed for partitions.
pub(super) async fn committed(
    shared: &Arc<Shared>,
    partitions: &[TopicPartition],
) -> Result<Vec<(TopicPartition, Option<CommittedOffset>)>, Error> {
    let mut tries = Tries::new(shared);
    loop {
        let identity = identity(shared)?;
        let failed = match look_up(shared, &identity, partitions).await {
            Ok(results) => {
                let group = || Arc::clone(&identity.group);
                let all = results.into_iter().map(|(partition, result)| {
                    let api = ApiKey::OFFSET_FETCH;
                    let found =
                        result.map_err(|code| Error::Group { group: group(), api, code })?;
                    Ok((partition, found))
                });
                match all.collect::<Result<Vec<_>, Error>>() {
                    Ok(all) => return Ok(all),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        tries.again(shared, failed).await?;
    }
}

async fn look_up(
    shared: &Arc<Shared>,
    identity: &Identity,
    partitions: &[TopicPartition],
) -> Result<PerPartition<Option<CommittedOffset>>, Error> {
    know(shared, partitions).await?;
    let coordinator = shared.coordinator(&identity.group).await?;
    coordinator::committed(&shared.cluster, coordinator, identity, partitions).await
}

/// Sees to it that the ids of the partitions' topics are known: newer versions go by them.
async fn know<'a>(
    shared: &Shared,
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> Result<(), Error> {
    let metadata = shared.cluster.metadata();
    let topics: BTreeSet<&str> =
        partitions.into_iter().map(|partition| &*partition.topic).collect();
    let unknown: Vec<&str> =
        topics.into_iter().filter(|topic| !metadata.topics.contains_key(*topic)).collect();
    if !unknown.is_empty() {
        shared.cluster.refresh(&unknown).await?;
    }
    Ok(())
}

fn identity(shared: &Shared) -> Result<Identity, Error> {
    let state = shared.lock();
    let group = state.group.as_ref().ok_or_else(|| Error::Config {
        name: "group.id".into(),
        reason: "is needed to commit".into(),
    })?;
    group.identity().ok_or_else(|| Error::Group {
        group: Arc::clone(&group.id),
        api: ApiKey::OFFSET_COMMIT,
        code: ErrorCode::UNKNOWN_MEMBER_ID,
    })
}

/// Remembers what is committed now.
fn note(
    shared: &Shared,
    offsets: &[(TopicPartition, CommittedOffset)],
    results: &PerPartition<()>,
) {
    let mut state = shared.lock();
    let Some(group) = &mut state.group else { return };
    for (partition, offset) in offsets {
        if results.get(partition).is_some_and(Result::is_ok) {
            group.committed.insert(partition.clone(), offset.position);
        }
    }
}

/// How often something is tried again: until `default.api.timeout.ms` is over.
struct Tries {
    deadline: tokio::time::Instant,
    pause: Duration,
    pause_max: Duration,
}

impl Tries {
    fn new(shared: &Shared) -> Tries {
        let config = &shared.config;
        Tries {
            deadline: tokio::time::Instant::now() + config.default_api_timeout,
            pause: config.retry_backoff.max(Duration::from_millis(1)),
            pause_max: config.retry_backoff_max,
        }
    }

    /// Waits before the next try, or gives the error back when there is to be none.
    async fn again(&mut self, shared: &Shared, error: Error) -> Result<(), Error> {
        let is_lost = error.is_coordinator_lost();
        if !(is_lost || error.is_retriable())
            || tokio::time::Instant::now() + self.pause > self.deadline
        {
            return Err(error);
        }
        if is_lost {
            shared.forget_coordinator();
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (2 * self.pause).min(self.pause_max.max(self.pause));
        Ok(())
    }
}
