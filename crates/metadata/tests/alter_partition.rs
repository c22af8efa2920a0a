//! AlterPartition. Kafka's own `ReplicationControlManager` is given the same brokers and partitions, and asked
//! the same; answers and records have to be the same bytes.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};

use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::controller::Context;
use thalweg_metadata::features::{ELR_VERSION, METADATA_VERSION};
use thalweg_metadata::image::{LOST, MIGRATING, NO_LEADER, Partition, Provenance, UNASSIGNED};
use thalweg_metadata::records;
use thalweg_metadata::{Delta, MetadataImage, MetadataVersion};
use thalweg_random::Random;
use thalweg_random::seeds::oracle_seeds;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Message, Reader, Uuid, Writer};

use alter_partition_request::{BrokerState, PartitionData, TopicData};

use crate::support::fixtures::decide;
use crate::support::kafka;
use crate::support::oracle::{self, Input, Output, Program};
use crate::support::{base64, from_base64};

const BROKERS: [i32; 5] = [1, 2, 3, 4, 5];
/// A broker that is not registered.
const STRANGER: i32 = 6;
/// Levels of `metadata.version` before and after the records or the rules of partitions changed.
const LEVELS: [i16; 9] = [7, 11, 12, 16, 17, 22, 23, 29, 30];
const CASES: u64 = 400;
const STEPS: usize = 30;

/// Kafka's side.
struct Kafka {
    input: Input,
    output: BufReader<Output>,
}

impl Kafka {
    fn start() -> Kafka {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/ReplicationOracle.java");
        let program = Program::source(path, "org.apache.kafka.controller.ReplicationOracle");
        let (input, output) = program.start();
        Kafka { input, output: BufReader::new(output) }
    }

    /// What follows "ok".
    fn ask(&mut self, command: &str) -> Vec<Vec<u8>> {
        let line = format!("{command}\n");
        self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush()).expect("java");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("java");
        let mut words = answer.trim_end().split(' ');
        assert_eq!(words.next(), Some("ok"), "{command}");
        words.map(from_base64).collect()
    }
}

/// What happened, so that the test sees that much did.
#[derive(Default, Debug)]
struct Seen {
    codes: BTreeMap<i16, usize>,
    refused: BTreeMap<i16, usize>,
    records: usize,
    completed: usize,
    elr: usize,
    recovered: usize,
    unclean: usize,
}

struct RandomCluster {
    random: Random,
    image: MetadataImage,
    version: MetadataVersion,
}

fn directory(broker: i32, which: u128) -> Uuid {
    Uuid::from_u128((100 + broker as u128) << 64 | which)
}

/// Some of these, in their order.
fn some(random: &mut Random, of: &[i32], percent: usize) -> Vec<i32> {
    of.iter().copied().filter(|_| random.chance(percent)).collect()
}

impl RandomCluster {
    /// Brokers and partitions in any state.
    fn new(seed: u64, kafka: &mut Kafka) -> RandomCluster {
        let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
        let level = if random.chance(50) { 30 } else { *random.pick(&LEVELS) };
        let version = MetadataVersion::from_level(level).expect("a level");
        kafka.ask("begin");
        let mut world = RandomCluster { random, image: MetadataImage::empty(), version };
        let mut records = world.features();
        records.extend(BROKERS.map(|id| world.broker(id, 100 + i64::from(id))));
        for topic in 0..1 + world.random.below(3) {
            records.extend(world.topic(topic));
        }
        if world.random.chance(30) {
            records.push(config(4, "", "min.insync.replicas", "2"));
        }
        world.replay(kafka, &records);
        world
    }

    fn features(&mut self) -> Vec<MetadataRecord> {
        let level = |name: &str, feature_level| {
            let record =
                FeatureLevelRecord { name: name.into(), feature_level, ..Default::default() };
            MetadataRecord::from(record)
        };
        let mut records = vec![level(METADATA_VERSION, self.version.level())];
        if self.version.has_elr() && self.random.chance(60) {
            records.push(level(ELR_VERSION, 1));
        }
        records
    }

    fn broker(&mut self, broker_id: i32, broker_epoch: i64) -> MetadataRecord {
        let n = &mut self.random;
        let mut log_dirs = Vec::new();
        if self.version.has_directory_assignment() {
            log_dirs.extend((0..1 + n.below(2)).map(|which| directory(broker_id, which as u128)));
        }
        let record = RegisterBrokerRecord {
            broker_id,
            broker_epoch,
            incarnation_id: Uuid::from_u128(n.next_u64().into()),
            fenced: n.chance(10),
            in_controlled_shutdown: n.chance(8),
            log_dirs,
            ..Default::default()
        };
        record.into()
    }

    fn topic(&mut self, number: usize) -> Vec<MetadataRecord> {
        let (name, topic_id) = (format!("t{number}"), Uuid::from_u128(7 << 64 | number as u128));
        let record = TopicRecord { name: name.clone(), topic_id, ..Default::default() };
        let mut records = vec![record.into()];
        for index in 0..1 + self.random.below(3) {
            records.push(self.partition(topic_id, index).into());
        }
        let n = &mut self.random;
        if n.chance(50) {
            let value = n.pick(&["1", "2", "3"]);
            records.push(config(2, &name, "min.insync.replicas", value));
        }
        if n.chance(60) {
            records.push(config(2, &name, "unclean.leader.election.enable", "true"));
        }
        records
    }

    fn partition(&mut self, topic_id: Uuid, partition_id: i32) -> PartitionRecord {
        let n = &mut self.random;
        let mut left = BROKERS.to_vec();
        let replicas: Vec<i32> =
            (0..1 + n.below(4)).map(|_| left.remove(n.below(left.len()))).collect();
        let (mut adding_replicas, mut removing_replicas) = (Vec::new(), Vec::new());
        if n.chance(40) {
            for id in &replicas {
                match n.below(4) {
                    0 => adding_replicas.push(*id),
                    1 => removing_replicas.push(*id),
                    _ => {}
                }
            }
        }
        let is_recovering = n.chance(20);
        let mut isr = some(n, &replicas, 70);
        if is_recovering {
            isr.truncate(1);
        }
        let leader = match isr.is_empty() {
            true => NO_LEADER,
            false => *n.pick(&isr),
        };
        let (mut elr, mut last_known_elr) = (None, None);
        if self.version.has_elr() && n.chance(30) {
            let outside: Vec<i32> =
                replicas.iter().copied().filter(|id| !isr.contains(id)).collect();
            elr = Some(some(n, &outside, 60)).filter(|elr| !elr.is_empty());
            last_known_elr = n.chance(30).then(|| vec![*n.pick(&replicas)]);
        }
        let mut directories = Vec::new();
        if self.version.has_directory_assignment() {
            // Of those that are in sync, all at once: somebody else may have to lead.
            let are_lost = n.chance(25);
            directories.extend(replicas.iter().map(|id| match n.below(20) {
                _ if are_lost && isr.contains(id) => LOST,
                0 => LOST,
                1 => MIGRATING,
                2 => UNASSIGNED,
                // Online only where there is a second one.
                3 => directory(*id, 1),
                _ => directory(*id, 0),
            }));
        }
        PartitionRecord {
            partition_id,
            topic_id,
            replicas,
            isr,
            removing_replicas,
            adding_replicas,
            leader,
            leader_recovery_state: i8::from(is_recovering),
            leader_epoch: n.below(5),
            partition_epoch: n.below(9),
            directories,
            eligible_leader_replicas: elr,
            last_known_elr,
            ..Default::default()
        }
    }

    /// The records are so, on both sides.
    fn replay(&mut self, kafka: &mut Kafka, records: &[MetadataRecord]) {
        let mut delta = Delta::new(self.image.clone());
        let mut command = "replay".to_owned();
        for record in records {
            delta.replay(record).unwrap_or_else(|error| panic!("{error}: {record:?}"));
            let bytes = records::encode(record, self.version).expect("a record");
            command += &format!(" {}", base64(bytes));
        }
        self.image = delta.apply(Provenance::NONE).0;
        kafka.ask(&command);
    }

    /// A broker comes, goes, or begins anew.
    fn change_broker(&mut self, kafka: &mut Kafka) {
        let id = *self.random.pick(&BROKERS);
        let known = self.image.cluster.broker(id).expect("a broker");
        let record = match self.random.chance(50) {
            true => BrokerRegistrationChangeRecord {
                broker_id: id,
                broker_epoch: known.epoch,
                fenced: if known.fenced { -1 } else { 1 },
                ..Default::default()
            }
            .into(),
            false => {
                let epoch = known.epoch + 10;
                self.broker(id, epoch)
            }
        };
        self.replay(kafka, &[record]);
    }

    /// Partitions, most of them led by one broker, and that broker.
    fn led(&mut self) -> (i32, Vec<(Uuid, i32)>) {
        let all: Vec<(Uuid, i32, i32)> = self
            .image
            .topics
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|(i, p)| (topic.id, *i, p.leader)))
            .collect();
        let n = &mut self.random;
        let (_, _, leader) = *n.pick(&all);
        let leader = if leader == NO_LEADER || n.chance(4) { *n.pick(&BROKERS) } else { leader };
        let picked = all
            .into_iter()
            .filter(|(_, _, led_by)| n.chance(if *led_by == leader { 80 } else { 8 }))
            .map(|(id, index, _)| (id, index))
            .collect();
        (leader, picked)
    }

    fn request(&mut self) -> AlterPartitionRequest {
        let (leader, led) = self.led();
        let mut topics: Vec<TopicData> = Vec::new();
        for (topic_id, index) in led {
            let n = &mut self.random;
            let (topic_id, index) = match n.below(40) {
                0 => (Uuid::ZERO, index),
                1 => (Uuid::from_u128(8 << 64), index),
                2 => (topic_id, 9),
                _ => (topic_id, index),
            };
            // Now and then a topic, or a partition of it, stands twice.
            let twice = n.chance(4);
            for _ in 0..1 + usize::from(twice) {
                let wanted = self.wanted(leader, topic_id, index);
                match topics.iter_mut().find(|topic| topic.topic_id == topic_id) {
                    Some(topic) if self.random.chance(90) => topic.partitions.push(wanted),
                    _ => topics.push(TopicData {
                        topic_id,
                        partitions: vec![wanted],
                        ..Default::default()
                    }),
                }
            }
        }
        if topics.is_empty() {
            // Without any Kafka's controller does not ask this class.
            topics.push(TopicData { topic_id: Uuid::ZERO, ..Default::default() });
        }
        AlterPartitionRequest {
            broker_id: if self.random.chance(2) { STRANGER } else { leader },
            broker_epoch: self.epoch_of(leader, 4),
            topics,
            ..Default::default()
        }
    }

    /// A broker's epoch, which is not its own in so many cases of a hundred.
    fn epoch_of(&mut self, broker: i32, percent: usize) -> i64 {
        let epoch = self.image.cluster.broker(broker).map_or(7, |broker| broker.epoch);
        match self.random.chance(percent) {
            true => *self.random.pick(&[epoch - 1, epoch + 1, -1]),
            false => epoch,
        }
    }

    fn wanted(&mut self, leader: i32, topic_id: Uuid, index: i32) -> PartitionData {
        let known = self.image.topics.partition(topic_id, index).cloned();
        let n = &mut self.random;
        let near = |n: &mut Random, epoch: i32| match n.below(14) {
            0 => epoch - 1,
            1 => epoch + 1,
            _ => epoch,
        };
        let mut isr = match &known {
            Some(partition) if n.chance(25) => partition.replicas.clone(),
            Some(partition) if n.chance(85) => {
                let others: Vec<i32> =
                    partition.replicas.iter().copied().filter(|id| *id != leader).collect();
                [&[leader], &some(n, &others, 60)[..]].concat()
            }
            _ => some(n, &[leader, 1, 2, 3, 4, 5, STRANGER, -1], 40),
        };
        let is_recovering = known.as_ref().is_some_and(|partition| partition.is_recovering);
        if is_recovering && n.chance(50) {
            isr.truncate(1);
        }
        let leader_recovery_state = match n.below(100) {
            0..55 => i8::from(is_recovering),
            55..85 => 0,
            85..98 => 1,
            98 => 2,
            _ => -1,
        };
        let epochs = |partition: &Partition| (partition.leader_epoch, partition.partition_epoch);
        let (leader_epoch, partition_epoch) = known.as_deref().map_or((0, 0), epochs);
        PartitionData {
            partition_index: index,
            leader_epoch: near(n, leader_epoch),
            partition_epoch: near(n, partition_epoch),
            leader_recovery_state,
            new_isr: isr.clone(),
            new_isr_with_epochs: isr
                .into_iter()
                .map(|broker_id| BrokerState {
                    broker_id,
                    broker_epoch: self.epoch_of(broker_id, 8),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }
    }

    /// Both sides decide about a request; what they decide is so from then on.
    fn alter(&mut self, kafka: &mut Kafka, node: &BrokerConfig, seen: &mut Seen) {
        let version = if self.random.chance(75) { 3 } else { 2 };
        let request = self.request();
        // What goes over the wire: each version has one kind of ISR.
        let mut w = Writer::new();
        let mut sent = request.clone();
        for wanted in sent.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
            match version {
                2 => wanted.new_isr_with_epochs.clear(),
                _ => wanted.new_isr.clear(),
            }
        }
        sent.encode(&mut w, version).expect("a request");
        let config = kafka::configured(node, &self.image);
        let context = Context { image: &self.image, config: &config };
        let mut random = Random::new(0);
        let decision =
            decide(&context, &sent, &mut || random.next_u64(), |given| given.version = version);

        let mut theirs = kafka.ask(&format!("alter {version} {}", base64(w.to_vec()))).into_iter();
        let their_answer = theirs.next().expect("an answer");
        let read = AlterPartitionResponse::decode(&mut Reader::new(&their_answer), version);
        assert_eq!(decision.response, read.expect("an answer"), "{sent:#?}");
        let mut w = Writer::new();
        decision.response.encode(&mut w, version).expect("an answer");
        assert_eq!(w.to_vec(), their_answer, "{sent:#?}");
        let their_records: Vec<Vec<u8>> = theirs.collect();
        let read = their_records.iter().map(|bytes| records::decode(bytes).expect("a record"));
        assert_eq!(decision.records, read.collect::<Vec<_>>(), "{sent:#?}");
        let ours = decision.records.iter();
        let ours = ours.map(|record| records::encode(record, self.version).expect("a record"));
        assert_eq!(ours.collect::<Vec<_>>(), their_records, "{sent:#?}");

        *seen.refused.entry(decision.response.error_code.0).or_default() += 1;
        for partition in decision.response.topics.iter().flat_map(|topic| &topic.partitions) {
            *seen.codes.entry(partition.error_code.0).or_default() += 1;
        }
        for record in &decision.records {
            let MetadataRecord::PartitionChange(change) = record else { panic!("{record:?}") };
            seen.records += 1;
            seen.completed +=
                usize::from(change.adding_replicas.is_some() || change.removing_replicas.is_some());
            seen.elr += usize::from(change.eligible_leader_replicas.is_some());
            seen.recovered += usize::from(change.leader_recovery_state == 0);
            seen.unclean += usize::from(change.leader_recovery_state == 1);
        }
        self.replay(kafka, &decision.records);
    }
}

fn config(resource_type: i8, resource: &str, name: &str, value: &str) -> MetadataRecord {
    let record = ConfigRecord {
        resource_type,
        resource_name: resource.into(),
        name: name.into(),
        value: Some(value.into()),
        ..Default::default()
    };
    record.into()
}

#[test]
fn isr_changes_are_kafkas() {
    if oracle::jars().is_none() {
        return;
    }
    let mut kafka = Kafka::start();
    let node = kafka::node_config();
    let mut seen = Seen::default();
    let seeds = oracle_seeds(CASES);
    let is_whole = seeds.end - seeds.start >= CASES;
    for seed in seeds {
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut world = RandomCluster::new(seed, &mut kafka);
            for _ in 0..STEPS {
                if world.random.chance(15) {
                    world.change_broker(&mut kafka);
                } else {
                    world.alter(&mut kafka, &node, &mut seen);
                }
            }
        }));
        if let Err(panic) = run {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
    eprintln!("{seen:?}");
    if is_whole {
        check(&seen);
    }
}

/// That everything happened which the test is about.
fn check(seen: &Seen) {
    let count = |counts: &BTreeMap<i16, usize>, code: ErrorCode| {
        counts.get(&code.0).copied().unwrap_or_default()
    };
    for code in [
        ErrorCode::NONE,
        ErrorCode::UNKNOWN_TOPIC_ID,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::NOT_CONTROLLER,
        ErrorCode::FENCED_LEADER_EPOCH,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::INVALID_UPDATE_VERSION,
        ErrorCode::INELIGIBLE_REPLICA,
        ErrorCode::NEW_LEADER_ELECTED,
    ] {
        assert!(count(&seen.codes, code) > 20, "{code}: {seen:?}");
    }
    for code in [ErrorCode::NONE, ErrorCode::STALE_BROKER_EPOCH, ErrorCode::UNKNOWN_SERVER_ERROR] {
        assert!(count(&seen.refused, code) > 20, "{code}: {seen:?}");
    }
    let happened = [seen.records, seen.completed, seen.elr, seen.recovered];
    assert!(happened.iter().all(|count| *count > 20), "{seen:?}");
    assert_ne!(seen.unclean, 0, "{seen:?}");
}
