//! Random lives of a partition on a few brokers: [`Replica`] and [`Follower`] of each, a controller that is a
//! model of Kafka's, the image of each that the controller's records make, and a network that delays, loses and
//! reorders. In some lives records are deleted, replicas come and leave, brokers stop kindly, or an election is unclean.
//!
//! What must hold, always (`checks.rs`): an offset below a high watermark has one record, for good, whoever is asked;
//! a record that was acknowledged with acks=all is among them; whoever may be elected has all of them; nobody cuts
//! them off, or lacks what was not deleted; a high watermark does not go back in a leader's epoch; images say what
//! the controller has decided; a leader asks it for one thing at a time, for nobody that it knows to be refused, and
//! lets nobody go before the time. After an unclean election nothing is said of what was committed. And in the end,
//! when everything works again: all replicas have the same records, all of them committed, and are in sync.

mod broker;
mod checks;
mod controller;
mod log;
mod network;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use thalweg_metadata::image::MetadataImage;
use thalweg_metadata::testing::led_by_1;
use thalweg_random::Random;
use thalweg_random::seeds::family;
use thalweg_replication::{BrokerStatus, Replica, Settings};

use broker::Broker;
use checks::Followers;
use controller::{Decision, State};
use log::{Log, Record};
use network::Message;

const BACKOFF_MS: u64 = 10;
const RECORDS_MAX: usize = 3;
const STEPS: usize = 3_000;
/// Events within which a cluster in which everything works has to settle.
const HEALED_STEPS: usize = 8_000;

struct Cluster {
    random: Random,
    ms: u64,
    settings: Settings,
    brokers: Vec<Broker>,
    /// What the controller has decided, in order.
    history: Vec<Decision>,
    messages: Vec<Message>,
    /// Messages that take long.
    slow: Vec<Message>,
    /// Whether the controller keeps eligible leader replicas (KIP-966).
    has_elr: bool,
    /// Whether it elects somebody who may lack something, if there is nobody else.
    may_lose: bool,
    /// It has done so: what was committed may be gone.
    has_lost: bool,
    /// Whether replicas are added and taken away, records deleted, brokers stopped kindly.
    moves: bool,
    deletes: bool,
    stops: bool,
    /// A replica was taken away.
    has_moved: bool,
    /// What lies below a high watermark, or has, from offset 0 on.
    committed: Vec<Record>,
    /// Up to where a leader was told to delete.
    deleted: i64,
    acknowledged: usize,
    next_value: u64,
    next_broker_epoch: i64,
    /// Nothing is lost, and nobody is fenced, elected or restarted any more.
    is_healed: bool,
    /// A broker that hears of metadata late.
    late: i32,
    /// A leader that another one takes the place of for so many events; it does not hear of that.
    back: Option<(i32, usize)>,
    /// A follower that does nothing any more, though the controller hears of it.
    hangs: Option<i32>,
    /// A follower that fetches, and cannot append.
    is_full: Option<i32>,
    /// Whatever followers outside of the ISR fetch, something was appended just before.
    is_busy: bool,
    /// Nothing is produced any more.
    is_quiet: bool,
    log: Vec<String>,
}

impl Cluster {
    fn new(seed: u64) -> Cluster {
        let mut random = Random::new(seed);
        let ids: Vec<i32> = (1..=*random.pick(&[2, 3, 3, 4])).collect();
        let partition = led_by_1(0, 0, &ids, &ids);
        let brokers: Vec<Broker> = ids
            .iter()
            .map(|&id| Broker {
                id,
                log: Log::default(),
                epoch: i64::from(id),
                replica: Replica::new(id),
                follower: None,
                applied: 0,
                is_asking: false,
                process: 0,
                waiting: Vec::new(),
                led: (-1, 0),
                metadata: MetadataImage::empty(),
                asked: None,
                fenced: -1,
                followers: Followers::default(),
            })
            .collect();
        let registered = brokers.iter().map(|broker| {
            let status = BrokerStatus {
                epoch: broker.epoch,
                is_fenced: false,
                is_in_controlled_shutdown: false,
            };
            (broker.id, status)
        });
        let state = State { partition, brokers: registered.collect() };
        let settings = Settings {
            lag_time_max_ms: *random.pick(&[2, 20, 100]),
            min_insync_replicas: *random.pick(&[1, 2, 2, 3]),
        };
        let may_lose = random.chance(15);
        Cluster {
            ms: 1_000,
            settings,
            brokers,
            history: vec![Decision::first(state)],
            messages: Vec::new(),
            slow: Vec::new(),
            has_elr: random.chance(50),
            may_lose,
            has_lost: false,
            moves: random.chance(30),
            deletes: may_lose || random.chance(40),
            stops: random.chance(30),
            has_moved: false,
            committed: Vec::new(),
            deleted: 0,
            acknowledged: 0,
            next_value: 0,
            next_broker_epoch: 10,
            is_healed: false,
            late: *random.pick(&ids),
            back: None,
            hangs: None,
            is_full: None,
            is_busy: false,
            is_quiet: false,
            log: Vec::new(),
            random,
        }
    }

    fn at(&self, id: i32) -> usize {
        (id - 1) as usize
    }

    fn newest(&self) -> &State {
        &self.history.last().expect("a first decision").state
    }

    /// Whether a broker hears of metadata now.
    fn hears(&mut self, at: usize) -> bool {
        let id = self.brokers[at].id;
        let is_replaced = self.back.is_some_and(|(leader, _)| leader == id);
        self.is_healed || !is_replaced && (id != self.late || self.random.chance(8))
    }

    fn note(&mut self, what: impl FnOnce(&Cluster) -> String) {
        let line = what(self);
        self.log.push(line);
    }

    fn step(&mut self) {
        let at = self.random.below(self.brokers.len());
        if Some(self.brokers[at].id) == self.hangs {
            return;
        }
        if let Some((leader, left)) = self.back {
            self.back = left.checked_sub(1).map(|left| (leader, left));
            if left == 0 && !self.is_healed {
                self.elect(leader);
                self.late = 1 + self.random.below(self.brokers.len()) as i32;
            }
        }
        match self.random.below(1_000) {
            0..380 => self.deliver(),
            380..520 => self.send_fetch(at),
            520..680 if self.hears(at) => self.apply_next(at),
            680..800 if !self.is_quiet => self.produce(at),
            800..860 => {
                self.ms += *self.random.pick(if self.is_healed { &[1] } else { &[1, 5, 20] });
                self.with_replica(at, Replica::check_lag);
                self.advance(at);
            }
            860..870 => {
                let log = &mut self.brokers[at].log;
                log.checkpoint = log.high_watermark;
            }
            870..880 if self.deletes => self.delete(at),
            880..910 if !self.is_healed => self.unfence(at),
            910..916 if !self.is_healed => self.ms += *self.random.pick(&[BACKOFF_MS, 100]),
            920..930 if !self.is_healed && !self.messages.is_empty() => {
                let lost = self.random.below(self.messages.len());
                let lost = self.messages.swap_remove(lost);
                self.lost(&lost);
            }
            930..935 if !self.is_healed => self.fence(at),
            935..938 if self.may_lose && !self.is_healed => self.fence_complete(),
            940..946 if !self.is_healed => self.elect_any(),
            946..950 if !self.is_healed => self.elect_for_a_while(),
            950..953 if !self.is_healed => self.restart(at),
            953..957 if self.stops && !self.is_healed => self.stop(at),
            957..958 if self.moves && !self.is_healed => self.reassign(at),
            958..960 if !self.is_healed => self.delay_fetches(at as i32 + 1),
            960..965 if !self.is_healed && !self.messages.is_empty() => {
                let slow = self.random.below(self.messages.len());
                let slow = self.messages.swap_remove(slow);
                self.slow.push(slow);
            }
            965..968 if !self.slow.is_empty() => {
                let which = self.random.below(self.slow.len());
                let message = self.slow.swap_remove(which);
                self.messages.push(message);
            }
            _ => {}
        }
    }

    /// Everything works from here on.
    fn heal(&mut self) {
        self.is_healed = true;
        self.messages.append(&mut self.slow);
        for at in 0..self.brokers.len() {
            if self.newest().brokers[&self.brokers[at].id].is_in_controlled_shutdown {
                self.restart(at);
            }
        }
        let partition = self.newest().partition.clone();
        let may_hang: Vec<i32> =
            partition.replicas.iter().copied().filter(|id| *id != partition.leader).collect();
        // Who is being added, or is needed for the others to be enough, must not.
        let may_hang = (partition.leader != -1 && !partition.is_reassigning()).then_some(may_hang);
        if let Some(may_hang) = may_hang
            && self.settings.min_insync_replicas <= may_hang.len()
            && self.random.chance(33)
        {
            let id = Some(*self.random.pick(&may_hang));
            match self.random.chance(50) {
                true => self.hangs = id,
                false => self.is_full = id,
            }
        }
        for at in 0..self.brokers.len() {
            self.unfence(at);
        }
    }

    fn works(&self, id: i32) -> bool {
        ![self.hangs, self.is_full].contains(&Some(id))
    }

    /// Whether every replica that works is in sync.
    fn has_joined(&self) -> bool {
        let partition = &self.newest().partition;
        let mut working = partition.replicas.iter().filter(|id| self.works(**id));
        partition.leader != -1 && working.all(|id| partition.isr.contains(id))
    }

    fn is_settled(&self) -> bool {
        let newest = self.newest();
        let leader = newest.partition.leader;
        let mut working = self.brokers.iter().filter(|broker| self.works(broker.id));
        // One that hangs stays in sync as long as nothing is appended that it does not have.
        leader != -1
            && !newest.partition.is_reassigning()
            && working.all(|broker| {
                let (log, leaders) = (&broker.log, &self.brokers[self.at(leader)].log);
                // A leader may have deleted less than an earlier one.
                let from = log.start.max(leaders.start);
                let is_same = log.end() == leaders.end()
                    && log.between(from, log.end()) == leaders.between(from, log.end());
                let is_complete = newest.partition.isr.contains(&broker.id)
                    && is_same
                    && log.high_watermark == log.end();
                let is_replica = newest.partition.replicas.contains(&broker.id);
                broker.applied == self.history.len() && (is_complete || !is_replica)
            })
    }
}

/// One life; what happened in it is written down.
fn live(seed: u64, history: &mut Vec<String>) {
    let mut cluster = Cluster::new(seed);
    let lived = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..STEPS {
            cluster.step();
        }
        cluster.heal();
        // However much is produced, replicas join; but they need the time for a fetch or two.
        if cluster.settings.lag_time_max_ms >= 100 && cluster.random.chance(50) {
            (cluster.is_busy, cluster.is_quiet) = (true, true);
            let has_joined = (0..HEALED_STEPS).any(|_| {
                cluster.step();
                cluster.has_joined()
            });
            assert!(has_joined, "not all have joined: {:?}", cluster.newest().partition);
            cluster.is_busy = false;
        }
        let produces = cluster.random.chance(50);
        let settled = (0..HEALED_STEPS).any(|step| {
            cluster.is_quiet = !produces || step > HEALED_STEPS / 4;
            cluster.step();
            cluster.is_quiet && cluster.is_settled()
        });
        assert!(settled, "it has not settled: {:?}", cluster.newest().partition);
        // A life in which nothing happens shows nothing.
        let elections = cluster.newest().partition.leader_epoch;
        assert!(elections > 0 || cluster.acknowledged > 0, "nothing has happened");
    }));
    if let Err(panic) = lived {
        history.append(&mut cluster.log);
        for broker in &cluster.brokers {
            let Log { start, epochs, high_watermark, .. } = &broker.log;
            let end = broker.log.end();
            history.push(format!(
                "from {start}, {high_watermark} of {end}, epochs {epochs:?}: {:?}",
                broker.replica
            ));
        }
        resume_unwind(panic);
    }
}

#[test]
fn nothing_that_was_committed_is_lost_or_changed() {
    family("partition", 6_000, 80, live);
}
