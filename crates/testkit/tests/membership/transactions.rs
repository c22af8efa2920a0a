//! Transactions over partitions that are led here and by a Java broker, and whose coordinator is either of them.

mod offsets;

use thalweg::Connection;
use thalweg_testkit::requests;
use thalweg_wire::messages::{ProduceRequest, ProduceResponse};

use super::*;
use crate::support::transactions::Clients;
use crate::support::{metric, producer_batch as batch, send};

const JAVA: i32 = 1;
/// The coordinators' topic, as the cluster of Java's brokers makes it here.
const STATE: &str = "__transaction_state";
const STATE_PARTITIONS: i32 = 4;
/// Led here, and by Java.
const OURS: i32 = 0;
const THEIRS: i32 = 1;

struct MixedCluster {
    kafka: Kafka,
    data: Data,
    broker: TestBroker,
    admin: Admin,
    clients: Clients,
}

impl MixedCluster {
    /// A broker of Java's and this one; `t-0` is led here, `t-1` by Java.
    async fn new(transaction_version: i16) -> Option<MixedCluster> {
        let kafka = Kafka::builder()?
            .feature("transaction.version", transaction_version)
            .feature("share.version", 0)
            .feature("streams.version", 0)
            .config("offsets.topic.num.partitions", 1)
            .start();
        let java = kafka.bootstrap(Kafka::INTERNAL);
        // So the coordinators are Java's to begin with.
        let mut clients = Clients::start(&java);
        clients.open("first");
        let data = Data::new();
        let broker = joining(&kafka).data(&data.0).start().await;
        let admin = admin(&java).await;
        let both = BTreeSet::from([JAVA, OWN]);
        eventually("this broker in the cluster", async || brokers(&admin).await == both).await;
        let own = broker.bootstrap();
        topic_tool(&own, &["--create", "--topic", "t", "--replica-assignment", "10:1,1:10"]);
        let mut world = MixedCluster { kafka, data, broker, admin, clients };
        world.in_sync().await;
        world.clients.bootstrap = format!("{java},{own}");
        Some(world)
    }

    async fn in_sync(&self) {
        eventually("all in sync", async || in_sync(&self.admin, "t", 2).await).await;
    }

    /// Has a partition led by another broker.
    async fn lead(&self, partition: i32, leader: i32) {
        self.lead_of("t", partition, leader).await;
    }

    async fn lead_of(&self, topic: &str, partition: i32, leader: i32) {
        let moved = TopicPartition::new(topic, partition);
        let replicas = if leader == OWN { vec![OWN, JAVA] } else { vec![JAVA, OWN] };
        let reassigned =
            self.admin.alter_partition_reassignments([(moved.clone(), Some(replicas))]).await;
        assert!(reassigned.values().all(Result::is_ok), "{reassigned:?}");
        eventually("all in sync", async || in_sync(&self.admin, topic, 2).await).await;
        let elected = self.admin.elect_leaders(Election::Preferred, Some(vec![moved])).await;
        assert!(elected.as_ref().unwrap().values().all(Result::is_ok), "{elected:?}");
        let leads = async || {
            let described = self.admin.describe_topics([TopicRef::from(topic)]).await;
            let found = described[&TopicRef::from(topic)].as_ref().unwrap();
            let at = usize::try_from(partition).unwrap();
            found.partitions[at].leader == Some(leader)
        };
        eventually("its leader", leads).await;
    }

    /// Has all transactions coordinated by another broker.
    async fn coordinate(&self, coordinator: i32) {
        let replicas = if coordinator == OWN { vec![OWN, JAVA] } else { vec![JAVA, OWN] };
        let all = (0..STATE_PARTITIONS).map(|index| TopicPartition::new(STATE, index));
        let all: Vec<TopicPartition> = all.collect();
        let moves = all.iter().map(|it| (it.clone(), Some(replicas.clone())));
        let reassigned = self.admin.alter_partition_reassignments(moves).await;
        assert!(reassigned.values().all(Result::is_ok), "{reassigned:?}");
        eventually("all in sync", async || in_sync(&self.admin, STATE, 2).await).await;
        let elected = self.admin.elect_leaders(Election::Preferred, Some(all)).await;
        assert!(elected.as_ref().unwrap().values().all(Result::is_ok), "{elected:?}");
        eventually("its leaders", async || {
            let described = self.admin.describe_topics([TopicRef::from(STATE)]).await;
            let Ok(found) = &described[&TopicRef::from(STATE)] else { return false };
            found.partitions.iter().all(|it| it.leader == Some(coordinator))
        })
        .await;
    }

    /// The replicas have the same bytes, markers and all.
    async fn compare(&self) {
        for partition in ["t-0", "t-1"] {
            self.compare_partition(partition).await;
        }
    }

    async fn compare_partition(&self, partition: &str) {
        let java = self.kafka.data().join("node-1");
        eventually(&format!("the same bytes of {partition}"), async || {
            let ours = bytes_of(&self.data.0, partition);
            !ours.is_empty() && bytes_of(&java, partition) == ours
        })
        .await;
    }
}

async fn transactions_end(transaction_version: i16) {
    let Some(mut world) = MixedCluster::new(transaction_version).await else { return };
    let clients = &mut world.clients;
    clients.open("one");
    clients.all(&["begin one", "send one t 0 a", "send one t 1 a", "commit one"]);
    clients.all(&["begin one", "send one t 0 b", "send one t 1 b", "flush one", "abort one"]);
    for partition in [OURS, THEIRS] {
        clients.until_committed(partition, "a").await;
        assert_eq!(clients.read("read_uncommitted", partition), "a,b");
    }
    // One transaction after the other, without a pause: each may find the one before it being ended.
    let mut expected = vec!["a".to_owned()];
    for at in 0..20 {
        let (send, value) = (format!("send one t 0 c{at}"), format!("c{at}"));
        clients.all(&["begin one", &send, &send.replace("t 0", "t 1"), "commit one"]);
        expected.push(value);
    }
    for partition in [OURS, THEIRS] {
        clients.until_committed(partition, &expected.join(",")).await;
    }

    // A transaction is open while leaders move from one make to the other and back.
    clients.all(&["begin one", "send one t 0 d", "send one t 1 d", "flush one"]);
    assert_eq!(clients.committed(OURS), expected.join(","), "it is not read before it ends");
    world.lead(OURS, JAVA).await;
    world.lead(THEIRS, OWN).await;
    let clients = &mut world.clients;
    clients.all(&["send one t 0 e", "send one t 1 e", "flush one"]);
    assert_eq!(clients.committed(THEIRS), expected.join(","));
    clients.all(&["commit one"]);
    expected.extend(["d".to_owned(), "e".to_owned()]);
    for partition in [OURS, THEIRS] {
        clients.until_committed(partition, &expected.join(",")).await;
    }
    world.lead(OURS, OWN).await;
    world.lead(THEIRS, JAVA).await;
    world.compare().await;

    // One is open while this broker stops and starts.
    world.clients.all(&["begin one", "send one t 0 f", "flush one"]);
    world.broker.shut_down().await;
    world.clients.all(&["send one t 0 g", "send one t 1 g", "flush one"]);
    world.broker = joining(&world.kafka).data(&world.data.0).start().await;
    world.in_sync().await;
    world.clients.bootstrap =
        format!("{},{}", world.kafka.bootstrap(Kafka::INTERNAL), world.broker.bootstrap());
    world.lead(OURS, OWN).await;
    assert_eq!(world.clients.committed(OURS), expected.join(","));
    world.clients.all(&["send one t 0 h", "flush one", "abort one"]);
    assert_eq!(world.clients.committed(OURS), expected.join(","));
    world.clients.all(&["begin one", "send one t 0 i", "commit one"]);
    expected.push("i".into());
    world.clients.until_committed(OURS, &expected.join(",")).await;
    world.compare().await;
    assert!(metric(&world.broker, "thalweg_transaction_markers_total") >= 2);

    // Somebody else takes the name: the first one is fenced.
    let clients = &mut world.clients;
    clients.all(&["begin one", "send one t 0 j", "flush one", "leave one"]);
    clients.open("one");
    assert_eq!(clients.committed(OURS), expected.join(","));
    clients.all(&["begin one", "send one t 0 k", "commit one"]);
    expected.push("k".into());
    clients.until_committed(OURS, &expected.join(",")).await;

    world.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_version_2_end_where_this_broker_leads() {
    transactions_end(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_version_0_end_where_this_broker_leads() {
    transactions_end(0).await;
}

/// One is open each time when the coordinators move from one make to the other.
async fn coordinators_move(transaction_version: i16) {
    let Some(mut world) = MixedCluster::new(transaction_version).await else { return };
    let own = world.broker.bootstrap();
    world.clients.open("one");
    world.clients.all(&["begin one", "send one t 0 a", "send one t 1 a", "commit one"]);
    let mut expected = vec!["a".to_owned()];
    for (round, coordinator) in [OWN, JAVA, OWN].into_iter().enumerate() {
        let (before, behind, next) =
            (format!("b{round}"), format!("c{round}"), format!("d{round}"));
        let send = |value: &str| [0, 1].map(|at| format!("send one t {at} {value}"));
        let [first, second] = send(&before);
        world.clients.all(&["begin one", &first, &second, "flush one"]);
        world.coordinate(coordinator).await;
        let clients = &mut world.clients;
        assert_eq!(clients.committed(OURS), expected.join(","), "round {round}");
        let [first, second] = send(&behind);
        clients.all(&[&first, &second, "flush one"]);
        if round == 1 {
            clients.all(&["abort one"]);
        } else {
            clients.all(&["commit one"]);
            expected.extend([before, behind]);
        }
        let [first, second] = send(&next);
        clients.all(&["begin one", &first, &second, "commit one"]);
        expected.push(next);
        // An id that the new coordinator has never seen.
        let other = format!("other{round}");
        clients.open(&other);
        let value = format!("e{round}");
        let sends = [0, 1].map(|at| format!("send {other} t {at} {value}"));
        clients.all(&[&format!("begin {other}"), &sends[0], &sends[1], &format!("commit {other}")]);
        expected.push(value);
        for partition in [OURS, THEIRS] {
            clients.until_committed(partition, &expected.join(",")).await;
        }
    }
    let listed = Program::class("org.apache.kafka.tools.TransactionsCommand")
        .args(["--bootstrap-server", &own, "list"])
        .succeed();
    for id in ["first", "one", "other0", "other1", "other2"] {
        let line = listed.lines().find(|line| line.split_whitespace().next() == Some(id));
        let line = line.unwrap_or_else(|| panic!("no {id} in {listed}"));
        assert_eq!(line.split_whitespace().nth(1), Some("10"), "its coordinator: {line}");
    }

    // Somebody else takes the name while a transaction is open.
    let clients = &mut world.clients;
    clients.all(&["begin one", "send one t 0 f", "flush one", "leave one"]);
    clients.open("one");
    clients.all(&["begin one", "send one t 0 g", "send one t 1 g", "commit one"]);
    expected.push("g".into());
    for partition in [OURS, THEIRS] {
        clients.until_committed(partition, &expected.join(",")).await;
    }

    // The coordinator stops while one is open, and comes back for another one.
    world.clients.all(&["begin one", "send one t 0 h", "send one t 1 h", "flush one"]);
    world.broker.shut_down().await;
    world.clients.all(&["send one t 0 i", "send one t 1 i", "commit one", "begin one"]);
    world.clients.all(&["send one t 1 j", "flush one"]);
    world.broker = joining(&world.kafka).data(&world.data.0).start().await;
    world.clients.bootstrap =
        format!("{},{}", world.kafka.bootstrap(Kafka::INTERNAL), world.broker.bootstrap());
    world.in_sync().await;
    world.coordinate(OWN).await;
    world.clients.all(&["send one t 0 j", "commit one"]);
    expected.extend(["h", "i", "j"].map(str::to_owned));
    for partition in [OURS, THEIRS] {
        world.clients.until_committed(partition, &expected.join(",")).await;
    }
    world.compare().await;
    let mut written = 0;
    for index in 0..STATE_PARTITIONS {
        let partition = format!("{STATE}-{index}");
        if !bytes_of(&world.data.0, &partition).is_empty() {
            written += 1;
            world.compare_partition(&partition).await;
        }
    }
    assert!(written > 0);
    world.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_version_2_go_on_where_their_coordinator_moves() {
    coordinators_move(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_version_0_go_on_where_their_coordinator_moves() {
    coordinators_move(0).await;
}

/// A producer that is gone leaves a transaction; Kafka's tool lists it, describes its producer, and ends it in the
/// partition.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_transaction_is_ended_by_kafkas_tool() {
    let Some(mut world) = MixedCluster::new(2).await else { return };
    let clients = &mut world.clients;
    clients.all(&["begin first", "send first t 0 a", "send first t 1 a", "commit first"]);
    clients.all(&["begin first", "send first t 0 b", "flush first", "leave first"]);
    let own = world.broker.bootstrap();
    let tool = |args: &[&str]| {
        Program::class("org.apache.kafka.tools.TransactionsCommand")
            .args(["--bootstrap-server", &own])
            .args(args)
            .succeed()
    };
    let listed = tool(&["list"]);
    assert!(listed.contains("first") && listed.contains("Ongoing"), "{listed}");
    let described = tool(&["describe", "--transactional-id", "first"]);
    assert!(described.contains("t-0"), "{described}");
    let described = tool(&["describe-producers", "--topic", "t", "--partition", "0"]);
    // The record, its marker, and the record of the transaction that is open.
    assert!(described.lines().last().unwrap().trim_end().ends_with('2'), "{described}");
    // Each make follows one partition.
    for (partition, broker) in [("0", "1"), ("1", "10")] {
        let of_broker = ["--partition", partition, "--broker-id", broker];
        let described = tool(&[&["describe-producers", "--topic", "t"], &of_broker[..]].concat());
        assert_eq!(described.trim().lines().count(), 2, "of broker {broker}: {described}");
    }
    tool(&["abort", "--topic", "t", "--partition", "0", "--start-offset", "2"]);
    clients.until_committed(OURS, "a").await;
    assert_eq!(clients.read("read_uncommitted", OURS), "a,b");
    clients.all(&[&format!("open second {} 60000", clients.bootstrap)]);
    clients.all(&["begin second", "send second t 0 c", "commit second"]);
    clients.until_committed(OURS, "a,c").await;
    world.broker.shut_down().await;
}

/// The coordinator dies in the middle of a transaction: another broker goes on with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_survive_their_coordinator() {
    let Some(builder) = Kafka::builder() else { return };
    let mut kafka = three_nodes(builder).start();
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let data = Data::new();
    // The coordinator that is killed is a process: the topic is made before this broker is there.
    let mut clients = Clients::start(&java);
    clients.open("first");
    let broker = joining(&kafka).data(&data.0).start().await;
    let theirs = admin(&java).await;
    eventually("this broker in the cluster", async || brokers(&theirs).await.contains(&OWN)).await;
    let own = broker.bootstrap();
    topic_tool(&own, &["--create", "--topic", "t", "--replica-assignment", "10,10,10"]);
    clients.bootstrap = format!("{java},{own}");
    clients.open("one");
    clients.all(&["begin one", "send one t 0 a", "flush one"]);

    let connection = Connection::open(&own, &Options::default()).await.unwrap();
    let find = requests::find_transaction_coordinator("one");
    let found = connection.send(&find).await.unwrap().coordinators.remove(0);
    assert_eq!(found.error_code, ErrorCode::NONE, "{found:?}");
    let node = usize::try_from(found.node_id - 1).unwrap();
    kafka.kill(node);
    // A partition that the transaction does not have yet, and one that it has.
    clients.all(&["send one t 1 b", "send one t 0 c", "flush one"]);
    let failures = "kafka_server_addpartitionstotxnmanager_verificationfailure_total";
    assert!(metric(&broker, failures) > 0, "nobody has asked who is gone");
    assert_eq!((clients.committed(0), clients.committed(1)), (String::new(), String::new()));
    clients.all(&["commit one"]);
    clients.until_committed(0, "a,c").await;
    clients.until_committed(1, "b").await;
    kafka.start_again(node);

    broker.shut_down().await;
}

/// The error of each partition of an answer, in the order of the partitions.
fn codes(answer: ProduceResponse) -> Vec<ErrorCode> {
    let mut partitions: Vec<_> =
        answer.responses.into_iter().flat_map(|topic| topic.partition_responses).collect();
    partitions.sort_by_key(|partition| partition.index);
    partitions.into_iter().map(|partition| partition.error_code).collect()
}

/// The same requests get the same answers from the leader of either make.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_part_of_a_transaction_is_refused_as_java_does() {
    let Some(world) = MixedCluster::new(2).await else { return };
    let java = world.kafka.bootstrap(Kafka::INTERNAL);
    topic_tool(&java, &["--create", "--topic", "ours", "--replica-assignment", "10:1,10:1"]);
    topic_tool(&java, &["--create", "--topic", "theirs", "--replica-assignment", "1:10,1:10"]);
    for topic in ["ours", "theirs"] {
        eventually("all in sync", async || in_sync(&world.admin, topic, 2).await).await;
    }
    let leaders = [
        ("ours", Connection::open(&world.broker.bootstrap(), &Options::default()).await.unwrap()),
        ("theirs", Connection::open(&java, &Options::default()).await.unwrap()),
    ];
    let (_, coordinator) = &leaders[1];
    let begin = async |name: &str| {
        let request = requests::init_producer(name, 60_000);
        let answer = send(coordinator, &request, 5).await;
        assert_eq!(answer.error_code, ErrorCode::NONE);
        (answer.producer_id, answer.producer_epoch)
    };
    // A second start of the same name is of a later epoch.
    begin("known").await;
    let (id, epoch) = begin("known").await;
    assert!(epoch > 0);
    let (other, other_epoch) = begin("other").await;

    type Asked<'a> = (&'a str, Option<&'a str>, Vec<Vec<u8>>);
    let one = |batch: Vec<u8>| vec![batch];
    let mut asked: Vec<Asked<'_>> = vec![
        ("without a name", None, one(batch(id, epoch, 0, true))),
        ("an unknown name", Some("unknown"), one(batch(77, 0, 0, true))),
        ("another's id", Some("known"), one(batch(other, other_epoch, 0, true))),
        ("an earlier epoch", Some("known"), one(batch(id, epoch - 1, 0, true))),
        ("a later epoch", Some("known"), one(batch(id, epoch + 1, 0, true))),
        (
            "two producers",
            Some("known"),
            vec![batch(id, epoch, 0, true), batch(other, other_epoch, 0, true)],
        ),
        ("without a transaction", Some("known"), one(batch(-1, -1, -1, false))),
        ("a transaction without a producer", Some("known"), one(batch(-1, -1, -1, true))),
        ("in the middle", Some("known"), one(batch(id, epoch, 3, true))),
        ("it begins", Some("known"), one(batch(id, epoch, 0, true))),
        ("it goes on", Some("known"), one(batch(id, epoch, 1, true))),
        ("the same again", Some("known"), one(batch(id, epoch, 1, true))),
        ("not in sequence", Some("known"), one(batch(id, epoch, 7, true))),
        ("outside of it", Some("known"), one(batch(id, epoch, 2, false))),
        ("an earlier epoch of it", Some("known"), one(batch(id, epoch - 1, 2, true))),
    ];
    let mut wrong = Vec::new();
    for (what, name, batches) in asked.drain(..) {
        // Who adds partitions itself, and who leaves it to the broker. The first form comes first: with the other one
        // the transaction begins.
        for version in [10, 11, 12] {
            let mut answers = Vec::new();
            for (topic, connection) in &leaders {
                let request = ProduceRequest {
                    transactional_id: name.map(str::to_owned),
                    ..requests::produce_by_name(topic, (0..).zip(batches.iter().cloned()))
                };
                answers.push(codes(send(connection, &request, version).await));
            }
            eprintln!("{what}, version {version}: {:?}", answers[0]);
            if answers[0] != answers[1] {
                wrong.push(format!(
                    "{what}, version {version}: {:?}, of Java {:?}",
                    answers[0], answers[1]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    world.broker.shut_down().await;
}
