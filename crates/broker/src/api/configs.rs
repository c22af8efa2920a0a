//! The APIs of configs and quotas that a broker answers itself, or in part.

use std::collections::{BTreeMap, HashMap};

use thalweg_metadata::controller::{Context as ControllerContext, ControllerRequest};
use thalweg_metadata::{ApiError, controller};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::*;

use crate::api::context::Context;
use crate::api::forward;
use crate::node::loggers::{self, BROKER_LOGGER};

pub(super) async fn describe(
    context: Context,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let services = &context.services;
    let mut response =
        services.node.with_controller_context(|c| controller::describe_configs(c, &request));
    for (resource, result) in request.resources.iter().zip(&mut response.results) {
        if resource.resource_type == BROKER_LOGGER {
            let levels = services.node.log_levels();
            *result = loggers::describe(levels, services.node.id(), resource);
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
        .services
        .node
        .with_controller_context(|c| controller::list_config_resources(c, &request, version))
}

pub(super) async fn describe_quotas(
    context: Context,
    request: DescribeClientQuotasRequest,
) -> DescribeClientQuotasResponse {
    context
        .services
        .node
        .with_controller_context(|c| controller::describe_client_quotas(c, &request))
}

pub(super) async fn incremental_alter(
    context: Context,
    request: IncrementalAlterConfigsRequest,
) -> Result<IncrementalAlterConfigsResponse, String> {
    let mut here: Places<_> = alter_loggers(&context, &request).into_iter().collect();
    for (at, error) in refused_here(&context, |c| controller::refused_by_broker(c, &request)) {
        let resource = &request.resources[at];
        if resource.resource_type != BROKER_LOGGER {
            here.insert(at, altered(resource, error));
        }
    }
    forward_others(context, request, here, |q| &mut q.resources, |a| &mut a.responses).await
}

pub(super) async fn alter(
    context: Context,
    request: AlterConfigsRequest,
) -> Result<AlterConfigsResponse, String> {
    let refused = refused_here(&context, |c| controller::legacy_refused_by_broker(c, &request));
    let refused = refused.map(|(at, error)| {
        let resource = &request.resources[at];
        let answer = alter_configs_response::AlterConfigsResourceResponse {
            error_code: error.code,
            error_message: error.message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..Default::default()
        };
        (at, answer)
    });
    let here = refused.collect();
    forward_others(context, request, here, |q| &mut q.resources, |a| &mut a.responses).await
}

/// What a broker that has joined other nodes' controllers refuses itself, by the places of the resources.
fn refused_here(
    context: &Context,
    refused: impl FnOnce(&ControllerContext<'_>) -> Vec<Option<ApiError>>,
) -> impl Iterator<Item = (usize, ApiError)> {
    let is_joined = context.services.control.is_joined();
    let refused = is_joined.then(|| context.services.node.with_controller_context(refused));
    let refused = refused.into_iter().flatten().enumerate();
    refused.filter_map(|(at, error)| Some((at, error?)))
}

/// Has the controller answer for the resources that are not answered `here`. Answers keep their places.
async fn forward_others<Q: ControllerRequest, R, A>(
    context: Context,
    mut request: Q,
    here: Places<A>,
    resources: fn(&mut Q) -> &mut Vec<R>,
    responses: fn(&mut Q::Response) -> &mut Vec<A>,
) -> Result<Q::Response, String> {
    if here.is_empty() {
        return forward::handle(context, request).await;
    }
    drop_places(resources(&mut request), &here);
    let mut response = match resources(&mut request).is_empty() {
        true => Q::Response::default(),
        false => forward::handle(context, request).await?,
    };
    let others = responses(&mut response);
    *others = in_place(here, std::mem::take(others));
    Ok(response)
}

/// Answers that the broker gives itself, by the places of what they are for.
type Places<T> = BTreeMap<usize, T>;

/// Leaves out what is answered here.
fn drop_places<R, T>(resources: &mut Vec<R>, here: &Places<T>) {
    let mut places = 0..;
    resources.retain(|_| places.next().is_none_or(|at| !here.contains_key(&at)));
}

/// The broker's own answers among those of the controller.
fn in_place<T>(mut here: Places<T>, others: Vec<T>) -> Vec<T> {
    let count = here.len() + others.len();
    let mut others = others.into_iter();
    (0..count).filter_map(|at| here.remove(&at).or_else(|| others.next())).collect()
}

fn altered(
    resource: &incremental_alter_configs_request::AlterConfigsResource,
    error: ApiError,
) -> incremental_alter_configs_response::AlterConfigsResourceResponse {
    incremental_alter_configs_response::AlterConfigsResourceResponse {
        error_code: error.code,
        error_message: error.message,
        resource_type: resource.resource_type,
        resource_name: resource.resource_name.clone(),
        ..Default::default()
    }
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
    let services = &context.services;
    let mut answers = Vec::new();
    for (at, resource) in request.resources.iter().enumerate() {
        if resource.resource_type != BROKER_LOGGER {
            continue;
        }
        let altered = if named.get(resource.resource_name.as_str()) == Some(&1) {
            let levels = services.node.log_levels();
            loggers::alter(levels, services.node.id(), resource, request.validate_only)
        } else {
            let message = "Each resource must appear at most once.";
            Err(ApiError::new(ErrorCode::INVALID_REQUEST, message))
        };
        answers.push((at, self::altered(resource, altered.err().unwrap_or(ApiError::NONE))));
    }
    answers
}
