//! Topics that are made because somebody needs them: named by a client, or internal ones.
//!
//! A client that names a topic is told UNKNOWN_TOPIC_OR_PARTITION, and the topic is made meanwhile:
//! it asks again, as it does with Kafka.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_metadata::controller::create_topics;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::CreateTopicsRequest;
use thalweg_wire::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};

use crate::broker::Broker;
use crate::coordinators::groups;
use crate::kraft::ControllerError;
use crate::topic_names::is_valid;

/// Topics that are being made at a time because clients named them. Who names one more asks again.
const IN_FLIGHT_MAX: usize = 10_000;

/// The topics that are being made because clients named them.
#[derive(Debug, Default)]
pub(crate) struct AutoTopics {
    in_flight: Mutex<HashSet<String>>,
}

impl AutoTopics {
    /// Begins to make topics that do not exist; gives what a client is told of each.
    pub(crate) fn begin(
        &self,
        broker: &Arc<Broker>,
        names: Vec<String>,
    ) -> BTreeMap<String, ErrorCode> {
        let mut told = BTreeMap::new();
        let mut begun = Vec::new();
        {
            let mut in_flight = self.in_flight.lock();
            for name in names {
                let code = match is_valid(&name) {
                    true => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    false => ErrorCode::INVALID_TOPIC_EXCEPTION,
                };
                told.insert(name.clone(), code);
                let is_wanted = code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                    && in_flight.len() < IN_FLIGHT_MAX;
                if is_wanted && in_flight.insert(name.clone()) {
                    begun.push(name);
                }
            }
        }
        if !begun.is_empty() {
            let begun = Begun { broker: Arc::clone(broker), names: begun };
            tokio::spawn(async move {
                if let Err(error) = create(&begun.broker, &begun.names).await {
                    tracing::warn!(%error, "topics could not be created");
                }
            });
        }
        told
    }
}

/// Topics that are being made, until that is done or given up.
struct Begun {
    broker: Arc<Broker>,
    names: Vec<String>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut in_flight = self.broker.auto_topics.in_flight.lock();
        for name in &self.names {
            in_flight.remove(name);
        }
    }
}

/// Makes the topics; gives the reason for each that could not be made.
pub(crate) async fn create(
    broker: &Arc<Broker>,
    names: &[String],
) -> Result<BTreeMap<String, ErrorCode>, ControllerError> {
    let mut refused = BTreeMap::new();
    let topics = names.iter().map(|name| creatable(broker, name)).collect();
    let timeout_ms = broker.settings().request_timeout_ms();
    let request = CreateTopicsRequest { topics, timeout_ms, ..Default::default() };
    let decision = broker
        .decide(move |context, random| create_topics(context, &request, &mut || random.u64()));
    // A decision that has begun is carried out; its topics are there for the next one who asks.
    let limit = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
    let response =
        tokio::time::timeout(limit, decision).await.map_err(|_| ControllerError::TimedOut)??;
    for topic in response.topics {
        if !matches!(topic.error_code, ErrorCode::NONE | ErrorCode::TOPIC_ALREADY_EXISTS) {
            tracing::warn!(topic = topic.name, error = %topic.error_code,
                message = topic.error_message, "a topic could not be created");
            refused.insert(topic.name, topic.error_code);
        }
    }
    Ok(refused)
}

fn creatable(broker: &Broker, name: &str) -> CreatableTopic {
    let settings = broker.settings();
    let value = |name: &str| settings.value(name).map(|value| value.to_text());
    let number = |name: &str| value(name).and_then(|text| text.parse().ok());
    let config = |name: &str, value: String| CreatableTopicConfig {
        name: name.to_owned(),
        value: Some(value),
        ..Default::default()
    };
    let compacted = |compression: &str| {
        vec![
            config("cleanup.policy", "compact".into()),
            config("compression.type", compression.into()),
        ]
    };
    // As their coordinators would make them, whoever names them first: the number of partitions
    // decides where everything lies, and cannot be changed later.
    let (partitions, replicas, configs) = match name {
        groups::TOPIC => {
            let mut configs = compacted("producer");
            let segment = settings.offsets_topic_segment_bytes().to_string();
            configs.push(config("segment.bytes", segment));
            let replicas = settings.offsets_topic_replication_factor();
            (settings.offsets_topic_partitions(), replicas, configs)
        }
        "__transaction_state" => {
            let mut configs = compacted("uncompressed");
            configs.push(config("unclean.leader.election.enable", "false".into()));
            let min_isr = value("transaction.state.log.min.isr");
            let segment = value("transaction.state.log.segment.bytes");
            configs.extend(min_isr.map(|value| config("min.insync.replicas", value)));
            configs.extend(segment.map(|value| config("segment.bytes", value)));
            let partitions = number("transaction.state.log.num.partitions");
            let replicas = number("transaction.state.log.replication.factor");
            (partitions.unwrap_or(-1), replicas.and_then(to_i16).unwrap_or(-1), configs)
        }
        "__share_group_state" => {
            let mut configs = vec![
                config("cleanup.policy", "delete".into()),
                config("compression.type", "producer".into()),
            ];
            let min_isr = value("share.coordinator.state.topic.min.isr");
            let segment = value("share.coordinator.state.topic.segment.bytes");
            configs.extend(min_isr.map(|value| config("min.insync.replicas", value)));
            configs.extend(segment.map(|value| config("segment.bytes", value)));
            configs.push(config("retention.ms", "-1".into()));
            let partitions = number("share.coordinator.state.topic.num.partitions");
            let replicas = number("share.coordinator.state.topic.replication.factor");
            (partitions.unwrap_or(-1), replicas.and_then(to_i16).unwrap_or(-1), configs)
        }
        _ => (-1, -1, Vec::new()),
    };
    CreatableTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: replicas,
        configs,
        ..Default::default()
    }
}

fn to_i16(number: i32) -> Option<i16> {
    i16::try_from(number).ok()
}
