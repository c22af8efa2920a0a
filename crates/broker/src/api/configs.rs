//! The APIs of configs and quotas that a broker answers itself, or in part.

use std::collections::HashMap;

use thalweg_metadata::{ApiError, controller};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::*;

use crate::api::forward;
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
) -> Result<IncrementalAlterConfigsResponse, String> {
    let of_loggers = alter_loggers(&context, &request);
    if of_loggers.is_empty() {
        return forward::handle(context, request).await;
    }
    // The broker sees to these itself; the others go to the controller. Answers keep their places.
    request.resources.retain(|resource| resource.resource_type != BROKER_LOGGER);
    let mut response = match request.resources.is_empty() {
        true => IncrementalAlterConfigsResponse::default(),
        false => forward::handle(context, request).await?,
    };
    let count = response.responses.len() + of_loggers.len();
    let mut others = std::mem::take(&mut response.responses).into_iter();
    let mut of_loggers = of_loggers.into_iter().peekable();
    for at in 0..count {
        let of_logger = of_loggers.next_if(|(place, _)| *place == at).map(|(_, answer)| answer);
        response.responses.extend(of_logger.or_else(|| others.next()));
    }
    Ok(response)
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
