//! Sources commit positions, as `Consumer` does: behind markers of transactions, aborted records and
//! compaction a group's lag comes to 0. On Thalweg and on Apache Kafka.

use std::time::Duration;

use futures_util::{Stream, StreamExt, TryStreamExt};
use thalweg::admin::{Admin, AdminConfig, Mode, NewTopic, OffsetSpec};
use thalweg::stream::{
    self, Committer, CommitterSettings, Envelope, SharedConsumer, Subscription, TransactionSettings,
};
use thalweg::{
    Cluster, ConsumerConfig, Error, IsolationLevel, OffsetReset, Options, Producer, ProducerConfig,
    ProducerRecord, TopicPartition,
};
use thalweg_testkit::TestBroker;
use thalweg_testkit::kafka::Shared;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::support::unique;

const LIMIT: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(100);

struct Topic {
    cluster: Cluster,
    admin: Admin,
    partition: TopicPartition,
}

impl Topic {
    /// With five records of a transaction that was committed, if there are to be such, and five of one
    /// that was aborted.
    async fn new(bootstrap: &str, has_committed: bool) -> Topic {
        let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
        let admin = Admin::new(cluster.clone(), AdminConfig::default());
        let name = unique("t");
        let topic = NewTopic::new(&name).with_partitions(1).with_replication_factor(1);
        let created = admin.create_topics([topic], Mode::Apply).await;
        created.into_values().next().unwrap().unwrap();
        let config = ProducerConfig::default().with_transactional_id(unique("id"));
        let producer = Producer::new(cluster.clone(), config).unwrap();
        for is_committed in [true, false].into_iter().filter(|is| has_committed || !is) {
            let transaction = producer.begin().await.unwrap();
            for _ in 0..5 {
                let record = ProducerRecord::new(&name).with_value("v");
                transaction.send(record).await.unwrap().await.unwrap();
            }
            match is_committed {
                true => transaction.commit().await.unwrap(),
                false => transaction.abort().await.unwrap(),
            }
        }
        let partition = TopicPartition::new(&*name, 0);
        let topic = Topic { cluster, admin, partition };
        let expected = if has_committed { 12 } else { 6 };
        let deadline = Instant::now() + LIMIT;
        while topic.end().await != expected {
            assert!(Instant::now() < deadline, "the markers are not there");
            sleep(Duration::from_millis(20)).await;
        }
        topic
    }

    async fn end(&self) -> i64 {
        let wanted = [(self.partition.clone(), OffsetSpec::Latest)];
        let found = self.admin.list_offsets(wanted, IsolationLevel::ReadCommitted).await;
        found.into_values().next().unwrap().unwrap().offset
    }

    fn config(&self, group: &str) -> ConsumerConfig {
        ConsumerConfig::default()
            .with_group_id(group)
            .with_auto_offset_reset(OffsetReset::Earliest)
            .with_isolation_level(IsolationLevel::ReadCommitted)
            .with_auto_commit_interval(INTERVAL)
    }

    fn subscription(&self) -> Subscription {
        Subscription::topics([&*self.partition.topic])
    }

    async fn committed(&self, group: &str) -> Option<i64> {
        let found = self.admin.list_group_offsets([group]).await.into_values().next()?.ok()?;
        found.get(&self.partition)?.as_ref().ok().map(|found| found.position.offset)
    }

    /// The group of a source that runs commits everything that there is.
    async fn comes_to_the_end<T>(&self, source: &str, group: &str, running: JoinHandle<T>) {
        let end = self.end().await;
        let deadline = Instant::now() + LIMIT;
        loop {
            let committed = self.committed(group).await;
            if committed == Some(end) {
                break;
            }
            assert!(Instant::now() < deadline, "{source}: {committed:?} of {end}");
            sleep(Duration::from_millis(50)).await;
        }
        running.abort();
    }
}

/// Reads a source, and does nothing with it.
fn read<T: Send>(
    source: impl Stream<Item = Result<T, Error>> + Send + 'static,
) -> JoinHandle<Result<(), Error>> {
    tokio::spawn(source.try_for_each(|_| async { Ok(()) }))
}

fn committer() -> Committer {
    Committer::new(CommitterSettings::default().with_max_interval(INTERVAL))
}

async fn plain(topic: &Topic) {
    let (cluster, group) = (&topic.cluster, &*unique("plain"));
    let source = stream::plain_source(cluster, topic.config(group), topic.subscription()).unwrap();
    topic.comes_to_the_end("plain", group, read(source)).await;
    let group = &*unique("plain-batches");
    let source = stream::plain_source(cluster, topic.config(group), topic.subscription()).unwrap();
    topic.comes_to_the_end("plain batches", group, read(source.batches(3))).await;
    let group = &*unique("plain-partitioned");
    let config = topic.config(group);
    let source = stream::plain_partitioned_source(cluster, config, topic.subscription()).unwrap();
    let running = tokio::spawn(source.try_for_each_concurrent(None, |(_, records)| async {
        records.try_for_each(|_| async { Ok(()) }).await
    }));
    topic.comes_to_the_end("plain partitioned", group, running).await;
    let group = &*unique("shared");
    let shared = SharedConsumer::new(cluster, topic.config(group)).unwrap();
    let source = shared.plain_source([(topic.partition.clone(), None)]).unwrap();
    topic.comes_to_the_end("shared", group, read(source)).await;
}

async fn committable(topic: &Topic) {
    let (cluster, group) = (&topic.cluster, &*unique("committable"));
    let config = topic.config(group);
    let source = stream::committable_source(cluster, config, topic.subscription()).unwrap();
    let running = tokio::spawn(async move { committer().run(source.map_ok(|m| m.offset)).await });
    topic.comes_to_the_end("committable", group, running).await;
    let group = &*unique("partitioned");
    let config = topic.config(group);
    let subscription = topic.subscription();
    let source = stream::committable_partitioned_source(cluster, config, subscription).unwrap();
    let running = tokio::spawn(source.try_for_each_concurrent(None, |(_, records)| async {
        committer().run(records.map_ok(|m| m.offset)).await.map(drop)
    }));
    topic.comes_to_the_end("committable partitioned", group, running).await;
    let group = &*unique("at-most-once");
    let config = topic.config(group);
    let source = stream::at_most_once_source(cluster, config, topic.subscription()).unwrap();
    topic.comes_to_the_end("at most once", group, read(source)).await;
}

async fn transactional(topic: &Topic) {
    let (cluster, group) = (&topic.cluster, &*unique("transactional"));
    let config = ProducerConfig::default().with_transactional_id(unique("id"));
    let producer = Producer::new(cluster.clone(), config).unwrap();
    let config = topic.config(group);
    let source = stream::transactional_source(cluster, config, topic.subscription()).unwrap();
    let sink = stream::transactional_sink(&producer, TransactionSettings::default()).unwrap();
    let envelopes = source.map_ok(|message| Envelope::pass_through(message.offset));
    let running = tokio::spawn(envelopes.forward(sink));
    topic.comes_to_the_end("transactional", group, running).await;
}

/// What was handed out and not acknowledged is not passed over.
async fn unacknowledged(topic: &Topic) {
    let group = &*unique("unacknowledged");
    let config = topic.config(group);
    let source = stream::committable_source(&topic.cluster, config, topic.subscription()).unwrap();
    let control = source.control();
    let (given, mut taken) = tokio::sync::mpsc::unbounded_channel();
    let running = tokio::spawn(source.for_each(move |message| {
        drop(given.send(message.unwrap().offset));
        std::future::ready(())
    }));
    let mut offsets = Vec::new();
    while offsets.len() < 5 {
        offsets.push(tokio::time::timeout(LIMIT, taken.recv()).await.unwrap().unwrap());
    }
    // The reader waits behind the markers by now, or soon.
    sleep(5 * INTERVAL).await;
    assert_eq!(topic.committed(group).await, None);
    offsets.pop();
    offsets.pop().unwrap().commit().await.unwrap();
    sleep(5 * INTERVAL).await;
    assert_eq!(topic.committed(group).await, Some(4), "the fifth record is not acknowledged");
    drop((running, offsets));
    tokio::time::timeout(LIMIT, control.shutdown(Duration::from_secs(5))).await.unwrap();
    assert_eq!(topic.committed(group).await, Some(4));
}

async fn all(bootstrap: &str) {
    let topic = Topic::new(bootstrap, true).await;
    plain(&topic).await;
    committable(&topic).await;
    transactional(&topic).await;
    unacknowledged(&topic).await;
    // Nothing is handed out of it at all.
    let topic = Topic::new(bootstrap, false).await;
    plain(&topic).await;
    committable(&topic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_commit_positions_behind_markers() {
    let broker = TestBroker::start().await;
    all(&broker.bootstrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_commit_positions_behind_markers_of_kafka() {
    let Some(kafka) = tokio::task::block_in_place(Shared::get) else { return };
    all(kafka.bootstrap()).await;
}
