//! Transactions, step by step.

use std::collections::BTreeSet;

use thalweg_wire::{ApiKey, ErrorCode};

use super::super::transaction::{
    AskNext, Begun, Protocol, TransactionAnswer, TransactionEnd, TransactionOffsets,
    TransactionRequest,
};
use super::super::*;
use super::cluster::*;
use crate::core::partition::{Position, TopicPartition};

const GROUP: &str = "g";

/// A producer with transactions, and whoever asks coordinators for it.
struct Life {
    sim: Sim,
    number: u64,
    end: TransactionEnd,
}

impl Life {
    /// It has its id.
    fn new(protocol: Protocol) -> Life {
        Life::with(protocol, ProduceSettings::default())
    }

    fn with(protocol: Protocol, settings: ProduceSettings) -> Life {
        let id = Some("id".into());
        let sim = Sim::new(ProduceSettings { transactional_id: id, ..settings }, 1 << 20, 3, 2);
        let mut life = Life { sim, number: 0, end: TransactionEnd::default() };
        life.sim.sender.set_transaction_protocol(protocol);
        life.sim.sender.initialize_transactions();
        life.go_on();
        life
    }

    fn begin(&mut self) {
        let begun = self.sim.sender.begin_transaction(self.sim.sender.transaction_refusals());
        let Ok(Begun::Open(number, end)) = begun else { panic!("{begun:?}") };
        (self.number, self.end) = (number, end);
    }

    fn finish(&mut self, is_commit: bool) {
        self.sim.sender.end_transaction(self.number, is_commit, self.sim.now);
    }

    fn ended(&self) -> Option<Result<(), TransactionError>> {
        self.sim.sender.transaction_end(&self.end)
    }

    fn next(&mut self) -> Option<TransactionRequest> {
        self.sim.sender.next_transaction_request()
    }

    fn next_api(&mut self) -> Option<ApiKey> {
        self.next().map(|request| request.api())
    }

    /// What is asked next gets this answer.
    fn answer(&mut self, answer: TransactionAnswer) -> AskNext {
        let request = self.next().expect("there is something to ask");
        self.sim.sender.transaction_answered(&request, answer, self.sim.now)
    }

    fn lost(&mut self) {
        assert_eq!(self.answer(TransactionAnswer::Lost("lost".into())), AskNext::OfAnother);
    }

    /// What is asked is answered as it should be, until nothing is, or this is.
    fn go_until(&mut self, api: Option<ApiKey>) {
        while let Some(request) = self.next().filter(|request| Some(request.api()) != api) {
            let answer = self.sim.coordinator.answer(&request);
            self.sim.sender.transaction_answered(&request, answer, self.sim.now);
            self.sim.write_marker();
        }
        assert_eq!(self.next_api(), api);
    }

    fn go_on(&mut self) {
        self.go_until(None);
    }

    /// Batches go out and come back as well.
    fn settle(&mut self) {
        for _ in 0..300 {
            self.go_on();
            self.sim.round();
            self.sim.write_marker();
            self.sim.now += 1;
        }
    }

    fn send(&mut self, partition: i32) -> Ticket {
        self.sim.send(Some(partition), b"value").unwrap()
    }

    fn add_offset(&mut self, offset: i64) -> u64 {
        self.sim.sender.add_offsets(self.number, offsets_at(offset)).unwrap()
    }

    /// What readers see of a partition.
    fn visible(&self, partition: i32) -> usize {
        let fates = &self.sim.logs[&partition].fates;
        fates.iter().filter(|(_, visible)| *visible == Visible::Yes).count()
    }
}

fn offsets_at(offset: i64) -> TransactionOffsets {
    TransactionOffsets {
        group: GROUP.into(),
        generation: -1,
        member: String::new(),
        instance: None,
        offsets: vec![(TopicPartition::new("source", 0), Position::at(offset), None)],
    }
}

fn partitions(codes: &[(i32, ErrorCode)]) -> TransactionAnswer {
    let of = |(at, code): &(i32, ErrorCode)| (TopicPartition::new("t", *at), *code);
    TransactionAnswer::Partitions(codes.iter().map(of).collect())
}

fn aborted(result: Option<Result<(), TransactionError>>) -> AbortReason {
    match result {
        Some(Err(TransactionError::Aborted(reason))) => reason,
        other => panic!("{other:?}"),
    }
}

/// What a code in an answer made of a transaction that is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Became {
    Nothing(AskNext),
    Refused,
    /// With whether another epoch is asked for afterwards, if the client counts them.
    Failed(bool),
    Fatal(ErrorCode),
}

/// What becomes of a transaction in which this is answered with a code.
fn became(api: ApiKey, is_commit: bool, code: ErrorCode) -> Became {
    let mut life = match api {
        ApiKey::INIT_PRODUCER_ID => {
            let id = Some("id".into());
            let settings = ProduceSettings { transactional_id: id, ..ProduceSettings::default() };
            let sim = Sim::new(settings, 1 << 20, 3, 2);
            let mut life = Life { sim, number: 0, end: TransactionEnd::default() };
            life.sim.sender.initialize_transactions();
            life
        }
        _ => {
            let mut life = Life::new(Protocol::V1);
            life.begin();
            life
        }
    };
    let answer = match api {
        ApiKey::INIT_PRODUCER_ID => TransactionAnswer::Code(code),
        ApiKey::ADD_PARTITIONS_TO_TXN => {
            life.send(0);
            partitions(&[(0, code)])
        }
        ApiKey::ADD_OFFSETS_TO_TXN => {
            life.add_offset(1);
            TransactionAnswer::Code(code)
        }
        ApiKey::TXN_OFFSET_COMMIT => {
            life.add_offset(1);
            life.go_until(Some(api));
            TransactionAnswer::Partitions(vec![(TopicPartition::new("source", 0), code)])
        }
        _ => {
            life.send(0);
            life.settle();
            life.finish(is_commit);
            TransactionAnswer::Code(code)
        }
    };
    assert_eq!(life.next_api(), Some(api));
    let before = life.next();
    let next = life.answer(answer);
    if let Some(ProduceErrorKind::Fatal { code, .. }) = life.sim.sender.over().cloned() {
        assert_eq!(life.next(), None);
        return Became::Fatal(code);
    }
    if life.sim.sender.transaction_refusals() > 0 {
        assert_eq!(life.next(), None);
        return Became::Refused;
    }
    if life.number > 0 && life.sim.sender.transaction_failure(life.number).is_some() {
        life.finish(is_commit);
        let mut has_asked = false;
        while let Some(request) = life.next() {
            has_asked |= request.api() == ApiKey::INIT_PRODUCER_ID;
            let is_end = matches!(request, TransactionRequest::End { .. });
            assert!(is_end || request.api() == ApiKey::INIT_PRODUCER_ID, "{request:?}");
            assert!(!matches!(request, TransactionRequest::End { is_commit: true, .. }));
            let answer = life.sim.coordinator.answer(&request);
            life.sim.sender.transaction_answered(&request, answer, 0);
            life.sim.write_marker();
        }
        assert!(life.ended().is_some());
        return Became::Failed(has_asked);
    }
    assert_eq!(life.next(), before, "the same is asked again");
    Became::Nothing(next)
}

#[test]
fn each_code_means_what_it_means_to_kafkas_producer() {
    use ErrorCode as E;
    const ALL: [(ApiKey, bool); 6] = [
        (ApiKey::INIT_PRODUCER_ID, true),
        (ApiKey::ADD_PARTITIONS_TO_TXN, true),
        (ApiKey::ADD_OFFSETS_TO_TXN, true),
        (ApiKey::TXN_OFFSET_COMMIT, true),
        (ApiKey::END_TXN, true),
        (ApiKey::END_TXN, false),
    ];
    let [later, soon, other] = [AskNext::Later, AskNext::Soon, AskNext::OfAnother];
    let [later, soon, other] = [later, soon, other].map(Became::Nothing);
    let (failed, refused) = (Became::Failed(false), Became::Refused);
    let fatal = Became::Fatal;
    let all = |became: Became| [became; 6];
    // In the order of `ALL`.
    let expected = [
        (E::NOT_COORDINATOR, all(other)),
        (E::COORDINATOR_NOT_AVAILABLE, all(other)),
        (E::COORDINATOR_LOAD_IN_PROGRESS, all(later)),
        (E::CONCURRENT_TRANSACTIONS, all(soon)),
        (E::UNKNOWN_TOPIC_OR_PARTITION, all(later)),
        (E::REQUEST_TIMED_OUT, [later, later, later, other, later, later]),
        (E::INVALID_PRODUCER_EPOCH, all(fatal(E::PRODUCER_FENCED))),
        (E::PRODUCER_FENCED, all(fatal(E::PRODUCER_FENCED))),
        (E::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, {
            let mut all = all(fatal(E::TRANSACTIONAL_ID_AUTHORIZATION_FAILED));
            all[0] = refused;
            all
        }),
        (E::INVALID_TXN_STATE, all(fatal(E::INVALID_TXN_STATE))),
        (E::INVALID_PRODUCER_ID_MAPPING, all(fatal(E::INVALID_PRODUCER_ID_MAPPING))),
        (E::UNSUPPORTED_VERSION, all(fatal(E::UNSUPPORTED_VERSION))),
        (E::TRANSACTION_ABORTABLE, {
            let fatal = fatal(E::TRANSACTION_ABORTABLE);
            [refused, failed, failed, failed, failed, fatal]
        }),
        (E::UNKNOWN_PRODUCER_ID, {
            let (fatal, failed) = (fatal(E::UNKNOWN_PRODUCER_ID), Became::Failed(true));
            [fatal, failed, failed, failed, failed, fatal]
        }),
        (E::TOPIC_AUTHORIZATION_FAILED, {
            let fatal = fatal(E::TOPIC_AUTHORIZATION_FAILED);
            [fatal, failed, failed, failed, fatal, fatal]
        }),
        (E::OPERATION_NOT_ATTEMPTED, {
            let fatal = fatal(E::OPERATION_NOT_ATTEMPTED);
            [fatal, failed, failed, failed, fatal, fatal]
        }),
        (E::ILLEGAL_GENERATION, {
            let fatal = fatal(E::ILLEGAL_GENERATION);
            [fatal, failed, failed, failed, fatal, fatal]
        }),
        (E::UNKNOWN_TOPIC_ID, all(later)),
        (E::GROUP_ID_NOT_FOUND, {
            let fatal = fatal(E::GROUP_ID_NOT_FOUND);
            [fatal, failed, failed, failed, fatal, fatal]
        }),
        (E::STALE_MEMBER_EPOCH, {
            let fatal = fatal(E::STALE_MEMBER_EPOCH);
            [fatal, failed, failed, failed, fatal, fatal]
        }),
        (E::GROUP_AUTHORIZATION_FAILED, {
            let fatal = fatal(E::GROUP_AUTHORIZATION_FAILED);
            [fatal, failed, failed, failed, fatal, fatal]
        }),
        (E::INVALID_TRANSACTION_TIMEOUT, {
            let fatal = fatal(E::INVALID_TRANSACTION_TIMEOUT);
            [fatal, failed, failed, failed, fatal, fatal]
        }),
    ];
    for (code, expected) in expected {
        for ((api, is_commit), expected) in ALL.into_iter().zip(expected) {
            let became = became(api, is_commit, code);
            assert_eq!(became, expected, "{api} {is_commit} {code:?}");
        }
    }
}

#[test]
fn of_an_answer_in_parts_each_part_counts() {
    let mut life = Life::new(Protocol::V1);
    life.begin();
    let mut tickets: Vec<_> = (0..3).map(|at| life.send(at)).collect();
    let passing = (1, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    let answer = partitions(&[(0, ErrorCode::NONE), passing, (2, ErrorCode::NONE)]);
    assert_eq!(life.answer(answer), AskNext::Later);
    // The others are asked for no more, and are sent.
    let Some(TransactionRequest::AddPartitions { partitions, .. }) = life.next() else { panic!() };
    let asked: Vec<i32> = partitions.iter().map(|of| of.partition).collect();
    assert_eq!(asked, [1]);
    life.sim.coordinator.add((1, 0), (0..3).map(super::coordinator::Target::Partition));
    life.sim.now += 10;
    life.sim.round();
    assert!([0, 2].into_iter().all(|at| matches!(outcome(&mut tickets[at]), Some(Ok(_)))));
    assert_eq!(outcome(&mut tickets[1]), None);
    life.finish(true);
    assert_eq!(life.next_api(), Some(ApiKey::ADD_PARTITIONS_TO_TXN), "before it is ended");
    life.settle();
    assert_eq!(life.ended(), Some(Ok(())));
    assert_eq!([0, 1, 2].map(|at| life.visible(at)), [1, 1, 1]);
}

#[test]
fn what_was_asked_for_and_not_answered_is_known_before_it_is_aborted() {
    for api in [ApiKey::ADD_PARTITIONS_TO_TXN, ApiKey::ADD_OFFSETS_TO_TXN] {
        let mut life = Life::new(Protocol::V1);
        life.begin();
        match api {
            ApiKey::ADD_PARTITIONS_TO_TXN => drop(life.send(0)),
            _ => drop(life.add_offset(1)),
        }
        let request = life.next().unwrap();
        assert_eq!(request.api(), api);
        life.sim.coordinator.answer(&request);
        life.lost();
        // This is of no use any more, and nobody was told of it.
        life.send(1);
        life.add_offset(2);
        life.finish(false);
        assert_eq!(life.next(), Some(request), "whether there is something to be aborted");
        life.go_until(Some(ApiKey::END_TXN));
        life.go_on();
        assert_eq!(life.ended(), Some(Ok(())));
        // And nothing is asked of whom nobody was told.
        let mut life = Life::new(Protocol::V1);
        life.begin();
        life.send(1);
        life.add_offset(2);
        life.finish(false);
        assert_eq!(life.next(), None);
        assert_eq!(life.ended(), Some(Ok(())));
    }
}

#[test]
fn what_is_late_is_not_of_the_next_transaction() {
    // Whatever was lost of a transaction in which the client counts epochs.
    let apis = [
        ApiKey::ADD_PARTITIONS_TO_TXN,
        ApiKey::ADD_OFFSETS_TO_TXN,
        ApiKey::TXN_OFFSET_COMMIT,
        ApiKey::END_TXN,
    ];
    for api in apis {
        for is_commit in [true, false] {
            let mut life = Life::new(Protocol::V1);
            life.begin();
            life.send(0);
            life.add_offset(1);
            if api == ApiKey::END_TXN {
                life.settle();
                life.finish(is_commit);
            } else {
                life.go_until(Some(api));
            }
            assert_eq!(life.next_api(), Some(api));
            // Nobody was there to hear it: that is nothing to be careful of.
            life.answer(TransactionAnswer::Unasked("nobody".into()));
            let late = life.next().unwrap();
            life.lost();
            life.settle();
            life.finish(is_commit);
            life.settle();
            assert_eq!(life.ended(), Some(Ok(())));
            let ids = life.sim.coordinator.ids();
            life.begin();
            life.send(1);
            life.add_offset(2);
            life.settle();
            life.sim.coordinator.answer(&late);
            life.finish(true);
            life.settle();
            assert_eq!(life.ended(), Some(Ok(())), "{api} {is_commit}");
            assert_eq!(life.visible(1), 1);
            let offsets: &[i64] = if is_commit { &[1, 2] } else { &[2] };
            assert_eq!(life.sim.coordinator.committed_offsets(), offsets, "{api} {is_commit}");
            assert_eq!(life.sim.coordinator.ids(), ids);
        }
    }
}

#[test]
fn another_epoch_is_asked_for_only_where_something_may_be_late() {
    let mut life = Life::new(Protocol::V1);
    for is_commit in [true, false, true] {
        life.begin();
        let mut ticket = life.send(0);
        life.add_offset(1);
        life.answer(TransactionAnswer::Unasked("nobody".into()));
        life.settle();
        assert!(matches!(outcome(&mut ticket), Some(Ok(_))));
        life.finish(is_commit);
        life.go_until(Some(ApiKey::END_TXN));
        assert_eq!(life.answer(TransactionAnswer::Code(ErrorCode::NONE)), AskNext::Now);
        assert_eq!(life.next(), None, "the next one has the same epoch");
        // It was not told of it.
        let producer = (1, 0);
        let protocol = Protocol::V1;
        let end = TransactionRequest::End { producer, is_commit, protocol };
        life.sim.coordinator.answer(&end);
        while life.sim.write_marker() {}
    }
    assert_eq!(life.visible(0), 2);
    // A coordinator of brokers that should begin an epoch, and did not.
    let mut life = Life::new(Protocol::V2);
    life.begin();
    life.send(0);
    life.settle();
    life.finish(true);
    assert_eq!(life.answer(TransactionAnswer::Code(ErrorCode::NONE)), AskNext::Now);
    assert_eq!(life.next_api(), Some(ApiKey::INIT_PRODUCER_ID));
}

#[test]
fn a_batch_that_is_too_large_is_not_split_for_a_transaction_that_is_aborted() {
    for protocol in [Protocol::V1, Protocol::V2] {
        let mut life = Life::new(protocol);
        life.sim.max_message_bytes = 200;
        life.begin();
        let tickets: Vec<_> = (0..20).map(|_| life.send(0)).collect();
        life.go_on();
        life.sim.now += 10;
        assert!(life.sim.turn(1));
        life.finish(false);
        assert_eq!(life.next(), None, "something is in flight");
        life.sim.process(1, &mut |_| Fate::Fine);
        life.sim.deliver(1);
        assert_eq!(life.sim.sender.outstanding(), 0, "nothing waits for its time to be over");
        life.settle();
        assert_eq!(life.ended(), Some(Ok(())));
        for mut ticket in tickets {
            let kind = outcome(&mut ticket).unwrap().unwrap_err().kind;
            assert_eq!(kind, ProduceErrorKind::Aborted { reason: None });
        }
    }
}

#[test]
fn who_is_closed_while_it_commits_has_committed() {
    for protocol in [Protocol::V1, Protocol::V2] {
        for is_decided in [false, true] {
            let mut life = Life::new(protocol);
            life.begin();
            life.send(0);
            life.settle();
            life.finish(true);
            let request = life.next().unwrap();
            if is_decided {
                life.sim.coordinator.answer(&request);
            }
            life.sim.sender.abort_open_transaction();
            assert!(life.sim.sender.is_ending_transaction());
            assert_eq!(life.next(), Some(request));
            life.settle();
            assert_eq!(life.ended(), Some(Ok(())));
            assert_eq!(life.visible(0), 1);
        }
        // What is open is aborted, and what has failed says still why.
        for has_failed in [false, true] {
            let mut life = Life::new(protocol);
            life.begin();
            let mut ticket = life.send(0);
            if has_failed {
                life.sim.now += life.sim.sender.settings.delivery_timeout_ms;
                life.sim.sender.expire(life.sim.now);
            }
            life.sim.sender.abort_open_transaction();
            life.settle();
            let reason = aborted(life.ended());
            assert_eq!(matches!(reason, AbortReason::Record(_)), has_failed, "{reason}");
            assert_eq!(matches!(reason, AbortReason::Closed), !has_failed, "{reason}");
            assert!(outcome(&mut ticket).unwrap().is_err());
            // Who comes with offsets or with a commit then is told the same.
            let failure = life.sim.sender.transaction_failure(life.number);
            assert_eq!(aborted(failure.map(Err)), reason);
            let offsets = life.sim.sender.add_offsets(life.number, offsets_at(1));
            assert_eq!(aborted(Some(offsets.map(drop))), reason);
            life.finish(true);
            assert_eq!(aborted(life.ended()), reason);
        }
    }
}

#[test]
fn offsets_that_were_let_go_are_not_committed() {
    for protocol in [Protocol::V1, Protocol::V2] {
        let mut life = Life::new(protocol);
        life.begin();
        life.send(0);
        let count = life.add_offset(1);
        assert_eq!(life.sim.sender.has_offsets(life.number, count), Ok(false));
        life.sim.sender.abort_open_transaction();
        life.settle();
        // Who waits for them comes to look only after the abort is over.
        let waited = life.sim.sender.has_offsets(life.number, count);
        let reason = aborted(Some(waited.map(drop)));
        assert!(matches!(reason, AbortReason::Closed), "{reason}");
    }
}

#[test]
fn how_a_transaction_ended_is_known_after_the_next_one_has() {
    let mut life = Life::new(Protocol::V2);
    let mut ends = Vec::new();
    for is_commit in [true, false, true] {
        life.begin();
        let mut ticket = life.send(0);
        ends.push((std::mem::take(&mut life.end), is_commit));
        if !is_commit {
            life.sim.now += life.sim.sender.settings.delivery_timeout_ms;
            life.sim.sender.expire(life.sim.now);
            assert!(outcome(&mut ticket).unwrap().is_err());
        }
        life.finish(true);
        life.settle();
    }
    for (end, is_commit) in ends {
        let result = life.sim.sender.transaction_end(&end).expect("it is over");
        assert_eq!(result.is_ok(), is_commit, "{result:?}");
    }
}

/// It was committed. A late AddPartitionsToTxn of the same epoch begins another transaction, which an abort would end.
#[test]
fn a_commit_whose_answer_was_lost_is_not_told_as_aborted() {
    for (protocol, is_lost) in [(Protocol::V1, true), (Protocol::V1, false), (Protocol::V2, true)] {
        let mut life = Life::new(protocol);
        life.begin();
        life.send(0);
        life.settle();
        life.finish(true);
        assert_eq!(life.next_api(), Some(ApiKey::END_TXN));
        if is_lost {
            life.lost();
        }
        life.answer(TransactionAnswer::Code(ErrorCode::TRANSACTION_ABORTABLE));
        // With an epoch for each transaction the abort of one that is committed is refused.
        let may_abort = !is_lost || protocol == Protocol::V2;
        assert_eq!(life.next_api().is_some(), may_abort, "{protocol:?}");
        let fatal = matches!(life.ended(), Some(Err(TransactionError::Fatal(_))));
        assert_eq!(fatal, !may_abort, "{protocol:?}: {:?}", life.ended());
    }
}

#[test]
fn a_batch_that_expires_in_flight_costs_the_commit_and_is_waited_for() {
    for protocol in [Protocol::V1, Protocol::V2] {
        let mut life = Life::new(protocol);
        life.begin();
        let mut ticket = life.send(0);
        life.go_on();
        life.finish(true);
        assert!(life.sim.turn(1));
        life.sim.now += life.sim.sender.settings.delivery_timeout_ms;
        life.sim.sender.expire(life.sim.now);
        assert!(outcome(&mut ticket).unwrap().is_err());
        assert_eq!((life.next(), life.ended()), (None, None), "it is in flight");
        life.sim.process(1, &mut |_| Fate::Fine);
        life.sim.deliver(1);
        let Some(TransactionRequest::End { is_commit, .. }) = life.next() else { panic!() };
        assert!(!is_commit);
        life.settle();
        assert!(matches!(aborted(life.ended()), AbortReason::Record(_)));
        assert_eq!(life.visible(0), 0);
        // And the next one is not disturbed by what may still come of it.
        life.begin();
        life.send(0);
        life.settle();
        life.finish(true);
        life.settle();
        assert_eq!((life.ended(), life.visible(0)), (Some(Ok(())), 1));
    }
}

#[test]
fn brokers_that_begin_to_add_partitions_get_another_epoch_first() {
    let mut life = Life::new(Protocol::V1);
    life.begin();
    life.send(0);
    life.settle();
    // Not within a transaction.
    life.sim.sender.set_transaction_protocol(Protocol::V2);
    life.send(1);
    assert_eq!(life.next_api(), Some(ApiKey::ADD_PARTITIONS_TO_TXN));
    life.settle();
    life.finish(true);
    let Some(TransactionRequest::End { protocol, .. }) = life.next() else { panic!() };
    assert_eq!(protocol, Protocol::V1);
    life.settle();
    assert_eq!(life.ended(), Some(Ok(())));
    assert_eq!(life.sim.sender.begin_transaction(0), Ok(Begun::NotYet));
    let request = TransactionRequest::Initialize { producer_id: 1, epoch: 0 };
    assert_eq!(life.next(), Some(request));
    life.go_on();
    for _ in 0..2 {
        life.begin();
        let mut ticket = life.send(0);
        assert_eq!(life.next(), None);
        life.settle();
        assert!(matches!(outcome(&mut ticket), Some(Ok(_))));
        life.finish(true);
        life.settle();
        assert_eq!(life.ended(), Some(Ok(())));
    }
    // And back: the client adds partitions again.
    life.sim.sender.set_transaction_protocol(Protocol::V1);
    life.begin();
    life.send(0);
    assert_eq!(life.next_api(), Some(ApiKey::ADD_PARTITIONS_TO_TXN));
    life.settle();
    life.finish(true);
    life.settle();
    assert_eq!(life.ended(), Some(Ok(())));
    assert_eq!([life.visible(0), life.visible(1)], [4, 1]);
}

#[test]
fn who_was_refused_may_ask_again() {
    let mut life = Life::new(Protocol::V1);
    life.sim.sender = Sender::new(life.sim.sender.settings.clone(), Memory::new(1 << 20, || {}), 1);
    life.sim.tell_metadata();
    let sender = &mut life.sim.sender;
    assert_eq!(sender.begin_transaction(0), Ok(Begun::NotYet));
    let code = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    assert_eq!(life.answer(TransactionAnswer::Code(code)), AskNext::Now);
    assert_eq!(life.next(), None, "nobody asks in a loop");
    let refused = TransactionError::Refused { api: ApiKey::INIT_PRODUCER_ID, code };
    assert_eq!(life.sim.sender.transactions_initialized(0), Err(refused.clone()));
    assert_eq!(life.sim.sender.begin_transaction(0), Err(refused));
    // Whoever comes now asks.
    assert_eq!(life.sim.sender.begin_transaction(1), Ok(Begun::NotYet));
    life.go_on();
    assert_eq!(life.sim.sender.transactions_initialized(1), Ok(true));
    life.begin();
    assert_eq!(life.sim.sender.begin_transaction(1), Err(TransactionError::Open));
}

#[test]
fn what_is_taken_in_makes_room_however_long_it_may_linger() {
    let settings =
        ProduceSettings { linger_ms: 1 << 40, batch_size: 1 << 19, ..ProduceSettings::default() };
    for protocol in [Protocol::V1, Protocol::V2] {
        let mut life = Life::with(protocol, settings.clone());
        life.begin();
        let mut tickets: Vec<_> = (0..2).map(|at| life.send(at)).collect();
        // Coordinators have not heard of them when somebody is refused, who does not come again.
        assert_eq!(life.sim.send(Some(2), b"value").unwrap_err(), Refused::Full);
        life.settle();
        assert!(tickets.iter_mut().all(|ticket| matches!(outcome(ticket), Some(Ok(_)))));
    }
}

#[test]
fn partitions_of_a_transaction_keep_their_places() {
    for protocol in [Protocol::V1, Protocol::V2] {
        let mut life = Life::new(protocol);
        life.begin();
        life.send(0);
        if protocol == Protocol::V1 {
            assert_eq!(life.next_api(), Some(ApiKey::ADD_PARTITIONS_TO_TXN));
        }
        // It expires before it is sent, and its topic is forgotten.
        life.sim.now += life.sim.sender.settings.delivery_timeout_ms;
        life.sim.sender.expire(life.sim.now);
        life.sim.sender.forget(u64::MAX);
        assert_eq!(life.sim.sender.known(), (1, 3), "{protocol:?}");
        life.finish(false);
        life.settle();
        assert_eq!(life.ended(), Some(Ok(())));
        life.sim.sender.forget(u64::MAX);
        assert_eq!(life.sim.sender.known(), (0, 0), "{protocol:?}");
        // Its sequences are gone with it, but the id is not another one for that.
        life.sim.tell_metadata();
        life.begin();
        life.send(0);
        life.settle();
        life.finish(true);
        life.settle();
        assert_eq!((life.ended(), life.visible(0)), (Some(Ok(())), 1));
    }
}

#[test]
fn when_its_epochs_are_used_up_a_producer_gets_another_id() {
    for protocol in [Protocol::V1, Protocol::V2] {
        let mut life = Life::new(protocol);
        let mut ids = BTreeSet::new();
        for _ in 0..20 {
            life.begin();
            life.send(0);
            life.settle();
            life.finish(true);
            let Some(TransactionRequest::End { producer, .. }) = life.next() else { panic!() };
            ids.insert(producer.0);
            // With a lost answer, so that there is another epoch each time.
            let request = life.next().unwrap();
            life.sim.coordinator.answer(&request);
            life.lost();
            life.settle();
            assert_eq!(life.ended(), Some(Ok(())), "{protocol:?} {producer:?}");
        }
        assert!(ids.len() > 2, "{ids:?}");
        assert_eq!(life.visible(0), 20);
    }
}

#[test]
fn nothing_is_asked_of_a_producer_that_cannot_go_on() {
    for protocol in [Protocol::V1, Protocol::V2] {
        let mut life = Life::new(protocol);
        life.begin();
        let mut sent = life.send(0);
        life.go_on();
        life.finish(true);
        assert!(life.sim.turn(1));
        life.sim
            .process(1, &mut |_| Fate::Refused(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED));
        life.sim.deliver(1);
        assert_eq!(life.next(), None);
        let fatal = outcome(&mut sent).unwrap().unwrap_err().kind;
        assert_eq!(life.ended(), Some(Err(TransactionError::Fatal(fatal.clone()))));
        assert_eq!(life.sim.sender.begin_transaction(0), Err(TransactionError::Fatal(fatal)));
        assert!(!life.sim.sender.is_ending_transaction(), "a close has nothing to wait for");
        assert_eq!(life.sim.sender.memory().used(), 0);
    }
}
