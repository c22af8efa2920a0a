//! Brokers that check which broker a client means (KIP-1242), and clients that are sent back to their bootstrap
//! addresses.

use crate::support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::frames::{ReceivedRequest, versions};
use support::hostile::{Answer, Fate, Hostile};
use support::{Bench, earliest, grouped, soon, tp, until};
use thalweg::{
    Cluster, Consumer, Error, MetadataRecoveryStrategy, Options, Position, Producer,
    ProducerConfig, ProducerRecord,
};
use thalweg_records::Compression;
use thalweg_wire::messages::metadata_response::MetadataResponseBroker;
use thalweg_wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, MetadataResponse, OffsetFetchResponse,
};
use thalweg_wire::{ApiKey, ErrorCode, Message};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

const CLUSTER: &str = "cluster";
const LATEST: i16 = 5;

/// The version, cluster and node of each ApiVersions request.
type SeenApiVersions = Vec<(i16, Option<String>, i32)>;

/// A broker that knows what cluster it is of, which number it has, and whom else there is.
#[derive(Default)]
struct Node {
    cluster_id: Mutex<String>,
    node_id: Mutex<i32>,
    /// Brokers as Metadata names them.
    brokers: Mutex<Vec<(i32, u16)>>,
    asked: Mutex<SeenApiVersions>,
    /// Metadata is answered with REBOOTSTRAP_REQUIRED.
    sends_away: AtomicBool,
    metadata_requests: AtomicUsize,
    connections: AtomicUsize,
    last_version: i16,
}

impl Node {
    /// Listens; gives its port.
    async fn start(node_id: i32, last_version: i16) -> (Arc<Node>, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let node = Node {
            cluster_id: Mutex::new(CLUSTER.into()),
            node_id: Mutex::new(node_id),
            last_version,
            ..Node::default()
        };
        let node = Arc::new(node);
        let serving = Arc::clone(&node);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        (node, port)
    }

    fn names(&self, brokers: &[(i32, u16)]) {
        *self.brokers.lock().unwrap() = brokers.to_vec();
    }

    /// The ApiVersions requests since this was called last.
    fn asked(&self) -> SeenApiVersions {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn api_versions(&self, request: &ApiVersionsRequest) -> ApiVersionsResponse {
        let is_own = |cluster: &String| {
            *cluster == *self.cluster_id.lock().unwrap()
                && request.node_id == *self.node_id.lock().unwrap()
        };
        if !request.cluster_id.as_ref().is_none_or(is_own) {
            let error_code = ErrorCode::REBOOTSTRAP_REQUIRED;
            return ApiVersionsResponse { error_code, ..Default::default() };
        }
        let api_keys =
            versions(&[(ApiKey::API_VERSIONS, self.last_version), (ApiKey::METADATA, 13)]);
        ApiVersionsResponse { api_keys, ..Default::default() }
    }

    fn metadata(&self) -> MetadataResponse {
        self.metadata_requests.fetch_add(1, Ordering::SeqCst);
        if self.sends_away.load(Ordering::SeqCst) {
            let error_code = ErrorCode::REBOOTSTRAP_REQUIRED;
            return MetadataResponse { error_code, ..Default::default() };
        }
        let brokers = self.brokers.lock().unwrap().clone();
        let broker = |(node_id, port): (i32, u16)| MetadataResponseBroker {
            node_id,
            host: "127.0.0.1".into(),
            port: port.into(),
            ..Default::default()
        };
        MetadataResponse {
            cluster_id: Some(CLUSTER.into()),
            brokers: brokers.into_iter().map(broker).collect(),
            ..Default::default()
        }
    }
}

async fn serve(mut stream: TcpStream, node: Arc<Node>) -> Option<()> {
    loop {
        let received = ReceivedRequest::read(&mut stream).await?;
        let (api, version) = (received.api, received.version);
        let mut w = received.begin_answer();
        if api == ApiKey::METADATA {
            node.metadata().encode(&mut w, version).unwrap();
        } else if version > node.last_version {
            node.asked.lock().unwrap().push((version, None, -1));
            let mut response = node.api_versions(&ApiVersionsRequest::default());
            response.error_code = ErrorCode::UNSUPPORTED_VERSION;
            response.encode(&mut w, 0).unwrap();
        } else {
            let request: ApiVersionsRequest = received.body();
            let response = node.api_versions(&request);
            node.asked.lock().unwrap().push((version, request.cluster_id, request.node_id));
            response.encode(&mut w, version).unwrap();
        }
        w.end_frame().unwrap();
        stream.write_all(&w.to_vec()).await.ok()?;
    }
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

fn quick() -> Options {
    Options::default()
        .with_connect_timeout(Duration::from_secs(5))
        .with_request_timeout(Duration::from_secs(5))
}

const IDLE: Duration = Duration::from_millis(50);

/// Connections end that are not used.
fn quick_to_close() -> Options {
    quick().with_connections_max_idle(IDLE)
}

/// A bootstrap server that names one broker.
async fn one_broker(last_version: i16) -> (Arc<Node>, u16, Arc<Node>) {
    let (bootstrap, port) = Node::start(9, last_version).await;
    let (broker, at) = Node::start(1, last_version).await;
    bootstrap.names(&[(1, at)]);
    broker.names(&[(1, at)]);
    (bootstrap, port, broker)
}

#[tokio::test]
async fn api_versions_names_the_broker_but_not_at_bootstrap() {
    let (bootstrap, port, broker) = one_broker(LATEST).await;
    let cluster = Cluster::connect(&address(port), quick()).await.unwrap();
    cluster.broker(1).await.unwrap();
    // One request for each connection.
    assert_eq!(bootstrap.asked(), [(LATEST, None, -1)]);
    assert_eq!(broker.asked(), [(LATEST, Some(CLUSTER.into()), 1)]);
}

#[tokio::test]
async fn api_versions_to_a_v4_broker_takes_two_requests() {
    let (bootstrap, port, broker) = one_broker(4).await;
    let cluster = Cluster::connect(&address(port), quick()).await.unwrap();
    cluster.broker(1).await.unwrap();
    for node in [bootstrap, broker] {
        assert_eq!(node.asked(), [(LATEST, None, -1), (4, None, -1)]);
    }
}

#[tokio::test]
async fn api_versions_names_no_broker_where_a_config_says_so() {
    for options in [
        quick().with_metadata_cluster_check(false),
        quick().with_metadata_recovery_strategy(MetadataRecoveryStrategy::None),
    ] {
        let (_bootstrap, port, broker) = one_broker(LATEST).await;
        *broker.node_id.lock().unwrap() = 2;
        let cluster = Cluster::connect(&address(port), options).await.unwrap();
        cluster.broker(1).await.unwrap();
        assert_eq!(broker.asked(), [(LATEST, None, -1)]);
    }
}

#[tokio::test]
async fn rebootstrap_closes_all_connections_of_the_cluster() {
    let (bootstrap, port, broker) = one_broker(LATEST).await;
    let (other, at) = Node::start(2, LATEST).await;
    let first = broker.brokers.lock().unwrap()[0];
    bootstrap.names(&[first, (2, at)]);
    let cluster = Cluster::connect(&address(port), quick()).await.unwrap();
    let connection = cluster.broker(1).await.unwrap();
    // Node 2 is another one now.
    *other.node_id.lock().unwrap() = 3;
    let error = cluster.broker(2).await.unwrap_err();
    assert!(error.is_retriable() && matches!(error, Error::Negotiate { .. }), "{error}");
    assert!(error.to_string().contains("REBOOTSTRAP_REQUIRED"), "{error}");
    until(|| connection.over().is_some()).await;
    assert!(matches!(connection.over(), Some(Error::Io { .. })), "{connection:?}");
    assert!(cluster.metadata().brokers.is_empty());
    // Only the bootstrap server is known, and its connection is a new one.
    let (asked, before) = (bootstrap.asked(), bootstrap.connections.load(Ordering::SeqCst));
    assert_eq!((asked.len(), before), (1, 1));
    let (metadata, _) = cluster.refresh(&[]).await.unwrap();
    assert_eq!(metadata.brokers.len(), 2);
    assert_eq!(bootstrap.asked(), [(LATEST, None, -1)]);
    assert_eq!(bootstrap.metadata_requests.load(Ordering::SeqCst), 2);
    assert!(cluster.broker(1).await.is_ok());
}

#[tokio::test]
async fn refresh_goes_on_at_bootstrap_servers_after_a_refusal() {
    let (bootstrap, port, broker) = one_broker(LATEST).await;
    let cluster = Cluster::connect(&address(port), quick_to_close()).await.unwrap();
    // Another cluster has taken over the broker's address.
    *broker.cluster_id.lock().unwrap() = "another".into();
    tokio::time::sleep(4 * IDLE).await;
    cluster.refresh(&[]).await.unwrap();
    // It is not asked without a name after that.
    assert_eq!(broker.asked(), [(LATEST, Some(CLUSTER.into()), 1)]);
    assert_eq!(broker.metadata_requests.load(Ordering::SeqCst), 0);
    assert_eq!(bootstrap.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_broker_under_another_id_does_not_end_connections_again() {
    let (bootstrap, port, broker) = one_broker(LATEST).await;
    let (other, at) = Node::start(2, LATEST).await;
    *other.node_id.lock().unwrap() = 3;
    let first = broker.brokers.lock().unwrap()[0];
    bootstrap.names(&[first, (2, at)]);
    let cluster = Cluster::connect(&address(port), quick()).await.unwrap();
    assert!(cluster.broker(2).await.is_err());
    cluster.refresh(&[]).await.unwrap();
    let connection = cluster.broker(1).await.unwrap();
    for _ in 0..20 {
        assert!(cluster.broker(2).await.is_err());
    }
    assert!(connection.over().is_none(), "{connection:?}");
    // Only after a second.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert!(cluster.broker(2).await.is_err());
    until(|| connection.over().is_some()).await;
}

#[tokio::test]
async fn recovery_strategy_none_stays_with_the_known_brokers() {
    let options = quick().with_metadata_recovery_strategy(MetadataRecoveryStrategy::None);
    let (bootstrap, port, broker) = one_broker(LATEST).await;
    let cluster = Cluster::connect(&address(port), options).await.unwrap();
    let connection = cluster.broker(1).await.unwrap();
    bootstrap.sends_away.store(true, Ordering::SeqCst);
    broker.sends_away.store(true, Ordering::SeqCst);
    let opened = || [&bootstrap, &broker].map(|node| node.connections.load(Ordering::SeqCst));
    let requests =
        || [&bootstrap, &broker].map(|node| node.metadata_requests.load(Ordering::SeqCst));
    assert_eq!((opened(), requests()), ([1, 1], [1, 0]));
    for _ in 0..3 {
        let error = cluster.refresh(&[]).await.unwrap_err();
        assert!(error.to_string().contains("REBOOTSTRAP_REQUIRED"), "{error}");
        // Callers try it again.
        assert!(error.is_retriable(), "{error}");
    }
    // Each refresh sends one request, over an open connection.
    assert_eq!(requests().iter().sum::<usize>(), 4);
    assert!(connection.over().is_none() && cluster.metadata().brokers.len() == 1);
    bootstrap.sends_away.store(false, Ordering::SeqCst);
    broker.sends_away.store(false, Ordering::SeqCst);
    let (metadata, _) = cluster.refresh(&[]).await.unwrap();
    assert_eq!(metadata.brokers.keys().collect::<Vec<_>>(), [&1]);
    assert!(cluster.broker(1).await.is_ok() && connection.over().is_none());
    assert_eq!(opened(), [1, 1]);
}

/// As in Java, whose client asks again until it is answered.
#[tokio::test]
async fn refusal_by_the_bootstrap_server_too_is_retriable() {
    let (bootstrap, port, broker) = one_broker(LATEST).await;
    let cluster = Cluster::connect(&address(port), quick()).await.unwrap();
    let connection = cluster.broker(1).await.unwrap();
    bootstrap.sends_away.store(true, Ordering::SeqCst);
    broker.sends_away.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        let error = cluster.refresh(&[]).await.unwrap_err();
        assert!(matches!(error, Error::Broker { api: ApiKey::METADATA, .. }), "{error}");
        assert!(error.is_retriable(), "{error}");
    }
    until(|| connection.over().is_some()).await;
    bootstrap.sends_away.store(false, Ordering::SeqCst);
    let (metadata, _) = cluster.refresh(&[]).await.unwrap();
    assert_eq!(metadata.brokers.keys().collect::<Vec<_>>(), [&1]);
}

#[tokio::test]
async fn recovery_strategy_none_leaves_bootstrap_servers_alone() {
    use MetadataRecoveryStrategy::{None, Rebootstrap};
    for (strategy, connections) in [(None, 1), (Rebootstrap, 2)] {
        let (bootstrap, port, _broker) = one_broker(LATEST).await;
        // Nothing listens there.
        bootstrap.names(&[(1, 1)]);
        let options = quick_to_close().with_metadata_recovery_strategy(strategy);
        let cluster = Cluster::connect(&address(port), options).await.unwrap();
        tokio::time::sleep(4 * IDLE).await;
        let refreshed = cluster.refresh(&[]).await;
        assert_eq!(refreshed.is_ok(), strategy == Rebootstrap, "{refreshed:?}");
        assert_eq!(bootstrap.connections.load(Ordering::SeqCst), connections);
    }
}

/// What the broker answers to Metadata.
fn judge(answer: &Answer<'_>, sends_away: bool) -> Fate {
    match answer.api {
        ApiKey::METADATA if sends_away => answer.change(|response: &mut MetadataResponse| {
            response.error_code = ErrorCode::REBOOTSTRAP_REQUIRED;
        }),
        _ => Fate::Pass,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rebootstrap_reaches_connections_of_producer_and_consumer() {
    let hostile = Hostile::start().await;
    let (address, left) = (hostile.address.clone(), Arc::new(AtomicUsize::new(0)));
    let opened = Arc::new(AtomicUsize::new(0));
    let (counted, leaving) = (Arc::clone(&opened), Arc::clone(&left));
    hostile.judge(move |answer| {
        let is_opened = answer.api == ApiKey::API_VERSIONS;
        counted.fetch_add(usize::from(is_opened), Ordering::SeqCst);
        let sends_away = answer.api == ApiKey::METADATA
            && leaving
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                .is_ok();
        judge(answer, sends_away)
    });
    let cluster = Cluster::connect(&address, Options::default()).await.unwrap();
    let bench = Bench::on(hostile.broker, 1).await;
    let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    let send = async |producer: &Producer| {
        let record = ProducerRecord::new("t").with_partition(0).with_value(b"a");
        soon(producer.send(record).await.unwrap()).await.unwrap().offset
    };
    // A Fetch that waits for a record would last until the end of the test.
    let config = earliest().with_fetch_max_wait(Duration::from_secs(15));
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    consumer.assign([(tp(0), Some(Position::at(0)))]).unwrap();
    assert_eq!(send(&producer).await, 0);
    assert_eq!(soon(consumer.poll(1)).await.unwrap().len(), 1);
    tokio::time::sleep(Duration::from_millis(50)).await;

    let before = opened.load(Ordering::SeqCst);
    left.store(1, Ordering::SeqCst);
    cluster.refresh(&["t"]).await.unwrap();
    // The cluster's, the consumer's and the producer's connection.
    until(|| opened.load(Ordering::SeqCst) >= before + 2).await;
    assert_eq!(send(&producer).await, 1);
    assert_eq!(soon(consumer.poll(1)).await.unwrap().len(), 1);
    assert!(opened.load(Ordering::SeqCst) >= before + 3);
    bench.broker.shut_down().await;
}

/// The lookup of committed offsets asks for metadata, too: an error of it that is not retriable would fail the
/// consumer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumer_outlives_refusals_of_metadata() {
    use MetadataRecoveryStrategy::{None, Rebootstrap};
    // With `Rebootstrap` a refresh asks twice.
    for (strategy, refusals, subscribes) in
        [(Rebootstrap, 2, false), (Rebootstrap, 2, true), (None, 1, false), (None, 1, true)]
    {
        let hostile = Hostile::start().await;
        let refused = Arc::new(AtomicUsize::new(0));
        let (mut looked_up, mut left, counted) = (false, 0, Arc::clone(&refused));
        hostile.judge(move |answer| match answer.api {
            ApiKey::OFFSET_FETCH if !looked_up => {
                (looked_up, left) = (true, refusals);
                answer.change(|response: &mut OffsetFetchResponse| {
                    let topics = response.groups.iter_mut().flat_map(|group| &mut group.topics);
                    for partition in topics.flat_map(|topic| &mut topic.partitions) {
                        partition.error_code = ErrorCode::UNKNOWN_TOPIC_ID;
                    }
                })
            }
            ApiKey::METADATA if left > 0 => {
                left -= 1;
                counted.fetch_add(1, Ordering::SeqCst);
                judge(answer, true)
            }
            _ => Fate::Pass,
        });
        let options = quick().with_metadata_recovery_strategy(strategy);
        let cluster = Cluster::connect(&hostile.address, options).await.unwrap();
        let bench = Bench::on(hostile.broker, 1).await;
        bench.produce(0, &["a"], Compression::None).await;
        let mut consumer = Consumer::new(cluster, grouped()).unwrap();
        match subscribes {
            true => consumer.subscribe(["t"]).unwrap(),
            false => consumer.assign([(tp(0), Option::None)]).unwrap(),
        }
        let read = soon(consumer.poll(1)).await;
        let case = format!("{strategy:?}, {subscribes}");
        assert_eq!(read.unwrap_or_else(|error| panic!("{case}: {error}")).len(), 1, "{case}");
        assert_eq!(refused.load(Ordering::SeqCst), refusals, "{case}");
        drop(consumer);
        bench.broker.shut_down().await;
    }
}
