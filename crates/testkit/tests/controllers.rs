//! The controllers that a broker joins: those of earlier releases of Apache Kafka, at earlier metadata versions, with
//! their voters in the configs or in the metadata log.

use std::time::Duration;

use thalweg::admin::{Election, Mode, NewTopic, TopicRef};
use thalweg::{Cluster, Options, Producer, ProducerConfig, ProducerRecord, TopicPartition};
use thalweg_testkit::TestBroker;
use thalweg_testkit::kafka::{Builder, Kafka};
use thalweg_testkit::releases;
use thalweg_wire::ErrorCode;

use crate::membership::{OWN, admin, brokers, eventually, in_sync, joining_by, read, topic_tool};
use crate::support::Data;

/// Features that this broker does not serve, as far as the release has them.
fn without(builder: Builder, features: &[&str]) -> Builder {
    features.iter().fold(builder, |builder, name| builder.feature(name, 0))
}

const TRANSACTIONS: &str = "transaction.version";
const SHARE: &str = "share.version";
const STREAMS: &str = "streams.version";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_of_4_0_with_static_voters_are_joined() {
    let Some(builder) = Kafka::builder_of(releases::OLDER[0]) else { return };
    takes_part(builder).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_of_4_1_with_a_dynamic_quorum_are_joined() {
    let Some(builder) = Kafka::builder_of(releases::OLDER[1]) else { return };
    takes_part(builder.dynamic_quorum()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_of_4_2_with_a_dynamic_quorum_are_joined() {
    let Some(builder) = Kafka::builder_of(releases::OLDER[2]) else { return };
    takes_part(without(builder, &[SHARE, STREAMS]).dynamic_quorum()).await;
}

/// The lowest that Kafka 4.0 has as its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lowest_metadata_version_is_joined() {
    let Some(builder) = Kafka::builder() else { return };
    let builder = without(builder, &[TRANSACTIONS, SHARE, STREAMS]);
    let builder = builder.feature("eligible.leader.replicas.version", 0);
    takes_part(builder.feature("metadata.version", LOWEST_METADATA_VERSION)).await;
}

/// 4.0-IV0.
const LOWEST_METADATA_VERSION: i16 = 22;

/// Below that controllers answer nobody but controllers and registered brokers (KIP-919).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_metadata_version_that_is_too_low_is_named() {
    let Some(builder) = Kafka::builder() else { return };
    let builder = without(builder, &[TRANSACTIONS, SHARE, STREAMS]);
    let builder = builder.feature("eligible.leader.replicas.version", 0);
    let kafka = builder.feature("metadata.version", 14).start();
    let refused = joining(&kafka).try_start().await.err().unwrap().to_string();
    assert!(refused.contains("metadata.version") && refused.contains("3.7-IV0"), "{refused}");
}

/// Without a level for it a directory cannot be cordoned: what would be placed here could not be served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn features_that_are_not_served_stop_a_start_where_nothing_can_be_cordoned() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder.dynamic_quorum().feature("metadata.version", 29).start();
    let refused = joining(&kafka).try_start().await.err().unwrap().to_string();
    assert!(refused.contains("it cannot be cordoned"), "{refused}");
}

/// The default format of 4.4 has share.version 2 and streams.version 1. From 4.4 on controllers place nothing on a
/// broker that is cordoned, not even by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_formatted_by_default_place_nothing_here() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder.start();
    let data = Data::new();
    let broker = joining(&kafka).data(&data.0).start().await;
    let theirs = admin(&kafka.bootstrap(Kafka::INTERNAL)).await;
    let both = [1, OWN].into();
    eventually("this broker in the cluster", async || brokers(&theirs).await == both).await;
    let cordoned = async |broker: &TestBroker| {
        let described = admin(&broker.bootstrap()).await.describe_log_dirs(Some(vec![OWN])).await;
        described.unwrap()[&OWN].as_ref().unwrap().iter().all(|dir| dir.is_cordoned)
    };
    assert!(cordoned(&broker).await);

    let spread = NewTopic::new("t").with_partitions(8).with_replication_factor(1);
    let by_name = NewTopic::new("named").with_assignment(0, [OWN]);
    let mut created = theirs.create_topics([spread, by_name], Mode::Apply).await;
    let refused = created.remove("named").unwrap().err().unwrap();
    assert_eq!(refused.code(), Some(ErrorCode::INVALID_REPLICA_ASSIGNMENT), "{refused}");
    assert!(created.values().all(Result::is_ok), "{created:?}");
    let first = TopicPartition::new("t", 0);
    let moved = theirs.alter_partition_reassignments([(first.clone(), Some(vec![OWN]))]).await;
    let refused = moved[&first].as_ref().err().unwrap();
    assert_eq!(refused.code(), Some(ErrorCode::INVALID_REPLICA_ASSIGNMENT), "{refused}");
    let t = TopicRef::from("t");
    let described = theirs.describe_topics([t.clone()]).await;
    let partitions = &described[&t].as_ref().unwrap().partitions;
    assert!(partitions.iter().all(|partition| partition.replicas == [1]), "{partitions:?}");

    broker.shut_down().await;
    let broker = joining(&kafka).data(&data.0).start().await;
    assert!(cordoned(&broker).await);
    // It serves what the others lead.
    send(&broker.bootstrap(), 0, "one").await;
    broker.shut_down().await;
}

/// A broker that finds the controllers by their addresses.
fn joining(kafka: &Kafka) -> thalweg_testkit::Builder {
    joining_by("controller.quorum.bootstrap.servers", kafka.controllers())
}

/// A broker joins, leads and follows, and comes back.
async fn takes_part(builder: Builder) {
    let kafka = builder
        .config("broker.session.timeout.ms", 3_000)
        .config("broker.heartbeat.interval.ms", 500)
        .start();
    let data = Data::new();
    let broker = joining(&kafka).data(&data.0).start().await;
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let theirs = admin(&java).await;
    let both = [1, OWN].into();
    eventually("this broker in the cluster", async || brokers(&theirs).await == both).await;

    let own = broker.bootstrap();
    let ours = admin(&own).await;
    let topic = NewTopic::new("t").with_assignment(0, [OWN, 1]).with_assignment(1, [1, OWN]);
    let created = ours.create_topics([topic], thalweg::admin::Mode::Apply).await;
    assert!(created.values().all(Result::is_ok), "{created:?}");
    // The tools of the newest release talk to both. A broker hears of a topic a moment after who created it.
    for bootstrap in [&own, &java] {
        let listed = async || topic_tool(bootstrap, &["--list"]).lines().any(|name| name == "t");
        eventually("the topic in its list", listed).await;
    }
    let everybody = format!("{java},{own}");
    for at in 0..20 {
        for partition in 0..2 {
            send(&everybody, partition, &format!("{partition}-{at}")).await;
        }
    }
    eventually("all in sync", async || in_sync(&theirs, "t", 2).await).await;

    // It hands its leadership over, and gets it back.
    broker.shut_down().await;
    let leader = async || {
        let described = theirs.describe_topics([TopicRef::from("t")]).await;
        described[&TopicRef::from("t")].as_ref().unwrap().partitions[0].leader
    };
    eventually("another leader", async || leader().await == Some(1)).await;
    send(&java, 0, "0-20").await;
    let broker = joining(&kafka).data(&data.0).start().await;
    eventually("all in sync again", async || in_sync(&theirs, "t", 2).await).await;
    let partition = TopicPartition::new("t", 0);
    let elected = theirs.elect_leaders(Election::Preferred, Some(vec![partition])).await.unwrap();
    assert!(elected.values().all(Result::is_ok), "{elected:?}");
    eventually("its leadership", async || leader().await == Some(OWN)).await;
    let expected: Vec<String> = (0..=20).map(|at| format!("0-{at}")).collect();
    assert_eq!(read(&broker.bootstrap(), "t", 21).await, expected);
    broker.shut_down().await;
}

async fn send(bootstrap: &str, partition: i32, value: &str) {
    let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
    let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
    let record = ProducerRecord {
        topic: "t",
        partition: Some(partition),
        value: Some(value.as_bytes()),
        ..ProducerRecord::default()
    };
    let sent = producer.send(record).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), sent).await.expect("an answer").unwrap();
}
