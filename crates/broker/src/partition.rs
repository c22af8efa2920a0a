//! A partition this broker has: its log, its leadership, and who waits for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::{
    AppendContext, AppendError, AppendInfo, AppendWaiter, Isolation, Log, OpenFile, ReadError,
    Submitted, Wait,
};
use thalweg_records::validate::Validated;
use thalweg_wire::ErrorCode;
use tokio::sync::Notify;

use crate::wait::WakeList;

/// How long an append that found no room waits before it asks again.
const FULL_BACKOFF: Duration = Duration::from_millis(2);

/// Does work that may wait for a disk, from a worker thread; others are moved off it meanwhile.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}

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

/// Results of appends that had to wait, for one connection.
#[derive(Debug, Default)]
pub(crate) struct AppendResults {
    results: Mutex<Vec<(u64, Result<AppendInfo, AppendError>)>>,
    arrived: Notify,
}

impl AppendWaiter for AppendResults {
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>) {
        self.results.lock().push((token, result));
        self.arrived.notify_one();
    }
}

impl AppendResults {
    async fn wait(&self, token: u64) -> Result<AppendInfo, AppendError> {
        loop {
            {
                let mut results = self.results.lock();
                if let Some(at) = results.iter().position(|(t, _)| *t == token) {
                    return results.swap_remove(at).1;
                }
            }
            self.arrived.notified().await;
        }
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
        if leader.is_local && (leader.epoch != before.epoch || !before.is_local) {
            self.log.assign_epoch(leader.epoch);
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

    /// Appends a producer's validated batch; `records` are the bytes that were validated.
    pub(crate) async fn append(
        &self,
        validated: &mut Validated,
        records: &mut [u8],
        now_ms: i64,
        results: &Arc<AppendResults>,
    ) -> Result<Appended, AppendFailure> {
        let epoch = self.led_epoch().map_err(|leader| self.append_elsewhere(leader))?;
        let context = AppendContext {
            log_append_time: validated.log_append_time.unwrap_or(-1),
            ..AppendContext::client(epoch, now_ms)
        };
        let waiter: Arc<dyn AppendWaiter> = results.clone();
        let batch = validated.batch_mut(records);
        let info = loop {
            // One append of a connection is in the air at a time.
            match self.log.submit(batch, &context, &waiter, 0) {
                Submitted::Done(result) => break result,
                Submitted::Queued => break results.wait(0).await,
                Submitted::Full => tokio::time::sleep(FULL_BACKOFF).await,
            }
        }
        .map_err(AppendFailure::Log)?;
        if !info.duplicate {
            self.committed(info.last_offset + 1, batch.len());
        }
        Ok(Appended {
            first_offset: info.first_offset,
            log_start_offset: info.log_start_offset,
            log_append_time_ms: info.log_append_time,
            duplicate: info.duplicate,
        })
    }

    /// Appends a batch of this broker's own, on a thread that may wait; gives its first offset.
    pub(crate) fn append_own(
        &self,
        batch: &mut [u8],
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<i64, AppendFailure> {
        match self.led_epoch() {
            Ok(epoch) if epoch == leader_epoch => {}
            Ok(epoch) => {
                let leader_id = self.leader().id;
                return Err(AppendFailure::NotLeader { leader_id, leader_epoch: epoch });
            }
            Err(leader) => return Err(self.append_elsewhere(leader)),
        }
        let context = AppendContext::coordinator(leader_epoch, now_ms);
        let info = self.log.append_as_leader(batch, &context).map_err(AppendFailure::Log)?;
        self.committed(info.last_offset + 1, batch.len());
        Ok(info.first_offset)
    }

    /// Records up to `end` are committed: with one replica, that is when they are written.
    fn committed(&self, end: i64, bytes: usize) {
        self.log.advance_high_watermark(end);
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

    /// Finds what a fetch may have, without waiting for a disk if that can be avoided.
    pub(crate) fn read(&self, request: &ReadRequest) -> Result<Found, ReadFailure> {
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
        let mut ask = thalweg_log::ReadRequest {
            offset: request.offset,
            max_bytes: u32::try_from(request.max_bytes).unwrap_or(u32::MAX),
            min_one: request.min_one,
            isolation,
            wait: Wait::Never,
        };
        let result = match self.log.read(&ask) {
            Err(ReadError::WouldBlock) => {
                // Index and headers that are not in memory: a few kilobytes, read here and now on
                // a thread that others do not wait for.
                ask.wait = Wait::Allowed;
                blocking(|| self.log.read(&ask))
            }
            other => other,
        }
        .map_err(ReadFailure::Log)?;
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

    /// Whole batches from `offset` on, up to the log's end, on a thread that may wait.
    pub(crate) fn read_whole(&self, offset: i64, max_bytes: usize) -> Result<Vec<u8>, String> {
        let request = thalweg_log::ReadRequest {
            offset,
            max_bytes: u32::try_from(max_bytes).unwrap_or(u32::MAX),
            min_one: true,
            isolation: Isolation::LogEnd,
            wait: Wait::Allowed,
        };
        let result = self.log.read(&request).map_err(|e| e.to_string())?;
        result.to_vec().map_err(|e| e.to_string())
    }
}
