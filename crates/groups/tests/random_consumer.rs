//! Random events on consumer groups, with appends that wait, fail and are committed late and with
//! assignments that are computed late, against what must always hold.

use crate::script;

use script::random::{Operations, delay, delay_nothing, live};
use script::random_consumer::ConsumerGenerator;
use script::transactions::WithProducers;
use script::{Names, World, replay};
use thalweg_groups::consumer::{ConsumerGroupState, ConsumerMember};
use thalweg_groups::{GroupRequest, RequestContext, Submission};
use thalweg_random::seeds;
use thalweg_wire::messages::ConsumerGroupHeartbeatRequest;
use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;

#[test]
fn random_events_keep_the_invariants() {
    seeds::family("consumer", 150, 15, |seed, history| {
        // Every assignment and every expression is computed elsewhere.
        finish(&mut live(
            ConsumerGenerator::new(seed ^ 0x7777),
            history,
            World::compute_elsewhere,
            step,
        ));
    });
}

#[test]
fn random_events_with_transactions_keep_the_invariants() {
    seeds::family("consumer-transactions", 80, 5, |seed, history| {
        finish(&mut live(
            WithProducers::new(seed, ConsumerGenerator::new(seed ^ 0x7770)),
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
    let op = generator.next(world, names);
    history.push(op.clone());
    for line in world.run(&names.resolve(&op), None) {
        names.normalise(&line);
    }
    for line in world.state() {
        names.normalise(&line);
    }
    world.check();
}

/// Everything is written; and members that do what they are told come to their targets, each
/// partition with one of them.
fn finish(world: &mut World) {
    world.memory.failures.clear();
    delay_nothing(world);
    world.run("tick ms=0", None); // Collects what has been answered.
    world.check();
    assert_eq!(world.shard().logged(), replay(&world.memory.log).logged());
    // Members of the classic protocol and those that are away go: nobody speaks for them here.
    for _ in 0..3 {
        for member in members(world).iter().filter(|(_, m)| m.is_classic() || m.epoch < 0) {
            let instance = member.1.metadata.instance_id.as_deref().unwrap_or_default();
            world.run(&format!("leave g={} v=4 m={}/{instance}", member.0, member.1.id), None);
        }
    }
    let is_settled = |world: &World| {
        let groups = world.shard().logged().consumer_groups();
        groups.into_iter().all(|(_, group)| {
            matches!(group.state(), ConsumerGroupState::Empty | ConsumerGroupState::Stable)
        })
    };
    let mut rounds = 0;
    loop {
        for (group, member) in members(world) {
            heartbeat(world, &group, &member);
            world.check();
        }
        // Longer than the shortest time between two assignments, and than that between two looks at
        // regular expressions, in all.
        world.run("tick ms=1100", None);
        if rounds > 12 && is_settled(world) {
            break;
        }
        rounds += 1;
        assert!(rounds < 60, "groups do not settle: {:?}", world.state());
    }
    for (id, group) in world.shard().logged().consumer_groups() {
        if group.epochs().assignment_timestamp_ms == 0 {
            continue; // What the leader of a classic group made up is the target until something happens.
        }
        for (topic, subscribers) in group.topics() {
            let Some(known) = world.metadata.image.topics.by_name(topic) else { continue };
            if subscribers.by_name == 0 && subscribers.by_regex == 0 {
                continue;
            }
            for &partition in known.partitions.keys() {
                let owners = group.members().values();
                let owners =
                    owners.filter(|m| m.assigned.assignment_epoch(known.id, partition).is_some());
                let owners = owners.count();
                let is_wanted = group.members().values().any(|m| {
                    let by_regex = m.metadata.regex().and_then(|regex| group.regexes().get(regex));
                    m.metadata.topics.contains(topic)
                        || by_regex.is_some_and(|resolved| resolved.topics.contains(topic))
                });
                let state = || world.state().join("\n");
                assert_eq!(
                    owners,
                    usize::from(is_wanted),
                    "owners of {topic}-{partition} in {id}:\n{}",
                    state()
                );
            }
        }
    }
    world.run("reload", None); // Fails if a request is left.
    world.check();
}

fn members(world: &World) -> Vec<(String, ConsumerMember)> {
    let groups = world.shard().logged().consumer_groups();
    groups
        .flat_map(|(id, group)| {
            group.members().values().map(move |m| (id.to_string(), ConsumerMember::clone(m)))
        })
        .collect()
}

/// A heartbeat of a member that owns what it has been assigned, and has given up the rest.
fn heartbeat(world: &mut World, group: &str, member: &ConsumerMember) {
    let owned = member.assigned.by_topic().map(|(topic_id, owned)| TopicPartitions {
        topic_id,
        partitions: owned.iter().map(|owned| owned.partition).collect(),
        ..Default::default()
    });
    let request = ConsumerGroupHeartbeatRequest {
        group_id: group.to_owned(),
        member_id: member.id.to_string(),
        member_epoch: member.epoch,
        instance_id: member.metadata.instance_id.as_deref().map(str::to_owned),
        rebalance_timeout_ms: -1,
        topic_partitions: Some(owned.collect()),
        ..Default::default()
    };
    let context = RequestContext {
        api_version: 1,
        client_id: "c".into(),
        client_host: "/127.0.0.1".into(),
        random: 0,
        ..Default::default()
    };
    let request = GroupRequest::ConsumerGroupHeartbeat(request);
    world.memory.submit(Submission { context, request });
    world.memory.take_answers();
}
