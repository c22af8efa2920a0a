//! One negotiated connection shared by many callers. Requests are written in the order they come
//! and answered in that order; a bounded number is in flight, further callers wait their turn.
//!
//! Two tasks drive it, one per direction, so that a broker that answers before it reads on cannot
//! lock both sides up. They end with the last handle, or with the first error, which everybody who
//! waits then gets. A request that takes too long ends the connection: the answers behind it could
//! not be told apart otherwise.
//!
//! Where the broker limits how long a login holds (KIP-368), the task that writes logs in again on
//! the same connection before the next request, if it is time to: requests sent before are still
//! answered, and those that follow wait for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use thalweg_wire::{ApiKey, Request, Writer};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::auth::{Ask, Session};
use crate::core::pipeline::{self, Pipeline};
use crate::core::{ApiVersions, PipelineError};
use crate::error::Error;
use crate::options::Options;
use crate::raw::{self, Parts, RawConnection, RawReceiver, RawSender};

/// More requests in flight than anybody needs.
const IN_FLIGHT_MAX: usize = 1 << 16;

type Reply = oneshot::Sender<Result<Bytes, Error>>;

/// A shared connection; clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Connection {
    handle: Arc<Handle>,
}

/// Ends the tasks when the last clone goes.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Outgoing>,
    tasks: [AbortHandle; 2],
}

#[derive(Debug)]
struct Shared {
    addr: Arc<str>,
    versions: Arc<ApiVersions>,
    options: Options,
    /// One permit per request that may be in flight.
    room: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pipeline: Pipeline,
    /// Who waits, in the pipeline's order, and since when.
    waiting: VecDeque<(Reply, Instant)>,
    /// Why the connection is over.
    over: Option<Error>,
}

#[derive(Debug)]
struct Outgoing {
    frame: Writer,
    api: ApiKey,
    version: i16,
    /// `None` for a request that is not answered (Produce with acks=0).
    reply: Option<Reply>,
    /// Told when it is written: its time runs from then on.
    written: Option<oneshot::Sender<()>>,
}

impl Outgoing {
    /// Whether nobody waits for it any more.
    fn is_given_up(&self) -> bool {
        self.reply.as_ref().is_some_and(Reply::is_closed)
    }
}

impl Connection {
    /// Connects to `host:port` as [`RawConnection::open`] does.
    pub async fn open(addr: &str, options: &Options) -> Result<Connection, Error> {
        Ok(Connection::drive(RawConnection::open(addr, options).await?, options))
    }

    /// Takes over a raw connection on which nothing is in flight.
    pub fn drive(raw: RawConnection, options: &Options) -> Connection {
        let addr = raw.addr().clone();
        let in_flight = options.max_in_flight.clamp(1, IN_FLIGHT_MAX);
        let Parts { sender, receiver, versions, pipeline, session } = raw.into_parts();
        let state = State { pipeline, waiting: VecDeque::new(), over: None };
        let shared = Arc::new(Shared {
            addr,
            versions,
            options: options.clone(),
            room: Semaphore::new(in_flight),
            state: Mutex::new(state),
        });
        let (requests, outgoing) = mpsc::channel(in_flight);
        let tasks = [
            tokio::spawn(Sending { shared: shared.clone(), sender }.run(outgoing, session))
                .abort_handle(),
            tokio::spawn(read_responses(shared.clone(), receiver)).abort_handle(),
        ];
        Connection { handle: Arc::new(Handle { shared, requests, tasks }) }
    }

    /// The broker's address, as it was given.
    pub fn addr(&self) -> &Arc<str> {
        &self.handle.shared.addr
    }

    /// What the broker speaks.
    pub fn versions(&self) -> &ApiVersions {
        &self.handle.shared.versions
    }

    /// Why the connection is over; `None` while it can be used.
    pub fn over(&self) -> Option<Error> {
        self.handle.shared.lock().over.clone()
    }

    /// Version that [`Self::send`] would use for a request.
    pub fn version_of<R: Request>(&self) -> Result<i16, Error> {
        self.versions()
            .pick_for::<R>()
            .map_err(|source| Error::Version { addr: self.addr().clone(), source })
    }

    /// Sends a request in the highest common version and waits for its answer. When the caller
    /// gives up waiting (drops the future), the request stays sent and its answer is dropped.
    pub async fn send<R: Request>(&self, request: &R) -> Result<R::Response, Error> {
        self.send_within(request, self.handle.shared.options.request_timeout).await
    }

    /// As [`Self::send`], for a request that the broker may hold back: its answer has `after`.
    pub async fn send_within<R: Request>(
        &self,
        request: &R,
        after: Duration,
    ) -> Result<R::Response, Error> {
        let version = self.version_of::<R>()?;
        let frame = raw::encode(self.addr(), request, version, &self.handle.shared.options)?;
        let body = self.send_frame_within(frame, R::API_KEY, version, after).await?;
        raw::decode::<R>(self.addr(), &body, version)
    }

    /// As [`Self::send`], in a version that the caller chose among those both sides speak.
    pub(crate) async fn send_as<R: Request>(
        &self,
        request: &R,
        version: i16,
    ) -> Result<R::Response, Error> {
        let frame = raw::encode(self.addr(), request, version, &self.handle.shared.options)?;
        let body = self.send_frame(frame, R::API_KEY, version).await?;
        raw::decode::<R>(self.addr(), &body, version)
    }

    /// Sends a request frame built with [`pipeline::begin_request`] and waits for the body of its
    /// answer.
    pub async fn send_frame(
        &self,
        frame: Writer,
        api: ApiKey,
        version: i16,
    ) -> Result<Bytes, Error> {
        let after = self.handle.shared.options.request_timeout;
        self.send_frame_within(frame, api, version, after).await
    }

    async fn send_frame_within(
        &self,
        frame: Writer,
        api: ApiKey,
        version: i16,
        after: Duration,
    ) -> Result<Bytes, Error> {
        let (reply, answer) = oneshot::channel();
        let (written, is_written) = oneshot::channel();
        let reply = Some(reply);
        let outgoing = Outgoing { frame, api, version, reply, written: Some(written) };
        let late = || {
            let addr = self.addr().clone();
            Error::Timeout { addr, what: api.to_string(), after }
        };
        let queue = async {
            self.handle.requests.send(outgoing).await.map_err(|_| self.reason())?;
            // It is dropped unwritten only with the connection, whose end the answer tells.
            drop(is_written.await);
            Ok::<(), Error>(())
        };
        // Behind others it may wait as long, and be given up. That is no fault of the connection's,
        // unless the first of those has waited too long, whose caller may have gone.
        if let Ok(queued) = timeout(after, queue).await {
            queued?;
        } else {
            let limit = self.handle.shared.options.request_timeout;
            if self.handle.shared.oldest().is_some_and(|since| since.elapsed() >= limit) {
                self.handle.end(late());
            }
            return Err(late());
        }
        match timeout(after, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(self.reason())),
            Err(_) => {
                self.handle.end(late());
                Err(late())
            }
        }
    }

    /// Sends a request that is not answered; returns once it is queued.
    pub async fn send_unanswered(
        &self,
        frame: Writer,
        api: ApiKey,
        version: i16,
    ) -> Result<(), Error> {
        let outgoing = Outgoing { frame, api, version, reply: None, written: None };
        self.handle.requests.send(outgoing).await.map_err(|_| self.reason())
    }

    /// Closes the connection for every handle; whoever waits gets [`Error::ShutDown`].
    pub fn close(&self) {
        self.handle.end(Error::ShutDown { addr: self.addr().clone() });
    }

    fn reason(&self) -> Error {
        self.handle.shared.reason()
    }
}

impl Handle {
    fn end(&self, error: Error) {
        self.shared.end(error);
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held; were it to, the state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when the oldest request waits for its answer.
    fn oldest(&self) -> Option<Instant> {
        self.lock().waiting.front().map(|&(_, since)| since)
    }

    /// Why the connection is over.
    fn reason(&self) -> Error {
        let over = self.lock().over.clone();
        over.unwrap_or_else(|| Error::ShutDown { addr: self.addr.clone() })
    }

    /// Records the reason and gives it to everybody who waits.
    fn end(&self, error: Error) {
        let mut state = self.lock();
        let error = state.over.get_or_insert(error).clone();
        for (reply, _) in state.waiting.drain(..) {
            let _ = reply.send(Err(error.clone()));
        }
        self.room.close();
    }
}

/// The task that writes.
struct Sending {
    shared: Arc<Shared>,
    sender: RawSender,
}

impl Sending {
    async fn run(mut self, mut outgoing: mpsc::Receiver<Outgoing>, mut session: Session) {
        while let Some(request) = outgoing.recv().await {
            if let Err(error) = self.send(request, &mut session).await {
                return self.shared.end(error);
            }
        }
    }

    /// Sends a request, once there is room for it and the broker still knows who this client is.
    async fn send(&mut self, request: Outgoing, session: &mut Session) -> Result<(), Error> {
        if request.reply.is_none() {
            self.renew(session).await?;
            return self.write(request).await;
        }
        loop {
            // Logging in takes room itself, and it may be due once others were waited for.
            self.renew(session).await?;
            self.wait_for_room().await?;
            if request.is_given_up() {
                self.shared.room.add_permits(1);
                return Ok(());
            }
            if !session.is_due() {
                return self.write(request).await;
            }
            self.shared.room.add_permits(1);
        }
    }

    /// Logs in again when it is time to; whoever wants to send something waits.
    async fn renew(&mut self, session: &mut Session) -> Result<(), Error> {
        if !session.is_due() {
            return Ok(());
        }
        let versions = Arc::clone(&self.shared.versions);
        let after = self.shared.options.request_timeout;
        let addr = self.shared.addr.clone();
        let what = "logging in again";
        tracing::debug!(%addr, "logging in again");
        timeout(after, session.log_in(self, &versions))
            .await
            .unwrap_or_else(|_| Err(Error::Timeout { addr, what: what.into(), after }))
            // Before the request that waits for this is dropped, and its caller asks why.
            .inspect_err(|error| self.shared.end(error.clone()))
    }

    async fn wait_for_room(&self) -> Result<(), Error> {
        match self.shared.room.acquire().await {
            // Given back when the answer comes.
            Ok(permit) => permit.forget(),
            Err(_) => return Err(self.shared.reason()),
        }
        Ok(())
    }

    async fn write(&mut self, mut request: Outgoing) -> Result<(), Error> {
        {
            let mut state = self.shared.lock();
            let correlation_id = match request.reply {
                Some(reply) => {
                    if let Some(error) = &state.over {
                        let _ = reply.send(Err(error.clone()));
                        return Err(error.clone());
                    }
                    state.waiting.push_back((reply, Instant::now()));
                    state.pipeline.enter(request.api, request.version)
                }
                None => state.pipeline.unanswered(),
            };
            pipeline::set_correlation_id(request.frame.inline_mut(), correlation_id);
        }
        let sent = self.sender.send_segments(&request.frame).await;
        if let Some(written) = request.written {
            let _ = written.send(());
        }
        sent
    }
}

impl Ask for Sending {
    fn addr(&self) -> &Arc<str> {
        &self.shared.addr
    }

    async fn ask(&mut self, frame: Writer, api: ApiKey, version: i16) -> Result<Bytes, Error> {
        self.wait_for_room().await?;
        let (reply, answer) = oneshot::channel();
        self.write(Outgoing { frame, api, version, reply: Some(reply), written: None }).await?;
        answer.await.unwrap_or_else(|_| Err(self.shared.reason()))
    }
}

async fn read_responses(shared: Arc<Shared>, mut receiver: RawReceiver) {
    loop {
        let mut frame = match receiver.take().await {
            Ok(frame) => frame,
            Err(Error::Closed { addr, .. }) => {
                let api = shared.lock().pipeline.oldest().map(|oldest| oldest.api);
                return shared.end(Error::Closed { addr, api });
            }
            Err(error) => return shared.end(error),
        };
        let accepted = {
            let mut state = shared.lock();
            state.pipeline.accept(&frame).and_then(|(answered, body_at)| {
                let unasked = PipelineError::Unasked(answered.correlation_id);
                Ok((body_at, state.waiting.pop_front().ok_or(unasked)?.0))
            })
        };
        match accepted {
            Ok((body_at, reply)) => {
                shared.room.add_permits(1);
                // The caller may have given up waiting.
                let _ = reply.send(Ok(frame.split_off(body_at)));
            }
            Err(source) => {
                return shared.end(Error::Pipeline { addr: shared.addr.clone(), source });
            }
        }
    }
}
