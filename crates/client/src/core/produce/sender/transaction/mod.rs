//! The transactions of a producer: where the one that is open stands, and what coordinators are to
//! be asked next (KIP-98, KIP-360, KIP-447, KIP-890).
//!
//! What is to be asked follows from the state: [`Sender::next_transaction_request`] gives the same
//! request until [`Sender::transaction_answered`] took an answer in that says what came of it. So
//! whoever asks may lose an answer, or a coordinator, and has nothing to remember.
//!
//! Invariants:
//! - Nothing is sent for a transaction that is not open, or, where the client adds partitions, to
//!   a partition that the coordinator does not know to be in it.
//! - A transaction is ended at its coordinator when nothing of it is queued or in flight, and
//!   committed only if everything of it was acknowledged.
//! - What is acknowledged of a transaction that has failed is not sent on: it is aborted, whatever the
//!   application says.
//! - After something of which nobody knows whether it reached the log or a coordinator, or when it will, the
//!   next transaction has another epoch: what is late is refused then.

mod answers;
mod error;
mod requests;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use thalweg_wire::{ApiKey, ErrorCode};

pub use error::{AbortReason, TransactionError};
pub use requests::{AskNext, Protocol, TransactionAnswer, TransactionOffsets, TransactionRequest};

use super::Sender;
use crate::core::produce::broker_queue::Slot;
use crate::core::produce::error::ProduceErrorKind;
use crate::core::produce::membership::{Membership, TransactionRules};
use crate::core::produce::outcome::Failure;
use crate::core::produce::settings::ProduceCounts;

/// Where a producer's transactions stand.
#[derive(Debug)]
pub(super) struct Transactions {
    pub id: Arc<str>,
    stage: Stage,
    /// Transactions begun so far, which is the last one's number.
    number: u64,
    /// How brokers take part in the last one.
    protocol: Protocol,
    /// How they will in the next one.
    next_protocol: Protocol,
    /// The coordinator may have the last one open.
    is_begun: bool,
    /// The next one needs another epoch, which the client has to ask for.
    needs_epoch: bool,
    /// The answer to a request to commit the last one was lost: it may be committed.
    is_commit_lost: bool,
    /// Partitions of the last one.
    members: Vec<Slot>,
    /// Those of them that the coordinator is to be told of.
    to_add: Vec<Slot>,
    /// Those of these that it was told of, without an answer.
    adding: usize,
    /// Offsets that are to be committed with it.
    offsets: VecDeque<Arc<TransactionOffsets>>,
    /// Groups that the coordinator knows to be in it.
    groups: Vec<Arc<str>>,
    /// The coordinator was told of the first of `offsets`' group, without an answer.
    is_adding_group: bool,
    /// Offsets taken in, and committed, since the beginning.
    offsets_begun: u64,
    offsets_done: u64,
    /// How the last one ended, for whoever waits for that.
    end: TransactionEnd,
    /// Times that the id was refused, and what was said last.
    refusals: u64,
    refusal: Option<TransactionError>,
    /// Why what was asked last has to be asked again.
    last_answer: Option<Arc<str>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Stage {
    /// Nobody has asked for the producer id.
    Uninitialized,
    /// It is asked for, or another epoch of it.
    Initializing,
    Ready,
    Open,
    /// It can only be aborted.
    Failed(AbortReason),
    Committing,
    /// With why, where the application did not want it.
    Aborting(Option<AbortReason>),
}

/// How a transaction ended; nothing while it has not. Whoever waits for it keeps it: others may have begun
/// and ended before it is looked at.
pub type TransactionEnd = Arc<OnceLock<Result<(), TransactionError>>>;

/// What [`Sender::begin_transaction`] made of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Begun {
    /// It is open: its number, and how it will end.
    Open(u64, TransactionEnd),
    /// Something else has to be over first.
    NotYet,
}

impl Transactions {
    pub fn new(id: Arc<str>) -> Transactions {
        Transactions {
            id,
            stage: Stage::Uninitialized,
            number: 0,
            protocol: Protocol::V1,
            next_protocol: Protocol::V1,
            is_begun: false,
            needs_epoch: false,
            is_commit_lost: false,
            members: Vec::new(),
            to_add: Vec::new(),
            adding: 0,
            offsets: VecDeque::new(),
            groups: Vec::new(),
            is_adding_group: false,
            offsets_begun: 0,
            offsets_done: 0,
            end: TransactionEnd::default(),
            refusals: 0,
            refusal: None,
            last_answer: None,
        }
    }

    pub fn rules(&self) -> TransactionRules {
        let is_sent = matches!(self.stage, Stage::Open | Stage::Committing);
        TransactionRules {
            number: if is_sent { self.number } else { 0 },
            needs_adding: self.protocol == Protocol::V1,
        }
    }

    /// How brokers take part in the last transaction.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Something of it is on its way to a leader.
    pub fn note_sent(&mut self) {
        // Where partitions are added first, that is what begins it.
        self.is_begun |= self.protocol == Protocol::V2;
    }

    /// Why no record is taken in; `None` where one is.
    pub fn refuses(&self) -> Option<ProduceErrorKind> {
        match &self.stage {
            Stage::Open => None,
            Stage::Failed(reason) => Some(aborted(Some(reason))),
            Stage::Aborting(reason) => Some(aborted(reason.as_ref())),
            _ => Some(ProduceErrorKind::NoTransaction),
        }
    }

    /// Whether nothing is sent again, because it is aborted.
    pub fn is_given_up(&self) -> bool {
        matches!(self.stage, Stage::Failed(_) | Stage::Aborting(_))
    }

    /// Whether it is to end, once nothing is queued or in flight.
    fn is_ending(&self) -> bool {
        matches!(self.stage, Stage::Committing | Stage::Aborting(_))
    }

    /// Whether a partition is one of the transaction that is not over.
    pub fn has_member(&self, of: Membership) -> bool {
        !matches!(self.stage, Stage::Uninitialized | Stage::Initializing | Stage::Ready)
            && of.joined == self.number
    }

    /// Partitions of the transaction that is not over.
    pub fn members(&self) -> &[Slot] {
        &self.members
    }

    /// The last one is over at its coordinator.
    fn end(&mut self, counts: &mut ProduceCounts) {
        match &self.stage {
            Stage::Committing => counts.transactions_committed += 1,
            _ => counts.transactions_aborted += 1,
        }
        let result = match &self.stage {
            Stage::Aborting(Some(reason)) => Err(TransactionError::Aborted(reason.clone())),
            _ => Ok(()),
        };
        // It ends once.
        let _ = self.end.set(result);
        self.stage = if self.needs_epoch { Stage::Initializing } else { Stage::Ready };
        self.is_begun = false;
        self.is_commit_lost = false;
        self.members.clear();
        self.to_add.clear();
        self.adding = 0;
        self.groups.clear();
        self.is_adding_group = false;
    }

    /// Partitions and groups of which nobody was told, and offsets, are let go. What the
    /// coordinator was told of stays until it has answered: only then it is known whether there is
    /// a transaction to be aborted.
    fn let_go(&mut self) {
        self.to_add.truncate(self.adding);
        let kept = usize::from(self.is_adding_group);
        let dropped = self.offsets.len().saturating_sub(kept);
        self.offsets.truncate(kept);
        self.offsets_done += dropped as u64;
    }
}

impl Sender {
    /// Has the producer id asked for, where that was not done before. Whoever had a transaction
    /// open with this id is fenced, and that transaction aborted.
    pub fn initialize_transactions(&mut self) {
        let Some(transactions) = &mut self.transactions else { return };
        if transactions.stage == Stage::Uninitialized {
            transactions.stage = Stage::Initializing;
            self.wants_coordinator = true;
        }
    }

    /// Whether the producer id is known; an error where the producer cannot go on, or the id was
    /// refused since there were so many [`refusals`](Self::transaction_refusals).
    pub fn transactions_initialized(&self, refusals: u64) -> Result<bool, TransactionError> {
        if let Some(kind) = &self.over {
            return Err(TransactionError::Fatal(kind.clone()));
        }
        let Some(transactions) = &self.transactions else {
            return Err(TransactionError::NotTransactional);
        };
        match &transactions.refusal {
            Some(refusal) if transactions.refusals > refusals => Err(refusal.clone()),
            _ => Ok(self.producer_id.is_some()),
        }
    }

    /// Times that the id was refused.
    pub fn transaction_refusals(&self) -> u64 {
        self.transactions.as_ref().map_or(0, |transactions| transactions.refusals)
    }

    /// Begins a transaction, once what comes before is over.
    pub fn begin_transaction(&mut self, refusals: u64) -> Result<Begun, TransactionError> {
        self.transactions_initialized(refusals)?;
        self.initialize_transactions();
        let Some(transactions) = &mut self.transactions else {
            return Err(TransactionError::NotTransactional);
        };
        match transactions.stage {
            Stage::Ready => {}
            Stage::Open | Stage::Failed(_) => return Err(TransactionError::Open),
            _ => return Ok(Begun::NotYet),
        }
        if (transactions.protocol, transactions.next_protocol) == (Protocol::V1, Protocol::V2)
            && transactions.number > 0
        {
            // What is late of the transactions before must not come to lie in this one, which no
            // partition has to be added to any more.
            transactions.protocol = Protocol::V2;
            transactions.stage = Stage::Initializing;
            self.wants_coordinator = true;
            return Ok(Begun::NotYet);
        }
        transactions.protocol = transactions.next_protocol;
        transactions.number += 1;
        transactions.stage = Stage::Open;
        transactions.end = TransactionEnd::default();
        Ok(Begun::Open(transactions.number, Arc::clone(&transactions.end)))
    }

    /// Why the transaction of this number can only be aborted, or was aborted; `None` while it may be
    /// committed.
    pub fn transaction_failure(&self, number: u64) -> Option<TransactionError> {
        if let Some(kind) = &self.over {
            return Some(TransactionError::Fatal(kind.clone()));
        }
        let transactions = self.transactions.as_ref().filter(|known| known.number == number)?;
        match &transactions.stage {
            Stage::Failed(reason) | Stage::Aborting(Some(reason)) => {
                Some(TransactionError::Aborted(reason.clone()))
            }
            // Closing the producer may have aborted it, and that may be over.
            _ => transactions.end.get().and_then(|ended| ended.clone().err()),
        }
    }

    /// Ends the transaction of this number: everything of it is sent without waiting for more and it
    /// is committed, or nothing more of it is sent and it is aborted. One that has failed is aborted.
    pub fn end_transaction(&mut self, number: u64, is_commit: bool, now_ms: u64) {
        let Some(transactions) = self.transactions.as_mut().filter(|t| t.number == number) else {
            return;
        };
        transactions.stage =
            match (std::mem::replace(&mut transactions.stage, Stage::Ready), is_commit) {
                (Stage::Open, true) => Stage::Committing,
                (Stage::Open, false) => Stage::Aborting(None),
                // Who aborts it is told that it is aborted, not why.
                (Stage::Failed(_), false) => Stage::Aborting(None),
                (Stage::Failed(reason), true) => Stage::Aborting(Some(reason)),
                (other, _) => return transactions.stage = other,
            };
        if is_commit && transactions.stage == Stage::Committing {
            for at in 0..transactions.members.len() {
                let members = self.transactions.as_ref().map(|t| &t.members);
                let Some(&slot) = members.and_then(|members| members.get(at)) else { break };
                self.close_last(slot, now_ms);
            }
        } else {
            transactions.let_go();
            self.drop_queued(None);
        }
        self.wants_coordinator = true;
    }

    /// How a transaction ended; `None` while it has not.
    pub fn transaction_end(&self, end: &TransactionEnd) -> Option<Result<(), TransactionError>> {
        let fatal = || Some(Err(TransactionError::Fatal(self.over.clone()?)));
        end.get().cloned().or_else(fatal)
    }

    /// What a coordinator answered last, or why it could not be asked; `None` where that was well.
    pub fn last_transaction_answer(&self) -> Option<Arc<str>> {
        self.transactions.as_ref()?.last_answer.clone()
    }

    /// Aborts the transaction that is open, because the producer is closed. One that is being ended is
    /// not touched: its coordinator may have decided already.
    pub fn abort_open_transaction(&mut self) {
        let Some(transactions) = &self.transactions else { return };
        if transactions.stage == Stage::Open {
            self.fail_transaction(AbortReason::Closed, false);
        }
        let Some(transactions) = &mut self.transactions else { return };
        if let Stage::Failed(reason) = &transactions.stage {
            transactions.stage = Stage::Aborting(Some(reason.clone()));
            self.wants_coordinator = true;
        }
    }

    /// Whether a transaction is being ended.
    pub fn is_ending_transaction(&self) -> bool {
        self.over.is_none() && self.transactions.as_ref().is_some_and(|known| known.is_ending())
    }

    /// Takes offsets in, to be committed with the transaction of this number; gives how many there
    /// were then.
    pub fn add_offsets(
        &mut self,
        number: u64,
        offsets: TransactionOffsets,
    ) -> Result<u64, TransactionError> {
        if let Some(failure) = self.transaction_failure(number) {
            return Err(failure);
        }
        let transactions = self.transactions.as_mut();
        let open = transactions.filter(|t| t.number == number && t.stage == Stage::Open);
        let Some(transactions) = open else { return Err(TransactionError::NotTransactional) };
        transactions.offsets.push_back(Arc::new(offsets));
        transactions.offsets_begun += 1;
        self.wants_coordinator = true;
        Ok(transactions.offsets_begun)
    }

    /// Whether no transaction was begun after this one.
    pub fn is_last_transaction(&self, number: u64) -> bool {
        self.transactions.as_ref().is_some_and(|known| known.number == number)
    }

    /// Offsets that are of no member of the group any more, as its coordinator would say.
    pub fn refuse_offsets(&mut self, number: u64, group: Arc<str>) {
        if self.is_last_transaction(number) {
            let (api, code) = (ApiKey::TXN_OFFSET_COMMIT, ErrorCode::ILLEGAL_GENERATION);
            self.fail_transaction(AbortReason::Broker { api, about: group, code }, false);
        }
    }

    /// Whether as many offsets are committed with their transaction, if it is.
    pub fn has_offsets(&self, number: u64, count: u64) -> Result<bool, TransactionError> {
        if let Some(failure) = self.transaction_failure(number) {
            return Err(failure);
        }
        Ok(self.transactions.as_ref().is_some_and(|t| t.offsets_done >= count))
    }

    /// Takes over how brokers take part in the next transaction (`transaction.version`).
    pub fn set_transaction_protocol(&mut self, protocol: Protocol) {
        if let Some(transactions) = &mut self.transactions {
            transactions.next_protocol = protocol;
        }
    }

    /// What a coordinator is to be asked now; `None` while there is nothing.
    pub fn next_transaction_request(&mut self) -> Option<TransactionRequest> {
        if self.over.is_some() {
            return None;
        }
        let outstanding = self.outstanding;
        let transactions = self.transactions.as_mut()?;
        if transactions.stage == Stage::Initializing {
            let (producer_id, epoch) = self.producer_id.unwrap_or((-1, -1));
            return Some(TransactionRequest::Initialize { producer_id, epoch });
        }
        let producer = self.producer_id?;
        if !transactions.to_add.is_empty() {
            transactions.adding = transactions.to_add.len();
            let name_of = |&slot: &Slot| Arc::clone(&self.partitions[slot as usize].name);
            let partitions = transactions.to_add.iter().map(name_of).collect();
            return Some(TransactionRequest::AddPartitions { producer, partitions });
        }
        if let Some(offsets) = transactions.offsets.front() {
            if transactions.protocol == Protocol::V1
                && !transactions.groups.contains(&offsets.group)
            {
                transactions.is_adding_group = true;
                let group = Arc::clone(&offsets.group);
                return Some(TransactionRequest::AddOffsets { producer, group });
            }
            transactions.is_begun = true;
            let (offsets, protocol) = (Arc::clone(offsets), transactions.protocol);
            return Some(TransactionRequest::CommitOffsets { producer, offsets, protocol });
        }
        if !transactions.is_ending() || outstanding > 0 {
            return None;
        }
        if transactions.is_begun {
            let is_commit = transactions.stage == Stage::Committing;
            let protocol = transactions.protocol;
            return Some(TransactionRequest::End { producer, is_commit, protocol });
        }
        // The coordinator has not heard of it.
        transactions.end(&mut self.counts);
        self.transactions_changed = true;
        self.next_transaction_request()
    }

    /// Notes that a partition takes part in the transaction that is open.
    pub(super) fn join_transaction(&mut self, slot: Slot) {
        let Some(transactions) = &mut self.transactions else { return };
        let membership = &mut self.partitions[slot as usize].membership;
        if membership.joined == transactions.number {
            return;
        }
        membership.joined = transactions.number;
        transactions.members.push(slot);
        if transactions.protocol == Protocol::V1 {
            transactions.to_add.push(slot);
            self.wants_coordinator = true;
        }
    }

    /// A record of the transaction was not acknowledged, or a step of it is refused: it can only be aborted.
    pub(super) fn fail_transaction(&mut self, reason: AbortReason, needs_epoch: bool) {
        let Some(transactions) = &mut self.transactions else { return };
        transactions.needs_epoch |= needs_epoch && transactions.protocol == Protocol::V1;
        transactions.stage = match transactions.stage {
            Stage::Open => Stage::Failed(reason.clone()),
            Stage::Committing => Stage::Aborting(Some(reason.clone())),
            _ => return,
        };
        transactions.let_go();
        self.drop_queued(Some(&reason));
        self.wants_coordinator = true;
        self.transactions_changed = true;
    }

    /// Gives up what was not sent.
    fn drop_queued(&mut self, reason: Option<&AbortReason>) {
        let members = self.transactions.as_ref().map(|t| t.members.clone());
        for slot in members.into_iter().flatten() {
            for batch in std::mem::take(&mut self.partitions[slot as usize].queue) {
                self.fail(slot, batch, aborted(reason), Vec::new());
            }
            // Whose queue is empty has no turn, whatever the time.
            self.reschedule(slot, 0);
        }
    }

    /// What a batch that was not acknowledged means for the transaction it is of.
    pub(super) fn note_failure(&mut self, failed: &Failure, was_sent: bool) {
        let Some(transactions) = &mut self.transactions else { return };
        if self.over.is_some() {
            return;
        }
        // It may be in the log all the same, or come there, and its sequence is used or not.
        transactions.needs_epoch |= was_sent && transactions.protocol == Protocol::V1;
        if !matches!(failed.kind, ProduceErrorKind::Aborted { .. }) {
            self.fail_transaction(AbortReason::Record(failed.error()), was_sent);
        }
    }
}

fn aborted(reason: Option<&AbortReason>) -> ProduceErrorKind {
    ProduceErrorKind::Aborted { reason: reason.map(|reason| reason.to_string().into()) }
}
