//! The first round of a group is Kafka's, in both modes; then the coordinator takes over what it came to.

use std::sync::Arc;

use thalweg_groups::{BatchLimit, GroupConfig, GroupEvent};
use thalweg_wire::ErrorCode;

use super::client::{Client, GROUP};
use super::{CONFIG, consumer, describe, settle, topic, world};
use crate::script::World;

fn is_hosted(world: &World) -> bool {
    world.shard().logged().consumer_group(GROUP).is_some()
}

fn consumers(count: usize, protocol: &'static str) -> Vec<Client> {
    (0..count).map(|at| consumer(&format!("c{at}"), protocol)).collect()
}

/// All join, the round ends, all sync.
fn first_round(world: &mut World, clients: &mut [Client]) {
    clients.iter_mut().for_each(|client| client.run(world));
    assert_eq!(describe(world).group_state, "PreparingRebalance");
    world.memory.advance(3_000);
    clients.iter_mut().for_each(|client| assert!(client.receive(world).is_some()));
}

#[test]
fn first_round_waits_for_the_initial_delay_and_has_a_leader() {
    let mut world = World::new(GroupConfig::default());
    world.run(&CONFIG.replace("delay=0", "delay=3000"), None);
    topic(&mut world, "t1", 6);
    let mut clients = consumers(3, "range");
    clients[0].run(&mut world);
    world.memory.advance(2_900);
    // It came within the delay, which begins again.
    clients[1].run(&mut world);
    world.memory.advance(100);
    clients[2].run(&mut world);
    assert!(clients.iter().all(|client| client.waiting.is_some()));
    world.memory.advance(6_000);
    clients.iter_mut().for_each(|client| assert!(client.receive(&mut world).is_some()));
    assert_eq!(describe(&mut world).group_state, "CompletingRebalance");
    assert!(clients.iter().all(|client| client.generation == 1));
    let leaders: Vec<&Client> = clients.iter().filter(|c| c.watches.is_some()).collect();
    assert_eq!((leaders.len(), leaders[0].assigns.len()), (1, 3));
    for client in &mut clients {
        client.run(&mut world);
    }
    for client in &mut clients {
        client.run(&mut world);
        client.beat(&mut world);
    }
    assert!(is_hosted(&world));
    let owned: Vec<usize> = clients.iter().map(|client| client.owned.len()).collect();
    assert_eq!((owned, clients.iter().map(|c| c.told + c.joins).sum::<usize>()), (vec![2; 3], 6));
}

#[test]
fn coordinator_takes_a_group_over_without_a_move() {
    for protocol in ["range", "roundrobin", "sticky", "cooperative-sticky"] {
        let mut world = world(7);
        let mut clients = consumers(3, protocol);
        first_round(&mut world, &mut clients);
        // Its leader has a way of its own.
        let owner = clients[1].member_id.clone();
        let leader = clients.iter_mut().find(|client| !client.assigns.is_empty()).expect("one");
        let all = leader.assigns.iter().map(|(_, bytes)| bytes.clone()).max().expect("one");
        for (member, assigned) in &mut leader.assigns {
            if *member == owner { *assigned = all.clone() } else { assigned.clear() }
        }
        for _ in 0..2 {
            clients.iter_mut().for_each(|client| client.run(&mut world));
        }
        let before = clients.clone();
        for _ in 0..3 {
            clients.iter_mut().for_each(|client| client.beat(&mut world));
            world.memory.advance(3_000);
        }
        assert!(is_hosted(&world), "{protocol}");
        for (client, before) in clients.iter().zip(&before) {
            let shown = |client: &Client| (client.generation, client.joins, client.owned.clone());
            assert_eq!(shown(client), shown(before), "{protocol}");
        }
        // What was left out is given out with the next target, and little moves for it.
        clients.push(consumer("new", protocol));
        settle(&mut world, &mut clients);
    }
}

#[test]
fn leader_that_rejoins_has_assigned_what_it_left_out() {
    let mut world = world(4);
    let mut clients = consumers(2, "cooperative-sticky");
    first_round(&mut world, &mut clients);
    for client in &mut clients {
        client.assigns.iter_mut().for_each(|(_, assigned)| assigned.clear());
    }
    for _ in 0..3 {
        clients.iter_mut().for_each(|client| client.run(&mut world));
        clients.iter_mut().for_each(|client| client.beat(&mut world));
    }
    assert!(is_hosted(&world) && clients.iter().all(|client| client.owned.is_empty()));
    let leader = clients.iter_mut().find(|client| client.watches.is_some()).expect("a leader");
    leader.must_join = true;
    settle(&mut world, &mut clients);
    assert!(clients.iter().all(|client| client.owned.len() == 2));
}

/// Which of its members led is not in the log of a hosted group: the first that rejoins counts as the leader.
#[test]
fn what_a_leader_left_out_is_assigned_after_a_reload() {
    let mut world = world(4);
    let mut clients = consumers(2, "range");
    first_round(&mut world, &mut clients);
    for client in &mut clients {
        client.assigns.iter_mut().for_each(|(_, assigned)| assigned.clear());
    }
    for _ in 0..3 {
        clients.iter_mut().for_each(|client| client.run(&mut world));
        clients.iter_mut().for_each(|client| client.beat(&mut world));
    }
    assert!(is_hosted(&world));
    world.memory.close(ErrorCode::NOT_COORDINATOR);
    let config = world.config.clone();
    world.memory.reload(thalweg_groups::GroupShard::new(config));
    let now = world.metadata.whole();
    world.memory.event(now);
    let leader = clients.iter_mut().find(|client| client.watches.is_some()).expect("a leader");
    leader.must_join = true;
    settle(&mut world, &mut clients);
    assert!(clients.iter().all(|client| client.owned.len() == 2));
}

/// The coordinator hears of a topic later than the leader.
#[test]
fn topic_that_the_coordinator_does_not_know_yet_keeps_the_barrier() {
    let mut world = world(2);
    let mut clients = consumers(2, "range");
    clients.iter_mut().for_each(|client| client.topics = vec!["t1", "t2"]);
    first_round(&mut world, &mut clients);
    // Partition 0 of t2.
    let assigned = "000100000001000274320000000100000000ffffffff";
    let digit = |at: usize| u8::from_str_radix(&assigned[at..at + 2], 16).expect("hex");
    let assigned: Vec<u8> = (0..assigned.len()).step_by(2).map(digit).collect();
    for client in &mut clients {
        if let Some((_, bytes)) = client.assigns.first_mut() {
            *bytes = assigned.clone();
        }
        client.send(&mut world);
    }
    for client in &mut clients {
        client.receive(&mut world);
        client.waiting = None;
        client.watches = None;
        client.heartbeat(&mut world);
        assert_eq!(client.receive(&mut world), Some(ErrorCode::NONE));
    }
    assert!(!is_hosted(&world));
    topic(&mut world, "t2", 1);
    clients[0].heartbeat(&mut world);
    clients[0].receive(&mut world);
    assert!(is_hosted(&world), "{:?}", world.state());
    world.check();
}

#[test]
fn group_of_one_member_stays_classic_until_the_second_joins() {
    let mut world = world(4);
    let mut clients = consumers(1, "range");
    settle(&mut world, &mut clients);
    for _ in 0..3 {
        clients[0].beat(&mut world);
        world.memory.advance(3_000);
    }
    assert!(!is_hosted(&world));
    let generation = clients[0].generation;
    let mut second = consumer("second", "range");
    second.send(&mut world);
    assert_eq!(second.receive(&mut world), Some(ErrorCode::MEMBER_ID_REQUIRED));
    assert!(!is_hosted(&world), "an id that was given out is no member");
    second.send(&mut world);
    assert!(is_hosted(&world));
    assert_eq!(describe(&mut world).members.len(), 2);
    assert_eq!(clients[0].generation, generation);
    clients.push(second);
    settle(&mut world, &mut clients);
    assert_eq!(clients.iter().map(|c| c.owned.len()).collect::<Vec<_>>(), [2, 2]);
    // The last one but one leaves.
    let mut gone = clients.remove(0);
    gone.leave(&mut world);
    gone.receive(&mut world);
    settle(&mut world, &mut clients);
    assert!(is_hosted(&world) && clients[0].owned.len() == 4);
}

/// Kafka's ConsumerProtocolMigrationTest, online migration with static members.
#[test]
fn static_member_with_own_assignor_brings_the_barrier_back() {
    for (assignor, expected) in [("own", "PreparingRebalance"), ("range", "Stable")] {
        let mut world = world(4);
        world.run("chb v=1 g=g m=modern i=ia e=0 rt=5000 o= t=t1", None);
        let mut classic = consumer("c0", "range");
        classic.protocols = vec![assignor];
        classic.topics = vec!["t1", "t2"];
        classic.instance_id = Some("ia".to_owned());
        classic.beat(&mut world);
        let mut other = consumer("c1", "range");
        other.protocols = vec![assignor];
        other.run(&mut world);
        assert_eq!(describe(&mut world).group_state, expected, "{assignor}");
        assert_eq!(is_hosted(&world), assignor == "range", "{:?}", world.state());
    }
}

/// What a leader with an assignor of its own, under the name of a built-in one, may assign.
#[test]
fn strange_assignments_stay_at_the_barrier() {
    // Partition 0 of t1; of t9, which nobody subscribes to; partition -1 of t1; and no assignment.
    let hex = |text: &str| -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
        (0..text.len()).step_by(2).map(digit).collect()
    };
    let first = "000100000001000274310000000100000000ffffffff";
    for (assigned, why) in [
        (first, "a partition is assigned twice"),
        (&*first.replace("7431", "7439"), "a topic that it does not subscribe to"),
        (&*first.replace("0000000100000000", "00000001ffffffff"), "a partition below 0"),
        ("0001", "malformed"),
    ] {
        let mut world = world(4);
        let mut clients = consumers(2, "range");
        first_round(&mut world, &mut clients);
        for client in &mut clients {
            client.assigns.iter_mut().for_each(|(_, bytes)| *bytes = hex(assigned));
            client.send(&mut world);
        }
        // Heartbeats go on as at a barrier.
        for client in &mut clients {
            client.waiting = None;
            client.heartbeat(&mut world);
            assert_eq!(client.receive(&mut world), Some(ErrorCode::NONE), "{why}");
        }
        assert!(!is_hosted(&world), "{why}");
        let told = crate::rebalances::told(&mut world, GROUP);
        assert!(told.mode == "barrier" && told.reason.contains(why), "{told:?}");
    }
}

/// Its records as a group that the coordinator assigns are written at once, in parts: later they would have to be in
/// one batch.
#[test]
fn large_group_is_written_as_a_hosted_one_by_its_first_round() {
    for fails in [false, true] {
        let mut world = world(20);
        let small = GroupConfig {
            batch_limit: BatchLimit { bytes: 4_000, ..BatchLimit::default() },
            ..(*world.config).clone()
        };
        world.config = Arc::new(small);
        let event = GroupEvent::Config(world.config.clone());
        world.memory.event(event);
        let mut clients = consumers(20, "range");
        first_round(&mut world, &mut clients);
        if fails {
            world.memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        }
        for _ in 0..2 {
            clients.iter_mut().for_each(|client| client.run(&mut world));
            world.check();
        }
        if !fails {
            assert!(is_hosted(&world));
            assert!(clients.iter().all(|client| client.generation == 1));
        }
        settle(&mut world, &mut clients);
        assert!(is_hosted(&world));
        assert!(clients.iter().all(|client| client.owned.len() == 1));
    }
}
