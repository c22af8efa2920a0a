//! Looking up offsets: beginnings, ends, and what stood at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thalweg_wire::grouped::by_topic;
use thalweg_wire::messages::ListOffsetsRequest;
use thalweg_wire::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use thalweg_wire::{ApiKey, ErrorCode};
use tokio::time::{Instant, timeout_at};

use super::Cluster;
use crate::core::code_name::code_name;
use crate::core::fetch::{IsolationLevel, PartitionError, PartitionErrorKind};
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::options;

/// Timestamp that asks for the end of a log.
pub(crate) const LATEST: i64 = -1;
/// Timestamp that asks for its beginning.
pub(crate) const EARLIEST: i64 = -2;

/// What a broker found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundOffset {
    /// The offset; -1 where no record is as late as what was asked for.
    pub offset: i64,
    /// Timestamp of the record there; -1 where that was not asked for.
    pub timestamp: i64,
    /// Leader epoch of the record there; -1 where that is not known.
    pub leader_epoch: i32,
}

/// What became of each partition's lookup.
pub(crate) type Found = Vec<(TopicPartition, Result<FoundOffset, LookupError>)>;

/// Why an offset was not found.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum LookupError {
    /// The broker refuses.
    #[error("the broker answers {}", code_name(*.0))]
    Broker(ErrorCode),
    /// Nobody leads the partition, as far as is known, or its leader says nothing of it.
    #[error("nobody is known to lead it")]
    NoLeader,
    /// Its leader cannot be asked.
    #[error("its leader cannot be asked: {0}")]
    Unreachable(Error),
}

/// Asks the leaders of the partitions, all at the same time.
pub(crate) async fn look_up(
    cluster: &Cluster,
    wanted: Vec<(TopicPartition, i64)>,
    isolation: IsolationLevel,
) -> Found {
    let metadata = cluster.metadata();
    let mut found = Found::with_capacity(wanted.len());
    let mut by_leader: BTreeMap<i32, Vec<(TopicPartition, i64, i32)>> = BTreeMap::new();
    for (partition, timestamp) in wanted {
        match metadata.leader(&partition.topic, partition.partition) {
            Some(leader) => {
                by_leader.entry(leader.id).or_default().push((partition, timestamp, leader.epoch));
            }
            None => found.push((partition, Err(LookupError::NoLeader))),
        }
    }
    let mut asking = tokio::task::JoinSet::new();
    for (broker, wanted) in by_leader {
        let cluster = cluster.clone();
        asking.spawn(async move { ask(&cluster, broker, wanted, isolation).await });
    }
    while let Some(answer) = asking.join_next().await {
        found.extend(answer.unwrap_or_default());
    }
    found
}

async fn ask(
    cluster: &Cluster,
    broker: i32,
    wanted: Vec<(TopicPartition, i64, i32)>,
    isolation: IsolationLevel,
) -> Found {
    let asked = wanted.iter().map(|(partition, timestamp, current_leader_epoch)| {
        let asked = ListOffsetsPartition {
            partition_index: partition.partition,
            current_leader_epoch: *current_leader_epoch,
            timestamp: *timestamp,
            ..ListOffsetsPartition::default()
        };
        (&*partition.topic, asked)
    });
    let request = ListOffsetsRequest {
        replica_id: -1,
        isolation_level: isolation as i8,
        topics: by_topic(asked, |name, partitions| ListOffsetsTopic {
            name: name.to_owned(),
            partitions,
            ..ListOffsetsTopic::default()
        }),
        timeout_ms: i32::try_from(cluster.options().request_timeout.as_millis())
            .unwrap_or(i32::MAX),
        ..ListOffsetsRequest::default()
    };
    let response = match cluster.send_to(broker, &request).await {
        Ok(response) => response,
        Err(error) => {
            let failed = || Err(LookupError::Unreachable(error.clone()));
            return wanted.into_iter().map(|(partition, ..)| (partition, failed())).collect();
        }
    };
    let answers: BTreeMap<(&str, i32), _> = response
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(move |p| (&*topic.name, p)))
        .map(|(topic, partition)| ((topic, partition.partition_index), partition))
        .collect();
    wanted
        .into_iter()
        .map(|(partition, ..)| {
            let found = match answers.get(&(&*partition.topic, partition.partition)) {
                None => Err(LookupError::NoLeader),
                Some(answer) if answer.error_code != ErrorCode::NONE => {
                    Err(LookupError::Broker(answer.error_code))
                }
                Some(answer) => Ok(FoundOffset {
                    offset: answer.offset,
                    timestamp: answer.timestamp,
                    leader_epoch: answer.leader_epoch,
                }),
            };
            (partition, found)
        })
        .collect()
}

/// As [`look_up`], again and again until everything is found, something is refused for good, or the
/// time is over; sorted by partition. An attempt that is under way then is given up.
pub(crate) async fn look_up_all(
    cluster: &Cluster,
    wanted: Vec<(TopicPartition, i64)>,
    isolation: IsolationLevel,
    backoff: impl Fn(u32) -> Duration,
    limit: Duration,
) -> Result<Vec<(TopicPartition, FoundOffset)>, Error> {
    let limit = options::bounded(limit);
    let deadline = Instant::now() + limit;
    let mut last = None;
    let looking_up = look_up_until(cluster, wanted, isolation, backoff, deadline, &mut last);
    match timeout_at(deadline, looking_up).await {
        Ok(found) => found,
        // Why the attempts before failed says more.
        Err(_) => Err(last.unwrap_or_else(|| Error::Timeout {
            addr: "the partitions' leaders".into(),
            what: ApiKey::LIST_OFFSETS.to_string(),
            after: limit,
        })),
    }
}

/// `last` is why the last attempt did not find everything.
async fn look_up_until(
    cluster: &Cluster,
    mut wanted: Vec<(TopicPartition, i64)>,
    isolation: IsolationLevel,
    backoff: impl Fn(u32) -> Duration,
    deadline: Instant,
    last: &mut Option<Error>,
) -> Result<Vec<(TopicPartition, FoundOffset)>, Error> {
    let mut all = Vec::with_capacity(wanted.len());
    let mut failures = 0;
    loop {
        let metadata = cluster.metadata();
        let unknown = |topic: &&str| !metadata.topics.contains_key(*topic);
        let topics: BTreeSet<&str> =
            wanted.iter().map(|(partition, _)| &*partition.topic).collect();
        let topics: Vec<&str> = topics.into_iter().filter(unknown).collect();
        if !topics.is_empty() {
            refresh(cluster, &topics, deadline).await?;
        }
        let asked = wanted.clone();
        let mut failed = None;
        wanted.clear();
        for (partition, found) in look_up(cluster, asked.clone(), isolation).await {
            let refused = match found {
                Ok(found) => {
                    all.push((partition, found));
                    continue;
                }
                Err(LookupError::Broker(code)) => code,
                Err(LookupError::NoLeader) => ErrorCode::LEADER_NOT_AVAILABLE,
                Err(LookupError::Unreachable(error)) if error.is_authentication() => {
                    return Err(error);
                }
                Err(LookupError::Unreachable(error)) => {
                    failed = Some(error);
                    ErrorCode::NETWORK_EXCEPTION
                }
            };
            let error = || {
                let kind = PartitionErrorKind::Broker(refused);
                let partition = partition.clone();
                Error::Partition(Box::new(PartitionError { partition, offset: -1, kind }))
            };
            if !refused.is_retriable() {
                return Err(error());
            }
            if failed.is_none() {
                failed = Some(error());
            }
            let timestamp = asked.iter().find(|(other, _)| *other == partition);
            wanted.extend(timestamp.cloned());
        }
        let Some(error) = failed else { break };
        failures += 1;
        let pause = backoff(failures);
        if Instant::now() + pause > deadline {
            return Err(error);
        }
        *last = Some(error);
        tokio::time::sleep(pause).await;
        let topics: BTreeSet<&str> =
            wanted.iter().map(|(partition, _)| &*partition.topic).collect();
        refresh(cluster, &topics.into_iter().collect::<Vec<_>>(), deadline).await?;
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all)
}

/// Asks for metadata of topics; one that is refused for good is an error.
async fn refresh(cluster: &Cluster, topics: &[&str], deadline: Instant) -> Result<(), Error> {
    match cluster.refresh(topics).await {
        Ok((_, failed)) => {
            let refused = failed.into_iter().find(|(_, code)| !code.is_retriable());
            match refused {
                Some((topic, code)) => Err(Error::Topic { topic: topic.into(), code }),
                None => Ok(()),
            }
        }
        Err(error) if !error.is_retriable() || Instant::now() >= deadline => Err(error),
        Err(_) => Ok(()),
    }
}
