//! The rooms of a broker, for requests: the only code that reaches all of them, beside the start.

use std::sync::Arc;
use std::time::Duration;

use crate::api::front::Front;
use crate::control::Control;
use crate::coordination::Coordination;
use crate::node::Node;
use crate::replicas::Replicas;

/// How long a stop waits for the answers to what is being served.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The rooms of a broker.
pub(crate) struct Services {
    pub(crate) node: Arc<Node>,
    pub(crate) control: Arc<Control>,
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) coordination: Arc<Coordination>,
    pub(crate) front: Arc<Front>,
}

impl Services {
    /// Has everything answered that waits, and waits until that is done, but not for ever.
    pub(crate) async fn answer_all(&self) {
        self.coordination.close();
        self.replicas.answer_waiting();
        let sockets = self.front.sockets();
        if tokio::time::timeout(ANSWER_TIMEOUT, sockets.closed()).await.is_err() {
            // The target is the crate: a stop is the broker's, not an API's.
            tracing::warn!(
                target: "thalweg_broker",
                connections = sockets.connection_count(),
                "requests that wait for a disk are not answered"
            );
        }
        sockets.cut_off();
    }

    /// Makes an internal topic with its own settings; gives the partitions it has.
    pub(crate) async fn create_internal_topic(&self, name: &'static str) -> Result<usize, String> {
        let refused = crate::control::auto_topics::create(&self.control, &[name.to_owned()], None)
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
