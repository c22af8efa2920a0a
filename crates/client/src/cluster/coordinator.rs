//! A group's coordinator: finding it, and the offsets it keeps.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use thalweg_wire::messages::find_coordinator_response::Coordinator as Named;
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::{FindCoordinatorRequest, OffsetCommitRequest, OffsetFetchRequest};
use thalweg_wire::{ErrorCode, Request, Uuid, grouped};

use super::Cluster;
use crate::core::Metadata;
use crate::core::metadata::Broker;
use crate::core::partition::{Position, TopicPartition, by_topic};
use crate::error::Error;
use crate::net::connection::Connection;

/// Kind of coordinator: of a group.
pub(crate) const GROUP: i8 = 0;
/// Kind of coordinator: of a transactional id.
pub(crate) const TRANSACTION: i8 = 1;
/// Bytes that the records of one commit may take in the coordinator's log. It writes them in one
/// batch of `message.max.bytes` (1 MiB by default), or refuses all of them with
/// UNKNOWN_SERVER_ERROR.
const COMMIT_MAX: usize = 512 << 10;
/// Bytes of one such record besides names and metadata; Kafka 4.4 writes 64.
const RECORD: usize = 80;

/// An offset that a group committed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommittedOffset {
    /// The next record to read, and the epoch of the one before.
    pub position: Position,
    /// What was committed with it.
    pub metadata: Option<String>,
}

/// As whom to commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub group: Arc<str>,
    /// -1 for a consumer that is not a member.
    pub generation: i32,
    pub member: String,
    pub instance: Option<String>,
}

/// What a coordinator says of each partition.
pub(crate) type PerPartition<T> = BTreeMap<TopicPartition, Result<T, ErrorCode>>;

/// Asks for a group's coordinator; the cluster knows where it listens then.
pub(crate) async fn find(cluster: &Cluster, group: &str) -> Result<i32, Error> {
    let connection = cluster.any().await?;
    let answers = look_up(cluster, &connection, GROUP, vec![group.to_owned()]).await?;
    let api = FindCoordinatorRequest::API_KEY;
    let found = answers.into_iter().next();
    let found = found.ok_or_else(|| refused(group, api, ErrorCode::COORDINATOR_NOT_AVAILABLE))?;
    if found.error_code != ErrorCode::NONE {
        return Err(refused(group, api, found.error_code));
    }
    Ok(found.node_id)
}

/// Asks for the coordinators of groups or transactional ids: what a broker says of each. The cluster
/// knows then where those listen that were found.
pub(crate) async fn look_up(
    cluster: &Cluster,
    connection: &Connection,
    key_type: i8,
    keys: Vec<String>,
) -> Result<Vec<Named>, Error> {
    let mut answers = Vec::new();
    if connection.version_of::<FindCoordinatorRequest>()? >= 4 {
        let request =
            FindCoordinatorRequest { key_type, coordinator_keys: keys, ..Default::default() };
        answers = connection.send(&request).await?.coordinators;
    } else {
        // Before KIP-699 there was one key, and one answer beside the list.
        for key in keys {
            let request =
                FindCoordinatorRequest { key_type, key: key.clone(), ..Default::default() };
            let response = connection.send(&request).await?;
            answers.push(Named {
                key,
                node_id: response.node_id,
                host: response.host,
                port: response.port,
                error_code: response.error_code,
                error_message: response.error_message,
                ..Named::default()
            });
        }
    }
    let mut brokers = Vec::new();
    for found in answers.iter().filter(|found| found.error_code.is_ok()) {
        let unknown = |_| Error::UnknownBroker(found.node_id);
        let port = u16::try_from(found.port).map_err(unknown)?;
        brokers.push(Broker { id: found.node_id, host: found.host.clone(), port, rack: None });
    }
    cluster.hint(connection.rebootstraps(), &[], brokers);
    Ok(answers)
}

/// Offsets to commit.
type Offsets = [(TopicPartition, CommittedOffset)];

/// Commits offsets; what each partition became, and why those that are missing brought no answer.
/// `done` hears of each part as soon as its answer is there. Topics in `topic_ids` go by the id they
/// have there: the broker refuses an offset of a topic that was created again.
///
/// Where they are more than a coordinator takes at once, their parts are sent one behind the other
/// without waiting: a commit that is begun later must not be overtaken by a part of this one.
pub(crate) async fn commit(
    cluster: &Cluster,
    coordinator: i32,
    identity: &Identity,
    (topic_ids, offsets): (&BTreeMap<Arc<str>, Uuid>, &Offsets),
    done: impl Fn(&Offsets, &PerPartition<()>),
) -> (PerPartition<()>, Option<Error>) {
    let done = &done;
    let committing = parts(&identity.group, offsets).map(|part| async move {
        let results = commit_part(cluster, coordinator, identity, topic_ids, part).await?;
        done(part, &results);
        Ok(results)
    });
    let (mut all, mut failed) = (PerPartition::new(), None);
    for committed in together(committing).await {
        match committed {
            Ok(results) => all.extend(results),
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    (all, failed)
}

/// Waits for all of them at the same time. They are begun in their order.
async fn together<F: Future>(asking: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = asking.map(|asked| (Box::pin(asked), None)).collect();
    poll_fn(|cx| {
        let mut is_over = true;
        for (asked, answer) in running.iter_mut().filter(|(_, answer)| answer.is_none()) {
            match asked.as_mut().poll(cx) {
                Poll::Ready(found) => *answer = Some(found),
                Poll::Pending => is_over = false,
            }
        }
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, answer)| answer).collect()
}

/// Offsets in parts that a coordinator takes, each with one at least.
pub(crate) fn parts<'o>(group: &str, mut rest: &'o Offsets) -> impl Iterator<Item = &'o Offsets> {
    let names = group.len();
    std::iter::from_fn(move || {
        let mut bytes = 0usize;
        let fits = rest.iter().take_while(|(partition, offset)| {
            let metadata = offset.metadata.as_ref().map_or(0, String::len);
            bytes = bytes.saturating_add(RECORD + names + partition.topic.len() + metadata);
            bytes <= COMMIT_MAX
        });
        let (part, behind) = rest.split_at_checked(fits.count().max(1))?;
        rest = behind;
        Some(part)
    })
}

async fn commit_part(
    cluster: &Cluster,
    coordinator: i32,
    identity: &Identity,
    topic_ids: &BTreeMap<Arc<str>, Uuid>,
    offsets: &Offsets,
) -> Result<PerPartition<()>, Error> {
    let known = cluster.metadata();
    let id_of = |topic: &str| match topic_ids.get(topic) {
        Some(id) => *id,
        None => id_of(&known, topic),
    };
    let connection = cluster.broker(coordinator).await?;
    let version = connection.version_of::<OffsetCommitRequest>()?;
    let by_id = version >= 10;
    let mut results = PerPartition::new();
    let committed = offsets.iter().filter_map(|(partition, offset)| {
        if by_id && id_of(&partition.topic).is_zero() {
            // A topic that is not there must not keep the others from being committed.
            results.insert(partition.clone(), Err(ErrorCode::UNKNOWN_TOPIC_ID));
            return None;
        }
        let committed = OffsetCommitRequestPartition {
            partition_index: partition.partition,
            committed_offset: offset.position.offset,
            committed_leader_epoch: if version >= 6 { offset.position.leader_epoch } else { -1 },
            committed_metadata: Some(offset.metadata.clone().unwrap_or_default()),
            ..OffsetCommitRequestPartition::default()
        };
        Some((&*partition.topic, committed))
    });
    let request = OffsetCommitRequest {
        group_id: identity.group.to_string(),
        generation_id_or_member_epoch: identity.generation,
        member_id: identity.member.clone(),
        group_instance_id: identity.instance.clone().filter(|_| version >= 7),
        topics: grouped::by_topic(committed, |name, partitions| OffsetCommitRequestTopic {
            topic_id: id_of(name),
            name: name.to_owned(),
            partitions,
            ..OffsetCommitRequestTopic::default()
        }),
        ..OffsetCommitRequest::default()
    };
    if request.topics.is_empty() {
        return Ok(results);
    }
    let names: Vec<(Uuid, Arc<str>)> =
        request.topics.iter().map(|topic| (topic.topic_id, topic.name.as_str().into())).collect();
    let response = connection.send(&request).await?;
    for topic in response.topics {
        // Newer versions go by ids: the names of those that were asked.
        let name = match by_id {
            true => {
                names.iter().find(|(id, _)| *id == topic.topic_id).map(|(_, name)| name.clone())
            }
            false => Some(topic.name.into()),
        };
        let Some(name) = name else { continue };
        for partition in topic.partitions {
            let result = match partition.error_code {
                ErrorCode::NONE => Ok(()),
                code => Err(code),
            };
            let partition = TopicPartition::new(Arc::clone(&name), partition.partition_index);
            results.insert(partition, result);
        }
    }
    // What is not answered was not committed.
    for (partition, _) in offsets {
        results.entry(partition.clone()).or_insert(Err(ErrorCode::UNKNOWN_SERVER_ERROR));
    }
    Ok(results)
}

/// What the group committed for the partitions; nothing for those without.
pub(crate) async fn committed(
    cluster: &Cluster,
    coordinator: i32,
    identity: &Identity,
    partitions: &[TopicPartition],
) -> Result<PerPartition<Option<CommittedOffset>>, Error> {
    let known = cluster.metadata();
    let connection = cluster.broker(coordinator).await?;
    let version = connection.version_of::<OffsetFetchRequest>()?;
    let by_id = version >= 10;
    // A topic without an id is not asked for: it is told below that this is not known.
    let is_asked = |p: &&TopicPartition| !by_id || !id_of(&known, &p.topic).is_zero();
    let asked = partitions.iter().filter(is_asked);
    let mut request = OffsetFetchRequest {
        // Offsets of transactions under way are not settled yet.
        require_stable: version >= 7,
        ..OffsetFetchRequest::default()
    };
    if version >= 8 {
        let is_member = identity.generation >= 0 && version >= 9;
        let topics = by_topic(asked, |name, partition_indexes| {
            let topic_id = id_of(&known, &name);
            OffsetFetchRequestTopics { topic_id, name, partition_indexes, ..Default::default() }
        });
        request.groups.push(OffsetFetchRequestGroup {
            group_id: identity.group.to_string(),
            member_id: is_member.then(|| identity.member.clone()),
            member_epoch: if is_member { identity.generation } else { -1 },
            topics: Some(topics),
            ..OffsetFetchRequestGroup::default()
        });
    } else {
        request.group_id = identity.group.to_string();
        request.topics = Some(by_topic(asked, |name, partition_indexes| OffsetFetchRequestTopic {
            name,
            partition_indexes,
            ..Default::default()
        }));
    }
    let response = connection.send(&request).await?;
    let mut results = PerPartition::new();
    let mut take = |name: Arc<str>, index, code, position: Position, metadata: Option<String>| {
        let metadata = metadata.filter(|text| !text.is_empty());
        let result = match code {
            ErrorCode::NONE if position.offset < 0 => Ok(None),
            ErrorCode::NONE => Ok(Some(CommittedOffset { position, metadata })),
            code => Err(code),
        };
        results.insert(TopicPartition::new(name, index), result);
    };
    let mut whole = response.error_code;
    for topic in response.topics {
        let name: Arc<str> = topic.name.into();
        for p in topic.partitions {
            let position =
                Position { offset: p.committed_offset, leader_epoch: p.committed_leader_epoch };
            take(Arc::clone(&name), p.partition_index, p.error_code, position, p.metadata);
        }
    }
    for group in response.groups {
        whole = group.error_code;
        for topic in group.topics {
            let Some(name) = name_of(&known, by_id, topic.topic_id, topic.name) else { continue };
            for p in topic.partitions {
                let position =
                    Position { offset: p.committed_offset, leader_epoch: p.committed_leader_epoch };
                take(Arc::clone(&name), p.partition_index, p.error_code, position, p.metadata);
            }
        }
    }
    if whole != ErrorCode::NONE {
        return Err(refused(&identity.group, OffsetFetchRequest::API_KEY, whole));
    }
    for partition in partitions {
        // Not answered is not the same as not committed: nothing may begin elsewhere for that.
        results.entry(partition.clone()).or_insert(Err(ErrorCode::UNKNOWN_TOPIC_ID));
    }
    Ok(results)
}

fn id_of(known: &Metadata, topic: &str) -> Uuid {
    known.topics.get(topic).map_or(Uuid::ZERO, |topic| topic.id)
}

/// The name of a topic in an answer, which has it by id from some version on.
fn name_of(known: &Metadata, by_id: bool, id: Uuid, name: String) -> Option<Arc<str>> {
    if !by_id {
        return Some(name.into());
    }
    known.topics.iter().find(|(_, topic)| topic.id == id).map(|(name, _)| name.as_str().into())
}

fn refused(group: &str, api: thalweg_wire::ApiKey, code: ErrorCode) -> Error {
    Error::Group { group: group.into(), api, partition: None, code }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(metadata: usize) -> (TopicPartition, CommittedOffset) {
        let metadata = Some("m".repeat(metadata));
        (TopicPartition::new("t", 0), CommittedOffset { position: Position::at(0), metadata })
    }

    #[test]
    fn a_commit_is_sent_in_parts() {
        let lengths = |offsets: &Offsets| parts("g", offsets).map(<[_]>::len).collect::<Vec<_>>();
        assert!(lengths(&[]).is_empty());
        assert_eq!(lengths(&vec![offset(10); 20]), [20]);
        let most = COMMIT_MAX / (RECORD + 2);
        assert_eq!(lengths(&vec![offset(0); 10_000]), [most, 10_000 - most]);
        // Nothing smaller would help.
        assert_eq!(lengths(&[offset(COMMIT_MAX), offset(0), offset(COMMIT_MAX)]), [1, 1, 1]);
    }

    #[tokio::test]
    async fn what_runs_together_is_begun_in_order_and_waited_for() {
        let begun = std::cell::RefCell::new(Vec::new());
        let asking = (0..3u64).map(|number| {
            let begun = &begun;
            async move {
                begun.borrow_mut().push(number);
                tokio::time::sleep(std::time::Duration::from_millis(3 - number)).await;
                number
            }
        });
        assert_eq!(together(asking).await, [0, 1, 2]);
        assert_eq!(*begun.borrow(), [0, 1, 2]);
        assert!(together(std::iter::empty::<std::future::Ready<()>>()).await.is_empty());
    }
}
