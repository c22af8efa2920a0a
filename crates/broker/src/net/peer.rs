//! Connections to other brokers, at their addresses of now.

use std::sync::Arc;

use thalweg_replication::observer::Endpoint;

use crate::net::outgoing::{Outgoing, OutgoingError, Timeouts};
use crate::node::Node;

/// A connection that is kept between requests, and where it goes.
pub(crate) type Connection = Option<(Endpoint, Outgoing)>;

/// Where a broker is on the listener between brokers, as the metadata says.
fn endpoint(node: &Node, id: i32) -> Option<Endpoint> {
    let settings = node.settings();
    let image = node.image();
    let listener = settings.config.inter_broker_listener().0;
    let registered = image.cluster.broker(id).and_then(|it| it.endpoint(listener))?;
    Some(Endpoint { host: registered.host.clone(), port: registered.port })
}

/// Whether the connection that is held can be used, and still goes where the metadata says.
pub(crate) fn is_usable(node: &Node, id: i32, held: &Connection) -> bool {
    let endpoint = endpoint(node, id);
    held.as_ref().is_some_and(|(known, it)| endpoint.as_ref() == Some(known) && it.is_usable())
}

/// The connection to a broker on the listener between brokers: the one that is held, if it can be used and still goes
/// where the metadata says, else a new one.
pub(crate) async fn connect<'a>(
    node: &Node,
    id: i32,
    client_id: &Arc<str>,
    timeouts: Timeouts,
    held: &'a mut Connection,
) -> Result<&'a mut Outgoing, OutgoingError> {
    let unknown = || OutgoingError::NoAddress(id);
    let endpoint = endpoint(node, id).ok_or_else(unknown)?;
    if held.as_ref().is_none_or(|(known, it)| *known != endpoint || !it.is_usable()) {
        *held = None;
        let opened = Outgoing::open(&endpoint, client_id, timeouts).await?;
        return Ok(&mut held.insert((endpoint, opened)).1);
    }
    held.as_mut().map(|(_, connection)| connection).ok_or_else(unknown)
}
