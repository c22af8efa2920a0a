//! Sources, against Thalweg's broker in process.

use crate::support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use support::{Bench, cluster, committed, earliest, grouped, soon, topic, tp};
use thalweg::stream::{self, CommittableOffset, PartitionSource, PartitionedSource, Subscription};
use thalweg::{Consumer, Error, Position, TopicPartition};
use thalweg_records::Compression;

const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_source_commits_what_was_followed_by_another_request() {
    let bench = Bench::with(2).await;
    for partition in 0..2 {
        bench.produce(partition, &["a", "b", "c"], Compression::Lz4).await;
    }
    let cluster = cluster(&bench).await;
    let mut source = stream::plain_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    let mut seen = Vec::new();
    for _ in 0..6 {
        let record = soon(source.next()).await.unwrap().unwrap();
        assert_eq!((record.topic(), record.key()), ("t", Some(&b"key"[..])));
        assert_eq!(record.headers().count(), 1);
        assert_eq!(record.value_bytes().as_deref(), record.value());
        seen.push((record.partition(), record.offset()));
    }
    let last = seen[5];
    seen.sort_unstable();
    assert_eq!(seen, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    // The last one is being worked on.
    control.stop();
    soon(control.shutdown(LIMIT)).await;
    let mut expected = [3, 3];
    expected[last.0 as usize] = last.1;
    assert_eq!(committed(&bench, 2).await, expected);
    // What follows a stop is the end, which acknowledges nothing more.
    assert!(soon(source.next()).await.is_none());
    let mut source = stream::plain_source(&cluster, grouped(), topic()).unwrap();
    let record = soon(source.next()).await.unwrap().unwrap();
    assert_eq!((record.partition(), record.offset()), last);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_is_committed_and_nothing_else() {
    let bench = Bench::with(2).await;
    for partition in 0..2 {
        bench.produce(partition, &["a", "b", "c", "d"], Compression::None).await;
    }
    let cluster = cluster(&bench).await;
    let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    let messages: Vec<_> = soon(source.take(8).map(Result::unwrap).collect::<Vec<_>>()).await;
    // The source is dropped; what it handed out can still be committed.
    for message in messages {
        let (partition, offset) = (message.record.partition(), message.record.offset());
        assert_eq!(message.offset.position().offset, offset + 1);
        if (partition, offset) <= (0, 2) {
            soon(message.offset.commit()).await.unwrap();
        }
    }
    // Everything was committed or dropped: it leaves by itself.
    soon(control.is_shutdown()).await;
    assert_eq!(committed(&bench, 2).await, [3, -1]);
    // Batches with a text beside them.
    let text = |record: &thalweg::SharedRecord| format!("{}!", record.offset());
    let source = stream::commit_with_metadata_source(&cluster, grouped(), topic(), text).unwrap();
    let control = source.control();
    let mut batches = source.batches(100);
    let mut sizes = BTreeMap::new();
    for _ in 0..2 {
        let batch = soon(batches.next()).await.unwrap().unwrap();
        let partition = batch.offset.topic_partition().partition;
        sizes.insert(partition, batch.records.len());
        assert!(batch.records.iter().all(|record| record.partition() == partition));
        assert_eq!(batch.offset.metadata(), Some("3!"));
        if partition == 1 {
            soon(batch.offset.commit()).await.unwrap();
        }
    }
    assert_eq!(sizes, BTreeMap::from([(0, 1), (1, 4)]));
    let found = soon(control.metadata_client().committed(&[tp(1)])).await.unwrap();
    assert_eq!(found[0].1.as_ref().and_then(|found| found.metadata.as_deref()), Some("3!"));
    drop(batches);
    soon(control.is_shutdown()).await;
    assert_eq!(committed(&bench, 2).await, [3, 4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offset_of_a_consumer_that_is_gone_is_refused() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    let cluster = cluster(&bench).await;
    let mut source = stream::source_with_offset_context(&cluster, grouped(), topic()).unwrap();
    let (record, offset) = soon(source.next()).await.unwrap().unwrap();
    assert_eq!(record.offset(), 0);
    soon(source.control().shutdown(LIMIT)).await;
    let error = soon(offset.commit()).await.unwrap_err();
    assert!(matches!(&error, Error::Revoked(partition) if **partition == tp(0)), "{error}");
    assert_eq!(committed(&bench, 1).await, [-1]);
    // Without a group there is nothing to commit to.
    let error = stream::committable_source(&cluster, earliest(), topic()).unwrap_err();
    assert!(matches!(error, Error::Config { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_once_is_committed_before_it_is_seen() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b", "c", "d"], Compression::None).await;
    let cluster = cluster(&bench).await;
    let mut source = stream::at_most_once_source(&cluster, grouped(), topic()).unwrap();
    for offset in 0..3 {
        let record = soon(source.next()).await.unwrap().unwrap();
        assert_eq!(record.offset(), offset);
        assert_eq!(committed(&bench, 1).await, [offset + 1]);
    }
    let control = source.control();
    drop(source);
    soon(control.is_shutdown()).await;
    let mut source = stream::at_most_once_source(&cluster, grouped(), topic()).unwrap();
    assert_eq!(soon(source.next()).await.unwrap().unwrap().offset(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_can_be_assigned_by_hand() {
    let bench = Bench::with(2).await;
    for partition in 0..2 {
        bench.produce(partition, &["a", "b", "c"], Compression::None).await;
    }
    let cluster = cluster(&bench).await;
    let by_hand = Subscription::assignment_with_offset([(tp(0), 2), (tp(1), 1)]);
    let mut source = stream::plain_source(&cluster, earliest(), by_hand).unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let record = soon(source.next()).await.unwrap().unwrap();
        seen.push((record.partition(), record.offset()));
    }
    seen.sort_unstable();
    assert_eq!(seen, [(0, 2), (1, 1), (1, 2)]);
    let lags = source.control().metrics().lags;
    assert_eq!(lags, [(tp(0), Some(0)), (tp(1), Some(0))]);
}

type Parts<S> = BTreeMap<i32, PartitionSource<S>>;

/// The streams of the next partitions.
async fn streams<S: stream::Shape>(source: &mut PartitionedSource<S>, count: usize) -> Parts<S> {
    let mut streams = BTreeMap::new();
    for _ in 0..count {
        let (partition, stream) = soon(source.next()).await.unwrap().unwrap();
        assert_eq!(&partition, stream.topic_partition());
        streams.insert(partition.partition, stream);
    }
    streams
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_not_read_costs_its_share_and_delays_nobody() {
    let bench = Bench::with(4).await;
    let value = "v".repeat(10_000);
    for partition in 0..4 {
        for _ in 0..50 {
            bench.produce(partition, &[value.as_str(); 10], Compression::None).await;
        }
    }
    // 5 MB of each partition; a twelfth of the budget for each.
    let config = grouped().with_fetch_budget(6 << 20);
    let cluster = cluster(&bench).await;
    let mut source = stream::plain_partitioned_source(&cluster, config, topic()).unwrap();
    let control = source.control();
    let mut streams = streams(&mut source, 4).await;
    let mut last = None;
    // Nobody asks: soon nothing more is fetched.
    soon(async {
        loop {
            tokio::time::sleep(Duration::from_millis(700)).await;
            let fetched = control.metrics().fetched;
            if fetched.bytes > 0 && last == Some(fetched) {
                return;
            }
            last = Some(fetched);
        }
    })
    .await;
    let full = control.metrics();
    assert!(full.fetched.batch_bytes <= 4 << 20, "{full:?}");
    // The application holds a record of each of the three slow ones, and reads one to its end.
    let mut held = Vec::new();
    for partition in 1..4 {
        held.push(soon(streams.get_mut(&partition).unwrap().next()).await.unwrap().unwrap());
    }
    let quick = streams.get_mut(&0).unwrap();
    for offset in 0..500 {
        assert_eq!(soon(quick.next()).await.unwrap().unwrap().offset(), offset);
    }
    let after = control.metrics();
    let of_quick = after.fetched.batch_bytes - full.fetched.batch_bytes;
    assert!(of_quick < 6_000_000, "the slow ones were fetched as well: {of_quick}");
    assert_eq!((after.fetched.discarded_bytes, after.fetched.sessions), (0, 1));
    assert!(after.budget_used.1 <= (6 << 20) + 200_000, "{after:?}");
    // The slow ones go on where they were: nothing was thrown away.
    for partition in 1..4 {
        let slow = streams.get_mut(&partition).unwrap();
        for offset in 1..500 {
            assert_eq!(soon(slow.next()).await.unwrap().unwrap().offset(), offset);
        }
    }
    let end = control.metrics().fetched;
    assert_eq!(end.records, 2_000);
    assert_eq!(end.discarded_bytes, 0);
    // Each byte came once: ten values and some framing in each of two hundred batches.
    assert!(end.batch_bytes < 4 * 50 * 101_000, "{end:?}");
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_nobody_polls_fetches_its_share_and_then_nothing() {
    let bench = Bench::with(2).await;
    let value = "v".repeat(10_000);
    for partition in 0..2 {
        for _ in 0..30 {
            bench.produce(partition, &[value.as_str(); 10], Compression::None).await;
        }
    }
    let config = grouped().with_max_partition_fetch_bytes(150_000);
    let cluster = cluster(&bench).await;
    let mut source = stream::committable_source(&cluster, config, topic()).unwrap();
    let control = source.control();
    soon(source.next()).await.unwrap().unwrap();
    let settled = || async {
        let mut last = control.metrics().fetched;
        loop {
            tokio::time::sleep(Duration::from_millis(600)).await;
            let now = control.metrics().fetched;
            if now == last {
                return now;
            }
            last = now;
        }
    };
    let full = soon(settled()).await;
    // Twice what is asked for at a time, and what was taken, of each.
    assert!(full.batch_bytes <= 2 * 3 * 150_000 + 400_000, "{full:?}");
    // A little less than what is asked for at a time, and nothing is asked for yet.
    for _ in 0..3 {
        soon(source.next()).await.unwrap().unwrap();
    }
    assert_eq!(soon(settled()).await.requests, full.requests);
    // What is there comes without another request, and with more of them all of it once.
    for _ in 4..600 {
        soon(source.next()).await.unwrap().unwrap();
    }
    let end = control.metrics().fetched;
    assert_eq!((end.records, end.discarded_bytes), (600, 0));
    assert!(end.batch_bytes < 2 * 30 * 101_000, "{end:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_dropped_comes_again_where_it_stopped() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b", "c", "d", "e"], Compression::Lz4).await;
    let cluster = cluster(&bench).await;
    let config = grouped().with_auto_commit(false);
    let mut source = stream::plain_partitioned_source(&cluster, config, topic()).unwrap();
    for offset in 0..5 {
        let mut stream = streams(&mut source, 1).await.remove(&0).unwrap();
        assert_eq!(soon(stream.next()).await.unwrap().unwrap().offset(), offset);
        // Also when it waits for more.
        if offset == 4 {
            let waited = tokio::time::timeout(Duration::from_millis(20), stream.next()).await;
            assert!(waited.is_err());
        }
    }
    let mut stream = streams(&mut source, 1).await.remove(&0).unwrap().batches(2);
    bench.produce(0, &["f", "g", "h"], Compression::Lz4).await;
    assert_eq!(soon(stream.next()).await.unwrap().unwrap().len(), 2);
    let mut stream = stream.into_inner();
    assert_eq!(soon(stream.next()).await.unwrap().unwrap().offset(), 7);
    assert_eq!(source.control().metrics().fetched.discarded_bytes, 0);
    source.control().stop();
    assert!(soon(stream.next()).await.is_none());
    assert!(soon(source.next()).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_may_be_kept_elsewhere() {
    let bench = Bench::with(2).await;
    for partition in 0..2 {
        bench.produce(partition, &["a", "b", "c"], Compression::None).await;
    }
    let cluster = cluster(&bench).await;
    let told: Arc<Mutex<Vec<TopicPartition>>> = Arc::default();
    let revoked = Arc::clone(&told);
    let mut source = stream::plain_partitioned_manual_offset_source(
        &cluster,
        grouped(),
        topic(),
        |partitions| async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let at = |p: TopicPartition| (p.clone(), Position::at(1 + i64::from(p.partition)));
            Ok::<_, std::io::Error>(partitions.into_iter().map(at).collect())
        },
        move |partitions| {
            let revoked = Arc::clone(&revoked);
            async move { revoked.lock().unwrap().extend(partitions) }
        },
    )
    .unwrap();
    let mut streams = streams(&mut source, 2).await;
    for (partition, stream) in &mut streams {
        let first = soon(stream.next()).await.unwrap().unwrap();
        assert_eq!(first.offset(), 1 + i64::from(*partition));
    }
    soon(source.control().shutdown(LIMIT)).await;
    let mut told = told.lock().unwrap().clone();
    told.sort_unstable();
    assert_eq!(told, [tp(0), tp(1)]);
    assert_eq!(committed(&bench, 2).await, [-1, -1]);
    // Who cannot say where to begin ends the stream.
    let mut source = stream::committable_partitioned_manual_offset_source(
        &cluster,
        grouped(),
        topic(),
        |_| async { Err(std::io::Error::other("the database is away")) },
        |_| async {},
    )
    .unwrap();
    let error = soon(source.next()).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("the database is away"), "{error}");
    assert!(soon(source.next()).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_waits_for_what_is_in_hands_before_it_goes() {
    let bench = Bench::with(2).await;
    for partition in 0..2 {
        bench.produce(partition, &["a", "b", "c"], Compression::None).await;
    }
    let cluster = cluster(&bench).await;
    let mut first = stream::committable_partitioned_source(&cluster, grouped(), topic()).unwrap();
    let mut before = streams(&mut first, 2).await;
    let mut messages = BTreeMap::new();
    for (partition, stream) in &mut before {
        messages.insert(*partition, soon(stream.next()).await.unwrap().unwrap());
    }
    let mut second = stream::committable_partitioned_source(&cluster, grouped(), topic()).unwrap();
    // One of them, or with an eager protocol both, are to go, and end at once.
    let ended = soon(async {
        let mut streams = before.values_mut();
        let (zero, one) = (streams.next().unwrap(), streams.next().unwrap());
        loop {
            tokio::select! {
                message = zero.next() => match message { None => break 0, Some(m) => drop(m) },
                message = one.next() => match message { None => break 1, Some(m) => drop(m) },
            }
        }
    })
    .await;
    // Whatever comes, nothing more of it is handed out here.
    bench.produce(ended, &["d"], Compression::None).await;
    let old = before.get_mut(&ended).unwrap();
    for _ in 0..3 {
        assert!(soon(old.next()).await.is_none());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // But the other member does not get it as long as a record of it is being worked on.
    let waited = tokio::time::timeout(Duration::from_millis(300), second.next()).await;
    assert!(waited.is_err());
    soon(messages.remove(&ended).unwrap().offset.commit()).await.unwrap();
    drop(messages);
    let (partition, mut stream) = soon(second.next()).await.unwrap().unwrap();
    let message = soon(stream.next()).await.unwrap().unwrap();
    if partition.partition == ended {
        assert_eq!(message.record.offset(), 1);
    }
    drop(message);
    soon(second.control().shutdown(LIMIT)).await;
    soon(first.control().shutdown(LIMIT)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_are_as_large_as_they_may_be_and_no_larger() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 25], Compression::Lz4).await;
    let cluster = cluster(&bench).await;
    let mut next = 0;
    let mut source = stream::plain_source(&cluster, grouped(), topic()).unwrap();
    assert_eq!(soon(source.next()).await.unwrap().unwrap().offset(), 0);
    let mut batches = source.batches(10);
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < 24 {
        let batch = soon(batches.next()).await.unwrap().unwrap();
        for record in &batch {
            next += 1;
            assert_eq!(record.offset(), next);
        }
        sizes.push(batch.len());
    }
    assert_eq!(sizes, [10, 10, 4]);
    soon(batches.control().shutdown(LIMIT)).await;
    // The same of one partition, which begins where the other one committed.
    bench.produce(0, &["v"; 25], Compression::None).await;
    let mut source = stream::committable_partitioned_source(&cluster, grouped(), topic()).unwrap();
    let (_, mut stream) = soon(source.next()).await.unwrap().unwrap();
    let first = soon(stream.next()).await.unwrap().unwrap();
    let from = first.record.offset();
    let mut batches = stream.batches(10);
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < (49 - from) as usize {
        let batch = soon(batches.next()).await.unwrap().unwrap();
        assert!(batch.records.len() <= 10);
        sizes.push(batch.records.len());
    }
    assert_eq!(sizes.iter().sum::<usize>(), (49 - from) as usize);
}

/// Reads so many records in all, commits each, and gives where they stood.
async fn committed_ones(
    next: &mut (impl futures_util::Stream<Item = (i32, i64, CommittableOffset)> + Unpin),
    count: usize,
) -> Vec<(i32, i64)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let (partition, at, offset) = soon(next.next()).await.unwrap();
        soon(offset.commit()).await.unwrap();
        seen.push((partition, at));
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebalance_that_leaves_everything_has_nothing_fetched_again() {
    let bench = Bench::with(3).await;
    bench.create("u", 1).await;
    for partition in 0..3 {
        for _ in 0..8 {
            bench.produce(partition, &["v"; 5], Compression::None).await;
        }
    }
    let cluster = cluster(&bench).await;
    let mut once = Consumer::new(cluster.clone(), earliest()).unwrap();
    once.assign((0..3).map(|partition| (tp(partition), None))).unwrap();
    let mut count = 0;
    while count < 120 {
        count += soon(once.poll(120)).await.unwrap().len();
    }
    let stored = once.counts().batch_bytes;
    let all: Vec<_> = (0..3).flat_map(|partition| (0..40).map(move |at| (partition, at))).collect();
    for in_batches in [false, true] {
        // As by default: range or cooperative-sticky, which makes an eager group.
        let group = format!("g-{in_batches}");
        let config = grouped().with_group_id(&*group);
        let source = stream::committable_source(&cluster, config, topic()).unwrap();
        let control = source.control();
        let at = |record: &thalweg::SharedRecord| (record.partition(), record.offset());
        let mut records = match in_batches {
            false => source
                .map(|next| {
                    let message = next.unwrap();
                    let (partition, at) = at(&message.record);
                    (partition, at, message.offset)
                })
                .left_stream(),
            true => source
                .batches(1)
                .map(|next| {
                    let batch = next.unwrap();
                    let (partition, at) = at(&batch.records.into_iter().next().unwrap());
                    (partition, at, batch.offset)
                })
                .right_stream(),
        };
        let mut seen = committed_ones(&mut records, 17).await;
        // Another member, which reads something else, has the group rebalance.
        let mut other = bench.consumer(grouped().with_group_id(&*group)).await;
        other.subscribe(["u"]).unwrap();
        soon(async {
            while other.assignment().len() != 1 || control.metrics().lags.len() != 3 {
                other.poll_timeout(1, Duration::from_millis(5)).await.unwrap();
            }
        })
        .await;
        seen.extend(committed_ones(&mut records, 120 - 17).await);
        seen.sort_unstable();
        assert_eq!(seen, all, "each once");
        let fetched = control.metrics().fetched;
        assert_eq!((fetched.batch_bytes, fetched.discarded_bytes), (stored, 0), "{in_batches}");
        soon(other.close(Duration::from_secs(10))).await.unwrap();
    }
}
