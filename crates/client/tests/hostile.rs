//! Brokers that answer with anything.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use support::hostile::{Answer, Fate, Hostile};
use support::{earliest, tp};
use thalweg::{
    Cluster, CommittedOffset, Consumer, ConsumerConfig, Error, ErrorCode, OffsetReset, Options,
    Position, ProduceErrorKind, Producer, ProducerConfig, ProducerRecord, TopicPartition,
};
use thalweg::{Fault, PartitionErrorKind};
use thalweg_random::Random;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::ApiKey;
use thalweg_wire::messages::{FetchResponse, OffsetCommitResponse, ProduceResponse};

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(90), future).await.expect("too slow")
}

/// Spoils one answer of `one_in`, in every way that a frame can be spoiled, and counts the ways.
fn rough(seed: u64, one_in: u64, ways: Arc<[AtomicUsize; 7]>) -> impl FnMut(&Answer<'_>) -> Fate {
    let mut rng = Random::new(seed);
    move |answer| {
        let frame = answer.frame;
        if rng.below(one_in) > 0 {
            return Fate::Pass;
        }
        let way = rng.below(7) as usize;
        ways[way].fetch_add(1, Ordering::SeqCst);
        let mut part = |of: usize| rng.below(of.max(1) as u64) as usize;
        match way {
            0 => {
                // The right correlation id, and then noise.
                let len = frame.len();
                let noise = (4..len).map(|_| part(256) as u8);
                Fate::Send(frame[..4].iter().copied().chain(noise).collect())
            }
            1 => {
                let mut wrong = frame.to_vec();
                wrong[3] = wrong[3].wrapping_add(1 + part(200) as u8);
                Fate::Send(wrong)
            }
            2 => Fate::Send(frame[..4 + part(frame.len() - 4)].to_vec()),
            3 => Fate::Silence,
            4 => {
                let whole = [&(frame.len() as i32).to_be_bytes(), frame].concat();
                Fate::Break(whole[..part(whole.len())].to_vec())
            }
            5 => Fate::Break([&i32::MAX.to_be_bytes(), frame].concat()),
            _ => Fate::Break([&(-7i32).to_be_bytes(), frame].concat()),
        }
    }
}

/// A cluster without anybody between.
async fn directly(broker: &TestBroker) -> Cluster {
    // The broker says where it wants to be reached; what it is asked for itself goes straight there.
    Cluster::connect(&broker.bootstrap(), Options::default()).await.unwrap()
}

async fn create(broker: &TestBroker, partitions: i32) {
    let request = requests::create(requests::topic("t", partitions, &[]));
    let answer = directly(broker).await.send_any(&request).await.unwrap();
    assert_eq!(answer.topics[0].error_code, ErrorCode::NONE);
}

/// Writes records through whatever stands between, and says how many.
async fn write(hostile: &Hostile, partition: i32, values: &[String]) {
    let producer = Producer::new(hostile.cluster().await, settings()).unwrap();
    for value in values {
        let record = ProducerRecord {
            topic: "t",
            partition: Some(partition),
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        producer.send(record).await.unwrap().await.unwrap();
    }
}

fn settings() -> ProducerConfig {
    ProducerConfig::default()
        .with_linger(Duration::ZERO)
        .with_retry_backoff(Duration::from_millis(2))
        .with_retry_backoff_max(Duration::from_millis(20))
}

/// Small answers, so that there are many, and no long pauses.
fn hasty(config: ConsumerConfig) -> ConsumerConfig {
    config
        .with_fetch_max_wait(Duration::from_millis(20))
        .with_max_partition_fetch_bytes(200)
        .with_retry_backoff(Duration::from_millis(2))
        .with_retry_backoff_max(Duration::from_millis(20))
}

fn ways() -> Arc<[AtomicUsize; 7]> {
    Arc::default()
}

fn all_ways(ways: &[AtomicUsize; 7]) -> bool {
    ways.iter().all(|way| way.load(Ordering::SeqCst) > 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_gets_every_record_once_whatever_happens_to_frames() {
    let hostile = Hostile::start().await;
    create(&hostile.broker, 2).await;
    let values: Vec<String> = (0..150).map(|at| format!("{at:060}")).collect();
    for partition in 0..2 {
        write(&hostile, partition, &values).await;
    }
    let ways = ways();
    hostile.judge(rough(7, 6, Arc::clone(&ways)));
    let mut consumer = Consumer::new(hostile.cluster().await, hasty(earliest())).unwrap();
    consumer.assign([(tp(0), None), (tp(1), None)]).unwrap();
    let mut next = [0; 2];
    while next != [150; 2] {
        // What goes wrong with connections is nobody's business who only reads.
        for record in &in_time(consumer.poll(20)).await.unwrap() {
            let at = &mut next[record.partition() as usize];
            assert_eq!(record.offset(), *at);
            assert_eq!(record.value(), Some(values[*at as usize].as_bytes()));
            *at += 1;
        }
    }
    assert!(all_ways(&ways), "{ways:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_producer_was_told_is_true_whatever_happens_to_frames() {
    let hostile = Hostile::start().await;
    create(&hostile.broker, 2).await;
    let ways = ways();
    hostile.judge(rough(11, 5, Arc::clone(&ways)));
    let producer = Producer::new(hostile.cluster().await, settings()).unwrap();
    let mut deliveries = Vec::new();
    for at in 0..200i32 {
        let value = at.to_string();
        let record = ProducerRecord {
            topic: "t",
            partition: Some(at % 2),
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        deliveries.push((at, in_time(producer.send(record)).await.unwrap()));
        if at % 2 == 0 {
            in_time(producer.flush()).await.unwrap();
        }
    }
    let mut told: BTreeMap<(i32, i64), String> = BTreeMap::new();
    for (at, delivery) in deliveries {
        let place = in_time(delivery).await.unwrap();
        // An answer that was lost may leave the offset unknown, where the record is there already.
        if place.offset >= 0 {
            told.insert((place.partition, place.offset), at.to_string());
        }
    }
    assert!(all_ways(&ways), "{ways:?}");
    hostile.judge(|_| Fate::Pass);
    let mut consumer = Consumer::new(hostile.cluster().await, earliest()).unwrap();
    consumer.assign([(tp(0), None), (tp(1), None)]).unwrap();
    let mut next = [0; 2];
    while next != [100; 2] {
        for record in &in_time(consumer.poll(500)).await.unwrap() {
            let at = record.partition() as usize;
            let value = (2 * next[at] + at as i64).to_string();
            assert_eq!((record.offset(), record.value()), (next[at], Some(value.as_bytes())));
            if let Some(told) = told.get(&(at as i32, next[at])) {
                assert_eq!(*told, value);
            }
            next[at] += 1;
        }
    }
    assert!(consumer.poll_timeout(1, Duration::from_millis(50)).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_misses_nothing_whatever_happens_to_frames() {
    let hostile = Hostile::start().await;
    create(&hostile.broker, 2).await;
    let values: Vec<String> = (0..40).map(|at| format!("{at:060}")).collect();
    for partition in 0..2 {
        write(&hostile, partition, &values).await;
    }
    let ways = ways();
    hostile.judge(rough(3, 6, Arc::clone(&ways)));
    let config = hasty(support::grouped()).with_auto_commit_interval(Duration::from_millis(20));
    let mut consumer = Consumer::new(hostile.cluster().await, config).unwrap();
    consumer.subscribe(["t"]).unwrap();
    let mut seen: BTreeSet<(i32, i64)> = BTreeSet::new();
    while seen.len() < 80 || ways.iter().map(|way| way.load(Ordering::SeqCst)).sum::<usize>() < 12 {
        let polled = in_time(consumer.poll_timeout(20, Duration::from_millis(100))).await;
        for record in &polled.unwrap() {
            seen.insert((record.partition(), record.offset()));
        }
    }
    hostile.judge(|_| Fate::Pass);
    // What was read can be committed. Thrown out of its group by the last of what went wrong, the member
    // reads again from what it committed before, perhaps in several polls.
    let all = [tp(0), tp(1)];
    let committed = async {
        loop {
            if consumer.commit().await.is_ok() {
                let found = consumer.committed(&all).await.unwrap();
                let offset = |found: &CommittedOffset| found.position.offset;
                if found.iter().all(|(_, found)| found.as_ref().map(offset) == Some(40)) {
                    return;
                }
            }
            consumer.poll_timeout(20, Duration::from_millis(20)).await.unwrap();
        }
    };
    in_time(committed).await;
    drop(in_time(consumer.close(Duration::from_secs(5))).await);
}

/// Spoils the answer that brings the first records of partition 0, in a way of its own.
fn spoil(
    hostile: &Hostile,
    change: impl Fn(&mut FetchResponse, usize, usize) + Send + 'static,
) -> Arc<AtomicUsize> {
    let spoiled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&spoiled);
    hostile.judge(move |answer| {
        let place = answer.fetch().and_then(|response| {
            response.responses.iter().enumerate().find_map(|(topic, found)| {
                let has_records = |data: &thalweg_wire::messages::fetch_response::PartitionData| {
                    data.partition_index == 0
                        && data.records.as_ref().is_some_and(|r| !r.is_empty())
                };
                Some((topic, found.partitions.iter().position(has_records)?))
            })
        });
        match place {
            Some((topic, at)) if count.fetch_add(1, Ordering::SeqCst) == 0 => {
                answer.change(|response: &mut FetchResponse| change(response, topic, at))
            }
            _ => Fate::Pass,
        }
    });
    spoiled
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_that_are_broken_are_errors_that_say_where() {
    let hostile = Hostile::start().await;
    create(&hostile.broker, 2).await;
    for partition in 0..2 {
        write(&hostile, partition, &["a".into(), "b".into()]).await;
    }
    type Break = fn(&mut Vec<u8>);
    type Expect = fn(&PartitionErrorKind) -> bool;
    let ways: [(Break, Expect); 4] = [
        // A bit of a value.
        (
            |records| *records.last_mut().unwrap() ^= 1,
            |kind| matches!(kind, PartitionErrorKind::Fault(Fault::Crc { .. })),
        ),
        // A codec that there is not.
        (
            |records| {
                records[22] |= 7;
                seal(records);
            },
            |kind| matches!(kind, PartitionErrorKind::Fault(Fault::Read { .. })),
        ),
        // More records than there are.
        (
            |records| {
                records[57..61].copy_from_slice(&9i32.to_be_bytes());
                seal(records);
            },
            |kind| matches!(kind, PartitionErrorKind::Fault(Fault::Read { .. })),
        ),
        // A format that there is not.
        (
            |records| records[16] = 9,
            |kind| matches!(kind, PartitionErrorKind::Fault(Fault::Batch(_))),
        ),
    ];
    for (at, (break_it, is_expected)) in ways.into_iter().enumerate() {
        let spoiled = spoil(&hostile, move |response, topic, at| {
            let data = &mut response.responses[topic].partitions[at];
            let mut records = data.records.take().unwrap().to_vec();
            // The first batch alone.
            let len = i32::from_be_bytes(records[8..12].try_into().unwrap()) as usize + 12;
            let mut first = records[..len].to_vec();
            break_it(&mut first);
            records.splice(..len, first);
            data.records = Some(Bytes::from(records));
        });
        let config = hasty(earliest()).with_max_partition_fetch_bytes(1 << 20);
        let mut consumer = Consumer::new(hostile.cluster().await, config).unwrap();
        consumer.assign([(tp(0), None), (tp(1), None)]).unwrap();
        // What is wrong behind a record is found behind it.
        let first_bad = i64::from(at == 2);
        let (mut seen, mut errors) = (Vec::new(), 0);
        while (seen.len() as i64) < 2 + first_bad || errors == 0 {
            match in_time(consumer.poll(1)).await {
                Ok(records) => seen.extend(records.iter().map(|r| (r.partition(), r.offset()))),
                Err(Error::Partition(error)) => {
                    assert!(is_expected(&error.kind), "way {at}: {error}");
                    assert!(!error.kind.is_retriable());
                    assert_eq!((error.partition, error.offset), (tp(0), first_bad), "way {at}");
                    errors += 1;
                }
                Err(error) => panic!("way {at}: {error}"),
            }
        }
        seen.retain(|&(partition, offset)| partition == 1 || offset >= first_bad);
        assert_eq!(seen, [(1, 0), (1, 1)], "way {at}");
        assert_eq!(spoiled.load(Ordering::SeqCst), 1, "not asked for again by itself");
        // What is sought is fetched anew, and is whole this time.
        consumer.seek(&tp(0), Position::at(1)).unwrap();
        consumer.seek(&tp(0), Position::at(0)).unwrap();
        let mut left = Vec::new();
        while left.len() < 2 {
            match in_time(consumer.poll(9)).await {
                Ok(records) => left.extend(records.iter().map(|r| (r.partition(), r.offset()))),
                // It was said already.
                Err(Error::Partition(error)) => assert_eq!(error.partition, tp(0), "way {at}"),
                Err(error) => panic!("way {at}: {error}"),
            }
        }
        assert_eq!(left, [(0, 0), (0, 1)], "way {at}");
    }
}

/// Gives a batch the checksum that belongs to it.
fn seal(batch: &mut [u8]) {
    let crc = thalweg_records::checksum::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
}

/// Every code there is, and some that there are not.
fn codes() -> impl Iterator<Item = ErrorCode> {
    let all = ErrorCode::ALL.iter().copied().filter(|code| *code != ErrorCode::NONE);
    all.chain([-2, 999, i16::MAX, i16::MIN].map(ErrorCode))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_code_a_fetch_is_answered_with_the_reader_goes_on_or_says_why() {
    let hostile = Hostile::start().await;
    create(&hostile.broker, 2).await;
    for partition in 0..2 {
        write(&hostile, partition, &["a".into()]).await;
    }
    let cluster = hostile.cluster().await;
    for code in codes() {
        for is_whole in [false, true] {
            spoil(&hostile, move |response, topic, at| {
                if is_whole {
                    response.error_code = code;
                    response.responses.clear();
                    return;
                }
                let data = &mut response.responses[topic].partitions[at];
                data.error_code = code;
                data.records = Some(Bytes::new());
                (data.high_watermark, data.last_stable_offset) = (-1, -1);
            });
            let what = format!("{code:?}, of all: {is_whole}");
            let config = hasty(ConsumerConfig::default()).with_auto_offset_reset(OffsetReset::None);
            let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
            let all = [tp(0), tp(1)].map(|partition| (partition, Some(Position::at(0))));
            consumer.assign(all).unwrap();
            let mut seen: BTreeSet<TopicPartition> = BTreeSet::new();
            while seen.len() < 2 {
                match in_time(consumer.poll(9)).await {
                    Ok(records) => {
                        for record in &records {
                            assert!(seen.insert(record.topic_partition().clone()), "{what}: twice");
                        }
                    }
                    Err(Error::Partition(error)) => {
                        assert!(!is_whole, "{what}: {error}");
                        assert_eq!((&error.partition, error.offset), (&tp(0), 0), "{what}");
                        match error.kind {
                            PartitionErrorKind::Broker(said) => assert_eq!(said, code),
                            PartitionErrorKind::OffsetOutOfRange => {
                                assert_eq!(code, ErrorCode::OFFSET_OUT_OF_RANGE);
                            }
                            _ => panic!("{what}: {error}"),
                        }
                        consumer.seek(&tp(0), Position::at(0)).unwrap();
                    }
                    Err(error) => panic!("{what}: {error}"),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_code_a_record_is_answered_with_its_fate_is_known() {
    let hostile = Hostile::start().await;
    create(&hostile.broker, 1).await;
    let cluster = hostile.cluster().await;
    let (mut failed, mut delivered) = (0, 0);
    for code in codes() {
        let mut is_done = false;
        hostile.judge(move |answer| {
            if answer.api != ApiKey::PRODUCE || std::mem::replace(&mut is_done, true) {
                return Fate::Pass;
            }
            answer.change(|response: &mut ProduceResponse| {
                let part = &mut response.responses[0].partition_responses[0];
                part.error_code = code;
                part.base_offset = -1;
            })
        });
        let producer = Producer::new(cluster.clone(), settings()).unwrap();
        let record = ProducerRecord { topic: "t", value: Some(b"v"), ..ProducerRecord::default() };
        let fate = in_time(in_time(producer.send(record)).await.unwrap()).await;
        match fate {
            Ok(_) => delivered += 1,
            Err(error) => {
                let said = match error.kind {
                    ProduceErrorKind::Broker { code, .. }
                    | ProduceErrorKind::Fatal { code, .. } => code,
                    _ => panic!("{code:?}: {error:?}"),
                };
                assert_eq!(said, code, "{error:?}");
                assert_eq!(error.partition, Some(0), "{code:?}");
                failed += 1;
            }
        }
        // The next one is written, or it is said that this producer has come to its end.
        let record = ProducerRecord { topic: "t", value: Some(b"w"), ..ProducerRecord::default() };
        match in_time(producer.send(record)).await {
            Ok(delivery) => drop(in_time(delivery).await),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        in_time(producer.close(Duration::from_secs(5))).await;
    }
    assert!(failed > 20 && delivered > 10, "{failed} failed, {delivered} delivered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_tried_again_overwrites_no_newer_one() {
    let hostile = Hostile::start().await;
    create(&hostile.broker, 1).await;
    let answers = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&answers);
    hostile.judge(move |answer| {
        if answer.api != ApiKey::OFFSET_COMMIT || counted.fetch_add(1, Ordering::SeqCst) > 0 {
            return Fate::Pass;
        }
        answer.change(|response: &mut OffsetCommitResponse| {
            let partition = &mut response.topics[0].partitions[0];
            partition.error_code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
        })
    });
    let config =
        ConsumerConfig::default().with_group_id("g").with_retry_backoff(Duration::from_millis(500));
    let consumer = Consumer::new(hostile.cluster().await, config).unwrap();
    let older = consumer.handle();
    let older = tokio::spawn(async move { older.commit_offsets([(tp(0), Position::at(1))]).await });
    let refused = async {
        while answers.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    in_time(refused).await;
    in_time(consumer.commit_offsets([(tp(0), Position::at(2))])).await.unwrap();
    in_time(older).await.unwrap().unwrap();
    let committed = in_time(consumer.committed(&[tp(0)])).await.unwrap();
    assert_eq!(committed[0].1.as_ref().map(|found| found.position.offset), Some(2));
}
