//! SyncGroups that are held: of members that own nothing yet.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use thalweg_groups::{Due, GroupRequest, GroupResponse, HeldHeartbeat};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, HeartbeatRequest, JoinGroupRequest};

use super::{
    Held, Holder, answer_to_join, classic_form, classic_join, classic_join_to, epoch, join_request,
    start_join, submit, sync_request, world,
};
use crate::script::World;

/// The JoinGroup of a newcomer waits for the target that is computed, and for the partitions in it. Each is pushed to
/// the member that holds them.
#[test]
fn newcomer_join_releases_the_holder_and_waits_for_it() {
    let mut world = world("mode=server");
    world.compute_elsewhere();
    world.memory.auto_jobs = false;
    let (first, generation) = classic_join(&mut world, "ia");
    let mut holder = Holder::default();
    assert!(holder.send(&mut world, "g", &first, generation));
    let second = start_join(&mut world, "ib", "t1");
    assert_eq!(answer_to_join(&mut world, second), None, "the target is being computed");
    holder.run(&mut world);
    holder.told.clear();
    assert!(world.memory.run_job());
    world.memory.settle();
    holder.run(&mut world);
    assert_eq!(holder.told(), std::slice::from_ref(&first), "{:?}", world.state());
    assert_eq!(answer_to_join(&mut world, second), None, "its partitions are not free");
    world.check();
    let request = GroupRequest::JoinGroup(JoinGroupRequest {
        member_id: first,
        ..match join_request("ia", "t1") {
            GroupRequest::JoinGroup(request) => request,
            other => panic!("{other:?}"),
        }
    });
    submit(&mut world, request, None).expect("a member of the group is answered at once");
    world.memory.advance(0);
    let joined = answer_to_join(&mut world, second).expect("all of its target is free");
    let group = world.shard().logged().consumer_group("g").expect("a consumer group");
    let owned = group.member(&joined.member_id).expect("the newcomer").assigned.len();
    assert_eq!((joined.error_code, owned), (ErrorCode::NONE, 2));
    world.check();
}

/// A heartbeat that awaits several partitions is due soon when the first of them is free, and at once with the last.
#[test]
fn held_heartbeat_that_awaits_several_is_due_soon_after_the_first() {
    let mut world = world("mode=server");
    world.run("topic n=t9 p=6", None);
    let heartbeat = |world: &mut World, member: &str, said: &str| {
        world.run(&format!("chb v=1 g=g m={member} rt=60000 c=c {said}"), None);
        world.check();
    };
    heartbeat(&mut world, "ma", "e=0 o= t=t9");
    heartbeat(&mut world, "mb", "e=0 o= t=t9");
    // What a member is to own, as it says that it owns it.
    let kept = |world: &World, member: &str| {
        let group = world.shard().logged().consumer_group("g").expect("a consumer group");
        let target = group.target(member).expect("a target").iter();
        let kept: Vec<String> =
            target.flat_map(|(_, partitions)| partitions.iter().map(i32::to_string)).collect();
        format!("o=t9:{}", kept.join(":"))
    };
    let said = format!("e={} {}", epoch(&world, "ma"), kept(&world, "ma"));
    heartbeat(&mut world, "ma", &said);
    let said = format!("e={}", epoch(&world, "mb"));
    heartbeat(&mut world, "mb", &said);
    heartbeat(&mut world, "mc", "e=0 o= t=t9");
    let group = world.shard().logged().consumer_group("g").expect("a consumer group");
    let mc = group.member("mc").expect("the third member");
    assert_eq!((mc.assigned.len(), group.target("mc").map(|t| t.len())), (0, Some(2)));
    let (epoch_c, kept_a, kept_b) = (mc.epoch, kept(&world, "ma"), kept(&world, "mb"));
    heartbeat(&mut world, "mc", &format!("e={epoch_c}"));
    let (epoch_a, epoch_b) = (epoch(&world, "ma"), epoch(&world, "mb"));
    let held = Arc::<HeldHeartbeat>::default();
    let request = GroupRequest::ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "mc".into(),
        member_epoch: epoch_c,
        rebalance_timeout_ms: -1,
        ..Default::default()
    });
    submit(&mut world, request, Some(held.clone())).expect("an answer");
    assert!(held.limits().is_some(), "{:?}", world.state());
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(held.poll_due(&mut cx), Poll::Pending);
    heartbeat(&mut world, "ma", &format!("e={epoch_a} {kept_a}"));
    assert_eq!((held.poll_due(&mut cx), held.is_due()), (Poll::Ready(Due::Soon), true));
    assert_eq!(held.poll_released(&mut cx), Poll::Pending);
    heartbeat(&mut world, "mb", &format!("e={epoch_b} {kept_b}"));
    assert_eq!(held.poll_due(&mut cx), Poll::Ready(Due::Now));
    assert_eq!(held.poll_released(&mut cx), Poll::Ready(()));
    held.reset();
    assert_eq!((held.poll_due(&mut cx), held.is_due()), (Poll::Pending, false));
    world.check();
}

/// Java's and librdkafka's clients close the connection to the coordinator when a request times out.
#[test]
fn connection_that_closes_in_a_hold_shortens_the_next_hold() {
    let mut world = world("mode=server");
    let members = classic_form(&mut world, &["ia", "ib"], "t1");
    let (id, generation) = &members[0];
    let beat = |world: &mut World, id: &str| {
        let request = GroupRequest::Heartbeat(HeartbeatRequest {
            group_id: "g".into(),
            member_id: id.into(),
            generation_id: *generation,
            ..Default::default()
        });
        let held = Arc::<HeldHeartbeat>::default();
        submit(world, request, Some(held.clone())).expect("an answer");
        held
    };
    // The first one has the coordinator take the group over.
    beat(&mut world, id);
    let held = beat(&mut world, id);
    assert_eq!(held.limits().expect("it is held").longest_ms, None);
    held.abandon(2_000);
    assert_eq!(beat(&mut world, id).limits().expect("it is held").longest_ms, Some(1_000));
    let (other, _) = &members[1];
    assert_eq!(beat(&mut world, other).limits().expect("it is held").longest_ms, None);
    // One that is answered teaches nothing.
    let held = beat(&mut world, id);
    held.end();
    let held = beat(&mut world, id);
    assert_eq!(held.limits().expect("it is held").longest_ms, Some(1_000));
    for _ in 0..2 {
        beat(&mut world, id).abandon(300);
    }
    assert_eq!(beat(&mut world, id).limits(), None, "it is not held at all");
    world.check();
}

/// It has come in the place of a member that has died, most likely.
/// A group of a member that has the one partition of t9 and two heartbeats on its connection; the member's id.
fn group_of_one(world: &mut World) -> String {
    world.run("topic n=t9 p=1", None);
    world.run("join g=g v=3 c=c s=20000 r=20000 p=range:t9 conn=1", None);
    world.memory.advance(0);
    let group = world.shard().group("g").expect("a classic group");
    let dying = group.members().next().expect("a member").id.to_string();
    // Version 1 of an assignment: partition 0 of t9.
    let assigned = "000100000001000274390000000100000000ffffffff";
    world.run(&format!("sync g=g v=3 m={dying} gen=1 a={dying}:!{assigned} conn=1"), None);
    // Its heartbeats come every second.
    for _ in 0..2 {
        world.memory.advance(1_000);
        world.run(&format!("hb g=g v=3 m={dying} gen=1 conn=1"), None);
    }
    dying
}

/// The SyncGroup of a member is held.
fn sync_is_held(
    holder: &mut Holder,
    world: &mut World,
    (id, instance): (&str, &str),
    generation: i32,
) -> bool {
    let request = sync_request(id, instance, generation);
    let held = Held { request, heartbeat: Arc::default() };
    holder.ask(world, ("g".into(), id.into()), held)
}

#[test]
fn a_member_that_gets_nothing_waits_while_others_have_no_connection() {
    let mut world = world("mode=server grace=1000");
    let dying = group_of_one(&mut world);
    let mut holder = Holder::default();
    let (id, generation) = classic_join_to(&mut world, "ib", "t9");
    let ask = |holder: &mut Holder, world: &mut World| {
        sync_is_held(holder, world, (&id, "ib"), generation)
    };
    // There is nothing to wait for.
    assert!(!ask(&mut holder, &mut world), "{:?}", world.state());
    world.run(&format!("disconnect g=g m={dying} conn=1"), None);
    holder.told.clear();
    assert!(ask(&mut holder, &mut world), "{:?}", world.state());
    world.memory.advance(2_999);
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

#[test]
fn a_member_that_gets_nothing_waits_for_no_member_that_is_back_or_has_left() {
    let mut world = world("mode=server grace=1000");
    let other = group_of_one(&mut world);
    let mut holder = Holder::default();
    let (id, generation) = classic_join_to(&mut world, "ib", "t9");
    world.run(&format!("disconnect g=g m={other} conn=1"), None);
    assert!(sync_is_held(&mut holder, &mut world, (&id, "ib"), generation), "{:?}", world.state());
    world.run(&format!("hb g=g v=3 m={other} gen=1 conn=2"), None);
    holder.run(&mut world);
    assert_eq!(holder.told.len(), 1, "{:?}", world.state());
    // It loses its connection once more, and leaves over another one. Its partition goes to the second member.
    world.memory.advance(1_000);
    world.run(&format!("hb g=g v=3 m={other} gen=1 conn=2"), None);
    world.run(&format!("disconnect g=g m={other} conn=2"), None);
    world.run(&format!("leave g=g v=3 m={other} conn=3"), None);
    world.memory.advance(1_000);
    let (third, generation) = classic_join_to(&mut world, "ic", "t9");
    let is_held = sync_is_held(&mut holder, &mut world, (&third, "ic"), generation);
    assert!(!is_held, "{:?}", world.state());
    world.check();
}
