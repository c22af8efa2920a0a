//! Accepts connections on one listener.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;

use super::connection::{self, Requests};
use super::hosts;
use super::limits::{Admission, ConnectionLimits};
use super::sockets::Sockets;

/// How long to wait, in milliseconds, before looking again whether there is room.
const FULL_PAUSE: u64 = 20;
/// Throttled connections that are held for a while; more are closed at once.
const TURNED_AWAY_MAX: usize = 256;

/// A place to connect to, by the name that configurations and answers use for it.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Name, as in `listeners`.
    pub(crate) name: String,
    /// Host that clients are told.
    pub(crate) advertised_host: String,
    /// Port that clients are told.
    pub(crate) advertised_port: u16,
    /// Where it listens.
    pub(crate) local: SocketAddr,
}

/// Options of the sockets, in bytes; `None` leaves the system's default.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketOptions {
    pub(crate) send_buffer: Option<u32>,
    pub(crate) receive_buffer: Option<u32>,
    pub(crate) backlog: u32,
}

/// A socket that has its address and does not listen: a client's connect is refused, and it tries another broker, instead
/// of waiting for one that is not ready.
#[derive(Debug)]
pub(crate) struct BoundSocket {
    socket: TcpSocket,
    backlog: u32,
}

impl BoundSocket {
    /// Its address; where the system chose the port, that too.
    pub(crate) fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Listens.
    pub(crate) fn listen(self) -> std::io::Result<TcpListener> {
        self.socket.listen(self.backlog)
    }
}

/// Binds a socket.
pub(crate) fn bind(host: &str, port: u16, options: SocketOptions) -> std::io::Result<BoundSocket> {
    let socket = hosts::bind(host, port, |socket| {
        // Set before listening: accepted sockets inherit it, and the window scale is agreed with it.
        if let Some(bytes) = options.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        if let Some(bytes) = options.send_buffer {
            socket.set_send_buffer_size(bytes)?;
        }
        Ok(())
    })?;
    Ok(BoundSocket { socket, backlog: options.backlog })
}

/// Accepts for as long as it is polled; `requests` makes what understands a peer's requests.
pub(crate) async fn accept<R: Requests + 'static>(
    sockets: Arc<Sockets>,
    listener: Arc<Listener>,
    listening: TcpListener,
    requests: impl Fn(&Arc<Listener>, SocketAddr) -> R,
) {
    let limits: &Arc<ConnectionLimits> = sockets.connections().limits();
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let name: Arc<str> = Arc::from(listener.name.as_str());
    let mut is_failing = false;
    loop {
        match listening.accept().await {
            Ok((stream, peer)) => {
                is_failing = false;
                let peer = hosts::canonical_peer(peer);
                let Some(socket) = limits.hold() else { continue };
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%peer, %error, "no delay could not be set");
                }
                // Above a rate or the total a new connection waits (its bytes stay in the kernel),
                // and those after it in the backlog, as in Kafka; above the limits of its address
                // it is closed.
                let mut pause = limits.arrived(&name, sockets.node.clock().monotonic_ms());
                while pause > 0 || limits.full(&name) {
                    let pause = Duration::from_millis(std::mem::take(&mut pause).max(FULL_PAUSE));
                    tokio::time::sleep(pause).await;
                }
                let now = sockets.node.clock().monotonic_ms();
                let permit = match limits.admit(&name, peer.ip(), now) {
                    Admission::Granted(permit) => permit,
                    Admission::TooMany => {
                        tracing::info!(%peer, "too many connections from this address; closed");
                        continue;
                    }
                    Admission::Throttled(wait) => {
                        tracing::debug!(%peer, wait, "this address connects too often; closed");
                        // Later, so that a client that connects again at once is slowed down.
                        if let Ok(slot) = Arc::clone(&turned_away).try_acquire_owned() {
                            tokio::spawn(async move {
                                tokio::time::sleep(Duration::from_millis(wait)).await;
                                drop((stream, slot, socket));
                            });
                        }
                        continue;
                    }
                };
                tokio::spawn(connection::serve(
                    Arc::clone(&sockets),
                    requests(&listener, peer),
                    stream,
                    peer,
                    (permit, socket),
                ));
            }
            Err(error) => {
                // Out of descriptors or memory: accepting again at once would spin.
                if !std::mem::replace(&mut is_failing, true) {
                    let listener = &listener.name;
                    tracing::warn!(listener, %error, "connections cannot be accepted for now");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
