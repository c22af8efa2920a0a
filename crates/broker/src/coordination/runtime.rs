//! Drives the runners of one internal topic: loading, appends, answers, timers.
//!
//! One lock per partition, never held across an await or a write: while an append is on its way to
//! the disk others are handled, and their records wait for its result. Requests run on their
//! connection's task; each partition has one timer task, which sleeps until the runner wants to be
//! woken. What a shard has computed elsewhere runs on a few threads that may take long, for all
//! partitions together; its result goes to the runner that asked, if that is still there.
//!
//! A panic may leave a runner half changed. Such a partition is taken down: who waits for it is told
//! NOT_COORDINATOR, and it is loaded again from its log.

mod batches;
mod load;
mod load_times;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use thalweg_coordinator::{AppendKind, Job, Now, RunnerConfig, RunnerState, Shard, Token};
use thalweg_log::{AppendError, AppendInfo, AppendWaiter, TransactionCheck};
use thalweg_records::codec::CompressionSpec;
use thalweg_wire::ErrorCode;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::node::clock::Clock;
use crate::node::pool::Pool;
use crate::replicas::partition::{
    AppendFailure, HighWatermarkListener, OwnAppend, Partition, SubmittedOwn,
};

pub(crate) use batches::compressed_len;
pub(crate) use load_times::LoadFigures;
use load_times::LoadTimes;

/// How long an append that found no room waits before it is tried again.
const FULL_BACKOFF: Duration = Duration::from_millis(10);
/// How long a partition whose coordinator panicked waits before it is loaded again.
const RELOAD_BACKOFF: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1000 });

/// A shard that any thread can drive.
pub(crate) trait Driven:
    Shard<
        Request: Send,
        Response: Send + 'static,
        Record: Send,
        TimerKey: Send,
        Then: Send,
        Effect: Send,
    > + Send
    + 'static
{
}

impl<S> Driven for S where
    S: Shard<
            Request: Send,
            Response: Send + 'static,
            Record: Send,
            TimerKey: Send,
            Then: Send,
            Effect: Send,
        > + Send
        + 'static
{
}

/// A runner whose transactional appends come with what the log has to be shown.
type Runner<S> = thalweg_coordinator::Runner<S, TransactionCheck>;

/// What a shard that becomes active is told first: everything that is so.
type Initial<E> = Arc<dyn Fn() -> Vec<E> + Send + Sync>;

/// Has something done outside; must not wait.
type Effects<S> = Arc<dyn Fn(Source<S>, <S as Shard>::Effect) + Send + Sync>;

/// The runner that wants something done outside, and is told what became of it.
pub(crate) struct Source<S: Shard> {
    led: Weak<Led<S>>,
}

impl<S: Shard> Clone for Source<S> {
    fn clone(&self) -> Source<S> {
        Source { led: Weak::clone(&self.led) }
    }
}

/// What is the same for all partitions of one coordinator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeConfig {
    pub(crate) runner: RunnerConfig,
    /// Codec of the coordinator's own batches (`offsets.topic.compression.codec`).
    pub(crate) compression: CompressionSpec,
    /// Computations of shards that run at a time; more wait their turn. How many can wait is the
    /// shards' to bound: a group has at most one of each kind.
    pub(crate) jobs: usize,
    /// Whether a load ends at what cannot be read, and what stands before that is served. Otherwise the partition has no
    /// coordinator then.
    pub(crate) serves_partial_loads: bool,
}

/// The partitions of one coordinator that this broker leads.
pub(crate) struct Coordinator<S: Shard> {
    config: RuntimeConfig,
    /// Makes the state machine of a partition that is to be loaded.
    shard: Box<dyn Fn() -> S + Send + Sync>,
    initial: Initial<S::Event>,
    effects: Effects<S>,
    jobs: Pool,
    runtime: Handle,
    clock: Clock,
    led: RwLock<HashMap<i32, Arc<Led<S>>>>,
    /// Panics: those that took a partition down, and those of computations.
    panics: Arc<AtomicU64>,
    load_times: Arc<LoadTimes>,
}

/// One partition that this broker coordinates.
struct Led<S: Shard> {
    me: Weak<Led<S>>,
    partition: Arc<Partition>,
    leader_epoch: AtomicI32,
    state: Mutex<State<S>>,
    /// It moved away, or another one took its place: a load that is under way ends.
    gone: AtomicBool,
    panics: Arc<AtomicU64>,
    load_times: Arc<LoadTimes>,
    /// When the timer task has to wake, on the monotonic clock; `u64::MAX` for never.
    wake_at_ms: AtomicU64,
    wake_changed: Notify,
    /// The runner is of no use any more: a new one has to be loaded.
    reload: Notify,
    /// The log had no room for an append.
    full: Notify,
    initial: Initial<S::Event>,
    effects: Effects<S>,
    jobs: Pool,
    /// Where jobs are started, whichever thread has found them.
    runtime: Handle,
    clock: Clock,
    config: RuntimeConfig,
}

struct State<S: Shard> {
    runner: Runner<S>,
    waiting: HashMap<Token, oneshot::Sender<S::Response>>,
    /// The append that is being written. Whoever put it here, or hears of its result, goes on with
    /// it and with what comes after it; nobody else does.
    writing: Option<Writing>,
    /// The runner panicked, or disagrees with the log. It is loaded again when nothing of it is on
    /// its way to the log any more.
    failed: bool,
}

/// An append on its way to the log.
struct Writing {
    id: u64,
    /// Batches that are left, and how many records each holds.
    left: VecDeque<(Vec<u8>, usize)>,
    /// Bytes and records of the batch that the log has.
    current: (usize, usize),
    /// What the log is told of it.
    own: OwnAppend,
    /// Whether the log has a batch and will say what became of it.
    with_log: bool,
    /// First offset and number of the records that are written.
    written: Option<(i64, usize)>,
}

/// An answer that is there, or will come.
pub(crate) enum Submitted<R> {
    Now(R),
    Later(oneshot::Receiver<R>),
}

impl<R> Submitted<R> {
    /// Waits for the answer; `None` if the coordinator went away without giving one.
    pub(crate) async fn wait(self) -> Option<R> {
        match self {
            Submitted::Now(response) => Some(response),
            Submitted::Later(answer) => answer.await.ok(),
        }
    }
}

impl<S: Driven> Coordinator<S> {
    /// A coordinator that leads nothing yet; on a thread of its runtime.
    ///
    /// `initial` says everything that is so. It is asked under the lock of a partition whose shard has
    /// just become active. What it says must therefore be brought up to date *before*
    /// [`event`](Self::event) is called: then nothing is missed in between, and at worst said twice.
    ///
    /// `effects` is given what shards want done outside, under the lock of a partition.
    pub(crate) fn new(
        config: RuntimeConfig,
        clock: Clock,
        shard: impl Fn() -> S + Send + Sync + 'static,
        initial: impl Fn() -> Vec<S::Event> + Send + Sync + 'static,
        effects: impl Fn(Source<S>, S::Effect) + Send + Sync + 'static,
    ) -> Arc<Coordinator<S>> {
        Arc::new(Coordinator {
            config,
            shard: Box::new(shard),
            initial: Arc::new(initial),
            effects: Arc::new(effects),
            jobs: Pool::new(config.jobs),
            runtime: Handle::current(),
            clock,
            led: RwLock::default(),
            panics: Arc::default(),
            load_times: Arc::default(),
        })
    }

    /// Panics: those that took a partition down, and those of computations.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// How long loads took of late.
    pub(crate) fn load_figures(&self) -> LoadFigures {
        self.load_times.figures(self.clock.monotonic_ms())
    }

    /// This broker became the leader of a partition: loads it in the background.
    pub(crate) fn elected(self: &Arc<Self>, partition: Arc<Partition>, leader_epoch: i32) {
        let index = partition.index;
        let (led, old) = {
            let mut all = self.led.write();
            if let Some(old) = all.get(&index) {
                if old.leader_epoch.load(Ordering::Acquire) >= leader_epoch {
                    return;
                }
                let is_active = old.state.lock().runner.state() == RunnerState::Active;
                if is_active {
                    // Elected again with the state at hand: nothing was lost in between.
                    old.leader_epoch.store(leader_epoch, Ordering::Release);
                    let old = Arc::clone(old);
                    drop(all);
                    // It may have risen before the epoch was known here.
                    old.high_watermark_raised();
                    return;
                }
            }
            let led = self.make(partition, leader_epoch);
            let old = all.insert(index, Arc::clone(&led));
            (led, old)
        };
        if let Some(old) = old {
            old.close();
        }
        self.start(led);
    }

    /// A partition whose runner is of no use any more is loaded anew, unless it moved away.
    fn reload(self: &Arc<Self>, old: &Arc<Led<S>>) {
        let led = {
            let mut all = self.led.write();
            let index = old.partition.index;
            if !all.get(&index).is_some_and(|led| Arc::ptr_eq(led, old)) {
                return;
            }
            let epoch = old.leader_epoch.load(Ordering::Acquire);
            let led = self.make(Arc::clone(&old.partition), epoch);
            all.insert(index, Arc::clone(&led));
            led
        };
        old.close();
        self.start(led);
    }

    /// A partition that is to be loaded.
    fn make(&self, partition: Arc<Partition>, leader_epoch: i32) -> Arc<Led<S>> {
        Arc::new_cyclic(|me| Led {
            me: me.clone(),
            partition,
            leader_epoch: AtomicI32::new(leader_epoch),
            state: Mutex::new(State {
                // Refuses requests until the load is done.
                runner: Runner::with_proofs((self.shard)(), self.config.runner),
                waiting: HashMap::new(),
                writing: None,
                failed: false,
            }),
            gone: AtomicBool::new(false),
            panics: Arc::clone(&self.panics),
            load_times: Arc::clone(&self.load_times),
            wake_at_ms: AtomicU64::new(u64::MAX),
            wake_changed: Notify::new(),
            reload: Notify::new(),
            full: Notify::new(),
            initial: Arc::clone(&self.initial),
            effects: Arc::clone(&self.effects),
            jobs: self.jobs.clone(),
            runtime: self.runtime.clone(),
            clock: self.clock.clone(),
            config: self.config,
        })
    }

    /// Loads the partition and keeps its timers.
    fn start(self: &Arc<Self>, led: Arc<Led<S>>) {
        let index = led.partition.index;
        let listener: Weak<dyn HighWatermarkListener> = led.me.clone();
        led.partition.set_listener(listener);
        let loading = Arc::clone(&led);
        let runner = Runner::with_proofs((self.shard)(), self.config.runner);
        // An empty partition, which is the usual case for most of fifty, loads here and now.
        if led.partition.log.log_end_offset() == led.partition.log.log_start_offset() {
            load::load(&loading, runner);
        } else {
            tokio::task::spawn_blocking(move || load::load(&loading, runner));
        }
        let this = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                let Some(coordinator) = this.upgrade() else { return };
                let still_led = coordinator
                    .led
                    .read()
                    .get(&index)
                    .is_some_and(|current| Arc::ptr_eq(current, &led));
                if !still_led {
                    return;
                }
                let clock = coordinator.clock.clone();
                let wake_at = led.wake_at_ms.load(Ordering::Acquire);
                if wake_at <= clock.monotonic_ms() {
                    led.with(|runner, now| runner.advance(now));
                    drop(coordinator);
                    tokio::task::yield_now().await;
                    continue;
                }
                drop(coordinator);
                let wake = async {
                    match wake_at {
                        u64::MAX => std::future::pending().await,
                        at => clock.sleep_until(at).await,
                    }
                };
                tokio::select! {
                    () = led.wake_changed.notified() => {}
                    () = wake => {}
                    () = led.full.notified() => {
                        tokio::time::sleep(FULL_BACKOFF).await;
                        led.try_again();
                    }
                    () = led.reload.notified() => {
                        // What made it panic may be in its log, and do so again.
                        tokio::time::sleep(RELOAD_BACKOFF).await;
                        if let Some(coordinator) = this.upgrade() {
                            coordinator.reload(&led);
                        }
                        return;
                    }
                }
            }
        });
    }

    /// The partition moved away, or is gone.
    pub(crate) fn resigned(&self, index: i32, leader_epoch: Option<i32>) {
        let led = {
            let mut all = self.led.write();
            match all.get(&index) {
                Some(led)
                    if leader_epoch
                        .is_none_or(|epoch| epoch > led.leader_epoch.load(Ordering::Acquire)) =>
                {
                    all.remove(&index)
                }
                _ => None,
            }
        };
        if let Some(led) = led {
            led.close();
        }
    }

    /// The broker stops: everything parked is answered.
    pub(crate) fn close(&self) {
        let all: Vec<_> = self.led.write().drain().map(|(_, led)| led).collect();
        for led in all {
            led.close();
        }
    }

    /// Partitions led here.
    pub(crate) fn partitions(&self) -> Vec<i32> {
        let mut all: Vec<i32> = self.led.read().keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// Handles a request on the partition's shard.
    pub(crate) fn submit(&self, index: i32, request: S::Request) -> Submitted<S::Response> {
        self.submit_verified(index, request, None)
    }

    /// The same, for a request of a producer's transaction, with what the log is shown of that.
    pub(crate) fn submit_verified(
        &self,
        index: i32,
        request: S::Request,
        check: Option<TransactionCheck>,
    ) -> Submitted<S::Response> {
        let Some(led) = self.led.read().get(&index).cloned() else {
            return Submitted::Now(S::refuse(&request, ErrorCode::NOT_COORDINATOR));
        };
        led.submit(request, check)
    }

    /// A partition that this broker coordinates.
    pub(crate) fn partition(&self, index: i32) -> Option<Arc<Partition>> {
        self.led.read().get(&index).map(|led| Arc::clone(&led.partition))
    }

    /// Tells the shard of every partition led here of something outside its log. One that is loading is
    /// told everything that is so when it is done.
    pub(crate) fn event(&self, make: impl Fn() -> S::Event) {
        let all: Vec<_> = self.led.read().values().cloned().collect();
        for led in all {
            led.with(|runner, now| runner.event(make(), now));
        }
    }

    /// Tells the shard of one partition, if it is led here and loaded.
    pub(crate) fn event_to(&self, index: i32, event: S::Event) {
        let led = self.led.read().get(&index).cloned();
        if let Some(led) = led {
            led.with(|runner, now| runner.event(event, now));
        }
    }

    /// Looks at the shard of every partition led here; again for as long as `look` says that it has not seen
    /// all of it. In between the shard works on.
    pub(crate) fn each_shard(&self, mut look: impl FnMut(i32, &S) -> ControlFlow<()>) {
        let all: Vec<_> = self.led.read().iter().map(|(i, led)| (*i, Arc::clone(led))).collect();
        for (index, led) in all {
            while look(index, led.state.lock().runner.shard()).is_continue() {}
        }
    }
}

impl<S: Driven> Source<S> {
    /// The leader epoch in which the runner coordinates; `None` if it does not any more.
    pub(crate) fn coordinator_epoch(&self) -> Option<i32> {
        let led = self.led.upgrade().filter(|led| !led.is_gone())?;
        Some(led.leader_epoch.load(Ordering::Acquire))
    }

    /// Tells the runner, if it is still there.
    pub(crate) fn event(&self, event: S::Event) {
        if let Some(led) = self.led.upgrade() {
            led.with(|runner, now| runner.event(event, now));
        }
    }
}

impl<S: Shard> Led<S> {
    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}

impl<S: Shard> State<S> {
    /// Hands the answers out that are ready; gives back the one to `own`.
    fn answer(&mut self, own: Option<Token>) -> Option<S::Response> {
        let mut found = None;
        while let Some((token, response)) = self.runner.poll_answer() {
            if own == Some(token) {
                found = Some(response);
            } else if let Some(waiting) = self.waiting.remove(&token) {
                // The connection may have gone away; then nobody needs the answer.
                let _ = waiting.send(response);
            }
        }
        found
    }
}

impl<S: Driven> Led<S> {
    /// Does what may change the runner. A panic takes the partition down: the runner may be half
    /// changed, and an append may be lost between it and the log.
    fn guarded(&self, act: impl FnOnce()) {
        // The lock is not poisoned by a panic, and what it guards is thrown away.
        if catch_unwind(AssertUnwindSafe(act)).is_ok() {
            return;
        }
        self.panics.fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            topic = %self.partition.topic, partition = self.partition.index,
            "a coordinator panicked; its partition is loaded again"
        );
        let mut state = self.state.lock();
        state.failed = true;
        let told = catch_unwind(AssertUnwindSafe(|| {
            state.runner.close(ErrorCode::NOT_COORDINATOR);
            state.answer(None);
        }));
        if told.is_err() {
            tracing::error!("a coordinator that panicked could not be closed in order");
        }
        // Whoever is left is told the same by the end of its channel.
        state.waiting.clear();
        self.wake_at_ms.store(u64::MAX, Ordering::Release);
        self.reload_if_failed(&mut state);
    }

    /// Has a failed runner replaced, once the log has none of its batches any more: one that is
    /// written after the load would be missing.
    fn reload_if_failed(&self, state: &mut State<S>) {
        if state.failed && state.writing.as_ref().is_none_or(|writing| !writing.with_log) {
            state.writing = None;
            self.reload.notify_one();
        }
    }

    fn with(self: &Arc<Self>, act: impl FnOnce(&mut Runner<S>, Now)) {
        self.guarded(|| {
            let mut state = self.state.lock();
            act(&mut state.runner, self.clock.now());
            self.drive(state);
        });
    }

    fn submit(
        self: &Arc<Self>,
        request: S::Request,
        check: Option<TransactionCheck>,
    ) -> Submitted<S::Response> {
        let mut submitted = None;
        self.guarded(|| submitted = Some(self.handle(request, check)));
        // After a panic: the answer of a coordinator that went away.
        submitted.unwrap_or_else(|| Submitted::Later(oneshot::channel().1))
    }

    fn handle(
        self: &Arc<Self>,
        request: S::Request,
        check: Option<TransactionCheck>,
    ) -> Submitted<S::Response> {
        let mut state = self.state.lock();
        let token = state.runner.submit_with_proof(request, check, self.clock.now());
        if let Some(response) = state.answer(Some(token)) {
            self.drive(state);
            return Submitted::Now(response);
        }
        // From here on others may answer: the lock is let go of while records are written.
        let (sender, mut receiver) = oneshot::channel();
        state.waiting.insert(token, sender);
        if state.waiting.len() > 1024 && state.waiting.len().is_power_of_two() {
            // Connections that went away while they were parked.
            state.waiting.retain(|_, sender| !sender.is_closed());
        }
        self.drive(state);
        match receiver.try_recv() {
            Ok(response) => Submitted::Now(response),
            Err(_) => Submitted::Later(receiver),
        }
    }

    /// The log has been replayed into `runner`: it takes requests from now on.
    fn install(self: &Arc<Self>, runner: Runner<S>) {
        self.guarded(|| {
            let mut state = self.state.lock();
            if !self.is_gone() {
                state.runner = runner;
                let now = self.clock.now();
                // It may have risen since the load began.
                if let Some(committed) = self.committed() {
                    state.runner.high_watermark(committed, now);
                }
                for event in (self.initial)() {
                    state.runner.event(event, now);
                }
                self.drive(state);
            }
        });
    }

    /// Up to where the log is committed, if this broker still leads in this epoch: otherwise what is committed there may be
    /// another leader's, at the same offsets.
    fn committed(&self) -> Option<i64> {
        let high_watermark = self.partition.log.high_watermark();
        // After it was read: epochs only rise, so it was read in this one.
        let epoch = self.leader_epoch.load(Ordering::Acquire);
        self.partition.led_epoch().is_ok_and(|led| led == epoch).then_some(high_watermark)
    }

    fn close(self: &Arc<Self>) {
        self.gone.store(true, Ordering::Release);
        self.with(|runner, _| runner.close(ErrorCode::NOT_COORDINATOR));
        self.wake_changed.notify_one();
    }

    /// The log had no room; it may have some now.
    fn try_again(self: &Arc<Self>) {
        self.guarded(|| {
            let state = self.state.lock();
            // Somebody may have gone on meanwhile.
            if state.writing.as_ref().is_some_and(|writing| !writing.with_log) {
                self.write(state);
            }
        });
    }

    /// Does what the runner asks for: appends, answers, jobs, timers.
    fn drive(self: &Arc<Self>, mut state: MutexGuard<'_, State<S>>) {
        if state.writing.is_none() {
            self.write(state);
        } else {
            self.settle(&mut state);
        }
    }

    /// Answers, jobs, effects and timers.
    fn settle(&self, state: &mut State<S>) {
        state.answer(None);
        while let Some(job) = state.runner.poll_job() {
            self.start_job(job);
        }
        while let Some(effect) = state.runner.poll_effect() {
            (self.effects)(Source { led: Weak::clone(&self.me) }, effect);
        }
        let wake_at = state.runner.wake_at_ms().unwrap_or(u64::MAX);
        if self.wake_at_ms.swap(wake_at, Ordering::AcqRel) > wake_at {
            self.wake_changed.notify_one();
        }
    }

    /// Has a computation run without the lock, on a thread that may take long.
    fn start_job(&self, job: S::Job) {
        let (led, jobs) = (self.me.clone(), self.jobs.clone());
        self.runtime.spawn(async move {
            let run = move || {
                // Nobody wants the result for a partition that moved away, or was loaded again, while the
                // job waited for its turn.
                if let Some(led) = led.upgrade().filter(|led| !led.is_gone()) {
                    led.run_job(&job);
                }
            };
            // It is lost only with the runtime itself.
            let _ = jobs.run(run).await;
        });
    }

    /// Runs a computation of this runner's shard and hands in what came of it. Another runner for the
    /// same partition is in another `Led`, and a runner that was closed takes nothing.
    fn run_job(self: &Arc<Self>, job: &S::Job) {
        // A panic of `failed` would leave the shard waiting for ever: it takes the partition down.
        self.guarded(|| {
            let done = catch_unwind(AssertUnwindSafe(|| job.run())).unwrap_or_else(|_| {
                self.panics.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    topic = %self.partition.topic, partition = self.partition.index,
                    "a computation of a coordinator panicked"
                );
                job.failed()
            });
            let mut state = self.state.lock();
            state.runner.job_done(done, self.clock.now());
            self.drive(state);
        });
    }

    /// Goes on with the append that is being written, and with those after it, until the log has to
    /// be waited for or nothing is left. For whom it is to do so (see [`State::writing`]). The lock
    /// is not held while the log writes.
    fn write<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State<S>>) {
        loop {
            if state.runner.state() != RunnerState::Active {
                // What is left of its records is nobody's any more.
                state.writing = None;
                self.reload_if_failed(&mut state);
            }
            if state.writing.is_none() {
                state.writing = self.next_append(&mut state.runner);
            }
            self.settle(&mut state);
            let Some(writing) = &mut state.writing else { return };
            let Some((mut batch, records)) = writing.left.pop_front() else {
                // Cannot be: an append has records, and one that is written is taken out.
                state.writing = None;
                continue;
            };
            writing.current = (batch.len(), records);
            writing.with_log = true;
            let (id, own) = (writing.id, writing.own);
            drop(state);
            let waiter: Arc<dyn AppendWaiter> = self.clone();
            let epoch = self.leader_epoch.load(Ordering::Acquire);
            let now_ms = self.clock.wall_ms();
            let submitted = catch_unwind(AssertUnwindSafe(|| {
                self.partition.submit_own(&mut batch, own, epoch, now_ms, &waiter, id)
            }));
            match submitted {
                Err(panic) => {
                    // What became of the batch shows when the log is loaded.
                    if let Some(writing) = &mut self.state.lock().writing {
                        writing.with_log = false;
                    }
                    resume_unwind(panic);
                }
                Ok(SubmittedOwn::Queued) => return,
                Ok(SubmittedOwn::Full) => {
                    let mut state = self.state.lock();
                    if let Some(writing) = &mut state.writing {
                        writing.with_log = false;
                        writing.left.push_front((batch, records));
                    }
                    self.reload_if_failed(&mut state);
                    self.full.notify_one();
                    return;
                }
                Ok(SubmittedOwn::Done(result)) => {
                    state = self.state.lock();
                    self.written(&mut state, result);
                }
            }
        }
    }

    /// The next records the runner wants to be written, as batches.
    fn next_append(&self, runner: &mut Runner<S>) -> Option<Writing> {
        loop {
            let append = runner.poll_append()?;
            match batches::build(&append, self.config, self.partition.max_message_bytes()) {
                Ok(batches) => {
                    let left = batches.into();
                    let own = match append.kind {
                        AppendKind::Own { .. } => OwnAppend::Records,
                        // Where nothing is shown, nothing was verified.
                        AppendKind::Transactional(_) => OwnAppend::Transactional(
                            append.proof.unwrap_or(TransactionCheck::Guarded(None)),
                        ),
                        AppendKind::Marker(end) => OwnAppend::Marker(end.transaction_version),
                    };
                    return Some(Writing {
                        id: append.id,
                        left,
                        current: (0, 0),
                        own,
                        with_log: false,
                        written: None,
                    });
                }
                Err(reason) => {
                    tracing::warn!(
                        topic = %self.partition.topic, partition = self.partition.index, reason,
                        "records of one operation could not be written"
                    );
                    let code = ErrorCode::MESSAGE_TOO_LARGE;
                    runner.append_failed(append.id, code, self.clock.now());
                }
            }
        }
    }

    /// The log has written or refused the current batch.
    fn written(&self, state: &mut State<S>, result: Result<i64, AppendFailure>) {
        let State { runner, writing: slot, failed, .. } = state;
        let Some(writing) = slot else { return };
        writing.with_log = false;
        let now = self.clock.now();
        let outcome = match result {
            Ok(base_offset) => {
                let (first, count) = writing.written.get_or_insert((base_offset, 0));
                *count += writing.current.1;
                if !writing.left.is_empty() {
                    return;
                }
                runner.appended(writing.id, *first)
            }
            Err(failure) => {
                if let AppendFailure::Log(error) = &failure {
                    let (topic, partition) = (&self.partition.topic, self.partition.index);
                    if matches!(writing.own, OwnAppend::Records) {
                        tracing::warn!(%topic, partition, %error,
                            "a coordinator's records were not written");
                    } else {
                        // A zombie may try this as often as it likes.
                        tracing::debug!(%topic, partition, %error,
                            "what belongs to a transaction was not written");
                    }
                }
                let code = failure.code();
                match writing.written {
                    None => {
                        runner.append_failed(writing.id, code, now);
                        Ok(())
                    }
                    Some((first, count)) => {
                        runner.appended_in_part(writing.id, first, count, code, now)
                    }
                }
            }
        };
        *slot = None;
        match outcome {
            Ok(()) => {
                if let Some(committed) = self.committed() {
                    runner.high_watermark(committed, now);
                }
            }
            Err(error) => {
                tracing::error!(
                    topic = %self.partition.topic, partition = self.partition.index, %error,
                    "coordinator and log disagree; the partition is loaded again"
                );
                *failed = true;
            }
        }
        self.reload_if_failed(state);
    }
}

/// Hears when other replicas have what was appended here: answers wait for that.
impl<S: Driven> HighWatermarkListener for Led<S> {
    fn high_watermark_raised(&self) {
        let Some(led) = self.me.upgrade() else { return };
        if let Some(committed) = led.committed() {
            led.with(|runner, now| runner.high_watermark(committed, now));
        }
    }
}

/// Hears of appends that had to wait for the disk; the token is the append's id.
impl<S: Driven> AppendWaiter for Led<S> {
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>) {
        // Whoever put the append on its way held it.
        let Some(led) = self.me.upgrade() else { return };
        led.guarded(|| {
            let mut state = led.state.lock();
            let Some(writing) = &state.writing else { return };
            debug_assert_eq!(writing.id, token);
            let result = led.partition.own_appended(result, writing.current.0);
            led.written(&mut state, result);
            led.write(state);
        });
    }
}
