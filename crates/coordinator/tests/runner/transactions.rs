//! Records of producers' transactions, and what ends them.

use std::collections::BTreeMap;

use thalweg_coordinator::{
    AppendKind, Job, LogEntry, MemoryRunner, Now, Outcome, Position, Producer, Reply, Runner,
    RunnerConfig, Shard, Token, TransactionEnd, UndoLog,
};
use thalweg_random::{Random, seeds::seeds};
use thalweg_wire::ErrorCode;

use super::Number;

/// Numbers that count, and those of transactions that have not ended, by producer.
#[derive(Clone, Debug, Default, PartialEq)]
struct Books {
    counted: Vec<i64>,
    pending: BTreeMap<i64, Vec<i64>>,
}

#[derive(Default)]
struct Ledger {
    books: Books,
    undo: UndoLog<(), Books>,
    parked: Vec<Token>,
    /// Errors with which something was taken back.
    reverted: Vec<ErrorCode>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ask {
    Add(i64),
    AddAs(Producer, i64),
    /// A transactional request that comes to nothing.
    NothingAs(Producer),
    End(TransactionEnd),
    Counted,
    Park,
}

#[derive(Debug)]
struct NoJob;

impl Job for NoJob {
    type Done = ();

    fn run(&self) {}

    fn failed(&self) {}
}

impl Shard for Ledger {
    type Request = Ask;
    type Response = Result<usize, ErrorCode>;
    type Record = Number;
    type TimerKey = ();
    type Then = ();
    type Event = ();
    type Job = NoJob;
    type Effect = std::convert::Infallible;

    fn handle(
        &mut self,
        token: Token,
        request: Ask,
        _: Now,
        out: &mut Outcome<Self>,
    ) -> Reply<Self::Response> {
        match request {
            Ask::Add(number) => out.record(Number(number)),
            Ask::AddAs(producer, number) => {
                out.record(Number(number));
                out.kind = AppendKind::Transactional(producer);
            }
            Ask::NothingAs(producer) => out.kind = AppendKind::Transactional(producer),
            Ask::End(end) => out.kind = AppendKind::Marker(end),
            Ask::Counted => {
                let books = self.undo.committed(&()).unwrap_or(&self.books);
                return Reply::Now(Ok(books.counted.len()));
            }
            Ask::Park => {
                self.parked.push(token);
                return Reply::Deferred;
            }
        }
        Reply::AfterCommit(Ok(0))
    }

    fn replay(&mut self, at: Position, _: Now, record: &Number) {
        self.undo.push(at.offset, (), self.books.clone());
        match at.producer_id {
            None => self.books.counted.push(record.0),
            Some(producer) => self.books.pending.entry(producer).or_default().push(record.0),
        }
    }

    fn replay_marker(&mut self, offset: i64, producer_id: i64, commit: bool) {
        self.undo.push(offset, (), self.books.clone());
        let ended = self.books.pending.remove(&producer_id).unwrap_or_default();
        if commit {
            self.books.counted.extend(ended);
        }
    }

    fn event(&mut self, (): (), _: Now, _: &mut Outcome<Self>) {}

    fn job_done(&mut self, (): (), _: Now, _: &mut Outcome<Self>) {}

    fn timer_fired(&mut self, (): (), _: Now, _: &mut Outcome<Self>) {}

    fn resume(&mut self, (): (), _: Result<(), ErrorCode>, _: Now, _: &mut Outcome<Self>) {}

    fn loaded(&mut self, _: Now, _: &mut Outcome<Self>) {
        self.undo.start();
    }

    fn unloaded(&mut self, error: ErrorCode, out: &mut Outcome<Self>) {
        self.parked.drain(..).for_each(|token| out.complete(token, Err(error)));
    }

    fn commit(&mut self, offset: i64, _: Now, _: &mut Outcome<Self>) {
        self.undo.forget_below(offset);
    }

    fn revert(&mut self, offset: i64, error: ErrorCode, _: Now, out: &mut Outcome<Self>) {
        while let Some(((), books)) = self.undo.pop_from(offset) {
            self.books = books;
        }
        self.reverted.push(error);
        self.parked.drain(..).for_each(|token| out.complete(token, Err(error)));
    }

    fn refuse(_: &Ask, error: ErrorCode) -> Self::Response {
        Err(error)
    }

    fn fail(_: Self::Response, error: ErrorCode) -> Self::Response {
        Err(error)
    }
}

const P: Producer = Producer { id: 7, epoch: 2 };
const Q: Producer = Producer { id: 8, epoch: 0 };

fn end(producer: Producer, commit: bool) -> TransactionEnd {
    TransactionEnd { producer, coordinator_epoch: 3, transaction_version: 2, commit }
}

fn memory() -> MemoryRunner<Ledger> {
    MemoryRunner::new(Ledger::default(), Now { wall_ms: 5_000, monotonic_ms: 0 })
}

fn books(memory: &MemoryRunner<Ledger>) -> &Books {
    &memory.runner.shard().books
}

#[test]
fn what_a_transaction_wrote_counts_when_it_ends_with_commit() {
    let mut memory = memory();
    for ask in [Ask::AddAs(P, 1), Ask::AddAs(Q, 2), Ask::Add(3), Ask::AddAs(P, 4)] {
        memory.submit(ask);
    }
    assert_eq!(books(&memory).counted, [3]);
    memory.reload(Ledger::default());
    assert_eq!(books(&memory).pending, BTreeMap::from([(7, vec![1, 4]), (8, vec![2])]));
    memory.submit(Ask::End(end(P, true)));
    memory.submit(Ask::End(end(Q, false)));
    assert_eq!(*books(&memory), Books { counted: vec![3, 1, 4], pending: BTreeMap::new() });
    let before = books(&memory).clone();
    assert_eq!(memory.log[4..], [end(P, true), end(Q, false)].map(LogEntry::Marker));
    memory.reload(Ledger::default());
    assert_eq!(*books(&memory), before);
}

#[test]
fn a_marker_is_answered_when_it_is_committed_and_takes_one_offset() {
    let mut memory = memory();
    memory.auto_commit = false;
    let add = memory.submit(Ask::AddAs(P, 1));
    let ended = memory.submit(Ask::End(end(P, true)));
    let next = memory.submit(Ask::Add(2));
    assert_eq!((memory.runner.next_offset(), memory.log.len()), (3, 3));
    memory.commit(1);
    assert_eq!(memory.take_answers(), [(add, Ok(0))]);
    let read = memory.submit(Ask::Counted);
    assert_eq!(memory.take_answer(read), Some(Ok(0)), "the marker is not committed");
    memory.commit(2);
    assert_eq!(memory.take_answers(), [(ended, Ok(0))]);
    let read = memory.submit(Ask::Counted);
    assert_eq!(memory.take_answer(read), Some(Ok(1)));
    memory.commit(3);
    assert_eq!(memory.take_answers(), [(next, Ok(0))]);
}

#[test]
fn appends_say_whose_they_are_and_bring_the_proof_back() {
    let now = Now::default();
    let mut runner: Runner<Ledger, &str> =
        Runner::with_proofs(Ledger::default(), RunnerConfig::default());
    runner.load_finished(10, 10, now);
    runner.submit_with_proof(Ask::AddAs(P, 1), Some("verified"), now);
    runner.submit_with_proof(Ask::NothingAs(P), Some("for nothing"), now);
    runner.submit(Ask::End(end(P, true)), now);
    runner.submit(Ask::Add(2), now);

    let append = runner.poll_append().expect("of the producer");
    assert_eq!((append.kind, append.proof), (AppendKind::Transactional(P), Some("verified")));
    assert!(append.is_atomic());
    assert_eq!((append.base_offset, append.offsets(), append.records.len()), (10, 1, 1));
    runner.appended(append.id, 10).expect("in sync");

    let append = runner.poll_append().expect("the marker");
    assert_eq!((append.kind, append.proof), (AppendKind::Marker(end(P, true)), None));
    assert!(append.is_atomic() && append.records.is_empty());
    assert_eq!((append.base_offset, append.offsets()), (11, 1));
    runner.appended(append.id, 11).expect("in sync");

    let append = runner.poll_append().expect("its own");
    assert_eq!((append.kind, append.proof), (AppendKind::Own { atomic: true }, None));
    assert_eq!(append.base_offset, 12);
}

#[test]
fn what_the_log_refuses_a_producer_is_told_to_nobody_else() {
    for refusal in [
        ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::INVALID_PRODUCER_ID_MAPPING,
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode::INVALID_TXN_STATE,
        ErrorCode::TRANSACTION_COORDINATOR_FENCED,
    ] {
        for ask in [Ask::AddAs(P, 10), Ask::End(end(P, true))] {
            let mut memory = memory();
            memory.submit(Ask::AddAs(P, 1));
            memory.take_answers();
            let before = books(&memory).clone();
            memory.auto_append = false;
            let refused = memory.submit(ask);
            let wrote_nothing = memory.submit(Ask::NothingAs(Q));
            let upon_it = memory.submit(Ask::Add(100));
            let parked = memory.submit(Ask::Park);
            memory.failures.push(refusal);
            assert!(memory.append_one());
            memory.auto_append = true;
            memory.settle();
            let mut answers = memory.take_answers();
            answers.sort_by_key(|(token, _)| *token);
            let later = Err(ErrorCode::NOT_ENOUGH_REPLICAS);
            assert_eq!(
                answers[..3],
                [(refused, Err(refusal)), (wrote_nothing, later), (upon_it, later)],
                "{refusal:?} of {ask:?}"
            );
            assert_eq!(answers[3..], [(parked, later)], "whoever is parked did nothing wrong");
            assert_eq!(memory.runner.shard().reverted, [ErrorCode::NOT_ENOUGH_REPLICAS]);
            assert_eq!(*books(&memory), before);
            // And on it goes at the same offset.
            memory.submit(ask);
            assert_eq!((memory.runner.next_offset(), memory.log.len()), (2, 2));
        }
    }
}

#[test]
fn transactions_are_refused_where_requests_are() {
    let now = Now::default();
    let mut runner = Runner::new(Ledger::default(), RunnerConfig::default());
    for ask in [Ask::AddAs(P, 1), Ask::End(end(P, true))] {
        let token = runner.submit(ask, now);
        let loading = Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        assert_eq!(runner.poll_answer(), Some((token, loading)));
    }
    assert_eq!((runner.queued_appends(), &runner.shard().books), (0, &Books::default()));
    runner.load_finished(0, 0, now);
    let waiting = runner.submit(Ask::End(end(P, true)), now);
    runner.close(ErrorCode::NOT_COORDINATOR);
    let late = runner.submit(Ask::End(end(P, false)), now);
    let refused = Err(ErrorCode::NOT_COORDINATOR);
    assert_eq!(runner.poll_answer(), Some((waiting, refused)));
    assert_eq!(runner.poll_answer(), Some((late, refused)));
    assert_eq!(runner.poll_append(), None);
}

/// What a log says, read without a runner.
fn books_of(log: &[LogEntry]) -> Books {
    let mut books = Books::default();
    for entry in log {
        match entry {
            LogEntry::Record(producer, record) => {
                let text = record.value.as_deref().expect("a number");
                let number = std::str::from_utf8(text).expect("text").parse().expect("a number");
                match producer {
                    None => books.counted.push(number),
                    Some(producer) => books.pending.entry(producer.id).or_default().push(number),
                }
            }
            LogEntry::Marker(end) => {
                let ended = books.pending.remove(&end.producer.id).unwrap_or_default();
                books.counted.extend(ended.into_iter().filter(|_| end.commit));
            }
        }
    }
    books
}

/// Where the log has what was asked for. Numbers and coordinator epochs are unique.
fn place(log: &[LogEntry], ask: Ask) -> Option<usize> {
    let has = |entry: &LogEntry, number: i64| matches!(entry, LogEntry::Record(_, record) if record.value.as_deref() == Some(number.to_string().as_bytes()));
    log.iter().position(|entry| match ask {
        Ask::Add(number) | Ask::AddAs(_, number) => has(entry, number),
        Ask::End(end) => *entry == LogEntry::Marker(end),
        Ask::NothingAs(_) | Ask::Counted | Ask::Park => false,
    })
}

const FAILURES: [ErrorCode; 5] = [
    ErrorCode::INVALID_TXN_STATE,
    ErrorCode::INVALID_PRODUCER_EPOCH,
    ErrorCode::TRANSACTION_COORDINATOR_FENCED,
    ErrorCode::NOT_ENOUGH_REPLICAS,
    ErrorCode::KAFKA_STORAGE_ERROR,
];

#[test]
fn nothing_is_lost_invented_or_answered_too_early() {
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let mut memory = memory();
        let mut open: BTreeMap<Token, Ask> = BTreeMap::new();
        let mut committed = 0;
        for number in 0..120 {
            match random.below(12) {
                0 => {
                    memory.auto_append = random.below(2) == 0;
                    memory.auto_commit = random.below(2) == 0;
                }
                1 => {
                    memory.append_one();
                }
                2 => {
                    let offset = random.below(memory.log.len() + 1);
                    committed = committed.max(offset);
                    memory.commit(offset as i64);
                }
                3 if memory.failures.is_empty() => {
                    memory.failures.push(FAILURES[random.below(FAILURES.len())]);
                }
                4 if memory.auto_append && memory.auto_commit && open.is_empty() => {
                    memory.reload(Ledger::default());
                }
                which => {
                    let producer = Producer { id: random.below(3) as i64, epoch: 0 };
                    let number = i64::from(number);
                    let ask = match which {
                        5..8 => Ask::AddAs(producer, number),
                        8 | 9 => Ask::End(TransactionEnd {
                            coordinator_epoch: number as i32,
                            ..end(producer, random.below(2) == 0)
                        }),
                        _ => Ask::Add(number),
                    };
                    open.insert(memory.submit(ask), ask);
                }
            }
            memory.settle();
            if memory.auto_commit {
                committed = memory.log.len();
            }
            for (token, answer) in memory.take_answers() {
                let ask = open.remove(&token).expect("answered once");
                let at = place(&memory.log, ask);
                match answer {
                    Ok(_) => {
                        let is_committed = at.is_some_and(|at| at < committed);
                        assert!(is_committed, "seed {seed}: {ask:?} at {at:?} is not committed");
                    }
                    Err(error) => {
                        assert_eq!(at, None, "seed {seed}: {ask:?} failed ({error:?}), is there");
                    }
                }
            }
            if memory.runner.queued_appends() == 0 {
                assert_eq!(*books(&memory), books_of(&memory.log), "seed {seed}");
            }
        }
        memory.failures.clear();
        (memory.auto_append, memory.auto_commit) = (true, true);
        memory.settle();
        for (token, answer) in memory.take_answers() {
            let ask = open.remove(&token).expect("answered once");
            assert_eq!(answer.is_ok(), place(&memory.log, ask).is_some(), "seed {seed}: {ask:?}");
        }
        assert!(open.is_empty(), "seed {seed}: {open:?} is never answered");
        assert_eq!(*books(&memory), books_of(&memory.log), "seed {seed}");
    }
}
