//! Groups of classic consumers that the coordinator assigns, with consumers that do what consumers do.
//! What must hold is checked here; `hosted_oracle` compares their answers with Kafka's.

mod claims;
pub mod client;
mod faults;
mod first_round;
mod newcomers;
mod racks;
mod random;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

use client::{Client, GROUP, Partition, SESSION_MS};
use thalweg_groups::{
    BatchLimit, ClassicRebalanceMode, ConsumerMigrationPolicy, GroupConfig, GroupEvent,
    GroupRequest, GroupResponse, RequestContext, Submission,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::ListGroupsRequest;
use thalweg_wire::messages::describe_groups_response::DescribedGroup;

use crate::script::{Op, World};

const CONFIG: &str = "new mode=server cint=0 delay=0 minsession=10 csession=20000 chb=3000";

fn world(partitions: i32) -> World {
    let mut world = World::new(GroupConfig::default());
    world.run(CONFIG, None);
    topic(&mut world, "t1", partitions);
    world
}

fn topic(world: &mut World, name: &str, partitions: i32) {
    let line = format!("topic n={name} p={partitions}");
    let event = world.metadata.topic(&Op::parse(&line));
    world.memory.event(event);
}

fn consumer(name: &str, protocol: &'static str) -> Client {
    Client::new(name.to_owned(), &[protocol], &["t1"])
}

/// Consumers that are in the group and own what they are to own.
fn settled(world: &mut World, count: usize, protocol: &'static str) -> Vec<Client> {
    let mut clients: Vec<Client> =
        (0..count).map(|i| consumer(&format!("c{i}"), protocol)).collect();
    settle(world, &mut clients);
    clients
}

/// Heartbeats of everybody until nobody has anything to do; how many rounds that took.
fn settle(world: &mut World, clients: &mut [Client]) -> usize {
    for round in 1..30 {
        let before = totals(clients);
        for client in clients.iter_mut() {
            client.beat(world);
            world.check();
        }
        check_owners(clients);
        world.memory.advance(10);
        if round > 1 && totals(clients) == before && is_settled(world, clients) {
            return round;
        }
    }
    panic!("the group does not settle: {clients:?}\n{:?}", world.state());
}

fn totals(clients: &[Client]) -> (usize, usize) {
    (clients.iter().map(|c| c.joins).sum(), clients.iter().map(|c| c.told).sum())
}

/// Nobody owns what somebody else owns.
fn check_owners(clients: &[Client]) {
    let mut owners: BTreeMap<&Partition, &str> = BTreeMap::new();
    for client in clients {
        for partition in &client.owned {
            if let Some(other) = owners.insert(partition, &client.name) {
                panic!("{partition:?} is owned by {other} and {}", client.name);
            }
        }
    }
}

/// Every partition that somebody subscribes to has an owner.
fn is_settled(world: &World, clients: &[Client]) -> bool {
    let owned: BTreeSet<&Partition> = clients.iter().flat_map(|client| &client.owned).collect();
    let wanted: BTreeSet<&str> =
        clients.iter().flat_map(|client| client.topics.iter().copied()).collect();
    let partitions: usize = wanted
        .iter()
        .filter_map(|topic| world.metadata.image.topics.by_name(topic))
        .map(|topic| topic.partitions.len())
        .sum();
    owned.len() == partitions
}

fn ask(world: &mut World, api_version: i16, request: GroupRequest) -> GroupResponse {
    let context = RequestContext {
        api_version,
        client_id: "admin".into(),
        client_host: "/127.0.0.1".into(),
        random: 0,
        ..Default::default()
    };
    let token = world.memory.submit(Submission { context, request });
    world.memory.take_answer(token).expect("an answer")
}

fn describe_request() -> GroupRequest {
    GroupRequest::DescribeGroups { groups: vec![GROUP.to_owned()], rebalances: true }
}

fn describe(world: &mut World) -> DescribedGroup {
    match ask(world, 6, describe_request()) {
        GroupResponse::DescribeGroups(mut groups) => groups.remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_join_moves_what_it_has_to_and_tells_nobody_else() {
    for (protocol, rejoins) in
        [("range", 1), ("roundrobin", 1), ("sticky", 1), ("cooperative-sticky", 2)]
    {
        let mut world = world(12);
        let mut clients = settled(&mut world, 3, protocol);
        let before = clients.clone();
        clients.push(consumer("new", protocol));
        settle(&mut world, &mut clients);
        assert_eq!(clients.iter().map(|c| c.owned.len()).collect::<Vec<_>>(), [3, 3, 3, 3]);
        for (client, before) in clients.iter().zip(&before) {
            assert_eq!((client.told - before.told, client.joins - before.joins), (1, rejoins));
        }
        // One partition is too many for one of them, the others keep what they have.
        let mut world = world_of(&mut clients, 13);
        let before = clients.clone();
        clients.push(consumer("last", protocol));
        settle(&mut world, &mut clients);
        for (client, before) in clients.iter().zip(&before) {
            let is_touched = client.owned != before.owned;
            assert_eq!(client.told > before.told, is_touched, "{protocol}: {client:?}");
            assert_eq!(client.joins > before.joins, is_touched, "{protocol}: {client:?}");
            assert!(
                client.owned.is_subset(&before.owned),
                "{protocol}: a partition moved for nothing"
            );
        }
        let told = clients.iter().filter(|client| client.told > 0).count();
        assert!(told > 0);
    }
}

/// The same consumers in another group, of one topic of so many partitions, settled.
fn world_of(clients: &mut Vec<Client>, partitions: i32) -> World {
    let protocol = clients[0].protocols[0];
    let mut world = world(partitions);
    *clients = settled(&mut world, clients.len(), protocol);
    world
}

#[test]
fn a_leave_and_a_crash_give_their_partitions_to_others_who_keep_theirs() {
    for is_crash in [false, true] {
        let mut world = world(8);
        let mut clients = settled(&mut world, 4, "cooperative-sticky");
        let mut gone = clients.remove(1);
        if is_crash {
            for _ in 0..2 {
                world.memory.advance(SESSION_MS as u64 / 2);
                clients.iter_mut().for_each(|client| client.beat(&mut world));
            }
        } else {
            gone.leave(&mut world);
            assert_eq!(gone.receive(&mut world), Some(ErrorCode::NONE));
        }
        let before = clients.clone();
        settle(&mut world, &mut clients);
        for (client, before) in clients.iter().zip(&before) {
            assert!(before.owned.is_subset(&client.owned), "{client:?}");
            assert_eq!(client.told > before.told, client.owned != before.owned);
        }
        // Two partitions, and three members that may have one more.
        assert_eq!(clients.iter().filter(|c| c.owned.len() == 3).count(), 2);
    }
}

/// A member that joined for a partition that its owner still holds would join in vain.
#[test]
fn member_is_told_of_a_partition_when_its_owner_gave_it_up() {
    for protocol in ["sticky", "cooperative-sticky"] {
        let mut world = world(4);
        topic(&mut world, "t2", 1);
        let mut clients = settled(&mut world, 1, protocol);
        clients.push(Client::new("grows".to_owned(), &[protocol], &["t2"]));
        settle(&mut world, &mut clients);
        let [holder, grows] = &mut clients[..] else { panic!("two members") };
        assert_eq!((holder.owned.len(), grows.owned.len()), (4, 1), "{protocol}");
        grows.topics.push("t1");
        grows.must_join = true;
        grows.run(&mut world);
        let (joins, told) = (grows.joins, grows.told);
        for _ in 0..3 {
            grows.beat(&mut world);
            world.memory.advance(10);
        }
        assert_eq!((grows.joins, grows.told), (joins, told), "{protocol}: {grows:?}");
        assert_eq!(grows.owned.len(), 1, "{protocol}: the holder was not asked yet");
        holder.beat(&mut world);
        holder.beat(&mut world);
        grows.beat(&mut world);
        assert_eq!((grows.joins, grows.told), (joins + 1, told + 1), "{protocol}: {grows:?}");
        settle(&mut world, &mut clients);
        assert_eq!(clients.iter().map(|c| c.owned.len()).sum::<usize>(), 5, "{protocol}");
    }
}

#[test]
fn a_member_that_keeps_its_partitions_stays_in_its_generation() {
    let mut world = world(3);
    let mut clients = settled(&mut world, 3, "range");
    let (generation, told) = (clients[0].generation, clients[0].told);
    let partition = clients[0].owned.first().cloned().expect("a partition");
    // Four more come, and find nothing left.
    for name in ["d", "e", "f", "g"] {
        clients.push(consumer(name, "range"));
        settle(&mut world, &mut clients);
    }
    assert_eq!((clients[0].generation, clients[0].told), (generation, told));
    let group = world.shard().logged().consumer_group(GROUP).expect("a group");
    assert!(group.epochs().assignment > generation);
    assert_eq!(clients[0].commit(&mut world, generation, &partition), ErrorCode::NONE);
    // The same generation is valid after a restart, too.
    world.memory.close(ErrorCode::NOT_COORDINATOR);
    let config = world.config.clone();
    world.memory.reload(thalweg_groups::GroupShard::new(config));
    let now = world.metadata.whole();
    world.memory.event(now);
    let before = totals(&clients);
    settle(&mut world, &mut clients);
    assert_eq!(totals(&clients), before, "a restart is no rebalance");
    assert_eq!(clients[0].commit(&mut world, generation, &partition), ErrorCode::NONE);
}

#[test]
fn what_went_away_and_came_back_is_not_committed_by_the_past() {
    let mut world = world(2);
    let mut clients = settled(&mut world, 1, "range");
    clients.push(consumer("b", "range"));
    settle(&mut world, &mut clients);
    let moved = clients[1].owned.first().cloned().expect("a partition");
    let past = clients[0].past.clone();
    let (old, _) = past.iter().find(|(_, partition)| *partition == moved).expect("it was there");
    let old = *old;
    assert_ne!(clients[0].commit(&mut world, old, &moved), ErrorCode::NONE);
    let mut gone = clients.remove(1);
    gone.leave(&mut world);
    gone.receive(&mut world);
    settle(&mut world, &mut clients);
    assert!(clients[0].owned.contains(&moved));
    let generation = clients[0].generation;
    assert_ne!(clients[0].commit(&mut world, old, &moved), ErrorCode::NONE);
    assert_eq!(clients[0].commit(&mut world, generation, &moved), ErrorCode::NONE);
}

#[test]
fn a_member_of_now_does_not_commit_what_others_own_or_are_to_own() {
    let mut world = world(2);
    let mut clients = settled(&mut world, 1, "range");
    clients.push(consumer("b", "range"));
    settle(&mut world, &mut clients);
    topic(&mut world, "u1", 1);
    let first = |client: &Client| client.owned.first().cloned().expect("a partition");
    let (kept, moved) = (first(&clients[0]), first(&clients[1]));
    let commit = |world: &mut World, clients: &[Client], partition: &Partition| {
        clients[0].commit(world, clients[0].generation, partition)
    };
    assert_eq!(commit(&mut world, &clients, &kept), ErrorCode::NONE);
    assert_eq!(commit(&mut world, &clients, &moved), ErrorCode::REBALANCE_IN_PROGRESS);
    // Of a topic that no member subscribes to, offsets are anybody's business.
    assert_eq!(commit(&mut world, &clients, &("u1".to_owned(), 0)), ErrorCode::NONE);
    // Nobody owns it any more. It is to be this member's, who knows nothing of what was committed since.
    let mut gone = clients.remove(1);
    gone.leave(&mut world);
    gone.receive(&mut world);
    assert_eq!(commit(&mut world, &clients, &moved), ErrorCode::REBALANCE_IN_PROGRESS);
    settle(&mut world, &mut clients);
    assert_eq!(commit(&mut world, &clients, &moved), ErrorCode::NONE);
}

#[test]
fn nor_does_it_in_a_transaction() {
    let mut world = world(2);
    let mut clients = settled(&mut world, 1, "range");
    clients.push(consumer("b", "range"));
    settle(&mut world, &mut clients);
    topic(&mut world, "u1", 1);
    let first = |client: &Client| client.owned.first().cloned().expect("a partition");
    let (kept, moved) = (first(&clients[0]), first(&clients[1]));
    let commit = |world: &mut World, clients: &[Client], generation: i32, what: &Partition| {
        clients[0].commit_in_transaction(world, generation, what)
    };
    let now = clients[0].generation;
    assert_eq!(commit(&mut world, &clients, now, &kept), ErrorCode::NONE);
    // REBALANCE_IN_PROGRESS would end the producer; of this it hears that it has to abort.
    assert_eq!(commit(&mut world, &clients, now, &moved), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(commit(&mut world, &clients, now + 1, &kept), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(commit(&mut world, &clients, now, &("u1".to_owned(), 0)), ErrorCode::NONE);
    // What it has had since before that generation it may commit in the one before.
    let (before, _) = clients[0].past.iter().find(|(_, had)| *had == kept).cloned().expect("its");
    assert!(before < now);
    assert_eq!(commit(&mut world, &clients, before, &kept), ErrorCode::NONE);
    assert_eq!(commit(&mut world, &clients, before, &moved), ErrorCode::ILLEGAL_GENERATION);
    // Producers that name no member are held by their transactional ids alone.
    let nobody = Client { member_id: String::new(), ..clients[0].clone() };
    assert_eq!(nobody.commit_in_transaction(&mut world, -1, &moved), ErrorCode::NONE);
    assert_eq!(nobody.commit_in_transaction(&mut world, now, &kept), ErrorCode::UNKNOWN_MEMBER_ID);
    let mut gone = clients.remove(1);
    gone.leave(&mut world);
    gone.receive(&mut world);
    let late = gone.commit_in_transaction(&mut world, gone.generation, &moved);
    assert_eq!(late, ErrorCode::UNKNOWN_MEMBER_ID);
    settle(&mut world, &mut clients);
    let now = clients[0].generation;
    assert_eq!(commit(&mut world, &clients, now, &moved), ErrorCode::NONE);
}

#[test]
fn from_outside_it_is_a_stable_classic_group() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "range");
    let described = describe(&mut world);
    assert_eq!(described.error_code, ErrorCode::NONE);
    assert_eq!(
        (&*described.group_state, &*described.protocol_type, &*described.protocol_data),
        ("Stable", "consumer", "range")
    );
    assert_eq!(described.members.len(), 2);
    for member in &described.members {
        assert!(member.member_id.starts_with(&member.client_id));
        assert!(!member.member_assignment.is_empty() && !member.member_metadata.is_empty());
    }
    let request = ListGroupsRequest {
        types_filter: vec!["classic".to_owned()],
        states_filter: vec!["Stable".to_owned()],
        ..Default::default()
    };
    match ask(&mut world, 5, GroupRequest::ListGroups(request)) {
        GroupResponse::ListGroups(listed) => assert_eq!(listed.groups.len(), 1),
        other => panic!("{other:?}"),
    }
    match ask(&mut world, 1, GroupRequest::ConsumerGroupDescribe(vec![GROUP.to_owned()])) {
        GroupResponse::ConsumerGroupDescribe(groups) => {
            assert_eq!(groups[0].error_code, ErrorCode::GROUP_ID_NOT_FOUND);
        }
        other => panic!("{other:?}"),
    }
    // The last member leaves an empty classic group behind.
    for client in &mut clients {
        client.leave(&mut world);
        client.receive(&mut world);
    }
    let described = describe(&mut world);
    assert_eq!((&*described.group_state, &*described.protocol_type), ("Empty", "consumer"));
    assert!(world.shard().group(GROUP).is_some());
    world.check();
}

#[test]
fn new_partitions_reach_members_without_their_asking() {
    let mut world = world(2);
    let mut clients = settled(&mut world, 2, "cooperative-sticky");
    // None of them looks at the topics itself, as the leader of a first round does.
    clients.iter_mut().for_each(|client| client.watches = None);
    topic(&mut world, "t1", 6);
    let before = clients.clone();
    settle(&mut world, &mut clients);
    for (client, before) in clients.iter().zip(&before) {
        assert_eq!((client.owned.len(), client.told - before.told), (3, 1));
    }
}

#[test]
fn a_static_member_that_comes_back_disturbs_nobody() {
    let mut world = world(4);
    let mut clients: Vec<Client> = (0..2).map(|i| consumer(&format!("c{i}"), "range")).collect();
    clients[0].instance_id = Some("ia".to_owned());
    settle(&mut world, &mut clients);
    let before = clients[1].clone();
    let owned = clients[0].owned.clone();
    let old = clients[0].clone();
    clients[0] = Client { instance_id: old.instance_id.clone(), ..consumer("c0", "range") };
    settle(&mut world, &mut clients);
    assert_eq!(clients[0].owned, owned);
    assert_eq!((clients[1].joins, clients[1].told), (before.joins, before.told));
    let mut old = old;
    old.heartbeat(&mut world);
    assert_eq!(old.receive(&mut world), Some(ErrorCode::FENCED_INSTANCE_ID));
}

#[test]
fn other_assignors_bring_the_barrier_back_and_go_with_their_last_member() {
    let mut world = world(4);
    let mut clients: Vec<Client> =
        (0..2).map(|i| Client::new(format!("c{i}"), &["range", "own"], &["t1"])).collect();
    settle(&mut world, &mut clients);
    let partition = clients[0].owned.first().cloned().expect("a partition");
    let generation = clients[0].generation;
    assert_eq!(clients[0].commit(&mut world, generation, &partition), ErrorCode::NONE);
    // Nothing in common but an assignor that is not built in.
    let mut own = Client::new("own".to_owned(), &["own"], &["t1"]);
    own.run(&mut world);
    assert!(own.waiting.is_some(), "it waits for the others");
    assert_eq!(own.joins, 2, "the id that it was given is known at the barrier");
    assert_eq!(describe(&mut world).group_state, "PreparingRebalance");
    for client in &mut clients {
        client.beat(&mut world);
    }
    own.receive(&mut world);
    assert_eq!(describe(&mut world).protocol_data, "");
    assert_eq!(world.shard().group(GROUP).map(|group| group.members().len()), Some(3));
    // It leaves again; who is left votes for range, and the coordinator takes over.
    own.waiting = None;
    own.leave(&mut world);
    own.receive(&mut world);
    for _ in 0..4 {
        clients.iter_mut().for_each(|client| client.beat(&mut world));
    }
    world.check();
    assert_eq!(describe(&mut world).protocol_data, "range");
    // Somebody who has nothing in common with them changes nothing.
    let mut stranger = Client::new("x".to_owned(), &["foreign"], &["t1"]);
    stranger.send(&mut world);
    assert_eq!(stranger.receive(&mut world), Some(ErrorCode::INCONSISTENT_GROUP_PROTOCOL));
}

#[test]
fn a_member_too_large_for_a_record_is_refused_and_a_group_too_large_for_the_barrier_stays() {
    let mut world = world(4);
    let small = GroupConfig {
        batch_limit: BatchLimit { bytes: 5_000, ..BatchLimit::default() },
        ..(*world.config).clone()
    };
    world.config = std::sync::Arc::new(small);
    let event = GroupEvent::Config(world.config.clone());
    world.memory.event(event);
    let range = &["range", "own"];
    let mut clients: Vec<Client> =
        (0..20).map(|i| Client::new(format!("c{i}"), range, &["t1"])).collect();
    settle(&mut world, &mut clients);
    let mut large = consumer("large", "range");
    large.topics = vec!["a-topic-that-does-not-exist-and-has-a-long-name"; 40];
    large.run(&mut world);
    assert!(large.must_join && large.waiting.is_none(), "{large:?}");
    // The barrier's record has all members.
    let mut own = Client::new("own".to_owned(), &["own"], &["t1"]);
    own.run(&mut world);
    assert!(own.must_join && own.waiting.is_none(), "{own:?}");
    let before = totals(&clients);
    settle(&mut world, &mut clients);
    assert_eq!(totals(&clients), before);
    // Also if the setting says that it is not to be assigned by the coordinator any more.
    mode(&mut world, ClassicRebalanceMode::Barrier);
    settle(&mut world, &mut clients);
    assert!(world.shard().logged().consumer_group(GROUP).is_some());
    world.check();
}

fn mode(world: &mut World, mode: ClassicRebalanceMode) {
    let mut config = (*world.config).clone();
    config.consumer.classic_rebalance_mode = mode;
    world.config = std::sync::Arc::new(config);
    let event = GroupEvent::Config(world.config.clone());
    world.memory.event(event);
}

/// The state of a group that the coordinator assigns is in records that only later clusters know.
#[test]
fn a_cluster_that_does_not_know_consumer_groups_has_the_barrier() {
    let mut world = world(6);
    let know = |world: &mut World, has_consumer_records| {
        let config = GroupConfig { has_consumer_records, ..(*world.config).clone() };
        world.config = std::sync::Arc::new(config);
        world.memory.event(GroupEvent::Config(world.config.clone()));
    };
    know(&mut world, false);
    let mut clients: Vec<Client> = (0..2).map(|i| consumer(&format!("c{i}"), "range")).collect();
    settle(&mut world, &mut clients);
    let mut client = clients.remove(0);
    let mode = |world: &mut World| {
        let told = crate::rebalances::told(world, GROUP);
        (told.mode, told.reason)
    };
    let (barrier, why) = mode(&mut world);
    assert!(barrier == "barrier" && why.contains("group.version is 0"), "{barrier}: {why}");
    know(&mut world, true);
    client.beat(&mut world);
    assert_eq!(mode(&mut world).0, "server");
    // What it has written stays so; the group's next step is Kafka's.
    know(&mut world, false);
    client.beat(&mut world);
    assert_eq!(mode(&mut world).0, "barrier");
}

#[test]
fn the_setting_changes_while_a_group_lives() {
    let mut world = world(6);
    let mut clients = settled(&mut world, 3, "cooperative-sticky");
    mode(&mut world, ClassicRebalanceMode::Barrier);
    for _ in 0..3 {
        clients.iter_mut().for_each(|client| client.beat(&mut world));
    }
    assert!(world.shard().group(GROUP).is_some_and(|group| group.members().len() == 3));
    assert!(clients.iter().all(|client| client.told > 0));
    // Its leader has assigned nothing: consumers of these tests do not. The coordinator takes over and
    // does, without anybody's joining first.
    mode(&mut world, ClassicRebalanceMode::Server);
    settle(&mut world, &mut clients);
    assert!(world.shard().group(GROUP).is_none());
    assert!(clients.iter().all(|client| client.owned.len() == 2));
}

#[test]
fn members_of_a_group_that_is_classic_again_have_their_sessions_again() {
    for is_back_at_barrier in [false, true] {
        let mut world = world(6);
        let mut clients = settled(&mut world, 2, "range");
        mode(&mut world, ClassicRebalanceMode::Barrier);
        for _ in 0..4 {
            clients.iter_mut().for_each(|client| client.beat(&mut world));
        }
        assert!(world.shard().group(GROUP).is_some_and(|group| group.members().len() == 2));
        // The coordinator takes the group over, and nothing of that is written.
        mode(&mut world, ClassicRebalanceMode::Server);
        world.memory.auto_append = false;
        clients[0].heartbeat(&mut world);
        assert!(world.shard().group(GROUP).is_none());
        if is_back_at_barrier {
            // The timers of the group that is classic here go with it.
            mode(&mut world, ClassicRebalanceMode::Barrier);
            consumer("other", "range").run(&mut world);
            assert!(world.shard().group(GROUP).is_some());
        } else {
            // Its session ends without effect.
            world.memory.advance(2 * SESSION_MS as u64);
        }
        world.memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        world.memory.auto_append = true;
        world.memory.settle();
        assert!(world.shard().group(GROUP).is_some_and(|group| group.members().len() == 2));
        world.memory.advance(2 * SESSION_MS as u64);
        let mut members = world.shard().group(GROUP).expect("the group").members();
        assert!(members.next().is_none(), "nobody was heard of");
        world.check();
    }
}

#[test]
fn a_member_of_the_consumer_protocol_comes_and_goes() {
    let mut world = world(4);
    let mut clients = settled(&mut world, 2, "cooperative-sticky");
    world.memory.take_answers();
    world.run("chb v=1 g=g m=mb e=0 rt=5000 o= c=c t=t1", None);
    for _ in 0..4 {
        clients.iter_mut().for_each(|client| client.beat(&mut world));
        world.run("chb v=1 g=g m=mb e=2 c=c o=", None);
    }
    let request = GroupRequest::ConsumerGroupDescribe(vec![GROUP.to_owned()]);
    match ask(&mut world, 1, request) {
        GroupResponse::ConsumerGroupDescribe(groups) => {
            assert_eq!((groups[0].error_code, groups[0].members.len()), (ErrorCode::NONE, 3));
        }
        other => panic!("{other:?}"),
    }
    world.run("chb v=1 g=g m=mb e=-1 c=c", None);
    settle(&mut world, &mut clients);
    assert_eq!(describe(&mut world).group_state, "Stable");
    assert_eq!(clients.iter().map(|c| c.owned.len()).collect::<Vec<_>>(), [2, 2]);
    // Where groups may not change their type it is refused.
    let disabled = GroupConfig {
        consumer_migration_policy: ConsumerMigrationPolicy::Disabled,
        ..(*world.config).clone()
    };
    let event = GroupEvent::Config(std::sync::Arc::new(disabled));
    world.memory.event(event);
    let refused = world.run("chb v=1 g=g m=mb e=0 rt=5000 o= c=c t=t1", None);
    assert!(refused.iter().any(|line| line.contains("err=69")), "{refused:?}");
}

#[test]
fn what_a_member_holds_is_not_given_away_by_a_restart_before_the_barrier() {
    let mut world = world(2);
    let range = &["range", "own"];
    let mut clients = vec![Client::new("a".to_owned(), range, &["t1"])];
    settle(&mut world, &mut clients);
    // Half of it is to go to another one, who waits for it.
    clients.push(Client::new("b".to_owned(), range, &["t1"]));
    clients[1].run(&mut world);
    assert!(clients[0].owned.len() == 2 && clients[1].owned.is_empty());
    // The barrier comes back, and the coordinator goes before anybody has joined.
    let mut own = Client::new("own".to_owned(), &["own"], &["t1"]);
    own.run(&mut world);
    assert!(world.shard().group(GROUP).is_some() && own.waiting.is_some());
    world.memory.close(ErrorCode::NOT_COORDINATOR);
    let config = world.config.clone();
    world.memory.reload(thalweg_groups::GroupShard::new(config));
    let now = world.metadata.whole();
    world.memory.event(now);
    // Who comes back first must not get what the other one still has.
    for _ in 0..3 {
        clients[1].beat(&mut world);
        check_owners(&clients);
    }
    settle(&mut world, &mut clients);
}

#[test]
fn a_member_is_not_told_of_what_somebody_else_holds() {
    let mut world = world(2);
    let mut clients = settled(&mut world, 1, "cooperative-sticky");
    let mut new = consumer("new", "cooperative-sticky");
    for _ in 0..3 {
        new.beat(&mut world);
    }
    assert!(new.waiting.is_some());
    assert_eq!((new.told, new.joins, new.owned.len()), (0, 2, 0));
    clients[0].beat(&mut world);
    world.memory.advance(1);
    new.beat(&mut world);
    assert_eq!((new.told, new.joins, new.owned.len()), (0, 2, 1));
}
