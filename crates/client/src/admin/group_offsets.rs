//! Offsets that groups committed.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_wire::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use thalweg_wire::messages::offset_fetch_request::OffsetFetchRequestGroup;
use thalweg_wire::messages::{OffsetDeleteRequest, OffsetFetchRequest};
use thalweg_wire::{ApiKey, ErrorCode};

use super::attempt::{Answers, for_all};
use super::{Admin, AdminError, AdminFuture, Results};
use crate::cluster::coordinator::{self, CommittedOffset, Identity};
use crate::core::partition::{Position, TopicPartition, by_partition, by_topic};

/// Last version of OffsetFetch in which topics have names: what was committed for a topic that is
/// gone could not be told otherwise.
const FETCH_BY_NAME: i16 = 9;

/// What a group committed; partitions without are missing.
pub type GroupOffsets = Results<TopicPartition, CommittedOffset>;

impl Admin {
    /// Everything that groups committed. A group that is not there has committed nothing.
    pub fn list_group_offsets<G: Into<String>>(
        &self,
        groups: impl IntoIterator<Item = G>,
    ) -> AdminFuture<'_, Results<String, GroupOffsets>> {
        fn boxed(
            admin: &Admin,
            groups: Vec<String>,
        ) -> AdminFuture<'_, Results<String, GroupOffsets>> {
            Box::pin(admin.list_group_offsets_inner(groups))
        }
        boxed(self, groups.into_iter().map(Into::into).collect())
    }

    async fn list_group_offsets_inner(&self, groups: Vec<String>) -> Results<String, GroupOffsets> {
        self.for_groups(ApiKey::OFFSET_FETCH, groups, |admin, coordinator, groups, _| async move {
            let connection = match admin.cluster.broker(coordinator).await {
                Ok(connection) => connection,
                Err(error) => return for_all(groups, error),
            };
            let version = match connection.version_of::<OffsetFetchRequest>() {
                Ok(version) => version.min(FETCH_BY_NAME),
                Err(error) => return for_all(groups, error),
            };
            // As Kafka's admin client: what is committed now, whatever a transaction may still add.
            let require_stable = false;
            if version < 8 {
                let mut answers = Vec::new();
                for group in groups {
                    let request = OffsetFetchRequest {
                        group_id: group.clone(),
                        topics: None,
                        require_stable,
                        ..Default::default()
                    };
                    let answered = connection.send_as(&request, version).await;
                    let offsets = answered.map_err(AdminError::from).and_then(|response| {
                        let api = ApiKey::OFFSET_FETCH;
                        AdminError::check(api, response.error_code, None)?;
                        let topics = response.topics.into_iter().map(|t| (t.name, t.partitions));
                        Ok(committed(by_partition(topics, |p| {
                            let at = (p.committed_offset, p.committed_leader_epoch);
                            (p.partition_index, (p.error_code, at, p.metadata))
                        })))
                    });
                    answers.push((group, offsets));
                }
                return answers;
            }
            let wanted = groups.iter().map(|group| OffsetFetchRequestGroup {
                group_id: group.clone(),
                topics: None,
                member_epoch: -1,
                ..Default::default()
            });
            let request = OffsetFetchRequest {
                groups: wanted.collect(),
                require_stable,
                ..Default::default()
            };
            let response = match connection.send_as(&request, version).await {
                Ok(response) => response,
                Err(error) => return for_all(groups, error),
            };
            let answers = response.groups.into_iter().map(|group| {
                let checked = AdminError::check(ApiKey::OFFSET_FETCH, group.error_code, None);
                let topics = group.topics.into_iter().map(|topic| (topic.name, topic.partitions));
                let all = by_partition(topics, |p| {
                    let at = (p.committed_offset, p.committed_leader_epoch);
                    (p.partition_index, (p.error_code, at, p.metadata))
                });
                (group.group_id, checked.map(|()| committed(all)))
            });
            answers.collect()
        })
        .await
    }

    /// Commits offsets for a group that has no members, or only such as do not subscribe.
    pub fn alter_group_offsets<'a>(
        &'a self,
        group: &'a str,
        offsets: impl IntoIterator<Item = (TopicPartition, CommittedOffset)>,
    ) -> AdminFuture<'a, Results<TopicPartition, ()>> {
        fn boxed<'a>(
            admin: &'a Admin,
            group: &'a str,
            offsets: BTreeMap<TopicPartition, CommittedOffset>,
        ) -> AdminFuture<'a, Results<TopicPartition, ()>> {
            Box::pin(admin.alter_group_offsets_inner(group, offsets))
        }
        boxed(self, group, offsets.into_iter().collect())
    }

    async fn alter_group_offsets_inner(
        &self,
        group: &str,
        offsets: BTreeMap<TopicPartition, CommittedOffset>,
    ) -> Results<TopicPartition, ()> {
        let api = ApiKey::OFFSET_COMMIT;
        let identity =
            Identity { group: group.into(), generation: -1, member: String::new(), instance: None };
        let (identity, offsets) = (&identity, &offsets);
        self.settle(api, offsets.keys().cloned(), |partitions, _| async move {
            // Topics go by id in later versions, so one that nobody knows cannot be asked for.
            let topics: BTreeSet<&str> = partitions.iter().map(|p| &*p.topic).collect();
            let topics: Vec<&str> = topics.into_iter().collect();
            let failed: BTreeMap<String, ErrorCode> = match self.cluster.refresh(&topics).await {
                Ok((_, failed)) => failed.into_iter().collect(),
                Err(error) => return for_all(partitions, error),
            };
            let refused = |code| AdminError::Refused { api, code, message: None };
            let (unknown, known): (Vec<_>, Vec<_>) =
                partitions.into_iter().partition(|p| failed.contains_key(&*p.topic));
            let code_of = |p: &TopicPartition| failed.get(&*p.topic).copied();
            let mut answers: Answers<TopicPartition, ()> = unknown
                .into_iter()
                .filter_map(|p| Some((p.clone(), Err(refused(code_of(&p)?)))))
                .collect();
            if known.is_empty() {
                return answers;
            }
            let wanted: Vec<_> =
                known.iter().filter_map(|p| Some((p.clone(), offsets.get(p)?.clone()))).collect();
            let coordinator = match coordinator::find(&self.cluster, group).await {
                Ok(coordinator) => coordinator,
                Err(error) => {
                    answers.extend(for_all(known, error));
                    return answers;
                }
            };
            // What the names stand for now.
            let (ids, ignore) = (BTreeMap::new(), |_: &_, _: &_| {});
            let wanted = (&ids, &wanted[..]);
            let (results, failed) =
                coordinator::commit(&self.cluster, coordinator, identity, wanted, ignore).await;
            if let Some(error) = failed {
                let left = known.into_iter().filter(|partition| !results.contains_key(partition));
                answers.extend(for_all(left, error));
            }
            answers.extend(results.into_iter().map(|(p, result)| (p, result.map_err(refused))));
            answers
        })
        .await
    }

    /// Forgets what a group committed for partitions of topics that it is not subscribed to.
    pub fn delete_group_offsets<'a>(
        &'a self,
        group: &'a str,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> AdminFuture<'a, Results<TopicPartition, ()>> {
        fn boxed<'a>(
            admin: &'a Admin,
            group: &'a str,
            partitions: Vec<TopicPartition>,
        ) -> AdminFuture<'a, Results<TopicPartition, ()>> {
            Box::pin(admin.delete_group_offsets_inner(group, partitions))
        }
        boxed(self, group, partitions.into_iter().collect())
    }

    async fn delete_group_offsets_inner(
        &self,
        group: &str,
        partitions: Vec<TopicPartition>,
    ) -> Results<TopicPartition, ()> {
        self.settle(ApiKey::OFFSET_DELETE, partitions, |partitions, _| async move {
            let deleted = self.delete_group_offsets_once(group, partitions.clone()).await;
            deleted.unwrap_or_else(|error| for_all(partitions, error))
        })
        .await
    }

    async fn delete_group_offsets_once(
        &self,
        group: &str,
        partitions: Vec<TopicPartition>,
    ) -> Result<Answers<TopicPartition, ()>, AdminError> {
        let api = ApiKey::OFFSET_DELETE;
        let topics = by_topic(&partitions, |name, indexes| {
            let partitions = indexes
                .into_iter()
                .map(|partition_index| OffsetDeleteRequestPartition { partition_index });
            OffsetDeleteRequestTopic { name, partitions: partitions.collect() }
        });
        let request = OffsetDeleteRequest { group_id: group.to_owned(), topics };
        let coordinator = coordinator::find(&self.cluster, group).await?;
        let response = self.cluster.send_to(coordinator, &request).await?;
        AdminError::check(api, response.error_code, None)?;
        let topics = response.topics.into_iter().map(|topic| (topic.name, topic.partitions));
        Ok(by_partition(topics, |p| {
            (p.partition_index, AdminError::check(api, p.error_code, None))
        }))
    }
}

/// What an answer says of a partition: an error, the offset with its leader epoch, and metadata.
type Said = (ErrorCode, (i64, i32), Option<String>);

/// What is said of partitions; nothing for one without an offset.
fn committed(all: Vec<(TopicPartition, Said)>) -> GroupOffsets {
    let one = |(partition, said): (TopicPartition, Said)| {
        let (code, (offset, leader_epoch), metadata) = said;
        if let Err(error) = AdminError::check(ApiKey::OFFSET_FETCH, code, None) {
            return Some((partition, Err(error)));
        }
        let metadata = metadata.filter(|text| !text.is_empty());
        let position = Position { offset, leader_epoch };
        (offset >= 0).then_some((partition, Ok(CommittedOffset { position, metadata })))
    };
    all.into_iter().filter_map(one).collect()
}
