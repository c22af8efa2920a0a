//! A connection that fetches: one request in flight, from socket to buffer without a hand-off.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thalweg_connection::{ApiVersions, Pipeline, pipeline};
use thalweg_wire::messages::FetchRequest;
use thalweg_wire::{ApiKey, DecodeError, EncodeError, Writer};
use tokio::time::{Instant, timeout};

use super::receiver::Receiver;
use crate::consumer::state::shared::Shared;
use crate::core::fetch::{Accepted, Budget, Planned};
use crate::error::Error;
use crate::net::auth::{self, Ask, SaslSession};
use crate::net::raw::{Parts, RawConnection, RawSender};
use crate::options::bounded;

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
    pub async fn tend(&mut self, shared: &Shared, is_wanted: bool) -> Result<bool, Error> {
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
    pub fn tend_at(&self, shared: &Shared) -> Instant {
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

    /// More than the buffers of any socket hold.
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
