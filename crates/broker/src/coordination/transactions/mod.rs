//! What the leader of a partition owes to transactions, and their coordinator to the leaders of partitions.
//!
//! Before a partition takes the first batch of a transaction, the coordinator is asked whether the transaction is open
//! and the partition part of it, or to make it part of it where the client leaves that to the broker (KIP-890). So no
//! transaction is open in a partition that its coordinator will never end. Answers come with a guard of the
//! partition's log ([`thalweg_log::VerificationGuard`]), because a transaction may have ended before they arrive.
//!
//! Once the outcome of a transaction is decided its coordinator has `markers` written. Not here: how they are
//! (`write_markers`), and coordinating transactions (`coordination::transaction_coordinator`).

pub(crate) mod add_partitions;
mod ask_coordinator;
mod late;
mod markers;
mod question;
#[cfg(test)]
mod tests;
pub(crate) mod write_markers;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_groups::{DurationHistogram, partition_for};
use thalweg_log::VerificationGuard;
use thalweg_metadata::controller::TRANSACTIONS_TOPIC;
use thalweg_wire::ErrorCode;
use tokio::time::Instant;

pub(crate) use late::{CHECK_MS as LATE_CHECK_MS, LateTransactions};
pub(crate) use markers::Markers;
pub(crate) use question::{Operation, Question, Verdict};

use crate::coordination::Coordination;
use crate::node::Node;
use crate::node::backoff::Backoff;
use crate::replicas::partition::{AppendFailure, Partition, Transactional};
use ask_coordinator::Coordinator;

/// How long an append that is being written is waited for before it is looked again, at first and at most.
const BEGIN_BACKOFF: Duration = Duration::from_micros(200);
const BEGIN_BACKOFF_MAX: Duration = Duration::from_millis(20);
/// The least time to wait for it, whatever timeout the request has: that is meant for replicas.
const BEGIN_TIMEOUT_MIN: Duration = Duration::from_millis(200);

/// The brokers that coordinate transactions of this one's producers.
#[derive(Debug)]
pub(crate) struct Transactions {
    markers: Arc<Markers>,
    pub(crate) late: LateTransactions,
    coordinators: Mutex<BTreeMap<i32, Arc<Coordinator>>>,
    failures: AtomicU64,
    /// How long verdicts of coordinators took.
    verification_times: Mutex<DurationHistogram>,
}

impl Transactions {
    pub(crate) fn new(markers: Arc<Markers>) -> Transactions {
        Transactions {
            markers,
            late: LateTransactions::default(),
            coordinators: Mutex::default(),
            failures: AtomicU64::new(0),
            verification_times: Mutex::default(),
        }
    }

    /// Markers of transactions that this broker coordinates.
    pub(crate) fn markers(&self) -> &Markers {
        &self.markers
    }

    /// Asks the transaction's coordinator, in one request with what others ask it at the moment.
    ///
    /// Where nothing can be found out the verdict is NETWORK_EXCEPTION or an error of coordinators, for all partitions.
    pub(crate) async fn verify(
        &self,
        coordination: &Arc<Coordination>,
        question: Question,
    ) -> Verdict {
        let partitions = question.partitions();
        let begun = Instant::now();
        let verdict = match coordinator_of(&coordination.node, &question.transactional_id) {
            Some(id) => self.ask(coordination, id, question).await,
            None => Verdict::All(ErrorCode::COORDINATOR_NOT_AVAILABLE),
        };
        let took_ms = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.verification_times.lock().add(took_ms);
        let failed = verdict.failures(partitions);
        self.failures.fetch_add(u64::try_from(failed).unwrap_or(u64::MAX), Ordering::Relaxed);
        verdict
    }

    async fn ask(&self, coordination: &Arc<Coordination>, id: i32, question: Question) -> Verdict {
        if id == coordination.node.id() {
            return ask_here(coordination, question).await;
        }
        let coordinator = {
            let mut all = self.coordinators.lock();
            Arc::clone(all.entry(id).or_insert_with(|| Arc::new(Coordinator::new(id))))
        };
        let transactional_id = question.transactional_id.clone();
        let mut answer = coordinator.add(coordination, question);
        let mut stop = coordination.node.subscribe_shutdown();
        loop {
            let published = coordination.node.published().notified();
            // One that hangs, or is cut off, is fenced before a request to it times out.
            if coordinator_of(&coordination.node, &transactional_id) != Some(id) {
                return Verdict::All(ErrorCode::NOT_COORDINATOR);
            }
            tokio::select! {
                answer = &mut answer => {
                    return answer.unwrap_or(Verdict::All(ErrorCode::NETWORK_EXCEPTION));
                }
                _ = stop.wait_for(|stops| *stops) => {
                    return Verdict::All(ErrorCode::COORDINATOR_NOT_AVAILABLE);
                }
                () = published => {}
            }
        }
    }

    /// The guard of the question that a transaction's coordinator has to be asked before a batch of it is appended;
    /// `None` where its partition knows the transaction.
    pub(crate) async fn begin(
        &self,
        node: &Node,
        partition: &Arc<Partition>,
        batch: Transactional,
        timeout: Duration,
    ) -> Result<Option<VerificationGuard>, AppendFailure> {
        let until = Instant::now() + timeout.max(BEGIN_TIMEOUT_MIN);
        let mut backoff = Backoff::new(BEGIN_BACKOFF, BEGIN_BACKOFF_MAX);
        loop {
            let now = node.clock().wall_ms();
            if let Some(begun) = partition.try_begin_verification(&batch, now) {
                return begun;
            }
            if Instant::now() >= until || node.is_stopping() {
                return Err(AppendFailure::TimedOut);
            }
            tokio::time::sleep(backoff.pause()).await;
        }
    }

    /// How long verdicts of coordinators took.
    pub(crate) fn verification_times(&self) -> DurationHistogram {
        *self.verification_times.lock()
    }

    /// Partitions that were not found to be part of a transaction.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

/// The same of a transaction that this broker coordinates.
async fn ask_here(coordination: &Arc<Coordination>, question: Question) -> Verdict {
    let request = add_partitions::of_broker(question.to_transaction());
    let answered = add_partitions::ask(coordination, request).await;
    Verdict::of_result(question.operation, answered)
}

/// The broker that coordinates a transaction, if it is up: this one or another.
pub(crate) fn coordinator_of(node: &Node, transactional_id: &str) -> Option<i32> {
    let image = node.image();
    let partitions = image.topics.by_name(TRANSACTIONS_TOPIC)?.partitions.len();
    let partition = partition_for(transactional_id, u32::try_from(partitions).ok()?);
    let leader = image.partition_leader(TRANSACTIONS_TOPIC, partition)?;
    let is_up = image.cluster.broker(leader).is_some_and(|it| !it.fenced);
    (is_up || leader == node.id()).then_some(leader)
}

/// Partitions of the topic of the coordinators; 0 if it is not there.
pub(crate) fn topic_partitions(node: &Node) -> usize {
    let image = node.image();
    image.topics.by_name(TRANSACTIONS_TOPIC).map_or(0, |topic| topic.partitions.len())
}
