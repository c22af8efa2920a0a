//! The state machine of one partition of `__transaction_state`.

mod end;
mod init;
mod markers;
mod sweep;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use thalweg_coordinator::{Now, Outcome, Position, Reply, Shard, Token};
use thalweg_wire::ErrorCode;

use crate::ids::{Ids, Known};
use crate::request::{
    AddPartitions, Description, ListFilter, Listed, TransactionEvent, TransactionRequest,
    TransactionResponse, VerifyPartitions, WriteMarkers,
};
use crate::{
    Partitions, ProducerIdSource, Transaction, TransactionConfig, TransactionRecord,
    TransactionState,
};

type Out = Outcome<TransactionShard>;

/// What a transition was decided upon, by state and producer, whichever request it was of.
#[derive(Debug)]
enum Decision {
    /// The next state is written, and this answered when it is committed.
    Write(Box<Transaction>, TransactionResponse),
    /// The same, but the request is handled again when the transaction is complete.
    WriteAndWait(Box<Transaction>),
    /// Nothing is to be done.
    Answer(TransactionResponse),
    /// Another transition is under way.
    Concurrent,
}

/// What tells timers apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TransactionTimer {
    /// Transactions that are open for too long are looked for.
    AbortTimedOut,
    /// Ids that were not used for long are looked for.
    Expire,
    /// Requests have waited for long enough for an id.
    Waited(Arc<str>),
    /// The completion of a transaction is written again.
    Complete(Arc<str>),
}

/// The state machine of one partition of `__transaction_state`, to be driven by [`thalweg_coordinator::Runner`].
#[derive(Debug)]
pub struct TransactionShard {
    config: TransactionConfig,
    producer_ids: ProducerIdSource,
    ids: Ids,
    /// Markers that are written of transactions whose outcome is decided.
    marked: HashMap<Arc<str>, Partitions>,
    waiting: waiting::Waiting,
    /// Ids whose transition is under way, and of which no [`Shard::resume`] will tell: a load has brought it, or it takes
    /// longer than that is waited for.
    unattended: HashSet<Arc<str>>,
    /// Whether timers of the sweeps run. A partition without ids needs none: there are 50, most of them empty.
    is_swept: bool,
}

impl TransactionShard {
    /// A shard of a log that is still to be replayed.
    pub fn new(config: TransactionConfig, producer_ids: ProducerIdSource) -> TransactionShard {
        TransactionShard {
            config,
            producer_ids,
            ids: Ids::default(),
            marked: HashMap::new(),
            waiting: waiting::Waiting::default(),
            unattended: HashSet::new(),
            is_swept: false,
        }
    }

    /// How many transactional ids there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.len() == 0
    }

    fn record(&self, id: &str, value: Option<Transaction>) -> TransactionRecord {
        TransactionRecord { transactional_id: id.to_owned(), value, version: self.config.version }
    }

    /// Has a transition written, and what follows from it done once it is committed.
    fn write(&mut self, id: &str, next: Transaction, out: &mut Out) {
        self.begin_sweeps(out);
        let effect = next.state.is_prepared().then(|| write_markers(id, &next));
        out.record(self.record(id, Some(next)));
        if let Some(effect) = effect {
            out.effect(effect);
        }
        out.then.get_or_insert_default().push(id.into());
    }

    fn decide(&self, request: &TransactionRequest, now: Now) -> Decision {
        match request {
            TransactionRequest::Init(request) => self.init(request, now),
            TransactionRequest::Add(request) => self.add(request, now),
            TransactionRequest::End(request) => self.end(request, now),
            TransactionRequest::Verify(request) => {
                Decision::Answer(TransactionResponse::Verify(self.verify(request)))
            }
            TransactionRequest::Describe { transactional_id } => {
                Decision::Answer(TransactionResponse::Describe(self.describe(transactional_id)))
            }
            TransactionRequest::List(filter) => {
                Decision::Answer(TransactionResponse::List(Ok(self.list(filter, now))))
            }
        }
    }

    fn add(&self, request: &AddPartitions, now: Now) -> Decision {
        let refused = |code| Decision::Answer(TransactionResponse::Add(Err(code)));
        let transaction = match self.ids.get(&request.transactional_id) {
            Known::Nothing => return refused(ErrorCode::INVALID_PRODUCER_ID_MAPPING),
            Known::InTransit => return Decision::Concurrent,
            // Before anything else: the producer may be the one that takes over when the transaction is complete.
            Known::Is(transaction) if transaction.state.is_prepared() => {
                return Decision::Concurrent;
            }
            Known::Is(transaction) => transaction,
        };
        if transaction.producer_id != request.producer.id {
            return refused(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if transaction.producer_epoch != request.producer.epoch {
            return refused(ErrorCode::PRODUCER_FENCED);
        }
        if transaction.state == TransactionState::Ongoing
            && transaction.partitions.contains_all(&request.partitions)
        {
            return Decision::Answer(TransactionResponse::Add(Ok(())));
        }
        let next = transaction.add(&request.partitions, request.client_version, now.wall_ms);
        Decision::Write(Box::new(next), TransactionResponse::Add(Ok(())))
    }

    /// By what is committed: what is in transit may be lost with this broker, and a batch that rested on it would stay
    /// in its partition for ever.
    fn verify(
        &self,
        request: &VerifyPartitions,
    ) -> Result<Vec<(String, i32, ErrorCode)>, ErrorCode> {
        let id = &request.transactional_id;
        let transaction = match (self.ids.committed(id), self.ids.get(id)) {
            (Some(transaction), _) => transaction,
            // After a load it may have been committed for long, and that is not known yet: that must not end a producer.
            (None, Known::InTransit) => return Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            (None, _) => return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING),
        };
        if transaction.producer_id != request.producer.id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if transaction.producer_epoch != request.producer.epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        if transaction.state.is_prepared() {
            return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        }
        let of = |(topic, index): (&str, i32)| {
            let is_there = transaction.partitions.contains(topic, index);
            let code = if is_there { ErrorCode::NONE } else { ErrorCode::TRANSACTION_ABORTABLE };
            (topic.to_owned(), index, code)
        };
        Ok(request.partitions.iter().map(of).collect())
    }

    fn describe(&self, id: &str) -> Result<Description, ErrorCode> {
        let transaction = self.ids.shown(id).ok_or(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)?;
        let mut partitions = transaction.partitions.clone();
        if let Some(marked) = self.marked.get(id) {
            partitions.remove_all(marked);
        }
        Ok(Description {
            state: transaction.state,
            timeout_ms: transaction.timeout_ms,
            start_ms: transaction.start_ms,
            producer: transaction.producer(),
            partitions,
        })
    }

    fn list(&self, filter: &ListFilter, now: Now) -> Vec<Listed> {
        // A client may name very many.
        let ids: HashSet<i64> = filter.producer_ids.iter().copied().collect();
        let passes = |transaction: &Transaction| {
            let age_ms = now.wall_ms.saturating_sub(transaction.start_ms);
            (ids.is_empty() || ids.contains(&transaction.producer_id))
                && filter.states.as_ref().is_none_or(|states| states.contains(&transaction.state))
                && (filter.duration_ms < 0 || age_ms > filter.duration_ms)
        };
        let listed = self.ids.all_shown().filter(|(_, transaction)| passes(transaction));
        listed
            .map(|(id, transaction)| Listed {
                transactional_id: id.to_string(),
                producer_id: transaction.producer_id,
                state: transaction.state,
            })
            .collect()
    }
}

fn write_markers(id: &str, prepared: &Transaction) -> WriteMarkers {
    WriteMarkers {
        transactional_id: id.to_owned(),
        producer: prepared.producer(),
        commit: prepared.state == TransactionState::PrepareCommit,
        partitions: prepared.partitions.clone(),
        client_version: prepared.client_version,
    }
}

impl TransactionRequest {
    /// The transactional id that it changes, if it does.
    fn changes(&self) -> Option<&str> {
        match self {
            TransactionRequest::Init(request) => Some(&request.transactional_id),
            TransactionRequest::Add(request) => Some(&request.transactional_id),
            TransactionRequest::End(request) => Some(&request.transactional_id),
            TransactionRequest::Verify(_)
            | TransactionRequest::Describe { .. }
            | TransactionRequest::List(_) => None,
        }
    }
}

impl Shard for TransactionShard {
    type Request = TransactionRequest;
    type Response = TransactionResponse;
    type Record = TransactionRecord;
    type TimerKey = TransactionTimer;
    type Then = Vec<Arc<str>>;
    type Event = TransactionEvent;
    type Job = Infallible;
    type Effect = WriteMarkers;

    fn handle(
        &mut self,
        token: Token,
        request: TransactionRequest,
        now: Now,
        out: &mut Out,
    ) -> Reply<TransactionResponse> {
        // Who came before has its turn first.
        let is_behind = request.changes().is_some_and(|id| self.waiting.has(id));
        let decision = if is_behind { Decision::Concurrent } else { self.decide(&request, now) };
        match decision {
            Decision::Answer(response) => Reply::Now(response),
            Decision::Write(next, response) => {
                if let Some(id) = request.changes() {
                    self.write(id, *next, out);
                }
                Reply::AfterCommit(response)
            }
            Decision::WriteAndWait(next) => {
                let refusal = Self::refuse(&request, ErrorCode::CONCURRENT_TRANSACTIONS);
                if let Some(id) = request.changes() {
                    self.write(id, *next, out);
                }
                if self.wait(token, request, true, now, out).is_err() {
                    return Reply::AfterCommit(refusal);
                }
                Reply::Deferred
            }
            Decision::Concurrent => match self.wait(token, request, false, now, out) {
                Ok(()) => Reply::Deferred,
                Err(refused) => Reply::Now(refused),
            },
        }
    }

    fn event(&mut self, event: TransactionEvent, now: Now, out: &mut Out) {
        match event {
            TransactionEvent::MarkersWritten { transactional_id, producer, partitions } => {
                self.markers_written(&transactional_id, producer, &partitions, now, out);
            }
            TransactionEvent::Configured(config) => {
                self.config = config;
                if self.is_swept {
                    self.schedule_sweeps(out);
                }
            }
        }
    }

    fn job_done(&mut self, done: Infallible, _: Now, _: &mut Out) {
        match done {}
    }

    fn timer_fired(&mut self, timer: TransactionTimer, now: Now, out: &mut Out) {
        match timer {
            TransactionTimer::AbortTimedOut => self.abort_timed_out(now, out),
            TransactionTimer::Expire => self.expire(now, out),
            TransactionTimer::Waited(id) => self.waited(&id, now, out),
            TransactionTimer::Complete(id) => self.complete_if_marked(&id, now, out),
        }
    }

    fn replay(&mut self, at: Position, _: Now, record: &TransactionRecord) {
        self.ids.replay(at.offset, record);
    }

    /// Nobody writes transactions to the log of transactions.
    fn replay_marker(&mut self, _: i64, _: i64, _: bool) {}

    /// Transitions of these ids are committed or taken back, or it takes too long to know that.
    fn resume(
        &mut self,
        ids: Vec<Arc<str>>,
        result: Result<(), ErrorCode>,
        now: Now,
        out: &mut Out,
    ) {
        for id in ids {
            self.resume_one(&id, result, now, out);
            if result.is_err() && matches!(self.ids.get(&id), Known::InTransit) {
                self.unattended.insert(id);
            }
        }
    }

    fn loaded(&mut self, _: Now, out: &mut Out) {
        if !self.is_empty() {
            self.begin_sweeps(out);
        }
        self.ids.loaded();
        self.unattended.extend(self.ids.in_transit().cloned());
        self.resume_markers(out);
    }

    fn unloaded(&mut self, error: ErrorCode, out: &mut Out) {
        self.is_swept = false;
        self.answer_all_waiting(error, out);
    }

    fn commit(&mut self, offset: i64, now: Now, out: &mut Out) {
        let mut settled = Vec::new();
        self.ids.commit(offset, |id| settled.push(Arc::clone(id)));
        for id in settled {
            if !self.ids.committed(&id).is_some_and(|it| it.state.is_prepared()) {
                self.marked.remove(&id);
            }
            if self.unattended.remove(&id) {
                self.serve(&id, now, out);
            }
        }
    }

    fn revert(&mut self, offset: i64, _: ErrorCode, now: Now, out: &mut Out) {
        let mut settled = Vec::new();
        self.ids.revert(offset, |id| settled.push(Arc::clone(id)));
        for id in settled {
            self.completion_reverted(&id, out);
            if self.unattended.remove(&id) {
                self.serve(&id, now, out);
            }
        }
    }

    fn refuse(request: &TransactionRequest, error: ErrorCode) -> TransactionResponse {
        match request {
            TransactionRequest::Init(_) => TransactionResponse::Init(Err(error)),
            TransactionRequest::Add(_) => TransactionResponse::Add(Err(error)),
            TransactionRequest::Verify(_) => TransactionResponse::Verify(Err(error)),
            TransactionRequest::End(_) => TransactionResponse::End(Err(error)),
            TransactionRequest::Describe { .. } => TransactionResponse::Describe(Err(error)),
            TransactionRequest::List(_) => TransactionResponse::List(Err(error)),
        }
    }

    fn fail(response: TransactionResponse, error: ErrorCode) -> TransactionResponse {
        let error = append_error(error);
        match response {
            TransactionResponse::Init(_) => TransactionResponse::Init(Err(error)),
            TransactionResponse::Add(_) => TransactionResponse::Add(Err(error)),
            TransactionResponse::End(_) => TransactionResponse::End(Err(error)),
            // They write nothing.
            read @ (TransactionResponse::Verify(_)
            | TransactionResponse::Describe(_)
            | TransactionResponse::List(_)) => read,
        }
    }
}

/// What clients are told when a record could not be written.
fn append_error(error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND => ErrorCode::COORDINATOR_NOT_AVAILABLE,
        other => thalweg_coordinator::append_error(other),
    }
}
