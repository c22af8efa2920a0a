//! Fetching from one broker: one connection of its own, one request in flight, no hand-off to any
//! other task between socket and buffer. While the broker holds a request back, [`sessionless`] asks for
//! what that request does not.

use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use thalweg_connection::{ApiVersions, Pipeline, pipeline};
use thalweg_wire::messages::FetchRequest;
use thalweg_wire::{ApiKey, DecodeError, EncodeError, Writer};
use tokio::time::{Instant, sleep_until, timeout};

use super::receiver::Receiver;
use super::sessionless::SessionlessFetch;
use super::shared::{Shared, Wake};
use crate::core::fetch::{Accepted, Budget, Planned};
use crate::error::Error;
use crate::net::auth::{self, Ask, SaslSession};
use crate::net::raw::{Parts, RawConnection, RawSender};
use crate::options::backoff::{self, AUTHENTICATION_BACKOFF};
use crate::options::bounded;

/// A request that takes so long to be answered is one that the broker holds back.
const HELD_BACK: Duration = Duration::from_millis(10);

/// A connection that fetches.
pub(super) struct FetchConnection {
    sender: RawSender,
    receiver: Receiver,
    budget: Arc<Budget>,
    pipeline: Pipeline,
    versions: Arc<ApiVersions>,
    version: i16,
    session: SaslSession,
    addr: Arc<str>,
    /// How long a request and its answer may take.
    exchange_timeout: Duration,
    /// When something was asked last.
    used_at: Instant,
    /// Number of rebootstraps of the cluster when the connection was begun.
    rebootstraps: u64,
}

/// Fetches from `broker` for as long as the consumer lives.
pub(super) async fn run(weak: Weak<Shared>, broker: i32, wake: Arc<Wake>) {
    let mut sessionless = SessionlessFetch::new(broker);
    let mut connection = None;
    let mut failures = 0;
    let mut failed_at = None;
    let mut rest = Rest::default();
    let mut frame = Writer::new();
    loop {
        let Some(shared) = weak.upgrade() else { return };
        match fetch(&shared, broker, &mut connection, &mut frame, &wake, &mut sessionless).await {
            Ok(true) => {
                // A broker that answers once and closes is not asked again at once each time.
                if failed_at.is_none_or(|at: Instant| at.elapsed() >= shared.config.backoff(1)) {
                    failures = 0;
                }
            }
            Ok(false) => {
                let until = rest.begin(&shared, broker, &mut connection).await;
                drop(shared);
                let ended = wait(&wake, until, &mut connection).await;
                if let Some(error) = ended
                    && let Some(shared) = weak.upgrade()
                {
                    rest.note_end(&shared, broker, &mut connection, &error);
                }
            }
            Err(error) => {
                connection = None;
                failures += 1;
                failed_at = Some(Instant::now());
                tracing::debug!(broker, %error, "fetching failed");
                let now = shared.now_ms();
                shared.with(|state| {
                    // It may be gone for good, or listen elsewhere.
                    state.wants_metadata = true;
                    match failures {
                        // It may have been the connection alone: the first time another is opened at once.
                        1 => state.fetcher.reconnecting(broker),
                        _ => state.fetcher.disconnected(broker, now),
                    }
                });
                shared.lookup.notify_one();
                let pause = match error.is_authentication() {
                    true => {
                        shared.fail(error);
                        AUTHENTICATION_BACKOFF
                    }
                    false if failures == 1 => continue,
                    false => shared.config.backoff(failures - 1),
                };
                drop(shared);
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// What a task does while there is nothing to ask. It watches its connection, so that one that was closed meanwhile
/// is not met when there is something; and where the broker may come to lead what is fetched, it has one.
#[derive(Default)]
struct Rest {
    opened_at: Option<Instant>,
    failures: u32,
    /// Not before then is another one opened.
    again_at: Option<Instant>,
}

impl Rest {
    /// Opens the connection, or keeps it alive, where that is due; says when to look again.
    async fn begin(
        &mut self,
        shared: &Arc<Shared>,
        broker: i32,
        connection: &mut Option<FetchConnection>,
    ) -> Option<Instant> {
        let (is_wanted, retry_at) = {
            let state = shared.lock();
            (state.ahead.contains(&broker), state.fetcher.next_retry())
        };
        let is_kept = match connection {
            Some(connection) => connection.tend(shared, is_wanted).await,
            None if is_wanted && self.again_at.is_none_or(|at| at <= Instant::now()) => {
                self.opened_at = Some(Instant::now());
                FetchConnection::open(shared, broker).await.map(|opened| {
                    *connection = Some(opened);
                    true
                })
            }
            None => Ok(false),
        };
        match is_kept {
            Ok(true) => {}
            Ok(false) => *connection = None,
            Err(error) => self.note_end(shared, broker, connection, &error),
        }
        let retry_at = retry_at.map(|ms| Instant::from_std(shared.instant_of(ms)));
        let own = match connection {
            Some(connection) => Some(connection.tend_at(shared)),
            None => self.again_at.filter(|_| is_wanted),
        };
        retry_at.into_iter().chain(own).min()
    }

    /// The connection has ended, or did not come about. Nothing waits for it, so nobody has to hear of it.
    fn note_end(
        &mut self,
        shared: &Shared,
        broker: i32,
        connection: &mut Option<FetchConnection>,
        error: &Error,
    ) {
        tracing::debug!(broker, %error, "the connection for fetching is not there");
        *connection = None;
        if self.opened_at.is_none_or(|at| at.elapsed() >= backoff::SOUND_AFTER) {
            self.failures = 0;
        }
        self.failures += 1;
        let pause = match error.is_authentication() {
            true => AUTHENTICATION_BACKOFF,
            false => backoff::ahead_pause(shared.config.retry_backoff, self.failures),
        };
        self.again_at = Some(Instant::now() + pause);
    }
}

/// Waits until there may be something to ask, or until then; gives the error with which the connection ended.
async fn wait(
    wake: &Wake,
    until: Option<Instant>,
    connection: &mut Option<FetchConnection>,
) -> Option<Error> {
    let is_due = async {
        match until {
            Some(at) => sleep_until(at).await,
            None => pending().await,
        }
    };
    let end = async {
        match connection {
            Some(connection) => connection.end().await,
            None => pending().await,
        }
    };
    tokio::select! {
        () = wake.look.notified() => None,
        () = is_due => None,
        error = end => Some(error),
    }
}

/// Sends what is to be asked and takes the answer in; says whether there was something to ask.
async fn fetch(
    shared: &Arc<Shared>,
    broker: i32,
    connection: &mut Option<FetchConnection>,
    frame: &mut Writer,
    wake: &Wake,
    sessionless: &mut SessionlessFetch,
) -> Result<bool, Error> {
    let now = shared.now_ms();
    if connection.is_none() {
        if !shared.with(|state| state.fetcher.wants(broker, now)) {
            return Ok(false);
        }
        *connection = Some(FetchConnection::open(shared, broker).await?);
        shared.with(|state| state.fetcher.connected(broker));
    }
    let Some(connection) = connection else { return Ok(false) };
    connection.log_in_if_due(shared).await?;
    frame.clear();
    let now = shared.now_ms();
    let id = &shared.cluster.options().client_id;
    let planned = shared
        .with(|state| state.fetcher.plan(broker, now, connection.version, id, frame))
        .map_err(|source| connection.cannot_encode(source))?;
    let Some(mut planned) = planned else { return Ok(false) };
    let begun = Instant::now();
    let body = {
        let answer = connection.exchange(frame, &mut planned);
        tokio::pin!(answer);
        let mut is_late = false;
        loop {
            tokio::select! {
                biased;
                body = &mut answer => break body?,
                () = wake.late.notified(), if !is_late => is_late = true,
                () = sleep_until(begun + HELD_BACK), if is_late => {
                    is_late = false;
                    sessionless.wake(shared);
                }
            }
        }
    };
    let now = shared.now_ms();
    let accepted = shared
        .accept(connection.rebootstraps, |fetcher| {
            fetcher.accept(broker, &body, connection.version, now)
        })
        .map_err(|source| connection.cannot_decode(source))?;
    drop((body, planned));
    shared.after_answer(&accepted);
    rest(&accepted).await;
    Ok(true)
}

/// Leaves the broker alone for as long as it asks for that (KIP-219).
pub(super) async fn rest(accepted: &Accepted) {
    if accepted.throttle_ms > 0 {
        tokio::time::sleep(Duration::from_millis(accepted.throttle_ms)).await;
    }
}

impl FetchConnection {
    pub async fn open(shared: &Shared, broker: i32) -> Result<FetchConnection, Error> {
        let connection = shared.cluster.open_raw(broker).await?;
        let options = shared.cluster.options();
        let version = connection.version_of::<FetchRequest>()?;
        let budget = Arc::clone(shared.lock().fetcher.budget());
        let exchange_timeout = options.request_timeout.saturating_add(shared.config.fetch_max_wait);
        let most = options.max_response_bytes;
        Ok(FetchConnection::over(connection, version, budget, most, bounded(exchange_timeout)))
    }

    fn over(
        connection: RawConnection,
        version: i16,
        budget: Arc<Budget>,
        max_response_bytes: usize,
        exchange_timeout: Duration,
    ) -> FetchConnection {
        let addr = Arc::clone(connection.addr());
        let Parts { sender, receiver, versions, pipeline, session, rebootstraps } =
            connection.into_parts();
        let receiver = Receiver::new(receiver, Arc::clone(&budget), max_response_bytes);
        FetchConnection {
            sender,
            receiver,
            budget,
            pipeline,
            versions,
            version,
            session,
            addr,
            exchange_timeout,
            used_at: Instant::now(),
            rebootstraps,
        }
    }

    /// What the broker speaks of Fetch.
    pub fn version(&self) -> i16 {
        self.version
    }

    /// Number of rebootstraps of the cluster when the connection was begun.
    pub fn rebootstraps(&self) -> u64 {
        self.rebootstraps
    }

    /// Sends a request and waits for its answer's body, both together no longer than
    /// `request.timeout.ms` and what the broker may hold it back for. After an error it is of no use.
    pub async fn exchange(
        &mut self,
        frame: &mut Writer,
        planned: &mut Planned,
    ) -> Result<Bytes, Error> {
        self.used_at = Instant::now();
        let correlation_id = self.pipeline.enter(ApiKey::FETCH, self.version);
        pipeline::set_correlation_id(frame.inline_mut(), correlation_id);
        let (sender, receiver, after) =
            (&mut self.sender, &mut self.receiver, self.exchange_timeout);
        let asked = timeout(after, async {
            sender.send(frame.inline()).await?;
            receiver.next(&mut planned.reservation).await
        });
        let late = |_| {
            let addr = Arc::clone(&self.addr);
            Error::Timeout { addr, what: ApiKey::FETCH.to_string(), after }
        };
        let body = asked.await.map_err(late)??;
        let (_, body_at) = self
            .pipeline
            .accept(&body)
            .map_err(|source| Error::Pipeline { addr: Arc::clone(&self.addr), source })?;
        Ok(body.slice(body_at..))
    }

    pub fn cannot_encode(&self, source: EncodeError) -> Error {
        let (addr, version) = (Arc::clone(&self.addr), self.version);
        Error::Encode { addr, api: ApiKey::FETCH, version, source }
    }

    pub fn cannot_decode(&self, source: DecodeError) -> Error {
        let (addr, version) = (Arc::clone(&self.addr), self.version);
        Error::Decode { addr, api: ApiKey::FETCH, version, source }
    }

    /// Logs in again when it is time to, and asks something where nothing was asked for long, if the connection is
    /// wanted; says whether it is of any more use. Nothing may be in flight.
    async fn tend(&mut self, shared: &Shared, is_wanted: bool) -> Result<bool, Error> {
        self.log_in_if_due(shared).await?;
        let options = shared.cluster.options();
        if self.used_at + bounded(options.connections_max_idle) > Instant::now() {
            return Ok(true);
        }
        if is_wanted {
            auth::keep_alive(self, options).await?;
            self.used_at = Instant::now();
        }
        // Else it is closed before the broker does so. The fetch session outlives it.
        Ok(is_wanted)
    }

    /// Waits until the connection ends, while nothing is in flight.
    pub async fn end(&mut self) -> Error {
        self.receiver.end().await
    }

    /// When [`Self::tend`] has something to do.
    fn tend_at(&self, shared: &Shared) -> Instant {
        let idle_at = self.used_at + bounded(shared.cluster.options().connections_max_idle);
        self.session.renew_at().map_or(idle_at, |renew_at| renew_at.min(idle_at))
    }

    /// Logs in again when it is time to. Nothing may be in flight: then it can be done on this
    /// connection, and the broker keeps the fetch session.
    pub async fn log_in_if_due(&mut self, shared: &Shared) -> Result<(), Error> {
        auth::log_in_if_due(self, shared.cluster.options().request_timeout).await
    }
}

impl Ask for FetchConnection {
    fn addr(&self) -> &Arc<str> {
        &self.addr
    }

    fn versions(&self) -> &Arc<ApiVersions> {
        &self.versions
    }

    fn session(&mut self) -> &mut SaslSession {
        &mut self.session
    }

    async fn ask(&mut self, mut frame: Writer, api: ApiKey, version: i16) -> Result<Bytes, Error> {
        let correlation_id = self.pipeline.enter(api, version);
        pipeline::set_correlation_id(frame.inline_mut(), correlation_id);
        self.sender.send_segments(&frame).await?;
        // Small, and gone at once: nothing to plan for.
        let mut reservation = self.budget.reserve(0);
        let body = self.receiver.next(&mut reservation).await?;
        let (_, body_at) = self
            .pipeline
            .accept(&body)
            .map_err(|source| Error::Pipeline { addr: Arc::clone(&self.addr), source })?;
        Ok(body.slice(body_at..))
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::Options;
    use crate::net::transport::{ReadHalf, WriteHalf};

    /// More than any socket takes in that nobody reads from.
    const TOO_MUCH: usize = 64 << 20;

    #[tokio::test]
    async fn a_broker_that_reads_nothing_is_not_waited_for_without_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr: Arc<str> = listener.local_addr().unwrap().to_string().into();
        let stream = TcpStream::connect(&*addr).await.unwrap();
        let _unread = listener.accept().await.unwrap();
        let (read, write) = stream.into_split();
        let halves = (ReadHalf::tcp(read), WriteHalf::Tcp(write));
        let connection = RawConnection::over(halves, addr, Options::default());
        let budget = Budget::new(1 << 20, || {});
        let exchange_timeout = Duration::from_millis(50);
        let mut connection =
            FetchConnection::over(connection, 17, Arc::clone(&budget), TOO_MUCH, exchange_timeout);
        let mut frame = Writer::new();
        frame.raw(&vec![0; TOO_MUCH]);
        let mut planned = Planned { reservation: budget.reserve(1) };
        let asked = connection.exchange(&mut frame, &mut planned);
        let asked = timeout(Duration::from_secs(20), asked).await.expect("it waits on");
        assert!(matches!(asked, Err(Error::Timeout { .. })), "{asked:?}");
    }
}
