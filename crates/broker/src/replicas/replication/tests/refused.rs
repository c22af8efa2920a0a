//! A log directory that hangs, and for which more comes than may wait for it.

use super::gate::{A, B};
use super::*;

/// One record of so many MiB.
fn megabytes(count: usize) -> Vec<u8> {
    BatchSpec::new(0, 1).leader_epoch(EPOCH).value_len(count << 20).build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_finds_no_room_is_fetched_again_until_there_is_some() {
    let (world, gates) = FollowingBroker::with(&[A, B, B, B, B], NONE).await;
    let (mut stuck, _) = world.first().await;
    gates.shut(&["t-1", "t-2", "t-3"]);
    stuck.answer(&response(77, vec![data(1, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("t-1").await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await.named.len(), 4);
    leader.answer(&response(78, vec![data(2, 1, &[megabytes(40)])])).await;
    gates.until_held("t-2").await;
    assert_eq!(fetched(&mut leader).await.forgotten, [2]);
    leader.answer(&response(78, vec![data(3, 1, &[megabytes(20)])])).await;
    assert_eq!(fetched(&mut leader).await.forgotten, [3]);
    // That would make 70 MiB, of which 64 may wait. What the leader has said with it is to be said again.
    let last = megabytes(10);
    let named = [(0, EPOCH, 0, -1), (4, EPOCH, 0, -1)];
    for _ in 0..3 {
        leader.answer(&response(78, vec![data(4, 1, std::slice::from_ref(&last))])).await;
        assert_eq!(fetched(&mut leader).await, request((78, 0), &named));
    }

    // With the first one done there is room.
    gates.open("t-2");
    gates.until_held("t-3").await;
    leader.answer(&response(78, vec![data(4, 1, std::slice::from_ref(&last))])).await;
    let next = fetched(&mut leader).await;
    assert_eq!((next.session, next.forgotten), ((78, 1), vec![4]));
    assert_eq!((world.ends(2), world.ends(4)), ((1, 1), (0, 0)));
    gates.open_all();
    let asked = world.answer_nothing([leader]);
    // The second one may have been asked for before.
    for (index, end) in [(1, 3), (3, 1), (4, 1)] {
        asked.until(index, EPOCH, end).await;
        assert_eq!(world.ends(index), (end, end));
    }
    world.node.shut_down().await;
}
