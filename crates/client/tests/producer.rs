//! The producer against Thalweg's broker, in process.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use thalweg::{
    Acks, Cluster, Consumer, ConsumerConfig, Header, OffsetReset, Options, OwnedRecord,
    ProduceErrorKind, Producer, ProducerConfig, ProducerRecord, RecordMetadata, TopicPartition,
    TrySendError,
};
use thalweg_records::{Compression, CompressionSpec};
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::ErrorCode;

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("too slow")
}

async fn cluster(broker: &TestBroker) -> Cluster {
    Cluster::connect(&broker.bootstrap(), Options::default()).await.unwrap()
}

async fn create(cluster: &Cluster, name: &str, partitions: i32, configs: &[(&str, &str)]) {
    let request = requests::create(requests::topic(name, partitions, configs));
    let answer = cluster.send_any(&request).await.unwrap();
    assert_eq!(answer.topics[0].error_code, ErrorCode::NONE);
}

fn record<'a>(topic: &'a str, value: &'a [u8]) -> ProducerRecord<'a> {
    ProducerRecord { topic, value: Some(value), ..ProducerRecord::default() }
}

async fn read(cluster: &Cluster, topic: &str, partitions: i32, count: usize) -> Vec<OwnedRecord> {
    let config = ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest);
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    consumer
        .assign((0..partitions).map(|index| (TopicPartition::new(topic, index), None)))
        .unwrap();
    let mut all = Vec::new();
    while all.len() < count {
        let records = soon(consumer.poll(count - all.len())).await.unwrap();
        all.extend(records.iter().map(|record| record.to_owned()));
    }
    let more = consumer.poll_timeout(10, Duration::from_millis(50)).await.unwrap();
    assert!(more.is_empty(), "{} records too many", more.iter().count());
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_codec_and_every_part_of_a_record() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    for codec in [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ] {
        let topic = codec.name();
        create(&cluster, topic, 1, &[]).await;
        let compression = CompressionSpec::new(codec);
        let config = ProducerConfig::default().with_compression(compression);
        let producer = Producer::new(cluster.clone(), config).unwrap();
        let headers = [Header::from(("h", "1")), Header::from(("null", None::<&str>))];
        let mut deliveries = Vec::new();
        for i in 0..100i64 {
            let value = format!("value {i} {}", "x".repeat(500));
            let record = ProducerRecord {
                topic,
                partition: Some(0),
                key: (i % 2 == 0).then_some(b"key"),
                value: (i % 3 != 0).then_some(value.as_bytes()),
                headers: (&headers).into(),
                timestamp: Some(1_000 + i),
            };
            deliveries.push(producer.send(record).await.unwrap());
        }
        for (i, delivery) in deliveries.into_iter().enumerate() {
            let at = soon(delivery).await.unwrap();
            let (offset, timestamp) = (i as i64, 1_000 + i as i64);
            assert_eq!(at, RecordMetadata { partition: 0, offset, timestamp }, "{topic}");
        }
        for (i, record) in read(&cluster, topic, 1, 100).await.into_iter().enumerate() {
            let i = i as i64;
            assert_eq!((record.offset, record.timestamp), (i, 1_000 + i));
            assert_eq!(record.key.as_deref(), (i % 2 == 0).then_some(&b"key"[..]));
            let value = format!("value {i} {}", "x".repeat(500));
            assert_eq!(record.value.as_deref(), (i % 3 != 0).then_some(value.as_bytes()));
        }
        assert!(producer.close(Duration::from_secs(5)).await);
    }
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_go_where_java_puts_them() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    create(&cluster, "t", 7, &[]).await;
    let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
    // Hashes from the tests of Kafka's own `Utils.murmur2`.
    for (key, hash) in [
        ("21", -973_932_308i32),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ("abc", 479_470_107),
    ] {
        let record = ProducerRecord { key: Some(key.as_bytes()), ..record("t", b"v") };
        let at = soon(producer.send(record).await.unwrap()).await.unwrap();
        assert_eq!(at.partition, (hash & 0x7fff_ffff) % 7, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_records_come_once_and_in_order() {
    const COUNT: u32 = 100_000;
    const PARTITIONS: i32 = 8;
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    create(&cluster, "t", PARTITIONS, &[]).await;
    let config = ProducerConfig::default().with_buffer_memory(4 << 20);
    let producer = Producer::new(cluster.clone(), config).unwrap();
    let mut deliveries = Vec::new();
    for i in 0..COUNT {
        let mut value = [0u8; 100];
        value[..4].copy_from_slice(&i.to_be_bytes());
        deliveries.push(soon(producer.send(record("t", &value))).await.unwrap());
    }
    soon(producer.flush()).await.unwrap();
    let mut places = Vec::new();
    for delivery in deliveries {
        let at = soon(delivery).await.unwrap();
        places.push((at.partition, at.offset));
    }
    let records = read(&cluster, "t", PARTITIONS, COUNT as usize).await;
    let mut last = [None; PARTITIONS as usize];
    let mut seen = vec![false; COUNT as usize];
    for record in records {
        let value = record.value.unwrap();
        let i = u32::from_be_bytes(value[..4].try_into().unwrap());
        assert_eq!(places[i as usize], (record.partition.partition, record.offset));
        assert!(!std::mem::replace(&mut seen[i as usize], true), "{i} came twice");
        let last = &mut last[record.partition.partition as usize];
        assert!(*last < Some(i), "{i} after {last:?}");
        *last = Some(i);
    }
    assert!(last.iter().all(Option::is_some), "all partitions were used: {last:?}");
    let counts = producer.counts();
    assert_eq!((counts.retries, counts.splits, counts.epoch_bumps), (0, 0, 0));
    assert_eq!(counts.records, u64::from(COUNT));
    // About 140 of them fill a batch.
    assert!(counts.batches < u64::from(COUNT) / 80, "{counts:?}");
    let (used, peak) = producer.memory_used();
    assert!(used == 0 && peak <= 4 << 20, "{used}, {peak}");
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_waits() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    create(&cluster, "t", 4, &[]).await;
    let config = ProducerConfig::default()
        .with_buffer_memory(100_000)
        .with_linger(Duration::from_millis(500));
    let producer = Producer::new(cluster.clone(), config).unwrap();
    let value = [b'x'; 1_000];
    // Until its topic is known a record cannot be taken in at once.
    assert_eq!(producer.try_send(record("t", &value)).unwrap_err(), TrySendError::NotReady);
    drop(producer.send(record("t", &value)).await.unwrap());
    let mut taken = 1;
    while producer.try_send(record("t", &value)).is_ok() {
        taken += 1;
        assert!(taken < 100_000 / 1_000 * 1_000, "the budget ends somewhere");
    }
    // Many tasks wait, none is forgotten, and linger is not waited for.
    let done = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (producer, done) = (producer.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                for _ in 0..100 {
                    drop(producer.send(record("t", &[b'x'; 1_000])).await.unwrap());
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        soon(task).await.unwrap();
    }
    assert_eq!(done.load(Ordering::Relaxed), 2_000);
    soon(producer.flush()).await.unwrap();
    let (used, peak) = producer.memory_used();
    assert!(used == 0 && peak <= 100_000, "{used}, {peak}");
    read(&cluster, "t", 4, 2_000 + taken).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_loses_nothing_and_doubles_nothing() {
    let data = Data::new("restart");
    let broker = TestBroker::builder().data(&data.0).start().await;
    let bootstrap = broker.bootstrap();
    let cluster = cluster(&broker).await;
    create(&cluster, "t", 3, &[]).await;
    let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
    let sending = tokio::spawn({
        let producer = producer.clone();
        async move {
            let mut deliveries = Vec::new();
            for i in 0..3_000u32 {
                let mut value = [0u8; 200];
                value[..4].copy_from_slice(&i.to_be_bytes());
                deliveries.push(producer.send(record("t", &value)).await.unwrap());
                if i % 10 == 0 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            deliveries
        }
    });
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(!sending.is_finished());
    broker.shut_down().await;
    let listeners = format!("PLAINTEXT://{bootstrap}");
    let builder = TestBroker::builder().data(&data.0);
    let broker = builder.config("listeners", listeners).start().await;
    for delivery in soon(sending).await.unwrap() {
        soon(delivery).await.unwrap();
    }
    let cluster = Cluster::connect(&bootstrap, Options::default()).await.unwrap();
    let mut last = [None; 3];
    for record in read(&cluster, "t", 3, 3_000).await {
        let value = record.value.unwrap();
        let i = u32::from_be_bytes(value[..4].try_into().unwrap());
        let last = &mut last[record.partition.partition as usize];
        assert!(*last < Some(i), "{i} after {last:?}");
        *last = Some(i);
    }
    broker.shut_down().await;
}

/// A directory that goes with the test.
struct Data(PathBuf);

impl Data {
    fn new(name: &str) -> Data {
        let name = format!("thalweg-producer-{name}-{}", std::process::id());
        Data(std::env::temp_dir().join(name))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_does_not_exist() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    let config = ProducerConfig::default()
        .with_auto_create_topics(false)
        .with_max_block(Duration::from_millis(400));
    let producer = Producer::new(cluster.clone(), config).unwrap();
    let began = Instant::now();
    let error = soon(producer.send(record("nowhere", b"v"))).await.unwrap_err();
    assert!(began.elapsed() >= Duration::from_millis(400), "it may still come");
    let code = Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(error.kind, ProduceErrorKind::UnknownTopic { code, cause: None });
    assert!(error.is_retriable());
    assert!(error.to_string().starts_with("nowhere: "), "{error}");
    // One whose name is impossible is not waited for.
    let began = Instant::now();
    let error = soon(producer.send(record("no where", b"v"))).await.unwrap_err();
    let code = Some(ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!(error.kind, ProduceErrorKind::UnknownTopic { code, cause: None });
    assert!(!error.is_retriable() && began.elapsed() < Duration::from_secs(10));
    // One that comes meanwhile is.
    let sending = tokio::spawn({
        let config = ProducerConfig::default().with_auto_create_topics(false);
        let producer = Producer::new(cluster.clone(), config).unwrap();
        async move { producer.send(record("later", b"v")).await.unwrap().await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    create(&cluster, "later", 1, &[]).await;
    assert_eq!(soon(sending).await.unwrap().unwrap().offset, 0);
    // As with the Java producer, the broker may create it.
    let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
    let at = soon(producer.send(record("created", b"v"))).await.unwrap();
    assert_eq!(soon(at).await.unwrap().offset, 0);
    let beyond = ProducerRecord { partition: Some(99), ..record("created", b"v") };
    let error = soon(producer.send(beyond)).await.unwrap_err();
    assert!(matches!(error.kind, ProduceErrorKind::NoSuchPartition { .. }), "{error}");
    assert_eq!(error.partition, Some(99));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_and_batches_that_are_too_large() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    create(&cluster, "t", 1, &[("max.message.bytes", "3000")]).await;
    let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    let error = producer.send(record("t", &vec![0; 2 << 20])).await.unwrap_err();
    let ProduceErrorKind::TooLarge { config, limit, .. } = error.kind else { panic!("{error}") };
    assert_eq!((config, limit), ("max.request.size", 1 << 20));
    // The broker refuses a batch of 16 KiB, and takes its parts.
    let mut deliveries = Vec::new();
    for i in 0..40u8 {
        deliveries.push(soon(producer.send(record("t", &[i; 1_000]))).await.unwrap());
    }
    let alone = soon(producer.send(record("t", &[99; 5_000]))).await.unwrap();
    for (i, delivery) in deliveries.into_iter().enumerate() {
        assert_eq!(soon(delivery).await.unwrap().offset, i as i64);
    }
    let error = soon(alone).await.unwrap_err();
    let ProduceErrorKind::Broker { code, .. } = error.kind else { panic!("{error}") };
    assert_eq!(code, ErrorCode::MESSAGE_TOO_LARGE);
    // What follows is not held up by it.
    let after = soon(producer.send(record("t", b"after"))).await.unwrap();
    assert_eq!(soon(after).await.unwrap().offset, 40);
    assert!(producer.counts().splits > 0);
    read(&cluster, "t", 1, 41).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flush_waits_for_what_nobody_else_waits_for() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    create(&cluster, "t", 3, &[]).await;
    let config = ProducerConfig::default().with_linger(Duration::from_secs(20));
    let producer = Producer::new(cluster.clone(), config).unwrap();
    for partition in 0..3 {
        for _ in 0..10 {
            let record = ProducerRecord { partition: Some(partition), ..record("t", b"v") };
            drop(producer.send(record).await.unwrap());
        }
    }
    let began = Instant::now();
    soon(producer.flush()).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "linger is not waited for");
    read(&cluster, "t", 3, 30).await;
    // A closed producer takes nothing, and what it took is there.
    drop(producer.send(record("t", b"last")).await.unwrap());
    assert!(soon(producer.close(Duration::from_secs(10))).await);
    let error = producer.send(record("t", b"v")).await.unwrap_err();
    assert_eq!(error.kind, ProduceErrorKind::Closed);
    read(&cluster, "t", 3, 31).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dropped_producer_did_not_send_is_told() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    create(&cluster, "t", 1, &[]).await;
    let config = ProducerConfig::default().with_linger(Duration::from_secs(20));
    let producer = Producer::new(cluster, config).unwrap();
    let delivery = producer.send(record("t", b"v")).await.unwrap();
    drop(producer);
    assert_eq!(soon(delivery).await.unwrap_err().kind, ProduceErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_gone_for_good() {
    let broker = TestBroker::start().await;
    let options = Options::default().with_request_timeout(Duration::from_millis(300));
    let cluster = Cluster::connect(&broker.bootstrap(), options).await.unwrap();
    create(&cluster, "t", 1, &[]).await;
    let config = ProducerConfig::default()
        .with_delivery_timeout(Duration::from_millis(600))
        .with_max_block(Duration::from_millis(200))
        .with_buffer_memory(64 << 10);
    let producer = Producer::new(cluster, config).unwrap();
    soon(producer.send(record("t", b"v")).await.unwrap()).await.unwrap();
    broker.shut_down().await;
    let late = producer.send(record("t", b"v")).await.unwrap();
    let began = Instant::now();
    let error = soon(late).await.unwrap_err();
    assert!(began.elapsed() >= Duration::from_millis(500), "{:?}", began.elapsed());
    assert!(matches!(error.kind, ProduceErrorKind::Expired { after_ms: 600.., .. }), "{error}");
    assert!(error.is_retriable());
    assert_eq!((&*error.topic, error.partition), ("t", Some(0)));
    // What nobody takes fills the budget; whoever is told so may try again later.
    let mut deliveries = Vec::new();
    let error = loop {
        match producer.send(record("t", &[0; 1_000])).await {
            Ok(delivery) => deliveries.push(delivery),
            Err(error) => break error,
        }
    };
    assert!(matches!(error.kind, ProduceErrorKind::Full { waited_ms: 200.. }), "{error}");
    assert!(deliveries.len() >= 45, "{}", deliveries.len());
    for delivery in deliveries {
        soon(delivery).await.unwrap_err();
    }
    assert_eq!(producer.memory_used().0, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_stops_waiting_holds_up_nobody() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    create(&cluster, "t", 1, &[]).await;
    let config = ProducerConfig::default().with_buffer_memory(32 << 10);
    let producer = Producer::new(cluster.clone(), config).unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (producer, sent) = (producer.clone(), Arc::clone(&sent));
            tokio::spawn(async move {
                for _ in 0..200 {
                    // Half of them lose limit at once.
                    let limit = Duration::from_micros(if task % 2 == 0 { 50 } else { 60_000_000 });
                    let value = [b'x'; 3_000];
                    let sending = producer.send(record("t", &value));
                    if let Ok(taken) = tokio::time::timeout(limit, sending).await {
                        drop(taken.unwrap());
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        soon(task).await.unwrap();
    }
    soon(producer.flush()).await.unwrap();
    // A record whose sending was given up is not there, and every other one is.
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent >= 800);
    assert_eq!(producer.counts().records, sent as u64);
    read(&cluster, "t", 1, sent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_is_passed_on_as_it_is() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    for topic in ["orders", "dead", "owned"] {
        create(&cluster, topic, 1, &[]).await;
    }
    // Shared as anything else is; nobody needs it alone.
    let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    let producer = Arc::new(producer);
    let headers = [Header::from(("trace", "abc")), Header::from(("none", None::<&str>))];
    let record = ProducerRecord::new("orders").with_key("k").with_value("v").with_timestamp(4_711);
    let delivery = producer.send(record.with_headers(&headers)).await.unwrap();
    soon(delivery).await.unwrap();
    let config = ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest);
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    consumer.assign([(TopicPartition::new("orders", 0), None)]).unwrap();
    for record in &soon(consumer.poll(10)).await.unwrap() {
        assert_eq!(record.headers().get("trace").unwrap().value, Some(&b"abc"[..]));
        drop(soon(producer.send(record.to_topic("dead"))).await.unwrap());
        let owned = record.to_owned().to_topic("owned");
        drop(soon(producer.send(&owned)).await.unwrap());
        drop(producer.try_send(owned).unwrap());
    }
    let closing = Arc::clone(&producer);
    assert!(
        tokio::spawn(async move { closing.close(Duration::from_secs(20)).await }).await.unwrap()
    );
    for (topic, count) in [("dead", 1), ("owned", 2)] {
        for record in read(&cluster, topic, 1, count).await {
            assert_eq!(record.key.as_deref(), Some(&b"k"[..]), "{topic}");
            assert_eq!(record.value.as_deref(), Some(&b"v"[..]), "{topic}");
            assert_eq!(record.timestamp, 4_711, "{topic}");
            let read: Vec<_> =
                record.headers.iter().map(|(name, value)| (&name[..], value.as_deref())).collect();
            assert_eq!(read, [(&b"trace"[..], Some(&b"abc"[..])), (b"none", None)], "{topic}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_not_used_are_closed_and_opened_again() {
    let broker = TestBroker::start().await;
    let options = Options::default().with_connections_max_idle(Duration::from_millis(100));
    let cluster = Cluster::connect(&broker.bootstrap(), options).await.unwrap();
    create(&cluster, "t", 1, &[]).await;
    let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    for _ in 0..3 {
        let delivery = soon(producer.send(record("t", b"x"))).await.unwrap();
        soon(delivery).await.unwrap();
        soon(async {
            while !broker.metrics_text().contains("connection_count 0\n") {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
    assert_eq!(producer.counts().retries, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_acknowledgements() {
    let broker = TestBroker::start().await;
    let cluster = cluster(&broker).await;
    create(&cluster, "t", 1, &[]).await;
    for (acks, known) in [(Acks::Leader, true), (Acks::None, false)] {
        let config = ProducerConfig::default().with_acks(acks);
        let error = Producer::new(cluster.clone(), config.clone()).err().unwrap();
        assert!(error.to_string().contains("enable.idempotence"), "{error}");
        let config = config.with_enable_idempotence(false);
        let producer = Producer::new(cluster.clone(), config).unwrap();
        for _ in 0..100 {
            let delivery = producer.send(record("t", b"v")).await.unwrap();
            drop(delivery);
        }
        let delivery = producer.send(record("t", b"v")).await.unwrap();
        assert_eq!(soon(delivery).await.unwrap().offset >= 0, known);
        assert!(soon(producer.close(Duration::from_secs(10))).await);
    }
    read(&cluster, "t", 1, 202).await;
}
