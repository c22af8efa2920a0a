//! The node's side of the cluster's control plane: its controller, its registration, and the requests that it sends to
//! the controller in its own name.

pub(crate) mod auto_topics;
pub(crate) mod directories;
pub(crate) mod kraft;
pub(crate) mod membership;
pub(crate) mod producer_ids;
pub(crate) mod registration;

use std::sync::Arc;

use thalweg_wire::Uuid;

use crate::node::Node;
use auto_topics::AutoTopics;
use directories::Directories;
use kraft::Controller;
use producer_ids::ProducerIds;

/// The node's controller, and its requests to it.
pub(crate) struct Control {
    node: Arc<Node>,
    /// Directory of the metadata log.
    metadata_directory: Uuid,
    controller: Controller,
    producer_ids: Arc<ProducerIds>,
    directories: Directories,
    /// Held while a heartbeat is in flight, so that the next one reports a later state.
    heartbeat: tokio::sync::Mutex<()>,
    auto_topics: AutoTopics,
}

impl Control {
    pub(crate) fn new(
        node: Arc<Node>,
        metadata_directory: Uuid,
        controller: Controller,
        producer_ids: Arc<ProducerIds>,
    ) -> Arc<Control> {
        Arc::new(Control {
            node,
            metadata_directory,
            controller,
            producer_ids,
            directories: Directories::default(),
            heartbeat: tokio::sync::Mutex::default(),
            auto_topics: AutoTopics::default(),
        })
    }

    /// Id of the directory of the metadata log.
    pub(crate) fn metadata_directory(&self) -> Uuid {
        self.metadata_directory
    }

    pub(crate) fn controller(&self) -> &Controller {
        &self.controller
    }

    pub(crate) fn producer_ids(&self) -> &Arc<ProducerIds> {
        &self.producer_ids
    }

    pub(crate) fn directories(&self) -> &Directories {
        &self.directories
    }

    pub(crate) fn auto_topics(&self) -> &AutoTopics {
        &self.auto_topics
    }

    /// The epoch of this broker's registration, which its requests to the controller carry; -1 before there is one.
    pub(crate) fn epoch(&self) -> i64 {
        match self.controller.remote() {
            Some(remote) => remote.life.epoch(),
            None => {
                let image = self.node.image();
                image.cluster.broker(self.node.id()).map_or(-1, |broker| broker.epoch)
            }
        }
    }
}
