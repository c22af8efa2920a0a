//! The fetcher: partitions by name and by id, brokers, and what has to be told to whom.

pub(super) mod accept;
mod leaders;
mod lend;
pub(super) mod plan;
pub(super) mod positions;
mod sessionless;
pub(super) mod status;
mod take;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use thalweg_records::codec::Decompressor;
use thalweg_wire::Uuid;

use super::budget::Budget;
use super::buffer::Decoding;
use super::cursor::{Cursor, Phase, Slot};
use super::error::PartitionError;
use super::loan::Lent;
use super::records::Chunk;
use super::resets::PositionReset;
use super::settings::{FetchSettings, IsolationLevel, ReadMode};
use super::source::Source;
use crate::core::partition::{Position, TopicPartition};
use thalweg_random::Random;

/// Up to the next eighth of a power of two: so that the broker is seldom told of another number.
fn rounded(bytes: usize) -> usize {
    let step = (bytes.checked_next_power_of_two().unwrap_or(bytes) / 8).max(1);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

/// Keys are what the application reads: nobody else chooses them.
type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// Counts since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct FetchCounts {
    /// Requests written.
    pub requests: u64,
    /// Those of them that were asked while another was held back.
    pub sessionless: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// Complete batches' bytes that were taken in.
    pub batch_bytes: u64,
    /// Complete batches' bytes that came for a place that nobody stands at any more.
    pub discarded_bytes: u64,
    /// Bytes of batches that were cut off at the end of a partition's part.
    pub partial_bytes: u64,
    /// Fetch sessions begun.
    pub sessions: u64,
    /// Records handed out.
    pub records: u64,
    /// Positions that changed although the application did not move them: see [`PositionReset`].
    pub position_resets: u64,
}

/// Fetches for one consumer.
pub struct Fetcher {
    settings: FetchSettings,
    random: Random,
    budget: Arc<Budget>,
    decoding: Decoding,
    cursors: Vec<Option<Cursor>>,
    vacant: Vec<Slot>,
    by_name: Map<Arc<TopicPartition>, Slot>,
    /// Bytes that a partition may have buffered and still be asked for: what is set, or an equal
    /// share of a third of the budget where that is less.
    ask: usize,
    /// Bytes of the largest batch so far, rounded up.
    largest: usize,
    /// Bytes of a batch of partitions that brought none yet.
    guess: usize,
    by_id: Map<(Uuid, i32), Slot>,
    sources: Map<i32, Source>,
    /// Partitions with records to hand out, whose turn it is first.
    pub(super) ready: VecDeque<Slot>,
    /// Partitions with an error to report.
    pub(super) failed: VecDeque<Slot>,
    /// The last take reported one.
    has_failed: bool,
    /// Partitions of which sessions have to hear something.
    dirty: Vec<Slot>,
    /// Partitions that wait, by the time they wait for.
    delayed: BTreeSet<(u64, Slot)>,
    /// Brokers for which there may be something to do.
    brokers_to_wake: Vec<i32>,
    /// Brokers that should be asked while they still owe an answer.
    late: Vec<i32>,
    reading: ReadMode,
    /// Those who waited for a partition of which there is something now.
    wakers: Vec<Waker>,
    /// Number of the last take.
    takes: u64,
    /// Counts whatever may change what is acknowledged.
    moves: u64,
    /// A position moved, and what is before it is not acknowledged yet.
    has_handed: bool,
    /// See [`Self::take_uses_changed`].
    uses_changed: bool,
    /// See [`Self::take_recreated`]; one for each partition at most.
    recreated: Vec<Arc<TopicPartition>>,
    /// See [`Self::take_resets`].
    resets: Vec<PositionReset>,
    lent: Lent,
    counts: FetchCounts,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("partitions", &self.by_name.len())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Fetcher {
    /// Fetches nothing yet.
    pub fn new(settings: FetchSettings, budget: Arc<Budget>) -> Fetcher {
        let decoding = Decoding {
            decompressor: Decompressor::new(),
            check_crcs: settings.check_crcs,
            read_committed: settings.isolation == IsolationLevel::ReadCommitted,
            batch_max: settings.batch_max,
            budget: Arc::clone(&budget),
        };
        Fetcher {
            random: Random::new(settings.seed),
            settings,
            budget,
            decoding,
            cursors: Vec::new(),
            vacant: Vec::new(),
            by_name: Map::default(),
            ask: 1,
            largest: 1,
            guess: 1,
            by_id: Map::default(),
            sources: Map::default(),
            ready: VecDeque::new(),
            failed: VecDeque::new(),
            has_failed: false,
            dirty: Vec::new(),
            delayed: BTreeSet::new(),
            brokers_to_wake: Vec::new(),
            late: Vec::new(),
            reading: ReadMode::Polls,
            wakers: Vec::new(),
            takes: 1,
            moves: 0,
            has_handed: false,
            uses_changed: false,
            recreated: Vec::new(),
            resets: Vec::new(),
            lent: Lent::default(),
            counts: FetchCounts::default(),
        }
    }

    /// The budget that everything fetched counts against.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// What was done so far.
    pub fn counts(&self) -> FetchCounts {
        let sessions = self.sources.values().map(|source| source.session.begun).sum();
        FetchCounts { sessions, ..self.counts }
    }

    /// Says how records will be taken; before there is any partition.
    pub fn set_reading(&mut self, reading: ReadMode) {
        self.reading = reading;
    }

    /// The partitions, in no order.
    pub fn partitions(&self) -> impl Iterator<Item = &Arc<TopicPartition>> {
        let is_here = |cursor: &&Cursor| !cursor.parked;
        self.cursors.iter().flatten().filter(is_here).map(|cursor| &cursor.partition)
    }

    /// Whether a partition is fetched here.
    pub fn contains(&self, partition: &TopicPartition) -> bool {
        self.cursor(partition).is_some()
    }

    /// Takes on a partition, from a position or, without one, from where [`FetchSettings::reset`]
    /// says. One that is there already stays as it is.
    pub fn add(&mut self, partition: TopicPartition, from: Option<Position>) {
        if self.contains(&partition) {
            return;
        }
        self.remove(&partition);
        let mut cursor = Cursor::new(Arc::new(partition));
        match from {
            Some(position) => cursor.move_to(position),
            None => cursor.phase = Phase::Reset(self.settings.reset),
        }
        self.insert(cursor);
    }

    /// Takes on a partition that begins where its group committed: nothing is fetched before
    /// [`Self::resolve_committed`] or a seek says where that is.
    pub fn add_committed(&mut self, partition: TopicPartition) {
        if self.contains(&partition) {
            return;
        }
        if self.by_name.contains_key(&partition) {
            self.change_any(&partition, Cursor::unpark);
            return;
        }
        let mut cursor = Cursor::new(Arc::new(partition));
        cursor.phase = Phase::Committed;
        self.insert(cursor);
    }

    fn insert(&mut self, mut cursor: Cursor) {
        let partition = Arc::clone(&cursor.partition);
        let is_failed = cursor.fail_without_reset();
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.cursors[slot as usize] = Some(cursor);
                slot
            }
            None => {
                self.cursors.push(Some(cursor));
                (self.cursors.len() - 1) as Slot
            }
        };
        self.by_name.insert(partition, slot);
        self.share_anew();
        if is_failed {
            self.note_failed(slot);
        }
        self.touch(slot);
    }

    /// Lets go of a partition, but keeps what it has buffered: it may come back with the next
    /// assignment. [`Self::add_committed`] has it back, which begins where the group committed then,
    /// within the buffer where that is there. Until then it is as if it were removed.
    pub fn park(&mut self, partition: &TopicPartition) {
        // It may be given up again before it was known where it begins.
        let is_kept = |cursor: &Cursor| {
            matches!(cursor.phase, Phase::Fetching | Phase::Committed) && !cursor.buffer.is_empty()
        };
        if self.cursor(partition).is_some_and(is_kept) {
            self.change(partition, Cursor::park);
        } else {
            self.remove(partition);
        }
    }

    /// Takes back records that were taken last of a partition, in order, and that nobody was shown:
    /// if the partition is to be parked they are there when it comes back, and nothing has to be
    /// fetched again. Its position does not change by this.
    pub(crate) fn give_back(
        &mut self,
        partition: &TopicPartition,
        chunks: impl IntoIterator<Item = Chunk>,
    ) {
        self.change(partition, |cursor| {
            if cursor.held && cursor.phase == Phase::Fetching {
                cursor.buffer.give_back(chunks);
            }
        });
    }

    /// Removes those that were parked and did not come back.
    pub fn remove_parked(&mut self) {
        let parked = self.cursors.iter().flatten().filter(|cursor| cursor.parked);
        let parked: Vec<_> = parked.map(|cursor| Arc::clone(&cursor.partition)).collect();
        for partition in parked {
            self.remove(&partition);
        }
    }

    /// The offset behind the last record that was handed out of a partition, if any was since it was
    /// placed that the log still has: what a truncation took away can be committed by nobody.
    pub fn handed_out(&self, partition: &TopicPartition) -> Option<i64> {
        self.cursor(partition)?.handed_out()
    }

    /// Lets go of a partition and of what it has buffered. Says where it stood.
    pub fn remove(&mut self, partition: &TopicPartition) -> Option<Position> {
        let slot = self.by_name.remove(partition)?;
        self.share_anew();
        let cursor = self.cursors[slot as usize].take()?;
        self.by_id.remove(&(cursor.topic_id, partition.partition));
        if let Some(at) = cursor.retry_at {
            self.delayed.remove(&(at, slot));
        }
        if let Some(source) = cursor.source.and_then(|id| self.sources.get_mut(&id)) {
            source.session.set(&cursor.partition, None);
        }
        self.vacant.push(slot);
        self.moves += 1;
        self.uses_changed |= cursor.is_used;
        cursor.position()
    }

    /// Lets go of all partitions and of what they have buffered.
    pub fn remove_all(&mut self) {
        let all: Vec<_> = self.by_name.keys().cloned().collect();
        for partition in all {
            self.remove(&partition);
        }
    }

    /// Brokers for which [`Self::plan`] may have a request now.
    pub fn take_brokers_to_wake(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.brokers_to_wake)
    }

    /// Those to be woken, who waited in `take_from`.
    pub fn take_wakers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.wakers)
    }

    /// Whether [`Self::take_brokers_to_wake`], [`Self::take_wakers`], [`Self::take_late`],
    /// [`Self::take_recreated`] or [`Self::take_resets`] has something.
    pub fn has_signals(&self) -> bool {
        !self.brokers_to_wake.is_empty()
            || !self.wakers.is_empty()
            || !self.late.is_empty()
            || !self.recreated.is_empty()
            || !self.resets.is_empty()
    }

    /// There is room in the budget again.
    pub fn wake_all(&mut self) {
        let ids: Vec<i32> = self.sources.keys().copied().collect();
        for id in ids {
            self.wake(id);
        }
    }

    /// Reports the oldest failure; it stays, behind the others.
    fn report_failure(&mut self) -> Result<(), PartitionError> {
        for _ in 0..self.failed.len() {
            let Some(slot) = self.failed.pop_front() else { break };
            let Some(cursor) = self.cursors[slot as usize].as_mut() else { continue };
            if let Some(error) = cursor.error() {
                if self.reading == ReadMode::Polls {
                    self.failed.push_back(slot);
                } else if cursor.is_reported {
                    continue;
                }
                if cursor.is_deliverable() {
                    cursor.is_reported = true;
                    self.has_failed = true;
                    return Err(error);
                } else if self.reading != ReadMode::Polls {
                    self.failed.push_back(slot);
                }
            }
        }
        Ok(())
    }

    fn note_failure(&mut self, partition: &TopicPartition) {
        if let Some(&slot) = self.by_name.get(partition)
            && self.cursors[slot as usize].as_ref().is_some_and(|c| c.error().is_some())
            && !self.failed.contains(&slot)
        {
            self.note_failed(slot);
        }
    }

    /// A partition has failed: somebody has to hear of it.
    fn note_failed(&mut self, slot: Slot) {
        if self.reading == ReadMode::Partitions {
            self.wake_reader(slot);
        } else {
            self.failed.push_back(slot);
        }
    }

    /// A partition has something to hand out.
    fn note_ready(&mut self, slot: Slot) {
        if self.reading == ReadMode::Partitions {
            return self.wake_reader(slot);
        }
        if let Some(cursor) = self.cursors[slot as usize].as_mut()
            && !cursor.queued
        {
            cursor.queued = true;
            self.ready.push_back(slot);
        }
    }

    fn wake_reader(&mut self, slot: Slot) {
        let cursor = self.cursors[slot as usize].as_mut();
        self.wakers.extend(cursor.and_then(|cursor| cursor.waker.take()));
    }

    pub(super) fn cursor(&self, partition: &TopicPartition) -> Option<&Cursor> {
        let cursor = self.cursors[*self.by_name.get(partition)? as usize].as_ref();
        cursor.filter(|cursor| !cursor.parked)
    }

    /// Changes a partition and sees to what follows from it.
    fn change(&mut self, partition: &TopicPartition, change: impl FnOnce(&mut Cursor)) -> bool {
        self.contains(partition) && self.change_any(partition, change)
    }

    /// As [`Self::change`], also for one that is parked.
    fn change_any(&mut self, partition: &TopicPartition, change: impl FnOnce(&mut Cursor)) -> bool {
        let Some(&slot) = self.by_name.get(partition) else { return false };
        let Some(cursor) = self.cursors[slot as usize].as_mut() else { return false };
        change(cursor);
        let is_ready = !cursor.buffer.is_empty() || self.reading == ReadMode::Partitions;
        if cursor.is_deliverable() && is_ready {
            self.note_ready(slot);
        }
        self.touch(slot);
        true
    }

    /// Sessions may have to hear of a partition.
    pub(super) fn touch(&mut self, slot: Slot) {
        self.moves += 1;
        let Some(cursor) = self.cursors[slot as usize].as_mut() else { return };
        if !cursor.dirty {
            cursor.dirty = true;
            self.dirty.push(slot);
        }
        if let Some(broker) = cursor.broker() {
            self.wake(broker);
            self.note_late(broker, slot);
        }
    }

    /// As [`Self::touch`], when a partition has used up so much that it wants more.
    fn touch_if_hungry(&mut self, slot: Slot) {
        if let Some(cursor) = self.cursors[slot as usize].as_ref()
            && cursor.source.is_none()
            && cursor.is_hungry(self.ask)
        {
            self.touch(slot);
        }
    }

    fn wake(&mut self, broker: i32) {
        let source = self.sources.entry(broker).or_default();
        if !source.woken && !source.in_flight {
            source.woken = true;
            self.brokers_to_wake.push(broker);
        }
    }

    /// The number of partitions has changed.
    fn share_anew(&mut self) {
        let share = self.budget.limit() / 3 / self.by_name.len().max(1);
        let set = usize::try_from(self.settings.partition_max_bytes).unwrap_or(1);
        self.ask = set.min(share).max(1);
        self.guess_anew();
    }

    /// Bytes that one request asks of a partition: its share, or one batch of its own, so far as
    /// that is known. Of a batch that is larger than what is asked for nothing comes, except of the
    /// first partition in an answer.
    fn partition_ask(&self, batch: usize) -> usize {
        let set = usize::try_from(self.settings.partition_max_bytes).unwrap_or(1);
        let batch = if batch > 0 { batch } else { self.guess };
        self.ask.max(batch.min(set))
    }

    /// The largest of some batches of a partition has so many bytes.
    fn note_batch(&mut self, slot: Slot, bytes: usize) {
        let rounded = rounded(bytes);
        if let Some(cursor) = self.cursors[slot as usize].as_mut() {
            cursor.batch = rounded.max(cursor.batch / 2);
        }
        if rounded <= self.largest {
            return;
        }
        self.largest = rounded;
        let before = self.partition_ask(0);
        self.guess_anew();
        if self.partition_ask(0) > before {
            // Whoever was asked for less may have been passed over.
            for slot in 0..self.cursors.len() {
                if self.cursors[slot].as_ref().is_some_and(|cursor| cursor.batch == 0) {
                    self.touch(slot as Slot);
                }
            }
        }
    }

    /// What a batch may have of a partition that brought none yet: as much as the largest one of
    /// any, unless that could fill the budget with what nobody reads.
    fn guess_anew(&mut self) {
        let fits = self.largest.saturating_mul(self.by_name.len()) < self.budget.limit();
        let is_safe = fits && self.reading != ReadMode::Partitions;
        let most = if is_safe { usize::MAX } else { self.ask.saturating_mul(2) };
        self.guess = self.largest.min(most);
    }
}
