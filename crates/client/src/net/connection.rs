//! One negotiated connection shared by many callers. Requests are written in the order they come
//! and answered in that order; a bounded number is in flight, further callers wait their turn.
//!
//! Two tasks drive it, one per direction, so that a broker that answers before it reads on cannot
//! lock both sides up. They end with the last handle, or with the first error, which everybody who
//! waits then gets.
//!
//! Deadlines belong to the connection, not to the callers' futures: a request that is not answered
//! in time ends the connection whether or not anybody still waits for it, because nothing behind it
//! will be answered either. The task that reads looks after them, and closes the connection when it
//! was not used for long (`connections.max.idle.ms`).
//!
//! After a response with a throttle time the connection sends nothing for that time (KIP-219): the broker would not
//! read it. Queued requests wait, and the deadlines of requests in flight move by that time. The connection heeds the
//! responses that it decodes: not those of callers that have gone, and not those of [`Connection::send_frame`].
//!
//! Where the broker limits how long a login holds (KIP-368), the task that writes logs in again on
//! the same connection before the next request, if it is time to: requests sent before are still
//! answered, and those that follow wait for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use thalweg_connection::{ApiVersions, Pipeline, PipelineError, pipeline};
use thalweg_wire::{ApiKey, Message, Request, Writer};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::auth::{self, Ask, SaslSession};
use super::frames;
use super::raw::{Parts, RawConnection, RawReceiver, RawSender};
use crate::error::Error;
use crate::options::{Options, bounded};

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
}

#[derive(Debug)]
struct Shared {
    addr: Arc<str>,
    versions: Arc<ApiVersions>,
    options: Options,
    rebootstraps: u64,
    /// One permit per request that may be in flight.
    room: Semaphore,
    /// [`State::look_at`] is earlier than it was.
    earlier: Notify,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pipeline: Pipeline,
    /// What was sent and is not answered, in the pipeline's order.
    waiting: VecDeque<Waiting>,
    /// When the task that reads looks at the deadlines next.
    look_at: Instant,
    /// When something was sent or answered last.
    used_at: Instant,
    /// Until when the broker reads nothing.
    throttled_until: Instant,
    /// Aborted when the connection is over.
    tasks: Vec<AbortHandle>,
    /// Why the connection is over.
    over: Option<Error>,
}

/// A request that was sent. Its caller may have gone.
#[derive(Debug)]
struct Waiting {
    reply: Reply,
    api: ApiKey,
    /// The time it has.
    after: Duration,
    deadline: Instant,
}

#[derive(Debug)]
struct Outgoing {
    frame: Writer,
    api: ApiKey,
    version: i16,
    /// Time for writing it and for its answer.
    after: Duration,
    /// `None` for a request that is not answered (Produce with acks=0).
    reply: Option<Reply>,
    /// Told when its turn comes: its time runs from then on.
    begun: Option<oneshot::Sender<()>>,
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
        let Parts { sender, receiver, versions, pipeline, session, rebootstraps } =
            raw.into_parts();
        let now = Instant::now();
        let state = State {
            pipeline,
            waiting: VecDeque::new(),
            look_at: now + bounded(options.connections_max_idle),
            used_at: now,
            throttled_until: now,
            tasks: Vec::new(),
            over: None,
        };
        let shared = Arc::new(Shared {
            addr,
            versions,
            options: options.clone(),
            rebootstraps,
            room: Semaphore::new(in_flight),
            earlier: Notify::new(),
            state: Mutex::new(state),
        });
        let (requests, outgoing) = mpsc::channel(in_flight);
        let writing = WriteTask { shared: Arc::clone(&shared), sender, session };
        let reading = ReadTask { shared: Arc::clone(&shared), receiver };
        shared.own([
            tokio::spawn(writing.run(outgoing)).abort_handle(),
            tokio::spawn(reading.run()).abort_handle(),
        ]);
        Connection { handle: Arc::new(Handle { shared, requests }) }
    }

    /// The broker's address, as it was given.
    pub fn addr(&self) -> &Arc<str> {
        &self.handle.shared.addr
    }

    /// What the broker speaks.
    pub fn versions(&self) -> &ApiVersions {
        &self.handle.shared.versions
    }

    /// Number of rebootstraps of its cluster when this connection was begun. What a broker says over it is of a cluster
    /// that was abandoned if there were more since.
    pub(crate) fn rebootstraps(&self) -> u64 {
        self.handle.shared.rebootstraps
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
        let frame = frames::encode(self.addr(), request, version, &self.handle.shared.options)?;
        let body = self.send_frame_within(frame, R::API_KEY, version, after).await?;
        self.decode::<R>(&body, version)
    }

    /// As [`Self::send`], in a version that the caller chose among those both sides speak.
    pub(crate) async fn send_as<R: Request>(
        &self,
        request: &R,
        version: i16,
    ) -> Result<R::Response, Error> {
        let frame = frames::encode(self.addr(), request, version, &self.handle.shared.options)?;
        let body = self.send_frame(frame, R::API_KEY, version).await?;
        self.decode::<R>(&body, version)
    }

    /// Reads an answer, and heeds its throttle time.
    fn decode<R: Request>(&self, body: &Bytes, version: i16) -> Result<R::Response, Error> {
        let response = frames::decode::<R>(self.addr(), body, version)?;
        if let Ok(throttle_ms @ 1..) = u64::try_from(response.throttle_time_ms()) {
            tracing::warn!(
                target: "thalweg::connection",
                addr = %self.addr(),
                throttle_ms,
                "a broker throttles this client"
            );
            self.handle.shared.throttle(Duration::from_millis(throttle_ms));
        }
        Ok(response)
    }

    /// Sends a request frame built with [`raw::begin_request`](super::raw::begin_request) and waits
    /// for the body of its answer.
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
        let after = bounded(after);
        let (reply, answer) = oneshot::channel();
        let (begun, is_begun) = oneshot::channel();
        let outgoing =
            Outgoing { frame, api, version, after, reply: Some(reply), begun: Some(begun) };
        let queue = async {
            self.handle.requests.send(outgoing).await.map_err(|_| self.reason())?;
            // It is dropped before only with the connection, whose end the answer tells.
            drop(is_begun.await);
            Ok::<(), Error>(())
        };
        // Behind others it may wait as long, and be given up, which is no fault of the connection's.
        match timeout(after, queue).await {
            Ok(queued) => queued?,
            Err(_) => return Err(late(self.addr(), api, after)),
        }
        // From here on the connection minds the time.
        answer.await.unwrap_or_else(|_| Err(self.reason()))
    }

    /// Sends a request that is not answered; returns once it is queued.
    pub async fn send_unanswered(
        &self,
        frame: Writer,
        api: ApiKey,
        version: i16,
    ) -> Result<(), Error> {
        let after = bounded(self.handle.shared.options.request_timeout);
        let outgoing = Outgoing { frame, api, version, after, reply: None, begun: None };
        match timeout(after, self.handle.requests.send(outgoing)).await {
            Ok(queued) => queued.map_err(|_| self.reason()),
            Err(_) => Err(late(self.addr(), api, after)),
        }
    }

    /// Closes the connection for every handle; whoever waits gets [`Error::ShutDown`].
    pub fn close(&self) {
        self.handle.shared.end(Error::ShutDown { addr: self.addr().clone() });
    }

    fn reason(&self) -> Error {
        self.handle.shared.reason()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.end(Error::ShutDown { addr: Arc::clone(&self.shared.addr) });
    }
}

fn late(addr: &Arc<str>, api: ApiKey, after: Duration) -> Error {
    Error::Timeout { addr: Arc::clone(addr), what: api.to_string(), after }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held; were it to, the state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the tasks that drive the connection, which may be over already.
    fn own(&self, tasks: [AbortHandle; 2]) {
        let mut state = self.lock();
        if state.over.is_some() {
            tasks.iter().for_each(AbortHandle::abort);
        }
        state.tasks.extend(tasks);
    }

    /// Why the connection is over.
    fn reason(&self) -> Error {
        let over = self.lock().over.clone();
        over.unwrap_or_else(|| Error::ShutDown { addr: self.addr.clone() })
    }

    /// Mutes the connection for `time`, and moves the deadlines of requests in flight by it.
    fn throttle(&self, time: Duration) {
        let mut state = self.lock();
        state.throttled_until = state.throttled_until.max(Instant::now() + bounded(time));
        for waiting in &mut state.waiting {
            waiting.deadline += bounded(time);
        }
    }

    /// Records the reason, gives it to everybody who waits, and closes the connection.
    fn end(&self, error: Error) {
        let mut state = self.lock();
        let error = state.over.get_or_insert(error).clone();
        for waiting in state.waiting.drain(..) {
            let _ = waiting.reply.send(Err(error.clone()));
        }
        self.room.close();
        // One may be in the middle of a write that the broker does not take.
        state.tasks.iter().for_each(AbortHandle::abort);
    }

    /// Looks at the deadlines; says when the next look is due, or why the connection is over.
    fn look(&self) -> Result<Instant, Error> {
        let mut state = self.lock();
        let now = Instant::now();
        let idle = bounded(self.options.connections_max_idle);
        state.look_at = match state.waiting.iter().min_by_key(|waiting| waiting.deadline) {
            Some(first) if first.deadline <= now => {
                return Err(late(&self.addr, first.api, first.after));
            }
            Some(first) => first.deadline.min(now + idle),
            None if now >= state.used_at + idle => {
                return Err(Error::Idle { addr: Arc::clone(&self.addr), after: idle });
            }
            None => state.used_at + idle,
        };
        Ok(state.look_at)
    }
}

/// The task that writes.
struct WriteTask {
    shared: Arc<Shared>,
    sender: RawSender,
    session: SaslSession,
}

impl WriteTask {
    async fn run(mut self, mut outgoing: mpsc::Receiver<Outgoing>) {
        while let Some(request) = outgoing.recv().await {
            if let Err(error) = self.send(request).await {
                return self.shared.end(error);
            }
        }
    }

    /// Sends a request, once there is room for it and the broker still knows who this client is.
    async fn send(&mut self, request: Outgoing) -> Result<(), Error> {
        let is_answered = request.reply.is_some();
        loop {
            // The timeout of a login does not run while the connection is muted.
            self.wait_while_throttled().await;
            // Logging in takes room itself, and it may be due once others were waited for.
            self.renew().await?;
            if is_answered {
                self.wait_for_room().await?;
            }
            self.wait_while_throttled().await;
            if !request.is_given_up() && !self.session.is_due() {
                return self.write(request).await;
            }
            if is_answered {
                self.shared.room.add_permits(1);
            }
            if request.is_given_up() {
                return Ok(());
            }
        }
    }

    /// Logs in again when it is time to; whoever wants to send something waits.
    async fn renew(&mut self) -> Result<(), Error> {
        let after = self.shared.options.request_timeout;
        auth::log_in_if_due(self, after)
            .await
            // Before the request that waits for this is dropped, and its caller asks why.
            .inspect_err(|error| self.shared.end(error.clone()))
    }

    async fn wait_while_throttled(&self) {
        loop {
            let until = self.shared.lock().throttled_until;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
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
        let Outgoing { api, version, after, .. } = request;
        let is_answered = request.reply.is_some();
        {
            let mut state = self.shared.lock();
            let now = Instant::now();
            state.used_at = now;
            let correlation_id = match request.reply {
                Some(reply) => {
                    if let Some(error) = &state.over {
                        let _ = reply.send(Err(error.clone()));
                        return Err(error.clone());
                    }
                    let deadline = now + after;
                    state.waiting.push_back(Waiting { reply, api, after, deadline });
                    if deadline < state.look_at {
                        state.look_at = deadline;
                        self.shared.earlier.notify_one();
                    }
                    state.pipeline.enter(api, version)
                }
                None => state.pipeline.unanswered(),
            };
            pipeline::set_correlation_id(request.frame.inline_mut(), correlation_id);
        }
        if let Some(begun) = request.begun {
            let _ = begun.send(());
        }
        let write = self.sender.send_segments(&request.frame);
        if is_answered {
            // Its deadline is among those that are looked after.
            return write.await;
        }
        timeout(after, write).await.unwrap_or_else(|_| Err(late(&self.shared.addr, api, after)))
    }
}

impl Ask for WriteTask {
    fn addr(&self) -> &Arc<str> {
        &self.shared.addr
    }

    fn versions(&self) -> &Arc<ApiVersions> {
        &self.shared.versions
    }

    fn session(&mut self) -> &mut SaslSession {
        &mut self.session
    }

    async fn ask(&mut self, frame: Writer, api: ApiKey, version: i16) -> Result<Bytes, Error> {
        self.wait_for_room().await?;
        let (reply, answer) = oneshot::channel();
        let after = bounded(self.shared.options.request_timeout);
        self.write(Outgoing { frame, api, version, after, reply: Some(reply), begun: None })
            .await?;
        answer.await.unwrap_or_else(|_| Err(self.shared.reason()))
    }
}

/// The task that reads, and minds the time.
struct ReadTask {
    shared: Arc<Shared>,
    receiver: RawReceiver,
}

impl ReadTask {
    async fn run(mut self) {
        let first = self.shared.lock().look_at;
        let look = sleep_until(first);
        tokio::pin!(look);
        loop {
            let done = tokio::select! {
                biased;
                frame = self.receiver.take() => self.accept(frame),
                () = &mut look => self.shared.look().map(|next| look.as_mut().reset(next)),
                () = self.shared.earlier.notified() => {
                    let next = self.shared.lock().look_at;
                    look.as_mut().reset(next);
                    Ok(())
                }
            };
            if let Err(error) = done {
                return self.shared.end(error);
            }
        }
    }

    /// Gives an answer to whoever waits for it.
    fn accept(&self, frame: Result<Bytes, Error>) -> Result<(), Error> {
        let mut state = self.shared.lock();
        let mut frame = frame.map_err(|error| match error {
            Error::Closed { addr, .. } => {
                Error::Closed { addr, api: state.pipeline.oldest().map(|oldest| oldest.api) }
            }
            error => error,
        })?;
        state.used_at = Instant::now();
        let (answered, body_at) = state
            .pipeline
            .accept(&frame)
            .map_err(|source| Error::Pipeline { addr: Arc::clone(&self.shared.addr), source })?;
        let waiting = state.waiting.pop_front();
        drop(state);
        let Some(waiting) = waiting else {
            let source = PipelineError::Unasked(answered.correlation_id);
            return Err(Error::Pipeline { addr: Arc::clone(&self.shared.addr), source });
        };
        self.shared.room.add_permits(1);
        // The caller may have given up waiting.
        let _ = waiting.reply.send(Ok(frame.split_off(body_at)));
        Ok(())
    }
}
