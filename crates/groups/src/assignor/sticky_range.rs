//! `range` of groups whose classic members the server assigns: co-partitioned, and few moves.
//!
//! What users of `range` rely on is kept: topics with equally many partitions and the same subscribers
//! are co-partitioned (who gets partition 5 of one gets partition 5 of the other), and of each topic
//! everybody gets as many as anybody else, or one more. What costs them is not: Kafka's gives out
//! contiguous ranges in the order of member ids, so that one join shifts half the group. Here a member
//! keeps the numbers that it has, as far as its share goes, and the ranges need not be contiguous.
//!
//! Where racks count, as many partitions as possible are near who gets them, of those that move anyway.
//! As in Kafka this comes before who has fewest in all gets one more, but not before what Kafka's assigns
//! at most.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::racks::{Racks, Scope};
use super::range::in_order;
use super::range_racks::{self, Shares};
use super::subscriptions::Subscriptions;
use super::{Assignor, GroupSpec, MemberAssignment};

/// The assignor `range` with minimal moves.
#[derive(Clone, Copy, Debug)]
pub struct StickyRangeAssignor;

/// Nobody, among members.
const NOBODY: u32 = u32::MAX;

/// Topics that are co-partitioned.
struct Class {
    topics: Vec<u32>,
    partitions: u32,
    /// Members, as places in the order of the assignor.
    subscribers: Vec<u32>,
}

/// The members that come first where a share does not come out even and some get one partition more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extra {
    /// Owner first, then same rack, then fewest partitions of other topics.
    Near,
    /// Owner first, then fewest partitions of other topics.
    Holders,
    /// Fewest partitions of other topics first, then owner.
    Idle,
    /// The first in the order of the assignor, as in Kafka.
    First,
}

/// How many numbers each of a class's subscribers gets. Subscribers are places in `load`, which says what
/// they have of other topics, and in `held`, which says how many numbers they have.
fn shares(partitions: usize, held: &[usize], load: &[usize], extra_to: Extra) -> Shares {
    /// More than so many different loads are not told apart where racks come first.
    const RANK_MAX: usize = 15;
    let (quota, extra) = (partitions / load.len(), partitions % load.len());
    let mut quotas = vec![quota as u32; load.len()];
    if let Extra::Near = extra_to {
        let mut loads = load.to_vec();
        loads.sort_unstable();
        loads.dedup();
        let rank = |load: &usize| loads.partition_point(|less| less < load).min(RANK_MAX) as u32;
        return Shares { quotas, extra: extra as u32, ranks: load.iter().map(rank).collect() };
    }
    let mut by_claim: Vec<usize> = (0..load.len()).collect();
    by_claim.sort_by_key(|&slot| {
        let claim = Reverse(held[slot].min(quota + 1));
        match extra_to {
            Extra::Near | Extra::Holders => (Some(claim), load[slot], None, slot),
            Extra::Idle => (None, load[slot], Some(claim), slot),
            Extra::First => (None, 0, None, slot),
        }
    });
    by_claim.iter().take(extra).for_each(|&slot| quotas[slot] += 1);
    Shares { quotas, extra: 0, ranks: Vec::new() }
}

/// Who gets each number, if `owners` had them; moves as few as the shares allow.
fn assign_class(mut owners: Vec<u32>, shares: Shares) -> Vec<u32> {
    let mut left = shares.quotas;
    for owner in owners.iter_mut().filter(|owner| **owner != NOBODY) {
        match &mut left[*owner as usize] {
            0 => *owner = NOBODY,
            left => *left -= 1,
        }
    }
    let takers = left.iter().enumerate();
    let takers = takers.flat_map(|(slot, &left)| std::iter::repeat_n(slot, left as usize));
    let free = owners.iter_mut().filter(|owner| **owner == NOBODY);
    free.zip(takers).for_each(|(owner, slot)| *owner = slot as u32);
    owners
}

/// Topics by what they are co-partitioned by, in the order of their ids.
fn classes(subscriptions: &Subscriptions) -> Vec<Class> {
    let mut subscriptions_of = vec![Vec::new(); subscriptions.topics.len()];
    for (number, topics) in subscriptions.distinct.iter().enumerate() {
        for &topic in topics {
            subscriptions_of[topic as usize].push(number as u32);
        }
    }
    let mut places = vec![Vec::new(); subscriptions.distinct.len()];
    for (place, &subscription) in subscriptions.of_member.iter().enumerate() {
        places[subscription as usize].push(place as u32);
    }
    let mut numbers: BTreeMap<(u32, &[u32]), usize> = BTreeMap::new();
    let mut classes: Vec<Class> = Vec::new();
    for (at, topic) in subscriptions.topics.iter().enumerate() {
        let of = subscriptions_of[at].as_slice();
        let number = *numbers.entry((topic.partitions, of)).or_insert_with(|| {
            let mut subscribers: Vec<u32> =
                of.iter().flat_map(|&number| places[number as usize].iter().copied()).collect();
            subscribers.sort_unstable();
            classes.push(Class { topics: Vec::new(), partitions: topic.partitions, subscribers });
            classes.len() - 1
        });
        classes[number].topics.push(at as u32);
    }
    classes
}

/// A group, read.
struct Spec {
    subscriptions: Subscriptions,
    classes: Vec<Class>,
    /// Who has each partition, by place.
    owners: Vec<u32>,
    /// If they count.
    racks: Option<Racks>,
}

/// The topics and partitions of each member, by place.
type Found = Vec<Vec<(u32, i32)>>;

impl Spec {
    fn new(group: &GroupSpec<'_>, order: &[u32]) -> Spec {
        let subscriptions = Subscriptions::new(group, order);
        let classes = classes(&subscriptions);
        let mut owners = vec![NOBODY; subscriptions.partitions as usize];
        for (place, &member) in order.iter().enumerate() {
            for (id, partitions) in group.members[member as usize].assignment.iter() {
                let topics = &subscriptions.topics;
                let Ok(at) = topics.binary_search_by_key(&id.as_u128(), |t| t.id.as_u128()) else {
                    continue;
                };
                for &partition in partitions {
                    let known = u32::try_from(partition).ok();
                    let known = known.filter(|partition| *partition < topics[at].partitions);
                    let owner = known.map(|known| &mut owners[(topics[at].first + known) as usize]);
                    if let Some(owner) = owner.filter(|owner| **owner == NOBODY) {
                        *owner = place as u32;
                    }
                }
            }
        }
        let racks = Racks::new(group, order, &subscriptions, Scope::Topic);
        Spec { subscriptions, classes, owners, racks }
    }

    /// The most that a member gets from Kafka's `range`.
    fn load_max(&self) -> usize {
        let mut load = vec![0usize; self.subscriptions.of_member.len()];
        for class in &self.classes {
            let (partitions, subscribers) = (class.partitions as usize, class.subscribers.len());
            for (slot, &place) in class.subscribers.iter().enumerate() {
                let extra = usize::from(slot < partitions % subscribers);
                load[place as usize] += (partitions / subscribers + extra) * class.topics.len();
            }
        }
        load.into_iter().max().unwrap_or(0)
    }

    /// An assignment, and the most that a member gets.
    fn assign(&self, extra_to: Extra) -> (Found, usize) {
        let members = self.subscriptions.of_member.len();
        let mut load = vec![0usize; members];
        let mut found: Found = vec![Vec::new(); members];
        let mut slots = vec![NOBODY; members];
        for class in &self.classes {
            for (slot, &place) in class.subscribers.iter().enumerate() {
                slots[place as usize] = slot as u32;
            }
            let topics = class.topics.iter().map(|&at| &self.subscriptions.topics[at as usize]);
            let firsts: Vec<u32> = topics.map(|topic| topic.first).collect();
            // Whoever has a number of one of the topics has it of all of them.
            let had = (0..class.partitions).map(|number| {
                let owners = firsts.iter().map(|first| self.owners[(first + number) as usize]);
                let mut owners = owners.filter_map(|owner| slots.get(owner as usize).copied());
                owners.find(|slot| *slot != NOBODY).unwrap_or(NOBODY)
            });
            let subscribers = &class.subscribers;
            let loads: Vec<usize> = subscribers.iter().map(|&place| load[place as usize]).collect();
            let assigned = self.assign_class(subscribers, &firsts, had.collect(), &loads, extra_to);
            for (number, slot) in assigned.into_iter().enumerate() {
                let place = subscribers[slot as usize] as usize;
                load[place] += class.topics.len();
                found[place].extend(class.topics.iter().map(|&topic| (topic, number as i32)));
            }
            subscribers.iter().for_each(|&place| slots[place as usize] = NOBODY);
        }
        (found, load.into_iter().max().unwrap_or(0))
    }

    /// Who gets each number of a class, as a place among its subscribers.
    fn assign_class(
        &self,
        subscribers: &[u32],
        firsts: &[u32],
        owners: Vec<u32>,
        load: &[usize],
        extra_to: Extra,
    ) -> Vec<u32> {
        let mut held = vec![0usize; subscribers.len()];
        for &owner in owners.iter().filter(|owner| **owner != NOBODY) {
            held[owner as usize] += 1;
        }
        let shares = shares(owners.len(), &held, load, extra_to);
        let Some(racks) = &self.racks else { return assign_class(owners, shares) };
        let of_slot = subscribers.iter().map(|&place| racks.of_member[place as usize]);
        let of_slot: Vec<u32> = of_slot.collect();
        range_racks::Class { racks, firsts, of_slot: &of_slot }.assign(owners, &shares)
    }
}

impl Assignor for StickyRangeAssignor {
    fn name(&self) -> &'static str {
        "range"
    }

    fn looks_at_racks(&self) -> bool {
        true
    }

    fn assign(&self, group: &GroupSpec<'_>) -> Vec<Arc<MemberAssignment>> {
        let order = in_order(group);
        let spec = Spec::new(group, &order);
        // Few moves, as long as nobody has more than Kafka would give to somebody.
        let load_max = spec.load_max();
        let first = if spec.racks.is_some() { Extra::Near } else { Extra::Holders };
        let (mut found, mut load) = spec.assign(first);
        for extra_to in [Extra::Holders, Extra::Idle, Extra::First] {
            if load > load_max && extra_to != first {
                (found, load) = spec.assign(extra_to);
            }
        }
        let mut assignments: Vec<Arc<MemberAssignment>> =
            group.members.iter().map(|member| Arc::clone(member.assignment)).collect();
        for (mut found, &member) in found.into_iter().zip(&order) {
            found.sort_unstable();
            let mut assignment = MemberAssignment::default();
            for (topic, partition) in found {
                assignment.push(spec.subscriptions.topics[topic as usize].id, partition);
            }
            let assigned = &mut assignments[member as usize];
            if **assigned != assignment {
                *assigned = Arc::new(assignment);
            }
        }
        assignments
    }
}
