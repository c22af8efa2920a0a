//! What requests hold in memory: counted, bounded, and given back.

use crate::support;

use std::time::{Duration, Instant};

use bytes::Bytes;
use support::{Data, connect, metric, until};
use thalweg_testkit::faults::{DiskOp, Faults};
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use thalweg_wire::messages::fetch_request::FetchPartition;
use thalweg_wire::messages::leave_group_request::MemberIdentity;
use thalweg_wire::messages::{CreateTopicsRequest, FetchRequest, FetchResponse, LeaveGroupRequest};
use thalweg_wire::{ErrorCode, Uuid};

const MIB: u64 = 1 << 20;
/// Of a request that is to be large.
const CONFIGS: usize = 15_000;
const REQUESTS: &str = "thalweg_request_memory_bytes";
const FETCHES: &str = "thalweg_fetch_memory_bytes";
const CONNECTIONS: &str = "kafka_server_socketservermetrics_connection_count";
const GROUPS: &str = "thalweg_group_memory_bytes";

/// Members that wait hold what they said, from an account of its own: when that is full others are
/// sent away, and requests are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_that_wait_do_not_hold_what_requests_need() {
    let broker = TestBroker::builder()
        .config("socket.request.max.bytes", 4 * MIB)
        .config("queued.max.request.bytes", 8 * MIB)
        .config("group.initial.rebalance.delay.ms", 60_000)
        .start()
        .await;
    let client = connect(&broker).await;
    let topic = client.create("t", 1, &[]).await;
    assert_eq!(client.coordinator("g").await, ErrorCode::NONE);
    let metadata = Bytes::from(vec![7; 1 << 20]);
    let mut members = Vec::new();
    for n in 0..24 {
        let (client, metadata) = (connect(&broker).await, metadata.clone());
        members.push(tokio::spawn(async move {
            client.join("g", &format!("member-{n}"), metadata).await
        }));
    }
    // Seven of a MiB and something more fit into eight.
    until("17 refusals", || members.iter().filter(|m| m.is_finished()).count() == 17).await;
    assert!((7 * MIB..8 * MIB).contains(&metric(&broker, GROUPS)), "{}", metric(&broker, GROUPS));
    until("the end of the requests", || metric(&broker, REQUESTS) == 0).await;
    // Others are served, with requests as large as they may be.
    let value = "x".repeat(900_000);
    for offset in 0..10 {
        assert_eq!(client.produce(topic, 0, &value).await, Ok(offset));
    }
    assert_eq!(client.heartbeat("g").await, ErrorCode::UNKNOWN_MEMBER_ID);

    // What leaves is given back, and the place is taken by others.
    let leave = LeaveGroupRequest {
        group_id: "g".into(),
        members: (0..24)
            .map(|n| MemberIdentity {
                group_instance_id: Some(format!("member-{n}")),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    assert_eq!(client.connection.send(&leave).await.unwrap().error_code, ErrorCode::NONE);
    let mut answers: Vec<ErrorCode> = Vec::new();
    for member in members {
        answers.push(member.await.unwrap());
    }
    let count = |code| answers.iter().filter(|answer| **answer == code).count();
    assert_eq!(count(ErrorCode::COORDINATOR_NOT_AVAILABLE), 17, "{answers:?}");
    assert_eq!(count(ErrorCode::UNKNOWN_MEMBER_ID), 7, "{answers:?}");
    assert_eq!(metric(&broker, GROUPS), 0);
    broker.shut_down().await;
}

/// A request that waits for the controller holds what it was decoded to, and no more of them are
/// decoded than there is room for; who needs little is served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decoded_requests_are_counted_until_they_are_done() {
    let (data, faults) = (Data::new(), Faults::new());
    let broker = TestBroker::builder()
        .data(&data.0)
        .dirs(&["a", "b"])
        .faults(&faults)
        .config("socket.request.max.bytes", 4 * MIB)
        .config("queued.max.request.bytes", 8 * MIB)
        .start()
        .await;
    let client = connect(&broker).await;
    let topic = client.create("t", 1, &[]).await;
    // When the requests hold all there is, nobody new is heard.
    let mut clients = Vec::new();
    for _ in 0..12 {
        clients.push(connect(&broker).await);
    }
    let first = connect(&broker).await;
    faults.hold(&[DiskOp::Sync], "__cluster_metadata");
    let request = |n: usize| CreateTopicsRequest {
        topics: vec![CreatableTopic {
            name: format!("t-{n}"),
            num_partitions: 1,
            replication_factor: 1,
            // In memory several times what it is on the wire.
            configs: (0..CONFIGS)
                .map(|_| CreatableTopicConfig {
                    name: "no.such.config".into(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }],
        timeout_ms: 60_000,
        ..Default::default()
    };
    let first = tokio::spawn(async move { first.create("first", 1, &[]).await });
    until("the sync that is held", || metric(&broker, REQUESTS) > 0).await;
    let mut waiting = Vec::new();
    for (n, client) in clients.into_iter().enumerate() {
        let request = request(n);
        waiting.push(tokio::spawn(async move {
            client.connection.send(&request).await.unwrap().topics[0].error_code
        }));
    }
    let one = CONFIGS as u64 * size_of::<CreatableTopicConfig>() as u64;
    until("a request that was decoded", || metric(&broker, REQUESTS) > one).await;
    let mut most = 0;
    for _ in 0..100 {
        most = most.max(metric(&broker, REQUESTS));
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    // The limit, and one request beyond it, with what its decoding may ask for at once.
    assert!(most <= 8 * MIB + 4 * one, "{most} bytes, one takes {one}");
    faults.clear();
    first.await.unwrap();
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap(), ErrorCode::INVALID_CONFIG);
    }
    assert_eq!(client.produce(topic, 0, "x").await, Ok(0));
    until("the end of the requests", || metric(&broker, REQUESTS) == 0).await;
    broker.shut_down().await;
}

/// Fetches of very many partitions hold what was made of them while they wait, from what answers to
/// fetches may have: requests are read meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetches_that_wait_are_counted() {
    const PARTITIONS: i32 = 5_000;
    let broker = TestBroker::builder().start().await;
    let client = connect(&broker).await;
    let topic = client.create("t", 1, &[]).await;
    // All of the same partition: what a request names need not exist, nor be named once.
    let partition = FetchPartition { partition_max_bytes: 1, ..requests::partition(0, 0) };
    let request = FetchRequest {
        max_wait_ms: 300_000,
        min_bytes: 1,
        max_bytes: 1 << 20,
        ..requests::fetch(topic, vec![partition; PARTITIONS as usize])
    };
    let mut fetches = Vec::new();
    for _ in 0..3 {
        let (client, request) = (connect(&broker).await, request.clone());
        fetches.push(tokio::spawn(async move { client.connection.send(&request).await }));
    }
    let least = 3 * PARTITIONS as u64 * 100;
    until("fetches that wait", || metric(&broker, FETCHES) >= least).await;
    until("the end of their frames", || metric(&broker, REQUESTS) == 0).await;
    fetches.iter().for_each(tokio::task::JoinHandle::abort);
    until("the end of the fetches", || metric(&broker, FETCHES) == 0).await;
    assert_eq!(client.produce(topic, 0, "x").await, Ok(0));
    broker.shut_down().await;
}

/// One that asks for the same partition so many times, and waits for data.
fn fetch_of(topic: Uuid, partition: i32, times: usize) -> FetchRequest {
    FetchRequest {
        max_wait_ms: 300_000,
        min_bytes: 1,
        max_bytes: 1 << 20,
        ..requests::fetch(topic, vec![requests::partition(partition, 0); times])
    }
}

fn has_records(answer: &FetchResponse) -> bool {
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.filter_map(|partition| partition.records.as_ref()).any(|records| !records.is_empty())
}

/// A fetch that there is no room to wait for is answered, and its client cannot do that again and again:
/// it is told a throttle time, and not read from before that is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_without_room_to_wait_does_not_spin() {
    let broker = TestBroker::builder().fetch_memory(1 << 10).start().await;
    let client = connect(&broker).await;
    let topic = client.create("t", 1, &[]).await;
    let request = fetch_of(topic, 0, 100);
    let version = client.connection.version_of::<FetchRequest>().unwrap();
    let begun = Instant::now();
    let mut answers = 0;
    while begun.elapsed() < Duration::from_secs(1) {
        // The client does not heed the throttle time of an answer that it does not read.
        let answer = support::send(&client.connection, &request, version).await;
        answers += 1;
        assert!(answer.throttle_time_ms > 0 && !has_records(&answer));
        let most = begun.elapsed().as_millis() / answer.throttle_time_ms as u128 + 1;
        assert!(answers <= most, "{answers} answers, of {most}");
    }
    // A connection that is not read from is closed when its client goes, and other ones are served.
    let other = connect(&broker).await;
    assert_eq!(other.produce(topic, 0, "x").await, Ok(0));
    let answer = client.connection.send(&request).await.unwrap();
    assert!(answer.throttle_time_ms == 0 && has_records(&answer));
    broker.shut_down().await;
}

/// A fetch that waits for a disk holds what was made of it meanwhile; where there is no room for that it
/// is answered with what is in memory. One may always wait, so that what is on the disk is read some time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetches_that_wait_for_a_disk_are_counted() {
    const TIMES: usize = 40;
    let (data, faults) = (Data::new(), Faults::new());
    let broker = TestBroker::builder()
        .data(&data.0)
        .dirs(&["a", "b"])
        .faults(&faults)
        .fetch_memory(1)
        .start()
        .await;
    let client = connect(&broker).await;
    let topic = client.create("t", 2, &[]).await;
    let partition = client.placed("t").await["b"][0];
    assert_eq!(client.produce(topic, partition, "x").await, Ok(0));
    let request = fetch_of(topic, partition, TIMES);
    faults.hold(&[DiskOp::Read], "/b/t-");
    let mut waiting = Vec::new();
    let mut held = TIMES as u64 * 100;
    for _ in 0..2 {
        let (client, request) = (connect(&broker).await, request.clone());
        waiting.push(tokio::spawn(async move { client.connection.send(&request).await }));
        until("a fetch that waits", || metric(&broker, FETCHES) >= held).await;
        // The next one takes as much.
        held = 2 * metric(&broker, FETCHES);
    }
    // The first took what there was, the second goes past it, and that is all.
    let third = client.connection.send(&request);
    let answer = tokio::time::timeout(Duration::from_secs(20), third).await;
    let answer = answer.expect("an answer without the disk").unwrap();
    assert!(answer.throttle_time_ms > 0 && !has_records(&answer));
    assert_eq!(answer.responses[0].partitions[0].error_code, ErrorCode::NONE);
    let begun = Instant::now();
    for answers in 0..5 {
        let answer = client.connection.send(&request).await.unwrap();
        let most = begun.elapsed().as_millis() / answer.throttle_time_ms.max(1) as u128;
        assert!(answer.throttle_time_ms > 0 && answers <= most, "{answers} answers, of {most}");
    }
    assert!(waiting.iter().all(|fetch| !fetch.is_finished()));
    faults.clear();
    for fetch in waiting {
        assert!(has_records(&fetch.await.unwrap().unwrap()));
    }
    until("the end of the fetches", || metric(&broker, FETCHES) == 0).await;
    broker.shut_down().await;
}

/// What a fetch holds while it waits for a disk is held as long as the disk is waited for, whether or not
/// its client is still there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_gives_back_nothing_that_is_still_held() {
    let (data, faults) = (Data::new(), Faults::new());
    let broker = TestBroker::builder().data(&data.0).faults(&faults).start().await;
    let client = connect(&broker).await;
    let topic = client.create("t", 1, &[]).await;
    assert_eq!(client.produce(topic, 0, "x").await, Ok(0));
    let connections = metric(&broker, CONNECTIONS);
    let reads = faults.hold(&[DiskOp::Read], "/t-0/");
    let (leaving, request) = (connect(&broker).await, fetch_of(topic, 0, 40));
    let waiting = tokio::spawn(async move { leaving.connection.send(&request).await });
    // Room for the copies is taken after that for waiting, and before the first read.
    until("a read that is held", || reads.get() > 0).await;
    let held = metric(&broker, FETCHES);
    assert!(held > 0);
    waiting.abort();
    until("the end of the connection", || metric(&broker, CONNECTIONS) == connections).await;
    assert_eq!(metric(&broker, FETCHES), held);
    faults.clear();
    until("the end of the fetch", || metric(&broker, FETCHES) == 0).await;
    broker.shut_down().await;
}
