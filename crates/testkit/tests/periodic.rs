//! What the broker does by the clock: checkpoints of logs and of the metadata.

use std::path::{Path, PathBuf};
use std::time::Duration;

use thalweg_records::builder::BatchOptions;
use thalweg_testkit::TestBroker;
use thalweg_testkit::faults::{DiskOp, Errno, Faults};
use thalweg_testkit::requests::{self, Resource};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::MetadataRequest;

use crate::support::{connect, until};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("thalweg-{name}-{}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A log start within a segment.
async fn start_within_a_segment(broker: &TestBroker) {
    assert_eq!(delete_two_of_three(broker).await, ErrorCode::NONE);
}

/// Writes three records and deletes the first two.
async fn delete_two_of_three(broker: &TestBroker) -> ErrorCode {
    let client = connect(broker).await;
    let topic = client.create("t", 1, &[]).await;
    let records = requests::batch(BatchOptions::default(), &["value"; 3]);
    let request = requests::produce(topic, [(0, records)]);
    let answer = client.connection.send(&request).await.unwrap();
    assert_eq!(answer.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    client.delete_records("t", 0, 2).await
}

fn log_starts(broker: &TestBroker) -> String {
    std::fs::read_to_string(broker.data().join("log-start-offset-checkpoint")).unwrap_or_default()
}

const HOUR: u32 = 3_600_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_records_are_known_to_the_disk_when_the_answer_leaves() {
    let broker = TestBroker::builder()
        .config("log.flush.start.offset.checkpoint.interval.ms", HOUR)
        .config("log.initial.task.delay.ms", HOUR)
        .config("log.retention.ms", -1)
        .start()
        .await;
    start_within_a_segment(&broker).await;
    // Whatever ends the process now, the records do not come back.
    assert_eq!(log_starts(&broker), "0\n1\nt 0 2\n");
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_write_log_starts_down_says_so() {
    let faults = Faults::new();
    let broker = TestBroker::builder()
        .faults(&faults)
        .config("log.flush.start.offset.checkpoint.interval.ms", HOUR)
        .config("log.initial.task.delay.ms", HOUR)
        .config("log.retention.ms", -1)
        .start()
        .await;
    let hits = faults.fail(&[DiskOp::Write], "log-start-offset-checkpoint", Errno::Enospc);
    assert_eq!(delete_two_of_three(&broker).await, ErrorCode::KAFKA_STORAGE_ERROR);
    assert_eq!(hits.get(), 1, "a failed write is not repeated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_starts_are_written_at_their_interval() {
    // A log that starts with a file needs no entry any more: retention takes the file before it away.
    let start = |interval: u32| {
        TestBroker::builder()
            .config("log.flush.start.offset.checkpoint.interval.ms", interval)
            .config("log.retention.check.interval.ms", 20)
            .config("log.initial.task.delay.ms", 1)
            // The records are of 1970, and are to go once they are deleted.
            .config("log.retention.ms", -1)
            .start()
    };
    let broker = start(20).await;
    start_within_a_segment(&broker).await;
    expire(&broker).await;
    until("the log's start", || log_starts(&broker) == "0\n0\n").await;
    broker.shut_down().await;

    let broker = start(HOUR).await;
    // The first time is after the delay; the next one nobody waits for.
    until("the first checkpoint", || log_starts(&broker) == "0\n0\n").await;
    start_within_a_segment(&broker).await;
    expire(&broker).await;
    let log = broker.data().join("t-0");
    until("the new segment", || named(&log, ".log") == ["00000000000000000003.log"]).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(log_starts(&broker), "0\n1\nt 0 2\n");
    broker.shut_down().await;
}

/// Everything in the topic is too old from now on.
async fn expire(broker: &TestBroker) {
    let set = connect(broker).await.set(Resource::Topic("t"), "retention.ms", "1").await;
    assert_eq!(set, ErrorCode::NONE);
}

fn named(dir: &Path, suffix: &str) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(suffix)).collect();
    names.sort_unstable();
    names
}

/// Topics are created until the metadata log has lost its beginning; a restart knows all of them.
async fn metadata_is_trimmed(name: &str, retention: (&str, i64)) {
    let data = Scratch::new(name);
    let start = || {
        TestBroker::builder()
            .data(&data.0)
            .config("metadata.log.max.snapshot.interval.ms", 20)
            .config("internal.metadata.log.segment.bytes", 2_000)
            .config(retention.0, retention.1)
            .start()
    };
    let broker = start().await;
    let client = connect(&broker).await;
    let log = data.0.join("__cluster_metadata-0");
    let mut topics = 0;
    while named(&log, ".log").first().is_some_and(|first| first.starts_with("00000000000000000000"))
    {
        assert!(topics < 500, "the log still begins at 0: {:?}", named(&log, ""));
        client.create(&format!("t{topics}"), 1, &[]).await;
        topics += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // It goes after the segments that it stands for.
    until("another checkpoint is the first", || {
        let checkpoints = named(&log, ".checkpoint");
        checkpoints.first().is_some_and(|first| !first.starts_with("00000000000000000000-"))
    })
    .await;
    broker.shut_down().await;

    for _ in 0..2 {
        let broker = start().await;
        let client = connect(&broker).await;
        let request = MetadataRequest { topics: None, ..Default::default() };
        let answer = client.connection.send(&request).await.unwrap();
        assert_eq!(answer.topics.len(), topics);
        broker.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_beyond_its_size_goes() {
    metadata_is_trimmed("metadata-bytes", ("metadata.max.retention.bytes", 10_000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_beyond_its_age_goes() {
    metadata_is_trimmed("metadata-ms", ("metadata.max.retention.ms", 30)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_limits_all_metadata_stays() {
    let broker = TestBroker::builder()
        .config("metadata.log.max.snapshot.interval.ms", 20)
        .config("internal.metadata.log.segment.bytes", 2_000)
        .config("metadata.max.retention.bytes", -1)
        .config("metadata.max.retention.ms", -1)
        .start()
        .await;
    let client = connect(&broker).await;
    let log = broker.data().join("__cluster_metadata-0");
    for at in 0..40 {
        client.create(&format!("t{at}"), 1, &[]).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let checkpoints = || named(&log, ".checkpoint");
    until("a third checkpoint", || checkpoints().len() >= 3).await;
    assert!(checkpoints()[0].starts_with("00000000000000000000-"));
    assert!(named(&log, ".log")[0].starts_with("00000000000000000000"));
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_that_cannot_be_written_stops_nobody_and_is_tried_again() {
    let data = Scratch::new("metadata-checkpoint");
    let start = |interval_ms: i64| {
        TestBroker::builder()
            .data(&data.0)
            .config("metadata.log.max.record.bytes.between.snapshots", 1)
            .config("metadata.log.max.snapshot.interval.ms", interval_ms)
            .start()
    };
    let broker = start(20).await;
    let client = connect(&broker).await;
    let log = data.0.join("__cluster_metadata-0");
    client.create("t", 1, &[]).await;
    until("the first checkpoint", || named(&log, ".checkpoint").len() >= 2).await;

    // A directory stands where each of the next ones would be written.
    let in_the_way: Vec<PathBuf> = (0..100)
        .map(|offset| log.join(format!("{offset:020}-0000000001.checkpoint.tmp")))
        .collect();
    for path in &in_the_way {
        // One that is being written is done soon.
        until("room", || std::fs::create_dir(path).is_ok()).await;
    }
    let before = named(&log, ".checkpoint");
    for at in 0..3 {
        client.create(&format!("u{at}"), 1, &[]).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    assert_eq!(named(&log, ".checkpoint"), before);
    for path in &in_the_way {
        std::fs::remove_dir(path).unwrap();
    }
    until("the checkpoint", || named(&log, ".checkpoint").last() > before.last()).await;
    broker.shut_down().await;

    let broker = start(3_600_000).await;
    let client = connect(&broker).await;
    let request = MetadataRequest { topics: None, ..Default::default() };
    assert_eq!(client.connection.send(&request).await.unwrap().topics.len(), 4);
    broker.shut_down().await;
}

/// A checkpoint of the metadata is written beside decisions, which do not wait for its disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_do_not_wait_for_a_checkpoint() {
    let data = Scratch::new("metadata-checkpoint-hangs");
    let faults = Faults::new();
    let broker = TestBroker::builder()
        .faults(&faults)
        .data(&data.0)
        .config("metadata.log.max.record.bytes.between.snapshots", 1)
        .config("metadata.log.max.snapshot.interval.ms", 20)
        .start()
        .await;
    let client = connect(&broker).await;
    let log = data.0.join("__cluster_metadata-0");
    client.create("t", 1, &[]).await;
    until("the first checkpoint", || named(&log, ".checkpoint").len() >= 2).await;

    let held = faults.hold(&[DiskOp::Sync], ".checkpoint");
    client.create("v", 1, &[]).await;
    until("a checkpoint that hangs", || held.get() > 0).await;
    let before = named(&log, ".checkpoint");
    for at in 0..3 {
        let name = format!("u{at}");
        let created = client.create(&name, 1, &[]);
        tokio::time::timeout(Duration::from_secs(30), created).await.expect("a decision");
        // What runs by the clock comes to the checkpoint, too.
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    assert_eq!(named(&log, ".checkpoint"), before, "the checkpoint is being written");

    faults.clear();
    until("the checkpoint", || named(&log, ".checkpoint").last() > before.last()).await;
    broker.shut_down().await;
}
