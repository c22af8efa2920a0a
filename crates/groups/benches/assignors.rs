//! What an assignment costs: one member that joins or leaves, a group from nothing, and members that subscribe
//! to different topics.
//!
//! `cargo bench -p thalweg-groups`.

use std::collections::BTreeMap;
use std::sync::Arc;

use divan::Bencher;
use thalweg_groups::assignor::{
    Assignor, GroupSpec, MemberAssignment, MemberSpec, RangeAssignor, StickyRangeAssignor,
    SubscriptionType, UniformAssignor,
};
use thalweg_wire::Uuid;

fn main() {
    divan::main();
}

/// Members, topics, partitions of each.
const SIZES: [(usize, usize, i32); 3] = [(3_000, 1, 3_000), (3_000, 10, 600), (10_000, 100, 1_000)];
const ASSIGNORS: [&dyn Assignor; 3] = [&UniformAssignor, &StickyRangeAssignor, &RangeAssignor];

struct Group {
    ids: Vec<String>,
    topics: BTreeMap<Uuid, i32>,
    /// What each member subscribes to: one slice for all, or one of two.
    subscriptions: [Vec<Uuid>; 2],
    kind: SubscriptionType,
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
            assignments: vec![Arc::default(); members],
        }
    }

    fn assign(&self, assignor: &dyn Assignor, members: usize) -> Vec<Arc<MemberAssignment>> {
        let is_mixed = self.kind == SubscriptionType::Heterogeneous;
        let none = Arc::default();
        let members: Vec<MemberSpec<'_>> = (0..members)
            .map(|n| MemberSpec {
                id: &self.ids[n],
                instance_id: None,
                rack_id: None,
                topic_ids: &self.subscriptions[if is_mixed { n % 2 } else { 0 }],
                assignment: self.assignments.get(n).unwrap_or(&none),
            })
            .collect();
        let topics = &self.topics;
        assignor.assign(&GroupSpec { members: &members, topics, subscription_type: self.kind })
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
