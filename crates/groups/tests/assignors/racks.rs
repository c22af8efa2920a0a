//! Members and partitions in racks (KIP-881): a preference that costs neither balance nor moves.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_groups::assignor::{
    ASSIGNORS, Assignor, MemberAssignment, StickyAssignor, StickyRangeAssignor, UniformAssignor,
    assignor,
};
use thalweg_random::Random;
use thalweg_wire::Uuid;

use super::groups::{Group, Member};
use super::{
    best, check_nothing_moves, check_range, checked, descending, each, loads, subscribers,
};

const WITH_RACKS: [&dyn Assignor; 2] = [&StickyAssignor, &StickyRangeAssignor];

fn placed(make: impl Fn(&mut Random) -> Group) -> impl Fn(&mut Random) -> Group {
    move |random| {
        let mut group = make(random);
        group.place(random);
        group
    }
}

/// The same group, of whose racks nothing is known.
fn without_racks(group: &Group) -> Group {
    let mut group = group.clone();
    group.replicas = 0;
    group
}

#[test]
fn which_assignors_look_at_racks() {
    assert!(WITH_RACKS.iter().all(|assignor| assignor.looks_at_racks()));
    assert!(ASSIGNORS.iter().all(|assignor| !assignor.looks_at_racks()));
    each(300, placed(Group::random), |group, _| {
        for assignor in ASSIGNORS {
            assert_eq!(group.assign(assignor), without_racks(group).assign(assignor));
        }
    });
}

#[test]
fn sticky_has_the_best_balance_then_the_fewest_moves_then_the_most_near() {
    each(3_000, placed(Group::small), |group, random| {
        for _ in 0..3 {
            let assignments = checked(&StickyAssignor, group);
            let count: usize = loads(&assignments).iter().sum();
            let far = count - group.near(&assignments);
            let found = (descending(loads(&assignments)), group.moves(&assignments), far);
            let best = best(group);
            if group.racks_count() {
                assert_eq!(found, best, "{assignments:?}");
            } else {
                assert_eq!((found.0, found.1), (best.0, best.1), "{assignments:?}");
            }
            group.take(assignments);
            group.change_within(random, 8);
        }
    });
}

#[test]
fn sticky_gives_up_neither_balance_nor_moves_for_racks() {
    let check = |group: &mut Group, random: &mut Random| {
        for _ in 0..3 {
            let assignments = checked(&StickyAssignor, group);
            let bare = without_racks(group).assign(&StickyAssignor);
            assert_eq!(bare, group.assign(&UniformAssignor));
            assert_eq!(descending(loads(&assignments)), descending(loads(&bare)));
            assert_eq!(group.moves(&assignments), group.moves(&bare));
            if group.racks_count() {
                assert!(group.near(&assignments) >= group.near(&bare));
            } else {
                assert_eq!(assignments, bare, "racks do not count");
            }
            group.take(assignments);
            group.change(random);
        }
    };
    each(1_500, placed(Group::random), check);
    each(60, placed(Group::large), check);
}

/// Whether moves can be counted in numbers of co-partitioned topics: nobody claims what somebody else does,
/// and one member has a number in all topics.
fn go_together(group: &Group) -> bool {
    let mut claimed = BTreeSet::new();
    let members = group.members.iter();
    let mut claims = members.flat_map(|member| {
        member.assignment.iter().flat_map(|(topic, of)| of.iter().map(move |p| (topic, *p)))
    });
    if !claims.all(|claim| claimed.insert(claim)) {
        return false;
    }
    let owners = group.believed();
    let mut seen: BTreeMap<(i32, Vec<usize>, i32), Option<usize>> = BTreeMap::new();
    subscribers(group).into_iter().all(|(topic, subscribers)| {
        let count = group.topics[&topic];
        (0..count).all(|number| {
            let owner = owners.get(&(topic, number)).copied();
            let key = (count, subscribers.clone(), number);
            *seen.entry(key).or_insert(owner) == owner
        })
    })
}

#[test]
fn range_keeps_its_promises_and_moves_no_more_for_racks() {
    let (compared, moved, alike) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let check = |group: &mut Group, random: &mut Random| {
        for _ in 0..3 {
            let assignments = checked(&StickyRangeAssignor, group);
            check_range(group, &assignments);
            let bare = without_racks(group).assign(&StickyRangeAssignor);
            if go_together(group) {
                moved.set(moved.get() + group.moves(&bare));
                assert!(group.moves(&assignments) <= group.moves(&bare), "moves for racks");
                // The fewest moves may give somebody more than Kafka's `range` gives anybody; then more are
                // made. With racks another member may get one more, so that the fewest do fit. Where all have
                // the same topics they always do.
                if group.same_topics() {
                    assert_eq!(group.moves(&assignments), group.moves(&bare));
                    alike.set(alike.get() + 1);
                }
            }
            if !group.racks_count_in_a_topic() {
                assert_eq!(assignments, bare, "racks do not count");
            } else if group.same_topics() {
                assert!(group.near(&assignments) >= group.near(&bare));
                compared.set(compared.get() + 1);
            }
            group.take(assignments);
            group.change(random);
        }
    };
    each(1_500, placed(Group::random), check);
    each(60, placed(Group::large), check);
    assert!(compared.get() > 100 && moved.get() > 1_000, "{compared:?} {moved:?}");
    assert!(alike.get() > 100, "{alike:?}");
}

#[test]
fn what_was_assigned_stays() {
    each(1_000, placed(Group::random), |group, random| {
        for assignor in WITH_RACKS {
            check_nothing_moves(assignor, group.clone(), random);
        }
    });
}

/// Members that remember some of the partitions, each of which one member had; some members and partitions
/// are new, and some partitions are gone.
fn remember(group: &mut Group, random: &mut Random) {
    let mut had = vec![Vec::new(); group.members.len()];
    for (&topic, &count) in &group.topics {
        for partition in 0..count + 1 {
            if random.chance(60) {
                had[random.below(group.members.len())].push((topic, [partition]));
            }
        }
    }
    let forgets = |had| if random.chance(20) { Vec::new() } else { had };
    group.remembered = Some(had.into_iter().map(forgets).map(MemberAssignment::new).collect());
}

#[test]
fn what_members_remember_costs_neither_balance_nor_moves() {
    each(2_000, placed(Group::small), |group, random| {
        if !group.racks_count() {
            group.members.iter_mut().for_each(|member| member.rack = None);
        }
        remember(group, random);
        let assignments = checked(&StickyAssignor, group);
        let count: usize = loads(&assignments).iter().sum();
        let far = count - group.near(&assignments);
        let found = (descending(loads(&assignments)), group.moves(&assignments), far);
        assert_eq!(found, best(group), "{assignments:?}");
    });
    each(60, placed(Group::large), |group, random| {
        remember(group, random);
        let assignments = checked(&StickyAssignor, group);
        let bare = without_racks(group).assign(&UniformAssignor);
        assert_eq!(descending(loads(&assignments)), descending(loads(&bare)));
        assert_eq!(group.moves(&assignments), group.moves(&bare));
        // The assignors of KIP-848 and `range` do not ask.
        for assignor in [&UniformAssignor as &dyn Assignor, &StickyRangeAssignor] {
            let mut forgetful = group.clone();
            forgetful.remembered = None;
            assert_eq!(group.assign(assignor), forgetful.assign(assignor));
        }
    });
}

/// A balanced group whose members all come back, and remember: everybody gets what it had.
#[test]
fn everybody_gets_back_what_it_remembers() {
    each(300, Group::large, |group, _| {
        group.members.iter_mut().for_each(|member| member.assignment = Arc::default());
        let before = checked(&StickyAssignor, group);
        group.remembered = Some(before.iter().map(|had| MemberAssignment::clone(had)).collect());
        assert!(checked(&StickyAssignor, group) == before, "not what it was");
        // Whoever came first was given everything, and gives up what is not its own, as far as it is one of
        // those with most: it keeps as much as it may.
        let most = before.iter().map(|of| of.len()).max();
        if group.same_topics() && most == Some(before[0].len()) {
            let all = before.iter().flat_map(|of| of.iter().map(|(id, of)| (id, of.to_vec())));
            group.members[0].assignment = Arc::new(MemberAssignment::new(all));
            assert!(checked(&StickyAssignor, group) == before, "not what it was");
        }
    });
}

#[test]
fn the_order_of_the_input_does_not_matter() {
    each(500, placed(Group::random), |group, random| {
        for assignor in WITH_RACKS {
            let by_id = |group: &Group| -> BTreeMap<String, Arc<MemberAssignment>> {
                let ids = group.members.iter().map(|member| member.id.clone());
                ids.zip(group.assign(assignor)).collect()
            };
            let mut shuffled = group.clone();
            for last in (1..shuffled.members.len()).rev() {
                shuffled.members.swap(last, random.below(last + 1));
            }
            assert_eq!(by_id(group), by_id(&shuffled), "{}", assignor.name());
        }
    });
}

/// Numbers of co-partitioned topics, given out in all ways that are even.
fn most_near(group: &Group) -> usize {
    fn search(group: &Group, number: i32, counts: &mut [i32], near: usize, best: &mut usize) {
        let (&first, &partitions) = group.topics.first_key_value().expect("a topic");
        assert!(group.topics.values().all(|count| *count == partitions), "{first}");
        if number == partitions {
            let (least, most) = (counts.iter().min(), counts.iter().max());
            if most.zip(least).is_some_and(|(most, least)| most - least <= 1) {
                *best = near.max(*best);
            }
            return;
        }
        for member in 0..counts.len() {
            counts[member] += 1;
            let near_of = |topic: &&Uuid| group.is_near(member, **topic, number);
            let more = group.topics.keys().filter(near_of).count();
            search(group, number + 1, counts, near + more, best);
            counts[member] -= 1;
        }
    }
    let mut best = 0;
    search(group, 0, &mut vec![0; group.members.len()], 0, &mut best);
    best
}

#[test]
fn range_from_nothing_has_the_most_near_that_go_together() {
    let make = |random: &mut Random| {
        let mut group = Group::default();
        let (topics, partitions) = (1 + random.below(3), 1 + random.below(6));
        let id = |random: &mut Random| Uuid::from_u128(u128::from(random.next_u64()) << 64 | 1);
        group.topics = (0..topics).map(|_| (id(random), partitions)).collect();
        let all: Vec<Uuid> = group.topics.keys().copied().collect();
        let members = 1 + random.below(4);
        group.members = (0..members).map(|n| Member::new(&format!("m{n}"), all.clone())).collect();
        group.place(random);
        group
    };
    each(1_000, make, |group, _| {
        if group.racks_count_in_a_topic() {
            let assignments = checked(&StickyRangeAssignor, group);
            assert_eq!(group.near(&assignments), most_near(group), "{assignments:?}");
        }
    });
}

/// Three brokers in three racks, a replica each, and members in the racks: everybody reads next door.
#[test]
fn everybody_reads_in_its_own_rack_where_that_comes_out_even() {
    let topics = vec![Uuid::from_u128(7)];
    let mut group = Group::default();
    (group.broker_count, group.replicas) = (3, 1);
    group.brokers = (0..3).map(|n| (n, format!("r{n}"))).collect();
    group.topics = [(topics[0], 1)].into();
    // As many partitions on each broker.
    let mut counts = [0; 3];
    while counts[0] != counts[1] || counts[1] != counts[2] || counts[0] < 2 {
        counts = [0; 3];
        *group.topics.entry(topics[0]).or_default() += 1;
        for partition in 0..group.topics[&topics[0]] {
            counts[group.replicas_of(topics[0], partition)[0] as usize] += 1;
        }
    }
    group.members = (0..3)
        .map(|n| Member {
            rack: Some(format!("r{n}")),
            ..Member::new(&format!("m{n}"), topics.clone())
        })
        .collect();
    for assignor in WITH_RACKS {
        let assignments = checked(assignor, &group);
        assert_eq!(group.near(&assignments), group.topics[&topics[0]] as usize);
        assert_eq!(loads(&assignments), [counts[0]; 3]);
    }
    let range = assignor("range").expect("range");
    assert!(group.near(&checked(range, &group)) < group.topics[&topics[0]] as usize);
}
