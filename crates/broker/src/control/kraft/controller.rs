//! The way to the controller, whichever it is: typed requests, answered with the wire's own
//! responses.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use thalweg_metadata::controller::ControllerRequest;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::DefaultPrincipalData;

use super::embedded::EmbeddedController;
use super::log::MetadataLogError;
use super::remote::RemoteController;
use crate::node::Node;

/// Why a request has no answer of the controller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControllerError {
    #[error(transparent)]
    Log(#[from] MetadataLogError),
    #[error("the broker is stopping")]
    Stopped,
    #[error("the decision panicked, and is not carried out; see the message above")]
    Panicked,
    #[error("the controller did not answer in time")]
    TimedOut,
    #[error("the controller refused: {0}")]
    Refused(ErrorCode),
    #[error("the controller failed: {0}")]
    Failed(String),
}

/// A client in whose name the controller is asked.
#[derive(Debug)]
pub(crate) struct Client {
    /// Who it has shown itself to be.
    pub(crate) principal: DefaultPrincipalData,
    /// The client id in the headers of its requests.
    pub(crate) id: Arc<str>,
    /// Where it connects from.
    pub(crate) address: IpAddr,
}

/// Where this broker's controller is.
#[derive(Debug)]
pub(crate) enum Controller {
    /// In this process.
    Embedded(EmbeddedController),
    /// On another node: the active one of the quorum that this broker has joined.
    Remote(Box<RemoteController>),
}

impl Controller {
    /// The way to the controllers of other nodes, if this broker has joined them.
    pub(crate) fn remote(&self) -> Option<&RemoteController> {
        match self {
            Controller::Embedded(_) => None,
            Controller::Remote(remote) => Some(remote),
        }
    }

    /// Level of `kraft.version`.
    pub(crate) fn kraft_version(&self) -> i16 {
        match self {
            Controller::Embedded(controller) => controller.kraft_version(),
            Controller::Remote(remote) => remote.status().kraft_version,
        }
    }

    /// Asks for something in this broker's own name, in the newest version of the request.
    pub(crate) async fn send<R: ControllerRequest>(
        &self,
        node: &Node,
        request: R,
    ) -> Result<R::Response, ControllerError> {
        match self {
            Controller::Embedded(controller) => {
                controller.send(Arc::new(request), R::MAX_VERSION).await
            }
            Controller::Remote(remote) => unless_stopped(node, remote.send(&request)).await,
        }
    }

    /// Asks in the name of a client. `version` is that of the client's request, and so that of the
    /// answer.
    pub(crate) async fn forward<R: ControllerRequest>(
        &self,
        node: &Node,
        request: Arc<R>,
        version: i16,
        client: &Client,
    ) -> Result<R::Response, ControllerError> {
        let answer = match self {
            Controller::Embedded(controller) => controller.send(request, version).await,
            Controller::Remote(remote) => {
                unless_stopped(node, remote.forward(&*request, version, client)).await
            }
        };
        if let Err(error) = &answer {
            let Client { principal, id, address } = client;
            tracing::warn!(
                api = %R::API_KEY,
                principal = format!("{}:{}", principal.type_, principal.name),
                client_id = %id,
                %address,
                %error,
                "the controller could not decide"
            );
        }
        answer
    }
}

/// How long a broker that stops waits for the controllers' answers: not for an election of theirs.
const WAIT_WHEN_STOPPED: Duration = Duration::from_secs(1);

/// Waits for an answer of the controllers while the broker serves, and a little longer.
async fn unless_stopped<T>(
    node: &Node,
    answer: impl Future<Output = Result<T, ControllerError>>,
) -> Result<T, ControllerError> {
    let mut shutdown = node.subscribe_shutdown();
    let stopped = async {
        let _ = shutdown.wait_for(|stop| *stop).await;
        tokio::time::sleep(WAIT_WHEN_STOPPED).await;
    };
    tokio::select! {
        answer = answer => answer,
        () = stopped => Err(ControllerError::Stopped),
    }
}
