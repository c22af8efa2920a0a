//! Three nodes of Apache Kafka: leaders that move all the time, followers that are nearer, nodes
//! that die, logs that lose records. One cluster for all: it takes seconds to start.
//!
//! Needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable there is nothing to do, and the test says so.

use crate::support::tap;
use crate::support::traffic;

use std::collections::BTreeMap;
use std::time::Duration;

use tap::Tap;
use thalweg::PartitionErrorKind;
use thalweg::admin::{Admin, AdminConfig, Election, Mode, NewTopic, TopicRef};
use thalweg::{
    Assignor, Cluster, Consumer, ConsumerConfig, Error, GroupProtocol, OffsetReset, Options,
    Position, Producer, ProducerConfig, ProducerRecord, TopicPartition,
};
use thalweg_testkit::kafka::Kafka;
use thalweg_testkit::requests;
use thalweg_wire::{ApiKey, ErrorCode};
use traffic::{Book, Reader, Writer, partitions, until};

/// The listener behind a [`Tap`].
const TAPPED: &str = "TAPPED";
const SELECTOR: &str = "org.apache.kafka.common.replica.RackAwareReplicaSelector";
/// What a node has: id `n` is in rack `rack-n`.
const NODES: usize = 3;

fn tp(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition::new(topic, partition)
}

fn node_of(id: i32) -> usize {
    usize::try_from(id - 1).unwrap()
}

struct Bench {
    kafka: Kafka,
    tap: Tap,
    admin: Admin,
}

impl Bench {
    async fn start() -> Option<Bench> {
        let mut tap = Tap::bind(NODES).await;
        let mut builder = Kafka::builder()?
            .nodes(NODES)
            .listener(TAPPED, "PLAINTEXT")
            .advertise(TAPPED, tap.ports())
            .config("replica.selector.class", SELECTOR)
            // A node that is dead is taken for dead soon.
            .config("broker.session.timeout.ms", 3_000)
            .config("broker.heartbeat.interval.ms", 500)
            .config("group.consumer.min.heartbeat.interval.ms", 100)
            .config("group.consumer.heartbeat.interval.ms", 200);
        for node in 0..NODES {
            builder = builder.node_config(node, "broker.rack", format!("rack-{}", node + 1));
        }
        let kafka = tokio::task::block_in_place(|| builder.start());
        let behind: Vec<String> = (0..NODES).map(|node| kafka.address(node, TAPPED)).collect();
        tap.lead_to(&behind);
        let cluster = connect(&kafka.bootstrap(Kafka::INTERNAL)).await;
        Some(Bench { kafka, tap, admin: Admin::new(cluster, AdminConfig::default()) })
    }

    async fn cluster(&self) -> Cluster {
        connect(&self.kafka.bootstrap(Kafka::INTERNAL)).await
    }

    async fn consumer(&self, config: ConsumerConfig) -> Consumer {
        Consumer::new(self.cluster().await, config).unwrap()
    }

    async fn create(&self, topic: NewTopic) {
        let name = topic.name.clone();
        let created = self.admin.create_topics(vec![topic], Mode::Apply).await;
        created[&name].as_ref().unwrap();
        until("a leader", async || {
            let described = self.describe(&name).await;
            described.is_some_and(|topic| topic.iter().all(|(leader, _)| leader.is_some()))
        })
        .await;
    }

    /// Leader and its epoch of each partition.
    async fn describe(&self, topic: &str) -> Option<Vec<(Option<i32>, i32)>> {
        let wanted = TopicRef::Name(topic.to_owned());
        let described = self.admin.describe_topics([wanted.clone()]).await;
        let partitions = &described[&wanted].as_ref().ok()?.partitions;
        Some(partitions.iter().map(|p| (p.leader, p.leader_epoch)).collect())
    }

    /// The node that looks after a group.
    async fn coordinator(&self, group: &str) -> i32 {
        let request = requests::find_group_coordinator(group);
        let mut node = -1;
        until("a coordinator", async || {
            let answer = self.admin.cluster().send_any(&request).await.unwrap();
            let found = &answer.coordinators[0];
            node = found.node_id;
            found.error_code == ErrorCode::NONE
        })
        .await;
        node
    }

    fn kill(&mut self, id: i32) {
        self.kafka.kill(node_of(id));
    }

    fn start_again(&mut self, id: i32) {
        tokio::task::block_in_place(|| self.kafka.start_again(node_of(id)));
    }
}

async fn connect(bootstrap: &str) -> Cluster {
    Cluster::connect(bootstrap, Options::default()).await.unwrap()
}

fn earliest() -> ConsumerConfig {
    ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest)
}

/// Writes numbers to a partition 0; the first must come to lie there.
async fn write(producer: &Producer, topic: &str, numbers: std::ops::Range<i64>) {
    let mut deliveries = Vec::new();
    for number in numbers.clone() {
        let value = number.to_string();
        let record = ProducerRecord {
            topic,
            partition: Some(0),
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        deliveries.push(producer.send(record).await.unwrap());
    }
    for (delivery, number) in deliveries.into_iter().zip(numbers) {
        assert_eq!(delivery.await.unwrap().offset, number, "{topic}");
    }
}

/// The next offsets that a consumer reads.
async fn read(consumer: &mut Consumer, count: usize) -> Vec<i64> {
    let mut offsets = Vec::new();
    while offsets.len() < count {
        let polled =
            tokio::time::timeout(traffic::WAIT_LIMIT, consumer.poll(count - offsets.len()));
        let records = polled.await.unwrap_or_else(|_| panic!("nothing comes: {}", consumer.why()));
        offsets.extend(records.unwrap().iter().map(|record| record.offset()));
    }
    offsets
}

/// Why a partition cannot be read any more.
async fn failure(consumer: &mut Consumer) -> PartitionErrorKind {
    let polled = tokio::time::timeout(traffic::WAIT_LIMIT, consumer.poll(1)).await;
    match polled.unwrap_or_else(|_| panic!("no error: {}", consumer.why())) {
        Err(Error::Partition(error)) => error.kind,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes() {
    let Some(mut bench) = Bench::start().await else { return };
    leaders_move(&bench).await;
    nodes_die(&mut bench).await;
}

/// Every fifth of a second each partition gets another leader, while it is written and read.
async fn leaders_move(bench: &Bench) {
    const MOVES: i32 = 20;
    let topic = "moves";
    bench.create(NewTopic::new(topic).with_partitions(6).with_replication_factor(3)).await;
    let all = partitions(&[(topic, 6)]);
    let before = bench.describe(topic).await.unwrap();
    bench.tap.take();
    let pause = Duration::from_millis(2);
    let writer = Writer::start(connect(&bench.tap.bootstrap()).await, all.clone(), pause);
    let mut consumer = Consumer::new(connect(&bench.tap.bootstrap()).await, earliest()).unwrap();
    consumer.assign(all.iter().map(|at| (at.clone(), None))).unwrap();
    let book = Book::default();
    let reader = Reader::start("it", consumer, book.clone());
    writer.advance(50).await;
    for round in 0..MOVES {
        let preferred = |at: &TopicPartition| {
            let order = (0..3).map(|nth| (at.partition + round + nth) % 3 + 1);
            (at.clone(), Some(order.collect()))
        };
        let targets: BTreeMap<_, _> = all.iter().map(preferred).collect();
        let accepted = bench.admin.alter_partition_reassignments(targets).await;
        assert!(accepted.values().all(Result::is_ok), "{accepted:?}");
        // One that is not in sync for a moment keeps its leader.
        let elected = bench.admin.elect_leaders(Election::Preferred, Some(all.clone())).await;
        assert_eq!(elected.unwrap().len(), all.len());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (written, produced) = writer.stop().await;
    book.reach(&all, written).await;
    let mut consumer = reader.stop().await;
    let more = consumer.poll_timeout(1, Duration::from_millis(600)).await.unwrap();
    assert!(more.is_empty(), "more than was written");
    book.assert_complete("the consumer", &all, written);
    let after = bench.describe(topic).await.unwrap();
    let moves: Vec<i32> = before.iter().zip(&after).map(|(one, other)| other.1 - one.1).collect();
    assert!(moves.iter().all(|moves| *moves >= MOVES / 2), "leaders stayed: {moves:?}");
    let seen = bench.tap.take();
    let (metadata, fetched) = (seen.requests(ApiKey::METADATA), consumer.counts());
    eprintln!("{written} each, epochs {moves:?}, {metadata} Metadata, {produced:?}, {fetched:?}");
}

/// One node dies, then another while the first comes back, then that one comes back, too.
async fn nodes_die(bench: &mut Bench) {
    let group = "classic";
    let victim = bench.coordinator(group).await;
    let other = victim % 3 + 1;
    let third = other % 3 + 1;
    let mut also = String::new();
    for number in 0.. {
        also = format!("consumer-{number}");
        if bench.coordinator(&also).await == victim {
            break;
        }
    }
    let topic = "deaths";
    let replicated = NewTopic::new(topic).with_partitions(6).with_replication_factor(3);
    bench.create(replicated.with_config("min.insync.replicas", "2")).await;
    let near = "near";
    let led = NewTopic::new(near).with_assignment(0, [other, victim, third]);
    bench.create(led.with_config("min.insync.replicas", "2")).await;
    let unclean = "unclean";
    let led = NewTopic::new(unclean).with_assignment(0, [other, victim]);
    bench.create(led.with_config("unclean.leader.election.enable", "true")).await;
    let lost = "lost";
    bench.create(NewTopic::new(lost).with_assignment(0, [victim])).await;

    // Who writes and reads all the time.
    let all = partitions(&[(topic, 6)]);
    let pause = Duration::from_millis(5);
    let writer = Writer::start(bench.cluster().await, all.clone(), pause);
    let mut books = BTreeMap::new();
    let mut readers = Vec::new();
    let assigned = Book::default();
    let mut consumer = bench.consumer(earliest()).await;
    consumer.assign(all.iter().map(|at| (at.clone(), None))).unwrap();
    readers.push(Reader::start("it", consumer, assigned.clone()));
    books.insert("assigned", assigned);
    for (name, group, group_protocol) in [
        ("classic", group, GroupProtocol::Classic { assignors: vec![Assignor::Range] }),
        ("KIP-848", &*also, GroupProtocol::Consumer { server_assignor: None }),
    ] {
        let book = Book::default();
        for member in ["one", "two"] {
            let quick = Duration::from_millis(200);
            let mut config = earliest()
                .with_group_id(group)
                .with_group_protocol(group_protocol.clone())
                .with_auto_commit_interval(quick);
            if matches!(group_protocol, GroupProtocol::Classic { .. }) {
                config = config.with_heartbeat_interval(quick);
            }
            let mut consumer = bench.consumer(config).await;
            consumer.subscribe([topic]).unwrap();
            readers.push(Reader::start(member, consumer, book.clone()));
        }
        books.insert(name, book);
    }
    until("members share", async || readers[1..].iter().all(|r| r.assignment().len() == 3)).await;
    let advance = async || {
        writer.advance(50).await;
        let count = writer.acknowledged();
        for book in books.values() {
            book.reach(&all, count).await;
        }
    };
    advance().await;

    let producer = Producer::new(bench.cluster().await, ProducerConfig::default()).unwrap();
    let mut nearest = Nearest::start(bench, near, victim).await;
    nearest.reads_from(bench, victim).await;
    let mut cut = [OffsetReset::None, OffsetReset::Latest].map(|reset| (reset, None));
    let mut gone = [OffsetReset::None, OffsetReset::Earliest].map(|reset| (reset, None));
    write(&producer, unclean, 0..10).await;
    write(&producer, lost, 0..10).await;
    for (topic, readers) in [(unclean, &mut cut), (lost, &mut gone)] {
        for (auto_offset_reset, reader) in readers {
            let config = ConsumerConfig::default().with_auto_offset_reset(*auto_offset_reset);
            let mut consumer = bench.consumer(config).await;
            consumer.assign([(tp(topic, 0), Some(Position::at(0)))]).unwrap();
            assert_eq!(read(&mut consumer, 10).await, Vec::from_iter(0..10));
            *reader = Some(consumer);
        }
    }

    bench.kill(victim);
    advance().await;
    // Its coordinator's death is nothing that a group has to come together anew for.
    assert!(readers[1..].iter().all(|reader| reader.assignment().len() == 3));
    nearest.reads_from(bench, other).await;
    // What the dead one will never hear of, and what it forgets.
    write(&producer, unclean, 10..20).await;
    for (_, reader) in &mut cut {
        assert_eq!(read(reader.as_mut().unwrap(), 10).await, Vec::from_iter(10..20));
    }
    let folder = bench.kafka.data().join(format!("node-{victim}/{lost}-0"));
    std::fs::remove_dir_all(&folder).unwrap();

    bench.kill(other);
    bench.start_again(victim);
    advance().await;
    nearest.reads_from(bench, victim).await;
    until("an unclean election", async || {
        bench.describe(unclean).await.is_some_and(|found| found[0].0 == Some(victim))
    })
    .await;
    // The producer's last batches are not in this log, which refuses what is numbered behind them.
    write(&producer, unclean, 10..25).await;
    assert!(producer.counts().epoch_bumps > 0, "{:?}", producer.counts());
    write(&producer, lost, 0..3).await;
    let [(_, stops), (_, goes_on)] = &mut cut;
    let kind = failure(stops.as_mut().unwrap()).await;
    assert_eq!(kind, PartitionErrorKind::Truncated { agrees_to: 10 });
    assert_eq!(read(goes_on.as_mut().unwrap(), 15).await, Vec::from_iter(10..25));
    let [(_, stops), (_, begins_anew)] = &mut gone;
    let kind = failure(stops.as_mut().unwrap()).await;
    let is_gone = matches!(
        kind,
        PartitionErrorKind::OffsetOutOfRange | PartitionErrorKind::Truncated { agrees_to: 0 }
    );
    assert!(is_gone, "{kind:?}");
    assert_eq!(read(begins_anew.as_mut().unwrap(), 3).await, [0, 1, 2]);

    bench.start_again(other);
    advance().await;
    let (written, produced) = writer.stop().await;
    eprintln!("{written} each, {produced:?}");
    for (name, book) in &books {
        book.reach(&all, written).await;
        book.assert_complete(name, &all, written);
    }
    for reader in readers {
        reader.stop().await.close(Duration::from_secs(20)).await.unwrap();
    }
}

/// A consumer in the rack of one node, seen through the tap.
struct Nearest {
    topic: &'static str,
    consumer: Consumer,
    producer: Producer,
    written: i64,
}

impl Nearest {
    async fn start(bench: &Bench, topic: &'static str, id: i32) -> Nearest {
        let config = earliest().with_client_rack(format!("rack-{id}"));
        let tapped = connect(&bench.tap.bootstrap()).await;
        let mut consumer = Consumer::new(tapped, config).unwrap();
        consumer.assign([(tp(topic, 0), None)]).unwrap();
        let producer = Producer::new(bench.cluster().await, ProducerConfig::default()).unwrap();
        Nearest { topic, consumer, producer, written: 0 }
    }

    /// Waits until what is written comes from one node, and only from there.
    async fn reads_from(&mut self, bench: &Bench, id: i32) {
        const RECORDS: i64 = 100;
        until("reading from the nearest", async || {
            bench.tap.take();
            let next = self.written + RECORDS;
            write(&self.producer, self.topic, self.written..next).await;
            let read = read(&mut self.consumer, RECORDS as usize).await;
            assert_eq!(read, Vec::from_iter(self.written..next));
            self.written = next;
            let seen = bench.tap.take();
            let others = (1..=NODES as i32).filter(|other| *other != id).map(node_of);
            let asked = seen.requests_to(node_of(id), ApiKey::FETCH);
            asked > 0 && others.clone().all(|other| seen.requests_to(other, ApiKey::FETCH) == 0)
        })
        .await;
    }
}
