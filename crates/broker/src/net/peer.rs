//! Connections to other brokers, at their addresses of now.

use std::sync::Arc;

use thalweg_replication::observer::Endpoint;

use crate::net::kept::KeptConnection;
use crate::net::outgoing::{Outgoing, OutgoingError, Timeouts};
use crate::node::Node;

/// Where a broker is on the listener between brokers, as the metadata says.
fn endpoint(node: &Node, id: i32) -> Option<Endpoint> {
    let settings = node.settings();
    let image = node.image();
    let listener = settings.config.inter_broker_listener().0;
    let registered = image.cluster.broker(id).and_then(|it| it.endpoint(listener))?;
    Some(Endpoint { host: registered.host.clone(), port: registered.port })
}

/// Whether the connection that is kept can be used, and still goes where the metadata says.
pub(crate) fn is_usable(node: &Node, id: i32, kept: &KeptConnection) -> bool {
    endpoint(node, id).is_some_and(|endpoint| kept.goes_to(&endpoint))
}

/// The connection to a broker on the listener between brokers, at its address of now.
pub(crate) async fn connect<'a>(
    node: &Node,
    id: i32,
    client_id: &Arc<str>,
    timeouts: Timeouts,
    kept: &'a mut KeptConnection,
) -> Result<&'a mut Outgoing, OutgoingError> {
    let endpoint = endpoint(node, id).ok_or(OutgoingError::NoAddress(id))?;
    kept.to(&endpoint, client_id, timeouts).await
}
