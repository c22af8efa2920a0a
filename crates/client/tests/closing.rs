//! How consumers end, and what is left of them.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use support::tap::tapped;
use support::{Bench, earliest, grouped, soon, tp, until};
use thalweg::consumer::ListenerFuture;
use thalweg::{
    Cluster, Consumer, Error, GroupStatus, Options, Position, Rebalance, RebalanceListener,
};
use thalweg_records::Compression;
use thalweg_wire::ApiKey;

const LIMIT: Duration = Duration::from_secs(10);

async fn read(consumer: &mut Consumer, count: usize) -> Vec<(i32, i64)> {
    let mut all = Vec::new();
    while all.len() < count {
        let records = soon(consumer.poll(count - all.len())).await.unwrap();
        all.extend(records.iter().map(|record| (record.partition(), record.offset())));
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_has_nothing_fetched_once_the_consumer_is_closed() {
    let (tap, address, bench) = tapped(2).await;
    for partition in 0..2 {
        bench.produce(partition, &["v"; 50], Compression::None).await;
    }
    for is_member in [false, true] {
        let cluster = Cluster::connect(&address, Options::default()).await.unwrap();
        let config = if is_member { grouped() } else { earliest() };
        let mut consumer = Consumer::new(cluster, config).unwrap();
        let handle = consumer.handle();
        if is_member {
            consumer.subscribe(["t"]).unwrap();
        } else {
            consumer.assign([(tp(0), None), (tp(1), None)]).unwrap();
        }
        // A little of a batch: the rest is lent, or buffered.
        assert_eq!(read(&mut consumer, 3).await.len(), 3);
        consumer.pause([&tp(1)]).unwrap();
        assert!(handle.budget_used().0 > 0);
        let mut asked = 0;
        if is_member {
            soon(consumer.close(LIMIT)).await.unwrap();
        } else {
            drop(consumer);
        }
        until(|| handle.budget_used().0 == 0).await;
        until(|| {
            asked += tap.take().requests(ApiKey::FETCH);
            asked >= handle.counts().requests - handle.counts().sessionless
        })
        .await;
        let before = handle.counts();
        for _ in 0..20 {
            assert!(handle.seek(&tp(0), Position::at(0)).is_err(), "nothing is read here");
            assert!(handle.resume([&tp(1)]).is_err());
            assert!(handle.seek_to_beginning([&tp(0)]).is_err());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(tap.take().requests(ApiKey::FETCH), 0);
        assert_eq!((handle.counts(), handle.budget_used().0), (before, 0));
        assert_eq!((handle.assignment(), handle.position(&tp(0))), (vec![], None));
        let refused = soon(handle.commit_async()).await;
        assert!(matches!(refused, Err(Error::ConsumerClosed)), "{refused:?}");
    }
}

// On one thread: nothing else goes on while a future is polled once.
#[tokio::test]
async fn a_close_that_is_dropped_leaves_nobody_waiting() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b", "c"], Compression::None).await;
    let mut consumer = bench.consumer(grouped()).await;
    for round in 0..3 {
        consumer.subscribe(["t"]).unwrap();
        assert_eq!(read(&mut consumer, 1).await, [(0, round)], "it begins anew");
        // Dropped at the first moment that it waits for something.
        let dropped = if round == 1 {
            consumer.close(LIMIT).now_or_never().is_none()
        } else {
            consumer.unsubscribe().now_or_never().is_none()
        };
        assert!(dropped, "it was over at once");
        let polled = soon(consumer.poll(1)).await;
        assert!(matches!(polled, Err(Error::NotSubscribed)), "{polled:?}");
        assert!(matches!(consumer.try_poll(1), Err(Error::NotSubscribed)));
        // It goes on without being waited for.
        until(|| consumer.group_status() == Some(GroupStatus::Left)).await;
        let polled = soon(consumer.poll_timeout(1, LIMIT)).await;
        assert!(matches!(polled, Err(Error::NotSubscribed)), "{polled:?}");
    }
    // Once more, and to the end.
    soon(consumer.unsubscribe()).await.unwrap();
    assert_eq!(consumer.group_status(), None);
    soon(consumer.close(LIMIT)).await.unwrap();
    assert!(matches!(soon(consumer.poll(1)).await, Err(Error::ConsumerClosed)));
}

// On one thread: nothing else goes on while a future is polled once.
#[tokio::test]
async fn who_dropped_a_close_has_to_poll_as_anybody() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a"], Compression::None).await;
    let config = grouped().with_max_poll_interval(Duration::from_millis(500));
    let mut consumer = bench.consumer(config).await;
    consumer.subscribe(["t"]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 0)]);
    assert!(consumer.unsubscribe().now_or_never().is_none());
    until(|| consumer.group_status() == Some(GroupStatus::Left)).await;
    // The close is not a poll that goes on for ever.
    consumer.subscribe(["t"]).unwrap();
    until(|| consumer.group_status() == Some(GroupStatus::PollIntervalExceeded)).await;
    soon(consumer.close(LIMIT)).await.unwrap();
}

/// Counts what it hears of partitions that go.
#[derive(Default)]
struct Count(AtomicUsize);

impl RebalanceListener for Count {
    fn revoked<'a>(&'a self, _: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(async {
            self.0.fetch_add(1, Ordering::SeqCst);
        })
    }
}

// On one thread: nothing else goes on while a future is polled once.
#[tokio::test]
async fn a_close_that_is_dropped_goes_on_when_the_listener_has_heard_of_it() {
    let bench = Bench::with(1).await;
    bench.produce(0, &["a", "b"], Compression::None).await;
    let mut consumer = bench.consumer(grouped()).await;
    let count = Arc::new(Count::default());
    consumer.set_listener(Arc::clone(&count)).unwrap();
    consumer.subscribe(["t"]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 0)]);
    assert!(consumer.close(LIMIT).now_or_never().is_none());
    // Nobody calls the listener before a poll.
    assert_eq!(consumer.group_status(), Some(GroupStatus::Leaving));
    let refused = consumer.subscribe(["t"]);
    assert!(matches!(refused, Err(Error::Config { .. })), "{refused:?}");
    soon(async {
        while consumer.group_status() != Some(GroupStatus::Left) {
            let polled = consumer.poll_timeout(1, Duration::from_millis(10)).await;
            assert!(
                matches!(&polled, Ok(none) if none.is_empty())
                    || matches!(polled, Err(Error::NotSubscribed)),
                "{polled:?}"
            );
            // A poll that fails at once lets nobody else run.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    consumer.subscribe(["t"]).unwrap();
    assert_eq!(read(&mut consumer, 1).await, [(0, 1)]);
    soon(consumer.close(LIMIT)).await.unwrap();
}

// On one thread: no request asks for a partition between its assignment and its pause.
#[tokio::test]
async fn a_connection_for_sessionless_fetches_that_is_not_used_is_closed() {
    let bench = Bench::with(2).await;
    let options = Options::default().with_connections_max_idle(Duration::from_millis(100));
    let cluster = Cluster::connect(&bench.broker.bootstrap(), options).await.unwrap();
    let config = earliest().with_fetch_max_wait(Duration::from_secs(600));
    let mut consumer = Consumer::new(cluster, config).unwrap();
    consumer.assign([(tp(0), None), (tp(1), None)]).unwrap();
    consumer.pause([&tp(1)]).unwrap();
    until(|| consumer.counts().requests > 0).await;
    for _ in 0..2 {
        // The request for the other partition is held back all the while.
        let asked = consumer.counts().sessionless;
        bench.produce(1, &["x"], Compression::None).await;
        consumer.resume([&tp(1)]).unwrap();
        assert_eq!(read(&mut consumer, 1).await.len(), 1);
        consumer.pause([&tp(1)]).unwrap();
        assert!(consumer.counts().sessionless > asked);
        // That one's connection is left, and the test's own.
        until(|| bench.broker.metrics_text().contains("connection_count 2\n")).await;
    }
}
