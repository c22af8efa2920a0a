//! Streams from topics to topics in transactions, against Thalweg's broker in process.

use crate::support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt, TryStreamExt};
use support::{Bench, cluster, committed, earliest, grouped, soon, topic, tp};
use thalweg::admin::{Admin, AdminConfig, MemberToRemove};
use thalweg::stream::{
    self, Envelope, OwnedProducerRecord, RestartSettings, TransactionSettings,
    TransactionalMessage, TransactionalOffset, TransactionalOffsetBatch,
};
use thalweg::{
    AbortReason, ApiKey, Cluster, Consumer, Error, GroupProtocol, IsolationLevel, OffsetReset,
    Producer, ProducerConfig, TopicPartition, TransactionError,
};
use thalweg_records::Compression;

const LIMIT: Duration = Duration::from_secs(15);
/// Longer than any test waits, shorter than a transaction may take.
const LONG: Duration = Duration::from_secs(50);

fn settings(interval: Duration) -> TransactionSettings {
    TransactionSettings::default().with_commit_interval(interval)
}

fn producer(cluster: &Cluster, id: &str) -> Producer {
    let config = ProducerConfig::default().with_transactional_id(id).with_linger(Duration::ZERO);
    Producer::new(cluster.clone(), config).unwrap()
}

/// The same record for the same partition of another topic.
fn copy(message: TransactionalMessage) -> Envelope<TransactionalOffset> {
    let record = OwnedProducerRecord {
        value: message.record.value_bytes(),
        ..OwnedProducerRecord::new("copy").with_partition(message.record.partition())
    };
    Envelope::single(record, message.offset)
}

/// What readers of what is committed see of a topic, up to `count` records; and no more.
async fn copied(bench: &Bench, partitions: i32, count: usize) -> BTreeMap<i32, Vec<String>> {
    let config = earliest().with_isolation_level(IsolationLevel::ReadCommitted);
    let mut consumer = Consumer::new(cluster(bench).await, config).unwrap();
    let all = (0..partitions).map(|at| (TopicPartition::new("copy", at), None));
    consumer.assign(all).unwrap();
    let mut values: BTreeMap<i32, Vec<String>> = BTreeMap::new();
    let mut seen = 0;
    let mut is_over = false;
    while !is_over {
        let limit = if seen < count { LIMIT } else { Duration::from_millis(300) };
        let records = consumer.poll_timeout(1_000, limit).await.unwrap();
        is_over = records.is_empty();
        for record in &records {
            let value = String::from_utf8(record.value().unwrap().to_vec()).unwrap();
            values.entry(record.partition()).or_default().push(value);
            seen += 1;
        }
    }
    values
}

/// Says where they differ, not what all of it is.
fn same(read: &BTreeMap<i32, Vec<String>>, expected: &BTreeMap<i32, Vec<String>>) {
    for (partition, expected) in expected {
        let read = read.get(partition).map_or(&[][..], Vec::as_slice);
        let at = read.iter().zip(expected).position(|(read, expected)| read != expected);
        assert_eq!((at, read.len()), (None, expected.len()), "{partition}: differs at {at:?}");
    }
}

async fn bench_with(partitions: i32, records: usize) -> (Bench, BTreeMap<i32, Vec<String>>) {
    let bench = Bench::with(partitions).await;
    bench.create("copy", partitions).await;
    let mut expected = BTreeMap::new();
    for partition in 0..partitions {
        let values: Vec<String> = (0..records).map(|at| format!("{partition}-{at}")).collect();
        for part in values.chunks(50) {
            let part: Vec<&str> = part.iter().map(String::as_str).collect();
            bench.produce(partition, &part, Compression::None).await;
        }
        expected.insert(partition, values);
    }
    (bench, expected)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_whole_once_whoever_dies_or_joins() {
    for protocol in [GroupProtocol::default(), GroupProtocol::Consumer { server_assignor: None }] {
        let (bench, expected) = bench_with(3, 600).await;
        let failures = Arc::new(AtomicUsize::new(0));
        let config = match protocol {
            GroupProtocol::Classic { .. } => grouped(),
            _ => earliest().with_group_id("g").with_group_protocol(protocol),
        };
        let mut running = Vec::new();
        for number in 0..5usize {
            let (cluster, config) = (cluster(&bench).await, config.clone());
            let failures = Arc::clone(&failures);
            // All but the last die, at some record of theirs: without a word, or by an error.
            let dies_at = (number < 4).then_some(40 + 35 * number);
            running.push(tokio::spawn(async move {
                let producer = producer(&cluster, &format!("copier-{number}"));
                let source = stream::transactional_source(&cluster, config, topic()).unwrap();
                let settings = settings(Duration::from_millis(20)).with_max_records(30);
                let mut sink = stream::transactional_sink(&producer, settings).unwrap();
                let mut count = 0;
                let mut envelopes = source.map_ok(copy).map(|item| {
                    count += 1;
                    match dies_at {
                        Some(at) if count > at => Err(Error::NotSubscribed),
                        _ => item,
                    }
                });
                let copied = sink.send_all(&mut envelopes).await;
                failures.fetch_add(usize::from(copied.is_err()), Ordering::Relaxed);
            }));
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        same(&copied(&bench, 3, 1_800).await, &expected);
        assert_eq!(committed(&bench, 3).await, [600; 3]);
        assert!(failures.load(Ordering::Relaxed) > 0, "nobody died");
        for copier in running {
            copier.abort();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_are_committed() {
    let (bench, expected) = bench_with(1, 100).await;
    let cluster = cluster(&bench).await;
    let producer = producer(&cluster, "id");
    let source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    // Each tenth record becomes one of three, and one none.
    let envelopes = source.map_ok(|message| {
        let offset = message.record.offset();
        let times = match offset % 10 {
            0 => 3,
            1 => 0,
            _ => 1,
        };
        let value = message.record.value_bytes();
        let record = OwnedProducerRecord { value, ..OwnedProducerRecord::new("copy") };
        Envelope::multi(vec![record; times], (message.offset, offset).0)
    });
    let settings = settings(LONG).with_max_records(25);
    let mut flow = Box::pin(
        stream::transactional_flow::<_, _, Error>(&producer, settings, envelopes).unwrap(),
    );
    let mut next = 0;
    while next < 50 {
        let results = soon(flow.next()).await.unwrap().unwrap();
        assert_eq!(results.pass_through.position().offset, next + 1);
        let times = [3, 0, 1][(next % 10).min(2) as usize];
        assert_eq!(results.metadata.len(), times);
        assert!(committed(&bench, 1).await[0] > next, "{next} came too soon");
        next += 1;
    }
    // What is left at the end is committed.
    let rest = tokio::spawn(async move { flow.map_ok(drop).try_collect::<Vec<()>>().await });
    let done = control.drain_and_shutdown(rest, LIMIT).await;
    done.expect("in time").unwrap().unwrap();
    let all = committed(&bench, 1).await[0] as usize;
    let mut wanted = Vec::new();
    for (at, value) in expected[&0][..all].iter().enumerate() {
        let times = [3, 0, 1][(at % 10).min(2)];
        wanted.extend(std::iter::repeat_n(value.clone(), times));
    }
    assert_eq!(copied(&bench, 1, wanted.len()).await[&0], wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_is_committed_when_it_is_time_whoever_polls() {
    let (bench, expected) = bench_with(1, 10).await;
    let cluster = cluster(&bench).await;
    let producer = producer(&cluster, "id");
    let mut source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
    let settings = settings(Duration::from_millis(30));
    let mut sink = stream::transactional_sink(&producer, settings).unwrap();
    for at in 0..3 {
        let message = soon(source.next()).await.unwrap().unwrap();
        soon(sink.feed(copy(message))).await.unwrap();
        // Nobody looks at the sink meanwhile.
        soon(async { while committed(&bench, 1).await != [at + 1] {} }).await;
    }
    // Flushing does not wait for the time.
    let settings = TransactionSettings::default().with_commit_interval(LONG);
    drop(sink);
    let mut sink = stream::transactional_sink(&producer, settings).unwrap();
    let message = soon(source.next()).await.unwrap().unwrap();
    soon(sink.send(copy(message))).await.unwrap();
    assert_eq!(committed(&bench, 1).await, [4]);
    soon(sink.flush()).await.unwrap();
    // What was not committed when the sink goes is not there.
    let message = soon(source.next()).await.unwrap().unwrap();
    soon(sink.feed(copy(message))).await.unwrap();
    drop(sink);
    assert_eq!(copied(&bench, 1, 4).await[&0], expected[&0][..4]);
    assert_eq!(committed(&bench, 1).await, [4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_given_up_does_not_wait_for_the_time() {
    let (bench, mut expected) = bench_with(2, 40).await;
    let cluster = cluster(&bench).await;
    let members: Vec<_> =
        (0..2).map(|number| producer(&cluster, &format!("id-{number}"))).collect();
    let mut running = Vec::new();
    for producer in &members {
        let source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
        let control = source.control();
        let sink = stream::transactional_sink(producer, settings(LONG)).unwrap();
        let copying = tokio::spawn(source.map_ok(copy).forward(sink));
        // The first has everything in its transaction when the second comes.
        let admin = Admin::new(cluster.clone(), AdminConfig::default());
        soon(async {
            loop {
                let wanted = (0..2).map(|at| {
                    (TopicPartition::new("copy", at), thalweg::admin::OffsetSpec::Latest)
                });
                let ends = admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await;
                if ends.into_values().all(|end| end.unwrap().offset >= 40) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        running.push((control, copying));
    }
    // A partition went over, and what was made of it before is committed.
    for (partition, values) in &mut expected {
        bench.produce(*partition, &["more"], Compression::None).await;
        values.push("more".to_owned());
    }
    for (control, copying) in running {
        soon(control.drain_and_shutdown(copying, LIMIT)).await.expect("in time").unwrap().unwrap();
    }
    // Whoever had a partition at the end may have left before its last record came.
    let read = copied(&bench, 2, 80).await;
    for (partition, values) in read {
        assert!(expected[&partition].starts_with(&values) && values.len() >= 40, "{values:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_member_made_that_was_thrown_out_is_aborted() {
    let (bench, expected) = bench_with(1, 10).await;
    let cluster = cluster(&bench).await;
    let admin = Admin::new(cluster.clone(), AdminConfig::default());
    let first = producer(&cluster, "first");
    let config = grouped().with_group_instance_id("one");
    let source = stream::transactional_source(&cluster, config, topic()).unwrap();
    let mut sink = stream::transactional_sink(&first, settings(LONG)).unwrap();
    let mut source = source.map_ok(copy);
    for _ in 0..10 {
        let envelope = soon(source.next()).await.unwrap().unwrap();
        soon(sink.feed(envelope)).await.unwrap();
    }
    let one = MemberToRemove::Instance("one".into());
    let removed = soon(admin.remove_members("g", [one.clone()], "a test")).await;
    removed[&one].as_ref().unwrap();
    let error = soon(sink.flush()).await.unwrap_err();
    let Error::Transaction(TransactionError::Aborted(reason)) = &error else { panic!("{error}") };
    let is_expected = match reason {
        AbortReason::Revoked(of) => *of == tp(0),
        AbortReason::Broker { api, .. } => *api == ApiKey::TXN_OFFSET_COMMIT,
        _ => false,
    };
    assert!(is_expected && error.is_retriable(), "{error}");
    assert!(soon(sink.flush()).await.is_err(), "it goes on after an error");
    drop((sink, source));
    assert_eq!(committed(&bench, 1).await, [-1]);
    // Somebody else does it.
    let second = producer(&cluster, "second");
    let source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
    let sink = stream::transactional_sink(&second, settings(Duration::ZERO)).unwrap();
    let copying = tokio::spawn(source.map_ok(copy).forward(sink));
    same(&copied(&bench, 1, 10).await, &expected);
    copying.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_out_of_order_is_not_passed_over() {
    let (bench, expected) = bench_with(1, 3).await;
    let cluster = cluster(&bench).await;
    let id = producer(&cluster, "id");
    let mut source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
    let mut sink = stream::transactional_sink(&id, settings(LONG)).unwrap();
    let late = soon(source.next()).await.unwrap().unwrap();
    let second = soon(source.next()).await.unwrap().unwrap();
    // Within a transaction the order of what is made does not matter to anybody but its readers.
    let third = soon(source.next()).await.unwrap().unwrap();
    soon(sink.feed(copy(third))).await.unwrap();
    soon(sink.send(copy(second))).await.unwrap();
    assert_eq!(committed(&bench, 1).await, [3]);
    let error = soon(sink.send(copy(late))).await.unwrap_err();
    let Error::Transaction(TransactionError::Aborted(AbortReason::Order { offset, .. })) = error
    else {
        panic!("{error}")
    };
    assert_eq!(offset, 1);
    assert_eq!(copied(&bench, 1, 2).await[&0], [&*expected[&0][2], &*expected[&0][1]]);
}

fn reason(error: Error) -> AbortReason {
    match error {
        Error::Transaction(TransactionError::Aborted(reason)) => reason,
        error => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_goes_on_behind_what_was_not_committed() {
    let (bench, expected) = bench_with(1, 5).await;
    let cluster = cluster(&bench).await;
    let id = producer(&cluster, "id");
    // Whether it is in the transaction, or still waits for one, when its sink goes.
    for waits in [false, true] {
        let mut source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
        let control = source.control();
        let mut sink = stream::transactional_sink(&id, settings(LONG)).unwrap();
        let lost = soon(source.next()).await.unwrap().unwrap();
        if waits {
            futures_util::SinkExt::start_send_unpin(&mut sink, copy(lost)).unwrap();
        } else {
            soon(sink.feed(copy(lost))).await.unwrap();
        }
        drop(sink);
        let next = soon(source.next()).await.unwrap().unwrap();
        let mut sink = stream::transactional_sink(&id, settings(LONG)).unwrap();
        let error = soon(sink.send(copy(next))).await.unwrap_err();
        assert!(error.is_retriable(), "{error}");
        assert_eq!(reason(error), AbortReason::Skipped(tp(0)), "{waits}");
        drop((sink, source));
        soon(control.is_shutdown()).await;
        assert_eq!(committed(&bench, 1).await, [-1]);
    }
    // Begun again, nothing is missing.
    let source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
    let sink = stream::transactional_sink(&id, settings(Duration::ZERO)).unwrap();
    let copying = tokio::spawn(source.map_ok(copy).forward(sink));
    same(&copied(&bench, 1, 5).await, &expected);
    copying.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_what_is_made_of_several_partitions_no_part_is_left_out() {
    let (bench, _) = bench_with(2, 1).await;
    let cluster = cluster(&bench).await;
    let id = producer(&cluster, "id");
    // Two groups, each with a partition; one is gone when the envelope comes.
    let (mut sources, mut offsets) = (Vec::new(), TransactionalOffsetBatch::empty());
    for partition in 0..2 {
        let config = grouped().with_group_id(format!("g-{partition}"));
        let one = stream::Subscription::assignment([tp(partition)]);
        let mut source = stream::transactional_source(&cluster, config, one).unwrap();
        offsets.update(soon(source.next()).await.unwrap().unwrap().offset);
        sources.push(source);
    }
    let gone = sources.remove(0);
    let control = gone.control();
    drop(gone);
    soon(control.shutdown(Duration::ZERO)).await;
    let mut sink = stream::transactional_sink(&id, settings(LONG)).unwrap();
    let record = OwnedProducerRecord::new("copy").with_value("both");
    let error = soon(sink.send(Envelope::single(record, offsets))).await.unwrap_err();
    assert_eq!(reason(error), AbortReason::Revoked(tp(0)));
    assert_eq!(copied(&bench, 2, 0).await, BTreeMap::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rest_of_an_envelope_is_in_no_other_transaction() {
    let (bench, _) = bench_with(1, 2).await;
    let cluster = cluster(&bench).await;
    let id = producer(&cluster, "id");
    let mut source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
    let mut sink = stream::transactional_sink(&id, settings(LONG)).unwrap();
    let message = soon(source.next()).await.unwrap().unwrap();
    // Nothing is known of its topic yet when the sink goes.
    soon(sink.feed(copy(message))).await.unwrap();
    drop(sink);
    let transaction = loop {
        match soon(id.begin()).await {
            Ok(transaction) => break transaction,
            Err(error) => assert_eq!(error, TransactionError::Open),
        }
    };
    let record = thalweg::ProducerRecord::new("copy").with_partition(0).with_value("mine");
    drop(transaction.send(record).await.unwrap());
    soon(id.flush()).await.unwrap();
    soon(transaction.commit()).await.unwrap();
    assert_eq!(copied(&bench, 1, 1).await[&0], ["mine"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_was_away_commits_nothing_of_before() {
    let (bench, _) = bench_with(1, 3).await;
    let cluster = cluster(&bench).await;
    let admin = Admin::new(cluster.clone(), AdminConfig::default());
    let id = producer(&cluster, "id");
    let config = grouped().with_group_instance_id("one");
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    consumer.subscribe(["t"]).unwrap();
    soon(async { while soon(consumer.poll(1)).await.unwrap().is_empty() {} }).await;
    let before = consumer.group_metadata().unwrap();
    let one = MemberToRemove::Instance("one".into());
    let removed = soon(admin.remove_members("g", [one.clone()], "a test")).await;
    removed[&one].as_ref().unwrap();
    // It comes back by itself, and the application has not heard that it was away.
    soon(async {
        loop {
            let now = consumer.group_metadata().unwrap();
            if now.member_id != before.member_id && now.generation_id > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let transaction = soon(id.begin()).await.unwrap();
    let position = thalweg::Position::at(1);
    let offset = (tp(0), thalweg::CommittedOffset { position, metadata: None });
    let group = consumer.group_metadata().unwrap();
    let error = soon(transaction.send_offsets([offset.clone()], &group)).await.unwrap_err();
    let is_refused = |reason: &AbortReason| {
        let AbortReason::Broker { code, .. } = reason else { return false };
        *code == thalweg::ErrorCode::ILLEGAL_GENERATION
    };
    assert!(is_refused(&reason(error.into())));
    soon(transaction.abort()).await.unwrap();
    assert_eq!(committed(&bench, 1).await, [-1]);
    // Once it has heard, it goes on.
    soon(async { while soon(consumer.poll(1)).await.unwrap().is_empty() {} }).await;
    let transaction = soon(id.begin()).await.unwrap();
    let group = consumer.group_metadata().unwrap();
    soon(transaction.send_offsets([offset], &group)).await.unwrap();
    soon(transaction.commit()).await.unwrap();
    assert_eq!(committed(&bench, 1).await, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_of_results_bounds_what_is_taken_in() {
    let (bench, _) = bench_with(1, 600).await;
    let cluster = cluster(&bench).await;
    let id = producer(&cluster, "id");
    let source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let envelopes = source.map_ok(move |message| {
        counted.fetch_add(1, Ordering::Relaxed);
        Envelope::pass_through(message.offset)
    });
    let settings = settings(Duration::from_millis(1)).with_max_records(20);
    let mut flow =
        Box::pin(stream::transactional_flow::<_, _, Error>(&id, settings, envelopes).unwrap());
    for done in 1..=100 {
        soon(flow.next()).await.unwrap().unwrap();
        let ahead = taken.load(Ordering::Relaxed) - done;
        assert!(ahead <= 20, "{ahead} were taken in that nobody has heard of");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_the_memory_is_sent_without_anybody_polling() {
    let (bench, _) = bench_with(1, 2).await;
    let cluster = cluster(&bench).await;
    let config = ProducerConfig::default()
        .with_transactional_id("id")
        .with_batch_size(1_000)
        .with_buffer_memory(4_000);
    let id = Producer::new(cluster.clone(), config).unwrap();
    let mut source = stream::transactional_source(&cluster, grouped(), topic()).unwrap();
    let settings = settings(Duration::from_millis(10));
    let mut sink = stream::transactional_sink(&id, settings).unwrap();
    let value = "x".repeat(900);
    for at in 0..2 {
        let message = soon(source.next()).await.unwrap().unwrap();
        let record = OwnedProducerRecord::new("copy").with_value(value.clone());
        let envelope = Envelope::multi(vec![record; 100], message.offset);
        soon(sink.feed(envelope)).await.unwrap();
        soon(async { while committed(&bench, 1).await != [at + 1] {} }).await;
    }
    assert_eq!(copied(&bench, 1, 200).await[&0].len(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_records_become_one_and_a_stream_is_begun_again() {
    let (bench, expected) = bench_with(1, 100).await;
    let cluster = cluster(&bench).await;
    let attempts = Arc::new(Mutex::new(0));
    let restarts = RestartSettings::default().with_min_backoff(Duration::from_millis(1));
    let of = {
        let attempts = Arc::clone(&attempts);
        move |_| {
            let number = {
                let mut attempts = attempts.lock().unwrap();
                *attempts += 1;
                *attempts
            };
            let producer = producer(&cluster, "id");
            let source = stream::transactional_source(&cluster, grouped(), topic());
            async move {
                let envelopes = source?.ready_chunks(7).map(move |chunk| {
                    let chunk: Result<Vec<TransactionalMessage>, Error> =
                        chunk.into_iter().collect();
                    let chunk = chunk?;
                    if number < 3 && chunk.iter().any(|message| message.record.offset() == 40) {
                        return Err(Error::NotSubscribed);
                    }
                    let values = chunk.iter().filter_map(|message| message.record.value());
                    let value = values.collect::<Vec<_>>().join(&b' ');
                    let offsets: TransactionalOffsetBatch =
                        chunk.into_iter().map(|message| message.offset).collect();
                    let record = OwnedProducerRecord::new("copy").with_value(value);
                    Ok(Envelope::single(record, offsets))
                });
                let settings = settings(Duration::from_millis(5));
                stream::transactional_flow::<_, _, Error>(&producer, settings, envelopes)
            }
        }
    };
    let mut restarted = Box::pin(stream::with_backoff(restarts, of, |_: Option<&Error>| true));
    let mut last = 0;
    while last < 100 {
        let results = soon(restarted.next()).await.unwrap().unwrap();
        let mut offsets = results.pass_through.offsets();
        last = offsets.next().unwrap().position().offset;
    }
    assert!(*attempts.lock().unwrap() >= 3);
    let read = copied(&bench, 1, 15).await;
    let read: Vec<&str> = read[&0].iter().flat_map(|value| value.split(' ')).collect();
    assert_eq!(read, expected[&0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_name_gets_no_sink() {
    let (bench, _) = bench_with(1, 1).await;
    let cluster = cluster(&bench).await;
    let producer = Producer::new(cluster.clone(), ProducerConfig::default()).unwrap();
    let refused = stream::transactional_sink::<TransactionalOffset>(&producer, settings(LONG));
    assert!(matches!(refused, Err(Error::Transaction(TransactionError::NotTransactional))));
    let config = thalweg::ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest);
    assert!(stream::transactional_source(&cluster, config, topic()).is_err());
}
