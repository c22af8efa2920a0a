//! Random events, with appends that wait, fail and are committed late, against what must always
//! hold; and bytes and records that nobody would write.

use crate::script;

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use script::random::{Generator, Operations, delay, delay_nothing, live};
use script::transactions::WithProducers;
use script::{Names, World, replay};
use thalweg_coordinator::{CoordinatorRecord, KeyValue};
use thalweg_groups::{
    ClassicGroupState, GroupConfig, GroupRecord, RequestContext, Submission, subscribed_topics,
};
use thalweg_random::seeds;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::GroupMetadataValue;
use thalweg_wire::messages::group_metadata_value::MemberMetadata;

/// Generation, and protocol if it has been chosen.
type Round = (i32, Option<String>);

fn rounds(world: &World) -> BTreeMap<String, Round> {
    let chosen =
        |state| matches!(state, ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable);
    world
        .shard()
        .groups()
        .map(|group| {
            let protocol = group.protocol_name().filter(|_| chosen(group.state()));
            (group.id().to_string(), (group.generation(), protocol.map(str::to_owned)))
        })
        .collect()
}

#[test]
fn random_events_keep_the_invariants() {
    seeds::family("classic", 250, 15, |seed, history| {
        finish(&mut live(Generator::new(seed ^ 0xabcd), history, |_| {}, step));
    });
}

#[test]
fn random_events_with_transactions_keep_the_invariants() {
    seeds::family("transactions", 150, 5, |seed, history| {
        finish(&mut live(
            WithProducers::new(seed, Generator::new(seed ^ 0xbeef)),
            history,
            |_| {},
            step,
        ));
    });
}

fn step(
    world: &mut World,
    names: &mut Names,
    generator: &mut impl Operations,
    history: &mut Vec<String>,
) {
    delay(world, generator, history);
    let failing = !world.memory.failures.is_empty();
    let before = rounds(world);
    let op = generator.next(world, names);
    history.push(op.clone());
    for line in world.run(&names.resolve(&op), None) {
        names.normalise(&line);
    }
    for line in world.state() {
        names.normalise(&line);
    }
    world.check();
    // One generation follows the other, and each has one protocol. A failed append or a restart
    // goes back to what was written.
    if failing || op == "reload" || op.starts_with("delete") || op.starts_with("tick") {
        return;
    }
    for (group, (generation, protocol)) in rounds(world) {
        let Some((earlier, chosen)) = before.get(&group) else { continue };
        assert!(generation >= *earlier, "group {group} went back to generation {generation}");
        if generation == *earlier && protocol.is_some() && chosen.is_some() {
            assert_eq!(protocol, *chosen, "group {group} has two protocols in {generation}");
        }
    }
}

/// Everything is written, and everything asked is answered once.
fn finish(world: &mut World) {
    world.memory.failures.clear();
    delay_nothing(world);
    world.check();
    assert_eq!(world.shard().logged(), replay(&world.memory.log).logged());
    world.run("reload", None); // Fails if a request is left.
    world.check();
}

#[test]
fn members_that_never_come_back_for_their_id_are_limited() {
    let config = GroupConfig { max_pending_members: 3, ..Default::default() };
    let mut world = World::new(config);
    for n in 0..5 {
        let answers = world.run(&format!("join g=g v=4 c=c{n} p=range:t1 s=6000"), None);
        let error = if n < 3 { "err=79" } else { "err=81" };
        assert!(answers.iter().any(|line| line.contains(error)), "{n}: {answers:?}");
    }
    world.run("tick ms=6000", None);
    let answers = world.run("join g=g v=4 c=c p=range:t1 s=6000", None);
    assert!(answers.iter().any(|line| line.contains("err=79")), "{answers:?}");
    world.check();
}

#[test]
fn metadata_is_measured_in_utf16() {
    let config = GroupConfig { offset_metadata_max_bytes: 4, ..Default::default() };
    let mut world = World::new(config);
    for (text, error) in [("abcd", 0), ("abcde", 12), ("äöüß", 0), ("😀😀", 0), ("😀😀x", 12)]
    {
        let answers = world.run(&format!("commit g=g v=8 o=t1:0:1:{text}"), None);
        let expected = format!("topics={{t1/0/{error}}}");
        assert!(answers.iter().any(|line| line.contains(&expected)), "{text}: {answers:?}");
    }
}

#[test]
fn records_that_do_not_fit_fail_their_request_only() {
    // A member id longer than a record's text may be: client ids are as long as the protocol allows.
    let long = "c".repeat(32_760);
    let mut world = World::new(GroupConfig { initial_rebalance_delay_ms: 0, ..Default::default() });
    world.run(&format!("join g=g v=3 c={long} p=range:t1 s=30000"), Some(1));
    world.run("tick ms=0", None);
    let leader = world.shard().group("g").and_then(|g| g.leader().cloned()).expect("a leader");
    world.memory.auto_append = false;
    world.run(&format!("sync g=g v=3 m={leader} gen=1 a={leader}:one"), None);
    let append = world.memory.runner.poll_append().expect("an append");
    assert!(append.records.iter().any(|record| record.encode().is_err()));
    world.memory.runner.append_failed(append.id, ErrorCode::UNKNOWN_SERVER_ERROR, world.memory.now);
    world.memory.settle();
    let answers = world.run("tick ms=0", None);
    assert!(answers.iter().any(|line| line.contains("sync err=-1")), "{answers:?}");
}

fn metadata_value() -> impl Strategy<Value = GroupMetadataValue> {
    let text = || prop_oneof![Just(String::new()), "[a-c]", "consumer"];
    let nullable = move || proptest::option::of(text());
    let member = (text(), nullable(), any::<i32>(), any::<i32>(), any::<Vec<u8>>()).prop_map(
        |(member_id, group_instance_id, rebalance_timeout, session_timeout, bytes)| {
            MemberMetadata {
                member_id,
                group_instance_id,
                rebalance_timeout,
                session_timeout,
                subscription: Bytes::from(bytes.clone()),
                assignment: Bytes::from(bytes),
                ..Default::default()
            }
        },
    );
    let members = proptest::collection::vec(member, 0..6);
    (text(), any::<i32>(), nullable(), nullable(), any::<i64>(), members).prop_map(
        |(protocol_type, generation, protocol, leader, current_state_timestamp, members)| {
            GroupMetadataValue {
                protocol_type,
                generation,
                protocol,
                leader,
                current_state_timestamp,
                members,
                ..Default::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    /// A log may hold what no coordinator writes; the groups made of it are sound all the same.
    #[test]
    fn contradictory_records_load(value in metadata_value(), joins in any::<bool>()) {
        let record = GroupRecord::group_metadata("g", Some(value));
        let log = vec![record.encode().expect("it can be written").into()];
        let mut world = World::new(GroupConfig::default());
        world.memory.log = log;
        world.run("reload", None);
        world.check();
        if joins {
            world.run("join g=g v=3 c=c p=range:t1 s=10000 r=20000", None);
            world.check();
        }
        for ms in [0, 10_000, 100_000] {
            world.run(&format!("tick ms={ms}"), None);
            world.check();
        }
        world.run("describe g=g v=6", None);
        world.run("odel g=g o=t1:0", None);
        world.check();
    }

    /// Bytes from a log or from a member are read or refused.
    #[test]
    fn any_bytes_are_read_or_refused(
        record_type in -1i16..4,
        key in any::<Vec<u8>>(),
        version in -1i16..6,
        value in proptest::option::of(any::<Vec<u8>>()),
    ) {
        let key: Vec<u8> = record_type.to_be_bytes().into_iter().chain(key).collect();
        let value = value.map(|v| version.to_be_bytes().into_iter().chain(v).collect::<Vec<u8>>());
        if let Ok(Some(record)) = GroupRecord::decode(&key, value.as_deref()) {
            let KeyValue { key, value } = record.encode().expect("what was read can be written");
            let again = GroupRecord::decode(&key, value.as_deref()).expect("and read again");
            prop_assert!(again.is_some());
        }
        let _ = subscribed_topics(&key);
        if let Some(value) = value {
            let _ = subscribed_topics(&value);
        }
    }
}

#[test]
fn what_needs_no_coordinator_is_answered_without_one() {
    use thalweg_groups::{GroupRequest, GroupResponse};
    use thalweg_wire::messages::{HeartbeatRequest, JoinGroupRequest, JoinGroupResponse};
    let config = GroupConfig::default();
    let submission = |request| Submission { context: RequestContext::default(), request };
    let heartbeat = submission(GroupRequest::Heartbeat(HeartbeatRequest {
        group_id: "g".into(),
        ..Default::default()
    }));
    assert_eq!(heartbeat.precheck(&config), None);
    // A member of a group that is loading is probably all right.
    for (error, code) in [
        (ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, ErrorCode::NONE),
        (ErrorCode::NOT_COORDINATOR, ErrorCode::NOT_COORDINATOR),
    ] {
        let GroupResponse::Heartbeat(response) = heartbeat.refused(error) else {
            panic!("a heartbeat is answered by a heartbeat");
        };
        assert_eq!(response.error_code, code);
    }
    let join = submission(GroupRequest::JoinGroup(JoinGroupRequest {
        member_id: "m".into(),
        ..Default::default()
    }));
    let expected = JoinGroupResponse {
        member_id: "m".into(),
        error_code: ErrorCode::INVALID_GROUP_ID,
        ..Default::default()
    };
    assert_eq!(join.precheck(&config), Some(GroupResponse::JoinGroup(expected.clone())));
    // Null from version 7 on, empty before.
    for (version, name) in [(6, Some(String::new())), (7, None)] {
        let response = GroupResponse::JoinGroup(expected.clone()).for_version(version);
        let GroupResponse::JoinGroup(response) = response else { panic!("it is still a join") };
        assert_eq!(response.protocol_name, name);
    }
}
