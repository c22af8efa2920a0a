//! A connection to another node of the cluster, from this side: one request at a time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use thalweg_connection::pipeline::{self, Pipeline};
use thalweg_connection::versions::Step;
use thalweg_connection::{
    ApiVersions, FrameBuffer, FrameError, Negotiation, NegotiationError, PipelineError,
    VersionError,
};
use thalweg_replication::observer::Endpoint;
use thalweg_wire::messages::ApiVersionsRequest;
use thalweg_wire::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, Writer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::hosts;

/// Largest answer that is read, usually. What is asked for is bounded, but for a single batch that is larger.
pub(crate) const ANSWER_MAX: usize = 128 << 20;

/// Why a request was not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutgoingError {
    #[error("cannot connect to {endpoint}: {error}")]
    Connect { endpoint: Endpoint, error: io::Error },
    #[error("the metadata knows no address of broker {0}")]
    NoAddress(i32),
    #[error("connection to {endpoint}: {error}")]
    Io { endpoint: Endpoint, error: io::Error },
    #[error("{endpoint} closed the connection before it answered {api}")]
    Closed { endpoint: Endpoint, api: ApiKey },
    #[error("{endpoint} did not answer {what} within {} ms", after.as_millis())]
    TimedOut { endpoint: Endpoint, what: String, after: Duration },
    #[error("{0}")]
    Negotiation(#[from] NegotiationError),
    #[error("{0}")]
    Version(#[from] VersionError),
    #[error("what came is not a frame: {0}")]
    Frame(#[from] FrameError),
    #[error("an answer came out of turn: {0}")]
    Pipeline(#[from] PipelineError),
    #[error("{api} version {version} cannot be read: {source}")]
    Decode { api: ApiKey, version: i16, source: DecodeError },
    #[error("{api} cannot be sent in version {version}: {source}")]
    Encode { api: ApiKey, version: i16, source: EncodeError },
    #[error("the request was given up, or one before it on this connection")]
    GivenUp,
}

/// How long things may take, and how large answers may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Connecting and finding out what the other side speaks.
    pub(crate) connect: Duration,
    /// One request.
    pub(crate) request: Duration,
    /// Largest answer, in bytes.
    pub(crate) answer_max: usize,
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Outgoing {
    endpoint: Endpoint,
    stream: TcpStream,
    buffer: FrameBuffer,
    pipeline: Pipeline,
    versions: ApiVersions,
    client_id: Arc<str>,
    timeouts: Timeouts,
    /// A request is in flight. If its caller goes away its answer would be taken for the next one's.
    is_asking: bool,
}

impl Outgoing {
    /// Connects, and finds out what the other side speaks. `client_id` is how it calls this one in its logs.
    pub(crate) async fn open(
        endpoint: &Endpoint,
        client_id: &Arc<str>,
        timeouts: Timeouts,
    ) -> Result<Outgoing, OutgoingError> {
        let after = timeouts.connect;
        let late = |_| OutgoingError::TimedOut {
            endpoint: endpoint.clone(),
            what: "a connection attempt".into(),
            after,
        };
        timeout(after, Outgoing::open_now(endpoint, client_id, timeouts)).await.map_err(late)?
    }

    async fn open_now(
        endpoint: &Endpoint,
        client_id: &Arc<str>,
        timeouts: Timeouts,
    ) -> Result<Outgoing, OutgoingError> {
        let failed = |error| OutgoingError::Connect { endpoint: endpoint.clone(), error };
        let connected = hosts::connect(&endpoint.host, endpoint.port, timeouts.connect);
        let stream = connected.await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let mut opened = Outgoing {
            endpoint: endpoint.clone(),
            stream,
            buffer: FrameBuffer::new(timeouts.answer_max),
            pipeline: Pipeline::new(),
            versions: ApiVersions::default(),
            client_id: Arc::clone(client_id),
            timeouts,
            is_asking: false,
        };
        let request = ApiVersionsRequest {
            client_software_name: "thalweg-broker".into(),
            client_software_version: env!("CARGO_PKG_VERSION").into(),
            ..ApiVersionsRequest::default()
        };
        let mut negotiation = Negotiation::default();
        loop {
            let version = negotiation.version();
            let body = opened.exchange(&request, version, std::future::pending()).await?;
            if let Step::Done(versions) = negotiation.on_response(&body)? {
                opened.versions = versions;
                return Ok(opened);
            }
        }
    }

    /// Whether another request can be sent.
    pub(crate) fn is_usable(&self) -> bool {
        !self.is_asking
    }

    /// What the other side speaks.
    pub(crate) fn versions(&self) -> &ApiVersions {
        &self.versions
    }

    /// Sends a request in the highest common version and waits for its answer. After an error, or when the future is
    /// dropped, the connection is of no more use.
    pub(crate) async fn call<R: Request>(
        &mut self,
        request: &R,
    ) -> Result<R::Response, OutgoingError> {
        self.call_unless(request, std::future::pending()).await
    }

    /// The same for a request that the other side lets wait for long: it is given up, and the connection with it, if
    /// `interrupt` is ready before the answer begins to come.
    pub(crate) async fn call_unless<R: Request>(
        &mut self,
        request: &R,
        interrupt: impl Future<Output = ()>,
    ) -> Result<R::Response, OutgoingError> {
        let version = self.versions.pick_for::<R>()?;
        let after = self.timeouts.request;
        let Ok(body) = timeout(after, self.exchange(request, version, interrupt)).await else {
            let what = R::API_KEY.to_string();
            return Err(OutgoingError::TimedOut { endpoint: self.endpoint.clone(), what, after });
        };
        let body = body?;
        R::Response::decode(&mut Reader::shared(&body), version)
            .map_err(|source| OutgoingError::Decode { api: R::API_KEY, version, source })
    }

    /// Sends a request; gives the body of its answer.
    async fn exchange<R: Request>(
        &mut self,
        request: &R,
        version: i16,
        interrupt: impl Future<Output = ()>,
    ) -> Result<bytes::Bytes, OutgoingError> {
        if self.is_asking {
            return Err(OutgoingError::GivenUp);
        }
        let api = R::API_KEY;
        let mut frame = Writer::new();
        pipeline::encode_request(&mut frame, request, version, &self.client_id)
            .map_err(|source| OutgoingError::Encode { api, version, source })?;
        let correlation_id = self.pipeline.enter(api, version);
        pipeline::set_correlation_id(frame.inline_mut(), correlation_id);
        self.is_asking = true;
        let endpoint = &self.endpoint;
        let failed = |error| OutgoingError::Io { endpoint: endpoint.clone(), error };
        self.stream.write_all(&frame.to_vec()).await.map_err(failed)?;
        let mut interrupt = std::pin::pin!(interrupt);
        let mut has_begun = false;
        let mut frame = loop {
            if let Some(frame) = self.buffer.take()? {
                break frame;
            }
            let read = tokio::select! {
                biased;
                read = self.stream.read_buf(self.buffer.space()) => read.map_err(failed)?,
                () = &mut interrupt, if !has_begun => return Err(OutgoingError::GivenUp),
            };
            if read == 0 {
                return Err(OutgoingError::Closed { endpoint: endpoint.clone(), api });
            }
            has_begun = true;
        };
        let (_, body_at) = self.pipeline.accept(&frame)?;
        self.is_asking = false;
        Ok(frame.split_off(body_at))
    }
}
