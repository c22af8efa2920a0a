//! Fetches from one broker what it leads, or this fetcher's part of that: all partitions in one request, one request at a
//! time. The requests are of one incremental fetch session, so that they name only partitions of which there is something
//! new.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::LogDir;
use thalweg_replication::{Changes, EpochEnd, Epochs, FetchSession, Follower, LeaderOffset, Told};
use thalweg_wire::grouped::by_sorted_topic;
use thalweg_wire::messages::fetch_request::{
    FetchPartition, FetchTopic, ForgottenTopic, ReplicaState,
};
use thalweg_wire::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use thalweg_wire::messages::{FetchRequest, FetchResponse, ListOffsetsRequest};
use thalweg_wire::{ErrorCode, Uuid};
use tokio::sync::Notify;

use super::answer::{self, Found};
use super::waiting::WaitingChanges;
use crate::net::kept::KeptConnection;
use crate::net::outgoing::{ANSWER_MAX, Outgoing, OutgoingError, Timeouts};
use crate::net::peer;
use crate::node::logged_once::LoggedOnce;
use crate::replicas::Replicas;
use crate::replicas::partition::Partition;
use crate::replicas::shared::Throttle;

/// Timestamps that ask for a log's end and beginning.
const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
/// How long the leader may hold a fetch that is not given up for what comes meanwhile.
const UNINTERRUPTED_WAIT_MS: u64 = 100;
/// A connection is kept for a fetch that is due within that.
const KEEP_CONNECTION_MS: u64 = 100;
/// How long a follower waits that fetches faster than it may.
const THROTTLED_PAUSE_MS: u64 = 100;

/// Topic and partition.
pub(super) type Key = (Uuid, i32);

/// The session with the leader.
pub(super) type Session = FetchSession<Key>;

/// What is to be asked for.
struct Due {
    changes: Changes<Key>,
    /// Whether the leader is asked for nothing at all.
    is_empty: bool,
    /// Whether a partition is not asked for because it waits for a disk.
    is_waiting: bool,
    /// When there is more.
    wakes_at: Option<u64>,
}

/// A partition that is fetched.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) partition: Arc<Partition>,
    pub(super) follower: Follower,
    /// Fetches in a row that the leader refused because its metadata was behind.
    pub(super) metadata_behind: u32,
    /// Whether it had all that is committed when the leader answered last.
    pub(super) is_in_sync: bool,
    /// Something is done with its log that may wait for a disk ([`WaitingChanges`]).
    pub(super) is_waiting: bool,
}

impl Followed {
    /// What was to be done with the log is done.
    pub(super) fn moved(&mut self) {
        self.is_waiting = false;
        self.follower.moved(&LogEpochs(&self.partition));
    }
}

/// An append that the thread that fetches is in.
#[derive(Debug)]
struct AppendUnderWay {
    generation: u64,
    key: Key,
    leader_epoch: i32,
    dir: Arc<LogDir>,
}

/// What is fetched from one broker, or a part of that.
#[derive(Debug)]
pub(crate) struct Fetcher {
    leader: i32,
    /// Which of the fetchers from that broker it is.
    number: usize,
    /// For how many fetchers from that broker it has last handed over what others are to fetch.
    sized_for: AtomicUsize,
    followed: Mutex<BTreeMap<Key, Followed>>,
    /// A loop fetches.
    has_begun: AtomicBool,
    /// Something was added that is not to be fetched yet.
    has_more: AtomicBool,
    /// How often something more to fetch has come.
    additions: AtomicU64,
    added: Notify,
    /// The leader believes that this follower knows what it does not: a high watermark that it would not be told again.
    has_missed: AtomicBool,
    pub(super) waiting: WaitingChanges,
    /// Which of the loops is the one that fetches, of those that took over from each other.
    generation: AtomicU64,
    /// What that one appends to.
    appending: Mutex<Option<AppendUnderWay>>,
    /// Something that waited for a disk is done.
    settled: Notify,
    /// The last trouble that was said, so that it is said once.
    logged: Mutex<LoggedOnce>,
}

/// What a log says to its follower.
pub(super) struct LogEpochs<'a>(pub(super) &'a Partition);

impl Epochs for LogEpochs<'_> {
    fn log_end(&self) -> i64 {
        self.0.log.log_end_offset()
    }

    fn latest_epoch(&self) -> Option<i32> {
        self.0.log.latest_epoch().map(|(epoch, _)| epoch)
    }

    fn end_of(&self, epoch: i32) -> Option<EpochEnd> {
        let (epoch, end_offset) = self.0.log.end_offset_for_epoch(epoch)?;
        Some(EpochEnd { epoch, end_offset })
    }
}

impl Fetcher {
    pub(super) fn new((leader, number): (i32, usize)) -> Fetcher {
        Fetcher {
            leader,
            number,
            sized_for: AtomicUsize::new(0),
            followed: Mutex::default(),
            has_begun: AtomicBool::new(false),
            has_more: AtomicBool::new(false),
            additions: AtomicU64::new(0),
            added: Notify::new(),
            has_missed: AtomicBool::new(false),
            waiting: WaitingChanges::default(),
            generation: AtomicU64::new(0),
            appending: Mutex::default(),
            settled: Notify::new(),
            logged: Mutex::default(),
        }
    }

    /// The broker that it fetches from, and its number among those that do.
    pub(super) fn id(&self) -> (i32, usize) {
        (self.leader, self.number)
    }

    /// Whether it fetches a partition in that epoch.
    pub(super) fn has(&self, topic: Uuid, partition: &Arc<Partition>, epoch: i32) -> bool {
        self.followed.lock().get(&(topic, partition.index)).is_some_and(|it| {
            it.follower.leader_epoch() == epoch && Arc::ptr_eq(&it.partition, partition)
        })
    }

    /// Takes a partition in, to be fetched in an epoch from where its log ends ([`Self::begin`]).
    pub(super) fn add(&self, topic: Uuid, partition: &Arc<Partition>, epoch: i32) {
        let it = Followed {
            follower: Follower::new(epoch, &LogEpochs(partition)),
            partition: Arc::clone(partition),
            metadata_behind: 0,
            is_in_sync: false,
            is_waiting: false,
        };
        self.put([((topic, partition.index), it)]);
    }

    /// Takes partitions in, to be fetched on from where another fetcher was.
    pub(super) fn put(&self, all: impl IntoIterator<Item = (Key, Followed)>) {
        self.followed.lock().extend(all);
        // They may be for another fetcher, which the next request finds out.
        self.sized_for.store(0, Ordering::Relaxed);
        self.has_more.store(true, Ordering::Release);
    }

    /// Takes out partitions that are not for it, but for those that wait for a disk; says whether these were all.
    pub(super) fn take_out(
        &self,
        is_for_others: impl Fn(&Partition) -> bool,
    ) -> (Vec<(Key, Followed)>, bool) {
        let mut is_all = true;
        let goes = |_: &Key, it: &mut Followed| {
            let is_for_others = is_for_others(&it.partition);
            is_all &= !is_for_others || !it.is_waiting;
            is_for_others && !it.is_waiting
        };
        let taken_out = self.followed.lock().extract_if(.., goes).collect();
        (taken_out, is_all)
    }

    /// Whether it has handed over what others are to fetch where so many fetch from its broker.
    pub(super) fn is_sized_for(&self, fetchers: usize) -> bool {
        self.sized_for.load(Ordering::Relaxed) == fetchers
    }

    /// It has.
    pub(super) fn set_sized_for(&self, fetchers: usize) {
        self.sized_for.store(fetchers, Ordering::Relaxed);
    }

    /// Has what was added fetched; says whether a loop has to be started for it.
    pub(super) fn begin(&self) -> bool {
        if self.has_more.swap(false, Ordering::AcqRel) {
            self.something_added();
        }
        !self.has_begun.swap(true, Ordering::AcqRel)
    }

    /// Has it look at what there is to do.
    pub(super) fn something_added(&self) {
        self.additions.fetch_add(1, Ordering::Release);
        self.added.notify_one();
    }

    /// A partition waits for no disk any more.
    pub(super) fn fetch_again(&self) {
        self.something_added();
        self.settled.notify_one();
    }

    /// Waits for the disks that do not stall, until the limit is over.
    async fn settle(&self, limit: Duration) {
        if !self.waiting.has_soon() {
            return;
        }
        let settled = async {
            while self.waiting.has_soon() {
                self.settled.notified().await;
            }
        };
        if tokio::time::timeout(limit, settled).await.is_err() {
            self.waiting.give_up();
        }
    }

    /// Appends to a partition's log on the thread that fetches ([`Self::take_over`]). A panic is the caller's.
    pub(super) fn append<T>(
        &self,
        generation: u64,
        key: Key,
        leader_epoch: i32,
        partition: &Partition,
        append: impl FnOnce() -> T,
    ) -> std::thread::Result<T> {
        let dir = partition.log.dir();
        // Where it stalls the append waits elsewhere.
        if !dir.is_slow() {
            let dir = Arc::clone(dir);
            *self.appending.lock() = Some(AppendUnderWay { generation, key, leader_epoch, dir });
        }
        let done = catch_unwind(AssertUnwindSafe(append));
        // Not the one of a loop that has taken over.
        self.appending.lock().take_if(|it| it.generation == generation);
        done
    }

    /// If the loop that fetches is in an append that does not come back, another one has to fetch the rest: gives the
    /// generation of that one, and leaves the partition to the one that is stuck.
    pub(super) fn take_over(&self) -> Option<u64> {
        let mut appending = self.appending.lock();
        if !appending.as_ref().is_some_and(|it| it.dir.is_slow()) {
            return None;
        }
        let AppendUnderWay { key, leader_epoch, .. } = appending.take()?;
        // Under the lock, or the append might be over in between, and the partition would not be fetched again.
        self.with(key, leader_epoch, |it| it.is_waiting = true);
        Some(self.generation.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// Whether a loop is the one that fetches.
    pub(super) fn is_current(&self, generation: u64) -> bool {
        self.generation.load(Ordering::Acquire) == generation
    }

    /// Places in the leader's logs that the loop before this one looked for are looked for again.
    fn look_again(&self, retry_at_ms: u64) {
        let mut followed = self.followed.lock();
        for it in followed.values_mut().filter(|it| it.follower.is_out_of_range()) {
            it.follower.failed(retry_at_ms);
        }
    }

    /// The next fetch begins another session.
    pub(super) fn forget_session(&self) {
        self.has_missed.store(true, Ordering::Release);
    }

    /// Waits until something more to fetch has come than there was.
    async fn added_since(&self, known: u64) {
        while self.additions.load(Ordering::Acquire) == known {
            self.added.notified().await;
        }
    }

    pub(super) fn remove(&self, topic: Uuid, index: i32) {
        self.followed.lock().remove(&(topic, index));
    }

    /// Changes what is known of a partition, if it is still fetched in that epoch.
    pub(super) fn with<T>(
        &self,
        key: Key,
        leader_epoch: i32,
        change: impl FnOnce(&mut Followed) -> T,
    ) -> Option<T> {
        let mut followed = self.followed.lock();
        let one = followed.get_mut(&key).filter(|it| it.follower.leader_epoch() == leader_epoch)?;
        Some(change(one))
    }

    /// Looks at a partition.
    #[cfg(test)]
    pub(super) fn look<T>(&self, key: Key, look: impl Fn(&Followed) -> T) -> Option<T> {
        self.followed.lock().get(&key).map(look)
    }

    /// What to ask for now.
    fn due(&self, session: &mut Session, throttle: &Throttle, now_ms: u64) -> Due {
        let is_exceeded = throttle.is_exceeded(now_ms);
        let followed = self.followed.lock();
        let (mut wakes_at, mut is_empty, mut is_waiting) = (None::<u64>, true, false);
        // What an offline directory has is fetched by the next process.
        let usable = followed.iter().filter(|(_, it)| it.partition.log.dir().check().is_ok());
        let changes = session.next(usable.filter_map(|(key, it)| {
            if it.is_waiting {
                is_waiting = true;
                return None;
            }
            let Some(fetch) = it.follower.next_fetch(now_ms) else {
                if let Some(at) = it.follower.retries_at() {
                    wakes_at = Some(wakes_at.map_or(at, |other| other.min(at)));
                }
                return None;
            };
            if is_exceeded && !it.is_in_sync && it.partition.is_follower_throttled() {
                let at = now_ms + THROTTLED_PAUSE_MS;
                wakes_at = Some(wakes_at.map_or(at, |other| other.min(at)));
                return None;
            }
            is_empty = false;
            Some((*key, Told { fetch, log_start: it.partition.log.log_start_offset() }))
        }));
        Due { changes, is_empty, is_waiting, wakes_at }
    }

    /// The leader answers again.
    fn recovered(&self) {
        self.logged.lock().clear();
    }

    /// Says what is wrong, once.
    pub(super) fn say(&self, error: &dyn std::fmt::Display) {
        let text = error.to_string();
        if self.logged.lock().is_news(&text) {
            tracing::warn!(leader = self.leader, error = text, "followers cannot fetch for now");
        }
    }
}

/// Fetches until another loop does ([`Fetcher::take_over`]), or nothing is left for this fetcher.
pub(super) async fn run(replicas: Arc<Replicas>, fetcher: Arc<Fetcher>, generation: u64) {
    let client_id: Arc<str> =
        format!("broker-{}-fetcher-{}", replicas.node.id(), fetcher.number).into();
    let mut connection = KeptConnection::default();
    let mut session = Session::default();
    // Where the next request of all partitions begins, so that the last of many are not always the last.
    let mut turn = 0usize;
    let mut was_given_up = false;
    fetcher.look_again(answer::retry_at(&replicas));
    loop {
        // First, so that nothing that comes from here on waits for the answer of a fetch without it.
        let additions = fetcher.additions.load(Ordering::Acquire);
        if replicas.fetchers().hand_over(&replicas, &fetcher) {
            return;
        }
        if fetcher.has_missed.swap(false, Ordering::AcqRel) {
            session.lost();
        }
        let now = replicas.node.clock().monotonic_ms();
        let Due { mut changes, is_empty, is_waiting, wakes_at } =
            fetcher.due(&mut session, &replicas.shared().throttles.follower, now);
        let mut wakes_in = wakes_at.map(|at| at.saturating_sub(now).max(1));
        if is_empty {
            if !is_waiting && wakes_in.is_none_or(|ms| ms > KEEP_CONNECTION_MS) {
                connection.close();
            }
            // What the leader was to forget is not told.
            session.lost();
            let pause = wakes_in.map_or(Duration::from_secs(3_600), Duration::from_millis);
            let _ = tokio::time::timeout(pause, fetcher.added_since(additions)).await;
            continue;
        }
        if session.is_full() {
            let first = turn % changes.named.len().max(1);
            changes.named.rotate_left(first);
            turn = turn.wrapping_add(1);
        }
        // What waits for a disk is to be fetched again soon, which is not worth another connection.
        let may_interrupt = !was_given_up && !is_waiting;
        if !may_interrupt {
            wakes_in =
                Some(wakes_in.map_or(UNINTERRUPTED_WAIT_MS, |ms| ms.min(UNINTERRUPTED_WAIT_MS)));
        }
        was_given_up = false;
        let request = request(&replicas, session.id_and_epoch(), changes, wakes_in);
        // The leader holds a fetch for as long as there is nothing: what comes meanwhile is not left to wait for that.
        // Every second one is not given up, or a leader that is slow to answer would never get to answer.
        let followed = &fetcher;
        let interrupt = async move {
            if !may_interrupt {
                std::future::pending::<()>().await;
            }
            followed.added_since(additions).await;
        };
        let answer = match connect(&replicas, fetcher.leader, &client_id, &mut connection).await {
            Ok(connection) => connection.call_unless(&request, interrupt).await,
            Err(error) => Err(error),
        };
        match answer {
            Err(OutgoingError::GivenUp) => {
                connection.close();
                was_given_up = true;
                session.lost();
            }
            Ok(response) if response.error_code.is_ok() => {
                let mut partitions = response.responses.iter().flat_map(|it| &it.partitions);
                if partitions.all(|it| it.error_code.is_ok()) {
                    fetcher.recovered();
                }
                session.answered(response.session_id);
                let taken =
                    take(&replicas, &fetcher, generation, &session, response, &mut connection);
                if taken.await.is_break() {
                    return;
                }
            }
            // As after a restart of the leader, or when it needed the place for others: the next request names everything.
            Ok(response) if is_of_session(response.error_code) && !session.is_full() => {
                tracing::debug!(leader = fetcher.leader, error = %response.error_code,
                    "the leader does not have this fetch session; another is begun");
                session.refused();
            }
            Ok(response) => {
                fetcher.say(&response.error_code);
                answer::failed(&replicas, &fetcher, &session);
                session.refused();
            }
            Err(error) => {
                fetcher.say(&error);
                connection.close();
                answer::failed(&replicas, &fetcher, &session);
                session.lost();
            }
        }
    }
}

/// Whether an error says that the leader does not have the session that a request names.
fn is_of_session(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::FETCH_SESSION_ID_NOT_FOUND
            | ErrorCode::INVALID_FETCH_SESSION_EPOCH
            | ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR
    )
}

/// The connection to the leader.
async fn connect<'a>(
    replicas: &Replicas,
    leader: i32,
    client_id: &Arc<str>,
    held: &'a mut KeptConnection,
) -> Result<&'a mut Outgoing, OutgoingError> {
    let settings = replicas.node.settings();
    let timeout = u64::try_from(settings.config.replica_socket_timeout_ms()).unwrap_or(30_000);
    let timeout = Duration::from_millis(timeout.max(1));
    // One batch at least is sent, however large.
    let asked = settings.config.replica_fetch_response_max_bytes();
    let answer_max = ANSWER_MAX.max(usize::try_from(asked).unwrap_or(0).saturating_mul(2));
    drop(settings);
    let timeouts = Timeouts { connect: timeout, request: timeout, answer_max };
    peer::connect(&replicas.node, leader, client_id, timeouts, held).await
}

/// Carries out what came: appends, cuts off, asks for where the leader's logs begin and end. Breaks off if another loop
/// fetches by then.
async fn take(
    replicas: &Arc<Replicas>,
    fetcher: &Arc<Fetcher>,
    generation: u64,
    session: &Session,
    response: FetchResponse,
    connection: &mut KeptConnection,
) -> ControlFlow<()> {
    let mut to_find = Vec::new();
    answer::take(replicas, fetcher, generation, session, response, &mut to_find).await?;
    // Few: only for partitions that are out of the leader's range.
    while let Some((key, leader_epoch, wanted)) = to_find.pop() {
        let timestamp = if wanted == Wanted::Latest { LATEST } else { EARLIEST };
        let found = match connection.get() {
            Some(connection) => offset(replicas, connection, key, leader_epoch, timestamp).await,
            None => Err(ErrorCode::NETWORK_EXCEPTION),
        };
        let found = found.map(|offset| match wanted {
            Wanted::Latest => LeaderOffset::Latest(offset),
            Wanted::Earliest => LeaderOffset::Earliest(offset),
        });
        to_find.extend(answer::found(replicas, fetcher, Found { key, leader_epoch, found }));
    }
    fetcher.settle(replicas.fetchers().wait_for_disks()).await;
    ControlFlow::Continue(())
}

/// What is to be known of a leader's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Latest,
    Earliest,
}

/// Where the leader's log ends or begins.
async fn offset(
    replicas: &Replicas,
    connection: &mut Outgoing,
    (topic_id, index): Key,
    leader_epoch: i32,
    timestamp: i64,
) -> Result<i64, ErrorCode> {
    let name = replicas.node.image().topics.by_id(topic_id).map(|topic| topic.name.to_string());
    let partition = ListOffsetsPartition {
        partition_index: index,
        current_leader_epoch: leader_epoch,
        timestamp,
        ..ListOffsetsPartition::default()
    };
    let request = ListOffsetsRequest {
        replica_id: replicas.node.id(),
        topics: vec![ListOffsetsTopic {
            name: name.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?,
            partitions: vec![partition],
            ..ListOffsetsTopic::default()
        }],
        ..ListOffsetsRequest::default()
    };
    let answer = connection.call(&request).await.map_err(|_| ErrorCode::NETWORK_EXCEPTION)?;
    let topic = answer.topics.into_iter().next();
    let answer = topic.and_then(|topic| topic.partitions.into_iter().next());
    let answer = answer.ok_or(ErrorCode::UNKNOWN_SERVER_ERROR)?;
    match answer.error_code {
        ErrorCode::NONE => Ok(answer.offset),
        code => Err(code),
    }
}

/// What is asked for. Something else is to be asked for in `wait_max_ms`, if at all. Topics are named by id alone: whoever
/// follows the metadata of KRaft's controllers speaks a version that has ids.
fn request(
    replicas: &Replicas,
    (session_id, session_epoch): (i32, i32),
    changes: Changes<Key>,
    wait_max_ms: Option<u64>,
) -> FetchRequest {
    let settings = replicas.node.settings();
    let config = &settings.config;
    let wait_max_ms = wait_max_ms.map_or(i32::MAX, |ms| i32::try_from(ms).unwrap_or(i32::MAX));
    let named = changes.named.into_iter().map(|((topic_id, index), Told { fetch, log_start })| {
        let asked = FetchPartition {
            partition: index,
            current_leader_epoch: fetch.leader_epoch,
            fetch_offset: fetch.offset,
            last_fetched_epoch: fetch.last_epoch,
            log_start_offset: log_start,
            partition_max_bytes: config.replica_fetch_max_bytes(),
            ..FetchPartition::default()
        };
        (topic_id, asked)
    });
    let topics = by_sorted_topic(named, |topic_id, partitions| FetchTopic {
        topic_id,
        partitions,
        ..FetchTopic::default()
    });
    let forgotten_topics_data = by_sorted_topic(changes.forgotten, |topic_id, partitions| {
        ForgottenTopic { topic_id, partitions, ..ForgottenTopic::default() }
    });
    FetchRequest {
        replica_state: ReplicaState {
            replica_id: replicas.node.id(),
            replica_epoch: replicas.node.broker_epoch(),
            ..ReplicaState::default()
        },
        max_wait_ms: config.replica_fetch_wait_max_ms().min(wait_max_ms),
        min_bytes: config.replica_fetch_min_bytes(),
        max_bytes: config.replica_fetch_response_max_bytes(),
        session_id,
        session_epoch,
        topics,
        forgotten_topics_data,
        ..FetchRequest::default()
    }
}
