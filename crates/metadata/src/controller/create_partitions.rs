//! CreatePartitions.

use std::collections::{HashMap, HashSet};

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::create_partitions_request::{
    CreatePartitionsRequest, CreatePartitionsTopic,
};
use thalweg_wire::messages::create_partitions_response::{
    CreatePartitionsResponse, CreatePartitionsTopicResult,
};
use thalweg_wire::messages::metadata_record::MetadataRecord;

use super::create_topics::nobody;
use super::{
    Context, ControllerRequest, Decision, MAX_PARTITIONS_PER_REQUEST, Random, RequestContext,
    placement,
};
use crate::ApiError;
use crate::image::Partition;

impl ControllerRequest for CreatePartitionsRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        given: &mut RequestContext<'_>,
    ) -> Decision<CreatePartitionsResponse> {
        create_partitions(context, self, given.random)
    }

    fn refused(&self, error_code: ErrorCode) -> CreatePartitionsResponse {
        let results = self.topics.iter().map(|topic| CreatePartitionsTopicResult {
            name: topic.name.clone(),
            error_code,
            ..Default::default()
        });
        CreatePartitionsResponse { results: results.collect(), ..Default::default() }
    }
}

/// Decides about more partitions for topics.
fn create_partitions(
    context: &Context<'_>,
    request: &CreatePartitionsRequest,
    random: &mut dyn Random,
) -> Decision<CreatePartitionsResponse> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for topic in &request.topics {
        *count.entry(&topic.name).or_default() += 1;
    }
    let additional = request
        .topics
        .iter()
        .filter(|topic| count.get(topic.name.as_str()) == Some(&1))
        .map(|topic| additional_partitions(context, topic))
        .fold(0, i64::saturating_add);
    // Before anything else: what follows takes memory for each partition.
    if additional > MAX_PARTITIONS_PER_REQUEST {
        let error = ApiError::new(
            ErrorCode::POLICY_VIOLATION,
            format!(
                "the request adds {additional} partitions, more than {MAX_PARTITIONS_PER_REQUEST}"
            ),
        );
        let results = request.topics.iter().map(|topic| result(&topic.name, &error)).collect();
        return Decision::answer(CreatePartitionsResponse { results, ..Default::default() });
    }
    let mut records = Vec::new();
    let mut results = Vec::with_capacity(request.topics.len());
    let mut answered = HashSet::new();
    for topic in &request.topics {
        let duplicate = count.get(topic.name.as_str()) > Some(&1);
        if !answered.insert(topic.name.as_str()) {
            continue;
        }
        let outcome = if duplicate {
            Err(ApiError::new(
                ErrorCode::INVALID_REQUEST,
                format!("topic {:?} stands more than once in the request", topic.name),
            ))
        } else {
            add_partitions(context, topic, random)
        };
        let error = match outcome {
            Ok(new) => {
                records.extend(new);
                ApiError::NONE
            }
            Err(error) => error,
        };
        results.push(result(&topic.name, &error));
    }
    let response = CreatePartitionsResponse { results, ..CreatePartitionsResponse::default() };
    Decision { records, response }.validated(request.validate_only)
}

/// Partitions that a topic would get; 0 for a topic that is not there or would not grow.
fn additional_partitions(context: &Context<'_>, request: &CreatePartitionsTopic) -> i64 {
    let Some(topic) = context.image.topics.by_name(&request.name) else { return 0 };
    let current = i64::try_from(topic.partitions.len()).unwrap_or(i64::MAX);
    (i64::from(request.count) - current).max(0)
}

fn result(name: &str, error: &ApiError) -> CreatePartitionsTopicResult {
    CreatePartitionsTopicResult {
        name: name.to_owned(),
        error_code: error.code,
        error_message: error.message.clone(),
        ..CreatePartitionsTopicResult::default()
    }
}

fn add_partitions(
    context: &Context<'_>,
    request: &CreatePartitionsTopic,
    random: &mut dyn Random,
) -> Result<Vec<MetadataRecord>, ApiError> {
    let name = &request.name;
    let topic = context.image.topics.by_name(name).ok_or_else(|| {
        ApiError::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("there is no topic {name:?}"))
    })?;
    let current = topic.partitions.len();
    let wanted = usize::try_from(request.count).unwrap_or(0);
    if wanted <= current {
        return Err(ApiError::new(
            ErrorCode::INVALID_PARTITIONS,
            format!("topic {name:?} has {current} partitions already, {} asked for", request.count),
        ));
    }
    let additional = wanted - current;
    if let Some(assignments) = &request.assignments
        && assignments.len() != additional
    {
        return Err(ApiError::new(
            ErrorCode::INVALID_REPLICA_ASSIGNMENT,
            format!(
                "{additional} partitions are to be added, but {} are assigned",
                assignments.len()
            ),
        ));
    }
    let model = topic.partitions.values().next().ok_or_else(|| {
        ApiError::new(
            ErrorCode::UNKNOWN_SERVER_ERROR,
            format!("topic {name:?} has no partitions at all"),
        )
    })?;
    let factor = model.replicas.len();
    let partitions: Vec<Partition> = match &request.assignments {
        Some(assignments) => {
            let mut partitions = Vec::with_capacity(assignments.len());
            for (at, assignment) in assignments.iter().enumerate() {
                context.check_assignment(&assignment.broker_ids, Some(factor))?;
                let partition = context.new_partition(assignment.broker_ids.clone());
                partitions.push(partition.ok_or_else(|| {
                    ApiError::new(
                        ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                        format!(
                            "all brokers assigned to partition {} are fenced or about to stop",
                            current + at
                        ),
                    )
                })?);
            }
            partitions
        }
        None => {
            let factor = i16::try_from(factor).unwrap_or(i16::MAX);
            placement::place(context, random, additional, factor)?
                .into_iter()
                .map(|replicas| context.new_partition(replicas).ok_or_else(nobody))
                .collect::<Result<_, _>>()?
        }
    };
    let first = i32::try_from(current).unwrap_or(i32::MAX);
    let version = context.metadata_version();
    Ok((first..)
        .zip(&partitions)
        .map(|(index, partition)| partition.to_record(topic.id, index, version).into())
        .collect())
}
