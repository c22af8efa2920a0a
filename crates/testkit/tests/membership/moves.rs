//! Leaders that move under load, from and to brokers of both makes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg::{Delivery, Position};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::interval;

use super::*;

const JAVA: i32 = 1;
const SECOND: i32 = 11;
const MOVES: usize = 20;
/// Records of a load that are acknowledged and read before anything is counted, and between two moves.
const RECORDS: u64 = 200;

/// A producer that writes numbers to `moves-0`, one a millisecond, each once.
struct Load {
    cluster: Cluster,
    acknowledged: Arc<AtomicU64>,
    is_over: watch::Sender<bool>,
    /// Gives how many were sent, and the batches that had to be sent again.
    task: JoinHandle<(u64, u64)>,
}

impl Load {
    async fn begin(bootstrap: &str) -> Load {
        let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
        let config = ProducerConfig::default().with_linger(Duration::ZERO);
        let producer = Producer::new(cluster.clone(), config).unwrap();
        let acknowledged = Arc::new(AtomicU64::new(0));
        let (is_over, over) = watch::channel(false);
        let task = tokio::spawn(write(producer, Arc::clone(&acknowledged), over));
        Load { cluster, acknowledged, is_over, task }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }
}

async fn write(
    producer: Producer,
    acknowledged: Arc<AtomicU64>,
    over: watch::Receiver<bool>,
) -> (u64, u64) {
    let mut waiting: VecDeque<Delivery> = VecDeque::new();
    let mut ticks = interval(Duration::from_millis(1));
    let mut sent = 0u64;
    let mut next_offset = 0;
    while !*over.borrow() || !waiting.is_empty() {
        tokio::select! {
            _ = ticks.tick(), if !*over.borrow() => {
                let value = sent.to_be_bytes();
                let record = ProducerRecord::new("moves").with_partition(0).with_value(&value);
                waiting.push_back(producer.send(record).await.unwrap());
                sent += 1;
            }
            delivered = async { waiting.front_mut().unwrap().await }, if !waiting.is_empty() => {
                assert_eq!(delivered.unwrap().offset, next_offset, "in order, and once");
                next_offset += 1;
                waiting.pop_front();
                acknowledged.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    (sent, producer.counts().retries)
}

/// A consumer that reads them, and panics at one that is not the next.
struct Reading {
    cluster: Cluster,
    read: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Reading {
    async fn begin(bootstrap: &str) -> Reading {
        let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
        let mut consumer = Consumer::new(cluster.clone(), ConsumerConfig::default()).unwrap();
        consumer.assign([(TopicPartition::new("moves", 0), Some(Position::at(0)))]).unwrap();
        let read = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&read);
        let task = tokio::spawn(async move {
            loop {
                for record in &consumer.poll(500).await.unwrap() {
                    let number = u64::from_be_bytes(record.value().unwrap().try_into().unwrap());
                    assert_eq!(number, counted.fetch_add(1, Ordering::SeqCst));
                }
            }
        });
        Reading { cluster, read, task }
    }

    fn read(&self) -> u64 {
        self.read.load(Ordering::SeqCst)
    }
}

/// A Java node, two brokers that joined it, and a topic that is written and read.
struct TopicUnderLoad {
    load: Load,
    reading: Reading,
    admin: Admin,
    brokers: [TestBroker; 2],
    _kafka: Kafka,
    _data: [Data; 2],
}

impl TopicUnderLoad {
    /// With the topic on these brokers; `None` without Kafka.
    async fn begin(replicas: &[i32]) -> Option<TopicUnderLoad> {
        let kafka = Kafka::builder()?
            .feature("transaction.version", 0)
            .feature("share.version", 0)
            .feature("streams.version", 0)
            .start();
        let data = [Data::new(), Data::new()];
        let start = async |data: &Data, id: i32| {
            joining(&kafka).data(&data.0).config("node.id", id).start().await
        };
        let brokers = [start(&data[0], OWN).await, start(&data[1], SECOND).await];
        let bootstrap = format!("{},{}", kafka.bootstrap(Kafka::INTERNAL), brokers[0].bootstrap());
        let admin = admin(&bootstrap).await;
        let all = BTreeSet::from([JAVA, OWN, SECOND]);
        eventually("three brokers", async || super::brokers(&admin).await == all).await;
        let assignment = replicas.iter().map(i32::to_string).collect::<Vec<_>>().join(":");
        let args = ["--create", "--topic", "moves", "--replica-assignment", &assignment];
        topic_tool(&bootstrap, &[&args[..], &["--config", "min.insync.replicas=2"]].concat());
        eventually("all in sync", async || in_sync(&admin, "moves", replicas.len()).await).await;
        let (load, reading) = (Load::begin(&bootstrap).await, Reading::begin(&bootstrap).await);
        Some(TopicUnderLoad { load, reading, admin, brokers, _kafka: kafka, _data: data })
    }

    /// So many records more are acknowledged and read.
    async fn goes_on(&self, records: u64) {
        let (load, reading) = (&self.load, &self.reading);
        let (sent, seen) = (load.acknowledged() + records, reading.read() + records);
        let is_over = || load.task.is_finished() || reading.task.is_finished();
        eventually("progress", async || {
            is_over() || (load.acknowledged() >= sent && reading.read() >= seen)
        })
        .await;
        assert!(!is_over(), "the producer or the consumer has given up");
    }

    /// Of the producer and of the consumer.
    fn metadata_requests(&self) -> [u64; 2] {
        [self.load.cluster.metadata_requests(), self.reading.cluster.metadata_requests()]
    }

    /// Gives the partition these replicas, of which the first should lead.
    async fn reassign(&self, replicas: Vec<i32>) {
        let target = [(TopicPartition::new("moves", 0), Some(replicas))];
        let reassigned = self.admin.alter_partition_reassignments(target).await;
        assert!(reassigned.values().all(Result::is_ok), "{reassigned:?}");
    }

    /// All that was sent is read, once and in order.
    async fn finish(self) {
        let TopicUnderLoad { load, reading, .. } = self;
        load.is_over.send(true).unwrap();
        let (sent, retries) = load.task.await.unwrap();
        assert!(
            retries >= MOVES as u64,
            "only {retries} batches were refused: the leader did not move"
        );
        eventually("the last record", async || reading.read() >= sent).await;
        reading.task.abort();
        assert_eq!(reading.read(), sent);
        for broker in self.brokers {
            broker.shut_down().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_under_load_cost_no_metadata_request_and_no_record() {
    let all = [JAVA, OWN, SECOND];
    let Some(world) = TopicUnderLoad::begin(&all).await else { return };
    world.goes_on(RECORDS).await;
    let before = world.metadata_requests();
    let moved = TopicPartition::new("moves", 0);
    let turns = [OWN, SECOND, JAVA, SECOND, OWN, JAVA].into_iter().cycle();
    for (at, next) in turns.take(MOVES).enumerate() {
        let mut replicas = vec![next];
        replicas.extend(all.iter().filter(|id| **id != next));
        world.reassign(replicas).await;
        // A replica that has fallen behind is not elected.
        let admin = &world.admin;
        eventually("all in sync", async || in_sync(admin, "moves", all.len()).await).await;
        let elected = admin.elect_leaders(Election::Preferred, Some(vec![moved.clone()])).await;
        let elected = elected.unwrap();
        assert!(elected.values().all(Result::is_ok), "move {at} to {next}: {elected:?}");
        world.goes_on(RECORDS).await;
    }
    assert_eq!(world.metadata_requests(), before, "of the producer and the consumer");
    world.finish().await;
}

/// The leader has no replica any more when it refuses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_that_go_to_other_brokers_cost_no_metadata_request_and_no_record() {
    let brokers = [OWN, SECOND, JAVA];
    let Some(world) = TopicUnderLoad::begin(&brokers[..2]).await else { return };
    world.goes_on(RECORDS).await;
    let before = world.metadata_requests();
    for at in 1..=MOVES {
        let target = vec![brokers[at % 3], brokers[(at + 1) % 3]];
        world.reassign(target.clone()).await;
        let topic = TopicRef::from("moves");
        eventually("the new replicas", async || {
            let described = world.admin.describe_topics([topic.clone()]).await;
            let Some(Ok(described)) = described.get(&topic) else { return false };
            let partition = &described.partitions[0];
            partition.replicas == target && partition.isr.len() == target.len()
        })
        .await;
        world.goes_on(RECORDS).await;
    }
    assert_eq!(world.metadata_requests(), before, "of the producer and the consumer");
    world.finish().await;
}

/// A consumer has one fetch at a broker, which cannot ask for a partition that comes there while it waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumers_of_a_topic_do_not_wait_where_another_of_its_partitions_is_elected() {
    /// Longer than anything is waited for here.
    const WAIT_MS: i32 = 600_000;
    let Some(world) = TopicUnderLoad::begin(&[SECOND, OWN]).await else { return };
    let bootstrap = world.brokers[0].bootstrap();
    for (topic, assignment) in [("two", "10:11,11:10"), ("other", "10:11")] {
        topic_tool(&bootstrap, &["--create", "--topic", topic, "--replica-assignment", assignment]);
        let admin = &world.admin;
        eventually("all in sync", async || in_sync(admin, topic, 2).await).await;
    }
    // Their first leaders are elected, too; a record is sent every millisecond, so this takes longer than that counts.
    world.goes_on(5 * RECORDS).await;
    let names = ["two", "other"].map(TopicRef::from);
    let described = world.admin.describe_topics(names.clone()).await;
    let fetches = names.map(|name| {
        let topic = described[&name].as_ref().unwrap().id;
        let at = world.brokers[0].bootstrap();
        tokio::spawn(async move {
            let client = support::connect_to(&at).await;
            client.fetch_waiting(topic, 0, 0, WAIT_MS).await
        })
    });
    let parked = || support::metric(&world.brokers[0], "thalweg_fetches_parked_total");
    let (before, moved) = (parked(), TopicPartition::new("two", 1));
    eventually("fetches that wait", async || parked() > before + 1).await;
    let target = [(moved.clone(), Some(vec![OWN, SECOND]))];
    let reassigned = world.admin.alter_partition_reassignments(target).await;
    assert!(reassigned.values().all(Result::is_ok), "{reassigned:?}");
    assert!(!fetches[0].is_finished(), "there is nothing to read");
    let elected = world.admin.elect_leaders(Election::Preferred, Some(vec![moved])).await;
    assert!(elected.unwrap().values().all(Result::is_ok));
    let [two, other] = fetches;
    let answered = tokio::time::timeout(WAIT, two).await.expect("an answer").unwrap();
    assert_eq!(answered, Ok(Vec::new()));
    assert!(!other.is_finished(), "a consumer of another topic");
    other.abort();
    world.goes_on(RECORDS).await;
}
