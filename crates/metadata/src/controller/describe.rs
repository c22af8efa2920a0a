//! Answers about cluster and configs that need nothing but image and configuration.

use thalweg_wire::messages::describe_cluster_request::DescribeClusterRequest;
use thalweg_wire::messages::describe_cluster_response::{
    DescribeClusterBroker, DescribeClusterResponse,
};
use thalweg_wire::messages::describe_configs_request::{
    DescribeConfigsRequest, DescribeConfigsResource,
};
use thalweg_wire::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResponse, DescribeConfigsResult,
    DescribeConfigsSynonym,
};
use thalweg_wire::messages::describe_quorum_request::DescribeQuorumRequest;
use thalweg_wire::messages::describe_quorum_response::{
    DescribeQuorumResponse, Listener, Node, PartitionData, ReplicaState, TopicData,
};
use thalweg_wire::messages::list_config_resources_request::ListConfigResourcesRequest;
use thalweg_wire::messages::list_config_resources_response::{
    ConfigResource as ListedResource, ListConfigResourcesResponse,
};
use thalweg_wire::{ErrorCode, Uuid};

use super::{Context, METADATA_TOPIC, check_topic_name};
use crate::ApiError;
use crate::config::describe::{self, Described};
use crate::image::{ConfigResource, ResourceType};

/// Describes configs of topics, groups, client metrics subscriptions and this broker.
pub fn describe_configs(
    context: &Context<'_>,
    request: &DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let results = request
        .resources
        .iter()
        .map(|resource| {
            let described = described(context, resource);
            let (error, configs) = match described {
                Ok(configs) => (ApiError::NONE, configs),
                Err(error) => (error, Vec::new()),
            };
            DescribeConfigsResult {
                error_code: error.code,
                // Empty rather than null where nothing is wrong, as Kafka has it.
                error_message: Some(error.message.unwrap_or_default()),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                configs: configs.into_iter().map(|config| entry(config, request)).collect(),
                ..DescribeConfigsResult::default()
            }
        })
        .collect();
    DescribeConfigsResponse { results, ..DescribeConfigsResponse::default() }
}

fn entry(config: Described, request: &DescribeConfigsRequest) -> DescribeConfigsResourceResult {
    let synonyms = match request.include_synonyms {
        true => config
            .synonyms
            .into_iter()
            .map(|synonym| DescribeConfigsSynonym {
                name: synonym.name,
                value: synonym.value,
                source: synonym.source as i8,
                ..DescribeConfigsSynonym::default()
            })
            .collect(),
        false => Vec::new(),
    };
    DescribeConfigsResourceResult {
        name: config.name,
        value: config.value,
        read_only: config.read_only,
        config_source: config.source as i8,
        is_sensitive: config.is_sensitive,
        synonyms,
        config_type: config.config_type.map_or(0, |config_type| config_type.wire_id()),
        documentation: config.documentation.filter(|_| request.include_documentation),
        ..DescribeConfigsResourceResult::default()
    }
}

fn described(
    context: &Context<'_>,
    resource: &DescribeConfigsResource,
) -> Result<Vec<Described>, ApiError> {
    let request = |message: String| ApiError::new(ErrorCode::INVALID_REQUEST, message);
    let name = resource.resource_name.as_str();
    let keys: Option<Vec<&str>> =
        resource.configuration_keys.as_ref().map(|keys| keys.iter().map(String::as_str).collect());
    let wanted = keys.as_deref();
    let kind = ResourceType::from_id(resource.resource_type).ok_or_else(|| {
        request(format!("resource type {} does not exist", resource.resource_type))
    })?;
    let set = || {
        let resource = ConfigResource { resource_type: kind, name: name.to_owned() };
        context.image.configs.properties(&resource)
    };
    match kind {
        ResourceType::Topic => {
            check_topic_name(name)?;
            if context.image.topics.by_name(name).is_none() {
                return Err(ApiError::new(
                    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    format!("there is no topic {name:?}"),
                ));
            }
            Ok(describe::topic(context.config, &set(), wanted)?)
        }
        ResourceType::Group if name.is_empty() => Err(request("a group must have a name".into())),
        ResourceType::Group => Ok(describe::group(context.config, &set(), wanted)?),
        ResourceType::ClientMetrics if name.is_empty() => {
            Err(request("a client metrics subscription must have a name".into()))
        }
        ResourceType::ClientMetrics => Ok(describe::client_metrics(&set(), wanted)?),
        ResourceType::Broker if name.is_empty() => {
            Ok(describe::broker_defaults(context.config, wanted))
        }
        ResourceType::Broker => {
            let node_id = context.config.node_id();
            match name.parse::<i32>() {
                Ok(id) if id == node_id => Ok(describe::broker(context.config, wanted)),
                Ok(_) => Err(request(format!(
                    "Unexpected broker id, expected {node_id} or empty string, but received {name}"
                ))),
                Err(_) => Err(request(format!("Broker id must be an integer, but it is: {name}"))),
            }
        }
        // They are no metadata: the broker that is asked says what they are.
        ResourceType::BrokerLogger => Ok(Vec::new()),
    }
}

/// Lists resources that can have configs. Version 0 of the request knows client metrics only.
pub fn list_config_resources(
    context: &Context<'_>,
    request: &ListConfigResourcesRequest,
    version: i16,
) -> ListConfigResourcesResponse {
    use ResourceType::{Broker, BrokerLogger, ClientMetrics, Group, Topic};
    let known: &[ResourceType] = match version {
        0 => &[ClientMetrics],
        _ => &[Topic, Broker, BrokerLogger, ClientMetrics, Group],
    };
    let mut wanted = Vec::new();
    for id in &request.resource_types {
        match ResourceType::from_id(*id).filter(|kind| known.contains(kind)) {
            Some(kind) => wanted.push(kind),
            None => {
                return ListConfigResourcesResponse {
                    error_code: ErrorCode::UNSUPPORTED_VERSION,
                    ..ListConfigResourcesResponse::default()
                };
            }
        }
    }
    if wanted.is_empty() {
        wanted = known.to_vec();
    }
    let mut resources = Vec::new();
    for kind in [Group, ClientMetrics, BrokerLogger, Broker, Topic] {
        if !wanted.contains(&kind) {
            continue;
        }
        let names: Vec<String> = match kind {
            Group | ClientMetrics => context
                .image
                .configs
                .iter()
                .filter(|(resource, _)| resource.resource_type == kind)
                .map(|(resource, _)| resource.name.clone())
                .collect(),
            Broker | BrokerLogger => {
                context.image.cluster.brokers.keys().map(i32::to_string).collect()
            }
            Topic => context.image.topics.iter().map(|topic| topic.name.to_string()).collect(),
        };
        resources.extend(names.into_iter().map(|resource_name| ListedResource {
            resource_name,
            resource_type: kind.id(),
            ..ListedResource::default()
        }));
    }
    ListConfigResourcesResponse {
        config_resources: resources,
        ..ListConfigResourcesResponse::default()
    }
}

/// Describes the cluster to somebody who came through `listener`. Brokers without such a listener
/// are left out.
pub fn describe_cluster(
    context: &Context<'_>,
    request: &DescribeClusterRequest,
    cluster_id: &str,
    listener: &str,
    version: i16,
) -> DescribeClusterResponse {
    let refuse = |code, message: &str| DescribeClusterResponse {
        error_code: if version == 0 { ErrorCode::INVALID_REQUEST } else { code },
        error_message: Some(message.to_owned()),
        ..DescribeClusterResponse::default()
    };
    match request.endpoint_type {
        1 => {}
        2 => {
            return refuse(
                ErrorCode::MISMATCHED_ENDPOINT_TYPE,
                "this is a broker's listener, not a controller's",
            );
        }
        _ => return refuse(ErrorCode::UNSUPPORTED_ENDPOINT_TYPE, "the endpoint type is unknown"),
    }
    let brokers: Vec<DescribeClusterBroker> = context
        .image
        .cluster
        .brokers
        .values()
        .filter(|broker| !broker.fenced || request.include_fenced_brokers)
        .filter_map(|broker| {
            let endpoint = broker.endpoint(listener)?;
            Some(DescribeClusterBroker {
                broker_id: broker.id,
                host: endpoint.host.clone(),
                port: i32::from(endpoint.port),
                rack: broker.rack.clone(),
                is_fenced: broker.fenced,
                ..DescribeClusterBroker::default()
            })
        })
        .collect();
    let node_id = context.config.node_id();
    let controller_id = match brokers.iter().any(|broker| broker.broker_id == node_id) {
        true => node_id,
        false => brokers.iter().find(|broker| !broker.is_fenced).map_or(-1, |b| b.broker_id),
    };
    DescribeClusterResponse {
        error_message: None,
        endpoint_type: 1,
        cluster_id: cluster_id.to_owned(),
        controller_id,
        brokers,
        cluster_authorized_operations: match request.include_cluster_authorized_operations {
            // Without an authorizer everything is allowed that a cluster knows: create 5, alter 7,
            // describe 8, cluster-action 9, describe-configs 10, alter-configs 11,
            // idempotent-write 12, as bits.
            true => 0b1_1111_1010_0000,
            false => i32::MIN,
        },
        ..DescribeClusterResponse::default()
    }
}

/// The quorum as its only voter sees it.
#[derive(Debug, Clone, Copy)]
pub struct QuorumState {
    /// Epoch of the leader, which is this node.
    pub epoch: i32,
    /// High watermark of the metadata log.
    pub high_watermark: i64,
    /// End of the metadata log.
    pub log_end_offset: i64,
    /// Id of the directory with the metadata log.
    pub directory_id: Uuid,
    /// Milliseconds since the epoch.
    pub now_ms: i64,
}

/// Describes the quorum of one.
pub fn describe_quorum(
    context: &Context<'_>,
    request: &DescribeQuorumRequest,
    state: QuorumState,
    version: i16,
) -> DescribeQuorumResponse {
    let asked = match &request.topics[..] {
        [topic] => match &topic.partitions[..] {
            [partition] => topic.topic_name == METADATA_TOPIC && partition.partition_index == 0,
            _ => false,
        },
        _ => false,
    };
    if !asked {
        let topics = request
            .topics
            .iter()
            .map(|topic| TopicData {
                topic_name: topic.topic_name.clone(),
                partitions: topic
                    .partitions
                    .iter()
                    .map(|partition| PartitionData {
                        partition_index: partition.partition_index,
                        error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                        ..PartitionData::default()
                    })
                    .collect(),
                ..TopicData::default()
            })
            .collect();
        return DescribeQuorumResponse { topics, ..DescribeQuorumResponse::default() };
    }
    let node_id = context.config.node_id();
    let voter = ReplicaState {
        replica_id: node_id,
        replica_directory_id: if version >= 2 { state.directory_id } else { Uuid::ZERO },
        log_end_offset: state.log_end_offset,
        last_fetch_timestamp: state.now_ms,
        last_caught_up_timestamp: state.now_ms,
        ..ReplicaState::default()
    };
    let listeners = context.config.advertised_controller_listeners().iter();
    let node = Node {
        node_id,
        listeners: listeners
            .map(|endpoint| Listener {
                name: endpoint.listener.clone(),
                host: endpoint.host.clone().unwrap_or_default(),
                port: endpoint.port,
                ..Listener::default()
            })
            .collect(),
        ..Node::default()
    };
    DescribeQuorumResponse {
        topics: vec![TopicData {
            topic_name: METADATA_TOPIC.to_owned(),
            partitions: vec![PartitionData {
                partition_index: 0,
                leader_id: node_id,
                leader_epoch: state.epoch,
                high_watermark: state.high_watermark,
                current_voters: vec![voter],
                ..PartitionData::default()
            }],
            ..TopicData::default()
        }],
        nodes: if version >= 2 { vec![node] } else { Vec::new() },
        ..DescribeQuorumResponse::default()
    }
}
