//! What an assignment costs: one member that joins or leaves, a group from nothing, members that subscribe
//! to different topics, the same in three racks, and members that all come back and remember what they had.
//!
//! `cargo bench -p thalweg-groups`.

use std::collections::BTreeMap;
use std::sync::Arc;

use divan::Bencher;
use thalweg_groups::assignor::{
    Assignor, GroupSpec, MemberAssignment, MemberSpec, PartitionRacks, RangeAssignor,
    StickyAssignor, StickyRangeAssignor, SubscriptionType, UniformAssignor,
};
use thalweg_wire::Uuid;

fn main() {
    divan::main();
}

/// Members, topics, partitions of each.
const SIZES: [(usize, usize, i32); 3] = [(3_000, 1, 3_000), (3_000, 10, 600), (10_000, 100, 1_000)];
const ASSIGNORS: [&dyn Assignor; 4] =
    [&UniformAssignor, &StickyRangeAssignor, &RangeAssignor, &StickyAssignor];
const RACKS: [&str; 3] = ["a", "b", "c"];

struct Group {
    ids: Vec<String>,
    topics: BTreeMap<Uuid, i32>,
    /// What each member subscribes to: one slice for all, or one of two.
    subscriptions: [Vec<Uuid>; 2],
    kind: SubscriptionType,
    /// Where partitions have their two replicas, if members have racks.
    racks: Option<PartitionRacks>,
    /// What members had elsewhere.
    remembered: Option<Vec<MemberAssignment>>,
    assignments: Vec<Arc<MemberAssignment>>,
}

impl Group {
    fn new((members, topics, partitions): (usize, usize, i32), kind: SubscriptionType) -> Group {
        // As ids of members and topics are: in no order.
        let id = |n: usize| {
            Uuid::from_u128((n as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
        };
        let topics: BTreeMap<Uuid, i32> = (0..topics).map(|n| (id(n), partitions)).collect();
        let all: Vec<Uuid> = topics.keys().copied().collect();
        // Half of the members do without the first topic, if there is more than one.
        let some = if all.len() > 1 { all[1..].to_vec() } else { all.clone() };
        Group {
            ids: (0..members).map(|n| format!("consumer-{}", id(n))).collect(),
            topics,
            subscriptions: [all, some],
            kind,
            racks: None,
            remembered: None,
            assignments: vec![Arc::default(); members],
        }
    }

    /// On nine brokers in three racks.
    fn in_racks(mut self) -> Group {
        let brokers = (0..9).map(|broker| (broker, RACKS[broker as usize % 3])).collect();
        let replicas: Vec<[i32; 2]> = (0..9 * 8).map(|n| [n % 9, (n + 1 + n / 9) % 9]).collect();
        let topics = (0..).zip(&self.topics).map(|(at, (id, count))| {
            let replicas = replicas.iter().cycle().skip(at).take(*count as usize);
            (*id, replicas.map(|replicas| &replicas[..]))
        });
        self.racks = Some(PartitionRacks::new(&brokers, topics));
        self
    }

    fn assign(&self, assignor: &dyn Assignor, members: usize) -> Vec<Arc<MemberAssignment>> {
        let is_mixed = self.kind == SubscriptionType::Heterogeneous;
        let none = Arc::default();
        let members: Vec<MemberSpec<'_>> = (0..members)
            .map(|n| MemberSpec {
                id: &self.ids[n],
                instance_id: None,
                rack_id: self.racks.is_some().then_some(RACKS[n % 3]),
                topic_ids: &self.subscriptions[if is_mixed { n % 2 } else { 0 }],
                assignment: self.assignments.get(n).unwrap_or(&none),
            })
            .collect();
        assignor.assign(&GroupSpec {
            members: &members,
            topics: &self.topics,
            racks: self.racks.as_ref(),
            remembered: self.remembered.as_deref(),
            subscription_type: self.kind,
        })
    }

    /// All but `without` of its members have what they were assigned.
    fn settled(mut self, assignor: &dyn Assignor, without: usize) -> Group {
        self.assignments = self.assign(assignor, self.ids.len() - without);
        self
    }
}

fn named(assignor: usize) -> &'static dyn Assignor {
    ASSIGNORS[assignor]
}

/// 0: uniform, 1: the sticky range of classic members, 2: range.
#[divan::bench(args = SIZES, consts = [0, 1, 2])]
fn one_joins<const ASSIGNOR: usize>(bencher: Bencher<'_, '_>, size: (usize, usize, i32)) {
    let group = Group::new(size, SubscriptionType::Homogeneous).settled(named(ASSIGNOR), 1);
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0));
}

#[divan::bench(args = SIZES, consts = [0, 1, 2])]
fn one_leaves<const ASSIGNOR: usize>(bencher: Bencher<'_, '_>, size: (usize, usize, i32)) {
    let group = Group::new(size, SubscriptionType::Homogeneous).settled(named(ASSIGNOR), 0);
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0 - 1));
}

#[divan::bench(args = SIZES, consts = [0, 1, 2])]
fn from_nothing<const ASSIGNOR: usize>(bencher: Bencher<'_, '_>, size: (usize, usize, i32)) {
    let group = Group::new(size, SubscriptionType::Homogeneous);
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0));
}

/// Half of the members subscribe to one topic less.
#[divan::bench(args = SIZES, consts = [0, 1, 2])]
fn one_joins_mixed<const ASSIGNOR: usize>(bencher: Bencher<'_, '_>, size: (usize, usize, i32)) {
    let group = Group::new(size, SubscriptionType::Heterogeneous).settled(named(ASSIGNOR), 1);
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0));
}

/// 1: the sticky range of classic members, 3: their other assignors.
#[divan::bench(args = SIZES, consts = [1, 3])]
fn one_joins_in_racks<const ASSIGNOR: usize>(bencher: Bencher<'_, '_>, size: (usize, usize, i32)) {
    let group = Group::new(size, SubscriptionType::Homogeneous).in_racks();
    let group = group.settled(named(ASSIGNOR), 1);
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0));
}

#[divan::bench(args = SIZES, consts = [1, 3])]
fn from_nothing_in_racks<const ASSIGNOR: usize>(
    bencher: Bencher<'_, '_>,
    size: (usize, usize, i32),
) {
    let group = Group::new(size, SubscriptionType::Homogeneous).in_racks();
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0));
}

/// Half of the members subscribe to one topic less.
#[divan::bench(args = SIZES, consts = [1, 3])]
fn one_joins_mixed_in_racks<const ASSIGNOR: usize>(
    bencher: Bencher<'_, '_>,
    size: (usize, usize, i32),
) {
    let group = Group::new(size, SubscriptionType::Heterogeneous).in_racks();
    let group = group.settled(named(ASSIGNOR), 1);
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0));
}

#[divan::bench(args = SIZES, consts = [3])]
fn all_come_back<const ASSIGNOR: usize>(bencher: Bencher<'_, '_>, size: (usize, usize, i32)) {
    let mut group = Group::new(size, SubscriptionType::Homogeneous).settled(named(ASSIGNOR), 0);
    let had = std::mem::replace(&mut group.assignments, vec![Arc::default(); size.0]);
    group.remembered = Some(had.iter().map(|had| MemberAssignment::clone(had)).collect());
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0));
}

/// The first of them has been assigned everything.
#[divan::bench(args = SIZES, consts = [3])]
fn all_come_back_to_the_first<const ASSIGNOR: usize>(
    bencher: Bencher<'_, '_>,
    size: (usize, usize, i32),
) {
    let mut group = Group::new(size, SubscriptionType::Homogeneous).settled(named(ASSIGNOR), 0);
    let had = std::mem::replace(&mut group.assignments, vec![Arc::default(); size.0]);
    group.remembered = Some(had.iter().map(|had| MemberAssignment::clone(had)).collect());
    let all = group.topics.iter().map(|(id, count)| (*id, 0..*count));
    group.assignments[0] = Arc::new(MemberAssignment::new(all));
    bencher.bench(|| group.assign(named(ASSIGNOR), size.0));
}
