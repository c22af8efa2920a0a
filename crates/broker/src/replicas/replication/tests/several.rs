//! `num.replica.fetchers`: several connections to a leader, and changes of their number at run time.

use std::collections::BTreeMap;

use thalweg_wire::messages::ConfigRecord;

use super::*;

/// What `kafka-configs --entity-default` writes. Of the brokers' configs 4 is the type.
pub(super) async fn set_fetchers(world: &FollowingBroker, count: &str) {
    let record = ConfigRecord {
        resource_type: 4,
        name: "num.replica.fetchers".into(),
        value: Some(count.into()),
        ..ConfigRecord::default()
    };
    world.node.publish([record.into()]).await;
}

/// So many connections with their first fetches, by what the broker calls itself.
async fn accept(
    world: &FollowingBroker,
    count: usize,
) -> BTreeMap<String, (Conversation, Fetched)> {
    let mut all = BTreeMap::new();
    while all.len() < count {
        let mut conversation = world.leader.accept().await;
        let fetched = fetched(&mut conversation).await;
        all.insert(conversation.client_id.clone(), (conversation, fetched));
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_are_shared_out_among_fetchers_and_again_when_their_number_changes() {
    let world = FollowingBroker::new(4, LONG).await;
    let (mut leader, _) = world.first().await;
    assert_eq!(leader.client_id, "broker-1-fetcher-0");
    let mut answer: Vec<PartitionData> =
        (0..3).map(|index| data(index, 3, &[batch(0, EPOCH)])).collect();
    answer.push(refused(3, ErrorCode::UNKNOWN_SERVER_ERROR));
    leader.answer(&response(77, answer)).await;
    assert_eq!(fetched(&mut leader).await.named.len(), 3);

    set_fetchers(&world, "2").await;
    leader.closed().await;
    let mut two = accept(&world, 2).await;
    let (mut second, fetched_by_second) = two.remove("broker-1-fetcher-1").unwrap();
    let (mut first, fetched_by_first) = two.remove("broker-1-fetcher-0").unwrap();
    // From where they were; and who waits goes on waiting.
    assert_eq!(fetched_by_first.named, [(0, EPOCH, 3, EPOCH), (2, EPOCH, 3, EPOCH)]);
    assert_eq!(fetched_by_second, request((0, 0), &[(1, EPOCH, 3, EPOCH)]));
    assert!(world.waits_long(3));
    // Each has a session, and neither waits for the other.
    for index in [3, 6] {
        second.answer(&response(78, vec![data(1, index, &[batch(index, EPOCH)])])).await;
        let next = fetched(&mut second).await;
        assert_eq!(next.named, [(1, EPOCH, index + 3, EPOCH)]);
    }
    first.answer(&response(79, vec![data(2, 6, &[batch(3, EPOCH)])])).await;
    assert_eq!(fetched(&mut first).await, request((79, 1), &[(2, EPOCH, 6, EPOCH)]));

    // A partition that is new, or led in a new epoch, has its fetcher by the same rule.
    world.node.publish([led(3, LEADER, EPOCH + 1)]).await;
    second.closed().await;
    let (mut second, again) = accept(&world, 1).await.remove("broker-1-fetcher-1").unwrap();
    assert_eq!(again.named, [(1, EPOCH, 9, EPOCH), (3, EPOCH + 1, 0, -1)]);
    second.answer(&response(80, Vec::new())).await;
    let _ = fetched(&mut second).await;

    // Back to one, which has everything, and the other one is gone.
    set_fetchers(&world, "1").await;
    second.closed().await;
    first.closed().await;
    let (mut only, mut next) = accept(&world, 1).await.remove("broker-1-fetcher-0").unwrap();
    while next.named.len() < 4 {
        only.answer(&response(0, Vec::new())).await;
        // What is handed over late ends a fetch that waits.
        (only, next) = world.next(only).await;
    }
    let all = [(0, EPOCH, 3, EPOCH), (1, EPOCH, 9, EPOCH), (2, EPOCH, 6, EPOCH)];
    assert_eq!(next.named[..3], all);
    assert_eq!(next.named[3], (3, EPOCH + 1, 0, -1));
    assert_eq!(world.node.services().replicas.fetchers().count(), 1);
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_begins_with_as_many_fetchers_as_its_file_says() {
    let world = FollowingBroker::new(5, ("num.replica.fetchers", "3")).await;
    let three = accept(&world, 3).await;
    let of = |number: usize| {
        let (_, fetched) = &three[&format!("broker-1-fetcher-{number}")];
        fetched.named.iter().map(|it| it.0).collect::<Vec<_>>()
    };
    // Each connects as soon as it has its first partition.
    let first: Vec<i32> = (0..3).flat_map(of).collect();
    assert!(first.len() >= 3, "{first:?}");
    assert_eq!(world.node.services().replicas.fetchers().count(), 3);
    drop(three);
    // "t".hashCode() is 116, and 31 times that is 2 above a multiple of 3.
    eventually_named(&world, &[("0", &[1, 4]), ("1", &[2]), ("2", &[0, 3])]).await;
    world.node.shut_down().await;
}

/// Waits until each fetcher names these partitions, on one connection or another.
async fn eventually_named(world: &FollowingBroker, expected: &[(&str, &[i32])]) {
    let mut missing: BTreeMap<String, &[i32]> = expected
        .iter()
        .map(|(number, named)| (format!("broker-1-fetcher-{number}"), *named))
        .collect();
    while !missing.is_empty() {
        let mut conversation = world.leader.accept().await;
        let Some(request) = conversation.try_request::<FetchRequest>().await else { continue };
        let topics = request.topics.iter().flat_map(|topic| &topic.partitions);
        let mut named: Vec<i32> = topics.map(|it| it.partition).collect();
        named.sort_unstable();
        if missing.get(&conversation.client_id).is_some_and(|wanted| *wanted == named) {
            missing.remove(&conversation.client_id);
        }
    }
}
