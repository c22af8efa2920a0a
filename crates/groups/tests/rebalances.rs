//! What the coordinator tells of its groups' rebalances.

use thalweg_groups::{
    GroupConfig, GroupRequest, GroupResponse, RequestContext, Submission, TriggerKind, unowned_ms,
};
use thalweg_wire::messages::GroupRebalances;
use thalweg_wire::messages::group_rebalances::GroupRebalance;
use thalweg_wire::{GROUP_REBALANCES_TAG, Message as _, Reader};

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
        ([2, 0, 0, 0, 0], 3, 2)
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
