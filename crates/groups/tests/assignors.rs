//! The server-side assignors on random groups: what must hold of every assignment, and for small
//! groups the fewest moves that there are.

pub mod groups;
mod racks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use groups::{Group, Member};
use thalweg_groups::assignor::{
    ASSIGNORS, Assignor, MemberAssignment, StickyRangeAssignor, assignor,
};
use thalweg_random::{Random, seeds};
use thalweg_wire::Uuid;

/// Runs `check` on groups made by `make` from so many seeds.
fn each(cases: u64, make: impl Fn(&mut Random) -> Group, check: impl Fn(&mut Group, &mut Random)) {
    seeds::each(cases, |seed, history| {
        let mut random = Random::new(seed);
        let mut group = make(&mut random);
        history.push(format!("{group:#?}"));
        check(&mut group, &mut random);
    });
}

/// What must hold of every assignor's every answer. Returns it.
fn checked(assignor: &dyn Assignor, group: &Group) -> Vec<Arc<MemberAssignment>> {
    let assignments = group.assign(assignor);
    assert_eq!(assignments.len(), group.members.len());
    let owners = group.owners(&assignments);
    let mut expected = 0;
    for topic in group.members.iter().flat_map(|member| &member.topics).collect::<BTreeSet<_>>() {
        for partition in 0..group.topics.get(topic).copied().unwrap_or(0).max(0) {
            assert!(owners.contains_key(&(*topic, partition)), "{topic}-{partition} is nobody's");
            expected += 1;
        }
    }
    // `owners` refuses what two members have; so there is nothing else.
    assert_eq!(owners.len(), expected, "partitions that are not there");
    for (&(topic, partition), &owner) in &owners {
        let subscribed = group.members[owner].topics.contains(&topic);
        assert!(subscribed, "{topic}-{partition} went to who does not subscribe to it");
    }
    for (member, assignment) in group.members.iter().zip(&assignments) {
        if member.assignment == *assignment {
            assert!(Arc::ptr_eq(&member.assignment, assignment), "unchanged, but copied");
        }
    }
    assignments
}

fn loads(assignments: &[Arc<MemberAssignment>]) -> Vec<usize> {
    assignments.iter().map(|assignment| assignment.len()).collect()
}

fn descending(mut loads: Vec<usize>) -> Vec<usize> {
    loads.sort_unstable_by(|a, b| b.cmp(a));
    loads
}

/// Whether a partition, or a chain of them, could go from a member to one with two fewer.
fn improvable(group: &Group, assignments: &[Arc<MemberAssignment>]) -> bool {
    let loads = loads(assignments);
    (0..loads.len()).any(|from| {
        // Members that can get one more if `from` has one less.
        let mut reached = vec![false; loads.len()];
        reached[from] = true;
        let mut stack = vec![from];
        while let Some(member) = stack.pop() {
            for (topic, _) in assignments[member].iter() {
                for (other, spec) in group.members.iter().enumerate() {
                    if !reached[other] && spec.topics.contains(&topic) {
                        reached[other] = true;
                        stack.push(other);
                    }
                }
            }
        }
        (0..loads.len()).any(|to| reached[to] && loads[to] + 2 <= loads[from])
    })
}

/// Who can have a partition, and whether it is far from them; and who has it.
type Choice = (Vec<(usize, usize)>, Option<usize>);

/// The most balanced loads, in descending order, the fewest moves to them, and with so many how few
/// partitions are not near who gets them.
fn best(group: &Group) -> (Vec<usize>, usize, usize) {
    let owners = group.believed();
    let mut partitions: Vec<Choice> = Vec::new();
    for (&topic, &count) in &group.topics {
        let subscribers: Vec<usize> = (0..group.members.len())
            .filter(|&member| group.members[member].topics.contains(&topic))
            .collect();
        if !subscribers.is_empty() {
            for partition in 0..count {
                let owner = owners.get(&(topic, partition)).copied();
                let far = |member| usize::from(!group.is_near(member, topic, partition));
                let subscribers = subscribers.iter().map(|&member| (member, far(member)));
                partitions.push((subscribers.collect(), owner));
            }
        }
    }
    fn search(
        rest: &[Choice],
        loads: &mut Vec<usize>,
        (moves, all_far): (usize, usize),
        best: &mut Option<(Vec<usize>, usize, usize)>,
    ) {
        let Some(((subscribers, owner), rest)) = rest.split_first() else {
            let found = (descending(loads.clone()), moves, all_far);
            if best.as_ref().is_none_or(|best| found < *best) {
                *best = Some(found);
            }
            return;
        };
        for &(member, far) in subscribers {
            loads[member] += 1;
            let moved = usize::from(owner.is_some_and(|owner| owner != member));
            search(rest, loads, (moves + moved, all_far + far), best);
            loads[member] -= 1;
        }
    }
    let mut found = None;
    search(&partitions, &mut vec![0; group.members.len()], (0, 0), &mut found);
    found.expect("an assignment")
}

#[test]
fn they_have_kafkas_names() {
    assert_eq!(ASSIGNORS.map(|assignor| assignor.name()), ["uniform", "range"]);
    assert_eq!(assignor("range").map(|assignor| assignor.name()), Some("range"));
    assert!(assignor("sticky").is_none());
}

/// Nothing moves while nothing changes, also after changes.
fn check_nothing_moves(assignor: &dyn Assignor, mut group: Group, random: &mut Random) {
    for _ in 0..3 {
        let assignments = checked(assignor, &group);
        group.take(assignments);
        let again = checked(assignor, &group);
        for (member, again) in group.members.iter().zip(&again) {
            assert!(Arc::ptr_eq(&member.assignment, again), "it moves without a reason");
        }
        group.change(random);
    }
}

#[test]
fn every_partition_goes_to_one_subscriber() {
    each(2_000, Group::random, |group, random| {
        for assignor in ASSIGNORS {
            check_nothing_moves(assignor, group.clone(), random);
        }
    });
}

#[test]
fn the_order_of_the_input_does_not_matter() {
    each(1_000, Group::random, |group, random| {
        for assignor in ASSIGNORS {
            let by_id = |group: &Group| -> BTreeMap<String, Arc<MemberAssignment>> {
                let ids = group.members.iter().map(|member| member.id.clone());
                ids.zip(group.assign(assignor)).collect()
            };
            let expected = by_id(group);
            let mut shuffled = group.clone();
            for last in (1..shuffled.members.len()).rev() {
                shuffled.members.swap(last, random.below(last + 1));
            }
            for member in &mut shuffled.members {
                member.topics.reverse();
                member.topics.extend(member.topics.first().copied());
            }
            assert_eq!(expected, by_id(&shuffled), "{}", assignor.name());
        }
    });
}

#[test]
fn uniform_has_the_best_balance_and_the_fewest_moves_to_it() {
    let uniform = assignor("uniform").expect("uniform");
    each(3_000, Group::small, |group, random| {
        for _ in 0..3 {
            let assignments = checked(uniform, group);
            let found = (descending(loads(&assignments)), group.moves(&assignments));
            let (loads, moves, _) = best(group);
            assert_eq!(found, (loads, moves), "{assignments:?}");
            group.take(assignments);
            group.change_within(random, 8);
        }
    });
}

#[test]
fn uniform_balances_large_groups() {
    let uniform = assignor("uniform").expect("uniform");
    each(60, Group::large, |group, random| {
        for _ in 0..3 {
            let assignments = checked(uniform, group);
            assert!(!improvable(group, &assignments), "{:?}", loads(&assignments));
            if group.same_topics() {
                let loads = loads(&assignments);
                let (least, most) = (loads.iter().min(), loads.iter().max());
                assert!(most.zip(least).is_none_or(|(most, least)| most - least <= 1), "{loads:?}");
            }
            group.take(assignments);
            group.change(random);
        }
    });
}

/// Of a group whose members all subscribe to the same topics nothing moves but what a member had
/// that left, or what a member gets that came.
#[test]
fn uniform_moves_to_who_joins_and_from_who_left() {
    let uniform = assignor("uniform").expect("uniform");
    each(200, Group::large, |group, _| {
        let topics = group.members[0].topics.clone();
        group.members.iter_mut().for_each(|member| member.topics = topics.clone());
        group.take(group.assign(uniform));
        let mut joined = group.clone();
        joined.members.push(Member::new("~joins", topics));
        let assignments = checked(uniform, &joined);
        let last = assignments.last().expect("the new member");
        assert_eq!(joined.moves(&assignments), last.len(), "moves that are not to who joined");
        let gone = group.members.swap_remove(group.members.len() / 2);
        if !group.members.is_empty() {
            let assignments = checked(uniform, group);
            assert_eq!(group.moves(&assignments), 0, "moves beyond those of {gone:?}");
        }
    });
}

/// What is handed out from nothing is taken from all topics alike.
#[test]
fn uniform_spreads_topics() {
    let topics: Vec<Uuid> = (1..=4).map(Uuid::from_u128).collect();
    let mut group = Group::default();
    group.topics = topics.iter().map(|&topic| (topic, 6)).collect();
    group.members = (0..6).map(|n| Member::new(&format!("m{n}"), topics.clone())).collect();
    for assignment in checked(assignor("uniform").expect("uniform"), &group) {
        assert_eq!(assignment.iter().map(|(_, p)| p.len()).collect::<Vec<_>>(), [1; 4]);
    }
}

/// What members give up is not all of one topic, although each gives up one partition.
#[test]
fn uniform_takes_from_all_topics() {
    let uniform = assignor("uniform").expect("uniform");
    let topics: Vec<Uuid> = (1..=2).map(Uuid::from_u128).collect();
    let mut group = Group::default();
    group.topics = topics.iter().map(|&topic| (topic, 8)).collect();
    group.members = (0..4).map(|n| Member::new(&format!("m{n}"), topics.clone())).collect();
    group.take(checked(uniform, &group));
    group.members.push(Member::new("joins", topics));
    let assignments = checked(uniform, &group);
    let joined = assignments.last().expect("the new member");
    assert_eq!((joined.len(), joined.iter().count()), (3, 2), "{joined:?}");
}

#[test]
fn range_gives_ranges_in_the_order_of_the_members() {
    let range = assignor("range").expect("range");
    each(1_000, Group::random, |group, _| {
        let assignments = checked(range, group);
        let mut order: Vec<usize> = (0..group.members.len()).collect();
        let key = |member: &Member| -> (bool, Vec<u16>) {
            let name = member.instance_id.as_ref().unwrap_or(&member.id);
            (member.instance_id.is_none(), name.encode_utf16().collect())
        };
        order.sort_by_key(|&member| key(&group.members[member]));
        // Topics with the same subscribers and as many partitions are given out alike.
        let mut shapes: BTreeMap<(i32, Vec<usize>), Vec<Vec<i32>>> = BTreeMap::new();
        for (&topic, &count) in &group.topics {
            let subscribers: Vec<usize> = (order.iter().copied())
                .filter(|&member| group.members[member].topics.contains(&topic))
                .collect();
            let of = |member: usize| -> Vec<i32> {
                let found = assignments[member].iter().find(|(id, _)| *id == topic);
                found.map_or(Vec::new(), |(_, partitions)| partitions.to_vec())
            };
            let shares: Vec<Vec<i32>> = subscribers.iter().map(|&member| of(member)).collect();
            if !shares.is_empty() {
                assert_eq!(shares.concat(), (0..count.max(0)).collect::<Vec<i32>>());
                assert!(shares.is_sorted_by_key(|share| std::cmp::Reverse(share.len())));
                assert!(shares[0].len() - shares[shares.len() - 1].len() <= 1);
            }
            let first = shapes.entry((count, subscribers)).or_insert_with(|| shares.clone());
            assert_eq!(*first, shares, "not co-partitioned");
        }
    });
}

/// A static member comes back under another member id and gets what it had.
#[test]
fn range_knows_static_members_by_their_instance_ids() {
    let topics = vec![Uuid::from_u128(1)];
    let mut group = Group::default();
    group.topics = [(topics[0], 7)].into();
    group.members = ["a", "b", "c"].map(|id| Member::new(id, topics.clone())).into();
    group.members[1].instance_id = Some("i2".into());
    group.members[2].instance_id = Some("i1".into());
    let range = assignor("range").expect("range");
    let before = checked(range, &group);
    group.members[2].id = "zz".into();
    group.members[1].id = "0".into();
    assert_eq!(checked(range, &group), before);
    assert_eq!(loads(&before), [2, 2, 3], "static members come first, by their instance ids");
}

/// An assignment that was read from somewhere, with all that can be wrong.
#[test]
fn nothing_that_a_member_claims_is_believed() {
    let topics: Vec<Uuid> = (1..=2).map(Uuid::from_u128).collect();
    let mut group = Group::default();
    group.topics = [(topics[0], 3), (topics[1], 0)].into();
    group.members = ["a", "b"].map(|id| Member::new(id, topics.clone())).into();
    let claims = vec![-1, 0, 1, 2, 3, i32::MAX, i32::MIN];
    for member in &mut group.members {
        let all = [(topics[0], claims.clone()), (topics[1], vec![0]), (Uuid::ONE, vec![5])];
        member.assignment = Arc::new(MemberAssignment::new(all));
    }
    for assignor in ASSIGNORS {
        let assignments = checked(assignor, &group);
        assert_eq!(descending(loads(&assignments)), [2, 1], "{}", assignor.name());
    }
}

/// Subscribers of each topic that exists, as sorted indices of members.
fn subscribers(group: &Group) -> BTreeMap<Uuid, Vec<usize>> {
    let of = |topic: &Uuid| {
        let members = group.members.iter().enumerate();
        members.filter(|(_, member)| member.topics.contains(topic)).map(|(at, _)| at).collect()
    };
    group.topics.keys().map(|topic| (*topic, of(topic))).collect()
}

/// Partitions that are with somebody else than the one who had them, of those that anybody had.
fn moves(before: &BTreeMap<(Uuid, i32), usize>, after: &BTreeMap<(Uuid, i32), usize>) -> usize {
    let moved = |(partition, owner): &(&(Uuid, i32), &usize)| {
        after.get(*partition).is_some_and(|now| now != *owner)
    };
    before.iter().filter(moved).count()
}

/// Topics with the same subscribers and as many partitions are given out alike, each evenly, and nobody
/// has more than somebody has from Kafka's.
fn check_range(group: &Group, assignments: &[Arc<MemberAssignment>]) {
    let owners = group.owners(assignments);
    let subscribers = subscribers(group);
    let mut first_of_class: BTreeMap<(i32, &[usize]), Uuid> = BTreeMap::new();
    for (topic, subscribers) in &subscribers {
        let partitions = group.topics[topic];
        let count =
            |at: &usize| (0..partitions).filter(|p| owners.get(&(*topic, *p)) == Some(at)).count();
        let counts: Vec<usize> = subscribers.iter().map(count).collect();
        let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) else {
            continue;
        };
        assert!(most - least <= 1, "{topic}: {counts:?}");
        let first = *first_of_class.entry((partitions, subscribers)).or_insert(*topic);
        for partition in 0..partitions {
            assert_eq!(owners[&(*topic, partition)], owners[&(first, partition)]);
        }
    }
    let most = |of: Vec<usize>| of.into_iter().max().unwrap_or(0);
    let range = assignor("range").expect("range");
    assert!(most(loads(assignments)) <= most(loads(&group.assign(range))));
}

#[test]
fn hosted_range_keeps_what_range_promises_and_moves_little() {
    each(2_000, Group::random, |group, random| {
        for _ in 0..3 {
            let assignments = checked(&StickyRangeAssignor, group);
            check_range(group, &assignments);
            group.take(assignments);
            let again = checked(&StickyRangeAssignor, group);
            let kept = group
                .members
                .iter()
                .zip(&again)
                .all(|(member, now)| Arc::ptr_eq(&member.assignment, now));
            assert!(kept, "an assignment that is as it should be is changed");
            group.change(random);
        }
    });
}

#[test]
fn hosted_range_moves_no_more_than_a_join_or_a_leave_needs() {
    each(300, Group::large, |group, random| {
        // Everybody subscribes to the same: then the fewest moves can be counted.
        let topics: Vec<Uuid> = group.topics.keys().copied().collect();
        for member in &mut group.members {
            member.topics = topics.clone();
            member.assignment = Arc::default();
        }
        let assignments = checked(&StickyRangeAssignor, group);
        group.take(assignments);
        let before = group.believed();
        let joins = random.chance(50) || group.members.len() == 1;
        if joins {
            group.members.push(Member::new("joins", topics));
            let after = group.owners(&checked(&StickyRangeAssignor, group));
            let members = group.members.len() as i32;
            let least: i32 = group.topics.values().map(|partitions| partitions / members).sum();
            assert!(moves(&before, &after) as i32 <= least + group.topics.len() as i32);
            // Nothing goes to who was there before.
            let taken = after.iter().filter(|(p, now)| before.get(*p) != Some(*now));
            assert!(taken.into_iter().all(|(_, now)| *now + 1 == group.members.len()));
        } else {
            let at = random.below(group.members.len());
            group.members.remove(at);
            let after = group.owners(&checked(&StickyRangeAssignor, group));
            for (partition, owner) in &before {
                let stays = (*owner != at).then(|| owner - usize::from(*owner > at));
                assert!(stays.is_none_or(|stays| after[partition] == stays), "{partition:?} moved");
            }
        }
    });
}
