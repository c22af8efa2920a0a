//! What a partition remembers of its producers: idempotence, open transactions, the last stable
//! offset.
//!
//! The rules are those of Kafka 4.3. An append is first analyzed ([`ProducerState::analyze`] on
//! every batch, into [`Updates`]), and applied as a whole when all of it is in order; nothing
//! changes otherwise. After warm-up neither step allocates, except when a transaction begins or
//! ends.
//!
//! Not here: verifying transactions with their coordinator; the caller says whether that was done.

use std::collections::{BTreeMap, HashMap};

use thalweg_records::BatchView;
use thalweg_records::batch::add_sequence;

use crate::control::{EndTxnMarker, parse_end_txn};

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

/// One batch of a producer, as remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct BatchMeta {
    pub(crate) last_sequence: i32,
    pub(crate) offset_delta: i32,
    pub(crate) last_offset: i64,
    pub(crate) timestamp: i64,
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

    /// As a snapshot holds it.
    pub(crate) fn restored(
        epoch: i16,
        coordinator_epoch: i32,
        last_timestamp: i64,
        txn_first_offset: i64,
        last_batch: Option<BatchMeta>,
    ) -> Producer {
        let mut producer = Producer {
            epoch,
            coordinator_epoch,
            last_timestamp,
            txn_first_offset: txn_first_offset.max(-1),
            ..Producer::empty()
        };
        if let Some(batch) = last_batch {
            producer.push(batch);
        }
        producer
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
    pub(crate) completed: Vec<CompletedTxn>,
}

impl Updates {
    pub(crate) fn clear(&mut self) {
        self.producers.clear();
        self.started.clear();
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
    /// The coordinator has confirmed the transaction, or none needs confirming.
    pub(crate) transaction_verified: bool,
    /// `transaction.version` of a marker's sender; 0 and 1 are alike.
    pub(crate) transaction_version: i16,
}

impl Judgement {
    pub(crate) const REPLAY: Judgement = Judgement {
        origin: AppendOrigin::Replication,
        transaction_verified: true,
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

    #[cfg(test)]
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
                if !judgement.transaction_verified && !batch.is_control() {
                    return Err(ProducerError::InvalidTxnState {
                        producer_id,
                        reason: "the batch is not part of an ongoing transaction",
                    });
                }
            }
        }

        let current = known.copied().unwrap_or_else(Producer::empty);
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
            append_data(producer_id, &current, next, batch, judgement, &mut updates.started)?;
        }
        Ok(Verdict::Append)
    }

    /// Makes an analyzed append part of the state. The transactions it ended are left to
    /// [`Self::complete`], because the transaction index needs the last stable offset in between.
    pub(crate) fn apply(&mut self, updates: &Updates) {
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
    }

    /// The last stable offset once `completed` has ended: what its index entry says.
    pub(crate) fn last_stable_offset_after(&self, completed: &CompletedTxn) -> i64 {
        self.ongoing
            .iter()
            .find(|(_, txn)| txn.producer_id != completed.producer_id)
            .map_or(completed.last_offset + 1, |(&first_offset, _)| first_offset)
    }

    pub(crate) fn complete(&mut self, completed: &CompletedTxn) {
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

    pub(crate) fn has_transactions(&self) -> bool {
        !self.ongoing.is_empty() || !self.unreplicated.is_empty()
    }

    /// Transactions that ended below `offset` are decided.
    pub(crate) fn on_high_watermark(&mut self, offset: i64) {
        if !self.unreplicated.is_empty() {
            self.unreplicated.retain(|_, txn| txn.last_offset >= offset);
        }
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
        if self.producers.is_empty() {
            self.producers.shrink_to_fit();
        }
        before - self.producers.len()
    }
}

pub(crate) fn is_expired(producer: &Producer, now_ms: i64, expiration_ms: i64) -> bool {
    producer.txn_first_offset < 0 && now_ms.saturating_sub(producer.last_timestamp) >= expiration_ms
}

fn append_data(
    producer_id: i64,
    current: &Producer,
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
        check_sequence(producer_id, current, next, epoch, batch.base_sequence())?;
    }
    let last_offset = batch.last_offset();
    next.set_epoch(epoch);
    next.push(BatchMeta {
        last_sequence: batch.last_sequence(),
        offset_delta: batch.last_offset_delta(),
        last_offset,
        timestamp: batch.max_timestamp(),
    });
    next.last_timestamp = batch.max_timestamp();
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
    current: &Producer,
    next: &Producer,
    epoch: i16,
    sequence: i32,
) -> Result<(), ProducerError> {
    let refuse = |expected| {
        Err(ProducerError::OutOfOrderSequence { producer_id, epoch, sequence, expected })
    };
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
        transaction_verified: true,
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
            state.apply(&updates);
            for completed in &updates.completed {
                state.complete(completed);
            }
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
        let unverified = Judgement { transaction_verified: false, ..CLIENT };
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
            transaction_verified: true,
            transaction_version: 2,
        };
        append(&mut state, spec(0, 0, 0, 1).transactional(), CLIENT).unwrap();
        assert!(append(&mut state, BatchSpec::marker(1, 7, 0, 1, true), v2).is_err());
        append(&mut state, BatchSpec::marker(1, 7, 1, 1, true), v2).unwrap();
        append(&mut state, BatchSpec::marker(2, 7, 1, 1, true), v2).unwrap();
        assert_eq!(state.get(7).unwrap().epoch, 1);
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
