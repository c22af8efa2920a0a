//! Consumer groups where Kafka's coordinator is no example: assignments that are computed elsewhere,
//! and what is meant to differ.

use crate::script;

use script::World;
use thalweg_coordinator::KeyValue;
use thalweg_groups::GroupConfig;
use thalweg_groups::consumer::ConsumerGroup;

const CONFIG: &str = "new csession=20000 chb=3000 cint=0 delay=0 minsession=10";

fn world() -> World {
    let mut world = World::new(GroupConfig::default());
    world.run(CONFIG, None);
    world.run("topic n=t1 p=4", None);
    world
}

/// A group whose target assignments wait to be computed.
fn world_of_jobs() -> World {
    let mut world = world();
    world.compute_elsewhere();
    world.memory.auto_jobs = false;
    world
}

fn group(world: &World) -> &ConsumerGroup {
    world.shard().logged().consumer_group("g").expect("a consumer group")
}

fn join(world: &mut World, member: &str) -> String {
    let op = format!("chb v=1 g=g m={member} e=0 rt=5000 o= t=t1");
    answer(&world.run(&op, None))
}

fn answer(lines: &[String]) -> String {
    lines.iter().find(|line| line.starts_with('#')).expect("an answer").clone()
}

/// How many partitions each member is to own.
fn targets(world: &World) -> Vec<(String, usize)> {
    group(world).targets().iter().map(|(id, target)| (id.to_string(), target.len())).collect()
}

fn owners(of: &[(&str, usize)]) -> Vec<(String, usize)> {
    of.iter().map(|(id, count)| (id.to_string(), *count)).collect()
}

#[test]
fn members_live_with_the_assignment_there_is_while_another_one_is_computed() {
    let mut world = world_of_jobs();
    let first = join(&mut world, "ma");
    assert!(first.contains("err=0 id=ma epoch=1 ") && first.contains("assignment={}"), "{first}");
    assert_eq!(world.memory.jobs.len(), 1);
    // A second member comes before that is done. There is one computation at a time.
    join(&mut world, "mb");
    assert_eq!((world.memory.jobs.len(), targets(&world)), (1, owners(&[])));
    // What was computed for an epoch that has passed does not count; the next one is begun at once.
    assert!(world.memory.run_job());
    assert_eq!((world.memory.jobs.len(), targets(&world)), (1, owners(&[])));
    assert!(world.memory.run_job());
    assert_eq!((world.memory.jobs.len(), targets(&world)), (0, owners(&[("ma", 2), ("mb", 2)])));
    let epochs = *group(&world).epochs();
    assert_eq!((epochs.group, epochs.assignment), (3, 3));
    let told = answer(&world.run("chb v=1 g=g m=ma e=1 o=", None));
    assert!(told.contains("epoch=3 ") && !told.contains("assignment=null"), "{told}");
    world.check();
}

#[test]
fn an_assignment_of_members_that_were_taken_back_does_not_count() {
    let mut world = world_of_jobs();
    join(&mut world, "ma");
    assert!(world.memory.run_job());
    assert_eq!(targets(&world), owners(&[("ma", 4)]));
    // A member whose join is not written; the computation for it is under way.
    world.run("fail code=6", None);
    let refused = join(&mut world, "mb");
    assert!(refused.contains("err=16"), "{refused}");
    assert_eq!(world.memory.jobs.len(), 1);
    // The group comes to the same epoch in another way.
    world.run("chb v=1 g=g m=ma e=1 o= t=t1,t2", None);
    assert_eq!((group(&world).epochs().group, world.memory.jobs.len()), (3, 1));
    assert!(world.memory.run_job());
    assert_eq!(group(&world).epochs().assignment, 2, "an assignment without a part of the members");
    world.run("chb v=1 g=g m=ma e=2 o=t1:0:0:1:2:3", None);
    assert!(world.memory.run_job());
    assert_eq!((group(&world).epochs().assignment, targets(&world)), (3, owners(&[("ma", 4)])));
    world.check();
}

#[test]
fn a_static_member_that_comes_back_meanwhile_gets_what_was_computed_for_it() {
    let mut world = world_of_jobs();
    world.run("chb v=1 g=g m=ma i=ia e=0 rt=5000 o= t=t1", None);
    world.run("chb v=1 g=g m=ma i=ia e=-2", None);
    world.run("chb v=1 g=g m=mb i=ia e=0 rt=5000 o= t=t1", None);
    assert!(world.memory.run_job());
    assert_eq!(targets(&world), owners(&[("mb", 4)]));
    world.check();
}

#[test]
fn a_computation_that_fails_is_tried_again_by_the_next_heartbeat() {
    use thalweg_coordinator::Job as _;
    let mut world = world_of_jobs();
    join(&mut world, "ma");
    let job = world.memory.jobs.pop_front().expect("a job");
    let now = world.memory.now;
    world.memory.runner.job_done(job.failed(), now);
    world.memory.settle();
    assert_eq!((world.memory.jobs.len(), targets(&world)), (0, owners(&[])));
    world.run("chb v=1 g=g m=ma e=1 o=", None);
    assert!(world.memory.run_job());
    assert_eq!(targets(&world), owners(&[("ma", 4)]));
}

#[test]
fn a_classic_group_in_its_first_round_becomes_a_consumer_group() {
    let mut world = world();
    world.run("new csession=20000 chb=3000 cint=0 delay=3000 minsession=10", None);
    world.run("topic n=t1 p=4", None);
    // Kafka fails here with UNKNOWN_SERVER_ERROR: the group has not chosen a protocol yet.
    world.run("join g=g v=3 c=c s=20000 r=5000 p=range:t1", Some(1));
    let lines = world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1", None);
    assert!(lines.iter().any(|line| line.contains("join err=27 ")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("chb err=0 ")), "{lines:?}");
    assert_eq!((group(&world).members().len(), group(&world).classic_members()), (2, 1));
    world.check();
}

#[test]
fn a_member_that_is_refused_leaves_the_classic_group_alone() {
    let mut world = world();
    world.run("new csession=20000 chb=3000 cint=0 delay=3000 minsession=10 cmax=1", None);
    world.run("join g=g v=3 c=c s=20000 r=5000 p=range:t1", Some(1));
    // Kafka interrupts the member that waits, though nothing comes of it.
    let lines = world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1", None);
    assert!(lines.iter().any(|line| line.contains("chb err=81 ")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains(" join ")), "{lines:?}");
    let lines = world.run("tick ms=3000", None);
    assert!(lines.iter().any(|line| line.contains("join err=0 gen=1 ")), "{lines:?}");
    world.check();
}

#[test]
fn a_static_member_that_is_away_has_its_session_whatever_it_owed() {
    let mut world = world();
    world.run("chb v=1 g=g m=ma i=ia e=0 rt=5000 o= t=t1", None);
    join(&mut world, "mb");
    world.run("chb v=1 g=g m=ma i=ia e=2", None);
    assert_eq!(group(&world).member("ma").map(|m| m.pending_revocation.len()), Some(2));
    world.run("chb v=1 g=g m=ma i=ia e=-2", None);
    world.run("reload", None);
    // Kafka fences it after its rebalance timeout, as if it were there and did not give up anything.
    world.run("tick ms=19999", None);
    assert!(group(&world).member("ma").is_some());
    world.run("tick ms=1", None);
    assert!(group(&world).member("ma").is_none());
}

#[test]
fn a_member_of_which_the_write_failed_is_not_fenced_for_what_it_was_not_asked() {
    let mut world = world();
    join(&mut world, "ma");
    join(&mut world, "mb");
    world.run("fail code=6", None);
    let refused = answer(&world.run("chb v=1 g=g m=ma e=2", None));
    assert!(refused.contains("err=16"), "{refused}");
    world.run("tick ms=6000", None);
    assert!(group(&world).member("ma").is_some(), "it was never asked to give anything up");
    // Now it is asked, and has its rebalance timeout.
    world.run("chb v=1 g=g m=ma e=2", None);
    world.run("tick ms=4999", None);
    assert!(group(&world).member("ma").is_some());
    world.run("tick ms=1", None);
    assert!(group(&world).member("ma").is_none());
}

#[test]
fn a_member_that_takes_an_instance_over_gets_what_is_computed_for_it() {
    let mut world = world();
    world.run("topic n=t2 p=4", None);
    // A static member goes away, and its place is taken by a member that has been there for long, and
    // whose target assignment is the same as before.
    answer(&world.run("chb v=1 g=g m=ma e=0 rt=5000 o= t=t1", None));
    answer(&world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t2 i=i1", None));
    assert_eq!(targets(&world), owners(&[("ma", 4), ("mb", 4)]));
    answer(&world.run("chb v=1 g=g m=mb e=-2 i=i1", None));
    answer(&world.run("chb v=1 g=g m=ma e=0 rt=5000 o= t=t1 i=i1", None));
    assert_eq!(targets(&world), owners(&[("ma", 4)]));
    let t1 = world.metadata.image.topics.by_name("t1").expect("a topic").id;
    let target = &group(&world).targets()["ma"];
    assert!(target.contains(t1, 0), "{target:?}");
    world.check();
}

#[test]
fn two_members_that_become_one_leave_what_one_of_them_had_to_others() {
    let mut world = world();
    for (member, instance) in [("ma", " i=i1"), ("mb", ""), ("mc", "")] {
        let join = format!("chb v=1 g=g m={member} e=0 rt=5000 o= t=t1{instance}");
        answer(&world.run(&join, None));
    }
    answer(&world.run("chb v=1 g=g m=ma e=-2 i=i1", None));
    // The same subscription as that of the member whose place it takes. Kafka begins no new epoch for that.
    answer(&world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1 i=i1", None));
    assert_eq!(targets(&world), owners(&[("mb", 2), ("mc", 2)]));
    world.check();
}

#[test]
fn a_member_that_takes_an_instance_keeps_what_it_has() {
    let mut world = world();
    join(&mut world, "ma");
    let again = answer(&world.run("chb v=1 g=g m=ma e=0 rt=5000 o= t=t1 i=i1", None));
    assert!(!again.contains("assignment={}"), "{again}");
    assert_eq!(group(&world).members()["ma"].assigned.iter().count(), 4);
    world.check();
}

#[test]
fn topics_that_change_while_a_leave_waits_are_looked_at_when_it_is_taken_back() {
    let mut world = world();
    join(&mut world, "ma");
    let epoch = group(&world).members()["ma"].epoch;
    world.memory.auto_append = false;
    world.run("chb v=1 g=g m=ma e=-1", None);
    assert!(group(&world).members().is_empty());
    world.run("topic n=t1 p=6", None);
    world.run("fail code=6", None);
    world.memory.auto_append = true;
    assert!(world.memory.append_one());
    assert_eq!(group(&world).members().len(), 1);
    world.run(&format!("chb v=1 g=g m=ma e={epoch} o="), None);
    assert_eq!(targets(&world), owners(&[("ma", 6)]));
    world.check();
}

#[test]
fn what_a_member_had_by_an_expression_goes_to_others_when_the_next_stands_for_nothing() {
    let mut world = world();
    answer(&world.run("chb v=1 g=g m=ma e=0 rt=5000 o= x=t.*", None));
    answer(&world.run("chb v=1 g=g m=ma e=1 o=", None));
    answer(&world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1", None));
    assert_eq!(targets(&world), owners(&[("ma", 2), ("mb", 2)]));
    world.run("tick ms=11000", None);
    let epoch = group(&world).members()["ma"].epoch;
    answer(&world.run(&format!("chb v=1 g=g m=ma e={epoch} x=nothing"), None));
    answer(&world.run("chb v=1 g=g m=mb e=3 o=", None));
    assert_eq!(targets(&world), owners(&[("ma", 0), ("mb", 4)]));
    world.check();
}

#[test]
fn an_assignment_for_an_expression_that_was_given_up_meanwhile_does_not_count() {
    let mut world = world();
    world.compute_elsewhere();
    answer(&world.run("chb v=1 g=g m=ma e=0 rt=5000 o= x=t.*", None));
    answer(&world.run("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1", None));
    world.run("tick ms=11000", None);
    assert_eq!(targets(&world), owners(&[("ma", 2), ("mb", 2)]));
    world.memory.auto_jobs = false;
    join(&mut world, "mc");
    let epoch = group(&world).members()["ma"].epoch;
    answer(&world.run(&format!("chb v=1 g=g m=ma e={epoch} x=nothing"), None));
    // What the next expression stands for is known before the assignment for the first one.
    assert_eq!(world.memory.jobs.len(), 2);
    world.memory.jobs.rotate_left(1);
    assert!(world.memory.run_job() && world.memory.run_job());
    assert_eq!((world.memory.jobs.len(), targets(&world)), (0, owners(&[("ma", 2), ("mb", 2)])));
    let epoch = group(&world).members()["mb"].epoch;
    world.run(&format!("chb v=1 g=g m=mb e={epoch}"), None);
    assert!(world.memory.run_job());
    assert_eq!(targets(&world), owners(&[("ma", 0), ("mb", 2), ("mc", 2)]));
    world.check();
}

#[test]
fn a_member_that_takes_another_instance_gives_the_first_one_up() {
    let mut world = world();
    world.run("chb v=1 g=g m=ma i=ia e=0 rt=5000 o= t=t1", None);
    world.run("chb v=1 g=g m=ma i=ib e=0 rt=5000 o= t=t1", None);
    assert!(
        group(&world).static_member("ia").is_none() && group(&world).static_member("ib").is_some()
    );
    let lines = answer(&world.run("chb v=1 g=g m=mc i=ia e=0 rt=5000 o= t=t1", None));
    assert!(lines.contains("err=0 id=mc "), "{lines}");
    world.check();
}

#[test]
fn malformed_and_contradictory_requests_are_refused_by_name() {
    let mut world = world();
    join(&mut world, "ma");
    for (op, error) in [
        ("chb v=1 g=g m= e=0 rt=5000 o= t=t1", 42),
        ("chb v=1 g= m=mb e=0 rt=5000 o= t=t1", 42),
        ("chb v=1 g=g m=mb e=0 o= t=t1", 42),
        ("chb v=1 g=g m=mb e=0 rt=5000 t=t1", 42),
        ("chb v=1 g=g m=mb e=0 rt=5000 o=t1:0:0 t=t1", 42),
        ("chb v=1 g=g m=mb e=0 rt=5000 o=", 42),
        ("chb v=1 g=g m=mb e=-2", 42),
        ("chb v=1 g=g m=mb e=-3", 42),
        ("chb v=1 g=g m=mb e=0 rt=5000 o= t=t1 a=nobody", 112),
        ("chb v=1 g=g m=mb e=0 rt=5000 o= x=a{2,1}", 128),
        ("chb v=1 g=g m=mb e=5", 25),
        ("chb v=1 g=nobody m=mb e=5", 69),
        ("chb v=1 g=g m=ma e=77", 110),
        ("chb v=1 g=g m=ma e=1 o=t1:0:99", 110),
        ("chb v=1 g=g m=ma i=ix e=2", 25),
    ] {
        let refused = answer(&world.run(op, None));
        assert!(refused.contains(&format!("chb err={error} ")), "{op}: {refused}");
        world.check();
    }
    assert_eq!(group(&world).members().len(), 1);
}

/// A record of a share or streams group: type, group, whether it is there.
fn foreign(record_type: i16, group: &str, is_there: bool) -> KeyValue {
    let mut key = record_type.to_be_bytes().to_vec();
    key.extend((group.len() as i16).to_be_bytes());
    key.extend(group.as_bytes());
    key.extend(b"whatever follows");
    KeyValue { key: key.into(), value: is_there.then(|| b"not read here".as_slice().into()) }
}

#[test]
fn groups_of_types_that_are_not_run_keep_their_ids_offsets_and_records() {
    let mut world = world();
    world.run("new retention=1 check=15000", None);
    world.run("topic n=t1 p=4", None);
    world.run("commit g=share v=9 gen=-1 o=t1:0:7:m", None);
    for (record_type, group) in [(10, "share"), (11, "share"), (19, "streams"), (17, "streams")] {
        world.memory.log.push(foreign(record_type, group, true).into());
    }
    world.run("reload", None);
    let log = world.memory.log.clone();
    for (op, error) in [
        ("join g=share v=9 c=c p=range:t1", "join err=23 "),
        ("join g=streams v=9 c=c p=range:t1", "join err=23 "),
        ("chb v=1 g=share m=ma e=0 rt=5000 o= t=t1", "chb err=69 "),
        ("sync g=share v=4 m=ma gen=1", "sync err=25 "),
        ("hb g=streams v=4 m=ma gen=1", "hb err=25"),
        ("commit g=share v=9 gen=-1 o=t1:0:9:m", "commit topics={t1/0/69}"),
        ("odel g=share o=t1:0", "odel err=69 "),
        ("delete g=share,streams", "delete groups={share/68|streams/68}"),
        ("fetch g=share v=9 o=t1:0", "t1/0/7/-1/m/0"),
        ("describe g=share v=6", "describe g=share err=69 "),
        ("cdesc g=streams", "cdesc g=streams err=69 "),
        (
            "list v=5 types=share,streams",
            "{share/share/Unknown/share|streams/streams/Unknown/streams}",
        ),
    ] {
        let answered = answer(&world.run(op, None));
        assert!(answered.contains(error), "{op}: {answered}");
        world.check();
    }
    // Long after the retention time of offsets.
    world.run("tick ms=600000", None);
    assert_eq!(world.memory.log, log, "nothing is written for them");
    // Their own broker has removed them; the last record counts.
    world.memory.log.push(foreign(10, "share", false).into());
    world.run("reload", None);
    assert!(answer(&world.run("join g=share v=9 c=c p=range:t1", None)).contains("err=23 "));
    world.memory.log.push(foreign(11, "share", false).into());
    world.run("reload", None);
    assert!(answer(&world.run("join g=share v=9 c=c p=range:t1", None)).contains("err=79 "));
    world.check();
}

#[test]
fn an_empty_group_stays_when_a_member_that_it_does_not_know_is_sent_away() {
    let mut world = world();
    join(&mut world, "ma");
    world.run("chb v=1 g=g m=ma e=-1", None);
    let log = world.memory.log.len();
    // Kafka forgets the group here, but for its records.
    let refused = answer(&world.run("join g=g v=9 c=c m=ma p=range:t1", None));
    assert!(refused.contains("join err=25 "), "{refused}");
    assert_eq!((group(&world).members().len(), world.memory.log.len()), (0, log));
    world.check();
}

#[test]
fn a_member_whose_removal_could_not_be_written_is_removed_later() {
    let mut world = world();
    join(&mut world, "ma");
    join(&mut world, "mb");
    world.run("tick ms=10000", None);
    world.run("chb v=1 g=g m=mb e=3", None);
    // Its session ends, and the log does not take it.
    world.run("fail code=56", None);
    world.run("tick ms=10000", None);
    assert!(group(&world).member("ma").is_some());
    world.run("tick ms=499", None);
    assert!(group(&world).member("ma").is_some());
    world.run("tick ms=1", None);
    assert!(group(&world).member("ma").is_none() && group(&world).member("mb").is_some());
    // The same for one that leaves: its client does not ask again.
    world.run("fail code=56", None);
    world.run("chb v=1 g=g m=mb e=-1", None);
    assert!(group(&world).member("mb").is_some());
    world.run("tick ms=500", None);
    assert!(group(&world).members().is_empty());
    world.check();
}
