//! Transactions as the application sees them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::shared::{Shared, State};
use super::{Delivery, Producer, TrySendError};
use crate::cluster::coordinator::{self, CommittedOffset};
use crate::core::group::GroupMetadata;
use crate::core::partition::TopicPartition;
use crate::core::produce::transaction::{Begun, TransactionEnd, TransactionOffsets};
use crate::core::produce::{AsProducerRecord, ProduceError, ProduceErrorKind, TransactionError};

/// A transaction that is open. What is sent in it, and the offsets that are added to it, are there
/// for those who read what is committed (`isolation.level=read_committed`) all together, or not at all.
///
/// It has to be [committed](Self::commit) or [aborted](Self::abort). Dropping it aborts it, and
/// says so in the log of the program: work that was thought to be done would be missing.
///
/// One producer has one transaction at a time. It may be sent in from many tasks: all methods but
/// the last two take `&self`.
///
/// ```no_run
/// use thalweg::{Cluster, Error, Options, Producer, ProducerConfig, ProducerRecord};
///
/// # async fn example() -> Result<(), Error> {
/// let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
/// let config = ProducerConfig::default().with_transactional_id("billing-1");
/// let producer = Producer::new(cluster, config)?;
/// // Ends what an earlier producer of this name has left.
/// producer.init_transactions().await?;
/// loop {
///     let transaction = producer.begin().await?;
///     drop(transaction.send(ProducerRecord::new("bills").with_value(b"17.40")).await?);
///     drop(transaction.send(ProducerRecord::new("journal").with_value(b"billed")).await?);
///     match transaction.commit().await {
///         Ok(()) => break,
///         // Nothing of it will be read: the same producer does it again.
///         Err(error) if error.is_aborted() => continue,
///         Err(error) => return Err(error.into()),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a transaction that is neither committed nor aborted is aborted when it is dropped"]
pub struct Transaction {
    producer: Producer,
    number: u64,
    ends: TransactionEnd,
    is_over: bool,
}

impl Producer {
    /// Has the producer id of `transactional.id` given to this producer. Who had it before is fenced,
    /// a transaction that it left open is aborted, and one that was decided is completed, before this is done:
    /// what a group has committed is settled then. [`Self::begin`] does it where it was not done.
    ///
    /// # Errors
    /// [`TransactionError::NotTransactional`] without `transactional.id`;
    /// [`TransactionError::Refused`] when this client may not use it;
    /// [`TransactionError::Timeout`] after [`ProducerConfig::max_block`](super::ProducerConfig::max_block);
    /// [`TransactionError::Fatal`] when the producer cannot go on.
    pub async fn init_transactions(&self) -> Result<(), TransactionError> {
        let refusals = self.shared().with(|state| {
            let refusals = state.sender.transaction_refusals();
            state.sender.initialize_transactions();
            refusals
        });
        let is_done = |state: &mut State| match state.sender.transactions_initialized(refusals) {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        self.shared().until("InitProducerId", is_done).await
    }

    /// `transaction.timeout.ms`, where it has a `transactional.id`.
    pub(crate) fn transaction_timeout(&self) -> Option<Duration> {
        let config = &self.shared().config;
        config.transactional_id.is_some().then_some(config.transaction_timeout)
    }

    /// Begins a transaction. Waits until the one before is over, if that is still being committed or
    /// aborted, and until the producer has its id.
    ///
    /// # Errors
    /// Those of [`Self::init_transactions`], and [`TransactionError::Open`] while a
    /// transaction is open: it has to be committed or aborted first.
    pub async fn begin(&self) -> Result<Transaction, TransactionError> {
        self.begin_with(Err(TransactionError::Open)).await
    }

    /// As [`Self::begin`], but waits for a transaction that is open.
    pub(crate) async fn begin_next(&self) -> Result<Transaction, TransactionError> {
        self.begin_with(Ok(Begun::NotYet)).await
    }

    /// `open` is what to make of a transaction that is open.
    async fn begin_with(
        &self,
        open: Result<Begun, TransactionError>,
    ) -> Result<Transaction, TransactionError> {
        let refusals = self.shared().lock().sender.transaction_refusals();
        let begun = |state: &mut State| {
            if state.is_closing {
                let why = state.sender.over().cloned().unwrap_or(ProduceErrorKind::Closed);
                return Some(Err(TransactionError::Fatal(why)));
            }
            let begun = match state.sender.begin_transaction(refusals) {
                Err(TransactionError::Open) => open.clone(),
                begun => begun,
            };
            match begun {
                Ok(Begun::NotYet) => None,
                Ok(Begun::Open(number, ends)) => Some(Ok((number, ends))),
                Err(error) => Some(Err(error)),
            }
        };
        let (number, ends) =
            self.shared().until("what comes before the transaction", begun).await?;
        Ok(Transaction { producer: self.clone(), number, ends, is_over: false })
    }

    /// Aborts the transaction that is open, and waits until none is being ended.
    pub(super) async fn abort_open(&self) {
        let shared = self.shared();
        shared.with(|state| state.sender.abort_open_transaction());
        self.wait_for_end().await;
    }

    /// Waits until no transaction is being ended, however long that takes.
    async fn wait_for_end(&self) {
        let shared = self.shared();
        loop {
            let mut changed = pin!(shared.transactions.notified());
            changed.as_mut().enable();
            if !shared.lock().sender.is_ending_transaction() {
                return;
            }
            changed.await;
        }
    }
}

impl Transaction {
    /// As [`Producer::send`], in this transaction.
    ///
    /// # Errors
    /// The same. A record that was not acknowledged, or that was not taken in because its topic does
    /// not exist, because it is too large or because there was no room, keeps the transaction
    /// from being committed only in the first case; in the others the application decides.
    pub async fn send(&self, record: impl AsProducerRecord) -> Result<Delivery, ProduceError> {
        self.producer.send_in(record, Some(self.number)).await
    }

    /// As [`Producer::try_send`], in this transaction.
    ///
    /// # Errors
    /// The same.
    pub fn try_send(&self, record: impl AsProducerRecord) -> Result<Delivery, TrySendError> {
        self.producer.try_send_in(record, Some(self.number))
    }

    /// Its number, for [`Producer::send_in`].
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Has offsets of a group committed with the transaction (KIP-447): for each partition the next record to
    /// read. `group` is what [`Consumer::group_metadata`](crate::Consumer::group_metadata) says:
    /// offsets of a member that was thrown out of its group meanwhile are refused. Once this was polled the
    /// offsets are a part of the transaction, whether anybody goes on waiting or not.
    ///
    /// # Errors
    /// [`TransactionError::Aborted`] when they are refused, after which the transaction can only be
    /// aborted; [`TransactionError::Timeout`] after `max.block.ms`, and those of [`Self::commit`].
    pub async fn send_offsets(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, CommittedOffset)>,
        group: &GroupMetadata,
    ) -> Result<(), TransactionError> {
        let offsets: Vec<_> = offsets.into_iter().collect();
        if offsets.is_empty() {
            return self.failure().map_or(Ok(()), Err);
        }
        let count = self.producer.shared().with(|state| {
            if group.is_lost {
                state.sender.refuse_offsets(self.number, Arc::clone(&group.group_id));
            }
            let mut count = 0;
            for part in coordinator::parts(&group.group_id, &offsets) {
                let part = part.iter().map(|(partition, committed)| {
                    (partition.clone(), committed.position, committed.metadata.clone())
                });
                let part = TransactionOffsets {
                    group: Arc::clone(&group.group_id),
                    generation: group.generation_id,
                    member: group.member_id.clone(),
                    instance: group.group_instance_id.clone(),
                    offsets: part.collect(),
                };
                count = state.sender.add_offsets(self.number, part)?;
            }
            Ok(count)
        })?;
        let has_them = |state: &mut State| match state.sender.has_offsets(self.number, count) {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        self.producer.shared().until("TxnOffsetCommit", has_them).await
    }

    /// Why the transaction can only be aborted; `None` while it may be committed.
    pub fn failure(&self) -> Option<TransactionError> {
        self.producer.shared().lock().sender.transaction_failure(self.number)
    }

    /// Commits the transaction: waits until every record of it is acknowledged and the coordinator has decided.
    /// If anything of it failed it is aborted instead. Once this was polled it is carried out, whether
    /// anybody goes on waiting or not.
    ///
    /// # Errors
    /// [`TransactionError::Aborted`] when it was aborted instead; the work can be done again.
    /// [`TransactionError::Timeout`] when it takes longer than `max.block.ms`, and goes on.
    /// [`TransactionError::Fatal`] when the producer cannot go on, as when it was fenced.
    pub async fn commit(mut self) -> Result<(), TransactionError> {
        self.end(true).await
    }

    /// Aborts the transaction: what was not sent is given up, and what was will not be read by those who
    /// read what is committed.
    ///
    /// # Errors
    /// [`TransactionError::Timeout`] and [`TransactionError::Fatal`] as for [`Self::commit`].
    pub async fn abort(mut self) -> Result<(), TransactionError> {
        match self.end(false).await {
            Err(TransactionError::Aborted(_)) => Ok(()),
            ended => ended,
        }
    }

    /// The producer.
    pub fn producer(&self) -> &Producer {
        &self.producer
    }

    async fn end(&mut self, is_commit: bool) -> Result<(), TransactionError> {
        self.is_over = true;
        let shared = self.producer.shared();
        let now_ms = shared.now_ms();
        shared.with(|state| state.sender.end_transaction(self.number, is_commit, now_ms));
        let what = if is_commit { "the commit" } else { "the abort" };
        shared.until(what, |state| state.sender.transaction_end(&self.ends)).await
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let shared = self.producer.shared();
        if !self.is_over {
            let id = shared.config.transactional_id.as_deref().unwrap_or_default();
            tracing::warn!(
                transactional_id = id,
                "a transaction was dropped without being committed or aborted: it is aborted"
            );
            let now_ms = shared.now_ms();
            shared.with(|state| state.sender.end_transaction(self.number, false, now_ms));
        }
        if shared.lock().sender.is_ending_transaction() {
            // With the last handle the producer ends, and then nobody would tell the coordinator.
            let producer = self.producer.clone();
            let max_block = shared.config.max_block;
            shared.spawn_apart(async move {
                drop(timeout(max_block, producer.wait_for_end()).await);
            });
        }
    }
}

impl Shared {
    /// Waits until `check` says something, for `max.block.ms` at most.
    async fn until<T>(
        self: &Arc<Self>,
        operation: &'static str,
        mut check: impl FnMut(&mut State) -> Option<Result<T, TransactionError>>,
    ) -> Result<T, TransactionError> {
        let began = Instant::now();
        let deadline = began + self.config.max_block;
        loop {
            let mut changed = pin!(self.transactions.notified());
            changed.as_mut().enable();
            if let Some(result) = self.with(&mut check) {
                return result;
            }
            if timeout_at(deadline, changed).await.is_err() {
                let after: Duration = began.elapsed();
                let last = self.lock().sender.last_transaction_answer();
                return Err(TransactionError::Timeout { operation, after, last });
            }
        }
    }
}
