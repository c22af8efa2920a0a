//! Random lives of a partition on a few brokers: [`Replica`] and [`Follower`] of each, a controller that is a
//! model of Kafka's, and a network that delays, loses and reorders. Elections are clean.
//!
//! What must hold, always: an offset below a high watermark has one record, for good, whoever is asked; a record
//! that was acknowledged with acks=all is among them; whoever is elected has all of them; a high watermark does
//! not go back in a leader's epoch. And in the end, when everything works again: all replicas have the same
//! records, all of them committed, and are in sync.

mod controller;
mod log;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use thalweg_metadata::image::Partition;
use thalweg_replication::{
    Acknowledged, AlterPartition, Altered, Applied, BrokerStatus, Brokers, Context, Epochs,
    FetchAnswer, Fetched, Follower, LeaderOffset, NextFetch, Offsets, Outcome, Replica, Settings,
    Step, high_watermark,
};
use thalweg_wire::ErrorCode;

use crate::assignment::assignment;
use crate::random::Random;
use crate::seeds::family;
use log::{Log, Record};

const BACKOFF_MS: u64 = 10;
const RECORDS_MAX: usize = 3;
const STEPS: usize = 3_000;
/// Events within which a cluster in which everything works has to settle.
const HEALED_STEPS: usize = 8_000;

/// What the metadata says at one moment.
#[derive(Clone, Debug)]
struct Image {
    partition: Partition,
    brokers: BTreeMap<i32, BrokerStatus>,
}

impl Brokers for Image {
    fn broker(&self, id: i32) -> Option<BrokerStatus> {
        self.brokers.get(&id).copied()
    }
}

/// What is so for a broker's replica.
fn context<'a>(
    log: &Log,
    broker_epoch: i64,
    image: &'a Image,
    settings: Settings,
    ms: u64,
) -> Context<'a> {
    let log = Offsets { log_start: 0, high_watermark: log.high_watermark, log_end: log.end() };
    Context { ms, log, settings, broker_epoch, brokers: image }
}

/// A broker's process, and its disk.
struct Broker {
    id: i32,
    log: Log,
    epoch: i64,
    replica: Replica,
    follower: Option<Follower>,
    /// How much of the metadata it has applied.
    applied: usize,
    /// A fetch is under way; a follower has one at a time.
    is_asking: bool,
    /// Counts its processes: what is meant for an earlier one is lost.
    process: u32,
    /// Appends that wait for acks=all: the offset behind each, and its value.
    waiting: Vec<(i64, u64)>,
    /// The leader epoch and high watermark that it last led with.
    led: (i32, i64),
}

/// What is on its way.
#[derive(Clone, Debug)]
enum Message {
    Fetch {
        from: i32,
        process: u32,
        to: i32,
        broker_epoch: i64,
        ask: NextFetch,
    },
    Fetched {
        to: i32,
        process: u32,
        ask: NextFetch,
        answer: FetchAnswer,
        high_watermark: i64,
        /// Where the records lie that are sent when this is: a log may have changed since they were found.
        source: i32,
        count: usize,
    },
    /// What a leader has read, and notes of the follower before it answers: metadata may have come meanwhile.
    Read {
        at: i32,
        process: u32,
        fetched: Fetched,
        answer: Box<Message>,
    },
    Find {
        from: i32,
        process: u32,
        to: i32,
        leader_epoch: i32,
        is_latest: bool,
    },
    Found {
        to: i32,
        process: u32,
        leader_epoch: i32,
        answer: Result<LeaderOffset, ErrorCode>,
    },
    Alter {
        from: i32,
        process: u32,
        broker_epoch: i64,
        alter: AlterPartition,
    },
    Answer {
        to: i32,
        process: u32,
        sent: AlterPartition,
        answer: Result<Altered, ErrorCode>,
    },
}

struct Cluster {
    random: Random,
    ms: u64,
    settings: Settings,
    brokers: Vec<Broker>,
    /// What the controller has decided, in order.
    history: Vec<Image>,
    messages: Vec<Message>,
    /// Messages that take long.
    slow: Vec<Message>,
    /// Whether the controller keeps eligible leader replicas (KIP-966).
    has_elr: bool,
    /// What lies below a high watermark, or has.
    committed: Vec<Record>,
    acknowledged: usize,
    next_value: u64,
    next_broker_epoch: i64,
    /// Nothing is lost, and nobody is fenced, elected or restarted any more.
    is_healed: bool,
    /// A broker that hears of metadata late.
    late: i32,
    /// A follower that does nothing any more, though the controller hears of it.
    hangs: Option<i32>,
    /// Nothing is produced any more.
    is_quiet: bool,
    log: Vec<String>,
}

impl Cluster {
    fn new(seed: u64) -> Cluster {
        let mut random = Random(seed);
        let ids: Vec<i32> = (1..=*random.pick(&[2, 3, 3, 4])).collect();
        let partition = assignment(0, 0, &ids, &ids);
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
        let image = Image { partition, brokers: registered.collect() };
        let settings = Settings {
            lag_time_max_ms: *random.pick(&[2, 20, 100]),
            min_insync_replicas: *random.pick(&[1, 2, 2, 3]),
        };
        Cluster {
            ms: 1_000,
            settings,
            brokers,
            history: vec![image],
            messages: Vec::new(),
            slow: Vec::new(),
            has_elr: random.chance(50),
            committed: Vec::new(),
            acknowledged: 0,
            next_value: 0,
            next_broker_epoch: 10,
            is_healed: false,
            late: *random.pick(&ids),
            hangs: None,
            is_quiet: false,
            log: Vec::new(),
            random,
        }
    }

    fn at(&self, id: i32) -> usize {
        (id - 1) as usize
    }

    fn newest(&self) -> Image {
        self.history.last().unwrap().clone()
    }

    /// Lets `act` be done to a broker's replica, and carries out what comes of it.
    fn with_replica(&mut self, at: usize, act: impl FnOnce(&mut Replica, &Context<'_>) -> Outcome) {
        let broker = &mut self.brokers[at];
        let image = &self.history[broker.applied.max(1) - 1];
        let context = context(&broker.log, broker.epoch, image, self.settings, self.ms);
        let Outcome { high_watermark, alter } = act(&mut broker.replica, &context);
        if let Some(alter) = alter {
            let (from, process, broker_epoch) = (broker.id, broker.process, broker.epoch);
            self.messages.push(Message::Alter { from, process, broker_epoch, alter });
        }
        if let Some(high_watermark) = high_watermark {
            self.raise(at, high_watermark);
        }
    }

    /// A leader's high watermark rises.
    fn raise(&mut self, at: usize, to: i64) {
        let broker = &mut self.brokers[at];
        assert!(to > broker.log.high_watermark && to <= broker.log.end());
        broker.log.high_watermark = to;
        self.log.push(format!(
            "broker {} commits up to {to} in partition epoch {}",
            broker.id,
            broker.replica.partition_epoch()
        ));
        self.look(at);
        let broker = &mut self.brokers[at];
        let image = &self.history[broker.applied - 1];
        let context = context(&broker.log, broker.epoch, image, self.settings, self.ms);
        let (replica, mut done) = (&broker.replica, 0);
        broker.waiting.retain(|(required, value)| {
            match replica.acknowledged(*required, &context) {
                Acknowledged::NotYet => true,
                Acknowledged::Committed => {
                    let at = (*required - 1) as usize;
                    let committed = self.committed.get(at).map(|record| record.value);
                    assert_eq!(committed, Some(*value), "what was acknowledged is committed");
                    done += 1;
                    false
                }
                Acknowledged::TooFew | Acknowledged::NotLeader => false,
            }
        });
        self.acknowledged += done;
    }

    /// What is below a broker's high watermark is what is below everybody's.
    fn look(&mut self, at: usize) {
        let broker = &self.brokers[at];
        let known = &broker.log.records[..broker.log.high_watermark as usize];
        let both = known.len().min(self.committed.len());
        assert!(
            known[..both] == self.committed[..both],
            "broker {} has other records below its high watermark: {known:?}, not {:?}",
            broker.id,
            &self.committed[..both]
        );
        if broker.replica.is_leader() {
            let (epoch, before) = broker.led;
            if epoch == broker.replica.leader_epoch() {
                assert!(broker.log.high_watermark >= before, "the high watermark went back");
            }
            self.committed.extend_from_slice(&known[both..]);
            let led = (broker.replica.leader_epoch(), broker.log.high_watermark);
            self.brokers[at].led = led;
        } else {
            assert!(known.len() <= self.committed.len(), "a follower is ahead of all leaders");
        }
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
        match self.random.below(1_000) {
            0..380 => self.deliver(),
            380..520 => self.send_fetch(at),
            520..680
                if self.is_healed || self.brokers[at].id != self.late || self.random.chance(8) =>
            {
                self.apply_next(at);
            }
            680..800 if !self.is_quiet => self.produce(at),
            800..860 => {
                self.ms += *self.random.pick(if self.is_healed { &[1] } else { &[1, 5, 20] });
                self.with_replica(at, Replica::check_lag);
                self.advance(at);
            }
            860..880 => {
                let log = &mut self.brokers[at].log;
                log.checkpoint = log.high_watermark;
            }
            880..910 if !self.is_healed => self.unfence(at),
            910..916 if !self.is_healed => self.ms += *self.random.pick(&[BACKOFF_MS, 100]),
            920..930 if !self.is_healed && !self.messages.is_empty() => {
                let lost = self.random.below(self.messages.len());
                let lost = self.messages.swap_remove(lost);
                self.lost(&lost);
            }
            930..935 if !self.is_healed => self.fence(at),
            940..948 if !self.is_healed => self.elect(),
            950..953 if !self.is_healed => self.restart(at),
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

    /// Whoever waits for an answer hears that the connection is gone.
    fn lost(&mut self, message: &Message) {
        let retry_at = self.ms + BACKOFF_MS;
        match message {
            Message::Fetch { from: id, process, .. } | Message::Fetched { to: id, process, .. } => {
                let at = self.at(*id);
                let broker = &mut self.brokers[at];
                if broker.process == *process {
                    broker.is_asking = false;
                    if let Some(follower) = &mut broker.follower {
                        follower.failed(retry_at);
                    }
                }
            }
            Message::Read { answer, .. } => self.lost(answer),
            Message::Find { from: id, process, .. } | Message::Found { to: id, process, .. } => {
                let at = self.at(*id);
                let broker = &mut self.brokers[at];
                if broker.process == *process
                    && let Some(follower) = &mut broker.follower
                {
                    follower.failed(retry_at);
                }
            }
            Message::Alter { from, process, alter, .. } => {
                let (to, process, sent) = (*from, *process, alter.clone());
                let answer = Err(ErrorCode::NETWORK_EXCEPTION);
                self.messages.push(Message::Answer { to, process, sent, answer });
            }
            Message::Answer { to, process, sent, .. } => {
                let (to, process, sent) = (*to, *process, sent.clone());
                let answer = Err(ErrorCode::NETWORK_EXCEPTION);
                self.messages.push(Message::Answer { to, process, sent, answer });
            }
        }
    }

    fn produce(&mut self, at: usize) {
        let broker = &mut self.brokers[at];
        if !broker.replica.is_leader() {
            return;
        }
        // acks=1 now and then, which appends also where too few are in sync.
        let is_all = !self.random.chance(25);
        if is_all && broker.replica.check_append(self.settings).is_err() {
            return;
        }
        let epoch = broker.replica.leader_epoch();
        self.next_value += 1;
        broker.log.append(Record { epoch, value: self.next_value });
        if is_all {
            broker.waiting.push((broker.log.end(), self.next_value));
        }
        self.advance(at);
    }

    fn advance(&mut self, at: usize) {
        self.with_replica(at, |replica, now| Outcome {
            high_watermark: replica.advance(now),
            alter: None,
        });
    }

    /// A follower asks its leader.
    fn send_fetch(&mut self, at: usize) {
        let ms = self.ms;
        let broker = &mut self.brokers[at];
        let leader = broker.replica.leader();
        let Some(follower) = &broker.follower else { return };
        if broker.is_asking || leader < 0 {
            return;
        }
        let Some(ask) = follower.next_fetch(ms) else { return };
        broker.is_asking = true;
        self.messages.push(Message::Fetch {
            from: broker.id,
            process: broker.process,
            to: leader,
            broker_epoch: broker.epoch,
            ask,
        });
    }

    fn apply_next(&mut self, at: usize) {
        let applied = self.brokers[at].applied;
        // Several changes may come as one.
        let left = self.history.len() - applied;
        let count = if self.random.chance(25) { left } else { left.min(1) };
        let Some(next) = (applied + count).checked_sub(1).filter(|_| count > 0) else { return };
        let image = self.history[next].clone();
        self.brokers[at].applied += count;
        let mut outcome = Applied::Stale;
        self.with_replica(at, |replica, now| {
            outcome = replica.apply(&image.partition, now);
            Outcome::default()
        });
        let broker = &mut self.brokers[at];
        let epoch = image.partition.leader_epoch;
        match outcome {
            Applied::Stale => {}
            Applied::Leads { is_new_epoch, is_new_leader, high_watermark } => {
                broker.follower = None;
                if is_new_leader {
                    broker.waiting.clear();
                }
                if is_new_epoch {
                    let (id, end) = (broker.id, broker.log.end());
                    self.log.push(format!("broker {id} leads in {epoch} from {end} on"));
                    broker.log.assign(epoch, end);
                    broker.led = (epoch, broker.log.high_watermark);
                    let has_all = broker.log.records.get(..self.committed.len());
                    // A leader that another one has followed already may have none of what that one committed.
                    let is_newest = self.history.last().unwrap().partition.leader_epoch == epoch;
                    assert!(
                        !is_newest || has_all == Some(&self.committed[..]),
                        "broker {} was elected in epoch {epoch} without {:?}: {:?}",
                        broker.id,
                        self.committed,
                        broker.log.records
                    );
                }
                if let Some(high_watermark) = high_watermark {
                    self.raise(at, high_watermark);
                }
            }
            Applied::Follows { is_new_epoch } => {
                broker.waiting.clear();
                if is_new_epoch || broker.follower.is_none() {
                    broker.follower = Some(Follower::new(epoch, &broker.log));
                }
            }
        }
    }

    fn deliver(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let which = self.random.below(self.messages.len());
        match self.messages.swap_remove(which) {
            Message::Fetch { from, process, to, broker_epoch, ask } => {
                self.fetch(from, process, to, broker_epoch, ask);
            }
            Message::Fetched { to, process, ask, answer, high_watermark, source, count } => {
                self.fetched(to, process, &ask, &answer, high_watermark, source, count);
            }
            Message::Read { at, process, fetched, answer } => {
                self.read(at, process, &fetched, *answer);
            }
            Message::Find { from, process, to, leader_epoch, is_latest } => {
                let broker = &self.brokers[self.at(to)];
                let answer = match leader_epoch - broker.replica.leader_epoch() {
                    0 if !broker.replica.is_leader() => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
                    0 if is_latest => Ok(LeaderOffset::Latest(broker.log.end())),
                    0 => Ok(LeaderOffset::Earliest(0)),
                    i32::MIN..0 => Err(ErrorCode::FENCED_LEADER_EPOCH),
                    1.. => Err(ErrorCode::UNKNOWN_LEADER_EPOCH),
                };
                self.messages.push(Message::Found { to: from, process, leader_epoch, answer });
            }
            Message::Found { to, process, leader_epoch, answer } => {
                let (at, retry_at) = (self.at(to), self.ms + BACKOFF_MS);
                let broker = &mut self.brokers[at];
                if broker.process == process
                    && let Some(follower) = &mut broker.follower
                {
                    let step = follower.found(leader_epoch, answer, &broker.log, retry_at);
                    self.carry_out(at, step, leader_epoch);
                }
            }
            Message::Alter { from, process, broker_epoch, alter } => {
                let answer = self.alter(from, broker_epoch, &alter);
                self.note(|_| format!("broker {from} asks for {alter:?}: {answer:?}"));
                self.messages.push(Message::Answer { to: from, process, sent: alter, answer });
            }
            Message::Answer { to, process, sent, answer } => {
                let at = self.at(to);
                if self.brokers[at].process == process {
                    self.note(|_| format!("broker {to} hears of {:?}: {answer:?}", sent.change));
                    self.with_replica(at, |replica, now| replica.altered(&sent, answer, now));
                }
            }
        }
    }

    /// A leader answers a follower.
    fn fetch(&mut self, from: i32, process: u32, to: i32, broker_epoch: i64, ask: NextFetch) {
        let at = self.at(to);
        let broker = &self.brokers[at];
        let (high_watermark, end) = (broker.log.high_watermark, broker.log.end());
        let mut answer = FetchAnswer { error: ErrorCode::NONE, diverging: None };
        let (mut count, mut read) = (0, None);
        let checked = broker.replica.check_fetch(from, Some(ask.leader_epoch));
        let own = broker.log.end_of(ask.last_epoch);
        if let Err(error) = checked {
            answer.error = error;
        } else if ask.last_epoch >= 0 && own.is_none() {
            answer.error = ErrorCode::OFFSET_OUT_OF_RANGE;
        } else if let Some(own) = own
            && ask.last_epoch >= 0
            && (own.epoch < ask.last_epoch || own.end_offset < ask.offset)
        {
            answer.diverging = Some(own);
        } else if ask.offset > end {
            answer.error = ErrorCode::OFFSET_OUT_OF_RANGE;
        } else {
            count = RECORDS_MAX.min((end - ask.offset) as usize);
            read = Some(Fetched {
                replica: from,
                leader_epoch: ask.leader_epoch,
                broker_epoch,
                offset: ask.offset,
                log_start: 0,
                leader_end: end,
            });
        }
        let (source, leader_process) = (to, broker.process);
        let answer =
            Message::Fetched { to: from, process, ask, answer, high_watermark, source, count };
        self.messages.push(match read {
            None => answer,
            Some(fetched) => {
                Message::Read { at: to, process: leader_process, fetched, answer: Box::new(answer) }
            }
        });
    }

    /// A leader has read for a follower.
    fn read(&mut self, at: i32, process: u32, fetched: &Fetched, mut message: Message) {
        let at = self.at(at);
        if self.brokers[at].process != process {
            self.lost(&message);
            return;
        }
        let mut refused = None;
        self.with_replica(at, |replica, now| {
            replica.fetched(fetched, now).unwrap_or_else(|error| {
                refused = Some(error);
                Outcome::default()
            })
        });
        if let (Some(error), Message::Fetched { answer, count, .. }) = (refused, &mut message) {
            (answer.error, *count) = (error, 0);
        }
        self.messages.push(message);
    }

    /// A follower hears its leader's answer.
    #[allow(clippy::too_many_arguments)]
    fn fetched(
        &mut self,
        to: i32,
        process: u32,
        ask: &NextFetch,
        answer: &FetchAnswer,
        leaders: i64,
        source: i32,
        count: usize,
    ) {
        let source = &self.brokers[self.at(source)].log.records;
        let from = ask.offset as usize;
        let found = source.get(from..(from + count).min(source.len())).unwrap_or_default().to_vec();
        let (at, retry_at) = (self.at(to), self.ms + BACKOFF_MS);
        let broker = &mut self.brokers[at];
        if broker.process != process {
            return;
        }
        broker.is_asking = false;
        let Some(follower) = &mut broker.follower else { return };
        let step = follower.answered(ask, answer, &broker.log, retry_at);
        if step == Step::Append {
            let before = broker.log.end();
            for record in found {
                if record.epoch > ask.leader_epoch {
                    break;
                }
                broker.log.append(record);
            }
            let to = high_watermark(broker.log.end(), leaders);
            broker.log.high_watermark = broker.log.high_watermark.max(to);
            follower.moved(&broker.log);
            let (id, epoch, end) = (broker.id, ask.leader_epoch, broker.log.end());
            if end > before {
                self.note(|it| {
                    let records = &it.brokers[at].log.records[before as usize..];
                    let records: Vec<_> = records.iter().map(|it| (it.epoch, it.value)).collect();
                    format!("broker {id} appends {records:?} at {before} in {epoch}")
                });
            }
            self.look(at);
        } else {
            self.carry_out(at, step, ask.leader_epoch);
        }
    }

    fn carry_out(&mut self, at: usize, step: Step, leader_epoch: i32) {
        let broker = &mut self.brokers[at];
        let Some(follower) = &mut broker.follower else { return };
        let is_latest = step == Step::FindLatest;
        match step {
            Step::Nothing | Step::Append => {}
            Step::Truncate(to) => {
                let (id, end) = (broker.id, broker.log.end());
                broker.log.truncate(to);
                follower.moved(&broker.log);
                self.note(|_| {
                    format!("broker {id} truncates from {end} to {to} in {leader_epoch}")
                });
                self.look(at);
            }
            Step::StartAt(_) => unreachable!("nothing is deleted"),
            Step::FindLatest | Step::FindEarliest => {
                let (from, process, to) = (broker.id, broker.process, broker.replica.leader());
                let find = Message::Find { from, process, to, leader_epoch, is_latest };
                self.messages.push(find);
            }
        }
    }

    /// Everything works from here on.
    fn heal(&mut self) {
        self.is_healed = true;
        self.messages.append(&mut self.slow);
        let (leader, brokers) = (self.newest().partition.leader, self.brokers.len());
        let may_hang: Vec<i32> = (1..=brokers as i32).filter(|id| *id != leader).collect();
        if leader != -1 && self.settings.min_insync_replicas < brokers && self.random.chance(33) {
            self.hangs = Some(*self.random.pick(&may_hang));
        }
        for at in 0..self.brokers.len() {
            self.unfence(at);
        }
    }

    fn is_settled(&self) -> bool {
        let newest = self.history.last().unwrap();
        let leader = newest.partition.leader;
        let mut working = self.brokers.iter().filter(|broker| Some(broker.id) != self.hangs);
        // One that hangs stays in sync as long as nothing is appended that it does not have.
        leader != -1
            && working.all(|broker| {
                newest.partition.isr.contains(&broker.id)
                    && broker.applied == self.history.len()
                    && broker.log.records == self.brokers[self.at(leader)].log.records
                    && broker.log.high_watermark == broker.log.end()
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
            let Log { records, epochs, high_watermark, .. } = &broker.log;
            let end = records.len();
            history.push(format!(
                "{high_watermark} of {end}, epochs {epochs:?}: {:?}",
                broker.replica
            ));
        }
        resume_unwind(panic);
    }
}

#[test]
fn nothing_that_was_committed_is_lost_or_changed() {
    family("partition", 1_500, 80, live);
}
