//! Levels of features that go up and down: a cluster of Java nodes of the release before the oracle's becomes one of the
//! oracle's, with a Thalweg broker in it all along; and the downgrades that Thalweg's own controller grants.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use thalweg::admin::{Admin, FeatureUpdate, Mode, NewTopic, TopicRef, UpgradeType};
use thalweg::{Cluster, Options, Producer, ProducerConfig, ProducerRecord};
use thalweg_testkit::kafka::Kafka;
use thalweg_testkit::oracle::Program;
use thalweg_testkit::{TestBroker, releases};
use thalweg_wire::ErrorCode;

use crate::membership::{
    OWN, admin, brokers, eventually, in_sync, joining, read_partition, three_nodes, topic_tool,
};
use crate::support::Data;

const PARTITIONS: i32 = 3;

/// Records that are produced to all partitions in turn, one after the other, until the load is stopped.
struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: tokio::task::JoinHandle<usize>,
}

impl Load {
    async fn begin(bootstrap: &str, topic: &'static str) -> Load {
        let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
        let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let acknowledged = tokio::spawn(async move {
            let mut rounds = 0;
            while !stopped.load(Ordering::Relaxed) {
                let value = rounds.to_string();
                for partition in 0..PARTITIONS {
                    let record = ProducerRecord {
                        topic,
                        partition: Some(partition),
                        value: Some(value.as_bytes()),
                        ..ProducerRecord::default()
                    };
                    producer.send(record).await.unwrap().await.unwrap();
                }
                rounds += 1;
            }
            rounds
        });
        Load { stop, acknowledged }
    }

    /// How many records each partition has.
    async fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.acknowledged.await.unwrap()
    }
}

/// Kafka's own tool.
fn features(bootstrap: &str, args: &[&str]) -> (i32, String) {
    let done = Program::class("org.apache.kafka.tools.FeatureCommand")
        .args(["--bootstrap-server", bootstrap])
        .args(args)
        .run();
    (done.status, done.output + &done.errors)
}

/// Whether a topic can be placed on this broker: controllers of 4.4 refuse one whose directories are cordoned.
async fn can_be_placed(admin: &Admin, name: &str) -> bool {
    let topic = NewTopic::new(name).with_assignment(0, [OWN]);
    let created = admin.create_topics([topic], Mode::ValidateOnly).await.remove(name).unwrap();
    match created {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.code(), Some(ErrorCode::INVALID_REPLICA_ASSIGNMENT), "{error}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_upgraded_under_load_keeps_its_records() {
    let Some(builder) = Kafka::builder_of(releases::PREVIOUS) else { return };
    let mut kafka = three_nodes(builder).config("min.insync.replicas", 2).start();
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let data = Data::new();
    let broker = joining(&kafka).data(&data.0).start().await;
    let own = broker.bootstrap();
    let theirs = admin(&java).await;
    eventually("this broker in the cluster", async || brokers(&theirs).await.contains(&OWN)).await;
    topic_tool(&own, &["--create", "--topic", "t", "--replica-assignment", "10:1:2,1:10:3,2:3:10"]);
    let load = Load::begin(&format!("{java},{own}"), "t").await;

    // The binaries first, one node at a time.
    for node in 0..3 {
        kafka.stop(node);
        kafka.start_upgraded(node);
        eventually("all in sync", async || in_sync(&theirs, "t", 3).await).await;
    }
    // Then metadata.version alone: nothing is cordoned.
    let (status, said) = features(&java, &["upgrade", "--feature", "metadata.version=33"]);
    assert_eq!(status, 0, "{said}");
    assert!(can_be_placed(&theirs, "placed").await);

    // Then all features of the release, two of which Thalweg does not serve.
    // The active controller knows a while after a voter's restart which kraft.version that voter supports.
    eventually("voters known to support kraft.version 1", async || {
        let (status, said) = features(&java, &["upgrade", "--release-version", "4.4"]);
        let is_early = said.contains("not all of the voters support it");
        assert!(status == 0 || is_early, "{said}");
        !is_early
    })
    .await;
    eventually("its directories cordoned", async || !can_be_placed(&theirs, "placed").await).await;
    // It keeps what it has, and starts again with it.
    assert!(in_sync(&theirs, "t", 3).await);
    broker.shut_down().await;
    let broker = joining(&kafka).data(&data.0).start().await;
    eventually("all in sync again", async || in_sync(&theirs, "t", 3).await).await;
    assert!(!can_be_placed(&theirs, "placed").await);

    let acknowledged = load.end().await;
    let expected: Vec<String> = (0..acknowledged).map(|round| round.to_string()).collect();
    let own = broker.bootstrap();
    for partition in 0..PARTITIONS {
        let read = read_partition(&own, "t", partition, acknowledged).await;
        assert!(read[..acknowledged] == expected, "partition {partition} of {acknowledged} rounds");
    }
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn downgrade_across_changed_records_is_refused() {
    let config = ("thalweg.format.release.version", "4.3");
    let broker = TestBroker::builder().config(config.0, config.1).start().await;
    let admin = admin(&broker.bootstrap()).await;
    let change = async |level: i16, upgrade: UpgradeType| {
        let update = FeatureUpdate::new("metadata.version", level).with_upgrade(upgrade);
        let mut updated = admin.update_features([update], Mode::Apply).await;
        updated.remove("metadata.version").unwrap().map_err(|error| error.to_string())
    };
    let level = async || {
        let features = admin.describe_features().await.unwrap();
        features.features["metadata.version"].level
    };
    assert_eq!(level().await, Some(30));
    change(31, UpgradeType::Upgrade).await.unwrap();
    change(30, UpgradeType::SafeDowngrade).await.unwrap();
    change(33, UpgradeType::Upgrade).await.unwrap();
    for lower in [32, 31, 30] {
        for how in [UpgradeType::SafeDowngrade, UpgradeType::UnsafeDowngrade] {
            let refused = change(lower, how).await.unwrap_err();
            assert!(refused.contains("INVALID_UPDATE_VERSION"), "{lower} {how:?}: {refused}");
        }
    }
    assert_eq!(level().await, Some(33));
    // A topic shows that the cluster goes on.
    let topic = NewTopic::new("t").with_partitions(1).with_replication_factor(1);
    let created = admin.create_topics([topic], Mode::Apply).await;
    assert!(created.values().all(Result::is_ok), "{created:?}");
    let described = admin.describe_topics([TopicRef::from("t")]).await;
    assert!(described[&TopicRef::from("t")].is_ok());
    broker.shut_down().await;
}
