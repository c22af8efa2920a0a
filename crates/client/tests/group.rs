//! Consumers in groups, against Thalweg's broker in process.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::{Bench, earliest, soon, tp};
use thalweg::consumer::ListenerFuture;
use thalweg::{
    Assignor, Consumer, ConsumerConfig, Error, GroupProtocol, GroupStatus, Position, Rebalance,
    RebalanceListener, TopicPartition,
};
use thalweg_records::Compression;

fn member_of(group: &str, assignor: Assignor) -> ConsumerConfig {
    ConsumerConfig {
        group_id: Some(group.into()),
        group_protocol: GroupProtocol::Classic { assignors: vec![assignor] },
        session_timeout: Duration::from_secs(10),
        heartbeat_interval: Duration::from_millis(50),
        ..earliest()
    }
}

async fn read(consumer: &mut Consumer, count: usize) -> Vec<(i32, i64)> {
    let mut all = Vec::new();
    while all.len() < count {
        let records = soon(consumer.poll(count - all.len())).await.unwrap();
        all.extend(records.iter().map(|record| (record.partition(), record.offset())));
    }
    all.sort_unstable();
    all
}

async fn until_assigned(consumer: &mut Consumer, count: usize) {
    soon(async {
        while consumer.assignment().len() != count {
            // A group goes on while its members poll.
            let polled = consumer.poll_timeout(1, Duration::from_millis(10)).await.unwrap();
            assert!(polled.is_empty());
        }
    })
    .await;
}

const ASSIGNORS: [Assignor; 4] =
    [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky, Assignor::CooperativeSticky];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_goes_on_where_it_left_off() {
    for assignor in ASSIGNORS {
        let bench = Bench::with(3).await;
        let group = "g";
        for partition in 0..3 {
            bench.produce(partition, &["a", "b"], Compression::None).await;
        }
        let mut consumer = bench.consumer(member_of(group, assignor)).await;
        consumer.subscribe(["t"]).unwrap();
        let all = read(&mut consumer, 6).await;
        assert_eq!(all, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
        assert_eq!(consumer.group_status(), Some(GroupStatus::Stable { partitions: 3 }));
        assert_eq!(consumer.assignment(), [tp(0), tp(1), tp(2)]);
        // Leaving commits what was read.
        consumer.close(Duration::from_secs(10)).await;
        bench.produce(1, &["c"], Compression::None).await;
        let mut consumer = bench.consumer(member_of(group, assignor)).await;
        consumer.subscribe(["t"]).unwrap();
        assert_eq!(read(&mut consumer, 1).await, [(1, 2)]);
        let committed = soon(consumer.committed(&[tp(0), tp(1)])).await.unwrap();
        assert!(committed.iter().all(|(_, found)| found.is_some()), "{committed:?}");
        consumer.close(Duration::from_secs(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_share_and_hand_over_without_a_gap_or_a_repetition() {
    for assignor in ASSIGNORS {
        let bench = Bench::with(4).await;
        let seen: Arc<Mutex<BTreeMap<(i32, i64), usize>>> = Arc::default();
        let mut members = Vec::new();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        for _ in 0..3 {
            let mut consumer = bench.consumer(member_of("g", assignor)).await;
            consumer.subscribe(["t"]).unwrap();
            let (seen, mut stopped) = (Arc::clone(&seen), stopped.clone());
            members.push(tokio::spawn(async move {
                let mut most = 0;
                loop {
                    tokio::select! {
                        records = consumer.poll(3) => {
                            for record in &records.unwrap() {
                                let at = (record.partition(), record.offset());
                                *seen.lock().unwrap().entry(at).or_default() += 1;
                            }
                        }
                        _ = stopped.changed() => break,
                    }
                    most = most.max(consumer.assignment().len());
                }
                consumer.close(Duration::from_secs(10)).await;
                most
            }));
            // The next one joins while records flow.
            for _ in 0..20 {
                for partition in 0..4 {
                    bench.produce(partition, &["x"], Compression::None).await;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        soon(async {
            while seen.lock().unwrap().len() < 240 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        stop.send(true).unwrap();
        for member in members {
            assert!(soon(member).await.unwrap() > 0, "{assignor:?}: a member had nothing");
        }
        let seen = seen.lock().unwrap();
        let twice: Vec<_> = seen.iter().filter(|(_, times)| **times != 1).collect();
        assert!(twice.is_empty(), "{assignor:?}: {twice:?}");
        assert_eq!(seen.len(), 240);
    }
}

type Entry = (&'static str, BTreeSet<TopicPartition>);

/// Writes down what it hears.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<Entry>>>);

impl Diary {
    fn note(&self, what: &'static str, rebalance: &Rebalance) {
        let partitions = rebalance.partitions().iter().cloned().collect();
        self.0.lock().unwrap().push((what, partitions));
    }
}

impl RebalanceListener for Diary {
    fn assigned<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(async move {
            for partition in rebalance.partitions() {
                // Offsets are kept elsewhere.
                rebalance.seek(partition, Position::at(1));
            }
            self.note("assigned", rebalance);
        })
    }

    fn revoked<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(async move {
            assert!(rebalance.deadline().is_some());
            tokio::time::sleep(Duration::from_millis(100)).await;
            let offsets: Vec<_> = rebalance
                .partitions()
                .iter()
                .filter_map(|p| Some((p.clone(), rebalance.position(p)?)))
                .collect();
            rebalance.commit(offsets).await.unwrap();
            self.note("revoked", rebalance);
        })
    }

    fn lost<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        self.note("lost", rebalance);
        Box::pin(async {})
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_is_waited_for() {
    let bench = Bench::with(2).await;
    for partition in 0..2 {
        bench.produce(partition, &["a", "b"], Compression::None).await;
    }
    let config =
        ConsumerConfig { auto_commit: false, ..member_of("g", Assignor::CooperativeSticky) };
    let diary = Diary::default();
    let mut first = bench.consumer(config.clone()).await;
    first.set_listener(diary.clone());
    first.subscribe(["t"]).unwrap();
    // From where the listener went, not from where the group would begin.
    assert_eq!(read(&mut first, 2).await, [(0, 1), (1, 1)]);
    let mut second = bench.consumer(config).await;
    second.subscribe(["t"]).unwrap();
    let waits = tokio::spawn(async move {
        until_assigned(&mut second, 1).await;
        second
    });
    soon(async {
        while first.assignment().len() != 1 {
            drop(first.poll_timeout(1, Duration::from_millis(7)).await.unwrap());
        }
    })
    .await;
    let second = {
        let mut waits = waits;
        loop {
            tokio::select! {
                second = &mut waits => break second.unwrap(),
                polled = first.poll_timeout(1, Duration::from_millis(20)) => {
                    assert!(polled.unwrap().is_empty());
                }
            }
        }
    };
    let given = second.assignment()[0].clone();
    let committed = soon(second.committed(std::slice::from_ref(&given))).await.unwrap();
    assert_eq!(committed[0].1.as_ref().map(|found| found.position.offset), Some(2));
    let diary = diary.0.lock().unwrap().clone();
    let kinds: Vec<&str> = diary.iter().map(|(what, _)| *what).collect();
    assert!(kinds.starts_with(&["assigned", "revoked"]), "{diary:?}");
    assert_eq!(diary[1].1, BTreeSet::from([given]));
    soon(second.close(Duration::from_secs(10))).await;
    soon(first.close(Duration::from_secs(10))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pattern_finds_topics() {
    let bench = Bench::with(2).await;
    bench.produce(0, &["a"], Compression::None).await;
    let mut consumer = bench.consumer(member_of("g", Assignor::Range)).await;
    assert!(matches!(consumer.subscribe_pattern("("), Err(Error::Config { .. })));
    consumer.subscribe_pattern("[s-u]").unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 0)]);
    assert_eq!(consumer.assignment(), [tp(0), tp(1)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_not_there_yet_is_read_when_it_is() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a"], Compression::None).await;
    let mut consumer = bench.consumer(member_of("g", Assignor::Range)).await;
    consumer.subscribe(["t", "later"]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 0)]);
    bench.create("later", 2).await;
    // Long before metadata is too old.
    until_assigned(&mut consumer, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_group_nothing_is_subscribed_or_committed() {
    let bench = Bench::with(1).await;
    let mut consumer = bench.consumer(earliest()).await;
    assert!(matches!(consumer.subscribe(["t"]), Err(Error::Config { .. })));
    let offsets = [(tp(0), Position::at(1))];
    assert!(matches!(consumer.commit_offsets(offsets).await, Err(Error::Config { .. })));
    // With a group, but as no member of it: the offsets are committed all the same.
    let config = ConsumerConfig { group_id: Some("simple".into()), ..earliest() };
    let mut simple = bench.consumer(config).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    simple.assign([(tp(0), None)]).unwrap();
    assert_eq!(read(&mut simple, 1).await, [(0, 0)]);
    soon(simple.commit()).await.unwrap();
    let committed = soon(simple.committed(&[tp(0)])).await.unwrap();
    assert_eq!(committed[0].1.as_ref().map(|found| found.position.offset), Some(1));
    drop(simple);
    // The next one goes on there, and commits without being asked.
    let config = ConsumerConfig { group_id: Some("simple".into()), ..earliest() };
    let mut next = bench.consumer(config.clone()).await;
    next.assign([(tp(0), None)]).unwrap();
    assert_eq!(read(&mut next, 1).await, [(0, 1)]);
    soon(next.close(Duration::from_secs(10))).await;
    let last = bench.consumer(config).await;
    let committed = soon(last.committed(&[tp(0)])).await.unwrap();
    assert_eq!(committed[0].1.as_ref().map(|found| found.position.offset), Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_not_there_holds_up_no_other() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    let config = ConsumerConfig {
        group_id: Some("simple".into()),
        retry_backoff: Duration::from_millis(1),
        ..earliest()
    };
    let mut consumer = bench.consumer(config).await;
    let gone = TopicPartition::new("gone", 0);
    consumer.assign([(gone.clone(), None), (tp(0), None)]).unwrap();
    assert_eq!(read(&mut consumer, 2).await, [(0, 0), (0, 1)]);
    // What is there is committed; the error names what is not.
    let offsets = [(tp(0), Position::at(2)), (gone.clone(), Position::at(7))];
    let error = soon(consumer.commit_offsets(offsets)).await.unwrap_err();
    let Error::Group { partition: Some(partition), .. } = &error else { panic!("{error}") };
    assert_eq!(**partition, gone);
    let committed = soon(consumer.committed(&[tp(0)])).await.unwrap();
    assert_eq!(committed[0].1.as_ref().map(|found| found.position.offset), Some(2));
}
