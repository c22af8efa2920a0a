//! A follower whose disks take their time.

use std::path::Path;

use thalweg_testkit::faults::{DiskOp, Faults};

use super::*;

const COUNT: usize = 50;

/// The names of the directories that have a replica of each of two partitions.
fn dirs_of(data: &Path, topic: &str) -> Option<[&'static str; 2]> {
    let mut found = [0, 1].map(|partition| {
        ["a", "b"]
            .into_iter()
            .find(|dir| data.join(dir).join(format!("{topic}-{partition}")).exists())
    });
    Some([found[0].take()?, found[1].take()?])
}

/// A write that hangs holds up what goes into its directory, and nothing else: neither when it is the first one of which
/// that is found out, nor while it is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_directory_that_hangs_holds_up_no_replica_in_another_one() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder
        .feature("transaction.version", 0)
        .feature("share.version", 0)
        .feature("streams.version", 0)
        .config("replica.lag.time.max.ms", 2_000)
        .start();
    let data = Data::new();
    let faults = Faults::new();
    let broker = joining(&kafka).data(&data.0).dirs(&["a", "b"]).faults(&faults).start().await;
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let admin = admin(&java).await;
    eventually("two brokers", async || brokers(&admin).await == BTreeSet::from([1, OWN])).await;
    topic_tool(&java, &["--create", "--topic", "h", "--replica-assignment", "1:10,1:10"]);
    eventually("all in sync", async || in_sync(&admin, "h", 2).await).await;
    let dirs = dirs_of(&data.0, "h").expect("both replicas are there");
    assert_ne!(dirs[0], dirs[1], "the directory with fewer partitions gets the next one");
    let isr = async |partition: usize| {
        let topics = admin.describe_topics([TopicRef::from("h")]).await;
        topics[&TopicRef::from("h")].as_ref().map_or(0, |it| it.partitions[partition].isr.len())
    };
    let healthy = usize::from(dirs[0] == "b");
    // A topic begins with all its replicas in sync: what is acknowledged by all says that this one is at work.
    produce_all(&java, "h", 2, 0, COUNT).await;
    let mut from = COUNT;
    for round in 0..2 {
        let held = faults.hold(&[DiskOp::Write], "/b/h-");
        // What goes into the directory that hangs is acknowledged once this replica is not in sync.
        produce_all(&java, "h", 2, from, COUNT).await;
        from += COUNT;
        eventually("the replica in the directory that hangs is not in sync", async || {
            isr(1 - healthy).await == 1
        })
        .await;
        assert!(held.get() > 0, "round {round}");
        // Others are written and acknowledged as ever.
        produce_all(&java, "h", 2, from, COUNT).await;
        from += COUNT;
        assert_eq!(isr(healthy).await, 2, "round {round}");
        faults.clear();
        eventually("all in sync again", async || in_sync(&admin, "h", 2).await).await;
    }
    // Led by this broker they have everything, in order.
    for partition in 0..2 {
        let expected: Vec<String> = (0..from).map(|at| format!("{partition}-{at}")).collect();
        let own = broker.bootstrap();
        let reassigned = TopicPartition::new("h", partition);
        let target = [(reassigned.clone(), Some(vec![OWN, 1]))];
        assert!(admin.alter_partition_reassignments(target).await.values().all(Result::is_ok));
        let elected = admin.elect_leaders(Election::Preferred, Some(vec![reassigned])).await;
        assert!(elected.unwrap().values().all(Result::is_ok));
        assert!(read_partition(&own, "h", partition, from).await == expected, "{partition}");
    }
    broker.shut_down().await;
}
