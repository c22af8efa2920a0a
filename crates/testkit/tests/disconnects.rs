//! Members whose connections are gone (`thalweg.group.disconnect.grace.ms`), over sockets.

use std::time::Duration;

use thalweg_testkit::TestBroker;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::{
    ConsumerGroupDescribeRequest, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
    SyncGroupRequest,
};

use crate::held_heartbeats::{bare, beat, held, join, topic};
use crate::support::{Client, connect, metric, until};

const DISCONNECTED: &str = "thalweg_group_members_disconnected_total";
/// Longest wait for an event. Shorter than any session here.
const WAIT: Duration = Duration::from_secs(60);

/// A broker on which no session ends while a test runs. Members of the consumer protocol are told 2 s.
async fn broker(grace_ms: i32) -> TestBroker {
    let broker = TestBroker::builder()
        .config("group.consumer.min.heartbeat.interval.ms", 2_000)
        .config("group.consumer.heartbeat.interval.ms", 2_000)
        .config("thalweg.group.disconnect.grace.ms", grace_ms)
        .config("thalweg.group.heartbeat.push", true)
        .config("group.initial.rebalance.delay.ms", 0)
        .config("group.consumer.assignment.interval.ms", 0)
        .config("group.consumer.max.session.timeout.ms", 3_600_000)
        .config("group.consumer.session.timeout.ms", 3_600_000)
        .config("group.max.session.timeout.ms", 3_600_000)
        .start();
    broker.await
}

/// A removal is counted before its record is committed, which is when members are described without it.
async fn until_members(client: &Client, count: usize) {
    let removed = async {
        while members(client).await != count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(WAIT, removed).await.expect("the member is described no more");
}

async fn members(client: &Client) -> usize {
    let request =
        ConsumerGroupDescribeRequest { group_ids: vec!["g".into()], ..Default::default() };
    let described = client.connection.send(&request).await.unwrap();
    described.groups[0].members.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_goes_a_while_after_its_last_connection() {
    let broker = broker(1).await;
    let (one, other, admin) =
        (connect(&broker).await, connect(&broker).await, connect(&broker).await);
    topic(&admin).await;
    join(&one, "ma").await;
    let epoch = join(&other, "mb").await;
    assert_eq!((members(&admin).await, metric(&broker, DISCONNECTED)), (2, 0));
    // While its heartbeat is held, too.
    let answer = held(&broker, &other, bare("mb", epoch)).await;
    answer.abort();
    drop((other, answer));
    until("the member is gone", || metric(&broker, DISCONNECTED) == 1).await;
    until_members(&admin, 1).await;
    assert_eq!(metric(&broker, "thalweg_heartbeats_held"), 0);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_has_another_connection_or_left_does_not_count() {
    let broker = broker(1).await;
    let (one, other, admin) =
        (connect(&broker).await, connect(&broker).await, connect(&broker).await);
    topic(&admin).await;
    let epoch = join(&one, "ma").await;
    beat(&admin, bare("ma", epoch)).await;
    drop(one);
    join(&other, "mb").await;
    beat(&other, bare("mb", -1)).await;
    drop(other);
    // In all likelihood the broker has heard of both ends when it has heard of this one.
    let last = connect(&broker).await;
    join(&last, "mc").await;
    drop(last);
    until("the last member is gone", || metric(&broker, DISCONNECTED) == 1).await;
    until_members(&admin, 1).await;
    broker.shut_down().await;
}

fn classic(member: &str) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 3_600_000,
        rebalance_timeout_ms: 3_600_000,
        member_id: member.into(),
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol { name: "own".into(), ..Default::default() }],
        ..Default::default()
    }
}

async fn ask_to_join(client: &Client, member: &str) -> JoinGroupResponse {
    loop {
        let answer = tokio::time::timeout(WAIT, client.connection.send(&classic(member))).await;
        let answer = answer.expect("an answer").unwrap();
        if answer.error_code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
            return answer;
        }
        tokio::task::yield_now().await;
    }
}

/// A member of a classic group joins, asks for its assignment, and sends two heartbeats.
async fn form(client: &Client, member: &str) {
    let joined = ask_to_join(client, member).await;
    assert_eq!(joined.error_code, ErrorCode::NONE);
    let generation_id = joined.generation_id;
    let sync = SyncGroupRequest {
        group_id: "g".into(),
        generation_id,
        member_id: member.into(),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("own".into()),
        ..Default::default()
    };
    let synced = client.connection.send(&sync).await.unwrap();
    assert_eq!(synced.error_code, ErrorCode::NONE);
    let heartbeat = HeartbeatRequest {
        group_id: "g".into(),
        generation_id,
        member_id: member.into(),
        ..Default::default()
    };
    for _ in 0..2 {
        let answer = client.connection.send(&heartbeat).await.unwrap();
        assert_eq!(answer.error_code, ErrorCode::NONE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn barrier_does_not_wait_for_members_that_died() {
    let broker = broker(1).await;
    let mut last = connect(&broker).await;
    topic(&last).await;
    let id = ask_to_join(&last, "").await.member_id;
    form(&last, &id).await;
    for removed in 1..=2 {
        // The next one waits for the last one, which has gone.
        let next = connect(&broker).await;
        let id = ask_to_join(&next, "").await.member_id;
        drop(std::mem::replace(&mut last, next));
        form(&last, &id).await;
        assert_eq!(metric(&broker, DISCONNECTED), removed);
    }
    broker.shut_down().await;
}
