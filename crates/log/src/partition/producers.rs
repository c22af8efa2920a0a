//! What a partition remembers of its producers: idempotence, open transactions, the last stable
//! offset.
//!
//! The rules are those of Kafka 4.4. An append is first analyzed ([`ProducerState::analyze`] on
//! every batch, into [`Updates`]), and applied as a whole when all of it is in order; nothing
//! changes otherwise. After warm-up neither step allocates, except when a transaction begins or
//! ends.
//!
//! A transaction that this partition does not know of has to be verified with its coordinator before its first batch
//! (KIP-890). Asking is the caller's; what it shows is a [`VerificationGuard`] ([`ProducerState::begin_verification`]),
//! which is worth nothing any more once the transaction has ended here.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_records::BatchView;
use thalweg_records::batch::add_sequence;

use crate::format::control::{EndTxnMarker, parse_end_txn};
use crate::format::producer_snapshot::{self, BatchMeta, ProducerEntry};
use crate::format::txn_index::AbortedTxn;

/// Batches per producer whose duplicates are recognized.
pub(crate) const BATCHES_KEPT: usize = 5;

/// Who appends, which decides how much is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppendOrigin {
    /// A producer: sequences, epochs and duplicates are checked.
    Client,
    /// A coordinator: epochs and transaction markers are checked.
    Coordinator,
    /// A follower, or recovery: what is there is taken as it is.
    Replication,
}

impl BatchMeta {
    pub(crate) fn first_sequence(&self) -> i32 {
        let first = i64::from(self.last_sequence) - i64::from(self.offset_delta);
        (if first < 0 { first + i64::from(i32::MAX) + 1 } else { first }) as i32
    }
    pub(crate) fn first_offset(&self) -> i64 {
        self.last_offset - i64::from(self.offset_delta)
    }
}

/// One producer's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Producer {
    pub(crate) epoch: i16,
    pub(crate) coordinator_epoch: i32,
    pub(crate) last_timestamp: i64,
    /// First offset of the open transaction, -1 without one.
    pub(crate) txn_first_offset: i64,
    batches: [BatchMeta; BATCHES_KEPT],
    count: u8,
}

impl Producer {
    fn empty() -> Producer {
        Producer {
            epoch: -1,
            coordinator_epoch: -1,
            last_timestamp: -1,
            txn_first_offset: -1,
            batches: [BatchMeta::default(); BATCHES_KEPT],
            count: 0,
        }
    }

    /// Restored from a snapshot.
    pub(crate) fn restored(entry: &ProducerEntry) -> Producer {
        let mut producer = Producer {
            epoch: entry.epoch,
            coordinator_epoch: entry.coordinator_epoch,
            last_timestamp: entry.last_timestamp,
            txn_first_offset: entry.txn_first_offset.max(-1),
            ..Producer::empty()
        };
        if let Some(batch) = entry.last_batch {
            producer.push(batch);
        }
        producer
    }

    fn entry(&self, producer_id: i64) -> ProducerEntry {
        ProducerEntry {
            producer_id,
            epoch: self.epoch,
            coordinator_epoch: self.coordinator_epoch,
            last_timestamp: self.last_timestamp,
            txn_first_offset: self.txn_first_offset,
            last_batch: self.last_batch().copied(),
        }
    }

    pub(crate) fn batches(&self) -> &[BatchMeta] {
        &self.batches[..usize::from(self.count)]
    }

    pub(crate) fn last_batch(&self) -> Option<&BatchMeta> {
        self.batches().last()
    }

    pub(crate) fn last_sequence(&self) -> i32 {
        self.last_batch().map_or(-1, |batch| batch.last_sequence)
    }

    fn set_epoch(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.count = 0;
            self.epoch = epoch;
        }
    }

    /// Takes a batch of records as it is.
    pub(crate) fn take(&mut self, batch: &BatchView<'_>) {
        self.set_epoch(batch.producer_epoch());
        self.push(BatchMeta {
            last_sequence: batch.last_sequence(),
            offset_delta: batch.last_offset_delta(),
            last_offset: batch.last_offset(),
            timestamp: batch.max_timestamp(),
        });
        self.last_timestamp = batch.max_timestamp();
    }

    /// The same producer before its batches from `offset` on, among which is no marker. If none is left of the batches that
    /// are remembered, the epoch and the time of the one before are not known. The time of a marker is not remembered: that
    /// of the batch before it stands for it.
    pub(crate) fn before(&self, offset: i64) -> Producer {
        let kept = self.batches().partition_point(|batch| batch.last_offset < offset);
        let mut before = Producer { count: kept as u8, ..*self };
        if before.txn_first_offset >= offset {
            before.txn_first_offset = -1;
        }
        if let Some(last) = before.last_batch().copied() {
            before.last_timestamp = last.timestamp;
        }
        before
    }

    fn push(&mut self, batch: BatchMeta) {
        if usize::from(self.count) == BATCHES_KEPT {
            self.batches.copy_within(1.., 0);
            self.count -= 1;
        }
        self.batches[usize::from(self.count)] = batch;
        self.count += 1;
    }

    /// The same producer before an append: everything but the batches.
    fn without_batches(&self) -> Producer {
        Producer { count: 0, ..*self }
    }

    /// Takes over what an append made of [`Self::without_batches`].
    fn merge(&mut self, next: &Producer) {
        self.set_epoch(next.epoch);
        for batch in next.batches() {
            self.push(*batch);
        }
        self.coordinator_epoch = next.coordinator_epoch;
        self.txn_first_offset = next.txn_first_offset;
        self.last_timestamp = next.last_timestamp;
    }

    fn duplicate(&self, batch: &BatchView<'_>) -> Option<BatchMeta> {
        if batch.producer_epoch() != self.epoch {
            return None;
        }
        let (first, last) = (batch.base_sequence(), batch.last_sequence());
        self.batches()
            .iter()
            .find(|known| known.first_sequence() == first && known.last_sequence == last)
            .copied()
    }
}

/// Why an append is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProducerError {
    OutOfOrderSequence { producer_id: i64, epoch: i16, sequence: i32, expected: i32 },
    InvalidEpoch { producer_id: i64, epoch: i16, current: i16 },
    InvalidTxnState { producer_id: i64, reason: &'static str },
    CoordinatorFenced { producer_id: i64, coordinator_epoch: i32, current: i32 },
    Malformed(&'static str),
}

/// Stands for one question to a transaction's coordinator. It is unique: what was answered to an earlier question
/// cannot let a batch through after a marker has ended what it was about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VerificationGuard(u64);

impl VerificationGuard {
    /// In all logs together: a partition that is deleted and made again has another log.
    fn unique() -> VerificationGuard {
        static LAST: AtomicU64 = AtomicU64::new(0);
        VerificationGuard(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// A transaction that its coordinator is asked about, until its first batch is appended or a marker ends it.
#[derive(Clone, Copy, Debug)]
struct Verification {
    guard: VerificationGuard,
    began_ms: i64,
    epoch: i16,
    /// A batch above it is not taken: the one with it failed for now, and will come again.
    lowest_sequence: i32,
    /// The client speaks the protocol in which every transaction has an epoch of its own (`transaction.version` 2).
    bumps_epoch: bool,
}

/// What is shown of the transaction of a batch that would begin one in this partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionCheck {
    /// Nothing has to be (`transaction.partition.verification.enable=false`; what comes from a coordinator).
    Waived,
    /// The guard of the question that was answered with yes. Without one the batch is refused.
    Guarded(Option<VerificationGuard>),
}

/// A transaction that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CompletedTxn {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) aborted: bool,
}

/// What one append will change, gathered before anything is written. Reused between appends.
#[derive(Default, Debug)]
pub(crate) struct Updates {
    producers: Vec<(i64, Producer)>,
    started: Vec<(i64, i64)>,
    /// Producers of transactional batches, and the epochs of markers, where a verification is open.
    verified: Vec<(i64, Option<i16>)>,
    pub(crate) completed: Vec<CompletedTxn>,
}

impl Updates {
    pub(crate) fn clear(&mut self) {
        self.producers.clear();
        self.started.clear();
        self.verified.clear();
        self.completed.clear();
    }
}

/// What [`ProducerState::analyze`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Append,
    /// The batch was appended before, as this.
    Duplicate(BatchMeta),
}

#[derive(Clone, Copy, Debug)]
struct Txn {
    producer_id: i64,
    last_offset: i64,
}

/// How an append is to be judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judgement {
    pub(crate) origin: AppendOrigin,
    /// What is shown of a transaction that begins.
    pub(crate) transaction: TransactionCheck,
    /// `transaction.version` of a marker's sender; 0 and 1 are alike.
    pub(crate) transaction_version: i16,
}

impl Judgement {
    pub(crate) const REPLAY: Judgement = Judgement {
        origin: AppendOrigin::Replication,
        transaction: TransactionCheck::Waived,
        transaction_version: 0,
    };
}

/// The producers of one partition.
#[derive(Default, Debug)]
pub(crate) struct ProducerState {
    producers: HashMap<i64, Producer>,
    ongoing: BTreeMap<i64, Txn>,
    /// Ended, but the marker is not below the high watermark yet.
    unreplicated: BTreeMap<i64, Txn>,
    verifications: HashMap<i64, Verification>,
    /// Everything before this offset is reflected here.
    pub(crate) map_end_offset: i64,
    pub(crate) last_snapshot_offset: i64,
}

impl ProducerState {
    pub(crate) fn len(&self) -> usize {
        self.producers.len()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&i64, &Producer)> {
        self.producers.iter()
    }

    /// The bytes of a snapshot of these producers.
    pub(crate) fn snapshot(&self) -> Vec<u8> {
        producer_snapshot::encode(self.producers.iter().map(|(&id, producer)| producer.entry(id)))
    }

    pub(crate) fn get(&self, producer_id: i64) -> Option<&Producer> {
        self.producers.get(&producer_id)
    }

    /// From a snapshot.
    pub(crate) fn insert(&mut self, producer_id: i64, producer: Producer) {
        if producer.txn_first_offset >= 0 {
            self.ongoing.insert(producer.txn_first_offset, Txn { producer_id, last_offset: -1 });
        }
        self.producers.insert(producer_id, producer);
    }

    /// Judges one batch with its final base offset, after `updates` of the batches before it.
    pub(crate) fn analyze(
        &self,
        batch: &BatchView<'_>,
        judgement: &Judgement,
        updates: &mut Updates,
    ) -> Result<Verdict, ProducerError> {
        if !batch.has_producer_id() {
            return Ok(Verdict::Append);
        }
        let producer_id = batch.producer_id();
        let known = self.producers.get(&producer_id);
        if judgement.origin == AppendOrigin::Client
            && let Some(duplicate) = known.and_then(|producer| producer.duplicate(batch))
        {
            return Ok(Verdict::Duplicate(duplicate));
        }
        if matches!(judgement.origin, AppendOrigin::Client | AppendOrigin::Coordinator)
            && batch.is_transactional()
        {
            let ongoing =
                known.is_some_and(|p| p.txn_first_offset >= 0 && p.epoch == batch.producer_epoch());
            if !ongoing {
                if let Some(producer) = known
                    && batch.producer_epoch() < producer.epoch
                {
                    return Err(ProducerError::InvalidEpoch {
                        producer_id,
                        epoch: batch.producer_epoch(),
                        current: producer.epoch,
                    });
                }
                if !batch.is_control() && !self.is_verified(producer_id, judgement.transaction) {
                    return Err(ProducerError::InvalidTxnState {
                        producer_id,
                        reason: "the batch is not part of an ongoing transaction",
                    });
                }
            }
        }

        let current = known.copied().unwrap_or_else(Producer::empty);
        let verification = self.verifications.get(&producer_id);
        if verification.is_some() && batch.is_transactional() {
            let marker_epoch = batch.is_control().then(|| batch.producer_epoch());
            updates.verified.push((producer_id, marker_epoch));
        }
        let at = match updates.producers.iter().position(|&(id, _)| id == producer_id) {
            Some(at) => at,
            None => {
                updates.producers.push((producer_id, current.without_batches()));
                updates.producers.len() - 1
            }
        };
        let next = &mut updates.producers[at].1;
        if batch.is_control() {
            if let Some((marker, timestamp)) =
                parse_end_txn(batch).map_err(ProducerError::Malformed)?
            {
                let completed =
                    end_transaction(producer_id, next, batch, marker, timestamp, judgement)?;
                updates.completed.extend(completed);
            }
        } else {
            let before = Before { producer: &current, verification };
            append_data(producer_id, &before, next, batch, judgement, &mut updates.started)?;
        }
        Ok(Verdict::Append)
    }

    /// Makes an analyzed append part of the state; `index` takes the transactions that it aborted.
    pub(crate) fn apply<E>(
        &mut self,
        updates: &Updates,
        mut index: impl FnMut(AbortedTxn) -> Result<(), E>,
    ) -> Result<(), E> {
        self.apply_batches(updates);
        for completed in &updates.completed {
            if completed.aborted {
                index(AbortedTxn {
                    producer_id: completed.producer_id,
                    first_offset: completed.first_offset,
                    last_offset: completed.last_offset,
                    last_stable_offset: self.last_stable_offset_after(completed),
                })?;
            }
            self.complete(completed);
        }
        Ok(())
    }

    /// All but the ends of transactions, because their index needs the last stable offset in between.
    fn apply_batches(&mut self, updates: &Updates) {
        for (producer_id, next) in &updates.producers {
            match self.producers.get_mut(producer_id) {
                Some(current) => current.merge(next),
                None => {
                    self.producers.insert(*producer_id, *next);
                }
            }
        }
        for &(first_offset, producer_id) in &updates.started {
            self.ongoing.insert(first_offset, Txn { producer_id, last_offset: -1 });
        }
        for (producer_id, marker_epoch) in &updates.verified {
            // A marker of the epoch that is being verified ends the transaction before it: each has its own epoch.
            let is_of_next = |known: &Verification| {
                known.bumps_epoch && marker_epoch.is_some_and(|epoch| epoch == known.epoch)
            };
            if !self.verifications.get(producer_id).is_some_and(is_of_next) {
                self.verifications.remove(producer_id);
            }
        }
    }

    /// A producer is about to send a batch of a transaction: the guard of the question that its coordinator has to be
    /// asked first; `None` where this partition knows the transaction.
    pub(crate) fn begin_verification(
        &mut self,
        producer_id: i64,
        epoch: i16,
        sequence: i32,
        bumps_epoch: bool,
        now_ms: i64,
    ) -> Result<Option<VerificationGuard>, ProducerError> {
        if let Some(producer) = self.producers.get(&producer_id) {
            if epoch < producer.epoch {
                let current = producer.epoch;
                return Err(ProducerError::InvalidEpoch { producer_id, epoch, current });
            }
            if producer.txn_first_offset >= 0 && producer.epoch == epoch {
                return Ok(None);
            }
        }
        let known = self.verifications.entry(producer_id).or_insert_with(|| Verification {
            guard: VerificationGuard::unique(),
            began_ms: now_ms,
            epoch,
            lowest_sequence: sequence,
            bumps_epoch,
        });
        if epoch > known.epoch {
            known.epoch = epoch;
            known.lowest_sequence = sequence;
            // Kafka goes on with how the producer of the epoch before spoke: a marker of this one's own transaction would
            // leave the guard, and what comes behind the marker open a transaction that nobody ends.
            known.bumps_epoch = bumps_epoch;
        } else if epoch == known.epoch {
            known.lowest_sequence = known.lowest_sequence.min(sequence);
            known.bumps_epoch &= bumps_epoch;
        }
        Ok(Some(known.guard))
    }

    fn is_verified(&self, producer_id: i64, check: TransactionCheck) -> bool {
        match check {
            TransactionCheck::Waived => true,
            TransactionCheck::Guarded(None) => false,
            TransactionCheck::Guarded(Some(shown)) => {
                self.verifications.get(&producer_id).is_some_and(|known| known.guard == shown)
            }
        }
    }

    /// The last stable offset once `completed` has ended: what its index entry says.
    fn last_stable_offset_after(&self, completed: &CompletedTxn) -> i64 {
        self.ongoing
            .iter()
            .find(|(_, txn)| txn.producer_id != completed.producer_id)
            .map_or(completed.last_offset + 1, |(&first_offset, _)| first_offset)
    }

    fn complete(&mut self, completed: &CompletedTxn) {
        // A log that was cut at its start may hold an end without a beginning.
        self.ongoing.remove(&completed.first_offset);
        self.unreplicated.insert(
            completed.first_offset,
            Txn { producer_id: completed.producer_id, last_offset: completed.last_offset },
        );
    }

    /// Offset of the first record whose transaction is not decided below the high watermark.
    pub(crate) fn first_unstable_offset(&self) -> Option<i64> {
        let open = self.ongoing.keys().next().copied();
        let ended = self.unreplicated.keys().next().copied();
        match (open, ended) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The open transaction that began first: where it began, and its producer.
    pub(crate) fn oldest_open(&self) -> Option<(i64, i64, &Producer)> {
        let (&first_offset, txn) = self.ongoing.first_key_value()?;
        let producer = self.producers.get(&txn.producer_id)?;
        Some((first_offset, txn.producer_id, producer))
    }

    pub(crate) fn has_transactions(&self) -> bool {
        !self.ongoing.is_empty() || !self.unreplicated.is_empty()
    }

    /// Transactions that ended below `offset` are decided.
    pub(crate) fn on_high_watermark(&mut self, offset: i64) {
        if !self.unreplicated.is_empty() {
            self.unreplicated.retain(|_, txn| txn.last_offset >= offset);
        }
    }

    /// The log is cut off at `offset`, which no marker lies behind; the producers that had batches there are these now.
    pub(crate) fn cut_off(&mut self, offset: i64, changed: Vec<(i64, Producer)>) {
        for (producer_id, before) in changed {
            // Unless it was forgotten meanwhile.
            self.producers.entry(producer_id).and_modify(|it| *it = before);
        }
        self.ongoing.retain(|&first_offset, _| first_offset < offset);
        self.verifications.clear();
        self.map_end_offset = offset;
    }

    pub(crate) fn on_log_start_offset(&mut self, log_start: i64, latest_snapshot: Option<i64>) {
        self.on_high_watermark(log_start);
        self.map_end_offset = self.map_end_offset.max(log_start);
        self.last_snapshot_offset = latest_snapshot.unwrap_or(log_start);
    }

    /// Forgets producers without an open transaction that were silent for `expiration_ms`.
    pub(crate) fn expire(&mut self, now_ms: i64, expiration_ms: i64) -> usize {
        let before = self.producers.len();
        self.producers.retain(|_, producer| !is_expired(producer, now_ms, expiration_ms));
        self.verifications.retain(|_, it| now_ms.saturating_sub(it.began_ms) < expiration_ms);
        if self.producers.is_empty() {
            self.producers.shrink_to_fit();
        }
        before - self.producers.len()
    }
}

pub(crate) fn is_expired(producer: &Producer, now_ms: i64, expiration_ms: i64) -> bool {
    producer.txn_first_offset < 0 && now_ms.saturating_sub(producer.last_timestamp) >= expiration_ms
}

/// What is known of a producer before an append.
struct Before<'a> {
    producer: &'a Producer,
    verification: Option<&'a Verification>,
}

fn append_data(
    producer_id: i64,
    before: &Before<'_>,
    next: &mut Producer,
    batch: &BatchView<'_>,
    judgement: &Judgement,
    started: &mut Vec<(i64, i64)>,
) -> Result<(), ProducerError> {
    let epoch = batch.producer_epoch();
    if epoch < next.epoch && judgement.origin != AppendOrigin::Replication {
        return Err(ProducerError::InvalidEpoch { producer_id, epoch, current: next.epoch });
    }
    if judgement.origin == AppendOrigin::Client {
        check_sequence(producer_id, before, next, epoch, batch.base_sequence())?;
    }
    next.take(batch);
    if next.txn_first_offset >= 0 && !batch.is_transactional() {
        return Err(ProducerError::InvalidTxnState {
            producer_id,
            reason: "a batch outside of the transaction while one is open",
        });
    }
    if next.txn_first_offset < 0 && batch.is_transactional() {
        next.txn_first_offset = batch.base_offset();
        started.push((batch.base_offset(), producer_id));
    }
    Ok(())
}

fn check_sequence(
    producer_id: i64,
    before: &Before<'_>,
    next: &Producer,
    epoch: i16,
    sequence: i32,
) -> Result<(), ProducerError> {
    let Before { producer: current, verification } = *before;
    let refuse = |expected| {
        Err(ProducerError::OutOfOrderSequence { producer_id, epoch, sequence, expected })
    };
    if let Some(open) = verification {
        // Where each transaction has its epoch, nobody whom this partition does not know can be in the middle of one.
        if open.bumps_epoch && sequence != 0 && current.count == 0 {
            return refuse(0);
        }
        if sequence > open.lowest_sequence {
            return refuse(open.lowest_sequence);
        }
    }
    if epoch != next.epoch {
        // A new epoch starts again at 0, unless nothing is known of the producer.
        return if sequence != 0 && next.epoch != -1 { refuse(0) } else { Ok(()) };
    }
    let last = if next.count > 0 {
        next.last_sequence()
    } else if epoch == current.epoch {
        current.last_sequence()
    } else {
        -1
    };
    let expected = add_sequence(last.max(-1), 1);
    if current.epoch == -1 || sequence == expected { Ok(()) } else { refuse(expected) }
}

fn end_transaction(
    producer_id: i64,
    next: &mut Producer,
    batch: &BatchView<'_>,
    marker: EndTxnMarker,
    timestamp: i64,
    judgement: &Judgement,
) -> Result<Option<CompletedTxn>, ProducerError> {
    let epoch = batch.producer_epoch();
    let replicated = judgement.origin == AppendOrigin::Replication;
    let bumped = judgement.transaction_version >= 2;
    let stale = if bumped { epoch <= next.epoch } else { epoch < next.epoch };
    // With transaction version 2 a marker bumps the epoch; the same one again, with nothing open,
    // is a coordinator that repeats itself.
    let repeated =
        bumped && epoch == next.epoch && (next.txn_first_offset < 0 || epoch == i16::MAX);
    if stale && !repeated && !replicated {
        return Err(ProducerError::InvalidEpoch { producer_id, epoch, current: next.epoch });
    }
    if next.coordinator_epoch > marker.coordinator_epoch && !replicated {
        return Err(ProducerError::CoordinatorFenced {
            producer_id,
            coordinator_epoch: marker.coordinator_epoch,
            current: next.coordinator_epoch,
        });
    }
    let completed = (next.txn_first_offset >= 0).then(|| CompletedTxn {
        producer_id,
        first_offset: next.txn_first_offset,
        last_offset: batch.base_offset(),
        aborted: !marker.commit,
    });
    next.set_epoch(epoch);
    next.coordinator_epoch = marker.coordinator_epoch;
    next.txn_first_offset = -1;
    next.last_timestamp = timestamp;
    Ok(completed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::BatchSpec;

    const CLIENT: Judgement = Judgement {
        origin: AppendOrigin::Client,
        transaction: TransactionCheck::Waived,
        transaction_version: 0,
    };

    fn append(
        state: &mut ProducerState,
        spec: BatchSpec,
        judgement: Judgement,
    ) -> Result<Verdict, ProducerError> {
        let bytes = spec.build();
        let batch = BatchView::parse(&bytes).unwrap();
        let mut updates = Updates::default();
        let verdict = state.analyze(&batch, &judgement, &mut updates)?;
        if verdict == Verdict::Append {
            let Ok(()) = state.apply(&updates, |_| Ok::<(), std::convert::Infallible>(()));
        }
        Ok(verdict)
    }

    fn spec(offset: i64, epoch: i16, sequence: i32, count: i32) -> BatchSpec {
        BatchSpec::new(offset, count).producer(7, epoch, sequence)
    }

    #[test]
    fn sequences_follow_each_other_and_wrap() {
        let mut state = ProducerState::default();
        append(&mut state, spec(0, 0, i32::MAX - 1, 2), CLIENT).unwrap();
        append(&mut state, spec(2, 0, 0, 3), CLIENT).unwrap();
        append(&mut state, spec(5, 0, 3, 1), CLIENT).unwrap();
        assert_eq!(
            append(&mut state, spec(6, 0, 5, 1), CLIENT),
            Err(ProducerError::OutOfOrderSequence {
                producer_id: 7,
                epoch: 0,
                sequence: 5,
                expected: 4
            })
        );
    }

    #[test]
    fn an_unknown_producer_may_begin_anywhere() {
        let mut state = ProducerState::default();
        assert_eq!(append(&mut state, spec(0, 3, 99, 1), CLIENT), Ok(Verdict::Append));
    }

    #[test]
    fn duplicates_of_the_last_five_batches_are_found() {
        let mut state = ProducerState::default();
        for i in 0..6 {
            append(&mut state, spec(i * 2, 0, i as i32 * 2, 2), CLIENT).unwrap();
        }
        for i in 1..6 {
            let verdict = append(&mut state, spec(100, 0, i as i32 * 2, 2), CLIENT).unwrap();
            let Verdict::Duplicate(batch) = verdict else { panic!("{verdict:?}") };
            assert_eq!(batch.first_offset(), i * 2);
        }
        // The sixth from the end is forgotten, and half a batch is no duplicate.
        assert!(append(&mut state, spec(100, 0, 0, 2), CLIENT).is_err());
        assert!(append(&mut state, spec(100, 0, 10, 1), CLIENT).is_err());
        // Batches wrap like sequences do.
        let mut state = ProducerState::default();
        append(&mut state, spec(0, 0, i32::MAX, 3), CLIENT).unwrap();
        assert!(matches!(
            append(&mut state, spec(100, 0, i32::MAX, 3), CLIENT),
            Ok(Verdict::Duplicate(_))
        ));
    }

    #[test]
    fn epochs_only_rise_and_begin_at_sequence_zero() {
        let mut state = ProducerState::default();
        append(&mut state, spec(0, 1, 0, 1), CLIENT).unwrap();
        assert!(matches!(
            append(&mut state, spec(1, 0, 1, 1), CLIENT),
            Err(ProducerError::InvalidEpoch { epoch: 0, current: 1, .. })
        ));
        assert!(matches!(
            append(&mut state, spec(1, 2, 1, 1), CLIENT),
            Err(ProducerError::OutOfOrderSequence { sequence: 1, expected: 0, .. })
        ));
        append(&mut state, spec(1, 2, 0, 1), CLIENT).unwrap();
        // A follower takes what its leader took.
        append(&mut state, spec(2, 1, 55, 1), Judgement::REPLAY).unwrap();
    }

    #[test]
    fn transactions_hold_back_the_last_stable_offset() {
        let mut state = ProducerState::default();
        let coordinator = Judgement { origin: AppendOrigin::Coordinator, ..CLIENT };
        append(&mut state, spec(0, 0, 0, 2).transactional(), CLIENT).unwrap();
        let other = BatchSpec::new(2, 1).producer(8, 0, 0).transactional();
        append(&mut state, other, CLIENT).unwrap();
        assert_eq!(state.first_unstable_offset(), Some(0));
        assert!(matches!(
            append(&mut state, spec(3, 0, 2, 1), CLIENT),
            Err(ProducerError::InvalidTxnState { .. })
        ));
        let marker = BatchSpec::marker(3, 7, 0, 5, false);
        append(&mut state, marker.clone(), coordinator).unwrap();
        assert_eq!(state.first_unstable_offset(), Some(0), "the marker is not replicated yet");
        state.on_high_watermark(4);
        assert_eq!(state.first_unstable_offset(), Some(2));
        let completed =
            CompletedTxn { producer_id: 8, first_offset: 2, last_offset: 9, aborted: true };
        assert_eq!(state.last_stable_offset_after(&completed), 10);
        assert!(matches!(
            append(&mut state, BatchSpec::marker(4, 7, 0, 4, true), coordinator),
            Err(ProducerError::CoordinatorFenced { coordinator_epoch: 4, current: 5, .. })
        ));
        let unverified = Judgement { transaction: TransactionCheck::Guarded(None), ..CLIENT };
        assert!(matches!(
            append(&mut state, spec(4, 0, 2, 1).transactional(), unverified),
            Err(ProducerError::InvalidTxnState { .. })
        ));
    }

    #[test]
    fn markers_of_transaction_version_two_bump_the_epoch() {
        let mut state = ProducerState::default();
        let v2 = Judgement {
            origin: AppendOrigin::Coordinator,
            transaction: TransactionCheck::Waived,
            transaction_version: 2,
        };
        append(&mut state, spec(0, 0, 0, 1).transactional(), CLIENT).unwrap();
        assert!(append(&mut state, BatchSpec::marker(1, 7, 0, 1, true), v2).is_err());
        append(&mut state, BatchSpec::marker(1, 7, 1, 1, true), v2).unwrap();
        append(&mut state, BatchSpec::marker(2, 7, 1, 1, true), v2).unwrap();
        assert_eq!(state.get(7).unwrap().epoch, 1);
    }

    const V2: Judgement =
        Judgement { origin: AppendOrigin::Coordinator, transaction_version: 2, ..CLIENT };

    fn guarded(guard: Option<VerificationGuard>) -> Judgement {
        Judgement { transaction: TransactionCheck::Guarded(guard), ..CLIENT }
    }

    #[test]
    fn a_guard_lets_the_first_batch_through_and_nothing_after_a_marker() {
        let mut state = ProducerState::default();
        let coordinator = Judgement { origin: AppendOrigin::Coordinator, ..CLIENT };
        let guard = state.begin_verification(7, 0, 0, false, 0).unwrap();
        assert!(guard.is_some());
        assert_eq!(state.begin_verification(7, 0, 1, false, 0).unwrap(), guard, "asked again");
        append(&mut state, spec(0, 0, 0, 1).transactional(), guarded(guard)).unwrap();
        assert_eq!(state.begin_verification(7, 0, 1, false, 0), Ok(None), "it is known now");
        append(&mut state, spec(1, 0, 1, 1).transactional(), guarded(None)).unwrap();

        // The transaction ends. Whoever was let through for it comes too late.
        append(&mut state, BatchSpec::marker(2, 7, 0, 1, true), coordinator).unwrap();
        let late = append(&mut state, spec(3, 0, 2, 1).transactional(), guarded(guard));
        assert!(matches!(late, Err(ProducerError::InvalidTxnState { .. })), "{late:?}");
        let next = state.begin_verification(7, 0, 2, false, 0).unwrap();
        assert!(next.is_some() && next != guard);
        append(&mut state, BatchSpec::marker(3, 7, 0, 1, false), coordinator).unwrap();
        let late = append(&mut state, spec(4, 0, 2, 1).transactional(), guarded(next));
        assert!(matches!(late, Err(ProducerError::InvalidTxnState { .. })), "{late:?}");

        // A producer of an older epoch is not asked about.
        append(&mut state, BatchSpec::marker(4, 7, 3, 1, false), coordinator).unwrap();
        let stale = state.begin_verification(7, 2, 0, false, 0);
        assert!(matches!(stale, Err(ProducerError::InvalidEpoch { epoch: 2, current: 3, .. })));
    }

    #[test]
    fn a_marker_of_the_epoch_before_leaves_the_next_transactions_guard() {
        let mut state = ProducerState::default();
        let first = state.begin_verification(7, 0, 0, true, 0).unwrap();
        append(&mut state, spec(0, 0, 0, 1).transactional(), guarded(first)).unwrap();
        // The marker carries the epoch that the next transaction has. Its producer may be faster.
        let next = state.begin_verification(7, 1, 0, true, 0).unwrap();
        append(&mut state, BatchSpec::marker(1, 7, 1, 1, true), V2).unwrap();
        append(&mut state, spec(2, 1, 0, 1).transactional(), guarded(next)).unwrap();
        // With the protocol before, a marker of its own epoch ends what is asked about.
        let old = state.begin_verification(8, 0, 0, false, 0).unwrap();
        append(&mut state, BatchSpec::marker(3, 8, 0, 1, true), V2).unwrap();
        let other = BatchSpec::new(4, 1).producer(8, 0, 0).transactional();
        assert!(append(&mut state, other, guarded(old)).is_err());
    }

    #[test]
    fn a_marker_ends_what_is_asked_about_where_an_older_client_follows_a_newer_one() {
        let coordinator = Judgement { origin: AppendOrigin::Coordinator, ..CLIENT };
        for newer_first in [true, false] {
            let mut state = ProducerState::default();
            // A producer that has an epoch for each transaction asks in vain. The next one of its id has none.
            state.begin_verification(7, u8::from(!newer_first).into(), 0, true, 0).unwrap();
            let guard = state.begin_verification(7, 1, 0, false, 0).unwrap();
            // Its transaction ends while the answer is on its way.
            append(&mut state, BatchSpec::marker(0, 7, 1, 1, false), coordinator).unwrap();
            let late = append(&mut state, spec(1, 1, 0, 1).transactional(), guarded(guard));
            assert!(matches!(late, Err(ProducerError::InvalidTxnState { .. })), "{late:?}");
        }
    }

    #[test]
    fn batches_above_the_lowest_that_is_verified_wait_for_it() {
        let mut state = ProducerState::default();
        let expected = |sequence| {
            Err(ProducerError::OutOfOrderSequence {
                producer_id: 7,
                epoch: 0,
                sequence,
                expected: 4,
            })
        };
        // The first of two fails for now; without this the second would be taken, and the first never.
        let guard = state.begin_verification(7, 0, 4, false, 0).unwrap();
        assert_eq!(state.begin_verification(7, 0, 5, false, 0), Ok(guard));
        let second = spec(0, 0, 5, 1).transactional();
        assert_eq!(append(&mut state, second.clone(), guarded(guard)), expected(5));
        append(&mut state, spec(0, 0, 4, 1).transactional(), guarded(guard)).unwrap();
        append(&mut state, second, guarded(None)).unwrap();

        // A producer nobody knows begins at 0 where every transaction has its epoch.
        let guard = state.begin_verification(9, 0, 3, true, 0).unwrap();
        let middle = BatchSpec::new(2, 1).producer(9, 0, 3).transactional();
        assert!(matches!(
            append(&mut state, middle, guarded(guard)),
            Err(ProducerError::OutOfOrderSequence { expected: 0, .. })
        ));
    }

    #[test]
    fn verifications_expire() {
        let mut state = ProducerState::default();
        state.begin_verification(8, 0, 0, false, 1000).unwrap();
        state.expire(1999, 1000);
        assert_eq!(state.verifications.len(), 1);
        state.expire(2000, 1000);
        assert!(state.verifications.is_empty());
    }

    #[test]
    fn silent_producers_expire_unless_a_transaction_is_open() {
        let mut state = ProducerState::default();
        append(&mut state, spec(0, 0, 0, 1).timestamp(1000), CLIENT).unwrap();
        let open = BatchSpec::new(1, 1).producer(8, 0, 0).transactional().timestamp(1000);
        append(&mut state, open, CLIENT).unwrap();
        assert_eq!(state.expire(1999, 1000), 0);
        assert_eq!(state.expire(2000, 1000), 1);
        assert!(state.get(7).is_none() && state.get(8).is_some());
    }
}
