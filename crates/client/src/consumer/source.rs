//! Fetching from one broker: one connection of its own, one request in flight, no hand-off to any
//! other task between socket and buffer.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use thalweg_wire::messages::FetchRequest;
use thalweg_wire::{ApiKey, Writer};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use super::receiver::Receiver;
use super::shared::{DISTRUST_PAUSE, Shared};
use crate::auth::{Ask, Session};
use crate::core::ApiVersions;
use crate::core::fetch::Budget;
use crate::core::pipeline::{self, Pipeline};
use crate::error::Error;
use crate::raw::{Parts, RawConnection, RawSender};

/// A connection that fetches.
struct Link {
    sender: RawSender,
    receiver: Receiver,
    budget: Arc<Budget>,
    pipeline: Pipeline,
    versions: Arc<ApiVersions>,
    version: i16,
    session: Session,
    addr: Arc<str>,
}

/// Fetches from `broker` for as long as the consumer lives.
pub(super) async fn run(shared: Weak<Shared>, broker: i32, wake: Arc<Notify>) {
    let mut link = None;
    let mut failures = 0;
    let mut frame = Writer::new();
    loop {
        let Some(shared) = shared.upgrade() else { return };
        match fetch(&shared, broker, &mut link, &mut frame).await {
            Ok(true) => failures = 0,
            Ok(false) => {
                let retry = shared.lock().fetcher.next_retry().map(|at| shared.instant_of(at));
                drop(shared);
                match retry {
                    Some(at) => drop(timeout_at(at.into(), wake.notified()).await),
                    None => wake.notified().await,
                }
            }
            Err(error) => {
                link = None;
                failures += 1;
                tracing::debug!(broker, %error, "fetching failed");
                let now = shared.now_ms();
                shared.with(|state| {
                    state.fetcher.disconnected(broker, now);
                    // It may be gone for good, or listen elsewhere.
                    state.wants_metadata = true;
                });
                shared.errand.notify_one();
                let pause = match error.is_authentication() {
                    true => {
                        shared.fail(error);
                        DISTRUST_PAUSE
                    }
                    false => shared.config.backoff(failures),
                };
                drop(shared);
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// Sends what is to be asked and takes the answer in; says whether there was something to ask.
async fn fetch(
    shared: &Arc<Shared>,
    broker: i32,
    link: &mut Option<Link>,
    frame: &mut Writer,
) -> Result<bool, Error> {
    let now = shared.now_ms();
    if link.is_none() {
        if !shared.with(|state| state.fetcher.wants(broker, now)) {
            return Ok(false);
        }
        *link = Some(Link::open(shared, broker).await?);
    }
    let Some(link) = link else { return Ok(false) };
    let options = shared.cluster.options();
    if link.session.is_due() {
        // Nothing is in flight here, so that it can be done on this connection, and the broker
        // keeps the fetch session.
        link.log_in_again(options.request_timeout).await?;
    }
    frame.clear();
    let now = shared.now_ms();
    let planned = shared
        .with(|state| state.fetcher.plan(broker, now, link.version, &options.client_id, frame))
        .map_err(|source| Error::Encode {
            addr: Arc::clone(&link.addr),
            api: ApiKey::FETCH,
            version: link.version,
            source,
        })?;
    let Some(mut planned) = planned else { return Ok(false) };
    let correlation_id = link.pipeline.enter(ApiKey::FETCH, link.version);
    pipeline::set_correlation_id(frame.inline_mut(), correlation_id);
    link.sender.send(frame.inline()).await?;
    let after = options.request_timeout.saturating_add(shared.config.fetch_max_wait);
    let body =
        timeout(after, link.receiver.next(&mut planned.reservation)).await.map_err(|_| {
            Error::Timeout { addr: Arc::clone(&link.addr), what: "Fetch".into(), after }
        })??;
    let (_, body_at) = link
        .pipeline
        .accept(&body)
        .map_err(|source| Error::Pipeline { addr: Arc::clone(&link.addr), source })?;
    let body = body.slice(body_at..);
    let now = shared.now_ms();
    let accepted = shared
        .with(|state| state.fetcher.accept(broker, &body, link.version, now))
        .map_err(|source| Error::Decode {
            addr: Arc::clone(&link.addr),
            api: ApiKey::FETCH,
            version: link.version,
            source,
        })?;
    drop((body, planned));
    shared.after_answer(&accepted);
    if accepted.throttle_ms > 0 {
        // The broker asks to be left alone (KIP-219).
        let pause = Duration::from_millis(accepted.throttle_ms);
        tokio::time::sleep_until(Instant::now() + pause).await;
    }
    Ok(true)
}

impl Link {
    async fn open(shared: &Shared, broker: i32) -> Result<Link, Error> {
        let address = shared.cluster.address(broker)?;
        let options = shared.cluster.options();
        let connection = RawConnection::open(&address, options).await?;
        let version = connection.version_of::<FetchRequest>()?;
        let addr = Arc::clone(connection.addr());
        let Parts { sender, receiver, versions, pipeline, session } = connection.into_parts();
        let budget = Arc::clone(shared.lock().fetcher.budget());
        let receiver = Receiver::new(receiver, Arc::clone(&budget), options.max_response_bytes);
        Ok(Link { sender, receiver, budget, pipeline, versions, version, session, addr })
    }

    async fn log_in_again(&mut self, after: Duration) -> Result<(), Error> {
        let mut session = std::mem::take(&mut self.session);
        let versions = Arc::clone(&self.versions);
        let done = timeout(after, session.log_in(self, &versions)).await;
        self.session = session;
        let addr = || Arc::clone(&self.addr);
        done.unwrap_or_else(|_| {
            Err(Error::Timeout { addr: addr(), what: "logging in again".into(), after })
        })
    }
}

impl Ask for Link {
    fn addr(&self) -> &Arc<str> {
        &self.addr
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
