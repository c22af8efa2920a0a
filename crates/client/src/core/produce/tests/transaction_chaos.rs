//! Whatever fails, what is committed is there whole and once, and nothing else is. A seed says everything.

use std::collections::BTreeMap;

use thalweg_records::{Compression, CompressionSpec};
use thalweg_wire::ErrorCode;

use super::super::transaction::{
    AskNext, Begun, Protocol, TransactionAnswer, TransactionEnd, TransactionOffsets,
    TransactionRequest,
};
use super::super::*;
use super::chaos::{Faults, NO_FAULTS, fate};
use super::cluster::*;
use crate::core::partition::{Position, TopicPartition};
use thalweg_random::Random;

/// What may go wrong with transactions, besides what may go wrong with batches.
#[derive(Clone, Copy)]
struct Troubles {
    batches: Faults,
    /// One exchange with a coordinator in so many is lost, or answered with an error that passes.
    exchanges: u64,
    /// One in so many is refused for good.
    refusals: u64,
    /// One step in so many another producer takes the id, or a transaction takes too long.
    fences: u64,
    /// One step in so many the producer is closed, and another one made.
    closes: u64,
    /// One step in so many the brokers take part in transactions otherwise.
    upgrades: u64,
}

const NO_TROUBLES: Troubles = Troubles {
    batches: NO_FAULTS,
    exchanges: u64::MAX,
    refusals: u64::MAX,
    fences: u64::MAX,
    closes: u64::MAX,
    upgrades: u64::MAX,
};

/// What an application was told of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Committed,
    Aborted,
    /// It asked for a commit, and the producer cannot go on.
    Nothing,
}

/// A transaction of the application.
struct Work {
    id: u32,
    number: u64,
    end: TransactionEnd,
    tickets: Vec<Ticket>,
    has_offset: bool,
    /// Whether it is to be committed, once it is to end.
    is_commit: Option<bool>,
}

/// An exchange with a coordinator.
enum Exchange {
    None,
    Asked(TransactionRequest),
    Answered(TransactionRequest, TransactionAnswer),
}

#[derive(Default, Clone, Copy, Debug)]
struct Counts {
    committed: u64,
    aborted: u64,
    unknown: u64,
    /// Those that were to be committed and were aborted.
    failed: u64,
    producers: u64,
    lost: u64,
    ids: u64,
    late: u64,
}

struct Life {
    seed: u64,
    sim: Sim,
    rng: Random,
    troubles: Troubles,
    settings: ProduceSettings,
    limit: usize,
    protocol: Protocol,
    exchange: Exchange,
    asks_at: u64,
    /// Requests to coordinators that were lost, and may be read later.
    late: Vec<TransactionRequest>,
    work: Option<Work>,
    done: Vec<(Work, Told)>,
    works: u32,
    /// It waits for a transaction to begin.
    begins: bool,
    is_closing: bool,
    /// No more transactions are begun.
    is_last: bool,
    counts: Counts,
}

impl Life {
    fn new(seed: u64, protocol: Protocol, troubles: Troubles) -> Life {
        let mut rng = Random::new(seed);
        let codec = [Compression::None, Compression::Lz4, Compression::Zstd][(seed % 3) as usize];
        let settings = ProduceSettings {
            batch_size: 400,
            linger_ms: rng.below(8),
            max_request_size: 1_500,
            compression: CompressionSpec::new(codec),
            delivery_timeout_ms: troubles.batches.delivery_timeout_ms,
            max_in_flight: 1 + rng.below(5) as usize,
            retry_backoff_ms: 3,
            retry_backoff_max_ms: 15,
            transactional_id: Some("id".into()),
            ..ProduceSettings::default()
        };
        let limit = 6_000;
        let (partitions, brokers) = (1 + rng.below(4), 1 + rng.below(3));
        let mut sim = Sim::new(settings.clone(), limit, partitions, brokers);
        sim.max_message_bytes = troubles.batches.max_message_bytes;
        sim.version = 12 + rng.below(2) as i16;
        sim.knows_hints = rng.one_in(2);
        Life {
            seed,
            sim,
            rng,
            troubles,
            settings,
            limit,
            protocol,
            exchange: Exchange::None,
            asks_at: 0,
            late: Vec::new(),
            work: None,
            done: Vec::new(),
            works: 0,
            begins: false,
            is_closing: false,
            is_last: false,
            counts: Counts { producers: 1, ..Counts::default() },
        }
    }

    /// One step of the task that asks coordinators.
    fn ask(&mut self) {
        if self.asks_at > self.sim.now {
            return;
        }
        match std::mem::replace(&mut self.exchange, Exchange::None) {
            Exchange::None => {
                // It sleeps until it is told that there may be something to ask.
                if !std::mem::take(&mut self.sim.wants_coordinator) {
                    return;
                }
                self.sim.sender.set_transaction_protocol(self.protocol);
                let request = self.sim.sender.next_transaction_request();
                self.sim.signals();
                if let Some(request) = request {
                    self.exchange = Exchange::Asked(request);
                }
            }
            Exchange::Asked(request) => {
                let answer = self.answer(&request);
                self.exchange = Exchange::Answered(request, answer);
            }
            Exchange::Answered(request, answer) => {
                let now = self.sim.now;
                let next = self.sim.sender.transaction_answered(&request, answer, now);
                self.sim.signals();
                self.asks_at = now
                    + match next {
                        AskNext::Now => 0,
                        AskNext::Soon => 2,
                        AskNext::Later | AskNext::OfAnother => 4,
                    };
                // Who has an answer asks on until there is nothing to ask.
                self.sim.wants_coordinator = true;
            }
        }
    }

    /// What becomes of a request.
    fn answer(&mut self, request: &TransactionRequest) -> TransactionAnswer {
        const PASSING: [ErrorCode; 4] = [
            ErrorCode::NOT_COORDINATOR,
            ErrorCode::COORDINATOR_NOT_AVAILABLE,
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode::CONCURRENT_TRANSACTIONS,
        ];
        if self.rng.one_in(self.troubles.refusals)
            && let Some(answer) = self.refusal(request)
        {
            return answer;
        }
        if !self.rng.one_in(self.troubles.exchanges) {
            return self.sim.coordinator.answer(request);
        }
        match self.rng.below(8) {
            at @ 0..4 => answer_all(request, PASSING[at as usize]),
            4 => TransactionAnswer::Unasked("nobody there".into()),
            5 => {
                self.counts.lost += 1;
                self.late.push(request.clone());
                TransactionAnswer::Lost("lost".into())
            }
            6 => {
                self.counts.lost += 1;
                self.sim.coordinator.answer(request);
                TransactionAnswer::Lost("lost".into())
            }
            _ => {
                self.sim.coordinator.answer(request);
                match request {
                    TransactionRequest::CommitOffsets { .. } => {
                        answer_all(request, ErrorCode::REQUEST_TIMED_OUT)
                    }
                    _ => TransactionAnswer::Lost("lost".into()),
                }
            }
        }
    }

    fn refusal(&mut self, request: &TransactionRequest) -> Option<TransactionAnswer> {
        Some(match request {
            TransactionRequest::Initialize { .. } => {
                TransactionAnswer::Code(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            }
            TransactionRequest::AddPartitions { partitions, .. } => {
                let codes = partitions.iter().enumerate().map(|(at, of)| {
                    let code = match at {
                        0 => ErrorCode::TOPIC_AUTHORIZATION_FAILED,
                        _ => ErrorCode::OPERATION_NOT_ATTEMPTED,
                    };
                    ((**of).clone(), code)
                });
                TransactionAnswer::Partitions(codes.collect())
            }
            TransactionRequest::End { is_commit: true, .. } => {
                TransactionAnswer::Code(ErrorCode::TRANSACTION_ABORTABLE)
            }
            TransactionRequest::End { .. } => return None,
            _ => answer_all(request, ErrorCode::GROUP_AUTHORIZATION_FAILED),
        })
    }

    /// One step of the application.
    fn work(&mut self) {
        let Some(work) = &mut self.work else { return self.begin() };
        let (number, id) = (work.number, work.id);
        if let Some(is_commit) = work.is_commit {
            if !std::mem::take(&mut self.sim.transactions_changed) {
                return;
            }
            if let Some(result) = self.sim.sender.transaction_end(&work.end) {
                self.ended(is_commit, result);
            }
            return;
        }
        for _ in 0..self.rng.below(3) {
            let partitions = self.sim.logs.len() as u64;
            let partition = self.rng.below(partitions + 1);
            let partition = (partition < partitions).then_some(partition as i32);
            let mut value = [id, work.tickets.len() as u32].map(u32::to_be_bytes).concat();
            value.resize(8 + self.rng.below(100) as usize, b'v');
            match self.sim.send(partition, &value) {
                Ok(ticket) => work.tickets.push(ticket),
                Err(Refused::Full) => {}
                Err(Refused::For(kind)) => {
                    assert!(self.sim.sender.transaction_failure(number).is_some(), "{kind}");
                }
                Err(refused) => panic!("seed {}: {refused:?}", self.seed),
            }
        }
        if !work.has_offset && self.rng.one_in(8) {
            let offsets = TransactionOffsets {
                group: "g".into(),
                generation: -1,
                member: String::new(),
                instance: None,
                offsets: vec![(TopicPartition::new("source", 0), Position::at(id.into()), None)],
            };
            work.has_offset = self.sim.sender.add_offsets(number, offsets).is_ok();
        }
        if self.is_last || self.rng.one_in(12) {
            let is_commit = !self.rng.one_in(3);
            work.is_commit = Some(is_commit);
            self.sim.sender.end_transaction(number, is_commit, self.sim.now);
            if !is_commit && self.rng.one_in(2) {
                // Who drops it is not told.
                self.over(Told::Aborted);
            } else {
                self.sim.transactions_changed = true;
            }
        }
        self.sim.signals();
    }

    fn begin(&mut self) {
        if self.is_closing {
            if !self.sim.sender.is_ending_transaction() {
                self.sim.sender.give_up(ProduceErrorKind::Closed);
                self.replace();
            }
            return;
        }
        if self.is_last || self.begins && !std::mem::take(&mut self.sim.transactions_changed) {
            return;
        }
        let refusals = self.sim.sender.transaction_refusals();
        let refusals = refusals.saturating_sub(u64::from(self.begins));
        match self.sim.sender.begin_transaction(refusals) {
            Ok(Begun::NotYet) => self.begins = true,
            Ok(Begun::Open(number, end)) => {
                let (id, tickets) = (self.works, Vec::new());
                self.works += 1;
                self.begins = false;
                self.work =
                    Some(Work { id, number, end, tickets, has_offset: false, is_commit: None });
            }
            Err(TransactionError::Refused { .. }) => self.begins = false,
            Err(TransactionError::Fatal(_)) => self.replace(),
            Err(error) => panic!("seed {}: {error}", self.seed),
        }
        self.sim.signals();
    }

    fn ended(&mut self, is_commit: bool, result: Result<(), TransactionError>) {
        let told = match (is_commit, result) {
            (true, Ok(())) => Told::Committed,
            (true, Err(TransactionError::Fatal(_))) => Told::Nothing,
            (true, Err(TransactionError::Aborted(_))) => {
                self.counts.failed += 1;
                Told::Aborted
            }
            (false, Ok(()) | Err(TransactionError::Fatal(_) | TransactionError::Aborted(_))) => {
                Told::Aborted
            }
            (_, Err(error)) => panic!("seed {}: {error}", self.seed),
        };
        self.over(told);
    }

    fn over(&mut self, told: Told) {
        match told {
            Told::Committed => self.counts.committed += 1,
            Told::Aborted => self.counts.aborted += 1,
            Told::Nothing => self.counts.unknown += 1,
        }
        self.done.extend(self.work.take().map(|work| (work, told)));
    }

    /// The producer cannot go on, and another is made.
    fn replace(&mut self) {
        assert_eq!(self.sim.sender.outstanding(), 0, "seed {}", self.seed);
        assert_eq!(self.sim.sender.memory().used(), 0, "seed {}", self.seed);
        if let Exchange::Asked(request) = std::mem::replace(&mut self.exchange, Exchange::None) {
            self.late.push(request);
        }
        for broker in self.sim.lines.keys().copied().collect::<Vec<_>>() {
            self.sim.disconnect(broker);
        }
        self.counts.producers += 1;
        let memory = Memory::new(self.limit, || {});
        let sender = Sender::new(self.settings.clone(), memory, self.rng.next_u64());
        self.sim.replace_sender(sender);
        (self.begins, self.is_closing) = (false, false);
    }

    /// The producer is closed; who has a transaction open tries to commit it.
    fn close(&mut self) {
        self.is_closing = true;
        self.sim.sender.abort_open_transaction();
        if let Some(work) = &mut self.work
            && work.is_commit.is_none()
        {
            work.is_commit = Some(true);
            self.sim.sender.end_transaction(work.number, true, self.sim.now);
        }
        self.sim.signals();
        self.sim.transactions_changed = true;
    }

    fn read_late(&mut self) {
        // Rather when another transaction is open.
        if !self.late.is_empty() && self.rng.one_in(150) {
            let at = self.rng.below(self.late.len() as u64) as usize;
            let request = self.late.swap_remove(at);
            self.sim.coordinator.answer(&request);
            self.counts.late += 1;
        }
        if !self.sim.zombies.is_empty() && self.rng.one_in(20) {
            let at = self.rng.below(self.sim.zombies.len() as u64) as usize;
            // Within a connection order is kept.
            let of = self.sim.zombies[at].0;
            let first = self.sim.zombies.iter().position(|(broker, _)| *broker == of).unwrap();
            let (broker, request) = self.sim.zombies.remove(first);
            self.sim.answer(broker, &request, &mut |_| Fate::Fine);
            self.counts.late += 1;
        }
    }

    fn step(&mut self, step: u32) {
        self.work();
        let brokers = self.sim.lines.len() as u64;
        let broker = 1 + self.rng.below(brokers) as i32;
        match self.rng.below(6) {
            0 => {
                self.sim.turn(broker);
            }
            1 => {
                let (rng, faults) = (&mut self.rng, &self.troubles.batches);
                self.sim.process(broker, &mut |batch| fate(rng, faults, batch));
            }
            2 => {
                self.sim.deliver(broker);
            }
            3 => self.ask(),
            4 => {
                self.sim.write_marker();
            }
            _ => self.sim.now += self.rng.below(6),
        }
        let faults = self.troubles.batches;
        if self.rng.one_in(faults.breaks) {
            self.sim.disconnect(broker);
        }
        self.read_late();
        if self.rng.one_in(faults.moves) {
            let partitions = self.sim.logs.len() as u64;
            let log = self.sim.logs.get_mut(&(self.rng.below(partitions) as i32)).unwrap();
            log.leader = 1 + self.rng.below(brokers) as i32;
            log.epoch += 1;
        }
        if self.rng.one_in(self.troubles.fences) {
            match self.rng.one_in(2) {
                true => self.sim.coordinator.time_out(),
                false => drop(self.sim.coordinator.initialize((-1, -1))),
            }
        }
        if self.rng.one_in(self.troubles.upgrades) {
            self.protocol = match self.protocol {
                Protocol::V1 => Protocol::V2,
                Protocol::V2 => Protocol::V1,
            };
        }
        if self.rng.one_in(self.troubles.closes) && !self.is_closing {
            self.close();
        }
        if self.rng.one_in(30) && self.sim.sender.take_wants_metadata() {
            self.sim.tell_metadata();
        }
        if step.is_multiple_of(16) {
            self.sim.sender.expire(self.sim.now);
            self.sim.signals();
        }
    }

    /// From now on all goes well, until nothing is left to do.
    fn settle(&mut self) {
        self.troubles = NO_TROUBLES;
        (self.is_last, self.begins) = (true, false);
        let until = self.sim.now + 100_000;
        while self.work.is_some() || self.sim.sender.is_ending_transaction() || self.is_closing {
            assert!(self.sim.now < until, "seed {}: a transaction hangs", self.seed);
            self.work();
            self.sim.round();
            self.ask();
            self.sim.write_marker();
            self.sim.refresh();
            self.sim.now += 1;
            if self.sim.now.is_multiple_of(16) {
                self.sim.sender.expire(self.sim.now);
                self.sim.signals();
            }
        }
        assert_eq!(self.sim.sender.outstanding(), 0, "seed {}", self.seed);
        assert_eq!(self.sim.sender.memory().used(), 0, "seed {}", self.seed);
        // What is late comes even now.
        while !self.late.is_empty() || !self.sim.zombies.is_empty() {
            self.read_late();
        }
        while self.sim.coordinator.initialize((-1, -1)).is_err() {
            self.sim.write_marker();
        }
        assert!(self.sim.coordinator.is_quiet());
    }

    fn check(mut self) -> Counts {
        let seed = self.seed;
        // Of each transaction, the records that are there for those who read what is committed.
        let mut read: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (index, log) in &self.sim.logs {
            let mut last = None;
            for (value, (_, visible)) in log.values.iter().zip(&log.fates) {
                let number = |at: usize| u32::from_be_bytes(value[at..at + 4].try_into().unwrap());
                let place = (number(0), number(4));
                assert_ne!(*visible, Visible::NotYet, "seed {seed}: {place:?} hangs in {index}");
                if *visible == Visible::Yes {
                    assert!(last < Some(place), "seed {seed}: {place:?} after {last:?} in {index}");
                    last = Some(place);
                    read.entry(place.0).or_default().push(place.1);
                }
            }
        }
        let offsets = self.sim.coordinator.committed_offsets();
        assert!(offsets.is_sorted_by(|a, b| a < b), "seed {seed}: {offsets:?}");
        for (work, told) in &mut self.done {
            let id = work.id;
            let mut found = read.remove(&id).unwrap_or_default();
            found.sort_unstable();
            let sent = 0..work.tickets.len() as u32;
            let is_whole = found.iter().copied().eq(sent);
            let has_offset = offsets.contains(&i64::from(id));
            let is_there = is_whole && has_offset == work.has_offset;
            let is_absent = found.is_empty() && !has_offset;
            assert!(
                match told {
                    Told::Committed => is_there,
                    Told::Aborted => is_absent,
                    Told::Nothing => is_there || is_absent,
                },
                "seed {seed}: {id} was {told:?}: {found:?} of {}, {has_offset} of {}",
                work.tickets.len(),
                work.has_offset,
            );
            for (at, ticket) in work.tickets.iter_mut().enumerate() {
                let outcome = outcome(ticket);
                let outcome = outcome.unwrap_or_else(|| panic!("seed {seed}: {id}/{at} hangs"));
                assert!(outcome.is_ok() || *told != Told::Committed, "seed {seed}: {id}/{at}");
            }
        }
        assert!(read.is_empty(), "seed {seed}: {read:?}");
        self.counts.ids += self.sim.coordinator.ids() as u64;
        self.counts
    }
}

/// The same code for all that was asked for.
fn answer_all(request: &TransactionRequest, code: ErrorCode) -> TransactionAnswer {
    let names: Vec<TopicPartition> = match request {
        TransactionRequest::AddPartitions { partitions, .. } => {
            partitions.iter().map(|of| (**of).clone()).collect()
        }
        TransactionRequest::CommitOffsets { offsets, .. } => {
            offsets.offsets.iter().map(|of| of.0.clone()).collect()
        }
        _ => return TransactionAnswer::Code(code),
    };
    TransactionAnswer::Partitions(names.into_iter().map(|name| (name, code)).collect())
}

fn run(seed: u64, protocol: Protocol, troubles: Troubles) -> Counts {
    let mut life = Life::new(seed, protocol, troubles);
    for step in 0..6_000 {
        life.step(step);
    }
    life.settle();
    life.check()
}

/// The counts of all seeds, and how many there were; nothing for one alone.
fn runs(
    family: &str,
    usual: u64,
    share: u64,
    protocols: &[Protocol],
    troubles: Troubles,
) -> Option<(Counts, u64)> {
    let mut all = Counts::default();
    let ran = crate::core::seeds::run(family, usual, share, |seed| {
        for protocol in protocols {
            let counts = run(seed, *protocol, troubles);
            all.committed += counts.committed;
            all.aborted += counts.aborted;
            all.unknown += counts.unknown;
            all.failed += counts.failed;
            all.producers += counts.producers;
            all.lost += counts.lost;
            all.late += counts.late;
            all.ids += counts.ids;
        }
    });
    eprintln!("{family}: {all:?}");
    Some((all, ran? * protocols.len() as u64))
}

const BOTH: [Protocol; 2] = [Protocol::V1, Protocol::V2];

#[test]
fn in_calm_weather_all_is_as_it_was_said() {
    let Some((counts, ran)) = runs("transactions: calm", 10, 2, &BOTH, NO_TROUBLES) else { return };
    assert_eq!((counts.failed, counts.unknown, counts.producers), (0, 0, ran));
    assert!(counts.committed > 10 * ran, "{counts:?}");
}

#[test]
fn errors_and_lost_exchanges() {
    let troubles = Troubles {
        // What is not sent again hangs here, because nothing expires.
        batches: Faults { errors: 8, breaks: 100, moves: 150, max_message_bytes: 300, ..NO_FAULTS },
        exchanges: 4,
        ..NO_TROUBLES
    };
    let Some((counts, ran)) = runs("transactions: lost", 30, 10, &BOTH, troubles) else { return };
    assert!(counts.committed > 3 * ran && counts.lost > 3 * ran, "{counts:?}");
}

#[test]
fn what_is_given_up_is_not_there() {
    let batches = Faults {
        errors: 8,
        breaks: 80,
        moves: 80,
        delivery_timeout_ms: 200,
        fatal: 60,
        max_message_bytes: 300,
    };
    let troubles = Troubles { batches, exchanges: 8, refusals: 40, ..NO_TROUBLES };
    let Some((counts, ran)) = runs("transactions: given up", 30, 10, &BOTH, troubles) else {
        return;
    };
    assert!(counts.failed > ran, "{counts:?}");
}

#[test]
fn producers_that_are_fenced_or_closed() {
    let batches = Faults { errors: 12, breaks: 120, moves: 200, ..NO_FAULTS };
    let troubles = Troubles { batches, exchanges: 8, fences: 400, closes: 400, ..NO_TROUBLES };
    let Some((counts, ran)) = runs("transactions: fenced", 30, 10, &BOTH, troubles) else {
        return;
    };
    assert!(counts.producers > 5 * ran, "{counts:?}");
}

#[test]
fn brokers_that_begin_and_cease_to_add_partitions() {
    let batches =
        Faults { errors: 12, breaks: 120, moves: 200, delivery_timeout_ms: 300, ..NO_FAULTS };
    let troubles = Troubles { batches, exchanges: 6, upgrades: 150, ..NO_TROUBLES };
    let Some((counts, ran)) = runs("transactions: upgraded", 30, 10, &BOTH, troubles) else {
        return;
    };
    assert!(counts.committed > 3 * ran, "{counts:?}");
}
