//! The assignors that leaders of classic groups run, for a group whose members all subscribe to the
//! same one topic: what Kafka's do in that case, no more.
//!
//! Invariant: no partition goes to two members, whatever members claim.

use clap::ValueEnum;

/// Kafka's assignors of classic groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Assignor {
    Range,
    #[value(name = "roundrobin")]
    RoundRobin,
    Sticky,
    CooperativeSticky,
}

/// A member, as the leader sees it.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// `group.instance.id` of a static member.
    pub instance: Option<String>,
    /// The partitions that it says it has, or had.
    pub owned: Vec<i32>,
    /// The generation in which it says so; -1 where it does not say.
    pub generation: i32,
}

impl Assignor {
    /// Kafka's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Range => "range",
            Assignor::RoundRobin => "roundrobin",
            Assignor::Sticky => "sticky",
            Assignor::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// Whether members keep what they have while they join (KIP-429).
    pub fn is_cooperative(self) -> bool {
        self == Assignor::CooperativeSticky
    }

    /// The partitions of each member, sorted, in the order of the members.
    pub fn assign(self, members: &[Candidate], partitions: i32) -> Vec<Vec<i32>> {
        if members.is_empty() {
            return Vec::new();
        }
        let mut assignment = match self {
            Assignor::Range => range(members, partitions),
            Assignor::RoundRobin => round_robin(members, partitions),
            Assignor::Sticky => sticky(members, partitions),
            Assignor::CooperativeSticky => {
                let mut assignment = sticky(members, partitions);
                withhold(members, partitions, &mut assignment);
                assignment
            }
        };
        assignment.iter_mut().for_each(|own| own.sort_unstable());
        assignment
    }
}

/// Places of the members in Kafka's order: static ones by instance id, then the others by id.
fn in_order(members: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_unstable_by_key(|&at| {
        let member = &members[at];
        (member.instance.is_none(), member.instance.as_deref(), member.id.as_str())
    });
    order
}

/// Shares of so many members: the first ones get one more.
fn shares(members: usize, partitions: i32) -> impl Fn(usize) -> usize {
    let partitions = usize::try_from(partitions).unwrap_or(0);
    let (base, larger) = (partitions / members, partitions % members);
    move |place| base + usize::from(place < larger)
}

fn range(members: &[Candidate], partitions: i32) -> Vec<Vec<i32>> {
    let share = shares(members.len(), partitions);
    let mut assignment = vec![Vec::new(); members.len()];
    let mut left = 0..partitions;
    for (place, at) in in_order(members).into_iter().enumerate() {
        assignment[at] = left.by_ref().take(share(place)).collect();
    }
    assignment
}

fn round_robin(members: &[Candidate], partitions: i32) -> Vec<Vec<i32>> {
    let mut assignment = vec![Vec::new(); members.len()];
    for (partition, at) in (0..partitions).zip(in_order(members).into_iter().cycle()) {
        assignment[at].push(partition);
    }
    assignment
}

/// Who owns each partition by the newest claim; nobody where two claim it in the same generation,
/// because neither can be believed.
fn owners(members: &[Candidate], partitions: i32) -> Vec<Option<usize>> {
    let mut claims: Vec<Option<(i32, Option<usize>)>> =
        vec![None; usize::try_from(partitions).unwrap_or(0)];
    for (at, member) in members.iter().enumerate() {
        for &partition in &member.owned {
            let Some(claim) = usize::try_from(partition).ok().and_then(|p| claims.get_mut(p))
            else {
                continue;
            };
            match claim {
                Some((generation, _)) if *generation > member.generation => {}
                Some((generation, owner)) if *generation == member.generation => {
                    if *owner != Some(at) {
                        *owner = None;
                    }
                }
                _ => *claim = Some((member.generation, Some(at))),
            }
        }
    }
    claims.into_iter().map(|claim| claim.and_then(|(_, owner)| owner)).collect()
}

/// As balanced as can be with the fewest moves.
fn sticky(members: &[Candidate], partitions: i32) -> Vec<Vec<i32>> {
    let mut assignment = vec![Vec::new(); members.len()];
    let mut unassigned = Vec::new();
    for (partition, owner) in (0..partitions).zip(owners(members, partitions)) {
        match owner {
            Some(at) => assignment[at].push(partition),
            None => unassigned.push(partition),
        }
    }
    // The larger shares go to those that can fill them.
    let mut order = in_order(members);
    order.sort_by_key(|&at| std::cmp::Reverse(assignment[at].len()));
    let share = shares(members.len(), partitions);
    for (place, &at) in order.iter().enumerate() {
        let surplus = share(place).min(assignment[at].len());
        unassigned.extend(assignment[at].drain(surplus..));
    }
    let mut unassigned = unassigned.into_iter();
    for (place, &at) in order.iter().enumerate() {
        let missing = share(place) - assignment[at].len();
        assignment[at].extend(unassigned.by_ref().take(missing));
    }
    assignment
}

/// Takes out what another member still has: it has to give it up first, and joins again then.
fn withhold(members: &[Candidate], partitions: i32, assignment: &mut [Vec<i32>]) {
    // The number of members that claim a partition, and the last of them.
    let mut claims = vec![(0, 0); usize::try_from(partitions).unwrap_or(0)];
    for (at, member) in members.iter().enumerate() {
        let mut owned = member.owned.clone();
        owned.sort_unstable();
        owned.dedup();
        for partition in owned {
            if let Some(claim) = usize::try_from(partition).ok().and_then(|p| claims.get_mut(p)) {
                *claim = (claim.0 + 1, at);
            }
        }
    }
    for (at, own) in assignment.iter_mut().enumerate() {
        own.retain(|&partition| {
            let claim = usize::try_from(partition).ok().and_then(|p| claims.get(p));
            matches!(claim, Some(&(0, _))) || claim == Some(&(1, at))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::moves::least_moves;
    use super::*;
    use crate::bench::random::Random;

    const ALL: [Assignor; 4] =
        [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky, Assignor::CooperativeSticky];

    fn member(id: &str, owned: &[i32]) -> Candidate {
        Candidate { id: id.into(), owned: owned.to_vec(), generation: 3, ..Candidate::default() }
    }

    #[test]
    fn range_and_round_robin_go_by_the_order_of_members() {
        let mut members = [member("c", &[]), member("a", &[]), member("b", &[])];
        assert_eq!(Assignor::Range.assign(&members, 7), [vec![5, 6], vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(
            Assignor::RoundRobin.assign(&members, 7),
            [vec![2, 5], vec![0, 3, 6], vec![1, 4]]
        );
        // A static member comes first.
        members[0].instance = Some("z".into());
        assert_eq!(Assignor::Range.assign(&members, 3), [vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn sticky_keeps_what_members_had() {
        let members = [member("a", &[0, 1, 2, 3]), member("b", &[4, 5]), member("c", &[])];
        let assignment = Assignor::Sticky.assign(&members, 6);
        assert_eq!(assignment, [vec![0, 1], vec![4, 5], vec![2, 3]]);
        // Cooperative: the newcomer waits until they are given up.
        let assignment = Assignor::CooperativeSticky.assign(&members, 6);
        assert_eq!(assignment, [vec![0, 1], vec![4, 5], vec![]]);
    }

    #[test]
    fn an_older_claim_does_not_count_and_equal_ones_cancel() {
        let mut members = [member("a", &[0]), member("b", &[0])];
        members[1].generation = 5;
        assert_eq!(Assignor::Sticky.assign(&members, 2), [vec![1], vec![0]]);
        // It is withheld all the same while another may have it.
        assert_eq!(Assignor::CooperativeSticky.assign(&members, 2), [vec![1], vec![]]);
        members[1].generation = 3;
        let assignment = Assignor::Sticky.assign(&members, 2);
        assert_eq!(assignment.concat().len(), 2);
    }

    /// Whatever members claim: each partition goes to one member at most, none has two more than
    /// another, and sticky moves as little as possible.
    #[test]
    fn random_groups() {
        let mut random = Random::new(3);
        for _ in 0..2000 {
            let count = 1 + random.below(8);
            let partitions = random.below(30) as i32;
            let mut owners = vec![Vec::new(); count];
            let mut is_consistent = true;
            for partition in 0..partitions {
                for _ in 0..random.below(3).min(1 + random.below(40) / 39) {
                    let owned = &mut owners[random.below(count)];
                    owned.retain(|&other| other != partition);
                    owned.push(partition);
                }
                is_consistent &=
                    owners.iter().filter(|owned| owned.contains(&partition)).count() < 2;
            }
            let members: Vec<Candidate> = owners
                .iter()
                .enumerate()
                .map(|(at, owned)| member(&format!("m{}", (at * 5) % 8), owned))
                .collect();
            for assignor in ALL {
                let assignment = assignor.assign(&members, partitions);
                assert_eq!(assignment.len(), count);
                let mut given = assignment.concat();
                given.sort_unstable();
                let mut once = given.clone();
                once.dedup();
                assert_eq!(given, once, "{assignor:?} gives a partition twice");
                assert!(given.iter().all(|&p| (0..partitions).contains(&p)));
                if assignor.is_cooperative() {
                    for (at, own) in assignment.iter().enumerate() {
                        let is_free = |p: &i32| {
                            owners
                                .iter()
                                .enumerate()
                                .all(|(o, owned)| o == at || !owned.contains(p))
                        };
                        assert!(own.iter().all(is_free), "what another has was given away");
                    }
                    continue;
                }
                assert_eq!(given.len() as i32, partitions, "{assignor:?}");
                let sizes = assignment.iter().map(Vec::len);
                let (least, most) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
                assert!(most <= least + 1, "{assignor:?} {assignment:?}");
                if assignor == Assignor::Sticky && is_consistent {
                    let kept: usize = assignment
                        .iter()
                        .zip(&owners)
                        .map(|(own, had)| own.iter().filter(|p| had.contains(p)).count())
                        .sum();
                    let held: Vec<usize> = owners.iter().map(Vec::len).collect();
                    let moved = partitions as usize - kept;
                    assert_eq!(moved, least_moves(&held, partitions as usize));
                }
            }
        }
    }
}
