//! FindCoordinator: which broker a group or a transactional id belongs to.

use thalweg_groups::partition_for;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::find_coordinator_response::Coordinator;
use thalweg_wire::messages::{FindCoordinatorRequest, FindCoordinatorResponse};

use crate::api::request::Context;
use crate::view::Node;
use thalweg_metadata::controller::{OFFSETS_TOPIC, TRANSACTIONS_TOPIC};

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

pub(super) async fn handle(
    context: Context,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    if context.version < 4 {
        let found = find(&context, request.key_type, request.key).await;
        return FindCoordinatorResponse {
            error_code: found.error_code,
            error_message: found.error_message,
            node_id: found.node_id,
            host: found.host,
            port: found.port,
            ..Default::default()
        };
    }
    let mut coordinators = Vec::with_capacity(request.coordinator_keys.len());
    for key in request.coordinator_keys {
        coordinators.push(find(&context, request.key_type, key).await);
    }
    FindCoordinatorResponse { coordinators, ..Default::default() }
}

async fn find(context: &Context, key_type: i8, key: String) -> Coordinator {
    let refuse = |key: String, error_code: ErrorCode, message: Option<&str>| Coordinator {
        key,
        node_id: -1,
        host: String::new(),
        port: -1,
        error_code,
        error_message: message.map(str::to_owned),
        ..Default::default()
    };
    let internal = match key_type {
        GROUP => OFFSETS_TOPIC,
        TRANSACTION => TRANSACTIONS_TOPIC,
        _ => {
            let message = "coordinators of groups and of transactions are served by this broker";
            return refuse(key, ErrorCode::INVALID_REQUEST, Some(message));
        }
    };
    let partitions = {
        let table = context.broker.topics();
        table.by_name(internal).map(|topic| topic.slots().len())
    };
    let partitions = match partitions {
        Some(partitions) => partitions,
        // The first group or transactional id makes the topic. Kafka answers at once and lets the client ask again;
        // here the topic is there in a moment, so the client is spared the round trip.
        None => match context.broker.create_internal_topic(internal).await {
            Ok(partitions) => partitions,
            Err(error) => {
                tracing::warn!(%error, "the topic of a coordinator could not be created");
                return refuse(key, ErrorCode::COORDINATOR_NOT_AVAILABLE, None);
            }
        },
    };
    let index = partition_for(&key, u32::try_from(partitions).unwrap_or(0));
    let image = context.broker.image();
    let leader = image.partition_leader(internal, index);
    let node = leader.and_then(|leader| image.endpoint(leader, &context.listener.name));
    match node {
        Some(node) => found(key, node),
        None => refuse(key, ErrorCode::COORDINATOR_NOT_AVAILABLE, None),
    }
}

fn found(key: String, node: Node<'_>) -> Coordinator {
    Coordinator {
        key,
        node_id: node.id,
        host: node.host.to_owned(),
        port: i32::from(node.port),
        ..Default::default()
    }
}
