//! What coordinators answered.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_wire::{ApiKey, ErrorCode};

use super::Stage;
use super::error::{AbortReason, TransactionError};
use super::requests::{AskNext, Protocol, TransactionAnswer, TransactionRequest, Verdict};
use crate::core::code_name::code_name;
use crate::core::partition::TopicPartition;
use crate::core::produce::broker_queue::Slot;
use crate::core::produce::error::ProduceErrorKind;
use crate::core::produce::sender::Sender;

impl Sender {
    /// Takes in what came of the request that [`Self::next_transaction_request`] gave last.
    pub fn transaction_answered(
        &mut self,
        request: &TransactionRequest,
        answer: TransactionAnswer,
        now_ms: u64,
    ) -> AskNext {
        self.transactions_changed = true;
        self.counts.coordinator_requests += 1;
        let Some(transactions) = &mut self.transactions else { return AskNext::Now };
        let (done, code, about) = match answer {
            TransactionAnswer::Unasked(cause) => {
                transactions.last_answer = Some(cause);
                return AskNext::OfAnother;
            }
            TransactionAnswer::Lost(cause) => {
                // The coordinator may come to read it when another transaction is open, and would take it
                // for a part of that one, were the epoch the same.
                let is_of_epoch = request.api() != ApiKey::INIT_PRODUCER_ID;
                transactions.needs_epoch |= is_of_epoch && transactions.protocol == Protocol::V1;
                transactions.is_commit_lost |= is_commit(request);
                transactions.last_answer = Some(cause);
                return AskNext::OfAnother;
            }
            TransactionAnswer::Producer(id, epoch) => {
                self.producer_id = Some((id, epoch));
                (Vec::new(), ErrorCode::NONE, None)
            }
            TransactionAnswer::Code(code) => {
                // A coordinator that ends a transaction without another epoch leaves that to the client.
                transactions.needs_epoch |= code == ErrorCode::NONE
                    && request.api() == ApiKey::END_TXN
                    && transactions.protocol == Protocol::V2;
                (Vec::new(), code, None)
            }
            TransactionAnswer::Partitions(answers) => of_partitions(request, answers),
        };
        self.partitions_added(request, &done, now_ms);
        let verdict = request.verdict(code);
        let is_concurrent = code == ErrorCode::CONCURRENT_TRANSACTIONS;
        self.counts.concurrent_transactions += u64::from(is_concurrent);
        let Some(transactions) = &mut self.transactions else { return AskNext::Now };
        transactions.last_answer = (code != ErrorCode::NONE).then(|| code_name(code).into());
        match verdict {
            Verdict::Done => {
                self.transaction_done(request);
                AskNext::Now
            }
            Verdict::Retry if is_concurrent => AskNext::Soon,
            Verdict::Retry => AskNext::Later,
            Verdict::FindCoordinator => AskNext::OfAnother,
            Verdict::Refused => {
                transactions.stage = Stage::Uninitialized;
                transactions.refusals += 1;
                transactions.refusal = Some(TransactionError::Refused { api: request.api(), code });
                AskNext::Now
            }
            // It may be committed. With an epoch for each transaction an abort would be refused then. Without one it may
            // end another transaction, which a late request has begun in the same epoch, and seem to end this one.
            Verdict::Abort { .. }
                if transactions.is_commit_lost && transactions.protocol == Protocol::V1 =>
            {
                let message = "an answer to the commit was lost, so it may have come about";
                self.give_up(ProduceErrorKind::Fatal { code, message: Some(message.into()) });
                AskNext::Now
            }
            Verdict::Abort { needs_epoch } => {
                // What was refused has not come about, and is not asked for again.
                transactions.adding = 0;
                transactions.is_adding_group = false;
                let group = match request {
                    TransactionRequest::AddOffsets { group, .. } => Some(group),
                    request => request.group(),
                };
                let about = about.unwrap_or_else(|| Arc::clone(group.unwrap_or(&transactions.id)));
                let reason = AbortReason::Broker { api: request.api(), about, code };
                transactions.let_go();
                self.fail_transaction(reason, needs_epoch);
                AskNext::Now
            }
            Verdict::Fatal(code) => {
                self.give_up(ProduceErrorKind::Fatal { code, message: None });
                AskNext::Now
            }
        }
    }

    /// The coordinator knows of these partitions.
    fn partitions_added(
        &mut self,
        request: &TransactionRequest,
        names: &[TopicPartition],
        now_ms: u64,
    ) {
        let Some(transactions) = &mut self.transactions else { return };
        if names.is_empty() || request.api() != ApiKey::ADD_PARTITIONS_TO_TXN {
            return;
        }
        transactions.is_begun = true;
        let number = transactions.number;
        let asked = transactions.adding.min(transactions.to_add.len());
        let rest = transactions.to_add.split_off(asked);
        let asked = std::mem::replace(&mut transactions.to_add, rest);
        let names: HashSet<&TopicPartition> = names.iter().collect();
        let (added, left): (Vec<Slot>, Vec<Slot>) = asked
            .into_iter()
            .partition(|&slot| names.contains(&*self.partitions[slot as usize].name));
        transactions.adding = left.len();
        transactions.to_add.splice(0..0, left);
        for slot in added {
            self.partitions[slot as usize].membership.added = number;
            self.reschedule(slot, now_ms);
        }
    }

    fn transaction_done(&mut self, request: &TransactionRequest) {
        let Some(transactions) = &mut self.transactions else { return };
        match request {
            TransactionRequest::Initialize { .. } => {
                transactions.needs_epoch = false;
                if transactions.stage == Stage::Initializing {
                    transactions.stage = Stage::Ready;
                }
            }
            TransactionRequest::AddPartitions { .. } => {}
            TransactionRequest::AddOffsets { group, .. } => {
                transactions.is_begun = true;
                transactions.is_adding_group = false;
                transactions.groups.push(Arc::clone(group));
                if transactions.is_given_up() {
                    transactions.let_go();
                }
            }
            TransactionRequest::CommitOffsets { offsets, .. } => {
                if transactions.offsets.front().is_some_and(|first| Arc::ptr_eq(first, offsets)) {
                    transactions.offsets.pop_front();
                    transactions.offsets_done += 1;
                }
            }
            TransactionRequest::End { .. } => transactions.end(&mut self.counts),
        }
    }
}

fn is_commit(request: &TransactionRequest) -> bool {
    matches!(request, TransactionRequest::End { is_commit: true, .. })
}

/// What an answer for each partition says: those that are done, and the worst code with its partition.
fn of_partitions(
    request: &TransactionRequest,
    answers: Vec<(TopicPartition, ErrorCode)>,
) -> (Vec<TopicPartition>, ErrorCode, Option<Arc<str>>) {
    let severity = |code: ErrorCode| match request.verdict(code) {
        Verdict::Done => 0,
        // Says only that another one was refused, be it for a moment.
        Verdict::Abort { .. } if code == ErrorCode::OPERATION_NOT_ATTEMPTED => 1,
        Verdict::Retry => 2,
        Verdict::FindCoordinator => 3,
        Verdict::Abort { .. } => 4,
        Verdict::Refused | Verdict::Fatal(_) => 5,
    };
    let mut done = Vec::new();
    let mut worst = (ErrorCode::NONE, None);
    for (partition, code) in answers {
        if severity(code) > severity(worst.0) {
            worst = (code, Some(partition.to_string().into()));
        }
        if code == ErrorCode::NONE {
            done.push(partition);
        }
    }
    (done, worst.0, worst.1)
}
