//! One client's connection: reads a frame, has it handled, sends the answer, and so on; one request
//! at a time, in order, as Kafka's clients expect.
//!
//! A request runs on this task from frame to append. What must wait (a long poll, a join) is
//! *parked*: the frame's memory is given back, and the peer's closing is watched for meanwhile.
//!
//! When the broker stops, the request that is being served gets its answer, and is the last one.

use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll};

use thalweg_wire::{ApiKey, Reader, Writer};
use tokio::net::TcpStream;

use super::buffers;
use super::frame::{FrameError, FrameReader};
use super::limits::{Permit, Socket};
use super::listener::Listener;
use super::send::{self, FileRange};
use crate::api;
use crate::broker::Broker;
use crate::partition::AppendResults;

/// What an API's handler makes of a request.
pub(crate) enum Handled {
    /// The answer is in the scratch's frame.
    Reply,
    /// The client wants no answer (acks=0).
    NoReply,
    /// The answer comes later; the request's bytes are not needed any more.
    Parked(Pin<Box<dyn Future<Output = Parked> + Send>>),
    /// The connection cannot go on; the reason is for the log.
    Close(String),
}

/// The answer of a request that was parked.
pub(crate) struct Parked {
    pub(crate) frame: Writer,
    pub(crate) files: Vec<FileRange>,
    /// Set when the connection has to be closed instead.
    pub(crate) close: Option<String>,
}

impl Parked {
    /// The connection has to be closed instead of answered.
    pub(crate) fn close(reason: String) -> Parked {
        Parked { frame: Writer::new(), files: Vec::new(), close: Some(reason) }
    }
}

/// What a request says of itself, and whom it came from.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) broker: Arc<Broker>,
    pub(crate) listener: Arc<Listener>,
    pub(crate) peer: SocketAddr,
    pub(crate) api_key: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    /// Empty when the client sent none, as Kafka treats it.
    pub(crate) client_id: Arc<str>,
}

impl Context {
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
    pub(crate) frame: Writer,
    pub(crate) files: Vec<FileRange>,
    /// Where appends of this connection that found their partition busy report to.
    pub(crate) append_results: Arc<AppendResults>,
}

/// Serves one connection until it ends.
pub(crate) async fn serve(
    broker: Arc<Broker>,
    listener: Arc<Listener>,
    stream: TcpStream,
    peer: SocketAddr,
    counted: (Permit, Socket),
) {
    let connection_id = broker.next_connection_id();
    let mut connection = Connection {
        reader: FrameReader::new(
            super::budget::Charge::new(&broker.request_budget),
            broker.settings().frame_max,
        ),
        scratch: Scratch::default(),
        context: Context {
            broker: Arc::clone(&broker),
            listener,
            peer,
            api_key: ApiKey(0),
            version: 0,
            correlation_id: 0,
            client_id: Arc::from(""),
        },
        stream,
    };
    broker.metrics.connections_opened.add(1);
    let mut shutdown = broker.shutdown.subscribe();
    let mut cut_off = broker.cut_off.subscribe();
    let turn = Turn::default();
    let end = {
        let mut run = pin!(CatchPanic(connection.run(&turn)));
        let ended = tokio::select! {
            end = &mut run => Some(end),
            _ = shutdown.wait_for(|stop| *stop) => None,
        };
        match ended {
            Some(end) => end,
            // What is being served is answered; nothing else is begun.
            None if turn.stop() => tokio::select! {
                end = run => end,
                _ = cut_off.wait_for(|stop| *stop) => Ok(End::Shutdown),
            },
            None => Ok(End::Shutdown),
        }
    };
    match end {
        Ok(End::Peer | End::Shutdown | End::Idle) => {}
        Ok(End::Refused(reason)) => {
            broker.metrics.connections_refused_input.add(1);
            tracing::info!(%peer, connection_id, reason, "connection closed");
        }
        Ok(End::Io(error)) => {
            tracing::debug!(%peer, connection_id, %error, "connection failed");
        }
        Err(()) => {
            broker.metrics.panics.add(1);
            tracing::error!(%peer, connection_id, "a request panicked; its connection is closed");
        }
    }
    broker.metrics.connections_closed.add(1);
    // What counts it goes after the socket itself.
    drop(connection);
    drop((counted, cut_off));
}

/// Whether a request is being served, and whether it is the last one.
#[derive(Debug, Default)]
struct Turn {
    is_serving: AtomicBool,
    is_last: AtomicBool,
}

impl Turn {
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
}

struct Connection {
    reader: FrameReader,
    scratch: Scratch,
    context: Context,
    stream: TcpStream,
}

impl Connection {
    async fn run(&mut self, turn: &Turn) -> End {
        while turn.go_on() {
            let idle = self.context.broker.settings().idle_max;
            let frame = match self.reader.next(&self.stream, idle).await {
                Ok(frame) => frame,
                Err(FrameError::Closed) => return End::Peer,
                Err(FrameError::BadLength(len)) => {
                    return End::Refused(format!("frame length {len} is out of bounds"));
                }
                Err(FrameError::Io(error)) => return End::of(error),
            };
            turn.is_serving.store(true, Ordering::Relaxed);
            self.scratch.frame = buffers::take_frame();
            let (body, charge) = self.reader.parts_mut(frame.clone());
            let handled = match header(&mut self.context, body) {
                Ok(at) => {
                    api::handle(&self.context, &mut self.scratch, &mut body[at..], charge).await
                }
                Err(reason) => Handled::Close(reason),
            };
            self.reader.consume(&frame);
            let sent = match handled {
                Handled::NoReply => {
                    buffers::give_frame(std::mem::take(&mut self.scratch.frame));
                    continue;
                }
                Handled::Close(reason) => return End::Refused(reason),
                Handled::Reply => {
                    send::send(&self.stream, idle, &self.scratch.frame, &self.scratch.files).await
                }
                Handled::Parked(answer) => {
                    // It brings a frame of its own when it is done; until then it keeps none.
                    buffers::give_frame(std::mem::take(&mut self.scratch.frame));
                    let parked = tokio::select! {
                        biased;
                        parked = answer => parked,
                        closed = self.reader.watch_closed(&self.stream) => {
                            return match closed {
                                Ok(()) => End::Peer,
                                Err(error) => End::Io(error),
                            };
                        }
                    };
                    if let Some(reason) = parked.close {
                        return End::Refused(reason);
                    }
                    let sent = send::send(&self.stream, idle, &parked.frame, &parked.files).await;
                    buffers::give_frame(parked.frame);
                    sent
                }
            };
            // An idle connection keeps nothing.
            buffers::give_frame(std::mem::take(&mut self.scratch.frame));
            self.scratch.files = Vec::new();
            if let Err(error) = sent {
                return End::of(error);
            }
        }
        End::Shutdown
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

/// A panic ends the connection it happened in and nothing else.
struct CatchPanic<F>(F);

impl<F: Future> Future for CatchPanic<F> {
    type Output = Result<F::Output, ()>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        // SAFETY: the inner future is pinned as long as this one is, and is never moved out.
        let inner = unsafe { self.map_unchecked_mut(|s| &mut s.0) };
        match std::panic::catch_unwind(AssertUnwindSafe(|| inner.poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(_) => Poll::Ready(Err(())),
        }
    }
}
