//! Topics that are made because somebody needs them: named by a client, or internal ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thalweg_metadata::controller::create_topics;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::CreateTopicsRequest;
use thalweg_wire::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};

use crate::broker::Broker;
use crate::coordinators::groups;
use crate::kraft::ControllerError;
use crate::topic_names::{is_internal, is_valid};

/// Makes the topics; gives what clients are told of those that could not be made.
pub(crate) async fn create(
    broker: &Arc<Broker>,
    names: &[String],
) -> Result<BTreeMap<String, ErrorCode>, ControllerError> {
    let mut refused = BTreeMap::new();
    let mut topics = Vec::new();
    for name in names {
        if !is_valid(name) {
            refused.insert(name.clone(), ErrorCode::INVALID_TOPIC_EXCEPTION);
        } else {
            topics.push(creatable(broker, name));
        }
    }
    if topics.is_empty() {
        return Ok(refused);
    }
    let timeout_ms = broker.settings().request_timeout_ms();
    let request = CreateTopicsRequest { topics, timeout_ms, ..Default::default() };
    let decision = broker
        .decide(move |context, random| create_topics(context, &request, &mut || random.u64()));
    // A decision that has begun is carried out; its topics are there for the next one who asks.
    let limit = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
    let response =
        tokio::time::timeout(limit, decision).await.map_err(|_| ControllerError::TimedOut)??;
    for topic in response.topics {
        match topic.error_code {
            ErrorCode::NONE | ErrorCode::TOPIC_ALREADY_EXISTS => {}
            // Only the name is the client's fault; the rest it may try again, as in Kafka.
            ErrorCode::INVALID_TOPIC_EXCEPTION => {
                refused.insert(topic.name, ErrorCode::INVALID_TOPIC_EXCEPTION);
            }
            other => {
                tracing::warn!(topic = topic.name, error = %other, message = topic.error_message,
                    "a topic could not be created");
                let code = if other == ErrorCode::INVALID_REPLICATION_FACTOR {
                    ErrorCode::INVALID_REPLICATION_FACTOR
                } else {
                    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                };
                refused.insert(topic.name, code);
            }
        }
    }
    Ok(refused)
}

fn creatable(broker: &Broker, name: &str) -> CreatableTopic {
    let settings = broker.settings();
    if !is_internal(name) {
        return CreatableTopic {
            name: name.to_owned(),
            num_partitions: -1,
            replication_factor: -1,
            ..Default::default()
        };
    }
    let config = |name: &str, value: String| CreatableTopicConfig {
        name: name.to_owned(),
        value: Some(value),
        ..Default::default()
    };
    let (partitions, replicas, configs) = match name {
        groups::TOPIC => (
            settings.offsets_topic_partitions(),
            settings.offsets_topic_replication_factor(),
            vec![
                config("cleanup.policy", "compact".into()),
                config("compression.type", "producer".into()),
                config("segment.bytes", settings.offsets_topic_segment_bytes().to_string()),
            ],
        ),
        // Their coordinators are not here; whoever creates them by name gets an ordinary topic.
        _ => (-1, -1, vec![config("cleanup.policy", "compact".into())]),
    };
    CreatableTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: replicas,
        configs,
        ..Default::default()
    }
}
