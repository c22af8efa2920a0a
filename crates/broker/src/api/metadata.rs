//! Metadata and DescribeTopicPartitions: brokers, topics, who leads what.

use std::collections::BTreeMap;

use thalweg_metadata::image::{Partition, TopicImage};
use thalweg_wire::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use thalweg_wire::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use thalweg_wire::messages::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, MetadataRequest,
    MetadataResponse,
};
use thalweg_wire::{ErrorCode, Uuid};

use crate::api::context::Context;
use crate::node::view::View;
use thalweg_metadata::controller::{is_internal_topic, is_legal_topic_name};

/// "Not asked for", in fields that hold a set of operations.
const OPERATIONS_UNSET: i32 = i32::MIN;

pub(super) async fn handle(context: Context, request: MetadataRequest) -> MetadataResponse {
    let all = match &request.topics {
        None => true,
        // The oldest version says "all" with an empty list.
        Some(topics) => context.version == 0 && topics.is_empty(),
    };
    let wanted = request.topics.unwrap_or_default();
    let mut topics = Vec::new();
    let image = context.services.node.image();

    if all {
        topics.extend(image.topics.iter().map(|topic| describe(&context, &image, topic)));
    } else if wanted.iter().any(|topic| !topic.topic_id.is_zero()) {
        for topic in wanted.iter().filter(|topic| !topic.topic_id.is_zero()) {
            topics.push(match image.topics.by_id(topic.topic_id) {
                Some(known) => describe(&context, &image, known),
                None => MetadataResponseTopic {
                    error_code: ErrorCode::UNKNOWN_TOPIC_ID,
                    name: None,
                    topic_id: topic.topic_id,
                    ..Default::default()
                },
            });
        }
    } else {
        let mut names: Vec<String> = wanted.into_iter().filter_map(|topic| topic.name).collect();
        names.sort();
        names.dedup();
        let missing: Vec<String> =
            names.iter().filter(|name| image.topics.by_name(name).is_none()).cloned().collect();
        let create = request.allow_auto_topic_creation
            && context.services.node.settings().auto_create_topics_enable();
        // They are made meanwhile; a client that needs them asks again.
        let told = match create {
            true => context.services.control.begin_topics(missing, context.client()),
            false => BTreeMap::new(),
        };
        for name in names {
            topics.push(match image.topics.by_name(&name) {
                Some(known) => describe(&context, &image, known),
                None => {
                    let error_code = match told.get(&name) {
                        Some(code) => *code,
                        None if !is_legal_topic_name(&name) => ErrorCode::INVALID_TOPIC_EXCEPTION,
                        None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    };
                    let is_internal = is_internal_topic(&name);
                    MetadataResponseTopic {
                        error_code,
                        name: Some(name),
                        is_internal,
                        ..Default::default()
                    }
                }
            });
        }
    }
    for topic in &mut topics {
        topic.topic_authorized_operations =
            if request.include_topic_authorized_operations && topic.error_code.is_ok() {
                super::operations::TOPIC_OPERATIONS
            } else {
                OPERATIONS_UNSET
            };
    }

    MetadataResponse {
        brokers: image
            .nodes(&context.listener.name)
            .map(|node| MetadataResponseBroker {
                node_id: node.id,
                host: node.host.to_owned(),
                port: i32::from(node.port),
                rack: node.rack.map(str::to_owned),
                ..Default::default()
            })
            .collect(),
        cluster_id: Some(context.services.node.cluster_id().to_owned()),
        // Any broker takes what is meant for the controller.
        controller_id: context.services.node.id(),
        topics,
        cluster_authorized_operations: if request.include_cluster_authorized_operations {
            super::operations::CLUSTER_OPERATIONS
        } else {
            OPERATIONS_UNSET
        },
        ..Default::default()
    }
}

/// A partition's leader and what is wrong with it, as clients of a listener see it.
struct LeaderView {
    error: ErrorCode,
    leader: i32,
    offline: Vec<i32>,
}

fn leader_view(
    context: &Context,
    image: &View,
    partition: &Partition,
    names_errors: bool,
) -> LeaderView {
    let listener = &context.listener.name;
    let offline = partition
        .replicas
        .iter()
        .copied()
        .filter(|&id| {
            let directory = partition.directory(id);
            match image.cluster.broker(id) {
                None => true,
                Some(broker) => {
                    broker.fenced
                        || broker.endpoint(listener).is_none()
                        || directory.is_some_and(|d| !broker.has_online_directory(d))
                }
            }
        })
        .collect();
    let error = if partition.leader < 0 || !image.cluster.is_unfenced(partition.leader) {
        ErrorCode::LEADER_NOT_AVAILABLE
    } else if image.endpoint(partition.leader, listener).is_none() {
        if names_errors { ErrorCode::LISTENER_NOT_FOUND } else { ErrorCode::LEADER_NOT_AVAILABLE }
    } else {
        ErrorCode::NONE
    };
    let leader = if error.is_ok() { partition.leader } else { -1 };
    LeaderView { error, leader, offline }
}

fn describe(context: &Context, image: &View, topic: &TopicImage) -> MetadataResponseTopic {
    let partitions = topic
        .partitions
        .iter()
        .map(|(&partition_index, partition)| {
            let view = leader_view(context, image, partition, context.version >= 6);
            MetadataResponsePartition {
                error_code: view.error,
                partition_index,
                leader_id: view.leader,
                leader_epoch: partition.leader_epoch,
                replica_nodes: partition.replicas.clone(),
                isr_nodes: partition.isr.clone(),
                offline_replicas: view.offline,
                ..Default::default()
            }
        })
        .collect();
    MetadataResponseTopic {
        error_code: ErrorCode::NONE,
        name: Some(topic.name.to_string()),
        topic_id: topic.id,
        is_internal: is_internal_topic(&topic.name),
        partitions,
        ..Default::default()
    }
}

/// A cursor that no answer can have given: every topic that was named gets the error.
fn cursor_refused(names: Vec<String>, fetch_all: bool) -> DescribeTopicPartitionsResponse {
    let named = if fetch_all { Vec::new() } else { names };
    let topics = named
        .into_iter()
        .map(|name| DescribeTopicPartitionsResponseTopic {
            error_code: ErrorCode::INVALID_REQUEST,
            name: Some(name),
            topic_authorized_operations: OPERATIONS_UNSET,
            ..Default::default()
        })
        .collect();
    DescribeTopicPartitionsResponse { topics, ..Default::default() }
}

/// Pages through topics in the order of their names (KIP-966).
pub(super) async fn describe_topic_partitions(
    context: Context,
    request: DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let image = context.services.node.image();
    let limit = context.services.node.settings().max_request_partition_size_limit();
    let mut left = usize::try_from(request.response_partition_limit)
        .unwrap_or(0)
        .clamp(1, usize::try_from(limit).unwrap_or(2000).max(1));
    let fetch_all = request.topics.is_empty();
    let mut names: Vec<String> = if fetch_all {
        image.topics.iter().map(|topic| topic.name.to_string()).collect()
    } else {
        request.topics.into_iter().map(|topic| topic.name).collect()
    };
    names.sort();
    names.dedup();
    let mut first_partition = 0;
    let mut cursor_topic = None;
    if let Some(cursor) = request.cursor {
        if cursor.partition_index < 0 || !fetch_all && !names.contains(&cursor.topic_name) {
            return cursor_refused(names, fetch_all);
        }
        names.retain(|name| *name >= cursor.topic_name);
        first_partition = cursor.partition_index;
        cursor_topic = Some(cursor.topic_name);
    }

    let mut response = DescribeTopicPartitionsResponse::default();
    for name in names {
        if left == 0 {
            response.next_cursor =
                Some(Cursor { topic_name: name, partition_index: 0, ..Default::default() });
            break;
        }
        let start = if cursor_topic.as_deref() == Some(&*name) { first_partition } else { 0 };
        let internal = is_internal_topic(&name);
        let Some(topic) = image.topics.by_name(&name) else {
            if is_legal_topic_name(&name) || !fetch_all {
                response.topics.push(DescribeTopicPartitionsResponseTopic {
                    error_code: if is_legal_topic_name(&name) {
                        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                    } else {
                        ErrorCode::INVALID_TOPIC_EXCEPTION
                    },
                    name: Some(name),
                    topic_id: Uuid::ZERO,
                    is_internal: internal,
                    topic_authorized_operations: super::operations::TOPIC_OPERATIONS,
                    ..Default::default()
                });
            }
            continue;
        };
        let mut partitions = Vec::new();
        let mut next = None;
        for (&partition_index, partition) in topic.partitions.range(start..) {
            if left == 0 {
                next = Some(partition_index);
                break;
            }
            left -= 1;
            let view = leader_view(&context, &image, partition, true);
            partitions.push(DescribeTopicPartitionsResponsePartition {
                error_code: view.error,
                partition_index,
                leader_id: view.leader,
                leader_epoch: partition.leader_epoch,
                replica_nodes: partition.replicas.clone(),
                isr_nodes: partition.isr.clone(),
                eligible_leader_replicas: Some(partition.elr.clone()),
                last_known_elr: Some(partition.last_known_elr.clone()),
                offline_replicas: view.offline,
                ..Default::default()
            });
        }
        response.topics.push(DescribeTopicPartitionsResponseTopic {
            error_code: ErrorCode::NONE,
            name: Some(name.clone()),
            topic_id: topic.id,
            is_internal: internal,
            partitions,
            topic_authorized_operations: super::operations::TOPIC_OPERATIONS,
            ..Default::default()
        });
        if let Some(partition_index) = next {
            response.next_cursor =
                Some(Cursor { topic_name: name, partition_index, ..Default::default() });
            break;
        }
    }
    response
}
