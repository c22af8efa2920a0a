//! Random groups, and what is counted of assignments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_groups::assignor::{
    Assignor, GroupSpec, MemberAssignment, MemberSpec, PartitionRacks, SubscriptionType,
};
use thalweg_random::Random;
use thalweg_wire::Uuid;

#[derive(Clone, Debug)]
pub struct Member {
    pub id: String,
    pub instance_id: Option<String>,
    pub rack: Option<String>,
    pub topics: Vec<Uuid>,
    pub assignment: Arc<MemberAssignment>,
}

impl Member {
    pub fn new(id: &str, topics: Vec<Uuid>) -> Member {
        Member {
            id: id.to_owned(),
            instance_id: None,
            rack: None,
            topics,
            assignment: Arc::default(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Group {
    pub members: Vec<Member>,
    pub topics: BTreeMap<Uuid, i32>,
    /// Subscriptions that its members choose from.
    pub subscriptions: Vec<Vec<Uuid>>,
    /// The racks of brokers that have one, and how many brokers there are.
    pub brokers: BTreeMap<i32, String>,
    pub broker_count: i32,
    /// How many replicas partitions have. None: racks are not known.
    pub replicas: usize,
    /// Racks that members choose from.
    pub racks: Vec<Option<String>>,
    /// What each member had elsewhere, if that is asked for.
    pub remembered: Option<Vec<MemberAssignment>>,
    named: usize,
}

impl Group {
    pub fn random(random: &mut Random) -> Group {
        let (members, topics) = (1 + random.below(12), 1 + random.below(8));
        Group::make(random, members, topics, 12)
    }

    /// Small enough to try everything.
    pub fn small(random: &mut Random) -> Group {
        let (members, topics) = (1 + random.below(4), 1 + random.below(4));
        let mut group = Group::make(random, members, topics, 4);
        group.limit(random, 8);
        group
    }

    pub fn large(random: &mut Random) -> Group {
        let members = 1 + random.below(80);
        let topics = 1 + random.below(40);
        let partitions = 1 + random.below(60);
        Group::make(random, members, topics, partitions)
    }

    fn make(random: &mut Random, members: usize, topics: usize, partitions: usize) -> Group {
        let mut group = Group::default();
        for number in 0..topics as u128 {
            let id = Uuid::from_u128((u128::from(random.next_u64()) << 64) | number);
            group.topics.insert(id, 1 + random.below(partitions) as i32);
        }
        let all: Vec<Uuid> = group.topics.keys().copied().collect();
        // One subscription for all, a few, or one for each.
        let kinds = *random.pick(&[1, 1, 2, 3, 5, members]);
        for _ in 0..kinds {
            let share = *random.pick(&[20, 50, 80, 100]);
            let mut topics = all.clone();
            topics.retain(|_| random.chance(share));
            if random.chance(10) {
                // A topic that does not exist.
                topics.push(Uuid::from_u128(random.next_u64().into()));
            }
            group.subscriptions.push(topics);
        }
        (0..members).for_each(|_| group.join(random));
        // What members have at first is anything: also what others have, what is not there, and
        // what they did not subscribe to.
        for member in &mut group.members {
            let mut claims = Vec::new();
            for _ in 0..random.below(2 * partitions) {
                claims.push((*random.pick(&all), [random.below(partitions + 1) as i32]));
            }
            member.assignment = Arc::new(MemberAssignment::new(claims));
        }
        group
    }

    fn join(&mut self, random: &mut Random) {
        self.named += 1;
        let letter = random.pick(&["m", "é", "\u{e000}", "😀"]);
        let mut member = Member::new(
            &format!("{letter}{}-{}", random.below(100), self.named),
            random.pick(&self.subscriptions).clone(),
        );
        if !self.racks.is_empty() {
            member.rack = random.pick(&self.racks).clone();
        }
        if random.chance(30) {
            let letter = random.pick(&["i", "\u{ffff}", "😀"]);
            member.instance_id = Some(format!("{letter}{}-{}", random.below(100), self.named));
        }
        self.members.push(member);
    }

    /// Something changes: who is there, who subscribes to what, or what there is.
    pub fn change(&mut self, random: &mut Random) {
        self.change_within(random, usize::MAX);
    }

    /// The same, with no more than so many partitions.
    pub fn change_within(&mut self, random: &mut Random, partitions: usize) {
        let at = random.below(self.members.len());
        match random.below(6) {
            0 | 1 if self.members.len() > 1 => drop(self.members.swap_remove(at)),
            0..=2 => self.join(random),
            3 => self.members[at].topics = random.pick(&self.subscriptions).clone(),
            4 => {
                let counts = self.topics.len();
                if let Some(count) = self.topics.values_mut().nth(random.below(counts)) {
                    *count += 1 + random.below(3);
                }
            }
            _ => {
                // A topic is deleted.
                let id = self.topics.keys().nth(random.below(self.topics.len())).copied();
                id.map(|id| self.topics.remove(&id));
            }
        }
        if self.members.len() > 5 && partitions < usize::MAX {
            self.members.truncate(5);
        }
        self.limit(random, partitions);
    }

    /// Takes topics away until there are no more than so many partitions.
    fn limit(&mut self, random: &mut Random, partitions: usize) {
        while self.topics.values().sum::<i32>() as usize > partitions {
            let at = random.below(self.topics.len());
            let id = self.topics.keys().nth(at).copied().expect("a topic");
            match self.topics.get_mut(&id) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.topics.remove(&id)),
            }
        }
    }

    pub fn same_topics(&self) -> bool {
        self.members.iter().all(|member| member.topics == self.members[0].topics)
    }

    /// Gives it brokers in racks, and members that are in these, in others or in none.
    pub fn place(&mut self, random: &mut Random) {
        self.broker_count = 1 + random.below(8);
        self.replicas = 1 + random.below(3);
        let racks = 1 + random.below(4);
        let without = *random.pick(&[0, 0, 20]);
        for broker in 0..self.broker_count {
            if !random.chance(without) {
                self.brokers.insert(broker, format!("r{}", random.below(racks)));
            }
        }
        let racks = (0..racks + random.below(2)).map(|rack| Some(format!("r{rack}")));
        self.racks = racks.chain(random.chance(30).then_some(None)).collect();
        for member in &mut self.members {
            member.rack = random.pick(&self.racks).clone();
        }
    }

    /// The brokers of a partition's replicas: which ones is as good as random, and always the same.
    pub fn replicas_of(&self, topic: Uuid, partition: i32) -> Vec<i32> {
        let mut state = topic.as_u128() as u64 ^ (topic.as_u128() >> 64) as u64;
        state = state.wrapping_add(partition as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = Random::new(state | 1);
        let mut left: Vec<i32> = (0..self.broker_count).collect();
        let count = self.replicas.min(left.len());
        (0..count).map(|_| left.swap_remove(random.below(left.len()))).collect()
    }

    /// The racks of a partition's replicas.
    pub fn racks_of(&self, topic: Uuid, partition: i32) -> BTreeSet<&str> {
        let replicas = self.replicas_of(topic, partition);
        replicas.iter().filter_map(|id| self.brokers.get(id)).map(String::as_str).collect()
    }

    /// Whether a partition has a replica in a member's rack, or is what the member had, if it had anything.
    pub fn is_near(&self, member: usize, topic: Uuid, partition: i32) -> bool {
        let had = self.remembered.as_ref().map(|all| &all[member]);
        if let Some(had) = had.filter(|had| !had.is_empty()) {
            return had.contains(topic, partition);
        }
        let rack = self.members[member].rack.as_deref();
        rack.is_some_and(|rack| self.racks_of(topic, partition).contains(rack))
    }

    /// How many partitions are near who gets them.
    pub fn near(&self, assignments: &[Arc<MemberAssignment>]) -> usize {
        let owners = self.owners(assignments);
        owners.iter().filter(|((topic, p), owner)| self.is_near(**owner, *topic, *p)).count()
    }

    /// Whether racks count between these members and topics, by Kafka's rule.
    fn racks_count_in(&self, members: &[&Member], topics: &BTreeSet<Uuid>) -> bool {
        let members: BTreeSet<&str> = members.iter().filter_map(|m| m.rack.as_deref()).collect();
        let count = |topic: &Uuid| self.topics.get(topic).copied().unwrap_or(0);
        let sets: Vec<BTreeSet<&str>> = topics
            .iter()
            .flat_map(|topic| (0..count(topic)).map(|p| self.racks_of(*topic, p)))
            .collect();
        let all: BTreeSet<&str> = sets.iter().flatten().copied().collect();
        !members.is_disjoint(&all) && sets.iter().any(|set| *set != all)
    }

    /// Whether they count for the sticky assignors.
    pub fn racks_count(&self) -> bool {
        let topics = self.members.iter().flat_map(|member| &member.topics).copied().collect();
        self.racks_count_in(&self.members.iter().collect::<Vec<_>>(), &topics)
    }

    /// Whether they count for `range`.
    pub fn racks_count_in_a_topic(&self) -> bool {
        self.topics.keys().any(|topic| {
            let members = self.members.iter().filter(|member| member.topics.contains(topic));
            self.racks_count_in(&members.collect::<Vec<_>>(), &[*topic].into())
        })
    }

    fn partition_racks(&self) -> PartitionRacks {
        let brokers = self.brokers.iter().map(|(id, rack)| (*id, rack.as_str())).collect();
        let replicas: Vec<(Uuid, Vec<Vec<i32>>)> = self
            .topics
            .iter()
            .map(|(id, count)| (*id, (0..*count).map(|p| self.replicas_of(*id, p)).collect()))
            .collect();
        let topics = replicas.iter();
        let topics = topics.map(|(id, partitions)| (*id, partitions.iter().map(Vec::as_slice)));
        PartitionRacks::new(&brokers, topics)
    }

    pub fn assign(&self, assignor: &dyn Assignor) -> Vec<Arc<MemberAssignment>> {
        let members: Vec<MemberSpec<'_>> = self
            .members
            .iter()
            .map(|member| MemberSpec {
                id: &member.id,
                instance_id: member.instance_id.as_deref(),
                rack_id: member.rack.as_deref(),
                topic_ids: &member.topics,
                assignment: &member.assignment,
            })
            .collect();
        let subscription_type = if self.same_topics() {
            SubscriptionType::Homogeneous
        } else {
            SubscriptionType::Heterogeneous
        };
        let racks = (self.replicas > 0).then(|| self.partition_racks());
        let (topics, racks) = (&self.topics, racks.as_ref());
        let remembered = self.remembered.as_deref();
        assignor.assign(&GroupSpec {
            members: &members,
            topics,
            racks,
            remembered,
            subscription_type,
        })
    }

    /// Members have from now on what they were assigned.
    pub fn take(&mut self, assignments: Vec<Arc<MemberAssignment>>) {
        for (member, assignment) in self.members.iter_mut().zip(assignments) {
            member.assignment = assignment;
        }
    }

    /// The owner of each partition; fails if there are two.
    pub fn owners(&self, assignments: &[Arc<MemberAssignment>]) -> BTreeMap<(Uuid, i32), usize> {
        let mut owners = BTreeMap::new();
        for (member, assignment) in assignments.iter().enumerate() {
            for (topic, partitions) in assignment.iter() {
                assert!(partitions.is_sorted_by(|a, b| a < b), "{partitions:?}");
                for &partition in partitions {
                    let other = owners.insert((topic, partition), member);
                    assert_eq!(other, None, "{topic}-{partition} has two owners");
                }
            }
        }
        owners
    }

    /// Who has which partition, as far as members subscribe to what they have: the first by its id.
    pub fn believed(&self) -> BTreeMap<(Uuid, i32), usize> {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by_key(|&member| &self.members[member].id);
        let mut owners = BTreeMap::new();
        for member in order {
            let Member { topics, assignment, .. } = &self.members[member];
            for (topic, partitions) in assignment.iter() {
                let count = self.topics.get(&topic).copied().unwrap_or(0);
                let there = partitions.iter().filter(|partition| (0..count).contains(*partition));
                for &partition in there.filter(|_| topics.contains(&topic)) {
                    owners.entry((topic, partition)).or_insert(member);
                }
            }
        }
        owners
    }

    /// How many partitions are taken from a member that has them and could keep them.
    pub fn moves(&self, assignments: &[Arc<MemberAssignment>]) -> usize {
        let owners = self.owners(assignments);
        let moved =
            |(partition, owner): &(&(Uuid, i32), &usize)| owners.get(partition) != Some(owner);
        self.believed().iter().filter(moved).count()
    }
}
