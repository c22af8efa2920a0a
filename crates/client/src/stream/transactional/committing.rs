//! The transactions of one sink or flow: a task begins them, and ends them when it is time, whether the
//! stream is polled then or not.
//!
//! Invariants:
//! - An envelope's records and its offsets are in one transaction.
//! - A transaction is committed only if every partition that it has offsets of was held when the group's
//!   coordinator took these. Whoever has such a partition next waits there until the transaction is
//!   decided (KIP-447).
//! - No offset is committed before an earlier one of its partition, nor behind one of an envelope that is
//!   in no transaction that was committed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use smallvec::{SmallVec, smallvec};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::given::{Given, Objection, TakenIn};
use super::settings::TransactionSettings;
use crate::cluster::coordinator::CommittedOffset;
use crate::core::partition::TopicPartition;
use crate::core::produce::{AbortReason, TransactionError};
use crate::error::Error;
use crate::producer::{Delivery, Producer, Transaction, TrySendError};
use crate::stream::hub::Hub;
use crate::stream::hub::committable::CommittableOffset;
use crate::stream::sinks::envelope::OwnedProducerRecord;

/// What a sink or flow and its task have in common.
pub(super) struct Committing {
    settings: TransactionSettings,
    state: Mutex<State>,
    /// The transaction that is open is to be looked at.
    look: Arc<Notify>,
    runtime: Handle,
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
    offsets: Offsets,
    /// The consumers that something came from.
    hubs: Vec<Weak<Hub>>,
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
    /// Those who wait are to be woken.
    wakes: bool,
}

/// The highest offset of each partition, by its assignment's address. Those of a transaction that is not
/// committed are passed over by nothing.
#[derive(Default)]
struct Offsets(HashMap<usize, CommittableOffset>);

/// What became of something that was to be taken in.
pub(super) enum Taken {
    /// It is in a transaction.
    In(TakenIn),
    /// Its partitions were given up: it is somebody else's.
    Gone,
    /// No transaction is open; whoever waits is woken.
    Wait(Given),
}

/// A transaction that is to end, with its offsets.
struct Due {
    transaction: Transaction,
    number: u64,
    offsets: Offsets,
    /// Why it is aborted.
    error: Option<Error>,
}

impl Committing {
    /// Begins to look after the transactions of a producer.
    pub fn begin(
        producer: &Producer,
        settings: TransactionSettings,
    ) -> Result<Arc<Committing>, Error> {
        let Some(timeout) = producer.transaction_timeout() else {
            return Err(TransactionError::NotTransactional.into());
        };
        if settings.commit_interval >= timeout {
            let reason = "must be longer than the commit interval".to_owned();
            return Err(Error::Config { name: "transaction.timeout.ms".into(), reason });
        }
        let runtime = Handle::current();
        let (state, look) = (Mutex::default(), Arc::new(Notify::new()));
        let committing = Arc::new(Committing { settings, state, look, runtime });
        let running = Arc::clone(&committing).run(producer.clone());
        committing.runtime.spawn(running);
        Ok(committing)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something under the lock, and wakes who waits for it afterwards.
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state);
        let woken = match std::mem::take(&mut state.wakes) {
            true => std::mem::take(&mut state.waiting),
            false => Vec::new(),
        };
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        result
    }

    /// Takes something into the transaction that is open.
    pub fn take(self: &Arc<Self>, given: Given, waker: &Waker) -> Result<Taken, Error> {
        self.with(|state| {
            if let Some(error) = &state.error {
                return Err(error.clone());
            }
            if state.is_open() {
                return self.submit(state, given);
            }
            state.wait(waker);
            Ok(Taken::Wait(given))
        })
    }

    /// The same for whoever does not come back: it is taken into the transaction that is open next. Only
    /// after [`Self::poll_room`].
    pub fn take_later(self: &Arc<Self>, given: Given) -> Result<(), Error> {
        self.with(|state| {
            if let Some(error) = &state.error {
                return Err(error.clone());
            }
            if state.is_open() {
                return self.submit(state, given).map(drop);
            }
            if state.parked.is_some() {
                let reason = "was given something that it was not ready for".to_owned();
                return Err(state.stop(Error::Config { name: "the sink".into(), reason }));
            }
            state.parked = Some(given);
            Ok(())
        })
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

    fn submit(self: &Arc<Self>, state: &mut State, mut given: Given) -> Result<Taken, Error> {
        let Some(transaction) = &state.open else { return Ok(Taken::Wait(given)) };
        match given.objection() {
            None => {}
            // Whoever has its partitions now does it.
            Some(Objection::Gone) => {
                tracing::debug!("what is left to other members is not produced");
                given.offsets.clear();
                return Ok(Taken::Gone);
            }
            Some(Objection::Because(reason)) => {
                self.look.notify_one();
                return Err(state.stop(TransactionError::Aborted(reason).into()));
            }
        }
        // One without records counts, too: what waits for its commit is bounded.
        state.records += given.records.len().max(1);
        let mut records = std::mem::take(&mut given.records).into_iter();
        let mut taken = TakenIn { number: state.number, deliveries: SmallVec::new(), rest: None };
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
                    self.look.notify_one();
                    return Err(state.stop(error));
                }
            }
        }
        rest.extend(records);
        if !rest.is_empty() {
            // A stream that nobody polls must not keep the transaction open.
            state.is_sending = true;
            let (producer, number) = (transaction.producer().clone(), transaction.number());
            let sending = Arc::clone(self).send_rest(producer, number, rest);
            taken.rest = Some(self.runtime.spawn(sending));
        }
        let mut has_to_look = false;
        for offset in std::mem::take(&mut given.offsets) {
            if let Some(hub) = offset.assignment().hub() {
                hub.tell_of_revocations(&self.look);
                state.note_hub(&hub);
            }
            // It was to be given up before this came.
            has_to_look |= !offset.assignment().is_open();
            state.offsets.keep(offset);
        }
        state.used = state.number;
        let is_first = state.since.is_none();
        if is_first {
            state.since = Some(Instant::now());
        }
        if is_first || has_to_look || state.records >= self.settings.max_records {
            self.look.notify_one();
        }
        Ok(Taken::In(taken))
    }

    async fn send_rest(
        self: Arc<Self>,
        producer: Producer,
        transaction: u64,
        records: Vec<OwnedProducerRecord>,
    ) -> Vec<Delivery> {
        let mut failed = None;
        let mut deliveries = Vec::with_capacity(records.len());
        for record in records {
            match producer.send_in(&record, Some(transaction)).await {
                Ok(delivery) => deliveries.push(delivery),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.with(|state| {
            state.is_sending = false;
            if let Some(error) = failed {
                let failure = state.open.as_ref().and_then(Transaction::failure);
                state.stop(failure.map_or(Error::Produce(error), Error::from));
            }
            state.wakes = true;
        });
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
        let mut state = self.lock();
        state.is_left = true;
        // At once: another sink may take what comes behind it before the task ends.
        state.offsets.note_skipped();
        if let Some(parked) = &state.parked {
            parked.offsets.iter().for_each(|offset| offset.assignment().note_skipped());
        }
        drop(state);
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
            let Some(mut due) = self.due().await else { return };
            if let Some(error) = due.error {
                // Before the next transaction of the producer can begin.
                due.offsets.note_skipped();
                drop(due.transaction.abort().await);
                return self.fail(error);
            }
            due.offsets.pass();
            if let Err(error) = commit(due.transaction, &due.offsets).await {
                return self.fail(error);
            }
            due.offsets.note_committed();
            self.with(|state| {
                state.committed = due.number;
                state.wakes = true;
            });
        }
    }

    fn open(self: &Arc<Self>, transaction: Transaction) {
        self.with(|state| {
            state.number += 1;
            state.records = 0;
            // Whoever waits for what is parked asks again.
            state.is_due = false;
            state.open = Some(transaction);
            if let Some(parked) = state.parked.take() {
                // Whoever gave it hears of an error with the next that is given.
                drop(self.submit(state, parked));
            }
            state.wakes = true;
        });
    }

    fn fail(&self, error: Error) {
        self.with(|state| state.stop(error));
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
    async fn due(self: &Arc<Self>) -> Option<Due> {
        let mut positions_at = None;
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
                // Where nothing comes that a transaction could be made of there may be positions.
                None => {
                    let next_at = || Some(Instant::now() + self.lock().position_interval()?);
                    positions_at = positions_at.or_else(next_at);
                    let until = async {
                        match positions_at {
                            Some(at) => sleep_until(at).await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        () = looked => {}
                        () = until => {
                            positions_at = None;
                            self.take_passed();
                        }
                    }
                }
            }
        }
    }

    /// Takes the positions of partitions into the transaction that is open: behind all that was
    /// committed of them there may be markers of transactions, and aborted records.
    fn take_passed(self: &Arc<Self>) {
        let hubs: Vec<Arc<Hub>> = self.lock().hubs.iter().filter_map(Weak::upgrade).collect();
        for offset in hubs.iter().flat_map(|hub| hub.passed_offsets()) {
            let mut given = Given { records: SmallVec::new(), offsets: smallvec![offset] };
            self.with(|state| {
                if state.is_open() && given.objection().is_none() {
                    // What went wrong is found by the next that is given.
                    return drop(self.submit(state, given));
                }
                // Nothing was handed out with it: it is no envelope that is passed over.
                given.offsets.clear();
            });
        }
    }
}

impl State {
    fn note_hub(&mut self, hub: &Arc<Hub>) {
        if !self.hubs.iter().any(|known| known.as_ptr() == Arc::as_ptr(hub)) {
            self.hubs.retain(|known| known.strong_count() > 0);
            self.hubs.push(Arc::downgrade(hub));
        }
    }

    /// How often positions are looked for.
    fn position_interval(&self) -> Option<Duration> {
        let hubs = self.hubs.iter().filter_map(Weak::upgrade);
        hubs.filter_map(|hub| hub.position_interval()).min()
    }

    /// Whether something can be taken into a transaction now.
    fn is_open(&self) -> bool {
        self.open.is_some() && !self.is_sending && self.parked.is_none()
    }

    fn wait(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    /// Nothing goes on; the first reason counts.
    fn stop(&mut self, error: Error) -> Error {
        self.wakes = true;
        self.error.get_or_insert(error).clone()
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
        match self.is_due || is_full || self.offsets.has_to_give_up() {
            true => Some(since),
            false => Some(since + settings.commit_interval),
        }
    }

    fn take_due(&mut self) -> Option<Due> {
        self.since = None;
        let transaction = self.open.take()?;
        let left = self.is_left.then_some(Error::ConsumerClosed);
        let error = self.error.clone().or(left);
        let (number, offsets) = (self.number, std::mem::take(&mut self.offsets));
        Some(Due { transaction, number, offsets, error })
    }
}

impl Offsets {
    fn keep(&mut self, offset: CommittableOffset) {
        let key = Arc::as_ptr(offset.assignment()) as usize;
        match self.0.get_mut(&key) {
            Some(known) if known.position().offset > offset.position().offset => {}
            Some(known) => *known = offset,
            None => drop(self.0.insert(key, offset)),
        }
    }

    /// Whether a partition of them waits to be given up.
    fn has_to_give_up(&self) -> bool {
        self.0.values().any(|offset| !offset.assignment().is_open())
    }

    /// Why they cannot be committed; `None` while they can.
    fn objection(&self) -> Option<AbortReason> {
        let of = |offset: &CommittableOffset| offset.topic_partition().clone();
        let is_gone = |offset: &&CommittableOffset| !offset.assignment().is_held();
        if let Some(gone) = self.0.values().find(is_gone) {
            return Some(AbortReason::Revoked(of(gone)));
        }
        // The log went back since, or the topic was created again.
        let is_past = |offset: &&CommittableOffset| {
            let (assignment, partition) = (offset.assignment(), offset.topic_partition());
            let now = assignment.hub().and_then(|hub| hub.handle.topic_id(&partition.topic));
            !offset.is_of_now() || assignment.is_of_former_topic(now)
        };
        let past = self.0.values().find(is_past)?;
        Some(AbortReason::Skipped(of(past)))
    }

    fn note_skipped(&self) {
        self.0.values().for_each(|offset| offset.assignment().note_skipped());
    }

    /// Commits positions behind what was handed out last, where they are known.
    fn pass(&mut self) {
        for offset in self.0.values_mut() {
            let assignment = Arc::clone(offset.assignment());
            let passed = assignment.hub().and_then(|hub| hub.handle.passed(&assignment.partition));
            let done = offset.position().offset;
            let to = passed.and_then(|passed| assignment.passed_in_transaction(passed, done));
            if let Some(position) = to {
                offset.pass_to(position);
            }
        }
    }

    fn note_committed(mut self) {
        for (_, offset) in self.0.drain() {
            offset.assignment().note_committed_with_transaction(offset.position());
        }
    }

    /// By the consumer whose group they are of.
    fn by_hub(&self) -> Result<Vec<(Arc<Hub>, Entries)>, AbortReason> {
        let mut by_hub: Vec<(Arc<Hub>, Entries)> = Vec::new();
        for offset in self.0.values() {
            let partition = offset.topic_partition().clone();
            let Some(hub) = offset.assignment().hub() else {
                return Err(AbortReason::Revoked(partition));
            };
            let metadata = offset.metadata().map(str::to_owned);
            let entry = (partition, CommittedOffset { position: offset.position(), metadata });
            match by_hub.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &hub)) {
                Some((_, entries)) => entries.push(entry),
                None => by_hub.push((hub, vec![entry])),
            }
        }
        Ok(by_hub)
    }
}

impl Drop for Offsets {
    fn drop(&mut self) {
        self.note_skipped();
    }
}

/// Offsets of one group.
type Entries = Vec<(TopicPartition, CommittedOffset)>;

/// Commits a transaction with these offsets.
async fn commit(transaction: Transaction, offsets: &Offsets) -> Result<(), Error> {
    match add_offsets(&transaction, offsets).await {
        Ok(()) => Ok(transaction.commit().await?),
        Err(error) => {
            offsets.note_skipped();
            drop(transaction.abort().await);
            Err(error.into())
        }
    }
}

async fn add_offsets(transaction: &Transaction, offsets: &Offsets) -> Result<(), TransactionError> {
    for (hub, entries) in offsets.by_hub().map_err(TransactionError::Aborted)? {
        // Before it is looked whether the partitions are held: a member that loses one is another
        // generation's then, and refused.
        let group = hub.handle.group_metadata();
        if let Some(reason) = offsets.objection() {
            return Err(TransactionError::Aborted(reason));
        }
        if let Some(group) = group {
            transaction.send_offsets(entries, &group).await?;
        }
    }
    offsets.objection().map_or(Ok(()), |reason| Err(TransactionError::Aborted(reason)))
}

/// Whatever ends the task: nobody waits for it.
struct Finish<'a>(&'a Committing);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let left = self.0.with(|state| {
            state.stop(Error::ConsumerClosed);
            (state.open.take(), state.parked.take(), std::mem::take(&mut state.offsets))
        });
        drop(left);
    }
}
