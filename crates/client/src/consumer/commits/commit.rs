//! Committing, and what is committed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::{ApiKey, ErrorCode};
use tokio::time::timeout_at;

use super::offsets::{Offsets, handed_out, topic_ids};
use crate::cluster::coordinator::{self, CommittedOffset, Identity, PerPartition};
use crate::consumer::config::ConsumerConfig;
use crate::consumer::state::group::Group;
use crate::consumer::state::pending::TopicIds;
use crate::consumer::state::shared::Shared;
use crate::core::fetch::PartitionErrorKind;
use crate::core::group::{GroupStatus, Member};
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::options;

/// The error, once, that says that some of what was given can no longer be committed. It is asked for
/// behind a commit that succeeded: whoever hears of a failed one asks again, and hears of this then.
fn lost(shared: &Arc<Shared>) -> Result<(), Error> {
    let lost = shared.with(|state| {
        let fetcher = &state.fetcher;
        state.group.as_mut().and_then(|group| {
            group.forget_lost(Some(fetcher));
            group.take_lost()
        })
    });
    lost.map_or(Ok(()), Err)
}

/// Commits what polls have given so far, behind what was to be committed before.
pub(in crate::consumer) async fn commit_handed_out(shared: &Arc<Shared>) -> Result<(), Error> {
    let tries = Tries::new(shared);
    let idle = async {
        shared.pending.idle().await;
        Ok(())
    };
    tries.within(shared, ApiKey::OFFSET_COMMIT, idle).await?;
    let offsets = handed_out(shared);
    commit_given_by(shared, offsets, tries).await
}

/// Commits what polls have given.
pub(in crate::consumer) async fn commit_given(
    shared: &Arc<Shared>,
    offsets: Offsets,
) -> Result<(), Error> {
    commit_given_by(shared, offsets, Tries::new(shared)).await
}

async fn commit_given_by(
    shared: &Arc<Shared>,
    offsets: Offsets,
    tries: Tries,
) -> Result<(), Error> {
    // Without a group, or when it is closed, that is to be said, and not that there is nothing to
    // commit.
    identity_of(shared, ApiKey::OFFSET_COMMIT, |group| group.identity().or(Some(group.nobody())))?;
    let refusals = commit_each_by(shared, offsets, tries).await?;
    refusals.into_values().next().map_or(Ok(()), Err)?;
    lost(shared)
}

/// Commits offsets and waits until the coordinator has them; the first that is refused is the error.
pub(in crate::consumer) async fn commit(
    shared: &Arc<Shared>,
    offsets: Offsets,
) -> Result<(), Error> {
    commit_each(shared, offsets).await?.into_values().next().map_or(Ok(()), Err)
}

/// Commits offsets; gives those that are not committed, each with the reason. The others are
/// committed. An error is one that concerns them all.
pub(in crate::consumer) async fn commit_each(
    shared: &Arc<Shared>,
    offsets: Offsets,
) -> Result<BTreeMap<TopicPartition, Error>, Error> {
    commit_each_by(shared, offsets, Tries::new(shared)).await
}

async fn commit_each_by(
    shared: &Arc<Shared>,
    offsets: Offsets,
    mut tries: Tries,
) -> Result<BTreeMap<TopicPartition, Error>, Error> {
    let Offsets { mut offsets, known_losses, topic_ids } = offsets;
    let mut refusals = BTreeMap::new();
    let number = shared.with_group(|group, _| {
        group.commits += 1;
        group.commits
    });
    let number = number.unwrap_or_default();
    let mut first = None;
    let mut has_committed = false;
    while !offsets.is_empty() {
        let mut lost = BTreeSet::new();
        let who = identity_of(shared, ApiKey::OFFSET_COMMIT, |group| {
            let partitions = offsets.iter().map(|(partition, _)| partition);
            let is_lost = |partition: &&_| group.is_lost_since(partition, known_losses);
            lost = partitions.filter(is_lost).cloned().collect();
            group.identity()
        });
        let now = match who {
            Ok(now) => now,
            Err(error) => return left(error, has_committed, offsets, refusals),
        };
        offsets.retain(|(partition, _)| !lost.contains(partition));
        for partition in lost {
            let of = Some(partition.clone());
            let error = refused(&now, ApiKey::OFFSET_COMMIT, of, ErrorCode::ILLEGAL_GENERATION);
            refusals.insert(partition, error);
        }
        let metadata = shared.cluster.metadata();
        let is_recreated = |partition: &TopicPartition| {
            let id = topic_ids.get(&partition.topic);
            id.is_some_and(|id| metadata.is_recreated(&partition.topic, *id))
        };
        offsets.retain(|(partition, _)| {
            let is_recreated = is_recreated(partition);
            if is_recreated {
                let (of, code) = (Some(partition.clone()), ErrorCode::UNKNOWN_TOPIC_ID);
                let error = refused(&now, ApiKey::OFFSET_COMMIT, of, code);
                refusals.insert(partition.clone(), error);
            }
            !is_recreated
        });
        if offsets.is_empty() {
            break;
        }
        let first = first.get_or_insert_with(|| now.clone());
        // In another generation these offsets may be old: somebody else may have gone on from them.
        if now != *first && !are_still_ours(shared, &offsets) {
            let error = refused(&now, ApiKey::OFFSET_COMMIT, None, ErrorCode::ILLEGAL_GENERATION);
            return left(error, has_committed, offsets, refusals);
        }
        let attempted = attempt(shared, &now, number, &topic_ids, &offsets);
        let attempted = timeout_at(tries.deadline, attempted).await;
        let (results, mut failed) = attempted.unwrap_or_else(|_| {
            // Parts of it may have been answered.
            let results = committed_by(shared, number, &offsets);
            (results, Some(tries.late(shared, ApiKey::OFFSET_COMMIT)))
        });
        let mut codes = results.values().filter_map(|result| result.as_ref().err());
        if let Some(&code) = codes.find(|code| is_about_member(**code)) {
            tell_member(shared, ApiKey::OFFSET_COMMIT, code, &now);
        }
        offsets.retain(|(partition, _)| match results.get(partition) {
            Some(Ok(())) => {
                has_committed = true;
                false
            }
            Some(Err(code)) => {
                let error = refused(&now, ApiKey::OFFSET_COMMIT, Some(partition.clone()), *code);
                if !tries.is_of_use(&error) {
                    refusals.insert(partition.clone(), error);
                    return false;
                }
                failed.get_or_insert(error);
                true
            }
            // There was no answer.
            None => true,
        });
        let Some(failed) = failed else { break };
        if let Err(error) =
            tries.again(shared, &failed, offsets.iter().map(|(partition, _)| partition)).await
        {
            let concerns_one = matches!(&error, Error::Group { partition: Some(_), .. });
            return left(error, has_committed || concerns_one, offsets, refusals);
        }
        // What was committed meanwhile is newer than what is tried again.
        let newer = |(partition, _): &(TopicPartition, CommittedOffset)| {
            let state = shared.lock();
            let by = state.group.as_ref().and_then(|group| group.committed_by.get(partition));
            by.is_some_and(|by| *by > number)
        };
        offsets.retain(|offset| !newer(offset));
    }
    Ok(refusals)
}

/// What is left is not committed. An error alone says that of all there were.
fn left(
    error: Error,
    has_others: bool,
    offsets: Vec<(TopicPartition, CommittedOffset)>,
    mut refusals: BTreeMap<TopicPartition, Error>,
) -> Result<BTreeMap<TopicPartition, Error>, Error> {
    if !has_others && refusals.is_empty() {
        return Err(error);
    }
    refusals.extend(offsets.into_iter().map(|(partition, _)| (partition, error.clone())));
    Ok(refusals)
}

/// Whether the partitions are read here, and none of them is known to be committed further.
fn are_still_ours(shared: &Shared, offsets: &[(TopicPartition, CommittedOffset)]) -> bool {
    let state = shared.lock();
    let Some(group) = &state.group else { return false };
    offsets.iter().all(|(partition, offset)| {
        let known = group.committed.get(partition);
        state.fetcher.position(partition).is_some()
            && known.is_none_or(|known| known.offset <= offset.position.offset)
    })
}

fn refused(
    identity: &Identity,
    api: ApiKey,
    partition: Option<TopicPartition>,
    code: ErrorCode,
) -> Error {
    let partition = partition.map(Box::new);
    Error::Group { group: Arc::clone(&identity.group), api, partition, code }
}

/// Sends a commit once. What is not among the results brought no answer, for the reason beside them.
async fn attempt(
    shared: &Arc<Shared>,
    identity: &Identity,
    number: u64,
    topic_ids: &TopicIds,
    offsets: &[(TopicPartition, CommittedOffset)],
) -> (PerPartition<()>, Option<Error>) {
    let coordinator = async {
        know(shared, offsets.iter().map(|(partition, _)| partition)).await?;
        shared.coordinator(&identity.group).await
    };
    match coordinator.await {
        Ok(coordinator) => {
            let done = |part: &[_], results: &_| note(shared, number, part, results);
            let cluster = &shared.cluster;
            coordinator::commit(cluster, coordinator, identity, (topic_ids, offsets), done).await
        }
        Err(error) => (PerPartition::new(), Some(error)),
    }
}

/// What the group committed for partitions.
pub(in crate::consumer) async fn committed(
    shared: &Arc<Shared>,
    partitions: &[TopicPartition],
) -> Result<Vec<(TopicPartition, Option<CommittedOffset>)>, Error> {
    let mut tries = Tries::new(shared);
    // Anybody may ask: a member that is out of its group, too.
    let identity = identity_of(shared, ApiKey::OFFSET_FETCH, |group| Some(group.nobody()))?;
    loop {
        let looked_up = look_up(shared, &identity, partitions);
        let failed = match tries.within(shared, ApiKey::OFFSET_FETCH, looked_up).await {
            Ok(results) => {
                let all = results.into_iter().map(|(partition, result)| match result {
                    Ok(found) => Ok((partition, found)),
                    Err(code) => {
                        Err(refused(&identity, ApiKey::OFFSET_FETCH, Some(partition), code))
                    }
                });
                match all.collect::<Result<Vec<_>, Error>>() {
                    Ok(all) => return Ok(all),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        tries.again(shared, &failed, partitions).await?;
    }
}

/// Looks up once what is committed for the partitions that wait for it, and lets them begin there.
/// One that is refused for good fails, and keeps no other one waiting. Says whether all are known.
pub(in crate::consumer) async fn settle(shared: &Arc<Shared>) -> Result<bool, Error> {
    let partitions = shared.lock().fetcher.without_committed();
    if partitions.is_empty() {
        return Ok(true);
    }
    let identity = identity(shared, ApiKey::OFFSET_FETCH)?;
    let asked_ids = topic_ids(&shared.lock().fetcher, &partitions);
    let looked_up = look_up(shared, &identity, &partitions).await;
    let results = match looked_up {
        Ok(results) => results,
        Err(error) => {
            if error.is_coordinator_lost() {
                shared.forget_coordinator();
            }
            if let Error::Group { code, .. } = &error
                && is_about_member(*code)
            {
                tell_member(shared, ApiKey::OFFSET_FETCH, *code, &identity);
            }
            return Err(error);
        }
    };
    let mut is_known = true;
    let mut stale = Vec::new();
    shared.with_group(|group, fetcher| {
        for (partition, result) in results {
            let asked_id = asked_ids.get(&partition.topic).copied();
            let id = fetcher.topic_id(&partition);
            if asked_id.is_some() && id.is_some() && asked_id != id {
                // The topic was created again since: what was committed for the old one is void.
                is_known = false;
                continue;
            }
            match result {
                Ok(found) => {
                    let position = found.map(|found| found.position);
                    if let Some(position) = position {
                        group.committed.insert(partition.clone(), position);
                    }
                    fetcher.resolve_committed(&partition, position);
                }
                Err(code) if code == ErrorCode::UNKNOWN_TOPIC_ID => stale.push(partition),
                Err(code) if code.is_retriable() => is_known = false,
                Err(code) => fetcher.fail(&partition, PartitionErrorKind::Broker(code)),
            }
        }
    });
    // A partition may have failed, or may be looked up elsewhere now.
    shared.arrived.notify_one();
    shared.lookup.notify_one();
    if !stale.is_empty() {
        is_known = false;
        refresh(shared, &stale).await?;
    }
    Ok(is_known)
}

/// Whether a coordinator refuses because of who asks: the member is out of its group.
fn is_about_member(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UNKNOWN_MEMBER_ID
            | ErrorCode::ILLEGAL_GENERATION
            | ErrorCode::FENCED_MEMBER_EPOCH
            | ErrorCode::FENCED_INSTANCE_ID
    )
}

/// Tells the member what a coordinator said of it.
fn tell_member(shared: &Arc<Shared>, api: ApiKey, code: ErrorCode, identity: &Identity) {
    let now_ms = shared.now_ms();
    shared.with_group(|group, _| group.refused(api, code, identity, now_ms));
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
    let is_unknown = |partition: &&TopicPartition| !metadata.topics.contains_key(&*partition.topic);
    let unknown: Vec<&TopicPartition> = partitions.into_iter().filter(is_unknown).collect();
    if unknown.is_empty() { Ok(()) } else { refresh(shared, unknown).await }
}

/// Asks for metadata of the partitions' topics. One that is not there holds up no other: its own
/// partitions are refused by name when something is asked of them.
async fn refresh<'a>(
    shared: &Shared,
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> Result<(), Error> {
    let topics: BTreeSet<&str> = partitions.into_iter().map(|p| &*p.topic).collect();
    let topics: Vec<&str> = topics.into_iter().collect();
    shared.cluster.refresh(&topics).await?;
    Ok(())
}

/// As whom to ask, which only a member may where there is a membership.
fn identity(shared: &Shared, api: ApiKey) -> Result<Identity, Error> {
    identity_of(shared, api, Group::identity)
}

fn identity_of(
    shared: &Shared,
    api: ApiKey,
    who: impl FnOnce(&Group) -> Option<Identity>,
) -> Result<Identity, Error> {
    let state = shared.lock();
    if state.is_closed {
        return Err(Error::ConsumerClosed);
    }
    let group = state.group.as_ref().ok_or_else(|| Error::Config {
        name: "group.id".into(),
        reason: match api {
            ApiKey::OFFSET_FETCH => "is needed to look up what is committed".into(),
            _ => "is needed to commit".into(),
        },
    })?;
    who(group).ok_or_else(|| {
        let code = match group.member.as_ref().map(Member::why) {
            Some(GroupStatus::Failed(error)) => return Error::Membership(Box::new(error)),
            Some(GroupStatus::PollIntervalExceeded | GroupStatus::Left | GroupStatus::Leaving) => {
                ErrorCode::UNKNOWN_MEMBER_ID
            }
            // It is on its way to the next generation.
            _ => ErrorCode::REBALANCE_IN_PROGRESS,
        };
        Error::Group { group: Arc::clone(&group.id), api, partition: None, code }
    })
}

/// Remembers what is committed now.
fn note(
    shared: &Shared,
    number: u64,
    offsets: &[(TopicPartition, CommittedOffset)],
    results: &PerPartition<()>,
) {
    let state = &mut *shared.lock();
    let Some(group) = &mut state.group else { return };
    // What was committed by hand may be something else than what is acknowledged.
    state.fetcher.moved();
    for (partition, offset) in offsets {
        if results.get(partition).is_some_and(Result::is_ok) {
            group.committed.insert(partition.clone(), offset.position);
            group.committed_by.insert(partition.clone(), number);
        }
    }
}

/// Offsets of the commit of this number that the coordinator has, as far as it has answered.
fn committed_by(
    shared: &Shared,
    number: u64,
    offsets: &[(TopicPartition, CommittedOffset)],
) -> PerPartition<()> {
    let state = shared.lock();
    let Some(group) = &state.group else { return PerPartition::new() };
    let is_committed = |partition: &&TopicPartition| {
        group.committed_by.get(*partition).is_some_and(|by| *by == number)
    };
    let partitions = offsets.iter().map(|(partition, _)| partition);
    partitions.filter(is_committed).map(|partition| (partition.clone(), Ok(()))).collect()
}

/// How often a topic that is not known is looked for.
const UNKNOWN_MAX: u32 = 3;

/// How often something is tried again: until `default.api.timeout.ms` is over. An attempt that is under way then
/// is given up.
struct Tries {
    deadline: tokio::time::Instant,
    made: u32,
}

impl Tries {
    fn new(shared: &Shared) -> Tries {
        let limit = options::bounded(shared.config.default_api_timeout);
        Tries { deadline: tokio::time::Instant::now() + limit, made: 0 }
    }

    /// What `asking` gives, if it does so in time.
    async fn within<T>(
        &self,
        shared: &Shared,
        api: ApiKey,
        asking: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        timeout_at(self.deadline, asking).await.unwrap_or_else(|_| Err(self.late(shared, api)))
    }

    /// The error that says that the time is over.
    fn late(&self, shared: &Shared, api: ApiKey) -> Error {
        let config = &shared.config;
        let group = config.group_id.as_deref().unwrap_or_default();
        Error::Timeout {
            addr: format!("the coordinator of group {group}").into(),
            what: api.to_string(),
            after: config.default_api_timeout,
        }
    }

    /// Before the next try.
    fn pause(&self, config: &ConsumerConfig) -> Duration {
        config.backoff(self.made + 1)
    }

    /// Whether trying again may help. A topic that is not there is looked for a few times.
    fn is_of_use(&self, error: &Error) -> bool {
        let Error::Group { code, .. } = error else { return error.is_retriable() };
        match *code {
            ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
                self.made < UNKNOWN_MAX
            }
            ErrorCode::STALE_MEMBER_EPOCH => true,
            // The rebalance may wait for the application, which waits for this.
            ErrorCode::REBALANCE_IN_PROGRESS => false,
            _ => error.is_coordinator_lost() || error.is_retriable(),
        }
    }

    /// Waits before the next try, or gives the error back when there is to be none.
    async fn again<'a>(
        &mut self,
        shared: &Shared,
        error: &Error,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        let is_lost = error.is_coordinator_lost();
        let code = match error {
            Error::Group { code, .. } => *code,
            _ => ErrorCode::NONE,
        };
        // A member epoch that is behind: a heartbeat on the other connection was faster, and the
        // member knows its epoch by now.
        let pause = self.pause(&shared.config);
        if !(is_lost || self.is_of_use(error))
            || tokio::time::Instant::now() + pause > self.deadline
        {
            return Err(error.clone());
        }
        if is_lost {
            shared.forget_coordinator();
        }
        self.made += 1;
        tokio::time::sleep(pause).await;
        if matches!(code, ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) {
            // Made again under another id.
            self.within(shared, ApiKey::METADATA, refresh(shared, partitions)).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumers_that_lost_one_coordinator_do_not_come_back_in_step() {
        let config = ConsumerConfig::default();
        let pause_of = |made| Tries { deadline: tokio::time::Instant::now(), made }.pause(&config);
        let pauses: Vec<Duration> = (0..50).map(|_| pause_of(2)).collect();
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "all are {:?}", pauses[0]);
        assert!(pauses.iter().all(|pause| *pause > config.retry_backoff), "{pauses:?}");
        assert!(pause_of(1_000) <= config.retry_backoff_max);
    }
}
