//! Heartbeats that are held until there is something to say: who is released by what, and that nobody is
//! left waiting who has something to hear.

mod joins;
mod newcomers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::{Context, Waker};

use thalweg_coordinator::Token;
use thalweg_groups::{
    ClassicGroupState, GroupConfig, GroupEvent, GroupRequest, GroupResponse, HeldHeartbeat,
    RequestContext, Submission,
};
use thalweg_metadata::image::Changes;
use thalweg_random::seeds;
use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::sync_group_request::SyncGroupRequestAssignment;
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
    SyncGroupRequest,
};
use thalweg_wire::{ErrorCode, Uuid};

use crate::hosted::client::lead;
use crate::script::random::Operations as _;
use crate::script::random_consumer::ConsumerGenerator;
use crate::script::{Names, World};

const CONFIG: &str = "new csession=20000 chb=3000 cint=0 delay=0 minsession=10 push=true";

fn submit(
    world: &mut World,
    request: GroupRequest,
    hold: Option<Arc<HeldHeartbeat>>,
) -> Option<GroupResponse> {
    let api_version = match &request {
        GroupRequest::ConsumerGroupHeartbeat(_) => 1,
        GroupRequest::JoinGroup(_) => 9,
        GroupRequest::SyncGroup(_) => 5,
        _ => 4,
    };
    let context = RequestContext {
        api_version,
        client_id: "c".into(),
        client_host: "/127.0.0.1".into(),
        // Every member that joins is in the log.
        random: world.memory.log.len() as u128,
        hold,
        ..Default::default()
    };
    let token = world.memory.submit(Submission { context, request });
    let answer = world.memory.take_answer(token);
    answer.or_else(|| {
        world.memory.advance(0);
        world.memory.take_answer(token)
    })
}

/// Whether an answer says nothing.
fn says_nothing(response: &GroupResponse) -> bool {
    match response {
        GroupResponse::ConsumerGroupHeartbeat(response) if response.assignment.is_some() => false,
        response => is_ok(response),
    }
}

fn is_ok(response: &GroupResponse) -> bool {
    match response {
        GroupResponse::Heartbeat(response) => response.error_code.is_ok(),
        GroupResponse::SyncGroup(response) => response.error_code.is_ok(),
        GroupResponse::ConsumerGroupHeartbeat(response) => response.error_code.is_ok(),
        other => panic!("{other:?}"),
    }
}

struct Held {
    request: GroupRequest,
    heartbeat: Arc<HeldHeartbeat>,
}

impl Held {
    fn is_released(&self) -> bool {
        self.heartbeat.poll_due(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

/// What connections do with held heartbeats, by group and member.
#[derive(Default)]
struct Holder {
    held: BTreeMap<(String, String), Held>,
    /// Members that have been told something, and what.
    told: Vec<(String, GroupResponse)>,
    releases: usize,
}

impl Holder {
    /// Sends a heartbeat; says whether it is held.
    fn send(&mut self, world: &mut World, group: &str, member: &str, epoch: i32) -> bool {
        let is_classic = world
            .shard()
            .logged()
            .consumer_group(group)
            .and_then(|group| group.member(member))
            .is_none_or(|member| member.is_classic());
        let request = if is_classic {
            GroupRequest::Heartbeat(HeartbeatRequest {
                group_id: group.to_owned(),
                member_id: member.to_owned(),
                generation_id: epoch,
                ..Default::default()
            })
        } else {
            GroupRequest::ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest {
                group_id: group.to_owned(),
                member_id: member.to_owned(),
                member_epoch: epoch,
                rebalance_timeout_ms: -1,
                ..Default::default()
            })
        };
        let key = (group.to_owned(), member.to_owned());
        let heartbeat = Arc::new(HeldHeartbeat::default());
        if let Some(before) = self.held.remove(&key) {
            before.heartbeat.end();
        }
        self.ask(world, key, Held { request, heartbeat })
    }

    /// Sends a heartbeat that says what its member has, if it speaks the consumer protocol.
    fn acknowledge(&mut self, world: &mut World, group: &str, member: &str, epoch: i32) -> bool {
        let known = world.shard().logged().consumer_group(group);
        let known = known.and_then(|group| group.member(member));
        let Some(known) = known.filter(|member| !member.is_classic()) else {
            return self.send(world, group, member, epoch);
        };
        let mut owned = BTreeMap::<Uuid, Vec<i32>>::new();
        for partition in known.assigned.iter() {
            owned.entry(partition.topic_id).or_default().push(partition.partition);
        }
        let owned = owned.into_iter().map(|(topic_id, partitions)| TopicPartitions {
            topic_id,
            partitions,
            ..Default::default()
        });
        let bare = ConsumerGroupHeartbeatRequest {
            group_id: group.to_owned(),
            member_id: member.to_owned(),
            member_epoch: epoch,
            rebalance_timeout_ms: -1,
            ..Default::default()
        };
        let acknowledges = ConsumerGroupHeartbeatRequest {
            topic_partitions: Some(owned.collect()),
            ..bare.clone()
        };
        let key = (group.to_owned(), member.to_owned());
        if let Some(before) = self.held.remove(&key) {
            before.heartbeat.end();
        }
        let heartbeat = Arc::new(HeldHeartbeat::with_acknowledgements());
        let request = GroupRequest::ConsumerGroupHeartbeat(acknowledges);
        let is_held = self.ask(world, key.clone(), Held { request, heartbeat });
        if let Some(held) = self.held.get_mut(&key) {
            // Once is enough.
            held.request = GroupRequest::ConsumerGroupHeartbeat(bare);
        }
        is_held
    }

    /// Ends a hold: nothing but the epoch may be new, and it is if that is what the heartbeat says.
    fn end(&mut self, world: &mut World, group: &str, member: &str) {
        self.run(world);
        let Some(held) = self.held.remove(&(group.to_owned(), member.to_owned())) else { return };
        let said = match &held.request {
            GroupRequest::ConsumerGroupHeartbeat(request) => request.member_epoch,
            _ => return held.heartbeat.end(),
        };
        if held.heartbeat.has_new_epoch() && !is_behind(world, group) {
            let response = submit(world, held.request, None).expect("an answer");
            assert!(says_nothing(&response), "{member} was held, and is told {response:?}");
            let GroupResponse::ConsumerGroupHeartbeat(answer) = response else { panic!() };
            assert!(answer.member_epoch > said, "{answer:?} to {said}");
        }
        held.heartbeat.end();
    }

    fn ask(&mut self, world: &mut World, key: (String, String), held: Held) -> bool {
        held.heartbeat.reset();
        let response = submit(world, held.request.clone(), Some(held.heartbeat.clone()));
        // It may have been held before it failed, with an append that it waited for.
        let is_ok = response.as_ref().is_none_or(is_ok);
        let is_held = is_ok && held.heartbeat.limits().is_some();
        if let Some(response) = response {
            assert!(!is_held || says_nothing(&response), "{response:?} is held");
            if !is_held {
                self.told.push((key.1.clone(), response));
            }
        }
        if is_held {
            self.held.insert(key, held);
        }
        is_held
    }

    /// Has released heartbeats handled once more, until there are none.
    fn run(&mut self, world: &mut World) {
        for _ in 0..1000 {
            let released = self.held.iter().find(|(_, held)| held.is_released());
            let Some(key) = released.map(|(key, _)| key.clone()) else { return };
            let held = self.held.remove(&key).expect("it is there");
            self.releases += 1;
            self.ask(world, key, held);
        }
        panic!("heartbeats are released without end");
    }

    fn told(&mut self) -> Vec<String> {
        let mut told: Vec<String> =
            std::mem::take(&mut self.told).into_iter().map(|(member, _)| member).collect();
        told.sort();
        told
    }

    fn heartbeat(&self, group: &str, member: &str) -> &HeldHeartbeat {
        &self.held[&(group.to_owned(), member.to_owned())].heartbeat
    }

    fn holds_unreleased(&self, member: &str) -> bool {
        self.held.iter().any(|((_, id), held)| id == member && !held.is_released())
    }

    fn holds(&self, member: &str) -> bool {
        self.held.keys().any(|(_, id)| id == member)
    }
}

fn world(config: &str) -> World {
    let mut world = World::new(GroupConfig::default());
    world.run(&format!("{CONFIG} {config}"), None);
    world.run("topic n=t1 p=4", None);
    world
}

fn epoch(world: &World, member: &str) -> i32 {
    let group = world.shard().logged().consumer_group("g").expect("a consumer group");
    group.member(member).expect("a member").epoch
}

/// A group of the consumer protocol whose members own what they are to own.
fn consumer_group(world: &mut World, members: &[&str]) {
    for member in members {
        world.run(&format!("chb v=1 g=g m={member} e=0 rt=5000 o= t=t1"), None);
    }
    for _ in 0..4 {
        for member in members {
            let epoch = epoch(world, member);
            world.run(&format!("chb v=1 g=g m={member} e={epoch} o="), None);
        }
    }
}

#[test]
fn only_the_member_that_gets_something_hears_of_a_leave() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb", "mc", "md"]);
    let mut holder = Holder::default();
    for member in ["ma", "mb", "mc"] {
        let epoch = epoch(&world, member);
        assert!(holder.send(&mut world, "g", member, epoch), "{member}");
    }
    let left = epoch(&world, "md");
    assert!(left > 0);
    world.run("chb v=1 g=g m=md e=-1", None);
    holder.run(&mut world);
    let told = holder.told();
    // One has computed the assignment, and hears of its new epoch; it may be the one that gets something.
    let group = world.shard().logged().consumer_group("g").expect("a group");
    let gets: Vec<String> = group
        .members()
        .values()
        .filter(|member| member.assigned.iter().count() == 2)
        .map(|member| member.id.to_string())
        .collect();
    assert_eq!(gets.len(), 1, "{:?}", world.state());
    assert!(told.contains(&gets[0]) && told.len() <= 2, "{told:?}, {gets:?}");
    assert_eq!(holder.held.len(), 3 - told.len());
    world.check();
}

#[test]
fn who_waits_for_a_partition_hears_when_it_is_free() {
    let mut world = world("");
    consumer_group(&mut world, &["ma"]);
    let first = epoch(&world, "ma");
    world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1", None);
    let mut holder = Holder::default();
    let second = epoch(&world, "mb");
    // The first is written down: it says that the answer to the join came. That releases it, for nothing.
    assert!(holder.send(&mut world, "g", "mb", second), "{:?}", world.state());
    holder.run(&mut world);
    assert_eq!((holder.releases, holder.told()), (1, Vec::new()));
    // The owner is asked to give two up. As long as it has not, nobody is told.
    world.run(&format!("chb v=1 g=g m=ma e={first}"), None);
    holder.run(&mut world);
    assert!(holder.holds("mb"));
    world.run(&format!("chb v=1 g=g m=ma e={first} o="), None);
    holder.run(&mut world);
    assert_eq!(holder.told(), ["mb"]);
    world.check();
}

/// Its next heartbeat would be due an interval after an answer that says the epoch alone.
#[test]
fn a_newcomer_whose_target_is_computed_before_it_acknowledges_hears_what_it_gets() {
    let mut world = world("");
    consumer_group(&mut world, &["ma"]);
    let first = epoch(&world, "ma");
    world.compute_elsewhere();
    world.memory.auto_jobs = false;
    world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1", None);
    let second = epoch(&world, "mb");
    assert!(world.memory.run_job());
    world.memory.settle();
    let mut holder = Holder::default();
    assert!(holder.acknowledge(&mut world, "g", "mb", second), "{:?}", world.state());
    world.run(&format!("chb v=1 g=g m=ma e={first}"), None);
    world.run(&format!("chb v=1 g=g m=ma e={first} o="), None);
    holder.run(&mut world);
    assert_eq!(holder.told(), ["mb"], "{:?}", world.state());
    world.check();
}

#[test]
fn a_member_that_is_asked_to_give_up_or_acknowledges_is_answered_at_once() {
    let mut world = world("");
    consumer_group(&mut world, &["ma"]);
    let first = epoch(&world, "ma");
    world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1", None);
    let mut holder = Holder::default();
    assert!(!holder.send(&mut world, "g", "ma", first), "told to give up");
    assert!(!holder.send(&mut world, "g", "ma", first), "it has not given it up");
    assert_eq!(holder.told(), ["ma", "ma"]);
    let second = epoch(&world, "mb");
    let request = GroupRequest::ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "mb".into(),
        member_epoch: second,
        rebalance_timeout_ms: -1,
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    });
    let heartbeat = Arc::new(HeldHeartbeat::default());
    submit(&mut world, request.clone(), Some(heartbeat.clone())).expect("an answer");
    assert_eq!(heartbeat.limits(), None);
    // Unless its client does not wait for that.
    let key = ("g".to_owned(), "mb".to_owned());
    let heartbeat = Arc::new(HeldHeartbeat::with_acknowledgements());
    assert!(holder.ask(&mut world, key, Held { request, heartbeat }));
    world.run(&format!("chb v=1 g=g m=ma e={first} o="), None);
    holder.run(&mut world);
    assert_eq!(holder.told(), ["mb"]);
}

#[test]
fn an_epoch_that_is_all_that_is_new_is_told_when_a_hold_ends() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb", "mc", "md"]);
    let mut holder = Holder::default();
    let before = epoch(&world, "ma");
    for member in ["ma", "mb"] {
        assert!(holder.send(&mut world, "g", member, before), "{member}");
        assert!(!holder.heartbeat("g", member).has_new_epoch());
    }
    // A fifth member gets nothing: there are four partitions.
    world.run("chb v=1 g=g m=me e=0 rt=5000 o= t=t1", None);
    holder.run(&mut world);
    assert_eq!(holder.told(), Vec::<String>::new());
    assert!(holder.heartbeat("g", "ma").has_new_epoch());
    // One that comes then does not hear of it either, nor is anything written.
    assert!(holder.send(&mut world, "g", "ma", before));
    assert_eq!(epoch(&world, "ma"), before);
    assert!(holder.heartbeat("g", "ma").has_new_epoch());
    // One that leaves hears that it has.
    let leave = GroupRequest::ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "me".into(),
        member_epoch: -1,
        rebalance_timeout_ms: -1,
        ..Default::default()
    });
    let heartbeat = Arc::new(HeldHeartbeat::with_acknowledgements());
    submit(&mut world, leave, Some(heartbeat.clone())).expect("an answer");
    assert_eq!(heartbeat.limits(), None);
    holder.run(&mut world);
    // The last time it is handled not to be held.
    let request = format!("chb v=1 g=g m=ma e={before}");
    world.run(&request, None);
    assert_eq!(epoch(&world, "ma"), before + 2);
    assert!(!holder.holds_unreleased("ma"), "what it said before is out of date");
    assert!(holder.holds_unreleased("mb"));
    world.check();
}

/// A timer that asks for a heartbeat again and again, while the target assignment that it is for is computed
/// elsewhere, would have the held ones handled for as long as that takes.
#[test]
fn nobody_is_asked_while_a_target_assignment_is_computed_elsewhere() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb", "mc"]);
    world.compute_elsewhere();
    world.memory.auto_jobs = false;
    let mut holder = Holder::default();
    for member in ["ma", "mb"] {
        let epoch = epoch(&world, member);
        assert!(holder.send(&mut world, "g", member, epoch), "{member}");
    }
    world.run("chb v=1 g=g m=mc e=-1", None);
    holder.run(&mut world);
    let asked = holder.releases;
    for _ in 0..100 {
        world.memory.advance(5);
        holder.run(&mut world);
    }
    assert_eq!(holder.releases, asked, "the job is under way");
    assert_eq!(holder.held.len(), 2);
    world.memory.auto_jobs = true;
    while world.memory.run_job() {}
    world.memory.settle();
    holder.run(&mut world);
    let told = holder.told();
    assert!(!told.is_empty(), "{:?}", world.state());
    world.check();
}

#[test]
fn nothing_is_held_where_it_is_not_wanted_and_errors_never_are() {
    let mut world = world("push=false");
    consumer_group(&mut world, &["ma"]);
    let first = epoch(&world, "ma");
    let mut holder = Holder::default();
    assert!(!holder.send(&mut world, "g", "ma", first));
    let mut world = self::world("");
    consumer_group(&mut world, &["ma"]);
    let first = epoch(&world, "ma");
    assert!(holder.send(&mut world, "g", "ma", first));
    assert!(!holder.send(&mut world, "g", "ma", first + 7), "an epoch to come");
    assert!(!holder.send(&mut world, "g", "nobody", 1));
}

#[test]
fn a_member_that_is_taken_out_hears_of_it() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb"]);
    let mut holder = Holder::default();
    let (first, second) = (epoch(&world, "ma"), epoch(&world, "mb"));
    assert!(holder.send(&mut world, "g", "ma", first));
    assert!(holder.send(&mut world, "g", "mb", second));
    world.run("chb v=1 g=g m=mb e=-1", None);
    holder.run(&mut world);
    assert!(holder.told.iter().any(|(member, response)| {
        member == "mb"
            && matches!(response, GroupResponse::ConsumerGroupHeartbeat(answer)
                if answer.error_code == ErrorCode::UNKNOWN_MEMBER_ID)
    }));
}

#[test]
fn a_topic_that_grows_is_looked_at_though_all_are_held() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb"]);
    let mut holder = Holder::default();
    let (first, second) = (epoch(&world, "ma"), epoch(&world, "mb"));
    assert!(holder.send(&mut world, "g", "ma", first));
    assert!(holder.send(&mut world, "g", "mb", second));
    world.run("topic n=t1 p=6", None);
    holder.run(&mut world);
    assert_eq!(holder.told(), ["ma", "mb"]);
    world.check();
}

#[test]
fn a_target_assignment_that_is_due_later_is_computed_though_all_are_held() {
    let mut world = world("cint=1000");
    consumer_group(&mut world, &["ma", "mb", "mc"]);
    world.run("tick ms=1100", None);
    consumer_group(&mut world, &["ma", "mb", "mc"]);
    world.run("chb v=1 g=g m=mc e=-1", None);
    let mut holder = Holder::default();
    for member in ["ma", "mb"] {
        let epoch = epoch(&world, member);
        holder.send(&mut world, "g", member, epoch);
    }
    holder.run(&mut world);
    holder.told.clear();
    for member in ["ma", "mb"] {
        let epoch = epoch(&world, member);
        holder.send(&mut world, "g", member, epoch);
    }
    for _ in 0..4 {
        world.run("tick ms=600", None);
        holder.run(&mut world);
    }
    let group = world.shard().logged().consumer_group("g").expect("a group");
    assert_eq!(group.epochs().assignment, group.epochs().group);
}

/// A target assignment that the log refuses may be too large for it for good.
#[test]
fn a_target_assignment_that_cannot_be_written_is_tried_again_after_a_while() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb", "mc"]);
    world.compute_elsewhere();
    let mut holder = Holder::default();
    for member in ["ma", "mb"] {
        let epoch = epoch(&world, member);
        assert!(holder.send(&mut world, "g", member, epoch), "{member}");
    }
    world.memory.auto_jobs = false;
    world.run("chb v=1 g=g m=mc e=-1", None);
    world.memory.auto_jobs = true;
    for _ in 0..100 {
        world.run("fail code=10", None);
    }
    for _ in 0..200 {
        while world.memory.run_job() {}
        holder.run(&mut world);
        world.memory.advance(10);
    }
    let tries = 100 - world.memory.failures.len();
    assert!((2..=6).contains(&tries), "{tries} in two seconds");
    world.memory.failures.clear();
    for _ in 0..100 {
        while world.memory.run_job() {}
        holder.run(&mut world);
        world.memory.advance(10);
    }
    let group = world.shard().logged().consumer_group("g").expect("a group");
    assert_eq!(group.epochs().assignment, group.epochs().group);
    world.check();
}

#[test]
fn partitions_that_only_have_another_leader_concern_nobody() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb"]);
    let mut holder = Holder::default();
    for member in ["ma", "mb"] {
        let epoch = epoch(&world, member);
        assert!(holder.send(&mut world, "g", member, epoch), "{member}");
    }
    let image = world.metadata.image.clone();
    let id = image.topics.by_name("t1").expect("the topic").id;
    let partitions = BTreeMap::from([(id, BTreeSet::from([0, 1, 2, 3]))]);
    let changes = Some(Arc::new(Changes { partitions, ..Default::default() }));
    world.memory.event(GroupEvent::Metadata { image, changes });
    holder.run(&mut world);
    assert_eq!((holder.releases, holder.held.len()), (0, 2));
}

#[test]
fn a_new_topic_that_only_a_regular_expression_names_is_found_though_all_are_held() {
    let mut world = world("");
    world.run("chb v=1 g=g m=ma e=0 rt=5000 o= t= x=t.*", None);
    for _ in 0..4 {
        world.memory.settle();
        let epoch = epoch(&world, "ma");
        world.run(&format!("chb v=1 g=g m=ma e={epoch} o="), None);
    }
    // Regular expressions are resolved again after ten seconds at the earliest.
    world.run("tick ms=11000", None);
    let mut holder = Holder::default();
    let before = epoch(&world, "ma");
    assert!(holder.send(&mut world, "g", "ma", before), "{:?}", world.state());
    world.run("topic n=t2 p=4", None);
    for _ in 0..4 {
        holder.run(&mut world);
        world.memory.settle();
    }
    assert_eq!(holder.told(), ["ma"], "{:?}", world.state());
    let group = world.shard().logged().consumer_group("g").expect("a group");
    assert_eq!(group.member("ma").expect("a member").assigned.iter().count(), 8);
}

/// Members of both protocols, which Kafka's rules make one group.
#[test]
fn a_member_that_changes_in_a_mixed_group_concerns_no_other() {
    let mut world = world("mode=barrier policy=bidirectional");
    consumer_group(&mut world, &["ma", "mb", "mc"]);
    classic_join(&mut world, "ia");
    for _ in 0..4 {
        for member in ["ma", "mb", "mc"] {
            let epoch = epoch(&world, member);
            world.run(&format!("chb v=1 g=g m={member} e={epoch} o="), None);
        }
        classic_join(&mut world, "ia");
    }
    let group = world.shard().logged().consumer_group("g").expect("a consumer group");
    assert!(group.classic_members() == 1 && group.members().len() == 4, "{:?}", world.state());
    let mut holder = Holder::default();
    for member in ["ma", "mb"] {
        let epoch = epoch(&world, member);
        assert!(holder.send(&mut world, "g", member, epoch), "{:?}", world.state());
    }
    // What it says of itself changes, and nothing for the group.
    let epoch = epoch(&world, "mc");
    world.run(&format!("chb v=1 g=g m=mc e={epoch} rt=7000"), None);
    let member = world.shard().logged().consumer_group("g").and_then(|group| group.member("mc"));
    assert_eq!(member.expect("a member").metadata.rebalance_timeout_ms, 7000);
    holder.run(&mut world);
    assert_eq!((holder.releases, holder.held.len()), (0, 2));
    world.check();
}

/// Nobody is left who would hear of it.
#[test]
fn all_members_hear_that_other_rules_hold() {
    for change in [
        "gconf g=g push=false",
        "gconf g=g heartbeat.interval=2000",
        "gconf g=g session.timeout=15000",
    ] {
        let mut world = world("");
        consumer_group(&mut world, &["ma", "mb"]);
        let mut holder = Holder::default();
        for member in ["ma", "mb"] {
            let epoch = epoch(&world, member);
            assert!(holder.send(&mut world, "g", member, epoch), "{member}");
        }
        world.run(change, None);
        holder.run(&mut world);
        assert_eq!(holder.releases, 2, "{change}");
        let is_held = change != "gconf g=g push=false";
        assert_eq!(holder.held.len(), if is_held { 2 } else { 0 }, "{change}");
    }
}

fn sync_request(id: &str, instance: &str, generation_id: i32) -> GroupRequest {
    GroupRequest::SyncGroup(SyncGroupRequest {
        group_id: "g".into(),
        generation_id,
        member_id: id.into(),
        group_instance_id: Some(instance.to_owned()),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("range".into()),
        ..Default::default()
    })
}

/// The JoinGroup of a static member.
fn join_request(member: &str, topic: &str) -> GroupRequest {
    GroupRequest::JoinGroup(JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 20_000,
        rebalance_timeout_ms: 20_000,
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: [&[0, 0, 0, 0, 0, 1, 0, 2][..], topic.as_bytes(), &[255; 4]].concat().into(),
            ..Default::default()
        }],
        group_instance_id: Some(member.to_owned()),
        ..Default::default()
    })
}

/// Sends the JoinGroup of a static member.
fn start_join(world: &mut World, member: &str, topic: &str) -> Token {
    let context = RequestContext {
        api_version: 9,
        client_id: "c".into(),
        client_host: "/127.0.0.1".into(),
        random: 1_000_000 + world.memory.log.len() as u128 * 10 + member.len() as u128,
        ..Default::default()
    };
    world.memory.submit(Submission { context, request: join_request(member, topic) })
}

/// A member whose JoinGroup is answered syncs. The leader assigns.
fn finish_join(world: &mut World, member: &str, joined: &JoinGroupResponse) -> (String, i32) {
    assert_eq!(joined.error_code, ErrorCode::NONE, "{member}");
    let id = joined.member_id.clone();
    let mut request = sync_request(&id, member, joined.generation_id);
    if let GroupRequest::SyncGroup(request) = &mut request
        && joined.leader == id
    {
        let assigned = lead(joined, false, world).into_iter();
        request.assignments = assigned
            .map(|(member_id, assignment)| SyncGroupRequestAssignment {
                member_id,
                assignment: assignment.into(),
                ..Default::default()
            })
            .collect();
    }
    submit(world, request, None).expect("an assignment");
    (id, joined.generation_id)
}

fn answer_to_join(world: &mut World, token: Token) -> Option<JoinGroupResponse> {
    match world.memory.take_answer(token) {
        Some(GroupResponse::JoinGroup(joined)) => Some(joined),
        None => None,
        other => panic!("{other:?}"),
    }
}

/// A classic member joins and syncs.
fn classic_join(world: &mut World, member: &str) -> (String, i32) {
    classic_join_to(world, member, "t1")
}

fn classic_join_to(world: &mut World, member: &str, topic: &str) -> (String, i32) {
    let request = join_request(member, topic);
    let Some(GroupResponse::JoinGroup(joined)) = submit(world, request, None) else {
        panic!("{member} is not answered");
    };
    finish_join(world, member, &joined)
}

/// Members form a group in one round: ids and generations.
fn classic_form(world: &mut World, members: &[&str], topic: &str) -> Vec<(String, i32)> {
    let tokens: Vec<Token> = members.iter().map(|name| start_join(world, name, topic)).collect();
    world.memory.advance(0);
    world.memory.advance(0);
    let answers: Vec<JoinGroupResponse> = tokens
        .into_iter()
        .map(|token| answer_to_join(world, token).expect("the round is complete"))
        .collect();
    let named: Vec<_> = members.iter().zip(&answers).collect();
    let (leader, others): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(_, joined)| joined.leader == joined.member_id);
    for (name, joined) in leader.into_iter().chain(others) {
        finish_join(world, name, joined);
    }
    answers.iter().map(|joined| (joined.member_id.clone(), joined.generation_id)).collect()
}

#[test]
fn members_of_a_classic_group_hear_of_a_rebalance_at_once() {
    let mut world = world("mode=barrier");
    let (id, generation) = classic_join(&mut world, "ia");
    let mut holder = Holder::default();
    assert!(holder.send(&mut world, "g", &id, generation));
    let group = world.shard().group("g").expect("a classic group");
    assert_eq!(group.state(), ClassicGroupState::Stable);
    world.run("join g=g v=9 c=c s=20000 r=5000 p=range:t1 i=ib", None);
    holder.run(&mut world);
    assert_eq!(holder.told(), [id]);
}

#[test]
fn a_static_member_that_is_replaced_hears_of_it() {
    let mut world = world("mode=barrier");
    let (first, generation) = classic_join(&mut world, "ia");
    let mut holder = Holder::default();
    assert!(holder.send(&mut world, "g", &first, generation));
    let (second, same) = classic_join(&mut world, "ia");
    assert!(second != first && same == generation, "it comes back without a rebalance");
    holder.run(&mut world);
    assert_eq!(holder.told(), [first]);
}

#[test]
fn members_that_the_coordinator_assigns_hear_if_they_are_concerned() {
    let mut world = world("mode=server");
    let current = classic_form(&mut world, &["ia", "ib", "ic", "id"], "t1");
    // The coordinator takes the group over.
    let (id, generation) = &current[0];
    assert!(!Holder::default().send(&mut world, "g", id, *generation));
    let mut holder = Holder::default();
    for (id, epoch) in &current {
        assert!(holder.send(&mut world, "g", id, *epoch), "{:?}", world.state());
    }
    let (gone, _) = &current[0];
    world.run(&format!("leave g=g v=4 m={gone}"), None);
    world.run("tick ms=0", None);
    holder.run(&mut world);
    // The one that left, and the one that gets what it had.
    let told = holder.told();
    assert!(told.len() == 2 && told.contains(gone), "{told:?}");
    assert_eq!(holder.held.len(), 2);
    world.check();
}

/// Members of all groups and their epochs.
fn members(world: &World) -> Vec<(String, String, i32)> {
    let shard = world.shard();
    let consumer = shard.logged().consumer_groups().flat_map(|(id, group)| {
        let members = group.members().values();
        members.map(move |m| (id.to_string(), m.id.to_string(), m.epoch))
    });
    let classic = shard.groups().flat_map(|group| {
        let members = group.members();
        members.map(move |m| (group.id().to_string(), m.id.to_string(), group.generation()))
    });
    consumer.chain(classic).collect()
}

#[test]
fn random_lives_hold_nobody_who_has_something_to_hear() {
    seeds::family("push", 150, 15, |seed, history| {
        let mut generator = ConsumerGenerator::new(seed ^ 0x9a7d);
        let mut world = World::new(GroupConfig::default());
        let mut names = Names::default();
        let mode = if seed % 2 == 0 { "server" } else { "barrier" };
        history.push(format!("{} push=true mode={mode}", generator.config()));
        world.run(&history[0], None);
        let mut holder = Holder::default();
        for _ in 0..150 {
            let op = generator.next(&world, &names);
            history.push(op.clone());
            for line in world.run(&names.resolve(&op), None) {
                names.normalise(&line);
            }
            if op == "reload" {
                // Connections are gone with the coordinator.
                holder.held.clear();
            }
            holder.run(&mut world);
            for (group, member, epoch) in members(&world) {
                if generator.chance(30) {
                    let held = match generator.chance(30) {
                        true => holder.acknowledge(&mut world, &group, &member, epoch),
                        false => holder.send(&mut world, &group, &member, epoch),
                    };
                    history.push(format!("(heartbeat of {member} in {group}: held {held})"));
                } else if generator.chance(20) && world.memory.failures.is_empty() {
                    holder.end(&mut world, &group, &member);
                }
            }
            holder.run(&mut world);
            world.check();
            if generator.chance(20) && world.memory.failures.is_empty() {
                probe(&mut world, &mut holder, history);
            }
        }
    });
}

/// The next target assignment may be computed when the last one is old enough, by whoever asks then.
fn is_behind(world: &World, group: &str) -> bool {
    let group = world.shard().logged().consumer_group(group);
    group.is_some_and(|group| group.epochs().assignment < group.epochs().group)
}

/// Nobody who is held would hear something if it asked again.
fn probe(world: &mut World, holder: &mut Holder, history: &mut Vec<String>) {
    holder.run(world);
    let keys: Vec<(String, String)> = holder.held.keys().cloned().collect();
    for key in keys {
        let Some(held) = holder.held.get(&key) else { continue };
        if is_behind(world, &key.0) {
            continue;
        }
        history.push(format!("(probe of {} in {})", key.1, key.0));
        let request = held.request.clone();
        let response = submit(world, request, None).expect("an answer");
        assert!(
            says_nothing(&response),
            "{key:?} was held, and is told {response:?}:\n{}",
            world.state().join("\n")
        );
        holder.run(world);
    }
}
