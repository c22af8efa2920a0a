//! Fetching from one broker: one connection of its own, one request in flight, no hand-off to any
//! other task between socket and buffer. While the broker holds a request back, [`sessionless`] asks for
//! what that request does not.

use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;

use thalweg_wire::Writer;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::connection::{FetchConnection, rest};
use super::sessionless::SessionlessFetch;
use crate::consumer::state::shared::{Shared, Wake};
use crate::error::Error;
use crate::options::backoff::{self, AUTHENTICATION_BACKOFF};

/// A request that takes so long to be answered is one that the broker holds back.
const HELD_BACK: Duration = Duration::from_millis(10);

/// Begins the task that fetches from `broker` for as long as the consumer lives.
pub(in crate::consumer) fn begin(
    runtime: &Handle,
    shared: Weak<Shared>,
    broker: i32,
    wake: Arc<Wake>,
) -> JoinHandle<()> {
    runtime.spawn(run(shared, broker, wake))
}

async fn run(weak: Weak<Shared>, broker: i32, wake: Arc<Wake>) {
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

    /// The connection has ended, or did not come about. Nothing waits for it, so no error is reported.
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
        .with(|state| state.fetcher.plan(broker, now, connection.version(), id, frame))
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
        .accept(connection.rebootstraps(), |fetcher| {
            fetcher.accept(broker, &body, connection.version(), now)
        })
        .map_err(|source| connection.cannot_decode(source))?;
    drop((body, planned));
    shared.after_answer(&accepted);
    rest(&accepted).await;
    Ok(true)
}
