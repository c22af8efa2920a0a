//! Power cuts at any point of a broker's life, from its first start to its stop, also while it starts
//! after another one: see `thalweg_log::testing::crash` for what they leave. Whatever that is, the
//! broker starts again by itself, knows all that it has acknowledged of its metadata, has the records
//! that were flushed, and takes new ones.
//!
//! `THALWEG_CRASH_SEEDS`, `THALWEG_SEED_BASE` and `THALWEG_SEED` say which seeds run. A seed decides
//! what is done and where the cuts are; the broker's own threads may still come in another order.

use crate::support;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use support::Client;
use thalweg_random::Random;
use thalweg_testkit::crash::{CrashDisk, with_seeds};
use thalweg_testkit::requests::{self, Resource};
use thalweg_testkit::{TempDir, TestBroker};
use thalweg_wire::messages::describe_configs_request::DescribeConfigsResource;
use thalweg_wire::messages::metadata_request::MetadataRequestTopic;
use thalweg_wire::messages::{DescribeConfigsRequest, MetadataRequest};
use thalweg_wire::{ErrorCode, Uuid};

const TOPIC: i8 = 2;
const NAMES: [&str; 4] = ["w", "x", "y", "z"];

/// What the metadata says of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Topic {
    id: Uuid,
    partitions: i32,
    max_bytes: String,
}

type Topics = BTreeMap<String, Topic>;

/// Records of a partition: value and when it was sent.
#[derive(Clone, Default)]
struct Records {
    all: Vec<(String, usize)>,
    /// When all up to an offset was promised to stay.
    kept: Vec<(usize, i64)>,
    /// When the start was asked to be there.
    start: Vec<(usize, i64)>,
}

/// What was told to a client, and when: positions count from 1, 0 is what was there before.
#[derive(Clone, Default)]
struct Told {
    /// When each change began and when it was acknowledged, with what is true from there on.
    topics: Vec<(usize, usize, Topics)>,
    records: BTreeMap<(Uuid, i32), Records>,
    /// Epochs in which the quorum's leader has served, and since when.
    epochs: Vec<(usize, i32)>,
    /// Which of the topics flush each append.
    flushed: BTreeMap<Uuid, bool>,
}

fn max_until(list: &[(usize, i64)], at: usize) -> i64 {
    list.iter().filter(|(when, _)| *when <= at).map(|(_, offset)| *offset).max().unwrap_or(0)
}

async fn start(path: &Path, disk: &Arc<CrashDisk>, seed: u64) -> TestBroker {
    let busy = seed.is_multiple_of(2);
    let mut builder = TestBroker::builder()
        .data(path)
        .dirs(&["a", "b"])
        .disk_hook(disk.clone())
        .config("offsets.topic.num.partitions", 1)
        .config("metadata.log.max.record.bytes.between.snapshots", 1_500 + seed % 3_000)
        .config("internal.metadata.log.segment.bytes", 2_000)
        .config("metadata.max.retention.bytes", 3_000)
        .config("metadata.log.max.snapshot.interval.ms", if busy { 15 } else { 0 });
    if busy {
        for name in [
            "log.flush.offset.checkpoint.interval.ms",
            "log.flush.start.offset.checkpoint.interval.ms",
            "replica.high.watermark.checkpoint.interval.ms",
            "log.flush.scheduler.interval.ms",
            "log.retention.check.interval.ms",
            "log.initial.task.delay.ms",
        ] {
            builder = builder.config(name, 20);
        }
    }
    builder.try_start().await.expect("the broker starts by itself")
}

/// All topics as the broker shows them, each with a leader for every partition.
async fn shown(client: &Client) -> Topics {
    let request = MetadataRequest { topics: None, ..Default::default() };
    let response = client.connection.send(&request).await.unwrap();
    let mut topics = Topics::new();
    for topic in response.topics {
        let name = topic.name.unwrap().to_string();
        if name.starts_with("__") {
            continue;
        }
        assert_eq!(topic.error_code, ErrorCode::NONE, "{name}");
        for partition in &topic.partitions {
            assert_eq!((partition.error_code, partition.leader_id), (ErrorCode::NONE, 1), "{name}");
        }
        let request = DescribeConfigsRequest {
            resources: vec![DescribeConfigsResource {
                resource_type: TOPIC,
                resource_name: name.as_str().into(),
                configuration_keys: Some(vec!["max.message.bytes".into()]),
                ..Default::default()
            }],
            ..Default::default()
        };
        let answer = client.connection.send(&request).await.unwrap();
        let max_bytes = answer.results[0].configs[0].value.as_ref().unwrap().to_string();
        let partitions = topic.partitions.len() as i32;
        topics.insert(name, Topic { id: topic.topic_id, partitions, max_bytes });
    }
    topics
}

async fn earliest(client: &Client, topic: &str, partition: i32) -> i64 {
    let request = requests::list_offsets(topic, partition, -2);
    let response = client.connection.send(&request).await.unwrap();
    let part = &response.topics[0].partitions[0];
    assert_eq!(part.error_code, ErrorCode::NONE);
    part.offset
}

/// The epoch in `quorum-state`.
fn quorum_epoch(path: &Path) -> i32 {
    let text = std::fs::read_to_string(path.join("a/__cluster_metadata-0/quorum-state")).unwrap();
    let at = text.find("\"leaderEpoch\":").unwrap() + "\"leaderEpoch\":".len();
    let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

impl Told {
    /// Compares what is there after a crash with what was told before; gives what goes on.
    async fn look(&self, client: &Client, path: &Path, when: usize, at: usize) -> Told {
        let epoch = quorum_epoch(path);
        let before = self.epochs.iter().filter(|(since, _)| *since <= when).map(|(_, e)| *e).max();
        assert!(before.is_none_or(|before| before < epoch), "epoch {epoch} after {before:?}");

        let topics = shown(client).await;
        let certain = self.topics.iter().rev().find(|(_, acknowledged, _)| *acknowledged <= when);
        let nothing = Topics::new();
        let certain = certain.map_or(&nothing, |(_, _, topics)| topics);
        let under_way = self
            .topics
            .iter()
            .find(|(begun, acknowledged, _)| *begun < when && *acknowledged > when);
        let is_known =
            topics == *certain || under_way.is_some_and(|(_, _, possible)| topics == *possible);
        assert!(is_known, "there is {topics:?}\nafter {certain:?}\nor {under_way:?}");

        let mut told = Told { epochs: vec![(at, epoch)], ..Told::default() };
        for (name, topic) in &topics {
            let flushed = self.flushed.get(&topic.id).copied().unwrap_or(false);
            told.flushed.insert(topic.id, flushed);
            for partition in 0..topic.partitions {
                let old = self.records.get(&(topic.id, partition)).cloned().unwrap_or_default();
                let records = old.look(client, name, topic.id, partition, when).await;
                told.records.insert((topic.id, partition), records);
            }
        }
        told.topics.push((0, 0, topics));
        told
    }
}

impl Records {
    async fn look(
        &self,
        client: &Client,
        name: &str,
        id: Uuid,
        partition: i32,
        when: usize,
    ) -> Records {
        let what = format!("{name}-{partition}");
        let asked: Vec<_> = self.start.iter().filter(|(begun, _)| *begun < when).copied().collect();
        let asked = max_until(&asked, when);
        let start = earliest(client, name, partition).await;
        let end = client.end(name, partition).await.expect("the partition is served");
        assert!(start <= asked, "{what} starts at {start}, asked was for {asked}");
        let kept = max_until(&self.kept, when);
        assert!(end >= kept, "{what} ends at {end}, {kept} were flushed");
        let values = client.fetch_from(id, partition, start).await.expect("it can be read");
        // Where a segment has lost its end a gap follows; then the last records are found.
        let mut sent = self.all.iter().enumerate().skip(start as usize);
        for value in &values {
            let (offset, (_, begun)) = sent
                .find(|(_, (sent, _))| sent == value)
                .unwrap_or_else(|| panic!("{what}: {value}"));
            assert!(*begun < when, "{what}: {value} at {offset} was not sent yet");
        }
        for (value, _) in self.all.iter().take(kept as usize).skip(start.max(asked) as usize) {
            assert!(values.contains(value), "{what}: {value} is gone, it was flushed");
        }
        let mut all: Vec<_> = self.all.iter().map(|(value, _)| (value.clone(), 0)).collect();
        all.resize(end as usize, ("never sent".to_owned(), 0));
        Records { all, kept: vec![(0, kept)], start: vec![(0, asked)] }
    }
}

struct Life<'a> {
    disk: &'a Arc<CrashDisk>,
    client: Client,
    told: Told,
    count: u64,
}

impl Life<'_> {
    fn at(&self) -> usize {
        self.disk.position() + 1
    }

    fn topics(&self) -> Topics {
        self.told.topics.last().map(|(_, _, topics)| topics.clone()).unwrap_or_default()
    }

    async fn step(&mut self, random: &mut Random) {
        let mut topics = self.topics();
        let name = NAMES[random.below(4) as usize];
        let begun = self.at();
        let changes = match (random.below(20), topics.get(name).cloned()) {
            (_, None) => {
                let flush = random.one_in(2);
                let configs: &[_] = if flush {
                    &[("flush.messages", "1"), ("retention.ms", "-1")]
                } else {
                    &[("retention.ms", "-1")]
                };
                let partitions = 1 + random.below(3);
                let max_bytes = "1048588".to_owned();
                let id = self.client.create(name, partitions, configs).await;
                topics.insert(name.into(), Topic { id, partitions, max_bytes });
                self.told.flushed.insert(id, flush);
                true
            }
            (0..2, Some(_)) => {
                assert_eq!(self.client.delete(name).await, ErrorCode::NONE);
                topics.remove(name);
                true
            }
            (2..4, Some(topic)) => {
                let value = format!("{}", 1_000_000 + random.below(1_000));
                self.configure(name, &value).await;
                topics.insert(name.into(), Topic { max_bytes: value, ..topic });
                true
            }
            (4, Some(topic)) if topic.partitions < 5 => {
                let partitions = topic.partitions + 1;
                assert_eq!(self.client.add_partitions(name, partitions).await, ErrorCode::NONE);
                topics.insert(name.into(), Topic { partitions, ..topic });
                true
            }
            (5, Some(topic)) => {
                let partition = random.below(topic.partitions as u64) as i32;
                let records = self.told.records.entry((topic.id, partition)).or_default();
                let to = random.below(records.all.len() as u64 + 1) as i64;
                records.start.push((begun, to));
                self.delete_records(name, partition, to).await;
                false
            }
            (6, Some(topic)) => {
                let group = format!("group-{}", random.below(3));
                let code = self.client.until_loaded(&group, topic.id, 7).await;
                assert!(matches!(code, ErrorCode::NONE | ErrorCode::NOT_COORDINATOR), "{code}");
                false
            }
            (_, Some(topic)) => {
                let partition = random.below(topic.partitions as u64) as i32;
                self.count += 1;
                let value = format!("value {}-{}", random.next_u64(), self.count);
                let records = self.told.records.entry((topic.id, partition)).or_default();
                let offset = records.all.len() as i64;
                records.all.push((value.clone(), begun));
                let answer = self.client.produce(topic.id, partition, &value).await;
                assert_eq!(answer, Ok(offset), "{name}-{partition}");
                let at = self.at();
                if self.told.flushed.get(&topic.id) == Some(&true)
                    && let Some(records) = self.told.records.get_mut(&(topic.id, partition))
                {
                    records.kept.push((at, offset + 1));
                }
                false
            }
        };
        if changes {
            self.told.topics.push((begun, self.at(), topics));
        }
    }

    async fn configure(&self, name: &str, value: &str) {
        let set = self.client.set(Resource::Topic(name), "max.message.bytes", value).await;
        assert_eq!(set, ErrorCode::NONE);
    }

    async fn delete_records(&self, name: &str, partition_index: i32, offset: i64) {
        let code = self.client.delete_records(name, partition_index, offset).await;
        // Behind the start it is not, where that was asked for before.
        assert!(matches!(code, ErrorCode::NONE | ErrorCode::OFFSET_OUT_OF_RANGE), "{code}");
    }

    /// All that is there is kept from here on.
    fn stopped(&mut self) {
        let at = self.at();
        for records in self.told.records.values_mut() {
            records.kept.push((at, records.all.len() as i64));
        }
    }
}

/// Starts a broker on what a crash has left, looks, works for a while, and stops it.
async fn live(
    path: &Path,
    disk: &Arc<CrashDisk>,
    seed: u64,
    told: &Told,
    when: usize,
    steps: u64,
    random: &mut Random,
) -> Told {
    let broker = start(path, disk, seed).await;
    let client = support::connect(&broker).await;
    let told = told.look(&client, path, when, disk.position() + 1).await;
    let mut life = Life { disk, client, told, count: 0 };
    for _ in 0..steps {
        life.step(random).await;
    }
    // New records go everywhere.
    for (name, topic) in life.topics() {
        for partition in 0..topic.partitions {
            let begun = life.at();
            let records = life.told.records.entry((topic.id, partition)).or_default();
            let offset = records.all.len() as i64;
            let value = format!("last {offset} {}", random.next_u64());
            records.all.push((value.clone(), begun));
            let answer = life.client.produce(topic.id, partition, &value).await;
            assert_eq!(answer, Ok(offset), "{name}-{partition}");
        }
    }
    broker.shut_down().await;
    life.stopped();
    life.told
}

fn run(runtime: &tokio::runtime::Runtime, seed: u64) {
    let mut random = Random::new(seed);
    let mut place = TempDir::in_memory();
    let mut told = Told::default();
    let mut when = 0;
    for life in 0..3 {
        let disk = Arc::new(CrashDisk::new(place.path()));
        let steps = random.below(20);
        let lived = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let living = live(place.path(), &disk, seed, &told, when, steps, &mut random);
            let bounded = async { tokio::time::timeout(Duration::from_secs(60), living).await };
            runtime.block_on(bounded).expect("a life ends within a minute")
        }));
        let after = lived.unwrap_or_else(|panic| {
            fail(&format!("life {life}, after a crash at {when}"), &disk, place.path(), panic)
        });
        let at = random.below(disk.position() as u64 + 1) as usize;
        let left = TempDir::in_memory();
        disk.crash(at, random.next_u64(), left.path());
        // What was true before stays true, until it was changed.
        told = after;
        (place, when) = (left, at + 1);
    }
    let disk = Arc::new(CrashDisk::new(place.path()));
    let lived = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let living = live(place.path(), &disk, seed, &told, when, 0, &mut random);
        let bounded = async { tokio::time::timeout(Duration::from_secs(60), living).await };
        runtime.block_on(bounded).expect("a life ends within a minute");
    }));
    if let Err(panic) = lived {
        fail(&format!("the last life, after a crash at {when}"), &disk, place.path(), panic);
    }
}

/// Says where to look.
#[allow(clippy::print_stderr)]
fn fail(what: &str, disk: &CrashDisk, left: &Path, panic: Box<dyn std::any::Any + Send>) -> ! {
    eprintln!("{what}");
    if std::env::var_os("THALWEG_CRASH_TRACE").is_some() {
        eprintln!("{}it was in {}", disk.trace(disk.position()), left.display());
    }
    std::panic::resume_unwind(panic)
}

#[test]
fn what_is_acknowledged_survives_every_crash() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    with_seeds(40, |seed| run(&runtime, seed));
}

async fn leader_epoch(client: &Client) -> i32 {
    let topic = MetadataRequestTopic { name: Some("t".into()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let response = client.connection.send(&request).await.unwrap();
    let partition = &response.topics[0].partitions[0];
    assert_eq!((partition.error_code, partition.leader_id), (ErrorCode::NONE, 1));
    partition.leader_epoch
}

/// A start after a crash gives every partition a new leader epoch, by which clients find out what of the
/// log was lost. It is on the disk before anybody is told, or the next start would give the same one again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_starts_after_crashes_tell_the_same_leader_epoch() {
    const CALM: u64 = 1;
    let (first, left) = (TempDir::in_memory(), TempDir::in_memory());
    let disk = Arc::new(CrashDisk::new(first.path()));
    let broker = start(first.path(), &disk, CALM).await;
    let client = support::connect(&broker).await;
    client.create("t", 1, &[]).await;
    let before = leader_epoch(&client).await;
    disk.crash(disk.position(), 0, left.path());
    broker.shut_down().await;

    let disk = Arc::new(CrashDisk::new(left.path()));
    let broker = start(left.path(), &disk, CALM).await;
    let told = leader_epoch(&support::connect(&broker).await).await;
    assert!(told > before, "{told} after {before}");
    let at = disk.position();
    for seed in 0..10 {
        let left = TempDir::in_memory();
        disk.crash(at, seed, left.path());
        let disk = Arc::new(CrashDisk::new(left.path()));
        let broker = start(left.path(), &disk, CALM).await;
        let next = leader_epoch(&support::connect(&broker).await).await;
        assert!(next > told, "seed {seed}: {next} after {told}");
        broker.shut_down().await;
    }
    broker.shut_down().await;
}
