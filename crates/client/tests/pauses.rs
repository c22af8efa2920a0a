//! What is refused again and again is tried again with growing pauses.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use support::hostile::{Fate, Hostile};
use support::{Bench, grouped, soon, topic};
use thalweg::{Cluster, Consumer, ErrorCode, Options, stream};
use thalweg_records::Compression;
use thalweg_wire::ApiKey;
use thalweg_wire::messages::{OffsetCommitResponse, OffsetFetchResponse};

/// Pauses begin with 1 ms and double up to a second: so many tries may be made within this time.
const A_WHILE: Duration = Duration::from_secs(2);
const TRIES_MAX: u64 = 25;

async fn until_asked(asked: &AtomicU64, times: u64) {
    soon(async {
        while asked.load(Ordering::SeqCst) < times {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_committed_is_looked_up_with_growing_pauses() {
    let hostile = Hostile::start().await;
    let (asked, refuses) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(1)));
    let (counted, refusing) = (Arc::clone(&asked), Arc::clone(&refuses));
    hostile.judge(move |answer| {
        if answer.api != ApiKey::OFFSET_FETCH || refusing.load(Ordering::SeqCst) == 0 {
            return Fate::Pass;
        }
        counted.fetch_add(1, Ordering::SeqCst);
        answer.change(|response: &mut OffsetFetchResponse| {
            let topics = response.groups.iter_mut().flat_map(|group| &mut group.topics);
            for partition in topics.flat_map(|topic| &mut topic.partitions) {
                partition.error_code = ErrorCode::UNSTABLE_OFFSET_COMMIT;
            }
        })
    });
    let cluster = Cluster::connect(&hostile.address, Options::default()).await.unwrap();
    let bench = Bench::on(hostile.broker, 1).await;
    bench.produce(0, &["a"], Compression::None).await;
    let config = grouped().with_retry_backoff(Duration::from_millis(1));
    let mut consumer = Consumer::new(cluster, config).unwrap();
    consumer.subscribe(["t"]).unwrap();
    let polling = tokio::spawn(async move { consumer.poll(1).await.map(|polled| polled.len()) });
    until_asked(&asked, 2).await;
    tokio::time::sleep(A_WHILE).await;
    let tries = asked.load(Ordering::SeqCst);
    assert!(tries <= TRIES_MAX, "{tries} tries");
    refuses.store(0, Ordering::SeqCst);
    assert_eq!(soon(polling).await.unwrap().unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_commits_with_growing_pauses() {
    let hostile = Hostile::start().await;
    let (asked, refuses) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(1)));
    let (counted, refusing) = (Arc::clone(&asked), Arc::clone(&refuses));
    hostile.judge(move |answer| {
        if answer.api != ApiKey::OFFSET_COMMIT || refusing.load(Ordering::SeqCst) == 0 {
            return Fate::Pass;
        }
        counted.fetch_add(1, Ordering::SeqCst);
        answer.change(|response: &mut OffsetCommitResponse| {
            for partition in response.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
                partition.error_code = ErrorCode::REBALANCE_IN_PROGRESS;
            }
        })
    });
    let cluster = Cluster::connect(&hostile.address, Options::default()).await.unwrap();
    let bench = Bench::on(hostile.broker, 1).await;
    bench.produce(0, &["a"], Compression::None).await;
    let config = grouped().with_retry_backoff(Duration::from_millis(1));
    let mut source = stream::committable_source(&cluster, config, topic()).unwrap();
    let control = source.control();
    let message = soon(source.next()).await.unwrap().unwrap();
    let committing = tokio::spawn(async move { message.offset.commit().await });
    until_asked(&asked, 2).await;
    tokio::time::sleep(A_WHILE).await;
    let tries = asked.load(Ordering::SeqCst);
    assert!(tries <= TRIES_MAX, "{tries} tries");
    refuses.store(0, Ordering::SeqCst);
    soon(committing).await.unwrap().unwrap();
    drop(source);
    soon(control.shutdown(Duration::from_secs(10))).await;
}
