//! A log directory that does not take what was fetched: its partitions wait, and those of another one do not.

use super::gate::{A, B, C};
use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_directory_that_hangs_holds_up_only_its_own_partitions() {
    let (world, gates) = FollowingBroker::in_directories(&[A, A, B, B]).await;
    let (mut stuck, _) = world.first().await;
    gates.shut(&["b"]);
    let both = vec![data(2, 3, &[batch(0, EPOCH)]), data(0, 3, &[batch(0, EPOCH)])];
    stuck.answer(&response(77, both)).await;
    gates.until_held("b").await;

    // Somebody else fetches on, but for what is being written.
    let mut leader = world.leader.accept().await;
    let named = [(0, EPOCH, 0, -1), (1, EPOCH, 0, -1), (3, EPOCH, 0, -1)];
    assert_eq!(fetched(&mut leader).await, request((0, 0), &named));
    // What else comes for the directory waits behind that.
    let come = vec![data(3, 3, &[batch(0, EPOCH)]), data(0, 3, &[batch(0, EPOCH)])];
    leader.answer(&response(78, come)).await;
    let next = fetched(&mut leader).await;
    assert_eq!((next.session, &next.named[..]), ((78, 1), &[(0, EPOCH, 3, EPOCH)][..]));
    assert_eq!(next.forgotten, [3]);
    for round in 1..5 {
        let come = vec![
            data(0, 3 * round, &[batch(3 * round, EPOCH)]),
            data(1, 0, &[batch(3 * (round - 1), EPOCH)]),
            // Nobody asks for that.
            data(3, 3, &[batch(0, EPOCH)]),
        ];
        leader.answer(&response(78, come)).await;
        let request: FetchRequest = leader.request().await;
        // The leader does not hold it for long, because it does not hear that there is more to ask for.
        assert!(request.max_wait_ms <= 100, "{}", request.max_wait_ms);
        let offsets: Vec<i64> =
            request.topics[0].partitions.iter().map(|it| it.fetch_offset).collect();
        assert_eq!(offsets, [3 * round + 3, 3 * round]);
        assert!(request.forgotten_topics_data.is_empty());
    }
    assert_eq!((world.ends(2), world.ends(3)), ((0, 0), (0, 0)));

    gates.open("b");
    // Who was stuck fetches no more, and what has waited is fetched on from where it is now.
    stuck.closed().await;
    let mut named = Vec::new();
    while named.len() < 2 {
        leader.answer(&response(78, Vec::new())).await;
        named.append(&mut fetched(&mut leader).await.named);
    }
    named.sort_unstable();
    assert_eq!(named, [(2, EPOCH, 3, EPOCH), (3, EPOCH, 3, EPOCH)]);
    assert_eq!((world.ends(2), world.ends(3)), ((3, 3), (3, 3)));
    world.node.shut_down().await;
}

/// Each has its own queue, and a loop that is stuck in one does not keep the next one from being stuck in another.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_directories_that_hang_hold_up_only_their_own_partitions() {
    let (world, gates) = FollowingBroker::in_directories(&[A, B, B, C, C]).await;
    let (mut in_b, _) = world.first().await;
    gates.shut(&["b", "c"]);
    in_b.answer(&response(77, vec![data(1, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("b").await;
    let mut in_c = world.leader.accept().await;
    let named: Vec<i32> = fetched(&mut in_c).await.named.iter().map(|it| it.0).collect();
    assert_eq!(named, [0, 2, 3, 4]);
    in_c.answer(&response(78, vec![data(3, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("c").await;

    let mut leader = world.leader.accept().await;
    let named = [(0, EPOCH, 0, -1), (2, EPOCH, 0, -1), (4, EPOCH, 0, -1)];
    assert_eq!(fetched(&mut leader).await, request((0, 0), &named));
    let come = [2, 4, 0].map(|index| data(index, 3, &[batch(0, EPOCH)]));
    leader.answer(&response(79, come.to_vec())).await;
    let next = fetched(&mut leader).await;
    assert_eq!((next.session, &next.named[..]), ((79, 1), &[(0, EPOCH, 3, EPOCH)][..]));
    assert_eq!(next.forgotten, [2, 4]);

    // What waits for one of them does not wait for the other one.
    gates.open("c");
    in_c.closed().await;
    let mut named = Vec::new();
    while named.len() < 2 {
        leader.answer(&response(79, Vec::new())).await;
        named.append(&mut fetched(&mut leader).await.named);
    }
    named.sort_unstable();
    assert_eq!(named, [(3, EPOCH, 3, EPOCH), (4, EPOCH, 3, EPOCH)]);
    assert_eq!((world.ends(1), world.ends(2)), ((0, 0), (0, 0)));
    // The first directory goes on all the while.
    leader.answer(&response(79, vec![data(0, 6, &[batch(3, EPOCH)])])).await;
    assert_eq!(fetched(&mut leader).await.named, [(0, EPOCH, 6, EPOCH)]);

    gates.open("b");
    in_b.closed().await;
    let asked = world.answer_nothing([leader]);
    asked.until(1, EPOCH, 3).await;
    asked.until(2, EPOCH, 3).await;
    assert_eq!([1, 2, 3, 4].map(|index| world.ends(index)), [(3, 3); 4]);
    world.node.shut_down().await;
}

/// Who is stuck does not come to what it was to ask the leader for, and whoever fetches instead does not know of that.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn who_is_out_of_range_when_a_directory_hangs_is_fetched_on() {
    let (world, gates) = FollowingBroker::with(&[A, B], NONE).await;
    let (mut stuck, _) = world.first().await;
    gates.shut(&["b"]);
    let out = refused(0, ErrorCode::OFFSET_OUT_OF_RANGE);
    stuck.answer(&response(77, vec![out, data(1, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("b").await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await, request((0, 0), &[(0, EPOCH, 0, -1)]));
    gates.open("b");
    stuck.closed().await;
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_was_not_taken_over_late_is_told_again_by_the_leader() {
    let (world, gates) = FollowingBroker::in_directories(&[A, B, B, B]).await;
    let (mut stuck, _) = world.first().await;
    gates.shut(&["b"]);
    stuck.answer(&response(77, vec![data(1, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("b").await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await.named.len(), 3);
    // What begins before the log's end is found out when its turn comes, behind a write that hangs.
    let early = BatchSpec::new(-1, 1).leader_epoch(EPOCH).build();
    let come = vec![data(3, 3, &[batch(0, EPOCH)]), data(2, 3, &[early])];
    leader.answer(&response(78, come)).await;
    assert_eq!(fetched(&mut leader).await.forgotten, [2, 3]);
    gates.open("b");
    stuck.closed().await;
    let next = loop {
        leader.answer(&response(78, Vec::new())).await;
        let next = fetched(&mut leader).await;
        if next.session == (78, 0) {
            break next;
        }
    };
    // The session is over, and one partition waits.
    let is_there = |named: &[(i32, i32, i64, i32)]| named.contains(&(0, EPOCH, 0, -1));
    assert!(is_there(&next.named), "{next:?}");
    assert!(world.waits_long(2));
    world.node.shut_down().await;
}

/// Where nothing else is to be fetched, what comes to be fetched while a directory hangs is fetched.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_partition_that_comes_while_the_only_directory_hangs_is_fetched() {
    let (world, gates) = FollowingBroker::in_directories(&[B]).await;
    let (mut stuck, _) = world.first().await;
    gates.shut(&["b"]);
    stuck.answer(&response(77, vec![data(0, 3, &[batch(0, EPOCH)])])).await;
    gates.until_held("b").await;
    world.node.publish([world.in_directory(1, A, EPOCH)]).await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await, request((0, 0), &[(1, EPOCH, 0, -1)]));
    gates.open("b");
    stuck.closed().await;
    let named = loop {
        leader.answer(&response(78, Vec::new())).await;
        let next = fetched(&mut leader).await;
        if !next.named.is_empty() {
            break next.named;
        }
    };
    assert_eq!(named, [(0, EPOCH, 3, EPOCH)]);
    world.node.shut_down().await;
}
