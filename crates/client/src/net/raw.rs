//! One negotiated connection, driven by its owner: no task, no queue, no copy. It does one call at
//! a time, or is split into halves over which the owner sends frames built beforehand and matches
//! answers to requests.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_connection::versions::Step;
use thalweg_connection::{ApiVersions, FrameBuffer, Negotiation, Pipeline, pipeline};
use thalweg_wire::messages::ApiVersionsRequest;
use thalweg_wire::{ApiKey, Request, Writer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

pub use thalweg_connection::pipeline::{begin_request, encode_request, set_correlation_id};

use super::auth::{self, Ask, SaslSession};
use super::frames::{api_versions, decode, encode};
use super::transport::{self, CloseSignal, ReadHalf, WriteHalf};
use crate::core::metadata::NodeIdentity;
use crate::error::Error;
use crate::options::{Options, bounded};

/// First version of ApiVersions that names the broker which is meant (KIP-1242).
const FIRST_WITH_NODE: i16 = 5;

/// A connection on which the broker's versions are known, and on which this client is logged in if
/// it has to be.
#[derive(Debug)]
pub struct RawConnection {
    sender: RawSender,
    receiver: RawReceiver,
    versions: Arc<ApiVersions>,
    pipeline: Pipeline,
    session: SaslSession,
    options: Options,
    /// A frame was begun and not finished.
    is_writing: bool,
    rebootstraps: u64,
}

/// What a [`RawConnection`] is made of, for those who drive it in another way.
pub(crate) struct Parts {
    pub sender: RawSender,
    pub receiver: RawReceiver,
    pub versions: Arc<ApiVersions>,
    pub pipeline: Pipeline,
    pub session: SaslSession,
    pub rebootstraps: u64,
}

impl RawConnection {
    /// Connects to `host:port`: TCP, TLS if the options say so, the broker's versions, login with
    /// SASL if the options say so, all within [`Options::connect_timeout`].
    ///
    /// # Errors
    /// [`Error::Authentication`] when the broker and this client do not trust each other: trying
    /// again at once would be of no use.
    pub async fn open(addr: &str, options: &Options) -> Result<RawConnection, Error> {
        RawConnection::open_to(addr, options, None, CloseSignal::Never).await
    }

    /// As [`Self::open`]. The request names the broker by its `identity`, and `close` ends the connection.
    pub(crate) async fn open_to(
        addr: &str,
        options: &Options,
        identity: Option<&NodeIdentity>,
        close: CloseSignal,
    ) -> Result<RawConnection, Error> {
        let addr: Arc<str> = addr.into();
        let after = bounded(options.connect_timeout);
        let until = Instant::now() + after;
        let late = |what: &str| Error::Timeout { addr: addr.clone(), what: what.to_owned(), after };
        let stream = timeout_at(until, transport::connect(&addr, until));
        let stream = stream.await.map_err(|_| late("connecting"))??;
        let halves = timeout_at(until, transport::secure(stream, &addr, options));
        let halves = halves.await.map_err(|_| late("TLS (SSL) handshake"))??;
        let mut connection = RawConnection::over(halves, addr.clone(), options.clone());
        connection.receiver.stream.close_on(close);
        // Before the login, Kafka's broker does not look at the identity.
        let (at_first, logged_in) = match &options.sasl {
            Some(_) => (None, identity),
            None => (identity, None),
        };
        let negotiated = timeout_at(until, connection.negotiate(at_first));
        negotiated.await.map_err(|_| late("ApiVersions"))?.map_err(transport::judge)?;
        let login = timeout_at(until, auth::log_in(&mut connection));
        login.await.map_err(|_| late("SASL authentication"))?.map_err(transport::judge)?;
        if logged_in.is_some() && connection.version_of::<ApiVersionsRequest>()? >= FIRST_WITH_NODE
        {
            let negotiated = timeout_at(until, connection.negotiate(logged_in));
            negotiated.await.map_err(|_| late("ApiVersions"))??;
        }
        Ok(connection)
    }

    /// On a stream, of which nothing is known yet.
    pub(crate) fn over(
        (read, write): (ReadHalf, WriteHalf),
        addr: Arc<str>,
        options: Options,
    ) -> RawConnection {
        RawConnection {
            sender: RawSender { stream: write, addr: addr.clone() },
            receiver: RawReceiver {
                stream: read,
                buffer: FrameBuffer::new(options.max_response_bytes),
                lent: false,
                addr,
            },
            versions: Arc::default(),
            pipeline: Pipeline::new(),
            session: SaslSession::new(&options),
            options,
            is_writing: false,
            rebootstraps: 0,
        }
    }

    async fn negotiate(&mut self, identity: Option<&NodeIdentity>) -> Result<(), Error> {
        let mut request = api_versions(&self.options);
        if let Some(NodeIdentity { cluster_id, node_id }) = identity {
            request.cluster_id = Some(cluster_id.clone());
            request.node_id = *node_id;
        }
        let mut negotiation = Negotiation::default();
        loop {
            let body = self.exchange(&request, negotiation.version()).await?;
            let step = negotiation
                .on_response(&body)
                .map_err(|source| Error::Negotiate { addr: self.addr().clone(), source })?;
            if let Step::Done(versions) = step {
                self.versions = Arc::new(versions);
                return Ok(());
            }
        }
    }

    /// The broker's address, as it was given.
    pub fn addr(&self) -> &Arc<str> {
        &self.sender.addr
    }

    /// What the broker speaks.
    pub fn versions(&self) -> &Arc<ApiVersions> {
        &self.versions
    }

    /// Version to use for a request.
    pub fn version_of<R: Request>(&self) -> Result<i16, Error> {
        self.versions
            .pick_for::<R>()
            .map_err(|source| Error::Version { addr: self.addr().clone(), source })
    }

    /// When the broker stops answering on this connection unless this client logs in again
    /// (KIP-368); `None` when it does not. [`Self::call`] does that in time.
    pub fn session_ends(&self) -> Option<std::time::Instant> {
        self.session.ends_at().map(Instant::into_std)
    }

    /// Sends a request and waits for its answer. After an error other than [`Error::Version`] and
    /// [`Error::Encode`] the connection is of no more use. When the future is dropped, the answer to
    /// what was sent is passed over by the next call.
    pub async fn call<R: Request>(&mut self, request: &R) -> Result<R::Response, Error> {
        let version = self.version_of::<R>()?;
        let after = bounded(self.options.request_timeout);
        auth::log_in_if_due(self, after).await?;
        let body = timeout(after, self.exchange(request, version)).await.map_err(|_| {
            Error::Timeout { addr: self.addr().clone(), what: R::API_KEY.to_string(), after }
        })??;
        decode::<R>(self.addr(), &body, version)
    }

    /// Sends a request in `version`; returns the answer's body.
    async fn exchange<R: Request>(&mut self, request: &R, version: i16) -> Result<Bytes, Error> {
        let frame = encode(self.addr(), request, version, &self.options)?;
        self.ask_for(frame, R::API_KEY, version).await
    }

    /// Sends a request's frame; returns the answer's body.
    async fn ask_for(
        &mut self,
        mut frame: Writer,
        api: ApiKey,
        version: i16,
    ) -> Result<Bytes, Error> {
        if self.is_writing {
            // A call was dropped in the middle of a frame: what follows would be read as its rest.
            return Err(Error::ShutDown { addr: self.addr().clone() });
        }
        let correlation_id = self.pipeline.enter(api, version);
        pipeline::set_correlation_id(frame.inline_mut(), correlation_id);
        self.is_writing = true;
        if let Err(error) = self.sender.send_segments(&frame).await {
            return Err(self.receiver.last_words().await.unwrap_or(error));
        }
        self.is_writing = false;
        loop {
            let mut frame = self.receiver.take().await.map_err(|error| match error {
                Error::Closed { addr, .. } => Error::Closed { addr, api: Some(api) },
                error => error,
            })?;
            let (answered, body_at) = self
                .pipeline
                .accept(&frame)
                .map_err(|source| Error::Pipeline { addr: self.addr().clone(), source })?;
            // What answers an earlier call, whose future was dropped, is nobody's.
            if answered.correlation_id == correlation_id {
                return Ok(frame.split_off(body_at));
            }
        }
    }

    /// The two halves, for an owner who sends frames built beforehand and matches answers to requests.
    /// Nobody logs in again on them: where [`Self::session_ends`] says something, the owner opens
    /// another connection in time, and lets go of this one when the last answer is there.
    pub fn split(self) -> (RawSender, RawReceiver) {
        (self.sender, self.receiver)
    }

    /// Notes how many rebootstraps its cluster had had when this connection was begun.
    pub(crate) fn after_rebootstraps(self, rebootstraps: u64) -> RawConnection {
        RawConnection { rebootstraps, ..self }
    }

    pub(crate) fn into_parts(self) -> Parts {
        let RawConnection { sender, receiver, versions, pipeline, session, rebootstraps, .. } =
            self;
        Parts { sender, receiver, versions, pipeline, session, rebootstraps }
    }
}

impl Ask for RawConnection {
    fn addr(&self) -> &Arc<str> {
        RawConnection::addr(self)
    }

    fn versions(&self) -> &Arc<ApiVersions> {
        &self.versions
    }

    fn session(&mut self) -> &mut SaslSession {
        &mut self.session
    }

    fn ask(
        &mut self,
        frame: Writer,
        api: ApiKey,
        version: i16,
    ) -> impl Future<Output = Result<Bytes, Error>> + Send {
        self.ask_for(frame, api, version)
    }
}

/// The sending half of a [`RawConnection`].
#[derive(Debug)]
pub struct RawSender {
    stream: WriteHalf,
    addr: Arc<str>,
}

impl RawSender {
    /// Sends whole frames, lengths included.
    pub async fn send(&mut self, frames: &[u8]) -> Result<(), Error> {
        let written = match self.stream.write_all(frames).await {
            Ok(()) => self.stream.flush().await,
            Err(error) => Err(error),
        };
        written.map_err(|source| self.failed(source))
    }

    /// Sends one frame that may have segments.
    pub async fn send_segments(&mut self, frame: &Writer) -> Result<(), Error> {
        let written = match transport::write_frame(&mut self.stream, frame).await {
            Ok(()) => self.stream.flush().await,
            Err(error) => Err(error),
        };
        written.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::Io { addr: self.addr.clone(), source: Arc::new(source) }
    }
}

/// The receiving half of a [`RawConnection`].
#[derive(Debug)]
pub struct RawReceiver {
    stream: ReadHalf,
    buffer: FrameBuffer,
    /// Whether the frame at the front of the buffer was handed out.
    lent: bool,
    addr: Arc<str>,
}

impl RawReceiver {
    /// The next frame without its length, lent until the next call. Safe to cancel: what was
    /// received stays in the buffer.
    pub async fn recv(&mut self) -> Result<&[u8], Error> {
        self.fill().await?;
        self.lent = true;
        match self.buffer.peek() {
            Ok(Some(frame)) => Ok(frame),
            Ok(None) => Err(Error::Closed { addr: self.addr.clone(), api: None }),
            Err(source) => Err(Error::Frame { addr: self.addr.clone(), source }),
        }
    }

    /// The next frame without its length, to be kept. Safe to cancel.
    pub async fn take(&mut self) -> Result<Bytes, Error> {
        self.fill().await?;
        match self.buffer.take() {
            Ok(Some(frame)) => Ok(frame),
            Ok(None) => Err(Error::Closed { addr: self.addr.clone(), api: None }),
            Err(source) => Err(Error::Frame { addr: self.addr.clone(), source }),
        }
    }

    /// The broker's address.
    pub(crate) fn addr(&self) -> &Arc<str> {
        &self.addr
    }

    /// What the broker said before it closed, after a write failed: with TLS it may be the reason.
    async fn last_words(&mut self) -> Option<Error> {
        match self.take().await {
            Err(error @ Error::Io { .. }) => Some(error),
            _ => None,
        }
    }

    /// Whether this client closed the connection because of a rebootstrap.
    pub(crate) fn is_closed_by_signal(&self) -> bool {
        self.stream.is_closed_by_signal()
    }

    /// What was received and not taken.
    pub(crate) fn leftover(&mut self) -> &[u8] {
        if self.lent {
            self.buffer.consume();
            self.lent = false;
        }
        self.buffer.bytes()
    }

    /// The stream, for an owner who reads from now on.
    pub(crate) fn stream(&mut self) -> &mut ReadHalf {
        &mut self.stream
    }

    /// Reads until a whole frame, or an error, is at the front of the buffer.
    async fn fill(&mut self) -> Result<(), Error> {
        if self.lent {
            self.buffer.consume();
            self.lent = false;
        }
        // A frame error is seen by the caller's own look.
        while let Ok(None) = self.buffer.peek() {
            let n = self.stream.read_buf(self.buffer.space()).await.map_err(|source| {
                Error::Io { addr: self.addr.clone(), source: Arc::new(source) }
            })?;
            if n == 0 {
                return Err(Error::Closed { addr: self.addr.clone(), api: None });
            }
        }
        Ok(())
    }
}
