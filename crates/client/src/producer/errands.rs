//! What a producer has to look after besides sending: metadata, a producer id, and batches whose
//! time is over.

use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::InitProducerIdRequest;
use tokio::time::{Instant, timeout, timeout_at};

use super::shared::Shared;
use crate::core::produce::ProduceErrorKind;
use crate::error::Error;

/// Looks for batches whose time is over at most this often, and at least this often.
const WATCH_MIN: Duration = Duration::from_millis(10);
const WATCH_MAX: Duration = Duration::from_secs(1);

/// Asks for what is to be known, until it is aborted.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut refreshed = Instant::now();
    let mut failures = 0u32;
    loop {
        let (knows, has_id) = tokio::join!(metadata(&shared, &mut refreshed), producer_id(&shared));
        if knows && has_id {
            failures = 0;
            let again = refreshed + shared.config.metadata_max_age;
            drop(timeout_at(again, shared.errand.notified()).await);
            continue;
        }
        failures += 1;
        let pause = shared.config.backoff(failures);
        // What is missing was just asked for; only a topic that was not makes this go faster.
        drop(timeout(pause, shared.asked.notified()).await);
    }
}

/// Gives up batches whose time is over, until it is aborted.
pub(super) async fn watch(shared: Arc<Shared>) {
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
async fn metadata(shared: &Arc<Shared>, refreshed: &mut Instant) -> bool {
    let is_old = refreshed.elapsed() >= shared.config.metadata_max_age;
    let mut names: Vec<String> = Vec::new();
    let is_wanted = {
        let mut state = shared.lock();
        let now = std::time::Instant::now();
        state.wanted.retain(|_, wanted| wanted.until > now);
        names.extend(state.wanted.keys().cloned());
        names.extend(state.sender.topic_names().map(|name| name.to_string()));
        // What somebody waits for is asked for again, but for what will not change.
        let waits = state.wanted.values().any(|w| w.code.is_none_or(ErrorCode::is_retriable));
        state.sender.take_wants_metadata() || state.sender.lacks_leader() || waits || is_old
    };
    if !is_wanted || names.is_empty() {
        return true;
    }
    names.sort_unstable();
    names.dedup();
    let topics: Vec<&str> = names.iter().map(String::as_str).collect();
    let create = shared.config.auto_create_topics;
    let answer = shared.cluster.refresh_or_create(&topics, create).await;
    *refreshed = Instant::now();
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
            !waits && !state.sender.lacks_leader()
        }),
        Err(error) => {
            tracing::warn!(%error, "metadata could not be asked for");
            shared.lock().sender.want_metadata();
            false
        }
    };
    shared.changed.notify_waiters();
    is_known
}

/// Asks for a producer id, if there is none; says whether that is settled.
async fn producer_id(shared: &Arc<Shared>) -> bool {
    if !shared.lock().sender.wants_producer_id() {
        return true;
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
            return true;
        }
        Ok(answer) if answer.error_code.is_retriable() => return false,
        Ok(answer) => answer.error_code,
        Err(Error::Version { .. }) => ErrorCode::UNSUPPORTED_VERSION,
        Err(error) => {
            tracing::warn!(%error, "a producer id could not be asked for");
            return false;
        }
    };
    shared.with(|state| state.sender.give_up(ProduceErrorKind::NoProducerId(refused)));
    shared.room.notify_waiters();
    true
}
