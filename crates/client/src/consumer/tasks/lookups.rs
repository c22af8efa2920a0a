//! What a consumer has to look after besides fetching: metadata and offsets that are not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use thalweg_wire::ErrorCode;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use crate::cluster::offsets::{self, EARLIEST, LATEST, LookupError};
use crate::consumer::commits::{automatic, commit};
use crate::consumer::config::{ConsumerConfig, pattern};
use crate::consumer::state::shared::Shared;
use crate::core::code_name::code_name;
use crate::core::connect_ahead;
use crate::core::fetch::{OffsetReset, PartitionErrorKind, Unresolved};
use crate::core::group::{GroupProtocol, SubscribedTopics};
use crate::core::metadata::Metadata;
use crate::core::partition::Position;
use crate::error::Error;
use crate::options::backoff::{self, AUTHENTICATION_BACKOFF};

/// How long a commit may keep lookups waiting.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(2);

/// What is left to do; the worst counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    Nothing,
    /// A leader is looked for that is not known, or was lost.
    Leader,
    /// Something has to be tried again.
    Again,
    /// The same, but not soon: authentication failed.
    AuthenticationFailed,
}

impl Left {
    fn unless(is_done: bool) -> Left {
        if is_done { Left::Nothing } else { Left::Again }
    }
}

/// When metadata was asked for.
struct MetadataRequested {
    at: Instant,
    /// Times in a row that a topic was missing which may come yet.
    missing: u32,
    /// Since when a leader is looked for.
    seeking_since: Option<Instant>,
}

impl MetadataRequested {
    /// When to ask again without any other reason. Missing topics are asked for soon, but nothing
    /// else waits for them.
    fn again_at(&self, config: &ConsumerConfig) -> Instant {
        // No pause at all would be nothing but asking.
        let oldest = config.metadata_max_age.max(config.backoff(1));
        let pause = match self.missing {
            0 => oldest,
            missing => config.backoff(missing).min(oldest),
        };
        self.at + pause
    }

    /// The pause before metadata is asked for again because a leader is looked for, after so many times in a row.
    fn seek_pause(&mut self, config: &ConsumerConfig, failures: u32) -> Duration {
        let since = *self.seeking_since.get_or_insert_with(Instant::now);
        match since.elapsed() < backoff::SEEK_FOR {
            true => backoff::seek_pause(config.retry_backoff),
            false => config.backoff(failures),
        }
    }
}

/// Looks after a consumer for as long as it lives.
pub(in crate::consumer) async fn run(shared: Weak<Shared>, lookup: Arc<Notify>) {
    let mut asked = MetadataRequested { at: Instant::now(), missing: 0, seeking_since: None };
    let mut failures = 0u32;
    let seed = backoff::random();
    let mut next_commit = Instant::now();
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let interval = strong.config.auto_commit_interval.max(strong.config.backoff(1));
        let commits = commits_alone(&strong);
        if commits && Instant::now() >= next_commit {
            next_commit = Instant::now() + interval;
            // A coordinator that is away must not keep this from everything else there is to do.
            let commit = automatic::commit_news(&strong);
            if timeout(COMMIT_TIMEOUT, commit).await.is_err() {
                tracing::warn!("what was read was not committed in time, and will be later");
            }
        }
        let left = tend(&strong, &mut asked).await;
        open_ahead(&strong, seed);
        let again = match left {
            Left::Nothing => {
                failures = 0;
                let again = asked.again_at(&strong.config);
                if commits { again.min(next_commit) } else { again }
            }
            Left::AuthenticationFailed => {
                drop(strong);
                tokio::time::sleep(AUTHENTICATION_BACKOFF).await;
                continue;
            }
            Left::Leader | Left::Again => {
                failures += 1;
                let pause = match left {
                    Left::Leader => asked.seek_pause(&strong.config, failures),
                    _ => strong.config.backoff(failures),
                };
                drop(strong);
                // Nothing makes this go faster: what is missing was just asked for.
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        drop(strong);
        drop(timeout_at(again, lookup.notified()).await);
    }
}

/// Has connections opened to those who may lead next what is fetched, if that has changed.
fn open_ahead(shared: &Arc<Shared>, seed: u64) {
    let most = shared.cluster.options().connect_ahead;
    let metadata = shared.cluster.metadata();
    let added: Vec<i32> = {
        let mut state = shared.lock();
        if !state.fetcher.take_uses_changed() {
            return;
        }
        let chosen = connect_ahead::choose(&metadata, state.fetcher.in_use(), most, seed);
        let before = std::mem::replace(&mut state.ahead, chosen);
        state.ahead.difference(&before).copied().collect()
    };
    shared.wake_sources(added, Vec::new());
}

/// Whether this task commits what was read: where there is a group and no membership, whose task
/// would.
fn commits_alone(shared: &Arc<Shared>) -> bool {
    shared.config.auto_commit && shared.with_group(|group, _| group.member.is_none()) == Some(true)
}

/// Looks up what the group committed for partitions that were assigned by hand.
async fn find_committed(shared: &Arc<Shared>) -> Left {
    if shared.with_group(|group, _| group.member.is_none()) != Some(true) {
        return Left::Nothing;
    }
    match timeout(COMMIT_TIMEOUT, commit::settle(shared)).await {
        Ok(Ok(is_known)) => Left::unless(is_known),
        Ok(Err(error)) => {
            tracing::debug!(%error, "committed offsets could not be looked up");
            let is_refused = error.is_authentication();
            if !error.is_retriable() {
                shared.fail(error);
            }
            if is_refused { Left::AuthenticationFailed } else { Left::Again }
        }
        Err(_) => Left::Again,
    }
}

/// Tells everybody who fetches of room in the budget, for as long as the consumer lives.
pub(in crate::consumer) async fn watch_room(shared: Weak<Shared>, room: Arc<Notify>) {
    loop {
        room.notified().await;
        let Some(shared) = shared.upgrade() else { return };
        shared.with(|state| state.fetcher.wake_all());
    }
}

/// Does what there is to do; says what is left.
async fn tend(shared: &Arc<Shared>, asked: &mut MetadataRequested) -> Left {
    let mut left = Left::Nothing;
    let is_old = Instant::now() >= asked.again_at(&shared.config);
    let (topics, pattern, wanted) = shared.with(|state| {
        let seeks_leader = state.seeks_leader(&shared.cluster.metadata());
        asked.seeking_since = asked.seeking_since.filter(|_| seeks_leader);
        let unknown = seeks_leader || state.fetcher.without_leader().next().is_some();
        let wanted = std::mem::take(&mut state.wants_metadata) || unknown || is_old;
        let mut topics: BTreeSet<Arc<str>> =
            state.fetcher.partitions().map(|partition| Arc::clone(&partition.topic)).collect();
        let mut pattern = None;
        match &state.subscription {
            Some(SubscribedTopics::Topics(subscribed)) => topics.extend(subscribed.iter().cloned()),
            Some(SubscribedTopics::Pattern(text)) => pattern = Some(text.clone()),
            None => {}
        }
        (topics, pattern, wanted)
    });
    let is_classic = matches!(shared.config.group_protocol, GroupProtocol::Classic { .. });
    let pattern = pattern.filter(|_| is_classic);
    if wanted && (!topics.is_empty() || pattern.is_some()) {
        let is_missing;
        (left, is_missing) = refresh(shared, &topics, pattern.as_deref()).await;
        let missing = if is_missing { asked.missing.saturating_add(1) } else { 0 };
        (asked.at, asked.missing) = (Instant::now(), missing);
    } else if is_old {
        // There is nothing to ask for, which will do for as long.
        (asked.at, asked.missing) = (Instant::now(), 0);
    }
    left = left.max(find_committed(shared).await);
    left.max(resolve(shared).await)
}

/// Asks for metadata, of all topics where some have to match a pattern; says what is left to do for
/// the partitions that are read, and whether a topic is missing that may come yet.
async fn refresh(
    shared: &Arc<Shared>,
    topics: &BTreeSet<Arc<str>>,
    pattern: Option<&str>,
) -> (Left, bool) {
    let names: Vec<&str> = topics.iter().map(|topic| &**topic).collect();
    let asked = match pattern {
        None => shared.cluster.refresh(&names).await,
        Some(_) => shared.cluster.refresh_all().await,
    };
    let matching = pattern.and_then(|pattern| pattern::matcher(pattern).ok());
    match asked {
        Ok((metadata, failed)) => {
            let mut is_missing = false;
            note_absent(shared, topics, &metadata, &failed);
            for (topic, code) in failed {
                if code.is_retriable() {
                    is_missing = true;
                } else {
                    shared.fail(Error::Topic { topic: topic.into(), code });
                }
            }
            let now = shared.now_ms();
            let left = shared.with(|state| {
                state.fetcher.update_leaders(&metadata);
                if let Some(group) = &mut state.group
                    && let Some(member) = &mut group.member
                {
                    if let Some(matching) = &matching {
                        // Kafka's own topics match no pattern (`exclude.internal.topics`).
                        let topics = metadata.topics.iter().filter(|(_, topic)| !topic.internal);
                        let names = topics.map(|(name, _)| name.as_str());
                        let names = names.filter(|name| matching.is_match(name));
                        member.set_topics(names.map(Arc::from).collect(), now);
                    }
                    member.update_metadata(&metadata, now);
                    group.wake.notify_one();
                }
                match (state.seeks_leader(&metadata), state.fetcher.without_leader().next()) {
                    (true, _) => Left::Leader,
                    (false, Some(_)) => Left::Again,
                    (false, None) => Left::Nothing,
                }
            });
            (left, is_missing)
        }
        Err(error) => {
            tracing::warn!(%error, "metadata could not be asked for");
            shared.lock().wants_metadata = true;
            if !error.is_authentication() {
                return (Left::Again, false);
            }
            shared.fail(error);
            (Left::AuthenticationFailed, false)
        }
    }
}

/// Remembers which topics are not there, and says so once.
fn note_absent(
    shared: &Shared,
    wanted: &BTreeSet<Arc<str>>,
    metadata: &Metadata,
    failed: &[(String, ErrorCode)],
) {
    let code_of = |topic: &str| {
        let failed = failed.iter().find(|(name, _)| name == topic).map(|(_, code)| *code);
        // One without a leader is there.
        let failed = failed.filter(|code| *code != ErrorCode::LEADER_NOT_AVAILABLE);
        let is_known = metadata.topics.contains_key(topic);
        failed.or((!is_known).then_some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))
    };
    let absent: BTreeMap<Arc<str>, ErrorCode> =
        wanted.iter().filter_map(|topic| Some((Arc::clone(topic), code_of(topic)?))).collect();
    let before = std::mem::replace(&mut shared.lock().absent, absent.clone());
    for (topic, code) in &absent {
        if before.get(topic) != Some(code) {
            let code = code_name(*code);
            tracing::warn!(%topic, code, "a topic that is to be read is not there");
        }
    }
    for topic in before.keys().filter(|topic| !absent.contains_key(*topic)) {
        tracing::info!(%topic, "a topic that was missing is there, or is not to be read any more");
    }
}

/// Looks offsets up; says whether some are not known yet.
async fn resolve(shared: &Arc<Shared>) -> Left {
    let unresolved = shared.lock().fetcher.unresolved();
    if unresolved.is_empty() {
        return Left::Nothing;
    }
    let wanted = unresolved
        .iter()
        .map(|asked| {
            let timestamp = if asked.reset == OffsetReset::Earliest { EARLIEST } else { LATEST };
            ((*asked.partition).clone(), timestamp)
        })
        .collect();
    let found = offsets::look_up(&shared.cluster, wanted, shared.config.isolation_level).await;
    let mut left = Left::Nothing;
    for (partition, found) in found {
        match found {
            Ok(found) => {
                let position = Position { offset: found.offset, leader_epoch: found.leader_epoch };
                let is_this = |asked: &&Unresolved| *asked.partition == partition;
                let asked = unresolved.iter().find(is_this);
                if let Some(asked) = asked {
                    shared.with(|state| state.fetcher.resolve(asked, position));
                }
            }
            Err(LookupError::Broker(ErrorCode::TOPIC_AUTHORIZATION_FAILED)) => {
                let kind = PartitionErrorKind::Broker(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
                shared.with(|state| state.fetcher.fail(&partition, kind));
                shared.arrived.notify_one();
            }
            Err(LookupError::Unreachable(error)) if error.is_authentication() => {
                shared.fail(error);
                left = Left::AuthenticationFailed;
            }
            Err(why) => {
                tracing::debug!(%partition, %why, "an offset could not be looked up");
                shared.lock().wants_metadata = true;
                left = left.max(Left::Again);
            }
        }
    }
    left
}
