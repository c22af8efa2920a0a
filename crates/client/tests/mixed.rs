//! Groups in which this client is a member beside a Java consumer or one of librdkafka (kcat), on
//! Apache Kafka and on Thalweg's broker, which has classic groups only.
//!
//! In the groups of `cases` this client comes first, so that in a classic group it is the leader and
//! assigns for the other one too; then it goes and comes back, and the other one assigns. Records are
//! written all the while, and each must be read by one of the two, once. `fates` has members that die
//! and members that come back.
//!
//! Needs kcat, Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without
//! the variable there is nothing to do, and the test says so.

mod crashed_members;
mod members;
use crate::support::traffic;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use members::{Java, Member, Other};
use thalweg::admin::{Admin, AdminConfig, Mode, NewTopic};
use thalweg::{
    Assignor, Cluster, Consumer, ConsumerConfig, GroupProtocol, OffsetReset, Options,
    TopicPartition,
};
use thalweg_testkit::TestBroker;
use thalweg_testkit::kafka::Shared;
use traffic::{Book, Reader, Writer, partitions, until};

/// Groups at once.
const AT_ONCE: usize = 3;
/// Records of each partition that are read between any two things that happen.
const BETWEEN: i64 = 20;
const OURS: &str = "thalweg";
/// Settings of Thalweg's broker, as the shared Kafka has them: members hear of a rebalance soon, and one of them
/// assigns.
const CONFIGS: [(&str, &str); 4] = [
    ("thalweg.group.classic.rebalance.mode", "barrier"),
    ("group.consumer.min.heartbeat.interval.ms", "100"),
    ("group.consumer.heartbeat.interval.ms", "200"),
    ("group.consumer.min.session.timeout.ms", "6000"),
];

/// One group.
struct Case {
    name: &'static str,
    ours: GroupProtocol,
    other: Other,
    /// What the other one is told beside what all are.
    configs: Vec<String>,
    /// The group's assignor in the end, of a classic group.
    assignor: Option<&'static str>,
    /// Whether it says for sure who gets what: in the order of the members' ids.
    is_settled: bool,
}

fn classic(assignors: &[Assignor]) -> GroupProtocol {
    GroupProtocol::Classic { assignors: assignors.to_vec() }
}

fn cases() -> Vec<Case> {
    use Assignor::{CooperativeSticky, Range, RoundRobin, Sticky};
    const STRATEGY: &str = "partition.assignment.strategy";
    let heartbeats = || vec!["heartbeat.interval.ms=100".to_owned()];
    let mut all = Vec::new();
    for (name, assignor, class) in [
        ("range", Range, "RangeAssignor"),
        ("roundrobin", RoundRobin, "RoundRobinAssignor"),
        ("sticky", Sticky, "StickyAssignor"),
        ("cooperative-sticky", CooperativeSticky, "CooperativeStickyAssignor"),
    ] {
        let mut add = |other, strategy: &str| {
            let mut configs = heartbeats();
            configs.push(format!("{STRATEGY}={strategy}"));
            all.push(Case {
                name,
                ours: classic(&[assignor]),
                other,
                configs,
                assignor: Some(name),
                is_settled: matches!(assignor, Range | RoundRobin),
            });
        };
        add(Other::Java, &format!("org.apache.kafka.clients.consumer.{class}"));
        // librdkafka has no eager sticky assignor.
        if assignor != Sticky {
            add(Other::Kcat, name);
        }
    }
    for other in [Other::Java, Other::Kcat] {
        all.push(Case {
            name: "defaults",
            ours: GroupProtocol::default(),
            other,
            configs: heartbeats(),
            assignor: Some("range"),
            is_settled: true,
        });
    }
    let modern = || vec!["group.protocol=consumer".to_owned()];
    let consumer = || GroupProtocol::Consumer { server_assignor: None };
    let of_broker = |name, ours, configs| Case {
        name,
        ours,
        other: Other::Java,
        configs,
        assignor: None,
        is_settled: false,
    };
    all.push(of_broker("KIP-848", consumer(), modern()));
    // A group on its way from one protocol to the other.
    all.push(of_broker("KIP-848-ours", consumer(), heartbeats()));
    all.push(of_broker("KIP-848-theirs", classic(&[Range, CooperativeSticky]), modern()));
    all
}

/// A cluster, and what it is called.
struct Side {
    name: &'static str,
    bootstrap: String,
    admin: Admin,
}

/// A group's name, and part of its topics': Kafka is shared with other tests.
fn group(name: &str) -> String {
    format!("mixed-{}-{name}", std::process::id())
}

impl Side {
    async fn new(name: &'static str, bootstrap: String) -> Side {
        let cluster = Cluster::connect(&bootstrap, Options::default()).await.unwrap();
        Side { name, bootstrap, admin: Admin::new(cluster, AdminConfig::default()) }
    }

    async fn cluster(&self) -> Cluster {
        let options = Options::default().with_client_id(OURS);
        Cluster::connect(&self.bootstrap, options).await.unwrap()
    }

    /// Waits until a group of so many members has come together; gives what each has, by the name
    /// of its client.
    async fn settled(&self, group: &str, members: usize) -> BTreeMap<String, Vec<TopicPartition>> {
        let mut shares = BTreeMap::new();
        let mut state = String::new();
        let what = format!("{} {group}: a group of {members}", self.name);
        until(&what, async || {
            let described = self.admin.describe_groups([group.to_owned()]).await;
            let Ok(found) = &described[group] else { return false };
            state.clone_from(&found.state);
            let of = |m: &thalweg::admin::GroupMember| (m.client_id.clone(), m.assignment.clone());
            shares = found.members.iter().map(of).collect();
            let all: usize = shares.values().map(Vec::len).sum();
            // Where the coordinator assigns, a newcomer is a member before it has anything.
            let have_all = shares.values().all(|share| !share.is_empty());
            state == "Stable" && shares.len() == members && all == 5 && have_all
        })
        .await;
        shares
    }

    async fn create(&self, topics: &[(&str, i32)]) {
        let new = topics.iter().map(|(name, count)| NewTopic::new(*name).with_partitions(*count));
        let created = self.admin.create_topics(new, Mode::Apply).await;
        assert!(created.values().all(Result::is_ok), "{created:?}");
    }

    async fn run(&self, java: &Java, case: Case) {
        let group = group(&format!("{}-{}", case.name, case.other.name()));
        let (three, two) = (format!("a-{group}"), format!("b-{group}"));
        let topics = [(&*three, 3), (&*two, 2)];
        self.create(&topics).await;
        let all = partitions(&topics);
        let book = Book::default();
        let writer = Writer::start(self.cluster().await, all.clone(), Duration::from_millis(5));
        let advance = async || {
            writer.advance(BETWEEN).await;
            book.reach(&all, writer.acknowledged()).await;
        };
        let ours = async || {
            let mut config = ConsumerConfig::default()
                .with_group_id(group.as_str())
                .with_group_protocol(case.ours.clone())
                .with_auto_offset_reset(OffsetReset::Earliest);
            if matches!(case.ours, GroupProtocol::Classic { .. }) {
                config = config.with_heartbeat_interval(Duration::from_millis(100));
            }
            let mut consumer = Consumer::new(self.cluster().await, config).unwrap();
            consumer.subscribe([&*three, &*two]).unwrap();
            Reader::start(OURS, consumer, book.clone())
        };
        let leave = async |reader: Reader| {
            reader.stop().await.close(Duration::from_secs(20)).await.unwrap();
        };
        let mut configs = case.configs.clone();
        configs.extend([
            format!("group.id={group}"),
            format!("bootstrap.servers={}", self.bootstrap),
            format!("client.id={}", case.other.name()),
            "auto.offset.reset=earliest".to_owned(),
        ]);
        let name = format!("{}-{group}", self.name);

        let first = ours().await;
        self.settled(&group, 1).await;
        advance().await;
        let other = Member::join(java, case.other, &topics, &configs, name, book.clone());
        let by_us = self.settled(&group, 2).await;
        advance().await;
        leave(first).await;
        let alone = self.settled(&group, 1).await;
        assert_eq!(alone.keys().collect::<Vec<_>>(), [case.other.name()]);
        advance().await;
        let second = ours().await;
        let by_them = self.settled(&group, 2).await;
        advance().await;
        let described = self.admin.describe_groups([group.clone()]).await;
        let described = described[&group].as_ref().unwrap();
        if case.other == Other::Kcat {
            // A record that kcat was given when the signal came is committed, and never shown.
            let _held = writer.hold().await;
            book.reach(&all, writer.acknowledged()).await;
            other.leave().await;
        } else {
            other.leave().await;
        }
        let alone = self.settled(&group, 1).await;
        assert_eq!(alone.keys().collect::<Vec<_>>(), [OURS]);
        advance().await;
        let (written, _) = writer.stop().await;
        book.reach(&all, written).await;
        leave(second).await;

        let who = format!("{} {group}", self.name);
        for shares in [&by_us, &by_them] {
            assert!(shares.values().all(|share| share.len() >= 2), "{who}: {shares:?}");
        }
        if let Some(assignor) = case.assignor {
            assert_eq!(described.assignor, assignor, "{who}");
        }
        if case.is_settled {
            assert_eq!(by_us, by_them, "{who}: the leaders do not agree");
        }
        book.sort();
        book.assert_complete(&who, &all, written);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_record_is_read_by_one_of_them_once() {
    let Some(kafka) = tokio::task::block_in_place(Shared::get) else { return };
    let mut ours = TestBroker::builder();
    for (name, value) in CONFIGS {
        ours = ours.config(name, value);
    }
    let ours = ours.start().await;
    let java = Java::start(&kafka);
    let theirs = &Side::new("kafka", kafka.bootstrap().to_owned()).await;
    let ours_side = &Side::new("thalweg", ours.bootstrap()).await;
    // To look into one of them.
    let only = std::env::var("THALWEG_MIXED").unwrap_or_default();
    let wanted = |side: &Side, case: &Case| {
        let is_classic = case.assignor.is_some();
        (is_classic || side.name == theirs.name)
            && format!("{}-{}-{}", side.name, case.name, case.other.name()).contains(&only)
    };
    let all = [theirs, ours_side].into_iter().flat_map(|side| {
        cases().into_iter().filter(|case| wanted(side, case)).map(move |case| (side, case))
    });
    let running = futures_util::stream::iter(all).map(async |(side, case)| {
        let name = format!("{} {} {}", side.name, case.name, case.other.name());
        let began = std::time::Instant::now();
        side.run(&java, case).await;
        eprintln!("{name}: {:.1?}", began.elapsed());
    });
    let fates = async {
        if only.is_empty() || only == "fates" {
            crashed_members::run(&kafka, &java, theirs, ours_side).await;
        }
    };
    tokio::join!(running.buffer_unordered(AT_ONCE).collect::<Vec<()>>(), fates);
    java.check();
    drop(java);
    ours.shut_down().await;
}
