//! Connections to brokers that may lead next. There is one broker, and something that stands for a second one: the
//! metadata say that it has replicas of everything.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use support::hostile::{Answer, Fate, Hostile};
use support::tap::Tap;
use support::{Bench, earliest, soon, tp, until};
use thalweg::{
    Cluster, Consumer, ErrorCode, Options, Position, Producer, ProducerConfig, ProducerRecord,
};
use thalweg_records::Compression;
use thalweg_wire::ApiKey;
use thalweg_wire::messages::metadata_response::MetadataResponseBroker;
use thalweg_wire::messages::{
    FetchResponse, MetadataResponse, ProduceResponse, fetch_response, produce_response,
};
use tokio::net::TcpListener;

/// The second broker.
const SECOND: i32 = 4711;
const HOST: &str = "127.0.0.1";

struct Two {
    /// The first broker's address.
    first: String,
    bench: Bench,
    /// Whether the second one leads everything, as the first one says.
    is_moved: Arc<AtomicBool>,
}

impl Two {
    /// The second broker listens at this port.
    async fn start(port: u16) -> Two {
        let hostile = Hostile::start().await;
        let is_moved = Arc::new(AtomicBool::new(false));
        let moved = Arc::clone(&is_moved);
        hostile.judge(move |answer| judge(answer, port, moved.load(Ordering::SeqCst)));
        let (first, bench) = (hostile.address, Bench::on(hostile.broker, 1).await);
        Two { first, bench, is_moved }
    }

    async fn cluster(&self, options: Options) -> Cluster {
        // The second broker is the first one, which would say so.
        let options = options.with_metadata_cluster_check(false);
        Cluster::connect(&self.first, options).await.unwrap()
    }
}

/// What the first broker says. Leaders have no epoch in its metadata, so that the true one is news.
fn judge(answer: &Answer<'_>, port: u16, is_moved: bool) -> Fate {
    let leader_id = SECOND;
    let port = i32::from(port);
    match answer.api {
        ApiKey::METADATA => answer.change(|response: &mut MetadataResponse| {
            let nodes = vec![response.brokers[0].node_id, SECOND];
            response.brokers.push(MetadataResponseBroker {
                node_id: SECOND,
                host: HOST.into(),
                port,
                ..Default::default()
            });
            for partition in response.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
                partition.leader_epoch = -1;
                partition.replica_nodes.clone_from(&nodes);
                partition.isr_nodes.clone_from(&nodes);
            }
        }),
        ApiKey::PRODUCE if is_moved => answer.change(|response: &mut ProduceResponse| {
            let topics = response.responses.iter_mut();
            for partition in topics.flat_map(|topic| &mut topic.partition_responses) {
                partition.error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
                partition.current_leader.leader_id = leader_id;
                partition.current_leader.leader_epoch = 0;
            }
            let (node_id, host) = (SECOND, HOST.to_owned());
            let node = produce_response::NodeEndpoint { node_id, host, port, ..Default::default() };
            response.node_endpoints.push(node);
        }),
        ApiKey::FETCH if is_moved => answer.change(|response: &mut FetchResponse| {
            let topics = response.responses.iter_mut();
            for partition in topics.flat_map(|topic| &mut topic.partitions) {
                partition.error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
                partition.records = None;
                partition.current_leader.leader_id = leader_id;
                partition.current_leader.leader_epoch = 0;
            }
            let (node_id, host) = (SECOND, HOST.to_owned());
            let node = fetch_response::NodeEndpoint { node_id, host, port, ..Default::default() };
            response.node_endpoints.push(node);
        }),
        _ => Fate::Pass,
    }
}

async fn producer(cluster: &Cluster) -> Producer {
    let config = ProducerConfig::default()
        .with_linger(Duration::ZERO)
        .with_retry_backoff(Duration::from_millis(1));
    Producer::new(cluster.clone(), config).unwrap()
}

/// Sends one record; gives its offset.
async fn send(producer: &Producer) -> i64 {
    let record = ProducerRecord::new("t").with_partition(0).with_value(b"a");
    soon(producer.send(record).await.unwrap()).await.unwrap().offset
}

async fn second() -> (Tap, u16) {
    let tap = Tap::bind(1).await;
    let port = tap.ports()[0];
    (tap, port)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_uses_a_partition_is_connected_to_whom_it_moves_to() {
    let (mut tap, port) = second().await;
    let two = Two::start(port).await;
    tap.lead_to(&[two.bench.broker.bootstrap()]);
    let [ours, theirs] =
        [two.cluster(Options::default()).await, two.cluster(Options::default()).await];
    let producer = producer(&ours).await;
    // Who has none ahead would have one before those that come later.
    let without = two.cluster(Options::default().with_connect_ahead(0)).await;
    let without = self::producer(&without).await;
    assert_eq!(send(&without).await, 0);
    let mut consumer = Consumer::new(theirs.clone(), earliest()).unwrap();
    consumer.assign([(tp(0), Some(Position::at(0)))]).unwrap();
    assert_eq!(soon(consumer.poll(1)).await.unwrap().len(), 1);
    until(|| tap.seen().connections() == 1).await;
    assert_eq!(send(&producer).await, 1);
    until(|| tap.seen().requests(ApiKey::API_VERSIONS) == 2).await;
    assert_eq!(tap.seen().connections(), 2, "one each, of those that have used it");
    assert_eq!(soon(consumer.poll(1)).await.unwrap().len(), 1);

    let asked = [ours.metadata_requests(), theirs.metadata_requests()];
    two.is_moved.store(true, Ordering::SeqCst);
    // The first broker has taken the record in, and says that it has not: it is not there twice.
    assert_eq!(send(&producer).await, 2);
    assert_eq!(producer.counts().retries, 1);
    assert_eq!(soon(consumer.poll(1)).await.unwrap().iter().map(|it| it.offset()).max(), Some(2));
    assert_eq!(send(&producer).await, 3);
    assert_eq!(soon(consumer.poll(1)).await.unwrap().iter().map(|it| it.offset()).max(), Some(3));
    let seen = tap.seen();
    assert_eq!((seen.connections(), seen.requests(ApiKey::PRODUCE)), (2, 2));
    assert!(seen.requests(ApiKey::FETCH) > 0);
    assert_eq!([ours.metadata_requests(), theirs.metadata_requests()], asked);
    two.bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_cannot_be_reached_ahead_concerns_nobody() {
    let listener = TcpListener::bind((HOST, 0)).await.unwrap();
    let two = Two::start(listener.local_addr().unwrap().port()).await;
    let tries = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&tries);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(stream);
        }
    });
    let cluster = two.cluster(Options::default()).await;
    let producer = producer(&cluster).await;
    assert_eq!(send(&producer).await, 0);
    let config = earliest().with_retry_backoff(Duration::from_millis(1));
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    consumer.assign([(tp(0), Some(Position::at(0)))]).unwrap();
    assert_eq!(soon(consumer.poll(1)).await.unwrap().len(), 1);
    let asked = cluster.metadata_requests();
    // Both try again and again, and go on as if nothing were.
    for at in 1..=10 {
        until(|| tries.load(Ordering::SeqCst) >= at).await;
        assert_eq!(send(&producer).await, at as i64);
        assert_eq!(soon(consumer.poll(1)).await.unwrap().len(), 1);
    }
    assert_eq!(cluster.metadata_requests(), asked);
    assert_eq!(producer.counts().retries, 0);
    two.bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_ahead_stay_and_come_back() {
    const IDLE: Duration = Duration::from_millis(100);
    let (mut tap, port) = second().await;
    let two = Two::start(port).await;
    tap.lead_to(&[two.bench.broker.bootstrap()]);
    let cluster = two.cluster(Options::default().with_connections_max_idle(IDLE)).await;
    let producer = producer(&cluster).await;
    assert_eq!(send(&producer).await, 0);
    let mut consumer = Consumer::new(cluster.clone(), earliest()).unwrap();
    consumer.assign([(tp(0), Some(Position::at(0)))]).unwrap();
    assert_eq!(soon(consumer.poll(1)).await.unwrap().len(), 1);
    until(|| tap.seen().connections() == 2).await;
    let asked = cluster.metadata_requests();
    // They would have been closed many times by now.
    until(|| tap.seen().requests(ApiKey::API_VERSIONS) >= 12).await;
    assert_eq!(tap.seen().connections(), 2);
    // A broker that closes them, because it is started anew, finds them again.
    tap.cut();
    until(|| tap.seen().connections() == 4).await;
    let seen = tap.seen().requests(ApiKey::API_VERSIONS);
    until(|| tap.seen().requests(ApiKey::API_VERSIONS) >= seen + 4).await;
    assert_eq!(cluster.metadata_requests(), asked);
    two.bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_costs_one_metadata_request() {
    // So long that metadata would be asked for again only if the connection did not come back.
    const PAUSE: Duration = Duration::from_secs(1);
    let hostile = Hostile::start().await;
    let breaks = Arc::new(AtomicU64::new(0));
    let left = Arc::clone(&breaks);
    hostile.judge(move |answer| {
        let is_broken = matches!(answer.api, ApiKey::PRODUCE | ApiKey::FETCH)
            && left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |it| it.checked_sub(1))
                .is_ok();
        if is_broken { Fate::Break(Vec::new()) } else { Fate::Pass }
    });
    let connect = || Cluster::connect(&hostile.address, Options::default());
    let [ours, theirs] = [connect().await.unwrap(), connect().await.unwrap()];
    let bench = Bench::on(hostile.broker, 1).await;
    let config = ProducerConfig::default().with_retry_backoff(PAUSE).with_retry_backoff_max(PAUSE);
    let producer = Producer::new(ours.clone(), config).unwrap();
    assert_eq!(send(&producer).await, 0);
    let asked = ours.metadata_requests();
    breaks.store(1, Ordering::SeqCst);
    assert_eq!(send(&producer).await, 1);
    assert_eq!(ours.metadata_requests(), asked + 1);

    let config = earliest().with_retry_backoff(PAUSE).with_retry_backoff_max(PAUSE);
    let mut consumer = Consumer::new(theirs.clone(), config).unwrap();
    consumer.assign([(tp(0), Some(Position::at(0)))]).unwrap();
    assert_eq!(soon(consumer.poll(9)).await.unwrap().len(), 2);
    let asked = theirs.metadata_requests();
    breaks.store(1, Ordering::SeqCst);
    bench.produce(0, &["a"], Compression::None).await;
    assert_eq!(soon(consumer.poll(9)).await.unwrap().len(), 1);
    until(|| theirs.metadata_requests() == asked + 1).await;
    bench.broker.shut_down().await;
}
