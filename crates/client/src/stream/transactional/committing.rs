//! The transactions of one sink or flow: a task begins them, and ends them when it is time, whether the
//! stream is polled then or not.
//!
//! Invariants:
//! - An envelope's records and its offsets are in one transaction.
//! - A transaction is committed only if every partition that it has offsets of was held when the group's
//!   coordinator took these. Whoever has such a partition next waits there until the transaction is
//!   decided (KIP-447).
//! - No offset is committed before an earlier one of its partition.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use smallvec::SmallVec;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::TransactionSettings;
use super::offsets::Transactional;
use crate::coordinator::CommittedOffset;
use crate::core::partition::TopicPartition;
use crate::core::produce::{AbortReason, TransactionError};
use crate::error::Error;
use crate::producer::{Delivery, Producer, Transaction, TrySendError};
use crate::stream::committable::CommittableOffset;
use crate::stream::envelope::{Envelope, OwnedProducerRecord};
use crate::stream::hub::Hub;

/// What a sink or flow and its task have in common.
pub(super) struct Committing {
    settings: TransactionSettings,
    state: Mutex<State>,
    /// The transaction that is open is to be looked at.
    look: Arc<Notify>,
}

#[derive(Default)]
struct State {
    /// Envelopes are taken into it.
    open: Option<Transaction>,
    /// Its number, from 1, which is also that of the one that is being committed.
    number: u64,
    /// The last one that has something, and the last one that is committed.
    used: u64,
    committed: u64,
    /// Records in it, and when the first envelope came.
    records: usize,
    since: Option<Instant>,
    /// The highest offset of each partition, by its assignment's address.
    offsets: HashMap<usize, CommittableOffset>,
    /// What the next one begins with.
    parked: Option<Given>,
    /// A task hands the rest of an envelope to the producer.
    is_sending: bool,
    /// It is to be committed at once.
    is_due: bool,
    /// Why nothing goes on.
    error: Option<Error>,
    /// Nobody gives or waits any more.
    is_left: bool,
    waiting: Vec<Waker>,
}

/// What goes into one transaction together: an envelope, but for what its application keeps.
pub(super) struct Given {
    records: SmallVec<[OwnedProducerRecord; 1]>,
    offsets: SmallVec<[CommittableOffset; 1]>,
}

impl Given {
    pub fn of<C: Transactional>(envelope: Envelope<C>) -> (Given, C) {
        let Envelope { records, pass_through } = envelope;
        let mut offsets = SmallVec::new();
        pass_through.each(&mut |offset| offsets.push(offset.clone()));
        (Given { records, offsets }, pass_through)
    }
}

/// What became of something that was to be taken in.
pub(super) enum Taken {
    /// It is in a transaction.
    In(InTransaction),
    /// Its partition was given up: it is somebody else's.
    Gone,
    /// No transaction is open; whoever waits is woken.
    Wait(Given),
}

/// Where an envelope is.
pub(super) struct InTransaction {
    /// The transaction.
    pub number: u64,
    /// What becomes of its records.
    pub deliveries: SmallVec<[Delivery; 1]>,
    /// The same of those for which there was no room; there when the transaction is committed.
    pub rest: Option<JoinHandle<Vec<Delivery>>>,
}

/// A transaction that is to end, with its offsets.
struct Due {
    transaction: Transaction,
    number: u64,
    offsets: HashMap<usize, CommittableOffset>,
    /// Why it is aborted.
    error: Option<Error>,
}

impl Committing {
    /// Begins to look after the transactions of a producer.
    pub fn begin(
        producer: &Producer,
        settings: TransactionSettings,
    ) -> Result<Arc<Committing>, Error> {
        if !producer.is_transactional() {
            return Err(TransactionError::NotTransactional.into());
        }
        let look = Arc::new(Notify::new());
        let committing = Arc::new(Committing { settings, state: Mutex::default(), look });
        tokio::spawn(Arc::clone(&committing).run(producer.clone()));
        Ok(committing)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes something into the transaction that is open.
    pub fn take(self: &Arc<Self>, given: Given, waker: &Waker) -> Result<Taken, Error> {
        let mut state = self.lock();
        if state.is_open() && state.error.is_none() {
            return self.submit(&mut state, given);
        }
        state.wait(waker);
        state.error.clone().map_or(Ok(Taken::Wait(given)), Err)
    }

    /// The same for whoever does not come back: it is taken into the transaction that is open next. Only
    /// after [`Self::poll_room`].
    pub fn take_later(self: &Arc<Self>, given: Given) -> Result<(), Error> {
        let mut state = self.lock();
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        if state.is_open() {
            return self.submit(&mut state, given).map(drop);
        }
        state.parked = Some(given);
        Ok(())
    }

    /// Waits until something can be taken.
    pub fn poll_room(&self, waker: &Waker) -> Poll<Result<(), Error>> {
        let mut state = self.lock();
        if let Some(error) = &state.error {
            return Poll::Ready(Err(error.clone()));
        }
        if state.is_open() {
            return Poll::Ready(Ok(()));
        }
        state.wait(waker);
        Poll::Pending
    }

    fn submit(self: &Arc<Self>, state: &mut State, given: Given) -> Result<Taken, Error> {
        let Some(transaction) = &state.open else { return Ok(Taken::Wait(given)) };
        let Given { records, offsets } = given;
        if offsets.iter().any(|offset| !offset.assignment().is_held()) {
            return Ok(Taken::Gone);
        }
        let is_late = |offset: &&CommittableOffset| {
            offset.assignment().has_committed_behind(offset.position().offset)
        };
        if let Some(late) = offsets.iter().find(is_late) {
            let (partition, offset) = (late.topic_partition().clone(), late.position().offset);
            let reason = AbortReason::Order { partition, offset };
            return Err(self.stop(state, TransactionError::Aborted(reason).into()));
        }
        state.records += records.len();
        let mut records = records.into_iter();
        let mut taken =
            InTransaction { number: state.number, deliveries: SmallVec::new(), rest: None };
        let mut rest: Vec<OwnedProducerRecord> = Vec::new();
        for record in records.by_ref() {
            match transaction.try_send(&record) {
                Ok(delivery) => taken.deliveries.push(delivery),
                Err(TrySendError::Full | TrySendError::NotReady) => {
                    rest.push(record);
                    break;
                }
                Err(TrySendError::Failed(error)) => {
                    let error = transaction.failure().map_or(Error::Produce(error), Error::from);
                    return Err(self.stop(state, error));
                }
            }
        }
        rest.extend(records);
        if !rest.is_empty() {
            // A stream that nobody polls must not keep the transaction open.
            state.is_sending = true;
            let producer = transaction.producer().clone();
            taken.rest = Some(tokio::spawn(Arc::clone(self).send_rest(producer, rest)));
        }
        for offset in offsets {
            if let Some(hub) = offset.assignment().hub() {
                hub.tell_of_revocations(&self.look);
            }
            keep(&mut state.offsets, offset);
        }
        state.used = state.number;
        let is_first = state.since.is_none();
        if is_first {
            state.since = Some(Instant::now());
        }
        if is_first || state.records >= self.settings.max_records {
            self.look.notify_one();
        }
        Ok(Taken::In(taken))
    }

    /// Nothing goes on.
    fn stop(&self, state: &mut State, error: Error) -> Error {
        let error = state.error.get_or_insert(error).clone();
        state.wake();
        self.look.notify_one();
        error
    }

    async fn send_rest(
        self: Arc<Self>,
        producer: Producer,
        records: Vec<OwnedProducerRecord>,
    ) -> Vec<Delivery> {
        let mut failed = None;
        let mut deliveries = Vec::with_capacity(records.len());
        for record in records {
            match producer.send(&record).await {
                Ok(delivery) => deliveries.push(delivery),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let mut state = self.lock();
        state.is_sending = false;
        if let Some(error) = failed
            && state.error.is_none()
        {
            let failure = state.open.as_ref().and_then(Transaction::failure);
            state.error = Some(failure.map_or(Error::Produce(error), Error::from));
        }
        state.wake();
        self.look.notify_one();
        deliveries
    }

    /// Waits until every envelope that was taken in is committed, and has that done at once.
    pub fn poll_committed(&self, waker: &Waker) -> Poll<Result<(), Error>> {
        let mut state = self.lock();
        if let Some(error) = &state.error {
            return Poll::Ready(Err(error.clone()));
        }
        if state.committed >= state.used && state.parked.is_none() {
            return Poll::Ready(Ok(()));
        }
        state.is_due = true;
        state.wait(waker);
        self.look.notify_one();
        Poll::Pending
    }

    /// Whether the transaction of this number is committed; whoever asks is woken when that changes.
    pub fn is_committed(&self, number: u64, waker: &Waker) -> Result<bool, Error> {
        let mut state = self.lock();
        if state.committed >= number {
            return Ok(true);
        }
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        state.wait(waker);
        Ok(false)
    }

    /// Nobody gives anything any more, or waits: what is not committed is aborted.
    pub fn leave(&self) {
        self.lock().is_left = true;
        self.look.notify_one();
    }

    /// Begins transactions and ends them, until something fails or nobody is left.
    async fn run(self: Arc<Self>, producer: Producer) {
        let _finish = Finish(&self);
        loop {
            let begun = tokio::select! {
                begun = producer.begin_next() => begun,
                () = self.until_left() => return,
            };
            match begun {
                Ok(transaction) => self.open(transaction),
                Err(error) => return self.fail(error.into()),
            }
            let Some(due) = self.due().await else { return };
            if let Some(error) = due.error {
                drop(due.transaction.abort().await);
                return self.fail(error);
            }
            if let Err(error) = commit(due.transaction, &due.offsets).await {
                return self.fail(error);
            }
            for offset in due.offsets.into_values() {
                offset.assignment().note_committed_with_transaction(offset.position());
            }
            let mut state = self.lock();
            state.committed = due.number;
            state.wake();
        }
    }

    fn open(self: &Arc<Self>, transaction: Transaction) {
        let mut state = self.lock();
        state.number += 1;
        state.records = 0;
        state.open = Some(transaction);
        if let Some(parked) = state.parked.take() {
            // Whoever gave it hears of an error with the next that is given.
            drop(self.submit(&mut state, parked));
        }
        state.wake();
    }

    fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.error.get_or_insert(error);
        state.wake();
    }

    async fn until_left(&self) {
        loop {
            let looked = self.look.notified();
            if self.lock().is_left {
                return;
            }
            looked.await;
        }
    }

    /// Waits until the transaction that is open is to end, and takes it: nothing is taken into it any
    /// more.
    async fn due(&self) -> Option<Due> {
        loop {
            let looked = self.look.notified();
            let at = {
                let mut state = self.lock();
                match state.when_due(&self.settings) {
                    Some(at) if at <= Instant::now() => return state.take_due(),
                    at => at,
                }
            };
            match at {
                Some(at) => tokio::select! {
                    () = looked => {}
                    () = sleep_until(at) => {}
                },
                None => looked.await,
            }
        }
    }
}

impl State {
    /// Whether something can be taken into a transaction now.
    fn is_open(&self) -> bool {
        self.open.is_some() && !self.is_sending && self.parked.is_none()
    }

    fn wait(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    /// When the transaction that is open is to end; `None` while that depends on others.
    fn when_due(&self, settings: &TransactionSettings) -> Option<Instant> {
        let has_failed = self.open.as_ref().and_then(Transaction::failure).is_some();
        if self.is_left || self.error.is_some() || has_failed {
            return Some(Instant::now());
        }
        // The rest of an envelope goes with it.
        let since = self.since.filter(|_| !self.is_sending)?;
        let is_full = self.records >= settings.max_records;
        match self.is_due || is_full || self.has_to_give_up() {
            true => Some(since),
            false => Some(since + settings.commit_interval),
        }
    }

    fn take_due(&mut self) -> Option<Due> {
        self.is_due = false;
        self.since = None;
        let transaction = self.open.take()?;
        let left = self.is_left.then_some(Error::ConsumerClosed);
        let error = self.error.clone().or(left);
        let (number, offsets) = (self.number, std::mem::take(&mut self.offsets));
        Some(Due { transaction, number, offsets, error })
    }

    /// Whether a partition that it has something of waits to be given up.
    fn has_to_give_up(&self) -> bool {
        self.offsets.values().any(|offset| !offset.assignment().is_open())
    }
}

/// Keeps the highest offset of each partition.
fn keep(offsets: &mut HashMap<usize, CommittableOffset>, offset: CommittableOffset) {
    let key = Arc::as_ptr(offset.assignment()) as usize;
    match offsets.get_mut(&key) {
        Some(known) if known.position().offset > offset.position().offset => {}
        Some(known) => *known = offset,
        None => drop(offsets.insert(key, offset)),
    }
}

/// Offsets of one group.
type Entries = Vec<(TopicPartition, CommittedOffset)>;

/// Commits a transaction with these offsets.
async fn commit(
    transaction: Transaction,
    offsets: &HashMap<usize, CommittableOffset>,
) -> Result<(), Error> {
    let mut by_hub: Vec<(Arc<Hub>, Entries)> = Vec::new();
    for offset in offsets.values() {
        let Some(hub) = offset.assignment().hub() else {
            return give_up(transaction, offset).await;
        };
        let metadata = offset.metadata().map(str::to_owned);
        let committed = CommittedOffset { position: offset.position(), metadata };
        let entry = (offset.topic_partition().clone(), committed);
        match by_hub.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &hub)) {
            Some((_, entries)) => entries.push(entry),
            None => by_hub.push((hub, vec![entry])),
        }
    }
    for (hub, entries) in by_hub {
        // Before it is looked whether the partitions are held: a member that loses one is another
        // generation's then, and refused.
        let group = hub.handle.group_metadata();
        if let Some(gone) = offsets.values().find(|offset| !offset.assignment().is_held()) {
            return give_up(transaction, gone).await;
        }
        let Some(group) = group else { continue };
        if let Err(error) = transaction.send_offsets(entries, &group).await {
            drop(transaction.abort().await);
            return Err(error.into());
        }
    }
    if let Some(gone) = offsets.values().find(|offset| !offset.assignment().is_held()) {
        return give_up(transaction, gone).await;
    }
    Ok(transaction.commit().await?)
}

/// Aborts a transaction with something of a partition that is gone.
async fn give_up(transaction: Transaction, gone: &CommittableOffset) -> Result<(), Error> {
    drop(transaction.abort().await);
    Err(TransactionError::Aborted(AbortReason::Revoked(gone.topic_partition().clone())).into())
}

/// Whatever ends the task: nobody waits for it.
struct Finish<'a>(&'a Committing);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open = None;
        state.parked = None;
        state.offsets.clear();
        state.error.get_or_insert(Error::ConsumerClosed);
        state.wake();
    }
}
