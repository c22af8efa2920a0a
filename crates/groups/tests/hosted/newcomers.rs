//! Newcomers to a group that the coordinator assigns: their JoinGroup is answered once, with all of their target.

use thalweg_wire::ErrorCode;

use super::client::{Client, GROUP, REBALANCE_MS, SESSION_MS};
use super::{consumer, mode, settle, settled, world};
use crate::script::World;
use thalweg_groups::ClassicRebalanceMode;

const PROTOCOLS: [&str; 4] = ["range", "roundrobin", "sticky", "cooperative-sticky"];

fn members(world: &World) -> usize {
    world.shard().logged().consumer_group(GROUP).map_or(0, |group| group.members().len())
}

/// Its listener sees one assignment, and not an empty one before.
#[test]
fn newcomer_is_answered_once_with_its_whole_target() {
    for protocol in PROTOCOLS {
        let mut world = world(9);
        let mut clients = settled(&mut world, 2, protocol);
        let mut new = consumer("new", protocol);
        new.run(&mut world);
        assert!(new.waiting.is_some(), "{protocol}: others hold its partitions");
        for client in &mut clients {
            client.beat(&mut world);
            world.memory.advance(1);
            client.beat(&mut world);
        }
        world.memory.advance(1);
        new.run(&mut world);
        assert_eq!((new.joins, new.told, new.owned.len()), (2, 0, 3), "{protocol}");
        clients.push(new);
        settle(&mut world, &mut clients);
        assert_eq!(clients[2].joins, 2, "{protocol}");
    }
}

#[test]
fn newcomer_with_an_empty_target_is_answered_at_once() {
    let mut world = world(2);
    settled(&mut world, 2, "range");
    let mut new = consumer("new", "range");
    new.run(&mut world);
    assert!(new.waiting.is_none() && !new.must_join && new.owned.is_empty());
}

/// Java, librdkafka and others take the leader that has their own id for the duty to assign, and an empty one for
/// an error.
#[test]
fn leader_of_a_join_answer_is_another_member() {
    let mut world = world(2);
    let mut clients = settled(&mut world, 2, "range");
    assert!(clients.iter().any(|client| client.watches.is_some()), "the first round had a leader");
    for client in &mut clients {
        client.must_join = true;
        client.run(&mut world);
        assert!(client.watches.is_none(), "{client:?}");
    }
    let mut gone = clients.remove(0);
    gone.leave(&mut world);
    gone.receive(&mut world);
    clients[0].must_join = true;
    clients[0].run(&mut world);
    assert!(clients[0].watches.is_none() && clients[0].owned.len() == 2);
}

/// A holder has its rebalance timeout to give partitions up, and is taken out then.
#[test]
fn newcomer_waits_no_longer_than_the_rebalance_timeout_of_holders() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "cooperative-sticky");
    let mut stubborn = clients.pop().expect("a client");
    let mut new = consumer("new", "cooperative-sticky");
    new.run(&mut world);
    // It sends heartbeats alone, and never joins again.
    for _ in 0..REBALANCE_MS / 3_000 + 1 {
        stubborn.heartbeat(&mut world);
        stubborn.receive(&mut world);
        clients[0].beat(&mut world);
        world.memory.advance(3_000);
    }
    clients.push(new);
    settle(&mut world, &mut clients);
    assert_eq!(stubborn.member_id, "");
    assert_eq!(clients.iter().map(|c| c.owned.len()).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn holder_that_crashes_frees_its_partitions_for_a_newcomer() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "range");
    clients.pop();
    let mut new = consumer("new", "range");
    new.run(&mut world);
    for _ in 0..5 {
        world.memory.advance(SESSION_MS as u64 / 4);
        clients[0].beat(&mut world);
    }
    new.run(&mut world);
    assert_eq!((new.joins, new.owned.len()), (2, 2));
}

#[test]
fn newcomer_that_joins_again_is_answered_to_its_last_request() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "range");
    let mut new = consumer("new", "range");
    new.run(&mut world);
    let first = new.waiting.take().expect("it waits");
    new.must_join = true;
    new.send(&mut world);
    assert!(new.waiting.is_some());
    let mut earlier = Client { waiting: Some(first), ..new.clone() };
    assert_eq!(earlier.receive(&mut world), Some(ErrorCode::REBALANCE_IN_PROGRESS));
    assert_eq!(members(&world), 3);
    clients.push(new);
    settle(&mut world, &mut clients);
    assert_eq!(members(&world), 3);
}

#[test]
fn static_newcomer_that_restarts_takes_its_own_place() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "range");
    let mut old = consumer("new", "range");
    old.instance_id = Some("in".to_owned());
    old.run(&mut world);
    let mut new = consumer("new", "range");
    new.instance_id = Some("in".to_owned());
    new.run(&mut world);
    world.memory.advance(1);
    assert_eq!(old.receive(&mut world), Some(ErrorCode::FENCED_INSTANCE_ID));
    assert!(new.waiting.is_some());
    clients.push(new);
    settle(&mut world, &mut clients);
    assert_eq!((members(&world), clients[2].joins), (3, 1));
}

#[test]
fn newcomer_is_answered_when_it_is_no_member_any_more() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "range");
    // It leaves by another connection.
    let mut new = consumer("new", "range");
    new.run(&mut world);
    let mut leaving = Client { waiting: None, ..new.clone() };
    leaving.leave(&mut world);
    assert_eq!(leaving.receive(&mut world), Some(ErrorCode::NONE));
    world.memory.advance(1);
    assert_eq!(new.receive(&mut world), Some(ErrorCode::UNKNOWN_MEMBER_ID));
    world.check();
    // The barrier comes back.
    let mut new = consumer("other", "range");
    new.run(&mut world);
    mode(&mut world, ClassicRebalanceMode::Barrier);
    clients[0].beat(&mut world);
    assert_eq!(new.receive(&mut world), Some(ErrorCode::REBALANCE_IN_PROGRESS));
    world.check();
    // The coordinator goes away.
    mode(&mut world, ClassicRebalanceMode::Server);
    clients.push(new);
    settle(&mut world, &mut clients);
    let mut new = consumer("third", "range");
    new.run(&mut world);
    world.memory.close(ErrorCode::NOT_COORDINATOR);
    assert_eq!(new.receive(&mut world), Some(ErrorCode::NOT_COORDINATOR));
}

#[test]
fn newcomer_whose_records_are_not_written_is_told() {
    let mut world = world(4);
    settled(&mut world, 2, "range");
    let mut new = consumer("new", "range");
    new.send(&mut world);
    new.receive(&mut world);
    world.memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    new.send(&mut world);
    assert_eq!(new.receive(&mut world), Some(ErrorCode::NOT_COORDINATOR));
    assert_eq!(members(&world), 2);
    world.check();
}

/// The member that kept the vote at `range` leaves while a newcomer waits. Its SyncGroup names what the answer named.
#[test]
fn newcomer_is_answered_with_the_vote_of_that_moment() {
    let mut world = world(6);
    let both: &[&str] = &["cooperative-sticky", "range"];
    let mut clients: Vec<Client> = [both, &["range"], both]
        .into_iter()
        .enumerate()
        .map(|(at, protocols)| Client::new(format!("c{at}"), protocols, &["t1"]))
        .collect();
    clients.iter_mut().for_each(|client| client.is_cooperative = false);
    let mut new = clients.pop().expect("three");
    settle(&mut world, &mut clients);
    new.run(&mut world);
    assert!(new.waiting.is_some());
    let mut gone = clients.remove(1);
    gone.leave(&mut world);
    assert_eq!(gone.receive(&mut world), Some(ErrorCode::NONE));
    clients.push(new);
    for _ in 0..4 {
        world.memory.advance(10);
        for client in &mut clients {
            client.beat(&mut world);
        }
    }
    assert_eq!(clients.iter().map(|c| c.owned.len()).collect::<Vec<_>>(), [3, 3], "{clients:?}");
    assert_eq!(clients[1].joins, 2);
    world.check();
}

/// What the log refuses it refuses for a while: a newcomer's step is tried again later, not at once.
#[test]
fn newcomer_step_that_is_not_written_is_tried_again_later() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "cooperative-sticky");
    let mut new = consumer("new", "cooperative-sticky");
    new.run(&mut world);
    clients.iter_mut().for_each(|client| client.beat(&mut world));
    let failures = 100;
    for _ in 0..failures {
        world.memory.failures.push(ErrorCode::NOT_ENOUGH_REPLICAS);
    }
    for _ in 0..20 {
        world.memory.advance(1);
    }
    let tried = failures - world.memory.failures.len();
    assert!(tried <= 2, "{tried} times within 20 ms");
    world.memory.failures.clear();
    clients.push(new);
    world.memory.advance(1_000);
    settle(&mut world, &mut clients);
}

/// A newcomer waits for the epoch of its join, which is not written in the end.
#[test]
fn newcomer_does_not_wait_for_an_epoch_that_was_taken_back() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "range");
    let mut new = consumer("new", "range");
    new.run(&mut world);
    // It joins again with other topics, and that is not written.
    new.waiting = None;
    new.must_join = true;
    new.topics = vec!["t1", "t2"];
    world.memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    new.send(&mut world);
    clients.push(new);
    world.memory.advance(1_000);
    settle(&mut world, &mut clients);
    world.check();
}
