//! The way to the controller, whichever it is: typed requests, answered with the wire's own
//! responses.

use std::net::IpAddr;
use std::sync::Arc;

use thalweg_metadata::controller::ControllerRequest;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::DefaultPrincipalData;

use super::embedded::EmbeddedController;
use super::log::MetadataLogError;
use crate::broker::Broker;

/// Why a request has no answer of the controller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControllerError {
    #[error(transparent)]
    Log(#[from] MetadataLogError),
    #[error("the broker is stopping")]
    Stopped,
    #[error("the controller did not answer within request.timeout.ms")]
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
}

impl Controller {
    /// Asks for something in this broker's own name, in the newest version of the request.
    pub(crate) async fn send<R: ControllerRequest>(
        &self,
        broker: &Arc<Broker>,
        request: R,
    ) -> Result<R::Response, ControllerError> {
        let Controller::Embedded(controller) = self;
        controller.send(broker, Arc::new(request), R::MAX_VERSION).await
    }

    /// Asks in the name of a client. `version` is that of the client's request, and so that of the
    /// answer.
    pub(crate) async fn forward<R: ControllerRequest>(
        &self,
        broker: &Arc<Broker>,
        request: Arc<R>,
        version: i16,
        client: &Client,
    ) -> Result<R::Response, ControllerError> {
        let Controller::Embedded(controller) = self;
        let answer = controller.send(broker, request, version).await;
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
