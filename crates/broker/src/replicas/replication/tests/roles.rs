//! Leader changes, deletions and new partitions in a log directory that hangs: other partitions and topics do not wait for
//! them.

use thalweg_log::Role;
use thalweg_wire::messages::metadata_record::MetadataRecord;

use super::gate::{A, B, Gates};
use super::*;
use crate::replicas::partition::{Leader, ReadFailure};

/// The leader that the world's partitions follow.
fn led_in(epoch: i32) -> Leader {
    Leader { id: LEADER, epoch, is_local: false }
}

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
    until("the partition followed again", || waiting.followed() == Some(led_in(EPOCH + 2))).await;
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
    assert_eq!((waiting.followed(), waiting.led_epoch()), (None, Err(led_in(EPOCH + 2))));
    let refused = waiting.check_reader(EPOCH + 2, false);
    assert!(
        matches!(refused, Err(ReadFailure::NotLeader { leader_id: LEADER, .. })),
        "{refused:?}"
    );

    gates.open("b");
    let code = testing::soon("the answer to the producer", produced).await.unwrap().unwrap();
    assert_eq!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER, "its leadership was over");
    until("the partition followed", || waiting.followed() == Some(led_in(EPOCH + 2))).await;
    assert_eq!(world.log(1).role(), Role::Follower { epoch: EPOCH + 2 });
    world.node.shut_down().await;
}

/// Whether the broker has a partition of the topic with this id, or what it answers without it.
fn hosted(world: &FollowingBroker, id: Uuid, index: i32) -> Result<(), ErrorCode> {
    let topics = world.node.services().replicas.topics();
    let topic = topics.by_id(id).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)?;
    topic.hosted(index).map(|_| ())
}

/// A partition of a topic that this broker leads, in one of its directories.
fn led_here(world: &FollowingBroker, id: Uuid, index: i32, dir: usize) -> MetadataRecord {
    let mut record = testing::partition(id, index, NODE, 0, &[NODE]);
    record.directories = world.node.directories_of(&record.replicas, dir);
    record.into()
}

/// The directories of partitions in a log directory of these names.
fn directories(world: &FollowingBroker, dir: usize, beginning: &str) -> usize {
    let path = world.node.services().replicas.logs().dirs()[dir].path();
    let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().is_some_and(|name| name.starts_with(beginning))).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn deletion_in_a_hung_directory_holds_up_no_metadata() {
    const AGAIN: Uuid = Uuid([8; 16]);
    let (world, gates) = FollowingBroker::in_directories(&[A, B]).await;
    gates.shut(&["t-1"]);
    let removed = RemoveTopicRecord { topic_id: TOPIC, ..Default::default() };
    world.node.publish([removed.into()]).await;
    gates.until_held("t-1").await;
    other_metadata_takes_effect(&world).await;
    assert_eq!(hosted(&world, TOPIC, 1), Err(ErrorCode::UNKNOWN_TOPIC_ID));

    // A topic of the same name: of its partitions only the one that hangs waits.
    let again = [
        testing::topic("t", AGAIN),
        led_here(&world, AGAIN, 0, A),
        led_here(&world, AGAIN, 1, B),
        led_here(&world, AGAIN, 2, B),
    ];
    let put_off = world.node.publish_only(again).await;
    until("the others", || hosted(&world, AGAIN, 0).is_ok() && hosted(&world, AGAIN, 2).is_ok())
        .await;
    assert_eq!(hosted(&world, AGAIN, 1), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));

    gates.open("t-1");
    let openings = world.node.services().replicas.openings();
    testing::soon("the log that waited", openings.wait(&put_off)).await;
    assert_eq!(world.log(1).topic_id(), Some(AGAIN));
    assert_eq!(
        directories(&world, B, "t-1"),
        2,
        "the new one, and the old one that is deleted later"
    );
    world.node.shut_down().await;
}

/// A partition that is made in directory "b" while that hangs.
async fn made_in_a_hung_directory(world: &FollowingBroker, gates: &Gates, name: &str, id: Uuid) {
    gates.shut(&[&format!("{name}-0")]);
    let records = [testing::topic(name, id), led_here(world, id, 0, B)];
    world.node.publish_only(records).await;
    gates.until_held(&format!("{name}-0")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn partition_made_in_a_hung_directory_holds_up_no_metadata() {
    let (world, gates) = FollowingBroker::in_directories(&[A]).await;
    // As many as threads of the directory.
    let hung = [("u", Uuid([11; 16])), ("v", Uuid([12; 16])), ("w", Uuid([13; 16]))];
    for (name, id) in &hung[..2] {
        made_in_a_hung_directory(&world, &gates, name, *id).await;
    }
    world
        .node
        .publish_only([testing::topic(hung[2].0, hung[2].1), led_here(&world, hung[2].1, 0, B)])
        .await;
    other_metadata_takes_effect(&world).await;
    // A partition that no directory is named for is made elsewhere.
    let anywhere = Uuid([14; 16]);
    let mut record = testing::partition(anywhere, 0, NODE, 0, &[NODE]);
    record.directories = vec![Uuid::ZERO];
    world.node.publish([testing::topic("anywhere", anywhere), record.into()]).await;
    assert_eq!(hosted(&world, anywhere, 0), Ok(()));

    // One is deleted before it is made.
    let removed = RemoveTopicRecord { topic_id: hung[0].1, ..Default::default() };
    world.node.publish([removed.into()]).await;
    gates.open_all();
    until("the others", || hung[1..].iter().all(|(_, id)| hosted(&world, *id, 0).is_ok())).await;
    let logs = world.node.services().replicas.logs();
    until("the deletion", || directories(&world, B, "u-0.") == 1).await;
    assert!(logs.get("u", 0).is_none());
    assert_eq!(directories(&world, B, "u-0"), 1);
    world.node.shut_down().await;
}
