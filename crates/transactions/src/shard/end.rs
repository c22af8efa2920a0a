//! EndTxn.

use thalweg_coordinator::Now;
use thalweg_wire::ErrorCode;

use super::{Decision, TransactionShard};
use crate::ids::Known;
use crate::request::{EndTransaction, TransactionResponse};
use crate::transaction::Producer;
use crate::{Transaction, TransactionState};

/// A transaction ended before: what is said to whoever ends it again in the same epoch.
fn ended_before(state: TransactionState, commit: bool) -> bool {
    match state {
        TransactionState::CompleteCommit => commit,
        TransactionState::CompleteAbort => !commit,
        _ => false,
    }
}

impl TransactionShard {
    pub(super) fn end(&self, request: &EndTransaction, now: Now) -> Decision {
        let ended = if request.client_version.bumps_epochs() {
            self.end_and_bump(request, now)
        } else {
            self.end_in_epoch(request, now)
        };
        ended.unwrap_or_else(|code| Decision::Answer(TransactionResponse::End(Err(code))))
    }

    /// Without KIP-890's second part: the epoch stays.
    fn end_in_epoch(&self, request: &EndTransaction, now: Now) -> Result<Decision, ErrorCode> {
        let id = &request.transactional_id;
        // The producer is held against what is committed even while a transition is under way, as in Kafka.
        let in_transit = matches!(self.ids.get(id), Known::InTransit);
        let transaction = match self.ids.committed(id) {
            Some(transaction) => transaction,
            // After a load it may have been committed for long, and that is not known yet.
            None if in_transit => return Ok(Decision::Concurrent),
            None => return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING),
        };
        if transaction.producer_id != request.producer.id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if transaction.producer_epoch != request.producer.epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        if in_transit || transaction.state.is_prepared() {
            return Ok(Decision::Concurrent);
        }
        let answer = TransactionResponse::End(Ok(Producer::NONE));
        match transaction.state {
            TransactionState::Ongoing => {
                let next = transaction.prepare(request.commit, now.wall_ms);
                Ok(Decision::Write(Box::new(next), answer))
            }
            state if ended_before(state, request.commit) => Ok(Decision::Answer(answer)),
            _ => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }

    /// With it: each transaction ends in the next epoch, so that the same epoch is another transaction, and the one
    /// before is a request that is sent again.
    fn end_and_bump(&self, request: &EndTransaction, now: Now) -> Result<Decision, ErrorCode> {
        let transaction = match self.ids.get(&request.transactional_id) {
            Known::Nothing => return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING),
            // Before anything else: the producer may be the one that takes over when the transaction is complete.
            Known::InTransit => return Ok(Decision::Concurrent),
            Known::Is(transaction) if transaction.state.is_prepared() => {
                return Ok(Decision::Concurrent);
            }
            Known::Is(transaction) => transaction,
        };
        let Producer { id, epoch } = request.producer;
        let has_rotated = transaction.previous_producer_id == id
            && epoch == i16::MAX - 1
            && transaction.producer_epoch == 0;
        // Where the last transaction did not end in the next epoch, the one before is a producer that was fenced. Kafka takes
        // it for the one that has ended the transaction, and tells it that it is the producer that fenced it.
        let is_epoch_before = transaction.client_version.bumps_epochs()
            && i32::from(transaction.producer_epoch) == i32::from(epoch) + 1;
        let is_retry = has_rotated || is_epoch_before;
        if transaction.producer_id != id && !has_rotated {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        let is_complete = matches!(
            transaction.state,
            TransactionState::CompleteCommit | TransactionState::CompleteAbort
        );
        if epoch != transaction.producer_epoch && !(is_complete && is_retry) {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match transaction.state {
            TransactionState::Ongoing => self.prepare_and_bump(transaction, request, false, now),
            state if is_retry && ended_before(state, request.commit) => {
                Ok(Decision::Answer(TransactionResponse::End(Ok(transaction.producer()))))
            }
            // Who does not know whether anything was added aborts all the same.
            _ if !is_retry && !request.commit => {
                self.prepare_and_bump(transaction, request, true, now)
            }
            _ => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }

    fn prepare_and_bump(
        &self,
        transaction: &Transaction,
        request: &EndTransaction,
        begins_now: bool,
        now: Now,
    ) -> Result<Decision, ErrorCode> {
        let next = transaction.prepare_and_bump(
            request.commit,
            request.client_version,
            self.next_producer_id(transaction)?,
            begins_now,
            now.wall_ms,
        );
        let response = TransactionResponse::End(Ok(next.after_completion()));
        Ok(Decision::Write(Box::new(next), response))
    }
}
