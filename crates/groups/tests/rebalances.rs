//! What the coordinator tells of its groups' rebalances.

use thalweg_groups::{
    ClassicRebalanceMode, GroupConfig, GroupEvent, GroupRequest, GroupResponse, RequestContext,
    Submission, TriggerKind, WaitStep, unowned_ms,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::group_rebalances::GroupRebalance;
use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, GroupRebalances};
use thalweg_wire::{GROUP_REBALANCES_TAG, Message as _, Reader};

use crate::hosted::client::{Client, GROUP};
use crate::script::World;

/// What is told of a group.
pub fn told(world: &mut World, group: &str) -> GroupRebalances {
    let context = RequestContext { api_version: 6, ..Default::default() };
    let groups = vec![group.to_owned()];
    let request = GroupRequest::DescribeGroups { groups, rebalances: true };
    let token = world.memory.submit(Submission { context, request });
    let Some(GroupResponse::DescribeGroups(groups)) = world.memory.take_answer(token) else {
        panic!("no description");
    };
    let mut fields = groups[0].unknown_tags.iter();
    let (_, field) = fields.find(|(tag, _)| *tag == GROUP_REBALANCES_TAG).expect("the field");
    let mut r = Reader::new(field);
    let told = GroupRebalances::decode(&mut r, 0).expect("rebalances");
    assert_eq!(r.remaining(), 0);
    told
}

fn world() -> World {
    let mut world = World::new(GroupConfig::default());
    world.run("new mode=server cint=0 csession=20000 chb=3000", None);
    world.run("topic n=t1 p=2", None);
    world
}

fn run(world: &mut World, line: &str) {
    world.run(line, None);
    world.check();
}

/// The trigger of a rebalance that has one: kind, whom it is of, why.
fn trigger(rebalance: &GroupRebalance) -> (TriggerKind, &str, &str) {
    let [trigger] = rebalance.triggers.as_slice() else { panic!("{rebalance:?}") };
    let kind = TriggerKind::of(trigger.kind).expect("a kind");
    (kind, &trigger.subject, &trigger.reason)
}

#[test]
fn a_partition_that_moves_is_told_with_who_waits_for_whom() {
    let mut world = world();
    run(&mut world, "chb v=1 g=g m=ma e=0 rt=60000 o= c=one t=t1");
    let first = told(&mut world, "g");
    assert_eq!(first.mode, "consumer");
    let [formed] = first.rebalances.as_slice() else { panic!("{first:?}") };
    assert_eq!(trigger(formed), (TriggerKind::Joined, "ma", ""));
    assert_eq!((formed.members, formed.move_count, formed.moves.len()), (1, 2, 2));
    assert_eq!(formed.triggers[0].client_id, "one");
    assert!(formed.moves.iter().all(|m| m.from.is_none() && m.to.as_deref() == Some("ma")));
    assert!(formed.over_ms >= formed.began_ms);
    let epoch = formed.epoch;
    run(&mut world, &format!("chb v=1 g=g m=ma e={epoch} o=t1:0:0:1 c=one"));
    run(&mut world, "tick ms=1000");
    // The second one waits for the first.
    run(&mut world, "chb v=1 g=g m=mb e=0 rt=60000 o= c=two t=t1");
    let told_of = told(&mut world, "g");
    let joined = &told_of.rebalances[0];
    assert_eq!(trigger(joined), (TriggerKind::Joined, "mb", ""));
    let [moved] = joined.moves.as_slice() else { panic!("{joined:?}") };
    assert_eq!((moved.from.as_deref(), moved.to.as_deref()), (Some("ma"), Some("mb")));
    assert_eq!((moved.told_ms, moved.freed_ms, moved.taken_ms, joined.over_ms), (-1, -1, -1, -1));
    let (epoch, moves) = (joined.epoch, moved.partition);
    run(&mut world, "tick ms=100");
    run(&mut world, &format!("chb v=1 g=g m=ma e={} c=one", formed.epoch));
    run(&mut world, "tick ms=20");
    let keeps = 1 - moves;
    run(&mut world, &format!("chb v=1 g=g m=ma e={} o=t1:0:{keeps} c=one", formed.epoch));
    run(&mut world, "tick ms=3");
    run(&mut world, &format!("chb v=1 g=g m=mb e={epoch} c=two"));
    let told_of = told(&mut world, "g");
    let joined = &told_of.rebalances[0];
    let [moved] = joined.moves.as_slice() else { panic!("{joined:?}") };
    let since = |ms: i64| ms - joined.began_ms;
    let times = (since(moved.told_ms), since(moved.freed_ms), since(moved.taken_ms));
    assert_eq!((times, since(joined.over_ms)), ((100, 120, 123), 123));
    assert_eq!((unowned_ms(moved), moved.topic.as_str()), (3, "t1"));
    let counters = world.shard().counters().rebalances;
    assert_eq!(
        (counters.triggered, counters.moves, counters.took.count()),
        ([2, 0, 0, 0, 0, 0, 0], 3, 2)
    );
    assert_eq!((counters.revocation.count(), counters.revocation.sum_ms()), (1, 20));
    assert_eq!((counters.unowned.sum_ms(), counters.took.sum_ms()), (3, 123));
}

#[test]
fn a_partition_that_stays_after_all_ends_its_move() {
    let mut world = world();
    run(&mut world, "chb v=1 g=g m=ma e=0 rt=60000 o= c=one t=t1");
    run(&mut world, "chb v=1 g=g m=mb e=0 rt=60000 o= c=two t=t1");
    // It goes before the other one has heard that it is to give anything up.
    run(&mut world, "chb v=1 g=g m=mb e=-1 c=two");
    run(&mut world, "chb v=1 g=g m=ma e=2 c=one");
    let all = told(&mut world, "g").rebalances;
    let [left, joined, _] = all.as_slice() else { panic!("{all:?}") };
    assert!(all.iter().all(|rebalance| rebalance.over_ms >= 0), "{all:?}");
    assert_eq!((left.moves.len(), left.move_count), (0, 0));
    let [moved] = joined.moves.as_slice() else { panic!("{joined:?}") };
    assert_eq!((moved.from.as_deref(), moved.to.as_deref()), (Some("ma"), Some("mb")));
    assert_eq!((moved.freed_ms, moved.taken_ms), (-1, -1));
    assert_eq!(joined.superseded_by, left.epoch);
}

#[test]
fn a_rebalance_says_who_was_taken_out_and_why() {
    let mut world = world();
    for member in ["ma", "mb", "mc"] {
        run(&mut world, &format!("chb v=1 g=g m={member} e=0 rt=60000 o= c={member} t=t1"));
    }
    run(&mut world, "chb v=1 g=g m=mc e=-1");
    let newest = |world: &mut World| told(world, "g").rebalances.remove(0);
    assert_eq!(trigger(&newest(&mut world)), (TriggerKind::Left, "mc", "left the group"));
    run(&mut world, "tick ms=15000");
    let epoch = world.shard().logged().consumer_group("g").expect("a group").member("ma");
    let epoch = epoch.expect("a member").epoch;
    run(&mut world, &format!("chb v=1 g=g m=ma e={epoch} c=ma"));
    run(&mut world, "tick ms=6000");
    assert_eq!(trigger(&newest(&mut world)), (TriggerKind::Left, "mb", "session timeout"));
    let epoch = world.shard().logged().consumer_group("g").expect("a group").member("ma");
    let epoch = epoch.expect("a member").epoch;
    run(&mut world, &format!("chb v=1 g=g m=ma e={epoch} c=ma t=t1,t2"));
    assert_eq!(trigger(&newest(&mut world)), (TriggerKind::Subscription, "ma", ""));
    run(&mut world, "topic n=t2 p=1");
    let epoch = world.shard().logged().consumer_group("g").expect("a group").member("ma");
    let epoch = epoch.expect("a member").epoch;
    run(&mut world, &format!("chb v=1 g=g m=ma e={epoch} c=ma"));
    assert_eq!(trigger(&newest(&mut world)), (TriggerKind::Topics, "", ""));
}

#[test]
fn what_is_kept_of_rebalances_is_bounded_and_goes_with_the_group() {
    let mut world = world();
    run(&mut world, "topic n=t1 p=200");
    for _ in 0..20 {
        run(&mut world, "chb v=1 g=g m=ma e=0 rt=60000 o= c=one t=t1");
        run(&mut world, "chb v=1 g=g m=ma e=-1");
    }
    let all = told(&mut world, "g").rebalances;
    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|one| one.moves.len() <= 32 && one.over_ms >= 0), "{all:?}");
    assert!(all.iter().any(|one| one.move_count == 200));
    run(&mut world, "delete g=g");
    assert_eq!(told(&mut world, "g"), GroupRebalances::default());
    // What was not written has not happened.
    run(&mut world, "fail code=7");
    run(&mut world, "chb v=1 g=g m=ma e=0 rt=60000 o= c=one t=t1");
    assert_eq!(told(&mut world, "g"), GroupRebalances::default());
}

/// Names and reasons are the clients', and could be as long as a request.
#[test]
fn what_clients_say_is_cut() {
    let mut world = world();
    let name = "ä".repeat(10_000);
    run(&mut world, &format!("chb v=1 g=g m=ma e=0 rt=60000 o= c={name} t=t1"));
    let told = told(&mut world, "g");
    let [formed] = told.rebalances.as_slice() else { panic!("{told:?}") };
    assert_eq!(formed.triggers[0].client_id, "ä".repeat(127));
}

/// A group at the barrier, of clients as unmodified as tests have them.
fn barrier(delay_ms: u32) -> World {
    let mut world = World::new(GroupConfig::default());
    world.run(&format!("new mode=barrier delay={delay_ms}"), None);
    world.run("topic n=t1 p=2", None);
    world
}

fn set_mode(world: &mut World, mode: ClassicRebalanceMode) {
    let mut config = (*world.config).clone();
    config.consumer.classic_rebalance_mode = mode;
    world.config = config.into();
    world.memory.event(GroupEvent::Config(world.config.clone()));
}

fn client(world: &mut World, name: &str, assignor: &'static str) -> Client {
    let mut client = Client::new(name.to_owned(), &[assignor], &["t1"]);
    client.run(world);
    client
}

fn newest(world: &mut World) -> GroupRebalance {
    let told = told(world, GROUP);
    assert_eq!(told.mode, "barrier");
    told.rebalances.into_iter().next().expect("a rebalance")
}

/// Steps, members and times since the rebalance began; -1 where it waits.
fn waits(rebalance: &GroupRebalance) -> Vec<(i8, &str, i64)> {
    let since = |ms: i64| if ms < 0 { -1 } else { ms - rebalance.began_ms };
    rebalance.waits.iter().map(|one| (one.step, &*one.member, since(one.ended_ms))).collect()
}

const JOIN: i8 = WaitStep::Join as i8;
const ASSIGNMENT: i8 = WaitStep::Assignment as i8;
const SYNC: i8 = WaitStep::Sync as i8;

#[test]
fn a_rebalance_at_the_barrier_is_told_with_who_was_waited_for() {
    let mut world = barrier(3000);
    let mut a = client(&mut world, "a", "range");
    let formed = newest(&mut world);
    assert_eq!(trigger(&formed), (TriggerKind::Joined, &*a.member_id, ""));
    assert_eq!((formed.epoch, formed.over_ms, formed.superseded_by), (1, -1, -1));
    assert_eq!(waits(&formed), []);
    world.memory.advance(3000);
    a.run(&mut world);
    let formed = newest(&mut world);
    let id = a.member_id.clone();
    assert_eq!(waits(&formed), [(JOIN, &*id, 3000), (ASSIGNMENT, &id, 3000)]);
    assert_eq!((formed.members, formed.move_count, formed.over_ms - formed.began_ms), (1, 2, 3000));
    assert!(formed.moves.iter().all(|m| m.from.is_none() && m.to.as_deref() == Some(&*id)));

    let mut b = client(&mut world, "b", "range");
    let joined = newest(&mut world);
    assert_eq!(trigger(&joined), (TriggerKind::Joined, &*b.member_id, ""));
    assert_eq!(waits(&joined), [(JOIN, &*a.member_id, -1)]);
    world.memory.advance(100);
    a.heartbeat(&mut world);
    a.receive(&mut world);
    world.memory.advance(20);
    // It joins again, and is the leader.
    a.send(&mut world);
    a.receive(&mut world);
    assert_eq!(
        waits(&newest(&mut world)),
        [(JOIN, &*a.member_id, 120), (ASSIGNMENT, &a.member_id, -1)]
    );
    world.memory.advance(5);
    a.run(&mut world);
    let assigned = newest(&mut world);
    assert_eq!(waits(&assigned)[1..], [(ASSIGNMENT, &*a.member_id, 125), (SYNC, &b.member_id, -1)]);
    world.memory.advance(7);
    b.run(&mut world);
    let over = newest(&mut world);
    let all =
        [(JOIN, &*a.member_id, 120), (ASSIGNMENT, &a.member_id, 125), (SYNC, &b.member_id, 132)];
    assert_eq!(waits(&over), all);
    let since = |ms: i64| ms - over.began_ms;
    assert_eq!(
        (over.epoch, over.members, since(over.assigned_ms), since(over.over_ms)),
        (2, 2, 125, 132)
    );
    let [moved] = over.moves.as_slice() else { panic!("{over:?}") };
    assert_eq!(
        (moved.from.as_deref(), moved.to.as_deref()),
        (Some(&*a.member_id), Some(&*b.member_id))
    );
    let times = (since(moved.told_ms), since(moved.freed_ms), since(moved.taken_ms));
    assert_eq!((times, unowned_ms(moved), &*moved.topic), ((100, 120, 132), 12, "t1"));

    let counters = world.shard().counters().rebalances;
    let told = (counters.triggered, counters.moves, counters.took.count(), counters.took.sum_ms());
    assert_eq!(told, ([2, 0, 0, 0, 0, 0, 0], 3, 2, 3132));
    // Two that nobody had stood still until the group had formed.
    assert_eq!((counters.unowned.count(), counters.unowned.sum_ms()), (3, 6012));
    assert_eq!((counters.revocation.count(), counters.revocation.sum_ms()), (1, 20));
}

/// What a cooperative member is to give up goes to the next one in the rebalance after the one that said so.
#[test]
fn what_cooperative_members_give_up_is_told_with_where_it_goes() {
    let mut world = barrier(0);
    let mut a = client(&mut world, "a", "cooperative-sticky");
    world.memory.advance(1);
    a.run(&mut world);
    let mut b = client(&mut world, "b", "cooperative-sticky");
    world.memory.advance(10);
    a.heartbeat(&mut world);
    a.receive(&mut world);
    a.send(&mut world);
    a.receive(&mut world);
    b.run(&mut world);
    // Its assignment is smaller, and it gives the rest up and joins again.
    a.send(&mut world);
    world.memory.advance(4);
    a.run(&mut world);
    b.run(&mut world);
    let told_of = told(&mut world, GROUP).rebalances;
    let [again, joined, _] = told_of.as_slice() else { panic!("{told_of:?}") };
    assert_eq!(trigger(again), (TriggerKind::Rejoined, &*a.member_id, ""));
    assert_eq!((joined.move_count, joined.over_ms >= 0), (0, true));
    world.memory.advance(6);
    b.beat(&mut world);
    a.run(&mut world);
    b.run(&mut world);
    let again = newest(&mut world);
    let [moved] = again.moves.as_slice() else { panic!("{again:?}") };
    assert_eq!(
        (moved.from.as_deref(), moved.to.as_deref()),
        (Some(&*a.member_id), Some(&*b.member_id))
    );
    assert_eq!(moved.freed_ms, again.began_ms);
    assert_eq!((moved.freed_ms - moved.told_ms, moved.taken_ms - moved.freed_ms), (4, 6));
    assert_eq!(world.shard().counters().rebalances.moves, 3);
}

#[test]
fn a_rebalance_at_the_barrier_says_what_began_it() {
    let mut world = barrier(0);
    let mut all: Vec<Client> =
        ["a", "b", "c", "d"].map(|name| client(&mut world, name, "range")).into();
    let settle = |world: &mut World, all: &mut [Client]| {
        for _ in 0..4 {
            world.memory.advance(1);
            all.iter_mut().for_each(|client| client.beat(world));
        }
        assert!(
            world
                .shard()
                .group(GROUP)
                .is_some_and(|group| group.unsynced_members().next().is_none())
        );
    };
    settle(&mut world, &mut all);
    // Who leaves, and who is not heard of.
    let mut gone = all.remove(3);
    gone.leave(&mut world);
    assert_eq!(
        trigger(&newest(&mut world)),
        (TriggerKind::Left, &*gone.member_id, "left the group")
    );
    settle(&mut world, &mut all);
    let silent = all.remove(2);
    world.memory.advance(19000);
    settle(&mut world, &mut all);
    world.memory.advance(1000);
    assert_eq!(
        trigger(&newest(&mut world)),
        (TriggerKind::Left, &*silent.member_id, "session timeout")
    );
    settle(&mut world, &mut all);
    // A member that subscribes to something else, and one that does not come back in time.
    all[1].topics = vec!["t1", "t2"];
    all[1].must_join = true;
    all[1].run(&mut world);
    let changed = newest(&mut world);
    assert_eq!(trigger(&changed), (TriggerKind::Subscription, &*all[1].member_id, ""));
    let late_id = all[0].member_id.clone();
    assert_eq!(waits(&changed), [(JOIN, &*late_id, -1)]);
    for _ in 0..3 {
        world.memory.advance(10000);
        all[0].heartbeat(&mut world);
        all[0].receive(&mut world);
    }
    all[1].run(&mut world);
    let late = newest(&mut world);
    let kinds: Vec<_> =
        late.triggers.iter().map(|one| (one.kind, &*one.subject, &*one.reason)).collect();
    let left = TriggerKind::Left.number();
    assert_eq!(kinds[1], (left, &*late_id, "rebalance timeout: it did not join again"));
    assert_eq!((late.trigger_count, late.members, late.over_ms >= 0), (2, 1, true));
    assert!(late.moves.iter().all(|moved| moved.from.as_deref() == Some(&*late_id)), "{late:?}");
    assert_eq!(late.move_count, 1);
    // The leader joins again as it likes.
    all.remove(0);
    all[0].must_join = true;
    all[0].run(&mut world);
    assert_eq!(trigger(&newest(&mut world)), (TriggerKind::Rejoined, &*all[0].member_id, ""));
    // What was not written is begun anew.
    all[0].must_join = true;
    all[0].send(&mut world);
    all[0].receive(&mut world);
    world.memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    all[0].run(&mut world);
    let told = told(&mut world, GROUP).rebalances;
    let [again, unwritten, ..] = told.as_slice() else { panic!("{told:?}") };
    assert!(trigger(again).2.starts_with("the assignment was not written: "), "{again:?}");
    assert_eq!((unwritten.superseded_by, unwritten.assigned_ms), (again.epoch, -1));
}

/// Members begin a rebalance, as in Kafka, when one leaves that was only given an id.
#[test]
fn who_was_given_an_id_and_leaves_is_named() {
    let mut world = barrier(0);
    let mut a = client(&mut world, "a", "range");
    world.memory.advance(1);
    a.run(&mut world);
    let mut b = Client::new("b".to_owned(), &["range"], &["t1"]);
    b.send(&mut world);
    assert_eq!(b.receive(&mut world), Some(ErrorCode::MEMBER_ID_REQUIRED));
    b.leave(&mut world);
    assert_eq!(b.receive(&mut world), Some(ErrorCode::NONE));
    let begun = newest(&mut world);
    assert_eq!(trigger(&begun), (TriggerKind::Left, &*b.member_id, "left the group"));
}

/// It never had what it was assigned, and the partition stands still since the one before gave it up.
#[test]
fn a_member_that_did_not_ask_for_its_assignment_has_not_owned_it() {
    let mut world = barrier(0);
    let mut a = client(&mut world, "a", "range");
    world.memory.advance(1);
    a.run(&mut world);
    let mut b = client(&mut world, "b", "range");
    a.heartbeat(&mut world);
    world.memory.advance(10);
    a.run(&mut world);
    b.receive(&mut world);
    let joined = newest(&mut world);
    assert_eq!(waits(&joined).last(), Some(&(SYNC, &*b.member_id, -1)));
    let id = b.member_id.clone();
    // Both are heard of until the time to ask is over.
    for _ in 0..3 {
        world.memory.advance(10_000);
        a.beat(&mut world);
    }
    let all = told(&mut world, GROUP).rebalances;
    let [next, joined, _] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((joined.superseded_by, joined.moves[0].taken_ms), (next.epoch, -1));
    assert_eq!(next.triggers[0].subject, id);
    let moved = &next.moves[0];
    assert_eq!((moved.from.as_deref(), moved.to.as_deref()), (Some(&*id), Some(&*a.member_id)));
    assert_eq!(moved.freed_ms, joined.moves[0].freed_ms);
    assert!(unowned_ms(moved) >= 10_000, "{moved:?}");
}

/// Its end is told, as of one that went on as another.
#[test]
fn a_rebalance_at_the_barrier_that_a_conversion_ends_is_told() {
    let mut world = barrier(0);
    let mut a = client(&mut world, "a", "range");
    world.memory.advance(1);
    a.receive(&mut world);
    a.send(&mut world);
    a.receive(&mut world);
    let mut b = client(&mut world, "b", "range");
    assert_eq!(waits(&newest(&mut world)), [(JOIN, &*a.member_id, -1)]);
    let joins = ConsumerGroupHeartbeatRequest {
        group_id: GROUP.to_owned(),
        member_id: "mc".to_owned(),
        rebalance_timeout_ms: 60_000,
        subscribed_topic_names: Some(vec!["t1".to_owned()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    };
    let context = RequestContext { api_version: 1, ..Default::default() };
    let request = GroupRequest::ConsumerGroupHeartbeat(joins);
    let token = world.memory.submit(Submission { context, request });
    let Some(GroupResponse::ConsumerGroupHeartbeat(joined)) = world.memory.take_answer(token)
    else {
        panic!("no answer");
    };
    assert_eq!(joined.error_code, ErrorCode::NONE);
    let all = told(&mut world, GROUP).rebalances;
    let cut = all.iter().find(|one| one.epoch == 2 && one.superseded_by >= 0);
    assert!(cut.is_some_and(|cut| cut.over_ms >= 0), "{all:?}");
    b.receive(&mut world);
}

#[test]
fn what_is_kept_of_rebalances_at_the_barrier_is_bounded_and_goes_with_the_group() {
    let mut world = barrier(0);
    run(&mut world, "topic n=t1 p=200");
    for _ in 0..20 {
        let mut a = client(&mut world, "a", "range");
        world.memory.advance(1);
        a.run(&mut world);
        a.leave(&mut world);
        a.receive(&mut world);
    }
    let all = told(&mut world, GROUP).rebalances;
    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|one| one.moves.len() <= 32 && one.over_ms >= 0), "{all:?}");
    assert!(all.iter().all(|one| one.move_count == 200));
    run(&mut world, &format!("delete g={GROUP}"));
    assert_eq!(told(&mut world, GROUP), GroupRebalances::default());
}

#[test]
fn rebalances_are_still_told_when_a_group_changes_its_mode() {
    let mut world = barrier(0);
    let mut a = client(&mut world, "a", "range");
    let mut b = client(&mut world, "b", "range");
    world.memory.advance(1);
    for _ in 0..2 {
        a.run(&mut world);
        b.run(&mut world);
    }
    let epochs = |world: &mut World| -> Vec<i32> {
        told(world, GROUP).rebalances.iter().map(|one| one.epoch).collect()
    };
    assert_eq!(epochs(&mut world), [1]);
    set_mode(&mut world, ClassicRebalanceMode::Server);
    a.beat(&mut world);
    // The coordinator takes the group over. That is no rebalance, and what was over is as it was.
    let taken = told(&mut world, GROUP);
    assert_eq!((taken.mode.as_str(), epochs(&mut world)), ("server", vec![1]));
    assert_eq!((taken.rebalances[0].move_count, taken.rebalances[0].superseded_by), (2, -1));
    let counters = world.shard().counters().rebalances;
    assert_eq!((counters.moves, counters.triggered), (2, [1, 0, 0, 0, 0, 0, 0]));
    let mut c = client(&mut world, "c", "range");
    for _ in 0..3 {
        a.beat(&mut world);
        b.beat(&mut world);
        world.memory.advance(1);
        c.beat(&mut world);
    }
    assert_eq!(epochs(&mut world), [2, 1]);
    set_mode(&mut world, ClassicRebalanceMode::Barrier);
    for _ in 0..4 {
        a.beat(&mut world);
        b.beat(&mut world);
        c.beat(&mut world);
        world.memory.advance(1);
    }
    let back = told(&mut world, GROUP);
    assert_eq!((back.mode.as_str(), epochs(&mut world)), ("barrier", vec![3, 2, 1]));
    assert!(back.rebalances.iter().all(|one| one.over_ms >= 0), "{back:?}");
    let why = (TriggerKind::Coordinator, "", "its members assign it from here on");
    assert_eq!(trigger(&back.rebalances[0]), why);
}
