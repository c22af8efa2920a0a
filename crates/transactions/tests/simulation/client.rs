//! Producers, each an incarnation of a transactional id. They do what Kafka's client does: one request to the coordinator at
//! a time, what is not answered is sent again as it was, a transaction is committed when all of it is acknowledged, and
//! aborted otherwise; who is fenced ends.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_transactions::{
    AddPartitions, EndTransaction, InitProducerId, Producer, TransactionRequest,
    TransactionResponse, TransactionVersion,
};
use thalweg_wire::ErrorCode;

use super::network::{Answer, Asker, Message, Write, Written};
use super::{Simulation, id_name, named};

/// So many batches of a partition are in flight at most.
const IN_FLIGHT_MAX: usize = 2;
/// So many records has a transaction at most.
const RECORDS_MAX: usize = 6;
const TIMEOUT_MS: i32 = 60_000;

/// What an incarnation is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has no epoch, or wants the next one.
    New,
    Idle,
    Open,
    Ending,
    Dead,
}

/// What it has asked for.
#[derive(Clone, Debug)]
pub enum Request {
    Init { expected: Option<Producer> },
    Add(usize),
    Write { partition: usize, what: Written },
    End { commit: bool },
}

/// An incarnation.
pub struct Client {
    pub id: usize,
    /// It speaks transactions of version 2 where the cluster does.
    pub is_modern: bool,
    pub phase: Phase,
    pub producer: Option<Producer>,
    /// How it speaks in its transaction.
    pub is_v2: bool,
    /// A transaction that has no epoch of its own was in the epoch that it has.
    shares_epoch: bool,
    /// The next sequence number by partition.
    sequences: BTreeMap<usize, i32>,
    added: BTreeSet<usize>,
    /// The transaction in the ledger.
    pub txn: usize,
    pub requests: BTreeMap<u64, Request>,
    next_request: u64,
    /// Something of a transaction may still arrive in the epoch that it has.
    needs_epoch: bool,
    /// It cannot be committed any more.
    must_abort: bool,
}

impl Client {
    pub fn new(id: usize, is_modern: bool) -> Client {
        Client {
            id,
            is_modern,
            phase: Phase::New,
            producer: None,
            is_v2: false,
            shares_epoch: false,
            sequences: BTreeMap::new(),
            added: BTreeSet::new(),
            txn: 0,
            requests: BTreeMap::new(),
            next_request: 0,
            needs_epoch: false,
            must_abort: false,
        }
    }

    fn writes(&self) -> impl Iterator<Item = (u64, usize, &Written)> {
        self.requests.iter().filter_map(|(number, request)| match request {
            Request::Write { partition, what } => Some((*number, *partition, what)),
            _ => None,
        })
    }

    /// Whether it waits for the coordinator.
    fn asks(&self) -> bool {
        self.requests.len() > self.writes().count()
    }

    fn become_producer(&mut self, producer: Producer) {
        if self.producer != Some(producer) {
            self.producer = Some(producer);
            self.sequences.clear();
            self.shares_epoch = false;
        }
    }
}

impl Simulation {
    pub fn add_client(&mut self, id: usize, is_modern: bool) -> usize {
        self.clients.push(Client::new(id, is_modern));
        self.clients.len() - 1
    }

    /// An incarnation does the next thing, if there is one.
    pub fn act(&mut self, c: usize) {
        let client = &self.clients[c];
        match client.phase {
            Phase::New if client.requests.is_empty() => {
                let expected = client.producer.filter(|_| client.needs_epoch);
                self.ask(c, Request::Init { expected });
            }
            Phase::Idle if !self.is_quiet => self.begin(c),
            Phase::Open => self.go_on(c),
            Phase::New | Phase::Idle | Phase::Ending | Phase::Dead => {}
        }
    }

    pub fn begin(&mut self, c: usize) {
        let hears = self.is_healed || self.random.chance(80);
        let client = &mut self.clients[c];
        // The cluster's version is looked at between transactions.
        client.is_v2 |= client.is_modern && hears && self.version >= TransactionVersion::V2;
        // The markers of its last transaction may be on their way. What it wrote without asking its coordinator, in the
        // same epoch, would be a part of that.
        if client.is_v2 && client.shares_epoch && !self.keeps_epoch {
            client.needs_epoch = true;
            client.phase = Phase::New;
            return;
        }
        client.shares_epoch |= !client.is_v2;
        client.phase = Phase::Open;
        client.must_abort = false;
        client.added.clear();
        let producer = client.producer.expect("it is initialized");
        client.txn = self.ledger.begin(c, client.id, producer);
    }

    fn go_on(&mut self, c: usize) {
        let client = &self.clients[c];
        let in_flight = client.writes().count();
        let txn = &self.ledger.txns[client.txn];
        let has_begun = match client.is_v2 {
            true => txn.is_started,
            false => !client.added.is_empty(),
        };
        // Whoever gives up what it has written aborts.
        let gives_up = client.must_abort || self.random.chance(8);
        if gives_up && !client.asks() {
            let client = &mut self.clients[c];
            client.requests.clear();
            if !client.is_v2 {
                client.needs_epoch |= in_flight > 0 || client.must_abort;
            }
            return self.end(c, false, has_begun);
        }
        if txn.values.len() >= RECORDS_MAX || self.is_quiet || self.random.chance(20) {
            if in_flight == 0 && !client.asks() {
                let commit = self.is_healed || !self.random.chance(20);
                self.end(c, commit, has_begun);
            }
            return;
        }
        let partition = self.random.below(self.partitions.len());
        self.write_to(c, partition);
    }

    /// Has a record written, or offsets; or the partition added first.
    pub fn write_to(&mut self, c: usize, partition: usize) {
        let client = &self.clients[c];
        if !client.is_v2 && !client.added.contains(&partition) {
            if !client.asks() {
                self.ask(c, Request::Add(partition));
            }
            return;
        }
        let in_flight = client.writes().filter(|(_, of, _)| *of == partition).count();
        let is_groups = partition + 1 == self.partitions.len();
        // Offsets have no sequence numbers: of two commits in one transaction the first may come again behind the second.
        let has_offset = self.ledger.txns[client.txn].offset.is_some();
        if is_groups && has_offset || in_flight >= IN_FLIGHT_MAX {
            return;
        }
        let what = if is_groups {
            Written::Offset(self.ledger.offset(client.txn))
        } else {
            let value = self.ledger.value(client.txn, partition);
            let next = self.clients[c].sequences.entry(partition).or_default();
            *next += 1;
            Written::Batch { sequence: *next - 1, value }
        };
        self.ask(c, Request::Write { partition, what });
    }

    /// Ends a transaction, which nobody has to hear of that has not begun.
    pub fn end(&mut self, c: usize, commit: bool, has_begun: bool) {
        let client = &mut self.clients[c];
        if !has_begun {
            client.phase = if client.needs_epoch { Phase::New } else { Phase::Idle };
            return;
        }
        client.phase = Phase::Ending;
        self.ledger.txns[client.txn].wants_commit |= commit;
        self.ask(c, Request::End { commit });
    }

    pub fn ask(&mut self, c: usize, request: Request) {
        let client = &mut self.clients[c];
        client.next_request += 1;
        client.requests.insert(client.next_request, request);
        let number = client.next_request;
        self.send_again(c, number);
    }

    /// Sends a request as it was sent before.
    fn send_again(&mut self, c: usize, number: u64) {
        let client = &self.clients[c];
        let from = Asker { client: c, request: number };
        let (id, is_v2) = (client.id, client.is_v2);
        let (transactional_id, producer) = (id_name(id), client.producer);
        let of_client = || producer.expect("it is initialized");
        let client_version = match is_v2 {
            true => TransactionVersion::V2,
            false => TransactionVersion::V0,
        };
        let request = match &client.requests[&number] {
            Request::Init { expected } => TransactionRequest::Init(InitProducerId {
                transactional_id,
                timeout_ms: TIMEOUT_MS,
                enable_2pc: false,
                keep_prepared: false,
                expected: *expected,
            }),
            Request::Add(partition) => {
                self.ledger.txns[client.txn].is_started = true;
                TransactionRequest::Add(AddPartitions {
                    transactional_id,
                    producer: of_client(),
                    partitions: [named(*partition)].into_iter().collect(),
                    client_version,
                    is_of_broker: false,
                })
            }
            Request::End { commit } => TransactionRequest::End(EndTransaction {
                transactional_id,
                producer: of_client(),
                commit: *commit,
                client_version,
            }),
            Request::Write { partition, what } => {
                self.ledger.txns[client.txn].is_started = true;
                let (partition, what, producer) = (*partition, *what, of_client());
                let write = Write { from, id, partition, producer, is_v2, what };
                return self.send(Message::Write(write));
            }
        };
        self.send(Message::Coordinate { from: Some(from), id, is_v2, request });
    }

    /// An incarnation has waited for long enough, and sends a request again.
    pub fn time_out(&mut self, c: usize) {
        let client = &self.clients[c];
        let numbers: Vec<u64> = client.requests.keys().copied().collect();
        if client.phase != Phase::Dead && !numbers.is_empty() {
            let number = *self.random.pick(&numbers);
            self.send_again(c, number);
        }
    }

    /// An incarnation hears an answer.
    pub fn hear(&mut self, to: Asker, answer: Answer) {
        let (c, number) = (to.client, to.request);
        let client = &mut self.clients[c];
        if client.phase == Phase::Dead || !client.requests.contains_key(&number) {
            return;
        }
        let code = match &answer {
            Answer::Written(code) => *code,
            Answer::Coordinated(response) => match response {
                TransactionResponse::Init(Err(code))
                | TransactionResponse::Add(Err(code))
                | TransactionResponse::End(Err(code)) => *code,
                _ => ErrorCode::NONE,
            },
        };
        if code.is_err() {
            return self.hear_error(c, number, code);
        }
        let request = client.requests.remove(&number).expect("it is there");
        match (request, answer) {
            (
                Request::Init { .. },
                Answer::Coordinated(TransactionResponse::Init(Ok(producer))),
            ) => {
                client.become_producer(producer);
                client.needs_epoch = false;
                client.phase = Phase::Idle;
                self.ledger.owns(c, producer);
            }
            (Request::Add(partition), _) => {
                client.added.insert(partition);
                self.ledger.txns[client.txn].is_known = true;
            }
            (Request::Write { .. }, _) => self.ledger.txns[client.txn].is_known = true,
            (
                Request::End { commit },
                Answer::Coordinated(TransactionResponse::End(Ok(producer))),
            ) => {
                self.ledger.acknowledged(client.txn, commit);
                if producer != Producer::NONE {
                    client.become_producer(producer);
                    self.ledger.owns(c, producer);
                }
                client.phase = if client.needs_epoch { Phase::New } else { Phase::Idle };
            }
            (request, answer) => panic!("{answer:?} is no answer to {request:?}"),
        }
    }

    fn hear_error(&mut self, c: usize, number: u64, code: ErrorCode) {
        let client = &self.clients[c];
        let is_retried = match code {
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
            | ErrorCode::COORDINATOR_NOT_AVAILABLE
            | ErrorCode::NOT_COORDINATOR
            | ErrorCode::CONCURRENT_TRANSACTIONS
            | ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::NOT_ENOUGH_REPLICAS
            | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
            | ErrorCode::REQUEST_TIMED_OUT => true,
            // What was sent before it may still come to stand before it.
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER => match &client.requests[&number] {
                Request::Write { partition: p, .. } => {
                    client.writes().any(|(other, of, _)| other < number && of == *p)
                }
                _ => false,
            },
            _ => false,
        };
        if is_retried {
            if self.random.chance(70) {
                self.send_again(c, number);
            }
            return;
        }
        // A mistake of the coordinator's, or an append that it will not do.
        let is_odd = code == ErrorCode::UNKNOWN_SERVER_ERROR;
        let is_write = matches!(client.requests[&number], Request::Write { .. });
        if (is_write || is_odd) && client.phase == Phase::Open && self.random.chance(70) {
            let client = &mut self.clients[c];
            client.requests.remove(&number);
            client.must_abort = true;
            return;
        }
        self.crash(c);
    }

    /// An incarnation is gone, whatever it has sent.
    pub fn crash(&mut self, c: usize) {
        self.clients[c].phase = Phase::Dead;
    }

    /// Those that are there.
    pub fn living(&self) -> Vec<usize> {
        let all = self.clients.iter().enumerate();
        all.filter(|(_, client)| client.phase != Phase::Dead).map(|(at, _)| at).collect()
    }
}
