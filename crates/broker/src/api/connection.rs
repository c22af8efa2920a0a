//! The requests of one connection: their headers are read, and the table has them handled.

use std::net::SocketAddr;
use std::sync::Arc;

use thalweg_wire::{ApiKey, Reader};

use crate::api::context::{Context, Peer, Scratch};
use crate::api::services::Services;
use crate::api::table;
use crate::net::budget::Charge;
use crate::net::connection::{Handled, Reply, Requests};
use crate::net::listener::Listener;

/// The requests of one connection.
pub(crate) struct ConnectionRequests {
    context: Context,
    scratch: Scratch,
}

impl ConnectionRequests {
    pub(crate) fn new(
        services: &Arc<Services>,
        listener: &Arc<Listener>,
        address: SocketAddr,
    ) -> ConnectionRequests {
        let context = Context {
            peer: Peer::new(services, listener, address),
            api_key: ApiKey(0),
            version: 0,
            correlation_id: 0,
            client_id: Arc::from(""),
        };
        ConnectionRequests { context, scratch: Scratch::default() }
    }
}

impl Requests for ConnectionRequests {
    async fn handle(&mut self, frame: &mut [u8], charge: &mut Charge) -> Handled {
        match header(&mut self.context, frame) {
            Ok(at) => {
                table::handle(&self.context, &mut self.scratch, &mut frame[at..], charge).await
            }
            Err(reason) => Handled::Close(reason),
        }
    }

    fn reply(&mut self) -> &mut Reply {
        &mut self.scratch.reply
    }

    fn uses_reserve(api_key: i16) -> bool {
        // Followers need both, to come and to replicate.
        matches!(ApiKey(api_key), ApiKey::FETCH | ApiKey::API_VERSIONS)
    }
}

/// Reads the request header into the context; gives where the request itself begins.
fn header(context: &mut Context, frame: &[u8]) -> Result<usize, String> {
    let mut r = Reader::new(frame);
    let mut read = || {
        let api_key = ApiKey(r.i16()?);
        let version = r.i16()?;
        let correlation_id = r.i32()?;
        let client_id = r.nullable_str(false)?.unwrap_or("");
        if api_key.request_header_version(version) >= 2 {
            r.tags(None, |_, _| Ok(false))?;
        }
        Ok::<_, thalweg_wire::DecodeError>((api_key, version, correlation_id, client_id))
    };
    let (api_key, version, correlation_id, client_id) =
        read().map_err(|e| format!("malformed request header: {e}"))?;
    context.api_key = api_key;
    context.version = version;
    context.correlation_id = correlation_id;
    if *context.client_id != *client_id {
        context.client_id = Arc::from(client_id);
    }
    Ok(frame.len() - r.remaining())
}
