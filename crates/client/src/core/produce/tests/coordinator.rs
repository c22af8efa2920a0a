//! A coordinator of one transactional id, and one of one group, as far as Kafka's behave (`TransactionCoordinator`,
//! `GroupCoordinator`): states, epochs, ids that are used up, repetitions.
//!
//! What is decided is written to each partition and to the group by itself, some time later: see
//! [`Coordinator::next_marker`].

use std::collections::{BTreeSet, HashMap, HashSet};

use thalweg_wire::ErrorCode;

use super::super::transaction::{Protocol, TransactionAnswer, TransactionRequest};

/// The last epoch that is given to a producer.
const EPOCH_MAX: i16 = 6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing is open; with how the last one ended.
    Over(Option<bool>),
    Ongoing,
    /// Committed, or aborted, and not yet written to all.
    Prepared(bool),
}

/// Where a marker is to be written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    Partition(i32),
    Group,
}

/// The end of a transaction, to be written to one log.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    pub target: Target,
    pub producer: (i64, i16),
    pub is_commit: bool,
}

#[derive(Debug)]
pub struct Coordinator {
    producer: (i64, i16),
    /// The epoch before, where a repetition of the request for this one gets it as well.
    last_epoch: i16,
    last_id: i64,
    /// The id that follows when the transaction that is prepared is complete.
    next_id: Option<i64>,
    state: State,
    targets: BTreeSet<Target>,
    ids: i64,
    group: Group,
}

/// A group that commits one offset.
#[derive(Debug, Default)]
struct Group {
    epochs: HashMap<i64, i16>,
    /// Producers with a transaction open here.
    open: HashSet<i64>,
    pending: HashMap<i64, i64>,
    /// All that was ever committed.
    history: Vec<i64>,
}

impl Coordinator {
    pub fn new() -> Coordinator {
        Coordinator {
            producer: (1, -1),
            last_epoch: -1,
            last_id: -1,
            next_id: None,
            state: State::Over(None),
            targets: BTreeSet::new(),
            ids: 1,
            group: Group::default(),
        }
    }

    /// The offsets that were committed, in order.
    pub fn committed_offsets(&self) -> &[i64] {
        &self.group.history
    }

    /// Ids given so far.
    pub fn ids(&self) -> i64 {
        self.ids
    }

    /// Whether nothing is open, and nothing is to be written.
    pub fn is_quiet(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// What is to be written next.
    pub fn next_marker(&self) -> Option<Marker> {
        let State::Prepared(is_commit) = self.state else { return None };
        let target = *self.targets.first()?;
        Some(Marker { target, producer: self.producer, is_commit })
    }

    /// It is written. Without any left the transaction is complete.
    pub fn marked(&mut self, marker: Marker) {
        if marker.target == Target::Group {
            let (id, epoch) = marker.producer;
            self.group.epochs.insert(id, epoch);
            self.group.open.remove(&id);
            let offset = self.group.pending.remove(&id);
            self.group.history.extend(offset.filter(|_| marker.is_commit));
        }
        self.targets.remove(&marker.target);
        self.complete();
    }

    fn complete(&mut self) {
        if let State::Prepared(is_commit) = self.state
            && self.targets.is_empty()
        {
            self.state = State::Over(Some(is_commit));
            if let Some(next) = self.next_id.take() {
                self.last_id = self.producer.0;
                self.producer = (next, 0);
            }
        }
    }

    /// Aborts what took too long, and fences its producer.
    pub fn time_out(&mut self) {
        if self.state == State::Ongoing {
            self.producer.1 += 1;
            self.last_epoch = -1;
            self.prepare(false);
        }
    }

    fn prepare(&mut self, is_commit: bool) {
        self.state = State::Prepared(is_commit);
        self.complete();
    }

    fn take_id(&mut self) -> i64 {
        self.ids += 1;
        self.ids
    }

    /// What is answered to a client.
    pub fn answer(&mut self, request: &TransactionRequest) -> TransactionAnswer {
        let each = |names: Vec<crate::core::partition::TopicPartition>, code| {
            TransactionAnswer::Partitions(names.into_iter().map(|name| (name, code)).collect())
        };
        let of = |result: Result<(i64, i16), ErrorCode>| match result {
            Ok((id, epoch)) if id >= 0 => TransactionAnswer::Producer(id, epoch),
            Ok(_) => TransactionAnswer::Code(ErrorCode::NONE),
            Err(code) => TransactionAnswer::Code(code),
        };
        match request {
            TransactionRequest::Initialize { producer_id, epoch } => {
                of(self.initialize((*producer_id, *epoch)))
            }
            TransactionRequest::AddPartitions { producer, partitions } => {
                let targets = partitions.iter().map(|of| Target::Partition(of.partition));
                let code = self.add(*producer, targets);
                each(partitions.iter().map(|of| (**of).clone()).collect(), code)
            }
            TransactionRequest::AddOffsets { producer, .. } => {
                TransactionAnswer::Code(self.add(*producer, [Target::Group]))
            }
            TransactionRequest::CommitOffsets { producer, offsets, protocol } => {
                let (_, position, _) = &offsets.offsets[0];
                let code = self.commit_offset(*producer, position.offset, *protocol);
                each(offsets.offsets.iter().map(|of| of.0.clone()).collect(), code)
            }
            TransactionRequest::End { producer, is_commit, protocol } => of(match protocol {
                Protocol::V1 => self.end_v1(*producer, *is_commit).map(|()| (-1, -1)),
                Protocol::V2 => self.end_v2(*producer, *is_commit),
            }),
        }
    }

    /// InitProducerId.
    pub fn initialize(&mut self, expected: (i64, i16)) -> Result<(i64, i16), ErrorCode> {
        let is_expected = expected.0 >= 0;
        let is_valid = self.producer.1 < 0
            || expected.0 == self.producer.0
            || (expected.0 == self.last_id && expected.1 >= EPOCH_MAX);
        if is_expected && !is_valid {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match self.state {
            State::Prepared(_) => return Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            State::Ongoing => {
                self.time_out();
                return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
            }
            State::Over(_) => {}
        }
        let (id, epoch) = self.producer;
        if epoch >= EPOCH_MAX && (!is_expected || expected.1 == epoch) {
            self.last_id = id;
            self.last_epoch = if is_expected { epoch } else { -1 };
            self.producer = (self.take_id(), 0);
        } else if !is_expected {
            self.last_epoch = -1;
            self.producer.1 += 1;
        } else if expected.1 == epoch {
            self.last_epoch = epoch;
            self.producer.1 += 1;
        } else if expected.1 != self.last_epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        self.state = State::Over(None);
        Ok(self.producer)
    }

    fn check(&self, producer: (i64, i16)) -> Result<(), ErrorCode> {
        if matches!(self.state, State::Prepared(_)) {
            Err(ErrorCode::CONCURRENT_TRANSACTIONS)
        } else if producer.0 != self.producer.0 {
            Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING)
        } else if producer.1 != self.producer.1 {
            Err(ErrorCode::PRODUCER_FENCED)
        } else {
            Ok(())
        }
    }

    /// AddPartitionsToTxn, of a client or a leader, and AddOffsetsToTxn.
    pub fn add(
        &mut self,
        producer: (i64, i16),
        targets: impl IntoIterator<Item = Target>,
    ) -> ErrorCode {
        if let Err(code) = self.check(producer) {
            return code;
        }
        self.state = State::Ongoing;
        self.targets.extend(targets);
        ErrorCode::NONE
    }

    /// AddPartitionsToTxn of a leader that only wants to know.
    pub fn verify(&self, producer: (i64, i16), target: Target) -> ErrorCode {
        match self.check(producer) {
            Err(code) => code,
            Ok(()) if self.state == State::Ongoing && self.targets.contains(&target) => {
                ErrorCode::NONE
            }
            Ok(()) => ErrorCode::TRANSACTION_ABORTABLE,
        }
    }

    fn commit_offset(
        &mut self,
        producer: (i64, i16),
        offset: i64,
        protocol: Protocol,
    ) -> ErrorCode {
        let known = self.group.epochs.get(&producer.0).copied().unwrap_or(-1);
        if producer.1 < known {
            return ErrorCode::INVALID_PRODUCER_EPOCH;
        }
        if producer.1 > known || !self.group.open.contains(&producer.0) {
            let code = match protocol {
                Protocol::V1 => self.verify(producer, Target::Group),
                Protocol::V2 => self.add(producer, [Target::Group]),
            };
            if code != ErrorCode::NONE {
                return code;
            }
        }
        self.group.epochs.insert(producer.0, producer.1);
        self.group.open.insert(producer.0);
        self.group.pending.insert(producer.0, offset);
        ErrorCode::NONE
    }

    fn end_v1(&mut self, producer: (i64, i16), is_commit: bool) -> Result<(), ErrorCode> {
        if producer.0 != self.producer.0 {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if producer.1 != self.producer.1 {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match self.state {
            State::Ongoing => {
                self.prepare(is_commit);
                Ok(())
            }
            State::Prepared(of) if of == is_commit => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            State::Over(Some(of)) if of == is_commit => Ok(()),
            _ => Err(ErrorCode::INVALID_TXN_STATE),
        }
    }

    fn end_v2(&mut self, producer: (i64, i16), is_commit: bool) -> Result<(i64, i16), ErrorCode> {
        let (id, epoch) = self.producer;
        let is_of_id_before = producer == (self.last_id, EPOCH_MAX) && epoch == 0;
        let is_again = is_of_id_before || epoch == producer.1 + 1;
        // Whatever it is of, it is looked at when the one before is complete.
        if matches!(self.state, State::Prepared(_)) {
            return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        }
        if id != producer.0 && !is_of_id_before {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        let is_valid = match self.state {
            State::Over(Some(_)) => is_again || producer.1 == epoch,
            _ => producer.1 == epoch,
        };
        if !is_valid {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match self.state {
            State::Over(Some(of)) if is_again && of == is_commit => return Ok(self.producer),
            State::Ongoing => {}
            State::Over(_) if !is_again && !is_commit => {}
            _ => return Err(ErrorCode::INVALID_TXN_STATE),
        }
        self.last_epoch = epoch;
        self.producer.1 += 1;
        if epoch >= EPOCH_MAX {
            self.next_id = Some(self.take_id());
        }
        let next = self.next_id.map_or(self.producer, |next| (next, 0));
        self.prepare(is_commit);
        Ok(next)
    }
}
