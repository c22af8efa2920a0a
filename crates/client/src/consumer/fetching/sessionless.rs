//! Asking a broker for what the request that it holds back does not ask for, on a connection of its
//! own, which is opened when it is first needed. See `core::fetch::fetcher::sessionless`.

use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;

use thalweg_wire::Writer;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connection::{FetchConnection, rest};
use crate::consumer::state::shared::Shared;
use crate::error::Error;
use crate::options::backoff::AUTHENTICATION_BACKOFF;
use crate::options::bounded;

/// The task that asks, once there is one.
pub(super) struct SessionlessFetch {
    broker: i32,
    wake: Arc<Notify>,
    task: Option<JoinHandle<()>>,
}

impl SessionlessFetch {
    pub fn new(broker: i32) -> SessionlessFetch {
        SessionlessFetch { broker, wake: Arc::default(), task: None }
    }

    /// There is something to ask.
    pub fn wake(&mut self, shared: &Arc<Shared>) {
        self.wake.notify_one();
        self.task.get_or_insert_with(|| {
            let idle = bounded(shared.cluster.options().connections_max_idle);
            tokio::spawn(run(Arc::downgrade(shared), self.broker, Arc::clone(&self.wake), idle))
        });
    }
}

impl Drop for SessionlessFetch {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn run(shared: Weak<Shared>, broker: i32, wake: Arc<Notify>, idle: Duration) {
    let mut connection = None;
    let mut failures = 0;
    let mut frame = Writer::new();
    loop {
        let end = async {
            match &mut connection {
                Some(connection) => FetchConnection::end(connection).await,
                None => pending().await,
            }
        };
        // It is closed before the broker does so.
        let woken = async { timeout(idle, wake.notified()).await.is_ok() };
        let is_woken = tokio::select! {
            is_woken = woken => is_woken,
            _ = end => false,
        };
        if !is_woken {
            connection = None;
            continue;
        }
        let Some(shared) = shared.upgrade() else { return };
        match ask(&shared, broker, &mut connection, &mut frame).await {
            Ok(()) => failures = 0,
            Err(error) => {
                // The session asks for it in its time. That the broker closed a connection that
                // was not used for long is nothing to speak of.
                connection = None;
                failures += 1;
                tracing::debug!(broker, %error, "a fetch without a session failed");
                shared.with(|state| state.fetcher.sessionless_failed(broker));
                let pause = match error.is_authentication() {
                    true => AUTHENTICATION_BACKOFF,
                    false => shared.config.backoff(failures),
                };
                drop(shared);
                tokio::time::sleep(pause).await;
            }
        }
    }
}

/// Asks as long as there is something to ask.
async fn ask(
    shared: &Arc<Shared>,
    broker: i32,
    connection: &mut Option<FetchConnection>,
    frame: &mut Writer,
) -> Result<(), Error> {
    loop {
        if connection.is_none() {
            *connection = Some(FetchConnection::open(shared, broker).await?);
        }
        let Some(connection) = connection else { return Ok(()) };
        connection.log_in_if_due(shared).await?;
        frame.clear();
        let (now, version) = (shared.now_ms(), connection.version());
        let id = &shared.cluster.options().client_id;
        let planned = shared
            .with(|state| state.fetcher.plan_sessionless(broker, now, version, id, frame))
            .map_err(|source| connection.cannot_encode(source))?;
        let Some(mut planned) = planned else { return Ok(()) };
        let body = connection.exchange(frame, &mut planned).await?;
        let now = shared.now_ms();
        let accepted = shared
            .accept(connection.rebootstraps(), |fetcher| {
                fetcher.accept_sessionless(broker, &body, version, now)
            })
            .map_err(|source| connection.cannot_decode(source))?;
        drop((body, planned));
        shared.after_answer(&accepted);
        rest(&accepted).await;
    }
}
