//! Replicas that move between the log directories of a broker.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use thalweg_testkit::TestBroker;
use thalweg_testkit::faults::{DiskOp, Errno, Faults};
use thalweg_testkit::oracle::{Program, jars};
use thalweg_testkit::requests::Resource;
use thalweg_wire::messages::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic,
};
use thalweg_wire::messages::describe_log_dirs_response::DescribeLogDirsPartition;
use thalweg_wire::messages::{
    AlterReplicaLogDirsRequest, DescribeLogDirsRequest, UnregisterBrokerRequest,
};
use thalweg_wire::{ErrorCode, Uuid};

use crate::support::{Client, Data, connect, metric, until};

impl Client {
    /// What a broker says to a partition that is to go to a directory.
    async fn alter_dir(&self, topic: &str, partition: i32, path: &Path) -> ErrorCode {
        let request = AlterReplicaLogDirsRequest {
            dirs: vec![AlterReplicaLogDir {
                path: path.display().to_string(),
                topics: vec![AlterReplicaLogDirTopic {
                    name: topic.into(),
                    partitions: vec![partition],
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = self.connection.send(&request).await.unwrap();
        assert_eq!(response.results[0].topic_name, topic);
        assert_eq!(response.results[0].partitions[0].partition_index, partition);
        response.results[0].partitions[0].error_code
    }

    /// What each directory, by the last part of its name, has of a topic.
    async fn replicas(&self, topic: &str) -> Vec<(String, DescribeLogDirsPartition)> {
        let request = DescribeLogDirsRequest { topics: None, ..Default::default() };
        let response = self.connection.send(&request).await.unwrap();
        let mut all = Vec::new();
        for dir in response.results {
            let name = dir.log_dir.rsplit('/').next().unwrap_or_default().to_owned();
            for of_topic in dir.topics.into_iter().filter(|it| it.name == topic) {
                all.extend(of_topic.partitions.into_iter().map(|it| (name.clone(), it)));
            }
        }
        all
    }

    /// Where a topic's only partition is, once it does not move any more.
    async fn settled(&self, topic: &str) -> String {
        let settled = async {
            loop {
                let all = self.replicas(topic).await;
                if let [(dir, one)] = &all[..]
                    && !one.is_future_key
                {
                    return dir.clone();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), settled).await.expect("it settles in time")
    }

    /// Sets what may be moved a second.
    async fn throttle(&self, rate: &str) {
        let config = "replica.alter.log.dirs.io.max.bytes.per.second";
        assert_eq!(self.set(Resource::AllBrokers, config, rate).await, ErrorCode::NONE);
    }
}

/// A broker with two directories, and a topic with records in one of them; that one and the other.
struct TwoDirectories {
    data: Data,
    faults: Arc<Faults>,
    broker: TestBroker,
    client: Client,
    topic: Uuid,
    from: String,
    to: String,
}

const RECORDS: usize = 200;

fn value(at: usize) -> String {
    format!("{at} {}", "x".repeat(500))
}

impl TwoDirectories {
    async fn new() -> TwoDirectories {
        let data = Data::new();
        let faults = Faults::new();
        let (broker, client) = data.start(&faults).await;
        // The records are as old as timestamps get.
        let configs = [("internal.segment.bytes", "20000"), ("retention.ms", "-1")];
        let topic = client.create("t", 1, &configs).await;
        for at in 0..RECORDS {
            assert_eq!(client.produce(topic, 0, &value(at)).await, Ok(at as i64));
        }
        let from = client.settled("t").await;
        let to = if from == "a" { "b" } else { "a" }.to_owned();
        TwoDirectories { data, faults, broker, client, topic, from, to }
    }

    fn dir(&self, name: &str) -> std::path::PathBuf {
        self.data.0.join(name)
    }

    async fn alter(&self, to: &str) -> ErrorCode {
        self.client.alter_dir("t", 0, &self.dir(to)).await
    }

    /// Stopped, and started again on the same directories.
    async fn restart(mut self) -> TwoDirectories {
        self.broker.shut_down().await;
        (self.broker, self.client) = self.data.start(&self.faults).await;
        self
    }

    /// The records of the partition are those that were written, from one number to another, and no more.
    async fn check(&self, from: usize, to: usize) {
        let mut all = Vec::new();
        loop {
            let at = (from + all.len()) as i64;
            let more = self.client.fetch_from(self.topic, 0, at).await.unwrap();
            if more.is_empty() {
                break;
            }
            all.extend(more);
        }
        assert_eq!(all.len(), to - from);
        let wrong = (from..to).zip(&all).find(|(at, one)| value(*at) != **one);
        assert_eq!(wrong, None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_moves_while_it_is_written_and_read() {
    let world = TwoDirectories::new().await;
    let other = connect(&world.broker).await;
    let (topic, from) = (world.topic, world.from.clone());
    let writing = tokio::spawn(async move {
        for at in RECORDS..2 * RECORDS {
            assert_eq!(other.produce(topic, 0, &value(at)).await, Ok(at as i64));
        }
    });
    for to in [&world.to, &from, &world.to] {
        assert_eq!(world.alter(to).await, ErrorCode::NONE);
        assert_eq!(world.client.settled("t").await, *to);
    }
    writing.await.unwrap();
    world.check(0, 2 * RECORDS).await;
    // The replica is where it is a moment before its move counts as ended.
    until("the move ends", || metric(&world.broker, "thalweg_partitions_moving") == 0).await;
    let world = world.restart().await;
    assert_eq!(world.client.settled("t").await, world.to);
    world.check(0, 2 * RECORDS).await;
    assert_eq!(world.client.end("t", 0).await, Ok(2 * RECORDS as i64));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_throttled_move_is_shown_given_up_and_begun_again() {
    let world = TwoDirectories::new().await;
    world.client.throttle("20000").await;
    assert_eq!(world.alter(&world.to).await, ErrorCode::NONE);
    let all = world.client.replicas("t").await;
    let of = |dir: &str| all.iter().find(|(name, _)| name == dir).map(|(_, it)| it.clone());
    let (now, future) = (of(&world.from).unwrap(), of(&world.to).unwrap());
    assert!(!now.is_future_key && now.offset_lag == 0, "{now:?}");
    assert!(future.is_future_key && future.offset_lag > 0, "{future:?}");
    assert!(future.offset_lag <= RECORDS as i64 && future.partition_size < now.partition_size);
    assert_eq!(metric(&world.broker, "thalweg_partitions_moving"), 1);
    // To where it goes already, and then to where it is.
    assert_eq!(world.alter(&world.to).await, ErrorCode::NONE);
    assert_eq!(world.client.replicas("t").await.len(), 2);
    assert_eq!(world.alter(&world.from).await, ErrorCode::NONE);
    assert_eq!(world.client.settled("t").await, world.from);
    world.check(0, RECORDS).await;
    assert_eq!(world.alter(&world.to).await, ErrorCode::NONE);
    // What is deleted meanwhile does not come back.
    assert_eq!(world.client.delete_records("t", 0, 50).await, ErrorCode::NONE);
    let world = world.restart().await;
    assert_eq!(world.client.replicas("t").await.len(), 2, "it goes on");
    world.client.throttle("9223372036854775807").await;
    assert_eq!(world.client.settled("t").await, world.to);
    assert_eq!(world.client.fetch(world.topic, 0).await, Err(ErrorCode::OFFSET_OUT_OF_RANGE));
    world.check(50, RECORDS).await;
    let world = world.restart().await;
    assert_eq!(world.client.settled("t").await, world.to);
    assert_eq!(world.client.fetch(world.topic, 0).await, Err(ErrorCode::OFFSET_OUT_OF_RANGE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_move_is_refused_as_kafka_does() {
    let world = TwoDirectories::new().await;
    let client = &world.client;
    let nowhere = world.data.0.join("c");
    assert_eq!(client.alter_dir("t", 0, &nowhere).await, ErrorCode::LOG_DIR_NOT_FOUND);
    assert_eq!(client.alter_dir("t", 0, Path::new("a")).await, ErrorCode::LOG_DIR_NOT_FOUND);
    let (to, from) = (world.dir(&world.to), world.dir(&world.from));
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(client.alter_dir("t", 1, &to).await, unknown);
    assert_eq!(client.alter_dir("unknown", 0, &to).await, unknown);
    assert_eq!(client.alter_dir("__cluster_metadata", 0, &to).await, unknown);
    let long = "x".repeat(240);
    client.create(&long, 1, &[]).await;
    assert_eq!(client.alter_dir(&long, 0, &to).await, ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!(client.alter_dir("t", 0, &from).await, ErrorCode::NONE);
    // What is not there yet is made where it was asked to go.
    for (at, dir) in [&to, &to, &from].into_iter().enumerate() {
        assert_eq!(client.alter_dir("later", at as i32, dir).await, unknown);
    }
    client.create("later", 3, &[]).await;
    let placed = client.placed("later").await;
    assert_eq!((&placed[&world.to], &placed[&world.from]), (&vec![0, 1], &vec![2]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_topic_takes_its_future_replica_with_it() {
    let world = TwoDirectories::new().await;
    world.client.throttle("10000").await;
    assert_eq!(world.alter(&world.to).await, ErrorCode::NONE);
    assert_eq!(world.client.delete("t").await, ErrorCode::NONE);
    assert!(world.client.replicas("t").await.is_empty());
    let world = world.restart().await;
    assert!(world.client.replicas("t").await.is_empty());
    let topic = world.client.create("t", 1, &[]).await;
    assert_eq!(world.client.produce(topic, 0, "new").await, Ok(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_fails_under_a_move_takes_only_what_is_in_it() {
    for from_fails in [false, true] {
        // The metadata is in "a", whose failure stops the broker.
        let world = TwoDirectories::new().await;
        let there = if from_fails { "b" } else { "a" };
        if world.from != there {
            assert_eq!(world.alter(there).await, ErrorCode::NONE);
            assert_eq!(world.client.settled("t").await, there);
        }
        world.client.throttle("10000").await;
        let to = if from_fails { "a" } else { "b" };
        assert_eq!(world.alter(to).await, ErrorCode::NONE);
        world.faults.fail(&[DiskOp::Write, DiskOp::Read], "/b/", Errno::Eio);
        world.client.throttle("9223372036854775807").await;
        if from_fails {
            // It cannot be read, or written.
            world.client.until_leaderless("t", 0).await;
            let code = world.client.produce(world.topic, 0, "no").await;
            assert_eq!(code, Err(ErrorCode::KAFKA_STORAGE_ERROR));
            assert_eq!(world.alter("a").await, ErrorCode::KAFKA_STORAGE_ERROR);
        } else {
            until("the move is given up", || {
                metric(&world.broker, "thalweg_partitions_moving") == 0
            })
            .await;
            world.check(0, RECORDS).await;
            let produced = world.client.produce(world.topic, 0, &value(RECORDS)).await;
            assert_eq!(produced, Ok(RECORDS as i64));
            // Not while a directory is offline.
            assert_eq!(world.alter("b").await, ErrorCode::KAFKA_STORAGE_ERROR);
        }
        world.faults.clear();
        let world = world.restart().await;
        // The future replica is found, and goes on.
        assert_eq!(world.client.settled("t").await, to);
        world.check(0, RECORDS + usize::from(!from_fails)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinators_partition_moves_under_it() {
    let world = TwoDirectories::new().await;
    let client = &world.client;
    until_coordinator(client, "g").await;
    assert_eq!(client.until_loaded("g", world.topic, 1).await, ErrorCode::NONE);
    for round in 0..3 {
        for partition in 0..4 {
            let placed = client.placed("__consumer_offsets").await;
            let here = placed["a"].contains(&partition);
            let to = world.dir(if here { "b" } else { "a" });
            let code = client.alter_dir("__consumer_offsets", partition, &to).await;
            assert_eq!(code, ErrorCode::NONE);
            assert_eq!(client.commit("g", world.topic, 10 + round).await, ErrorCode::NONE);
        }
        let moved = async {
            while metric(&world.broker, "thalweg_partitions_moving") > 0 {
                assert_eq!(client.commit("g", world.topic, 20 + round).await, ErrorCode::NONE);
            }
        };
        tokio::time::timeout(Duration::from_secs(60), moved).await.expect("moved in time");
    }
    assert_eq!(client.commit("g", world.topic, 77).await, ErrorCode::NONE);
    let world = world.restart().await;
    until_coordinator(&world.client, "g").await;
    assert_eq!(world.client.until_loaded("g", world.topic, 78).await, ErrorCode::NONE);
}

async fn until_coordinator(client: &Client, group: &str) {
    let there = async { while client.coordinator(group).await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(60), there).await.expect("a coordinator in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_records_hears_of_them_after_the_move() {
    let world = TwoDirectories::new().await;
    let waiting = connect(&world.broker).await;
    let topic = world.topic;
    let fetch =
        tokio::spawn(async move { waiting.fetch_waiting(topic, 0, RECORDS as i64, 60_000).await });
    until("the fetch waits", || metric(&world.broker, "thalweg_fetches_parked_total") > 0).await;
    assert_eq!(world.alter(&world.to).await, ErrorCode::NONE);
    assert_eq!(world.client.settled("t").await, world.to);
    assert!(!fetch.is_finished());
    world.client.produce(topic, 0, "there").await.unwrap();
    assert_eq!(fetch.await.unwrap(), Ok(vec!["there".to_owned()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_its_own_controller_is_not_unregistered() {
    let broker = TestBroker::start().await;
    let client = connect(&broker).await;
    let unregister = async |broker_id| {
        let request = UnregisterBrokerRequest { broker_id, ..Default::default() };
        client.connection.send(&request).await.unwrap()
    };
    let answer = unregister(7).await;
    assert_eq!(answer.error_code, ErrorCode::BROKER_ID_NOT_REGISTERED);
    let answer = unregister(1).await;
    assert_eq!(answer.error_code, ErrorCode::INVALID_REQUEST);
    assert!(answer.error_message.is_some_and(|text| text.contains("own controller")));
    client.create("t", 1, &[]).await;
}

/// Needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafkas_tools_move_partitions_under_load() {
    if jars().is_none() {
        return;
    }
    let world = TwoDirectories::new().await;
    let other = connect(&world.broker).await;
    let stop = Arc::new(AtomicBool::new(false));
    let (writing, is_over) = (world.topic, Arc::clone(&stop));
    let writer = tokio::spawn(async move {
        let mut at = RECORDS;
        while !is_over.load(Ordering::SeqCst) {
            assert_eq!(other.produce(writing, 0, &value(at)).await, Ok(at as i64));
            at += 1;
        }
        at
    });
    let plan = world.data.0.join("plan.json");
    let to = world.dir(&world.to);
    let text = format!(
        r#"{{"version":1,"partitions":[{{"topic":"t","partition":0,"replicas":[1],"log_dirs":["{}"]}}]}}"#,
        to.display()
    );
    std::fs::write(&plan, text).unwrap();
    let bootstrap = world.broker.bootstrap();
    let tool = async |class: &str, args: Vec<String>| {
        let program = Program::class(class).args(["--bootstrap-server", &bootstrap]).args(args);
        tokio::task::spawn_blocking(move || program.succeed()).await.unwrap()
    };
    let reassign = async |what: &str| {
        let file = plan.display().to_string();
        let args = ["--reassignment-json-file", &file, what].map(str::to_owned).to_vec();
        tool("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", args).await
    };
    let said = reassign("--execute").await;
    assert!(said.contains("Successfully started moving log directory"), "{said}");
    assert_eq!(world.client.settled("t").await, world.to);
    let said = reassign("--verify").await;
    let finished = "Reassignment of replica t-0-1 completed successfully.";
    assert!(said.contains(finished), "{said}");
    let describe = ["--describe", "--topic-list", "t"].map(str::to_owned).to_vec();
    let said = tool("org.apache.kafka.tools.LogDirsCommand", describe).await;
    let json = said.lines().find(|line| line.starts_with('{')).expect("a line of JSON");
    let (_, there) = json.split_once(&format!("{:?}", to.display().to_string())).expect(json);
    assert!(
        there.contains(r#""partition":"t-0""#) || json.contains(r#""partition":"t-0""#),
        "{json}"
    );
    assert!(json.contains(r#""isFuture":false"#) && !json.contains(r#""isFuture":true"#), "{json}");
    stop.store(true, Ordering::SeqCst);
    let count = writer.await.unwrap();
    assert!(count > RECORDS, "something was written meanwhile");
    world.check(0, count).await;
}
