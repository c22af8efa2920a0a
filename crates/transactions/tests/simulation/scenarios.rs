//! What is known to go wrong without the second part of KIP-890, event by event, and does not with it: requests of one
//! transaction that hit the next one (KAFKA-17754, found by Jepsen), a batch that comes when its transaction is over, and what
//! comes of clients of both kinds under one id. Where the protocol itself has the fault, the scenario shows that.

use thalweg_random::Random;
use thalweg_transactions::{Producer, TransactionVersion};

use super::checks::Outcome;
use super::client::{Phase, Request};
use super::network::{Message, Write, Written};
use super::{GROUPS, Knobs, Simulation, TransactionRequest};

const V1: TransactionVersion = TransactionVersion::V1;
const V2: TransactionVersion = TransactionVersion::V2;

/// One id without a client, in a cluster in which everything works.
fn calm(version: TransactionVersion) -> Simulation {
    let knobs = Knobs {
        ids: 1,
        faults: 0,
        logs: 1,
        log_lags: 0,
        log_fails: 0,
        modern: 100,
        version,
        upgrades: false,
        ends_epochs: false,
        wait_ms: 0,
        id_expiration_ms: 604_800_000,
    };
    let mut simulation = Simulation::new(Random::new(1), knobs);
    simulation.is_healed = true;
    simulation.lets_late_through = true;
    simulation.clients.clear();
    simulation
}

impl Simulation {
    fn settled(&mut self) {
        while !self.messages.is_empty() {
            self.deliver();
            self.check();
        }
    }

    /// A client with an epoch.
    fn initialized(&mut self, is_modern: bool) -> usize {
        let client = self.add_client(0, is_modern);
        self.act(client);
        self.settled();
        assert_eq!(self.clients[client].phase, Phase::Idle);
        client
    }

    /// A transaction with a record in a partition, or an offset, that is not ended.
    fn open(&mut self, client: usize, partition: usize) {
        self.begin(client);
        self.put(client, partition);
    }

    fn put(&mut self, client: usize, partition: usize) {
        let written = |it: &Simulation| {
            let txn = &it.ledger.txns[it.clients[client].txn];
            (txn.values.len(), txn.offset)
        };
        let before = written(self);
        // The partition is to be added first, if the client has to see to that.
        while written(self) == before {
            self.write_to(client, partition);
            self.settled();
        }
    }

    /// A record is on its way, and is late.
    fn put_late(&mut self, client: usize, partition: usize) -> Message {
        self.write_to(client, partition);
        self.messages.pop().expect("it is sent")
    }

    fn commit_txn(&mut self, client: usize) {
        self.end(client, true, true);
        self.settled();
        assert_eq!(self.clients[client].phase, Phase::Idle);
    }

    fn producer_of(&self, client: usize) -> Producer {
        self.clients[client].producer.expect("it is initialized")
    }
}

/// An EndTxn is sent twice, and once arrives when the next transaction is open.
fn late_end(version: TransactionVersion) -> (Simulation, usize) {
    let mut simulation = calm(version);
    let client = simulation.initialized(true);
    simulation.open(client, 0);
    simulation.end(client, true, true);
    let late = simulation.messages[0].clone();
    simulation.settled();
    simulation.open(client, 1);
    simulation.ledger.is_tolerant = true;
    simulation.deliver_one(late);
    simulation.settled();
    (simulation, client)
}

#[test]
fn a_late_end_commits_half_of_the_next_transaction_before_version_two() {
    let (mut simulation, client) = late_end(V1);
    let txn = simulation.clients[client].txn;
    let values = simulation.ledger.values_of(txn);
    // Half of it is read, though its client has not decided what becomes of it.
    assert_eq!(simulation.ledger.outcomes, [Outcome::Unwanted(txn)]);
    assert_eq!(simulation.read_all(1), values);
    // And what comes later is in another one, which may be aborted.
    simulation.put(client, 0);
    simulation.end(client, false, true);
    simulation.settled();
    assert_eq!(simulation.read_all(0).len(), 1, "what was committed first");
    assert_eq!(simulation.read_all(1), values);
}

#[test]
fn a_late_end_is_refused_in_version_two() {
    let (mut simulation, client) = late_end(V2);
    assert_eq!(simulation.ledger.outcomes, []);
    assert!(simulation.read_all(1).is_empty());
    simulation.put(client, 0);
    simulation.commit_txn(client);
    assert_eq!((simulation.read_all(0).len(), simulation.read_all(1).len()), (2, 1));
}

/// A record is sent, given up, and arrives when its transaction has been aborted and the next one has begun.
fn late_record(version: TransactionVersion, verifies: bool) -> (Simulation, usize) {
    let mut simulation = calm(version);
    simulation.verifies = verifies;
    let client = simulation.initialized(true);
    simulation.open(client, 1);
    if version < V2 {
        simulation.ask(client, Request::Add(0));
        simulation.settled();
    }
    let late = simulation.put_late(client, 0);
    simulation.clients[client].requests.clear();
    simulation.end(client, false, true);
    simulation.settled();
    // Not every client begins with a new epoch then.
    simulation.begin(client);
    simulation.deliver_one(late);
    simulation.settled();
    (simulation, client)
}

#[test]
fn a_late_record_opens_a_transaction_that_nobody_ends_where_nothing_is_verified() {
    let (mut simulation, _) = late_record(V1, false);
    let open = |simulation: &Simulation| simulation.partitions[0].log.open_transactions().count();
    assert_eq!(open(&simulation), 1, "it hangs");
    simulation.pass(3_600_000);
    simulation.settled();
    assert_eq!(open(&simulation), 1, "and its coordinator does not know of it");
    let stable = simulation.partitions[0].log.last_stable_offset();
    assert_eq!(stable, simulation.partitions[0].log.log_end_offset() - 1);
    // Until an administrator ends it, in the name of nobody.
    let producer = simulation.partitions[0].log.open_transactions().next().expect("it is open");
    simulation.abort_by_hand(0, producer);
    simulation.settled();
    assert_eq!(open(&simulation), 0);
    let log = &simulation.partitions[0].log;
    assert_eq!(log.last_stable_offset(), log.log_end_offset());
    assert!(simulation.read_all(0).is_empty());
}

#[test]
fn a_late_record_is_refused_where_it_is_verified() {
    for version in [V1, V2] {
        let (simulation, _) = late_record(version, true);
        assert_eq!(simulation.partitions[0].log.open_transactions().count(), 0, "{version:?}");
    }
}

#[test]
fn a_late_add_and_a_late_record_are_not_of_the_next_transaction_in_version_two() {
    // The partition is added by the record itself; in the next transaction it is of an epoch that is over.
    let (mut simulation, client) = late_record(V2, true);
    simulation.put(client, 1);
    simulation.commit_txn(client);
    assert!(simulation.read_all(0).is_empty());
    assert_eq!(simulation.read_all(1).len(), 1);
}

#[test]
fn a_late_record_is_of_the_next_transaction_before_version_two_if_that_has_its_partition() {
    // The epoch is the same and the partition added again, so that nothing tells the record from one of the next transaction:
    // why clients take a new epoch when they have given something up.
    let (mut simulation, client) = late_record(V1, true);
    simulation.ask(client, Request::Add(0));
    simulation.settled();
    let sequence = Written::Batch { sequence: 0, value: simulation.ledger.last_value() };
    let producer = simulation.producer_of(client);
    let from = super::network::Asker { client, request: 0 };
    let late = Write { from, id: 0, partition: 0, producer, is_v2: false, what: sequence };
    simulation.deliver_one(Message::Write(late));
    simulation.settled();
    simulation.ledger.is_tolerant = true;
    simulation.commit_txn(client);
    assert_eq!(simulation.read_all(0).len(), 1, "what its client had aborted is committed");
}

/// Offsets are committed twice, and once arrive when the next transaction is open.
fn late_offsets(version: TransactionVersion) -> Simulation {
    let mut simulation = calm(version);
    let client = simulation.initialized(true);
    simulation.begin(client);
    if version < V2 {
        simulation.ask(client, Request::Add(GROUPS));
        simulation.settled();
    }
    let late = simulation.put_late(client, GROUPS);
    simulation.deliver_one(late.clone());
    simulation.settled();
    simulation.commit_txn(client);
    simulation.open(client, GROUPS);
    simulation.deliver_one(late);
    simulation.settled();
    simulation.commit_txn(client);
    simulation
}

#[test]
fn late_offsets_go_back_before_version_two() {
    let mut simulation = late_offsets(V1);
    assert_eq!(simulation.committed_offset(0, true), Some(0), "those of the first transaction");
    let mut simulation = late_offsets(V2);
    assert_eq!(simulation.committed_offset(0, true), Some(1), "those of the second one");
}

#[test]
fn a_late_marker_ends_the_next_transaction_before_version_two() {
    for version in [V1, V2] {
        let mut simulation = calm(version);
        let client = simulation.initialized(true);
        simulation.open(client, 0);
        simulation.end(client, true, true);
        let mut late = None;
        while late.is_none() {
            simulation.deliver();
            late =
                simulation.messages.iter().find(|it| matches!(it, Message::Marker { .. })).cloned();
        }
        simulation.settled();
        simulation.open(client, 0);
        simulation.ledger.is_tolerant = true;
        simulation.deliver_one(late.expect("it was sent"));
        simulation.settled();
        // The record of the second transaction is read, or not, though that is not decided.
        let read = simulation.read_all(0).len();
        assert_eq!(read, if version < V2 { 2 } else { 1 }, "{version:?}");
    }
}

/// Between two transactions of a client the cluster goes on to version 2, while markers of the first are on their way.
fn upgraded(keeps_epoch: bool) -> Simulation {
    let mut simulation = calm(V1);
    simulation.keeps_epoch = keeps_epoch;
    let client = simulation.initialized(true);
    simulation.open(client, 0);
    simulation.end(client, true, true);
    // Its client hears that it is committed before any marker is written.
    let mut markers = Vec::new();
    while simulation.clients[client].phase != Phase::Idle {
        simulation.deliver();
        let is_marker = |it: &mut Message| matches!(it, Message::Marker { .. });
        markers.extend(simulation.messages.extract_if(.., is_marker));
    }
    simulation.version = V2;
    simulation.config.version = V2;
    simulation.configure(0);
    simulation.begin(client);
    if !keeps_epoch {
        assert_eq!(simulation.clients[client].phase, Phase::New, "it wants the next epoch first");
        simulation.act(client);
        // Which it gets when its last transaction is complete.
        simulation.messages.append(&mut markers);
        while simulation.clients[client].phase != Phase::Idle {
            simulation.settled();
            simulation.time_out(client);
        }
        simulation.begin(client);
    }
    simulation.ledger.is_tolerant = true;
    simulation.write_to(client, 0);
    simulation.settled();
    simulation.messages.append(&mut markers);
    simulation.settled();
    simulation
}

#[test]
fn who_goes_on_to_version_two_in_the_same_epoch_writes_into_the_transaction_before() {
    assert_eq!(upgraded(true).read_all(0).len(), 2, "what is not decided is read");
    assert_eq!(upgraded(false).read_all(0).len(), 1);
}

#[test]
fn a_fenced_producer_of_version_two_is_not_told_that_an_older_client_has_ended_its_transaction() {
    let mut simulation = calm(V2);
    let fenced = simulation.initialized(true);
    simulation.begin(fenced);
    let late = simulation.put_late(fenced, 0);
    let older = simulation.initialized(false);
    simulation.open(older, 0);
    simulation.commit_txn(older);
    simulation.deliver_one(late);
    simulation.settled();
    simulation.clients[fenced].requests.clear();
    // By Kafka's rules it would hear that it has committed, and that it is who has fenced it.
    simulation.end(fenced, true, true);
    simulation.settled();
    assert_eq!(simulation.clients[fenced].phase, Phase::Dead);
    simulation.open(older, 1);
    simulation.commit_txn(older);
    simulation.check_end();
}

#[test]
fn an_answer_to_an_older_client_does_not_open_a_transaction_behind_its_end() {
    let mut simulation = calm(V2);
    let modern = simulation.initialized(true);
    simulation.begin(modern);
    // The leader asks about a producer that has an epoch for each transaction, and hears nothing.
    let write = simulation.put_late(modern, 0);
    simulation.deliver_one(write);
    let is_question = |it: &mut Message| matches!(it, Message::Question { .. });
    simulation.messages.retain_mut(|it| !is_question(it));
    let older = simulation.initialized(false);
    simulation.begin(older);
    simulation.ask(older, Request::Add(0));
    simulation.settled();
    let write = simulation.put_late(older, 0);
    simulation.deliver_one(write);
    let question = simulation.messages.pop().expect("the leader asks");
    simulation.deliver_one(question);
    let verdict = simulation.messages.pop().expect("it is answered");
    // Its producer gives up and aborts before the answer is there.
    simulation.clients[older].requests.clear();
    simulation.end(older, false, true);
    simulation.settled();
    simulation.deliver_one(verdict);
    simulation.settled();
    simulation.check_end();
}

#[test]
fn a_marker_of_a_coordinator_that_was_replaced_is_refused() {
    let mut simulation = calm(V2);
    let client = simulation.initialized(true);
    simulation.open(client, 0);
    simulation.put(client, 1);
    simulation.end(client, true, true);
    let is_marker = |it: &mut Message| matches!(it, Message::Marker { .. });
    let mut late = Vec::new();
    while late.is_empty() {
        simulation.deliver();
        late.extend(simulation.messages.extract_if(.., is_marker));
    }
    simulation.fail_over(0);
    simulation.load(0);
    simulation.settled();
    let before = simulation.partitions[0].log.log_end_offset();
    simulation.messages.append(&mut late);
    simulation.settled();
    assert_eq!(simulation.partitions[0].log.log_end_offset(), before);
    simulation.check_end();
}

#[test]
fn requests_are_those_of_the_clients_version() {
    // What the scenarios rest on: which versions protect themselves by an epoch of their own.
    for (version, is_v2) in [(V1, false), (V2, true)] {
        let mut simulation = calm(version);
        let client = simulation.initialized(true);
        simulation.open(client, 0);
        simulation.end(client, true, true);
        let Some(Message::Coordinate { request: TransactionRequest::End(end), .. }) =
            simulation.messages.first()
        else {
            panic!("{:?}", simulation.messages)
        };
        assert_eq!(end.client_version.bumps_epochs(), is_v2);
        let before = simulation.producer_of(client);
        simulation.settled();
        assert_eq!(simulation.producer_of(client) != before, is_v2);
    }
}
