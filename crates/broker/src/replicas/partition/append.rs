//! Appending to a partition: a producer's batches, transaction markers, and this broker's own.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::{
    AppendContext, AppendError, AppendInfo, AppendWaiter, Submitted, TransactionCheck,
};
use thalweg_records::validate::Validated;
use thalweg_wire::ErrorCode;
use tokio::sync::Notify;

use super::{Leader, Partition};
use crate::node::backoff::Backoff;

/// How long an append that found no room waits before it asks again, the first time; then twice as
/// long each time.
const FULL_BACKOFF: Duration = Duration::from_millis(2);
/// The longest such wait.
const FULL_BACKOFF_MAX: Duration = Duration::from_millis(64);

/// Why nothing was appended.
#[derive(Debug)]
pub(crate) enum AppendFailure {
    /// This broker does not lead.
    NotLeader { leader_id: i32, leader_epoch: i32 },
    /// The log refused.
    Log(AppendError),
    /// The log directory takes nothing for now, and the request's time is over.
    TimedOut,
    /// Fewer replicas are in sync than `min.insync.replicas` asks for.
    NotEnoughReplicas,
}

impl AppendFailure {
    /// The error code for the request.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            AppendFailure::NotLeader { .. } => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            AppendFailure::TimedOut => ErrorCode::REQUEST_TIMED_OUT,
            AppendFailure::NotEnoughReplicas => ErrorCode::NOT_ENOUGH_REPLICAS,
            AppendFailure::Log(error) => error.code(),
        }
    }
}

/// What an append that cannot be done at once goes by.
pub(crate) struct Appending<'a> {
    /// Where its result comes to.
    pub(crate) slot: &'a Arc<AppendResultSlot>,
    /// Readers to be woken when the request has appended everything.
    pub(crate) wakes: &'a mut Wakes,
    /// How long the request may still wait for a directory that takes nothing.
    pub(crate) timeout: Duration,
    /// What is shown of a transaction that the batch begins here.
    pub(crate) transaction: TransactionCheck,
}

/// What became of a producer's batch.
pub(crate) enum AppendNow {
    /// It was appended, or refused.
    Done(Result<Appended, AppendFailure>),
    /// It is queued behind another one, or its log directory has no room for it: [`Partition::append_later`] goes on.
    Later(AppendLater),
}

/// An append that is not done.
pub(crate) struct AppendLater {
    submitted: Submitted,
    context: AppendContext,
}

/// A batch that a coordinator of this broker writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnAppend {
    /// Its own records.
    Records,
    /// Records of a producer's transaction, with what is shown of it.
    Transactional(TransactionCheck),
    /// A marker, of a sender with this `transaction.version`.
    Marker(i16),
}

/// What became of a batch of this broker's own.
#[derive(Debug)]
pub(crate) enum SubmittedOwn {
    /// It was appended, or refused: its first offset.
    Done(Result<i64, AppendFailure>),
    /// Its bytes were taken; the waiter gets the result.
    Queued,
    /// There is no room; nothing was taken.
    Full,
}

/// An append that succeeded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    pub(crate) first_offset: i64,
    /// Offset behind it.
    pub(crate) end_offset: i64,
    /// Epoch in which it was appended; of a duplicate, in which it was found to be there.
    pub(crate) leader_epoch: i32,
    pub(crate) log_start_offset: i64,
    /// Of a duplicate: what is answered for it.
    pub(crate) log_append_time_ms: i64,
    pub(crate) duplicate: bool,
}

/// Where the result of an append that has to wait comes to. A connection has one, because one append of it is in flight
/// at a time.
#[derive(Debug, Default)]
pub(crate) struct AppendResultSlot {
    state: Mutex<AppendState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
enum AppendState {
    #[default]
    Waited,
    Arrived(Result<AppendInfo, AppendError>),
    /// The connection is gone; the append, of so many bytes, is passed to the partition.
    Orphaned(Arc<Partition>, usize),
}

impl AppendWaiter for AppendResultSlot {
    fn done(&self, _token: u64, result: Result<AppendInfo, AppendError>) {
        let mut state = self.state.lock();
        if let AppendState::Orphaned(partition, bytes) = std::mem::take(&mut *state) {
            drop(state);
            if let Ok(info) = result {
                partition.on_appended(&info, bytes, WakeReaders::Now);
            }
            return;
        }
        *state = AppendState::Arrived(result);
        drop(state);
        self.arrived.notify_one();
    }
}

/// A wait for a result that may be given up, when the connection goes away: what is written then
/// is there all the same, and readers are to see it.
struct QueuedAppendGuard<'a> {
    slot: &'a AppendResultSlot,
    partition: &'a Arc<Partition>,
    bytes: usize,
    is_over: bool,
}

impl QueuedAppendGuard<'_> {
    async fn result(mut self) -> Result<AppendInfo, AppendError> {
        let result = self.slot.wait().await;
        self.is_over = true;
        result
    }
}

impl Drop for QueuedAppendGuard<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.slot.state.lock();
        match std::mem::take(&mut *state) {
            AppendState::Arrived(result) => {
                drop(state);
                if let Ok(info) = result {
                    self.partition.on_appended(&info, self.bytes, WakeReaders::Now);
                }
            }
            _ => *state = AppendState::Orphaned(Arc::clone(self.partition), self.bytes),
        }
    }
}

impl AppendResultSlot {
    async fn wait(&self) -> Result<AppendInfo, AppendError> {
        loop {
            if let AppendState::Arrived(result) = std::mem::take(&mut *self.state.lock()) {
                return result;
            }
            self.arrived.notified().await;
        }
    }
}

/// Readers to be woken once a request has appended everything: one that was woken by the first of
/// many batches would come again for each of the others. Kafka completes its delayed fetches then,
/// too. They are woken at the latest when this is dropped, with a request that is given up.
#[derive(Debug, Default)]
pub(crate) struct Wakes(Vec<(Arc<Partition>, usize)>);

impl Wakes {
    fn add(&mut self, partition: &Arc<Partition>, bytes: usize) {
        self.0.push((Arc::clone(partition), bytes));
    }

    /// Wakes them.
    pub(crate) fn wake(&mut self) {
        for (partition, bytes) in self.0.drain(..) {
            partition.wake_fetchers(bytes);
        }
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        self.wake();
    }
}

/// When readers learn of an append that is committed at once, because the partition has one replica.
enum WakeReaders<'a> {
    Now,
    /// With the other appends of its request.
    AtEnd(&'a mut Wakes, &'a Arc<Partition>),
}

impl Partition {
    pub(super) fn append_elsewhere(&self, leader: Leader) -> AppendFailure {
        match self.log.dir().check() {
            Ok(()) => AppendFailure::NotLeader { leader_id: leader.id, leader_epoch: leader.epoch },
            Err(error) => AppendFailure::Log(error.into()),
        }
    }

    /// What the log says of an append that was for another leadership than the one of now.
    pub(super) fn append_refused(&self, error: AppendError) -> AppendFailure {
        match error {
            AppendError::NotLeaderOrFollower { .. } => self.append_elsewhere(self.leader()),
            error => AppendFailure::Log(error),
        }
    }

    /// Appends a producer's validated batch; `records` are the bytes that were validated.
    pub(crate) fn append(
        self: &Arc<Self>,
        validated: &mut Validated,
        records: &mut [u8],
        now_ms: i64,
        appending: &mut Appending<'_>,
    ) -> AppendNow {
        let epoch = match self.led_epoch() {
            Ok(epoch) => epoch,
            Err(leader) => return AppendNow::Done(Err(self.append_elsewhere(leader))),
        };
        let context = AppendContext {
            log_append_time: validated.log_append_time.unwrap_or(-1),
            transaction: appending.transaction,
            ..AppendContext::client(epoch, now_ms)
        };
        let waiter: Arc<dyn AppendWaiter> = Arc::clone(appending.slot) as _;
        let batch = validated.batch_mut(records);
        // One append of a connection is in flight at a time.
        match self.log.submit(batch, &context, &waiter, 0) {
            Submitted::Done(result) => {
                AppendNow::Done(self.client_appended(result, epoch, batch.len(), appending.wakes))
            }
            submitted => AppendNow::Later(AppendLater { submitted, context }),
        }
    }

    /// Goes on with an append whose log directory could not take it at once, with the same arguments.
    pub(crate) async fn append_later(
        self: &Arc<Self>,
        later: AppendLater,
        validated: &mut Validated,
        records: &mut [u8],
        appending: &mut Appending<'_>,
    ) -> Result<Appended, AppendFailure> {
        let batch = validated.batch_mut(records);
        self.finish(later, batch, appending).await
    }

    async fn finish(
        self: &Arc<Self>,
        later: AppendLater,
        batch: &mut [u8],
        appending: &mut Appending<'_>,
    ) -> Result<Appended, AppendFailure> {
        let AppendLater { mut submitted, context } = later;
        let Appending { slot, wakes, timeout, .. } = appending;
        let waiter: Arc<dyn AppendWaiter> = Arc::clone(slot) as _;
        let bytes = batch.len();
        let mut backoff = Backoff::new(FULL_BACKOFF, FULL_BACKOFF_MAX);
        let result = loop {
            match submitted {
                Submitted::Done(result) => break result,
                Submitted::Queued => {
                    wakes.wake();
                    let guard = QueuedAppendGuard { slot, partition: self, bytes, is_over: false };
                    break guard.result().await;
                }
                Submitted::Full => {
                    wakes.wake();
                    // Nothing was taken, so that a producer that is told so may send it again.
                    // Its request's memory must not be held for as long as the disk is stuck.
                    let pause = backoff.pause();
                    let Some(left) = timeout.checked_sub(pause) else {
                        return Err(AppendFailure::TimedOut);
                    };
                    *timeout = left;
                    tokio::time::sleep(pause).await;
                    submitted = self.log.submit(batch, &context, &waiter, 0);
                }
            }
        };
        self.client_appended(result, context.leader_epoch, bytes, wakes)
    }

    /// Appends the end of a transaction, as its coordinator has asked for (`transaction.version` of the coordinator
    /// decides how its epoch is held against the producer's).
    pub(crate) async fn append_marker(
        self: &Arc<Self>,
        batch: &mut [u8],
        transaction_version: i16,
        now_ms: i64,
        appending: &mut Appending<'_>,
    ) -> Result<Appended, AppendFailure> {
        let epoch = self.led_epoch().map_err(|leader| self.append_elsewhere(leader))?;
        let context =
            AppendContext { transaction_version, ..AppendContext::coordinator(epoch, now_ms) };
        let waiter: Arc<dyn AppendWaiter> = Arc::clone(appending.slot) as _;
        let submitted = self.log.submit(batch, &context, &waiter, 0);
        self.finish(AppendLater { submitted, context }, batch, appending).await
    }

    /// A producer's batch was appended, or not.
    fn client_appended(
        self: &Arc<Self>,
        result: Result<AppendInfo, AppendError>,
        leader_epoch: i32,
        bytes: usize,
        wakes: &mut Wakes,
    ) -> Result<Appended, AppendFailure> {
        let info = result.map_err(|error| self.append_refused(error))?;
        self.on_appended(&info, bytes, WakeReaders::AtEnd(wakes, self));
        Ok(Appended {
            first_offset: info.first_offset,
            end_offset: info.last_offset + 1,
            leader_epoch,
            log_start_offset: info.log_start_offset,
            log_append_time_ms: info.log_append_time,
            duplicate: info.duplicate,
        })
    }

    /// Appends a batch of this broker's own without waiting: the result, or what became of the
    /// batch instead. A result that comes later has to be passed to [`Self::own_appended`].
    pub(crate) fn submit_own(
        &self,
        batch: &mut [u8],
        own: OwnAppend,
        leader_epoch: i32,
        now_ms: i64,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> SubmittedOwn {
        let not_led = match self.led_epoch() {
            Ok(epoch) if epoch == leader_epoch => None,
            Ok(leader_epoch) => {
                let leader_id = self.leader().id;
                Some(AppendFailure::NotLeader { leader_id, leader_epoch })
            }
            Err(leader) => Some(self.append_elsewhere(leader)),
        };
        let failure = not_led
            .or_else(|| self.check_in_sync().is_err().then_some(AppendFailure::NotEnoughReplicas));
        if let Some(failure) = failure {
            return SubmittedOwn::Done(Err(failure));
        }
        let mut context = AppendContext::coordinator(leader_epoch, now_ms);
        match own {
            OwnAppend::Records => {}
            OwnAppend::Transactional(check) => context.transaction = check,
            OwnAppend::Marker(version) => context.transaction_version = version,
        }
        match self.log.submit(batch, &context, waiter, token) {
            Submitted::Done(result) => SubmittedOwn::Done(self.own_appended(result, batch.len())),
            Submitted::Queued => SubmittedOwn::Queued,
            Submitted::Full => SubmittedOwn::Full,
        }
    }

    /// A batch of this broker's own was appended, or not; gives its first offset.
    pub(crate) fn own_appended(
        &self,
        result: Result<AppendInfo, AppendError>,
        bytes: usize,
    ) -> Result<i64, AppendFailure> {
        let info = result.map_err(|error| self.append_refused(error))?;
        self.on_appended(&info, bytes, WakeReaders::Now);
        Ok(info.first_offset)
    }

    /// An append is in the log. With one replica, that is when its records are committed; other replicas may fetch them.
    fn on_appended(&self, info: &AppendInfo, bytes: usize, readers: WakeReaders<'_>) {
        let is_alone = self.is_alone();
        if is_alone {
            // Also for a duplicate: the result of its first append may not have been handled yet, and what is
            // acknowledged can be read.
            self.log.advance_high_watermark(info.last_offset + 1);
        }
        match readers {
            _ if info.duplicate => {}
            _ if !is_alone => {
                self.advance();
                if let Some(waiting) = self.waiting() {
                    waiting.replicas.add(i64::try_from(bytes).unwrap_or(i64::MAX));
                }
            }
            WakeReaders::Now => self.wake_fetchers(bytes),
            WakeReaders::AtEnd(wakes, partition) => wakes.add(partition, bytes),
        }
    }

    fn wake_fetchers(&self, bytes: usize) {
        self.delayed_fetches.add(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}
