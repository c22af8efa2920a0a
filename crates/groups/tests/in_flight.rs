//! What is seen while records are written and not committed, and offsets of transactions.

use crate::script;

use std::sync::Arc;

use bytes::Bytes;
use script::{START_MS, World, replay, topic_id};
use thalweg_coordinator::{Account, MemoryRunner, Now, Position, Runner, RunnerConfig};
use thalweg_groups::{
    GroupConfig, GroupRecord, GroupRequest, GroupResponse, GroupShard, RequestContext, Submission,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::leave_group_request::MemberIdentity;
use thalweg_wire::messages::offset_fetch_request::OffsetFetchRequestGroup;
use thalweg_wire::messages::sync_group_request::SyncGroupRequestAssignment;
use thalweg_wire::messages::{
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, OffsetCommitValue, SyncGroupRequest,
};

fn run(world: &mut World, op: &str) -> Vec<String> {
    let lines = world.run(op, None);
    world.check();
    lines.into_iter().filter(|line| line.starts_with('#')).collect()
}

#[test]
fn reads_see_what_is_committed_and_stable_fetches_wait() {
    let mut world = World::new(GroupConfig::default());
    run(&mut world, "commit g=s v=8 o=t1:0:1,t2:0:1");
    world.memory.auto_commit = false;
    assert!(run(&mut world, "commit g=s v=8 o=t1:0:2,t1:1:9").is_empty());
    assert!(run(&mut world, "odel g=s o=t2:0").is_empty());
    assert!(run(&mut world, "fetch g=s v=8 o=all stable=1").is_empty());
    let before = "fetch g=s err=0 topics={t1/0/1/-1//0|t2/0/1/-1//0}";
    assert_eq!(run(&mut world, "fetch g=s v=8 o=all"), [format!("#4 {before}")]);
    assert_eq!(
        run(&mut world, "fetch g=s v=8 o=t1:0,t1:1,t2:0"),
        ["#5 fetch g=s err=0 topics={t1/0/1/-1//0|t1/1/-1/-1//0|t2/0/1/-1//0}"]
    );
    world.memory.commit(4);
    assert_eq!(
        run(&mut world, "fetch g=s v=8 o=all"),
        [
            "#1 commit topics={t1/0/0|t1/1/0}",
            "#6 fetch g=s err=0 topics={t1/0/2/-1//0|t1/1/9/-1//0|t2/0/1/-1//0}"
        ]
    );
    world.memory.commit(5);
    assert_eq!(
        run(&mut world, "tick ms=0"),
        ["#2 odel err=0 topics={t2/0/0}", "#3 fetch g=s err=0 topics={t1/0/2/-1//0|t1/1/9/-1//0}"]
    );
}

#[test]
fn groups_come_and_go_when_that_is_committed() {
    let mut world = World::new(GroupConfig::default());
    run(&mut world, "commit g=old v=8 o=t1:0:1");
    world.memory.auto_commit = false;
    assert!(run(&mut world, "join g=new v=4 c=c p=range:t1").is_empty());
    assert!(run(&mut world, "delete g=old").is_empty());
    assert_eq!(run(&mut world, "list v=5"), ["#3 list err=0 groups={old//Empty/classic}"]);
    assert_eq!(
        run(&mut world, "describe g=new,old v=6"),
        [
            "#4 describe g=new err=69 state=Dead type= data= members={}",
            "#4 describe g=old err=0 state=Empty type= data= members={}"
        ]
    );
    let end = world.memory.log.len() as i64;
    world.memory.commit(end);
    let answers = run(&mut world, "list v=5");
    assert_eq!(
        answers.last().map(String::as_str),
        Some("#5 list err=0 groups={new//Empty/classic}")
    );
    assert_eq!(answers.len(), 3, "the join and the delete are answered now: {answers:?}");
}

#[test]
fn an_assignment_is_handed_out_when_it_is_committed() {
    let mut world = World::new(GroupConfig { initial_rebalance_delay_ms: 0, ..Default::default() });
    run(&mut world, "join g=g v=3 c=c p=range:t1 s=60000");
    run(&mut world, "tick ms=0");
    let id = world.shard().group("g").and_then(|g| g.leader().cloned()).expect("a leader");
    world.memory.auto_commit = false;
    assert!(run(&mut world, &format!("sync g=g v=3 m={id} gen=1 a={id}:one")).is_empty());
    assert_eq!(world.shard().group("g").map(|g| g.state().name()), Some("CompletingRebalance"));
    // Its session does not end while it waits, however long the write takes.
    run(&mut world, "tick ms=4000");
    world.memory.commit(2);
    let answers = run(&mut world, "tick ms=0");
    assert_eq!(answers, ["#1 sync err=0 type=consumer name=range assignment=6f6e65"]);
    assert_eq!(world.shard().group("g").map(|g| g.state().name()), Some("Stable"));
}

#[test]
fn a_static_member_that_nobody_can_agree_with_any_more_is_not_put_back() {
    let mut world = World::new(GroupConfig { initial_rebalance_delay_ms: 0, ..Default::default() });
    run(&mut world, "join g=g v=5 c=c i=ia p=range:t1 s=60000");
    run(&mut world, "join g=g v=3 c=b p=range:t1,sticky:t1 s=60000");
    run(&mut world, "tick ms=0");
    let id = world.shard().group("g").and_then(|g| g.leader().cloned()).expect("a leader");
    run(&mut world, &format!("sync g=g v=5 m={id} i=ia gen=1 t=consumer n=range a={id}:one"));
    // It comes back and offers more. Before that is written somebody joins who has only what is new.
    world.memory.auto_append = false;
    assert!(run(&mut world, "join g=g v=5 c=c i=ia p=range:t1,sticky:t1 s=60000").is_empty());
    assert!(run(&mut world, "join g=g v=3 c=d p=sticky:t1 s=60000").is_empty());
    world.memory.failures.push(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    world.memory.auto_append = true;
    world.memory.settle();
    let answers = run(&mut world, "tick ms=0");
    assert!(answers.iter().any(|answer| answer.contains("join err=16")), "{answers:?}");
    let group = world.shard().group("g").expect("the group");
    let members: Vec<bool> = group.members().map(|member| member.instance_id.is_some()).collect();
    assert_eq!(members, [false, false], "{group:?}");
    // Who went on without it is served.
    let answers = run(&mut world, "tick ms=60000");
    let is_served = |a: &String| a.contains("join err=0 gen=2 type=consumer name=sticky");
    assert!(answers.iter().any(is_served), "{answers:?}");
}

fn offset(topic: &str, partition: i32, offset: i64) -> GroupRecord {
    let value = OffsetCommitValue { offset, topic_id: topic_id(topic), ..Default::default() };
    GroupRecord::offset_commit("g", topic, partition, Some(value))
}

fn loaded(log: &[(Option<i64>, Option<GroupRecord>, bool)]) -> Runner<GroupShard> {
    let now = Now { wall_ms: START_MS, monotonic_ms: 0 };
    let config = Arc::new(GroupConfig::default());
    let mut runner = Runner::new(GroupShard::new(config), RunnerConfig::default());
    for (at, (producer_id, record, commit)) in (0i64..).zip(log) {
        match (record, producer_id) {
            (Some(record), _) => {
                let at = Position { offset: at, producer_id: *producer_id };
                runner.load_record(at, now, record);
            }
            (None, Some(producer_id)) => runner.load_marker(at, *producer_id, *commit),
            (None, None) => {}
        }
    }
    let end = log.len() as i64;
    runner.load_finished(end, end, now);
    runner
}

/// The committed offset of `t1`'s partition 0 and whether it is stable.
fn fetch(runner: &mut Runner<GroupShard>, require_stable: bool) -> (i64, i16) {
    let group =
        OffsetFetchRequestGroup { group_id: "g".into(), topics: None, ..Default::default() };
    let submission = Submission {
        context: RequestContext { api_version: 8, ..Default::default() },
        request: GroupRequest::OffsetFetch { group, require_stable },
    };
    runner.submit(submission, Now { wall_ms: START_MS, monotonic_ms: 0 });
    let Some((_, GroupResponse::OffsetFetch(response))) = runner.poll_answer() else {
        panic!("a fetch is answered");
    };
    let partition =
        response.topics.iter().find(|t| t.name == "t1").and_then(|t| t.partitions.first());
    partition.map_or((-2, 0), |p| (p.committed_offset, p.error_code.0))
}

#[test]
fn offsets_of_transactions_count_when_they_end() {
    const PRODUCER: Option<i64> = Some(7);
    let open = [
        (None, Some(offset("t1", 0, 1)), false),
        (PRODUCER, Some(offset("t1", 0, 5)), false),
        (Some(8), Some(offset("t2", 0, 6)), false),
    ];
    let mut runner = loaded(&open);
    assert_eq!(fetch(&mut runner, false), (1, 0));
    assert_eq!(fetch(&mut runner, true), (-1, 88), "UNSTABLE_OFFSET_COMMIT");
    assert!(runner.shard().logged().has_pending("g", "t1", 0));

    let with = |more: &[(Option<i64>, Option<GroupRecord>, bool)]| {
        let mut log = open.to_vec();
        log.extend_from_slice(more);
        let mut runner = loaded(&log);
        fetch(&mut runner, true)
    };
    assert_eq!(with(&[(PRODUCER, None, true)]), (5, 0));
    assert_eq!(with(&[(PRODUCER, None, false)]), (1, 0));
    assert_eq!(with(&[(Some(99), None, true)]), (-1, 88), "somebody else's end");
    // A plain commit after the transaction's stands, whenever that ends.
    assert_eq!(with(&[(None, Some(offset("t1", 0, 9)), false), (PRODUCER, None, true)]), (9, 0));
    // A tombstone takes the pending offset with it.
    let tombstone = GroupRecord::offset_commit("g", "t1", 0, None);
    assert_eq!(with(&[(None, Some(tombstone), false), (PRODUCER, None, true)]), (-2, 0));
}

#[test]
fn a_group_of_which_nothing_is_committed_but_a_transaction_stays() {
    let mut runner = loaded(&[(Some(7), Some(offset("t1", 0, 5)), false)]);
    let later = Now { wall_ms: i64::MAX / 2, monotonic_ms: u64::MAX / 2 };
    while runner.wake_at_ms().is_some_and(|at| at <= later.monotonic_ms) {
        runner.advance(later);
        assert_eq!(runner.poll_append(), None, "nothing expires");
        if runner.wake_at_ms().is_some_and(|at| at > later.monotonic_ms) {
            break;
        }
    }
    assert!(runner.shard().group("g").is_some());
}

#[test]
fn the_log_alone_gives_the_same_state() {
    let mut world = World::new(GroupConfig::default());
    for op in [
        "commit g=s v=8 o=t1:0:1,t2:0:1",
        "join g=g v=3 c=c p=range:t1",
        "tick ms=3000",
        "commit g=s v=3 ret=500 o=t1:0:7",
        "odel g=s o=t2:0",
        "leave g=g v=3 m=nobody",
        "delete g=s",
    ] {
        run(&mut world, op);
    }
    assert_eq!(world.shard().logged(), replay(&world.memory.log).logged());
    assert_eq!(world.shard().counts().groups(), 1);
    assert_eq!(world.shard().counters().offset_commits, 3);
    assert_eq!(world.shard().counters().offset_deletions, 2);
}

/// What a shard answers at once.
fn ask(memory: &mut MemoryRunner<GroupShard>, request: GroupRequest) -> GroupResponse {
    let context = RequestContext { api_version: 3, ..Default::default() };
    memory.submit(Submission { context, request });
    memory.advance(0);
    memory.take_answers().pop().map(|(_, answer)| answer).expect("an answer")
}

/// A join with so many bytes of metadata.
fn join(group: &str, bytes: usize) -> GroupRequest {
    GroupRequest::JoinGroup(JoinGroupRequest {
        group_id: group.into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: Bytes::from(vec![0; bytes]),
            ..Default::default()
        }],
        ..Default::default()
    })
}

/// The only member of `g` gives itself an assignment of so many bytes.
fn sync(joined: &JoinGroupResponse, bytes: usize) -> GroupRequest {
    GroupRequest::SyncGroup(SyncGroupRequest {
        group_id: "g".into(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        assignments: vec![SyncGroupRequestAssignment {
            member_id: joined.member_id.clone(),
            assignment: Bytes::from(vec![0; bytes]),
            ..Default::default()
        }],
        ..Default::default()
    })
}

/// That member leaves.
fn leave(joined: &JoinGroupResponse) -> GroupRequest {
    let member = MemberIdentity { member_id: joined.member_id.clone(), ..Default::default() };
    GroupRequest::LeaveGroup(LeaveGroupRequest {
        group_id: "g".into(),
        members: vec![member],
        ..Default::default()
    })
}

/// What members leave behind is held of an account, and who finds it full is sent away.
#[test]
fn assignments_and_metadata_are_held_until_nothing_refers_to_them() {
    let account = Account::new(100_000);
    let config = Arc::new(GroupConfig { initial_rebalance_delay_ms: 0, ..Default::default() });
    let shard = || GroupShard::with_account(Arc::clone(&config), Arc::clone(&account));
    let now = Now { wall_ms: START_MS, monotonic_ms: 0 };
    let mut memory = MemoryRunner::new(shard(), now);
    let mut ask = |request: GroupRequest| ask(&mut memory, request);
    let GroupResponse::JoinGroup(refused) = ask(join("g", 100_000)) else {
        panic!("a join's answer")
    };
    assert_eq!(refused.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(account.used(), 0);
    let GroupResponse::JoinGroup(joined) = ask(join("g", 60_000)) else {
        panic!("a join's answer")
    };
    assert_eq!(joined.error_code, ErrorCode::NONE);
    assert!((60_000..65_000).contains(&account.used()), "{}", account.used());
    for (bytes, expected) in
        [(60_000, ErrorCode::COORDINATOR_NOT_AVAILABLE), (20_000, ErrorCode::NONE)]
    {
        let GroupResponse::SyncGroup(synced) = ask(sync(&joined, bytes)) else {
            panic!("a sync's answer")
        };
        assert_eq!(synced.error_code, expected, "{bytes}");
    }
    assert!((80_000..85_000).contains(&account.used()), "{}", account.used());
    let GroupResponse::LeaveGroup(_) = ask(leave(&joined)) else { panic!("a leave's answer") };
    drop(joined.members);
    // The log says who was in it until the group's next record, which it wrote as it became empty.
    assert_eq!(account.used(), 0);
}

/// Members that a log describes are held as if they had just joined, also where there is no room for them;
/// then nobody new finds any.
#[test]
fn members_of_a_loaded_log_are_held_whatever_the_limit() {
    let config = Arc::new(GroupConfig { initial_rebalance_delay_ms: 0, ..Default::default() });
    let shard =
        |account: &Arc<Account>| GroupShard::with_account(Arc::clone(&config), Arc::clone(account));
    let now = Now { wall_ms: START_MS, monotonic_ms: 0 };
    let (first, second) = (Account::new(100_000), Account::new(50_000));
    let mut memory = MemoryRunner::new(shard(&first), now);
    let GroupResponse::JoinGroup(joined) = ask(&mut memory, join("g", 60_000)) else {
        panic!("a join's answer")
    };
    let GroupResponse::SyncGroup(synced) = ask(&mut memory, sync(&joined, 20_000)) else {
        panic!("a sync's answer")
    };
    assert_eq!(synced.error_code, ErrorCode::NONE);
    let held = first.used();

    memory.reload(shard(&second));
    assert_eq!(second.used(), held);
    let GroupResponse::JoinGroup(refused) = ask(&mut memory, join("other", 1_000)) else {
        panic!("a join's answer")
    };
    assert_eq!(refused.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    let GroupResponse::LeaveGroup(left) = ask(&mut memory, leave(&joined)) else {
        panic!("a leave's answer")
    };
    assert_eq!(left.members[0].error_code, ErrorCode::NONE);
    assert_eq!(second.used(), 0);
    let GroupResponse::JoinGroup(joined) = ask(&mut memory, join("other", 1_000)) else {
        panic!("a join's answer")
    };
    assert_eq!(joined.error_code, ErrorCode::NONE);
}
