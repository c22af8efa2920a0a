//! A connection's requests: what their headers say, and what their handlers share.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use thalweg_wire::messages::DefaultPrincipalData;
use thalweg_wire::{ApiKey, Writer};

use crate::api::connection_members::ConnectionMembers;
use crate::api::heartbeat::Heartbeats;
use crate::api::services::Services;
use crate::control::kraft::Client;
use crate::net::connection::Reply;
use crate::net::listener::Listener;
use crate::replicas::partition::AppendResultSlot;

/// Whom a connection's requests come from, and where to: the same for all of them.
pub(crate) struct Peer {
    pub(crate) services: Arc<Services>,
    pub(crate) listener: Arc<Listener>,
    pub(crate) address: SocketAddr,
    host: OnceLock<Arc<str>>,
    /// Whose coordinators hear of the connection's end.
    pub(crate) members: ConnectionMembers,
}

impl Peer {
    pub(crate) fn new(
        services: &Arc<Services>,
        listener: &Arc<Listener>,
        address: SocketAddr,
    ) -> Arc<Peer> {
        Arc::new(Peer {
            services: Arc::clone(services),
            listener: Arc::clone(listener),
            address,
            host: OnceLock::new(),
            members: ConnectionMembers::new(services),
        })
    }

    /// The address without its port, as Java prints one that has no host name: with a slash in front.
    pub(crate) fn host(&self) -> &Arc<str> {
        self.host.get_or_init(|| format!("/{}", self.address.ip()).into())
    }
}

/// What a request says of itself, and whom it came from.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) peer: Arc<Peer>,
    pub(crate) api_key: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    /// Empty when the client sent none, as Kafka treats it.
    pub(crate) client_id: Arc<str>,
}

impl Deref for Context {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.peer
    }
}

impl Context {
    /// The client, as a controller is told of it.
    pub(crate) fn client(&self) -> Client {
        Client {
            // Nobody is asked who he is yet.
            principal: DefaultPrincipalData {
                type_: "User".into(),
                name: "ANONYMOUS".into(),
                ..Default::default()
            },
            id: Arc::clone(&self.client_id),
            address: self.address.ip(),
        }
    }

    /// Begins the answer's frame: length, correlation id, and the tagged section of newer headers.
    pub(crate) fn begin(&self, frame: &mut Writer) {
        frame.begin_frame();
        frame.i32(self.correlation_id);
        if self.api_key.response_header_version(self.version) >= 1 {
            frame.uvarint(0);
        }
    }
}

/// What a connection keeps between requests, so that a request allocates next to nothing.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) reply: Reply,
    /// Where appends of this connection that found their partition busy report to.
    pub(crate) append_result: Arc<AppendResultSlot>,
    pub(crate) heartbeats: Heartbeats,
}
