//! Several sources over one consumer, restarts, order under parallel work, and bounds on time.

use crate::support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt, TryStreamExt};
use support::{Bench, cluster, committed, earliest, grouped, soon, topic, tp};
use thalweg::stream::{
    self, Committer, CommitterSettings, ConsumerSettings, RestartSettings, SharedConsumer,
};
use thalweg::{Assignor, Cluster, Error, GroupProtocol, GroupStatus, Options};
use thalweg_random::Random;
use thalweg_records::Compression;

const LIMIT: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(3_600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_share_a_consumer() {
    let bench = Bench::with(4).await;
    for partition in 0..4 {
        bench.produce(partition, &["v"; 300], Compression::None).await;
    }
    let shared = SharedConsumer::new(&cluster(&bench).await, grouped()).unwrap();
    let control = shared.control();
    let mut plain = shared.plain_source([(tp(0), None), (tp(1), Some(250))]).unwrap();
    let mut committable = shared.committable_source([(tp(2), None)]).unwrap();
    let error = shared.plain_source([(tp(3), None), (tp(2), None)]).unwrap_err();
    assert!(error.to_string().contains("t-2 is read by another source"), "{error}");
    let mut seen = Vec::new();
    for _ in 0..350 {
        let record = soon(plain.next()).await.unwrap().unwrap();
        seen.push((record.partition(), record.offset()));
    }
    // Nobody has to wait until another partition is read to its end.
    assert!(seen[..160].iter().any(|(partition, _)| *partition == 1), "{seen:?}");
    seen.sort_unstable();
    assert_eq!((seen[299], seen[300], seen[349]), ((0, 299), (1, 250), (1, 299)));
    let mut last = None;
    for _ in 0..10 {
        last = Some(soon(committable.next()).await.unwrap().unwrap().offset);
    }
    // What one that is gone had handed out can be committed, and another goes on there.
    drop(committable);
    soon(last.take().unwrap().commit()).await.unwrap();
    assert_eq!(committed(&bench, 3).await[2], 10);
    let mut again = shared.committable_source([(tp(2), None)]).unwrap();
    assert_eq!(soon(again.next()).await.unwrap().unwrap().record.offset(), 10);
    assert_eq!(control.metrics().fetched.sessions, 1);
    assert_eq!(plain.partitions().cloned().collect::<Vec<_>>(), [tp(0), tp(1)]);
    soon(control.shutdown(LIMIT)).await;
    assert!(soon(plain.next()).await.is_none());
    assert!(soon(again.next()).await.is_none());
    let shared = SharedConsumer::new(&cluster(&bench).await, earliest()).unwrap();
    assert!(matches!(shared.committable_source([(tp(0), None)]), Err(Error::Config { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_begun_again_after_a_pause() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 15], Compression::None).await;
    let address = bench.broker.bootstrap();
    let begun = Arc::new(Mutex::new(Vec::new()));
    let (noted, attempts) = (Arc::clone(&begun), Arc::new(AtomicUsize::new(0)));
    let settings = RestartSettings::default()
        .with_min_backoff(Duration::from_millis(40))
        .with_max_backoff(Duration::from_millis(100))
        .with_random_factor(0.0)
        .with_max_restarts(Some(3))
        .with_max_restarts_within(Some(LONG));
    let begin = move |_| {
        noted.lock().unwrap().push(Instant::now());
        let attempt = attempts.fetch_add(1, Ordering::SeqCst);
        let address = address.clone();
        async move {
            if attempt == 1 {
                return Err("no connection".to_owned());
            }
            let cluster = Cluster::connect(&address, Options::default()).await.unwrap();
            let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
            let offsets =
                source.map_err(|error| error.to_string()).and_then(move |message| async move {
                    let offset = message.record.offset();
                    // It fails at a certain record of each life.
                    if offset == 3 * attempt as i64 + 3 {
                        return Err(format!("cannot work on {offset}"));
                    }
                    message.offset.commit().await.map_err(|error| error.to_string())?;
                    Ok(offset)
                });
            Ok(offsets)
        }
    };
    let source = stream::with_backoff(settings, begin, |error| error.is_some());
    let control = source.control();
    let all: Vec<Result<i64, String>> = soon(source.collect()).await;
    assert_eq!(control.restarts(), 3, "also once the source is gone");
    let worked: Vec<i64> = all.iter().filter_map(|item| item.as_ref().ok().copied()).collect();
    assert_eq!(worked, (0..12).collect::<Vec<_>>(), "each once, in order");
    // Three restarts were all there may be.
    assert_eq!(all.last(), Some(&Err("cannot work on 12".to_owned())));
    assert_eq!(all.len(), 13);
    let begun = begun.lock().unwrap();
    let pauses: Vec<Duration> = begun.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(pauses.iter().all(|pause| *pause >= Duration::from_millis(40)), "{pauses:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_in_parallel_comes_out_in_order_and_one_at_a_time_for_a_key() {
    let under_way: Arc<Mutex<Vec<u32>>> = Arc::default();
    let most = Arc::new(AtomicUsize::new(0));
    let (working, peak) = (Arc::clone(&under_way), Arc::clone(&most));
    let numbers = futures_util::stream::iter((0..500u32).map(Ok::<_, Error>));
    let done = stream::map_ordered_by(
        numbers,
        8,
        |number| number % 5,
        move |number| {
            let (working, peak) = (Arc::clone(&working), Arc::clone(&peak));
            async move {
                let key = number % 5;
                {
                    let mut working = working.lock().unwrap();
                    assert!(!working.contains(&key), "two of one key at once");
                    working.push(key);
                    peak.fetch_max(working.len(), Ordering::SeqCst);
                }
                tokio::time::sleep(Duration::from_micros(u64::from(number * 7919 % 900))).await;
                working.lock().unwrap().retain(|known| *known != key);
                Ok(number)
            }
        },
    );
    let all: Vec<u32> = soon(done.try_collect()).await.unwrap();
    assert_eq!(all, (0..500).collect::<Vec<_>>());
    let most = most.load(Ordering::SeqCst);
    assert!((2..=5).contains(&most), "{most}");
    // What was before an error comes out, and nothing behind it; so with work that panics.
    for is_panic in [false, true] {
        let numbers = futures_util::stream::iter((0..50u32).map(Ok::<_, Error>));
        let done = stream::map_ordered_by(
            numbers,
            8,
            |number| *number,
            move |number| async move {
                tokio::time::sleep(Duration::from_millis(u64::from(10 - number % 10))).await;
                match number {
                    5 if is_panic => panic!("a panic on purpose"),
                    5 => Err(Error::UnknownBroker(5)),
                    number => Ok(number),
                }
            },
        );
        let all: Vec<_> = soon(done.collect::<Vec<_>>()).await;
        let good = all.iter().filter(|item| item.is_ok()).count();
        assert!(good <= 5 && all.len() == good + 1 && all[good].is_err(), "{all:?}");
        assert!(is_panic || good == 5, "{all:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_stays_while_the_application_works() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    let config = grouped().with_max_poll_interval(Duration::from_millis(600));
    let cluster = cluster(&bench).await;
    let mut source = stream::committable_source(&cluster, config, topic()).unwrap();
    let message = soon(source.next()).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let status = source.control().why().group;
    assert_eq!(status, Some(GroupStatus::Stable { partitions: 1 }));
    soon(message.offset.commit()).await.unwrap();
    assert_eq!(soon(source.next()).await.unwrap().unwrap().record.offset(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_are_bounded_whatever_the_application_holds() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b", "c"], Compression::None).await;
    let cluster = cluster(&bench).await;
    let open = || stream::committable_source(&cluster, grouped(), topic()).unwrap();
    // A drain waits for what is in hands, but no longer than it may.
    let mut source = open();
    let message = soon(source.next()).await.unwrap().unwrap();
    let began = Instant::now();
    let control = source.control();
    let limit = Duration::from_millis(500);
    assert_eq!(soon(control.drain_and_shutdown(async { 7 }, limit)).await, Some(7));
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
    assert!(matches!(soon(message.offset.commit()).await, Err(Error::Revoked(_))));
    // What never completes is not waited for either.
    let mut source = open();
    let message = soon(source.next()).await.unwrap().unwrap();
    assert_eq!(message.record.offset(), 0);
    let never = std::future::pending::<()>();
    assert_eq!(soon(source.control().drain_and_shutdown(never, limit)).await, None);
    // Forever may be asked for.
    let mut source = open();
    let message = soon(source.next()).await.unwrap().unwrap();
    assert_eq!(message.record.offset(), 0);
    let control = source.control();
    let draining = tokio::spawn(async move {
        control.drain_and_shutdown(std::future::ready(()), Duration::MAX).await
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!draining.is_finished());
    soon(message.offset.commit()).await.unwrap();
    assert_eq!(soon(draining).await.unwrap(), Some(()));
    assert_eq!(committed(&bench, 1).await, [1]);
    // Two ways at once: the quick one counts.
    let mut source = open();
    let message = soon(source.next()).await.unwrap().unwrap();
    assert_eq!(message.record.offset(), 1);
    let control = source.control();
    let other = source.control();
    let draining =
        tokio::spawn(async move { control.drain_and_shutdown(std::future::ready(()), LONG).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    soon(other.shutdown(LIMIT)).await;
    assert_eq!(soon(draining).await.unwrap(), Some(()));
    drop(message);
    // A source that was dropped with something in hands lets go in time.
    let settings = ConsumerSettings::from(grouped()).with_stop_timeout(Duration::from_millis(300));
    let mut source = stream::committable_source(&cluster, settings, topic()).unwrap();
    let message = soon(source.next()).await.unwrap().unwrap();
    let control = source.control();
    drop(source);
    soon(control.is_shutdown()).await;
    drop(message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_does_not_wait_longer_than_set() {
    let bench = Bench::at_barrier(1).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    let cluster = cluster(&bench).await;
    let protocol = GroupProtocol::Classic { assignors: vec![Assignor::Range] };
    let config = grouped().with_group_protocol(protocol);
    let revocation_timeout = Duration::from_millis(300);
    let settings =
        ConsumerSettings::from(config.clone()).with_revocation_timeout(revocation_timeout);
    let mut first = stream::committable_partitioned_source(&cluster, settings, topic()).unwrap();
    let (_, mut stream) = soon(first.next()).await.unwrap().unwrap();
    let message = soon(stream.next()).await.unwrap().unwrap();
    let began = Instant::now();
    let second = stream::committable_partitioned_source(&cluster, config, topic()).unwrap();
    // It ends at once, and comes back to one of them after the time is over.
    soon(async { while stream.next().await.is_some() {} }).await;
    let early = began.elapsed();
    let mut second = second;
    let next = soon(async {
        tokio::select! {
            next = first.next() => next,
            next = second.next() => next,
        }
    });
    let (_, mut stream) = next.await.unwrap().unwrap();
    assert!(began.elapsed() - early >= Duration::from_millis(250), "{:?}", began.elapsed());
    // Too late: the record was not acknowledged, and is read again.
    assert!(matches!(soon(message.offset.commit()).await, Err(Error::Revoked(_))));
    assert_eq!(soon(stream.next()).await.unwrap().unwrap().record.offset(), 0);
}

/// Reads with one member, now and then dropping a stream, a future or a whole source; every offset
/// is acknowledged after its record was worked on, or not at all.
async fn work<St>(stream: &mut St, rng: &mut Random, worked: &Mutex<Vec<(i32, i64)>>) -> bool
where
    St: Stream<Item = Result<stream::CommittableMessage, Error>> + Unpin,
{
    let limit = Duration::from_millis(1 + rng.below(30));
    // The future is dropped when nothing came in time.
    let Ok(next) = tokio::time::timeout(limit, stream.next()).await else { return true };
    let Some(message) = next else { return false };
    let message = message.unwrap();
    let at = (message.record.partition(), message.record.offset());
    if rng.below(10) == 0 {
        tokio::time::sleep(Duration::from_millis(rng.below(10))).await;
    }
    worked.lock().unwrap().push(at);
    if rng.below(3) == 0 {
        // Dropped in the middle, or by a rebalance too late: it is committed with what comes next.
        drop(
            tokio::time::timeout(Duration::from_micros(rng.below(900)), message.offset.commit())
                .await,
        );
    } else {
        let committer = Committer::new(CommitterSettings::default().with_max_batch(3));
        committer.run(futures_util::stream::iter([Ok::<_, Error>(message.offset)])).await.unwrap();
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_dropped_no_record_is_lost() {
    let protocols = [
        GroupProtocol::Classic { assignors: vec![Assignor::Range] },
        GroupProtocol::Classic { assignors: vec![Assignor::CooperativeSticky] },
    ];
    for (seed, protocol) in protocols.into_iter().enumerate() {
        let bench = Bench::with(3).await;
        let config = grouped().with_group_protocol(protocol.clone());
        for partition in 0..3 {
            for _ in 0..20 {
                bench.produce(partition, &["x"; 5], Compression::Lz4).await;
            }
        }
        let worked: Arc<Mutex<Vec<(i32, i64)>>> = Arc::default();
        let mut members = Vec::new();
        for member in 0..2u64 {
            let (worked, config) = (Arc::clone(&worked), config.clone());
            let cluster = cluster(&bench).await;
            members.push(tokio::spawn(async move {
                let mut rng = Random::new(seed as u64 * 31 + member + 1);
                loop {
                    let opened =
                        stream::committable_partitioned_source(&cluster, config.clone(), topic());
                    let mut source = opened.unwrap();
                    let mut streams = Vec::new();
                    for _ in 0..40 + rng.below(200) {
                        let wait = Duration::from_millis(rng.below(5));
                        if let Ok(Some(next)) = tokio::time::timeout(wait, source.next()).await {
                            streams.push(next.unwrap().1);
                        }
                        if streams.is_empty() {
                            continue;
                        }
                        let at = rng.below(streams.len() as u64) as usize;
                        let goes_on = work(&mut streams[at], &mut rng, &worked).await;
                        if !goes_on || rng.below(20) == 0 {
                            drop(streams.swap_remove(at));
                        }
                        if worked.lock().unwrap().len() > 100_000 {
                            panic!("it goes round in circles");
                        }
                    }
                    let is_done = {
                        let mut worked = worked.lock().unwrap().clone();
                        worked.sort_unstable();
                        worked.dedup();
                        worked.len() == 300
                    };
                    let control = source.control();
                    drop((source, streams));
                    control.is_shutdown().await;
                    if is_done {
                        return;
                    }
                }
            }));
        }
        for member in members {
            tokio::time::timeout(Duration::from_secs(60), member).await.expect("too slow").unwrap();
        }
        assert_eq!(committed(&bench, 3).await, [100; 3], "{protocol:?}");
        // In order within a partition, but for what had to be read again from the start of it.
        let worked = worked.lock().unwrap();
        let mut highest = [-1i64; 3];
        for (partition, offset) in worked.iter() {
            let highest = &mut highest[*partition as usize];
            assert!(*offset <= *highest + 1, "{partition}: {offset} after {highest}");
            *highest = (*highest).max(*offset);
        }
        eprintln!("{protocol:?}: {} for 300 records", worked.len());
    }
}

type Items = Vec<Result<u32, &'static str>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_progress_is_a_recovery() {
    let settings = RestartSettings::default()
        .with_min_backoff(Duration::from_millis(5))
        .with_max_backoff(Duration::from_millis(10))
        .with_random_factor(0.0)
        .with_max_restarts(Some(3))
        .with_max_restarts_within(None);
    // To begin takes longer than the smallest pause, as joining a group does. It fails at once, or
    // behind what it fails behind each time.
    for before in [0, 2] {
        let begin = |_| async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let items = (0..before).map(Ok).chain([Err("poison")]);
            Ok::<_, &str>(futures_util::stream::iter(items))
        };
        let source = stream::with_backoff(settings, begin, |error| error.is_some());
        let all: Items = soon(source.collect()).await;
        assert_eq!(all.iter().filter(|item| item.is_ok()).count(), 4 * before as usize);
        assert_eq!(all.last(), Some(&Err("poison")));
    }
    // One that goes on for a while after something came out of it has recovered.
    let begin = |_| async {
        let late = futures_util::stream::once(async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Err("broken")
        });
        Ok::<_, &str>(futures_util::stream::iter([Ok(1)]).chain(late).boxed())
    };
    let source = stream::with_backoff(settings, begin, |error| error.is_some());
    let all: Items = soon(source.take(10).collect()).await;
    assert_eq!(all, vec![Ok(1); 10]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_control_lasts_through_restarts_and_ends_pauses() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 5], Compression::None).await;
    let cluster = cluster(&bench).await;
    let settings = RestartSettings::default().with_min_backoff(Duration::ZERO);
    let begun = Arc::new(AtomicUsize::new(0));
    let worked = Arc::new(AtomicUsize::new(0));
    let (counted, done) = (Arc::clone(&begun), Arc::clone(&worked));
    let begin = move |control: stream::RestartControl| {
        let (cluster, attempt) = (cluster.clone(), counted.fetch_add(1, Ordering::SeqCst));
        let done = Arc::clone(&done);
        async move {
            let source = stream::committable_source(&cluster, grouped(), topic())?;
            control.watch(source.control());
            let offsets = source.and_then(move |message| {
                let number = if attempt == 0 { 0 } else { done.fetch_add(1, Ordering::SeqCst) };
                assert!(number < 5);
                let offset = (attempt > 0).then_some(message.offset);
                std::future::ready(offset.ok_or(Error::NotSubscribed))
            });
            Ok::<_, Error>(Committer::default().flow(offsets))
        }
    };
    let source = stream::with_backoff(settings, begin, |error| error.is_some());
    let control = source.control();
    let running = tokio::spawn(source.try_collect::<Vec<_>>());
    soon(async {
        while worked.load(Ordering::SeqCst) < 5 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    // The second source is drained, and nothing is begun again.
    let committed = soon(control.drain_and_shutdown(running, LONG)).await.unwrap().unwrap();
    assert_eq!(committed.unwrap().iter().map(|done| done.offsets).sum::<usize>(), 5);
    assert_eq!((begun.load(Ordering::SeqCst), support::committed(&bench, 1).await), (2, vec![5]));
    // A pause ends at once, and so does what is being begun.
    for is_beginning in [false, true] {
        let settings = settings.with_min_backoff(LONG).with_max_backoff(LONG);
        let begin = move |_| async move {
            if is_beginning {
                std::future::pending::<()>().await;
            }
            Err::<futures_util::stream::Empty<Result<(), &str>>, _>("no connection")
        };
        let source = stream::with_backoff(settings, begin, |error| error.is_some());
        let control = source.control();
        let running = tokio::spawn(source.collect::<Vec<_>>());
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!running.is_finished());
        let all = soon(control.drain_when(async {}, running, LONG)).await.unwrap().unwrap();
        assert!(all.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_for_a_signal_notices_a_stream_that_failed() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"; 3], Compression::None).await;
    let cluster = cluster(&bench).await;
    let source = stream::committable_source(&cluster, grouped(), topic()).unwrap();
    let control = source.control();
    let done = source.and_then(|message| async move {
        match message.record.offset() {
            2 => Err(Error::NotSubscribed),
            _ => Ok(message.offset),
        }
    });
    let committer = Committer::default();
    let running = committer.run(done);
    let never = std::future::pending::<()>();
    let ran = soon(control.drain_when(never, running, LONG)).await.unwrap();
    assert!(matches!(ran, Err(Error::NotSubscribed)), "{ran:?}");
    // What was done before is committed, and the group is left.
    soon(control.is_shutdown()).await;
    assert_eq!(support::committed(&bench, 1).await, [2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_panicked_or_is_late_is_an_error() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["v"], Compression::None).await;
    let cluster = cluster(&bench).await;
    let source = || stream::committable_source(&cluster, grouped(), topic()).unwrap();
    // It panics while it works.
    let running = source();
    let control = running.control();
    let task = tokio::spawn(running.try_for_each(|message| async move {
        assert_eq!(message.record.value(), None, "on purpose");
        Ok(())
    }));
    let error =
        soon(control.run_until(std::future::pending::<()>(), task, LONG)).await.unwrap_err();
    assert!(
        matches!(&error, Error::Callback { .. }) && error.to_string().contains("panic"),
        "{error}"
    );
    // It goes on for longer than there is time.
    let running = source();
    let control = running.control();
    let begun = Arc::new(tokio::sync::Notify::new());
    let told = Arc::clone(&begun);
    let task = tokio::spawn(running.try_for_each(move |_| {
        told.notify_one();
        std::future::pending::<Result<(), Error>>()
    }));
    let limit = Duration::from_millis(100);
    let error = soon(control.run_until(begun.notified(), task, limit)).await.unwrap_err();
    assert!(matches!(&error, Error::Timeout { .. }), "{error}");
    // Its own result, good or not.
    let running = source();
    let control = running.control();
    let task = tokio::spawn(async move {
        drop(running);
        Err::<(), Error>(Error::Wakeup)
    });
    let error =
        soon(control.run_until(std::future::pending::<()>(), task, LONG)).await.unwrap_err();
    assert!(matches!(&error, Error::Wakeup), "{error}");
}
