//! Topics that are deleted and created again under their names while they are read, on Thalweg and on
//! Apache Kafka: positions of the old one are void.

use std::time::Duration;

use futures_util::StreamExt;
use thalweg::admin::{Admin, AdminConfig, Mode, NewTopic};
use thalweg::stream::{self, Subscription};
use thalweg::{
    Cluster, Consumer, ConsumerConfig, GroupProtocol, OffsetReset, Options, Position, Producer,
    ProducerConfig, ProducerRecord, TopicPartition,
};
use thalweg_testkit::TestBroker;
use thalweg_testkit::kafka::Shared;
use tokio::time::{Instant, sleep, timeout};

use crate::support::unique;

const LIMIT: Duration = Duration::from_secs(60);

struct Topic {
    cluster: Cluster,
    admin: Admin,
    name: String,
}

impl Topic {
    async fn new(bootstrap: &str, name: &str) -> Topic {
        let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
        let admin = Admin::new(cluster.clone(), AdminConfig::default());
        let topic = Topic { cluster, admin, name: unique(name) };
        topic.create("old", 10).await;
        topic
    }

    fn partition(&self) -> TopicPartition {
        TopicPartition::new(&*self.name, 0)
    }

    /// Creates it, with so many records.
    async fn create(&self, prefix: &str, count: usize) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let topic = NewTopic::new(&self.name).with_partitions(1).with_replication_factor(1);
            let created = self.admin.create_topics([topic], Mode::Apply).await;
            match created.into_values().next().unwrap() {
                Ok(_) => break,
                // The old one is not gone everywhere.
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            sleep(Duration::from_millis(50)).await;
        }
        let producer = Producer::new(self.cluster.clone(), ProducerConfig::default()).unwrap();
        for at in 0..count {
            let value = format!("{prefix} {at}");
            let record = ProducerRecord::new(&self.name).with_value(&value);
            producer.send(record).await.unwrap().await.unwrap();
        }
    }

    /// Deletes it, and creates it with so many records.
    async fn recreate(&self, count: usize) {
        for (_, result) in self.admin.delete_topics([(&*self.name).into()]).await {
            result.unwrap();
        }
        self.create("new", count).await;
    }

    async fn consumer(&self, config: ConsumerConfig) -> Consumer {
        let bootstrap = self.cluster.metadata().brokers.values().next().unwrap().address();
        let own = Cluster::connect(&bootstrap, Options::default()).await.unwrap();
        Consumer::new(own, config.with_auto_offset_reset(OffsetReset::Earliest)).unwrap()
    }

    async fn committed(&self, group: &str) -> Option<i64> {
        let consumer = self.consumer(ConsumerConfig::default().with_group_id(group)).await;
        let found = consumer.committed([&self.partition()]).await;
        found.ok()?.pop()?.1.map(|found| found.position.offset)
    }
}

/// Reads until so many values with a prefix have come; those are all that have.
async fn read(consumer: &mut Consumer, prefix: &str, count: usize) {
    let mut values = Vec::new();
    let reading = async {
        while values.len() < count {
            let records = consumer.poll(100).await.unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let come = records.iter().map(|record| text(record.value().unwrap()));
            values.extend(come.filter(|value| value.starts_with(prefix)));
        }
    };
    let read = timeout(LIMIT, reading).await;
    let why = consumer.why();
    assert!(read.is_ok(), "{} of {count} {prefix} records: {why}", values.len());
    let expected: Vec<String> = (0..count).map(|at| format!("{prefix} {at}")).collect();
    assert_eq!(values, expected);
}

async fn assigned(bootstrap: &str, count: usize) {
    let topic = Topic::new(bootstrap, "assigned").await;
    let mut consumer = topic.consumer(ConsumerConfig::default()).await;
    consumer.assign([(topic.partition(), Some(Position::at(0)))]).unwrap();
    read(&mut consumer, "old", 10).await;
    topic.recreate(count).await;
    read(&mut consumer, "new", count).await;
}

/// Commits until that is the end. The member may be on its way to another generation, and reads on
/// from what was committed before then.
async fn consumer_commits(topic: &Topic, consumer: &mut Consumer, group: &str, end: usize) {
    let end = i64::try_from(end).unwrap();
    let deadline = Instant::now() + LIMIT;
    loop {
        let failed = consumer.commit().await.err();
        let committed = topic.committed(group).await;
        if committed == Some(end) {
            return;
        }
        assert!(committed.is_none_or(|offset| offset < end), "{committed:?}");
        assert!(Instant::now() < deadline, "{committed:?} of {end}: {failed:?}");
        consumer.poll_timeout(100, Duration::from_millis(50)).await.unwrap();
    }
}

fn protocols() -> [GroupProtocol; 2] {
    [GroupProtocol::default(), GroupProtocol::Consumer { server_assignor: None }]
}

async fn in_a_group(bootstrap: &str, protocol: &GroupProtocol, count: usize) {
    let topic = Topic::new(bootstrap, "group").await;
    let group = unique("group");
    let config = ConsumerConfig::default()
        .with_group_id(&group)
        .with_group_protocol(protocol.clone())
        .with_auto_commit_interval(Duration::from_millis(100));
    let mut consumer = topic.consumer(config).await;
    consumer.subscribe([&*topic.name]).unwrap();
    read(&mut consumer, "old", 10).await;
    consumer_commits(&topic, &mut consumer, &group, 10).await;
    topic.recreate(count).await;
    read(&mut consumer, "new", count).await;
    consumer_commits(&topic, &mut consumer, &group, count).await;
}

/// A member that has heard nothing of it gives the partition up.
async fn given_up(bootstrap: &str, protocol: &GroupProtocol) {
    let topic = Topic::new(bootstrap, "given-up").await;
    let group = unique("group");
    let config = ConsumerConfig::default()
        .with_group_id(&group)
        .with_group_protocol(protocol.clone())
        .with_auto_commit_interval(Duration::from_secs(3_600));
    let mut consumer = topic.consumer(config).await;
    consumer.subscribe([&*topic.name]).unwrap();
    read(&mut consumer, "old", 10).await;
    topic.recreate(20).await;
    // Nothing polls since.
    drop(consumer.close(Duration::from_secs(10)).await);
    let committed = topic.committed(&group).await;
    assert!(committed.is_none_or(|offset| offset == 0), "{protocol:?}: {committed:?}");
}

/// The same for a stream, of which all that it gave was acknowledged.
async fn streamed(bootstrap: &str, count: usize) {
    // A hosted classic group takes no commit for a partition of the new topic before a rebalance.
    let [_, protocol] = protocols();
    let topic = Topic::new(bootstrap, "stream").await;
    let group = unique("group");
    let config = ConsumerConfig::default()
        .with_group_id(&group)
        .with_group_protocol(protocol)
        .with_auto_offset_reset(OffsetReset::Earliest);
    let subscription = Subscription::topics([&*topic.name]);
    let mut source = stream::committable_source(&topic.cluster, config, subscription).unwrap();
    let mut next = async || timeout(LIMIT, source.next()).await.expect("late").unwrap().unwrap();
    let mut last = None;
    for _ in 0..10 {
        last = Some(next().await.offset);
    }
    // It is acknowledged when the topic is another one.
    topic.recreate(count).await;
    let first = next().await;
    assert_eq!(first.record.value(), Some(&b"new 0"[..]));
    assert!(last.take().unwrap().commit().await.is_err(), "it is of the old topic");
    drop(first);
    let mut last = None;
    for _ in 1..count {
        last = Some(next().await.offset);
    }
    let last = last.unwrap();
    let end = i64::try_from(count).unwrap();
    assert_eq!(last.position().offset, end);
    last.commit().await.unwrap();
    assert_eq!(topic.committed(&group).await, Some(end));
}

async fn all(bootstrap: &str) {
    for protocol in protocols() {
        given_up(bootstrap, &protocol).await;
    }
    for count in [3, 20] {
        assigned(bootstrap, count).await;
        for protocol in protocols() {
            in_a_group(bootstrap, &protocol, count).await;
        }
        streamed(bootstrap, count).await;
    }
    for protocol in protocols() {
        given_up(bootstrap, &protocol).await;
    }
}

#[tokio::test]
async fn recreated_topics_are_read_from_the_beginning() {
    let broker = TestBroker::start().await;
    all(&broker.bootstrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recreated_topics_of_kafka_are_read_from_the_beginning() {
    let Some(kafka) = tokio::task::block_in_place(Shared::get) else { return };
    all(kafka.bootstrap()).await;
}
