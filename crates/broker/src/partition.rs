//! A partition this broker has: its log, its leadership, and who waits for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::{
    AppendContext, AppendError, AppendInfo, AppendWaiter, Isolation, Log, OpenFile, ReadError,
    Submitted, Wait, retry_exhausted,
};
use thalweg_records::validate::Validated;
use thalweg_wire::ErrorCode;
use tokio::sync::Notify;

use crate::wait::WakeList;

/// How long an append that found no room waits before it asks again, the first time; then twice as
/// long each time.
const FULL_BACKOFF: Duration = Duration::from_millis(2);
/// The longest such wait.
const FULL_BACKOFF_MAX: Duration = Duration::from_millis(64);

/// A partition with a replica on this broker.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) topic: Arc<str>,
    pub(crate) index: i32,
    pub(crate) log: Arc<Log>,
    /// Fetches that wait for data.
    pub(crate) fetchers: WakeList,
    leader: Mutex<Leader>,
    /// Epoch while this broker leads, -1 while it does not: read on every request.
    led_epoch: AtomicI32,
}

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    pub(crate) id: i32,
    pub(crate) epoch: i32,
    pub(crate) is_local: bool,
}

/// Why nothing was appended.
#[derive(Debug)]
pub(crate) enum AppendFailure {
    /// Another broker leads, or nobody.
    NotLeader { leader_id: i32, leader_epoch: i32 },
    /// The log refused.
    Log(AppendError),
    /// The log directory takes nothing for now, and the request's time is over.
    TimedOut,
}

/// What an append that cannot be done at once goes by.
pub(crate) struct Appending<'a> {
    /// Where its result comes to.
    pub(crate) results: &'a Arc<AppendResults>,
    /// Readers to be woken when the request is through.
    pub(crate) wakes: &'a mut Wakes,
    /// How long the request may still wait for a directory that takes nothing.
    pub(crate) patience: Duration,
}

/// What became of a batch of this broker's own.
#[derive(Debug)]
pub(crate) enum SubmittedOwn {
    /// It is through, one way or the other: its first offset.
    Done(Result<i64, AppendFailure>),
    /// Its bytes were taken; the waiter hears the result.
    Queued,
    /// There is no room; nothing was taken.
    Full,
}

/// Why nothing was read.
#[derive(Debug)]
pub(crate) enum ReadFailure {
    /// Another broker leads, or nobody.
    NotLeader { leader_id: i32, leader_epoch: i32 },
    /// The reader knows an older leader epoch.
    Fenced { leader_id: i32, leader_epoch: i32 },
    /// The reader knows a newer leader epoch than this broker.
    UnknownEpoch,
    /// The log refused.
    Log(ReadError),
}

/// An append that is through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    pub(crate) first_offset: i64,
    pub(crate) log_start_offset: i64,
    /// Of a duplicate: what is answered for it.
    pub(crate) log_append_time_ms: i64,
    pub(crate) duplicate: bool,
}

/// What a fetch wants of the partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRequest {
    pub(crate) offset: i64,
    pub(crate) max_bytes: usize,
    pub(crate) min_one: bool,
    pub(crate) committed_only: bool,
    /// -1 when the reader does not say.
    pub(crate) current_leader_epoch: i32,
    /// -1 when the reader does not say.
    pub(crate) last_fetched_epoch: i32,
}

/// What a fetch gets of the partition.
#[derive(Debug)]
pub(crate) struct Found {
    /// Epoch in which this broker leads.
    pub(crate) led_epoch: i32,
    pub(crate) high_watermark: i64,
    pub(crate) last_stable_offset: i64,
    pub(crate) log_start_offset: i64,
    pub(crate) diverging: Option<(i32, i64)>,
    pub(crate) aborted: Option<Vec<(i64, i64)>>,
    pub(crate) piece: Option<Piece>,
}

/// Whole batches in one file.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) position: u64,
    pub(crate) len: u32,
}

impl Piece {
    /// Copies the bytes onto the end of `out`; `WouldBlock` when some have to come from the disk
    /// and waiting is not allowed.
    pub(crate) fn copy_into(&self, out: &mut Vec<u8>, may_wait: bool) -> io::Result<()> {
        let start = out.len();
        let len = self.len as usize;
        out.resize(start + len, 0);
        if may_wait {
            return self.file.read_exact_at(&mut out[start..], self.position);
        }
        let mut done = 0;
        while done < len {
            let at = self.position + done as u64;
            match self.file.read_nowait(&mut out[start + done..], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => done += n,
            }
        }
        Ok(())
    }

    /// Sees to it that the bytes are in the page cache; `WouldBlock` when they are not and waiting
    /// is not allowed. Looks at every 128 KiB and at the last byte, because the kernel reads ahead
    /// and drops pages in runs.
    pub(crate) fn warm(&self, may_wait: bool) -> io::Result<()> {
        const STEP: u64 = 128 << 10;
        let end = self.position + u64::from(self.len);
        let mut byte = [0u8; 1];
        if !may_wait {
            let mut at = self.position;
            while at < end {
                self.file.read_nowait(&mut byte, at)?;
                at += STEP;
            }
            return self.file.read_nowait(&mut byte, end - 1).map(|_| ());
        }
        let mut buffer = vec![0u8; STEP as usize];
        let mut at = self.position;
        while at < end {
            let want = (end - at).min(STEP) as usize;
            match self.file.read_at(&mut buffer[..want], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => at += n as u64,
            }
        }
        Ok(())
    }
}

/// The result of an append that has to wait, for one connection: one is in the air at a time.
#[derive(Debug, Default)]
pub(crate) struct AppendResults {
    state: Mutex<AppendState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
enum AppendState {
    #[default]
    Waited,
    Arrived(Result<AppendInfo, AppendError>),
    /// The connection is gone; the partition has to hear of the append, and of its bytes.
    Orphaned(Arc<Partition>, usize),
}

impl AppendWaiter for AppendResults {
    fn done(&self, _token: u64, result: Result<AppendInfo, AppendError>) {
        let mut state = self.state.lock();
        if let AppendState::Orphaned(partition, bytes) = std::mem::take(&mut *state) {
            drop(state);
            if let Ok(info) = result {
                partition.appended(&info, bytes);
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
struct Waiting<'a> {
    results: &'a AppendResults,
    partition: &'a Arc<Partition>,
    bytes: usize,
    is_over: bool,
}

impl Waiting<'_> {
    async fn result(mut self) -> Result<AppendInfo, AppendError> {
        let result = self.results.wait().await;
        self.is_over = true;
        result
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.results.state.lock();
        match std::mem::take(&mut *state) {
            AppendState::Arrived(result) => {
                drop(state);
                if let Ok(info) = result {
                    self.partition.appended(&info, self.bytes);
                }
            }
            _ => *state = AppendState::Orphaned(Arc::clone(self.partition), self.bytes),
        }
    }
}

impl AppendResults {
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

impl Partition {
    pub(crate) fn new(topic: Arc<str>, index: i32, log: Arc<Log>) -> Partition {
        Partition {
            topic,
            index,
            log,
            fetchers: WakeList::default(),
            leader: Mutex::new(Leader { id: -1, epoch: -1, is_local: false }),
            led_epoch: AtomicI32::new(-1),
        }
    }

    /// Who leads, as the metadata says.
    pub(crate) fn leader(&self) -> Leader {
        *self.leader.lock()
    }

    /// Sets who leads. Becoming leader in a new epoch notes where that epoch begins.
    pub(crate) fn set_leader(&self, leader: Leader) {
        let before = {
            let mut current = self.leader.lock();
            std::mem::replace(&mut *current, leader)
        };
        if !leader.is_local {
            self.log.make_follower(leader.epoch);
        } else if leader.epoch != before.epoch || !before.is_local {
            self.log.make_leader(leader.epoch);
            // The only replica in sync is this one: all it has is committed.
            self.log.advance_high_watermark(self.log.log_end_offset());
        }
        self.led_epoch.store(if leader.is_local { leader.epoch } else { -1 }, Ordering::Release);
        // Pairs with `go_offline`: the directory failed before this looked, or after the store.
        if self.log.dir().check().is_err() {
            self.go_offline();
        }
        if before != leader {
            self.fetchers.wake_all();
        }
    }

    /// The partition's directory failed: this broker leads it no more, whatever the metadata still
    /// says. Takes no lock.
    pub(crate) fn go_offline(&self) {
        self.led_epoch.store(-1, Ordering::Release);
    }

    /// The code for a request that needs the leader, where this broker is not. A directory that is
    /// offline comes first, as in Kafka.
    pub(crate) fn not_led_code(&self) -> ErrorCode {
        match self.log.dir().check() {
            Ok(()) => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            Err(_) => ErrorCode::KAFKA_STORAGE_ERROR,
        }
    }

    /// The epoch in which this broker leads.
    #[inline]
    pub(crate) fn led_epoch(&self) -> Result<i32, (i32, i32)> {
        match self.led_epoch.load(Ordering::Acquire) {
            -1 => {
                let leader = self.leader();
                Err((leader.id, leader.epoch))
            }
            epoch => Ok(epoch),
        }
    }

    /// Largest batch that may be appended.
    pub(crate) fn max_message_bytes(&self) -> usize {
        self.log.config().max_message_bytes as usize
    }

    fn append_elsewhere(&self, (leader_id, leader_epoch): (i32, i32)) -> AppendFailure {
        match self.log.dir().check() {
            Ok(()) => AppendFailure::NotLeader { leader_id, leader_epoch },
            Err(error) => AppendFailure::Log(error.into()),
        }
    }

    /// What the log says of an append that was for another leadership than the one of now.
    fn append_refused(&self, error: AppendError) -> AppendFailure {
        match error {
            AppendError::NotLeaderOrFollower { .. } => {
                let leader = self.leader();
                self.append_elsewhere((leader.id, leader.epoch))
            }
            error => AppendFailure::Log(error),
        }
    }

    /// Appends a producer's validated batch; `records` are the bytes that were validated.
    pub(crate) async fn append(
        self: &Arc<Self>,
        validated: &mut Validated,
        records: &mut [u8],
        now_ms: i64,
        appending: &mut Appending<'_>,
    ) -> Result<Appended, AppendFailure> {
        let epoch = self.led_epoch().map_err(|leader| self.append_elsewhere(leader))?;
        let context = AppendContext {
            log_append_time: validated.log_append_time.unwrap_or(-1),
            ..AppendContext::client(epoch, now_ms)
        };
        let Appending { results, wakes, patience } = appending;
        let waiter: Arc<dyn AppendWaiter> = Arc::clone(results) as _;
        let batch = validated.batch_mut(records);
        let mut backoff = FULL_BACKOFF;
        let info = loop {
            // One append of a connection is in the air at a time.
            match self.log.submit(batch, &context, &waiter, 0) {
                Submitted::Done(result) => break result,
                Submitted::Queued => {
                    wakes.wake();
                    let bytes = batch.len();
                    let waiting = Waiting { results, partition: self, bytes, is_over: false };
                    break waiting.result().await;
                }
                Submitted::Full => {
                    wakes.wake();
                    // Nothing was taken, so that a producer that is told so may send it again.
                    // Its request's memory must not be held for as long as the disk is stuck.
                    let Some(left) = patience.checked_sub(backoff) else {
                        return Err(AppendFailure::TimedOut);
                    };
                    *patience = left;
                    tokio::time::sleep(backoff).await;
                    backoff = (backoff * 2).min(FULL_BACKOFF_MAX);
                }
            }
        }
        .map_err(|error| self.append_refused(error))?;
        if !info.duplicate {
            self.log.advance_high_watermark(info.last_offset + 1);
            wakes.add(self, batch.len());
        }
        Ok(Appended {
            first_offset: info.first_offset,
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
        if let Some(failure) = not_led {
            return SubmittedOwn::Done(Err(failure));
        }
        let context = AppendContext::coordinator(leader_epoch, now_ms);
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
        self.committed(info.last_offset + 1, bytes);
        Ok(info.first_offset)
    }

    /// An append is through: with one replica that is when its records are committed.
    fn appended(&self, info: &AppendInfo, bytes: usize) {
        if !info.duplicate {
            self.committed(info.last_offset + 1, bytes);
        }
    }

    /// Records up to `end` are committed: with one replica, that is when they are written.
    fn committed(&self, end: i64, bytes: usize) {
        self.log.advance_high_watermark(end);
        self.wake_fetchers(bytes);
    }

    fn wake_fetchers(&self, bytes: usize) {
        self.fetchers.add(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Checks a reader's leader epoch against the partition's.
    pub(crate) fn check_epoch(&self, current: i32) -> Result<i32, ReadFailure> {
        let led =
            self.led_epoch().map_err(|(leader_id, leader_epoch)| match self.log.dir().check() {
                Ok(()) => ReadFailure::NotLeader { leader_id, leader_epoch },
                Err(error) => ReadFailure::Log(error.into()),
            })?;
        // Only -1 says nothing; what is below it is an epoch that has passed.
        if current != -1 && current < led {
            let leader_id = self.leader().id;
            return Err(ReadFailure::Fenced { leader_id, leader_epoch: led });
        }
        if current > led {
            return Err(ReadFailure::UnknownEpoch);
        }
        Ok(led)
    }

    /// Finds what a fetch may have. With [`Wait::Never`] the answer may be
    /// [`ReadError::WouldBlock`]: index or headers are not in memory.
    pub(crate) fn read(&self, request: &ReadRequest, wait: Wait) -> Result<Found, ReadFailure> {
        let led_epoch = self.check_epoch(request.current_leader_epoch)?;
        let isolation =
            if request.committed_only { Isolation::LastStable } else { Isolation::HighWatermark };
        // A reader that followed this epoch to the end cannot have gone astray.
        if (request.last_fetched_epoch < 0 || request.last_fetched_epoch == led_epoch)
            && let Some(offsets) = self.log.nothing_at(request.offset, isolation)
        {
            return Ok(Found {
                led_epoch,
                high_watermark: offsets.high_watermark,
                last_stable_offset: offsets.last_stable_offset,
                log_start_offset: offsets.log_start_offset,
                diverging: None,
                aborted: request.committed_only.then(Vec::new),
                piece: None,
            });
        }
        if let Some(diverging) = self.divergence(request)? {
            let offsets = self.log.offsets();
            return Ok(Found {
                led_epoch,
                high_watermark: offsets.high_watermark,
                last_stable_offset: offsets.last_stable_offset,
                log_start_offset: offsets.log_start_offset,
                diverging: Some(diverging),
                aborted: None,
                piece: None,
            });
        }
        let ask = thalweg_log::ReadRequest {
            offset: request.offset,
            max_bytes: u32::try_from(request.max_bytes).unwrap_or(u32::MAX),
            min_one: request.min_one,
            isolation,
            wait,
        };
        let result = self.log.read(&ask).map_err(ReadFailure::Log)?;
        let piece = result.file().filter(|_| result.len > 0).map(|file| Piece {
            file: Arc::clone(file),
            position: result.position,
            len: result.len,
        });
        let aborted = request.committed_only.then(|| {
            result.aborted.iter().map(|txn| (txn.producer_id, txn.first_offset)).collect()
        });
        Ok(Found {
            led_epoch,
            high_watermark: result.offsets.high_watermark,
            last_stable_offset: result.offsets.last_stable_offset,
            log_start_offset: result.offsets.log_start_offset,
            diverging: None,
            aborted,
            piece,
        })
    }

    /// Where the reader's log and this one part ways, if they do (KIP-595).
    fn divergence(&self, request: &ReadRequest) -> Result<Option<(i32, i64)>, ReadFailure> {
        if request.last_fetched_epoch < 0 {
            return Ok(None);
        }
        let out_of_range = || {
            ReadFailure::Log(ReadError::OffsetOutOfRange {
                topic: Arc::clone(&self.topic),
                partition: self.index,
                offset: request.offset,
                log_start_offset: self.log.log_start_offset(),
                log_end_offset: self.log.log_end_offset(),
            })
        };
        let (epoch, end) =
            self.log.end_offset_for_epoch(request.last_fetched_epoch).ok_or_else(out_of_range)?;
        if request.offset < self.log.log_start_offset() {
            return Err(out_of_range());
        }
        let diverges = epoch < request.last_fetched_epoch || end < request.offset;
        Ok(diverges.then_some((epoch, end)))
    }

    /// Whole batches from `offset` on, up to the log's end, on a thread that may wait. `None` while
    /// files cannot be opened for lack of descriptors or memory: nothing is wrong, and it may be asked
    /// again.
    pub(crate) fn read_whole(
        &self,
        offset: i64,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, String> {
        let request = thalweg_log::ReadRequest {
            offset,
            max_bytes: u32::try_from(max_bytes).unwrap_or(u32::MAX),
            min_one: true,
            isolation: Isolation::LogEnd,
            wait: Wait::Allowed,
        };
        // Whoever asks has to have them, and nobody asks again.
        let result = retry_exhausted(|| match self.log.read(&request) {
            Err(ReadError::Storage(failure)) => Err(failure),
            result => Ok(result),
        });
        let result = match result {
            Err(failure) if failure.is_retriable => return Ok(None),
            result => result.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?,
        };
        result.to_vec().map(Some).map_err(|e| e.to_string())
    }
}
