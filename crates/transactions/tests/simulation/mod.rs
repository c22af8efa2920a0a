//! Transactions as a whole: clients, coordinators of transactions that move between brokers, partitions and a group whose
//! leaders change, and a network that loses, delays, repeats and reorders. [`TransactionShard`] and `GroupShard` are the
//! broker's, driven as it drives them; what partitions know of their producers is the log's ([`MemoryLog`]).
//! Replication is a model: what is committed stays, of the rest an election takes some.
//!
//! What must hold (`checks.rs`). A transaction is committed because its client asked for that, in all of its partitions and
//! with its offsets, or not at all. What is not committed is never read by who reads committed transactions, what is
//! committed is read once and in order. A client that is told of a commit is told the truth, whatever fails later. The last
//! stable offset does not go back while a leader leads. No transaction is open in a partition that its coordinator does
//! not know there. A producer is one incarnation's, and writes nothing behind a newer one. When all works again, every
//! transaction is decided and every marker written, and whoever begins anew with an id can commit.
//!
//! `scenarios.rs` has what goes wrong without the rules of KIP-890, event by event.
//!
//! [`TransactionShard`]: thalweg_transactions::TransactionShard
//! [`MemoryLog`]: thalweg_log::testing::MemoryLog

mod checks;
mod client;
mod coordinator;
mod network;
mod partition;
mod scenarios;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_coordinator::{CoordinatorRecord as _, KeyValue, Now};
use thalweg_random::Random;
use thalweg_random::seeds::{family, figures};
use thalweg_transactions::{
    InitProducerId, Partitions, ProducerIds, Transaction, TransactionConfig, TransactionRecord,
    TransactionRequest, TransactionState, TransactionVersion,
};
use thalweg_wire::ErrorCode;

use checks::Ledger;
use client::{Client, Phase};
use coordinator::TransactionLog;
use network::Message;
use partition::Partition;

/// The topic that is written to, the group whose offsets are committed, and the topic that these are of.
const TOPIC: &str = "t";
const OFFSETS: &str = "__consumer_offsets";
const GROUP: &str = "g";
const INPUT: &str = "in";

const STEPS: usize = 500;
/// Steps of a thousand from this one on are faults.
const FAULTS: usize = 840;
/// Rounds within which everything has to come to rest when it works again.
const HEALED_ROUNDS: usize = 200;

/// The names of a partition's number, the last one of which is the group's.
fn named(partition: usize) -> (&'static str, i32) {
    match partition {
        GROUPS => (OFFSETS, 0),
        of_topic => (TOPIC, of_topic as i32),
    }
}

fn numbered(topic: &str, index: i32) -> usize {
    if topic == OFFSETS { GROUPS } else { index as usize }
}

/// The number of the groups' partition; those before it are the topic's.
const GROUPS: usize = 2;

fn id_name(id: usize) -> String {
    format!("x{id}")
}

fn id_number(name: &str) -> usize {
    name[1..].parse().expect("an id of a simulation")
}

/// Gives out one producer id after the other, but for a while none.
#[derive(Default)]
struct Counter {
    next: AtomicU64,
    fails: AtomicU64,
}

impl ProducerIds for Counter {
    fn next(&self) -> Result<i64, ErrorCode> {
        if self.fails.load(Ordering::Relaxed) > 0 {
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        Ok(self.next.fetch_add(1, Ordering::Relaxed) as i64)
    }
}

/// What a life is like.
#[derive(Clone, Copy, Debug)]
struct Knobs {
    ids: usize,
    /// How many of a hundred faults happen.
    faults: usize,
    /// The partitions of the coordinators' topic.
    logs: usize,
    /// In how many cases of a hundred a log does not write or commit at once, or refuses.
    log_lags: usize,
    log_fails: usize,
    /// How many clients of a hundred speak transactions of version 2.
    modern: usize,
    version: TransactionVersion,
    /// The cluster goes on to the newest version.
    upgrades: bool,
    /// Ids begin with few epochs left.
    ends_epochs: bool,
    wait_ms: u64,
    id_expiration_ms: i64,
}

/// What was done, in all lives of a process.
#[derive(Default)]
struct Counts {
    steps: u64,
    lost: u64,
    delayed: u64,
    duplicated: u64,
    coordinator_moves: u64,
    leader_changes: u64,
    crashes: u64,
    clock_jumps: u64,
    fences: u64,
    upgrades: u64,
}

struct Simulation {
    random: Random,
    knobs: Knobs,
    config: TransactionConfig,
    version: TransactionVersion,
    ids: Arc<Counter>,
    ms: u64,
    /// How far the wall's clock is ahead, and was at most.
    wall_ms: i64,
    wall_ms_max: i64,
    logs: Vec<TransactionLog>,
    partitions: Vec<Partition>,
    clients: Vec<Client>,
    messages: Vec<Message>,
    /// Messages that take long.
    slow: Vec<Message>,
    ledger: Ledger,
    counts: Counts,
    /// Markers that a coordinator's process has heard of, by process, decision and partition.
    marked: BTreeSet<(u64, u64, usize)>,
    /// Counts coordinators' processes.
    serial: u64,
    /// Leaders ask before they take the first batch of a transaction (`transaction.partition.verification.enable`).
    verifies: bool,
    /// Nothing keeps what has no epoch of its own for each transaction from coming late.
    lets_late_through: bool,
    /// Clients go on to transactions of version 2 in the epoch that they have.
    keeps_epoch: bool,
    is_healed: bool,
    /// No transaction is begun any more.
    is_quiet: bool,
    /// What happened, if somebody wants to know.
    history: Option<Vec<String>>,
}

impl Simulation {
    fn new(random: Random, knobs: Knobs) -> Simulation {
        let config = TransactionConfig {
            version: knobs.version,
            wait_ms: knobs.wait_ms,
            id_expiration_ms: knobs.id_expiration_ms,
            ..TransactionConfig::default()
        };
        let mut simulation = Simulation {
            random,
            knobs,
            config,
            version: knobs.version,
            ids: Arc::new(Counter { next: AtomicU64::new(1_000), ..Counter::default() }),
            ms: 1_000_000,
            wall_ms: 0,
            wall_ms_max: 0,
            logs: Vec::new(),
            partitions: Vec::new(),
            clients: Vec::new(),
            messages: Vec::new(),
            slow: Vec::new(),
            ledger: Ledger::default(),
            counts: Counts::default(),
            marked: BTreeSet::new(),
            serial: 0,
            verifies: true,
            lets_late_through: false,
            keeps_epoch: false,
            is_healed: false,
            is_quiet: false,
            history: None,
        };
        for p in 0..=GROUPS {
            simulation.partitions.push(Partition::new(p == GROUPS));
        }
        simulation.take_over(GROUPS);
        for log in 0..knobs.logs {
            let ids = (log..knobs.ids).step_by(knobs.logs);
            let records = ids.filter_map(|id| simulation.first_record(id)).collect();
            simulation.add_transaction_log(records);
        }
        for id in 0..knobs.ids {
            simulation.spawn(id);
        }
        simulation
    }

    /// What is known of an id that has been used for long.
    fn first_record(&mut self, id: usize) -> Option<KeyValue> {
        if !self.knobs.ends_epochs {
            return None;
        }
        let transaction = Transaction {
            producer_id: 10 + id as i64,
            previous_producer_id: 10 + id as i64,
            next_producer_id: -1,
            producer_epoch: i16::MAX - 1 - self.random.below(6) as i16,
            last_producer_epoch: -1,
            timeout_ms: 60_000,
            state: TransactionState::Empty,
            partitions: Partitions::default(),
            start_ms: -1,
            last_update_ms: self.now().wall_ms,
            client_version: TransactionVersion::V0,
        };
        let (transactional_id, version) = (id_name(id), self.version);
        let record = TransactionRecord { transactional_id, value: Some(transaction), version };
        Some(record.encode().expect("it can be written"))
    }

    fn now(&self) -> Now {
        Now { wall_ms: self.ms as i64 + self.wall_ms, monotonic_ms: self.ms }
    }

    fn note(&mut self, what: impl FnOnce(&Simulation) -> String) {
        if self.history.is_some() {
            let line = what(self);
            self.history.get_or_insert_default().push(line);
        }
    }

    /// Another incarnation of an id begins.
    fn spawn(&mut self, id: usize) -> usize {
        let is_modern = self.random.chance(self.knobs.modern);
        self.add_client(id, is_modern)
    }

    fn step(&mut self) {
        self.counts.steps += 1;
        let what = match self.random.below(1_000) {
            fault @ FAULTS.. if !self.random.chance(self.knobs.faults) => fault % FAULTS,
            what => what,
        };
        match what {
            0..420 => self.deliver(),
            420..620 => self.with_client(Simulation::act),
            620..670 => self.with_client(Simulation::time_out),
            670..720 => {
                let p = self.random.below(self.partitions.len());
                self.replicate(p);
            }
            720..770 => {
                let at = self.random.below(self.logs.len());
                self.load(at);
                self.pump(at);
            }
            770..800 => {
                let at = self.random.below(self.logs.len());
                self.send_markers_again(at);
            }
            800..FAULTS => {
                let ms = *self.random.pick(&[1, 20, 100, 1_000, 10_000]);
                self.pass(ms);
            }
            FAULTS..895 => self.disturb(),
            895..910 => self.bring_back(),
            910..922 => {
                let at = self.random.below(self.logs.len());
                self.fail_over(at);
            }
            922..926 => {
                let at = self.random.below(self.logs.len());
                self.elect_again(at);
            }
            926..934 => {
                let at = self.random.below(self.logs.len());
                self.end_zombie(at);
            }
            934..948 => {
                let p = self.random.below(self.partitions.len());
                self.change_leader(p);
            }
            948..954 => {
                let p = self.random.below(self.partitions.len());
                self.give_up_question(p);
            }
            954..962 => {
                self.counts.crashes += 1;
                self.with_client(Simulation::crash);
            }
            962..976 => self.begin_again(),
            976..982 => self.fence(),
            982..986 => {
                self.counts.clock_jumps += 1;
                let jump = *self.random.pick(&[-3_600_000, -5_000, 5_000, 3_600_000]);
                self.wall_ms += jump;
                self.wall_ms_max = self.wall_ms_max.max(self.wall_ms);
            }
            986..989 => {
                let fails = u64::from(self.random.chance(50));
                self.ids.fails.store(fails, Ordering::Relaxed);
            }
            989..994 => {
                let id = self.random.below(self.knobs.ids);
                let is_stable = self.random.chance(50);
                self.check_offset(id, is_stable);
            }
            994..998 if self.knobs.upgrades => self.upgrade(),
            _ => {}
        }
        self.check();
    }

    fn with_client(&mut self, act: impl FnOnce(&mut Simulation, usize)) {
        let living = self.living();
        if !living.is_empty() {
            let client = *self.random.pick(&living);
            act(self, client);
        }
    }

    /// Time passes.
    fn pass(&mut self, ms: u64) {
        self.ms += ms;
        self.advance_coordinators();
        self.advance_groups();
    }

    /// An id gets another incarnation, perhaps beside one that lives on.
    fn begin_again(&mut self) {
        let id = self.random.below(self.knobs.ids);
        let living = self.living();
        if living.iter().filter(|client| self.clients[**client].id == id).count() < 2 {
            self.spawn(id);
        }
    }

    /// An administrator fences the producers of an id.
    fn fence(&mut self) {
        self.counts.fences += 1;
        let id = self.random.below(self.knobs.ids);
        let request = TransactionRequest::Init(InitProducerId {
            transactional_id: id_name(id),
            timeout_ms: 60_000,
            enable_2pc: false,
            keep_prepared: false,
            expected: None,
        });
        self.send(Message::Coordinate { from: None, id, is_v2: false, request });
    }

    /// The cluster's version is raised; coordinators hear of it one by one.
    fn upgrade(&mut self) {
        if self.version < TransactionVersion::V2 {
            self.counts.upgrades += 1;
            let next = match self.random.chance(50) {
                true => TransactionVersion::V2,
                false => TransactionVersion::V1.max(self.version),
            };
            self.version = next;
            self.config.version = next;
        }
        let at = self.random.below(self.logs.len());
        self.configure(at);
    }

    /// Everything works from here on, and no transaction is begun any more; some clients are gone, the others end what they
    /// have begun.
    fn heal(&mut self) {
        self.is_healed = true;
        self.is_quiet = true;
        self.ids.fails.store(0, Ordering::Relaxed);
        for client in self.living() {
            if self.random.chance(40) {
                self.crash(client);
            }
        }
        // Nothing that was begun before a jump back has its time later.
        self.wall_ms = self.wall_ms_max;
        let mut slow = std::mem::take(&mut self.slow);
        self.messages.append(&mut slow);
        for at in 0..self.logs.len() {
            self.load(at);
            self.end_zombie(at);
            self.configure(at);
        }
    }

    /// Lets everything come to rest.
    fn settle(&mut self) {
        for round in 0..HEALED_ROUNDS {
            while !self.messages.is_empty() {
                self.deliver();
                self.check();
            }
            for p in 0..self.partitions.len() {
                self.replicate(p);
                self.give_up_question(p);
            }
            for at in 0..self.logs.len() {
                self.pump(at);
                self.send_markers_again(at);
            }
            for client in self.living() {
                self.act(client);
                self.time_out(client);
            }
            if self.is_settled() {
                self.check();
                return;
            }
            // Who lives has the time to end what it has begun.
            self.pass(if round < HEALED_ROUNDS / 4 { 500 } else { 5_000 });
        }
        let phases: Vec<Phase> = self.clients.iter().map(|client| client.phase).collect();
        panic!(
            "it has not come to rest: {phases:?}, {}, decisions written: {}, partitions idle: {:?}",
            self.ledger.unsettled(),
            self.are_coordinators_idle(),
            self.partitions.iter().map(Partition::is_idle).collect::<Vec<_>>()
        );
    }

    fn is_settled(&mut self) -> bool {
        let is_at_rest = |client: &Client| matches!(client.phase, Phase::Dead | Phase::Idle);
        self.messages.is_empty()
            && self.ledger.unsettled().is_empty()
            && self.clients.iter().all(is_at_rest)
            && self.are_coordinators_idle()
            && self.partitions.iter().all(Partition::is_idle)
    }

    /// Whoever begins with an id now can commit.
    fn begin_anew(&mut self) {
        // What waits for its turn at a coordinator would fence who comes now.
        for _ in 0..10 {
            self.pass(2 * self.knobs.wait_ms);
        }
        self.settle();
        self.is_quiet = false;
        let before = self.ledger.committed;
        for client in self.living() {
            self.crash(client);
        }
        for id in 0..self.knobs.ids {
            let client = self.spawn(id);
            self.act(client);
            self.settle_messages(client, Phase::Idle);
            self.begin(client);
            for p in [0, GROUPS, 0, GROUPS] {
                self.write_to(client, p);
                self.settle_messages(client, Phase::Open);
            }
            self.end(client, true, true);
            self.settle_messages(client, Phase::Idle);
        }
        self.is_quiet = true;
        self.settle();
        let committed = self.ledger.committed - before;
        assert_eq!(committed, self.knobs.ids as u64, "who begins anew commits");
    }

    /// Delivers everything; a client is at this then.
    fn settle_messages(&mut self, client: usize, phase: Phase) {
        for _ in 0..HEALED_ROUNDS {
            while !self.messages.is_empty() {
                self.deliver();
            }
            let of = &self.clients[client];
            if of.requests.is_empty() {
                break;
            }
            // Whoever asks for an epoch twice fences itself.
            self.pass(2 * self.knobs.wait_ms + 20);
            self.time_out(client);
        }
        assert_eq!(self.clients[client].phase, phase, "a client that nothing disturbs");
    }
}

fn live(seed: u64, knobs: fn(&mut Random) -> Knobs, history: Option<Vec<String>>) -> Simulation {
    let mut random = Random::new(seed);
    let knobs = knobs(&mut random);
    let mut simulation = Simulation::new(random, knobs);
    simulation.history = history;
    let lived = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..STEPS {
            simulation.step();
        }
        simulation.heal();
        simulation.settle();
        simulation.check_end();
        if simulation.random.chance(25) {
            simulation.begin_anew();
            simulation.check_end();
        }
    }));
    match lived {
        Ok(()) => simulation,
        Err(panic) => {
            let history = simulation.history.take().unwrap_or_default();
            history.iter().for_each(|line| eprintln!("> {line}"));
            eprintln!("{:?}", simulation.knobs);
            resume_unwind(panic);
        }
    }
}

/// Lives of one kind; one that fails is lived once more, and tells what happens.
fn lives(name: &str, usual: u64, share: u64, knobs: fn(&mut Random) -> Knobs) {
    let mut total = Counts::default();
    let (mut committed, mut aborted) = (0, 0);
    let all = std::cell::RefCell::new((&mut total, &mut committed, &mut aborted));
    family(name, usual, share, |seed, history| {
        let lived = catch_unwind(AssertUnwindSafe(|| live(seed, knobs, None)));
        let Ok(simulation) = lived else {
            history.push("again, with all that happens:".into());
            live(seed, knobs, Some(Vec::new()));
            panic!("seed {seed} has failed once, and not the second time");
        };
        let mut all = all.borrow_mut();
        all.0.add(&simulation.counts);
        *all.1 += simulation.ledger.committed;
        *all.2 += simulation.ledger.aborted;
    });
    // A life in which nothing happens shows nothing.
    assert!(committed > 0 && aborted > 0, "{committed} transactions committed, {aborted} aborted");
    figures(&total.named(committed, aborted));
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.steps += other.steps;
        self.lost += other.lost;
        self.delayed += other.delayed;
        self.duplicated += other.duplicated;
        self.coordinator_moves += other.coordinator_moves;
        self.leader_changes += other.leader_changes;
        self.crashes += other.crashes;
        self.clock_jumps += other.clock_jumps;
        self.fences += other.fences;
        self.upgrades += other.upgrades;
    }

    fn named(&self, committed: u64, aborted: u64) -> [(&'static str, u64); 12] {
        [
            ("steps", self.steps),
            ("transactions committed", committed),
            ("transactions aborted", aborted),
            ("messages lost", self.lost),
            ("messages delayed", self.delayed),
            ("messages duplicated", self.duplicated),
            ("coordinators moved", self.coordinator_moves),
            ("leaders changed", self.leader_changes),
            ("clients crashed", self.crashes),
            ("clock jumps", self.clock_jumps),
            ("producers fenced", self.fences),
            ("versions raised", self.upgrades),
        ]
    }
}

fn any(random: &mut Random) -> Knobs {
    Knobs {
        ids: random.between(1, 3),
        faults: *random.pick(&[10, 30, 60, 100]),
        logs: random.between(1, 2),
        log_lags: *random.pick(&[0, 10, 30]),
        log_fails: *random.pick(&[0, 2, 8]),
        modern: 100,
        version: TransactionVersion::V2,
        upgrades: false,
        ends_epochs: false,
        wait_ms: *random.pick(&[0, 1_000]),
        id_expiration_ms: *random.pick(&[604_800_000, 604_800_000, 1_800_000]),
    }
}

/// Clients that have an epoch of its own for each transaction.
fn of_v2(random: &mut Random) -> Knobs {
    any(random)
}

/// Clients as they were before.
fn of_v1(random: &mut Random) -> Knobs {
    let version = *random.pick(&[TransactionVersion::V0, TransactionVersion::V1]);
    Knobs { version, modern: 0, ..any(random) }
}

/// Clients of both kinds, in a cluster that is upgraded.
fn of_both(random: &mut Random) -> Knobs {
    use TransactionVersion::{V0, V1, V2};
    let version = *random.pick(&[V0, V1, V1, V2]);
    Knobs { version, modern: 60, upgrades: true, ..any(random) }
}

/// Producers whose epochs are used up.
fn of_last_epochs(random: &mut Random) -> Knobs {
    Knobs { ends_epochs: true, ..if random.chance(60) { of_v2(random) } else { of_both(random) } }
}

#[test]
fn transactions_of_version_two_are_all_or_nothing() {
    lives("version two", 2_000, 35, of_v2);
}

#[test]
fn transactions_of_older_versions_are_all_or_nothing() {
    lives("older versions", 1_000, 15, of_v1);
}

#[test]
fn transactions_are_all_or_nothing_while_a_cluster_is_upgraded() {
    lives("upgrades", 1_500, 25, of_both);
}

#[test]
fn transactions_are_all_or_nothing_where_epochs_end() {
    lives("last epochs", 1_500, 25, of_last_epochs);
}
