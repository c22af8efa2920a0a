//! Members whose connections are gone (`thalweg.group.disconnect.grace.ms`), over sockets.

use std::time::Duration;

use thalweg_testkit::TestBroker;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::{
    ConsumerGroupDescribeRequest, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest,
};

use crate::held_heartbeats::{bare, beat, held, join, topic};
use crate::support::{Client, connect, metric, until};

const DISCONNECTED: &str = "thalweg_group_members_disconnected_total";
/// For how long something is waited for that must come. Shorter than any session here.
const WAIT: Duration = Duration::from_secs(60);

/// A broker on which no session ends while a test runs.
async fn broker(grace_ms: i32) -> TestBroker {
    let broker = TestBroker::builder()
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
    assert_eq!(members(&admin).await, 1);
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
    assert_eq!(members(&admin).await, 1);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_dies_at_the_barrier_keeps_nobody_waiting() {
    let broker = broker(1).await;
    let (one, other) = (connect(&broker).await, connect(&broker).await);
    topic(&one).await;
    let id = ask_to_join(&one, "").await.member_id;
    assert_eq!(ask_to_join(&one, &id).await.error_code, ErrorCode::NONE);
    let sync = SyncGroupRequest {
        group_id: "g".into(),
        generation_id: 1,
        member_id: id.clone(),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("own".into()),
        ..Default::default()
    };
    let synced = one.connection.send(&sync).await.unwrap();
    assert_eq!(synced.error_code, ErrorCode::NONE);
    // The second one waits for the first, which has gone.
    let second = ask_to_join(&other, "").await.member_id;
    drop(one);
    let joined = ask_to_join(&other, &second).await;
    assert_eq!((joined.error_code, joined.members.len()), (ErrorCode::NONE, 1));
    // A third one waits for the second; its connection goes while it does.
    let third = connect(&broker).await;
    let third_id = ask_to_join(&third, "").await.member_id;
    let connection = third.connection.clone();
    let waits = tokio::spawn(async move { connection.send(&classic(&third_id)).await });
    let preparing = "kafka_coordinator_group_groupmetadatamanager_numgroups\
                     {state=\"PreparingRebalance\"}";
    until("the third one waits", || metric(&broker, preparing) == 1).await;
    waits.abort();
    drop((third, waits));
    until("the third one is gone", || metric(&broker, DISCONNECTED) == 2).await;
    broker.shut_down().await;
}
