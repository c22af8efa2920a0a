//! IncrementalAlterConfigs and AlterConfigs.

use std::collections::{BTreeMap, HashMap, HashSet};

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::alter_configs_request::{
    AlterConfigsRequest, AlterConfigsResource as Legacy,
};
use thalweg_wire::messages::alter_configs_response::{
    AlterConfigsResourceResponse as LegacyResponse, AlterConfigsResponse,
};
use thalweg_wire::messages::incremental_alter_configs_request::{
    AlterConfigsResource as Incremental, IncrementalAlterConfigsRequest,
};
use thalweg_wire::messages::incremental_alter_configs_response::{
    AlterConfigsResourceResponse, IncrementalAlterConfigsResponse,
};
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{ClearElrRecord, ConfigRecord};

use super::{
    Context, ControllerRequest, Decision, MAX_RECORDS_PER_REQUEST, RequestContext,
    check_topic_name, too_many_records,
};
use crate::ApiError;
use crate::config::{
    self, BROKER, ConfigType, Properties, TOPIC, client_metrics, dynamic, group, topic,
};
use crate::image::{ConfigResource, ResourceType};

/// Longest value of a config, in characters.
const MAX_VALUE_LEN: usize = i16::MAX as usize;

/// What shall happen to a config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation<'a> {
    Set(&'a str),
    Delete,
    Append(&'a str),
    Subtract(&'a str),
}

/// What shall happen to the configs of one resource.
type Operations<'a> = BTreeMap<&'a str, Operation<'a>>;

impl ControllerRequest for IncrementalAlterConfigsRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<IncrementalAlterConfigsResponse> {
        incremental_alter_configs(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> IncrementalAlterConfigsResponse {
        let responses = self.resources.iter().map(|resource| AlterConfigsResourceResponse {
            error_code,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..Default::default()
        });
        IncrementalAlterConfigsResponse { responses: responses.collect(), ..Default::default() }
    }
}

impl ControllerRequest for AlterConfigsRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<AlterConfigsResponse> {
        alter_configs(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> AlterConfigsResponse {
        let responses = self.resources.iter().map(|resource| LegacyResponse {
            error_code,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..Default::default()
        });
        AlterConfigsResponse { responses: responses.collect(), ..Default::default() }
    }
}

/// Decides about changes of single configs.
fn incremental_alter_configs(
    context: &Context<'_>,
    request: &IncrementalAlterConfigsRequest,
) -> Decision<IncrementalAlterConfigsResponse> {
    let duplicates = duplicates_of(request);
    let decide = |resource: &Incremental| {
        let (target, operations) = prepare(context, &duplicates, resource)?;
        change(context, &target, &operations, false)
    };
    let mut records = Vec::new();
    let mut responses = Vec::with_capacity(request.resources.len());
    for resource in &request.resources {
        let error = match decide(resource) {
            Ok(new) => {
                records.extend(new);
                ApiError::NONE
            }
            Err(error) => error,
        };
        responses.push(AlterConfigsResourceResponse {
            error_code: error.code,
            error_message: error.message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..AlterConfigsResourceResponse::default()
        });
    }
    let records = with_clear_elr(context, records);
    if records.len() > MAX_RECORDS_PER_REQUEST {
        let error = too_many_records();
        for response in &mut responses {
            response.error_code = error.code;
            response.error_message.clone_from(&error.message);
        }
        let response = IncrementalAlterConfigsResponse { responses, ..Default::default() };
        return Decision::answer(response);
    }
    let response = IncrementalAlterConfigsResponse { responses, ..Default::default() };
    Decision { records, response }.validated(request.validate_only)
}

/// Decides about replacing all configs of resources.
fn alter_configs(
    context: &Context<'_>,
    request: &AlterConfigsRequest,
) -> Decision<AlterConfigsResponse> {
    let duplicates = legacy_duplicates_of(request);
    let decide = |resource: &Legacy| {
        let (target, configs) = prepare_legacy(context, &duplicates, resource)?;
        replace(context, &target, &configs)
    };
    let mut records = Vec::new();
    let mut responses = Vec::with_capacity(request.resources.len());
    for resource in &request.resources {
        let error = match decide(resource) {
            Ok(new) => {
                records.extend(new);
                ApiError::NONE
            }
            Err(error) => error,
        };
        responses.push(LegacyResponse {
            error_code: error.code,
            error_message: error.message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..LegacyResponse::default()
        });
    }
    let records = with_clear_elr(context, records);
    if records.len() > MAX_RECORDS_PER_REQUEST {
        let error = too_many_records();
        for response in &mut responses {
            response.error_code = error.code;
            response.error_message.clone_from(&error.message);
        }
        return Decision::answer(AlterConfigsResponse { responses, ..Default::default() });
    }
    let response = AlterConfigsResponse { responses, ..Default::default() };
    Decision { records, response }.validated(request.validate_only)
}

/// Resources that are named more than once.
type Duplicates<'a> = HashSet<(i8, &'a str)>;

fn duplicates_of(request: &IncrementalAlterConfigsRequest) -> Duplicates<'_> {
    duplicates(request.resources.iter().map(|r| (r.resource_type, r.resource_name.as_str())))
}

fn legacy_duplicates_of(request: &AlterConfigsRequest) -> Duplicates<'_> {
    duplicates(request.resources.iter().map(|r| (r.resource_type, r.resource_name.as_str())))
}

/// What a broker refuses of a request before it passes it on to the controllers of other nodes, which do not know what
/// fits a broker: an error for each resource that the controllers do not get to see.
pub fn refused_by_broker(
    context: &Context<'_>,
    request: &IncrementalAlterConfigsRequest,
) -> Vec<Option<ApiError>> {
    let duplicates = duplicates_of(request);
    let check = |resource| prepare(context, &duplicates, resource).err();
    request.resources.iter().map(check).collect()
}

/// The same of a request that replaces all configs of its resources.
pub fn legacy_refused_by_broker(
    context: &Context<'_>,
    request: &AlterConfigsRequest,
) -> Vec<Option<ApiError>> {
    let duplicates = legacy_duplicates_of(request);
    let check = |resource| prepare_legacy(context, &duplicates, resource).err();
    request.resources.iter().map(check).collect()
}

/// Reads what is to become of a resource, and checks what the broker that is asked checks.
fn prepare<'a>(
    context: &Context<'_>,
    duplicates: &Duplicates<'_>,
    resource: &'a Incremental,
) -> Result<(ConfigResource, Operations<'a>), ApiError> {
    if duplicates.contains(&(resource.resource_type, resource.resource_name.as_str())) {
        return Err(twice());
    }
    check_names(resource.configs.iter().map(|config| config.name.as_str()))?;
    const DELETE: i8 = 1;
    let missing = resource.configs.iter().filter(|c| c.config_operation != DELETE);
    check_values(missing.map(|config| (config.name.as_str(), config.value.as_deref())))?;
    let target = target(context, resource.resource_type, &resource.resource_name)?;
    let mut operations = Operations::new();
    for config in &resource.configs {
        let value = config.value.as_deref().unwrap_or_default();
        let operation = match config.config_operation {
            0 => Operation::Set(value),
            DELETE => Operation::Delete,
            2 => Operation::Append(value),
            3 => Operation::Subtract(value),
            other => {
                return Err(ApiError::new(
                    ErrorCode::INVALID_REQUEST,
                    format!("config {} has unknown operation {other}", config.name),
                ));
            }
        };
        operations.insert(&config.name, operation);
    }
    if target.resource_type == ResourceType::Broker {
        check_broker_change(context, &target, &operations)?;
    }
    Ok((target, operations))
}

fn prepare_legacy(
    context: &Context<'_>,
    duplicates: &Duplicates<'_>,
    resource: &Legacy,
) -> Result<(ConfigResource, Properties), ApiError> {
    if duplicates.contains(&(resource.resource_type, resource.resource_name.as_str())) {
        return Err(twice());
    }
    check_names(resource.configs.iter().map(|config| config.name.as_str()))?;
    check_values(resource.configs.iter().map(|c| (c.name.as_str(), c.value.as_deref())))?;
    let target = target(context, resource.resource_type, &resource.resource_name)?;
    let configs: Properties = resource
        .configs
        .iter()
        .map(|c| (c.name.clone(), c.value.clone().unwrap_or_default()))
        .collect();
    if target.resource_type == ResourceType::Broker {
        dynamic::validate(context.config, &configs, !target.name.is_empty())?;
    }
    Ok((target, configs))
}

fn duplicates<'a>(keys: impl Iterator<Item = (i8, &'a str)>) -> HashSet<(i8, &'a str)> {
    let mut count: HashMap<(i8, &str), usize> = HashMap::new();
    for key in keys {
        *count.entry(key).or_default() += 1;
    }
    count.into_iter().filter(|(_, count)| *count > 1).map(|(key, _)| key).collect()
}

fn twice() -> ApiError {
    ApiError::new(ErrorCode::INVALID_REQUEST, "Each resource must appear at most once.")
}

fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), ApiError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ApiError::new(
                ErrorCode::INVALID_REQUEST,
                "Error due to duplicate config keys",
            ));
        }
    }
    Ok(())
}

fn check_values<'a>(
    configs: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<(), ApiError> {
    let missing: Vec<&str> =
        configs.filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorCode::INVALID_REQUEST,
        format!("Null value not supported for : {}", missing.join(", ")),
    ))
}

/// The resource a request speaks of; a broker must be this one.
fn target(
    context: &Context<'_>,
    resource_type: i8,
    name: &str,
) -> Result<ConfigResource, ApiError> {
    let request = |message: String| Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
    // Levels of the log are no metadata: the broker that is asked sees to them, where it may.
    let kind = ResourceType::from_id(resource_type).filter(|k| *k != ResourceType::BrokerLogger);
    let Some(kind) = kind else {
        return request(format!("Unknown resource type {resource_type}"));
    };
    if kind == ResourceType::Broker && !name.is_empty() {
        let node_id = context.config.node_id();
        match name.parse::<i32>() {
            Ok(id) if id == node_id => {}
            Ok(_) => {
                return request(format!(
                    "Unexpected broker id, expected {node_id}, but received {name}"
                ));
            }
            Err(_) => return request(format!("Node id must be an integer, but it is: {name}")),
        }
    }
    Ok(ConfigResource { resource_type: kind, name: name.to_owned() })
}

/// What a broker checks before it lets its own configs, or the defaults of all, be changed.
fn check_broker_change(
    context: &Context<'_>,
    resource: &ConfigResource,
    operations: &Operations<'_>,
) -> Result<(), ApiError> {
    let for_one_broker = !resource.name.is_empty();
    let stored = context.image.configs.properties(resource);
    // Only what is in force counts: one that does not fit must not stand in the way of the others,
    // or of its own removal.
    let in_force = match for_one_broker {
        true => context.config.dynamic_broker(),
        false => context.config.dynamic_default(),
    };
    let mut configs: Properties = stored
        .iter()
        .filter(|(name, value)| in_force.get(*name) == Some(*value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, operation) in operations {
        let next = match operation {
            Operation::Set(value) => Some((*value).to_owned()),
            Operation::Delete => None,
            Operation::Append(_) | Operation::Subtract(_) => {
                let key = BROKER.require(name)?;
                if key.config_type != ConfigType::List {
                    return Err(not_a_list(name));
                }
                // To what will be written: see `change`.
                let current = stored.get(*name).cloned();
                list_operation(current, default_text(resource.resource_type, name), operation)
            }
        };
        match next {
            Some(value) => configs.insert((*name).to_owned(), value),
            None => configs.remove(*name),
        };
    }
    dynamic::validate(context.config, &configs, for_one_broker)
}

fn not_a_list(name: &str) -> ApiError {
    ApiError::new(
        ErrorCode::INVALID_CONFIG,
        format!("config {name} is not a list, nothing can be added to it or taken from it"),
    )
}

fn default_text(kind: ResourceType, name: &str) -> Option<String> {
    let key = match kind {
        ResourceType::Topic => TOPIC.get(name),
        ResourceType::Broker => BROKER.get(name),
        _ => None,
    };
    key?.default_value().map(config::Value::to_text)
}

/// The list after something was added or taken; an unset list begins as its default.
fn list_operation(
    current: Option<String>,
    default: Option<String>,
    operation: &Operation<'_>,
) -> Option<String> {
    let current = current.or(default).unwrap_or_default();
    let mut members: Vec<&str> = current.split(',').filter(|member| !member.is_empty()).collect();
    match operation {
        Operation::Append(value) => {
            let mut known: HashSet<&str> = members.iter().copied().collect();
            let added = java_split(value).into_iter().filter(|member| known.insert(member));
            members.extend(added);
        }
        Operation::Subtract(value) => {
            // One for each time that a member is named, and the first ones.
            let mut named: HashMap<&str, usize> = HashMap::new();
            for member in java_split(value) {
                *named.entry(member).or_default() += 1;
            }
            members.retain(|member| match named.get_mut(member) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    false
                }
                _ => true,
            });
        }
        Operation::Set(_) | Operation::Delete => {}
    }
    Some(members.join(","))
}

/// Parts between commas as Java splits: empty ones at the end are dropped, but never the only one.
fn java_split(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return vec![""];
    }
    let mut parts: Vec<&str> = text.split(',').collect();
    while parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    parts
}

/// The records that change single configs of a resource.
pub(super) fn change(
    context: &Context<'_>,
    resource: &ConfigResource,
    operations: &Operations<'_>,
    is_new: bool,
) -> Result<Vec<ConfigRecord>, ApiError> {
    let stored = context.image.configs.properties(resource);
    let mut records = Vec::new();
    for (name, operation) in operations {
        let current = stored.get(*name).cloned();
        let next = match operation {
            Operation::Set(value) => Some((*value).to_owned()),
            Operation::Delete => None,
            Operation::Append(_) | Operation::Subtract(_) => {
                let is_list = match resource.resource_type {
                    ResourceType::Topic => TOPIC.get(name),
                    ResourceType::Broker => BROKER.get(name),
                    _ => None,
                }
                .is_some_and(|key| key.config_type == ConfigType::List);
                if !is_list {
                    return Err(not_a_list(name));
                }
                let default = default_text(resource.resource_type, name);
                list_operation(current.clone(), default, operation)
            }
        };
        // A broker config that is set to what it is makes brokers load files again (KAFKA-14136).
        if current != next || resource.resource_type == ResourceType::Broker {
            records.push(record(resource, name, next));
        }
    }
    check(context, resource, &stored, &records, &[], is_new)?;
    Ok(records)
}

/// The records that make `configs` all configs of a resource.
fn replace(
    context: &Context<'_>,
    resource: &ConfigResource,
    configs: &Properties,
) -> Result<Vec<ConfigRecord>, ApiError> {
    let stored = context.image.configs.properties(resource);
    let mut set = Vec::new();
    for (name, value) in configs {
        if stored.get(name) != Some(value) || resource.resource_type == ResourceType::Broker {
            set.push(record(resource, name, Some(value.clone())));
        }
    }
    let deleted: Vec<ConfigRecord> = stored
        .keys()
        .filter(|name| !configs.contains_key(*name))
        .map(|name| record(resource, name, None))
        .collect();
    check(context, resource, &stored, &set, &deleted, false)?;
    set.extend(deleted);
    Ok(set)
}

fn record(resource: &ConfigResource, name: &str, value: Option<String>) -> ConfigRecord {
    ConfigRecord {
        resource_type: resource.resource_type.id(),
        resource_name: resource.name.clone(),
        name: name.to_owned(),
        value,
        ..ConfigRecord::default()
    }
}

/// Checks what a resource would be configured with.
fn check(
    context: &Context<'_>,
    resource: &ConfigResource,
    stored: &Properties,
    set: &[ConfigRecord],
    deleted: &[ConfigRecord],
    is_new: bool,
) -> Result<(), ApiError> {
    let refuse = |message: String| Err(ApiError::new(ErrorCode::INVALID_CONFIG, message));
    let mut next = stored.clone();
    for record in set.iter().chain(deleted) {
        if resource.resource_type == ResourceType::Broker {
            let elr = context.image.features.elr_enabled();
            let one_broker = !resource.name.is_empty();
            if record.name == "min.insync.replicas" && elr {
                if one_broker {
                    return refuse(
                        "min.insync.replicas cannot be set for one broker while eligible leader \
                         replicas are maintained"
                            .into(),
                    );
                }
                if record.value.is_none() {
                    return refuse(
                        "the default of min.insync.replicas cannot be removed while eligible \
                         leader replicas are maintained"
                            .into(),
                    );
                }
            }
            if record.name == "cordoned.log.dirs" && !context.metadata_version().has_cordoned_dirs()
            {
                return refuse("cordoned.log.dirs needs metadata.version 4.3-IV0".into());
            }
        }
        match &record.value {
            None => {
                next.remove(&record.name);
            }
            Some(value) if value.encode_utf16().count() > MAX_VALUE_LEN => {
                return refuse(format!(
                    "the value of config {} is longer than {MAX_VALUE_LEN} characters",
                    record.name
                ));
            }
            Some(value) => {
                next.insert(record.name.clone(), value.clone());
            }
        }
    }
    validate(context, resource, stored, &next)?;
    if !is_new { check_exists(context, resource) } else { Ok(()) }
}

fn validate(
    context: &Context<'_>,
    resource: &ConfigResource,
    stored: &Properties,
    next: &Properties,
) -> Result<(), ApiError> {
    let request = |message: &str| Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
    match resource.resource_type {
        ResourceType::Topic => {
            if resource.name.is_empty() {
                return request("there are no defaults of all topics to set");
            }
            check_topic_name(&resource.name)?;
            Ok(topic::validate(context.config, stored, next)?)
        }
        ResourceType::Broker => match resource.name.parse::<i32>() {
            _ if resource.name.is_empty() => Ok(()),
            Ok(id) if id < 0 => request("a broker id cannot be negative"),
            Ok(_) => Ok(()),
            Err(_) => request("a broker id must be a number"),
        },
        ResourceType::ClientMetrics => client_metrics::validate(&resource.name, next),
        ResourceType::Group => {
            if resource.name.is_empty() {
                return request("there are no defaults of all groups to set");
            }
            Ok(group::validate(context.config, next)?)
        }
        ResourceType::BrokerLogger => request("log levels are not kept in the metadata"),
    }
}

fn check_exists(context: &Context<'_>, resource: &ConfigResource) -> Result<(), ApiError> {
    match resource.resource_type {
        ResourceType::Topic if context.image.topics.by_name(&resource.name).is_none() => {
            Err(ApiError::new(
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                format!("topic {:?} does not exist", resource.name),
            ))
        }
        ResourceType::Broker if !resource.name.is_empty() => {
            let cluster = &context.image.cluster;
            let known = resource.name.parse::<i32>().is_ok_and(|id| {
                id == context.config.node_id()
                    || cluster.brokers.contains_key(&id)
                    || cluster.controllers.contains_key(&id)
            });
            if known {
                return Ok(());
            }
            Err(ApiError::new(
                ErrorCode::BROKER_ID_NOT_REGISTERED,
                format!("node {} is not registered", resource.name),
            ))
        }
        _ => Ok(()),
    }
}

/// Eligible leader replicas mean nothing any more once `min.insync.replicas` changes. Kafka says so of a new topic, too, which
/// has none.
pub(super) fn with_clear_elr(
    context: &Context<'_>,
    records: Vec<ConfigRecord>,
) -> Vec<MetadataRecord> {
    let mut clear: Vec<MetadataRecord> = Vec::new();
    if context.image.features.elr_enabled() {
        for record in records.iter().filter(|record| record.name == "min.insync.replicas") {
            let topic_name = match ResourceType::from_id(record.resource_type) {
                Some(ResourceType::Topic) => record.resource_name.clone(),
                _ => String::new(),
            };
            clear.push(ClearElrRecord { topic_name, ..ClearElrRecord::default() }.into());
        }
    }
    let mut all: Vec<MetadataRecord> = records.into_iter().map(MetadataRecord::from).collect();
    all.extend(clear);
    all
}
