//! The APIs that change topics and the cluster: each is a decision of the controller.

use thalweg_metadata::controller;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::*;

use crate::api::request::Context;

/// What clients are told when the controller could not decide.
const UNDECIDED: ErrorCode = ErrorCode::NOT_CONTROLLER;

fn undecided(context: &Context, error: &crate::kraft::ControllerError) {
    tracing::warn!(api = %context.api_key, %error, "the controller could not decide");
}

pub(super) async fn create(context: Context, request: CreateTopicsRequest) -> CreateTopicsResponse {
    let names: Vec<String> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let decided = context
        .broker
        .decide(move |c, random| controller::create_topics(c, &request, &mut || random.u64()))
        .await;
    match decided {
        Ok(response) => response,
        Err(error) => {
            undecided(&context, &error);
            let topics = names
                .into_iter()
                .map(|name| create_topics_response::CreatableTopicResult {
                    name,
                    error_code: UNDECIDED,
                    ..Default::default()
                })
                .collect();
            CreateTopicsResponse { topics, ..Default::default() }
        }
    }
}

pub(super) async fn delete(context: Context, request: DeleteTopicsRequest) -> DeleteTopicsResponse {
    let version = context.version;
    let asked = request.clone();
    let decided =
        context.broker.decide(move |c, _| controller::delete_topics(c, &request, version)).await;
    match decided {
        Ok(response) => response,
        Err(error) => {
            undecided(&context, &error);
            let result =
                |name: Option<String>, topic_id| delete_topics_response::DeletableTopicResult {
                    name,
                    topic_id,
                    error_code: UNDECIDED,
                    ..Default::default()
                };
            let by_name =
                asked.topic_names.into_iter().map(|n| result(Some(n), Default::default()));
            let responses = asked
                .topics
                .into_iter()
                .map(|t| result(t.name, t.topic_id))
                .chain(by_name)
                .collect();
            DeleteTopicsResponse { responses, ..Default::default() }
        }
    }
}

pub(super) async fn create_partitions(
    context: Context,
    request: CreatePartitionsRequest,
) -> CreatePartitionsResponse {
    let names: Vec<String> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let decided = context
        .broker
        .decide(move |c, random| controller::create_partitions(c, &request, &mut || random.u64()))
        .await;
    match decided {
        Ok(response) => response,
        Err(error) => {
            undecided(&context, &error);
            let results = names
                .into_iter()
                .map(|name| create_partitions_response::CreatePartitionsTopicResult {
                    name,
                    error_code: UNDECIDED,
                    ..Default::default()
                })
                .collect();
            CreatePartitionsResponse { results, ..Default::default() }
        }
    }
}

macro_rules! decided {
    ($name:ident, $request:ident, $response:ident, $decide:path) => {
        pub(super) async fn $name(context: Context, request: $request) -> $response {
            match context.broker.decide(move |c, _| $decide(c, &request)).await {
                Ok(response) => response,
                Err(error) => {
                    undecided(&context, &error);
                    $response { error_code: UNDECIDED, ..Default::default() }
                }
            }
        }
    };
}

decided!(elect_leaders, ElectLeadersRequest, ElectLeadersResponse, controller::elect_leaders);
decided!(
    alter_reassignments,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    controller::alter_partition_reassignments
);

pub(super) async fn update_features(
    context: Context,
    request: UpdateFeaturesRequest,
) -> UpdateFeaturesResponse {
    let version = context.version;
    let kraft_version = context.broker.kraft_version;
    let decided = context
        .broker
        .decide(move |c, _| controller::update_features(c, &request, kraft_version, version))
        .await;
    match decided {
        Ok(response) => response,
        Err(error) => {
            undecided(&context, &error);
            UpdateFeaturesResponse { error_code: UNDECIDED, ..Default::default() }
        }
    }
}

pub(super) async fn list_reassignments(
    context: Context,
    request: ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    context
        .broker
        .with_controller_context(|c| controller::list_partition_reassignments(c, &request))
}
