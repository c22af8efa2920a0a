//! Consumers in groups, against Thalweg's broker in process.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::tap::tapped;
use support::{Bench, cluster, earliest, grouped, soon, tp};
use thalweg::admin::{Admin, AdminConfig, MemberToRemove};
use thalweg::consumer::{CloseOptions, ListenerFuture, OnLeave};
use thalweg::{
    Assignor, Cluster, Consumer, ConsumerConfig, Error, GroupProtocol, GroupStatus, Options,
    Position, Rebalance, RebalanceListener, TopicPartition,
};
use thalweg_records::Compression;
use thalweg_testkit::TestBroker;
use thalweg_wire::{ApiKey, ErrorCode};

fn member_of(group: &str, assignor: Assignor) -> ConsumerConfig {
    earliest()
        .with_group_id(group)
        .with_group_protocol(GroupProtocol::Classic { assignors: vec![assignor] })
        .with_session_timeout(Duration::from_secs(10))
        .with_heartbeat_interval(Duration::from_millis(50))
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
        consumer.close(Duration::from_secs(10)).await.unwrap();
        bench.produce(1, &["c"], Compression::None).await;
        let mut consumer = bench.consumer(member_of(group, assignor)).await;
        consumer.subscribe(["t"]).unwrap();
        assert_eq!(read(&mut consumer, 1).await, [(1, 2)]);
        let committed = soon(consumer.committed(&[tp(0), tp(1)])).await.unwrap();
        assert!(committed.iter().all(|(_, found)| found.is_some()), "{committed:?}");
        consumer.close(Duration::from_secs(10)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_share_and_give_up_without_a_gap_or_a_repetition() {
    for assignor in ASSIGNORS {
        let bench = Bench::with(4).await;
        let seen: Arc<Mutex<BTreeMap<(i32, i64), usize>>> = Arc::default();
        let have: Arc<Mutex<BTreeSet<usize>>> = Arc::default();
        let mut members = Vec::new();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        for number in 0..3 {
            let mut consumer = bench.consumer(member_of("g", assignor)).await;
            consumer.subscribe(["t"]).unwrap();
            let (seen, have, mut stopped) = (Arc::clone(&seen), Arc::clone(&have), stopped.clone());
            members.push(tokio::spawn(async move {
                loop {
                    tokio::select! {
                        records = consumer.poll_timeout(3, Duration::from_millis(20)) => {
                            for record in &records.unwrap() {
                                let at = (record.partition(), record.offset());
                                *seen.lock().unwrap().entry(at).or_default() += 1;
                            }
                        }
                        _ = stopped.changed() => break,
                    }
                    if !consumer.assignment().is_empty() {
                        have.lock().unwrap().insert(number);
                    }
                }
                consumer.close(Duration::from_secs(10)).await.unwrap();
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
            // Each has something at some time.
            while seen.lock().unwrap().len() < 240 || have.lock().unwrap().len() < 3 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        stop.send(true).unwrap();
        for member in members {
            soon(member).await.unwrap();
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
                rebalance.seek(partition, Position::at(1)).unwrap();
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
    let config = member_of("g", Assignor::CooperativeSticky).with_auto_commit(false);
    let diary = Diary::default();
    let mut first = bench.consumer(config.clone()).await;
    first.set_listener(diary.clone()).unwrap();
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
    let mut second = {
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
    soon(second.close(Duration::from_secs(10))).await.unwrap();
    soon(first.close(Duration::from_secs(10))).await.unwrap();
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
    let config = earliest().with_group_id("simple");
    let mut simple = bench.consumer(config).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    simple.assign([(tp(0), None)]).unwrap();
    assert_eq!(read(&mut simple, 1).await, [(0, 0)]);
    soon(simple.commit()).await.unwrap();
    let committed = soon(simple.committed(&[tp(0)])).await.unwrap();
    assert_eq!(committed[0].1.as_ref().map(|found| found.position.offset), Some(1));
    drop(simple);
    // The next one goes on there, and commits without being asked.
    let config = earliest().with_group_id("simple");
    let mut next = bench.consumer(config.clone()).await;
    next.assign([(tp(0), None)]).unwrap();
    assert_eq!(read(&mut next, 1).await, [(0, 1)]);
    soon(next.close(Duration::from_secs(10))).await.unwrap();
    let last = bench.consumer(config).await;
    let committed = soon(last.committed(&[tp(0)])).await.unwrap();
    assert_eq!(committed[0].1.as_ref().map(|found| found.position.offset), Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_not_there_holds_up_no_other() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    let config = earliest().with_group_id("simple").with_retry_backoff(Duration::from_millis(1));
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

const LIMIT: Duration = Duration::from_secs(10);

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    waited.unwrap_or_else(|_| panic!("{what}: did not come about"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_records_that_were_lost_fails() {
    let bench = Bench::with(2).await;
    bench.produce(0, &["v"; 10], Compression::None).await;
    bench.produce(1, &["v"; 10], Compression::None).await;
    for is_async in [false, true] {
        let config = member_of(&format!("lost-{is_async}"), Assignor::Range)
            .with_auto_commit(false)
            .with_max_poll_interval(Duration::from_millis(300));
        let mut consumer = bench.consumer(config).await;
        consumer.subscribe(["t"]).unwrap();
        let first = read(&mut consumer, 10).await;
        let exceeded = || consumer.group_status() == Some(GroupStatus::PollIntervalExceeded);
        until("the member leaves", exceeded).await;
        let lost = match is_async {
            false => soon(consumer.commit()).await,
            true => soon(consumer.commit_async()).await,
        };
        assert!(matches!(lost, Err(Error::Revoked(_))), "{lost:?}");
        // It was said; what is told of partitions by hand is not committed either.
        soon(consumer.commit()).await.unwrap();
        let offsets = [(tp(0), Position::at(10))];
        let refused = soon(consumer.commit_offsets(offsets)).await.unwrap_err();
        let Error::Group { code, api, .. } = &refused else { panic!("{refused}") };
        assert_eq!((*code, *api), (ErrorCode::UNKNOWN_MEMBER_ID, ApiKey::OFFSET_COMMIT));
        assert!(!refused.is_retriable());
        // Whoever is no member may ask all the same.
        let committed = soon(consumer.committed(&[tp(0), tp(1)])).await.unwrap();
        assert_eq!(committed, [(tp(0), None), (tp(1), None)]);
        // They come again, and are committed then.
        assert_eq!(read(&mut consumer, 10).await, first);
        soon(consumer.commit()).await.unwrap();
        assert_eq!(soon(consumer.committed(&[first_of(&first)])).await.unwrap().len(), 1);
        soon(consumer.close(LIMIT)).await.unwrap();
    }
    let nobody = bench.consumer(earliest()).await;
    let refused = soon(nobody.committed(&[tp(0)])).await.unwrap_err().to_string();
    assert!(refused.contains("is needed to look up what is committed"), "{refused}");
}

/// A member that was thrown out comes back by itself, while the application is at work on what it
/// read before: somebody else may have gone on from there meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_lost_is_not_committed_by_the_member_that_came_back() {
    let broker = TestBroker::builder()
        .config("group.consumer.min.heartbeat.interval.ms", "50")
        .config("group.consumer.heartbeat.interval.ms", "50")
        .start()
        .await;
    let bench = Bench::on(broker, 1).await;
    bench.produce(0, &["v"; 10], Compression::None).await;
    let admin = Admin::new(support::cluster(&bench).await, AdminConfig::default());
    let protocols = [GroupProtocol::default(), GroupProtocol::Consumer { server_assignor: None }];
    for (number, protocol) in protocols.into_iter().enumerate() {
        for diary in [None, Some(Diary::default())] {
            let case = format!("{protocol:?}, {}", diary.is_some());
            let group = format!("back-{number}-{}", diary.is_some());
            let mut config = match protocol {
                GroupProtocol::Classic { .. } => member_of(&group, Assignor::Range),
                _ => earliest().with_group_id(&*group).with_group_protocol(protocol.clone()),
            };
            config.auto_commit = false;
            config.group_instance_id = Some("one".to_owned());
            let mut consumer = bench.consumer(config).await;
            if let Some(diary) = diary.clone() {
                consumer.set_listener(diary).unwrap();
            }
            consumer.subscribe(["t"]).unwrap();
            let first = i64::from(diary.is_some());
            read(&mut consumer, 10 - first as usize).await;
            let before = consumer.group_metadata().unwrap();
            let one = MemberToRemove::Instance("one".into());
            let removed = soon(admin.remove_members(&group, [one.clone()], "a test")).await;
            removed[&one].as_ref().unwrap();
            let is_back = || {
                let now = consumer.group_metadata().unwrap();
                now != before && now.generation_id > 0 && consumer.assignment() == [tp(0)]
            };
            until("it comes back", is_back).await;
            let handle = consumer.handle();
            let refused = |committed: Result<(), Error>| {
                let Err(Error::Group { code, partition, .. }) = committed else {
                    panic!("{case}: {committed:?}")
                };
                assert_eq!(code, ErrorCode::ILLEGAL_GENERATION, "{case}");
                assert_eq!(partition.map(|of| *of), Some(tp(0)), "{case}");
            };
            refused(soon(handle.commit_offsets([(tp(0), Position::at(10))])).await);
            if diary.is_none() {
                // It hears of what comes after this.
                consumer.set_listener(Diary::default()).unwrap();
            }
            // Also after a poll in which the listener was not called.
            if diary.is_some() {
                assert!(consumer.try_poll(1).unwrap().is_empty());
                refused(soon(handle.commit_offsets([(tp(0), Position::at(10))])).await);
            }
            assert_eq!(soon(consumer.committed(&[tp(0)])).await.unwrap(), [(tp(0), None)]);
            // It is read again, and what is read now is committed.
            assert_eq!(read(&mut consumer, 1).await, [(0, first)], "{case}");
            soon(handle.commit_offsets([(tp(0), Position::at(first + 1))])).await.unwrap();
            let committed = soon(consumer.committed(&[tp(0)])).await.unwrap();
            let offset = committed[0].1.as_ref().map(|found| found.position.offset);
            assert_eq!(offset, Some(first + 1), "{case}");
            soon(consumer.close(CloseOptions::within(LIMIT))).await.unwrap();
        }
    }
}

fn first_of(read: &[(i32, i64)]) -> TopicPartition {
    tp(read[0].0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_says_what_went_wrong_with_the_last_commit() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 10], Compression::None).await;
    let config = member_of("g", Assignor::Range).with_max_poll_interval(Duration::from_millis(300));
    let mut consumer = bench.consumer(config).await;
    consumer.subscribe(["t"]).unwrap();
    assert_eq!(read(&mut consumer, 10).await.len(), 10);
    let exceeded = || consumer.group_status() == Some(GroupStatus::PollIntervalExceeded);
    until("the member leaves", exceeded).await;
    let closed = soon(consumer.close(LIMIT)).await;
    assert!(matches!(closed, Err(Error::Revoked(_))), "{closed:?}");
    assert!(matches!(consumer.poll(1).await, Err(Error::ConsumerClosed)));
    assert!(matches!(consumer.subscribe(["t"]), Err(Error::ConsumerClosed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_works_while_another_task_polls() {
    let bench = Bench::with(2).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    let config = member_of("g", Assignor::Range).with_auto_commit(false);
    let mut consumer = bench.consumer(config).await;
    consumer.subscribe(["t"]).unwrap();
    let handle = consumer.handle();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let polling = tokio::spawn(async move {
        loop {
            match consumer.poll(10).await {
                Ok(records) => records.iter().for_each(|r| tell.send(r.offset()).unwrap()),
                Err(Error::Wakeup) => break consumer,
                Err(error) => panic!("{error}"),
            }
        }
    });
    assert_eq!([soon(told.recv()).await, soon(told.recv()).await], [Some(0), Some(1)]);
    let committed = async || soon(handle.committed(&[tp(0)])).await.unwrap().pop().unwrap().1;
    soon(handle.commit()).await.unwrap();
    assert_eq!(committed().await.unwrap().position.offset, 2);
    assert_eq!((handle.lag(&tp(0)), handle.assignment()), (Some(0), vec![tp(0), tp(1)]));
    let member = handle.group_metadata().unwrap();
    assert_eq!((&*member.group_id, member.member_id.is_empty()), ("g", false));
    assert!(member.generation_id > 0);
    // What is paused by it does not come, and comes when it is resumed.
    handle.pause([&tp(0)]).unwrap();
    assert_eq!(handle.paused(), [tp(0)]);
    assert!(handle.why().to_string().contains("t-0: paused"));
    bench.produce(0, &["c"], Compression::None).await;
    bench.produce(1, &["a"], Compression::None).await;
    assert_eq!(soon(told.recv()).await, Some(0), "of the other partition");
    handle.resume([&tp(0)]).unwrap();
    assert_eq!(soon(told.recv()).await, Some(2));
    handle.seek(&tp(0), Position::at(1)).unwrap();
    assert_eq!([soon(told.recv()).await, soon(told.recv()).await], [Some(1), Some(2)]);
    // Nobody waits for this one, and closing does.
    handle.seek(&tp(0), Position::at(0)).unwrap();
    for offset in 0..3 {
        assert_eq!(soon(told.recv()).await, Some(offset));
    }
    drop(handle.commit_async());
    handle.wake_up();
    let mut consumer = soon(polling).await.unwrap();
    // Once.
    let none = consumer.poll_timeout(1, Duration::from_millis(20)).await.unwrap();
    assert!(none.is_empty());
    soon(consumer.close(LIMIT)).await.unwrap();
    let closed = soon(handle.commit()).await;
    assert!(matches!(closed, Err(Error::ConsumerClosed)), "{closed:?}");
    let next = bench.consumer(member_of("g", Assignor::Range)).await;
    let found = soon(next.committed(&[tp(0)])).await.unwrap();
    assert_eq!(found[0].1.as_ref().unwrap().position.offset, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_unsubscribes_and_begins_anew() {
    let bench = Bench::with(2).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    let mut consumer = bench.consumer(member_of("g", Assignor::Range)).await;
    assert!(matches!(consumer.poll(1).await, Err(Error::NotSubscribed)));
    assert!(matches!(consumer.try_poll(1), Err(Error::NotSubscribed)));
    assert!(matches!(consumer.enforce_rebalance("why not"), Err(Error::NotSubscribed)));
    consumer.subscribe(["t"]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 0)]);
    assert!(matches!(consumer.assign([(tp(0), None)]), Err(Error::Config { .. })));
    soon(consumer.unsubscribe()).await.unwrap();
    assert_eq!((consumer.assignment(), consumer.group_status()), (vec![], None));
    assert!(matches!(consumer.poll(1).await, Err(Error::NotSubscribed)));
    // It has committed, and is out of the group.
    assert_eq!(members(&bench, "g").await, 0);
    consumer.assign([(tp(0), None)]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 1)]);
    soon(consumer.unsubscribe()).await.unwrap();
    bench.produce(1, &["c"], Compression::None).await;
    consumer.subscribe(["t"]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(1, 0)]);
    assert_eq!(members(&bench, "g").await, 1);
    soon(consumer.close(LIMIT)).await.unwrap();
}

async fn members(bench: &Bench, group: &str) -> usize {
    let cluster = Cluster::connect(&bench.broker.bootstrap(), Options::default()).await.unwrap();
    let admin = Admin::new(cluster, AdminConfig::default());
    let mut found = soon(admin.describe_groups([group.to_owned()])).await;
    found.remove(group).unwrap().map_or(0, |group| group.members.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_leaves_or_stays_as_it_is_told() {
    let bench = Bench::with(1).await;
    let cases = [
        (None, OnLeave::Default, 0),
        (None, OnLeave::LeaveGroup, 0),
        (None, OnLeave::RemainInGroup, 1),
        (Some("one"), OnLeave::Default, 1),
        (Some("one"), OnLeave::LeaveGroup, 0),
        (Some("one"), OnLeave::RemainInGroup, 1),
    ];
    for (number, (instance, on_leave, left)) in cases.into_iter().enumerate() {
        let group = format!("g{number}");
        let mut config = member_of(&group, Assignor::Range);
        config.group_instance_id = instance.map(str::to_owned);
        let mut consumer = bench.consumer(config).await;
        consumer.subscribe(["t"]).unwrap();
        until_assigned(&mut consumer, 1).await;
        assert_eq!(members(&bench, &group).await, 1);
        let options = CloseOptions::within(LIMIT).with_on_leave(on_leave);
        soon(consumer.close(options)).await.unwrap();
        assert_eq!(members(&bench, &group).await, left, "{instance:?} {on_leave:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_does_not_wait_for_a_dead_member() {
    let bench = Bench::at_barrier(2).await;
    let config = member_of("g", Assignor::Range);
    let mut one = bench.consumer(config.clone()).await;
    one.subscribe(["t"]).unwrap();
    until_assigned(&mut one, 2).await;
    let mut other = bench.consumer(config).await;
    other.subscribe(["t"]).unwrap();
    let both = async {
        while one.assignment().len() != 1 || other.assignment().len() != 1 {
            one.poll_timeout(1, Duration::from_millis(10)).await.unwrap();
            other.poll_timeout(1, Duration::from_millis(10)).await.unwrap();
        }
    };
    soon(both).await;
    // It dies, and the next join waits for it until its session is over.
    drop(other);
    one.enforce_rebalance("to see who is there").unwrap();
    soon(async {
        let joins = |one: &Consumer| {
            one.why().unanswered.is_some_and(|asked| asked.api == ApiKey::JOIN_GROUP)
        };
        while !joins(&one) {
            one.poll_timeout(1, Duration::from_millis(5)).await.unwrap();
        }
    })
    .await;
    soon(one.close(LIMIT)).await.unwrap();
    assert_eq!(members(&bench, "g").await, 1, "the dead one is still waited for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_out_of_the_group_for_good_hears_it_from_every_poll() {
    let bench = Bench::with(1).await;
    let mut one = bench.consumer(member_of("g", Assignor::Range)).await;
    one.subscribe(["t"]).unwrap();
    until_assigned(&mut one, 1).await;
    // The group has no assignor in common with this one.
    let mut other = bench.consumer(member_of("g", Assignor::RoundRobin)).await;
    other.subscribe(["t"]).unwrap();
    for _ in 0..20 {
        let error = soon(other.poll(1)).await.unwrap_err();
        assert!(matches!(error, Error::Membership(_)), "{error}");
    }
    assert!(matches!(other.try_poll(1), Err(Error::Membership(_))));
    let refused = soon(other.commit_offsets([(tp(0), Position::at(0))])).await;
    assert!(matches!(refused, Err(Error::Membership(_))), "{refused:?}");
    // There is nothing to wait for.
    soon(other.close(Duration::from_secs(3_600))).await.unwrap();
}

/// Takes its time with whatever it hears.
struct Patient;

impl RebalanceListener for Patient {
    fn assigned<'a>(&'a self, _: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(tokio::time::sleep(Duration::from_millis(5)))
    }

    fn revoked<'a>(&'a self, _: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(tokio::time::sleep(Duration::from_millis(5)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_that_come_back_keep_what_was_fetched() {
    let bench = Bench::at_barrier(4).await;
    for partition in 0..4 {
        for _ in 0..10 {
            bench.produce(partition, &["v"; 20], Compression::None).await;
        }
    }
    let mut once = bench.consumer(earliest()).await;
    once.assign((0..4).map(|partition| (tp(partition), None))).unwrap();
    read(&mut once, 800).await;
    let there = once.counts().batch_bytes;
    for with_listener in [false, true] {
        // The default: range or cooperative-sticky, which makes an eager group.
        let config = member_of(&format!("kept-{with_listener}"), Assignor::Range)
            .with_group_protocol(GroupProtocol::default());
        let mut consumer = bench.consumer(config).await;
        if with_listener {
            consumer.set_listener(Arc::new(Patient)).unwrap();
        }
        consumer.subscribe(["t"]).unwrap();
        let mut seen = read(&mut consumer, 30).await;
        until("everything is fetched", || consumer.counts().batch_bytes == there).await;
        let generation = consumer.group_metadata().unwrap().generation_id;
        for round in 1..=3 {
            consumer.enforce_rebalance("for the test").unwrap();
            soon(async {
                while consumer.group_metadata().unwrap().generation_id < generation + round
                    || consumer.group_status() != Some(GroupStatus::Stable { partitions: 4 })
                {
                    let polled = consumer.poll_timeout(1, Duration::from_millis(5)).await.unwrap();
                    seen.extend(polled.iter().map(|record| (record.partition(), record.offset())));
                }
            })
            .await;
        }
        let left = 800 - seen.len();
        seen.extend(read(&mut consumer, left).await);
        seen.sort_unstable();
        let expected = (0..4).flat_map(|partition| (0..200).map(move |at| (partition, at)));
        assert!(seen.iter().copied().eq(expected), "each once");
        let after = consumer.counts();
        assert_eq!(after.batch_bytes, there, "nothing was fetched again");
        assert_eq!((after.discarded_bytes, after.partial_bytes), (0, 0));
        soon(consumer.close(LIMIT)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pattern_forgets_topics_that_are_deleted() {
    let (tap, address, bench) = tapped(1).await;
    bench.create("u", 1).await;
    let cluster = Cluster::connect(&address, Options::default()).await.unwrap();
    let config = member_of("g", Assignor::Range)
        .with_auto_commit(false)
        .with_metadata_max_age(Duration::from_millis(300));
    let mut consumer = Consumer::new(cluster.clone(), config).unwrap();
    consumer.subscribe_pattern("[tu]").unwrap();
    until_assigned(&mut consumer, 2).await;
    bench.delete("u").await;
    until_assigned(&mut consumer, 1).await;
    let client = thalweg::stream::MetadataClient::create(cluster, earliest()).unwrap();
    let topics = soon(client.list_topics()).await.unwrap();
    assert!(topics.contains_key("t") && !topics.contains_key("u"), "{topics:?}");
    // Metadata that are too old are asked for, and nothing besides.
    tap.take();
    for _ in 0..20 {
        consumer.poll_timeout(1, Duration::from_millis(100)).await.unwrap();
    }
    let asked = tap.take().requests(ApiKey::METADATA);
    assert!(asked <= 10, "{asked} requests in 2 s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_topic_is_not_asked_for_without_end() {
    let (tap, address, bench) = tapped(1).await;
    for partition in 0..1 {
        bench.produce(partition, &["a"], Compression::None).await;
    }
    bench.create("u", 8).await;
    let cluster = Cluster::connect(&address, Options::default()).await.unwrap();
    let mut consumer = Consumer::new(cluster, earliest()).unwrap();
    let of_u = (0..8).map(|partition| (TopicPartition::new("u", partition), None));
    consumer.assign(of_u.chain([(tp(0), None)])).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 0)]);
    tap.take();
    bench.delete("u").await;
    let missing = || consumer.why().to_string().contains("u-7: there is no such topic");
    until("it is said", missing).await;
    for _ in 0..30 {
        consumer.poll_timeout(1, Duration::from_millis(100)).await.unwrap();
    }
    let seen = tap.take();
    // Pauses grow from 100 ms to a second; other partitions are fetched all the while.
    let asked = seen.requests(ApiKey::METADATA);
    assert!((2..=12).contains(&asked), "{asked} requests for metadata in 3 s");
    let fetched = seen.requests(ApiKey::FETCH);
    assert!(fetched <= 20, "{fetched} fetches in 3 s");
    bench.produce(0, &["b"], Compression::None).await;
    assert_eq!(read(&mut consumer, 1).await, [(0, 1)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_not_there_is_named() {
    let bench = Bench::with(2).await;
    let mut consumer = bench.consumer(member_of("g", Assignor::Range)).await;
    consumer.subscribe(["t", "ordres"]).unwrap();
    until("it is said", || {
        let why = consumer.why();
        why.absent == [("ordres".into(), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)]
            && why.to_string().contains("topic ordres: UNKNOWN_TOPIC_OR_PARTITION")
    })
    .await;
    bench.create("ordres", 1).await;
    until("it is there", || consumer.why().absent.is_empty()).await;
    soon(consumer.close(LIMIT)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_that_does_not_answer_is_named() {
    let bench = Bench::at_barrier(1).await;
    let config = member_of("g", Assignor::Range);
    let mut one = bench.consumer(config.clone()).await;
    one.subscribe(["t"]).unwrap();
    until_assigned(&mut one, 1).await;
    // This one polls no more, and so joins no more either: the other one waits for it.
    let mut other = bench.consumer(config).await;
    other.subscribe(["t"]).unwrap();
    let named = || other.why().to_string().contains("has not answered JoinGroup for ");
    until("it is said", named).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_does_not_serve_a_groups_protocol_is_named() {
    let broker = TestBroker::builder()
        .config("group.coordinator.rebalance.protocols", "classic")
        .start()
        .await;
    let bench = Bench::on(broker, 1).await;
    let protocol = GroupProtocol::Consumer { server_assignor: None };
    let config = earliest().with_group_id("g").with_group_protocol(protocol);
    let mut consumer = bench.consumer(config).await;
    consumer.subscribe(["t"]).unwrap();
    for _ in 0..3 {
        let error = soon(consumer.poll(1)).await.unwrap_err();
        assert!(matches!(error, Error::Membership(_)), "{error}");
    }
    let why = consumer.why().to_string();
    assert!(why.contains("ConsumerGroupHeartbeat was answered with UNSUPPORTED_VERSION"), "{why}");
    // It leaves, and goes on without a group.
    soon(consumer.unsubscribe()).await.unwrap();
    bench.produce(0, &["a"], Compression::None).await;
    consumer.assign([(tp(0), None)]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_commit_brings_the_member_back_at_once() {
    for barrier in [false, true] {
        let bench = match barrier {
            true => Bench::at_barrier(1).await,
            false => Bench::with(1).await,
        };
        bench.produce(0, &["v"; 10], Compression::None).await;
        // No heartbeat says anything while this runs.
        let config = grouped()
            .with_heartbeat_interval(Duration::from_secs(40))
            .with_session_timeout(Duration::from_secs(120))
            .with_auto_commit(false);
        let mut consumer = bench.consumer(config).await;
        consumer.subscribe(["t"]).unwrap();
        assert!(!soon(consumer.poll(1)).await.unwrap().is_empty());
        let before = consumer.group_metadata().unwrap();
        let admin = Admin::new(cluster(&bench).await, AdminConfig::default());
        let one = MemberToRemove::Member(before.member_id.clone());
        let removed = soon(admin.remove_members("g", [one.clone()], "a test")).await;
        removed[&one].as_ref().unwrap();
        // The first one is refused, and no other one is asked for.
        assert!(soon(consumer.commit()).await.is_err());
        soon(async {
            loop {
                consumer.poll_timeout(1, Duration::from_millis(20)).await.unwrap();
                let now = consumer.group_metadata().unwrap();
                if now.member_id != before.member_id && !consumer.assignment().is_empty() {
                    break;
                }
            }
        })
        .await;
    }
}
