//! A broker among the controllers and brokers of an Apache Kafka cluster.

mod configs;
mod directories;
mod fetchers;
mod listening;
mod moves;
mod stalls;
mod transactions;
mod unclean;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use thalweg::admin::{Admin, AdminConfig, Election, Mode, NewTopic, TopicRef};
use thalweg::{
    Cluster, Consumer, ConsumerConfig, OffsetReset, Options, Producer, ProducerConfig,
    ProducerRecord, TopicPartition,
};
use thalweg_testkit::kafka::{self, Kafka};
use thalweg_testkit::oracle::Program;
use thalweg_testkit::{Builder, TestBroker};
use thalweg_wire::ErrorCode;

use crate::support::{self, Data, bytes_of};

/// This broker's id.
pub(crate) const OWN: i32 = 10;
const WAIT: Duration = Duration::from_secs(60);
/// `broker.session.timeout.ms` of the controllers.
const SESSION: Duration = Duration::from_secs(3);

/// Three nodes that soon notice when one of them, or this broker, is gone.
pub(crate) fn three_nodes(builder: kafka::Builder) -> kafka::Builder {
    builder
        .nodes(3)
        .feature("share.version", 0)
        .feature("streams.version", 0)
        .config("broker.session.timeout.ms", 3_000)
        .config("broker.heartbeat.interval.ms", 500)
        .config("controller.quorum.fetch.timeout.ms", 1_000)
}

/// One that joins.
pub(crate) fn joining(kafka: &Kafka) -> Builder {
    joining_by("controller.quorum.voters", kafka.voters())
}

/// One that joins the controllers that a config names.
pub(crate) fn joining_by(controllers: &str, named: String) -> Builder {
    TestBroker::builder()
        .config("process.roles", "broker")
        .config("node.id", OWN)
        .config(controllers, named)
        .config("controller.listener.names", Kafka::CONTROLLER)
        .config("listeners", format!("{}://127.0.0.1:0", Kafka::INTERNAL))
        .config("inter.broker.listener.name", Kafka::INTERNAL)
        .config("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT")
}

pub(crate) async fn admin(bootstrap: &str) -> Admin {
    let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
    Admin::new(cluster, AdminConfig::default())
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + WAIT;
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The brokers that one of them tells of.
pub(crate) async fn brokers(admin: &Admin) -> BTreeSet<i32> {
    let described = admin.describe_cluster(false).await.unwrap();
    described.brokers.iter().filter(|it| !it.is_fenced).map(|it| it.id).collect()
}

/// Kafka's own tool, which asks `bootstrap`.
pub(crate) fn topic_tool(bootstrap: &str, args: &[&str]) -> String {
    Program::class("org.apache.kafka.tools.TopicCommand")
        .args(["--bootstrap-server", bootstrap])
        .args(args)
        .succeed()
}

async fn produce(bootstrap: &str, topic: &str, value: &str) {
    let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
    let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
    let record = ProducerRecord {
        topic,
        partition: Some(0),
        value: Some(value.as_bytes()),
        ..ProducerRecord::default()
    };
    producer.send(record).await.unwrap().await.unwrap();
}

/// The first values of the first partition.
pub(crate) async fn read(bootstrap: &str, topic: &str, count: usize) -> Vec<String> {
    read_partition(bootstrap, topic, 0, count).await
}

/// The first values of a partition.
pub(crate) async fn read_partition(
    bootstrap: &str,
    topic: &str,
    partition: i32,
    count: usize,
) -> Vec<String> {
    let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
    let config = ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest);
    let mut consumer = Consumer::new(cluster, config).unwrap();
    consumer.assign([(TopicPartition::new(topic, partition), None)]).unwrap();
    let mut values = Vec::new();
    let deadline = Instant::now() + WAIT;
    while values.len() < count {
        assert!(Instant::now() < deadline, "only {values:?} of {topic}");
        let records = consumer.poll_timeout(100, Duration::from_secs(1)).await.unwrap();
        let text = |value: Option<&[u8]>| String::from_utf8(value.unwrap().to_vec()).unwrap();
        values.extend(records.iter().map(|record| text(record.value())));
    }
    values
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_joins_lives_through_elections_and_comes_back() {
    let Some(builder) = Kafka::builder() else { return };
    // Who comes later begins with a snapshot.
    let mut kafka = builder
        .nodes(3)
        .feature("share.version", 0)
        .feature("streams.version", 0)
        .config("metadata.log.max.record.bytes.between.snapshots", 500)
        .config("broker.session.timeout.ms", 3_000)
        .config("broker.heartbeat.interval.ms", 500)
        .start();
    let java = kafka.bootstrap(Kafka::INTERNAL);
    for at in 0..5 {
        topic_tool(&java, &["--create", "--topic", &format!("before-{at}"), "--partitions", "3"]);
    }

    // Who cannot be a part of it is told why.
    let refused = joining(&kafka).config("node.id", 2).try_start().await.err().unwrap();
    assert!(refused.to_string().contains("node.id=2"), "{refused}");
    let elsewhere = Data::new();
    let alone = TestBroker::builder().data(&elsewhere.0).start().await;
    alone.shut_down().await;
    let refused = joining(&kafka).data(&elsewhere.0).try_start().await.err().unwrap();
    assert!(refused.to_string().contains("belong to cluster"), "{refused}");

    let data = Data::new();
    let broker = joining(&kafka).data(&data.0).start().await;
    let (ours, theirs) = (admin(&broker.bootstrap()).await, admin(&java).await);
    eventually("this broker in the cluster", async || brokers(&theirs).await.contains(&OWN)).await;
    assert_eq!(brokers(&ours).await, BTreeSet::from([1, 2, 3, OWN]));
    let topics = topic_tool(&broker.bootstrap(), &["--list"]);
    assert!((0..5).all(|at| topics.contains(&format!("before-{at}"))), "{topics}");
    let quorum = ours.describe_quorum().await.unwrap();
    assert!(quorum.observers.iter().any(|it| it.id == OWN), "{quorum:?}");
    // Its own copy of the metadata is one that Kafka's tools could read: it began with a snapshot.
    let log = data.0.join("__cluster_metadata-0");
    let names = std::fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name.ends_with(".checkpoint")), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with(".part")), "{names:?}");

    // Topics are made wherever one asks.
    let own = broker.bootstrap();
    topic_tool(&own, &["--create", "--topic", "here", "--replica-assignment", "10,1"]);
    let described = theirs.describe_topics([TopicRef::from("here")]).await;
    let placed = |name: &str| -> Vec<Vec<i32>> {
        let topic = described[&TopicRef::from(name)].as_ref().unwrap();
        topic.partitions.iter().map(|partition| partition.replicas.clone()).collect()
    };
    assert_eq!(placed("here"), [[OWN], [1]]);
    // A producer that asks Java finds the leader here, and one that asks here gets its id of the controller.
    produce(&java, "here", "one").await;
    produce(&own, "here", "two").await;
    assert_eq!(read(&java, "here", 2).await, ["one", "two"]);

    // The active controller dies; another one is found.
    let quorum = ours.describe_quorum().await.unwrap();
    let node = usize::try_from(quorum.leader - 1).unwrap();
    kafka.kill(node);
    let apply = async |name: &'static str| {
        let topic = NewTopic::new(name).with_assignment(0, [OWN]);
        let created = &ours.create_topics([topic], Mode::Apply).await[name];
        // A first attempt may have been carried out and not answered.
        created
            .as_ref()
            .map_or_else(|error| error.code() == Some(ErrorCode::TOPIC_ALREADY_EXISTS), |_| true)
    };
    eventually("a topic without the old controller", async || apply("after").await).await;
    produce(&own, "after", "three").await;
    kafka.start_again(node);

    // A second one of its name is not let in.
    let twin = joining(&kafka).config("initial.broker.registration.timeout.ms", 1_500);
    let refused = twin.try_start().await.err().unwrap();
    assert!(refused.to_string().contains("DUPLICATE_BROKER_REGISTRATION"), "{refused}");
    let twin = joining(&kafka).config("server.max.startup.time.ms", 1_500);
    let refused = twin.try_start().await.err().unwrap();
    assert!(refused.to_string().contains("server.max.startup.time.ms=1500"), "{refused}");
    assert_eq!(read(&own, "here", 2).await, ["one", "two"], "and the first does not notice");

    broker.shut_down().await;
    let stopped = Instant::now();
    eventually("its leave", async || !brokers(&theirs).await.contains(&OWN)).await;
    // The controllers have let it go: its session would have lasted longer.
    assert!(stopped.elapsed() < SESSION / 2, "{:?}", stopped.elapsed());
    // It comes back with what it had, once the controllers have forgotten its last process.
    let broker = joining(&kafka).data(&data.0).start().await;
    let own = broker.bootstrap();
    assert_eq!(read(&own, "here", 2).await, ["one", "two"]);
    assert_eq!(read(&own, "after", 1).await, ["three"]);
    broker.shut_down().await;
}

/// So many records to each partition, acknowledged by all in-sync replicas.
async fn produce_all(bootstrap: &str, topic: &str, partitions: i32, from: usize, count: usize) {
    let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
    let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
    let mut sent = Vec::new();
    for at in from..from + count {
        for partition in 0..partitions {
            let value = format!("{partition}-{at}");
            let record = ProducerRecord {
                topic,
                partition: Some(partition),
                value: Some(value.as_bytes()),
                ..ProducerRecord::default()
            };
            sent.push(producer.send(record).await.unwrap());
        }
    }
    for delivery in sent {
        delivery.await.unwrap();
    }
}

/// Whether all replicas of all partitions are in sync.
pub(crate) async fn in_sync(admin: &Admin, topic: &str, replicas: usize) -> bool {
    let described = admin.describe_topics([TopicRef::from(topic)]).await;
    let Some(Ok(topic)) = described.get(&TopicRef::from(topic)) else { return false };
    topic.partitions.iter().all(|it| it.isr.len() == replicas && it.leader.is_some())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_are_replicated_between_java_and_this_broker() {
    let Some(builder) = Kafka::builder() else { return };
    let mut kafka = three_nodes(builder)
        .feature("transaction.version", 0)
        .config("replica.lag.time.max.ms", 3_000)
        .start();
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let data = Data::new();
    let start = |kafka: &Kafka| {
        joining(kafka).data(&data.0).config("replica.lag.time.max.ms", 3_000).start()
    };
    let broker = start(&kafka).await;
    let own = broker.bootstrap();
    let everybody = format!("{java},{own}");
    let theirs = admin(&java).await;
    eventually("this broker in the cluster", async || brokers(&theirs).await.contains(&OWN)).await;
    // Led here, followed by Java; led by Java, followed here.
    let assignment = "10:1:2,1:10:2,2:3:10";
    let args = ["--create", "--topic", "r", "--replica-assignment", assignment];
    topic_tool(&own, &[&args[..], &["--config", "min.insync.replicas=2"]].concat());
    topic_tool(&own, &["--create", "--topic", "short", "--replica-assignment", "2:3:10"]);
    // A cluster without transactions places topics here by itself.
    topic_tool(&own, &["--create", "--topic", "spread", "--partitions", "16"]);
    let spread = async || theirs.describe_topics([TopicRef::from("spread")]).await;
    // Each broker learns of it by itself.
    let is_known = async || spread().await[&TopicRef::from("spread")].is_ok();
    eventually("a topic that was created", is_known).await;
    let described = spread().await;
    let placed = described[&TopicRef::from("spread")].as_ref().unwrap().partitions.iter();
    assert!(placed.flat_map(|it| &it.replicas).any(|id| *id == OWN));

    produce_all(&everybody, "r", 3, 0, 300).await;
    produce_all(&everybody, "short", 1, 0, 50).await;
    eventually("all in sync", async || in_sync(&theirs, "r", 3).await).await;
    let compare = async |kafka: &Kafka, what: &str| {
        let node = |id: i32| kafka.data().join(format!("node-{id}"));
        for (partition, replicas) in [("r-0", [1, 2]), ("r-1", [1, 2]), ("r-2", [2, 3])] {
            eventually(&format!("{what}: the same bytes of {partition}"), async || {
                let ours = bytes_of(&data.0, partition);
                !ours.is_empty()
                    && replicas.iter().all(|id| bytes_of(&node(*id), partition) == ours)
            })
            .await;
        }
    };
    compare(&kafka, "after the first records").await;

    // Java's broker dies: what it led is led here or by another one, and nothing acknowledged is lost.
    kafka.kill(0);
    let alive = format!("{},{own}", kafka.address(1, Kafka::INTERNAL));
    produce_all(&alive, "r", 3, 300, 100).await;
    kafka.start_again(0);
    eventually("all in sync again", async || in_sync(&theirs, "r", 3).await).await;
    compare(&kafka, "after Java's death").await;

    // This one leaves and comes back: it fetches what it missed.
    broker.shut_down().await;
    produce_all(&java, "r", 3, 400, 100).await;
    // What it has ends before what the others begin with.
    produce_all(&java, "short", 1, 50, 50).await;
    let upto = [(TopicPartition::new("short", 0), 80)];
    let deleted = theirs.delete_records(upto).await;
    assert!(deleted.values().all(Result::is_ok), "{deleted:?}");
    let broker = start(&kafka).await;
    let own = broker.bootstrap();
    eventually("all in sync once more", async || in_sync(&theirs, "r", 3).await).await;
    compare(&kafka, "after this one's absence").await;
    eventually("in sync from where it begins", async || in_sync(&theirs, "short", 3).await).await;
    let ours = bytes_of(&data.0, "short-0");
    let first = i64::from_be_bytes(*ours.first_chunk().unwrap());
    assert!((50..=80).contains(&first), "it begins anew at {first}");

    // It leads again what it is preferred for.
    Program::class("org.apache.kafka.tools.LeaderElectionCommand")
        .args(["--bootstrap-server", &own, "--election-type", "preferred"])
        .args(["--all-topic-partitions"])
        .succeed();
    let leads = async || {
        let described = theirs.describe_topics([TopicRef::from("r")]).await;
        let leaders = described[&TopicRef::from("r")].as_ref().unwrap().partitions.iter();
        leaders.map(|it| it.leader).collect::<Vec<_>>() == [Some(OWN), Some(1), Some(2)]
    };
    eventually("its leadership", leads).await;
    // What is deleted here is deleted everywhere before that is answered.
    let upto = [(TopicPartition::new("r", 0), 5)];
    let deleted = admin(&own).await.delete_records(upto).await;
    assert_eq!(deleted[&TopicPartition::new("r", 0)].as_ref().ok(), Some(&5));
    produce_all(&java, "r", 3, 500, 50).await;
    compare(&kafka, "after it leads again").await;
    for partition in 0..3 {
        let first = if partition == 0 { 5 } else { 0 };
        let values = read_partition(&java, "r", partition, 550 - first).await;
        let expected: Vec<String> = (first..550).map(|at| format!("{partition}-{at}")).collect();
        assert!(values == expected, "partition {partition}: every record once, in order");
    }
    broker.shut_down().await;
}

/// A follower that waits at its leader does not let a partition wait that moves there meanwhile: the time after which
/// the leader would answer is longer than the one that records may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_moved_partitions_do_not_wait_for_what_followers_wait_for() {
    const POLL_MS: u64 = 25_000;
    const RECORD: Duration = Duration::from_secs(12);
    const SECOND: i32 = 11;
    const JAVA: i32 = 1;
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder
        .feature("transaction.version", 0)
        .feature("share.version", 0)
        .feature("streams.version", 0)
        .config("replica.fetch.wait.max.ms", POLL_MS)
        .config("replica.lag.time.max.ms", 2 * POLL_MS)
        .start();
    let (data, second_data) = (Data::new(), Data::new());
    let start = async |data: &Data, id: i32| {
        let builder = joining(&kafka).data(&data.0).config("node.id", id);
        let builder = builder.config("replica.fetch.wait.max.ms", POLL_MS);
        builder.config("replica.lag.time.max.ms", 2 * POLL_MS).start().await
    };
    let (broker, second) = (start(&data, OWN).await, start(&second_data, SECOND).await);
    let bootstrap = format!("{},{}", kafka.bootstrap(Kafka::INTERNAL), broker.bootstrap());
    let admin = admin(&bootstrap).await;
    let all = BTreeSet::from([JAVA, OWN, SECOND]);
    eventually("three brokers", async || brokers(&admin).await == all).await;
    // Every broker follows every other one in a partition that stays where it is.
    let assignment = "1:10:11,10:1:11,11:1:10";
    let args = ["--create", "--topic", "stays", "--replica-assignment", assignment];
    topic_tool(&bootstrap, &args);
    topic_tool(&bootstrap, &["--create", "--topic", "moves", "--replica-assignment", "1:10:11"]);
    produce_all(&bootstrap, "stays", 3, 0, 1).await;

    let cluster = Cluster::connect(&bootstrap[..], Options::default()).await.unwrap();
    let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
    let moved = TopicPartition::new("moves", 0);
    let mut leader = JAVA;
    for (at, next) in [OWN, SECOND, JAVA, SECOND, OWN, JAVA].into_iter().enumerate() {
        let mut replicas = vec![next];
        replicas.extend(all.iter().filter(|id| **id != next));
        let target = [(moved.clone(), Some(replicas))];
        let reassigned = admin.alter_partition_reassignments(target).await;
        assert!(reassigned.values().all(Result::is_ok), "{reassigned:?}");
        let elected = admin.elect_leaders(Election::Preferred, Some(vec![moved.clone()])).await;
        assert!(elected.unwrap().values().all(Result::is_ok), "move {at} from {leader} to {next}");
        let value = at.to_string();
        let record = ProducerRecord {
            topic: "moves",
            partition: Some(0),
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        let delivery = producer.send(record).await.unwrap();
        let delivered = tokio::time::timeout(RECORD, delivery).await;
        let delivered = delivered.unwrap_or_else(|_| panic!("a record after {leader} to {next}"));
        delivered.unwrap();
        leader = next;
    }
    broker.shut_down().await;
    second.shut_down().await;
}

/// KIP-392, in both directions; and what a producer that knows of an election first sends to who is elected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_serve_consumers_in_their_rack_and_wait_for_their_election() {
    const COUNT: usize = 200;
    const SELECTOR: &str = "org.apache.kafka.common.replica.RackAwareReplicaSelector";
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder
        .feature("transaction.version", 0)
        .feature("share.version", 0)
        .feature("streams.version", 0)
        .config("broker.rack", "theirs")
        .config("replica.selector.class", SELECTOR)
        .start();
    let data = Data::new();
    let broker = joining(&kafka)
        .data(&data.0)
        .config("broker.rack", "ours")
        .config("replica.selector.class", SELECTOR)
        .start()
        .await;
    let own = broker.bootstrap();
    let bootstrap = format!("{},{own}", kafka.bootstrap(Kafka::INTERNAL));
    let admin = admin(&bootstrap).await;
    eventually("two brokers", async || brokers(&admin).await == BTreeSet::from([1, OWN])).await;
    let assignment = format!("1:{OWN},{OWN}:1");
    topic_tool(&bootstrap, &["--create", "--topic", "r", "--replica-assignment", &assignment]);
    produce_all(&bootstrap, "r", 2, 0, COUNT).await;
    eventually("all in sync", async || in_sync(&admin, "r", 2).await).await;

    // Kafka's own consumer reads the partition that the other broker leads from the one in its rack. What it gets
    // before it is sent there is no more than an answer without records.
    let served = || support::metric(&broker, "kafka_server_brokertopicmetrics_bytesout_total");
    let consume = |rack: &str, partition: i32| {
        let before = served();
        let text = Program::class("org.apache.kafka.tools.consumer.ConsoleConsumer")
            .args(["--bootstrap-server", &bootstrap, "--topic", "r", "--offset", "earliest"])
            .args(["--partition", &partition.to_string(), "--max-messages", &COUNT.to_string()])
            .args(["--timeout-ms", "30000"])
            .args(["--command-property", &format!("client.rack={rack}")])
            .succeed();
        let expected: Vec<String> = (0..COUNT).map(|at| format!("{partition}-{at}")).collect();
        let read: Vec<&str> = text.lines().collect();
        assert!(read == expected, "rack {rack}, partition {partition}: {text}");
        served() - before
    };
    // Replication costs nothing here: everybody has everything.
    assert_ne!(consume("ours", 0), 0, "led by Java, read here");
    assert_eq!(consume("theirs", 1), 0, "led here, read from Java");
    assert_eq!(consume("theirs", 0), 0, "led by Java, in its rack");
    assert_ne!(consume("ours", 1), 0, "led here, in this rack");
    assert_ne!(consume("elsewhere", 1), 0, "no replica there: the leader's");

    // One that follows takes what it is sent a moment before it knows that it leads. Requests are sent until one is
    // taken: all of them, the last one too, must have come too early, or the election fell between two.
    let client = support::connect(&broker).await;
    let topics = admin.describe_topics([TopicRef::from("r")]).await;
    let topic = topics[&TopicRef::from("r")].as_ref().unwrap().id;
    let early = || support::metric(&broker, "thalweg_produces_early_total");
    let partition = TopicPartition::new("r", 0);
    let lead = async |first: i32, second: i32| {
        let target = [(partition.clone(), Some(vec![first, second]))];
        let reassigned = admin.alter_partition_reassignments(target).await;
        assert!(reassigned.values().all(Result::is_ok), "{reassigned:?}");
        let elected = admin.elect_leaders(Election::Preferred, Some(vec![partition.clone()])).await;
        assert!(elected.unwrap().values().all(Result::is_ok));
    };
    eventually("a record taken at the election", async || {
        // Where it led a moment ago nothing waits.
        eventually("a wait", async || {
            let before = early();
            let refused = client.produce(topic, 0, "early").await;
            assert_eq!(refused, Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
            early() > before
        })
        .await;
        let before = early();
        let send = async {
            let mut sent = 0;
            loop {
                sent += 1;
                match client.produce(topic, 0, "early").await {
                    Ok(_) => return sent,
                    Err(code) => assert_eq!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER),
                }
            }
        };
        let (sent, ()) = tokio::join!(send, lead(OWN, 1));
        let was_early = early() - before == sent;
        lead(1, OWN).await;
        was_early
    })
    .await;
    broker.shut_down().await;
}

/// KIP-73, on both sides, by Kafka's own tool: a replica that is new gets no more than the throttle lets it have until
/// that is raised.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_replicas_catch_up_no_faster_than_their_throttle() {
    const BATCHES: usize = 20;
    const RECORD: usize = 1_000;
    // One batch in each fetch; with one byte per second as the throttle, one every eleven seconds.
    const FETCH: [&str; 2] = ["replica.fetch.max.bytes", "replica.fetch.response.max.bytes"];
    let Some(mut builder) = Kafka::builder() else { return };
    for feature in ["transaction.version", "share.version", "streams.version"] {
        builder = builder.feature(feature, 0);
    }
    for name in FETCH {
        builder = builder.config(name, RECORD);
    }
    let kafka = builder.start();
    let data = Data::new();
    let mut builder = joining(&kafka).data(&data.0);
    for name in FETCH {
        builder = builder.config(name, RECORD);
    }
    let broker = builder.start().await;
    let bootstrap = format!("{},{}", kafka.bootstrap(Kafka::INTERNAL), broker.bootstrap());
    let admin = admin(&bootstrap).await;
    eventually("two brokers", async || brokers(&admin).await == BTreeSet::from([1, OWN])).await;
    let assignment = format!("1,{OWN}");
    topic_tool(&bootstrap, &["--create", "--topic", "r", "--replica-assignment", &assignment]);
    let value = "x".repeat(RECORD);
    for _ in 0..BATCHES {
        produce(&bootstrap, "r", &value).await;
        let cluster = Cluster::connect(&bootstrap[..], Options::default()).await.unwrap();
        let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
        let record = ProducerRecord {
            topic: "r",
            partition: Some(1),
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        producer.send(record).await.unwrap().await.unwrap();
    }

    let plan = data.0.join("plan.json");
    let replicas = |partition, first, second| {
        format!(r#"{{"topic":"r","partition":{partition},"replicas":[{first},{second}]}}"#)
    };
    let partitions = [replicas(0, 1, OWN), replicas(1, OWN, 1)].join(",");
    let text = format!(r#"{{"version":1,"partitions":[{partitions}]}}"#);
    std::fs::write(&plan, text).unwrap();
    let reassign = |args: &[&str]| {
        Program::class("org.apache.kafka.tools.reassign.ReassignPartitionsCommand")
            .args(["--bootstrap-server", &bootstrap, "--reassignment-json-file"])
            .arg(plan.display())
            .args(args)
            .succeed()
    };
    reassign(&["--execute", "--throttle", "1"]);
    let bytes = |direction: &str| {
        let name = format!("kafka_server_brokertopicmetrics_replicationbytes{direction}_total");
        usize::try_from(support::metric(&broker, &name)).unwrap()
    };
    eventually("first batches", async || bytes("in") > 0 && bytes("out") > 0).await;
    // Long enough for all of them, were it not for the throttle.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for direction in ["in", "out"] {
        let sent = bytes(direction);
        assert!(sent < BATCHES / 2 * RECORD, "{sent} bytes {direction}");
    }
    assert!(!in_sync(&admin, "r", 2).await);
    reassign(&["--execute", "--additional", "--throttle", "100000000"]);
    eventually("all in sync", async || in_sync(&admin, "r", 2).await).await;
    let verified = reassign(&["--verify"]);
    assert!(verified.contains("Clearing topic-level throttles"), "{verified}");
    broker.shut_down().await;
}
