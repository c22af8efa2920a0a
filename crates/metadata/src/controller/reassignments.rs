//! AlterPartitionReassignments and ListPartitionReassignments.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::PartitionChangeRecord;
use thalweg_wire::messages::alter_partition_reassignments_request::{
    AlterPartitionReassignmentsRequest, ReassignablePartition,
};
use thalweg_wire::messages::alter_partition_reassignments_response::{
    AlterPartitionReassignmentsResponse, ReassignablePartitionResponse, ReassignableTopicResponse,
};
use thalweg_wire::messages::list_partition_reassignments_request::ListPartitionReassignmentsRequest;
use thalweg_wire::messages::list_partition_reassignments_response::{
    ListPartitionReassignmentsResponse, OngoingPartitionReassignment, OngoingTopicReassignment,
};

use super::partition_change::{Election, PartitionChange};
use super::{
    Context, ControllerRequest, Decision, MAX_RECORDS_PER_REQUEST, RequestContext, too_many_records,
};
use crate::ApiError;
use crate::image::{Partition, TopicImage};

impl ControllerRequest for AlterPartitionReassignmentsRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<AlterPartitionReassignmentsResponse> {
        alter_partition_reassignments(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> AlterPartitionReassignmentsResponse {
        AlterPartitionReassignmentsResponse { error_code, ..Default::default() }
    }
}

impl ControllerRequest for ListPartitionReassignmentsRequest {
    const READ_ONLY: bool = true;

    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<ListPartitionReassignmentsResponse> {
        Decision::answer(list_partition_reassignments(context, self))
    }

    fn refused(&self, error_code: ErrorCode) -> ListPartitionReassignmentsResponse {
        ListPartitionReassignmentsResponse { error_code, ..Default::default() }
    }
}

/// Decides about other replicas for partitions, or about giving up such a change.
fn alter_partition_reassignments(
    context: &Context<'_>,
    request: &AlterPartitionReassignmentsRequest,
) -> Decision<AlterPartitionReassignmentsResponse> {
    let allow_change = request.allow_replication_factor_change;
    let mut records = Vec::new();
    let mut responses = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let error = match alter(context, &topic.name, partition, allow_change) {
                Ok(record) => {
                    records.extend(record.map(Into::into));
                    ApiError::NONE
                }
                Err(error) => error,
            };
            partitions.push(ReassignablePartitionResponse {
                partition_index: partition.partition_index,
                error_code: error.code,
                error_message: error.message,
                ..ReassignablePartitionResponse::default()
            });
        }
        responses.push(ReassignableTopicResponse {
            name: topic.name.clone(),
            partitions,
            ..ReassignableTopicResponse::default()
        });
    }
    let response = AlterPartitionReassignmentsResponse {
        allow_replication_factor_change: allow_change,
        error_message: None,
        ..AlterPartitionReassignmentsResponse::default()
    };
    if records.len() > MAX_RECORDS_PER_REQUEST {
        let error = too_many_records();
        for partition in responses.iter_mut().flat_map(|topic| &mut topic.partitions) {
            partition.error_code = error.code;
            partition.error_message.clone_from(&error.message);
        }
        return Decision::answer(AlterPartitionReassignmentsResponse {
            error_code: error.code,
            error_message: error.message,
            responses,
            ..response
        });
    }
    Decision { records, response: AlterPartitionReassignmentsResponse { responses, ..response } }
}

fn alter(
    context: &Context<'_>,
    name: &str,
    request: &ReassignablePartition,
    allow_change: bool,
) -> Result<Option<PartitionChangeRecord>, ApiError> {
    let index = request.partition_index;
    let unknown = |what: String| ApiError::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, what);
    let topic = context
        .image
        .topics
        .by_name(name)
        .ok_or_else(|| unknown(format!("there is no topic {name:?}")))?;
    let partition = topic
        .partitions
        .get(&index)
        .ok_or_else(|| unknown(format!("topic {name:?} has no partition {index}")))?;
    match &request.replicas {
        Some(replicas) => reassign(context, topic, index, partition, replicas, allow_change),
        None => cancel(context, topic, index, partition),
    }
}

fn reassign(
    context: &Context<'_>,
    topic: &TopicImage,
    index: i32,
    partition: &Partition,
    target: &[i32],
    allow_change: bool,
) -> Result<Option<PartitionChangeRecord>, ApiError> {
    context.check_assignment(target, None)?;
    if !allow_change {
        let mut current = partition.replicas.clone();
        if partition.is_reassigning() {
            current.extend(&partition.adding_replicas);
            current.sort_unstable();
            current.dedup();
            current.retain(|replica| !partition.removing_replicas.contains(replica));
        }
        if current.len() != target.len() {
            return Err(ApiError::new(
                ErrorCode::INVALID_REPLICATION_FACTOR,
                format!(
                    "the replication factor of partition {}-{index} would change from {} to {}",
                    topic.name,
                    current.len(),
                    target.len()
                ),
            ));
        }
    }
    let without = |from: &[i32], others: &[i32]| -> Vec<i32> {
        let mut rest: Vec<i32> = from.iter().copied().filter(|r| !others.contains(r)).collect();
        rest.sort_unstable();
        rest
    };
    let removing = without(&partition.replicas, target);
    let adding = without(target, &partition.replicas);
    let mut change = PartitionChange::new(context, topic, index, partition);
    // What is to go stays a replica until what is to come is in sync.
    change.replicas = [target, removing.as_slice()].concat();
    if !removing.is_empty() {
        change.removing = removing;
    }
    if !adding.is_empty() {
        change.adding = adding;
    }
    Ok(change.build())
}

fn cancel(
    context: &Context<'_>,
    topic: &TopicImage,
    index: i32,
    partition: &Partition,
) -> Result<Option<PartitionChangeRecord>, ApiError> {
    if !partition.is_reassigning() {
        return Err(ApiError::new(
            ErrorCode::NO_REASSIGNMENT_IN_PROGRESS,
            format!("partition {}-{index} is not being reassigned", topic.name),
        ));
    }
    let invalid = |message: String| ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message);
    let was_there = |replica: &i32| !partition.adding_replicas.contains(replica);
    let replicas: Vec<i32> = partition.replicas.iter().copied().filter(was_there).collect();
    let mut isr: Vec<i32> = partition.isr.iter().copied().filter(was_there).collect();
    let unclean_elections = context.unclean_elections(&topic.name);
    if isr.is_empty() {
        let first = replicas.first().ok_or_else(|| {
            invalid(format!("partition {}-{index} had no replicas before", topic.name))
        })?;
        if !unclean_elections {
            return Err(invalid(format!(
                "the reassignment of partition {}-{index} can only be given up by an unclean \
                 election, which the topic does not allow",
                topic.name
            )));
        }
        isr.push(*first);
    }
    let mut change = PartitionChange::new(context, topic, index, partition);
    if unclean_elections {
        change.election = Election::Unclean;
    }
    change.isr = isr;
    change.replicas = replicas;
    change.removing = Vec::new();
    change.adding = Vec::new();
    Ok(change.build())
}

/// Lists the partitions whose replicas are being changed.
fn list_partition_reassignments(
    context: &Context<'_>,
    request: &ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    let ongoing = |topic: &TopicImage, index: i32| {
        let partition = topic.partitions.get(&index).filter(|p| p.is_reassigning())?;
        Some(OngoingPartitionReassignment {
            partition_index: index,
            replicas: partition.replicas.clone(),
            adding_replicas: partition.adding_replicas.clone(),
            removing_replicas: partition.removing_replicas.clone(),
            ..OngoingPartitionReassignment::default()
        })
    };
    let listed = |topic: &TopicImage, partitions: Vec<OngoingPartitionReassignment>| {
        (!partitions.is_empty()).then(|| OngoingTopicReassignment {
            name: topic.name.to_string(),
            partitions,
            ..OngoingTopicReassignment::default()
        })
    };
    let all = &context.image.topics;
    let topics = match &request.topics {
        None => all
            .iter()
            .filter_map(|topic| {
                let indexes = topic.partitions.keys();
                listed(topic, indexes.filter_map(|index| ongoing(topic, *index)).collect())
            })
            .collect(),
        Some(topics) => topics
            .iter()
            .filter_map(|wanted| {
                let topic = all.by_name(&wanted.name)?;
                let indexes = wanted.partition_indexes.iter();
                listed(topic, indexes.filter_map(|index| ongoing(topic, *index)).collect())
            })
            .collect(),
    };
    ListPartitionReassignmentsResponse {
        error_message: None,
        topics,
        ..ListPartitionReassignmentsResponse::default()
    }
}
