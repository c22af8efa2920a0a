//! A partition this broker has: its log, its leadership, and the requests that wait for it. `append` writes to it,
//! `verify` is asked before that, `read` reads it, `piece` has the bytes that are found, `delayed_produce` the requests
//! that wait until records are committed, `registered` the fetches that wait for records.
//!
//! `thalweg_replication` decides about the ISR and how far records are committed. Where this broker has the only
//! replica, which is asked without a lock, a record is committed when it is written.
//!
//! Destructors that do work for requests, also for one that ends with its connection:
//!
//! | Type | What its destructor does |
//! |---|---|
//! | `append::Wakes` | wakes the readers of what the request has appended |
//! | `append::QueuedAppendGuard` | leaves an append that is still queued to its `AppendResultSlot`, which raises the high watermark and wakes readers |
//! | `delayed_produce::WaitingRequest` | takes a Produce out of the lists of its partitions |
//! | `registered::Registered` | takes a Fetch out of the wake lists of its partitions |
//! | `DecideOnRelease` (`thalweg_log`) | decides transactions up to a high watermark that rose while the log's lock was held |
//! | `ConnectionMembers` (`api`) | reports the end of a connection to the coordinators of its members |

mod append;
mod delayed_produce;
mod piece;
mod read;
mod registered;
#[cfg(test)]
pub(crate) mod testing;
mod verify;

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use thalweg_log::{DecidedListener, Log, Role};
use thalweg_metadata::image::{MetadataImage, Partition as Assignment};
use thalweg_replication::{
    Acknowledged, AlterPartition, Altered, Applied, Context, Fetched, Offsets, Outcome, Replica,
    Settings,
};
use thalweg_wire::ErrorCode;
use tokio::sync::Notify;

pub(crate) use append::{
    AppendFailure, AppendLater, AppendNow, AppendResultSlot, Appended, Appending, OwnAppend,
    SubmittedOwn, Wakes,
};
pub(crate) use delayed_produce::{DelayedProduce, Uncommitted};
pub(crate) use piece::Piece;
pub(crate) use read::{ReadFailure, ReadRequest, ReplicaFetch};
pub(crate) use registered::Registered;
pub(crate) use verify::Transactional;

use crate::replicas::shared::Shared;
use crate::replicas::topic_settings::TopicSettings;
use crate::replicas::wait::WakeList;
use delayed_produce::DelayedProduceList;

/// How long after this broker has led producers may still send here, because they do not know the next leader yet.
const WAS_LEADER_MS: u64 = 1_000;

/// Receives rises of the high watermark that do not come with an append here: a coordinator, whose answers wait for that.
pub(crate) trait HighWatermarkListener: Send + Sync {
    /// The high watermark has risen.
    fn high_watermark_raised(&self);
}

/// What became of a change of role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum RoleChange {
    /// It is done, or there was none.
    Done,
    /// It waits for a log that hangs, as the first one: a thread that may wait has to do it.
    BeginsToWait,
    /// It waits with one before.
    Waits,
}

/// A partition with a replica on this broker.
pub(crate) struct Partition {
    pub(crate) topic: Arc<str>,
    pub(crate) index: i32,
    pub(crate) log: Arc<Log>,
    /// Fetches that wait for data.
    pub(crate) delayed_fetches: WakeList,
    /// Made by the first request that waits for other replicas; most partitions have none.
    waiting: OnceLock<Box<PartitionWaiters>>,
    /// What this broker is to the partition.
    replica: Mutex<Replica>,
    /// Epoch while this broker leads, -1 while it does not: read on every request.
    led_epoch: AtomicI32,
    /// This broker leads, and there is no other replica: read on every append.
    is_alone: AtomicBool,
    /// Epoch since which this broker leads without a break: what it has appended since is still there.
    led_since: AtomicI32,
    /// This broker follows and is in the ISR: it may be elected.
    is_in_sync_follower: AtomicBool,
    /// When this broker led last, on the monotonic clock; 0 if it never did.
    led_until_ms: AtomicU64,
    /// A change of role waits for a write that hangs: until then the partition neither leads nor follows.
    role_waits: AtomicBool,
    /// Deleted, or moved to other brokers: a request that found it before is not served by it any more.
    is_gone: AtomicBool,
    shared: Arc<Shared>,
    settings: Arc<ArcSwap<TopicSettings>>,
}

/// Requests that wait until records are committed, or until other replicas can have them.
#[derive(Default)]
struct PartitionWaiters {
    delayed: DelayedProduceList,
    /// Fetches of other replicas, which wait for what is appended.
    replicas: WakeList,
    /// A replica's fetch had the start of its log.
    starts_told: Notify,
    listener: Mutex<Option<Weak<dyn HighWatermarkListener>>>,
}

impl std::fmt::Debug for Partition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partition")
            .field("topic", &self.topic)
            .field("index", &self.index)
            .field("led_epoch", &self.led_epoch)
            .finish_non_exhaustive()
    }
}

/// Which replicas a partition that is led here is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingReplicas {
    /// A replica is not in sync.
    pub(crate) replicas: bool,
    /// Fewer are in sync than `min.insync.replicas` asks for.
    pub(crate) min_isr: bool,
}

/// The leader of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    /// -1 if there is none.
    pub(crate) id: i32,
    pub(crate) epoch: i32,
    /// Whether this broker leads.
    pub(crate) is_local: bool,
}

impl Partition {
    pub(crate) fn new(
        topic: Arc<str>,
        index: i32,
        log: Arc<Log>,
        shared: Arc<Shared>,
        settings: Arc<ArcSwap<TopicSettings>>,
    ) -> Partition {
        Partition {
            topic,
            index,
            log,
            delayed_fetches: WakeList::default(),
            waiting: OnceLock::new(),
            replica: Mutex::new(Replica::new(shared.node.id())),
            led_epoch: AtomicI32::new(-1),
            is_alone: AtomicBool::new(false),
            led_since: AtomicI32::new(-1),
            is_in_sync_follower: AtomicBool::new(false),
            led_until_ms: AtomicU64::new(0),
            role_waits: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            shared,
            settings,
        }
    }

    /// The leader that the metadata names. Requests go by [`Self::serving_leader`].
    pub(crate) fn leader(&self) -> Leader {
        let replica = self.replica.lock();
        Leader {
            id: replica.leader(),
            epoch: replica.leader_epoch(),
            is_local: replica.is_leader(),
        }
    }

    /// Offsets, settings and brokers as they are now, for the replica's state machine.
    fn with_context<T>(&self, image: &MetadataImage, act: impl FnOnce(&Context<'_>) -> T) -> T {
        let offsets = self.log.offsets();
        let own = image.cluster.brokers.get(&self.shared.node.id());
        act(&Context {
            ms: self.shared.node.clock().monotonic_ms(),
            log: Offsets {
                log_start: offsets.log_start_offset,
                high_watermark: offsets.high_watermark,
                log_end: offsets.log_end_offset,
            },
            settings: self.replication_settings(),
            broker_epoch: own.map_or(-1, |broker| broker.epoch),
            brokers: image,
        })
    }

    fn replication_settings(&self) -> Settings {
        let min = self.settings.load().scalars.min_insync_replicas;
        Settings {
            lag_time_max_ms: self.shared.lag_time_max_ms,
            min_insync_replicas: usize::try_from(min).unwrap_or(1).max(1),
        }
    }

    /// The role that a change of the metadata brings, if it is another one.
    fn next_role(&self, assignment: &Assignment) -> Option<Role> {
        let before = self.leader();
        let epoch = assignment.leader_epoch;
        let is_waiting = self.role_waits();
        if assignment.leader == self.shared.node.id() {
            let is_new = epoch > before.epoch || epoch == before.epoch && !before.is_local;
            return (is_new || is_waiting).then_some(Role::Leader { epoch });
        }
        // Otherwise metadata of the same epoch would wait for a write that hangs.
        let is_new = epoch > before.epoch || before.is_local;
        (is_new || is_waiting).then_some(Role::Follower { epoch })
    }

    /// A change of role waits, because a write of the log hangs. Says whether none waited before.
    fn wait_for_role(&self) -> bool {
        self.is_in_sync_follower.store(false, Ordering::Release);
        self.leads_no_more();
        self.wake_all();
        !self.role_waits.swap(true, Ordering::AcqRel)
    }

    /// Whether a change of role waits: then the partition neither leads nor follows.
    pub(crate) fn role_waits(&self) -> bool {
        self.role_waits.load(Ordering::Acquire)
    }

    /// The leader while this broker does not lead: the image's while a change of role waits.
    fn leader_elsewhere(&self) -> Leader {
        let in_image = || {
            let image = self.shared.node.load_image();
            let partition = image.topics.partition(self.log.topic_id()?, self.index)?;
            Some(Leader { id: partition.leader, epoch: partition.leader_epoch, is_local: false })
        };
        let leader = Leader { is_local: false, ..self.leader() };
        let waiting = if self.role_waits() { in_image() } else { None };
        waiting.unwrap_or(leader)
    }

    /// What the metadata says of the partition: who leads, who is in sync. One caller at a time. Does not wait for a log
    /// that hangs: then nothing is applied, and the partition neither leads nor follows.
    pub(crate) fn apply(&self, assignment: &Assignment, image: &MetadataImage) -> RoleChange {
        // A change that is older than what is known changes no role.
        let is_stale = self.replica.lock().is_stale(assignment);
        // First, so that nothing is appended in an older epoch behind where the new one begins.
        if !is_stale
            && let Some(role) = self.next_role(assignment)
            && !self.log.try_set_role(role)
        {
            return match self.wait_for_role() {
                true => RoleChange::BeginsToWait,
                false => RoleChange::Waits,
            };
        }
        if !is_stale {
            self.role_waits.store(false, Ordering::Release);
        }
        self.apply_now(assignment, image);
        RoleChange::Done
    }

    fn apply_now(&self, assignment: &Assignment, image: &MetadataImage) {
        let before = self.leader();
        let (applied, is_alone) = {
            let mut replica = self.replica.lock();
            let applied = self.with_context(image, |now| replica.apply(assignment, now));
            (applied, replica.is_alone())
        };
        match applied {
            Applied::Stale => return,
            Applied::Follows { .. } => {
                if before.is_local {
                    self.led_until_ms
                        .store(self.shared.node.clock().monotonic_ms().max(1), Ordering::Release);
                }
                let is_in_sync = assignment.isr.contains(&self.shared.node.id());
                self.is_in_sync_follower.store(is_in_sync, Ordering::Release);
                self.leads_no_more();
            }
            Applied::Leads { is_new_leader, high_watermark, .. } => {
                if is_new_leader {
                    self.led_since.store(assignment.leader_epoch, Ordering::Release);
                    // Of a leadership before, if another one may have been in between.
                    self.answer_delayed(ErrorCode::NOT_LEADER_OR_FOLLOWER);
                }
                if !is_alone {
                    self.is_alone.store(false, Ordering::Release);
                }
                self.led_epoch.store(assignment.leader_epoch, Ordering::Release);
                self.is_in_sync_follower.store(false, Ordering::Release);
                if high_watermark.is_some_and(|to| self.raise(to)) {
                    self.tell_listener();
                }
                // Last: until then appends use the replicas' high watermark, and answer the requests that wait for it.
                self.is_alone.store(is_alone, Ordering::Release);
            }
        }
        // Pairs with `go_offline`: the directory failed before this looked, or after the store.
        if self.log.dir().check().is_err() {
            self.go_offline();
            self.answer_waiting(ErrorCode::KAFKA_STORAGE_ERROR);
        }
        if before != self.leader() {
            self.wake_all();
        }
    }

    /// Fetches of replicas that wait for records of this partition.
    pub(crate) fn delayed_replica_fetches(&self) -> &WakeList {
        &self.waiting.get_or_init(Box::default).replicas
    }

    /// All fetches that wait have to look again.
    fn wake_all(&self) {
        self.delayed_fetches.wake_all();
        if let Some(waiting) = self.waiting() {
            waiting.replicas.wake_all();
        }
    }

    /// Consumers that wait have to look how long they wait.
    pub(crate) fn wake_consumers(&self) {
        self.delayed_fetches.wake_all();
    }

    /// The partition is deleted, or moves to other brokers, of which one leads in an epoch: requests that wait are
    /// answered.
    pub(crate) fn resign(&self, led_elsewhere: Option<(i32, i32)>) {
        let epoch = {
            let mut replica = self.replica.lock();
            replica.resign(led_elsewhere);
            replica.leader_epoch()
        };
        self.is_in_sync_follower.store(false, Ordering::Release);
        // Before fetches are woken: the topics still name this partition, and a consumer that may read from any replica
        // would wait again.
        self.is_gone.store(true, Ordering::Release);
        // Where a write hangs, the log takes no append from here on all the same.
        self.log.try_set_role(Role::Follower { epoch });
        self.leads_no_more();
        self.wake_all();
    }

    /// Whether the partition is deleted, or has moved to other brokers.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    fn leads_no_more(&self) {
        self.led_epoch.store(-1, Ordering::Release);
        self.is_alone.store(false, Ordering::Release);
        self.answer_delayed(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    }

    /// The requests that wait, if one ever waited. Callers change the state first.
    fn waiting(&self) -> Option<&PartitionWaiters> {
        // Pairs with the fence in `wait_committed`: a request sees the state there, or is seen here.
        std::sync::atomic::fence(Ordering::SeqCst);
        self.waiting.get().map(|waiting| &**waiting)
    }

    fn answer_delayed(&self, code: ErrorCode) {
        if let Some(waiting) = self.waiting() {
            waiting.delayed.lost(code);
        }
    }

    /// Whether what replicas fetch of this leader counts against its throttle.
    pub(crate) fn is_leader_throttled(&self) -> bool {
        self.settings.load().leader_throttled.contains(self.index, self.shared.node.id())
    }

    /// The same of what this follower fetches.
    pub(crate) fn is_follower_throttled(&self) -> bool {
        self.settings.load().follower_throttled.contains(self.index, self.shared.node.id())
    }

    /// Whether a replica gets nothing for now. One that is in sync is not held up, or it would not stay so.
    fn holds_up(&self, replica: i32) -> bool {
        self.is_leader_throttled()
            && self.shared.throttles.leader.is_exceeded(self.shared.node.clock().monotonic_ms())
            && !self.replica.lock().isr().contains(&replica)
    }

    /// Whether this broker leads and has the only replica: what is written is committed.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone.load(Ordering::Acquire)
    }

    /// Whether acks=all may append now.
    pub(crate) fn check_in_sync(&self) -> Result<(), ErrorCode> {
        if self.is_alone() {
            return Ok(());
        }
        self.replica.lock().check_append(self.replication_settings())
    }

    /// Whether what earlier leaders committed may lie beyond the high watermark that is known here: until this
    /// leader's epoch is begun, an offset behind all that is committed would go back (KIP-207).
    pub(crate) fn is_high_watermark_behind(&self) -> bool {
        !self.is_alone()
            && self.replica.lock().epoch_start().is_some_and(|at| at > self.log.high_watermark())
    }

    /// Whether a replica of that id may fetch.
    fn check_replica(&self, id: i32, epoch: Option<i32>) -> Result<(), ErrorCode> {
        self.replica.lock().check_fetch(id, epoch)
    }

    /// A replica has fetched.
    fn fetched(&self, fetched: &Fetched) -> Result<(), ErrorCode> {
        let image = self.shared.node.load_image();
        let outcome = {
            let mut replica = self.replica.lock();
            self.with_context(&image, |now| replica.fetched(fetched, now))
        };
        self.carry_out(outcome?);
        if let Some(waiting) = self.waiting() {
            waiting.starts_told.notify_waiters();
        }
        Ok(())
    }

    /// The lowest start of all replicas' logs whose brokers live; `None` if this broker does not lead.
    fn low_watermark(&self) -> Option<i64> {
        let image = self.shared.node.load_image();
        let replica = self.replica.lock();
        self.with_context(&image, |now| replica.low_watermark(now))
    }

    /// Waits until all replicas whose brokers live begin at `offset` or behind it (Kafka's DelayedDeleteRecords); gives
    /// the lowest start of them.
    ///
    /// # Errors
    /// REQUEST_TIMED_OUT, or what says that this broker does not lead.
    pub(crate) async fn wait_deleted(
        &self,
        offset: i64,
        deadline: tokio::time::Instant,
    ) -> Result<i64, ErrorCode> {
        loop {
            let told = self.waiting.get_or_init(Box::default).starts_told.notified();
            match self.low_watermark() {
                None => return Err(self.not_led_code()),
                Some(lowest) if lowest >= offset => return Ok(lowest),
                Some(_) => {}
            }
            // The fencing of a broker, whose replica is not waited for any more, does not notify.
            let look_again = tokio::time::Instant::now() + Duration::from_millis(500);
            let _ = tokio::time::timeout_at(deadline.min(look_again), told).await;
            if tokio::time::Instant::now() >= deadline {
                return Err(ErrorCode::REQUEST_TIMED_OUT);
            }
        }
    }

    /// By the clock: a replica that lags for too long leaves the ISR, and one outside of it stops holding the high
    /// watermark back.
    pub(crate) fn check_lag(&self) {
        if self.is_alone() || self.led_epoch().is_err() {
            return;
        }
        let image = self.shared.node.load_image();
        let outcome = {
            let mut replica = self.replica.lock();
            self.with_context(&image, |now| {
                let outcome = replica.check_lag(now);
                Outcome { high_watermark: replica.advance(now), ..outcome }
            })
        };
        self.carry_out(outcome);
    }

    /// The controller has answered this partition's AlterPartition. It is sent again if it has to be.
    pub(crate) fn altered(&self, sent: &AlterPartition, answer: Result<Altered, ErrorCode>) {
        let image = self.shared.node.load_image();
        let outcome = {
            let mut replica = self.replica.lock();
            self.with_context(&image, |now| replica.altered(sent, answer, now))
        };
        self.carry_out(outcome);
        // Requests that wait below min.insync.replicas may be over.
        self.tell_committed();
    }

    fn carry_out(&self, outcome: Outcome) {
        if outcome.high_watermark.is_some_and(|to| self.raise(to)) {
            self.tell_listener();
        }
        if let (Some(alter), Some(topic_id)) = (outcome.alter, self.log.topic_id()) {
            tracing::info!(topic = %self.topic, partition = self.index, change = ?alter.change,
                isr = ?alter.isr, "asking the controller for another ISR");
            self.shared.isr_changes.ask(topic_id, self.index, alter);
        }
    }

    /// Where this broker leads: whether a replica is not in sync, and whether too few are.
    pub(crate) fn missing_replicas(&self) -> MissingReplicas {
        if self.is_alone() {
            return MissingReplicas::default();
        }
        let replica = self.replica.lock();
        MissingReplicas {
            replicas: replica.is_under_replicated(),
            min_isr: replica.is_under_min_isr(self.replication_settings()),
        }
    }

    /// The leader that this broker's replica follows; `None` where this broker leads, or no broker does.
    pub(crate) fn followed(&self) -> Option<Leader> {
        let leader = self.leader();
        let follows = !leader.is_local && leader.id >= 0 && !self.role_waits();
        (follows && leader.id != self.shared.node.id()).then_some(leader)
    }

    /// Looks how far records are committed, of a partition with other replicas: after an append. The listener is not
    /// called, because it is the coordinator that appends, and it holds its lock.
    fn advance(&self) {
        let image = self.shared.node.load_image();
        let risen = {
            let replica = self.replica.lock();
            self.with_context(&image, |now| replica.advance(now))
        };
        if let Some(high_watermark) = risen {
            self.raise(high_watermark);
        }
    }

    /// A follower's high watermark follows the leader's: consumers that read here may have more.
    pub(crate) fn follow_high_watermark(&self, high_watermark: i64) {
        if self.log.advance_high_watermark(high_watermark) {
            self.delayed_fetches.add(i64::MAX);
        }
    }

    /// Records up to `high_watermark` are committed, which had to wait for other replicas.
    fn raise(&self, high_watermark: i64) -> bool {
        if !self.log.advance_high_watermark(high_watermark) {
            return false;
        }
        self.tell_committed();
        // How many bytes these are is not known here: a fetch that wants more looks, and waits on.
        self.delayed_fetches.add(i64::MAX);
        true
    }

    /// Answers the appends that are committed.
    fn tell_committed(&self) {
        let Some(waiting) = self.waiting() else { return };
        let image = self.shared.node.load_image();
        let (high_watermark, acknowledged) = {
            let replica = self.replica.lock();
            self.with_context(&image, |now| {
                let high_watermark = now.log.high_watermark;
                (high_watermark, replica.acknowledged(high_watermark, now))
            })
        };
        let result = match acknowledged {
            Acknowledged::NotYet => return,
            Acknowledged::Committed => ErrorCode::NONE,
            Acknowledged::TooFew => ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            Acknowledged::NotLeader => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        };
        let led_since = self.led_since.load(Ordering::Acquire);
        waiting.delayed.committed(high_watermark, led_since, result);
    }

    /// A request waits until what was appended in `epoch` before `required` is committed.
    pub(crate) fn wait_committed(
        &self,
        epoch: i32,
        required: i64,
        delayed: &Arc<DelayedProduce>,
        number: usize,
    ) {
        let waiting = self.waiting.get_or_init(Box::default);
        waiting.delayed.register(epoch, required, delayed, number);
        // A change between the append and the registration has not reached this request.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.led_epoch().is_ok() && epoch >= self.led_since.load(Ordering::Acquire) {
            // It looks through all requests that wait, so not for every append that begins to wait.
            if self.log.high_watermark() >= required {
                self.tell_committed();
            }
        } else {
            delayed.set(number, self.not_led_code());
            // The thread that ended the leadership answers its other appends.
            waiting.delayed.leave_one(delayed, number);
        }
    }

    /// All that wait are answered now: the broker stops, or the partition's directory failed. Takes no lock
    /// but those of the lists.
    pub(crate) fn answer_waiting(&self, code: ErrorCode) {
        self.answer_delayed(code);
        self.wake_all();
    }

    /// A request waits no more.
    pub(crate) fn leave_delayed(&self, delayed: &Arc<DelayedProduce>) {
        if let Some(waiting) = self.waiting() {
            waiting.delayed.leave(delayed);
        }
    }

    fn tell_listener(&self) {
        let waiting = self.waiting();
        let listener = waiting.and_then(|waiting| waiting.listener.lock().clone());
        if let Some(listener) = listener.and_then(|listener| listener.upgrade()) {
            listener.high_watermark_raised();
        }
    }

    /// Has the log call this partition when readers of committed records may have more than they have seen.
    pub(crate) fn listen_to_log(self: &Arc<Self>) {
        let listener: Weak<dyn DecidedListener> = Arc::downgrade(self) as _;
        self.log.set_decided_listener(listener);
    }

    /// Sets the listener of rises of the high watermark that do not come with an append here.
    pub(crate) fn set_listener(&self, listener: Weak<dyn HighWatermarkListener>) {
        *self.waiting.get_or_init(Box::default).listener.lock() = Some(listener);
    }

    /// The partition's directory failed: this broker leads it no more, whatever the metadata still
    /// says. Takes no lock.
    pub(crate) fn go_offline(&self) {
        self.led_epoch.store(-1, Ordering::Release);
        self.is_alone.store(false, Ordering::Release);
    }

    /// The log has moved to another directory.
    pub(crate) fn has_moved(&self) {
        self.come_online_if_moved();
        // Pairs with `go_offline`, as in `apply`: the new directory failed before the log was there, or its failure
        // reaches the log.
        if self.log.dir().check().is_err() {
            self.go_offline();
            self.answer_waiting(ErrorCode::KAFKA_STORAGE_ERROR);
        }
    }

    /// The directory that failed is the one that the log has just left: this broker leads what it did.
    pub(crate) fn come_online_if_moved(&self) {
        let replica = self.replica.lock();
        let is_down =
            replica.is_leader() && self.led_epoch.load(Ordering::Acquire) < 0 && !self.role_waits();
        if is_down && self.log.dir().check().is_ok() {
            self.led_epoch.store(replica.leader_epoch(), Ordering::Release);
            self.is_alone.store(replica.is_alone(), Ordering::Release);
            drop(replica);
            self.wake_all();
        }
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
    ///
    /// # Errors
    /// The leader, if this broker does not lead.
    #[inline]
    pub(crate) fn led_epoch(&self) -> Result<i32, Leader> {
        match self.led_epoch.load(Ordering::Acquire) {
            -1 => Err(self.leader_elsewhere()),
            epoch => Ok(epoch),
        }
    }

    /// Whether a producer that takes this broker for the leader may know of an election before this broker does. One that
    /// sends to the broker that led a moment ago does not.
    pub(crate) fn may_be_elected(&self) -> bool {
        let led_until = self.led_until_ms.load(Ordering::Acquire);
        let was_leader =
            || self.shared.node.clock().monotonic_ms().saturating_sub(led_until) < WAS_LEADER_MS;
        self.is_in_sync_follower.load(Ordering::Acquire)
            && self.led_epoch.load(Ordering::Acquire) == -1
            && (led_until == 0 || !was_leader())
            && self.log.dir().check().is_ok()
    }

    /// Largest batch that may be appended.
    pub(crate) fn max_message_bytes(&self) -> usize {
        self.log.config().max_message_bytes as usize
    }
}

impl DecidedListener for Partition {
    fn transactions_decided(&self) {
        self.delayed_fetches.add(i64::MAX);
    }
}

#[cfg(test)]
mod tests;
