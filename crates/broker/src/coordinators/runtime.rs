//! Drives the runners of one internal topic: loading, appends, answers, timers.
//!
//! One lock per partition, never held across an await or a write: while an append is on its way to
//! the disk others are handled, and their records wait for its result. Requests run on their
//! connection's task; each partition has one timer task, which sleeps until the runner wants to be
//! woken.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use thalweg_coordinator::{
    Append, CoordinatorRecord, Now, Position, Runner, RunnerConfig, RunnerState, Shard, Token,
};
use thalweg_log::{AppendError, AppendInfo, AppendWaiter};
use thalweg_records::batch::{BatchView, Compression};
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::CompressionSpec;
use thalweg_records::record::{self, RecordContext};
use thalweg_wire::ErrorCode;
use tokio::sync::{Notify, oneshot};

use crate::clock::Clock;
use crate::partition::{AppendFailure, Partition, SubmittedOwn};
use crate::workspace;

/// Records replayed per hold of the lock while a partition loads.
const LOAD_CHUNK_BYTES: usize = 1 << 20;
/// How long an append that found no room waits before it is tried again.
const FULL_BACKOFF: Duration = Duration::from_millis(10);
/// Largest batch of a coordinator's own, decompressed.
const MAX_DECOMPRESSED: u64 = i32::MAX as u64;

/// What is the same for all partitions of one coordinator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeConfig {
    pub(crate) runner: RunnerConfig,
    /// Codec of the coordinator's own batches (`offsets.topic.compression.codec`).
    pub(crate) compression: CompressionSpec,
}

/// The partitions of one coordinator that this broker leads.
pub(crate) struct Coordinator<S: Shard> {
    config: RuntimeConfig,
    /// Makes the state machine of a partition that is to be loaded.
    shard: Box<dyn Fn() -> S + Send + Sync>,
    clock: Clock,
    led: RwLock<HashMap<i32, Arc<Led<S>>>>,
}

/// One partition that this broker coordinates.
struct Led<S: Shard> {
    me: Weak<Led<S>>,
    partition: Arc<Partition>,
    leader_epoch: AtomicI32,
    state: Mutex<State<S>>,
    /// When the timer task has to wake, on the monotonic clock; `u64::MAX` for never.
    wake_at_ms: AtomicU64,
    wake_changed: Notify,
    /// The runner and the log disagree: a new runner has to be loaded.
    reload: Notify,
    /// The log had no room for an append.
    full: Notify,
    clock: Clock,
    config: RuntimeConfig,
}

struct State<S: Shard> {
    runner: Runner<S>,
    waiting: HashMap<Token, oneshot::Sender<S::Response>>,
    /// The append that is being written. Whoever put it here, or hears of its result, goes on with
    /// it and with what comes after it; nobody else does.
    writing: Option<Writing>,
}

/// An append on its way to the log.
struct Writing {
    id: u64,
    /// Batches that are left, and how many records each holds.
    left: VecDeque<(Vec<u8>, usize)>,
    /// Bytes and records of the batch that the log has.
    current: (usize, usize),
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

impl<S> Coordinator<S>
where
    S: Shard + Send + 'static,
    S::Request: Send,
    S::Response: Send + 'static,
    S::Record: Send,
    S::TimerKey: Send,
    S::Then: Send,
{
    pub(crate) fn new(
        config: RuntimeConfig,
        clock: Clock,
        shard: impl Fn() -> S + Send + Sync + 'static,
    ) -> Arc<Coordinator<S>> {
        let shard = Box::new(shard);
        Arc::new(Coordinator { config, shard, clock, led: RwLock::new(HashMap::new()) })
    }

    /// This broker became the leader of a partition: loads it in the background.
    pub(crate) fn elected(self: &Arc<Self>, partition: Arc<Partition>, leader_epoch: i32) {
        let index = partition.index;
        let led = {
            let mut all = self.led.write();
            if let Some(old) = all.get(&index) {
                if old.leader_epoch.load(Ordering::Acquire) >= leader_epoch {
                    return;
                }
                if old.state.lock().runner.state() == RunnerState::Active {
                    // Elected again with the state at hand: nothing was lost in between.
                    old.leader_epoch.store(leader_epoch, Ordering::Release);
                    return;
                }
            }
            let led = Arc::new_cyclic(|me| Led {
                me: me.clone(),
                partition,
                leader_epoch: AtomicI32::new(leader_epoch),
                state: Mutex::new(State {
                    runner: Runner::new((self.shard)(), self.config.runner),
                    waiting: HashMap::new(),
                    writing: None,
                }),
                wake_at_ms: AtomicU64::new(u64::MAX),
                wake_changed: Notify::new(),
                reload: Notify::new(),
                full: Notify::new(),
                clock: self.clock,
                config: self.config,
            });
            all.insert(index, Arc::clone(&led));
            led
        };
        let loading = Arc::clone(&led);
        // An empty partition, which is the usual case for most of fifty, loads here and now.
        if led.partition.log.log_end_offset() == led.partition.log.log_start_offset() {
            load(&loading);
        } else {
            tokio::task::spawn_blocking(move || load(&loading));
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
                let clock = coordinator.clock;
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
                        at => tokio::time::sleep_until(clock.instant(at).into()).await,
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
                        let Some(coordinator) = this.upgrade() else { return };
                        coordinator.led.write().remove(&index);
                        led.close();
                        let epoch = led.leader_epoch.load(Ordering::Acquire);
                        coordinator.elected(Arc::clone(&led.partition), epoch);
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
        let Some(led) = self.led.read().get(&index).cloned() else {
            return Submitted::Now(S::refuse(&request, ErrorCode::NOT_COORDINATOR));
        };
        let mut state = led.state.lock();
        let token = state.runner.submit(request, self.clock.now());
        if let Some(response) = state.answer(Some(token)) {
            led.drive(state);
            return Submitted::Now(response);
        }
        // From here on others may answer: the lock is let go of while records are written.
        let (sender, mut receiver) = oneshot::channel();
        state.waiting.insert(token, sender);
        if state.waiting.len() > 1024 && state.waiting.len().is_power_of_two() {
            // Connections that went away while they were parked.
            state.waiting.retain(|_, sender| !sender.is_closed());
        }
        led.drive(state);
        match receiver.try_recv() {
            Ok(response) => Submitted::Now(response),
            Err(_) => Submitted::Later(receiver),
        }
    }

    /// Looks at the shard of every partition led here.
    pub(crate) fn each_shard(&self, mut look: impl FnMut(i32, &S)) {
        let all: Vec<_> = self.led.read().iter().map(|(i, led)| (*i, Arc::clone(led))).collect();
        for (index, led) in all {
            look(index, led.state.lock().runner.shard());
        }
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

impl<S> Led<S>
where
    S: Shard + Send + 'static,
    S::Request: Send,
    S::Response: Send + 'static,
    S::Record: Send,
    S::TimerKey: Send,
    S::Then: Send,
{
    fn with(self: &Arc<Self>, act: impl FnOnce(&mut Runner<S>, Now)) {
        let mut state = self.state.lock();
        act(&mut state.runner, self.clock.now());
        self.drive(state);
    }

    fn close(self: &Arc<Self>) {
        self.with(|runner, _| runner.close(ErrorCode::NOT_COORDINATOR));
        self.wake_changed.notify_one();
    }

    /// The log had no room; it may have some now.
    fn try_again(self: &Arc<Self>) {
        let state = self.state.lock();
        if state.writing.is_some() {
            self.write(state);
        }
    }

    /// Does what the runner asks for: appends, answers, timers.
    fn drive(self: &Arc<Self>, mut state: MutexGuard<'_, State<S>>) {
        if state.writing.is_none() {
            self.write(state);
        } else {
            self.settle(&mut state);
        }
    }

    /// Answers and timers.
    fn settle(&self, state: &mut State<S>) {
        state.answer(None);
        let wake_at = state.runner.wake_at_ms().unwrap_or(u64::MAX);
        if self.wake_at_ms.swap(wake_at, Ordering::AcqRel) > wake_at {
            self.wake_changed.notify_one();
        }
    }

    /// Goes on with the append that is being written, and with those after it, until the log has to
    /// be waited for or nothing is left. For whom it is to do so (see [`State::writing`]). The lock
    /// is not held while the log writes.
    fn write<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State<S>>) {
        loop {
            if state.writing.is_none() {
                state.writing = self.next_append(&mut state.runner);
            }
            self.settle(&mut state);
            let Some(writing) = &mut state.writing else { return };
            let Some((mut batch, records)) = writing.left.pop_front() else {
                // Cannot be: an append has records, and one that is through is taken out.
                state.writing = None;
                continue;
            };
            writing.current = (batch.len(), records);
            let id = writing.id;
            drop(state);
            let waiter: Arc<dyn AppendWaiter> = self.clone();
            let epoch = self.leader_epoch.load(Ordering::Acquire);
            let now_ms = self.clock.wall_ms();
            match self.partition.submit_own(&mut batch, epoch, now_ms, &waiter, id) {
                SubmittedOwn::Queued => return,
                SubmittedOwn::Full => {
                    if let Some(writing) = &mut self.state.lock().writing {
                        writing.left.push_front((batch, records));
                    }
                    self.full.notify_one();
                    return;
                }
                SubmittedOwn::Done(result) => {
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
            match build(&append, self.config, self.partition.max_message_bytes()) {
                Ok(batches) => {
                    let left = batches.into();
                    return Some(Writing { id: append.id, left, current: (0, 0), written: None });
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

    /// The log is through with the current batch.
    fn written(&self, state: &mut State<S>, result: Result<i64, AppendFailure>) {
        let State { runner, writing: slot, .. } = state;
        let Some(writing) = slot else { return };
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
                let code = match failure {
                    AppendFailure::NotLeader { .. } => ErrorCode::NOT_LEADER_OR_FOLLOWER,
                    AppendFailure::TimedOut => ErrorCode::REQUEST_TIMED_OUT,
                    AppendFailure::Log(error) => {
                        tracing::warn!(%error, "a coordinator's records were not written");
                        error.code()
                    }
                };
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
            Ok(()) => runner.high_watermark(self.partition.log.high_watermark(), now),
            Err(error) => {
                tracing::error!(
                    topic = %self.partition.topic, partition = self.partition.index, %error,
                    "coordinator and log disagree; the partition is loaded again"
                );
                self.reload.notify_one();
            }
        }
    }
}

/// Hears of appends that had to wait for the disk; the token is the append's id.
impl<S> AppendWaiter for Led<S>
where
    S: Shard + Send + 'static,
    S::Request: Send,
    S::Response: Send + 'static,
    S::Record: Send,
    S::TimerKey: Send,
    S::Then: Send,
{
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>) {
        // Whoever put the append on its way held it.
        let Some(led) = self.me.upgrade() else { return };
        let mut state = led.state.lock();
        let Some(writing) = &state.writing else { return };
        debug_assert_eq!(writing.id, token);
        let result = led.partition.own_appended(result, writing.current.0);
        led.written(&mut state, result);
        led.write(state);
    }
}

/// The batches of an append with how many records each holds: one, or as few as fit when the records
/// stand for themselves. Says what stands in the way.
fn build<R: CoordinatorRecord>(
    append: &Append<R>,
    config: RuntimeConfig,
    max: usize,
) -> Result<Vec<(Vec<u8>, usize)>, String> {
    let mut out = Vec::new();
    let mut scratch = workspace::validation();
    let options = BatchOptions { compression: config.compression, ..BatchOptions::default() };
    let mut builder = BatchBuilder::new(options);
    let mut finish = |builder: &BatchBuilder| -> Result<(), String> {
        let batch = builder
            .finish(&mut scratch.compressor)
            .map_err(|error| format!("they cannot be compressed: {error}"))?;
        if batch.len() > max {
            return Err(format!("{} bytes are more than max.message.bytes, {max}", batch.len()));
        }
        out.push((batch, usize::try_from(builder.record_count()).unwrap_or(0)));
        Ok(())
    };
    for record in &append.records {
        let encoded =
            record.encode().map_err(|error| format!("a record cannot be encoded: {error}"))?;
        let len = encoded.key.len() + encoded.value.as_ref().map_or(0, |v| v.len()) + 32;
        if !append.atomic && builder.record_count() > 0 && builder.records_len() + len > max / 2 {
            finish(&builder)?;
            builder = BatchBuilder::new(options);
        }
        builder.append(append.timestamp_ms, Some(&encoded.key), encoded.value.as_deref(), &[]);
    }
    finish(&builder)?;
    Ok(out)
}

/// Replays the partition's log into its runner.
fn load<S>(led: &Arc<Led<S>>)
where
    S: Shard + Send + 'static,
    S::Request: Send,
    S::Response: Send + 'static,
    S::Record: Send,
    S::TimerKey: Send,
    S::Then: Send,
{
    let started = std::time::Instant::now();
    let log = &led.partition.log;
    let mut at = log.log_start_offset();
    let mut records = 0u64;
    let mut scratch = workspace::validation();
    let mut plain = Vec::new();
    let outcome = loop {
        let end = log.log_end_offset();
        if at >= end {
            break Ok(end);
        }
        let chunk = match led.partition.read_whole(at, LOAD_CHUNK_BYTES) {
            Ok(chunk) if chunk.is_empty() => break Ok(end),
            Ok(chunk) => chunk,
            Err(error) => break Err(error.to_string()),
        };
        let mut state = led.state.lock();
        match replay_chunk(&mut state.runner, &chunk, at, &mut scratch, &mut plain, led.clock.now())
        {
            Ok((next, count)) => {
                at = next;
                records += count;
            }
            Err(reason) => break Err(reason),
        }
    };
    drop(scratch);
    match outcome {
        Ok(end) => {
            led.with(|runner, now| {
                runner.load_finished(end, log.high_watermark(), now);
            });
            if records > 0 {
                tracing::info!(
                    topic = %led.partition.topic, partition = led.partition.index, records,
                    ms = started.elapsed().as_millis() as u64, "coordinator state loaded"
                );
            }
        }
        Err(reason) => {
            tracing::error!(
                topic = %led.partition.topic, partition = led.partition.index, reason,
                "coordinator state could not be loaded; its groups have no coordinator"
            );
            led.close();
        }
    }
    led.wake_changed.notify_one();
}

/// Replays whole batches; gives the offset after the last one, and how many records there were.
fn replay_chunk<S: Shard>(
    runner: &mut Runner<S>,
    chunk: &[u8],
    from: i64,
    scratch: &mut thalweg_records::validate::Scratch,
    plain: &mut Vec<u8>,
    now: Now,
) -> Result<(i64, u64), String> {
    let mut rest = chunk;
    let mut next = from;
    let mut count = 0;
    while !rest.is_empty() {
        let batch = BatchView::parse(rest).map_err(|e| format!("at offset {next}: {e}"))?;
        rest = &rest[batch.total_len()..];
        let producer_id = batch.is_transactional().then(|| batch.producer_id());
        let records = if batch.compression() == Some(Compression::None) {
            batch.payload()
        } else {
            plain.clear();
            record::decompress(&batch, &mut scratch.decompressor, MAX_DECOMPRESSED, plain)
                .map_err(|e| format!("at offset {}: {e}", batch.base_offset()))?;
            &plain[..]
        };
        for record in RecordContext::of(&batch).iter(records) {
            let record = record.map_err(|e| format!("at offset {}: {e}", batch.base_offset()))?;
            let key = record.key.unwrap_or_default();
            if batch.is_control() {
                // Key: version i16, type i16; 0 is ABORT, 1 is COMMIT.
                match key.get(2..4) {
                    Some([0, 0]) => runner.load_marker(record.offset, batch.producer_id(), false),
                    Some([0, 1]) => runner.load_marker(record.offset, batch.producer_id(), true),
                    _ => {}
                }
                continue;
            }
            let at = Position { offset: record.offset, producer_id };
            match S::Record::decode(key, record.value) {
                Ok(Some(decoded)) => {
                    runner.load_record(at, now, &decoded);
                    count += 1;
                }
                Ok(None) => {
                    tracing::warn!(offset = at.offset, "a record of an unknown type was skipped");
                }
                Err(error) => return Err(format!("at offset {}: {error}", at.offset)),
            }
        }
        next = batch.next_offset();
    }
    Ok((next, count))
}
