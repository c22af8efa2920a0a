//! Disks that take half a second for a write or a read: who is not concerned notices nothing.
//!
//! The broker and its clients share two worker threads here. One that waits for a disk would be
//! missed at once, two would stop everything.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use support::{Client, Data, connect};
use thalweg_groups::partition_for;
use thalweg_testkit::TestBroker;
use thalweg_testkit::faults::{DiskOp, Faults};
use thalweg_testkit::requests;
use thalweg_wire::messages::DeleteRecordsRequest;
use thalweg_wire::{ErrorCode, Uuid};
use tokio::task::JoinHandle;

const STALL: Duration = Duration::from_millis(500);
/// How often the test looks; its own thread is none of the workers.
const LOOK: Duration = Duration::from_millis(1);

/// Looks again and again until something is so, for a minute at most.
fn until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited for a minute");
        std::thread::sleep(LOOK);
    }
}

/// Something done again and again until it is stopped, and counted.
struct Repeated {
    count: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Repeated {
    fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    async fn stop(self) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
        self.count.load(Ordering::SeqCst)
    }
}

async fn repeat<F>(broker: &TestBroker, act: impl Fn(Arc<Client>) -> F + Send + 'static) -> Repeated
where
    F: Future<Output = ()> + Send,
{
    let client = Arc::new(connect(broker).await);
    let (count, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (counted, stopped) = (Arc::clone(&count), Arc::clone(&stop));
    let task = tokio::spawn(async move {
        while !stopped.load(Ordering::SeqCst) {
            act(Arc::clone(&client)).await;
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    Repeated { count, stop, task }
}

/// Groups whose offsets lie in "a" and in "b".
async fn groups(client: &Client, topic: Uuid) -> (String, String) {
    assert_eq!(client.coordinator("any").await, ErrorCode::NONE);
    let placed = client.placed("__consumer_offsets").await;
    let in_dir = |dir: &str| {
        let mut names = (0..).map(|n| format!("group-{n}"));
        names.find(|name| placed[dir].contains(&partition_for(name, 4))).unwrap()
    };
    let (a, b) = (in_dir("a"), in_dir("b"));
    for group in [&a, &b] {
        assert_eq!(client.until_loaded(group, topic, 1).await, ErrorCode::NONE);
    }
    (a, b)
}

/// Heartbeats to a group's coordinator.
async fn heartbeats(broker: &TestBroker, group: &str) -> Repeated {
    let group = group.to_owned();
    repeat(broker, move |client| {
        let group = group.clone();
        async move {
            assert_eq!(client.heartbeat(&group).await, ErrorCode::UNKNOWN_MEMBER_ID);
        }
    })
    .await
}

async fn producing(broker: &TestBroker, topic: Uuid, partition: i32) -> Repeated {
    repeat(broker, move |client| async move {
        client.produce(topic, partition, "x").await.unwrap();
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_stall_hold_up_nobody_else() {
    writes_that_stall(false, 2).await;
}

/// As `thalweg serve` runs on two processors: both workers may be caught by the first stall, and
/// the third wakes up.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_worker_in_reserve_goes_to_work_when_writes_stall() {
    writes_that_stall(true, 3).await;
}

async fn writes_that_stall(reserve: bool, held_at_once_max: u64) {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    if reserve {
        broker.keep_spare_worker();
    }
    let topic = client.create("t", 8, &[]).await;
    let placed = client.placed("t").await;
    let (in_a, in_b) = (placed["a"][0], placed["b"].clone());
    let (group_a, group_b) = groups(&client, topic).await;

    let others = [heartbeats(&broker, &group_a).await, producing(&broker, topic, in_a).await];
    until(|| others.iter().all(|other| other.count() > 0));

    let hits = faults.stall(&[DiskOp::Write], "/b/*.log", STALL);
    // More producers than threads, each on a connection of its own, and a group that commits.
    let mut slow = Vec::new();
    for partition in in_b.iter().cycle().take(12) {
        slow.push((*partition, producing(&broker, topic, *partition).await));
    }
    let group = group_b.clone();
    let commits = repeat(&broker, move |client| {
        let group = group.clone();
        async move {
            assert_eq!(client.commit(&group, topic, 2).await, ErrorCode::NONE);
        }
    })
    .await;
    // These wait for the commits, as with Kafka, but must not do so on a worker.
    let mut behind = Vec::new();
    for _ in 0..4 {
        behind.push(heartbeats(&broker, &group_b).await);
    }

    // Workers may be caught by the first stalls, and the directory's thread by the next; from then
    // on they follow each other with half a second in between.
    let mut seen = hits.get().max(held_at_once_max);
    let mut before = None;
    let mut fewest = usize::MAX;
    for _ in 0..6 {
        until(|| hits.get() > seen);
        seen = hits.get();
        let now = others.each_ref().map(Repeated::count);
        if let Some(before) = before.replace(now) {
            let during = now.iter().zip(before).map(|(now, before)| now - before);
            fewest = during.fold(fewest, usize::min);
        }
    }
    assert!(fewest >= 20, "only {fewest} answers during a stall");
    let held = hits.most_at_once();
    assert!(held <= held_at_once_max, "{held} threads were held at once");

    faults.clear();
    for other in others {
        other.stop().await;
    }
    assert!(commits.stop().await > 0);
    for heartbeats in behind {
        assert!(heartbeats.stop().await > 0);
    }
    let mut acknowledged = std::collections::BTreeMap::<i32, usize>::new();
    for (partition, producer) in slow {
        *acknowledged.entry(partition).or_default() += producer.stop().await;
    }
    let metrics = broker.metrics_text();
    assert!(metrics.contains("\nthalweg_append_stalls_total 1\n"), "{metrics}");
    broker.shut_down().await;

    let (broker, client) = data.start(&Faults::new()).await;
    for (partition, count) in acknowledged {
        assert_eq!(client.fetch(topic, partition).await.unwrap().len(), count);
    }
    broker.shut_down().await;
}

/// More than may wait: who brings it waits in turn, and nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_the_queue_waits_with_its_producer() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = client.create("t", 2, &[]).await;
    let partition = client.placed("t").await["b"][0];
    let hits = faults.stall(&[DiskOp::Write], "/b/t-*.log", STALL);
    // Of 4 MiB for one partition each fills a fifth.
    let value: Arc<str> = "x".repeat(850_000).into();
    let mut producers = Vec::new();
    for _ in 0..16 {
        let (client, value) = (connect(&broker).await, Arc::clone(&value));
        producers.push(tokio::spawn(async move {
            client.produce(topic, partition, &value).await.unwrap()
        }));
    }
    let mut offsets = Vec::new();
    for producer in producers {
        offsets.push(producer.await.unwrap());
    }
    offsets.sort_unstable();
    assert_eq!(offsets, (0..16).collect::<Vec<i64>>());
    // Written together as far as they fit: fewer writes than producers, more than one list's.
    assert!((3..16).contains(&hits.get()), "{} writes", hits.get());
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_that_stall_hold_up_nobody_else() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = client.create("t", 8, &[]).await;
    let placed = client.placed("t").await;
    for partition in 0..8 {
        assert_eq!(client.produce(topic, partition, "x").await, Ok(0));
    }
    let (in_a, in_b) = (placed["a"][0], placed["b"].clone());
    let (group_a, _) = groups(&client, topic).await;

    let hits = faults.stall(&[DiskOp::Read], "/b/t-", STALL);
    let mut readers = Vec::new();
    for partition in in_b.iter().cycle().take(24) {
        let (client, partition) = (connect(&broker).await, *partition);
        readers.push(tokio::spawn(async move {
            assert_eq!(client.fetch(topic, partition).await.unwrap(), ["x"]);
        }));
    }
    let others = [
        heartbeats(&broker, &group_a).await,
        producing(&broker, topic, in_a).await,
        // What lies in the other directory is read meanwhile, from its disk, too.
        repeat(&broker, move |client| async move {
            assert!(!client.fetch(topic, in_a).await.unwrap().is_empty());
        })
        .await,
    ];
    for reader in readers {
        reader.await.unwrap();
    }
    for other in others {
        let count = other.stop().await;
        assert!(count >= 20, "{count} answers during {} stalls", hits.get());
    }
    assert!(hits.get() >= 24);
    assert!(hits.most_at_once() <= 8, "{} threads were held at once", hits.most_at_once());
    faults.clear();
    broker.shut_down().await;
}

/// An append that fills a page of the index writes it, with the index in hand. Whoever looks for an
/// offset in the middle of that segment meanwhile does not wait on a worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_being_written_holds_up_no_worker() {
    /// Entries of a page; with this interval every batch but the first has one.
    const PAGE: i64 = 512;
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = client.create("t", 2, &[("index.interval.bytes", "0")]).await;
    let placed = client.placed("t").await;
    let (in_a, in_b) = (placed["a"][0], placed["b"][0]);
    let (group_a, _) = groups(&client, topic).await;
    for offset in 0..PAGE {
        assert_eq!(client.produce(topic, in_b, "x").await, Ok(offset));
    }
    let others = [heartbeats(&broker, &group_a).await, producing(&broker, topic, in_a).await];

    let hits = faults.stall(&[DiskOp::Write], "/b/*index", 4 * STALL);
    let producer = {
        let client = connect(&broker).await;
        tokio::spawn(async move { client.produce(topic, in_b, "x").await })
    };
    until(|| hits.get() > 0);
    let mut readers = Vec::new();
    for reader in 1..=6 {
        let client = connect(&broker).await;
        readers.push(tokio::spawn(async move {
            // Each from an offset of its own, so that none knows the place from another one.
            let from = PAGE / 2 + 10 * reader;
            let values = client.fetch_from(topic, in_b, from).await.unwrap();
            assert!(values.len() as i64 >= PAGE - from);
        }));
    }
    // All readers are waiting by now, whatever with.
    std::thread::sleep(STALL);
    let before = others.each_ref().map(Repeated::count);
    std::thread::sleep(STALL);
    let during = others.each_ref().map(Repeated::count);
    assert_eq!(hits.get(), 1, "the stall was over too soon to tell");
    for (before, during) in before.into_iter().zip(during) {
        assert!(during - before >= 20, "only {} answers during the stall", during - before);
    }
    assert_eq!(producer.await.unwrap(), Ok(PAGE));
    for reader in readers {
        reader.await.unwrap();
    }
    faults.clear();
    for other in others {
        other.stop().await;
    }
    broker.shut_down().await;
}

/// What is done by the clock for one directory, and what changes there, does not wait for the disk
/// of another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn housekeeping_of_a_directory_does_not_wait_for_another_one() {
    let (data, faults) = (Data::new(), Faults::new());
    let broker = TestBroker::builder()
        .data(&data.0)
        .dirs(&["a", "b"])
        .config("log.initial.task.delay.ms", 1)
        .config("log.flush.scheduler.interval.ms", 20)
        .config("log.flush.offset.checkpoint.interval.ms", 20)
        .faults(&faults)
        .start()
        .await;
    let client = connect(&broker).await;
    let topic = client.create("t", 2, &[("flush.ms", "1")]).await;
    client.create("u", 1, &[]).await;
    let placed = client.placed("t").await;
    let (in_a, in_b) = (placed["a"][0], placed["b"][0]);
    assert_eq!(client.placed("u").await["a"], [0]);

    // Both a flush and a checkpoint, whichever comes first.
    let in_b_hits = faults.stall(&[DiskOp::Sync], "/b/", 8 * STALL);
    let flushes = faults.stall(&[DiskOp::Sync], "/a/t-*.log", Duration::ZERO);
    let checkpoints =
        faults.stall(&[DiskOp::Sync], "/a/*recovery-point-offset-checkpoint.tmp", Duration::ZERO);
    assert_eq!(client.produce(topic, in_b, "x").await, Ok(0));
    until(|| in_b_hits.get() > 0);
    assert_eq!(client.produce(topic, in_a, "x").await, Ok(0));
    until(|| flushes.get() > 0 && checkpoints.get() > 0);
    assert_eq!(client.delete("u").await, ErrorCode::NONE);
    assert_eq!((in_b_hits.get(), in_b_hits.most_at_once()), (1, 1), "somebody waited for it");
    faults.clear();
    broker.shut_down().await;
}

/// A flush that does not come back holds up those that change the same directory, and no reader of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_waits_for_its_flush_stops_no_read() {
    let (data, faults) = (Data::new(), Faults::new());
    let (broker, client) = data.start(&faults).await;
    let topic = client.create("t", 2, &[]).await;
    let partition = client.placed("t").await["b"][0];
    for offset in 0..2 {
        assert_eq!(client.produce(topic, partition, "x").await, Ok(offset));
    }
    let held = faults.hold(&[DiskOp::Sync], "/b/log-start-offset-checkpoint");
    let reads = faults.stall(&[DiskOp::Read], "/b/t-", Duration::from_millis(1));
    let mut deletions = Vec::new();
    for _ in 0..16 {
        let client = connect(&broker).await;
        let request = DeleteRecordsRequest {
            timeout_ms: 60_000,
            ..requests::delete_records("t", partition, 1)
        };
        deletions.push(tokio::spawn(async move { client.connection.send(&request).await }));
    }
    until(|| held.get() > 0);
    // The others come as far as they come.
    std::thread::sleep(STALL);
    for _ in 0..4 {
        let fetch = client.fetch_from(topic, partition, 1);
        let values = tokio::time::timeout(Duration::from_secs(20), fetch).await;
        assert_eq!(values.expect("an answer while the flush is held").unwrap(), ["x"]);
    }
    assert!(reads.get() > 0, "nothing was read from the disk");
    assert!(deletions.iter().all(|deletion| !deletion.is_finished()));
    faults.clear();
    for deletion in deletions {
        let answer = deletion.await.unwrap().unwrap();
        let result = &answer.topics[0].partitions[0];
        assert_eq!((result.error_code, result.low_watermark), (ErrorCode::NONE, 1));
    }
    broker.shut_down().await;
}
