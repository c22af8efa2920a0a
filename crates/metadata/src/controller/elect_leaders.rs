//! ElectLeaders.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::PartitionChangeRecord;
use thalweg_wire::messages::elect_leaders_request::ElectLeadersRequest;
use thalweg_wire::messages::elect_leaders_response::{
    ElectLeadersResponse, PartitionResult, ReplicaElectionResult,
};

use super::partition_change::{Election, PartitionChange};
use super::{Context, ControllerRequest, Decision, MAX_RECORDS_PER_REQUEST, RequestContext};
use crate::ApiError;
use crate::image::NO_LEADER;

impl ControllerRequest for ElectLeadersRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<ElectLeadersResponse> {
        elect_leaders(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> ElectLeadersResponse {
        ElectLeadersResponse { error_code, ..Default::default() }
    }
}

/// Decides about elections that somebody asked for.
fn elect_leaders(
    context: &Context<'_>,
    request: &ElectLeadersRequest,
) -> Decision<ElectLeadersResponse> {
    let refuse = |code| Decision::answer(refuse_all(request, code));
    let election = match request.election_type {
        0 => Election::Preferred,
        1 => Election::Unclean,
        _ => return refuse(ErrorCode::INVALID_REQUEST),
    };
    let mut records = Vec::new();
    let mut results = Vec::new();
    let mut elect = |topic: &str, partition: i32| -> PartitionResult {
        let error = match elect_leader(context, topic, partition, election) {
            Ok(record) => {
                records.push(record.into());
                ApiError::NONE
            }
            Err(error) => error,
        };
        PartitionResult {
            partition_id: partition,
            error_code: error.code,
            error_message: error.message,
            ..PartitionResult::default()
        }
    };
    match &request.topic_partitions {
        None => {
            for topic in context.image.topics.iter() {
                let all = topic.partitions.keys().map(|index| elect(&topic.name, *index));
                // Of everything there is, only what was not in order is worth an answer.
                let partition_result =
                    all.filter(|r| r.error_code != ErrorCode::ELECTION_NOT_NEEDED).collect();
                results.push(ReplicaElectionResult {
                    topic: topic.name.to_string(),
                    partition_result,
                    ..ReplicaElectionResult::default()
                });
            }
        }
        Some(topics) => {
            for topic in topics {
                let partitions = topic.partitions.iter();
                let partition_result =
                    partitions.map(|index| elect(&topic.topic, *index)).collect();
                results.push(ReplicaElectionResult {
                    topic: topic.topic.clone(),
                    partition_result,
                    ..ReplicaElectionResult::default()
                });
            }
        }
    }
    if records.len() > MAX_RECORDS_PER_REQUEST {
        return refuse(ErrorCode::POLICY_VIOLATION);
    }
    let response = ElectLeadersResponse { replica_election_results: results, ..Default::default() };
    Decision { records, response }
}

fn refuse_all(request: &ElectLeadersRequest, error_code: ErrorCode) -> ElectLeadersResponse {
    let topics = request.topic_partitions.iter().flatten();
    let results = topics.map(|topic| ReplicaElectionResult {
        topic: topic.topic.clone(),
        partition_result: topic
            .partitions
            .iter()
            .map(|index| PartitionResult {
                partition_id: *index,
                error_code,
                error_message: None,
                ..PartitionResult::default()
            })
            .collect(),
        ..ReplicaElectionResult::default()
    });
    ElectLeadersResponse {
        error_code,
        replica_election_results: results.collect(),
        ..ElectLeadersResponse::default()
    }
}

fn elect_leader(
    context: &Context<'_>,
    name: &str,
    index: i32,
    election: Election,
) -> Result<PartitionChangeRecord, ApiError> {
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
    let needless = match election {
        Election::Preferred => partition.leader == partition.preferred_replica(),
        _ => partition.leader != NO_LEADER,
    };
    if needless {
        return Err(ApiError::new(
            ErrorCode::ELECTION_NOT_NEEDED,
            format!("partition {name}-{index} needs no election, {} leads", partition.leader),
        ));
    }
    let mut change = PartitionChange::new(context, topic, index, partition);
    change.election = election;
    change.build().ok_or_else(|| match election {
        Election::Preferred => ApiError::new(
            ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE,
            format!("the preferred replica of partition {name}-{index} cannot lead now"),
        ),
        _ => ApiError::new(
            ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE,
            format!("no replica of partition {name}-{index} can lead now"),
        ),
    })
}
