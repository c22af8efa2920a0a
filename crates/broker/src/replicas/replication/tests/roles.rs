//! A leader change of a partition whose log directory hangs: other partitions and topics do not wait for it.

use thalweg_log::Role;

use super::gate::{A, B};
use super::*;
use crate::replicas::partition::ReadFailure;

const OTHER: Uuid = Uuid([7; 16]);

/// Metadata that takes effect, and a topic that is created, while the directory "b" hangs.
async fn other_metadata_takes_effect(world: &FollowingBroker) {
    let mut record = testing::partition(OTHER, 0, NODE, 0, &[NODE]);
    record.directories = world.node.directories_of(&record.replicas, A);
    world.node.publish([testing::topic("other", OTHER), record.into()]).await;
    assert!(world.node.partition("other", 0).led_epoch().is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn follower_of_a_hung_directory_holds_up_no_metadata() {
    let (world, gates) = FollowingBroker::in_directories(&[A, B]).await;
    let (mut first, _) = world.first().await;
    gates.shut(&["b"]);
    first.answer(&response(77, vec![data(1, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("b").await;

    let next = [world.in_directory(0, A, EPOCH + 1), world.in_directory(1, B, EPOCH + 1)];
    world.node.publish(next).await;
    other_metadata_takes_effect(&world).await;
    assert_eq!(world.log(0).role(), Role::Follower { epoch: EPOCH + 1 });
    let waiting = world.node.partition("t", 1);
    assert_eq!((waiting.followed(), waiting.led_epoch().is_err()), (None, true));
    // Metadata of the same partition does not wait either.
    world.node.publish([world.in_directory(1, B, EPOCH + 2)]).await;
    assert_eq!(waiting.followed(), None);

    gates.open("b");
    until("the partition followed again", || waiting.followed() == Some((LEADER, EPOCH + 2))).await;
    assert_eq!(world.log(1).role(), Role::Follower { epoch: EPOCH + 2 });
    let mut leader = first;
    let mut epochs = Vec::new();
    while !epochs.contains(&(1, EPOCH + 2)) {
        let Some(asked) = try_fetched(&mut leader).await else {
            leader = world.leader.accept().await;
            continue;
        };
        epochs.extend(asked.named.iter().map(|it| (it.0, it.1)));
        leader.answer(&response(asked.session.0, Vec::new())).await;
    }
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn leader_of_a_hung_directory_holds_up_no_metadata() {
    let (world, gates) = FollowingBroker::in_directories(&[A, B]).await;
    let mut led = testing::partition(TOPIC, 1, NODE, EPOCH + 1, &[NODE, LEADER]);
    led.directories = world.node.directories_of(&led.replicas, B);
    world.node.publish([led.into()]).await;
    gates.shut(&["b"]);
    let mut client = world.node.connect().await;
    let produced = tokio::spawn(async move {
        let request = testing::produce(TOPIC, 1, batch(0, -1));
        client
            .call(&request)
            .await
            .map(|answer| answer.responses[0].partition_responses[0].error_code)
    });
    gates.until_held("b").await;

    world.node.publish([world.in_directory(1, B, EPOCH + 2)]).await;
    other_metadata_takes_effect(&world).await;
    let waiting = world.node.partition("t", 1);
    // Clients are sent to the new leader, and nothing brings the old leadership back.
    waiting.come_online_if_moved();
    assert_eq!((waiting.followed(), waiting.led_epoch()), (None, Err((LEADER, EPOCH + 2))));
    let refused = waiting.check_reader(EPOCH + 2, false);
    assert!(
        matches!(refused, Err(ReadFailure::NotLeader { leader_id: LEADER, .. })),
        "{refused:?}"
    );

    gates.open("b");
    let code = testing::soon("the answer to the producer", produced).await.unwrap().unwrap();
    assert_eq!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER, "its leadership was over");
    until("the partition followed", || waiting.followed() == Some((LEADER, EPOCH + 2))).await;
    assert_eq!(world.log(1).role(), Role::Follower { epoch: EPOCH + 2 });
    world.node.shut_down().await;
}
