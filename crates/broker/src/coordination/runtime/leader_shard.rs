//! One partition of an internal topic that this broker leads: its runner, its lock, and the append in flight.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use thalweg_coordinator::{AppendKind, Job, Now, RunnerState, Shard, Token};
use thalweg_log::{AppendError, AppendInfo, AppendWaiter, TransactionCheck};
use thalweg_wire::ErrorCode;
use tokio::sync::{Notify, oneshot};

use super::{Driven, Runner, RunnerEnv, Submitted, batches};
use crate::replicas::partition::{
    AppendFailure, HighWatermarkListener, OwnAppend, Partition, SubmittedOwn,
};

/// The runner that an effect comes from. Its result goes back as an event.
pub(crate) struct Source<S: Shard> {
    shard: Weak<LeaderShard<S>>,
}

impl<S: Shard> Clone for Source<S> {
    fn clone(&self) -> Source<S> {
        Source { shard: Weak::clone(&self.shard) }
    }
}

/// One partition that this broker coordinates.
pub(super) struct LeaderShard<S: Shard> {
    pub(super) me: Weak<LeaderShard<S>>,
    pub(super) partition: Arc<Partition>,
    pub(super) leader_epoch: AtomicI32,
    pub(super) state: Mutex<State<S>>,
    /// It moved away, or another one took its place: a load that is under way ends.
    gone: AtomicBool,
    /// When the timer task has to wake, on the monotonic clock; `u64::MAX` for never.
    pub(super) wake_at_ms: AtomicU64,
    pub(super) wake_changed: Notify,
    /// The runner is of no use any more: a new one has to be loaded.
    pub(super) reload: Notify,
    /// The log had no room for an append.
    pub(super) full: Notify,
    pub(super) env: Arc<RunnerEnv<S>>,
}

pub(super) struct State<S: Shard> {
    pub(super) runner: Runner<S>,
    waiting: HashMap<Token, oneshot::Sender<S::Response>>,
    /// The append that is being written. Only the thread that set it, or its waiter, continues it and the appends
    /// after it.
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

impl<S: Driven> Source<S> {
    /// The leader epoch in which the runner coordinates; `None` if it does not any more.
    pub(crate) fn coordinator_epoch(&self) -> Option<i32> {
        let shard = self.shard.upgrade().filter(|shard| !shard.is_gone())?;
        Some(shard.leader_epoch.load(Ordering::Acquire))
    }

    /// Passes an event to the runner, if it is still there.
    pub(crate) fn event(&self, event: S::Event) {
        if let Some(shard) = self.shard.upgrade() {
            shard.with(|runner, now| runner.event(event, now));
        }
    }
}

impl<S: Shard> LeaderShard<S> {
    pub(super) fn new(
        partition: Arc<Partition>,
        leader_epoch: i32,
        runner: Runner<S>,
        env: Arc<RunnerEnv<S>>,
    ) -> Arc<LeaderShard<S>> {
        Arc::new_cyclic(|me| LeaderShard {
            me: me.clone(),
            partition,
            leader_epoch: AtomicI32::new(leader_epoch),
            state: Mutex::new(State {
                runner,
                waiting: HashMap::new(),
                writing: None,
                failed: false,
            }),
            gone: AtomicBool::new(false),
            wake_at_ms: AtomicU64::new(u64::MAX),
            wake_changed: Notify::new(),
            reload: Notify::new(),
            full: Notify::new(),
            env,
        })
    }

    pub(super) fn is_gone(&self) -> bool {
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
                // The connection may be closed.
                let _ = waiting.send(response);
            }
        }
        found
    }
}

impl<S: Driven> LeaderShard<S> {
    /// Does what may change the runner. A panic takes the partition down: the runner may be half
    /// changed, and an append may be lost between it and the log.
    fn guarded(&self, act: impl FnOnce()) {
        // The lock is not poisoned by a panic, and what it guards is thrown away.
        if catch_unwind(AssertUnwindSafe(act)).is_ok() {
            return;
        }
        self.env.panics.fetch_add(1, Ordering::Relaxed);
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
        // The end of their channels answers the other requests.
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

    pub(super) fn with(self: &Arc<Self>, act: impl FnOnce(&mut Runner<S>, Now)) {
        self.guarded(|| {
            let mut state = self.state.lock();
            act(&mut state.runner, self.env.clock.now());
            self.drive(state);
        });
    }

    pub(super) fn submit(
        self: &Arc<Self>,
        request: S::Request,
        proof: Option<TransactionCheck>,
    ) -> Submitted<S::Response> {
        let mut submitted = None;
        self.guarded(|| submitted = Some(self.handle(request, proof)));
        // After a panic: the answer of a coordinator that went away.
        submitted.unwrap_or_else(|| Submitted::Later(oneshot::channel().1))
    }

    fn handle(
        self: &Arc<Self>,
        request: S::Request,
        proof: Option<TransactionCheck>,
    ) -> Submitted<S::Response> {
        let mut state = self.state.lock();
        let token = state.runner.submit_with_proof(request, proof, self.env.clock.now());
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
    pub(super) fn install(self: &Arc<Self>, runner: Runner<S>) {
        self.guarded(|| {
            let mut state = self.state.lock();
            if !self.is_gone() {
                state.runner = runner;
                let now = self.env.clock.now();
                // It may have risen since the load began.
                if let Some(committed) = self.committed() {
                    state.runner.high_watermark(committed, now);
                }
                for event in (self.env.initial)() {
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
        self.partition.led_epoch().is_ok_and(|leads_in| leads_in == epoch).then_some(high_watermark)
    }

    pub(super) fn close(self: &Arc<Self>) {
        self.gone.store(true, Ordering::Release);
        self.with(|runner, _| runner.close(ErrorCode::NOT_COORDINATOR));
        self.wake_changed.notify_one();
    }

    /// The log had no room; it may have some now.
    pub(super) fn try_again(self: &Arc<Self>) {
        self.guarded(|| {
            let state = self.state.lock();
            // Another thread may have continued it.
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
            self.deliver(&mut state);
        }
    }

    /// Delivers answers, jobs, effects and timers.
    fn deliver(&self, state: &mut State<S>) {
        state.answer(None);
        while let Some(job) = state.runner.poll_job() {
            self.start_job(job);
        }
        while let Some(effect) = state.runner.poll_effect() {
            (self.env.effects)(Source { shard: Weak::clone(&self.me) }, effect);
        }
        let wake_at = state.runner.wake_at_ms().unwrap_or(u64::MAX);
        if self.wake_at_ms.swap(wake_at, Ordering::AcqRel) > wake_at {
            self.wake_changed.notify_one();
        }
    }

    /// Has a computation run without the lock, on a thread that may take long.
    fn start_job(&self, job: S::Job) {
        let (shard, jobs) = (self.me.clone(), self.env.jobs.clone());
        self.env.runtime.spawn(async move {
            let run = move || {
                // A partition that moved away, or was loaded again, while the job waited for its turn needs no
                // result.
                if let Some(shard) = shard.upgrade().filter(|shard| !shard.is_gone()) {
                    shard.run_job(&job);
                }
            };
            // It is lost only with the runtime itself.
            let _ = jobs.run(run).await;
        });
    }

    /// Runs a computation of this runner's shard and hands in what came of it. Another runner for the
    /// same partition is in another [`LeaderShard`], and a runner that was closed takes nothing.
    fn run_job(self: &Arc<Self>, job: &S::Job) {
        // A panic of `failed` would leave the shard waiting for ever: it takes the partition down.
        self.guarded(|| {
            let done = catch_unwind(AssertUnwindSafe(|| job.run())).unwrap_or_else(|_| {
                self.env.panics.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    topic = %self.partition.topic, partition = self.partition.index,
                    "a computation of a coordinator panicked"
                );
                job.failed()
            });
            let mut state = self.state.lock();
            state.runner.job_done(done, self.env.clock.now());
            self.drive(state);
        });
    }

    /// Goes on with the append that is being written, and with those after it, until the log has to
    /// be waited for or nothing is left. Only for the thread that [`State::writing`] names. The lock is not held
    /// while the log writes.
    fn write<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State<S>>) {
        loop {
            if state.runner.state() != RunnerState::Active {
                // Its other records are dropped.
                state.writing = None;
                self.reload_if_failed(&mut state);
            }
            if state.writing.is_none() {
                state.writing = self.next_append(&mut state.runner);
            }
            self.deliver(&mut state);
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
            let now_ms = self.env.clock.wall_ms();
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
            match batches::build(&append, self.env.config, self.partition.max_message_bytes()) {
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
                    runner.append_failed(append.id, code, self.env.clock.now());
                }
            }
        }
    }

    /// The log has written or refused the current batch.
    fn written(&self, state: &mut State<S>, result: Result<i64, AppendFailure>) {
        let State { runner, writing: slot, failed, .. } = state;
        let Some(writing) = slot else { return };
        writing.with_log = false;
        let now = self.env.clock.now();
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

/// Answers wait until other replicas have the records.
impl<S: Driven> HighWatermarkListener for LeaderShard<S> {
    fn high_watermark_raised(&self) {
        let Some(shard) = self.me.upgrade() else { return };
        if let Some(committed) = shard.committed() {
            shard.with(|runner, now| runner.high_watermark(committed, now));
        }
    }
}

/// For appends that had to wait for the disk. The token is the append's id.
impl<S: Driven> AppendWaiter for LeaderShard<S> {
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>) {
        // The caller of `submit_own` held it.
        let Some(shard) = self.me.upgrade() else { return };
        shard.guarded(|| {
            let mut state = shard.state.lock();
            let Some(writing) = &state.writing else { return };
            debug_assert_eq!(writing.id, token);
            let result = shard.partition.own_appended(result, writing.current.0);
            shard.written(&mut state, result);
            shard.write(state);
        });
    }
}
