//! One broker: its five rooms. How metadata takes effect on them: `replicas::publisher`.

use std::sync::Arc;
use std::time::Duration;

use thalweg_log::LogManager;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::{ErrorCode, Uuid};

use crate::api::front::Front;
use crate::control::Control;
use crate::control::kraft::Controller;
use crate::control::producer_ids::ProducerIds;
use crate::coordination::Coordination;
use crate::coordination::groups::Groups;
use crate::coordination::transaction_coordinator::TransactionCoordinator;
use crate::net::allowed::Connections;
use crate::node::Node;
use crate::node::clock::Clock;
use crate::node::loggers::LogLevels;
use crate::node::random::Random;
use crate::replicas::Replicas;

/// How long a stop waits for the answers to what is being served.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The rooms of a broker.
pub(crate) struct Broker {
    pub(crate) node: Arc<Node>,
    pub(crate) control: Arc<Control>,
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) coordination: Arc<Coordination>,
    pub(crate) front: Arc<Front>,
}

/// What a broker is made of.
pub(crate) struct Parts {
    pub(crate) cluster_id: String,
    pub(crate) metadata_directory: Uuid,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) logs: LogManager,
    pub(crate) groups: Groups,
    pub(crate) coordinated: TransactionCoordinator,
    pub(crate) producer_ids: Arc<ProducerIds>,
    pub(crate) controller: Controller,
    pub(crate) connections: Arc<Connections>,
    pub(crate) config: BrokerConfig,
    pub(crate) image: Arc<MetadataImage>,
    pub(crate) fetch_memory: usize,
    pub(crate) log_levels: Option<Arc<dyn LogLevels>>,
}

impl Broker {
    pub(crate) fn new(parts: Parts) -> Arc<Broker> {
        let front = Front::new(&parts.config, parts.connections, parts.fetch_memory);
        let node = Node::new(
            parts.cluster_id,
            parts.clock,
            parts.random,
            parts.log_levels,
            parts.config,
            parts.image,
        );
        Arc::new(Broker {
            control: Control::new(
                Arc::clone(&node),
                parts.metadata_directory,
                parts.controller,
                parts.producer_ids,
            ),
            replicas: Replicas::new(Arc::clone(&node), parts.logs),
            coordination: Coordination::new(parts.groups, parts.coordinated),
            front,
            node,
        })
    }

    /// Has everything answered that waits, and waits until that is done, but not for ever.
    pub(crate) async fn answer_all(&self) {
        self.coordination.groups().close();
        self.coordination.coordinated().close();
        for topic in self.replicas.topics().iter() {
            // Producers go on with the next leader.
            let code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
            topic.partitions().for_each(|partition| partition.answer_waiting(code));
        }
        let answered = tokio::time::timeout(ANSWER_TIMEOUT, self.front.closed()).await;
        if answered.is_err() {
            tracing::warn!(
                connections = self.front.connection_count(),
                "requests that wait for a disk are not answered"
            );
        }
        self.front.cut_off();
    }

    /// Makes an internal topic with its own settings; gives the partitions it has.
    pub(crate) async fn create_internal_topic(
        self: &Arc<Self>,
        name: &'static str,
    ) -> Result<usize, String> {
        let refused = crate::control::auto_topics::create(self, &[name.to_owned()], None)
            .await
            .map_err(|error| error.to_string())?;
        let table = self.replicas.topics();
        match table.by_name(name) {
            Some(topic) => Ok(topic.slots().len()),
            None => Err(refused
                .get(name)
                .map_or_else(|| "the topic was not created".into(), |code| code.to_string())),
        }
    }
}
