//! Transactions: who has one, what is in it, ending one that nobody ends, and fencing its producer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::messages::describe_transactions_response::TransactionState;
use thalweg_wire::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use thalweg_wire::messages::{
    DescribeTransactionsRequest, InitProducerIdRequest, ListTransactionsRequest,
    WriteTxnMarkersRequest,
};
use thalweg_wire::{ApiKey, Request};

use super::attempt::{Answers, at_least, for_all, join, millis};
use super::coordinators::Coordinated;
use super::{Admin, AdminError, AdminFuture, Results};
use crate::core::partition::{TopicPartition, by_partition};
use crate::options::setters::setters;

/// Which transactional ids to list; all by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TransactionFilter {
    /// In one of these states: `Ongoing`, `CompleteCommit`, ...
    pub states: Vec<String>,
    /// With one of these producer ids.
    pub producer_ids: Vec<i64>,
    /// With a transaction that has been open for longer than this, to the millisecond. Needs brokers
    /// from 3.8 on (KIP-994).
    pub longer_than: Option<Duration>,
    /// That match this regular expression of RE2/J as a whole. Needs brokers from 4.1 on (KIP-1152).
    pub id_pattern: Option<String>,
}

setters! {
    TransactionFilter {
        states: Vec<String> => with_states,
        producer_ids: Vec<i64> => with_producer_ids,
        longer_than: Option<Duration> => with_longer_than,
        id_pattern: Option<String> => with_id_pattern,
    }
}

/// What brokers listed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListedTransactions {
    /// By transactional id.
    pub transactions: Vec<TransactionListing>,
    /// States that were asked for, and that a broker does not know.
    pub unknown_states: BTreeSet<String>,
    /// What a broker that could not be asked coordinates is missing: why, by its id.
    pub failed: BTreeMap<i32, AdminError>,
}

/// A transactional id in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TransactionListing {
    /// The transactional id.
    pub id: String,
    /// The id of its producer.
    pub producer_id: i64,
    /// The state of its last transaction, in Kafka's words.
    pub state: String,
    /// The broker that told of it, its coordinator.
    pub coordinator: i32,
}

/// A transactional id with its last transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TransactionDescription {
    /// The transactional id.
    pub id: String,
    /// The state of its last transaction, in Kafka's words.
    pub state: String,
    /// The broker that coordinates it.
    pub coordinator: i32,
    /// The id of its producer.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// How long a transaction of it may be open.
    pub timeout: Duration,
    /// When the transaction began, in ms since 1970; none where none is open.
    pub start_time_ms: Option<i64>,
    /// What is in an open transaction, or has no marker yet in one that is being ended. Sorted.
    pub partitions: Vec<TopicPartition>,
}

/// A transaction in a partition, to be aborted there.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TransactionToAbort {
    /// The partition.
    pub partition: TopicPartition,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch, as the partition has it.
    pub producer_epoch: i16,
    /// Epoch of the coordinator that ended the producer's last transaction there; 0 where there is
    /// none, which is at most what any coordinator has.
    pub coordinator_epoch: i32,
}

impl TransactionToAbort {
    /// A producer's transaction in a partition.
    pub fn new(
        partition: TopicPartition,
        producer_id: i64,
        producer_epoch: i16,
        coordinator_epoch: i32,
    ) -> TransactionToAbort {
        TransactionToAbort { partition, producer_id, producer_epoch, coordinator_epoch }
    }
}

/// The producer id and epoch with which a transactional id goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FencedProducer {
    /// The producer's id.
    pub id: i64,
    /// Its epoch; who has an earlier one is refused.
    pub epoch: i16,
}

/// What one broker listed: the states that it does not know, and what it coordinates.
type Listed = (Vec<String>, Vec<TransactionListing>);

impl Admin {
    /// Transactional ids with the states of their transactions, of all brokers that are alive
    /// (KIP-664). Needs brokers from 3.0 on.
    ///
    /// What a filter cannot say to a broker is that broker's error, and not left out: see
    /// [`AdminError::Unsupported`]. A state that a broker does not know is in
    /// [`ListedTransactions::unknown_states`].
    ///
    /// ```no_run
    /// # async fn example(admin: thalweg::admin::Admin) -> Result<(), thalweg::admin::AdminError> {
    /// use thalweg::admin::TransactionFilter;
    ///
    /// let filter = TransactionFilter::default().with_states(vec!["Ongoing".into()]);
    /// let listed = admin.list_transactions(&filter).await?;
    /// for open in listed.transactions {
    ///     println!("{} of producer {} at broker {}", open.id, open.producer_id, open.coordinator);
    /// }
    /// for (broker, error) in listed.failed {
    ///     eprintln!("broker {broker}: {error}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_transactions<'a>(
        &'a self,
        filter: &'a TransactionFilter,
    ) -> AdminFuture<'a, Result<ListedTransactions, AdminError>> {
        Box::pin(self.list_transactions_inner(filter))
    }

    async fn list_transactions_inner(
        &self,
        filter: &TransactionFilter,
    ) -> Result<ListedTransactions, AdminError> {
        let api = ApiKey::LIST_TRANSACTIONS;
        let brokers = self.broker_ids(api).await?;
        let answers = self
            .settle(api, brokers, |brokers, _| {
                let asking = brokers.into_iter().map(|broker| {
                    let (admin, filter) = (self.clone(), filter.clone());
                    async move { (broker, admin.list_transactions_of(broker, filter).await) }
                });
                join(asking.collect::<Vec<_>>())
            })
            .await;
        let mut transactions = BTreeMap::new();
        let mut unknown_states = BTreeSet::new();
        let mut failed = BTreeMap::new();
        for (broker, result) in answers {
            match result {
                Ok((unknown, of_broker)) => {
                    unknown_states.extend(unknown);
                    transactions.extend(of_broker.into_iter().map(|it| (it.id.clone(), it)));
                }
                Err(error) => {
                    failed.insert(broker, error);
                }
            }
        }
        let transactions = transactions.into_values().collect();
        Ok(ListedTransactions { transactions, unknown_states, failed })
    }

    async fn list_transactions_of(
        &self,
        broker: i32,
        filter: TransactionFilter,
    ) -> Result<Listed, AdminError> {
        let connection = self.cluster.broker(broker).await?;
        if filter.longer_than.is_some() {
            at_least::<ListTransactionsRequest>(&connection, 1, "a filter by duration")?;
        }
        if filter.id_pattern.is_some() {
            let what = "a filter by a pattern of transactional ids";
            at_least::<ListTransactionsRequest>(&connection, 2, what)?;
        }
        let duration = |longer: Duration| i64::try_from(longer.as_millis()).unwrap_or(i64::MAX);
        let request = ListTransactionsRequest {
            state_filters: filter.states,
            producer_id_filters: filter.producer_ids,
            duration_filter: filter.longer_than.map_or(-1, duration),
            transactional_id_pattern: filter.id_pattern,
            ..Default::default()
        };
        let response = connection.send(&request).await?;
        AdminError::check(ApiKey::LIST_TRANSACTIONS, response.error_code, None)?;
        let listing = response.transaction_states.into_iter().map(|one| TransactionListing {
            id: one.transactional_id,
            producer_id: one.producer_id,
            state: one.transaction_state,
            coordinator: broker,
        });
        Ok((response.unknown_state_filters, listing.collect()))
    }

    /// Transactional ids with their last transactions, of their coordinators (KIP-664). Needs brokers
    /// from 3.0 on. One that nobody knows is refused with
    /// [`ErrorCode::TRANSACTIONAL_ID_NOT_FOUND`](thalweg_wire::ErrorCode::TRANSACTIONAL_ID_NOT_FOUND).
    pub fn describe_transactions<I: Into<String>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> AdminFuture<'_, Results<String, TransactionDescription>> {
        fn boxed(
            admin: &Admin,
            ids: Vec<String>,
        ) -> AdminFuture<'_, Results<String, TransactionDescription>> {
            Box::pin(admin.for_coordinated(
                Coordinated::Transactions,
                ApiKey::DESCRIBE_TRANSACTIONS,
                ids,
                |admin, coordinator, ids, _| admin.describe_transactions_at(coordinator, ids),
            ))
        }
        boxed(self, ids.into_iter().map(Into::into).collect())
    }

    async fn describe_transactions_at(
        self,
        coordinator: i32,
        ids: Vec<String>,
    ) -> Answers<String, TransactionDescription> {
        let request =
            DescribeTransactionsRequest { transactional_ids: ids.clone(), ..Default::default() };
        let response = match self.cluster.send_to(coordinator, &request).await {
            Ok(response) => response,
            Err(error) => return for_all(ids, error),
        };
        let described = response.transaction_states.into_iter().map(|state| {
            let checked = AdminError::check(ApiKey::DESCRIBE_TRANSACTIONS, state.error_code, None);
            let id = state.transactional_id.clone();
            (id, checked.map(|()| described(state, coordinator)))
        });
        described.collect()
    }

    /// Has a partition's leader end a transaction there, without its coordinator (KIP-664): for one
    /// that hangs, because no coordinator knows of it. In a transaction that a coordinator does know
    /// of, this takes away what its producer has written to this partition.
    ///
    /// Needs the right to alter the cluster. A producer epoch that the partition has seen a later one
    /// of is refused with
    /// [`ErrorCode::INVALID_PRODUCER_EPOCH`](thalweg_wire::ErrorCode::INVALID_PRODUCER_EPOCH), and a
    /// coordinator epoch likewise with
    /// [`ErrorCode::TRANSACTION_COORDINATOR_FENCED`](thalweg_wire::ErrorCode::TRANSACTION_COORDINATOR_FENCED).
    pub fn abort_transaction(
        &self,
        transaction: TransactionToAbort,
    ) -> AdminFuture<'_, Result<(), AdminError>> {
        Box::pin(self.abort_transaction_inner(transaction))
    }

    async fn abort_transaction_inner(
        &self,
        transaction: TransactionToAbort,
    ) -> Result<(), AdminError> {
        let api = ApiKey::WRITE_TXN_MARKERS;
        let partition = transaction.partition.clone();
        let transaction = &transaction;
        let mut answers = self
            .settle(api, [partition.clone()], |partitions, left| async move {
                let (leaders, mut answers) = self.by_leader(api, partitions).await;
                for leader in leaders.into_keys() {
                    answers.extend(self.write_abort_marker(leader, transaction, left).await);
                }
                answers
            })
            .await;
        answers.remove(&partition).unwrap_or(Err(AdminError::Unanswered(api)))
    }

    async fn write_abort_marker(
        &self,
        leader: i32,
        transaction: &TransactionToAbort,
        left: Duration,
    ) -> Answers<TopicPartition, ()> {
        let marker = WritableTxnMarker {
            producer_id: transaction.producer_id,
            producer_epoch: transaction.producer_epoch,
            transaction_result: false,
            topics: vec![WritableTxnMarkerTopic {
                name: transaction.partition.topic.to_string(),
                partition_indexes: vec![transaction.partition.partition],
                ..Default::default()
            }],
            coordinator_epoch: transaction.coordinator_epoch,
            ..Default::default()
        };
        let request = WriteTxnMarkersRequest { markers: vec![marker], ..Default::default() };
        let sent = async { self.cluster.broker(leader).await?.send_within(&request, left).await };
        let response = match sent.await {
            Ok(response) => response,
            Err(error) => return for_all([transaction.partition.clone()], error),
        };
        let of_producer =
            response.markers.into_iter().filter(|it| it.producer_id == transaction.producer_id);
        let topics = of_producer.flat_map(|marker| marker.topics);
        by_partition(topics.map(|topic| (topic.name, topic.partitions)), |p| {
            let checked = AdminError::check(ApiKey::WRITE_TXN_MARKERS, p.error_code, None);
            (p.partition_index, checked)
        })
    }

    /// Gives transactional ids a new producer epoch: whoever produces with one of them is refused
    /// from then on, and an open transaction is aborted. An id that nobody knows gets a producer id,
    /// as a new producer's would.
    ///
    /// The coordinator takes the request timeout of this client for the ids' transaction timeout,
    /// as with Kafka's `fenceProducers`; the next producer brings its own. One above the brokers'
    /// `transaction.max.timeout.ms` is refused.
    pub fn fence_producers<I: Into<String>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> AdminFuture<'_, Results<String, FencedProducer>> {
        fn boxed(
            admin: &Admin,
            ids: Vec<String>,
        ) -> AdminFuture<'_, Results<String, FencedProducer>> {
            Box::pin(admin.for_coordinated(
                Coordinated::Transactions,
                ApiKey::INIT_PRODUCER_ID,
                ids,
                |admin, coordinator, ids, _| admin.fence_producers_at(coordinator, ids),
            ))
        }
        boxed(self, ids.into_iter().map(Into::into).collect())
    }

    async fn fence_producers_at(
        self,
        coordinator: i32,
        ids: Vec<String>,
    ) -> Answers<String, FencedProducer> {
        // A request has one id.
        let asking = ids.into_iter().map(|id| {
            let admin = self.clone();
            async move {
                let fenced = admin.fence_producer_at(coordinator, &id).await;
                (id, fenced)
            }
        });
        join(asking.collect::<Vec<_>>()).await
    }

    async fn fence_producer_at(
        &self,
        coordinator: i32,
        id: &str,
    ) -> Result<FencedProducer, AdminError> {
        let request = InitProducerIdRequest {
            transactional_id: Some(id.to_owned()),
            transaction_timeout_ms: millis(self.cluster.options().request_timeout),
            ..Default::default()
        };
        let response = self.cluster.send_to(coordinator, &request).await?;
        AdminError::check(InitProducerIdRequest::API_KEY, response.error_code, None)?;
        Ok(FencedProducer { id: response.producer_id, epoch: response.producer_epoch })
    }
}

fn described(state: TransactionState, coordinator: i32) -> TransactionDescription {
    let mut partitions = Vec::new();
    for topic in state.topics {
        let name: Arc<str> = topic.topic.into();
        let all = topic.partitions.into_iter();
        partitions.extend(all.map(|index| TopicPartition::new(Arc::clone(&name), index)));
    }
    partitions.sort();
    let timeout_ms = u64::try_from(state.transaction_timeout_ms).unwrap_or_default();
    TransactionDescription {
        id: state.transactional_id,
        state: state.transaction_state,
        coordinator,
        producer_id: state.producer_id,
        producer_epoch: state.producer_epoch,
        timeout: Duration::from_millis(timeout_ms),
        start_time_ms: Some(state.transaction_start_time_ms).filter(|start| *start >= 0),
        partitions,
    }
}
