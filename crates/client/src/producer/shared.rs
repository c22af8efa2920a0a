//! What a producer's handles and its tasks have in common.

use std::collections::{BTreeSet, HashMap};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use thalweg_wire::ErrorCode;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::config::ProducerConfig;
use crate::cluster::Cluster;
use crate::core::produce::{ProduceErrorKind, ProducerRecord, Refused, Sender, Signals, Ticket};

/// Batches that are begun before other tasks have their turn.
const BATCHES_AT_ONCE: u32 = 4;

/// Shared by the handles, the tasks that send, and those that look after the rest.
pub(super) struct Shared {
    pub cluster: Cluster,
    pub config: ProducerConfig,
    state: Mutex<State>,
    /// There is room in the budget for somebody who waits.
    pub room: Arc<Notify>,
    /// What is known of topics has changed, or could not be found out.
    pub changed: Notify,
    /// There is something to look after.
    pub lookup: Notify,
    /// Somebody waits for a topic that nobody waited for before.
    pub asked: Notify,
    /// There are batches whose time will be over.
    pub watch: Notify,
    /// A coordinator may have to be asked something.
    pub wants_coordinator: Notify,
    /// Where transactions stand has changed.
    pub transactions: Notify,
    tasks: Mutex<Tasks>,
    send_to: SendTo,
    /// Batches begun since other tasks had their turn.
    begun: AtomicU32,
    runtime: Handle,
    began: Instant,
}

/// Guarded by one lock, which is held for moments and never across an await.
pub(super) struct State {
    pub sender: Sender,
    /// Brokers to which a connection is kept before there is anything to send.
    pub ahead: BTreeSet<i32>,
    /// Topics that somebody waits for.
    pub wanted: HashMap<String, Wanted>,
    /// Times that metadata were asked for, in vain or not.
    pub refreshes: u64,
    /// No more records are taken.
    pub is_closing: bool,
}

/// A topic that somebody waits for.
pub(super) struct Wanted {
    /// What the cluster says of it.
    pub code: Option<ErrorCode>,
    /// Nobody waits any longer than this.
    pub until: Instant,
}

/// What a task does.
pub(super) type BoxedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes the task that sends to a broker until it is aborted.
pub(super) type SendTo = fn(Arc<Shared>, i32, Arc<Notify>) -> BoxedTask;

#[derive(Default)]
struct Tasks {
    links: HashMap<i32, Arc<Notify>>,
    all: Vec<JoinHandle<()>>,
    is_over: bool,
}

impl Shared {
    pub fn new(
        cluster: Cluster,
        config: ProducerConfig,
        sender: Sender,
        room: Arc<Notify>,
        send_to: SendTo,
    ) -> Shared {
        let state = State {
            sender,
            ahead: BTreeSet::new(),
            wanted: HashMap::new(),
            refreshes: 0,
            is_closing: false,
        };
        Shared {
            cluster,
            config,
            state: Mutex::new(state),
            room,
            changed: Notify::new(),
            lookup: Notify::new(),
            asked: Notify::new(),
            watch: Notify::new(),
            wants_coordinator: Notify::new(),
            transactions: Notify::new(),
            tasks: Mutex::default(),
            send_to,
            begun: AtomicU32::new(0),
            runtime: Handle::current(),
            began: Instant::now(),
        }
    }

    /// Milliseconds since this producer began.
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something under the lock, then wakes those who have to hear of it.
    #[inline]
    pub fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state);
        if state.sender.has_signals() {
            let signals = state.sender.take_signals();
            drop(state);
            self.signal(signals);
        }
        result
    }

    fn signal(self: &Arc<Self>, signals: Signals) {
        for waker in signals.wakers {
            waker.wake();
        }
        if signals.lookup {
            self.lookup.notify_one();
            self.watch.notify_one();
        }
        for broker in signals.brokers_to_wake {
            self.wake_connection(broker);
        }
        if signals.wants_coordinator {
            self.wants_coordinator.notify_one();
        }
        if signals.transactions_changed {
            self.transactions.notify_waiters();
        }
    }

    /// Wakes the task that sends to a broker, or begins it.
    pub fn wake_connection(self: &Arc<Self>, broker: i32) {
        let mut tasks = self.tasks();
        if tasks.is_over {
            return;
        }
        if let Some(wake) = tasks.links.get(&broker) {
            return wake.notify_one();
        }
        let wake = Arc::new(Notify::new());
        tasks.links.insert(broker, Arc::clone(&wake));
        let task = self.watched((self.send_to)(Arc::clone(self), broker, wake));
        tasks.all.push(self.runtime.spawn(task));
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task for as long as the producer lives.
    pub fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.watched(task);
        let mut tasks = self.tasks();
        if !tasks.is_over {
            tasks.all.push(self.runtime.spawn(task));
        }
    }

    /// Runs a task that the end of the producer does not end.
    pub fn spawn_apart(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// Nobody waits for ever for what a task that broke down would have done.
    fn watched(
        self: &Arc<Self>,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let watch = Watch(Arc::clone(self));
        async move {
            let _watch = watch;
            task.await;
        }
    }

    /// Takes a record in, if that is possible at once; only in a transaction where it is told which.
    #[inline]
    pub fn append(
        self: &Arc<Self>,
        record: &ProducerRecord<'_>,
        transaction: Option<u64>,
    ) -> Result<Ticket, Refused> {
        let timestamp = record.timestamp.unwrap_or_else(time_of_day_ms);
        self.with(|state| {
            if state.is_closing {
                let why = state.sender.over().cloned();
                return Err(Refused::For(why.unwrap_or(ProduceErrorKind::Closed)));
            }
            if transaction.is_some_and(|number| !state.sender.is_last_transaction(number)) {
                return Err(Refused::For(ProduceErrorKind::NoTransaction));
            }
            let batches = state.sender.batches_begun();
            let appended = state.sender.append(record, timestamp, || self.now_ms());
            if state.sender.batches_begun() != batches {
                self.begun.fetch_add(1, Ordering::Relaxed);
            }
            appended
        })
    }

    /// Whether whoever sends should let other tasks have their turn: there are some batches more
    /// for them. Cheaper than asking the runtime for every record, and more of them go together.
    #[inline]
    pub fn is_others_turn(&self) -> bool {
        let begun = self.begun.load(Ordering::Relaxed);
        let is_turn = begun >= BATCHES_AT_ONCE;
        if is_turn {
            self.begun.store(0, Ordering::Relaxed);
        }
        is_turn
    }

    /// Ends everything: tasks, batches, and those who wait.
    pub fn stop(self: &Arc<Self>) {
        self.end(ProduceErrorKind::Closed);
    }

    fn end(self: &Arc<Self>, why: ProduceErrorKind) {
        let mut tasks = self.tasks();
        tasks.is_over = true;
        for task in tasks.all.drain(..) {
            task.abort();
        }
        tasks.links.clear();
        drop(tasks);
        self.with(|state| {
            state.sender.give_up(why);
        });
        self.room.notify_waiters();
        self.changed.notify_waiters();
    }
}

/// Goes with a task.
struct Watch(Arc<Shared>);

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end(ProduceErrorKind::Broken);
        }
    }
}

/// Milliseconds since 1970.
fn time_of_day_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Once for every record: without the division of 128 bits that `as_millis` takes.
    let ms = since.as_secs().saturating_mul(1_000) + u64::from(since.subsec_millis());
    i64::try_from(ms).unwrap_or(i64::MAX)
}
