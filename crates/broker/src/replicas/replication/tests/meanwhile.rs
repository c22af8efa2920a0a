//! What happens to a partition while something waits for its log directory, which hangs.

use super::gate::{A, B, Gates};
use super::several::set_fetchers;
use super::*;

/// One record, so that it can be told from what waits.
fn one(epoch: i32) -> Vec<u8> {
    BatchSpec::new(0, 1).leader_epoch(epoch).build()
}

/// Has the second directory hang with what comes for partition 1, by whoever fetches, and with what comes for partition 2,
/// by whoever works for that directory: what comes for it from here on waits behind that. Gives the connection on which it
/// is fetched on, with a request. `before` is fetched before that.
async fn hang(world: &FollowingBroker, gates: &Gates, before: Vec<PartitionData>) -> Conversation {
    let (mut stuck, _) = world.first().await;
    stuck.answer(&response(77, before)).await;
    let _ = fetched(&mut stuck).await;
    gates.shut(&["t-1", "t-2"]);
    stuck.answer(&response(77, vec![data(1, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("t-1").await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await.named.len(), world.partitions - 1);
    leader.answer(&response(78, vec![data(2, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("t-2").await;
    assert_eq!(fetched(&mut leader).await.forgotten, [2]);
    leader
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_waits_when_the_epoch_changes_is_not_done_in_the_next_one() {
    let (world, gates) = FollowingBroker::in_directories(&[A, B, B, B, B, B, B]).await;
    let before = vec![data(4, 0, &[batch(0, 1), batch(3, EPOCH)]), data(5, 0, &[batch(0, EPOCH)])];
    let mut leader = hang(&world, &gates, before).await;
    // One has what the leader does not have, and one ends before the leader's log begins.
    let cut_off = PartitionData {
        diverging_epoch: EpochEndOffset { epoch: 1, end_offset: 2, ..Default::default() },
        ..data(4, 0, &[])
    };
    let out = refused(5, ErrorCode::OFFSET_OUT_OF_RANGE);
    let batches = [3, 6].map(|index| data(index, 3, &[batch(0, EPOCH)]));
    leader.answer(&response(78, [&batches[..], &[cut_off, out]].concat())).await;
    for offset in [50, 20] {
        let _: ListOffsetsRequest = leader.request().await;
        leader.answer(&told_offset(5, ErrorCode::NONE, offset)).await;
    }
    assert_eq!(fetched(&mut leader).await, request((78, 0), &[(0, EPOCH, 0, -1)]));

    world.node.publish((3..7).map(|index| world.in_directory(index, B, EPOCH + 1))).await;
    leader.answer(&response(78, Vec::new())).await;
    let named = [
        (3, EPOCH + 1, 0, -1),
        (4, EPOCH + 1, 6, EPOCH),
        (5, EPOCH + 1, 3, EPOCH),
        (6, EPOCH + 1, 0, -1),
    ];
    assert_eq!(fetched(&mut leader).await.named, named);
    // What comes in that epoch waits behind what came in the last one.
    leader.answer(&response(78, vec![data(3, 1, &[one(EPOCH + 1)])])).await;
    assert_eq!(fetched(&mut leader).await.forgotten, [3]);
    gates.open_all();
    let asked = world.answer_nothing([leader]);
    asked.until(3, EPOCH + 1, 1).await;
    assert_eq!(world.ends(3), (1, 1));
    // By then it was the turn of everything that waited.
    assert_eq!([4, 5, 6].map(|index| world.ends(index).0), [6, 3, 0]);
    assert_eq!(world.log(5).log_start_offset(), 0);
    // No pause is due to what was not done.
    assert!((3..7).all(|index| world.look(index, |it| it.retries_at().is_none())));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_waits_when_its_partition_moves_away_is_not_in_the_one_that_comes_back() {
    let (world, gates) = FollowingBroker::in_directories(&[A, B, B, B, B]).await;
    let mut leader = hang(&world, &gates, Vec::new()).await;
    let batches = [3, 4].map(|index| data(index, 3, &[batch(0, EPOCH)]));
    leader.answer(&response(78, batches.to_vec())).await;
    assert_eq!(fetched(&mut leader).await.forgotten, [3, 4]);

    let gone = world.log(3);
    let elsewhere = testing::partition(TOPIC, 3, LEADER, EPOCH + 1, &[LEADER]);
    world.node.publish([elsewhere.into()]).await;
    leader.answer(&response(78, Vec::new())).await;
    assert_eq!(fetched(&mut leader).await.named, []);
    world.node.publish([world.in_directory(3, B, EPOCH + 1)]).await;
    leader.answer(&response(78, Vec::new())).await;
    let mut next = fetched(&mut leader).await;
    assert_eq!(next.named, [(3, EPOCH + 1, 0, -1)]);
    gates.open_all();
    // What is behind it is done.
    while !next.named.contains(&(4, EPOCH, 3, EPOCH)) {
        leader.answer(&response(78, Vec::new())).await;
        (leader, next) = world.next(leader).await;
    }
    while !next.named.contains(&(3, EPOCH + 1, 1, EPOCH + 1)) {
        leader.answer(&response(78, vec![data(3, 1, &[one(EPOCH + 1)])])).await;
        (leader, next) = world.next(leader).await;
    }
    assert_eq!((world.ends(3), gone.log_end_offset()), ((1, 1), 0));
    world.node.shut_down().await;
}

/// Two fetchers that were busy with a partition might cut off what the other one has appended.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_waits_when_the_number_of_fetchers_changes_stays_where_it_is_until_it_is_done() {
    let (world, gates) = FollowingBroker::in_directories(&[A, B, B, B, A]).await;
    let mut first = hang(&world, &gates, Vec::new()).await;
    first.answer(&response(78, vec![data(3, 3, &[batch(0, EPOCH)])])).await;
    assert_eq!(fetched(&mut first).await.forgotten, [3]);

    // All that are to go to the second one wait.
    set_fetchers(&world, "2").await;
    for _ in 0..3 {
        first.answer(&response(78, Vec::new())).await;
        let next = fetched(&mut first).await;
        assert_eq!((next.named, next.forgotten), (Vec::new(), Vec::new()));
        assert_eq!(world.node.services().replicas.fetchers().count(), 1);
    }
    gates.open_all();
    let asked = world.answer_nothing([first]);
    for index in [1, 3] {
        asked.until_by("broker-1-fetcher-1", index, EPOCH, 3).await;
        assert_eq!(asked.offsets(index), [3], "partition {index}");
    }
    asked.until(2, EPOCH, 3).await;
    assert_eq!([1, 2, 3].map(|index| world.ends(index)), [(3, 3); 3]);
    assert_eq!(world.node.services().replicas.fetchers().count(), 2);
    world.node.shut_down().await;
}
