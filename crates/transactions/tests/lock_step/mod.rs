//! One coordinator here and one in Kafka, to which the same things happen.
//!
//! After every operation the answers, the records, the markers that have to be written, and what is described and listed
//! must agree. Where they are meant to differ is said in [`Difference`].

pub mod generator;
pub mod kafka;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};
use thalweg_coordinator::{KeyValue, LogEntry, Token};
use thalweg_transactions::{
    Partitions, Producer, TransactionEvent, TransactionRecord, TransactionRequest,
    TransactionState, TransactionVersion, WriteMarkers,
};
use thalweg_wire::ErrorCode;

use crate::world::{self, START, World, describe, id_of, list, name, record, words};
use kafka::{Kafka, command, error, number, string};

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

    /// What Kafka cannot do: commit in the last epoch with transactions of version 2, which throws and uses a producer
    /// id up; and write what a client says of transactions for which the cluster is too old, upon which the id is stuck.
    fn is_apart(&self, request: &TransactionRequest) -> bool {
        let version = match request {
            TransactionRequest::End(of) => {
                if of.commit && of.client_version.bumps_epochs() && of.producer.epoch == i16::MAX {
                    return true;
                }
                of.client_version
            }
            TransactionRequest::Add(of) => of.client_version,
            _ => TransactionVersion::V0,
        };
        self.world.config.version == TransactionVersion::V0 && version > TransactionVersion::V0
    }

    /// Whether something is under way.
    fn is_busy(&mut self) -> bool {
        let is_prepared = |id| self.world.describe(id).starts_with("Prepare");
        self.hold.is_some() || self.retries || IDS.into_iter().any(is_prepared)
    }

    fn count(&mut self, difference: Difference) {
        *self.differences.entry(difference).or_default() += 1;
    }

    fn tick(&mut self, ms: u64) {
        self.tell(&json!({"op": "clock", "ms": ms}));
        self.world.memory.advance(ms);
    }

    fn hold(&mut self, written: bool) {
        self.tell(&json!({"op": "holdAppends"}));
        self.world.memory.auto_commit = !written;
        self.world.memory.auto_append = written;
        self.hold = Some(Hold {
            written,
            steps: 0,
            batches: VecDeque::new(),
            is_unordered: false,
            committed: self.world.memory.log.len(),
        });
    }

    /// Takes down which records were written together.
    fn note_batches(&mut self, op: &Op) {
        let Some(hold) = &mut self.hold else { return };
        let count = self.step.records.len();
        match op {
            Op::Expire if count > 0 => hold.batches.push_back(count),
            Op::AbortTimedOut if count > 1 => hold.is_unordered = true,
            _ => {}
        }
        if !matches!(op, Op::Expire) {
            hold.batches.extend(std::iter::repeat_n(1, count));
        }
    }

    fn release(&mut self, count: Option<usize>) {
        let Some(hold) = &mut self.hold else { return };
        let memory = &mut self.world.memory;
        match count.filter(|count| !hold.is_unordered && *count < hold.batches.len()) {
            Some(count) if hold.written => {
                hold.committed += hold.batches.drain(..count).sum::<usize>();
                memory.commit(i64::try_from(hold.committed).expect("an offset"));
                self.tell(&json!({"op": "releaseAppends", "count": count}));
            }
            Some(count) => {
                hold.batches.drain(..count);
                for _ in 0..count {
                    assert!(memory.append_one(), "an append is held");
                    memory.settle();
                }
                self.tell(&json!({"op": "releaseAppends", "count": count}));
            }
            None => {
                memory.auto_append = true;
                memory.auto_commit = true;
                memory.settle();
                self.hold = None;
                self.tell(&json!({"op": "releaseAppends"}));
            }
        }
    }

    fn release_failed(&mut self, code: ErrorCode) {
        let memory = &mut self.world.memory;
        memory.failures.push(code);
        if !memory.append_one() {
            memory.failures.clear();
        }
        memory.auto_append = true;
        memory.settle();
        self.hold = None;
        self.tell(&json!({"op": "releaseAppends", "error": error(code)}));
        self.step.has_failed = true;
        self.truncate();
    }

    /// Takes out of Kafka's log what is not in ours.
    fn truncate(&mut self) {
        let end = self.world.memory.log.len();
        if self.kafkas_log.len() > end {
            self.kafkas_log.truncate(end);
            self.tell(&json!({"op": "truncate", "partition": 0, "offset": end}));
        }
    }

    /// Everything is answered NOT_COORDINATOR.
    fn resign(&mut self) -> Checked {
        self.coordinator_epoch += 1;
        let epoch = self.coordinator_epoch;
        self.tell(&json!({"op": "resign", "partition": 0, "epoch": epoch}));
        self.tell(&json!({"op": "releaseAppends"}));
        self.world.memory.close(ErrorCode::NOT_COORDINATOR);
        self.step.errors.clear();
        self.check_answers()?;
        for request in [describe("a"), world::init("a"), world::end("a", (1000, 0), true)] {
            let (number, _) = self.tell(&command(&request));
            let token = self.world.memory.submit(request.clone());
            self.asked.push((number, token, request));
        }
        self.check_answers()
    }

    fn elect(&mut self) {
        self.truncate();
        self.hold = None;
        self.retries = false;
        self.world.memory.auto_append = true;
        self.world.memory.auto_commit = true;
        self.queued.clear();
        self.sent.iter_mut().for_each(|sent| sent.is_stale = true);
        self.coordinator_epoch += 1;
        let epoch = self.coordinator_epoch;
        self.tell(&json!({"op": "elect", "partition": 0, "epoch": epoch}));
        self.world.reload();
    }

    /// Gives Kafka what is in our log since both were compared.
    fn adopt_log(&mut self) {
        let from = self.compared;
        self.tell(&json!({"op": "truncate", "partition": 0, "offset": from}));
        self.kafkas_log.truncate(from);
        for at in from..self.world.memory.log.len() {
            let record = world::bytes(&self.world.memory.log[at]).clone();
            self.tell(&kafka::write(&record));
            self.kafkas_log.push(record);
        }
    }

    /// Makes both the same again, upon a difference: both load what is in their logs.
    fn realign(&mut self) -> Checked {
        self.step = Step::default();
        self.resign()?;
        self.elect();
        let ids = &self.world.ids;
        let command = json!({"op": "producerIds", "next": ids.peek(),
            "error": ids.error().map_or("NONE", error)});
        self.tell(&command);
        self.take_effects();
        self.check_answers()?;
        self.check_state()
    }

    /// Takes over what we want to be written.
    fn take_effects(&mut self) {
        while let Some(of) = self.world.effect() {
            let WriteMarkers { transactional_id, producer, commit, partitions, client_version } =
                of;
            let (gone, led): (Vec<_>, Vec<_>) =
                partitions.iter().partition(|(topic, _)| *topic == GONE);
            let (gone, led): (Partitions, Partitions) =
                (gone.into_iter().collect(), led.into_iter().collect());
            let version = client_version.level();
            if !led.is_empty() {
                let markers = Markers { producer, commit, version, partitions: led.clone() };
                self.queued.insert(transactional_id.clone(), markers);
            }
            if led.is_empty() || !gone.is_empty() {
                self.world.memory.event(TransactionEvent::MarkersWritten {
                    transactional_id,
                    producer,
                    partitions: gone,
                });
            }
        }
    }

    /// Markers of an answer, by transactional id.
    fn markers(&self, groups: &Value) -> Checked<BTreeMap<String, Markers>> {
        let mut all: BTreeMap<String, Markers> = BTreeMap::new();
        for one in kafka::list(groups).iter().flat_map(|group| kafka::list(&group["markers"])) {
            if number(&one["coordinatorEpoch"]) != self.coordinator_epoch {
                return Err(format!("markers of another coordinator epoch: {one}"));
            }
            let (id, markers) = self.marker(one);
            match all.get_mut(&id) {
                None => {
                    all.insert(id, markers);
                }
                Some(all) => {
                    let of = (all.producer, all.commit, all.version);
                    if of != (markers.producer, markers.commit, markers.version) {
                        return Err(format!("Kafka has two kinds of markers for {id}"));
                    }
                    all.partitions.extend(&markers.partitions);
                }
            }
        }
        Ok(all)
    }

    fn marker(&self, one: &Value) -> (String, Markers) {
        let at = kafka::list(&one["partitions"]).iter();
        let partitions = at.map(|at| (string(&at[0]), number(&at[1]) as i32)).collect();
        let producer = Producer {
            id: number(&one["producerId"]),
            epoch: number(&one["producerEpoch"]) as i16,
        };
        let markers = Markers {
            producer,
            commit: one["committed"] == true,
            version: number(&one["transactionVersion"]) as i16,
            partitions,
        };
        (string(&one["transactionalId"]).to_owned(), markers)
    }

    fn send(&mut self) -> Checked {
        self.tick(100);
        self.take_effects();
        let (_, result) = self.tell(&json!({"op": "sendMarkers"}));
        if result.is_null() {
            // A completion that is written again fails for another reason, which ends Kafka's round.
            self.step.is_round_lost = self.step.refused.iter().any(is_completion);
            return Ok(());
        }
        let sent = self.markers(&result["sent"])?;
        let queued = std::mem::take(&mut self.queued);
        if sent != queued {
            return Err(format!("markers sent\n  ours:  {queued:?}\n  kafka: {sent:?}"));
        }
        for one in kafka::list(&result["sent"]) {
            let entries = kafka::list(&one["markers"]).iter();
            self.sent.push(Sent {
                send: number(&one["send"]),
                is_stale: false,
                entries: entries.map(|one| self.marker(one)).collect(),
            });
        }
        self.note_retries();
        Ok(())
    }

    fn note_retries(&mut self) {
        let (_, state) = self.tell(&json!({"op": "state"}));
        self.retries = number(&state["appendRetries"]) > 0;
    }

    fn answer_markers(&mut self, at: usize, errors: Option<[ErrorCode; 3]>) {
        let sent = self.sent.remove(at);
        let Some(errors) = errors else {
            self.tell(&json!({"op": "answerMarkers", "send": sent.send, "disconnected": true}));
            if !sent.is_stale {
                sent.entries.iter().for_each(|(id, markers)| self.queue(id, markers, |_| true));
            }
            return;
        };
        let named = (0..).zip(errors);
        let named: Vec<Value> = named
            .map(|(at, code)| json!({"topic": LED, "partition": at, "error": error(code)}))
            .collect();
        self.tell(&json!({"op": "answerMarkers", "send": sent.send, "errors": named}));
        if sent.is_stale {
            return;
        }
        let of = |index: i32| errors[index as usize];
        for (id, markers) in &sent.entries {
            let indices = || markers.partitions.iter().map(|(_, index)| index);
            let done: Partitions =
                indices().filter(|at| is_done(of(*at))).map(|at| (LED, at)).collect();
            self.world.memory.event(TransactionEvent::MarkersWritten {
                transactional_id: id.clone(),
                producer: markers.producer,
                partitions: done,
            });
            if !indices().any(|at| is_fenced(of(at))) {
                self.queue(id, markers, |at| !is_done(of(at)));
            }
        }
    }

    /// Markers have to be sent again.
    fn queue(&mut self, id: &str, markers: &Markers, again: impl Fn(i32) -> bool) {
        let partitions: Partitions =
            markers.partitions.iter().filter(|(_, index)| again(*index)).collect();
        if partitions.is_empty() {
            return;
        }
        let queued = self
            .queued
            .entry(id.to_owned())
            .or_insert_with(|| Markers { partitions: Partitions::default(), ..markers.clone() });
        queued.partitions.extend(&partitions);
    }

    fn check_answers(&mut self) -> Checked {
        let mut ours: BTreeMap<Token, String> = BTreeMap::new();
        for (token, answer) in self.world.memory.take_answers() {
            ours.insert(token, words(&answer));
        }
        let mut left = Vec::new();
        for (number, token, request) in std::mem::take(&mut self.asked) {
            let kafkas = self.step.done.remove(&number).map(|of| kafka::words(&request, &of));
            let ours = ours.remove(&token);
            if ours.as_deref() == Some("PRODUCER_FENCED")
                && kafkas.as_deref().is_some_and(|kafkas| kafkas != "PRODUCER_FENCED")
                && self.is_of_fenced(&request)
            {
                self.count(Difference::FencedEnds);
                continue;
            }
            match (&ours, &kafkas) {
                (None, None) => left.push((number, token, request)),
                (Some(ours), Some(kafkas)) if self.agree(&request, ours, kafkas) => {
                    let kind = command(&request);
                    let is_error = ErrorCode::NONE.to_string() == *ours
                        || ours.chars().all(|c| c.is_ascii_uppercase() || c == '_');
                    let said = if is_error { ours.as_str() } else { "fine" };
                    let said = format!("{} {said}", string(&kind["op"]));
                    *self.answers.entry(said).or_default() += 1;
                }
                _ => {
                    let none = "-".to_owned();
                    return Err(format!(
                        "{request:?}\n  ours:  {}\n  kafka: {}",
                        ours.as_ref().unwrap_or(&none),
                        kafkas.as_ref().unwrap_or(&none)
                    ));
                }
            }
        }
        self.asked = left;
        if !ours.is_empty() {
            return Err(format!("nobody asked for {ours:?}"));
        }
        Ok(())
    }

    /// Whether an answer is the same, or one of those that are meant to differ.
    /// Whether a producer of the epoch before the last one ends a transaction, and its last one did not end in the next epoch.
    fn is_of_fenced(&self, request: &TransactionRequest) -> bool {
        let TransactionRequest::End(of) = request else { return false };
        let mut records = self.world.memory.log.iter().rev().map(record);
        let last = records.find(|record| record.transactional_id == of.transactional_id);
        of.client_version.bumps_epochs()
            && last.and_then(|last| last.value).is_some_and(|last| {
                !last.client_version.bumps_epochs()
                    && last.producer_id == of.producer.id
                    && last.producer_epoch.checked_sub(1) == Some(of.producer.epoch)
            })
    }

    fn agree(&self, request: &TransactionRequest, ours: &str, kafkas: &str) -> bool {
        if let TransactionRequest::List(_) = request {
            return ours == self.without_first_in_transit(kafkas);
        }
        if ours == kafkas {
            return true;
        }
        let is_of_one_epoch = match request {
            TransactionRequest::Verify(_) => true,
            TransactionRequest::End(of) => !of.client_version.bumps_epochs(),
            _ => false,
        };
        match self.in_transit.get(id_of(request)) {
            Some(Difference::FirstInTransit) => {
                let kafkas_may = ["PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING"];
                is_of_one_epoch && ours == "CONCURRENT_TRANSACTIONS" && kafkas_may.contains(&kafkas)
            }
            Some(Difference::FenceInTransit) => {
                let is_fenced = |of: &str| of == "PRODUCER_FENCED";
                is_of_one_epoch && is_fenced(ours) != is_fenced(kafkas)
            }
            _ => false,
        }
    }

    fn without_first_in_transit(&self, kafkas: &str) -> String {
        let is_here = |one: &&str| {
            let id = one.split(':').next().unwrap_or_default();
            self.in_transit.get(id) != Some(&Difference::FirstInTransit)
        };
        kafkas.split_whitespace().filter(is_here).collect::<Vec<_>>().join(" ")
    }

    /// Kafka's completions that are lost, or are tried again.
    fn check_failed_completions(&mut self) -> Checked {
        if !self.step.has_failed {
            return self.check_state();
        }
        self.note_retries();
        let has_lost =
            self.step.is_round_lost || self.step.refused.iter().any(is_completion) && !self.retries;
        let (_, state) = self.tell(&json!({"op": "state"}));
        let is_stuck = kafka::list(&state["partitions"][0]["transactions"])
            .iter()
            .any(|of| string(&of["state"]).starts_with("Prepare") && of["pendingState"].is_null());
        if has_lost || is_stuck {
            self.count(Difference::CompletionLost);
            // What it throws then takes the rest of the broker's answer with it, of other transactions, too.
            if !self.step.errors.is_empty() && self.held() != Some(false) {
                self.adopt_log();
            }
            return self.realign();
        }
        self.check_state()
    }

    fn check_state(&mut self) -> Checked {
        if let Some(thrown) = self.step.errors.first() {
            return Err(format!("Kafka throws {thrown}"));
        }
        self.check_logs()?;
        let (_, result) = self.tell(&json!({"op": "markers"}));
        let kafkas = self.markers(&result["queued"])?;
        if kafkas != self.queued {
            return Err(format!("markers\n  ours:  {:?}\n  kafka: {kafkas:?}", self.queued));
        }
        self.in_transit.clear();
        let mut is_apart = false;
        for id in IDS {
            let Some(difference) = self.check_id(id)? else { continue };
            self.count(difference);
            self.in_transit.insert(id, difference);
            is_apart |= matches!(difference, Difference::FirstFailed | Difference::FenceFailed);
        }
        if is_apart {
            return self.realign();
        }
        let request = list();
        let (number, _) = self.tell(&command(&request));
        let token = self.world.memory.submit(request.clone());
        self.asked.push((number, token, request));
        self.check_answers()
    }

    fn check_id(&mut self, id: &str) -> Checked<Option<Difference>> {
        let ours = self.world.describe(id);
        let request = describe(id);
        let (_, kafkas) = self.tell(&command(&request));
        let kafkas = kafka::words(&request, &kafkas);
        if ours == kafkas {
            return Ok(None);
        }
        let version = self.world.config.version;
        let is_first = ours == "TRANSACTIONAL_ID_NOT_FOUND"
            && kafkas.starts_with("Empty ")
            && kafkas.contains("/-1 ");
        let is_fenced = !version.bumps_epochs() && is_bumped(&ours, &kafkas);
        let is_held = self.hold.is_some();
        let has_failed = self.step.has_failed;
        match (is_first, is_fenced) {
            (true, _) if has_failed && !self.is_asked(id) => Ok(Some(Difference::FirstFailed)),
            (true, _) if is_held => Ok(Some(Difference::FirstInTransit)),
            (_, true) if has_failed && !self.is_asked(id) => Ok(Some(Difference::FenceFailed)),
            (_, true) if is_held => Ok(Some(Difference::FenceInTransit)),
            _ => Err(format!("describe {id}\n  ours:  {ours}\n  kafka: {kafkas}")),
        }
    }

    /// Whether a request of an id has no answer yet.
    fn is_asked(&self, id: &str) -> bool {
        self.asked.iter().any(|(_, _, request)| id_of(request) == id)
    }

    fn check_logs(&mut self) -> Checked {
        if self.held() == Some(false) {
            return Ok(());
        }
        let from = self.compared;
        let mut ours: Vec<(&KeyValue, TransactionRecord)> = self.world.memory.log[from..]
            .iter()
            .map(|one| (world::bytes(one), record(one)))
            .collect();
        let mut kafkas: Vec<(&KeyValue, TransactionRecord)> =
            self.kafkas_log[from..].iter().map(|one| (one, record(&one.clone().into()))).collect();
        // Sweeps find them in any order.
        ours.sort_by(|a, b| a.1.transactional_id.cmp(&b.1.transactional_id));
        kafkas.sort_by(|a, b| a.1.transactional_id.cmp(&b.1.transactional_id));
        let mut times = 0;
        for ((bytes, ours), (kafkas_bytes, kafkas)) in ours.iter().zip(&kafkas) {
            let mut expected = kafkas.clone();
            if let (Some(ours), Some(kafkas)) = (&ours.value, &mut expected.value) {
                let is_complete = matches!(
                    ours.state,
                    TransactionState::CompleteCommit | TransactionState::CompleteAbort
                );
                if is_complete && kafkas.last_update_ms < ours.last_update_ms {
                    kafkas.last_update_ms = ours.last_update_ms;
                    times += 1;
                }
            }
            if *ours != expected {
                return Err(format!("log\n  ours:  {ours:?}\n  kafka: {kafkas:?}"));
            }
            let has_order = ours.value.as_ref().is_some_and(|value| value.partitions.len() > 1);
            let is_same = bytes == kafkas_bytes || expected != *kafkas || has_order;
            let length = |of: &KeyValue| of.value.as_ref().map(bytes::Bytes::len);
            if !is_same || length(bytes) != length(kafkas_bytes) {
                return Err(format!("bytes\n  ours:  {bytes:?}\n  kafka: {kafkas_bytes:?}"));
            }
        }
        if ours.len() != kafkas.len() {
            return Err(format!("log\n  ours:  {ours:?}\n  kafka: {kafkas:?}"));
        }
        self.compared = self.kafkas_log.len();
        for _ in 0..times {
            self.count(Difference::CompletionTime);
        }
        Ok(())
    }
}

/// Whether Kafka has an ongoing transaction in the epoch behind ours.
fn is_bumped(ours: &str, kafkas: &str) -> bool {
    let producer = |of: &str| -> Option<(i64, i16)> {
        let (id, epoch) = of.strip_prefix("Ongoing ")?.split(' ').next()?.split_once('/')?;
        Some((id.parse().ok()?, epoch.parse().ok()?))
    };
    let (Some(of), Some(bumped)) = (producer(ours), producer(kafkas)) else { return false };
    let as_bumped = |epoch| name(Producer { id: of.0, epoch });
    of.0 == bumped.0
        && of.1.checked_add(1) == Some(bumped.1)
        && ours.replacen(&as_bumped(of.1), &as_bumped(bumped.1), 1) == kafkas
}

fn is_completion(state: &Option<TransactionState>) -> bool {
    let of = |state: &TransactionState| {
        matches!(state, TransactionState::CompleteCommit | TransactionState::CompleteAbort)
    };
    state.as_ref().is_some_and(of)
}

/// Whether Kafka takes it that a marker is written, or need not be.
fn is_done(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NONE
            | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT
            | ErrorCode::UNSUPPORTED_VERSION
    )
}

/// Whether Kafka gives a transaction up for it, until it has another coordinator.
fn is_fenced(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::TRANSACTION_COORDINATOR_FENCED)
}
