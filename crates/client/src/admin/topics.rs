//! Topics: made, deleted, listed, described, widened.

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg_wire::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use thalweg_wire::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use thalweg_wire::messages::delete_topics_request::DeleteTopicState;
use thalweg_wire::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use thalweg_wire::messages::describe_topic_partitions_response::{
    DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use thalweg_wire::messages::metadata_request::MetadataRequestTopic;
use thalweg_wire::messages::metadata_response::MetadataResponseTopic;
use thalweg_wire::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest,
    DescribeTopicPartitionsRequest, MetadataRequest,
};
use thalweg_wire::{ApiKey, ErrorCode, Request, Uuid};

use super::attempt::{Answers, at_least, for_all, millis};
use super::configs::{ConfigEntry, ConfigKind, ConfigSource};
use super::{Admin, AdminError, AdminFuture, Mode, Results};
use crate::net::connection::Connection;

/// Partitions in one answer to DescribeTopicPartitions; brokers may give fewer.
const DESCRIBE_PARTITIONS: i32 = 2_000;

/// A topic to make.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// Number of partitions; the broker's `num.partitions` without.
    pub partitions: Option<i32>,
    /// Replicas of each; the broker's `default.replication.factor` without.
    pub replication_factor: Option<i16>,
    /// The brokers of each partition, instead of both; the first is the preferred leader.
    pub assignment: BTreeMap<i32, Vec<i32>>,
    /// Configs that are not to be the broker's.
    pub configs: BTreeMap<String, String>,
}

impl NewTopic {
    /// A topic with the broker's defaults.
    pub fn new(name: impl Into<String>) -> NewTopic {
        NewTopic {
            name: name.into(),
            partitions: None,
            replication_factor: None,
            assignment: BTreeMap::new(),
            configs: BTreeMap::new(),
        }
    }

    /// With so many partitions.
    #[must_use]
    pub fn with_partitions(mut self, partitions: i32) -> NewTopic {
        self.partitions = Some(partitions);
        self
    }

    /// With so many replicas of each.
    #[must_use]
    pub fn with_replication_factor(mut self, factor: i16) -> NewTopic {
        self.replication_factor = Some(factor);
        self
    }

    /// With these brokers for a partition.
    #[must_use]
    pub fn with_assignment(mut self, partition: i32, brokers: impl Into<Vec<i32>>) -> NewTopic {
        self.assignment.insert(partition, brokers.into());
        self
    }

    /// With a config.
    #[must_use]
    pub fn with_config(mut self, name: impl Into<String>, value: impl Into<String>) -> NewTopic {
        self.configs.insert(name.into(), value.into());
        self
    }

    fn into_request(self) -> CreatableTopic {
        let assigned = !self.assignment.is_empty();
        let partitions = self.partitions.unwrap_or(-1);
        let factor = self.replication_factor.unwrap_or(-1);
        let assignments = self.assignment.into_iter().map(|(partition_index, broker_ids)| {
            CreatableReplicaAssignment { partition_index, broker_ids, ..Default::default() }
        });
        let configs = self.configs.into_iter().map(|(name, value)| CreatableTopicConfig {
            name,
            value: Some(value),
            ..Default::default()
        });
        CreatableTopic {
            name: self.name,
            num_partitions: if assigned { -1 } else { partitions },
            replication_factor: if assigned { -1 } else { factor },
            assignments: assignments.collect(),
            configs: configs.collect(),
            ..Default::default()
        }
    }
}

/// A topic that was made, or would have been.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CreatedTopic {
    /// Its id; zero from brokers before 2.8, and where it was only validated.
    pub id: Uuid,
    /// Partitions; not told by brokers before 2.4, or where describing its configs is forbidden.
    pub partitions: Option<i32>,
    /// Replicas of each, likewise.
    pub replication_factor: Option<i16>,
    /// All its configs, likewise.
    pub configs: Vec<ConfigEntry>,
}

/// A topic by its name or its id.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TopicRef {
    /// The name.
    Name(String),
    /// The id.
    Id(Uuid),
}

impl From<&str> for TopicRef {
    fn from(name: &str) -> TopicRef {
        TopicRef::Name(name.to_owned())
    }
}

impl From<Uuid> for TopicRef {
    fn from(id: Uuid) -> TopicRef {
        TopicRef::Id(id)
    }
}

impl std::fmt::Display for TopicRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TopicRef::Name(name) => f.write_str(name),
            TopicRef::Id(id) => id.fmt(f),
        }
    }
}

/// A topic in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TopicListing {
    /// Its name.
    pub name: String,
    /// Its id; zero from brokers before 2.8.
    pub id: Uuid,
    /// Whether the cluster uses it itself.
    pub is_internal: bool,
}

/// A topic with its partitions.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TopicDescription {
    /// Its name.
    pub name: String,
    /// Its id; zero from brokers before 2.8.
    pub id: Uuid,
    /// Whether the cluster uses it itself.
    pub is_internal: bool,
    /// By index.
    pub partitions: Vec<PartitionDescription>,
}

/// A partition.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PartitionDescription {
    /// Its index.
    pub index: i32,
    /// Who leads it; nobody now.
    pub leader: Option<i32>,
    /// Epoch of that, -1 where it is not told.
    pub leader_epoch: i32,
    /// Brokers that have a replica, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those in sync.
    pub isr: Vec<i32>,
    /// Those that are offline.
    pub offline: Vec<i32>,
    /// Those that could lead though they are not in sync (KIP-966); not told by brokers before 4.0.
    pub elr: Option<Vec<i32>>,
    /// The last that are known to have been so, where no other is left.
    pub last_known_elr: Option<Vec<i32>>,
}

/// A topic that is to have more partitions.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NewPartitions {
    /// The topic.
    pub topic: String,
    /// How many it is to have in the end.
    pub total: i32,
    /// The brokers of each that is new, in order; the controller chooses without.
    pub assignments: Option<Vec<Vec<i32>>>,
}

impl NewPartitions {
    /// So many partitions in the end, the new ones where the controller puts them.
    pub fn new(topic: impl Into<String>, total: i32) -> NewPartitions {
        NewPartitions { topic: topic.into(), total, assignments: None }
    }

    /// Sets [`Self::assignments`]: the brokers of each new partition, in order.
    #[must_use]
    pub fn with_assignments(mut self, assignments: impl Into<Vec<Vec<i32>>>) -> NewPartitions {
        self.assignments = Some(assignments.into());
        self
    }
}

impl Admin {
    /// Makes topics. That a topic is made does not mean that each broker knows already.
    pub fn create_topics(
        &self,
        topics: impl IntoIterator<Item = NewTopic>,
        mode: Mode,
    ) -> AdminFuture<'_, Results<String, CreatedTopic>> {
        fn boxed(
            admin: &Admin,
            topics: Vec<NewTopic>,
            mode: Mode,
        ) -> AdminFuture<'_, Results<String, CreatedTopic>> {
            Box::pin(admin.create_topics_inner(topics, mode))
        }
        boxed(self, topics.into_iter().collect(), mode)
    }

    async fn create_topics_inner(
        &self,
        topics: Vec<NewTopic>,
        mode: Mode,
    ) -> Results<String, CreatedTopic> {
        let (topics, twice) = by_name(topics, |topic| topic.name.clone());
        let api = ApiKey::CREATE_TOPICS;
        let mut results = self
            .settle(api, topics.keys().cloned(), |names, left| {
                let wanted = names.iter().filter_map(|name| topics.get(name).cloned());
                let wanted: Vec<_> = wanted.map(NewTopic::into_request).collect();
                self.create(names, wanted, mode, left)
            })
            .await;
        results.extend(twice);
        results
    }

    async fn create(
        &self,
        names: Vec<String>,
        topics: Vec<CreatableTopic>,
        mode: Mode,
        left: Duration,
    ) -> Answers<String, CreatedTopic> {
        let request = CreateTopicsRequest {
            topics,
            timeout_ms: millis(left),
            validate_only: mode.is_validation(),
            ..Default::default()
        };
        let sent = async { self.controller().await?.send_within(&request, left).await };
        let response = match sent.await {
            Ok(response) => response,
            Err(error) => return for_all(names, error),
        };
        let api = ApiKey::CREATE_TOPICS;
        let told = |number: i64| (number >= 0).then_some(number);
        let created = response.topics.into_iter().map(|topic| {
            let checked = AdminError::check(api, topic.error_code, topic.error_message.as_deref());
            let configs = topic.configs.unwrap_or_default().into_iter();
            let configs = configs.map(|config| ConfigEntry {
                name: config.name,
                value: config.value,
                source: ConfigSource::from_code(config.config_source),
                is_sensitive: config.is_sensitive,
                is_read_only: config.read_only,
                kind: ConfigKind::Unknown(0),
                synonyms: Vec::new(),
                documentation: None,
            });
            let created = CreatedTopic {
                id: topic.topic_id,
                partitions: told(topic.num_partitions.into()).map(|_| topic.num_partitions),
                replication_factor: told(topic.replication_factor.into())
                    .map(|_| topic.replication_factor),
                configs: configs.collect(),
            };
            (topic.name, checked.map(|()| created))
        });
        created.collect()
    }

    /// Deletes topics. By id needs a broker from 2.8 on.
    pub fn delete_topics(
        &self,
        topics: impl IntoIterator<Item = TopicRef>,
    ) -> AdminFuture<'_, Results<TopicRef, ()>> {
        fn boxed(admin: &Admin, topics: Vec<TopicRef>) -> AdminFuture<'_, Results<TopicRef, ()>> {
            Box::pin(admin.delete_topics_inner(topics))
        }
        boxed(self, topics.into_iter().collect())
    }

    async fn delete_topics_inner(&self, topics: Vec<TopicRef>) -> Results<TopicRef, ()> {
        self.settle(ApiKey::DELETE_TOPICS, topics, |topics, left| self.delete(topics, left)).await
    }

    async fn delete(&self, topics: Vec<TopicRef>, left: Duration) -> Answers<TopicRef, ()> {
        let connection = match self.controller().await {
            Ok(connection) => connection,
            Err(error) => return for_all(topics, error),
        };
        let version = match connection.version_of::<DeleteTopicsRequest>() {
            Ok(version) => version,
            Err(error) => return for_all(topics, error),
        };
        let mut request = DeleteTopicsRequest { timeout_ms: millis(left), ..Default::default() };
        if version < 6 {
            if topics.iter().any(|topic| matches!(topic, TopicRef::Id(_))) {
                let what = "deleting topics by id";
                if let Err(error) = at_least::<DeleteTopicsRequest>(&connection, 6, what) {
                    return for_all(topics, error);
                }
            }
            request.topic_names = topics.iter().map(ToString::to_string).collect();
        } else {
            let state = |topic: &TopicRef| match topic {
                TopicRef::Name(name) => {
                    DeleteTopicState { name: Some(name.clone()), ..Default::default() }
                }
                TopicRef::Id(id) => DeleteTopicState { topic_id: *id, ..Default::default() },
            };
            request.topics = topics.iter().map(state).collect();
        }
        let response = match connection.send_within(&request, left).await {
            Ok(response) => response,
            Err(error) => return for_all(topics, error),
        };
        let mut answers = Vec::new();
        for topic in response.responses {
            let api = ApiKey::DELETE_TOPICS;
            let result = AdminError::check(api, topic.error_code, topic.error_message.as_deref());
            // An answer may have both, whichever was asked for.
            answers.extend(topic.name.map(|name| (TopicRef::Name(name), result.clone())));
            answers.push((TopicRef::Id(topic.topic_id), result));
        }
        answers
    }

    /// All topics, by name; those that the cluster uses itself only where they are asked for.
    pub fn list_topics(
        &self,
        include_internal: bool,
    ) -> AdminFuture<'_, Result<Vec<TopicListing>, AdminError>> {
        Box::pin(self.list_topics_inner(include_internal))
    }

    async fn list_topics_inner(
        &self,
        include_internal: bool,
    ) -> Result<Vec<TopicListing>, AdminError> {
        let api = ApiKey::METADATA;
        let mut listed = self
            .settle_one(api, |_| async move {
                let request = MetadataRequest { topics: None, ..MetadataRequest::default() };
                let response = self.cluster.send_any(&request).await?;
                AdminError::check(api, response.error_code, None)?;
                let listing = |topic: MetadataResponseTopic| {
                    Some(TopicListing {
                        name: topic.name?,
                        id: topic.topic_id,
                        is_internal: topic.is_internal,
                    })
                };
                Ok(response.topics.into_iter().filter_map(listing).collect::<Vec<_>>())
            })
            .await?;
        listed.retain(|topic| include_internal || !topic.is_internal);
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(listed)
    }

    /// Topics with their partitions. By id needs a broker from 3.1 on.
    pub fn describe_topics(
        &self,
        topics: impl IntoIterator<Item = TopicRef>,
    ) -> AdminFuture<'_, Results<TopicRef, TopicDescription>> {
        fn boxed(
            admin: &Admin,
            topics: Vec<TopicRef>,
        ) -> AdminFuture<'_, Results<TopicRef, TopicDescription>> {
            Box::pin(admin.describe_topics_inner(topics))
        }
        boxed(self, topics.into_iter().collect())
    }

    async fn describe_topics_inner(
        &self,
        topics: Vec<TopicRef>,
    ) -> Results<TopicRef, TopicDescription> {
        self.settle(ApiKey::METADATA, topics, |topics, _| self.describe(topics)).await
    }

    async fn describe(&self, topics: Vec<TopicRef>) -> Answers<TopicRef, TopicDescription> {
        let connection = match self.cluster.any().await {
            Ok(connection) => connection,
            Err(error) => return for_all(topics, error),
        };
        let (ids, names): (Vec<_>, Vec<_>) =
            topics.into_iter().partition(|topic| matches!(topic, TopicRef::Id(_)));
        let tells_elr = connection.version_of::<DescribeTopicPartitionsRequest>().is_ok();
        let mut answers = Vec::new();
        if tells_elr && !names.is_empty() {
            answers.extend(describe_in_pages(&connection, names).await);
        } else if !names.is_empty() {
            answers.extend(describe_by_metadata(&connection, names, 0).await);
        }
        if !ids.is_empty() {
            // Version 10 has ids, but brokers answer to them from version 12 on.
            answers.extend(describe_by_metadata(&connection, ids, 12).await);
        }
        answers
    }

    /// Gives topics more partitions. Keys go elsewhere from then on.
    pub fn create_partitions(
        &self,
        topics: impl IntoIterator<Item = NewPartitions>,
        mode: Mode,
    ) -> AdminFuture<'_, Results<String, ()>> {
        fn boxed(
            admin: &Admin,
            topics: Vec<NewPartitions>,
            mode: Mode,
        ) -> AdminFuture<'_, Results<String, ()>> {
            Box::pin(admin.create_partitions_inner(topics, mode))
        }
        boxed(self, topics.into_iter().collect(), mode)
    }

    async fn create_partitions_inner(
        &self,
        topics: Vec<NewPartitions>,
        mode: Mode,
    ) -> Results<String, ()> {
        let (topics, twice) = by_name(topics, |topic| topic.topic.clone());
        let api = ApiKey::CREATE_PARTITIONS;
        let mut results = self
            .settle(api, topics.keys().cloned(), |names, left| {
                let wanted: Vec<_> = names.iter().filter_map(|n| topics.get(n).cloned()).collect();
                self.widen(names, wanted, mode, left)
            })
            .await;
        results.extend(twice);
        results
    }

    async fn widen(
        &self,
        names: Vec<String>,
        topics: Vec<NewPartitions>,
        mode: Mode,
        left: Duration,
    ) -> Answers<String, ()> {
        let topics = topics.into_iter().map(|topic| {
            let assignments = topic.assignments.map(|all| {
                let each = all.into_iter().map(|broker_ids| CreatePartitionsAssignment {
                    broker_ids,
                    ..Default::default()
                });
                each.collect()
            });
            CreatePartitionsTopic {
                name: topic.topic,
                count: topic.total,
                assignments,
                ..Default::default()
            }
        });
        let request = CreatePartitionsRequest {
            topics: topics.collect(),
            timeout_ms: millis(left),
            validate_only: mode.is_validation(),
            ..Default::default()
        };
        let sent = async { self.controller().await?.send_within(&request, left).await };
        match sent.await {
            Ok(response) => response
                .results
                .into_iter()
                .map(|topic| {
                    let api = ApiKey::CREATE_PARTITIONS;
                    let message = topic.error_message.as_deref();
                    (topic.name, AdminError::check(api, topic.error_code, message))
                })
                .collect(),
            Err(error) => for_all(names, error),
        }
    }
}

/// Things by their names, and an error for each name that stands twice.
fn by_name<V, T>(
    items: Vec<V>,
    name: impl Fn(&V) -> String,
) -> (BTreeMap<String, V>, Results<String, T>) {
    let mut named = BTreeMap::new();
    let mut twice = Results::new();
    for item in items {
        let name = name(&item);
        if named.insert(name.clone(), item).is_some() {
            twice.insert(name, Err(AdminError::Invalid("is asked for twice".to_owned())));
        }
    }
    named.retain(|name, _| !twice.contains_key(name));
    (named, twice)
}

async fn describe_by_metadata(
    connection: &Connection,
    topics: Vec<TopicRef>,
    needed: i16,
) -> Answers<TopicRef, TopicDescription> {
    let what = "describing topics by id";
    if let Err(error) = at_least::<MetadataRequest>(connection, needed, what) {
        return for_all(topics, error);
    }
    let wanted = topics.iter().map(|topic| match topic {
        TopicRef::Name(name) => {
            MetadataRequestTopic { name: Some(name.clone()), ..Default::default() }
        }
        TopicRef::Id(id) => {
            MetadataRequestTopic { topic_id: *id, name: None, ..Default::default() }
        }
    });
    let request = MetadataRequest {
        topics: Some(wanted.collect()),
        allow_auto_topic_creation: false,
        ..Default::default()
    };
    let response = match connection.send(&request).await {
        Ok(response) => response,
        Err(error) => return for_all(topics, error),
    };
    let mut answers = Vec::new();
    for topic in response.topics {
        let checked = AdminError::check(ApiKey::METADATA, topic.error_code, None);
        let partition =
            |p: thalweg_wire::messages::metadata_response::MetadataResponsePartition| {
                PartitionDescription {
                    index: p.partition_index,
                    leader: (p.leader_id >= 0).then_some(p.leader_id),
                    leader_epoch: p.leader_epoch,
                    replicas: p.replica_nodes,
                    isr: p.isr_nodes,
                    offline: p.offline_replicas,
                    elr: None,
                    last_known_elr: None,
                }
            };
        let mut description = TopicDescription {
            name: topic.name.clone().unwrap_or_default(),
            id: topic.topic_id,
            is_internal: topic.is_internal,
            partitions: topic.partitions.into_iter().map(partition).collect(),
        };
        description.partitions.sort_by_key(|partition| partition.index);
        let result = checked.map(|()| description);
        answers.extend(topic.name.map(|name| (TopicRef::Name(name), result.clone())));
        answers.push((TopicRef::Id(topic.topic_id), result));
    }
    answers
}

/// Describes topics by name in answers of bounded size (KIP-966).
async fn describe_in_pages(
    connection: &Connection,
    topics: Vec<TopicRef>,
) -> Answers<TopicRef, TopicDescription> {
    let mut found: BTreeMap<String, Result<TopicDescription, AdminError>> = BTreeMap::new();
    let mut names: Vec<String> = topics.iter().map(ToString::to_string).collect();
    names.sort();
    let mut cursor: Option<Cursor> = None;
    loop {
        let from = cursor.as_ref().map_or("", |cursor| cursor.topic_name.as_str());
        let rest = names.iter().filter(|name| name.as_str() >= from);
        let wanted = rest.map(|name| TopicRequest { name: name.clone(), ..Default::default() });
        let request = DescribeTopicPartitionsRequest {
            topics: wanted.collect(),
            response_partition_limit: DESCRIBE_PARTITIONS,
            cursor: cursor.clone(),
            ..Default::default()
        };
        let response = match connection.send(&request).await {
            Ok(response) => response,
            Err(error) => return for_all(topics, error),
        };
        for topic in response.topics {
            add_page(&mut found, topic);
        }
        let Some(next) = response.next_cursor else { break };
        let next = Cursor {
            topic_name: next.topic_name,
            partition_index: next.partition_index,
            ..Default::default()
        };
        let is_further = cursor.as_ref().is_none_or(|last| {
            (&last.topic_name, last.partition_index) < (&next.topic_name, next.partition_index)
        });
        if !is_further {
            let reason = "the broker repeats itself instead of describing what follows".to_owned();
            return for_all(topics, AdminError::Invalid(reason));
        }
        cursor = Some(next);
    }
    found.into_iter().map(|(name, result)| (TopicRef::Name(name), result)).collect()
}

fn add_page(
    found: &mut BTreeMap<String, Result<TopicDescription, AdminError>>,
    topic: DescribeTopicPartitionsResponseTopic,
) {
    let Some(name) = topic.name else { return };
    let partition = |p: DescribeTopicPartitionsResponsePartition| PartitionDescription {
        index: p.partition_index,
        leader: (p.leader_id >= 0).then_some(p.leader_id),
        leader_epoch: p.leader_epoch,
        replicas: p.replica_nodes,
        isr: p.isr_nodes,
        offline: p.offline_replicas,
        elr: p.eligible_leader_replicas,
        last_known_elr: p.last_known_elr,
    };
    let partitions = topic.partitions.into_iter().map(partition);
    match found.get_mut(&name) {
        Some(Ok(known)) if topic.error_code == ErrorCode::NONE => {
            known.partitions.extend(partitions);
            known.partitions.sort_by_key(|partition| partition.index);
            known.partitions.dedup_by_key(|partition| partition.index);
        }
        _ => {
            let api = DescribeTopicPartitionsRequest::API_KEY;
            let checked = AdminError::check(api, topic.error_code, None);
            let description = TopicDescription {
                name: name.clone(),
                id: topic.topic_id,
                is_internal: topic.is_internal,
                partitions: partitions.collect(),
            };
            found.insert(name, checked.map(|()| description));
        }
    }
}
