//! The log of one partition: its parts, and the order of its locks.
//!
//! Each part is a module with private state and its own invariants: `cleaning`, `cuts`, `flush_state`, `hints`, `home`,
//! `leader_epochs`, `published`, `queue`, `segments`, `snapshots`, `unflushed`. What a log does is in modules named after
//! it: `append`, `submit`, `answer`, `read`, `timestamps`, `roll`, `retention`, `cut`, `restart`, `flush`, `leadership`.
//!
//! Locks, in the order in which they are taken:
//! - `change`: a thread that takes segments or records away (retention, DeleteRecords, truncation, deletion, the close)
//!   holds it from beginning to end, also while it waits for the disk. Compaction holds it only while it
//!   replaces segments.
//! - the turn (`turn`): a thread that appends, rolls, truncates or closes has it. Appends that find it taken are queued. A
//!   roll, a truncation and the close wait for the disk with it; a flush does without.
//! - the role (`cuts`): held while the role changes, and while a follower cuts its log off.
//! - the epochs' file (`leader_epochs`): held while it is written.
//! - `writer`: where the log ends, its producers, its role. Held for an append (check, set offsets, one write, publish) and
//!   for a few instructions otherwise; never across fsync, rolls or directory work.
//! - the locks within parts, and the segments' index locks, are leaves: held for a few instructions.
//!
//! Readers take none of the first five: they go by the published end and the list of segments.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use thalweg_wire::Uuid;

use crate::format::checkpoint;
use crate::format::epochs::Epochs;
use crate::fs::names;
use crate::partition::cleaning::Cleaning;
use crate::partition::config::LogConfig;
use crate::partition::cuts::Cuts;
use crate::partition::dir::LogDir;
use crate::partition::error::{AppendError, ReadError, StorageError};
use crate::partition::flush_state::FlushState;
use crate::partition::hints::Hints;
use crate::partition::home::{Home, Homes};
use crate::partition::leader_epochs::LeaderEpochs;
use crate::partition::producers::{ProducerState, Updates};
use crate::partition::published::{DecidedListener, Published, Undecided};
use crate::partition::queue::Queue;
use crate::partition::role::Role;
use crate::partition::segment::{Segment, SegmentConfig};
use crate::partition::segments::{End, SegmentList, Segments};
use crate::partition::snapshots::Snapshots;
use crate::partition::unflushed::Unflushed;

/// How long a rise of the high watermark waits for the writer's lock. A write that takes longer is a disk that hangs.
const WRITER_WAIT_MAX: Duration = Duration::from_millis(1);

/// The offsets that matter of a log, taken together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogOffsets {
    /// The first offset that can be read.
    pub log_start_offset: i64,
    /// Consumers see what is before it.
    pub high_watermark: i64,
    /// Consumers of committed transactions see what is before it.
    pub last_stable_offset: i64,
    /// The offset the next record will get.
    pub log_end_offset: i64,
}

/// A transaction that is open in a partition. -1 stands for "none", as in Kafka.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenTransaction {
    /// Its producer's id.
    pub producer_id: i64,
    /// Its producer's epoch.
    pub producer_epoch: i16,
    /// Epoch of the coordinator that ended its producer's last transaction.
    pub coordinator_epoch: i32,
    /// Where it begins.
    pub first_offset: i64,
    /// Timestamp of its producer's last batch.
    pub last_timestamp: i64,
}

/// One producer as a log remembers it. -1 stands for "none", as in Kafka.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveProducer {
    /// Its id.
    pub producer_id: i64,
    /// Its newest epoch.
    pub producer_epoch: i16,
    /// Sequence of its last record.
    pub last_sequence: i32,
    /// Timestamp of its last batch.
    pub last_timestamp: i64,
    /// Epoch of the coordinator that ended its last transaction.
    pub coordinator_epoch: i32,
    /// Where its open transaction begins.
    pub txn_start_offset: i64,
}

/// What appends go by and change.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) active: Arc<Segment>,
    pub(crate) end_offset: i64,
    pub(crate) end_position: u32,
    pub(crate) producers: ProducerState,
    pub(crate) updates: Updates,
    /// The active segment is being closed. Until it is, its end does not count as flushed, otherwise its indexes would
    /// not be.
    pub(crate) rolling: bool,
    pub(crate) role: Role,
    /// Raised by every truncation.
    pub(crate) generation: u64,
    pub(crate) latest_epoch: i32,
}

impl Writer {
    #[inline]
    fn end(&self) -> End {
        End {
            offset: self.end_offset,
            segment: self.active.base_offset,
            position: self.end_position,
        }
    }
}

/// What a [`Log`] is made of when it has been loaded.
pub(crate) struct Loaded {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) topic_id: Option<Uuid>,
    pub(crate) home: Arc<Home>,
    pub(crate) config: Arc<LogConfig>,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) log_start_offset: i64,
    pub(crate) end_offset: i64,
    pub(crate) high_watermark: i64,
    pub(crate) recovery_point: i64,
    pub(crate) epochs: Epochs,
    pub(crate) producers: ProducerState,
    pub(crate) snapshots: Vec<i64>,
    /// Another process may have left files without a sync.
    pub(crate) unsynced: bool,
    /// The newest producer snapshot was not synced, as far as is known.
    pub(crate) snapshot_unsynced: bool,
    /// As the cleaner's checkpoint has it.
    pub(crate) cleaned_offset: Option<i64>,
    /// The directory whose copy this one replaces, as its marker says.
    pub(crate) replaces: Option<Uuid>,
    pub(crate) now_ms: i64,
}

/// One partition's log. See the module for its locks; every method may be called from any thread.
pub struct Log {
    me: Weak<Log>,
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    topic_id: OnceLock<Uuid>,
    pub(crate) homes: Homes,
    config: RwLock<Arc<LogConfig>>,
    change: Mutex<()>,
    pub(crate) cuts: Cuts,
    writer: Mutex<Writer>,
    pub(crate) queue: Queue,
    /// Appends whose answers wait for a flush.
    pub(crate) unflushed: Unflushed,
    pub(crate) segments: SegmentList,
    pub(crate) published: Published,
    pub(crate) flushed: FlushState,
    undecided: Undecided,
    closed: AtomicBool,
    pub(crate) epochs: LeaderEpochs,
    pub(crate) hints: Hints,
    pub(crate) cleaning: Cleaning,
    pub(crate) snapshots: Snapshots,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("topic", &self.topic)
            .field("partition", &self.partition)
            .field("offsets", &self.offsets())
            .finish()
    }
}

impl Log {
    pub(crate) fn new(mut loaded: Loaded) -> Option<Arc<Log>> {
        let high_watermark =
            loaded.high_watermark.min(loaded.end_offset).max(loaded.log_start_offset);
        loaded.producers.on_high_watermark(high_watermark);
        loaded.epochs.set_inherited(loaded.unsynced);
        // A clean stop does not sync a partition without records.
        let is_new = loaded.unsynced || loaded.end_offset <= loaded.log_start_offset;
        let active = loaded.segments.last()?.clone();
        active.pin_if_wanted();
        let end =
            End { offset: loaded.end_offset, segment: active.base_offset, position: active.size() };
        let latest_epoch = loaded.epochs.latest().map_or(-1, |(epoch, _)| epoch);
        let log_start = loaded.log_start_offset;
        let published = Published::new(log_start, high_watermark, &loaded.producers);
        let cleaning = Cleaning::found(loaded.cleaned_offset, log_start, loaded.end_offset);
        let topic_id = OnceLock::new();
        if let Some(id) = loaded.topic_id {
            let _ = topic_id.set(id);
        }
        let writer = Writer {
            end_offset: end.offset,
            end_position: end.position,
            active,
            producers: loaded.producers,
            updates: Updates::default(),
            rolling: false,
            role: Role::Unassigned,
            generation: 0,
            latest_epoch,
        };
        Some(Arc::new_cyclic(|me| Log {
            me: me.clone(),
            topic: loaded.topic,
            partition: loaded.partition,
            topic_id,
            homes: Homes::new(loaded.home, loaded.replaces),
            config: RwLock::new(loaded.config),
            change: Mutex::new(()),
            cuts: Cuts::default(),
            writer: Mutex::new(writer),
            queue: Queue::default(),
            unflushed: Unflushed::default(),
            segments: SegmentList::new(loaded.segments, end),
            published,
            flushed: FlushState::new(
                loaded.recovery_point.min(end.offset),
                loaded.now_ms,
                is_new && loaded.topic_id.is_some(),
            ),
            undecided: Undecided::default(),
            closed: AtomicBool::new(false),
            epochs: LeaderEpochs::new(loaded.epochs),
            hints: Hints::default(),
            cleaning,
            snapshots: Snapshots::found(loaded.snapshots, loaded.snapshot_unsynced),
        }))
    }

    /// The topic's name.
    pub fn topic(&self) -> &Arc<str> {
        &self.topic
    }

    /// The partition's number.
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// The topic's id, as in `partition.metadata`; `None` if the file is missing.
    pub fn topic_id(&self) -> Option<Uuid> {
        self.topic_id.get().copied()
    }

    /// Gives a log without `partition.metadata` its topic id. Says whether the log has this id now.
    ///
    /// The file is flushed with the partition's first flush: one sync for each of a
    /// thousand new partitions would take minutes. A power cut before that leaves a log without an
    /// id, which gets it again from the metadata by its topic's name.
    pub fn assign_topic_id(&self, id: Uuid) -> Result<bool, StorageError> {
        if let Some(known) = self.topic_id() {
            return Ok(known == id);
        }
        let dir = &self.home().dir;
        let path = self.path().join(names::PARTITION_METADATA);
        let content = checkpoint::format_partition_metadata(id);
        let written = dir.disk.replace_unsynced(&path, &content);
        dir.guard("write", &path, written)?;
        if self.recovery_point() > 0 {
            // It has flushed records and lost its id, to a power cut: there are few of these, and their
            // first flush is over.
            self.flush_metadata()?;
            let home = self.path();
            self.guard("flush", &home, dir.disk.sync_dir(&home))?;
        } else {
            self.flushed.set_metadata_unsynced(true);
        }
        // Once it is written: a log without an id gets it with the next image.
        Ok(self.topic_id.set(id).is_ok() || self.topic_id() == Some(id))
    }

    /// Where the partition is: what it refers to stays there for as long as the log. Whoever has neither the turn
    /// nor `change` may find that it has moved the next time.
    #[inline]
    pub(crate) fn home(&self) -> &Arc<Home> {
        self.homes.current()
    }

    /// The log directory the partition is in.
    pub fn dir(&self) -> &Arc<LogDir> {
        &self.home().dir
    }

    /// The partition's own directory.
    pub fn path(&self) -> Arc<Path> {
        self.home().path()
    }

    /// The topic's configs.
    pub fn config(&self) -> Arc<LogConfig> {
        self.config.read().clone()
    }

    pub(crate) fn config_ref(&self) -> RwLockReadGuard<'_, Arc<LogConfig>> {
        self.config.read()
    }

    /// The topic's configs, once they are known: the log was made, or opened, with the defaults,
    /// and so was its active segment. What changes later goes to [`Self::update_config`]: as in
    /// Kafka, the index of a segment keeps the interval that it was begun with.
    pub fn configure(&self, config: Arc<LogConfig>, now_ms: i64) {
        let of_segment = SegmentConfig::of(&config, now_ms);
        self.update_config(config);
        if let Some(active) = self.segments().last() {
            active.configure(&of_segment);
        }
    }

    /// New configs, from now on. A log that is not to be compacted any more is left alone at once.
    pub fn update_config(&self, config: Arc<LogConfig>) {
        let is_compacted = config.compact;
        let before = std::mem::replace(&mut *self.config.write(), config);
        if before.compact && !is_compacted {
            self.cleaning.abort();
        }
    }

    /// Log start, high watermark, last stable offset and log end.
    pub fn offsets(&self) -> LogOffsets {
        // The end is read last: what is read before it can only lag behind it.
        let log_start_offset = self.log_start_offset();
        let high_watermark = self.high_watermark();
        let last_stable_offset = high_watermark.min(self.published.first_unstable_offset());
        let log_end_offset = self.log_end_offset();
        LogOffsets { log_start_offset, high_watermark, last_stable_offset, log_end_offset }
    }

    /// The first offset that can be read.
    pub fn log_start_offset(&self) -> i64 {
        self.published.log_start_offset()
    }

    /// The offset the next record will get.
    pub fn log_end_offset(&self) -> i64 {
        self.segments.end_offset()
    }

    /// Consumers see what is before it.
    pub fn high_watermark(&self) -> i64 {
        self.published.high_watermark()
    }

    /// Consumers of committed transactions see what is before it.
    pub fn last_stable_offset(&self) -> i64 {
        self.high_watermark().min(self.published.first_unstable_offset())
    }

    /// Everything before it has been flushed to the disk.
    pub fn recovery_point(&self) -> i64 {
        self.flushed.recovery_point()
    }

    /// Bytes of all segments.
    pub fn size(&self) -> u64 {
        self.segments().iter().map(|segment| u64::from(segment.size())).sum()
    }

    /// How many segments there are.
    pub fn segment_count(&self) -> usize {
        self.segments.count()
    }

    /// Base offsets of the segments, ascending.
    pub fn segment_base_offsets(&self) -> Vec<i64> {
        self.segments().iter().map(|segment| segment.base_offset).collect()
    }

    /// Everything before it was compacted, if the log ever was: what `cleaner-offset-checkpoint` says.
    pub fn cleaned_offset(&self) -> Option<i64> {
        self.cleaning.cleaned_offset()
    }

    /// Whether compaction has given the log up: something in it cannot be read.
    pub fn is_uncleanable(&self) -> bool {
        self.cleaning.is_uncleanable()
    }

    /// Raises the high watermark; never past the log's end, never lowers it. Says whether it moved.
    pub fn advance_high_watermark(&self, offset: i64) -> bool {
        let offset = offset.min(self.log_end_offset());
        let before = self.published.raise_high_watermark(offset);
        if before >= offset {
            return false;
        }
        if self.published.has_transactions() {
            self.undecided.mark();
            // If a write to the disk hangs, the thread that has the lock does it later.
            self.decide(Some(WRITER_WAIT_MAX));
        }
        true
    }

    /// Sets the listener that is called when readers of committed records may have more.
    pub fn set_decided_listener(&self, listener: Weak<dyn DecidedListener>) {
        self.undecided.set_listener(listener);
    }

    /// Transactions that ended below the high watermark are decided, if it has risen and the writer's lock is to be had.
    fn decide(&self, wait: Option<Duration>) {
        while self.undecided.is_marked() {
            let writer = match wait {
                Some(wait) => self.writer.try_lock_for(wait),
                None => self.writer.try_lock(),
            };
            let Some(mut writer) = writer else { return };
            if self.undecided.take() {
                writer.producers.on_high_watermark(self.high_watermark());
                self.published.publish_transactions(&writer.producers);
            }
        }
    }

    /// The newest leader epoch, and where it began.
    pub fn latest_epoch(&self) -> Option<(i32, i64)> {
        self.epochs.latest()
    }

    /// All leader epochs that the log knows, with the offsets they begin at.
    pub fn leader_epochs(&self) -> Vec<(i32, i64)> {
        self.epochs.entries()
    }

    /// The oldest leader epoch that the log still has, and where it begins.
    pub fn earliest_epoch(&self) -> Option<(i32, i64)> {
        self.epochs.earliest()
    }

    /// The leader epoch that a record at `offset` was written in.
    pub fn epoch_of(&self, offset: i64) -> Option<i32> {
        self.epochs.epoch_of(offset)
    }

    /// The largest epoch not above `epoch` that the log knows, and the offset after its last
    /// record; `None` where Kafka answers -1 and -1.
    pub fn end_offset_for_epoch(&self, epoch: i32) -> Option<(i32, i64)> {
        let (found, offset) = self.epochs.end_offset_for(epoch, self.log_end_offset());
        (offset >= 0).then_some((found, offset))
    }

    pub(crate) fn note_epoch(&self, writer: &mut Writer, epoch: i32, offset: i64) {
        if epoch >= 0 && epoch != writer.latest_epoch {
            writer.latest_epoch = self.epochs.assign(epoch, offset);
        }
    }

    /// The oldest transaction that nobody has ended. `None` also while a write to a disk hangs.
    pub fn open_transaction(&self) -> Option<OpenTransaction> {
        let writer = self.writer.try_lock_for(WRITER_WAIT_MAX)?;
        let writer = WriterGuard { writer, _decide: DecideOnRelease(self) };
        let (first_offset, producer_id, producer) = writer.producers.oldest_open()?;
        Some(OpenTransaction {
            producer_id,
            producer_epoch: producer.epoch,
            coordinator_epoch: producer.coordinator_epoch,
            first_offset,
            last_timestamp: producer.last_timestamp,
        })
    }

    /// Timestamp of the last batch of the producer whose open transaction began first, -1 while none is open; without a
    /// lock.
    pub fn open_transaction_timestamp(&self) -> i64 {
        self.published.open_txn_timestamp()
    }

    /// How many producers the log remembers; without a lock.
    pub fn producer_count(&self) -> usize {
        self.published.producer_count()
    }

    /// The producers that the log remembers, as DescribeProducers tells them.
    pub fn active_producers(&self) -> Vec<ActiveProducer> {
        let writer = self.writer();
        writer
            .producers
            .iter()
            .map(|(&producer_id, producer)| ActiveProducer {
                producer_id,
                producer_epoch: producer.epoch,
                last_sequence: producer.last_sequence(),
                last_timestamp: producer.last_timestamp,
                coordinator_epoch: producer.coordinator_epoch,
                txn_start_offset: producer.txn_first_offset,
            })
            .collect()
    }

    /// Forgets producers that were silent for `producer.id.expiration.ms`, and verifications that began before that.
    pub fn expire_producers(&self, now_ms: i64) -> usize {
        let expiration = self.home().dir.producer_expiration_ms();
        let mut writer = self.writer();
        let expired = writer.producers.expire(now_ms, expiration);
        self.published.publish_producers(&writer.producers);
        expired
    }

    // -- inner ------------------------------------------------------------------------------

    /// The log itself, to be handed to another thread; none while it is being dropped.
    pub(crate) fn to_arc(&self) -> Option<Arc<Log>> {
        self.me.upgrade()
    }

    /// Has the manager's executor work on the log, if there is one.
    pub(crate) fn run_on_executor(&self, work: impl FnOnce(&Log) + Send + 'static) {
        if let (Some(executor), Some(log)) = (&self.home().dir.executor, self.to_arc()) {
            executor.run(Box::new(move || work(&log)));
        }
    }

    /// Where the log ends, its producers, its role. Not across anything that waits for the disk.
    pub(crate) fn writer(&self) -> WriterGuard<'_> {
        WriterGuard { writer: self.writer.lock(), _decide: DecideOnRelease(self) }
    }

    /// The same, if that takes no longer than `limit`.
    pub(crate) fn try_writer_for(&self, limit: Duration) -> Option<WriterGuard<'_>> {
        let writer = self.writer.try_lock_for(limit)?;
        Some(WriterGuard { writer, _decide: DecideOnRelease(self) })
    }

    /// The same, if nobody has it.
    pub(crate) fn try_writer(&self) -> Option<WriterGuard<'_>> {
        Some(WriterGuard { writer: self.writer.try_lock()?, _decide: DecideOnRelease(self) })
    }

    /// The right to take segments or records away.
    pub(crate) fn lock_change(&self) -> MutexGuard<'_, ()> {
        self.change.lock()
    }

    pub(crate) fn segments(&self) -> Segments {
        self.segments.all()
    }

    /// The segments, and where the log ends, of the same directory.
    pub(crate) fn segments_and_end(&self) -> (Segments, End) {
        self.segments.with_end()
    }

    /// The log is where `other` is from here on, and has its segments: the same batches. Readers see all of it or
    /// nothing. For who has the turn, of both.
    pub(crate) fn move_to(&self, writer: &mut Writer, other: &Log, others: &Writer) {
        writer.active = others.active.clone();
        writer.end_position = others.end_position;
        writer.generation = writer.generation.wrapping_add(1);
        let end = writer.end();
        self.segments.move_to(other.segments(), end, || self.homes.move_to(other.home()));
    }

    pub(crate) fn end(&self) -> End {
        self.segments.end()
    }

    /// Makes the writer's end the one that readers see.
    pub(crate) fn publish_end(&self, writer: &Writer) {
        writer.active.set_size(writer.end_position);
        self.segments.publish_end(writer.end());
    }

    /// An I/O result becomes a storage result. An error takes the directory offline, unless it
    /// only says that the log was deleted or moved meanwhile, or is retriable.
    pub(crate) fn guard<T>(
        &self,
        action: &str,
        path: &Path,
        result: std::io::Result<T>,
    ) -> Result<T, StorageError> {
        result.map_err(|error| {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            if is_missing && (self.is_closed() || !path.starts_with(self.path())) {
                let reason = StorageError::reason_of(action, path, &error);
                let dir = self.home().dir.path().to_path_buf();
                return StorageError { dir, reason, is_retriable: false };
            }
            self.home().dir.failure_of(action, path, &error)
        })
    }

    pub(crate) fn set_closed(&self, is_closed: bool) {
        self.closed.store(is_closed, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn closed_error(&self) -> AppendError {
        AppendError::Closed { topic: self.topic.clone(), partition: self.partition }
    }

    /// An error if the log's directory is offline, or the log is closed.
    #[inline]
    pub(crate) fn check_readable(&self) -> Result<(), ReadError> {
        self.home().dir.check()?;
        if self.is_closed() { Err(self.read_closed()) } else { Ok(()) }
    }

    pub(crate) fn read_closed(&self) -> ReadError {
        ReadError::Closed { topic: self.topic.clone(), partition: self.partition }
    }
}

/// The writer's lock.
pub(crate) struct WriterGuard<'a> {
    writer: MutexGuard<'a, Writer>,
    /// Goes after the lock.
    _decide: DecideOnRelease<'a>,
}

impl Deref for WriterGuard<'_> {
    type Target = Writer;
    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for WriterGuard<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

/// Decides transactions once the writer's lock was given back, because a rise of the high watermark did not
/// wait for the lock.
struct DecideOnRelease<'a>(&'a Log);

impl Drop for DecideOnRelease<'_> {
    fn drop(&mut self) {
        let log = self.0;
        if log.undecided.is_marked() {
            log.decide(None);
            log.undecided.notify();
        }
    }
}
