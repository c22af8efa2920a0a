//! Groups that the coordinator assigns, under clocks, members and clients that do what they should not.

use std::sync::Arc;

use thalweg_groups::{
    BatchLimit, ClassicRebalanceMode, GroupConfig, GroupEvent, GroupRequest, GroupResponse,
    RequestContext, Submission,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::{
    HeartbeatRequest, JoinGroupRequest, ListGroupsRequest, SyncGroupRequest,
};

use super::client::{Client, GROUP, Partition, REBALANCE_MS};
use super::{CONFIG, ask, consumer, mode, settle, settled, topic, totals, world};
use crate::script::{Op, World};

fn is_hosted(world: &World) -> bool {
    world.shard().logged().consumer_group(GROUP).is_some()
}

fn configure(world: &mut World, change: impl FnOnce(&mut GroupConfig)) {
    let mut config = (*world.config).clone();
    change(&mut config);
    world.config = Arc::new(config);
    world.memory.event(GroupEvent::Config(world.config.clone()));
}

/// Everybody's heartbeats, which nobody is told anything by.
fn at_rest(world: &mut World, clients: &mut [Client]) {
    let before = totals(clients);
    for client in clients.iter_mut() {
        client.beat(world);
    }
    assert_eq!(totals(clients), before);
}

/// When the last target was computed is in the log, in wall time.
#[test]
fn a_clock_that_is_set_back_keeps_no_group_from_being_assigned() {
    let mut world = World::new(GroupConfig::default());
    world.run(&CONFIG.replace("cint=0", "cint=1000"), None);
    topic(&mut world, "t1", 6);
    let mut clients: Vec<Client> =
        (0..2).map(|at| consumer(&format!("c{at}"), "cooperative-sticky")).collect();
    clients.iter_mut().for_each(|client| client.run(&mut world));
    world.memory.advance(1_000);
    settle(&mut world, &mut clients);
    // The next one comes a second after the last, by the clock as it is.
    world.memory.now.wall_ms -= 3_600_000;
    clients.push(consumer("new", "cooperative-sticky"));
    for _ in 0..6 {
        clients.iter_mut().for_each(|client| client.beat(&mut world));
        world.memory.advance(1_000);
    }
    assert!(clients.iter().all(|client| client.owned.len() == 2), "{clients:?}");
    world.check();
}

#[test]
fn expressions_are_resolved_again_after_a_clock_was_set_back() {
    let mut world = World::new(GroupConfig::default());
    world.run("new cint=0 chb=3000", None);
    topic(&mut world, "t1", 1);
    world.run("chb v=1 g=g m=ma e=0 rt=5000 o= x=t.*", None);
    let topics = |world: &World| {
        let group = world.shard().logged().consumer_group("g").expect("a group");
        group.regexes().values().map(|resolved| resolved.topics.len()).sum::<usize>()
    };
    assert_eq!(topics(&world), 1);
    world.memory.now.wall_ms -= 3_600_000;
    topic(&mut world, "t2", 1);
    world.run("chb v=1 g=g m=ma e=1", None);
    assert_eq!(topics(&world), 2);
    world.check();
}

/// A group changes its type in one batch, which all of its members have to fit.
#[test]
fn a_group_changes_its_type_if_its_batch_fits_when_it_is_compressed() {
    let mut world = world(20);
    let mut clients = settled(&mut world, 20, "range");
    configure(&mut world, |config| {
        config.batch_limit = BatchLimit { bytes: 3_000, compressed: <[u8]>::len };
    });
    mode(&mut world, ClassicRebalanceMode::Barrier);
    at_rest(&mut world, &mut clients);
    assert!(is_hosted(&world));
    configure(&mut world, |config| {
        config.batch_limit = BatchLimit { bytes: 3_001, compressed: |bytes| bytes.len() / 8 };
    });
    // It was too large, which is not looked at again before other limits hold.
    for _ in 0..6 {
        clients.iter_mut().for_each(|client| client.beat(&mut world));
        world.memory.advance(100);
    }
    assert!(!is_hosted(&world));

    // And back, where the reason is told as long as it does not.
    configure(&mut world, |config| {
        config.batch_limit = BatchLimit { bytes: 3_000, compressed: <[u8]>::len };
    });
    mode(&mut world, ClassicRebalanceMode::Server);
    at_rest(&mut world, &mut clients);
    assert!(!is_hosted(&world));
    let told = crate::rebalances::told(&mut world, GROUP);
    assert!(told.mode == "barrier" && told.reason.contains("max.message.bytes"), "{told:?}");
}

/// Members that came under Kafka's rules are not stored as the coordinator's, and do not join again when it
/// takes them over.
#[test]
fn a_group_that_was_mixed_goes_back_to_the_barrier() {
    let mut world = world(4);
    world.run("chb v=1 g=g m=modern e=0 rt=5000 o= t=t1", None);
    let mut clients: Vec<Client> = (0..2).map(|at| consumer(&format!("c{at}"), "range")).collect();
    for _ in 0..8 {
        clients.iter_mut().for_each(|client| client.beat(&mut world));
        world.memory.advance(10);
    }
    world.run("chb v=1 g=g m=modern e=-1", None);
    settle(&mut world, &mut clients);
    assert!(is_hosted(&world));
    mode(&mut world, ClassicRebalanceMode::Barrier);
    for _ in 0..4 {
        clients.iter_mut().for_each(|client| client.beat(&mut world));
    }
    assert!(!is_hosted(&world) && world.shard().group(GROUP).is_some(), "{:?}", world.state());
    world.check();
}

/// It is heard of all the time, and would keep what others are to have.
#[test]
fn a_member_that_never_gives_up_is_taken_out_when_its_rebalance_timeout_is_over() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "cooperative-sticky");
    let mut stubborn = clients.pop().expect("a client");
    clients.push(consumer("new", "cooperative-sticky"));
    let before = clients[0].told;
    // Heartbeats alone: it never joins again, however often it is told.
    for _ in 0..REBALANCE_MS / 3_000 + 2 {
        stubborn.heartbeat(&mut world);
        assert!(stubborn.receive(&mut world).is_some());
        clients.iter_mut().for_each(|client| client.beat(&mut world));
        world.memory.advance(3_000);
    }
    assert_eq!(stubborn.member_id, "", "it was told that it is no member any more");
    settle(&mut world, &mut clients);
    assert!(clients.iter().all(|client| client.owned.len() == 2));
    // Nobody else waited for it: one change when the newcomer came at most, none for the fenced one.
    assert!(clients[0].told - before <= 1, "{clients:?}");
    world.check();
}

/// Kafka takes any bytes for a subscription, and leaves it to the leader to read them.
#[test]
fn unreadable_subscription_brings_the_barrier_back() {
    let join = |metadata: &[u8]| {
        GroupRequest::JoinGroup(JoinGroupRequest {
            group_id: GROUP.to_owned(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: REBALANCE_MS,
            protocol_type: "consumer".to_owned(),
            protocols: vec![JoinGroupRequestProtocol {
                name: "range".to_owned(),
                metadata: metadata.to_vec().into(),
                ..Default::default()
            }],
            ..Default::default()
        })
    };
    for metadata in [
        &[][..],
        &[0],
        // A version of a time to come, and nothing behind it.
        &[0x7f, 0xff],
        &[0xff, 0xff, 0, 0, 0, 0],
        // As many topics as a number can say.
        &[0, 1, 0x7f, 0xff, 0xff, 0xff],
        &[0, 0, 0, 0, 0, 1, 0x7f, 0xff],
        // A topic's name ends before its length.
        &[0, 0, 0, 0, 0, 1, 0, 9, b't'],
    ] {
        let mut world = world(4);
        let mut clients = settled(&mut world, 2, "range");
        // An old version enters at once, without a round trip for its id.
        let context = RequestContext { api_version: 3, random: 7, ..Default::default() };
        let token = world.memory.submit(Submission { context, request: join(metadata) });
        assert_eq!(world.memory.take_answer(token), None, "{metadata:?}");
        assert!(!is_hosted(&world));
        assert_eq!(super::describe(&mut world).group_state, "PreparingRebalance");
        for client in &mut clients {
            client.heartbeat(&mut world);
            assert_eq!(client.receive(&mut world), Some(ErrorCode::REBALANCE_IN_PROGRESS));
            client.send(&mut world);
        }
        let answer = world.memory.take_answer(token).expect("all have joined");
        let GroupResponse::JoinGroup(joined) = answer else { panic!("{answer:?}") };
        assert_eq!(
            (joined.error_code, &*joined.protocol_name.expect("one")),
            (ErrorCode::NONE, "range")
        );
        world.check();
    }
}

#[test]
fn generations_that_are_not_a_members_own_are_refused() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "cooperative-sticky");
    let client = &clients[0];
    let partition = client.owned.first().expect("a partition").clone();
    let own = client.generation;
    for (generation, expected) in [
        (own, ErrorCode::NONE),
        (own + 1, ErrorCode::ILLEGAL_GENERATION),
        (i32::MAX, ErrorCode::ILLEGAL_GENERATION),
        (-2, ErrorCode::ILLEGAL_GENERATION),
        (i32::MIN, ErrorCode::ILLEGAL_GENERATION),
    ] {
        let mut probe = client.clone();
        assert_eq!(probe.commit(&mut world, generation, &partition), expected, "{generation}");
        probe.generation = generation;
        probe.heartbeat(&mut world);
        assert_eq!(probe.receive(&mut world), Some(expected), "{generation}");
    }
    // Who has taken another's id speaks for that member, and for no other one.
    let mut thief = Client::new("thief".to_owned(), &["cooperative-sticky"], &["t1"]);
    thief.member_id = clients[1].member_id.clone();
    thief.generation = clients[0].generation + 7;
    thief.heartbeat(&mut world);
    assert_eq!(thief.receive(&mut world), Some(ErrorCode::ILLEGAL_GENERATION));
    at_rest(&mut world, &mut clients);
    world.check();
}

/// What a member has read before it gives a partition up is its own to commit.
#[test]
fn a_commit_between_being_told_and_joining_again_is_taken() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "cooperative-sticky");
    let mut new = consumer("new", "cooperative-sticky");
    new.run(&mut world);
    let mut told = 0;
    for client in &mut clients {
        client.heartbeat(&mut world);
        if client.receive(&mut world) != Some(ErrorCode::REBALANCE_IN_PROGRESS) {
            continue;
        }
        told += 1;
        for partition in client.owned.clone() {
            assert_eq!(client.commit(&mut world, client.generation, &partition), ErrorCode::NONE);
        }
    }
    assert!(told > 0);
    clients.push(new);
    settle(&mut world, &mut clients);
    // And what it has given up is not, in whatever generation.
    let (past, gone): (i32, Partition) = clients
        .iter()
        .flat_map(|client| client.past.iter().filter(|(_, p)| !client.owned.contains(p)))
        .next_back()
        .cloned()
        .expect("a partition that moved");
    let former = clients.iter().find(|client| client.past.iter().any(|(_, p)| *p == gone));
    let former = former.expect("its former owner");
    assert_ne!(former.commit(&mut world, past, &gone), ErrorCode::NONE);
    assert_ne!(former.commit(&mut world, former.generation, &gone), ErrorCode::NONE);
}

#[test]
fn a_topic_that_is_deleted_and_made_anew_is_shared_anew() {
    let mut world = world(6);
    let mut clients = settled(&mut world, 3, "cooperative-sticky");
    let op = "untopic n=t1";
    let event = world.metadata.untopic(&Op::parse(op)).expect("a topic to delete");
    world.memory.event(event);
    for _ in 0..4 {
        clients.iter_mut().for_each(|client| client.beat(&mut world));
        world.memory.advance(10);
    }
    assert!(clients.iter().all(|client| client.owned.is_empty()), "{clients:?}");
    topic(&mut world, "t1", 9);
    settle(&mut world, &mut clients);
    assert!(clients.iter().all(|client| client.owned.len() == 3), "{clients:?}");
    world.check();
}

/// Nobody is paid for coming and going: what is left is the group as it was.
#[test]
fn members_that_come_and_go_leave_nothing_behind() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "cooperative-sticky");
    let left = |world: &World| {
        let group = world.shard().logged().consumer_group(GROUP).expect("a group");
        (group.members().len(), group.targets().len(), world.shard().counts())
    };
    let mut expected = None;
    for round in 0..200 {
        let mut passing = consumer(&format!("passing-{round}"), "cooperative-sticky");
        passing.run(&mut world);
        // It goes while its JoinGroup waits.
        passing.waiting = None;
        passing.leave(&mut world);
        passing.receive(&mut world);
        if round % 20 == 0 {
            settle(&mut world, &mut clients);
            let now = left(&world);
            assert_eq!(*expected.get_or_insert(now), now);
        }
    }
    settle(&mut world, &mut clients);
    assert!(clients.iter().all(|client| client.owned.len() == 2));
}

/// As many as one shard of fifty has of fifty thousand.
#[test]
fn small_groups_are_only_concerned_by_their_own_topics() {
    const GROUPS: usize = 1_000;
    let mut world = world(1);
    topic(&mut world, "t2", 1);
    let subscribes = |topic: &str| {
        let mut bytes = vec![0, 0, 0, 0, 0, 1, 0, topic.len() as u8];
        bytes.extend_from_slice(topic.as_bytes());
        bytes.extend_from_slice(&[0xff; 4]);
        bytes
    };
    let mut random = 0;
    for n in 0..GROUPS {
        let group_id = format!("g-{n}");
        let mut submit = |world: &mut World, request: GroupRequest| {
            random += 1;
            let context = RequestContext { api_version: 3, random, ..Default::default() };
            world.memory.submit(Submission { context, request })
        };
        let join = GroupRequest::JoinGroup(JoinGroupRequest {
            group_id: group_id.clone(),
            session_timeout_ms: 1_000_000,
            rebalance_timeout_ms: 10_000,
            protocol_type: "consumer".to_owned(),
            protocols: vec![JoinGroupRequestProtocol {
                name: "range".to_owned(),
                metadata: subscribes(if n == 7 { "t2" } else { "t1" }).into(),
                ..Default::default()
            }],
            ..Default::default()
        });
        let tokens = [submit(&mut world, join.clone()), submit(&mut world, join)];
        for _ in 0..2 {
            world.memory.advance(0);
        }
        let leader = tokens.map(|token| match world.memory.take_answer(token) {
            Some(GroupResponse::JoinGroup(joined)) => (joined.leader, joined.generation_id),
            other => panic!("no answer to group {n}: {other:?}"),
        })[0]
            .clone();
        let (member_id, generation_id) = leader;
        let sync = SyncGroupRequest {
            group_id: group_id.clone(),
            member_id: member_id.clone(),
            generation_id,
            ..Default::default()
        };
        let token = submit(&mut world, GroupRequest::SyncGroup(sync));
        assert!(world.memory.take_answer(token).is_some());
        let beat = HeartbeatRequest { group_id, member_id, generation_id, ..Default::default() };
        let token = submit(&mut world, GroupRequest::Heartbeat(beat));
        assert!(world.memory.take_answer(token).is_some());
    }
    let request = GroupRequest::ListGroups(ListGroupsRequest::default());
    let GroupResponse::ListGroups(listed) = ask(&mut world, 5, request) else { panic!("no list") };
    assert_eq!(listed.groups.len(), GROUPS);
    assert!(
        listed.groups.iter().all(|group| group.group_type == "classic"),
        "{:?}",
        listed.groups[0]
    );
    // A topic of one of them grows: that one is written, and no other.
    let before = world.memory.log.len();
    topic(&mut world, "t2", 2);
    world.memory.advance(1);
    let written = world.memory.log.len() - before;
    assert!((1..10).contains(&written), "{written} records");
}
