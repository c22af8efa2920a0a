//! Racks of partitions and members (KIP-881), in dense indices.
//!
//! A partition is near a member if one of its replicas is in the member's rack; it can be read there
//! then. Racks are a preference among assignments that are equally good otherwise. When they count at
//! all is Kafka's rule: some member's rack has some replica, and not every partition has replicas in all
//! the racks in which there are any. With fewer differences nothing is gained.
//!
//! A member that remembers what it had has no rack here, but a place of its own: near it is what it had. With
//! its rack it would get back what it had, or other partitions that are near.
//!
//! Replicas that are offline count like others: members do not rebalance when they come back.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_wire::Uuid;

use super::subscriptions::Subscriptions;
use super::{GroupSpec, MemberAssignment};

/// The racks in which the partitions of topics have replicas.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartitionRacks {
    names: Vec<String>,
    /// The different sets of racks, each sorted.
    sets: Vec<Vec<u32>>,
    /// The set of each partition of a topic.
    topics: BTreeMap<Uuid, Vec<u32>>,
}

impl PartitionRacks {
    /// The racks of `topics`, whose partitions are given by the brokers of their replicas. A broker that
    /// is not in `brokers` has no rack.
    pub fn new<'a, P>(
        brokers: &BTreeMap<i32, &str>,
        topics: impl IntoIterator<Item = (Uuid, P)>,
    ) -> PartitionRacks
    where
        P: IntoIterator<Item = &'a [i32]>,
    {
        let names: BTreeSet<&str> = brokers.values().copied().collect();
        let names: Vec<&str> = names.into_iter().collect();
        let number = |rack: &str| names.binary_search(&rack).unwrap_or_default() as u32;
        let rack_of: Vec<(i32, u32)> =
            brokers.iter().map(|(id, rack)| (*id, number(rack))).collect();
        let mut numbers: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut sets = Vec::new();
        let mut racks = Vec::new();
        let mut set_of = |replicas: &[i32]| {
            racks.clear();
            let rack = |id: &i32| rack_of.binary_search_by_key(id, |(id, _)| *id).ok();
            racks.extend(replicas.iter().filter_map(rack).map(|at| rack_of[at].1));
            racks.sort_unstable();
            racks.dedup();
            if let Some(&number) = numbers.get(&racks) {
                return number;
            }
            sets.push(racks.clone());
            numbers.insert(racks.clone(), sets.len() as u32 - 1);
            sets.len() as u32 - 1
        };
        let topics = topics
            .into_iter()
            .map(|(id, partitions)| (id, partitions.into_iter().map(&mut set_of).collect()))
            .collect();
        PartitionRacks { names: names.into_iter().map(str::to_owned).collect(), sets, topics }
    }
}

/// Which members and partitions the rule for racks is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// The group.
    Group,
    /// Each topic and its subscribers; racks count if they do for one topic.
    Topic,
}

/// A member whose rack has no replica, or that has said none.
pub(super) const NO_RACK: u32 = u32::MAX;

/// The racks of a group in which they count, and the places of members that remember something.
#[derive(Debug)]
pub(super) struct Racks {
    /// How many racks with members there are.
    pub count: u32,
    /// The rack of each member, in the order of the subscriptions.
    pub of_member: Vec<u32>,
    /// The different sets of racks with members, each sorted.
    pub sets: Vec<Vec<u32>>,
    /// The set of each partition, by its number among those of all topics.
    pub of_partition: Vec<u32>,
}

impl Racks {
    /// What is near the members in this order; `None` if that does not count.
    pub fn new(
        group: &GroupSpec<'_>,
        order: &[u32],
        subscriptions: &Subscriptions,
        scope: Scope,
    ) -> Option<Racks> {
        let racks = Racks::known(group, order, subscriptions, scope);
        let Some(remembered) = group.remembered.filter(|_| scope == Scope::Group) else {
            return racks;
        };
        let nowhere = || Racks {
            count: 0,
            of_member: vec![NO_RACK; order.len()],
            sets: vec![Vec::new()],
            of_partition: vec![0; subscriptions.partitions as usize],
        };
        let remembered = order.iter().map(|&member| remembered.get(member as usize));
        Some(racks.unwrap_or_else(nowhere).with_remembered(remembered, subscriptions))
    }

    /// The racks of the members; `None` if they do not count.
    fn known(
        group: &GroupSpec<'_>,
        order: &[u32],
        subscriptions: &Subscriptions,
        scope: Scope,
    ) -> Option<Racks> {
        let known = group.racks?;
        let number = |rack: &str| known.names.binary_search_by_key(&rack, String::as_str).ok();
        let of_member: Vec<u32> = order
            .iter()
            .map(|&member| {
                let rack = group.members[member as usize].rack_id.and_then(number);
                rack.map_or(NO_RACK, |rack| rack as u32)
            })
            .collect();
        if of_member.iter().all(|rack| *rack == NO_RACK) {
            return None;
        }
        let of_topic: Vec<&[u32]> = subscriptions
            .topics
            .iter()
            .map(|topic| known.topics.get(&topic.id).map_or(&[][..], Vec::as_slice))
            .collect();
        let counts = match scope {
            Scope::Group => {
                let members = of_member.iter().copied().collect();
                counts(&known.sets, &members, of_topic.iter().copied().flatten().copied())
            }
            Scope::Topic => subscribed_from(&of_member, subscriptions)
                .iter()
                .zip(&of_topic)
                .any(|(members, sets)| counts(&known.sets, members, sets.iter().copied())),
        };
        counts.then(|| Racks::among_members(known, of_member, subscriptions, &of_topic))
    }

    /// Racks without members make no difference between partitions.
    fn among_members(
        known: &PartitionRacks,
        mut of_member: Vec<u32>,
        subscriptions: &Subscriptions,
        of_topic: &[&[u32]],
    ) -> Racks {
        let mut new = vec![NO_RACK; known.names.len()];
        let mut count = 0;
        for rack in of_member.iter_mut().filter(|rack| **rack != NO_RACK) {
            let new = &mut new[*rack as usize];
            if *new == NO_RACK {
                *new = count;
                count += 1;
            }
            *rack = *new;
        }
        let mut sets: Vec<Vec<u32>> = Vec::new();
        let mut numbers: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut intern = |set: Vec<u32>| {
            *numbers.entry(set).or_insert_with_key(|set| {
                sets.push(set.clone());
                sets.len() as u32 - 1
            })
        };
        let nowhere = intern(Vec::new());
        let of_set: Vec<u32> = known
            .sets
            .iter()
            .map(|set| {
                let racks = set.iter().map(|&rack| new[rack as usize]);
                let mut racks: Vec<u32> = racks.filter(|rack| *rack != NO_RACK).collect();
                racks.sort_unstable();
                intern(racks)
            })
            .collect();
        let mut of_partition = vec![nowhere; subscriptions.partitions as usize];
        for (topic, sets) in subscriptions.topics.iter().zip(of_topic) {
            let partitions = &mut of_partition[topic.first as usize..][..topic.partitions as usize];
            for (partition, &set) in partitions.iter_mut().zip(*sets) {
                *partition = of_set[set as usize];
            }
        }
        Racks { count, of_member, sets, of_partition }
    }

    /// Members that remember something, in a place of their own.
    fn with_remembered<'m>(
        mut self,
        remembered: impl Iterator<Item = Option<&'m MemberAssignment>>,
        subscriptions: &Subscriptions,
    ) -> Racks {
        let mut numbers: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (had, rack) in remembered.zip(&mut self.of_member) {
            let Some(had) = had.filter(|had| !had.is_empty()) else { continue };
            let place = self.count;
            *rack = place;
            self.count += 1;
            let topics = &subscriptions.topics;
            for (id, partitions) in had.iter() {
                let Ok(at) = topics.binary_search_by_key(&id, |topic| topic.id) else { continue };
                let topic = &topics[at];
                // A negative one is beyond all that there are.
                for partition in partitions.iter().filter(|p| (**p as u32) < topic.partitions) {
                    let set = &mut self.of_partition[(topic.first + *partition as u32) as usize];
                    *set = *numbers.entry((*set, place)).or_insert_with(|| {
                        let mut racks = self.sets[*set as usize].clone();
                        racks.push(place);
                        self.sets.push(racks);
                        self.sets.len() as u32 - 1
                    });
                }
            }
        }
        self
    }

    /// The racks with members in which a partition has replicas.
    pub fn of(&self, partition: u32) -> &[u32] {
        &self.sets[self.of_partition[partition as usize] as usize]
    }
}

/// Whether racks count between partitions with these sets of racks and members of these racks.
fn counts(
    all: &[Vec<u32>],
    members: &BTreeSet<u32>,
    partitions: impl Iterator<Item = u32>,
) -> bool {
    let sets: BTreeSet<u32> = partitions.collect();
    let sets = || sets.iter().map(|&set| &all[set as usize]);
    let racks: BTreeSet<u32> = sets().flatten().copied().collect();
    // Sets are sorted, so they are equal if they are as long.
    !racks.is_disjoint(members) && sets().any(|set| set.len() != racks.len())
}

/// The racks of each topic's subscribers.
fn subscribed_from(of_member: &[u32], subscriptions: &Subscriptions) -> Vec<BTreeSet<u32>> {
    let mut of_subscription = vec![BTreeSet::new(); subscriptions.distinct.len()];
    for (&rack, &subscription) in of_member.iter().zip(&subscriptions.of_member) {
        if rack != NO_RACK {
            of_subscription[subscription as usize].insert(rack);
        }
    }
    let mut of_topic = vec![BTreeSet::new(); subscriptions.topics.len()];
    for (racks, topics) in of_subscription.iter().zip(&subscriptions.distinct) {
        for &topic in topics {
            of_topic[topic as usize].extend(racks);
        }
    }
    of_topic
}
