//! Questions to one coordinator: those that come while a request is in flight go into the next one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_wire::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
use thalweg_wire::{ErrorCode, Message, Request};
use tokio::sync::{Notify, oneshot};

use super::question::{Question, Verdict};
use crate::coordination::Coordination;
use crate::net::kept::KeptConnection;
use crate::net::outgoing::{ANSWER_MAX, OutgoingError, Timeouts};
use crate::net::peer;

/// First version in which brokers ask about several transactions: every broker that can be in a cluster with this one,
/// which is from 4.0 on, has it.
const FIRST_OF_BROKERS: i16 = 4;
/// How long the connection is kept without a question, well below what brokers allow by default.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// The longest that a connection may take to come about; producers wait meanwhile with their records.
const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(10);

/// A question and the channel for its answer.
struct Asked {
    question: Question,
    answer: oneshot::Sender<Verdict>,
}

impl Asked {
    fn answer(self, verdict: Verdict) {
        // The connection of the question may be closed.
        let _ = self.answer.send(verdict);
    }
}

/// One coordinator.
pub(super) struct Coordinator {
    id: i32,
    waiting: Mutex<Waiting>,
    added: Notify,
}

#[derive(Default)]
struct Waiting {
    /// One question of each transaction: every connection has one request in flight, so that there are no more than
    /// these.
    by_transaction: BTreeMap<String, Asked>,
    /// A task sends them.
    has_sender: bool,
}

impl std::fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coordinator").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Coordinator {
    pub(super) fn new(id: i32) -> Coordinator {
        Coordinator { id, waiting: Mutex::default(), added: Notify::new() }
    }

    /// How many questions wait for the request in flight.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.lock().by_transaction.len()
    }

    /// Has a question asked.
    pub(super) fn add(
        self: &Arc<Self>,
        coordination: &Arc<Coordination>,
        question: Question,
    ) -> oneshot::Receiver<Verdict> {
        let (answer, answered) = oneshot::channel();
        let asked = Asked { question, answer };
        let mut waiting = self.waiting.lock();
        if let Some((refused, code)) = waiting.add(asked) {
            refused.answer(Verdict::All(code));
        }
        if !std::mem::replace(&mut waiting.has_sender, true) {
            let sender = Arc::clone(self).send_all(Arc::clone(coordination));
            coordination.node.spawn_until_stopped(sender);
        }
        drop(waiting);
        self.added.notify_one();
        answered
    }

    /// Sends what is asked, for as long as something is.
    async fn send_all(self: Arc<Self>, coordination: Arc<Coordination>) {
        let client_id: Arc<str> =
            format!("broker-{}-add-partitions-to-txn", coordination.node.id()).into();
        let mut connection = KeptConnection::default();
        loop {
            let all = std::mem::take(&mut self.waiting.lock().by_transaction);
            if all.is_empty() {
                let added = tokio::time::timeout(IDLE_MAX, self.added.notified()).await;
                let mut waiting = self.waiting.lock();
                if added.is_err() && waiting.by_transaction.is_empty() {
                    waiting.has_sender = false;
                    return;
                }
                continue;
            }
            self.ask(&coordination, &client_id, &mut connection, all).await;
        }
    }

    /// Asks about transactions in one request, and answers who waits.
    async fn ask(
        &self,
        coordination: &Arc<Coordination>,
        client_id: &Arc<str>,
        connection: &mut KeptConnection,
        mut all: BTreeMap<String, Asked>,
    ) {
        let transactions = all.values().map(|asked| asked.question.to_transaction()).collect();
        let request = AddPartitionsToTxnRequest { transactions, ..Default::default() };
        let was_open = connection.is_open();
        let mut answer = self.call(coordination, client_id, connection, &request).await;
        if answer.is_err() {
            connection.close();
            // The other side may have closed what was kept. Nothing is done twice that is asked twice.
            let is_closed =
                matches!(answer, Err(OutgoingError::Io { .. } | OutgoingError::Closed { .. }));
            if was_open && is_closed {
                answer = self.call(coordination, client_id, connection, &request).await;
            }
        }
        match answer {
            Ok(answer) if answer.error_code.is_ok() => {
                for result in answer.results_by_transaction {
                    if let Some(asked) = all.remove(&result.transactional_id) {
                        let verdict = Verdict::of_result(asked.question.operation, result);
                        asked.answer(verdict);
                    }
                }
            }
            Ok(answer) => {
                tracing::warn!(coordinator = self.id, error = %answer.error_code,
                    "a transaction coordinator does not verify transactions for this broker");
                // Clients are not to hear that this broker is not allowed something.
                let code = match answer.error_code {
                    ErrorCode::CLUSTER_AUTHORIZATION_FAILED => ErrorCode::INVALID_TXN_STATE,
                    code => code,
                };
                return answer_all(all, code);
            }
            Err(error) => {
                tracing::info!(coordinator = self.id, %error,
                    "a transaction coordinator was not reached; producers try again");
                connection.close();
            }
        }
        answer_all(all, ErrorCode::NETWORK_EXCEPTION);
    }

    async fn call(
        &self,
        coordination: &Arc<Coordination>,
        client_id: &Arc<str>,
        connection: &mut KeptConnection,
        request: &AddPartitionsToTxnRequest,
    ) -> Result<AddPartitionsToTxnResponse, OutgoingError> {
        let timeout = u64::try_from(coordination.node.settings().request_timeout_ms()).unwrap_or(0);
        let timeout = Duration::from_millis(timeout.max(1));
        let connect = timeout.min(CONNECT_TIMEOUT_MAX);
        let timeouts = Timeouts { connect, request: timeout, answer_max: ANSWER_MAX };
        let outgoing =
            peer::connect(&coordination.node, self.id, client_id, timeouts, connection).await?;
        let versions = FIRST_OF_BROKERS..=AddPartitionsToTxnRequest::MAX_VERSION;
        outgoing.versions().pick(AddPartitionsToTxnRequest::API_KEY, versions)?;
        outgoing.call(request).await
    }
}

fn answer_all(all: BTreeMap<String, Asked>, code: ErrorCode) {
    for asked in all.into_values() {
        asked.answer(Verdict::All(code));
    }
}

impl Waiting {
    /// Adds a question; gives the one that gives way, with what it is told. A producer that asks again, because its
    /// request timed out, hears of the later one; one of an older epoch is fenced.
    fn add(&mut self, asked: Asked) -> Option<(Asked, ErrorCode)> {
        let id = &asked.question.transactional_id;
        let known_epoch = self.by_transaction.get(id).map(|known| known.question.producer_epoch);
        match known_epoch {
            Some(epoch) if epoch > asked.question.producer_epoch => {
                Some((asked, ErrorCode::INVALID_PRODUCER_EPOCH))
            }
            Some(epoch) => {
                let code = match epoch == asked.question.producer_epoch {
                    true => ErrorCode::NETWORK_EXCEPTION,
                    false => ErrorCode::INVALID_PRODUCER_EPOCH,
                };
                let known = self.by_transaction.insert(id.clone(), asked)?;
                Some((known, code))
            }
            None => {
                self.by_transaction.insert(id.clone(), asked);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;
    use crate::coordination::transactions::Operation;

    fn asked(id: &str, producer_epoch: i16) -> (Asked, oneshot::Receiver<Verdict>) {
        let (answer, answered) = oneshot::channel();
        let question = Question {
            transactional_id: id.into(),
            producer_id: 1,
            producer_epoch,
            operation: Operation::Verify,
            topics: BTreeMap::from([("t".into(), vec![i32::from(producer_epoch)])]),
        };
        (Asked { question, answer }, answered)
    }

    /// Which epochs are asked about.
    fn epochs(waiting: &Waiting) -> Vec<i16> {
        waiting.by_transaction.values().map(|asked| asked.question.producer_epoch).collect()
    }

    #[test]
    fn one_question_of_each_transaction_waits_and_the_newest_producer_wins() {
        let mut waiting = Waiting::default();
        let (first, mut of_first) = asked("a", 3);
        assert!(waiting.add(first).is_none());
        assert!(waiting.add(asked("b", 0).0).is_none());

        // The producer has given up its request, and sends it again.
        let (again, mut of_again) = asked("a", 3);
        let (refused, code) = waiting.add(again).unwrap();
        assert_eq!(code, ErrorCode::NETWORK_EXCEPTION);
        refused.answer(Verdict::All(code));
        assert_eq!(of_first.try_recv(), Ok(Verdict::All(ErrorCode::NETWORK_EXCEPTION)));
        assert_eq!(of_again.try_recv(), Err(TryRecvError::Empty));

        // One that was fenced comes late; another one fences it.
        let (late, mut of_late) = asked("a", 2);
        let (refused, code) = waiting.add(late).unwrap();
        assert_eq!(code, ErrorCode::INVALID_PRODUCER_EPOCH);
        refused.answer(Verdict::All(code));
        assert_eq!(of_late.try_recv(), Ok(Verdict::All(code)));
        assert_eq!(epochs(&waiting), [3, 0]);
        let (_, code) = waiting.add(asked("a", 4).0).unwrap();
        assert_eq!(code, ErrorCode::INVALID_PRODUCER_EPOCH);
        assert_eq!(epochs(&waiting), [4, 0]);
    }
}
