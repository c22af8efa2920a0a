//! Transactions of the producer and of streams against Apache Kafka, with `transaction.version` 2 and 1.

use std::time::Duration;

use futures_util::{SinkExt, TryStreamExt};
use thalweg::admin::{Admin, AdminConfig, Mode, NewTopic, TransactionFilter, TransactionListing};
use thalweg::consumer::GroupMetadata;
use thalweg::stream::{
    self, Envelope, OwnedProducerRecord, Subscription, TransactionSettings, TransactionalMessage,
};
use thalweg::{
    AbortReason, Cluster, CommittedOffset, Consumer, ConsumerConfig, IsolationLevel, OffsetReset,
    Options, Position, Producer, ProducerConfig, ProducerRecord, TopicPartition, TransactionError,
};
use thalweg_testkit::kafka::{Kafka, Shared};
use thalweg_testkit::releases;

use crate::support::grouped;
use crate::support::unique;

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("too slow")
}

fn producer(cluster: &Cluster, id: &str) -> Producer {
    let config = ProducerConfig::default().with_transactional_id(id).with_linger(Duration::ZERO);
    Producer::new(cluster.clone(), config).unwrap()
}

async fn create(cluster: &Cluster, name: &str, most: Option<&str>) {
    let admin = Admin::new(cluster.clone(), AdminConfig::default());
    let mut topic = NewTopic::new(name).with_partitions(2);
    if let Some(most) = most {
        topic = topic.with_config("max.message.bytes", most);
    }
    for (_, result) in soon(admin.create_topics([topic], Mode::Apply)).await {
        result.unwrap();
    }
}

/// What readers of what is committed see of a partition: so many values, and no more.
async fn read(cluster: &Cluster, topic: &str, partition: i32, count: usize) -> Vec<String> {
    let config = ConsumerConfig::default()
        .with_auto_offset_reset(OffsetReset::Earliest)
        .with_isolation_level(IsolationLevel::ReadCommitted);
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    consumer.assign([(TopicPartition::new(topic, partition), None)]).unwrap();
    let mut values = Vec::new();
    let mut is_over = false;
    while !is_over {
        let is_missing = values.len() < count;
        let limit = Duration::from_millis(if is_missing { 30_000 } else { 300 });
        let records = consumer.poll_timeout(1_000, limit).await.unwrap();
        is_over = records.is_empty();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        values.extend(records.iter().map(|record| text(record.value().unwrap())));
    }
    values
}

async fn committed(cluster: &Cluster, group: &str, of: &TopicPartition) -> Option<i64> {
    let config = ConsumerConfig::default().with_group_id(group);
    let consumer = Consumer::new(cluster.clone(), config).unwrap();
    let found = soon(consumer.committed([of])).await.unwrap();
    found.into_iter().find_map(|(_, found)| Some(found?.position.offset))
}

async fn of_a_producer(cluster: &Cluster) {
    let (t, small, id) = (&*unique("t"), &*unique("small"), &*unique("id"));
    create(cluster, t, None).await;
    create(cluster, small, Some("1000")).await;
    let of = TopicPartition::new(t, 0);
    let first = producer(cluster, id);
    let group = GroupMetadata::new(id);
    for (number, is_commit) in [(0, true), (1, false), (2, true), (3, false), (4, true)] {
        let transaction = soon(first.begin()).await.unwrap();
        for partition in 0..2 {
            let value = number.to_string();
            let record = ProducerRecord::new(t).with_partition(partition).with_value(&value);
            drop(transaction.send(record).await.unwrap());
        }
        let offset = CommittedOffset { position: Position::at(number), metadata: None };
        soon(transaction.send_offsets([(of.clone(), offset)], &group)).await.unwrap();
        let ended = match is_commit {
            true => soon(transaction.commit()).await,
            false => soon(transaction.abort()).await,
        };
        ended.unwrap();
    }
    // One that is lost, after which the same producer goes on.
    let transaction = soon(first.begin()).await.unwrap();
    drop(
        transaction
            .send(ProducerRecord::new(t).with_partition(0).with_value("lost"))
            .await
            .unwrap(),
    );
    let large = "x".repeat(5_000);
    drop(transaction.send(ProducerRecord::new(small).with_value(&large)).await.unwrap());
    let error = soon(transaction.commit()).await.unwrap_err();
    assert!(matches!(error, TransactionError::Aborted(AbortReason::Record(_))), "{error}");
    let transaction = soon(first.begin()).await.unwrap();
    drop(transaction.send(ProducerRecord::new(small).with_value("x")).await.unwrap());
    drop(transaction.send(ProducerRecord::new(t).with_partition(0).with_value("5")).await.unwrap());
    soon(transaction.commit()).await.unwrap();
    // One that is fenced while it is open.
    let zombie = soon(first.begin()).await.unwrap();
    drop(zombie.send(ProducerRecord::new(t).with_partition(0).with_value("zombie")).await.unwrap());
    soon(first.flush()).await.unwrap();
    let second = producer(cluster, id);
    let transaction = soon(second.begin()).await.unwrap();
    drop(transaction.send(ProducerRecord::new(t).with_partition(0).with_value("6")).await.unwrap());
    let error = soon(zombie.commit()).await.unwrap_err();
    assert!(error.is_fenced(), "{error}");
    soon(transaction.commit()).await.unwrap();
    assert_eq!(read(cluster, t, 0, 5).await, ["0", "2", "4", "5", "6"]);
    assert_eq!(read(cluster, t, 1, 3).await, ["0", "2", "4"]);
    assert_eq!(committed(cluster, id, &of).await, Some(4));
}

/// A transaction that its coordinator aborts, because it takes longer than `transaction.timeout.ms`.
async fn of_slow_transactions(cluster: &Cluster) {
    let id = &*unique("slow");
    create(cluster, id, None).await;
    let config = ProducerConfig::default()
        .with_transactional_id(id)
        .with_linger(Duration::ZERO)
        .with_transaction_timeout(Duration::from_millis(200));
    let producer = Producer::new(cluster.clone(), config).unwrap();
    let transaction = soon(producer.begin()).await.unwrap();
    soon(transaction.send(ProducerRecord::new(id).with_value("late")).await.unwrap())
        .await
        .unwrap();
    let admin = Admin::new(cluster.clone(), AdminConfig::default());
    soon(async {
        loop {
            let listed = admin.list_transactions(&TransactionFilter::default()).await.unwrap();
            let is_aborted =
                |one: &TransactionListing| &*one.id == id && one.state == "CompleteAbort";
            if listed.transactions.iter().any(is_aborted) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    let error = soon(transaction.commit()).await.unwrap_err();
    assert!(error.is_fenced() && error.is_fatal(), "{error:?}");
}

fn copy(message: TransactionalMessage, to: &str) -> Envelope<stream::TransactionalOffset> {
    let record = OwnedProducerRecord {
        value: message.record.value_bytes(),
        ..OwnedProducerRecord::new(to).with_partition(message.record.partition())
    };
    Envelope::single(record, message.offset)
}

/// Copiers that die one after the other, and one that does not.
async fn of_streams(cluster: &Cluster) {
    const RECORDS: usize = 2_000;
    let (from, to) = (&*unique("from"), &*unique("to"));
    create(cluster, from, None).await;
    create(cluster, to, None).await;
    let source = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    for at in 0..2 * RECORDS {
        let value = (at / 2).to_string();
        let record = ProducerRecord::new(from).with_partition(at as i32 % 2).with_value(&value);
        drop(source.send(record).await.unwrap());
    }
    soon(source.flush()).await.unwrap();
    let config = grouped().with_group_id(from);
    let mut last = None;
    for number in 0..4 {
        let producer = producer(cluster, &format!("{from}-{}", number % 2));
        let topics = Subscription::topics([from]);
        let source = stream::transactional_source(cluster, config.clone(), topics).unwrap();
        let settings = TransactionSettings::default().with_max_records(100);
        let mut sink = stream::transactional_sink(&producer, settings).unwrap();
        let to = to.to_owned();
        let copying = tokio::spawn(async move {
            let mut envelopes = source.map_ok(|message| copy(message, &to));
            sink.send_all(&mut envelopes).await
        });
        if number < 3 {
            tokio::time::sleep(Duration::from_millis(700)).await;
            copying.abort();
        } else {
            last = Some(copying);
        }
    }
    let expected: Vec<String> = (0..RECORDS).map(|at| at.to_string()).collect();
    for partition in 0..2 {
        let read = read(cluster, to, partition, RECORDS).await;
        let at = read.iter().zip(&expected).position(|(read, expected)| read != expected);
        assert_eq!((at, read.len()), (None, RECORDS), "partition {partition}");
    }
    last.unwrap().abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_brokers_that_add_partitions() {
    let Some(kafka) = tokio::task::block_in_place(Shared::get) else { return };
    let cluster = Cluster::connect(kafka.bootstrap(), Options::default()).await.unwrap();
    of_a_producer(&cluster).await;
    of_streams(&cluster).await;
    of_slow_transactions(&cluster).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_brokers_that_do_not() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = tokio::task::block_in_place(|| builder.feature("transaction.version", 1).start());
    let bootstrap = kafka.bootstrap(Kafka::INTERNAL);
    let cluster = Cluster::connect(&bootstrap, Options::default()).await.unwrap();
    of_a_producer(&cluster).await;
    of_streams(&cluster).await;
    of_slow_transactions(&cluster).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_brokers_of_the_first_release_that_adds_them() {
    with_brokers_of(releases::OLDER[0]).await;
}

/// The streams fetch in a group.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_brokers_of_the_release_before() {
    with_brokers_of(releases::PREVIOUS).await;
}

async fn with_brokers_of(release: &str) {
    let Some(builder) = Kafka::builder_of(release) else { return };
    let kafka = tokio::task::block_in_place(|| builder.start());
    let bootstrap = kafka.bootstrap(Kafka::INTERNAL);
    let cluster = Cluster::connect(&bootstrap, Options::default()).await.unwrap();
    of_a_producer(&cluster).await;
    of_streams(&cluster).await;
    of_slow_transactions(&cluster).await;
}
