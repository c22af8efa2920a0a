//! FindCoordinator: which broker a group or a transactional id belongs to.

use thalweg_groups::partition_for;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::find_coordinator_response::Coordinator;
use thalweg_wire::messages::{FindCoordinatorRequest, FindCoordinatorResponse};

use crate::api::context::Context;
use crate::node::view::{BrokerAddress, View};
use thalweg_metadata::controller::{OFFSETS_TOPIC, TRANSACTIONS_TOPIC};

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

pub(super) async fn handle(
    context: Context,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    if context.version < 4 {
        let place = CoordinatorPlace::of(&context, request.key_type).await;
        let found = place.find(&context, request.key);
        return FindCoordinatorResponse {
            error_code: found.error_code,
            error_message: found.error_message,
            node_id: found.node_id,
            host: found.host,
            port: found.port,
            ..Default::default()
        };
    }
    if request.coordinator_keys.is_empty() {
        return FindCoordinatorResponse::default();
    }
    let place = CoordinatorPlace::of(&context, request.key_type).await;
    let keys = request.coordinator_keys.into_iter();
    let coordinators = keys.map(|key| place.find(&context, key)).collect();
    FindCoordinatorResponse { coordinators, ..Default::default() }
}

/// Where the coordinators of all keys of a request are found.
enum CoordinatorPlace {
    /// The leaders of this topic's partitions, of which there are so many.
    Topic(&'static str, u32, View),
    /// Nobody knows, for this reason.
    Unknown(ErrorCode, Option<&'static str>),
}

impl CoordinatorPlace {
    async fn of(context: &Context, key_type: i8) -> CoordinatorPlace {
        let topic = match key_type {
            GROUP => OFFSETS_TOPIC,
            TRANSACTION => TRANSACTIONS_TOPIC,
            _ => {
                let message =
                    "coordinators of groups and of transactions are served by this broker";
                return CoordinatorPlace::Unknown(ErrorCode::INVALID_REQUEST, Some(message));
            }
        };
        let known = {
            let table = context.services.replicas.topics();
            table.by_name(topic).map(|topic| topic.slots().len())
        };
        let partitions = match known {
            Some(partitions) => partitions,
            // The first group or transactional id makes the topic. Kafka answers at once and lets the client ask again;
            // here the topic is there in a moment, so the client is spared the round trip.
            None => match context.services.create_internal_topic(topic).await {
                Ok(partitions) => partitions,
                Err(error) => {
                    tracing::warn!(%error, "the topic of a coordinator could not be created");
                    return CoordinatorPlace::Unknown(ErrorCode::COORDINATOR_NOT_AVAILABLE, None);
                }
            },
        };
        let partitions = u32::try_from(partitions).unwrap_or(0);
        CoordinatorPlace::Topic(topic, partitions, context.services.node.image())
    }

    /// The coordinator of a key.
    fn find(&self, context: &Context, key: String) -> Coordinator {
        let (error_code, message) = match self {
            CoordinatorPlace::Unknown(code, message) => (*code, *message),
            CoordinatorPlace::Topic(topic, partitions, image) => {
                let leader = image.partition_leader(topic, partition_for(&key, *partitions));
                let listener = &context.listener.name;
                match leader.and_then(|leader| image.endpoint(leader, listener)) {
                    Some(node) => return found(key, node),
                    None => (ErrorCode::COORDINATOR_NOT_AVAILABLE, None),
                }
            }
        };
        Coordinator {
            key,
            node_id: -1,
            host: String::new(),
            port: -1,
            error_code,
            error_message: message.map(str::to_owned),
            ..Default::default()
        }
    }
}

fn found(key: String, node: BrokerAddress<'_>) -> Coordinator {
    Coordinator {
        key,
        node_id: node.id,
        host: node.host.to_owned(),
        port: i32::from(node.port),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::testing::{Node, soon};

    /// Counts warnings of topics that could not be made, on the thread that has it.
    struct Refusals(Arc<AtomicUsize>);

    impl tracing::Subscriber for Refusals {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            *metadata.level() == tracing::Level::WARN
                && metadata.target() == "thalweg_broker::control::auto_topics"
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    /// On one thread, so that all that is logged is counted.
    #[tokio::test]
    async fn a_topic_that_cannot_be_made_is_asked_for_once_by_a_request() {
        // There is one broker.
        let node = Node::start(&[("transaction.state.log.replication.factor", "3")]).await;
        let mut client = node.connect().await;
        let refusals = Arc::<AtomicUsize>::default();
        let _counted = tracing::subscriber::set_default(Refusals(Arc::clone(&refusals)));
        let coordinator_keys = (0..100).map(|key| format!("id-{key}")).collect();
        let request = FindCoordinatorRequest {
            key_type: TRANSACTION,
            coordinator_keys,
            ..Default::default()
        };
        let answer = soon("an answer", client.call(&request)).await.unwrap();
        assert_eq!(answer.coordinators.len(), 100);
        for (number, of) in answer.coordinators.iter().enumerate() {
            assert_eq!(of.key, format!("id-{number}"));
            assert_eq!((of.error_code, of.node_id), (ErrorCode::COORDINATOR_NOT_AVAILABLE, -1));
        }
        assert_eq!(refusals.load(Ordering::Relaxed), 1);
        // Whoever asks for nothing has nothing made.
        let nothing = FindCoordinatorRequest { key_type: TRANSACTION, ..Default::default() };
        assert!(soon("an answer", client.call(&nothing)).await.unwrap().coordinators.is_empty());
        assert_eq!(refusals.load(Ordering::Relaxed), 1);
        node.shut_down().await;
    }
}
