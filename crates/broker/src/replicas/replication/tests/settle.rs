//! Disks that take longer than an append, and do not stall: a new segment.

use super::gate::{A, Gates};
use super::*;

/// What the second segment is called.
const SECOND: &str = "00000000000000000003.log";

/// So large that two of them do not fit into a segment.
fn large(base_offset: i64) -> Vec<u8> {
    BatchSpec::new(base_offset, 3).leader_epoch(EPOCH).value_len(200_000).build()
}

/// A follower of two partitions one of which has a segment that is almost full, and a disk that hangs with the next one.
async fn almost_full() -> (FollowingBroker, Gates, Conversation) {
    let segments = ("log.segment.bytes", "1048576");
    let (world, gates) = FollowingBroker::with(&[A, A], segments).await;
    let (mut leader, _) = world.first().await;
    leader.answer(&response(77, vec![data(0, 3, &[large(0)])])).await;
    assert_eq!(fetched(&mut leader).await, request((77, 1), &[(0, EPOCH, 3, EPOCH)]));
    gates.shut(&[SECOND]);
    (world, gates, leader)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_next_fetch_waits_for_a_new_segment() {
    let (world, gates, mut leader) = almost_full().await;
    world.node.services().replicas.fetchers().set_wait_for_disks_ms(HOUR_MS);
    leader.answer(&response(77, vec![data(0, 6, &[large(3)])])).await;
    gates.until_held(SECOND).await;
    gates.open(SECOND);
    // The partition is not left out of any.
    assert_eq!(fetched(&mut leader).await, request((77, 2), &[(0, EPOCH, 6, EPOCH)]));
    assert_eq!(world.ends(0), (6, 6));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_next_fetch_does_not_wait_for_ever_for_a_new_segment() {
    let (world, gates, mut leader) = almost_full().await;
    leader.answer(&response(77, vec![data(0, 6, &[large(3)])])).await;
    gates.until_held(SECOND).await;
    let next = fetched(&mut leader).await;
    assert_eq!((next.session, next.named, next.forgotten), ((77, 2), Vec::new(), vec![0]));
    // From here on it is not waited for at all.
    world.node.services().replicas.fetchers().set_wait_for_disks_ms(HOUR_MS);
    leader.answer(&response(77, vec![data(1, 3, &[batch(0, EPOCH)])])).await;
    assert_eq!(fetched(&mut leader).await, request((77, 3), &[(1, EPOCH, 3, EPOCH)]));
    gates.open(SECOND);
    let asked = world.answer_nothing([leader]);
    asked.until(0, EPOCH, 6).await;
    assert_eq!(world.ends(0), (6, 6));
    world.node.shut_down().await;
}
