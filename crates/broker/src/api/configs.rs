//! The APIs of configs and quotas.

use std::collections::HashMap;

use thalweg_metadata::{ApiError, controller};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::*;

use crate::api::request::Context;
use crate::loggers::{self, BROKER_LOGGER};

pub(super) async fn describe(
    context: Context,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let broker = &context.broker;
    let mut response =
        broker.with_controller_context(|c| controller::describe_configs(c, &request));
    for (resource, result) in request.resources.iter().zip(&mut response.results) {
        if resource.resource_type == BROKER_LOGGER {
            let levels = broker.log_levels.as_deref();
            *result = loggers::describe(levels, broker.node_id, resource);
        }
    }
    response
}

pub(super) async fn list_resources(
    context: Context,
    request: ListConfigResourcesRequest,
) -> ListConfigResourcesResponse {
    let version = context.version;
    context
        .broker
        .with_controller_context(|c| controller::list_config_resources(c, &request, version))
}

pub(super) async fn describe_quotas(
    context: Context,
    request: DescribeClientQuotasRequest,
) -> DescribeClientQuotasResponse {
    context.broker.with_controller_context(|c| controller::describe_client_quotas(c, &request))
}

pub(super) async fn incremental_alter(
    context: Context,
    mut request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let of_loggers = alter_loggers(&context, &request);
    if of_loggers.is_empty() {
        return alter_metadata(&context, request).await;
    }
    // The broker sees to these itself; the others go to the controller. Answers keep their places.
    request.resources.retain(|resource| resource.resource_type != BROKER_LOGGER);
    let mut response = match request.resources.is_empty() {
        true => IncrementalAlterConfigsResponse::default(),
        false => alter_metadata(&context, request).await,
    };
    let count = response.responses.len() + of_loggers.len();
    let mut others = std::mem::take(&mut response.responses).into_iter();
    let mut of_loggers = of_loggers.into_iter().peekable();
    for at in 0..count {
        let of_logger = of_loggers.next_if(|(place, _)| *place == at).map(|(_, answer)| answer);
        response.responses.extend(of_logger.or_else(|| others.next()));
    }
    response
}

/// Changes the levels of the log that the request is about; the answers with their places.
fn alter_loggers(
    context: &Context,
    request: &IncrementalAlterConfigsRequest,
) -> Vec<(usize, incremental_alter_configs_response::AlterConfigsResourceResponse)> {
    let mut named: HashMap<&str, usize> = HashMap::new();
    for resource in request.resources.iter().filter(|r| r.resource_type == BROKER_LOGGER) {
        *named.entry(&resource.resource_name).or_default() += 1;
    }
    let broker = &context.broker;
    let mut answers = Vec::new();
    for (at, resource) in request.resources.iter().enumerate() {
        if resource.resource_type != BROKER_LOGGER {
            continue;
        }
        let altered = if named.get(resource.resource_name.as_str()) == Some(&1) {
            let levels = broker.log_levels.as_deref();
            loggers::alter(levels, broker.node_id, resource, request.validate_only)
        } else {
            let message = "Each resource must appear at most once.";
            Err(ApiError::new(ErrorCode::INVALID_REQUEST, message))
        };
        let error = altered.err().unwrap_or(ApiError::NONE);
        let answer = incremental_alter_configs_response::AlterConfigsResourceResponse {
            error_code: error.code,
            error_message: error.message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..Default::default()
        };
        answers.push((at, answer));
    }
    answers
}

async fn alter_metadata(
    context: &Context,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let asked: Vec<(i8, String)> =
        request.resources.iter().map(|r| (r.resource_type, r.resource_name.clone())).collect();
    match context
        .broker
        .decide(move |c, _| controller::incremental_alter_configs(c, &request))
        .await
    {
        Ok(response) => response,
        Err(error) => {
            tracing::warn!(%error, "configs could not be altered");
            let responses = asked
                .into_iter()
                .map(|(resource_type, resource_name)| {
                    incremental_alter_configs_response::AlterConfigsResourceResponse {
                        error_code: ErrorCode::NOT_CONTROLLER,
                        resource_type,
                        resource_name,
                        ..Default::default()
                    }
                })
                .collect();
            IncrementalAlterConfigsResponse { responses, ..Default::default() }
        }
    }
}

pub(super) async fn alter(context: Context, request: AlterConfigsRequest) -> AlterConfigsResponse {
    let asked: Vec<(i8, String)> =
        request.resources.iter().map(|r| (r.resource_type, r.resource_name.clone())).collect();
    match context.broker.decide(move |c, _| controller::alter_configs(c, &request)).await {
        Ok(response) => response,
        Err(error) => {
            tracing::warn!(%error, "configs could not be altered");
            let responses = asked
                .into_iter()
                .map(|(resource_type, resource_name)| {
                    alter_configs_response::AlterConfigsResourceResponse {
                        error_code: ErrorCode::NOT_CONTROLLER,
                        resource_type,
                        resource_name,
                        ..Default::default()
                    }
                })
                .collect();
            AlterConfigsResponse { responses, ..Default::default() }
        }
    }
}

pub(super) async fn alter_quotas(
    context: Context,
    request: AlterClientQuotasRequest,
) -> AlterClientQuotasResponse {
    let asked = request.entries.iter().map(|entry| entry.entity.clone()).collect();
    match context.broker.decide(move |c, _| controller::alter_client_quotas(c, &request)).await {
        Ok(response) => response,
        Err(error) => {
            tracing::warn!(%error, "quotas could not be altered");
            undecided_quotas(asked)
        }
    }
}

/// The answer to a request that the controller could not decide: one for each entity.
fn undecided_quotas(
    asked: Vec<Vec<alter_client_quotas_request::EntityData>>,
) -> AlterClientQuotasResponse {
    let part =
        |part: alter_client_quotas_request::EntityData| alter_client_quotas_response::EntityData {
            entity_type: part.entity_type,
            entity_name: part.entity_name,
            ..Default::default()
        };
    let entry = |entity: Vec<_>| alter_client_quotas_response::EntryData {
        error_code: ErrorCode::NOT_CONTROLLER,
        entity: entity.into_iter().map(part).collect(),
        ..Default::default()
    };
    let entries = asked.into_iter().map(entry).collect();
    AlterClientQuotasResponse { entries, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_that_were_not_decided_are_answered_one_by_one() {
        let entity = |name: Option<&str>| alter_client_quotas_request::EntityData {
            entity_type: "user".into(),
            entity_name: name.map(str::to_owned),
            ..Default::default()
        };
        let answer = undecided_quotas(vec![vec![entity(Some("a"))], vec![entity(None)]]);
        let said: Vec<_> = answer
            .entries
            .iter()
            .map(|entry| (entry.error_code, entry.entity[0].entity_name.as_deref()))
            .collect();
        assert_eq!(
            said,
            [(ErrorCode::NOT_CONTROLLER, Some("a")), (ErrorCode::NOT_CONTROLLER, None)]
        );
    }
}
