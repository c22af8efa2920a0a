//! How long an assignment takes: `cargo run --release -p thalweg-groups --example assign`.
//!
//! For each size and each kind of subscription: from nothing, and one member more, one member less and
//! one topic more in a group that is balanced. Lowest, middle and highest of the runs, in
//! milliseconds.

// A program that prints.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use thalweg_groups::assignor::{
    ASSIGNORS, Assignor, GroupSpec, MemberAssignment, MemberSpec, SubscriptionType,
};
use thalweg_wire::Uuid;

const RUNS: usize = 31;

/// How members subscribe.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// All to all topics.
    Same,
    /// Ten applications, each with its tenth of the topics.
    Disjoint,
    /// Ten subscriptions, each of half of the topics.
    Mixed,
    /// Each member to another half of the topics.
    Each,
    /// As many topics as members, of very different sizes, each member to two that follow each
    /// other: paths are long, and loads many.
    Chain,
}

struct Member {
    id: String,
    topics: Arc<[Uuid]>,
    assignment: Arc<MemberAssignment>,
}

struct Group {
    members: Vec<Member>,
    topics: BTreeMap<Uuid, i32>,
    kind: Kind,
}

/// Numbers that look random and are the same each time.
fn mixed(n: u128) -> u128 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    z = (z ^ (z >> 61)).wrapping_mul(0xbf58_476d_1ce4_e5b9_94d0_49bb_1331_11eb);
    z ^ (z >> 57)
}

impl Group {
    fn new(kind: Kind, members: usize, topics: usize, partitions: i32) -> Group {
        let mut group = Group { members: Vec::new(), topics: BTreeMap::new(), kind };
        let ids: Vec<Uuid> = (0..topics).map(|n| Uuid::from_u128(mixed(n as u128))).collect();
        let size = |n: usize| match kind {
            Kind::Chain => 1 + (mixed(n as u128) as i32 & ((1 << (n % 6)) - 1)),
            _ => partitions / topics as i32,
        };
        group.topics = ids.iter().enumerate().map(|(n, &id)| (id, size(n))).collect();
        let subscriptions: Vec<Arc<[Uuid]>> = match kind {
            Kind::Same => vec![ids.into()],
            Kind::Disjoint => ids.chunks(topics.div_ceil(10)).map(Arc::from).collect(),
            Kind::Chain => ids.windows(2).map(Arc::from).collect(),
            Kind::Mixed | Kind::Each => {
                let kinds = if matches!(kind, Kind::Mixed) { 10 } else { members as u128 + 1 };
                let half = |kind: u128| {
                    let chosen =
                        |topic: &usize| mixed(kind << 64 | *topic as u128).is_multiple_of(2);
                    (0..topics).filter(chosen).map(|topic| ids[topic]).collect()
                };
                (0..kinds).map(half).collect()
            }
        };
        for n in 0..members + 1 {
            group.members.push(Member {
                id: Uuid::from_u128(mixed(1 << 100 | n as u128)).to_string(),
                topics: Arc::clone(&subscriptions[n % subscriptions.len()]),
                assignment: Arc::default(),
            });
        }
        // As a coordinator has them.
        group.members.sort_by(|a, b| a.id.cmp(&b.id));
        group
    }

    /// Assigns to all members but the one at `without`, and says how long it took.
    fn assign(
        &self,
        assignor: &dyn Assignor,
        without: Option<usize>,
    ) -> (Vec<Arc<MemberAssignment>>, f64) {
        let members: Vec<MemberSpec<'_>> = self
            .members
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != without)
            .map(|(_, member)| MemberSpec {
                id: &member.id,
                instance_id: None,
                rack_id: None,
                topic_ids: &member.topics,
                assignment: &member.assignment,
            })
            .collect();
        let subscription_type = match self.kind {
            Kind::Same => SubscriptionType::Homogeneous,
            _ => SubscriptionType::Heterogeneous,
        };
        let group = GroupSpec {
            members: &members,
            topics: &self.topics,
            racks: None,
            remembered: None,
            subscription_type,
        };
        let begin = Instant::now();
        let assignments = assignor.assign(&group);
        (assignments, begin.elapsed().as_secs_f64() * 1e3)
    }

    fn take(&mut self, assignments: Vec<Arc<MemberAssignment>>, without: Option<usize>) {
        let mut assignments = assignments.into_iter();
        for (at, member) in self.members.iter_mut().enumerate() {
            if Some(at) == without {
                member.assignment = Arc::default();
            } else if let Some(assignment) = assignments.next() {
                member.assignment = assignment;
            }
        }
    }
}

fn report(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let (least, middle, most) = (times[0], times[times.len() / 2], times[times.len() - 1]);
    println!("    {what:14} {least:9.3} {middle:9.3} {most:9.3}");
}

fn measure(assignor: &dyn Assignor, kind: Kind, members: usize, topics: usize, partitions: i32) {
    let mut group = Group::new(kind, members, topics, partitions);
    let all: i32 = group.topics.values().sum();
    println!("{} {kind:?}: {members} members, {topics} topics, {all} partitions", assignor.name());
    let runs = if matches!(kind, Kind::Each | Kind::Chain) { 5 } else { RUNS };
    let spare = Some(members / 2);
    let all = |group: &Group, without| -> Vec<f64> {
        (0..runs).map(|_| group.assign(assignor, without).1).collect()
    };
    report("from nothing", all(&group, spare));
    let (assignments, _) = group.assign(assignor, spare);
    group.take(assignments, spare);
    report("nothing new", all(&group, spare));
    report("one joins", all(&group, None));
    let (assignments, _) = group.assign(assignor, None);
    group.take(assignments, None);
    report("one leaves", all(&group, Some(members / 3)));
    if let Some(count) = group.topics.values_mut().next() {
        *count += partitions / 100;
    }
    report("a topic grows", all(&group, None));
}

fn main() {
    // One of the kinds, if it is named.
    let named = std::env::args().nth(1);
    println!("{:18} {:>9} {:>9} {:>9}  (ms)", "", "least", "middle", "most");
    for assignor in ASSIGNORS {
        for kind in [Kind::Same, Kind::Disjoint, Kind::Mixed, Kind::Each, Kind::Chain] {
            if named.as_ref().is_some_and(|named| *named != format!("{kind:?}")) {
                continue;
            }
            let chain = matches!(kind, Kind::Chain);
            measure(assignor, kind, 3_000, if chain { 3_000 } else { 30 }, 3_000);
            measure(assignor, kind, 10_000, if chain { 10_000 } else { 100 }, 100_000);
        }
    }
}
