//! CreateTopics.

use std::collections::{BTreeMap, HashMap, HashSet};

use thalweg_wire::messages::TopicRecord;
use thalweg_wire::messages::create_topics_request::{CreatableTopic, CreateTopicsRequest};
use thalweg_wire::messages::create_topics_response::{
    CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse,
};
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::{ErrorCode, Uuid};

use super::alter_configs::{self, Operation};
use super::topic_name::{METADATA_TOPIC, check_topic_name, collision_key};
use super::{
    Context, ControllerRequest, Decision, MAX_PARTITIONS_PER_REQUEST, MAX_RECORDS_PER_REQUEST,
    Random, RequestContext, placement, random_id, too_many_records,
};
use crate::ApiError;
use crate::config::{Properties, topic};
use crate::image::{ConfigResource, Partition};

impl ControllerRequest for CreateTopicsRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        given: &mut RequestContext<'_>,
    ) -> Decision<CreateTopicsResponse> {
        create_topics(context, self, given.random)
    }

    fn refused(&self, error_code: ErrorCode) -> CreateTopicsResponse {
        let topics = self.topics.iter().map(|topic| CreatableTopicResult {
            name: topic.name.clone(),
            error_code,
            ..Default::default()
        });
        CreateTopicsResponse { topics: topics.collect(), ..Default::default() }
    }

    /// Kafka says it of each topic, with a message.
    fn is_of_inactive(&self, answer: &CreateTopicsResponse) -> bool {
        answer.topics.iter().any(|topic| topic.error_code == ErrorCode::NOT_CONTROLLER)
    }
}

/// Decides about new topics.
fn create_topics(
    context: &Context<'_>,
    request: &CreateTopicsRequest,
    random: &mut dyn Random,
) -> Decision<CreateTopicsResponse> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for topic in &request.topics {
        *count.entry(&topic.name).or_default() += 1;
    }
    let considered: Vec<&CreatableTopic> = request
        .topics
        .iter()
        .filter(|topic| count.get(topic.name.as_str()) == Some(&1) && topic.name != METADATA_TOPIC)
        .collect();
    if let Err(error) = check_size(context, &considered) {
        return Decision::answer(refuse_all(request, &error));
    }
    let collisions = existing_collision_keys(context, &considered);
    let mut records = Vec::new();
    let mut taken = HashSet::new();
    let mut results = Vec::with_capacity(request.topics.len());
    for topic in considered {
        let result = create_topic(context, topic, &collisions, &mut taken, random);
        match result {
            Ok((result, new)) => {
                if records.len() + new.len() > MAX_RECORDS_PER_REQUEST {
                    return Decision::answer(refuse_all(request, &too_many_records()));
                }
                records.extend(new);
                results.push(result);
            }
            Err(error) => results.push(failure(&topic.name, &error)),
        }
    }
    let mut answered = HashSet::new();
    for topic in &request.topics {
        let name = topic.name.as_str();
        if count.get(name) > Some(&1) && answered.insert(name) {
            let error = ApiError::new(ErrorCode::INVALID_REQUEST, "Duplicate topic name.");
            results.push(failure(name, &error));
        } else if name == METADATA_TOPIC && answered.insert(name) {
            let error = ApiError::new(
                ErrorCode::INVALID_REQUEST,
                format!("Creation of internal topic {METADATA_TOPIC} is prohibited."),
            );
            results.push(failure(name, &error));
        }
    }
    let response = CreateTopicsResponse { topics: results, ..CreateTopicsResponse::default() };
    Decision { records, response }.validated(request.validate_only)
}

fn failure(name: &str, error: &ApiError) -> CreatableTopicResult {
    CreatableTopicResult {
        name: name.to_owned(),
        error_code: error.code,
        error_message: error.message.clone(),
        ..CreatableTopicResult::default()
    }
}

fn refuse_all(request: &CreateTopicsRequest, error: &ApiError) -> CreateTopicsResponse {
    CreateTopicsResponse {
        topics: request.topics.iter().map(|topic| failure(&topic.name, error)).collect(),
        ..CreateTopicsResponse::default()
    }
}

fn check_size(context: &Context<'_>, topics: &[&CreatableTopic]) -> Result<(), ApiError> {
    let total: i64 = topics
        .iter()
        .map(|topic| match (topic.assignments.len(), topic.num_partitions) {
            (0, -1) => i64::from(context.config.num_partitions()),
            (0, partitions) => i64::from(partitions.max(0)),
            (assigned, _) => i64::try_from(assigned).unwrap_or(i64::MAX),
        })
        .fold(0, i64::saturating_add);
    if total > MAX_PARTITIONS_PER_REQUEST {
        return Err(ApiError::new(
            ErrorCode::POLICY_VIOLATION,
            format!(
                "the request asks for {total} partitions, more than {MAX_PARTITIONS_PER_REQUEST}"
            ),
        ));
    }
    Ok(())
}

/// Names of existing topics by their collision key, if any new topic could collide at all.
fn existing_collision_keys(
    context: &Context<'_>,
    topics: &[&CreatableTopic],
) -> HashMap<String, String> {
    if topics.iter().all(|topic| collision_key(&topic.name).is_none()) {
        return HashMap::new();
    }
    let existing = context.image.topics.iter();
    existing
        .filter_map(|topic| Some((collision_key(&topic.name)?, topic.name.to_string())))
        .collect()
}

fn create_topic(
    context: &Context<'_>,
    topic: &CreatableTopic,
    collisions: &HashMap<String, String>,
    taken: &mut HashSet<Uuid>,
    random: &mut dyn Random,
) -> Result<(CreatableTopicResult, Vec<MetadataRecord>), ApiError> {
    let name = topic.name.as_str();
    // That a topic exists is the more useful thing to hear, so it goes before the name's rules.
    if context.image.topics.by_name(name).is_some() {
        return Err(ApiError::new(
            ErrorCode::TOPIC_ALREADY_EXISTS,
            format!("Topic '{name}' already exists."),
        ));
    }
    let colliding = collision_key(name).and_then(|key| collisions.get(&key));
    if let Some(existing) = colliding {
        return Err(ApiError::new(
            ErrorCode::INVALID_TOPIC_EXCEPTION,
            format!("Topic '{name}' collides with existing topic: {existing}"),
        ));
    }
    check_topic_name(name)?;
    let (configs, config_records) = configs(context, topic)?;
    let partitions = partitions(context, topic, random)?;
    let id =
        random_id(random, |id| taken.contains(&id) || context.image.topics.by_id(id).is_some());
    let id = id.ok_or_else(|| {
        ApiError::new(ErrorCode::UNKNOWN_SERVER_ERROR, "no topic id could be chosen")
    })?;
    taken.insert(id);

    let replication_factor = partitions.first().map_or(0, |partition| partition.replicas.len());
    let mut records: Vec<MetadataRecord> =
        vec![TopicRecord { name: name.to_owned(), topic_id: id, ..TopicRecord::default() }.into()];
    records.extend(config_records);
    let metadata_version = context.metadata_version();
    for (index, partition) in (0i32..).zip(&partitions) {
        records.push(partition.to_record(id, index, metadata_version).into());
    }
    let described = topic::all_effective(context.config, &configs)
        .into_iter()
        .map(|config| CreatableTopicConfigs {
            name: config.name.to_owned(),
            value: config.value.filter(|_| !config.is_sensitive),
            read_only: false,
            config_source: config.source as i8,
            is_sensitive: config.is_sensitive,
            ..CreatableTopicConfigs::default()
        })
        .collect();
    let result = CreatableTopicResult {
        name: name.to_owned(),
        topic_id: id,
        error_code: ErrorCode::NONE,
        error_message: None,
        topic_config_error_code: 0,
        num_partitions: i32::try_from(partitions.len()).unwrap_or(i32::MAX),
        replication_factor: i16::try_from(replication_factor).unwrap_or(i16::MAX),
        configs: Some(described),
        ..CreatableTopicResult::default()
    };
    Ok((result, records))
}

fn configs(
    context: &Context<'_>,
    topic: &CreatableTopic,
) -> Result<(Properties, Vec<MetadataRecord>), ApiError> {
    let mut configs = Properties::new();
    let mut without_value = Vec::new();
    for config in &topic.configs {
        match &config.value {
            Some(value) => {
                configs.insert(config.name.clone(), value.clone());
            }
            None => without_value.push(config.name.as_str()),
        }
    }
    if !without_value.is_empty() {
        return Err(ApiError::new(
            ErrorCode::INVALID_CONFIG,
            format!("Null value not supported for topic configs: {}", without_value.join(",")),
        ));
    }
    if configs.is_empty() {
        return Ok((configs, Vec::new()));
    }
    let operations: BTreeMap<&str, Operation<'_>> =
        configs.iter().map(|(name, value)| (name.as_str(), Operation::Set(value))).collect();
    let resource = ConfigResource::topic(topic.name.clone());
    let records = alter_configs::change(context, &resource, &operations, true)?;
    Ok((configs, alter_configs::with_clear_elr(context, records)))
}

fn partitions(
    context: &Context<'_>,
    topic: &CreatableTopic,
    random: &mut dyn Random,
) -> Result<Vec<Partition>, ApiError> {
    if !topic.assignments.is_empty() {
        return assigned_partitions(context, topic);
    }
    let factor = match topic.replication_factor {
        -1 => i16::try_from(context.config.default_replication_factor()).unwrap_or(i16::MAX),
        factor if factor < 1 => {
            return Err(ApiError::new(
                ErrorCode::INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            ));
        }
        factor => factor,
    };
    let count = match topic.num_partitions {
        -1 => context.config.num_partitions(),
        count if count < 1 => {
            return Err(ApiError::new(
                ErrorCode::INVALID_PARTITIONS,
                "Number of partitions was set to an invalid non-positive value.",
            ));
        }
        count => count,
    };
    let count = usize::try_from(count).unwrap_or(0);
    let placed = placement::place(context, random, count, factor)?;
    placed.into_iter().map(|replicas| context.new_partition(replicas).ok_or_else(nobody)).collect()
}

pub(super) fn nobody() -> ApiError {
    ApiError::new(
        ErrorCode::INVALID_REPLICATION_FACTOR,
        "all brokers chosen for a partition are fenced or about to stop",
    )
}

fn assigned_partitions(
    context: &Context<'_>,
    topic: &CreatableTopic,
) -> Result<Vec<Partition>, ApiError> {
    let request = |message: &str| Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
    if topic.replication_factor != -1 {
        return request(
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        );
    }
    if topic.num_partitions != -1 {
        return request(
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        );
    }
    let refuse =
        |message: String| Err(ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
    let mut partitions: BTreeMap<i32, Partition> = BTreeMap::new();
    let mut factor = None;
    for assignment in &topic.assignments {
        let index = assignment.partition_index;
        if partitions.contains_key(&index) {
            return refuse(format!(
                "Found multiple manual partition assignments for partition {index}"
            ));
        }
        context.check_assignment(&assignment.broker_ids, factor)?;
        factor = Some(assignment.broker_ids.len());
        match context.new_partition(assignment.broker_ids.clone()) {
            Some(partition) => partitions.insert(index, partition),
            None => {
                return refuse(format!(
                    "All brokers specified in the manual partition assignment for partition {index} \
                     are fenced or in controlled shutdown."
                ));
            }
        };
    }
    if !(0i32..).zip(partitions.keys()).all(|(expected, index)| expected == *index) {
        return refuse("partitions should be a consecutive 0-based integer sequence".into());
    }
    Ok(partitions.into_values().collect())
}
