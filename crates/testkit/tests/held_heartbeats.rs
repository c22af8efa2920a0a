//! Heartbeats that are held until there is something to say, as the client of a connection sees them.

use std::time::Duration;

use thalweg::{Connection, Options};
use thalweg_testkit::TestBroker;
use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ListGroupsRequest,
};
use thalweg_wire::{ErrorCode, Uuid};

use crate::support::{Client, connect, metric, until};

/// For how long something is waited for that must come. Longer than any heartbeat is held.
const WAIT: Duration = Duration::from_secs(60);
const HELD: &str = "thalweg_heartbeats_held";
const PUSHED: &str = "thalweg_heartbeats_pushed_total";

async fn broker(push: bool) -> TestBroker {
    let broker = TestBroker::builder()
        .config("thalweg.group.heartbeat.push", push)
        .config("group.consumer.assignment.interval.ms", 0)
        // So that no test ends by itself.
        .config("group.consumer.max.heartbeat.interval.ms", 3_600_000)
        .config("group.consumer.heartbeat.interval.ms", 9_000)
        .start();
    broker.await
}

pub fn bare(member: &str, epoch: i32) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: member.into(),
        member_epoch: epoch,
        rebalance_timeout_ms: -1,
        ..Default::default()
    }
}

pub async fn beat(
    client: &Client,
    request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupHeartbeatResponse {
    let answered = async {
        loop {
            let response = client.connection.send(&request).await.unwrap();
            if response.error_code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
                return response;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT, answered).await.expect("an answer")
}

/// All that a member can say, which is always answered.
fn full(member: &str, epoch: i32) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        rebalance_timeout_ms: 60_000,
        subscribed_topic_names: Some(vec!["t".into()]),
        topic_partitions: Some(Vec::new()),
        ..bare(member, epoch)
    }
}

/// Joins, and acknowledges what it is given; its epoch.
pub async fn join(client: &Client, member: &str) -> i32 {
    let mut response = beat(client, full(member, 0)).await;
    for _ in 0..2 {
        assert_eq!(response.error_code, ErrorCode::NONE, "{response:?}");
        response = beat(client, full(member, response.member_epoch)).await;
    }
    response.member_epoch
}

/// A heartbeat of a member that is held.
pub async fn held(
    broker: &TestBroker,
    client: &Client,
    request: ConsumerGroupHeartbeatRequest,
) -> tokio::task::JoinHandle<ConsumerGroupHeartbeatResponse> {
    let connection = client.connection.clone();
    let answer = tokio::spawn(async move {
        let answer = connection.send(&request);
        tokio::time::timeout(WAIT, answer).await.expect("an answer").unwrap()
    });
    until("the heartbeat is held", || metric(broker, HELD) == 1).await;
    assert!(!answer.is_finished());
    answer
}

/// A client of another make, as far as it says itself.
async fn connect_as(broker: &TestBroker, software: &str, version: &str) -> Client {
    let options = Options::default().with_software_name(software).with_software_version(version);
    Client { connection: Connection::open(&broker.bootstrap(), &options).await.unwrap() }
}

pub async fn topic(client: &Client) -> Uuid {
    assert_eq!(client.coordinator("g").await, ErrorCode::NONE);
    client.create("t", 2, &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_is_told_when_there_is_something_to_say() {
    let broker = broker(true).await;
    let (one, other) = (connect(&broker).await, connect(&broker).await);
    topic(&one).await;
    let epoch = join(&one, "ma").await;
    let answer = held(&broker, &one, bare("ma", epoch)).await;
    let pushed = metric(&broker, PUSHED);
    // Another member comes: this one has to give something up.
    join(&other, "mb").await;
    let answer = answer.await.unwrap();
    let assigned = answer.assignment.expect("an assignment").topic_partitions;
    assert_eq!(assigned.iter().map(|topic| topic.partitions.len()).sum::<usize>(), 1);
    assert_eq!((metric(&broker, HELD), metric(&broker, PUSHED)), (0, pushed + 1));
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_request_on_the_connection_ends_the_wait() {
    let broker = broker(true).await;
    let client = connect(&broker).await;
    topic(&client).await;
    let epoch = join(&client, "ma").await;
    let answer = held(&broker, &client, bare("ma", epoch)).await;
    let pushed = metric(&broker, PUSHED);
    // Answers come in the order of the requests, or the client would close the connection.
    let listed = client.connection.send(&ListGroupsRequest::default()).await.unwrap();
    assert_eq!(listed.groups.len(), 1);
    let answer = answer.await.unwrap();
    assert_eq!((answer.error_code, answer.member_epoch), (ErrorCode::NONE, epoch));
    assert_eq!((answer.assignment, metric(&broker, PUSHED)), (None, pushed));
    // One that comes together with the next request does not begin to wait.
    let (request, list) = (bare("ma", epoch), ListGroupsRequest::default());
    let both =
        async { tokio::join!(client.connection.send(&request), client.connection.send(&list)) };
    let (beat, listed) = tokio::time::timeout(WAIT, both).await.expect("both answers");
    assert_eq!(beat.unwrap().error_code, ErrorCode::NONE);
    assert_eq!(listed.unwrap().groups.len(), 1);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_heartbeat_is_asked_for_soon_when_one_could_not_be_held() {
    let broker = broker(true).await;
    let client = connect_as(&broker, "thalweg", "0.1.0").await;
    topic(&client).await;
    let epoch = join(&client, "ma").await;
    // One of a member that always has something to hear is followed by the next after the interval.
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(beat(&client, full("ma", epoch)).await.heartbeat_interval_ms);
    }
    assert_eq!(
        told,
        [450, 9_000, 9_000],
        "the fourth, fifth and sixth in a row that are answered at once"
    );
    let answer = held(&broker, &client, bare("ma", epoch)).await;
    tokio::time::sleep(Duration::from_millis(450)).await;
    client.connection.send(&ListGroupsRequest::default()).await.unwrap();
    assert_eq!(answer.await.unwrap().heartbeat_interval_ms, 450);
    // What it is told next it may be told any moment: there is something to hold soon.
    let answer = held(&broker, &client, bare("ma", epoch)).await;
    let other = connect(&broker).await;
    join(&other, "mb").await;
    let answer = answer.await.unwrap();
    assert!(answer.assignment.is_some());
    assert_eq!(answer.heartbeat_interval_ms, 450);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_nobody_has_run_is_not_held() {
    let broker = broker(true).await;
    let client = connect_as(&broker, "apache-kafka-java", "3.8.1").await;
    topic(&client).await;
    let epoch = join(&client, "ma").await;
    let answer = tokio::time::timeout(WAIT, beat(&client, bare("ma", epoch))).await.unwrap();
    assert_eq!(answer.error_code, ErrorCode::NONE);
    assert_eq!(metric(&broker, HELD), 0);
    broker.shut_down().await;
}

/// The Java client takes a whole core while its next heartbeat is due and the last one is in flight. So it is never
/// told an interval that is shorter than it may be held for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_java_client_is_never_asked_for_its_next_heartbeat_soon() {
    let broker = broker(true).await;
    let client = connect_as(&broker, "apache-kafka-java", "4.3.0").await;
    let id = topic(&client).await;
    let epoch = join(&client, "ma").await;
    // What it acknowledges is held like any other; all that it was told, so that nothing is missing.
    let all = TopicPartitions { topic_id: id, partitions: vec![0, 1], ..Default::default() };
    let owns =
        ConsumerGroupHeartbeatRequest { topic_partitions: Some(vec![all]), ..bare("ma", epoch) };
    let answer = held(&broker, &client, owns).await;
    tokio::time::sleep(Duration::from_millis(450)).await;
    client.connection.send(&ListGroupsRequest::default()).await.unwrap();
    assert_eq!(answer.await.unwrap().heartbeat_interval_ms, 9_000);
    let answer = held(&broker, &client, bare("ma", epoch)).await;
    let other = connect(&broker).await;
    let second = join(&other, "mb").await;
    let answer = answer.await.unwrap();
    assert!(answer.assignment.is_some());
    assert_eq!((answer.heartbeat_interval_ms, answer.error_code), (9_000, ErrorCode::NONE));
    // The other one waits for what this one has not given up, whatever its epoch.
    let waits = held(&broker, &other, bare("mb", second)).await;
    let given_up = ConsumerGroupHeartbeatRequest {
        topic_partitions: Some(Vec::new()),
        ..bare("ma", answer.member_epoch)
    };
    beat(&client, given_up).await;
    assert!(waits.await.unwrap().assignment.is_some());
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_stops_answers_and_a_client_that_goes_is_forgotten() {
    let broker = broker(true).await;
    let (client, gone) = (connect(&broker).await, connect(&broker).await);
    topic(&client).await;
    let epoch = join(&client, "ma").await;
    held(&broker, &gone, bare("ma", epoch)).await.abort();
    drop(gone);
    until("nothing is held", || metric(&broker, HELD) == 0).await;
    let answer = held(&broker, &client, bare("ma", epoch)).await;
    broker.shut_down().await;
    assert_eq!(answer.await.unwrap().error_code, ErrorCode::NOT_COORDINATOR);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_held_without_the_setting_nor_where_records_go() {
    for push in [false, true] {
        let broker = broker(push).await;
        let client = connect(&broker).await;
        let id = topic(&client).await;
        let epoch = join(&client, "ma").await;
        if push {
            client.produce(id, 0, "a record").await.unwrap();
        }
        let before = tokio::time::Instant::now();
        for _ in 0..20 {
            assert_eq!(beat(&client, bare("ma", epoch)).await.error_code, ErrorCode::NONE);
            assert_eq!(metric(&broker, HELD), 0);
        }
        // 20 that were held would be 180 s.
        assert!(before.elapsed() < WAIT);
        broker.shut_down().await;
    }
}
