//! SyncGroups that are held: of members that own nothing yet.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use thalweg_groups::{Due, GroupResponse, HeldHeartbeat};
use thalweg_wire::ErrorCode;

use super::{Held, Holder, classic_join, classic_join_to, submit, sync_request, world};
use crate::script::World;

#[test]
fn a_member_whose_part_is_being_computed_hears_what_it_is() {
    let mut world = world("mode=server");
    world.compute_elsewhere();
    world.memory.auto_jobs = false;
    let (id, generation) = classic_join(&mut world, "ia");
    let mut holder = Holder::default();
    let held = Held { request: sync_request(&id, "ia", generation), heartbeat: Arc::default() };
    assert!(holder.ask(&mut world, ("g".into(), id.clone()), held), "{:?}", world.state());
    assert!(world.memory.run_job());
    world.memory.settle();
    holder.run(&mut world);
    let [(told, GroupResponse::SyncGroup(response))] = &holder.told[..] else {
        panic!("{:?}", holder.told)
    };
    assert_eq!((told, response.error_code), (&id, ErrorCode::REBALANCE_IN_PROGRESS));
    world.check();
}

#[test]
fn a_member_that_gets_nothing_yet_hears_when_there_is_something() {
    let mut world = world("mode=server");
    let (first, generation) = classic_join(&mut world, "ia");
    let mut holder = Holder::default();
    let hold = |holder: &mut Holder, world: &mut World, id: &str, name: &str, generation| {
        let held = Held { request: sync_request(id, name, generation), heartbeat: Arc::default() };
        holder.ask(world, ("g".into(), id.into()), held)
    };
    // One that owns something is answered, and hears of what concerns it in its heartbeats.
    assert!(!hold(&mut holder, &mut world, &first, "ia", generation));
    holder.told.clear();
    assert!(holder.send(&mut world, "g", &first, generation));
    let (second, generation) = classic_join(&mut world, "ib");
    assert!(hold(&mut holder, &mut world, &second, "ib", generation), "{:?}", world.state());
    holder.run(&mut world);
    assert_eq!(holder.told(), [first]);
    // It gives up what is to be the second one's.
    let owned = |world: &World, id: &str| {
        let group = world.shard().logged().consumer_group("g").expect("a consumer group");
        group.member(id).map_or(0, |member| member.assigned.len())
    };
    holder.told.clear();
    classic_join(&mut world, "ia");
    holder.run(&mut world);
    let (id, response) = &holder.told[0];
    let GroupResponse::SyncGroup(response) = response else { panic!("{response:?}") };
    assert_eq!((id, response.error_code), (&second, ErrorCode::REBALANCE_IN_PROGRESS));
    let (third, _) = classic_join(&mut world, "ib");
    assert!(owned(&world, &third) > 0, "{:?}", world.state());
    world.check();
}

/// With what is free its answer would be given, and it would hear of the rest in its first heartbeat.
#[test]
fn a_member_that_waits_for_several_waits_a_moment_for_the_others() {
    let mut world = world("mode=server");
    world.run("topic n=t9 p=6", None);
    for member in ["ia", "ib", "ia"] {
        classic_join_to(&mut world, member, "t9");
    }
    classic_join_to(&mut world, "ib", "t9");
    let (id, generation) = classic_join_to(&mut world, "ic", "t9");
    let held = Arc::<HeldHeartbeat>::default();
    let request = sync_request(&id, "ic", generation);
    submit(&mut world, request, Some(held.clone())).expect("an assignment");
    assert!(held.limits().is_some(), "{:?}", world.state());
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(held.poll_due(&mut cx), Poll::Pending);
    classic_join_to(&mut world, "ia", "t9");
    assert_eq!((held.poll_due(&mut cx), held.is_due()), (Poll::Ready(Due::Soon), true));
    assert_eq!(held.poll_released(&mut cx), Poll::Pending);
    classic_join_to(&mut world, "ib", "t9");
    assert_eq!(held.poll_due(&mut cx), Poll::Ready(Due::Now));
    assert_eq!(held.poll_released(&mut cx), Poll::Ready(()));
    held.reset();
    assert_eq!((held.poll_due(&mut cx), held.is_due()), (Poll::Pending, false));
    let request = sync_request(&id, "ic", generation);
    let Some(GroupResponse::SyncGroup(response)) = submit(&mut world, request, Some(held)) else {
        panic!("no answer")
    };
    assert_eq!(response.error_code, ErrorCode::REBALANCE_IN_PROGRESS);
    let (id, _) = classic_join_to(&mut world, "ic", "t9");
    let group = world.shard().logged().consumer_group("g").expect("a consumer group");
    assert_eq!(group.member(&id).map(|member| member.assigned.len()), Some(2));
    world.check();
}

/// It has come in the place of a member that has died, most likely.
#[test]
fn a_member_that_gets_nothing_waits_while_others_have_no_connection() {
    let mut world = world("mode=server grace=1000");
    world.run("topic n=t9 p=1", None);
    world.run("join g=g v=3 c=c s=20000 r=20000 p=range:t9 conn=1", None);
    let group = world.shard().logged().consumer_group("g").expect("a consumer group");
    let dying = group.members().keys().next().expect("a member").to_string();
    world.run(&format!("sync g=g v=3 m={dying} gen=1 conn=1"), None);
    let mut holder = Holder::default();
    let (id, generation) = classic_join_to(&mut world, "ib", "t9");
    let ask = |holder: &mut Holder, world: &mut World| {
        let request = sync_request(&id, "ib", generation);
        let held = Held { request, heartbeat: Arc::default() };
        holder.ask(world, ("g".into(), id.clone()), held)
    };
    // There is nothing to wait for.
    assert!(!ask(&mut holder, &mut world), "{:?}", world.state());
    world.run(&format!("disconnect g=g m={dying} conn=1"), None);
    holder.told.clear();
    assert!(ask(&mut holder, &mut world), "{:?}", world.state());
    world.memory.advance(999);
    holder.run(&mut world);
    assert_eq!(holder.told(), Vec::<String>::new());
    world.memory.advance(1);
    holder.run(&mut world);
    let [(told, GroupResponse::SyncGroup(response))] = &holder.told[..] else {
        panic!("{:?}", holder.told)
    };
    assert_eq!((told, response.error_code), (&id, ErrorCode::REBALANCE_IN_PROGRESS));
    classic_join_to(&mut world, "ib", "t9");
    let group = world.shard().logged().consumer_group("g").expect("a consumer group");
    let owned: usize = group.members().values().map(|member| member.assigned.len()).sum();
    assert_eq!((group.members().len(), owned), (1, 1));
    world.check();
}
