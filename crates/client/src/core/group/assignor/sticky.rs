//! Sticky: as balanced as subscriptions allow, with as few moves as that takes.
//!
//! Balanced means what Kafka means by it: no partition could go to a subscriber that has at least
//! two fewer than its owner. Members that subscribed to the same topics are one class, and topics
//! with the same classes one set, so that in a group whose members subscribed alike every step costs
//! the logarithm of the members, however many topics there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::spec::{Assignment, AssignorSpec};
use crate::core::partition::TopicPartition;

/// Who owned what before, by members' claims.
#[derive(Debug)]
pub struct Ownership<'a> {
    claims: HashMap<&'a TopicPartition, Claim<'a>>,
}

#[derive(Debug)]
struct Claim<'a> {
    /// `None` when two claim it in the same generation: then neither can be believed.
    owner: Option<&'a Arc<str>>,
    generation: i32,
    claimants: usize,
}

impl<'a> Ownership<'a> {
    /// The newest generation's claim counts. Claims on what does not exist, or what the member no
    /// longer subscribes to, are claims all the same: it may still have it.
    pub fn new(spec: &'a AssignorSpec) -> Ownership<'a> {
        let mut claims: HashMap<&TopicPartition, Claim<'_>> = HashMap::new();
        for (id, member) in &spec.members {
            let mut seen = BTreeSet::new();
            let generation = member.generation;
            for partition in member.owned.iter().filter(|&partition| seen.insert(partition)) {
                let claim = claims.entry(partition).or_insert(Claim {
                    owner: Some(id),
                    generation,
                    claimants: 0,
                });
                claim.claimants += 1;
                if claim.claimants > 1 && generation == claim.generation {
                    claim.owner = None;
                } else if generation > claim.generation {
                    claim.owner = Some(id);
                    claim.generation = generation;
                }
            }
        }
        Ownership { claims }
    }

    /// Whether a member other than `member` may still have the partition, unless `member` itself is
    /// its owner.
    pub fn is_claimed_by_others(&self, partition: &TopicPartition, member: &Arc<str>) -> bool {
        self.claims.get(partition).is_some_and(|claim| claim.owner != Some(member))
    }

    fn owner(&self, partition: &TopicPartition) -> Option<&'a Arc<str>> {
        self.claims.get(partition)?.owner
    }
}

/// Places of members and topics in the spec, in its order.
type Member = usize;
type Topic = usize;

/// What a member holds of one set of topics.
#[derive(Default)]
struct Held {
    /// What it owned before; the first are kept longest.
    kept: BTreeSet<(i32, Topic)>,
    /// What it got now, which can go elsewhere without a move.
    fresh: BTreeSet<(i32, Topic)>,
}

struct Balancer {
    /// Members of each class by their number of partitions.
    loads: Vec<BTreeSet<(usize, Member)>>,
    class_of: Vec<usize>,
    load: Vec<usize>,
    /// The classes that subscribed to each set of topics.
    classes: Vec<Vec<usize>>,
    set_of: Vec<usize>,
    /// What each member holds, by set of topics.
    held: Vec<BTreeMap<usize, Held>>,
    owner: HashMap<(Topic, i32), Member>,
}

/// Balances, starting from what was owned.
pub(super) fn assign(spec: &AssignorSpec, ownership: &Ownership<'_>) -> Assignment {
    let topics: Vec<(&Arc<str>, i32)> = spec.partitions.iter().map(|(t, &n)| (t, n)).collect();
    let topic_places: HashMap<&Arc<str>, Topic> =
        topics.iter().enumerate().map(|(place, (topic, _))| (*topic, place)).collect();
    let member_places: HashMap<&Arc<str>, Member> =
        spec.members.keys().enumerate().map(|(place, id)| (id, place)).collect();
    let mut balancer = Balancer::new(spec, &topics, &topic_places);

    let mut unassigned: Vec<(usize, Topic, i32)> = Vec::new();
    for (place, &(topic, count)) in topics.iter().enumerate() {
        let subscribers = balancer.subscribers(balancer.set_of[place]);
        if subscribers == 0 {
            continue;
        }
        let mut name = TopicPartition::new(Arc::clone(topic), 0);
        for partition in 0..count {
            name.partition = partition;
            let owner = ownership.owner(&name).filter(|&id| subscribes(spec, id, topic));
            match owner.and_then(|id| member_places.get(id)) {
                Some(&owner) => {
                    balancer.owner.insert((place, partition), owner);
                    balancer.give((place, partition), owner);
                }
                None => unassigned.push((subscribers, place, partition)),
            }
        }
    }
    // Topics with few subscribers first: what is left over can still be evened out by the others.
    unassigned.sort_unstable();
    for (_, topic, partition) in unassigned {
        if let Some((_, member)) = balancer.least_loaded(balancer.set_of[topic]) {
            balancer.give((topic, partition), member);
        }
    }
    balancer.balance();
    balancer.into_assignment(spec, &topics)
}

fn subscribes(spec: &AssignorSpec, member: &Arc<str>, topic: &Arc<str>) -> bool {
    spec.members.get(member).is_some_and(|member| member.topics.contains(topic))
}

impl Balancer {
    fn new(
        spec: &AssignorSpec,
        topics: &[(&Arc<str>, i32)],
        topic_places: &HashMap<&Arc<str>, Topic>,
    ) -> Balancer {
        let mut class_ids: HashMap<Vec<Topic>, usize> = HashMap::new();
        let mut class_of = Vec::with_capacity(spec.members.len());
        let mut topic_classes: Vec<Vec<usize>> = vec![Vec::new(); topics.len()];
        for member in spec.members.values() {
            let subscribed: Vec<Topic> =
                member.topics.iter().filter_map(|topic| topic_places.get(topic).copied()).collect();
            let next = class_ids.len();
            let class = *class_ids.entry(subscribed).or_insert_with_key(|subscribed| {
                subscribed.iter().for_each(|&topic| topic_classes[topic].push(next));
                next
            });
            class_of.push(class);
        }
        let mut loads = vec![BTreeSet::new(); class_ids.len()];
        for (member, &class) in class_of.iter().enumerate() {
            loads[class].insert((0, member));
        }
        let mut set_ids: HashMap<&Vec<usize>, usize> = HashMap::new();
        let mut classes = Vec::new();
        let mut set_of = Vec::with_capacity(topics.len());
        for topic_classes in &topic_classes {
            let set = *set_ids.entry(topic_classes).or_insert_with(|| {
                classes.push(topic_classes.clone());
                classes.len() - 1
            });
            set_of.push(set);
        }
        let members = class_of.len();
        Balancer {
            loads,
            class_of,
            load: vec![0; members],
            classes,
            set_of,
            held: (0..members).map(|_| BTreeMap::new()).collect(),
            owner: HashMap::new(),
        }
    }

    fn subscribers(&self, set: usize) -> usize {
        self.classes[set].iter().map(|&class| self.loads[class].len()).sum()
    }

    fn least_loaded(&self, set: usize) -> Option<(usize, Member)> {
        self.classes[set].iter().filter_map(|&class| self.loads[class].first().copied()).min()
    }

    fn set_load(&mut self, member: Member, load: usize) {
        let loads = &mut self.loads[self.class_of[member]];
        loads.remove(&(self.load[member], member));
        loads.insert((load, member));
        self.load[member] = load;
    }

    fn give(&mut self, (topic, partition): (Topic, i32), member: Member) {
        let held = self.held[member].entry(self.set_of[topic]).or_default();
        // What comes back to its owner has not moved.
        let is_owner = self.owner.get(&(topic, partition)) == Some(&member);
        let part = if is_owner { &mut held.kept } else { &mut held.fresh };
        part.insert((partition, topic));
        self.set_load(member, self.load[member] + 1);
    }

    /// Takes what costs least to move.
    fn take(&mut self, member: Member, set: usize) -> Option<(Topic, i32)> {
        let held = self.held[member].get_mut(&set)?;
        let (partition, topic) = held.fresh.pop_last().or_else(|| held.kept.pop_last())?;
        if held.fresh.is_empty() && held.kept.is_empty() {
            self.held[member].remove(&set);
        }
        self.set_load(member, self.load[member] - 1);
        Some((topic, partition))
    }

    /// Moves from whoever has most to whoever has least, until no move makes it more even. Each
    /// move lowers the sum of the squares, so it ends.
    fn balance(&mut self) {
        loop {
            let mut sources: BTreeSet<(usize, Member)> =
                self.load.iter().enumerate().map(|(member, &load)| (load, member)).collect();
            let mut moved = false;
            // Always from the top: who gave more than needed would have to be given back to.
            while let Some((load, from)) = sources.pop_last() {
                let Some(to) = self.move_one(from) else { continue };
                moved = true;
                sources.insert((load - 1, from));
                if sources.remove(&(self.load[to] - 1, to)) {
                    sources.insert((self.load[to], to));
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Moves a partition away to where it evens out most; says where that is.
    fn move_one(&mut self, from: Member) -> Option<Member> {
        let better = |(&set, held): (&usize, &Held)| {
            let (load, to) = self.least_loaded(set)?;
            (load + 1 < self.load[from]).then_some((load, held.fresh.is_empty(), set, to))
        };
        let (_, _, set, to) = self.held[from].iter().filter_map(better).min()?;
        let partition = self.take(from, set)?;
        self.give(partition, to);
        Some(to)
    }

    fn into_assignment(self, spec: &AssignorSpec, topics: &[(&Arc<str>, i32)]) -> Assignment {
        let named = |&(partition, topic): &(i32, Topic)| {
            TopicPartition::new(Arc::clone(topics[topic].0), partition)
        };
        let all = |held: &BTreeMap<usize, Held>| {
            let parts = held.values().flat_map(|held| held.kept.iter().chain(&held.fresh));
            parts.map(named).collect()
        };
        spec.members.keys().cloned().zip(self.held.iter().map(all)).collect()
    }
}
