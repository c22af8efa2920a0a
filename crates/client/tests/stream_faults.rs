//! Streams over connections that break all the time.

use crate::support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use support::{Bench, committed, grouped, topic};
use thalweg::stream::{
    self, Committer, CommitterSettings, Envelope, OwnedProducerRecord, ProducerSettings,
    Subscription,
};
use thalweg::{
    Assignor, Cluster, GroupProtocol, Options, Producer, ProducerConfig, TopicPartition,
};
use thalweg_records::Compression;
use thalweg_testkit::TestBroker;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Stands between clients and a broker, and breaks every connection now and then.
struct Proxy {
    address: String,
    is_rough: Arc<AtomicBool>,
    /// Connections that were broken.
    broken: Arc<AtomicUsize>,
}

/// Time between two breaks.
const BREAKS: [u64; 4] = [40, 90, 25, 150];

impl Proxy {
    /// A broker that can be reached by this alone.
    async fn start() -> (Proxy, TestBroker) {
        let (listener, address, broker) = support::behind().await;
        let behind = broker.bootstrap();
        let (cut, cuts) = watch::channel(0u32);
        let is_rough = Arc::new(AtomicBool::new(true));
        let rough = Arc::clone(&is_rough);
        let broken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&broken);
        tokio::spawn(async move {
            for pause in BREAKS.into_iter().cycle() {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                if rough.load(Ordering::SeqCst) {
                    cut.send_modify(|cuts| *cuts += 1);
                }
            }
        });
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (behind, mut cuts) = (behind.clone(), cuts.clone());
                let counted = Arc::clone(&counted);
                cuts.mark_unchanged();
                tokio::spawn(async move {
                    let Ok(mut broker) = TcpStream::connect(&behind).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut client, &mut broker) => {}
                        _ = cuts.changed() => {
                            counted.fetch_add(1, Ordering::SeqCst);
                            drop(client.shutdown().await);
                        }
                    }
                });
            }
        });
        (Proxy { address, is_rough, broken }, broker)
    }

    async fn cluster(&self) -> Cluster {
        loop {
            if let Ok(cluster) = Cluster::connect(&self.address, Options::default()).await {
                return cluster;
            }
        }
    }
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("too slow")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_record_is_worked_on_and_committed_whatever_breaks() {
    for assignor in [Assignor::Range, Assignor::CooperativeSticky] {
        let (proxy, broker) = Proxy::start().await;
        let bench = Bench::on(broker, 3).await;
        let seen: Arc<Mutex<BTreeMap<(i32, i64), usize>>> = Arc::default();
        let mut members = Vec::new();
        for _ in 0..2 {
            let config = grouped()
                .with_group_protocol(GroupProtocol::Classic { assignors: vec![assignor] })
                .with_retry_backoff(Duration::from_millis(10))
                .with_retry_backoff_max(Duration::from_millis(50));
            let cluster = proxy.cluster().await;
            let mut source =
                stream::committable_partitioned_source(&cluster, config, topic()).unwrap();
            let control = source.control();
            let seen = Arc::clone(&seen);
            let running = tokio::spawn(async move {
                let settings = CommitterSettings::default()
                    .with_max_batch(20)
                    .with_max_interval(Duration::from_millis(20));
                let committer = Committer::new(settings);
                let mut tasks = Vec::new();
                while let Some(next) = source.next().await {
                    let (_, stream) = next.unwrap();
                    let seen = Arc::clone(&seen);
                    tasks.push(tokio::spawn(async move {
                        let offsets = stream.map_ok(move |message| {
                            let at = (message.record.partition(), message.record.offset());
                            *seen.lock().unwrap().entry(at).or_default() += 1;
                            message.offset
                        });
                        committer.run(offsets).await
                    }));
                }
                for task in tasks {
                    task.await.unwrap().unwrap();
                }
            });
            members.push((control, running));
        }
        for _ in 0..60 {
            for partition in 0..3 {
                bench.produce(partition, &["x"; 10], Compression::Lz4).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        in_time(async {
            while seen.lock().unwrap().len() < 1_800 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        proxy.is_rough.store(false, Ordering::SeqCst);
        for (control, running) in members {
            let drained = control.drain_and_shutdown(running, Duration::from_secs(30));
            in_time(drained).await.expect("in time").unwrap();
        }
        let config = grouped().with_group_id("g");
        let client = stream::MetadataClient::create(proxy.cluster().await, config).unwrap();
        let partitions: Vec<TopicPartition> = (0..3).map(support::tp).collect();
        let found = in_time(client.committed(&partitions)).await.unwrap();
        let offsets: Vec<_> = found.iter().map(|(_, found)| found.as_ref().unwrap()).collect();
        assert!(offsets.iter().all(|found| found.position.offset == 600), "{offsets:?}");
        let seen = seen.lock().unwrap();
        let again: usize = seen.values().map(|times| times - 1).sum();
        let broken = proxy.broken.load(Ordering::SeqCst);
        eprintln!("{assignor:?}: {again} of 1800 came again, {broken} connections broke");
        assert!(broken > 50);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_whole_and_in_order_whatever_breaks() {
    let (proxy, broker) = Proxy::start().await;
    let bench = Bench::on(broker, 1).await;
    bench.create("out", 1).await;
    for _ in 0..40 {
        let values: Vec<String> = (0..10).map(|at| at.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        bench.produce(0, &values, Compression::None).await;
    }
    let cluster = proxy.cluster().await;
    let config = ProducerConfig::default().with_retry_backoff(Duration::from_millis(10));
    let producer = Producer::new(proxy.cluster().await, config).unwrap();
    let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    // Slowly, so that a lot breaks meanwhile.
    let envelopes = source.and_then(|message| async move {
        tokio::time::sleep(Duration::from_millis(3)).await;
        let text = message.record.offset().to_string();
        Ok(Envelope::single(OwnedProducerRecord::new("out").with_value(text), message.offset))
    });
    let committer = CommitterSettings::default()
        .with_max_batch(25)
        .with_max_interval(Duration::from_millis(50));
    let sink = stream::committable_sink(
        &producer,
        ProducerSettings::default().with_parallelism(10),
        committer,
    );
    let running = tokio::spawn(envelopes.forward(sink));
    in_time(async {
        while producer.counts().records < 400 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    proxy.is_rough.store(false, Ordering::SeqCst);
    let drained = control.drain_and_shutdown(running, Duration::from_secs(30));
    in_time(drained).await.expect("in time").unwrap().unwrap();
    assert_eq!(in_time(committed(&bench, 1)).await, [400]);
    let by_hand = Subscription::assignment_with_offset([(TopicPartition::new("out", 0), 0)]);
    let log = stream::plain_source(&cluster, grouped(), by_hand).unwrap();
    let copied: Vec<i64> = in_time(
        log.take(400)
            .map(|record| {
                String::from_utf8_lossy(record.unwrap().value().unwrap()).parse::<i64>().unwrap()
            })
            .collect(),
    )
    .await;
    // The producer is idempotent, the member never lost its partition: each once, in order.
    assert_eq!(copied, (0..400).collect::<Vec<i64>>());
    assert!(proxy.broken.load(Ordering::SeqCst) > 50);
}
