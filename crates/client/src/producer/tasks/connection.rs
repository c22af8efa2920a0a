//! Sending to one broker: one task, one connection of its own, requests written one behind the other
//! while answers come in.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use thalweg_connection::{ApiVersions, Pipeline, pipeline};
use thalweg_wire::messages::ProduceRequest;
use thalweg_wire::{ApiKey, Writer};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use crate::core::produce::{Acks, OutgoingRequest, Sealer};
use crate::error::Error;
use crate::net::auth::{self, Ask, SaslSession};
use crate::net::raw::{Parts, RawConnection, RawReceiver, RawSender};
use crate::options::backoff::{self, AUTHENTICATION_BACKOFF};
use crate::options::bounded;
use crate::producer::shared::{BoxedTask, Shared};

/// Bytes that are compressed and given checksums before other tasks get their turn.
const SEAL_AT_ONCE: usize = 256 << 10;

/// What outlives a connection.
#[derive(Default)]
struct Buffers {
    sealer: Sealer,
    frame: Writer,
}

/// A connection, and what is under way on it.
struct ProduceConnection {
    sender: RawSender,
    answers: Answers,
    versions: Arc<ApiVersions>,
    session: SaslSession,
    /// Something was produced over it.
    has_produced: bool,
}

/// The way back.
struct Answers {
    broker: i32,
    receiver: RawReceiver,
    pipeline: Pipeline,
    version: i16,
    /// When what is not answered was sent.
    sent: VecDeque<Instant>,
    /// When something was sent or answered last.
    used_at: Instant,
    /// A request was answered.
    has_answered: bool,
    timeout: Duration,
    addr: Arc<str>,
    /// Number of rebootstraps of the cluster when the connection was begun.
    rebootstraps: u64,
}

/// What a connection is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    No,
    /// The broker may come to lead what is produced to.
    Ahead,
    /// There is something to send.
    Now,
}

fn wanted(shared: &Arc<Shared>, broker: i32) -> Wanted {
    shared.with(|state| {
        if state.sender.has_work(broker) {
            return Wanted::Now;
        }
        state.sender.sleep(broker, 0);
        if state.ahead.contains(&broker) { Wanted::Ahead } else { Wanted::No }
    })
}

/// Sends to `broker` until it is aborted.
pub(in crate::producer) fn begin(shared: Arc<Shared>, broker: i32, wake: Arc<Notify>) -> BoxedTask {
    Box::pin(run(shared, broker, wake))
}

async fn run(shared: Arc<Shared>, broker: i32, wake: Arc<Notify>) {
    let mut buffers = Buffers::default();
    let mut failures = 0;
    loop {
        if wanted(&shared, broker) == Wanted::No {
            wake.notified().await;
            continue;
        }
        let begun = Instant::now();
        let ended = serve(&shared, broker, &wake, &mut buffers, &mut failures).await;
        if begun.elapsed() >= backoff::SOUND_AFTER {
            failures = 0;
        }
        // The batches in it are sent again, and may need another header.
        buffers.frame.clear();
        let error = match ended {
            // Another is opened when there is something to send.
            Ok(Ended::ByClient) => continue,
            Ok(Ended::ByBroker { has_produced }) => {
                tracing::debug!(broker, "the connection for producing was closed");
                // Where nothing is acknowledged, that is how a broker says that it is not the one.
                if has_produced && shared.config.acks == Acks::None {
                    shared.with(|state| state.sender.want_metadata());
                }
                None
            }
            Err(error) => {
                tracing::debug!(broker, %error, "producing failed");
                Some(error)
            }
        };
        let is_refused = error.as_ref().is_some_and(Error::is_authentication);
        failures += 1;
        if wanted(&shared, broker) != Wanted::Now {
            // Nothing waits for it, so no error is reported.
            let pause = match is_refused {
                true => AUTHENTICATION_BACKOFF,
                false => backoff::ahead_pause(shared.config.retry_backoff, failures),
            };
            if timeout(pause, wake.notified()).await.is_ok() {
                failures = 0;
            }
            continue;
        }
        if let Some(error) = error {
            let cause: Arc<str> = error.to_string().into();
            shared.with(|state| state.sender.disconnected(broker, cause, shared.now_ms()));
            if is_refused {
                tracing::error!(broker, %error, "this producer is refused");
                tokio::time::sleep(AUTHENTICATION_BACKOFF).await;
            }
        }
        // It may have been the connection alone, and not the broker: the first time another is opened at once.
        if failures > 1 {
            tokio::time::sleep(shared.config.backoff(failures - 1)).await;
        }
    }
}

/// How a connection ended on which nothing was in flight, which is no error.
#[derive(Debug)]
enum Ended {
    ByBroker {
        /// Something was produced over it.
        has_produced: bool,
    },
    /// It was not used for `connections.max.idle.ms`, or a rebootstrap closed it.
    ByClient,
}

/// Sends until the connection ends.
async fn serve(
    shared: &Arc<Shared>,
    broker: i32,
    wake: &Notify,
    buffers: &mut Buffers,
    failures: &mut u32,
) -> Result<Ended, Error> {
    let mut connection = ProduceConnection::open(shared, broker).await?;
    shared.with(|state| state.sender.connected(broker));
    let options = shared.cluster.options();
    loop {
        if connection.session.is_due() {
            // What is under way is answered first; then the connection goes on.
            if connection.answers.pipeline.is_empty() {
                auth::log_in_if_due(&mut connection, options.request_timeout).await?;
            } else if let Some(ended) = connection.wait(shared, wake, None).await? {
                return Ok(ended);
            }
            continue;
        }
        let now = shared.now_ms();
        let (outgoing, until) = shared.with(|state| match state.sender.drain(broker, now) {
            Some(outgoing) => (Some(outgoing), None),
            None => (None, state.sender.sleep(broker, now)),
        });
        match outgoing {
            Some(outgoing) => {
                connection.has_produced = true;
                connection.ship(shared, outgoing, buffers).await?;
            }
            None => {
                let until = until.map(|ms| shared.instant_of(ms).into());
                if let Some(ended) = connection.wait(shared, wake, until).await? {
                    return Ok(ended);
                }
                if connection.answers.has_answered {
                    *failures = 0;
                }
                if connection.is_idle(shared) {
                    if wanted(shared, broker) == Wanted::No {
                        return Ok(Ended::ByClient);
                    }
                    auth::keep_alive(&mut connection, options).await?;
                    connection.answers.used_at = Instant::now();
                }
            }
        }
    }
}

impl ProduceConnection {
    async fn open(shared: &Shared, broker: i32) -> Result<ProduceConnection, Error> {
        let connection = shared.cluster.open_raw(broker).await?;
        let timeout = bounded(shared.cluster.options().request_timeout);
        let version = connection.version_of::<ProduceRequest>()?;
        Ok(ProduceConnection::over(connection, broker, version, timeout))
    }

    fn over(
        connection: RawConnection,
        broker: i32,
        version: i16,
        timeout: Duration,
    ) -> ProduceConnection {
        let addr = Arc::clone(connection.addr());
        let Parts { sender, receiver, versions, pipeline, session, rebootstraps } =
            connection.into_parts();
        let sent = VecDeque::new();
        let used_at = Instant::now();
        let answers = Answers {
            broker,
            receiver,
            pipeline,
            version,
            sent,
            used_at,
            has_answered: false,
            timeout,
            addr,
            rebootstraps,
        };
        ProduceConnection { sender, answers, versions, session, has_produced: false }
    }

    /// Seals and writes a request; takes in the answers that come meanwhile.
    async fn ship(
        &mut self,
        shared: &Arc<Shared>,
        mut outgoing: OutgoingRequest,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        let mut sealed = 0;
        while let Some(bytes) = outgoing.seal_next(&mut buffers.sealer) {
            sealed += bytes;
            if sealed >= SEAL_AT_ONCE {
                sealed = 0;
                tokio::task::yield_now().await;
            }
        }
        shared.with(|state| state.sender.keep_sealed(&outgoing));
        let options = shared.cluster.options();
        let ProduceConnection { sender, answers, .. } = self;
        let version = answers.version.min(outgoing.version_max());
        let frame = &mut buffers.frame;
        let timeout_ms = i32::try_from(options.request_timeout.as_millis()).unwrap_or(i32::MAX);
        outgoing.encode(frame, version, &options.client_id, timeout_ms).map_err(|source| {
            let (addr, api) = (Arc::clone(&answers.addr), ApiKey::PRODUCE);
            Error::Encode { addr, api, version, source }
        })?;
        let is_answered = outgoing.is_answered();
        answers.used_at = Instant::now();
        let correlation_id = if is_answered {
            answers.sent.push_back(answers.used_at);
            answers.pipeline.enter(ApiKey::PRODUCE, version)
        } else {
            answers.pipeline.unanswered()
        };
        pipeline::set_correlation_id(frame.inline_mut(), correlation_id);
        drop(outgoing);
        {
            let write = sender.send_segments(frame);
            tokio::pin!(write);
            let late = answers.deadline().unwrap_or_else(|| Instant::now() + answers.timeout);
            let late = sleep_until(late);
            tokio::pin!(late);
            // A broker that answers before it reads on must not lock both sides up.
            loop {
                tokio::select! {
                    biased;
                    written = &mut write => break written?,
                    answer = answers.receiver.take() => answers.accept(shared, answer)?,
                    () = &mut late => match answers.deadline() {
                        Some(deadline) if deadline > Instant::now() => {
                            late.as_mut().reset(deadline);
                        }
                        _ => return Err(answers.too_late()),
                    },
                }
            }
        }
        // What was written needs no buffers any more.
        frame.clear();
        if !is_answered {
            shared.with(|state| state.sender.written(answers.broker, shared.now_ms()));
        }
        Ok(())
    }

    /// Waits for an answer, a wake-up, or `until`. Says how the connection ended, if it did.
    async fn wait(
        &mut self,
        shared: &Arc<Shared>,
        wake: &Notify,
        until: Option<Instant>,
    ) -> Result<Option<Ended>, Error> {
        let answers = &mut self.answers;
        let deadline = answers.deadline();
        let at = match (until, deadline) {
            (Some(until), Some(deadline)) => until.min(deadline),
            (Some(at), None) | (None, Some(at)) => at,
            // Whoever comes with something to send finds it logged in.
            (None, None) => {
                let idle_at = answers.idle_at(shared);
                self.session.renew_at().map_or(idle_at, |renew_at| renew_at.min(idle_at))
            }
        };
        tokio::select! {
            biased;
            answer = answers.receiver.take() => match answer {
                Err(Error::Closed { .. }) if answers.pipeline.is_empty() => {
                    return Ok(Some(Ended::ByBroker { has_produced: self.has_produced }));
                }
                Err(Error::Io { .. })
                    if answers.pipeline.is_empty() && answers.receiver.is_closed_by_signal() =>
                {
                    return Ok(Some(Ended::ByClient));
                }
                answer => {
                    answers.accept(shared, answer)?;
                    answers.accept_others(shared).await?;
                }
            },
            () = wake.notified() => {}
            () = sleep_until(at) => {
                if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    return Err(answers.too_late());
                }
            }
        }
        Ok(None)
    }

    /// Whether it was not used for so long that it is closed before the broker does so.
    fn is_idle(&self, shared: &Shared) -> bool {
        self.answers.sent.is_empty() && self.answers.idle_at(shared) <= Instant::now()
    }
}

impl Ask for ProduceConnection {
    fn addr(&self) -> &Arc<str> {
        &self.answers.addr
    }

    fn versions(&self) -> &Arc<ApiVersions> {
        &self.versions
    }

    fn session(&mut self) -> &mut SaslSession {
        &mut self.session
    }

    async fn ask(&mut self, mut frame: Writer, api: ApiKey, version: i16) -> Result<Bytes, Error> {
        let ProduceConnection { sender, answers, .. } = self;
        let correlation_id = answers.pipeline.enter(api, version);
        pipeline::set_correlation_id(frame.inline_mut(), correlation_id);
        sender.send_segments(&frame).await?;
        let frame = answers.receiver.take().await?;
        let (_, body_at) = answers
            .pipeline
            .accept(&frame)
            .map_err(|source| Error::Pipeline { addr: Arc::clone(&answers.addr), source })?;
        Ok(frame.slice(body_at..))
    }
}

impl Answers {
    /// When the oldest request should have been answered.
    fn deadline(&self) -> Option<Instant> {
        self.sent.front().map(|sent| *sent + self.timeout)
    }

    fn idle_at(&self, shared: &Shared) -> Instant {
        self.used_at + bounded(shared.cluster.options().connections_max_idle)
    }

    fn too_late(&self) -> Error {
        let addr = Arc::clone(&self.addr);
        Error::Timeout { addr, what: ApiKey::PRODUCE.to_string(), after: self.timeout }
    }

    /// Takes in the answers that are there already: what they make possible goes in one request.
    async fn accept_others(&mut self, shared: &Arc<Shared>) -> Result<(), Error> {
        while !self.pipeline.is_empty() {
            let answer = {
                let mut answer = pin!(self.receiver.take());
                poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await
            };
            match answer {
                Poll::Ready(answer) => self.accept(shared, answer)?,
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    /// Takes in what came.
    fn accept(&mut self, shared: &Arc<Shared>, answer: Result<Bytes, Error>) -> Result<(), Error> {
        let api = self.pipeline.oldest().map(|oldest| oldest.api);
        let frame = answer.map_err(|error| match error {
            Error::Closed { addr, .. } => Error::Closed { addr, api },
            error => error,
        })?;
        let (request, body_at) = self
            .pipeline
            .accept(&frame)
            .map_err(|source| Error::Pipeline { addr: Arc::clone(&self.addr), source })?;
        self.sent.pop_front();
        self.used_at = Instant::now();
        self.has_answered = true;
        let (now, version) = (shared.now_ms(), request.version);
        let body = frame.get(body_at..).unwrap_or_default();
        let throttle_ms = shared
            .with(|state| {
                let accepted = state.sender.accept(self.broker, body, version, now)?;
                // Before the task is woken that sends to the new leader, and needs its address.
                if !accepted.leaders.is_empty() {
                    let (leaders, brokers) = (&accepted.leaders, accepted.brokers);
                    shared.cluster.hint(self.rebootstraps, leaders, brokers);
                }
                Ok(accepted.throttle_ms)
            })
            .map_err(|source| {
                let (addr, api) = (Arc::clone(&self.addr), ApiKey::PRODUCE);
                Error::Decode { addr, api, version, source }
            })?;
        // The broker reads the requests in flight later by the throttle time.
        self.sent.iter_mut().for_each(|sent| *sent += Duration::from_millis(throttle_ms));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::oneshot;

    use super::*;
    use crate::core::Metadata;
    use crate::net::transport::{CloseSignal, ReadHalf, WriteHalf};
    use crate::producer::{Producer, ProducerConfig};
    use crate::{Cluster, Options};

    /// What ends a connection that a rebootstrap closes.
    async fn closed_by_rebootstrap(is_in_flight: bool) -> Result<Option<Ended>, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr: Arc<str> = listener.local_addr().unwrap().to_string().into();
        let stream = TcpStream::connect(&*addr).await.unwrap();
        let _broker = listener.accept().await.unwrap();
        let (read, write) = stream.into_split();
        let (closer, close) = oneshot::channel();
        let mut read = ReadHalf::tcp(read);
        read.close_on(CloseSignal::When(close));
        let connection =
            RawConnection::over((read, WriteHalf::Tcp(write)), addr, Options::default());
        let timeout = Duration::from_secs(20);
        let mut connection = ProduceConnection::over(connection, 1, 9, timeout);
        if is_in_flight {
            connection.answers.sent.push_back(Instant::now());
            connection.answers.pipeline.enter(ApiKey::PRODUCE, 9);
        }
        let cluster = Cluster::detached(Metadata::default());
        let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
        closer.send(()).unwrap();
        connection.wait(producer.shared(), &Notify::new(), None).await
    }

    #[tokio::test]
    async fn rebootstrap_is_no_failure_of_an_idle_connection() {
        let ended = closed_by_rebootstrap(false).await;
        assert!(matches!(ended, Ok(Some(Ended::ByClient))), "{ended:?}");
        // What is in flight is sent again.
        let ended = closed_by_rebootstrap(true).await;
        assert!(matches!(ended, Err(Error::Io { .. })), "{ended:?}");
    }
}
