//! Elections of replicas that lack what was acknowledged, in both directions between the makes.

use super::*;

const JAVA: i32 = 3;
/// Its place among the nodes.
const NODE: usize = 2;

/// Values from one number to another, acknowledged by whoever is in sync.
async fn write(bootstrap: &str, topic: &str, from: usize, to: usize) {
    for at in from..to {
        produce(bootstrap, topic, &at.to_string()).await;
    }
}

fn values(ranges: [std::ops::Range<usize>; 2]) -> Vec<String> {
    ranges.into_iter().flatten().map(|at| at.to_string()).collect()
}

/// Has the only live replica lead, whatever it lacks.
async fn elect(admin: &Admin, topic: &str, leader: i32) {
    let partition = TopicPartition::new(topic, 0);
    let described = TopicRef::from(topic);
    eventually(&format!("{topic} led by {leader}"), async || {
        // The controllers may not have seen it come, or the other one go.
        let _ = admin.elect_leaders(Election::Unclean, Some(vec![partition.clone()])).await;
        let topics = admin.describe_topics([described.clone()]).await;
        topics[&described].as_ref().is_ok_and(|topic| topic.partitions[0].leader == Some(leader))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_elected_uncleanly_is_followed_with_what_it_has() {
    let Some(builder) = Kafka::builder() else { return };
    let mut kafka = three_nodes(builder).feature("transaction.version", 0).start();
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let theirs = admin(&java).await;
    let data = Data::new();
    let start = |kafka: &Kafka| joining(kafka).data(&data.0).start();
    let broker = start(&kafka).await;
    eventually("this broker in the cluster", async || brokers(&theirs).await.contains(&OWN)).await;
    let topics = [("led-by-java", "3:10"), ("led-here", "10:3")];
    for (topic, assignment) in topics {
        topic_tool(&java, &["--create", "--topic", topic, "--replica-assignment", assignment]);
        eventually("all in sync", async || in_sync(&theirs, topic, 2).await).await;
        write(&java, topic, 0, 10).await;
    }

    // Java's broker takes records alone and dies. This one comes back without them, and leads.
    broker.shut_down().await;
    write(&java, "led-by-java", 10, 20).await;
    kafka.kill(NODE);
    let broker = start(&kafka).await;
    for (topic, _) in topics {
        elect(&theirs, topic, OWN).await;
    }
    assert_eq!(read(&broker.bootstrap(), "led-by-java", 10).await, values([0..10, 0..0]));
    write(&broker.bootstrap(), "led-by-java", 20, 25).await;

    // The other way round: what this one took alone is gone when it comes back.
    write(&broker.bootstrap(), "led-here", 10, 20).await;
    broker.shut_down().await;
    kafka.start_again(NODE);
    elect(&theirs, "led-here", JAVA).await;
    write(&java, "led-here", 20, 25).await;
    let broker = start(&kafka).await;
    for (topic, _) in topics {
        eventually("all in sync again", async || in_sync(&theirs, topic, 2).await).await;
        for bootstrap in [&java, &broker.bootstrap()] {
            assert_eq!(read(bootstrap, topic, 15).await, values([0..10, 20..25]), "{topic}");
        }
        let partition = format!("{topic}-0");
        let node = kafka.data().join(format!("node-{JAVA}"));
        eventually(&format!("the same bytes of {partition}"), async || {
            let ours = bytes_of(&data.0, &partition);
            !ours.is_empty() && ours == bytes_of(&node, &partition)
        })
        .await;
    }
    broker.shut_down().await;
}
