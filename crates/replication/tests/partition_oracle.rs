//! Kafka's own `kafka.cluster.Partition` and [`Replica`] are taken through the same events, and every state is
//! compared. Kafka's has a log of its own; what it does with it is done here to three numbers.
//!
//! Runs when `THALWEG_KAFKA_JARS` names the folder with Kafka 4.4.0's jars.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};

use thalweg_metadata::image::Partition;
use thalweg_metadata::testing::led_by_1;
use thalweg_random::Random;
use thalweg_random::seeds::oracle_seeds;
use thalweg_replication::{
    Acknowledged, AlterPartition, Altered, Applied, BrokerStatus, Brokers, Context, Fetched,
    Offsets, Outcome, Replica, Settings,
};
use thalweg_wire::ErrorCode;

use crate::oracle::{self, Input, Output, Program};

const ME: i32 = 1;
const OWN_EPOCH: i64 = 101;
const OTHERS: [i32; 4] = [2, 3, 4, 5];
const LAG_MS: u64 = 10_000;
const MIN_ISR: usize = 1;
const STEPS: usize = 120;
const BEGIN_MS: u64 = 1_000_000;

/// What the controller may answer, and a broker that it does not reach.
const REFUSALS: [(&str, ErrorCode); 10] = [
    ("OPERATION_NOT_ATTEMPTED", ErrorCode::OPERATION_NOT_ATTEMPTED),
    ("INELIGIBLE_REPLICA", ErrorCode::INELIGIBLE_REPLICA),
    ("UNKNOWN_TOPIC_OR_PARTITION", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
    ("UNKNOWN_TOPIC_ID", ErrorCode::UNKNOWN_TOPIC_ID),
    ("FENCED_LEADER_EPOCH", ErrorCode::FENCED_LEADER_EPOCH),
    ("INVALID_UPDATE_VERSION", ErrorCode::INVALID_UPDATE_VERSION),
    ("INVALID_REQUEST", ErrorCode::INVALID_REQUEST),
    ("NEW_LEADER_ELECTED", ErrorCode::NEW_LEADER_ELECTED),
    ("NETWORK_EXCEPTION", ErrorCode::NETWORK_EXCEPTION),
    ("REQUEST_TIMED_OUT", ErrorCode::REQUEST_TIMED_OUT),
];

#[derive(Default)]
struct Cluster(BTreeMap<i32, BrokerStatus>);

impl Brokers for Cluster {
    fn broker(&self, id: i32) -> Option<BrokerStatus> {
        self.0.get(&id).copied()
    }
}

/// Some of these, in their order.
fn some(random: &mut Random, of: &[i32]) -> Vec<i32> {
    of.iter().copied().filter(|_| random.chance(50)).collect()
}

/// Kafka's side.
struct Kafka {
    input: Input,
    output: BufReader<Output>,
}

impl Kafka {
    fn ask(&mut self, command: &str) -> String {
        let line = format!("{command}\n");
        self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush()).unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }
}

/// What is so beside the partition's replica.
struct ReplicaSurroundings {
    cluster: Cluster,
    log: Offsets,
    /// Where batches begin. A follower's log ends there or at the log's end; Kafka takes what lies between for
    /// the beginning of the batch.
    batches: Vec<i64>,
    settings: Settings,
    ms: u64,
}

impl ReplicaSurroundings {
    fn now(&self) -> Context<'_> {
        Context {
            ms: self.ms,
            log: self.log,
            settings: self.settings,
            broker_epoch: OWN_EPOCH,
            brokers: &self.cluster,
        }
    }
}

/// One partition from its beginning on, on both sides.
struct Life {
    random: Random,
    replica: Replica,
    world: ReplicaSurroundings,
    has_log: bool,
    /// Metadata, as the controller would go on with it.
    partition: Partition,
    /// What was sent to the controller and not answered.
    sent: VecDeque<AlterPartition>,
    /// The same of the event that is under way.
    sent_now: Vec<AlterPartition>,
    history: Vec<String>,
}

fn list(ids: &[i32]) -> String {
    if ids.is_empty() {
        return "-".into();
    }
    ids.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

fn sorted(ids: impl IntoIterator<Item = i32>) -> String {
    let mut ids: Vec<i32> = ids.into_iter().collect();
    ids.sort_unstable();
    ids.dedup();
    list(&ids)
}

impl Life {
    fn new(seed: u64) -> Life {
        Life {
            random: Random::new(seed),
            replica: Replica::new(ME),
            world: ReplicaSurroundings {
                cluster: Cluster::default(),
                log: Offsets { log_start: 0, high_watermark: 0, log_end: 0 },
                batches: Vec::new(),
                settings: Settings { lag_time_max_ms: LAG_MS, min_insync_replicas: MIN_ISR },
                ms: BEGIN_MS,
            },
            has_log: false,
            partition: led_by_1(0, 0, &[ME], &[ME]),
            sent: VecDeque::new(),
            sent_now: Vec::new(),
            history: Vec::new(),
        }
    }

    fn raise(&mut self, high_watermark: Option<i64>) {
        if let Some(high_watermark) = high_watermark {
            assert!(high_watermark > self.world.log.high_watermark);
            assert!(high_watermark <= self.world.log.log_end);
            self.world.log.high_watermark = high_watermark;
        }
    }

    fn carry_out(&mut self, outcome: Outcome) {
        self.raise(outcome.high_watermark);
        if let Some(alter) = outcome.alter {
            self.sent.push_back(alter.clone());
            self.sent_now.push(alter);
        }
    }

    /// Has Kafka do the same, and compares.
    fn check(&mut self, kafka: &mut Kafka, command: String, result: Option<String>) -> String {
        let answer = kafka.ask(&command);
        self.history.push(format!("{command}\n    {answer}"));
        let (theirs, state) = answer.split_once(' ').unwrap_or((&answer, ""));
        if let Some(result) = result {
            assert_eq!(theirs, result, "the answer to: {command}");
        }
        assert_eq!(state, self.state(), "the state after: {command}");
        theirs.to_owned()
    }

    /// As Kafka's side describes it.
    fn state(&mut self) -> String {
        let pending = self.replica.pending();
        let isr = self.replica.isr();
        let mut maximal = isr.to_vec();
        if let Some(thalweg_replication::IsrChange::Expand(id)) = pending.map(|it| &it.change) {
            maximal.push(*id);
        }
        let none = Offsets { log_start: -1, high_watermark: -1, log_end: -1 };
        let log = if self.has_log { self.world.log } else { none };
        let mut sent = String::new();
        for alter in self.sent_now.drain(..) {
            let members: Vec<String> = alter
                .isr
                .iter()
                .map(|member| format!("{}:{}", member.broker, member.epoch))
                .collect();
            let separator = if sent.is_empty() { "" } else { ";" };
            // The recovery state is always RECOVERED (0).
            write!(
                sent,
                "{separator}{}:{}:RECOVERED:{}",
                alter.leader_epoch,
                alter.partition_epoch,
                members.join(",")
            )
            .unwrap();
        }
        if sent.is_empty() {
            sent.push('-');
        }
        format!(
            "hw={} leo={} start={} isr={} maximal={} inflight={} le={} pe={} under={} sent={sent}",
            log.high_watermark,
            log.log_end,
            log.log_start,
            sorted(isr.iter().copied()),
            sorted(maximal),
            i32::from(pending.is_some()),
            self.replica.leader_epoch(),
            self.replica.partition_epoch(),
            i32::from(self.replica.is_under_min_isr(self.world.settings)),
        )
    }

    fn step(&mut self, kafka: &mut Kafka) {
        match self.random.below(100) {
            0..8 => self.brokers(kafka),
            8..18 => self.metadata(kafka),
            18..36 => self.append(kafka),
            36..68 => self.fetch(kafka),
            68..74 => self.check_lag(kafka),
            74..80 => {
                self.world.ms +=
                    *self.random.pick(&[1, 50, LAG_MS / 2, LAG_MS, LAG_MS + 1, 3 * LAG_MS]);
                self.check(kafka, format!("time {}", self.world.ms), Some("ok".into()));
            }
            80..90 => self.controller(kafka),
            90..93 => self.acknowledged(kafka),
            93..96 => {
                let low = self.replica.low_watermark(&self.world.now());
                let low = low.map_or("NOT_LEADER_OR_FOLLOWER".into(), |low| format!("low={low}"));
                self.check(kafka, "low-watermark".into(), Some(low));
            }
            96..98 if self.has_log => {
                self.world.settings.min_insync_replicas = 1 + self.random.below(4);
                let command = format!("min-isr {}", self.world.settings.min_insync_replicas);
                self.check(kafka, command, Some("ok".into()));
            }
            _ if self.replica.is_leader() => self.delete_records(kafka),
            _ => {}
        }
    }

    fn brokers(&mut self, kafka: &mut Kafka) {
        for id in OTHERS {
            let before =
                self.world.cluster.0.get(&id).map_or(10 * i64::from(id), |broker| broker.epoch);
            if self.random.chance(17) {
                self.world.cluster.0.remove(&id);
                continue;
            }
            let broker = BrokerStatus {
                epoch: before + i64::from(self.random.chance(25)),
                is_fenced: self.random.chance(17),
                is_in_controlled_shutdown: self.random.chance(17),
            };
            self.world.cluster.0.insert(id, broker);
        }
        self.world.cluster.0.insert(
            ME,
            BrokerStatus { epoch: OWN_EPOCH, is_fenced: false, is_in_controlled_shutdown: false },
        );
        let words: Vec<String> = self
            .world
            .cluster
            .0
            .iter()
            .map(|(id, broker)| {
                let (fenced, shutting) = (broker.is_fenced, broker.is_in_controlled_shutdown);
                format!("{id}:{}:{}:{}", broker.epoch, i32::from(fenced), i32::from(shutting))
            })
            .collect();
        self.check(kafka, format!("brokers {}", words.join(",")), Some("ok".into()));
    }

    /// The controller changes the partition.
    fn metadata(&mut self, kafka: &mut Kafka) {
        let mut next = self.partition.clone();
        let is_stale = self.has_log && self.random.chance(12);
        if is_stale {
            next.partition_epoch = self.replica.partition_epoch() - 1;
        } else {
            // An answer of the controller may have come first; the change that it was for follows, or a later one.
            let at_least = self.replica.partition_epoch();
            next.partition_epoch = at_least.max(next.partition_epoch) + 1;
            let others = some(&mut self.random, &OTHERS);
            next.replicas = [&[ME], &others[..]].concat();
            next.isr = [&[ME], &some(&mut self.random, &others)[..]].concat();
            let (lost, elected) = (self.random.chance(20), self.random.chance(33));
            if lost || next.leader != ME || elected {
                next.leader_epoch += 1;
            }
            next.leader = if lost { *self.random.pick(&[2, 3, -1]) } else { ME };
            self.partition = next.clone();
        }
        let applied = self.replica.apply(&next, &self.world.now());
        let had_log = std::mem::replace(&mut self.has_log, true);
        let changed = match applied {
            Applied::Stale => {
                self.has_log = had_log;
                false
            }
            Applied::Follows { is_new_epoch } => is_new_epoch,
            Applied::Leads { is_new_leader, high_watermark, .. } => {
                self.raise(high_watermark);
                is_new_leader
            }
        };
        let (le, pe) = (next.leader_epoch, next.partition_epoch);
        let (replicas, isr) = (list(&next.replicas), list(&next.isr));
        let command = if next.leader == ME {
            format!("lead {le} {pe} {replicas} {isr} - -")
        } else {
            format!("follow {} {le} {pe} {replicas} {isr}", next.leader)
        };
        self.check(kafka, command, Some(changed.to_string()));
    }

    fn append(&mut self, kafka: &mut Kafka) {
        let records = 1 + self.random.below(4) as i64;
        let acks = *self.random.pick(&[-1, 1]);
        let result = match self.replica.check_append(self.world.settings) {
            Err(code) if acks == -1 || code == ErrorCode::NOT_LEADER_OR_FOLLOWER => {
                code.to_string()
            }
            _ => {
                let first = self.world.log.log_end;
                self.world.batches.push(first);
                self.world.log.log_end += records;
                let high_watermark = self.replica.advance(&self.world.now());
                self.raise(high_watermark);
                format!("ok:{first}-{}", self.world.log.log_end - 1)
            }
        };
        self.check(kafka, format!("append {records} {acks}"), Some(result));
    }

    fn fetch(&mut self, kafka: &mut Kafka) {
        let replica = *self.random.pick(&OTHERS);
        let known = self.world.cluster.broker(replica).map_or(7, |broker| broker.epoch);
        let broker_epoch =
            *self.random.pick(&[known, known, known, known, known - 1, known + 1, -1]);
        let epoch = self.replica.leader_epoch();
        let epoch =
            *self.random.pick(&[epoch, epoch, epoch, epoch, epoch, epoch - 1, epoch + 1, -1]);
        let Offsets { log_start, log_end, .. } = self.world.log;
        let before = self.replica.progress(replica).map_or(0, |progress| progress.log_end.max(0));
        let batches = &self.world.batches;
        let inside = batches.iter().copied().filter(|base| *base >= log_start).chain([log_end]);
        let inside = *self.random.pick(&inside.collect::<Vec<_>>());
        let offset = *self.random.pick(&[
            log_end,
            log_end,
            log_end,
            before,
            inside,
            log_end + 1,
            log_start - 1,
        ]);
        let offset = offset.max(0);
        let start = *self.random.pick(&[0, log_start, offset.min(log_start)]);
        let command = format!("fetch {replica} {broker_epoch} {epoch} {offset} -1 {start}");
        let allowed = self.replica.check_fetch(replica, (epoch != -1).then_some(epoch));
        if let Err(code) = allowed {
            self.check(kafka, command, Some(code.to_string()));
            return;
        }
        if !(log_start..=log_end).contains(&offset) {
            self.check(kafka, command, Some(ErrorCode::OFFSET_OUT_OF_RANGE.to_string()));
            return;
        }
        let fetch = Fetched {
            replica,
            leader_epoch: self.replica.leader_epoch(),
            broker_epoch,
            offset,
            log_start: start,
            leader_end: log_end,
        };
        match self.replica.fetched(&fetch, &self.world.now()) {
            Ok(outcome) => {
                self.carry_out(outcome);
                let theirs = self.check(kafka, command, None);
                assert!(theirs.starts_with("ok:"), "{theirs}");
            }
            Err(code) => {
                self.check(kafka, command, Some(code.to_string()));
            }
        }
    }

    fn check_lag(&mut self, kafka: &mut Kafka) {
        let outcome = self.replica.check_lag(&self.world.now());
        self.carry_out(outcome);
        self.check(kafka, "check-lag".into(), Some("ok".into()));
    }

    /// The controller answers what it was asked first.
    fn controller(&mut self, kafka: &mut Kafka) {
        let Some(sent) = self.sent.pop_front() else {
            self.check(kafka, "alter error NETWORK_EXCEPTION".into(), Some("nothing".into()));
            return;
        };
        let (command, answer) = if self.random.chance(50) {
            let (name, code) = *self.random.pick(&REFUSALS);
            (format!("alter error {name}"), Err(code))
        } else {
            let leader_epoch = sent.leader_epoch - i32::from(self.random.chance(10));
            let partition_epoch = sent.partition_epoch + *self.random.pick(&[1, 1, 1, 1, 2, 0, -1]);
            let isr: Vec<i32> = sent.isr.iter().map(|member| member.broker).collect();
            let command = format!("alter ok {leader_epoch} {partition_epoch} {}", list(&isr));
            (command, Ok(Altered { leader_epoch, partition_epoch, isr }))
        };
        let outcome = self.replica.altered(&sent, answer, &self.world.now());
        self.carry_out(outcome);
        self.check(kafka, command, Some("ok".into()));
    }

    fn acknowledged(&mut self, kafka: &mut Kafka) {
        let required = self.world.log.high_watermark - 2 + self.random.below(5) as i64;
        let result = match self.replica.acknowledged(required, &self.world.now()) {
            Acknowledged::NotYet => "acked=false:NONE",
            Acknowledged::Committed => "acked=true:NONE",
            Acknowledged::TooFew => "acked=true:NOT_ENOUGH_REPLICAS_AFTER_APPEND",
            Acknowledged::NotLeader => "acked=false:NOT_LEADER_OR_FOLLOWER",
        };
        self.check(kafka, format!("acked {required}"), Some(result.into()));
    }

    fn delete_records(&mut self, kafka: &mut Kafka) {
        let Offsets { log_start, high_watermark, .. } = self.world.log;
        let to =
            log_start + self.random.below((high_watermark - log_start).max(0) as usize + 1) as i64;
        self.world.log.log_start = self.world.log.log_start.max(to);
        self.check(kafka, format!("delete-records {to}"), Some("ok".into()));
    }
}

#[test]
fn a_leader_does_what_kafkas_does() {
    if oracle::jars().is_none() {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/PartitionOracle.java");
    let scratch = std::env::temp_dir().join(format!("thalweg-partition-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let program = Program::source(source, "PartitionOracle").arg(scratch.display()).args([
        ME.to_string(),
        LAG_MS.to_string(),
        MIN_ISR.to_string(),
    ]);
    let (input, output) = program.start();
    let mut kafka = Kafka { input, output: BufReader::new(output) };
    let mut steps = 0;
    for seed in oracle_seeds(60) {
        let mut life = Life::new(seed);
        kafka.ask("reset");
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            life.brokers(&mut kafka);
            life.metadata(&mut kafka);
            for _ in 0..STEPS {
                life.step(&mut kafka);
                steps += 1;
            }
        }));
        if let Err(panic) = lived {
            eprintln!("seed {seed}:");
            life.history.iter().for_each(|event| eprintln!("> {event}"));
            std::panic::resume_unwind(panic);
        }
    }
    let Kafka { input, output } = kafka;
    drop(input);
    let done = output.into_inner().finish();
    assert_eq!(done.status, 0, "{}", done.errors);
    let _ = std::fs::remove_dir_all(&scratch);
    eprintln!("{steps} steps, all as Kafka's");
}
