//! `connections.max.idle.ms`: how long a peer may neither send what is waited for nor take what is
//! sent to it. What keeps a request for long is no idleness: a frame that arrives slowly, an answer
//! that is read slowly, memory or a disk that is waited for.

use std::io;
use std::time::Duration;

/// Waits until the socket is ready; [`io::ErrorKind::TimedOut`] if that takes longer than `limit`.
pub(crate) async fn ready(
    limit: Option<Duration>,
    socket: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    match limit {
        Some(limit) => {
            tokio::time::timeout(limit, socket).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
        }
        None => socket.await,
    }
}
