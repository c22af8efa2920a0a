//! First heartbeats of members of the consumer protocol, which are held while others have what they are to get.

use std::sync::Arc;

use thalweg_groups::{Due, GroupRequest, GroupResponse, HeldHeartbeat};
use thalweg_wire::messages::consumer_group_heartbeat_response::Assignment;
use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use thalweg_wire::{ErrorCode, Uuid};

use super::{Holder, consumer_group, epoch, submit, world};
use crate::script::World;

/// What a client does with an empty assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Make {
    /// It acknowledges it at once, and what it sends then is held.
    Java,
    /// The same, and its first heartbeat may be held for as long as any other.
    Ours,
    /// It sends nothing.
    Librdkafka,
}

/// A first heartbeat on its connection.
struct Join {
    member: &'static str,
    heartbeat: Arc<HeldHeartbeat>,
    answer: ConsumerGroupHeartbeatResponse,
    /// How often it was handled once more.
    asked: usize,
}

impl Join {
    fn send(world: &mut World, member: &'static str, make: Make) -> Join {
        let heartbeat = match make {
            Make::Java | Make::Ours => HeldHeartbeat::with_acknowledgements(),
            Make::Librdkafka => HeldHeartbeat::default(),
        };
        let heartbeat = Arc::new(heartbeat.of_newcomer(make == Make::Librdkafka));
        let request = ConsumerGroupHeartbeatRequest {
            group_id: "g".into(),
            member_id: member.into(),
            rebalance_timeout_ms: 5000,
            subscribed_topic_names: Some(vec!["t1".into()]),
            topic_partitions: Some(Vec::new()),
            ..Default::default()
        };
        let answer = ask(world, request, Some(&heartbeat));
        let mut join = Join { member, heartbeat, answer, asked: 0 };
        join.run(world);
        join
    }

    /// As the broker does it: the member has joined, and owns nothing that it knows of.
    fn again(&mut self, world: &mut World, may_hold: bool) {
        self.asked += 1;
        let request = ConsumerGroupHeartbeatRequest {
            group_id: "g".into(),
            member_id: self.member.into(),
            member_epoch: self.answer.member_epoch,
            rebalance_timeout_ms: -1,
            topic_partitions: Some(Vec::new()),
            ..Default::default()
        };
        self.heartbeat.reset();
        let answer = ask(world, request, may_hold.then_some(&self.heartbeat));
        let before = std::mem::replace(&mut self.answer, answer);
        if self.answer.error_code.is_ok() {
            self.answer.assignment = self.answer.assignment.take().or(before.assignment);
        }
    }

    fn run(&mut self, world: &mut World) {
        for _ in 0..10 {
            if !self.is_held() || self.poll().is_none() {
                return;
            }
            self.again(world, true);
        }
        panic!("{} is asked without end", self.member);
    }

    /// It has been held for as long as it may.
    fn end(&mut self, world: &mut World) {
        self.again(world, false);
        self.heartbeat.end();
    }

    fn poll(&self) -> Option<Due> {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        match self.heartbeat.poll_due(&mut cx) {
            std::task::Poll::Ready(due) => Some(due),
            std::task::Poll::Pending => None,
        }
    }

    fn is_held(&self) -> bool {
        self.heartbeat.limits().is_some() && self.answer.error_code.is_ok()
    }

    fn count(&self) -> usize {
        let assignment = self.answer.assignment.as_ref().expect("the first answer has one");
        assignment.topic_partitions.iter().map(|topic| topic.partitions.len()).sum()
    }
}

fn ask(
    world: &mut World,
    request: ConsumerGroupHeartbeatRequest,
    hold: Option<&Arc<HeldHeartbeat>>,
) -> ConsumerGroupHeartbeatResponse {
    let request = GroupRequest::ConsumerGroupHeartbeat(request);
    match submit(world, request, hold.cloned()) {
        Some(GroupResponse::ConsumerGroupHeartbeat(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

/// What the coordinator says that a member owns.
fn owned(world: &World, member: &str) -> Vec<(Uuid, i32)> {
    let group = world.shard().logged().consumer_group("g").expect("a consumer group");
    let member = group.member(member).expect("a member");
    member.assigned.iter().map(|owned| (owned.topic_id, owned.partition)).collect()
}

fn told(assignment: Option<&Assignment>) -> Vec<(Uuid, i32)> {
    let topics = assignment.into_iter().flat_map(|assignment| &assignment.topic_partitions);
    topics.flat_map(|t| t.partitions.iter().map(|&partition| (t.topic_id, partition))).collect()
}

/// A member is told what to give up, and says that it did.
fn give_up(world: &mut World, member: &str) {
    let now = epoch(world, member);
    world.run(&format!("chb v=1 g=g m={member} e={now}"), None);
    let kept: Vec<String> =
        owned(world, member).iter().map(|(_, partition)| partition.to_string()).collect();
    let kept = if kept.is_empty() { String::new() } else { format!("t1:{}", kept.join(":")) };
    world.run(&format!("chb v=1 g=g m={member} e={now} o={kept}"), None);
}

#[test]
fn first_heartbeat_is_answered_when_the_target_is_free() {
    for make in [Make::Java, Make::Ours, Make::Librdkafka] {
        let mut world = world("");
        consumer_group(&mut world, &["ma"]);
        let mut join = Join::send(&mut world, "mb", make);
        assert!(join.is_held(), "{make:?}: {:?}", world.state());
        let asked = join.asked;
        world.memory.advance(2_000);
        join.run(&mut world);
        assert!(join.is_held() && join.asked == asked, "{make:?}: nothing has happened");
        give_up(&mut world, "ma");
        join.run(&mut world);
        assert!(!join.is_held(), "{make:?}: {:?}", world.state());
        assert_eq!((join.count(), join.asked), (2, asked + 1), "{make:?}");
        // It is the answer that Kafka would give, had it been asked for now.
        assert_eq!(told(join.answer.assignment.as_ref()), owned(&world, "mb"));
        assert_eq!(join.answer.member_epoch, epoch(&world, "mb"));
        assert_eq!(join.answer.heartbeat_interval_ms, 3000);
        world.check();
    }
}

/// Java's client fetches offsets as soon as it has a partition, and that ends the hold. It is asked again soon as long
/// as it waits for more.
#[test]
fn acknowledgement_of_a_part_awaits_the_rest() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb"]);
    world.run("topic n=t1 p=6", None);
    consumer_group(&mut world, &["ma", "mb"]);
    let mut join = Join::send(&mut world, "mc", Make::Java);
    give_up(&mut world, "ma");
    join.run(&mut world);
    join.end(&mut world);
    assert_eq!(join.count(), 1);
    let acknowledges = |world: &mut World| {
        let held = Arc::new(HeldHeartbeat::with_acknowledgements());
        for _ in 0..2 {
            held.reset();
            let request = ConsumerGroupHeartbeatRequest {
                group_id: "g".into(),
                member_id: "mc".into(),
                member_epoch: epoch(world, "mc"),
                rebalance_timeout_ms: -1,
                ..Default::default()
            };
            ask(world, request, Some(&held));
        }
        held
    };
    let held = acknowledges(&mut world);
    assert_eq!((held.limits().is_some(), held.awaits()), (true, true));
    give_up(&mut world, "mb");
    acknowledges(&mut world);
    let held = acknowledges(&mut world);
    assert_eq!((held.limits().is_some(), held.awaits()), (true, false), "{:?}", world.state());
    world.check();
}

#[test]
fn first_heartbeat_with_the_whole_target_is_not_held() {
    let mut world = world("");
    let join = Join::send(&mut world, "ma", Make::Librdkafka);
    assert!(!join.is_held());
    assert_eq!((join.count(), join.asked), (4, 0));
    // There are no partitions for a fifth member.
    give_up(&mut world, "ma");
    for member in ["mb", "mc", "md"] {
        let mut join = Join::send(&mut world, member, Make::Librdkafka);
        for member in ["ma", "mb", "mc"] {
            if world
                .shard()
                .logged()
                .consumer_group("g")
                .is_some_and(|g| g.member(member).is_some())
            {
                give_up(&mut world, member);
            }
        }
        join.run(&mut world);
        assert!(!join.is_held(), "{member}: {:?}", world.state());
    }
    let join = Join::send(&mut world, "me", Make::Librdkafka);
    assert!(!join.is_held(), "{:?}", world.state());
    assert_eq!((join.count(), join.asked), (0, 0));
    world.check();
}

/// Of a client that acknowledges what it gets the next heartbeat is held for the rest.
#[test]
fn first_heartbeat_is_due_soon_with_a_part_of_the_target() {
    for make in [Make::Java, Make::Ours, Make::Librdkafka] {
        let mut world = world("");
        consumer_group(&mut world, &["ma", "mb"]);
        world.run("topic n=t1 p=6", None);
        consumer_group(&mut world, &["ma", "mb"]);
        assert_eq!(owned(&world, "ma").len() + owned(&world, "mb").len(), 6);
        let mut join = Join::send(&mut world, "mc", make);
        assert!(join.is_held());
        give_up(&mut world, "ma");
        let waits_for_all = make == Make::Librdkafka;
        assert_eq!(join.poll(), (!waits_for_all).then_some(Due::Soon), "{make:?}");
        if waits_for_all {
            give_up(&mut world, "mb");
        }
        join.run(&mut world);
        let count = if waits_for_all { 2 } else { 1 };
        assert_eq!((join.is_held(), join.count()), (false, count), "{make:?}");
        world.check();
    }
}

#[test]
fn first_heartbeat_that_ends_says_what_is_free_by_then() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb"]);
    world.run("topic n=t1 p=6", None);
    consumer_group(&mut world, &["ma", "mb"]);
    let mut join = Join::send(&mut world, "mc", Make::Librdkafka);
    give_up(&mut world, "ma");
    join.run(&mut world);
    join.end(&mut world);
    assert_eq!(join.count(), 1);
    assert_eq!(told(join.answer.assignment.as_ref()), owned(&world, "mc"));
    // The rest comes with its next heartbeat, as in Kafka.
    give_up(&mut world, "mb");
    let now = epoch(&world, "mc");
    let request = ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "mc".into(),
        member_epoch: now,
        rebalance_timeout_ms: -1,
        ..Default::default()
    };
    let answer = ask(&mut world, request, None);
    assert_eq!(told(answer.assignment.as_ref()).len(), 2);
    world.check();
}

/// A member that was told of nothing has nothing to give up, and would never say that it did.
#[test]
fn partition_that_a_held_newcomer_had_goes_to_others_at_once() {
    let mut world = world("");
    consumer_group(&mut world, &["ma", "mb"]);
    world.run("topic n=t1 p=6", None);
    consumer_group(&mut world, &["ma", "mb"]);
    let mut join = Join::send(&mut world, "mc", Make::Librdkafka);
    give_up(&mut world, "ma");
    join.run(&mut world);
    assert!(join.is_held());
    assert_eq!(owned(&world, "mc").len(), 0, "it is asked when all is free");
    // A fourth member takes one of the two that it was to get.
    let mut fourth = Join::send(&mut world, "md", Make::Librdkafka);
    for member in ["ma", "mb"] {
        give_up(&mut world, member);
    }
    for _ in 0..4 {
        join.run(&mut world);
        fourth.run(&mut world);
    }
    assert_eq!((join.is_held(), fourth.is_held()), (false, false), "{:?}", world.state());
    assert_eq!(told(join.answer.assignment.as_ref()), owned(&world, "mc"));
    assert_eq!(told(fourth.answer.assignment.as_ref()), owned(&world, "md"));
    let held: usize = ["ma", "mb", "mc", "md"].iter().map(|m| owned(&world, m).len()).sum();
    assert_eq!(held, 6, "{:?}", world.state());
    world.check();
}

#[test]
fn newcomer_that_is_held_and_leaves_is_answered() {
    let mut world = world("");
    consumer_group(&mut world, &["ma"]);
    let mut join = Join::send(&mut world, "mb", Make::Librdkafka);
    assert!(join.is_held());
    world.run("chb v=1 g=g m=mb e=-1", None);
    join.run(&mut world);
    assert_eq!(join.answer.error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    assert!(world.shard().logged().consumer_group("g").is_some_and(|g| g.member("mb").is_none()));
    world.check();
}

#[test]
fn newcomer_whose_target_is_computed_elsewhere_waits_for_it() {
    for make in [Make::Java, Make::Ours, Make::Librdkafka] {
        let mut world = world("");
        consumer_group(&mut world, &["ma"]);
        world.compute_elsewhere();
        world.memory.auto_jobs = false;
        let mut join = Join::send(&mut world, "mb", make);
        assert!(join.is_held(), "{make:?} {:?}", world.state());
        assert!(world.memory.run_job());
        world.memory.settle();
        join.run(&mut world);
        assert!(join.is_held(), "{make:?} {:?}", world.state());
        give_up(&mut world, "ma");
        join.run(&mut world);
        assert_eq!((join.is_held(), join.count()), (false, 2), "{make:?} {:?}", world.state());
        world.check();
    }
}

/// The connection of its first heartbeat is half open, say: what is held there knows nothing of what it is told here.
#[test]
fn newcomer_that_joins_again_supersedes_what_is_held() {
    let mut world = world("");
    consumer_group(&mut world, &["ma"]);
    let first = Join::send(&mut world, "mb", Make::Librdkafka);
    assert!(first.is_held() && !first.heartbeat.is_superseded(), "{:?}", world.state());
    let mut second = Join::send(&mut world, "mb", Make::Librdkafka);
    assert!(first.heartbeat.is_superseded(), "{:?}", world.state());
    assert!(second.is_held() && !second.heartbeat.is_superseded(), "{:?}", world.state());
    give_up(&mut world, "ma");
    second.run(&mut world);
    assert_eq!((second.is_held(), second.count()), (false, 2), "{:?}", world.state());
    world.check();
}

/// It has all of its target already, but not the epoch of the target that is due.
#[test]
fn member_that_joins_again_is_answered_with_the_next_target() {
    let mut world = world("cint=1000");
    consumer_group(&mut world, &["ma", "mb"]);
    world.run("tick ms=1100", None);
    for _ in 0..3 {
        give_up(&mut world, "ma");
        give_up(&mut world, "mb");
    }
    assert_eq!(owned(&world, "mb").len(), 2, "{:?}", world.state());
    world.run("tick ms=1100", None);
    world.run("chb v=1 g=g m=mc e=0 rt=5000 t=t2 o=", None);
    world.run("chb v=1 g=g m=md e=0 rt=5000 t=t2 o=", None);
    // The heartbeat of another member is the one that has the target computed when it is due.
    let mut holder = Holder::default();
    let now = epoch(&world, "ma");
    assert!(holder.send(&mut world, "g", "ma", now));
    let mut join = Join::send(&mut world, "mb", Make::Librdkafka);
    assert!(join.is_held(), "{:?}", world.state());
    world.run("tick ms=1100", None);
    holder.run(&mut world);
    join.run(&mut world);
    assert_eq!((join.is_held(), join.count()), (false, 2), "{:?}", world.state());
    world.check();
}

/// The last target assignment is too young for another one when the member comes.
#[test]
fn newcomer_waits_for_a_target_that_is_due_later() {
    let mut world = world("cint=1000");
    consumer_group(&mut world, &["ma"]);
    let mut join = Join::send(&mut world, "mb", Make::Librdkafka);
    assert!(join.is_held(), "{:?}", world.state());
    for _ in 0..4 {
        world.run("tick ms=300", None);
        join.run(&mut world);
    }
    assert!(join.is_held(), "{:?}", world.state());
    give_up(&mut world, "ma");
    join.run(&mut world);
    assert_eq!((join.is_held(), join.count()), (false, 2), "{:?}", world.state());
    world.check();
}

#[test]
fn connection_of_a_newcomer_that_closes_teaches() {
    let mut world = world("");
    consumer_group(&mut world, &["ma"]);
    let join = Join::send(&mut world, "mb", Make::Librdkafka);
    join.heartbeat.abandon(2_000);
    let join = Join::send(&mut world, "mb", Make::Librdkafka);
    assert_eq!(join.heartbeat.limits().expect("it is held").longest_ms, Some(1_000));
}

#[test]
fn newcomer_is_not_held_where_that_is_not_wanted() {
    let mut world = world("push=false");
    consumer_group(&mut world, &["ma"]);
    let join = Join::send(&mut world, "mb", Make::Librdkafka);
    assert!(!join.is_held());
    assert_eq!((join.count(), join.asked), (0, 0));
}
