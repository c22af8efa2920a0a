//! What must hold, and the book by which it is known: every transaction that a client has begun, and what the coordinators'
//! logs say of them, record by record as they are committed.

use std::collections::BTreeMap;

use thalweg_coordinator::{CoordinatorRecord as _, KeyValue};
use thalweg_transactions::{Producer, Transaction, TransactionRecord, TransactionState};

use super::partition::{Content, Entry};
use super::{Simulation, id_name, id_number, named};

/// A transaction of a client.
pub struct Txn {
    pub client: usize,
    pub id: usize,
    pub producer: Producer,
    /// Its records, in order, each with its partition.
    pub values: Vec<(usize, u64)>,
    /// The last offset that it commits.
    pub offset: Option<i64>,
    /// Something of it was sent.
    pub is_started: bool,
    /// Its coordinator has heard of it, as its client knows.
    pub is_known: bool,
    pub wants_commit: bool,
    /// Whether it was committed, when that itself was committed.
    pub decided: Option<bool>,
    acknowledged: Option<bool>,
}

/// What is not as it should be, where a scenario shows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A transaction is committed that nobody asked for.
    Unwanted(usize),
}

/// The book.
#[derive(Default)]
pub struct Ledger {
    /// A scenario shows what is not as it should be.
    pub is_tolerant: bool,
    pub outcomes: Vec<Outcome>,
    pub txns: Vec<Txn>,
    /// Whose each value and each offset is.
    values: Vec<usize>,
    offsets: Vec<usize>,
    /// What is committed of each id.
    states: BTreeMap<usize, Transaction>,
    /// Which incarnation was given a producer.
    owners: BTreeMap<(i64, i16), usize>,
    /// The transactions of a producer.
    by_producer: BTreeMap<(i64, i16), Vec<usize>>,
    /// The last offset of an id that counts.
    pub offset_of: BTreeMap<usize, i64>,
    pub committed: u64,
    pub aborted: u64,
}

fn key(producer: Producer) -> (i64, i16) {
    (producer.id, producer.epoch)
}

/// Whether an id may go from one state to another.
fn may_follow(from: TransactionState, to: TransactionState) -> bool {
    use TransactionState::{
        CompleteAbort, CompleteCommit, Empty, Ongoing, PrepareAbort, PrepareCommit,
    };
    match to {
        Empty => matches!(from, Empty | CompleteCommit | CompleteAbort),
        Ongoing => matches!(from, Empty | Ongoing | CompleteCommit | CompleteAbort),
        PrepareCommit => from == Ongoing,
        PrepareAbort => matches!(from, Ongoing | Empty | CompleteCommit | CompleteAbort),
        CompleteCommit => from == PrepareCommit,
        CompleteAbort => from == PrepareAbort,
        _ => false,
    }
}

impl Ledger {
    pub fn begin(&mut self, client: usize, id: usize, producer: Producer) -> usize {
        self.txns.push(Txn {
            client,
            id,
            producer,
            values: Vec::new(),
            offset: None,
            is_started: false,
            is_known: false,
            wants_commit: false,
            decided: None,
            acknowledged: None,
        });
        let number = self.txns.len() - 1;
        self.by_producer.entry(key(producer)).or_default().push(number);
        number
    }

    pub fn value(&mut self, txn: usize, partition: usize) -> u64 {
        let value = self.values.len() as u64;
        self.values.push(txn);
        self.txns[txn].values.push((partition, value));
        value
    }

    pub fn offset(&mut self, txn: usize) -> i64 {
        let offset = self.offsets.len() as i64;
        self.offsets.push(txn);
        self.txns[txn].offset = Some(offset);
        offset
    }

    pub fn values_of(&self, txn: usize) -> Vec<u64> {
        self.txns[txn].values.iter().map(|(_, value)| *value).collect()
    }

    pub fn last_value(&self) -> u64 {
        self.values.len() as u64 - 1
    }

    pub fn txn_of(&self, value: u64) -> &Txn {
        &self.txns[self.values[value as usize]]
    }

    /// A producer is given to one incarnation only.
    pub fn owns(&mut self, client: usize, producer: Producer) {
        let owner = *self.owners.entry(key(producer)).or_insert(client);
        assert_eq!(owner, client, "two incarnations are {producer:?}");
    }

    /// What a client is told of the end of its transaction is so.
    pub fn acknowledged(&mut self, txn: usize, commit: bool) {
        let txn = &mut self.txns[txn];
        txn.acknowledged = Some(commit);
        assert!(
            txn.decided == Some(commit) || !commit && txn.decided.is_none() || self.is_tolerant,
            "{:?} of incarnation {} is told that it has ended, commit: {commit}; it is decided: {:?}",
            txn.producer,
            txn.client,
            txn.decided
        );
    }

    /// A record of the coordinators' topic is committed.
    pub fn record(&mut self, record: &KeyValue) {
        let record = TransactionRecord::decode(&record.key, record.value.as_deref());
        let record = record.expect("it can be read").expect("it is known");
        let id = id_number(&record.transactional_id);
        let before = self.states.remove(&id);
        let Some(next) = record.value else { return };
        if let Some(before) = &before {
            assert!(may_follow(before.state, next.state), "{before:?} became {next:?}");
            let is_newer = (next.producer_id, next.producer_epoch)
                >= (before.producer_id, before.producer_epoch);
            assert!(is_newer, "{before:?} became {next:?}");
            match next.state {
                TransactionState::PrepareCommit => self.decide(id, before, true),
                TransactionState::PrepareAbort => self.decide(id, before, false),
                _ => {}
            }
        }
        self.states.insert(id, next);
    }

    fn decide(&mut self, id: usize, before: &Transaction, commit: bool) {
        let mut of = self.by_producer.get(&key(before.producer())).into_iter().flatten().copied();
        let Some(number) = of.rfind(|txn| self.txns[*txn].is_started) else {
            assert!(!commit, "{:?} of {} has begun nothing", before.producer(), id_name(id));
            return;
        };
        let txn = &mut self.txns[number];
        if txn.decided.is_some() {
            // An AddPartitionsToTxn that came late has begun a transaction, in which nothing is. It may be ended by an EndTxn
            // that was sent twice.
            let is_again = txn.decided == Some(true);
            assert!(!commit || is_again, "{:?} of {} was over", before.producer(), id_name(id));
            return;
        }
        // What such a transaction comes to is nothing to the next one, of which no record can be there yet.
        let is_wanted = commit && txn.wants_commit;
        if !txn.is_known && !is_wanted {
            return;
        }
        txn.decided = Some(commit);
        if !commit {
            self.aborted += 1;
            return;
        }
        self.committed += 1;
        if !txn.wants_commit && self.is_tolerant {
            self.outcomes.push(Outcome::Unwanted(number));
            return;
        }
        assert!(
            txn.wants_commit,
            "a transaction of {:?} is committed, which nobody asked for",
            before.producer()
        );
        if let Some(offset) = txn.offset {
            self.offset_of.insert(id, offset);
        }
        for partition in txn.partitions() {
            let (topic, index) = named(partition);
            assert!(before.partitions.contains(topic, index), "{topic}-{index} is left out");
        }
    }

    /// Whether a partition may have an open transaction of a producer.
    fn may_be_open(&self, producer: (i64, i16), partition: usize) -> bool {
        let (topic, index) = named(partition);
        self.states.values().any(|state| {
            let is_of = state.producer_id == producer.0
                && match state.state {
                    TransactionState::Ongoing => state.producer_epoch == producer.1,
                    // Its marker may have the next epoch, and be about to come.
                    TransactionState::PrepareCommit | TransactionState::PrepareAbort => {
                        state.producer_epoch.checked_sub(1) == Some(producer.1)
                            || state.producer_epoch == producer.1
                    }
                    _ => false,
                };
            is_of && state.partitions.contains(topic, index)
        })
    }

    /// The transactions that are open.
    pub fn unsettled(&self) -> String {
        let open = self.states.iter().filter(|(_, state)| !state.state.may_expire());
        open.map(|(id, state)| format!("{}: {state:?}; ", id_name(*id))).collect()
    }
}

impl Txn {
    /// The partitions that it has something in, which was acknowledged if it is committed.
    fn partitions(&self) -> impl Iterator<Item = usize> {
        self.values.iter().map(|(partition, _)| *partition)
    }
}

impl Simulation {
    /// What must hold after each step.
    pub fn check(&mut self) {
        for p in 0..self.partitions.len() {
            let partition = &mut self.partitions[p];
            let stable = partition.log.last_stable_offset();
            let (epoch, before) = partition.stable;
            assert!(
                epoch != partition.leader_epoch || stable >= before,
                "the last stable offset of partition {p} went back from {before} to {stable}"
            );
            partition.stable = (partition.leader_epoch, stable);
            if !self.verifies {
                continue;
            }
            let partition = &self.partitions[p];
            for open in partition.log.open_transactions() {
                let producer = (open.producer_id, open.producer_epoch);
                assert!(
                    self.ledger.may_be_open(producer, p),
                    "partition {p} has an open transaction of {producer:?} that no coordinator will end"
                );
            }
        }
    }

    /// What a consumer of committed transactions reads is committed, and in order.
    pub fn check_reader(&mut self, p: usize) {
        let partition = &self.partitions[p];
        let (from, stable) = (partition.position, partition.log.last_stable_offset());
        if stable <= from {
            return;
        }
        let upto = partition.entries.partition_point(|entry| entry.end <= stable);
        let upto = upto.checked_sub(1).map_or(0, |last| partition.entries[last].end);
        let from_entry = partition.entries.partition_point(|entry| entry.base < from);
        let end = self.random.between(from_entry, partition.entries.len());
        let partition = &self.partitions[p];
        let upto = match end.checked_sub(1) {
            Some(last) if end > from_entry => upto.min(partition.entries[last].end),
            _ => upto,
        };
        for value in self.read_committed(p, from, upto) {
            let txn = self.ledger.txn_of(value);
            assert!(
                txn.decided == Some(true) || self.ledger.is_tolerant,
                "{value} of {:?} is read from partition {p}",
                txn.producer
            );
        }
        self.partitions[p].position = upto;
    }

    /// All that a consumer of committed transactions reads.
    pub fn read_all(&self, p: usize) -> Vec<u64> {
        self.read_committed(p, 0, self.partitions[p].log.last_stable_offset())
    }

    /// What a consumer of committed transactions makes of what it is sent: Kafka's rules (KIP-98).
    fn read_committed(&self, p: usize, from: i64, upto: i64) -> Vec<u64> {
        let partition = &self.partitions[p];
        let mut aborted = partition.log.aborted(from, upto);
        aborted.sort_by_key(|txn| std::cmp::Reverse(txn.first_offset));
        let mut skipped: Vec<i64> = Vec::new();
        let mut values = Vec::new();
        let first = partition.entries.partition_point(|entry| entry.base < from);
        for Entry { base, end, producer, content } in &partition.entries[first..] {
            if *base >= upto {
                break;
            }
            while let Some(txn) = aborted.pop_if(|txn| txn.first_offset < *end) {
                skipped.push(txn.producer_id);
            }
            let producer_id = producer.map_or(-1, |(id, _)| id);
            match content {
                Content::Marker(end) if !end.commit => skipped.retain(|id| *id != producer_id),
                Content::Value(value) if !skipped.contains(&producer_id) => values.push(*value),
                _ => {}
            }
        }
        values
    }

    /// Offsets that a consumer group is told of are committed.
    pub fn check_offset(&mut self, id: usize, is_stable: bool) {
        let Some(offset) = self.committed_offset(id, is_stable) else { return };
        if offset >= 0 {
            let txn = &self.ledger.txns[self.ledger.offsets[offset as usize]];
            assert_eq!(txn.decided, Some(true), "offset {offset} of {:?} counts", txn.producer);
            assert_eq!(txn.id, id, "offset {offset} is another id's");
        }
    }

    /// What must hold when everything has come to rest: committed transactions are there as a whole, and nothing else; a
    /// partition has each producer's records in order, and none of an older epoch behind those of a newer one.
    pub fn check_end(&mut self) {
        let mut expected = vec![Vec::new(); self.partitions.len()];
        for txn in &self.ledger.txns {
            assert!(
                txn.acknowledged != Some(true) || txn.decided == Some(true),
                "a commit is lost"
            );
            if txn.decided == Some(true) {
                txn.values.iter().for_each(|(partition, value)| expected[*partition].push(*value));
            }
        }
        for (p, mut expected) in expected.into_iter().enumerate() {
            let partition = &self.partitions[p];
            let (end, stable) =
                (partition.log.log_end_offset(), partition.log.last_stable_offset());
            assert_eq!(end, stable, "partition {p} is not stable to its end");
            assert_eq!(partition.log.open_transactions().count(), 0, "partition {p} is open");
            assert_eq!(partition.pending_offsets(), 0, "offsets are pending");
            let read = self.read_committed(p, 0, end);
            let mut last: BTreeMap<usize, u64> = BTreeMap::new();
            for value in &read {
                let client = self.ledger.txn_of(*value).client;
                let before = last.insert(client, *value);
                assert!(before < Some(*value), "{value} of partition {p} is out of order");
            }
            let mut sorted = read;
            sorted.sort_unstable();
            expected.sort_unstable();
            assert_eq!(sorted, expected, "what is committed in partition {p}");
            let mut newest: BTreeMap<usize, (i64, i16)> = BTreeMap::new();
            for entry in &self.partitions[p].entries {
                if let (Content::Value(value), Some(producer)) = (&entry.content, entry.producer) {
                    let id = self.ledger.txn_of(*value).id;
                    let before = newest.insert(id, producer).unwrap_or(producer);
                    assert!(before <= producer, "{producer:?} writes after {before:?}");
                }
            }
        }
        for id in 0..self.knobs.ids {
            let expected = self.ledger.offset_of.get(&id).copied().unwrap_or(-1);
            let offset = self.committed_offset(id, true);
            assert_eq!(offset, Some(expected), "the committed offset of {}", id_name(id));
        }
    }
}
