//! Topics that are created on demand: topics that a client names, and internal ones.
//!
//! A client that names a topic is told UNKNOWN_TOPIC_OR_PARTITION, and the topic is made meanwhile:
//! it asks again, as it does with Kafka.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_metadata::controller::is_legal_topic_name;
use thalweg_wire::messages::CreateTopicsRequest;
use thalweg_wire::messages::create_topics_request::CreatableTopic;
use thalweg_wire::{ErrorCode, Message};

use crate::control::Control;
use crate::control::kraft::{Client, ControllerError};
use crate::node::internal_topics::InternalTopic;

/// Topics that are being made at a time because clients named them. Who names one more asks again.
const IN_FLIGHT_MAX: usize = 10_000;

/// The topics that are being made because clients named them.
#[derive(Debug, Default)]
pub(crate) struct AutoTopics {
    in_flight: Mutex<HashSet<String>>,
}

impl AutoTopics {
    /// Begins to make topics that do not exist and that a client has named; gives what it is told of
    /// each.
    fn begin(
        &self,
        control: &Arc<Control>,
        names: Vec<String>,
        client: Client,
    ) -> BTreeMap<String, ErrorCode> {
        let mut told = BTreeMap::new();
        let mut begun = Vec::new();
        {
            let mut in_flight = self.in_flight.lock();
            for name in names {
                let code = match is_legal_topic_name(&name) {
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
            let begun = Begun { control: Arc::clone(control), names: begun };
            tokio::spawn(async move {
                if let Err(error) = create(&begun.control, &begun.names, Some(&client)).await {
                    tracing::warn!(%error, "topics could not be created");
                }
            });
        }
        told
    }
}

impl Control {
    /// Begins to make topics that do not exist and that a client has named; gives the code of each for the client.
    pub(crate) fn begin_topics(
        self: &Arc<Self>,
        names: Vec<String>,
        client: Client,
    ) -> BTreeMap<String, ErrorCode> {
        self.auto_topics.begin(self, names, client)
    }
}

/// Topics that are being made, until that is done or given up.
struct Begun {
    control: Arc<Control>,
    names: Vec<String>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut in_flight = self.control.auto_topics.in_flight.lock();
        for name in &self.names {
            in_flight.remove(name);
        }
    }
}

/// Makes the topics, in the name of the client that named them or of the broker; gives the reason
/// for each that could not be made.
pub(crate) async fn create(
    control: &Control,
    names: &[String],
    client: Option<&Client>,
) -> Result<BTreeMap<String, ErrorCode>, ControllerError> {
    let mut refused = BTreeMap::new();
    let topics = names.iter().map(|name| creatable(control, name)).collect();
    let timeout_ms = control.node.settings().request_timeout_ms();
    let request = CreateTopicsRequest { topics, timeout_ms, ..Default::default() };
    let decision = async {
        match client {
            Some(client) => {
                let version = CreateTopicsRequest::MAX_VERSION;
                control.forward(Arc::new(request), version, client).await
            }
            None => control.send(request).await,
        }
    };
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

fn creatable(control: &Control, name: &str) -> CreatableTopic {
    match InternalTopic::named(name) {
        // As its coordinator would make it, whoever names it first.
        Some(topic) => topic.creatable(&control.node.settings()),
        // By this broker's settings, which may be others than the controllers'.
        None => {
            let settings = control.node.settings();
            let factor = settings.config.default_replication_factor();
            CreatableTopic {
                name: name.to_owned(),
                num_partitions: settings.config.num_partitions(),
                replication_factor: i16::try_from(factor).unwrap_or(-1),
                ..Default::default()
            }
        }
    }
}
