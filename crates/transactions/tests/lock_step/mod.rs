//! One coordinator here and one in Kafka, to which the same things happen.
//!
//! After every operation the answers, the records, the markers that have to be written, and what is described and listed
//! must agree. Where they are meant to differ is said in [`Difference`].

mod comparison;
pub mod generator;
pub mod kafka;
mod operations;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};
use thalweg_coordinator::{KeyValue, LogEntry, Token};
use thalweg_transactions::{
    Partitions, Producer, TransactionRequest, TransactionState, TransactionVersion,
};
use thalweg_wire::ErrorCode;

use crate::world::{self, START, World};
use kafka::{Kafka, command, error, number};

/// The transactional ids of both.
pub const IDS: [&str; 4] = ["a", "b", "c", "x"];
/// The topic with leaders: partition 0 and 2 are led by broker 1, partition 1 by broker 2.
pub const LED: &str = "t";
/// The topic that was deleted.
pub const GONE: &str = "gone";
/// `transactional.id.expiration.ms`.
pub const EXPIRATION_MS: u64 = 10_000_000;
/// How long we wait for a commit; Kafka's log is told to wait as long.
const WRITE_TIMEOUT_MS: u64 = 5_000;
/// For so many operations appends are held at most.
const HELD_MAX: usize = 12;

/// What happens.
#[derive(Clone, Debug)]
pub enum Op {
    /// A request.
    Ask(TransactionRequest),
    /// Time passes.
    Tick(u64),
    /// So much of it that all ids expire that are not in use.
    Age,
    /// The next append fails.
    Fail(ErrorCode),
    /// Appends are written from now on and not committed; or not even written.
    Hold {
        /// Which of both.
        written: bool,
    },
    /// The oldest of those, or all, are committed.
    Release(Option<usize>),
    /// All of those that are not written fail.
    ReleaseFailed(ErrorCode),
    /// It takes too long to know whether those that are written are committed.
    TimeOut,
    /// Another broker leads the partition, then this one again.
    Reelect,
    /// Producer ids are given out, or are not.
    ProducerIds(Option<ErrorCode>),
    /// Another `transaction.version` is finalized.
    Finalize(TransactionVersion),
    /// Transactions that are open for too long are aborted.
    AbortTimedOut,
    /// Ids that were not used for long are removed.
    Expire,
    /// Markers are sent, and completions that could not be written are written again.
    Send,
    /// One of the requests with markers is answered: whether it was lost, and else what is said of partitions of [`LED`].
    AnswerMarkers(usize, Option<[ErrorCode; 3]>),
}

/// Where both differ, and are meant to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// Kafka has an id in memory, with epoch -1, while its first record is in transit. Here it does not exist before
    /// it is committed: with another leader it might never have existed.
    FirstInTransit,
    /// Kafka keeps such an id when that record could not be written.
    FirstFailed,
    /// Before transactions of version 2 Kafka fences a producer in memory while the record that does so is in transit.
    /// Here the record does.
    FenceInTransit,
    /// It stays fenced when that record could not be written.
    FenceFailed,
    /// The completion of a transaction has the time of its decision in Kafka, and here the one at which the last marker
    /// was written. It counts for how long an id is kept only.
    CompletionTime,
    /// A completion that fails for other reasons than too few replicas is never written again by Kafka, whose id answers
    /// CONCURRENT_TRANSACTIONS until it has another coordinator. Here it is written again.
    CompletionLost,
    /// What is written, and not known to be committed in time, Kafka forgets though it may be committed later. Here it
    /// stays in transit until that is known.
    TimedOut,
    /// Kafka takes an EndTxn of transactions of version 2 from the epoch before for one that is sent again, though the last
    /// transaction did not end in the next epoch: a fenced producer is told that it is the one that fenced it, and that its
    /// own transaction has ended as that one's. Here it is fenced.
    FencedEnds,
}

/// Markers to be written of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Markers {
    producer: Producer,
    commit: bool,
    version: i16,
    partitions: Partitions,
}

/// Markers that were sent to a broker which has not answered.
#[derive(Debug)]
struct Sent {
    send: i64,
    is_stale: bool,
    entries: Vec<(String, Markers)>,
}

/// Appends that are not committed.
#[derive(Debug)]
struct Hold {
    written: bool,
    steps: usize,
    /// The records of each, as far as that is known.
    batches: VecDeque<usize>,
    /// Whether their order may be another one in Kafka.
    is_unordered: bool,
    committed: usize,
}

/// Both.
pub struct Pair<'k> {
    kafka: &'k mut Kafka,
    /// Ours.
    pub world: World,
    kafkas_log: Vec<KeyValue>,
    /// So many records of both logs are compared.
    compared: usize,
    asked: Vec<(i64, Token, TransactionRequest)>,
    queued: BTreeMap<String, Markers>,
    sent: Vec<Sent>,
    hold: Option<Hold>,
    coordinator_epoch: i64,
    /// Whether completions wait to be written again.
    retries: bool,
    in_transit: BTreeMap<&'static str, Difference>,
    /// How often they differed.
    pub differences: BTreeMap<Difference, u64>,
    /// How often a request was answered so.
    pub answers: BTreeMap<String, u64>,
    step: Step,
}

/// What Kafka did in one operation.
#[derive(Debug, Default)]
struct Step {
    done: BTreeMap<i64, Value>,
    records: Vec<usize>,
    /// States of records that were refused.
    refused: Vec<Option<TransactionState>>,
    errors: Vec<Value>,
    has_failed: bool,
    is_round_lost: bool,
    /// Commands whose answers we do not give.
    sweeps: BTreeSet<i64>,
}

type Checked<T = ()> = Result<T, String>;

impl<'k> Pair<'k> {
    /// Both with the same log, loaded.
    pub fn new(
        kafka: &'k mut Kafka,
        version: TransactionVersion,
        two_phase_commit: bool,
        log: Vec<LogEntry>,
    ) -> Pair<'k> {
        let config = json!({
            "transactional.id.expiration.ms": EXPIRATION_MS.to_string(),
            "transaction.two.phase.commit.enable": two_phase_commit.to_string(),
        });
        kafka.result(&json!({"op": "start", "config": config, "elect": false,
            "transactionVersion": version.level(), "nowMs": START.wall_ms,
            "firstProducerId": world::FIRST_PRODUCER_ID}));
        kafka.result(&json!({"op": "leaders", "topic": LED, "leaders": [1, 2, 1]}));
        let kafkas_log: Vec<KeyValue> = log.iter().map(|one| world::bytes(one).clone()).collect();
        for record in &kafkas_log {
            kafka.result(&kafka::write(record));
        }
        let mut config = world::config(version);
        config.two_phase_commit = two_phase_commit;
        config.id_expiration_ms = i64::try_from(EXPIRATION_MS).expect("it is short");
        let world = World::with_log(config, log);
        let mut pair = Pair {
            compared: kafkas_log.len(),
            kafka,
            world,
            kafkas_log,
            asked: Vec::new(),
            queued: BTreeMap::new(),
            sent: Vec::new(),
            hold: None,
            coordinator_epoch: 0,
            retries: false,
            in_transit: BTreeMap::new(),
            differences: BTreeMap::new(),
            answers: BTreeMap::new(),
            step: Step::default(),
        };
        pair.tell(&json!({"op": "elect", "partition": 0, "epoch": 0}));
        pair.take_effects();
        pair
    }

    /// Both logs, as far as they are committed: ours, then Kafka's.
    pub fn logs(&mut self) -> Checked<[Vec<LogEntry>; 2]> {
        self.one(&Op::Release(None))?;
        let kafkas = self.kafkas_log.iter().cloned().map(LogEntry::from).collect();
        Ok([self.world.memory.log.clone(), kafkas])
    }

    /// Compares what both have loaded.
    pub fn check_loaded(&mut self) -> Checked {
        self.step = Step::default();
        self.check_state()
    }

    /// Its process.
    pub fn into_kafka(self) -> &'k mut Kafka {
        self.kafka
    }

    /// Whether appends are held, and whether they are written.
    pub fn held(&self) -> Option<bool> {
        self.hold.as_ref().map(|hold| hold.written)
    }

    /// Whether some append is to fail.
    pub fn is_failing(&self) -> bool {
        !self.world.memory.failures.is_empty()
    }

    /// How many requests with markers wait for an answer.
    pub fn sent(&self) -> usize {
        self.sent.len()
    }

    /// Whether markers have to be sent.
    pub fn has_queued(&self) -> bool {
        !self.queued.is_empty() || self.retries
    }

    /// Gives Kafka a command and takes down what comes of it; its number.
    fn tell(&mut self, op: &Value) -> (i64, Value) {
        let answer = self.kafka.run(op);
        let number_of = number(&answer["request"]);
        for record in kafka::list(&answer["records"]) {
            self.kafkas_log.push(kafka::bytes(record));
            self.step.records.push(self.kafkas_log.len() - 1);
        }
        for record in kafka::list(&answer["refused"]) {
            let state = record["value"]["transactionStatus"].as_i64();
            let state = state.and_then(|id| TransactionState::from_id(id as i8));
            self.step.refused.push(state);
            self.step.has_failed = true;
        }
        for one in kafka::list(&answer["completed"]) {
            self.step.done.insert(number(&one["request"]), one["result"].clone());
        }
        let result = answer["result"].clone();
        let is_pending = kafka::list(&answer["pending"]).contains(&json!(number_of));
        let thrown = kafka::list(&answer["errors"]);
        match thrown {
            [one] if result.is_null() && !is_pending && op.get("transactionalId").is_some() => {
                self.step.done.insert(number_of, json!({"error": one["code"]}));
            }
            _ => self.step.errors.extend_from_slice(thrown),
        }
        if !result.is_null() {
            self.step.done.insert(number_of, result.clone());
        }
        (number_of, result)
    }

    /// Does something on both sides, and compares what comes of it. What makes no sense is left out.
    pub fn run(&mut self, op: &Op) -> Checked {
        if self.hold.as_ref().is_some_and(|hold| hold.steps >= HELD_MAX) {
            self.one(&Op::Release(None))?;
        }
        if let Some(hold) = &mut self.hold {
            hold.steps += 1;
        }
        self.one(op)
    }

    fn one(&mut self, op: &Op) -> Checked {
        self.step = Step::default();
        let mut is_lost = false;
        match op {
            Op::Ask(request) if self.is_apart(request) => return Ok(()),
            Op::Ask(request) => {
                let (number, _) = self.tell(&command(request));
                let token = self.world.memory.submit(request.clone());
                self.asked.push((number, token, request.clone()));
            }
            Op::Tick(_) if self.retries => return self.one(&Op::Send),
            Op::Tick(ms) if self.hold.is_some() && *ms > 100 => return Ok(()),
            Op::Tick(ms) => self.tick(*ms),
            Op::Age if self.is_busy() => return Ok(()),
            Op::Age => self.tick(EXPIRATION_MS),
            Op::Fail(_) if self.held() == Some(false) => return Ok(()),
            Op::Fail(code) => {
                self.tell(&json!({"op": "failAppends", "error": error(*code)}));
                self.world.memory.failures.push(*code);
            }
            Op::Hold { .. } if self.hold.is_some() || self.is_failing() => return Ok(()),
            Op::Hold { written } => self.hold(*written),
            Op::Release(_) if self.hold.is_none() => return Ok(()),
            Op::Release(count) => self.release(*count),
            Op::ReleaseFailed(_) if self.held() != Some(false) => return Ok(()),
            Op::ReleaseFailed(code) => self.release_failed(*code),
            Op::TimeOut if self.held() != Some(true) || self.is_failing() || self.retries => {
                return Ok(());
            }
            Op::TimeOut => {
                self.tell(&json!({"op": "releaseAppends", "error": "REQUEST_TIMED_OUT"}));
                self.tick(WRITE_TIMEOUT_MS);
                is_lost = true;
            }
            Op::Reelect => {
                self.resign()?;
                self.elect();
            }
            Op::ProducerIds(code) => {
                let code_name = code.map_or("NONE", error);
                self.tell(&json!({"op": "producerIds", "error": code_name}));
                self.world.ids.fail(*code);
            }
            Op::Finalize(_) if self.hold.is_some() => return Ok(()),
            Op::Finalize(version) => {
                self.tell(&json!({"op": "transactionVersion", "level": version.level()}));
                self.world.configure(|config| config.version = *version);
            }
            Op::AbortTimedOut | Op::Expire if self.is_failing() || self.held() == Some(false) => {
                return Ok(());
            }
            Op::AbortTimedOut => {
                self.tell(&json!({"op": "clock", "ms": 1}));
                let (number, _) = self.tell(&json!({"op": "abortTimedOut"}));
                self.step.sweeps.insert(number);
                self.world.abort_timed_out();
            }
            Op::Expire => {
                self.tell(&json!({"op": "clock", "ms": 1}));
                self.tell(&json!({"op": "expire"}));
                self.world.expire();
            }
            Op::Send if self.is_retry_blocked() => return Ok(()),
            Op::Send => self.send()?,
            Op::AnswerMarkers(at, _) if *at >= self.sent.len() => return Ok(()),
            Op::AnswerMarkers(at, errors) => self.answer_markers(*at, *errors),
        }
        self.take_effects();
        self.note_batches(op);
        self.check_answers()?;
        if is_lost {
            self.count(Difference::TimedOut);
            return self.realign();
        }
        self.check_failed_completions()
    }
}

fn is_completion(state: &Option<TransactionState>) -> bool {
    let of = |state: &TransactionState| {
        matches!(state, TransactionState::CompleteCommit | TransactionState::CompleteAbort)
    };
    state.as_ref().is_some_and(of)
}
