//! `num.replica.fetchers`: a follower with several connections to leaders of both makes, whose number changes while they
//! run.

use super::*;

const SECOND: i32 = 11;
const PARTITIONS: i32 = 6;

/// Connections to a port of this machine, whoever has them.
fn connections(port: u16) -> usize {
    const ESTABLISHED: &str = "01";
    let text = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let to_port = format!(":{port:04X}");
    let is_one = |line: &&str| {
        let mut words = line.split_whitespace().skip(2);
        let remote = words.next().unwrap_or_default();
        remote.ends_with(&to_port) && words.next() == Some(ESTABLISHED)
    };
    text.lines().filter(is_one).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_fetchers_share_what_leaders_of_both_makes_have() {
    let Some(mut builder) = Kafka::builder() else { return };
    for feature in ["transaction.version", "share.version", "streams.version"] {
        builder = builder.feature(feature, 0);
    }
    let kafka = builder.start();
    let (data, second_data) = (Data::new(), Data::new());
    let leader = joining(&kafka).data(&data.0).start().await;
    let follower = joining(&kafka).data(&second_data.0).config("node.id", SECOND).start().await;
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let own = leader.bootstrap();
    let bootstrap = format!("{java},{own}");
    let admin = admin(&bootstrap).await;
    let all = BTreeSet::from([1, OWN, SECOND]);
    eventually("three brokers", async || brokers(&admin).await == all).await;
    for (topic, leader) in [("java", 1), ("ours", OWN)] {
        let assignment = vec![format!("{leader}:{SECOND}"); PARTITIONS as usize].join(",");
        topic_tool(
            &bootstrap,
            &["--create", "--topic", topic, "--replica-assignment", &assignment],
        );
    }
    let ports: Vec<u16> =
        [&java, &own].map(|it| it.rsplit_once(':').unwrap().1.parse().unwrap()).to_vec();
    let set_fetchers = |count: &str| {
        Program::class("org.apache.kafka.tools.ConfigCommand")
            .args(["--bootstrap-server", &own, "--alter", "--entity-type", "brokers"])
            .args(["--entity-default", "--add-config", &format!("num.replica.fetchers={count}")])
            .succeed()
    };
    let mut produced = 0;
    let mut produce = async || {
        for topic in ["java", "ours"] {
            produce_all(&bootstrap, topic, PARTITIONS, produced, 50).await;
            eventually("all in sync", async || in_sync(&admin, topic, 2).await).await;
        }
        produced += 50;
        let java = kafka.data().join("node-1");
        for (topic, leaders) in [("java", &java), ("ours", &data.0)] {
            for partition in (0..PARTITIONS).map(|index| format!("{topic}-{index}")) {
                eventually(&format!("the same bytes of {partition}"), async || {
                    let followers = bytes_of(&second_data.0, &partition);
                    !followers.is_empty() && bytes_of(leaders, &partition) == followers
                })
                .await;
            }
        }
    };
    produce().await;
    // Connections of Kafka's tools and of producers go by and by: until for a while nothing changes.
    let now = || ports.iter().map(|port| connections(*port)).collect::<Vec<_>>();
    let (mut before, mut looks) = (now(), 0);
    eventually("nothing but what stays", async || {
        looks = if now() == before { looks + 1 } else { 0 };
        before = now();
        looks == 10
    })
    .await;
    for count in [2, 4, 2, 1] {
        set_fetchers(&count.to_string());
        let expected: Vec<usize> = before.iter().map(|it| it + count - 1).collect();
        eventually(&format!("{count} fetchers"), async || now() == expected).await;
        produce().await;
        eventually(&format!("{count} fetchers still"), async || now() == expected).await;
    }
    follower.shut_down().await;
    leader.shut_down().await;
}
