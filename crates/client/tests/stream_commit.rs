//! Committing and producing in streams, against Thalweg's broker in process.

use crate::support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt, TryStreamExt};
use support::{Bench, cluster, committed, earliest, grouped, soon, topic, tp};
use thalweg::stream::{
    self, CommitDelivery, CommittableOffset, CommittableOffsetBatch, Committer, CommitterSettings,
    Envelope, OwnedProducerRecord, ProducerSettings, Subscription,
};
use thalweg::{Error, Producer, ProducerConfig};
use thalweg_records::Compression;

const LIMIT: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(3_600);

fn settings(max_batch: usize, max_interval: Duration) -> CommitterSettings {
    CommitterSettings::default().with_max_batch(max_batch).with_max_interval(max_interval)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_committer_commits_full_batches_and_old_ones() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 25], Compression::None).await;
    let cluster = cluster(&bench).await;
    let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    let offsets = source.map_ok(|message| message.offset);
    let mut flow = Committer::new(settings(10, Duration::from_millis(200))).flow(offsets);
    let mut batches = Vec::new();
    for _ in 0..3 {
        let batch = soon(flow.next()).await.unwrap().unwrap();
        batches.push(batch.offsets);
        let done: usize = batches.iter().sum();
        assert!(committed(&bench, 1).await[0] >= done as i64);
    }
    // The last one is not full: its time was over.
    assert_eq!(batches, [10, 10, 5]);
    control.stop();
    assert!(soon(flow.next()).await.is_none());
    drop(flow);
    soon(control.is_shutdown()).await;
    assert_eq!(committed(&bench, 1).await, [25]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sink_commits_what_is_old_again_and_again() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 3], Compression::None).await;
    let cluster = cluster(&bench).await;
    let mut source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let interval = Duration::from_millis(50);
    let mut sink = Committer::new(settings(1_000, interval)).sink();
    for offset in 1..=3 {
        let message = soon(source.next()).await.unwrap().unwrap();
        soon(sink.send(message.offset)).await.unwrap();
        // Nobody looks at the sink meanwhile.
        soon(async {
            while committed(&bench, 1).await != [offset] {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        tokio::time::sleep(2 * interval).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_committer_took_is_committed_when_it_ends() {
    for delivery in [CommitDelivery::WaitForAck, CommitDelivery::SendAndForget] {
        let bench = Bench::with(2).await;
        for partition in 0..2 {
            bench.produce(partition, &["v"; 10], Compression::None).await;
        }
        let cluster = cluster(&bench).await;
        let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
        let control = source.control();
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let offsets = source.map_ok(move |message| {
            counted.fetch_add(1, Ordering::SeqCst);
            message.offset
        });
        let committer = Committer::new(settings(1_000, LONG).with_delivery(delivery));
        let running = tokio::spawn(async move { committer.run(offsets).await });
        soon(async {
            while count.load(Ordering::SeqCst) < 20 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        assert_eq!(committed(&bench, 2).await, [-1, -1]);
        let draining = control.draining(running);
        let ran: Result<u64, Error> =
            soon(draining.drain_and_shutdown(LIMIT)).await.unwrap().unwrap();
        assert_eq!(ran.unwrap(), 20);
        assert_eq!(committed(&bench, 2).await, [10, 10], "{delivery:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dropped_committer_took_is_committed_all_the_same() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 5], Compression::None).await;
    let cluster = cluster(&bench).await;
    let mut source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let mut sink = Committer::new(settings(1_000, Duration::from_millis(100))).sink();
    for _ in 0..3 {
        let message = soon(source.next()).await.unwrap().unwrap();
        soon(sink.send(message.offset)).await.unwrap();
    }
    assert_eq!(committed(&bench, 1).await, [-1]);
    SinkExt::<CommittableOffset>::close(&mut Committer::default().sink()).await.unwrap();
    drop(sink);
    soon(async {
        while committed(&bench, 1).await != [3] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    // Closing does not wait for the time to be over.
    let mut sink = Committer::new(settings(1_000, LONG)).sink();
    let mut batch = CommittableOffsetBatch::empty();
    for _ in 0..2 {
        batch.update(soon(source.next()).await.unwrap().unwrap().offset);
    }
    assert_eq!((batch.len(), batch.offsets().count()), (2, 1));
    soon(sink.send(batch)).await.unwrap();
    soon(SinkExt::<CommittableOffsetBatch>::close(&mut sink)).await.unwrap();
    assert_eq!(committed(&bench, 1).await, [5]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_nobody_waits_for_comes_all_the_same() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 3], Compression::None).await;
    let cluster = cluster(&bench).await;
    let mut source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    for offset in 1..=3 {
        let message = soon(source.next()).await.unwrap().unwrap();
        // Dropped before it is sent, or before it is answered.
        let mut commit = Box::pin(message.offset.commit());
        drop(futures_util::poll!(&mut commit));
        drop(commit);
        soon(async {
            while committed(&bench, 1).await != [offset] {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_left_alone_holds_up_nobody() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 4], Compression::None).await;
    let cluster = cluster(&bench).await;
    let mut source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let mut kept = Vec::new();
    for _ in 0..2 {
        let message = soon(source.next()).await.unwrap().unwrap();
        let mut commit = Box::pin(message.offset.commit());
        match futures_util::poll!(&mut commit) {
            // Neither dropped nor looked at again.
            Poll::Pending => kept.push(commit),
            // The other thread was as fast as that.
            Poll::Ready(done) => done.unwrap(),
        }
    }
    let message = soon(source.next()).await.unwrap().unwrap();
    soon(message.offset.commit()).await.unwrap();
    assert_eq!(committed(&bench, 1).await, [3]);
    // The same with a source that is left in the middle of one.
    drop(source);
    let mut source = stream::at_most_once_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    let began = std::time::Instant::now();
    soon(async {
        while control.metrics().fetched.records == 0 {
            drop(futures_util::poll!(source.next()));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    control.shutdown(LIMIT).await;
    assert!(began.elapsed() < LIMIT / 2, "{:?}", began.elapsed());
    for commit in kept {
        soon(commit).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_the_stream_comes_behind_what_was_before_it() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b", "poison", "d"], Compression::None).await;
    let cluster = cluster(&bench).await;
    let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    let offsets = source.map_err(|error| error.to_string()).and_then(|message| async move {
        match message.record.value() {
            Some(b"poison") => Err("cannot be read".to_owned()),
            _ => Ok(message.offset),
        }
    });
    #[derive(Debug, PartialEq)]
    struct Wrong(String);
    impl From<Error> for Wrong {
        fn from(error: Error) -> Wrong {
            Wrong(error.to_string())
        }
    }
    let ran = soon(Committer::new(settings(1_000, LONG)).run(offsets.map_err(Wrong))).await;
    assert_eq!(ran, Err(Wrong("cannot be read".to_owned())));
    soon(control.is_shutdown()).await;
    assert_eq!(committed(&bench, 1).await, [2]);
}

async fn producer(bench: &Bench, buffer_memory: usize) -> Producer {
    let config = ProducerConfig::default()
        .with_buffer_memory(buffer_memory)
        .with_linger(Duration::from_millis(1))
        .with_batch_size(1_000);
    Producer::new(cluster(bench).await, config).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_keeps_the_order_and_passes_on_what_came_along() {
    let bench = Bench::with(1).await;
    bench.create("out", 3).await;
    // Room for a few records only.
    let producer = producer(&bench, 4_000).await;
    let envelopes = futures_util::stream::iter((0..300u32).map(|number| {
        let record = |at: u32| {
            let record = OwnedProducerRecord::new("out").with_partition((at % 3) as i32);
            let record = record.with_key("k").with_value(number.to_string());
            record.with_headers([("n".into(), None)])
        };
        Ok::<_, Error>(match number % 3 {
            0 => Envelope::single(record(0), number),
            1 => Envelope::multi((0..5).map(record), number),
            _ => Envelope::pass_through(number),
        })
    }));
    let settings = ProducerSettings::default().with_parallelism(7);
    let mut flow = stream::flexi_flow(&producer, settings, envelopes);
    let mut next = 0;
    while let Some(results) = soon(flow.next()).await {
        let results = results.unwrap();
        assert_eq!(results.pass_through, next);
        let partitions: Vec<i32> = results.metadata.iter().map(|at| at.partition).collect();
        match next % 3 {
            0 => assert_eq!(partitions, [0]),
            1 => assert_eq!(partitions, [0, 1, 2, 0, 1]),
            _ => assert!(partitions.is_empty()),
        }
        next += 1;
    }
    assert_eq!((next, producer.counts().records), (300, 600));
    // And in the log: the order in which they went in.
    let by_hand = Subscription::assignment([tp_of("out", 0)]);
    let log = stream::plain_source(&cluster(&bench).await, earliest(), by_hand).unwrap();
    let numbers: Vec<u32> = soon(
        log.take(300)
            .map(|record| {
                String::from_utf8_lossy(record.unwrap().value().unwrap()).parse::<u32>().unwrap()
            })
            .collect(),
    )
    .await;
    assert!(numbers.is_sorted());
}

fn tp_of(topic: &str, partition: i32) -> thalweg::TopicPartition {
    thalweg::TopicPartition::new(topic, partition)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_that_is_left_alone_holds_up_no_other() {
    let bench = Bench::with(1).await;
    let config = ProducerConfig::default()
        .with_buffer_memory(3_000)
        .with_batch_size(3_000)
        .with_linger(Duration::from_millis(100));
    let producer = Producer::new(cluster(&bench).await, config).unwrap();
    let records = |count: u32| {
        let record = |number| (OwnedProducerRecord::new("t").with_value("v".repeat(1_000)), number);
        futures_util::stream::iter((0..count).map(move |number| Ok::<_, Error>(record(number))))
    };
    let settings = ProducerSettings::default();
    // The topic is known from here on: what is waited for is room.
    let first: Vec<_> =
        soon(stream::producer_flow(&producer, settings, records(1)).try_collect()).await.unwrap();
    assert_eq!(first.len(), 1);
    let mut left: Vec<_> = (0..3)
        .map(|_| (stream::producer_flow(&producer, settings, records(5)), Vec::new()))
        .collect();
    for (flow, sent) in &mut left {
        // All but the first find no room, and are not polled again. On a busy machine one may be done
        // with a record already.
        if let Poll::Ready(done) = futures_util::poll!(flow.next()) {
            sent.push(done.unwrap().unwrap().pass_through);
        }
    }
    let quick = stream::producer_flow(&producer, settings, records(20));
    let sent: Vec<_> = soon(quick.try_collect::<Vec<_>>()).await.unwrap();
    assert_eq!(sent.len(), 20);
    for (flow, mut sent) in left {
        let rest = flow.map_ok(|done| done.pass_through).try_collect::<Vec<u32>>();
        sent.extend(soon(rest).await.unwrap());
        assert_eq!(sent, [0, 1, 2, 3, 4]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_ends_at_the_first_record_that_fails() {
    let bench = Bench::with(1).await;
    let producer = producer(&bench, 100_000).await;
    let records = futures_util::stream::iter((0..10).map(|number| {
        // There is no such partition.
        let record = OwnedProducerRecord::new("t").with_value("v");
        let record = record.with_partition(if number == 4 { 9 } else { 0 });
        Ok::<_, Error>((record, number))
    }));
    let flow = stream::producer_flow(&producer, ProducerSettings::default(), records);
    let all: Vec<_> = soon(flow.map(|done| done.map(|done| done.pass_through)).collect()).await;
    assert_eq!(all.len(), 5);
    assert!(all[..4].iter().zip(0..).all(|(done, at)| done.as_ref().unwrap() == &at));
    assert!(matches!(all[4], Err(Error::Produce(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_go_from_topic_to_topic_and_are_committed_then() {
    let bench = Bench::with(2).await;
    bench.create("out", 2).await;
    for partition in 0..2 {
        bench.produce(partition, &["a", "drop", "b"], Compression::Lz4).await;
    }
    let producer = producer(&bench, 100_000).await;
    let cluster = cluster(&bench).await;
    let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    let envelopes = source.map_ok(|message| match message.record.value_bytes() {
        Some(value) if value != "drop" => {
            Envelope::single(OwnedProducerRecord::new("out").with_value(value), message.offset)
        }
        _ => Envelope::pass_through(message.offset),
    });
    let sink = stream::committable_sink(&producer, ProducerSettings::default(), settings(4, LONG));
    let running = tokio::spawn(envelopes.forward(sink));
    soon(async {
        while producer.counts().records < 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    soon(control.drain_and_shutdown(running, LIMIT)).await.unwrap().unwrap().unwrap();
    assert_eq!(committed(&bench, 2).await, [3, 3]);
    let by_hand = Subscription::assignment((0..2).map(|at| tp_of("out", at)));
    let log = stream::plain_source(&cluster, earliest(), by_hand).unwrap();
    let mut values: Vec<String> = soon(
        log.take(4)
            .map(|record| String::from_utf8_lossy(record.unwrap().value().unwrap()).into_owned())
            .collect(),
    )
    .await;
    values.sort_unstable();
    assert_eq!(values, ["a", "a", "b", "b"]);
    // Nothing is committed behind a record that could not be produced.
    bench.produce(0, &["c", "bad", "d"], Compression::None).await;
    let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    let envelopes = source.map_ok(|message| {
        let partition = (message.record.value() == Some(b"bad")).then_some(77);
        let record =
            OwnedProducerRecord { partition, ..OwnedProducerRecord::new("out").with_value("x") };
        Envelope::single(record, message.offset)
    });
    let sink = stream::committable_sink(&producer, ProducerSettings::default(), settings(1, LONG));
    let error = soon(envelopes.forward(sink)).await.unwrap_err();
    assert!(matches!(error, Error::Produce(_)));
    soon(control.is_shutdown()).await;
    assert!(committed(&bench, 1).await[0] <= 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sink_takes_records_and_tells_when_they_are_there() {
    let bench = Bench::with(1).await;
    let producer = producer(&bench, 3_000).await;
    let mut sink = stream::plain_sink(&producer, ProducerSettings::default().with_parallelism(3));
    let records = (0..100).map(|_| Ok(OwnedProducerRecord::new("t").with_value("value")));
    soon(sink.send_all(&mut futures_util::stream::iter(records))).await.unwrap();
    assert_eq!(producer.counts().records, 100);
    let client = stream::MetadataClient::create(cluster(&bench).await, earliest()).unwrap();
    assert_eq!(soon(client.end_offsets(&[tp(0)])).await.unwrap(), [(tp(0), 100)]);
    assert_eq!(soon(client.beginning_offsets(&[tp(0)])).await.unwrap(), [(tp(0), 0)]);
    assert_eq!(soon(client.partitions_for("t")).await.unwrap(), [0]);
    assert_eq!(soon(client.list_topics()).await.unwrap()["t"], [0]);
    assert!(matches!(soon(client.partitions_for("none")).await, Err(Error::Topic { .. })));
    let no_such = OwnedProducerRecord::new("t").with_partition(5).with_value("");
    assert!(soon(sink.send(no_such)).await.is_err());
    let again = soon(sink.send(OwnedProducerRecord::new("t").with_value("value"))).await;
    assert!(matches!(again, Err(Error::Produce(_))), "after an error it takes nothing");
}

/// What members saw, what they had acknowledged when they did, and what became of it.
#[derive(Default)]
struct Ledger {
    processed: Mutex<BTreeMap<(i32, i64), usize>>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_come_and_go_and_every_record_is_processed_and_committed() {
    let bench = Bench::with(4).await;
    let ledger = Arc::new(Ledger::default());
    let mut members = Vec::new();
    let mut total = 0;
    for round in 0..4u64 {
        let config = grouped().with_session_timeout(Duration::from_secs(10));
        let cluster = cluster(&bench).await;
        let mut source = stream::committable_partitioned_source(&cluster, config, topic()).unwrap();
        let control = source.control();
        let seen = Arc::clone(&ledger);
        let running = tokio::spawn(async move {
            let committer = Committer::new(settings(7, Duration::from_millis(50)));
            let mut tasks = Vec::new();
            while let Some(next) = source.next().await {
                let (_, stream) = next.unwrap();
                let seen = Arc::clone(&seen);
                tasks.push(tokio::spawn(async move {
                    let offsets = stream.map_ok(move |message| {
                        let at = (message.record.partition(), message.record.offset());
                        *seen.processed.lock().unwrap().entry(at).or_default() += 1;
                        message.offset
                    });
                    committer.run(offsets).await
                }));
            }
            for task in tasks {
                task.await.unwrap().unwrap();
            }
        });
        members.push((control, running));
        for step in 0..20u64 {
            for partition in 0..4 {
                bench.produce(partition, &["x", "y"], Compression::None).await;
                total += 2;
            }
            tokio::time::sleep(Duration::from_millis(2 + (round + step) % 5)).await;
        }
        if round == 2 {
            // One of them leaves while records flow.
            let (control, running) = members.remove(0);
            soon(control.drain_and_shutdown(running, LIMIT)).await.unwrap().unwrap();
        }
    }
    soon(async {
        while ledger.processed.lock().unwrap().len() < total {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    for (control, running) in members {
        soon(control.drain_and_shutdown(running, LIMIT)).await.unwrap().unwrap();
    }
    assert_eq!(committed(&bench, 4).await, [160; 4]);
    let processed = ledger.processed.lock().unwrap();
    assert_eq!(processed.len(), total);
    // Every revocation was in time, so that nobody had to read anything again.
    let twice: Vec<_> = processed.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
