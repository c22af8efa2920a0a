//! What every assignor has to keep, on examples and on random groups.

use std::collections::BTreeSet;

use thalweg_random::Random;

use super::*;

const ASSIGNOR_SEEDS: u64 = 120;

const ALL: [Assignor; 4] =
    [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky, Assignor::CooperativeSticky];

fn spec(partitions: &[(&str, i32)], members: &[(&str, &[&str])]) -> AssignorSpec {
    AssignorSpec {
        partitions: partitions.iter().map(|&(topic, count)| (topic.into(), count)).collect(),
        members: members
            .iter()
            .map(|&(id, topics)| {
                let topics = topics.iter().map(|&topic| topic.into()).collect();
                (id.into(), MemberSpec { topics, generation: -1, ..Default::default() })
            })
            .collect(),
    }
}

fn show(assignment: &Assignment) -> String {
    let show_one = |(id, partitions): (&Arc<str>, &Vec<TopicPartition>)| {
        let names: Vec<String> = partitions.iter().map(ToString::to_string).collect();
        format!("{id}: {}", names.join(" "))
    };
    assignment.iter().map(show_one).collect::<Vec<_>>().join(" | ")
}

fn own(spec: &mut AssignorSpec, assignment: &Assignment, generation: i32) {
    for (id, member) in &mut spec.members {
        if let Some(partitions) = assignment.get(id) {
            member.owned = partitions.clone();
            member.generation = generation;
        }
    }
}

fn total(assignment: &Assignment) -> usize {
    assignment.values().map(Vec::len).sum()
}

/// Each partition of a subscribed topic once, with a subscriber.
fn check_complete(spec: &AssignorSpec, assignment: &Assignment) {
    let mut seen = BTreeSet::new();
    for (id, partitions) in assignment {
        for partition in partitions {
            assert!(spec.members[id].topics.contains(&partition.topic), "{id} has {partition}");
            assert!(partition.partition < spec.partitions[&partition.topic]);
            assert!(seen.insert(partition), "{partition} twice");
        }
    }
    let subscribed = |topic: &Arc<str>| spec.members.values().any(|m| m.topics.contains(topic));
    let expected: i32 = spec.partitions.iter().filter(|(t, _)| subscribed(t)).map(|(_, n)| n).sum();
    assert_eq!(seen.len(), expected as usize);
}

/// No partition could go to a subscriber with two fewer.
fn check_balanced(spec: &AssignorSpec, assignment: &Assignment) {
    for partitions in assignment.values() {
        let topics: BTreeSet<_> = partitions.iter().map(|p| &p.topic).collect();
        for (other, theirs) in assignment {
            let can_take = topics.iter().any(|&t| spec.members[other].topics.contains(t));
            assert!(
                !can_take || theirs.len() + 1 >= partitions.len(),
                "{other} could have more: {}",
                show(assignment)
            );
        }
    }
}

#[test]
fn range_gives_the_first_members_more_and_co_partitions() {
    let spec = spec(
        &[("a", 3), ("b", 3), ("c", 5)],
        &[("m1", &["a", "b", "c"]), ("m2", &["a", "b"]), ("m3", &["c", "gone"])],
    );
    assert_eq!(
        show(&Assignor::Range.assign(&spec)),
        "m1: a-0 a-1 b-0 b-1 c-0 c-1 c-2 | m2: a-2 b-2 | m3: c-3 c-4"
    );
}

#[test]
fn static_members_come_first_in_the_order_of_their_instance_ids() {
    let mut spec = spec(&[("a", 3)], &[("m1", &["a"]), ("m2", &["a"]), ("m3", &["a"])]);
    for (id, instance) in [("m2", "z"), ("m3", "y")] {
        spec.members.get_mut(id).unwrap().instance_id = Some(instance.into());
    }
    for assignor in [Assignor::Range, Assignor::RoundRobin] {
        assert_eq!(show(&assignor.assign(&spec)), "m1: a-2 | m2: a-1 | m3: a-0");
    }
}

#[test]
fn round_robin_goes_on_over_topics_and_skips_those_who_did_not_subscribe() {
    let spec = spec(
        &[("t0", 1), ("t1", 2), ("t2", 3)],
        &[("c0", &["t0"]), ("c1", &["t0", "t1"]), ("c2", &["t0", "t1", "t2"])],
    );
    assert_eq!(
        show(&Assignor::RoundRobin.assign(&spec)),
        "c0: t0-0 | c1: t1-0 | c2: t1-1 t2-0 t2-1 t2-2"
    );
}

#[test]
fn sticky_starts_like_round_robin_and_moves_only_what_it_must() {
    let members: &[(&str, &[&str])] = &[("c1", &["a"]), ("c2", &["a"]), ("c3", &["a"])];
    let mut first = spec(&[("a", 6)], &members[..2]);
    let assignment = Assignor::Sticky.assign(&first);
    assert_eq!(show(&assignment), "c1: a-0 a-2 a-4 | c2: a-1 a-3 a-5");
    own(&mut first, &assignment, 1);
    let mut second = spec(&[("a", 6)], members);
    own(&mut second, &assignment, 1);
    assert_eq!(show(&Assignor::Sticky.assign(&second)), "c1: a-0 a-2 | c2: a-1 a-3 | c3: a-4 a-5");
    // Cooperative: what moves goes to nobody yet.
    assert_eq!(
        show(&Assignor::CooperativeSticky.assign(&second)),
        "c1: a-0 a-2 | c2: a-1 a-3 | c3: "
    );
}

#[test]
fn an_uneven_group_moves_no_more_than_its_excess() {
    let members: &[(&str, &[&str])] =
        &[("c1", &["a"]), ("c2", &["a"]), ("c3", &["a"]), ("c4", &["a"])];
    let mut spec = spec(&[("a", 20)], members);
    let owned = |range: std::ops::Range<i32>| range.map(|p| TopicPartition::new("a", p)).collect();
    let before: Assignment =
        [("c1".into(), owned(0..10)), ("c2".into(), owned(10..20))].into_iter().collect();
    own(&mut spec, &before, 1);
    let after = Assignor::Sticky.assign(&spec);
    let kept = after["c1"].iter().filter(|p| before["c1"].contains(p)).count()
        + after["c2"].iter().filter(|p| before["c2"].contains(p)).count();
    assert_eq!(kept, 10);
    check_balanced(&spec, &after);
}

#[test]
fn the_newest_generation_is_believed_and_contradictions_are_not() {
    let mut spec = spec(&[("a", 2)], &[("c1", &["a"]), ("c2", &["a"])]);
    let claim = |spec: &mut AssignorSpec, id: &str, partitions: &[i32], generation| {
        let member = spec.members.get_mut(id).unwrap();
        member.owned = partitions.iter().map(|&p| TopicPartition::new("a", p)).collect();
        member.generation = generation;
    };
    claim(&mut spec, "c1", &[0, 1], 4);
    claim(&mut spec, "c2", &[1], 5);
    assert_eq!(show(&Assignor::Sticky.assign(&spec)), "c1: a-0 | c2: a-1");
    assert_eq!(show(&Assignor::CooperativeSticky.assign(&spec)), "c1: a-0 | c2: a-1");
    // In the same generation neither keeps it, and cooperatively nobody gets it before both let go.
    claim(&mut spec, "c2", &[1], 4);
    assert_eq!(show(&Assignor::CooperativeSticky.assign(&spec)), "c1: a-0 | c2: ");
    // One that lags behind gets back what it still has only when the other let go.
    claim(&mut spec, "c1", &[0], 4);
    claim(&mut spec, "c2", &[0, 1], 5);
    let assignment = Assignor::CooperativeSticky.assign(&spec);
    assert!(!assignment["c1"].iter().any(|p| p.partition == 0), "{}", show(&assignment));
}

#[test]
fn random_groups_are_complete_balanced_and_move_only_what_changes() {
    for seed in 0..ASSIGNOR_SEEDS {
        let random = &mut Random::new(seed);
        let mut spec = AssignorSpec::default();
        for topic in 0..1 + random.below(5) {
            spec.partitions.insert(format!("t{topic}").into(), random.below(9));
        }
        let topics: Vec<Arc<str>> = spec.partitions.keys().cloned().collect();
        let alike = random.one_in(2);
        let mut assignment = Assignment::new();
        for generation in 0..6 {
            for _ in 0..random.below(3) {
                let id: Arc<str> = format!("m{}", random.below(8)).into();
                if spec.members.remove(&id).is_none() {
                    let mut member = MemberSpec { generation: -1, ..Default::default() };
                    let subscribed = topics.iter().filter(|_| alike || random.one_in(2));
                    member.topics = subscribed.cloned().collect();
                    spec.members.insert(id, member);
                }
            }
            own(&mut spec, &assignment, generation);
            for assignor in ALL {
                let result = assignor.assign(&spec);
                assert_eq!(result, assignor.assign(&spec), "seed {seed}");
                if assignor != Assignor::CooperativeSticky {
                    check_complete(&spec, &result);
                }
                if assignor == Assignor::Sticky {
                    check_balanced(&spec, &result);
                }
            }
            let before = assignment;
            assignment = Assignor::CooperativeSticky.assign(&spec);
            // Nobody gets what another member of the group had.
            for (id, partitions) in &assignment {
                for partition in partitions {
                    let had = |(other, theirs): (&Arc<str>, &Vec<TopicPartition>)| {
                        other != id
                            && spec.members.contains_key(other)
                            && theirs.contains(partition)
                    };
                    assert!(!before.iter().any(had), "seed {seed}: {partition}");
                }
            }
            // When members subscribe alike the second round completes it. Else what is free again
            // can fall into another place than the first round meant, and it may take one more.
            let rounds = if alike { 1 } else { 3 };
            for _ in 0..rounds {
                own(&mut spec, &assignment, generation + 1);
                assignment = Assignor::CooperativeSticky.assign(&spec);
            }
            check_complete(&spec, &assignment);
            check_balanced(&spec, &assignment);
            own(&mut spec, &assignment, generation + 1);
            assert_eq!(Assignor::CooperativeSticky.assign(&spec), assignment, "seed {seed}");
        }
    }
}

#[test]
fn three_thousand_members_and_partitions_are_assigned_without_moves() {
    let mut spec = AssignorSpec::default();
    for topic in 0..30 {
        spec.partitions.insert(format!("t{topic:02}").into(), 100);
    }
    for member in 0..3000 {
        let topics = spec.partitions.keys().cloned().collect();
        let id = format!("m{member:04}").into();
        spec.members.insert(id, MemberSpec { topics, generation: -1, ..Default::default() });
    }
    let first = Assignor::Sticky.assign(&spec);
    check_complete(&spec, &first);
    own(&mut spec, &first, 1);
    assert_eq!(Assignor::Sticky.assign(&spec), first);
    // One in ten goes: what they had is all that moves.
    spec.members.retain(|id, _| !id.ends_with('3'));
    let second = Assignor::Sticky.assign(&spec);
    let kept = second.iter().map(|(id, p)| p.iter().filter(|p| first[id].contains(p)).count());
    assert_eq!((kept.sum::<usize>(), total(&second)), (2700, 3000));
}

#[test]
fn eager_is_what_all_assignors_can_do() {
    use RebalanceProtocol::{Cooperative, Eager};
    assert_eq!(Assignor::common_protocol(&[Assignor::CooperativeSticky]), Cooperative);
    let kafkas_default = [Assignor::Range, Assignor::CooperativeSticky];
    assert_eq!(Assignor::common_protocol(&kafkas_default), Eager);
    assert_eq!(Assignor::common_protocol(&[]), Eager);
    for assignor in ALL {
        assert_eq!(Assignor::from_name(assignor.name()), Some(assignor));
    }
    assert_eq!(Assignor::from_name("uniform"), None);
}
