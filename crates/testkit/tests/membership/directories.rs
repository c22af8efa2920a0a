//! Replicas move between the log directories of a broker of a cluster.

use thalweg_testkit::faults::{DiskOp, Faults};

use super::*;

const COUNT: usize = 50;

/// The directory that a replica is in, by its name; none while there is none, or two.
fn dir_of(data: &Data, replica: &str) -> Option<&'static str> {
    let found: Vec<&str> =
        ["a", "b"].into_iter().filter(|dir| data.0.join(dir).join(replica).exists()).collect();
    (found.len() == 1).then(|| found[0])
}

/// Whether a replica is under way to a directory.
fn is_moving(data: &Data, replica: &str) -> bool {
    ["a", "b"].into_iter().any(|dir| {
        let names = std::fs::read_dir(data.0.join(dir)).unwrap();
        names.flatten().any(|it| {
            let name = it.file_name().into_string().unwrap();
            name.starts_with(&format!("{replica}.")) && name.ends_with("-future")
        })
    })
}

/// Has replicas of `d` moved to another directory by Kafka's own tool, while records are written; of one partition this
/// broker follows, of the other one it leads. Nobody notices, also not while the other directory hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replicas_that_follow_and_lead_move_to_another_directory_under_load() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder
        .feature("share.version", 0)
        .feature("streams.version", 0)
        .config("replica.lag.time.max.ms", 2_000)
        .start();
    let data = Data::new();
    let faults = Faults::new();
    let start = || joining(&kafka).data(&data.0).dirs(&["a", "b"]).faults(&faults).start();
    let broker = start().await;
    let java = kafka.bootstrap(Kafka::INTERNAL);
    let admin = admin(&java).await;
    eventually("two brokers", async || brokers(&admin).await == BTreeSet::from([1, OWN])).await;
    topic_tool(&java, &["--create", "--topic", "d", "--replica-assignment", "1:10,10:1"]);
    let everybody = format!("{java},{}", broker.bootstrap());
    produce_all(&everybody, "d", 2, 0, COUNT).await;
    let mut written = COUNT;
    let replicas = ["d-0", "d-1"];
    let begun = replicas.map(|replica| dir_of(&data, replica).expect("one directory"));
    let targets = begun.map(|dir| if dir == "a" { "b" } else { "a" });

    // The directories to come take nothing of these replicas for a while.
    let held = faults.hold(&[DiskOp::Write], "-future/0000");
    let plan = data.0.join("plan.json");
    let moved = |partition: usize, order: &str, dirs: [&str; 2]| {
        let path = |dir: &str| match dir {
            "any" => "any".to_owned(),
            dir => data.0.join(dir).display().to_string(),
        };
        let [first, second] = dirs.map(path);
        format!(
            r#"{{"topic":"d","partition":{partition},"replicas":[{order}],"log_dirs":["{first}","{second}"]}}"#
        )
    };
    let moves = [moved(0, "1,10", ["any", targets[0]]), moved(1, "10,1", [targets[1], "any"])];
    let text = format!(r#"{{"version":1,"partitions":[{}]}}"#, moves.join(","));
    std::fs::write(&plan, text).unwrap();
    let reassign = |args: &[&str]| {
        Program::class("org.apache.kafka.tools.reassign.ReassignPartitionsCommand")
            .args(["--bootstrap-server", &everybody, "--reassignment-json-file"])
            .arg(plan.display())
            .args(args)
            .succeed()
    };
    let executed = reassign(&["--execute"]);
    assert!(executed.contains("Successfully started"), "{executed}");
    eventually("a move that hangs", async || held.get() > 0).await;
    produce_all(&everybody, "d", 2, written, COUNT).await;
    written += COUNT;
    eventually("all in sync while it hangs", async || in_sync(&admin, "d", 2).await).await;
    assert!(replicas.into_iter().any(|replica| is_moving(&data, replica)));
    faults.clear();
    while replicas.into_iter().zip(targets).any(|(it, to)| dir_of(&data, it) != Some(to)) {
        produce_all(&everybody, "d", 2, written, COUNT).await;
        written += COUNT;
        assert!(written < 1_000 * COUNT, "they do not arrive");
    }
    assert!(!replicas.into_iter().any(|replica| is_moving(&data, replica)));
    let verified = reassign(&["--verify"]);
    assert_eq!(verified.matches("is complete").count(), 2, "{verified}");
    produce_all(&everybody, "d", 2, written, COUNT).await;
    written += COUNT;

    // After a start they are where they went, and the controllers know.
    broker.shut_down().await;
    let broker = start().await;
    eventually("all in sync again", async || in_sync(&admin, "d", 2).await).await;
    let theirs = kafka.data().join("node-1");
    for (replica, target) in replicas.into_iter().zip(targets) {
        assert_eq!(dir_of(&data, replica), Some(target));
        let ours = bytes_of(&data.0.join(target), replica);
        assert!(!ours.is_empty());
        eventually("the same bytes", async || bytes_of(&theirs, replica) == ours).await;
    }
    for partition in 0..2 {
        let expected: Vec<String> = (0..written).map(|at| format!("{partition}-{at}")).collect();
        assert!(read_partition(&java, "d", partition, written).await == expected, "{partition}");
    }
    broker.shut_down().await;
}
