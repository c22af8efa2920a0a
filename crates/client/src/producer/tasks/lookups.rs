//! What a producer has to look after besides sending: metadata, a producer id, and batches whose
//! time is over.

use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::InitProducerIdRequest;
use tokio::time::{Instant, timeout, timeout_at};

use crate::core::connect_ahead;
use crate::core::produce::ProduceErrorKind;
use crate::error::Error;
use crate::options::backoff::{self, AUTHENTICATION_BACKOFF};
use crate::producer::config::{ProducerConfig, ms};
use crate::producer::shared::Shared;

/// Looks for batches whose time is over at most this often, and at least this often.
const WATCH_MIN: Duration = Duration::from_millis(10);
const WATCH_MAX: Duration = Duration::from_secs(1);

/// The cluster does not take this client for who it says it is, or the other way round.
struct Refused;

/// When metadata was asked for.
#[derive(Default)]
struct Asked {
    at: Option<Instant>,
    /// The last request was not answered.
    has_failed: bool,
    /// Since when a leader is looked for that is not known, or was lost.
    seeking_since: Option<Instant>,
}

impl Asked {
    fn note_seeking(&mut self, is_seeking: bool) {
        let since = self.seeking_since.unwrap_or_else(Instant::now);
        self.seeking_since = is_seeking.then_some(since);
    }

    /// The pause after so many failures in a row to find out all there is.
    fn pause(&self, config: &ProducerConfig, failures: u32) -> Duration {
        match self.seeking_since {
            Some(since) if since.elapsed() < backoff::SEEK_FOR && !self.has_failed => {
                backoff::seek_pause(config.retry_backoff)
            }
            _ => config.backoff(failures),
        }
    }
}

/// Asks for what is to be known, until it is aborted.
pub(in crate::producer) async fn run(shared: Arc<Shared>) {
    let mut asked = Asked::default();
    let mut failures = 0u32;
    let seed = backoff::random();
    loop {
        let (metadata, id) = tokio::join!(metadata(&shared, &mut asked), producer_id(&shared));
        open_ahead(&shared, seed);
        match metadata.and_then(|knows| id.map(|has_id| knows && has_id)) {
            Ok(true) => {
                failures = 0;
                let since = asked.at.unwrap_or_else(Instant::now);
                let again = since + shared.config.metadata_max_age;
                drop(timeout_at(again, shared.lookup.notified()).await);
            }
            Ok(false) => {
                failures += 1;
                // What is missing was just asked for; only a topic that was not makes this go
                // faster.
                let pause = asked.pause(&shared.config, failures);
                drop(timeout(pause, shared.asked.notified()).await);
            }
            // Whoever is refused does not ask again at once, whatever is wanted meanwhile.
            Err(Refused) => tokio::time::sleep(AUTHENTICATION_BACKOFF).await,
        }
    }
}

/// Has connections opened to those who may lead next what is produced to, if that has changed.
fn open_ahead(shared: &Arc<Shared>, seed: u64) {
    let most = shared.cluster.options().connect_ahead;
    let metadata = shared.cluster.metadata();
    let added: Vec<i32> = {
        let mut state = shared.lock();
        if !state.sender.take_uses_changed() {
            return;
        }
        let chosen = connect_ahead::choose(&metadata, state.sender.in_use(), most, seed);
        let before = std::mem::replace(&mut state.ahead, chosen);
        state.ahead.difference(&before).copied().collect()
    };
    for broker in added {
        shared.wake_connection(broker);
    }
}

/// Gives up batches whose time is over, until it is aborted.
pub(in crate::producer) async fn watch(shared: Arc<Shared>) {
    let every = (shared.config.delivery_timeout / 20).clamp(WATCH_MIN, WATCH_MAX);
    loop {
        tokio::time::sleep(every).await;
        if !shared.with(|state| state.sender.expire(shared.now_ms())) {
            // Nothing waits, so nothing is woken up for.
            shared.watch.notified().await;
        }
    }
}

/// Asks for metadata, if that is wanted; says whether all that is wanted is known.
async fn metadata(shared: &Arc<Shared>, asked: &mut Asked) -> Result<bool, Refused> {
    let is_old = asked.at.is_some_and(|at| at.elapsed() >= shared.config.metadata_max_age);
    let since_ms = shared.now_ms().saturating_sub(ms(shared.config.metadata_max_idle));
    let mut names: Vec<String> = Vec::new();
    let is_wanted = {
        let mut state = shared.lock();
        let now = std::time::Instant::now();
        state.wanted.retain(|_, wanted| wanted.until > now);
        state.sender.forget(since_ms);
        names.extend(state.wanted.keys().cloned());
        names.extend(state.sender.topic_names(since_ms).map(|name| name.to_string()));
        // What somebody waits for is asked for again, but for what will not change.
        let waits = state.wanted.values().any(|w| w.code.is_none_or(ErrorCode::is_retriable));
        asked.note_seeking(state.sender.seeks_leader(&shared.cluster.metadata()));
        let lacks_leader = asked.seeking_since.is_some() || state.sender.lacks_leader();
        state.sender.take_wants_metadata() || lacks_leader || waits || is_old
    };
    if names.is_empty() {
        asked.at = Some(Instant::now());
    }
    if !is_wanted || names.is_empty() {
        return Ok(true);
    }
    // Answers that say little new do not come faster by being asked for again at once.
    if let Some(at) = asked.at {
        let soonest = at + asked.pause(&shared.config, 1);
        drop(timeout_at(soonest, shared.asked.notified()).await);
    }
    names.sort_unstable();
    names.dedup();
    let topics: Vec<&str> = names.iter().map(String::as_str).collect();
    let create = shared.config.auto_create_topics;
    let answer = shared.cluster.refresh_or_create(&topics, create).await;
    (asked.at, asked.has_failed) = (Some(Instant::now()), answer.is_err());
    let is_known = match answer {
        Ok((metadata, failed)) => shared.with(|state| {
            let now = shared.now_ms();
            state.sender.update_metadata(&metadata, topics, now);
            for (name, code) in failed {
                if let Some(wanted) = state.wanted.get_mut(&name) {
                    wanted.code = Some(code);
                }
            }
            let sender = &state.sender;
            state.wanted.retain(|name, _| !sender.knows(name));
            state.refreshes += 1;
            let waits = state.wanted.values().any(|w| w.code.is_none_or(ErrorCode::is_retriable));
            asked.note_seeking(state.sender.seeks_leader(&metadata));
            !waits && !state.sender.lacks_leader() && asked.seeking_since.is_none()
        }),
        Err(error) => {
            tracing::warn!(%error, "metadata could not be asked for");
            shared.lock().sender.metadata_failed(error.to_string().into());
            if error.is_authentication() {
                shared.changed.notify_waiters();
                return Err(Refused);
            }
            false
        }
    };
    shared.changed.notify_waiters();
    Ok(is_known)
}

/// Asks for a producer id, if there is none; says whether that is settled.
async fn producer_id(shared: &Arc<Shared>) -> Result<bool, Refused> {
    if !shared.lock().sender.wants_producer_id() {
        return Ok(true);
    }
    let request = InitProducerIdRequest {
        transactional_id: None,
        // Without a transactional id nobody looks at the timeout.
        transaction_timeout_ms: i32::MAX,
        producer_id: -1,
        producer_epoch: -1,
        ..InitProducerIdRequest::default()
    };
    let refused = match shared.cluster.send_any(&request).await {
        Ok(answer) if answer.error_code == ErrorCode::NONE => {
            shared.with(|state| {
                let now = shared.now_ms();
                state.sender.set_producer_id(answer.producer_id, answer.producer_epoch, now);
            });
            return Ok(true);
        }
        Ok(answer) if answer.error_code.is_retriable() => return Ok(false),
        Ok(answer) => answer.error_code,
        Err(Error::Version { .. }) => ErrorCode::UNSUPPORTED_VERSION,
        Err(error) => {
            tracing::warn!(%error, "a producer id could not be asked for");
            return if error.is_authentication() { Err(Refused) } else { Ok(false) };
        }
    };
    shared.with(|state| state.sender.give_up(ProduceErrorKind::NoProducerId(refused)));
    shared.room.notify_waiters();
    Ok(true)
}
