//! One client's connection: reads a frame, has it handled, sends the answer, and so on; one request
//! at a time, in order, as Kafka's clients expect.
//!
//! A request runs on this task from frame to append. What must wait (a long poll, a join) is
//! *parked*: the frame's memory is given back, and the peer's closing is watched for meanwhile.
//!
//! When the broker stops, the request that is being served gets its answer, and is the last one.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use thalweg_wire::Writer;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::budget::Charge;
use super::buffers;
use super::frame::{FrameError, FrameReader, NextRequest};
use super::idle::Idle;
use super::limits::{Permit, Socket};
use super::send::{self, FileRange};
use super::sockets::Sockets;
use crate::node::catch_panic::CatchPanic;

/// Handles a connection's requests and makes the answers.
pub(crate) trait Requests: Send {
    /// Handles the request in a frame, whose bytes may be changed in place, and whose memory is
    /// `charge`. An answer that is ready goes into [`Self::reply`].
    fn handle(
        &mut self,
        frame: &mut [u8],
        charge: &mut Charge,
    ) -> impl Future<Output = Handled> + Send;

    /// The answer that is being built.
    fn reply(&mut self) -> &mut Reply;

    /// Whether requests of an API wait for no other request while their frame is held: then there is a reserve for them.
    fn uses_reserve(api_key: i16) -> bool;
}

/// An answer: a frame, and what of it lies in files.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) frame: Writer,
    pub(crate) files: Vec<FileRange>,
    /// For so long nothing more is read of the connection once this is sent, as Kafka does with a client whose answer had
    /// a throttle time.
    pub(crate) mute: Duration,
    /// Memory that the answer holds until it is sent, where that is counted.
    pub(crate) charge: Option<Charge>,
}

/// An answer that comes later.
pub(crate) type Answer = Pin<Box<dyn Future<Output = LateReply> + Send>>;

/// What became of a request.
pub(crate) enum Handled {
    /// The answer is ready.
    Reply,
    /// The client wants no answer (acks=0).
    NoReply,
    /// The answer comes later; the request's bytes are not needed any more.
    Parked(Answer),
    /// The same, of a request that ends its wait when the next one comes.
    Held(Answer, Arc<NextRequest>),
    /// The connection cannot go on; the reason is for the log.
    Close(String),
}

/// The answer of a request that was parked, or why there is none.
pub(crate) struct LateReply {
    pub(crate) reply: Reply,
    /// Set when the connection has to be closed instead.
    pub(crate) close: Option<String>,
}

impl LateReply {
    /// The connection has to be closed instead of answered.
    pub(crate) fn close(reason: String) -> LateReply {
        LateReply { reply: Reply::default(), close: Some(reason) }
    }
}

/// Serves one connection until it ends.
///
/// What it consists of is captured by the future, not passed to it: an async function holds its arguments
/// twice, and there is one future for each connection.
pub(crate) fn serve<R: Requests>(
    sockets: Arc<Sockets>,
    requests: R,
    stream: TcpStream,
    peer: SocketAddr,
    counted: (Permit, Socket),
) -> impl Future<Output = ()> + Send {
    let connection_id = sockets.next_connection_id();
    let mut connection = Connection {
        reader: FrameReader::new(
            sockets.request_budget(),
            sockets.node.settings().frame_max,
            R::uses_reserve,
        ),
        requests,
        sockets,
        stream,
        idle: Idle::default(),
    };
    let sockets = Arc::clone(&connection.sockets);
    let mut cut_off = sockets.subscribe_cut_off();
    sockets.node.metrics().connections_opened.add(1);
    async move {
        let end = run_until_stopped(&sockets, &mut connection, &mut cut_off).await;
        match end {
            Ok(End::Peer | End::Shutdown | End::Idle) => {}
            Ok(End::Refused(reason)) => {
                sockets.node.metrics().connections_refused_input.add(1);
                tracing::info!(%peer, connection_id, reason, "connection closed");
            }
            Ok(End::Io(error)) => {
                tracing::debug!(%peer, connection_id, %error, "connection failed");
            }
            Err(()) => {
                sockets.node.metrics().panics.add(1);
                tracing::error!(%peer, connection_id, "a request panicked; its connection is closed");
            }
        }
        sockets.node.metrics().connections_closed.add(1);
        // What counts it goes after the socket itself.
        drop(connection);
        drop((counted, cut_off));
    }
}

/// Runs a connection until it ends or the broker stops. Its error is a panic.
async fn run_until_stopped<R: Requests>(
    sockets: &Sockets,
    connection: &mut Connection<R>,
    cut_off: &mut watch::Receiver<bool>,
) -> Result<End, ()> {
    let mut shutdown = sockets.node.subscribe_shutdown();
    let serving = ServingFlag::default();
    let mut run = pin!(CatchPanic(connection.run(&serving)));
    let ended = tokio::select! {
        end = &mut run => Some(end),
        _ = shutdown.wait_for(|stop| *stop) => None,
    };
    match ended {
        Some(end) => end,
        // What is being served is answered; nothing else is begun.
        None if serving.stop() => tokio::select! {
            end = run => end,
            _ = cut_off.wait_for(|stop| *stop) => Ok(End::Shutdown),
        },
        None => Ok(End::Shutdown),
    }
}

/// Whether a request is being served, and whether it is the last one.
#[derive(Debug, Default)]
struct ServingFlag {
    is_serving: AtomicBool,
    is_last: AtomicBool,
}

impl ServingFlag {
    /// The broker stops: says whether a request is being served, which is the last one then.
    fn stop(&self) -> bool {
        self.is_last.store(true, Ordering::Relaxed);
        self.is_serving.load(Ordering::Relaxed)
    }

    /// The request is answered; says whether there may be another one.
    fn go_on(&self) -> bool {
        self.is_serving.store(false, Ordering::Relaxed);
        !self.is_last.load(Ordering::Relaxed)
    }
}

/// Why a connection ended.
enum End {
    Peer,
    Idle,
    Shutdown,
    Refused(String),
    Io(io::Error),
}

impl End {
    fn of(error: io::Error) -> End {
        match error.kind() {
            io::ErrorKind::TimedOut => End::Idle,
            _ => End::Io(error),
        }
    }

    /// The peer was watched while it had nothing to say.
    fn of_watch(closed: io::Result<()>) -> End {
        match closed {
            Ok(()) => End::Peer,
            Err(error) => End::Io(error),
        }
    }
}

struct Connection<R> {
    reader: FrameReader,
    requests: R,
    sockets: Arc<Sockets>,
    stream: TcpStream,
    idle: Idle,
}

impl<R: Requests> Connection<R> {
    async fn run(&mut self, serving: &ServingFlag) -> End {
        let mut mute = Duration::ZERO;
        while serving.go_on() {
            if !mute.is_zero() {
                let muted = Box::pin(self.stay_mute(std::mem::take(&mut mute))).await;
                if let Err(end) = muted {
                    return end;
                }
            }
            self.idle.set_limit(self.sockets.node.settings().idle_max);
            let frame = match self.reader.next(&mut self.stream, &mut self.idle).await {
                Ok(frame) => frame,
                Err(FrameError::Closed) => return End::Peer,
                Err(FrameError::BadLength(len)) => {
                    return End::Refused(format!("frame length {len} is out of bounds"));
                }
                Err(FrameError::Io(error)) => return End::of(error),
            };
            serving.is_serving.store(true, Ordering::Relaxed);
            self.requests.reply().frame = buffers::take_frame();
            let (bytes, charge) = self.reader.parts_mut(frame.clone());
            let handled = self.requests.handle(bytes, charge).await;
            self.reader.consume(&frame);
            let sent = match handled {
                Handled::NoReply => {
                    buffers::give_frame(std::mem::take(&mut self.requests.reply().frame));
                    continue;
                }
                Handled::Close(reason) => return End::Refused(reason),
                Handled::Reply => {
                    let Reply { frame, files, mute: after, .. } = self.requests.reply();
                    mute = *after;
                    send::send(&self.stream, &mut self.idle, frame, files).await
                }
                Handled::Parked(answer) => match self.await_reply(answer, None).await {
                    Ok(reply) => {
                        mute = reply.mute;
                        self.send_late(reply).await
                    }
                    Err(end) => return end,
                },
                Handled::Held(answer, next) => match self.await_reply(answer, Some(&next)).await {
                    Ok(reply) => {
                        mute = reply.mute;
                        self.send_late(reply).await
                    }
                    Err(end) => return end,
                },
            };
            // An idle connection keeps nothing.
            buffers::give_frame(std::mem::take(self.requests.reply()).frame);
            if let Err(error) = sent {
                return End::of(error);
            }
        }
        End::Shutdown
    }

    /// Takes nothing more of the peer for so long.
    async fn stay_mute(&mut self, time: Duration) -> Result<(), End> {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            closed = self.reader.watch_closed(&mut self.stream, None) => Err(End::of_watch(closed)),
        }
    }

    /// Waits for the answer of a request that is parked.
    async fn await_reply(
        &mut self,
        answer: Answer,
        next: Option<&NextRequest>,
    ) -> Result<Reply, End> {
        // It brings a frame of its own when it is done; until then it keeps none.
        buffers::give_frame(std::mem::take(&mut self.requests.reply().frame));
        let late = tokio::select! {
            biased;
            late = answer => late,
            closed = self.reader.watch_closed(&mut self.stream, next) => {
                return Err(End::of_watch(closed));
            }
        };
        match late.close {
            Some(reason) => Err(End::Refused(reason)),
            None => Ok(late.reply),
        }
    }

    async fn send_late(&mut self, reply: Reply) -> io::Result<()> {
        let sent = send::send(&self.stream, &mut self.idle, &reply.frame, &reply.files).await;
        buffers::give_frame(reply.frame);
        sent
    }
}
