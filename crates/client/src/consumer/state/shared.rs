//! What a consumer's handle and its tasks have in common.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use thalweg_wire::ErrorCode;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::group::Group;
use super::pending::PendingCommits;
use crate::cluster::Cluster;
use crate::cluster::coordinator;
use crate::consumer::config::ConsumerConfig;
use crate::core::fetch::{Accepted, Fetcher, PositionReset};
use crate::core::group::SubscribedTopics;
use crate::core::metadata::{Broker, Metadata};
use crate::error::Error;

/// Errors that wait for a poll at most.
const ERRORS_MAX: usize = 16;

/// Shared by the handle, the tasks that fetch, and the one that looks after the rest.
pub(in crate::consumer) struct Shared {
    pub cluster: Cluster,
    pub config: ConsumerConfig,
    state: Mutex<State>,
    /// The application waits for records or an error.
    pub arrived: Arrivals,
    /// The listener has something to hear.
    pub rebalanced: Notify,
    /// A poll is not to wait any longer.
    pub woken: Notify,
    /// Commits that nobody has to wait for.
    pub pending: PendingCommits,
    /// There is something to look after.
    pub lookup: Arc<Notify>,
    /// The tasks that fetch; `None` once nothing is to be fetched any more.
    sources: Mutex<Option<HashMap<i32, Source>>>,
    begin_source: BeginSource,
    runtime: Handle,
    began: Instant,
}

/// Guarded by one lock, which is held for moments and never across an await.
pub(in crate::consumer) struct State {
    pub fetcher: Fetcher,
    /// Brokers to which a connection is kept before there is anything to fetch.
    pub ahead: BTreeSet<i32>,
    /// Metadata is to be asked for.
    pub wants_metadata: bool,
    /// Errors to report once each, not of one partition; the first few are kept.
    pub errors: VecDeque<Error>,
    /// Why nothing will come any more, which every poll is told.
    pub fatal: Option<Error>,
    /// The consumer was closed, or is gone.
    pub is_closed: bool,
    /// The next poll, or the one under way, ends with [`Error::Wakeup`].
    pub is_woken: bool,
    /// Topics that are to be read and are not there, with what a broker says of them.
    pub absent: BTreeMap<Arc<str>, ErrorCode>,
    /// The group, where one is set.
    pub group: Option<Group>,
    /// The group's coordinator, as far as it is known.
    coordinator: Option<i32>,
    /// What the consumer subscribes to.
    pub subscription: Option<SubscribedTopics>,
}

impl State {
    /// What went wrong, and concerns no single partition.
    pub fn next_error(&mut self) -> Option<Error> {
        self.errors.pop_front().or_else(|| self.fatal.clone())
    }

    /// Whether the same error waits already: what is tried again fails in the same way, and need not
    /// be told twice.
    fn is_known(&self, error: &Error) -> bool {
        let text = error.to_string();
        self.errors.iter().any(|known| known.to_string() == text)
    }

    /// Whether there is a partition that nobody can be asked for.
    pub fn seeks_leader(&self, metadata: &Metadata) -> bool {
        self.fetcher.without_reachable_leader().any(|partition| metadata.has(partition))
    }

    /// Whether there is anything to read: a subscription or a partition.
    pub fn has_something(&self) -> bool {
        self.subscription.is_some() || self.fetcher.partitions().next().is_some()
    }
}

/// Tells whoever waits for records, as a future or as a stream, that there may be some.
#[derive(Default)]
pub(in crate::consumer) struct Arrivals {
    notify: Notify,
    waker: Mutex<Option<Waker>>,
}

impl Arrivals {
    pub fn notify_one(&self) {
        self.notify.notify_one();
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub async fn notified(&self) {
        self.notify.notified().await;
    }

    /// Has `waker` woken once by what comes from now on. Look again after this.
    pub fn wait(&self, waker: &Waker) {
        let mut known = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *known {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

/// Tells the task that fetches from a broker something.
#[derive(Default)]
pub(in crate::consumer) struct Wake {
    /// There may be something to ask.
    pub look: Notify,
    /// There is something that the request under way does not ask for.
    pub late: Notify,
}

/// Begins the task that fetches from a broker for as long as the consumer lives.
pub(in crate::consumer) type BeginSource =
    fn(&Handle, Weak<Shared>, i32, Arc<Wake>) -> JoinHandle<()>;

struct Source {
    wake: Arc<Wake>,
    task: JoinHandle<()>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Consumer")
            .field("group_id", &self.config.group_id)
            .field("is_closed", &state.is_closed)
            .field("partitions", &state.fetcher.partitions().count())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub fn new(
        cluster: Cluster,
        config: ConsumerConfig,
        fetcher: Fetcher,
        lookup: Arc<Notify>,
        begin_source: BeginSource,
    ) -> Shared {
        let instance = config.group_instance_id.clone();
        let group = config.group_id.as_deref().map(|id| Group::new(id.into(), instance));
        Shared {
            cluster,
            config,
            state: Mutex::new(State {
                fetcher,
                ahead: BTreeSet::new(),
                wants_metadata: false,
                errors: VecDeque::new(),
                fatal: None,
                is_closed: false,
                is_woken: false,
                absent: BTreeMap::new(),
                group,
                coordinator: None,
                subscription: None,
            }),
            arrived: Arrivals::default(),
            rebalanced: Notify::new(),
            woken: Notify::new(),
            pending: PendingCommits::default(),
            lookup,
            sources: Mutex::new(Some(HashMap::new())),
            begin_source,
            runtime: Handle::current(),
            began: Instant::now(),
        }
    }

    /// Milliseconds since this consumer began.
    pub fn now_ms(&self) -> u64 {
        let since = self.began.elapsed();
        since.as_secs().saturating_mul(1_000) + u64::from(since.subsec_millis())
    }

    /// When `ms` of [`Self::now_ms`] is.
    pub fn instant_of(&self, ms: u64) -> Instant {
        self.began + Duration::from_millis(ms)
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held; were it to, the state is still whole.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.fetcher.recall();
        state
    }

    /// Does something under the lock, then wakes the sources that have to hear of it.
    pub fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state);
        if !state.fetcher.has_signals() {
            return result;
        }
        let brokers = state.fetcher.take_brokers_to_wake();
        let late = state.fetcher.take_late();
        let wakers = state.fetcher.take_wakers();
        let recreated = state.fetcher.take_recreated();
        if let Some(group) = &mut state.group {
            recreated.iter().for_each(|partition| group.forget_committed(partition));
        }
        let resets = state.fetcher.take_resets();
        drop(state);
        for partition in recreated {
            tracing::info!(%partition, "the topic was deleted and created again");
        }
        for reset in resets {
            let PositionReset { partition, from, to, cause } = reset;
            tracing::warn!(
                target: "thalweg::position_reset",
                %partition,
                from,
                to,
                %cause,
                "the position was reset: records are left out or read again"
            );
        }
        for waker in wakers {
            waker.wake();
        }
        self.wake_sources(brokers, late);
        result
    }

    /// As [`Self::with`], for a consumer that has a group.
    pub fn with_group<T>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut Group, &mut Fetcher) -> T,
    ) -> Option<T> {
        self.with(|state| state.group.as_mut().map(|group| act(group, &mut state.fetcher)))
    }

    /// The group's coordinator; looked up when it is not known.
    pub async fn coordinator(&self, group: &str) -> Result<i32, Error> {
        if let Some(known) = self.lock().coordinator {
            return Ok(known);
        }
        let found = coordinator::find(&self.cluster, group).await?;
        self.found_coordinator(found);
        Ok(found)
    }

    pub fn found_coordinator(&self, id: i32) {
        self.lock().coordinator = Some(id);
    }

    pub fn forget_coordinator(&self) {
        self.lock().coordinator = None;
    }

    /// Reports an error: with the next poll, or for good with all of them when the member is out of
    /// its group.
    pub fn fail(&self, error: Error) {
        let mut state = self.lock();
        if matches!(error, Error::Membership(_)) {
            state.fatal = Some(error);
        } else if state.errors.len() < ERRORS_MAX && !state.is_known(&error) {
            state.errors.push_back(error);
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// Runs a task where the consumer's tasks run.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// Wakes the tasks that fetch from brokers, or begins them; and those of `late`, for what the requests under way do
    /// not ask for.
    pub fn wake_sources(self: &Arc<Self>, brokers: Vec<i32>, late: Vec<i32>) {
        if brokers.is_empty() && late.is_empty() {
            return;
        }
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sources) = sources.as_mut() else { return };
        for broker in brokers {
            let source = sources.entry(broker).or_insert_with(|| {
                let wake = Arc::new(Wake::default());
                let shared = Arc::downgrade(self);
                let task = (self.begin_source)(&self.runtime, shared, broker, Arc::clone(&wake));
                Source { wake, task }
            });
            source.wake.look.notify_one();
        }
        for broker in late {
            // A broker that owes an answer has a task.
            if let Some(source) = sources.get(&broker) {
                source.wake.late.notify_one();
            }
        }
    }

    /// Has the fetcher take an answer in; [`Self::after_answer`] is to follow. It came over a connection begun after so
    /// many `rebootstraps`.
    pub fn accept<E>(
        self: &Arc<Self>,
        rebootstraps: u64,
        take_in: impl FnOnce(&mut Fetcher) -> Result<Accepted, E>,
    ) -> Result<Accepted, E> {
        self.with(|state| {
            let accepted = take_in(&mut state.fetcher)?;
            // Before the task is woken that fetches from the new leader, and needs its address.
            self.note_leaders(rebootstraps, &accepted);
            Ok(accepted)
        })
    }

    fn note_leaders(&self, rebootstraps: u64, accepted: &Accepted) {
        if !accepted.leaders.is_empty() {
            let endpoints = accepted.endpoints.iter().map(|endpoint| Broker {
                id: endpoint.id,
                host: endpoint.host.clone(),
                port: endpoint.port,
                rack: endpoint.rack.clone(),
            });
            self.cluster.hint(rebootstraps, &accepted.leaders, endpoints);
        }
    }

    /// Wakes those who wait for what an answer brought, once it is taken in.
    pub fn after_answer(&self, accepted: &Accepted) {
        if accepted.has_records || accepted.has_errors {
            self.arrived.notify_one();
        }
        if accepted.needs_metadata {
            self.lock().wants_metadata = true;
        }
        if accepted.needs_metadata || accepted.has_unresolved || accepted.uses_changed {
            self.lookup.notify_one();
        }
    }

    /// Ends all tasks that fetch; none is begun after this, whoever has what to fetch.
    pub fn stop(&self) {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner).take();
        for source in sources.into_iter().flat_map(HashMap::into_values) {
            source.task.abort();
        }
    }
}
