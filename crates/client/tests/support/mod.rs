//! A broker in process with a topic, and what the tests do with it.
#![allow(dead_code)]

pub mod frames;
pub mod hostile;
pub mod tap;
pub mod traffic;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thalweg::stream::{MetadataClient, Subscription};
use thalweg::{
    Cluster, Connection, Consumer, ConsumerConfig, OffsetReset, Options, TopicPartition,
};
use thalweg_records::Compression;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor};
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::{ErrorCode, Uuid};
use tokio::net::TcpListener;

pub struct Bench {
    pub broker: TestBroker,
    pub connection: Connection,
    pub topic: Uuid,
}

impl Bench {
    pub async fn with(partitions: i32) -> Bench {
        Bench::on(TestBroker::start().await, partitions).await
    }

    /// One whose groups go by Kafka's barrier: all members join again, and a leader assigns.
    pub async fn at_barrier(partitions: i32) -> Bench {
        let barrier = ("thalweg.group.classic.rebalance.mode", "barrier");
        Bench::on(TestBroker::builder().config(barrier.0, barrier.1).start().await, partitions)
            .await
    }

    pub async fn on(broker: TestBroker, partitions: i32) -> Bench {
        let connection = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
        let mut bench = Bench { broker, connection, topic: Uuid::ZERO };
        bench.topic = bench.create("t", partitions).await;
        bench
    }

    pub async fn create(&self, name: &str, partitions: i32) -> Uuid {
        let request = requests::create(requests::topic(name, partitions, &[]));
        self.connection.send(&request).await.unwrap().topics[0].topic_id
    }

    pub async fn produce(&self, partition: i32, values: &[&str], codec: Compression) {
        let compression = CompressionSpec::new(codec);
        let mut builder = BatchBuilder::new(BatchOptions { compression, ..Default::default() });
        for value in values {
            builder.append(1_000, Some(b"key"), Some(value.as_bytes()), &[(b"h", None)]);
        }
        let records = builder.finish(&mut Compressor::new()).unwrap();
        let request = requests::produce(self.topic, [(partition, records)]);
        let response = self.connection.send(&request).await.unwrap();
        let part = &response.responses[0].partition_responses[0];
        assert_eq!(part.error_code, ErrorCode::NONE);
    }

    pub async fn delete(&self, name: &str) {
        let request = requests::delete(name);
        let response = self.connection.send(&request).await.unwrap();
        assert_eq!(response.responses[0].error_code, ErrorCode::NONE);
    }

    pub async fn consumer(&self, config: ConsumerConfig) -> Consumer {
        let cluster = Cluster::connect(&self.broker.bootstrap(), Options::default()).await.unwrap();
        Consumer::new(cluster, config).unwrap()
    }
}

/// A broker that sends its clients to something that stands between, which listens here.
pub async fn behind() -> (TcpListener, String, TestBroker) {
    behind_with(&[]).await
}

/// As [`behind`], a broker with configs.
pub async fn behind_with(configs: &[(&str, &str)]) -> (TcpListener, String, TestBroker) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut broker =
        TestBroker::builder().config("advertised.listeners", format!("PLAINTEXT://{address}"));
    for (name, value) in configs {
        broker = broker.config(name, *value);
    }
    (listener, address, broker.start().await)
}

pub fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

pub fn earliest() -> ConsumerConfig {
    ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest)
}

pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("too slow")
}

/// A name that nothing else has.
pub fn unique(name: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("{name}-{}-{}", std::process::id(), now.as_nanos())
}

/// Waits until something is so, which must come soon.
pub async fn until(mut is_so: impl FnMut() -> bool) {
    soon(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// A member of a group that hears of rebalances soon.
pub fn grouped() -> ConsumerConfig {
    earliest()
        .with_group_id("g")
        .with_heartbeat_interval(Duration::from_millis(50))
        // One that was cut off in leaving is waited for no longer than the broker insists.
        .with_session_timeout(Duration::from_secs(6))
}

pub fn topic() -> Subscription {
    Subscription::topics(["t"])
}

pub async fn cluster(bench: &Bench) -> Cluster {
    Cluster::connect(&bench.broker.bootstrap(), Options::default()).await.unwrap()
}

/// What the group has committed of the first partitions; -1 for nothing.
pub async fn committed(bench: &Bench, partitions: i32) -> Vec<i64> {
    let client = MetadataClient::create(cluster(bench).await, grouped()).unwrap();
    let partitions: Vec<TopicPartition> = (0..partitions).map(tp).collect();
    let found = soon(client.committed(&partitions)).await.unwrap();
    found.into_iter().map(|(_, found)| found.map_or(-1, |found| found.position.offset)).collect()
}
