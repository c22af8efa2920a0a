//! Limits of calls where the broker hangs: connections stay, new ones are accepted, and nothing is answered.
//!
//! All limits below the calls' own last an hour: a call that ends obeyed its own.

use crate::support;

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use support::hostile::{Fate, Hostile};
use support::{earliest, soon, topic, tp};
use thalweg::admin::{AdminConfig, AdminError, ConfigDetails, ConfigResource, Mode, NewTopic};
use thalweg::stream::{self, Committer, ConsumerSettings, MetadataClient};
use thalweg::{
    Admin, Cluster, CommittedOffset, Consumer, ConsumerConfig, Error, Options, Position, Producer,
    ProducerConfig, ProducerRecord,
};

const HOUR: Duration = Duration::from_secs(3_600);
const LIMIT: Duration = Duration::from_millis(300);

/// A broker that hangs when it is told to, and a topic with a record.
async fn hostile() -> (Hostile, Cluster) {
    let hostile = Hostile::start().await;
    let options = Options::default().with_request_timeout(HOUR).with_connect_timeout(HOUR);
    let cluster = Cluster::connect(&hostile.address, options).await.unwrap();
    let admin = Admin::new(cluster.clone(), AdminConfig::default());
    let topic = NewTopic::new("t").with_partitions(1).with_replication_factor(1);
    let created = soon(admin.create_topics([topic], Mode::Apply)).await;
    created.into_values().next().unwrap().unwrap();
    let producer = Producer::new(cluster.clone(), patient_producer()).unwrap();
    let delivery = soon(producer.send(ProducerRecord::new("t").with_value("v"))).await.unwrap();
    soon(delivery).await.unwrap();
    (hostile, cluster)
}

fn hang(hostile: &Hostile) {
    hostile.judge(|_| Fate::Silence);
}

fn patient_producer() -> ProducerConfig {
    ProducerConfig::default().with_delivery_timeout(3 * HOUR)
}

fn in_group() -> ConsumerConfig {
    earliest().with_group_id("g").with_auto_commit(false)
}

#[track_caller]
fn is_late<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Timeout { after: LIMIT, .. })), "{result:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumer_calls_end_by_their_limit_if_broker_hangs() {
    // With connections that are there, and with those that have to be opened.
    for is_warm in [true, false] {
        let (hostile, cluster) = hostile().await;
        let config = in_group().with_default_api_timeout(LIMIT);
        let mut consumer = Consumer::new(cluster.clone(), config.clone()).unwrap();
        consumer.assign([(tp(0), Some(Position::at(0)))]).unwrap();
        let records = soon(consumer.poll(1)).await.unwrap();
        assert_eq!(records.len(), 1);
        drop(records);
        if is_warm {
            soon(consumer.commit_offsets([(tp(0), Position::at(0))])).await.unwrap();
        } else {
            // Forgets the connections, all of which are over then.
            hostile.pass_requests(|_| false);
            while soon(cluster.refresh(&["t"])).await.is_ok() {}
            hostile.pass_requests(|_| true);
        }
        hang(&hostile);
        let partition = tp(0);
        is_late(soon(consumer.commit_offsets([(tp(0), Position::at(0))])).await);
        is_late(soon(consumer.commit()).await);
        let offset = CommittedOffset { position: Position::at(0), metadata: None };
        is_late(soon(consumer.commit_with_metadata([(tp(0), offset)])).await);
        is_late(soon(consumer.committed([&partition])).await);
        is_late(soon(consumer.end_offsets([&partition])).await);
        is_late(soon(consumer.beginning_offsets([&partition])).await);
        is_late(soon(consumer.offsets_for_times([(tp(0), 0)])).await);
        // Behind one that waits.
        let pending = consumer.commit_async();
        is_late(soon(consumer.commit()).await);
        drop(soon(pending).await.unwrap_err());
        soon(consumer.unsubscribe()).await.unwrap();
        soon(consumer.close(LIMIT)).await.unwrap();
        let metadata = MetadataClient::create(cluster, config).unwrap();
        is_late(soon(metadata.list_topics()).await);
        is_late(soon(metadata.partitions_for("t")).await);
        is_late(soon(metadata.committed([&partition])).await);
        is_late(soon(metadata.end_offsets([&partition])).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_close_by_their_limit_if_broker_hangs() {
    let (hostile, cluster) = hostile().await;
    let config = in_group().with_auto_commit(true).with_default_api_timeout(HOUR);
    let mut consumer = Consumer::new(cluster, config).unwrap();
    consumer.subscribe(["t"]).unwrap();
    while soon(consumer.poll(1)).await.unwrap().is_empty() {}
    hang(&hostile);
    is_late(soon(consumer.close(LIMIT)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admin_calls_end_by_their_limit_if_broker_hangs() {
    let (hostile, cluster) = hostile().await;
    let admin = Admin::new(cluster, AdminConfig::default().with_timeout(LIMIT));
    soon(admin.describe_cluster(false)).await.unwrap();
    hang(&hostile);
    // The answer of one request may be late a moment before the call.
    let is_late = |error: AdminError| match error {
        AdminError::Timeout { after } | AdminError::Client(Error::Timeout { after, .. }) => {
            assert!(after <= LIMIT, "{after:?}");
        }
        error => panic!("{error:?}"),
    };
    is_late(soon(admin.describe_cluster(false)).await.unwrap_err());
    is_late(soon(admin.list_topics(false)).await.unwrap_err());
    is_late(soon(admin.describe_features()).await.unwrap_err());
    is_late(soon(admin.describe_quorum()).await.unwrap_err());
    is_late(soon(admin.unregister_broker(7)).await.unwrap_err());
    is_late(soon(admin.unregister_controller(7)).await.unwrap_err());
    let topic = NewTopic::new("other").with_partitions(1).with_replication_factor(1);
    for (_, result) in soon(admin.create_topics([topic], Mode::Apply)).await {
        is_late(result.unwrap_err());
    }
    let resources = [ConfigResource::topic("t"), ConfigResource::broker(1)];
    for (_, result) in soon(admin.describe_configs(resources, ConfigDetails::default())).await {
        is_late(result.unwrap_err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn producer_calls_end_by_their_limit_if_broker_hangs() {
    let (hostile, cluster) = hostile().await;
    // Enough for what comes before the broker hangs, also on a busy machine.
    let config = patient_producer().with_max_block(Duration::from_secs(4));
    let producer = Producer::new(cluster.clone(), config.clone()).unwrap();
    let transactional = Producer::new(cluster, config.with_transactional_id("x")).unwrap();
    let transaction = soon(transactional.begin()).await.unwrap();
    drop(soon(transaction.send(ProducerRecord::new("t").with_value("v"))).await.unwrap());
    let known = soon(producer.send(ProducerRecord::new("t").with_value("v"))).await.unwrap();
    soon(known).await.unwrap();
    hang(&hostile);
    drop(soon(producer.send(ProducerRecord::new("unknown").with_value("v"))).await.unwrap_err());
    drop(soon(producer.send(ProducerRecord::new("t").with_value("v"))).await.unwrap());
    assert!(!soon(producer.close(LIMIT)).await);
    drop(soon(transaction.commit()).await.unwrap_err());
    drop(soon(transactional.begin()).await.unwrap_err());
    assert!(!soon(transactional.close(LIMIT)).await);
}

/// How a source is ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Shutdown,
    Drain,
    /// The application drops its source first, which then has an hour.
    Dropped,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_end_by_the_shortest_limit_if_broker_hangs() {
    for ending in [Ending::Shutdown, Ending::Drain, Ending::Dropped] {
        let (hostile, cluster) = hostile().await;
        let consumer = in_group().with_default_api_timeout(HOUR);
        let mut settings = ConsumerSettings::from(consumer);
        settings.stop_timeout = HOUR;
        let mut source = stream::committable_source(&cluster, settings, topic()).unwrap();
        let control = source.control();
        match ending {
            Ending::Dropped => {
                let message = soon(source.next()).await.unwrap().unwrap();
                hang(&hostile);
                // It is acknowledged, and cannot be committed.
                let committing = tokio::spawn(message.offset.commit());
                drop(source);
                soon(control.shutdown(LIMIT)).await;
                committing.abort();
            }
            Ending::Shutdown | Ending::Drain => {
                let committer = Committer::default();
                let offsets = source.map_ok(|message| message.offset);
                let task = tokio::spawn(async move { committer.run(offsets).await });
                soon(async {
                    while control.metrics().fetched.records == 0 {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                })
                .await;
                hang(&hostile);
                if ending == Ending::Shutdown {
                    soon(control.shutdown(LIMIT)).await;
                } else {
                    drop(soon(control.drain_and_shutdown(task, LIMIT)).await);
                }
            }
        }
        soon(control.is_shutdown()).await;
    }
}
