//! What classic requests to a group that the coordinator assigns look at: what Kafka's classic groups look at.

use std::sync::Arc;

use thalweg_groups::{
    ClassicRebalanceMode, ConsumerMigrationPolicy, GroupConfig, GroupEvent, GroupRequest,
    GroupResponse, RequestContext, Submission,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::{OffsetDeleteRequest, SyncGroupRequest};

use super::client::{Client, GROUP, SESSION_MS};
use super::{ask, consumer, mode, settle, settled, topic, world};
use crate::script::World;

fn fetch(
    world: &mut World,
    member: Option<&str>,
    member_epoch: i32,
    require_stable: bool,
) -> (ErrorCode, i64) {
    let group = OffsetFetchRequestGroup {
        group_id: GROUP.to_owned(),
        member_id: member.map(str::to_owned),
        member_epoch,
        topics: Some(vec![OffsetFetchRequestTopics {
            name: "t1".to_owned(),
            partition_indexes: vec![0],
            ..Default::default()
        }]),
        ..Default::default()
    };
    match ask(world, 9, GroupRequest::OffsetFetch { group, require_stable }) {
        GroupResponse::OffsetFetch(fetched) => {
            let offset = fetched.topics.first().map_or(-1, |t| t.partitions[0].committed_offset);
            (fetched.error_code, offset)
        }
        other => panic!("{other:?}"),
    }
}

/// @platformatic/kafka sends the id of its member with the epoch -1, and franz-go neither.
#[test]
fn offset_fetch_looks_at_neither_member_nor_epoch() {
    let mut world = world(2);
    let clients = settled(&mut world, 2, "range");
    let first = ("t1".to_owned(), 0);
    let owner = clients.iter().find(|client| client.owned.contains(&first)).expect("an owner");
    assert_eq!(owner.commit(&mut world, owner.generation, &first), ErrorCode::NONE);
    for require_stable in [false, true] {
        for (member, epoch) in [
            (None, -1),
            (Some(owner.member_id.as_str()), -1),
            (Some(owner.member_id.as_str()), owner.generation + 7),
            (Some("nobody"), 3),
            (None, 3),
        ] {
            let fetched = fetch(&mut world, member, epoch, require_stable);
            assert_eq!(fetched, (ErrorCode::NONE, 1), "{member:?} {epoch} {require_stable}");
        }
    }
}

#[test]
fn commit_names_a_member_of_its_instance() {
    let mut world = world(2);
    let mut clients: Vec<Client> = (0..2).map(|i| consumer(&format!("c{i}"), "range")).collect();
    clients[0].instance_id = Some("ia".to_owned());
    settle(&mut world, &mut clients);
    let first = clients[0].owned.first().cloned().expect("a partition");
    let commit = |world: &mut World, member: &str, generation, instance: Option<&str>| {
        let client = Client {
            member_id: member.to_owned(),
            instance_id: instance.map(str::to_owned),
            ..clients[0].clone()
        };
        let told = client.commit(world, generation, &first);
        assert_eq!(told, client.commit_in_transaction(world, generation, &first), "{member}");
        told
    };
    let (id, other) = (clients[0].member_id.clone(), clients[1].member_id.clone());
    let now = clients[0].generation;
    assert_eq!(commit(&mut world, &id, now, Some("ia")), ErrorCode::NONE);
    assert_eq!(commit(&mut world, &id, now, Some("ib")), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(commit(&mut world, &other, now, Some("ia")), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(commit(&mut world, "", now, None), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(commit(&mut world, &id, -1, None), ErrorCode::ILLEGAL_GENERATION);
    // Without a member at all only a producer commits: before KIP-447 it could name none.
    let none = Client { member_id: String::new(), instance_id: None, ..clients[0].clone() };
    assert_eq!(none.commit(&mut world, -1, &first), ErrorCode::UNKNOWN_MEMBER_ID);
    for generation in [-1, -2, i32::MIN] {
        assert_eq!(none.commit_in_transaction(&mut world, generation, &first), ErrorCode::NONE);
    }
}

#[test]
fn commit_extends_the_session_of_its_member() {
    let mut world = world(2);
    let mut clients = settled(&mut world, 2, "range");
    let first = clients[0].owned.first().cloned().expect("a partition");
    for _ in 0..6 {
        world.memory.advance(SESSION_MS as u64 / 2);
        clients[1].beat(&mut world);
        assert_eq!(clients[0].commit(&mut world, clients[0].generation, &first), ErrorCode::NONE);
    }
}

#[test]
fn offset_delete_is_refused_for_subscribed_topics() {
    let mut world = world(2);
    settled(&mut world, 2, "range");
    topic(&mut world, "u1", 1);
    let topics = ["t1", "u1"].map(|name| OffsetDeleteRequestTopic {
        name: name.to_owned(),
        partitions: vec![OffsetDeleteRequestPartition { partition_index: 0 }],
    });
    let request = OffsetDeleteRequest { group_id: GROUP.to_owned(), topics: topics.into() };
    match ask(&mut world, 0, GroupRequest::OffsetDelete(request)) {
        GroupResponse::OffsetDelete(deleted) => {
            let codes: Vec<ErrorCode> =
                deleted.topics.iter().map(|topic| topic.partitions[0].error_code).collect();
            assert_eq!(deleted.error_code, ErrorCode::NONE);
            assert_eq!(codes, [ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode::NONE]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn sync_names_the_protocol_that_the_group_voted_for() {
    let mut world = world(2);
    let mut clients: Vec<Client> =
        (0..2).map(|at| Client::new(format!("c{at}"), &["range", "roundrobin"], &["t1"])).collect();
    settle(&mut world, &mut clients);
    for (api_version, protocol, expected) in [
        (5, Some("range"), ErrorCode::NONE),
        (4, None, ErrorCode::NONE),
        (5, Some("roundrobin"), ErrorCode::INCONSISTENT_GROUP_PROTOCOL),
        (5, Some("sticky"), ErrorCode::INCONSISTENT_GROUP_PROTOCOL),
    ] {
        let request = SyncGroupRequest {
            group_id: GROUP.to_owned(),
            member_id: clients[0].member_id.clone(),
            generation_id: clients[0].generation,
            protocol_type: Some("consumer".to_owned()),
            protocol_name: protocol.map(str::to_owned),
            ..Default::default()
        };
        let context = RequestContext { api_version, ..Default::default() };
        let request = GroupRequest::SyncGroup(request);
        let token = world.memory.submit(Submission { context, request });
        let Some(GroupResponse::SyncGroup(synced)) = world.memory.take_answer(token) else {
            panic!("no answer")
        };
        assert_eq!(synced.error_code, expected, "{protocol:?}");
    }
}

/// With migration disabled the group may not become a classic one when the setting says `barrier`. Kafka refuses
/// classic members there, but this group was never anything else to them.
#[test]
fn hosted_group_takes_members_with_migration_disabled() {
    let mut world = world(4);
    let disabled = GroupConfig {
        consumer_migration_policy: ConsumerMigrationPolicy::Disabled,
        ..(*world.config).clone()
    };
    world.config = Arc::new(disabled);
    world.memory.event(GroupEvent::Config(world.config.clone()));
    let mut clients = settled(&mut world, 2, "range");
    clients.push(consumer("c", "range"));
    settle(&mut world, &mut clients);
    mode(&mut world, ClassicRebalanceMode::Barrier);
    clients.push(consumer("late", "range"));
    settle(&mut world, &mut clients);
    assert!(world.shard().logged().consumer_group(GROUP).is_some());
    assert!(clients.iter().all(|client| client.owned.len() == 1), "{clients:?}");
}
