//! The topic of a run: made if it is missing, waited for until every partition has a leader.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use thalweg::Topic;
use thalweg::error::code_name;
use thalweg::{Cluster, Connection};
use thalweg_wire::messages::create_partitions_request::CreatePartitionsTopic;
use thalweg_wire::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use thalweg_wire::messages::delete_topics_request::DeleteTopicState;
use thalweg_wire::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use thalweg_wire::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, ListOffsetsRequest,
};
use thalweg_wire::{ErrorCode, Uuid};

use super::BenchError;
use super::args::Target;

/// Time for a topic to get leaders, or to be gone.
const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
/// Partitions that one request makes at most. A controller's batch has at most 10 000 records, one for each.
const MADE_AT_ONCE_MAX: i32 = 9_000;
/// The offset asked for with ListOffsets.
pub const EARLIEST: i64 = -2;
/// The offset asked for with ListOffsets.
pub const LATEST: i64 = -1;

/// Finds or makes the topic; returns it once every partition has a leader.
pub async fn prepare(
    cluster: &Cluster,
    target: &Target,
    create: bool,
) -> Result<Topic, BenchError> {
    if target.recreate {
        delete(cluster, target).await?;
    }
    let deadline = Instant::now() + TIMEOUT;
    let (mut created, mut is_growing) = (false, false);
    loop {
        let (metadata, failed) = cluster.refresh(&[&target.topic]).await?;
        if let Some(topic) = metadata.topics.get(&target.topic)
            && topic.partitions.values().all(|partition| partition.leader.is_some())
            && !topic.partitions.is_empty()
        {
            let count = topic.partitions.len();
            if let Some(wanted) = target.partitions
                && usize::try_from(wanted) != Ok(count)
            {
                if is_growing && Instant::now() < deadline {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                return Err(wrong(
                    target,
                    format!("has {count} partitions, not {wanted} (--recreate deletes it first)"),
                ));
            }
            return Ok(topic.clone());
        }
        let code = failed.first().map_or(ErrorCode::NONE, |(_, code)| *code);
        if code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION && !created {
            if !create {
                return Err(BenchError::NoTopic(target.topic.clone()));
            }
            is_growing = make(cluster, target).await?;
            created = true;
        } else if Instant::now() > deadline {
            return Err(wrong(target, format!("has no leaders: {}", code_name(code))));
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Makes the topic. Says whether it may not have all of its partitions yet.
async fn make(cluster: &Cluster, target: &Target) -> Result<bool, BenchError> {
    let mut configs = Vec::new();
    for config in &target.topic_config {
        let (name, value) = config.split_once('=').ok_or_else(|| {
            BenchError::Usage(format!("--topic-config {config} is not name=value"))
        })?;
        configs.push(CreatableTopicConfig {
            name: name.to_owned(),
            value: Some(value.to_owned()),
            ..CreatableTopicConfig::default()
        });
    }
    let wanted = target.partitions.unwrap_or(1);
    let mut made = wanted.min(MADE_AT_ONCE_MAX);
    let request = CreateTopicsRequest {
        topics: vec![CreatableTopic {
            name: target.topic.clone(),
            num_partitions: made,
            replication_factor: target.replication_factor.unwrap_or(-1),
            configs,
            ..CreatableTopic::default()
        }],
        timeout_ms: TIMEOUT.as_millis() as i32,
        ..CreateTopicsRequest::default()
    };
    let response = cluster.send_controller(&request).await?;
    for result in &response.topics {
        // Another run may have made it meanwhile, and gives it the rest.
        if result.error_code == ErrorCode::TOPIC_ALREADY_EXISTS {
            return Ok(true);
        }
        if result.error_code != ErrorCode::NONE {
            let why = result.error_message.clone().unwrap_or_default();
            let code = code_name(result.error_code);
            return Err(wrong(target, format!("cannot be created: {code} {why}")));
        }
    }
    let grows = made < wanted;
    while made < wanted {
        made = wanted.min(made.saturating_add(MADE_AT_ONCE_MAX));
        grow(cluster, target, made).await?;
    }
    Ok(grows)
}

/// Adds partitions until there are `count`.
async fn grow(cluster: &Cluster, target: &Target, count: i32) -> Result<(), BenchError> {
    let request = CreatePartitionsRequest {
        topics: vec![CreatePartitionsTopic {
            name: target.topic.clone(),
            count,
            assignments: None,
            ..CreatePartitionsTopic::default()
        }],
        timeout_ms: TIMEOUT.as_millis() as i32,
        ..CreatePartitionsRequest::default()
    };
    let response = cluster.send_controller(&request).await?;
    let Some(refused) = response.results.iter().find(|result| result.error_code != ErrorCode::NONE)
    else {
        return Ok(());
    };
    let why = refused.error_message.clone().unwrap_or_default();
    let code = code_name(refused.error_code);
    Err(wrong(target, format!("cannot have {count} partitions: {code} {why}")))
}

/// Deletes the topic and waits until it is gone.
pub async fn delete(cluster: &Cluster, target: &Target) -> Result<(), BenchError> {
    let (metadata, _) = cluster.refresh(&[&target.topic]).await?;
    if !metadata.topics.contains_key(&target.topic) {
        return Ok(());
    }
    let request = DeleteTopicsRequest {
        // Versions before 6 take names, later ones states.
        topic_names: vec![target.topic.clone()],
        topics: vec![DeleteTopicState {
            name: Some(target.topic.clone()),
            topic_id: Uuid::ZERO,
            ..DeleteTopicState::default()
        }],
        timeout_ms: TIMEOUT.as_millis() as i32,
        ..DeleteTopicsRequest::default()
    };
    let controller = controller(cluster).await?;
    let request = match controller.version_of::<DeleteTopicsRequest>()? {
        ..6 => DeleteTopicsRequest { topics: Vec::new(), ..request },
        _ => DeleteTopicsRequest { topic_names: Vec::new(), ..request },
    };
    let response = controller.send(&request).await?;
    for result in &response.responses {
        let gone = [ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION];
        if !gone.contains(&result.error_code) {
            let why = result.error_message.clone().unwrap_or_default();
            let code = code_name(result.error_code);
            return Err(wrong(target, format!("cannot be deleted: {code} {why}")));
        }
    }
    let deadline = Instant::now() + TIMEOUT;
    while cluster.refresh(&[&target.topic]).await?.0.topics.contains_key(&target.topic) {
        if Instant::now() > deadline {
            return Err(wrong(target, "was deleted and is still there"));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// The broker that stands for the controller, or any.
async fn controller(cluster: &Cluster) -> Result<Connection, thalweg::Error> {
    let metadata = cluster.metadata();
    let any = metadata.brokers.keys().next().copied();
    cluster.broker(metadata.controller_id.or(any).unwrap_or(-1)).await
}

/// The offset of every partition at [`EARLIEST`] or [`LATEST`], by index. A broker may need a moment after a topic was
/// made until it knows what it leads, and a leader that `topic` names may be gone: then the cluster is asked again.
pub async fn offsets(
    cluster: &Cluster,
    name: &str,
    topic: &Topic,
    at: i64,
) -> Result<Vec<i64>, BenchError> {
    let mut offsets = vec![0; topic.partitions.len()];
    let mut left: BTreeSet<i32> = topic.partitions.keys().copied().collect();
    let mut topic = topic.clone();
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let of = |index: &i32, code| {
            let what = format!("offset of partition {index}: {}", code_name(code));
            BenchError::Topic { topic: name.to_owned(), what }
        };
        let mut failed = left.first().map(|index| of(index, ErrorCode::LEADER_NOT_AVAILABLE));
        for broker in super::harness::leaders(&topic) {
            let leads = |index: &&i32| {
                let partition = topic.partitions.get(index);
                partition.and_then(|it| it.leader).is_some_and(|leader| leader.id == broker)
            };
            let led: Vec<i32> = left.iter().filter(leads).copied().collect();
            if led.is_empty() {
                continue;
            }
            let response = match cluster.send_to(broker, &list_offsets(name, &led, at)).await {
                Ok(response) => response,
                Err(error) => {
                    failed = Some(error.into());
                    continue;
                }
            };
            for answer in response.topics.iter().flat_map(|topic| &topic.partitions) {
                let (index, code) = (answer.partition_index, answer.error_code);
                match usize::try_from(index).ok().and_then(|slot| offsets.get_mut(slot)) {
                    Some(slot) if code == ErrorCode::NONE => {
                        *slot = answer.offset;
                        left.remove(&index);
                    }
                    Some(_) if code.is_retriable() => failed = Some(of(&index, code)),
                    _ => return Err(of(&index, code)),
                }
            }
        }
        match failed {
            _ if left.is_empty() => return Ok(offsets),
            Some(error) if Instant::now() >= deadline => return Err(error),
            _ => tokio::time::sleep(PAUSE).await,
        }
        if let Ok((metadata, _)) = cluster.refresh(&[name]).await
            && let Some(found) = metadata.topics.get(name)
        {
            topic = found.clone();
        }
    }
}

fn list_offsets(name: &str, partitions: &[i32], timestamp: i64) -> ListOffsetsRequest {
    let partition = |&partition_index: &i32| ListOffsetsPartition {
        partition_index,
        current_leader_epoch: -1,
        timestamp,
        ..ListOffsetsPartition::default()
    };
    ListOffsetsRequest {
        replica_id: -1,
        topics: vec![ListOffsetsTopic {
            name: name.to_owned(),
            partitions: partitions.iter().map(partition).collect(),
            ..ListOffsetsTopic::default()
        }],
        ..ListOffsetsRequest::default()
    }
}

fn wrong(target: &Target, what: impl Into<String>) -> BenchError {
    BenchError::Topic { topic: target.topic.clone(), what: what.into() }
}
