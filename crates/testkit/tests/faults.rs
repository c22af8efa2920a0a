//! Disks that fail, fill up, or come back damaged: what clients see of it, that the other
//! directories live on, and that what was acknowledged is there after a repair.

use crate::support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::{Client, Data};
use thalweg_testkit::TestBroker;
use thalweg_testkit::faults::{DiskOp, Errno, Faults};
use thalweg_testkit::requests;
use thalweg_wire::{ErrorCode, Uuid};

/// A topic with partitions in both directories, and one record in each partition.
struct Topic {
    id: Uuid,
    /// A partition in each directory.
    in_a: i32,
    in_b: i32,
}

async fn topic(client: &Client, configs: &[(&str, &str)]) -> Topic {
    let id = client.create("t", 4, configs).await;
    let placed = client.placed("t").await;
    assert_eq!((placed["a"].len(), placed["b"].len()), (2, 2), "{placed:?}");
    for partition in 0..4 {
        assert_eq!(client.produce(id, partition, "before").await, Ok(0));
    }
    Topic { id, in_a: placed["a"][0], in_b: placed["b"][0] }
}

/// What clients see once "b" is offline.
async fn b_is_offline(client: &Client, topic: &Topic) {
    let offline = Err(ErrorCode::KAFKA_STORAGE_ERROR);
    client.until_leaderless("t", topic.in_b).await;
    assert_eq!(client.produce(topic.id, topic.in_b, "lost").await, offline);
    assert_eq!(client.end("t", topic.in_b).await, offline);
    assert_eq!(client.fetch(topic.id, topic.in_b).await, Err(ErrorCode::KAFKA_STORAGE_ERROR));

    let shown = &client.metadata("t").await[&topic.in_a];
    assert_eq!((shown.error, shown.leader), (ErrorCode::NONE, 1));
    let end = client.end("t", topic.in_a).await.unwrap();
    assert_eq!(client.produce(topic.id, topic.in_a, "during").await, Ok(end));

    let dirs = client.dirs().await;
    assert_eq!((dirs["a"].0, dirs["b"].0), (ErrorCode::NONE, ErrorCode::KAFKA_STORAGE_ERROR));
    assert!(dirs["b"].1.is_empty());

    // What is new goes where there is a disk, more partitions of an old topic too.
    let new = client.create("new", 3, &[]).await;
    for partition in 0..3 {
        assert_eq!(client.produce(new, partition, "new").await, Ok(0));
    }
    assert_eq!(client.placed("new").await["a"], [0, 1, 2]);
}

/// Everything that was acknowledged is there when the disk is well again.
async fn all_is_there(data: &Data, mut expected: Vec<(&str, i32, Vec<&str>)>, topic: &Topic) {
    let (broker, client) = data.start(&Faults::new()).await;
    for (partition, shown) in client.metadata("t").await {
        assert_eq!((shown.error, shown.leader), (ErrorCode::NONE, 1), "{partition}: {shown:?}");
        assert!(shown.offline.is_empty());
    }
    for (_, partition, values) in expected.drain(..) {
        assert_eq!(client.fetch(topic.id, partition).await.unwrap(), values, "{partition}");
        let end = client.end("t", partition).await.unwrap();
        assert_eq!(client.produce(topic.id, partition, "after").await, Ok(end));
    }
    broker.shut_down().await;
}

/// A fault that hits an append to "b", or its flush.
async fn a_failing_append(ops: &[DiskOp], errno: Errno, configs: &[(&str, &str)]) {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = topic(&client, configs).await;
    let hits = faults.fail(ops, "/b/t-", errno);
    let code = client.produce(topic.id, topic.in_b, "lost").await;
    assert_eq!(code, Err(ErrorCode::KAFKA_STORAGE_ERROR));
    b_is_offline(&client, &topic).await;
    broker.shut_down().await;
    assert_eq!(hits.get(), 1, "an operation that failed was tried again");

    let in_b = client_values(configs, &topic);
    all_is_there(&data, vec![("a", topic.in_a, vec!["before", "during"]), in_b], &topic).await;
}

/// A record that was written and not flushed was not acknowledged, but it is there.
fn client_values<'a>(configs: &[(&str, &str)], topic: &Topic) -> (&'a str, i32, Vec<&'a str>) {
    let values = if configs.is_empty() { vec!["before"] } else { vec!["before", "lost"] };
    ("b", topic.in_b, values)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_io_error_takes_one_directory_offline() {
    a_failing_append(&[DiskOp::Write], Errno::Eio, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_takes_one_directory_offline() {
    a_failing_append(&[DiskOp::Write], Errno::Enospc, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_that_fails_is_not_tried_again() {
    a_failing_append(&[DiskOp::Sync], Errno::Eio, &[("flush.messages", "2")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_append_is_cut_off_at_the_next_start() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = topic(&client, &[]).await;
    faults.tear("/b/t-", 20, Errno::Eio);
    let code = client.produce(topic.id, topic.in_b, "torn").await;
    assert_eq!(code, Err(ErrorCode::KAFKA_STORAGE_ERROR));
    b_is_offline(&client, &topic).await;
    broker.shut_down().await;
    all_is_there(&data, vec![("b", topic.in_b, vec!["before"])], &topic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_partitions_go_where_there_is_a_disk() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = topic(&client, &[]).await;
    faults.fail(&[DiskOp::Write], "/b/t-", Errno::Eio);
    let code = client.produce(topic.id, topic.in_b, "lost").await;
    assert_eq!(code, Err(ErrorCode::KAFKA_STORAGE_ERROR));
    client.until_leaderless("t", topic.in_b).await;
    assert_eq!(client.add_partitions("t", 6).await, ErrorCode::NONE);
    for partition in 4..6 {
        assert_eq!(client.produce(topic.id, partition, "new").await, Ok(0));
    }
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_fails_while_a_partition_is_made_does_not_get_it() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    faults.fail(&[DiskOp::CreateDir], "/b/", Errno::Enospc);
    let id = client.create("t", 4, &[]).await;
    for partition in 0..4 {
        assert_eq!(client.produce(id, partition, "x").await, Ok(0));
    }
    assert_eq!(client.placed("t").await["a"], [0, 1, 2, 3]);
    assert_eq!(client.dirs().await["b"].0, ErrorCode::KAFKA_STORAGE_ERROR);
    broker.shut_down().await;
}

/// The disk is full when the partition's directory has just been made.
async fn a_partition_made_half_way(leftover_stays: bool) {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let mut ops = vec![DiskOp::Write];
    if leftover_stays {
        ops.push(DiskOp::Remove);
    }
    faults.fail(&ops, "/b/t-", Errno::Enospc);
    let id = client.create("t", 4, &[]).await;
    for partition in 0..4 {
        assert_eq!(client.produce(id, partition, "x").await, Ok(0));
    }
    assert_eq!(client.placed("t").await["a"], [0, 1, 2, 3]);
    assert_eq!(client.dirs().await["b"].0, ErrorCode::KAFKA_STORAGE_ERROR);
    broker.shut_down().await;
    let in_b = || {
        let entries = std::fs::read_dir(data.0.join("b")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("t-")).collect::<Vec<String>>()
    };
    assert_eq!(in_b().len(), usize::from(leftover_stays));

    let (broker, client) = data.start(&Faults::new()).await;
    for partition in 0..4 {
        assert_eq!(client.fetch(id, partition).await.unwrap(), ["x"]);
        assert_eq!(client.produce(id, partition, "y").await, Ok(1));
    }
    assert_eq!(client.dirs().await["b"], (ErrorCode::NONE, vec![]));
    broker.shut_down().await;
    assert!(in_b().iter().all(|name| name.ends_with("-stray")), "{:?}", in_b());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_a_partition_that_could_not_be_made() {
    a_partition_made_half_way(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_of_a_partition_that_could_not_be_made_is_not_in_the_way() {
    a_partition_made_half_way(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_directory_at_the_start_is_offline() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = topic(&client, &[]).await;
    broker.shut_down().await;

    let read_only =
        [DiskOp::Open, DiskOp::Write, DiskOp::Remove, DiskOp::Rename, DiskOp::CreateDir];
    faults.fail(&read_only, "/b/", Errno::Erofs);
    let (broker, client) = data.start(&faults).await;
    b_is_offline(&client, &topic).await;
    broker.shut_down().await;
    let expected =
        vec![("a", topic.in_a, vec!["before", "during"]), ("b", topic.in_b, vec!["before"])];
    all_is_there(&data, expected, &topic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_cannot_be_opened_for_now_take_no_directory_offline() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = topic(&client, &[]).await;
    let of_new = faults.fail(&[DiskOp::Open], "/b/new-", Errno::Emfile);
    faults.fail(&[DiskOp::Open], "/a/__cluster_metadata-0/*.log", Errno::Emfile);
    let new = client.create("new", 4, &[]).await;
    assert!(of_new.get() > 0);
    let offline = Err(ErrorCode::KAFKA_STORAGE_ERROR);
    let mut answers = Vec::new();
    for partition in 0..4 {
        answers.push(client.produce(new, partition, "early").await);
    }
    let refused = answers.iter().filter(|answer| **answer == offline).count();
    assert!(refused > 0 && answers.contains(&Ok(0)), "{answers:?}");
    let dirs = client.dirs().await;
    assert_eq!((dirs["a"].0, dirs["b"].0), (ErrorCode::NONE, ErrorCode::NONE));
    assert_eq!(client.produce(topic.id, topic.in_b, "during").await, Ok(1));

    faults.clear();
    let opened = async {
        for (partition, answer) in answers.iter().enumerate() {
            let expected = Ok(i64::from(answer.is_ok()));
            let partition = partition as i32;
            while client.produce(new, partition, "late").await != expected {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), opened).await.expect("they are opened again");
    assert!(broker.metrics_text().contains("thalweg_log_opens_exhausted_total"));
    broker.shut_down().await;
    all_is_there(&data, vec![("b", topic.in_b, vec!["before", "during"])], &topic).await;
}

/// The path of a partition's file.
fn file(data: &Data, dir: &str, partition: i32, suffix: &str) -> PathBuf {
    data.0.join(dir).join(format!("t-{partition}")).join(format!("00000000000000000000{suffix}"))
}

/// Makes the next start believe that the broker was killed.
fn unclean(data: &Data) {
    for dir in ["a", "b"] {
        std::fs::remove_file(data.0.join(dir).join(".kafka_cleanshutdown")).unwrap();
    }
}

fn append_garbage(path: &Path) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(&[0x5a; 77]).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_tail_is_cut_off() {
    let data = Data::new();
    let (broker, client) = data.start(&Faults::new()).await;
    let topic = topic(&client, &[]).await;
    broker.shut_down().await;
    append_garbage(&file(&data, "b", topic.in_b, ".log"));
    unclean(&data);
    all_is_there(&data, vec![("b", topic.in_b, vec!["before"])], &topic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_index_is_built_again() {
    for clean in [true, false] {
        let data = Data::new();
        let (broker, client) = data.start(&Faults::new()).await;
        let topic = topic(&client, &[]).await;
        broker.shut_down().await;
        for suffix in [".index", ".timeindex"] {
            std::fs::write(file(&data, "b", topic.in_b, suffix), [0x5a; 77]).unwrap();
        }
        if !clean {
            unclean(&data);
        }
        all_is_there(&data, vec![("b", topic.in_b, vec!["before"])], &topic).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_directory_of_the_metadata_takes_the_broker_with_it() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = topic(&client, &[]).await;
    faults.fail(&[DiskOp::Write], "/a/t-", Errno::Eio);
    // The answer may come before the connection is closed, or not.
    let _ = client.try_produce(topic.id, topic.in_a, "lost").await;
    let failed = tokio::time::timeout(std::time::Duration::from_secs(60), broker.failed()).await;
    assert!(failed.expect("the broker stops by itself").contains("metadata log"));
    broker.shut_down().await;
    let expected = vec![("a", topic.in_a, vec!["before"]), ("b", topic.in_b, vec!["before"])];
    all_is_there(&data, expected, &topic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_an_offline_directory_have_no_coordinator_until_it_is_back() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = topic(&client, &[]).await;
    let groups: Vec<String> = (0..16).map(|n| format!("group-{n}")).collect();
    for group in &groups {
        assert_eq!(client.coordinator(group).await, ErrorCode::NONE);
        assert_eq!(client.until_loaded(group, topic.id, 7).await, ErrorCode::NONE);
    }
    let placed = client.placed("__consumer_offsets").await;
    assert_eq!((placed["a"].len(), placed["b"].len()), (2, 2));

    faults.fail(&[DiskOp::Write], "/b/__consumer_offsets-", Errno::Eio);
    let mut lost = 0;
    for group in &groups {
        match client.commit(group, topic.id, 8).await {
            ErrorCode::NONE => {}
            // Kafka answers a commit that could not be stored like this.
            ErrorCode::NOT_COORDINATOR => lost += 1,
            other => panic!("{group}: {other}"),
        }
    }
    assert!((1..16).contains(&lost), "{lost}");
    let (mut here, mut nowhere) = (0, 0);
    for index in &placed["b"] {
        client.until_leaderless("__consumer_offsets", *index).await;
    }
    for group in &groups {
        match client.coordinator(group).await {
            ErrorCode::NONE => {
                here += 1;
                assert_eq!(client.commit(group, topic.id, 9).await, ErrorCode::NONE);
            }
            ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                nowhere += 1;
                assert_eq!(client.heartbeat(group).await, ErrorCode::NOT_COORDINATOR);
            }
            other => panic!("{group}: {other}"),
        }
    }
    assert_eq!((here, nowhere), (16 - lost, lost));
    broker.shut_down().await;

    let (broker, client) = data.start(&Faults::new()).await;
    for group in &groups {
        assert_eq!(client.coordinator(group).await, ErrorCode::NONE);
        assert_eq!(client.until_loaded(group, topic.id, 10).await, ErrorCode::NONE);
    }
    broker.shut_down().await;
}

/// What lay in "b" begins anew once "b" is gone for good: replaced by an empty directory, or no
/// longer in the configuration.
async fn a_lost_directory(dirs: &[&str]) {
    let data = Data::new();
    let (broker, client) = data.start(&Faults::new()).await;
    let topic = topic(&client, &[]).await;
    let groups: Vec<String> = (0..16).map(|n| format!("group-{n}")).collect();
    for group in &groups {
        assert_eq!(client.coordinator(group).await, ErrorCode::NONE);
        assert_eq!(client.until_loaded(group, topic.id, 7).await, ErrorCode::NONE);
    }
    let placed = client.placed("t").await;
    broker.shut_down().await;
    std::fs::remove_dir_all(data.0.join("b")).unwrap();

    let start = async || {
        let builder = TestBroker::builder().data(&data.0).dirs(dirs);
        let broker = builder.config("offsets.topic.num.partitions", 4).start().await;
        let client = support::connect(&broker).await;
        (broker, client)
    };
    let (broker, client) = start().await;
    for name in ["t", "__consumer_offsets"] {
        // Before it let the broker lead, the controller heard that they lie elsewhere now.
        for (index, shown) in client.metadata(name).await {
            assert_eq!((shown.error, shown.leader), (ErrorCode::NONE, 1), "{name}-{index}");
            assert!(shown.offline.is_empty(), "{name}-{index}: {shown:?}");
        }
    }
    for partition in 0..4 {
        let end = i64::from(placed["a"].contains(&partition));
        assert_eq!(client.produce(topic.id, partition, "after").await, Ok(end));
    }
    for group in &groups {
        assert_eq!(client.coordinator(group).await, ErrorCode::NONE);
        assert_eq!(client.until_loaded(group, topic.id, 8).await, ErrorCode::NONE);
    }
    let anew = client.placed("t").await;
    broker.shut_down().await;

    let (broker, client) = start().await;
    assert_eq!(client.placed("t").await, anew);
    for partition in 0..4 {
        let before = placed["a"].contains(&partition).then_some("before");
        let expected: Vec<&str> = before.into_iter().chain(["after"]).collect();
        assert_eq!(client.fetch(topic.id, partition).await.unwrap(), expected);
    }
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_directory_is_used_as_a_new_one() {
    a_lost_directory(&["a", "b"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_of_a_removed_directory_go_to_those_left() {
    a_lost_directory(&["a"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_made_anew_while_a_directory_was_offline_is_the_one_that_counts() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let old = topic(&client, &[]).await;
    faults.fail(&[DiskOp::Write], "/b/t-", Errno::Eio);
    assert_eq!(client.produce(old.id, old.in_b, "lost").await, Err(ErrorCode::KAFKA_STORAGE_ERROR));
    client.until_leaderless("t", old.in_b).await;
    assert_eq!(client.delete("t").await, ErrorCode::NONE);
    let new = client.create("t", 4, &[]).await;
    for partition in 0..4 {
        assert_eq!(client.produce(new, partition, "anew").await, Ok(0));
    }
    broker.shut_down().await;

    let (broker, client) = data.start(&Faults::new()).await;
    for partition in 0..4 {
        assert_eq!(client.fetch(new, partition).await.unwrap(), ["anew"]);
    }
    broker.shut_down().await;
    let names = std::fs::read_dir(data.0.join("b")).unwrap();
    let strays = names.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        name.starts_with("t-") && name.ends_with("-stray")
    });
    assert_eq!(strays.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_brokers_do_not_share_a_directory() {
    let data = Data::new();
    let (broker, client) = data.start(&Faults::new()).await;
    let second = TestBroker::builder().data(data.0.join("b")).try_start().await;
    let error = second.err().expect("the second broker must not start").to_string();
    assert!(error.contains("in use") && error.contains("/b"), "{error}");
    let topic = topic(&client, &[]).await;
    assert_eq!(client.produce(topic.id, topic.in_b, "on").await, Ok(1));
    broker.shut_down().await;
}

/// Logs of new partitions that cannot be made because of a bug stop the broker. The next start has them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_while_partitions_are_made_stops_the_broker() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = topic(&client, &[]).await;
    let hits = faults.panic(&[DiskOp::CreateDir], "/lost-");
    let request = requests::create(requests::topic("lost", 2, &[]));
    // The answer may come before the connection is closed, or not: the topic is there.
    let answer = client.connection.send(&request).await;
    assert!(answer.is_err() || answer.unwrap().topics[0].error_code.is_ok());
    let failed = tokio::time::timeout(std::time::Duration::from_secs(30), broker.failed()).await;
    assert_eq!(failed.unwrap(), "opening partitions panicked; see the message above");
    broker.shut_down().await;
    // One in each of the two directories, unless the broker stopped before.
    assert!((1..=2).contains(&hits.get()), "{}", hits.get());
    faults.clear();
    let (broker, client) = data.start(&faults).await;
    assert_eq!(client.metadata("lost").await.len(), 2);
    assert_eq!(client.fetch(topic.id, topic.in_a).await, Ok(vec!["before".to_owned()]));
    broker.shut_down().await;
}
