//! The node's side of the cluster's control plane: its controller, its registration, and the requests that it sends to
//! the controller in its own name.

pub(crate) mod auto_topics;
pub(crate) mod directories;
pub(crate) mod kraft;
pub(crate) mod membership;
pub(crate) mod producer_ids;
pub(crate) mod registration;

use std::sync::Arc;

use thalweg_log::LogDir;
use thalweg_metadata::controller::ControllerRequest;

use crate::node::Node;
use crate::node::directory_news::DirectoryNews;
use auto_topics::AutoTopics;
use kraft::{Client, Controller, ControllerError};
use membership::Life;
use producer_ids::ProducerIds;

/// The node's controller, and its requests to it.
pub(crate) struct Control {
    node: Arc<Node>,
    controller: Controller,
    /// The broker's life in the cluster, if it has joined the controllers of other nodes.
    life: Option<Arc<Life>>,
    producer_ids: Arc<ProducerIds>,
    /// The node's log directories.
    dirs: Vec<Arc<LogDir>>,
    news: Arc<DirectoryNews>,
    /// Held while a heartbeat is in flight, so that the next one reports a later state.
    heartbeat: tokio::sync::Mutex<()>,
    auto_topics: AutoTopics,
}

impl Control {
    pub(crate) fn new(
        node: Arc<Node>,
        controller: Controller,
        life: Option<Arc<Life>>,
        producer_ids: Arc<ProducerIds>,
        dirs: Vec<Arc<LogDir>>,
        news: Arc<DirectoryNews>,
    ) -> Arc<Control> {
        Arc::new(Control {
            node,
            controller,
            life,
            producer_ids,
            dirs,
            news,
            heartbeat: tokio::sync::Mutex::default(),
            auto_topics: AutoTopics::default(),
        })
    }

    pub(crate) fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Whether the controllers are those of other nodes.
    pub(crate) fn is_joined(&self) -> bool {
        self.life.is_some()
    }

    /// News of log directories that are to be reported.
    pub(crate) fn news(&self) -> &Arc<DirectoryNews> {
        &self.news
    }

    pub(crate) fn producer_ids(&self) -> &Arc<ProducerIds> {
        &self.producer_ids
    }

    /// Asks the controller in this broker's own name, in the newest version of the request.
    pub(crate) async fn send<R: ControllerRequest>(
        &self,
        request: R,
    ) -> Result<R::Response, ControllerError> {
        self.controller.send(&self.node, request).await
    }

    /// Asks the controller in the name of a client. `version` is that of the client's request, and so that of the answer.
    pub(crate) async fn forward<R: ControllerRequest>(
        &self,
        request: Arc<R>,
        version: i16,
        client: &Client,
    ) -> Result<R::Response, ControllerError> {
        self.controller.forward(&self.node, request, version, client).await
    }

    /// The next producer id. Asks the controller for a block when the last one is used up.
    pub(crate) async fn next_producer_id(&self) -> Result<i64, ControllerError> {
        self.producer_ids.next(self).await
    }
}
