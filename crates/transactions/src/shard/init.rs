//! InitProducerId of a transactional id.

use thalweg_coordinator::Now;
use thalweg_wire::ErrorCode;

use super::{Decision, TransactionShard};
use crate::ids::Known;
use crate::request::{InitProducerId, TransactionResponse};
use crate::transaction::{NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Producer, is_exhausted};
use crate::{Transaction, TransactionState};

impl TransactionShard {
    pub(super) fn init(&self, request: &InitProducerId, now: Now) -> Decision {
        match self.try_init(request, now) {
            Ok(decision) => decision,
            Err(code) => Decision::Answer(TransactionResponse::Init(Err(code))),
        }
    }

    fn try_init(&self, request: &InitProducerId, now: Now) -> Result<Decision, ErrorCode> {
        let timeout_ms = self.init_timeout_ms(request)?;
        let transaction = match self.ids.get(&request.transactional_id) {
            Known::InTransit => return Ok(Decision::Concurrent),
            Known::Nothing => &Transaction::new(self.producer_ids.next()?, timeout_ms, now.wall_ms),
            Known::Is(transaction) => transaction,
        };
        // What is prepared goes on to be completed: no less a transition that is under way.
        if transaction.state.is_prepared() {
            return Ok(Decision::Concurrent);
        }
        let may_be = |expected: Producer| {
            let is_retried =
                is_exhausted(expected.epoch) && expected.id == transaction.previous_producer_id;
            // Of an id that was not known any more, anybody may begin anew.
            transaction.producer_epoch == NO_PRODUCER_EPOCH
                || expected.id == transaction.producer_id
                || is_retried
        };
        if !request.expected.is_none_or(may_be) {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        if transaction.state == TransactionState::Ongoing {
            return Ok(Decision::WriteAndWait(Box::new(self.fence(transaction, now)?)));
        }
        let expected = request.expected.map(|producer| producer.epoch);
        let next = if transaction.is_exhausted()
            && expected.is_none_or(|epoch| epoch == transaction.producer_epoch)
        {
            let id = self.producer_ids.next()?;
            transaction.rotate(id, timeout_ms, expected.is_some(), now.wall_ms)
        } else {
            transaction.increment_epoch(timeout_ms, expected, now.wall_ms)?
        };
        let response = TransactionResponse::Init(Ok(next.producer()));
        Ok(Decision::Write(Box::new(next), response))
    }

    fn init_timeout_ms(&self, request: &InitProducerId) -> Result<i32, ErrorCode> {
        if request.enable_2pc && !self.config.two_phase_commit {
            return Err(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        }
        if request.keep_prepared {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        if request.enable_2pc {
            return Ok(i32::MAX);
        }
        if !(1..=self.config.max_timeout_ms).contains(&request.timeout_ms) {
            return Err(ErrorCode::INVALID_TRANSACTION_TIMEOUT);
        }
        Ok(request.timeout_ms)
    }

    /// Aborts a transaction so that its producer is fenced: whoever comes after it gets yet another epoch.
    pub(super) fn fence(
        &self,
        transaction: &Transaction,
        now: Now,
    ) -> Result<Transaction, ErrorCode> {
        let version = self.config.version;
        if !version.bumps_epochs() {
            return Ok(transaction.prepare_fence(now.wall_ms));
        }
        let next_id = self.next_producer_id(transaction)?;
        Ok(transaction.prepare_and_bump(false, version, next_id, false, now.wall_ms))
    }

    /// The producer id that takes over at the end of a transaction, if the epochs of this one are used up.
    pub(super) fn next_producer_id(&self, transaction: &Transaction) -> Result<i64, ErrorCode> {
        if transaction.is_exhausted() { self.producer_ids.next() } else { Ok(NO_PRODUCER_ID) }
    }
}
