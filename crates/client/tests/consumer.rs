//! The consumer against Thalweg's broker, in process.

use crate::support;

use std::time::Duration;

use support::{Bench, cluster, earliest, soon, tp, until};
use thalweg::{Admin, AdminConfig, PartitionStatus, ResetCause};
use thalweg::{Consumer, ConsumerConfig, Error, OffsetReset, Position, TopicPartition};
use thalweg_records::Compression;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor};
use thalweg_testkit::requests;

async fn read(consumer: &mut Consumer, count: usize) -> Vec<(i32, i64, String)> {
    let mut all = Vec::new();
    while all.len() < count {
        let records = soon(consumer.poll(count - all.len())).await.unwrap();
        all.extend(records.iter().map(|record| {
            assert_eq!((record.topic(), record.key()), ("t", Some(&b"key"[..])));
            assert_eq!(record.headers().count(), 1);
            let value = String::from_utf8(record.value().unwrap().to_vec()).unwrap();
            (record.partition(), record.offset(), value)
        }));
    }
    all.sort_unstable();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_record_of_every_codec_comes_once_and_in_order() {
    let bench = Bench::with(3).await;
    let codecs = [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ];
    let mut expected = Vec::new();
    for (round, codec) in codecs.into_iter().enumerate() {
        for partition in 0..3 {
            bench.produce(partition, &["a", "b"], codec).await;
            for (at, value) in ["a", "b"].into_iter().enumerate() {
                expected.push((partition, (2 * round + at) as i64, value.to_owned()));
            }
        }
    }
    expected.sort_unstable();
    let mut consumer = bench.consumer(earliest()).await;
    consumer.assign((0..3).map(|partition| (tp(partition), None))).unwrap();
    assert_eq!(read(&mut consumer, 30).await, expected);
    // Then it waits, and gets what comes.
    let none = consumer.poll_timeout(10, Duration::from_millis(50)).await.unwrap();
    assert!(none.is_empty());
    bench.produce(1, &["late"], Compression::None).await;
    assert_eq!(read(&mut consumer, 1).await, [(1, 10, "late".to_owned())]);
    assert_eq!(consumer.lag(&tp(1)), Some(0));
    let counts = consumer.counts();
    assert_eq!((counts.sessions, counts.partial_bytes, counts.discarded_bytes), (1, 0, 0));
    assert_eq!(counts.records, 31);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_begins_where_it_is_told_to() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b", "c"], Compression::Lz4).await;
    let mut consumer = bench.consumer(ConsumerConfig::default()).await;
    consumer.assign([(tp(0), Some(Position::at(2)))]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 2, "c".to_owned())]);
    consumer.seek(&tp(0), Position::at(1)).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 1, "b".to_owned())]);
    consumer.seek_to_beginning([&tp(0)]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 0, "a".to_owned())]);
    consumer.seek_to_end([&tp(0)]).unwrap();
    until(|| consumer.position(&tp(0)).is_some()).await;
    assert_eq!(consumer.position(&tp(0)).map(|position| position.offset), Some(3));
    // Without a position: at the end, as Kafka's default says.
    let mut latest = bench.consumer(ConsumerConfig::default()).await;
    latest.assign([(tp(0), None)]).unwrap();
    until(|| latest.position(&tp(0)).is_some()).await;
    bench.produce(0, &["d"], Compression::None).await;
    assert_eq!(read(&mut latest, 1).await, [(0, 3, "d".to_owned())]);
    // With nowhere to begin it is an error that says so.
    let config = ConsumerConfig::default().with_auto_offset_reset(OffsetReset::None);
    let mut strict = bench.consumer(config).await;
    strict.assign([(tp(0), Some(Position::at(1_000)))]).unwrap();
    let error = soon(strict.poll(1)).await.unwrap_err();
    assert!(matches!(&error, Error::Partition(e) if e.offset == 1_000), "{error}");
    assert!(error.to_string().contains("t-0 at offset 1000"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_partition_keeps_what_was_fetched() {
    let bench = Bench::with(2).await;
    for partition in 0..2 {
        for _ in 0..50 {
            bench.produce(partition, &["x", "y"], Compression::Lz4).await;
        }
    }
    let mut consumer = bench.consumer(earliest()).await;
    consumer.assign((0..2).map(|partition| (tp(partition), None))).unwrap();
    let mut next = [0i64; 2];
    let mut turn = 0;
    while next != [100, 100] {
        turn += 1;
        let (quiet, other) = (tp(turn % 2), tp(1 - turn % 2));
        consumer.pause([&quiet]).unwrap();
        consumer.resume([&other]).unwrap();
        if next[other.partition as usize] == 100 {
            continue;
        }
        for record in &soon(consumer.poll(1)).await.unwrap() {
            assert_eq!(record.topic_partition(), &other);
            assert_eq!(record.offset(), next[other.partition as usize]);
            next[other.partition as usize] += 1;
        }
    }
    // One batch is one fetch at most, whatever was paused in between.
    let counts = consumer.counts();
    let stored = 2 * 50 * batch_len();
    assert_eq!(counts.batch_bytes + counts.discarded_bytes, stored, "{counts:?}");
    drop(consumer);
}

/// Bytes of one batch as `a_paused_partition_keeps_what_was_fetched` produces it.
fn batch_len() -> u64 {
    let compression = CompressionSpec::new(Compression::Lz4);
    let mut builder = BatchBuilder::new(BatchOptions { compression, ..Default::default() });
    for value in ["x", "y"] {
        builder.append(1_000, Some(b"key"), Some(value.as_bytes()), &[(b"h", None)]);
    }
    builder.finish(&mut Compressor::new()).unwrap().len() as u64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_can_be_kept_apart_from_the_others() {
    let bench = Bench::with(2).await;
    for partition in 0..2 {
        bench.produce(partition, &["a", "b", "c"], Compression::Lz4).await;
    }
    let mut consumer = bench.consumer(earliest()).await;
    consumer.assign((0..2).map(|partition| (tp(partition), None))).unwrap();
    let mut kept = Vec::new();
    while kept.len() < 6 {
        for record in soon(consumer.poll(6 - kept.len())).await.unwrap() {
            kept.push(record);
        }
    }
    drop(consumer);
    let kept = kept.iter().map(|r| (r.partition(), r.offset(), r.value().unwrap()));
    let mut kept: Vec<_> = kept.collect();
    kept.sort_unstable();
    let values = [(0, &b"a"[..]), (1, b"b"), (2, b"c")];
    let expected = (0..2).flat_map(|partition| values.map(|(at, value)| (partition, at, value)));
    assert!(kept.into_iter().eq(expected));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_being_read_counts_as_buffered() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a"; 100], Compression::None).await;
    let mut consumer = bench.consumer(earliest()).await;
    consumer.assign([(tp(0), None)]).unwrap();
    assert_eq!(read(&mut consumer, 1).await.len(), 1);
    // All that there is lies in the batch that is open.
    let (_, status) = consumer.why().partitions.remove(0);
    assert!(matches!(status, PartitionStatus::Buffered { bytes: 1.. }), "{status}");
    assert_eq!(read(&mut consumer, 99).await.len(), 99);
    let (_, status) = consumer.why().partitions.remove(0);
    assert!(!matches!(status, PartitionStatus::Buffered { .. }), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_are_kept_count_and_stay_whole() {
    let bench = Bench::with(1).await;
    let long = "v".repeat(20_000);
    for _ in 0..40 {
        bench.produce(0, &[&long], Compression::None).await;
    }
    let config = earliest().with_fetch_budget(200_000);
    let mut consumer = bench.consumer(config).await;
    consumer.assign([(tp(0), None)]).unwrap();
    let mut kept = Vec::new();
    let mut owned = Vec::new();
    while owned.len() < 40 {
        // With nothing kept something comes, however long it takes.
        let limit = Duration::from_millis(if kept.is_empty() { 20_000 } else { 100 });
        let polled = consumer.poll_timeout(3, limit).await.unwrap();
        owned.extend(polled.iter().map(|record| record.to_owned()));
        if polled.is_empty() {
            // The budget is full of what is kept here; letting go of it is what goes on.
            assert!(!kept.is_empty());
            kept.clear();
        } else {
            kept.push(polled);
        }
    }
    let (_, peak) = consumer.budget_used();
    assert!(peak <= 200_000 + 20_100 + 2_048, "{peak}");
    assert!(owned.iter().all(|record| record.value.as_deref() == Some(long.as_bytes())));
    assert!(owned.iter().map(|record| record.offset).eq(0..40));
    kept.clear();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_comes_later_is_found() {
    let bench = Bench::with(1).await;
    let mut consumer = bench.consumer(earliest()).await;
    consumer.assign([(TopicPartition::new("later", 0), None)]).unwrap();
    let poll = tokio::spawn(async move { consumer.poll(1).await.map(|records| records.len()) });
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(!poll.is_finished());
    let request = requests::create(requests::topic("later", 1, &[]));
    let topic = bench.connection.send(&request).await.unwrap().topics[0].topic_id;
    let bench = Bench { topic, ..bench };
    bench.produce(0, &["x"], Compression::None).await;
    assert_eq!(soon(poll).await.unwrap().unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_are_looked_up() {
    let bench = Bench::with(2).await;
    bench.produce(0, &["a", "b"], Compression::Lz4).await;
    bench.produce(0, &["c"], Compression::None).await;
    let consumer = bench.consumer(earliest()).await;
    let both = [tp(0), tp(1)];
    assert_eq!(soon(consumer.beginning_offsets(&both)).await.unwrap(), [(tp(0), 0), (tp(1), 0)]);
    assert_eq!(soon(consumer.end_offsets(&both)).await.unwrap(), [(tp(0), 3), (tp(1), 0)]);
    let found = soon(consumer.offsets_for_times([(tp(0), 1_000), (tp(1), 1_000)])).await.unwrap();
    let first = found[0].1.unwrap();
    assert_eq!((first.offset, first.timestamp), (0, 1_000));
    assert_eq!(found[1], (tp(1), None));
    let found = soon(consumer.offsets_for_times([(tp(0), 2_000)])).await.unwrap();
    assert_eq!(found, [(tp(0), None)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_says_why_nothing_comes() {
    let bench = Bench::with(3).await;
    bench.produce(0, &["a"], Compression::None).await;
    bench.produce(1, &["a"], Compression::None).await;
    let mut consumer = bench.consumer(earliest()).await;
    assert!(consumer.why().to_string().contains("no partition is assigned"));
    consumer.assign([(tp(0), None), (tp(1), None), (tp(2), None), (tp(7), None)]).unwrap();
    assert!(!consumer.why().to_string().contains(" 0 bytes are buffered"));
    consumer.pause([&tp(1)]).unwrap();
    let wanted = [
        "t-0: 7",
        "bytes are buffered; the application has not polled them",
        // It may have been fetched before it was paused.
        "t-1: paused, ",
        "t-2: asked for; nothing has come yet",
        "t-7: there is no such partition: the topic has 3",
    ];
    let begun = std::time::Instant::now();
    loop {
        let why = consumer.why().to_string();
        if wanted.iter().all(|line| why.contains(line)) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{why}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// On one thread: no request asks for a partition between its assignment and its pause.
#[tokio::test]
async fn what_is_resumed_does_not_wait_for_what_the_broker_holds_back() {
    let bench = Bench::with(3).await;
    let config = earliest().with_fetch_max_wait(Duration::from_secs(600));
    let mut consumer = bench.consumer(config).await;
    consumer.assign((0..3).map(|partition| (tp(partition), None))).unwrap();
    consumer.pause([&tp(1)]).unwrap();
    consumer.pause([&tp(2)]).unwrap();
    // Until the broker holds a request for the one that is not paused.
    until(|| consumer.counts().requests > 0).await;
    for _ in 0..3 {
        for partition in [1, 2] {
            bench.produce(partition, &["x"], Compression::None).await;
            consumer.resume([&tp(partition)]).unwrap();
            assert_eq!(read(&mut consumer, 1).await.len(), 1);
            consumer.pause([&tp(partition)]).unwrap();
        }
    }
    let counts = consumer.counts();
    assert_eq!((counts.records, counts.discarded_bytes), (6, 0));
    // The first one is still held back.
    assert!(counts.sessionless >= 6 && counts.requests == counts.sessionless + 1, "{counts:?}");
    // One that came back empty may have been on its way when the record was written, no more.
    assert!(counts.sessionless <= 12, "{counts:?}");
}

#[tokio::test]
async fn a_position_reset_is_counted_and_explained() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 8], Compression::None).await;
    let admin = Admin::new(cluster(&bench).await, AdminConfig::default());
    for (_, deleted) in admin.delete_records([(tp(0), 5)]).await {
        deleted.unwrap();
    }
    let mut consumer = bench.consumer(earliest()).await;
    consumer.assign([(tp(0), Some(Position::at(3)))]).unwrap();
    let mut offsets = Vec::new();
    while offsets.len() < 3 {
        let records = soon(consumer.poll(10)).await.unwrap();
        offsets.extend(records.iter().map(|record| record.offset()));
    }
    assert_eq!(offsets, [5, 6, 7]);
    assert_eq!(consumer.counts().position_resets, 1);
    let why = consumer.why();
    let [reset] = &why.position_resets[..] else { panic!("{why}") };
    assert_eq!((reset.from, reset.to, reset.cause), (3, 5, ResetCause::OffsetOutOfRange));
    let line = "t-0: position reset from 3 to 5: the log does not have the offset\n";
    assert!(why.to_string().contains(line), "{why}");
    consumer.seek(&tp(0), Position::at(6)).unwrap();
    assert_eq!(consumer.why().position_resets, []);
    assert_eq!(consumer.counts().position_resets, 1);
}

#[tokio::test]
async fn the_lag_of_idle_partitions_is_known_after_an_assignment() {
    let bench = Bench::with(2).await;
    let mut consumer = bench.consumer(earliest()).await;
    let at = |index| (tp(index), Some(Position::at(0)));
    let known = async |consumer: &mut Consumer| {
        soon(async {
            while consumer.lag(&tp(0)).and(consumer.lag(&tp(1))) != Some(0) {
                consumer.poll_timeout(9, Duration::from_millis(20)).await.unwrap();
            }
        })
        .await;
    };
    consumer.assign([at(0), at(1)]).unwrap();
    known(&mut consumer).await;
    // Nothing is written, so the broker has nothing to say of it in its session.
    for _ in 0..3 {
        consumer.assign([at(0)]).unwrap();
        consumer.assign([at(0), at(1)]).unwrap();
        known(&mut consumer).await;
    }
}

#[tokio::test]
async fn the_lag_of_idle_partitions_is_known_after_a_rebalance() {
    let bench = Bench::at_barrier(2).await;
    let config = earliest()
        .with_group_id("g")
        .with_heartbeat_interval(Duration::from_millis(50))
        .with_session_timeout(Duration::from_secs(6));
    let mut consumer = bench.consumer(config.clone()).await;
    consumer.subscribe(["t"]).unwrap();
    let known = async |consumer: &mut Consumer, count: usize| {
        soon(async {
            loop {
                let assigned = consumer.assignment();
                let is_known = assigned.iter().all(|of| consumer.lag(of) == Some(0));
                if assigned.len() == count && is_known {
                    break;
                }
                consumer.poll_timeout(9, Duration::from_millis(20)).await.unwrap();
            }
        })
        .await;
    };
    known(&mut consumer, 2).await;
    let mut other = bench.consumer(config).await;
    other.subscribe(["t"]).unwrap();
    let both = async { tokio::join!(known(&mut consumer, 1), known(&mut other, 1)) };
    both.await;
    other.close(Duration::from_secs(5)).await.unwrap();
    known(&mut consumer, 2).await;
    assert!(consumer.counts().sessions <= 2, "{:?}", consumer.counts());
}

#[tokio::test]
async fn what_is_not_assigned_is_neither_moved_nor_paused() {
    let bench = Bench::with(2).await;
    let mut consumer = bench.consumer(earliest()).await;
    consumer.assign([(tp(0), Some(Position::at(0)))]).unwrap();
    let other = tp(1);
    let refused = |done: Result<(), Error>| {
        assert!(matches!(&done, Err(Error::NotAssigned(of)) if **of == other), "{done:?}");
    };
    refused(consumer.seek(&other, Position::at(0)));
    refused(consumer.seek_to_beginning([&other]));
    refused(consumer.seek_to_end([&other]));
    refused(consumer.resume([&other]));
    // What is assigned is paused all the same.
    refused(consumer.pause([&other, &tp(0)]));
    assert_eq!(consumer.paused(), [tp(0)]);
    consumer.resume([&tp(0)]).unwrap();
    assert_eq!(consumer.paused(), []);
}

struct Deaf;

impl thalweg::RebalanceListener for Deaf {}

#[tokio::test]
async fn a_listener_without_a_group_is_refused() {
    let bench = Bench::with(1).await;
    let mut consumer = bench.consumer(earliest()).await;
    let error = consumer.set_listener(Deaf).unwrap_err();
    assert!(error.to_string().contains("group.id"), "{error}");
    let mut consumer = bench.consumer(earliest().with_group_id("g")).await;
    consumer.set_listener(Deaf).unwrap();
}
