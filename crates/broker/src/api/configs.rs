//! The APIs of configs and quotas.

use thalweg_metadata::controller;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::*;

use crate::net::connection::Context;

pub(super) async fn describe(
    context: Context,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    context.broker.with_controller_context(|c| controller::describe_configs(c, &request))
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
    match context.broker.decide(move |c, _| controller::alter_client_quotas(c, &request)).await {
        Ok(response) => response,
        Err(error) => {
            tracing::warn!(%error, "quotas could not be altered");
            AlterClientQuotasResponse::default()
        }
    }
}
